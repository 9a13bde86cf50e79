//! The agent card (sections 4.4 and 8): what this installation is, where it is reached, what it offers.
//!
//! Anybody may read the public card, so where callers have keys it names nothing that is a tenant's; the
//! extended card has what its reader may see. Both are signed. Addresses come from the configuration and
//! never from a request: a signed card must not lead where whoever asked for it says.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use charter_contract::text::{HttpUrl, Text};
use charter_engine::{Ability, Caller, CredentialId};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::sign::CardKey;
use super::{KEYS_PATH, PROTOCOL, REST_PATH, RPC_PATH};
use crate::error::ApiError;
use crate::json::Json;
use crate::state::AppState;

/// Skills that a card lists; of more it says how many there are.
const MAX_SKILLS: usize = 500;

/// How long readers may keep the public card (section 8.6.1).
const KEPT: &str = "public, max-age=300";

/// The name of the security scheme by which callers are known.
const SCHEME: &str = "apiKey";

/// How an installation presents itself to other agents.
pub struct A2aIdentity {
    /// Where others reach this server.
    pub base_url: HttpUrl,
    /// Its name.
    pub name: Text,
    /// What it is for.
    pub description: Text,
    /// Who runs it: a name and a link.
    pub provider: Option<(Text, HttpUrl)>,
    /// The secret seed of the key that signs its cards.
    pub seed: [u8; 32],
}

/// What cards are made of.
pub(crate) struct Publisher {
    base: String,
    identity: A2aIdentity,
    key: CardKey,
}

impl Publisher {
    pub(crate) fn new(identity: A2aIdentity) -> Self {
        let base = identity.base_url.as_str().trim_end_matches('/').to_owned();
        let key = CardKey::new(&identity.seed, format!("{base}{KEYS_PATH}"));
        Self {
            base,
            identity,
            key,
        }
    }

    /// Where others reach this server, without a slash at the end.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// The server's name.
    pub(crate) fn name(&self) -> &Text {
        &self.identity.name
    }

    fn card(&self, version: &str, abilities: &[Ability], agents: &[String], keyed: Keyed) -> Value {
        let interface = |path: &str, binding: &str| {
            json!({
                "url": format!("{}{path}", self.base), "protocolBinding": binding,
                "protocolVersion": PROTOCOL,
            })
        };
        let mut card = json!({
            "name": self.identity.name,
            "description": self.describe(abilities, agents),
            "version": version,
            "documentationUrl": format!("{}/reference", self.base),
            "supportedInterfaces": [
                interface(RPC_PATH, "JSONRPC"), interface(REST_PATH, "HTTP+JSON"),
            ],
            "capabilities": {
                "streaming": true, "pushNotifications": false, "extendedAgentCard": true,
            },
            "defaultInputModes": ["text/plain", "application/json"],
            "defaultOutputModes": ["text/plain", "application/json"],
            "skills": skills(abilities),
        });
        if let Some((organization, url)) = &self.identity.provider {
            card["provider"] = json!({"organization": organization, "url": url});
        }
        if keyed == Keyed::Yes {
            card["securitySchemes"] = json!({SCHEME: {"httpAuthSecurityScheme": {
                "scheme": "Bearer", "description": "An API key of this installation.",
            }}});
            // The role that a key needs at least (OpenAPI 3.1, Security Requirement Object).
            card["securityRequirements"] = json!([{"schemes": {SCHEME: {"list": ["user"]}}}]);
        }
        let signature = self.key.sign(&card);
        card["signatures"] = json!([signature]);
        card
    }

    fn describe(&self, abilities: &[Ability], agents: &[String]) -> String {
        let mut text = self.identity.description.to_string();
        if !agents.is_empty() {
            text += &format!(" Agents: {}.", agents.join(", "));
        }
        if abilities.len() > MAX_SKILLS {
            let more = abilities.len() - MAX_SKILLS;
            text += &format!(" {more} more skills are not listed here; ask in your own words.");
        }
        text
    }
}

/// Whether callers are known by keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keyed {
    Yes,
    No,
}

/// The skills of a card, never none of them: what can always be done is to ask.
fn skills(abilities: &[Ability]) -> Vec<Value> {
    if abilities.is_empty() {
        return vec![json!({
            "id": "ask", "name": "Ask",
            "description": "Takes a question or an order in plain words, finds what is registered for \
                            it and runs it. What that is, the extended card says to those who may call.",
            "tags": ["ask"],
        })];
    }
    let listed = abilities.iter().take(MAX_SKILLS).map(|ability| {
        let mut skill = json!({
            "id": ability.id, "name": ability.name, "description": ability.description,
            "tags": ability.tags,
        });
        if !ability.examples.is_empty() {
            skill["examples"] = json!(ability.examples);
        }
        skill
    });
    listed.collect()
}

/// The card with what a caller may see. A caller without a credential sees that none is needed.
pub(super) fn extended(state: &AppState, caller: &Caller) -> Value {
    let engine = &state.engine;
    let keyed = match caller.credential {
        CredentialId::Local => Keyed::No,
        CredentialId::Key(_) | CredentialId::Configured(_) | CredentialId::Token { .. } => {
            Keyed::Yes
        }
    };
    // The catalogue's revision is a part, so that a reader sees when the card may have changed.
    let revision = engine.live().revision.0;
    let version = format!("{}+{revision}", env!("CARGO_PKG_VERSION"));
    let (abilities, agents) = (engine.abilities(caller), engine.agent_names(caller));
    state.publisher.card(&version, &abilities, &agents, keyed)
}

/// The card that anybody may read. Without keys that is whoever uses this machine, who sees all.
#[utoipa::path(get, path = "/.well-known/agent-card.json", tag = "a2a", operation_id = "agent_card",
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
    let hash = Sha256::digest(&body);
    let hash: String = hash
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
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

/// The keys by which the cards' signatures are checked.
#[utoipa::path(get, path = "/.well-known/jwks.json", tag = "a2a", operation_id = "card_keys",
    responses((status = 200, description = "A JSON Web Key Set (RFC 7517)", body = Object)))]
pub(super) async fn keys(State(state): State<AppState>) -> Response {
    let keys = Json(state.publisher.key.key_set());
    ([(CACHE_CONTROL, KEPT)], keys).into_response()
}
