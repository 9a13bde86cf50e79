//! Approvals that go to the next group of approvers: after a set time, or because a member hands them on.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_domain::approval::{
    Approval, ApprovalStatus, DecisionRefusal, Escalation, EscalationStep,
};
use charter_store::StoreError;
use charter_store::approval::{ApprovalState, ListedApproval};

use super::decide::refused;
use super::{ApprovalService, CHANGES, RunApprovals, conflict, moved_from, read};
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
        if approval.escalated(now).is_none() {
            return Ok(approval.escalation.next_turn());
        }
        for _ in 0..CHANGES {
            let (tenant, id) = (&approval.tenant_id, &approval.approval_id);
            let found = self.listed(tenant, id).await?;
            let current = read(&found.record)?;
            // If a decision came first, no turn follows that matters.
            if current.state != ApprovalStatus::Pending {
                return Ok(None);
            }
            // A member handed it on meanwhile.
            let Some(after) = current.escalated(now) else {
                return Ok(current.escalation.next_turn());
            };
            let body = found.record.body;
            if self.write_escalation(Some(owner), body, &after).await? {
                return Ok(after.escalation.next_turn());
            }
        }
        // The driver announces the turn when it wakes next, which is at once.
        Ok(approval.escalation.next_turn())
    }

    /// Stores an approval whose turn went to the next group, and announces it. Returns `false`, and writes nothing, if
    /// the stored approval no longer has the body that it was read from.
    async fn write_escalation(
        &self,
        owner: Option<&UserId>,
        body: String,
        after: &Approval,
    ) -> Result<bool, EngineError> {
        let change = moved_from(body, after, ApprovalStatus::Pending)?;
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
    /// or no group follows; `approval_expired` after its time.
    pub async fn hand_on(
        &self,
        caller: &Caller,
        approval: &ApprovalId,
    ) -> Result<Approval, EngineError> {
        caller.must_open(AccessScope::ApprovalsWrite)?;
        caller.must_be(Role::Operator, "only operators can hand approvals on")?;
        let approvals = &self.parts.approvals;
        for _ in 0..CHANGES {
            let found = approvals.listed(&caller.tenant, approval).await?;
            let after = self.handed_on(caller, &found)?;
            let (owner, body) = (found.user_id.as_ref(), found.record.body);
            if approvals.write_escalation(owner, body, &after).await? {
                self.parts.news.notify_waiters();
                return Ok(after);
            }
        }
        Err(conflict())
    }

    /// Returns a stored approval after the caller handed it on.
    fn handed_on(&self, caller: &Caller, found: &ListedApproval) -> Result<Approval, EngineError> {
        let asked = read(&found.record)?;
        let illegal = |message: String| EngineError::new(ErrorCode::IllegalTransition, message);
        if found.record.state != ApprovalState::Pending {
            let state = asked.state.word();
            return Err(illegal(format!("the approval is already {state}")));
        }
        let now = self.parts.deadlines.now_or_deadline(asked.expires_at);
        if now >= asked.expires_at {
            return Err(refused(&DecisionRefusal::Expired(asked.expires_at)));
        }
        if !asked.escalation.admits(&caller.user, now) {
            let message = "only a member of a group whose turn has come can hand the approval on";
            return Err(EngineError::new(ErrorCode::PermissionDenied, message));
        }
        let after = asked.handed_on(now);
        after.ok_or_else(|| illegal("no group of approvers follows".to_owned()))
    }
}
