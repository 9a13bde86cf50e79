//! Follows the work of occurrences to its end: compares its findings with the previous occurrence, attaches evidence to
//! the items of the report, and hands new findings to triggers.

use charter_contract::bounds::TRIGGER_BACKLOG;
use charter_contract::catalogue::evidence::Attachment;
use charter_contract::catalogue::schedule::{OccurrenceState, Schedule, ScheduleTiming};
use charter_contract::error_code::ErrorCode;
use charter_contract::finding::Finding;
use charter_contract::json::{decode_stored, to_stored};
use charter_contract::mission::MissionState;
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_domain::schedule::{ItemChange, ScheduleReport, compare, matches_trigger};
use charter_store::StoreError;
use charter_store::schedule::{
    OccurrenceAdded, OccurrenceChange, OccurrenceRecord, ScheduleRecord,
};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::form::{StartedWork, work_of};
use super::identity::ScheduleIdentity;
use super::occurrences::occurrence;
use super::{ScheduleService, definition_of, events, name_of};
use crate::{Caller, EngineError};

/// How the work of an occurrence ended.
struct WorkEnd {
    state: OccurrenceState,
    note: Option<String>,
    findings: Vec<Finding>,
}

impl WorkEnd {
    fn failed(note: impl Into<String>) -> Self {
        Self {
            state: OccurrenceState::Failed,
            note: Some(note.into()),
            findings: Vec::new(),
        }
    }

    fn ended(note: impl Into<String>) -> Self {
        Self {
            state: OccurrenceState::Ended,
            ..Self::failed(note)
        }
    }
}

impl ScheduleService {
    /// Records the end of started occurrences whose work has ended.
    pub(super) async fn settle_started(
        &self,
        record: &ScheduleRecord,
        schedule: &Schedule,
    ) -> Result<(), EngineError> {
        let open = self.store.open_occurrences(
            &record.tenant_id,
            &record.schedule_id,
            TRIGGER_BACKLOG + 1,
        );
        let caller = ScheduleIdentity::read(record)?.caller(&record.tenant_id);
        for one in open.await? {
            if one.state != OccurrenceState::Started {
                continue;
            }
            let Some(work) = work_of(&one)? else {
                continue;
            };
            let end = match self.end_of(&caller, &work).await {
                Ok(end) => end,
                Err(error) if error.code == ErrorCode::NotFound => {
                    Some(WorkEnd::failed("its work no longer exists"))
                }
                Err(error) => return Err(error),
            };
            if let Some(end) = end {
                self.settle(record, schedule, &one, end).await?;
            }
        }
        Ok(())
    }

    /// Returns how work has ended; `None` while it is unfinished.
    async fn end_of(
        &self,
        caller: &Caller,
        work: &StartedWork,
    ) -> Result<Option<WorkEnd>, EngineError> {
        match work {
            StartedWork::Request(request) => {
                let view = self.parts.request_views.request(caller, request).await?;
                view.answer.map(|answer| end_of_answer(&answer)).transpose()
            }
            StartedWork::Run(run) => {
                let view = self.parts.run_views.show(caller, run).await?;
                Ok(end_of_run(view.summary.status))
            }
            StartedWork::Mission(mission) => {
                let view = self.parts.mission_views.show(caller, mission).await?;
                Ok(end_of_mission(view.state, view.reason))
            }
        }
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
        let written = report.as_ref().map(to_stored).transpose();
        let change = OccurrenceChange {
            from: OccurrenceState::Started,
            to: end.state,
            work: None,
            note: end.note,
            report: written.map_err(|error| EngineError::internal("writing a report", error))?,
            at: now,
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

    /// Adds an occurrence to each trigger of the tenant that new findings match: one for all of them.
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
        for trigger in self.store.finding_triggers(&record.tenant_id).await? {
            // A trigger that starts itself would never end.
            if trigger.schedule_id == record.schedule_id {
                continue;
            }
            let ScheduleTiming::Finding(filter) = definition_of(&trigger)?.when else {
                continue;
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
            if matching.is_empty() {
                continue;
            }
            self.add_event(&trigger, record, one, &matching).await?;
        }
        Ok(())
    }

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
        let added = occurrence(trigger, key, self.clock.now(), Some(event));
        match self.store.add_occurrence(&added, TRIGGER_BACKLOG).await {
            Ok(OccurrenceAdded::Added | OccurrenceAdded::Known) => {}
            Ok(OccurrenceAdded::Full) => tracing::warn!(
                schedule.id = %trigger.schedule_id,
                "a trigger has too many unfinished occurrences; new findings do not start it"
            ),
            // The trigger was deleted meanwhile.
            Err(StoreError::Refused { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

fn end_of_answer(answer: &Value) -> Result<WorkEnd, EngineError> {
    if answer.get("error_id").is_some() {
        let message = answer.get("user_message").and_then(Value::as_str);
        return Ok(WorkEnd::failed(message.unwrap_or("the request failed")));
    }
    let findings = match answer.pointer("/metadata/findings") {
        Some(found) => Vec::<Finding>::deserialize(found)
            .map_err(|error| EngineError::internal("reading the findings of an answer", error))?,
        None => Vec::new(),
    };
    Ok(WorkEnd {
        state: OccurrenceState::Ended,
        note: None,
        findings,
    })
}

fn end_of_run(status: RunStatus) -> Option<WorkEnd> {
    let is_done = matches!(status, RunStatus::Completed | RunStatus::Incomplete);
    status.is_final().then(|| {
        if is_done {
            WorkEnd::ended(status.as_str())
        } else {
            WorkEnd::failed(status.as_str())
        }
    })
}

fn end_of_mission(state: MissionState, reason: Option<String>) -> Option<WorkEnd> {
    state.is_final().then(|| {
        if state == MissionState::Completed {
            WorkEnd::ended(state.as_str())
        } else {
            WorkEnd::failed(reason.unwrap_or_else(|| state.to_string()))
        }
    })
}
