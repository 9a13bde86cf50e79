//! Reads runs and journals.

use charter_contract::ids::{RunId, TenantId};
use charter_contract::run_status::RunStatus;
use charter_store::StoreError;
use charter_store::journal::{EventHash, JournalEvent, RunRecord};

use super::READING;
use crate::column;
use crate::row::{Columns, field};
use crate::tx::{Tx, params, row, rows_within};

/// The columns of [`record`].
pub(crate) const RECORD: &str =
    "run_id, tenant_id, title, phase, version, created_at, updated_at, status, wake_at, user_id";

/// Reads [`RECORD`].
pub(crate) fn record(row: &dyn Columns) -> Result<RunRecord, StoreError> {
    let run: &str = field(row, 0)?;
    let wake_at: Option<i64> = field(row, 8)?;
    Ok(RunRecord {
        run_id: column::parse("run id", run)?,
        tenant_id: column::parse("tenant id", field(row, 1)?)?,
        title: field(row, 2)?,
        phase: column::parse_phase(field(row, 3)?)?,
        version: column::parse_integer("run version", field(row, 4)?)?,
        created_at: column::parse_micros(field(row, 5)?)?,
        updated_at: column::parse_micros(field(row, 6)?)?,
        status: parse_status(run, field(row, 7)?)?,
        wake_at: wake_at.map(column::parse_micros).transpose()?,
        user_id: column::parse_user(field(row, 9)?)?,
    })
}

/// The status of a run. The error names the run and the word.
fn parse_status(run: &str, word: &str) -> Result<RunStatus, StoreError> {
    word.parse::<RunStatus>()
        .map_err(|unknown| StoreError::Corrupt {
            what: "run",
            id: run.to_owned(),
            detail: format!("its status: {unknown}"),
        })
}

/// Reads `sequence, hash, at, payload`.
fn event(row: &dyn Columns) -> Result<JournalEvent, StoreError> {
    Ok(JournalEvent {
        sequence: column::parse_integer("event sequence", field(row, 0)?)?,
        hash: EventHash(column::parse_hash("event hash", field(row, 1)?)?),
        at: column::parse_micros(field(row, 2)?)?,
        payload: field(row, 3)?,
    })
}

/// Reads a tenant's run.
pub(crate) async fn one(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    run: &RunId,
) -> Result<Option<RunRecord>, StoreError> {
    let sql = format!("SELECT {RECORD} FROM run WHERE tenant_id = $1 AND run_id = $2");
    let values = params![tenant.as_str(), run.as_str()];
    row(READING, tx, &sql, values, record).await
}

/// Reads the events after `after`, at most `limit`, on a page of large entries.
pub(crate) async fn events(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    run: &RunId,
    after: u64,
    limit: usize,
) -> Result<Vec<JournalEvent>, StoreError> {
    let listed = rows_within(
        "reading a journal",
        tx,
        "SELECT sequence, hash, at, payload FROM journal_event
         WHERE tenant_id = $1 AND run_id = $2 AND sequence > $3 ORDER BY sequence LIMIT $4",
        params![
            tenant.as_str(),
            run.as_str(),
            column::integer("event sequence", after)?,
            column::limit(limit)
        ],
        event,
    )
    .await?;
    Ok(listed.rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row with a status that this version does not know is an error that names the run and the word.
    #[test]
    fn an_unknown_status_is_refused_with_the_word_and_the_run() {
        for status in RunStatus::ALL {
            assert_eq!(parse_status("run-1", status.as_str()).unwrap(), *status);
        }
        for word in ["", "Working", "hibernating"] {
            let refused = parse_status("run-1", word).unwrap_err();
            let message = refused.to_string();
            let expected =
                format!("run `run-1` is damaged: its status: `{word}` is not a RunStatus: ");
            assert!(message.starts_with(&expected), "{message}");
        }
    }
}
