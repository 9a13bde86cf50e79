//! The export format: JSON lines, first a header, then one line for each leaf in the log's order.
//!
//! It contains records, payloads and leaves as texts, byte for byte as they were hashed. `docs/reference/evidence.md`
//! describes the form for third parties.

use charter_contract::ids::{Label, TenantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hash::Hash;

/// The only format version so far.
pub const FORMAT: &str = "charter-evidence/1";

/// The maximum length of a line, in bytes: a record, a payload of 1 MiB and their escapes fit.
pub const MAX_LINE: usize = 16 << 20;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EvidenceHeader")]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`FORMAT`].
    pub format: String,
    /// The tenant that owns the evidence.
    pub tenant_id: TenantId,
    /// Whether every leaf of the checkpoint follows.
    pub coverage: Coverage,
    /// The public key in C2SP form: `name+id+key`.
    pub key: String,
    /// The signed head that every proof refers to.
    pub checkpoint: String,
}

/// The part of the log that an export contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EvidenceCoverage")]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// Every leaf, so that missing leaves are detected.
    Complete,
    /// The leaves of some records.
    Selection,
}

/// A leaf with the contents that it commits to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EvidenceLeaf")]
#[serde(deny_unknown_fields)]
pub struct ExportedLeaf {
    /// The index in the log, from 0.
    pub index: u64,
    /// The leaf's data: an [`super::Entry`] as JSON.
    pub leaf: String,
    /// The inclusion proof under the checkpoint, nearest sibling first.
    pub proof: Vec<Hash>,
    /// The record without its payload, if the leaf is a record's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// The payload, unless it was removed or is withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<SaltedPayload>,
    /// The redaction class for which the payload is withheld from the exporting caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Label>,
}

/// A payload with the salt that is hashed before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaltedPayload {
    /// 32 bytes in hexadecimal.
    pub salt: Hash,
    /// The payload.
    pub text: String,
}
