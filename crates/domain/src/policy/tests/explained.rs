//! Tests of each rule's result for a call, and of the decision as their combination.

use proptest::prelude::*;

use super::*;

impl Call {
    pub(super) fn explain(&self, view: &View) -> (PolicyDecision, Vec<PolicyStatement>) {
        let (tenant, user) = (
            TenantId::parse("acme").unwrap(),
            UserId::parse("alice").unwrap(),
        );
        PolicySet::compile(view.clone()).explain(&PolicyQuestion {
            principal: Principal {
                tenant: &tenant,
                user: &user,
                role: self.role,
            },
            tool: &self.tool,
            arguments: self.arguments.as_object().unwrap(),
            dry_run: self.dry_run,
            run: &self.run,
        })
    }
}

/// Renders each rule as `scope id#rule: effect`, and the missing permissions and failures.
fn lines(heard: &[PolicyStatement]) -> Vec<String> {
    let line = |heard: &PolicyStatement| match heard {
        PolicyStatement::Rule(weighed) => {
            let Rule {
                policy_id,
                rule,
                scope,
                ..
            } = &weighed.rule;
            let effect = if weighed.forbids { "forbid" } else { "permit" };
            let stands = match &weighed.stands {
                RuleMatch::Holds => "holds",
                RuleMatch::DoesNotHold => "does not hold",
                RuleMatch::Failed(_) => "failed",
            };
            format!("{scope} {policy_id}#{rule} {effect}: {stands}")
        }
        PolicyStatement::Unpermitted(layer) => {
            format!("{} unpermitted {:?}", layer.scope, layer.governed_by)
        }
        PolicyStatement::Failure(failure) => format!("failure {:?}", failure.policy_id),
    };
    heard.iter().map(line).collect()
}

const RULES: &str = r#"
    @id("changes") permit (principal, action in Action::"write", resource) when { context.run.approved };
    @id("looks") permit (principal, action, resource) when { context.dry_run };
    @id("users") @message("Ask an operator.")
    forbid (principal, action, resource) unless { principal in Role::"operator" };
"#;

#[test]
fn every_rule_says_whether_it_holds_and_where_it_comes_from() {
    let view = view(&[lock()], &[policy("p.one", "aws.*", RULES)], &[]);
    let mut asked = call();
    let (decision, heard) = asked.explain(&view);
    assert_eq!(decision.to_string(), UNPERMITTED);
    assert_eq!(
        lines(&heard),
        [
            "global p.one#changes permit: does not hold",
            "global p.one#looks permit: does not hold",
            "global p.one#users forbid: does not hold",
            "global unpermitted [\"p.one\"]",
        ]
    );
    asked.dry_run = true;
    let (decision, heard) = asked.explain(&view);
    assert_eq!(decision.to_string(), "allowed by `p.one#looks`");
    assert_eq!(lines(&heard)[1], "global p.one#looks permit: holds");
    let PolicyStatement::Rule(weighed) = &heard[2] else {
        panic!("{heard:?}");
    };
    assert_eq!(weighed.rule.message.as_deref(), Some("Ask an operator."));
    assert_eq!(weighed.origin, Some(origin(Scope::Global)));
}

/// Next to a forbidding rule, Cedar reports no permitting rule; an explanation does.
#[test]
fn an_overruled_permit_is_listed() {
    let view = view(&[lock()], &[policy("p.one", "aws.*", RULES)], &[]);
    let mut asked = call();
    (asked.role, asked.dry_run) = (Role::User, true);
    let (decision, heard) = asked.explain(&view);
    assert!(matches!(decision, PolicyDecision::Deny(_)));
    assert_eq!(
        lines(&heard),
        [
            "global p.one#changes permit: does not hold",
            "global p.one#looks permit: holds",
            "global p.one#users forbid: holds",
        ]
    );
}

#[test]
fn layers_are_told_apart_and_so_are_ungoverned_tools_and_broken_documents() {
    let any = r#"@id("a") permit (principal, action, resource);"#;
    let both = view(
        &[lock()],
        &[policy("p.one", "aws.*", any)],
        &[policy("p.one", "aws.*", RULES)],
    );
    let (_, heard) = call().explain(&both);
    assert_eq!(
        lines(&heard)[..2],
        [
            "global p.one#a permit: holds",
            "tenant p.one#changes permit: does not hold"
        ]
    );
    assert_eq!(lines(&heard)[4], "tenant unpermitted [\"p.one\"]");
    let (decision, heard) = call().explain(&view(&[lock()], &[policy("p", "gcp.*", any)], &[]));
    assert_eq!((decision, heard), (PolicyDecision::Ungoverned, Vec::new()));
    let broken = policy("p.one", "aws.*", "permit (");
    let (decision, heard) = call().explain(&view(&[lock()], &[broken], &[]));
    assert!(matches!(decision, PolicyDecision::Deny(_)));
    assert_eq!(lines(&heard), ["failure Some(\"p.one\")"]);
}

#[test]
fn a_rule_says_what_of_the_run_it_looks_at() {
    use RunFact::{Approvals, Approved, Approvers, Calls, Kind, Mission, Subject};
    let cases = [
        ("true", vec![]),
        (
            "context.dry_run && context.parameters.region == \"run\"",
            vec![],
        ),
        ("context.run.approved", vec![Approved]),
        (
            "context.run.kind == RunKind::\"playbook\" && context.run.approvals > 1",
            vec![Kind, Approvals],
        ),
        (
            "context.run.approvers.contains(principal.user)",
            vec![Approvers],
        ),
        (
            "context.run.hasTag(\"aws.x\") && context.run.getTag(\"aws.x\") > 3",
            vec![Calls],
        ),
        (
            "if context.run.subject == \"s\" then context.run.calls > 3 else false",
            vec![Subject, Calls],
        ),
        (
            "[context.run].contains(context.run)",
            vec![
                Kind, Subject, Mission, Approved, Approvers, Approvals, Calls,
            ],
        ),
        (
            "context.run has mission && context.run.mission.risk_level == RiskLevel::\"low\"",
            vec![Mission],
        ),
    ];
    for (condition, facts) in cases {
        let cedar =
            format!("@id(\"a\") permit (principal, action, resource) when {{ {condition} }};");
        let view = view(&[lock()], &[policy("p.one", "aws.*", &cedar)], &[]);
        let (_, heard) = call().explain(&view);
        let PolicyStatement::Rule(weighed) = &heard[0] else {
            panic!("{condition}: {heard:?}");
        };
        assert_eq!(weighed.run_facts, facts, "{condition}");
    }
}

/// The effect and the condition of a rule, and whether it holds for a call.
type Drawn = (&'static str, &'static str, fn(&Call) -> bool);

/// Rules from which generated documents are composed.
const DRAWN: [Drawn; 5] = [
    ("permit", "true", |_| true),
    ("permit", "context.dry_run", |call| call.dry_run),
    ("permit", "context.run.approved", |call| {
        !call.run.approvers.is_empty()
    }),
    ("forbid", "!(principal in Role::\"operator\")", |call| {
        call.role < Role::Operator
    }),
    ("forbid", "context.run.calls > 2", |call| {
        call.run.calls.values().sum::<u64>() > 2
    }),
];

fn drawn(id: &str, rules: &[usize]) -> Policy {
    let rules = rules.iter().enumerate().map(|(at, rule)| {
        let (effect, condition, _) = DRAWN[*rule];
        format!("@id(\"r{at}\") {effect} (principal, action, resource) when {{ {condition} }};")
    });
    policy(id, "aws.*", &rules.collect::<String>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The explanation and the decision always agree: a call is allowed if each governing layer has a matching permit
    /// and no matching forbid.
    #[test]
    fn a_decision_is_what_the_rules_of_each_layer_say(
        global in prop::collection::vec(0..5usize, 0..4),
        own in prop::collection::vec(0..5usize, 0..4),
        [dry_run, approved, operator] in any::<[bool; 3]>(),
        calls in 0..5u64,
    ) {
        let mut asked = call();
        asked.dry_run = dry_run;
        asked.role = if operator { Role::Operator } else { Role::User };
        asked.run.calls.insert(ToolId::parse("aws.lock").unwrap(), calls);
        if approved {
            asked.run.approvers.push(UserId::parse("bob").unwrap());
        }
        let document = |id, rules: &[usize]| (!rules.is_empty()).then(|| drawn(id, rules));
        let view = view(
            &[lock()],
            document("p.global", &global).as_slice(),
            document("p.own", &own).as_slice(),
        );
        let (decision, heard) = asked.explain(&view);
        prop_assert_eq!(&decision, &asked.decide(&view));
        let layers = [&global, &own].into_iter().filter(|rules| !rules.is_empty());
        let permits = |rules: &Vec<usize>| {
            let holding = |effect| rules.iter().filter(move |rule| DRAWN[**rule].0 == effect);
            holding("permit").any(|rule| DRAWN[*rule].2(&asked))
                && !holding("forbid").any(|rule| DRAWN[*rule].2(&asked))
        };
        let expected = match layers.clone().count() {
            0 => "ungoverned",
            _ if layers.clone().all(permits) => "allow",
            _ => "deny",
        };
        let found = match &decision {
            PolicyDecision::Ungoverned => "ungoverned",
            PolicyDecision::Allow { .. } => "allow",
            PolicyDecision::Deny(_) => "deny",
        };
        prop_assert_eq!(found, expected);
        let rules = heard.iter().filter_map(|heard| match heard {
            PolicyStatement::Rule(weighed) => Some(weighed),
            PolicyStatement::Unpermitted(_) | PolicyStatement::Failure(_) => None,
        });
        let drawn: Vec<usize> = global.iter().chain(&own).copied().collect();
        let stands: Vec<bool> = rules.map(|weighed| weighed.stands == RuleMatch::Holds).collect();
        prop_assert_eq!(stands, drawn.iter().map(|rule| DRAWN[*rule].2(&asked)).collect::<Vec<_>>());
    }
}
