//! Route examples.

use charter_contract::ids::{RouteExampleId, TenantId};
use charter_contract::route_example::ExampleStatus;
use charter_store::StoreError;
use charter_store::page::PageRequest;
use charter_store::route_example::{
    ExampleFilter, ExampleMove, OwnerDecision, RouteExampleRecord, Suggested,
};

use super::asked::{StatementBuilder, Value};
use crate::column::{self, Cursor};
use crate::row::{Columns, field};

/// The columns of [`record`].
pub(crate) const RECORD: &str = "tenant_id, example_id, kind, document, text, words, source, request_id, status, \
     suggested_at, decided_at, decided_by";

pub(crate) fn record(row: &dyn Columns) -> Result<RouteExampleRecord, StoreError> {
    let request: Option<&str> = field(row, 7)?;
    let (at, by): (Option<i64>, Option<&str>) = (field(row, 10)?, field(row, 11)?);
    let decided = match (at, by) {
        (Some(at), Some(by)) => Some(OwnerDecision {
            by: column::parse("user id", by)?,
            at: column::parse_micros(at)?,
        }),
        (None, _) | (_, None) => None,
    };
    Ok(RouteExampleRecord {
        tenant_id: column::parse("tenant id", field(row, 0)?)?,
        example_id: column::parse("route example id", field(row, 1)?)?,
        kind: column::parse("kind of a route example", field(row, 2)?)?,
        document: column::parse("document of a route example", field(row, 3)?)?,
        text: field(row, 4)?,
        words: field(row, 5)?,
        source: column::parse("source of a route example", field(row, 6)?)?,
        request_id: request
            .map(|id| column::parse("request id", id))
            .transpose()?,
        status: column::parse("status of a route example", field(row, 8)?)?,
        suggested_at: column::parse_micros(field(row, 9)?)?,
        decided,
    })
}

/// Builds the statement of a listing; `mark` is the dialect's placeholder prefix.
pub(crate) fn listing(
    mark: char,
    tenant: &TenantId,
    filter: ExampleFilter<'_>,
    page: &PageRequest,
) -> Result<(String, Vec<Value>), StoreError> {
    let text = |text: &str| Value::Text(text.to_owned());
    let mut asked = StatementBuilder::new(
        format!("SELECT {RECORD} FROM route_example WHERE true"),
        mark,
    );
    asked.and("tenant_id = ?", [text(tenant.as_str())]);
    if let Some(status) = filter.status {
        asked.and("status = ?", [text(status.as_str())]);
    }
    if let Some(document) = filter.document {
        asked.and("document = ?", [text(document.as_str())]);
    }
    let (at, id) = column::after(page)?;
    let before = [Value::Integer(at), Value::Text(id)];
    asked.and("(suggested_at, example_id) < (?, ?)", before);
    let most = Value::Integer(column::limit(page.limit() + 1));
    let order = " ORDER BY suggested_at DESC, example_id DESC LIMIT ?";
    asked.push(order, [most]);
    Ok(asked.whole())
}

/// Returns the cursor of an example in a listing.
pub(crate) fn place(example: &RouteExampleRecord) -> Cursor {
    Cursor {
        at: column::micros(example.suggested_at),
        id: example.example_id.to_string(),
    }
}

/// Reads whether the document's and the tenant's limits are reached.
pub(crate) fn full(row: &dyn Columns) -> Result<Option<Suggested>, StoreError> {
    let (document, tenant): (bool, bool) = (field(row, 0)?, field(row, 1)?);
    Ok(match (document, tenant) {
        (true, _) => Some(Suggested::DocumentFull),
        (false, true) => Some(Suggested::TenantFull),
        (false, false) => None,
    })
}

/// Whether a transition changes the routing index.
pub(crate) fn changes_routing(step: &ExampleMove) -> bool {
    [step.from, step.to].contains(&ExampleStatus::Accepted)
}

pub(crate) fn unknown(example: &RouteExampleId) -> StoreError {
    StoreError::NotFound {
        what: "route example",
        id: example.to_string(),
    }
}

/// Returns the refusal of a transition from another status.
pub(crate) fn elsewhere(found: &RouteExampleRecord) -> StoreError {
    StoreError::Refused {
        what: "route example",
        id: found.example_id.to_string(),
        detail: format!("it is {}", found.status),
    }
}
