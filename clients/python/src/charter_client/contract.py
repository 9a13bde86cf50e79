"""The types of the contract, made from schemas/openapi.json by generate.py. Do not edit."""

from __future__ import annotations

from typing import Any, Literal

from charter_client._base import Wire
from pydantic import AwareDatetime, Field, RootModel


class A2aCall(Wire):
    """The schema of a call, for the OpenAPI document."""

    id: str | None = None
    """The id that the answer repeats: a string or an integer."""
    jsonrpc: str
    """`2.0`."""
    method: str
    """`SendMessage`, `GetTask`, …"""
    params: dict[str, Any] | None = None
    """The method's parameters."""


class A2aErrorError(Wire):
    code: int
    """The HTTP status."""
    details: list[dict[str, Any]]
    message: str
    """The failure."""
    status: str
    """Its name in `google.rpc.Code`."""


class A2aError(Wire):
    """A failure in the HTTP+JSON binding of A2A."""

    error: A2aErrorError


class A2aMessageConfiguration(Wire):
    """`SendMessageConfiguration`."""

    accepted_output_modes: list[str] | None = Field(None, alias="acceptedOutputModes")
    history_length: int | None = Field(None, alias="historyLength")
    return_immediately: bool | None = Field(None, alias="returnImmediately")
    task_push_notification_config: Any = Field(None, alias="taskPushNotificationConfig")


class A2aMessageMessage(Wire):
    """`Message`, with the fields that are read from a client's message."""

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
    """`Message`, with the fields that are read from a client's message."""
    tenant: str | None = None


class AccountEventRef(Wire):
    """The data of an event about a connected account."""

    by: str
    """The user who did it."""
    credential: str
    """Name of the credential."""
    user: str
    """The user whose account it is."""


class AgentComposition(Wire):
    """Compatibility with profiles and other agents."""

    compatible_agents: list[str] = []
    """Compatible agents."""
    conflicts_with_agents: list[str] = []
    """Agents that it must not be combined with."""
    usable_in_profiles: list[str] = []
    """Profiles that may use the agent; every profile when empty."""


class AgentPinnedItem(Wire):
    """A document that clients get as a tool of its own: exactly one of `tool`, `skill` and `playbook`."""

    name: str | None = None
    """
    Name of the tool for clients. Without one, a tool of an MCP server has its name on that server, and any other
    document has its id. A glob has none.
    """
    playbook: str | None = None
    """Id of a playbook."""
    skill: str | None = None
    """Id of a skill."""
    tool: str | None = None
    """Id of a tool, or a glob over ids: `mcp.files.*`."""


class Agent(Wire):
    """The manifest of an agent."""

    agent_id: str
    """Id of the agent, e.g. `domain.security.exposure`."""
    agent_type: str
    """Type of the agent: `domain`."""
    capabilities: list[str] = []
    """Capabilities, one line each; embedded."""
    capabilities_embedding: list[float] | None = None
    """Embedding of the capabilities, if the document includes one."""
    composition: AgentComposition = Field(
        {"compatible_agents": [], "conflicts_with_agents": [], "usable_in_profiles": []},
        validate_default=True,
    )
    """Compatibility with profiles and other agents."""
    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    display_name: str
    """Display name."""
    domain: str
    """Domain that the agent belongs to."""
    embedding: list[float] | None = None
    """Embedding of the document, if it includes one."""
    name: str
    """Short name."""
    pinned: list[AgentPinnedItem] | None = None
    """
    Documents that clients of the Model Context Protocol get as tools of their own, in tenants that allow it (this
    project).
    """
    skill_refs: list[str] = []
    """Skills of the agent."""
    status: Literal["active", "inactive"] = "active"
    """Status in the catalogue."""
    supported_context_types: list[str] = []
    """Context types, derived on registration: the union over the agent's skills (B000-8)."""
    tenant_id: str | None = None
    """Tenant of the agent; absent for a global agent."""
    tier_support: list[Literal["basic", "advanced"]] = []
    """Tiers that the agent supports."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""


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
    """A document of the `agent_skills` index."""

    instruction: str = ""
    """Instructions, returned only by a fetch of this skill."""
    is_folder: bool
    """Whether the node lists other skills instead of holding instructions."""
    skill_desc_vector: list[float] | None = None
    """Embedding of the skill. Its length must match the index, which checks it (B001-2)."""
    skill_id: str
    """Id of the skill, unique (B001-1)."""
    sub_skills: list[str] = []
    """Ids of the listed skills."""
    summary: str
    """Short description, shown on discovery."""


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
    """Probability that it is right, 0 to 1."""
    skill_id: str
    """Its id."""
    sub_skills: list[str]
    """The skills that it points at, including missing ones."""
    summary: str
    """Its summary."""


class AgentSkillHits(Wire):
    hits: list[AgentSkillHit]


class AgentSkillInScope(Wire):
    """One skill, with its layer."""

    is_folder: bool
    """Whether it points at other skills."""
    scope: Literal["tenant", "global"] | str
    """`tenant` or `global`."""
    skill_id: str
    """Its id."""
    sub_skills: list[str]
    """The skills that it points at, including missing ones."""
    summary: str
    """Its summary."""


class AgentSkillInstruction(Wire):
    """The instruction of one skill."""

    instruction: str
    """The instruction."""
    skill_id: str
    """The skill's id."""


class AgentSkillScript(Wire):
    """A script of a skill that is not a tool."""

    path: str
    """Its path, relative to the skill."""
    reason: str
    """The reason, with the correction."""
    skill_id: str
    """The skill."""


class AgentSkillSummary(Wire):
    """A skill as discovery and navigation show it: never its instruction or vector (B001-3)."""

    is_folder: bool
    """Whether it points at other skills."""
    skill_id: str
    """Its id."""
    sub_skills: list[str]
    """The skills that it points at, including missing ones."""
    summary: str
    """Its summary."""


class AgentSkillTool(Wire):
    """A tool that runs a script of a skill."""

    path: str
    """Path of the script, relative to the skill."""
    skill_id: str
    """The skill."""
    tool_class: Literal["readonly", "write", "internal"] | str
    """Whether it only reads."""
    tool_id: str
    """Its id."""


class AggregationPacketContradictions(Wire):
    """The two accepted forms of a remark."""

    description: str
    refs: list[str] = []


class AggregationPacketCoverageGaps(Wire):
    """The two accepted forms of a remark."""

    description: str
    refs: list[str] = []


class AggregationPacketEvidenceMatrixItem(Wire):
    """A claim with its support."""

    claim: str
    """Text of the claim."""
    support_refs: list[str]
    """References to supporting results, entities or evidence."""


class AggregationPacket(Wire):
    """The combined results of the workers."""

    actor_id: str | None = None
    """Actor of the mission; set on storage."""
    contradictions: list[str | AggregationPacketContradictions] = Field(
        [], validate_default=True
    )
    """Contradictions between sources."""
    coverage_gaps: list[str | AggregationPacketCoverageGaps] = Field(
        [], validate_default=True
    )
    """Gaps in the coverage."""
    created_at: AwareDatetime
    """Creation time."""
    evidence_matrix: list[AggregationPacketEvidenceMatrixItem] = Field(
        [], validate_default=True
    )
    """Claims, each with its support (B002-10)."""
    mission_id: str
    """Id of the mission."""
    packet_id: str
    """Id of the packet."""
    producer: str
    """Producer of the artifact."""
    recommended_output: dict[str, Any] | None = None
    """Recommended output."""
    schema_name: Literal["aggregation_packet"]
    """Always `aggregation_packet`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    summary: str
    """Summary of the draft."""
    tenant_id: str | None = None
    """Tenant of the mission; set on storage."""


class ApprovalChoice(Wire):
    """An approval: the digest of the call or list that the person saw, the reason, and the chosen calls of a list."""

    count: int | None = None
    """The number of calls that remain, as the person typed it; required for a destructive list."""
    digest: str
    exclude: list[str] = []
    """The steps of a list whose calls are excluded."""
    reason: str | None = None


class ApprovalDecision(Wire):
    """A decision: the digest of the call that the person saw, and the reason."""

    digest: str
    reason: str | None = None


class ApprovalDecisionRecord(Wire):
    """The decision's author, time and reason."""

    at: AwareDatetime
    """The time of the decision."""
    by: str
    """The user that decided."""
    makers: list[str] | None = None
    """The makers of the API key that was used to decide."""
    reason: str | None = None
    """The reason, in the user's words."""


class ApprovalEventRef(Wire):
    """The data of an event about an approval."""

    approval_id: str
    """The approval."""
    run_id: str
    """The run that waits for it."""


class ApprovalReport(Wire):
    """A report on an interrupted call: its digest as the person saw it, and its output."""

    digest: str
    output: Any = None
    """The output; `null` or absent if unknown."""
    reason: str | None = None


class AssignmentRelease(Wire):
    """The lease that is given up."""

    lease_id: str
    """The lease."""


class AssignmentSubmissionCall(Wire):
    """A call that an agent needs."""

    parameters: dict[str, Any] = {}
    """Its parameters."""
    tool: str
    """The tool."""


class AssignmentSubmission(Wire):
    """The result of one turn: artifacts, or calls that the agent needs first."""

    artifacts: list[dict[str, Any]] = []
    """
    The artifacts of the role, in the form of their contracts. Absent root metadata is filled in; the producer is
    the user of the credential.
    """
    calls: list[AssignmentSubmissionCall] | None = None
    """
    Calls of tools within the task's scope. Charter makes them under the pass, and offers the next turn with their
    outcomes.
    """
    lease_id: str
    """The lease."""


class AssumedFacts(Wire):
    """Facts that only a run has, as assumed for the explanation."""

    approvals: int
    """Number of approvals in the run."""
    approvers: list[str]
    """Users who approved exactly this call."""
    calls: dict[str, int]
    """Number of calls that the run began."""
    interrupted: bool
    """Whether an earlier attempt of the step was interrupted."""


class AwaitedRun(Wire):
    """Another run that a run waits for, because it requested approval of the same call first."""

    reason: str
    """The reason, as a sentence."""
    run_id: str
    """The other run."""


class BudgetUsage(Wire):
    """A budget and its usage."""

    budget: int | None
    """The limit; absent if there is none."""
    used: int | None
    """The usage; absent if it was not reported."""


class CallPreview(Wire):
    """The preview of one call of a list."""

    after: Any | None = None
    """The state after the write; absent if unknown."""
    before: Any | None = None
    """The present state of the target; absent if unknown."""
    note: str | None = None
    """Why a state is unknown, or which calls of a list are left out."""
    run_ids: list[str] | None = None
    """The runs that made the preview."""
    step: str
    """The step of the call."""


class CandidatePromotion(Wire):
    """The run on which a candidate is accepted."""

    run_id: str


class CatalogueEventRef(Wire):
    """The data of an event about the catalogue."""

    change: Literal["registered", "rolled_back", "unregistered"] | str
    """The change."""
    package: str
    """The package."""
    revision: int
    """The catalogue's revision now."""
    scope: Literal["global", "tenant"] | str
    """`global` for the layer under every tenant, `tenant` for the caller's own layer."""
    version: str
    """Its version."""


class CatalogueKind(Wire):
    """The number of documents of one kind."""

    documents: int
    """Number of documents in a listing of it."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "schedule", "tag_record", "evidence"] | str
    """The kind."""
    tenant_documents: int
    """Number of them that are the tenant's own."""


class Channel(Wire):
    """A channel of a tenant."""

    channel: str
    """Its name in the configuration."""
    deciders: int
    """The number of people who may decide with buttons."""
    kind: Literal["slack", "email", "webhook"] | str
    """Its kind."""
    topics: list[Literal["approval.requested", "approval.expiring", "approval.escalated", "confirmation.requested", "run.failed", "run.completed", "finding.new", "finding.resolved", "mission.awaiting_approval"] | str]
    """The topics that rules send to it."""


class ChannelList(RootModel[list[Channel]]):
    root: list[Channel]


class ChannelTest(Wire):
    """The result of a test message."""

    accepted: bool
    """Whether the channel accepted it."""
    channel: str
    """The channel."""
    failure: str | None = None
    """Why it did not."""
    message_id: str
    """The id of the message."""


class ConnectedAccount(Wire):
    """A user's connected account, without its tokens."""

    changed_at: AwareDatetime
    """When its tokens last changed."""
    connected_at: AwareDatetime
    """When the user connected it."""
    user: str
    """The user."""


class ConnectionCode(Wire):
    """The parameters with which an authorization server sends a browser back."""

    code: str
    """The code."""
    iss: str | None = None
    """The issuer of the response (RFC 9207), if the server names it."""
    state: str
    """The state of the started request."""


class ConnectionRequest(Wire):
    """A request to connect an account."""

    redirect_uri: str | None = None
    """
    Where the authorization server sends the browser back: an address of this machine, such as
    `http://127.0.0.1:8123/`; the page of the console when absent.
    """


class ConnectionStart(Wire):
    """A started connection of an account."""

    authorization_url: str
    """The page of the authorization server on which the user grants access."""
    expires_at: AwareDatetime
    """Until when the connection can be completed."""
    redirect_uri: str
    """Where it sends the browser back."""


class ConsoleSession(Wire):
    """A console session, as its own console sees it."""

    ends_at: AwareDatetime
    """When the session ends unless it is used before."""
    expires_at: AwareDatetime
    """When the session ends in any case."""
    issuer: str
    """The issuer of the identity provider."""
    page_token: str
    """The token that every change must send in the header `X-Charter-Session`."""
    signed_in_at: AwareDatetime
    """When the user signed in."""
    tenant: str
    """The tenant."""
    user: str
    """The user who signed in."""


class ContextModelItem(Wire):
    """One item of a context."""

    content: str
    """Content of the item."""
    id: str
    """Name of the item, unique within the context."""
    kind: Literal["instruction", "message", "memory", "file", "tool_result", "document"]
    """Kind of the item."""
    relevance: float | None = None
    """Relevance to the request."""
    source: str
    """Source of the item: an id, a path or a link."""
    tokens: int | None = None
    """Size in tokens."""


class ContextModel(Wire):
    """Context that a model receives in addition to its prompt."""

    created_at: AwareDatetime
    """Creation time."""
    id: str
    """Id of the context."""
    items: list[ContextModelItem] = Field([], validate_default=True)
    """Items, most important first."""
    metadata: dict[str, Any] | None = None
    """Additional free-form data."""
    request_id: str
    """Request that the context serves."""
    session_id: str | None = None
    """Session that the context draws on."""
    token_budget: int | None = None
    """Maximum size in tokens."""


class CoverageGap(Wire):
    """A gap in the coverage of a mission."""

    description: str
    """The part that is not covered."""
    refs: list[str]
    """The tasks, sources or requested outputs that it is about."""


class CoveringAction(Wire):
    """A skill or playbook with its tools for a resource type."""

    id: str
    """Its id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "schedule", "tag_record", "evidence"] | str
    """`skill` or `playbook`."""
    tools: list[str]
    """Its tools for the resource type."""


class DecisionTreeInput(Wire):
    """
    A parameter of a tool, skill or playbook (000 §2.4).

    `default`, `enum` and `pattern` are this project's additions to tools; the seed itself has `default` in playbooks.
    """

    default: Any | None = None
    """Default value. `null` counts as no default."""
    description: str = ""
    """Its description."""
    enum: list[Any] | None = None
    """Allowed values."""
    example: Any | None = None
    """Example of an accepted value."""
    name: str
    """Name of the parameter, unique within its list."""
    other_types: list[Literal["string", "number", "integer", "boolean", "array", "object"]] | None = (
        None
    )
    """Further types that the value may have (this project)."""
    pattern: str | None = None
    """Regular expression that a string value must match anywhere, like `pattern` in JSON Schema."""
    required: bool = False
    """Whether a caller must supply the parameter. In a playbook, the containing list decides."""
    schema_: dict[str, Any] | None = Field(None, alias="schema")
    """
    JSON Schema of the value, with rules that the other fields cannot express (this project). Both apply. A property
    of a tool's `input_schema` has its part of that schema here.
    """
    synonyms: dict[str, list[str]] | None = None
    """
    Synonyms for allowed values, by value; for a boolean, by `true` and `false`. Requests in natural language may
    use them, callers may not (this project).
    """
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of the value."""
    wire_name: str | None = None
    """
    Name on the server of an imported tool, if that is not a valid parameter name here: `$filter` (this project).
    Callers may use either name.
    """


class DecisionTreeNodeBranch(Wire):
    """A branch of a decision."""

    next: str
    """Next node when the expression is true."""
    when: str
    """CEL expression."""


class DecisionTreeNode(Wire):
    """One node of a decision tree."""

    branches: list[DecisionTreeNodeBranch] | None = None
    """Branches, in evaluation order."""
    details: dict[str, Any] | None = None
    """Additional details."""
    id: str
    """Id of the node, unique within the tree."""
    next: str | None = None
    """Next node on success."""
    on_failure: str | None = None
    """Next node on failure; when absent, a failure fails the tree."""
    otherwise: str | None = None
    """Next node when no branch matches."""
    parameters: dict[str, Any] = {}
    """Arguments of the tool."""
    question: str | None = None
    """Question that the node decides."""
    result: str | None = None
    """Result of the decision."""
    tool: str | None = None
    """Tool to call."""
    type: Literal["action", "decision", "outcome"] | str


class DecisionTree(Wire):
    """A decision tree."""

    created_at: AwareDatetime | None = None
    """Creation time."""
    description: str = ""
    """Description of what the tree decides."""
    id: str
    """Id of the tree."""
    inputs: list[DecisionTreeInput] | None = None
    """Input parameters."""
    metadata: dict[str, Any] | None = None
    """Additional free-form data."""
    name: str
    """Name of the tree."""
    nodes: list[DecisionTreeNode]
    """Nodes of the tree; at least one."""
    root: str
    """Id of the node where execution starts."""
    version: str | None = None
    """Version of the tree."""


class DocumentChange(Wire):
    """One changed document."""

    difference: Literal["added", "changed", "removed"]
    """The kind of change."""
    fields: list[str]
    """JSON pointers of the parts that differ, for a changed document."""
    id: str
    """The document."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "schedule", "tag_record", "evidence"] | str
    """The document's kind."""


class DocumentPin(Wire):
    """
    A version of a document that a run executes: the one in force when the run started, regardless of later
    registrations.
    """

    content_hash: str
    """`sha256:…` of its content."""
    id: str
    """The document."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "schedule", "tag_record", "evidence"] | str
    """The kind of the document."""
    package: str
    """Its package."""
    tenant: str | None = None
    """The tenant whose layer has it; absent for the global layer."""
    version: str
    """Its package's version."""


class DocumentRef(Wire):
    """The kind and id of a document."""

    id: str
    """The id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "schedule", "tag_record", "evidence"] | str
    """The kind."""


class DocumentSource(Wire):
    """A document as its author wrote it."""

    file: str
    """The file, relative to the package."""
    line: int
    """The first line of the text in the file, from 1."""
    text: str
    """The document's text."""


class DocumentSummary(Wire):
    """A document in a listing."""

    domain: str | None
    """Its domain, if it has one."""
    id: str
    """Its id."""
    is_candidate: bool
    """Whether it was generated and is not accepted yet."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "schedule", "tag_record", "evidence"] | str
    """Its kind."""
    package: str
    """The package that registered it."""
    package_version: str
    """That package's version."""
    status: Literal["active", "inactive"] | str
    """Whether it is offered."""
    summary: str | None
    """Its purpose, if it has one; at most 200 characters."""
    tenant: bool
    """Whether it is the tenant's own."""
    title: str | None
    """Its readable title, if it has one."""


class DocumentVersionChange(Wire):
    """One changed document, before and after."""

    after: dict[str, Any] | None
    """The document in the later version; null if absent there."""
    before: dict[str, Any] | None
    """The document in the earlier version; null if absent there."""
    difference: Literal["added", "changed", "removed"]
    """The kind of change."""
    fields: list[str]
    """JSON pointers of the parts that differ, for a changed document."""
    id: str
    """The document."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "schedule", "tag_record", "evidence"] | str
    """The document's kind."""


class Domain(Wire):
    """A domain."""

    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    description: str = ""
    """Scope of the domain."""
    display_name: str
    """Display name."""
    domain_id: str
    """Id of the domain."""
    domain_type: Literal["platform", "domain"]
    """Type of the domain: the platform itself, or a field of work."""
    status: Literal["active", "inactive"] = "active"
    """Status; documents may be registered only in an active domain."""
    tenant_id: str | None = None
    """Tenant of the domain; absent for a global domain."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""


class DomainLensSource(Wire):
    """Source of the text."""

    ref: str
    """The URL, or the path inside the package; all files of a folder are included."""
    type: Literal["url", "file"]
    """Type of the source: a URL, or a file or folder of the package."""


class DomainLens(Wire):
    """A domain lens."""

    content_hash: str | None = None
    """
    Hash of the last fetched text, e.g. `sha256:…`. It is kept with the index and shown instead of the authored
    value.
    """
    content_type: Literal["framework", "cloud_service", "policy", "reference"]
    """Kind of knowledge."""
    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    description: str
    """Description of the content."""
    domain: str
    """Domain of the lens."""
    lens_id: str
    """Id of the lens."""
    source: DomainLensSource
    """Source of the text."""
    status: Literal["active", "inactive"] = "active"
    """Status in the catalogue (this project, for lenses)."""
    tags: list[str] = []
    """Tags for searching."""
    tenant_id: str | None = None
    """Tenant of the lens; absent for a global lens."""
    tier: Literal["basic", "advanced"] = "advanced"
    """Lowest tier that may use the lens; lenses are refused on the basic tier (B000-16)."""
    title: str
    """Title."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""


class EnvironmentAccess(Wire):
    """One access to the environment."""

    id: str
    """Id of the access."""
    metadata: dict[str, Any] | None = None
    """Additional free-form data."""
    names: list[str] = []
    """Names of the variables; empty for `list`."""
    operation: Literal["get", "list", "set", "unset"]
    """Operation to perform."""
    reason: str | None = None
    """Reason for the access."""
    request_id: str | None = None
    """Request that the access serves."""
    timestamp: AwareDatetime
    """Time of the access."""
    value: str | None = None
    """Value for `set`."""


class EscalationStep(Wire):
    """A group of approvers, from the time at which it may decide."""

    from_: AwareDatetime = Field(..., alias="from")
    """When its turn begins."""
    group: str
    """The group's name."""
    users: list[str]
    """Its members."""


class Event(Wire):
    """An event."""

    at: AwareDatetime
    """When it happened."""
    data: Any
    """The object of the event."""
    id: int
    """Increases with every event; the reader's cursor."""
    topic: str
    """The kind of event, e.g. `approval.requested`."""


class EventPage(Wire):
    """One page of events."""

    entries: list[Event]
    """Oldest first."""
    next: int
    """Cursor: the last event's id, or the requested one if there is nothing new."""


class EvidenceAttachedToItem(Wire):
    """A claim that evidence supports: exactly one of the known keys (B000-19)."""

    bundle_id: str | None = None
    """Id of a bundle."""
    finding_id: str | None = None
    """Id of a finding."""
    plan_id: str | None = None
    """Id of a plan."""
    report_item_id: str | None = None
    """Id of a report item."""
    run_id: str | None = None
    """Id of a run."""


class EvidenceConsoleLink(Wire):
    """A link for manual verification of evidence."""

    href: str
    """URL of the page; always https (B000-19)."""
    label: str
    """Label of the link."""


class EvidencePayloadAbsent(Wire):
    """
    Reason for a missing payload; absent while the payload is present. Only the store and the reader's permissions
    set it, never the capturing code.
    """

    note: str
    """Explanation in one sentence: `payload removed on 2026-05-13T09:14:22Z`."""
    reason: Literal["removed", "withheld"]
    """Whether the payload was removed permanently or withheld from this reader."""


class EvidenceReceipt(Wire):
    """Receipt of a submitted record; absent for a record that Charter captured. Only the server sets it."""

    received_at: AwareDatetime
    """Time of receipt."""
    submitted_by: str
    """User whose credential submitted the record."""


class EvidenceSource(Wire):
    """Its source."""

    account_id: str | None = None
    """Account, subscription or project of the resource."""
    api_call: str | None = None
    """API call that fetched the evidence."""
    native_id: str
    """Id of the evidence in the system."""
    region: str | None = None
    """Region of the resource."""
    system: str
    """System: `aws.cloudtrail`."""
    tenant_id: str | None = None
    """Tenant of the cloud directory (ruling 17); not Charter's tenant."""


class Evidence(Wire):
    """One evidence record."""

    attached_to: list[EvidenceAttachedToItem] = Field([], validate_default=True)
    """Claims that the record supports. Later attachments are separate link records (ruling 17)."""
    captured_at: AwareDatetime
    """Capture time."""
    console_links: list[EvidenceConsoleLink]
    """Links for manual verification; at least one."""
    created_at: AwareDatetime | None = None
    """Storage time."""
    estate_view_id: str | None = None
    """View of the estate under which it was captured."""
    id: str
    """Id of the record."""
    payload: dict[str, Any]
    """Captured data as returned by the source; empty when `payload_absent` is present."""
    payload_absent: EvidencePayloadAbsent | None = None
    """
    Reason for a missing payload; absent while the payload is present. Only the store and the reader's permissions
    set it, never the capturing code.
    """
    receipt: EvidenceReceipt | None = None
    """Receipt of a submitted record; absent for a record that Charter captured. Only the server sets it."""
    redaction_class: str | None = None
    """
    Redaction class, which decides the readers of the payload: `standard`, `restricted` or `secret`; an unknown
    class counts as the strictest.
    """
    schema_version: Literal[1]
    """Version of this form; always 1 so far."""
    source: EvidenceSource
    """Its source."""
    summary: str
    """A summary in a sentence."""
    tenant_id: str
    """Tenant that owns the record."""
    type: Literal["cloudtrail_event", "azure_activity_log", "config_snapshot", "iam_policy", "billing_line", "metric_point", "log_line", "deployment_record", "pr_record", "commit_record", "approval_record", "api_call", "manual_note"]
    """The kind of proof."""


class EvidenceAttachment(Wire):
    """A claim that evidence supports: exactly one of the known keys (B000-19)."""

    bundle_id: str | None = None
    """Id of a bundle."""
    finding_id: str | None = None
    """Id of a finding."""
    plan_id: str | None = None
    """Id of a plan."""
    report_item_id: str | None = None
    """Id of a report item."""
    run_id: str | None = None
    """Id of a run."""


class EvidenceHeader(Wire):
    """The first line."""

    checkpoint: str
    """The signed head that every proof refers to."""
    coverage: Literal["complete", "selection"]
    """Whether every leaf of the checkpoint follows."""
    format: str
    """[`FORMAT`]."""
    key: str
    """The public key in C2SP form: `name+id+key`."""
    tenant_id: str
    """The tenant that owns the evidence."""


class EvidenceLogCheckpoint(Wire):
    """A signed head."""

    checkpoint: str
    """The signed note."""
    origin: str
    """The log's name."""
    root: str
    """Hash of the tree."""
    size: int
    """Number of leaves."""


class EvidenceLogHead(Wire):
    """A head, with its issued note, if there is one."""

    checkpoint: str | None = None
    """The signed note."""
    root: str
    """Hash of the tree."""
    size: int
    """Number of leaves."""


class EvidenceLogKey(Wire):
    """The public key of a tenant's log."""

    algorithm: str
    """`ed25519`."""
    id: str
    """Its id, in hexadecimal."""
    key: str
    """In the format of C2SP `signed-note`: `name+id+key`."""
    name: str
    """The log's name, which is also the key's."""


class EvidenceReceiptModel(Wire):
    """Receipt of a record that a caller submitted (this project)."""

    received_at: AwareDatetime
    """Time of receipt."""
    submitted_by: str
    """User whose credential submitted the record."""


class EvidenceSourceModel(Wire):
    """Source of evidence."""

    account_id: str | None = None
    """Account, subscription or project of the resource."""
    api_call: str | None = None
    """API call that fetched the evidence."""
    native_id: str
    """Id of the evidence in the system."""
    region: str | None = None
    """Region of the resource."""
    system: str
    """System: `aws.cloudtrail`."""
    tenant_id: str | None = None
    """Tenant of the cloud directory (ruling 17); not Charter's tenant."""


class EvidenceSubmissionAttachedToItem(Wire):
    """A claim that evidence supports: exactly one of the known keys (B000-19)."""

    bundle_id: str | None = None
    """Id of a bundle."""
    finding_id: str | None = None
    """Id of a finding."""
    plan_id: str | None = None
    """Id of a plan."""
    report_item_id: str | None = None
    """Id of a report item."""
    run_id: str | None = None
    """Id of a run."""


class EvidenceSubmissionConsoleLink(Wire):
    """A link for manual verification of evidence."""

    href: str
    """URL of the page; always https (B000-19)."""
    label: str
    """Label of the link."""


class EvidenceSubmissionSource(Wire):
    """Its source; only a `manual_note` can do without one."""

    account_id: str | None = None
    """Account, subscription or project of the resource."""
    api_call: str | None = None
    """API call that fetched the evidence."""
    native_id: str
    """Id of the evidence in the system."""
    region: str | None = None
    """Region of the resource."""
    system: str
    """System: `aws.cloudtrail`."""
    tenant_id: str | None = None
    """Tenant of the cloud directory (ruling 17); not Charter's tenant."""


class EvidenceSubmission(Wire):
    """
    A record as a caller submits it. The seed's whole record is accepted; of the fields that the server sets, only the
    id is used.
    """

    field_created_at: AwareDatetime | None = Field(None, alias="_created_at")
    """The seed's name of `created_at`; not used."""
    field_id: str | None = Field(None, alias="_id")
    """The seed's name of `id`."""
    attached_to: list[EvidenceSubmissionAttachedToItem] | None = None
    """Claims that the record supports."""
    captured_at: AwareDatetime
    """Capture time, not in the future."""
    console_links: list[EvidenceSubmissionConsoleLink] | None = None
    """Not used: the server makes the links from type and source."""
    created_at: AwareDatetime | None = None
    """Not used: the record has the time of its receipt."""
    estate_view_id: str | None = None
    """View of the estate under which it was captured."""
    id: str | None = None
    """Id of the record; the server makes one if it is absent. An id can be used once."""
    payload: dict[str, Any] | None = None
    """Captured data; only a `manual_note` can do without them."""
    redaction_class: str | None = None
    """Redaction class, which decides the readers of the payload."""
    schema_version: Literal[1] = 1
    """Version of this form; always 1 so far."""
    source: EvidenceSubmissionSource | None = None
    """Its source; only a `manual_note` can do without one."""
    summary: str
    """A summary in a sentence."""
    tenant_id: str | None = None
    """Tenant of the submitter; the credential determines it, and another one is refused."""
    type: Literal["cloudtrail_event", "azure_activity_log", "config_snapshot", "iam_policy", "billing_line", "metric_point", "log_line", "deployment_record", "pr_record", "commit_record", "approval_record", "api_call", "manual_note"]
    """The kind of proof."""


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
    """Implementation to run."""

    body: Any | None = None
    """Request body."""
    body_format: Literal["form", "json", "multipart", "text"] | str | None = None
    entry: str | None = None
    """Path of the script among the files."""
    files: str | None = None
    """Digest of the files that the script may open or import; the lease gives access to them."""
    headers: dict[str, str] | None = None
    """HTTP headers."""
    language: Literal["bash", "python"] | str | None = None
    list_separators: dict[str, str] | None = None
    """Separators of lists in query parameters, by name."""
    method: Literal["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"] | str | None = None
    query: dict[str, Any] | None = None
    """Query parameters."""
    type: Literal["handler", "http", "script"] | str
    url: str | None = None
    """URL."""


class ExecutorCall(Wire):
    """One call of a client tool, leased to one executor."""

    dry_run: bool
    """Whether to report the intended effect without executing it (dry run)."""
    egress: list[str] | None = None
    """Host patterns on the tool's egress list."""
    environment: list[str] | None = None
    """Names of the environment variables that the tool needs; the executor decides which it grants."""
    grants: Literal["asked", "own"] | None = None
    """Source of the call's grants; `asked` when absent."""
    idempotency_key: str
    """Idempotency key; the same for every attempt of one effect."""
    implementation: ExecutorCallImplementation
    """Implementation to run."""
    lease_id: str
    """Id of the executor's lease on the call. Each offer of the call has a new one."""
    lease_ms: int
    """Length of the lease after this response and after each renewal, in milliseconds."""
    output_bytes: int
    """Maximum size of the output, in bytes of JSON."""
    parameters: dict[str, Any]
    """Arguments: resolved, checked, with defaults filled in."""
    timeout_ms: int
    """Remaining time of the call, in milliseconds. It is a duration because clocks differ."""
    tool_id: str
    """Id of the tool, for logs and messages."""


class ExecutorOutcomeResult(Wire):
    """Result of the call."""

    answered: bool | None = None
    """Whether the tool responded with an unusable result, so that it may have had its effect. False when absent."""
    error_type: Literal["execution_error", "input_error", "permission_error", "resource_error", "system_error", "timeout_error"] | str | None = (
        None
    )
    message: str | None = None
    """Failure message, secrets redacted; at most 8192 bytes."""
    output: Any | None = None
    """Output of the tool."""
    retryable: bool | None = None
    """Whether the same call may succeed later."""
    stale: bool | None = None
    """
    Whether the target differs from the state that the call expected: an HTTP tool received 409 or 412. False
    when absent.
    """
    status: Literal["failed", "succeeded"] | str


class ExecutorOutcome(Wire):
    """The outcome of a call."""

    duration_ms: int
    """Wall-clock duration, in milliseconds."""
    log: str = ""
    """End of the tool's log, secrets redacted; at most 65536 bytes."""
    result: ExecutorOutcomeResult
    """Result of the call."""


class FieldChange(Wire):
    """One difference of two values."""

    left: Any | None = None
    """The left value; absent if there is none."""
    pointer: str
    """The location, as a JSON pointer."""
    right: Any | None = None
    """The right value; absent if there is none."""


class FileSystemOperationEdit(Wire):
    """Replacement of a range of lines. It inserts when `end_line` is `start_line` minus one."""

    end_line: int
    """Last replaced line."""
    expected: str | None = None
    """Required current text of the replaced lines; on a mismatch nothing is done."""
    replacement: str
    """New text."""
    start_line: int
    """First replaced line."""


class FileSystemOperationRange(Wire):
    """Lines to read; for `read`. The whole file when absent."""

    end_line: int
    """Last line."""
    start_line: int
    """First line."""


class FileSystemOperation(Wire):
    """One operation on files."""

    content: str | None = None
    """Content; for `write` and `create`."""
    create_parents: bool = False
    """Whether to create missing parent directories; for `write`, `create`, `move`, `copy` and `make_directory`."""
    destination: str | None = None
    """Destination path; for `move` and `copy`."""
    edits: list[FileSystemOperationEdit] | None = None
    """
    Replacements; for `edit`, in ascending order and without overlap. Line numbers refer to the file before the
    edit.
    """
    encoding: Literal["utf-8", "base64"] | None = None
    """Encoding of the content; `utf-8` when absent."""
    expected_hash: str | None = None
    """Required hash of the file; on a mismatch nothing is done."""
    id: str
    """Id of the operation."""
    include: list[str] | None = None
    """Globs over file paths relative to `path`; for `search`. All files when empty."""
    max_results: int | None = None
    """Maximum number of results; for `list` and `search`."""
    metadata: dict[str, Any] | None = None
    """Additional free-form data."""
    operation: Literal["read", "write", "create", "edit", "move", "copy", "delete", "list", "search", "stat", "make_directory"]
    """Kind of operation."""
    overwrite: bool = False
    """Whether to overwrite an existing target; for `move`, `copy` and `create`."""
    path: str
    """Path of the file or directory, relative to the root; `.` is the root itself."""
    pattern: str | None = None
    """Pattern that lines must match for `search`; glob over names for `list`."""
    pattern_type: Literal["regex", "literal"] | None = None
    """Interpretation of the pattern of `search`; a regular expression when absent."""
    range: FileSystemOperationRange | None = None
    """Lines to read; for `read`. The whole file when absent."""
    recursive: bool = False
    """Whether to include subdirectories; for `list`, `search`, `copy` and `delete`."""
    request_id: str | None = None
    """Request that the operation serves."""
    root: str | None = None
    """Name of the root that paths are relative to. It may be absent if there is only one root."""
    timestamp: AwareDatetime
    """Time of the request for the operation."""


class FindingExpert(Wire):
    """Related nodes of the expert graph, on the advanced tier (000 §2.12)."""

    controls: list[str] = []
    """Controls whose evidence is collected from the finding's resource type."""
    remediations: list[str] = []
    """Remediations of these risks."""
    risks: list[str] = []
    """Risk that the rule detects, followed by its categories."""


class Finding(Wire):
    """One finding."""

    evidence_ids: list[str] = []
    """Ids of the supporting evidence records."""
    expert: FindingExpert | None = None
    """Related nodes of the expert graph, on the advanced tier (000 §2.12)."""
    fields: dict[str, Any] = {}
    """Fields returned by the rule, for the template."""
    finding_id: str
    """Id of the finding."""
    rendered: Any | None = None
    """Rendered template; absent until it is rendered."""
    resource_id: str
    """Id of the resource in its own system."""
    resource_type: str
    """Type of the resource: `security_group`."""
    rule_id: str
    """Rule that produced the finding."""
    severity: Literal["critical", "high", "medium", "low", "info"]
    """Severity of the finding."""
    skill_id: str
    """Skill that contains the rule."""


class FindingCount(Wire):
    """The number of an answer's findings of one severity."""

    findings: int
    """The number of findings."""
    severity: Literal["critical", "high", "medium", "low", "info"] | str
    """The severity."""


class FindingEventRef(Wire):
    """The data of an event about findings of a schedule that changed since the previous occurrence."""

    count: int
    """Their number."""
    domain: str | None
    """The domain of the schedule."""
    occurrence: str
    """The occurrence, whose report has the findings."""
    schedule_id: str
    """The schedule."""
    severity: Literal["critical", "high", "medium", "low", "info"] | str
    """The highest severity among them."""


class GateExplainRequest(Wire):
    """A hypothetical call, or a run."""

    dry_run: bool = False
    parameters: dict[str, Any] = {}
    persona: str | None = None
    playbook: str | None = None
    run: str | None = None
    skill: str | None = None
    step: str | None = None
    tool: str | None = None


class GatewayResult(Wire):
    """The reading of the `gateway` route's model."""

    failure: str | None = None
    """Why only the rules decided."""
    intent: Literal["read", "change", "knowledge", "none"] | str | None = None
    """Its chosen intent."""
    model: str | None = None
    """`provider/model`; absent if its answer was unusable."""
    order: list[str] | None = None
    """Ids of candidates, in its order."""
    tokens: int
    """Tokens that were read and written."""
    translation: str | None = None
    """The request in English, if it was in another language."""


class GraphEdge(Wire):
    """An edge of the expert graph."""

    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    domain: str | None = None
    """Domain of the edge."""
    from_: str = Field(..., alias="from")
    """Id of the source node."""
    status: Literal["active", "inactive"] = "active"
    """Whether the edge is in force (this project, for edges)."""
    tenant_id: str | None = None
    """Tenant of the edge; absent for a global edge."""
    to: str
    """Id of the target node."""
    type: Literal["requires", "evidenced_by", "collected_via", "is_a", "remediated_by"]
    """Type of the edge."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""


class GraphNode(Wire):
    """A node of the expert graph. Its type decides which optional fields are required."""

    approach: str | None = None
    """Remediation: approach."""
    collection_method: str | None = None
    """EvidenceType: collection method."""
    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    description: str | None = None
    """Requirement: text of the requirement."""
    domain: str | None = None
    """Domain of the node; required for every type except `ResourceType`."""
    framework: str | None = None
    """Control: compliance framework, e.g. `SOC2`."""
    id: str
    """Id of the node, matched exactly (ruling 16): `soc2.cc6.1`."""
    provider: str | None = None
    """ResourceType: cloud provider."""
    service: str | None = None
    """ResourceType: service."""
    severity: Literal["critical", "high", "medium", "low", "info"] | None = None
    """Risk: severity."""
    status: Literal["active", "inactive"] = "active"
    """Whether the node is in force (this project, for nodes)."""
    tenant_id: str | None = None
    """Tenant of the node; absent for a global node."""
    title: str | None = None
    """Control: title."""
    type: Literal["Control", "Requirement", "EvidenceType", "ResourceType", "Risk", "Remediation"]
    """Type of the node."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""


class GraphPath(Wire):
    """A simple path: no node occurs twice."""

    edges: list[Literal["requires", "evidenced_by", "collected_via", "is_a", "remediated_by"] | str]
    """The edges between the nodes; one fewer than nodes."""
    nodes: list[str]
    """The nodes, from the first to the last."""


class GraphQueryToGraphQueryTo(Wire):
    """Any node of a type."""

    type: Literal["Control", "Requirement", "EvidenceType", "ResourceType", "Risk", "Remediation"]


class GraphQueryToGraphQueryTo1(Wire):
    """One node."""

    node: str


class GuardrailException(Wire):
    """An exception to a guardrail."""

    allow: bool
    """Whether the effect passes when the condition holds."""
    condition: str
    """CEL condition over the effect. A condition that fails at run time exempts nothing."""


class Guardrail(Wire):
    """A guardrail: a rule over effects."""

    applies_to: list[str]
    """Globs on dot segments: `security.*`; at least one."""
    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    domain: str | None = None
    """Domain of the guardrail; absent for a global one."""
    enforcement: Literal["soft_warn", "require_approval", "hard_block"]
    """Effect of a match."""
    exceptions: list[GuardrailException] = Field([], validate_default=True)
    """Exceptions, evaluated first; if one holds, the effect passes (B000-12)."""
    guardrail_id: str
    """Id of the guardrail."""
    message: str
    """Message for the user."""
    personas: list[str] | None = None
    """Personas that the guardrail applies to (this project); all when empty."""
    rule: str
    """Description of the rule."""
    scope: Literal["skill", "agent", "domain", "global"]
    """Kind of id that `applies_to` is matched against (ruling 6)."""
    status: Literal["active", "inactive"] = "active"
    """Whether the guardrail is in force (this project, for guardrails)."""
    tenant_id: str | None = None
    """Tenant of the guardrail; absent for a global one."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""
    when: str | None = None
    """
    CEL condition over the call and its request, or over the request alone for answers without a call (this
    project). When absent, the guardrail applies to writes.
    """


class KeyRequest(Wire):
    """
    A request for a key. Defaults are the least: a `user` of the basic tier with read access to the catalogue; but every
    scope of its maker.
    """

    agent_skills: list[str] | None = None
    """Skills of the link graph; when absent all for operators and admins, none for users."""
    catalogue: Literal["viewer", "editor", "admin"] | None = None
    """The catalogue role; the default of the level when absent."""
    expires_in_s: int | None = None
    """Lifetime in seconds; unlimited when absent."""
    for_: Literal["person", "agent"] = Field("person", alias="for")
    """The holder; a person when absent. An agent's key does not decide on approvals."""
    name: str
    """Its readable name."""
    profile: str | None = None
    """The profile that restricts the agents whose skills it may use; that of its maker when absent."""
    role: Literal["user", "operator", "admin"] = "user"
    """The level; `user` when absent."""
    scopes: list[str] | None = None
    """Parts of the interface; those of its maker when absent, for an agent without `approvals:write`."""
    tier: Literal["basic", "advanced"] = "basic"
    """The tier; `basic` when absent."""
    user: str | None = None
    """The user that it authenticates; its maker when absent."""


class KeyRotation(Wire):
    """Options of a key's replacement."""

    expires_in_s: int | None = None
    """Lifetime of the new key in seconds; that of the old one when absent."""
    overlap_s: int = 0
    """How long the old key remains valid, in seconds."""


class LeaseRenewal(Wire):
    """A renewed lease."""

    lease_ms: int
    """Remaining term of the lease, in milliseconds."""


class LeaseRequest(Wire):
    """An executor's request for a call."""

    executor: str
    """Its name, for messages."""
    handlers: list[str] = []
    """Tools without an implementation for which it has handlers; at most 1000."""
    only_handlers: bool = False
    """Whether it only accepts calls of its handlers, and no scripts or HTTP exchanges of packages."""
    wait_ms: int = 0
    """How long it waits if there is no call, in milliseconds; at most 30 s."""


class LensIndexingStage(Wire):
    """The progress of indexing."""

    done: int | None = None
    """Parts of passages that have a vector."""
    of: int | None = None
    """Parts of passages in all."""
    stage: Literal["embedding", "fetching", "reading"] | str


class LensSearch(Wire):
    """A search of several lenses."""

    domain: str | None = None
    lens_ids: list[str] = []
    query: str
    tags: list[str] = []
    top_k: int | None = None


class LensSource(Wire):
    """Source of a lens."""

    ref: str
    """The URL, or the path inside the package; all files of a folder are included."""
    type: Literal["url", "file"] | str
    """Type of the source: a URL, or a file or folder of the package."""


class LibrarianPassCachedPreview(Wire):
    """A preview of a known entity."""

    entity_id: str
    """Id of the entity."""
    entity_type: str
    """Type of the entity: `lead`."""
    label: str
    """Label of the preview."""
    preview: str
    """Content of the preview."""


class LibrarianPassRecommendedQuery(Wire):
    """A recommended query."""

    query: str
    """Text of the query."""
    tool: str
    """Tool for the query."""


class LibrarianPass(Wire):
    """Access to internal data, for one task and a limited time."""

    actor_id: str | None = None
    """Actor of the mission; set on storage."""
    allowed_resource_families: list[str]
    """Resource families that the pass grants, and no others: `crm.leads` (B002-8)."""
    cached_previews: list[LibrarianPassCachedPreview] = Field([], validate_default=True)
    """Previews of known entities."""
    created_at: AwareDatetime
    """Creation time."""
    expires_at: AwareDatetime
    """Expiry time; from then on the pass is denied (B002-8)."""
    mission_id: str
    """Id of the mission."""
    pass_id: str
    """Id of the pass."""
    producer: str
    """Producer of the artifact."""
    recommended_queries: list[LibrarianPassRecommendedQuery] = Field(
        [], validate_default=True
    )
    """Recommended queries."""
    schema_name: Literal["librarian_pass"]
    """Always `librarian_pass`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    task_id: str
    """Id of the task."""
    tenant_id: str | None = None
    """Tenant of the mission; set on storage."""


class LinkFinding(Wire):
    """One problem."""

    message: str
    """The problem."""
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
    """The agent that wrote it for the author."""
    at: AwareDatetime
    """When it was written."""
    author: str
    """Its author."""
    conflicts_with: list[str] | None = None
    """Memories that contradict it, by heuristics: in the hits of a search, and in the answer to a write."""
    cosine: float | None
    """Similarity of meaning; absent if only words were compared."""
    decided_at: AwareDatetime | None = None
    """When it was decided."""
    decided_by: str | None = None
    """The user who decided on it."""
    expires_at: AwareDatetime | None = None
    """When the memory expires; absent if it never does."""
    fused: float
    """The ranking score within this question, 0 to 1."""
    lexical: float
    """Words in common, weighted."""
    memory: MemoryEntry | None = None
    """The entry; absent once it was removed."""
    memory_id: str
    """The memory."""
    notice: str | None = None
    """The same marks as text, in the answer to a write."""
    owner: str
    """Its owner."""
    proposed: int | None = None
    """The version that waits for a decision, if it is visible to the reader."""
    removed_at: AwareDatetime | None = None
    """When the content was removed."""
    removed_by: str | None = None
    """The user who removed it; absent if it expired."""
    score: float | None
    """Probability that it is relevant to the question, 0 to 1: comparable across questions. Absent without a text."""
    similar_to: list[str] | None = None
    """Memories with the same or nearly the same content: in the hits of a search, and in the answer to a write."""
    state: Literal["proposed", "accepted", "superseded", "rejected"] | str
    """The version's state."""
    supersedes: int | None = None
    """The version that was in force when it was written."""
    version: int
    """The version's number."""
    visibility: Literal["private", "shared"] | str
    """Its visibility."""


class MemoryHits(RootModel[list[MemoryHit]]):
    root: list[MemoryHit]


class MemorySearch(Wire):
    """A query for memories. Absent fields do not restrict."""

    from_: AwareDatetime | None = Field(None, alias="from")
    """Written or changed at this time or later."""
    limit: int | None = None
    """Maximum memories, at most 50."""
    min_importance: int | None = None
    """Minimum importance; an absent importance counts as 5."""
    proposed: bool = False
    """Whether to include proposals that are visible to the caller."""
    tags_all: list[str] = []
    """With every one of these tags."""
    tags_any: list[str] = []
    """With at least one of these tags."""
    text: str | None = None
    """The text; without it the most recently changed memories come first."""
    until: AwareDatetime | None = None
    """Written or changed before this time."""


class MemoryVersionMemoryMetadata(Wire):
    """Its source and importance."""

    associated_files: list[str] | None = None
    """Paths of associated files."""
    importance: int | None = None
    """Importance from 1 (low) to 10 (high)."""
    source: str
    """Source: `user_statement`, `system_observation`."""


class MemoryVersionMemory(Wire):
    """The content."""

    content: str
    """Its content."""
    metadata: MemoryVersionMemoryMetadata
    """Its source and importance."""
    related_memories: list[str] = []
    """Memories it belongs with."""
    tags: list[str]
    """Tags for searching."""
    title: str
    """Its title."""


class MemoryVersion(Wire):
    """A new version of a memory."""

    agent_id: str | None = None
    """The agent that writes it for the caller; it is then a proposal."""
    expected_version: int | None = None
    """The version in force that the writer saw; absent if none is."""
    memory: MemoryVersionMemory
    """The content."""


class MissingAccount(Wire):
    """An account that a call lacked: the call succeeds after its user has connected it."""

    connect_url: str | None = None
    """The page on which the user connects the account; absent for a server without a public address."""
    credential: str
    """The credential that the tool names."""


class MissionArtifact(Wire):
    """An artifact of a mission, with its position among the mission's artifacts."""

    artifact: dict[str, Any]
    """The artifact, in the current form."""
    artifact_id: str
    """Its id, unique among those of its kind and mission."""
    event: int
    """The last event of the append that it was written with."""
    kind: Literal["mission_envelope", "mission_task_graph", "prompt_package", "research_artifact", "librarian_pass", "worker_result", "aggregation_packet", "review_packet", "policy_decision", "writeback_proposal"] | str
    """Its kind, one of ten."""
    place: int
    """Its position, from 1, in the order of writing."""
    task_id: str | None = None
    """The task that it was made for."""


class MissionArtifactKey(Wire):
    """The key that distinguishes the artifacts of one mission without their ids."""

    kind: Literal["mission_envelope", "mission_task_graph", "prompt_package", "research_artifact", "librarian_pass", "worker_result", "aggregation_packet", "review_packet", "policy_decision", "writeback_proposal"] | str
    """Its kind."""
    number: int
    """Its number among artifacts with the same other fields, from 1, in the order of storing."""
    role: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"] | str | None
    """The mission role of its task."""
    subject: str | None
    """Its subject: a decision's type and subject, a proposal's target and action."""
    task: str | None
    """Its task, by the name in the first mission if that has it."""


class MissionArtifactPage(Wire):
    """One page of a mission's artifacts."""

    entries: list[MissionArtifact]
    """In the order of writing."""
    next: int | None = None
    """Cursor: the last position of this page; absent on the last page."""


class MissionCancellation(Wire):
    """The reason for a cancellation."""

    reason: str | None = None


class MissionEnvelope(Wire):
    """A mission. Thirteen fields are required (002 §4.3)."""

    actor_id: str
    """Actor who requested the mission."""
    actor_role: str | None = None
    """Level of the actor, such as `operator`."""
    context_refs: dict[str, Any] = {}
    """Entities that the mission concerns, by reference name: ids, lists of ids, or null."""
    created_at: AwareDatetime
    """Creation time."""
    mission_id: str
    """Id of the mission."""
    mission_type: str
    """Mission type: `oracle_advisory`."""
    normalized_goal: str
    """The goal."""
    origin_surface: str
    """Surface where the mission originated: `oracle`."""
    producer: str
    """Producer of the envelope."""
    requested_outputs: list[str] = []
    """Requested outputs: `reviewed_summary`."""
    risk_level: Literal["low", "medium", "high", "critical"]
    """Risk level."""
    schema_name: Literal["mission_envelope"]
    """Always `mission_envelope`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    sensitivity_class: str
    """Data sensitivity: `internal_business`."""
    tenant_id: str
    """Tenant of the mission."""
    time_budget_ms: int | None = None
    """Time budget, in milliseconds."""
    token_budget: int | None = None
    """The token budget, if it has one."""
    user_goal: str
    """Goal in the user's words."""


class MissionReplay(Wire):
    """The result of replaying a mission."""

    artifacts: int
    """Artifacts that were recomputed."""
    divergence: str | None = None
    """The first divergence."""
    events: int
    """Events that were replayed."""
    identical: bool
    """Whether everything recomputed is as stored."""
    mission_id: str
    """The mission."""
    run_id: str
    """Its run."""


class MissionRequest(Wire):
    """A request to start a mission."""

    actor_id: str | None = None
    """The actor, which must be the credential's user."""
    actor_role: str | None = None
    """The actor's role, which must be the credential's."""
    context_refs: dict[str, Any] | None = None
    """Entities of the mission, by name of the reference."""
    goal: str
    """The goal, in the user's words."""
    mission_id: str | None = None
    """The mission's id, so that a repeated request finds the mission (B002-15); a new one when absent."""
    mission_type: str | None = None
    """The mission type; `general` when absent."""
    model: Literal["offline", "routes"] | None = None
    """The answerer: `offline` for the offline provider; the routes of its prompts when absent."""
    normalized_goal: str | None = None
    """The goal for the roles of the mission; made from `goal` when absent."""
    origin_surface: str | None = None
    """The surface that it comes from: `cli`."""
    requested_outputs: list[str] | None = None
    """Requested outputs: `reviewed_summary`, or kinds of artifacts; those of its type when absent."""
    risk_level: Literal["low", "medium", "high", "critical"] | None = None
    """Risk level, which may only be higher than that of its type."""
    sensitivity_class: str | None = None
    """Data sensitivity, which may only be higher than that of its type."""
    tenant_id: str | None = None
    """The tenant, which must be the credential's."""
    time_budget_ms: int | None = None
    """Time budget, in milliseconds; that of its type when absent."""
    token_budget: int | None = None
    """Token budget; that of its type when absent."""


class MissionStart(RootModel[MissionRequest | MissionEnvelope]):
    root: MissionRequest | MissionEnvelope
    """A request for a mission, or the envelope of one."""


class MissionSummary(Wire):
    """A mission in a listing."""

    artifacts: int
    """Number of artifacts."""
    created_at: AwareDatetime
    """When it was created."""
    mission_id: str
    """Its id."""
    run_id: str
    """Its run."""
    state: Literal["created", "planned", "prompted", "running", "aggregating", "reviewing", "awaiting_approval", "completed", "rejected", "failed", "cancelled", "budget_exceeded"] | str
    """Its state."""
    title: str
    """The title of its run."""
    updated_at: AwareDatetime
    """When it last changed."""


class MissionTask(Wire):
    """A task of a mission."""

    depends_on: list[str]
    """Tasks that must succeed first."""
    objective: str
    """Its objective."""
    reason: str | None = None
    """Why it failed."""
    role_type: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"] | str
    """The mission role that executes it."""
    state: Literal["pending", "running", "succeeded", "failed", "blocked", "cancelled"] | str
    """`pending`, `running`, `succeeded`, `failed`, `blocked` or `cancelled`."""
    task_id: str
    """Its id."""


class MissionTaskGraphTask(Wire):
    """One task of a mission."""

    allowed_tools: list[str] = []
    """Tools that the task may use; none when absent."""
    depends_on: list[str] = []
    """Ids of the tasks that must succeed first."""
    objective: str
    """Its objective."""
    required_capabilities: list[str] = []
    """Capabilities required for the task."""
    required_data_scopes: list[str] = []
    """Resource families that the task needs."""
    role_type: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"]
    """Mission role that executes the task."""
    success_criteria: list[str] = []
    """Criteria by which the task is judged complete."""
    task_id: str
    """Id of the task, unique within the mission."""


class MissionTaskGraph(Wire):
    """The tasks of a mission and their dependencies."""

    actor_id: str | None = None
    """Actor of the mission; set on storage."""
    created_at: AwareDatetime
    """Creation time."""
    mission_id: str
    """Id of the mission."""
    producer: str
    """Producer of the artifact."""
    schema_name: Literal["mission_task_graph"]
    """Always `mission_task_graph`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    tasks: list[MissionTaskGraphTask]
    """Tasks, in listed order; at least one."""
    tenant_id: str | None = None
    """Tenant of the mission; set on storage."""


class MissionTypeOutlineItem(Wire):
    """A usual task of the missions of a type."""

    allowed_tools: list[str] = []
    """Tools that the task may use, each from one of the families."""
    depends_on: list[str] = []
    """Tasks of the outline that must succeed first."""
    objective: str
    """Objective; `${goal}` is replaced with the mission's goal."""
    required_capabilities: list[str] | None = None
    """Registered skills whose plans suggest the first calls, and whose rules evaluate the tools' results."""
    required_data_scopes: list[str] = []
    """Resource families that the task needs."""
    role_type: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"]
    """Mission role of the task: `researcher` or `worker`."""
    success_criteria: list[str] = []
    """Criteria by which the task is judged complete."""
    task_id: str
    """Id of the task."""


class MissionTypePrompts(Wire):
    """Prompt template of each mission role; a role without one uses the built-in template."""

    aggregator: str | None = None
    librarian: str | None = None
    planner: str | None = None
    prompt_master: str | None = None
    researcher: str | None = None
    reviewer: str | None = None
    worker: str | None = None


class MissionTypeResourceFamilies(Wire):
    """The members of a resource family."""

    description: str
    """Description of the resources."""
    lenses: list[str] = []
    """Lenses searched for the resources."""
    tools: list[str] = []
    """Readonly tools that read the resources; a tool belongs to one family."""


class MissionTypeRolesAggregator(Wire):
    """Who carries out a role."""

    agents: list[str] | None = None
    """Users whose credentials may claim the role's tasks; operators when empty. Only for `by: external`."""
    by: Literal["charter", "model", "external"]
    """The performer of the role."""
    model_route: str | None = None
    """Route to the model; that of the role's prompt template when absent. Only for `by: model`."""


class MissionTypeRolesLibrarian(Wire):
    """Who carries out a role."""

    agents: list[str] | None = None
    """Users whose credentials may claim the role's tasks; operators when empty. Only for `by: external`."""
    by: Literal["charter", "model", "external"]
    """The performer of the role."""
    model_route: str | None = None
    """Route to the model; that of the role's prompt template when absent. Only for `by: model`."""


class MissionTypeRolesPlanner(Wire):
    """Who carries out a role."""

    agents: list[str] | None = None
    """Users whose credentials may claim the role's tasks; operators when empty. Only for `by: external`."""
    by: Literal["charter", "model", "external"]
    """The performer of the role."""
    model_route: str | None = None
    """Route to the model; that of the role's prompt template when absent. Only for `by: model`."""


class MissionTypeRolesPromptMaster(Wire):
    """Who carries out a role."""

    agents: list[str] | None = None
    """Users whose credentials may claim the role's tasks; operators when empty. Only for `by: external`."""
    by: Literal["charter", "model", "external"]
    """The performer of the role."""
    model_route: str | None = None
    """Route to the model; that of the role's prompt template when absent. Only for `by: model`."""


class MissionTypeRolesResearcher(Wire):
    """Who carries out a role."""

    agents: list[str] | None = None
    """Users whose credentials may claim the role's tasks; operators when empty. Only for `by: external`."""
    by: Literal["charter", "model", "external"]
    """The performer of the role."""
    model_route: str | None = None
    """Route to the model; that of the role's prompt template when absent. Only for `by: model`."""


class MissionTypeRolesReviewer(Wire):
    """Who carries out a role."""

    agents: list[str] | None = None
    """Users whose credentials may claim the role's tasks; operators when empty. Only for `by: external`."""
    by: Literal["charter", "model", "external"]
    """The performer of the role."""
    model_route: str | None = None
    """Route to the model; that of the role's prompt template when absent. Only for `by: model`."""


class MissionTypeRolesWorker(Wire):
    """Who carries out a role."""

    agents: list[str] | None = None
    """Users whose credentials may claim the role's tasks; operators when empty. Only for `by: external`."""
    by: Literal["charter", "model", "external"]
    """The performer of the role."""
    model_route: str | None = None
    """Route to the model; that of the role's prompt template when absent. Only for `by: model`."""


class MissionTypeRoles(Wire):
    """
    Who carries out each role. By default the planner, the workers, the aggregator and the reviewer are models, and
    Charter does the rest.
    """

    aggregator: MissionTypeRolesAggregator | None = None
    """Who carries out a role."""
    librarian: MissionTypeRolesLibrarian | None = None
    """Who carries out a role."""
    planner: MissionTypeRolesPlanner | None = None
    """Who carries out a role."""
    prompt_master: MissionTypeRolesPromptMaster | None = None
    """Who carries out a role."""
    researcher: MissionTypeRolesResearcher | None = None
    """Who carries out a role."""
    reviewer: MissionTypeRolesReviewer | None = None
    """Who carries out a role."""
    worker: MissionTypeRolesWorker | None = None
    """Who carries out a role."""


class MissionTypeWriteBackBy(Wire):
    """A registered write tool."""

    tool: str


class MissionTypeWriteBackBy1(Wire):
    """A registered playbook."""

    playbook: str


class MissionTypeWriteBackBy2(Wire):
    """A signed request to the system of record."""

    webhook: str


class MissionTypeWriteBackTarget(Wire):
    """
    Call that reads the target, so that a concurrent change is reported as a conflict (B002-13). Without it,
    changes of the target are not noticed.
    """

    parameters: dict[str, Any] = {}
    """Arguments of the tool. `${target_entity_id}` and `${payload.name}` are replaced with the proposal's values."""
    tool: str
    """A readonly tool."""


class MissionTypeWriteBack(Wire):
    """A change that missions may propose, and how it is executed."""

    action_type: str
    """`action_type` of the proposals: `lead_stage_update`."""
    by: MissionTypeWriteBackBy | MissionTypeWriteBackBy1 | MissionTypeWriteBackBy2
    """Tool, playbook or webhook that executes the change."""
    description: str
    """When to propose the change, and its effect."""
    parameters: dict[str, Any] = {}
    """
    Parameters of the tool or playbook, or body of the webhook request. `${target_entity_id}` and `${payload.name}`
    are replaced with the proposal's values.
    """
    payload_schema: dict[str, Any] | None = None
    """JSON Schema of the proposals' `payload`."""
    requires_approval: bool = True
    """Whether an approver must approve the change."""
    target: MissionTypeWriteBackTarget | None = None
    """
    Call that reads the target, so that a concurrent change is reported as a conflict (B002-13). Without it,
    changes of the target are not noticed.
    """
    target_entity_type: str
    """`target_entity_type` of the proposals: `lead`."""


class MissionType(Wire):
    """A mission type."""

    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    description: str
    """Purpose of such missions."""
    domain: str
    """Domain of the mission type."""
    mission_type: str
    """Id of the mission type: the `mission_type` of envelopes."""
    outline: list[MissionTypeOutlineItem] | None = None
    """Usual tasks of such a mission: shown to the planner, and used as the plan when no model plans."""
    prompts: MissionTypePrompts = Field({}, validate_default=True)
    """Prompt template of each mission role; a role without one uses the built-in template."""
    requested_outputs: list[str] = []
    """Default outputs of a mission: `reviewed_summary`."""
    resource_families: dict[str, MissionTypeResourceFamilies] = Field(
        {}, validate_default=True
    )
    """Resource families that its workers may be granted, by name: `crm.leads`."""
    risk_level: Literal["low", "medium", "high", "critical"] = "medium"
    """Default risk level of its missions."""
    roles: MissionTypeRoles | None = None
    """
    Who carries out each role. By default the planner, the workers, the aggregator and the reviewer are models, and
    Charter does the rest.
    """
    sensitivity_class: str
    """Data sensitivity: `internal_business`."""
    status: Literal["active", "inactive"] = "active"
    """Status in the catalogue."""
    tenant_id: str | None = None
    """Tenant of the mission type; absent for a global one."""
    time_budget_ms: int | None = None
    """Default time budget of a mission, in milliseconds."""
    title: str
    """Title."""
    token_budget: int | None = None
    """Default token budget of a mission."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""
    write_backs: list[MissionTypeWriteBack] | None = None
    """Changes that may be proposed, and how each is executed."""


class NetworkRequest(Wire):
    """One request over the network."""

    body: Any | None = None
    """Request body, sent as JSON."""
    follow_redirects: bool = False
    """Whether to follow redirects; each target is checked like the first."""
    headers: dict[str, str] | None = None
    """HTTP headers."""
    id: str
    """Id of the network request."""
    max_response_bytes: int | None = None
    """Maximum number of response bytes to read."""
    metadata: dict[str, Any] | None = None
    """Additional free-form data."""
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
    """HTTP method."""
    query: dict[str, str] | None = None
    """Query parameters, added to those of the URL."""
    reason: str | None = None
    """Reason for the request."""
    request_id: str | None = None
    """Request that this network request serves."""
    timeout_ms: int | None = None
    """Time limit, in milliseconds."""
    timestamp: AwareDatetime
    """Time of the request."""
    url: str
    """Target URL."""


class NewKey(Wire):
    """A new key with its text, which is not shown again."""

    agent_skills: list[str]
    """The skills of the link graph within its reach."""
    catalogue: Literal["viewer", "editor", "admin"] | str
    """Its catalogue role."""
    created_at: AwareDatetime
    """When it was made."""
    created_by: str
    """The user who made it."""
    expires_at: AwareDatetime | None
    """When it expires."""
    key_id: str
    """Its id."""
    last_used_at: AwareDatetime | None
    """When it was last used, to about a minute."""
    name: str
    """Its readable name."""
    profile: str | None = None
    """
    Profile that limits the agents whose skills the credential may use: those that list it in `usable_in_profiles`,
    and those that list none (000 §2.11). All agents when absent.
    """
    revoked_at: AwareDatetime | None
    """When it was revoked."""
    revoked_by: str | None
    """The user who revoked it."""
    role: Literal["user", "operator", "admin"] | str
    """Level: `user`, `operator` or `admin`."""
    rotated_from: str | None
    """The key that it replaced."""
    scopes: list[str]
    """Scopes: the parts of the interface that the credential may use."""
    secret: str
    """The text that its holder stores and sends."""
    state: Literal["live", "expired", "revoked"]
    """Whether it is valid."""
    tenant_id: str
    """The tenant whose data it sees."""
    tier: Literal["basic", "advanced"] | str
    """Its maximum tier."""
    user: str
    """The user that it authenticates."""


class NewMemoryMemoryMetadata(Wire):
    """Its source and importance."""

    associated_files: list[str] | None = None
    """Paths of associated files."""
    importance: int | None = None
    """Importance from 1 (low) to 10 (high)."""
    source: str
    """Source: `user_statement`, `system_observation`."""


class NewMemoryMemory(Wire):
    """The content."""

    content: str
    """Its content."""
    metadata: NewMemoryMemoryMetadata
    """Its source and importance."""
    related_memories: list[str] = []
    """Memories it belongs with."""
    tags: list[str]
    """Tags for searching."""
    title: str
    """Its title."""


class NewMemory(Wire):
    """A new memory."""

    agent_id: str | None = None
    """The agent that writes it for the caller; it is then a proposal."""
    memory: NewMemoryMemory
    """The content."""
    visibility: Literal["private", "shared"] = "private"
    """Its visibility."""


class Notification(Wire):
    """One event for one channel."""

    attempts: int
    """Finished attempts."""
    channel: str
    """The channel."""
    created_at: AwareDatetime
    """When the event happened."""
    detail: str | None = None
    """The last failure, or why it was not sent."""
    due_at: AwareDatetime | None = None
    """When it may be sent next; absent if it is settled."""
    message_id: str | None = None
    """The id of its message, which a digest shares."""
    notification_id: str
    """Its id."""
    settled_at: AwareDatetime | None = None
    """When it was settled."""
    state: Literal["pending", "delivered", "skipped", "failed"] | str
    """Whether it was sent."""
    topic: Literal["approval.requested", "approval.expiring", "approval.escalated", "confirmation.requested", "run.failed", "run.completed", "finding.new", "finding.resolved", "mission.awaiting_approval"] | str
    """The topic."""


class NotificationPage(Wire):
    """One page of notifications."""

    entries: list[Notification]
    """Newest first."""
    next: str | None
    """Cursor to the next page."""


class OccurrenceEventRef(Wire):
    """The data of an event about an occurrence of a schedule."""

    occurrence: str
    """The occurrence."""
    schedule_id: str
    """The schedule."""
    state: Literal["waiting", "started", "ended", "skipped", "missed", "failed"] | str
    """Its state."""


class OpenRisk(Wire):
    """A risk without a remediation."""

    categories: list[str]
    """The categories that it belongs to, nearest first."""
    domain: str | None
    """Its domain."""
    id: str
    """The risk."""
    severity: Literal["critical", "high", "medium", "low", "info"] | str | None
    """The severity."""


class Package(Wire):
    """One entry of a package's history."""

    actor: str
    """The user who did it."""
    at: AwareDatetime
    """When it happened."""
    change: Literal["registered", "rolled_back", "unregistered"] | str
    """`registered`, `rolled_back` or `unregistered`."""
    content_hash: str
    """`sha256:…` over all files."""
    documents: int
    """Number of documents in force afterwards."""
    package: str
    """The package."""
    revision: int
    """The catalogue's revision afterwards."""
    scope: Literal["tenant", "global"] | str
    """`global`, or `tenant` for the caller's own."""
    version: str
    """The version of the entry."""


class PackageBundle(Wire):
    """The files of a package, by path relative to the package root."""

    files: dict[str, str]
    """
    Content by path: a file's text, or the bytes of a PDF (`.pdf`) in base64. Paths use `/` and stay inside the
    package.
    """


class PackageDiff(Wire):
    """The changes of a registration."""

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
    """Description of the contents."""
    licence: str | None = None
    """Licence, as an SPDX expression."""
    name: str
    """Name of the package."""
    scope: Literal["tenant", "global"] = "tenant"
    """Scope: one tenant, or all tenants."""
    title: str
    """Title."""
    version: str
    """Version of the package."""


class PackageVersionDiff(Wire):
    """A page of the changes between two versions."""

    changes: list[DocumentVersionChange]
    """The changed documents, by kind and id."""
    from_: str | None = Field(..., alias="from")
    """The earlier version; null if there is none, so that everything is new."""
    next: str | None
    """Cursor to the next page."""
    package: str
    """The package."""
    to: str
    """The later version."""


class PairOfBudgetUsage(Wire):
    """A value of each of the two missions."""

    left: BudgetUsage
    """The value of the first mission."""
    right: BudgetUsage
    """The value of the second mission."""


class PairOfMissionState(Wire):
    """A value of each of the two missions."""

    left: Literal["created", "planned", "prompted", "running", "aggregating", "reviewing", "awaiting_approval", "completed", "rejected", "failed", "cancelled", "budget_exceeded"] | str
    """The value of the first mission."""
    right: Literal["created", "planned", "prompted", "running", "aggregating", "reviewing", "awaiting_approval", "completed", "rejected", "failed", "cancelled", "budget_exceeded"] | str
    """The value of the second mission."""


class PairOfNullableMissionId(Wire):
    """A value of each of the two missions."""

    left: str | None
    """The value of the first mission."""
    right: str | None
    """The value of the second mission."""


class PairOfNullableString(Wire):
    """A value of each of the two missions."""

    left: str | None
    """The value of the first mission."""
    right: str | None
    """The value of the second mission."""


class PartChange(Wire):
    """The change of a part from the first mission to the second."""

    change: Literal["added", "changed", "removed", "same"] | str
    fields: list[FieldChange] | None = None


class PassageSection(Wire):
    """A section or a page that begins inside of a passage."""

    headings: list[str] | None = None
    """Its headings, the highest first."""
    page: int | None = None
    """The page that it begins on, where the source has pages."""
    start: int
    """Its first byte, in the text that was extracted from the source."""


class PayloadAbsence(Wire):
    """Explanation of a missing payload (this project)."""

    note: str
    """Explanation in one sentence: `payload removed on 2026-05-13T09:14:22Z`."""
    reason: Literal["removed", "withheld"] | str
    """Whether the payload was removed permanently or withheld from this reader."""


class PendingConfirmation(Wire):
    """A run whose plan waits for a person's confirmation. `GET /v1/runs/{id}` has the plan and its digest."""

    requested_at: AwareDatetime
    """When the run was created."""
    requested_by: str | None
    """The owner of the run, if known."""
    run_id: str
    """The run."""
    run_title: str
    """The run's title."""


class PipelineDefinitionErrorHandling(Wire):
    """Handling of failures."""

    fallback_pipeline_id: str | None = None
    """Id of the pipeline to run instead."""
    on_step_failure: Literal["abort_plan", "continue_plan", "execute_fallback"]
    """Effect of a failed stage."""


class PipelineDefinitionInput(Wire):
    """
    A parameter of a tool, skill or playbook (000 §2.4).

    `default`, `enum` and `pattern` are this project's additions to tools; the seed itself has `default` in playbooks.
    """

    default: Any | None = None
    """Default value. `null` counts as no default."""
    description: str = ""
    """Its description."""
    enum: list[Any] | None = None
    """Allowed values."""
    example: Any | None = None
    """Example of an accepted value."""
    name: str
    """Name of the parameter, unique within its list."""
    other_types: list[Literal["string", "number", "integer", "boolean", "array", "object"]] | None = (
        None
    )
    """Further types that the value may have (this project)."""
    pattern: str | None = None
    """Regular expression that a string value must match anywhere, like `pattern` in JSON Schema."""
    required: bool = False
    """Whether a caller must supply the parameter. In a playbook, the containing list decides."""
    schema_: dict[str, Any] | None = Field(None, alias="schema")
    """
    JSON Schema of the value, with rules that the other fields cannot express (this project). Both apply. A property
    of a tool's `input_schema` has its part of that schema here.
    """
    synonyms: dict[str, list[str]] | None = None
    """
    Synonyms for allowed values, by value; for a boolean, by `true` and `false`. Requests in natural language may
    use them, callers may not (this project).
    """
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of the value."""
    wire_name: str | None = None
    """
    Name on the server of an imported tool, if that is not a valid parameter name here: `$filter` (this project).
    Callers may use either name.
    """


class PipelineDefinitionStageCondition(Wire):
    """Condition for the stage to run."""

    expression: str | None = None
    """CEL expression that decides."""
    stage_id: str | None = None
    """Id of the stage whose outcome decides."""
    type: Literal["step_success", "step_failure", "expression"]
    """Type of the condition."""


class PipelineDefinitionStageForEach(Wire):
    """Repeats the stage for each item of a list. Its output is the list of the items' outputs."""

    concurrency: int | None = None
    """Maximum number of items that run at the same time; 1 when absent, so that they run in sequence."""
    items: Any
    """The list: a placeholder such as `${step_1.groups}` or `${user.names}`, or a list of values."""
    max_items: int | None = None
    """Maximum number of items; a longer list fails the step."""


class PipelineDefinitionStageRetry(Wire):
    """Retry policy."""

    delay_ms: int | None = None
    """Delay between attempts, in milliseconds."""
    max_attempts: int
    """Maximum number of retries after the first attempt."""


class PipelineDefinitionStage(Wire):
    """One stage of a pipeline."""

    condition: PipelineDefinitionStageCondition | None = None
    """Condition for the stage to run."""
    dependencies: list[str] | None = None
    """Ids of the stages that must complete first."""
    for_each: PipelineDefinitionStageForEach | None = None
    """Repeats the stage for each item of a list. Its output is the list of the items' outputs."""
    id: str
    """Id of the stage, unique within the pipeline."""
    name: str | None = None
    """Display name."""
    parameters: dict[str, Any] = {}
    """Arguments of the tool."""
    retry: PipelineDefinitionStageRetry | None = None
    """Retry policy."""
    timeout_ms: int | None = None
    """Time limit of one attempt, in milliseconds; 0 sets none."""
    tool: str
    """Tool to call."""


class PipelineDefinition(Wire):
    """A pipeline."""

    created_at: AwareDatetime | None = None
    """Creation time."""
    description: str = ""
    """Description of the pipeline."""
    error_handling: PipelineDefinitionErrorHandling | None = None
    """Handling of failures."""
    id: str
    """Id of the pipeline."""
    inputs: list[PipelineDefinitionInput] | None = None
    """Input parameters."""
    metadata: dict[str, Any] | None = None
    """Additional free-form data."""
    name: str
    """Name of the pipeline."""
    stages: list[PipelineDefinitionStage]
    """Stages, in listed order; at least one."""
    version: str | None = None
    """Version of the pipeline."""


class PlanRunRequest(Wire):
    """A plan and the inputs of its run."""

    decision_tree: DecisionTree | None = None
    dry_run: bool = False
    execution_plan: ExecutionPlan | None = None
    fallbacks: list[ExecutionPlan | PipelineDefinition] = Field(
        [], validate_default=True
    )
    parameters: dict[str, Any] = {}
    pipeline: PipelineDefinition | None = None


class PlanSource(Wire):
    """A plan that was sent with the request to run it, so it is neither registered nor reviewed."""

    id: Any
    """It depends on the form."""
    kind: Literal["analysis", "decision_tree", "execution_plan", "mission", "pipeline"] | str


class PlaybookContext(Wire):
    """Context that the playbook needs."""

    context_descriptions: list[str] = []
    """Descriptions in natural language."""
    declared_context_builders: list[str] | None = None
    """Accepted with a warning, and not stored (ruling 14)."""
    supported_context_types: list[str] = []
    """Context types that agents declare."""


class PlaybookMandatoryParameter(Wire):
    """
    A parameter of a tool, skill or playbook (000 §2.4).

    `default`, `enum` and `pattern` are this project's additions to tools; the seed itself has `default` in playbooks.
    """

    default: Any | None = None
    """Default value. `null` counts as no default."""
    description: str = ""
    """Its description."""
    enum: list[Any] | None = None
    """Allowed values."""
    example: Any | None = None
    """Example of an accepted value."""
    name: str
    """Name of the parameter, unique within its list."""
    other_types: list[Literal["string", "number", "integer", "boolean", "array", "object"]] | None = (
        None
    )
    """Further types that the value may have (this project)."""
    pattern: str | None = None
    """Regular expression that a string value must match anywhere, like `pattern` in JSON Schema."""
    required: bool = False
    """Whether a caller must supply the parameter. In a playbook, the containing list decides."""
    schema_: dict[str, Any] | None = Field(None, alias="schema")
    """
    JSON Schema of the value, with rules that the other fields cannot express (this project). Both apply. A property
    of a tool's `input_schema` has its part of that schema here.
    """
    synonyms: dict[str, list[str]] | None = None
    """
    Synonyms for allowed values, by value; for a boolean, by `true` and `false`. Requests in natural language may
    use them, callers may not (this project).
    """
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of the value."""
    wire_name: str | None = None
    """
    Name on the server of an imported tool, if that is not a valid parameter name here: `$filter` (this project).
    Callers may use either name.
    """


class PlaybookOptionalParameter(Wire):
    """
    A parameter of a tool, skill or playbook (000 §2.4).

    `default`, `enum` and `pattern` are this project's additions to tools; the seed itself has `default` in playbooks.
    """

    default: Any | None = None
    """Default value. `null` counts as no default."""
    description: str = ""
    """Its description."""
    enum: list[Any] | None = None
    """Allowed values."""
    example: Any | None = None
    """Example of an accepted value."""
    name: str
    """Name of the parameter, unique within its list."""
    other_types: list[Literal["string", "number", "integer", "boolean", "array", "object"]] | None = (
        None
    )
    """Further types that the value may have (this project)."""
    pattern: str | None = None
    """Regular expression that a string value must match anywhere, like `pattern` in JSON Schema."""
    required: bool = False
    """Whether a caller must supply the parameter. In a playbook, the containing list decides."""
    schema_: dict[str, Any] | None = Field(None, alias="schema")
    """
    JSON Schema of the value, with rules that the other fields cannot express (this project). Both apply. A property
    of a tool's `input_schema` has its part of that schema here.
    """
    synonyms: dict[str, list[str]] | None = None
    """
    Synonyms for allowed values, by value; for a boolean, by `true` and `false`. Requests in natural language may
    use them, callers may not (this project).
    """
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of the value."""
    wire_name: str | None = None
    """
    Name on the server of an imported tool, if that is not a valid parameter name here: `$filter` (this project).
    Callers may use either name.
    """


class PlaybookRollbackStep(Wire):
    """The rollback of one step."""

    parameters: dict[str, Any] | None = None
    """Arguments of the tool (this project)."""
    reverses: str
    """Step that is reversed."""
    script_id: str | None = None
    """Script that reverses the step; exactly one of `script_id` and `tool_id`."""
    step_id: str
    """Id of the rollback step."""
    tool_id: str | None = None
    """Tool that reverses the step (this project)."""


class PlaybookSafety(Wire):
    """Safety settings."""

    requires_human_review_for: list[str] = []
    """Steps that an approver must review."""
    resource_parameter: str | None = None
    """
    Parameter that names the destroyed resource. To confirm a `destructive` playbook, a user types its value (this
    project). The first mandatory parameter when absent.
    """
    safety_class: Literal["automated", "supervised", "destructive"]
    """Safety class."""


class PlaybookScript(Wire):
    """The script of a step or of a rollback."""

    body: str | None = None
    """Source of the script; exactly one of `body` and `path`."""
    language: Literal["python", "bash", "http", "builtin", "mcp"]
    """Language of the script."""
    params_used: list[str] = []
    """Parameters that the script uses."""
    path: str | None = None
    """Path of a file in the package (this project)."""
    script_id: str | None = None
    """Name for references from rollback steps (this project); the step's id when absent."""
    step_id: str
    """Step that the script implements or reverses."""


class PlaybookStepForEach(Wire):
    """Repeats the step for each item of a list (this project). Its output is the list of the items' outputs."""

    concurrency: int | None = None
    """Maximum number of items that run at the same time; 1 when absent, so that they run in sequence."""
    items: Any
    """The list: a placeholder such as `${step_1.groups}` or `${user.names}`, or a list of values."""
    max_items: int | None = None
    """Maximum number of items; a longer list fails the step."""


class PlaybookStep(Wire):
    """A step of a playbook."""

    for_each: PlaybookStepForEach | None = None
    """Repeats the step for each item of a list (this project). Its output is the list of the items' outputs."""
    name: str | None = None
    """Display name."""
    on_failure: Literal["stop", "rollback", "skip", "continue"] = "stop"
    """Effect of a failure of the step."""
    parameters: dict[str, Any] | None = None
    """Arguments of the tool (this project), with placeholders like a skill's."""
    required: bool = True
    """Whether the run requires the step; true when absent."""
    step_id: str
    """Id of the step, unique within the playbook."""
    timeout_ms: int | None = None
    """Time limit of one attempt, in milliseconds (this project)."""
    tool_id: str
    """Tool to call."""
    type: Literal["readonly", "read", "write"]
    """Type: reads or writes; `read` is accepted and stored as `readonly` (ruling 11)."""


class Playbook(Wire):
    """A playbook."""

    approach_hints: list[str] = []
    """Hints for planning with the playbook."""
    context: PlaybookContext = Field(
        {"context_descriptions": [], "supported_context_types": []},
        validate_default=True,
    )
    """Context that the playbook needs."""
    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    domain: str
    """Domain of the playbook."""
    embedding: list[float] | None = None
    """Embedding of the document, if it includes one."""
    evidence_requirements: list[str] = []
    """Evidence required for a complete run."""
    examples: list[str] | None = None
    """Example utterances that should be routed to this playbook (this project)."""
    execution_timeout: int | None = None
    """Time limit of the whole run, in seconds."""
    generated_by: Literal["registered", "code_agent"] = "registered"
    """Its source."""
    grounding_agent: str | None = None
    """Agent whose boundary grounded the generation (this project)."""
    is_candidate: bool = False
    """Whether it was generated and not yet accepted; visible to its own tenant only (B000-4)."""
    mandatory_parameters: list[PlaybookMandatoryParameter] = Field(
        [], validate_default=True
    )
    """Mandatory parameters."""
    name: str
    """Display name."""
    optional_parameters: list[PlaybookOptionalParameter] = Field(
        [], validate_default=True
    )
    """Optional parameters."""
    parameters_from_findings: str | None = None
    """
    A jq filter that maps the list of findings that meet its trigger conditions to an object of parameters (this
    project). Without it, the playbook is not offered with findings.
    """
    playbook_id: str
    """Id of the playbook."""
    rollback_steps: list[PlaybookRollbackStep] = Field([], validate_default=True)
    """Rollbacks of completed writes."""
    rollback_support: bool = False
    """Whether the playbook supports rollback."""
    safety: PlaybookSafety
    """Safety settings."""
    scripts: list[PlaybookScript] = Field([], validate_default=True)
    """Scripts of steps and rollbacks."""
    status: Literal["active", "inactive"] = "active"
    """Status in the catalogue (this project, for playbooks)."""
    steps: list[PlaybookStep]
    """Steps, in listed order; at least one."""
    target_language: Literal["python", "bash", "http", "builtin", "mcp"] | None = None
    """Language of the scripts."""
    tenant_id: str | None = None
    """Tenant of the playbook; absent for a global playbook."""
    tier: Literal["basic", "advanced"] = "basic"
    """Lowest tier that may use the playbook."""
    trigger_conditions: list[str]
    """Conditions for using the playbook; embedded with name and domain (ruling 3)."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""


class PlaybookRunRequest(Wire):
    """The inputs of a playbook's run."""

    dry_run: bool = False
    parameters: dict[str, Any] = {}
    request_id: str | None = None
    """
    The request whose answer offered the playbook. If its sentence asks for this change, the sentence is suggested as
    an example of the playbook.
    """


class PolicyTestContextRunMission(Wire):
    """Facts about the mission; absent for other runs."""

    risk_level: Literal["low", "medium", "high", "critical"]
    """Risk level of the mission."""
    sensitivity_class: str
    """Data sensitivity of the mission."""


class PolicyTestContextRun(Wire):
    """Run that the call belongs to."""

    approvals: int = 0
    """Number of approvals granted in the run so far."""
    approvers: list[str] | None = None
    """Users who approved exactly this call."""
    calls: dict[str, int] | None = None
    """Number of calls that the run started so far, by tool id."""
    kind: Literal["skill", "playbook", "execution_plan", "pipeline", "decision_tree", "mission", "tool_call", "analysis"] = (
        "skill"
    )
    """Kind of run; `skill` when absent."""
    mission: PolicyTestContextRunMission | None = None
    """Facts about the mission; absent for other runs."""
    subject: str | None = None
    """Id of the skill, playbook or other document; `test` when absent."""


class PolicyTestContext(Wire):
    """Circumstances of the call."""

    dry_run: bool | None = None
    """Whether the call is a dry run; the argument `dry_run` when absent, as in a run."""
    run: PolicyTestContextRun = Field(
        {"approvals": 0, "kind": "skill"}, validate_default=True
    )
    """Run that the call belongs to."""


class PolicyTestPrincipal(Wire):
    """Caller."""

    role: Literal["user", "operator", "admin"] = "user"
    """Level; `user` when absent."""
    tenant: str | None = None
    """Tenant; `tenant` when absent."""
    user: str | None = None
    """User; `user` when absent."""


class PolicyTest(Wire):
    """A test call with the expected decision of the package's policies."""

    arguments: dict[str, Any] = {}
    """Arguments of the call; the tool's defaults are filled in."""
    context: PolicyTestContext = Field(
        {"run": {"approvals": 0, "kind": "skill"}}, validate_default=True
    )
    """Circumstances of the call."""
    expect: Literal["allow", "deny", "ungoverned"]
    """Expected decision."""
    name: str
    """Summary of the result."""
    principal: PolicyTestPrincipal = Field({"role": "user"}, validate_default=True)
    """Caller."""
    tool: str
    """Tool to call."""


class Policy(Wire):
    """
    A policy: Cedar rules for the calls of the governed tools. A governed tool may be called only if a policy permits
    the call.
    """

    cedar: str | None = None
    """Cedar text: one or more Cedar policies, each with an `@id`."""
    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    description: str = ""
    """Purpose of the policy."""
    domain: str | None = None
    """Domain of the policy."""
    file: str | None = None
    """Path of a package file with the Cedar text; registration fills `cedar` from it."""
    governs: list[str]
    """Globs on dot segments, matched with tool ids: `aws.*`; at least one."""
    policy_id: str
    """Id of the policy."""
    status: Literal["active", "inactive"] = "active"
    """Whether the policy is in force."""
    tenant_id: str | None = None
    """Tenant of the policy; absent for a global one."""
    tests: list[PolicyTest] | None = None
    """Test calls with their expected decisions."""
    title: str
    """Title."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""


class PolicyDecision(Wire):
    """One policy decision."""

    actor_id: str | None = None
    """Actor of the mission; set on storage."""
    created_at: AwareDatetime
    """Creation time."""
    decision: Literal["allow", "deny"]
    """Outcome."""
    decision_id: str
    """Id of the decision."""
    decision_type: str
    """Type of the decision: `tool_scope`."""
    mission_id: str
    """Id of the mission."""
    producer: str
    """Producer of the artifact."""
    reason: str
    """The reason."""
    schema_name: Literal["policy_decision"]
    """Always `policy_decision`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    subject: str
    """Subject of the decision: `external_search`."""
    tenant_id: str | None = None
    """Tenant of the mission; set on storage."""


class ProgressEvent(Wire):
    """One event on the way to an answer."""

    evidence: int | None = None
    """Number of evidence records."""
    evidence_ids: list[str] | None = None
    """Evidence that it cites."""
    finding_ids: list[str] | None = None
    """Findings that it cites."""
    findings: int | None = None
    """Number of findings."""
    message: str | None = None
    """The failure message."""
    outcome: str | None = None
    """`succeeded` or `failed`."""
    outputs: list[str] | None = None
    """Results without evidence that it cites, each as `run/step`."""
    reason: str | None = None
    """The reason."""
    run_id: str | None = None
    """Its run."""
    skill: str | None = None
    """The skill."""
    skills: list[str] | None = None
    """The skills that will run."""
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
    """How long, in milliseconds."""


class PromptPackageConstraints(Wire):
    """Constraints on the worker."""

    must_cite_sources: bool = True
    """Whether empty citations are refused (B002-6); true when absent."""
    must_not_writeback_directly: bool = True
    """Whether proposals before the review are refused (B002-6); true when absent."""


class PromptPackage(Wire):
    """The instructions of one task."""

    actor_id: str | None = None
    """Actor of the mission; set on storage."""
    constraints: PromptPackageConstraints = Field(
        {"must_cite_sources": True, "must_not_writeback_directly": True},
        validate_default=True,
    )
    """Constraints on the worker."""
    created_at: AwareDatetime
    """Creation time."""
    examples_used: list[str] = []
    """Ids of the included examples."""
    mission_id: str
    """Id of the mission."""
    model_route: str
    """Route to the model: `tier_high_reasoning`."""
    package_id: str
    """Id of the package."""
    producer: str
    """Producer of the artifact."""
    role_type: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"]
    """Mission role that the package instructs."""
    schema_name: Literal["prompt_package"]
    """Always `prompt_package`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    system_prompt: str
    """System prompt."""
    task_id: str
    """Id of the task."""
    task_prompt: str
    """Task prompt."""
    template_id: str
    """Id of the prompt template."""
    template_version: str
    """Version of the prompt template, e.g. `v1`."""
    tenant_id: str | None = None
    """Tenant of the mission; set on storage."""
    tool_scope: list[str] = []
    """Tools that the worker may call."""


class PromptTemplateConstraints(Wire):
    """Constraints on a worker."""

    must_cite_sources: bool = True
    """Whether empty citations are refused (B002-6); true when absent."""
    must_not_writeback_directly: bool = True
    """Whether proposals before the review are refused (B002-6); true when absent."""


class PromptTemplateExample(Wire):
    """An example answer."""

    answer: str
    """Good answer to the task."""
    example_id: str
    """Id of the example, listed in `examples_used` of prompt packages."""
    task: str
    """Example task."""


class PromptTemplate(Wire):
    """A prompt template."""

    constraints: PromptTemplateConstraints = Field(
        {"must_cite_sources": True, "must_not_writeback_directly": True},
        validate_default=True,
    )
    """Constraints on a worker."""
    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    domain: str
    """Domain of the template."""
    examples: list[PromptTemplateExample] | None = None
    """Example answers. Those nearest to the task are included in the prompt."""
    model_route: str
    """Route to the model: `tier_high_reasoning`."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of a worker's `structured_output`."""
    prompt_id: str
    """Id of the template, e.g. `crm.lead_intelligence_worker`."""
    role_type: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"]
    """Mission role that the template instructs."""
    status: Literal["active", "inactive"] = "active"
    """Status in the catalogue."""
    system_prompt: str
    """System prompt: the part that the model has in the mission, and its rules."""
    task_prompt: str
    """Task prompt."""
    tenant_id: str | None = None
    """Tenant of the template; absent for a global one."""
    title: str
    """Title."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document, the `template_version` of prompt packages."""


class ProposedValue(Wire):
    """A value that a memory contains for a missing parameter."""

    memory_id: str
    """The memory."""
    parameter: str
    """The parameter."""
    title: str
    """Its title."""
    value: Any
    """The value, which is valid for the declaration."""
    words: str
    """The words with the value."""


class PublishedSkill(Wire):
    """One published skill."""

    description: str
    """Its purpose and when to use it."""
    digest: str
    """`sha256:…` of the artifact."""
    name: str
    """Its name in the open format."""
    type: str
    """`skill-md` or `archive`."""
    url: str
    """The URL of its artifact."""


class PublishedSkillIndex(Wire):
    """The index of published skills."""

    field_schema: str = Field(..., alias="$schema")
    """The schema of the index."""
    skills: list[PublishedSkill]
    """The skills, by name."""


class Rate(Wire):
    """A rate and a burst, both at least one."""

    burst: int
    """The number of calls at once."""
    per_minute: int
    """The number of calls per minute."""


class RelatedMemory(Wire):
    """A memory reached from another one."""

    agent_id: str | None = None
    """The agent that wrote it for the author."""
    at: AwareDatetime
    """When it was written."""
    author: str
    """Its author."""
    conflicts_with: list[str] | None = None
    """Memories that contradict it, by heuristics: in the hits of a search, and in the answer to a write."""
    decided_at: AwareDatetime | None = None
    """When it was decided."""
    decided_by: str | None = None
    """The user who decided on it."""
    distance: int
    """Distance in edges."""
    expires_at: AwareDatetime | None = None
    """When the memory expires; absent if it never does."""
    from_: str = Field(..., alias="from")
    """The memory before it on the path."""
    memory: MemoryEntry | None = None
    """The entry; absent once it was removed."""
    memory_id: str
    """The memory."""
    notice: str | None = None
    """The same marks as text, in the answer to a write."""
    owner: str
    """Its owner."""
    proposed: int | None = None
    """The version that waits for a decision, if it is visible to the reader."""
    removed_at: AwareDatetime | None = None
    """When the content was removed."""
    removed_by: str | None = None
    """The user who removed it; absent if it expired."""
    similar_to: list[str] | None = None
    """Memories with the same or nearly the same content: in the hits of a search, and in the answer to a write."""
    state: Literal["proposed", "accepted", "superseded", "rejected"] | str
    """The version's state."""
    supersedes: int | None = None
    """The version that was in force when it was written."""
    version: int
    """The version's number."""
    visibility: Literal["private", "shared"] | str
    """Its visibility."""


class ReplayDivergence(Wire):
    """Where a journal is not what the run machine wrote."""

    at: int
    """The event's position, from 1."""
    detail: str
    """The difference."""


class ReportItem(Wire):
    """An item of a report: one finding (000 §2.14 `report_item_id`)."""

    change: Literal["new", "unchanged", "resolved"]
    """How it compares with the previous occurrence."""
    evidence_ids: list[str]
    """The evidence records that support it."""
    finding_id: str
    """The finding."""
    report_item_id: str
    """Id of the item."""
    resource_id: str
    """Id of the resource in its own system."""
    resource_type: str
    """Type of the resource."""
    rule_id: str
    """Rule that produced it."""
    severity: Literal["critical", "high", "medium", "low", "info"] | str
    """Its severity."""
    skill_id: str
    """Skill that contains the rule."""


class ReportedResult(Wire):
    """A person's report that an interrupted call happened."""

    output: Any
    """The output of the call; `null` if it is unknown."""


class Request(Wire):
    """A recorded request."""

    answer: Any
    """The answer or error; absent while the request is in progress."""
    created_at: AwareDatetime
    """When it was received."""
    received: dict[str, Any]
    """The request as received, with a snapshot of the caller's identity and level."""
    request_id: str
    """Its id."""
    result: Any
    """The result of that run, once it has ended: an answer with an id of its own."""
    run_id: str | None
    """The run whose end is the result, if the request changes something."""
    updated_at: AwareDatetime
    """When it last changed."""
    verdict: Any
    """The routing verdict; absent before routing."""


class RequestConfirmation(Wire):
    """The confirmed document."""

    document: str | None = None
    """The skill or playbook with the right answer; required if several answered."""


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


class RequestEventRef(Wire):
    """The data of an event about a request."""

    request_id: str
    """The request."""
    response_id: str
    """The response with the run's result."""
    run_id: str
    """The run that made the request's change."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """How the run ended."""


class RequestSummary(Wire):
    """A request in a list."""

    created_at: AwareDatetime
    """When it was received."""
    error_code: str | None
    """The code of the failure."""
    findings: list[FindingCount]
    """The findings of the answer by severity, the worst first."""
    input: str
    """The first characters of its text."""
    outcome: str | None
    """The first characters of the answer, or the message of the failure."""
    request_id: str
    """Its id."""
    result_status: str | None
    """The status with which that run ended."""
    run_ids: list[str]
    """The runs by its verdict, the run of a change included; none before it is routed."""
    session_id: str | None
    """Its session."""
    state: Literal["open", "answered", "failed"]
    """How far it is."""
    updated_at: AwareDatetime
    """When it last changed."""
    user_id: str
    """The user who sent it."""


class RequestTags(Wire):
    """The properties of the request that guardrails may read (seed 000 §2.10)."""

    flow: Literal["skill", "read_broad", "rag_search", "knowledge", "write", "code_gen_read", "code_gen_write", "code_gen_direct"] | str | None = (
        None
    )
    """The flow that answers the request; absent for a plan or a mission, which has no request."""
    persona: str
    """The persona of the answer."""
    tier: Literal["basic", "advanced"] | str
    """The tier of the answer."""


class ResearchArtifactResult(Wire):
    """One result of a search."""

    confidence: float
    """Confidence in the source."""
    retrieved_at: AwareDatetime
    """Retrieval time."""
    snippet: str = ""
    """Excerpt from the source."""
    source_type: str
    """Type of the source: `web`."""
    title: str
    """Title of the source."""
    url: str
    """URL of the source; http or https (B002-7)."""


class ResearchArtifact(Wire):
    """The results of one search."""

    actor_id: str | None = None
    """Actor of the mission; set on storage."""
    artifact_id: str
    """Id of the artifact."""
    created_at: AwareDatetime
    """Creation time."""
    mission_id: str
    """Id of the mission."""
    producer: str
    """Producer of the artifact."""
    provider: str
    """Search provider: `brave`."""
    query: str
    """The question."""
    results: list[ResearchArtifactResult] = Field([], validate_default=True)
    """Results."""
    schema_name: Literal["research_artifact"]
    """Always `research_artifact`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    task_id: str
    """Id of the task."""
    tenant_id: str | None = None
    """Tenant of the mission; set on storage."""


class ResourceCoverage(Wire):
    """A resource type of a control, with what covers it."""

    covered_by: list[CoveringAction]
    """Skills and playbooks that call a tool for it."""
    resource_type: str
    """The resource type."""


class ResultSourceReported(Wire):
    approval: str
    """The approval that the report answers."""
    by: str
    """The user."""
    makers: list[str] | None = None
    """The makers of their key."""
    reason: str | None = None
    """The user's explanation."""


class ReviewPacketIssue(Wire):
    """An issue found in a review."""

    message: str
    """Description of the issue."""
    severity: Literal["critical", "high", "medium", "low", "info"]
    """Severity of the issue."""


class ReviewPacket(Wire):
    """The outcome of a review."""

    actor_id: str | None = None
    """Actor of the mission; set on storage."""
    approved_output: dict[str, Any] | None = None
    """Approved output."""
    created_at: AwareDatetime
    """Creation time."""
    issues: list[ReviewPacketIssue] = Field([], validate_default=True)
    """Issues found."""
    mission_id: str
    """Id of the mission."""
    packet_id: str
    """Id of the packet."""
    producer: str
    """Producer of the artifact."""
    required_edits: list[str] = []
    """Edits required for the approval."""
    review_status: Literal["approved", "approved_with_edits", "rejected"]
    """Outcome."""
    schema_name: Literal["review_packet"]
    """Always `review_packet`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    tenant_id: str | None = None
    """Tenant of the mission; set on storage."""


class Rights(Wire):
    """Rights of a credential within its tenant."""

    agent_skills: list[str]
    """The skills of the link graph within its reach."""
    catalogue: Literal["viewer", "editor", "admin"] | str
    """Its catalogue role."""
    profile: str | None = None
    """
    Profile that limits the agents whose skills the credential may use: those that list it in `usable_in_profiles`,
    and those that list none (000 §2.11). All agents when absent.
    """
    role: Literal["user", "operator", "admin"] | str
    """Level: `user`, `operator` or `admin`."""
    scopes: list[str]
    """Scopes: the parts of the interface that the credential may use."""
    tier: Literal["basic", "advanced"] | str
    """Its maximum tier."""


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
    """One candidate, with the parts of its score."""

    cosine: float | None
    """Similarity of meaning; absent if only words were compared."""
    coverage: float | None
    """The lexical score as a share of the maximum for the query, 0 to 1; absent in older verdicts."""
    fused: float
    """The ranking score within this query."""
    id: str
    """Its id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "schedule", "tag_record", "evidence"] | str
    """Its kind."""
    lexical: float
    """Words in common, weighted."""
    name_match: Literal["exact", "fuzzy"] | None = None
    """How the query names it, if it does; named documents come first."""
    scope: Literal["tenant", "global"]
    """The layer it came from."""
    score: float
    """Probability that it is right, 0 to 1; thresholds refer to it."""


class RoutedClause(Wire):
    """One clause of a request that asks for several things."""

    candidates: list[RoutedCandidate]
    """Its candidates, best first."""
    text: str
    """Its words."""


class RoutingTest(Wire):
    """A routing test of a package: a query with its expected results."""

    advisory: bool | None = None
    """
    Whether the test is left out with a warning if it fails, instead of refusing the package: for tests that an
    import made from the words of others.
    """
    expect: str | None = None
    """Skill or playbook that the query must be routed to."""
    expect_miss: bool = False
    """Whether the query must match nothing."""
    expect_not: list[str] | None = None
    """Skills and playbooks that the query must not be routed to."""
    query: str
    """Query, as a user would write it."""


class RuleResult(Wire):
    """The result of one rule for an effect."""

    id: str
    """The rule's id: that of a guardrail, policy, tool, playbook or approval."""
    kind: Literal["permission", "policy", "guardrail", "rate_limit", "tool", "safety", "interrupted", "same_call", "approval"]
    """The kind of the rule."""
    message: str
    """The message for people."""
    note: str | None = None
    """The reason why the rule could not be evaluated, if it could not."""


class RunAbort(Wire):
    """The reason for an abort, and whether to roll back."""

    reason: str | None = None
    roll_back: bool = False


class RunConfirmation(Wire):
    """A person's confirmation of a plan."""

    digest: str
    typed: str | None = None


class RunEventRef(Wire):
    """The data of an event about a run."""

    run_id: str
    """The run."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """Its status now."""


class RunEvidence(Wire):
    """One record of a run, as shown with the run."""

    evidence_id: str
    """The record."""
    receipt: EvidenceReceiptModel | None = None
    """Receipt of a record that a caller submitted and attached to the run."""
    step: str | None = None
    """
    The step whose result it records. Absent for a record that was attached later, and for a step that a fallback
    replaced.
    """
    summary: str
    """Summary of the result."""
    warning: str | None = None
    """The record's defect, if it has one."""


class RunParameters(Wire):
    """Values for a run's parameters."""

    parameters: dict[str, Any]


class RunQuotaUsage(Wire):
    """How many runs of a tenant are under way or wait, and how many may."""

    limit: int
    """How many may."""
    unfinished: int
    """How many do, counted up to `limit`."""


class RunReplay(Wire):
    """The result of a strict replay."""

    divergence: ReplayDivergence | None
    """The first event that does not follow from those before it; absent if all do."""
    events: int
    """Events of the journal."""
    head: str
    """Hash of the last event, to which all others are chained."""
    run_id: str
    """The run."""
    state_digest: str | None = None
    """Digest of the whole state: equal for equal journals."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str | None = (
        None
    )
    """The run's status after them, or before the first invalid event; absent if that is the first event."""


class RunSummary(Wire):
    """A run in a listing."""

    created_at: AwareDatetime
    """When it was created."""
    run_id: str
    """Its id."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """The status: `working`, `awaiting_approval`, `completed` and so on."""
    title: str
    """The run's title, which names its origin."""
    updated_at: AwareDatetime
    """When it last changed."""
    version: int
    """Number of events in the journal."""


class SaltedPayload(Wire):
    """A payload with the salt that is hashed before it."""

    salt: str
    """32 bytes in hexadecimal."""
    text: str
    """The payload."""


class ScheduleRun(Wire):
    """A registered skill."""

    skill: str


class ScheduleRun1(Wire):
    """A registered playbook. A trigger only proposes it: its run waits for a person's confirmation."""

    playbook: str


class ScheduleRun2(Wire):
    """An execution plan (003 Execution Plan Schema). Each occurrence is a request of its own."""

    plan: dict[str, Any]


class ScheduleRun3Mission(Wire):
    """A mission that a schedule starts."""

    goal: str
    """The goal."""
    mission_type: str | None = None
    """The mission type; `general` when absent."""
    offline: bool = False
    """Whether the offline provider answers for the roles, so that no model is asked."""
    requested_outputs: list[str] | None = None
    """Requested outputs; those of its type when empty."""


class ScheduleRun3(Wire):
    """A mission."""

    mission: ScheduleRun3Mission
    """A mission that a schedule starts."""


class ScheduleWhenCron(Wire):
    """The times of a cron expression."""

    expression: str
    """Five fields: minute, hour, day of the month, month, day of the week: `0 2 * * MON-FRI`."""
    time_zone: str
    """Time zone of the expression, by its IANA name: `Europe/Paris`."""


class ScheduleWhen(Wire):
    """At the times of a cron expression."""

    cron: ScheduleWhenCron
    """The times of a cron expression."""


class ScheduleWhen1(Wire):
    """At a fixed interval in seconds, counted from the time when the schedule was enabled."""

    every_s: int


class ScheduleWhen2(Wire):
    """Once."""

    at: AwareDatetime


class ScheduleWhen3Webhook(Wire):
    """A trigger by signed webhooks (Standard Webhooks)."""

    types: list[str] = []
    """Accepted values of the body's `type`; any body when empty."""


class ScheduleWhen3(Wire):
    """When a signed webhook arrives."""

    webhook: ScheduleWhen3Webhook
    """A trigger by signed webhooks (Standard Webhooks)."""


class ScheduleWhen4Finding(Wire):
    """A trigger by new findings."""

    domain: str | None = None
    """Only findings of skills of this domain."""
    min_severity: Literal["critical", "high", "medium", "low", "info"] | None = None
    """Only findings of at least this severity."""
    resource_type: str | None = None
    """Only findings about resources of this type."""
    rule: str | None = None
    """Only findings of this rule."""
    schedule: str | None = None
    """Only findings of this schedule."""
    skill: str | None = None
    """Only findings of this skill."""


class ScheduleWhen4(Wire):
    """When a schedule of the tenant finds something new that matches."""

    finding: ScheduleWhen4Finding
    """A trigger by new findings."""


class Schedule(Wire):
    """A schedule, or a trigger."""

    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    description: str = ""
    """Purpose of the schedule."""
    domain: str | None = None
    """Domain of the schedule."""
    jitter_s: int | None = None
    """Longest random delay of a start, in seconds. The delay of an occurrence is the same on each server."""
    missed: Literal["run_once", "skip", "run_all"] = "run_once"
    """The treatment of occurrences that passed while no server was running."""
    overlap: Literal["skip", "queue", "allow"] = "skip"
    """The treatment of an occurrence while work of an earlier one is unfinished."""
    parameters: dict[str, Any] = {}
    """Values of parameters, exact: they contain no placeholders."""
    parameters_from: dict[str, str] | None = None
    """Parameters whose values are in the event of a trigger, each with a JSON pointer into it: `/data/bucket`."""
    run: ScheduleRun | ScheduleRun1 | ScheduleRun2 | ScheduleRun3
    """The work that it starts."""
    schedule_id: str
    """Id of the schedule."""
    status: Literal["active", "inactive"] = "active"
    """Status in the catalogue."""
    tenant_id: str | None = None
    """Tenant of the schedule; absent for a global one."""
    title: str
    """Title."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""
    when: ScheduleWhen | ScheduleWhen1 | ScheduleWhen2 | ScheduleWhen3 | ScheduleWhen4
    """When it fires."""


class ScheduleEventRef(Wire):
    """The data of an event about a schedule."""

    by: str
    """The user who changed it."""
    schedule_id: str
    """The schedule."""


class ScheduleReport(Wire):
    """The report of an occurrence: its items, new ones first, then unchanged and resolved ones."""

    items: list[ReportItem]
    """Items."""
    new: int
    """Number of new findings."""
    omitted: int
    """Findings that are not among the items, because a report keeps `SCHEDULE_REPORT_ITEMS`."""
    resolved: int
    """Number of resolved findings."""
    unchanged: int
    """Number of unchanged findings."""


class ScheduleRequest(Wire):
    """A request to enable a schedule: the id of a registered one, or a definition."""

    schedule: dict[str, Any] | None = None
    """A definition that is in no package."""
    schedule_id: str | None = None
    """Id of a schedule in the catalogue."""


class SchemaSummary(Wire):
    name: str
    source: str
    title: str


class SessionHistoryItem(Wire):
    """One turn of a session."""

    content: str
    """Text of the turn."""
    request_id: str | None = None
    """Request that the turn belongs to."""
    role: Literal["user", "assistant", "tool"]
    """Speaker."""
    timestamp: AwareDatetime
    """Time of the turn."""


class Session(Wire):
    """A session."""

    created_at: AwareDatetime
    """Creation time."""
    expires_at: AwareDatetime
    """Expiry time; from then on the session is over."""
    history: list[SessionHistoryItem] = Field([], validate_default=True)
    """Turns, oldest first."""
    id: str
    """Id of the session."""
    max_history: int
    """Maximum number of turns kept; older turns are dropped."""
    metadata: dict[str, Any] | None = None
    """Additional free-form data."""
    tenant_id: str
    """Tenant of the session."""
    updated_at: AwareDatetime | None = None
    """Time of last use."""
    user_id: str | None = None
    """User of the session."""


class SessionTurn(Wire):
    """One question and its answer."""

    at: AwareDatetime
    """When it was answered."""
    input: str
    """The question."""
    output: str | None
    """The answer; absent if the request failed."""
    request_id: str
    """The request."""


class SessionView(Wire):
    """A session as shown to its user."""

    created_at: AwareDatetime
    """When it was opened."""
    expires_at: AwareDatetime
    """When it ends unless a turn extends it."""
    session_id: str
    """Its id."""
    turns: list[SessionTurn]
    """Its newest turns, oldest first."""


class SignInProvider(Wire):
    """An identity provider at which users sign in."""

    issuer: str
    """Its issuer, by which a sign-in names it."""
    label: str
    """Its name for users."""


class SignInRequest(Wire):
    """A request to sign in."""

    issuer: str | None = None
    """The issuer of the identity provider; may be absent if there is only one."""


class SignInStart(Wire):
    """A started sign-in."""

    authorization_url: str
    """The page of the identity provider on which the user signs in."""
    expires_at: AwareDatetime
    """Until when the sign-in can be completed."""
    redirect_uri: str
    """Where it sends the browser back."""


class SignedOut(Wire):
    """An ended session."""

    sign_out_url: str | None = None
    """Where the user can end the session at the identity provider too, if it has such an address."""


class SingleLensSearch(Wire):
    """A search of one lens."""

    query: str
    top_k: int | None = None


class SkillAnalysisFinding(Wire):
    """A jq filter whose outputs are findings (this project)."""

    description: str = ""
    """Description of the finding that the rule detects."""
    filter: str
    """The jq filter. It is compiled where it runs, not here."""
    from_: str = Field(..., alias="from")
    """Step whose output the rule reads."""
    rule_id: str
    """Id of the rule, unique within the skill."""
    triggers: list[str] | None = None
    """`trigger_conditions` of playbooks that the findings meet; these playbooks are offered with the answer."""


class SkillAnalysisModel(Wire):
    """Language model that writes the answer."""

    may: list[Literal["summary", "impact", "ranking", "answer"]]
    """Contributions that the model may make; at least one."""
    route: str
    """Route to the model. Without such a route, the answer is made without a model."""


class SkillAnalysis(Wire):
    """Rules that turn step outputs into findings (this project)."""

    findings: list[SkillAnalysisFinding] = Field([], validate_default=True)
    """Rules, in evaluation order. A skill without rules returns its tools' results."""
    model: SkillAnalysisModel | None = None
    """Language model that writes the answer."""
    summary: str | None = None
    """Template of the summary over the findings."""


class SkillContext(Wire):
    """Context that the skill needs."""

    context_descriptions: list[str] = []
    """Descriptions in natural language; embedded."""
    supported_context_types: list[str] = []
    """Context types that agents declare."""


class SkillExecutionPlanStep(Wire):
    """One step of a skill's plan."""

    cache_ttl_seconds: int | None = None
    """Time for which the output may be reused, in seconds."""
    depends_on: list[str] | None = None
    """Ids of the steps that must succeed first (this project)."""
    description: str = ""
    """Purpose of the step."""
    on_failure: Literal["stop", "rollback", "skip", "continue"] | None = None
    """Effect of a failure on the run (this project); `stop` when absent."""
    parameters: dict[str, Any] | None = None
    """
    Arguments of the tool (this project). Strings may contain `${user.x}` and `${step_1.path}`; values are filled
    in later, as data.
    """
    step_id: str
    """Id of the step, unique within the plan."""
    timeout_ms: int | None = None
    """Time limit of one attempt, in milliseconds (this project)."""
    tool_id: str
    """Tool to call."""
    type: Literal["readonly", "read", "write"]
    """Type of the step. `read` is accepted and stored as `readonly`, the only type in a skill (B000-11)."""


class SkillExecutionPlan(Wire):
    """Steps that fetch the data."""

    steps: list[SkillExecutionPlanStep]
    """Steps, in listed order; at least one."""


class SkillParameter(Wire):
    """
    A parameter of a tool, skill or playbook (000 §2.4).

    `default`, `enum` and `pattern` are this project's additions to tools; the seed itself has `default` in playbooks.
    """

    default: Any | None = None
    """Default value. `null` counts as no default."""
    description: str = ""
    """Its description."""
    enum: list[Any] | None = None
    """Allowed values."""
    example: Any | None = None
    """Example of an accepted value."""
    name: str
    """Name of the parameter, unique within its list."""
    other_types: list[Literal["string", "number", "integer", "boolean", "array", "object"]] | None = (
        None
    )
    """Further types that the value may have (this project)."""
    pattern: str | None = None
    """Regular expression that a string value must match anywhere, like `pattern` in JSON Schema."""
    required: bool = False
    """Whether a caller must supply the parameter. In a playbook, the containing list decides."""
    schema_: dict[str, Any] | None = Field(None, alias="schema")
    """
    JSON Schema of the value, with rules that the other fields cannot express (this project). Both apply. A property
    of a tool's `input_schema` has its part of that schema here.
    """
    synonyms: dict[str, list[str]] | None = None
    """
    Synonyms for allowed values, by value; for a boolean, by `true` and `false`. Requests in natural language may
    use them, callers may not (this project).
    """
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of the value."""
    wire_name: str | None = None
    """
    Name on the server of an imported tool, if that is not a valid parameter name here: `$filter` (this project).
    Callers may use either name.
    """


class Skill(Wire):
    """A skill: one question that the system can answer."""

    analysis: SkillAnalysis | None = None
    """Rules that turn step outputs into findings (this project)."""
    approach_hints: list[str] = []
    """Hints for the analysis of the output."""
    capabilities: list[str] = []
    """Capabilities, one line each."""
    capability_id: str | None = None
    """Capability that the skill shares with other skills."""
    context: SkillContext = Field(
        {"context_descriptions": [], "supported_context_types": []},
        validate_default=True,
    )
    """Context that the skill needs."""
    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    description: str
    """Description, in a sentence or two."""
    display_name: str
    """Display name."""
    domain: str
    """Domain of the skill."""
    embedding: list[float] | None = None
    """Embedding of the document, if it includes one."""
    examples: list[str] | None = None
    """Example utterances that should be routed to this skill (this project)."""
    execution_plan: SkillExecutionPlan
    """Steps that fetch the data."""
    generated_by: Literal["registered", "code_agent"] | None = None
    """Origin of the skill (this project, for skills)."""
    grounding_agent: str | None = None
    """Agent whose boundary grounded the generation (this project)."""
    is_candidate: bool | None = None
    """
    Whether it was generated and not yet accepted: visible to its own tenant only, and not routed to (this project,
    for skills; 000 §2.8 has it for playbooks).
    """
    name: str
    """Short name, within the domain."""
    output_type: str
    """Kind of the output, which selects a template: `finding`."""
    parameters: list[SkillParameter] | None = None
    """Parameters (this project)."""
    purpose: str
    """Purpose of the skill; the first of the embedded fields."""
    skill_id: str
    """Id of the skill, e.g. `security.detect_public_ingress`."""
    status: Literal["active", "inactive"] = "active"
    """Status in the catalogue."""
    tenant_id: str | None = None
    """Tenant of the skill; absent for a global skill."""
    tier: Literal["basic", "advanced"] = "basic"
    """Lowest tier that may use the skill."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""


class SkillBulk(Wire):
    skills: list[AgentSkill]


class SkillFilesFile(Wire):
    """A file in transfer: text where possible, else base64."""

    base64: str | None = None
    """Its content, as base64 of RFC 4648."""
    executable: bool = False
    """Whether it may be executed."""
    path: str
    """Its path with `/`, relative to the directory that holds the skills."""
    text: str | None = None
    """Its content, as text."""


class SkillFiles(Wire):
    """Directories of Agent Skills."""

    files: list[SkillFilesFile]
    """Every file."""


class SkillSearch(Wire):
    """A search: by words or by a vector of the index's model."""

    only: Literal["folders", "leaves"] | None = None
    """Only folders, or only leaves."""
    query: str | None = None
    """The query as text."""
    top_k: int | None = None
    """Maximum hits, 1 to 100; 10 when absent."""
    vector: list[float] | None = None
    """The query as a vector."""


class SkipReason(Wire):
    """The reason why a step does not start."""

    approval: str | None = None
    """The approval's id."""
    because: Literal["condition", "dry_run", "excluded", "source"] | str
    by: str | None = None
    """The approver."""
    step: str | None = None
    """The earlier step."""


class SkippedLensFile(Wire):
    """A file of a folder that cannot be read."""

    file: str
    """Its path in the package."""
    reason: str
    """Why."""


class SlackDecision(Wire):
    """The result of an interaction in Slack."""

    approval_id: str | None = None
    """The approval; absent if the interaction was only a link."""
    state: str | None = None
    """Its state now."""


class SpellingCorrection(Wire):
    """A corrected word."""

    corrected: str
    """The correction."""
    typed: str
    """The typed word."""


class StartedWorkStartedWork(Wire):
    """A request that a skill answers."""

    request: str


class StartedWorkStartedWork1(Wire):
    """A run of a playbook or plan."""

    run: str


class StartedWorkStartedWork2(Wire):
    """Runs of a playbook that findings propose, one for each object of parameters."""

    runs: list[str]


class StartedWorkStartedWork3(Wire):
    """A mission."""

    mission: str


class StepBranch(Wire):
    """A branch of a choice."""

    next: str
    """The step it leads to."""
    when: str
    """The CEL expression."""


class StepEdge(Wire):
    """A step's condition on an earlier step."""

    from_: str = Field(..., alias="from")
    """The earlier step."""
    on: Literal["success", "failure", "settled", "chosen"]
    """The required result."""


class StepFailure(Wire):
    """The failure of a step."""

    account: MissingAccount | None = None
    """The account of the user that the call lacked."""
    code: str
    """The stable code, e.g. `tool_failed`."""
    kind: Literal["input_error", "execution_error", "resource_error", "permission_error", "timeout_error", "system_error"] | str
    """One of the six kinds."""
    message: str
    """The message for people; no secrets, no paths."""
    retryable: bool
    """Whether the same call may succeed later."""


class StepItem(Wire):
    """One item of a list for whose items a step is repeated."""

    number: int
    """The position of the item, from 1."""
    of: str
    """The repeated step."""
    value: Any
    """The item."""


class StepRetry(Wire):
    """The retries of a step (B003-7)."""

    delay_ms: int
    """Time between attempts, in milliseconds."""
    retries: int
    """Retries after the first attempt."""


class StepWait(Wire):
    """A condition that a step waits for."""

    approval: str | None = None
    """The approval's id."""
    due: AwareDatetime | None = None
    """The earliest time of the next attempt."""
    expires_at: AwareDatetime | None = None
    """The time at which it lapses."""
    for_: (
        Literal[
            "approval",
            "confirmation",
            "moment",
            "parameters",
            "resumption",
            "rollback",
            "run",
            "step",
        ]
        | str
    ) = Field(..., alias="for")
    missing: list[str] | None = None
    """The parameters."""
    of: str | None = None
    """The reversed step."""
    on: Literal["success", "failure", "settled", "chosen"] | None = None
    """The required result."""
    run: str | None = None
    """The other run."""
    step: str | None = None
    """The step."""


class StopCause(Wire):
    """The reason why a run stops early."""

    because: Literal["aborted", "failure", "timed_out", "token_budget_exhausted"] | str
    by: str | None = None
    """The user."""
    failure: StepFailure | None = None
    """The failure."""
    reason: str | None = None
    """The reason."""
    step: str | None = None
    """The step."""


class TagRecord(Wire):
    """The tags of one request."""

    domain: str
    """Domain; required in every flow (B000-15)."""
    execution_location: Literal["client", "server"] | None = None
    """Location where effects are executed."""
    expires_at: AwareDatetime | None = None
    """Expiry time, after which the record reads as absent. The store sets it: one hour unless configured (ruling 18)."""
    flow: Literal["skill", "read_broad", "rag_search", "knowledge", "write", "code_gen_read", "code_gen_write", "code_gen_direct"]
    """Flow that answers the request."""
    output_type: str | None = None
    """Kind of the output."""
    owner_agent_id: str | None = None
    """Agent that owns the skill, if one refers to it (ruling 8)."""
    param_set: dict[str, Any] | None = None
    """Parameters; for flow `write`, redacted in logs."""
    persona: str
    """Persona; required in every flow (B000-15)."""
    playbook_id: str | None = None
    """Playbook; for flow `write`."""
    provider: str | None = None
    """Cloud provider of the question; for flow `rag_search`."""
    rag_params: dict[str, Any] | None = None
    """Search parameters; for flow `rag_search`."""
    request_id: str
    """Id of the request, in this family's form (ruling 25)."""
    session_id: str | None = None
    """Session of the request."""
    skill_id: str | None = None
    """Skill; for flow `skill`."""
    skill_ids: list[str] | None = None
    """Skills; for flow `read_broad`."""
    tenant_id: str
    """Tenant of the caller."""
    tier: Literal["basic", "advanced"] | None = None
    """Tier of the caller."""
    tool_ids: list[str] | None = None
    """Tools that will be called; for flow `write`."""
    user_id: str | None = None
    """User who made the request."""


class Template(Wire):
    """A template."""

    agent_id: str | None = None
    """Agent that the template is for (this project; ruling 7)."""
    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    domain: str | None = None
    """Domain of the template; absent for the global default."""
    output_type: str
    """Kind of output that the template renders; must match (B000-14)."""
    personas: list[str] | None = None
    """Personas that the template is for (this project); all when empty."""
    rendering_hints: dict[str, Any] | None = None
    """Hints for displaying the output."""
    skill_id: str | None = None
    """Skill that the template is for."""
    status: Literal["active", "inactive"] = "active"
    """Status in the catalogue (this project, for templates)."""
    structure: dict[str, Any]
    """Structure of the output, with `{{name}}` in place of values."""
    template_id: str
    """Id of the template."""
    tenant_id: str | None = None
    """Tenant of the template; absent for a global template."""
    tier: Literal["basic", "advanced"] = "basic"
    """Lowest tier that may use the template."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""


class Thresholds(Wire):
    """The thresholds of a verdict (B000-3)."""

    floor: float
    """Candidates with a lower score are dropped."""
    margin: float
    """Lead in fused score that it needs for that."""
    narrow: float
    """Score from which on the best candidate may be the only answer."""


class TokenUsage(Wire):
    """Tokens that models used."""

    input: int
    """Tokens of the models' inputs."""
    output: int
    """Tokens of the models' outputs."""


class ToolCredential(Wire):
    """A credential that a tool uses (this project)."""

    name: str
    """Name of the credential in the configuration: `github`."""
    variable: str
    """
    Variable that has its secret during a call: a script reads it from its environment, an HTTP template as
    `${env.NAME}`.
    """


class ToolEvidenceConsole(Wire):
    """Page that shows the original, for a system other than AWS, Azure and Google Cloud."""

    href: str
    """URL of the page."""
    label: str
    """Label of the link."""


class ToolEvidence(Wire):
    """Conversion of the result into evidence (this project)."""

    account_id: str | None = None
    """jq filter for the account."""
    console: ToolEvidenceConsole | None = None
    """Page that shows the original, for a system other than AWS, Azure and Google Cloud."""
    native_id: str | None = None
    """jq filter over `{parameters, output}` for the native id."""
    redaction_class: Literal["standard", "restricted", "secret"] | None = None
    """Redaction class of the payload; when absent, every reader of the record may read it."""
    region: str | None = None
    """jq filter for the region."""
    summary: str | None = None
    """Template of the summary."""
    system: str
    """Source system: `aws.ec2`."""
    type: Literal["cloudtrail_event", "azure_activity_log", "config_snapshot", "iam_policy", "billing_line", "metric_point", "log_line", "deployment_record", "pr_record", "commit_record", "approval_record", "api_call", "manual_note"]
    """Type of the evidence."""


class ToolImplementation(Wire):
    """Implementation of a tool (this project)."""

    body: Any | None = None
    """It depends on the form."""
    body_format: Literal["form", "json", "multipart", "text"] | str | None = None
    definition: str | None = None
    """Digest of the imported definition: `sha256:…`."""
    headers: dict[str, str] | None = None
    """HTTP headers."""
    input_schema: dict[str, Any] | None = None
    """
    JSON Schema of the arguments, as provided by the server, which enforces it. It is here if it cannot be the
    tool's own `input_schema`; Charter then checks `parameters` instead.
    """
    list_separators: dict[str, str] | None = None
    """Separators of lists in query parameters, by the name of the parameter; without one, a list repeats the name."""
    method: Literal["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"] | str | None = None
    name: Literal["command.run", "env.get", "fs.copy", "fs.create", "fs.delete", "fs.edit", "fs.list", "fs.make_directory", "fs.move", "fs.read", "fs.search", "fs.stat", "fs.write", "net.get", "net.request", "visualise", "web.search"] | str | None = (
        None
    )
    path: str | None = None
    """Path of a package file, relative to the package root."""
    query: dict[str, str] | None = None
    """Query parameters."""
    server: str | None = None
    """Name of the server in the configuration."""
    stage: Literal["aggregate", "pass", "plan", "playbook", "prompt", "research", "review", "webhook", "work"] | str | None = (
        None
    )
    tool: str | None = None
    """Name of the tool on its server."""
    type: Literal["analysis", "builtin", "http", "mcp", "script", "stage"] | str
    url: str | None = None
    """URL, with placeholders."""


class ToolParameter(Wire):
    """
    A parameter of a tool, skill or playbook (000 §2.4).

    `default`, `enum` and `pattern` are this project's additions to tools; the seed itself has `default` in playbooks.
    """

    default: Any | None = None
    """Default value. `null` counts as no default."""
    description: str = ""
    """Its description."""
    enum: list[Any] | None = None
    """Allowed values."""
    example: Any | None = None
    """Example of an accepted value."""
    name: str
    """Name of the parameter, unique within its list."""
    other_types: list[Literal["string", "number", "integer", "boolean", "array", "object"]] | None = (
        None
    )
    """Further types that the value may have (this project)."""
    pattern: str | None = None
    """Regular expression that a string value must match anywhere, like `pattern` in JSON Schema."""
    required: bool = False
    """Whether a caller must supply the parameter. In a playbook, the containing list decides."""
    schema_: dict[str, Any] | None = Field(None, alias="schema")
    """
    JSON Schema of the value, with rules that the other fields cannot express (this project). Both apply. A property
    of a tool's `input_schema` has its part of that schema here.
    """
    synonyms: dict[str, list[str]] | None = None
    """
    Synonyms for allowed values, by value; for a boolean, by `true` and `false`. Requests in natural language may
    use them, callers may not (this project).
    """
    type: Literal["string", "number", "integer", "boolean", "array", "object"]
    """Type of the value."""
    wire_name: str | None = None
    """
    Name on the server of an imported tool, if that is not a valid parameter name here: `$filter` (this project).
    Callers may use either name.
    """


class ToolPreview(Wire):
    """Preview of a write, which its approval shows (this project)."""

    present: str | None = None
    """
    Readonly tool that reads the present state, called likewise. When absent, the result of the preview holds both
    states, in fields named `before` and `after` or with names that end so.
    """
    tool: str | None = None
    """
    Readonly tool that computes what the write would change, called with those of its arguments that the tool
    declares. When absent, the write itself is called with `dry_run: true`.
    """


class ToolRateLimit(Wire):
    """Rate limit (003 Tool Definition Schema)."""

    burst: int | None = None
    """Maximum number of calls in a burst; `requests_per_minute` when absent."""
    requests_per_minute: int
    """Sustained number of calls per minute."""


class Tool(Wire):
    """A tool of the catalogue."""

    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    credentials: list[ToolCredential] | None = None
    """Credentials of the configuration that each call of the tool uses (this project)."""
    description: str
    """Description of the tool's effect."""
    display_name: str | None = None
    """Readable name (this project); `name` when absent."""
    domain: str
    """Domain of the tool."""
    egress: list[str] | None = None
    """Host patterns that the tool may reach (this project): `*.amazonaws.com`."""
    embedding: list[float] | None = None
    """Embedding of the document, if it includes one."""
    environment: list[str] | None = None
    """Names of the environment variables that the tool needs (this project)."""
    evidence: ToolEvidence | None = None
    """Conversion of the result into evidence (this project)."""
    examples: list[str] | None = None
    """Example utterances that call for this tool (this project)."""
    execution_target: Literal["client", "server"] = "client"
    """Execution location."""
    idempotent: bool = False
    """
    Whether repeating a call with the same arguments has no further effect (this project). An interrupted write is
    repeated without confirmation only if its tool is idempotent.
    """
    implementation: ToolImplementation | None = None
    """Implementation (this project). Absent if the client provides one."""
    input_schema: dict[str, Any] | None = None
    """
    JSON Schema of the arguments object: 2020-12, or the draft that `$schema` names, with references into itself
    (this project). A tool has either a schema or `parameters`.
    """
    language: Literal["python", "bash", "http", "builtin", "mcp"]
    """Language of the implementation."""
    name: str
    """Short name."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of the output."""
    parameters: list[ToolParameter] = Field([], validate_default=True)
    """Parameters: a flat list, which is a shorthand for `input_schema`."""
    permission_level: Literal["user", "system", "admin"] = "user"
    """Permission level that a caller needs (003 Tool Definition Schema)."""
    preview: ToolPreview | None = None
    """Preview of a write, which its approval shows (this project)."""
    provider: str
    """Provider of the service: `aws`."""
    rate_limit: ToolRateLimit | None = None
    """Rate limit (003 Tool Definition Schema)."""
    requires_approval: bool = False
    """Whether each call needs an approval (ruling 10)."""
    service: str | None = None
    """Service: `ec2`."""
    status: Literal["active", "inactive"] = "active"
    """Status in the catalogue (this project, for tools)."""
    tenant_id: str | None = None
    """Tenant of the tool (this project, for tools); absent for a global tool."""
    timeout_ms: int | None = None
    """Time limit of one call, in milliseconds (this project)."""
    tool_class: Literal["readonly", "write", "internal"]
    """Class of the tool: readonly, write or internal."""
    tool_id: str
    """Id of the tool, e.g. `aws.describe_security_groups`."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""


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
    """One tool call."""

    dry_run: bool = False
    """Whether to change nothing (dry run)."""
    id: str
    """Id of the call."""
    idempotency_key: str | None = None
    """Idempotency key: repeated calls with the same key have the effect once."""
    metadata: dict[str, Any] | None = None
    """Additional free-form data."""
    parameters: dict[str, Any]
    """Arguments, by name."""
    permission_level: Literal["user", "system", "admin"] = "user"
    """Permission level of the call."""
    request_id: str | None = None
    """Request that the call serves."""
    session_id: str | None = None
    """Session of the call."""
    step_id: str | None = None
    """Plan step that the call belongs to."""
    timeout_ms: int | None = None
    """Time limit, in milliseconds."""
    timestamp: AwareDatetime
    """Time of the request for the call."""
    tool: str
    """Tool to call."""


class ToolResultError(Wire):
    """Failure, if the call did not succeed."""

    error_code: str | None = None
    """Error code, more specific than the type."""
    error_type: Literal["input_error", "execution_error", "resource_error", "permission_error", "timeout_error", "system_error"]
    """One of the six error types."""
    message: str
    """The failure message."""


class ToolResult(Wire):
    """The result of a tool call."""

    attempts: int | None = None
    """Number of attempts."""
    error: ToolResultError | None = None
    """Failure, if the call did not succeed."""
    evidence_ids: list[str] | None = None
    """Ids of the supporting evidence records."""
    execution_time_ms: int | None = None
    """Duration of the last attempt, in milliseconds."""
    from_cache: bool = False
    """Whether the result was served from the cache."""
    invocation_id: str
    """Id of the call."""
    metadata: dict[str, Any] | None = None
    """Additional free-form data."""
    result: Any | None = None
    """Result returned by the tool; null means no result."""
    status: Literal["success", "error", "timeout", "denied"]
    """Status of the call."""
    timestamp: AwareDatetime
    """End time."""
    tool: str
    """The called tool."""


class ValueSource(Wire):
    """The source of a value."""

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
    """The request."""
    words: str | None = None
    """The words."""


class Violation(Wire):
    """One violation."""

    keyword: str
    """Violated rule: a keyword of JSON Schema, or a word of this project."""
    message: str
    """Description of the violation."""
    pointer: str
    """Location, as a JSON pointer (RFC 6901); empty for the whole document."""
    stage: Literal["structure", "schema", "meaning", "consistency"] | str
    """Stage that found the violation."""
    suggestion: str | None = None
    """Suggested replacement, if there is a likely one."""


class WebhookReceipt(Wire):
    """The answer to an accepted webhook."""

    status: str
    """`accepted`, `repeated` for an id that was received before, or `ignored` for another `type` of body."""


class WorkerResultCitation(Wire):
    """A source of a result."""

    kind: Literal["internal", "external"]
    """Location of the source."""
    ref: str
    """Id or URL of the source."""


class WorkerResult(Wire):
    """The output of one worker."""

    actor_id: str | None = None
    """Actor of the mission; set on storage."""
    citations: list[WorkerResultCitation] = Field([], validate_default=True)
    """Sources. The prompt package decides whether the list may be empty (B002-6)."""
    confidence: float
    """Confidence in the result."""
    created_at: AwareDatetime
    """Creation time."""
    mission_id: str
    """Id of the mission."""
    output_text: str
    """Output as text."""
    producer: str
    """Producer of the artifact."""
    result_id: str
    """Id of the result."""
    schema_name: Literal["worker_result"]
    """Always `worker_result`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    structured_output: dict[str, Any] | None = None
    """Output as data."""
    task_id: str
    """Id of the task."""
    tenant_id: str | None = None
    """Tenant of the mission; set on storage."""
    tool_trace_refs: list[str] = []
    """References to the tool calls that the result is based on."""


class WritebackProposal(Wire):
    """A proposed change of one entity."""

    action_type: str
    """Type of the change: `lead_stage_update`."""
    actor_id: str | None = None
    """Actor of the mission; set on storage."""
    created_at: AwareDatetime
    """Creation time."""
    mission_id: str
    """Id of the mission."""
    payload: dict[str, Any]
    """Data of the change."""
    producer: str
    """Producer of the artifact."""
    proposal_id: str
    """Id of the proposal."""
    requires_approval: bool = True
    """Whether an approver must approve the change; true when absent."""
    schema_name: Literal["writeback_proposal"]
    """Always `writeback_proposal`."""
    schema_version: Literal["v1"]
    """Version of this form."""
    target_entity_id: str
    """Id of the target entity."""
    target_entity_type: str
    """Type of the target entity: `lead`."""
    tenant_id: str | None = None
    """Tenant of the mission; set on storage."""


class AccountPage(Wire):
    """A page of users who connected an account."""

    entries: list[ConnectedAccount]
    """Newest first."""
    next: str | None = None
    """The cursor of the next page, if there is one."""


class AddedEdge(Wire):
    """An edge that is added to an existing step."""

    edge: StepEdge
    """The edge, from a new step."""
    step: str
    """The step that waits."""


class AgentManifestInForce(Wire):
    """A document in force, with its layer."""

    document: Agent
    layer: Literal["tenant", "global", "tenant_over_global"]
    """The layer that won."""
    package: str
    package_version: str


class AgentSkillBulkItem(Wire):
    """The result of one skill of a bulk write."""

    created: bool | None = None
    """Whether it is new in its scope."""
    details: Any | None = None
    """Machine-readable details."""
    embedded: bool | None = None
    """Whether its summary was embedded."""
    error_code: Literal["invalid_document", "invalid_request", "invalid_utf8", "too_large", "unsupported_version", "unsupported_flow", "unknown_domain", "deprecated_collection", "missing_parameters", "invalid_parameters", "not_found", "no_match", "already_exists", "version_conflict", "illegal_transition", "method_not_allowed", "immutable", "still_referenced", "routing_test_failed", "session_not_found", "model_route_unknown", "unauthenticated", "permission_denied", "credential_required", "guardrail_blocked", "approval_required", "policy_denied", "approval_rejected", "approval_expired", "egress_denied", "model_access_denied", "tool_failed", "tool_result_invalid", "model_failed", "model_refused", "model_answer_invalid", "template_missing", "placeholder_missing", "expression_failed", "cancelled", "tool_timeout", "request_timeout", "model_missing", "model_mismatch", "storage_full", "data_directory_locked", "rate_limited", "overloaded", "unavailable", "internal"] | str | None = (
        None
    )
    """The failure's code."""
    message: str | None = None
    """The problem."""
    result: Literal["refused", "written"] | str
    skill_id: Any
    """It depends on the form."""
    warnings: list[Violation] | None = None
    """Warnings about it."""


class AgentSkillBulkResult(Wire):
    """The result of a bulk write, in the order of its skills."""

    items: list[AgentSkillBulkItem]
    """One result for each skill."""
    refused: int
    """Number of refused skills."""
    written: int
    """Number of written skills."""


class AgentSkillPage(Wire):
    """One page of skills."""

    entries: list[AgentSkillSummary]
    """The skills."""
    next: str | None
    """Cursor to the next page; absent on the last one."""


class AgentSkillWriteResult(Wire):
    """The result of writing one skill."""

    created: bool
    """Whether it is new in its scope."""
    embedded: bool
    """Whether its summary was embedded."""
    skill_id: str
    """The skill's id."""
    warnings: list[Violation] | None = None
    """Warnings about it."""


class ApprovalEscalation(Wire):
    """The groups of an approval, in their order, and how many of their turns were announced."""

    announced: int
    """The number of groups whose turn was announced."""
    steps: list[EscalationStep]
    """The groups; empty if every approver of the tenant may decide."""


class ApprovalListRemainder(Wire):
    """The part of a list that an approver did not exclude."""

    digest: str
    """The digest of the calls that remain."""
    excluded: list[str]
    """The steps whose calls do not happen."""


class ApprovalPreview(Wire):
    """The preview of an approval: the effect of its call, or of each call of its list."""

    after: Any | None = None
    """The state after the write; absent if unknown."""
    before: Any | None = None
    """The present state of the target; absent if unknown."""
    calls: list[CallPreview] | None = None
    """The calls of a list, in the order of the plan."""
    note: str | None = None
    """Why a state is unknown, or which calls of a list are left out."""
    run_ids: list[str] | None = None
    """The runs that made the preview."""


class AssignmentBrief(Wire):
    """The input of one turn of an assignment."""

    accepts: list[Literal["mission_envelope", "mission_task_graph", "prompt_package", "research_artifact", "librarian_pass", "worker_result", "aggregation_packet", "review_packet", "policy_decision", "writeback_proposal"] | str]
    """The kinds of artifacts that the result may have."""
    context: dict[str, Any]
    """The data of the turn, which is never an instruction: results, previews, and the outcomes of requested calls."""
    librarian_pass: LibrarianPass | None = None
    """The pass; for workers."""
    may_call: bool
    """Whether the turn may request calls of tools instead. Charter makes them under the pass."""
    mission_type: str
    """The type of the mission."""
    objective: str
    """The objective of the task."""
    output_schema: dict[str, Any] | None = None
    """The JSON Schema of the result's `structured_output`."""
    prompt_package: PromptPackage | None = None
    """The prompt package; absent for roles that come before it."""
    system_prompt: str
    """The system prompt of the role."""
    task_prompt: str
    """The prompt of the task."""


class BoundedGraphPath(Wire):
    """The result of a walk, and whether it was truncated."""

    found: list[GraphPath]
    """The results, in order."""
    truncated: bool
    """Whether further results were left out."""


class BoundedOpenRisk(Wire):
    """The result of a walk, and whether it was truncated."""

    found: list[OpenRisk]
    """The results, in order."""
    truncated: bool
    """Whether further results were left out."""


class Catalogue(Wire):
    """The number of documents of each kind."""

    kinds: list[CatalogueKind]
    """Every kind, including those without a document."""


class ControlCoverage(Wire):
    """One control."""

    control: str
    """The control."""
    guardrails: list[str]
    """Guardrails that apply to the covering skills and playbooks."""
    resource_types: list[ResourceCoverage]
    """The resource types that its evidence is collected from, by id."""
    status: Literal["covered", "partial", "none"]
    """The coverage status."""
    title: str | None
    """Its title."""
    without_evidence: list[str]
    """Requirements without a path to a resource type."""


class Credential(Wire):
    """A credential, with the state of the caller's own account."""

    connect_url: str | None = None
    """The page on which the caller connects the account."""
    connected_at: AwareDatetime | None = None
    """When the caller connected the account."""
    kind: Literal["static", "client_credentials", "authorization_code", "token_exchange"] | str
    """Where its secret comes from."""
    name: str
    """Its name in the configuration, by which tools refer to it."""
    state: Literal["ready", "connected", "not_connected", "ended"]
    """Whether calls of the caller can use it."""


class CredentialList(RootModel[list[Credential]]):
    root: list[Credential]


class Dependency(Wire):
    """One document's reference to another."""

    from_: DocumentRef = Field(..., alias="from")
    """The document that has the reference."""
    pointer: str
    """The JSON pointer of the reference in the referring document."""
    to: DocumentRef
    """The document that it refers to."""


class DependencyNode(Wire):
    """A document reached from another."""

    distance: int
    """Its distance in references, by the shortest path."""
    document: DocumentSummary | None
    """The document; null if it does not exist."""
    id: str
    """Its id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "schedule", "tag_record", "evidence"] | str
    """Its kind."""
    side: Literal["needs", "needed_by"]
    """Whether it is a dependency or a dependent of the root."""


class DocumentDependencies(Wire):
    """The documents around one."""

    edges: list[Dependency]
    """The references between them; at most 10,000."""
    nodes: list[DependencyNode]
    """Its dependencies, then its dependents, nearest first; at most 1,000."""
    root: DocumentSummary
    """The requested document."""
    truncated: bool
    """Whether the rest was left out."""


class DocumentLayer(Wire):
    """A document in one layer."""

    document: dict[str, Any]
    """The document, valid under the contract of its kind."""
    in_force: bool
    """
    Whether it is in force: a global document is not if the tenant's own shadows it. Guardrails and policies of both
    layers are.
    """
    package: str
    """The package that registered it."""
    package_version: str
    """That package's version."""
    scope: Literal["tenant", "global"] | str
    """The layer's scope."""
    source: DocumentSource | None
    """Its source; null if no file of a package holds it."""


class DocumentPage(Wire):
    """One page of documents."""

    entries: list[DocumentSummary]
    """The documents, by id."""
    next: str | None
    """The id after which the next page starts."""


class EnabledSchedule(Wire):
    """An enabled schedule."""

    definition: Schedule
    """The definition, as it was enabled."""
    enabled_at: AwareDatetime
    """When it was enabled."""
    hook_path: str | None = None
    """The path at which webhooks start it."""
    is_outdated: bool
    """Whether the catalogue has another definition now. It takes effect when a user enables the schedule again."""
    next_at: AwareDatetime | None
    """The next occurrence by time, without its jitter."""
    schedule_id: str
    """Its id."""
    state: Literal["active", "paused"] | str
    """Whether it fires."""
    title: str
    """Its title."""
    user: str
    """The user who enabled it, with whose rights it runs."""


class EvidenceEntry(Wire):
    """A record in a listing: without its payload and attachments."""

    captured_at: AwareDatetime
    """When it was captured."""
    id: str
    """Its id."""
    payload_absent: PayloadAbsence | None = None
    """Why the payload is absent; absent if the payload is available."""
    receipt: EvidenceReceiptModel | None = None
    """Its receipt; absent for a record that Charter captured."""
    redaction_class: str | None = None
    """The class that determines the readers of the payload."""
    source: EvidenceSourceModel
    """Its source."""
    summary: str
    """A summary in a sentence."""
    type: Literal["cloudtrail_event", "azure_activity_log", "config_snapshot", "iam_policy", "billing_line", "metric_point", "log_line", "deployment_record", "pr_record", "commit_record", "approval_record", "api_call", "manual_note"] | str
    """The kind of proof."""


class EvidenceLeaf(Wire):
    """A leaf with the contents that it commits to."""

    index: int
    """The index in the log, from 0."""
    leaf: str
    """The leaf's data: an [`super::Entry`] as JSON."""
    payload: SaltedPayload | None = None
    """The payload, unless it was removed or is withheld."""
    proof: list[str]
    """The inclusion proof under the checkpoint, nearest sibling first."""
    record: str | None = None
    """The record without its payload, if the leaf is a record's."""
    withheld: str | None = None
    """The redaction class for which the payload is withheld from the exporting caller."""


class EvidenceLogConsistency(Wire):
    """Proof that one head is the beginning of another."""

    from_: EvidenceLogHead = Field(..., alias="from")
    """The smaller log."""
    proof: list[str]
    """In the order of RFC 9162 §2.1.4."""
    to: EvidenceLogHead
    """The larger one."""


class EvidencePage(Wire):
    """One page of evidence."""

    entries: list[EvidenceEntry]
    """By capture time."""
    next: str | None
    """Cursor to the next page."""


class EvidenceProof(Wire):
    """One record's leaves with the checkpoint of their proofs."""

    header: EvidenceHeader
    leaves: list[EvidenceLeaf]


class FollowUpReference(Wire):
    """Which turn of the session a verdict rests on, and why."""

    reason: str
    """Why it is treated as a follow-up."""
    request_id: str
    """The request of that turn."""
    standalone_verdict: Literal["narrow", "broad", "miss"]
    """The verdict of the text alone."""


class FrameworkCoverage(Wire):
    """The coverage of a framework."""

    controls: list[ControlCoverage]
    """Its controls, by id."""
    framework: str
    """The framework, as its controls name it."""


class GateDecision(Wire):
    """The gate's decision, with the rules behind it."""

    permitted_by: list[RuleResult] | None = None
    """The rules that permit it."""
    rules: list[RuleResult] | None = None
    """The rules that require approval; never empty."""
    verdict: Literal["allow", "deny", "needs_approval"] | str
    warnings: list[RuleResult] | None = None
    """Warnings to show with it."""


class GraphAnswer(Wire):
    """The answer of the graph."""

    controls: list[ControlCoverage] | None = None
    """Its controls, by id."""
    found: Any | None = None
    """It depends on the form."""
    framework: str | None = None
    """The framework, as its controls name it."""
    layer: Literal["tenant", "global", "tenant_over_global"] | None = None
    """Its layer."""
    node: GraphNode | None = None
    """The node."""
    query: Literal["coverage", "neighbours", "paths", "unremediated"] | str
    truncated: bool | None = None
    """Whether further results were left out."""


class GraphQuery(Wire):
    """A query of the graph."""

    depth: int | None = None
    """The distance; 1 when absent."""
    direction: Literal["out", "in"] | None = None
    """The direction; both when absent."""
    domain: str | None = None
    """The domain; all when absent."""
    edges: list[Literal["requires", "evidenced_by", "collected_via", "is_a", "remediated_by"]] = (
        []
    )
    """The types of edges; all when empty."""
    framework: str | None = None
    """The framework, e.g. `SOC2`."""
    from_: str | None = Field(None, alias="from")
    """The node, e.g. a control."""
    limit: int | None = None
    """Maximum paths."""
    node: str | None = None
    """The node."""
    query: Literal["coverage", "neighbours", "paths", "unremediated"] | str
    to: GraphQueryToGraphQueryTo | GraphQueryToGraphQueryTo1 | None = None
    """The target; any resource type when absent."""


class Key(Wire):
    """A key without its secret."""

    agent_skills: list[str]
    """The skills of the link graph within its reach."""
    catalogue: Literal["viewer", "editor", "admin"] | str
    """Its catalogue role."""
    created_at: AwareDatetime
    """When it was made."""
    created_by: str
    """The user who made it."""
    expires_at: AwareDatetime | None
    """When it expires."""
    key_id: str
    """Its id."""
    last_used_at: AwareDatetime | None
    """When it was last used, to about a minute."""
    name: str
    """Its readable name."""
    profile: str | None = None
    """
    Profile that limits the agents whose skills the credential may use: those that list it in `usable_in_profiles`,
    and those that list none (000 §2.11). All agents when absent.
    """
    revoked_at: AwareDatetime | None
    """When it was revoked."""
    revoked_by: str | None
    """The user who revoked it."""
    role: Literal["user", "operator", "admin"] | str
    """Level: `user`, `operator` or `admin`."""
    rotated_from: str | None
    """The key that it replaced."""
    scopes: list[str]
    """Scopes: the parts of the interface that the credential may use."""
    state: Literal["live", "expired", "revoked"]
    """Whether it is valid."""
    tenant_id: str
    """The tenant whose data it sees."""
    tier: Literal["basic", "advanced"] | str
    """Its maximum tier."""
    user: str
    """The user that it authenticates."""


class KeyEventRef(Wire):
    """
    The data of an event about a key: the user, the change and the key. It contains no secret, nor anything derived from
    one.
    """

    by: str
    """The user who did it."""
    key_id: str
    """The key."""
    name: str
    """Its readable name."""
    rights: Rights
    """The rights that the key gives its user."""
    rotated_from: str | None
    """The key that it replaced."""
    user: str
    """The user that it authenticates."""


class KeyPage(Wire):
    """One page of keys."""

    entries: list[Key]
    """Newest first."""
    next: str | None
    """Cursor to the next page."""


class LensIndex(Wire):
    """Facts about an index."""

    bytes: int
    """Bytes of the source."""
    chunks: int
    """Number of passages."""
    fetched_at: AwareDatetime
    """When the source was last checked."""
    indexed_at: AwareDatetime
    """When the index was made."""
    left_out: list[SkippedLensFile] | None = None
    """Files of the folder that are left out, because they cannot be read."""
    model: str | None
    """The embedding model; absent if only words are compared."""
    model_changed: bool
    """Whether the current model differs, so that only words are compared until it is indexed again."""
    notices: list[str] | None = None
    """Why parts of the text may differ from their author's text."""


class LensIndexingAttempt(Wire):
    """The result of indexing."""

    at: AwareDatetime
    """When it ended."""
    chunks: int | None = None
    """Passages of the index."""
    embedded: int | None = None
    """Parts of passages that had to be embedded; the vectors of the others were reused."""
    failed: str | None = None
    """The reason."""
    left_out: list[SkippedLensFile] | None = None
    """Files of the folder that are left out, because they cannot be read."""
    notices: list[str] | None = None
    """Why parts of the text may not be what its author wrote."""
    outcome: Literal["fetch_failed", "indexed", "unchanged"] | str | None = None


class LensIndexingOutcome(Wire):
    """The result of indexing."""

    chunks: int | None = None
    """Passages of the index."""
    embedded: int | None = None
    """Parts of passages that had to be embedded; the vectors of the others were reused."""
    left_out: list[SkippedLensFile] | None = None
    """Files of the folder that are left out, because they cannot be read."""
    notices: list[str] | None = None
    """Why parts of the text may not be what its author wrote."""
    outcome: Literal["fetch_failed", "indexed", "unchanged"] | str


class LensIndexingResult(Wire):
    """The result of indexing a lens."""

    lens_id: str
    """Which lens."""
    chunks: int | None = None
    """Passages of the index."""
    embedded: int | None = None
    """Parts of passages that had to be embedded; the vectors of the others were reused."""
    left_out: list[SkippedLensFile] | None = None
    """Files of the folder that are left out, because they cannot be read."""
    notices: list[str] | None = None
    """Why parts of the text may not be what its author wrote."""
    outcome: Literal["fetch_failed", "indexed", "unchanged"] | str


class Memory(Wire):
    """One version of a memory, with its state."""

    agent_id: str | None = None
    """The agent that wrote it for the author."""
    at: AwareDatetime
    """When it was written."""
    author: str
    """Its author."""
    conflicts_with: list[str] | None = None
    """Memories that contradict it, by heuristics: in the hits of a search, and in the answer to a write."""
    decided_at: AwareDatetime | None = None
    """When it was decided."""
    decided_by: str | None = None
    """The user who decided on it."""
    expires_at: AwareDatetime | None = None
    """When the memory expires; absent if it never does."""
    memory: MemoryEntry | None = None
    """The entry; absent once it was removed."""
    memory_id: str
    """The memory."""
    notice: str | None = None
    """The same marks as text, in the answer to a write."""
    owner: str
    """Its owner."""
    proposed: int | None = None
    """The version that waits for a decision, if it is visible to the reader."""
    removed_at: AwareDatetime | None = None
    """When the content was removed."""
    removed_by: str | None = None
    """The user who removed it; absent if it expired."""
    similar_to: list[str] | None = None
    """Memories with the same or nearly the same content: in the hits of a search, and in the answer to a write."""
    state: Literal["proposed", "accepted", "superseded", "rejected"] | str
    """The version's state."""
    supersedes: int | None = None
    """The version that was in force when it was written."""
    version: int
    """The version's number."""
    visibility: Literal["private", "shared"] | str
    """Its visibility."""


class MemoryPage(Wire):
    """A page of memories."""

    entries: list[Memory]
    """The memories, newest first."""
    next: str | None
    """Cursor to the next page; absent on the last one."""


class MemoryVersions(RootModel[list[Memory]]):
    root: list[Memory]


class MissionArtifactChange(Wire):
    """An artifact of either mission."""

    ids: PairOfNullableString
    """Its id in each mission that has it."""
    key: MissionArtifactKey
    """The key by which it is matched."""
    change: Literal["added", "changed", "removed", "same"] | str
    fields: list[FieldChange] | None = None


class MissionAssignment(Wire):
    """The task of a mission that an outside agent may carry out."""

    assignment_id: str
    """Its id."""
    brief: AssignmentBrief | None = None
    """The input of the turn; for the holder of the lease."""
    expires_at: AwareDatetime
    """When the lease ends: with the pass."""
    holder: str | None = None
    """The user of the agent that holds the lease."""
    lease_id: str | None = None
    """The lease; for its holder."""
    mission_id: str
    """The mission."""
    mission_type: str
    """The type of the mission."""
    objective: str
    """The objective of the task, in words that may come from a model or a user."""
    offered_at: AwareDatetime
    """When it was offered."""
    refusal: list[str] | None = None
    """Why the latest result was refused."""
    role_type: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"] | str
    """The role of the task."""
    state: Literal["offered", "claimed", "submitted", "accepted", "closed"] | str
    """Its state."""
    submissions: int
    """Number of results that were submitted for this turn."""
    task_id: str | None = None
    """The task; absent for the planner, which makes the tasks."""
    turn: int
    """The turn of the task, from 1. A turn that requests calls is followed by another one."""


class MissionAssignmentPage(Wire):
    """One page of assignments."""

    entries: list[MissionAssignment]
    """Newest first."""
    next: str | None
    """Cursor to the next page."""


class MissionPage(Wire):
    """One page of missions."""

    entries: list[MissionSummary]
    """Newest first."""
    next: str | None
    """Cursor to the next page."""


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
    """Its state (B002-13)."""


class MissionTaskChange(Wire):
    """A task of either mission."""

    ids: PairOfNullableString
    """Its id in each mission that has it."""
    objective: str
    """The objective, from the second mission if it has the task."""
    role: Literal["planner", "prompt_master", "researcher", "librarian", "worker", "aggregator", "reviewer"] | str | None
    """The mission role that executes the task."""
    change: Literal["added", "changed", "removed", "same"] | str
    fields: list[FieldChange] | None = None


class MissionTypeInForce(Wire):
    """A document in force, with its layer."""

    document: MissionType
    layer: Literal["tenant", "global", "tenant_over_global"]
    """The layer that won."""
    package: str
    package_version: str


class Neighbour(Wire):
    """A node that a walk reached."""

    direction: Literal["out", "in"]
    """The direction in which that edge was followed."""
    distance: int
    """The number of edges on the shortest path."""
    edge: Literal["requires", "evidenced_by", "collected_via", "is_a", "remediated_by"] | str
    """The edge between the two."""
    from_: str = Field(..., alias="from")
    """The previous node on that path."""
    layer: Literal["tenant", "global", "tenant_over_global"]
    """The layer in which the node was found."""
    node: GraphNode
    """The node."""


class NewSchedule(Wire):
    """An enabled schedule, with the secret of its webhooks."""

    definition: Schedule
    """The definition, as it was enabled."""
    enabled_at: AwareDatetime
    """When it was enabled."""
    hook_path: str | None = None
    """The path at which webhooks start it."""
    is_outdated: bool
    """Whether the catalogue has another definition now. It takes effect when a user enables the schedule again."""
    next_at: AwareDatetime | None
    """The next occurrence by time, without its jitter."""
    schedule_id: str
    """Its id."""
    secret: str | None = None
    """The secret that signs its webhooks: `whsec_…`. It is shown once."""
    state: Literal["active", "paused"] | str
    """Whether it fires."""
    title: str
    """Its title."""
    user: str
    """The user who enabled it, with whose rights it runs."""


class PackageProblem(Wire):
    """One problem with its location."""

    column: int
    """The column in characters, from 1."""
    excerpt: str
    """The original line."""
    file: str
    """The file's path, relative to the package."""
    keyword: str
    """The violated rule."""
    line: int
    """The line, from 1."""
    message: str
    """The problem."""
    pointer: str
    """The JSON pointer into the file."""
    severity: Literal["error", "warning"]
    """Whether it prevents registration."""
    suggestion: str | None = None
    """A correction, if known."""
    width: int
    """The number of characters to underline, at least 1."""


class PassagePosition(Wire):
    """The position of a passage in the source's extracted text."""

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


class PlaybookInForce(Wire):
    """A document in force, with its layer."""

    document: Playbook
    layer: Literal["tenant", "global", "tenant_over_global"]
    """The layer that won."""
    package: str
    package_version: str


class PromptTemplateInForce(Wire):
    """A document in force, with its layer."""

    document: PromptTemplate
    layer: Literal["tenant", "global", "tenant_over_global"]
    """The layer that won."""
    package: str
    package_version: str


class QuotaUsage(Wire):
    """The quotas of the caller's tenant, and their use."""

    calls: Rate | None
    """How often it may call, in each process; null where nothing bounds it."""
    runs: RunQuotaUsage | None
    """Its runs; null where nothing bounds them."""


class RelatedMemories(RootModel[list[RelatedMemory]]):
    root: list[RelatedMemory]


class RequestPage(Wire):
    """One page of requests."""

    entries: list[RequestSummary]
    """Newest first."""
    next: str | None
    """Cursor to the next page."""


class ResolvedGuardrail(Wire):
    """A guardrail that applies to the subject."""

    document: Guardrail
    layer: Literal["tenant", "global", "tenant_over_global"]
    """The layer that won."""
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
    """The layer that won."""
    matched: str
    """The glob that matched."""
    package: str
    package_version: str


class ResolvedTemplate(Wire):
    """The template that renders an output."""

    document: Template
    layer: Literal["tenant", "global", "tenant_over_global"]
    """The layer that won."""
    level: Literal["skill", "agent", "domain", "global"]
    """The level at which it was found."""
    package: str
    package_version: str


class ResultSourceResultSource(Wire):
    """The effect was interrupted, and a person reported that it happened."""

    reported: ResultSourceReported


class RoutingTestResult(Wire):
    """Where a routing test of a package led, in the catalogue as it would be with the package in force."""

    file: str
    """The file of the test."""
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
    """One rule with its result."""

    effect: Literal["deny", "require_approval", "warn", "allow", "not_applicable"]
    """The result."""
    id: str
    """The rule's id."""
    kind: Literal["permission", "policy", "guardrail", "rate_limit", "tool", "safety", "interrupted", "same_call", "approval"]
    """The kind of the rule."""
    layer: Literal["tenant", "global"] | str | None = None
    """The document's layer; absent if the rule is not a document."""
    message: str | None = None
    """The document's message for people, if the rule applies and has one."""
    note: str | None = None
    """The reason why an expression of the rule could not be evaluated, if it could not."""
    package: str | None = None
    """The package that the document comes from."""
    package_version: str | None = None
    """That package's version."""
    phase: Literal["now", "after_approval", "not_evaluated"]
    """Whether the decision depends on the rule."""
    reason: str
    """The reason."""
    run_facts: list[Literal["kind", "subject", "mission", "approved", "approvers", "approvals", "calls"]] | None = (
        None
    )
    """The facts about the run that the rule reads."""


class RunOutcome(Wire):
    """The outcome of a run."""

    cause: StopCause | None = None
    """The reason."""
    left: list[str] | None = None
    """Steps whose writes remain in effect, or may."""
    missing_evidence: list[str] | None = None
    """Required evidence that no step produced, which makes the run incomplete."""
    outcome: Literal["completed", "failed", "rollback_failed", "rolled_back"] | str


class RunPage(Wire):
    """One page of runs."""

    entries: list[RunSummary]
    """Newest first."""
    next: str | None
    """Cursor to the next page."""


class RunPrerequisites(Wire):
    """The inputs that a run needs before its first step."""

    confirm: bool
    """Whether a person must see the plan and confirm it."""
    missing: list[str] | None = None
    """The mandatory parameters that have no value yet."""
    sources: dict[str, ValueSource] | None = None
    """The sources of its parameters' values, by name."""
    tokens: TokenUsage | None = None
    """Tokens that a model used to draft parameter values."""
    typed: str | None = None
    """The parameter whose value has to be typed to confirm (`destructive`)."""
    unclear: dict[str, str] | None = None
    """The reasons why words of the request yield no value of a missing parameter, by name."""


class ScheduleOccurrence(Wire):
    """An occurrence of a schedule."""

    due_at: AwareDatetime
    """Its time, or that of its event."""
    note: str | None = None
    """Why it did not start, how its work ended, and the proposals that were left out."""
    occurrence: str
    """Its key within the schedule: its time, or the id of its event."""
    report: ScheduleReport | None = None
    """Its findings, compared with the previous occurrence. Listings have the numbers without the items."""
    schedule_id: str
    """The schedule."""
    start_at: AwareDatetime
    """When it starts: its time with the jitter."""
    state: Literal["waiting", "started", "ended", "skipped", "missed", "failed"] | str
    """Its state."""
    updated_at: AwareDatetime
    """The latest change."""
    work: (
        StartedWorkStartedWork
        | StartedWorkStartedWork1
        | StartedWorkStartedWork2
        | StartedWorkStartedWork3
        | None
    ) = None
    """The started work."""


class ScheduleOccurrencePage(Wire):
    """One page of occurrences."""

    entries: list[ScheduleOccurrence]
    """Latest first."""
    next: str | None
    """The cursor of the next page; absent on the last one."""


class SchedulePage(Wire):
    """One page of schedules."""

    entries: list[EnabledSchedule]
    """Latest enabled first."""
    next: str | None
    """The cursor of the next page; absent on the last one."""


class SchemaList(RootModel[list[SchemaSummary]]):
    root: list[SchemaSummary]


class SignInOptions(Wire):
    """The ways to sign in to the console."""

    providers: list[SignInProvider]
    """The identity providers; none if users need an API key."""


class SkillInForce(Wire):
    """A document in force, with its layer."""

    document: Skill
    layer: Literal["tenant", "global", "tenant_over_global"]
    """The layer that won."""
    package: str
    package_version: str


class StepAction(Wire):
    """The action of a step."""

    branches: list[StepBranch] | None = None
    """The branches, in order of evaluation."""
    concurrency: int | None = None
    """The maximum number of items that run at the same time."""
    do: Literal["call", "choose", "conclude", "for_each"] | str
    each: StepAction | None = None
    """The call of each item."""
    exact: bool | None = None
    """Whether `${…}` in the parameters is plain text instead of a reference."""
    items: Any | None = None
    """The list, with references."""
    max_items: int | None = None
    """The maximum number of items."""
    otherwise: str | None = None
    """The step to run if no branch matches."""
    output: Any | None = None
    """The step's output."""
    parameters: dict[str, Any] | None = None
    """The parameters of the tool."""
    script: str | None = None
    """A script of the pinned playbook that replaces the tool's own body."""
    tool: str | None = None
    """The tool."""
    writes: bool | None = None
    """Whether the call changes something outside Charter."""


class StepBegun(Wire):
    """An effect that is about to start."""

    approval_expires_at: AwareDatetime | None = None
    """The time at which the approval for the attempt lapses; absent if none was needed."""
    attempt: int
    """The number of the attempt, from 1."""
    idempotency_key: str
    """The idempotency key, equal for all attempts."""
    parameters: dict[str, Any]
    """The resolved parameters."""
    policy_decision: GateDecision
    """The gate's decision."""
    step: str
    """The step."""


class StepEntry(Wire):
    """
    The start condition of a step. It is evaluated once every source has settled. A step whose edges do not hold, or
    whose expression is false, is skipped.
    """

    edges: list[StepEdge]
    """Conditions on earlier steps; empty for a step that may start at once."""
    join: Literal["all", "any"]
    """The number of edges that must hold."""
    when: str | None = None
    """A CEL expression that must be true too."""


class ToolInForce(Wire):
    """A document in force, with its layer."""

    document: Tool
    layer: Literal["tenant", "global", "tenant_over_global"]
    """The layer that won."""
    package: str
    package_version: str


class ToolRegistration(Wire):
    """A registered tool."""

    id: str
    """Its id in the agent contracts."""
    package: str
    """The package that contains it."""
    problems: list[PackageProblem]
    """Warnings."""
    tool_class: Literal["readonly", "write", "internal"] | str
    """Whether it writes."""
    tool_id: str
    """Its id in the catalogue, for handlers, policies and plans."""
    version: str
    """The version of the package since this registration."""


class ToolsInForce(RootModel[list[ToolInForce]]):
    root: list[ToolInForce]


class Verdict(Wire):
    """A verdict with further details for diagnosis."""

    candidates: list[RoutedCandidate]
    """Best first."""
    clauses: list[RoutedClause] | None = None
    """Its clauses, if it asks for several things."""
    corrections: list[SpellingCorrection] | None = None
    """Mistyped words and their corrections."""
    dropped: list[RoutedCandidate]
    """Candidates below the floor, best first."""
    follow_up: FollowUpReference | None = None
    """The turn of the session that the text refers to, if it does."""
    gateway: GatewayResult | None = None
    """The reading of the `gateway` route's model, if it was asked."""
    in_force: Thresholds
    """The thresholds in force, even if others decided."""
    intent: Literal["read", "change", "knowledge", "none"] | str | None = None
    """The intent, decided before ranking; absent for a bare ranking, and in older verdicts."""
    intent_reason: str | None = None
    """The reason for the intent, as text."""
    kind: Literal["narrow", "broad", "miss"]
    """Narrow, broad or miss."""
    model: str | None
    """The embedding model; absent if only words were compared."""
    query: str
    """The query."""
    reason: str
    """The reason, as text."""
    set_aside: list[str] | None = None
    """Pieces with a low weight, shortened: pasted logs, code and records, the frame of a mail."""
    subject: str | None = None
    """The compared words, if they differ from the query: without greetings, and with identifiers replaced by nouns."""
    thresholds: Thresholds
    """The thresholds that decided."""


class AgentSkillImportResult(Wire):
    """The result of an import."""

    changed: list[str]
    """Existing skills that changed."""
    created: list[str]
    """New skills."""
    embedded: int
    """Number of embedded summaries."""
    left_out: list[str]
    """The directories of skills that are left out."""
    problems: list[PackageProblem]
    """Errors, with the reasons why skills are left out, and warnings."""
    served_scripts: list[AgentSkillScript]
    """Scripts that are served and not run."""
    tools: list[AgentSkillTool]
    """The tools of the skills' scripts."""
    unchanged: list[str]
    """Existing skills that did not change."""


class Approval(Wire):
    """An approval."""

    approval_id: str
    """Its id."""
    call: ExactCall
    """The call to approve, or the first of several."""
    destructive: bool | None = None
    """Whether the calls belong to a destructive playbook: to approve a list, a person types the number of its calls."""
    digest: str
    """The digest that the decision is bound to: of the call, or of the whole list."""
    escalation: ApprovalEscalation | None = None
    """The groups that may approve, one after the other."""
    expires_at: AwareDatetime
    """The time at which the approval lapses, decided or not."""
    four_eyes: bool
    """Whether the approver must differ from the requesters."""
    list_: list[ExactCall] | None = Field(None, alias="list")
    """All calls to approve, in the order of the plan, if there are several."""
    plan_digest: str | None = None
    """The digest of the run's plan, if the approval has all its writes and is also its confirmation."""
    requested_at: AwareDatetime
    """The time of the request."""
    requested_by: str
    """The user on whose behalf the run acts."""
    requesters: list[str] | None = None
    """The users that started the run, chose its arguments or confirmed it, and the makers of their keys."""
    rules: list[RuleResult]
    """The rules that require approval."""
    tenant_id: str
    """The owning tenant."""
    at: AwareDatetime | None = None
    """The time of the decision."""
    by: str | None = None
    """The user that decided."""
    makers: list[str] | None = None
    """The makers of the API key that was used to decide."""
    reason: str | None = None
    """The reason, in the user's words."""
    remainder: ApprovalListRemainder | None = None
    """The part of a list that was approved. Absent if all of it was."""
    reported_result: ReportedResult | None = None
    """The report that the call happened already. Absent if the call itself was approved."""
    state: Literal["approved", "consumed", "lapsed", "pending", "rejected"] | str


class ApprovalAgreement(Wire):
    """An approval of the call, or a report that it happened."""

    at: AwareDatetime
    """The time of the decision."""
    by: str
    """The user that decided."""
    makers: list[str] | None = None
    """The makers of the API key that was used to decide."""
    reason: str | None = None
    """The reason, in the user's words."""
    remainder: ApprovalListRemainder | None = None
    """The part of a list that was approved. Absent if all of it was."""
    reported_result: ReportedResult | None = None
    """The report that the call happened already. Absent if the call itself was approved."""


class ApprovalEntry(Wire):
    """An approval with the title of its run."""

    approval_id: str
    """Its id."""
    call: ExactCall
    """The call to approve, or the first of several."""
    can_approve: bool
    """
    Whether the caller may approve it now: the caller decides on approvals, did not request it if four eyes are
    required, and is in a group whose turn has come if there are groups.
    """
    destructive: bool | None = None
    """Whether the calls belong to a destructive playbook: to approve a list, a person types the number of its calls."""
    digest: str
    """The digest that the decision is bound to: of the call, or of the whole list."""
    escalation: ApprovalEscalation | None = None
    """The groups that may approve, one after the other."""
    expires_at: AwareDatetime
    """The time at which the approval lapses, decided or not."""
    four_eyes: bool
    """Whether the approver must differ from the requesters."""
    group: str | None = None
    """The group of approvers whose turn it is; absent if every approver may decide."""
    list_: list[ExactCall] | None = Field(None, alias="list")
    """All calls to approve, in the order of the plan, if there are several."""
    plan_digest: str | None = None
    """The digest of the run's plan, if the approval has all its writes and is also its confirmation."""
    requested_at: AwareDatetime
    """The time of the request."""
    requested_by: str
    """The user on whose behalf the run acts."""
    requesters: list[str] | None = None
    """The users that started the run, chose its arguments or confirmed it, and the makers of their keys."""
    rules: list[RuleResult]
    """The rules that require approval."""
    run_title: str
    """The title of the run that waits for it."""
    tenant_id: str
    """The owning tenant."""
    at: AwareDatetime | None = None
    """The time of the decision."""
    by: str | None = None
    """The user that decided."""
    makers: list[str] | None = None
    """The makers of the API key that was used to decide."""
    reason: str | None = None
    """The reason, in the user's words."""
    remainder: ApprovalListRemainder | None = None
    """The part of a list that was approved. Absent if all of it was."""
    reported_result: ReportedResult | None = None
    """The report that the call happened already. Absent if the call itself was approved."""
    state: Literal["approved", "consumed", "lapsed", "pending", "rejected"] | str


class ApprovalPage(Wire):
    """One page of approvals."""

    confirmations: list[PendingConfirmation]
    """
    Plans that wait for a confirmation, newest first: on the first page, unless only approvals of another state than
    `pending` are listed. At most 1000.
    """
    entries: list[ApprovalEntry]
    """Newest first."""
    next: str | None
    """Cursor to the next page."""


class ApprovalRequest(Wire):
    """A request to approve one exact call."""

    approval: str
    """The approval's id."""
    call: ExactCall
    """The call."""
    digest: str
    """The digest that the decision is bound to."""
    expires_at: AwareDatetime
    """The time at which it lapses."""
    policy_decision: GateDecision
    """The gate's decision."""
    step: str
    """The step."""


class CallExplanation(Wire):
    """The gate's answer to a call, with its reasons."""

    assumed: AssumedFacts | None
    """The values assumed for facts that only a run has."""
    decision: GateDecision | None
    """
    The decision as a journal would record it; absent for a call that would be left out, because the gate is not
    asked.
    """
    dry_run: bool
    """Whether the call is a dry run."""
    kind: Literal["skill", "playbook", "execution_plan", "pipeline", "decision_tree", "mission", "tool_call", "analysis"] | str
    """The kind of the run to which the call would belong."""
    parameters: dict[str, Any]
    """The arguments, with defaults filled in."""
    role: Literal["user", "operator", "admin"] | str
    """The caller's level: `user`, `operator` or `admin`."""
    rules: list[RuleFinding]
    """Every rule that was considered, in the order in which the gate asks."""
    step: str | None
    """Its step; absent for a hypothetical plan."""
    subject: str | None
    """The skill or playbook; absent for a hypothetical plan."""
    tool: str
    """The tool."""
    user: str
    """The caller."""
    verdict: str
    """`allow`, `warn`, `needs_approval`, `deny`, or `skipped` in a dry run."""


class Caller(Wire):
    """The identity, rights and quotas of a caller."""

    agent_skills: list[str]
    """The skills of the link graph that it may reach."""
    catalogue: Literal["viewer", "editor", "admin"] | str
    """Its catalogue role."""
    profile: str | None = None
    """The profile that narrows the agents whose skills it is served; all when absent."""
    quota: QuotaUsage
    """The quotas of its tenant, and their use."""
    role: Literal["user", "operator", "admin"] | str
    """The level: `user`, `operator` or `admin`."""
    scopes: list[str]
    """The parts of the interface that its credential opens; `["*"]` is all."""
    tenant: str
    """The tenant whose data it sees."""
    tier: Literal["basic", "advanced"] | str
    """The tier up to which it is served."""
    user: str
    """The user within the tenant."""


class Document(Wire):
    """A document with its layers."""

    differs: list[str]
    """JSON pointers of the parts in which the two layers differ."""
    id: str
    """Its id."""
    kind: Literal["skill", "tool", "guardrail", "domain_lens", "template", "playbook", "agent", "graph_node", "graph_edge", "domain", "policy", "mission_type", "prompt_template", "schedule", "tag_record", "evidence"] | str
    """Its kind."""
    layers: list[DocumentLayer]
    """Its versions by layer, the tenant's own first."""


class Lens(Wire):
    """A lens with its document and the state of its source."""

    content_hash: str | None = None
    """
    Hash of the last fetched text, e.g. `sha256:…`. It is kept with the index and shown instead of the authored
    value.
    """
    content_type: Literal["framework", "cloud_service", "policy", "reference"] | str
    """Kind of knowledge."""
    created_at: AwareDatetime | None = None
    """Time of the first registration."""
    description: str
    """Description of the content."""
    domain: str
    """Domain of the lens."""
    index: LensIndex | None
    """Its index; absent until there is one."""
    indexing: LensIndexingStage | None
    """The progress of indexing, while it runs."""
    last: LensIndexingAttempt | None
    """The result of the last indexing in this process."""
    lens_id: str
    """Id of the lens."""
    scope: Literal["tenant", "global"] | str
    """The scope of its registration."""
    source: LensSource
    """Source of the text."""
    status: Literal["active", "inactive"] | str
    """Status in the catalogue (this project, for lenses)."""
    tags: list[str]
    """Tags for searching."""
    tenant_id: str | None = None
    """Tenant of the lens; absent for a global lens."""
    tier: Literal["basic", "advanced"] | str
    """Lowest tier that may use the lens; lenses are refused on the basic tier (B000-16)."""
    title: str
    """Title."""
    updated_at: AwareDatetime | None = None
    """Time of the last registration."""
    version: str | None = None
    """Version of the document."""


class LensList(RootModel[list[Lens]]):
    root: list[Lens]


class Mission(Wire):
    """A mission."""

    artifacts: int
    """Number of artifacts."""
    coverage_gaps: list[CoverageGap]
    """Its coverage gaps, with the requested outputs that it did not produce."""
    created_at: AwareDatetime
    """When it was created."""
    events: int
    """Number of events in its journal."""
    goal: str
    """The goal."""
    imported_at: AwareDatetime | None = None
    """When it was imported, if it was; an imported mission is read-only."""
    mission_id: str
    """Its id."""
    mission_type: str
    """Its type."""
    offline: bool
    """Whether the offline provider answers, without a model."""
    output: dict[str, Any] | None = None
    """The reviewed output, once there is one."""
    proposals: list[MissionProposal]
    """Its proposed write-backs."""
    reason: str | None = None
    """Why it did not complete, if it did not."""
    run_id: str
    """The run that carries it out."""
    state: Literal["created", "planned", "prompted", "running", "aggregating", "reviewing", "awaiting_approval", "completed", "rejected", "failed", "cancelled", "budget_exceeded"] | str
    """Its state (B002-12)."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """The run's status: `working`, `awaiting_approval` and so on."""
    tasks: list[MissionTask]
    """Its tasks, in listed order."""
    token_budget: int | None = None
    """The token budget, if it has one."""
    tokens: TokenUsage
    """Tokens used so far."""
    updated_at: AwareDatetime
    """When it last changed."""


class MissionDifferences(Wire):
    """The differences of two missions. `Display` writes them as text."""

    artifacts: list[MissionArtifactChange]
    """All other artifacts, by key."""
    goal: PartChange
    """The change of the envelope."""
    missions: PairOfNullableMissionId
    """The missions' ids."""
    outcome: PairOfMissionState
    """The state of each mission."""
    tasks: list[MissionTaskChange]
    """The tasks: those of the first mission in its order, then those that only the second has."""
    time_ms: PairOfBudgetUsage
    """Usage of time, in milliseconds."""
    tokens: PairOfBudgetUsage
    """Usage of tokens."""


class PackageReport(Wire):
    """The result of checking a package."""

    documents: int
    """Number of documents that were read."""
    package: str | None
    """The package's name, if its manifest was readable."""
    problems: list[PackageProblem]
    """Errors and warnings, by file and position."""
    tests: list[RoutingTestResult]
    """Results of its routing tests; none if there are other errors already."""
    version: str | None
    """Its version."""


class Passage(Wire):
    """One passage, with its source."""

    content_hash: str
    """Hash of the fetched content."""
    cosine: float | None
    """Similarity of meaning; absent if only words were compared."""
    domain: str
    """The lens's domain."""
    fused: float
    """The ranking score, 0 to 1 within this answer."""
    lens_id: str
    """Its lens."""
    lexical: float
    """Words in common, weighted."""
    position: PassagePosition
    """Its position."""
    scope: Literal["tenant", "global"] | str
    """The scope of the lens's registration."""
    score: float
    """Probability that it is relevant to the question, 0 to 1: comparable across questions."""
    source: LensSource
    """The source of the lens."""
    text: str
    """The text, exactly as extracted from the source and indexed."""
    title: str
    """The lens's title."""


class PlannedStep(Wire):
    """One step."""

    action: StepAction
    """The action."""
    after_failure: Literal["abort", "roll_back", "continue"]
    """The effect of a failure."""
    cache_ttl_seconds: int
    """The time for which a result may be reused for an equal call, in seconds; 0 means never."""
    entry: StepEntry
    """The start condition."""
    id: str
    """Its id."""
    item: StepItem | None = None
    """The item that the step is for, if it was added by a step that is repeated for each item of a list."""
    mandate: str | None = None
    """
    The mission task that the call is for. The task's prompt package and pass define the allowed calls (B002-5,
    B002-8).
    """
    retry: StepRetry
    """The retries."""
    reverses: str | None = None
    """The step that this one reverses. Reversals do not run in the forward direction."""
    reviewed: bool
    """Whether a person must review each call, in every case (ruling 10)."""
    spends: bool | None = None
    """
    Whether the step may use tokens of the run's budget. Such a step does not begin once the budget is used up
    (B002-17).
    """
    timeout_ms: int
    """The timeout of one attempt in milliseconds; 0 means no timeout of the step itself (B003-7)."""
    unless_changed: str | None = None
    """
    An earlier read whose result must be unchanged when this step begins. Otherwise this step would change something
    other than what was decided on (B002-13).
    """


class RegistrationReport(Wire):
    """The result of a registration."""

    diff: PackageDiff
    """The changes, actual or predicted."""
    embedded: int
    """Texts that had to be embedded."""
    lenses: list[LensIndexingResult]
    """The results of its active lenses."""
    package: str
    """The package."""
    problems: list[PackageProblem]
    """Warnings."""
    tests: list[RoutingTestResult]
    """The results of its routing tests; none if there was nothing to do."""
    unchanged: bool
    """`true` if the same content was in force already, or for a dry run."""
    version: str
    """Its version."""


class ResolvedPolicies(RootModel[list[ResolvedPolicy]]):
    root: list[ResolvedPolicy]


class Step(Wire):
    """A step in the plan."""

    entry: StepEntry
    """When it may start: its conditions on earlier steps."""
    item: StepItem | None = None
    """The item that it is for, if it was added by a step that is repeated for each item of a list."""
    reverses: str | None
    """The step that it reverses."""
    step: str
    """Its id."""
    tool: str | None
    """The tool it calls."""
    writes: bool
    """Whether it changes something."""
    approval: str | None = None
    """The approval's id."""
    attempt: int | None = None
    """The number of the attempt, from 1."""
    digest: str | None = None
    """The digest that the decision is bound to."""
    due: AwareDatetime | None = None
    """The earliest time of the next attempt."""
    expires_at: AwareDatetime | None = None
    """The time at which it lapses."""
    failure: StepFailure | None = None
    """The failure."""
    reason: SkipReason | None = None
    """The reason."""
    state: Literal["awaiting_approval", "cancelled", "failed", "pending", "retrying", "running", "skipped", "succeeded"] | str


class StepGraph(Wire):
    """A valid graph of steps."""

    evidence: list[str] | None = None
    """Keys that some step's output must have for the run to be complete."""
    fallback: StepGraph | None = None
    """The plan that replaces this one, once, when a required step fails (B003-8)."""
    numbers: dict[str, Literal["string", "number", "integer", "boolean", "array", "object"] | str] | None = (
        None
    )
    """The declared types of numeric parameters, for expressions."""
    source: PlanSource | None = None
    """
    The source of the graph, if it is not a document of the catalogue. A fallback names the source that the run was
    started with.
    """
    steps: list[PlannedStep]
    """The steps in listed order; reversals among them."""
    timeout_ms: int
    """The time limit of the work in milliseconds, without the time that it waits for people; 0 means no limit."""
    token_budget: int | None = None
    """The token budget for models; 0 means no limit (B002-17)."""


class GraphAdditions(Wire):
    """Steps to add, and edges that make existing steps wait for them."""

    claims: list[AddedEdge] | None = None
    """New edges to steps that have not started."""
    steps: list[PlannedStep] | None = None
    """New steps, listed after the existing ones. A reversal among them reverses another one of them."""


class JournalEvent(Wire):
    """One event of a run's history."""

    at: AwareDatetime
    """When it happened."""
    sequence: int
    """Position, from 1."""
    approval: str | None = None
    """The approval's id."""
    approval_expires_at: AwareDatetime | None = None
    """The time at which the approval for the attempt lapses; absent if none was needed."""
    approves: bool | None = None
    """
    Whether the user may decide on approvals. The confirmation then also approves the calls that the plan
    determines, where four eyes are off.
    """
    askers: list[str] | None = None
    """
    Users that requested it besides `by`: the makers of the key that started it, and the requesters of the run that
    it rolls back.
    """
    attempt: int | None = None
    """The number of the attempt, from 1."""
    by: str | None = None
    """The user on whose behalf it acts."""
    call: ExactCall | None = None
    """The call."""
    calls: list[str] | None = None
    """The digests of the calls that both request, without run and step."""
    cause: StopCause | None = None
    """The reason."""
    contributors: list[str] | None = None
    """
    The users whose agents made the result, and the makers of their credentials. They count as requesters of the
    calls that follow.
    """
    digest: str | None = None
    """The digest of the displayed plan."""
    dry_run: bool = False
    """Whether this is a dry run (B000-18)."""
    due: AwareDatetime | None = None
    """The earliest time of the next attempt."""
    duration_ms: int | None = None
    """The duration, in milliseconds."""
    event: Literal["approval_denied", "approval_granted", "approval_requested", "completed", "confirmed", "failed", "fallback_started", "parameters_given", "paused", "resumed", "retry_scheduled", "rollback_failed", "rolled_back", "run_wait_ended", "started", "step_begun", "step_expanded", "step_failed", "step_refused", "step_skipped", "step_succeeded", "stopping", "waiting_for_run"] | str
    expires_at: AwareDatetime | None = None
    """The time at which it lapses."""
    failure: StepFailure | None = None
    """The step's failure."""
    graph: StepGraph | None = None
    """The graph to execute."""
    growth: GraphAdditions | None = None
    """The steps and edges that it adds to the graph."""
    idempotency_key: str | None = None
    """The idempotency key, equal for all attempts."""
    left: list[str] | None = None
    """Steps whose writes remain in effect, or may."""
    makers: list[str] | None = None
    """The makers of their key."""
    missing: list[str] | None = None
    """Mandatory parameters that are still missing."""
    missing_evidence: list[str] | None = None
    """Required evidence that no step produced."""
    opening: RunPrerequisites = Field({"confirm": False}, validate_default=True)
    """The inputs that it needs before its first step."""
    output: Any | None = None
    """The output."""
    owner: str | None = None
    """The owner, if it differs from the user that started the run: for a rollback, the owner of the original run."""
    parameters: dict[str, Any] | None = None
    """Values of the declared parameters."""
    pins: list[DocumentPin] | None = None
    """The versions it executes."""
    policy_decision: GateDecision | None = None
    """The gate's decision."""
    reason: SkipReason | None = None
    """The reason."""
    restarts: bool | None = None
    """
    Whether all steps start again, because reads may have new results. A run that has requested approval before
    keeps its results, and computes only the calls that follow again.
    """
    role: Literal["admin", "operator", "user"] | str | None = None
    roll_back: bool | None = None
    """Whether completed writes are reversed."""
    run: str | None = None
    """The other run."""
    run_id: str | None = None
    """The run."""
    run_status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str | None = (
        None
    )
    """The other run's status; absent if it was deleted."""
    source: Literal["fresh"] | Literal["cached"] | Literal["decided"] | ResultSourceResultSource | None = (
        None
    )
    """The source of the result."""
    sources: dict[str, ValueSource] | None = None
    """The sources of all values; absent in journals of earlier versions."""
    step: str | None = None
    """The step."""
    tags: RequestTags | None = None
    """The request's properties for guardrails; absent in journals without them."""
    tokens: TokenUsage | None = None
    """Tokens that were used for it."""


class LensSearchResult(Wire):
    """The passages nearest to a question."""

    extractive: bool
    """Always true: passages are quoted, and no text is generated."""
    lenses: list[str]
    """The lenses that were searched."""
    model: str | None
    """The embedding model; absent if only words were compared."""
    passages: list[Passage]
    """Best first."""
    query: str
    """The question."""


class MissionDiff(Wire):
    """The differences of two missions, apart from ids and times."""

    differences: MissionDifferences
    """The differences of each part."""
    same: bool
    """Whether there are no differences, regardless of durations."""
    text: str
    """The differences as text, for people."""


class MissionEvent(Wire):
    """An event of a mission's journal."""

    at: AwareDatetime
    """When it happened."""
    mission_state: Literal["created", "planned", "prompted", "running", "aggregating", "reviewing", "awaiting_approval", "completed", "rejected", "failed", "cancelled", "budget_exceeded"] | str
    """The mission's state after it."""
    sequence: int
    """Position, from 1."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """The run's status after it: `working`, `awaiting_approval` and so on."""
    approval: str | None = None
    """The approval's id."""
    approval_expires_at: AwareDatetime | None = None
    """The time at which the approval for the attempt lapses; absent if none was needed."""
    approves: bool | None = None
    """
    Whether the user may decide on approvals. The confirmation then also approves the calls that the plan
    determines, where four eyes are off.
    """
    askers: list[str] | None = None
    """
    Users that requested it besides `by`: the makers of the key that started it, and the requesters of the run that
    it rolls back.
    """
    attempt: int | None = None
    """The number of the attempt, from 1."""
    by: str | None = None
    """The user on whose behalf it acts."""
    call: ExactCall | None = None
    """The call."""
    calls: list[str] | None = None
    """The digests of the calls that both request, without run and step."""
    cause: StopCause | None = None
    """The reason."""
    contributors: list[str] | None = None
    """
    The users whose agents made the result, and the makers of their credentials. They count as requesters of the
    calls that follow.
    """
    digest: str | None = None
    """The digest of the displayed plan."""
    dry_run: bool = False
    """Whether this is a dry run (B000-18)."""
    due: AwareDatetime | None = None
    """The earliest time of the next attempt."""
    duration_ms: int | None = None
    """The duration, in milliseconds."""
    event: Literal["approval_denied", "approval_granted", "approval_requested", "completed", "confirmed", "failed", "fallback_started", "parameters_given", "paused", "resumed", "retry_scheduled", "rollback_failed", "rolled_back", "run_wait_ended", "started", "step_begun", "step_expanded", "step_failed", "step_refused", "step_skipped", "step_succeeded", "stopping", "waiting_for_run"] | str
    expires_at: AwareDatetime | None = None
    """The time at which it lapses."""
    failure: StepFailure | None = None
    """The step's failure."""
    graph: StepGraph | None = None
    """The graph to execute."""
    growth: GraphAdditions | None = None
    """The steps and edges that it adds to the graph."""
    idempotency_key: str | None = None
    """The idempotency key, equal for all attempts."""
    left: list[str] | None = None
    """Steps whose writes remain in effect, or may."""
    makers: list[str] | None = None
    """The makers of their key."""
    missing: list[str] | None = None
    """Mandatory parameters that are still missing."""
    missing_evidence: list[str] | None = None
    """Required evidence that no step produced."""
    opening: RunPrerequisites = Field({"confirm": False}, validate_default=True)
    """The inputs that it needs before its first step."""
    output: Any | None = None
    """The output."""
    owner: str | None = None
    """The owner, if it differs from the user that started the run: for a rollback, the owner of the original run."""
    parameters: dict[str, Any] | None = None
    """Values of the declared parameters."""
    pins: list[DocumentPin] | None = None
    """The versions it executes."""
    policy_decision: GateDecision | None = None
    """The gate's decision."""
    reason: SkipReason | None = None
    """The reason."""
    restarts: bool | None = None
    """
    Whether all steps start again, because reads may have new results. A run that has requested approval before
    keeps its results, and computes only the calls that follow again.
    """
    role: Literal["admin", "operator", "user"] | str | None = None
    roll_back: bool | None = None
    """Whether completed writes are reversed."""
    run: str | None = None
    """The other run."""
    run_id: str | None = None
    """The run."""
    run_status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str | None = (
        None
    )
    """The other run's status; absent if it was deleted."""
    source: Literal["fresh"] | Literal["cached"] | Literal["decided"] | ResultSourceResultSource | None = (
        None
    )
    """The source of the result."""
    sources: dict[str, ValueSource] | None = None
    """The sources of all values; absent in journals of earlier versions."""
    step: str | None = None
    """The step."""
    tags: RequestTags | None = None
    """The request's properties for guardrails; absent in journals without them."""
    tokens: TokenUsage | None = None
    """Tokens that were used for it."""


class MissionEventPage(Wire):
    """One page of a mission's journal."""

    entries: list[MissionEvent]
    """Oldest first."""
    next: int | None = None
    """Cursor: the last event of this page; absent if there are no more now."""


class Run(Wire):
    """A run with its journal."""

    approach_hints: list[str] | None = None
    """The playbook's advice for judging its plan."""
    approvals: list[Approval]
    """Approvals that it waits for."""
    awaited_run: AwaitedRun | None = None
    """The run that it waits for. Its status is then `paused`."""
    confirm: bool
    """Whether it waits for a confirmation of the plan."""
    created_at: AwareDatetime
    """When it was created."""
    dry_run: bool
    """Whether it is a dry run."""
    events: list[JournalEvent]
    """Its events, oldest first."""
    evidence: list[RunEvidence]
    """Evidence of its actions, by capture time."""
    in_doubt: list[str]
    """Steps whose writes may have happened, with unknown results."""
    missing: list[str]
    """Mandatory parameters without a value."""
    notes: list[str] | None = None
    """Warnings about the run, e.g. that no user of the tenant could approve its calls."""
    outcome: RunOutcome | None
    """How it ended."""
    parameters: dict[str, Any]
    """Values of its parameters."""
    plan_digest: str
    """Digest to which a confirmation of the plan is bound."""
    proposals: list[ProposedValue] | None = None
    """Values that memories of the caller and the tenant hold for missing parameters."""
    run_id: str
    """Its id."""
    sources: dict[str, ValueSource]
    """The source of each value, by parameter; absent for a value from the caller."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """The status: `working`, `awaiting_approval`, `completed` and so on."""
    steps: list[Step]
    """Its steps in listed order, reversals last."""
    title: str
    """The run's title, which names its origin."""
    tokens: TokenUsage | None = None
    """Tokens that models used for it so far; absent if none were used."""
    typed: str | None
    """The parameter whose value must be typed to confirm."""
    unclear: dict[str, str] | None = None
    """Why the request's text gives no value for a missing parameter, by parameter."""
    unproven: list[str] | None = None
    """Tools whose results left no evidence, because no page shows them (B000-19); known when the run has ended."""
    updated_at: AwareDatetime
    """When it last changed."""
    version: int
    """Number of events in the journal."""


class RunAt(Wire):
    """A run after a given event of its journal."""

    at: AwareDatetime
    """When it happened."""
    awaited_run: AwaitedRun | None = None
    """The run that it waits for. Its status is then `paused`."""
    confirm: bool
    """Whether it waits for a confirmation of the plan."""
    dry_run: bool
    """Whether it is a dry run."""
    in_doubt: list[str]
    """Steps whose writes may have happened, with unknown results."""
    missing: list[str]
    """Mandatory parameters without a value."""
    outcome: RunOutcome | None
    """How it ended."""
    parameters: dict[str, Any]
    """Values of its parameters."""
    plan_digest: str
    """Digest to which a confirmation of the plan is bound."""
    run_id: str
    """The run."""
    sequence: int
    """The event's position, from 1."""
    sources: dict[str, ValueSource]
    """The source of each value, by parameter; absent for a value from the caller."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """The run's status then."""
    steps: list[Step]
    """Its steps in listed order, reversals last."""
    tokens: TokenUsage | None = None
    """Tokens that models used for it so far; absent if none were used."""
    typed: str | None
    """The parameter whose value must be typed to confirm."""
    unclear: dict[str, str] | None = None
    """Why the request's text gives no value for a missing parameter, by parameter."""


class RunEvent(Wire):
    """An event of a run's journal."""

    at: AwareDatetime
    """When it happened."""
    sequence: int
    """Position, from 1."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """The run's status after it: `working`, `awaiting_approval` and so on."""
    approval: str | None = None
    """The approval's id."""
    approval_expires_at: AwareDatetime | None = None
    """The time at which the approval for the attempt lapses; absent if none was needed."""
    approves: bool | None = None
    """
    Whether the user may decide on approvals. The confirmation then also approves the calls that the plan
    determines, where four eyes are off.
    """
    askers: list[str] | None = None
    """
    Users that requested it besides `by`: the makers of the key that started it, and the requesters of the run that
    it rolls back.
    """
    attempt: int | None = None
    """The number of the attempt, from 1."""
    by: str | None = None
    """The user on whose behalf it acts."""
    call: ExactCall | None = None
    """The call."""
    calls: list[str] | None = None
    """The digests of the calls that both request, without run and step."""
    cause: StopCause | None = None
    """The reason."""
    contributors: list[str] | None = None
    """
    The users whose agents made the result, and the makers of their credentials. They count as requesters of the
    calls that follow.
    """
    digest: str | None = None
    """The digest of the displayed plan."""
    dry_run: bool = False
    """Whether this is a dry run (B000-18)."""
    due: AwareDatetime | None = None
    """The earliest time of the next attempt."""
    duration_ms: int | None = None
    """The duration, in milliseconds."""
    event: Literal["approval_denied", "approval_granted", "approval_requested", "completed", "confirmed", "failed", "fallback_started", "parameters_given", "paused", "resumed", "retry_scheduled", "rollback_failed", "rolled_back", "run_wait_ended", "started", "step_begun", "step_expanded", "step_failed", "step_refused", "step_skipped", "step_succeeded", "stopping", "waiting_for_run"] | str
    expires_at: AwareDatetime | None = None
    """The time at which it lapses."""
    failure: StepFailure | None = None
    """The step's failure."""
    graph: StepGraph | None = None
    """The graph to execute."""
    growth: GraphAdditions | None = None
    """The steps and edges that it adds to the graph."""
    idempotency_key: str | None = None
    """The idempotency key, equal for all attempts."""
    left: list[str] | None = None
    """Steps whose writes remain in effect, or may."""
    makers: list[str] | None = None
    """The makers of their key."""
    missing: list[str] | None = None
    """Mandatory parameters that are still missing."""
    missing_evidence: list[str] | None = None
    """Required evidence that no step produced."""
    opening: RunPrerequisites = Field({"confirm": False}, validate_default=True)
    """The inputs that it needs before its first step."""
    output: Any | None = None
    """The output."""
    owner: str | None = None
    """The owner, if it differs from the user that started the run: for a rollback, the owner of the original run."""
    parameters: dict[str, Any] | None = None
    """Values of the declared parameters."""
    pins: list[DocumentPin] | None = None
    """The versions it executes."""
    policy_decision: GateDecision | None = None
    """The gate's decision."""
    reason: SkipReason | None = None
    """The reason."""
    restarts: bool | None = None
    """
    Whether all steps start again, because reads may have new results. A run that has requested approval before
    keeps its results, and computes only the calls that follow again.
    """
    role: Literal["admin", "operator", "user"] | str | None = None
    roll_back: bool | None = None
    """Whether completed writes are reversed."""
    run: str | None = None
    """The other run."""
    run_id: str | None = None
    """The run."""
    run_status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str | None = (
        None
    )
    """The other run's status; absent if it was deleted."""
    source: Literal["fresh"] | Literal["cached"] | Literal["decided"] | ResultSourceResultSource | None = (
        None
    )
    """The source of the result."""
    sources: dict[str, ValueSource] | None = None
    """The sources of all values; absent in journals of earlier versions."""
    step: str | None = None
    """The step."""
    tags: RequestTags | None = None
    """The request's properties for guardrails; absent in journals without them."""
    tokens: TokenUsage | None = None
    """Tokens that were used for it."""


class RunEventPage(Wire):
    """One page of a run's journal."""

    entries: list[RunEvent]
    """Oldest first."""
    next: int | None = None
    """Cursor: the last event of this page; absent if there are no more now."""


class RunStarted(Wire):
    """A run's first event."""

    askers: list[str] | None = None
    """
    Users that requested it besides `by`: the makers of the key that started it, and the requesters of the run that
    it rolls back.
    """
    by: str
    """The user on whose behalf it acts."""
    dry_run: bool
    """Whether this is a dry run (B000-18)."""
    graph: StepGraph
    """The graph to execute."""
    opening: RunPrerequisites
    """The inputs that it needs before its first step."""
    owner: str | None = None
    """The owner, if it differs from the user that started the run: for a rollback, the owner of the original run."""
    parameters: dict[str, Any]
    """Values of the declared parameters."""
    pins: list[DocumentPin]
    """The versions it executes."""
    role: Literal["user", "operator", "admin"] | str
    """The user's level: `user`, `operator` or `admin`."""
    run_id: str
    """The run."""
    tags: RequestTags | None = None
    """The request's properties for guardrails; absent in journals without them."""


class StepExplanation(Wire):
    """The gate's decisions on one step."""

    approvals: list[Approval]
    """The approvals that were requested."""
    decisions: list[JournalEvent]
    """
    Journal events that begin, refuse or skip the step, or that request or decide an approval. Each has the gate's
    decision and the rules behind it. Oldest first.
    """
    step: str
    """The step."""
    tool: str | None
    """The tool it calls."""
    waits_for: list[StepWait]
    """Conditions that the step waits for; empty if it is next, has begun or has ended."""
    writes: bool
    """Whether it changes something."""
    approval: str | None = None
    """The approval's id."""
    attempt: int | None = None
    """The number of the attempt, from 1."""
    digest: str | None = None
    """The digest that the decision is bound to."""
    due: AwareDatetime | None = None
    """The earliest time of the next attempt."""
    expires_at: AwareDatetime | None = None
    """The time at which it lapses."""
    failure: StepFailure | None = None
    """The failure."""
    reason: SkipReason | None = None
    """The reason."""
    state: Literal["awaiting_approval", "cancelled", "failed", "pending", "retrying", "running", "skipped", "succeeded"] | str | None = (
        None
    )


class RunExplanation(Wire):
    """The gate's decisions on a run."""

    run_id: str
    """The run."""
    status: Literal["awaiting_parameters", "awaiting_confirmation", "working", "awaiting_approval", "paused", "stopping", "rolling_back", "completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"] | str
    """The run's status."""
    steps: list[StepExplanation]
    """Its steps, or only the requested one."""


class GateExplanation(RootModel[CallExplanation | RunExplanation]):
    root: CallExplanation | RunExplanation
    """The gate's decision on a hypothetical call, or its decisions in a run."""


StepAction.model_rebuild()
StepGraph.model_rebuild()
