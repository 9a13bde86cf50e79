//! Calibrations in SQLite.

use async_trait::async_trait;
use charter_store::StoreError;
use charter_store::calibration::{CalibrationRecord, Calibrations};
use rusqlite::params;

use super::SqliteStore;
use super::statement::{execute, row};
use crate::column;
use crate::row::field;

#[async_trait]
impl Calibrations for SqliteStore {
    async fn put_calibration(&self, calibration: &CalibrationRecord) -> Result<(), StoreError> {
        let calibration = calibration.clone();
        self.write(move |connection| {
            execute(
                "writing a calibration",
                connection,
                "INSERT INTO calibration (model, at, body) VALUES (?1, ?2, ?3)
                 ON CONFLICT (model) DO UPDATE SET at = excluded.at, body = excluded.body",
                params![
                    calibration.model,
                    column::micros(calibration.at),
                    calibration.body
                ],
            )
            .map(|_| ())
        })
        .await
    }

    async fn calibration(&self, model: &str) -> Result<Option<CalibrationRecord>, StoreError> {
        let model = model.to_owned();
        self.read(move |connection| {
            row(
                "reading a calibration",
                connection,
                "SELECT body, at FROM calibration WHERE model = ?1",
                [&model],
                |row| {
                    Ok(CalibrationRecord {
                        model: model.clone(),
                        body: field(row, 0)?,
                        at: column::parse_micros(field(row, 1)?)?,
                    })
                },
            )
        })
        .await
    }
}
