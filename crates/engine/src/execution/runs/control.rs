//! Commands of people for a running run: give parameters, confirm, pause, resume, abort.
//!
//! If this process drives the run, the command goes through the driver, so that the run has one writer. Otherwise the
//! command is decided here, in the driver's slot and under the run's lease.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RunId, TenantId};
use charter_domain::mission;
use charter_domain::run::{Command, IllegalTransition, Next, Run, RunEvent, RunOrder};
use charter_store::journal::{Append, ClaimedRun, NextPhase};
use charter_store::lease::Lease;
use tokio::sync::oneshot;
use tracing::Instrument;

use super::drivers::{
    Decided, Driven, DriverHandle, DriverMessage, has_unread_notice, held_elsewhere, is_lease_lost,
};
use super::journal::{FoldedRun, PendingEvent, chain, is_of_newer};
use super::progress::Progress;
use super::{PendingRun, RunService};
use crate::EngineError;
use crate::execution::events;
use crate::ground::questions::Effort;
use crate::ground::settings::ProcessRole;

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
            Decided::Here => self.spawn_driver(tenant.clone(), run.clone()),
            Decided::Elsewhere => {}
        }
        Ok(decided)
    }

    /// Returns whether this process drives runs. Workers claim the runs that it does not drive.
    pub(super) fn drives_runs(&self) -> bool {
        self.settings.duty != ProcessRole::Api && !self.draining.is_cancelled()
    }

    /// Drives a run in the background, as far as it goes. If it already has a driver, that driver checks it again.
    pub(crate) fn spawn_driver(self: &Arc<Self>, tenant: TenantId, run: RunId) {
        if !self.drives_runs() {
            return;
        }
        let runs = Arc::clone(self);
        let driving = async move {
            if let Some(driver) = runs.drivers.driver(&run)
                && driver.send(DriverMessage::Refresh).await.is_ok()
            {
                return;
            }
            let driven = runs.drive_unattended(&tenant, &run).await;
            runs.log_driver_result(run, driven).await;
        };
        self.spawn(driving.in_current_span());
    }

    /// Drives a run in the background that this process just claimed.
    ///
    /// It acquires the driver's slot at once, so the lease is renewed however long the run queues. Otherwise leases
    /// expire before work starts, and replicas livelock.
    pub(crate) fn spawn_claimed_driver(self: &Arc<Self>, claimed: ClaimedRun) {
        let ClaimedRun { run, lease } = claimed;
        let Ok(place) = self.drivers.acquire(&run.run_id) else {
            // The present driver either continues under this lease, or stops and has the run resumed.
            self.drivers.supersede(&run.run_id, lease.fence);
            return self.spawn_driver(run.tenant_id, run.run_id);
        };
        self.drivers
            .set_claimed_lease_held(&run.run_id, lease.fence);
        let runs = Arc::clone(self);
        let driving = async move {
            let driven = runs.drive_claimed(place, &run, lease).await;
            runs.log_driver_result(run.run_id, driven).await;
        };
        self.spawn(driving.in_current_span());
    }

    /// Drives a new run in the background. Returns once storing it has succeeded or failed.
    ///
    /// # Errors
    /// `already_exists` if the run is in storage; otherwise the error that prevented storing it.
    pub(super) async fn spawn_new_run(
        self: &Arc<Self>,
        place: DriverHandle,
        new: PendingRun,
    ) -> Result<(), EngineError> {
        let (runs, stored) = (Arc::clone(self), Arc::clone(&new.stored));
        let is_stored = Arc::clone(&stored);
        let driving = async move {
            let run = new.record.run_id.clone();
            match runs.drive_new_in_slot(place, new).await {
                Err(error) if !is_stored.initialized() => Err(error),
                Ok(Driven::Elsewhere) if !is_stored.initialized() => Err(held_elsewhere()),
                driven => {
                    runs.log_driver_result(run, driven).await;
                    Ok(())
                }
            }
        };
        let driving = self.spawn(driving.in_current_span());
        tokio::select! {
            biased;
            _ = stored.wait() => Ok(()),
            driven = driving => {
                driven.unwrap_or_else(|error| Err(EngineError::internal("driving a run", error)))
            }
        }
    }

    /// Logs the result of a background driver.
    async fn log_driver_result(&self, run: RunId, driven: Result<Driven, EngineError>) {
        match driven {
            Err(error) if is_of_newer(&error) => self.leave_to_newer_version(run, &error).await,
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(run.id = %run, error = %error, cause, "a run could not be driven; retrying");
            }
            Ok(Driven::Here(_) | Driven::Elsewhere) => {}
        }
    }

    /// Releases a run that a newer version carries on, and stops claiming it.
    async fn leave_to_newer_version(&self, run: RunId, error: &EngineError) {
        let cause = std::error::Error::source(error).map(ToString::to_string);
        tracing::warn!(run.id = %run, cause, "leaving a run to the newer version that wrote its journal");
        let lease = self.acquire_lease(&run).await;
        // Before the lease is released: after that, this process could claim the run again.
        self.claims.leave(run);
        if let Ok(Some(lease)) = lease {
            // If this fails, the lease expires.
            drop(self.store.release(&lease).await);
        }
    }

    /// Drives a run that no request waits for.
    pub(crate) async fn drive_unattended(
        self: &Arc<Self>,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Driven, EngineError> {
        let pinned = self.pinned.load_stored(tenant, run).await?;
        self.drive_stored(run, pinned.workspace, Progress::silent())
            .await
    }

    /// Schedules a waiting run to resume when its wake time comes.
    pub(super) fn schedule_wake(self: &Arc<Self>, run: &Run, tenant: &TenantId) {
        let nothing = std::collections::BTreeSet::new();
        let next = run.next(&nothing, |moment| self.deadlines.is_due(moment));
        let Next::Wait { until: Some(until) } = next else {
            return;
        };
        let (runs, tenant, run) = (Arc::clone(self), tenant.clone(), run.id().clone());
        let wait = self.deadlines.time_until(until);
        let waking = async move {
            tokio::select! {
                () = runs.background.shutdown.cancelled() => {}
                () = tokio::time::sleep(wait) => runs.spawn_driver(tenant, run),
            }
        };
        self.spawn(waking);
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
            self.spawn_driver(tenant.clone(), run_id.clone());
        }
        match decided? {
            Driven::Here(run) => {
                if let Some(clients) = self.clients.upgrade() {
                    clients.record_end(tenant, &run).await;
                }
                Ok(Decided::Here)
            }
            Driven::Elsewhere => Ok(Decided::Elsewhere),
        }
    }

    async fn decide_under_lease(
        &self,
        tenant: &TenantId,
        run_id: &RunId,
        command: Command,
    ) -> Result<Driven, EngineError> {
        let Some(lease) = self.acquire_lease(run_id).await? else {
            return Ok(Driven::Elsewhere);
        };
        let decided = self.append_decided(tenant, run_id, command, &lease).await;
        if decided.is_err() {
            self.store.release(&lease).await?;
        }
        match decided {
            Ok(run) => Ok(Driven::Here(Box::new(run))),
            Err(error) if is_lease_lost(&error, run_id) => Ok(Driven::Elsewhere),
            Err(error) => Err(error),
        }
    }

    /// Returns whether evidence must be recorded before a run may end.
    async fn needs_evidence(&self, tenant: &TenantId, run: &Run) -> Result<bool, EngineError> {
        if run.steps().calls().is_empty() {
            return Ok(false);
        }
        let pinned = self.pinned.load(tenant, run).await?;
        Ok(pinned.workspace.leaves_evidence(&self.evidence))
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
            if events.iter().any(RunEvent::is_final) && self.needs_evidence(tenant, &run).await? {
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
            messages: events::about_run(tenant, &run, before, &approvals, at),
            approvals,
            artifacts: Vec::new(),
            mission_state: mission::state_of(&run).filter(|now| stood != Some(*now)),
            release: true,
        };
        self.journals.append(append).await?;
        Ok(run)
    }
}
