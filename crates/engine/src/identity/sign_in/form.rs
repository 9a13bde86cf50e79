//! The input and output forms of sign-in. None of them has a token of a provider.

use charter_contract::ids::{TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::console_session::ConsoleSession;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::secret::SessionSecret;

/// The ways to sign in to the console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SignInOptions")]
pub struct SignInOptions {
    /// The identity providers; none if users need an API key.
    pub providers: Vec<SignInProvider>,
}

/// An identity provider at which users sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SignInProvider")]
pub struct SignInProvider {
    /// Its issuer, by which a sign-in names it.
    pub issuer: String,
    /// Its name for users.
    pub label: String,
}

/// A request to sign in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInOrder {
    /// The issuer of the identity provider; may be absent if there is only one.
    #[serde(default)]
    #[schemars(length(max = 2_000))]
    pub issuer: Option<String>,
}

/// A started sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SignInStart")]
pub struct SignInStart {
    /// The page of the identity provider on which the user signs in.
    pub authorization_url: String,
    /// Where it sends the browser back.
    pub redirect_uri: String,
    /// Until when the sign-in can be completed.
    pub expires_at: Timestamp,
}

/// A started sign-in, with the secret that its browser keeps.
#[derive(Debug)]
pub struct StartedSignIn {
    /// The started sign-in.
    pub start: SignInStart,
    /// The secret.
    pub browser: SessionSecret,
}

/// A console session, as its own console sees it.
#[derive(Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ConsoleSession")]
pub struct ConsoleSessionView {
    /// The tenant.
    pub tenant: TenantId,
    /// The user who signed in.
    pub user: UserId,
    /// The issuer of the identity provider.
    pub issuer: String,
    /// The token that every change must send in the header `X-Charter-Session`.
    pub page_token: String,
    /// When the user signed in.
    pub signed_in_at: Timestamp,
    /// When the session ends unless it is used before.
    pub ends_at: Timestamp,
    /// When the session ends in any case.
    pub expires_at: Timestamp,
}

impl std::fmt::Debug for ConsoleSessionView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConsoleSessionView")
            .field("tenant", &self.tenant)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl ConsoleSessionView {
    pub(super) fn new(id: &SessionSecret, record: &ConsoleSession, issuer: &str) -> Self {
        Self {
            tenant: record.tenant_id.clone(),
            user: record.user_id.clone(),
            issuer: issuer.to_owned(),
            page_token: id.page_token(),
            signed_in_at: record.created_at,
            ends_at: record.ends_at,
            expires_at: record.expires_at,
        }
    }
}

/// A new session, with the id that its browser keeps.
#[derive(Debug)]
pub struct OpenedConsoleSession {
    /// The id.
    pub id: SessionSecret,
    /// The session.
    pub view: ConsoleSessionView,
}

/// An ended session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SignedOut")]
pub struct SignedOut {
    /// Where the user can end the session at the identity provider too, if it has such an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign_out_url: Option<String>,
}
