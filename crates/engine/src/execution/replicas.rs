//! Several processes over one store: follows the changes of others.
//!
//! The outbox carries the changes ([`ReplicaService::follow_forever`]): a notification announces new messages, and
//! without one they are polled every [`POLL_INTERVAL`]. A message names the changed object, and this process reads the
//! new state from storage. Changes without a message are found by comparing revisions every [`COMPARE_EVERY`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use charter_contract::ids::{RunId, TenantId};
use charter_contract::json::decode_stored;
use charter_contract::run_status::RunStatus;
use charter_store::SharedStore;
use charter_store::agent_skills::CHANGED_TOPIC as SKILLS_CHANGED;
use charter_store::outbox::{Message, NewMessage};
use charter_store::tenant::ERASED_TOPIC as TENANT_ERASED;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::EngineError;
use crate::catalogue::change_turn::CATALOGUE;
use crate::catalogue::live::CatalogueService;
use crate::execution::runs::{RunClaims, RunService};
use crate::execution::tool_results::ToolResults;
use crate::ground::peers::{LEFT, ROUTING};
use crate::knowledge::agent_skills::AgentSkillService;
use crate::knowledge::memory::MemoryService;

/// Messages that are read at once.
const BATCH: usize = 500;

/// Interval at which messages are polled without a notification.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Interval between comparisons of served and stored revisions.
const COMPARE_EVERY: Duration = Duration::from_secs(30);

/// Topics: a tenant's accepted route examples changed.
const EXAMPLE_ACCEPTED: &str = "route_example.accepted";
const EXAMPLE_WITHDRAWN: &str = "route_example.withdrawn";

/// The parts that follow the changes of other processes.
pub(crate) struct ReplicaParts {
    pub(crate) shutdown: CancellationToken,
    /// Wakes the readers of events.
    pub(crate) news: Arc<Notify>,
    /// The name of this process.
    pub(crate) holder: String,
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) agent_skills: Arc<AgentSkillService>,
    pub(crate) memories: Arc<MemoryService>,
    pub(crate) results: Arc<ToolResults>,
    pub(crate) runs: Arc<RunService>,
    pub(crate) claims: Arc<RunClaims>,
}

/// Keeps this process in step with the other processes of the store.
pub(crate) struct ReplicaService {
    store: SharedStore,
    parts: ReplicaParts,
    /// The last processed message.
    read: AtomicU64,
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
    fn take(&mut self, parts: &ReplicaParts, message: &Message) {
        let NewMessage { topic, payload, .. } = &message.message;
        let payload: Value = decode_stored(payload).unwrap_or_default();
        match topic.as_str() {
            CATALOGUE => {
                let known = parts.catalogue.live().revision.0;
                self.catalogue |= payload["revision"].as_u64().is_none_or(|new| new > known);
            }
            SKILLS_CHANGED => {
                let known = parts.agent_skills.indexes().revision().0;
                self.skills |= payload["revision"].as_u64().is_none_or(|new| new > known);
            }
            TENANT_ERASED => {
                self.catalogue = true;
                let tenant = payload["tenant_id"].as_str();
                let tenant = tenant.and_then(|id| TenantId::parse(id).ok());
                self.erased.extend(tenant);
            }
            EXAMPLE_ACCEPTED | EXAMPLE_WITHDRAWN => self.catalogue = true,
            ROUTING => self.catalogue |= payload["by"].as_str() != Some(parts.holder.as_str()),
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

impl ReplicaService {
    pub(crate) fn new(store: SharedStore, parts: ReplicaParts) -> Self {
        Self {
            store,
            parts,
            read: AtomicU64::default(),
        }
    }

    /// Sets the position for following messages, before anything is loaded, so that no change is missed.
    pub(crate) async fn begin_following(&self) -> Result<(), EngineError> {
        if self.store.is_shared() {
            let last = self.store.last_message().await?;
            self.read.store(last, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Keeps in step with the other processes of the store, until the engine shuts down. Returns at once if there are
    /// none.
    pub(crate) async fn follow_forever(self: Arc<Self>) {
        if !self.store.is_shared() {
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
                () = self.parts.shutdown.cancelled() => return,
                () = self.store.notice() => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    }

    /// Reads all messages since the last read.
    async fn read_messages(&self, due: &mut PendingNotices) -> Result<(), EngineError> {
        loop {
            let after = self.read.load(Ordering::Relaxed);
            let messages = self.store.messages(after, BATCH).await?;
            let Some(last) = messages.last() else {
                return Ok(());
            };
            let last = last.id;
            for message in &messages {
                due.take(&self.parts, message);
                self.parts.runs.handle_message(&message.message);
            }
            self.read.store(last, Ordering::Relaxed);
            self.parts.news.notify_waiters();
        }
    }

    /// Looks for changes without a message: their writer may have died before sending it.
    async fn compare_revisions(&self, due: &mut PendingNotices) -> Result<(), EngineError> {
        due.catalogue = true;
        let stored = self.store.skills_revision().await?;
        due.skills |= stored > self.parts.agent_skills.indexes().revision();
        Ok(())
    }

    /// Does the pending work. Failed work stays pending.
    async fn catch_up(&self, due: &mut PendingNotices) {
        // A registration that is running here loads everything at its end.
        if due.catalogue
            && let Ok(_one_at_a_time) = self.parts.catalogue.registration().try_lock()
        {
            match self.parts.catalogue.reload_catalogue().await {
                Ok(()) => due.catalogue = false,
                Err(error) => {
                    tracing::warn!(error = %error, "the changed catalogue could not be loaded; retrying");
                }
            }
        }
        if due.skills {
            match self.parts.agent_skills.follow_skills().await {
                Ok(()) => due.skills = false,
                Err(error) => {
                    tracing::warn!(error = %error, "changed skills could not be loaded; retrying");
                }
            }
        }
        for run in std::mem::take(&mut due.approvals) {
            self.parts.runs.drivers().notify(&run);
        }
        for tenant in std::mem::take(&mut due.erased) {
            self.parts.results.forget(&tenant);
            self.parts.memories.forget(&tenant);
        }
        if std::mem::take(&mut due.runs) {
            self.parts.claims.announce();
        }
    }
}

#[cfg(test)]
mod tests;
