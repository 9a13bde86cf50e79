//! The steps of a run: the graph with the state of each step, folded from the run's events. A step that settles makes
//! its dependants ready, so the next transitions need no scan of all steps. Knows neither parameters nor limits.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::ids::{ApprovalId, StepId, ToolId, UserId};
use charter_contract::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::command::IllegalTransition;
use super::event::{ApprovalRequest, EffectStart, SkipReason};
use super::fold_error::FoldError;
use super::standing::{Grant, Slot, StepState, Stop};
use crate::approval::Digest;
use crate::graph::{EdgeCondition, GraphAdditions, StepGraph, sources};

/// The steps of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSteps {
    pub(super) graph: StepGraph,
    pub(super) slots: Vec<Slot>,
    /// Forward steps without a decision whose sources have all settled.
    pub(super) ready: BTreeSet<usize>,
    /// Steps that have begun, or wait for an approval or for a retry.
    pub(super) live: BTreeSet<usize>,
    /// The outputs of the successful steps.
    pub(super) outputs: BTreeMap<StepId, Value>,
    /// Successful writes, in their order.
    pub(super) written: Vec<usize>,
    /// The number of fallbacks so far.
    pub(super) fallbacks: u32,
    /// The number of times that the plan started again after a wait for another run. Like the next field, it follows
    /// from the journal and is not part of the state's digest.
    #[serde(skip)]
    pub(super) restarts: u32,
    /// The graph before the items of repeated steps were added, if there are any.
    #[serde(skip)]
    origin: Option<Box<StepGraph>>,
    /// Calls and approvals before the last fallback: policies consider the whole run.
    earlier_calls: BTreeMap<ToolId, u64>,
    earlier_approvals: usize,
}

impl RunSteps {
    /// Creates the steps of a graph, none of which has started.
    pub(super) fn new(graph: StepGraph) -> Self {
        let steps = graph.steps();
        let slots: Vec<Slot> = steps
            .iter()
            .map(|step| Slot::before_start(sources(step).len()))
            .collect();
        let first = |(at, slot): (usize, &Slot)| {
            (slot.waits_for == 0 && steps[at].reverses.is_none()).then_some(at)
        };
        let ready = slots.iter().enumerate().filter_map(first).collect();
        Self {
            graph,
            slots,
            ready,
            live: BTreeSet::new(),
            outputs: BTreeMap::new(),
            written: Vec::new(),
            fallbacks: 0,
            restarts: 0,
            origin: None,
            earlier_calls: BTreeMap::new(),
            earlier_approvals: 0,
        }
    }

    /// Returns the state of every step, in listed order.
    pub fn states(&self) -> impl Iterator<Item = (&StepId, &StepState)> {
        let steps = self.graph.steps().iter().zip(&self.slots);
        steps.map(|(step, slot)| (&step.id, &slot.state))
    }

    /// Returns the state of one step.
    #[must_use]
    pub fn state_of(&self, step: &StepId) -> Option<&StepState> {
        self.graph.place(step).map(|at| &self.slots[at].state)
    }

    /// Returns whether a step's effect began and has an unknown outcome.
    #[must_use]
    pub fn is_interrupted(&self, step: &StepId) -> bool {
        matches!(self.state_of(step), Some(StepState::Running { .. }))
    }

    /// Returns the number of calls that people have approved.
    #[must_use]
    pub fn approvals(&self) -> usize {
        let granted = self.slots.iter().filter(|slot| slot.grant.is_some());
        self.earlier_approvals + granted.count()
    }

    /// Returns the number of calls that have begun, by tool.
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

    /// Returns whether no step is ready, has begun, or waits for an approval or for a retry.
    pub(super) fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.live.is_empty()
    }

    /// Returns the index of a step that a command names.
    pub(super) fn known(&self, step: &StepId) -> Result<usize, IllegalTransition> {
        let place = self.graph.place(step);
        place.ok_or_else(|| IllegalTransition::UnknownStep(step.clone()))
    }

    /// Returns the index of a running step.
    pub(super) fn running(
        &self,
        step: &StepId,
        wanted: &'static str,
    ) -> Result<usize, IllegalTransition> {
        let at = self.known(step)?;
        match self.slots[at].state {
            StepState::Running { .. } => Ok(at),
            _ => Err(self.refused(at, wanted)),
        }
    }

    /// Returns the index of a step that waits for this approval of the displayed call.
    pub(super) fn awaiting(
        &self,
        step: &StepId,
        wanted: &ApprovalId,
        seen: Option<&Digest>,
    ) -> Result<usize, IllegalTransition> {
        let at = self.known(step)?;
        match &self.slots[at].state {
            StepState::AwaitingApproval {
                approval, digest, ..
            } if approval == wanted && seen.is_none_or(|seen| seen == digest) => Ok(at),
            _ => Err(self.refused(at, "decided on")),
        }
    }

    /// Refuses a command because of a step's state.
    pub(super) fn refused(&self, at: usize, wanted: &'static str) -> IllegalTransition {
        IllegalTransition::Step {
            step: self.graph.steps()[at].id.clone(),
            state: self.slots[at].state.word(),
            wanted,
        }
    }

    /// Checks whether a result may add these steps: they fit the graph, and no step that has started, or that no longer
    /// waits, gets a new dependency.
    pub(super) fn may_grow(&self, growth: &GraphAdditions) -> Result<(), IllegalTransition> {
        if growth.is_empty() {
            return Ok(());
        }
        for claim in &growth.claims {
            let at = self.known(&claim.step)?;
            let waits = self.slots[at].state == StepState::Pending && !self.ready.contains(&at);
            // In a stopping run no further step starts, regardless of its dependencies.
            let is_cancelled = self.slots[at].state == StepState::Cancelled;
            if !waits && !is_cancelled {
                return Err(IllegalTransition::TooLate(claim.step.clone()));
            }
        }
        self.graph
            .admits(growth)
            .map_err(IllegalTransition::GraphAdditions)
    }

    /// Returns the index of a step that an event names.
    pub(super) fn place(&self, step: &StepId) -> Result<usize, FoldError> {
        let found = self.graph.place(step);
        found.ok_or_else(|| FoldError::UnknownStep(step.clone()))
    }

    /// Records that an attempt is about to start.
    pub(super) fn begin(&mut self, begun: &EffectStart) -> Result<(), FoldError> {
        let at = self.place(&begun.step)?;
        let slot = &mut self.slots[at];
        slot.attempts = begun.attempt;
        slot.unheard = false;
        slot.state = StepState::Running {
            attempt: begun.attempt,
        };
        if let Some(grant) = &mut slot.grant {
            grant.used = true;
        }
        self.ready.remove(&at);
        self.live.insert(at);
        Ok(())
    }

    /// Lets a step wait for an approval.
    pub(super) fn request_approval(&mut self, asked: ApprovalRequest) -> Result<(), FoldError> {
        let at = self.place(&asked.step)?;
        let slot = &mut self.slots[at];
        slot.leave();
        slot.ahead = slot.waits_for > 0;
        slot.state = StepState::AwaitingApproval {
            approval: asked.approval,
            digest: asked.digest,
            expires_at: asked.expires_at,
        };
        self.ready.remove(&at);
        self.live.insert(at);
        Ok(())
    }

    /// Records that a user approved a step's call: the step may start once its sources have settled.
    pub(super) fn grant(
        &mut self,
        step: &StepId,
        approval: ApprovalId,
        by: UserId,
    ) -> Result<(), FoldError> {
        let at = self.place(step)?;
        let slot = &mut self.slots[at];
        if let StepState::AwaitingApproval {
            digest, expires_at, ..
        } = &slot.state
        {
            slot.grant = Some(Grant {
                approval,
                by,
                digest: digest.clone(),
                expires_at: *expires_at,
                used: false,
            });
        }
        slot.state = StepState::Pending;
        let waits = slot.waits_for > 0;
        self.live.remove(&at);
        if !waits {
            self.ready.insert(at);
        }
        Ok(())
    }

    /// Schedules another attempt of a step.
    pub(super) fn retry(&mut self, step: &StepId, due: Timestamp) -> Result<(), FoldError> {
        let at = self.place(step)?;
        self.slots[at].failures += 1;
        self.slots[at].state = StepState::Retrying { due };
        Ok(())
    }

    /// Records a step's output and settles it.
    pub(super) fn succeed(&mut self, at: usize, output: Value) {
        let step = &self.graph.steps()[at];
        if step.writes() && !step.repeats() && step.reverses.is_none() {
            self.written.push(at);
        }
        // This also applies to a step whose outcome a person reported.
        self.slots[at].unheard = false;
        self.outputs.insert(step.id.clone(), output);
        self.settle(at, StepState::Succeeded);
    }

    /// Records that a step does not start.
    pub(super) fn skip(&mut self, step: &StepId, reason: SkipReason) -> Result<(), FoldError> {
        let at = self.place(step)?;
        self.settle(at, StepState::Skipped { reason });
        Ok(())
    }

    /// Settles a step, so that its dependants wait for one source fewer. Those of a step that is excluded before its
    /// turn wait until its own sources have settled, because they come after these.
    pub(super) fn settle(&mut self, at: usize, state: StepState) {
        if self.slots[at].state.is_settled() {
            return;
        }
        self.slots[at].state = state;
        self.ready.remove(&at);
        self.live.remove(&at);
        let mut passing = vec![at];
        while let Some(at) = passing.pop() {
            if !self.slots[at].lets_dependants_pass() {
                continue;
            }
            for follower in self.graph.followers(at) {
                let slot = &mut self.slots[*follower];
                slot.waits_for -= 1;
                match slot.state {
                    _ if slot.waits_for > 0 => {}
                    StepState::Pending => drop(self.ready.insert(*follower)),
                    StepState::Skipped { .. } => passing.push(*follower),
                    _ => {}
                }
            }
        }
    }

    /// Adds the steps and edges of a result.
    pub(super) fn grow(&mut self, growth: &GraphAdditions) -> Result<(), FoldError> {
        let first = self.graph.grow(growth).map_err(FoldError::GraphAdditions)?;
        for at in first..self.graph.steps().len() {
            self.slots.push(Slot::before_start(0));
            let waits_for = self.unsettled_sources(at);
            self.slots[at].waits_for = waits_for;
            if waits_for == 0 && self.graph.steps()[at].reverses.is_none() {
                self.ready.insert(at);
            }
        }
        for claim in &growth.claims {
            let at = self.place(&claim.step)?;
            self.slots[at].waits_for = self.unsettled_sources(at);
            self.ready.remove(&at);
        }
        Ok(())
    }

    /// Adds the items of a repeated step.
    pub(super) fn expand(&mut self, growth: &GraphAdditions) -> Result<(), FoldError> {
        if self.origin.is_none() {
            self.origin = Some(Box::new(self.graph.clone()));
        }
        self.grow(growth)
    }

    /// Returns the number of distinct sources that a step still waits for.
    fn unsettled_sources(&self, at: usize) -> usize {
        let sources = sources(&self.graph.steps()[at]);
        let open = sources.into_iter().filter(|id| {
            let slot = self.graph.place(id).map(|at| &self.slots[at]);
            slot.is_some_and(|slot| !slot.lets_dependants_pass())
        });
        open.count()
    }

    /// Cancels the steps of a stopping run that have not started, except those that run after a failure.
    pub(super) fn cancel_waiting(&mut self, stop: &Stop) {
        let failure_only = stop.is_failure();
        for at in 0..self.slots.len() {
            let step = &self.graph.steps()[at];
            let handles = step
                .entry
                .edges
                .iter()
                .any(|edge| edge.on == EdgeCondition::Failure);
            let waiting = match self.slots[at].state {
                StepState::Pending | StepState::AwaitingApproval { .. } => true,
                StepState::Retrying { .. } => !failure_only,
                _ => false,
            };
            if waiting && step.reverses.is_none() && !(handles && failure_only) {
                self.settle(at, StepState::Cancelled);
            }
        }
    }

    /// Replaces the failed plan by its fallback, none of whose steps has started.
    pub(super) fn fall_back(&mut self) -> Result<(), FoldError> {
        let fallback = self.graph.fallback().ok_or(FoldError::NoFallback)?;
        *self = Self {
            fallbacks: self.fallbacks + 1,
            restarts: self.restarts,
            earlier_calls: self.calls(),
            earlier_approvals: self.approvals(),
            ..Self::new(fallback.clone())
        };
        Ok(())
    }

    /// Starts the plan again, without the items of its repeated steps.
    pub(super) fn restart(&mut self) {
        let graph = match self.origin.take() {
            Some(origin) => *origin,
            None => self.graph.clone(),
        };
        *self = Self {
            fallbacks: self.fallbacks,
            restarts: self.restarts + 1,
            earlier_calls: self.calls(),
            earlier_approvals: self.approvals(),
            ..Self::new(graph)
        };
    }
}
