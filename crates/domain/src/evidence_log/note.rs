//! Signed notes as C2SP `signed-note` defines them, with Ed25519 keys (RFC 8032).
//!
//! A note is text, an empty line, and a line for each signature: an em dash, a space, the key's name, a space, and
//! base64 of the key's id (4 bytes) and the signature. The signature covers the text with its last line end. A key's id
//! is the start of the SHA-256 of its name, a line feed, the byte 1 for Ed25519, and the public key. Parsing is strict:
//! one malformed line invalidates the note.
//!
//! Must not know the meaning of a note's text.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use charter_contract::hex;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use super::hash::Hash;

/// The C2SP signature type of Ed25519.
const ED25519: u8 = 0x01;

/// The maximum number of signatures; a note with more is rejected.
const MAX_SIGNATURES: usize = 16;

/// The maximum size of a note, in bytes.
pub const MAX_NOTE: usize = 64 << 10;

/// The reason for rejecting a note or a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The text does not have the form of a note.
    #[error("not a signed note: {0}")]
    Malformed(&'static str),
    /// The text does not have the form of a verifier key.
    #[error("not a verifier key: {0}")]
    Key(&'static str),
    /// The text does not have the form of a key's name.
    #[error("a key's name must not be empty or contain spaces, control characters or `+`")]
    Name,
    /// The note has no signature by the key.
    #[error("the note is not signed by the key {0}")]
    Unsigned(String),
    /// A signature names the key but does not verify with it.
    #[error("the signature by the key {0} is wrong")]
    Forged(String),
}

/// The name of a key: not empty, no spaces, no `+`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyName(String);

impl KeyName {
    /// Parses a name.
    ///
    /// # Errors
    /// [`NoteError::Name`].
    pub fn parse(text: &str) -> Result<Self, NoteError> {
        let refused = |c: char| c.is_whitespace() || c.is_control() || c == '+';
        if text.is_empty() || text.contains(refused) {
            return Err(NoteError::Name);
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A signing key. Its debug output does not show the secret.
#[derive(Clone)]
pub struct Signer {
    key: SigningKey,
    verifier: VerifierKey,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signer")
            .field(&self.verifier.to_string())
            .finish()
    }
}

impl Signer {
    /// Creates the key from a secret seed and a name.
    #[must_use]
    pub fn new(name: KeyName, seed: &[u8; 32]) -> Self {
        let key = SigningKey::from_bytes(seed);
        let verifier = VerifierKey::new(name, key.verifying_key());
        Self { key, verifier }
    }

    /// Returns the public key.
    #[must_use]
    pub fn verifier(&self) -> &VerifierKey {
        &self.verifier
    }

    /// Signs a text, which must end with a line end, as a note.
    ///
    /// # Errors
    /// [`NoteError::Malformed`] for a text that a note cannot contain.
    pub fn sign(&self, text: &str) -> Result<String, NoteError> {
        check_text(text)?;
        let signature = self.key.sign(text.as_bytes());
        let mut blob = self.verifier.id.to_vec();
        blob.extend_from_slice(&signature.to_bytes());
        let name = &self.verifier.name;
        Ok(format!(
            "{text}\n\u{2014} {name} {}\n",
            STANDARD.encode(blob)
        ))
    }
}

/// A public key with its name. Its text form is `name+id+key`, with the id in hexadecimal and the key in base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: KeyName,
    id: [u8; 4],
    key: VerifyingKey,
}

impl VerifierKey {
    fn new(name: KeyName, key: VerifyingKey) -> Self {
        let hash = Hash::sha256(&[name.0.as_bytes(), b"\n", &[ED25519], key.as_bytes()]);
        let mut id = [0; 4];
        id.copy_from_slice(&hash.0[..4]);
        Self { name, id, key }
    }

    /// Returns the key's name.
    #[must_use]
    pub fn name(&self) -> &KeyName {
        &self.name
    }

    /// Returns the key's id, in hexadecimal.
    #[must_use]
    pub fn id(&self) -> String {
        hex::encode(&self.id)
    }

    /// Returns the text of a note that this key signed. Signatures by other keys are ignored.
    ///
    /// # Errors
    /// [`NoteError`]: the reason for rejecting the note.
    pub fn open<'n>(&self, note: &'n str) -> Result<&'n str, NoteError> {
        let (text, signatures) = parse(note)?;
        let shown = || format!("{} ({})", self.name, self.id());
        let own = signatures
            .iter()
            .find(|signature| signature.name == self.name.0 && signature.id == self.id)
            .ok_or_else(|| NoteError::Unsigned(shown()))?;
        let signature = Signature::from_slice(&own.signature);
        signature
            .and_then(|signature| self.key.verify_strict(text.as_bytes(), &signature))
            .map_err(|_| NoteError::Forged(shown()))?;
        Ok(text)
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = vec![ED25519];
        key.extend_from_slice(self.key.as_bytes());
        write!(f, "{}+{}+{}", self.name, self.id(), STANDARD.encode(key))
    }
}

impl FromStr for VerifierKey {
    type Err = NoteError;

    fn from_str(text: &str) -> Result<Self, NoteError> {
        // Base64 may contain a `+`, but a name cannot.
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(NoteError::Key("expected name, id and key, joined by `+`"));
        };
        let key = STANDARD.decode(key);
        let key = key.map_err(|_| NoteError::Key("the key is not base64"))?;
        let Some((&ED25519, key)) = key.split_first() else {
            return Err(NoteError::Key("not an Ed25519 key"));
        };
        let key = <&[u8; 32]>::try_from(key)
            .map_err(|_| NoteError::Key("an Ed25519 key has 32 bytes"))?;
        let key = VerifyingKey::from_bytes(key)
            .ok()
            .filter(|key| !key.is_weak());
        let key = key.ok_or(NoteError::Key("not a point that Ed25519 allows"))?;
        let verifier = Self::new(KeyName::parse(name)?, key);
        if verifier.id() != id {
            return Err(NoteError::Key(
                "the id does not belong to the name and the key",
            ));
        }
        Ok(verifier)
    }
}

struct SignatureLine<'n> {
    name: &'n str,
    id: [u8; 4],
    signature: Vec<u8>,
}

fn check_text(text: &str) -> Result<(), NoteError> {
    if text.chars().any(|c| c.is_ascii_control() && c != '\n') {
        return Err(NoteError::Malformed("it has control characters"));
    }
    if !text.ends_with('\n') {
        return Err(NoteError::Malformed(
            "its text does not end with a line end",
        ));
    }
    Ok(())
}

fn parse(note: &str) -> Result<(&str, Vec<SignatureLine<'_>>), NoteError> {
    if note.len() > MAX_NOTE {
        return Err(NoteError::Malformed("it is too large"));
    }
    let at = note.rfind("\n\n").ok_or(NoteError::Malformed(
        "there is no empty line before the signatures",
    ))?;
    let (text, signatures) = (&note[..=at], &note[at + 2..]);
    check_text(text)?;
    let lines = signatures
        .strip_suffix('\n')
        .ok_or(NoteError::Malformed("the last line does not end"))?;
    let lines: Vec<&str> = lines.split('\n').collect();
    if lines.len() > MAX_SIGNATURES {
        return Err(NoteError::Malformed("it has too many signatures"));
    }
    let lines = lines.into_iter().map(signature_line);
    Ok((text, lines.collect::<Result<_, _>>()?))
}

fn signature_line(line: &str) -> Result<SignatureLine<'_>, NoteError> {
    let malformed = NoteError::Malformed("a signature line is not `— name base64`");
    let parts = line
        .strip_prefix("\u{2014} ")
        .and_then(|rest| rest.split_once(' '));
    let (name, blob) = parts.ok_or_else(|| malformed.clone())?;
    KeyName::parse(name)?;
    let blob = STANDARD.decode(blob).map_err(|_| malformed.clone())?;
    match blob.split_first_chunk::<4>() {
        Some((id, signature)) if !signature.is_empty() => Ok(SignatureLine {
            name,
            id: *id,
            signature: signature.to_vec(),
        }),
        Some(_) | None => Err(malformed),
    }
}

#[cfg(test)]
mod tests;
