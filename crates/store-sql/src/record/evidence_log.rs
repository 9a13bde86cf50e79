//! The leaves of the evidence log.

use charter_domain::evidence_log::tree::MissingNode;
use charter_domain::evidence_log::{Hash, LogEntry};
use charter_store::StoreError;
use charter_store::evidence_log::{StoredLeaf, StoredPayload, StoredRecord};
use charter_store::tenant::LogHead;

use crate::column;
use crate::row::{Columns, field};

/// The log's name in errors.
pub(crate) const WHAT: &str = "evidence log";

/// Reads `leaf_index, leaf, body, payload, payload_salt`.
pub(crate) fn stored_leaf(row: &dyn Columns) -> Result<StoredLeaf, StoreError> {
    let index = column::parse_integer(WHAT, field(row, 0)?)?;
    let leaf: String = field(row, 1)?;
    let entry = LogEntry::from_leaf(&leaf).map_err(|error| StoreError::Corrupt {
        what: WHAT,
        id: format!("leaf {index}"),
        detail: error.to_string(),
    })?;
    let record = match entry {
        LogEntry::Record { .. } => Some(stored_record(row)?),
        LogEntry::Attachment { .. } | LogEntry::PayloadRemoved { .. } => None,
    };
    Ok(StoredLeaf {
        index,
        leaf,
        record,
    })
}

pub(crate) fn stored_record(row: &dyn Columns) -> Result<StoredRecord, StoreError> {
    let payload: Option<String> = field(row, 3)?;
    let salt: Option<Vec<u8>> = field(row, 4)?;
    let payload = payload
        .zip(salt)
        .map(|(text, salt)| {
            let salt = column::parse_hash("salt of a payload", &salt)?;
            Ok::<_, StoreError>(StoredPayload { salt, text })
        })
        .transpose()?;
    Ok(StoredRecord {
        record: field(row, 2)?,
        payload,
    })
}

pub(crate) fn log_head(size: u64, root: Result<Hash, MissingNode>) -> Result<LogHead, StoreError> {
    let root = root.map_err(|missing| StoreError::Corrupt {
        what: WHAT,
        id: format!("head of {size} leaves"),
        detail: missing.to_string(),
    })?;
    Ok(LogHead { size, root })
}
