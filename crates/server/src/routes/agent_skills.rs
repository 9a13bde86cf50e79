//! The skill link graph (seed 001): documents, discovery, navigation, targeted fetch.
//!
//! Operations on all skills use POST, at words that may also be ids: GET, PUT and DELETE at `/v1/agent-skills/search`
//! are about the skill `search` ([`taken_words`]).

use axum::Router;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::routing::get;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::SkillId;
use charter_contract::link_graph::AgentSkill;
use charter_contract::package::PackageScope;
use charter_contract::registry::reference;
use charter_contract::schema::SchemaName;
use charter_engine::{
    AgentSkillHit, AgentSkillPage, BulkWritten, EngineError, Force, LinkFinding, Mode, ScriptGrant,
    SkillInScope, SkillInstruction, SkillSearch, SkillWritten, SkillsImported, SkillsSent,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, JsonBody, QueryParams, ScopeQuery, Valid, parsed};
use crate::json::Json;
use crate::state::AppState;

/// The default page size.
const PAGE: usize = 100;

/// The largest page.
const MAX_PAGE: usize = 1_000;

/// The path prefix of skills.
const ROOT: &str = "/v1/agent-skills/";

/// The path of one skill.
pub(crate) const ONE_SKILL: &str = "/v1/agent-skills/{id}";

/// The words after [`ROOT`] that operations on all skills use with POST.
const RESERVED_IDS: [&str; 4] = ["search", "bulk", "import", "lint"];

/// The skill of a path below `/v1/agent-skills/`, even if the path is one of [`RESERVED_IDS`].
pub(crate) struct SkillPath(pub(crate) SkillId);

impl FromRequestParts<AppState> for SkillPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        let rest = parts.uri.path().strip_prefix(ROOT).unwrap_or_default();
        let id = rest.split('/').next().unwrap_or_default();
        parsed(id).map(SkillPath)
    }
}

/// The routes of skills whose ids are words of other routes.
pub(crate) fn taken_words() -> Router<AppState> {
    taken_paths().fold(Router::new(), |router, path| {
        router.route(&path, get(show).put(put_agent_skill).delete(delete))
    })
}

/// The paths of skills with those ids.
pub(crate) fn taken_paths() -> impl Iterator<Item = String> {
    RESERVED_IDS.iter().map(|word| format!("{ROOT}{word}"))
}

/// Create or replace a skill; if `skill_desc_vector` is absent, it is computed from the summary.
#[utoipa::path(put, path = "/v1/agent-skills/{id}", tag = "agent skills", operation_id = "put_agent_skill",
    params(("id" = String, Path, description = "The skill, as in the body"), ScopeQuery),
    request_body = ref("#/components/schemas/agent_skill"),
    responses((status = 200, description = "Replaced", body = ref("#/components/schemas/agent_skill_write_result")), (status = 201, description = "New", body = ref("#/components/schemas/agent_skill_write_result")),
        (status = 400, description = "Every violation; a cycle is named by its path", body = ref("#/components/schemas/agent_error")),
        (status = 409, description = "It was imported: import it again", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn put_agent_skill(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    SkillPath(id): SkillPath,
    QueryParams(asked): QueryParams<ScopeQuery>,
    Valid(skill): Valid<AgentSkill>,
) -> Result<(StatusCode, Json<SkillWritten>), ApiError> {
    if skill.skill_id != id {
        let message = format!("the path names `{id}`, the body `{}`", skill.skill_id);
        return Err(EngineError::new(ErrorCode::InvalidRequest, message).into());
    }
    let written = state
        .engine
        .agent_skills()
        .put_skill(&caller, asked.scope(), skill)
        .await?;
    let status = if written.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, Json(written)))
}

/// Show a skill without its instruction.
#[utoipa::path(get, path = "/v1/agent-skills/{id}", tag = "agent skills", operation_id = "get_agent_skill",
    params(("id" = String, Path, description = "The skill")),
    responses((status = 200, description = "Id, summary, sub-skills and scope", body = ref("#/components/schemas/agent_skill_in_scope"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    SkillPath(id): SkillPath,
) -> Result<Json<SkillInScope>, ApiError> {
    Ok(Json(state.engine.agent_skills().show_skill(&caller, &id)?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DeleteQuery {
    /// `tenant` (the default) or `global`.
    #[param(value_type = Option<String>)]
    scope: Option<PackageScope>,
    /// Delete it even if other skills point at it.
    #[serde(default)]
    force: bool,
}

/// Delete a skill, and the tools of its scripts.
#[utoipa::path(delete, path = "/v1/agent-skills/{id}", tag = "agent skills", operation_id = "delete_agent_skill",
    params(("id" = String, Path, description = "The skill"), DeleteQuery),
    responses((status = 204, description = "Gone"), (status = 409, description = "Other skills reference it", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn delete(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    SkillPath(id): SkillPath,
    QueryParams(asked): QueryParams<DeleteQuery>,
) -> Result<StatusCode, ApiError> {
    let scope = asked.scope.unwrap_or(PackageScope::Tenant);
    let force = if asked.force { Force::Yes } else { Force::No };
    state
        .engine
        .skill_scripts()
        .delete_skill(&caller, scope, &id, force)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Fetch the instruction of exactly one skill.
#[utoipa::path(get, path = "/v1/agent-skills/{id}/instruction", tag = "agent skills", operation_id = "get_agent_skill_instruction",
    params(("id" = String, Path, description = "The skill")),
    responses((status = 200, description = "The instruction", body = ref("#/components/schemas/agent_skill_instruction"))))]
pub(crate) async fn instruction(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    SkillPath(id): SkillPath,
) -> Result<Json<SkillInstruction>, ApiError> {
    Ok(Json(
        state
            .engine
            .agent_skills()
            .skill_instruction(&caller, &id)
            .await?,
    ))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// The cursor: start after this id.
    after: Option<String>,
    /// Page size, up to 1000; 100 when absent.
    limit: Option<usize>,
}

impl PageQuery {
    fn read(&self) -> Result<(Option<SkillId>, usize), ApiError> {
        let after = self.after.as_deref().map(parsed);
        let limit = self.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
        Ok((after.transpose()?, limit))
    }
}

/// List the skills that a folder points at.
#[utoipa::path(get, path = "/v1/agent-skills/{id}/children", tag = "agent skills", operation_id = "list_agent_skill_children",
    params(("id" = String, Path, description = "The folder"), PageQuery),
    responses((status = 200, description = "A page, in the folder's order", body = ref("#/components/schemas/agent_skill_page"))))]
pub(crate) async fn children(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    SkillPath(id): SkillPath,
    QueryParams(asked): QueryParams<PageQuery>,
) -> Result<Json<AgentSkillPage>, ApiError> {
    let (after, limit) = asked.read()?;
    let children =
        state
            .engine
            .agent_skills()
            .skill_children(&caller, &id, after.as_ref(), limit)?;
    Ok(Json(children))
}

/// List the skills that no other skill points at, among those visible to the caller.
#[utoipa::path(get, path = "/v1/agent-skills", tag = "agent skills", operation_id = "list_agent_skill_roots", params(PageQuery),
    responses((status = 200, description = "A page, by id", body = ref("#/components/schemas/agent_skill_page"))))]
pub(crate) async fn roots(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<PageQuery>,
) -> Result<Json<AgentSkillPage>, ApiError> {
    let (after, limit) = asked.read()?;
    let roots = state
        .engine
        .agent_skills()
        .skill_roots(&caller, after.as_ref(), limit)?;
    Ok(Json(roots))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillHits")]
pub(crate) struct Hits {
    hits: Vec<AgentSkillHit>,
}

/// Find skills by words (`query`) or by a vector of the index's model (`vector`), at most `top_k`, optionally `only`
/// `folders` or `leaves`.
#[utoipa::path(post, path = "/v1/agent-skills/search", tag = "agent skills", operation_id = "search_agent_skills", request_body = ref("#/components/schemas/skill_search"),
    responses((status = 200, description = "Id, summary, sub-skills and score of each hit, best first", body = ref("#/components/schemas/agent_skill_hits"))))]
pub(crate) async fn search(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    JsonBody(search): JsonBody<SkillSearch>,
) -> Result<Json<Hits>, ApiError> {
    let hits = state
        .engine
        .agent_skills()
        .discover_skills(&caller, &search)
        .await?;
    Ok(Json(Hits { hits }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bulk {
    #[schemars(schema_with = "skills")]
    skills: Vec<Value>,
}

fn skills(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": reference(SchemaName::AgentSkill)})
}

/// Write many skills: `{"skills": […]}`. Each has its own result.
#[utoipa::path(post, path = "/v1/agent-skills/bulk", tag = "agent skills", operation_id = "bulk_agent_skills", params(ScopeQuery), request_body = ref("#/components/schemas/skill_bulk"),
    responses((status = 200, description = "One answer for each skill, in their order", body = ref("#/components/schemas/agent_skill_bulk_result")), (status = 400, description = "An id is duplicated; nothing is written", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn bulk(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ScopeQuery>,
    JsonBody(bulk): JsonBody<Bulk>,
) -> Result<Json<BulkWritten>, ApiError> {
    let engine = &state.engine;
    let written = engine
        .agent_skills()
        .bulk_skills(&caller, asked.scope(), &bulk.skills)
        .await?;
    Ok(Json(written))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ImportQuery {
    /// `tenant` (the default) or `global`.
    #[param(value_type = Option<String>)]
    scope: Option<PackageScope>,
    /// Report what would happen, and write nothing.
    #[serde(default)]
    dry_run: bool,
    /// Make tools of all scripts, also of those that `allowed-tools` of their skill does not grant.
    #[serde(default)]
    allow_scripts: bool,
}

/// Import directories of Agent Skills: `{"files": [{"path", "text" or "base64", "executable"}]}`. An unreadable skill
/// is skipped, and the others are imported. Scripts that `allowed-tools` of their skill grants become tools.
#[utoipa::path(post, path = "/v1/agent-skills/import", tag = "agent skills", operation_id = "import_agent_skills", params(ImportQuery), request_body = ref("#/components/schemas/skill_files"),
    responses((status = 200, description = "The new, changed, unchanged and skipped skills, with reasons", body = ref("#/components/schemas/agent_skill_import_result")), (status = 400, description = "No skill can be imported: every violation, with file and line; nothing is written", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn import(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ImportQuery>,
    JsonBody(sent): JsonBody<SkillsSent>,
) -> Result<Json<SkillsImported>, ApiError> {
    let scope = asked.scope.unwrap_or(PackageScope::Tenant);
    let mode = if asked.dry_run {
        Mode::DryRun
    } else {
        Mode::Apply
    };
    let grant = if asked.allow_scripts {
        ScriptGrant::All
    } else {
        ScriptGrant::AllowedTools
    };
    let imported = state
        .engine
        .skill_scripts()
        .import_skills(&caller, scope, sent, grant, mode)
        .await?;
    Ok(Json(imported))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LinkFindings")]
pub(crate) struct Findings {
    findings: Vec<LinkFinding>,
}

/// Check the skills for missing children, empty folders and cycles.
#[utoipa::path(post, path = "/v1/agent-skills/lint", tag = "agent skills", operation_id = "lint_agent_skills",
    responses((status = 200, description = "Findings by skill", body = ref("#/components/schemas/link_findings"))))]
pub(crate) async fn lint(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
) -> Result<Json<Findings>, ApiError> {
    let findings = state.engine.agent_skills().lint_skills(&caller)?;
    Ok(Json(Findings { findings }))
}

/// Show the mapping of the index.
#[utoipa::path(get, path = "/v1/agent-skills/_mapping", tag = "agent skills", operation_id = "get_agent_skills_mapping",
    responses((status = 200, description = "The mapping of seed 001, with the dims in force", body = Object)))]
pub(crate) async fn mapping(
    State(state): State<AppState>,
    Authenticated(_caller): Authenticated,
) -> Json<Value> {
    Json(state.engine.agent_skills().skills_mapping())
}
