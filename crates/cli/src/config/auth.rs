//! Who may call: keys, and identity providers. What fits together is checked where they are set up.

use std::collections::BTreeSet;

use charter_contract::identity::Rights;
use charter_contract::ids::{Label, TenantId, UserId};
use charter_effects::TokenAlgorithm;
use charter_engine::{AccessScopes, CatalogueRole, Role, SkillGrants, Tier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who may call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AuthConfig {
    /// The known keys. Without any, and without a provider, the server answers on loopback only.
    pub(crate) keys: Vec<KeyConfig>,
    /// The identity providers whose tokens let in.
    pub(crate) oidc: Vec<OidcConfig>,
}

impl AuthConfig {
    /// Whether any credential is configured.
    pub(crate) fn has_credentials(&self) -> bool {
        !self.keys.is_empty() || !self.oidc.is_empty()
    }
}

/// One API key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyConfig {
    /// SHA-256 of the key, as 64 hexadecimal digits.
    pub(crate) sha256: String,
    /// Whose data it sees.
    pub(crate) tenant: TenantId,
    /// Whom it stands for.
    pub(crate) user: UserId,
    /// What its holder may do.
    #[serde(flatten)]
    pub(crate) granted: GrantedConfig,
}

/// What a credential lets its holder do. Its settings stand among those of the credential, which refuses those that
/// neither knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct GrantedConfig {
    /// `user`, `operator` or `admin`.
    #[schemars(with = "String")]
    pub(crate) role: Role,
    /// `basic`, or `advanced` for lenses and the expert graph.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(crate) tier: Tier,
    /// The skills of the link graph that it may reach, with all that is under them; `["*"]` for
    /// all. Where it is not said: all for operators and admins, none for users.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) agent_skills: Option<SkillGrants>,
    /// `viewer`, `editor` or `admin` of the catalogue; what goes with the role where it is not said.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) catalogue: Option<CatalogueRole>,
    /// The parts of the interface that it opens, e.g. `["runs:read"]`; `["*"]`, the default, for all.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(crate) scopes: AccessScopes,
    /// The profile that narrows the agents whose skills it is served, as they list it in `usable_in_profiles`; all where
    /// it is not set.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) profile: Option<Label>,
}

impl GrantedConfig {
    /// What was said, or what follows from the role.
    pub(crate) fn rights(&self) -> Rights {
        let agent_skills = self.agent_skills.clone();
        Rights {
            role: self.role,
            tier: self.tier,
            catalogue: self
                .catalogue
                .unwrap_or_else(|| CatalogueRole::default_for(self.role)),
            agent_skills: agent_skills.unwrap_or_else(|| SkillGrants::default_for(self.role)),
            scopes: self.scopes.clone(),
            profile: self.profile.clone(),
        }
    }
}

/// An identity provider (OpenID Connect) whose tokens let in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OidcConfig {
    /// Its name, exactly as its tokens have it in `iss`: an https URL, or http on this machine.
    pub(crate) issuer: String,
    /// For whom tokens must be: one of these must be in `aud`.
    pub(crate) audiences: Vec<String>,
    /// Where its keys are; what its discovery document says where absent.
    pub(crate) jwks_url: Option<String>,
    /// How its tokens may be signed. Nothing signed with a shared secret, or not at all, is ever taken.
    #[serde(default = "algorithms")]
    #[schemars(with = "Vec<String>")]
    pub(crate) algorithms: Vec<TokenAlgorithm>,
    /// The tenant that all its users belong to. Either this, or `tenant_claim` with `tenants`.
    pub(crate) tenant: Option<TenantId>,
    /// The claim that names the tenant: its name, or from a `/` on a JSON pointer.
    pub(crate) tenant_claim: Option<String>,
    /// The tenants that the provider speaks for.
    #[serde(default)]
    pub(crate) tenants: BTreeSet<TenantId>,
    /// The claim that names the user.
    #[serde(default = "user_claim")]
    pub(crate) user_claim: String,
    /// What its users may do: the first that applies counts; whom none applies to is refused.
    pub(crate) grants: Vec<GrantConfig>,
    /// The scopes of the provider that clients of the Model Context Protocol request.
    #[serde(default = "scopes")]
    pub(crate) scopes: Vec<String>,
    /// How far clocks may be apart, in seconds.
    #[serde(default = "leeway_s")]
    pub(crate) leeway_s: u64,
    /// How long its keys are used before they are fetched again, in seconds.
    #[serde(default = "keys_s")]
    pub(crate) keys_s: u64,
    /// How much longer they are used while it cannot be reached, in seconds.
    #[serde(default = "stale_s")]
    pub(crate) stale_s: u64,
    /// Shortest time between two fetches of its keys, whatever tokens come, in seconds.
    #[serde(default = "refresh_s")]
    pub(crate) refresh_s: u64,
    /// Longest wait for its answer, in milliseconds.
    #[serde(default = "timeout_ms")]
    pub(crate) timeout_ms: u64,
}

/// What some users of a provider may do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantConfig {
    /// The claim that has to hold `value`, as a text, a word of one, or a member of a list; absent for
    /// every user of the provider.
    pub(crate) claim: Option<String>,
    /// What it has to hold.
    pub(crate) value: Option<String>,
    /// What that is.
    #[serde(flatten)]
    pub(crate) granted: GrantedConfig,
}

fn algorithms() -> Vec<TokenAlgorithm> {
    vec![
        TokenAlgorithm::Rs256,
        TokenAlgorithm::Es256,
        TokenAlgorithm::EdDsa,
    ]
}

fn user_claim() -> String {
    "sub".to_owned()
}

/// The scope that every provider of OpenID Connect knows (Core 1.0, section 3.1.2.1).
fn scopes() -> Vec<String> {
    vec!["openid".to_owned()]
}

fn leeway_s() -> u64 {
    30
}

fn keys_s() -> u64 {
    600
}

fn stale_s() -> u64 {
    3_600
}

fn refresh_s() -> u64 {
    10
}

fn timeout_ms() -> u64 {
    5_000
}
