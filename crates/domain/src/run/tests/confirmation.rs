//! Confirmations of a plan that also approve its calls.

use charter_contract::ids::TenantId;

use super::*;
use crate::approval::{Approval, ApprovalAnswer, ApprovalStatus, Escalation, EscalationStep};

/// A run whose plan the user `asker` confirmed: a write with given arguments, and one whose arguments depend on it.
fn confirmed(approves: bool) -> Driven {
    let mut second = write("second", &["first"]);
    let StepAction::Call { arguments, .. } = &mut second.action else {
        unreachable!("a write calls");
    };
    let parameters = Map::from_iter([("of".to_owned(), json!("${first.id}"))]);
    *arguments = Arguments::Template(parameters);
    let opening = RunPrerequisites {
        confirm: true,
        ..RunPrerequisites::default()
    };
    let parts = GraphParts {
        steps: vec![write("first", &[]), second],
        ..GraphParts::default()
    };
    let mut run = Driven::opening(parts, opening, false);
    assert!(run.run.unconfirmed_plan().is_some());
    let confirm = RunOrder::Confirm {
        by: user("asker"),
        makers: BTreeSet::new(),
        digest: run.run.plan_digest(),
        typed: None,
        approves,
    };
    run.command(confirm).unwrap();
    run
}

/// The approval of the call of a step, for an hour.
fn asked(run: &Driven, step: &str, kind: RuleKind) -> Approval {
    let call = run.call(step);
    Approval {
        approval_id: approval(7),
        tenant_id: TenantId::parse("acme").unwrap(),
        digest: call.digest(),
        call,
        list: Vec::new(),
        destructive: false,
        plan_digest: None,
        rules: vec![RuleResult::new(kind, "r", "it needs one")],
        requested_by: user("asker"),
        requesters: BTreeSet::new(),
        requested_at: at(run.clock),
        expires_at: at(run.clock + 3_600),
        four_eyes: false,
        escalation: Escalation::default(),
        state: ApprovalStatus::Pending,
    }
}

/// Only then is the approval also the confirmation of the plan.
#[test]
fn an_approval_shows_all_writes_or_leaves_the_plan_unconfirmed() {
    let run = confirmed(false).run;
    let (first, second) = (id("first"), id("second"));
    for (listed, is_plan) in [
        (BTreeSet::new(), false),
        (BTreeSet::from([&first]), false),
        (BTreeSet::from([&second]), false),
        (BTreeSet::from([&first, &second]), true),
    ] {
        assert_eq!(run.lists_all_writes(&listed), is_plan, "{listed:?}");
    }
    let reads = Driven::new(vec![read("look", &[], AfterFailure::RollBack)]);
    assert!(!reads.run.lists_all_writes(&BTreeSet::from([&id("look")])));
}

#[test]
fn a_confirmation_by_an_approver_approves_the_calls_that_the_plan_determines() {
    let run = confirmed(true);
    assert_eq!(run.run.unconfirmed_plan(), None);
    let now = at(run.clock);
    let approval = asked(&run, "first", RuleKind::Safety);
    let verdict = run.run.confirming_verdict(&approval, now).unwrap();
    assert_eq!(
        (&verdict.answer, &verdict.by.user, &verdict.digest),
        (&ApprovalAnswer::Approve, &user("asker"), &approval.digest)
    );
    let state = approval.decide(verdict, now).unwrap();
    assert_eq!(state.word(), "approved");
    let other = asked(&run, "second", RuleKind::Safety);
    assert_eq!(run.run.confirming_verdict(&other, now), None);
}

#[test]
fn a_confirmation_approves_nothing_that_needs_another_decision() {
    let run = confirmed(true);
    let now = at(run.clock);
    for kind in [RuleKind::Guardrail, RuleKind::Interrupted] {
        let approval = asked(&run, "first", kind);
        assert_eq!(run.run.confirming_verdict(&approval, now), None, "{kind:?}");
    }
    let approval = asked(&run, "first", RuleKind::Tool);
    assert!(run.run.confirming_verdict(&approval, now).is_some());
    let four_eyes = Approval {
        four_eyes: true,
        ..approval.clone()
    };
    assert_eq!(run.run.confirming_verdict(&four_eyes, now), None);
    // After its approval has lapsed, a call needs a new decision.
    assert_eq!(
        run.run.confirming_verdict(&approval, at(run.clock + 3_600)),
        None
    );
    // A later turn of the user's group makes no decision without the user.
    let leads = EscalationStep {
        group: Label::parse("leads").unwrap(),
        users: BTreeSet::from([user("asker")]),
        from: at(run.clock + 60),
    };
    let of_leads = Approval {
        escalation: Escalation {
            steps: vec![leads],
            announced: 0,
        },
        ..approval.clone()
    };
    for seconds in [0, 60] {
        let now = at(run.clock + seconds);
        assert_eq!(run.run.confirming_verdict(&of_leads, now), None);
    }
    let of_user = confirmed(false);
    assert_eq!(of_user.run.confirming_verdict(&approval, now), None);
}

/// An order of an earlier version approves nothing, and its format is unchanged.
#[test]
fn whether_a_confirmation_approves_is_journaled() {
    for approves in [false, true] {
        let run = confirmed(approves);
        let (event, _) = run.journal.last().unwrap();
        let written = json!(event);
        assert_eq!(
            written.get("approves"),
            approves.then_some(&Value::Bool(true))
        );
        let again = Run::replay(run.journal.clone()).unwrap();
        assert_eq!(again, run.run);
        let approval = asked(&run, "first", RuleKind::Safety);
        let verdict = again.confirming_verdict(&approval, at(run.clock));
        assert_eq!(verdict.is_some(), approves);
    }
}
