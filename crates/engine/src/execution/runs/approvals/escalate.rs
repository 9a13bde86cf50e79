//! Approvals that go to the next group of approvers: after a set time, or because a member hands them on.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_domain::approval::{Approval, ApprovalStatus, Escalation, EscalationStep};
use charter_store::StoreError;
use charter_store::approval::ApprovalState;

use super::{ApprovalService, RunApprovals, moved, read};
use crate::execution::events::{self, ApprovalEventRef};
use crate::ground::moments;
use crate::{AccessScope, Caller, EngineError, Role};

/// The topic's word for an approval that goes to the next group.
const ESCALATED: &str = "escalated";

impl RunApprovals {
    /// Returns the groups that an approval of a tenant goes to, with the times of their turns.
    pub(super) fn escalation(
        &self,
        tenant: &TenantId,
        at: Timestamp,
        expires_at: Timestamp,
    ) -> Escalation {
        let mut from = at;
        let mut steps = Vec::new();
        for group in &self.groups {
            if group.tenant.as_ref().is_some_and(|of| of != tenant) {
                continue;
            }
            if from >= expires_at {
                break;
            }
            steps.push(EscalationStep {
                group: group.name.clone(),
                users: group.users.clone(),
                from,
            });
            from = moments::after(from, group.answers_within);
        }
        // The request itself announces the first turn.
        let announced = steps.len().min(1);
        Escalation { steps, announced }
    }

    /// Announces the turns of groups that have begun. Returns when the next turn begins.
    pub(in crate::execution::runs) async fn announce_turns(
        &self,
        owner: &UserId,
        approval: &Approval,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, EngineError> {
        if approval.state != ApprovalStatus::Pending {
            return Ok(None);
        }
        let Some(after) = approval.escalated(now) else {
            return Ok(approval.escalation.next_turn());
        };
        // If a decision came first, no turn follows that matters.
        self.write_escalation(Some(owner), &after).await?;
        Ok(after.escalation.next_turn())
    }

    /// Stores an approval whose turn went to the next group, and announces it. Returns whether it was still pending.
    async fn write_escalation(
        &self,
        owner: Option<&UserId>,
        after: &Approval,
    ) -> Result<bool, EngineError> {
        let change = moved(after, ApprovalStatus::Pending)?;
        let said = ApprovalEventRef {
            approval_id: after.approval_id.clone(),
            run_id: after.call.run_id.clone(),
        };
        let at = self.clock.now();
        let told = events::about_approval(&after.tenant_id, owner, &said, ESCALATED, at);
        let escalated =
            self.store
                .decide_approval(&after.tenant_id, change, Vec::new(), vec![told]);
        match escalated.await {
            Ok(()) => Ok(true),
            Err(StoreError::Refused { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl ApprovalService {
    /// Hands a pending approval on to the next group, whose turn begins at once.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for callers who may not decide on it now; `illegal_transition` if it is decided,
    /// or no group follows.
    pub async fn hand_on(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
    ) -> Result<Approval, EngineError> {
        caller.must_open(AccessScope::ApprovalsWrite)?;
        caller.must_be(Role::Operator, "only operators can hand approvals on")?;
        let approvals = &self.parts.approvals;
        let found = approvals.listed(&caller.tenant, approval).await?;
        let asked = read(&found.record)?;
        let illegal = |message: String| EngineError::new(ErrorCode::IllegalTransition, message);
        if found.record.state != ApprovalState::Pending {
            let state = asked.state.word();
            return Err(illegal(format!("the approval is already {state}")));
        }
        let now = self.clock.now();
        if !asked.escalation.admits(&caller.user, now) {
            let message = "only a member of a group whose turn has come can hand the approval on";
            return Err(EngineError::new(ErrorCode::PermissionDenied, message));
        }
        let Some(after) = asked.handed_on(now) else {
            return Err(illegal("no group of approvers follows".to_owned()));
        };
        let owner = found.user_id.as_ref();
        if !approvals.write_escalation(owner, &after).await? {
            let message = "conflict: a decision on the approval came first".to_owned();
            return Err(illegal(message));
        }
        self.parts.news.notify_waiters();
        Ok(after)
    }
}
