//! Lists, shows, pauses, resumes and deletes enabled schedules.

use charter_contract::catalogue::schedule::ScheduleState;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::ScheduleId;
use charter_store::page::PageRequest;
use charter_store::schedule::{ScheduleChange, ScheduleRecord};

use super::enable::first_time;
use super::form::{SchedulePage, ScheduleView};
use super::identity::ScheduleIdentity;
use super::{ScheduleService, definition_of, events};
use crate::ground::error::newest_known;
use crate::{Caller, EngineError};

impl ScheduleService {
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

    /// Returns the record of a schedule that the caller sees.
    pub(super) async fn record(
        &self,
        caller: &Caller,
        schedule: &ScheduleId,
    ) -> Result<ScheduleRecord, EngineError> {
        let found = self.store.schedule(&caller.tenant, schedule).await?;
        match found.filter(|found| caller.sees(Some(&found.user_id))) {
            Some(found) => Ok(found),
            None => {
                let (owner, page) = (caller.only_own(), newest_known());
                let seen = self.store.schedules(&caller.tenant, owner, &page);
                let seen = seen.await?.entries;
                let ids = seen.iter().map(|seen| seen.schedule_id.as_str());
                Err(EngineError::not_found("enabled schedule", schedule).knowing(ids))
            }
        }
    }

    pub(super) fn view(
        &self,
        caller: &Caller,
        record: ScheduleRecord,
    ) -> Result<ScheduleView, EngineError> {
        let view = self.parts.catalogue.live().view(&caller.tenant);
        let registered = view.schedule(record.schedule_id.as_ref());
        ScheduleView::new(record, registered.as_ref().map(|found| found.document()))
    }
}
