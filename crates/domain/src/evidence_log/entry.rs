//! The contents of a leaf, and the sealing of a record into texts that a leaf can commit to.
//!
//! A leaf's data is the JSON of an [`LogEntry`]. For a record it holds two digests, one of the record without its
//! payload and one of the payload, so that the leaf still proves the record after the payload was removed. The payload
//! is hashed with a random salt: without one, a caller that may not see a short payload could guess it and compare the
//! hashes. Salt and payload are removed together.
//!
//! The leaf of a submitted record also names its receipt: the time, and the submitter.
//!
//! Digests cover texts exactly as they are stored and exported, so that verifiers need not agree on how to serialize
//! JSON.

use charter_contract::catalogue::evidence::{Attachment, EvidenceReceipt, EvidenceRecord};
use charter_contract::ids::EvidenceId;
use charter_contract::json::{JsonFault, decode_stored, to_stored};
use charter_contract::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::hash::Hash;

/// The length of a salt, in bytes.
pub const SALT_BYTES: usize = 32;

/// An event of the log, as written in its leaf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LogEntry {
    /// A record was stored.
    Record {
        /// The record's id.
        evidence_id: EvidenceId,
        /// SHA-256 of the record without its payload.
        record_sha256: Hash,
        /// SHA-256 of salt and payload.
        payload_sha256: Hash,
        /// The record's receipt; absent for a record that Charter captured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<EvidenceReceipt>,
    },
    /// A stored record was attached to something else.
    Attachment {
        /// The record.
        evidence_id: EvidenceId,
        /// The new attachment.
        attached_to: Attachment,
        /// The time.
        at: Timestamp,
    },
    /// The payload of a record was removed under its retention rule.
    PayloadRemoved {
        /// The record.
        evidence_id: EvidenceId,
        /// The time.
        at: Timestamp,
    },
}

impl LogEntry {
    /// Returns the leaf's data.
    ///
    /// # Errors
    /// Never in practice: every part is text.
    pub fn to_leaf(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Reads a leaf's data.
    ///
    /// # Errors
    /// For data that is not an entry.
    pub fn from_leaf(data: &str) -> Result<Self, JsonFault> {
        decode_stored(data)
    }

    /// Returns the id of the record that the entry is about.
    #[must_use]
    pub fn evidence_id(&self) -> &EvidenceId {
        match self {
            Self::Record { evidence_id, .. }
            | Self::Attachment { evidence_id, .. }
            | Self::PayloadRemoved { evidence_id, .. } => evidence_id,
        }
    }
}

/// A record in stored form: two texts and the salt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRecord {
    /// The captured record, with an empty payload.
    pub record: String,
    /// The payload.
    pub payload: String,
    /// The bytes that are hashed before the payload.
    pub salt: [u8; SALT_BYTES],
    /// The record's receipt, if a caller submitted it.
    pub receipt: Option<EvidenceReceipt>,
}

impl SealedRecord {
    /// Seals a record with a salt that is used for it alone.
    ///
    /// # Errors
    /// For a record that is nested deeper than the limit for stored values.
    pub fn seal(record: &EvidenceRecord, salt: [u8; SALT_BYTES]) -> Result<Self, JsonFault> {
        let payload = to_stored(&record.payload)?;
        let mut bare = record.clone();
        bare.payload = Map::new();
        Ok(Self {
            record: to_stored(&bare)?,
            payload,
            salt,
            receipt: record.receipt.clone(),
        })
    }

    /// Returns the log entry of the record.
    #[must_use]
    pub fn entry(&self, evidence_id: EvidenceId) -> LogEntry {
        LogEntry::Record {
            evidence_id,
            record_sha256: record_digest(&self.record),
            payload_sha256: payload_digest(&self.salt, &self.payload),
            receipt: self.receipt.clone(),
        }
    }
}

/// Computes the digest of a record's text.
#[must_use]
pub fn record_digest(record: &str) -> Hash {
    Hash::sha256(&[record.as_bytes()])
}

/// Computes the digest of a payload's text after its salt.
#[must_use]
pub fn payload_digest(salt: &[u8; SALT_BYTES], payload: &str) -> Hash {
    Hash::sha256(&[salt, payload.as_bytes()])
}
