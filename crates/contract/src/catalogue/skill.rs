//! Skills (seed 000 §2.2): what is routed to, its plan of readonly steps, and the
//! rules that turn their output into findings. How it is embedded and run is not
//! this file's business.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::step_references::{Names, check_references};
use super::vocabulary::{GeneratedBy, OnFailure, Status, StepType, Tier};
use crate::dependency::{Node, Wording, check_graph};
use crate::ids::{
    AgentId, CapabilityId, DomainId, Label, RuleId, SkillId, StepId, TenantId, ToolId,
};
use crate::list::MAX_LIST;
use crate::number::{Count, Positive, Vector};
use crate::parameter::{Parameter, check_parameters};
use crate::schema::SchemaName;
use crate::text::{Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(
    Skill,
    SkillContext,
    SkillPlan,
    SkillStep,
    Analysis,
    AnalysisModel,
    FindingRule
);

/// A skill: one question that the system can answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Skill {
    /// Its id, e.g. `security.detect_public_ingress`.
    pub skill_id: SkillId,
    /// Its short name within the domain.
    pub name: Label,
    /// The domain it belongs to.
    pub domain: DomainId,
    /// The tier from which it may be used.
    #[serde(default)]
    pub tier: Tier,
    /// Generated and not yet accepted: visible to its own tenant only, and not routed to (this
    /// project, for skills; 000 §2.8 has it for playbooks).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_candidate: bool,
    /// Where it comes from (this project, for skills).
    #[serde(default, skip_serializing_if = "GeneratedBy::is_registered")]
    pub generated_by: GeneratedBy,
    /// The agent within whose boundary it was generated (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounding_agent: Option<AgentId>,
    /// Its tenant; absent for a global skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Whether it is offered.
    #[serde(default)]
    pub status: Status,
    /// Its name for people.
    pub display_name: Text,
    /// What it does, in a sentence or two.
    pub description: Text,
    /// Why one would want it; the first of the embedded fields.
    pub purpose: Text,
    /// What it can do, one line each.
    #[serde(default)]
    pub capabilities: Vec<Text>,
    /// The capability that it shares with other skills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<CapabilityId>,
    /// The context it needs.
    #[serde(default)]
    pub context: SkillContext,
    /// The kind of its output, which selects a template: `finding`.
    pub output_type: Label,
    /// The steps that fetch what it needs.
    pub execution_plan: SkillPlan,
    /// Advice for whoever analyses the output.
    #[serde(default)]
    pub approach_hints: Vec<Text>,
    /// Utterances that should reach this skill (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Text>,
    /// What a caller may or must give (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// Exact rules from step outputs to findings (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
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

/// The context that a skill needs (000 §2.2 `context`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
#[derive(Default)]
pub struct SkillContext {
    /// In words; part of what is embedded.
    #[serde(default)]
    pub context_descriptions: Vec<Text>,
    /// As types that agents declare.
    #[serde(default)]
    pub supported_context_types: Vec<Label>,
}

/// The plan of a skill (000 §2.2 `execution_plan`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct SkillPlan {
    /// The steps in listed order.
    #[schemars(length(min = 1, max = MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub steps: Vec<SkillStep>,
}

/// One step of a skill's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct SkillStep {
    /// Its name within the plan.
    pub step_id: StepId,
    /// `read` is accepted and stored as `readonly`; a skill has no other (B000-11).
    #[serde(rename = "type")]
    pub step_type: StepType,
    /// The tool it calls.
    pub tool_id: ToolId,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// How long its output may be reused, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_ttl_seconds: Option<Count>,
    /// Arguments of the tool (this project). Strings may hold `${user.x}` and
    /// `${step_1.path}`; values are put in later, as data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// Steps that must succeed first (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepId>,
    /// Time limit of one attempt, in milliseconds (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Positive>,
    /// What a failure does to the run (this project); `stop` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
}

/// How step outputs become an answer: exact rules, and a model that puts it into words (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Analysis {
    /// The rules, in order. A skill without rules shows what its tools answered.
    #[serde(default)]
    pub findings: Vec<FindingRule>,
    /// A template of the summary over the findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The model that puts the results into words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<AnalysisModel>,
}

/// A language model that puts the results of a skill into words (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct AnalysisModel {
    /// The route that leads to it. Without such a route the answer is made without a model.
    pub route: Label,
    /// What it may contribute.
    #[schemars(length(min = 1, max = MOST_DUTIES))]
    #[serde(deserialize_with = "crate::list::between::<1, MOST_DUTIES, _, _>")]
    pub may: Vec<AnalysisDuty>,
}

/// How many duties there are.
const MOST_DUTIES: usize = 4;

string_enum! {
    /// What a model may contribute to an answer.
    pub enum AnalysisDuty {
        /// Sentences that sum the findings up.
        Summary = "summary",
        /// Values of the template's placeholders that no rule gave.
        Impact = "impact",
        /// The order of findings of equal severity.
        Ranking = "ranking",
        /// Sentences that answer the question; findings where the skill has no rules.
        Answer = "answer",
    }
}

impl AnalysisModel {
    /// Whether it may contribute this.
    #[must_use]
    pub fn may(&self, duty: AnalysisDuty) -> bool {
        self.may.contains(&duty)
    }
}

/// A jq filter whose outputs are findings (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct FindingRule {
    /// Its name within the skill.
    pub rule_id: RuleId,
    /// The step whose output it reads.
    pub from: StepId,
    /// The filter, in jq. Compiled where it is run, not here.
    pub filter: Text,
    /// What it looks for.
    #[serde(default)]
    pub description: String,
    /// `trigger_conditions` of playbooks that its findings meet: these playbooks are offered with the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Text>,
}

impl Skill {
    /// The model that puts its results into words, if it names one.
    #[must_use]
    pub fn model(&self) -> Option<&AnalysisModel> {
        self.analysis.as_ref()?.model.as_ref()
    }

    /// Whether rules make findings of its results.
    #[must_use]
    pub fn has_rules(&self) -> bool {
        let analysis = self.analysis.as_ref();
        analysis.is_some_and(|analysis| !analysis.findings.is_empty())
    }

    fn check_duties(&self, report: &mut Report) {
        let mut seen = BTreeSet::new();
        let duties = self.model().into_iter().flat_map(|model| &model.may);
        for (at, duty) in duties.enumerate() {
            if !seen.insert(*duty) {
                let message = format!("`{duty}` is listed twice");
                report.meaning(format!("/analysis/model/may/{at}"), "unique", message);
            }
        }
    }

    fn check_steps(&self, report: &mut Report) {
        const WORDING: Wording = Wording {
            noun: "step",
            list: "/execution_plan/steps",
            name_field: "step_id",
            needs_field: "depends_on",
        };
        let steps = &self.execution_plan.steps;
        let nodes: Vec<Node<'_>> = steps
            .iter()
            .map(|step| Node {
                name: step.step_id.as_str(),
                needs: step.depends_on.iter().map(StepId::as_str).collect(),
            })
            .collect();
        check_graph(&nodes, &WORDING, report);
        let parameters = self.parameters.iter();
        let parameters: BTreeSet<&str> =
            parameters.map(|declared| declared.name.as_str()).collect();
        let mut listed: BTreeSet<&str> = BTreeSet::new();
        for (at, step) in steps.iter().enumerate() {
            let here = format!("/execution_plan/steps/{at}");
            if step.step_type == StepType::Write {
                let message = format!(
                    "the step `{}` writes, but a skill's plan may only read",
                    step.step_id
                );
                report.meaning(format!("{here}/type"), "readonly", message);
            }
            if step.on_failure == Some(OnFailure::Rollback) {
                let message = format!("the step `{}` has nothing to roll back", step.step_id);
                report.meaning(format!("{here}/on_failure"), "readonly", message);
            }
            let waited_for: BTreeSet<&str> = step.depends_on.iter().map(StepId::as_str).collect();
            let names = Names {
                parameters: &parameters,
                step: step.step_id.as_str(),
                is_earlier: &|id: &str| listed.contains(id) || waited_for.contains(id),
            };
            for found in check_references(&step.parameters, &names, &format!("{here}/parameters")) {
                report.push(found);
            }
            listed.insert(step.step_id.as_str());
        }
    }
}

impl Contract for Skill {
    const NAME: SchemaName = SchemaName::Skill;

    // Checks what the schema cannot say (B000-11 and the static part of B003-5).
    fn check(&self, report: &mut Report) {
        check_parameters(&self.parameters, "/parameters", report);
        let steps = &self.execution_plan.steps;
        self.check_steps(report);
        self.check_duties(report);
        let ids: BTreeSet<&StepId> = steps.iter().map(|step| &step.step_id).collect();
        let mut rules = BTreeSet::new();
        let findings = self.analysis.iter().flat_map(|analysis| &analysis.findings);
        for (at, rule) in findings.enumerate() {
            let here = format!("/analysis/findings/{at}");
            if !rules.insert(&rule.rule_id) {
                let message = format!("the rule `{}` is defined twice", rule.rule_id);
                report.meaning(format!("{here}/rule_id"), "unique", message);
            }
            if !ids.contains(&rule.from) {
                let message = format!(
                    "`{}` reads `{}`, which is not a step here",
                    rule.rule_id, rule.from
                );
                report.meaning(format!("{here}/from"), "dependency", message);
            }
        }
    }
}
