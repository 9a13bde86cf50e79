//! Enables, pauses, resumes, starts, lists and deletes schedules.

use charter_contract::bounds::{SCHEDULES, TRIGGER_BACKLOG};
use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::schedule::{
    OccurrenceState, Schedule, ScheduleState, ScheduleTiming, ScheduledWork,
};
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{HookId, ScheduleId};
use charter_contract::json::to_stored;
use charter_contract::time::Timestamp;
use charter_contract::validate::read_value;
use charter_domain::schedule::Timing;
use charter_store::page::PageRequest;
use charter_store::schedule::{
    OccurrenceAdded, OccurrenceRecord, ScheduleCause, ScheduleChange, ScheduleHook, ScheduleRecord,
};
use serde_json::Value;

use super::form::{
    NewSchedule, OccurrencePage, OccurrenceView, ScheduleOrder, SchedulePage, ScheduleView,
};
use super::identity::ScheduleIdentity;
use super::{ScheduleService, definition_of, events, hook};
use crate::catalogue::documents::unseen_active;
use crate::ground::error::newest_known;
use crate::{AccessScope, Caller, EngineError};

impl ScheduleService {
    /// Enables a schedule with the caller's rights: a registered one as it is now, or a definition. A schedule of the
    /// same id is replaced. The secret of a webhook trigger is in the answer alone.
    ///
    /// # Errors
    /// `invalid_request` without exactly one of the two, for a time that has passed, and for a webhook without a
    /// sealing key; `invalid_document`; `not_found` for a schedule or work that is not visible; `permission_denied` for
    /// work that the caller may not start, and for another user's schedule; `rate_limited` if the tenant has reached
    /// its limit of schedules.
    pub async fn enable(
        &self,
        caller: &Caller,
        order: &ScheduleOrder,
    ) -> Result<NewSchedule, EngineError> {
        let schedule = self.ordered(caller, order)?;
        self.must_start(caller, &schedule)?;
        let now = self.clock.now();
        let next_at = first_time(&schedule, now, now)?;
        let known = self.store.schedule(&caller.tenant, &schedule.schedule_id);
        if let Some(known) = known.await?
            && !caller.sees(Some(&known.user_id))
        {
            let message = format!(
                "another user enabled the schedule `{}`; choose another id, or ask an operator",
                schedule.schedule_id
            );
            return Err(EngineError::new(ErrorCode::PermissionDenied, message));
        }
        let (cause, hook) = self.cause_of(&schedule)?;
        let (hook, secret) = hook.unzip();
        let definition = to_stored(&schedule)
            .map_err(|error| EngineError::internal("writing a schedule", error))?;
        let record = ScheduleRecord {
            tenant_id: caller.tenant.clone(),
            schedule_id: schedule.schedule_id.clone(),
            user_id: caller.user.clone(),
            definition,
            identity: ScheduleIdentity::of(caller).to_json()?,
            cause,
            state: ScheduleState::Active,
            hook,
            enabled_at: now,
            next_at,
            version: 1,
        };
        let events = vec![events::changed(&record, "enabled", caller, now)];
        if !self.store.put_schedule(&record, SCHEDULES, events).await? {
            let message = format!(
                "the tenant has {SCHEDULES} schedules, the limit SCHEDULES; delete one first"
            );
            return Err(EngineError::new(ErrorCode::RateLimited, message));
        }
        self.parts.news.notify_waiters();
        Ok(NewSchedule {
            schedule: self.view(caller, record)?,
            secret,
        })
    }

    /// Returns the definition that an order means.
    fn ordered(&self, caller: &Caller, order: &ScheduleOrder) -> Result<Schedule, EngineError> {
        let schedule = match (&order.schedule_id, &order.schedule) {
            (Some(id), None) => {
                let view = self.parts.catalogue.live().view(&caller.tenant);
                let found = view.schedule(id.as_ref());
                let found = found.filter(|found| found.document().status == Status::Active);
                let found = found
                    .ok_or_else(|| unseen_active(&view, DocumentKind::Schedule, id.as_ref()))?;
                found.document().clone()
            }
            (None, Some(definition)) => {
                let read = read_value::<Schedule>(&Value::Object(definition.clone()));
                let (schedule, _) =
                    read.map_err(|found| EngineError::violations("schedule", &found))?;
                if schedule
                    .tenant_id
                    .as_ref()
                    .is_some_and(|named| *named != caller.tenant)
                {
                    let message = "the schedule names a tenant other than yours; omit `tenant_id`";
                    return Err(EngineError::new(ErrorCode::InvalidRequest, message));
                }
                schedule
            }
            (Some(_), Some(_)) | (None, None) => {
                let message =
                    "pass `schedule_id` of a registered schedule, or `schedule` with a definition";
                return Err(EngineError::new(ErrorCode::InvalidRequest, message));
            }
        };
        Ok(Schedule {
            tenant_id: None,
            ..schedule
        })
    }

    /// Refuses work that the caller could not start itself.
    fn must_start(&self, caller: &Caller, schedule: &Schedule) -> Result<(), EngineError> {
        match &schedule.run {
            ScheduledWork::Skill(skill) => {
                caller.must_open(AccessScope::RequestsWrite)?;
                self.parts.run_starts.planned_skill(caller, skill)?;
            }
            ScheduledWork::Playbook(playbook) => {
                caller.must_open(AccessScope::RunsWrite)?;
                self.parts.run_starts.runnable_playbook(caller, playbook)?;
            }
            ScheduledWork::Plan(_) => caller.must_open(AccessScope::RunsWrite)?,
            ScheduledWork::Mission(mission) => {
                caller.must_open(AccessScope::MissionsWrite)?;
                let view = self.parts.catalogue.live().view(&caller.tenant);
                if let Some(kind) = &mission.mission_type
                    && view.mission_type(kind.as_ref()).is_none()
                {
                    return Err(unseen_active(
                        &view,
                        DocumentKind::MissionType,
                        kind.as_ref(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns what starts a schedule; for webhooks with a new address and its secret.
    fn cause_of(
        &self,
        schedule: &Schedule,
    ) -> Result<(ScheduleCause, Option<(ScheduleHook, String)>), EngineError> {
        Ok(match &schedule.when {
            ScheduleTiming::Cron(_) | ScheduleTiming::EveryS(_) | ScheduleTiming::At(_) => {
                (ScheduleCause::Time, None)
            }
            ScheduleTiming::Finding(_) => (ScheduleCause::Finding, None),
            ScheduleTiming::Webhook(_) => {
                let hook_id = HookId::from_uuid(self.ids.uuid());
                let (text, secret) = hook::new_secret(self.parts.sealing.as_ref(), &hook_id)?;
                let hook = ScheduleHook { hook_id, secret };
                (ScheduleCause::Webhook, Some((hook, text)))
            }
        })
    }

    /// Lists the schedules that the caller sees, latest enabled first.
    ///
    /// # Errors
    /// `invalid_request` for an invalid cursor.
    pub async fn list(
        &self,
        caller: &Caller,
        page: &PageRequest,
    ) -> Result<SchedulePage, EngineError> {
        let found = self
            .store
            .schedules(&caller.tenant, caller.only_own(), page)
            .await?;
        let entries = found.entries.into_iter();
        let entries: Result<Vec<_>, _> = entries.map(|one| self.view(caller, one)).collect();
        Ok(SchedulePage {
            entries: entries?,
            next: found.next,
        })
    }

    /// Shows a schedule.
    ///
    /// # Errors
    /// `not_found`, also for another user's.
    pub async fn show(
        &self,
        caller: &Caller,
        schedule: &ScheduleId,
    ) -> Result<ScheduleView, EngineError> {
        let record = self.record(caller, schedule).await?;
        self.view(caller, record)
    }

    /// Pauses a schedule: occurrences while it is paused are not recorded. Work that has started continues.
    ///
    /// # Errors
    /// `not_found`; `illegal_transition` for a paused schedule; `version_conflict` if it changed at the same time.
    pub async fn pause(
        &self,
        caller: &Caller,
        schedule: &ScheduleId,
    ) -> Result<ScheduleView, EngineError> {
        let record = self.record(caller, schedule).await?;
        let change = ScheduleChange {
            expected: record.version,
            state: ScheduleState::Paused,
            identity: record.identity.clone(),
            next_at: None,
        };
        self.change(caller, record, change, "paused").await
    }

    /// Resumes a paused schedule; its next occurrence is the next one from now on. The caller has asked for its work
    /// (ruling 33).
    ///
    /// # Errors
    /// `not_found`; `illegal_transition` for an active schedule; `permission_denied` for a caller with less access than
    /// the schedule; `invalid_request` if it has no further occurrence.
    pub async fn resume(
        &self,
        caller: &Caller,
        schedule: &ScheduleId,
    ) -> Result<ScheduleView, EngineError> {
        let record = self.record(caller, schedule).await?;
        let identity = ScheduleIdentity::read(&record)?;
        identity.must_be_within(caller)?;
        let change = ScheduleChange {
            expected: record.version,
            state: ScheduleState::Active,
            identity: identity.asked_also_by(caller).to_json()?,
            next_at: first_time(
                &definition_of(&record)?,
                record.enabled_at,
                self.clock.now(),
            )?,
        };
        self.change(caller, record, change, "resumed").await
    }

    async fn change(
        &self,
        caller: &Caller,
        record: ScheduleRecord,
        change: ScheduleChange,
        word: &str,
    ) -> Result<ScheduleView, EngineError> {
        let id = record.schedule_id.clone();
        if record.state == change.state {
            let message = format!("the schedule `{id}` is {} already", record.state);
            return Err(EngineError::new(ErrorCode::IllegalTransition, message));
        }
        let events = vec![events::changed(&record, word, caller, self.clock.now())];
        let changed = self
            .store
            .change_schedule(&caller.tenant, &id, &change, events);
        if !changed.await? {
            let message = format!("the schedule `{id}` changed at the same time; try again");
            return Err(EngineError::new(ErrorCode::VersionConflict, message));
        }
        self.parts.news.notify_waiters();
        self.show(caller, &id).await
    }

    /// Deletes a schedule with its occurrences, and returns it. Work that has started continues.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn delete(
        &self,
        caller: &Caller,
        schedule: &ScheduleId,
    ) -> Result<ScheduleView, EngineError> {
        let record = self.record(caller, schedule).await?;
        let events = vec![events::changed(
            &record,
            "deleted",
            caller,
            self.clock.now(),
        )];
        let deleted = self.store.delete_schedule(&caller.tenant, schedule, events);
        deleted.await?;
        self.parts.news.notify_waiters();
        self.view(caller, record)
    }

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
        match self.store.add_occurrence(&one, TRIGGER_BACKLOG).await? {
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
        let entries = entries.map(|one| one.map(OccurrenceView::without_items));
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

    /// Returns the record of a schedule that the caller sees.
    async fn record(
        &self,
        caller: &Caller,
        schedule: &ScheduleId,
    ) -> Result<ScheduleRecord, EngineError> {
        let found = self.store.schedule(&caller.tenant, schedule).await?;
        match found.filter(|found| caller.sees(Some(&found.user_id))) {
            Some(found) => Ok(found),
            None => {
                let seen = self
                    .store
                    .schedules(&caller.tenant, caller.only_own(), &newest_known());
                let seen = seen.await?.entries;
                let ids = seen.iter().map(|seen| seen.schedule_id.as_str());
                Err(EngineError::not_found("enabled schedule", schedule).knowing(ids))
            }
        }
    }

    fn view(&self, caller: &Caller, record: ScheduleRecord) -> Result<ScheduleView, EngineError> {
        let view = self.parts.catalogue.live().view(&caller.tenant);
        let registered = view.schedule(record.schedule_id.as_ref());
        ScheduleView::new(record, registered.as_ref().map(|found| found.document()))
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
        updated_at: at,
    }
}

/// Returns the first occurrence by time after now; `None` for triggers. Intervals are counted from `anchor`.
fn first_time(
    schedule: &Schedule,
    anchor: Timestamp,
    now: Timestamp,
) -> Result<Option<Timestamp>, EngineError> {
    let timing = Timing::new(&schedule.when, anchor).map_err(|error| {
        let message = format!("the schedule `{}`: {error}", schedule.schedule_id);
        EngineError::new(ErrorCode::InvalidDocument, message)
    })?;
    let next = timing.next_after(now);
    if next.is_none() && !schedule.when.is_trigger() {
        let message = format!(
            "the schedule `{}` has no occurrence from now on",
            schedule.schedule_id
        );
        return Err(EngineError::new(ErrorCode::InvalidRequest, message));
    }
    Ok(next)
}
