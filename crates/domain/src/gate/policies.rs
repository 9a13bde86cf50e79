//! What policies say about a call, in the gate's words: the answer that a decision takes in, and the
//! rows of an explanation.

use super::{PolicyAnswer, RuleEffect, RuleFinding, RuleKind, RuleResult};
use crate::policy::{
    self, Denial, PolicyDecision, PolicyStatement, RuleMatch, Unpermitted, Weighed,
};

/// What is said of a layer that governs the tool and has no rule that permits the call.
const UNPERMITTED: &str = "No rule of it permits this call.";

impl From<&PolicyDecision> for PolicyAnswer {
    fn from(decision: &PolicyDecision) -> Self {
        match decision {
            PolicyDecision::Ungoverned => Self::Ungoverned,
            PolicyDecision::Allow { by } => Self::Permit(by.iter().map(named).collect()),
            PolicyDecision::Deny(Denial {
                forbidden_by,
                unpermitted,
                failures,
            }) => {
                let unpermitted = unpermitted
                    .iter()
                    .map(|layer| RuleResult::new(RuleKind::Policy, &governing(layer), UNPERMITTED));
                let failures = failures.iter().map(|failure| {
                    let id = failure.policy_id.as_ref().map_or("policy", AsRef::as_ref);
                    RuleResult::new(RuleKind::Policy, id, failure.message.clone())
                });
                let forbidden = forbidden_by.iter().map(named);
                Self::Forbid(forbidden.chain(unpermitted).chain(failures).collect())
            }
        }
    }
}

fn named(rule: &policy::Rule) -> RuleResult {
    let message = rule.message.clone().unwrap_or_default();
    RuleResult::new(RuleKind::Policy, &id_of(rule), message)
}

fn id_of(rule: &policy::Rule) -> String {
    format!("{}#{}", rule.policy_id, rule.rule)
}

fn governing(layer: &Unpermitted) -> String {
    let ids: Vec<&str> = layer.governed_by.iter().map(AsRef::as_ref).collect();
    ids.join(", ")
}

impl RuleFinding {
    /// What policy says of a tool that none in force governs.
    #[must_use]
    pub fn ungoverned(tool: &str) -> Self {
        let why = "No policy in force governs the tool.".to_owned();
        Self::new(
            RuleKind::Policy,
            tool.to_owned(),
            RuleEffect::NotApplicable,
            why,
        )
    }
}

impl From<PolicyStatement> for RuleFinding {
    fn from(heard: PolicyStatement) -> Self {
        let refuses = |id, why: String| Self::new(RuleKind::Policy, id, RuleEffect::Deny, why);
        match heard {
            PolicyStatement::Rule(weighed) => of_rule(weighed),
            PolicyStatement::Unpermitted(layer) => Self {
                layer: Some(layer.scope),
                ..refuses(governing(&layer), UNPERMITTED.to_owned())
            },
            PolicyStatement::Failure(failure) => {
                let id = failure.policy_id.as_ref();
                let id = id.map_or_else(|| "policy".to_owned(), ToString::to_string);
                refuses(id, failure.message)
            }
        }
    }
}

fn of_rule(weighed: Weighed) -> RuleFinding {
    let (says, why) = match (weighed.stands, weighed.forbids) {
        (RuleMatch::Holds, true) => (RuleEffect::Deny, "It forbids this call.".to_owned()),
        (RuleMatch::Holds, false) => (RuleEffect::Allow, "It permits this call.".to_owned()),
        (RuleMatch::DoesNotHold, true) => {
            let why = "It would forbid; its scope or its conditions do not hold.";
            (RuleEffect::NotApplicable, why.to_owned())
        }
        (RuleMatch::DoesNotHold, false) => {
            let why = "It would permit; its scope or its conditions do not hold.";
            (RuleEffect::NotApplicable, why.to_owned())
        }
        (RuleMatch::Failed(error), _) => (RuleEffect::Deny, format!("It has no answer: {error}")),
    };
    let mut finding = RuleFinding::new(RuleKind::Policy, id_of(&weighed.rule), says, why);
    if let Some(origin) = &weighed.origin {
        finding = finding.from_origin(origin);
    }
    if says != RuleEffect::NotApplicable {
        finding.message = weighed.rule.message;
    }
    finding.run_facts = weighed.run_facts;
    finding
}
