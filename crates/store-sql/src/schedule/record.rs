//! Rows of enabled schedules.

use charter_contract::ids::{ScheduleId, TenantId};
use charter_store::StoreError;
use charter_store::schedule::{ScheduleCause, ScheduleHook, ScheduleRecord};

use crate::column;
use crate::row::{Columns, field};

pub(super) const VERSION: &str = "version of a schedule";

/// The columns of [`record`].
pub(super) const RECORD: &str = "tenant_id, schedule_id, user_id, definition, identity, cause, state, hook_id, \
     hook_secret, id_secret, enabled_at, next_at, version";

pub(super) fn cause_word(cause: ScheduleCause) -> &'static str {
    match cause {
        ScheduleCause::Time => "time",
        ScheduleCause::Webhook => "webhook",
        ScheduleCause::Finding => "finding",
    }
}

fn cause_of(word: &str) -> Result<ScheduleCause, StoreError> {
    let all = [
        ScheduleCause::Time,
        ScheduleCause::Webhook,
        ScheduleCause::Finding,
    ];
    let mut all = all.into_iter();
    let found = all.find(|cause| cause_word(*cause) == word);
    found.ok_or_else(|| StoreError::Corrupt {
        what: "cause of a schedule",
        id: word.chars().take(80).collect(),
        detail: "unknown word".to_owned(),
    })
}

/// Reads the ids of a schedule.
pub(super) fn key(row: &dyn Columns) -> Result<(TenantId, ScheduleId), StoreError> {
    Ok((
        column::parse("tenant id", field(row, 0)?)?,
        column::parse("schedule id", field(row, 1)?)?,
    ))
}

pub(super) fn record(row: &dyn Columns) -> Result<ScheduleRecord, StoreError> {
    let hook = match (
        field::<Option<&str>>(row, 7)?,
        field::<Option<String>>(row, 8)?,
    ) {
        (Some(hook_id), Some(secret)) => Some(ScheduleHook {
            hook_id: column::parse("hook id", hook_id)?,
            secret,
        }),
        (None, _) | (_, None) => None,
    };
    let next_at: Option<i64> = field(row, 11)?;
    Ok(ScheduleRecord {
        tenant_id: column::parse("tenant id", field(row, 0)?)?,
        schedule_id: column::parse("schedule id", field(row, 1)?)?,
        user_id: column::parse("user id", field(row, 2)?)?,
        definition: field(row, 3)?,
        identity: field(row, 4)?,
        cause: cause_of(field(row, 5)?)?,
        state: column::parse("state of a schedule", field(row, 6)?)?,
        hook,
        id_secret: field(row, 9)?,
        enabled_at: column::parse_micros(field(row, 10)?)?,
        next_at: next_at.map(column::parse_micros).transpose()?,
        version: column::parse_integer(VERSION, field(row, 12)?)?,
    })
}
