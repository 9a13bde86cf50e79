//! A finding (this project): the result of a skill's analysis rule for one resource. Evidence records prove it.

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
    /// Id of the finding.
    pub finding_id: FindingId,
    /// Rule that produced the finding.
    pub rule_id: RuleId,
    /// Skill that contains the rule.
    pub skill_id: SkillId,
    /// Severity of the finding.
    pub severity: Severity,
    /// Type of the resource: `security_group`.
    pub resource_type: ShortText,
    /// Id of the resource in its own system.
    pub resource_id: Text,
    /// Fields returned by the rule, for the template.
    #[serde(default)]
    pub fields: Map<String, Value>,
    /// Ids of the supporting evidence records.
    #[serde(default)]
    pub evidence_ids: Vec<EvidenceId>,
    /// Rendered template; absent until it is rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendered: Option<Value>,
    /// Related nodes of the expert graph, on the advanced tier (000 §2.12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expert: Option<ExpertContext>,
}

/// Nodes of the expert graph related to a finding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ExpertContext {
    /// Controls whose evidence is collected from the finding's resource type.
    #[serde(default)]
    pub controls: Vec<GraphNodeId>,
    /// Risk that the rule detects, followed by its categories.
    #[serde(default)]
    pub risks: Vec<GraphNodeId>,
    /// Remediations of these risks.
    #[serde(default)]
    pub remediations: Vec<GraphNodeId>,
}

impl ExpertContext {
    /// Whether it contains no node.
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
