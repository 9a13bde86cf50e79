//! The catalogue: documents listed by kind, and counted.

use axum::extract::State;
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::catalogue::{DocumentKind, DocumentKindError};
use charter_contract::error_code::ErrorCode;
use charter_contract::validate::nearest;
use charter_engine::{CatalogueView, DocumentFilter, DocumentSummary, EngineError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::IntoParams;

use crate::error::ApiError;
use crate::extract::{Authenticated, Path, QueryParams};
use crate::json::Json;
use crate::state::AppState;

/// The default page size.
const PAGE: usize = 100;

/// The largest page.
const MAX_PAGE: usize = 1_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// The cursor: start after this id.
    after: Option<String>,
    /// Page size, up to 1000; 100 when absent.
    limit: Option<usize>,
    /// Only documents whose id or title contains this text, regardless of case.
    query: Option<String>,
    /// Only documents of this domain.
    domain: Option<String>,
    /// Only documents with this status: `active` or `inactive`.
    #[param(value_type = Option<String>)]
    status: Option<Status>,
    /// Only documents of this package.
    package: Option<String>,
}

/// One page of documents.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DocumentPage")]
pub(crate) struct Listing {
    /// The documents, by id.
    entries: Vec<DocumentSummary>,
    /// The id after which the next page starts.
    next: Option<String>,
}

/// List the documents of one kind that are visible to the caller.
#[utoipa::path(get, path = "/v1/list/{kind}", tag = "catalogue", operation_id = "list_documents",
    params(("kind" = String, Path, description = "skill, tool, guardrail, domain_lens, template, playbook, agent, graph_node, graph_edge, domain, policy, mission_type or prompt_template"), ListQuery),
    responses((status = 200, description = "A page", body = ref("#/components/schemas/document_page")), (status = 410, description = "A deprecated collection", body = ref("#/components/schemas/agent_error"))))]
pub(crate) async fn list(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(kind): Path<String>,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Json<Listing>, ApiError> {
    let kind = kind_of(&kind)?;
    let limit = asked.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let after = asked.after.unwrap_or_default();
    let filter = DocumentFilter {
        query: asked.query,
        domain: asked.domain,
        status: asked.status,
        package: asked.package,
    };
    let mut entries =
        state
            .engine
            .documents()
            .list_documents(&caller, kind, &filter, &after, limit + 1);
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| more).map(|last| last.id.clone());
    Ok(Json(Listing { entries, next }))
}

/// Count the documents of each kind that are visible to the caller.
#[utoipa::path(get, path = "/v1/catalogue", tag = "catalogue", operation_id = "get_catalogue",
    responses((status = 200, description = "The kinds", body = ref("#/components/schemas/catalogue"))))]
pub(crate) async fn show(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
) -> Json<CatalogueView> {
    Json(state.engine.documents().show_catalogue(&caller))
}

/// Parses a kind that can be listed. Deprecated collections answer 410 with their successor (ruling 1).
pub(super) fn kind_of(text: &str) -> Result<DocumentKind, EngineError> {
    match DocumentKind::parse(text) {
        Ok(kind) if kind.is_registrable() => Ok(kind),
        Ok(kind) => {
            let why = format!("`{kind}` is not a collection that can be listed");
            Err(unlisted(&why, None))
        }
        Err(error @ DocumentKindError::Deprecated { .. }) => Err(EngineError::new(
            ErrorCode::DeprecatedCollection,
            error.to_string(),
        )),
        Err(error @ DocumentKindError::Unknown(_)) => {
            let meant = nearest(text, listed().map(DocumentKind::as_str));
            Err(unlisted(&error.to_string(), meant.as_deref()))
        }
    }
}

/// The kinds of documents that can be listed.
fn listed() -> impl Iterator<Item = DocumentKind> {
    let kinds = DocumentKind::ALL.iter().copied();
    kinds.filter(|kind| kind.is_registrable())
}

fn unlisted(why: &str, meant: Option<&str>) -> EngineError {
    let kinds: Vec<&str> = listed().map(DocumentKind::as_str).collect();
    let all = kinds.join(", ");
    let message = match meant {
        Some(meant) => format!("{why}; {meant} Listed are {all}"),
        None => format!("{why}; listed are {all}"),
    };
    EngineError::new(ErrorCode::NotFound, message).with_details(json!({"kinds": kinds}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_is_refused_with_the_known_kinds() {
        for (text, start) in [
            (
                "skil",
                "`skil` is not a document kind; did you mean `skill`? Listed are skill, tool, ",
            ),
            (
                "moons",
                "`moons` is not a document kind; listed are skill, tool, ",
            ),
            (
                "evidence",
                "`evidence` is not a collection that can be listed; listed are skill, tool, ",
            ),
        ] {
            let refused = kind_of(text).unwrap_err();
            assert_eq!(refused.code, ErrorCode::NotFound);
            assert!(refused.message.starts_with(start), "{refused}");
            assert!(refused.message.contains(", prompt_template"), "{refused}");
            assert!(!refused.message.contains("tag_record"), "{refused}");
        }
        let kind = kind_of("graph_node").unwrap();
        assert_eq!(kind, DocumentKind::GraphNode);
    }
}
