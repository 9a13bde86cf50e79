"""What the server shows: runs, approvals, missions, verdicts and the like.

Fields that a newer server adds are kept as they come. Times are aware of their
zone; durations, where there are any, carry their unit in the name.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, SecretStr

from charter_client.contract import (
    AgentResponse,
    Finding,
    MemoryEntry,
    WritebackProposal,
)

D = TypeVar("D")

#: Where a run stands while nobody has to do anything.
BUSY = frozenset({"working", "stopping", "rolling_back"})
#: What a run waits for, by where it stands.
WAITS = {"awaiting_parameters": "parameters", "awaiting_confirmation": "confirmation", "awaiting_approval": "approval"}
#: Where a mission stands when it goes on no more.
MISSION_OVER = frozenset({"completed", "rejected", "failed", "cancelled", "budget_exceeded"})

WaitsFor = Literal["parameters", "confirmation", "approval"]


class Shown(BaseModel):
    """A value of the server's. It is not changed here."""

    model_config = ConfigDict(extra="allow", frozen=True)


# --- approvals


class Rule(Shown):
    """One rule's word on a call."""

    #: `permission`, `policy`, `guardrail`, `rate_limit`, `tool`, `safety`, `interrupted` or `approval`.
    kind: str
    id: str
    message: str
    note: str | None = None


class ExactCall(Shown):
    """One exact call of a tool."""

    run_id: str
    step: str
    tool: str
    tool_hash: str
    parameters: dict[str, Any]


class Approval(Shown):
    """A person's decision on one exact call, or the question for it."""

    approval_id: str
    tenant_id: str
    call: ExactCall
    #: What a decision is bound to, `sha256:...`.
    digest: str
    #: What asks for it.
    rules: list[Rule]
    requested_by: str
    requested_at: AwareDatetime
    expires_at: AwareDatetime
    #: Whether somebody else than `requested_by` has to decide.
    four_eyes: bool
    #: `pending`, `approved`, `rejected`, `consumed` or `lapsed`.
    state: str
    #: Who decided, when and why, once somebody has.
    by: str | None = None
    at: AwareDatetime | None = None
    reason: str | None = None


# --- runs


class RunSummary(Shown):
    """A run in a listing."""

    run_id: str
    title: str
    #: `working`, `awaiting_approval`, `completed` and so on: docs/run-states.md.
    status: str
    #: Events of its journal.
    version: int
    created_at: AwareDatetime
    updated_at: AwareDatetime


class Step(Shown):
    """A step of a run's plan, and where it stands."""

    step: str
    tool: str | None
    #: Whether it changes something.
    writes: bool
    #: The step that it undoes.
    reverses: str | None
    #: `pending`, `running`, `succeeded`, `failed` and so on.
    state: str
    #: Of a failed one: `code` and `message`.
    failure: dict[str, Any] | None = None


class RunEvent(Shown):
    """One event of a journal. Each kind has further fields of its own: docs/run-states.md."""

    #: From 1.
    sequence: int
    at: AwareDatetime
    #: `started`, `step_begun`, `step_succeeded` and so on.
    event: str


class RunEvidence(Shown):
    """A record of what a run did."""

    evidence_id: str
    summary: str
    warning: str | None = None


class Run(RunSummary):
    """A run: where it stands, its plan and its journal."""

    #: What an agreement to run it is bound to.
    plan_digest: str
    #: Whether it changes nothing.
    dry_run: bool
    #: Whether it waits for somebody to confirm its plan before it begins.
    confirm: bool
    #: The parameter whose value has to be typed to confirm.
    typed: str | None = None
    #: Mandatory parameters without a value.
    missing: list[str]
    parameters: dict[str, Any]
    steps: list[Step]
    #: Steps whose writes may have happened, and nobody knows.
    in_doubt: list[str]
    outcome: Any = None
    #: Approvals that it waits for.
    approvals: list[Approval]
    evidence: list[RunEvidence]
    #: The journal, oldest first.
    events: list[RunEvent]

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
        ends = [event.model_extra or {} for event in self.events if event.event == "step_succeeded"]
        return next((end.get("output") for end in reversed(ends) if step in (None, end.get("step"))), None)


class Divergence(Shown):
    """The first event of a journal that does not follow from those before it."""

    at: int
    detail: str


class Replay(Shown):
    """What folding a run's journal again found."""

    run_id: str
    events: int
    head: str
    status: str | None = None
    state_digest: str | None = None
    #: Nothing when the journal is what the run machine wrote.
    diverges: Divergence | None = None


# --- routing and answers


class Candidate(Shown):
    """What a query may be routed to, with the parts of its score."""

    #: `skill`, `playbook` or `agent`.
    kind: str
    id: str
    #: Chance that it is right, 0 to 1.
    score: float
    #: What it is ranked by within the query.
    fused: float
    lexical: float
    #: Nothing where only words were compared.
    cosine: float | None = None


class Thresholds(Shown):
    """What scores are compared with."""

    floor: float
    narrow: float
    margin: float


class Verdict(Shown):
    """Where a query is routed, and why."""

    query: str
    #: `narrow`, `broad` or `miss`.
    kind: str
    #: Best first.
    candidates: list[Candidate]
    thresholds: Thresholds
    #: The embedding model; nothing where only words were compared.
    model: str | None = None
    reason: str


class AnswerMetadata(Shown):
    """How an answer came about."""

    #: `skill`, `read_broad`, `write`, `code_gen_read`, ...
    flow: str | None = None
    verdict: Verdict | None = None
    execution_time_ms: int | None = None
    tools_used: list[str] = []
    findings: list[Finding] = []
    evidence_ids: list[str] = []
    run_ids: list[str] = []
    warnings: list[str] = []
    #: Of a change: where its run stands, and what it waits for.
    status: str | None = None
    plan_digest: str | None = None
    missing_parameters: list[str] = []
    plan: list[Step] = []
    approvals: list[Approval] = []


class Answer(AgentResponse):
    """What a request came to.

    A request that changes something is answered once its run waits for a person:
    `waits_for` says for what, `run_id` which run. The run goes on without the request.
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


class Progress(Shown):
    """Something that happened on the way to an answer.

    `stage` is `routed` (with `verdict`, `skills`, `reason`), `skill_started` (`skill`, `run_id`),
    `step_started` (`step`, `tool`), `step_ended` (`step`, `outcome`, `message`) or `analysed`
    (`skill`, `findings`, `evidence`, which are numbers).
    """

    stage: str


class RecordedRequest(Shown):
    """A request as it is recorded."""

    request_id: str
    created_at: AwareDatetime
    updated_at: AwareDatetime
    #: The `request` as it was sent, and what whoever asked was then.
    asked: dict[str, Any]
    verdict: dict[str, Any] | None = None
    #: The answer, or the error that it came to; nothing while it is worked on.
    answer: dict[str, Any] | None = None


class Explanation(Shown):
    """What the gate would say to a call, or said to a run, with every rule that it considered."""

    #: Of a call: `allow`, `warn`, `needs_approval`, `deny` or `left_out`.
    verdict: str | None = None
    rules: list[dict[str, Any]] = []
    #: Of a run: its steps with the decisions on each.
    steps: list[dict[str, Any]] = []


class Announcement(Shown):
    """Something that happened to the tenant's runs, approvals, catalogue or keys: what it was, by id."""

    id: int
    topic: str
    at: AwareDatetime
    data: dict[str, Any]


# --- the catalogue


class InForce(Shown, Generic[D]):
    """A document in force, where it is from, and which layer won."""

    document: D
    package: str | None = None
    package_version: str | None = None
    #: `tenant`, `global` or `tenant_over_global`.
    layer: str
    #: Of guardrails and policies: the glob that matched.
    matched: str | None = None
    #: Of templates: the level that it was found on.
    level: str | None = None


class Listed(Shown):
    """A document in a listing."""

    id: str
    kind: str
    domain: str | None = None
    status: str
    is_candidate: bool
    #: Whether it is the tenant's own.
    tenant: bool
    package: str
    package_version: str


class Problem(Shown):
    """One thing wrong in a package, and where."""

    #: Relative to the package.
    file: str
    #: From 1.
    line: int
    #: In characters, from 1.
    column: int
    #: `error` or `warning`.
    gravity: str
    message: str
    suggestion: str | None = None


class PackageReport(Shown):
    """What checking a package found."""

    package: str | None = None
    version: str | None = None
    problems: list[Problem]
    documents: int

    @property
    def is_sound(self) -> bool:
        """Whether nothing stands in the way of registering it."""
        return all(problem.gravity != "error" for problem in self.problems)


class DocumentChange(Shown):
    """What happens to one document."""

    kind: str
    id: str
    #: `added`, `changed` or `removed`.
    difference: str
    #: JSON pointers of the parts that differ, of a changed one.
    fields: list[str]


class PackageDiff(Shown):
    """What a package would change."""

    package: str
    from_version: str | None = Field(default=None, alias="from")
    to_version: str = Field(alias="to")
    changes: list[DocumentChange]


class Registered(Shown):
    """What a registration did."""

    package: str
    version: str
    #: Whether the same content was in force already, or nothing was to be written.
    unchanged: bool
    diff: PackageDiff
    problems: list[Problem]
    #: Texts that had to be embedded.
    embedded: int
    lenses: list[dict[str, Any]]


class PackageVersion(Shown):
    """One entry of a package's history."""

    package: str
    version: str
    #: `tenant` or `global`.
    scope: str
    #: `registered`, `rolled_back` or `unregistered`.
    change: str
    documents: int
    content_hash: str
    revision: int
    actor: str
    at: AwareDatetime


# --- missions


class MissionSummary(Shown):
    """A mission in a listing."""

    mission_id: str
    run_id: str
    title: str
    #: `running`, `awaiting_approval`, `completed` and so on: docs/missions.md.
    state: str
    artifacts: int
    created_at: AwareDatetime
    updated_at: AwareDatetime


class Task(Shown):
    """A task of a mission."""

    task_id: str
    role_type: str
    objective: str
    depends_on: list[str]
    #: `pending`, `running`, `succeeded`, `failed`, `blocked` or `cancelled`.
    state: str
    reason: str | None = None


class Proposal(Shown):
    """What a mission proposes to write back."""

    proposal: WritebackProposal
    #: `proposed`, `approved`, `executed`, `rejected`, `conflict` and so on.
    state: str
    run_id: str | None = None
    #: The approval that it waits for.
    approval_id: str | None = None
    reason: str | None = None


class Tokens(Shown):
    """What models were sent and answered."""

    input: int
    output: int


class Mission(Shown):
    """A mission: where it stands, its tasks, its reviewed output, its proposals."""

    mission_id: str
    run_id: str
    mission_type: str
    goal: str
    state: str
    #: Where its run stands.
    status: str
    reason: str | None = None
    tokens: Tokens
    token_budget: int | None = None
    #: Whether no model is asked.
    offline: bool
    tasks: list[Task]
    output: dict[str, Any] | None = None
    proposals: list[Proposal]
    #: How many there are.
    artifacts: int
    events: int
    created_at: AwareDatetime
    updated_at: AwareDatetime
    imported_at: AwareDatetime | None = None

    @property
    def is_over(self) -> bool:
        """Whether it goes on no more."""
        return self.state in MISSION_OVER


class MissionEvent(RunEvent):
    """One event of a mission's journal, and where the mission stands after it."""

    mission_state: str
    status: str


class Artifact(Shown):
    """An artifact of a mission."""

    #: From 1, in the order of writing.
    place: int
    event: int
    kind: str
    artifact_id: str
    task_id: str | None = None
    #: Of the form that `charter_client.contract` has under its kind.
    artifact: dict[str, Any]


class MissionReplay(Shown):
    """What replaying a mission came to."""

    mission_id: str
    run_id: str
    identical: bool
    events: int
    artifacts: int
    divergence: str | None = None


class MissionDiff(Shown):
    """What two missions differ in, ids and times apart."""

    same: bool
    #: For people.
    text: str
    differences: dict[str, Any]


# --- evidence


class LogKey(Shown):
    """The public key of the tenant's evidence log."""

    #: `name+id+key`, as C2SP signed notes have it.
    key: str
    name: str
    id: str
    algorithm: str


class LogCheckpoint(Shown):
    """A signed head of the evidence log."""

    origin: str
    #: Leaves.
    size: int
    #: In hexadecimal.
    root: str
    #: The signed note.
    checkpoint: str


class LogHead(Shown):
    """A head, with its note where one was handed out."""

    size: int
    root: str
    checkpoint: str | None = None


class LogConsistency(Shown):
    """Two heads, and the proof that the first is the beginning of the second."""

    from_head: LogHead = Field(alias="from")
    to_head: LogHead = Field(alias="to")
    proof: list[str]


# --- memories, keys, sessions


class Memory(Shown):
    """One version of a memory, and where it stands."""

    memory_id: str
    owner: str
    #: `private` or `shared`.
    visibility: str
    version: int
    #: `proposed`, `accepted`, `superseded` or `rejected`.
    state: str
    at: AwareDatetime
    author: str
    agent_id: str | None = None
    supersedes: int | None = None
    decided_by: str | None = None
    decided_at: AwareDatetime | None = None
    #: The version that waits for a decision.
    proposed: int | None = None
    expires_at: AwareDatetime | None = None
    removed_at: AwareDatetime | None = None
    removed_by: str | None = None
    #: Nothing once it was removed.
    memory: MemoryEntry | None = None


class FoundMemory(Memory):
    """A memory that fits some words."""

    fused: float
    lexical: float
    cosine: float | None = None


class Key(Shown):
    """A key of the API without its secret."""

    key_id: str
    tenant_id: str
    name: str
    #: `live`, `expired` or `revoked`.
    state: str
    user: str
    role: str
    tier: str
    catalogue: str
    scopes: list[str]
    created_by: str
    created_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    last_used_at: AwareDatetime | None = None
    revoked_at: AwareDatetime | None = None
    revoked_by: str | None = None
    rotated_from: str | None = None


class NewKey(Key):
    """A key with its secret, which is shown this once: `key.secret.get_secret_value()`."""

    secret: SecretStr


class Turn(Shown):
    """A question of a session and its answer."""

    request_id: str
    input: str
    output: str | None = None
    at: AwareDatetime


class Session(Shown):
    """A conversation: questions in it may lean on earlier ones."""

    session_id: str
    created_at: AwareDatetime
    expires_at: AwareDatetime
    turns: list[Turn] = []
