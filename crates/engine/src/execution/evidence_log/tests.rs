//! The evidence log without runs.

use charter_contract::time::Timestamp;
use charter_testkit::store_suite::sample;

use super::*;
use crate::EvidenceQuery;
use crate::execution::evidence::tests::{ports, service};

/// The log grows by a leaf for each record, proves its growth, and is exported with each of them.
#[tokio::test]
async fn a_log_proves_and_exports_its_records() {
    let dir = tempfile::tempdir().unwrap();
    let ports = ports(dir.path());
    let evidence = Arc::new(service(ports.clone()));
    let key = EvidenceKey::new("test", [7; 32]).unwrap();
    let shutdown = CancellationToken::new();
    let log = EvidenceLogService::new(ports, shutdown, Arc::clone(&evidence), key, None);
    let caller = Caller::local().unwrap();
    let at = Timestamp::parse("2026-04-14T12:00:00Z").unwrap();
    for number in 1..=2 {
        let record = sample::evidence("local", number, at).unwrap();
        evidence.keep(&caller.tenant, &[record]).await.unwrap();
    }
    let checkpoint = log.checkpoint(&caller).await.unwrap();
    assert_eq!(checkpoint.size, 2);
    let grown = log.consistency(&caller, 1, 2).await.unwrap();
    assert_eq!(grown.to.root, checkpoint.root);
    let refused = log.consistency(&caller, 1, 3).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidRequest);
    let mut export = log.export(&caller, EvidenceQuery::default()).await.unwrap();
    let mut lines = 0;
    while let Some(text) = log.next_lines(&mut export).await.unwrap() {
        lines += text.lines().count();
    }
    assert_eq!(lines, 3);
}
