//! Resources: evidence records, read by exact id.

use charter_contract::ids::EvidenceId;
use charter_engine::{EngineError, EvidenceQuery};
use charter_store::page::PageRequest;
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};

use super::call::Call;
use super::failure::protocol_error;

/// What the addresses of evidence begin with.
pub(super) const EVIDENCE: &str = "evidence://";

/// The form of evidence.
const JSON: &str = "application/json";

/// Resources of a page.
const PAGE: usize = 100;

/// A page of the tenant's evidence, by capture time.
pub(super) async fn list(
    call: &Call,
    after: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    let page = PageRequest::new(after, PAGE);
    let found = call
        .engine()
        .find_evidence(&call.caller, EvidenceQuery::default(), &page)
        .await
        .map_err(|error| protocol_error(&error))?;
    let entries = found.entries.iter().map(|record| {
        let id = record.id.as_ref();
        Resource::new(format!("{EVIDENCE}{id}"), id)
            .with_description(record.summary.to_string())
            .with_mime_type(JSON)
    });
    let mut listed = ListResourcesResult::with_all_items(entries.collect());
    listed.next_cursor = found.next;
    Ok(listed)
}

/// What may be read besides what is listed.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let evidence = ResourceTemplate::new(format!("{EVIDENCE}{{evidence_id}}"), "evidence")
        .with_title("Evidence")
        .with_description("The immutable record of one tool result, which findings rest on.")
        .with_mime_type(JSON);
    ListResourceTemplatesResult::with_all_items(vec![evidence])
}

/// One resource, exactly.
pub(super) async fn read(call: &Call, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let text = match uri.strip_prefix(EVIDENCE) {
        Some(id) => evidence(call, uri, id).await,
        None => Err(absent(uri)),
    };
    let text = text.map_err(|error| with_uri(protocol_error(&error), uri))?;
    let contents = ResourceContents::text(text, uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![contents]))
}

async fn evidence(call: &Call, uri: &str, id: &str) -> Result<String, EngineError> {
    let id = EvidenceId::parse(id).map_err(|_| absent(uri))?;
    let record = call.engine().evidence(&call.caller, &id).await?;
    serde_json::to_string_pretty(&record)
        .map_err(|error| EngineError::internal("writing an evidence record", error))
}

fn absent(uri: &str) -> EngineError {
    EngineError::not_found("resource", uri)
}

/// The address that was asked for, which the protocol wants in a refusal.
fn with_uri(mut error: ErrorData, uri: &str) -> ErrorData {
    if let Some(serde_json::Value::Object(data)) = &mut error.data {
        data.insert("uri".to_owned(), uri.into());
    }
    error
}
