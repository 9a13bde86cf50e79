//! Sends messages to people and systems through channels: Slack, e-mail, signed webhooks. Must not know runs,
//! approvals, rules or storage: a message has the texts and the link that its reader gets.

mod email;
mod options;
mod settings;
mod slack;
mod text;

use std::time::Duration;

use async_trait::async_trait;
use charter_contract::ids::{Label, TenantId};
use charter_contract::time::Timestamp;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::webhook::MessageId;

pub use options::{ChannelOptions, ChannelTransport, ConfiguredChannels};
pub use settings::{ChannelSetupError, EmailOptions, SlackOptions, SmtpSecurity};
pub use slack::{
    ApprovalButton, ButtonAnswer, SlackInteraction, SlackInteractionError, SlackRequest,
};

/// A message for one channel.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelMessage {
    /// The tenant whose channels apply.
    pub tenant: TenantId,
    /// The channel.
    pub channel: Label,
    /// Its id, equal for all attempts.
    pub id: MessageId,
    /// The current time.
    pub now: Timestamp,
    /// The content.
    pub content: MessageContent,
}

/// The content of a message, for every kind of channel.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageContent {
    /// The topic, e.g. `approval.requested`.
    pub topic: String,
    /// When the event happened.
    pub at: Timestamp,
    /// One line.
    pub title: String,
    /// Paragraphs.
    pub paragraphs: Vec<String>,
    /// Named values.
    pub facts: Vec<(&'static str, String)>,
    /// The exact call, as JSON text.
    pub call: Option<String>,
    /// The address of the page about it.
    pub link: Option<String>,
    /// The approval that may be decided in the channel, if it has buttons.
    pub decision: Option<ApprovalButton>,
    /// The same content for a program.
    pub data: Value,
}

/// A channel of the configuration: a tenant's own, or one that all tenants share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChannelKey {
    /// The tenant whose channel it is; absent for a shared channel.
    pub tenant: Option<TenantId>,
    /// Its name.
    pub channel: Label,
}

/// A message that a channel did not accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ChannelFailure {
    /// The kind of failure.
    pub fault: ChannelFault,
    /// The cause; no secrets.
    pub message: String,
    /// The pause that the channel requests.
    pub retry_after: Option<Duration>,
}

/// The kind of a failed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelFault {
    /// The configuration has no such channel.
    Unknown,
    /// The channel rejected the message.
    Refused,
    /// The channel did not accept it, and may later.
    Unavailable,
}

impl ChannelFailure {
    pub(crate) fn new(fault: ChannelFault, message: impl Into<String>) -> Self {
        Self {
            fault,
            message: message.into(),
            retry_after: None,
        }
    }

    fn unknown(channel: &Label) -> Self {
        let message = format!("there is no channel `{channel}` in the configuration");
        Self::new(ChannelFault::Unknown, message)
    }
}

/// Sends messages to channels, and verifies what comes back from them.
#[async_trait]
pub trait Channels: Send + Sync {
    /// Sends a message once.
    ///
    /// # Errors
    /// [`ChannelFailure`].
    async fn send(
        &self,
        message: &ChannelMessage,
        cancel: &CancellationToken,
    ) -> Result<(), ChannelFailure>;

    /// Returns the Slack channels whose app signed a request.
    fn signers(&self, request: &SlackRequest<'_>) -> Vec<ChannelKey>;

    /// Answers the user of an interaction, visibly to that user alone. With `replaces`, the text replaces the message
    /// with its buttons, visibly to all.
    ///
    /// # Errors
    /// [`ChannelFailure`], also for an address that is not Slack's.
    async fn answer(
        &self,
        channel: &ChannelKey,
        address: &str,
        text: &str,
        answers: ButtonAnswer,
    ) -> Result<(), ChannelFailure>;
}

/// No channels.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoChannels;

#[async_trait]
impl Channels for NoChannels {
    async fn send(
        &self,
        message: &ChannelMessage,
        _: &CancellationToken,
    ) -> Result<(), ChannelFailure> {
        Err(ChannelFailure::unknown(&message.channel))
    }

    fn signers(&self, _: &SlackRequest<'_>) -> Vec<ChannelKey> {
        Vec::new()
    }

    async fn answer(
        &self,
        channel: &ChannelKey,
        _: &str,
        _: &str,
        _: ButtonAnswer,
    ) -> Result<(), ChannelFailure> {
        Err(ChannelFailure::unknown(&channel.channel))
    }
}
