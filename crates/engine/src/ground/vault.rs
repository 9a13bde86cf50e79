//! Seals secrets for storage: AES-256-GCM under a key of its own for each sealing, which is derived from a key file and
//! 256 random bits. So no nonce repeats under a key, however many secrets are sealed.
//!
//! A sealed secret is bound to its context: in another tenant's or user's place it cannot be opened.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use charter_contract::hex;
use charter_store::connected_account::SealedSecret;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hmac;
use sha2::{Digest, Sha256};

use crate::EngineError;

/// Bytes of a key file.
const KEY_BYTES: usize = 32;
/// Random bytes from which the key of one sealing is derived.
const SALT_BYTES: usize = 32;
/// Nonce of the only message under a derived key.
const NONCE: [u8; 12] = [0; 12];
/// First byte of the layout: salt, then ciphertext with its tag.
const LAYOUT: u8 = 1;
/// Digits of a key's id.
const ID_DIGITS: usize = 16;

/// The keys of this installation that seal secrets.
#[derive(Clone)]
pub struct SealingKeys {
    current: SealingKey,
    /// Earlier keys, which only open.
    earlier: Vec<SealingKey>,
}

#[derive(Clone)]
struct SealingKey {
    id: String,
    bytes: [u8; KEY_BYTES],
}

impl fmt::Debug for SealingKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SealingKeys({} and {} earlier)",
            self.current.id,
            self.earlier.len()
        )
    }
}

impl SealingKeys {
    /// Seals with `current`, and opens also what the earlier keys sealed.
    #[must_use]
    pub fn new(current: [u8; KEY_BYTES], earlier: Vec<[u8; KEY_BYTES]>) -> Self {
        Self {
            current: SealingKey::new(current),
            earlier: earlier.into_iter().map(SealingKey::new).collect(),
        }
    }

    /// Returns the id of the current key, which reveals nothing of it.
    pub(crate) fn id(&self) -> &str {
        &self.current.id
    }

    /// Seals a secret for a context.
    pub(crate) fn seal(&self, context: &str, secret: &[u8]) -> Result<SealedSecret, EngineError> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|error| EngineError::internal(SEALING, error))?;
        let mut text = secret.to_vec();
        let nonce = Nonce::assume_unique_for_key(NONCE);
        self.current
            .derived(&salt)?
            .seal_in_place_append_tag(nonce, Aad::from(context.as_bytes()), &mut text)
            .map_err(|error| EngineError::internal(SEALING, error))?;
        let mut sealed = Vec::with_capacity(1 + SALT_BYTES + text.len());
        sealed.push(LAYOUT);
        sealed.extend_from_slice(&salt);
        sealed.extend_from_slice(&text);
        Ok(SealedSecret {
            key_id: self.current.id.clone(),
            sealed,
        })
    }

    /// Opens a secret that was sealed for the same context.
    pub(crate) fn open(
        &self,
        context: &str,
        secret: &SealedSecret,
    ) -> Result<Vec<u8>, EngineError> {
        let damaged = |what: &str| EngineError::internal(OPENING, what.to_owned());
        let mut keys = std::iter::once(&self.current).chain(&self.earlier);
        let key = keys.find(|key| key.id == secret.key_id);
        let key = key.ok_or_else(|| damaged("its key is not among the configured ones"))?;
        let (layout, rest) = secret.sealed.split_first().unwrap_or((&0, &[]));
        if *layout != LAYOUT || rest.len() < SALT_BYTES {
            return Err(damaged("its layout is unknown"));
        }
        let (salt, text) = rest.split_at(SALT_BYTES);
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(NONCE);
        let key = key.derived(salt)?;
        let opened = key.open_in_place(nonce, Aad::from(context.as_bytes()), &mut text);
        let opened = opened.map_err(|_| damaged("it was changed, or belongs elsewhere"))?;
        Ok(opened.to_vec())
    }

    /// Seals a secret as text for a URL.
    pub(crate) fn seal_text(&self, context: &str, secret: &[u8]) -> Result<String, EngineError> {
        let sealed = self.seal(context, secret)?;
        Ok(format!(
            "{}.{}",
            sealed.key_id,
            URL_SAFE_NO_PAD.encode(sealed.sealed)
        ))
    }

    /// Opens a text of [`SealingKeys::seal_text`]; `None` for any other text.
    pub(crate) fn open_text(&self, context: &str, text: &str) -> Option<Vec<u8>> {
        let (key_id, sealed) = text.split_once('.')?;
        let secret = SealedSecret {
            key_id: key_id.to_owned(),
            sealed: URL_SAFE_NO_PAD.decode(sealed).ok()?,
        };
        self.open(context, &secret).ok()
    }
}

const SEALING: &str = "sealing a secret";
const OPENING: &str = "opening a sealed secret";

impl SealingKey {
    fn new(bytes: [u8; KEY_BYTES]) -> Self {
        let digest: [u8; 32] = Sha256::new()
            .chain_update("charter sealing key")
            .chain_update(bytes)
            .finalize()
            .into();
        let mut id = hex::encode(&digest);
        id.truncate(ID_DIGITS);
        Self { id, bytes }
    }

    /// Derives the key of one sealing.
    fn derived(&self, salt: &[u8]) -> Result<LessSafeKey, EngineError> {
        let own = hmac::Key::new(hmac::HMAC_SHA256, &self.bytes);
        let derived = hmac::sign(&own, salt);
        let key = UnboundKey::new(&AES_256_GCM, derived.as_ref());
        let key = key.map_err(|error| EngineError::internal("deriving a key", error))?;
        Ok(LessSafeKey::new(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_only_in_its_context_and_unchanged() {
        let keys = SealingKeys::new([1; 32], Vec::new());
        let sealed = keys.seal("acme/github/mia", b"token").unwrap();
        assert_eq!(keys.open("acme/github/mia", &sealed).unwrap(), b"token");
        assert!(keys.open("acme/github/ben", &sealed).is_err());
        for at in 0..sealed.sealed.len() {
            let mut changed = sealed.clone();
            changed.sealed[at] ^= 1;
            assert!(keys.open("acme/github/mia", &changed).is_err(), "{at}");
        }
        let again = keys.seal("acme/github/mia", b"token").unwrap();
        assert_ne!(again.sealed, sealed.sealed);
        assert!(!sealed.sealed.windows(5).any(|part| part == b"token"));
    }

    #[test]
    fn an_earlier_key_opens_and_the_current_one_seals() {
        let before = SealingKeys::new([1; 32], Vec::new());
        let sealed = before.seal("c", b"token").unwrap();
        let rotated = SealingKeys::new([2; 32], vec![[1; 32]]);
        assert_eq!(rotated.open("c", &sealed).unwrap(), b"token");
        assert_eq!(rotated.seal("c", b"x").unwrap().key_id, rotated.id());
        assert_ne!(rotated.id(), before.id());
        assert!(
            SealingKeys::new([2; 32], Vec::new())
                .open("c", &sealed)
                .is_err()
        );
    }

    #[test]
    fn a_text_of_another_origin_is_not_opened() {
        let keys = SealingKeys::new([1; 32], Vec::new());
        let text = keys.seal_text("connection", b"{}").unwrap();
        assert_eq!(keys.open_text("connection", &text), Some(b"{}".to_vec()));
        for other in ["", ".", "x.y", &text[1..], &format!("{text}A")] {
            assert_eq!(keys.open_text("connection", other), None, "{other}");
        }
    }

    #[test]
    fn keys_are_not_shown_by_debug() {
        let keys = SealingKeys::new([0xab; 32], vec![[0xcd; 32]]);
        let expected = format!("SealingKeys({} and 1 earlier)", keys.id());
        assert_eq!(format!("{keys:?}"), expected);
    }
}
