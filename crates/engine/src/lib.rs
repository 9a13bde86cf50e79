//! Use cases, one noun per file.
//!
//! Modules are in folders, each of which may name those before it: `ground`, `identity`, `catalogue`, `knowledge`,
//! `registry`, `execution`, `missions`, `conversation`, `schedules`. Use cases are methods of services, which
//! [`Engine`] holds, and for conversations of [`Engine`] itself.
//!
//! The engine combines the caller, the catalogue in force and the request. It decides with `charter-domain`, persists
//! through the storage traits, and acts through the ports of `charter-effects` and `charter-search`. It knows no HTTP,
//! no SQL, no command line and no environment.

// Only the command line writes to the terminal, by writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod catalogue;
mod conversation;
mod engine;
mod execution;
mod ground;
mod identity;
mod knowledge;
mod maintenance;
mod missions;
mod registry;
mod schedules;

pub use catalogue::abilities::Ability;
pub use catalogue::documents::{
    CatalogueKind, CatalogueView, DependencyNode, DocumentDependencies, DocumentFilter,
    DocumentLayer, DocumentService, DocumentSource, DocumentSummary, DocumentView,
};
pub use catalogue::lens_index::{PassageSection, Position, SkippedFile};
pub use catalogue::live::{LiveCatalogue, Mode};
pub use catalogue::resolve::{
    InForce, ResolvedGuardrail, ResolvedPolicy, ResolvedTemplate, ToolFilter,
};
pub use charter_domain::approval::{Approval, ApprovalAnswer, Digest, ListChoice, ReportedResult};
pub use charter_domain::dependencies::{Dependency, DependencySide, DocumentRef};
pub use charter_domain::expert_graph::Depth;
pub use charter_domain::guardrail::GuardrailSubject;
pub use charter_domain::link_graph::LinkFinding;
pub use charter_domain::mission::diff::MissionDiff;
pub use charter_domain::package::{Problem, ProblemSeverity};
pub use charter_domain::rate_limit::Rate;
pub use charter_domain::run::{MissingAccount, RunEvent, RunOutcome, StopCause};
pub use charter_domain::skill_folder::{ScriptGrant, SkillFile};
pub use charter_effects::channel::SlackRequest;
pub use charter_effects::{CallClient, CallEnd, CallEvent, CallLink, DryRun};
pub use conversation::candidates::{
    CODE_AGENT_ROUTE, CandidateService, CodeAgent, Composer, Generator, GeneratorError,
};
pub use conversation::requests::{
    Course, FindingCount, ParameterView, RequestClassificationService, RequestConfirmationResult,
    RequestEvent, RequestManagementService, RequestPage, RequestPreview, RequestService,
    RequestState, RequestSummary, RequestView, RequestViewService, ResponseService,
    RouteConfirmationService,
};
pub use conversation::sessions::{SessionService, SessionTurn, SessionView};
pub use conversation::tasks::{
    Task, TaskContent, TaskFilter, TaskInput, TaskKey, TaskMessage, TaskPage, TaskService,
    TaskState,
};
pub use conversation::tool_invocations::{InvocationOutcome, ToolInvocationService};
pub use engine::{Engine, Ports};
pub use execution::events::{
    AnnouncedEvent, ApprovalEventRef, CatalogueEventRef, Event, EventPage, EventService,
    FindingEventRef, OccurrenceEventRef, RequestEventRef, RunEventRef, ScheduleEventRef,
};
pub use execution::evidence::{
    EvidenceEntry, EvidencePage, EvidenceQuery, EvidenceService, MAX_PAYLOAD,
};
pub use execution::evidence_log::{
    EvidenceExport, EvidenceKey, EvidenceLogService, EvidenceProof, LogCheckpoint, LogConsistency,
    LogHead, LogKey,
};
pub use execution::executors::{ExecutorService, LeaseRenewal, LeaseRequest};
pub use execution::explain::{
    AssumedFacts, CallExplanation, CallOrigin, GateService, HypotheticalCall,
};
pub use execution::linked_calls::LinkedCallService;
pub use execution::notifications::{
    ChannelTest, ChannelView, NotificationPage, NotificationService, NotificationView,
    SlackDecision,
};
pub use execution::previews::{ApprovalPreview, CallPreview, PreviewService, WriteEffect};
pub use execution::runs::{
    ApprovalDecision, ApprovalEntry, ApprovalPage, ApprovalService, AwaitedRunView, Confirmation,
    HistoryEvent, PendingConfirmation, Progress, ProgressEvent, ReplayDivergence, Replayed,
    RollBack, RunAt, RunEventPage, RunEventView, RunEvidence, RunExplanation, RunManagementService,
    RunPage, RunQuery, RunRecoveryService, RunState, RunSummary, RunView, RunViewService,
    StepExplanation, StepView,
};
pub use execution::starts::{IdempotencyKey, RunStartService, RunStarted, SubmittedPlan};
pub use execution::tags::TagService;
pub use ground::apart::apart;
pub use ground::credentials::{
    CredentialDefinition, CredentialKind, CredentialSettings, TokenExchange,
};
pub use ground::error::EngineError;
pub use ground::grants::{HostFault, ToolGrants};
pub use ground::ids::{IdSource, RandomIds};
pub use ground::notifications::{
    ChannelSettings, NotificationSettings, SlackPeople, SlackPerson, TenantNotifications,
};
pub use ground::servers::{ToolServer, ToolServerError};
pub use ground::settings::{
    ApproverGroup, Approvers, ClientTools, ConsoleSessionSettings, LensSettings, MemorySettings,
    Pins, ProcessRole, Quota, Quotas, Settings, SkillVectors, TenantPins,
};
pub use ground::telemetry::TELEMETRY;
pub use ground::vault::SealingKeys;
pub use identity::authorization_code::ConnectionCode;
pub use identity::caller::{
    AccessScope, AccessScopes, Caller, CatalogueRole, CredentialId, Role, SkillGrants, Tier,
};
pub use identity::caller_view::CallerView;
pub use identity::credentials::{
    AccountEventRef, AccountPage, AccountView, ConnectionOrder, ConnectionStart, CredentialService,
    CredentialState, CredentialView,
};
pub use identity::keys::{
    KeyEventRef, KeyOrder, KeyPage, KeyPresence, KeyRotation, KeyService, KeyState, KeyText,
    KeyView, NewKey,
};
pub use identity::providers::{Claim, ClaimGrant, ConsoleClient, Provider, Providers, Tenancy};
pub use identity::quotas::{QuotaView, RunQuotaUse, TenantQuotas};
pub use identity::shares::{Share, Shares};
pub use identity::sign_in::{
    ConsoleSessionView, OpenedConsoleSession, SessionSecret, SessionUse, SignInOptions,
    SignInOrder, SignInProvider, SignInService, SignInStart, SignedOut, StartedSignIn,
};
pub use knowledge::agent_skills::{
    AgentSkillFile, AgentSkillHit, AgentSkillPage, AgentSkillService, AgentSkillSummary, Artifact,
    BulkItem, BulkWritten, Force, MAX_BULK_ITEMS, PublishedSkill, PublishedSkillIndex, SentFile,
    SkillInScope, SkillIndexState, SkillInstruction, SkillKind, SkillManifest, SkillManifests,
    SkillScript, SkillSearch, SkillTool, SkillWritten, SkillsImported, SkillsSent,
};
pub use knowledge::expert_graph::{ExpertGraphService, GraphAnswer, GraphQuery};
pub use knowledge::lenses::{
    LastWork, LensFilter, LensIndexView, LensIndexingOutcome, LensIndexingResult, LensSearchResult,
    LensService, LensView, MAX_PASSAGES, PassageView, Stage, WorkResult,
};
pub use knowledge::memory::{
    ListedMemories, MemoryDraft, MemoryHit, MemoryPage, MemoryQuery, MemoryService, MemoryView,
    ProposalAnswer, RelatedMemory, Remember, Supersede,
};
pub use maintenance::MaintenanceService;
pub use missions::{
    Answerer, ArtifactFilter, ArtifactView, AssignmentBrief, AssignmentCall, AssignmentPage,
    AssignmentService, AssignmentSubmission, AssignmentView, BundleChecked, BundleFault,
    CoverageGapView, MissionArtifactPage, MissionEvent, MissionEventPage, MissionImported,
    MissionOrder, MissionPage, MissionReplay, MissionService, MissionStarted, MissionSummary,
    MissionTaskView, MissionView, MissionViewService, Offline, ProposalView, check_bundle,
};
pub use registry::indexing::IndexService;
pub use registry::packages::{
    Difference, DocumentChange, DocumentVersionChange, PackageDiff, PackageReport, PackageService,
    PackageVersionDiff, PackageView, RegistrationReport, RoutingTestResult, VersionRange,
};
pub use registry::pins::{OfferedServer, PinService, PinnedDocument, PinnedEntry};
pub use registry::route_examples::{
    ExampleDecision, RouteExampleEventRef, RouteExampleListing, RouteExampleService,
    RouteExampleShown,
};
pub use registry::routing::{
    FollowUpReference, GatewayResult, Purpose, RoutedCandidate, RoutedVerdict, RoutingService,
    ThresholdOverrides, VerdictView,
};
pub use registry::skill_scripts::SkillScriptService;
pub use registry::tool_search::{FoundTool, ToolSearchService, WorkArea, WorkAreas};
pub use registry::tools::{TOOLS_PACKAGE, ToolRegistered, ToolRegistrationService};
pub use schedules::{
    NewSchedule, OccurrencePage, OccurrenceView, ScheduleOrder, SchedulePage, ScheduleService,
    ScheduleView, StartedWork, WebhookEvent, WebhookReceipt,
};
