//! Occurrences of schedules.

use charter_contract::ids::{ScheduleId, TenantId};
use charter_store::StoreError;
use charter_store::outbox::NewMessage;
use charter_store::schedule::{OccurrenceAdded, OccurrenceChange, OccurrenceRecord};

use crate::column;
use crate::outbox;
use crate::row::{Columns, field};
use crate::tx::{Tx, execute, params, row};

pub(super) const READING: &str = "reading an occurrence";
const WRITING: &str = "writing an occurrence";

/// The columns of [`record`].
pub(super) const SELECT: &str = "SELECT tenant_id, schedule_id, occurrence, due_at, start_at, state, event, work, \
     note, report, updated_at FROM schedule_occurrence";

/// Deletes finished occurrences, except the latest of each schedule with a report.
pub(super) const SWEEP: &str = "DELETE FROM schedule_occurrence
     WHERE (tenant_id, schedule_id, occurrence) IN (
         SELECT old.tenant_id, old.schedule_id, old.occurrence FROM schedule_occurrence AS old
         WHERE old.state NOT IN ('waiting', 'started') AND old.updated_at < $1
           AND (old.report IS NULL OR EXISTS (
               SELECT 1 FROM schedule_occurrence AS newer
               WHERE newer.tenant_id = old.tenant_id AND newer.schedule_id = old.schedule_id
                 AND newer.report IS NOT NULL
                 AND (newer.due_at, newer.occurrence) > (old.due_at, old.occurrence)))
         ORDER BY old.updated_at LIMIT $2)";

pub(super) fn record(row: &dyn Columns) -> Result<OccurrenceRecord, StoreError> {
    Ok(OccurrenceRecord {
        tenant_id: column::parse("tenant id", field(row, 0)?)?,
        schedule_id: column::parse("schedule id", field(row, 1)?)?,
        occurrence: field(row, 2)?,
        due_at: column::parse_micros(field(row, 3)?)?,
        start_at: column::parse_micros(field(row, 4)?)?,
        state: column::parse("state of an occurrence", field(row, 5)?)?,
        event: field(row, 6)?,
        work: field(row, 7)?,
        note: field(row, 8)?,
        report: field(row, 9)?,
        updated_at: column::parse_micros(field(row, 10)?)?,
    })
}

/// Inserts an occurrence unless its key is known; returns the number of new rows.
pub(super) async fn insert(tx: &mut Tx<'_>, one: &OccurrenceRecord) -> Result<u64, StoreError> {
    execute(
        WRITING,
        tx,
        "INSERT INTO schedule_occurrence
             (tenant_id, schedule_id, occurrence, due_at, start_at, state, event, work, note, report, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING",
        params![
            one.tenant_id.as_str(),
            one.schedule_id.as_str(),
            &one.occurrence,
            column::micros(one.due_at),
            column::micros(one.start_at),
            one.state.as_str(),
            one.event.as_deref(),
            one.work.as_deref(),
            one.note.as_deref(),
            one.report.as_deref(),
            column::micros(one.updated_at)
        ],
    )
    .await
}

pub(super) async fn add(
    tx: &mut Tx<'_>,
    one: &OccurrenceRecord,
    room: usize,
) -> Result<OccurrenceAdded, StoreError> {
    let key = params![one.tenant_id.as_str(), one.schedule_id.as_str()];
    // Locks the schedule, so that concurrent events keep to the limit.
    let lock = tx.dialect().for_update();
    let sql =
        format!("SELECT version FROM schedule WHERE tenant_id = $1 AND schedule_id = $2{lock}");
    let known = row(READING, tx, &sql, key, |row| field::<i64>(row, 0)).await?;
    known.ok_or_else(|| StoreError::Refused {
        what: "occurrence",
        id: one.occurrence.clone(),
        detail: format!("there is no schedule `{}`", one.schedule_id),
    })?;
    let open = row(
        READING,
        tx,
        "SELECT count(*) FROM schedule_occurrence
         WHERE tenant_id = $1 AND schedule_id = $2 AND state IN ('waiting', 'started') AND occurrence <> $3",
        params![
            one.tenant_id.as_str(),
            one.schedule_id.as_str(),
            &one.occurrence
        ],
        |row| field::<i64>(row, 0),
    )
    .await?;
    if open.unwrap_or(0) >= column::limit(room) {
        return Ok(OccurrenceAdded::Full);
    }
    Ok(match insert(tx, one).await? {
        0 => OccurrenceAdded::Known,
        _ => OccurrenceAdded::Added,
    })
}

pub(super) async fn change(
    tx: &mut Tx<'_>,
    (tenant, schedule, key): &(TenantId, ScheduleId, String),
    change: &OccurrenceChange,
    messages: &[NewMessage],
) -> Result<bool, StoreError> {
    let changed = execute(
        WRITING,
        tx,
        "UPDATE schedule_occurrence
         SET state = $5, work = coalesce($6, work), note = coalesce($7, note), report = coalesce($8, report),
             updated_at = $9
         WHERE tenant_id = $1 AND schedule_id = $2 AND occurrence = $3 AND state = $4",
        params![
            tenant.as_str(),
            schedule.as_str(),
            key,
            change.from.as_str(),
            change.to.as_str(),
            change.work.as_deref(),
            change.note.as_deref(),
            change.report.as_deref(),
            column::micros(change.at)
        ],
    )
    .await?;
    if changed == 0 {
        return Ok(false);
    }
    outbox::insert(tx, messages).await?;
    Ok(true)
}
