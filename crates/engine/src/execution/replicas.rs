//! Several processes over one store: follows the changes of others, and claims runs.
//!
//! The outbox carries the changes ([`Engine::follow_replicas_forever`]): a notification announces new messages, and
//! without one they are polled every [`POLL_INTERVAL`]. A message names the changed object, and this process reads the
//! new state from storage. Changes without a message are found by comparing revisions every [`COMPARE_EVERY`].

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RunId, TenantId, UserId};
use charter_contract::json::decode_stored;
use charter_contract::run_status::RunStatus;
use charter_domain::run::RunOrder;
use charter_store::agent_skills::CHANGED_TOPIC as SKILLS_CHANGED;
use charter_store::journal::{Claim, RunRecord};
use charter_store::outbox::{Message, NewMessage};
use charter_store::request::RequestLease;
use charter_store::tenant::ERASED_TOPIC as TENANT_ERASED;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::catalogue::change_turn::CATALOGUE;
use crate::execution::runs::{Decided, held_elsewhere, orders};
use crate::ground::moments;
use crate::ground::peers::{LEFT, ROUTING};
use crate::ground::settings::ProcessRole;
use crate::{Engine, EngineError};

/// Messages that are read at once.
const BATCH: usize = 500;

/// Interval at which messages are polled without a notification.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Interval between comparisons of served and stored revisions.
const COMPARE_EVERY: Duration = Duration::from_secs(30);

/// Maximum busy claimed runs for each concurrent tool call: one has a slot, one waits for it.
const ROUNDS: usize = 2;

/// Maximum remembered runs that are left to a newer version.
const MOST_LEFT: usize = 1_000;

/// Topics: a tenant's accepted route examples changed.
const EXAMPLE_ACCEPTED: &str = "route_example.accepted";
const EXAMPLE_WITHDRAWN: &str = "route_example.withdrawn";

/// This process's view of the other replicas.
#[derive(Debug, Default)]
pub(crate) struct PeerReplicas {
    /// The last processed message.
    read: AtomicU64,
    /// Notified when there may be runs to claim.
    claims: Notify,
    /// Runs that are left to a newer version, the newest last.
    left: Mutex<VecDeque<RunId>>,
}

impl PeerReplicas {
    /// Notified when there may be runs to claim.
    pub(crate) fn claims(&self) -> &Notify {
        &self.claims
    }

    /// Stops claiming a run. Beyond the limit the oldest entry is dropped, and that run is claimed and released again.
    pub(crate) fn leave(&self, run: RunId) {
        let mut left = self.left();
        if left.len() == MOST_LEFT {
            left.pop_front();
        }
        left.push_back(run);
    }

    fn left(&self) -> MutexGuard<'_, VecDeque<RunId>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The work that messages require.
#[derive(Debug, Default, PartialEq, Eq)]
struct PendingNotices {
    catalogue: bool,
    skills: bool,
    runs: bool,
    approvals: Vec<RunId>,
    erased: Vec<TenantId>,
}

impl PendingNotices {
    /// Applies a message; state that this process already has is not fetched again.
    fn take(&mut self, engine: &Engine, message: &Message) {
        let NewMessage { topic, payload, .. } = &message.message;
        let payload: Value = decode_stored(payload).unwrap_or_default();
        match topic.as_str() {
            CATALOGUE => {
                let known = engine.live().revision.0;
                self.catalogue |= payload["revision"].as_u64().is_none_or(|new| new > known);
            }
            SKILLS_CHANGED => {
                let known = engine.agent_skills().indexes().revision().0;
                self.skills |= payload["revision"].as_u64().is_none_or(|new| new > known);
            }
            TENANT_ERASED => {
                self.catalogue = true;
                let tenant = payload["tenant_id"].as_str();
                let tenant = tenant.and_then(|id| TenantId::parse(id).ok());
                self.erased.extend(tenant);
            }
            EXAMPLE_ACCEPTED | EXAMPLE_WITHDRAWN => self.catalogue = true,
            ROUTING => self.catalogue |= payload["by"].as_str() != Some(engine.holder()),
            LEFT => self.runs = true,
            // A run that has ended, or waits for a person, needs no driver.
            topic if topic.starts_with("run.") => {
                let status = payload["status"].as_str();
                let is_active =
                    |word: &str| word.parse::<RunStatus>().is_ok_and(RunStatus::is_active);
                self.runs |= status.is_none_or(is_active);
            }
            topic if topic.starts_with("approval.") => {
                self.runs = true;
                let run = payload["run_id"]
                    .as_str()
                    .and_then(|id| RunId::parse(id).ok());
                self.approvals.extend(run);
            }
            _ => {}
        }
    }
}

impl Engine {
    /// Sets the position for following messages, before anything is loaded, so that no change is missed.
    pub(crate) async fn begin_following(&self) -> Result<(), EngineError> {
        if self.store().is_shared() {
            let last = self.store().last_message().await?;
            self.peer_replicas().read.store(last, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Keeps in step with the other processes of the store, until the engine shuts down. Returns at once if there are
    /// none.
    pub(crate) async fn follow_replicas_forever(self: Arc<Self>) {
        if !self.store().is_shared() {
            return;
        }
        let mut due = PendingNotices::default();
        let mut compare_at = Instant::now() + COMPARE_EVERY;
        loop {
            if let Err(error) = self.read_messages(&mut due).await {
                tracing::warn!(error = %error, "messages of other processes could not be read; retrying");
            }
            if Instant::now() >= compare_at {
                compare_at = Instant::now() + COMPARE_EVERY;
                if let Err(error) = self.compare_revisions(&mut due).await {
                    tracing::warn!(error = %error, "revisions could not be read; retrying");
                }
            }
            self.catch_up(&mut due).await;
            tokio::select! {
                () = self.shutdown().cancelled() => return,
                () = self.store().notice() => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    }

    /// Reads all messages since the last read.
    async fn read_messages(self: &Arc<Self>, due: &mut PendingNotices) -> Result<(), EngineError> {
        loop {
            let after = self.peer_replicas().read.load(Ordering::Relaxed);
            let messages = self.store().messages(after, BATCH).await?;
            let Some(last) = messages.last() else {
                return Ok(());
            };
            let last = last.id;
            for message in &messages {
                due.take(self, message);
                orders::heard(self, &message.message);
            }
            self.peer_replicas().read.store(last, Ordering::Relaxed);
            self.notify_watchers();
        }
    }

    /// Looks for changes without a message: their writer may have died before sending it.
    async fn compare_revisions(&self, due: &mut PendingNotices) -> Result<(), EngineError> {
        due.catalogue = true;
        due.skills |=
            self.store().skills_revision().await? > self.agent_skills().indexes().revision();
        Ok(())
    }

    /// Does the pending work. Failed work stays pending.
    async fn catch_up(self: &Arc<Self>, due: &mut PendingNotices) {
        // A registration that is running here loads everything at its end.
        if due.catalogue
            && let Ok(_one_at_a_time) = self.catalogue().registration().try_lock()
        {
            match self.catalogue().reload_catalogue().await {
                Ok(()) => due.catalogue = false,
                Err(error) => {
                    tracing::warn!(error = %error, "the changed catalogue could not be loaded; retrying");
                }
            }
        }
        if due.skills {
            match self.agent_skills().follow_skills().await {
                Ok(()) => due.skills = false,
                Err(error) => {
                    tracing::warn!(error = %error, "changed skills could not be loaded; retrying");
                }
            }
        }
        for run in std::mem::take(&mut due.approvals) {
            self.drivers().notify(&run);
        }
        for tenant in std::mem::take(&mut due.erased) {
            self.tool_results().forget(&tenant);
            self.memories().forget(&tenant);
        }
        if std::mem::take(&mut due.runs) {
            self.peer_replicas().claims.notify_one();
        }
    }

    /// Claims runnable runs without a driver, at most as many as this process can execute. Runs that would only wait
    /// here are left to other workers, or in storage. Claims beyond the capacity cause extra work that finally
    /// displaces all other work (Bronson et al., "Metastable Failures in Distributed Systems", 2021).
    pub(crate) async fn claim(self: &Arc<Self>) -> Result<(), EngineError> {
        loop {
            let settings = self.settings();
            let busy = ROUNDS * settings.tool_calls;
            let limit = self.drivers().claimable_runs(settings.driven_runs, busy);
            if limit == 0 || settings.duty == ProcessRole::Api {
                return Ok(());
            }
            let now = self.now();
            let claim = Claim {
                holder: self.holder().to_owned(),
                now,
                until: moments::after(now, settings.lease),
                limit: limit.min(BATCH),
                except: self.peer_replicas().left().iter().cloned().collect(),
            };
            let claimed = self.store().claim_runs(&claim).await?;
            let full = claimed.len() == claim.limit;
            for claimed in claimed {
                self.spawn_claimed_driver(claimed);
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
    pub async fn pause_all_runs(self: &Arc<Self>, by: &UserId) -> Result<Vec<RunId>, EngineError> {
        let mut paused = Vec::new();
        let mut last: Option<RunId> = None;
        loop {
            let runs = self.store().unfinished_runs(last.as_ref(), BATCH).await?;
            let Some(newest) = runs.last() else {
                return Ok(paused);
            };
            last = Some(newest.run_id.clone());
            for RunRecord {
                tenant_id, run_id, ..
            } in runs
            {
                let pause = RunOrder::Pause { by: by.clone() };
                match self
                    .decide_without_driver(&tenant_id, &run_id, pause.into())
                    .await
                {
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
    pub(crate) fn hold(&self) -> RequestLease {
        RequestLease {
            holder: self.holder().to_owned(),
            until: moments::after(self.now(), self.settings().lease),
        }
    }

    /// Renews the leases of this process's requests and runs, until the engine shuts down. It does so every third of a
    /// lease, in one statement for all, and apart from the work itself: a run that waits long does not look like a dead
    /// process's.
    pub(crate) async fn renew_leases_forever(self: Arc<Self>) {
        let every = self.settings().lease / 3;
        loop {
            tokio::select! {
                () = self.shutdown().cancelled() => return,
                () = tokio::time::sleep(every) => {}
            }
            if !self.active_requests().is_empty()
                && let Err(error) = self.store().renew_requests(&self.hold()).await
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
        let held = self.drivers().held();
        if held.is_empty() {
            return Ok(());
        }
        let until = moments::after(self.now(), self.settings().lease);
        let runs: Vec<String> = held.keys().map(ToString::to_string).collect();
        let lost = self.store().renew(self.holder(), &runs, until).await?;
        let lost: HashSet<&str> = lost.iter().map(String::as_str).collect();
        for (run, driver) in &held {
            if lost.contains(run.as_str()) && self.drivers().revoke(run, *driver) {
                tracing::warn!(run.id = %run, "another process has taken over the run");
            }
        }
        Ok(())
    }

    /// Begins no new steps, and lets running ones finish, for at most `patience`. Each run is released between two
    /// steps, for another process to resume.
    pub async fn drain(&self, patience: Duration) {
        self.draining().cancel();
        let until = Instant::now() + patience;
        while self.drivers().count() > 0 || !self.active_requests().is_empty() {
            if Instant::now() >= until {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.peers().notify_replicas(LEFT, json!({})).await;
    }
}
