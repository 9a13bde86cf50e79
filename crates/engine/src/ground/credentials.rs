//! Definitions of credentials, as the operator configures them. Plain values.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::ids::{Label, TenantId};
use charter_effects::{HostPattern, OAuthClient, StaticSecret};

use crate::ground::vault::SealingKeys;

/// Settings of credentials; without definitions by default.
#[derive(Debug, Clone, Default)]
pub struct CredentialSettings {
    /// The credentials that tools of every tenant may name.
    pub definitions: BTreeMap<Label, CredentialDefinition>,
    /// Credentials of one tenant. They override shared credentials of the same name.
    pub tenants: BTreeMap<TenantId, BTreeMap<Label, CredentialDefinition>>,
    /// The keys that seal connected accounts and console sessions; needed for kinds with accounts of users, and for
    /// sign-in to the console.
    pub keys: Option<SealingKeys>,
    /// The address of the console, for links at which users connect accounts.
    pub public_url: Option<String>,
    /// Variables whose values are not secret: no credential may have one of them.
    pub plain: BTreeSet<String>,
}

/// A credential.
#[derive(Debug, Clone)]
pub struct CredentialDefinition {
    /// The only hosts that a call with the credential may reach. Without any, such a call has no network access.
    pub hosts: Vec<HostPattern>,
    /// Where its secret comes from.
    pub kind: CredentialKind,
}

/// Where a credential's secret comes from.
#[derive(Debug, Clone)]
pub enum CredentialKind {
    /// A secret of the operator, which all users share.
    Static(StaticSecret),
    /// A token for Charter itself, which all users share.
    ClientCredentials(OAuthClient),
    /// An account that each user connects.
    AuthorizationCode(OAuthClient),
    /// A token for the user's token of an identity provider.
    TokenExchange(TokenExchange),
}

/// An exchange of tokens (RFC 8693).
#[derive(Debug, Clone)]
pub struct TokenExchange {
    /// The server that exchanges.
    pub client: OAuthClient,
    /// The issuer of the tokens that are exchanged: one of the identity providers of callers.
    pub subject_issuer: String,
    /// The service that the new token is for, by its name.
    pub audience: Option<String>,
    /// The service that the new token is for, by its address.
    pub resource: Option<String>,
}

impl CredentialKind {
    /// Returns the word for the kind in the configuration.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Static(_) => "static",
            Self::ClientCredentials(_) => "client_credentials",
            Self::AuthorizationCode(_) => "authorization_code",
            Self::TokenExchange(_) => "token_exchange",
        }
    }

    /// Whether each user has an account of its own, whose tokens are stored.
    #[must_use]
    pub const fn has_accounts(&self) -> bool {
        match self {
            Self::Static(_) | Self::ClientCredentials(_) => false,
            Self::AuthorizationCode(_) | Self::TokenExchange(_) => true,
        }
    }
}
