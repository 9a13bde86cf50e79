//! Runs and their journals. Triggers prevent changes of events, and their deletion apart from their run
//! (`migrations/V1__initial.sql`). An append locks the run's row and then the lease's, and checks their current values.

mod append;
mod claim;
mod create;
mod listing;
mod read;
mod writer;

use async_trait::async_trait;
use charter_contract::ids::{RunId, TenantId};
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::journal::{
    Append, Claim, ClaimedRun, Journal, JournalEvent, NewEvent, NewLeasedRun, RunFilter, RunRecord,
    RunWait,
};
use charter_store::lease::{Fence, Lease};
use charter_store::mission::ArtifactRecord;
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};

use crate::column;
use crate::row::field;
use crate::store::{Access, RowScope, SqlStore};
use crate::tx::{Tx, execute, execute_many, params, rows};

pub(crate) use append::{RunHead, check_state, is_chained};
pub(crate) use create::{check_chain, create};
pub(crate) use read::{RECORD, events, one, record};
pub(crate) use writer::{JournalWriter, append_alone, create_alone};

const LISTING: &str = "listing runs";
const READING: &str = "reading a run";
const WRITING: &str = "writing a run";

/// Deletes finished runs. PostgreSQL skips those that another replica deletes concurrently.
async fn sweep(tx: &mut Tx<'_>, before: i64, limit: i64) -> Result<u64, StoreError> {
    const DOING: &str = "sweeping runs";
    let finished = format!(
        "SELECT tenant_id, run_id FROM run WHERE finished_at < $1
         ORDER BY finished_at, tenant_id, run_id LIMIT $2{}",
        tx.dialect().for_update_of_free_rows()
    );
    let runs: Vec<(String, String)> = rows(DOING, tx, &finished, params![before, limit], |row| {
        Ok((field(row, 0)?, field(row, 1)?))
    })
    .await?;
    let keys: Vec<_> = runs
        .iter()
        .map(|(tenant, run)| params![tenant, run].to_vec())
        .collect();
    let sql = "DELETE FROM run WHERE tenant_id = $1 AND run_id = $2";
    let swept = execute_many(DOING, tx, sql, &keys).await?;
    let listed = tx.dialect().one_of("$1");
    for key in ["run_tenant WHERE run_id", "lease WHERE resource"] {
        let ids: Vec<&str> = runs.iter().map(|(_, run)| run.as_str()).collect();
        let sql = format!("DELETE FROM {key} {listed}");
        execute(DOING, tx, &sql, params![ids]).await?;
    }
    Ok(swept)
}

#[async_trait]
impl<E: JournalWriter> Journal for SqlStore<E> {
    async fn create_run(
        &self,
        run: &RunRecord,
        events: Vec<NewEvent>,
        artifacts: Vec<ArtifactRecord>,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let count = messages.len();
        let values = (run.clone(), events, artifacts, messages);
        let scope = RowScope::Tenant(&run.tenant_id);
        self.engine
            .run(
                Access::Write,
                scope,
                values,
                |tx, (run, events, artifacts, messages)| {
                    Box::pin(create::with_mission(tx, run, events, artifacts, messages))
                },
            )
            .await?;
        self.engine.announce(count);
        Ok(())
    }

    async fn create_held_run(&self, new: NewLeasedRun) -> Result<Lease, StoreError> {
        let count = new.messages.len();
        let lease = self.engine.create(new).await?;
        self.engine.announce(count);
        Ok(lease)
    }

    async fn append(&self, request: Append) -> Result<u64, StoreError> {
        let count = request.messages.len();
        let version = self.engine.append(request).await?;
        self.engine.announce(count);
        Ok(version)
    }

    async fn park(
        &self,
        tenant: &TenantId,
        run: &RunId,
        fence: Fence,
        status: RunStatus,
        wait: RunWait,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let count = messages.len();
        let values = (tenant.clone(), run.clone(), wait, messages);
        let scope = RowScope::Tenant(tenant);
        self.engine
            .run(
                Access::Write,
                scope,
                values,
                move |tx, (tenant, run, wait, messages)| {
                    Box::pin(append::park(
                        tx,
                        (tenant, run),
                        fence,
                        (status, wait),
                        messages,
                    ))
                },
            )
            .await?;
        self.engine.announce(count);
        Ok(())
    }

    async fn run(&self, tenant: &TenantId, run: &RunId) -> Result<Option<RunRecord>, StoreError> {
        let values = (tenant.clone(), run.clone());
        let scope = RowScope::Tenant(tenant);
        self.engine
            .run(Access::Read, scope, values, |tx, (tenant, run)| {
                Box::pin(one(tx, tenant, run))
            })
            .await
    }

    async fn events(
        &self,
        tenant: &TenantId,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<JournalEvent>, StoreError> {
        let values = (tenant.clone(), run.clone());
        let scope = RowScope::Tenant(tenant);
        self.engine
            .run(Access::Read, scope, values, move |tx, (tenant, run)| {
                Box::pin(events(tx, tenant, run, after, limit))
            })
            .await
    }

    async fn journal_bytes(&self, tenant: &TenantId, run: &RunId) -> Result<u64, StoreError> {
        let bytes = self
            .engine
            .row(
                RowScope::Tenant(tenant),
                "measuring a journal",
                "SELECT CAST(coalesce(sum(octet_length(payload)), 0) AS bigint) FROM journal_event
                 WHERE tenant_id = $1 AND run_id = $2",
                params![tenant.as_str(), run.as_str()],
                |row| field::<i64>(row, 0),
            )
            .await?;
        Ok(bytes.map_or(0, i64::unsigned_abs))
    }

    async fn runs(
        &self,
        tenant: &TenantId,
        filter: &RunFilter,
        page: &PageRequest,
    ) -> Result<Page<RunRecord>, StoreError> {
        let values = (tenant.clone(), filter.clone(), page.clone());
        let scope = RowScope::Tenant(tenant);
        self.engine
            .run(
                Access::Listing,
                scope,
                values,
                |tx, (tenant, filter, page)| Box::pin(listing::list(tx, tenant, filter, page)),
            )
            .await
    }

    async fn unfinished_runs(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<RunRecord>, StoreError> {
        let sql = format!(
            "SELECT {RECORD} FROM run WHERE phase <> 'finished' AND run_id > $1
             ORDER BY run_id LIMIT $2"
        );
        let values = params![after.map_or("", RunId::as_str), column::limit(limit)];
        self.engine
            .rows(RowScope::Everyone, LISTING, &sql, values, record)
            .await
    }

    async fn count_unfinished_runs(&self, tenant: &TenantId, most: u64) -> Result<u64, StoreError> {
        let counted = self
            .engine
            .row(
                RowScope::Tenant(tenant),
                LISTING,
                "SELECT count(*) FROM
                 (SELECT 1 FROM run WHERE tenant_id = $1 AND phase <> 'finished' LIMIT $2) AS unfinished",
                params![tenant.as_str(), column::integer("number of runs", most)?],
                |row| field::<i64>(row, 0),
            )
            .await?;
        Ok(counted.map_or(0, i64::unsigned_abs))
    }

    async fn claim_runs(&self, request: &Claim) -> Result<Vec<ClaimedRun>, StoreError> {
        let scope = RowScope::Everyone;
        self.engine
            .run(Access::InTime, scope, request.clone(), |tx, request| {
                Box::pin(claim::claim(tx, request))
            })
            .await
    }

    async fn sweep_runs(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError> {
        let (before, limit) = (column::micros(before), column::limit(limit));
        self.engine
            .run(Access::Write, RowScope::Everyone, (), move |tx, ()| {
                Box::pin(sweep(tx, before, limit))
            })
            .await
    }
}
