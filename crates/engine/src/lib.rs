//! Use cases, one noun per file.
//!
//! The engine knows who asks, what is in force and what to do; it decides with `charter-domain`,
//! remembers through the storage traits, and acts through the ports of `charter-effects` and
//! `charter-search`. It knows no HTTP, no SQL, no command line and no environment.

// The command line alone writes to the terminal, by writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod abilities;
mod absent;
mod agent_skills;
mod analysis;
mod apart;
mod approvals;
mod asking;
mod caller;
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
    Artifact, BulkItem, BulkWritten, Force, MAX_BULK_ITEMS, PublishedIndex, PublishedSkill,
    SentFile, SkillFileShown, SkillFound, SkillInScope, SkillIndexState, SkillInstruction,
    SkillKind, SkillListing, SkillManifest, SkillManifests, SkillSearch, SkillShown, SkillWritten,
    SkillsImported, SkillsSent,
};
pub use apart::apart;
pub use approvals::{ApprovalDecision, ApprovalEntry, ApprovalListing};
pub use caller::{
    AccessScope, AccessScopes, Caller, CallerShown, CatalogueRole, CredentialId, Role, SkillGrants,
    Tier,
};
pub use candidates::{CODE_AGENT_ROUTE, CodeAgent, Composer, Generator, GeneratorError};
pub use catalogue::LiveCatalogue;
pub use charter_domain::approval::{Approval, ApprovalAnswer, Digest, ReportedResult};
pub use charter_domain::dependencies::{Dependency, DocumentName, Side};
pub use charter_domain::expert_graph::Depth;
pub use charter_domain::guardrail::Subject;
pub use charter_domain::link_graph::LinkFinding;
pub use charter_domain::mission::diff::MissionDiff;
pub use charter_domain::package::{Problem, ProblemSeverity};
pub use charter_domain::rate_limit::Rate;
pub use charter_domain::run::{Outcome, RunEvent, StopCause};
pub use charter_domain::skill_folder::SkillFile;
pub use documents::{
    CatalogueShown, DependencyNode, DocumentDependencies, DocumentFilter, DocumentShown,
    DocumentSummary, KindShown, LayerShown, SourceShown,
};
pub use engine::{Engine, IdSource, Ports, RandomIds};
pub use error::EngineError;
pub use events::{
    AnnouncedEvent, ApprovalEventRef, CatalogueEventRef, Event, EventListing, RequestEventRef,
    RunEventRef,
};
pub use evidence::{EvidenceEntry, EvidenceListing, EvidenceQuery, MAX_PAYLOAD};
pub use evidence_log::{
    EvidenceExport, EvidenceKey, EvidenceProof, LogCheckpoint, LogConsistency, LogHead, LogKey,
};
pub use executors::{LeaseRenewal, LeaseRequest};
pub use expert_graph::{GraphAnswer, GraphQuery};
pub use grants::{HostFault, ToolGrants};
pub use keys::{
    KeyEventRef, KeyListing, KeyMade, KeyOrder, KeyPresence, KeyRotation, KeyShown, KeyState,
    KeyText,
};
pub use lenses::{
    IndexShown, LastWork, LensAnswer, LensFilter, LensIndexed, LensOutcome, LensShown,
    MAX_PASSAGES, PassageShown, Position, SkippedFile, Stage, WorkResult,
};
pub use memory::{
    MemoryDraft, MemoryFound, MemoryListing, MemoryQuery, MemoryShown, ProposalAnswer,
    RelatedMemory, Remember, Supersede,
};
pub use missions::{
    Answerer, ArtifactFilter, ArtifactListing, ArtifactShown, BundleChecked, BundleFault,
    MissionEvent, MissionEventListing, MissionImported, MissionListing, MissionOrder,
    MissionReplayed, MissionShown, MissionStarted, MissionSummary, Offline, ProposalShown,
    TaskShown, check_bundle,
};
pub use packages::{
    ChangedDocument, Difference, DocumentChange, Mode, PackageDiff, PackageReport, PackageShown,
    RegistrationReport, RoutingTestResult, VersionRange, VersionsDiff,
};
pub use plans::SubmittedPlan;
pub use providers::{Claim, ClaimGrant, Provider, Providers, Tenancy};
pub use quotas::{Quota, QuotaShown, Quotas, RunQuotaUse};
pub use requests::{
    Course, FollowUpReference, ParameterShown, Progress, ProgressEvent, RequestEvent,
    RequestPreview, RequestShown,
};
pub use resolve::{InForce, ResolvedGuardrail, ResolvedPolicy, ResolvedTemplate, ToolFilter};
pub use routing::{
    GatewayReading, Purpose, RoutedCandidate, RoutedVerdict, ThresholdOverrides, VerdictShown,
};
pub use runs::{
    AssumedFacts, CallExplanation, CallOrigin, Confirmation, HistoryEvent, HypotheticalCall,
    IdempotencyKey, ReplayDivergence, Replayed, RunAt, RunEventListing, RunEventShown, RunEvidence,
    RunExplained, RunListing, RunQuery, RunShown, RunStarted, RunState, RunSummary, StepExplained,
    StepShown,
};
pub use sessions::{SessionShown, TurnShown};
pub use settings::{
    Approvers, ClientTools, LensSettings, MemorySettings, ProcessRole, Settings, SkillVectors,
};
pub use shares::{Share, Shares};
pub use tasks::{Task, TaskFilter, TaskInput, TaskKey, TaskListing, TaskMessage, TaskState};
pub use telemetry::TELEMETRY;
pub use tool_search::FoundTool;
