//! Calibrations.

use async_trait::async_trait;
use charter_store::StoreError;
use charter_store::calibration::{CalibrationRecord, Calibrations};

use crate::column;
use crate::row::field;
use crate::store::{RowScope, SqlEngine, SqlStore};
use crate::tx::params;

#[async_trait]
impl<E: SqlEngine> Calibrations for SqlStore<E> {
    async fn put_calibration(&self, calibration: &CalibrationRecord) -> Result<(), StoreError> {
        self.engine
            .execute(
                RowScope::Everyone,
                "writing a calibration",
                "INSERT INTO calibration (model, at, body) VALUES ($1, $2, $3)
                 ON CONFLICT (model) DO UPDATE SET at = excluded.at, body = excluded.body",
                params![
                    &calibration.model,
                    column::micros(calibration.at),
                    &calibration.body
                ],
            )
            .await
            .map(|_| ())
    }

    async fn calibration(&self, model: &str) -> Result<Option<CalibrationRecord>, StoreError> {
        self.engine
            .row(
                RowScope::Everyone,
                "reading a calibration",
                "SELECT model, body, at FROM calibration WHERE model = $1",
                params![model],
                |row| {
                    Ok(CalibrationRecord {
                        model: field(row, 0)?,
                        body: field(row, 1)?,
                        at: column::parse_micros(field(row, 2)?)?,
                    })
                },
            )
            .await
    }
}
