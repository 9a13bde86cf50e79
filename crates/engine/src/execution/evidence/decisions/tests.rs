//! Records of decisions, without runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::ids::{ApprovalId, RunId, StepId, TenantId, ToolId, UserId};
use charter_contract::text::HttpsUrl;
use charter_contract::time::Timestamp;
use charter_domain::approval::{ApprovalAgreement, ExactCall, ReportedResult};
use tokio_util::sync::CancellationToken;

use super::super::EvidencePages;
use super::super::tests::{ports, service};
use super::*;
use crate::engine::tests::NoTools;
use crate::ground::confined::Computations;

fn approval() -> Approval {
    let call = ExactCall {
        run_id: RunId::from_uuid(Uuid::from_u128(1)),
        step: StepId::parse("step_2").unwrap(),
        tool: ToolId::parse("aws.lock_security_group").unwrap(),
        tool_hash: "sha256:aa".to_owned(),
        parameters: Map::from_iter([("group".to_owned(), json!("sg-1"))]),
    };
    let at = |text: &str| Timestamp::parse(text).unwrap();
    Approval {
        approval_id: ApprovalId::from_uuid(Uuid::from_u128(2)),
        tenant_id: TenantId::parse("acme").unwrap(),
        digest: call.digest(),
        call,
        list: Vec::new(),
        destructive: false,
        plan_digest: None,
        rules: Vec::new(),
        requested_by: UserId::parse("uma").unwrap(),
        requesters: Default::default(),
        requested_at: at("2026-04-14T12:00:00Z"),
        expires_at: at("2026-04-15T12:00:00Z"),
        four_eyes: true,
        escalation: Default::default(),
        state: ApprovalStatus::Pending,
    }
}

fn decided() -> DecisionRecord {
    DecisionRecord {
        by: UserId::parse("ann").unwrap(),
        makers: Default::default(),
        at: Timestamp::parse("2026-04-14T12:30:00Z").unwrap(),
        reason: Some("agreed".to_owned()),
    }
}

fn agreed(reported_result: Option<ReportedResult>) -> ApprovalStatus {
    ApprovalStatus::Approved(ApprovalAgreement {
        decided: decided(),
        reported_result,
        remainder: None,
    })
}

/// Each decision is one record of its run, and links to the approval.
#[tokio::test]
async fn b000_19_a_decision_is_an_approval_record() {
    let dir = tempfile::tempdir().unwrap();
    let public = HttpsUrl::parse("https://charter.example").unwrap();
    let pages = EvidencePages::new(Some(public), BTreeMap::new());
    let computations = Computations::new(Arc::new(NoTools), CancellationToken::new());
    let evidence = EvidenceService::new(ports(dir.path()), Arc::new(computations), pages);
    let approval = approval();
    let reported = ReportedResult {
        output: json!({"locked": true}),
    };
    for (state, decision, words) in [
        (agreed(None), "approved", "`ann` approved the call"),
        (
            agreed(Some(reported)),
            "reported",
            "`ann` reported the result of the call",
        ),
        (
            ApprovalStatus::Rejected(decided()),
            "rejected",
            "`ann` rejected the call",
        ),
    ] {
        let record = evidence.of_decision(&approval, &state).unwrap().unwrap();
        assert_eq!(record.evidence_type, EvidenceType::ApprovalRecord);
        assert!(record.id.is_derived());
        assert!(
            record.summary.as_str().starts_with(words),
            "{}",
            record.summary
        );
        let href = record.console_links[0].href.as_str();
        let page = format!(
            "https://charter.example/console/approvals/{}",
            approval.approval_id
        );
        assert_eq!(href, page);
        let run = record.attached_to[0].run_id.as_ref().unwrap();
        assert_eq!(run.as_str(), approval.call.run_id.as_str());
        let shown = [
            "decision",
            "by",
            "reason",
            "digest",
            "requested_by",
            "tool_id",
        ];
        let shown = shown.map(|field| record.payload[field].clone());
        let expected = json!([
            decision,
            "ann",
            "agreed",
            approval.digest,
            "uma",
            "aws.lock_security_group",
        ]);
        assert_eq!(json!(shown), expected);
        assert_eq!(record.payload["parameters"], json!({"group": "sg-1"}));
    }
    let undecided = evidence.of_decision(&approval, &ApprovalStatus::Lapsed);
    assert!(undecided.unwrap().is_none());
}

/// A record needs a page that shows its subject.
#[tokio::test]
async fn a_decision_leaves_no_record_without_a_public_address() {
    let dir = tempfile::tempdir().unwrap();
    let evidence = service(ports(dir.path()));
    let record = evidence.of_decision(&approval(), &agreed(None)).unwrap();
    assert!(record.is_none());
}
