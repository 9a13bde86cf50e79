//! The text of a key: what its holder keeps and sends. `chk_ID_SECRET`, where the id is 32 hexadecimal
//! digits, and the secret 64, which are 256 random bits, followed by 8 of a checksum. The prefix tells those
//! who look for secrets in files what this is, and the checksum tells a key from something like one, and
//! from one with a typing error, before anything is looked up.

use charter_contract::hex;
use charter_contract::ids::KeyId;
use charter_store::key::KeyHash;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// What every key begins with.
const PREFIX: &str = "chk_";

/// Digits of the id, of the secret, and of the checksum.
const ID: usize = 32;
const SECRET: usize = 64;
const CHECKSUM: usize = 8;

/// A key as its holder has it. It is shown once, and neither kept nor logged: `Debug` leaves the secret out.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyText(String);

impl KeyText {
    /// The text of an id and a secret.
    pub(super) fn new(id: &KeyId, secret: &[u8; 32]) -> Self {
        let mut text = format!("{PREFIX}{}_{}", id.uuid().simple(), hex::encode(secret));
        text += &checksum(&text);
        Self(text)
    }

    /// Whether a credential is meant to be a key of this form.
    #[must_use]
    pub fn is_meant(credential: &str) -> bool {
        credential.starts_with(PREFIX)
    }

    /// A text of the form, with its checksum.
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

    /// What the key is recognised by. A slow hash is for secrets that people can guess; nobody tries 2^256.
    /// Looking up by the hash also gives nothing away by how long it takes: whoever measures cannot choose
    /// how the hash of a guess begins.
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

/// The whole text: this is how the one who made it gets it.
impl Serialize for KeyText {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

/// The first digits of the SHA-256 of what comes before. It says nothing that the text does not say.
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

    /// One character that is not what it was, anywhere: found without a look-up.
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
