//! Read access to a run's state.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{RunId, StepId, UserId};
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use serde_json::{Map, Value, json};

use super::Run;
use crate::approval::{Approval, ApprovalVerdict, Digest};
use crate::graph::{PlanSource, Step, StepGraph};
use crate::guardrail::RequestTags;
use crate::reference::{Bindings, ItemBinding};
use crate::run::event::{DocumentPin, RunPrerequisites, TokenUsage};
use crate::run::requesters::Requesters;
use crate::run::standing::{RunOutcome, StepState};
use crate::run::steps::RunSteps;

impl Run {
    /// Returns the run's id.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Returns the user on whose behalf it acts.
    #[must_use]
    pub fn by(&self) -> &UserId {
        &self.by
    }

    /// Returns the owner within the tenant: the user that started it, or the owner of the run that it rolls back.
    #[must_use]
    pub fn owner(&self) -> &UserId {
        &self.owner
    }

    /// Returns the users that requested it.
    #[must_use]
    pub fn requesters(&self) -> &Requesters {
        &self.requesters
    }

    /// Returns the level of the user that it acts for.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the current graph: the plan, or the fallback that replaced it.
    #[must_use]
    pub fn graph(&self) -> &StepGraph {
        &self.steps.graph
    }

    /// Returns the steps of the graph with their states.
    #[must_use]
    pub fn steps(&self) -> &RunSteps {
        &self.steps
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

    /// Returns whether it is a dry run.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Returns the request's properties for guardrails; `None` if its journal lacks them.
    #[must_use]
    pub fn tags(&self) -> Option<&RequestTags> {
        self.tags.as_ref()
    }

    /// Returns the inputs that it needs before its first step.
    #[must_use]
    pub fn opening(&self) -> &RunPrerequisites {
        &self.opening
    }

    /// Returns the outcome, if it has ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&RunOutcome> {
        self.outcome.as_ref()
    }

    /// Returns the status.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        if let Some(outcome) = &self.outcome {
            return outcome.status();
        }
        let steps = &self.steps;
        let awaits =
            |at: &usize| matches!(steps.slots[*at].state, StepState::AwaitingApproval { .. });
        match &self.stop {
            Some(stop) if stop.roll_back => RunStatus::RollingBack,
            Some(_) => RunStatus::Stopping,
            None if !self.opening.missing.is_empty() => RunStatus::AwaitingParameters,
            None if self.opening.confirm => RunStatus::AwaitingConfirmation,
            None if self.is_on_hold() => RunStatus::Paused,
            None if steps.live.iter().any(awaits) => RunStatus::AwaitingApproval,
            None => RunStatus::Working,
        }
    }

    /// Returns whether it stops, or has stopped, because of an order, its time limit or its token budget.
    #[must_use]
    pub fn is_called_off(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| !stop.is_failure())
    }

    /// Estimates the memory of the values in its journal.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Returns the tokens that models used so far.
    #[must_use]
    pub fn tokens(&self) -> TokenUsage {
        self.tokens
    }

    /// Returns whether it is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Returns the outputs of the successful steps.
    #[must_use]
    pub fn outputs(&self) -> &BTreeMap<StepId, Value> {
        &self.steps.outputs
    }

    /// Returns the possible targets of references in this run's parameters.
    #[must_use]
    pub fn bindings(&self) -> Bindings<'_> {
        Bindings {
            parameters: &self.parameters,
            outputs: &self.steps.outputs,
            item: None,
        }
    }

    /// Returns the possible targets of references in the parameters of a step, including the item that the step is for.
    #[must_use]
    pub fn bindings_of<'r>(&'r self, step: &'r Step) -> Bindings<'r> {
        let repeated = match &step.reverses {
            Some(reversed) => self.graph().step(reversed),
            None => Some(step),
        };
        let item = repeated.and_then(|repeated| {
            let item = repeated.item.as_deref()?;
            let reversed = step.reverses.is_some();
            Some(ItemBinding {
                value: &item.value,
                reversed: reversed.then(|| (&item.of, self.outputs().get(&repeated.id))),
            })
        });
        Bindings {
            item,
            ..self.bindings()
        }
    }

    /// Returns the digest that a confirmation is bound to: of the plan, its versions and its parameters.
    #[must_use]
    pub fn plan_digest(&self) -> Digest {
        Digest::from_json(&json!({
            "run_id": self.id, "graph": self.steps.graph, "pins": self.pins,
            "parameters": self.parameters, "dry_run": self.dry_run,
        }))
    }

    /// Returns the digest of the plan, if no person confirmed the plan: an approval of all its writes is then also the
    /// decision on the plan.
    #[must_use]
    pub fn unconfirmed_plan(&self) -> Option<Digest> {
        let is_confirmed = self.confirmation.is_some();
        (!is_confirmed).then(|| self.plan_digest())
    }

    /// Returns whether an approval of the calls of these steps shows all writes of the plan: no other write has begun or
    /// can begin. The proposals of a mission are no such plan.
    #[must_use]
    pub fn lists_all_writes(&self, listed: &BTreeSet<&StepId>) -> bool {
        let graph = self.graph();
        let is_mission = matches!(graph.source(), Some(PlanSource::Mission(_)));
        let forward = graph.steps().iter();
        let mut writes = forward
            .filter(|step| step.writes() && step.reverses.is_none())
            .peekable();
        !is_mission
            && graph.fallback().is_none()
            && writes.peek().is_some()
            && writes.all(|step| listed.contains(&&step.id) || self.is_without_own_write(step))
    }

    /// Returns whether a step makes no call of its own: it was skipped, or its items, which are steps, make the calls.
    fn is_without_own_write(&self, step: &Step) -> bool {
        let state = self.steps.state_of(&step.id);
        let items = self.graph().steps().iter();
        let mut items = items.filter_map(|other| other.item.as_deref());
        let is_over = state.is_some_and(StepState::is_settled);
        matches!(state, Some(StepState::Skipped { .. }))
            || (step.repeats() && (is_over || items.any(|item| item.of == step.id)))
    }

    /// Returns the verdict of the user who confirmed the plan, if the confirmation also decides on this approval.
    #[must_use]
    pub fn confirming_verdict(
        &self,
        approval: &Approval,
        now: Timestamp,
    ) -> Option<ApprovalVerdict> {
        let confirmation = self.confirmation.as_ref()?;
        confirmation.verdict(self.graph(), approval, now)
    }

    /// Returns the digest of the whole state; it is equal for runs in the same state.
    #[must_use]
    pub fn state_digest(&self) -> Digest {
        Digest::from_json(&json!(self))
    }

    /// Returns the idempotency key of a step's effect, equal for all attempts.
    #[must_use]
    pub fn idempotency_key(&self, step: &StepId) -> String {
        format!("{}/{step}", self.key_prefix())
    }

    /// Returns the time at which the time limit is reached if the run works from `now` on; `None` without a limit or
    /// while it waits for people.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        let limit = self.steps.graph.timeout_ms();
        if limit == 0 || self.stop.is_some() || !self.is_working() {
            return None;
        }
        self.work.limit_reached_at(limit)
    }

    /// Returns whether it waits for something other than a person.
    pub(super) fn is_working(&self) -> bool {
        let steps = &self.steps;
        let is_busy = |at: &usize| {
            matches!(
                steps.slots[*at].state,
                StepState::Running { .. } | StepState::Retrying { .. }
            )
        };
        self.opening.is_met()
            && (steps.live.iter().any(is_busy) || (!self.is_on_hold() && !steps.ready.is_empty()))
    }
}
