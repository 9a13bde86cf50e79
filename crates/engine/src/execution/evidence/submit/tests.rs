//! Submitted evidence, without the server.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::catalogue::evidence::AbsenceReason;
use charter_testkit::store_suite::sample;
use tokio_util::sync::CancellationToken;

use super::super::EvidencePages;
use super::super::tests::ports;
use super::*;
use crate::engine::tests::NoTools;
use crate::ground::confined::Computations;
use crate::identity::caller::tests::caller;

/// The service of an installation with a public address and a page for `github`.
fn service(dir: &std::path::Path) -> EvidenceService {
    let page = json!({"label": "View it in GitHub", "href": "https://github.com/${native_id}"});
    let page = ConsolePage::deserialize(&page).unwrap();
    let systems = BTreeMap::from([(Label::parse("github").unwrap(), page)]);
    let public = HttpsUrl::parse("https://charter.example/").unwrap();
    let computations = Computations::new(Arc::new(NoTools), CancellationToken::new());
    let pages = EvidencePages::new(Some(public), systems);
    EvidenceService::new(ports(dir), Arc::new(computations), pages)
}

fn pull_request(changed: &Value) -> EvidenceSubmission {
    let mut record = json!({
        "id": "ev_pr-12", "type": "pr_record", "captured_at": "2025-05-13T09:14:22Z",
        "source": {"system": "github", "native_id": "acme/shop/pull/12"},
        "console_links": [{"label": "Elsewhere", "href": "https://evil.example/"}],
        "payload": {"merged": true}, "summary": "The change was merged.",
    });
    let fields = changed.as_object().unwrap().clone();
    record.as_object_mut().unwrap().extend(fields);
    EvidenceSubmission::deserialize(&record).unwrap()
}

fn hrefs(record: &EvidenceRecord) -> Vec<&str> {
    let links = record.console_links.iter();
    links.map(|link| link.href.as_str()).collect()
}

/// The links are the operator's, the receipt is the server's, and both an id and a record stay as they are.
#[tokio::test]
async fn b000_19_a_submitted_record_has_the_servers_links_and_receipt() {
    let dir = tempfile::tempdir().unwrap();
    let evidence = service(dir.path());
    let ann = caller("ann", Role::Operator);
    let sent = pull_request(&json!({}));
    let record = evidence.submit(&ann, sent.clone()).await.unwrap();
    assert_eq!(hrefs(&record), ["https://github.com/acme/shop/pull/12"]);
    let receipt = record.receipt.clone().unwrap();
    assert_eq!(receipt.submitted_by, ann.user);
    assert_eq!(record.created_at, Some(receipt.received_at));
    assert_eq!(record.tenant_id, ann.tenant);
    assert_eq!(evidence.get(&ann, &record.id).await.unwrap(), record);
    let again = evidence.submit(&ann, sent).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::AlreadyExists);
}

#[tokio::test]
async fn a_note_links_to_its_page_in_charter() {
    let dir = tempfile::tempdir().unwrap();
    let evidence = service(dir.path());
    let uma = caller("uma", Role::User);
    let note = json!({
        "type": "manual_note", "captured_at": "2025-05-13T09:14:22Z", "summary": "The owner agreed by phone.",
    });
    let note = EvidenceSubmission::deserialize(&note).unwrap();
    let record = evidence.submit(&uma, note.clone()).await.unwrap();
    let page = format!("https://charter.example/console/evidence/{}", record.id);
    assert_eq!(hrefs(&record), [page]);
    assert_eq!(record.source.system.as_str(), "charter.notes");
    assert_eq!(evidence.get(&uma, &record.id).await.unwrap(), record);
    let other = evidence.get(&caller("eve", Role::User), &record.id).await;
    assert_eq!(other.unwrap_err().code, ErrorCode::NotFound);
    // Without an address of its own, Charter has no page for it.
    let elsewhere = tempfile::tempdir().unwrap();
    let unshown = super::super::tests::service(ports(elsewhere.path()));
    let refused = unshown.submit(&uma, note).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidDocument);
    assert!(refused.message.contains("a2a.public_url"), "{refused}");
}

/// Each part that the submitter may not decide is refused with its pointer or reason.
#[tokio::test]
async fn a_submission_beyond_its_callers_rights_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let evidence = service(dir.path());
    let (ann, uma) = (caller("ann", Role::Operator), caller("uma", Role::User));
    for (changed, code, part) in [
        (
            json!({"tenant_id": "umbra"}),
            ErrorCode::InvalidDocument,
            "/tenant_id",
        ),
        (
            json!({"captured_at": "9999-01-01T00:00:00Z"}),
            ErrorCode::InvalidDocument,
            "/captured_at",
        ),
        (
            json!({"source": {"system": "gitlab", "native_id": "1"}}),
            ErrorCode::InvalidDocument,
            "evidence.pages.\"gitlab\"",
        ),
        (
            json!({"source": {"system": "charter.approvals", "native_id": "1"}}),
            ErrorCode::InvalidDocument,
            "/source/system",
        ),
        (
            json!({"payload": {"text": "x".repeat(MAX_PAYLOAD)}}),
            ErrorCode::TooLarge,
            "payload",
        ),
    ] {
        let refused = evidence.submit(&ann, pull_request(&changed)).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, code, "{refused}");
        assert!(refused.message.contains(part), "{refused}");
    }
    let attached = |to: Value| pull_request(&json!({"attached_to": [to]}));
    let finding = evidence.submit(&uma, attached(json!({"finding_id": "f"})));
    let refused = finding.await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::PermissionDenied);
    let run = json!({"run_id": sample::run(1)});
    let refused = evidence.submit(&uma, attached(run)).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotFound);
}

#[tokio::test]
async fn a_submitters_level_decides_about_the_payload() {
    let dir = tempfile::tempdir().unwrap();
    let evidence = service(dir.path());
    let uma = caller("uma", Role::User);
    let sent = pull_request(&json!({"redaction_class": "secret"}));
    let record = evidence.submit(&uma, sent).await.unwrap();
    let absent = record.payload_absent.map(|absent| absent.reason);
    assert_eq!(absent, Some(AbsenceReason::Withheld));
    let admin = caller("ada", Role::Admin);
    let read = evidence.get(&admin, &record.id).await.unwrap();
    assert_eq!(json!(read.payload), json!({"merged": true}));
}
