//! Use cases, one noun per file.
//!
//! The engine knows who asks, what is in force and what to do; it decides with `charter-domain`,
//! remembers through the storage traits, and acts through the ports of `charter-effects` and
//! `charter-search`. It knows no HTTP, no SQL, no command line and no environment.

// The command line alone writes to the terminal, by writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod abilities;
mod agent_skills;
mod analysis;
mod apart;
mod asking;
mod caller;
mod caller_view;
mod candidates;
mod catalogue;
mod checks;
mod confined;
mod documents;
mod engine;
mod error;
mod events;
mod everyday;
mod evidence;
mod evidence_log;
mod executors;
mod expert_graph;
mod fair_slots;
mod findings;
mod grants;
mod imports;
mod keys;
mod knowledge;
mod lenses;
mod memory;
mod missions;
mod moments;
mod outputs;
mod packages;
mod plans;
mod playbooks;
mod providers;
mod questions;
mod quotas;
mod rate_limits;
mod recovery;
mod reindex;
mod replicas;
mod requests;
mod resolve;
mod route_examples;
mod routing;
mod runs;
mod sessions;
mod settings;
mod shares;
mod tags;
mod tasks;
mod telemetry;
mod tool_results;
mod tool_search;

pub use abilities::Ability;
pub use agent_skills::{
    AgentSkillFile, AgentSkillHit, AgentSkillPage, AgentSkillSummary, Artifact, BulkItem,
    BulkWritten, Force, MAX_BULK_ITEMS, PublishedIndex, PublishedSkill, SentFile, SkillInScope,
    SkillIndexState, SkillInstruction, SkillKind, SkillManifest, SkillManifests, SkillSearch,
    SkillWritten, SkillsImported, SkillsSent,
};
pub use apart::apart;
pub use caller::{
    AccessScope, AccessScopes, Caller, CatalogueRole, CredentialId, Role, SkillGrants, Tier,
};
pub use caller_view::CallerView;
pub use candidates::{CODE_AGENT_ROUTE, CodeAgent, Composer, Generator, GeneratorError};
pub use catalogue::lens_index::{PassageSection, Position, SkippedFile};
pub use catalogue::{LiveCatalogue, Mode};
pub use charter_domain::approval::{Approval, ApprovalAnswer, Digest, ReportedResult};
pub use charter_domain::dependencies::{Dependency, DependencySide, DocumentName};
pub use charter_domain::expert_graph::Depth;
pub use charter_domain::guardrail::GuardrailSubject;
pub use charter_domain::link_graph::LinkFinding;
pub use charter_domain::mission::diff::MissionDiff;
pub use charter_domain::package::{Problem, ProblemSeverity};
pub use charter_domain::rate_limit::Rate;
pub use charter_domain::run::{RunEvent, RunOutcome, StopCause};
pub use charter_domain::skill_folder::SkillFile;
pub use documents::{
    CatalogueKind, CatalogueView, DependencyNode, DocumentDependencies, DocumentFilter,
    DocumentLayer, DocumentSource, DocumentSummary, DocumentView,
};
pub use engine::{Engine, IdSource, Ports, RandomIds};
pub use error::EngineError;
pub use events::{
    AnnouncedEvent, ApprovalEventRef, CatalogueEventRef, Event, EventPage, RequestEventRef,
    RunEventRef,
};
pub use evidence::{EvidenceEntry, EvidencePage, EvidenceQuery, MAX_PAYLOAD};
pub use evidence_log::{
    EvidenceExport, EvidenceKey, EvidenceProof, LogCheckpoint, LogConsistency, LogHead, LogKey,
};
pub use executors::{LeaseRenewal, LeaseRequest};
pub use expert_graph::{GraphAnswer, GraphQuery};
pub use grants::{HostFault, ToolGrants};
pub use keys::{
    KeyEventRef, KeyOrder, KeyPage, KeyPresence, KeyRotation, KeyState, KeyText, KeyView, NewKey,
};
pub use lenses::{
    LastWork, LensAnswer, LensFilter, LensIndexView, LensIndexed, LensOutcome, LensView,
    MAX_PASSAGES, PassageView, Stage, WorkResult,
};
pub use memory::{
    MemoryDraft, MemoryHit, MemoryPage, MemoryQuery, MemoryView, ProposalAnswer, RelatedMemory,
    Remember, Supersede,
};
pub use missions::{
    Answerer, ArtifactFilter, ArtifactView, BundleChecked, BundleFault, MissionArtifactPage,
    MissionEvent, MissionEventPage, MissionImported, MissionOrder, MissionPage, MissionReplayed,
    MissionStarted, MissionSummary, MissionTaskView, MissionView, Offline, ProposalView,
    check_bundle,
};
pub use packages::{
    ChangedDocument, Difference, DocumentChange, PackageDiff, PackageReport, PackageView,
    RegistrationReport, RoutingTestResult, VersionRange, VersionsDiff,
};
pub use plans::SubmittedPlan;
pub use providers::{Claim, ClaimGrant, Provider, Providers, Tenancy};
pub use quotas::{QuotaView, RunQuotaUse};
pub use requests::{
    Course, ParameterView, RequestConfirmed, RequestEvent, RequestPreview, RequestView,
};
pub use resolve::{InForce, ResolvedGuardrail, ResolvedPolicy, ResolvedTemplate, ToolFilter};
pub use route_examples::{
    ExampleDecision, RouteExampleEventRef, RouteExampleListing, RouteExampleShown,
};
pub use routing::{
    FollowUpReference, GatewayReading, Purpose, RoutedCandidate, RoutedVerdict, ThresholdOverrides,
    VerdictView,
};
pub use runs::{
    ApprovalDecision, ApprovalEntry, ApprovalPage, AssumedFacts, CallExplanation, CallOrigin,
    Confirmation, HistoryEvent, HypotheticalCall, IdempotencyKey, Progress, ProgressEvent,
    ReplayDivergence, Replayed, RunAt, RunEventPage, RunEventView, RunEvidence, RunExplained,
    RunPage, RunQuery, RunStarted, RunState, RunSummary, RunView, StepExplained, StepView,
};
pub use sessions::{SessionTurn, SessionView};
pub use settings::{
    Approvers, ClientTools, LensSettings, MemorySettings, ProcessRole, Quota, Quotas, Settings,
    SkillVectors,
};
pub use shares::{Share, Shares};
pub use tasks::{Task, TaskFilter, TaskInput, TaskKey, TaskMessage, TaskPage, TaskState};
pub use telemetry::TELEMETRY;
pub use tool_search::FoundTool;
