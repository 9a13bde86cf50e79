//! The routes, one noun per file.

mod agent_skill_files;
mod agent_skills;
mod answers;
mod approvals;
mod assignments;
mod bodies;
mod caller;
mod candidates;
mod catalogue;
mod console;
mod console_sessions;
mod credentials;
mod documents;
mod events;
mod evidence;
mod evidence_log;
mod executor;
mod gate;
mod graph;
mod health;
mod keys;
mod lenses;
mod memories;
mod missions;
mod notifications;
mod packages;
mod pages;
mod plans;
mod playbooks;
mod requests;
mod resolve;
mod route;
mod route_examples;
mod run_contents;
mod runs;
mod schedules;
mod schemas;
mod sessions;
mod tags;
mod tools;

pub(crate) use answers::schemas as answer_schemas;
pub(crate) use bodies::schemas as body_schemas;
pub(crate) use events::{JOURNAL, STATE, STATUS};

use axum::Router;
use axum::extract::{MatchedPath, State};
use axum::http::{Method, Uri};
use axum::routing::get;
use charter_contract::error_code::ErrorCode;
use charter_engine::EngineError;
use serde_json::json;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::{ALLOW, ApiError};
use crate::state::AppState;

pub(crate) use agent_skills::{ONE_SKILL, taken_paths};

/// Where components of the OpenAPI document are.
pub(crate) const COMPONENTS: &str = "#/components/schemas/";

/// The API under `/v1` and the A2A protocol, with their description. The address of the OpenAPI document is not among
/// them, because the document is made of them.
pub(crate) fn api() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(catalogue())
        .merge(work())
        .merge(missions())
        .merge(schedules())
        .merge(knowledge())
        .merge(skills())
        .merge(proof())
        .merge(administration())
        .routes(routes!(schemas::list))
        .routes(routes!(schemas::show))
        .merge(crate::a2a::routes())
}

/// The catalogue, and which of its documents apply.
fn catalogue() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(route::route))
        .routes(routes!(route_examples::list))
        .routes(routes!(route_examples::accept))
        .routes(routes!(route_examples::reject))
        .routes(routes!(route_examples::withdraw))
        .routes(routes!(resolve::guardrails))
        .routes(routes!(resolve::template))
        .routes(routes!(resolve::skill))
        .routes(routes!(resolve::playbook))
        .routes(routes!(resolve::agent))
        .routes(routes!(resolve::tool))
        .routes(routes!(resolve::tools))
        .routes(routes!(resolve::mission_type))
        .routes(routes!(resolve::prompt_template))
        .routes(routes!(resolve::policies))
        .routes(routes!(gate::explain))
        .routes(routes!(catalogue::list))
        .routes(routes!(catalogue::show))
        .routes(routes!(documents::show))
        .routes(routes!(documents::dependencies))
        .routes(routes!(packages::list))
        .routes(routes!(packages::validate))
        .routes(routes!(packages::diff))
        .routes(routes!(packages::register))
        .routes(routes!(packages::history))
        .routes(routes!(packages::versions))
        .routes(routes!(packages::rollback))
        .routes(routes!(packages::unregister))
        .routes(routes!(candidates::promote))
        .routes(routes!(tools::register))
        .routes(routes!(tools::show, tools::delete))
        .routes(routes!(tools::invoke))
}

/// Requests, runs and approvals.
fn work() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(requests::list, requests::ask))
        .routes(routes!(requests::show))
        .routes(routes!(requests::confirm))
        .routes(routes!(tags::put_tags))
        .routes(routes!(tags::get))
        .routes(routes!(sessions::open))
        .routes(routes!(sessions::show))
        .routes(routes!(runs::list))
        .routes(routes!(plans::start))
        .routes(routes!(runs::show))
        .routes(routes!(runs::show_at))
        .routes(routes!(run_contents::show))
        .routes(routes!(runs::events))
        .routes(routes!(runs::replay))
        .routes(routes!(runs::give))
        .routes(routes!(runs::confirm))
        .routes(routes!(runs::pause))
        .routes(routes!(runs::resume))
        .routes(routes!(runs::abort))
        .routes(routes!(runs::roll_back))
        .routes(routes!(playbooks::start))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::show))
        .routes(routes!(approvals::preview))
        .routes(routes!(approvals::escalate))
        .routes(routes!(approvals::approve))
        .routes(routes!(approvals::reject))
        .routes(routes!(approvals::report))
        .routes(routes!(events::events))
        .routes(routes!(executor::lease))
        .routes(routes!(executor::renew))
        .routes(routes!(executor::files))
        .routes(routes!(executor::report))
}

/// Missions.
fn missions() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(missions::start, missions::list))
        .routes(routes!(missions::import))
        .routes(routes!(missions::show))
        .routes(routes!(missions::artifacts))
        .routes(routes!(missions::artifact))
        .routes(routes!(missions::events))
        .routes(routes!(missions::cancel))
        .routes(routes!(missions::replay))
        .routes(routes!(missions::bundle))
        .routes(routes!(missions::diff))
        .routes(routes!(assignments::list))
        .routes(routes!(assignments::show))
        .routes(routes!(assignments::claim))
        .routes(routes!(assignments::submit))
        .routes(routes!(assignments::release))
}

/// Schedules, triggers and their webhooks.
fn schedules() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(schedules::enable, schedules::list))
        .routes(routes!(schedules::show, schedules::remove))
        .routes(routes!(schedules::pause))
        .routes(routes!(schedules::resume))
        .routes(routes!(schedules::start))
        .routes(routes!(schedules::occurrences))
        .routes(routes!(schedules::occurrence))
        .routes(routes!(schedules::report))
        .routes(routes!(schedules::receive))
}

/// Knowledge: lenses, the expert graph, memories.
fn knowledge() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(graph::query))
        .routes(routes!(memories::add, memories::list))
        .routes(routes!(memories::find))
        .routes(routes!(memories::show, memories::remove))
        .routes(routes!(memories::history))
        .routes(routes!(memories::related))
        .routes(routes!(memories::supersede))
        .routes(routes!(memories::accept))
        .routes(routes!(memories::reject))
        .routes(routes!(lenses::list))
        .routes(routes!(lenses::search))
        .routes(routes!(lenses::show))
        .routes(routes!(lenses::search_one))
        .routes(routes!(lenses::reindex))
}

/// Evidence.
fn proof() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(evidence::submit, evidence::find))
        .routes(routes!(evidence::show))
        .routes(routes!(evidence::attach))
        .routes(routes!(evidence_log::checkpoint))
        .routes(routes!(evidence_log::proof))
        .routes(routes!(evidence_log::consistency))
        .routes(routes!(evidence_log::key))
        .routes(routes!(evidence_log::export))
}

/// The caller, sign-in to the console, connected accounts, notifications, and API keys.
fn administration() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(caller::show))
        .routes(routes!(console_sessions::options, console_sessions::start))
        .routes(routes!(console_sessions::complete))
        .routes(routes!(console_sessions::show, console_sessions::end))
        .routes(routes!(credentials::list))
        .routes(routes!(credentials::show))
        .routes(routes!(credentials::connect))
        .routes(routes!(credentials::complete))
        .routes(routes!(credentials::accounts))
        .routes(routes!(credentials::disconnect))
        .routes(routes!(notifications::list))
        .routes(routes!(notifications::channels))
        .routes(routes!(notifications::test))
        .routes(routes!(notifications::decide_in_slack))
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::show))
        .routes(routes!(keys::rotate))
        .routes(routes!(keys::revoke))
}

/// The skill link graph.
fn skills() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(agent_skills::roots))
        .routes(routes!(agent_skills::mapping))
        .routes(routes!(agent_skills::search))
        .routes(routes!(agent_skills::bulk))
        .routes(routes!(agent_skills::import))
        .routes(routes!(agent_skills::lint))
        .routes(routes!(
            agent_skills::put_agent_skill,
            agent_skills::show,
            agent_skills::delete
        ))
        .routes(routes!(agent_skills::instruction))
        .routes(routes!(agent_skills::children))
        .routes(routes!(agent_skill_files::list))
        .routes(routes!(agent_skill_files::show))
        .routes(routes!(agent_skill_files::published))
        .routes(routes!(agent_skill_files::artifact))
}

/// Liveness, readiness and metrics.
pub(crate) fn probes() -> Router<AppState> {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
}

/// Routes outside the API: the reference page, the console.
pub(crate) fn pages() -> Router<AppState> {
    Router::new()
        .route("/", get(console::start))
        .route("/console", get(console::folder))
        .route("/console/", get(console::page))
        .route("/console/{*path}", get(console::show))
        .route("/reference", get(pages::reference))
        .merge(agent_skills::taken_words())
}

pub(crate) async fn unknown(uri: Uri) -> ApiError {
    if let Some(deprecated) = resolve::deprecated(uri.path()) {
        return deprecated.into();
    }
    let message = format!("`{}` does not exist; see /reference", uri.path());
    EngineError::new(ErrorCode::NotFound, message).into()
}

pub(crate) async fn wrong_method(
    State(state): State<AppState>,
    matched: Option<MatchedPath>,
    method: Method,
    uri: Uri,
) -> ApiError {
    let path = matched.as_ref().map_or("", MatchedPath::as_str);
    let methods = state.operations.methods(path);
    let names: Vec<&str> = methods.iter().map(Method::as_str).collect();
    let advice = advice(&methods);
    let (code, message) = if path == evidence::RECORD && CHANGES.contains(&method) {
        let message = format!("evidence is never changed or deleted; {advice}");
        (ErrorCode::Immutable, message)
    } else {
        let message = format!("`{}` does not support {method}; {advice}", uri.path());
        (ErrorCode::MethodNotAllowed, message)
    };
    let error = EngineError::new(code, message);
    error.with_details(json!({ALLOW: names})).into()
}

/// Methods that change or delete something.
const CHANGES: [Method; 4] = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// The methods to use instead. HEAD is omitted, because it always accompanies GET.
fn advice(methods: &[Method]) -> String {
    let sent = methods.iter().filter(|method| **method != Method::HEAD);
    let sent: Vec<&str> = sent.map(Method::as_str).collect();
    format!("{} this address", sent.join(" or "))
}
