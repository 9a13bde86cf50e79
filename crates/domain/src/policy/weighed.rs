//! The result of every rule for one call, which an explanation shows next to the decision. It is read from the
//! evaluation behind the decision; decides nothing.

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
    /// The scope and the conditions hold.
    Holds,
    /// The scope or a condition does not hold.
    DoesNotHold,
    /// The rule cannot be evaluated, which denies the call.
    Failed(String),
}

/// One rule with its result for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighed {
    /// The rule.
    pub rule: Rule,
    /// Whether the rule forbids calls; otherwise it permits them.
    pub forbids: bool,
    /// The result.
    pub stands: RuleMatch,
    /// The facts about the run that it reads, in a fixed order.
    pub run_facts: Vec<RunFact>,
    /// The origin of its document.
    pub origin: Option<Arc<Origin>>,
}

/// A part of the policies' results for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyStatement {
    /// The result of a rule.
    Rule(Weighed),
    /// No rule of a layer that governs the tool permits the call.
    Unpermitted(Unpermitted),
    /// Documents or arguments with which the rules could not be evaluated.
    Failure(PolicyFailure),
}

/// The combined result of one layer's rules.
pub(super) struct LayerVerdict<'a> {
    pub(super) layer: &'a TypedLayer,
    pub(super) request: &'a Request,
    pub(super) entities: &'a Entities,
    pub(super) response: &'a Response,
}

impl LayerVerdict<'_> {
    /// Adds the result of each rule, by id, and the missing permission, if no rule permits.
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

    /// Returns the reason why a rule could not be evaluated, if it could not.
    fn failed(&self, id: &CedarId) -> Option<String> {
        let mut errors = self.response.diagnostics().errors();
        errors.find_map(|AuthorizationError::PolicyEvaluationError(error)| {
            (error.policy_id() == id).then(|| described(error))
        })
    }

    /// Returns the rules whose scope and conditions hold. Next to a forbidding rule, Cedar reports no permitting ones,
    /// so those are evaluated again separately.
    fn holding(&self) -> BTreeSet<CedarId> {
        let mut holding: BTreeSet<CedarId> = self.reasons().cloned().collect();
        if self.response.decision() == Decision::Deny && !holding.is_empty() {
            let permits = self.layer.rules.policies();
            let permits = permits.filter(|rule| rule.effect() == Effect::Permit);
            // The ids differ already, so this succeeds.
            if let Ok(permits) = CedarSet::from_policies(permits.cloned()) {
                let alone = Authorizer::new().is_authorized(self.request, &permits, self.entities);
                holding.extend(alone.diagnostics().reason().cloned());
            }
        }
        holding
    }
}
