//! API keys.

use charter_contract::ids::KeyId;
use charter_store::StoreError;
use charter_store::key::{KeyHash, KeyPresence, KeyRecord, Revocation};

use crate::column;
use crate::row::{Columns, field};

/// The columns of [`record`].
pub(crate) const RECORD: &str = "tenant_id, key_id, name, hash, user_id, rights, created_by, \
     created_at, expires_at, last_used_at, revoked_at, revoked_by, rotated_from, makers";

pub(crate) fn record(row: &dyn Columns) -> Result<KeyRecord, StoreError> {
    let id: String = field(row, 1)?;
    let time = |index| -> Result<_, StoreError> {
        let micros: Option<i64> = field(row, index)?;
        micros.map(column::parse_micros).transpose()
    };
    let revoked_by: Option<&str> = field(row, 11)?;
    let revoked = match (time(10)?, revoked_by) {
        (Some(at), Some(by)) => Some(Revocation {
            at,
            by: column::parse("user id", by)?,
        }),
        (None, _) | (_, None) => None,
    };
    let rotated_from: Option<&str> = field(row, 12)?;
    Ok(KeyRecord {
        tenant_id: column::parse("tenant id", field(row, 0)?)?,
        key_id: column::parse("key id", &id)?,
        name: column::parse("name of a key", field(row, 2)?)?,
        hash: KeyHash(column::parse_hash("hash of a key", field(row, 3)?)?),
        user_id: column::parse("user id", field(row, 4)?)?,
        rights: column::parse_json("key", &id, field(row, 5)?)?,
        created_by: column::parse("user id", field(row, 6)?)?,
        makers: column::parse_json("makers of a key", &id, field(row, 13)?)?,
        created_at: column::parse_micros(field(row, 7)?)?,
        expires_at: time(8)?,
        last_used_at: time(9)?,
        revoked,
        rotated_from: rotated_from
            .map(|id| column::parse("key id", id))
            .transpose()?,
    })
}

/// Returns the column value of a key's rights.
pub(crate) fn rights(key: &KeyRecord) -> Result<String, StoreError> {
    column::json("key", key.key_id.as_str(), &key.rights)
}

/// Returns the column value of a key's makers.
pub(crate) fn makers(key: &KeyRecord) -> Result<String, StoreError> {
    column::json("makers of a key", key.key_id.as_str(), &key.makers)
}

/// Reads whether there is any key, and whether one of them is valid.
pub(crate) fn kept(row: &dyn Columns) -> Result<KeyPresence, StoreError> {
    let (any, live): (bool, bool) = (field(row, 0)?, field(row, 1)?);
    Ok(match (any, live) {
        (_, true) => KeyPresence::Live,
        (true, false) => KeyPresence::Ended,
        (false, false) => KeyPresence::None,
    })
}

/// Returns the id of the key that a new one replaces.
pub(crate) fn replaced(new: &KeyRecord) -> Result<&KeyId, StoreError> {
    let replaced = new.rotated_from.as_ref();
    replaced.ok_or_else(|| unknown(&new.key_id))
}

pub(crate) fn unknown(key: &KeyId) -> StoreError {
    StoreError::NotFound {
        what: "key",
        id: key.to_string(),
    }
}

pub(crate) fn exists(key: &KeyRecord) -> StoreError {
    StoreError::AlreadyExists {
        what: "key",
        id: key.key_id.to_string(),
    }
}

/// Returns the error of a key that cannot be rotated.
pub(crate) fn refused(key: &KeyId, detail: &str) -> StoreError {
    StoreError::Refused {
        what: "key",
        id: key.to_string(),
        detail: detail.to_owned(),
    }
}
