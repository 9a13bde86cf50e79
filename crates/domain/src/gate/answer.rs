//! The gate for an answer without a tool call: only guardrails apply to it, by their conditions on the request
//! (seed 000 §2.5, §2.10). Must not know the answer.

use charter_contract::bounds::GUARDRAILS_PER_CALL;

use super::considered::ruled;
use super::{ConsideredRule, GateDecision, RuleEffect, RuleKind, RuleResult, Tally};
use crate::expression::{Budget, Facts};
use crate::guardrail::{self, ApplicableGuardrail, EffectClass, RequestTags};

/// Decides whether an answer about a domain is allowed: [`GateDecision::Allow`] or [`GateDecision::Deny`], with the
/// rules behind it. An answer has no step that could wait for approval, so a guardrail that requires approval warns
/// instead.
#[must_use]
pub fn decide_answer(
    guardrails: &[ApplicableGuardrail],
    tags: &RequestTags,
    domain: &str,
) -> GateDecision {
    let count = guardrails.len();
    if count > GUARDRAILS_PER_CALL {
        let message = format!(
            "{count} guardrails apply to answers about this domain; the limit is {GUARDRAILS_PER_CALL} \
             (GUARDRAILS_PER_CALL): narrow their `applies_to`, or merge them."
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
