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


class AgentClassification(Wire):
    domain: str
    """The domain it belongs to."""


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
    classification: AgentClassification | None = None
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


class ApprovalReport(Wire):
    """What a person saw of a call that was interrupted, and what it came to."""

    digest: str
    output: Any = None
    """`null`, or nothing, when nobody knows."""
    reason: str | None = None


class ApprovalWord(Wire):
    """What a person saw, and why they decide so."""

    digest: str
    reason: str | None = None


class CallerQuotaCalls(Wire):
    """How often it may call, in each process; null where nothing bounds it."""

    burst: int
    """How often at once."""
    per_minute: int
    """How often a minute."""


class CallerQuotaRuns(Wire):
    """Its runs; null where nothing bounds them."""

    most: int
    """How many may."""
    unfinished: int
    """How many do, counted up to `most`."""


class CallerQuota(Wire):
    """What its tenant may ask, and how much of it is taken."""

    calls: CallerQuotaCalls | None = None
    """How often it may call, in each process; null where nothing bounds it."""
    runs: CallerQuotaRuns | None = None
    """Its runs; null where nothing bounds them."""


class Caller(Wire):
    """Who the caller is, and what it may do."""

    agent_skills: list[str]
    """Which skills of the link graph it may reach."""
    catalogue: Literal["viewer", "editor", "admin"]
    """What it may do to the catalogue."""
    quota: CallerQuota
    """What its tenant may ask, and how much of it is taken."""
    role: Literal["user", "operator", "admin"]
    """The level: `user`, `operator` or `admin`."""
    scopes: list[str]
    """Which parts of the interface its credential opens; `["*"]` is all."""
    tenant: str
    """Whose data it sees."""
    tier: Literal["basic", "advanced"]
    """The tier up to which it is served."""
    user: str
    """Who it is within the tenant."""


class CandidateProof(Wire):
    """The run that a candidate is accepted on."""

    run_id: str


class CatalogueKind(Wire):
    """What there is of one kind."""

    documents: int
    """How many documents a listing of it has."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"]
    """The kind."""
    of_tenant: int
    """How many of them are the tenant's own."""


class Catalogue(Wire):
    """What there is of each kind."""

    kinds: list[CatalogueKind]
    """Every kind, those without a document too."""


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
    pattern: str | None = None
    """
    Regular expression that a string value must match as a whole or in part,
    as `pattern` does in JSON Schema.
    """
    required: bool = False
    """Whether a caller must give it. In a playbook the list it stands in decides."""
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of its value."""


class DecisionTreeNodesBranch(Wire):
    """A branch of a decision."""

    next: str
    """Where to go when it is true."""
    when: str
    """The expression."""


class DecisionTreeNodes(Wire):
    """The first branch whose expression is true is taken, else `otherwise`."""

    branches: list[DecisionTreeNodesBranch]
    """The branches, in the order in which they are tried."""
    id: str
    """Its name within the tree."""
    otherwise: str
    """Where to go when none is true."""
    question: str | None = None
    """What is asked."""
    type: Literal["decision"]


class DecisionTreeNodes1(Wire):
    """A tool is called, then the tree goes on."""

    id: str
    """Its name within the tree."""
    next: str
    """Where to go on success."""
    on_failure: str | None = None
    """Where to go on failure; the tree fails when absent."""
    parameters: dict[str, Any] = {}
    """The tool's arguments."""
    tool: str
    """The tool."""
    type: Literal["action"]


class DecisionTreeNodes2(Wire):
    """The tree ends."""

    details: dict[str, Any] | None = None
    """More about it."""
    id: str
    """Its name within the tree."""
    result: str
    """What was decided."""
    type: Literal["outcome"]


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
    nodes: list[DecisionTreeNodes | DecisionTreeNodes1 | DecisionTreeNodes2]
    """Its nodes."""
    root: str
    """Where it starts."""
    version: str | None = None
    """Its version."""


class DocumentLayerSource(Wire):
    """Where it was written; null for what no package's file holds."""

    file: str
    """The file, relative to the package."""
    line: int
    """The line of the file that the text begins at, from 1."""
    text: str
    """The document's text."""


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
    scope: Literal["tenant", "global"]
    """Whose layer."""
    source: DocumentLayerSource | None = None
    """Where it was written; null for what no package's file holds."""


class Document(Wire):
    """A document as the layers have it."""

    differs: list[str]
    """JSON pointers of the parts in which the two layers differ."""
    id: str
    """Its id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"]
    """Its kind."""
    layers: list[DocumentLayer]
    """What each layer has, the tenant's own first."""


class DocumentDependenciesEdgeFrom(Wire):
    """Which needs the other."""

    id: str
    """The id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"]
    """Which collection."""


class DocumentDependenciesEdgeTo(Wire):
    """Which is needed."""

    id: str
    """The id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"]
    """Which collection."""


class DocumentDependenciesEdge(Wire):
    """One document's reference to another."""

    from_: DocumentDependenciesEdgeFrom = Field(..., alias="from")
    """Which needs the other."""
    pointer: str
    """Where the reference stands in the document that needs the other."""
    to: DocumentDependenciesEdgeTo
    """Which is needed."""


class DocumentDependenciesNodeDocument(Wire):
    """The document; null where there is none."""

    domain: str | None = None
    """Its domain, where it has one."""
    id: str
    """Its id."""
    is_candidate: bool
    """Whether it was generated and nobody has accepted it yet."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"]
    """Its kind."""
    package: str
    """The package that registered it."""
    package_version: str
    """That package's version."""
    status: Literal["active", "inactive"]
    """Whether it is offered."""
    summary: str | None = None
    """What it is for, where it says so; at most 200 characters."""
    tenant: bool
    """Whether it is the tenant's own."""
    title: str | None = None
    """What people call it, where it says so."""


class DocumentDependenciesNode(Wire):
    """A document that another one leads to."""

    distance: int
    """How many references away it is, by the shortest way."""
    document: DocumentDependenciesNodeDocument | None = None
    """The document; null where there is none."""
    id: str
    """Its id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"]
    """Its kind."""
    side: Literal["needs", "needed_by"]
    """Whether the root needs it, or it needs the root."""


class DocumentDependenciesRoot(Wire):
    """The document that was asked for."""

    domain: str | None = None
    """Its domain, where it has one."""
    id: str
    """Its id."""
    is_candidate: bool
    """Whether it was generated and nobody has accepted it yet."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"]
    """Its kind."""
    package: str
    """The package that registered it."""
    package_version: str
    """That package's version."""
    status: Literal["active", "inactive"]
    """Whether it is offered."""
    summary: str | None = None
    """What it is for, where it says so; at most 200 characters."""
    tenant: bool
    """Whether it is the tenant's own."""
    title: str | None = None
    """What people call it, where it says so."""


class DocumentDependencies(Wire):
    """The documents around one."""

    edges: list[DocumentDependenciesEdge]
    """Which of them refers to which; at most 10,000."""
    nodes: list[DocumentDependenciesNode]
    """What it needs, then what needs it, nearest first; at most 1,000."""
    root: DocumentDependenciesRoot
    """The document that was asked for."""
    truncated: bool
    """Whether the rest was left out."""


class DocumentPageEntry(Wire):
    """A document in a listing."""

    domain: str | None = None
    """Its domain, where it has one."""
    id: str
    """Its id."""
    is_candidate: bool
    """Whether it was generated and nobody has accepted it yet."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"]
    """Its kind."""
    package: str
    """The package that registered it."""
    package_version: str
    """That package's version."""
    status: Literal["active", "inactive"]
    """Whether it is offered."""
    summary: str | None = None
    """What it is for, where it says so; at most 200 characters."""
    tenant: bool
    """Whether it is the tenant's own."""
    title: str | None = None
    """What people call it, where it says so."""


class DocumentPage(Wire):
    """One page of documents."""

    entries: list[DocumentPageEntry]
    """By id."""
    next: str | None = None
    """The id after which the next page starts."""


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


class DomainLensClassification(Wire):
    domain: str
    """The domain it belongs to."""


class DomainLensSource(Wire):
    """Where it is fetched from."""

    ref: str
    """The link, or the path inside the package; of a folder every file is taken."""
    type: Literal["url", "file"]
    """A link, or a file or folder of the package."""


class DomainLens(Wire):
    """A domain lens."""

    classification: DomainLensClassification | None = None
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
    """A script of a package version."""

    entry: str
    """Its path among the files."""
    files: str
    """Digest of the files that it may open or import, which the lease gives access to."""
    language: Literal["python", "bash"]
    """The interpreter."""
    type: Literal["script"]


class ExecutorCallImplementation1(Wire):
    """An HTTP exchange with placeholders."""

    body: Any | None = None
    """The body, sent as JSON."""
    headers: dict[str, str] | None = None
    """Headers."""
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
    """The method."""
    query: dict[str, Any] | None = None
    """Query parameters."""
    type: Literal["http"]
    url: str
    """The link."""


class ExecutorCall(Wire):
    """One call of a client tool, leased to one executor."""

    dry_run: bool
    """Whether to say what would be done instead of doing it."""
    egress: list[str] | None = None
    """Host patterns of the tool's own list."""
    environment: list[str] | None = None
    """Names of the variables that the tool asks for; the executor decides which it grants."""
    idempotency_key: str
    """The same for every attempt of one effect."""
    implementation: ExecutorCallImplementation | ExecutorCallImplementation1
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
    """The tool answered."""

    output: Any
    """Its result."""
    status: Literal["succeeded"]


class ExecutorOutcomeResult1(Wire):
    """The tool failed, or could not be run."""

    error_type: Literal["input_error", "execution_error", "resource_error", "permission_error", "timeout_error", "system_error"]
    """The kind of failure."""
    message: str
    """What happened, secrets redacted; at most 8192 bytes."""
    retryable: bool
    """Whether the same call may succeed later."""
    stale: bool | None = None
    """
    Whether what was to be changed is not as the call expected it: an HTTP tool was answered 409 or
    412. False when absent.
    """
    status: Literal["failed"]


class ExecutorOutcome(Wire):
    """What came of a call."""

    duration_ms: int
    """Wall-clock time."""
    log: str = ""
    """The end of the tool's log, secrets redacted; at most 65536 bytes."""
    result: ExecutorOutcomeResult | ExecutorOutcomeResult1
    """How it ended."""


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


class GateQuestion(Wire):
    """A call that is only thought of, or a run."""

    dry_run: bool = False
    parameters: dict[str, Any] = {}
    playbook: str | None = None
    run: str | None = None
    skill: str | None = None
    step: str | None = None
    tool: str | None = None


class GraphEdgeClassification(Wire):
    domain: str | None
    """The domain it belongs to."""


class GraphEdge(Wire):
    """An edge."""

    classification: GraphEdgeClassification | None = None
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


class GraphNodeClassification(Wire):
    domain: str | None
    """The domain it belongs to; every type but `ResourceType` names it."""


class GraphNode(Wire):
    """A node. Which of the optional fields it must have depends on its type."""

    approach: str | None = None
    """Remediation: how it is done."""
    classification: GraphNodeClassification | None = None
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


class GraphQueryGraphQuery(Wire):
    """What is near a node."""

    depth: int | None = None
    """How far; 1 when absent."""
    direction: Literal["out", "in"] | None = None
    """Which way; both when absent."""
    edges: list[Literal["requires", "evidenced_by", "collected_via", "is_a", "remediated_by"]] = (
        []
    )
    """Along which types of edges; all when empty."""
    node: str
    """The node."""
    query: Literal["neighbours"]


class GraphQueryGraphQuery1To(Wire):
    """At any node of a type."""

    type: Literal["Control", "Requirement", "EvidenceType", "ResourceType", "Risk", "Remediation"]


class GraphQueryGraphQuery1To1(Wire):
    """At one node."""

    node: str


class GraphQueryGraphQuery1(Wire):
    """How a node leads to others."""

    depth: int | None = None
    """How long a path may be; as long as allowed when absent."""
    direction: Literal["out", "in"] | None = None
    """Which way every edge is followed; `out` when absent."""
    from_: str = Field(..., alias="from")
    """The node, e.g. a control."""
    limit: int | None = None
    """How many."""
    query: Literal["paths"]
    to: GraphQueryGraphQuery1To | GraphQueryGraphQuery1To1 | None = None
    """Where to; any resource type when absent."""


class GraphQueryGraphQuery2(Wire):
    """Risks that nothing addresses."""

    domain: str | None = None
    """Of this domain; of all when absent."""
    query: Literal["unremediated"]


class GraphQueryGraphQuery3(Wire):
    """Which controls of a framework registered skills and playbooks look after."""

    framework: str
    """The framework, e.g. `SOC2`."""
    query: Literal["coverage"]


class GraphQuery(
    RootModel[
        GraphQueryGraphQuery
        | GraphQueryGraphQuery1
        | GraphQueryGraphQuery2
        | GraphQueryGraphQuery3
    ]
):
    root: GraphQueryGraphQuery | GraphQueryGraphQuery1 | GraphQueryGraphQuery2 | GraphQueryGraphQuery3
    """A question to the graph."""


class GuardrailClassification(Wire):
    domain: str | None
    """The domain it belongs to; absent for a global one."""


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
    classification: GuardrailClassification | None = None
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
    """CEL over the effect (this project). Absent: the guardrail applies to writes."""


class KeyOrder(Wire):
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
    name: str
    """What people call it."""
    role: Literal["user", "operator", "admin"] = "user"
    """The level; `user` when absent."""
    scopes: list[str] | None = None
    """Parts of the interface; those of its maker when absent."""
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


class LeaseRequest(Wire):
    """What an executor says when it asks for a call."""

    executor: str
    """Its name, for messages."""
    wait_ms: int = 0
    """How long it waits when there is no call, in milliseconds; at most 30 s."""


class LensQuestion(Wire):
    """A question to lenses."""

    domain: str | None = None
    lens_ids: list[str] = []
    query: str
    tags: list[str] = []
    top_k: int | None = None


class LensQuestionToOne(Wire):
    """A question to one lens."""

    query: str
    top_k: int | None = None


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


class MemoryNewMemoryMetadata(Wire):
    """Its source, and how much it matters."""

    associated_files: list[str] | None = None
    """Files it belongs with."""
    importance: int | None = None
    """From 1 (low) to 10 (high)."""
    source: str | None = None
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


class MemoryNew(Wire):
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
    source: str | None = None
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


class MissionOrder(Wire):
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


class MissionStop(Wire):
    """Why a mission is stopped."""

    reason: str | None = None


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


class PackageBundle(Wire):
    """The files of a package, by their path relative to its root."""

    files: dict[str, str]
    """Path to content. Paths use `/` and stay inside the package."""


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
    pattern: str | None = None
    """
    Regular expression that a string value must match as a whole or in part,
    as `pattern` does in JSON Schema.
    """
    required: bool = False
    """Whether a caller must give it. In a playbook the list it stands in decides."""
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of its value."""


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


class PlanOrder(Wire):
    """A plan and what it is run with."""

    decision_tree: DecisionTree | None = None
    dry_run: bool = False
    execution_plan: ExecutionPlan | None = None
    fallbacks: list[Any] = []
    parameters: dict[str, Any] = {}
    pipeline: PipelineDefinition | None = None


class PlaybookClassification(Wire):
    domain: str
    """The domain it belongs to."""


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
    pattern: str | None = None
    """
    Regular expression that a string value must match as a whole or in part,
    as `pattern` does in JSON Schema.
    """
    required: bool = False
    """Whether a caller must give it. In a playbook the list it stands in decides."""
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of its value."""


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
    pattern: str | None = None
    """
    Regular expression that a string value must match as a whole or in part,
    as `pattern` does in JSON Schema.
    """
    required: bool = False
    """Whether a caller must give it. In a playbook the list it stands in decides."""
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of its value."""


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
    classification: PlaybookClassification | None = None
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


class PlaybookOrder(Wire):
    """What a playbook is run with."""

    dry_run: bool = False
    parameters: dict[str, Any] = {}


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
    kind: Literal["skill", "playbook", "execution_plan", "pipeline", "decision_tree", "mission", "tool_call"] = (
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


class RunAbort(Wire):
    """Why and how a run is ended."""

    reason: str | None = None
    roll_back: bool = False


class RunConfirmation(Wire):
    """A person's agreement to a plan."""

    digest: str
    typed: str | None = None


class RunParameters(Wire):
    """Values for a run's parameters."""

    parameters: dict[str, Any]


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


class SkillAnalysis(Wire):
    """Exact rules from step outputs to findings (this project)."""

    findings: list[SkillAnalysisFinding]
    """The rules, in order."""
    summary: str | None = None
    """A template of the summary over the findings."""


class SkillClassification(Wire):
    domain: str
    """The domain it belongs to."""


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
    pattern: str | None = None
    """
    Regular expression that a string value must match as a whole or in part,
    as `pattern` does in JSON Schema.
    """
    required: bool = False
    """Whether a caller must give it. In a playbook the list it stands in decides."""
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of its value."""


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
    classification: SkillClassification | None = None
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


class TemplateClassification(Wire):
    domain: str | None
    """The domain it is for; absent for the global default."""


class Template(Wire):
    """A template."""

    agent_id: str | None = None
    """The agent it is for (this project; ruling 7)."""
    classification: TemplateClassification | None = None
    created_at: AwareDatetime | None = None
    """When it was first registered."""
    domain: str | None = None
    """The domain it is for; absent for the global default."""
    output_type: str
    """The kind of output it renders; must match (B000-14)."""
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


class ToolClassification(Wire):
    domain: str
    """The domain it belongs to."""


class ToolEvidence(Wire):
    """How its result becomes evidence (this project)."""

    account_id: str | None = None
    """jq for the account."""
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
    """A script of the tool's language; exactly one of `path` and `body`."""

    body: str | None = None
    """The script itself."""
    path: str | None = None
    """A file of the package, relative to its root."""
    type: Literal["script"]


class ToolImplementation1(Wire):
    """An HTTP call. Strings may hold `${name}` of a parameter."""

    body: Any | None = None
    """The body, sent as JSON."""
    headers: dict[str, str] | None = None
    """Headers."""
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
    """The method."""
    query: dict[str, str] | None = None
    """Query parameters."""
    type: Literal["http"]
    url: str
    """The link, with placeholders."""


class ToolImplementation2(Wire):
    """A part of Charter. Only the tools of the built-in package have it."""

    name: Literal["fs.read", "fs.write", "fs.create", "fs.edit", "fs.move", "fs.copy", "fs.delete", "fs.list", "fs.search", "fs.stat", "fs.make_directory", "env.get", "net.get", "net.request", "web.search", "command.run", "visualise"]
    """Which."""
    type: Literal["builtin"]


class ToolImplementation3(Wire):
    """A stage of a mission. Only the tools of the built-in package have it."""

    stage: Literal["plan", "prompt", "pass", "research", "work", "aggregate", "review", "playbook", "webhook"]
    """Which."""
    type: Literal["stage"]


class ToolImplementation4(Wire):
    """A tool of a registered MCP server. Only imported tools have it."""

    definition: str
    """`sha256:…` of the definition that was imported."""
    server: str
    """The server, as the configuration names it."""
    tool: str
    """The tool, as its server names it."""
    type: Literal["mcp"]


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
    pattern: str | None = None
    """
    Regular expression that a string value must match as a whole or in part,
    as `pattern` does in JSON Schema.
    """
    required: bool = False
    """Whether a caller must give it. In a playbook the list it stands in decides."""
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of its value."""


class ToolRateLimit(Wire):
    """How often it may be called (003 Tool Definition Schema)."""

    burst: int | None = None
    """Calls at once; `requests_per_minute` when absent."""
    requests_per_minute: int
    """Calls per minute in the long run."""


class Tool(Wire):
    """A tool of the catalogue."""

    classification: ToolClassification | None = None
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
    implementation: (
        ToolImplementation
        | ToolImplementation1
        | ToolImplementation2
        | ToolImplementation3
        | ToolImplementation4
        | None
    ) = None
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


class VersionsDiffChange(Wire):
    """One changed document, as it was and as it became."""

    after: dict[str, Any] | None = None
    """The document in the later version; null where there is none."""
    before: dict[str, Any] | None = None
    """The document in the earlier version; null where there is none."""
    difference: Literal["added", "changed", "removed"]
    """What happens to it."""
    fields: list[str]
    """JSON pointers of the parts that differ, for a changed document."""
    id: str
    """The document."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "tag_record", "evidence"]
    """Which collection."""


class VersionsDiff(Wire):
    """What changed from one version to another: one page."""

    changes: list[VersionsDiffChange]
    """The changed documents, by kind and id."""
    from_: str | None = Field(None, alias="from")
    """The earlier version; null where there is none, and everything is new."""
    next: str | None = None
    """Where the next page starts."""
    package: str
    """The package."""
    to: str
    """The later version."""


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
