//! Pending approvals, and decisions on them.

use std::collections::BTreeSet;

use axum::extract::State;
use charter_contract::ids::{ApprovalId, RunId, StepId};
use charter_contract::page::PageRequest;
use charter_engine::{
    Approval, ApprovalAnswer, ApprovalDecision, ApprovalEntry, ApprovalPage, ApprovalPreview,
    ListChoice, ReportedResult,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody, Path, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;

/// The default page size.
const PAGE: usize = 50;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// `pending`, `approved`, `rejected`, `consumed` or `lapsed`; every state when absent.
    state: Option<String>,
    /// Only approvals of this run.
    run_id: Option<String>,
    /// The cursor: `next` of the previous page.
    after: Option<String>,
    /// Page size, up to 1000; 50 when absent.
    limit: Option<usize>,
}

/// List approvals, newest first.
#[utoipa::path(get, path = "/v1/approvals", tag = "approvals", operation_id = "list_approvals", params(ListQuery),
    responses((status = 200, description = "A page", body = ref("#/components/schemas/approval_page"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Json<ApprovalPage>, ApiError> {
    let run: Option<RunId> = asked.run_id.as_deref().map(parsed).transpose()?;
    let page = PageRequest::new(asked.after, asked.limit.unwrap_or(PAGE));
    let found = state
        .engine
        .approvals()
        .list(&caller, asked.state.as_deref(), run.as_ref(), &page)
        .await?;
    Ok(Json(found))
}

/// Show an approval with the exact call that it is for.
#[utoipa::path(get, path = "/v1/approvals/{id}", tag = "approvals", operation_id = "get_approval",
    params(("id" = String, Path, description = "`apr-…`")),
    responses((status = 200, description = "The approval", body = ref("#/components/schemas/approval_entry"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<ApprovalEntry>, ApiError> {
    let id: ApprovalId = parsed(&id)?;
    Ok(Json(state.engine.approvals().get(&caller, &id).await?))
}

/// Preview the calls of a pending approval: the present state beside the state after.
///
/// The tool declares how: by a dry run, or by readonly tools. Each call is a run in your name. If a state is unknown,
/// `note` has the reason. A list has the preview of each call in `calls`; `note` has the number of those left out.
#[utoipa::path(post, path = "/v1/approvals/{id}/preview", tag = "approvals", operation_id = "preview_approval",
    params(("id" = String, Path, description = "`apr-…`")),
    responses((status = 200, description = "The preview", body = ref("#/components/schemas/approval_preview"))))]
pub(crate) async fn preview(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<ApprovalPreview>, ApiError> {
    let id: ApprovalId = parsed(&id)?;
    Ok(Json(state.engine.previews().preview(&caller, &id).await?))
}

/// A decision: the digest of the call that the person saw, and the reason.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecisionBody {
    digest: String,
    #[serde(default)]
    reason: Option<String>,
}

/// An approval: the digest of the call or list that the person saw, the reason, and the chosen calls of a list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApproveBody {
    digest: String,
    #[serde(default)]
    reason: Option<String>,
    /// The steps of a list whose calls are excluded.
    #[serde(default)]
    exclude: BTreeSet<StepId>,
    /// The number of calls that remain, as the person typed it; required for a destructive list.
    #[serde(default)]
    count: Option<u64>,
}

/// A report on an interrupted call: its digest as the person saw it, and its output.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResultReport {
    digest: String,
    #[serde(default)]
    reason: Option<String>,
    /// The output; `null` or absent if unknown.
    #[serde(default)]
    output: Value,
}

/// Approve exactly the call or list with this digest: `{"digest": "sha256:…", "reason": "…"}`. `exclude` names
/// steps of a list whose calls do not happen; `count` is the number of the others, which a destructive list requires.
#[utoipa::path(post, path = "/v1/approvals/{id}/approve", tag = "approvals", operation_id = "approve",
    params(("id" = String, Path, description = "`apr-…`")), request_body = ref("#/components/schemas/approval_choice"),
    responses((status = 200, description = "The approval; its run continues", body = ref("#/components/schemas/approval")), (status = 409, description = "It is already decided, has expired, or is for something else", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn approve(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(said): JsonBody<ApproveBody>,
) -> Result<Json<Approval>, ApiError> {
    let answer = ApprovalAnswer::ApproveListed(ListChoice {
        excluded: said.exclude,
        typed_count: said.count,
    });
    let seen = DecisionBody {
        digest: said.digest,
        reason: said.reason,
    };
    decide(&state, &caller, &id, seen, answer).await
}

/// Reject the call; its step fails.
#[utoipa::path(post, path = "/v1/approvals/{id}/reject", tag = "approvals", operation_id = "reject",
    params(("id" = String, Path, description = "`apr-…`")), request_body = ref("#/components/schemas/approval_decision"),
    responses((status = 200, description = "The approval", body = ref("#/components/schemas/approval"))))]
pub(crate) async fn reject(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(seen): JsonBody<DecisionBody>,
) -> Result<Json<Approval>, ApiError> {
    decide(&state, &caller, &id, seen, ApprovalAnswer::Reject).await
}

/// Report that an interrupted call did happen: `{"digest": "sha256:…", "reason": "…", "output": …}`. Its step succeeds
/// with the output, which is the tool's result, or `null`.
#[utoipa::path(post, path = "/v1/approvals/{id}/report", tag = "approvals", operation_id = "report_approval_result",
    params(("id" = String, Path, description = "`apr-…`")), request_body = ref("#/components/schemas/approval_report"),
    responses((status = 200, description = "The approval; its run continues", body = ref("#/components/schemas/approval")), (status = 409, description = "It is already decided, has expired, is for something else, or is not about an interrupted call", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn report(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
    JsonBody(told): JsonBody<ResultReport>,
) -> Result<Json<Approval>, ApiError> {
    let answer = ApprovalAnswer::Happened(ReportedResult {
        output: told.output,
    });
    let seen = DecisionBody {
        digest: told.digest,
        reason: told.reason,
    };
    decide(&state, &caller, &id, seen, answer).await
}

/// Hand a pending approval on to the next group of approvers, whose turn begins at once.
#[utoipa::path(post, path = "/v1/approvals/{id}/escalate", tag = "approvals", operation_id = "escalate_approval",
    params(("id" = String, Path, description = "`apr-…`")),
    responses((status = 200, description = "The approval", body = ref("#/components/schemas/approval")), (status = 409, description = "It is already decided, has expired, or no group follows", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn escalate(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<Approval>, ApiError> {
    let id: ApprovalId = parsed(&id)?;
    Ok(Json(state.engine.approvals().hand_on(&caller, &id).await?))
}

async fn decide(
    state: &AppState,
    caller: &charter_engine::Caller,
    id: &str,
    seen: DecisionBody,
    answer: ApprovalAnswer,
) -> Result<Json<Approval>, ApiError> {
    let id: ApprovalId = parsed(id)?;
    let say = ApprovalDecision {
        answer,
        digest: seen.digest,
        reason: seen.reason,
    };
    Ok(Json(
        state.engine.approvals().decide(caller, &id, say).await?,
    ))
}
