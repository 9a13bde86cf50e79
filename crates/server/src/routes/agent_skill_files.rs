//! Files of imported skills: one by one, and in the layout for public installers.
//!
//! Imported files are served as data that no browser executes: never as HTML, and sandboxed.

use axum::extract::State;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use charter_contract::ids::SkillId;
use charter_engine::{AgentSkillFile, Artifact, PublishedSkillIndex};
use schemars::JsonSchema;
use serde::Serialize;

use super::agent_skills::SkillPath;
use crate::error::ApiError;
use crate::extract::{Authenticated, Path, parsed};
use crate::json::Json;
use crate::state::AppState;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillFiles")]
pub(crate) struct Files {
    files: Vec<AgentSkillFile>,
}

/// List the files of a skill.
#[utoipa::path(get, path = "/v1/agent-skills/{id}/files", tag = "agent skills", operation_id = "list_agent_skill_files",
    params(("id" = String, Path, description = "The skill")),
    responses((status = 200, description = "Path, digest, size and executable bit of each", body = ref("#/components/schemas/agent_skill_files"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    SkillPath(id): SkillPath,
) -> Result<Json<Files>, ApiError> {
    let files = state
        .engine
        .agent_skills()
        .skill_files(&caller, &id)
        .await?;
    Ok(Json(Files { files }))
}

/// Fetch one file of a skill, byte for byte.
#[utoipa::path(get, path = "/v1/agent-skills/{id}/files/{*path}", tag = "agent skills", operation_id = "get_agent_skill_file",
    params(("id" = String, Path, description = "The skill"), ("path" = String, Path, description = "The file, with its directories")),
    responses((status = 200, description = "The content", content((String = "text/markdown"), (String = "application/octet-stream")))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path((id, path)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let id: SkillId = parsed(&id)?;
    let file = state
        .engine
        .agent_skills()
        .skill_file(&caller, &id, &path)
        .await?;
    let kind = if path.ends_with(".md") {
        MARKDOWN
    } else {
        "application/octet-stream"
    };
    Ok(data(kind, file.content.to_vec()))
}

/// The index of the Agent Skills discovery draft.
#[utoipa::path(get, path = "/.well-known/agent-skills/index.json", tag = "agent skills", operation_id = "get_published_agent_skills",
    responses((status = 200, description = "The imported skills in the caller's reach", body = ref("#/components/schemas/published_skill_index"))))]
pub(crate) async fn published(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
) -> Result<
    (
        [(axum::http::HeaderName, &'static str); 1],
        Json<PublishedSkillIndex>,
    ),
    ApiError,
> {
    let index = state
        .engine
        .agent_skills()
        .published_skills(&caller)
        .await?;
    Ok(([(CACHE_CONTROL, PRIVATE)], Json(index)))
}

/// An artifact that the index names: `SKILL.md` or `<name>.tar.gz`.
#[utoipa::path(get, path = "/.well-known/agent-skills/{id}/{file}", tag = "agent skills", operation_id = "get_published_agent_skill_file",
    params(("id" = String, Path, description = "The skill"), ("file" = String, Path, description = "`SKILL.md` or `<name>.tar.gz`")),
    responses((status = 200, description = "The artifact", content((String = "text/markdown"), (String = "application/gzip")))))]
pub(crate) async fn artifact(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path((id, file)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let id: SkillId = parsed(&id)?;
    let artifact = state
        .engine
        .agent_skills()
        .published_artifact(&caller, &id, &file)
        .await?;
    Ok(match artifact {
        Artifact::SkillFile(text) => data(MARKDOWN, text),
        Artifact::Archive(bytes) => data("application/gzip", bytes),
    })
}

const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// The answer depends on the caller's key, so no shared cache may store it.
const PRIVATE: &str = "private, no-cache";

fn data(kind: &'static str, content: Vec<u8>) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            CONTENT_SECURITY_POLICY,
            "sandbox; default-src 'none'; frame-ancestors 'none'",
        ),
        (CACHE_CONTROL, PRIVATE),
    ];
    (headers, content).into_response()
}
