//! Fires schedules: records due occurrences, starts them, and follows their work to its end.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::TRIGGER_BACKLOG;
use charter_contract::catalogue::schedule::{OccurrenceState, Schedule, ScheduleState};
use charter_contract::error_code::ErrorCode;
use charter_contract::json::to_stored;
use charter_contract::time::Timestamp;
use charter_domain::schedule::{Missed, StartDecision, Timing, delay, may_start};
use charter_store::outbox::NewMessage;
use charter_store::schedule::{OccurrenceChange, OccurrenceRecord, ScheduleRecord};

use super::occurrences::occurrence;
use super::{ScheduleService, definition_of, events, name_of};
use crate::EngineError;
use crate::ground::moments;

/// Schedules that are read at once.
const BATCH: usize = 100;

/// How long a replica works on one schedule before another may take it over.
const LEASE: Duration = Duration::from_secs(60);

/// How long a start that fails for a passing reason is repeated.
const RETRIED_FOR: Duration = Duration::from_secs(3_600);

/// Interval between two looks for due schedules.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl ScheduleService {
    /// Fires due schedules until the process drains.
    pub(crate) async fn fire_forever(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = self.parts.draining.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            if let Err(error) = self.fire_due().await {
                tracing::warn!(error = %error, "due schedules could not be read; retrying");
            }
        }
    }

    /// Does the work of all schedules that is due now, once: several replicas may call it at the same time.
    ///
    /// # Errors
    /// If storage fails. The failure of one schedule is logged, and does not affect the others.
    pub async fn fire_due(&self) -> Result<(), EngineError> {
        let mut after = None;
        loop {
            let last = after.as_ref().map(|(tenant, schedule)| (tenant, schedule));
            let due = self
                .store
                .schedules_due(self.clock.now(), last, BATCH)
                .await?;
            let Some(newest) = due.last() else {
                return Ok(());
            };
            let (count, next) = (
                due.len(),
                (newest.tenant_id.clone(), newest.schedule_id.clone()),
            );
            for record in due {
                if self.parts.draining.is_cancelled() {
                    return Ok(());
                }
                let id = record.schedule_id.clone();
                if let Err(error) = self.fire_alone(record).await {
                    tracing::warn!(schedule.id = %id, error = %error, "a schedule could not be fired; retrying");
                }
            }
            if count < BATCH {
                return Ok(());
            }
            after = Some(next);
        }
    }

    /// Works on a schedule unless another replica does.
    async fn fire_alone(&self, record: ScheduleRecord) -> Result<(), EngineError> {
        let name = format!(
            "schedule/{}",
            name_of(&record.tenant_id, &record.schedule_id)
        );
        let now = self.clock.now();
        let lease = self
            .store
            .acquire(&name, &self.parts.holder, now, moments::after(now, LEASE));
        let Some(lease) = lease.await? else {
            return Ok(());
        };
        let fired = self.fire(&record).await;
        self.store.release(&lease).await?;
        fired
    }

    async fn fire(&self, record: &ScheduleRecord) -> Result<(), EngineError> {
        let schedule = definition_of(record)?;
        self.settle_started(record, &schedule).await?;
        if !self.record_due(record, &schedule).await? {
            // Another replica, or a user, changed the schedule; the next look sees its new state.
            return Ok(());
        }
        self.start_waiting(record, &schedule).await
    }

    /// Records the occurrences that are due. Returns whether the schedule is still the one that was read.
    async fn record_due(
        &self,
        record: &ScheduleRecord,
        schedule: &Schedule,
    ) -> Result<bool, EngineError> {
        let now = self.clock.now();
        let Some(first) = record.next_at.filter(|next| *next <= now) else {
            return Ok(true);
        };
        if record.state != ScheduleState::Active {
            return Ok(true);
        }
        let timing = Timing::new(&schedule.when, record.enabled_at)
            .map_err(|error| EngineError::internal("reading the times of a schedule", error))?;
        let due = timing.due(first, now, schedule.missed);
        let name = name_of(&record.tenant_id, &record.schedule_id);
        let start = due.start.into_iter().map(|at| OccurrenceRecord {
            start_at: moments::after(at, delay(&name, at, schedule.jitter_s)),
            updated_at: now,
            ..occurrence(record, at.to_string(), at, None)
        });
        let mut occurrences: Vec<OccurrenceRecord> = start.collect();
        occurrences.extend(due.missed.map(|missed| missed_of(record, missed, now)));
        let advanced = self.store.advance_schedule(
            &record.tenant_id,
            &record.schedule_id,
            record.version,
            due.next,
            &occurrences,
        );
        Ok(advanced.await?)
    }

    /// Starts the occurrences whose time has come, oldest first.
    async fn start_waiting(
        &self,
        record: &ScheduleRecord,
        schedule: &Schedule,
    ) -> Result<(), EngineError> {
        let open = self.store.open_occurrences(
            &record.tenant_id,
            &record.schedule_id,
            TRIGGER_BACKLOG + 1,
        );
        let open = open.await?;
        let is_started = |one: &&OccurrenceRecord| one.state == OccurrenceState::Started;
        let mut unfinished = open.iter().filter(is_started).count();
        let now = self.clock.now();
        let waiting = open
            .iter()
            .filter(|one| !is_started(one) && one.start_at <= now);
        for one in waiting {
            let decision = match record.state {
                ScheduleState::Active => may_start(schedule.overlap, unfinished),
                ScheduleState::Paused => StartDecision::Skip,
            };
            match decision {
                StartDecision::Start => {
                    if self.start_one(record, schedule, one).await? {
                        unfinished += 1;
                    }
                }
                StartDecision::Wait => return Ok(()),
                StartDecision::Skip => {
                    let reason = match record.state {
                        ScheduleState::Active => "work of an earlier occurrence is unfinished",
                        ScheduleState::Paused => "the schedule is paused",
                    };
                    let change = OccurrenceChange {
                        note: Some(reason.to_owned()),
                        ..change_to(OccurrenceState::Skipped, now)
                    };
                    self.change_occurrence(one, &change, vec![]).await?;
                }
            }
        }
        Ok(())
    }

    /// Starts the work of an occurrence. Returns whether it started; a failure is recorded, or repeated if it may pass.
    async fn start_one(
        &self,
        record: &ScheduleRecord,
        schedule: &Schedule,
        one: &OccurrenceRecord,
    ) -> Result<bool, EngineError> {
        let now = self.clock.now();
        match self.start_work(record, schedule, one).await {
            Ok(work) => {
                let work = to_stored(&work)
                    .map_err(|error| EngineError::internal("writing an occurrence", error))?;
                let change = OccurrenceChange {
                    work: Some(work),
                    ..change_to(OccurrenceState::Started, now)
                };
                self.change_occurrence(one, &change, vec![]).await
            }
            Err(error) if self.may_pass(&error, one) => {
                tracing::debug!(schedule.id = %one.schedule_id, error = %error, "a scheduled start is repeated");
                Ok(false)
            }
            Err(error) => {
                let change = OccurrenceChange {
                    note: Some(error.to_string()),
                    ..change_to(OccurrenceState::Failed, now)
                };
                let state = OccurrenceState::Failed;
                let events = events::ended(record, schedule, one, state, None, now);
                self.change_occurrence(one, &change, events).await?;
                Ok(false)
            }
        }
    }

    /// Whether a start that failed is repeated.
    fn may_pass(&self, error: &EngineError, one: &OccurrenceRecord) -> bool {
        let until = moments::after(one.start_at, RETRIED_FOR);
        (error.code.retryable() || error.code == ErrorCode::Internal) && self.clock.now() < until
    }

    pub(super) async fn change_occurrence(
        &self,
        one: &OccurrenceRecord,
        change: &OccurrenceChange,
        events: Vec<NewMessage>,
    ) -> Result<bool, EngineError> {
        let changed = self.store.change_occurrence(
            &one.tenant_id,
            &one.schedule_id,
            &one.occurrence,
            change,
            events,
        );
        let changed = changed.await?;
        self.parts.news.notify_waiters();
        Ok(changed)
    }
}

/// A change of a waiting occurrence.
fn change_to(to: OccurrenceState, at: Timestamp) -> OccurrenceChange {
    OccurrenceChange {
        from: OccurrenceState::Waiting,
        to,
        work: None,
        note: None,
        report: None,
        at,
    }
}

/// The record of occurrences that passed.
fn missed_of(record: &ScheduleRecord, missed: Missed, now: Timestamp) -> OccurrenceRecord {
    OccurrenceRecord {
        state: OccurrenceState::Missed,
        note: Some(format!(
            "{} occurrences passed and were not started",
            missed.count
        )),
        updated_at: now,
        ..occurrence(record, missed.latest.to_string(), missed.latest, None)
    }
}
