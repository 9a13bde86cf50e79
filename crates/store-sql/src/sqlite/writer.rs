//! Group commit: one write connection that commits the writes of many callers together.
//!
//! Writes queue. The caller that finds the connection free drains the queue, runs each job in its own savepoint inside
//! one transaction, commits once, and only then answers every caller. The next batch gathers while the commit waits for
//! the disk, so an idle store answers one write per sync and a busy one hundreds. A write that is alone in its batch has
//! no savepoint, for which SQLite would copy every page that it changes.
//!
//! While callers write one at a time, the caller itself commits; otherwise a dedicated thread does. A caller that
//! commits saves the handover to the thread and back, a fifth of the time of a small write; RocksDB's write groups are
//! led by their first writer for the same reason. With many writers, a caller would block its thread's other tasks
//! during a sync.
//!
//! Must not know the content of the jobs.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::vec::Drain;

use charter_store::StoreError;
use rusqlite::{Connection, Error, ffi};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::locked;
use crate::failure::sqlite::{classify_shared, during};
use crate::lock::DirectoryLock;

/// Capacity of the queue; further callers wait for a free slot.
const QUEUE: usize = 1024;

/// Most writes of one commit.
const MAX_BATCH: usize = 256;

/// After this number of consecutive batches with a single job, writes count as one at a time: a caller then commits its
/// write itself.
const ALONE: u32 = 4;

const COMMITTING: &str = "committing a batch of writes";

/// Runs one write, or fails it without running it when there is no transaction.
type Job = Box<dyn FnOnce(Result<Transaction<'_>, StoreError>) -> ExecutedWrite + Send>;

/// The open transaction of a batch.
struct Transaction<'c> {
    connection: &'c mut Connection,
    /// Whether the batch has other writes, which a failed one must not undo.
    shared: bool,
}

/// A write between its execution and the commit.
struct ExecutedWrite {
    /// Sends the result to the caller, after the result of the commit.
    answer: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
    /// Whether it failed because the device is full, which may roll back the whole transaction.
    out_of_space: bool,
}

/// The queued writes.
#[derive(Default)]
struct PendingWrites {
    jobs: VecDeque<Job>,
    /// Whether the thread sleeps and has to be woken for new jobs.
    thread_sleeps: bool,
    /// Number of consecutive batches with a single job.
    single: u32,
    closed: bool,
}

/// State that callers and the thread share.
struct WriteQueue {
    queue: Mutex<PendingWrites>,
    filled: Condvar,
    places: Arc<Semaphore>,
    /// Locked while a batch is run and committed; absent once closed.
    connection: Mutex<Option<Connection>>,
}

/// Access to the write connection.
pub(super) struct Writer {
    desk: Arc<WriteQueue>,
    thread: Mutex<Option<JoinHandle<Result<(), StoreError>>>>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    /// Starts the thread. The directory stays locked until the thread has closed the database.
    pub(super) fn start(
        connection: Connection,
        lock: Arc<DirectoryLock>,
    ) -> Result<Self, StoreError> {
        let desk = Arc::new(WriteQueue {
            queue: Mutex::default(),
            filled: Condvar::new(),
            places: Arc::new(Semaphore::new(QUEUE)),
            connection: Mutex::new(Some(connection)),
        });
        let shared = Arc::clone(&desk);
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || {
                shared.serve();
                let checkpointed = locked(&shared.connection)
                    .take()
                    .map_or(Ok(()), |connection| checkpoint(&connection));
                lock.release();
                checkpointed
            })
            .map_err(|source| StoreError::Engine {
                doing: "starting the write thread",
                source: Box::new(source),
            })?;
        Ok(Self {
            desk,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Runs `work` in the next batch. On `Ok`, its changes are durable and all visible; on an error, none are. A caller
    /// that goes away does not undo its write.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let place = Arc::clone(&self.desk.places).acquire_owned().await;
        let place = place.map_err(|_| StoreError::Closed)?;
        let (reply, answered) = oneshot::channel();
        let job = Box::new(move |transaction: Result<Transaction<'_>, StoreError>| {
            run(transaction, work, reply, place)
        });
        self.desk.enqueue(job)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Waits for the queued writes and stops the thread; later writes get [`StoreError::Closed`].
    ///
    /// # Errors
    /// When the last checkpoint fails. No data is lost: the next open replays the log.
    pub(super) fn close(&self) -> Result<(), StoreError> {
        self.desk.close();
        match locked(&self.thread).take().map(JoinHandle::join) {
            Some(Ok(checkpointed)) => checkpointed,
            // A panic of the thread was reported to its callers as `Closed`.
            Some(Err(_)) => Err(StoreError::Closed),
            None => Ok(()),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A failed checkpoint loses no data, and there is no caller left to report it to.
        drop(self.close());
    }
}

impl WriteQueue {
    /// Queues a job and ensures that it runs: on this thread, if it is the only writer, the connection is free and the
    /// runtime can spare the thread; otherwise on the write thread.
    fn enqueue(&self, job: Job) -> Result<(), StoreError> {
        let mut queue = locked(&self.queue);
        if queue.closed {
            return Err(StoreError::Closed);
        }
        queue.jobs.push_back(job);
        if queue.single < ALONE || !may_block() {
            self.wake_thread(&queue);
            return Ok(());
        }
        drop(queue);
        if let Some(connection) = self.free_connection() {
            tokio::task::block_in_place(|| self.commit_batch(connection));
        }
        // Jobs that arrived since, or all of them if another thread uses the connection.
        self.wake_thread(&locked(&self.queue));
        Ok(())
    }

    /// Returns the connection, if it is not in use.
    fn free_connection(&self) -> Option<MutexGuard<'_, Option<Connection>>> {
        match self.connection.try_lock() {
            Ok(connection) => Some(connection),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Wakes the thread if it sleeps while jobs are queued.
    fn wake_thread(&self, queue: &PendingWrites) {
        if queue.thread_sleeps && !queue.jobs.is_empty() {
            self.filled.notify_one();
        }
    }

    fn close(&self) {
        locked(&self.queue).closed = true;
        self.filled.notify_one();
    }

    /// Commits batches until the writer is closed and the queue is empty.
    fn serve(&self) {
        while self.sleep_until_filled() {
            self.commit_batch(locked(&self.connection));
        }
    }

    /// Waits for a job or the end; returns whether there is a job.
    fn sleep_until_filled(&self) -> bool {
        let mut queue = locked(&self.queue);
        while queue.jobs.is_empty() && !queue.closed {
            queue.thread_sleeps = true;
            queue = self
                .filled
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
            queue.thread_sleeps = false;
        }
        !queue.jobs.is_empty()
    }

    /// Drains the queue and commits the jobs. Another thread may have drained it first. Callers are answered after the
    /// connection is released, so that the first of them may commit the next batch.
    fn commit_batch(&self, mut connection: MutexGuard<'_, Option<Connection>>) {
        let mut batch: Vec<Job> = {
            let mut queue = locked(&self.queue);
            let count = queue.jobs.len().min(MAX_BATCH);
            queue.single = match count {
                0 => queue.single,
                1 => queue.single.saturating_add(1),
                _ => 0,
            };
            queue.jobs.drain(..count).collect()
        };
        let mut ended = Vec::with_capacity(1);
        if let Some(connection) = connection.as_mut() {
            let mut rest = batch.drain(..);
            while rest.len() > 0 {
                let mut ran = Vec::with_capacity(rest.len());
                let committed = transact(connection, &mut rest, &mut ran).map_err(Arc::new);
                ended.push((ran, committed));
            }
        }
        drop(connection);
        for (ran, committed) in ended {
            for write in ran {
                let committed = committed.as_ref().copied();
                (write.answer)(committed.map_err(|error| classify_shared(COMMITTING, error)));
            }
        }
    }
}

/// Whether this thread may be blocked: the runtime has more threads, which run its tasks in the meantime.
fn may_block() -> bool {
    Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// Runs jobs in one transaction until none are left or one of them rolled the transaction back.
fn transact(
    connection: &mut Connection,
    jobs: &mut Drain<'_, Job>,
    ran: &mut Vec<ExecutedWrite>,
) -> Result<(), Error> {
    if let Err(error) = execute(connection, "BEGIN IMMEDIATE") {
        let error = Arc::new(error);
        ran.extend(jobs.map(|job| job(Err(classify_shared(COMMITTING, &error)))));
        return Ok(());
    }
    let shared = jobs.len() > 1;
    for job in jobs {
        let write = job(Ok(Transaction {
            connection: &mut *connection,
            shared,
        }));
        let out_of_space = write.out_of_space;
        ran.push(write);
        if connection.is_autocommit() {
            return Err(lost_transaction(out_of_space));
        }
    }
    execute(connection, "COMMIT").inspect_err(|_| roll_back(connection))
}

fn run<T, F>(
    transaction: Result<Transaction<'_>, StoreError>,
    work: F,
    reply: oneshot::Sender<Result<T, StoreError>>,
    place: OwnedSemaphorePermit,
) -> ExecutedWrite
where
    T: Send + 'static,
    F: FnOnce(&mut Connection) -> Result<T, StoreError>,
{
    let result = transaction.and_then(|transaction| {
        if transaction.shared {
            return run_in_savepoint(transaction.connection, work);
        }
        let result = run_caught(transaction.connection, work);
        if result.is_err() {
            roll_back(transaction.connection);
        }
        result
    });
    let out_of_space = matches!(result, Err(StoreError::Full { .. }));
    let answer = move |committed: Result<(), StoreError>| {
        let result = result.and_then(|value| committed.map(|()| value));
        // The caller may be gone; its write stays committed.
        drop(reply.send(result));
        drop(place);
    };
    ExecutedWrite {
        answer: Box::new(answer),
        out_of_space,
    }
}

fn run_in_savepoint<T, F>(connection: &mut Connection, work: F) -> Result<T, StoreError>
where
    F: FnOnce(&mut Connection) -> Result<T, StoreError>,
{
    const DOING: &str = "starting a savepoint";
    execute(connection, "SAVEPOINT job").map_err(during(DOING))?;
    let result = run_caught(connection, work);
    if result.is_err() && !connection.is_autocommit() {
        let undone = execute(connection, "ROLLBACK TO job");
        undone
            .and_then(|()| execute(connection, "RELEASE job"))
            .inspect_err(|_| roll_back(connection))
            .map_err(during(DOING))?;
        return result;
    }
    let value = result?;
    execute(connection, "RELEASE job")
        .inspect_err(|_| roll_back(connection))
        .map_err(during(DOING))?;
    Ok(value)
}

/// Runs a write; a panic is an error.
fn run_caught<T, F>(connection: &mut Connection, work: F) -> Result<T, StoreError>
where
    F: FnOnce(&mut Connection) -> Result<T, StoreError>,
{
    catch_unwind(AssertUnwindSafe(|| work(connection))).unwrap_or_else(|_| {
        Err(StoreError::Engine {
            doing: "running a write",
            source: "the write panicked".into(),
        })
    })
}

/// Rolls back a transaction that cannot be committed; SQLite may have done so already.
fn roll_back(connection: &Connection) {
    if !connection.is_autocommit() {
        // If this fails, the next BEGIN fails too, and its callers get the error.
        drop(execute(connection, "ROLLBACK"));
    }
}

fn lost_transaction(out_of_space: bool) -> Error {
    let code = if out_of_space {
        ffi::SQLITE_FULL
    } else {
        ffi::SQLITE_ABORT_ROLLBACK
    };
    let message = "another write of the batch failed and ended the transaction";
    Error::SqliteFailure(ffi::Error::new(code), Some(message.to_owned()))
}

fn execute(connection: &Connection, sql: &str) -> Result<(), Error> {
    connection.prepare_cached(sql)?.execute([]).map(|_| ())
}

/// Moves the whole log into the database file, so that the next start has nothing to replay.
fn checkpoint(connection: &Connection) -> Result<(), StoreError> {
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .map_err(during("checkpointing the write-ahead log"))
}

#[cfg(test)]
mod tests;
