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
pub use approvals::{ApprovalEntry, ApprovalListing, Say};
pub use caller::{
    AccessScope, AccessScopes, Caller, CallerShown, CatalogueRole, CredentialId, Role, SkillGrants,
    Tier,
};
pub use candidates::{CODE_AGENT_ROUTE, CodeAgent, Composer, Generator, GeneratorError};
pub use catalogue::Live;
pub use charter_domain::approval::{Answer, Approval, Digest, Happened};
pub use charter_domain::dependencies::{Dependency, DocumentName, Side};
pub use charter_domain::expert_graph::Depth;
pub use charter_domain::guardrail::Subject;
pub use charter_domain::link_graph::LinkFinding;
pub use charter_domain::mission::diff::MissionDiff;
pub use charter_domain::package::{Gravity, Problem};
pub use charter_domain::rate_limit::Rate;
pub use charter_domain::run::{Outcome, RunEvent, StopCause};
pub use charter_domain::skill_folder::SkillFile;
pub use documents::{
    CatalogueShown, DependencyNode, DocumentDependencies, DocumentFilter, DocumentShown, KindShown,
    LayerShown, Listed, SourceShown,
};
pub use engine::{Engine, IdSource, Ports, RandomIds};
pub use error::EngineError;
pub use events::{Announced, Event, EventListing, OfApproval, OfCatalogue, OfRequest, OfRun};
pub use evidence::{EvidenceEntry, EvidenceListing, EvidenceQuery, MAX_PAYLOAD};
pub use evidence_log::{
    EvidenceExport, EvidenceKey, EvidenceProof, LogCheckpoint, LogConsistency, LogHead, LogKey,
};
pub use executors::{LeaseRequest, Renewed};
pub use expert_graph::{GraphAnswer, GraphQuery};
pub use grants::{HostFault, ToolGrants};
pub use keys::{
    KeyListing, KeyMade, KeyOrder, KeyRotation, KeyShown, KeyState, KeyText, KeysKept, OfKey,
};
pub use lenses::{
    FileLeftOut, IndexShown, LastWork, LensAnswer, LensFilter, LensIndexed, LensOutcome, LensShown,
    MAX_PASSAGES, PassageShown, Position, Stage, WorkResult,
};
pub use memory::{
    MemoryDraft, MemoryFound, MemoryListing, MemoryQuery, MemoryShown, MemoryWord, RelatedMemory,
    Remember, Supersede,
};
pub use missions::{
    Answerer, ArtifactFilter, ArtifactListing, ArtifactShown, BundleChecked, BundleFault,
    MissionEvent, MissionEventListing, MissionImported, MissionListing, MissionOrder,
    MissionReplayed, MissionShown, MissionStarted, MissionSummary, Offline, ProposalShown,
    TaskShown, check_bundle,
};
pub use packages::{
    ChangedDocument, Difference, DocumentChange, Mode, PackageDiff, PackageReport, PackageShown,
    Registered, RoutingTried, VersionsDiff, VersionsWanted,
};
pub use plans::SentPlan;
pub use providers::{Claim, ClaimGrant, Provider, Providers, Tenancy};
pub use quotas::{Quota, QuotaShown, Quotas, RunsTaken};
pub use requests::{
    Course, Follows, Foreseen, ParameterShown, Progress, ProgressEvent, RequestEvent, RequestShown,
};
pub use resolve::{InForce, ResolvedGuardrail, ResolvedPolicy, ResolvedTemplate, ToolFilter};
pub use routing::{
    GatewayReading, Purpose, RoutedCandidate, RoutedVerdict, TriedThresholds, VerdictShown,
};
pub use runs::{
    Assumed, CallExplained, Confirmation, Diverges, HistoryEvent, OrderKey, Replayed, RunAt,
    RunEventListing, RunEventShown, RunEvidence, RunExplained, RunListing, RunQuery, RunShown,
    RunStarted, RunState, RunSummary, StepExplained, StepShown, ThoughtOf, Within,
};
pub use sessions::{SessionShown, TurnShown};
pub use settings::{
    Approvers, ClientTools, Duty, LensSettings, MemorySettings, Settings, SkillVectors,
};
pub use shares::{Share, Shares};
pub use tasks::{Said, Task, TaskFilter, TaskKey, TaskListing, TaskMessage, TaskState};
pub use telemetry::TELEMETRY;
pub use tool_search::FoundTool;
