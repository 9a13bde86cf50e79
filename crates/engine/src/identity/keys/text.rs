//! The text of a key, which its holder stores and sends: `chk_ID_SECRET`. The id has 32 hexadecimal digits, and the
//! secret 64, which are 256 random bits, followed by 8 of a checksum. The prefix lets secret scanners recognise a key,
//! and the checksum excludes similar texts and typing errors before any look-up.

use charter_contract::hex;
use charter_contract::ids::KeyId;
use charter_store::key::KeyHash;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// The prefix of every key.
const PREFIX: &str = "chk_";

/// Digits of the id, of the secret, and of the checksum.
const ID: usize = 32;
const SECRET: usize = 64;
const CHECKSUM: usize = 8;

/// A key as its holder has it. It is shown once, and neither stored nor logged: `Debug` omits the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyText(String);

impl KeyText {
    /// Builds the text of an id and a secret.
    pub(super) fn new(id: &KeyId, secret: &[u8; 32]) -> Self {
        let mut text = format!("{PREFIX}{}_{}", id.uuid().simple(), hex::encode(secret));
        text += &checksum(&text);
        Self(text)
    }

    /// Returns whether a credential has the prefix of a key.
    #[must_use]
    pub fn is_meant(credential: &str) -> bool {
        credential.starts_with(PREFIX)
    }

    /// Parses a text of this form with a correct checksum.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let digits = |text: &str| {
            text.bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let formed = id.len() == ID && secret.len() == SECRET + CHECKSUM;
        if !(formed && digits(id) && digits(secret)) {
            return None;
        }
        let (begin, end) = text.split_at(text.len() - CHECKSUM);
        (checksum(begin) == end).then(|| Self(text.to_owned()))
    }

    /// Returns the hash for looking up the key. A slow hash is for secrets that people can guess; 2^256 cannot be
    /// searched. A look-up by the hash also leaks nothing by its timing: an attacker cannot choose how the hash of a
    /// guess begins.
    pub(super) fn hash(&self) -> KeyHash {
        KeyHash(Sha256::digest(&self.0).into())
    }
}

impl std::fmt::Debug for KeyText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self.0.get(..PREFIX.len() + ID).unwrap_or(PREFIX);
        write!(f, "KeyText({shown}_…)")
    }
}

/// Writes the whole text: this is how its maker receives it.
impl Serialize for KeyText {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

/// Returns the first digits of the SHA-256 of the preceding text. It reveals nothing beyond that text.
fn checksum(text: &str) -> String {
    let mut digits = hex::encode(&Sha256::digest(text));
    digits.truncate(CHECKSUM);
    digits
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn key() -> KeyText {
        KeyText::new(&KeyId::from_uuid(Uuid::from_u128(7)), &[0xab; 32])
    }

    #[test]
    fn a_key_reads_back_and_is_recognised() {
        let text = serde_json::to_value(key()).unwrap();
        let text = text.as_str().unwrap();
        let begin = format!("chk_00000000000000000000000000000007_{}", "ab".repeat(32));
        assert_eq!(text.len(), 109);
        assert!(text.starts_with(&begin) && KeyText::is_meant(text));
        assert_eq!(KeyText::parse(text), Some(key()));
        let other = KeyText::new(&KeyId::from_uuid(Uuid::from_u128(7)), &[0xac; 32]);
        assert_ne!(key().hash(), other.hash());
    }

    /// A wrong character at any position is detected without a look-up.
    #[test]
    fn a_typing_error_is_no_key() {
        let text = key().0;
        for at in 0..text.len() {
            let mut wrong = text.clone().into_bytes();
            wrong[at] = if wrong[at] == b'0' { b'1' } else { b'0' };
            let wrong = String::from_utf8(wrong).unwrap();
            assert_eq!(KeyText::parse(&wrong), None, "{at}");
        }
        for wrong in [
            "",
            "chk_",
            &text[..text.len() - 1],
            &text.to_uppercase(),
            &format!("{text}0"),
        ] {
            assert_eq!(KeyText::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_secret_is_not_in_what_is_logged() {
        assert_eq!(
            format!("{:?}", key()),
            "KeyText(chk_00000000000000000000000000000007_…)"
        );
    }
}
