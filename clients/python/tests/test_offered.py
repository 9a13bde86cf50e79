"""Questions to a person before a run continues: the calls with their arguments, without a server."""

from __future__ import annotations

from typing import Any

from charter_client.contract import ExactCall, JournalEvent, PlannedStep, Step, StepAction, StepGraph
from charter_client.offered import MAX_ARGUMENTS, MAX_TEXT, MAX_WRITES, Question, question_of
from charter_client.shown import Approval, Run


def run(status: str, actions: dict[str, StepAction], approvals: list[Approval] | None = None) -> Run:
    """A run with these steps, all of which write."""
    steps = [Step.model_construct(step=step, tool="fence.close", writes=True, reverses=None) for step in actions]
    planned = [PlannedStep.model_construct(id=step, action=action) for step, action in actions.items()]
    started = JournalEvent.model_construct(event="started", graph=StepGraph.model_construct(steps=planned))
    return Run.model_construct(
        run_id="run-1",
        title="playbook fence",
        status=status,
        plan_digest="sha256:1",
        missing=[],
        typed=None,
        parameters={"gate": "north", "note": "x" * (MAX_TEXT + 1)},
        approvals=approvals or [],
        steps=steps,
        events=[started],
    )


def call(parameters: dict[str, Any], exact: bool | None = None) -> StepAction:
    return StepAction(do="call", tool="fence.close", parameters=parameters, exact=exact)


def asked(about: Run) -> Question:
    found = question_of(about)
    assert found is not None
    return found


def test_a_plan_shows_the_arguments_of_each_write() -> None:
    parameters = {"gate": "${user.gate}", "at": ["${look.time}"], "note": {"text": "${user.note}"}, "times": 2}
    repeated = StepAction(do="for_each", items="${look.gates}", each=call({"gate": "${item}"}))
    steps = {"close": call(parameters), "each": repeated, "own": call({"gate": "${user.gate}"}, exact=True)}
    question = asked(run("awaiting_confirmation", steps))
    note = "x" * MAX_TEXT + f"… ({MAX_TEXT + 1} characters)"
    known = {"gate": "north", "at": ["${look.time}"], "note": {"text": note}, "times": 2}
    assert question.writes == [
        {"step": "close", "tool": "fence.close", "parameters": known},
        {"step": "each", "tool": "fence.close", "parameters": {"gate": "${item}"}, "for_each": True},
        {"step": "own", "tool": "fence.close", "parameters": {"gate": "${user.gate}"}},
    ]
    assert "omitted" not in question.shown()


def test_a_long_parameter_that_is_named_often_is_shown_only_as_often_as_it_fits() -> None:
    steps = {"close": call({"at": ["${user.note}"] * 100, "times": 2}), "next": call({"times": 3})}
    first, second = (write["parameters"] for write in asked(run("awaiting_confirmation", steps)).writes)
    *shown, rest = first["at"]
    assert MAX_ARGUMENTS <= sum(map(len, shown)) < MAX_ARGUMENTS + 2 * MAX_TEXT
    assert rest == f"… ({100 - len(shown)} more)"
    assert (list(first), first["…"], second) == (["at", "…"], "… (1 more)", {"…": "… (1 more)"})


def test_a_long_plan_has_the_number_of_the_writes_that_are_not_listed() -> None:
    steps = {f"close-{n}": call({"gate": n}) for n in range(MAX_WRITES + 2)}
    question = asked(run("awaiting_confirmation", steps))
    assert (len(question.writes), question.omitted) == (MAX_WRITES, 2)


def test_an_approval_shows_each_of_its_calls() -> None:
    calls = [
        ExactCall(run_id="run-1", step=f"close-{n}", tool="fence.close", tool_hash="sha256:2", parameters={"gate": n})
        for n in range(2)
    ]
    approval = Approval.model_construct(approval_id="apr-1", digest="sha256:3", call=calls[0], list_=calls, rules=[])
    question = asked(run("awaiting_approval", {}, [approval]))
    expected = [{"tool": "fence.close", "step": f"close-{n}", "parameters": {"gate": n}} for n in range(2)]
    assert (question.call, question.calls) == (expected[0], expected)
    assert question.shown()["calls"] == expected
