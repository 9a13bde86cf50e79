//! Waiting for another run that requested approval of the same call: whether a run may wait, whether its plan starts
//! again, and the rule about the other run in its next approval. Knows neither stored approvals nor the order of runs.

use std::collections::BTreeSet;

use charter_contract::ids::RunId;
use charter_contract::run_status::RunStatus;
use serde_json::json;

use super::Run;
use super::awaited_run::{AwaitedRun, EarlierRun};
use super::command::IllegalTransition;
use super::event::SkipReason;
use super::standing::{Slot, StepState};
use crate::approval::{Digest, ExactCall};
use crate::gate::{GateDecision, RuleKind, RuleResult};
use crate::graph::{Step, StepAction};

/// The runs that a run remembers as having requested the same calls; older ones are dropped.
const REMEMBERED: usize = 16;

impl Run {
    /// Returns the digest of a call that is equal for the same call of another run: of its tool, script and arguments.
    #[must_use]
    pub fn call_digest(&self, call: &ExactCall) -> Digest {
        let step = self.graph().step(&call.step);
        let script = step.and_then(|step| match step.action.each() {
            StepAction::Call { script, .. } => script.as_ref(),
            StepAction::Choose { .. }
            | StepAction::Conclude { .. }
            | StepAction::ForEach { .. } => None,
        });
        // The name of a script belongs to its playbook.
        let pins = script.map(|_| self.pins());
        Digest::from_json(&json!({
            "tool": call.tool, "script": script, "pins": pins, "parameters": call.parameters,
        }))
    }

    /// Returns the run that it waits for.
    #[must_use]
    pub fn awaited_run(&self) -> Option<&AwaitedRun> {
        self.awaited_run.as_ref()
    }

    /// Returns whether no step may start: it is paused, or waits for another run.
    #[must_use]
    pub fn is_on_hold(&self) -> bool {
        self.paused || self.awaited_run.is_some()
    }

    /// Returns whether it may begin to wait for another run: it is open, and no step is running or waits for its next
    /// attempt.
    #[must_use]
    pub fn may_await_run(&self) -> bool {
        let busy = |at: &usize| {
            let state = &self.steps.slots[*at].state;
            matches!(
                state,
                StepState::Running { .. } | StepState::Retrying { .. }
            )
        };
        self.outcome().is_none()
            && self.opening().is_met()
            && self.stop.is_none()
            && !self.is_on_hold()
            && !self.steps.live.iter().any(busy)
    }

    /// Checks whether it may wait for this run.
    pub(super) fn check_await(
        &self,
        other: &RunId,
        calls: &BTreeSet<Digest>,
    ) -> Result<(), IllegalTransition> {
        if self.may_await_run() && other != self.id() && !calls.is_empty() {
            return Ok(());
        }
        Err(IllegalTransition::NoRunWait(other.clone()))
    }

    /// Returns whether all steps start again after a wait: no write has begun or was decided on, so the results of
    /// reads have had no effect. Otherwise only calls that have not been requested are computed again.
    pub(super) fn starts_again(&self) -> bool {
        let mut steps = self.graph().steps().iter().zip(&self.steps.slots);
        let is_untouched = |(step, slot): (&Step, &Slot)| {
            let writes = step.writes() && !step.repeats();
            let is_open = match &slot.state {
                StepState::Pending => true,
                StepState::Skipped { reason } => {
                    matches!(reason, SkipReason::Source { .. } | SkipReason::Condition)
                }
                StepState::AwaitingApproval { .. } => false,
                StepState::Running { .. }
                | StepState::Retrying { .. }
                | StepState::Succeeded
                | StepState::Failed { .. }
                | StepState::Cancelled => !writes,
            };
            is_open && !(writes && slot.attempts > 0) && slot.grant.is_none()
        };
        steps.all(is_untouched)
    }

    /// Ends the wait for another run.
    pub(super) fn end_run_wait(&mut self, status: Option<RunStatus>, restarts: bool) {
        if let Some(awaited) = self.awaited_run.take() {
            if self.earlier_runs.len() == REMEMBERED {
                self.earlier_runs.remove(0);
            }
            self.earlier_runs.push(EarlierRun { awaited, status });
        }
        if restarts {
            self.steps.restart();
        }
    }

    /// Returns the decision with which the approval of a call is requested: it names the run that was waited for, if
    /// that run requested the same call.
    #[must_use]
    pub fn naming_earlier_run(&self, call: &ExactCall, decision: GateDecision) -> GateDecision {
        if self.earlier_runs.is_empty() {
            return decision;
        }
        let digest = self.call_digest(call);
        let mut earlier = self.earlier_runs.iter().rev();
        let same = earlier.find(|earlier| earlier.awaited.calls.contains(&digest));
        match same {
            None => decision,
            Some(same) => {
                let (id, message) = (&same.awaited.run, same.message());
                decision.also_because(RuleResult::new(RuleKind::SameCall, id, message))
            }
        }
    }

    /// Returns whether the results of earlier calls are outdated, because the plan started again after a wait.
    #[must_use]
    pub fn has_restarted(&self) -> bool {
        self.steps.restarts > 0
    }

    /// Returns the part of an idempotency key before the step.
    pub(super) fn key_prefix(&self) -> String {
        let mut prefix = self.id().to_string();
        if self.steps.fallbacks > 0 {
            prefix.push_str(&format!("/fallback-{}", self.steps.fallbacks));
        }
        if self.steps.restarts > 0 {
            prefix.push_str(&format!("/again-{}", self.steps.restarts));
        }
        prefix
    }
}
