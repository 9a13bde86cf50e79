//! Runs and journals in PostgreSQL. Triggers prevent changes of events, and their deletion apart from their run. An
//! append locks the run's row and then the lease's, and checks their current values.

mod claim;

use async_trait::async_trait;
use charter_contract::ids::{RunId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::journal::{
    Append, Claim, ClaimedRun, GENESIS, Journal, JournalEvent, NewEvent, NewLeasedRun, NextPhase,
    RunFilter, RunPhase, RunRecord, RunWait,
};
use charter_store::lease::{Fence, Lease};
use charter_store::mission::ArtifactRecord;
use charter_store::outbox::NewMessage;
use charter_store::page::{Page, PageRequest};
use deadpool_postgres::{GenericClient, Transaction};

use super::artifact::{self, Addition};
use super::connection::{RowScope, in_transaction};
use super::standby::on_reader;
use super::statement::{bound, execute, params, row, rows, rows_within};
use super::{PostgresStore, approval, lease, outbox};
use crate::column;
use crate::record::run::{self as record, RECORD, RunHead};
use crate::row::field;

const LISTING: &str = "listing runs";
const READING: &str = "reading a run";
const WRITING: &str = "writing a run";

/// Reads the run's state that an append is checked against, and locks the run until the transaction ends.
async fn head(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    run: &RunId,
) -> Result<RunHead, StoreError> {
    row(
        READING,
        connection,
        "SELECT version, phase, last_hash FROM run WHERE tenant_id = $1 AND run_id = $2 FOR UPDATE",
        params![tenant.as_str(), run.as_str()],
        record::head,
    )
    .await?
    .ok_or_else(|| record::missing(run))
}

async fn insert_events(
    connection: &Transaction<'_>,
    (tenant, run): (&str, &str),
    version: u64,
    events: &[NewEvent],
) -> Result<(), StoreError> {
    let sequences = (version + 1..).zip(events);
    let sequences = sequences.map(|(sequence, _)| column::integer("event sequence", sequence));
    execute(
        "appending to a journal",
        connection,
        "INSERT INTO journal_event (tenant_id, run_id, sequence, at, hash, payload)
         SELECT $1, $2, sequence, at, hash, payload
         FROM unnest($3::bigint[], $4::bigint[], $5::bytea[], $6::text[])
              AS new (sequence, at, hash, payload)",
        params![
            tenant,
            run,
            sequences.collect::<Result<Vec<_>, _>>()?,
            events
                .iter()
                .map(|e| column::micros(e.at))
                .collect::<Vec<_>>(),
            events
                .iter()
                .map(|e| e.hash.0.as_slice())
                .collect::<Vec<_>>(),
            events.iter().map(|e| &*e.payload).collect::<Vec<_>>(),
        ],
    )
    .await
    .map(|_| ())
}

/// Creates a run with its first events.
pub(super) async fn create(
    connection: &Transaction<'_>,
    run: &RunRecord,
    events: &[NewEvent],
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    record::check_version(run, events)?;
    let last_hash = record::check_chain(&run.run_id, 0, GENESIS, events)?;
    let of = (run.tenant_id.as_str(), run.run_id.as_str());
    let (tenant, id) = of;
    let sql = "INSERT INTO run_tenant (run_id, tenant_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    if execute(WRITING, connection, sql, params![id, tenant]).await? == 0 {
        return Err(record::exists(&run.run_id));
    }
    execute(
        WRITING,
        connection,
        "INSERT INTO run
         (tenant_id, run_id, title, phase, version, last_hash, created_at, updated_at, status, wake_at,
          user_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        params![
            tenant,
            id,
            run.title,
            column::phase(run.phase),
            column::integer("run version", run.version)?,
            last_hash.0.as_slice(),
            column::micros(run.created_at),
            column::micros(run.updated_at),
            run.status.as_str(),
            run.wake_at.map(column::micros),
            column::user(run.user_id.as_ref())
        ],
    )
    .await?;
    insert_events(connection, of, 0, events).await?;
    outbox::insert(connection, messages).await
}

async fn create_with_mission(
    connection: &Transaction<'_>,
    run: &RunRecord,
    events: &[NewEvent],
    artifacts: &[ArtifactRecord],
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    create(connection, run, events, messages).await?;
    let addition = Addition {
        tenant: run.tenant_id.as_str(),
        run: run.run_id.as_str(),
        event: run.version,
        artifacts,
        state: None,
    };
    artifact::begin(connection, &run.tenant_id, addition).await
}

async fn create_held(
    connection: &Transaction<'_>,
    new: &NewLeasedRun,
) -> Result<Lease, StoreError> {
    let (tenant, run) = (new.run.tenant_id.as_str(), &new.run.run_id);
    create(connection, &new.run, &new.events, &new.messages).await?;
    approval::change(connection, tenant, run.as_str(), &new.approvals).await?;
    let addition = Addition {
        tenant,
        run: run.as_str(),
        event: new.run.version,
        artifacts: &new.artifacts,
        state: new.mission_state,
    };
    artifact::begin(connection, &new.run.tenant_id, addition).await?;
    let (holder, now) = (&new.holder, new.run.created_at);
    let lease = lease::acquire(connection, run.as_str(), holder, now, new.expires_at).await?;
    let lease = lease.ok_or_else(|| record::refused(run, "its id is already leased".to_owned()))?;
    if new.release {
        lease::release_fence(connection, run.as_str(), lease.fence).await?;
    }
    Ok(lease)
}

async fn append(connection: &Transaction<'_>, append: &Append) -> Result<u64, StoreError> {
    let (tenant, run) = (&append.tenant_id, &append.run_id);
    let head = head(connection, tenant, run).await?;
    let of = (tenant.as_str(), run.as_str());
    lease::check_fence(connection, run.as_str(), append.fence).await?;
    let (last_hash, newest) = record::check_append(&head, append)?;
    insert_events(connection, of, head.version, &append.events).await?;
    let version = head.version + append.events.len() as u64;
    execute(
        WRITING,
        connection,
        "UPDATE run SET phase = $3, version = $4, last_hash = $5, updated_at = $6, status = $7,
         wake_at = NULL WHERE tenant_id = $1 AND run_id = $2",
        params![
            of.0,
            of.1,
            column::phase(append.then.phase()),
            column::integer("run version", version)?,
            last_hash.0.as_slice(),
            column::micros(newest.at),
            append.status.as_str()
        ],
    )
    .await?;
    approval::change(connection, of.0, of.1, &append.approvals).await?;
    let addition = Addition {
        tenant: of.0,
        run: of.1,
        event: version,
        artifacts: &append.artifacts,
        state: append.mission_state,
    };
    artifact::add(connection, addition).await?;
    if let NextPhase::Waits(wait) = &append.then {
        begin_wait(connection, of, wait).await?;
    }
    if append.release {
        lease::release_fence(connection, run.as_str(), append.fence).await?;
    }
    outbox::insert(connection, &append.messages).await?;
    Ok(version)
}

async fn park(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    run: &RunId,
    fence: Fence,
    wait: &RunWait,
) -> Result<(), StoreError> {
    let head = head(connection, tenant, run).await?;
    lease::check_fence(connection, run.as_str(), fence).await?;
    if head.phase != RunPhase::Finished {
        begin_wait(connection, (tenant.as_str(), run.as_str()), wait).await?;
    }
    lease::release_fence(connection, run.as_str(), fence).await
}

/// Makes a run wait, unless its wake-up event has happened already.
async fn begin_wait(
    connection: &Transaction<'_>,
    (tenant, run): (&str, &str),
    wait: &RunWait,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "UPDATE run SET phase = 'waiting', wake_at = $3 WHERE tenant_id = $1 AND run_id = $2",
        params![tenant, run, wait.until.map(column::micros)],
    )
    .await?;
    if approval::any_decided(connection, tenant, run, &wait.approvals).await? {
        approval::wake(connection, tenant, run).await?;
    }
    Ok(())
}

/// Sweeps runs; skips rows that another replica sweeps concurrently.
async fn sweep(connection: &Transaction<'_>, before: i64, limit: usize) -> Result<u64, StoreError> {
    const DOING: &str = "sweeping runs";
    let finished: Vec<(String, String)> = rows(
        DOING,
        connection,
        "SELECT tenant_id, run_id FROM run WHERE finished_at < $1
         ORDER BY finished_at, tenant_id, run_id LIMIT $2 FOR UPDATE SKIP LOCKED",
        params![before, column::limit(limit)],
        |row| Ok((field(row, 0)?, field(row, 1)?)),
    )
    .await?;
    let (tenants, runs): (Vec<String>, Vec<String>) = finished.into_iter().unzip();
    let sql = "DELETE FROM run WHERE (tenant_id, run_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))";
    let swept = execute(DOING, connection, sql, params![tenants, runs]).await?;
    let sql = "DELETE FROM run_tenant WHERE run_id = ANY ($1)";
    execute(DOING, connection, sql, params![runs]).await?;
    let sql = "DELETE FROM lease WHERE resource = ANY ($1)";
    execute(DOING, connection, sql, params![runs]).await?;
    Ok(swept)
}

/// Reads a tenant's run.
pub(super) async fn one(
    connection: &impl GenericClient,
    tenant: &TenantId,
    run: &RunId,
) -> Result<Option<RunRecord>, StoreError> {
    row(
        READING,
        connection,
        &format!("SELECT {RECORD} FROM run WHERE tenant_id = $1 AND run_id = $2"),
        params![tenant.as_str(), run.as_str()],
        record::record,
    )
    .await
}

/// Reads the events after `after`, at most `limit`, on a page of large entries.
pub(super) async fn events(
    connection: &impl GenericClient,
    tenant: &TenantId,
    run: &RunId,
    after: u64,
    limit: usize,
) -> Result<Vec<JournalEvent>, StoreError> {
    let listed = rows_within(
        "reading a journal",
        connection,
        "SELECT sequence, hash, at, payload FROM journal_event
         WHERE tenant_id = $1 AND run_id = $2 AND sequence > $3 ORDER BY sequence LIMIT $4",
        params![
            tenant.as_str(),
            run.as_str(),
            column::integer("event sequence", after)?,
            column::limit(limit)
        ],
        record::event,
    )
    .await?;
    Ok(listed.rows)
}

#[async_trait]
impl Journal for PostgresStore {
    async fn create_run(
        &self,
        run: &RunRecord,
        events: Vec<NewEvent>,
        artifacts: Vec<ArtifactRecord>,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        in_transaction!(self, RowScope::Tenant(&run.tenant_id), tx => create_with_mission(&tx, run, &events, &artifacts, &messages))?;
        self.announce(messages.len());
        Ok(())
    }

    async fn create_held_run(&self, new: NewLeasedRun) -> Result<Lease, StoreError> {
        let lease = in_transaction!(self, RowScope::Tenant(&new.run.tenant_id), tx => create_held(&tx, &new))?;
        self.announce(new.messages.len());
        Ok(lease)
    }

    async fn append(&self, request: Append) -> Result<u64, StoreError> {
        let version = in_transaction!(self, RowScope::Tenant(&request.tenant_id), tx => append(&tx, &request))?;
        self.announce(request.messages.len());
        Ok(version)
    }

    async fn park(
        &self,
        tenant: &TenantId,
        run: &RunId,
        fence: Fence,
        wait: RunWait,
    ) -> Result<(), StoreError> {
        in_transaction!(self, RowScope::Tenant(tenant), tx => park(&tx, tenant, run, fence, &wait))
    }

    async fn run(&self, tenant: &TenantId, run: &RunId) -> Result<Option<RunRecord>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        one(&client, tenant, run).await
    }

    async fn events(
        &self,
        tenant: &TenantId,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<JournalEvent>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        events(&client, tenant, run, after, limit).await
    }

    async fn journal_bytes(&self, tenant: &TenantId, run: &RunId) -> Result<u64, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let bytes: Option<i64> = row(
            "measuring a journal",
            &client,
            "SELECT coalesce(sum(octet_length(payload)), 0)::bigint FROM journal_event
             WHERE tenant_id = $1 AND run_id = $2",
            params![tenant.as_str(), run.as_str()],
            |row| field(row, 0),
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
        let mut listing = record::Listing::new(tenant, filter, page)?;
        loop {
            let (sql, values) = listing.statement('$');
            let found = on_reader!(self, RowScope::Tenant(tenant), client =>
                rows(LISTING, client, &sql, &bound(&values), record::record))?;
            if let Some(page) = listing.take(found) {
                return Ok(page);
            }
        }
    }

    async fn unfinished_runs(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<RunRecord>, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        rows(
            LISTING,
            &client,
            &format!(
                "SELECT {RECORD} FROM run WHERE phase <> 'finished' AND run_id > $1
                 ORDER BY run_id LIMIT $2"
            ),
            params![after.map_or("", RunId::as_str), column::limit(limit)],
            record::record,
        )
        .await
    }

    async fn count_unfinished_runs(&self, tenant: &TenantId, most: u64) -> Result<u64, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let most = column::integer("number of runs", most)?;
        let counted: Option<i64> = row(
            LISTING,
            &client,
            "SELECT count(*) FROM
             (SELECT 1 FROM run WHERE tenant_id = $1 AND phase <> 'finished' LIMIT $2) AS unfinished",
            params![tenant.as_str(), most],
            |row| field(row, 0),
        )
        .await?;
        Ok(counted.map_or(0, i64::unsigned_abs))
    }

    async fn claim_runs(&self, claim: &Claim) -> Result<Vec<ClaimedRun>, StoreError> {
        let client = self.client_in_time().await?;
        claim::claim(&client, claim).await
    }

    async fn sweep_runs(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError> {
        let before = column::micros(before);
        in_transaction!(self, RowScope::Everyone, tx => sweep(&tx, before, limit))
    }
}
