//! Calibrations in PostgreSQL.

use async_trait::async_trait;
use charter_store::StoreError;
use charter_store::calibration::{CalibrationRecord, Calibrations};

use super::PostgresStore;
use super::connection::RowScope;
use super::statement::{execute, params, row};
use crate::column;
use crate::row::field;

#[async_trait]
impl Calibrations for PostgresStore {
    async fn put_calibration(&self, calibration: &CalibrationRecord) -> Result<(), StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        execute(
            "writing a calibration",
            &client,
            "INSERT INTO calibration (model, at, body) VALUES ($1, $2, $3)
             ON CONFLICT (model) DO UPDATE SET at = excluded.at, body = excluded.body",
            params![
                calibration.model,
                column::micros(calibration.at),
                calibration.body
            ],
        )
        .await
        .map(|_| ())
    }

    async fn calibration(&self, model: &str) -> Result<Option<CalibrationRecord>, StoreError> {
        let client = self.client(RowScope::Everyone).await?;
        let sql = "SELECT body, at FROM calibration WHERE model = $1";
        row(
            "reading a calibration",
            &client,
            sql,
            params![model],
            |row| {
                Ok(CalibrationRecord {
                    model: model.to_owned(),
                    body: field(row, 0)?,
                    at: column::parse_micros(field(row, 1)?)?,
                })
            },
        )
        .await
    }
}
