//! Enabled schedules of tenants, and their occurrences. The key of an occurrence is natural (its time, or the id of its
//! event), so that it is recorded once by any number of replicas.

use async_trait::async_trait;
use charter_contract::catalogue::schedule::{OccurrenceState, ScheduleState};
use charter_contract::ids::{HookId, ScheduleId, TenantId, UserId};
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::outbox::NewMessage;
use crate::page::{Page, PageRequest};

/// The cause of the occurrences of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleCause {
    /// The time.
    Time,
    /// A webhook.
    Webhook,
    /// A finding.
    Finding,
}

/// The address of a webhook trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleHook {
    /// The id in its address.
    pub hook_id: HookId,
    /// The sealed secret that signs its events.
    pub secret: String,
}

/// An enabled schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRecord {
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its id.
    pub schedule_id: ScheduleId,
    /// The user who enabled it.
    pub user_id: UserId,
    /// The document, as it was enabled: JSON.
    pub definition: String,
    /// Whose rights its work has: JSON.
    pub identity: String,
    /// The cause of its occurrences.
    pub cause: ScheduleCause,
    /// Whether it fires.
    pub state: ScheduleState,
    /// Its address, if webhooks start it.
    pub hook: Option<ScheduleHook>,
    /// Random text, drawn when it was enabled: the ids of its work follow from it, so that no client can predict them.
    pub id_secret: String,
    /// When it was enabled.
    pub enabled_at: Timestamp,
    /// The next occurrence by time.
    pub next_at: Option<Timestamp>,
    /// Number of its writes: 1 for the first.
    pub version: u64,
}

/// An occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OccurrenceRecord {
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its schedule.
    pub schedule_id: ScheduleId,
    /// Its key within the schedule: the time in RFC 3339, or the id of its event.
    pub occurrence: String,
    /// Its time, or the time of its event.
    pub due_at: Timestamp,
    /// When it starts: its time with the jitter.
    pub start_at: Timestamp,
    /// Its state.
    pub state: OccurrenceState,
    /// The event that started it: JSON.
    pub event: Option<String>,
    /// The started work: JSON.
    pub work: Option<String>,
    /// Why it did not start or failed.
    pub note: Option<String>,
    /// Its report: JSON. Listings have its summary instead.
    pub report: Option<String>,
    /// Since when the state of its started work cannot be read.
    pub failing_since: Option<Timestamp>,
    /// The latest change.
    pub updated_at: Timestamp,
}

/// A change of a schedule's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleChange {
    /// The version that it was decided on.
    pub expected: u64,
    /// The new state.
    pub state: ScheduleState,
    /// Whose rights its work has: JSON.
    pub identity: String,
    /// The next occurrence by time.
    pub next_at: Option<Timestamp>,
}

/// The report of an occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReport {
    /// The report: JSON.
    pub full: String,
    /// The report without its items: JSON.
    pub summary: String,
}

/// A change of an occurrence. Of the texts, one that is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OccurrenceChange {
    /// The expected state.
    pub from: OccurrenceState,
    /// The new state.
    pub to: OccurrenceState,
    /// The version of the active schedule that the change was decided on; any schedule if absent.
    pub of_version: Option<u64>,
    /// The started work: JSON.
    pub work: Option<String>,
    /// Why it did not start or failed.
    pub note: Option<String>,
    /// Its report.
    pub report: Option<StoredReport>,
    /// Since when the state of its started work cannot be read; `None` if it can.
    pub failing_since: Option<Timestamp>,
    /// When it changed.
    pub at: Timestamp,
}

/// The outcome of storing a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleStored {
    /// It was stored.
    Stored,
    /// The stored schedule has another version, exists, or does not exist, contrary to what was expected.
    Changed,
    /// The tenant has as many schedules as it may.
    Full,
}

/// The outcome of adding an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OccurrenceAdded {
    /// It was added.
    Added,
    /// The schedule has an occurrence with this key.
    Known,
    /// The schedule has as many unfinished occurrences as it may.
    Full,
}

/// Enabled schedules.
#[async_trait]
pub trait Schedules {
    /// Stores an enabled schedule with its messages, in one transaction: a new one, or in place of the version
    /// `expected` of the same id. Waiting occurrences of the earlier version become skipped, because they were
    /// recorded for another definition and other rights; the others stay. Ignores `version`: the stored one is one
    /// more than before. The tenant may have at most `room` schedules.
    async fn put_schedule(
        &self,
        schedule: &ScheduleRecord,
        expected: Option<u64>,
        room: usize,
        messages: Vec<NewMessage>,
    ) -> Result<ScheduleStored, StoreError>;

    /// Returns a schedule of the tenant.
    async fn schedule(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
    ) -> Result<Option<ScheduleRecord>, StoreError>;

    /// Returns the schedule at an address, of any tenant: the caller does not know the tenant yet.
    async fn schedule_of_hook(&self, hook: &HookId) -> Result<Option<ScheduleRecord>, StoreError>;

    /// Lists a tenant's schedules, or those of one user, latest enabled first. A page ends early before its entries are
    /// too large together.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    async fn schedules(
        &self,
        tenant: &TenantId,
        user: Option<&UserId>,
        page: &PageRequest,
    ) -> Result<Page<ScheduleRecord>, StoreError>;

    /// Lists the ids of a tenant's active schedules that findings start.
    async fn finding_triggers(&self, tenant: &TenantId) -> Result<Vec<ScheduleId>, StoreError>;

    /// Lists the ids of schedules of all tenants that have something to do at `now`: an active one whose next
    /// occurrence is due, and any with an occurrence that starts or has started. By tenant and id, after those of
    /// `after`.
    async fn schedules_due(
        &self,
        now: Timestamp,
        after: Option<(&TenantId, &ScheduleId)>,
        limit: usize,
    ) -> Result<Vec<(TenantId, ScheduleId)>, StoreError>;

    /// Changes a schedule's state and writes the messages, in one transaction. Returns `false` and changes nothing if
    /// its version is another one.
    async fn change_schedule(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        change: &ScheduleChange,
        messages: Vec<NewMessage>,
    ) -> Result<bool, StoreError>;

    /// Records the due occurrences of an active schedule and its next one, in one transaction. Beyond `room`
    /// unfinished occurrences, further waiting ones are recorded as skipped. Returns `false` and changes nothing if the
    /// schedule is paused or its version is not `expected`; so of concurrent replicas, one succeeds.
    async fn advance_schedule(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        expected: u64,
        next_at: Option<Timestamp>,
        occurrences: &[OccurrenceRecord],
        room: usize,
    ) -> Result<bool, StoreError>;

    /// Deletes a schedule with its occurrences, and writes the messages. Returns whether the tenant had it.
    async fn delete_schedule(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        messages: Vec<NewMessage>,
    ) -> Result<bool, StoreError>;

    /// Adds an occurrence with its messages, in one transaction, unless it is unfinished and the schedule has `room`
    /// unfinished ones. A key that is known changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if the tenant has no such schedule.
    async fn add_occurrence(
        &self,
        occurrence: &OccurrenceRecord,
        room: usize,
        messages: Vec<NewMessage>,
    ) -> Result<OccurrenceAdded, StoreError>;

    /// Returns an occurrence.
    async fn occurrence(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        occurrence: &str,
    ) -> Result<Option<OccurrenceRecord>, StoreError>;

    /// Lists the occurrences of a schedule, latest first, without their events, and with the summaries of their
    /// reports. A page ends early before its entries are too large together.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    async fn occurrences(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        page: &PageRequest,
    ) -> Result<Page<OccurrenceRecord>, StoreError>;

    /// Lists the waiting occurrences of a schedule without their events, oldest first, at most `limit`.
    async fn waiting_occurrences(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        limit: usize,
    ) -> Result<Vec<OccurrenceRecord>, StoreError>;

    /// Lists the started occurrences of a schedule without their events, oldest first, at most `limit`.
    async fn started_occurrences(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        limit: usize,
    ) -> Result<Vec<OccurrenceRecord>, StoreError>;

    /// Returns the latest occurrence with a report, without its event.
    async fn last_reported(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
    ) -> Result<Option<OccurrenceRecord>, StoreError>;

    /// Changes an occurrence and writes the messages, in one transaction. Returns `false` and changes nothing if its
    /// state is another one, or the schedule is not active in the version of the change.
    async fn change_occurrence(
        &self,
        tenant: &TenantId,
        schedule: &ScheduleId,
        occurrence: &str,
        change: &OccurrenceChange,
        messages: Vec<NewMessage>,
    ) -> Result<bool, StoreError>;

    /// Deletes finished occurrences that changed before `before`, except the latest one with a report of each schedule.
    /// Returns their number.
    async fn sweep_occurrences(&self, before: Timestamp) -> Result<u64, StoreError>;
}
