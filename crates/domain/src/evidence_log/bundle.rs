//! The export: JSON lines, first a header, then one line for each leaf in the log's order.
//!
//! Records, payloads and leaves stand in it as texts, byte for byte what was hashed. The form is
//! described for third parties in `docs/reference/evidence.md`.

use charter_contract::ids::{Label, TenantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hash::Hash;

/// The one form so far.
pub const FORMAT: &str = "charter-evidence/1";

/// Longest line that is read, in bytes: a record, a payload of 1 MiB and their escapes fit.
pub const MAX_LINE: usize = 16 << 20;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EvidenceHeader")]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`FORMAT`].
    pub format: String,
    /// Whose evidence it is.
    pub tenant_id: TenantId,
    /// Whether every leaf of the checkpoint follows.
    pub coverage: Coverage,
    /// The public key, as C2SP writes it: `name+id+key`.
    pub key: String,
    /// The signed head that every proof leads to.
    pub checkpoint: String,
}

/// How much of the log an export holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EvidenceCoverage")]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// Every leaf: what is missing is found.
    Complete,
    /// The leaves of some records.
    Selection,
}

/// One leaf with what it commits to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EvidenceLeaf")]
#[serde(deny_unknown_fields)]
pub struct ExportedLeaf {
    /// Its place in the log, from 0.
    pub index: u64,
    /// Its data: an [`super::Entry`] as JSON.
    pub leaf: String,
    /// Its inclusion under the checkpoint, nearest sibling first.
    pub proof: Vec<Hash>,
    /// The record without its payload, of a record's leaf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// The payload, unless it was removed or is withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<SaltedPayload>,
    /// The redaction class for which the payload is withheld from whoever exported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Label>,
}

/// A payload with what is hashed before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaltedPayload {
    /// 32 bytes in hexadecimal.
    pub salt: Hash,
    /// The payload.
    pub text: String,
}
