//! The input and output forms of credentials. None of them has a secret.

use charter_contract::ids::{Label, UserId};
use charter_contract::time::Timestamp;
use charter_store::connected_account::ConnectedAccount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A credential, with the state of the caller's own account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Credential")]
pub struct CredentialView {
    /// Its name in the configuration, by which tools refer to it.
    pub name: Label,
    /// Where its secret comes from.
    #[schemars(extend("enum" = ["static", "client_credentials", "authorization_code", "token_exchange"]))]
    pub kind: String,
    /// Whether calls of the caller can use it.
    pub state: CredentialState,
    /// When the caller connected the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected_at: Option<Timestamp>,
    /// The page on which the caller connects the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_url: Option<String>,
}

/// Whether calls of a user can use a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CredentialState")]
pub enum CredentialState {
    /// The operator provides it for all users.
    Ready,
    /// The user has connected an account.
    Connected,
    /// The user has to connect an account.
    NotConnected,
    /// The access has ended: the user has to connect the account again.
    Ended,
}

/// A request to connect an account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionOrder {
    /// Where the authorization server sends the browser back: an address of this machine, such as
    /// `http://127.0.0.1:8123/`; the page of the console when absent.
    #[serde(default)]
    #[schemars(length(max = 2_000))]
    pub redirect_uri: Option<String>,
}

/// A started connection of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ConnectionStart")]
pub struct ConnectionStart {
    /// The page of the authorization server on which the user grants access.
    pub authorization_url: String,
    /// Where it sends the browser back.
    pub redirect_uri: String,
    /// Until when the connection can be completed.
    pub expires_at: Timestamp,
}

/// A page of users who connected an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AccountPage")]
pub struct AccountPage {
    /// Newest first.
    pub entries: Vec<AccountView>,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A user's connected account, without its tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ConnectedAccount")]
pub struct AccountView {
    /// The user.
    pub user: UserId,
    /// When the user connected it.
    pub connected_at: Timestamp,
    /// When its tokens last changed.
    pub changed_at: Timestamp,
}

impl AccountView {
    pub(super) fn new(account: &ConnectedAccount) -> Self {
        Self {
            user: account.key.user_id.clone(),
            connected_at: account.connected_at,
            changed_at: account.changed_at,
        }
    }
}

/// The data of an event about a connected account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AccountEventRef")]
pub struct AccountEventRef {
    /// Name of the credential.
    pub credential: Label,
    /// The user whose account it is.
    pub user: UserId,
    /// The user who did it.
    pub by: UserId,
}
