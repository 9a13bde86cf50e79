//! Follows the work of occurrences to its end: compares its findings with the previous occurrence, attaches evidence to
//! the items of the report, and hands new findings to triggers.

use charter_contract::bounds::TRIGGER_BACKLOG;
use charter_contract::catalogue::evidence::Attachment;
use charter_contract::catalogue::schedule::{
    FindingTrigger, OccurrenceState, Schedule, ScheduleState, ScheduleTiming,
};
use charter_contract::error_code::ErrorCode;
use charter_contract::finding::Finding;
use charter_contract::json::{decode_stored, to_stored};
use charter_contract::time::Timestamp;
use charter_domain::schedule::{ItemChange, ScheduleReport, compare, matches_trigger};
use charter_store::StoreError;
use charter_store::lease::Lease;
use charter_store::schedule::{
    OccurrenceAdded, OccurrenceChange, OccurrenceRecord, ScheduleRecord, StoredReport,
};
use serde_json::json;

use super::follow::WorkEnd;
use super::identity::ScheduleIdentity;
use super::occurrences::{occurrence, transition};
use super::{RETRIED_FOR, ScheduleService, definition_of, events, name_of};
use crate::ground::moments;
use crate::{Caller, EngineError};

impl ScheduleService {
    /// Records the end of started occurrences whose work has ended. A failure of one occurrence does not affect the
    /// others.
    pub(super) async fn settle_started(
        &self,
        lease: &Lease,
        record: &ScheduleRecord,
        schedule: &Schedule,
    ) -> Result<(), EngineError> {
        let started =
            self.store
                .started_occurrences(&record.tenant_id, &record.schedule_id, TRIGGER_BACKLOG);
        let started = started.await?;
        let caller = ScheduleIdentity::read(record)?.caller(&record.tenant_id);
        for one in &started {
            if !self.renew(lease).await? {
                return Ok(());
            }
            if let Err(error) = self.settle_ended(&caller, record, schedule, one).await {
                self.record_failing(record, schedule, one, &error).await?;
            }
        }
        Ok(())
    }

    /// Records the end of an occurrence if its work has ended.
    async fn settle_ended(
        &self,
        caller: &Caller,
        record: &ScheduleRecord,
        schedule: &Schedule,
        one: &OccurrenceRecord,
    ) -> Result<(), EngineError> {
        let end = match self.end_of(caller, one).await {
            Ok(end) => end,
            Err(error) if error.code == ErrorCode::NotFound => {
                Some(WorkEnd::failed("its work no longer exists"))
            }
            Err(error) => return Err(error),
        };
        if let Some(end) = end {
            return self.settle(record, schedule, one, end).await;
        }
        if one.failing_since.is_some() {
            let readable = unchanged(one);
            self.change_occurrence(one, &readable, vec![]).await?;
        }
        Ok(())
    }

    /// Records since when an occurrence could not be settled. After `RETRIED_FOR` it has failed.
    async fn record_failing(
        &self,
        record: &ScheduleRecord,
        schedule: &Schedule,
        one: &OccurrenceRecord,
        error: &EngineError,
    ) -> Result<(), EngineError> {
        let now = self.clock.now();
        let Some(since) = one.failing_since else {
            tracing::warn!(
                schedule.id = %one.schedule_id, error = %error, "an occurrence could not be settled; retrying"
            );
            let failing = OccurrenceChange {
                failing_since: Some(now),
                ..unchanged(one)
            };
            self.change_occurrence(one, &failing, vec![]).await?;
            return Ok(());
        };
        if now < moments::after(since, RETRIED_FOR) {
            return Ok(());
        }
        let note = format!("the end of its work could not be recorded since {since}: {error}");
        self.settle(record, schedule, one, WorkEnd::failed(note))
            .await
    }

    /// Records the end of an occurrence. The steps before the record may be repeated without effect.
    async fn settle(
        &self,
        record: &ScheduleRecord,
        schedule: &Schedule,
        one: &OccurrenceRecord,
        end: WorkEnd,
    ) -> Result<(), EngineError> {
        let now = self.clock.now();
        // A failed occurrence shows nothing about the resources that it did not find.
        let report = if end.state == OccurrenceState::Ended {
            Some(self.report_of(record, one, &end.findings).await?)
        } else {
            None
        };
        if let Some(report) = &report {
            self.attach(record, report, now).await;
            self.trigger(record, schedule, one, report, &end.findings)
                .await?;
        }
        let change = OccurrenceChange {
            note: note_of(one, end.note),
            report: report.as_ref().map(stored_report).transpose()?,
            ..transition(OccurrenceState::Started, end.state, now)
        };
        let events = events::ended(record, schedule, one, end.state, report.as_ref(), now);
        self.change_occurrence(one, &change, events).await?;
        Ok(())
    }

    async fn report_of(
        &self,
        record: &ScheduleRecord,
        one: &OccurrenceRecord,
        findings: &[Finding],
    ) -> Result<ScheduleReport, EngineError> {
        let previous = self
            .store
            .last_reported(&record.tenant_id, &record.schedule_id)
            .await?;
        let previous = previous.and_then(|previous| previous.report);
        let previous: Option<ScheduleReport> =
            previous
                .as_deref()
                .map(decode_stored)
                .transpose()
                .map_err(|error| EngineError::internal("reading a report", error))?;
        let name = format!(
            "{}/{}",
            name_of(&record.tenant_id, &record.schedule_id),
            one.occurrence
        );
        Ok(compare(&name, findings, previous.as_ref()))
    }

    /// Attaches the evidence of new items to them. A failure does not keep the report back, because items name their
    /// evidence.
    async fn attach(&self, record: &ScheduleRecord, report: &ScheduleReport, at: Timestamp) {
        let new = report
            .items
            .iter()
            .filter(|item| item.change == ItemChange::New);
        for item in new {
            let attachment = Attachment {
                report_item_id: Some(item.report_item_id.clone()),
                ..Attachment::default()
            };
            for evidence in &item.evidence_ids {
                let attached =
                    self.store
                        .attach_evidence(&record.tenant_id, evidence, &attachment, at);
                if let Err(error) = attached.await {
                    tracing::warn!(
                        evidence.id = %evidence, error = %error, "evidence could not be attached to a report"
                    );
                }
            }
        }
    }

    /// Adds an occurrence to each trigger of the tenant that new findings match, if its owner may see them: one for all
    /// of them.
    async fn trigger(
        &self,
        record: &ScheduleRecord,
        schedule: &Schedule,
        one: &OccurrenceRecord,
        report: &ScheduleReport,
        findings: &[Finding],
    ) -> Result<(), EngineError> {
        if report.new == 0 {
            return Ok(());
        }
        for id in self.store.finding_triggers(&record.tenant_id).await? {
            // A trigger that starts itself would never end.
            if id == record.schedule_id {
                continue;
            }
            let Some(trigger) = self.store.schedule(&record.tenant_id, &id).await? else {
                continue;
            };
            let filter = match filter_of(&trigger, record) {
                Ok(Some(filter)) => filter,
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(
                        schedule.id = %id, error = %error, "a trigger cannot be read; new findings do not start it"
                    );
                    continue;
                }
            };
            let domain = schedule.domain.as_ref();
            let matching: Vec<&Finding> = report
                .items
                .iter()
                .filter(|item| matches_trigger(&filter, &record.schedule_id, domain, item))
                .filter_map(|item| {
                    let mut all = findings.iter();
                    all.find(|finding| finding.finding_id == item.finding_id)
                })
                .collect();
            if !matching.is_empty() {
                self.add_event(&trigger, record, one, &matching).await?;
            }
        }
        Ok(())
    }

    /// Adds an occurrence to a trigger. If it has too many unfinished ones, the new one is skipped and its owner gets
    /// an event, because the findings are not new again.
    async fn add_event(
        &self,
        trigger: &ScheduleRecord,
        record: &ScheduleRecord,
        one: &OccurrenceRecord,
        findings: &[&Finding],
    ) -> Result<(), EngineError> {
        let event = json!({"type": "finding.new", "data": {
            "schedule_id": record.schedule_id, "occurrence": one.occurrence, "findings": findings,
        }});
        let event =
            to_stored(&event).map_err(|error| EngineError::internal("writing an event", error))?;
        let key = format!("finding/{}/{}", record.schedule_id, one.occurrence);
        let now = self.clock.now();
        let added = occurrence(trigger, key, now, Some(event));
        let outcome = self.store.add_occurrence(&added, TRIGGER_BACKLOG, vec![]);
        let outcome = outcome.await;
        let outcome = match outcome {
            Ok(OccurrenceAdded::Full) => {
                let state = OccurrenceState::Skipped;
                let messages = vec![events::moved(trigger, &added, state, now)];
                let note = format!(
                    "the trigger has {TRIGGER_BACKLOG} unfinished occurrences, the limit TRIGGER_BACKLOG"
                );
                let skipped = OccurrenceRecord {
                    state,
                    note: Some(note),
                    ..added
                };
                let recorded = self
                    .store
                    .add_occurrence(&skipped, TRIGGER_BACKLOG, messages);
                recorded.await
            }
            other => other,
        };
        match outcome {
            // A refusal: the trigger was deleted meanwhile.
            Ok(_) | Err(StoreError::Refused { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the filter of a trigger whose owner may see the findings of a schedule.
fn filter_of(
    trigger: &ScheduleRecord,
    record: &ScheduleRecord,
) -> Result<Option<FindingTrigger>, EngineError> {
    let owner = ScheduleIdentity::read(trigger)?.caller(&trigger.tenant_id);
    let ScheduleTiming::Finding(filter) = definition_of(trigger)?.when else {
        return Ok(None);
    };
    let starts = trigger.state == ScheduleState::Active && owner.sees(Some(&record.user_id));
    Ok(starts.then_some(filter))
}

/// Writes a report, and its summary for listings.
fn stored_report(report: &ScheduleReport) -> Result<StoredReport, EngineError> {
    let broken = |error| EngineError::internal("writing a report", error);
    let summary = ScheduleReport {
        items: Vec::new(),
        ..*report
    };
    Ok(StoredReport {
        full: to_stored(report).map_err(broken)?,
        summary: to_stored(&summary).map_err(broken)?,
    })
}

/// A change that leaves a started occurrence as it is, and readable.
fn unchanged(one: &OccurrenceRecord) -> OccurrenceChange {
    let state = OccurrenceState::Started;
    transition(state, state, one.updated_at)
}

/// Returns the note of an occurrence that ends: how its work ended, and the note from its start about parts of the work
/// that did not start.
fn note_of(one: &OccurrenceRecord, end: Option<String>) -> Option<String> {
    match (end, &one.note) {
        (Some(end), Some(start)) => Some(format!("{end}; {start}")),
        (end, _) => end,
    }
}
