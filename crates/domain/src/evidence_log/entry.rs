//! What a leaf says, and how a record is sealed into texts that a leaf can commit to.
//!
//! A leaf's data is the JSON of an [`LogEntry`]. Of a record it holds two digests, one of the record
//! without its payload and one of the payload, so the leaf proves the record also after the payload
//! was removed. The payload is hashed behind random bytes, its salt: without it, whoever may not
//! see a short payload could guess it and compare. Salt and payload are removed together.
//!
//! Digests are of texts exactly as they are stored and exported. Nobody has to agree with us on how
//! JSON is written in order to check one.

use charter_contract::catalogue::evidence::{Attachment, EvidenceRecord};
use charter_contract::ids::EvidenceId;
use charter_contract::json::{JsonFault, decode_stored, to_stored};
use charter_contract::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::hash::Hash;

/// Bytes of a salt.
pub const SALT_BYTES: usize = 32;

/// What happened, as its leaf says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LogEntry {
    /// A record was stored.
    Record {
        /// Its id.
        evidence_id: EvidenceId,
        /// SHA-256 of the record without its payload.
        record_sha256: Hash,
        /// SHA-256 of salt and payload.
        payload_sha256: Hash,
    },
    /// A stored record was attached to something else.
    Attachment {
        /// The record.
        evidence_id: EvidenceId,
        /// To what.
        attached_to: Attachment,
        /// When.
        at: Timestamp,
    },
    /// The payload of a record was removed, as its retention says.
    PayloadRemoved {
        /// The record.
        evidence_id: EvidenceId,
        /// When.
        at: Timestamp,
    },
}

impl LogEntry {
    /// The leaf's data.
    ///
    /// # Errors
    /// None in practice: every part is text.
    pub fn to_leaf(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Reads a leaf's data.
    ///
    /// # Errors
    /// For anything but an entry.
    pub fn from_leaf(data: &str) -> Result<Self, JsonFault> {
        decode_stored(data)
    }

    /// The record that it is about.
    #[must_use]
    pub fn evidence_id(&self) -> &EvidenceId {
        match self {
            Self::Record { evidence_id, .. }
            | Self::Attachment { evidence_id, .. }
            | Self::PayloadRemoved { evidence_id, .. } => evidence_id,
        }
    }
}

/// A record as it is stored: two texts and the salt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRecord {
    /// The record as it was captured, with an empty payload.
    pub record: String,
    /// The payload.
    pub payload: String,
    /// The bytes that are hashed before the payload.
    pub salt: [u8; SALT_BYTES],
}

impl SealedRecord {
    /// Seals a record under a salt that was drawn for it alone.
    ///
    /// # Errors
    /// For a record that nests deeper than anything that is stored.
    pub fn seal(record: &EvidenceRecord, salt: [u8; SALT_BYTES]) -> Result<Self, JsonFault> {
        let payload = to_stored(&record.payload)?;
        let mut bare = record.clone();
        bare.payload = Map::new();
        Ok(Self {
            record: to_stored(&bare)?,
            payload,
            salt,
        })
    }

    /// What the leaf of the record says.
    #[must_use]
    pub fn entry(&self, evidence_id: EvidenceId) -> LogEntry {
        LogEntry::Record {
            evidence_id,
            record_sha256: record_digest(&self.record),
            payload_sha256: payload_digest(&self.salt, &self.payload),
        }
    }
}

/// The digest of a record's text.
#[must_use]
pub fn record_digest(record: &str) -> Hash {
    Hash::sha256(&[record.as_bytes()])
}

/// The digest of a payload's text behind its salt.
#[must_use]
pub fn payload_digest(salt: &[u8; SALT_BYTES], payload: &str) -> Hash {
    Hash::sha256(&[salt, payload.as_bytes()])
}
