//! Writes of enabled schedules, each with its messages in one transaction.

use charter_contract::catalogue::schedule::ScheduleState;
use charter_contract::ids::{ScheduleId, TenantId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::outbox::NewMessage;
use charter_store::schedule::{OccurrenceRecord, ScheduleChange, ScheduleRecord};

use super::READING;
use super::occurrence;
use super::record::{VERSION, cause_word};
use crate::column;
use crate::outbox;
use crate::row::field;
use crate::tx::{Dialect, Tx, execute, params, row};

const WRITING: &str = "writing a schedule";

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
    room: usize,
    messages: &[NewMessage],
) -> Result<bool, StoreError> {
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
        return Ok(false);
    }
    execute(
        WRITING,
        tx,
        "INSERT INTO schedule AS held
             (tenant_id, schedule_id, user_id, definition, identity, cause, state, hook_id, hook_secret, enabled_at,
              next_at, version)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1)
         ON CONFLICT (tenant_id, schedule_id) DO UPDATE SET
             user_id = excluded.user_id, definition = excluded.definition, identity = excluded.identity,
             cause = excluded.cause, state = excluded.state, hook_id = excluded.hook_id,
             hook_secret = excluded.hook_secret, enabled_at = excluded.enabled_at, next_at = excluded.next_at,
             version = held.version + 1",
        params![
            tenant,
            id,
            schedule.user_id.as_str(),
            &schedule.definition,
            &schedule.identity,
            cause_word(schedule.cause),
            schedule.state.as_str(),
            schedule.hook.as_ref().map(|hook| hook.hook_id.as_str()),
            schedule.hook.as_ref().map(|hook| hook.secret.as_str()),
            column::micros(schedule.enabled_at),
            schedule.next_at.map(column::micros)
        ],
    )
    .await?;
    outbox::insert(tx, messages).await?;
    Ok(true)
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
    for one in occurrences {
        occurrence::insert(tx, one).await?;
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
