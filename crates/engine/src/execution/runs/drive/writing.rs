//! Makes a driver's decisions durable: creates the run, appends events, and releases the run.

use std::collections::BTreeSet;
use std::sync::Arc;

use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_domain::mission;
use charter_domain::run::RunEvent;
use charter_store::journal::{Append, NewEvent, NewLeasedRun, NextPhase, RunRecord, RunWait};
use charter_store::lease::Lease;
use tokio::sync::SetOnce;

use super::RunDriver;
use crate::EngineError;
use crate::execution::events;
use crate::execution::runs::journal::chain;
use crate::ground::moments;

/// Notifies the caller that waits until a new run is stored, when it is dropped.
pub(super) struct StoredNotice(Arc<SetOnce<()>>);

impl Drop for StoredNotice {
    fn drop(&mut self) {
        // Nothing else sets it.
        drop(self.0.set(()));
    }
}

/// The driver's ownership of its run.
pub(super) enum RunOwnership {
    /// The run is not in storage: the first write creates it and acquires the lease.
    Unstored(Box<RunRecord>, Arc<SetOnce<()>>),
    /// The run is in storage, and this worker holds its lease.
    Held(Lease),
    /// The lease was released with the write after which nothing was left to do.
    Returned,
}

impl RunDriver<'_> {
    /// Releases a run that waits and has no running effects. Its status may have changed without an event: an approval
    /// that a confirmation was to decide waits for a person once the confirmation no longer counts.
    pub(super) async fn park(&mut self, until: Option<Timestamp>) -> Result<(), EngineError> {
        // A run whose approval is decided does not wait, except if it waits for the end of its pause.
        let open = self.awaited().map(|(_, approval)| approval);
        let open = open.filter(|approval| !self.set_aside.contains(approval));
        let wait = RunWait {
            // A run that waits for a group wakes to announce the next one's turn.
            until: until
                .into_iter()
                .chain(self.escalates_at)
                .chain(self.run_wait_poll())
                .min(),
            approvals: open.collect::<BTreeSet<_>>().into_iter().collect(),
        };
        if !self.unwritten.is_empty() {
            return self.write(NextPhase::Waits(wait)).await;
        }
        if let RunOwnership::Held(lease) = &self.hold {
            let (tenant, run) = (&self.pinned.workspace.tenant, &self.folded.run);
            self.runs.drivers.set_lease_releasing(run.id());
            let (status, now) = (self.public_status(), self.runs.clock.now());
            let messages = events::about_run(tenant, run, (self.told, status), &[], now);
            let announces = !messages.is_empty();
            let (store, fence) = (&self.runs.store, lease.fence);
            let parked = store.park(tenant, run.id(), fence, status, wait, messages);
            parked.await?;
            self.hold = RunOwnership::Returned;
            if announces {
                self.runs.news.notify_waiters();
            }
        }
        Ok(())
    }

    /// Makes the pending decisions durable. If the run does not continue, the same write releases it.
    pub(super) async fn write(&mut self, then: NextPhase) -> Result<(), EngineError> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        let status = self.public_status();
        self.store_decisions(then, self.told).await?;
        self.told = Some(status);
        drop(self.stored.take());
        Ok(())
    }

    /// Creates the run before its first decision is known. The write of that decision announces the run's status and
    /// notifies the caller that waits for the run, so that they do not learn of an earlier status.
    pub(super) async fn create_unannounced(&mut self) -> Result<(), EngineError> {
        let status = self.public_status();
        self.store_decisions(NextPhase::Runs, Some(status)).await
    }

    /// Stores the pending decisions, and announces the run's status unless it is `announced`.
    async fn store_decisions(
        &mut self,
        then: NextPhase,
        announced: Option<RunStatus>,
    ) -> Result<(), EngineError> {
        let decided = std::mem::take(&mut self.unwritten);
        let approvals = std::mem::take(&mut self.approvals);
        let artifacts = std::mem::take(&mut self.artifacts);
        let mission = mission::state_of(&self.folded.run);
        let mission_state = mission.filter(|_| mission != self.mission);
        let chained = chain(self.folded.head, self.folded.version, decided);
        let head = chained.last().map_or(self.folded.head, |event| event.hash);
        let version = self.folded.version + chained.len() as u64;
        let release = then != NextPhase::Runs;
        let then = match self.folded.run.outcome() {
            Some(_) => NextPhase::Ends,
            None => then,
        };
        let (tenant, run) = (&self.pinned.workspace.tenant, &self.folded.run);
        let now = self.runs.clock.now();
        let change = (announced, self.public_status());
        let messages = events::about_run(tenant, run, change, &approvals, now);
        match &self.hold {
            RunOwnership::Unstored(record, stored) => {
                let (runs, stored) = (self.runs, Arc::clone(stored));
                let new = NewLeasedRun {
                    run: self.as_left(RunRecord::clone(record), &chained, then),
                    events: chained,
                    approvals,
                    artifacts,
                    mission_state,
                    holder: runs.holder.clone(),
                    expires_at: moments::after(runs.clock.now(), runs.settings.lease),
                    release,
                    messages,
                };
                self.hold = RunOwnership::Held(self.create(new).await?);
                self.stored = Some(StoredNotice(stored));
            }
            RunOwnership::Held(lease) => {
                if release {
                    self.runs.drivers.set_lease_releasing(self.folded.run.id());
                }
                let append = Append {
                    tenant_id: tenant.clone(),
                    run_id: self.folded.run.id().clone(),
                    expected: self.folded.version,
                    fence: lease.fence,
                    events: chained,
                    then,
                    status: self.public_status(),
                    approvals,
                    artifacts,
                    mission_state,
                    release,
                    messages,
                };
                self.runs.journals.append(append).await?;
            }
            RunOwnership::Returned => {
                let cause = "it was already released";
                return Err(EngineError::internal("writing a run", cause));
            }
        }
        (self.folded.version, self.folded.head) = (version, head);
        self.mission = mission;
        self.memory.clear();
        if release {
            self.hold = RunOwnership::Returned;
        }
        Ok(())
    }

    /// Creates the run under this worker's lease.
    async fn create(&self, new: NewLeasedRun) -> Result<Lease, EngineError> {
        let release = new.release;
        let lease = self.runs.store.create_held_run(new).await?;
        if !release {
            let run = self.folded.run.id();
            self.runs.drivers.set_lease_held(run, lease.fence);
        }
        self.runs.news.notify_waiters();
        Ok(lease)
    }

    /// Returns whether the written status is the present one. If it is not, the run is parked, which writes it.
    pub(super) fn has_stored_status(&self) -> bool {
        !self.unwritten.is_empty() || self.told.is_none_or(|told| told == self.public_status())
    }

    /// Returns the status for readers and watchers. A run whose approval follows from the confirmation of its plan
    /// waits for no person.
    fn public_status(&self) -> RunStatus {
        match self.folded.run.status() {
            RunStatus::AwaitingApproval if self.is_deciding => RunStatus::Working,
            status => status,
        }
    }

    /// Returns the run's record as its first write leaves it.
    fn as_left(&self, run: RunRecord, events: &[NewEvent], then: NextPhase) -> RunRecord {
        RunRecord {
            phase: then.phase(),
            status: self.public_status(),
            version: events.len() as u64,
            updated_at: events.last().map_or(run.updated_at, |event| event.at),
            wake_at: match then {
                NextPhase::Waits(wait) => wait.until,
                NextPhase::Runs | NextPhase::Ends => None,
            },
            ..run
        }
    }

    /// Records the run's evidence before these events end the run. The journal is made durable first: the records state
    /// its digest, and a worker that resumes after a crash makes them from the same results.
    pub(super) async fn leave_evidence(&mut self, ending: &[RunEvent]) -> Result<(), EngineError> {
        let runs = self.runs;
        if !self
            .pinned
            .workspace
            .leaves_evidence(&runs.evidence, ending)
        {
            return Ok(());
        }
        self.write(NextPhase::Runs).await?;
        let (tenant, run) = (&self.pinned.workspace.tenant, self.folded.run.id());
        let history = runs.journals.history(tenant, run).await?;
        let examined = runs.evidence.leave(&self.pinned, &self.folded, &history);
        self.results = examined.await?.map(|examined| (history, examined));
        Ok(())
    }
}
