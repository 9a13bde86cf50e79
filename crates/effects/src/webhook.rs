//! Sending a change to a system of record: one signed request, in the form of the
//! [Standard Webhooks](https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md)
//! specification. Must not know missions or policies.

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

/// The id of a message: the same for every attempt, so that whoever receives it twice can tell. It
/// holds no full stop, for that divides what is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageId(String);

impl MessageId {
    /// The id of a uuid.
    #[must_use]
    pub fn from_uuid(uuid: Uuid) -> Self {
        Self(format!("msg_{}", uuid.simple()))
    }

    /// Its text.
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
    /// Whose systems of record count.
    pub tenant: TenantId,
    /// Where to.
    pub url: String,
    /// What is sent, over all attempts.
    pub id: MessageId,
    /// What time it is.
    pub now: Timestamp,
    /// What is sent, as JSON.
    pub body: Value,
    /// Longest time for all attempts.
    pub timeout: Duration,
}

/// A request that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    /// The HTTP status, 200 to 299.
    pub status: u16,
}

/// A request that was not taken, or of which nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DeliveryFailed {
    /// In which way.
    pub fault: DeliveryFault,
    /// What happened; no secrets.
    pub message: String,
}

/// In which way a request was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryFault {
    /// It was not sent, and will not be: nobody configured the address, or it is private.
    Forbidden,
    /// What it would change is not what it was made for (409).
    Conflict,
    /// It was turned down, or answered with another address.
    Refused,
    /// It was not taken this time, and may be later (no connection, 408, 429, 5xx).
    Unavailable,
    /// It was sent, and no answer came: it may have been carried out or not.
    Unknown,
}

/// Sends requests to systems of record.
#[async_trait]
pub trait Webhooks: Send + Sync {
    /// Sends one request, again after failures that may pass, under the same id.
    ///
    /// # Errors
    /// [`DeliveryFailed`], also for an address that nobody allowed.
    async fn deliver(
        &self,
        delivery: &Delivery,
        cancel: &CancellationToken,
    ) -> Result<Delivered, DeliveryFailed>;
}

/// Sends nothing: for programs that have no system of record.
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
