//! New memories, new versions, decisions and removals, each in one transaction.

use std::collections::BTreeSet;

use charter_contract::agentic::memory::MemoryState;
use charter_contract::ids::{MemoryId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::memory::{MemoryDecision, MemoryVector, MemoryVerdict, NewMemory, NewVersion};

use super::record::{self, MemoryHead, WHAT, places};
use super::{Key, READING, WRITING};
use crate::column;
use crate::row::field;
use crate::store::SWEEP_BATCH;
use crate::tx::{Dialect, Tx, execute, params, row, rows};
use crate::vector::converted;

/// A tenant's next revision.
const NEXT_REVISION: &str =
    "(SELECT coalesce(max(revision), 0) + 1 FROM memory WHERE tenant_id = $1)";

/// Locks a tenant's memories against other changes until the transaction ends.
async fn lock(tx: &mut Tx<'_>, tenant: &str) -> Result<(), StoreError> {
    let sql = "INSERT INTO memory_tenant (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING";
    execute(WRITING, tx, sql, params![tenant]).await?;
    let sql = format!(
        "SELECT 1 FROM memory_tenant WHERE tenant_id = $1{}",
        tx.dialect().for_update()
    );
    let locked = row(READING, tx, &sql, params![tenant], |_| Ok(())).await;
    locked.map(|_| ())
}

/// Reads the current versions of a living memory; its tenant's memories are locked until the transaction ends.
async fn standing(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    memory: &MemoryId,
    now: i64,
) -> Result<MemoryHead, StoreError> {
    lock(tx, tenant.as_str()).await?;
    row(
        READING,
        tx,
        "SELECT latest, current, proposed FROM memory
         WHERE tenant_id = $1 AND memory_id = $2 AND removed_at IS NULL
           AND (expires_at IS NULL OR expires_at > $3)",
        params![tenant.as_str(), memory.as_str(), now],
        record::standing,
    )
    .await?
    .ok_or_else(|| record::missing(memory))
}

pub(super) async fn add(tx: &mut Tx<'_>, new: &NewMemory, most: u64) -> Result<(), StoreError> {
    let first = &new.first;
    let memory = &first.entry.id;
    lock(tx, new.tenant_id.as_str()).await?;
    let held: Option<i64> = row(
        READING,
        tx,
        "SELECT count(*) FROM memory WHERE tenant_id = $1 AND removed_at IS NULL",
        params![new.tenant_id.as_str()],
        |row| field(row, 0),
    )
    .await?;
    if column::parse_integer("number of memories", held.unwrap_or(0))? >= most {
        let detail = format!("the tenant already has {most}");
        return Err(record::refused(memory, detail));
    }
    let (current, proposed) = places(first.state, 1);
    let added = execute(
        WRITING,
        tx,
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
        return Err(StoreError::AlreadyExists {
            what: WHAT,
            id: memory.to_string(),
        });
    }
    let key = (new.tenant_id.as_str(), memory.as_str());
    add_version(tx, key, 1, None, first).await
}

async fn add_version(
    tx: &mut Tx<'_>,
    key: Key<'_>,
    version: i64,
    based_on: Option<i64>,
    new: &NewVersion,
) -> Result<(), StoreError> {
    let memory = &new.entry.id;
    record::check_new(new)?;
    execute(
        WRITING,
        tx,
        "INSERT INTO memory_version
         (tenant_id, memory_id, version, state, at, author, agent_id, based_on, body)
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
    )
    .await?;
    match &new.vector {
        Some(vector) => insert_vector(tx, key, version, vector).await,
        None => Ok(()),
    }
}

/// Inserts an embedding, or replaces that of another model.
async fn insert_vector(
    tx: &mut Tx<'_>,
    key: Key<'_>,
    version: i64,
    vector: &MemoryVector,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        tx,
        "INSERT INTO memory_vector (tenant_id, memory_id, version, model, bytes)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (tenant_id, memory_id, version) DO UPDATE
         SET model = excluded.model, bytes = excluded.bytes",
        params![
            key.0,
            key.1,
            version,
            &vector.model,
            vector.bytes.as_slice()
        ],
    )
    .await?;
    insert_near(tx, key, version, vector).await
}

/// Inserts a vector for searches, beside its bytes; in SQLite, nothing.
pub(crate) async fn insert_near(
    tx: &mut Tx<'_>,
    key: Key<'_>,
    version: i64,
    vector: &MemoryVector,
) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Sqlite {
        return Ok(());
    }
    let Some(converted) = converted(&vector.bytes) else {
        return Ok(());
    };
    execute(
        WRITING,
        tx,
        "SELECT charter_memory_near($1, $2, $3, $4, $5)",
        params![key.0, key.1, version, &vector.model, converted],
    )
    .await
    .map(|_| ())
}

/// Inserts embeddings; locks the memories of several tenants in the order of the tenants' names.
pub(super) async fn insert_vectors(
    tx: &mut Tx<'_>,
    vectors: &[(TenantId, MemoryId, u64, MemoryVector)],
) -> Result<(), StoreError> {
    let tenants: BTreeSet<&str> = vectors.iter().map(|(tenant, ..)| tenant.as_str()).collect();
    for tenant in tenants {
        lock(tx, tenant).await?;
    }
    for (tenant, memory, version, vector) in vectors {
        let key = (tenant.as_str(), memory.as_str());
        let version = column::integer("version", *version)?;
        let searched = execute(
            WRITING,
            tx,
            &format!(
                "UPDATE memory SET revision = {NEXT_REVISION} WHERE tenant_id = $1
                 AND memory_id = $2 AND CAST($3 AS bigint) IN (current, proposed)"
            ),
            params![key.0, key.1, version],
        )
        .await?;
        if searched > 0 {
            insert_vector(tx, key, version, vector).await?;
        }
    }
    Ok(())
}

async fn supersede(tx: &mut Tx<'_>, key: Key<'_>, version: Option<u64>) -> Result<(), StoreError> {
    let Some(version) = version else {
        return Ok(());
    };
    let version = column::integer("version", version)?;
    execute(
        WRITING,
        tx,
        "UPDATE memory_version SET state = 'superseded'
         WHERE tenant_id = $1 AND memory_id = $2 AND version = $3",
        params![key.0, key.1, version],
    )
    .await?;
    forget_vector(tx, key, version).await
}

/// Deletes the vector of a superseded or rejected version, which is not searched any more.
async fn forget_vector(tx: &mut Tx<'_>, key: Key<'_>, version: i64) -> Result<(), StoreError> {
    execute(
        WRITING,
        tx,
        "DELETE FROM memory_vector WHERE tenant_id = $1 AND memory_id = $2 AND version = $3",
        params![key.0, key.1, version],
    )
    .await
    .map(|_| ())
}

pub(super) async fn add_next(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    memory: &MemoryId,
    expected: Option<u64>,
    new: &NewVersion,
) -> Result<u64, StoreError> {
    let key = (tenant.as_str(), memory.as_str());
    let found = standing(tx, tenant, memory, column::micros(new.at)).await?;
    found.check_next(memory, expected)?;
    let version = found.latest + 1;
    let number = column::integer("version", version)?;
    let based_on = found.current.map(|n| column::integer("version", n));
    add_version(tx, key, number, based_on.transpose()?, new).await?;
    if new.state == MemoryState::Accepted {
        supersede(tx, key, found.current).await?;
    }
    let places = places(new.state, number);
    set_places(tx, key, number, places, new.expires_at).await?;
    Ok(version)
}

/// Sets the newest version and the new places; a new current version sets the expiry too.
async fn set_places(
    tx: &mut Tx<'_>,
    key: Key<'_>,
    latest: i64,
    (current, proposed): (Option<i64>, Option<i64>),
    expires_at: Option<Timestamp>,
) -> Result<(), StoreError> {
    execute(
        WRITING,
        tx,
        &format!(
            "UPDATE memory SET latest = $3, current = coalesce($4, current), proposed = $5,
             expires_at = CASE WHEN CAST($4 AS bigint) IS NULL THEN expires_at ELSE $6 END,
             revision = {NEXT_REVISION} WHERE tenant_id = $1 AND memory_id = $2"
        ),
        params![
            key.0,
            key.1,
            latest,
            current,
            proposed,
            expires_at.map(column::micros)
        ],
    )
    .await
    .map(|_| ())
}

pub(super) async fn decide(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    memory: &MemoryId,
    decision: &MemoryDecision,
) -> Result<(), StoreError> {
    let at = column::micros(decision.at);
    let key = (tenant.as_str(), memory.as_str());
    let found = standing(tx, tenant, memory, at).await?;
    found.check_proposed(memory, decision.version)?;
    let version = column::integer("version", decision.version)?;
    let (state, current, expires_at) = match &decision.verdict {
        MemoryVerdict::Accept { expires_at } => {
            supersede(tx, key, found.current).await?;
            (MemoryState::Accepted, Some(version), *expires_at)
        }
        MemoryVerdict::Reject => {
            forget_vector(tx, key, version).await?;
            (MemoryState::Rejected, None, None)
        }
    };
    execute(
        WRITING,
        tx,
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
    let latest = column::integer("version", found.latest)?;
    set_places(tx, key, latest, (current, None), expires_at).await
}

/// Removes the content; `by` is absent if it expired. The caller has locked the tenant's memories.
async fn remove(
    tx: &mut Tx<'_>,
    key: Key<'_>,
    by: Option<&str>,
    at: i64,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM memory_vector WHERE tenant_id = $1 AND memory_id = $2";
    execute(WRITING, tx, sql, params![key.0, key.1]).await?;
    let sql = "UPDATE memory_version SET body = NULL WHERE tenant_id = $1 AND memory_id = $2";
    execute(WRITING, tx, sql, params![key.0, key.1]).await?;
    execute(
        WRITING,
        tx,
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
pub(super) async fn sweep(tx: &mut Tx<'_>, now: i64) -> Result<usize, StoreError> {
    let most = column::limit(SWEEP_BATCH);
    let tenants: Vec<String> = rows(
        READING,
        tx,
        &format!(
            "SELECT DISTINCT tenant_id FROM
             (SELECT tenant_id FROM memory WHERE {DUE} LIMIT $2) AS due ORDER BY tenant_id"
        ),
        params![now, most],
        |row| field(row, 0),
    )
    .await?;
    for tenant in &tenants {
        lock(tx, tenant).await?;
    }
    // Read again after the lock: another replica may have removed some in the meantime.
    // The expression keeps SQLite from reading all memories of those tenants, by another index.
    let sql = format!(
        "SELECT tenant_id, memory_id, expires_at FROM memory
         WHERE {DUE} AND tenant_id || '' {} LIMIT $2",
        tx.dialect().one_of("$3")
    );
    let tenants: Vec<&str> = tenants.iter().map(String::as_str).collect();
    let values = params![now, most, tenants];
    let expired: Vec<(String, String, i64)> = rows(READING, tx, &sql, values, |row| {
        Ok((field(row, 0)?, field(row, 1)?, field(row, 2)?))
    })
    .await?;
    for (tenant, memory, expired_at) in &expired {
        remove(tx, (tenant, memory), None, *expired_at).await?;
    }
    Ok(expired.len())
}

/// Removes one memory on a person's request, once.
pub(super) async fn remove_one(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    memory: &MemoryId,
    by: &UserId,
    at: i64,
) -> Result<(), StoreError> {
    let key = (tenant.as_str(), memory.as_str());
    lock(tx, key.0).await?;
    let sql = "SELECT removed_at FROM memory WHERE tenant_id = $1 AND memory_id = $2";
    let values = params![key.0, key.1];
    let known: Option<Option<i64>> = row(READING, tx, sql, values, |row| field(row, 0)).await?;
    match known {
        None => Err(record::missing(memory)),
        Some(Some(_)) => Ok(()),
        Some(None) => remove(tx, key, Some(by.as_str()), at).await,
    }
}
