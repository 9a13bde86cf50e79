//! Group commit: one thread owns the write connection and commits many callers' writes at once.
//!
//! The thread takes whatever is queued, runs each job in its own savepoint inside one transaction,
//! commits once, and only then answers every caller. While it waits for the disk the next batch
//! gathers, so an idle store answers one write per sync and a busy one hundreds.
//!
//! This file knows nothing of what the jobs write.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::vec::Drain;

use charter_store::StoreError;
use rusqlite::{Connection, Error, ffi};
use tokio::sync::{mpsc, oneshot};

use super::failure::{classify_shared, during};
use super::lock::DirectoryLock;
use super::locked;

/// Writes that wait for the thread; further callers wait for a place.
const QUEUE: usize = 1024;

/// Writes that share one commit.
const MAX_BATCH: usize = 256;

const COMMITTING: &str = "committing a batch of writes";

/// Runs one write, or fails it unrun when there is no transaction to run it in.
type Job = Box<dyn FnOnce(Result<&Connection, StoreError>) -> Ran + Send>;

/// A write between its run and the commit.
struct Ran {
    /// Tells the caller how it ended, given how the commit ended.
    answer: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
    /// Whether it failed because the device is full, which may end the whole transaction.
    out_of_space: bool,
}

/// The way to the write thread.
#[derive(Debug)]
pub(super) struct Writer {
    /// Absent once closed.
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<Result<(), StoreError>>>>,
}

impl Writer {
    /// Starts the thread. The directory stays locked until the thread has closed the database.
    pub(super) fn start(
        connection: Connection,
        lock: Arc<DirectoryLock>,
    ) -> Result<Self, StoreError> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || {
                serve(&connection, jobs);
                let checkpointed = checkpoint(&connection);
                drop(connection);
                lock.release();
                checkpointed
            })
            .map_err(|source| StoreError::Engine {
                doing: "starting the write thread",
                source: Box::new(source),
            })?;
        Ok(Self {
            queue: Mutex::new(Some(queue)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Runs `work` in the next batch. When this returns `Ok`, its changes are durable and all of
    /// them visible; when it returns an error, none are. A caller that goes away does not undo its
    /// write.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let queue = locked(&self.queue).clone().ok_or(StoreError::Closed)?;
        let (reply, answered) = oneshot::channel();
        let job: Job = Box::new(move |transaction| run(transaction, work, reply));
        queue.send(job).await.map_err(|_| StoreError::Closed)?;
        drop(queue);
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Waits for the queued writes and ends the thread; later writes get [`StoreError::Closed`].
    ///
    /// # Errors
    /// When the last checkpoint fails. Nothing is lost: the next open replays the log.
    pub(super) fn close(&self) -> Result<(), StoreError> {
        drop(locked(&self.queue).take());
        match locked(&self.thread).take().map(JoinHandle::join) {
            Some(Ok(checkpointed)) => checkpointed,
            // A panic of the thread has reached its callers as `Closed`.
            Some(Err(_)) => Err(StoreError::Closed),
            None => Ok(()),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A checkpoint that fails loses nothing, and there is nobody left to tell.
        drop(self.close());
    }
}

fn serve(connection: &Connection, mut jobs: mpsc::Receiver<Job>) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    while jobs.blocking_recv_many(&mut batch, MAX_BATCH) > 0 {
        let mut rest = batch.drain(..);
        while rest.len() > 0 {
            let mut ran = Vec::with_capacity(rest.len());
            let committed = transact(connection, &mut rest, &mut ran).map_err(Arc::new);
            for write in ran {
                let committed = committed.as_ref().copied();
                (write.answer)(committed.map_err(|error| classify_shared(COMMITTING, error)));
            }
        }
    }
}

/// Runs jobs in one transaction until none are left or one of them lost the transaction.
fn transact(
    connection: &Connection,
    jobs: &mut Drain<'_, Job>,
    ran: &mut Vec<Ran>,
) -> Result<(), Error> {
    if let Err(error) = execute(connection, "BEGIN IMMEDIATE") {
        let error = Arc::new(error);
        ran.extend(jobs.map(|job| job(Err(classify_shared(COMMITTING, &error)))));
        return Ok(());
    }
    for job in jobs {
        let write = job(Ok(connection));
        let out_of_space = write.out_of_space;
        ran.push(write);
        if connection.is_autocommit() {
            return Err(lost_transaction(out_of_space));
        }
    }
    execute(connection, "COMMIT").inspect_err(|_| roll_back(connection))
}

fn run<T, F>(
    transaction: Result<&Connection, StoreError>,
    work: F,
    reply: oneshot::Sender<Result<T, StoreError>>,
) -> Ran
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> Result<T, StoreError>,
{
    let result = transaction.and_then(|connection| run_in_savepoint(connection, work));
    let out_of_space = matches!(result, Err(StoreError::Full { .. }));
    let answer = move |committed: Result<(), StoreError>| {
        let result = result.and_then(|value| committed.map(|()| value));
        // A caller that has gone away is not told; its write stands.
        drop(reply.send(result));
    };
    Ran {
        answer: Box::new(answer),
        out_of_space,
    }
}

fn run_in_savepoint<T, F>(connection: &Connection, work: F) -> Result<T, StoreError>
where
    F: FnOnce(&Connection) -> Result<T, StoreError>,
{
    const DOING: &str = "keeping a write apart from its batch";
    execute(connection, "SAVEPOINT job").map_err(during(DOING))?;
    let result = catch_unwind(AssertUnwindSafe(|| work(connection))).unwrap_or_else(|_| {
        Err(StoreError::Engine {
            doing: "running a write",
            source: "the write panicked".into(),
        })
    });
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

/// Ends a transaction that cannot be committed; SQLite may have ended it already.
fn roll_back(connection: &Connection) {
    if !connection.is_autocommit() {
        // If even this fails the next BEGIN does too, and its callers are told.
        drop(execute(connection, "ROLLBACK"));
    }
}

fn lost_transaction(out_of_space: bool) -> Error {
    let code = if out_of_space {
        ffi::SQLITE_FULL
    } else {
        ffi::SQLITE_ABORT_ROLLBACK
    };
    let message = "another write of the same batch failed and ended the transaction";
    Error::SqliteFailure(ffi::Error::new(code), Some(message.to_owned()))
}

fn execute(connection: &Connection, sql: &str) -> Result<(), Error> {
    connection.prepare_cached(sql)?.execute([]).map(|_| ())
}

/// Moves the whole log into the database file, so that the next start has nothing to replay.
fn checkpoint(connection: &Connection) -> Result<(), StoreError> {
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .map_err(during("writing the log back into the database"))
}
