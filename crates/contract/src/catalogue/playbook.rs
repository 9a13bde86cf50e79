//! Playbooks (seed 000 §2.8): steps that may write, their scripts, and their rollbacks. The run's state machine
//! executes them.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::tool::check_source;
use super::vocabulary::{GeneratedBy, Language, OnFailure, Status, StepType, Tier};
use crate::for_each::ForEach;
use crate::ids::{AgentId, DomainId, Label, PlaybookId, ScriptId, StepId, TenantId, ToolId};
use crate::list::MAX_LIST;
use crate::number::{Positive, Vector};
use crate::parameter::{Parameter, check_parameters};
use crate::schema::SchemaName;
use crate::text::{Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

mod undefined;

pub use undefined::Undefined;

object_only!(
    Playbook,
    PlaybookContext,
    PlaybookStep,
    PlaybookScript,
    RollbackStep,
    Safety
);

/// A playbook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Playbook {
    /// Id of the playbook.
    pub playbook_id: PlaybookId,
    /// Display name.
    pub name: Text,
    /// Domain of the playbook.
    pub domain: DomainId,
    /// Lowest tier that may use the playbook.
    #[serde(default)]
    pub tier: Tier,
    /// Whether it was generated and not yet accepted; visible to its own tenant only (B000-4).
    #[serde(default)]
    pub is_candidate: bool,
    /// Its source.
    #[serde(default)]
    pub generated_by: GeneratedBy,
    /// Agent whose boundary grounded the generation (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounding_agent: Option<AgentId>,
    /// Tenant of the playbook; absent for a global playbook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Status in the catalogue (this project, for playbooks).
    #[serde(default)]
    pub status: Status,
    /// Conditions for using the playbook; embedded with name and domain (ruling 3).
    pub trigger_conditions: Vec<Text>,
    /// Example utterances that should be routed to this playbook (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Text>,
    /// Context that the playbook needs.
    #[serde(default)]
    pub context: PlaybookContext,
    /// Steps, in listed order; at least one.
    #[schemars(length(min = 1, max = MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub steps: Vec<PlaybookStep>,
    /// Scripts of steps and rollbacks.
    #[serde(default)]
    pub scripts: Vec<PlaybookScript>,
    /// Language of the scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_language: Option<Language>,
    /// Mandatory parameters.
    #[serde(default)]
    pub mandatory_parameters: Vec<Parameter>,
    /// Optional parameters.
    #[serde(default)]
    pub optional_parameters: Vec<Parameter>,
    /// A jq filter that maps the list of findings that meet its trigger conditions to an object of parameters (this
    /// project). Without it, the playbook is not offered with findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters_from_findings: Option<Text>,
    /// Rollbacks of completed writes.
    #[serde(default)]
    pub rollback_steps: Vec<RollbackStep>,
    /// Hints for planning with the playbook.
    #[serde(default)]
    pub approach_hints: Vec<Text>,
    /// Time limit of the whole run, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_timeout: Option<Positive>,
    /// Whether the playbook supports rollback.
    #[serde(default)]
    pub rollback_support: bool,
    /// Safety settings.
    pub safety: Safety,
    /// Evidence required for a complete run.
    #[serde(default)]
    pub evidence_requirements: Vec<Label>,
    /// Version of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Time of the first registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Time of the last registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Embedding of the document, if it includes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vector>,
}

/// Context that a playbook needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
#[derive(Default)]
pub struct PlaybookContext {
    /// Descriptions in natural language.
    #[serde(default)]
    pub context_descriptions: Vec<Text>,
    /// Context types that agents declare.
    #[serde(default)]
    pub supported_context_types: Vec<Label>,
    /// Accepted with a warning, and not stored (ruling 14).
    #[serde(default, skip_serializing)]
    pub declared_context_builders: Vec<String>,
}

/// A step of a playbook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PlaybookStep {
    /// Id of the step, unique within the playbook.
    pub step_id: StepId,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// Type: reads or writes; `read` is accepted and stored as `readonly` (ruling 11).
    #[serde(rename = "type")]
    pub step_type: StepType,
    /// Tool to call.
    pub tool_id: ToolId,
    /// Whether the run requires the step; true when absent.
    #[serde(default = "default_true")]
    pub required: bool,
    /// Effect of a failure of the step.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Arguments of the tool (this project), with placeholders like a skill's.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// Repeats the step for each item of a list (this project). Its output is the list of the items' outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_each: Option<ForEach>,
    /// Time limit of one attempt, in milliseconds (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Positive>,
}

fn default_true() -> bool {
    true
}

/// The script of a step or of a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PlaybookScript {
    /// Step that the script implements or reverses.
    pub step_id: StepId,
    /// Name for references from rollback steps (this project); the step's id when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_id: Option<ScriptId>,
    /// Language of the script.
    pub language: Language,
    /// Source of the script; exactly one of `body` and `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Text>,
    /// Path of a file in the package (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Text>,
    /// Parameters that the script uses.
    #[serde(default)]
    pub params_used: Vec<Label>,
}

/// The rollback of one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RollbackStep {
    /// Id of the rollback step.
    pub step_id: StepId,
    /// Script that reverses the step; exactly one of `script_id` and `tool_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_id: Option<ScriptId>,
    /// Tool that reverses the step (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolId>,
    /// Arguments of the tool (this project).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// Step that is reversed.
    pub reverses: StepId,
}

/// Safety settings of a playbook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Safety {
    /// Safety class.
    pub safety_class: SafetyClass,
    /// Steps that an approver must review.
    #[serde(default)]
    pub requires_human_review_for: Vec<StepId>,
    /// Parameter that names the destroyed resource. To confirm a `destructive` playbook, a user types its value (this
    /// project). The first mandatory parameter when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_parameter: Option<Label>,
}

string_enum! {
    /// Level of human control over a playbook (ruling 27).
    pub enum SafetyClass {
        /// Approved in advance by its registration.
        Automated = "automated",
        /// Each write needs an approval.
        Supervised = "supervised",
        /// Each write needs an approval, and a user types the resource's id to confirm the playbook.
        Destructive = "destructive",
    }
}

/// The names that the parts of a playbook may refer to.
struct PlaybookNames<'p> {
    parameters: BTreeSet<&'p str>,
    /// The first index of each step.
    places: BTreeMap<&'p str, usize>,
    scripts: BTreeSet<&'p str>,
}

impl<'p> PlaybookNames<'p> {
    fn new(playbook: &'p Playbook) -> Self {
        let mut places = BTreeMap::new();
        for (at, step) in playbook.steps.iter().enumerate() {
            places.entry(step.step_id.as_str()).or_insert(at);
        }
        let parameters = playbook.parameters();
        Self {
            parameters: parameters
                .map(|parameter| parameter.name.as_str())
                .collect(),
            places,
            scripts: playbook.scripts.iter().map(PlaybookScript::name).collect(),
        }
    }

    fn is_listed_before(&self, step: &str, at: usize) -> bool {
        self.places.get(step).is_some_and(|place| *place < at)
    }

    fn check_step_exists(&self, wanted: &StepId, pointer: &str, report: &mut Report) {
        if !self.places.contains_key(wanted.as_str()) {
            let message = format!("`{wanted}` is not a step here");
            report.meaning(pointer, "dependency", message);
        }
    }
}

impl Playbook {
    fn check_steps(&self, report: &mut Report) {
        let mut seen = BTreeSet::new();
        for (at, step) in self.steps.iter().enumerate() {
            let here = format!("/steps/{at}");
            if !seen.insert(&step.step_id) {
                let message = format!("the step `{}` is defined twice", step.step_id);
                report.meaning(format!("{here}/step_id"), "unique", message);
            }
            if step.on_failure == OnFailure::Rollback && !self.rollback_support {
                let message = "`rollback` in a playbook without rollback support".to_owned();
                report.consistency(format!("{here}/on_failure"), "rollback_support", message);
            }
            if let Some(for_each) = &step.for_each {
                for_each.check(&here, report);
            }
        }
    }

    fn check_scripts(&self, known: &PlaybookNames<'_>, report: &mut Report) {
        for (at, script) in self.scripts.iter().enumerate() {
            let here = format!("/scripts/{at}");
            known.check_step_exists(&script.step_id, &format!("{here}/step_id"), report);
            check_source(script.path.as_ref(), script.body.as_ref(), &here, report);
            for (position, name) in script.params_used.iter().enumerate() {
                if !known.parameters.contains(name.as_str()) {
                    let message = format!("no parameter `{name}` is declared");
                    report.meaning(
                        format!("{here}/params_used/{position}"),
                        "parameter",
                        message,
                    );
                }
            }
        }
    }

    fn check_rollback(&self, known: &PlaybookNames<'_>, report: &mut Report) {
        for (at, rollback) in self.rollback_steps.iter().enumerate() {
            let here = format!("/rollback_steps/{at}");
            known.check_step_exists(&rollback.reverses, &format!("{here}/reverses"), report);
            if rollback.script_id.is_some() == rollback.tool_id.is_some() {
                let message =
                    "a rollback needs exactly one of `script_id` and `tool_id`".to_owned();
                report.meaning(here.as_str(), "exactly_one", message);
            }
        }
    }

    /// Whether a rollback runs this script, so that it is not the body of its step.
    #[must_use]
    pub fn is_reversal(&self, script: &PlaybookScript) -> bool {
        let mut rollbacks = self.rollback_steps.iter();
        rollbacks.any(|rollback| {
            rollback.script_id.as_ref().map(ScriptId::as_str) == Some(script.name())
        })
    }

    /// Returns the parameter whose value a user types to confirm; only a destructive playbook has one.
    #[must_use]
    pub fn typed_parameter(&self) -> Option<&Parameter> {
        if self.safety.safety_class != SafetyClass::Destructive {
            return None;
        }
        match &self.safety.resource_parameter {
            Some(name) => self.parameters().find(|parameter| parameter.name == *name),
            None => self.mandatory_parameters.first(),
        }
    }

    /// B000-18: a destructive playbook names the resource that it destroys.
    fn check_safety(&self, known: &PlaybookNames<'_>, report: &mut Report) {
        for (at, step) in self.safety.requires_human_review_for.iter().enumerate() {
            let pointer = format!("/safety/requires_human_review_for/{at}");
            known.check_step_exists(step, &pointer, report);
        }
        let destructive = self.safety.safety_class == SafetyClass::Destructive;
        match &self.safety.resource_parameter {
            Some(name) if !known.parameters.contains(name.as_str()) => {
                let message = format!("no parameter `{name}` is declared");
                report.meaning("/safety/resource_parameter", "parameter", message);
            }
            None if destructive && self.mandatory_parameters.is_empty() => {
                let message =
                    "a destructive playbook must name its target in a parameter".to_owned();
                report.meaning("/safety/resource_parameter", "required", message);
            }
            Some(_) | None => {}
        }
    }

    /// Iterates over the parameters: mandatory, then optional.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.mandatory_parameters
            .iter()
            .chain(&self.optional_parameters)
    }

    /// Returns all parameters, each marked required or not by the list that contains it.
    #[must_use]
    pub fn declared_parameters(&self) -> Vec<Parameter> {
        let of = |parameters: &[Parameter], required| {
            let mut parameters = parameters.to_vec();
            for parameter in &mut parameters {
                parameter.required = required;
            }
            parameters
        };
        let mut declared = of(&self.mandatory_parameters, true);
        declared.extend(of(&self.optional_parameters, false));
        declared
    }
}

impl PlaybookScript {
    /// Whether `${…}` in the source can be a placeholder (ruling 31): in a shell script, `${name}` is shell syntax.
    #[must_use]
    pub fn has_placeholders(&self) -> bool {
        self.language == Language::Python
    }

    /// Returns the name that rollbacks refer to.
    #[must_use]
    pub fn name(&self) -> &str {
        self.script_id
            .as_ref()
            .map_or(self.step_id.as_str(), ScriptId::as_str)
    }
}

impl Contract for Playbook {
    const NAME: SchemaName = SchemaName::Playbook;

    // Checks the rules that the schema cannot express (static part of B000-18, ruling 12).
    fn check(&self, report: &mut Report) {
        check_parameters(&self.mandatory_parameters, "/mandatory_parameters", report);
        check_parameters(&self.optional_parameters, "/optional_parameters", report);
        let mandatory = self.mandatory_parameters.iter();
        let mandatory: BTreeSet<&Label> = mandatory.map(|parameter| &parameter.name).collect();
        for (at, parameter) in self.optional_parameters.iter().enumerate() {
            if mandatory.contains(&parameter.name) {
                let message = format!(
                    "`{}` is listed as both mandatory and optional",
                    parameter.name
                );
                report.meaning(format!("/optional_parameters/{at}/name"), "unique", message);
            }
        }
        if !self.context.declared_context_builders.is_empty() {
            let message = "context builders are deprecated; the field is ignored".to_owned();
            report.warn("/context/declared_context_builders", "deprecated", message);
        }
        let known = PlaybookNames::new(self);
        self.check_steps(report);
        self.check_scripts(&known, report);
        self.check_rollback(&known, report);
        self.check_safety(&known, report);
        for Undefined { violation, .. } in self.undefined() {
            report.warn(violation.pointer, &violation.keyword, violation.message);
        }
    }
}
