//! Drives one run: decide, append, act, append, until nothing is left or the run waits for a person.
//!
//! The decisions of one turn of the loop are one append: the end of a step and the beginning of the next share a
//! commit. An effect starts only after its beginning is durable.

mod awaiting;
mod begin;
mod turns;
mod values;
mod writing;

use std::collections::BTreeSet;
use std::sync::Arc;

use charter_contract::catalogue::policy::RunKind;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, RunId, StepId, TenantId};
use charter_contract::mission::MissionState;
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_domain::mission;
use charter_domain::run::{Command, ErrorKind, IllegalTransition, Next, Run, RunEvent, TokenUsage};
use charter_store::approval::ApprovalChange;
use charter_store::journal::{NextPhase, RunRecord};
use charter_store::lease::Lease;
use charter_store::mission::ArtifactRecord;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use self::turns::RateLimitQueue;
use self::writing::RunOwnership;
use super::approvals;
use super::drivers::{
    Driven, DriverHandle, DriverMessage, has_unread_notice, is_lease_lost, run_unless_revoked,
};
use super::effect::{Prepared, StepEnd, Workspace, failure};
use super::journal::{FoldedRun, PendingEvent};
use super::progress::Progress;
use super::resumable::ResumableRun;
use super::{NewRun, PendingRun, RunClients, RunService, held};
use crate::EngineError;
use crate::execution::outputs::{OutputMemory, RunMemory, RunMemoryShare, VALUES_TIMEOUT};
use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};
use crate::ground::moments;
use crate::ground::questions::Effort;
use crate::ground::settings::ProcessRole;
use crate::ground::telemetry;
use crate::identity::shares::Share;

/// A run that this worker drives.
struct RunDriver<'e> {
    runs: &'e Arc<RunService>,
    clients: &'e Arc<dyn RunClients>,
    folded: FoldedRun,
    hold: RunOwnership,
    workspace: Workspace,
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
}

/// How the driver obtains the run's state.
enum RunSource {
    /// From the journal, under a lease that is still to be acquired.
    Stored(RunId),
    /// From the journal, already read under a lease of this worker.
    Held(Box<ResumableRun>, Lease),
    /// From memory: nothing of the run is stored.
    New(Box<PendingRun>),
}

impl RunSource {
    fn run_id(&self) -> &RunId {
        match self {
            Self::Stored(run_id) => run_id,
            Self::Held(housed, _) => housed.folded.run.id(),
            Self::New(new) => new.run.id(),
        }
    }
}

/// Running effects.
type InFlight = FuturesUnordered<BoxFuture<'static, StepEnd>>;

impl RunService {
    /// Drives a run from the state in its journal to its end, or until it waits for a person. If this process drives
    /// the run already, waits for that driver first. [`Driven::Elsewhere`] while another process holds the run.
    ///
    /// # Errors
    /// `unavailable` if the engine stops first; errors of storage. A failed step is not an error: it is part of the
    /// run's outcome.
    pub(crate) async fn drive_stored(
        self: &Arc<Self>,
        run_id: &RunId,
        workspace: Workspace,
        progress: Progress,
    ) -> Result<Driven, EngineError> {
        let whence = RunSource::Stored(run_id.clone());
        self.drive_when_slot_free(whence, workspace, progress).await
    }

    /// Drives a run that is not stored yet. One commit creates the run, acquires its lease and begins its first steps.
    ///
    /// # Errors
    /// As for [`RunService::drive_stored`]; `already_exists` if the run is in storage.
    pub(crate) async fn drive_new(
        self: &Arc<Self>,
        new: NewRun,
        progress: Progress,
    ) -> Result<Driven, EngineError> {
        let new = self.unstored(new)?;
        let pinned = self.pinned.load_new(&new).await?;
        let whence = RunSource::New(Box::new(new));
        self.drive_when_slot_free(whence, pinned.workspace, progress)
            .await
    }

    /// Drives a new run in an acquired slot, for a caller that waits only until the run is stored.
    pub(super) async fn drive_new_in_slot(
        self: &Arc<Self>,
        place: DriverHandle,
        new: PendingRun,
    ) -> Result<Driven, EngineError> {
        let pinned = self.pinned.load_new(&new).await?;
        let whence = RunSource::New(Box::new(new));
        self.drive_in_slot(place, whence, pinned.workspace, Progress::silent())
            .await
    }

    async fn drive_when_slot_free(
        self: &Arc<Self>,
        whence: RunSource,
        workspace: Workspace,
        progress: Progress,
    ) -> Result<Driven, EngineError> {
        if self.settings.duty == ProcessRole::Api {
            let left = self.delegate_to_workers(whence, &workspace.tenant).await?;
            return Ok(Driven::Here(Box::new(left)));
        }
        let place = self.drivers.acquire_when_free(whence.run_id()).await;
        self.drive_in_slot(place, whence, workspace, progress).await
    }

    /// Drives a run that this process claimed. If the run cannot be read, its lease is left to expire, so that it is
    /// not claimed again at once.
    pub(super) async fn drive_claimed(
        self: &Arc<Self>,
        place: DriverHandle,
        run: &RunRecord,
        lease: Lease,
    ) -> Result<Driven, EngineError> {
        let reading = async {
            let housed = self
                .journals
                .fold_for_resume(&run.tenant_id, &run.run_id)
                .await?;
            let pinned = self.pinned.load(&run.tenant_id, &housed.folded.run).await?;
            Ok((housed, pinned.workspace))
        };
        let Some((housed, workspace)) = run_unless_revoked(&place.lost, reading).await? else {
            return Ok(Driven::Elsewhere);
        };
        let whence = RunSource::Held(Box::new(housed), lease);
        self.drive_in_slot(place, whence, workspace, Progress::silent())
            .await
    }

    async fn drive_in_slot(
        self: &Arc<Self>,
        mut place: DriverHandle,
        whence: RunSource,
        workspace: Workspace,
        progress: Progress,
    ) -> Result<Driven, EngineError> {
        let (run_id, tenant) = (whence.run_id().clone(), workspace.tenant.clone());
        // The end of any other run does not by itself produce a request's result.
        let changes = workspace.kind == RunKind::Playbook;
        let clients = held(&self.clients)?;
        let span = telemetry::run(&run_id, &tenant);
        let driving = self.drive_under_lease(&clients, whence, workspace, progress, &mut place);
        let driven = driving.instrument(span.clone()).await;
        let left = driven.as_ref().map(|driven| match driven {
            Driven::Here(run) => Some(&**run),
            Driven::Elsewhere => None,
        });
        telemetry::run_left(&span, left);
        drop((span, place.seat));
        if has_unread_notice(&mut place.orders) {
            self.spawn_driver(tenant.clone(), run_id);
        }
        let driven = driven?;
        if let Driven::Here(run) = &driven {
            self.schedule_wake(run, &tenant);
            if changes {
                clients.record_end(&tenant, run).await;
            }
        }
        Ok(driven)
    }

    /// Waits while a worker drives the run, to its end or until it waits for a person.
    async fn delegate_to_workers(
        self: &Arc<Self>,
        whence: RunSource,
        tenant: &TenantId,
    ) -> Result<Run, EngineError> {
        let run_id = whence.run_id().clone();
        if let RunSource::New(new) = whence {
            self.store_new(*new).await?;
        }
        self.await_other_replica(tenant, &run_id).await
    }

    /// Waits until a run that another process drives has ended or waits for a person, and returns it.
    pub(crate) async fn await_other_replica(
        &self,
        tenant: &TenantId,
        run_id: &RunId,
    ) -> Result<Run, EngineError> {
        self.await_settled(tenant, run_id).await?;
        Ok(self.journals.fold(tenant, run_id).await?.run)
    }

    /// Waits until a run with another driver has ended or waits for a person.
    async fn await_settled(&self, tenant: &TenantId, run: &RunId) -> Result<(), EngineError> {
        loop {
            // Registered before looking, so that no notification in between is missed.
            let change = ChangeWait::register(&self.news);
            let record = self.store.run(tenant, run).await?;
            let record = record.ok_or_else(|| EngineError::not_found("run", run))?;
            if !record.status.is_active() {
                return Ok(());
            }
            match change.wait(POLL_INTERVAL, &self.draining).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return Err(EngineError::interrupted()),
            }
        }
    }

    async fn drive_under_lease(
        self: &Arc<Self>,
        clients: &Arc<dyn RunClients>,
        whence: RunSource,
        workspace: Workspace,
        progress: Progress,
        place: &mut DriverHandle,
    ) -> Result<Driven, EngineError> {
        let (housed, hold, unwritten, artifacts) = match whence {
            RunSource::Stored(run_id) => {
                let Some(lease) = self.acquire_lease(&run_id).await? else {
                    return Ok(Driven::Elsewhere);
                };
                self.drivers.set_lease_held(&run_id, lease.fence);
                match self
                    .journals
                    .fold_for_resume(&workspace.tenant, &run_id)
                    .await
                {
                    Ok(housed) => (housed, RunOwnership::Held(lease), Vec::new(), Vec::new()),
                    Err(error) => {
                        self.store.release(&lease).await?;
                        return Err(error);
                    }
                }
            }
            RunSource::Held(housed, lease) => {
                (*housed, RunOwnership::Held(lease), Vec::new(), Vec::new())
            }
            RunSource::New(new) => {
                let room = self.memory.for_run(&workspace.tenant);
                let part = room.take(new.run.memory(), VALUES_TIMEOUT).await?;
                let hold = RunOwnership::Unstored(Box::new(new.record), new.stored);
                let started = vec![new.started];
                let folded = FoldedRun::unwritten(new.run);
                let housed = ResumableRun { folded, room, part };
                (housed, hold, started, new.artifacts)
            }
        };
        let ResumableRun { folded, room, part } = housed;
        let told = match hold {
            RunOwnership::Unstored(..) => None,
            RunOwnership::Held(_) | RunOwnership::Returned => Some(folded.run.status()),
        };
        let mission = mission::state_of(&folded.run);
        let mut drive = RunDriver {
            runs: self,
            clients,
            told,
            folded,
            hold,
            workspace,
            progress,
            cancel: self.background.shutdown.child_token(),
            orders: &mut place.orders,
            unwritten,
            approvals: Vec::new(),
            set_aside: BTreeSet::new(),
            artifacts,
            memory: Vec::new(),
            room,
            kept: part.into_iter().collect(),
            mission,
            turns: RateLimitQueue::default(),
        };
        let ended = run_unless_revoked(&place.lost, drive.run_loop()).await;
        drive.cancel.cancel();
        if let RunOwnership::Held(lease) = &drive.hold {
            self.store.release(lease).await?;
        }
        match ended {
            Ok(Some(())) => Ok(Driven::Here(Box::new(drive.folded.run))),
            Ok(None) => Ok(Driven::Elsewhere),
            Err(error) if is_lease_lost(&error, drive.folded.run.id()) => Ok(Driven::Elsewhere),
            Err(error) => Err(error),
        }
    }

    /// Acquires this worker's lease on a run; `None` while another worker holds it.
    pub(super) async fn acquire_lease(&self, run_id: &RunId) -> Result<Option<Lease>, EngineError> {
        let now = self.clock.now();
        let until = moments::after(now, self.settings.lease);
        let (run, holder) = (run_id.as_str(), self.holder.as_str());
        Ok(self.store.acquire(run, holder, now, until).await?)
    }
}

impl RunDriver<'_> {
    async fn run_loop(&mut self) -> Result<(), EngineError> {
        let mut in_flight = InFlight::new();
        let mut in_hand: BTreeSet<StepId> = BTreeSet::new();
        self.apply_approval_decisions().await?;
        loop {
            self.apply_automatic_transitions().await?;
            if self.is_past_deadline() {
                self.handle_deadlines(&mut in_flight, &mut in_hand).await?;
                continue;
            }
            let has_come = |moment| self.runs.deadlines.is_due(moment);
            let waiting = self.turns.waiting(has_come);
            let next = match waiting.is_empty() {
                true => self.folded.run.next(&in_hand, has_come),
                false => self.folded.run.next(&(&in_hand | &waiting), has_come),
            };
            match next {
                Next::Ended => {
                    self.expire_pending_approvals().await?;
                    return self.write(NextPhase::Ends).await;
                }
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
                    for effect in self.begin_steps(&steps).await? {
                        in_hand.insert(effect.call().step.clone());
                        in_flight.push(self.start_effect(effect));
                    }
                }
                Next::Wait { until }
                    if in_flight.is_empty() && waiting.is_empty() && !self.is_soon(until) =>
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
        loop {
            let effort = Effort::long_if_any([self.folded.run.asks_expressions()]);
            let tenant = &self.workspace.tenant;
            let place = self.runs.questions.slot_for(tenant, effort).await;
            let events = place.ask(|| self.folded.run.advance());
            if events.is_empty() {
                return Ok(());
            }
            if events.iter().any(RunEvent::is_final) {
                self.leave_evidence().await?;
            }
            self.apply_events(events)?;
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

    /// Returns whether a time is near enough to keep the run until then.
    fn is_soon(&self, until: Option<Timestamp>) -> bool {
        until.is_some_and(|until| self.runs.deadlines.time_until(until) < self.runs.settings.lease)
    }

    /// Returns whether the run's time limit has passed; nothing may begin after that.
    fn is_past_deadline(&self) -> bool {
        let end = self.folded.run.deadline();
        end.is_some_and(|end| self.runs.deadlines.is_due(end))
    }

    /// Handles expired deadlines: approvals that lapse, and the run's time limit.
    async fn handle_deadlines(
        &mut self,
        in_flight: &mut InFlight,
        in_hand: &mut BTreeSet<StepId>,
    ) -> Result<(), EngineError> {
        if self.is_past_deadline() {
            self.apply_command(Command::TimeUp)?;
            self.abandon_effects(in_flight, in_hand).await?;
        }
        self.apply_approval_decisions().await
    }

    /// Ends the running effects. Their results are unknown, and their steps record that.
    async fn abandon_effects(
        &mut self,
        in_flight: &mut InFlight,
        in_hand: &mut BTreeSet<StepId>,
    ) -> Result<(), EngineError> {
        self.cancel.cancel();
        self.cancel = self.runs.background.shutdown.child_token();
        in_flight.clear();
        for step in std::mem::take(in_hand) {
            let message = format!("the run timed out while the step `{step}` was running");
            let failure = failure(ErrorKind::TimeoutError, ErrorCode::ToolTimeout, message);
            let tokens = TokenUsage::default();
            let failed = StepEnd::Failed {
                step,
                failure,
                tokens,
            };
            self.finish_step(failed).await?;
        }
        Ok(())
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
        let (run, tenant) = (self.folded.run.id(), &self.workspace.tenant);
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
        let Some(desk) = self.workspace.desk.clone() else {
            return end;
        };
        match desk.admit(&self.folded.run, step, output) {
            Ok(artifacts) => {
                self.artifacts.extend(artifacts);
                self.runs.pinned.add_tools(&mut self.workspace, tools);
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
                self.folded.asked = true;
                let approval =
                    self.runs
                        .approvals
                        .requested(&self.workspace, &self.folded.run, asked);
                let record = approvals::record(&approval)?;
                self.approvals.push(ApprovalChange::Ask(record));
            }
            let unwritten = PendingEvent::new(&event, at)?;
            let folded = self.folded.run.apply(event, at);
            folded.map_err(|error| EngineError::internal("folding an event", error))?;
            self.unwritten.push(unwritten);
        }
        Ok(())
    }
}

fn decided(events: Result<Vec<RunEvent>, IllegalTransition>) -> Result<Vec<RunEvent>, EngineError> {
    events.map_err(|error| EngineError::internal("deciding on a run", error))
}
