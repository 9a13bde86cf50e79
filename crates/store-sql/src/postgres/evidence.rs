//! Writes evidence of one tenant that is queued at the same time in one transaction.
//!
//! A writer holds the tenant's log until the commit is on disk. If each of many runs appended separately, the others
//! would wait for that, each with a connection of the pool, and time-critical statements (the renewal of leases) would
//! wait behind them. So callers queue their records here, and the caller whose turn it is writes all of them: the group
//! commit of DeWitt et al., "Implementation Techniques for Main Memory Database Systems", 1984.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charter_contract::catalogue::evidence::EvidenceRecord;
use charter_contract::ids::TenantId;
use charter_store::StoreError;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Mutex as Turn, oneshot};

use super::PostgresEngine;
use crate::evidence::{EvidenceWriter, put_together};

/// Most records of one transaction.
const MOST: usize = 256;

/// Records of one call, and the channel for its result.
struct Job {
    records: Arc<[EvidenceRecord]>,
    done: oneshot::Sender<Result<(), StoreError>>,
}

#[derive(Default)]
struct Line {
    turn: Turn<()>,
    waiting: Mutex<Vec<Job>>,
}

impl Line {
    fn waiting(&self) -> MutexGuard<'_, Vec<Job>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the oldest jobs, without those of cancelled callers.
    fn next(&self) -> Vec<Job> {
        let mut waiting = self.waiting();
        waiting.retain(|job| !job.done.is_closed());
        let mut records = 0;
        let fit = waiting.iter().take_while(|job| {
            records += job.records.len();
            records <= MOST
        });
        let fit = fit.count().max(1).min(waiting.len());
        waiting.drain(..fit).collect()
    }
}

/// The queues of all tenants with current writes.
#[derive(Default)]
pub(super) struct Gathering(Mutex<HashMap<TenantId, Arc<Line>>>);

impl Gathering {
    fn lines(&self) -> MutexGuard<'_, HashMap<TenantId, Arc<Line>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, tenant: &TenantId) -> Arc<Line> {
        Arc::clone(self.lines().entry(tenant.clone()).or_default())
    }

    /// Removes a queue that no caller uses.
    fn leave(&self, tenant: &TenantId, line: Arc<Line>) {
        let mut lines = self.lines();
        drop(line);
        if lines
            .get(tenant)
            .is_some_and(|line| Arc::strong_count(line) == 1)
        {
            lines.remove(tenant);
        }
    }
}

impl EvidenceWriter for PostgresEngine {
    /// Writes records, together with those that other callers of the tenant queued. One caller writes at a time.
    async fn put(
        &self,
        tenant: &TenantId,
        records: Arc<[EvidenceRecord]>,
    ) -> Result<(), StoreError> {
        let line = self.gathering.line(tenant);
        let outcome = loop {
            let (done, mut ended) = oneshot::channel();
            line.waiting().push(Job {
                records: Arc::clone(&records),
                done,
            });
            let _turn = line.turn.lock().await;
            let outcome = loop {
                match ended.try_recv() {
                    Ok(outcome) => break Some(outcome),
                    Err(TryRecvError::Empty) => self.put_jobs(tenant, line.next()).await,
                    // The caller with the turn was cancelled, and its transaction rolled back.
                    Err(TryRecvError::Closed) => break None,
                }
            };
            if let Some(outcome) = outcome {
                break outcome;
            }
        };
        self.gathering.leave(tenant, line);
        outcome
    }
}

impl PostgresEngine {
    /// Writes several jobs in one transaction. If that fails, writes each separately, so that only the invalid one
    /// fails.
    async fn put_jobs(&self, tenant: &TenantId, jobs: Vec<Job>) {
        let all = jobs.iter().map(|job| Arc::clone(&job.records)).collect();
        let together = jobs.len() > 1 && put_together(self, tenant, all).await.is_ok();
        for job in jobs {
            let outcome = match together {
                true => Ok(()),
                false => put_together(self, tenant, vec![job.records]).await,
            };
            // The caller may be gone.
            drop(job.done.send(outcome));
        }
    }
}
