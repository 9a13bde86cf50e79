//! Approvals of runs, as their driver and their readers need them. People's decisions are in [`decide`], and the plans
//! that wait for a confirmation in [`confirmations`].

mod confirmations;
mod decide;
mod escalate;

use std::collections::BTreeSet;
use std::sync::Arc;

use charter_contract::catalogue::evidence::EvidenceRecord;
use charter_contract::catalogue::playbook::SafetyClass;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, RunId, StepId, TenantId, UserId};
use charter_contract::json::{decode_stored, to_stored};
use charter_domain::approval::{Approval, ApprovalStatus, ExactCall};
use charter_domain::clock::Clock;
use charter_domain::gate::RuleResult;
use charter_domain::run::{ApprovalRequest, Run};
use charter_store::approval::{
    ApprovalChange, ApprovalFilter, ApprovalRecord, ApprovalState, ApprovalTransition,
    ListedApproval,
};
use charter_store::page::{MAX_PAGE, PageRequest};
use charter_store::{SharedStore, StoreError};

use super::Workspace;
use crate::execution::events;
use crate::execution::events::ApprovalEventRef;
use crate::ground::settings::ApproverGroup;
use crate::identity::keys::KeyService;
use crate::{Caller, EngineError};

pub use confirmations::PendingConfirmation;
pub(crate) use decide::ApprovalParts;
pub use decide::{ApprovalDecision, ApprovalEntry, ApprovalPage, ApprovalService};

/// Approvals read at once.
const PAGE: usize = 1_000;

/// Attempts to change an approval that others change at the same time. Each failed one means that another succeeded.
const CHANGES: usize = 16;

/// The approvals of runs.
pub(crate) struct RunApprovals {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    keys: Arc<KeyService>,
    groups: Vec<ApproverGroup>,
}

impl RunApprovals {
    pub(crate) fn new(
        store: SharedStore,
        clock: Arc<dyn Clock>,
        keys: Arc<KeyService>,
        groups: Vec<ApproverGroup>,
    ) -> Self {
        Self {
            store,
            clock,
            keys,
            groups,
        }
    }

    /// Returns an approval, without a check of access.
    pub(super) async fn get(
        &self,
        tenant: &TenantId,
        approval: &ApprovalId,
    ) -> Result<Approval, EngineError> {
        read(&self.listed(tenant, approval).await?.record)
    }

    async fn listed(
        &self,
        tenant: &TenantId,
        approval: &ApprovalId,
    ) -> Result<ListedApproval, EngineError> {
        let found = self.store.approval(tenant, approval).await?;
        found.ok_or_else(|| EngineError::not_found("approval", approval))
    }

    /// Returns the approvals of a run that are neither used nor refused.
    pub(super) async fn open(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Vec<Approval>, EngineError> {
        let mut open = Vec::new();
        for state in [ApprovalState::Pending, ApprovalState::Approved] {
            let filter = ApprovalFilter {
                state: Some(state),
                run_id: Some(run),
                user_id: None,
            };
            let mut page = PageRequest::new(None, PAGE);
            loop {
                let found = self.store.approvals(tenant, filter, &page).await?;
                for approval in &found.entries {
                    open.push(read(&approval.record)?);
                }
                let Some(next) = found.next else {
                    break;
                };
                page = PageRequest::new(Some(next), PAGE);
            }
        }
        Ok(open)
    }

    /// Returns all approvals of a run that are visible to the caller, oldest first.
    pub(super) async fn of_run(
        &self,
        caller: &Caller,
        run: &RunId,
    ) -> Result<Vec<Approval>, EngineError> {
        let filter = ApprovalFilter {
            state: None,
            run_id: Some(run),
            user_id: caller.only_own(),
        };
        let mut all = Vec::new();
        let mut page = PageRequest::new(None, MAX_PAGE);
        loop {
            let found = self.store.approvals(&caller.tenant, filter, &page).await?;
            for approval in &found.entries {
                all.push(read(&approval.record)?);
            }
            match found.next {
                Some(next) => page = PageRequest::new(Some(next), MAX_PAGE),
                None => break,
            }
        }
        all.reverse();
        Ok(all)
    }

    /// Records the decision on an approval that follows from the confirmation of its run's plan. If another decision
    /// came first, that one counts.
    pub(super) async fn decide_as_confirmed(
        &self,
        owner: &UserId,
        approval: &Approval,
        state: ApprovalStatus,
        record: Option<EvidenceRecord>,
    ) -> Result<(), EngineError> {
        let said = ApprovalEventRef {
            approval_id: approval.approval_id.clone(),
            run_id: approval.call.run_id.clone(),
        };
        let (tenant, word, at) = (&approval.tenant_id, state.word(), self.clock.now());
        for _ in 0..CHANGES {
            let found = self.listed(tenant, &approval.approval_id).await?;
            let current = read(&found.record)?;
            if current.state != ApprovalStatus::Pending {
                return Ok(());
            }
            let told = events::about_approval(tenant, Some(owner), &said, word, at);
            let change = moved_from(found.record.body, &current, state.clone())?;
            let records = record.clone().into_iter().collect();
            let decided = self
                .store
                .decide_approval(tenant, change, records, vec![told]);
            match decided.await {
                Ok(()) => return Ok(()),
                // The approval was decided, or handed on, in between.
                Err(StoreError::Refused { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Returns the changes that lapse a run's open approvals, when no decision is needed any more.
    pub(super) async fn lapsing(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Vec<ApprovalChange>, EngineError> {
        let open = self.open(tenant, run).await?;
        let lapse = |approval| moved(approval, ApprovalStatus::Lapsed).map(ApprovalChange::Move);
        open.iter().map(lapse).collect()
    }

    /// Builds the approval that a run requests for a call, or for a list of calls with one approval id; `None` for an
    /// empty list.
    pub(super) fn requested(
        &self,
        workspace: &Workspace,
        run: &Run,
        list: &[ApprovalRequest],
    ) -> Option<Approval> {
        let asked = list.first()?;
        let calls: Vec<&ExactCall> = list.iter().map(|asked| &asked.call).collect();
        let mut rules: Vec<RuleResult> = Vec::new();
        for rule in list.iter().flat_map(|asked| asked.policy_decision.rules()) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        let requesters = list.iter().flat_map(|asked| {
            let requesters = run.requesters().of_step(&asked.step, run.graph());
            requesters.into_iter()
        });
        let destructive = workspace
            .playbook
            .as_ref()
            .is_some_and(|(_, class)| *class == SafetyClass::Destructive);
        let listed: BTreeSet<&StepId> = list.iter().map(|asked| &asked.step).collect();
        let is_plan = run.lists_all_writes(&listed);
        let requested_at = self.clock.now();
        let tenant = &workspace.tenant;
        Some(Approval {
            approval_id: asked.approval.clone(),
            tenant_id: tenant.clone(),
            digest: ExactCall::digest_of_list(&calls),
            call: asked.call.clone(),
            list: match calls.as_slice() {
                [_] => Vec::new(),
                several => several.iter().map(|call| (*call).clone()).collect(),
            },
            destructive,
            plan_digest: is_plan.then(|| run.unconfirmed_plan()).flatten(),
            rules,
            requested_by: run.by().clone(),
            requesters: requesters.collect(),
            requested_at,
            expires_at: asked.expires_at,
            four_eyes: destructive || self.keys.four_eyes(),
            escalation: self.escalation(tenant, requested_at, asked.expires_at),
            state: ApprovalStatus::Pending,
        })
    }
}

fn read(record: &ApprovalRecord) -> Result<Approval, EngineError> {
    decode_stored(&record.body).map_err(|error| EngineError::internal("reading an approval", error))
}

fn body(approval: &Approval) -> Result<String, EngineError> {
    to_stored(approval).map_err(|error| EngineError::internal("writing an approval", error))
}

/// Returns the stored form of a new approval.
pub(crate) fn record(approval: &Approval) -> Result<ApprovalRecord, EngineError> {
    Ok(ApprovalRecord {
        approval_id: approval.approval_id.clone(),
        tenant_id: approval.tenant_id.clone(),
        run_id: approval.call.run_id.clone(),
        state: stored(&approval.state),
        requested_at: approval.requested_at,
        expires_at: approval.expires_at,
        body: body(approval)?,
    })
}

/// Returns the stored form of an approval's transition to another state.
pub(crate) fn moved(
    approval: &Approval,
    state: ApprovalStatus,
) -> Result<ApprovalTransition, EngineError> {
    let after = Approval {
        state,
        ..approval.clone()
    };
    Ok(ApprovalTransition {
        approval_id: approval.approval_id.clone(),
        from: stored(&approval.state),
        to: stored(&after.state),
        expected_body: None,
        body: body(&after)?,
    })
}

/// Returns [`moved`], for as long as the stored approval has the body that it was read from.
fn moved_from(
    read: String,
    approval: &Approval,
    state: ApprovalStatus,
) -> Result<ApprovalTransition, EngineError> {
    Ok(ApprovalTransition {
        expected_body: Some(read),
        ..moved(approval, state)?
    })
}

/// The error for an approval that others changed at every attempt.
fn conflict() -> EngineError {
    let message = "conflict: the approval was changed at the same time; read it again";
    EngineError::new(ErrorCode::IllegalTransition, message)
}

fn stored(state: &ApprovalStatus) -> ApprovalState {
    match state {
        ApprovalStatus::Pending => ApprovalState::Pending,
        ApprovalStatus::Approved(_) => ApprovalState::Approved,
        ApprovalStatus::Rejected(_) => ApprovalState::Rejected,
        ApprovalStatus::Consumed(_) => ApprovalState::Consumed,
        ApprovalStatus::Lapsed => ApprovalState::Lapsed,
    }
}
