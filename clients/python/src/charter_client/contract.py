"""The types of the contract, made from schemas/openapi.json by generate.py. Do not edit."""

from __future__ import annotations

from typing import Any, Literal

from charter_client._base import Wire
from pydantic import AwareDatetime, Field, RootModel


class A2aCall(Wire):
    """A call as it is sent, for the document."""

    id: str | None = None
    """Comes back with the answer: a text or a whole number."""
    jsonrpc: str
    """`2.0`."""
    method: str
    """`SendMessage`, `GetTask`, …"""
    params: dict[str, Any] | None = None
    """Its parameters."""


class A2aErrorError(Wire):
    code: int
    """The HTTP status."""
    details: list[dict[str, Any]]
    message: str
    """What failed."""
    status: str
    """Its name in `google.rpc.Code`."""


class A2aError(Wire):
    """A failure as the HTTP+JSON binding of A2A has it."""

    error: A2aErrorError


class A2aMessageConfiguration(Wire):
    """`SendMessageConfiguration`."""

    accepted_output_modes: list[str] | None = Field(None, alias="acceptedOutputModes")
    history_length: int | None = Field(None, alias="historyLength")
    return_immediately: bool | None = Field(None, alias="returnImmediately")
    task_push_notification_config: Any = Field(None, alias="taskPushNotificationConfig")


class A2aMessageMessage(Wire):
    """`Message`, as far as one from a client is read."""

    context_id: str | None = Field(None, alias="contextId")
    message_id: str = Field(..., alias="messageId")
    parts: list[dict[str, Any]] = []
    role: str | None = None
    task_id: str | None = Field(None, alias="taskId")


class A2aMessage(Wire):
    """`SendMessageRequest`."""

    configuration: A2aMessageConfiguration | None = None
    """`SendMessageConfiguration`."""
    message: A2aMessageMessage
    """`Message`, as far as one from a client is read."""
    tenant: str | None = None


class AgentComposition(Wire):
    """How it goes together with others."""

    compatible_agents: list[str] = []
    """Agents it works with."""
    conflicts_with_agents: list[str] = []
    """Agents it must not meet."""
    usable_in_profiles: list[str] = []
    """Profiles that may use it."""


class Agent(Wire):
    """An agent's manifest."""

    agent_id: str
    """Its id, e.g. `domain.security.exposure`."""
    agent_type: str
    """What kind of agent it is: `domain`."""
    capabilities: list[str] = []
    """What it can do, one line each; embedded."""
    capabilities_embedding: list[float] | None = None
    """The vector of its capabilities, when the document carries one."""
    composition: AgentComposition = Field(
        {"compatible_agents": [], "conflicts_with_agents": [], "usable_in_profiles": []},
        validate_default=True,
    )
    """How it goes together with others."""
    created_at: AwareDatetime | None = None
    """When it was first registered."""
    display_name: str
    """Its name for people."""
    domain: str
    """The domain it belongs to."""
    embedding: list[float] | None = None
    """Its vector, when the document carries one."""
    name: str
    """Its short name."""
    skill_refs: list[str] = []
    """Its skills."""
    status: Literal["active", "inactive"] = "active"
    """Whether it is offered."""
    supported_context_types: list[str] = []
    """Derived on registration: the union over its skills (B000-8)."""
    tenant_id: str | None = None
    """Its tenant; absent for a global agent."""
    tier_support: list[Literal["basic", "advanced"]] = []
    """The tiers it serves."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version."""


class AgentErrorRecommendedAction(Wire):
    action_type: Literal["user_action", "system_retry", "alternative_approach", "contact_support"]
    """Type of action being recommended"""
    description: str
    """Description of the recommended action"""
    details: dict[str, Any] | None = None
    """Additional details about the recommended action"""


class AgentError(Wire):
    """Schema for error responses from the agentic system"""

    error_code: str | None = None
    """Specific error code for more detailed categorization"""
    error_id: str
    """Unique identifier for the error"""
    error_type: Literal["input_error", "execution_error", "resource_error", "permission_error", "timeout_error", "system_error"]
    """Categorization of the error"""
    recommended_actions: list[AgentErrorRecommendedAction] | None = None
    """Suggested actions to resolve the error"""
    request_id: str
    """Identifier of the request that resulted in this error"""
    technical_details: dict[str, Any] | None = None
    """Technical information about the error (for debugging)"""
    timestamp: AwareDatetime
    """ISO 8601 timestamp of when the error occurred"""
    user_message: str
    """User-friendly error message"""


class AgentRequestMetadataEnvironmentCursorPosition(Wire):
    """The current position of the cursor"""

    column: int | None = None
    file: str | None = None
    line: int | None = None


class AgentRequestMetadataEnvironment(Wire):
    """Information about the user's development environment"""

    cursor_position: AgentRequestMetadataEnvironmentCursorPosition | None = None
    """The current position of the cursor"""
    editor: str | None = None
    """The user's code editor or IDE"""
    open_files: list[str] | None = None
    """List of files currently open in the editor"""


class AgentRequestMetadataProject(Wire):
    """Information about the user's project"""

    framework: str | None = None
    language: str | None = None
    name: str | None = None
    root_directory: str | None = None


class AgentRequestMetadata(Wire):
    """Additional metadata about the request context"""

    environment: AgentRequestMetadataEnvironment | None = None
    """Information about the user's development environment"""
    project: AgentRequestMetadataProject | None = None
    """Information about the user's project"""


class AgentRequest(Wire):
    """Schema for user requests to the agentic system"""

    id: str
    """Unique identifier for the request"""
    input: str
    """The natural language input from the user"""
    metadata: AgentRequestMetadata | None = None
    """Additional metadata about the request context"""
    session_id: str | None = None
    """Identifier for the user's session, used for context retrieval"""
    timestamp: AwareDatetime
    """ISO 8601 timestamp of when the request was created"""
    user_id: str | None = None
    """Identifier for the user making the request"""


class AgentResponseAction(Wire):
    action_type: Literal["file_edit", "file_create", "command_execution", "search", "visualization"]
    """Type of action taken"""
    details: dict[str, Any] | None = None
    """Action-specific details"""
    timestamp: AwareDatetime
    """When the action was performed"""


class AgentResponseMetadata(Wire):
    """Additional metadata about the response"""

    execution_time_ms: int | None = None
    """Total time to process the request in milliseconds"""
    tools_used: list[str] | None = None
    """List of tools used to generate the response"""


class AgentResponse(Wire):
    """Schema for responses from the agentic system"""

    actions: list[AgentResponseAction] | None = None
    """Actions taken by the system in response to the request"""
    content: str
    """The natural language response to the user"""
    id: str
    """Unique identifier for the response"""
    metadata: AgentResponseMetadata | None = None
    """Additional metadata about the response"""
    request_id: str
    """Identifier of the request this is responding to"""
    timestamp: AwareDatetime
    """ISO 8601 timestamp of when the response was created"""


class AgentSkill(Wire):
    """One document of the `agent_skills` index."""

    instruction: str = ""
    """The instructions; read only by a targeted fetch."""
    is_folder: bool
    """Whether it points at other skills rather than holding instructions."""
    skill_desc_vector: list[float] | None = None
    """Its vector; its length must be the index's, which is checked there (B001-2)."""
    skill_id: str
    """Its id, unique (B001-1)."""
    sub_skills: list[str] = []
    """The skills it points at."""
    summary: str
    """A short description, shown on discovery."""


class AgentSkillFile(Wire):
    """A file of a skill, without its content."""

    bytes: int
    """Its size, in bytes."""
    digest: str
    """`sha256:…` of its content."""
    executable: bool
    """Whether it may be executed."""
    path: str
    """Its path, relative to the skill."""


class AgentSkillFiles(Wire):
    files: list[AgentSkillFile]


class AgentSkillHit(Wire):
    """A hit of a search."""

    is_folder: bool
    """Whether it points at other skills."""
    score: float
    """Chance that it is right, 0 to 1."""
    skill_id: str
    """Its id."""
    sub_skills: list[str]
    """The skills it points at; one that does not exist is listed all the same."""
    summary: str
    """What it is for."""


class AgentSkillHits(Wire):
    hits: list[AgentSkillHit]


class AgentSkillInScope(Wire):
    """One skill, with the layer that it comes from."""

    is_folder: bool
    """Whether it points at other skills."""
    scope: Literal["tenant", "global"] | str
    """`tenant` or `global`."""
    skill_id: str
    """Its id."""
    sub_skills: list[str]
    """The skills it points at; one that does not exist is listed all the same."""
    summary: str
    """What it is for."""


class AgentSkillInstruction(Wire):
    """The instruction of one skill."""

    instruction: str
    """The instruction."""
    skill_id: str
    """Whose."""


class AgentSkillSummary(Wire):
    """A skill as discovery and navigation show it: never its instruction or vector (B001-3)."""

    is_folder: bool
    """Whether it points at other skills."""
    skill_id: str
    """Its id."""
    sub_skills: list[str]
    """The skills it points at; one that does not exist is listed all the same."""
    summary: str
    """What it is for."""


class AggregationPacketContradictions(Wire):
    """The two forms in which a remark may be written."""

    description: str
    refs: list[str] = []


class AggregationPacketCoverageGaps(Wire):
    """The two forms in which a remark may be written."""

    description: str
    refs: list[str] = []


class AggregationPacketEvidenceMatrixItem(Wire):
    """A claim and what supports it."""

    claim: str
    """The claim."""
    support_refs: list[str]
    """Results, entities or evidence that support it."""


class AggregationPacket(Wire):
    """What the workers found, brought together."""

    actor_id: str | None = None
    """Its actor; stamped when stored."""
    contradictions: list[str | AggregationPacketContradictions] = Field(
        [], validate_default=True
    )
    """Where sources disagree."""
    coverage_gaps: list[str | AggregationPacketCoverageGaps] = Field(
        [], validate_default=True
    )
    """What is not covered."""
    created_at: AwareDatetime
    """When it was made."""
    evidence_matrix: list[AggregationPacketEvidenceMatrixItem] = Field(
        [], validate_default=True
    )
    """Each claim and what supports it (B002-10)."""
    mission_id: str
    """The mission."""
    packet_id: str
    """Its own id."""
    producer: str
    """Who made it."""
    recommended_output: dict[str, Any] | None = None
    """The output that is proposed."""
    schema_name: Literal["aggregation_packet"]
    """`aggregation_packet`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    summary: str
    """The draft, in short."""
    tenant_id: str | None = None
    """Its tenant; stamped when stored."""


class ApprovalDecisionRecord(Wire):
    """Who decided, when, and why."""

    at: AwareDatetime
    """When."""
    by: str
    """Who."""
    makers: list[str] | None = None
    """Who made the key by which they decided."""
    reason: str | None = None
    """Why, in their words."""


class ApprovalReport(Wire):
    """What a person saw of a call that was interrupted, and what it came to."""

    digest: str
    output: Any = None
    """`null`, or nothing, when nobody knows."""
    reason: str | None = None


class ApprovalDecision(Wire):
    """What a person saw, and why they decide so."""

    digest: str
    reason: str | None = None


class AssumedFacts(Wire):
    """Facts of a run that nobody knows before it runs, as they were taken for the explanation."""

    approvals: int
    """Approvals that the run was given."""
    approvers: list[str]
    """Who approved exactly this call."""
    calls: dict[str, int]
    """Calls that it began."""
    interrupted: bool
    """Whether an earlier attempt of the step was interrupted."""


class BudgetUsage(Wire):
    """A budget, and what was used of it."""

    budget: int | None
    """What was allowed; absent for no bound."""
    used: int | None
    """What was used; absent when nobody told."""


class CandidatePromotion(Wire):
    """The run that a candidate is accepted on."""

    run_id: str


class CatalogueKind(Wire):
    """What there is of one kind."""

    documents: int
    """How many documents a listing of it has."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"] | str
    """The kind."""
    of_tenant: int
    """How many of them are the tenant's own."""


class ContextModelItem(Wire):
    """One item of a context."""

    content: str
    """Its content."""
    id: str
    """Its name within the context."""
    kind: Literal["instruction", "message", "memory", "file", "tool_result", "document"]
    """What it is."""
    relevance: float | None = None
    """How well it fits the request."""
    source: str
    """Where it comes from: an id, a path, a link."""
    tokens: int | None = None
    """Its size in tokens."""


class ContextModel(Wire):
    """What a model is given besides its prompt."""

    created_at: AwareDatetime
    """When it was put together."""
    id: str
    """Its id."""
    items: list[ContextModelItem] = Field([], validate_default=True)
    """The items, the most important first."""
    metadata: dict[str, Any] | None = None
    """Anything else about it."""
    request_id: str
    """The request it serves."""
    session_id: str | None = None
    """The session it draws on."""
    token_budget: int | None = None
    """Most tokens it may have."""


class CoveringAction(Wire):
    """A skill or playbook with the tools that join it to a resource type."""

    id: str
    """Its id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"] | str
    """`skill` or `playbook`."""
    tools: list[str]
    """Those of its tools."""


class DecisionTreeInput(Wire):
    """
    A parameter of a tool, skill or playbook (000 §2.4).

    `default`, `enum` and `pattern` are this project's additions to tools; the
    seed itself has `default` in playbooks.
    """

    default: Any | None = None
    """The value when none is given. `null` counts as no default."""
    description: str = ""
    """What it is for."""
    enum: list[Any] | None = None
    """The only values allowed."""
    example: Any | None = None
    """A value that would be accepted."""
    name: str
    """Name, unique within its list."""
    other_types: list[Literal["string", "number", "integer", "boolean", "array", "object"]] | None = (
        None
    )
    """Further types that its value may have (this project)."""
    pattern: str | None = None
    """
    Regular expression that a string value must match as a whole or in part,
    as `pattern` does in JSON Schema.
    """
    required: bool = False
    """Whether a caller must give it. In a playbook the list it stands in decides."""
    synonyms: dict[str, list[str]] | None = None
    """
    Other words for allowed values, by value; of a boolean, by `true` and `false`. A sentence may use them, a caller may
    not (this project).
    """
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of its value."""
    wire_name: str | None = None
    """
    The name that the server of an imported tool has for it, where that is no name here: `$filter` (this project).
    Callers may use either.
    """


class DecisionTreeNodeBranch(Wire):
    """A branch of a decision."""

    next: str
    """Where to go when it is true."""
    when: str
    """The expression."""


class DecisionTreeNode(Wire):
    """One node."""

    branches: list[DecisionTreeNodeBranch] | None = None
    """The branches, in the order in which they are tried."""
    details: dict[str, Any] | None = None
    """More about it."""
    id: str
    """Its name within the tree."""
    next: str | None = None
    """Where to go on success."""
    on_failure: str | None = None
    """Where to go on failure; the tree fails when absent."""
    otherwise: str | None = None
    """Where to go when none is true."""
    parameters: dict[str, Any] = {}
    """The tool's arguments."""
    question: str | None = None
    """What is asked."""
    result: str | None = None
    """What was decided."""
    tool: str | None = None
    """The tool."""
    type: Literal["action", "decision", "outcome"] | str


class DecisionTree(Wire):
    """A decision tree."""

    created_at: AwareDatetime | None = None
    """When it was made."""
    description: str = ""
    """What it decides."""
    id: str
    """Its id."""
    inputs: list[DecisionTreeInput] | None = None
    """What it takes."""
    metadata: dict[str, Any] | None = None
    """Anything else about it."""
    name: str
    """Its name."""
    nodes: list[DecisionTreeNode]
    """Its nodes."""
    root: str
    """Where it starts."""
    version: str | None = None
    """Its version."""


class ReplayDivergence(Wire):
    """Where a journal is not what the run machine wrote."""

    at: int
    """The event's position, from 1."""
    detail: str
    """What is wrong with it."""


class DocumentChange(Wire):
    """One changed document."""

    difference: Literal["added", "changed", "removed"]
    """What happens to it."""
    fields: list[str]
    """JSON pointers of the parts that differ, for a changed document."""
    id: str
    """The document."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"] | str
    """Which collection."""


class DocumentRef(Wire):
    """A document by its kind and id."""

    id: str
    """The id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"] | str
    """Which collection."""


class DocumentPin(Wire):
    """
    A document version that a run executes: what it was when the run started, whatever is
    registered later.
    """

    content_hash: str
    """`sha256:…` of its content."""
    id: str
    """The document."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"] | str
    """Which collection."""
    package: str
    """Its package."""
    tenant: str | None = None
    """The tenant whose layer it was found in; absent for the global one."""
    version: str
    """Its package's version."""


class DocumentSource(Wire):
    """A document as its author wrote it."""

    file: str
    """The file, relative to the package."""
    line: int
    """The line of the file that the text begins at, from 1."""
    text: str
    """The document's text."""


class DocumentSummary(Wire):
    """A document in a listing."""

    domain: str | None
    """Its domain, where it has one."""
    id: str
    """Its id."""
    is_candidate: bool
    """Whether it was generated and nobody has accepted it yet."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"] | str
    """Its kind."""
    package: str
    """The package that registered it."""
    package_version: str
    """That package's version."""
    status: Literal["active", "inactive"] | str
    """Whether it is offered."""
    summary: str | None
    """What it is for, where it says so; at most 200 characters."""
    tenant: bool
    """Whether it is the tenant's own."""
    title: str | None
    """What people call it, where it says so."""


class Domain(Wire):
    """A domain."""

    created_at: AwareDatetime | None = None
    """When it was first registered."""
    description: str = ""
    """What it covers."""
    display_name: str
    """Its name for people."""
    domain_id: str
    """Its id."""
    domain_type: Literal["platform", "domain"]
    """The platform itself, or a field of work."""
    status: Literal["active", "inactive"] = "active"
    """Whether documents may be registered in it."""
    tenant_id: str | None = None
    """Its tenant; absent for a global domain."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version."""


class DomainLensSource(Wire):
    """Where it is fetched from."""

    ref: str
    """The link, or the path inside the package; of a folder every file is taken."""
    type: Literal["url", "file"]
    """A link, or a file or folder of the package."""


class DomainLens(Wire):
    """A domain lens."""

    content_hash: str | None = None
    """
    Hash of what was fetched last, e.g. `sha256:…`; kept with the index and shown with the lens,
    whatever was authored.
    """
    content_type: Literal["framework", "cloud_service", "policy", "reference"]
    """What kind of knowledge it is."""
    created_at: AwareDatetime | None = None
    """When it was first registered."""
    description: str
    """What it holds."""
    domain: str
    """The domain it belongs to."""
    lens_id: str
    """Its id."""
    source: DomainLensSource
    """Where it is fetched from."""
    status: Literal["active", "inactive"] = "active"
    """Whether it is offered (this project, for lenses)."""
    tags: list[str] = []
    """Words to find it by."""
    tenant_id: str | None = None
    """Its tenant; absent for a global lens."""
    tier: Literal["basic", "advanced"] = "advanced"
    """The tier from which it may be used; lenses are refused on the basic tier (B000-16)."""
    title: str
    """Its title."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version."""


class EnvironmentAccess(Wire):
    """One access to the environment."""

    id: str
    """Its id."""
    metadata: dict[str, Any] | None = None
    """Anything else about it."""
    names: list[str] = []
    """The variables; none for `list`."""
    operation: Literal["get", "list", "set", "unset"]
    """What is done."""
    reason: str | None = None
    """Why it is needed."""
    request_id: str | None = None
    """The request it serves."""
    timestamp: AwareDatetime
    """When it was asked for."""
    value: str | None = None
    """`set`: the value."""


class Event(Wire):
    """Something that happened."""

    at: AwareDatetime
    """When."""
    data: Any
    """What it happened to."""
    id: int
    """Grows with every event; a reader goes on after it."""
    topic: str
    """What happened, e.g. `approval.requested`."""


class EventPage(Wire):
    """One page of events."""

    entries: list[Event]
    """Oldest first."""
    next: int
    """The id to go on after; the one that was asked for when there is nothing new."""


class EvidenceAttachedToItem(Wire):
    """What evidence supports: exactly one of the known keys (B000-19)."""

    bundle_id: str | None = None
    """A bundle."""
    finding_id: str | None = None
    """A finding."""
    plan_id: str | None = None
    """A plan."""
    report_item_id: str | None = None
    """An item of a report."""
    run_id: str | None = None
    """A run."""


class EvidenceConsoleLink(Wire):
    """A link by which a person can check evidence."""

    href: str
    """The link, always https (B000-19)."""
    label: str
    """What the link shows."""


class EvidencePayloadAbsent(Wire):
    """
    Why the payload is not here; absent while it is. Only the store and the reader's
    permissions set it, never who captures.
    """

    note: str
    """In a sentence: `payload removed on 2026-05-13T09:14:22Z`."""
    reason: Literal["removed", "withheld"]
    """Removed for good, or withheld from this reader."""


class EvidenceSource(Wire):
    """Where it comes from."""

    account_id: str | None = None
    """Account, subscription or project of the resource."""
    api_call: str | None = None
    """The call that fetched it."""
    native_id: str
    """Its id in the system."""
    region: str | None = None
    """Region of the resource."""
    system: str
    """The system: `aws.cloudtrail`."""
    tenant_id: str | None = None
    """The cloud directory's tenant (ruling 17), not ours."""


class Evidence(Wire):
    """One record of evidence."""

    attached_to: list[EvidenceAttachedToItem] = Field([], validate_default=True)
    """What it supports. Later attachments are link records of their own (ruling 17)."""
    captured_at: AwareDatetime
    """When it was captured."""
    console_links: list[EvidenceConsoleLink]
    """Links by which a person can check it; at least one."""
    created_at: AwareDatetime | None = None
    """When it was stored."""
    estate_view_id: str | None = None
    """The view of the estate under which it was captured."""
    id: str
    """Its id."""
    payload: dict[str, Any]
    """What was captured, as its source gave it; empty when `payload_absent` says why."""
    payload_absent: EvidencePayloadAbsent | None = None
    """
    Why the payload is not here; absent while it is. Only the store and the reader's
    permissions set it, never who captures.
    """
    redaction_class: str | None = None
    """
    Who may see the payload: `standard`, `restricted`, `secret`; another word counts as the
    strictest.
    """
    schema_version: Literal[1]
    """Version of this form; 1 so far."""
    source: EvidenceSource
    """Where it comes from."""
    summary: str
    """What it shows, in a sentence."""
    tenant_id: str
    """The tenant it belongs to."""
    type: Literal["cloudtrail_event", "azure_activity_log", "config_snapshot", "iam_policy", "billing_line", "metric_point", "log_line", "deployment_record", "pr_record", "commit_record", "approval_record", "api_call", "manual_note"]
    """What kind of proof it is."""


class EvidenceAttachment(Wire):
    """What evidence supports: exactly one of the known keys (B000-19)."""

    bundle_id: str | None = None
    """A bundle."""
    finding_id: str | None = None
    """A finding."""
    plan_id: str | None = None
    """A plan."""
    report_item_id: str | None = None
    """An item of a report."""
    run_id: str | None = None
    """A run."""


class EvidenceHeader(Wire):
    """The first line."""

    checkpoint: str
    """The signed head that every proof leads to."""
    coverage: Literal["complete", "selection"]
    """Whether every leaf of the checkpoint follows."""
    format: str
    """[`FORMAT`]."""
    key: str
    """The public key, as C2SP writes it: `name+id+key`."""
    tenant_id: str
    """Whose evidence it is."""


class EvidenceLogCheckpoint(Wire):
    """A signed head."""

    checkpoint: str
    """The signed note."""
    origin: str
    """The log's name."""
    root: str
    """Hash of the tree."""
    size: int
    """Leaves."""


class EvidenceLogHead(Wire):
    """A head, with the note that was handed out for it, if one was."""

    checkpoint: str | None = None
    """The signed note."""
    root: str
    """Hash of the tree."""
    size: int
    """Leaves."""


class EvidenceLogKey(Wire):
    """The public key of a tenant's log."""

    algorithm: str
    """`ed25519`."""
    id: str
    """Its id, in hexadecimal."""
    key: str
    """As C2SP `signed-note` writes it: `name+id+key`."""
    name: str
    """The log's name, which is also the key's."""


class EvidenceSourceModel(Wire):
    """Where evidence comes from."""

    account_id: str | None = None
    """Account, subscription or project of the resource."""
    api_call: str | None = None
    """The call that fetched it."""
    native_id: str
    """Its id in the system."""
    region: str | None = None
    """Region of the resource."""
    system: str
    """The system: `aws.cloudtrail`."""
    tenant_id: str | None = None
    """The cloud directory's tenant (ruling 17), not ours."""


class ExactCall(Wire):
    """One exact call of a tool."""

    parameters: dict[str, Any]
    """The arguments, resolved."""
    run_id: str
    """The run."""
    step: str
    """The step."""
    tool: str
    """The tool."""
    tool_hash: str
    """The content of the tool's pinned version."""


class ExecutionPlanErrorHandling(Wire):
    """Global error handling strategy"""

    fallback_plan_id: str | None = None
    """ID of fallback plan to execute on failure"""
    on_step_failure: Literal["abort_plan", "continue_plan", "execute_fallback"] | None = (
        None
    )
    """Action to take when a step fails"""


class ExecutionPlanStepCondition(Wire):
    """Condition that must be met for this step to execute"""

    expression: str | None = None
    """Expression to evaluate"""
    step_id: str | None = None
    """Step ID this condition depends on"""
    type: Literal["step_success", "step_failure", "expression"] | None = None
    """Type of condition"""


class ExecutionPlanStepRetry(Wire):
    """Retry configuration for this step"""

    delay_ms: int | None = None
    """Delay between retries in milliseconds"""
    max_attempts: int | None = None
    """Maximum number of retry attempts"""


class ExecutionPlanStep(Wire):
    condition: ExecutionPlanStepCondition | None = None
    """Condition that must be met for this step to execute"""
    dependencies: list[str] | None = None
    """IDs of steps that must complete before this step"""
    id: str
    """Identifier for this step"""
    name: str | None = None
    """Descriptive name for the step"""
    parameters: dict[str, Any]
    """Parameters to pass to the tool"""
    retry: ExecutionPlanStepRetry | None = None
    """Retry configuration for this step"""
    timeout_ms: int | None = None
    """Maximum execution time in milliseconds"""
    tool: str
    """ID of the tool to execute"""


class ExecutionPlan(Wire):
    """Schema for planning the execution of complex operations"""

    created_at: AwareDatetime | None = None
    """When the plan was created"""
    error_handling: ExecutionPlanErrorHandling | None = None
    """Global error handling strategy"""
    id: str
    """Unique identifier for the execution plan"""
    metadata: dict[str, Any] | None = None
    """Additional metadata about the execution plan"""
    request_id: str
    """ID of the request this plan is for"""
    steps: list[ExecutionPlanStep]
    """Ordered steps in the execution plan"""


class ExecutorCallImplementation(Wire):
    """What to run."""

    body: Any | None = None
    """The body, sent as JSON."""
    entry: str | None = None
    """Its path among the files."""
    files: str | None = None
    """Digest of the files that it may open or import, which the lease gives access to."""
    headers: dict[str, str] | None = None
    """Headers."""
    language: Literal["bash", "python"] | str | None = None
    method: Literal["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"] | str | None = None
    query: dict[str, Any] | None = None
    """Query parameters."""
    type: Literal["handler", "http", "script"] | str
    url: str | None = None
    """The link."""


class ExecutorCall(Wire):
    """One call of a client tool, leased to one executor."""

    dry_run: bool
    """Whether to say what would be done instead of doing it."""
    egress: list[str] | None = None
    """Host patterns of the tool's own list."""
    environment: list[str] | None = None
    """Names of the variables that the tool asks for; the executor decides which it grants."""
    grants: Literal["asked", "own"] | None = None
    """Who decides what the call is granted; `asked` when absent."""
    idempotency_key: str
    """The same for every attempt of one effect."""
    implementation: ExecutorCallImplementation
    """What to run."""
    lease_id: str
    """The executor's hold on the call. Each time the call is offered it is another one."""
    lease_ms: int
    """For how long the call is held after this answer, and after each renewal."""
    output_bytes: int
    """Largest output that is taken, in bytes of JSON."""
    parameters: dict[str, Any]
    """The arguments: resolved, checked, defaults filled in."""
    timeout_ms: int
    """What is left of the call's time. It is a span, because clocks differ."""
    tool_id: str
    """The tool, for logs and messages."""


class ExecutorOutcomeResult(Wire):
    """How it ended."""

    answered: bool | None = None
    """
    Whether the tool answered, and its answer cannot be used: it may have done what it was asked. False when
    absent.
    """
    error_type: Literal["execution_error", "input_error", "permission_error", "resource_error", "system_error", "timeout_error"] | str | None = (
        None
    )
    message: str | None = None
    """What happened, secrets redacted; at most 8192 bytes."""
    output: Any | None = None
    """Its result."""
    retryable: bool | None = None
    """Whether the same call may succeed later."""
    stale: bool | None = None
    """
    Whether what was to be changed is not as the call expected it: an HTTP tool was answered 409 or
    412. False when absent.
    """
    status: Literal["failed", "succeeded"] | str


class ExecutorOutcome(Wire):
    """What came of a call."""

    duration_ms: int
    """Wall-clock time."""
    log: str = ""
    """The end of the tool's log, secrets redacted; at most 65536 bytes."""
    result: ExecutorOutcomeResult
    """How it ended."""


class FieldChange(Wire):
    """One place in which two values differ."""

    left: Any | None = None
    """What stood there; absent when nothing did."""
    pointer: str
    """Where, as a JSON pointer."""
    right: Any | None = None
    """What stands there; absent when nothing does."""


class FileSystemOperationEdit(Wire):
    """Lines and what takes their place. `end_line` one before `start_line` inserts."""

    end_line: int
    """The last line that is replaced."""
    expected: str | None = None
    """What the replaced lines must be now, or nothing is done."""
    replacement: str
    """What takes their place."""
    start_line: int
    """The first line that is replaced."""


class FileSystemOperationRange(Wire):
    """`read`: only these lines."""

    end_line: int
    """The last line."""
    start_line: int
    """The first line."""


class FileSystemOperation(Wire):
    """One operation on files."""

    content: str | None = None
    """`write`, `create`: the content."""
    create_parents: bool = False
    """`write`, `create`, `move`, `copy`, `make_directory`: also the directories above."""
    destination: str | None = None
    """`move`, `copy`: where to."""
    edits: list[FileSystemOperationEdit] | None = None
    """
    `edit`: the replacements, in ascending order and without overlap. Lines are
    those of the file before the edit.
    """
    encoding: Literal["utf-8", "base64"] | None = None
    """How the content is written down; `utf-8` when absent."""
    expected_hash: str | None = None
    """The file must have this hash, or nothing is done."""
    id: str
    """Its id."""
    include: list[str] | None = None
    """`search`: globs over the paths of files, relative to `path`; all files when empty."""
    max_results: int | None = None
    """`list`, `search`: most results."""
    metadata: dict[str, Any] | None = None
    """Anything else about it."""
    operation: Literal["read", "write", "create", "edit", "move", "copy", "delete", "list", "search", "stat", "make_directory"]
    """What is done."""
    overwrite: bool = False
    """`move`, `copy`, `create`: also over what is there."""
    path: str
    """The file or directory, relative to the root; `.` is the root itself."""
    pattern: str | None = None
    """`search`: what lines must match. `list`: a glob over names."""
    pattern_type: Literal["regex", "literal"] | None = None
    """`search`: how the pattern is meant; a regular expression when absent."""
    range: FileSystemOperationRange | None = None
    """`read`: only these lines."""
    recursive: bool = False
    """`list`, `search`, `copy`, `delete`: also what lies below."""
    request_id: str | None = None
    """The request it serves."""
    root: str | None = None
    """The name of the root that paths are relative to; the only one there is when absent."""
    timestamp: AwareDatetime
    """When it was asked for."""


class FindingExpert(Wire):
    """What the expert graph says about it, on the advanced tier (000 §2.12)."""

    controls: list[str] = []
    """Controls whose evidence is collected from the finding's type of resource."""
    remediations: list[str] = []
    """What addresses these risks."""
    risks: list[str] = []
    """The risk that the rule finds, then the categories it belongs to."""


class Finding(Wire):
    """One finding."""

    evidence_ids: list[str] = []
    """Records that prove it."""
    expert: FindingExpert | None = None
    """What the expert graph says about it, on the advanced tier (000 §2.12)."""
    fields: dict[str, Any] = {}
    """What the rule gave, for the template to fill in."""
    finding_id: str
    """Its id."""
    rendered: Any | None = None
    """The rendered template, once there is one."""
    resource_id: str
    """The resource's own id."""
    resource_type: str
    """The type of the resource: `security_group`."""
    rule_id: str
    """The rule that found it."""
    severity: Literal["critical", "high", "medium", "low", "info"]
    """How bad it is."""
    skill_id: str
    """The skill whose rule it is."""


class GateExplainRequest(Wire):
    """A call that is only thought of, or a run."""

    dry_run: bool = False
    parameters: dict[str, Any] = {}
    persona: str | None = None
    playbook: str | None = None
    run: str | None = None
    skill: str | None = None
    step: str | None = None
    tool: str | None = None


class GatewayResult(Wire):
    """What the model of the route `gateway` made of a request."""

    failure: str | None = None
    """Why the rules decided alone."""
    intent: Literal["read", "change", "knowledge", "none"] | str | None = None
    """The intent that it chose."""
    model: str | None = None
    """`provider/model`; absent where it gave nothing that could be used."""
    order: list[str] | None = None
    """Ids of candidates, in its order."""
    tokens: int
    """Tokens that were read and written."""
    translation: str | None = None
    """The request in English, where it was in another language."""


class GraphEdge(Wire):
    """An edge."""

    created_at: AwareDatetime | None = None
    """When it was first registered."""
    domain: str | None = None
    """The domain it belongs to."""
    from_: str = Field(..., alias="from")
    """The node it leaves."""
    status: Literal["active", "inactive"] = "active"
    """Whether it is in force (this project, for edges)."""
    tenant_id: str | None = None
    """Its tenant; absent for a global edge."""
    to: str
    """The node it reaches."""
    type: Literal["requires", "evidenced_by", "collected_via", "is_a", "remediated_by"]
    """Its type."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version."""


class GraphNode(Wire):
    """A node. Which of the optional fields it must have depends on its type."""

    approach: str | None = None
    """Remediation: how it is done."""
    collection_method: str | None = None
    """EvidenceType: how it is collected."""
    created_at: AwareDatetime | None = None
    """When it was first registered."""
    description: str | None = None
    """Requirement: what is required."""
    domain: str | None = None
    """The domain it belongs to; every type but `ResourceType` names it."""
    framework: str | None = None
    """Control: the framework, e.g. `SOC2`."""
    id: str
    """Its id, exact (ruling 16): `soc2.cc6.1`."""
    provider: str | None = None
    """ResourceType: who provides it."""
    service: str | None = None
    """ResourceType: the service."""
    severity: Literal["critical", "high", "medium", "low", "info"] | None = None
    """Risk: how bad it is."""
    status: Literal["active", "inactive"] = "active"
    """Whether it is in force (this project, for nodes)."""
    tenant_id: str | None = None
    """Its tenant; absent for a global node."""
    title: str | None = None
    """Control: its title."""
    type: Literal["Control", "Requirement", "EvidenceType", "ResourceType", "Risk", "Remediation"]
    """Its type."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version."""


class GraphPath(Wire):
    """A path that visits no node twice."""

    edges: list[Literal["requires", "evidenced_by", "collected_via", "is_a", "remediated_by"] | str]
    """The edges between them, one fewer."""
    nodes: list[str]
    """The nodes, from the first to the last."""


class GraphQueryToGraphQueryTo(Wire):
    """At any node of a type."""

    type: Literal["Control", "Requirement", "EvidenceType", "ResourceType", "Risk", "Remediation"]


class GraphQueryToGraphQueryTo1(Wire):
    """At one node."""

    node: str


class GuardrailException(Wire):
    """An exception to a guardrail."""

    allow: bool
    """Whether the effect passes when the condition holds."""
    condition: str
    """CEL over the effect. One that fails at run time grants nothing."""


class Guardrail(Wire):
    """A guardrail: a rule over effects."""

    applies_to: list[str]
    """Globs on dot segments: `security.*`."""
    created_at: AwareDatetime | None = None
    """When it was first registered."""
    domain: str | None = None
    """The domain it belongs to; absent for a global one."""
    enforcement: Literal["soft_warn", "require_approval", "hard_block"]
    """What a match does."""
    exceptions: list[GuardrailException] = Field([], validate_default=True)
    """Evaluated first; one that holds lets the effect pass (B000-12)."""
    guardrail_id: str
    """Its id."""
    message: str
    """What the user is told."""
    personas: list[str] | None = None
    """The personas that it is for (this project); for every persona when empty."""
    rule: str
    """The rule, in words."""
    scope: Literal["skill", "agent", "domain", "global"]
    """What `applies_to` is matched against (ruling 6)."""
    status: Literal["active", "inactive"] = "active"
    """Whether it is in force (this project, for guardrails)."""
    tenant_id: str | None = None
    """Its tenant; absent for a global one."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version."""
    when: str | None = None
    """
    CEL over the call and the request that it is for, or over the request alone, for answers without a call (this
    project). Absent: the guardrail applies to writes.
    """


class KeyRequest(Wire):
    """
    A key that is to be made. What is not said is the least: a `user` of the basic tier who looks at the
    catalogue; but every scope that its maker has.
    """

    agent_skills: list[str] | None = None
    """Skills of the link graph; when absent all for operators and admins, none for users."""
    catalogue: Literal["viewer", "editor", "admin"] | None = None
    """The role in the catalogue; the one that goes with the level when absent."""
    expires_in_s: int | None = None
    """For how long it lets in, in seconds; for ever when absent."""
    for_: Literal["person", "agent"] = Field("person", alias="for")
    """Who acts with it; a person when absent. An agent's key does not decide on approvals."""
    name: str
    """What people call it."""
    profile: str | None = None
    """The profile that narrows the agents whose skills it is served; that of its maker when absent."""
    role: Literal["user", "operator", "admin"] = "user"
    """The level; `user` when absent."""
    scopes: list[str] | None = None
    """Parts of the interface; those of its maker when absent, for an agent without `approvals:write`."""
    tier: Literal["basic", "advanced"] = "basic"
    """The tier; `basic` when absent."""
    user: str | None = None
    """Whom it stands for; who makes it when absent."""


class KeyRotation(Wire):
    """How a key is to be replaced."""

    expires_in_s: int | None = None
    """For how long the new one lets in, in seconds; as long as the old one was made for when absent."""
    overlap_s: int = 0
    """For how long the old one still lets in, in seconds."""


class LeaseRenewal(Wire):
    """A lease that goes on."""

    lease_ms: int
    """For how long the call is held from now on, in milliseconds."""


class LeaseRequest(Wire):
    """What an executor says when it asks for a call."""

    executor: str
    """Its name, for messages."""
    handlers: list[str] = []
    """The tools without an implementation that it has handlers for; at most 1000."""
    only_handlers: bool = False
    """Whether it takes calls of its handlers alone: it runs no scripts and HTTP exchanges of packages."""
    wait_ms: int = 0
    """How long it waits when there is no call, in milliseconds; at most 30 s."""


class SkippedLensFile(Wire):
    """A file of a folder that cannot be read."""

    file: str
    """Its path in the package."""
    reason: str
    """Why."""


class LensIndex(Wire):
    """What is known of an index."""

    bytes: int
    """Bytes of the source."""
    chunks: int
    """Passages."""
    fetched_at: AwareDatetime
    """When the source was last looked at."""
    indexed_at: AwareDatetime
    """When the index was made."""
    left_out: list[SkippedLensFile] | None = None
    """Files of the folder that it does without, because they cannot be read."""
    model: str | None
    """The embedding model; absent where only words are compared."""
    notices: list[str] | None = None
    """Why parts of the text may not be what its author wrote."""
    model_changed: bool
    """
    Whether the model in use is another one, so that only words are compared until it is indexed
    again.
    """


class LensIndexingResult(Wire):
    """What indexing a lens came to."""

    lens_id: str
    """Which lens."""
    chunks: int | None = None
    """Passages of the index."""
    embedded: int | None = None
    """Parts of passages that had to be embedded; the others' vectors were taken over."""
    left_out: list[SkippedLensFile] | None = None
    """Files of the folder that are left out, because they cannot be read."""
    notices: list[str] | None = None
    """Why parts of the text may not be what its author wrote."""
    outcome: Literal["indexed", "fetch_failed", "unchanged"] | str


class LensIndexingOutcome(Wire):
    """What indexing came to."""

    chunks: int | None = None
    """Passages of the index."""
    embedded: int | None = None
    """Parts of passages that had to be embedded; the others' vectors were taken over."""
    left_out: list[SkippedLensFile] | None = None
    """Files of the folder that are left out, because they cannot be read."""
    notices: list[str] | None = None
    """Why parts of the text may not be what its author wrote."""
    outcome: Literal["indexed", "fetch_failed", "unchanged"] | str


class LensSearch(Wire):
    """A question to lenses."""

    domain: str | None = None
    lens_ids: list[str] = []
    query: str
    tags: list[str] = []
    top_k: int | None = None


class SingleLensSearch(Wire):
    """A question to one lens."""

    query: str
    top_k: int | None = None


class LensSource(Wire):
    """Where a lens is fetched from."""

    ref: str
    """The link, or the path inside the package; of a folder every file is taken."""
    type: Literal["url", "file"] | str
    """A link, or a file or folder of the package."""


class LensIndexingStage(Wire):
    """How far indexing is."""

    done: int | None = None
    """Parts of passages that have a vector."""
    of: int | None = None
    """Parts of passages in all."""
    stage: Literal["embedding", "fetching", "reading"] | str


class LensIndexingAttempt(Wire):
    """What indexing came to."""

    at: AwareDatetime
    """When it ended."""
    chunks: int | None = None
    """Passages of the index."""
    embedded: int | None = None
    """Parts of passages that had to be embedded; the others' vectors were taken over."""
    failed: str | None = None
    """Why."""
    left_out: list[SkippedLensFile] | None = None
    """Files of the folder that are left out, because they cannot be read."""
    notices: list[str] | None = None
    """Why parts of the text may not be what its author wrote."""
    outcome: Literal["indexed", "fetch_failed", "unchanged"] | str | None = None


class LibrarianPassCachedPreview(Wire):
    """What is known of an entity already."""

    entity_id: str
    """The entity."""
    entity_type: str
    """The type of the entity: `lead`."""
    label: str
    """What the preview shows."""
    preview: str
    """The preview."""


class LibrarianPassRecommendedQuery(Wire):
    """A query worth making."""

    query: str
    """The query."""
    tool: str
    """With which tool."""


class LibrarianPass(Wire):
    """A way to internal data, for one task and a limited time."""

    actor_id: str | None = None
    """Its actor; stamped when stored."""
    allowed_resource_families: list[str]
    """Families of resources it opens: `crm.leads`; no other (B002-8)."""
    cached_previews: list[LibrarianPassCachedPreview] = Field([], validate_default=True)
    """What is known already."""
    created_at: AwareDatetime
    """When it was made."""
    expires_at: AwareDatetime
    """From then on its use is denied (B002-8)."""
    mission_id: str
    """The mission."""
    pass_id: str
    """Its own id."""
    producer: str
    """Who made it."""
    recommended_queries: list[LibrarianPassRecommendedQuery] = Field(
        [], validate_default=True
    )
    """Queries worth making."""
    schema_name: Literal["librarian_pass"]
    """`librarian_pass`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    task_id: str
    """The task."""
    tenant_id: str | None = None
    """Its tenant; stamped when stored."""


class LinkFinding(Wire):
    """One thing that is worth a look."""

    message: str
    """What is wrong."""
    rule: Literal["dangling_child", "empty_folder", "cycle"] | str
    """`dangling_child`, `empty_folder` or `cycle`."""
    skill_id: str
    """The skill concerned."""


class LinkFindings(Wire):
    findings: list[LinkFinding]


class MemoryEntryMetadata(Wire):
    """Additional metadata about the memory"""

    associated_files: list[str] | None = None
    """Files associated with this memory"""
    importance: int | None = None
    """Importance ranking from 1 (low) to 10 (high)"""
    source: str | None = None
    """Source of the memory (e.g., 'user_statement', 'system_observation')"""


class MemoryEntry(Wire):
    """Schema for entries in the system's long-term memory"""

    content: str
    """The actual content of the memory"""
    created_at: AwareDatetime
    """When the memory was initially created"""
    id: str
    """Unique identifier for the memory entry"""
    metadata: MemoryEntryMetadata | None = None
    """Additional metadata about the memory"""
    related_memories: list[str] | None = None
    """IDs of related memory entries"""
    tags: list[str]
    """Tags for categorizing and retrieving memories"""
    title: str
    """Brief title summarizing the memory"""
    updated_at: AwareDatetime | None = None
    """When the memory was last updated"""


class MemoryHit(Wire):
    """A memory that was found."""

    agent_id: str | None = None
    """The agent that wrote it for them."""
    at: AwareDatetime
    """When it was written."""
    author: str
    """By whom."""
    conflicts_with: list[str] | None = None
    """Memories that say otherwise of the same thing, as far as rules of thumb can see; likewise."""
    cosine: float | None
    """Similarity of meaning; absent where only words were compared."""
    decided_at: AwareDatetime | None = None
    """When they did."""
    decided_by: str | None = None
    """Who decided on it."""
    expires_at: AwareDatetime | None = None
    """When the memory expires; absent when it is kept for good."""
    fused: float
    """What it is ranked by within this question, 0 to 1."""
    lexical: float
    """Words in common, weighted."""
    memory: MemoryEntry | None = None
    """The entry; absent once it was removed."""
    memory_id: str
    """The memory."""
    notice: str | None = None
    """The same in words, in the answer to a write."""
    owner: str
    """Its owner."""
    proposed: int | None = None
    """The version that waits for a decision, if the reader may see it."""
    removed_at: AwareDatetime | None = None
    """When the content was removed."""
    removed_by: str | None = None
    """By whom; absent when it expired."""
    score: float | None
    """Chance that it has to do with the question, 0 to 1: comparable over questions. Absent without a text."""
    similar_to: list[str] | None = None
    """Memories that say the same or nearly so: in what a search found, and in the answer to a write."""
    state: Literal["proposed", "accepted", "superseded", "rejected"] | str
    """Where that version stands."""
    supersedes: int | None = None
    """The version that was in force when it was written."""
    version: int
    """Which version this is."""
    visibility: Literal["private", "shared"] | str
    """Who sees it."""


class MemoryHits(RootModel[list[MemoryHit]]):
    root: list[MemoryHit]


class MemoryNewMemoryMetadata(Wire):
    """Its source, and how much it matters."""

    associated_files: list[str] | None = None
    """Files it belongs with."""
    importance: int | None = None
    """From 1 (low) to 10 (high)."""
    source: str
    """Its source: `user_statement`, `system_observation`."""


class MemoryNewMemory(Wire):
    """What."""

    content: str
    """What is remembered."""
    metadata: MemoryNewMemoryMetadata
    """Its source, and how much it matters."""
    related_memories: list[str] = []
    """Memories it belongs with."""
    tags: list[str]
    """Words to find it by."""
    title: str
    """Its title."""


class NewMemory(Wire):
    """A new memory."""

    agent_id: str | None = None
    """The agent that writes it for the caller; it is then a proposal."""
    memory: MemoryNewMemory
    """What."""
    visibility: Literal["private", "shared"] = "private"
    """For whom."""


class MemorySearch(Wire):
    """What to look for. Absent fields do not restrict."""

    from_: AwareDatetime | None = Field(None, alias="from")
    """Written or changed at this moment or later."""
    limit: int | None = None
    """How many, at most 50."""
    min_importance: int | None = None
    """At least this important; what says no importance counts as 5."""
    proposed: bool = False
    """Also what is only proposed, as far as the caller may see it."""
    tags_all: list[str] = []
    """With every one of these tags."""
    tags_any: list[str] = []
    """With at least one of these tags."""
    text: str | None = None
    """In words; without it the memories changed last come first."""
    until: AwareDatetime | None = None
    """Written or changed before this moment."""


class MemoryVersionMemoryMetadata(Wire):
    """Its source, and how much it matters."""

    associated_files: list[str] | None = None
    """Files it belongs with."""
    importance: int | None = None
    """From 1 (low) to 10 (high)."""
    source: str
    """Its source: `user_statement`, `system_observation`."""


class MemoryVersionMemory(Wire):
    """What."""

    content: str
    """What is remembered."""
    metadata: MemoryVersionMemoryMetadata
    """Its source, and how much it matters."""
    related_memories: list[str] = []
    """Memories it belongs with."""
    tags: list[str]
    """Words to find it by."""
    title: str
    """Its title."""


class MemoryVersion(Wire):
    """A new version of a memory."""

    agent_id: str | None = None
    """The agent that writes it for the caller; it is then a proposal."""
    expected_version: int | None = None
    """The version in force that the writer saw; absent when none is."""
    memory: MemoryVersionMemory
    """What."""


class MissionArtifact(Wire):
    """An artifact of a mission, with where it stands among the mission's artifacts."""

    artifact: dict[str, Any]
    """The artifact, in the present form."""
    artifact_id: str
    """Its id, unique among those of its kind and mission."""
    event: int
    """The last event of the append that it was written with."""
    kind: Literal["mission_envelope", "mission_task_graph", "prompt_package", "research_artifact", "librarian_pass", "worker_result", "aggregation_packet", "review_packet", "policy_decision", "writeback_proposal"] | str
    """Which of the ten it is."""
    place: int
    """Its place, from 1, in the order of writing."""
    task_id: str | None = None
    """The task that it was made for."""


class MissionArtifactKey(Wire):
    """What tells artifacts of one mission apart, whatever their ids."""

    kind: Literal["mission_envelope", "mission_task_graph", "prompt_package", "research_artifact", "librarian_pass", "worker_result", "aggregation_packet", "review_packet", "policy_decision", "writeback_proposal"] | str
    """Its kind."""
    number: int
    """Its number among those of which all this is the same, from 1, in the order of storing."""
    role: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"] | str | None
    """The role of its task."""
    subject: str | None
    """What it is about: a decision's type and subject, a proposal's target and action."""
    task: str | None
    """Its task, by the name in the first mission if that has it."""


class MissionArtifactPage(Wire):
    """One page of a mission's artifacts."""

    entries: list[MissionArtifact]
    """In the order of writing."""
    next: int | None = None
    """The place to go on after; absent on the last page."""


class MissionEnvelope(Wire):
    """A mission. Thirteen fields are required (002 §4.3)."""

    actor_id: str
    """Who asked for it."""
    actor_role: str | None = None
    """In which role."""
    context_refs: dict[str, Any] = {}
    """Entities it is about, by name of the reference: ids, lists of ids, or null."""
    created_at: AwareDatetime
    """When it was created."""
    mission_id: str
    """Its id."""
    mission_type: str
    """What kind of mission it is: `oracle_advisory`."""
    normalized_goal: str
    """What is to be achieved."""
    origin_surface: str
    """Where it comes from: `oracle`."""
    producer: str
    """Who made the envelope."""
    requested_outputs: list[str] = []
    """What it is to produce: `reviewed_summary`."""
    risk_level: Literal["low", "medium", "high", "critical"]
    """How risky it is."""
    schema_name: Literal["mission_envelope"]
    """`mission_envelope`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    sensitivity_class: str
    """How sensitive its data are: `internal_business`."""
    tenant_id: str
    """Its tenant."""
    time_budget_ms: int | None = None
    """How long it may take, in milliseconds."""
    token_budget: int | None = None
    """How many tokens it may use."""
    user_goal: str
    """What was asked, in the user's words."""


class MissionRequest(Wire):
    """An order to begin a mission."""

    context_refs: dict[str, Any] | None = None
    """Entities it is about, by name of the reference."""
    goal: str
    """What is to be achieved, in the user's words."""
    mission_id: str | None = None
    """
    The mission's id, so that a repeat of the order finds the mission (B002-15); a new one when
    absent.
    """
    mission_type: str | None = None
    """The kind; `general` when absent."""
    model: Literal["offline", "routes"] | None = None
    """Who answers: `offline` for the offline provider, the routes of its prompts when absent."""
    origin_surface: str | None = None
    """Where it comes from: `cli`."""
    requested_outputs: list[str] | None = None
    """What it is to produce; what its kind says when absent."""
    time_budget_ms: int | None = None
    """How long it may take, in milliseconds; what its kind says when absent."""
    token_budget: int | None = None
    """How many tokens it may use; what its kind says when absent."""


class MissionReplay(Wire):
    """What replaying a mission came to."""

    artifacts: int
    """Artifacts that came out."""
    divergence: str | None = None
    """Where it came out otherwise, first of all."""
    events: int
    """Events that were replayed."""
    identical: bool
    """Whether everything came out as it is stored."""
    mission_id: str
    """The mission."""
    run_id: str
    """Its run."""


class MissionCancellation(Wire):
    """Why a mission is stopped."""

    reason: str | None = None


class MissionSummary(Wire):
    """A mission in a listing."""

    artifacts: int
    """How many artifacts it has."""
    created_at: AwareDatetime
    """When it was created."""
    mission_id: str
    """Its id."""
    run_id: str
    """Its run."""
    state: Literal["created", "planned", "prompted", "running", "aggregating", "reviewing", "awaiting_approval", "completed", "rejected", "failed", "cancelled", "budget_exceeded"] | str
    """Where it stands."""
    title: str
    """What its run is called."""
    updated_at: AwareDatetime
    """When it last changed."""


class MissionTask(Wire):
    """A task of a mission."""

    depends_on: list[str]
    """Tasks that must succeed first."""
    objective: str
    """What it is to achieve."""
    reason: str | None = None
    """Why it failed."""
    role_type: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"] | str
    """Who does it."""
    state: Literal["pending", "running", "succeeded", "failed", "blocked", "cancelled"] | str
    """`pending`, `running`, `succeeded`, `failed`, `blocked` or `cancelled`."""
    task_id: str
    """Its id."""


class MissionTaskGraphTask(Wire):
    """One task."""

    allowed_tools: list[str] = []
    """Tools it may use; none when absent."""
    depends_on: list[str] = []
    """Tasks that must succeed first."""
    objective: str
    """What it is to achieve."""
    required_capabilities: list[str] = []
    """What whoever does it must be able to do."""
    required_data_scopes: list[str] = []
    """Data it needs."""
    role_type: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"]
    """The role that does it."""
    success_criteria: list[str] = []
    """How to tell that it is done."""
    task_id: str
    """Its id, unique within the mission."""


class MissionTaskGraph(Wire):
    """The tasks of a mission and how they wait for each other."""

    actor_id: str | None = None
    """Its actor; stamped when stored."""
    created_at: AwareDatetime
    """When it was made."""
    mission_id: str
    """The mission."""
    producer: str
    """Who made it."""
    schema_name: Literal["mission_task_graph"]
    """`mission_task_graph`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    tasks: list[MissionTaskGraphTask]
    """The tasks, in listed order."""
    tenant_id: str | None = None
    """Its tenant; stamped when stored."""


class MissionTypeOutlineItem(Wire):
    """A task that a mission of the kind usually has."""

    allowed_tools: list[str] = []
    """Tools that it may use, each of one of the families."""
    depends_on: list[str] = []
    """Tasks of the outline that must succeed first."""
    objective: str
    """What it is to achieve; `${goal}` stands for the mission's goal."""
    required_capabilities: list[str] | None = None
    """Registered skills whose plans say what to call first, and whose rules judge what the tools answer."""
    required_data_scopes: list[str] = []
    """Families of resources that it needs."""
    role_type: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"]
    """`researcher` or `worker`."""
    success_criteria: list[str] = []
    """How to tell that it is done."""
    task_id: str
    """Its id."""


class MissionTypePrompts(Wire):
    """The prompt template of each role; a role without one gets the built-in one."""

    aggregator: str | None = None
    librarian: str | None = None
    planner: str | None = None
    prompt_master: str | None = None
    researcher: str | None = None
    reviewer: str | None = None
    worker: str | None = None


class MissionTypeResourceFamilies(Wire):
    """What belongs to a family of resources."""

    description: str
    """What is in it."""
    lenses: list[str] = []
    """Lenses that are searched for it."""
    tools: list[str] = []
    """Tools that read it, and only read; a tool belongs to one family."""


class MissionTypeWriteBackBy(Wire):
    """A registered tool that writes."""

    tool: str


class MissionTypeWriteBackBy1(Wire):
    """A registered playbook."""

    playbook: str


class MissionTypeWriteBackBy2(Wire):
    """A signed request to the system of record."""

    webhook: str


class MissionTypeWriteBackTarget(Wire):
    """
    How the target is looked at, so that a change in the meantime is a conflict (B002-13). Without
    it, changes of the target are not noticed.
    """

    parameters: dict[str, Any] = {}
    """Its parameters: `${target_entity_id}` and `${payload.name}` stand for the proposal's values."""
    tool: str
    """A tool that only reads."""


class MissionTypeWriteBack(Wire):
    """A change that may be proposed, and how it is carried out."""

    action_type: str
    """`action_type` of proposals: `lead_stage_update`."""
    by: MissionTypeWriteBackBy | MissionTypeWriteBackBy1 | MissionTypeWriteBackBy2
    """What carries it out."""
    description: str
    """When to propose it, and what it does."""
    parameters: dict[str, Any] = {}
    """
    The parameters of the tool or playbook, or the webhook's body: `${target_entity_id}` and
    `${payload.name}` stand for the proposal's values.
    """
    payload_schema: dict[str, Any] | None = None
    """JSON Schema of the proposals' `payload`."""
    requires_approval: bool = True
    """Whether a person must approve it."""
    target: MissionTypeWriteBackTarget | None = None
    """
    How the target is looked at, so that a change in the meantime is a conflict (B002-13). Without
    it, changes of the target are not noticed.
    """
    target_entity_type: str
    """`target_entity_type` of proposals: `lead`."""


class MissionType(Wire):
    """A kind of missions."""

    created_at: AwareDatetime | None = None
    """When it was first registered."""
    description: str
    """What such a mission is for."""
    domain: str
    """The domain it belongs to."""
    mission_type: str
    """Its id: the `mission_type` of envelopes."""
    outline: list[MissionTypeOutlineItem] | None = None
    """Tasks that such a mission usually has: shown to the planner, and its plan where no model plans."""
    prompts: MissionTypePrompts = Field({}, validate_default=True)
    """The prompt template of each role; a role without one gets the built-in one."""
    requested_outputs: list[str] = []
    """What it produces where the mission does not say: `reviewed_summary`."""
    resource_families: dict[str, MissionTypeResourceFamilies] = Field(
        {}, validate_default=True
    )
    """Families of resources that its workers may be let to, by name: `crm.leads`."""
    risk_level: Literal["low", "medium", "high", "critical"] = "medium"
    """How risky it is where the mission does not say."""
    sensitivity_class: str
    """How sensitive its data are: `internal_business`."""
    status: Literal["active", "inactive"] = "active"
    """Whether it is offered."""
    tenant_id: str | None = None
    """Its tenant; absent for a global one."""
    time_budget_ms: int | None = None
    """How long it may take where the mission does not say, in milliseconds."""
    title: str
    """Its title."""
    token_budget: int | None = None
    """How many tokens it may use where the mission does not say."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version."""
    write_backs: list[MissionTypeWriteBack] | None = None
    """What may be proposed, and how it is carried out."""


class MissionTypeInForce(Wire):
    """A document in force, and why this one."""

    document: MissionType
    layer: Literal["tenant", "global", "tenant_over_global"]
    """Which layer won."""
    package: str
    package_version: str


class Neighbour(Wire):
    """A node that a walk came to."""

    direction: Literal["out", "in"]
    """Which way that edge was followed."""
    distance: int
    """How many edges away it is, by the shortest way."""
    edge: Literal["requires", "evidenced_by", "collected_via", "is_a", "remediated_by"] | str
    """The edge between the two."""
    from_: str = Field(..., alias="from")
    """The node before it on that way."""
    layer: Literal["tenant", "global", "tenant_over_global"]
    """The layer that it comes from."""
    node: GraphNode
    """The node."""


class NetworkRequest(Wire):
    """One request over the network."""

    body: Any | None = None
    """The body, sent as JSON."""
    follow_redirects: bool = False
    """Whether redirections are followed; each is checked like the first."""
    headers: dict[str, str] | None = None
    """Headers."""
    id: str
    """Its id."""
    max_response_bytes: int | None = None
    """Most bytes of the answer that are read."""
    metadata: dict[str, Any] | None = None
    """Anything else about it."""
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
    """The method."""
    query: dict[str, str] | None = None
    """Query parameters, added to the link's own."""
    reason: str | None = None
    """Why it is needed."""
    request_id: str | None = None
    """The request it serves."""
    timeout_ms: int | None = None
    """Time limit, in milliseconds."""
    timestamp: AwareDatetime
    """When it was asked for."""
    url: str
    """The link."""


class NewKey(Wire):
    """A new key with its text, which is not shown again."""

    agent_skills: list[str]
    """Which skills of the link graph it may reach."""
    catalogue: Literal["viewer", "editor", "admin"] | str
    """What it may do to the catalogue."""
    created_at: AwareDatetime
    """When."""
    created_by: str
    """Who made it."""
    expires_at: AwareDatetime | None
    """From when on it lets nobody in."""
    key_id: str
    """Its id."""
    last_used_at: AwareDatetime | None
    """When it last let somebody in, to about a minute."""
    name: str
    """What people call it."""
    profile: str | None = None
    """
    The profile that narrows the agents whose skills it is served: those that list it in `usable_in_profiles`, and
    those that list none (000 §2.11); all when absent.
    """
    revoked_at: AwareDatetime | None
    """When it was revoked."""
    revoked_by: str | None
    """Who revoked it."""
    role: Literal["user", "operator", "admin"] | str
    """`user`, `operator` or `admin`."""
    rotated_from: str | None
    """The key whose place it took."""
    scopes: list[str]
    """Which parts of the interface it opens."""
    secret: str
    """What its holder keeps and sends."""
    state: Literal["live", "expired", "revoked"]
    """Whether it lets in."""
    tenant_id: str
    """Whose data it sees."""
    tier: Literal["basic", "advanced"] | str
    """The tier up to which it is served."""
    user: str
    """Whom it stands for."""


class ApprovalEventRef(Wire):
    """What an event says of an approval."""

    approval_id: str
    """The approval."""
    run_id: str
    """The run that waits for it."""


class CatalogueEventRef(Wire):
    """What an event says of the catalogue."""

    change: Literal["registered", "rolled_back", "unregistered"] | str
    """What became of it."""
    package: str
    """The package."""
    revision: int
    """The catalogue's revision now."""
    scope: Literal["global", "tenant"] | str
    """`global` for what every tenant builds on, `tenant` for the caller's own layer."""
    version: str
    """Its version."""


class RequestEventRef(Wire):
    """What an event says of a request."""

    request_id: str
    """The request."""
    response_id: str
    """The response that says what that run came to."""
    run_id: str
    """The run that changed something for it."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """How the run ended."""


class RunEventRef(Wire):
    """What an event says of a run."""

    run_id: str
    """The run."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """Where it stands now."""


class OpenRisk(Wire):
    """A risk without a remediation."""

    categories: list[str]
    """The categories that it belongs to, nearest first."""
    domain: str | None
    """Its domain."""
    id: str
    """The risk."""
    severity: Literal["critical", "high", "medium", "low", "info"] | str | None
    """How bad it is."""


class Package(Wire):
    """One entry of a package's history."""

    actor: str
    """Who did it."""
    at: AwareDatetime
    """When."""
    change: Literal["registered", "rolled_back", "unregistered"] | str
    """`registered`, `rolled_back` or `unregistered`."""
    content_hash: str
    """`sha256:…` over all files."""
    documents: int
    """Number of documents in force after it."""
    package: str
    """The package."""
    revision: int
    """The catalogue's revision after it."""
    scope: Literal["tenant", "global"] | str
    """`global`, or `tenant` for the caller's own."""
    version: str
    """The version concerned."""


class PackageBundle(Wire):
    """The files of a package, by their path relative to its root."""

    files: dict[str, str]
    """Path to content: a file's text, or the bytes of a PDF (`.pdf`) in base64. Paths use `/` and stay inside the package."""


class PackageDiff(Wire):
    """What a package would change."""

    changes: list[DocumentChange]
    """The changed documents, by kind and id."""
    from_: str | None = Field(..., alias="from")
    """The version in force, if any."""
    package: str
    """The package."""
    to: str
    """The version compared."""


class PackageList(RootModel[list[Package]]):
    root: list[Package]


class PackageManifest(Wire):
    """The manifest of a package."""

    description: str = ""
    """What it holds."""
    licence: str | None = None
    """Its licence, as an SPDX expression."""
    name: str
    """Its name."""
    scope: Literal["tenant", "global"] = "tenant"
    """Whom it is for."""
    title: str
    """Its title."""
    version: str
    """Its version."""


class PairOfBudgetSpent(Wire):
    """The same of both missions."""

    left: BudgetUsage
    """Of the first."""
    right: BudgetUsage
    """Of the second."""


class PairOfMissionState(Wire):
    """The same of both missions."""

    left: Literal["created", "planned", "prompted", "running", "aggregating", "reviewing", "awaiting_approval", "completed", "rejected", "failed", "cancelled", "budget_exceeded"] | str
    """Of the first."""
    right: Literal["created", "planned", "prompted", "running", "aggregating", "reviewing", "awaiting_approval", "completed", "rejected", "failed", "cancelled", "budget_exceeded"] | str
    """Of the second."""


class PairOfNullableMissionId(Wire):
    """The same of both missions."""

    left: str | None
    """Of the first."""
    right: str | None
    """Of the second."""


class PairOfNullableString(Wire):
    """The same of both missions."""

    left: str | None
    """Of the first."""
    right: str | None
    """Of the second."""


class PartChange(Wire):
    """What became of something from the first mission to the second."""

    change: Literal["added", "changed", "removed", "same"] | str
    fields: list[FieldChange] | None = None


class PassageSection(Wire):
    """A section or a page that begins inside of a passage."""

    headings: list[str] | None = None
    """Its headings, the highest first."""
    page: int | None = None
    """The page that it begins on, where the source has pages."""
    start: int
    """Its first byte, in the text that was taken out of the source."""


class PayloadAbsence(Wire):
    """Why a record has no payload (this project)."""

    note: str
    """In a sentence: `payload removed on 2026-05-13T09:14:22Z`."""
    reason: Literal["removed", "withheld"] | str
    """Removed for good, or withheld from this reader."""


class PipelineDefinitionErrorHandling(Wire):
    """What a failure does."""

    fallback_pipeline_id: str | None = None
    """The pipeline that is run instead."""
    on_step_failure: Literal["abort_plan", "continue_plan", "execute_fallback"]
    """What happens when a stage fails."""


class PipelineDefinitionInput(Wire):
    """
    A parameter of a tool, skill or playbook (000 §2.4).

    `default`, `enum` and `pattern` are this project's additions to tools; the
    seed itself has `default` in playbooks.
    """

    default: Any | None = None
    """The value when none is given. `null` counts as no default."""
    description: str = ""
    """What it is for."""
    enum: list[Any] | None = None
    """The only values allowed."""
    example: Any | None = None
    """A value that would be accepted."""
    name: str
    """Name, unique within its list."""
    other_types: list[Literal["string", "number", "integer", "boolean", "array", "object"]] | None = (
        None
    )
    """Further types that its value may have (this project)."""
    pattern: str | None = None
    """
    Regular expression that a string value must match as a whole or in part,
    as `pattern` does in JSON Schema.
    """
    required: bool = False
    """Whether a caller must give it. In a playbook the list it stands in decides."""
    synonyms: dict[str, list[str]] | None = None
    """
    Other words for allowed values, by value; of a boolean, by `true` and `false`. A sentence may use them, a caller may
    not (this project).
    """
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of its value."""
    wire_name: str | None = None
    """
    The name that the server of an imported tool has for it, where that is no name here: `$filter` (this project).
    Callers may use either.
    """


class PipelineDefinitionStageCondition(Wire):
    """What must hold for it to run."""

    expression: str | None = None
    """The expression that is evaluated."""
    stage_id: str | None = None
    """The stage whose outcome is looked at."""
    type: Literal["step_success", "step_failure", "expression"]
    """What is looked at."""


class PipelineDefinitionStageRetry(Wire):
    """How it is tried again."""

    delay_ms: int | None = None
    """Time between attempts, in milliseconds."""
    max_attempts: int
    """Retries after the first attempt."""


class PipelineDefinitionStage(Wire):
    """One stage."""

    condition: PipelineDefinitionStageCondition | None = None
    """What must hold for it to run."""
    dependencies: list[str] | None = None
    """Stages that must complete first."""
    id: str
    """Its name within the pipeline."""
    name: str | None = None
    """Its name for people."""
    parameters: dict[str, Any] = {}
    """The tool's arguments."""
    retry: PipelineDefinitionStageRetry | None = None
    """How it is tried again."""
    timeout_ms: int | None = None
    """Time limit of one attempt, in milliseconds; 0 sets none."""
    tool: str
    """The tool it calls."""


class PipelineDefinition(Wire):
    """A pipeline."""

    created_at: AwareDatetime | None = None
    """When it was made."""
    description: str = ""
    """What it does."""
    error_handling: PipelineDefinitionErrorHandling | None = None
    """What a failure does."""
    id: str
    """Its id."""
    inputs: list[PipelineDefinitionInput] | None = None
    """What it takes."""
    metadata: dict[str, Any] | None = None
    """Anything else about it."""
    name: str
    """Its name."""
    stages: list[PipelineDefinitionStage]
    """Its stages, in listed order."""
    version: str | None = None
    """Its version."""


class PlanRunRequest(Wire):
    """A plan and what it is run with."""

    decision_tree: DecisionTree | None = None
    dry_run: bool = False
    execution_plan: ExecutionPlan | None = None
    fallbacks: list[ExecutionPlan | PipelineDefinition] = Field(
        [], validate_default=True
    )
    parameters: dict[str, Any] = {}
    pipeline: PipelineDefinition | None = None


class PlaybookContext(Wire):
    """The context it needs."""

    context_descriptions: list[str] = []
    """In words."""
    declared_context_builders: list[str] | None = None
    """Accepted, warned about, and not stored (ruling 14)."""
    supported_context_types: list[str] = []
    """As types that agents declare."""


class PlaybookMandatoryParameter(Wire):
    """
    A parameter of a tool, skill or playbook (000 §2.4).

    `default`, `enum` and `pattern` are this project's additions to tools; the
    seed itself has `default` in playbooks.
    """

    default: Any | None = None
    """The value when none is given. `null` counts as no default."""
    description: str = ""
    """What it is for."""
    enum: list[Any] | None = None
    """The only values allowed."""
    example: Any | None = None
    """A value that would be accepted."""
    name: str
    """Name, unique within its list."""
    other_types: list[Literal["string", "number", "integer", "boolean", "array", "object"]] | None = (
        None
    )
    """Further types that its value may have (this project)."""
    pattern: str | None = None
    """
    Regular expression that a string value must match as a whole or in part,
    as `pattern` does in JSON Schema.
    """
    required: bool = False
    """Whether a caller must give it. In a playbook the list it stands in decides."""
    synonyms: dict[str, list[str]] | None = None
    """
    Other words for allowed values, by value; of a boolean, by `true` and `false`. A sentence may use them, a caller may
    not (this project).
    """
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of its value."""
    wire_name: str | None = None
    """
    The name that the server of an imported tool has for it, where that is no name here: `$filter` (this project).
    Callers may use either.
    """


class PlaybookOptionalParameter(Wire):
    """
    A parameter of a tool, skill or playbook (000 §2.4).

    `default`, `enum` and `pattern` are this project's additions to tools; the
    seed itself has `default` in playbooks.
    """

    default: Any | None = None
    """The value when none is given. `null` counts as no default."""
    description: str = ""
    """What it is for."""
    enum: list[Any] | None = None
    """The only values allowed."""
    example: Any | None = None
    """A value that would be accepted."""
    name: str
    """Name, unique within its list."""
    other_types: list[Literal["string", "number", "integer", "boolean", "array", "object"]] | None = (
        None
    )
    """Further types that its value may have (this project)."""
    pattern: str | None = None
    """
    Regular expression that a string value must match as a whole or in part,
    as `pattern` does in JSON Schema.
    """
    required: bool = False
    """Whether a caller must give it. In a playbook the list it stands in decides."""
    synonyms: dict[str, list[str]] | None = None
    """
    Other words for allowed values, by value; of a boolean, by `true` and `false`. A sentence may use them, a caller may
    not (this project).
    """
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of its value."""
    wire_name: str | None = None
    """
    The name that the server of an imported tool has for it, where that is no name here: `$filter` (this project).
    Callers may use either.
    """


class PlaybookRollbackStep(Wire):
    """How one step is reversed."""

    parameters: dict[str, Any] | None = None
    """Arguments of that tool (this project)."""
    reverses: str
    """The step that is reversed."""
    script_id: str | None = None
    """The script that reverses; exactly one of `script_id` and `tool_id`."""
    step_id: str
    """Its name."""
    tool_id: str | None = None
    """The tool that reverses (this project)."""


class PlaybookSafety(Wire):
    """How careful to be."""

    requires_human_review_for: list[str] = []
    """Steps that a person must review."""
    resource_parameter: str | None = None
    """
    The parameter that names what is destroyed; its value is typed to confirm a `destructive`
    playbook (this project). The first mandatory parameter when absent.
    """
    safety_class: Literal["automated", "supervised", "destructive"]
    """The class."""


class PlaybookScript(Wire):
    """The body of a step, or of a rollback."""

    body: str | None = None
    """The script; exactly one of `body` and `path`."""
    language: Literal["python", "bash", "http", "builtin", "mcp"]
    """Its language."""
    params_used: list[str] = []
    """The parameters it uses."""
    path: str | None = None
    """A file of the package (this project)."""
    script_id: str | None = None
    """Its own name, for rollback steps to refer to (this project); the step's when absent."""
    step_id: str
    """The step it belongs to, or reverses."""


class PlaybookStep(Wire):
    """A step of a playbook."""

    name: str | None = None
    """Its name for people."""
    on_failure: Literal["stop", "rollback", "skip", "continue"] = "stop"
    """What its failure does."""
    parameters: dict[str, Any] | None = None
    """Arguments of the tool (this project), with placeholders like a skill's."""
    required: bool = True
    """Whether the run needs it; true when absent."""
    step_id: str
    """Its name within the playbook."""
    timeout_ms: int | None = None
    """Time limit of one attempt, in milliseconds (this project)."""
    tool_id: str
    """The tool it calls."""
    type: Literal["readonly", "read", "write"]
    """Reads or writes; `read` is accepted and stored as `readonly` (ruling 11)."""


class Playbook(Wire):
    """A playbook."""

    approach_hints: list[str] = []
    """Advice for whoever plans with it."""
    context: PlaybookContext = Field(
        {"context_descriptions": [], "supported_context_types": []},
        validate_default=True,
    )
    """The context it needs."""
    created_at: AwareDatetime | None = None
    """When it was first registered."""
    domain: str
    """The domain it belongs to."""
    embedding: list[float] | None = None
    """Its vector, when the document carries one."""
    evidence_requirements: list[str] = []
    """Evidence without which a run is incomplete."""
    examples: list[str] | None = None
    """Utterances that should reach this playbook (this project)."""
    execution_timeout: int | None = None
    """Time limit of the whole run, in seconds."""
    generated_by: Literal["registered", "code_agent"] = "registered"
    """Where it comes from."""
    grounding_agent: str | None = None
    """The agent within whose boundary it was generated (this project)."""
    is_candidate: bool = False
    """Generated and not yet accepted; visible to its own tenant only (B000-4)."""
    mandatory_parameters: list[PlaybookMandatoryParameter] = Field(
        [], validate_default=True
    )
    """What a caller must give."""
    name: str
    """Its name for people."""
    optional_parameters: list[PlaybookOptionalParameter] = Field(
        [], validate_default=True
    )
    """What a caller may give."""
    parameters_from_findings: str | None = None
    """
    A jq filter from the findings that meet its trigger conditions, as a list, to an object of its parameters (this
    project). Without it the playbook is offered with no finding.
    """
    playbook_id: str
    """Its id."""
    rollback_steps: list[PlaybookRollbackStep] = Field([], validate_default=True)
    """How completed writes are reversed."""
    rollback_support: bool = False
    """Whether it can be rolled back."""
    safety: PlaybookSafety
    """How careful to be."""
    scripts: list[PlaybookScript] = Field([], validate_default=True)
    """Bodies of steps and of rollbacks."""
    status: Literal["active", "inactive"] = "active"
    """Whether it is offered (this project, for playbooks)."""
    steps: list[PlaybookStep]
    """The steps in listed order."""
    target_language: Literal["python", "bash", "http", "builtin", "mcp"] | None = None
    """The language of its scripts."""
    tenant_id: str | None = None
    """Its tenant; absent for a global playbook."""
    tier: Literal["basic", "advanced"] = "basic"
    """The tier from which it may be used."""
    trigger_conditions: list[str]
    """When it should be used; embedded with name and domain (ruling 3)."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version."""


class PlaybookInForce(Wire):
    """A document in force, and why this one."""

    document: Playbook
    layer: Literal["tenant", "global", "tenant_over_global"]
    """Which layer won."""
    package: str
    package_version: str


class PlaybookRunRequest(Wire):
    """What a playbook is run with."""

    dry_run: bool = False
    parameters: dict[str, Any] = {}
    request_id: str | None = None
    """
    The request whose answer offered the playbook. If its sentence asks for this change, the sentence is suggested as
    an example of the playbook.
    """


class PolicyTestContextRunMission(Wire):
    """What the mission says of itself; absent for whatever else is executed."""

    risk_level: Literal["low", "medium", "high", "critical"]
    """How risky it is."""
    sensitivity_class: str
    """How sensitive its data are."""


class PolicyTestContextRun(Wire):
    """The run that the call belongs to."""

    approvals: int = 0
    """Approvals that the run was given so far."""
    approvers: list[str] | None = None
    """Who approved exactly this call."""
    calls: dict[str, int] | None = None
    """Calls that the run began so far, by tool id."""
    kind: Literal["skill", "playbook", "execution_plan", "pipeline", "decision_tree", "mission", "tool_call", "analysis"] = (
        "skill"
    )
    """What is executed; `skill` when absent."""
    mission: PolicyTestContextRunMission | None = None
    """What the mission says of itself; absent for whatever else is executed."""
    subject: str | None = None
    """The id of the skill, playbook or other document; `test` when absent."""


class PolicyTestContext(Wire):
    """Under which circumstances."""

    dry_run: bool | None = None
    """Whether nothing is to be changed; the argument `dry_run` when absent, as in a run."""
    run: PolicyTestContextRun = Field(
        {"approvals": 0, "kind": "skill"}, validate_default=True
    )
    """The run that the call belongs to."""


class PolicyTestPrincipal(Wire):
    """Who calls."""

    role: Literal["user", "operator", "admin"] = "user"
    """Its role; `user` when absent."""
    tenant: str | None = None
    """Its tenant; `tenant` when absent."""
    user: str | None = None
    """Its user; `user` when absent."""


class PolicyTest(Wire):
    """A call with the decision that the policies of its package must give."""

    arguments: dict[str, Any] = {}
    """With which arguments; the tool's defaults are filled in."""
    context: PolicyTestContext = Field(
        {"run": {"approvals": 0, "kind": "skill"}}, validate_default=True
    )
    """Under which circumstances."""
    expect: Literal["allow", "deny", "ungoverned"]
    """The decision."""
    name: str
    """What it shows."""
    principal: PolicyTestPrincipal = Field({"role": "user"}, validate_default=True)
    """Who calls."""
    tool: str
    """What is called."""


class Policy(Wire):
    """
    A policy: Cedar over the calls of the tools that it governs. A governed tool is called only
    where a policy permits it.
    """

    cedar: str | None = None
    """One or more Cedar policies, each with an `@id`."""
    created_at: AwareDatetime | None = None
    """When it was first registered."""
    description: str = ""
    """What it is for."""
    domain: str | None = None
    """The domain it belongs to."""
    file: str | None = None
    """A file of the package that holds the Cedar text instead; `cedar` is filled from it."""
    governs: list[str]
    """Globs on dot segments, over tool ids: `aws.*`."""
    policy_id: str
    """Its id."""
    status: Literal["active", "inactive"] = "active"
    """Whether it is in force."""
    tenant_id: str | None = None
    """Its tenant; absent for a global one."""
    tests: list[PolicyTest] | None = None
    """Calls with the decision that they must get."""
    title: str
    """Its title."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version."""


class PolicyDecision(Wire):
    """One decision."""

    actor_id: str | None = None
    """Its actor; stamped when stored."""
    created_at: AwareDatetime
    """When it was made."""
    decision: Literal["allow", "deny"]
    """The answer."""
    decision_id: str
    """Its own id."""
    decision_type: str
    """What kind of question it answers: `tool_scope`."""
    mission_id: str
    """The mission."""
    producer: str
    """Who made it."""
    reason: str
    """Why."""
    schema_name: Literal["policy_decision"]
    """`policy_decision`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    subject: str
    """What it is about: `external_search`."""
    tenant_id: str | None = None
    """Its tenant; stamped when stored."""


class ProgressEvent(Wire):
    """One thing that happened on the way to an answer."""

    evidence: int | None = None
    """How many evidence records."""
    evidence_ids: list[str] | None = None
    """The evidence that it rests on."""
    finding_ids: list[str] | None = None
    """The findings that it rests on."""
    findings: int | None = None
    """How many findings."""
    message: str | None = None
    """What went wrong."""
    outcome: str | None = None
    """`succeeded` or `failed`."""
    outputs: list[str] | None = None
    """The results without evidence that it rests on, each as `run/step`."""
    reason: str | None = None
    """Why."""
    run_id: str | None = None
    """Its run."""
    skill: str | None = None
    """The skill."""
    skills: list[str] | None = None
    """What will be run."""
    stage: Literal["analysed", "routed", "sentence", "skill_started", "step_finished", "step_started", "step_waiting"] | str
    step: str | None = None
    """The step."""
    text: str | None = None
    """The sentence."""
    tool: str | None = None
    """The tool."""
    verdict: str | None = None
    """`narrow`, `broad` or `miss`."""
    wait_ms: int | None = None
    """For how long, in milliseconds."""


class PromptPackageConstraints(Wire):
    """What the worker must keep to."""

    must_cite_sources: bool = True
    """Empty citations are refused (B002-6)."""
    must_not_writeback_directly: bool = True
    """No proposal before the review (B002-6)."""


class PromptPackage(Wire):
    """The instructions of one task."""

    actor_id: str | None = None
    """Its actor; stamped when stored."""
    constraints: PromptPackageConstraints = Field(
        {"must_cite_sources": True, "must_not_writeback_directly": True},
        validate_default=True,
    )
    """What the worker must keep to."""
    created_at: AwareDatetime
    """When it was made."""
    examples_used: list[str] = []
    """Examples that were used."""
    mission_id: str
    """The mission."""
    model_route: str
    """Which model answers: `tier_high_reasoning`."""
    package_id: str
    """Its own id."""
    producer: str
    """Who made it."""
    role_type: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"]
    """The role it is for."""
    schema_name: Literal["prompt_package"]
    """`prompt_package`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    system_prompt: str
    """The system prompt."""
    task_id: str
    """The task."""
    task_prompt: str
    """The prompt of the task."""
    template_id: str
    """The prompt template it was made from."""
    template_version: str
    """The version of that template, e.g. `v1`."""
    tenant_id: str | None = None
    """Its tenant; stamped when stored."""
    tool_scope: list[str] = []
    """Tools the worker may call."""


class PromptTemplateConstraints(Wire):
    """What a worker must keep to."""

    must_cite_sources: bool = True
    """Empty citations are refused (B002-6)."""
    must_not_writeback_directly: bool = True
    """No proposal before the review (B002-6)."""


class PromptTemplateExample(Wire):
    """An answer that shows what is wanted."""

    answer: str
    """A good answer to it."""
    example_id: str
    """Its id, which prompt packages list in `examples_used`."""
    task: str
    """A task."""


class PromptTemplate(Wire):
    """A prompt template."""

    constraints: PromptTemplateConstraints = Field(
        {"must_cite_sources": True, "must_not_writeback_directly": True},
        validate_default=True,
    )
    """What a worker must keep to."""
    created_at: AwareDatetime | None = None
    """When it was first registered."""
    domain: str
    """The domain it belongs to."""
    examples: list[PromptTemplateExample] | None = None
    """Answers that show what is wanted. Those nearest to the task are sent along."""
    model_route: str
    """Which model answers, by route: `tier_high_reasoning`."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of a worker's `structured_output`."""
    prompt_id: str
    """Its id, e.g. `crm.lead_intelligence_worker`."""
    role_type: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"]
    """The role it instructs."""
    status: Literal["active", "inactive"] = "active"
    """Whether it is offered."""
    system_prompt: str
    """Who the model is, and what it must keep to."""
    task_prompt: str
    """What it is to do."""
    tenant_id: str | None = None
    """Its tenant; absent for a global one."""
    title: str
    """Its title."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version, which prompt packages carry as `template_version`."""


class PromptTemplateInForce(Wire):
    """A document in force, and why this one."""

    document: PromptTemplate
    layer: Literal["tenant", "global", "tenant_over_global"]
    """Which layer won."""
    package: str
    package_version: str


class ProposedValue(Wire):
    """A value that a memory states for a missing parameter."""

    memory_id: str
    """The memory."""
    parameter: str
    """The parameter."""
    title: str
    """Its title."""
    value: Any
    """The value, which fits the declaration."""
    words: str
    """The words that state the value."""


class PublishedSkill(Wire):
    """One published skill."""

    description: str
    """What it does and when to use it."""
    digest: str
    """`sha256:…` of the artifact."""
    name: str
    """Its name in the open format."""
    type: str
    """`skill-md` or `archive`."""
    url: str
    """Where its artifact is."""


class Rate(Wire):
    """A rate and a burst, both at least one."""

    burst: int
    """How often at once."""
    per_minute: int
    """How often a minute."""


class RelatedMemory(Wire):
    """A memory that another one leads to."""

    agent_id: str | None = None
    """The agent that wrote it for them."""
    at: AwareDatetime
    """When it was written."""
    author: str
    """By whom."""
    conflicts_with: list[str] | None = None
    """Memories that say otherwise of the same thing, as far as rules of thumb can see; likewise."""
    decided_at: AwareDatetime | None = None
    """When they did."""
    decided_by: str | None = None
    """Who decided on it."""
    distance: int
    """Over how many others."""
    expires_at: AwareDatetime | None = None
    """When the memory expires; absent when it is kept for good."""
    from_: str = Field(..., alias="from")
    """The memory before it on the way."""
    memory: MemoryEntry | None = None
    """The entry; absent once it was removed."""
    memory_id: str
    """The memory."""
    notice: str | None = None
    """The same in words, in the answer to a write."""
    owner: str
    """Its owner."""
    proposed: int | None = None
    """The version that waits for a decision, if the reader may see it."""
    removed_at: AwareDatetime | None = None
    """When the content was removed."""
    removed_by: str | None = None
    """By whom; absent when it expired."""
    similar_to: list[str] | None = None
    """Memories that say the same or nearly so: in what a search found, and in the answer to a write."""
    state: Literal["proposed", "accepted", "superseded", "rejected"] | str
    """Where that version stands."""
    supersedes: int | None = None
    """The version that was in force when it was written."""
    version: int
    """Which version this is."""
    visibility: Literal["private", "shared"] | str
    """Who sees it."""


class ReportedResult(Wire):
    """That an interrupted call did happen, on somebody's word."""

    output: Any
    """What it came to; `null` when nobody knows."""


class Request(Wire):
    """A request as it is recorded."""

    answer: Any
    """The answer, or the error that it came to; nothing while it is worked on."""
    asked: dict[str, Any]
    """The `request` as it was sent, and what whoever asked was then."""
    created_at: AwareDatetime
    """When it was asked."""
    request_id: str
    """Its id."""
    result: Any
    """What that run came to, once it has ended: an answer with an id of its own."""
    run_id: str | None
    """The run whose end is the result, of a request that changes something."""
    updated_at: AwareDatetime
    """When it last changed."""
    verdict: Any
    """Where it was routed; nothing before it is."""


class RequestConfirmationResult(Wire):
    """The outcome of a confirmation."""

    document: str
    """The skill or playbook that answered the request."""
    example_id: str | None
    """The suggested route example; absent if there is none."""
    kind: Literal["skill", "playbook"] | str
    """The document's kind."""
    not_suggested_reason: Literal["too_few_words", "too_long", "several_things", "near_duplicate", "document_full", "tenant_full", "follow_up", "not_offered", "not_recorded"] | str | None
    """The reason why there is none."""
    request_id: str
    """The request."""


class RequestTags(Wire):
    """The request that a call or an answer is for, as far as guardrails read it (seed 000 §2.10)."""

    flow: Literal["skill", "read_broad", "rag_search", "knowledge", "write", "code_gen_read", "code_gen_write", "code_gen_direct"] | str | None = (
        None
    )
    """How it is answered; absent for a plan or a mission, which answers no request."""
    persona: str
    """The persona that it is answered for."""
    tier: Literal["basic", "advanced"] | str
    """The tier that it is answered on."""


class RequestConfirmation(Wire):
    """The confirmed document."""

    document: str | None = None
    """The skill or playbook with the right answer; required if several answered."""


class ResearchArtifactResult(Wire):
    """One result of a search."""

    confidence: float
    """How far to trust it."""
    retrieved_at: AwareDatetime
    """When it was fetched."""
    snippet: str = ""
    """A part of it."""
    source_type: str
    """What kind of source it is: `web`."""
    title: str
    """Its title."""
    url: str
    """Where it is; http or https (B002-7)."""


class ResearchArtifact(Wire):
    """The results of one search."""

    actor_id: str | None = None
    """Its actor; stamped when stored."""
    artifact_id: str
    """Its own id."""
    created_at: AwareDatetime
    """When it was made."""
    mission_id: str
    """The mission."""
    producer: str
    """Who made it."""
    provider: str
    """Who answered: `brave`."""
    query: str
    """What was asked."""
    results: list[ResearchArtifactResult] = Field([], validate_default=True)
    """What came back."""
    schema_name: Literal["research_artifact"]
    """`research_artifact`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    task_id: str
    """The task."""
    tenant_id: str | None = None
    """Its tenant; stamped when stored."""


class ResolvedGuardrail(Wire):
    """A guardrail that bears on the subject."""

    document: Guardrail
    layer: Literal["tenant", "global", "tenant_over_global"]
    """Which layer won."""
    matched: str
    """The glob that matched."""
    package: str
    package_version: str


class ResolvedGuardrails(RootModel[list[ResolvedGuardrail]]):
    root: list[ResolvedGuardrail]


class ResolvedPolicy(Wire):
    """A policy that governs the tool."""

    document: Policy
    layer: Literal["tenant", "global", "tenant_over_global"]
    """Which layer won."""
    matched: str
    """The glob that matched."""
    package: str
    package_version: str


class ResourceCoverage(Wire):
    """A resource type of a control, with what covers it."""

    covered_by: list[CoveringAction]
    """Skills and playbooks that call a tool for it."""
    resource_type: str
    """The resource type."""


class ResultSourceReported(Wire):
    approval: str
    """The question that this answers."""
    by: str
    """Who."""
    makers: list[str] | None = None
    """The makers of their key."""
    reason: str | None = None
    """How they know, in their words."""


class ReviewPacketIssue(Wire):
    """Something that the reviewer found."""

    message: str
    """What it is."""
    severity: Literal["critical", "high", "medium", "low", "info"]
    """How bad it is."""


class ReviewPacket(Wire):
    """What the reviewer decided."""

    actor_id: str | None = None
    """Its actor; stamped when stored."""
    approved_output: dict[str, Any] | None = None
    """The output as approved."""
    created_at: AwareDatetime
    """When it was made."""
    issues: list[ReviewPacketIssue] = Field([], validate_default=True)
    """What was found."""
    mission_id: str
    """The mission."""
    packet_id: str
    """Its own id."""
    producer: str
    """Who made it."""
    required_edits: list[str] = []
    """Edits that the approval asks for."""
    review_status: Literal["approved", "approved_with_edits", "rejected"]
    """The outcome."""
    schema_name: Literal["review_packet"]
    """`review_packet`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    tenant_id: str | None = None
    """Its tenant; stamped when stored."""


class Rights(Wire):
    """What the holder of a credential may do within its tenant."""

    agent_skills: list[str]
    """Which skills of the link graph it may reach."""
    catalogue: Literal["viewer", "editor", "admin"] | str
    """What it may do to the catalogue."""
    profile: str | None = None
    """
    The profile that narrows the agents whose skills it is served: those that list it in `usable_in_profiles`, and
    those that list none (000 §2.11); all when absent.
    """
    role: Literal["user", "operator", "admin"] | str
    """`user`, `operator` or `admin`."""
    scopes: list[str]
    """Which parts of the interface it opens."""
    tier: Literal["basic", "advanced"] | str
    """The tier up to which it is served."""


class RouteExample(Wire):
    """A route example."""

    decided_at: AwareDatetime | None
    """The time of the latest decision."""
    decided_by: str | None
    """The owner who took the latest decision."""
    document: str
    """The skill or playbook that the sentence was routed to."""
    example_id: str
    """Its id."""
    kind: Literal["skill", "playbook"] | str
    """The document's kind."""
    request_id: str | None
    """The request with the sentence, if there was one."""
    source: Literal["thumb", "promoted_candidate", "executed_offer", "chosen_option"] | str
    """The event that confirmed it."""
    status: Literal["suggested", "accepted", "rejected", "withdrawn"] | str
    """Its status."""
    suggested_at: AwareDatetime
    """The time of the suggestion."""
    text: str
    """The redacted sentence."""


class RouteExampleEventRef(Wire):
    """The payload of an event about a route example."""

    by: str
    """The owner who decided."""
    document: str
    """The skill or playbook that the sentence was routed to."""
    example_id: str
    """The example's id."""
    kind: Literal["skill", "playbook"] | str
    """The document's kind."""


class RouteExamplePage(Wire):
    """One page of route examples."""

    entries: list[RouteExample]
    """Newest first."""
    next: str | None
    """The cursor of the next page; absent on the last one."""


class RoutedCandidate(Wire):
    """One candidate, with what explains its place."""

    cosine: float | None
    """Similarity of meaning; absent where only words were compared."""
    coverage: float | None
    """The same as a share of what the query could reach, 0 to 1; absent in verdicts of before it was noted."""
    fused: float
    """What it is ranked by within this query."""
    id: str
    """Its id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"] | str
    """What it is."""
    lexical: float
    """Words in common, weighted."""
    named: Literal["exactly", "fuzzy"] | None = None
    """How the query names it, if it does; named documents come first."""
    scope: Literal["tenant", "global"]
    """The layer it came from."""
    score: float
    """Chance that it is right, 0 to 1; thresholds refer to it."""


class RoutedClause(Wire):
    """One clause of a request that asks for several things."""

    candidates: list[RoutedCandidate]
    """Its candidates, best first."""
    text: str
    """Its words."""


class RoutingTest(Wire):
    """A routing test of a package: what a query should and should not reach."""

    expect: str | None = None
    """The skill or playbook it should reach."""
    expect_miss: bool = False
    """Whether nothing should be reached."""
    expect_not: list[str] | None = None
    """Skills and playbooks it must not reach."""
    query: str
    """The query, as a user would write it."""


class RuleResult(Wire):
    """One rule's word on an effect."""

    id: str
    """Which one: a guardrail's or policy's id, a tool's, a playbook's, an approval's."""
    kind: Literal["permission", "policy", "guardrail", "rate_limit", "tool", "safety", "interrupted", "approval"]
    """What kind of rule."""
    message: str
    """What a person is told."""
    note: str | None = None
    """Why it had no answer, where it had none."""


class RunAbort(Wire):
    """Why and how a run is ended."""

    reason: str | None = None
    roll_back: bool = False


class RunConfirmation(Wire):
    """A person's agreement to a plan."""

    digest: str
    typed: str | None = None


class RunEvidence(Wire):
    """One record of a run, as the run is shown with it."""

    evidence_id: str
    """The record."""
    step: str | None = None
    """
    The step whose result it is; absent for a record that was attached later, or of a step that a
    fallback took the place of.
    """
    summary: str
    """What it shows."""
    warning: str | None = None
    """What is wrong with it."""


class RunParameters(Wire):
    """Values for a run's parameters."""

    parameters: dict[str, Any]


class RunReplay(Wire):
    """What a strict replay found."""

    diverges: ReplayDivergence | None
    """The first event that does not follow from those before it; absent when all do."""
    events: int
    """Events of the journal."""
    head: str
    """Hash of the last event, which all others are chained to."""
    run_id: str
    """The run."""
    state_digest: str | None = None
    """Digest of the whole state: equal for equal journals."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str | None = (
        None
    )
    """
    Where the run stands after them, or before the first that does not fit; absent when that is the
    first of all.
    """


class RunSummary(Wire):
    """A run in a listing."""

    created_at: AwareDatetime
    """When it was created."""
    run_id: str
    """Its id."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """
    Where it stands: `working`, `awaiting_approval`, `completed` and so on. As text, because a newer replica may
    have written one that is not known here.
    """
    title: str
    """What started it."""
    updated_at: AwareDatetime
    """When it last changed."""
    version: int
    """Number of events in the journal."""


class RunQuotaUsage(Wire):
    """How many runs of a tenant are under way or wait, and how many may."""

    most: int
    """How many may."""
    unfinished: int
    """How many do, counted up to `most`."""


class SaltedPayload(Wire):
    """A payload with what is hashed before it."""

    salt: str
    """32 bytes in hexadecimal."""
    text: str
    """The payload."""


class SchemaSummary(Wire):
    name: str
    source: str
    title: str


class SessionHistoryItem(Wire):
    """One turn."""

    content: str
    """What was said."""
    request_id: str | None = None
    """The request it belongs to."""
    role: Literal["user", "assistant", "tool"]
    """Who spoke."""
    timestamp: AwareDatetime
    """When."""


class Session(Wire):
    """A session."""

    created_at: AwareDatetime
    """When it was started."""
    expires_at: AwareDatetime
    """From then on it is over."""
    history: list[SessionHistoryItem] = Field([], validate_default=True)
    """The turns, oldest first."""
    id: str
    """Its id."""
    max_history: int
    """Most turns that are kept; older ones are dropped."""
    metadata: dict[str, Any] | None = None
    """Anything else about it."""
    tenant_id: str
    """Its tenant."""
    updated_at: AwareDatetime | None = None
    """When it was used last."""
    user_id: str | None = None
    """Its user."""


class SessionTurn(Wire):
    """One question and its answer."""

    at: AwareDatetime
    """When."""
    input: str
    """What was asked."""
    output: str | None
    """What was answered; absent when the request failed."""
    request_id: str
    """The request."""


class SkillAnalysisFinding(Wire):
    """A jq filter whose outputs are findings (this project)."""

    description: str = ""
    """What it looks for."""
    filter: str
    """The filter, in jq. Compiled where it is run, not here."""
    from_: str = Field(..., alias="from")
    """The step whose output it reads."""
    rule_id: str
    """Its name within the skill."""
    triggers: list[str] | None = None
    """`trigger_conditions` of playbooks that its findings meet: these playbooks are offered with the answer."""


class SkillAnalysisModel(Wire):
    """The model that puts the results into words."""

    may: list[Literal["summary", "impact", "ranking", "answer"]]
    """What it may contribute."""
    route: str
    """The route that leads to it. Without such a route the answer is made without a model."""


class SkillAnalysis(Wire):
    """Exact rules from step outputs to findings (this project)."""

    findings: list[SkillAnalysisFinding] = Field([], validate_default=True)
    """The rules, in order. A skill without rules shows what its tools answered."""
    model: SkillAnalysisModel | None = None
    """The model that puts the results into words."""
    summary: str | None = None
    """A template of the summary over the findings."""


class SkillContext(Wire):
    """The context it needs."""

    context_descriptions: list[str] = []
    """In words; part of what is embedded."""
    supported_context_types: list[str] = []
    """As types that agents declare."""


class SkillExecutionPlanStep(Wire):
    """One step of a skill's plan."""

    cache_ttl_seconds: int | None = None
    """How long its output may be reused, in seconds."""
    depends_on: list[str] | None = None
    """Steps that must succeed first (this project)."""
    description: str = ""
    """What it is for."""
    on_failure: Literal["stop", "rollback", "skip", "continue"] | None = None
    """What a failure does to the run (this project); `stop` when absent."""
    parameters: dict[str, Any] | None = None
    """
    Arguments of the tool (this project). Strings may hold `${user.x}` and
    `${step_1.path}`; values are put in later, as data.
    """
    step_id: str
    """Its name within the plan."""
    timeout_ms: int | None = None
    """Time limit of one attempt, in milliseconds (this project)."""
    tool_id: str
    """The tool it calls."""
    type: Literal["readonly", "read", "write"]
    """`read` is accepted and stored as `readonly`; a skill has no other (B000-11)."""


class SkillExecutionPlan(Wire):
    """The steps that fetch what it needs."""

    steps: list[SkillExecutionPlanStep]
    """The steps in listed order."""


class SkillParameter(Wire):
    """
    A parameter of a tool, skill or playbook (000 §2.4).

    `default`, `enum` and `pattern` are this project's additions to tools; the
    seed itself has `default` in playbooks.
    """

    default: Any | None = None
    """The value when none is given. `null` counts as no default."""
    description: str = ""
    """What it is for."""
    enum: list[Any] | None = None
    """The only values allowed."""
    example: Any | None = None
    """A value that would be accepted."""
    name: str
    """Name, unique within its list."""
    other_types: list[Literal["string", "number", "integer", "boolean", "array", "object"]] | None = (
        None
    )
    """Further types that its value may have (this project)."""
    pattern: str | None = None
    """
    Regular expression that a string value must match as a whole or in part,
    as `pattern` does in JSON Schema.
    """
    required: bool = False
    """Whether a caller must give it. In a playbook the list it stands in decides."""
    synonyms: dict[str, list[str]] | None = None
    """
    Other words for allowed values, by value; of a boolean, by `true` and `false`. A sentence may use them, a caller may
    not (this project).
    """
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of its value."""
    wire_name: str | None = None
    """
    The name that the server of an imported tool has for it, where that is no name here: `$filter` (this project).
    Callers may use either.
    """


class Skill(Wire):
    """A skill: one question that the system can answer."""

    analysis: SkillAnalysis | None = None
    """Exact rules from step outputs to findings (this project)."""
    approach_hints: list[str] = []
    """Advice for whoever analyses the output."""
    capabilities: list[str] = []
    """What it can do, one line each."""
    capability_id: str | None = None
    """The capability that it shares with other skills."""
    context: SkillContext = Field(
        {"context_descriptions": [], "supported_context_types": []},
        validate_default=True,
    )
    """The context it needs."""
    created_at: AwareDatetime | None = None
    """When it was first registered."""
    description: str
    """What it does, in a sentence or two."""
    display_name: str
    """Its name for people."""
    domain: str
    """The domain it belongs to."""
    embedding: list[float] | None = None
    """Its vector, when the document carries one."""
    examples: list[str] | None = None
    """Utterances that should reach this skill (this project)."""
    execution_plan: SkillExecutionPlan
    """The steps that fetch what it needs."""
    generated_by: Literal["registered", "code_agent"] | None = None
    """Where it comes from (this project, for skills)."""
    grounding_agent: str | None = None
    """The agent within whose boundary it was generated (this project)."""
    is_candidate: bool | None = None
    """
    Generated and not yet accepted: visible to its own tenant only, and not routed to (this
    project, for skills; 000 §2.8 has it for playbooks).
    """
    name: str
    """Its short name within the domain."""
    output_type: str
    """The kind of its output, which selects a template: `finding`."""
    parameters: list[SkillParameter] | None = None
    """What a caller may or must give (this project)."""
    purpose: str
    """Why one would want it; the first of the embedded fields."""
    skill_id: str
    """Its id, e.g. `security.detect_public_ingress`."""
    status: Literal["active", "inactive"] = "active"
    """Whether it is offered."""
    tenant_id: str | None = None
    """Its tenant; absent for a global skill."""
    tier: Literal["basic", "advanced"] = "basic"
    """The tier from which it may be used."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version."""


class SkillBulk(Wire):
    skills: list[AgentSkill]


class SkillFilesFile(Wire):
    """A file as it is sent: text where it is text, else base64."""

    base64: str | None = None
    """What it holds, as base64 of RFC 4648."""
    executable: bool = False
    """Whether it may be executed."""
    path: str
    """Its path with `/`, relative to the directory that holds the skills."""
    text: str | None = None
    """What it holds, as text."""


class SkillFiles(Wire):
    """Directories of Agent Skills."""

    files: list[SkillFilesFile]
    """Every file."""


class SkillInForce(Wire):
    """A document in force, and why this one."""

    document: Skill
    layer: Literal["tenant", "global", "tenant_over_global"]
    """Which layer won."""
    package: str
    package_version: str


class SkillSearch(Wire):
    """A search: by words or by a vector of the index's model."""

    only: Literal["folders", "leaves"] | None = None
    """Only folders, or only leaves."""
    query: str | None = None
    """What is looked for, in words."""
    top_k: int | None = None
    """How many hits, 1 to 100; 10 where it is not said."""
    vector: list[float] | None = None
    """What is looked for, as a vector."""


class SkipReason(Wire):
    """Why a step does not start."""

    because: Literal["condition", "dry_run", "source"] | str
    step: str | None = None
    """The earlier step."""


class PlanSource(Wire):
    """A plan that came with the order to run it. Nobody registered it, so nobody reviewed it."""

    id: Any
    """It depends on the form."""
    kind: Literal["analysis", "decision_tree", "execution_plan", "mission", "pipeline"] | str


class SpellingCorrection(Wire):
    """A word that was replaced."""

    taken_for: str
    """The correction."""
    typed: str
    """As it was typed."""


class StepBranch(Wire):
    """A way that a choice may take."""

    next: str
    """The step it leads to."""
    when: str
    """The CEL expression."""


class StepEdge(Wire):
    """One step's claim on an earlier one."""

    from_: str = Field(..., alias="from")
    """The earlier step."""
    on: Literal["success", "failure", "settled", "chosen"]
    """What must have become of it."""


class StepFailure(Wire):
    """Why a step failed."""

    code: str
    """Stable code, e.g. `tool_failed`."""
    kind: Literal["input_error", "execution_error", "resource_error", "permission_error", "timeout_error", "system_error"] | str
    """Which of the six kinds."""
    message: str
    """What a person is told; no secrets, no paths."""
    retryable: bool
    """Whether the same call may succeed later."""


class StepRetry(Wire):
    """How a step is tried again (B003-7)."""

    delay_ms: int
    """Time between attempts, in milliseconds."""
    retries: int
    """Retries after the first attempt."""


class StepWait(Wire):
    """Something that a step waits for."""

    approval: str | None = None
    """The approval's record."""
    due: AwareDatetime | None = None
    """Not before this."""
    expires_at: AwareDatetime | None = None
    """When it lapses."""
    for_: (
        Literal[
            "approval",
            "confirmation",
            "moment",
            "parameters",
            "resumption",
            "rollback",
            "step",
        ]
        | str
    ) = Field(..., alias="for")
    missing: list[str] | None = None
    """Which."""
    of: str | None = None
    """What it reverses."""
    on: Literal["success", "failure", "settled", "chosen"] | None = None
    """What must become of it."""
    step: str | None = None
    """The step."""


class StopCause(Wire):
    """Why a run stops before its way is over."""

    because: Literal["aborted", "failure", "timed_out", "token_budget_exhausted"] | str
    by: str | None = None
    """Who."""
    failure: StepFailure | None = None
    """Why."""
    reason: str | None = None
    """Why."""
    step: str | None = None
    """The step."""


class TagRecord(Wire):
    """One request's tags."""

    domain: str
    """The domain; required in every flow (B000-15)."""
    execution_location: Literal["client", "server"] | None = None
    """Where effects are carried out."""
    expires_at: AwareDatetime | None = None
    """When it reads as absent. The store fills it in: one hour unless configured (ruling 18)."""
    flow: Literal["skill", "read_broad", "rag_search", "knowledge", "write", "code_gen_read", "code_gen_write", "code_gen_direct"]
    """How the request is answered."""
    output_type: str | None = None
    """Kind of the output."""
    owner_agent_id: str | None = None
    """The agent that owns the skill, if one refers to it (ruling 8)."""
    param_set: dict[str, Any] | None = None
    """Flow `write`: the parameters; redacted in logs."""
    persona: str
    """The persona; required in every flow (B000-15)."""
    playbook_id: str | None = None
    """Flow `write`: the playbook."""
    provider: str | None = None
    """Flow `rag_search`: the provider asked about."""
    rag_params: dict[str, Any] | None = None
    """Flow `rag_search`: what is searched for."""
    request_id: str
    """The request, in this family's form (ruling 25)."""
    session_id: str | None = None
    """The session."""
    skill_id: str | None = None
    """Flow `skill`: the skill."""
    skill_ids: list[str] | None = None
    """Flow `read_broad`: the skills."""
    tenant_id: str
    """The caller's tenant."""
    tier: Literal["basic", "advanced"] | None = None
    """The caller's tier."""
    tool_ids: list[str] | None = None
    """Flow `write`: the tools that will be called."""
    user_id: str | None = None
    """The user."""


class Template(Wire):
    """A template."""

    agent_id: str | None = None
    """The agent it is for (this project; ruling 7)."""
    created_at: AwareDatetime | None = None
    """When it was first registered."""
    domain: str | None = None
    """The domain it is for; absent for the global default."""
    output_type: str
    """The kind of output it renders; must match (B000-14)."""
    personas: list[str] | None = None
    """The personas that it is for (this project); for every persona when empty."""
    rendering_hints: dict[str, Any] | None = None
    """Advice to whoever shows the output."""
    skill_id: str | None = None
    """The skill it is for."""
    status: Literal["active", "inactive"] = "active"
    """Whether it is offered (this project, for templates)."""
    structure: dict[str, Any]
    """The output, with `{{name}}` where a value goes."""
    template_id: str
    """Its id."""
    tenant_id: str | None = None
    """Its tenant; absent for a global template."""
    tier: Literal["basic", "advanced"] = "basic"
    """The tier from which it may be used."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version."""


class Thresholds(Wire):
    """Where a verdict turns (B000-3)."""

    floor: float
    """Candidates with a lower score are dropped."""
    margin: float
    """How far its fused score must lead for that."""
    narrow: float
    """From this score on the best candidate may stand alone."""


class TokenUsage(Wire):
    """Tokens that models used."""

    input: int
    """That they were sent."""
    output: int
    """That they answered."""


class ToolEvidenceConsole(Wire):
    """Where a person can see the original, for a system that is not AWS, Azure or Google Cloud."""

    href: str
    """The link."""
    label: str
    """What the reader will see there."""


class ToolEvidence(Wire):
    """How its result becomes evidence (this project)."""

    account_id: str | None = None
    """jq for the account."""
    console: ToolEvidenceConsole | None = None
    """Where a person can see the original, for a system that is not AWS, Azure or Google Cloud."""
    native_id: str | None = None
    """jq over `{parameters, output}` for the native id."""
    redaction_class: Literal["standard", "restricted", "secret"] | None = None
    """Who may see the payload; everybody who may read the record when absent."""
    region: str | None = None
    """jq for the region."""
    summary: str | None = None
    """Template of the summary."""
    system: str
    """The system it comes from: `aws.ec2`."""
    type: Literal["cloudtrail_event", "azure_activity_log", "config_snapshot", "iam_policy", "billing_line", "metric_point", "log_line", "deployment_record", "pr_record", "commit_record", "approval_record", "api_call", "manual_note"]
    """The type of the evidence."""


class ToolImplementation(Wire):
    """How a tool is carried out (this project)."""

    body: Any | None = None
    """It depends on the form."""
    definition: str | None = None
    """`sha256:…` of the definition that was imported."""
    headers: dict[str, str] | None = None
    """Headers."""
    input_schema: dict[str, Any] | None = None
    """JSON Schema of its arguments, as its server gives it. The server holds calls to it; here the parameters count."""
    method: Literal["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"] | str | None = None
    name: Literal["command.run", "env.get", "fs.copy", "fs.create", "fs.delete", "fs.edit", "fs.list", "fs.make_directory", "fs.move", "fs.read", "fs.search", "fs.stat", "fs.write", "net.get", "net.request", "visualise", "web.search"] | str | None = (
        None
    )
    path: str | None = None
    """A file of the package, relative to its root."""
    query: dict[str, str] | None = None
    """Query parameters."""
    server: str | None = None
    """The server, as the configuration names it."""
    stage: Literal["aggregate", "pass", "plan", "playbook", "prompt", "research", "review", "webhook", "work"] | str | None = (
        None
    )
    tool: str | None = None
    """The tool, as its server names it."""
    type: Literal["analysis", "builtin", "http", "mcp", "script", "stage"] | str
    url: str | None = None
    """The link, with placeholders."""


class ToolParameter(Wire):
    """
    A parameter of a tool, skill or playbook (000 §2.4).

    `default`, `enum` and `pattern` are this project's additions to tools; the
    seed itself has `default` in playbooks.
    """

    default: Any | None = None
    """The value when none is given. `null` counts as no default."""
    description: str = ""
    """What it is for."""
    enum: list[Any] | None = None
    """The only values allowed."""
    example: Any | None = None
    """A value that would be accepted."""
    name: str
    """Name, unique within its list."""
    other_types: list[Literal["string", "number", "integer", "boolean", "array", "object"]] | None = (
        None
    )
    """Further types that its value may have (this project)."""
    pattern: str | None = None
    """
    Regular expression that a string value must match as a whole or in part,
    as `pattern` does in JSON Schema.
    """
    required: bool = False
    """Whether a caller must give it. In a playbook the list it stands in decides."""
    synonyms: dict[str, list[str]] | None = None
    """
    Other words for allowed values, by value; of a boolean, by `true` and `false`. A sentence may use them, a caller may
    not (this project).
    """
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of its value."""
    wire_name: str | None = None
    """
    The name that the server of an imported tool has for it, where that is no name here: `$filter` (this project).
    Callers may use either.
    """


class ToolRateLimit(Wire):
    """How often it may be called (003 Tool Definition Schema)."""

    burst: int | None = None
    """Calls at once; `requests_per_minute` when absent."""
    requests_per_minute: int
    """Calls per minute in the long run."""


class Tool(Wire):
    """A tool of the catalogue."""

    created_at: AwareDatetime | None = None
    """When it was first registered."""
    description: str
    """What it does."""
    domain: str
    """The domain it belongs to."""
    egress: list[str] | None = None
    """Host patterns it may reach (this project): `*.amazonaws.com`."""
    embedding: list[float] | None = None
    """Its vector, when the document carries one."""
    environment: list[str] | None = None
    """Names of the environment variables it is granted (this project)."""
    evidence: ToolEvidence | None = None
    """How its result becomes evidence (this project)."""
    examples: list[str] | None = None
    """Utterances that call for this tool (this project)."""
    execution_target: Literal["client", "server"] = "client"
    """Where it runs."""
    idempotent: bool = False
    """
    Whether repeating a call with the same arguments changes nothing more (this project). A write
    that was interrupted is repeated without asking only if its tool says so.
    """
    implementation: ToolImplementation | None = None
    """How it is carried out (this project). Absent when the client brings its own."""
    language: Literal["python", "bash", "http", "builtin", "mcp"]
    """The language of its body."""
    name: str
    """Its short name."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of its output."""
    parameters: list[ToolParameter] = Field([], validate_default=True)
    """What it takes."""
    permission_level: Literal["user", "system", "admin"] = "user"
    """Who may call it (003 Tool Definition Schema)."""
    provider: str
    """Who provides the service: `aws`."""
    rate_limit: ToolRateLimit | None = None
    """How often it may be called (003 Tool Definition Schema)."""
    requires_approval: bool = False
    """Whether each call needs an approval (ruling 10)."""
    service: str | None = None
    """The service: `ec2`."""
    status: Literal["active", "inactive"] = "active"
    """Whether it is offered (this project, for tools)."""
    tenant_id: str | None = None
    """Its tenant (this project, for tools); absent for a global tool."""
    timeout_ms: int | None = None
    """Time limit of one call, in milliseconds (this project)."""
    tool_class: Literal["readonly", "write", "internal"]
    """Reads, writes, or internal."""
    tool_id: str
    """Its id, e.g. `aws.describe_security_groups`."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version."""


class ToolDefinitionExample(Wire):
    input: dict[str, Any]
    """Example input parameters"""
    output: Any
    """Example output result"""


class ToolDefinitionParameters(Wire):
    default: Any | None = None
    """Default value if parameter is not provided"""
    description: str
    """Description of the parameter"""
    enum: list[Any] | None = None
    """List of allowed values for the parameter"""
    required: bool = False
    """Whether the parameter is required"""
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Data type of the parameter"""


class ToolDefinitionRateLimit(Wire):
    """Rate limiting configuration for the tool"""

    burst: int | None = None
    """Maximum burst size for requests"""
    requests_per_minute: int | None = None
    """Maximum number of requests allowed per minute"""


class ToolDefinition(Wire):
    """Schema for defining tools available to the agentic system"""

    description: str
    """Detailed description of what the tool does and when to use it"""
    examples: list[ToolDefinitionExample] | None = None
    """Example invocations of the tool"""
    id: str
    """Unique identifier for the tool"""
    name: str
    """Human-readable name for the tool"""
    parameters: dict[str, ToolDefinitionParameters]
    """Parameters that the tool accepts"""
    permission_level: Literal["user", "system", "admin"] = "user"
    """Permission level required to use this tool"""
    rate_limit: ToolDefinitionRateLimit | None = None
    """Rate limiting configuration for the tool"""
    result_schema: dict[str, Any]
    """JSON Schema for the tool's result"""


class ToolInForce(Wire):
    """A document in force, and why this one."""

    document: Tool
    layer: Literal["tenant", "global", "tenant_over_global"]
    """Which layer won."""
    package: str
    package_version: str


class ToolInvocation(Wire):
    """One call of a tool."""

    dry_run: bool = False
    """Nothing is changed."""
    id: str
    """Its id."""
    idempotency_key: str | None = None
    """Names the effect, so that it is carried out once however often it is asked for."""
    metadata: dict[str, Any] | None = None
    """Anything else about it."""
    parameters: dict[str, Any]
    """The arguments, by name."""
    permission_level: Literal["user", "system", "admin"] = "user"
    """With whose permission it is called."""
    request_id: str | None = None
    """The request it serves."""
    session_id: str | None = None
    """The session it belongs to."""
    step_id: str | None = None
    """The step of a plan it belongs to."""
    timeout_ms: int | None = None
    """Time limit, in milliseconds."""
    timestamp: AwareDatetime
    """When it was asked for."""
    tool: str
    """The tool."""


class ToolResultError(Wire):
    """Why there is no result."""

    error_code: str | None = None
    """The code, more exact than the type."""
    error_type: Literal["input_error", "execution_error", "resource_error", "permission_error", "timeout_error", "system_error"]
    """One of the six types."""
    message: str
    """What went wrong."""


class ToolResult(Wire):
    """What a call of a tool came to."""

    attempts: int | None = None
    """How often it was tried."""
    error: ToolResultError | None = None
    """Why there is no result."""
    evidence_ids: list[str] | None = None
    """Records that prove it."""
    execution_time_ms: int | None = None
    """How long the last attempt took, in milliseconds."""
    from_cache: bool = False
    """Whether an earlier result was used."""
    invocation_id: str
    """The call."""
    metadata: dict[str, Any] | None = None
    """Anything else about it."""
    result: Any | None = None
    """What the tool returned; a null is no result."""
    status: Literal["success", "error", "timeout", "denied"]
    """How it ended."""
    timestamp: AwareDatetime
    """When it ended."""
    tool: str
    """The tool."""


class ToolsInForce(RootModel[list[ToolInForce]]):
    root: list[ToolInForce]


class ValueSource(Wire):
    """Where a value comes from."""

    field: str | None = None
    """The field, as a path in the request's metadata."""
    from_: (
        Literal[
            "default",
            "given",
            "memory",
            "model",
            "request_context",
            "sentence",
            "session",
        ]
        | str
    ) = Field(..., alias="from")
    memory_id: str | None = None
    """The memory."""
    model: str | None = None
    """The model, as `provider/model`."""
    request_id: str | None = None
    """That request."""
    words: str | None = None
    """Those words."""


class Violation(Wire):
    """One thing that is wrong."""

    keyword: str
    """The rule that was broken: a keyword of JSON Schema, or a word of this project."""
    message: str
    """What is wrong, in words."""
    pointer: str
    """Where, as a JSON pointer (RFC 6901); empty for the whole document."""
    stage: Literal["structure", "schema", "meaning", "consistency"] | str
    """The stage that found it."""
    suggestion: str | None = None
    """What to write instead, where that can be guessed."""


class WorkerResultCitation(Wire):
    """A source."""

    kind: Literal["internal", "external"]
    """Where it is."""
    ref: str
    """Its id, or its link."""


class WorkerResult(Wire):
    """The output of one worker."""

    actor_id: str | None = None
    """Its actor; stamped when stored."""
    citations: list[WorkerResultCitation] = Field([], validate_default=True)
    """Its sources. Whether none is allowed, the prompt package says (B002-6)."""
    confidence: float
    """How far to trust it."""
    created_at: AwareDatetime
    """When it was made."""
    mission_id: str
    """The mission."""
    output_text: str
    """The output in words."""
    producer: str
    """Who made it."""
    result_id: str
    """Its own id."""
    schema_name: Literal["worker_result"]
    """`worker_result`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    structured_output: dict[str, Any] | None = None
    """The output as data."""
    task_id: str
    """The task."""
    tenant_id: str | None = None
    """Its tenant; stamped when stored."""
    tool_trace_refs: list[str] = []
    """Calls of tools that it rests on."""


class WritebackProposal(Wire):
    """A proposed change of one entity."""

    action_type: str
    """What is done to it: `lead_stage_update`."""
    actor_id: str | None = None
    """Its actor; stamped when stored."""
    created_at: AwareDatetime
    """When it was made."""
    mission_id: str
    """The mission."""
    payload: dict[str, Any]
    """The change."""
    producer: str
    """Who made it."""
    proposal_id: str
    """Its own id."""
    requires_approval: bool = True
    """Whether a person must approve it; true when absent."""
    schema_name: Literal["writeback_proposal"]
    """`writeback_proposal`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    target_entity_id: str
    """The entity."""
    target_entity_type: str
    """The type of the entity: `lead`."""
    tenant_id: str | None = None
    """Its tenant; stamped when stored."""


class AgentManifestInForce(Wire):
    """A document in force, and why this one."""

    document: Agent
    layer: Literal["tenant", "global", "tenant_over_global"]
    """Which layer won."""
    package: str
    package_version: str


class AgentSkillPage(Wire):
    """One page of skills."""

    entries: list[AgentSkillSummary]
    """The skills."""
    next: str | None
    """Where the next page starts; absent on the last one."""


class AgentSkillWriteResult(Wire):
    """What came of writing one skill."""

    created: bool
    """Whether it is new in its scope."""
    embedded: bool
    """Whether its summary was embedded for this."""
    skill_id: str
    """Which."""
    warnings: list[Violation] | None = None
    """What is worth a look about it."""


class AgentSkillBulkItem(Wire):
    """What came of one skill of a bulk write."""

    created: bool | None = None
    """Whether it is new in its scope."""
    details: Any | None = None
    """Facts for a program."""
    embedded: bool | None = None
    """Whether its summary was embedded for this."""
    error_code: Literal["invalid_document", "invalid_request", "invalid_utf8", "too_large", "unsupported_version", "unsupported_flow", "unknown_domain", "deprecated_collection", "missing_parameters", "invalid_parameters", "not_found", "no_match", "already_exists", "version_conflict", "illegal_transition", "method_not_allowed", "immutable", "still_referenced", "routing_test_failed", "session_not_found", "model_route_unknown", "unauthenticated", "permission_denied", "guardrail_blocked", "approval_required", "policy_denied", "approval_rejected", "approval_expired", "egress_denied", "model_access_denied", "tool_failed", "tool_result_invalid", "model_failed", "model_refused", "model_answer_invalid", "template_missing", "placeholder_missing", "expression_failed", "cancelled", "tool_timeout", "request_timeout", "model_missing", "model_mismatch", "storage_full", "data_directory_locked", "rate_limited", "overloaded", "unavailable", "internal"] | str | None = (
        None
    )
    """The failure's code."""
    message: str | None = None
    """What is wrong."""
    result: Literal["refused", "written"] | str
    skill_id: Any
    """It depends on the form."""
    warnings: list[Violation] | None = None
    """What is worth a look about it."""


class Approval(Wire):
    """An approval."""

    approval_id: str
    """Its id."""
    requesters: list[str] | None = None
    """The users who started the run, chose its arguments or confirmed it, and the makers of their keys."""
    call: ExactCall
    """What is approved."""
    digest: str
    """What the decision is bound to."""
    expires_at: AwareDatetime
    """When it lapses, decided or not."""
    four_eyes: bool
    """Whether it takes a person who did not ask."""
    requested_at: AwareDatetime
    """When it was asked for."""
    requested_by: str
    """On whose behalf the run acts."""
    rules: list[RuleResult]
    """What asks for it."""
    tenant_id: str
    """Whose it is."""
    at: AwareDatetime | None = None
    """When."""
    by: str | None = None
    """Who."""
    happened: ReportedResult | None = None
    """Instead of calling: it happened before. Absent for an agreement to the call."""
    makers: list[str] | None = None
    """Who made the key by which they decided."""
    reason: str | None = None
    """Why, in their words."""
    state: Literal["approved", "consumed", "lapsed", "pending", "rejected"] | str


class ApprovalAgreement(Wire):
    """An agreement, and what was agreed to."""

    at: AwareDatetime
    """When."""
    by: str
    """Who."""
    happened: ReportedResult | None = None
    """Instead of calling: it happened before. Absent for an agreement to the call."""
    makers: list[str] | None = None
    """Who made the key by which they decided."""
    reason: str | None = None
    """Why, in their words."""


class ApprovalEntry(Wire):
    """An approval with what its run is called."""

    approval_id: str
    """Its id."""
    requesters: list[str] | None = None
    """The users who started the run, chose its arguments or confirmed it, and the makers of their keys."""
    call: ExactCall
    """What is approved."""
    digest: str
    """What the decision is bound to."""
    expires_at: AwareDatetime
    """When it lapses, decided or not."""
    four_eyes: bool
    """Whether it takes a person who did not ask."""
    can_approve: bool
    """Whether the caller may approve it: it decides on approvals, and is no asker where four eyes are required."""
    requested_at: AwareDatetime
    """When it was asked for."""
    requested_by: str
    """On whose behalf the run acts."""
    rules: list[RuleResult]
    """What asks for it."""
    run_title: str
    """The title of the run that waits for it."""
    tenant_id: str
    """Whose it is."""
    at: AwareDatetime | None = None
    """When."""
    by: str | None = None
    """Who."""
    happened: ReportedResult | None = None
    """Instead of calling: it happened before. Absent for an agreement to the call."""
    makers: list[str] | None = None
    """Who made the key by which they decided."""
    reason: str | None = None
    """Why, in their words."""
    state: Literal["approved", "consumed", "lapsed", "pending", "rejected"] | str


class ApprovalPage(Wire):
    """One page of approvals."""

    entries: list[ApprovalEntry]
    """Newest first."""
    next: str | None
    """Where the next page starts."""


class BoundedGraphPath(Wire):
    """What a walk found, and whether there was more than it may return."""

    found: list[GraphPath]
    """What it found, in order."""
    truncated: bool
    """Whether the rest was left out."""


class BoundedOpenRisk(Wire):
    """What a walk found, and whether there was more than it may return."""

    found: list[OpenRisk]
    """What it found, in order."""
    truncated: bool
    """Whether the rest was left out."""


class Catalogue(Wire):
    """What there is of each kind."""

    kinds: list[CatalogueKind]
    """Every kind, those without a document too."""


class DocumentVersionChange(Wire):
    """One changed document, as it was and as it became."""

    after: dict[str, Any] | None
    """The document in the later version; null where there is none."""
    before: dict[str, Any] | None
    """The document in the earlier version; null where there is none."""
    difference: Literal["added", "changed", "removed"]
    """What happens to it."""
    fields: list[str]
    """JSON pointers of the parts that differ, for a changed document."""
    id: str
    """The document."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"] | str
    """Which collection."""


class ControlCoverage(Wire):
    """One control."""

    control: str
    """The control."""
    guardrails: list[str]
    """Guardrails that bear on what is listed for it."""
    resource_types: list[ResourceCoverage]
    """The resource types that its evidence is collected from, by id."""
    standing: Literal["covered", "partial", "none"]
    """How far it is looked after."""
    title: str | None
    """Its title."""
    without_evidence: list[str]
    """Requirements from which the graph leads to no resource type."""


class Dependency(Wire):
    """One document's reference to another."""

    from_: DocumentRef = Field(..., alias="from")
    """Which needs the other."""
    pointer: str
    """Where the reference stands in the document that needs the other."""
    to: DocumentRef
    """Which is needed."""


class DependencyNode(Wire):
    """A document that another one leads to."""

    distance: int
    """How many references away it is, by the shortest way."""
    document: DocumentSummary | None
    """The document; null where there is none."""
    id: str
    """Its id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"] | str
    """Its kind."""
    side: Literal["needs", "needed_by"]
    """Whether the root needs it, or it needs the root."""


class DocumentDependencies(Wire):
    """The documents around one."""

    edges: list[Dependency]
    """Which of them refers to which; at most 10,000."""
    nodes: list[DependencyNode]
    """What it needs, then what needs it, nearest first; at most 1,000."""
    root: DocumentSummary
    """The document that was asked for."""
    truncated: bool
    """Whether the rest was left out."""


class DocumentLayer(Wire):
    """A document as one layer has it."""

    document: dict[str, Any]
    """The document, which keeps the contract of its kind."""
    in_force: bool
    """
    Whether it counts: a global document does not that the tenant's own shadows. Guardrails and policies of
    both layers do.
    """
    package: str
    """The package that registered it."""
    package_version: str
    """That package's version."""
    scope: Literal["tenant", "global"] | str
    """Whose layer."""
    source: DocumentSource | None
    """Where it was written; null for what no package's file holds."""


class DocumentPage(Wire):
    """One page of documents."""

    entries: list[DocumentSummary]
    """By id."""
    next: str | None
    """The id after which the next page starts."""


class EvidenceEntry(Wire):
    """A record in a listing: without its payload and what it is attached to."""

    captured_at: AwareDatetime
    """When it was captured."""
    id: str
    """Its id."""
    payload_absent: PayloadAbsence | None = None
    """Why the payload is not to be had; absent while it is."""
    redaction_class: str | None = None
    """Who may see the payload."""
    source: EvidenceSourceModel
    """Where it comes from."""
    summary: str
    """What it shows, in a sentence."""
    type: Literal["cloudtrail_event", "azure_activity_log", "config_snapshot", "iam_policy", "billing_line", "metric_point", "log_line", "deployment_record", "pr_record", "commit_record", "approval_record", "api_call", "manual_note"] | str
    """What kind of proof it is."""


class EvidenceLeaf(Wire):
    """One leaf with what it commits to."""

    index: int
    """Its place in the log, from 0."""
    leaf: str
    """Its data: an [`super::Entry`] as JSON."""
    payload: SaltedPayload | None = None
    """The payload, unless it was removed or is withheld."""
    proof: list[str]
    """Its inclusion under the checkpoint, nearest sibling first."""
    record: str | None = None
    """The record without its payload, of a record's leaf."""
    withheld: str | None = None
    """The redaction class for which the payload is withheld from whoever exported it."""


class EvidenceLogConsistency(Wire):
    """That one head is the beginning of another."""

    from_: EvidenceLogHead = Field(..., alias="from")
    """The smaller log."""
    proof: list[str]
    """As RFC 9162 §2.1.4 orders it."""
    to: EvidenceLogHead
    """The larger one."""


class EvidencePage(Wire):
    """One page of evidence."""

    entries: list[EvidenceEntry]
    """By time of capture."""
    next: str | None
    """Where the next page starts."""


class EvidenceProof(Wire):
    """One record's leaves with the checkpoint that they are proved under."""

    header: EvidenceHeader
    leaves: list[EvidenceLeaf]


class FollowUpReference(Wire):
    """Which turn of the session a verdict rests on, and why."""

    alone: Literal["narrow", "broad", "miss"]
    """What the text came to alone."""
    because: str
    """Why it is taken for a follow-up."""
    request_id: str
    """The request of that turn."""


class FrameworkCoverage(Wire):
    """What is known of a framework."""

    controls: list[ControlCoverage]
    """Its controls, by id."""
    framework: str
    """The framework, as its controls name it."""


class GateDecision(Wire):
    """The gate's answer, with the rules that made it."""

    permitted_by: list[RuleResult] | None = None
    """What permits it."""
    rules: list[RuleResult] | None = None
    """What asks for it; at least one."""
    verdict: Literal["allow", "deny", "needs_approval"] | str
    warnings: list[RuleResult] | None = None
    """What is said along with it."""


class GraphAnswer(Wire):
    """What the graph says."""

    controls: list[ControlCoverage] | None = None
    """Its controls, by id."""
    found: Any | None = None
    """It depends on the form."""
    framework: str | None = None
    """The framework, as its controls name it."""
    layer: Literal["tenant", "global", "tenant_over_global"] | None = None
    """The layer that it comes from."""
    node: GraphNode | None = None
    """The node."""
    query: Literal["coverage", "neighbours", "paths", "unremediated"] | str
    truncated: bool | None = None
    """Whether the rest was left out."""


class GraphQuery(Wire):
    """A question to the graph."""

    depth: int | None = None
    """How far; 1 when absent."""
    direction: Literal["out", "in"] | None = None
    """Which way; both when absent."""
    domain: str | None = None
    """Of this domain; of all when absent."""
    edges: list[Literal["requires", "evidenced_by", "collected_via", "is_a", "remediated_by"]] = (
        []
    )
    """Along which types of edges; all when empty."""
    framework: str | None = None
    """The framework, e.g. `SOC2`."""
    from_: str | None = Field(None, alias="from")
    """The node, e.g. a control."""
    limit: int | None = None
    """How many."""
    node: str | None = None
    """The node."""
    query: Literal["coverage", "neighbours", "paths", "unremediated"] | str
    to: GraphQueryToGraphQueryTo | GraphQueryToGraphQueryTo1 | None = None
    """Where to; any resource type when absent."""


class Key(Wire):
    """A key without its secret."""

    agent_skills: list[str]
    """Which skills of the link graph it may reach."""
    catalogue: Literal["viewer", "editor", "admin"] | str
    """What it may do to the catalogue."""
    created_at: AwareDatetime
    """When."""
    created_by: str
    """Who made it."""
    expires_at: AwareDatetime | None
    """From when on it lets nobody in."""
    key_id: str
    """Its id."""
    last_used_at: AwareDatetime | None
    """When it last let somebody in, to about a minute."""
    name: str
    """What people call it."""
    profile: str | None = None
    """
    The profile that narrows the agents whose skills it is served: those that list it in `usable_in_profiles`, and
    those that list none (000 §2.11); all when absent.
    """
    revoked_at: AwareDatetime | None
    """When it was revoked."""
    revoked_by: str | None
    """Who revoked it."""
    role: Literal["user", "operator", "admin"] | str
    """`user`, `operator` or `admin`."""
    rotated_from: str | None
    """The key whose place it took."""
    scopes: list[str]
    """Which parts of the interface it opens."""
    state: Literal["live", "expired", "revoked"]
    """Whether it lets in."""
    tenant_id: str
    """Whose data it sees."""
    tier: Literal["basic", "advanced"] | str
    """The tier up to which it is served."""
    user: str
    """Whom it stands for."""


class KeyPage(Wire):
    """One page of keys."""

    entries: list[Key]
    """Newest first."""
    next: str | None
    """Where the next page starts."""


class AddedEdge(Wire):
    """A claim that a step did not have when it was added."""

    edge: StepEdge
    """For what: a new step."""
    step: str
    """The step that waits."""


class Lens(Wire):
    """A lens as it is shown: the document, and what became of its source."""

    content_hash: str | None = None
    """
    Hash of what was fetched last, e.g. `sha256:…`; kept with the index and shown with the lens,
    whatever was authored.
    """
    content_type: Literal["framework", "cloud_service", "policy", "reference"] | str
    """What kind of knowledge it is."""
    created_at: AwareDatetime | None = None
    """When it was first registered."""
    description: str
    """What it holds."""
    domain: str
    """The domain it belongs to."""
    index: LensIndex | None
    """Its index; absent until there is one."""
    indexing: LensIndexingStage | None
    """How far indexing is, while it goes on."""
    last: LensIndexingAttempt | None
    """What the last indexing came to that this process did."""
    lens_id: str
    """Its id."""
    scope: Literal["tenant", "global"] | str
    """Where it is registered."""
    source: LensSource
    """Where it is fetched from."""
    status: Literal["active", "inactive"] | str
    """Whether it is offered (this project, for lenses)."""
    tags: list[str]
    """Words to find it by."""
    tenant_id: str | None = None
    """Its tenant; absent for a global lens."""
    tier: Literal["basic", "advanced"] | str
    """The tier from which it may be used; lenses are refused on the basic tier (B000-16)."""
    title: str
    """Its title."""
    updated_at: AwareDatetime | None = None
    """When it was last registered."""
    version: str | None = None
    """Its version."""


class LensList(RootModel[list[Lens]]):
    root: list[Lens]


class Memory(Wire):
    """One version of a memory, with where it stands."""

    agent_id: str | None = None
    """The agent that wrote it for them."""
    at: AwareDatetime
    """When it was written."""
    author: str
    """By whom."""
    conflicts_with: list[str] | None = None
    """Memories that say otherwise of the same thing, as far as rules of thumb can see; likewise."""
    decided_at: AwareDatetime | None = None
    """When they did."""
    decided_by: str | None = None
    """Who decided on it."""
    expires_at: AwareDatetime | None = None
    """When the memory expires; absent when it is kept for good."""
    memory: MemoryEntry | None = None
    """The entry; absent once it was removed."""
    memory_id: str
    """The memory."""
    notice: str | None = None
    """The same in words, in the answer to a write."""
    owner: str
    """Its owner."""
    proposed: int | None = None
    """The version that waits for a decision, if the reader may see it."""
    removed_at: AwareDatetime | None = None
    """When the content was removed."""
    removed_by: str | None = None
    """By whom; absent when it expired."""
    similar_to: list[str] | None = None
    """Memories that say the same or nearly so: in what a search found, and in the answer to a write."""
    state: Literal["proposed", "accepted", "superseded", "rejected"] | str
    """Where that version stands."""
    supersedes: int | None = None
    """The version that was in force when it was written."""
    version: int
    """Which version this is."""
    visibility: Literal["private", "shared"] | str
    """Who sees it."""


class MemoryPage(Wire):
    """A page of memories."""

    entries: list[Memory]
    """The memories, newest first."""
    next: str | None
    """Where the next page starts; absent on the last one."""


class MemoryVersions(RootModel[list[Memory]]):
    root: list[Memory]


class MissionArtifactChange(Wire):
    """An artifact of either mission."""

    ids: PairOfNullableString
    """Its id in each mission that has it."""
    key: MissionArtifactKey
    """What it is matched by."""
    change: Literal["added", "changed", "removed", "same"] | str
    fields: list[FieldChange] | None = None


class MissionPage(Wire):
    """One page of missions."""

    entries: list[MissionSummary]
    """Newest first."""
    next: str | None
    """Where the next page starts."""


class MissionProposal(Wire):
    """A proposal of a mission."""

    approval_id: str | None = None
    """The approval that it waits for: its own, or one of the playbook's run."""
    proposal: WritebackProposal
    """The proposal."""
    reason: str | None = None
    """Why it was not carried out."""
    run_id: str | None = None
    """The playbook's run that carries it out, once there is one."""
    state: Literal["proposed", "approved", "executed", "execution_failed", "rejected", "expired", "conflict"]
    """Where it stands (B002-13)."""


class MissionTaskChange(Wire):
    """A task of either mission."""

    ids: PairOfNullableString
    """Its id in each mission that has it."""
    objective: str
    """What it is to achieve, in the second mission if that has it."""
    role: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"] | str | None
    """Who does it."""
    change: Literal["added", "changed", "removed", "same"] | str
    fields: list[FieldChange] | None = None


class KeyEventRef(Wire):
    """What an event says of a key: who did what to it. It names no secret, nor anything made from one."""

    by: str
    """Who did it."""
    key_id: str
    """The key."""
    name: str
    """What people call it."""
    rights: Rights
    """What the key lets its user do."""
    rotated_from: str | None
    """The key whose place it took."""
    user: str
    """Whom it stands for."""


class PackageProblem(Wire):
    """One thing that is wrong, and where."""

    column: int
    """In characters, from 1."""
    excerpt: str
    """The line as it stands."""
    file: str
    """The file's path, relative to the package."""
    severity: Literal["error", "warning"]
    """Whether it stops the registration."""
    keyword: str
    """The rule that is broken."""
    line: int
    """From 1."""
    message: str
    """What is wrong."""
    pointer: str
    """JSON pointer into the file."""
    suggestion: str | None = None
    """What to write instead, where that is known."""
    width: int
    """Characters to underline, at least 1."""


class PassagePosition(Wire):
    """Where a passage stands in the text that was taken out of the source."""

    end: int
    """Behind the last byte."""
    end_char: int
    """Behind the last character."""
    file: str | None = None
    """The file, where the source is a folder of the package."""
    headings: list[str] | None = None
    """The headings that it begins under, the highest first."""
    page: int | None = None
    """The page that it begins on, where the source has pages."""
    sections: list[PassageSection] | None = None
    """The sections and pages that begin inside of it, in order."""
    start: int
    """The first byte."""
    start_char: int
    """The first character."""


class PublishedSkillIndex(Wire):
    """The skills that somebody publishes."""

    field_schema: str = Field(..., alias="$schema")
    """Which form of index this is."""
    skills: list[PublishedSkill]
    """The skills, by name."""


class QuotaUsage(Wire):
    """What the caller's tenant may ask, and how much of it is taken."""

    calls: Rate | None
    """How often it may call, in each process; null where nothing bounds it."""
    runs: RunQuotaUsage | None
    """Its runs; null where nothing bounds them."""


class RelatedMemories(RootModel[list[RelatedMemory]]):
    root: list[RelatedMemory]


class ResolvedPolicies(RootModel[list[ResolvedPolicy]]):
    root: list[ResolvedPolicy]


class ResolvedTemplate(Wire):
    """The template that renders an output."""

    document: Template
    layer: Literal["tenant", "global", "tenant_over_global"]
    """Which layer won."""
    level: Literal["skill", "agent", "domain", "global"]
    """The level that it was found on."""
    package: str
    package_version: str


class ResultSourceResultSource(Wire):
    """The effect was interrupted, and a person says that it happened."""

    reported: ResultSourceReported


class RoutingTestResult(Wire):
    """Where a routing test of a package led, in the catalogue as it would be with the package in force."""

    file: str
    """The file that the test stands in."""
    kind: Literal["narrow", "broad", "miss"]
    """Narrow, broad or miss."""
    line: int
    """The line, from 1."""
    passed: bool
    """Whether it led where it should."""
    query: str
    """The query."""
    reached: str | None
    """The best candidate; absent for a miss."""
    reason: str
    """Why, for people."""
    score: float | None
    """The best candidate's chance of being right, 0 to 1, whether or not it was enough."""


class RuleFinding(Wire):
    """One rule and what it says."""

    asked: Literal["now", "after_approval", "not_evaluated"]
    """Whether the decision rests on it."""
    id: str
    """Which one."""
    kind: Literal["permission", "policy", "guardrail", "rate_limit", "tool", "safety", "interrupted", "approval"]
    """What kind of rule."""
    layer: Literal["tenant", "global"] | str | None = None
    """The document's layer; absent where the rule is no document of its own."""
    run_facts: list[Literal["kind", "subject", "mission", "approved", "approvers", "approvals", "calls"]] | None = (
        None
    )
    """What of the run the rule looks at."""
    message: str | None = None
    """What the document tells people, where it speaks and has words for them."""
    note: str | None = None
    """Why an expression of it had no answer, where one had none."""
    package: str | None = None
    """The package that the document comes from."""
    package_version: str | None = None
    """That package's version."""
    says: Literal["refuses", "require_approval", "warns", "permits", "not_applicable"]
    """What it says."""
    why: str
    """Why."""


class RunPrerequisites(Wire):
    """What a run needs before its first step."""

    confirm: bool
    """Whether a person has to see the plan and agree to it."""
    missing: list[str] | None = None
    """The mandatory parameters that have no value yet."""
    sources: dict[str, ValueSource] | None = None
    """Where the values of its parameters come from, by name."""
    tokens: TokenUsage | None = None
    """Tokens that a model used to draft values of its parameters."""
    typed: str | None = None
    """The parameter whose value has to be typed to confirm (`destructive`)."""
    unclear: dict[str, str] | None = None
    """Why words of the request give no value of a missing parameter, by name."""


class RunOutcome(Wire):
    """How a run ended."""

    cause: StopCause | None = None
    """Why."""
    left: list[str] | None = None
    """Steps whose writes stand, or may."""
    missing_evidence: list[str] | None = None
    """Evidence that was required and that no step produced: the run is incomplete."""
    outcome: Literal["completed", "failed", "rollback_failed", "rolled_back"] | str


class RunPage(Wire):
    """One page of runs."""

    entries: list[RunSummary]
    """Newest first."""
    next: str | None
    """Where the next page starts."""


class SchemaList(RootModel[list[SchemaSummary]]):
    root: list[SchemaSummary]


class SessionView(Wire):
    """A session as its user sees it."""

    created_at: AwareDatetime
    """When it was opened."""
    expires_at: AwareDatetime
    """When it ends unless a turn extends it."""
    session_id: str
    """Its id."""
    turns: list[SessionTurn]
    """Its newest turns, oldest first."""


class StepAction(Wire):
    """What a step does."""

    branches: list[StepBranch] | None = None
    """Expression and the step that it leads to, in the order in which they are tried."""
    do: Literal["call", "choose", "conclude"] | str
    exact: bool | None = None
    """Whether `${…}` in the parameters is plain text instead of a reference."""
    otherwise: str | None = None
    """Where to go when none holds."""
    output: Any | None = None
    """What is written out as the step's output."""
    parameters: dict[str, Any] | None = None
    """The parameters of the tool."""
    script: str | None = None
    """A script of the pinned playbook that is run in place of the tool's own body."""
    tool: str | None = None
    """The tool."""
    writes: bool | None = None
    """Whether it changes something outside."""


class StepBegun(Wire):
    """An effect that is about to start."""

    approval_expires_at: AwareDatetime | None = None
    """When the approval lapses that it began under; absent where none was needed."""
    attempt: int
    """From 1."""
    idempotency_key: str
    """The same for every attempt."""
    parameters: dict[str, Any]
    """The resolved parameters."""
    policy_decision: GateDecision
    """What the gate said."""
    step: str
    """The step."""


class StepEntry(Wire):
    """
    When a step may start. It is decided once every source has settled; a step whose edges do not
    hold, or whose expression is false, is skipped.
    """

    edges: list[StepEdge]
    """Its claims on earlier steps; none for a step that may start at once."""
    join: Literal["all", "any"]
    """How many must hold."""
    when: str | None = None
    """A CEL expression that must be true as well."""


class Verdict(Wire):
    """A verdict as somebody looks at it who asks why, and what it would be."""

    candidates: list[RoutedCandidate]
    """Best first."""
    clauses: list[RoutedClause] | None = None
    """Its clauses, if it asks for several things."""
    corrections: list[SpellingCorrection] | None = None
    """Mistyped words and their corrections."""
    dropped: list[RoutedCandidate]
    """What was found and is below the floor, best first."""
    follows: FollowUpReference | None = None
    """The turn of the session that it rests on, where the text leans on one."""
    gateway: GatewayResult | None = None
    """What the model of the route `gateway` made of the request, where it was asked."""
    in_force: Thresholds
    """The thresholds in force, whichever decided."""
    intent: Literal["read", "change", "knowledge", "none"] | str | None = None
    """
    What the request asks for, decided before anything was ranked; absent where only a ranking was asked for, and in
    verdicts of before it was decided.
    """
    intent_reason: str | None = None
    """Why it is taken to ask for that, for people."""
    kind: Literal["narrow", "broad", "miss"]
    """Narrow, broad or miss."""
    model: str | None
    """The embedding model; absent where only words were compared."""
    query: str
    """What was asked."""
    reason: str
    """Why, for people."""
    set_aside: list[str] | None = None
    """Pieces with a low weight, shortened: pasted logs, code and records, the frame of a mail."""
    subject: str | None = None
    """
    The words that were compared, where they are not all of the query: without greetings, and with identifiers
    replaced by what they name.
    """
    thresholds: Thresholds
    """The thresholds that decided."""


class PackageVersionDiff(Wire):
    """What changed from one version to another: one page."""

    changes: list[DocumentVersionChange]
    """The changed documents, by kind and id."""
    from_: str | None = Field(..., alias="from")
    """The earlier version; null where there is none, and everything is new."""
    next: str | None
    """Where the next page starts."""
    package: str
    """The package."""
    to: str
    """The later version."""


class AgentSkillImportResult(Wire):
    """What came of an import."""

    changed: list[str]
    """Those that were there and are changed."""
    created: list[str]
    """The skills that are new."""
    embedded: int
    """How many summaries were embedded."""
    left_out: list[str]
    """The directories of skills that are left out."""
    problems: list[PackageProblem]
    """Errors, which say why a skill is left out, and warnings."""
    unchanged: list[str]
    """Those that were there as they are."""


class AgentSkillBulkResult(Wire):
    """What came of a bulk write, in the order of its skills."""

    items: list[AgentSkillBulkItem]
    """One answer for each skill."""
    refused: int
    """How many are not."""
    written: int
    """How many are written."""


class ApprovalRequest(Wire):
    """A person is asked about one exact call."""

    approval: str
    """The approval's record."""
    call: ExactCall
    """The call."""
    digest: str
    """What the decision is bound to."""
    expires_at: AwareDatetime
    """When it lapses."""
    policy_decision: GateDecision
    """What the gate said."""
    step: str
    """The step."""


class CallExplanation(Wire):
    """What the gate would say to a call, and why."""

    assumed: AssumedFacts | None
    """What was taken for the facts that a run adds."""
    decision: GateDecision | None
    """
    The decision as a journal would hold it; absent for what would be left out, which is not put
    to the gate.
    """
    dry_run: bool
    """Whether nothing is to be changed."""
    kind: Literal["skill", "playbook", "execution_plan", "pipeline", "decision_tree", "mission", "tool_call", "analysis"] | str
    """What kind of run the call would belong to."""
    parameters: dict[str, Any]
    """The arguments, defaults filled in."""
    role: Literal["user", "operator", "admin"] | str
    """What they may do."""
    rules: list[RuleFinding]
    """Every rule that was considered, in the order in which the gate asks."""
    step: str | None
    """Its step; absent for the same."""
    subject: str | None
    """The skill or playbook; absent for a plan that is only thought of."""
    tool: str
    """What is called."""
    user: str
    """Who asks."""
    verdict: str
    """`allow`, `warn`, `needs_approval`, `deny`, or `left_out` in a run that changes nothing."""


class Caller(Wire):
    """Who the caller is, and what it may do."""

    agent_skills: list[str]
    """Which skills of the link graph it may reach."""
    catalogue: Literal["viewer", "editor", "admin"] | str
    """What it may do to the catalogue."""
    profile: str | None = None
    """The profile that narrows the agents whose skills it is served; all when absent."""
    quota: QuotaUsage
    """What its tenant may ask, and how much of it is taken."""
    role: Literal["user", "operator", "admin"] | str
    """The level: `user`, `operator` or `admin`."""
    scopes: list[str]
    """Which parts of the interface its credential opens; `["*"]` is all."""
    tenant: str
    """Whose data it sees."""
    tier: Literal["basic", "advanced"] | str
    """The tier up to which it is served."""
    user: str
    """Who it is within the tenant."""


class Document(Wire):
    """A document as the layers have it."""

    differs: list[str]
    """JSON pointers of the parts in which the two layers differ."""
    id: str
    """Its id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"] | str
    """Its kind."""
    layers: list[DocumentLayer]
    """What each layer has, the tenant's own first."""


class Mission(Wire):
    """A mission."""

    artifacts: int
    """How many artifacts it has."""
    created_at: AwareDatetime
    """When it was created."""
    events: int
    """How many events its journal has."""
    goal: str
    """What is to be achieved."""
    imported_at: AwareDatetime | None = None
    """When it was imported, if it was; it is read only then."""
    mission_id: str
    """Its id."""
    mission_type: str
    """Its kind."""
    offline: bool
    """Whether the offline provider answers: no model is asked."""
    output: dict[str, Any] | None = None
    """The reviewed output, once there is one."""
    proposals: list[MissionProposal]
    """What it proposes to write back."""
    reason: str | None = None
    """Why it did not come to its end, where it did not."""
    run_id: str
    """The run that carries it out."""
    state: Literal["created", "planned", "prompted", "running", "aggregating", "reviewing", "awaiting_approval", "completed", "rejected", "failed", "cancelled", "budget_exceeded"] | str
    """Where it stands (B002-12)."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """Where its run stands: `working`, `awaiting_approval` and so on."""
    tasks: list[MissionTask]
    """Its tasks, in listed order."""
    token_budget: int | None = None
    """How many tokens it may use."""
    tokens: TokenUsage
    """Tokens used, and how many it may use."""
    updated_at: AwareDatetime
    """When it last changed."""


class MissionDifferences(Wire):
    """What two missions differ in. Shown as text by `Display`."""

    artifacts: list[MissionArtifactChange]
    """All other artifacts, by key."""
    goal: PartChange
    """The envelopes."""
    missions: PairOfNullableMissionId
    """Which missions these are."""
    outcome: PairOfMissionState
    """Where each stands."""
    tasks: list[MissionTaskChange]
    """The tasks: those of the first mission in its order, then those that only the second has."""
    time_ms: PairOfBudgetSpent
    """Milliseconds."""
    tokens: PairOfBudgetSpent
    """Tokens."""


class PackageReport(Wire):
    """What checking a package found."""

    documents: int
    """Number of documents that were read."""
    package: str | None
    """The package's name, where its manifest could be read."""
    problems: list[PackageProblem]
    """Errors and warnings, by file and place."""
    tests: list[RoutingTestResult]
    """Where its routing tests led; none where something else is wrong already."""
    version: str | None
    """Its version."""


class Passage(Wire):
    """One passage, with where it is from."""

    content_hash: str
    """Hash of what was fetched."""
    cosine: float | None
    """Similarity of meaning; absent where only words were compared."""
    domain: str
    """The lens's domain."""
    fused: float
    """What it is ranked by, 0 to 1 within this answer."""
    lens_id: str
    """Its lens."""
    lexical: float
    """Words in common, weighted."""
    position: PassagePosition
    """Where it stands."""
    scope: Literal["tenant", "global"] | str
    """Where the lens is registered."""
    score: float
    """Chance that it has to do with the question, 0 to 1: comparable over questions."""
    source: LensSource
    """Where the lens was fetched from."""
    text: str
    """The text, exactly as it was taken out of the source and indexed."""
    title: str
    """The lens's title."""


class PlannedStep(Wire):
    """One step."""

    action: StepAction
    """What it does."""
    after_failure: Literal["abort", "roll_back", "continue"]
    """What a failure does."""
    cache_ttl_seconds: int
    """How long a result may be used again for the same call, in seconds; 0 for never."""
    entry: StepEntry
    """When it may start."""
    id: str
    """Its id."""
    mandate: str | None = None
    """
    The task of a mission that it is called for: the task's prompt package and pass say what may be
    called (B002-5, B002-8).
    """
    retry: StepRetry
    """How it is tried again."""
    reverses: str | None = None
    """The step that it reverses. A reversal is no part of the way forward."""
    reviewed: bool
    """Whether a person must review each call, whatever else holds (ruling 10)."""
    spends: bool | None = None
    """Whether it may use tokens of the run's budget: none is begun once that is used up (B002-17)."""
    timeout_ms: int
    """Limit of one attempt in milliseconds; 0 sets no limit of the step's own (B003-7)."""
    unless_changed: str | None = None
    """
    An earlier call, which only reads, that must still answer what it did when this one begins: else
    what this one changes is not what somebody decided on (B002-13).
    """


class RegistrationReport(Wire):
    """What a registration did."""

    diff: PackageDiff
    """What changed, or would."""
    embedded: int
    """Texts that had to be embedded."""
    lenses: list[LensIndexingResult]
    """What became of its active lenses."""
    package: str
    """The package."""
    problems: list[PackageProblem]
    """Warnings."""
    tests: list[RoutingTestResult]
    """Where its routing tests led; none where nothing had to be done."""
    unchanged: bool
    """`true` when the same content was in force already, or for a dry run."""
    version: str
    """Its version."""


class Step(Wire):
    """A step in the plan."""

    entry: StepEntry
    """When it may start: its claims on earlier steps."""
    reverses: str | None
    """The step that it reverses."""
    step: str
    """Its id."""
    tool: str | None
    """The tool it calls."""
    writes: bool
    """Whether it changes something."""
    approval: str | None = None
    """The approval's record."""
    attempt: int | None = None
    """From 1."""
    digest: str | None = None
    """What the decision is bound to."""
    due: AwareDatetime | None = None
    """Not before this."""
    expires_at: AwareDatetime | None = None
    """When it lapses."""
    failure: StepFailure | None = None
    """Why."""
    reason: SkipReason | None = None
    """Why."""
    state: Literal["awaiting_approval", "cancelled", "failed", "pending", "retrying", "running", "skipped", "succeeded"] | str


class StepGraph(Wire):
    """A sound graph of steps."""

    evidence: list[str] | None = None
    """Keys that some step's output must have for the run to be complete."""
    fallback: StepGraph | None = None
    """What is run once instead when a step fails that the run cannot do without (B003-8)."""
    numbers: dict[str, Literal["string", "number", "integer", "boolean", "array", "object"] | str] | None = (
        None
    )
    """The declared types of numeric parameters, for expressions."""
    source: PlanSource | None = None
    """
    What it was compiled from, where that is no document of the catalogue; a fallback names what
    the run was started with.
    """
    steps: list[PlannedStep]
    """The steps in listed order; reversals among them."""
    timeout_ms: int
    """Time limit of the work, waiting for people not counted, in milliseconds; 0 sets none."""
    token_budget: int | None = None
    """Tokens that models may use for it; 0 sets no limit (B002-17)."""


class GraphAdditions(Wire):
    """Steps to add, and steps that wait for some of them from now on."""

    claims: list[AddedEdge] | None = None
    """Claims that steps which have not started get on new ones."""
    steps: list[PlannedStep] | None = None
    """New steps, after those that are there. None of them is a reversal."""


class JournalEvent(Wire):
    """One event of a run's history."""

    at: AwareDatetime
    """When."""
    sequence: int
    """Position, from 1."""
    approval: str | None = None
    """The approval's record."""
    approval_expires_at: AwareDatetime | None = None
    """When the approval lapses that it began under; absent where none was needed."""
    askers: list[str] | None = None
    """
    Users who asked for it besides `by`: the makers of the key that started it, and the askers of the run
    that it rolls back.
    """
    attempt: int | None = None
    """From 1."""
    by: str | None = None
    """On whose behalf it acts."""
    call: ExactCall | None = None
    """The call."""
    cause: StopCause | None = None
    """Why."""
    digest: str | None = None
    """What they saw."""
    dry_run: bool = False
    """Whether nothing is to be changed (B000-18)."""
    due: AwareDatetime | None = None
    """Not before this."""
    duration_ms: int | None = None
    """In milliseconds."""
    event: Literal["approval_denied", "approval_granted", "approval_requested", "completed", "confirmed", "failed", "fallback_started", "parameters_given", "paused", "resumed", "retry_scheduled", "rollback_failed", "rolled_back", "started", "step_begun", "step_failed", "step_refused", "step_skipped", "step_succeeded", "stopping"] | str
    expires_at: AwareDatetime | None = None
    """When it lapses."""
    failure: StepFailure | None = None
    """What the step fails with."""
    graph: StepGraph | None = None
    """What it executes."""
    growth: GraphAdditions | None = None
    """What it adds to the graph."""
    idempotency_key: str | None = None
    """The same for every attempt."""
    left: list[str] | None = None
    """Steps whose writes stand, or may."""
    makers: list[str] | None = None
    """The makers of their key."""
    missing: list[str] | None = None
    """Mandatory ones that are still missing."""
    missing_evidence: list[str] | None = None
    """Evidence that was required and that no step produced."""
    opening: RunPrerequisites = Field({"confirm": False}, validate_default=True)
    """What it needs before its first step."""
    output: Any | None = None
    """What it produced."""
    owner: str | None = None
    """Whose it is, where that is not who started it: whose the run is that it rolls back."""
    parameters: dict[str, Any] | None = None
    """Values of the declared parameters."""
    pins: list[DocumentPin] | None = None
    """The versions it executes."""
    policy_decision: GateDecision | None = None
    """What the gate said."""
    reason: SkipReason | None = None
    """Why."""
    role: Literal["admin", "operator", "user"] | str | None = None
    roll_back: bool | None = None
    """Whether completed writes are reversed."""
    run_id: str | None = None
    """The run."""
    source: Literal["fresh"] | Literal["cached"] | Literal["decided"] | ResultSourceResultSource | None = (
        None
    )
    """Where the result came from."""
    sources: dict[str, ValueSource] | None = None
    """Where all values come from; absent in journals of earlier versions."""
    step: str | None = None
    """The step."""
    tags: RequestTags | None = None
    """The request that it is for, as guardrails read it; absent in journals that do not have it."""
    tokens: TokenUsage | None = None
    """Tokens that were used for it."""


class LensSearchResult(Wire):
    """The passages that come closest to a question."""

    extractive: bool
    """Always true: passages are quoted, nothing is written."""
    lenses: list[str]
    """The lenses that were searched."""
    model: str | None
    """The embedding model; absent where only words were compared."""
    passages: list[Passage]
    """Best first."""
    query: str
    """What was asked."""


class MissionDiff(Wire):
    """What two missions differ in, ids and times apart."""

    differences: MissionDifferences
    """Part by part."""
    same: bool
    """Whether both do and say the same, however long it took."""
    text: str
    """For people."""


class MissionEvent(Wire):
    """An event of a mission's journal."""

    at: AwareDatetime
    """When."""
    mission_state: Literal["created", "planned", "prompted", "running", "aggregating", "reviewing", "awaiting_approval", "completed", "rejected", "failed", "cancelled", "budget_exceeded"] | str
    """Where the mission stands after it."""
    sequence: int
    """Position, from 1."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """Where its run stands after it: `working`, `awaiting_approval` and so on."""
    approval: str | None = None
    """The approval's record."""
    approval_expires_at: AwareDatetime | None = None
    """When the approval lapses that it began under; absent where none was needed."""
    askers: list[str] | None = None
    """
    Users who asked for it besides `by`: the makers of the key that started it, and the askers of the run
    that it rolls back.
    """
    attempt: int | None = None
    """From 1."""
    by: str | None = None
    """On whose behalf it acts."""
    call: ExactCall | None = None
    """The call."""
    cause: StopCause | None = None
    """Why."""
    digest: str | None = None
    """What they saw."""
    dry_run: bool = False
    """Whether nothing is to be changed (B000-18)."""
    due: AwareDatetime | None = None
    """Not before this."""
    duration_ms: int | None = None
    """In milliseconds."""
    event: Literal["approval_denied", "approval_granted", "approval_requested", "completed", "confirmed", "failed", "fallback_started", "parameters_given", "paused", "resumed", "retry_scheduled", "rollback_failed", "rolled_back", "started", "step_begun", "step_failed", "step_refused", "step_skipped", "step_succeeded", "stopping"] | str
    expires_at: AwareDatetime | None = None
    """When it lapses."""
    failure: StepFailure | None = None
    """What the step fails with."""
    graph: StepGraph | None = None
    """What it executes."""
    growth: GraphAdditions | None = None
    """What it adds to the graph."""
    idempotency_key: str | None = None
    """The same for every attempt."""
    left: list[str] | None = None
    """Steps whose writes stand, or may."""
    makers: list[str] | None = None
    """The makers of their key."""
    missing: list[str] | None = None
    """Mandatory ones that are still missing."""
    missing_evidence: list[str] | None = None
    """Evidence that was required and that no step produced."""
    opening: RunPrerequisites = Field({"confirm": False}, validate_default=True)
    """What it needs before its first step."""
    output: Any | None = None
    """What it produced."""
    owner: str | None = None
    """Whose it is, where that is not who started it: whose the run is that it rolls back."""
    parameters: dict[str, Any] | None = None
    """Values of the declared parameters."""
    pins: list[DocumentPin] | None = None
    """The versions it executes."""
    policy_decision: GateDecision | None = None
    """What the gate said."""
    reason: SkipReason | None = None
    """Why."""
    role: Literal["admin", "operator", "user"] | str | None = None
    roll_back: bool | None = None
    """Whether completed writes are reversed."""
    run_id: str | None = None
    """The run."""
    source: Literal["fresh"] | Literal["cached"] | Literal["decided"] | ResultSourceResultSource | None = (
        None
    )
    """Where the result came from."""
    sources: dict[str, ValueSource] | None = None
    """Where all values come from; absent in journals of earlier versions."""
    step: str | None = None
    """The step."""
    tags: RequestTags | None = None
    """The request that it is for, as guardrails read it; absent in journals that do not have it."""
    tokens: TokenUsage | None = None
    """Tokens that were used for it."""


class MissionEventPage(Wire):
    """One page of a mission's journal."""

    entries: list[MissionEvent]
    """Oldest first."""
    next: int | None = None
    """The event to go on after; absent when there are no more now."""


class Run(Wire):
    """A run with its journal."""

    approach_hints: list[str] | None = None
    """Advice of the playbook that it executes for who judges its plan."""
    approvals: list[Approval]
    """Approvals that it waits for."""
    confirm: bool
    """Whether it waits for somebody to confirm the plan."""
    created_at: AwareDatetime
    """When it was created."""
    dry_run: bool
    """Whether it changes nothing."""
    events: list[JournalEvent]
    """What happened, oldest first."""
    evidence: list[RunEvidence]
    """Evidence of what it did, by capture time."""
    in_doubt: list[str]
    """Steps whose writes may have happened, and nobody knows."""
    missing: list[str]
    """Mandatory parameters without a value."""
    notes: list[str] | None = None
    """Warnings about the run, e.g. that no user of the tenant could approve its calls."""
    outcome: RunOutcome | None
    """How it ended."""
    parameters: dict[str, Any]
    """Values of its parameters."""
    plan_digest: str
    """What an agreement to run it is bound to."""
    proposals: list[ProposedValue] | None = None
    """Values that memories of the caller and the tenant state for missing parameters."""
    run_id: str
    """Its id."""
    sources: dict[str, ValueSource]
    """Where each value comes from, by parameter; absent for a value that the caller gave."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """
    Where it stands: `working`, `awaiting_approval`, `completed` and so on. As text, because a newer replica may
    have written one that is not known here.
    """
    steps: list[Step]
    """Its steps in listed order, reversals last."""
    title: str
    """What started it."""
    tokens: TokenUsage | None = None
    """Tokens that models used for it so far; absent where none were used."""
    typed: str | None
    """The parameter whose value has to be typed to confirm."""
    unclear: dict[str, str] | None = None
    """Why words of the request give no value of a missing parameter, by parameter."""
    unproven: list[str] | None = None
    """Tools whose results left no evidence, because no page shows them (B000-19); known when the run has ended."""
    updated_at: AwareDatetime
    """When it last changed."""
    version: int
    """Number of events in the journal."""


class RunAt(Wire):
    """A run as it stood after an event of its journal."""

    at: AwareDatetime
    """When it happened."""
    confirm: bool
    """Whether it waits for somebody to confirm the plan."""
    dry_run: bool
    """Whether it changes nothing."""
    in_doubt: list[str]
    """Steps whose writes may have happened, and nobody knows."""
    missing: list[str]
    """Mandatory parameters without a value."""
    outcome: RunOutcome | None
    """How it ended."""
    parameters: dict[str, Any]
    """Values of its parameters."""
    plan_digest: str
    """What an agreement to run it is bound to."""
    run_id: str
    """The run."""
    sequence: int
    """The event's position, from 1."""
    sources: dict[str, ValueSource]
    """Where each value comes from, by parameter; absent for a value that the caller gave."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """Where the run stood then."""
    steps: list[Step]
    """Its steps in listed order, reversals last."""
    tokens: TokenUsage | None = None
    """Tokens that models used for it so far; absent where none were used."""
    typed: str | None
    """The parameter whose value has to be typed to confirm."""
    unclear: dict[str, str] | None = None
    """Why words of the request give no value of a missing parameter, by parameter."""


class RunEvent(Wire):
    """An event of a run's journal."""

    at: AwareDatetime
    """When."""
    sequence: int
    """Position, from 1."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """Where the run stands after it: `working`, `awaiting_approval` and so on."""
    approval: str | None = None
    """The approval's record."""
    approval_expires_at: AwareDatetime | None = None
    """When the approval lapses that it began under; absent where none was needed."""
    askers: list[str] | None = None
    """
    Users who asked for it besides `by`: the makers of the key that started it, and the askers of the run
    that it rolls back.
    """
    attempt: int | None = None
    """From 1."""
    by: str | None = None
    """On whose behalf it acts."""
    call: ExactCall | None = None
    """The call."""
    cause: StopCause | None = None
    """Why."""
    digest: str | None = None
    """What they saw."""
    dry_run: bool = False
    """Whether nothing is to be changed (B000-18)."""
    due: AwareDatetime | None = None
    """Not before this."""
    duration_ms: int | None = None
    """In milliseconds."""
    event: Literal["approval_denied", "approval_granted", "approval_requested", "completed", "confirmed", "failed", "fallback_started", "parameters_given", "paused", "resumed", "retry_scheduled", "rollback_failed", "rolled_back", "started", "step_begun", "step_failed", "step_refused", "step_skipped", "step_succeeded", "stopping"] | str
    expires_at: AwareDatetime | None = None
    """When it lapses."""
    failure: StepFailure | None = None
    """What the step fails with."""
    graph: StepGraph | None = None
    """What it executes."""
    growth: GraphAdditions | None = None
    """What it adds to the graph."""
    idempotency_key: str | None = None
    """The same for every attempt."""
    left: list[str] | None = None
    """Steps whose writes stand, or may."""
    makers: list[str] | None = None
    """The makers of their key."""
    missing: list[str] | None = None
    """Mandatory ones that are still missing."""
    missing_evidence: list[str] | None = None
    """Evidence that was required and that no step produced."""
    opening: RunPrerequisites = Field({"confirm": False}, validate_default=True)
    """What it needs before its first step."""
    output: Any | None = None
    """What it produced."""
    owner: str | None = None
    """Whose it is, where that is not who started it: whose the run is that it rolls back."""
    parameters: dict[str, Any] | None = None
    """Values of the declared parameters."""
    pins: list[DocumentPin] | None = None
    """The versions it executes."""
    policy_decision: GateDecision | None = None
    """What the gate said."""
    reason: SkipReason | None = None
    """Why."""
    role: Literal["admin", "operator", "user"] | str | None = None
    roll_back: bool | None = None
    """Whether completed writes are reversed."""
    run_id: str | None = None
    """The run."""
    source: Literal["fresh"] | Literal["cached"] | Literal["decided"] | ResultSourceResultSource | None = (
        None
    )
    """Where the result came from."""
    sources: dict[str, ValueSource] | None = None
    """Where all values come from; absent in journals of earlier versions."""
    step: str | None = None
    """The step."""
    tags: RequestTags | None = None
    """The request that it is for, as guardrails read it; absent in journals that do not have it."""
    tokens: TokenUsage | None = None
    """Tokens that were used for it."""


class RunEventPage(Wire):
    """One page of a run's journal."""

    entries: list[RunEvent]
    """Oldest first."""
    next: int | None = None
    """The event to go on after; absent when there are no more now."""


class RunStarted(Wire):
    """A run's first event."""

    askers: list[str] | None = None
    """
    Users who asked for it besides `by`: the makers of the key that started it, and the askers of the run
    that it rolls back.
    """
    by: str
    """On whose behalf it acts."""
    dry_run: bool
    """Whether nothing is to be changed (B000-18)."""
    graph: StepGraph
    """What it executes."""
    opening: RunPrerequisites
    """What it needs before its first step."""
    owner: str | None = None
    """Whose it is, where that is not who started it: whose the run is that it rolls back."""
    parameters: dict[str, Any]
    """Values of the declared parameters."""
    pins: list[DocumentPin]
    """The versions it executes."""
    role: Literal["user", "operator", "admin"] | str
    """What they may do."""
    run_id: str
    """The run."""
    tags: RequestTags | None = None
    """The request that it is for, as guardrails read it; absent in journals that do not have it."""


class StepExplanation(Wire):
    """What the gate said to one step."""

    approvals: list[Approval]
    """The approvals that were asked for."""
    decisions: list[JournalEvent]
    """
    The journal's events that begin, refuse or leave out the step, ask for an approval or decide on
    one: each with the gate's decision and the rules that made it. Oldest first.
    """
    step: str
    """The step."""
    tool: str | None
    """The tool it calls."""
    waits_for: list[StepWait]
    """What it waits for; nothing when it is next, has begun or ended."""
    writes: bool
    """Whether it changes something."""
    approval: str | None = None
    """The approval's record."""
    attempt: int | None = None
    """From 1."""
    digest: str | None = None
    """What the decision is bound to."""
    due: AwareDatetime | None = None
    """Not before this."""
    expires_at: AwareDatetime | None = None
    """When it lapses."""
    failure: StepFailure | None = None
    """Why."""
    reason: SkipReason | None = None
    """Why."""
    state: Literal["awaiting_approval", "cancelled", "failed", "pending", "retrying", "running", "skipped", "succeeded"] | str | None = (
        None
    )


class RunExplanation(Wire):
    """What the gate said to a run."""

    run_id: str
    """The run."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """Where it stands."""
    steps: list[StepExplanation]
    """Its steps, or the one that was asked for."""


class GateExplanation(RootModel[CallExplanation | RunExplanation]):
    root: CallExplanation | RunExplanation
    """What the gate would say to a call, or said to a run."""


StepGraph.model_rebuild()
