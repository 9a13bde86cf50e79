//! A local identity provider: a discovery document, keys, and signed tokens. A test can replace its keys, make it
//! fail, and count the requests for its discovery document.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::http_stub::{HttpStub, Reply};

/// The bytes before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410).
const ED25519_PKCS8: &[u8] = &[
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// The bytes before the 32 bytes of a P-256 key in PKCS #8 (RFC 5958, RFC 5915).
const P256_PKCS8: &[u8] = &[
    0x30, 0x41, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
    0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x27, 0x30, 0x25, 0x02, 0x01,
    0x01, 0x04, 0x20,
];

/// An error while making a key or a token.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// A key that signs tokens.
#[derive(Clone)]
pub struct TokenKey {
    id: String,
    algorithm: Algorithm,
    key: EncodingKey,
}

impl TokenKey {
    /// Generates an Ed25519 key with this id.
    ///
    /// # Errors
    /// If no randomness is available.
    pub fn ed25519(id: &str) -> Result<Self, Fault> {
        let key = EncodingKey::from_ed_der(&pkcs8(ED25519_PKCS8)?);
        Ok(Self::new(id, Algorithm::EdDSA, key))
    }

    /// Generates a P-256 ECDSA key with this id.
    ///
    /// # Errors
    /// If no randomness is available.
    pub fn p256(id: &str) -> Result<Self, Fault> {
        let key = EncodingKey::from_ec_der(&pkcs8(P256_PKCS8)?);
        Ok(Self::new(id, Algorithm::ES256, key))
    }

    /// Wraps an existing key.
    #[must_use]
    pub fn new(id: &str, algorithm: Algorithm, key: EncodingKey) -> Self {
        Self {
            id: id.to_owned(),
            algorithm,
            key,
        }
    }

    /// Signs claims in a token that names the key.
    ///
    /// # Errors
    /// If signing fails.
    pub fn sign(&self, claims: &Value) -> Result<String, Fault> {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.id.clone());
        self.sign_with(&header, claims)
    }

    /// Signs claims under a custom header.
    ///
    /// # Errors
    /// If signing fails.
    pub fn sign_with(&self, header: &Header, claims: &Value) -> Result<String, Fault> {
        Ok(encode(header, claims, &self.key)?)
    }

    /// Returns the public key, as a key of a JSON Web Key Set.
    ///
    /// # Errors
    /// If the key has no such form.
    pub fn public(&self) -> Result<Value, Fault> {
        let mut jwk = serde_json::to_value(Jwk::from_encoding_key(&self.key, self.algorithm)?)?;
        jwk["kid"] = json!(self.id);
        jwk["use"] = json!("sig");
        Ok(jwk)
    }
}

fn pkcs8(before: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)?;
    Ok([before, &secret].concat())
}

struct State {
    issuer: String,
    keys: Vec<Value>,
    fails: bool,
}

/// The identity provider. It runs until it is dropped.
pub struct IssuerServer {
    server: HttpStub,
    state: Arc<Mutex<State>>,
}

impl IssuerServer {
    /// Starts a provider with these public keys.
    ///
    /// # Errors
    /// If no port is free.
    pub fn start(keys: Vec<Value>) -> io::Result<Self> {
        let state = Arc::new(Mutex::new(State {
            issuer: String::new(),
            keys,
            fails: false,
        }));
        let shared = Arc::clone(&state);
        let server = HttpStub::start(move |request, _| {
            let state = lock(&shared);
            if state.fails {
                return Reply::json(503, "{}");
            }
            let body = match request.path.as_str() {
                "/.well-known/openid-configuration" => {
                    json!({"issuer": state.issuer, "jwks_uri": format!("{}/keys", state.issuer)})
                }
                "/keys" => json!({"keys": state.keys}),
                _ => return Reply::json(404, "{}"),
            };
            Reply::json(200, body.to_string())
        })?;
        lock(&state).issuer = server.url("");
        Ok(Self { server, state })
    }

    /// Returns the issuer name.
    #[must_use]
    pub fn issuer(&self) -> String {
        self.server.url("")
    }

    /// Replaces the keys.
    pub fn set_keys(&self, keys: Vec<Value>) {
        lock(&self.state).keys = keys;
    }

    /// Sets another issuer in the discovery document.
    pub fn pretend(&self, issuer: &str) {
        lock(&self.state).issuer = issuer.to_owned();
    }

    /// Makes all responses fail, or stops that.
    pub fn set_failing(&self, fails: bool) {
        lock(&self.state).fails = fails;
    }

    /// Returns the number of requests for the discovery document.
    #[must_use]
    pub fn asked(&self) -> usize {
        let seen = self.server.seen();
        seen.iter()
            .filter(|request| request.path.starts_with("/.well-known"))
            .count()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
