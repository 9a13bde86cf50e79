//! Verifies tokens of identity providers (OpenID Connect, RFC 7519): issuer, audience, expiry. Keys come from the
//! provider (RFC 7517), found by its discovery document.
//!
//! Claims are returned unchanged. Must not know what claims mean here.

mod fetch;
mod keys;

use std::time::Duration;

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::http::{HttpRunner, Redirects};
use fetch::KeysLocation;
use keys::{Keys, MissingKey};

/// Largest token that is parsed, in bytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Permitted signature algorithms: all use a key that only the provider has. `none` and shared secrets cannot be
/// configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TokenAlgorithm {
    /// RSA PKCS #1 v1.5 with SHA-256.
    Rs256,
    /// RSA PKCS #1 v1.5 with SHA-384.
    Rs384,
    /// RSA PKCS #1 v1.5 with SHA-512.
    Rs512,
    /// RSA PSS with SHA-256.
    Ps256,
    /// RSA PSS with SHA-384.
    Ps384,
    /// RSA PSS with SHA-512.
    Ps512,
    /// ECDSA with P-256.
    Es256,
    /// ECDSA with P-384.
    Es384,
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

impl From<TokenAlgorithm> for Algorithm {
    fn from(algorithm: TokenAlgorithm) -> Self {
        match algorithm {
            TokenAlgorithm::Rs256 => Self::RS256,
            TokenAlgorithm::Rs384 => Self::RS384,
            TokenAlgorithm::Rs512 => Self::RS512,
            TokenAlgorithm::Ps256 => Self::PS256,
            TokenAlgorithm::Ps384 => Self::PS384,
            TokenAlgorithm::Ps512 => Self::PS512,
            TokenAlgorithm::Es256 => Self::ES256,
            TokenAlgorithm::Es384 => Self::ES384,
            TokenAlgorithm::EdDsa => Self::EdDSA,
        }
    }
}

/// A trusted identity provider.
#[derive(Debug, Clone)]
pub struct IssuerOptions {
    /// Its URL, exactly as in its tokens and its discovery document.
    pub issuer: String,
    /// Accepted audiences; a token must have one of them.
    pub audiences: Vec<String>,
    /// URL of its keys. Without one, the discovery document's.
    pub jwks_url: Option<String>,
    /// Accepted signature algorithms.
    pub algorithms: Vec<TokenAlgorithm>,
    /// Clock skew that is tolerated.
    pub leeway: Duration,
    /// How long keys are cached.
    pub max_age: Duration,
    /// How much longer cached keys are used while the provider is unreachable.
    pub stale: Duration,
    /// Shortest time between two fetches, regardless of the tokens that arrive.
    pub refresh: Duration,
    /// Timeout of a request to the provider.
    pub timeout: Duration,
}

/// An invalid issuer configuration.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    /// An address is invalid.
    #[error("{url:?} of the issuer {issuer:?} is {what}")]
    Address {
        /// The issuer.
        issuer: String,
        /// The address.
        url: String,
        /// The fault of the address.
        what: &'static str,
    },
    /// With this configuration, no token or every token would be accepted.
    #[error("the issuer {issuer:?} has no {what}")]
    Lacks {
        /// The issuer.
        issuer: String,
        /// The missing setting.
        what: &'static str,
    },
    /// Two have the same name.
    #[error("the issuer {0:?} is named twice")]
    Twice(String),
    /// Creating the HTTP client failed.
    #[error("preparing the HTTP client for issuers")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Why a token is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefused {
    /// The token is invalid; the reason.
    #[error("{0}")]
    Untrusted(String),
    /// The provider's keys are unavailable.
    #[error("the keys of the issuer {0:?} cannot be fetched")]
    Unavailable(String),
}

/// Claims of a verified token.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedClaims {
    /// The issuer: [`IssuerOptions::issuer`].
    pub issuer: String,
    /// The claims.
    pub claims: Map<String, Value>,
}

/// The ID token that a client expects.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedIdToken<'e> {
    /// The issuer that the client sent the user to.
    pub issuer: &'e str,
    /// The client's id, which is the audience.
    pub client_id: &'e str,
    /// The nonce of the request; `None` for a refreshed token.
    pub nonce: Option<&'e str>,
}

struct Issuer {
    options: IssuerOptions,
    algorithms: Vec<Algorithm>,
    keys: Keys,
}

/// The trusted identity providers.
pub struct Issuers(Vec<Issuer>);

impl std::fmt::Debug for Issuers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let options = self.0.iter().map(|issuer| &issuer.options);
        f.debug_list().entries(options).finish()
    }
}

impl Issuers {
    /// Trusts tokens of these providers. Nothing is fetched before the first token arrives.
    ///
    /// # Errors
    /// [`IssuerError`]: addresses are https, or http on this machine.
    pub fn new(options: Vec<IssuerOptions>) -> Result<Self, IssuerError> {
        let client = HttpRunner::new()
            .map_err(|error| IssuerError::Client(error.into()))?
            .pooled_client(Redirects::None)
            .map_err(|error| IssuerError::Client(error.into()))?;
        let mut issuers: Vec<Issuer> = Vec::new();
        for options in options {
            let lacks = |what| IssuerError::Lacks {
                issuer: options.issuer.clone(),
                what,
            };
            if options.audiences.is_empty() {
                return Err(lacks("audience"));
            }
            if options.algorithms.is_empty() {
                return Err(lacks("algorithm"));
            }
            if issuers
                .iter()
                .any(|known| known.options.issuer == options.issuer)
            {
                return Err(IssuerError::Twice(options.issuer));
            }
            let place = KeysLocation::from_options(&options)?;
            issuers.push(Issuer {
                algorithms: options
                    .algorithms
                    .iter()
                    .copied()
                    .map(Algorithm::from)
                    .collect(),
                keys: Keys::new(client.clone(), place, &options),
                options,
            });
        }
        Ok(Self(issuers))
    }

    /// Verifies a token: its form, its issuer before any key is fetched, its algorithm, the signature, the audience and
    /// the times.
    ///
    /// # Errors
    /// [`TokenRefused`].
    pub async fn believe(&self, token: &str) -> Result<VerifiedClaims, TokenRefused> {
        self.verify(token, None).await
    }

    /// Verifies an ID token that a client received from the issuer's token endpoint (OpenID Connect Core 1.0, section
    /// 3.1.3.7): as [`Issuers::believe`], but its audience is the client, and it answers the request with this nonce.
    /// A refreshed one has no nonce (section 12.2).
    ///
    /// # Errors
    /// [`TokenRefused`].
    pub async fn believe_id_token(
        &self,
        token: &str,
        expected: &ExpectedIdToken<'_>,
    ) -> Result<VerifiedClaims, TokenRefused> {
        let untrusted = |why: &str| Err(TokenRefused::Untrusted(why.to_owned()));
        let verified = self.verify(token, Some(expected.client_id)).await?;
        if verified.issuer != expected.issuer {
            return untrusted("the ID token comes from another issuer");
        }
        let text = |claim: &str| verified.claims.get(claim).and_then(Value::as_str);
        let audiences = verified.claims.get("aud").and_then(Value::as_array);
        let is_shared = audiences.is_some_and(|audiences| audiences.len() > 1);
        match text("azp") {
            Some(party) if party != expected.client_id => {
                return untrusted("the ID token was issued to another client");
            }
            None if is_shared => {
                return untrusted("the ID token does not name the client that it was issued to");
            }
            Some(_) | None => {}
        }
        if expected.nonce.is_some() && text("nonce") != expected.nonce {
            return untrusted("the ID token answers another request");
        }
        Ok(verified)
    }

    /// Verifies a token for this audience, or for one of the configured ones.
    async fn verify(
        &self,
        token: &str,
        audience: Option<&str>,
    ) -> Result<VerifiedClaims, TokenRefused> {
        let untrusted = |why: &str| TokenRefused::Untrusted(why.to_owned());
        if token.len() > MAX_TOKEN_BYTES {
            return Err(untrusted("the token is too long"));
        }
        let header = decode_header(token).map_err(|_| untrusted("not a signed token"))?;
        let issuer = claimed_issuer(token).ok_or_else(|| untrusted("the token names no issuer"))?;
        let issuer = self.0.iter().find(|known| known.options.issuer == issuer);
        let issuer = issuer.ok_or_else(|| untrusted("the token's issuer is unknown"))?;
        if !issuer.algorithms.contains(&header.alg) {
            return Err(untrusted("the token's signature algorithm is not accepted"));
        }
        if header.crit.is_some() {
            return Err(untrusted("the token has an unsupported `crit` header"));
        }
        let key = issuer.keys.key(header.kid.as_deref(), header.alg).await;
        let key = key.map_err(|lacking| match lacking {
            MissingKey::Key => untrusted("the token is not signed with a key of its issuer"),
            MissingKey::Issuer => TokenRefused::Unavailable(issuer.options.issuer.clone()),
        })?;
        let validation = issuer.validation(header.alg, audience);
        let checked = decode::<Map<String, Value>>(token, &key, &validation);
        let claims = checked
            .map_err(|error| untrusted(error_text(&error)))?
            .claims;
        Ok(VerifiedClaims {
            issuer: issuer.options.issuer.clone(),
            claims,
        })
    }
}

impl Issuer {
    fn validation(&self, algorithm: Algorithm, audience: Option<&str>) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.leeway = self.options.leeway.as_secs();
        validation.validate_nbf = true;
        match audience {
            Some(audience) => validation.set_audience(&[audience]),
            None => validation.set_audience(&self.options.audiences),
        }
        validation.set_issuer(&[&self.options.issuer]);
        validation.set_required_spec_claims(&["aud", "exp", "iss"]);
        validation
    }
}

/// Reads the issuer that a token claims, before the token is verified.
fn claimed_issuer(token: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Claimed {
        iss: String,
    }
    let claimed = jsonwebtoken::dangerous::insecure_decode_claims::<Claimed>(token);
    claimed.ok().map(|claimed| claimed.iss)
}

/// Describes an error in words that disclose nothing.
fn error_text(error: &jsonwebtoken::errors::Error) -> &'static str {
    use jsonwebtoken::errors::ErrorKind;
    match error.kind() {
        ErrorKind::ExpiredSignature => "the token has expired",
        ErrorKind::ImmatureSignature => "the token is not valid yet",
        ErrorKind::InvalidAudience => "the token is for another audience",
        ErrorKind::InvalidIssuer => "the token's issuer is unknown",
        ErrorKind::MissingRequiredClaim(_) => "the token lacks its issuer, audience or expiry",
        ErrorKind::InvalidSignature => "the token's signature is wrong",
        _ => "the token cannot be read",
    }
}
