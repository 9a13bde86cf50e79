//! The gate over an answer for which no tool is called: guardrails alone bear on it, by their conditions on the request
//! (seed 000 §2.5, §2.10). Must not know the answer.

use charter_contract::bounds::GUARDRAILS_PER_CALL;

use super::considered::ruled;
use super::{ConsideredRule, GateDecision, RuleEffect, RuleKind, RuleResult, Tally};
use crate::expression::{Budget, Facts};
use crate::guardrail::{self, ApplicableGuardrail, EffectClass, RequestTags};

/// Decides whether an answer about a domain may be given: [`GateDecision::Allow`] or [`GateDecision::Deny`], with the rules that
/// made it. An answer has no step that could wait for a person, so a guardrail that asks for one warns.
#[must_use]
pub fn decide_answer(
    guardrails: &[ApplicableGuardrail],
    tags: &RequestTags,
    domain: &str,
) -> GateDecision {
    let count = guardrails.len();
    if count > GUARDRAILS_PER_CALL {
        let message = format!(
            "{count} guardrails bear on answers about this domain, and the limit is {GUARDRAILS_PER_CALL} \
             (GUARDRAILS_PER_CALL): narrow their `applies_to`, or put them together."
        );
        let rules = vec![RuleResult::new(RuleKind::Guardrail, domain, message)];
        return GateDecision::Deny { rules };
    }
    let facts: Facts<'_> = tags.facts(domain).into_iter().collect();
    let budget = &mut Budget::default();
    let mut tally = Tally::default();
    for resolved in guardrail::strictest_first(guardrails) {
        let word = guardrail::word(resolved, EffectClass::Answer, &facts, budget);
        let considered = ruled(resolved, word);
        let says = if considered.says == RuleEffect::RequireApproval {
            RuleEffect::Warn
        } else {
            considered.says
        };
        tally.count(&ConsideredRule { says, ..considered });
    }
    tally.decision()
}
