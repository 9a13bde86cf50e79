//! New memories, new versions, decisions and removals, each in one transaction.

use charter_contract::agentic::memory::MemoryState;
use charter_contract::ids::{MemoryId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::memory::{MemoryDecision, MemoryVerdict, NewMemory, NewVersion};
use rusqlite::{Connection, params};

use super::super::SWEEP_BATCH;
use super::super::connection::overwriting;
use super::super::statement::{execute, insert, row, rows};
use super::{READING, WRITING};
use crate::column;
use crate::record::memory::{self as record, MemoryHead, WHAT, places};
use crate::row::field;

/// A tenant's next revision.
pub(super) const NEXT_REVISION: &str =
    "(SELECT coalesce(max(revision), 0) + 1 FROM memory WHERE tenant_id = ?1)";

/// Reads a living memory's key and version numbers.
fn standing(
    connection: &Connection,
    tenant: &TenantId,
    memory: &MemoryId,
    now: i64,
) -> Result<(i64, MemoryHead), StoreError> {
    row(
        READING,
        connection,
        "SELECT latest, current, proposed, memory_key FROM memory
         WHERE tenant_id = ?1 AND memory_id = ?2 AND removed_at IS NULL
           AND (expires_at IS NULL OR expires_at > ?3)",
        params![tenant.as_str(), memory.as_str(), now],
        |row| Ok((field(row, 3)?, record::standing(row)?)),
    )?
    .ok_or_else(|| record::missing(memory))
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
    record::check_room(memory, held.unwrap_or(0), most)?;
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
    .ok_or_else(|| record::exists(memory))?;
    add_version(connection, key, 1, None, first)
}

fn add_version(
    connection: &Connection,
    key: i64,
    version: i64,
    based_on: Option<i64>,
    new: &NewVersion,
) -> Result<(), StoreError> {
    let memory = &new.entry.id;
    record::check_new(new)?;
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

/// Deletes the vector of a superseded or rejected version, which is not searched any more.
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
    let (key, found) = standing(connection, tenant, memory, column::micros(new.at))?;
    found.check_next(memory, expected)?;
    let version = found.latest + 1;
    let number = column::integer("version", version)?;
    let based_on = found.current.map(|n| column::integer("version", n));
    add_version(connection, key, number, based_on.transpose()?, new)?;
    if new.state == MemoryState::Accepted {
        supersede(connection, key, found.current)?;
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
            key,
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
    let (key, found) = standing(connection, tenant, memory, at)?;
    found.check_proposed(memory, decision.version)?;
    let version = column::integer("version", decision.version)?;
    let (state, current, expires_at) = match &decision.verdict {
        MemoryVerdict::Accept { expires_at } => {
            supersede(connection, key, found.current)?;
            (MemoryState::Accepted, Some(version), *expires_at)
        }
        MemoryVerdict::Reject => {
            forget_vector(connection, key, version)?;
            (MemoryState::Rejected, None, None)
        }
    };
    execute(
        WRITING,
        connection,
        "UPDATE memory_version SET state = ?3, decided_by = ?4, decided_at = ?5
         WHERE memory_key = ?1 AND version = ?2",
        params![key, version, state.as_str(), decision.by.as_str(), at],
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
            key,
            current,
            expires_at.map(column::micros)
        ],
    )
    .map(|_| ())
}

/// Removes the content and overwrites its storage; `by` is absent if it expired.
fn remove(
    connection: &Connection,
    of: (&str, i64),
    by: Option<&str>,
    at: i64,
) -> Result<(), StoreError> {
    overwriting(connection, || take_away(connection, of, by, at))
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

/// Removes a batch of expired memories; returns their number.
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

/// Removes one memory on a person's request, once.
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
        None => Err(record::missing(memory)),
        Some((_, Some(_))) => Ok(()),
        Some((key, None)) => {
            let at = column::micros(at);
            remove(connection, (tenant.as_str(), key), Some(by.as_str()), at)
        }
    }
}
