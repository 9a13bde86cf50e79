//! Route examples: list and decide on confirmed sentences.

use axum::extract::State;
use charter_contract::ids::{DocumentId, RouteExampleId};
use charter_contract::page::PageRequest;
use charter_contract::route_example::ExampleStatus;
use charter_engine::{Caller, ExampleDecision, RouteExampleListing, RouteExampleShown};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, Path, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;

/// The default page size.
const PAGE: usize = 50;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// `suggested`, `accepted`, `rejected` or `withdrawn`; all when absent.
    #[param(value_type = Option<String>)]
    status: Option<ExampleStatus>,
    /// Only examples of this skill or playbook.
    document: Option<String>,
    /// The cursor: `next` of the previous page.
    after: Option<String>,
    /// Page size, 1 to 1000; 50 when absent.
    limit: Option<usize>,
}

/// List the tenant's route examples, newest first: redacted sentences with a confirmed route.
#[utoipa::path(get, path = "/v1/route/examples", tag = "routing", operation_id = "list_route_examples", params(ListQuery),
    responses((status = 200, description = "A page", body = ref("#/components/schemas/route_example_page"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Json<RouteExampleListing>, ApiError> {
    let document = asked.document.as_deref();
    let document: Option<DocumentId> = document.map(parsed).transpose()?;
    let page = PageRequest::new(asked.after, asked.limit.unwrap_or(PAGE));
    let found = state
        .engine
        .route_examples()
        .list(&caller, asked.status, document.as_ref(), &page)
        .await?;
    Ok(Json(found))
}

/// Accept a suggested example. The router uses it for the tenant's requests at once.
#[utoipa::path(post, path = "/v1/route/examples/{id}/accept", tag = "routing", operation_id = "accept_route_example",
    params(("id" = String, Path, description = "`rex-…`")),
    responses((status = 200, description = "The example", body = ref("#/components/schemas/route_example")), (status = 409, description = "The example is already decided, or its document has reached the limit of accepted examples", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn accept(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<RouteExampleShown>, ApiError> {
    decide(&state, &caller, &id, ExampleDecision::Accept).await
}

/// Reject a suggested example. The same sentence is not suggested for the document again.
#[utoipa::path(post, path = "/v1/route/examples/{id}/reject", tag = "routing", operation_id = "reject_route_example",
    params(("id" = String, Path, description = "`rex-…`")),
    responses((status = 200, description = "The example", body = ref("#/components/schemas/route_example")), (status = 409, description = "The example is already decided", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn reject(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<RouteExampleShown>, ApiError> {
    decide(&state, &caller, &id, ExampleDecision::Reject).await
}

/// Withdraw an accepted example. The router no longer uses it.
#[utoipa::path(post, path = "/v1/route/examples/{id}/withdraw", tag = "routing", operation_id = "withdraw_route_example",
    params(("id" = String, Path, description = "`rex-…`")),
    responses((status = 200, description = "The example", body = ref("#/components/schemas/route_example")), (status = 409, description = "The example is not accepted", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn withdraw(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(id): Path<String>,
) -> Result<Json<RouteExampleShown>, ApiError> {
    decide(&state, &caller, &id, ExampleDecision::Withdraw).await
}

async fn decide(
    state: &AppState,
    caller: &Caller,
    id: &str,
    decision: ExampleDecision,
) -> Result<Json<RouteExampleShown>, ApiError> {
    let id: RouteExampleId = parsed(id)?;
    let decided = state
        .engine
        .route_examples()
        .decide(caller, &id, decision)
        .await?;
    Ok(Json(decided))
}
