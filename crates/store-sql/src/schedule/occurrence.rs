//! Occurrences of schedules.

use charter_contract::catalogue::schedule::{OccurrenceState, ScheduleState};
use charter_contract::ids::{ScheduleId, TenantId};
use charter_store::StoreError;
use charter_store::outbox::NewMessage;
use charter_store::schedule::{OccurrenceAdded, OccurrenceChange, OccurrenceRecord};

use super::record::VERSION;
use crate::column;
use crate::outbox;
use crate::row::{Columns, field};
use crate::tx::{Tx, execute, params, row};

pub(super) const READING: &str = "reading an occurrence";
const WRITING: &str = "writing an occurrence";

/// The columns of [`record`].
pub(super) const SELECT: &str = "SELECT tenant_id, schedule_id, occurrence, due_at, start_at, state, event, work, \
     note, report, failing_since, updated_at FROM schedule_occurrence";

/// As [`SELECT`], without the event.
pub(super) const SELECT_REPORT: &str = "SELECT tenant_id, schedule_id, occurrence, due_at, start_at, state, \
     CAST(NULL AS text), work, note, report, failing_since, updated_at FROM schedule_occurrence";

/// As [`SELECT`], without the event and the items of the report.
pub(super) const SELECT_LISTED: &str = "SELECT tenant_id, schedule_id, occurrence, due_at, start_at, state, \
     CAST(NULL AS text), work, note, summary, failing_since, updated_at FROM schedule_occurrence";

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
    let failing_since: Option<i64> = field(row, 10)?;
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
        failing_since: failing_since.map(column::parse_micros).transpose()?,
        updated_at: column::parse_micros(field(row, 11)?)?,
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

/// Locks a schedule until the transaction ends. Returns its version, and whether it is active.
async fn lock_schedule(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    schedule: &ScheduleId,
) -> Result<Option<(u64, bool)>, StoreError> {
    let lock = tx.dialect().for_update();
    let sql = format!(
        "SELECT version, state FROM schedule WHERE tenant_id = $1 AND schedule_id = $2{lock}"
    );
    let key = params![tenant.as_str(), schedule.as_str()];
    row(READING, tx, &sql, key, |row| {
        let state: ScheduleState = column::parse("state of a schedule", field(row, 1)?)?;
        let version = column::parse_integer(VERSION, field(row, 0)?)?;
        Ok((version, state == ScheduleState::Active))
    })
    .await
}

/// Returns the number of a schedule's waiting and started occurrences.
pub(super) async fn count_open(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    schedule: &ScheduleId,
) -> Result<i64, StoreError> {
    let open = row(
        READING,
        tx,
        "SELECT count(*) FROM (
             SELECT occurrence FROM schedule_occurrence
             WHERE tenant_id = $1 AND schedule_id = $2 AND state = 'waiting'
             UNION ALL
             SELECT occurrence FROM schedule_occurrence
             WHERE tenant_id = $1 AND schedule_id = $2 AND state = 'started') AS unfinished",
        params![tenant.as_str(), schedule.as_str()],
        |row| field::<i64>(row, 0),
    )
    .await?;
    Ok(open.unwrap_or(0))
}

/// Records the waiting occurrences of a schedule as skipped.
pub(super) async fn skip_waiting(
    tx: &mut Tx<'_>,
    (tenant, schedule): (&str, &str),
    note: &str,
    at: i64,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        tx,
        "UPDATE schedule_occurrence SET state = 'skipped', note = $3, updated_at = $4
         WHERE tenant_id = $1 AND schedule_id = $2 AND state = 'waiting'",
        params![tenant, schedule, note, at],
    )
    .await
    .map(|_| ())
}

pub(super) async fn add(
    tx: &mut Tx<'_>,
    one: &OccurrenceRecord,
    room: usize,
    messages: &[NewMessage],
) -> Result<OccurrenceAdded, StoreError> {
    // Locks the schedule, so that concurrent events keep to the limit.
    let locked = lock_schedule(tx, &one.tenant_id, &one.schedule_id).await?;
    locked.ok_or_else(|| StoreError::Refused {
        what: "occurrence",
        id: one.occurrence.clone(),
        detail: format!("there is no schedule `{}`", one.schedule_id),
    })?;
    let known = row(
        READING,
        tx,
        "SELECT state FROM schedule_occurrence
         WHERE tenant_id = $1 AND schedule_id = $2 AND occurrence = $3",
        params![
            one.tenant_id.as_str(),
            one.schedule_id.as_str(),
            &one.occurrence
        ],
        |row| field::<String>(row, 0),
    )
    .await?;
    if known.is_some() {
        return Ok(OccurrenceAdded::Known);
    }
    if one.state == OccurrenceState::Waiting
        && count_open(tx, &one.tenant_id, &one.schedule_id).await? >= column::limit(room)
    {
        return Ok(OccurrenceAdded::Full);
    }
    insert(tx, one).await?;
    outbox::insert(tx, messages).await?;
    Ok(OccurrenceAdded::Added)
}

pub(super) async fn change(
    tx: &mut Tx<'_>,
    (tenant, schedule, key): &(TenantId, ScheduleId, String),
    change: &OccurrenceChange,
    messages: &[NewMessage],
) -> Result<bool, StoreError> {
    if let Some(version) = change.of_version {
        let locked = lock_schedule(tx, tenant, schedule).await?;
        if locked != Some((version, true)) {
            return Ok(false);
        }
    }
    let report = change.report.as_ref();
    let changed = execute(
        WRITING,
        tx,
        "UPDATE schedule_occurrence
         SET state = $5, work = coalesce($6, work), note = coalesce($7, note), report = coalesce($8, report),
             summary = coalesce($9, summary), failing_since = $10, updated_at = $11
         WHERE tenant_id = $1 AND schedule_id = $2 AND occurrence = $3 AND state = $4",
        params![
            tenant.as_str(),
            schedule.as_str(),
            key,
            change.from.as_str(),
            change.to.as_str(),
            change.work.as_deref(),
            change.note.as_deref(),
            report.map(|report| report.full.as_str()),
            report.map(|report| report.summary.as_str()),
            change.failing_since.map(column::micros),
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
