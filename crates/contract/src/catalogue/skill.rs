//! Skills (seed 000 §2.2): the target of routing, a plan of readonly steps, and the rules that turn their output into
//! findings. Embedding and execution are handled elsewhere.

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
    /// Id of the skill, e.g. `security.detect_public_ingress`.
    pub skill_id: SkillId,
    /// Short name, within the domain.
    pub name: Label,
    /// Domain of the skill.
    pub domain: DomainId,
    /// Lowest tier that may use the skill.
    #[serde(default)]
    pub tier: Tier,
    /// Whether it was generated and not yet accepted: visible to its own tenant only, and not routed to (this project,
    /// for skills; 000 §2.8 has it for playbooks).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_candidate: bool,
    /// Origin of the skill (this project, for skills).
    #[serde(default, skip_serializing_if = "GeneratedBy::is_registered")]
    pub generated_by: GeneratedBy,
    /// Agent whose boundary grounded the generation (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounding_agent: Option<AgentId>,
    /// Tenant of the skill; absent for a global skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    /// Status in the catalogue.
    #[serde(default)]
    pub status: Status,
    /// Display name.
    pub display_name: Text,
    /// Description, in a sentence or two.
    pub description: Text,
    /// Purpose of the skill; the first of the embedded fields.
    pub purpose: Text,
    /// Capabilities, one line each.
    #[serde(default)]
    pub capabilities: Vec<Text>,
    /// Capability that the skill shares with other skills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability_id: Option<CapabilityId>,
    /// Context that the skill needs.
    #[serde(default)]
    pub context: SkillContext,
    /// Kind of the output, which selects a template: `finding`.
    pub output_type: Label,
    /// Steps that fetch the data.
    pub execution_plan: SkillPlan,
    /// Hints for the analysis of the output.
    #[serde(default)]
    pub approach_hints: Vec<Text>,
    /// Example utterances that should be routed to this skill (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Text>,
    /// Parameters (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// Rules that turn step outputs into findings (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
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

/// Context that a skill needs (000 §2.2 `context`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
#[derive(Default)]
pub struct SkillContext {
    /// Descriptions in natural language; embedded.
    #[serde(default)]
    pub context_descriptions: Vec<Text>,
    /// Context types that agents declare.
    #[serde(default)]
    pub supported_context_types: Vec<Label>,
}

/// The plan of a skill (000 §2.2 `execution_plan`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct SkillPlan {
    /// Steps, in listed order; at least one.
    #[schemars(length(min = 1, max = MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub steps: Vec<SkillStep>,
}

/// One step of a skill's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct SkillStep {
    /// Id of the step, unique within the plan.
    pub step_id: StepId,
    /// Type of the step. `read` is accepted and stored as `readonly`, the only type in a skill (B000-11).
    #[serde(rename = "type")]
    pub step_type: StepType,
    /// Tool to call.
    pub tool_id: ToolId,
    /// Purpose of the step.
    #[serde(default)]
    pub description: String,
    /// Time for which the output may be reused, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_ttl_seconds: Option<Count>,
    /// Arguments of the tool (this project). Strings may contain `${user.x}` and `${step_1.path}`; values are filled
    /// in later, as data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// Ids of the steps that must succeed first (this project).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepId>,
    /// Time limit of one attempt, in milliseconds (this project).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Positive>,
    /// Effect of a failure on the run (this project); `stop` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
}

/// Conversion of step outputs into an answer: exact rules, and a model that writes it (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Analysis {
    /// Rules, in evaluation order. A skill without rules returns its tools' results.
    #[serde(default)]
    pub findings: Vec<FindingRule>,
    /// Template of the summary over the findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Language model that writes the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<AnalysisModel>,
}

/// A language model that writes the answer from a skill's results (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct AnalysisModel {
    /// Route to the model. Without such a route, the answer is made without a model.
    pub route: Label,
    /// Contributions that the model may make; at least one.
    #[schemars(length(min = 1, max = MOST_DUTIES))]
    #[serde(deserialize_with = "crate::list::between::<1, MOST_DUTIES, _, _>")]
    pub may: Vec<AnalysisDuty>,
}

/// Number of kinds of contributions.
const MOST_DUTIES: usize = 4;

string_enum! {
    /// A contribution of a model to an answer.
    pub enum AnalysisDuty {
        /// Sentences that summarise the findings.
        Summary = "summary",
        /// Values of template placeholders that no rule provided.
        Impact = "impact",
        /// Order of findings of equal severity.
        Ranking = "ranking",
        /// Sentences that answer the question, and findings if the skill has no rules.
        Answer = "answer",
    }
}

impl AnalysisModel {
    /// Whether the model may make this contribution.
    #[must_use]
    pub fn may(&self, duty: AnalysisDuty) -> bool {
        self.may.contains(&duty)
    }
}

/// A jq filter whose outputs are findings (this project).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct FindingRule {
    /// Id of the rule, unique within the skill.
    pub rule_id: RuleId,
    /// Step whose output the rule reads.
    pub from: StepId,
    /// The jq filter. It is compiled where it runs, not here.
    pub filter: Text,
    /// Description of the finding that the rule detects.
    #[serde(default)]
    pub description: String,
    /// `trigger_conditions` of playbooks that the findings meet; these playbooks are offered with the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Text>,
}

impl Skill {
    /// Returns the model that writes the answer, if the skill names one.
    #[must_use]
    pub fn model(&self) -> Option<&AnalysisModel> {
        self.analysis.as_ref()?.model.as_ref()
    }

    /// Whether the skill has rules that make findings.
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

    // Checks the rules that the schema cannot express (B000-11 and the static part of B003-5).
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
