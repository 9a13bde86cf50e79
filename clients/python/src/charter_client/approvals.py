"""Approvals: people's decisions on exact calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from charter_client._operation import Awaiting, Blocking, iteration, operation
from charter_client._wire import Call, Pages, Repeat, paged, part, reading
from charter_client.contract import Approval, ApprovalEntry, ApprovalPreview

_APPROVAL = reading(Approval)
_ENTRY = reading(ApprovalEntry)
_PAGE = paged(ApprovalEntry)
_PREVIEW = reading(ApprovalPreview)


def decide(
    approval_id: str, word: str, digest: str, reason: str | None, choice: Mapping[str, object] = MappingProxyType({})
) -> Call[Approval]:
    """The call that says a person's word."""
    path = f"/v1/approvals/{part(approval_id)}/{word}"
    return Call("POST", path, _APPROVAL, body={"digest": digest, "reason": reason} | dict(choice), repeat=Repeat.NEVER)


class ApprovalOperations:
    """Look at what waits for a person, and say their word.

    A decision names the digest of the call that the person saw: another one raises
    `VersionConflict`, a second decision `IllegalTransition`, a decision on one's own call
    `PermissionDenied` where four eyes are asked for.
    """

    @iteration
    def list(self, *, state: str | None = None, run_id: str | None = None, page_size: int = 50) -> Pages[ApprovalEntry]:
        """The tenant's approvals, newest first, with the titles of their runs.

        Only `pending`, `approved`, `rejected`, `consumed` or `lapsed` ones, if asked.
        """
        return Pages("/v1/approvals", _PAGE, {"state": state, "run_id": run_id, "limit": page_size})

    @operation
    def get(self, approval_id: str) -> Call[ApprovalEntry]:
        """An approval with the exact call that it is for."""
        return Call("GET", f"/v1/approvals/{part(approval_id)}", _ENTRY)

    @operation
    def preview(self, approval_id: str) -> Call[ApprovalPreview]:
        """The present state of the call's target beside the state after it, as its tool declares."""
        path = f"/v1/approvals/{part(approval_id)}/preview"
        return Call("POST", path, _PREVIEW, repeat=Repeat.NEVER)

    @operation
    def escalate(self, approval_id: str) -> Call[Approval]:
        """Hands it on to the next group of approvers, whose turn begins at once."""
        path = f"/v1/approvals/{part(approval_id)}/escalate"
        return Call("POST", path, _APPROVAL, repeat=Repeat.NEVER)

    @operation
    def approve(
        self,
        approval_id: str,
        digest: str,
        *,
        exclude: Sequence[str] = (),
        count: int | None = None,
        reason: str | None = None,
    ) -> Call[Approval]:
        """Approves exactly the call or list with this digest; its run goes on.

        `exclude` names steps of a list whose calls do not happen. A list of a destructive playbook needs `count`, the
        number of the others.
        """
        return decide(approval_id, "approve", digest, reason, {"exclude": list(exclude), "count": count})

    @operation
    def reject(self, approval_id: str, digest: str, *, reason: str | None = None) -> Call[Approval]:
        """Refuses it; its step fails with `approval_rejected`."""
        return decide(approval_id, "reject", digest, reason)

    @operation
    def report_result(
        self, approval_id: str, digest: str, *, output: object = None, reason: str | None = None
    ) -> Call[Approval]:
        """Says that an interrupted call did happen, and what the tool would have given; it is not called again."""
        path = f"/v1/approvals/{part(approval_id)}/report"
        body = {"digest": digest, "reason": reason, "output": output}
        return Call("POST", path, _APPROVAL, body=body, repeat=Repeat.NEVER)


class Approvals(ApprovalOperations, Blocking):
    """Look at what waits for a person, and say their word."""


class AsyncApprovals(ApprovalOperations, Awaiting):
    """Look at what waits for a person, and say their word; every operation is awaited."""
