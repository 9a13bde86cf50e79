//! Driving one run: decide, append, act, append, until nothing is left or a person is awaited.
//!
//! What one turn of the loop decides is appended in one piece: the end of a step and the beginning
//! of the next share a commit. An effect starts only after its beginning is durable.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ApprovalId, RunId, StepId};
use charter_contract::time::Timestamp;
use charter_domain::approval::{Approval, State};
use charter_domain::gate::{self, Decision};
use charter_domain::run::{
    Beginning, Command, ErrorKind, Next, Run, RunEvent, StepFailure, StepState,
};
use charter_store::approval::ApprovalChange;
use charter_store::journal::{Append, RunPhase};
use charter_store::lease::Lease;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::control::Order;
use super::effect::{Preparation, Prepared, StepEnd, Workspace, failure};
use super::journal::{Folded, chain};
use crate::approvals;
use crate::requests::Progress;
use crate::{Engine, EngineError};

/// A run that this worker holds.
struct Drive<'e> {
    engine: &'e Arc<Engine>,
    folded: Folded,
    lease: Lease,
    held: bool,
    workspace: Workspace,
    progress: Progress,
    cancel: CancellationToken,
    orders: mpsc::Receiver<Order>,
    /// Decided and not yet durable.
    unwritten: Vec<(RunEvent, Timestamp)>,
    approvals: Vec<ApprovalChange>,
}

/// Effects under way.
type InFlight = FuturesUnordered<BoxFuture<'static, StepEnd>>;

impl Engine {
    /// Drives a run to its end, or until it waits for a person, wherever its journal says that it
    /// stands.
    ///
    /// # Errors
    /// `overloaded` while another worker holds the run; `unavailable` when the engine stops first;
    /// what storage says otherwise. Failures of steps are no errors: they are in the run's outcome.
    pub(crate) async fn drive(
        self: &Arc<Self>,
        run_id: &RunId,
        workspace: Workspace,
        progress: Progress,
    ) -> Result<Run, EngineError> {
        let (seat, orders) = self.drivers().sit(run_id).ok_or_else(busy)?;
        let lease = self.lease_of(run_id).await?;
        let folded = match self.fold(run_id).await {
            Ok(folded) => folded,
            Err(error) => {
                self.store().release(&lease).await?;
                return Err(error);
            }
        };
        let mut drive = Drive {
            engine: self,
            folded,
            lease,
            held: true,
            workspace,
            progress,
            cancel: self.shutdown().child_token(),
            orders,
            unwritten: Vec::new(),
            approvals: Vec::new(),
        };
        let ended = drive.go_on().await;
        drive.cancel.cancel();
        drop(seat);
        if drive.held {
            self.store().release(&drive.lease).await?;
        }
        ended?;
        self.wake_later(&drive.folded.run, &drive.workspace.tenant);
        Ok(drive.folded.run)
    }

    /// This worker's hold on a run.
    pub(super) async fn lease_of(&self, run_id: &RunId) -> Result<Lease, EngineError> {
        let now = self.now();
        let until = self.after(now, self.settings().lease);
        let lease = self
            .store()
            .acquire(run_id.as_ref(), self.holder(), now, until);
        lease.await?.ok_or_else(busy)
    }
}

fn busy() -> EngineError {
    EngineError::new(ErrorCode::Overloaded, "another worker holds the run")
}

fn interrupted() -> EngineError {
    let message = "the server is stopping; this goes on when it is back";
    EngineError::new(ErrorCode::Unavailable, message)
}

impl Drive<'_> {
    async fn go_on(&mut self) -> Result<(), EngineError> {
        let mut in_flight = InFlight::new();
        let mut in_hand: BTreeSet<StepId> = BTreeSet::new();
        self.look_at_approvals().await?;
        loop {
            self.settle()?;
            let now = self.engine.now();
            match self.folded.run.next(&in_hand, now) {
                Next::Ended => {
                    self.lapse_pending().await?;
                    return self.write(Some(Parked::ENDED)).await;
                }
                // Effects under way are dropped, which ends them: the journal says that they began,
                // and whoever takes the run up begins them again under the same key.
                Next::Start(_) | Next::Wait { .. } if self.cancel.is_cancelled() => {
                    self.write(None).await?;
                    return Err(interrupted());
                }
                Next::Start(steps) => {
                    let mut effects = Vec::with_capacity(steps.len());
                    for step in steps {
                        // What cannot start may end the run or skip the steps after it.
                        match self.begin(&step)? {
                            Some(effect) => effects.push(effect),
                            None => break,
                        }
                    }
                    self.write(None).await?;
                    for effect in effects {
                        in_hand.insert(effect.call().step.clone());
                        in_flight.push(self.start(effect));
                    }
                }
                Next::Wait { until } if in_flight.is_empty() && !self.is_soon(until, now) => {
                    return self.write(Some(Parked { until })).await;
                }
                Next::Wait { until } => {
                    self.write(None).await?;
                    self.wait(&mut in_flight, &mut in_hand, until).await?;
                }
            }
        }
    }

    /// What follows by itself.
    fn settle(&mut self) -> Result<(), EngineError> {
        loop {
            let events = self.folded.run.advance();
            if events.is_empty() {
                return Ok(());
            }
            self.take(events)?;
        }
    }

    /// Waits for the first of: the end of an effect, an order, the moment, the lease's renewal.
    async fn wait(
        &mut self,
        in_flight: &mut InFlight,
        in_hand: &mut BTreeSet<StepId>,
        until: Option<Timestamp>,
    ) -> Result<(), EngineError> {
        let beat = self.engine.settings().lease / 3;
        let patience = until.map_or(beat, |until| {
            self.engine.span(self.engine.now(), until).min(beat)
        });
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Ok(()),
            Some(order) = self.orders.recv() => self.obey(order).await,
            Some(end) = in_flight.next(), if !in_flight.is_empty() => {
                in_hand.remove(end.step());
                self.end(end)
            }
            () = tokio::time::sleep(patience) => {
                self.on_time(in_flight, in_hand).await?;
                self.renew(self.engine.settings().lease).await
            }
        }
    }

    /// Whether a moment is so near that the run is worth holding until then.
    fn is_soon(&self, until: Option<Timestamp>, now: Timestamp) -> bool {
        until.is_some_and(|until| self.engine.span(now, until) < self.engine.settings().lease)
    }

    /// Carries out what a moment brought: approvals that lapse, the run's time limit.
    async fn on_time(
        &mut self,
        in_flight: &mut InFlight,
        in_hand: &mut BTreeSet<StepId>,
    ) -> Result<(), EngineError> {
        let now = self.engine.now();
        if self.folded.run.deadline().is_some_and(|end| end <= now) {
            self.decide(Command::TimeUp)?;
            self.cut_off(in_flight, in_hand)?;
        }
        self.look_at_approvals().await
    }

    /// Ends the effects under way. What they did is not known, and their steps say so.
    fn cut_off(
        &mut self,
        in_flight: &mut InFlight,
        in_hand: &mut BTreeSet<StepId>,
    ) -> Result<(), EngineError> {
        self.cancel.cancel();
        self.cancel = self.engine.shutdown().child_token();
        in_flight.clear();
        for step in std::mem::take(in_hand) {
            let message = format!("the run's time was over while the step `{step}` was under way");
            let failure = failure(ErrorKind::TimeoutError, ErrorCode::ToolTimeout, message);
            self.end(StepEnd::Failed { step, failure })?;
        }
        Ok(())
    }

    async fn obey(&mut self, order: Order) -> Result<(), EngineError> {
        match order {
            Order::Look => self.look_at_approvals().await,
            Order::Command(command, answer) => {
                let decided = self.folded.run.decide(command);
                let accepted = match decided {
                    Ok(events) => {
                        self.take(events)?;
                        self.write(None).await
                    }
                    Err(refused) => Err(super::control::illegal(&refused)),
                };
                let failed = accepted
                    .as_ref()
                    .err()
                    .is_some_and(|error| error.code != ErrorCode::IllegalTransition);
                // A caller that has gone away is not told; the order stands.
                drop(answer.send(accepted));
                if failed {
                    return Err(interrupted());
                }
                Ok(())
            }
        }
    }

    /// Decides that a step begins; one that may not is failed, skipped or waits for a person, and
    /// has no effect.
    fn begin(&mut self, step: &StepId) -> Result<Option<Box<Prepared>>, EngineError> {
        let at = self.engine.now();
        let mut prepared = match self.workspace.prepare(&self.folded.run, step) {
            Ok(Preparation::Effect(prepared)) => prepared,
            Ok(Preparation::NotInDryRun) => {
                let step = step.clone();
                self.decide(Command::SkipForDryRun { step })?;
                return Ok(None);
            }
            Err(failure) => {
                let step = step.clone();
                self.decide(Command::Fail { step, failure, at })?;
                return Ok(None);
            }
        };
        self.take_turn(&mut prepared, at);
        let beginning = Beginning {
            call: prepared.call().clone(),
            decision: prepared.decision().clone(),
            approval: ApprovalId::from_uuid(self.engine.new_uuid()),
            expires_at: self.engine.after(at, self.engine.settings().approval_ttl),
        };
        self.decide(Command::Begin(Box::new(beginning)))?;
        let begun = self.folded.run.is_interrupted(step);
        Ok(begun.then_some(prepared))
    }

    /// Counts a call that is about to happen against its tool's rate limit, or refuses it.
    fn take_turn(&self, prepared: &mut Prepared, at: Timestamp) {
        let call = prepared.call();
        let approved = self
            .folded
            .run
            .approver(&call.step, &call.digest())
            .is_some();
        let happens = match prepared.decision() {
            Decision::Allow { .. } => true,
            Decision::NeedsApproval { .. } => approved,
            Decision::Deny { .. } => false,
        };
        let tool = prepared.tool();
        let limits = self.engine.rate_limits();
        if happens && let Err(too_soon) = limits.take(&self.workspace.tenant, tool, at) {
            let seconds = too_soon.wait_ms.div_ceil(1_000);
            prepared.refuse(gate::too_soon(tool, seconds));
        }
    }

    fn start(&self, effect: Box<Prepared>) -> BoxFuture<'static, StepEnd> {
        let step = &effect.call().step;
        self.progress.step_started(step, &effect.call().tool);
        let engine = Arc::clone(self.engine);
        let key = self.folded.run.idempotency_key(step);
        let cancel = self.cancel.child_token();
        Box::pin(async move { effect.perform(&engine, key, cancel).await })
    }

    fn end(&mut self, end: StepEnd) -> Result<(), EngineError> {
        // A step that was cut off because the server stops has not failed: it is taken up again.
        if matches!(end, StepEnd::Failed { .. }) && self.engine.shutdown().is_cancelled() {
            return Err(interrupted());
        }
        self.progress.step_ended(&end);
        self.decide(match end {
            StepEnd::Succeeded {
                step,
                output,
                source,
                duration_ms,
            } => Command::Succeed {
                step,
                output,
                source,
                duration_ms,
            },
            StepEnd::Failed { step, failure } => Command::Fail {
                step,
                failure,
                at: self.engine.now(),
            },
        })
    }

    /// Uses what people have decided since, and lapses what nobody decided in time.
    async fn look_at_approvals(&mut self) -> Result<(), EngineError> {
        let awaited: Vec<(StepId, ApprovalId)> = self
            .folded
            .run
            .steps()
            .filter_map(|(step, state)| match state {
                StepState::AwaitingApproval { approval, .. } => {
                    Some((step.clone(), approval.clone()))
                }
                _ => None,
            })
            .collect();
        let now = self.engine.now();
        for (step, id) in awaited {
            let approval = self.engine.approval_of(&self.workspace.tenant, &id).await?;
            self.use_approval(step, &approval, now)?;
        }
        self.write(None).await
    }

    fn use_approval(
        &mut self,
        step: StepId,
        approval: &Approval,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        let id = approval.approval_id.clone();
        let command = match &approval.state {
            State::Approved(decided) => match approval.consume(&approval.digest, now) {
                Ok(consumed) => {
                    let change = approvals::moved(approval, consumed)?;
                    self.approvals.push(ApprovalChange::Move(change));
                    Command::Grant {
                        step,
                        approval: id,
                        digest: approval.digest.clone(),
                        by: decided.by.clone(),
                    }
                }
                Err(_) => self.lapse(step, approval)?,
            },
            State::Rejected(decided) => {
                let reason = decided.reason.as_deref().unwrap_or("no reason was given");
                let message = format!("`{}` rejected it: {reason}", decided.by);
                Command::Refuse {
                    step,
                    approval: id,
                    by: Some(decided.by.clone()),
                    failure: denied(ErrorCode::ApprovalRejected, message),
                }
            }
            State::Pending if now >= approval.expires_at => self.lapse(step, approval)?,
            State::Pending => return Ok(()),
            // Used or lapsed by a turn whose append did not happen: the store has the last word.
            State::Consumed(_) | State::Lapsed => self.refuse_lapsed(step, approval),
        };
        self.decide(command)
    }

    fn lapse(&mut self, step: StepId, approval: &Approval) -> Result<Command, EngineError> {
        let change = approvals::moved(approval, State::Lapsed)?;
        self.approvals.push(ApprovalChange::Move(change));
        Ok(self.refuse_lapsed(step, approval))
    }

    fn refuse_lapsed(&self, step: StepId, approval: &Approval) -> Command {
        let message = format!("nobody decided before {}", approval.expires_at);
        Command::Refuse {
            step,
            approval: approval.approval_id.clone(),
            by: None,
            failure: denied(ErrorCode::ApprovalExpired, message),
        }
    }

    /// At a run's end nobody needs to decide any more.
    async fn lapse_pending(&mut self) -> Result<(), EngineError> {
        let (tenant, run) = (&self.workspace.tenant, self.folded.run.id());
        for change in self.engine.lapsing(tenant, run).await? {
            let id = |change: &ApprovalChange| match change {
                ApprovalChange::Move(change) => Some(change.approval_id.clone()),
                ApprovalChange::Ask(_) => None,
            };
            // One that this turn uses or lapses itself still looks open in storage.
            if self.approvals.iter().all(|known| id(known) != id(&change)) {
                self.approvals.push(change);
            }
        }
        Ok(())
    }

    fn decide(&mut self, command: Command) -> Result<(), EngineError> {
        let events = self.folded.run.decide(command);
        self.take(events.map_err(|error| EngineError::internal("deciding on a run", error))?)
    }

    /// Folds events, to be written with the next append.
    fn take(&mut self, events: Vec<RunEvent>) -> Result<(), EngineError> {
        let at = self.engine.now();
        for event in events {
            if let RunEvent::ApprovalRequested(asked) = &event {
                let approval = self
                    .engine
                    .approval_asked(&self.workspace, &self.folded.run, asked);
                let record = approvals::record(&approval)?;
                self.approvals.push(ApprovalChange::Ask(record));
            }
            let folded = self.folded.run.apply(event.clone(), at);
            folded.map_err(|error| EngineError::internal("folding an event", error))?;
            self.unwritten.push((event, at));
        }
        Ok(())
    }

    /// Makes what was decided durable. `parked` gives the run back: nothing of it is under way.
    async fn write(&mut self, parked: Option<Parked>) -> Result<(), EngineError> {
        let run = &self.folded.run;
        if self.unwritten.is_empty() {
            if let Some(parked) = parked.filter(|_| run.outcome().is_none()) {
                let id = run.id().clone();
                let parking = self
                    .engine
                    .store()
                    .park(&id, self.lease.fence, parked.until);
                parking.await?;
                self.held = false;
            }
            return Ok(());
        }
        let events = std::mem::take(&mut self.unwritten);
        let approvals = std::mem::take(&mut self.approvals);
        let chained = chain(self.folded.head, self.folded.version, &events)?;
        let head = chained.last().map_or(self.folded.head, |event| event.hash);
        let phase = match (run.outcome(), parked) {
            (Some(_), _) => RunPhase::Finished,
            (None, Some(_)) => RunPhase::Waiting,
            (None, None) => RunPhase::Runnable,
        };
        let append = Append {
            run_id: run.id().clone(),
            expected: self.folded.version,
            fence: self.lease.fence,
            events: chained,
            phase,
            status: run.status().to_owned(),
            wake_at: parked.and_then(|parked| parked.until),
            approvals,
            release: parked.is_some(),
            messages: Vec::new(),
        };
        self.folded.version = self.engine.store().append(append).await?;
        self.folded.head = head;
        self.held &= parked.is_none();
        Ok(())
    }

    async fn renew(&mut self, lease: Duration) -> Result<(), EngineError> {
        let expires_at = self.engine.after(self.engine.now(), lease);
        self.lease = self.engine.store().renew(&self.lease, expires_at).await?;
        Ok(())
    }
}

/// A run that is given back, and when it has something to do by itself.
#[derive(Debug, Clone, Copy)]
struct Parked {
    until: Option<Timestamp>,
}

impl Parked {
    const ENDED: Self = Self { until: None };
}

fn denied(code: ErrorCode, message: String) -> StepFailure {
    failure(ErrorKind::PermissionError, code, message)
}
