//! Group append: writes the appends and new runs of many callers in common transactions.
//!
//! Callers queue their writes. A write never waits for others to come: if one of a few dedicated connections is free, a
//! task takes the queued writes of the tenant whose turn it is, and writes them in one transaction of one round trip
//! (`charter_append`). Meanwhile the next batch gathers. A batch holds one tenant's runs, each once, and row security
//! restricts its transaction to that tenant.
//!
//! A batch never waits for the lock of a run. A write that the batch cannot decide returns to its caller, which writes
//! it in a transaction of its own (`journal::append_alone`): a run that another transaction has locked, a refused
//! approval, and every write of a batch that the database refused. So does a write with artifacts.

mod batch;
mod lists;
mod queue;
mod values;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charter_contract::ids::{ApprovalId, TenantId};
use charter_store::StoreError;
use charter_store::approval::ApprovalChange;
use charter_store::journal::{Append, GENESIS, NewLeasedRun};
use charter_store::lease::Lease;
use deadpool_postgres::Pool;
use tokio::sync::oneshot;

use super::PostgresEngine;
use super::address::DatabaseAddress;
use crate::column;
use crate::journal::{JournalWriter, append_alone, check_chain, create_alone};
use batch::{PendingWrite, QueuedWrite, WriteAnswer, WriteBatch};
use queue::TenantQueue;

/// Connections that write batches.
pub(super) const WRITERS: usize = 4;

/// Most writes of a batch.
const MAX_WRITES: usize = 128;

/// Most bytes of the payloads of a batch with several writes.
const MAX_BYTES: usize = 4 << 20;

/// The appends and new runs of this process.
pub(super) struct GroupAppend {
    shared: Arc<AppendQueue>,
}

/// State that callers and the tasks that write share.
struct AppendQueue {
    pool: Pool,
    place: DatabaseAddress,
    state: Mutex<QueueState>,
}

#[derive(Default)]
struct QueueState {
    queue: TenantQueue<QueuedWrite>,
    /// Tasks that write.
    writers: usize,
}

impl GroupAppend {
    /// Returns an empty queue over a pool of [`WRITERS`] connections.
    pub(super) fn new(pool: Pool, place: DatabaseAddress) -> Self {
        let state = Mutex::default();
        Self {
            shared: Arc::new(AppendQueue { pool, place, state }),
        }
    }

    /// Closes its connections; queued writes fail.
    pub(super) fn close(&self) {
        self.shared.pool.close();
    }

    /// Queues a write and waits for its answer. A write that has begun is not undone if the caller goes away.
    async fn write<W, T>(
        &self,
        tenant: &TenantId,
        write: QueuedWrite,
        answer: oneshot::Receiver<WriteAnswer<W, T>>,
    ) -> Result<WriteAnswer<W, T>, StoreError> {
        if let Some(writer) = AppendQueue::push(&self.shared, tenant, write)? {
            tokio::spawn(writer.write_batches());
        }
        // The task ended with the runtime, or by a panic.
        answer.await.map_err(|source| StoreError::Engine {
            doing: "waiting for an append",
            source: Box::new(source),
        })
    }
}

impl AppendQueue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a write. Returns a writer if a connection is free.
    fn push(
        shared: &Arc<Self>,
        tenant: &TenantId,
        write: QueuedWrite,
    ) -> Result<Option<BatchWriter>, StoreError> {
        let mut state = shared.state();
        let queued = state.queue.push(tenant, write);
        queued.map_err(|waiting| StoreError::Overloaded {
            what: "an append",
            waiting: waiting as u64,
        })?;
        if state.writers == WRITERS {
            return Ok(None);
        }
        state.writers += 1;
        Ok(Some(BatchWriter {
            shared: Arc::clone(shared),
            has_left: false,
        }))
    }
}

/// A task that writes batches until the queue is empty. It counts in [`QueueState::writers`].
struct BatchWriter {
    shared: Arc<AppendQueue>,
    has_left: bool,
}

impl BatchWriter {
    async fn write_batches(mut self) {
        while let Some(batch) = self.next() {
            match self.shared.pool.get().await {
                Ok(client) => batch.write(&client).await,
                Err(error) => batch.fail(self.shared.place.of_pool(error)),
            }
        }
    }

    /// Returns the next batch. If there is none, this writer leaves, in the same step: a later write starts another.
    fn next(&mut self) -> Option<WriteBatch> {
        let mut state = self.shared.state();
        loop {
            let (mut runs, mut bytes) = (HashSet::new(), 0_usize);
            let taken = state.queue.take(|write| {
                bytes = bytes.saturating_add(write.bytes());
                let has_room = runs.len() < MAX_WRITES && bytes <= MAX_BYTES;
                has_room && runs.insert(write.run().clone())
            });
            let Some((tenant, mut writes)) = taken else {
                state.writers -= 1;
                self.has_left = true;
                return None;
            };
            writes.retain(|write| !write.is_cancelled());
            if !writes.is_empty() {
                return Some(WriteBatch::new(tenant, writes));
            }
        }
    }
}

impl Drop for BatchWriter {
    fn drop(&mut self) {
        if !self.has_left {
            self.shared.state().writers -= 1;
        }
    }
}

/// Whether each approval is changed once, and belongs to the tenant.
fn are_separate(tenant: &TenantId, changes: &[ApprovalChange]) -> bool {
    let mut changed: HashSet<&ApprovalId> = HashSet::new();
    changes.iter().all(|change| match change {
        ApprovalChange::Ask(record) => {
            record.tenant_id == *tenant && changed.insert(&record.approval_id)
        }
        ApprovalChange::Move(step) => changed.insert(&step.approval_id),
    })
}

/// Whether an append can share a transaction. The others have artifacts, or numbers that no column can hold.
fn is_collected(append: &Append) -> bool {
    append.artifacts.is_empty()
        && append.mission_state.is_none()
        && column::integer("run version", append.expected).is_ok()
        && column::integer("fence", append.fence.0).is_ok()
        && are_separate(&append.tenant_id, &append.approvals)
}

/// Whether a new run can share a transaction. The others have artifacts, or are refused.
fn is_collected_run(new: &NewLeasedRun) -> bool {
    let run = &new.run;
    let asks = |change: &ApprovalChange| matches!(change, ApprovalChange::Ask(_));
    new.artifacts.is_empty()
        && new.mission_state.is_none()
        && run.version == new.events.len() as u64
        && new.approvals.iter().all(asks)
        && are_separate(&run.tenant_id, &new.approvals)
        && check_chain(&run.run_id, 0, GENESIS, &new.events).is_ok()
}

impl JournalWriter for PostgresEngine {
    async fn append(&self, append: Append) -> Result<u64, StoreError> {
        if !is_collected(&append) {
            return append_alone(self, append).await;
        }
        let tenant = append.tenant_id.clone();
        let (write, answer) = PendingWrite::new(append);
        let write = QueuedWrite::Append(write);
        match self.appends.write(&tenant, write, answer).await? {
            WriteAnswer::Done(answer) => answer,
            WriteAnswer::Undecided(append) => append_alone(self, *append).await,
        }
    }

    async fn create(&self, new: NewLeasedRun) -> Result<Lease, StoreError> {
        if !is_collected_run(&new) {
            return create_alone(self, new).await;
        }
        let tenant = new.run.tenant_id.clone();
        let (write, answer) = PendingWrite::new(new);
        let write = QueuedWrite::Creation(write);
        match self.appends.write(&tenant, write, answer).await? {
            WriteAnswer::Done(answer) => answer,
            WriteAnswer::Undecided(new) => create_alone(self, *new).await,
        }
    }
}
