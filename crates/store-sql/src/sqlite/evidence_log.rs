//! The evidence log in SQLite (`migrations/V1__initial.sql`).
//!
//! Leaves are appended on the write thread, in the transaction of their subject, so two leaves never get the same
//! position. This file knows how the tree is stored, not how it is computed.

use std::collections::BTreeMap;

use async_trait::async_trait;
use charter_contract::ids::{EvidenceId, TenantId};
use charter_contract::time::Timestamp;
use charter_domain::evidence_log::{Hash, LogEntry, NodeId, tree};
use charter_store::StoreError;
use charter_store::evidence_log::{EvidenceLog, PublishedCheckpoint, StoredLeaf};
use charter_store::tenant::LogHead;
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::connection::overwriting;
use super::statement::{execute, insert, row, rows};
use crate::column;
use crate::record::evidence_log::{WHAT, log_head, stored_leaf};
use crate::row::field;

const READING: &str = "reading the evidence log";
const APPENDING: &str = "appending to the evidence log";

/// Appends the leaf of an entry about the record `evidence_key`.
pub(super) fn append(
    connection: &Connection,
    tenant: &TenantId,
    evidence_key: i64,
    entry: &LogEntry,
) -> Result<(), StoreError> {
    let log = log_key_or_new(connection, tenant)?;
    let index = size(connection, log)?;
    let leaf = entry.to_leaf().map_err(|error| StoreError::Refused {
        what: WHAT,
        id: entry.evidence_id().to_string(),
        detail: error.to_string(),
    })?;
    execute(
        APPENDING,
        connection,
        "INSERT INTO evidence_leaf (log_key, leaf_index, evidence_key, leaf) VALUES (?1, ?2, ?3, ?4)",
        params![log, column::integer(WHAT, index)?, evidence_key, leaf],
    )?;
    let hash = Hash::leaf(leaf.as_bytes());
    for (id, hash) in tree::append(index, hash, |id| node(connection, log, id))? {
        execute(
            APPENDING,
            connection,
            "INSERT INTO evidence_node (log_key, level, node_index, hash) VALUES (?1, ?2, ?3, ?4)",
            params![log, id.level, column::integer(WHAT, id.index)?, hash.0],
        )?;
    }
    Ok(())
}

fn log_key(connection: &Connection, tenant: &TenantId) -> Result<Option<i64>, StoreError> {
    row(
        READING,
        connection,
        "SELECT log_key FROM evidence_log WHERE tenant_id = ?1",
        [tenant.as_str()],
        |row| field(row, 0),
    )
}

fn log_key_or_new(connection: &Connection, tenant: &TenantId) -> Result<i64, StoreError> {
    if let Some(log) = log_key(connection, tenant)? {
        return Ok(log);
    }
    execute(
        APPENDING,
        connection,
        "INSERT INTO evidence_log (tenant_id) VALUES (?1)",
        [tenant.as_str()],
    )?;
    Ok(connection.last_insert_rowid())
}

/// Returns the number of leaves, including erased ones, whose hashes stay: reads the last one's position from the
/// primary key, without counting.
fn size(connection: &Connection, log: i64) -> Result<u64, StoreError> {
    let size: Option<i64> = row(
        READING,
        connection,
        "SELECT coalesce(max(node_index) + 1, 0) FROM evidence_node WHERE log_key = ?1 AND level = 0",
        [log],
        |row| field(row, 0),
    )?;
    column::parse_integer(WHAT, size.unwrap_or(0))
}

/// Returns the number of a tenant's leaves, and their root hash.
pub(super) fn head(connection: &Connection, tenant: &TenantId) -> Result<LogHead, StoreError> {
    let Some(log) = log_key(connection, tenant)? else {
        return log_head(0, Ok(Hash::empty()));
    };
    let size = size(connection, log)?;
    let head = tree::head(size);
    let nodes = head.nodes().iter();
    let nodes = nodes.map(|id| Ok((*id, node(connection, log, *id)?)));
    let nodes: BTreeMap<_, _> = nodes.collect::<Result<_, StoreError>>()?;
    log_head(size, head.fold(&nodes))
}

fn node(connection: &Connection, log: i64, id: NodeId) -> Result<Hash, StoreError> {
    let place = || format!("node {} of level {}", id.index, id.level);
    let found: Option<Vec<u8>> = row(
        READING,
        connection,
        "SELECT hash FROM evidence_node WHERE log_key = ?1 AND level = ?2 AND node_index = ?3",
        params![log, id.level, column::integer(WHAT, id.index)?],
        |row| field(row, 0),
    )?;
    let found = found.ok_or_else(|| StoreError::NotFound {
        what: WHAT,
        id: place(),
    })?;
    column::parse_hash(WHAT, &found).map(Hash)
}

fn remove(
    connection: &Connection,
    before: i64,
    at: Timestamp,
    limit: usize,
) -> Result<usize, StoreError> {
    let due: Vec<(i64, String, String)> = rows(
        READING,
        connection,
        "SELECT evidence_key, tenant_id, evidence_id FROM evidence
         WHERE payload IS NOT NULL AND captured_at < ?1
         ORDER BY captured_at, tenant_id, evidence_id LIMIT ?2",
        params![before, column::limit(limit)],
        |row| Ok((field(row, 0)?, field(row, 1)?, field(row, 2)?)),
    )?;
    for (key, tenant, id) in &due {
        execute(
            "removing a payload",
            connection,
            "UPDATE evidence SET payload = NULL, payload_salt = NULL, payload_removed_at = ?2
             WHERE evidence_key = ?1",
            params![key, column::micros(at)],
        )?;
        let entry = LogEntry::PayloadRemoved {
            evidence_id: column::parse("evidence id", id)?,
            at,
        };
        append(connection, &column::parse("tenant", tenant)?, *key, &entry)?;
    }
    Ok(due.len())
}

#[async_trait]
impl EvidenceLog for SqliteStore {
    async fn log_size(&self, tenant: &TenantId) -> Result<u64, StoreError> {
        let tenant = tenant.clone();
        self.read(move |connection| {
            let log = log_key(connection, &tenant)?;
            log.map_or(Ok(0), |log| size(connection, log))
        })
        .await
    }

    async fn log_nodes(
        &self,
        tenant: &TenantId,
        nodes: &[NodeId],
    ) -> Result<BTreeMap<NodeId, Hash>, StoreError> {
        let (tenant, nodes) = (tenant.clone(), nodes.to_vec());
        self.read(move |connection| {
            // No log has this key, so a tenant without a log finds no nodes.
            let log = log_key(connection, &tenant)?.unwrap_or(-1);
            nodes
                .into_iter()
                .map(|id| Ok((id, node(connection, log, id)?)))
                .collect()
        })
        .await
    }

    async fn log_leaves(
        &self,
        tenant: &TenantId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<StoredLeaf>, StoreError> {
        let (tenant, from) = (tenant.clone(), column::integer(WHAT, from)?);
        self.read(move |connection| {
            rows(
                READING,
                connection,
                "SELECT leaf_index, leaf, body, payload, payload_salt
                 FROM evidence_log JOIN evidence_leaf USING (log_key) JOIN evidence USING (evidence_key)
                 WHERE evidence_log.tenant_id = ?1 AND leaf_index >= ?2 ORDER BY leaf_index LIMIT ?3",
                params![tenant.as_str(), from, column::limit(limit)],
                stored_leaf,
            )
        })
        .await
    }

    async fn log_leaves_of(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
    ) -> Result<Vec<StoredLeaf>, StoreError> {
        let (tenant, evidence) = (tenant.clone(), evidence.clone());
        self.read(move |connection| {
            rows(
                READING,
                connection,
                "SELECT leaf_index, leaf, body, payload, payload_salt
                 FROM evidence JOIN evidence_leaf USING (evidence_key)
                 WHERE evidence.tenant_id = ?1 AND evidence_id = ?2 ORDER BY leaf_index",
                [tenant.as_str(), evidence.as_str()],
                stored_leaf,
            )
        })
        .await
    }

    async fn publish_checkpoint(
        &self,
        tenant: &TenantId,
        checkpoint: &PublishedCheckpoint,
    ) -> Result<(), StoreError> {
        let (tenant, checkpoint) = (tenant.clone(), checkpoint.clone());
        self.write(move |connection| {
            let log = log_key_or_new(connection, &tenant)?;
            insert(
                "keeping a checkpoint",
                connection,
                "INSERT INTO evidence_checkpoint (log_key, size, key_id, at, note)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
                params![
                    log,
                    column::integer(WHAT, checkpoint.size)?,
                    checkpoint.key_id,
                    column::micros(checkpoint.at),
                    checkpoint.note
                ],
            )
            .map(|_| ())
        })
        .await
    }

    async fn published_checkpoint(
        &self,
        tenant: &TenantId,
        size: u64,
    ) -> Result<Option<PublishedCheckpoint>, StoreError> {
        let (tenant, stored_size) = (tenant.clone(), column::integer(WHAT, size)?);
        self.read(move |connection| {
            row(
                READING,
                connection,
                "SELECT key_id, at, note FROM evidence_log JOIN evidence_checkpoint USING (log_key)
                 WHERE tenant_id = ?1 AND size = ?2 ORDER BY at DESC, key_id LIMIT 1",
                params![tenant.as_str(), stored_size],
                |row| {
                    Ok(PublishedCheckpoint {
                        size,
                        key_id: field(row, 0)?,
                        at: column::parse_micros(field(row, 1)?)?,
                        note: field(row, 2)?,
                    })
                },
            )
        })
        .await
    }

    async fn remove_payloads(
        &self,
        before: Timestamp,
        at: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.write(move |connection| {
            overwriting(connection, || {
                remove(connection, column::micros(before), at, limit)
            })
        })
        .await
    }
}
