//! A finding (this project): what a rule of a skill's analysis found in one
//! resource. Where it is proven is the evidence's business.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{EvidenceId, FindingId, GraphNodeId, RuleId, SkillId};
use crate::schema::SchemaName;
use crate::severity::Severity;
use crate::text::{ShortText, Text};
use crate::validate::Contract;
use crate::violation::Report;

object_only!(Finding, ExpertContext);

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Finding {
    /// Its id.
    pub finding_id: FindingId,
    /// The rule that found it.
    pub rule_id: RuleId,
    /// The skill whose rule it is.
    pub skill_id: SkillId,
    /// How bad it is.
    pub severity: Severity,
    /// The type of the resource: `security_group`.
    pub resource_type: ShortText,
    /// The resource's own id.
    pub resource_id: Text,
    /// What the rule gave, for the template to fill in.
    #[serde(default)]
    pub fields: Map<String, Value>,
    /// Records that prove it.
    #[serde(default)]
    pub evidence_ids: Vec<EvidenceId>,
    /// The rendered template, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendered: Option<Value>,
    /// What the expert graph says about it, on the advanced tier (000 §2.12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expert: Option<ExpertContext>,
}

/// Nodes of the expert graph that a finding touches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ExpertContext {
    /// Controls whose evidence is collected from the finding's type of resource.
    #[serde(default)]
    pub controls: Vec<GraphNodeId>,
    /// The risk that the rule finds, then the categories it belongs to.
    #[serde(default)]
    pub risks: Vec<GraphNodeId>,
    /// What addresses these risks.
    #[serde(default)]
    pub remediations: Vec<GraphNodeId>,
}

impl ExpertContext {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.controls.is_empty() && self.risks.is_empty() && self.remediations.is_empty()
    }
}

impl Contract for Finding {
    const NAME: SchemaName = SchemaName::Finding;

    fn check(&self, report: &mut Report) {
        let mut seen = BTreeSet::new();
        for (at, evidence) in self.evidence_ids.iter().enumerate() {
            if !seen.insert(evidence) {
                let message = format!("`{evidence}` is cited twice");
                report.meaning(format!("/evidence_ids/{at}"), "unique", message);
            }
        }
    }
}
