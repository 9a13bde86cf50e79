//! Sending a proposal to a system of record: one signed request, in the form of the Standard Webhooks
//! specification. Must not know missions or policies.

use std::time::Duration;

use async_trait::async_trait;
use charter_contract::agentic::error::ErrorType;
use charter_contract::time::Timestamp;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A request to send.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// Where to.
    pub url: String,
    /// The same for every attempt: whoever receives it twice can tell.
    pub id: String,
    /// When it was made.
    pub at: Timestamp,
    /// What is sent, as JSON.
    pub body: Value,
    /// Longest time for the exchange.
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
    /// Which of the six kinds.
    pub kind: ErrorType,
    /// What happened; no secrets.
    pub message: String,
    /// Whether the same request may be taken later.
    pub retryable: bool,
}

/// Sends requests to systems of record.
#[async_trait]
pub trait Webhooks: Send + Sync {
    /// Sends one request. It may arrive although this fails; its id tells a repeat.
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
        Err(DeliveryFailed {
            kind: ErrorType::PermissionError,
            message: format!(
                "`{}` is no system of record of this server (`webhooks` in the configuration)",
                delivery.url
            ),
            retryable: false,
        })
    }
}
