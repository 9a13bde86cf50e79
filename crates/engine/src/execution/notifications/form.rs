//! The answers about channels and notifications.

use charter_contract::ids::{ApprovalId, Label, NotificationId};
use charter_contract::notification::NotificationTopic;
use charter_contract::time::Timestamp;
use charter_domain::notification::NotificationRule;
use charter_store::notification::{NotificationRecord, NotificationState};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ground::notifications::ChannelSettings;

/// A channel of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Channel")]
pub struct ChannelView {
    /// Its name in the configuration.
    pub channel: Label,
    /// Its kind.
    #[schemars(extend("enum" = ["slack", "email", "webhook"]))]
    pub kind: String,
    /// The topics that rules send to it.
    pub topics: Vec<NotificationTopic>,
    /// The number of people who may decide with buttons.
    pub deciders: usize,
}

impl ChannelView {
    pub(super) fn new(name: &Label, channel: &ChannelSettings, rules: &[NotificationRule]) -> Self {
        let sends = |topic: &NotificationTopic| {
            let mut rules = rules.iter();
            rules.any(|rule| rule.channels.contains(name) && rule.topics.contains(topic))
        };
        let topics = NotificationTopic::ALL.iter().copied();
        Self {
            channel: name.clone(),
            kind: channel.kind.to_owned(),
            topics: topics.filter(sends).collect(),
            deciders: channel.slack.as_ref().map_or(0, |slack| slack.people.len()),
        }
    }
}

/// The result of a test message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ChannelTest")]
pub struct ChannelTest {
    /// The channel.
    pub channel: Label,
    /// The id of the message.
    pub message_id: String,
    /// Whether the channel accepted it.
    pub accepted: bool,
    /// Why it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// One event for one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Notification")]
pub struct NotificationView {
    /// Its id.
    pub notification_id: NotificationId,
    /// The channel.
    pub channel: Label,
    /// The topic.
    pub topic: NotificationTopic,
    /// Whether it was sent.
    #[schemars(extend("enum" = ["pending", "delivered", "skipped", "failed"]))]
    pub state: String,
    /// When the event happened.
    pub created_at: Timestamp,
    /// When it may be sent next; absent if it is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// When it was settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
    /// Finished attempts.
    pub attempts: u64,
    /// The id of its message, which a digest shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The last failure, or why it was not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl From<NotificationRecord> for NotificationView {
    fn from(record: NotificationRecord) -> Self {
        let told = record.notification;
        let is_pending = record.state == NotificationState::Pending;
        Self {
            notification_id: told.notification_id,
            channel: told.channel,
            topic: told.topic,
            state: record.state.as_str().to_owned(),
            created_at: told.created_at,
            due_at: is_pending.then_some(told.due_at),
            settled_at: record.settled_at,
            attempts: record.attempts,
            message_id: record.message_id,
            detail: record.detail,
        }
    }
}

/// One page of notifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "NotificationPage")]
pub struct NotificationPage {
    /// Newest first.
    pub entries: Vec<NotificationView>,
    /// Cursor to the next page.
    pub next: Option<String>,
}

/// The result of an interaction in Slack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SlackDecision")]
pub struct SlackDecision {
    /// The approval; absent if the interaction was only a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    /// Its state now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}
