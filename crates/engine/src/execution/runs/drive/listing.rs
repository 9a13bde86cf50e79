//! The list of calls that a run requests approval for: those that may begin, and the later ones that are known already.

use std::collections::BTreeSet;

use charter_contract::bounds::{APPROVAL_CALLS, LARGE_OUTPUT};
use charter_contract::ids::{ApprovalId, StepId};
use charter_contract::json::memory_of_fields;
use charter_contract::time::Timestamp;
use charter_domain::gate::{GateDecision, RuleKind};
use charter_domain::graph::AfterFailure;
use charter_domain::run::{ApprovalRequest, Command, RunEvent, StepStart, StepState};
use charter_store::approval::ApprovalChange;

use super::{RunDriver, decided};
use crate::EngineError;
use crate::execution::runs::approvals;
use crate::execution::runs::effect::{Preparation, Prepared};
use crate::ground::moments;

impl RunDriver<'_> {
    /// Returns whether a call waits for an approval that is requested in a list. The question whether to repeat an
    /// interrupted call, and a mission's proposal, are decided alone.
    pub(super) fn is_listed(&self, prepared: &Prepared, at: Timestamp) -> bool {
        let decision = prepared.decision();
        let asks = matches!(decision, GateDecision::NeedsApproval { .. });
        let repeats = decision
            .rules()
            .iter()
            .any(|rule| rule.kind == RuleKind::Interrupted);
        let steps = self.folded.run.steps();
        asks && !repeats
            && self.pinned.workspace.desk.is_none()
            && !steps.permits(prepared.call(), decision, at)
    }

    /// Returns the steps that do not begin now although they may: their approval is requested when the other steps have
    /// ended, because these may add calls to the list.
    pub(super) fn postponed(&mut self, is_busy: bool) -> BTreeSet<StepId> {
        if !is_busy && !self.retries() {
            self.postponed.clear();
        }
        self.postponed.clone()
    }

    /// Returns whether a step waits for its next attempt.
    pub(super) fn retries(&self) -> bool {
        let mut states = self.folded.run.steps().states();
        states.any(|(_, state)| match state {
            StepState::Retrying { due } => !self.runs.deadlines.is_due(*due),
            _ => false,
        })
    }

    /// Requests one approval for these calls and for the later ones whose arguments are known. A later call that the
    /// gate denies, and without which the run fails, is refused instead: approving the others would be in vain.
    pub(super) async fn request_list(
        &mut self,
        mut asking: Vec<Prepared>,
    ) -> Result<(), EngineError> {
        if asking.is_empty() {
            return Ok(());
        }
        let at = self.runs.clock.now();
        let mut memory: usize = 0;
        for step in self.folded.run.askable_ahead() {
            let place = self.evaluation_slot(&step).await;
            let prepared = place.ask(|| self.pinned.workspace.prepare(&self.folded.run, &step, at));
            let Ok(Preparation::Effect(prepared)) = prepared else {
                continue;
            };
            let decision = prepared.decision().clone();
            if matches!(decision, GateDecision::Deny { .. }) && self.is_required(&step) {
                return self.decide_step_start(&prepared, decision, at);
            }
            memory = memory.saturating_add(memory_of_fields(&prepared.call().parameters));
            if self.is_listed(&prepared, at) && memory <= LARGE_OUTPUT {
                asking.push(*prepared);
            }
        }
        let graph = self.folded.run.graph();
        asking.sort_by_key(|prepared| graph.place(&prepared.call().step));
        asking.truncate(APPROVAL_CALLS);
        let approval = ApprovalId::from_uuid(self.runs.ids.uuid());
        match self.awaits_another_run(&asking, &approval).await? {
            true => Ok(()),
            false => self.request_approval_of(&asking, &approval, at),
        }
    }

    /// Returns whether the run ends if a step fails.
    fn is_required(&self, step: &StepId) -> bool {
        let step = self.folded.run.graph().step(step);
        step.is_some_and(|step| step.after_failure != AfterFailure::Continue)
    }

    fn request_approval_of(
        &mut self,
        list: &[Prepared],
        approval: &ApprovalId,
        at: Timestamp,
    ) -> Result<(), EngineError> {
        let expires_at = moments::after(at, self.runs.settings.approval_ttl);
        let mut requests: Vec<ApprovalRequest> = Vec::with_capacity(list.len());
        for prepared in list {
            let (call, decision) = (prepared.call(), prepared.decision().clone());
            let beginning = StepStart {
                call: call.clone(),
                decision: self.folded.run.naming_earlier_run(call, decision),
                now: at,
                approval: approval.clone(),
                expires_at,
            };
            let command = Command::Begin(Box::new(beginning));
            for event in decided(self.folded.run.decide(command))? {
                if let RunEvent::ApprovalRequested(asked) = &event {
                    requests.push(ApprovalRequest::clone(asked));
                }
                self.fold_event(event, at)?;
            }
        }
        self.ask_for(&requests)
    }

    /// Creates the approval of a list of calls.
    pub(super) fn ask_for(&mut self, list: &[ApprovalRequest]) -> Result<(), EngineError> {
        let (workspace, run) = (&self.pinned.workspace, &self.folded.run);
        let Some(approval) = self.runs.approvals.requested(workspace, run, list) else {
            return Ok(());
        };
        let at = approval.requested_at;
        let verdict = run.confirming_verdict(&approval, at);
        let is_decided = verdict.is_some_and(|verdict| approval.decide(verdict, at).is_ok());
        self.is_deciding |= is_decided;
        self.folded.asked = true;
        let turn = approval.escalation.next_turn();
        self.escalates_at = self.escalates_at.into_iter().chain(turn).min();
        let record = approvals::record(&approval)?;
        self.approvals.push(ApprovalChange::Ask(record));
        Ok(())
    }
}
