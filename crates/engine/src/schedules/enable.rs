//! Enables schedules: a registered one or a definition, with the rights of the caller.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::bounds::{SCHEDULE_BYTES, SCHEDULES};
use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::schedule::{
    Schedule, ScheduleState, ScheduleTiming, ScheduledWork,
};
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{HookId, ScheduleId};
use charter_contract::json::to_stored;
use charter_contract::time::Timestamp;
use charter_contract::validate::read_value;
use charter_domain::schedule::Timing;
use charter_store::schedule::{ScheduleCause, ScheduleHook, ScheduleRecord, ScheduleStored};
use serde_json::Value;

use super::form::{NewSchedule, ScheduleOrder};
use super::identity::ScheduleIdentity;
use super::{ScheduleService, events, hook};
use crate::catalogue::documents::unseen_active;
use crate::{AccessScope, Caller, EngineError};

impl ScheduleService {
    /// Enables a schedule with the caller's rights: a registered one as it is now, or a definition. A schedule of the
    /// same id is replaced. The secret of a webhook trigger is in the answer alone.
    ///
    /// # Errors
    /// `invalid_request` without exactly one of the two, for a time that has passed, and for a webhook without a
    /// sealing key; `invalid_document`; `not_found` for a schedule or work that is not visible; `permission_denied` for
    /// work that the caller may not start, and for another user's schedule; `rate_limited` if the tenant has reached
    /// its limit of schedules; `too_large`; `version_conflict` if the schedule changed at the same time.
    pub async fn enable(
        &self,
        caller: &Caller,
        order: &ScheduleOrder,
    ) -> Result<NewSchedule, EngineError> {
        let schedule = self.ordered(caller, order)?;
        self.must_start(caller, &schedule)?;
        let now = self.clock.now();
        let next_at = first_time(&schedule, now, now)?;
        let expected = self.version_of(caller, &schedule.schedule_id).await?;
        let definition = stored_definition(&schedule)?;
        let (cause, hook) = self.cause_of(&schedule)?;
        let (hook, secret) = hook.unzip();
        let record = ScheduleRecord {
            tenant_id: caller.tenant.clone(),
            schedule_id: schedule.schedule_id.clone(),
            user_id: caller.user.clone(),
            definition,
            identity: ScheduleIdentity::of(caller).to_json()?,
            cause,
            state: ScheduleState::Active,
            hook,
            id_secret: new_id_secret()?,
            enabled_at: now,
            next_at,
            version: expected.map_or(1, |version| version + 1),
        };
        let events = vec![events::changed(&record, "enabled", caller, now)];
        let stored = self
            .store
            .put_schedule(&record, expected, SCHEDULES, events);
        must_be_stored(stored.await?, &record.schedule_id)?;
        self.parts.news.notify_waiters();
        Ok(NewSchedule {
            schedule: self.view(caller, record)?,
            secret,
        })
    }

    /// Returns the version of the schedule that is replaced, if there is one.
    async fn version_of(
        &self,
        caller: &Caller,
        schedule: &ScheduleId,
    ) -> Result<Option<u64>, EngineError> {
        let Some(known) = self.store.schedule(&caller.tenant, schedule).await? else {
            return Ok(None);
        };
        if caller.sees(Some(&known.user_id)) {
            return Ok(Some(known.version));
        }
        let message = format!(
            "another user enabled the schedule `{schedule}`; choose another id, or ask an operator"
        );
        Err(EngineError::new(ErrorCode::PermissionDenied, message))
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
}

/// Returns a definition as it is stored.
fn stored_definition(schedule: &Schedule) -> Result<String, EngineError> {
    let definition =
        to_stored(schedule).map_err(|error| EngineError::internal("writing a schedule", error))?;
    if definition.len() > SCHEDULE_BYTES {
        let message = format!(
            "the definition of `{}` has {} bytes; the limit is {SCHEDULE_BYTES} (SCHEDULE_BYTES)",
            schedule.schedule_id,
            definition.len()
        );
        return Err(EngineError::new(ErrorCode::TooLarge, message));
    }
    Ok(definition)
}

/// Draws the secret that the ids of a schedule's work follow from.
fn new_id_secret() -> Result<String, EngineError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)
        .map_err(|error| EngineError::internal("creating a secret", error))?;
    Ok(STANDARD.encode(secret))
}

/// Refuses a schedule that was not stored.
fn must_be_stored(stored: ScheduleStored, schedule: &ScheduleId) -> Result<(), EngineError> {
    match stored {
        ScheduleStored::Stored => Ok(()),
        ScheduleStored::Changed => {
            let message = format!("the schedule `{schedule}` changed at the same time; try again");
            Err(EngineError::new(ErrorCode::VersionConflict, message))
        }
        ScheduleStored::Full => {
            let message = format!(
                "the tenant has {SCHEDULES} schedules, the limit SCHEDULES; delete one first"
            );
            Err(EngineError::new(ErrorCode::RateLimited, message))
        }
    }
}

/// Returns the first occurrence by time after now; `None` for triggers. Intervals are counted from `anchor`.
pub(super) fn first_time(
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
