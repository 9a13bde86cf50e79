//! The evidence log over REST: signed heads, proofs, the public key, exports. The tenant is the
//! caller's; no path or parameter names one.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use charter_contract::ids::EvidenceId;
use charter_engine::{
    EngineError, EvidenceExport, EvidenceLogService, EvidenceProof, LogCheckpoint, LogConsistency,
    LogKey,
};
use futures_util::stream;
use serde::Deserialize;
use utoipa::IntoParams;

use super::evidence::{FindQuery, query};
use crate::error::{ApiError, log};
use crate::extract::{Authenticated, Path, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;

/// One JSON value on each line.
pub(super) const JSON_LINES: &str = "application/x-ndjson";

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ConsistencyQuery {
    /// Leaves of the smaller log.
    from: u64,
    /// Leaves of the larger log.
    to: u64,
}

/// Show the current signed head of the evidence log.
#[utoipa::path(get, path = "/v1/evidence/log/checkpoint", tag = "evidence", operation_id = "get_evidence_checkpoint",
    responses((status = 200, description = "Size, hash and the signed note (C2SP `tlog-checkpoint`)", body = ref("#/components/schemas/evidence_log_checkpoint"))))]
pub(crate) async fn checkpoint(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
) -> Result<Json<LogCheckpoint>, ApiError> {
    Ok(Json(state.engine.evidence_log().checkpoint(&caller).await?))
}

/// Prove that a record is in the evidence log.
#[utoipa::path(get, path = "/v1/evidence/log/proof/{id}", tag = "evidence", operation_id = "get_evidence_proof",
    params(("id" = String, Path, description = "`ev_…`")),
    responses((status = 200, description = "The record's leaves with inclusion proofs, and the checkpoint", body = ref("#/components/schemas/evidence_proof"))))]
pub(crate) async fn proof(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<EvidenceProof>, ApiError> {
    let id: EvidenceId = parsed(&id)?;
    Ok(Json(state.engine.evidence_log().proof(&caller, &id).await?))
}

/// Prove that the evidence log of one size is a prefix of that of another.
#[utoipa::path(get, path = "/v1/evidence/log/consistency", tag = "evidence", operation_id = "get_evidence_consistency_proof",
    params(ConsistencyQuery),
    responses((status = 200, description = "Both heads and the proof (RFC 9162 §2.1.4)", body = ref("#/components/schemas/evidence_log_consistency"))))]
pub(crate) async fn consistency(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ConsistencyQuery>,
) -> Result<Json<LogConsistency>, ApiError> {
    let proof = state
        .engine
        .evidence_log()
        .consistency(&caller, asked.from, asked.to)
        .await?;
    Ok(Json(proof))
}

/// Show the public key that signs the evidence log.
#[utoipa::path(get, path = "/v1/evidence/log/key", tag = "evidence", operation_id = "get_evidence_key",
    responses((status = 200, description = "The key in the form of C2SP `signed-note`", body = ref("#/components/schemas/evidence_log_key"))))]
pub(crate) async fn key(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
) -> Result<Json<LogKey>, ApiError> {
    Ok(Json(state.engine.evidence_log().key(&caller)?))
}

/// Export evidence with its proofs, as JSON lines: everything, or the matching records.
#[utoipa::path(get, path = "/v1/evidence/export", tag = "evidence", operation_id = "export_evidence", params(FindQuery),
    responses((status = 200, description = "A header, then one line for each leaf; see docs/reference/evidence.md", body = String, content_type = "application/x-ndjson")))]
pub(crate) async fn export(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<FindQuery>,
) -> Result<Response, ApiError> {
    let asked = query(&asked)?;
    let export = state.engine.evidence_log().export(&caller, asked).await?;
    let lines = stream::try_unfold((Arc::clone(state.engine.evidence_log()), export), next);
    Ok(([(CONTENT_TYPE, JSON_LINES)], Body::from_stream(lines)).into_response())
}

/// The next lines. A failure ends the stream early, which leaves the export visibly incomplete.
async fn next(
    (logs, mut export): (Arc<EvidenceLogService>, EvidenceExport),
) -> Result<Option<(String, (Arc<EvidenceLogService>, EvidenceExport))>, EngineError> {
    let lines = logs.next_lines(&mut export).await;
    let lines = lines.inspect_err(|error| log(error, &crate::error::new_request_id()))?;
    Ok(lines.map(|lines| (lines, (logs, export))))
}
