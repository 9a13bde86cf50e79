//! Commands of people for a running run: give parameters, confirm, pause, resume, abort.
//!
//! If this process drives the run, the command goes through the driver, so that the run has one writer. Otherwise the
//! command is decided here, in the driver's slot and under the run's lease.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RunId, TenantId};
use charter_domain::mission;
use charter_domain::run::{Command, IllegalTransition, Run, RunEvent, RunOrder};
use charter_store::journal::{Append, NextPhase};
use charter_store::lease::Lease;
use tokio::sync::oneshot;

use super::RunService;
use super::drivers::{Decided, DriverMessage, has_unread_notice, held_elsewhere, is_lease_lost};
use super::journal::{FoldedRun, PendingEvent, chain};
use crate::EngineError;
use crate::execution::events;
use crate::ground::questions::Effort;

/// How long a command waits for a run that another driver holds, and the interval between attempts.
const ORDER_TIMEOUT: Duration = Duration::from_secs(1);
const ORDER_RETRY: Duration = Duration::from_millis(20);

/// Converts a refusal by the run's state machine into a client error.
pub(super) fn illegal(refused: &IllegalTransition) -> EngineError {
    EngineError::new(ErrorCode::IllegalTransition, refused.to_string())
}

impl RunService {
    /// Applies a command to a run, then lets the run continue. The command is durable when this returns.
    pub(crate) async fn order(
        self: &Arc<Self>,
        tenant: &TenantId,
        run: &RunId,
        order: RunOrder,
    ) -> Result<(), EngineError> {
        let mut patience = ORDER_TIMEOUT;
        while self.try_order(tenant, run, &order).await? == Decided::Elsewhere {
            // A driver that starts or stops holds the run for a moment; another process holds it for longer.
            if patience.is_zero() {
                return match self.store.is_shared() {
                    true => self.order_elsewhere(tenant, run, &order).await,
                    false => Err(held_elsewhere()),
                };
            }
            tokio::time::sleep(ORDER_RETRY).await;
            patience = patience.saturating_sub(ORDER_RETRY);
        }
        Ok(())
    }

    /// Sends a command to the run's driver. `None` if this process has no driver for it, or the driver stops meanwhile.
    pub(super) async fn send_to_driver(
        &self,
        run: &RunId,
        command: Command,
    ) -> Option<Result<(), EngineError>> {
        let driver = self.drivers.driver(run)?;
        let (answer, answered) = oneshot::channel();
        let order = DriverMessage::Command(Box::new(command), answer);
        driver.send(order).await.ok()?;
        answered.await.ok()
    }

    async fn try_order(
        self: &Arc<Self>,
        tenant: &TenantId,
        run: &RunId,
        order: &RunOrder,
    ) -> Result<Decided, EngineError> {
        match self.send_to_driver(run, order.clone().into()).await {
            Some(Ok(())) => return Ok(Decided::Here),
            Some(Err(error)) if is_lease_lost(&error, run) => return Ok(Decided::Elsewhere),
            Some(Err(error)) => return Err(error),
            None => {}
        }
        let decided = self
            .decide_without_driver(tenant, run, order.clone().into())
            .await?;
        match decided {
            Decided::Here => self.resume(tenant.clone(), run.clone()),
            Decided::Elsewhere => {}
        }
        Ok(decided)
    }

    /// Decides on a run that this process does not drive, in its driver's slot. The lease belongs to the process as a
    /// whole, so the lease alone would not keep out a driver that starts meanwhile. [`Decided::Elsewhere`] while the run
    /// has a driver.
    ///
    /// # Errors
    /// `illegal_transition`; errors of storage.
    pub(crate) async fn decide_without_driver(
        self: &Arc<Self>,
        tenant: &TenantId,
        run_id: &RunId,
        command: Command,
    ) -> Result<Decided, EngineError> {
        let Ok(mut place) = self.drivers.acquire(run_id) else {
            return Ok(Decided::Elsewhere);
        };
        let decided = self.decide_under_lease(tenant, run_id, command).await;
        drop(place.seat);
        if has_unread_notice(&mut place.orders) {
            self.resume(tenant.clone(), run_id.clone());
        }
        let Some(run) = decided? else {
            return Ok(Decided::Elsewhere);
        };
        if let Some(clients) = self.clients.upgrade() {
            clients.record_end(tenant, &run).await;
        }
        Ok(Decided::Here)
    }

    /// Returns the updated run; `None` if another worker holds it or takes it over.
    async fn decide_under_lease(
        &self,
        tenant: &TenantId,
        run_id: &RunId,
        command: Command,
    ) -> Result<Option<Run>, EngineError> {
        let Some(lease) = self.acquire_lease(run_id).await? else {
            return Ok(None);
        };
        let decided = self.append_decided(tenant, run_id, command, &lease).await;
        if decided.is_err() {
            self.store.release(&lease).await?;
        }
        match decided {
            Ok(run) => Ok(Some(run)),
            Err(error) if is_lease_lost(&error, run_id) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns whether evidence must be recorded before a run may end by these events.
    async fn needs_evidence(
        &self,
        tenant: &TenantId,
        run: &Run,
        ending: &[RunEvent],
    ) -> Result<bool, EngineError> {
        if run.steps().calls().is_empty() {
            return Ok(false);
        }
        let pinned = self.pinned.load(tenant, run).await?;
        Ok(pinned.workspace.leaves_evidence(&self.evidence, ending))
    }

    /// Applies a command and appends the resulting events; the same write releases the lease. Returns the updated run.
    async fn append_decided(
        &self,
        tenant: &TenantId,
        run_id: &RunId,
        command: Command,
        lease: &Lease,
    ) -> Result<Run, EngineError> {
        let FoldedRun {
            mut run,
            version,
            head,
            ..
        } = self.journals.fold(tenant, run_id).await?;
        let (at, before) = (self.clock.now(), Some(run.status()));
        let stood = mission::state_of(&run);
        let mut written = Vec::new();
        let mut events = run.decide(command).map_err(|error| illegal(&error))?;
        while !events.is_empty() {
            for event in events {
                written.push(PendingEvent::new(&event, at)?);
                let applied = run.apply(event, at);
                applied.map_err(|error| EngineError::internal("folding an event", error))?;
            }
            let effort = Effort::long_if_any([run.asks_expressions()]);
            let place = self.questions.slot_for(tenant, effort).await;
            events = place.ask(|| run.advance());
            // The run's next driver records the evidence and then ends the run.
            if events.iter().any(RunEvent::is_final)
                && self.needs_evidence(tenant, &run, &events).await?
            {
                break;
            }
        }
        let (then, approvals) = match run.outcome() {
            Some(_) => (
                NextPhase::Ends,
                self.approvals.lapsing(tenant, run_id).await?,
            ),
            None => (NextPhase::Runs, Vec::new()),
        };
        let append = Append {
            tenant_id: tenant.clone(),
            run_id: run_id.clone(),
            expected: version,
            fence: lease.fence,
            events: chain(head, version, written),
            then,
            status: run.status(),
            messages: events::about_run(tenant, &run, (before, run.status()), &approvals, at),
            approvals,
            artifacts: Vec::new(),
            mission_state: mission::state_of(&run).filter(|now| stood != Some(*now)),
            release: true,
        };
        self.journals.append(append).await?;
        Ok(run)
    }
}
