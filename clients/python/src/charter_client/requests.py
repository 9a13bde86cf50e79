"""Requests: questions, and changes that are asked for, with their answers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from charter_client._operation import Awaiting, Blocking, iteration, operation
from charter_client._streams import Event, Stream
from charter_client._wire import Call, part, reading, told, without_nothing
from charter_client.errors import NotCharter
from charter_client.shown import Answer, Progress, Request

_ANSWER = reading(Answer)
_REQUEST = reading(Request)


def request_body(
    question: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    skill_id: str | None = None,
    playbook_id: str | None = None,
    dry_run: bool = False,
    persona: str | None = None,
    session_id: str | None = None,
    request_id: str | None = None,
) -> dict[str, object]:
    """An `AgentRequest`. Sent again as it is, it gets the answer that was recorded."""
    metadata = without_nothing(
        parameters=dict(parameters or {}),
        skill_id=skill_id,
        playbook_id=playbook_id,
        dry_run=True if dry_run else None,
        persona=persona,
    )
    return without_nothing(
        id=request_id or f"req-{uuid4()}",
        timestamp=datetime.now(UTC).isoformat(),
        input=question,
        session_id=session_id,
        metadata=metadata,
    )


def create_request(body: Mapping[str, object]) -> Call[Answer]:
    """The call that creates a request. It carries an id, so that it may be sent again."""
    return Call("POST", "/v1/requests", _ANSWER, body=body)


def get_request(request_id: str) -> Call[Request]:
    """The call that reads a request."""
    return Call("GET", f"/v1/requests/{part(request_id)}", _REQUEST)


def _progress_or_answer(event: Event) -> Progress | Answer:
    if event.name == "progress":
        return Progress.model_validate(event.data)
    if event.name == "response":
        return Answer.model_validate(event.data)
    if event.name == "error" and isinstance(event.data, dict):
        raise told(event.data)
    raise NotCharter(f"the stream of an answer brought the event {event.name!r}")


class RequestOperations:
    """Create requests and read them. Unknown ids raise `NotFound`."""

    @operation
    def create(
        self,
        question: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        skill_id: str | None = None,
        playbook_id: str | None = None,
        dry_run: bool = False,
        persona: str | None = None,
        session_id: str | None = None,
        request_id: str | None = None,
    ) -> Call[Answer]:
        """Creates a request, and returns its answer.

        The question is routed, unless a skill or playbook is named. A question is answered once its
        skills ran; a request to change something once its run waits for a person
        (`answer.waits_for`, `answer.run_id`). The gate on the server checks every call.

        The request carries an id, so the client sends it again if no answer came, and gets what is
        recorded: the answer, or of a change whose run has ended its result. Raises `NoMatch` when nothing
        fits, `MissingParameters` with their names in `details`, `ApprovalRequired` while a skill waits for a
        person, and what its tools fail with.
        """
        return create_request(
            request_body(
                question,
                parameters,
                skill_id=skill_id,
                playbook_id=playbook_id,
                dry_run=dry_run,
                persona=persona,
                session_id=session_id,
                request_id=request_id,
            )
        )

    @iteration
    def stream(
        self,
        question: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        skill_id: str | None = None,
        playbook_id: str | None = None,
        dry_run: bool = False,
        persona: str | None = None,
        session_id: str | None = None,
        request_id: str | None = None,
    ) -> Stream[Progress | Answer]:
        """Creates a request, and yields any number of `Progress`, then one `Answer`, the last.

        Raises what :meth:`create` does. A connection that breaks is made again with the same request.
        """
        body = request_body(
            question,
            parameters,
            skill_id=skill_id,
            playbook_id=playbook_id,
            dry_run=dry_run,
            persona=persona,
            session_id=session_id,
            request_id=request_id,
        )
        return Stream(
            "POST", "/v1/requests", _progress_or_answer, lambda event: event.name != "progress", body=body, ends=False
        )

    @operation
    def get(self, request_id: str) -> Call[Request]:
        """A request as it is recorded, with its answer, and its result once the run of a change has ended."""
        return get_request(request_id)


class Requests(RequestOperations, Blocking):
    """Create requests and read them."""


class AsyncRequests(RequestOperations, Awaiting):
    """Create requests and read them; every operation is awaited."""
