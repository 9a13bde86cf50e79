"""Reading the settings of many resources, each setting by itself.

A setting that cannot be read is ``None`` and is named under ``unreadable``; the other settings of
its resource are read all the same. A resource that is deleted meanwhile is named and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Any, TypeVar

from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError
from charter_aws import ONE_FAILS, Aws, JsonObject, error_code, left_out, sorted_by

PARALLEL_READS = 8
# An answer in another form than AWS's own is a failure of its part as well.
_PART_FAILS = (*ONE_FAILS, ResponseParserError)

Value = TypeVar("Value")


class Settings:
    """The readings of one call, with a list of what could not be read."""

    def __init__(self, aws: Aws, gone: Iterable[str] = ()) -> None:
        self._aws = aws
        self._gone = frozenset(gone)
        self._unreadable: list[JsonObject] = []

    def note(self, item: JsonObject) -> None:
        """Names a setting that another reading had to leave out."""
        self._unreadable.append(item)

    def _leave_out(self, kind: str, name: str, setting: str, error: Exception) -> None:
        self.note(left_out(name, error) | {"kind": kind, "setting": setting})

    def read(
        self,
        kind: str,
        name: str,
        setting: str,
        reading: Callable[[], Value],
        *,
        absent: Iterable[str] = (),
        default: Value | None = None,
    ) -> Value | None:
        """One setting of a resource; ``default`` if a code of ``absent`` shows that it has none."""
        try:
            return reading()
        except _PART_FAILS as error:
            code = error_code(error) if isinstance(error, ClientError) else ""
            if code in set(absent):
                return default
            if code in self._gone:
                raise
            self._leave_out(kind, name, setting, error)
            return None

    def pages(
        self, kind: str, service: str, operation: str, key: str, **arguments: Any
    ) -> list[JsonObject]:
        """Every item of a paginated operation; none if the operation fails, which is named."""
        found = self.read(
            kind,
            self._aws.account_id,
            f"the list of {operation.partition('_')[2].replace('_', ' ')}",
            lambda: self._aws.pages(service, operation, key, **arguments),
        )
        return found or []

    def each(
        self, kind: str, items: list[JsonObject], key: str, read: Callable[[JsonObject], JsonObject]
    ) -> list[JsonObject]:
        """The reading of each item, in their order; an item that fails as a whole is named."""
        done = []
        with ThreadPoolExecutor(PARALLEL_READS) as pool:
            pending = [pool.submit(read, item) for item in items]
            for item, reading in zip(items, pending, strict=True):
                try:
                    done.append(reading.result())
                except _PART_FAILS as error:
                    self._leave_out(kind, str(item.get(key, "unnamed")), "every setting", error)
        return done

    def report(self, **lists: Any) -> JsonObject:
        """The result of the tool: the region, the account, the lists and what was left out."""
        return {
            "region": self._aws.region,
            "account_id": self._aws.account_id,
            **lists,
            "unreadable": sorted_by(self._unreadable, "kind", "name", "setting", "operation"),
        }


def days_since(moment: datetime | None) -> int | None:
    """The whole days from a moment until now."""
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return (datetime.now(timezone.utc) - aware).days
