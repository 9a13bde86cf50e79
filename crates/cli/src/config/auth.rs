//! Credentials of callers: keys, and identity providers. Startup checks that the settings fit together.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::identity::Rights;
use charter_contract::ids::{Label, TenantId, UserId};
use charter_effects::TokenAlgorithm;
use charter_engine::{
    AccessScopes, CatalogueRole, ConsoleSessionSettings, Role, SkillGrants, Tier,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::credentials::ClientAuthConfig;
use super::remote::{PlainHttpConfig, SecretConfig};

/// The credentials that are accepted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AuthConfig {
    /// The accepted keys. Without any, and without a provider, the server answers on loopback only.
    pub(crate) keys: Vec<KeyConfig>,
    /// The identity providers whose tokens are accepted.
    pub(crate) oidc: Vec<OidcConfig>,
    /// How long users who signed in to the console stay signed in.
    pub(crate) console: ConsoleSessionsConfig,
}

impl AuthConfig {
    /// Whether any credential is configured.
    pub(crate) fn has_credentials(&self) -> bool {
        !self.keys.is_empty() || !self.oidc.is_empty()
    }
}

/// How long users who signed in to the console at an identity provider stay signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ConsoleSessionsConfig {
    /// How long a session lasts without a use, in seconds.
    pub(crate) idle_s: u64,
    /// How long a session lasts in any case, in seconds.
    pub(crate) lifetime_s: u64,
    /// How long claims count before the provider's refresh token renews them, in seconds. A session without a refresh
    /// token ends when its ID token expires.
    pub(crate) recheck_s: u64,
}

impl Default for ConsoleSessionsConfig {
    fn default() -> Self {
        let settings = ConsoleSessionSettings::default();
        Self {
            idle_s: settings.idle.as_secs(),
            lifetime_s: settings.lifetime.as_secs(),
            recheck_s: settings.recheck.as_secs(),
        }
    }
}

/// One API key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyConfig {
    /// SHA-256 of the key, as 64 hexadecimal digits.
    pub(crate) sha256: String,
    /// The tenant whose data it gives access to.
    pub(crate) tenant: TenantId,
    /// The user that it authenticates.
    pub(crate) user: UserId,
    /// The rights of its holder.
    #[serde(flatten)]
    pub(crate) granted: GrantedConfig,
}

/// The rights that a credential grants. These settings are flattened into those of the credential, which refuses
/// unknown settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct GrantedConfig {
    /// `user`, `operator` or `admin`.
    #[schemars(with = "String")]
    pub(crate) role: Role,
    /// `basic`, or `advanced` for lenses and the expert graph.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(crate) tier: Tier,
    /// The skills of the link graph that it may reach, with everything under them; `["*"]` for all. If absent: all for
    /// operators and admins, none for users.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) agent_skills: Option<SkillGrants>,
    /// The catalogue role: `viewer`, `editor` or `admin`; follows from the level if absent.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) catalogue: Option<CatalogueRole>,
    /// The parts of the API that it may use, e.g. `["runs:read"]`; `["*"]`, the default, for all.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(crate) scopes: AccessScopes,
    /// The profile that limits the agents whose skills it gets, by their `usable_in_profiles`; all agents if absent.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(crate) profile: Option<Label>,
}

impl GrantedConfig {
    /// The configured rights, with defaults that follow from the level.
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

/// An identity provider (OpenID Connect) whose tokens are accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OidcConfig {
    /// Its issuer URL, exactly as in `iss` of its tokens: an https URL, or http on this machine.
    pub(crate) issuer: String,
    /// The accepted audiences: one of these must be in `aud`.
    pub(crate) audiences: Vec<String>,
    /// The URL of its keys; if absent, the one in its discovery document.
    pub(crate) jwks_url: Option<String>,
    /// The accepted signature algorithms. Tokens that are unsigned or signed with a shared secret are always refused.
    #[serde(default = "algorithms")]
    #[schemars(with = "Vec<String>")]
    pub(crate) algorithms: Vec<TokenAlgorithm>,
    /// The tenant of all its users. Either this, or `tenant_claim` with `tenants`.
    pub(crate) tenant: Option<TenantId>,
    /// The claim that names the tenant: its name, or a JSON pointer if it begins with `/`.
    pub(crate) tenant_claim: Option<String>,
    /// The tenants whose users the provider may authenticate.
    #[serde(default)]
    pub(crate) tenants: BTreeSet<TenantId>,
    /// The claim that names the user.
    #[serde(default = "user_claim")]
    pub(crate) user_claim: String,
    /// The rights of its users: the first matching grant applies; a user without one is refused.
    pub(crate) grants: Vec<GrantConfig>,
    /// The scopes of the provider that clients of the Model Context Protocol request.
    #[serde(default = "scopes")]
    pub(crate) scopes: Vec<String>,
    /// The allowed clock difference, in seconds.
    #[serde(default = "leeway_s")]
    pub(crate) leeway_s: u64,
    /// How long its keys are used before they are fetched again, in seconds.
    #[serde(default = "keys_s")]
    pub(crate) keys_s: u64,
    /// How much longer they are used while the provider is unreachable, in seconds.
    #[serde(default = "stale_s")]
    pub(crate) stale_s: u64,
    /// Shortest time between two fetches of its keys, in seconds.
    #[serde(default = "refresh_s")]
    pub(crate) refresh_s: u64,
    /// Timeout of a request to the provider, in milliseconds.
    #[serde(default = "timeout_ms")]
    pub(crate) timeout_ms: u64,
    /// How users sign in to the console at the provider; if absent, they cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) console: Option<ConsoleClientConfig>,
}

/// The console's registration with an identity provider, for sign-in by authorization code with PKCE. The redirect URI
/// to register is the public URL with `/console/signed-in`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConsoleClientConfig {
    /// The provider's name on the sign-in page; the issuer's host if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    /// The id under which the console is registered, which its ID tokens have as audience.
    pub(crate) client_id: String,
    /// Where the registered secret is; if absent, the console is a public client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<SecretConfig>,
    /// How that secret is sent.
    #[serde(default)]
    pub(crate) client_auth: ClientAuthConfig,
    /// The requested scopes; `openid` must be among them. Many providers issue a refresh token for `offline_access`.
    #[serde(default = "scopes")]
    pub(crate) scopes: Vec<String>,
    /// Further parameters of the authorization request.
    #[serde(default)]
    pub(crate) parameters: BTreeMap<String, String>,
    /// Private addresses, and hosts with ports other than 80 and 443, at which the provider may be.
    #[serde(default)]
    pub(crate) egress: Vec<String>,
    /// The hosts to which plain HTTP is allowed.
    #[serde(default)]
    pub(crate) plain_http: PlainHttpConfig,
}

/// The rights of some users of a provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantConfig {
    /// The claim that must contain `value`: as a string, a word of a string, or a member of a list; absent for every
    /// user of the provider.
    pub(crate) claim: Option<String>,
    /// The value that the claim must contain.
    pub(crate) value: Option<String>,
    /// The rights.
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
