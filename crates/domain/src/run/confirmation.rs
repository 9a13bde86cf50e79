//! The confirmation of a plan, and the approvals that it decides: where four eyes are off, a user who may decide on
//! approvals approves the calls of exactly the plan that they confirm. Knows neither stored approvals nor runs.

use charter_contract::time::Timestamp;

use super::event::RunEvent;
use crate::approval::{Approval, ApprovalAnswer, ApprovalVerdict, Digest};
use crate::gate::RuleKind;
use crate::graph::StepGraph;
use crate::person::CredentialUser;

/// A confirmation of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlanConfirmation {
    by: CredentialUser,
    /// The digest of the plan.
    digest: Digest,
    at: Timestamp,
    /// Whether the user could decide on approvals.
    pub(super) approves: bool,
}

impl PlanConfirmation {
    /// Returns the confirmation of an event, if it is one.
    pub(super) fn of_event(event: &RunEvent, at: Timestamp) -> Option<Self> {
        let RunEvent::Confirmed {
            by,
            makers,
            digest,
            approves,
        } = event
        else {
            return None;
        };
        Some(Self {
            by: CredentialUser {
                user: by.clone(),
                makers: makers.clone(),
            },
            digest: digest.clone(),
            at,
            approves: *approves,
        })
    }

    /// Returns the verdict of the user on an approval that the confirmation also decides: the plan determines all its
    /// calls, and only the plan and its tools require the approval. Four eyes, a guardrail and a repeat need a decision
    /// on the call itself, and so does an approval that is requested during the turn of a group without the user.
    ///
    /// A confirmation counts for as long as an approval, so that a call whose approval has lapsed needs a new decision.
    pub(super) fn verdict(
        &self,
        graph: &StepGraph,
        approval: &Approval,
        now: Timestamp,
    ) -> Option<ApprovalVerdict> {
        let (mut rules, mut calls) = (approval.rules.iter(), approval.calls().iter());
        let is_decided = self.approves
            && !approval.four_eyes
            && rules.all(|rule| matches!(rule.kind, RuleKind::Safety | RuleKind::Tool))
            && approval
                .escalation
                .admits(&self.by.user, approval.requested_at)
            && !self.has_lapsed(approval, now)
            && calls.all(|call| graph.determines_call_of(&call.step));
        is_decided.then(|| ApprovalVerdict {
            answer: ApprovalAnswer::Approve,
            by: self.by.clone(),
            digest: approval.digest.clone(),
            reason: Some(format!("confirmed the plan {}", self.digest)),
        })
    }

    /// Returns whether an approval as long as this one would have lapsed since the confirmation.
    fn has_lapsed(&self, approval: &Approval, now: Timestamp) -> bool {
        let (start, end) = (approval.requested_at, approval.expires_at);
        let length = end.as_micros().saturating_sub(start.as_micros());
        now.as_micros() >= self.at.as_micros().saturating_add(length)
    }
}
