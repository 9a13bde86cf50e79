//! Beginning steps: the decision about a call, and the events that are journaled before its effect starts.

use charter_contract::bounds::LARGE_OUTPUT;
use charter_contract::ids::{ApprovalId, StepId};
use charter_contract::json::memory_of_fields;
use charter_contract::time::Timestamp;
use charter_domain::gate::GateDecision;
use charter_domain::run::{Command, StepFailure, StepStart, TokenUsage};
use charter_store::journal::NextPhase;

use super::{RunDriver, decided};
use crate::EngineError;
use crate::execution::runs::effect::{Preparation, Prepared};
use crate::ground::moments;

/// The decision about a step that may start.
enum StepBeginning {
    /// Its effect starts.
    Effect(Box<Prepared>),
    /// Its call needs an approval, which is requested together with those of other steps.
    Asks(Box<Prepared>),
    /// It has no effect for now.
    Over,
}

impl RunDriver<'_> {
    /// Begins steps that start at the same time, and writes their beginnings to the journal.
    ///
    /// Calls that need an approval are requested as one list, when no step is running: the results of the other steps
    /// may make the list longer. `is_busy` is whether a step is running.
    pub(super) async fn begin_steps(
        &mut self,
        steps: &[StepId],
        is_busy: bool,
    ) -> Result<Vec<Box<Prepared>>, EngineError> {
        let mut effects = Vec::with_capacity(steps.len());
        let mut asking = Vec::new();
        let mut begun = 0_usize;
        for step in steps {
            match self.begin_step(step).await? {
                StepBeginning::Effect(effect) => {
                    begun = begun.saturating_add(memory_of_fields(&effect.call().parameters));
                    effects.push(effect);
                }
                StepBeginning::Asks(prepared) => {
                    asking.push(*prepared);
                    continue;
                }
                // A step that cannot start may end the run or skip the steps after it.
                StepBeginning::Over => {
                    asking.clear();
                    break;
                }
            }
            // Large arguments are written before further steps begin.
            if begun > LARGE_OUTPUT {
                break;
            }
        }
        if is_busy || self.retries() || !effects.is_empty() {
            let waiting = asking.iter().map(|prepared| prepared.call().step.clone());
            self.postponed.extend(waiting);
        } else {
            self.request_list(asking).await?;
        }
        self.write(NextPhase::Runs).await?;
        self.use_confirmation().await?;
        Ok(effects)
    }

    /// Decides whether a step begins. A step that may not begin fails, is skipped or waits for a person, and has no
    /// effect.
    async fn begin_step(&mut self, step: &StepId) -> Result<StepBeginning, EngineError> {
        let place = self.evaluation_slot(step).await;
        let at = self.runs.clock.now();
        if let Some(failure) = self.folded.run.not_repeated(step) {
            self.fail_before_effect(step, failure, at)?;
            return Ok(StepBeginning::Over);
        }
        let preparation = place.ask(|| self.pinned.workspace.prepare(&self.folded.run, step, at));
        let mut prepared = match preparation {
            Ok(Preparation::Effect(prepared)) => prepared,
            Ok(Preparation::NotInDryRun) => {
                let step = step.clone();
                self.apply_command(Command::SkipForDryRun { step })?;
                return Ok(StepBeginning::Over);
            }
            Err(failure) => {
                self.fail_before_effect(step, failure, at)?;
                return Ok(StepBeginning::Over);
            }
        };
        if self.is_listed(&prepared, at) {
            return Ok(StepBeginning::Asks(prepared));
        }
        // After a wait for another run, earlier results are outdated.
        if !self.folded.run.has_restarted() {
            prepared.recall(&self.runs.calls, at);
        }
        if !self.reserve_rate_limit(&mut prepared, at) {
            return Ok(StepBeginning::Over);
        }
        let decision = prepared.decision().clone();
        self.decide_step_start(&prepared, decision, at)?;
        Ok(match self.folded.run.steps().is_interrupted(step) {
            true => StepBeginning::Effect(prepared),
            false => StepBeginning::Over,
        })
    }

    /// Fails a step that has no running effect.
    fn fail_before_effect(
        &mut self,
        step: &StepId,
        failure: StepFailure,
        at: Timestamp,
    ) -> Result<(), EngineError> {
        self.apply_command(Command::Fail {
            step: step.clone(),
            failure,
            at,
            tokens: TokenUsage::default(),
        })
    }

    /// Begins a call under a decision, or requests an approval for it, or refuses it.
    pub(super) fn decide_step_start(
        &mut self,
        prepared: &Prepared,
        decision: GateDecision,
        at: Timestamp,
    ) -> Result<(), EngineError> {
        let beginning = StepStart {
            call: prepared.call().clone(),
            decision,
            now: at,
            approval: ApprovalId::from_uuid(self.runs.ids.uuid()),
            expires_at: moments::after(at, self.runs.settings.approval_ttl),
        };
        let events = decided(self.folded.run.decide(Command::Begin(Box::new(beginning))))?;
        // The journal dates the beginning by the decision's time, because strict replay compares approvals with it.
        self.apply_events_at(events, at)
    }
}
