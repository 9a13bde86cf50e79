//! The runs of the store that this process takes over: claiming runs without a driver, keeping the leases of its own,
//! and leaving its runs to others.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RunId, UserId};
use charter_domain::clock::Clock;
use charter_domain::run::RunOrder;
use charter_store::SharedStore;
use charter_store::journal::{Claim, RunRecord};
use charter_store::request::RequestLease;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::claims::RunClaims;
use super::drivers::{Decided, Drivers, held_elsewhere};
use super::{RunClients, RunService};
use crate::EngineError;
use crate::ground::core_ports::CorePorts;
use crate::ground::moments;
use crate::ground::peers::{LEFT, Peers};
use crate::ground::settings::ProcessRole;

/// Runs that are read at once.
const BATCH: usize = 500;

/// Maximum busy claimed runs for each concurrent tool call: one has a slot, one waits for it.
const ROUNDS: usize = 2;

/// The settings of claims and leases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecoverySettings {
    /// The role of this process among the replicas.
    pub(crate) duty: ProcessRole,
    /// Term of this process's lease on a run or request.
    pub(crate) lease: Duration,
    /// Maximum concurrent tool calls of this process.
    pub(crate) tool_calls: usize,
    /// Maximum runs that this process claims to drive at once.
    pub(crate) driven_runs: usize,
}

/// The parts that runs are recovered with.
pub(crate) struct RecoveryParts {
    pub(crate) shutdown: CancellationToken,
    /// Cancelled when no new work may begin.
    pub(crate) draining: CancellationToken,
    /// The name of this process in leases.
    pub(crate) holder: String,
    pub(crate) settings: RecoverySettings,
    pub(crate) peers: Arc<Peers>,
    pub(crate) drivers: Drivers,
    pub(crate) claims: Arc<RunClaims>,
    pub(crate) runs: Arc<RunService>,
    pub(crate) clients: Weak<dyn RunClients>,
}

/// Claims runs, and keeps the leases of this process.
pub struct RunRecoveryService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    parts: RecoveryParts,
}

impl std::fmt::Debug for RunRecoveryService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunRecoveryService").finish_non_exhaustive()
    }
}

impl RunRecoveryService {
    pub(crate) fn new(ports: CorePorts, parts: RecoveryParts) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            parts,
        }
    }

    /// Returns whether this process is draining: it begins no new work.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.parts.draining.is_cancelled()
    }

    /// Returns once there may be runs to claim: another process left or changed some, or capacity was freed here.
    pub(crate) async fn claims_due(&self) {
        tokio::select! {
            () = self.parts.claims.due() => {}
            () = self.parts.drivers.capacity_freed() => {}
        }
    }

    /// Claims runnable runs without a driver, at most as many as this process can execute. Runs that would only wait
    /// here are left to other workers, or in storage. Claims beyond the capacity cause extra work that finally
    /// displaces all other work (Bronson et al., "Metastable Failures in Distributed Systems", 2021).
    pub(crate) async fn claim(&self) -> Result<(), EngineError> {
        loop {
            let settings = &self.parts.settings;
            let busy = ROUNDS * settings.tool_calls;
            let limit = self
                .parts
                .drivers
                .claimable_runs(settings.driven_runs, busy);
            if limit == 0 || settings.duty == ProcessRole::Api {
                return Ok(());
            }
            let now = self.clock.now();
            let claim = Claim {
                holder: self.parts.holder.clone(),
                now,
                until: moments::after(now, settings.lease),
                limit: limit.min(BATCH),
                except: self.parts.claims.left(),
            };
            let claimed = self.store.claim_runs(&claim).await?;
            let full = claimed.len() == claim.limit;
            for claimed in claimed {
                self.parts.runs.resume_claimed(claimed);
            }
            if !full {
                return Ok(());
            }
        }
    }

    /// Pauses every unfinished run. After a restore, the journals lack the runs' actions since the backup, and a person
    /// must permit the runs to continue. Returns those that were not paused before.
    ///
    /// # Errors
    /// As storage's; `overloaded` while another process drives one.
    pub async fn pause_all(&self, by: &UserId) -> Result<Vec<RunId>, EngineError> {
        let mut paused = Vec::new();
        let mut last: Option<RunId> = None;
        loop {
            let runs = self.store.unfinished_runs(last.as_ref(), BATCH).await?;
            let Some(newest) = runs.last() else {
                return Ok(paused);
            };
            last = Some(newest.run_id.clone());
            for RunRecord {
                tenant_id, run_id, ..
            } in runs
            {
                let pause = RunOrder::Pause { by: by.clone() };
                let runs = &self.parts.runs;
                let decided = runs.decide_without_driver(&tenant_id, &run_id, pause.into());
                match decided.await {
                    Ok(Decided::Here) => paused.push(run_id),
                    Ok(Decided::Elsewhere) => return Err(held_elsewhere()),
                    // It is paused already, or ending.
                    Err(error) if error.code == ErrorCode::IllegalTransition => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Returns this process's lease on a request, from now on.
    pub(crate) fn request_lease(&self) -> RequestLease {
        RequestLease {
            holder: self.parts.holder.clone(),
            until: moments::after(self.clock.now(), self.parts.settings.lease),
        }
    }

    /// Renews the leases of this process's requests and runs, until the engine shuts down. It does so every third of a
    /// lease, in one statement for all, and apart from the work itself: a run that waits long does not look like a dead
    /// process's.
    pub(crate) async fn renew_leases_forever(self: Arc<Self>) {
        let every = self.parts.settings.lease / 3;
        loop {
            tokio::select! {
                () = self.parts.shutdown.cancelled() => return,
                () = tokio::time::sleep(every) => {}
            }
            if self.has_active_requests()
                && let Err(error) = self.store.renew_requests(&self.request_lease()).await
            {
                tracing::warn!(error = %error, "leases on requests could not be renewed; retrying");
            }
            if let Err(error) = self.renew_leases().await {
                tracing::warn!(error = %error, "leases on runs could not be renewed; retrying");
            }
        }
    }

    /// Renews the leases of all drivers, and notifies those that have lost theirs.
    async fn renew_leases(&self) -> Result<(), EngineError> {
        let held = self.parts.drivers.held();
        if held.is_empty() {
            return Ok(());
        }
        let until = moments::after(self.clock.now(), self.parts.settings.lease);
        let runs: Vec<String> = held.keys().map(ToString::to_string).collect();
        let lost = self.store.renew(&self.parts.holder, &runs, until).await?;
        let lost: HashSet<&str> = lost.iter().map(String::as_str).collect();
        for (run, driver) in &held {
            if lost.contains(run.as_str()) && self.parts.drivers.revoke(run, *driver) {
                tracing::warn!(run.id = %run, "another process has taken over the run");
            }
        }
        Ok(())
    }

    /// Begins no new steps, and lets running ones finish, for at most `patience`. Each run is released between two
    /// steps, for another process to resume.
    pub async fn drain(&self, patience: Duration) {
        self.parts.draining.cancel();
        let until = Instant::now() + patience;
        while self.parts.drivers.count() > 0 || self.has_active_requests() {
            if Instant::now() >= until {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.parts.peers.notify_replicas(LEFT, json!({})).await;
    }

    /// Returns whether this process is answering requests.
    fn has_active_requests(&self) -> bool {
        let clients = self.parts.clients.upgrade();
        clients.is_some_and(|clients| clients.has_active_requests())
    }
}
