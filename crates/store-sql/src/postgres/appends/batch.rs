//! One batch: appends to runs of one tenant and creations of such runs, in one transaction of one round trip.

use std::sync::{Arc, LazyLock};

use charter_contract::ids::{RunId, TenantId};
use charter_store::StoreError;
use charter_store::journal::{Append, EventHash, NewLeasedRun};
use charter_store::lease::{Fence, Lease};
use deadpool_postgres::Object;
use futures_util::future;
use tokio::sync::oneshot;
use tokio_postgres::types::FromSql;
use tokio_postgres::{Error, Row};

use super::values::{AppendLists, CreationLists, call};
use crate::failure::postgres::during;
use crate::journal::{RunHead, check_state};
use crate::{column, lease};

const APPENDING: &str = "appending to journals";

static APPEND: LazyLock<String> = LazyLock::new(|| call("charter_append", AppendLists::VALUES));
static CREATE: LazyLock<String> =
    LazyLock::new(|| call("charter_create_runs", CreationLists::VALUES));

/// The answer to a write.
pub(super) enum WriteAnswer<W, T> {
    /// The write is durable, or refused.
    Done(Result<T, StoreError>),
    /// The batch could not decide the write. It is not written, and needs a transaction of its own: it waits for a
    /// lock, or its refusal is decided one row at a time.
    Undecided(Box<W>),
}

/// A queued write of one caller.
pub(super) struct PendingWrite<W, T> {
    request: Box<W>,
    /// The caller may be gone.
    caller: oneshot::Sender<WriteAnswer<W, T>>,
}

impl<W, T> PendingWrite<W, T> {
    /// Returns a write, and the receiver of its answer.
    pub(super) fn new(request: W) -> (Self, oneshot::Receiver<WriteAnswer<W, T>>) {
        let (caller, answer) = oneshot::channel();
        let request = Box::new(request);
        (Self { request, caller }, answer)
    }

    fn done(self, answer: Result<T, StoreError>) {
        drop(self.caller.send(WriteAnswer::Done(answer)));
    }

    fn undecided(self) {
        drop(self.caller.send(WriteAnswer::Undecided(self.request)));
    }

    fn answer(self, answer: Option<Result<T, StoreError>>) {
        match answer {
            Some(answer) => self.done(answer),
            None => self.undecided(),
        }
    }
}

/// A write in the queue.
pub(super) enum QueuedWrite {
    Append(PendingWrite<Append, u64>),
    Creation(PendingWrite<NewLeasedRun, Lease>),
}

impl QueuedWrite {
    /// The run that it writes.
    pub(super) fn run(&self) -> &RunId {
        match self {
            Self::Append(append) => &append.request.run_id,
            Self::Creation(creation) => &creation.request.run.run_id,
        }
    }

    /// The size of its payloads in bytes.
    pub(super) fn bytes(&self) -> usize {
        let events = match self {
            Self::Append(append) => &append.request.events,
            Self::Creation(creation) => &creation.request.events,
        };
        events.iter().map(|event| event.payload.len()).sum()
    }

    /// Whether its caller is gone: a write that has not begun is then left out.
    pub(super) fn is_cancelled(&self) -> bool {
        match self {
            Self::Append(append) => append.caller.is_closed(),
            Self::Creation(creation) => creation.caller.is_closed(),
        }
    }
}

/// Writes of one tenant, each to another run.
pub(super) struct WriteBatch {
    tenant: TenantId,
    appends: Vec<PendingWrite<Append, u64>>,
    creations: Vec<PendingWrite<NewLeasedRun, Lease>>,
}

/// The reason why a batch wrote nothing, as far as is known.
enum BatchFailure {
    /// The database rolled it back.
    RolledBack,
    /// Its values or its answer are invalid, or the connection was lost.
    Failed(StoreError),
}

/// The answers to a batch: the version that each append reached, and the lease of each new run. Absent for a write that
/// the batch could not decide.
struct BatchAnswers {
    appends: Vec<Option<Result<u64, StoreError>>>,
    creations: Vec<Option<Result<Lease, StoreError>>>,
}

impl WriteBatch {
    /// Returns a batch. Its appends are in the order of their runs' ids, for which `charter_append` is the fastest.
    pub(super) fn new(tenant: TenantId, writes: Vec<QueuedWrite>) -> Self {
        let mut batch = Self {
            tenant,
            appends: Vec::new(),
            creations: Vec::new(),
        };
        for write in writes {
            match write {
                QueuedWrite::Append(append) => batch.appends.push(append),
                QueuedWrite::Creation(creation) => batch.creations.push(creation),
            }
        }
        batch
            .appends
            .sort_unstable_by(|a, b| a.request.run_id.cmp(&b.request.run_id));
        batch
    }

    /// Writes the batch and answers its callers. If the database refuses the batch, each write gets a transaction of its
    /// own, so that only the refused one fails.
    pub(super) async fn write(self, client: &Object) {
        match self.execute(client).await {
            Ok(answers) => {
                for (append, answer) in self.appends.into_iter().zip(answers.appends) {
                    append.answer(answer);
                }
                for (creation, answer) in self.creations.into_iter().zip(answers.creations) {
                    creation.answer(answer);
                }
            }
            Err(BatchFailure::RolledBack) => {
                self.appends.into_iter().for_each(PendingWrite::undecided);
                self.creations.into_iter().for_each(PendingWrite::undecided);
            }
            Err(BatchFailure::Failed(error)) => self.fail(error),
        }
    }

    /// Answers every caller with an error.
    pub(super) fn fail(self, error: StoreError) {
        let error = SharedError::new(error);
        for append in self.appends {
            append.done(Err(error.copy()));
        }
        for creation in self.creations {
            creation.done(Err(error.copy()));
        }
    }

    async fn execute(&self, client: &Object) -> Result<BatchAnswers, BatchFailure> {
        let appends = self.appends.iter().map(|append| &*append.request);
        let appends = AppendLists::new(&self.tenant, appends).map_err(BatchFailure::Failed)?;
        let creations = self.creations.iter().map(|creation| &*creation.request);
        let creations = CreationLists::new(&self.tenant, creations);
        let creations = creations.map_err(BatchFailure::Failed)?;
        let (appended, created) = match (self.appends.is_empty(), self.creations.is_empty()) {
            (false, true) => (Some(append(client, &appends).await), None),
            (true, false) => (None, Some(create(client, &creations).await)),
            (false, false) => match together(client, &appends, &creations).await {
                Ok((appended, created)) => (Some(Ok(appended)), Some(Ok(created))),
                Err(error) => (Some(Err(error)), None),
            },
            (true, true) => (None, None),
        };
        let appended = appended.transpose().map_err(failure)?;
        let created = created.transpose().map_err(failure)?;
        let appends = appended.map(|row| self.append_answers(&row)).transpose();
        let creations = created.map(|row| self.creation_answers(&row)).transpose();
        Ok(BatchAnswers {
            appends: appends.map_err(BatchFailure::Failed)?.unwrap_or_default(),
            creations: creations.map_err(BatchFailure::Failed)?.unwrap_or_default(),
        })
    }

    /// Reads `is_written, found_versions, found_phases, found_hashes, found_fences`.
    fn append_answers(
        &self,
        row: &Row,
    ) -> Result<Vec<Option<Result<u64, StoreError>>>, StoreError> {
        let written: Vec<bool> = read(row, 0)?;
        let versions: Vec<Option<i64>> = read(row, 1)?;
        let phases: Vec<Option<String>> = read(row, 2)?;
        let hashes: Vec<Option<Vec<u8>>> = read(row, 3)?;
        let fences: Vec<i64> = read(row, 4)?;
        let heads = versions.into_iter().zip(phases).zip(hashes).zip(fences);
        let mut answers = Vec::with_capacity(self.appends.len());
        for ((append, is_written), found) in self.appends.iter().zip(written).zip(heads) {
            let append = &*append.request;
            let (((version, phase), hash), fence) = found;
            answers.push(match (is_written, version, phase, hash) {
                (true, ..) => Some(Ok(append.expected + append.events.len() as u64)),
                (false, Some(version), Some(phase), Some(hash)) => {
                    let head = RunHead {
                        version: column::parse_integer("run version", version)?,
                        phase: column::parse_phase(&phase)?,
                        last_hash: EventHash(column::parse_hash("event hash", &hash)?),
                    };
                    let fence = Fence(column::parse_integer("fence", fence)?);
                    refusal(&head, fence, append)
                }
                // It is absent, or another transaction has locked it.
                (false, ..) => None,
            });
        }
        Ok(answers)
    }

    /// Reads `is_created`.
    fn creation_answers(
        &self,
        row: &Row,
    ) -> Result<Vec<Option<Result<Lease, StoreError>>>, StoreError> {
        let created: Vec<bool> = read(row, 0)?;
        let answers = self.creations.iter().zip(created);
        let answers = answers.map(|(creation, is_created)| {
            let new = &creation.request;
            is_created.then(|| {
                Ok(Lease {
                    resource: new.run.run_id.to_string(),
                    holder: new.holder.clone(),
                    fence: Fence(1),
                    expires_at: new.expires_at,
                })
            })
        });
        Ok(answers.collect())
    }
}

/// Returns why a run refuses an append, unless its state accepts it: then an approval was refused.
fn refusal(head: &RunHead, fence: Fence, append: &Append) -> Option<Result<u64, StoreError>> {
    let fenced = lease::check_fence(append.run_id.as_str(), append.fence, fence);
    let refused = fenced.and_then(|()| check_state(head, append));
    refused.is_err().then_some(refused)
}

/// Appends in a transaction of one statement.
async fn append(client: &Object, lists: &AppendLists<'_>) -> Result<Row, Error> {
    let statement = client.prepare_cached(&APPEND).await?;
    client.query_one(&statement, &lists.values()).await
}

/// Creates runs in a transaction of one statement.
async fn create(client: &Object, lists: &CreationLists<'_>) -> Result<Row, Error> {
    let statement = client.prepare_cached(&CREATE).await?;
    client.query_one(&statement, &lists.values()).await
}

/// Appends and creates runs in one transaction, whose statements are sent without waiting for answers in between.
async fn together(
    client: &Object,
    appends: &AppendLists<'_>,
    creations: &CreationLists<'_>,
) -> Result<(Row, Row), Error> {
    let append = client.prepare_cached(&APPEND).await?;
    let create = client.prepare_cached(&CREATE).await?;
    let (appends, creations) = (appends.values(), creations.values());
    // The first poll of each sends it. After a failed statement the server ends the transaction by a rollback.
    let (begun, appended, created, committed) = future::join4(
        client.batch_execute("BEGIN"),
        client.query_one(&append, &appends),
        client.query_one(&create, &creations),
        client.batch_execute("COMMIT"),
    )
    .await;
    begun?;
    let answers = (appended?, created?);
    committed?;
    Ok(answers)
}

/// Distinguishes an error of the database, which rolls back, from a lost connection, after which nothing is known.
fn failure(error: Error) -> BatchFailure {
    match error.as_db_error() {
        Some(_) => BatchFailure::RolledBack,
        None => BatchFailure::Failed(during(APPENDING)(error)),
    }
}

fn read<'r, T: FromSql<'r>>(row: &'r Row, index: usize) -> Result<T, StoreError> {
    row.try_get(index).map_err(during(APPENDING))
}

/// An error that several callers receive.
struct SharedError(Arc<StoreError>);

impl SharedError {
    fn new(error: StoreError) -> Self {
        Self(Arc::new(error))
    }

    fn copy(&self) -> StoreError {
        match &*self.0 {
            StoreError::Closed => StoreError::Closed,
            StoreError::Overloaded { what, waiting } => StoreError::Overloaded {
                what,
                waiting: *waiting,
            },
            _ => StoreError::Engine {
                doing: APPENDING,
                source: Box::new(Arc::clone(&self.0)),
            },
        }
    }
}
