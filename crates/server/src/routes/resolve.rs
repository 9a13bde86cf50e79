//! The documents that are in force for a skill, agent, domain, tool or output.

use axum::extract::State;
use charter_contract::catalogue::agent::AgentManifest;
use charter_contract::catalogue::mission_type::MissionType;
use charter_contract::catalogue::playbook::Playbook;
use charter_contract::catalogue::prompt::PromptTemplate;
use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::tool::Tool;
use charter_contract::catalogue::{DocumentKind, DocumentKindError};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::Label;
use charter_engine::{
    EngineError, GuardrailSubject, InForce, ResolvedGuardrail, ResolvedPolicy, ResolvedTemplate,
    ToolFilter,
};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, Path, QueryParams, parsed};
use crate::json::Json;
use crate::state::AppState;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SubjectQuery {
    /// The id of a skill or playbook.
    skill_id: Option<String>,
    /// The agent's id; that of the skill's owner when absent.
    agent_id: Option<String>,
    /// The domain; the skill's when absent.
    domain: Option<String>,
    /// The persona; when absent, that of requests without one.
    #[param(value_type = Option<String>)]
    persona: Option<Label>,
}

/// Resolve guardrails: all matches, in the order skill, agent, domain, global; in a level, those for the persona first.
#[utoipa::path(get, path = "/v1/resolve/guardrails", tag = "resolve", operation_id = "resolve_guardrails",
    params(SubjectQuery), responses((status = 200, description = "The guardrails", body = ref("#/components/schemas/resolved_guardrails"))))]
pub(crate) async fn guardrails(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<SubjectQuery>,
) -> Result<Json<Vec<ResolvedGuardrail>>, ApiError> {
    let subject = GuardrailSubject {
        skill: asked.skill_id.as_deref(),
        agent: asked.agent_id.as_deref(),
        domain: asked.domain.as_deref(),
        persona: asked.persona.as_ref().map(Label::as_str),
    };
    Ok(Json(
        state
            .engine
            .documents()
            .resolve_guardrails(&caller, subject)?,
    ))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PolicyQuery {
    /// The tool's id.
    tool: String,
}

/// Resolve the policies that govern a tool: the tenant's own and the global ones.
#[utoipa::path(get, path = "/v1/resolve/policies", tag = "resolve", operation_id = "resolve_policies",
    params(PolicyQuery), responses((status = 200, description = "The policies", body = ref("#/components/schemas/resolved_policies"))))]
pub(crate) async fn policies(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<PolicyQuery>,
) -> Result<Json<Vec<ResolvedPolicy>>, ApiError> {
    Ok(Json(
        state
            .engine
            .documents()
            .resolve_policies(&caller, &asked.tool)?,
    ))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TemplateQuery {
    /// The template's output type.
    output_type: String,
    /// The skill's id.
    skill_id: Option<String>,
    /// The agent's id.
    agent_id: Option<String>,
    /// The domain.
    domain: Option<String>,
    /// The persona; when absent, that of requests without one.
    #[param(value_type = Option<String>)]
    persona: Option<Label>,
}

/// Resolve the template for an output: skill, then agent, then domain, then the global default; within a level, one for
/// the persona first. A template above the caller's tier is skipped.
#[utoipa::path(get, path = "/v1/resolve/template", tag = "resolve", operation_id = "resolve_template",
    params(TemplateQuery), responses((status = 200, description = "The template", body = ref("#/components/schemas/resolved_template"))))]
pub(crate) async fn template(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<TemplateQuery>,
) -> Result<Json<ResolvedTemplate>, ApiError> {
    let subject = GuardrailSubject {
        skill: asked.skill_id.as_deref(),
        agent: asked.agent_id.as_deref(),
        domain: asked.domain.as_deref(),
        persona: asked.persona.as_ref().map(Label::as_str),
    };
    let resolved =
        state
            .engine
            .documents()
            .resolve_template(&caller, &asked.output_type, subject)?;
    Ok(Json(resolved))
}

macro_rules! by_id {
    ($name:ident, $path:literal, $operation:literal, $doc:literal, $document:ty, $answer:literal, $method:ident) => {
        #[doc = $doc]
        #[utoipa::path(get, path = $path, tag = "resolve", operation_id = $operation,
            params(("id" = String, Path, description = "The exact id")),
            responses((status = 200, description = "The document, its package and layer", body = ref($answer))))]
        pub(crate) async fn $name(
            State(state): State<AppState>,
            Authenticated(caller): Authenticated,
            Path(id): Path<String>,
        ) -> Result<Json<InForce<$document>>, ApiError> {
            Ok(Json(state.engine.documents().$method(&caller, &id)?))
        }
    };
}

by_id!(
    skill,
    "/v1/resolve/skill/{id}",
    "resolve_skill",
    "Fetch a skill by id.",
    Skill,
    "#/components/schemas/skill_in_force",
    resolve_skill
);
by_id!(
    playbook,
    "/v1/resolve/playbook/{id}",
    "resolve_playbook",
    "Fetch a playbook by id.",
    Playbook,
    "#/components/schemas/playbook_in_force",
    resolve_playbook
);
by_id!(
    agent,
    "/v1/resolve/agent/{id}",
    "resolve_agent",
    "Fetch an agent by id.",
    AgentManifest,
    "#/components/schemas/agent_manifest_in_force",
    resolve_agent
);
by_id!(
    tool,
    "/v1/resolve/tool/{id}",
    "resolve_tool",
    "Fetch a tool by id.",
    Tool,
    "#/components/schemas/tool_in_force",
    resolve_tool
);
by_id!(
    mission_type,
    "/v1/resolve/mission_type/{id}",
    "resolve_mission_type",
    "Fetch a mission type by id.",
    MissionType,
    "#/components/schemas/mission_type_in_force",
    resolve_mission_type
);
by_id!(
    prompt_template,
    "/v1/resolve/prompt_template/{id}",
    "resolve_prompt_template",
    "Fetch a prompt template by id.",
    PromptTemplate,
    "#/components/schemas/prompt_template_in_force",
    resolve_prompt_template
);

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ToolQuery {
    /// `readonly` or `write`.
    tool_class: Option<String>,
    /// The domain.
    domain: Option<String>,
}

/// Find the active tools of a class and domain.
#[utoipa::path(get, path = "/v1/resolve/tools", tag = "resolve", operation_id = "resolve_tools",
    params(ToolQuery), responses((status = 200, description = "The tools", body = ref("#/components/schemas/tools_in_force"))))]
pub(crate) async fn tools(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    QueryParams(asked): QueryParams<ToolQuery>,
) -> Result<Json<Vec<InForce<Tool>>>, ApiError> {
    let class = asked.tool_class.as_deref().map(parsed).transpose()?;
    let filter = ToolFilter {
        class,
        domain: asked.domain,
    };
    Ok(Json(
        state.engine.documents().resolve_tools(&caller, &filter),
    ))
}

/// The addresses of documents in force.
const RESOLVE: &str = "/v1/resolve/";

/// The word for context builders in the seed's address.
const CONTEXT: &str = "context";

/// The error for an address of a deprecated collection, with its successor (ruling 1). The address has no operation.
pub(super) fn deprecated(path: &str) -> Option<EngineError> {
    let word = path.strip_prefix(RESOLVE)?.split('/').next()?;
    let kind = if word == CONTEXT {
        "context_builder"
    } else {
        word
    };
    match DocumentKind::parse(kind) {
        Err(error @ DocumentKindError::Deprecated { .. }) => {
            let code = ErrorCode::DeprecatedCollection;
            Some(EngineError::new(code, error.to_string()))
        }
        Ok(_) | Err(DocumentKindError::Unknown(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ruling_1_an_address_of_a_deprecated_collection_names_the_successor() {
        for (path, successor) in [
            ("/v1/resolve/intent", "`skill`"),
            ("/v1/resolve/intent/x", "`skill`"),
            ("/v1/resolve/context", "`skill`"),
            ("/v1/resolve/context_builder/x/y", "`skill`"),
            ("/v1/resolve/cloud_knowledge/x", "`domain_lens`"),
        ] {
            let error = deprecated(path).unwrap();
            assert_eq!(error.code, ErrorCode::DeprecatedCollection, "{path}");
            assert!(error.message.contains(successor), "{path}: {error}");
        }
        for path in [
            "/v1/resolve/moon",
            "/v1/resolve/skill/intent",
            "/v1/intent",
            "/",
        ] {
            assert!(deprecated(path).is_none(), "{path}");
        }
    }
}
