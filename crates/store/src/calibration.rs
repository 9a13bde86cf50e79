//! Routing weights and thresholds, stored with the model that they were fitted for.

use async_trait::async_trait;
use charter_contract::time::Timestamp;

use crate::StoreError;

/// A stored calibration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalibrationRecord {
    /// Identity of the embedding model, with its quantisation.
    pub model: String,
    /// The settings, as JSON.
    pub body: String,
    /// When it was fitted.
    pub at: Timestamp,
}

/// Calibrations.
#[async_trait]
pub trait Calibrations {
    /// Stores the calibration of a model, and replaces an earlier one.
    async fn put_calibration(&self, calibration: &CalibrationRecord) -> Result<(), StoreError>;

    /// Returns the calibration of a model.
    async fn calibration(&self, model: &str) -> Result<Option<CalibrationRecord>, StoreError>;
}
