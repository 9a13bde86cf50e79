//! Playbooks (seed 000 §2.8): steps that may write, their scripts, and how they
//! are undone. Running one is the run machine's business.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::tool::check_source;
use super::vocabulary::{GeneratedBy, Language, OnFailure, Status, StepType, Tier};
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
    /// Its id.
    pub playbook_id: PlaybookId,
    /// Its name for people.
    pub name: Text,
    /// The domain it belongs to.
    pub domain: DomainId,
    /// The tier from which it may be used.
    #[serde(default)]
    pub tier: Tier,
    /// Generated and not yet accepted; visible to its own tenant only (B000-4).
    #[serde(default)]
    pub is_candidate: bool,
    /// Where it comes from.
    #[serde(default)]
    pub generated_by: GeneratedBy,
    /// The agent within whose boundary it was generated (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounding_agent: Option<AgentId>,
    /// Its tenant; absent for a global playbook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Whether it is offered (this project, for playbooks).
    #[serde(default)]
    pub status: Status,
    /// When it should be used; embedded with name and domain (ruling 3).
    pub trigger_conditions: Vec<Text>,
    /// Utterances that should reach this playbook (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Text>,
    /// The context it needs.
    #[serde(default)]
    pub context: PlaybookContext,
    /// The steps in listed order.
    #[schemars(length(min = 1, max = MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub steps: Vec<PlaybookStep>,
    /// Bodies of steps and of rollbacks.
    #[serde(default)]
    pub scripts: Vec<PlaybookScript>,
    /// The language of its scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_language: Option<Language>,
    /// What a caller must give.
    #[serde(default)]
    pub mandatory_parameters: Vec<Parameter>,
    /// What a caller may give.
    #[serde(default)]
    pub optional_parameters: Vec<Parameter>,
    /// A jq filter from the findings that meet its trigger conditions, as a list, to an object of its parameters (this
    /// project). Without it the playbook is offered with no finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters_from_findings: Option<Text>,
    /// How completed writes are reversed.
    #[serde(default)]
    pub rollback_steps: Vec<RollbackStep>,
    /// Advice for whoever plans with it.
    #[serde(default)]
    pub approach_hints: Vec<Text>,
    /// Time limit of the whole run, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_timeout: Option<Positive>,
    /// Whether it can be rolled back.
    #[serde(default)]
    pub rollback_support: bool,
    /// How careful to be.
    pub safety: Safety,
    /// Evidence without which a run is incomplete.
    #[serde(default)]
    pub evidence_requirements: Vec<Label>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// When it was first registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Its vector, when the document carries one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<Vector>,
}

/// The context that a playbook needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
#[derive(Default)]
pub struct PlaybookContext {
    /// In words.
    #[serde(default)]
    pub context_descriptions: Vec<Text>,
    /// As types that agents declare.
    #[serde(default)]
    pub supported_context_types: Vec<Label>,
    /// Accepted, warned about, and not stored (ruling 14).
    #[serde(default, skip_serializing)]
    pub declared_context_builders: Vec<String>,
}

/// A step of a playbook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PlaybookStep {
    /// Its name within the playbook.
    pub step_id: StepId,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// Reads or writes; `read` is accepted and stored as `readonly` (ruling 11).
    #[serde(rename = "type")]
    pub step_type: StepType,
    /// The tool it calls.
    pub tool_id: ToolId,
    /// Whether the run needs it; true when absent.
    #[serde(default = "yes")]
    pub required: bool,
    /// What its failure does.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Arguments of the tool (this project), with placeholders like a skill's.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// Time limit of one attempt, in milliseconds (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Positive>,
}

fn yes() -> bool {
    true
}

/// The body of a step, or of a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PlaybookScript {
    /// The step it belongs to, or reverses.
    pub step_id: StepId,
    /// Its own name, for rollback steps to refer to (this project); the step's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_id: Option<ScriptId>,
    /// Its language.
    pub language: Language,
    /// The script; exactly one of `body` and `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Text>,
    /// A file of the package (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Text>,
    /// The parameters it uses.
    #[serde(default)]
    pub params_used: Vec<Label>,
}

/// How one step is reversed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RollbackStep {
    /// Its name.
    pub step_id: StepId,
    /// The script that reverses; exactly one of `script_id` and `tool_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_id: Option<ScriptId>,
    /// The tool that reverses (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolId>,
    /// Arguments of that tool (this project).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// The step that is reversed.
    pub reverses: StepId,
}

/// How careful to be with a playbook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Safety {
    /// The class.
    pub safety_class: SafetyClass,
    /// Steps that a person must review.
    #[serde(default)]
    pub requires_human_review_for: Vec<StepId>,
    /// The parameter that names what is destroyed; its value is typed to confirm a `destructive`
    /// playbook (this project). The first mandatory parameter when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_parameter: Option<Label>,
}

string_enum! {
    /// How much a person has to say (ruling 27).
    pub enum SafetyClass {
        /// Approved in advance by whoever registered it.
        Automated = "automated",
        /// Each write is approved.
        Supervised = "supervised",
        /// Each write is approved, and the resource's id typed.
        Destructive = "destructive",
    }
}

/// What the parts of a playbook may name.
struct PlaybookNames<'p> {
    parameters: BTreeSet<&'p str>,
    /// Where each step is listed first.
    places: BTreeMap<&'p str, usize>,
    scripts: BTreeSet<&'p str>,
}

impl<'p> PlaybookNames<'p> {
    fn of(playbook: &'p Playbook) -> Self {
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

    /// Whether a rollback runs this script, so that it is not its step's own body.
    #[must_use]
    pub fn is_reversal(&self, script: &PlaybookScript) -> bool {
        let mut rollbacks = self.rollback_steps.iter();
        rollbacks.any(|rollback| {
            rollback.script_id.as_ref().map(ScriptId::as_str) == Some(script.name())
        })
    }

    /// The parameter whose value a person types to confirm; only a destructive playbook has one.
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

    /// B000-18: a destructive playbook says what it destroys.
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

    /// Its parameters: the mandatory ones, then the optional ones.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.mandatory_parameters
            .iter()
            .chain(&self.optional_parameters)
    }

    /// The same, each required or not as the list that it stands in says.
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
    /// Whether a `${…}` in its source can be a placeholder (ruling 31): a shell has `${name}` of its own.
    #[must_use]
    pub fn has_placeholders(&self) -> bool {
        self.language == Language::Python
    }

    /// The name by which a rollback refers to it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.script_id
            .as_ref()
            .map_or(self.step_id.as_str(), ScriptId::as_str)
    }
}

impl Contract for Playbook {
    const NAME: SchemaName = SchemaName::Playbook;

    // Checks what the schema cannot say (static part of B000-18, ruling 12).
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
        let known = PlaybookNames::of(self);
        self.check_steps(report);
        self.check_scripts(&known, report);
        self.check_rollback(&known, report);
        self.check_safety(&known, report);
        for Undefined { violation, .. } in self.undefined() {
            report.warn(violation.pointer, &violation.keyword, violation.message);
        }
    }
}
