//! Messages of other processes, without the storeys above.

use charter_contract::time::Timestamp;
use serde_json::json;

use super::*;
use crate::Settings;
use crate::engine::tests::{NoTools, execution, open, ports};

fn message(topic: &str, payload: &Value) -> Message {
    Message {
        id: 1,
        message: NewMessage {
            topic: topic.to_owned(),
            tenant: None,
            user_id: None,
            payload: payload.to_string(),
            at: Timestamp::parse("2026-04-14T12:00:00Z").unwrap(),
        },
    }
}

/// Each message requires its work once; messages of this process and about ended runs require none.
#[tokio::test]
async fn messages_require_the_work_that_they_announce() {
    let dir = tempfile::tempdir().unwrap();
    let ports = ports(open(dir.path()), Arc::new(NoTools));
    let rig = execution(&ports, &Settings::default()).await;
    let replicas = &rig.services.replicas;
    replicas.begin_following().await.unwrap();
    let run = "run-00000000-0000-0000-0000-000000000002";
    let mut due = PendingNotices::default();
    for (topic, payload) in [
        (ROUTING, json!({"by": "worker-test"})),
        ("run.status", json!({"run_id": run, "status": "completed"})),
        ("key.created", json!({})),
    ] {
        due.take(&replicas.parts, &message(topic, &payload));
    }
    assert_eq!(due, PendingNotices::default());
    for (topic, payload) in [
        (ROUTING, json!({"by": "worker-other"})),
        (LEFT, json!({"by": "worker-other"})),
        ("approval.approved", json!({"run_id": run})),
        (TENANT_ERASED, json!({"tenant_id": "acme"})),
    ] {
        due.take(&replicas.parts, &message(topic, &payload));
    }
    let required = PendingNotices {
        catalogue: true,
        skills: false,
        runs: true,
        approvals: vec![RunId::parse(run).unwrap()],
        erased: vec![TenantId::parse("acme").unwrap()],
    };
    assert_eq!(due, required);
    replicas.catch_up(&mut due).await;
    assert_eq!(due, PendingNotices::default());
}
