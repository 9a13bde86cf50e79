//! What every rule over a tool says about one call: what an explanation shows beside the decision.
//! Told from the evaluation that the decision is made of; decides nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::{
    AuthorizationError, Authorizer, Decision, Effect, Entities, PolicyId as CedarId,
    PolicySet as CedarSet, Request, Response,
};

use super::decision::{PolicyFailure, Rule, Unpermitted};
use super::error_text::described;
use super::layer::TypedLayer;
use super::run_facts::RunFact;
use crate::catalogue::Origin;

/// Whether a rule's scope and conditions hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleMatch {
    /// They do.
    Holds,
    /// They do not.
    DoesNotHold,
    /// It has no answer, which denies.
    Failed(String),
}

/// One rule and what it says about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighed {
    /// The rule.
    pub rule: Rule,
    /// Whether it forbids what it holds for; else it permits that.
    pub forbids: bool,
    /// Whether it holds.
    pub stands: RuleMatch,
    /// What of the run it looks at, in a fixed order.
    pub run_facts: Vec<RunFact>,
    /// Where its document comes from.
    pub origin: Option<Arc<Origin>>,
}

/// Part of what policies say about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyStatement {
    /// A rule was asked.
    Rule(Weighed),
    /// No rule of a layer that governs the tool permits the call.
    Unpermitted(Unpermitted),
    /// Documents or arguments could not be put to the rules at all.
    Failure(PolicyFailure),
}

/// What the rules of one layer said together.
pub(super) struct LayerVerdict<'a> {
    pub(super) layer: &'a TypedLayer,
    pub(super) request: &'a Request,
    pub(super) entities: &'a Entities,
    pub(super) response: &'a Response,
}

impl LayerVerdict<'_> {
    /// Adds what each rule said, by id, and what is said where none permits.
    pub(super) fn weigh(&self, heard: &mut Vec<PolicyStatement>) {
        let holding = self.holding();
        let rules = self.layer.rules.policies();
        let mut weighed: Vec<Weighed> = rules
            .filter_map(|rule| {
                let stands = match self.failed(rule.id()) {
                    Some(error) => RuleMatch::Failed(error),
                    None if holding.contains(rule.id()) => RuleMatch::Holds,
                    None => RuleMatch::DoesNotHold,
                };
                Some(Weighed {
                    rule: self.layer.rule(rule.id())?,
                    forbids: rule.effect() == Effect::Forbid,
                    stands,
                    run_facts: self.layer.run_facts(rule.id()),
                    origin: None,
                })
            })
            .collect();
        weighed.sort_by(|a, b| a.rule.cmp(&b.rule));
        heard.extend(weighed.into_iter().map(PolicyStatement::Rule));
        if self.response.decision() == Decision::Deny && self.reasons().next().is_none() {
            heard.push(PolicyStatement::Unpermitted(self.layer.unpermitted()));
        }
    }

    fn reasons(&self) -> impl Iterator<Item = &CedarId> {
        self.response.diagnostics().reason()
    }

    /// Why a rule had no answer, if it had none.
    fn failed(&self, id: &CedarId) -> Option<String> {
        let mut errors = self.response.diagnostics().errors();
        errors.find_map(|AuthorizationError::PolicyEvaluationError(error)| {
            (error.policy_id() == id).then(|| described(error))
        })
    }

    /// The rules whose scope and conditions hold. Beside a rule that forbids, Cedar names none that
    /// permits: those are asked again by themselves.
    fn holding(&self) -> BTreeSet<CedarId> {
        let mut holding: BTreeSet<CedarId> = self.reasons().cloned().collect();
        if self.response.decision() == Decision::Deny && !holding.is_empty() {
            let permits = self.layer.rules.policies();
            let permits = permits.filter(|rule| rule.effect() == Effect::Permit);
            // Ids differ already, so the set can be made.
            if let Ok(permits) = CedarSet::from_policies(permits.cloned()) {
                let alone = Authorizer::new().is_authorized(self.request, &permits, self.entities);
                holding.extend(alone.diagnostics().reason().cloned());
            }
        }
        holding
    }
}
