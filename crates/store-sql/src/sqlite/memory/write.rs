//! New memories, new versions, decisions and removals: each one transaction.

use charter_contract::agentic::memory::MemoryState;
use charter_contract::ids::{MemoryId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::memory::{MemoryDecision, MemoryVerdict, NewMemory, NewVersion};
use rusqlite::{Connection, params};

use super::super::SWEEP_BATCH;
use super::super::failure::during;
use super::super::statement::{execute, field, insert, row, rows};
use super::{READING, WHAT, WRITING, read};
use crate::column;

/// A tenant's next revision.
pub(super) const NEXT_REVISION: &str =
    "(SELECT coalesce(max(revision), 0) + 1 FROM memory WHERE tenant_id = ?1)";

fn refused(memory: &MemoryId, detail: String) -> StoreError {
    StoreError::Refused {
        what: WHAT,
        id: memory.to_string(),
        detail,
    }
}

/// Where a living memory stands.
struct Standing {
    key: i64,
    latest: u64,
    current: Option<u64>,
    proposed: Option<u64>,
}

fn standing(
    connection: &Connection,
    tenant: &TenantId,
    memory: &MemoryId,
    now: i64,
) -> Result<Standing, StoreError> {
    row(
        READING,
        connection,
        "SELECT memory_key, latest, current, proposed FROM memory
         WHERE tenant_id = ?1 AND memory_id = ?2 AND removed_at IS NULL
           AND (expires_at IS NULL OR expires_at > ?3)",
        params![tenant.as_str(), memory.as_str(), now],
        |row| {
            Ok(Standing {
                key: field(row, 0)?,
                latest: column::parse_integer("version", field(row, 1)?)?,
                current: read::version_number(field(row, 2)?)?,
                proposed: read::version_number(field(row, 3)?)?,
            })
        },
    )?
    .ok_or_else(|| StoreError::NotFound {
        what: WHAT,
        id: memory.to_string(),
    })
}

pub(super) fn add(connection: &Connection, new: &NewMemory, most: u64) -> Result<(), StoreError> {
    let first = &new.first;
    let memory = &first.entry.id;
    let held: Option<i64> = row(
        READING,
        connection,
        "SELECT count(*) FROM memory WHERE tenant_id = ?1 AND removed_at IS NULL",
        [new.tenant_id.as_str()],
        |row| field(row, 0),
    )?;
    if column::parse_integer("number of memories", held.unwrap_or(0))? >= most {
        return Err(refused(memory, format!("the tenant has {most} already")));
    }
    let (current, proposed) = places(first.state, 1);
    let key = insert(
        WRITING,
        connection,
        &format!(
            "INSERT INTO memory (tenant_id, memory_id, user_id, visibility, created_at, expires_at,
             latest, current, proposed, revision)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, {NEXT_REVISION}) ON CONFLICT DO NOTHING"
        ),
        params![
            new.tenant_id.as_str(),
            memory.as_str(),
            new.user_id.as_str(),
            new.visibility.as_str(),
            column::micros(first.entry.created_at),
            first.expires_at.map(column::micros),
            current,
            proposed
        ],
    )?
    .ok_or_else(|| StoreError::AlreadyExists {
        what: WHAT,
        id: memory.to_string(),
    })?;
    add_version(connection, key, 1, None, first)
}

/// What `current` and `proposed` become with a new version.
fn places(state: MemoryState, version: i64) -> (Option<i64>, Option<i64>) {
    match state {
        MemoryState::Accepted => (Some(version), None),
        MemoryState::Proposed | MemoryState::Superseded | MemoryState::Rejected => {
            (None, Some(version))
        }
    }
}

fn add_version(
    connection: &Connection,
    key: i64,
    version: i64,
    based_on: Option<i64>,
    new: &NewVersion,
) -> Result<(), StoreError> {
    let memory = &new.entry.id;
    if !matches!(new.state, MemoryState::Accepted | MemoryState::Proposed) {
        let detail = format!("a new version is accepted or proposed, not {}", new.state);
        return Err(refused(memory, detail));
    }
    execute(
        WRITING,
        connection,
        "INSERT INTO memory_version (memory_key, version, state, at, author, agent_id, based_on, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            key,
            version,
            new.state.as_str(),
            column::micros(new.at),
            new.author.as_str(),
            new.agent.as_ref().map(AsRef::<str>::as_ref),
            based_on,
            column::json(WHAT, memory.as_str(), &new.entry)?
        ],
    )?;
    if let Some(vector) = &new.vector {
        execute(
            WRITING,
            connection,
            "INSERT INTO memory_vector (memory_key, version, model, bytes) VALUES (?1, ?2, ?3, ?4)",
            params![key, version, vector.model, vector.bytes],
        )?;
    }
    Ok(())
}

fn supersede(connection: &Connection, key: i64, version: Option<u64>) -> Result<(), StoreError> {
    let Some(version) = version else {
        return Ok(());
    };
    let version = column::integer("version", version)?;
    execute(
        WRITING,
        connection,
        "UPDATE memory_version SET state = 'superseded' WHERE memory_key = ?1 AND version = ?2",
        params![key, version],
    )?;
    forget_vector(connection, key, version)
}

/// What is superseded or refused is not searched any more.
fn forget_vector(connection: &Connection, key: i64, version: i64) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "DELETE FROM memory_vector WHERE memory_key = ?1 AND version = ?2",
        params![key, version],
    )
    .map(|_| ())
}

pub(super) fn add_next(
    connection: &Connection,
    tenant: &TenantId,
    memory: &MemoryId,
    expected: Option<u64>,
    new: &NewVersion,
) -> Result<u64, StoreError> {
    let found = standing(connection, tenant, memory, column::micros(new.at))?;
    if found.current != expected {
        return Err(StoreError::VersionConflict {
            what: WHAT,
            id: memory.to_string(),
            expected: expected.unwrap_or(0),
            found: found.current.unwrap_or(0),
        });
    }
    if let Some(open) = found.proposed {
        let detail = format!("its version {open} waits for a decision");
        return Err(refused(memory, detail));
    }
    let version = found.latest + 1;
    let number = column::integer("version", version)?;
    let based_on = found.current.map(|n| column::integer("version", n));
    add_version(connection, found.key, number, based_on.transpose()?, new)?;
    if new.state == MemoryState::Accepted {
        supersede(connection, found.key, found.current)?;
    }
    let (current, proposed) = places(new.state, number);
    execute(
        WRITING,
        connection,
        &format!(
            "UPDATE memory SET latest = ?3, current = coalesce(?4, current), proposed = ?5,
             expires_at = CASE WHEN ?4 IS NULL THEN expires_at ELSE ?6 END,
             revision = {NEXT_REVISION} WHERE tenant_id = ?1 AND memory_key = ?2"
        ),
        params![
            tenant.as_str(),
            found.key,
            number,
            current,
            proposed,
            new.expires_at.map(column::micros)
        ],
    )?;
    Ok(version)
}

pub(super) fn decide(
    connection: &Connection,
    tenant: &TenantId,
    memory: &MemoryId,
    decision: &MemoryDecision,
) -> Result<(), StoreError> {
    let at = column::micros(decision.at);
    let found = standing(connection, tenant, memory, at)?;
    if found.proposed != Some(decision.version) {
        let detail = format!("its version {} is not proposed", decision.version);
        return Err(refused(memory, detail));
    }
    let version = column::integer("version", decision.version)?;
    let (state, current, expires_at) = match &decision.verdict {
        MemoryVerdict::Accept { expires_at } => {
            supersede(connection, found.key, found.current)?;
            (MemoryState::Accepted, Some(version), *expires_at)
        }
        MemoryVerdict::Reject => {
            forget_vector(connection, found.key, version)?;
            (MemoryState::Rejected, None, None)
        }
    };
    execute(
        WRITING,
        connection,
        "UPDATE memory_version SET state = ?3, decided_by = ?4, decided_at = ?5
         WHERE memory_key = ?1 AND version = ?2",
        params![found.key, version, state.as_str(), decision.by.as_str(), at],
    )?;
    execute(
        WRITING,
        connection,
        &format!(
            "UPDATE memory SET current = coalesce(?3, current), proposed = NULL,
             expires_at = CASE WHEN ?3 IS NULL THEN expires_at ELSE ?4 END,
             revision = {NEXT_REVISION} WHERE tenant_id = ?1 AND memory_key = ?2"
        ),
        params![
            tenant.as_str(),
            found.key,
            current,
            expires_at.map(column::micros)
        ],
    )
    .map(|_| ())
}

/// Takes the content away, and overwrites where it stood; `by` nobody when it expired.
fn remove(
    connection: &Connection,
    of: (&str, i64),
    by: Option<&str>,
    at: i64,
) -> Result<(), StoreError> {
    let overwriting = |how: &str| {
        connection
            .pragma_update_and_check(None, "secure_delete", how, |_| Ok(()))
            .map_err(during(WRITING))
    };
    overwriting("ON")?;
    let removed = take_away(connection, of, by, at);
    overwriting("FAST")?;
    removed
}

fn take_away(
    connection: &Connection,
    (tenant, key): (&str, i64),
    by: Option<&str>,
    at: i64,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "DELETE FROM memory_vector WHERE memory_key = ?1",
        [key],
    )?;
    execute(
        WRITING,
        connection,
        "UPDATE memory_version SET body = NULL WHERE memory_key = ?1",
        [key],
    )?;
    execute(
        WRITING,
        connection,
        &format!(
            "UPDATE memory SET current = NULL, proposed = NULL, removed_at = ?3, removed_by = ?4,
             revision = {NEXT_REVISION} WHERE tenant_id = ?1 AND memory_key = ?2"
        ),
        params![tenant, key, at, by],
    )
    .map(|_| ())
}

/// Removes some of what has expired; returns how many.
pub(super) fn sweep(connection: &Connection, now: i64) -> Result<usize, StoreError> {
    let expired: Vec<(String, i64, i64)> = rows(
        READING,
        connection,
        "SELECT tenant_id, memory_key, expires_at FROM memory
         WHERE removed_at IS NULL AND expires_at IS NOT NULL AND expires_at <= ?1 LIMIT ?2",
        params![now, column::limit(SWEEP_BATCH)],
        |row| Ok((field(row, 0)?, field(row, 1)?, field(row, 2)?)),
    )?;
    for (tenant, key, expired_at) in &expired {
        remove(connection, (tenant, *key), None, *expired_at)?;
    }
    Ok(expired.len())
}

/// Removes one memory on a person's word, once.
pub(super) fn remove_one(
    connection: &Connection,
    tenant: &TenantId,
    memory: &MemoryId,
    by: &UserId,
    at: Timestamp,
) -> Result<(), StoreError> {
    let known: Option<(i64, Option<i64>)> = row(
        READING,
        connection,
        "SELECT memory_key, removed_at FROM memory WHERE tenant_id = ?1 AND memory_id = ?2",
        [tenant.as_str(), memory.as_str()],
        |row| Ok((field(row, 0)?, field(row, 1)?)),
    )?;
    match known {
        None => Err(StoreError::NotFound {
            what: WHAT,
            id: memory.to_string(),
        }),
        Some((_, Some(_))) => Ok(()),
        Some((key, None)) => {
            let at = column::micros(at);
            remove(connection, (tenant.as_str(), key), Some(by.as_str()), at)
        }
    }
}
