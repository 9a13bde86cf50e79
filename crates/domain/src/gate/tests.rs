//! Decisions of the gate about a call. Their explanations are tested in `explained`, policies in `policies`, decisions
//! about answers without a call in `answers`.

mod answers;
mod explained;
mod policies;

use std::sync::Arc;

use charter_contract::catalogue::guardrail::Guardrail;
use charter_contract::catalogue::tags::Flow;
use charter_contract::catalogue::vocabulary::Tier;
use charter_contract::ids::{Label, PackageName};
use charter_contract::scope::Scope;

use super::*;
use crate::catalogue::Conditions;
use crate::catalogue::{CatalogueEntry, Origin, ResolvedDocument, WinningLayer};
use crate::rate_limit::RateLimitExceeded;

fn tool(class: &str, more: &Value) -> Tool {
    let mut tool = json!({
        "tool_id": "t.x", "name": "x", "provider": "p", "tool_class": class, "domain": "s",
        "description": "d", "language": "python"
    });
    tool.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    serde_json::from_value(tool).unwrap()
}

fn guardrail(enforcement: &str) -> ApplicableGuardrail {
    guardrail_with(enforcement, &json!({}))
}

fn guardrail_with(enforcement: &str, more: &Value) -> ApplicableGuardrail {
    let mut document = json!({
        "guardrail_id": format!("g.{enforcement}"), "scope": "global", "applies_to": ["*"],
        "rule": "r", "enforcement": enforcement, "message": "m"
    });
    document
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let origin = Origin {
        scope: Scope::Global,
        package: PackageName::parse("p").unwrap(),
        version: "1".to_owned(),
    };
    let document: Guardrail = serde_json::from_value(document).unwrap();
    ApplicableGuardrail {
        conditions: Arc::new(Conditions::from_guardrail(&document)),
        found: ResolvedDocument {
            entry: Arc::new(CatalogueEntry {
                document,
                origin: Arc::new(origin),
                content_hash: String::new(),
            }),
            won: WinningLayer::Global,
        },
        matched: "*".to_owned(),
    }
}

/// A request for the persona `operator` on the basic tier.
fn tags(flow: Option<Flow>) -> RequestTags {
    RequestTags {
        flow,
        persona: Label::parse("operator").unwrap(),
        tier: Tier::Basic,
    }
}

/// A write step that everything allows; each case changes one thing.
fn asked(change: impl FnOnce(&mut GateInput<'_>)) -> GateDecision {
    asked_of(&tool("write", &json!({})), &[], change)
}

fn asked_of(
    tool: &Tool,
    guardrails: &[ApplicableGuardrail],
    change: impl FnOnce(&mut GateInput<'_>),
) -> GateDecision {
    asked_with(tool, &Map::new(), guardrails, change)
}

fn asked_with(
    tool: &Tool,
    parameters: &Map<String, Value>,
    guardrails: &[ApplicableGuardrail],
    change: impl FnOnce(&mut GateInput<'_>),
) -> GateDecision {
    let tags = tags(Some(Flow::Write));
    let mut question = GateInput {
        tool,
        parameters,
        may_write: true,
        stage: false,
        dry_run: false,
        permitted: true,
        guardrails,
        tags: &tags,
        domain: None,
        safety: StepSafety::default(),
        interrupted: false,
    };
    change(&mut question);
    decide(&question)
}

fn kinds(decision: &GateDecision) -> (&'static str, Vec<RuleKind>) {
    let kinds = decision.rules().iter().map(|rule| rule.kind).collect();
    (decision.word(), kinds)
}

#[test]
fn a_call_without_objections_is_allowed() {
    assert_eq!(kinds(&asked(|_| {})), ("allow", vec![]));
}

#[test]
fn b000_11_only_a_step_that_may_write_uses_a_write_tool() {
    let found = asked(|question| question.may_write = false);
    assert_eq!(kinds(&found), ("deny", vec![RuleKind::Permission]));
    let reads = tool("readonly", &json!({}));
    let found = asked_of(&reads, &[], |question| question.may_write = false);
    assert_eq!(found.word(), "allow");
}

#[test]
fn b000_10_an_internal_tool_is_never_called_for_an_agent() {
    let internal = tool("internal", &json!({}));
    let found = asked_of(&internal, &[], |_| {});
    assert_eq!(kinds(&found), ("deny", vec![RuleKind::Permission]));
    let stage = asked_of(&internal, &[], |question| question.stage = true);
    assert_eq!(
        kinds(&stage),
        ("allow", vec![]),
        "a mission's own stages are"
    );
}

#[test]
fn b003_4_a_caller_below_the_tools_permission_level_is_refused() {
    let found = asked(|question| question.permitted = false);
    assert_eq!(kinds(&found), ("deny", vec![RuleKind::Permission]));
}

#[test]
fn b000_12_the_strictest_guardrail_decides() {
    let (warn, ask, block) = (
        guardrail("soft_warn"),
        guardrail("require_approval"),
        guardrail("hard_block"),
    );
    let writes = tool("write", &json!({}));
    let all = [warn.clone(), ask.clone(), block];
    assert_eq!(
        kinds(&asked_of(&writes, &all, |_| {})),
        ("deny", vec![RuleKind::Guardrail])
    );
    let two = [warn.clone(), ask];
    let found = asked_of(&writes, &two, |_| {});
    assert_eq!(kinds(&found), ("needs_approval", vec![RuleKind::Guardrail]));
    let GateDecision::Allow { warnings, .. } = asked_of(&writes, &[warn], |_| {}) else {
        panic!("a warning does not stop");
    };
    assert_eq!(warnings[0].id, "g.soft_warn");
}

/// What a guardrail's condition asks about is the call that is judged: it refuses where it holds, and is
/// silent where it does not.
#[test]
fn b000_12_a_condition_is_about_the_exact_call() {
    let writes = tool("write", &json!({"service": "s3"}));
    let parameters = json!({"bucket": "b-1", "keep": 3});
    let conditions = [
        ("tool.tool_id == 't.x'", "deny"),
        ("tool.tool_class == 'readonly'", "allow"),
        ("tool.service == 's3' && tool.provider == 'p'", "deny"),
        ("tool.name == 'y' || tool.domain == 'other'", "allow"),
        ("tool.permission_level == 'admin'", "allow"),
        ("tool.execution_target == 'client'", "deny"),
        ("parameters.keep > 2", "deny"),
        ("parameters.bucket == 'b-2'", "allow"),
        ("dry_run", "allow"),
        ("!dry_run", "deny"),
    ];
    for (condition, word) in conditions {
        let guardrails = [guardrail_with("hard_block", &json!({"when": condition}))];
        let parameters = parameters.as_object().unwrap();
        let found = asked_with(&writes, parameters, &guardrails, |_| {});
        assert_eq!(found.word(), word, "{condition}");
    }
}

/// Arithmetic in a guardrail works for negative and positive numbers, and for `number` parameters with and without a
/// fraction.
#[test]
fn b000_12_a_condition_calculates_with_declared_numbers() {
    let sells = tool(
        "write",
        &json!({"parameters": [
            {"name": "items", "type": "integer", "description": "d"},
            {"name": "price", "type": "number", "description": "d"},
            {"name": "limits", "type": "object", "description": "d"},
        ]}),
    );
    for (condition, parameters, word) in [
        ("parameters.items * 2 > 30", json!({"items": 20}), "deny"),
        ("parameters.items * 2 > 30", json!({"items": 12}), "allow"),
        ("parameters.items * 2 > 30", json!({"items": -12}), "allow"),
        ("parameters.items - 5 < 0", json!({"items": 4}), "deny"),
        ("parameters.items % 4 != 0", json!({"items": -12}), "allow"),
        ("parameters.price / 2 > 1.4", json!({"price": 3}), "deny"),
        ("parameters.price / 2 > 1.4", json!({"price": 2.5}), "allow"),
        ("parameters.price * 1.1 > 3", json!({"price": 2}), "allow"),
        (
            "parameters.price * parameters.items > parameters.limits.total",
            json!({"price": 2.5, "items": 3, "limits": {"total": 7}}),
            "deny",
        ),
    ] {
        let guardrails = [guardrail_with("hard_block", &json!({"when": condition}))];
        let given = parameters.as_object().unwrap();
        let found = asked_with(&sells, given, &guardrails, |_| {});
        assert_eq!(found.word(), word, "{condition} of {parameters}");
    }
}

#[test]
fn a_policy_that_forbids_refuses_and_one_that_permits_is_named() {
    let rule = || vec![RuleResult::new(RuleKind::Policy, "p.x", "policy")];
    let (forbid, permit) = (PolicyAnswer::Forbid(rule()), PolicyAnswer::Permit(rule()));
    let allowed = || asked(|_| {});
    let refused = ("deny", vec![RuleKind::Policy]);
    assert_eq!(kinds(&allowed().under(forbid.clone())), refused);
    let named = ("allow", vec![RuleKind::Policy]);
    assert_eq!(kinds(&allowed().under(permit.clone())), named);
    let ungoverned = allowed().under(PolicyAnswer::Ungoverned);
    assert_eq!(ungoverned, allowed());
    let asks = || asked(|question| question.interrupted = true);
    assert_eq!(kinds(&asks().under(forbid.clone())), refused);
    assert_eq!(asks().under(permit.clone()).word(), "needs_approval");
    let denied = || {
        asked_of(
            &tool("write", &json!({})),
            &[guardrail("hard_block")],
            |_| {},
        )
    };
    assert_eq!(denied().under(permit), denied());
    let both = ("deny", vec![RuleKind::Policy, RuleKind::Guardrail]);
    assert_eq!(kinds(&denied().under(forbid)), both);
}

#[test]
fn b003_4_a_call_that_comes_too_soon_is_refused_with_the_time_to_wait() {
    let tool = tool("write", &json!({}));
    let empty = || Some(Err(RateLimitExceeded { wait_ms: 6_001 }));
    let found = rate_limit(&tool, empty(), false).refusal().unwrap();
    assert_eq!(kinds(&found), ("deny", vec![RuleKind::RateLimit]));
    assert!(found.rules()[0].message.contains('7'));
    let reversal = rate_limit(&tool, empty(), true);
    assert_eq!(
        (reversal.says, reversal.refusal()),
        (RuleEffect::Allow, None)
    );
    assert_eq!(rate_limit(&tool, None, false).refusal(), None);
}

/// Ruling 10: the tool, the safety class, the review list and an interruption each ask for a person.
#[test]
fn ruling_10_a_person_is_asked_by_the_tool_the_class_the_list_or_an_interruption() {
    let careful = tool("write", &json!({"requires_approval": true}));
    let found = asked_of(&careful, &[], |_| {});
    assert_eq!(kinds(&found), ("needs_approval", vec![RuleKind::Tool]));
    for class in [SafetyClass::Supervised, SafetyClass::Destructive] {
        let found = asked(|question| question.safety.playbook = Some(("p", class)));
        assert_eq!(
            kinds(&found),
            ("needs_approval", vec![RuleKind::Safety]),
            "{class}"
        );
    }
    let found = asked(|question| question.interrupted = true);
    assert_eq!(
        kinds(&found),
        ("needs_approval", vec![RuleKind::Interrupted])
    );
    let listed = |question: &mut GateInput<'_>| {
        question.safety.playbook = Some(("p", SafetyClass::Automated));
        question.safety.reviewed = true;
    };
    assert_eq!(
        kinds(&asked(listed)),
        ("needs_approval", vec![RuleKind::Safety])
    );
}

/// B002-13: without a playbook beside it, and whatever policies say later.
#[test]
fn b002_13_a_missions_proposal_waits_for_a_person() {
    let proposed = |question: &mut GateInput<'_>| {
        question.safety.mission = Some("brief");
        question.safety.reviewed = true;
    };
    assert_eq!(
        kinds(&asked(proposed)),
        ("needs_approval", vec![RuleKind::Safety])
    );
    let allowed = |question: &mut GateInput<'_>| question.safety.mission = Some("brief");
    assert_eq!(asked(allowed).word(), "allow");
}

/// Ruling 27: `automated` is approved in advance, and guardrails still hold.
#[test]
fn ruling_27_an_automated_playbook_needs_no_approval_but_obeys_guardrails() {
    let automated = |question: &mut GateInput<'_>| {
        question.safety.playbook = Some(("p", SafetyClass::Automated));
    };
    assert_eq!(asked(automated).word(), "allow");
    let found = asked_of(
        &tool("write", &json!({})),
        &[guardrail("hard_block")],
        automated,
    );
    assert_eq!(found.word(), "deny");
}

#[test]
fn reads_need_no_approval_in_a_supervised_playbook() {
    let reads = tool("readonly", &json!({}));
    let found = asked_of(&reads, &[], |question| {
        question.safety.playbook = Some(("p", SafetyClass::Destructive));
        question.interrupted = true;
    });
    assert_eq!(found.word(), "allow");
}

#[test]
fn b000_18_a_dry_run_needs_no_approval() {
    let careful = tool("write", &json!({"requires_approval": true}));
    let found = asked_of(&careful, &[], |question| {
        question.safety.playbook = Some(("p", SafetyClass::Destructive));
        question.dry_run = true;
    });
    assert_eq!(found.word(), "allow");
}

/// A call whose answer was refused may have happened: also a tool for which a repeat is harmless asks a person, once,
/// and what is refused stays refused.
#[test]
fn a_call_in_doubt_asks_a_person_whatever_its_tool_promises() {
    let tool_id = ToolId::parse("t.x").unwrap();
    let doubted = |decision: GateDecision| decision.in_doubt(&tool_id, "it said nothing");
    let careful = tool("write", &json!({"requires_approval": true}));
    let asks = asked_of(&careful, &[], |question| question.interrupted = true);
    for (decision, rules) in [
        (asked(|_| {}), vec![RuleKind::Interrupted]),
        (asks, vec![RuleKind::Tool, RuleKind::Interrupted]),
    ] {
        let found = doubted(decision);
        assert_eq!(kinds(&found), ("needs_approval", rules));
        let last = found.rules().last().unwrap();
        assert_eq!(
            last.message,
            "This was begun and may have happened: it said nothing. A repeat may do it twice."
        );
    }
    let denied = asked(|question| question.permitted = false);
    assert_eq!(doubted(denied.clone()), denied);
}

#[test]
fn an_approval_lifts_the_question_and_nothing_else() {
    let warn = [guardrail("soft_warn")];
    let asks = asked_of(&tool("write", &json!({})), &warn, |question| {
        question.interrupted = true;
    });
    let found = asks.approved("apr-1");
    assert_eq!(
        kinds(&found),
        ("warn", vec![RuleKind::Interrupted, RuleKind::Approval])
    );
    let denied = asked(|question| question.permitted = false);
    assert_eq!(denied.clone().approved("apr-1"), denied);
}

/// A plan that nobody registered needs what a supervised playbook needs: each write is approved.
#[test]
fn ruling_10_each_write_of_an_unregistered_plan_is_approved() {
    let found = asked(|question| question.safety.unregistered = Some("plan-1"));
    assert_eq!(kinds(&found), ("needs_approval", vec![RuleKind::Safety]));
    assert_eq!(found.rules()[0].id, "plan-1");
    let reads = tool("readonly", &json!({}));
    let found = asked_of(&reads, &[], |question| {
        question.safety.unregistered = Some("plan-1");
    });
    assert_eq!(found.word(), "allow");
    let found = asked(|question| {
        question.safety.unregistered = Some("plan-1");
        question.dry_run = true;
    });
    assert_eq!(found.word(), "allow");
}

#[test]
fn a_call_with_more_guardrails_than_are_asked_is_refused() {
    use charter_contract::bounds::GUARDRAILS_PER_CALL;
    let tool = tool("write", &json!({}));
    let mut many = vec![guardrail("soft_warn"); GUARDRAILS_PER_CALL];
    assert_eq!(asked_of(&tool, &many, |_| {}).word(), "warn");
    many.push(guardrail("soft_warn"));
    let GateDecision::Deny { rules } = asked_of(&tool, &many, |_| {}) else {
        panic!("it is not refused");
    };
    let message = "501 guardrails bear on this call, and the limit is 500 (GUARDRAILS_PER_CALL): \
                   narrow their `applies_to`, or put them together.";
    assert_eq!(
        rules,
        [RuleResult::new(RuleKind::Guardrail, "t.x", message)]
    );
}
