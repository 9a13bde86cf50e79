//! The schema of a contract: its name, its JSON Schema and a
//! validator that is compiled once. Schemas are made from the Rust types, but for
//! the six of seed 003, which are that seed's own text. Knows no contract; all of them
//! are in [`crate::registry`]. Schemas that documents bring along are [`crate::foreign_schema`]'s.

mod aliases;
mod checker;
mod counted;
mod meter;
mod sameness;

use std::sync::OnceLock;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::canonical;
use crate::json::decode_stored;
use crate::violation::Report;

pub use aliases::Alias;
pub(crate) use aliases::stored_form;
pub(crate) use checker::{Checker, Faults, Unchecked};
pub(crate) use meter::{Costs, LONG_DIVISION, is_plain};

string_enum! {
    /// Name of a contract.
    pub enum SchemaName {
        /// Skill (000 §2.2).
        Skill = "skill",
        /// Tool (000 §2.4).
        Tool = "tool",
        /// Guardrail (000 §2.5).
        Guardrail = "guardrail",
        /// Domain lens (000 §2.6).
        DomainLens = "domain_lens",
        /// Template (000 §2.7).
        Template = "template",
        /// Playbook (000 §2.8).
        Playbook = "playbook",
        /// Tag record (000 §2.10).
        TagRecord = "tag_record",
        /// Agent (000 §2.11).
        Agent = "agent",
        /// Node of the expert graph (000 §2.12).
        GraphNode = "graph_node",
        /// Edge of the expert graph (000 §2.12).
        GraphEdge = "graph_edge",
        /// Domain (000 §2.13).
        Domain = "domain",
        /// Evidence record (000 §2.14).
        Evidence = "evidence",
        /// Node of the skill link graph (001).
        AgentSkill = "agent_skill",
        /// Mission envelope (002 §4).
        MissionEnvelope = "mission_envelope",
        /// Task graph (002 §5).
        MissionTaskGraph = "mission_task_graph",
        /// Prompt package (002 §6).
        PromptPackage = "prompt_package",
        /// Research artifact (002 §7).
        ResearchArtifact = "research_artifact",
        /// Librarian pass (002 §8).
        LibrarianPass = "librarian_pass",
        /// Worker result (002 §9).
        WorkerResult = "worker_result",
        /// Aggregation packet (002 §10).
        AggregationPacket = "aggregation_packet",
        /// Review packet (002 §11).
        ReviewPacket = "review_packet",
        /// Policy decision (002 §12).
        PolicyDecision = "policy_decision",
        /// Write-back proposal (002 §13).
        WritebackProposal = "writeback_proposal",
        /// Request (003 Request Schema).
        AgentRequest = "agent_request",
        /// Response (003 Response Schema).
        AgentResponse = "agent_response",
        /// Error (003 Error Schema).
        AgentError = "agent_error",
        /// Tool definition (003 Tool Definition Schema).
        ToolDefinition = "tool_definition",
        /// Memory (003 Memory Entry Schema).
        MemoryEntry = "memory_entry",
        /// Execution plan (003 Execution Plan Schema).
        ExecutionPlan = "execution_plan",
        /// Tool call (003 Tool Invocation Schema, named only).
        ToolInvocation = "tool_invocation",
        /// Tool result (003 Tool Result Schema, named only).
        ToolResult = "tool_result",
        /// Session (003 Session Schema, named only).
        Session = "session",
        /// Context model (003 Context Model Schema, named only).
        ContextModel = "context_model",
        /// File operation (003 File System Operation Schema, named only).
        FileSystemOperation = "file_system_operation",
        /// Environment access (003 Environment Access Schema, named only).
        EnvironmentAccess = "environment_access",
        /// Network request (003 Network Request Schema, named only).
        NetworkRequest = "network_request",
        /// Pipeline (003 Pipeline Definition Schema, named only).
        PipelineDefinition = "pipeline_definition",
        /// Decision tree (003 Decision Tree Schema, named only).
        DecisionTree = "decision_tree",
        /// Policy (this project).
        Policy = "policy",
        /// Mission type (this project).
        MissionType = "mission_type",
        /// Prompt template (this project).
        PromptTemplate = "prompt_template",
        /// Schedule or trigger (this project).
        Schedule = "schedule",
        /// Manifest of a package (this project).
        PackageManifest = "package_manifest",
        /// Routing test (this project).
        RoutingTest = "routing_test",
        /// Files of a package (this project).
        PackageBundle = "package_bundle",
        /// Finding (this project).
        Finding = "finding",
        /// Call of a client tool (this project).
        ExecutorCall = "executor_call",
        /// Outcome of such a call (this project).
        ExecutorOutcome = "executor_outcome",
    }
}

string_enum! {
    /// Draft of JSON Schema that a contract is written in.
    pub enum Draft {
        /// Draft 7, as seed 003.
        Draft07 = "draft-07",
        /// Draft 2020-12.
        Draft202012 = "2020-12",
    }
}

/// The source of a contract's schema.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// The seed's own schema text.
    Seed(&'static str),
    /// The Rust type.
    Type(fn(Draft) -> Value),
    /// The Rust type of a contract that is this project's, not a seed's.
    Authored(fn(Draft) -> Value),
}

/// One contract.
#[derive(Debug)]
pub struct SchemaEntry {
    /// Name of the contract.
    pub name: SchemaName,
    /// Title: the name of the Rust type.
    pub title: &'static str,
    /// Seed and section that define it.
    pub source: &'static str,
    /// Draft of its JSON Schema.
    pub draft: Draft,
    origin: Origin,
    aliases: &'static [Alias],
    inspect: fn(&Value) -> Report,
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    json: Value,
    checker: Result<Checker, BrokenSchema>,
}

/// Error: a schema of this crate that does not compile, which is a defect of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema `{name}` does not compile: {why}")]
pub struct BrokenSchema {
    name: SchemaName,
    why: String,
}

impl SchemaEntry {
    /// The entry of a contract; `inspect` has every stage of validation.
    pub(crate) const fn new(
        (name, title): (SchemaName, &'static str),
        source: &'static str,
        draft: Draft,
        origin: Origin,
        aliases: &'static [Alias],
        inspect: fn(&Value) -> Report,
    ) -> Self {
        Self {
            name,
            title,
            source,
            draft,
            origin,
            aliases,
            inspect,
            compiled: OnceLock::new(),
        }
    }

    /// Returns the JSON Schema, including the spellings that are accepted on input only.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.compiled().json
    }

    /// Returns the schema, compiled once.
    ///
    /// # Errors
    /// [`BrokenSchema`], a defect of this crate that its tests exclude.
    pub(crate) fn checker(&self) -> Result<&Checker, &BrokenSchema> {
        self.compiled().checker.as_ref()
    }

    /// Whether the JSON Schema accepts a value: one of several stages of validation.
    ///
    /// # Errors
    /// [`BrokenSchema`], a defect of this crate that its tests exclude.
    pub fn accepts(&self, value: &Value) -> Result<bool, &BrokenSchema> {
        let checker = self.checker()?;
        Ok(checker.accepts(value, usize::MAX) == Ok(true))
    }

    /// Whether the contract is this project's own (B003-1).
    #[must_use]
    pub const fn is_authored_here(&self) -> bool {
        matches!(self.origin, Origin::Authored(_))
    }

    /// Returns the spellings accepted on input, with their stored spelling (ruling 15).
    #[must_use]
    pub const fn aliases(&self) -> &'static [Alias] {
        self.aliases
    }

    /// Runs every stage of validation on a value.
    #[must_use]
    pub fn inspect(&self, value: &Value) -> Report {
        (self.inspect)(value)
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let json = self.generate();
            let checker = Checker::compile(&json, Costs::PLAIN).map_err(|why| BrokenSchema {
                name: self.name,
                why,
            });
            Compiled { json, checker }
        })
    }

    /// Generates the JSON Schema of a document; violations are reported in its order.
    #[must_use]
    pub fn generate(&self) -> Value {
        canonical::sorted(self.build_json(self.aliases))
    }

    /// Generates the JSON Schema of stored and returned documents, with one spelling of each field.
    #[must_use]
    pub fn written(&self) -> Value {
        canonical::sorted(self.build_json(&[]))
    }

    /// Returns the `$id` of the schema, which references use.
    pub(crate) fn id(&self) -> String {
        let seeds = match self.origin {
            Origin::Seed(text) => decode_stored::<Value>(text).ok(),
            Origin::Type(_) | Origin::Authored(_) => None,
        };
        let seeds = seeds.as_ref().and_then(|seed| seed.get("$id")?.as_str());
        seeds.map_or_else(
            || format!("urn:charter:schema:{}", self.name),
            str::to_owned,
        )
    }

    fn build_json(&self, aliases: &[Alias]) -> Value {
        let mut json = match self.origin {
            // The text is embedded, and a test parses each of them.
            Origin::Seed(text) => return decode_stored(text).unwrap_or(Value::Bool(false)),
            Origin::Type(generate) | Origin::Authored(generate) => generate(self.draft),
        };
        aliases::describe(&mut json, aliases);
        if let Some(root) = json.as_object_mut() {
            root.insert("$id".into(), self.id().into());
            root.insert("title".into(), self.title.into());
            root.insert("x-charter-source".into(), self.source.into());
            if self.is_authored_here() {
                root.insert("x-charter-authored".into(), true.into());
            }
        }
        json
    }
}

/// Generates the schema of a type without `$ref`: every definition is inlined.
#[must_use]
pub fn of_type<T: JsonSchema>(draft: Draft) -> Value {
    let settings = match draft {
        Draft::Draft07 => SchemaSettings::draft07(),
        Draft::Draft202012 => SchemaSettings::draft2020_12(),
    };
    let generator = settings
        .with(|settings| settings.inline_subschemas = true)
        .into_generator();
    generator.into_root_schema_for::<T>().to_value()
}
