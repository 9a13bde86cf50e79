//! The table of contracts, in the order of `SchemaName`.

use super::inspect_as;
use crate::agentic::context_model::ContextModel;
use crate::agentic::decision_tree::DecisionTree;
use crate::agentic::environment_access::EnvironmentAccess;
use crate::agentic::error::AgentError;
use crate::agentic::file_system_operation::FileSystemOperation;
use crate::agentic::memory::MemoryEntry;
use crate::agentic::network_request::NetworkRequest;
use crate::agentic::pipeline_definition::PipelineDefinition;
use crate::agentic::request::AgentRequest;
use crate::agentic::response::AgentResponse;
use crate::agentic::session::Session;
use crate::agentic::tool_definition::ToolDefinition;
use crate::agentic::tool_invocation::ToolInvocation;
use crate::agentic::tool_result::ToolResult;
use crate::catalogue::agent::AgentManifest;
use crate::catalogue::domain::Domain;
use crate::catalogue::evidence::EvidenceRecord;
use crate::catalogue::graph::{GraphEdge, GraphNode};
use crate::catalogue::guardrail::Guardrail;
use crate::catalogue::lens::DomainLens;
use crate::catalogue::mission_type::MissionType;
use crate::catalogue::playbook::Playbook;
use crate::catalogue::policy::Policy;
use crate::catalogue::prompt::PromptTemplate;
use crate::catalogue::schedule::Schedule;
use crate::catalogue::skill::Skill;
use crate::catalogue::tags::TagRecord;
use crate::catalogue::template::Template;
use crate::catalogue::tool::Tool;
use crate::executor::{ExecutorCall, ExecutorOutcome};
use crate::finding::Finding;
use crate::link_graph::AgentSkill;
use crate::mission::aggregation_packet::AggregationPacket;
use crate::mission::envelope::MissionEnvelope;
use crate::mission::librarian_pass::LibrarianPass;
use crate::mission::policy_decision::PolicyDecision;
use crate::mission::prompt_package::PromptPackage;
use crate::mission::research_artifact::ResearchArtifact;
use crate::mission::review_packet::ReviewPacket;
use crate::mission::task_graph::MissionTaskGraph;
use crate::mission::worker_result::WorkerResult;
use crate::mission::writeback_proposal::WritebackProposal;
use crate::package::{PackageBundle, PackageManifest, RoutingTest};
use crate::plan::ExecutionPlan;
use crate::schema::{Alias, Draft, Origin, SchemaEntry, of_type};
use crate::validate::{Contract, Registered};

const DRAFT: Draft = Draft::Draft202012;

/// The aliases of one catalogue document: for its id, then those that all documents share (ruling 15).
macro_rules! aliases {
    ($($special:expr),+) => {
        &[
            $($special,)+
            Alias::field("_created_at", "created_at"),
            Alias::field("_updated_at", "updated_at"),
            Alias::field("_version", "version"),
        ]
    };
}

macro_rules! entry {
    ($type:ident, $source:literal) => {
        entry!($type, $source, &[])
    };
    ($type:ident, $source:literal, $aliases:expr) => {
        SchemaEntry::new(
            (<$type as Contract>::NAME, stringify!($type)),
            $source,
            DRAFT,
            Origin::Type(of_type::<$type>),
            $aliases,
            inspect_as::<$type>,
        )
    };
    (seed $type:ident, $source:literal, $file:literal) => {
        SchemaEntry::new(
            (<$type as Contract>::NAME, stringify!($type)),
            $source,
            Draft::Draft07,
            Origin::Seed(include_str!(concat!("../agentic/seed/", $file, ".json"))),
            &[],
            inspect_as::<$type>,
        )
    };
    (authored draft07 $type:ident, $source:literal) => {
        SchemaEntry::new(
            (<$type as Contract>::NAME, stringify!($type)),
            $source,
            Draft::Draft07,
            Origin::Authored(of_type::<$type>),
            &[],
            inspect_as::<$type>,
        )
    };
    (authored $type:ident, $source:literal) => {
        SchemaEntry::new(
            (<$type as Contract>::NAME, stringify!($type)),
            $source,
            DRAFT,
            Origin::Authored(of_type::<$type>),
            &[],
            inspect_as::<$type>,
        )
    };
}

const DOMAIN: Alias = Alias::inside("classification", "domain", "domain");
const EMBEDDING: Alias = Alias::field("_embedding", "embedding");

pub(super) static ENTRIES: [SchemaEntry; 48] = [
    entry!(
        Skill,
        "seed 000 §2.2",
        aliases!(
            Alias::field("_id", "skill_id"),
            Alias::field("id", "skill_id"),
            DOMAIN,
            EMBEDDING
        )
    ),
    entry!(
        Tool,
        "seed 000 §2.4",
        aliases!(
            Alias::field("_id", "tool_id"),
            Alias::field("id", "tool_id"),
            DOMAIN,
            EMBEDDING
        )
    ),
    entry!(
        Guardrail,
        "seed 000 §2.5",
        aliases!(
            Alias::field("_id", "guardrail_id"),
            Alias::field("id", "guardrail_id"),
            DOMAIN
        )
    ),
    entry!(
        DomainLens,
        "seed 000 §2.6",
        aliases!(
            Alias::field("_id", "lens_id"),
            Alias::field("id", "lens_id"),
            DOMAIN,
            Alias::field("_content_hash", "content_hash")
        )
    ),
    entry!(
        Template,
        "seed 000 §2.7",
        aliases!(
            Alias::field("_id", "template_id"),
            Alias::field("id", "template_id"),
            DOMAIN
        )
    ),
    entry!(
        Playbook,
        "seed 000 §2.8",
        aliases!(
            Alias::field("_id", "playbook_id"),
            Alias::field("id", "playbook_id"),
            DOMAIN,
            EMBEDDING
        )
    ),
    entry!(
        TagRecord,
        "seed 000 §2.10",
        &[
            Alias::field("_id", "request_id"),
            Alias::field("id", "request_id")
        ]
    ),
    entry!(
        AgentManifest,
        "seed 000 §2.11",
        aliases!(
            Alias::field("_id", "agent_id"),
            Alias::field("id", "agent_id"),
            DOMAIN,
            EMBEDDING
        )
    ),
    entry!(
        GraphNode,
        "seed 000 §2.12",
        aliases!(Alias::field("_id", "id"), DOMAIN)
    ),
    entry!(GraphEdge, "seed 000 §2.12", aliases!(DOMAIN)),
    entry!(
        Domain,
        "seed 000 §2.13",
        aliases!(
            Alias::field("_id", "domain_id"),
            Alias::field("id", "domain_id")
        )
    ),
    entry!(
        EvidenceRecord,
        "seed 000 §2.14",
        &[
            Alias::field("_id", "id"),
            Alias::field("_created_at", "created_at")
        ]
    ),
    entry!(AgentSkill, "seed 001, Field Mapping"),
    entry!(MissionEnvelope, "seed 002 §4"),
    entry!(MissionTaskGraph, "seed 002 §5"),
    entry!(PromptPackage, "seed 002 §6"),
    entry!(ResearchArtifact, "seed 002 §7"),
    entry!(LibrarianPass, "seed 002 §8"),
    entry!(WorkerResult, "seed 002 §9"),
    entry!(AggregationPacket, "seed 002 §10"),
    entry!(ReviewPacket, "seed 002 §11"),
    entry!(PolicyDecision, "seed 002 §12"),
    entry!(WritebackProposal, "seed 002 §13"),
    entry!(seed AgentRequest, "seed 003, Request Schema", "request"),
    entry!(seed AgentResponse, "seed 003, Response Schema", "response"),
    entry!(seed AgentError, "seed 003, Error Schema", "error"),
    entry!(seed ToolDefinition, "seed 003, Tool Definition Schema", "tool-definition"),
    entry!(seed MemoryEntry, "seed 003, Memory Entry Schema", "memory-entry"),
    entry!(seed ExecutionPlan, "seed 003, Execution Plan Schema", "execution-plan"),
    entry!(authored draft07 ToolInvocation, "this project, for seed 003, Tool Invocation Schema"),
    entry!(authored draft07 ToolResult, "this project, for seed 003, Tool Result Schema"),
    entry!(authored draft07 Session, "this project, for seed 003, Session Schema"),
    entry!(authored draft07 ContextModel, "this project, for seed 003, Context Model Schema"),
    entry!(authored draft07 FileSystemOperation, "this project, for seed 003, File System Operation Schema"),
    entry!(authored draft07 EnvironmentAccess, "this project, for seed 003, Environment Access Schema"),
    entry!(authored draft07 NetworkRequest, "this project, for seed 003, Network Request Schema"),
    entry!(authored draft07 PipelineDefinition, "this project, for seed 003, Pipeline Definition Schema"),
    entry!(authored draft07 DecisionTree, "this project, for seed 003, Decision Tree Schema"),
    entry!(authored Policy, "this project, policies"),
    entry!(authored MissionType, "this project, for seed 002 §4, mission_type"),
    entry!(authored PromptTemplate, "this project, for seed 002 §6, template_id"),
    entry!(authored Schedule, "this project, schedules"),
    entry!(authored PackageManifest, "this project, packages"),
    entry!(authored RoutingTest, "this project, packages"),
    entry!(authored PackageBundle, "this project, packages"),
    entry!(authored Finding, "this project, findings"),
    entry!(authored ExecutorCall, "this project, for seed 000 §2.4, execution_target"),
    entry!(authored ExecutorOutcome, "this project, for seed 000 §2.4, execution_target"),
];

/// Gives each contract its entry.
macro_rules! registered {
    ($($type:ident),+ $(,)?) => { $(
        impl Registered for $type {
            fn entry() -> &'static SchemaEntry {
                <$type as Contract>::NAME.entry()
            }
        }
    )+ };
}

registered!(
    Skill,
    Tool,
    Guardrail,
    DomainLens,
    Template,
    Playbook,
    TagRecord,
    AgentManifest,
    GraphNode,
    GraphEdge,
    Domain,
    EvidenceRecord,
    AgentSkill,
    MissionEnvelope,
    MissionTaskGraph,
    PromptPackage,
    ResearchArtifact,
    LibrarianPass,
    WorkerResult,
    AggregationPacket,
    ReviewPacket,
    PolicyDecision,
    WritebackProposal,
    AgentRequest,
    AgentResponse,
    AgentError,
    ToolDefinition,
    MemoryEntry,
    ExecutionPlan,
    ToolInvocation,
    ToolResult,
    Session,
    ContextModel,
    FileSystemOperation,
    EnvironmentAccess,
    NetworkRequest,
    PipelineDefinition,
    DecisionTree,
    Policy,
    MissionType,
    PromptTemplate,
    Schedule,
    PackageManifest,
    RoutingTest,
    PackageBundle,
    Finding,
    ExecutorCall,
    ExecutorOutcome,
);
