//! Reading runs and journals.

use charter_contract::ids::{RunId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::journal::{EventHash, JournalEvent, RunRecord};
use charter_store::page::{Page, PageRequest};
use rusqlite::{Connection, Row, params};

use super::super::statement::{field, row, rows};
use super::READING;
use crate::column::{self, Cursor};

/// Reads `run_id, tenant_id, title, phase, version, created_at, updated_at, status, wake_at`.
fn record(row: &Row<'_>) -> Result<RunRecord, StoreError> {
    let run: String = field(row, 0)?;
    let tenant: String = field(row, 1)?;
    let phase: String = field(row, 3)?;
    Ok(RunRecord {
        run_id: column::parse("run id", &run)?,
        tenant_id: column::parse("tenant id", &tenant)?,
        title: field(row, 2)?,
        phase: column::parse_phase(&phase)?,
        version: column::parse_integer("run version", field(row, 4)?)?,
        created_at: column::parse_micros(field(row, 5)?)?,
        updated_at: column::parse_micros(field(row, 6)?)?,
        status: field(row, 7)?,
        wake_at: field::<Option<i64>>(row, 8)?
            .map(column::parse_micros)
            .transpose()?,
    })
}

/// The events after `after`, at most `limit`.
pub(in crate::sqlite) fn events(
    connection: &Connection,
    run: &RunId,
    after: i64,
    limit: usize,
) -> Result<Vec<JournalEvent>, StoreError> {
    rows(
        "reading a journal",
        connection,
        "SELECT sequence, hash, at, payload FROM journal_event
         WHERE run_key = (SELECT run_key FROM run WHERE run_id = ?1) AND sequence > ?2
         ORDER BY sequence LIMIT ?3",
        params![run.as_str(), after, column::limit(limit)],
        event,
    )
}

/// A tenant's run.
pub(in crate::sqlite) fn one(
    connection: &Connection,
    tenant: &TenantId,
    run: &RunId,
) -> Result<Option<RunRecord>, StoreError> {
    row(
        READING,
        connection,
        "SELECT run_id, tenant_id, title, phase, version, created_at, updated_at, status, wake_at
         FROM run WHERE run_id = ?1 AND tenant_id = ?2",
        [run.as_str(), tenant.as_str()],
        record,
    )
}

fn event(row: &Row<'_>) -> Result<JournalEvent, StoreError> {
    let hash: Vec<u8> = field(row, 1)?;
    Ok(JournalEvent {
        sequence: column::parse_integer("event sequence", field(row, 0)?)?,
        hash: EventHash(column::parse_hash("event hash", &hash)?),
        at: column::parse_micros(field(row, 2)?)?,
        payload: field(row, 3)?,
    })
}

pub(super) fn list(
    connection: &Connection,
    tenant: &TenantId,
    page: &PageRequest,
) -> Result<Page<RunRecord>, StoreError> {
    let after = page.after.as_deref().map(Cursor::decode).transpose()?;
    let (at, id) = after.map_or((i64::MAX, String::new()), |cursor| (cursor.at, cursor.id));
    let entries = rows(
        "listing runs",
        connection,
        "SELECT run_id, tenant_id, title, phase, version, created_at, updated_at, status, wake_at
         FROM run
         WHERE tenant_id = ?1 AND (created_at, run_id) < (?2, ?3)
         ORDER BY created_at DESC, run_id DESC LIMIT ?4",
        params![tenant.as_str(), at, id, column::limit(page.limit() + 1)],
        record,
    )?;
    Ok(column::page(entries, page, |run| Cursor {
        at: column::micros(run.created_at),
        id: run.run_id.to_string(),
    }))
}

/// Runs that a worker may take at `now`.
pub(super) fn claimable(
    connection: &Connection,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<RunRecord>, StoreError> {
    rows(
        "looking for claimable runs",
        connection,
        "SELECT run_id, tenant_id, title, phase, version, created_at, updated_at, status, wake_at
         FROM run LEFT JOIN lease
           ON resource = run_id AND holder IS NOT NULL AND expires_at > ?1
         WHERE (phase = 'runnable' OR (phase = 'waiting' AND wake_at <= ?1)) AND resource IS NULL
         ORDER BY created_at, run_id LIMIT ?2",
        params![column::micros(now), column::limit(limit)],
        record,
    )
}
