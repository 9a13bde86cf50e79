//! What each rule says to an effect and why, and that a decision is what its rules say.

use crate::rate_limit::RateLimitExceeded;
use charter_contract::package::PackageScope;
use proptest::prelude::*;

use super::*;
use crate::rate_limit::BucketLevel;

/// Every rule with what it says, in the order in which the gate asks; and the decision.
fn weighed(
    tool: &Tool,
    guardrails: &[ApplicableGuardrail],
    change: impl FnOnce(&mut GateInput<'_>),
) -> (Vec<RuleFinding>, GateDecision) {
    let parameters = json!({"n": 3}).as_object().unwrap().clone();
    let tags = tags(None);
    let mut question = GateInput {
        tool,
        parameters: &parameters,
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
    let mut findings = Vec::new();
    let decision = weigh(&question, |considered| findings.push(considered.into()));
    assert_eq!(decision, decide(&question));
    (findings, decision)
}

fn said(findings: &[RuleFinding]) -> Vec<(RuleKind, &str, RuleEffect)> {
    let said = findings.iter();
    said.map(|finding| (finding.kind, finding.id.as_str(), finding.effect))
        .collect()
}

/// What the only rule of a kind says to a write, and why.
fn only(
    kind: RuleKind,
    tool: &Tool,
    guardrails: &[ApplicableGuardrail],
    change: impl FnOnce(&mut GateInput<'_>),
) -> (RuleEffect, String) {
    let (findings, _) = weighed(tool, guardrails, change);
    let mut of_kind = findings.into_iter().filter(|finding| finding.kind == kind);
    let found = of_kind.next().unwrap();
    assert_eq!(of_kind.next(), None);
    (found.effect, found.reason)
}

fn with(guardrail: &ApplicableGuardrail, more: &Value) -> ApplicableGuardrail {
    let entry = &guardrail.found.entry;
    let mut document = json!(entry.document);
    let fields = more.as_object().unwrap().clone();
    document.as_object_mut().unwrap().extend(fields);
    let document: Guardrail = serde_json::from_value(document).unwrap();
    let mut changed = guardrail.clone();
    changed.conditions = Arc::new(Conditions::from_guardrail(&document));
    changed.found.entry = Arc::new(CatalogueEntry {
        document,
        ..(**entry).clone()
    });
    changed
}

#[test]
fn every_rule_is_listed_in_order_even_without_an_effect() {
    let (warn, block) = (guardrail("soft_warn"), guardrail("hard_block"));
    let block = with(&block, &json!({"when": "parameters.n == 4"}));
    let playbook = |question: &mut GateInput<'_>| {
        question.safety.playbook = Some(("p.x", SafetyClass::Automated));
    };
    let (findings, decision) = weighed(&tool("write", &json!({})), &[warn, block], playbook);
    use RuleKind::{Guardrail, Interrupted, Permission, Safety, Tool};
    assert_eq!(
        said(&findings),
        [
            (Permission, "t.x", RuleEffect::Allow),
            (Permission, "t.x", RuleEffect::Allow),
            (Guardrail, "g.hard_block", RuleEffect::NotApplicable),
            (Guardrail, "g.soft_warn", RuleEffect::Warn),
            (Tool, "t.x", RuleEffect::NotApplicable),
            (Safety, "p.x", RuleEffect::NotApplicable),
            (Safety, "p.x", RuleEffect::NotApplicable),
            (Interrupted, "t.x", RuleEffect::NotApplicable),
        ]
    );
    assert_eq!(decision.word(), "warn");
    let warning = &findings[3];
    assert_eq!(
        (
            warning.layer,
            warning.package.as_deref(),
            warning.message.as_deref()
        ),
        (Some(PackageScope::Global), Some("p"), Some("m"))
    );
    assert_eq!(findings[0].layer, None);
}

#[test]
fn b003_4_the_permission_level_and_the_class_say_whether_they_suffice() {
    let of = |tool: &Tool, change: fn(&mut GateInput<'_>)| {
        let (findings, _) = weighed(tool, &[], change);
        [0, 1].map(|at: usize| (findings[at].effect, findings[at].reason.clone()))
    };
    let writes = tool("write", &json!({"permission_level": "system"}));
    let level = "The caller has the permission level system that `t.x` needs.";
    let class = "The step may use a write tool.";
    let permits = |why: &str| (RuleEffect::Allow, why.to_owned());
    let refuses = |why: &str| (RuleEffect::Deny, why.to_owned());
    assert_eq!(of(&writes, |_| {}), [permits(level), permits(class)]);
    let below = "The tool `t.x` needs the permission level system.";
    let reads = "Only a step that is declared to write may use `t.x`, which is a write tool.";
    let neither = |question: &mut GateInput<'_>| {
        (question.permitted, question.may_write) = (false, false);
    };
    assert_eq!(of(&writes, neither), [refuses(below), refuses(reads)]);
    let internal = tool("internal", &json!({"permission_level": "system"}));
    assert_eq!(
        of(&internal, |_| {}),
        [permits(level), refuses("The tool `t.x` is internal.")]
    );
}

/// B000-12: what bears, what is excepted, what is elsewhere, and what cannot be answered.
#[test]
fn b000_12_a_guardrail_says_which_expression_made_it_bear_or_not() {
    let exceptions = |condition: &str| json!([{"condition": condition, "allow": true}]);
    let cases = [
        (
            json!({}),
            "write",
            RuleEffect::Deny,
            "It bears on every write.",
        ),
        (
            json!({}),
            "readonly",
            RuleEffect::NotApplicable,
            "It has no condition, so it bears on writes only, and this reads.",
        ),
        (
            json!({"when": "parameters.n == 3", "exceptions": exceptions("dry_run")}),
            "readonly",
            RuleEffect::Deny,
            "Its condition is `parameters.n == 3`, and its exception does not hold.",
        ),
        (
            json!({"when": "parameters.n == 4"}),
            "write",
            RuleEffect::NotApplicable,
            "Its condition `parameters.n == 4` is false.",
        ),
        (
            json!({"exceptions": exceptions("parameters.n == 3")}),
            "write",
            RuleEffect::NotApplicable,
            "Its exception `parameters.n == 3` holds.",
        ),
    ];
    for (more, class, says, why) in cases {
        let block = with(&guardrail("hard_block"), &more);
        let found = only(
            RuleKind::Guardrail,
            &tool(class, &json!({})),
            &[block],
            |_| {},
        );
        assert_eq!(found, (says, why.to_owned()), "{more} on a {class} tool");
    }
    let broken = with(
        &guardrail("hard_block"),
        &json!({"when": "parameters.gone == 1"}),
    );
    let (findings, decision) = weighed(&tool("readonly", &json!({})), &[broken], |_| {});
    let note = findings[2].note.as_ref().unwrap();
    assert!(
        note.starts_with("the condition `parameters.gone == 1`:"),
        "{note}"
    );
    let GateDecision::Deny { rules } = decision else {
        panic!("{decision:?}");
    };
    assert_eq!(rules[0].note.as_ref(), Some(note));
}

/// Ruling 10, with the reason where nobody is asked.
#[test]
fn ruling_10_what_asks_for_a_person_says_why_it_does_or_does_not() {
    use RuleKind::{Interrupted, Safety, Tool as OfTool};
    let (plain, reads) = (tool("write", &json!({})), tool("readonly", &json!({})));
    let careful = tool("write", &json!({"requires_approval": true}));
    let asks = |why: &str| (RuleEffect::RequireApproval, why.to_owned());
    let silent = |why: &str| (RuleEffect::NotApplicable, why.to_owned());
    let nothing_changes = || silent("Nobody is asked for what changes nothing.");
    let only_reads = || silent("It is about writes, and the call only reads.");
    let dry = |question: &mut GateInput<'_>| question.dry_run = true;
    assert_eq!(
        only(OfTool, &careful, &[], |_| {}),
        asks("Each call of `t.x` is approved by a person.")
    );
    assert_eq!(only(OfTool, &careful, &[], dry), nothing_changes());
    assert_eq!(
        only(OfTool, &plain, &[], |_| {}),
        silent("`t.x` asks for no approval of each call.")
    );
    let supervised = |question: &mut GateInput<'_>| {
        question.safety.playbook = Some(("p", SafetyClass::Supervised));
    };
    assert_eq!(
        only(Safety, &plain, &[], supervised),
        asks("Each write of a supervised playbook is approved by a person.")
    );
    let plan = |question: &mut GateInput<'_>| question.safety.unregistered = Some("plan-1");
    assert_eq!(
        only(Safety, &plain, &[], plan),
        asks("Each write of a plan that nobody registered is approved by a person.")
    );
    assert_eq!(only(Safety, &reads, &[], plan), only_reads());
    let again = |question: &mut GateInput<'_>| question.interrupted = true;
    assert_eq!(
        only(Interrupted, &plain, &[], again).0,
        RuleEffect::RequireApproval
    );
    assert_eq!(only(Interrupted, &reads, &[], again), only_reads());
    assert_eq!(
        only(Interrupted, &plain, &[], |_| {}),
        silent("No earlier attempt was interrupted, or a repeat is harmless.")
    );
}

#[test]
fn ruling_10_a_review_list_applies_without_a_safety_class() {
    let of = |class, reviewed, dry_run| {
        let (findings, _) = weighed(&tool("write", &json!({})), &[], |question| {
            question.safety.playbook = Some(("p", class));
            (question.safety.reviewed, question.dry_run) = (reviewed, dry_run);
        });
        let safety = findings
            .into_iter()
            .filter(|finding| finding.kind == RuleKind::Safety);
        safety.map(|finding| finding.reason).collect::<Vec<_>>()
    };
    let nobody = "Nobody is asked for what changes nothing.";
    let in_advance = "An automated playbook is approved in advance.";
    use SafetyClass::{Automated, Destructive};
    assert_eq!(
        of(Automated, true, false),
        [
            in_advance,
            "The playbook lists this step for review by a person."
        ]
    );
    assert_eq!(
        of(Automated, false, false),
        [
            in_advance,
            "The playbook does not list this step for review."
        ]
    );
    assert_eq!(
        of(Destructive, true, false),
        ["Each write of a destructive playbook is approved by a person."]
    );
    assert_eq!(of(Destructive, true, true), [nobody, nobody]);
}

#[test]
fn b002_13_a_mission_says_whether_its_proposal_needs_a_person() {
    let of = |class: &str, reviewed| {
        let (findings, _) = weighed(&tool(class, &json!({})), &[], |question| {
            (question.safety.mission, question.safety.reviewed) = (Some("brief"), reviewed);
        });
        let safety = findings
            .into_iter()
            .filter(|finding| finding.kind == RuleKind::Safety);
        safety
            .map(|finding| (finding.id, finding.effect, finding.reason))
            .collect::<Vec<_>>()
    };
    let said = |says, why: &str| [("brief".to_owned(), says, why.to_owned())];
    assert_eq!(
        of("write", true),
        said(
            RuleEffect::RequireApproval,
            "What a mission proposes to write back is approved by a person."
        )
    );
    assert_eq!(
        of("write", false),
        said(
            RuleEffect::NotApplicable,
            "It is no proposal of the mission, or one that needs no person's approval."
        )
    );
}

#[test]
fn b003_4_the_rate_limit_says_what_is_left_or_how_long_to_wait() {
    let tool = tool("write", &json!({}));
    let of = |bucket| {
        let considered = rate_limit(&tool, bucket, false);
        (considered.says, considered.why.to_string())
    };
    let said = |says, why: &str| (says, why.to_owned());
    assert_eq!(
        of(None),
        said(RuleEffect::NotApplicable, "The tool has no rate limit.")
    );
    let left = BucketLevel { calls: 2, burst: 5 };
    assert_eq!(
        of(Some(Ok(left))),
        said(RuleEffect::Allow, "2 of 5 calls are left.")
    );
    let wait = RateLimitExceeded { wait_ms: 6_001 };
    assert_eq!(
        of(Some(Err(wait))),
        said(RuleEffect::Deny, "The tool may be called again in 7 s.")
    );
    let reversal = rate_limit(&tool, Some(Err(wait)), true);
    assert_eq!(
        (reversal.says, reversal.why.to_string()),
        said(
            RuleEffect::Allow,
            "A reversal is never refused by a rate limit."
        )
    );
}

/// Whether a drawn guardrail bears on a write and on a read, by its expressions.
const EXPRESSIONS: [(&str, bool, bool); 5] = [
    ("{}", true, false),
    (r#"{"when": "true"}"#, true, true),
    (r#"{"when": "parameters.n == 4"}"#, false, false),
    (r#"{"when": "parameters.gone == 1"}"#, true, true),
    (
        r#"{"when": "true", "exceptions": [{"condition": "parameters.n == 3", "allow": true}]}"#,
        false,
        false,
    ),
];

const ENFORCEMENTS: [&str; 3] = ["soft_warn", "require_approval", "hard_block"];
const CLASSES: [&str; 3] = ["readonly", "write", "internal"];
const SAFETY: [Option<SafetyClass>; 4] = [
    None,
    Some(SafetyClass::Automated),
    Some(SafetyClass::Supervised),
    Some(SafetyClass::Destructive),
];

proptest! {
    /// A decision and its explanation never disagree, and both are what the rules are documented to be.
    #[test]
    fn a_decision_is_what_its_rules_say(
        class in 0..3usize,
        safety in 0..4usize,
        rails in prop::collection::vec((0..3usize, 0..5usize), 0..4),
        [permitted, may_write, dry_run, each_call, reviewed, mission, unregistered, interrupted] in any::<[bool; 8]>(),
    ) {
        let subject = tool(CLASSES[class], &json!({"requires_approval": each_call}));
        let guardrails: Vec<ApplicableGuardrail> = rails
            .iter()
            .map(|(enforcement, expression)| {
                let more: Value = serde_json::from_str(EXPRESSIONS[*expression].0).unwrap();
                with(&guardrail(ENFORCEMENTS[*enforcement]), &more)
            })
            .collect();
        let (findings, decision) = weighed(&subject, &guardrails, |question| {
            (question.permitted, question.may_write) = (permitted, may_write);
            (question.dry_run, question.interrupted) = (dry_run, interrupted);
            question.safety = StepSafety {
                playbook: SAFETY[safety].map(|class| ("p", class)),
                reviewed,
                mission: mission.then_some("brief"),
                unregistered: unregistered.then_some("plan-1"),
            };
        });
        let of = |says| findings.iter().filter(move |finding| finding.effect == says);
        let ids = |says| of(says).map(|finding| (finding.kind, finding.id.clone())).collect::<Vec<_>>();
        let named = |rules: &[RuleResult]| {
            rules.iter().map(|rule| (rule.kind, rule.id.clone())).collect::<Vec<_>>()
        };
        match &decision {
            GateDecision::Deny { rules } => {
                prop_assert!(!rules.is_empty());
                prop_assert_eq!(named(rules), ids(RuleEffect::Deny));
            }
            GateDecision::NeedsApproval { rules, warnings, .. } => {
                prop_assert!(!rules.is_empty());
                prop_assert_eq!(of(RuleEffect::Deny).count(), 0);
                prop_assert_eq!(named(rules), ids(RuleEffect::RequireApproval));
                prop_assert_eq!(named(warnings), ids(RuleEffect::Warn));
            }
            GateDecision::Allow { warnings, .. } => {
                prop_assert_eq!(of(RuleEffect::Deny).count() + of(RuleEffect::RequireApproval).count(), 0);
                prop_assert_eq!(named(warnings), ids(RuleEffect::Warn));
            }
        }
        let writes = CLASSES[class] == "write";
        let bears = |wanted: &str| rails.iter().any(|(enforcement, expression)| {
            let (_, on_write, on_read) = EXPRESSIONS[*expression];
            ENFORCEMENTS[*enforcement] == wanted && if writes { on_write } else { on_read }
        });
        let refused = !permitted || CLASSES[class] == "internal" || (writes && !may_write) || bears("hard_block");
        let supervised = matches!(SAFETY[safety], Some(SafetyClass::Supervised | SafetyClass::Destructive));
        let asked = each_call
            || (reviewed && safety > 0)
            || (writes && (supervised || unregistered || interrupted || (mission && reviewed)));
        let expected = match () {
            () if refused => "deny",
            () if bears("require_approval") || (asked && !dry_run) => "needs_approval",
            () if bears("soft_warn") => "warn",
            () => "allow",
        };
        prop_assert_eq!(decision.word(), expected);
    }
}
