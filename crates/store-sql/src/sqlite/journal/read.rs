//! Reads runs and journals.

use charter_contract::ids::{RunId, TenantId};
use charter_store::StoreError;
use charter_store::journal::{Claim, JournalEvent, RunFilter, RunRecord};
use charter_store::page::{Page, PageRequest};
use rusqlite::{Connection, params};

use super::super::statement::{bound, row, rows, rows_within};
use super::READING;
use crate::column;
use crate::record::run::{self, Listing, RECORD, event, in_turn, record};
use crate::row::field;

/// Reads the events after `after`, at most `limit`, on a page of large entries.
pub(in crate::sqlite) fn events(
    connection: &Connection,
    tenant: &TenantId,
    run: &RunId,
    after: i64,
    limit: usize,
) -> Result<Vec<JournalEvent>, StoreError> {
    let listed = rows_within(
        "reading a journal",
        connection,
        "SELECT sequence, hash, at, payload FROM journal_event
         WHERE run_key = (SELECT run_key FROM run WHERE run_id = ?1 AND tenant_id = ?2)
           AND sequence > ?3
         ORDER BY sequence LIMIT ?4",
        params![run.as_str(), tenant.as_str(), after, column::limit(limit)],
        event,
    );
    listed.map(|listed| listed.rows)
}

/// Returns the size of a run's events in bytes. Reads their lengths only.
pub(super) fn bytes(
    connection: &Connection,
    tenant: &TenantId,
    run: &RunId,
) -> Result<u64, StoreError> {
    let bytes: Option<i64> = row(
        "measuring a journal",
        connection,
        "SELECT coalesce(sum(octet_length(payload)), 0) FROM journal_event
         WHERE run_key = (SELECT run_key FROM run WHERE run_id = ?1 AND tenant_id = ?2)",
        [run.as_str(), tenant.as_str()],
        |row| field(row, 0),
    )?;
    Ok(bytes.map_or(0, i64::unsigned_abs))
}

/// Reads a tenant's run.
pub(in crate::sqlite) fn one(
    connection: &Connection,
    tenant: &TenantId,
    run: &RunId,
) -> Result<Option<RunRecord>, StoreError> {
    row(
        READING,
        connection,
        &format!(
            "SELECT {RECORD}
         FROM run WHERE run_id = ?1 AND tenant_id = ?2"
        ),
        [run.as_str(), tenant.as_str()],
        record,
    )
}

pub(super) fn list(
    connection: &Connection,
    tenant: &TenantId,
    filter: &RunFilter,
    page: &PageRequest,
) -> Result<Page<RunRecord>, StoreError> {
    let mut listing = Listing::new(tenant, filter, page)?;
    loop {
        let (sql, values) = listing.statement('?');
        let found = rows("listing runs", connection, &sql, bound(values), record)?;
        if let Some(page) = listing.take(found) {
            return Ok(page);
        }
    }
}

/// Returns runs that a worker may claim at `now`, each tenant's oldest first.
pub(super) fn unfinished(
    connection: &Connection,
    after: &str,
    limit: usize,
) -> Result<Vec<RunRecord>, StoreError> {
    rows(
        "listing runs",
        connection,
        &format!(
            "SELECT {RECORD} FROM run WHERE phase <> 'finished' AND run_id > ?1
             ORDER BY run_id LIMIT ?2"
        ),
        params![after, column::limit(limit)],
        record,
    )
}

pub(super) fn count_unfinished(
    connection: &Connection,
    tenant: &TenantId,
    most: i64,
) -> Result<u64, StoreError> {
    let counted: Option<i64> = row(
        "counting runs",
        connection,
        "SELECT count(*) FROM
         (SELECT 1 FROM run WHERE tenant_id = ?1 AND phase <> 'finished' LIMIT ?2)",
        params![tenant.as_str(), most],
        |row| field(row, 0),
    )?;
    Ok(counted.map_or(0, i64::unsigned_abs))
}

pub(super) fn claimable(
    connection: &Connection,
    claim: &Claim,
) -> Result<Vec<RunRecord>, StoreError> {
    let except = column::json("claim", &claim.holder, &claim.except)?;
    let found = rows(
        "looking for claimable runs",
        connection,
        &format!(
            "SELECT {RECORD}, row_number() OVER (PARTITION BY tenant_id ORDER BY created_at, run_id)
                 AS turn
             FROM run LEFT JOIN lease
               ON resource = run_id AND holder IS NOT NULL AND expires_at > ?1
             WHERE (phase = 'runnable' OR (phase = 'waiting' AND wake_at <= ?1)) AND resource IS NULL
               AND run_id NOT IN (SELECT value FROM json_each(?3))
             ORDER BY turn, created_at, run_id LIMIT ?2"
        ),
        params![column::micros(claim.now), column::limit(claim.limit), except],
        run::claimable,
    )?;
    Ok(in_turn(found, |run| run))
}
