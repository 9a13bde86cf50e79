//! Sends a change to a system of record: one signed request, in the form of the [Standard
//! Webhooks](https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md) specification.
//! Must not know missions or policies.

mod deliver;
mod options;
mod sign;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub use options::{HttpWebhooks, SystemOfRecord, WebhookOptions, WebhookSetupError};

/// The id of a message: equal for every attempt, so that the receiver can detect duplicates. It contains no full stop,
/// because the signed text uses it as separator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageId(String);

impl MessageId {
    /// Creates the id from a uuid.
    #[must_use]
    pub fn from_uuid(uuid: Uuid) -> Self {
        Self(format!("msg_{}", uuid.simple()))
    }

    /// Reads an id that [`MessageId::from_uuid`] made.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let uuid = Uuid::try_parse(text.strip_prefix("msg_")?).ok()?;
        Some(Self::from_uuid(uuid))
    }

    /// Returns its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A request to send.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// The tenant whose systems of record apply.
    pub tenant: TenantId,
    /// The destination URL.
    pub url: String,
    /// Message id, equal for all attempts.
    pub id: MessageId,
    /// The current time.
    pub now: Timestamp,
    /// The JSON body.
    pub body: Value,
    /// Timeout of all attempts together.
    pub timeout: Duration,
}

/// A request that the receiver accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    /// The HTTP status, 200 to 299.
    pub status: u16,
}

/// A request that the receiver did not accept, or whose result is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DeliveryFailed {
    /// Kind of failure.
    pub fault: DeliveryFault,
    /// The cause; no secrets.
    pub message: String,
}

/// Kind of failed delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryFault {
    /// It was not sent, and will not be: the address is not configured, or it is private.
    Forbidden,
    /// The target changed since the request was prepared (409).
    Conflict,
    /// The receiver rejected it, or redirected it.
    Refused,
    /// The receiver did not accept it, and may later (no connection, 408, 429, 5xx).
    Unavailable,
    /// It was sent, and no answer came: its effect is unknown.
    Unknown,
}

/// Sends requests to systems of record.
#[async_trait]
pub trait Webhooks: Send + Sync {
    /// Sends one request, and retries after transient failures under the same id.
    ///
    /// # Errors
    /// [`DeliveryFailed`], also for an address that is not allowed.
    async fn deliver(
        &self,
        delivery: &Delivery,
        cancel: &CancellationToken,
    ) -> Result<Delivered, DeliveryFailed>;
}

/// Sends nothing: for programs without a system of record.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWebhooks;

#[async_trait]
impl Webhooks for NoWebhooks {
    async fn deliver(
        &self,
        delivery: &Delivery,
        _: &CancellationToken,
    ) -> Result<Delivered, DeliveryFailed> {
        Err(unknown_system(&delivery.url))
    }
}

fn unknown_system(url: &str) -> DeliveryFailed {
    DeliveryFailed {
        fault: DeliveryFault::Forbidden,
        message: format!(
            "`{url}` belongs to no configured system of record; nothing was sent (`webhooks.systems` in the \
             configuration lists them)"
        ),
    }
}
