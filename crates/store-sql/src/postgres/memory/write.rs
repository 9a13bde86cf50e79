//! New memories, new versions, decisions and removals, each in one transaction.

use charter_contract::agentic::memory::MemoryState;
use charter_contract::ids::{MemoryId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::memory::{MemoryDecision, MemoryVerdict, NewMemory, NewVersion};
use deadpool_postgres::Transaction;

use super::super::SWEEP_BATCH;
use super::super::statement::{execute, params, row, rows};
use super::{Key, READING, WRITING, near};
use crate::column;
use crate::record::memory::{self as record, MemoryHead, WHAT, places};
use crate::row::field;

/// A tenant's next revision.
pub(super) const NEXT_REVISION: &str =
    "(SELECT coalesce(max(revision), 0) + 1 FROM memory WHERE tenant_id = $1)";

/// Locks a tenant's memories against other changes until the transaction ends.
pub(super) async fn lock(connection: &Transaction<'_>, tenant: &str) -> Result<(), StoreError> {
    let sql = "INSERT INTO memory_tenant (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING";
    execute(WRITING, connection, sql, params![tenant]).await?;
    let sql = "SELECT FROM memory_tenant WHERE tenant_id = $1 FOR UPDATE";
    let locked = row(READING, connection, sql, params![tenant], |_| Ok(())).await;
    locked.map(|_| ())
}

/// Reads the current versions of a living memory; its tenant's memories are locked until the transaction ends.
async fn standing(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    memory: &MemoryId,
    now: i64,
) -> Result<MemoryHead, StoreError> {
    lock(connection, tenant.as_str()).await?;
    row(
        READING,
        connection,
        "SELECT latest, current, proposed FROM memory
         WHERE tenant_id = $1 AND memory_id = $2 AND removed_at IS NULL
           AND (expires_at IS NULL OR expires_at > $3)",
        params![tenant.as_str(), memory.as_str(), now],
        record::standing,
    )
    .await?
    .ok_or_else(|| record::missing(memory))
}

pub(super) async fn add(
    connection: &Transaction<'_>,
    new: &NewMemory,
    most: u64,
) -> Result<(), StoreError> {
    let first = &new.first;
    let memory = &first.entry.id;
    lock(connection, new.tenant_id.as_str()).await?;
    let held: Option<i64> = row(
        READING,
        connection,
        "SELECT count(*) FROM memory WHERE tenant_id = $1 AND removed_at IS NULL",
        params![new.tenant_id.as_str()],
        |row| field(row, 0),
    )
    .await?;
    record::check_room(memory, held.unwrap_or(0), most)?;
    let (current, proposed) = places(first.state, 1);
    let added = execute(
        WRITING,
        connection,
        &format!(
            "INSERT INTO memory (tenant_id, memory_id, user_id, visibility, created_at, expires_at,
             latest, current, proposed, revision)
             VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $8, {NEXT_REVISION}) ON CONFLICT DO NOTHING"
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
    )
    .await?;
    if added == 0 {
        return Err(record::exists(memory));
    }
    let key = (new.tenant_id.as_str(), memory.as_str());
    add_version(connection, key, 1, None, first).await
}

async fn add_version(
    connection: &Transaction<'_>,
    key: Key<'_>,
    version: i64,
    based_on: Option<i64>,
    new: &NewVersion,
) -> Result<(), StoreError> {
    let memory = &new.entry.id;
    record::check_new(new)?;
    execute(
        WRITING,
        connection,
        "INSERT INTO memory_version (tenant_id, memory_id, version, state, at, author, agent_id, based_on, body)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        params![
            key.0,
            key.1,
            version,
            new.state.as_str(),
            column::micros(new.at),
            new.author.as_str(),
            new.agent.as_ref().map(AsRef::<str>::as_ref),
            based_on,
            column::json(WHAT, memory.as_str(), &new.entry)?
        ],
    ).await?;
    if let Some(vector) = &new.vector {
        execute(
            WRITING,
            connection,
            "INSERT INTO memory_vector (tenant_id, memory_id, version, model, bytes)
             VALUES ($1, $2, $3, $4, $5)",
            params![key.0, key.1, version, vector.model, vector.bytes],
        )
        .await?;
        near::insert_vector(connection, key, version, vector).await?;
    }
    Ok(())
}

async fn supersede(
    connection: &Transaction<'_>,
    key: Key<'_>,
    version: Option<u64>,
) -> Result<(), StoreError> {
    let Some(version) = version else {
        return Ok(());
    };
    let version = column::integer("version", version)?;
    execute(
        WRITING,
        connection,
        "UPDATE memory_version SET state = 'superseded' WHERE tenant_id = $1 AND memory_id = $2 AND version = $3",
        params![key.0, key.1, version],
    ).await?;
    forget_vector(connection, key, version).await
}

/// Deletes the vector of a superseded or rejected version, which is not searched any more.
async fn forget_vector(
    connection: &Transaction<'_>,
    key: Key<'_>,
    version: i64,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        connection,
        "DELETE FROM memory_vector WHERE tenant_id = $1 AND memory_id = $2 AND version = $3",
        params![key.0, key.1, version],
    )
    .await
    .map(|_| ())
}

pub(super) async fn add_next(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    memory: &MemoryId,
    expected: Option<u64>,
    new: &NewVersion,
) -> Result<u64, StoreError> {
    let key = (tenant.as_str(), memory.as_str());
    let found = standing(connection, tenant, memory, column::micros(new.at)).await?;
    found.check_next(memory, expected)?;
    let version = found.latest + 1;
    let number = column::integer("version", version)?;
    let based_on = found.current.map(|n| column::integer("version", n));
    add_version(connection, key, number, based_on.transpose()?, new).await?;
    if new.state == MemoryState::Accepted {
        supersede(connection, key, found.current).await?;
    }
    let (current, proposed) = places(new.state, number);
    execute(
        WRITING,
        connection,
        &format!(
            "UPDATE memory SET latest = $3, current = coalesce($4, current), proposed = $5,
             expires_at = CASE WHEN $4::bigint IS NULL THEN expires_at ELSE $6 END,
             revision = {NEXT_REVISION} WHERE tenant_id = $1 AND memory_id = $2"
        ),
        params![
            key.0,
            key.1,
            number,
            current,
            proposed,
            new.expires_at.map(column::micros)
        ],
    )
    .await?;
    Ok(version)
}

pub(super) async fn decide(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    memory: &MemoryId,
    decision: &MemoryDecision,
) -> Result<(), StoreError> {
    let at = column::micros(decision.at);
    let key = (tenant.as_str(), memory.as_str());
    let found = standing(connection, tenant, memory, at).await?;
    found.check_proposed(memory, decision.version)?;
    let version = column::integer("version", decision.version)?;
    let (state, current, expires_at) = match &decision.verdict {
        MemoryVerdict::Accept { expires_at } => {
            supersede(connection, key, found.current).await?;
            (MemoryState::Accepted, Some(version), *expires_at)
        }
        MemoryVerdict::Reject => {
            forget_vector(connection, key, version).await?;
            (MemoryState::Rejected, None, None)
        }
    };
    execute(
        WRITING,
        connection,
        "UPDATE memory_version SET state = $4, decided_by = $5, decided_at = $6
         WHERE tenant_id = $1 AND memory_id = $2 AND version = $3",
        params![
            key.0,
            key.1,
            version,
            state.as_str(),
            decision.by.as_str(),
            at
        ],
    )
    .await?;
    execute(
        WRITING,
        connection,
        &format!(
            "UPDATE memory SET current = coalesce($3, current), proposed = NULL,
             expires_at = CASE WHEN $3::bigint IS NULL THEN expires_at ELSE $4 END,
             revision = {NEXT_REVISION} WHERE tenant_id = $1 AND memory_id = $2"
        ),
        params![key.0, key.1, current, expires_at.map(column::micros)],
    )
    .await
    .map(|_| ())
}

/// Removes the content; `by` is absent if it expired. The caller has locked the tenant's memories.
async fn remove(
    connection: &Transaction<'_>,
    key: Key<'_>,
    by: Option<&str>,
    at: i64,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM memory_vector WHERE tenant_id = $1 AND memory_id = $2";
    execute(WRITING, connection, sql, params![key.0, key.1]).await?;
    let sql = "UPDATE memory_version SET body = NULL WHERE tenant_id = $1 AND memory_id = $2";
    execute(WRITING, connection, sql, params![key.0, key.1]).await?;
    execute(
        WRITING,
        connection,
        &format!(
            "UPDATE memory SET current = NULL, proposed = NULL, removed_at = $3, removed_by = $4,
             revision = {NEXT_REVISION} WHERE tenant_id = $1 AND memory_id = $2"
        ),
        params![key.0, key.1, at, by],
    )
    .await
    .map(|_| ())
}

/// The condition for memories that have expired by `$1` and are not removed.
const DUE: &str = "removed_at IS NULL AND expires_at IS NOT NULL AND expires_at <= $1";

/// Removes a batch of expired memories; returns their number.
pub(super) async fn sweep(connection: &Transaction<'_>, now: i64) -> Result<usize, StoreError> {
    let most = column::limit(SWEEP_BATCH);
    let tenants: Vec<String> = rows(
        READING,
        connection,
        &format!(
            "SELECT DISTINCT tenant_id FROM
             (SELECT tenant_id FROM memory WHERE {DUE} LIMIT $2) AS due ORDER BY tenant_id"
        ),
        params![now, most],
        |row| field(row, 0),
    )
    .await?;
    for tenant in &tenants {
        lock(connection, tenant).await?;
    }
    // Read again after the lock: another replica may have removed some in the meantime.
    let expired: Vec<(String, String, i64)> = rows(
        READING,
        connection,
        &format!(
            "SELECT tenant_id, memory_id, expires_at FROM memory
             WHERE {DUE} AND tenant_id = ANY ($3) LIMIT $2"
        ),
        params![now, most, tenants],
        |row| Ok((field(row, 0)?, field(row, 1)?, field(row, 2)?)),
    )
    .await?;
    for (tenant, memory, expired_at) in &expired {
        remove(connection, (tenant, memory), None, *expired_at).await?;
    }
    Ok(expired.len())
}

/// Removes one memory on a person's request, once.
pub(super) async fn remove_one(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    memory: &MemoryId,
    by: &UserId,
    at: Timestamp,
) -> Result<(), StoreError> {
    let key = (tenant.as_str(), memory.as_str());
    lock(connection, key.0).await?;
    let sql = "SELECT removed_at FROM memory WHERE tenant_id = $1 AND memory_id = $2";
    let values = params![key.0, key.1];
    let known: Option<Option<i64>> =
        row(READING, connection, sql, values, |row| field(row, 0)).await?;
    match known {
        None => Err(record::missing(memory)),
        Some(Some(_)) => Ok(()),
        Some(None) => remove(connection, key, Some(by.as_str()), column::micros(at)).await,
    }
}
