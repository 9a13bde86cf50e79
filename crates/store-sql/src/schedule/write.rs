//! Writes of enabled schedules, each with its messages in one transaction.

use charter_contract::catalogue::schedule::{OccurrenceState, ScheduleState};
use charter_contract::ids::{ScheduleId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::outbox::NewMessage;
use charter_store::schedule::{OccurrenceRecord, ScheduleChange, ScheduleRecord, ScheduleStored};

use super::READING;
use super::occurrence;
use super::record::{VERSION, cause_word};
use crate::column;
use crate::outbox;
use crate::row::field;
use crate::tx::{Dialect, Tx, execute, params, row};

const WRITING: &str = "writing a schedule";

/// The note of waiting occurrences of an earlier version.
const REPLACED: &str = "the schedule was enabled again before it started";

const INSERT: &str = "INSERT INTO schedule
     (tenant_id, schedule_id, user_id, definition, identity, cause, state, hook_id, hook_secret, id_secret, enabled_at,
      next_at, version)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1)
 ON CONFLICT DO NOTHING";

const REPLACE: &str = "UPDATE schedule SET
     user_id = $3, definition = $4, identity = $5, cause = $6, state = $7, hook_id = $8, hook_secret = $9,
     id_secret = $10, enabled_at = $11, next_at = $12, version = version + 1
 WHERE tenant_id = $1 AND schedule_id = $2 AND version = $13";

/// Serialises the writes that count a tenant's schedules, so that concurrent ones keep to the limit.
async fn lock_tenant(tx: &mut Tx<'_>, tenant: &str) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Postgres {
        let lock =
            "SELECT pg_advisory_xact_lock(hashtextextended('schedule ' || CAST($1 AS text), 0))";
        execute(WRITING, tx, lock, params![tenant]).await?;
    }
    Ok(())
}

pub(super) async fn put(
    tx: &mut Tx<'_>,
    schedule: &ScheduleRecord,
    expected: Option<u64>,
    room: usize,
    messages: &[NewMessage],
) -> Result<ScheduleStored, StoreError> {
    let (tenant, id) = (schedule.tenant_id.as_str(), schedule.schedule_id.as_str());
    lock_tenant(tx, tenant).await?;
    let others = row(
        READING,
        tx,
        "SELECT count(*) FROM schedule WHERE tenant_id = $1 AND schedule_id <> $2",
        params![tenant, id],
        |row| field::<i64>(row, 0),
    )
    .await?;
    if others.unwrap_or(0) >= column::limit(room) {
        return Ok(ScheduleStored::Full);
    }
    let enabled_at = column::micros(schedule.enabled_at);
    let mut values = params![
        tenant,
        id,
        schedule.user_id.as_str(),
        &schedule.definition,
        &schedule.identity,
        cause_word(schedule.cause),
        schedule.state.as_str(),
        schedule.hook.as_ref().map(|hook| hook.hook_id.as_str()),
        schedule.hook.as_ref().map(|hook| hook.secret.as_str()),
        &schedule.id_secret,
        enabled_at,
        schedule.next_at.map(column::micros)
    ]
    .to_vec();
    let sql = match expected {
        Some(version) => {
            values.push(column::integer(VERSION, version)?.into());
            REPLACE
        }
        None => INSERT,
    };
    if execute(WRITING, tx, sql, &values).await? == 0 {
        return Ok(ScheduleStored::Changed);
    }
    occurrence::skip_waiting(tx, (tenant, id), REPLACED, enabled_at).await?;
    outbox::insert(tx, messages).await?;
    Ok(ScheduleStored::Stored)
}

pub(super) async fn change(
    tx: &mut Tx<'_>,
    (tenant, schedule): (&TenantId, &ScheduleId),
    change: &ScheduleChange,
    messages: &[NewMessage],
) -> Result<bool, StoreError> {
    let changed = execute(
        WRITING,
        tx,
        "UPDATE schedule SET state = $4, identity = $5, next_at = $6, version = version + 1
         WHERE tenant_id = $1 AND schedule_id = $2 AND version = $3",
        params![
            tenant.as_str(),
            schedule.as_str(),
            column::integer(VERSION, change.expected)?,
            change.state.as_str(),
            &change.identity,
            change.next_at.map(column::micros)
        ],
    )
    .await?;
    if changed == 0 {
        return Ok(false);
    }
    outbox::insert(tx, messages).await?;
    Ok(true)
}

pub(super) async fn advance(
    tx: &mut Tx<'_>,
    (tenant, schedule): (&TenantId, &ScheduleId),
    expected: u64,
    next_at: Option<Timestamp>,
    occurrences: &[OccurrenceRecord],
    room: usize,
) -> Result<bool, StoreError> {
    let changed = execute(
        WRITING,
        tx,
        "UPDATE schedule SET next_at = $4, version = version + 1
         WHERE tenant_id = $1 AND schedule_id = $2 AND version = $3 AND state = $5",
        params![
            tenant.as_str(),
            schedule.as_str(),
            column::integer(VERSION, expected)?,
            next_at.map(column::micros),
            ScheduleState::Active.as_str()
        ],
    )
    .await?;
    if changed == 0 {
        return Ok(false);
    }
    let mut open = occurrence::count_open(tx, tenant, schedule).await?;
    for one in occurrences {
        let is_waiting = one.state == OccurrenceState::Waiting;
        if is_waiting && open >= column::limit(room) {
            let note = format!(
                "the schedule has {room} unfinished occurrences, the limit TRIGGER_BACKLOG"
            );
            let skipped = OccurrenceRecord {
                state: OccurrenceState::Skipped,
                note: Some(note),
                ..one.clone()
            };
            occurrence::insert(tx, &skipped).await?;
        } else {
            occurrence::insert(tx, one).await?;
            open += i64::from(is_waiting);
        }
    }
    Ok(true)
}

pub(super) async fn delete(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    schedule: &ScheduleId,
    messages: &[NewMessage],
) -> Result<bool, StoreError> {
    let sql = "DELETE FROM schedule WHERE tenant_id = $1 AND schedule_id = $2";
    let values = params![tenant.as_str(), schedule.as_str()];
    if execute(WRITING, tx, sql, values).await? == 0 {
        return Ok(false);
    }
    outbox::insert(tx, messages).await?;
    Ok(true)
}
