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
    /// The name of a contract.
    pub enum SchemaName {
        /// 000 §2.2.
        Skill = "skill",
        /// 000 §2.4.
        Tool = "tool",
        /// 000 §2.5.
        Guardrail = "guardrail",
        /// 000 §2.6.
        DomainLens = "domain_lens",
        /// 000 §2.7.
        Template = "template",
        /// 000 §2.8.
        Playbook = "playbook",
        /// 000 §2.10.
        TagRecord = "tag_record",
        /// 000 §2.11.
        Agent = "agent",
        /// 000 §2.12, nodes.
        GraphNode = "graph_node",
        /// 000 §2.12, edges.
        GraphEdge = "graph_edge",
        /// 000 §2.13.
        Domain = "domain",
        /// 000 §2.14.
        Evidence = "evidence",
        /// 001.
        AgentSkill = "agent_skill",
        /// 002 §4.
        MissionEnvelope = "mission_envelope",
        /// 002 §5.
        MissionTaskGraph = "mission_task_graph",
        /// 002 §6.
        PromptPackage = "prompt_package",
        /// 002 §7.
        ResearchArtifact = "research_artifact",
        /// 002 §8.
        LibrarianPass = "librarian_pass",
        /// 002 §9.
        WorkerResult = "worker_result",
        /// 002 §10.
        AggregationPacket = "aggregation_packet",
        /// 002 §11.
        ReviewPacket = "review_packet",
        /// 002 §12.
        PolicyDecision = "policy_decision",
        /// 002 §13.
        WritebackProposal = "writeback_proposal",
        /// 003 Request Schema.
        AgentRequest = "agent_request",
        /// 003 Response Schema.
        AgentResponse = "agent_response",
        /// 003 Error Schema.
        AgentError = "agent_error",
        /// 003 Tool Definition Schema.
        ToolDefinition = "tool_definition",
        /// 003 Memory Entry Schema.
        MemoryEntry = "memory_entry",
        /// 003 Execution Plan Schema.
        ExecutionPlan = "execution_plan",
        /// 003 Tool Invocation Schema, named only.
        ToolInvocation = "tool_invocation",
        /// 003 Tool Result Schema, named only.
        ToolResult = "tool_result",
        /// 003 Session Schema, named only.
        Session = "session",
        /// 003 Context Model Schema, named only.
        ContextModel = "context_model",
        /// 003 File System Operation Schema, named only.
        FileSystemOperation = "file_system_operation",
        /// 003 Environment Access Schema, named only.
        EnvironmentAccess = "environment_access",
        /// 003 Network Request Schema, named only.
        NetworkRequest = "network_request",
        /// 003 Pipeline Definition Schema, named only.
        PipelineDefinition = "pipeline_definition",
        /// 003 Decision Tree Schema, named only.
        DecisionTree = "decision_tree",
        /// This project: a policy.
        Policy = "policy",
        /// This project: a kind of missions.
        MissionType = "mission_type",
        /// This project: a prompt template.
        PromptTemplate = "prompt_template",
        /// This project: a package.
        PackageManifest = "package_manifest",
        /// This project: a routing test.
        RoutingTest = "routing_test",
        /// This project: the files of a package.
        PackageBundle = "package_bundle",
        /// This project: a finding.
        Finding = "finding",
        /// This project: a call of a client tool.
        ExecutorCall = "executor_call",
        /// This project: what came of it.
        ExecutorOutcome = "executor_outcome",
    }
}

string_enum! {
    /// The draft of JSON Schema that a contract is written in.
    pub enum Draft {
        /// Draft 7, as seed 003.
        Draft07 = "draft-07",
        /// Draft 2020-12.
        Draft202012 = "2020-12",
    }
}

/// Where a contract's schema comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// The seed's own text.
    Seed(&'static str),
    /// The Rust type.
    Type(fn(Draft) -> Value),
    /// The Rust type; the contract is this project's, not a seed's.
    Authored(fn(Draft) -> Value),
}

/// One contract.
#[derive(Debug)]
pub struct SchemaEntry {
    /// Its name.
    pub name: SchemaName,
    /// Its title: the name of the Rust type.
    pub title: &'static str,
    /// The seed and section it comes from.
    pub source: &'static str,
    /// The draft it is written in.
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

/// A schema of this crate that does not compile: a defect of this crate.
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

    /// The JSON Schema. It also describes the spellings that are accepted on input only.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.compiled().json
    }

    /// The schema compiled, once.
    ///
    /// # Errors
    /// [`BrokenSchema`], a defect of this crate that its tests rule out.
    pub(crate) fn checker(&self) -> Result<&Checker, &BrokenSchema> {
        self.compiled().checker.as_ref()
    }

    /// Whether the JSON Schema accepts a value: one stage of several.
    ///
    /// # Errors
    /// [`BrokenSchema`], a defect of this crate that its tests rule out.
    pub fn accepts(&self, value: &Value) -> Result<bool, &BrokenSchema> {
        let checker = self.checker()?;
        Ok(checker.accepts(value, usize::MAX) == Ok(true))
    }

    /// Whether the contract is this project's own (B003-1).
    #[must_use]
    pub const fn is_authored_here(&self) -> bool {
        matches!(self.origin, Origin::Authored(_))
    }

    /// Spellings accepted on input, with the stored one (ruling 15).
    #[must_use]
    pub const fn aliases(&self) -> &'static [Alias] {
        self.aliases
    }

    /// Every stage of validation on a value.
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

    /// Makes the JSON Schema of a document anew, in whose order violations are reported.
    #[must_use]
    pub fn generate(&self) -> Value {
        canonical::sorted(self.made(self.aliases))
    }

    /// The JSON Schema of what is stored and answered: with one spelling of everything.
    #[must_use]
    pub fn written(&self) -> Value {
        canonical::sorted(self.made(&[]))
    }

    /// Its id, which references to it name.
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

    fn made(&self, aliases: &[Alias]) -> Value {
        let mut json = match self.origin {
            // The text is embedded; a test reads every one of them.
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

/// The schema of a type, without `$ref`: every rule stands where it applies.
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
