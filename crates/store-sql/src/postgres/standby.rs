//! Reads from a standby, for listings that may lag a little.
//!
//! A standby cannot know its own lag: one that is cut off has replayed everything that it received. So this asks the
//! primary for the end of its log, and polls the standby until it has replayed that position. The standby then has
//! everything from before the question. If the question is older than the allowed lag, or the standby does not answer,
//! the primary is read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use charter_store::StoreError;
use deadpool_postgres::{Object, Pool};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::PostgresEngine;
use super::connection::RowScope;
use crate::failure::postgres::during;

/// Number of polls of the standby within its allowed lag.
const LOOKS: u32 = 8;

const ASKING: &str = "reading the standby's position";

/// A standby whose lag is monitored.
#[derive(Debug)]
pub(super) struct Standby {
    pool: Pool,
    shared: Arc<Shared>,
    task: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    /// The standby has everything from before this moment; absent while its lag is unknown.
    has: Mutex<Option<Instant>>,
    may_lag: Duration,
}

impl Shared {
    fn has(&self) -> MutexGuard<'_, Option<Instant>> {
        self.has.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_in_time(&self) -> bool {
        self.has().is_some_and(|has| has.elapsed() <= self.may_lag)
    }
}

impl Standby {
    /// Starts monitoring its lag.
    pub(super) fn follow(primary: Pool, pool: Pool, may_lag: Duration) -> Self {
        let shared = Arc::new(Shared {
            has: Mutex::default(),
            may_lag,
        });
        let task = tokio::spawn(keep_looking(primary, pool.clone(), Arc::clone(&shared)));
        Self {
            pool,
            shared,
            task: task.abort_handle(),
        }
    }

    /// Returns a connection to it, if its lag is small enough and it answers.
    async fn client(&self) -> Option<Object> {
        if !self.shared.is_in_time() {
            return None;
        }
        let client = self.pool.get().await;
        client.map_err(|error| self.failed(&error)).ok()
    }

    /// Stops using it until its lag is known to be small enough again.
    fn failed(&self, error: &dyn std::error::Error) {
        tracing::warn!(error = %error, "the standby did not answer; reading from the primary");
        *self.shared.has() = None;
    }

    pub(super) fn close(&self) {
        self.task.abort();
        self.pool.close();
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn keep_looking(primary: Pool, standby: Pool, shared: Arc<Shared>) {
    let pause = shared.may_lag / LOOKS;
    let mut was_in_time = None;
    loop {
        let asked = Instant::now();
        match reaches(&primary, &standby, &shared, pause).await {
            Ok(true) => *shared.has() = Some(asked),
            Ok(false) => {}
            Err(error) => tracing::debug!(error = %error, "the standby's position is unknown"),
        }
        let in_time = shared.is_in_time();
        if was_in_time != Some(in_time) {
            was_in_time = Some(in_time);
            match in_time {
                true => tracing::info!("the standby has caught up; reading listings from it"),
                false => {
                    tracing::warn!(
                        "the standby lags too far behind or is unavailable; reading from the primary"
                    );
                }
            }
        }
        tokio::time::sleep(pause).await;
    }
}

/// Waits until the standby has replayed the primary's current position; returns whether it did in time.
async fn reaches(
    primary: &Pool,
    standby: &Pool,
    shared: &Shared,
    pause: Duration,
) -> Result<bool, StoreError> {
    let of_pool = |source| StoreError::Engine {
        doing: ASKING,
        source: Box::new(source),
    };
    let asked = Instant::now();
    let primary = primary.get().await.map_err(of_pool)?;
    let sql = "SELECT pg_current_wal_lsn()::text";
    let end = primary.query_one(sql, &[]).await.map_err(during(ASKING))?;
    let end: String = end.get(0);
    drop(primary);
    let standby = standby.get().await.map_err(of_pool)?;
    // A promoted server is no longer a standby, and has its own log.
    let sql = "SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= $1::text::pg_lsn";
    while asked.elapsed() <= shared.may_lag {
        let there = standby.query_one(sql, &[&end]).await;
        if there.map_err(during(ASKING))?.get(0) {
            return Ok(true);
        }
        tokio::time::sleep(pause).await;
    }
    Ok(false)
}

/// A connection for a listing.
pub(super) struct Reader {
    pub(super) client: Object,
    /// Whether it leads to the standby.
    of_standby: bool,
}

impl PostgresEngine {
    /// Returns a connection for reads that may lag a little.
    pub(super) async fn reader(&self, reach: RowScope<'_>) -> Result<Reader, StoreError> {
        if let Some(standby) = &self.standby
            && let Some(client) = standby.client().await
        {
            reach.bound(&client);
            return Ok(Reader {
                client,
                of_standby: true,
            });
        }
        Ok(Reader {
            client: self.client(reach).await?,
            of_standby: false,
        })
    }

    /// Whether a failed read is retried on the primary.
    pub(super) fn reads_again<T>(&self, reader: &Reader, outcome: &Result<T, StoreError>) -> bool {
        match (outcome, &self.standby) {
            (Err(error), Some(standby)) if reader.of_standby && error.is_transient() => {
                standby.failed(error);
                true
            }
            _ => false,
        }
    }
}
