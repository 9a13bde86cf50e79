//! An issuer's keys, cached. The issuer is contacted at most once in the configured time, regardless of the tokens that
//! arrive.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use reqwest::Client;
use serde_json::Value;
use tokio::sync::Mutex;

use super::IssuerOptions;
use super::fetch::KeysLocation;

/// Keys of a set that are kept; more than any provider has.
const MAX_KEYS: usize = 64;

/// Lengths of an RSA modulus in base64url digits: 2048 to 8192 bits. Shorter ones are insecure, and longer ones cost
/// too much to verify.
const MODULUS_DIGITS: std::ops::RangeInclusive<usize> = 341..=1366;

/// The missing item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingKey {
    /// A key with that id.
    Key,
    /// A recent answer of the issuer.
    Issuer,
}

/// A key that verifies signatures.
struct VerificationKey {
    id: Option<String>,
    /// The one algorithm of the key, if the set declares it.
    algorithm: Option<Algorithm>,
    family: Family,
    key: DecodingKey,
}

#[derive(PartialEq, Eq)]
enum Family {
    Rsa,
    P256,
    P384,
    Ed25519,
}

struct Fetched {
    keys: Vec<VerificationKey>,
    at: Instant,
}

pub(super) struct Keys {
    client: Client,
    place: KeysLocation,
    issuer: String,
    max_age: Duration,
    stale: Duration,
    refresh: Duration,
    timeout: Duration,
    fetched: ArcSwapOption<Fetched>,
    /// Time of the last fetch; held during a fetch, so that one caller fetches and the others wait.
    last_fetch: Mutex<Option<Instant>>,
}

impl Keys {
    pub(super) fn new(client: Client, place: KeysLocation, options: &IssuerOptions) -> Self {
        Self {
            client,
            place,
            issuer: options.issuer.clone(),
            max_age: options.max_age,
            stale: options.stale,
            refresh: options.refresh,
            timeout: options.timeout,
            fetched: ArcSwapOption::empty(),
            last_fetch: Mutex::new(None),
        }
    }

    /// Returns the key with an id for an algorithm; without an id, the only suitable one.
    pub(super) async fn key(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<DecodingKey, MissingKey> {
        let seen = self.fetched.load_full();
        if let Some(seen) = seen
            .as_deref()
            .filter(|seen| seen.at.elapsed() < self.max_age)
            && let Some(key) = seen.find(id, algorithm)
        {
            return Ok(key);
        }
        if let Some(fresh) = self.ask(seen.as_deref().map(|seen| seen.at)).await {
            return fresh.find(id, algorithm).ok_or(MissingKey::Key);
        }
        let longest = self.max_age.saturating_add(self.stale);
        let kept = self.fetched.load_full();
        let usable = kept.as_deref().filter(|kept| kept.at.elapsed() <= longest);
        let usable = usable.ok_or(MissingKey::Issuer)?;
        match usable.find(id, algorithm) {
            Some(key) => Ok(key),
            // The issuer may have added it since.
            None if self.failed_since(usable.at).await => Err(MissingKey::Issuer),
            None => Err(MissingKey::Key),
        }
    }

    /// Whether a fetch after the last successful one failed.
    async fn failed_since(&self, answered: Instant) -> bool {
        self.last_fetch
            .lock()
            .await
            .is_some_and(|last_fetch| last_fetch > answered)
    }

    /// Fetches the keys, unless the last fetch was too recent or the issuer does not answer. Of concurrent callers one
    /// fetches.
    async fn ask(&self, seen: Option<Instant>) -> Option<Arc<Fetched>> {
        let mut last_fetch = self.last_fetch.lock().await;
        let newest = self.fetched.load_full();
        if newest.as_deref().map(|fetched| fetched.at) > seen {
            return newest;
        }
        if last_fetch.is_some_and(|last_fetch| last_fetch.elapsed() < self.refresh) {
            return None;
        }
        let set = self.place.keys(&self.client, self.timeout).await;
        *last_fetch = Some(Instant::now());
        match set {
            Ok(set) => {
                let keys = set.keys.into_iter().filter_map(VerificationKey::read);
                let fetched = Arc::new(Fetched {
                    keys: keys.take(MAX_KEYS).collect(),
                    at: Instant::now(),
                });
                self.fetched.store(Some(Arc::clone(&fetched)));
                Some(fetched)
            }
            Err(why) => {
                tracing::warn!(
                    issuer = self.issuer,
                    why,
                    "the keys of an issuer cannot be fetched"
                );
                None
            }
        }
    }
}

impl Fetched {
    fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<DecodingKey> {
        let mut fitting = self
            .keys
            .iter()
            .filter(|known| known.signs(algorithm) && (id.is_none() || known.id.as_deref() == id));
        let first = fitting.next()?;
        // Without an id the key must be unambiguous.
        let clear = id.is_some() || fitting.next().is_none();
        clear.then(|| first.key.clone())
    }
}

impl VerificationKey {
    /// Parses a key of a set; `None` for one that no accepted algorithm uses.
    fn read(value: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let common = &jwk.common;
        let signs = match (&common.public_key_use, &common.key_operations) {
            (Some(used), _) => *used == PublicKeyUse::Signature,
            (None, Some(operations)) => operations.contains(&KeyOperations::Verify),
            (None, None) => true,
        };
        let family = match &jwk.algorithm {
            AlgorithmParameters::RSA(rsa) => MODULUS_DIGITS
                .contains(&rsa.n.len())
                .then_some(Family::Rsa)?,
            AlgorithmParameters::EllipticCurve(curve) => match curve.curve {
                EllipticCurve::P256 => Family::P256,
                EllipticCurve::P384 => Family::P384,
                _ => return None,
            },
            AlgorithmParameters::OctetKeyPair(pair) => {
                (pair.curve == EllipticCurve::Ed25519).then_some(Family::Ed25519)?
            }
            _ => return None,
        };
        let algorithm = match common.key_algorithm {
            Some(named) => Some(Algorithm::try_from(named).ok()?),
            None => None,
        };
        let key = DecodingKey::from_jwk(&jwk).ok()?;
        signs.then(|| Self {
            id: jwk.common.key_id.clone(),
            algorithm,
            family,
            key,
        })
    }

    fn signs(&self, algorithm: Algorithm) -> bool {
        let family = match algorithm {
            Algorithm::RS256
            | Algorithm::RS384
            | Algorithm::RS512
            | Algorithm::PS256
            | Algorithm::PS384
            | Algorithm::PS512 => Family::Rsa,
            Algorithm::ES256 => Family::P256,
            Algorithm::ES384 => Family::P384,
            Algorithm::EdDSA => Family::Ed25519,
            _ => return false,
        };
        self.family == family && self.algorithm.is_none_or(|named| named == algorithm)
    }
}
