"""Changing one kind of setting of named resources, with the state before and after.

Both directions are idempotent: a resource whose setting already is as wanted is reported and left
alone. A call that fails half way undoes its own part first. A change reports the state that it
replaced, and that state is what a restore takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from botocore.exceptions import BotoCoreError, ClientError
from charter_aws import Aws, Call, JsonObject, ToolError, as_tool_error

MAX_RESOURCES = 500

State = Mapping[str, Any]


class Setting(Protocol):
    """One kind of setting: how it is read and written, and the state that protects."""

    service: ClassVar[str]
    protected: ClassVar[State]

    def read(self, name: str) -> JsonObject:
        """The present state of a resource."""

    def write(self, name: str, state: State) -> str:
        """Brings a resource into a state; returns the operation that did."""


@dataclass(frozen=True)
class Change:
    """A resource, and the state that it is brought into."""

    name: str
    state: State


class _Run:
    """The changes of one call, each noted as it is made."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self.api_calls: list[JsonObject] = []

    def state(self, names: list[str]) -> dict[str, JsonObject]:
        return {name: self._setting.read(name) for name in names}

    def write(self, change: Change) -> None:
        operation = self._setting.write(change.name, change.state)
        self.api_calls.append(
            {"service": self._setting.service, "operation": operation, "name": change.name}
        )

    def write_all(self, changes: list[Change], before: Mapping[str, JsonObject]) -> None:
        """Makes each change, or undoes them all and fails."""
        done: list[Change] = []
        try:
            for change in changes:
                self.write(change)
                done.append(change)
        except (BotoCoreError, ClientError) as error:
            raise self._undo(done, before, error) from error

    def _undo(
        self, done: list[Change], before: Mapping[str, JsonObject], cause: Exception
    ) -> ToolError:
        left = []
        for change in reversed(done):
            try:
                self.write(Change(change.name, before[change.name]))
            except (BotoCoreError, ClientError):
                left.append(change.name)
        known = as_tool_error(cause)
        if left:
            return ToolError("execution_error", f"{known}; not undone: {', '.join(left)}")
        return ToolError(
            known.error_type, f"{known}; nothing was changed", retryable=known.retryable
        )


def _bounded(items: list[Any]) -> list[Any]:
    if len(items) > MAX_RESOURCES:
        raise ToolError("input_error", f"at most {MAX_RESOURCES} resources in one call")
    return items


def names_of(call: Call, parameter: str) -> list[str]:
    """The resources that a call names, each once, in order."""
    names = _bounded(call.items(parameter))
    if not all(isinstance(name, str) and name for name in names):
        raise ToolError("input_error", f"parameter {parameter!r} must hold names")
    return sorted(set(names))


def _previous(call: Call, setting: Setting) -> list[Change]:
    """The states to restore, as a change reported them under ``changed``."""
    changes = []
    for item in _bounded(call.items("changes")):
        shaped = isinstance(item, Mapping) and isinstance(item.get("previous"), Mapping)
        if not shaped or not isinstance(item.get("name"), str):
            raise ToolError(
                "input_error", "parameter 'changes' must hold names with previous states"
            )
        if set(item["previous"]) != set(setting.protected):
            raise ToolError("input_error", f"{item['name']!r} has a previous state of another kind")
        changes.append(Change(item["name"], item["previous"]))
    return changes


def _apply(call: Call, aws: Aws, setting: Setting, wanted: list[Change]) -> JsonObject:
    run, names = _Run(setting), [change.name for change in wanted]
    dry_run = call.dry_run or call.parameters.get("dry_run") is True
    before = run.state(names)
    planned = [change for change in wanted if before[change.name] != change.state]
    if not dry_run:
        run.write_all(planned, before)
    made = [] if dry_run else planned
    return {
        "region": aws.region,
        "account_id": aws.account_id,
        "dry_run": dry_run,
        "planned": [change.name for change in planned],
        "changed": [{"name": change.name, "previous": before[change.name]} for change in made],
        "unchanged": [change.name for change in wanted if change not in planned],
        "setting_before": before,
        "setting_after": run.state(names) if made else before,
        "api_calls_made": run.api_calls,
    }


def protect(call: Call, aws: Aws, setting: Setting, names: list[str]) -> JsonObject:
    """Brings the setting of each named resource into its protected state."""
    return _apply(call, aws, setting, [Change(name, setting.protected) for name in names])


def restore(call: Call, aws: Aws, setting: Setting) -> JsonObject:
    """Brings each resource back into the state that a change replaced."""
    return _apply(call, aws, setting, _previous(call, setting))
