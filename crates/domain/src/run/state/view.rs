//! What may be read of a run's state.

use std::collections::BTreeMap;

use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{RunId, StepId, ToolId, UserId};
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use serde_json::{Map, Value, json};

use super::Run;
use crate::approval::Digest;
use crate::graph::{Step, StepGraph};
use crate::guardrail::RequestTags;
use crate::reference::Bindings;
use crate::run::event::{DocumentPin, RunPrerequisites, TokenUsage};
use crate::run::standing::{RunOutcome, StepState};

impl Run {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// On whose behalf it acts.
    #[must_use]
    pub fn by(&self) -> &UserId {
        &self.by
    }

    /// Whose it is within the tenant: who started it, or whose the run is that it rolls back.
    #[must_use]
    pub fn owner(&self) -> &UserId {
        &self.owner
    }

    /// What whom it acts for may do.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// How many of its steps' calls people have agreed to.
    #[must_use]
    pub fn approvals(&self) -> usize {
        let granted = self.slots.iter().filter(|slot| slot.grant.is_some());
        self.earlier_approvals + granted.count()
    }

    /// How often it has begun a call of each tool.
    #[must_use]
    pub fn calls(&self) -> BTreeMap<ToolId, u64> {
        let mut calls = self.earlier_calls.clone();
        for (step, slot) in self.graph.steps().iter().zip(&self.slots) {
            if let Some(tool) = step.tool().filter(|_| slot.attempts > 0) {
                *calls.entry(tool.clone()).or_default() += u64::from(slot.attempts);
            }
        }
        calls
    }

    /// What it executes now: the plan, or the fallback that took its place.
    #[must_use]
    pub fn graph(&self) -> &StepGraph {
        &self.graph
    }

    /// The versions it executes.
    #[must_use]
    pub fn pins(&self) -> &[DocumentPin] {
        &self.pins
    }

    /// Values of the declared parameters.
    #[must_use]
    pub fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    /// Whether nothing is to be changed.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// The request that it is for, as guardrails read it; `None` where its journal does not have it.
    #[must_use]
    pub fn tags(&self) -> Option<&RequestTags> {
        self.tags.as_ref()
    }

    /// What it needs before its first step.
    #[must_use]
    pub fn opening(&self) -> &RunPrerequisites {
        &self.opening
    }

    /// How it ended, once it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&RunOutcome> {
        self.outcome.as_ref()
    }

    /// Where it stands, in one word.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        if let Some(outcome) = &self.outcome {
            return outcome.status();
        }
        let awaits =
            |at: &usize| matches!(self.slots[*at].state, StepState::AwaitingApproval { .. });
        match &self.stop {
            Some(stop) if stop.roll_back => RunStatus::RollingBack,
            Some(_) => RunStatus::Stopping,
            None if !self.opening.missing.is_empty() => RunStatus::AwaitingParameters,
            None if self.opening.confirm => RunStatus::AwaitingConfirmation,
            None if self.paused => RunStatus::Paused,
            None if self.live.iter().any(awaits) => RunStatus::AwaitingApproval,
            None => RunStatus::Working,
        }
    }

    /// Memory that the values in its journal take, by estimate.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Tokens that models used for it so far.
    #[must_use]
    pub fn tokens(&self) -> TokenUsage {
        self.tokens
    }

    /// Whether somebody paused it.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Outputs of the steps that succeeded.
    #[must_use]
    pub fn outputs(&self) -> &BTreeMap<StepId, Value> {
        &self.outputs
    }

    /// Steps whose writes succeeded, in the order in which they did.
    pub fn written(&self) -> impl DoubleEndedIterator<Item = &Step> {
        let steps = self.graph.steps();
        self.written.iter().map(|at| &steps[*at])
    }

    /// Whether a step's write was reversed.
    #[must_use]
    pub fn is_reversed(&self, step: &StepId) -> bool {
        let reversal = self
            .graph
            .place(step)
            .and_then(|at| self.graph.reversal_of(at));
        reversal.is_some_and(|at| self.slots[at].state == StepState::Succeeded)
    }

    /// The step that reverses another.
    #[must_use]
    pub fn reversal_of(&self, step: &StepId) -> Option<&Step> {
        let reversal = self
            .graph
            .place(step)
            .and_then(|at| self.graph.reversal_of(at));
        reversal.map(|at| &self.graph.steps()[at])
    }

    /// Whether a person agreed to a call of the step.
    #[must_use]
    pub fn is_granted(&self, step: &StepId) -> bool {
        let at = self.graph.place(step);
        at.is_some_and(|at| self.slots[at].grant.is_some())
    }

    /// What references in this run's parameters may point at.
    #[must_use]
    pub fn bindings(&self) -> Bindings<'_> {
        Bindings {
            parameters: &self.parameters,
            outputs: &self.outputs,
        }
    }

    /// Where every step stands, in listed order.
    pub fn steps(&self) -> impl Iterator<Item = (&StepId, &StepState)> {
        let steps = self.graph.steps().iter().zip(&self.slots);
        steps.map(|(step, slot)| (&step.id, &slot.state))
    }

    /// Where one step stands.
    #[must_use]
    pub fn state_of(&self, step: &StepId) -> Option<&StepState> {
        self.graph.place(step).map(|at| &self.slots[at].state)
    }

    /// What an agreement to run it is bound to: the plan, its versions and its parameters.
    #[must_use]
    pub fn plan_digest(&self) -> Digest {
        Digest::from_json(&json!({
            "run_id": self.id, "graph": self.graph, "pins": self.pins,
            "parameters": self.parameters, "dry_run": self.dry_run,
        }))
    }

    /// The digest of the whole state: two runs that stand at the same point have the same.
    #[must_use]
    pub fn state_digest(&self) -> Digest {
        Digest::from_json(&json!(self))
    }

    /// The key that makes repeats of a step's effect harmless, the same for every attempt.
    #[must_use]
    pub fn idempotency_key(&self, step: &StepId) -> String {
        match self.fallbacks {
            0 => format!("{}/{step}", self.id),
            taken => format!("{}/fallback-{taken}/{step}", self.id),
        }
    }

    /// When its time limit is over if it goes on working from `now` on; `None` without a limit or
    /// while it waits for people.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        let limit = self.graph.timeout_ms();
        if limit == 0 || self.stop.is_some() || !self.is_working() {
            return None;
        }
        let left = limit.saturating_mul(1_000).saturating_sub(self.worked_us);
        let last = self.last_at.as_micros();
        let left = i64::try_from(left).unwrap_or(i64::MAX);
        Timestamp::from_micros(last.saturating_add(left)).ok()
    }

    /// Whether it has what it needs before its first step.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.opening.confirm && self.opening.missing.is_empty()
    }

    /// Whether something other than a person is awaited.
    pub(super) fn is_working(&self) -> bool {
        let is_busy = |at: &usize| {
            matches!(
                self.slots[*at].state,
                StepState::Running { .. } | StepState::Retrying { .. }
            )
        };
        self.is_open()
            && (self.live.iter().any(is_busy) || (!self.paused && !self.ready.is_empty()))
    }
}
