//! Evidence of Charter's own approvals: one `approval_record` for each decision of a person, written in the transaction
//! of the decision.

use charter_contract::catalogue::evidence::{
    Attachment, EvidenceRecord, EvidenceSchemaVersion, EvidenceSource, EvidenceType,
};
use charter_contract::ids::{EvidenceId, EvidenceRunId, IdError, Label};
use charter_contract::text::Text;
use charter_domain::approval::{Approval, ApprovalStatus, DecisionRecord, ListRemainder};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::submit::link_to;
use super::{EvidenceService, is_held_whole, sha256};
use crate::EngineError;

/// The system of Charter's own approvals.
const APPROVALS: &str = "charter.approvals";

/// A decision, with the word for its answer.
struct Decision<'d> {
    word: &'static str,
    decided: &'d DecisionRecord,
    /// The output of the call that the person reported.
    reported: Option<&'d Value>,
    /// The approved part of a list, if not all of it.
    remainder: Option<&'d ListRemainder>,
}

impl EvidenceService {
    /// Returns the record of the decision that put an approval into `state`. `None` without a decision, and if this
    /// server has no public https address, because then no page shows it (B000-19).
    pub(in crate::execution) fn of_decision(
        &self,
        approval: &Approval,
        state: &ApprovalStatus,
    ) -> Result<Option<EvidenceRecord>, EngineError> {
        let page = self.pages.approval_page(&approval.approval_id);
        let (Some(decision), Some(page)) = (decision_of(state), page) else {
            return Ok(None);
        };
        let link = link_to(&page)?;
        let named = |error: IdError| EngineError::internal("recording a decision", error);
        let call = &approval.call;
        let name = format!("{APPROVALS}/{}", approval.approval_id);
        let by = &decision.decided.by;
        let summary = match approval.list.len() {
            0 => format!(
                "`{by}` {} the call of `{}` in the step `{}` of the run `{}`.",
                decision.word, call.tool, call.step, call.run_id
            ),
            all => {
                let excluded = decision.remainder.map_or(0, |left| left.excluded.len());
                format!(
                    "`{by}` {} {} of {all} calls of the run `{}`.",
                    decision.word,
                    all.saturating_sub(excluded),
                    call.run_id
                )
            }
        };
        Ok(Some(EvidenceRecord {
            id: EvidenceId::derived(Uuid::new_v5(&call.run_id.uuid(), name.as_bytes())),
            schema_version: EvidenceSchemaVersion,
            created_at: Some(decision.decided.at),
            evidence_type: EvidenceType::ApprovalRecord,
            captured_at: decision.decided.at,
            estate_view_id: None,
            source: EvidenceSource {
                system: Label::parse(APPROVALS).map_err(named)?,
                region: None,
                account_id: None,
                tenant_id: None,
                native_id: Text::parse(approval.approval_id.as_str()).map_err(named)?,
                api_call: None,
            },
            console_links: vec![link],
            payload: payload(approval, &decision),
            payload_absent: None,
            summary: Text::parse(&summary).map_err(named)?,
            attached_to: vec![Attachment {
                run_id: EvidenceRunId::parse(call.run_id.as_ref()).ok(),
                ..Attachment::default()
            }],
            tenant_id: approval.tenant_id.clone(),
            redaction_class: None,
            receipt: None,
        }))
    }
}

fn decision_of(state: &ApprovalStatus) -> Option<Decision<'_>> {
    match state {
        ApprovalStatus::Approved(agreed) | ApprovalStatus::Consumed(agreed) => {
            let reported = agreed.reported_result.as_ref();
            Some(Decision {
                word: reported.map_or("approved", |_| "reported the result of"),
                decided: &agreed.decided,
                reported: reported.map(|reported| &reported.output),
                remainder: agreed.remainder.as_ref(),
            })
        }
        ApprovalStatus::Rejected(decided) => Some(Decision {
            word: "rejected",
            decided,
            reported: None,
            remainder: None,
        }),
        ApprovalStatus::Pending | ApprovalStatus::Lapsed => None,
    }
}

fn payload(approval: &Approval, decision: &Decision<'_>) -> Map<String, Value> {
    let call = &approval.call;
    let state = match (decision.word, decision.reported) {
        (_, Some(_)) => "reported",
        (word, None) => word,
    };
    let fields = json!({
        "approval_id": approval.approval_id, "decision": state, "by": decision.decided.by,
        "makers": decision.decided.makers, "reason": decision.decided.reason,
        "digest": approval.digest, "rules": approval.rules, "four_eyes": approval.four_eyes,
        "requested_by": approval.requested_by, "requested_at": approval.requested_at,
        "tool_id": call.tool, "tool_hash": call.tool_hash,
        "run": {"run_id": call.run_id, "step": call.step},
    });
    let mut payload = match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    if !approval.list.is_empty() {
        let calls = approval.list.iter();
        let calls = calls.map(|call| json!({"step": call.step, "digest": call.digest()}));
        payload.insert("calls".to_owned(), calls.collect());
    }
    if let Some(plan) = &approval.plan_digest {
        payload.insert("plan_digest".to_owned(), json!(plan));
    }
    if let Some(remainder) = decision.remainder {
        payload.insert("excluded".to_owned(), json!(remainder.excluded));
        payload.insert("approved_digest".to_owned(), json!(remainder.digest));
    }
    let parameters = json!(call.parameters);
    if is_held_whole(&parameters) {
        payload.insert("parameters".to_owned(), parameters);
    } else {
        payload.insert("parameters_sha256".to_owned(), json!(sha256(&parameters)));
    }
    if let Some(output) = decision.reported {
        payload.insert("reported_output_sha256".to_owned(), json!(sha256(output)));
    }
    payload
}

#[cfg(test)]
mod tests;
