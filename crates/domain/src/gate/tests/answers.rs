//! Guardrails on answers without a call, and the names of the request at a call.

use super::*;

fn about(when: &str, enforcement: &str) -> ApplicableGuardrail {
    guardrail_with(enforcement, &json!({"when": when}))
}

fn answered(guardrails: &[ApplicableGuardrail], flow: Flow) -> &'static str {
    decide_answer(guardrails, &tags(Some(flow)), "s").word()
}

/// The flows that answer without a call, each with a rule for it alone.
#[test]
fn b000_21_a_guardrail_about_a_flow_blocks_its_answers_and_no_others() {
    for flow in Flow::ALL.iter().copied() {
        let block = [about(&format!("flow == '{flow}'"), "hard_block")];
        for other in Flow::ALL.iter().copied() {
            let expected = if other == flow { "deny" } else { "allow" };
            assert_eq!(answered(&block, other), expected, "{flow}: {other}");
        }
    }
}

#[test]
fn b000_21_domain_persona_and_tier_are_read_of_the_request() {
    for (when, expected) in [
        ("domain == 's'", "deny"),
        ("domain == 'other'", "allow"),
        ("persona == 'operator' && tier == 'basic'", "deny"),
        ("persona in ['auditor', 'intern']", "allow"),
        ("tier == 'advanced'", "allow"),
        ("true", "deny"),
    ] {
        let block = [about(when, "hard_block")];
        assert_eq!(answered(&block, Flow::Knowledge), expected, "{when}");
    }
}

/// Ruling 30, and rules about calls: neither applies to an answer without a call. A broken rule applies.
#[test]
fn b000_21_what_is_about_calls_says_nothing_to_an_answer() {
    for (when, expected) in [
        ("tool.tool_class == 'readonly'", "allow"),
        ("parameters.port == 22 && flow == 'knowledge'", "allow"),
        ("dry_run", "allow"),
        ("flow == 'knowledge' || tool.provider == 'aws'", "deny"),
        ("flow > 7", "deny"),
    ] {
        let block = [about(when, "hard_block")];
        assert_eq!(answered(&block, Flow::Knowledge), expected, "{when}");
    }
    assert_eq!(
        answered(&[guardrail("hard_block")], Flow::Knowledge),
        "allow"
    );
}

/// B000-13: a guardrail that warns adds a warning, and so does one that requires approval, because an answer cannot
/// wait. The strictest wins.
#[test]
fn b000_13_an_answer_is_warned_about_unless_it_is_blocked() {
    let warns = [
        about("true", "soft_warn"),
        about("true", "require_approval"),
    ];
    let decision = decide_answer(&warns, &tags(Some(Flow::RagSearch)), "s");
    let GateDecision::Allow { warnings, .. } = &decision else {
        panic!("{decision:?}");
    };
    let ids: Vec<&str> = warnings.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(ids, ["g.require_approval", "g.soft_warn"]);
    let all = [warns[0].clone(), about("true", "hard_block")];
    let decision = decide_answer(&all, &tags(Some(Flow::RagSearch)), "s");
    let rules = vec![RuleResult::new(RuleKind::Guardrail, "g.hard_block", "m")];
    assert_eq!(decision, GateDecision::Deny { rules });
}

#[test]
fn b000_12_an_exception_lifts_a_guardrail_from_an_answer() {
    let fields = json!({
        "when": "true", "exceptions": [{"condition": "persona == 'operator'", "allow": true}],
    });
    let block = [guardrail_with("hard_block", &fields)];
    assert_eq!(answered(&block, Flow::Knowledge), "allow");
}

/// The gate must not choose which guardrails to skip.
#[test]
fn an_answer_with_more_guardrails_than_are_asked_is_refused() {
    let many = vec![about("false", "soft_warn"); 501];
    let decision = decide_answer(&many, &tags(Some(Flow::Knowledge)), "s");
    assert_eq!(decision.word(), "deny");
    assert_eq!(decision.rules()[0].id, "s");
    let most = decide_answer(&many[1..], &tags(Some(Flow::Knowledge)), "s");
    assert_eq!(most.word(), "allow");
}

/// A call has the same names; the domain of a plan is its tool's.
#[test]
fn b000_21_a_call_is_asked_about_with_the_request_that_it_is_for() {
    let of = |when: &str, change: fn(&mut GateInput<'_>)| {
        asked_of(
            &tool("write", &json!({})),
            &[about(when, "hard_block")],
            change,
        )
        .word()
    };
    assert_eq!(of("flow == 'write' && domain == 's'", |_| {}), "deny");
    assert_eq!(of("flow == 'skill'", |_| {}), "allow");
    let owned: fn(&mut GateInput<'_>) = |question| question.domain = Some("own");
    assert_eq!(of("domain == 'own'", owned), "deny");
    assert_eq!(of("tool.domain == 's' && domain == 's'", owned), "allow");
}
