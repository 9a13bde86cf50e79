"""What other people's agents are offered of Charter's catalogue, whatever framework they are made with.

An *offer* is a skill, a playbook or a readonly tool as a model sees it: a name, a
description, a JSON Schema. Carrying one out is a request or a run on the server, so
the gate is asked, the journal written and evidence kept as for everything else.
Nothing is executed here, and nothing here says a person's word.

Tools that write are not offered by themselves: a playbook knows what to ask for
and how to take a change back. (Over the Model Context Protocol they can be called.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import NAMESPACE_URL, uuid5

from charter_client._wire import Steps
from charter_client.approvals import decide
from charter_client.catalogue import CatalogueOperations, ResolveOperations
from charter_client.codes import NotFound
from charter_client.contract import ExactCall, Step, StepAction
from charter_client.errors import ApiError
from charter_client.requests import create_request, get_request, request_body
from charter_client.runs import call_tool, get_run, order_run, wait_for_run
from charter_client.shown import Answer, Approval, Run

Kind = Literal["skill", "playbook", "tool"]
#: Ids, or everything that the caller sees and that is active.
Selection = Sequence[str] | Literal["all"]

#: More are not put before a model; it would not choose well. MCP's `find` looks into any number.
MAX_OFFERS = 64
#: Longest name of a tool that models' providers take.
MAX_NAME = 64
#: How long a call waits for its run before it says that the run goes on.
WAIT_S = 120.0
#: Most writes of a plan that a question lists.
MAX_WRITES = 100
#: Most characters of a text among the arguments of these writes, and of all their arguments. The rest is counted.
MAX_TEXT = 2_000
MAX_ARGUMENTS = 100_000

#: A reference to a parameter of the run that is a whole text.
_PARAMETER = re.compile(r"\$\{user\.([A-Za-z0-9_-]+)\}")

_catalogue, _resolve = CatalogueOperations(), ResolveOperations()


@dataclass(frozen=True)
class Offer:
    """A skill, playbook or tool as a model sees it."""

    kind: Kind
    #: The document's id, `security.detect_public_ingress`.
    id: str
    #: The same in letters that every provider takes, `security_detect_public_ingress`.
    name: str
    description: str
    #: JSON Schema of an object.
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """How far a call of an offer has come."""

    #: For the model.
    content: str
    run_id: str | None = None
    #: Where the run stands; of a skill `completed`.
    status: str = "completed"
    evidence_ids: list[str] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "status": self.status,
            "content": self.content,
            "run_id": self.run_id,
            "evidence_ids": self.evidence_ids,
        }


@dataclass(frozen=True)
class Question:
    """What a person has to say before a run goes on."""

    waits_for: Literal["parameters", "confirmation", "approval"]
    run_id: str
    title: str
    #: What an answer is bound to: the plan's digest, or that of the exact call.
    digest: str
    #: Names of the parameters that are missing; the parameter that has to be typed to confirm.
    missing: list[str] = field(default_factory=list)
    typed: str | None = None
    #: The calls of the plan that would write: `step`, `tool`, the arguments (`parameters`), and `for_each` if the
    #: call is repeated for each item of a list. Arguments that earlier steps give are references, `${step.field}`.
    writes: list[dict[str, Any]] = field(default_factory=list)
    #: The number of further writes, which are not listed.
    omitted: int | None = None
    approval_id: str | None = None
    #: The exact call, or the first of several, and what asks for an approval.
    call: dict[str, Any] | None = None
    #: Every exact call, if the approval is for several.
    calls: list[dict[str, Any]] = field(default_factory=list)
    rules: list[dict[str, Any]] = field(default_factory=list)
    #: Why the last answer was not taken.
    refused: str | None = None

    def shown(self) -> dict[str, Any]:
        """As JSON, without what does not apply."""
        return {name: value for name, value in vars(self).items() if value not in (None, [])}


def offers(skills: Selection, playbooks: Selection, tools: Selection) -> Steps[list[Offer]]:
    """The offers of what was selected, in that order.

    Raises `NotFound` for an id that the caller does not see, `ValueError` for a tool that writes, for
    more than `MAX_OFFERS`, and for two whose names are the same.
    """
    made: list[Offer] = []
    for kind, selection in (("skill", skills), ("playbook", playbooks), ("tool", tools)):
        ids = (yield from _all_ids(kind)) if selection == "all" else list(selection)
        if len(made) + len(ids) > MAX_OFFERS:
            raise ValueError(f"more than {MAX_OFFERS} offers: name those that are needed, or use Charter over MCP")
        for id_ in ids:
            made.append((yield from _offer(kind, id_)))
    names = [offer.name for offer in made]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two offers have the name {twice[0]!r}: choose one of them")
    return made


def _all_ids(kind: str) -> Steps[list[str]]:
    pages, after, ids = _catalogue_pages(kind), None, []
    while True:
        page = yield from pages.call(after)
        ids += [listed.id for listed in page.entries if listed.status == "active" and not listed.is_candidate]
        after = page.next
        if after is None or len(ids) > MAX_OFFERS:
            return ids


def _catalogue_pages(kind: str) -> Any:
    return CatalogueOperations.list_documents.build(_catalogue, kind)


def _offer(kind: str, id_: str) -> Steps[Offer]:
    if kind == "skill":
        skill = (yield from ResolveOperations.skill.build(_resolve, id_)).document
        told = _told(skill.description, "It looks and changes nothing.", skill.examples)
        return Offer("skill", id_, _name(id_), told, _schema(skill.parameters or [], ()))
    if kind == "playbook":
        playbook = (yield from ResolveOperations.playbook.build(_resolve, id_)).document
        told = _told(f"{playbook.name}.", "It may change something; a person is asked first.", playbook.examples)
        mandatory, optional = playbook.mandatory_parameters or [], playbook.optional_parameters or []
        schema = _schema([*mandatory, *optional], [parameter.name for parameter in mandatory])
        return Offer("playbook", id_, _name(id_), told, schema)
    tool = (yield from ResolveOperations.tool.build(_resolve, id_)).document
    if tool.tool_class != "readonly":
        raise ValueError(f"the tool {id_} writes: offer a playbook that uses it, or use Charter over MCP")
    return Offer("tool", id_, _name(id_), _told(tool.description, "", None), _schema(tool.parameters or [], ()))


def _told(description: str, note: str, examples: Sequence[str] | None) -> str:
    asked = "; ".join((examples or [])[:3])
    return " ".join(part for part in (description.strip(), note, f"Asked as: {asked}." if asked else "") if part)


def _name(id_: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", id_)[-MAX_NAME:]


def _schema(parameters: Iterable[Any], mandatory: Sequence[str]) -> dict[str, Any]:
    """The JSON Schema of parameters. One with a default need not be given."""
    properties, required = {}, []
    for parameter in parameters:
        said = parameter.model_dump(mode="json", by_alias=True, exclude_none=True)
        schema = {name: said[name] for name in ("type", "description", "enum", "default", "pattern") if name in said}
        if schema.get("type") == "array":
            schema["items"] = {}
        properties[said["name"]] = schema
        if said["name"] in mandatory or (said.get("required") and "default" not in said):
            required.append(said["name"])
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def begin(offer: Offer, arguments: Mapping[str, Any], call_id: str | None) -> Steps[Outcome]:
    """Carries an offer out as far as it goes without a person.

    `call_id` names this call: the same one again finds what it began, instead of doing it twice.
    """
    if offer.kind == "tool":
        run = yield from call_tool(offer.id, arguments, dry_run=False)
        return outcome((yield from wait_for_run(run.run_id, WAIT_S)))
    answer = yield from _asked(offer, arguments, call_id)
    if offer.kind == "playbook" and answer.run_id is not None:
        return outcome((yield from wait_for_run(answer.run_id, WAIT_S)))
    findings = [finding.model_dump(mode="json", exclude_none=True) for finding in answer.findings]
    return Outcome(answer.content, answer.run_id, evidence_ids=answer.evidence_ids, findings=findings)


def _asked(offer: Offer, arguments: Mapping[str, Any], call_id: str | None) -> Steps[Answer]:
    request_id = None
    if call_id is not None:
        said = json.dumps([call_id, offer.id, dict(arguments)], sort_keys=True)
        request_id = f"req-{uuid5(NAMESPACE_URL, said)}"
        try:
            found = yield from get_request(request_id)
        except NotFound:
            pass
        else:
            return (yield from create_request(found.received["request"]))
    skill_id, playbook_id = (offer.id, None) if offer.kind == "skill" else (None, offer.id)
    body = request_body(offer.id, arguments, skill_id=skill_id, playbook_id=playbook_id, request_id=request_id)
    return (yield from create_request(body))


def look(run_id: str) -> Steps[Outcome]:
    """How far a run has come now."""
    return outcome((yield from wait_for_run(run_id, WAIT_S)))


def outcome(run: Run) -> Outcome:
    """What a model is told of a run."""
    evidence = [record.evidence_id for record in run.evidence]
    if run.waits_for is not None:
        content = f"{run.title} waits for a person: {run.waits_for}. Nothing you say stands for their word."
    elif run.awaited_run is not None:
        content = f"{run.title}: {run.awaited_run.reason}"
    elif run.status == "completed":
        outputs = {step.step: run.output(step.step) for step in run.steps if step.state == "succeeded"}
        content = json.dumps(outputs, ensure_ascii=False)
    else:
        failures = [f"{step.step}: {step.failure.message}" for step in run.steps if step.failure]
        content = "; ".join([f"{run.title}: {run.status.replace('_', ' ')}", *failures])
    return Outcome(content, run.run_id, run.status, evidence)


def question(run_id: str, refused: str | None = None) -> Steps[Question | None]:
    """What a run waits for, if it waits for a person."""
    run = yield from get_run(run_id)
    return question_of(run, refused)


def question_of(run: Run, refused: str | None = None) -> Question | None:
    """What a run that was read waits for, if it waits for a person."""
    if run.waits_for is None:
        return None
    if run.waits_for == "approval" and run.approvals:
        return _about_call(run, run.approvals[0], refused)
    writes = [step for step in run.steps if step.writes and step.reverses is None]
    graphs = [event.graph for event in run.events if event.graph is not None]
    planned = {step.id: step.action for graph in graphs for step in graph.steps}
    budget = _ArgumentBudget()
    return Question(
        run.waits_for,
        run.run_id,
        run.title,
        run.plan_digest,
        missing=run.missing,
        typed=run.typed,
        writes=[_write(step, planned.get(step.step), run.parameters, budget) for step in writes[:MAX_WRITES]],
        omitted=len(writes) - MAX_WRITES if len(writes) > MAX_WRITES else None,
        refused=refused,
    )


def _write(step: Step, action: StepAction | None, values: Mapping[str, Any], budget: _ArgumentBudget) -> dict[str, Any]:
    """A write of a plan, with the arguments as far as they are known: those that are parameters have their values."""
    shown: dict[str, Any] = {"step": step.step, "tool": step.tool}
    each = action.each if action is not None else None
    call = each or action
    if call is None or call.parameters is None:
        return shown
    has_references = not call.exact

    def filled(text: str) -> Any:
        named = _PARAMETER.fullmatch(text) if has_references else None
        return values.get(named[1], text) if named else text

    shown["parameters"] = budget.fit(_with_texts(call.parameters, filled))
    if each is not None:
        shown["for_each"] = True
    return shown


def _with_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """A JSON value with each of its texts changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_with_texts(one, change) for one in value]
    if isinstance(value, dict):
        return {name: _with_texts(one, change) for name, one in value.items()}
    return value


class _ArgumentBudget:
    """The characters that are left for arguments. A plan can name one long parameter many times."""

    def __init__(self) -> None:
        self.left = MAX_ARGUMENTS

    def fit(self, value: Any) -> Any:
        """A JSON value with long texts shortened. Items and fields for which nothing is left are counted."""
        if isinstance(value, str):
            text = _shortened(value)
            self.left -= len(text)
            return text
        if isinstance(value, list):
            items: list[Any] = []
            for one in value:
                if self.left <= 0:
                    return [*items, _more(len(value) - len(items))]
                self.left -= 1
                items.append(self.fit(one))
            return items
        if isinstance(value, dict):
            fields: dict[str, Any] = {}
            for name, one in value.items():
                if self.left <= 0:
                    return {**fields, "…": _more(len(value) - len(fields))}
                self.left -= 1 + len(name)
                fields[name] = self.fit(one)
            return fields
        return value


def _more(count: int) -> str:
    return f"… ({count} more)"


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text)} characters)"


def _about_call(run: Run, approval: Approval, refused: str | None) -> Question:
    return Question(
        "approval",
        run.run_id,
        run.title,
        approval.digest,
        approval_id=approval.approval_id,
        call=_exact(approval.call),
        calls=[_exact(call) for call in approval.list_ or []],
        rules=[rule.model_dump(mode="json", exclude_none=True) for rule in approval.rules],
        refused=refused,
    )


def _exact(call: ExactCall) -> dict[str, Any]:
    return {"tool": call.tool, "step": call.step, "parameters": call.parameters}


def say(asked: Question, said: Any) -> Steps[str | None]:
    """Carries out what a person said to a question: why it was refused, if it was.

    `{"confirm": digest}` (with `typed` where it is asked for), `{"approve": digest}` or
    `{"reject": digest}` (with a `reason`), `{"parameters": {...}}`. The digest is the one that the
    person saw: an answer to another question, and anything else, changes nothing.
    """
    if not isinstance(said, Mapping):
        return None
    reason = said.get("reason")
    try:
        if asked.waits_for == "parameters" and isinstance(said.get("parameters"), Mapping):
            yield from order_run(asked.run_id, "parameters", {"parameters": dict(said["parameters"])})
        elif asked.waits_for == "confirmation" and said.get("confirm") == asked.digest:
            yield from order_run(asked.run_id, "confirm", {"digest": asked.digest, "typed": said.get("typed")})
        elif asked.waits_for == "confirmation" and said.get("reject") == asked.digest:
            yield from order_run(asked.run_id, "abort", {"reason": reason, "roll_back": False})
        elif asked.waits_for == "approval" and asked.approval_id is not None:
            for word in ("approve", "reject"):
                if said.get(word) == asked.digest:
                    yield from decide(asked.approval_id, word, asked.digest, reason)
    except ApiError as refused:
        return str(refused)
    return None
