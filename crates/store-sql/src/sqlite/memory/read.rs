//! Memories and their versions, read back.

use charter_contract::ids::{AgentId, MemoryId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::memory::{MemoryRecord, MemoryVersion, Proposals, Removal};
use charter_store::page::{Page, PageRequest};
use rusqlite::{Connection, Row, params};

use super::super::statement::{field, row, rows};
use super::{READING, WHAT};
use crate::column::{self, Cursor};

/// What [`record`] reads.
pub(super) const RECORD: &str = "memory_id, tenant_id, user_id, visibility, memory.created_at, \
     memory.expires_at, latest, current, proposed, removed_at, removed_by";
/// How many columns that are.
pub(super) const RECORD_COLUMNS: usize = 11;

/// What [`version_at`] reads.
pub(super) const VERSION: &str =
    "memory_version.version, state, at, author, agent_id, based_on, decided_by, decided_at, body";
/// How many columns that are.
pub(super) const VERSION_COLUMNS: usize = 9;

/// The number of a version, if there is one.
pub(super) fn version_number(number: Option<i64>) -> Result<Option<u64>, StoreError> {
    let number = number.map(|number| column::parse_integer("version", number));
    number.transpose()
}

/// Reads [`RECORD`]. What has expired and is not swept yet reads as removed; `None` for `now` tells
/// it as it is stored.
pub(super) fn record(row: &Row<'_>, now: Option<Timestamp>) -> Result<MemoryRecord, StoreError> {
    let memory: String = field(row, 0)?;
    let tenant: String = field(row, 1)?;
    let user: String = field(row, 2)?;
    let visibility: String = field(row, 3)?;
    let expires_at: Option<i64> = field(row, 5)?;
    let expires_at = expires_at.map(column::parse_micros).transpose()?;
    let removed_at: Option<i64> = field(row, 9)?;
    let removed_by: Option<String> = field(row, 10)?;
    let mut record = MemoryRecord {
        memory_id: column::parse("memory id", &memory)?,
        tenant_id: column::parse("tenant id", &tenant)?,
        user_id: column::parse("user id", &user)?,
        visibility: column::parse("visibility", &visibility)?,
        created_at: column::parse_micros(field(row, 4)?)?,
        expires_at,
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
    };
    let expired = expires_at.filter(|at| now.is_some_and(|now| *at <= now));
    if let (Some(at), None) = (expired, &record.removed) {
        record.removed = Some(Removal { at, by: None });
        (record.current, record.proposed) = (None, None);
    }
    Ok(record)
}

/// Reads [`VERSION`] from a column on.
pub(super) fn version_at(row: &Row<'_>, from: usize) -> Result<MemoryVersion, StoreError> {
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

pub(super) fn one(
    connection: &Connection,
    tenant: &TenantId,
    memory: &MemoryId,
    now: Timestamp,
) -> Result<Option<MemoryRecord>, StoreError> {
    row(
        READING,
        connection,
        &format!("SELECT {RECORD} FROM memory WHERE tenant_id = ?1 AND memory_id = ?2"),
        [tenant.as_str(), memory.as_str()],
        |row| record(row, Some(now)),
    )
}

pub(super) fn version(
    connection: &Connection,
    tenant: &TenantId,
    memory: &MemoryId,
    version: u64,
) -> Result<Option<MemoryVersion>, StoreError> {
    row(
        READING,
        connection,
        &format!(
            "SELECT {VERSION} FROM memory_version JOIN memory USING (memory_key)
             WHERE tenant_id = ?1 AND memory_id = ?2 AND version = ?3"
        ),
        params![
            tenant.as_str(),
            memory.as_str(),
            column::integer("version", version)?
        ],
        |row| version_at(row, 0),
    )
}

pub(super) fn versions(
    connection: &Connection,
    tenant: &TenantId,
    memory: &MemoryId,
    limit: usize,
) -> Result<Vec<MemoryVersion>, StoreError> {
    rows(
        READING,
        connection,
        &format!(
            "SELECT {VERSION} FROM memory_version JOIN memory USING (memory_key)
             WHERE tenant_id = ?1 AND memory_id = ?2 ORDER BY version DESC LIMIT ?3"
        ),
        params![tenant.as_str(), memory.as_str(), column::limit(limit)],
        |row| version_at(row, 0),
    )
}

pub(super) fn list(
    connection: &Connection,
    tenant: &TenantId,
    reader: &UserId,
    proposals: Proposals,
    now: Timestamp,
    page: &PageRequest,
) -> Result<Page<MemoryRecord>, StoreError> {
    let after = page.after.as_deref().map(Cursor::decode).transpose()?;
    let (at, id) = after.map_or((i64::MAX, String::new()), |cursor| (cursor.at, cursor.id));
    let which = match proposals {
        Proposals::Without => "current IS NOT NULL AND (visibility = 'shared' OR user_id = ?4)",
        Proposals::Own => {
            "proposed IS NOT NULL AND (user_id = ?4 OR EXISTS (SELECT 1 FROM memory_version AS v
             WHERE v.memory_key = memory.memory_key AND v.version = proposed AND v.author = ?4))"
        }
        Proposals::Shared => "proposed IS NOT NULL AND (visibility = 'shared' OR user_id = ?4)",
    };
    let entries = rows(
        "listing memories",
        connection,
        &format!(
            "SELECT {RECORD} FROM memory
             WHERE tenant_id = ?1 AND (created_at, memory_id) < (?2, ?3) AND removed_at IS NULL
               AND (expires_at IS NULL OR expires_at > ?5) AND {which}
             ORDER BY created_at DESC, memory_id DESC LIMIT ?6"
        ),
        params![
            tenant.as_str(),
            at,
            id,
            reader.as_str(),
            column::micros(now),
            column::limit(page.limit() + 1)
        ],
        |row| record(row, Some(now)),
    )?;
    Ok(column::page(entries, page, |memory| Cursor {
        at: column::micros(memory.created_at),
        id: memory.memory_id.to_string(),
    }))
}
