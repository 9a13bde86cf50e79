//! Messages about plans that wait for a confirmation.

use super::*;

/// A plan of two writes. Whether the second one happens is decided after the first, so the plan is confirmed.
async fn unconfirmed(rig: &Rig) -> RunView {
    let steps = json!([
        {"id": "step-001", "tool": "doors.shut", "parameters": {}},
        {
            "id": "step-002", "tool": "doors.shut", "parameters": {}, "dependencies": ["step-001"],
            "condition": {"type": "expression", "expression": "true"},
        },
    ]);
    let started = start_steps(&rig.rig, &steps).await;
    let run = started.run();
    assert_eq!(run.summary.status, RunStatus::AwaitingConfirmation);
    run
}

/// The message has the writes of the plan and leads to the run, where a person confirms it.
#[tokio::test]
async fn a_plan_that_waits_for_a_confirmation_is_announced_once() {
    let rig = Rig::new(channel(), rule()).await;
    let run = unconfirmed(&rig).await;
    rig.work().await;
    rig.work().await;
    let sent = rig.sent();
    let [message] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    let content = &message.content;
    assert_eq!(content.topic, "confirmation.requested");
    let title = format!("Confirmation requested: {}", run.summary.title);
    assert_eq!(content.title, title);
    let call = "doors.shut {}\ndoors.shut {}";
    assert_eq!(content.call.as_deref(), Some(call));
    let run_id = &run.summary.run_id;
    let link = format!("https://charter.example.com/console/runs/{run_id}");
    assert_eq!(content.link.as_ref(), Some(&link));
    assert!(content.decision.is_none());
    let digest = run.state.plan_digest.to_string();
    assert_eq!(content.data["plan_digest"], digest.as_str());
}

#[tokio::test]
async fn a_plan_that_was_confirmed_meanwhile_is_not_announced() {
    let rig = Rig::new(channel(), rule()).await;
    let run = unconfirmed(&rig).await;
    let confirmation = Confirmation {
        digest: run.state.plan_digest.to_string(),
        typed: None,
    };
    let (ann, management) = (person("ann"), &rig.rig.services.management);
    let confirmed = management.confirm(&ann, &run.summary.run_id, confirmation);
    confirmed.await.unwrap();
    rig.work().await;
    let titles = rig.titles();
    let is_old = |title: &String| title.starts_with("Confirmation requested");
    assert!(!titles.iter().any(is_old), "{titles:?}");
}
