//! Evidence without the runs that leave it.

use charter_domain::clock::SystemClock;
use charter_store::page::PageRequest;
use charter_testkit::store_suite::sample;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::engine::tests::{NoTools, open};
use crate::{EvidenceQuery, RandomIds};

/// The service over a store in a directory.
pub(in crate::execution) fn service(ports: CorePorts) -> EvidenceService {
    let computations = Computations::new(Arc::new(NoTools), CancellationToken::new());
    EvidenceService::new(ports, Arc::new(computations), EvidencePages::default())
}

/// The ports over a store in a directory.
pub(in crate::execution) fn ports(dir: &std::path::Path) -> CorePorts {
    CorePorts {
        store: open(dir),
        clock: Arc::new(SystemClock::start().unwrap()),
        ids: Arc::new(RandomIds),
    }
}

/// A record is stored once, however often it is made, and is listed and attached where it is visible.
#[tokio::test]
async fn a_record_is_stored_once_and_attached() {
    let dir = tempfile::tempdir().unwrap();
    let evidence = service(ports(dir.path()));
    let caller = Caller::local().unwrap();
    let at = Timestamp::parse("2026-04-14T12:00:00Z").unwrap();
    let record = sample::evidence("local", 1, at).unwrap();
    let id = record.id.clone();
    for _ in 0..2 {
        let records = std::slice::from_ref(&record);
        evidence.keep(&caller.tenant, records).await.unwrap();
    }
    let page = PageRequest::new(None, 10);
    let listed = evidence
        .list(&caller, EvidenceQuery::default(), &page)
        .await;
    let listed = listed.unwrap().entries.into_iter().map(|entry| entry.id);
    assert_eq!(listed.collect::<Vec<_>>(), std::slice::from_ref(&id));
    let further = sample::finding("fnd_2").unwrap();
    let attached = evidence.attach(&caller, &id, &further).await.unwrap();
    assert!(attached.attached_to.contains(&further));
    let unknown = sample::evidence("local", 2, at).unwrap().id;
    let refused = evidence.get(&caller, &unknown).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);
}
