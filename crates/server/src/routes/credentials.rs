//! The credentials that tools act with, and the caller's connected accounts. No answer has a secret; the address of an
//! authorization server has the state of a connection, so it must not be cached.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, HeaderName};
use charter_contract::ids::{Label, UserId};
use charter_contract::page::PageRequest;
use charter_engine::{
    AccountPage, ConnectionCode, ConnectionOrder, ConnectionStart, CredentialView,
};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody, Path, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;

/// The default page size.
const PAGE: usize = 50;

/// An answer that must not be cached.
type UncachedStart = ([(HeaderName, &'static str); 1], Json<ConnectionStart>);

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AccountQuery {
    /// The cursor: `next` of the previous page.
    after: Option<String>,
    /// Page size, up to 1000; 50 when absent.
    limit: Option<usize>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DisconnectQuery {
    /// The user whose account it is; the caller when absent. Another user's needs an admin.
    user: Option<String>,
}

/// List the credentials of the tenant, with the state of the caller's own accounts.
#[utoipa::path(get, path = "/v1/credentials", tag = "credentials", operation_id = "list_credentials",
    responses((status = 200, description = "The credentials", body = ref("#/components/schemas/credential_list"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
) -> Result<Json<Vec<CredentialView>>, ApiError> {
    Ok(Json(state.engine.credentials().list(&caller).await?))
}

/// Show a credential, with the state of the caller's own account.
#[utoipa::path(get, path = "/v1/credentials/{name}", tag = "credentials", operation_id = "get_credential",
    params(("name" = String, Path, description = "Name of the credential")),
    responses((status = 200, description = "The credential", body = ref("#/components/schemas/credential"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(name): Path<String>,
) -> Result<Json<CredentialView>, ApiError> {
    let name: Label = parsed(&name)?;
    Ok(Json(state.engine.credentials().get(&caller, &name).await?))
}

/// Start to connect the caller's account: open `authorization_url` in a browser, grant access, and send the parameters
/// of the redirect to `complete`. With `{"redirect_uri": "http://127.0.0.1:8123/"}` the browser comes back to the
/// caller's own machine, otherwise to the console.
#[utoipa::path(post, path = "/v1/credentials/{name}/connect", tag = "credentials", operation_id = "connect_credential",
    params(("name" = String, Path, description = "Name of the credential")), request_body = ref("#/components/schemas/connection_request"),
    responses((status = 200, description = "The page on which the user grants access", body = ref("#/components/schemas/connection_start"))))]
pub(crate) async fn connect(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(name): Path<String>,
    JsonBody(order): JsonBody<ConnectionOrder>,
) -> Result<UncachedStart, ApiError> {
    let name: Label = parsed(&name)?;
    let started = state.engine.credentials().connect(&caller, &name, order);
    Ok(([(CACHE_CONTROL, "no-store")], Json(started.await?)))
}

/// Complete the connection of an account with `code`, `state` and `iss` of the redirect. Only the user who started the
/// connection can complete it.
#[utoipa::path(post, path = "/v1/credentials/{name}/complete", tag = "credentials", operation_id = "complete_credential",
    params(("name" = String, Path, description = "Name of the credential")), request_body = ref("#/components/schemas/connection_code"),
    responses((status = 200, description = "The connected credential", body = ref("#/components/schemas/credential"))))]
pub(crate) async fn complete(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(name): Path<String>,
    JsonBody(code): JsonBody<ConnectionCode>,
) -> Result<Json<CredentialView>, ApiError> {
    let name: Label = parsed(&name)?;
    let completed = state.engine.credentials().complete(&caller, &name, code);
    Ok(Json(completed.await?))
}

/// List the users who connected an account, newest first; for admins.
#[utoipa::path(get, path = "/v1/credentials/{name}/accounts", tag = "credentials", operation_id = "list_credential_accounts",
    params(("name" = String, Path, description = "Name of the credential"), AccountQuery),
    responses((status = 200, description = "A page", body = ref("#/components/schemas/account_page"))))]
pub(crate) async fn accounts(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(name): Path<String>,
    QueryParams(asked): QueryParams<AccountQuery>,
) -> Result<Json<AccountPage>, ApiError> {
    let name: Label = parsed(&name)?;
    let page = PageRequest::new(asked.after, asked.limit.unwrap_or(PAGE));
    let accounts = state.engine.credentials().accounts(&caller, &name, &page);
    Ok(Json(accounts.await?))
}

/// Disconnect an account: its tokens are deleted here, and revoked at their server. Without an account, nothing
/// happens.
#[utoipa::path(delete, path = "/v1/credentials/{name}/account", tag = "credentials", operation_id = "disconnect_credential",
    params(("name" = String, Path, description = "Name of the credential"), DisconnectQuery),
    responses((status = 200, description = "The credential, with the state of the caller's own account", body = ref("#/components/schemas/credential"))))]
pub(crate) async fn disconnect(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(name): Path<String>,
    QueryParams(asked): QueryParams<DisconnectQuery>,
) -> Result<Json<CredentialView>, ApiError> {
    let name: Label = parsed(&name)?;
    let user: Option<UserId> = asked.user.as_deref().map(parsed).transpose()?;
    let view = state.engine.credentials();
    let view = view.disconnect(&caller, &name, user.as_ref());
    Ok(Json(view.await?))
}
