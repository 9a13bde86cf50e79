//! The one path of a driver: it acquires the slot and the lease of a run, loads the run with its pinned documents, runs
//! the loop, and releases the run. [`RunService::start`], [`RunService::resume`] and [`RunService::wait`] are the ways
//! to drive a run; nothing else does.

use std::collections::BTreeSet;
use std::sync::Arc;

use charter_contract::catalogue::policy::RunKind;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RunId, TenantId};
use charter_domain::mission;
use charter_domain::run::{Next, Run};
use charter_store::journal::{ClaimedRun, RunRecord};
use charter_store::lease::Lease;
use charter_store::mission::ArtifactRecord;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::turns::RateLimitQueue;
use super::writing::RunOwnership;
use super::{DrivenRun, RunDriver};
use crate::EngineError;
use crate::execution::outputs::VALUES_TIMEOUT;
use crate::execution::runs::drivers::{
    DriverHandle, DriverMessage, has_unread_notice, held_elsewhere, is_lease_lost,
    run_unless_revoked,
};
use crate::execution::runs::journal::{FoldedRun, PendingEvent, is_of_newer};
use crate::execution::runs::pinned::LoadedRun;
use crate::execution::runs::progress::Progress;
use crate::execution::runs::resumable::ResumableRun;
use crate::execution::runs::{NewRun, PendingRun, RunClients, RunService, held};
use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};
use crate::ground::moments;
use crate::ground::settings::ProcessRole;
use crate::ground::telemetry;

/// Where a driver gets its run from.
enum RunSource {
    /// From memory: nothing of the run is stored.
    New(Box<PendingRun>),
    /// From storage, under a lease that is still to be acquired.
    Stored(TenantId, RunId),
    /// From storage, under the lease with which this process claimed it.
    Claimed(Box<RunRecord>, Lease),
}

impl RunSource {
    fn tenant(&self) -> &TenantId {
        match self {
            Self::New(new) => &new.record.tenant_id,
            Self::Stored(tenant, _) => tenant,
            Self::Claimed(record, _) => &record.tenant_id,
        }
    }

    fn run_id(&self) -> &RunId {
        match self {
            Self::New(new) => &new.record.run_id,
            Self::Stored(_, run) => run,
            Self::Claimed(record, _) => &record.run_id,
        }
    }
}

/// The worker that drove a run as far as it can go.
enum Driven {
    /// This process: the run as its driver left it.
    Here(Box<DrivenRun>),
    /// Another worker, which holds the run or took it over.
    Elsewhere,
}

/// A run that is loaded for the loop.
struct ReadyRun {
    resumable: ResumableRun,
    pinned: LoadedRun,
    hold: RunOwnership,
    /// Events that are decided and not yet durable.
    unwritten: Vec<PendingEvent>,
    artifacts: Vec<ArtifactRecord>,
}

impl ReadyRun {
    /// Wraps a run that was read from storage under this lease.
    fn stored((resumable, pinned): (ResumableRun, LoadedRun), lease: Lease) -> Self {
        Self {
            resumable,
            pinned,
            hold: RunOwnership::Held(lease),
            unwritten: Vec::new(),
            artifacts: Vec::new(),
        }
    }

    /// Creates the driver that runs the loop.
    fn driver<'e>(
        self,
        runs: &'e Arc<RunService>,
        clients: &'e Arc<dyn RunClients>,
        progress: Progress,
        orders: &'e mut mpsc::Receiver<DriverMessage>,
    ) -> RunDriver<'e> {
        let ResumableRun { folded, room, part } = self.resumable;
        let told = match self.hold {
            RunOwnership::Unstored(..) => None,
            RunOwnership::Held(_) | RunOwnership::Returned => Some(folded.run.status()),
        };
        let mission = mission::state_of(&folded.run);
        RunDriver {
            runs,
            clients,
            told,
            folded,
            hold: self.hold,
            stored: None,
            pinned: self.pinned,
            progress,
            cancel: runs.background.shutdown.child_token(),
            orders,
            unwritten: self.unwritten,
            approvals: Vec::new(),
            set_aside: BTreeSet::new(),
            postponed: BTreeSet::new(),
            is_deciding: false,
            escalates_at: None,
            artifacts: self.artifacts,
            memory: Vec::new(),
            room,
            kept: part.into_iter().collect(),
            mission,
            turns: RateLimitQueue::default(),
            results: None,
        }
    }
}

impl RunService {
    /// Creates a run, or finds the run that an earlier attempt at the same request created. Then this process or a
    /// worker drives it in the background. Returns whether the run is new.
    pub(crate) async fn start(self: &Arc<Self>, new: NewRun) -> Result<bool, EngineError> {
        let new = self.unstored(new)?;
        let (tenant, run) = (new.record.tenant_id.clone(), new.record.run_id.clone());
        let slot = self.drives_runs().then(|| self.drivers.acquire(&run));
        let (is_driven, stored) = match slot {
            Some(Ok(slot)) => (true, self.start_in_slot(slot, new).await),
            // Another task of this process is deciding on this run, or starts it too.
            None | Some(Err(_)) => (false, self.store_new(new).await),
        };
        let is_new = match stored {
            Ok(()) if is_driven => return Ok(true),
            Ok(()) => true,
            Err(error) if error.code == ErrorCode::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        self.resume(tenant, run);
        Ok(is_new)
    }

    /// Drives a run in the background, as far as it goes. If it already has a driver, that driver checks it again.
    pub(crate) fn resume(self: &Arc<Self>, tenant: TenantId, run: RunId) {
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
            let slot = runs.drivers.acquire_when_free(&run).await;
            let source = RunSource::Stored(tenant, run.clone());
            let driven = runs.drive(slot, source, Progress::silent()).await;
            runs.log_driver_result(run, driven).await;
        };
        self.spawn(driving.in_current_span());
    }

    /// Resumes a run that this process just claimed.
    ///
    /// It acquires the driver's slot at once, so the lease is renewed however long the run queues. Otherwise leases
    /// expire before work starts, and replicas livelock.
    pub(in crate::execution::runs) fn resume_claimed(self: &Arc<Self>, claimed: ClaimedRun) {
        let ClaimedRun { run, lease } = claimed;
        let Ok(slot) = self.drivers.acquire(&run.run_id) else {
            // The present driver either continues under this lease, or stops and has the run resumed.
            self.drivers.supersede(&run.run_id, lease.fence);
            return self.resume(run.tenant_id, run.run_id);
        };
        let run_id = run.run_id.clone();
        self.drivers.set_claimed_lease_held(&run_id, lease.fence);
        let runs = Arc::clone(self);
        let driving = async move {
            let source = RunSource::Claimed(Box::new(run), lease);
            let driven = runs.drive(slot, source, Progress::silent()).await;
            runs.log_driver_result(run_id, driven).await;
        };
        self.spawn(driving.in_current_span());
    }

    /// Drives a run to its end, or until it waits for a person, and returns it as it was left. `new` creates the run;
    /// without it, the run is in storage. If this process drives the run already, waits for that driver first. Waits
    /// likewise while another process drives the run.
    ///
    /// A new run is created in one commit with the acquisition of its lease and the beginning of its first steps.
    ///
    /// # Errors
    /// `already_exists` if a new run is in storage; `unavailable` if the engine stops first; errors of storage. A
    /// failed step is not an error: it is part of the run's outcome.
    pub(crate) async fn wait(
        self: &Arc<Self>,
        tenant: &TenantId,
        run_id: &RunId,
        new: Option<NewRun>,
        progress: Progress,
    ) -> Result<DrivenRun, EngineError> {
        let source = match new {
            Some(new) => RunSource::New(Box::new(self.unstored(new)?)),
            None => RunSource::Stored(tenant.clone(), run_id.clone()),
        };
        if self.settings.duty == ProcessRole::Api {
            return self.wait_for_workers(source).await;
        }
        let slot = self.drivers.acquire_when_free(run_id).await;
        match self.drive(slot, source, progress).await? {
            Driven::Here(driven) => Ok(*driven),
            Driven::Elsewhere => self.wait_for_replica(tenant, run_id, None).await,
        }
    }

    /// Drives a run in its slot, and releases the slot.
    async fn drive(
        self: &Arc<Self>,
        mut slot: DriverHandle,
        source: RunSource,
        progress: Progress,
    ) -> Result<Driven, EngineError> {
        let (tenant, run_id) = (source.tenant().clone(), source.run_id().clone());
        // A request that started the run waits for this drive, and records the result itself.
        let is_new = matches!(source, RunSource::New(_));
        let clients = held(&self.clients)?;
        let span = telemetry::run(&run_id, &tenant);
        let running = self.run_in_slot(&clients, source, progress, &mut slot);
        let driven = running.instrument(span.clone()).await;
        let left = driven.as_ref().map(|driven| match driven {
            Driven::Here(driven) => Some(&driven.run),
            Driven::Elsewhere => None,
        });
        telemetry::run_left(&span, left);
        drop((span, slot.seat));
        if has_unread_notice(&mut slot.orders) {
            self.resume(tenant.clone(), run_id);
        }
        let driven = driven?;
        if let Driven::Here(driven) = &driven {
            self.schedule_wake(&driven.run, &tenant);
            // The end of any other run does not by itself produce a request's result.
            if driven.pinned.workspace.kind == RunKind::Playbook && !is_new {
                clients.record_end(&tenant, &driven.run).await;
            }
        }
        Ok(driven)
    }

    /// Loads a run, runs its loop, and releases its lease.
    async fn run_in_slot(
        self: &Arc<Self>,
        clients: &Arc<dyn RunClients>,
        source: RunSource,
        progress: Progress,
        slot: &mut DriverHandle,
    ) -> Result<Driven, EngineError> {
        let Some(ready) = self.load(source, &slot.lost).await? else {
            return Ok(Driven::Elsewhere);
        };
        let mut driver = ready.driver(self, clients, progress, &mut slot.orders);
        let ended = run_unless_revoked(&slot.lost, driver.run_loop()).await;
        driver.cancel.cancel();
        if let RunOwnership::Held(lease) = &driver.hold {
            self.store.release(lease).await?;
        }
        match ended {
            Ok(Some(())) => {
                let (history, examined) = driver.results.unzip();
                Ok(Driven::Here(Box::new(DrivenRun {
                    run: driver.folded.run,
                    pinned: driver.pinned,
                    history,
                    examined,
                })))
            }
            Ok(None) => Ok(Driven::Elsewhere),
            Err(error) if is_lease_lost(&error, driver.folded.run.id()) => Ok(Driven::Elsewhere),
            Err(error) => Err(error),
        }
    }

    /// Loads a run and its pinned documents; `None` if another worker holds the run or takes it over. A run in storage
    /// is loaded under its lease.
    async fn load(
        &self,
        source: RunSource,
        lost: &CancellationToken,
    ) -> Result<Option<ReadyRun>, EngineError> {
        match source {
            RunSource::New(new) => self.load_new(*new).await.map(Some),
            RunSource::Stored(tenant, run_id) => {
                let Some(lease) = self.acquire_lease(&run_id).await? else {
                    return Ok(None);
                };
                self.drivers.set_lease_held(&run_id, lease.fence);
                let read = run_unless_revoked(lost, self.load_stored(&tenant, &run_id)).await;
                if read.is_err() {
                    self.store.release(&lease).await?;
                }
                Ok(read?.map(|read| ReadyRun::stored(read, lease)))
            }
            // If the run cannot be read, its lease is left to expire, so that the run is not claimed again at once.
            RunSource::Claimed(record, lease) => {
                let reading = self.load_stored(&record.tenant_id, &record.run_id);
                let read = run_unless_revoked(lost, reading).await?;
                Ok(read.map(|read| ReadyRun::stored(read, lease)))
            }
        }
    }

    async fn load_new(&self, new: PendingRun) -> Result<ReadyRun, EngineError> {
        let pinned = self.load_documents(&new).await?;
        let room = self.memory.for_run(&new.record.tenant_id);
        let part = room.take(new.run.memory(), VALUES_TIMEOUT).await?;
        let folded = FoldedRun::unwritten(new.run);
        Ok(ReadyRun {
            resumable: ResumableRun { folded, room, part },
            pinned,
            hold: RunOwnership::Unstored(Box::new(new.record), new.stored),
            unwritten: vec![new.started],
            artifacts: new.artifacts,
        })
    }

    /// Loads the documents that a new run pins. Refuses a change whose user has not connected an account that one of
    /// its tools acts with, so that it does not fail halfway. A question is answered as far as it can be.
    async fn load_documents(&self, new: &PendingRun) -> Result<LoadedRun, EngineError> {
        let pinned = self.pinned.load_new(new).await?;
        let workspace = &pinned.workspace;
        if workspace.kind == RunKind::Playbook {
            let credentials = &self.calls.credentials;
            for tool in workspace.tools.values() {
                let document = &tool.entry.document;
                credentials
                    .require_connected(&workspace.tenant, &workspace.by, document)
                    .await?;
            }
        }
        Ok(pinned)
    }

    async fn load_stored(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<(ResumableRun, LoadedRun), EngineError> {
        let resumable = self.journals.fold_for_resume(tenant, run).await?;
        let pinned = self.pinned.load(tenant, &resumable.folded.run).await?;
        Ok((resumable, pinned))
    }

    /// Drives a new run in the background, in an acquired slot. Returns once storing it has succeeded or failed.
    ///
    /// # Errors
    /// `already_exists` if the run is in storage; otherwise the error that prevented storing it.
    async fn start_in_slot(
        self: &Arc<Self>,
        slot: DriverHandle,
        new: PendingRun,
    ) -> Result<(), EngineError> {
        let (runs, stored) = (Arc::clone(self), Arc::clone(&new.stored));
        let is_stored = Arc::clone(&stored);
        let driving = async move {
            let run = new.record.run_id.clone();
            let source = RunSource::New(Box::new(new));
            match runs.drive(slot, source, Progress::silent()).await {
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

    /// Waits while a worker drives the run, to its end or until it waits for a person.
    async fn wait_for_workers(&self, source: RunSource) -> Result<DrivenRun, EngineError> {
        let (tenant, run_id) = (source.tenant().clone(), source.run_id().clone());
        let pinned = match source {
            RunSource::New(new) => {
                // Before the run is stored: the caller learns of documents that cannot be loaded.
                let pinned = self.load_documents(&new).await?;
                self.store_new(*new).await?;
                Some(pinned)
            }
            RunSource::Stored(..) | RunSource::Claimed(..) => None,
        };
        self.wait_for_replica(&tenant, &run_id, pinned).await
    }

    /// Waits until a run that another process drives has ended or waits for a person. `pinned` has its documents, if
    /// they are loaded already.
    async fn wait_for_replica(
        &self,
        tenant: &TenantId,
        run_id: &RunId,
        pinned: Option<LoadedRun>,
    ) -> Result<DrivenRun, EngineError> {
        self.await_settled(tenant, run_id).await?;
        let run = self.journals.fold(tenant, run_id).await?.run;
        let pinned = match pinned {
            Some(pinned) => pinned,
            None => self.pinned.load(tenant, &run).await?,
        };
        Ok(DrivenRun {
            run,
            pinned,
            history: None,
            examined: None,
        })
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

    /// Returns whether this process drives runs. Workers claim the runs that it does not drive.
    fn drives_runs(&self) -> bool {
        self.settings.duty != ProcessRole::Api && !self.draining.is_cancelled()
    }

    /// Acquires this worker's lease on a run; `None` while another worker holds it.
    pub(in crate::execution::runs) async fn acquire_lease(
        &self,
        run_id: &RunId,
    ) -> Result<Option<Lease>, EngineError> {
        let now = self.clock.now();
        let until = moments::after(now, self.settings.lease);
        let (run, holder) = (run_id.as_str(), self.holder.as_str());
        Ok(self.store.acquire(run, holder, now, until).await?)
    }

    /// Schedules a waiting run to resume when its wake time comes.
    fn schedule_wake(self: &Arc<Self>, run: &Run, tenant: &TenantId) {
        let nothing = BTreeSet::new();
        let next = run.next(&nothing, |moment| self.deadlines.is_due(moment));
        let Next::Wait { until: Some(until) } = next else {
            return;
        };
        let (runs, tenant, run) = (Arc::clone(self), tenant.clone(), run.id().clone());
        let wait = self.deadlines.time_until(until);
        let waking = async move {
            tokio::select! {
                () = runs.background.shutdown.cancelled() => {}
                () = tokio::time::sleep(wait) => runs.resume(tenant, run),
            }
        };
        self.spawn(waking);
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
}
