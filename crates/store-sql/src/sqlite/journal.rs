//! Runs and journals in SQLite. Triggers prevent changes of events, and their deletion apart from their run
//! (`migrations/V1__initial.sql`).

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
use rusqlite::{Connection, params};

use super::artifact::{self, Addition};
use super::statement::{execute, insert, row, rows};
use super::{SqliteStore, approval, lease, outbox};
use crate::column;
use crate::record::run::{self as record, RunHead};
use crate::row::field;

mod read;

pub(super) use read::{events, one};

const READING: &str = "reading a run";
const WRITING: &str = "writing a run";

/// Reads a run's key, and the state that an append is checked against.
fn head(
    connection: &Connection,
    tenant: &TenantId,
    run: &RunId,
) -> Result<(i64, RunHead), StoreError> {
    row(
        READING,
        connection,
        "SELECT version, phase, last_hash, run_key FROM run WHERE run_id = ?1 AND tenant_id = ?2",
        [run.as_str(), tenant.as_str()],
        |row| Ok((field(row, 3)?, record::head(row)?)),
    )?
    .ok_or_else(|| record::missing(run))
}

fn insert_events(
    connection: &Connection,
    key: i64,
    version: u64,
    events: &[NewEvent],
) -> Result<(), StoreError> {
    for (sequence, event) in (version + 1..).zip(events) {
        execute(
            "appending to a journal",
            connection,
            "INSERT INTO journal_event (run_key, sequence, at, hash, payload)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                key,
                column::integer("event sequence", sequence)?,
                column::micros(event.at),
                event.hash.0,
                event.payload
            ],
        )?;
    }
    Ok(())
}

/// Creates a run with its first events; returns its key.
pub(super) fn create(
    connection: &Connection,
    run: &RunRecord,
    events: &[NewEvent],
    messages: &[NewMessage],
) -> Result<i64, StoreError> {
    record::check_version(run, events)?;
    let last_hash = record::check_chain(&run.run_id, 0, GENESIS, events)?;
    let key = insert(
        WRITING,
        connection,
        "INSERT INTO run
         (run_id, tenant_id, title, phase, version, last_hash, created_at, updated_at, status, wake_at,
          user_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING",
        params![
            run.run_id.as_str(),
            run.tenant_id.as_str(),
            run.title,
            column::phase(run.phase),
            column::integer("run version", run.version)?,
            last_hash.0,
            column::micros(run.created_at),
            column::micros(run.updated_at),
            run.status.as_str(),
            run.wake_at.map(column::micros),
            column::user(run.user_id.as_ref())
        ],
    )?
    .ok_or_else(|| record::exists(&run.run_id))?;
    insert_events(connection, key, 0, events)?;
    outbox::insert(connection, messages)?;
    Ok(key)
}

fn create_held(connection: &Connection, new: NewLeasedRun) -> Result<Lease, StoreError> {
    let key = create(connection, &new.run, &new.events, &new.messages)?;
    approval::change(connection, key, &new.approvals)?;
    let addition = Addition {
        run: key,
        event: new.run.version,
        artifacts: &new.artifacts,
        state: new.mission_state,
    };
    artifact::begin(connection, &new.run.tenant_id, addition)?;
    let run = &new.run.run_id;
    let wanted = Lease {
        resource: run.to_string(),
        holder: new.holder,
        fence: lease::FIRST,
        expires_at: new.expires_at,
    };
    let lease = lease::acquire(connection, wanted, column::micros(new.run.created_at))?
        .ok_or_else(|| record::refused(run, "its id is already leased".to_owned()))?;
    if new.release {
        lease::release_fence(connection, run.as_str(), lease.fence)?;
    }
    Ok(lease)
}

fn append(connection: &Connection, append: &Append) -> Result<u64, StoreError> {
    let run = &append.run_id;
    let (key, head) = head(connection, &append.tenant_id, run)?;
    lease::check_fence(connection, run.as_str(), append.fence)?;
    let (last_hash, newest) = record::check_append(&head, append)?;
    insert_events(connection, key, head.version, &append.events)?;
    let version = head.version + append.events.len() as u64;
    execute(
        WRITING,
        connection,
        "UPDATE run SET phase = ?2, version = ?3, last_hash = ?4, updated_at = ?5, status = ?6,
         wake_at = NULL WHERE run_key = ?1",
        params![
            key,
            column::phase(append.then.phase()),
            column::integer("run version", version)?,
            last_hash.0,
            column::micros(newest.at),
            append.status.as_str()
        ],
    )?;
    approval::change(connection, key, &append.approvals)?;
    let addition = Addition {
        run: key,
        event: version,
        artifacts: &append.artifacts,
        state: append.mission_state,
    };
    artifact::add(connection, addition)?;
    if let NextPhase::Waits(wait) = &append.then {
        begin_wait(connection, key, wait)?;
    }
    if append.release {
        lease::release_fence(connection, run.as_str(), append.fence)?;
    }
    outbox::insert(connection, &append.messages)?;
    Ok(version)
}

fn park(
    connection: &Connection,
    tenant: &TenantId,
    run: &RunId,
    fence: Fence,
    wait: &RunWait,
) -> Result<(), StoreError> {
    let (key, head) = head(connection, tenant, run)?;
    lease::check_fence(connection, run.as_str(), fence)?;
    if head.phase != RunPhase::Finished {
        begin_wait(connection, key, wait)?;
    }
    lease::release_fence(connection, run.as_str(), fence)
}

/// Makes a run wait, unless its wake-up event has happened already.
fn begin_wait(connection: &Connection, key: i64, wait: &RunWait) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "UPDATE run SET phase = 'waiting', wake_at = ?2 WHERE run_key = ?1",
        params![key, wait.until.map(column::micros)],
    )?;
    if approval::any_decided(connection, key, &wait.approvals)? {
        approval::wake(connection, key)?;
    }
    Ok(())
}

fn sweep(connection: &Connection, before: i64, limit: usize) -> Result<u64, StoreError> {
    let finished: Vec<(i64, String)> = rows(
        "finding runs to sweep",
        connection,
        "SELECT run_key, run_id FROM run WHERE phase = 'finished' AND updated_at < ?1
         ORDER BY updated_at, tenant_id, run_id LIMIT ?2",
        params![before, column::limit(limit)],
        |row| Ok((field(row, 0)?, field(row, 1)?)),
    )?;
    for (key, run) in &finished {
        let doing = "sweeping a run";
        execute(
            doing,
            connection,
            "DELETE FROM run WHERE run_key = ?1",
            [key],
        )?;
        execute(
            doing,
            connection,
            "DELETE FROM lease WHERE resource = ?1",
            [run],
        )?;
    }
    Ok(finished.len() as u64)
}

#[async_trait]
impl Journal for SqliteStore {
    async fn create_run(
        &self,
        run: &RunRecord,
        events: Vec<NewEvent>,
        artifacts: Vec<ArtifactRecord>,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let run = run.clone();
        self.write(move |connection| {
            let key = create(connection, &run, &events, &messages)?;
            let addition = Addition {
                run: key,
                event: run.version,
                artifacts: &artifacts,
                state: None,
            };
            artifact::begin(connection, &run.tenant_id, addition)
        })
        .await
    }

    async fn create_held_run(&self, new: NewLeasedRun) -> Result<Lease, StoreError> {
        self.write(move |connection| create_held(connection, new))
            .await
    }

    async fn append(&self, request: Append) -> Result<u64, StoreError> {
        self.write(move |connection| append(connection, &request))
            .await
    }

    async fn park(
        &self,
        tenant: &TenantId,
        run: &RunId,
        fence: Fence,
        wait: RunWait,
    ) -> Result<(), StoreError> {
        let (tenant, run) = (tenant.clone(), run.clone());
        self.write(move |connection| park(connection, &tenant, &run, fence, &wait))
            .await
    }

    async fn run(&self, tenant: &TenantId, run: &RunId) -> Result<Option<RunRecord>, StoreError> {
        let (tenant, run) = (tenant.clone(), run.clone());
        self.read(move |connection| one(connection, &tenant, &run))
            .await
    }

    async fn events(
        &self,
        tenant: &TenantId,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<JournalEvent>, StoreError> {
        let (tenant, run) = (tenant.clone(), run.clone());
        let after = column::integer("event sequence", after)?;
        self.read(move |connection| events(connection, &tenant, &run, after, limit))
            .await
    }

    async fn journal_bytes(&self, tenant: &TenantId, run: &RunId) -> Result<u64, StoreError> {
        let (tenant, run) = (tenant.clone(), run.clone());
        self.read(move |connection| read::bytes(connection, &tenant, &run))
            .await
    }

    async fn runs(
        &self,
        tenant: &TenantId,
        filter: &RunFilter,
        page: &PageRequest,
    ) -> Result<Page<RunRecord>, StoreError> {
        let (tenant, filter, page) = (tenant.clone(), filter.clone(), page.clone());
        self.read(move |connection| read::list(connection, &tenant, &filter, &page))
            .await
    }

    async fn unfinished_runs(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<RunRecord>, StoreError> {
        let after = after.map_or_else(String::new, ToString::to_string);
        self.read(move |connection| read::unfinished(connection, &after, limit))
            .await
    }

    async fn count_unfinished_runs(&self, tenant: &TenantId, most: u64) -> Result<u64, StoreError> {
        let tenant = tenant.clone();
        let most = column::integer("number of runs", most)?;
        self.read(move |connection| read::count_unfinished(connection, &tenant, most))
            .await
    }

    async fn claim_runs(&self, claim: &Claim) -> Result<Vec<ClaimedRun>, StoreError> {
        let claim = claim.clone();
        self.write(move |connection| {
            let runs = read::claimable(connection, &claim)?;
            let mut claimed = Vec::with_capacity(runs.len());
            for run in runs {
                let wanted = Lease {
                    resource: run.run_id.to_string(),
                    holder: claim.holder.clone(),
                    fence: lease::FIRST,
                    expires_at: claim.until,
                };
                // Claimable runs have no live lease.
                if let Some(lease) = lease::acquire(connection, wanted, column::micros(claim.now))?
                {
                    claimed.push(ClaimedRun { run, lease });
                }
            }
            Ok(claimed)
        })
        .await
    }

    async fn sweep_runs(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError> {
        let before = column::micros(before);
        self.write(move |connection| sweep(connection, before, limit))
            .await
    }
}
