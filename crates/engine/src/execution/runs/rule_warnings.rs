//! The warnings of guardrails about the calls in a run's history.

use charter_domain::gate::{GateDecision, RuleResult};
use charter_domain::run::RunEvent;

use super::journal::HistoryEvent;

/// B000-13: the messages of `soft_warn` guardrails about the calls of a history, each once.
pub(super) fn guardrail_warnings(history: &[HistoryEvent]) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for entry in history {
        let RunEvent::StepBegun(begun) = &entry.event else {
            continue;
        };
        let GateDecision::Allow {
            warnings: rules, ..
        } = &begun.policy_decision
        else {
            continue;
        };
        for warning in rules.iter().map(quoted) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}

/// Returns the message of a rule with its id.
pub(super) fn quoted(rule: &RuleResult) -> String {
    format!("{}: {}", rule.id, rule.message)
}
