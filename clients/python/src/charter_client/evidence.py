"""Evidence: signed, immutable records of what was found and done."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from charter_client._operation import Awaiting, Blocking, iteration, operation
from charter_client._wire import Call, Pages, Repeat, moment, paged, part, reading
from charter_client.contract import Evidence as EvidenceRecord
from charter_client.contract import EvidenceEntry, EvidenceLogCheckpoint, EvidenceLogConsistency, EvidenceLogKey

_RECORD = reading(EvidenceRecord)
_PAGE = paged(EvidenceEntry)
_KEY = reading(EvidenceLogKey)
_CHECKPOINT = reading(EvidenceLogCheckpoint)
_CONSISTENCY = reading(EvidenceLogConsistency)


class EvidenceOperations:
    """List, read, submit and export evidence. `charter_client.evidence_log.verify` checks an export."""

    @iteration
    def list(
        self,
        *,
        run_id: str | None = None,
        finding_id: str | None = None,
        type: str | None = None,
        system: str | None = None,
        captured_from: datetime | None = None,
        captured_until: datetime | None = None,
        page_size: int = 50,
    ) -> Pages[EvidenceEntry]:
        """Records by time of capture: of one run or one finding, of a type (`api_call`), of a system (`aws.ec2`).

        An entry says what a record shows; its payload and what it is attached to come with `get`.
        """
        query = _query(run_id, finding_id, type, system, captured_from, captured_until)
        return Pages("/v1/evidence", _PAGE, {**query, "limit": page_size})

    @operation
    def get(self, evidence_id: str) -> Call[EvidenceRecord]:
        """A record with all that it is attached to; without its payload where the caller may not see it."""
        return Call("GET", f"/v1/evidence/{part(evidence_id)}", _RECORD)

    @operation
    def submit(self, record: Mapping[str, object]) -> Call[EvidenceRecord]:
        """Stores a record in the seed's form; the answer has its links and its receipt.

        Sent once: when no answer comes, submit a record with an `id` again, which is stored once.
        """
        return Call("POST", "/v1/evidence", _RECORD, body=record, repeat=Repeat.NEVER)

    @operation
    def export(
        self,
        file: str | Path,
        *,
        run_id: str | None = None,
        finding_id: str | None = None,
        type: str | None = None,
        system: str | None = None,
        captured_from: datetime | None = None,
        captured_until: datetime | None = None,
    ) -> Call[Path]:
        """Writes the tenant's evidence with its proofs into a file, or what fits the filters. Gives the file."""
        target = Path(file)
        query = _query(run_id, finding_id, type, system, captured_from, captured_until)
        return Call("GET", "/v1/evidence/export", lambda _: target, query=query, file=target)

    @operation
    def get_key(self) -> Call[EvidenceLogKey]:
        """The public key that signs. Hand it out by another way than exports."""
        return Call("GET", "/v1/evidence/log/key", _KEY)

    @operation
    def get_checkpoint(self) -> Call[EvidenceLogCheckpoint]:
        """The signed head of now. Keep it: later exports are compared with it."""
        return Call("GET", "/v1/evidence/log/checkpoint", _CHECKPOINT)

    @operation
    def get_consistency_proof(self, from_size: int, to_size: int) -> Call[EvidenceLogConsistency]:
        """The proof that the log of one size is the beginning of that of another."""
        query = {"from": from_size, "to": to_size}
        return Call("GET", "/v1/evidence/log/consistency", _CONSISTENCY, query=query)


def _query(
    run_id: str | None,
    finding_id: str | None,
    type_: str | None,
    system: str | None,
    captured_from: datetime | None,
    captured_until: datetime | None,
) -> dict[str, object]:
    return {
        "run_id": run_id,
        "finding_id": finding_id,
        "type": type_,
        "system": system,
        "captured_from": moment(captured_from),
        "captured_until": moment(captured_until),
    }


class Evidence(EvidenceOperations, Blocking):
    """List, read and export evidence."""


class AsyncEvidence(EvidenceOperations, Awaiting):
    """List, read and export evidence; every operation is awaited."""
