//! What policies say, in the gate's words.

use charter_contract::ids::PolicyId;
use charter_contract::package::PackageScope;

use super::*;
use crate::policy::{
    self, Denial, PolicyDecision, PolicyFailure, PolicyStatement, RuleMatch, Unpermitted, Weighed,
};

fn id(text: &str) -> PolicyId {
    PolicyId::parse(text).unwrap()
}

fn rule(message: Option<&str>) -> policy::Rule {
    policy::Rule {
        policy_id: id("p.one"),
        rule: "changes".to_owned(),
        scope: PackageScope::Tenant,
        message: message.map(str::to_owned),
    }
}

fn failure(policy_id: Option<PolicyId>) -> PolicyFailure {
    PolicyFailure {
        policy_id,
        message: "No answer.".to_owned(),
    }
}

fn unpermitted() -> Unpermitted {
    Unpermitted {
        scope: PackageScope::Tenant,
        governed_by: vec![id("p.one"), id("p.two")],
    }
}

fn said(id: &str, message: &str) -> RuleResult {
    RuleResult::new(RuleKind::Policy, id, message)
}

const NOTHING_PERMITS: &str = "No rule of it permits this call.";

/// B002-5: what decided is named, so that a person finds it.
#[test]
fn a_policys_answer_names_the_rules_and_documents_behind_it() {
    let allow = PolicyDecision::Allow {
        by: vec![rule(Some("Approved.")), rule(None)],
    };
    let deny = PolicyDecision::Deny(Denial {
        forbidden_by: vec![rule(Some("Ask an operator."))],
        unpermitted: vec![unpermitted()],
        failures: vec![failure(Some(id("p.three"))), failure(None)],
    });
    let permit = vec![
        said("p.one#changes", "Approved."),
        said("p.one#changes", ""),
    ];
    let forbid = vec![
        said("p.one#changes", "Ask an operator."),
        said("p.one, p.two", NOTHING_PERMITS),
        said("p.three", "No answer."),
        said("policy", "No answer."),
    ];
    for (decision, answer) in [
        (PolicyDecision::Ungoverned, PolicyAnswer::Ungoverned),
        (allow, PolicyAnswer::Permit(permit)),
        (deny, PolicyAnswer::Forbid(forbid)),
    ] {
        assert_eq!(PolicyAnswer::from(&decision), answer);
    }
}

#[test]
fn what_a_policy_cannot_answer_or_does_not_permit_is_found_with_its_layer() {
    let finding = |id: &str, why: &str| {
        RuleFinding::new(
            RuleKind::Policy,
            id.to_owned(),
            RuleEffect::Deny,
            why.to_owned(),
        )
    };
    let layer = RuleFinding {
        layer: Some(PackageScope::Tenant),
        ..finding("p.one, p.two", NOTHING_PERMITS)
    };
    for (heard, found) in [
        (PolicyStatement::Unpermitted(unpermitted()), layer),
        (
            PolicyStatement::Failure(failure(Some(id("p.three")))),
            finding("p.three", "No answer."),
        ),
        (
            PolicyStatement::Failure(failure(None)),
            finding("policy", "No answer."),
        ),
    ] {
        assert_eq!(RuleFinding::from(heard), found);
    }
}

/// A rule's words for people are shown where it speaks, and not where it does not apply.
#[test]
fn a_rule_speaks_only_where_it_holds_or_has_no_answer() {
    let failed = || RuleMatch::Failed("no such attribute".to_owned());
    let cases = [
        (
            RuleMatch::Holds,
            true,
            RuleEffect::Deny,
            "It forbids this call.",
        ),
        (
            RuleMatch::Holds,
            false,
            RuleEffect::Allow,
            "It permits this call.",
        ),
        (
            RuleMatch::DoesNotHold,
            true,
            RuleEffect::NotApplicable,
            "It would forbid; its scope or its conditions do not hold.",
        ),
        (
            RuleMatch::DoesNotHold,
            false,
            RuleEffect::NotApplicable,
            "It would permit; its scope or its conditions do not hold.",
        ),
        (
            failed(),
            false,
            RuleEffect::Deny,
            "It has no answer: no such attribute",
        ),
    ];
    for (stands, forbids, says, why) in cases {
        let weighed = Weighed {
            rule: rule(Some("Ask an operator.")),
            forbids,
            stands,
            run_facts: vec![policy::RunFact::Approved],
            origin: None,
        };
        let found = RuleFinding::from(PolicyStatement::Rule(weighed));
        let message = (says != RuleEffect::NotApplicable).then(|| "Ask an operator.".to_owned());
        let expected = RuleFinding {
            message,
            run_facts: vec![policy::RunFact::Approved],
            ..RuleFinding::new(
                RuleKind::Policy,
                "p.one#changes".to_owned(),
                says,
                why.to_owned(),
            )
        };
        assert_eq!(found, expected);
    }
}
