//! Notifications: events that channels get. Each is written once for each channel, claimed when it is due, and settled.
//!
//! A message has one notification, or those of one digest. It is made by the first claim, and keeps its id and its
//! notifications for all attempts, so that a receiver recognises a repeat.

use async_trait::async_trait;
use charter_contract::ids::{Label, NotificationId, TenantId};
use charter_contract::notification::NotificationTopic;
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::page::{Page, PageRequest};

/// State of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationState {
    /// Not sent yet.
    Pending,
    /// The channel accepted it.
    Delivered,
    /// It was out of date before it was sent.
    Skipped,
    /// The channel refused it, or did not accept it in time.
    Failed,
}

impl NotificationState {
    /// Every state with its stored word.
    pub const WORDS: [(Self, &'static str); 4] = [
        (Self::Pending, "pending"),
        (Self::Delivered, "delivered"),
        (Self::Skipped, "skipped"),
        (Self::Failed, "failed"),
    ];

    /// Returns the state's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(state, _)| *state == self);
        found.map_or("", |(_, word)| word)
    }

    /// Parses a state's word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let found = Self::WORDS.iter().find(|(_, known)| *known == word);
        found.map(|(state, _)| *state)
    }
}

/// A notification to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNotification {
    /// Its id. A second one with the same id is not written.
    pub notification_id: NotificationId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// The channel.
    pub channel: Label,
    /// Its topic.
    pub topic: NotificationTopic,
    /// The digest that it belongs to: those with the same name and channel are one message. Absent for a message of its
    /// own.
    pub digest: Option<String>,
    /// When its event happened.
    pub created_at: Timestamp,
    /// When it may be sent.
    pub due_at: Timestamp,
    /// JSON: the objects that it is about.
    pub body: String,
}

/// A stored notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationRecord {
    /// The notification, with the time at which it may be sent next.
    pub notification: NewNotification,
    /// Its state.
    pub state: NotificationState,
    /// Finished attempts to send it.
    pub attempts: u64,
    /// The id of its message, from the first claim on.
    pub message_id: Option<String>,
    /// When it was settled.
    pub settled_at: Option<Timestamp>,
    /// The last failure, or why it was skipped.
    pub detail: Option<String>,
}

/// A claim of the next message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationClaim {
    /// The name of the claim, different from every other one.
    pub holder: String,
    /// The current time.
    pub now: Timestamp,
    /// When the message may be claimed again, unless it is settled before.
    pub until: Timestamp,
    /// The id of the message, if it has none yet.
    pub message_id: String,
    /// Maximum notifications of a digest.
    pub most: usize,
    /// Channels whose messages are left out, because one is being sent.
    pub busy: Vec<BusyChannel>,
}

/// A channel whose messages are not claimed now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusyChannel {
    /// Its name.
    pub channel: Label,
    /// The tenants whose channel of this name it is.
    pub tenants: ChannelTenants,
}

/// The tenants of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelTenants {
    /// The tenant whose own channel it is.
    Only(TenantId),
    /// All tenants, without those that have a channel of their own with this name.
    AllExcept(Vec<TenantId>),
}

/// A claimed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedMessage {
    /// Its id.
    pub message_id: String,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its channel.
    pub channel: Label,
    /// Its notifications, oldest first; at least one.
    pub notifications: Vec<NotificationRecord>,
}

/// The result of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageOutcome {
    /// The channel accepted the message.
    Delivered,
    /// It was out of date, for this reason.
    Skipped(String),
    /// It will not be sent again, for this reason.
    Failed(String),
    /// It failed for this reason, and may be sent again at this time.
    Retry(Timestamp, String),
    /// It was not sent, and may be at this time. This is no attempt.
    Postponed(Timestamp),
}

/// Filter of a listing. Absent fields match all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NotificationFilter<'a> {
    /// Only notifications in this state.
    pub state: Option<NotificationState>,
    /// Only those of this channel.
    pub channel: Option<&'a Label>,
}

/// Notifications.
#[async_trait]
pub trait Notifications {
    /// Returns the id of the last outbox message whose notifications are written; `None` before the first call of
    /// [`Notifications::put_notifications`].
    async fn notification_position(&self) -> Result<Option<u64>, StoreError>;

    /// Writes the notifications of the outbox messages after `from` up to `to`, and this position, in one transaction.
    /// Leaves out a notification whose id is written already. Of several concurrent calls from one position exactly one
    /// succeeds.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when the position is not `from`; nothing is written.
    async fn put_notifications(
        &self,
        from: Option<u64>,
        to: u64,
        new: Vec<NewNotification>,
    ) -> Result<(), StoreError>;

    /// Claims the message that has been due longest, of any tenant, without those of the channels `claim.busy`; `None`
    /// if none is due at `claim.now`. No other claim gets it before `claim.until`.
    async fn claim_message(
        &self,
        claim: &NotificationClaim,
    ) -> Result<Option<ClaimedMessage>, StoreError>;

    /// Records the result of a claim at a time; returns whether the claim was still the last one. If it was not, nothing
    /// is written.
    async fn settle_message(
        &self,
        claimed: &ClaimedMessage,
        holder: &str,
        outcome: &MessageOutcome,
        at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Returns a tenant's matching notifications, newest first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    async fn notifications(
        &self,
        tenant: &TenantId,
        filter: NotificationFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<NotificationRecord>, StoreError>;

    /// Deletes notifications that were settled before `before`; returns their number.
    async fn sweep_notifications(&self, before: Timestamp) -> Result<u64, StoreError>;

    /// Records that a signature of a request was used, until it is no longer valid at `expires_at`. Returns `false` for
    /// one that was used before.
    async fn use_signature(
        &self,
        tenant: &TenantId,
        signature: &str,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Deletes signatures that are no longer valid at `now`; returns their number.
    async fn sweep_signatures(&self, now: Timestamp) -> Result<u64, StoreError>;
}
