"""What the server shows, where it can do more than be read: runs, missions, answers.

Everything else is in `charter_client.contract`, made from the server's own description. Fields and
words that a newer server adds are kept as they come.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SecretStr

from charter_client import contract
from charter_client._base import Wire
from charter_client.contract import AgentResponse, Approval, Event, Finding, Step

#: Where a run stands while nobody has to do anything.
BUSY = frozenset({"working", "stopping", "rolling_back"})
#: What a run waits for, by where it stands.
WAITS = {"awaiting_parameters": "parameters", "awaiting_confirmation": "confirmation", "awaiting_approval": "approval"}
#: Where a mission stands when it goes on no more.
MISSION_OVER = frozenset({"completed", "rejected", "failed", "cancelled", "budget_exceeded"})

WaitsFor = Literal["parameters", "confirmation", "approval"]

__all__ = [
    "Answer",
    "AnswerMetadata",
    "Approval",
    "Change",
    "Event",
    "Explanation",
    "Mission",
    "NewKey",
    "PackageReport",
    "Progress",
    "Request",
    "Run",
    "Undone",
    "Verdict",
    "WaitsFor",
]


class Run(contract.Run):
    """A run: where it stands, its plan and its journal."""

    @property
    def is_busy(self) -> bool:
        """Whether it goes on without anybody doing something."""
        return self.status in BUSY

    @property
    def waits_for(self) -> WaitsFor | None:
        """What a person has to say before it goes on."""
        return WAITS.get(self.status)  # type: ignore[return-value]

    def output(self, step: str | None = None) -> Any:
        """What a step that succeeded gave, the last of them where none is named; `None` where there is none."""
        ends = [event for event in self.events if event.event == "step_succeeded"]
        return next((end.output for end in reversed(ends) if step in (None, end.step)), None)


class Mission(contract.Mission):
    """A mission: where it stands, its tasks, its reviewed output, its proposals."""

    @property
    def is_over(self) -> bool:
        """Whether it goes on no more."""
        return self.state in MISSION_OVER


class Verdict(contract.Verdict):
    """Where a query is routed, and why. That of an answer does not say what was dropped and what is in force."""

    dropped: list[contract.RoutedCandidate] = Field(default_factory=list)
    in_force: contract.Thresholds | None = None  # type: ignore[assignment]


class Change(Wire):
    """Something that the run of a request changed."""

    step_id: str
    tool_id: str | None = None
    #: The state before and after it, as far as steps say it and it is not too large.
    before: Any = None
    after: Any = None
    #: Whether it was taken back since.
    reversed: bool = False
    evidence_ids: list[str] = Field(default_factory=list)


class Undone(Wire):
    """Something that the run of a request was to do and did not."""

    step_id: str
    tool_id: str | None = None
    #: Whether it would have changed something.
    writes: bool = False
    #: In one word, and in words.
    reason: str = ""
    detail: str = ""
    #: What it would have changed, of a dry run.
    planned_change: Any = None


class AnswerMetadata(Wire):
    """How an answer came about."""

    #: `skill`, `read_broad`, `write`, `code_gen_read`, ...
    flow: str | None = None
    verdict: Verdict | None = None
    execution_time_ms: int | None = None
    tools_used: list[str] = Field(default_factory=list)
    findings: list[Finding] = Field(default_factory=list)
    evidence_ids: list[str] = Field(default_factory=list)
    run_ids: list[str] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    #: Of a change: where its run stands, and what it waits for.
    status: str | None = None
    plan_digest: str | None = None
    missing_parameters: list[str] = Field(default_factory=list)
    plan: list[Step] = Field(default_factory=list)
    approvals: list[Approval] = Field(default_factory=list)
    #: Of a result: what its run changed, what it left undone, and the evidence that is missing.
    changes: list[Change] = Field(default_factory=list)
    undone: list[Undone] = Field(default_factory=list)
    missing_evidence: list[str] = Field(default_factory=list)


class Answer(AgentResponse):
    """What a request came to.

    A request that changes something is answered once its run waits for a person:
    `waits_for` says for what, `run_id` which run. The run goes on without the request, and once it has
    ended there is a second response, the result: `metadata.changes`, `metadata.undone`.
    """

    metadata: AnswerMetadata = Field(default_factory=AnswerMetadata)  # type: ignore[assignment]

    @property
    def findings(self) -> list[Finding]:
        """What the rules of the skills found."""
        return self.metadata.findings

    @property
    def evidence_ids(self) -> list[str]:
        """Records that prove it."""
        return self.metadata.evidence_ids

    @property
    def verdict(self) -> Verdict | None:
        """Where it was routed."""
        return self.metadata.verdict

    @property
    def run_id(self) -> str | None:
        """Its run; the first of several."""
        return next(iter(self.metadata.run_ids), None)

    @property
    def waits_for(self) -> WaitsFor | None:
        """What a person has to say before its run goes on, as it was when this was answered."""
        return WAITS.get(self.metadata.status or "")  # type: ignore[return-value]


class Request(contract.Request):
    """A request as it is recorded."""

    #: What a change came to, once its run has ended; it has an id of its own.
    result: Answer | None = None


class Progress(Wire):
    """Something that happened on the way to an answer.

    `stage` is `routed` (with `verdict`, `skills`, `reason`), `skill_started` (`skill`, `run_id`),
    `step_started` (`step`, `tool`), `step_waiting` (`step`, `tool`, `wait_ms`), `step_finished` (`step`, `outcome`,
    `message`), `analysed` (`skill`, `findings`, `evidence`, which are numbers) or `sentence` (`text`, `evidence_ids`,
    `finding_ids`), one for each sentence of a model whose citations were checked.
    """

    stage: str


class Explanation(Wire):
    """What the gate would say to a call, or said to a run, with every rule that it considered."""

    #: Of a call: `allow`, `warn`, `needs_approval`, `deny` or `skipped`.
    verdict: str | None = None
    rules: list[contract.RuleFinding] = Field(default_factory=list)
    #: Of a run: its steps with the decisions on each.
    steps: list[contract.StepExplanation] = Field(default_factory=list)


class PackageReport(contract.PackageReport):
    """What checking a package found."""

    @property
    def is_sound(self) -> bool:
        """Whether nothing stands in the way of registering it."""
        return all(problem.severity != "error" for problem in self.problems)


class NewKey(contract.NewKey):
    """A key with its secret, which is shown this once: `key.secret.get_secret_value()`."""

    secret: SecretStr  # type: ignore[assignment]
