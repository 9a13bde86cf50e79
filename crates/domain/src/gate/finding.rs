//! What one rule says about an effect, written out for people: a row of an explanation. Decides
//! nothing.

use std::sync::Arc;

use charter_contract::package::PackageScope;
use charter_contract::scope::Scope;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ConsideredRule, RuleEffect, RuleKind, RuleReason};
use crate::catalogue::Origin;
use crate::policy::RunFact;

/// Whether the gate asks a rule as things stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RulePhase")]
#[serde(rename_all = "snake_case")]
pub enum RulePhase {
    /// It does: the decision rests on it.
    Now,
    /// It will once a person has approved; what the rule says here is what it would say if nobody had.
    AfterApproval,
    /// It does not, because something else refuses.
    NotEvaluated,
}

/// One rule and what it says.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RuleFinding")]
pub struct RuleFinding {
    /// What kind of rule.
    pub kind: RuleKind,
    /// Which one.
    pub id: String,
    /// What it says.
    pub effect: RuleEffect,
    /// Why.
    pub reason: String,
    /// What the document tells people, where it speaks and has words for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why an expression of it had no answer, where one had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether the decision rests on it.
    pub phase: RulePhase,
    /// The document's layer; absent where the rule is no document of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<PackageScope>,
    /// The package that the document comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// That package's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_version: Option<String>,
    /// What of the run the rule looks at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub run_facts: Vec<RunFact>,
}

impl RuleFinding {
    /// A rule that is asked now and is no document of its own.
    #[must_use]
    pub fn new(kind: RuleKind, id: String, effect: RuleEffect, reason: String) -> Self {
        Self {
            kind,
            id,
            effect,
            reason,
            message: None,
            note: None,
            phase: RulePhase::Now,
            layer: None,
            package: None,
            package_version: None,
            run_facts: Vec::new(),
        }
    }

    /// The same of a document from there.
    #[must_use]
    pub fn from_origin(mut self, origin: &Arc<Origin>) -> Self {
        self.layer = Some(match origin.scope {
            Scope::Global => PackageScope::Global,
            Scope::Tenant(_) => PackageScope::Tenant,
        });
        self.package = Some(origin.package.to_string());
        self.package_version = Some(origin.version.clone());
        self
    }
}

impl From<ConsideredRule<'_>> for RuleFinding {
    fn from(considered: ConsideredRule<'_>) -> Self {
        let why = considered.why.to_string();
        let id = considered.id.to_owned();
        let mut finding = Self::new(considered.kind, id, considered.says, why);
        if let RuleReason::Guardrail(guardrail, _) = &considered.why {
            let entry = &guardrail.found.entry;
            finding = finding.from_origin(&entry.origin);
            if considered.says != RuleEffect::NotApplicable {
                finding.message = Some(entry.document.message.to_string());
            }
        }
        finding.note = considered.note().cloned();
        finding
    }
}
