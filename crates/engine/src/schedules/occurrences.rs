//! Occurrences of schedules: starts one now, shows them and their reports.

use charter_contract::bounds::TRIGGER_BACKLOG;
use charter_contract::catalogue::schedule::{OccurrenceState, ScheduleState};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::ScheduleId;
use charter_contract::time::Timestamp;
use charter_store::page::PageRequest;
use charter_store::schedule::{
    OccurrenceAdded, OccurrenceChange, OccurrenceRecord, ScheduleCause, ScheduleChange,
    ScheduleRecord,
};

use super::ScheduleService;
use super::form::{OccurrencePage, OccurrenceView};
use super::identity::ScheduleIdentity;
use crate::{Caller, EngineError};

impl ScheduleService {
    /// Starts an occurrence of a schedule now, beside those by its time. The caller has asked for its work (ruling 33).
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for a caller with less access than the schedule; `invalid_request` for a
    /// trigger, whose work needs an event; `illegal_transition` for a paused schedule; `rate_limited` if it has too
    /// many unfinished occurrences.
    pub async fn start_now(
        &self,
        caller: &Caller,
        schedule: &ScheduleId,
    ) -> Result<OccurrenceView, EngineError> {
        let record = self.record(caller, schedule).await?;
        let identity = ScheduleIdentity::read(&record)?;
        identity.must_be_within(caller)?;
        if record.cause != ScheduleCause::Time {
            let message = format!("the schedule `{schedule}` is started by events");
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        }
        must_be_active(&record)?;
        let now = self.clock.now();
        let asked = ScheduleChange {
            expected: record.version,
            state: record.state,
            identity: identity.asked_also_by(caller).to_json()?,
            next_at: record.next_at,
        };
        let changed = self
            .store
            .change_schedule(&caller.tenant, schedule, &asked, vec![]);
        if !changed.await? {
            let message = format!("the schedule `{schedule}` changed at the same time; try again");
            return Err(EngineError::new(ErrorCode::VersionConflict, message));
        }
        let one = occurrence(&record, format!("manual/{}", self.ids.uuid()), now, None);
        let added = self.store.add_occurrence(&one, TRIGGER_BACKLOG, vec![]);
        match added.await? {
            OccurrenceAdded::Added | OccurrenceAdded::Known => OccurrenceView::new(one),
            OccurrenceAdded::Full => Err(backlog(schedule)),
        }
    }

    /// Lists the occurrences of a schedule, latest first.
    ///
    /// # Errors
    /// `not_found`; `invalid_request` for an invalid cursor.
    pub async fn occurrences(
        &self,
        caller: &Caller,
        schedule: &ScheduleId,
        page: &PageRequest,
    ) -> Result<OccurrencePage, EngineError> {
        self.record(caller, schedule).await?;
        let found = self
            .store
            .occurrences(&caller.tenant, schedule, page)
            .await?;
        let entries = found.entries.into_iter().map(OccurrenceView::new);
        Ok(OccurrencePage {
            entries: entries.collect::<Result<_, _>>()?,
            next: found.next,
        })
    }

    /// Shows an occurrence with its report; `latest` is the latest one with a report.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn occurrence(
        &self,
        caller: &Caller,
        schedule: &ScheduleId,
        key: &str,
    ) -> Result<OccurrenceView, EngineError> {
        self.record(caller, schedule).await?;
        let found = match key {
            "latest" => self.store.last_reported(&caller.tenant, schedule).await?,
            key => self.store.occurrence(&caller.tenant, schedule, key).await?,
        };
        let found = found.ok_or_else(|| EngineError::not_found("occurrence", key))?;
        OccurrenceView::new(found)
    }

    /// Writes the report of an occurrence as Markdown; `latest` is the latest one with a report.
    ///
    /// # Errors
    /// `not_found`, also for an occurrence without a report.
    pub async fn report(
        &self,
        caller: &Caller,
        schedule: &ScheduleId,
        key: &str,
    ) -> Result<String, EngineError> {
        let title = self.show(caller, schedule).await?.title;
        let found = self.occurrence(caller, schedule, key).await?;
        match found.report {
            Some(report) => Ok(report.to_markdown(&title, &found.due_at.to_string())),
            None => {
                let message =
                    format!("the occurrence `{key}` has no report: its work has not ended");
                Err(EngineError::new(ErrorCode::NotFound, message))
            }
        }
    }
}

/// Refuses a paused schedule.
pub(super) fn must_be_active(record: &ScheduleRecord) -> Result<(), EngineError> {
    match record.state {
        ScheduleState::Active => Ok(()),
        ScheduleState::Paused => {
            let message = format!("the schedule `{}` is paused; resume it", record.schedule_id);
            Err(EngineError::new(ErrorCode::IllegalTransition, message))
        }
    }
}

/// The error for a schedule with too many unfinished occurrences.
pub(super) fn backlog(schedule: &ScheduleId) -> EngineError {
    let message = format!(
        "`{schedule}` has {TRIGGER_BACKLOG} unfinished occurrences, the limit TRIGGER_BACKLOG; wait for one to end"
    );
    EngineError::new(ErrorCode::RateLimited, message)
}

/// A change of an occurrence from one state to another, without texts.
pub(super) fn transition(
    from: OccurrenceState,
    to: OccurrenceState,
    at: Timestamp,
) -> OccurrenceChange {
    OccurrenceChange {
        from,
        to,
        of_version: None,
        work: None,
        note: None,
        report: None,
        failing_since: None,
        at,
    }
}

/// An occurrence that starts at once.
pub(super) fn occurrence(
    record: &ScheduleRecord,
    key: String,
    at: Timestamp,
    event: Option<String>,
) -> OccurrenceRecord {
    OccurrenceRecord {
        tenant_id: record.tenant_id.clone(),
        schedule_id: record.schedule_id.clone(),
        occurrence: key,
        due_at: at,
        start_at: at,
        state: OccurrenceState::Waiting,
        event,
        work: None,
        note: None,
        report: None,
        failing_since: None,
        updated_at: at,
    }
}
