//! Drives one run: decide, append, act, append, until nothing is left or the run waits for a person.
//!
//! The decisions of one turn of the loop are one append: the end of a step and the beginning of the next share a
//! commit. An effect starts only after its beginning is durable.

mod awaiting;
mod begin;
mod deadlines;
mod lifecycle;
mod listing;
mod same_call;
mod turns;
mod values;
mod writing;

use std::collections::BTreeSet;
use std::sync::Arc;

use charter_contract::ids::{ApprovalId, StepId};
use charter_contract::mission::MissionState;
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_domain::run::{Command, IllegalTransition, Next, Run, RunEvent};
use charter_store::approval::ApprovalChange;
use charter_store::journal::NextPhase;
use charter_store::mission::ArtifactRecord;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use self::turns::RateLimitQueue;
use self::writing::{RunOwnership, StoredNotice};
use super::drivers::DriverMessage;
use super::effect::{Prepared, StepEnd};
use super::evidence::Examination;
use super::journal::{FoldedRun, History, PendingEvent};
use super::pinned::LoadedRun;
use super::progress::Progress;
use super::{RunClients, RunService};
use crate::EngineError;
use crate::execution::outputs::{OutputMemory, RunMemory, RunMemoryShare};
use crate::ground::questions::Effort;
use crate::ground::telemetry;
use crate::identity::shares::Share;

/// A run that this worker drives.
struct RunDriver<'e> {
    runs: &'e Arc<RunService>,
    clients: &'e Arc<dyn RunClients>,
    folded: FoldedRun,
    hold: RunOwnership,
    /// Of a new run: notifies the caller that waits until it is stored. Absent once its status was announced.
    stored: Option<StoredNotice>,
    pinned: LoadedRun,
    progress: Progress,
    cancel: CancellationToken,
    orders: &'e mut mpsc::Receiver<DriverMessage>,
    /// The status that watchers were last notified of.
    told: Option<RunStatus>,
    /// Events that are decided and not yet durable.
    unwritten: Vec<PendingEvent>,
    approvals: Vec<ApprovalChange>,
    /// Approvals that were granted during a pause and cannot be used before it ends.
    set_aside: BTreeSet<ApprovalId>,
    /// Steps whose approval is requested when no other step is running.
    postponed: BTreeSet<StepId>,
    /// Whether the confirmation of the plan decides on an approval that was just requested.
    is_deciding: bool,
    /// When an approval that the run waits for goes to the next group of approvers.
    escalates_at: Option<Timestamp>,
    /// Artifacts of the run's mission that are not durable yet.
    artifacts: Vec<ArtifactRecord>,
    /// The memory of outputs that are not durable yet.
    memory: Vec<Share>,
    /// The memory of the run's values, including the reserved part.
    room: Arc<RunMemory>,
    kept: Vec<RunMemoryShare>,
    /// The mission state in storage.
    mission: Option<MissionState>,
    /// Steps that wait for the rate limit of their tool.
    turns: RateLimitQueue,
    /// Of a skill's run that leaves evidence: its journal, and its examined results.
    results: Option<(History, Examination)>,
}

/// A run as it was left by its driver, or by the workers of another process.
#[derive(Debug)]
pub(crate) struct DrivenRun {
    pub(crate) run: Run,
    /// The documents that it pinned.
    pub(crate) pinned: LoadedRun,
    /// Its journal, if the driver read it: that of a skill's run that left evidence and ended.
    pub(crate) history: Option<History>,
    /// The results that the driver examined before it ended the run; present with the journal.
    pub(crate) examined: Option<Examination>,
}

/// Running effects.
type InFlight = FuturesUnordered<BoxFuture<'static, StepEnd>>;

impl RunDriver<'_> {
    async fn run_loop(&mut self) -> Result<(), EngineError> {
        let mut in_flight = InFlight::new();
        let mut in_hand: BTreeSet<StepId> = BTreeSet::new();
        self.apply_approval_decisions().await?;
        loop {
            self.apply_automatic_transitions().await?;
            self.stop_waiting_for_agents().await?;
            if self.is_past_deadline() {
                self.handle_deadlines(&mut in_flight, &mut in_hand).await?;
                continue;
            }
            let has_come = |moment| self.runs.deadlines.is_due(moment);
            let waiting = self.turns.waiting(has_come);
            let is_busy = !in_flight.is_empty() || !waiting.is_empty();
            let held = &waiting | &self.postponed(is_busy);
            let has_come = |moment| self.runs.deadlines.is_due(moment);
            let next = match held.is_empty() {
                true => self.folded.run.next(&in_hand, has_come),
                false => self.folded.run.next(&(&in_hand | &held), has_come),
            };
            match next {
                Next::Ended => return self.end().await,
                // Running effects are dropped, which ends them. Their beginnings are in the journal, so the next driver
                // begins them again under the same key.
                Next::Start(_) | Next::Wait { .. } if self.cancel.is_cancelled() => {
                    self.write(NextPhase::Runs).await?;
                    return Err(EngineError::interrupted());
                }
                // While draining, this process lets running effects finish and begins nothing more.
                Next::Start(_) | Next::Wait { .. }
                    if self.runs.draining.is_cancelled() && in_flight.is_empty() =>
                {
                    self.write(NextPhase::Runs).await?;
                    return Err(EngineError::interrupted());
                }
                Next::Start(_) if self.runs.draining.is_cancelled() => {
                    self.write(NextPhase::Runs).await?;
                    self.wait_for_event(&mut in_flight, &mut in_hand, None)
                        .await?;
                }
                Next::Start(_) if in_flight.is_empty() && self.lacks_room() => {
                    self.make_room().await?;
                }
                Next::Start(steps) => {
                    for effect in self.begin_steps(&steps, is_busy).await? {
                        in_hand.insert(effect.call().step.clone());
                        in_flight.push(self.start_effect(effect));
                    }
                }
                Next::Wait { until }
                    if !is_busy && (!self.is_soon(until) || !self.has_stored_status()) =>
                {
                    return self.park(until).await;
                }
                Next::Wait { until } => {
                    let until = self.turns.sooner(until, &waiting);
                    self.write(NextPhase::Runs).await?;
                    self.wait_for_event(&mut in_flight, &mut in_hand, until)
                        .await?;
                }
            }
        }
    }

    /// Applies transitions that need no command. Evidence is recorded before the run's end is decided.
    async fn apply_automatic_transitions(&mut self) -> Result<(), EngineError> {
        self.end_run_wait().await?;
        loop {
            let effort = Effort::long_if_any([self.folded.run.asks_expressions()]);
            let tenant = &self.pinned.workspace.tenant;
            let place = self.runs.questions.slot_for(tenant, effort).await;
            let events = place.ask(|| self.folded.run.advance());
            if events.is_empty() {
                return Ok(());
            }
            if events.iter().any(RunEvent::is_final) {
                self.leave_evidence(&events).await?;
            }
            self.apply_events(events)?;
        }
    }

    /// Makes the end of the run durable, and lets the runs continue that wait for it.
    async fn end(&mut self) -> Result<(), EngineError> {
        self.expire_pending_approvals().await?;
        self.write(NextPhase::Ends).await?;
        if self.folded.asked {
            self.release_calls().await;
        }
        Ok(())
    }

    /// Closes the assignments of a mission whose run was called off, wherever the order was taken: otherwise its stage
    /// would wait until the assignment's lease ends. Repeated each time, because a stage that had just begun may offer
    /// an assignment afterwards.
    async fn stop_waiting_for_agents(&self) -> Result<(), EngineError> {
        match &self.pinned.workspace.desk {
            Some(desk) if self.folded.run.is_called_off() => {
                let desk = Arc::clone(desk);
                desk.stop_waiting(&self.pinned.workspace.tenant).await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Waits for the first of: an effect's end, a command, the given time.
    async fn wait_for_event(
        &mut self,
        in_flight: &mut InFlight,
        in_hand: &mut BTreeSet<StepId>,
        until: Option<Timestamp>,
    ) -> Result<(), EngineError> {
        let beat = self.runs.settings.lease / 3;
        let patience = until.map_or(beat, |until| {
            self.runs.deadlines.time_until(until).min(beat)
        });
        let idle = in_flight.is_empty();
        let _resting = idle.then(|| self.runs.drivers.mark_idle(self.folded.run.id()));
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Ok(()),
            () = self.runs.draining.cancelled(), if in_flight.is_empty() => Ok(()),
            Some(order) = self.orders.recv() => self.handle_message(order).await,
            Some(end) = in_flight.next(), if !in_flight.is_empty() => {
                // Effects that ended meanwhile share the commit.
                let mut ended = Some(end);
                while let Some(end) = ended {
                    in_hand.remove(end.step());
                    self.finish_step(end).await?;
                    ended = in_flight.next().now_or_never().flatten();
                }
                Ok(())
            }
            () = tokio::time::sleep(patience) => self.handle_deadlines(in_flight, in_hand).await,
        }
    }

    async fn handle_message(&mut self, order: DriverMessage) -> Result<(), EngineError> {
        match order {
            DriverMessage::Refresh => self.apply_approval_decisions().await,
            DriverMessage::Command(command, answer) => {
                let (accepted, failed) = match self.folded.run.decide(*command) {
                    Ok(events) => {
                        self.apply_events(events)?;
                        let written = self.write(NextPhase::Runs).await;
                        let failed = written.is_err();
                        (written, failed)
                    }
                    Err(refused) => (Err(super::control::illegal(&refused)), false),
                };
                // A caller that has gone away gets no answer; the command remains in effect.
                drop(answer.send(accepted));
                if failed {
                    return Err(EngineError::interrupted());
                }
                // A resumed run uses the approvals that were granted during the pause.
                self.apply_approval_decisions().await
            }
        }
    }

    fn start_effect(&self, mut effect: Box<Prepared>) -> BoxFuture<'static, StepEnd> {
        effect.report_progress_to(&self.progress);
        let step = &effect.call().step;
        self.progress.step_started(step, &effect.call().tool);
        let (calls, clients) = (Arc::clone(&self.runs.calls), Arc::clone(self.clients));
        let key = self.folded.run.idempotency_key(step);
        let (room, cancel) = (Arc::clone(&self.room), self.cancel.child_token());
        let (run, tenant) = (self.folded.run.id(), &self.pinned.workspace.tenant);
        let span = telemetry::tool(&effect.call().tool, &key, run, tenant);
        let performed = async move {
            let end = effect.perform(&calls, &*clients, room, key, cancel).await;
            telemetry::tool_ended(&Span::current(), end.outcome());
            end
        };
        Box::pin(performed.instrument(span))
    }

    async fn finish_step(&mut self, end: StepEnd) -> Result<(), EngineError> {
        // A step that was cut off by the server's shutdown has not failed: it is resumed later.
        if matches!(end, StepEnd::Failed { .. }) && self.runs.background.shutdown.is_cancelled() {
            return Err(EngineError::interrupted());
        }
        let message = end.outcome().err().map(|why| why.message.as_str());
        self.progress.step_finished(end.step(), message);
        let command = match self.admit_stage_output(end) {
            StepEnd::Succeeded {
                step,
                output,
                source,
                duration_ms,
                brings,
                tools: _,
                memory,
            } => {
                if let Some(memory) = memory {
                    let OutputMemory { written, kept } = *memory;
                    self.memory.push(written);
                    self.kept.extend(kept);
                }
                Command::Succeed {
                    step,
                    output,
                    source,
                    duration_ms,
                    brings,
                }
            }
            StepEnd::Failed {
                step,
                failure,
                tokens,
            } => Command::Fail {
                step,
                failure,
                at: self.runs.clock.now(),
                tokens,
            },
            StepEnd::InDoubt { step, refusal } => {
                return self.request_approval_to_repeat(&step, refusal).await;
            }
        };
        self.apply_command(command)
    }

    /// Adds a stage's output to its mission. If the mission or the plan does not admit the output, the step fails.
    fn admit_stage_output(&mut self, end: StepEnd) -> StepEnd {
        let StepEnd::Succeeded {
            step,
            output,
            brings,
            tools,
            ..
        } = &end
        else {
            return end;
        };
        if let Err(refusal) = self.has_room_for(output, &brings.growth) {
            return self.refused(step, refusal, &end);
        }
        let Some(desk) = self.pinned.workspace.desk.clone() else {
            return end;
        };
        match desk.admit(&self.folded.run, step, output) {
            Ok(artifacts) => {
                self.artifacts.extend(artifacts);
                self.runs
                    .pinned
                    .add_tools(&mut self.pinned.workspace, tools);
                end
            }
            Err(failure) => StepEnd::Failed {
                step: step.clone(),
                failure,
                tokens: brings.tokens,
            },
        }
    }

    fn apply_command(&mut self, command: Command) -> Result<(), EngineError> {
        let events = decided(self.folded.run.decide(command))?;
        self.apply_events(events)
    }

    /// Folds events as of now; the next append writes them.
    fn apply_events(&mut self, events: Vec<RunEvent>) -> Result<(), EngineError> {
        self.apply_events_at(events, self.runs.clock.now())
    }

    fn apply_events_at(&mut self, events: Vec<RunEvent>, at: Timestamp) -> Result<(), EngineError> {
        for event in events {
            if let RunEvent::ApprovalRequested(asked) = &event {
                self.ask_for(std::slice::from_ref(&**asked))?;
            }
            self.fold_event(event, at)?;
        }
        Ok(())
    }

    fn fold_event(&mut self, event: RunEvent, at: Timestamp) -> Result<(), EngineError> {
        let unwritten = PendingEvent::new(&event, at)?;
        if let Some((history, _)) = &mut self.results {
            history.push(at, event.clone());
        }
        let folded = self.folded.run.apply(event, at);
        folded.map_err(|error| EngineError::internal("folding an event", error))?;
        self.unwritten.push(unwritten);
        Ok(())
    }
}

fn decided(events: Result<Vec<RunEvent>, IllegalTransition>) -> Result<Vec<RunEvent>, EngineError> {
    events.map_err(|error| EngineError::internal("deciding on a run", error))
}
