//! The addresses of the agent card (section 8).
//!
//! The public card needs no credential, so on a server with keys it names nothing of a tenant. The extended card names
//! the agents that its caller may see. Both are signed.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use charter_contract::hex;
use charter_engine::{Caller, CredentialId};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::agent_card::Keyed;
use crate::error::ApiError;
use crate::json::Json;
use crate::state::AppState;

/// How long readers may cache the public card (section 8.6.1).
const KEPT: &str = "public, max-age=300";

/// The card with what is visible to the caller. A caller without a credential sees that none is needed.
pub(super) fn extended(state: &AppState, caller: &Caller) -> Value {
    let engine = &state.engine;
    let keyed = match caller.credential {
        CredentialId::Local => Keyed::No,
        CredentialId::Key(_) | CredentialId::Configured(_) | CredentialId::Token { .. } => {
            Keyed::Yes
        }
    };
    // The version includes the catalogue's revision, so that readers detect possible changes of the card.
    let revision = engine.live().revision.0;
    let version = format!("{}+{revision}", env!("CARGO_PKG_VERSION"));
    let (abilities, agents) = (
        engine.documents().abilities(caller),
        engine.documents().agent_names(caller),
    );
    state.publisher.card(&version, &abilities, &agents, keyed)
}

/// The public agent card. Without keys, the caller is the local user with full access.
#[utoipa::path(get, path = "/.well-known/agent-card.json", tag = "a2a", operation_id = "get_agent_card",
    responses((status = 200, description = "An AgentCard of A2A 1.0, signed", body = Object)))]
pub(super) async fn public(
    State(state): State<AppState>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let local = state.access.local_now(&state.engine, &headers).await?;
    let card = match local {
        Some(local) => extended(&state, &local),
        None => {
            let version = env!("CARGO_PKG_VERSION");
            state.publisher.card(version, &[], &[], Keyed::Yes)
        }
    };
    let body = card.to_string();
    let hash = hex::encode(&Sha256::digest(&body)[..16]);
    let tag = format!("\"{hash}\"");
    let known = headers
        .get(IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok());
    let known = known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag));
    let caching = [(CACHE_CONTROL, KEPT.to_owned()), (ETAG, tag)];
    if known {
        return Ok((StatusCode::NOT_MODIFIED, caching).into_response());
    }
    Ok((caching, [(CONTENT_TYPE, "application/json")], body).into_response())
}

/// The public keys that verify the cards' signatures.
#[utoipa::path(get, path = "/.well-known/jwks.json", tag = "a2a", operation_id = "get_agent_card_keys",
    responses((status = 200, description = "A JSON Web Key Set (RFC 7517)", body = Object)))]
pub(super) async fn keys(State(state): State<AppState>) -> Response {
    let keys = Json(state.publisher.key_set());
    ([(CACHE_CONTROL, KEPT)], keys).into_response()
}
