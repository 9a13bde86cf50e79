//! Time budget of work that cannot be interrupted, checked between its parts.

use std::time::{Duration, Instant};

use charter_contract::agentic::error::ErrorType;
use tokio_util::sync::CancellationToken;

use crate::outcome::Failure;

/// The timeout of one call, and its cancellation.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    timeout: Duration,
    deadline: Instant,
    cancel: CancellationToken,
}

impl Budget {
    pub(crate) fn new(timeout: Duration, cancel: CancellationToken) -> Self {
        Self {
            timeout,
            deadline: Instant::now() + timeout,
            cancel,
        }
    }

    /// Fails when the call should stop.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.cancel.is_cancelled() {
            return Err(Failure::cancelled());
        }
        if Instant::now() >= self.deadline {
            let message = format!("timed out after {} ms", self.timeout.as_millis());
            return Err(Failure::new(ErrorType::TimeoutError, message).retryable());
        }
        Ok(())
    }
}
