//! Callers with tokens of identity providers: maps a provider's claims to rights (OpenID Connect Core 1.0, section 5).
//!
//! The port verifies tokens; this module determines the holder's tenant and rights. A token is checked at each request
//! and never cached.

use std::collections::{BTreeSet, HashMap};

use charter_contract::error_code::ErrorCode;
use charter_contract::identity::Rights;
use charter_contract::ids::{TenantId, UserId};
use charter_effects::{
    ExpectedIdToken, IssuerError, IssuerOptions, Issuers, OAuthClient, TokenRefused, VerifiedClaims,
};
use serde_json::{Map, Value, json};

use crate::{Caller, CredentialId, EngineError};

/// The path of a value in a token: the name of a claim, or, from a `/` on, the JSON pointer (RFC 6901) of a value
/// within one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim(String);

impl Claim {
    /// Creates the path of a claim, or of a pointer within one.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    fn value_in<'c>(&self, claims: &'c Map<String, Value>) -> Option<&'c Value> {
        let Some(pointer) = self.0.strip_prefix('/') else {
            return claims.get(&self.0);
        };
        let (name, rest) = match pointer.split_once('/') {
            Some((name, _)) => (name, &pointer[name.len()..]),
            None => (pointer, ""),
        };
        let name = name.replace("~1", "/").replace("~0", "~");
        claims.get(&name)?.pointer(rest)
    }

    fn text<'c>(&self, claims: &'c Map<String, Value>) -> Option<&'c str> {
        self.value_in(claims)?.as_str()
    }

    /// Returns whether it is `value`, or contains it: a list of texts, or a text of words as `scope` is (RFC 8693,
    /// section 4.2).
    fn holds(&self, claims: &Map<String, Value>, value: &str) -> bool {
        match self.value_in(claims) {
            Some(Value::String(text)) => text == value || text.split(' ').any(|word| word == value),
            Some(Value::Array(values)) => values.iter().any(|one| one.as_str() == Some(value)),
            _ => false,
        }
    }
}

/// The tenant of the holders of a provider's tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tenancy {
    /// This tenant.
    One(TenantId),
    /// The tenant that a claim names, if it is one of these.
    Claimed {
        /// The claim.
        claim: Claim,
        /// The tenants that the provider may name.
        tenants: BTreeSet<TenantId>,
    },
}

/// Rights for the holders of some tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimGrant {
    /// The claim that must have a value; none for every token of the provider.
    pub when: Option<(Claim, String)>,
    /// The holder's rights.
    pub rights: Rights,
}

/// A provider, and the mapping of its claims.
#[derive(Debug, Clone)]
pub struct Provider {
    /// The issuer, and the accepted tokens.
    pub issuer: IssuerOptions,
    /// The tenant of its users.
    pub tenancy: Tenancy,
    /// The claim that names the user.
    pub user: Claim,
    /// The grants: the first one that applies counts.
    pub grants: Vec<ClaimGrant>,
    /// The scopes of the provider that clients request. They are not scopes of this interface.
    pub scopes: Vec<String>,
    /// The client by which users sign in to the console; `None` if they cannot.
    pub console: Option<ConsoleClient>,
}

/// The console's registration with an identity provider.
#[derive(Debug, Clone)]
pub struct ConsoleClient {
    /// The provider's name for users.
    pub label: String,
    /// The registration.
    pub client: OAuthClient,
}

/// The providers whose tokens are accepted; none by default.
#[derive(Debug, Default)]
pub struct Providers {
    issuers: Option<Issuers>,
    known: HashMap<String, Provider>,
    names: Vec<String>,
    scopes: Vec<String>,
}

impl Providers {
    /// Accepts tokens of these providers.
    ///
    /// # Errors
    /// [`IssuerError`] for an invalid issuer.
    pub fn new(providers: Vec<Provider>) -> Result<Self, IssuerError> {
        if providers.is_empty() {
            return Ok(Self::default());
        }
        let options = providers.iter().map(|provider| provider.issuer.clone());
        let issuers = Issuers::new(options.collect())?;
        let names = providers.iter().map(|provider| &provider.issuer.issuer);
        let names = names.cloned().collect();
        let scopes = scopes(&providers);
        let named = providers
            .into_iter()
            .map(|provider| (provider.issuer.issuer.clone(), provider));
        Ok(Self {
            issuers: Some(issuers),
            known: named.collect(),
            names,
            scopes,
        })
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns the issuers, in the order of the configuration.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the scopes that clients request, each once.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Returns the caller of an identity provider's token.
    ///
    /// # Errors
    /// `unauthenticated` for one that is invalid, or names no user or tenant; `permission_denied` if its holder has no
    /// grant; `unavailable` if the provider's keys cannot be fetched.
    pub async fn caller_of_token(&self, token: &str) -> Result<Caller, EngineError> {
        let refused = |why: String| EngineError::new(ErrorCode::Unauthenticated, why);
        let Some(issuers) = &self.issuers else {
            return Err(refused("no identity provider is configured".to_owned()));
        };
        let believed = issuers.believe(token).await.map_err(unbelieved)?;
        self.caller_of_claims(&believed.issuer, &believed.claims)
    }

    /// Returns the claims of an ID token that the console's client received.
    ///
    /// # Errors
    /// `unauthenticated` for a token that is invalid or another than expected; `unavailable` if the provider's keys
    /// cannot be fetched.
    pub(crate) async fn claims_of_id_token(
        &self,
        token: &str,
        expected: &ExpectedIdToken<'_>,
    ) -> Result<Map<String, Value>, EngineError> {
        let Some(issuers) = &self.issuers else {
            let message = "no identity provider is configured";
            return Err(EngineError::new(ErrorCode::Unauthenticated, message));
        };
        let believed = issuers.believe_id_token(token, expected).await;
        let VerifiedClaims { claims, .. } = believed.map_err(unbelieved)?;
        Ok(claims)
    }

    /// Returns the caller whom verified claims of an issuer name.
    ///
    /// # Errors
    /// `unauthenticated` for an issuer that is not configured, and for claims without a valid user or tenant;
    /// `permission_denied` if their holder has no grant.
    pub(crate) fn caller_of_claims(
        &self,
        issuer: &str,
        claims: &Map<String, Value>,
    ) -> Result<Caller, EngineError> {
        let provider = self.known.get(issuer).ok_or_else(|| {
            let message = "the token's issuer is unknown";
            EngineError::new(ErrorCode::Unauthenticated, message)
        })?;
        provider.caller(claims)
    }

    /// Returns the providers at which users sign in to the console, in the order of the configuration.
    pub(crate) fn console_clients(&self) -> impl Iterator<Item = (&str, &ConsoleClient)> {
        self.names
            .iter()
            .filter_map(|name| Some((name.as_str(), self.console_client(name)?)))
    }

    /// Returns the client by which users sign in at an issuer, if they can.
    pub(crate) fn console_client(&self, issuer: &str) -> Option<&ConsoleClient> {
        self.known.get(issuer)?.console.as_ref()
    }
}

/// Converts the refusal of a token.
fn unbelieved(why: TokenRefused) -> EngineError {
    let message = why.to_string();
    match why {
        TokenRefused::Untrusted(_) => EngineError::new(ErrorCode::Unauthenticated, message),
        TokenRefused::Unavailable(issuer) => EngineError::new(ErrorCode::Unavailable, message)
            .with_details(json!({"issuer": issuer})),
    }
}

/// Returns the scopes of all providers, each once.
fn scopes(providers: &[Provider]) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for scope in providers.iter().flat_map(|provider| &provider.scopes) {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    scopes
}

impl Provider {
    fn caller(&self, claims: &Map<String, Value>) -> Result<Caller, EngineError> {
        let unfit = |what: &str| {
            let message = format!("the token has no valid {what}");
            EngineError::new(ErrorCode::Unauthenticated, message)
        };
        let user = self.user.text(claims).map(UserId::parse);
        let user = user.and_then(Result::ok).ok_or_else(|| unfit("user"))?;
        let tenant = match &self.tenancy {
            Tenancy::One(tenant) => tenant.clone(),
            Tenancy::Claimed { claim, tenants } => {
                let named = claim.text(claims).map(TenantId::parse);
                let named = named.and_then(Result::ok);
                let named = named.filter(|named| tenants.contains(named));
                named.ok_or_else(|| unfit("tenant"))?
            }
        };
        let applies = |grant: &&ClaimGrant| match &grant.when {
            None => true,
            Some((claim, value)) => claim.holds(claims, value),
        };
        let grant = self.grants.iter().find(applies).ok_or_else(|| {
            let message = "the token is valid, but grants no access here";
            EngineError::new(ErrorCode::PermissionDenied, message)
                .with_details(json!({"grants": []}))
        })?;
        let subject = claims.get("sub").and_then(Value::as_str);
        let credential = CredentialId::Token {
            issuer: self.issuer.issuer.clone(),
            subject: subject.unwrap_or(user.as_str()).to_owned(),
        };
        let caller = Caller::new(tenant, user, grant.rights.clone());
        Ok(caller.with_credential(credential))
    }
}

#[cfg(test)]
mod tests;
