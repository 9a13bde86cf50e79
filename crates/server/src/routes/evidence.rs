//! Evidence: submitted, and read by id or filter; never changed, never deleted (B000-19).

use axum::extract::State;
use axum::http::StatusCode;
use charter_contract::catalogue::evidence::{Attachment, EvidenceRecord};
use charter_contract::catalogue::evidence_submission::EvidenceSubmission;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::EvidenceId;
use charter_contract::page::PageRequest;
use charter_engine::{EngineError, EvidencePage, EvidenceQuery};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody, Path, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;

/// The path of one record.
pub(crate) const RECORD: &str = "/v1/evidence/{id}";

/// The default page size.
const PAGE: usize = 50;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FindQuery {
    /// Only records of this type, e.g. `config_snapshot`.
    r#type: Option<String>,
    /// Only records from this system, e.g. `aws.ec2`.
    system: Option<String>,
    /// Only records attached to this finding.
    finding_id: Option<String>,
    /// Only records attached to this run.
    run_id: Option<String>,
    /// Only records attached to this report item.
    report_item_id: Option<String>,
    /// Only records attached to this plan.
    plan_id: Option<String>,
    /// Only records attached to this bundle.
    bundle_id: Option<String>,
    /// Only records captured at this time or later.
    captured_from: Option<String>,
    /// Only records captured before this time.
    captured_until: Option<String>,
    /// The cursor: `next` of the previous page.
    after: Option<String>,
    /// Page size, up to 1000; 50 when absent.
    limit: Option<usize>,
}

/// Find evidence by what it is attached to, type, system and time. Read a record for its payload and attachments.
#[utoipa::path(get, path = "/v1/evidence", tag = "evidence", operation_id = "list_evidence", params(FindQuery),
    responses((status = 200, description = "A page, by time of capture", body = ref("#/components/schemas/evidence_page"))))]
pub(crate) async fn find(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<FindQuery>,
) -> Result<Json<EvidencePage>, ApiError> {
    let query = query(&asked)?;
    let page = PageRequest::new(asked.after, asked.limit.unwrap_or(PAGE));
    let found = state.engine.evidence().list(&caller, query, &page).await?;
    Ok(Json(found))
}

/// Submit a record in the seed's form: `{"type": "pr_record", "captured_at": "…", "source": {"system": "github",
/// "native_id": "acme/shop/pull/12"}, "payload": {…}, "summary": "…", "attached_to": [{"run_id": "…"}]}`. The server makes
/// the links, from the clouds' consoles or the page that the operator declares for the system, and signs the time of
/// receipt and the submitter with the record.
#[utoipa::path(post, path = "/v1/evidence", tag = "evidence", operation_id = "submit_evidence",
    request_body = ref("#/components/schemas/evidence_submission"),
    responses((status = 201, description = "The record", body = ref("#/components/schemas/evidence")),
        (status = 400, description = "It violates its contract, or no page shows its source", body = ref("#/components/schemas/agent_error")),
        (status = 409, description = "The id was used before", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn submit(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    JsonBody(sent): JsonBody<EvidenceSubmission>,
) -> Result<(StatusCode, Json<EvidenceRecord>), ApiError> {
    let record = state.engine.evidence().submit(&caller, sent).await?;
    Ok((StatusCode::CREATED, Json(record)))
}

/// The query, without the page.
pub(super) fn query(asked: &FindQuery) -> Result<EvidenceQuery, ApiError> {
    let time = |text: &Option<String>| text.as_deref().map(parsed).transpose();
    Ok(EvidenceQuery {
        attached_to: attached_to(asked)?,
        evidence_type: asked.r#type.as_deref().map(parsed).transpose()?,
        system: asked.system.clone(),
        from: time(&asked.captured_from)?,
        until: time(&asked.captured_until)?,
    })
}

fn attached_to(asked: &FindQuery) -> Result<Option<Attachment>, EngineError> {
    let keys = [
        ("finding_id", &asked.finding_id),
        ("run_id", &asked.run_id),
        ("report_item_id", &asked.report_item_id),
        ("plan_id", &asked.plan_id),
        ("bundle_id", &asked.bundle_id),
    ];
    let mut given = keys
        .into_iter()
        .filter_map(|(key, id)| id.as_ref().map(|id| (key, id)));
    let Some((key, id)) = given.next() else {
        return Ok(None);
    };
    let refused = |message: String| EngineError::new(ErrorCode::InvalidRequest, message);
    if given.next().is_some() {
        return Err(refused("pass only one attachment".to_owned()));
    }
    serde_json::from_value(json!({key: id}))
        .map(Some)
        .map_err(|error| refused(format!("`{key}`: {error}")))
}

/// Show one record with all its attachments.
#[utoipa::path(get, path = "/v1/evidence/{id}", tag = "evidence", operation_id = "get_evidence",
    params(("id" = String, Path, description = "`ev_…`")),
    responses((status = 200, description = "The record", body = ref("#/components/schemas/evidence"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<EvidenceRecord>, ApiError> {
    let id: EvidenceId = parsed(&id)?;
    Ok(Json(state.engine.evidence().get(&caller, &id).await?))
}

/// Attach a record to one more target: `{"finding_id": "…"}`, or another key. The record stays as it was captured; the
/// log gets a link record.
#[utoipa::path(post, path = "/v1/evidence/{id}/attachments", tag = "evidence", operation_id = "attach_evidence",
    params(("id" = String, Path, description = "`ev_…`")), request_body = ref("#/components/schemas/evidence_attachment"),
    responses((status = 200, description = "The record with all its attachments", body = ref("#/components/schemas/evidence"))))]
pub(crate) async fn attach(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(attachment): JsonBody<Attachment>,
) -> Result<Json<EvidenceRecord>, ApiError> {
    let id: EvidenceId = parsed(&id)?;
    let attached = state
        .engine
        .evidence()
        .attach(&caller, &id, &attachment)
        .await?;
    Ok(Json(attached))
}
