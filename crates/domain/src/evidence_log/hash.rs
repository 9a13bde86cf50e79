//! SHA-256 in the log: digests of texts, and the two hashes of the tree.
//!
//! Leaves and inner nodes are hashed with different first bytes, so that neither can be passed off
//! as the other (RFC 6962 §2.1, RFC 9162 §2.1.1).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use charter_contract::hex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// The prefix of a leaf's data.
const LEAF: u8 = 0x00;

/// The prefix of the hashes of an inner node's children.
const NODE: u8 = 0x01;

/// A SHA-256 hash; in JSON 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

/// Text that is not a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 lower-case hexadecimal digits")]
pub struct HashError;

impl Hash {
    /// Returns the hash of a tree without leaves: the hash of the empty string.
    #[must_use]
    pub fn empty() -> Self {
        Self::sha256(&[])
    }

    /// Returns the hash of a leaf with this data.
    #[must_use]
    pub fn leaf(data: &[u8]) -> Self {
        Self::sha256(&[&[LEAF], data])
    }

    /// Returns the hash of an inner node.
    #[must_use]
    pub fn node(left: Self, right: Self) -> Self {
        Self::sha256(&[&[NODE], &left.0, &right.0])
    }

    /// Returns the plain SHA-256 of concatenated parts.
    #[must_use]
    pub fn sha256(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }
}

impl JsonSchema for Hash {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Sha256".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(HashError),
        };
        if text.len() != 64 {
            return Err(HashError);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
