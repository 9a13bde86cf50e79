//! Packages: listed, checked, compared and put in force.

use axum::extract::State;
use axum::http::StatusCode;
use charter_contract::ids::PackageName;
use charter_contract::package::{PackageBundle, PackageScope};
use charter_engine::{
    Mode, PackageDiff, PackageReport, PackageVersionDiff, PackageView, RegistrationReport,
    VersionRange,
};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, Path, QueryParams, ScopeQuery, Valid, parsed};
use crate::json::Json;
use crate::state::AppState;

/// List the packages in force.
#[utoipa::path(get, path = "/v1/packages", tag = "packages", operation_id = "list_packages",
    responses((status = 200, description = "The tenant's packages, then the global ones", body = ref("#/components/schemas/package_list"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
) -> Result<Json<Vec<PackageView>>, ApiError> {
    Ok(Json(state.engine.packages().list(&caller).await?))
}

/// Check a package without writing anything.
#[utoipa::path(post, path = "/v1/packages/validate", tag = "packages", operation_id = "validate_package",
    request_body = ref("#/components/schemas/package_bundle"),
    responses((status = 200, description = "All problems", body = ref("#/components/schemas/package_report"))))]
pub(crate) async fn validate(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Valid(bundle): Valid<PackageBundle>,
) -> Result<Json<PackageReport>, ApiError> {
    Ok(Json(
        state.engine.packages().validate(&caller, bundle).await?,
    ))
}

/// Compare a package with its version in force.
#[utoipa::path(post, path = "/v1/packages/diff", tag = "packages", operation_id = "diff_package",
    request_body = ref("#/components/schemas/package_bundle"),
    responses((status = 200, description = "The difference", body = ref("#/components/schemas/package_diff"))))]
pub(crate) async fn diff(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Valid(bundle): Valid<PackageBundle>,
) -> Result<Json<PackageDiff>, ApiError> {
    Ok(Json(state.engine.packages().diff(&caller, bundle).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RegisterQuery {
    /// Report what would happen, and write nothing.
    #[serde(default)]
    dry_run: bool,
    /// Put it in force as the manifest's version with `+draft.` and a part of the content's hash, so that different
    /// content of the same version is accepted.
    #[serde(default)]
    draft: bool,
}

/// Put a package in force.
#[utoipa::path(post, path = "/v1/packages", tag = "packages", operation_id = "register_package",
    params(RegisterQuery), request_body = ref("#/components/schemas/package_bundle"),
    responses((status = 200, description = "Unchanged, or a dry run", body = ref("#/components/schemas/registration_report")), (status = 201, description = "In force", body = ref("#/components/schemas/registration_report")),
        (status = 400, description = "All problems", body = ref("#/components/schemas/agent_error")), (status = 409, description = "Registered with other content", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn register(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<RegisterQuery>,
    Valid(bundle): Valid<PackageBundle>,
) -> Result<(StatusCode, Json<RegistrationReport>), ApiError> {
    let mode = match asked {
        RegisterQuery { dry_run: true, .. } => Mode::DryRun,
        RegisterQuery { draft: true, .. } => Mode::Draft,
        RegisterQuery { .. } => Mode::Apply,
    };
    let registered = state
        .engine
        .packages()
        .register(&caller, bundle, mode)
        .await?;
    let status = if registered.unchanged {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    Ok((status, Json(registered)))
}

/// Show the history of a package.
#[utoipa::path(get, path = "/v1/packages/{name}/history", tag = "packages", operation_id = "list_package_history",
    params(("name" = String, Path, description = "The package"), ScopeQuery),
    responses((status = 200, description = "Oldest first", body = ref("#/components/schemas/package_list"))))]
pub(crate) async fn history(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(name): Path<String>,
    QueryParams(asked): QueryParams<ScopeQuery>,
) -> Result<Json<Vec<PackageView>>, ApiError> {
    let name: PackageName = parsed(&name)?;
    let history = state
        .engine
        .packages()
        .history(&caller, asked.scope(), &name)
        .await?;
    Ok(Json(history))
}

/// The default page size of changes.
const PAGE: usize = 100;

/// The largest page of changes.
const MAX_PAGE: usize = 1_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct VersionsQuery {
    /// The earlier version; when absent, the last one before `to` with another number.
    from: Option<String>,
    /// The later version; the last one when absent.
    to: Option<String>,
    /// `tenant` (the default) or `global`.
    #[param(value_type = Option<String>)]
    scope: Option<PackageScope>,
    /// The cursor: `next` of the previous page.
    after: Option<String>,
    /// Page size, up to 1000 changes; 100 when absent.
    limit: Option<usize>,
}

/// Compare two versions of a package as they were registered, with each changed document before and after.
#[utoipa::path(get, path = "/v1/packages/{name}/diff", tag = "packages", operation_id = "diff_package_versions",
    params(("name" = String, Path, description = "The package"), VersionsQuery),
    responses((status = 200, description = "A page of changes, by kind and id", body = ref("#/components/schemas/package_version_diff"))))]
pub(crate) async fn versions(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(name): Path<String>,
    QueryParams(asked): QueryParams<VersionsQuery>,
) -> Result<Json<PackageVersionDiff>, ApiError> {
    let name: PackageName = parsed(&name)?;
    let scope = asked.scope.unwrap_or(PackageScope::Tenant);
    let wanted = VersionRange {
        from: asked.from,
        to: asked.to,
        after: asked.after,
        limit: asked.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE),
    };
    let diff = state
        .engine
        .packages()
        .diff_versions(&caller, scope, &name, wanted)
        .await?;
    Ok(Json(diff))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RollbackQuery {
    /// The version to put in force again.
    version: String,
    /// `tenant` (the default) or `global`.
    #[param(value_type = Option<String>)]
    scope: Option<PackageScope>,
}

/// Put an earlier version in force again.
#[utoipa::path(post, path = "/v1/packages/{name}/rollback", tag = "packages", operation_id = "rollback_package",
    params(("name" = String, Path, description = "The package"), RollbackQuery),
    responses((status = 200, description = "In force again", body = ref("#/components/schemas/registration_report"))))]
pub(crate) async fn rollback(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(name): Path<String>,
    QueryParams(asked): QueryParams<RollbackQuery>,
) -> Result<Json<RegistrationReport>, ApiError> {
    let name: PackageName = parsed(&name)?;
    let scope = asked.scope.unwrap_or(PackageScope::Tenant);
    let registered = state
        .engine
        .packages()
        .roll_back(&caller, scope, &name, &asked.version)
        .await?;
    Ok(Json(registered))
}

/// Take a package out of force.
#[utoipa::path(delete, path = "/v1/packages/{name}", tag = "packages", operation_id = "unregister_package",
    params(("name" = String, Path, description = "The package"), ScopeQuery),
    responses((status = 204, description = "Out of force"), (status = 409, description = "Other packages need it", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn unregister(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(name): Path<String>,
    QueryParams(asked): QueryParams<ScopeQuery>,
) -> Result<StatusCode, ApiError> {
    let name: PackageName = parsed(&name)?;
    state
        .engine
        .packages()
        .unregister(&caller, asked.scope(), &name)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
