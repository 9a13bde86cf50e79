//! Agent cards of the A2A protocol (sections 4.4 and 8): signed descriptions of this installation, with its addresses
//! and skills. Addresses come from the configuration, never from a request: a signed card must not lead to an address
//! that a caller chose. Must not know the reader of a card.

mod sign;

use charter_contract::text::{HttpUrl, Text};
use charter_engine::Ability;
use serde_json::{Value, json};

use sign::CardKey;

/// The version of the protocol that is spoken, as its header and the card write it.
pub(crate) const PROTOCOL: &str = "1.0";

/// Where the JSON-RPC binding is.
pub(crate) const RPC_PATH: &str = "/a2a";

/// Below which path the HTTP+JSON binding is.
pub(crate) const REST_PATH: &str = "/a2a/v1";

/// Where the keys are that card signatures name.
pub(crate) const KEYS_PATH: &str = "/.well-known/jwks.json";

/// Most skills that a card lists; the description has the number of the others.
const MAX_SKILLS: usize = 500;

/// The name of the security scheme by which callers are known.
const SCHEME: &str = "apiKey";

/// How an installation presents itself to other agents.
pub struct A2aIdentity {
    /// Where others reach this server.
    pub base_url: HttpUrl,
    /// Its name.
    pub name: Text,
    /// Its purpose.
    pub description: Text,
    /// The operator: a name and a link.
    pub provider: Option<(Text, HttpUrl)>,
    /// The secret seed of the key that signs its cards.
    pub seed: [u8; 32],
}

/// The parts of all cards.
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

    /// The public halves of the keys by which signatures are checked.
    pub(crate) fn key_set(&self) -> Value {
        self.key.key_set()
    }

    /// A signed card.
    pub(crate) fn card(
        &self,
        version: &str,
        abilities: &[Ability],
        agents: &[String],
        keyed: Keyed,
    ) -> Value {
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
pub(crate) enum Keyed {
    Yes,
    No,
}

/// The skills of a card, never none of them: what can always be done is to ask.
fn skills(abilities: &[Ability]) -> Vec<Value> {
    if abilities.is_empty() {
        return vec![json!({
            "id": "ask", "name": "Ask",
            "description": "Takes a question or an order in plain words, and runs the registered skill or playbook \
                            that matches. The extended card lists them for authorised callers.",
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
