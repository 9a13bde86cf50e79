//! Fires schedules: records due occurrences, starts them, and follows their work to its end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::bounds::TRIGGER_BACKLOG;
use charter_contract::catalogue::schedule::{
    OccurrenceState, OverlapPolicy, Schedule, ScheduleState,
};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{ScheduleId, TenantId};
use charter_contract::json::to_stored;
use charter_contract::time::Timestamp;
use charter_domain::schedule::{Missed, StartDecision, Timing, delay, may_start};
use charter_store::lease::Lease;
use charter_store::outbox::NewMessage;
use charter_store::schedule::{OccurrenceChange, OccurrenceRecord, ScheduleRecord};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::identity::ScheduleIdentity;
use super::occurrences::{occurrence, transition};
use super::{RETRIED_FOR, ScheduleService, definition_of, events, name_of};
use crate::EngineError;
use crate::ground::moments;

/// Schedules that are read at once.
const BATCH: usize = 100;

/// How long a replica works on one schedule before another may take it over.
const LEASE: Duration = Duration::from_secs(60);

/// Schedules that a replica works on at the same time.
const FIRED_AT_ONCE: usize = 8;

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

    /// Does the work of all schedules that is due now, once: several replicas may call it at the same time. Tenants
    /// take turns, so that many schedules of one tenant do not delay those of another.
    ///
    /// # Errors
    /// If storage fails. The failure of one schedule is logged, and does not affect the others.
    pub async fn fire_due(&self) -> Result<(), EngineError> {
        let due = self.due().await?;
        let mut firing = FuturesUnordered::new();
        for (tenant, schedule) in in_turns(due) {
            if self.parts.draining.is_cancelled() {
                break;
            }
            if firing.len() >= FIRED_AT_ONCE {
                firing.next().await;
            }
            firing.push(async move {
                if let Err(error) = self.fire_alone(&tenant, &schedule).await {
                    tracing::warn!(
                        schedule.id = %schedule, error = %error, "a schedule could not be fired; retrying"
                    );
                }
            });
        }
        while firing.next().await.is_some() {}
        Ok(())
    }

    /// Returns the schedules that have something to do now, by tenant.
    async fn due(&self) -> Result<Vec<(TenantId, ScheduleId)>, EngineError> {
        let now = self.clock.now();
        let mut all: Vec<(TenantId, ScheduleId)> = Vec::new();
        loop {
            let last = all.last().map(|(tenant, schedule)| (tenant, schedule));
            let due = self.store.schedules_due(now, last, BATCH).await?;
            let is_last = due.len() < BATCH;
            all.extend(due);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Works on a schedule unless another replica does.
    async fn fire_alone(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
    ) -> Result<(), EngineError> {
        let name = format!("schedule/{}", name_of(tenant, schedule));
        let now = self.clock.now();
        let lease = self
            .store
            .acquire(&name, &self.parts.holder, now, moments::after(now, LEASE));
        let Some(lease) = lease.await? else {
            return Ok(());
        };
        let fired = self.fire(&lease, tenant, schedule).await;
        self.store.release(&lease).await?;
        fired
    }

    /// Renews the lease on a schedule. Returns whether this process still has it.
    pub(super) async fn renew(&self, lease: &Lease) -> Result<bool, EngineError> {
        let until = moments::after(self.clock.now(), LEASE);
        let resources = std::slice::from_ref(&lease.resource);
        let lost = self.store.renew(&lease.holder, resources, until).await?;
        Ok(lost.is_empty())
    }

    /// Starts what is due before it settles what has ended, so that slow work does not delay starts.
    async fn fire(
        &self,
        lease: &Lease,
        tenant: &TenantId,
        schedule: &ScheduleId,
    ) -> Result<(), EngineError> {
        // The schedule may have changed before the lease was acquired.
        let Some(record) = self.store.schedule(tenant, schedule).await? else {
            return Ok(());
        };
        let definition = definition_of(&record)?;
        let Some(record) = self.record_due(record, &definition).await? else {
            // Another replica, or a user, changed the schedule; the next look sees its new state.
            return Ok(());
        };
        let started = self.start_waiting(lease, &record, &definition).await;
        self.settle_started(lease, &record, &definition).await?;
        started
    }

    /// Records the occurrences that are due. Returns the schedule afterwards; `None` if it is no longer the one that
    /// was read.
    async fn record_due(
        &self,
        record: ScheduleRecord,
        schedule: &Schedule,
    ) -> Result<Option<ScheduleRecord>, EngineError> {
        let now = self.clock.now();
        let Some(first) = record.next_at.filter(|next| *next <= now) else {
            return Ok(Some(record));
        };
        if record.state != ScheduleState::Active {
            return Ok(Some(record));
        }
        let timing = Timing::new(&schedule.when, record.enabled_at)
            .map_err(|error| EngineError::internal("reading the times of a schedule", error))?;
        let due = timing.due(first, now, schedule.missed);
        let name = name_of(&record.tenant_id, &record.schedule_id);
        let start = due.start.into_iter().map(|at| OccurrenceRecord {
            start_at: moments::after(at, delay(&name, at, schedule.jitter_s)),
            updated_at: now,
            ..occurrence(&record, at.to_string(), at, None)
        });
        let mut occurrences: Vec<OccurrenceRecord> = start.collect();
        occurrences.extend(due.missed.map(|missed| missed_of(&record, missed, now)));
        let advanced = self.store.advance_schedule(
            &record.tenant_id,
            &record.schedule_id,
            record.version,
            due.next,
            &occurrences,
            TRIGGER_BACKLOG,
        );
        let advanced = advanced.await?;
        Ok(advanced.then(|| ScheduleRecord {
            next_at: due.next,
            version: record.version + 1,
            ..record
        }))
    }

    /// Starts the occurrences whose time has come, oldest first.
    async fn start_waiting(
        &self,
        lease: &Lease,
        record: &ScheduleRecord,
        schedule: &Schedule,
    ) -> Result<(), EngineError> {
        let waiting =
            self.store
                .waiting_occurrences(&record.tenant_id, &record.schedule_id, TRIGGER_BACKLOG);
        let now = self.clock.now();
        let mut waiting = waiting.await?;
        waiting.retain(|one| one.start_at <= now);
        if waiting.is_empty() {
            return Ok(());
        }
        let mut unfinished = match schedule.overlap {
            OverlapPolicy::Allow => 0,
            OverlapPolicy::Skip | OverlapPolicy::Queue => {
                usize::from(self.has_unfinished(record).await?)
            }
        };
        for one in &waiting {
            if !self.renew(lease).await? {
                return Ok(());
            }
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
                    let (from, to) = (OccurrenceState::Waiting, OccurrenceState::Skipped);
                    let change = OccurrenceChange {
                        note: Some(reason.to_owned()),
                        ..transition(from, to, now)
                    };
                    self.change_occurrence(one, &change, vec![]).await?;
                }
            }
        }
        Ok(())
    }

    /// Whether work of an earlier occurrence is unfinished. Work that has ended may not be settled yet; work that cannot
    /// be read counts as unfinished.
    ///
    /// # Errors
    /// If storage fails: the occurrences wait for the next look, so that a short outage skips none.
    async fn has_unfinished(&self, record: &ScheduleRecord) -> Result<bool, EngineError> {
        let started =
            self.store
                .started_occurrences(&record.tenant_id, &record.schedule_id, TRIGGER_BACKLOG);
        let started = started.await?;
        let caller = ScheduleIdentity::read(record)?.caller(&record.tenant_id);
        for one in &started {
            let is_over = match self.end_of(&caller, one).await {
                Ok(end) => end.is_some(),
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => error.code == ErrorCode::NotFound,
            };
            if !is_over {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns a listed occurrence with its event, unless it or its schedule has changed meanwhile.
    pub(super) async fn startable(
        &self,
        record: &ScheduleRecord,
        listed: &OccurrenceRecord,
    ) -> Result<Option<OccurrenceRecord>, EngineError> {
        let (tenant, schedule) = (&record.tenant_id, &record.schedule_id);
        let one = self
            .store
            .occurrence(tenant, schedule, &listed.occurrence)
            .await?;
        let current = self.store.schedule(tenant, schedule).await?;
        let is_current = current.is_some_and(|current| {
            current.version == record.version && current.state == ScheduleState::Active
        });
        Ok(one.filter(|one| is_current && one.state == OccurrenceState::Waiting))
    }

    /// Starts the work of an occurrence. Returns whether it started; a failure is recorded, or repeated if it may pass.
    async fn start_one(
        &self,
        record: &ScheduleRecord,
        schedule: &Schedule,
        listed: &OccurrenceRecord,
    ) -> Result<bool, EngineError> {
        let Some(one) = self.startable(record, listed).await? else {
            return Ok(false);
        };
        let now = self.clock.now();
        let change = |to| OccurrenceChange {
            of_version: Some(record.version),
            ..transition(OccurrenceState::Waiting, to, now)
        };
        match self.start_work(record, schedule, &one).await {
            Ok((work, note)) => {
                let work = to_stored(&work)
                    .map_err(|error| EngineError::internal("writing an occurrence", error))?;
                let change = OccurrenceChange {
                    work: Some(work),
                    note,
                    ..change(OccurrenceState::Started)
                };
                self.change_occurrence(&one, &change, vec![]).await
            }
            Err(error) if self.may_pass(&error, &one) => {
                tracing::debug!(schedule.id = %one.schedule_id, error = %error, "a scheduled start is repeated");
                Ok(false)
            }
            Err(error) => {
                let state = OccurrenceState::Failed;
                let change = OccurrenceChange {
                    note: Some(error.to_string()),
                    ..change(state)
                };
                let events = events::ended(record, schedule, &one, state, None, now);
                self.change_occurrence(&one, &change, events).await?;
                Ok(false)
            }
        }
    }

    /// Whether a start that failed is repeated.
    pub(super) fn may_pass(&self, error: &EngineError, one: &OccurrenceRecord) -> bool {
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

/// Orders schedules by turns of their tenants: the first of each tenant, then the second of each, and so on.
fn in_turns(due: Vec<(TenantId, ScheduleId)>) -> Vec<(TenantId, ScheduleId)> {
    let mut turns: HashMap<TenantId, usize> = HashMap::new();
    let mut numbered = Vec::with_capacity(due.len());
    for (tenant, schedule) in due {
        let turn = turns.entry(tenant.clone()).or_default();
        *turn += 1;
        numbered.push((*turn, (tenant, schedule)));
    }
    numbered.sort_by_key(|(turn, _)| *turn);
    numbered.into_iter().map(|(_, key)| key).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(all: &[&str]) -> Vec<(TenantId, ScheduleId)> {
        let parsed = all.iter().map(|key| {
            let (tenant, schedule) = key.split_once('/').unwrap();
            let tenant = TenantId::parse(tenant).unwrap();
            (tenant, ScheduleId::parse(schedule).unwrap())
        });
        parsed.collect()
    }

    #[test]
    fn schedules_of_one_tenant_do_not_delay_those_of_another() {
        let due = keys(&["a/s1", "a/s2", "a/s3", "b/s1", "c/s1", "c/s2"]);
        let expected = keys(&["a/s1", "b/s1", "c/s1", "a/s2", "c/s2", "a/s3"]);
        assert_eq!(in_turns(due), expected);
    }
}
