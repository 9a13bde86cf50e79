//! Events about schedules and what they find. They have ids and numbers; readers with access look up the rest.

use charter_contract::catalogue::schedule::{OccurrenceState, Schedule};
use charter_contract::ids::{TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_domain::schedule::{ItemChange, ScheduleReport};
use charter_store::outbox::NewMessage;
use charter_store::schedule::{OccurrenceRecord, ScheduleRecord};
use serde_json::{Value, json};

use crate::Caller;
use crate::execution::events::{FindingEventRef, OccurrenceEventRef, ScheduleEventRef};

/// Builds the event about a change of a schedule by a user.
pub(super) fn changed(
    record: &ScheduleRecord,
    word: &str,
    by: &Caller,
    at: Timestamp,
) -> NewMessage {
    let payload = ScheduleEventRef {
        schedule_id: record.schedule_id.clone(),
        by: by.user.clone(),
    };
    message(
        format!("schedule.{word}"),
        &record.tenant_id,
        &record.user_id,
        &json!(payload),
        at,
    )
}

/// Builds the events about the end of an occurrence: that it ended or failed, and changes in what it found.
pub(super) fn ended(
    record: &ScheduleRecord,
    schedule: &Schedule,
    occurrence: &OccurrenceRecord,
    state: OccurrenceState,
    report: Option<&ScheduleReport>,
    at: Timestamp,
) -> Vec<NewMessage> {
    let (tenant, user) = (&record.tenant_id, &record.user_id);
    let mut messages = vec![moved(record, occurrence, state, at)];
    let items = report.map_or(&[][..], |report| report.items.as_slice());
    for (change, topic) in [
        (ItemChange::New, "finding.new"),
        (ItemChange::Resolved, "finding.resolved"),
    ] {
        let changed: Vec<_> = items.iter().filter(|item| item.change == change).collect();
        let Some(severity) = changed.iter().map(|item| item.severity).min() else {
            continue;
        };
        let payload = FindingEventRef {
            schedule_id: record.schedule_id.clone(),
            occurrence: occurrence.occurrence.clone(),
            domain: schedule.domain.clone(),
            severity,
            count: changed.len() as u64,
        };
        let topic = topic.to_owned();
        messages.push(message(topic, tenant, user, &json!(payload), at));
    }
    messages
}

/// Builds the event about the state of an occurrence.
pub(super) fn moved(
    record: &ScheduleRecord,
    occurrence: &OccurrenceRecord,
    state: OccurrenceState,
    at: Timestamp,
) -> NewMessage {
    let payload = OccurrenceEventRef {
        schedule_id: record.schedule_id.clone(),
        occurrence: occurrence.occurrence.clone(),
        state,
    };
    message(
        format!("schedule.{state}"),
        &record.tenant_id,
        &record.user_id,
        &json!(payload),
        at,
    )
}

fn message(
    topic: String,
    tenant: &TenantId,
    user: &UserId,
    payload: &Value,
    at: Timestamp,
) -> NewMessage {
    NewMessage {
        topic,
        tenant: Some(tenant.to_string()),
        user_id: Some(user.clone()),
        payload: payload.to_string(),
        at,
    }
}
