//! Requests.

use charter_contract::ids::RequestId;
use charter_store::StoreError;
use charter_store::request::RequestRecord;

use crate::column;
use crate::row::{Columns, field};

pub(crate) const COLUMNS: &str = "tenant_id, request_id, asked, verdict, answer, created_at, updated_at, user_id, \
     run_id, result";

/// The condition for a request whose run has ended and that has no result.
pub(crate) const OF_ENDED_RUN: &str = "run_id IS NOT NULL AND result IS NULL AND EXISTS (
     SELECT 1 FROM run WHERE run.tenant_id = request.tenant_id AND run.run_id = request.run_id
     AND run.phase = 'finished')";

pub(crate) fn record(row: &dyn Columns) -> Result<RequestRecord, StoreError> {
    Ok(RequestRecord {
        tenant_id: column::parse("request", &field::<String>(row, 0)?)?,
        request_id: column::parse("request", &field::<String>(row, 1)?)?,
        asked: field(row, 2)?,
        verdict: field(row, 3)?,
        answer: field(row, 4)?,
        created_at: column::parse_micros(field(row, 5)?)?,
        updated_at: column::parse_micros(field(row, 6)?)?,
        user_id: column::parse("request", &field::<String>(row, 7)?)?,
        run_id: field::<Option<String>>(row, 8)?
            .map(|run| column::parse("request", &run))
            .transpose()?,
        result: field(row, 9)?,
    })
}

pub(crate) fn taken(what: &'static str, request: &RequestId) -> StoreError {
    StoreError::AlreadyExists {
        what,
        id: request.to_string(),
    }
}

/// Explains why a result was not recorded; `awaits` is set for a request that awaits a run.
pub(crate) fn no_result(awaits: Option<()>, request: &RequestId) -> StoreError {
    match awaits {
        Some(()) => taken("result", request),
        None => StoreError::NotFound {
            what: "request",
            id: request.to_string(),
        },
    }
}

/// Sorts the result of a change into the order of selection.
pub(crate) fn oldest_first(requests: &mut [RequestRecord]) {
    requests.sort_by(|a, b| {
        let key = |request: &RequestRecord| {
            (
                request.created_at,
                request.tenant_id.clone(),
                request.request_id.clone(),
            )
        };
        key(a).cmp(&key(b))
    });
}
