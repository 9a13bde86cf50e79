//! The credentials that tools act with, in the configuration, which names where secrets are and never holds them.
//! Startup checks that the settings of a credential fit its kind.

use std::collections::BTreeMap;
use std::path::PathBuf;

use charter_contract::ids::{Label, TenantId};
use charter_effects::OAuthClient;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paths::FilePath;
use super::remote::{PlainHttpConfig, SecretConfig};

/// The credentials that tools act with.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CredentialsConfig {
    /// The credentials that tools of every tenant may name.
    pub(crate) definitions: BTreeMap<Label, CredentialConfig>,
    /// Credentials of tenants.
    pub(crate) tenants: BTreeMap<TenantId, TenantCredentialsConfig>,
    /// The file with the key that seals connected accounts and console sessions; `credentials.key` in the data directory
    /// if absent. It is created if it is missing. Replicas need the same key, so with `store.url` it must be named.
    #[schemars(with = "Option<FilePath>")]
    pub(crate) key_file: Option<PathBuf>,
    /// Files with earlier keys, which only open. A start seals connected accounts with the current key.
    #[schemars(with = "Vec<FilePath>")]
    pub(crate) previous_key_files: Vec<PathBuf>,
}

/// Credentials of a tenant.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TenantCredentialsConfig {
    /// Credentials that only its tools may name; one replaces the shared credential of the same name.
    pub(crate) definitions: BTreeMap<Label, CredentialConfig>,
}

/// One credential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CredentialConfig {
    /// Where its secret comes from.
    pub(crate) kind: CredentialKindConfig,
    /// The only hosts that a call with the credential may reach, e.g. `api.github.com` or `127.0.0.1:5005`. Without
    /// any, such a call has no network access.
    #[serde(default)]
    pub(crate) hosts: Vec<String>,
    /// For `static`: where the secret is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<StaticSecretConfig>,
    /// The issuer of the authorization server. Its addresses are discovered unless `token_url` is given. Without both,
    /// the server is the one that `resource` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) issuer: Option<String>,
    /// Where users grant access, for a server without a discovery document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) authorization_url: Option<String>,
    /// Where tokens are issued, for a server without a discovery document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_url: Option<String>,
    /// Where tokens are revoked, for a server without a discovery document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revocation_url: Option<String>,
    /// The id under which Charter is registered with the server. Without it, Charter registers itself for each account
    /// of the kind `authorization_code`, where the server allows that (RFC 7591).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_id: Option<String>,
    /// Where the registered secret is; if absent, Charter is a public client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<SecretConfig>,
    /// How that secret is sent.
    #[serde(default)]
    pub(crate) client_auth: ClientAuthConfig,
    /// The requested scopes.
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// Further parameters: of the authorization request for `authorization_code`, else of the token request.
    #[serde(default)]
    pub(crate) parameters: BTreeMap<String, String>,
    /// For `token_exchange`: the issuer in `auth.oidc` whose tokens are exchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject_issuer: Option<String>,
    /// For `token_exchange`: the service that the new token is for, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) audience: Option<String>,
    /// The service that tokens are for, by its URL (RFC 8707), such as that of an MCP server. For `authorization_code`
    /// without `issuer` and `token_url`, its metadata name the authorization server (RFC 9728).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Option<String>,
    /// Private addresses, and hosts with ports other than 80 and 443, at which the authorization server may be.
    #[serde(default)]
    pub(crate) egress: Vec<String>,
    /// The hosts to which plain HTTP is allowed.
    #[serde(default)]
    pub(crate) plain_http: PlainHttpConfig,
    /// Timeout of one request to the authorization server, or of one run of a program, in milliseconds.
    #[serde(default = "timeout_ms")]
    pub(crate) timeout_ms: u64,
}

fn timeout_ms() -> u64 {
    u64::try_from(OAuthClient::TIMEOUT.as_millis()).unwrap_or(u64::MAX)
}

/// Where a credential's secret comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CredentialKindConfig {
    /// A secret of the operator, which all users share.
    Static,
    /// OAuth 2.0 client credentials: a token for Charter, which all users share.
    ClientCredentials,
    /// OAuth 2.0 authorization code with PKCE: an account that each user connects.
    AuthorizationCode,
    /// Token exchange (RFC 8693) for the caller's token of an identity provider.
    TokenExchange,
}

/// The location of a static secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StaticSecretConfig {
    /// An environment variable of this name, read at the start.
    Variable(String),
    /// This file, without a line end at its end, read at each use.
    File(#[schemars(with = "FilePath")] PathBuf),
    /// A program that prints the secret, as an absolute path, and its arguments. It runs outside the sandbox, with the
    /// server's environment; its output is used for a minute.
    Command(Vec<String>),
}

/// How a client's secret is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClientAuthConfig {
    /// As HTTP Basic.
    #[default]
    Basic,
    /// In the body.
    Post,
}
