//! The result of one rule for an effect, formatted for people: a row of an explanation. Decides nothing.

use std::sync::Arc;

use charter_contract::package::PackageScope;
use charter_contract::scope::Scope;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ConsideredRule, RuleEffect, RuleKind, RuleReason};
use crate::catalogue::Origin;
use crate::policy::RunFact;

/// Whether the gate evaluates a rule in the current state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RulePhase")]
#[serde(rename_all = "snake_case")]
pub enum RulePhase {
    /// The rule is evaluated, and the decision depends on it.
    Now,
    /// The rule will be evaluated after an approval. Its result here is the one without an approval.
    AfterApproval,
    /// The rule is not evaluated, because another rule denies the effect.
    NotEvaluated,
}

/// One rule with its result.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RuleFinding")]
pub struct RuleFinding {
    /// The kind of the rule.
    pub kind: RuleKind,
    /// The rule's id.
    pub id: String,
    /// The result.
    pub effect: RuleEffect,
    /// The reason.
    pub reason: String,
    /// The document's message for people, if the rule applies and has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The reason why an expression of the rule could not be evaluated, if it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether the decision depends on the rule.
    pub phase: RulePhase,
    /// The document's layer; absent if the rule is not a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<PackageScope>,
    /// The package that the document comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// That package's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_version: Option<String>,
    /// The facts about the run that the rule reads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub run_facts: Vec<RunFact>,
}

impl RuleFinding {
    /// Creates the row of a rule that is evaluated now and is not a document.
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

    /// Sets the document's origin.
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
