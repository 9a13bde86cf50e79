//! Events without the storeys that cause them.

use charter_contract::time::Timestamp;
use futures_util::StreamExt;

use super::*;
use crate::engine::tests::open;

fn message(topic: &str, tenant: Option<&str>) -> NewMessage {
    NewMessage {
        topic: topic.to_owned(),
        tenant: tenant.map(str::to_owned),
        user_id: None,
        payload: "{}".to_owned(),
        at: Timestamp::parse("2026-04-14T12:00:00Z").unwrap(),
    }
}

/// A reader sees the events of its tenant below a topic, and none of other tenants and processes.
#[tokio::test]
async fn a_reader_sees_its_tenants_events() {
    let dir = tempfile::tempdir().unwrap();
    let store: SharedStore = open(dir.path());
    let shutdown = CancellationToken::new();
    let news = Arc::new(Notify::new());
    let service = EventService::new(Arc::clone(&store), news, shutdown.clone());
    let events = Arc::new(service);
    let caller = Caller::local().unwrap();
    let published = vec![
        message("run.status", Some("local")),
        message("run.status", Some("other")),
        message("replicas.left", None),
        message("runs", Some("local")),
    ];
    store.publish(published).await.unwrap();
    let page = events.list(&caller, 0, Some("run")).await.unwrap();
    let topics: Vec<&str> = page
        .entries
        .iter()
        .map(|event| event.topic.as_str())
        .collect();
    assert_eq!(topics, ["run.status"]);
    let followed = events.follow(caller, Some(0), Some("run".to_owned()));
    let mut followed = std::pin::pin!(followed);
    let first = followed.next().await.unwrap();
    assert_eq!(first, page.entries[0]);
    shutdown.cancel();
    assert_eq!(followed.next().await, None);
}
