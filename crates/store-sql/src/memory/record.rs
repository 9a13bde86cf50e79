//! Memories and their versions: rows, and checks before writing.

use charter_contract::agentic::memory::MemoryState;
use charter_contract::ids::{AgentId, MemoryId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::memory::{
    MemoryChange, MemoryRecord, MemoryVector, MemoryVersion, NewVersion, Removal,
};

use crate::column;
use crate::row::{Columns, field};

/// A memory's name in errors.
pub(crate) const WHAT: &str = "memory";

/// The columns of [`record`].
pub(crate) const RECORD: &str = "memory.memory_id, memory.tenant_id, user_id, visibility, \
     memory.created_at, memory.expires_at, latest, current, proposed, removed_at, removed_by";

/// The number of those columns.
pub(crate) const RECORD_COLUMNS: usize = 11;

/// The columns of [`version_at`].
pub(crate) const VERSION: &str =
    "memory_version.version, state, at, author, agent_id, based_on, decided_by, decided_at, body";

/// The number of those columns.
pub(crate) const VERSION_COLUMNS: usize = 9;

/// Returns the number of a version, if there is one.
pub(crate) fn version_number(number: Option<i64>) -> Result<Option<u64>, StoreError> {
    let number = number.map(|number| column::parse_integer("version", number));
    number.transpose()
}

/// Reads [`RECORD`].
pub(crate) fn record(row: &dyn Columns) -> Result<MemoryRecord, StoreError> {
    let memory: String = field(row, 0)?;
    let tenant: String = field(row, 1)?;
    let user: String = field(row, 2)?;
    let visibility: String = field(row, 3)?;
    let expires_at: Option<i64> = field(row, 5)?;
    let removed_at: Option<i64> = field(row, 9)?;
    let removed_by: Option<String> = field(row, 10)?;
    Ok(MemoryRecord {
        memory_id: column::parse("memory id", &memory)?,
        tenant_id: column::parse("tenant id", &tenant)?,
        user_id: column::parse("user id", &user)?,
        visibility: column::parse("visibility", &visibility)?,
        created_at: column::parse_micros(field(row, 4)?)?,
        expires_at: expires_at.map(column::parse_micros).transpose()?,
        latest: column::parse_integer("version", field(row, 6)?)?,
        current: version_number(field(row, 7)?)?,
        proposed: version_number(field(row, 8)?)?,
        removed: match removed_at {
            Some(at) => Some(Removal {
                at: column::parse_micros(at)?,
                by: removed_by
                    .map(|by| column::parse::<UserId>("user id", &by))
                    .transpose()?,
            }),
            None => None,
        },
    })
}

/// Returns a memory as it is at a time: an expired one that is not swept yet is removed.
pub(crate) fn at_time(mut record: MemoryRecord, now: Timestamp) -> MemoryRecord {
    let expired = record.expires_at.filter(|at| *at <= now);
    if let (Some(at), None) = (expired, &record.removed) {
        record.removed = Some(Removal { at, by: None });
        (record.current, record.proposed) = (None, None);
    }
    record
}

/// Reads [`VERSION`], starting at a column.
pub(crate) fn version_at(row: &dyn Columns, from: usize) -> Result<MemoryVersion, StoreError> {
    let state: String = field(row, from + 1)?;
    let author: String = field(row, from + 3)?;
    let agent: Option<String> = field(row, from + 4)?;
    let decided_by: Option<String> = field(row, from + 6)?;
    let decided_at: Option<i64> = field(row, from + 7)?;
    let body: Option<String> = field(row, from + 8)?;
    Ok(MemoryVersion {
        version: column::parse_integer("version", field(row, from)?)?,
        state: column::parse("state of a memory", &state)?,
        at: column::parse_micros(field(row, from + 2)?)?,
        author: column::parse("user id", &author)?,
        agent: agent
            .map(|agent| column::parse::<AgentId>("agent id", &agent))
            .transpose()?,
        based_on: version_number(field(row, from + 5)?)?,
        decided: match (decided_by, decided_at) {
            (Some(by), Some(at)) => {
                Some((column::parse("user id", &by)?, column::parse_micros(at)?))
            }
            _ => None,
        },
        entry: body
            .map(|body| column::parse_json(WHAT, "its version", &body))
            .transpose()?,
    })
}

pub(crate) fn refused(memory: &MemoryId, detail: String) -> StoreError {
    StoreError::Refused {
        what: WHAT,
        id: memory.to_string(),
        detail,
    }
}

/// Returns the new `current` and `proposed` of a memory with a new version.
pub(crate) fn places(state: MemoryState, version: i64) -> (Option<i64>, Option<i64>) {
    match state {
        MemoryState::Accepted => (Some(version), None),
        MemoryState::Proposed | MemoryState::Superseded | MemoryState::Rejected => {
            (None, Some(version))
        }
    }
}

/// The number of columns of [`change`] before the vector: a memory and one of its versions.
const CHANGED_VECTOR: usize = RECORD_COLUMNS + VERSION_COLUMNS;

/// Reads [`RECORD`], [`VERSION`], `model, bytes, revision`.
pub(crate) fn change(row: &dyn Columns) -> Result<MemoryChange, StoreError> {
    let version: Option<i64> = field(row, RECORD_COLUMNS)?;
    let model: Option<String> = field(row, CHANGED_VECTOR)?;
    let bytes: Option<Vec<u8>> = field(row, CHANGED_VECTOR + 1)?;
    let vector = model.zip(bytes);
    let vector = vector.map(|(model, bytes)| MemoryVector { model, bytes });
    let version = match version {
        Some(_) => Some((version_at(row, RECORD_COLUMNS)?, vector)),
        None => None,
    };
    Ok(MemoryChange {
        revision: column::parse_integer("revision", field(row, CHANGED_VECTOR + 2)?)?,
        record: record(row)?,
        versions: version.into_iter().collect(),
    })
}

/// Merges changes of the same revision.
pub(crate) fn by_revision(found: Vec<MemoryChange>) -> Vec<MemoryChange> {
    let mut changes: Vec<MemoryChange> = Vec::with_capacity(found.len());
    for change in found {
        match changes.last_mut() {
            Some(last) if last.revision == change.revision => last.versions.extend(change.versions),
            Some(_) | None => changes.push(change),
        }
    }
    changes
}

/// The version numbers of a living memory.
pub(crate) struct MemoryHead {
    pub(crate) latest: u64,
    pub(crate) current: Option<u64>,
    pub(crate) proposed: Option<u64>,
}

/// Reads `latest, current, proposed`.
pub(crate) fn standing(row: &dyn Columns) -> Result<MemoryHead, StoreError> {
    Ok(MemoryHead {
        latest: column::parse_integer("version", field(row, 0)?)?,
        current: version_number(field(row, 1)?)?,
        proposed: version_number(field(row, 2)?)?,
    })
}

impl MemoryHead {
    /// Checks that a new version may follow, for a caller that expects `expected` as the current one.
    pub(crate) fn check_next(
        &self,
        memory: &MemoryId,
        expected: Option<u64>,
    ) -> Result<(), StoreError> {
        if self.current != expected {
            return Err(StoreError::VersionConflict {
                what: WHAT,
                id: memory.to_string(),
                expected: expected.unwrap_or(0),
                found: self.current.unwrap_or(0),
            });
        }
        if let Some(open) = self.proposed {
            let detail = format!("its version {open} waits for a decision");
            return Err(refused(memory, detail));
        }
        Ok(())
    }

    /// Checks that this version waits for a decision.
    pub(crate) fn check_proposed(&self, memory: &MemoryId, version: u64) -> Result<(), StoreError> {
        if self.proposed == Some(version) {
            return Ok(());
        }
        let detail = format!("its version {version} is not proposed");
        Err(refused(memory, detail))
    }
}

/// Checks that a new version is accepted or proposed.
pub(crate) fn check_new(new: &NewVersion) -> Result<(), StoreError> {
    if matches!(new.state, MemoryState::Accepted | MemoryState::Proposed) {
        return Ok(());
    }
    let detail = format!(
        "a new version must be accepted or proposed, not {}",
        new.state
    );
    Err(refused(&new.entry.id, detail))
}

pub(crate) fn missing(memory: &MemoryId) -> StoreError {
    StoreError::NotFound {
        what: WHAT,
        id: memory.to_string(),
    }
}
