use charter_contract::ids::Label;
use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::gate::RuleKind;

pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros((1_776_168_000 + seconds) * 1_000_000).unwrap()
}

pub(super) fn user(name: &str) -> UserId {
    UserId::parse(name).unwrap()
}

fn call(parameters: &Value) -> ExactCall {
    ExactCall {
        run_id: RunId::from_uuid(Uuid::from_u128(1)),
        step: StepId::parse("step_2").unwrap(),
        tool: ToolId::parse("aws.lock_security_group").unwrap(),
        tool_hash: "sha256:aa".to_owned(),
        parameters: parameters.as_object().unwrap().clone(),
    }
}

pub(super) fn pending(four_eyes: bool) -> Approval {
    let call = call(&json!({"group": "sg-1"}));
    Approval {
        approval_id: ApprovalId::from_uuid(Uuid::from_u128(2)),
        tenant_id: TenantId::parse("acme").unwrap(),
        digest: call.digest(),
        call,
        list: Vec::new(),
        destructive: false,
        plan_digest: None,
        rules: vec![RuleResult::new(RuleKind::Safety, "p", "supervised")],
        requested_by: user("asker"),
        requesters: BTreeSet::new(),
        requested_at: at(0),
        expires_at: at(60),
        four_eyes,
        escalation: Escalation::default(),
        state: ApprovalStatus::Pending,
    }
}

fn says(approval: &Approval, approve: bool, by: &str) -> ApprovalVerdict {
    let answer = if approve {
        ApprovalAnswer::Approve
    } else {
        ApprovalAnswer::Reject
    };
    ApprovalVerdict {
        answer,
        by: CredentialUser::known(user(by)),
        digest: approval.digest.clone(),
        reason: None,
    }
}

fn decided(approval: Approval, approve: bool) -> Approval {
    let verdict = says(&approval, approve, "other");
    let state = approval.decide(verdict, at(1)).unwrap();
    Approval { state, ..approval }
}

#[test]
fn ruling_28_an_approval_is_decided_once() {
    for approve in [true, false] {
        let done = decided(pending(false), approve);
        let again = done.decide(says(&done, !approve, "third"), at(2));
        let word = if approve { "approved" } else { "rejected" };
        assert_eq!(again, Err(DecisionRefusal::Decided(word)));
    }
}

#[test]
fn ruling_28_an_approval_is_used_once_and_only_when_agreed_to() {
    let approved = decided(pending(false), true);
    let used = approved.consume(&approved.digest, at(2)).unwrap();
    assert!(matches!(&used, ApprovalStatus::Consumed(by) if by.decided.by == user("other")));
    let used = Approval {
        state: used,
        ..approved
    };
    assert_eq!(
        used.consume(&used.digest, at(3)),
        Err(DecisionRefusal::Decided("consumed"))
    );
    for other in [pending(false), decided(pending(false), false)] {
        let refused = other.consume(&other.digest, at(2));
        assert!(
            matches!(refused, Err(DecisionRefusal::Decided(_))),
            "{refused:?}"
        );
    }
}

#[test]
fn ruling_28_an_approval_is_good_until_it_expires() {
    let late = pending(false);
    assert_eq!(
        late.decide(says(&late, true, "other"), at(60)),
        Err(DecisionRefusal::Expired(at(60)))
    );
    assert!(late.decide(says(&late, true, "other"), at(59)).is_ok());
    let approved = decided(pending(false), true);
    assert_eq!(
        approved.consume(&approved.digest, at(60)),
        Err(DecisionRefusal::Expired(at(60)))
    );
    assert!(approved.consume(&approved.digest, at(59)).is_ok());
}

#[test]
fn ruling_28_an_approval_is_bound_to_the_exact_call() {
    let approval = pending(false);
    let seen = ApprovalVerdict {
        digest: Digest::claimed("sha256:other"),
        ..says(&approval, true, "other")
    };
    let refused = approval.decide(seen, at(1));
    assert!(
        matches!(refused, Err(DecisionRefusal::Changed { .. })),
        "{refused:?}"
    );
    let approved = decided(approval, true);
    let other = call(&json!({"group": "sg-2"})).digest();
    let refused = approved.consume(&other, at(2));
    assert!(
        matches!(refused, Err(DecisionRefusal::Changed { .. })),
        "{refused:?}"
    );
}

#[test]
fn ruling_28_askers_cannot_approve_under_four_eyes() {
    let four = pending(true);
    let own = four.decide(says(&four, true, "asker"), at(1));
    assert_eq!(own, Err(DecisionRefusal::OwnRequest(user("asker"))));
    assert!(
        four.decide(says(&four, false, "asker"), at(1)).is_ok(),
        "withdrawn"
    );
    assert!(four.decide(says(&four, true, "other"), at(1)).is_ok());
    let two = pending(false);
    assert!(two.decide(says(&two, true, "asker"), at(1)).is_ok());
}

/// The users that started the run, supplied values or confirmed it may not approve it. The same holds for the makers of
/// their keys, and for users whose keys a requester made.
#[test]
fn ruling_33_possible_askers_cannot_approve() {
    let names =
        |names: &[&str]| -> BTreeSet<UserId> { names.iter().map(|name| user(name)).collect() };
    let asked = |four_eyes| Approval {
        requesters: names(&["asker", "giver", "maker"]),
        ..pending(four_eyes)
    };
    for (by, makers, agrees) in [
        ("asker", names(&[]), false),
        ("giver", names(&[]), false),
        ("maker", names(&[]), false),
        ("third", names(&["giver"]), false),
        ("third", names(&["other", "maker"]), false),
        ("third", names(&["other"]), true),
        ("other", names(&[]), true),
    ] {
        let person = CredentialUser {
            user: user(by),
            makers: makers.clone(),
        };
        let four = asked(true);
        assert_eq!(four.can_approve(&person), agrees, "{person:?}");
        assert!(asked(false).can_approve(&person));
        let said = |approve| ApprovalVerdict {
            by: person.clone(),
            ..says(&four, approve, by)
        };
        let decided = four.decide(said(true), at(1));
        match decided {
            Ok(ApprovalStatus::Approved(agreed)) => {
                assert!(agrees, "{person:?}");
                assert_eq!(
                    (agreed.decided.by, agreed.decided.makers),
                    (user(by), makers)
                );
            }
            refused => {
                assert!(!agrees, "{person:?}");
                assert_eq!(refused, Err(DecisionRefusal::OwnRequest(user(by))));
            }
        }
        assert!(four.decide(said(false), at(1)).is_ok(), "withdrawn");
    }
}

/// A stored approval without `requesters` was requested by `requested_by` alone.
#[test]
fn an_approval_that_names_no_askers_reads_as_before() {
    let stored = json!(pending(true));
    assert_eq!(stored.get("requesters"), None);
    let read: Approval = serde_json::from_value(stored).unwrap();
    assert!(!read.can_approve(&CredentialUser::known(user("asker"))));
    assert!(read.can_approve(&CredentialUser::known(user("other"))));
}

#[test]
fn a_digest_differs_with_every_part_of_the_call() {
    let base = call(&json!({"a": 1}));
    let mut others = vec![base.clone(); 4];
    others[0].parameters.insert("b".into(), json!(null));
    others[1].step = StepId::parse("step_3").unwrap();
    others[2].tool_hash = "sha256:bb".into();
    others[3].run_id = RunId::from_uuid(Uuid::from_u128(9));
    for other in others {
        assert_ne!(other.digest(), base.digest(), "{other:?}");
    }
    let sorted = call(&json!({"a": 1, "z": 2}));
    assert_eq!(sorted.digest(), call(&json!({"z": 2, "a": 1})).digest());
}

/// The digest can be verified with any SHA-256 implementation: it covers the JSON with sorted keys.
#[test]
fn ruling_28_a_digest_is_the_sha_256_of_the_canonical_json() {
    let digest = Digest::from_json(&json!({"b": 1, "a": [true, null]}));
    // printf '{"a":[true,null],"b":1}' | sha256sum
    let text = "sha256:51705a2c9eb3e7e410a58f696a770c3ac3885a0cf43eb7fc88f5e47c11d4d30d";
    assert_eq!(digest.as_str(), text);
    assert_eq!(digest.to_string(), text);
    assert_eq!(Digest::claimed(text), digest);
}

/// An approval about repeating a call that began.
fn about_a_repeat() -> Approval {
    let rule = RuleResult::new(RuleKind::Interrupted, "t", "it may have happened");
    let mut asked = pending(true);
    asked.rules.push(rule);
    asked
}

fn happened(approval: &Approval, by: &str) -> ApprovalVerdict {
    let output = json!({"revoked": 1});
    ApprovalVerdict {
        answer: ApprovalAnswer::Happened(ReportedResult { output }),
        ..says(approval, true, by)
    }
}

/// The report follows the rules of every decision: once, in time, for the displayed digest, and by another user.
#[test]
fn b000_18_that_it_happened_answers_only_the_question_of_a_repeat() {
    let other = pending(true);
    let refused = other.decide(happened(&other, "other"), at(1));
    assert_eq!(refused, Err(DecisionRefusal::NotBegun));
    let asked = about_a_repeat();
    let own = asked.decide(happened(&asked, "asker"), at(1));
    assert_eq!(own, Err(DecisionRefusal::OwnRequest(user("asker"))));
    let late = asked.decide(happened(&asked, "other"), at(60));
    assert_eq!(late, Err(DecisionRefusal::Expired(at(60))));
    let unseen = ApprovalVerdict {
        digest: Digest::claimed("sha256:other"),
        ..happened(&asked, "other")
    };
    let unseen = asked.decide(unseen, at(1));
    assert!(
        matches!(unseen, Err(DecisionRefusal::Changed { .. })),
        "{unseen:?}"
    );
    let state = asked.decide(happened(&asked, "other"), at(1)).unwrap();
    let told = Approval { state, ..asked };
    let again = told.decide(happened(&told, "third"), at(2));
    assert_eq!(again, Err(DecisionRefusal::Decided("approved")));
    // The stored and displayed form.
    let text = serde_json::to_string(&told).unwrap();
    let read: Approval = serde_json::from_str(&text).unwrap();
    assert_eq!(read, told);
    let used = told.consume(&told.digest, at(2)).unwrap();
    let ApprovalStatus::Consumed(agreed) = &used else {
        panic!("{used:?}");
    };
    let output = json!({"revoked": 1});
    assert_eq!(agreed.reported_result, Some(ReportedResult { output }));
    assert_eq!(agreed.decided.by, user("other"));
}

/// Approvals that were stored before this answer existed are read unchanged.
#[test]
fn an_agreement_without_a_report_reads_as_before() {
    let text = json!({"state": "consumed", "by": "other", "at": at(1), "reason": "fine"});
    let state: ApprovalStatus = serde_json::from_value(text.clone()).unwrap();
    assert!(matches!(&state, ApprovalStatus::Consumed(agreed) if agreed.reported_result.is_none()));
    assert_eq!(json!(state), text);
}

/// A pending approval of three calls.
fn listed(destructive: bool) -> Approval {
    let calls = ["a", "b", "c"].map(|step| ExactCall {
        step: StepId::parse(step).unwrap(),
        ..call(&json!({"group": step}))
    });
    let all: Vec<&ExactCall> = calls.iter().collect();
    Approval {
        digest: ExactCall::digest_of_list(&all),
        call: calls[0].clone(),
        list: calls.to_vec(),
        destructive,
        ..pending(false)
    }
}

fn choosing(approval: &Approval, excluded: &[&str], typed_count: Option<u64>) -> ApprovalVerdict {
    let excluded = excluded.iter().map(|step| StepId::parse(step).unwrap());
    ApprovalVerdict {
        answer: ApprovalAnswer::ApproveListed(ListChoice {
            excluded: excluded.collect(),
            typed_count,
        }),
        ..says(approval, true, "other")
    }
}

/// The decision is bound to what remains, whichever of the two lists the person saw.
#[test]
fn calls_of_a_list_may_be_excluded() {
    let approval = listed(false);
    let left = [&approval.list[0], &approval.list[2]];
    let remainder = ListRemainder {
        excluded: BTreeSet::from([StepId::parse("b").unwrap()]),
        digest: ExactCall::digest_of_list(&left),
    };
    assert_ne!(remainder.digest, approval.digest);
    for digest in [&approval.digest, &remainder.digest] {
        let verdict = ApprovalVerdict {
            digest: digest.clone(),
            ..choosing(&approval, &["b"], None)
        };
        let Ok(ApprovalStatus::Approved(agreed)) = approval.decide(verdict, at(1)) else {
            panic!("it is approved");
        };
        assert_eq!(agreed.remainder.as_ref(), Some(&remainder));
    }
    let refused = |excluded: &[&str]| approval.decide(choosing(&approval, excluded, None), at(1));
    let unknown = DecisionRefusal::NotListed(StepId::parse("z").unwrap());
    assert_eq!(refused(&["b", "z"]), Err(unknown));
    assert_eq!(refused(&["a", "b", "c"]), Err(DecisionRefusal::NothingLeft));
}

/// B000-18: changes that cannot be undone are counted by the person that approves them.
#[test]
fn b000_18_the_number_of_destructive_calls_is_typed() {
    let approval = listed(true);
    let decide = |excluded: &[&str], typed| {
        let decided = approval.decide(choosing(&approval, excluded, typed), at(1));
        decided.map(|state| state.word())
    };
    assert_eq!(decide(&[], Some(3)), Ok("approved"));
    assert_eq!(decide(&["c"], Some(2)), Ok("approved"));
    for typed in [None, Some(3)] {
        assert_eq!(decide(&["c"], typed), Err(DecisionRefusal::Count(2)));
    }
    let plain = approval.decide(says(&approval, true, "other"), at(1));
    assert_eq!(plain, Err(DecisionRefusal::Count(3)));
    assert!(
        approval
            .decide(says(&approval, false, "other"), at(1))
            .is_ok()
    );
}

/// A list of one call has the digest of the call.
#[test]
fn a_list_is_bound_to_its_calls_and_their_order() {
    let approval = listed(false);
    let [a, b, c] = [&approval.list[0], &approval.list[1], &approval.list[2]];
    assert_eq!(ExactCall::digest_of_list(&[a]), a.digest());
    let digest = |calls: &[&ExactCall]| ExactCall::digest_of_list(calls);
    assert_ne!(digest(&[a, b, c]), digest(&[a, c, b]));
    assert_ne!(digest(&[a, b]), digest(&[a, b, c]));
}

/// Approving needs a turn; rejecting does not.
#[test]
fn only_a_group_whose_turn_has_come_approves() {
    let mut approval = pending(false);
    approval.escalation.steps.push(EscalationStep {
        group: Label::parse("on-call").unwrap(),
        users: BTreeSet::from([user("bob")]),
        from: at(0),
    });
    let refused = approval.decide(says(&approval, true, "ruth"), at(1));
    let not_in_turn = DecisionRefusal::NotInTurn {
        user: user("ruth"),
        group: Label::parse("on-call").unwrap(),
    };
    assert_eq!(refused, Err(not_in_turn));
    assert!(
        approval
            .decide(says(&approval, false, "ruth"), at(1))
            .is_ok()
    );
    assert!(approval.decide(says(&approval, true, "bob"), at(1)).is_ok());
}
