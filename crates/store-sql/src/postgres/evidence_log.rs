//! The evidence log in PostgreSQL.
//!
//! Leaves are appended in the transaction of their subject, by the holder of the tenant's row of `evidence_log`, so two
//! leaves never get the same position. This file knows how the tree is stored, not how it is computed.

use std::collections::BTreeMap;

use async_trait::async_trait;
use charter_contract::ids::{EvidenceId, TenantId};
use charter_contract::time::Timestamp;
use charter_domain::evidence_log::{Hash, LogEntry, NodeId, tree};
use charter_store::StoreError;
use charter_store::evidence_log::{EvidenceLog, PublishedCheckpoint, StoredLeaf};
use charter_store::tenant::LogHead;
use deadpool_postgres::{GenericClient, Transaction};

use super::PostgresStore;
use super::connection::{RowScope, in_transaction};
use super::statement::{execute, params, row, rows};
use crate::column;
use crate::record::evidence_log::{WHAT, log_head, stored_leaf};
use crate::row::{Columns, field};

const READING: &str = "reading the evidence log";
const APPENDING: &str = "appending to the evidence log";

/// A tenant's log, locked against other appends until the transaction ends.
pub(super) struct Log {
    tenant: String,
    size: u64,
    /// The perfect subtrees that an append builds on.
    nodes: BTreeMap<NodeId, Hash>,
}

impl Log {
    pub(super) async fn hold(
        connection: &Transaction<'_>,
        tenant: &TenantId,
    ) -> Result<Self, StoreError> {
        let id = tenant.as_str();
        let sql = "INSERT INTO evidence_log (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING";
        execute(APPENDING, connection, sql, params![id]).await?;
        let sql = "SELECT FROM evidence_log WHERE tenant_id = $1 FOR UPDATE";
        row(READING, connection, sql, params![id], |_| Ok(())).await?;
        let size = size(connection, tenant).await?;
        let nodes = nodes(connection, tenant, tree::head(size).nodes()).await?;
        Ok(Self {
            tenant: id.to_owned(),
            size,
            nodes,
        })
    }

    /// Appends the leaf of an entry.
    pub(super) async fn append(
        &mut self,
        connection: &Transaction<'_>,
        entry: &LogEntry,
    ) -> Result<(), StoreError> {
        let id = entry.evidence_id();
        let leaf = entry.to_leaf().map_err(|error| StoreError::Refused {
            what: WHAT,
            id: id.to_string(),
            detail: error.to_string(),
        })?;
        execute(
            APPENDING,
            connection,
            "INSERT INTO evidence_leaf (tenant_id, leaf_index, evidence_id, leaf)
             VALUES ($1, $2, $3, $4)",
            params![
                self.tenant,
                column::integer(WHAT, self.size)?,
                id.as_str(),
                leaf
            ],
        )
        .await?;
        let hash = Hash::leaf(leaf.as_bytes());
        let made = tree::append(self.size, hash, |id| found(&self.nodes, id))?;
        let indexes = made.iter().map(|(id, _)| column::integer(WHAT, id.index));
        execute(
            APPENDING,
            connection,
            "INSERT INTO evidence_node (tenant_id, level, node_index, hash)
             SELECT $1, level, node_index, hash
             FROM unnest($2::bigint[], $3::bigint[], $4::bytea[]) AS new (level, node_index, hash)",
            params![
                self.tenant,
                made.iter()
                    .map(|(id, _)| i64::from(id.level))
                    .collect::<Vec<_>>(),
                indexes.collect::<Result<Vec<_>, _>>()?,
                made.iter()
                    .map(|(_, hash)| hash.0.as_slice())
                    .collect::<Vec<_>>(),
            ],
        )
        .await?;
        self.size += 1;
        self.nodes.extend(made);
        Ok(())
    }
}

fn found(nodes: &BTreeMap<NodeId, Hash>, id: NodeId) -> Result<Hash, StoreError> {
    nodes.get(&id).copied().ok_or_else(|| StoreError::NotFound {
        what: WHAT,
        id: format!("node {} of level {}", id.index, id.level),
    })
}

/// Returns the number of leaves, including erased ones, whose hashes stay: reads the last one's position from the
/// primary key, without counting.
async fn size(connection: &impl GenericClient, tenant: &TenantId) -> Result<u64, StoreError> {
    let sql = "SELECT coalesce(max(node_index) + 1, 0) FROM evidence_node
               WHERE tenant_id = $1 AND level = 0";
    let values = params![tenant.as_str()];
    let size: Option<i64> = row(READING, connection, sql, values, |row| field(row, 0)).await?;
    column::parse_integer(WHAT, size.unwrap_or(0))
}

/// Returns those of these nodes that exist.
async fn nodes(
    connection: &impl GenericClient,
    tenant: &TenantId,
    ids: &[NodeId],
) -> Result<BTreeMap<NodeId, Hash>, StoreError> {
    let indexes = ids.iter().map(|id| column::integer(WHAT, id.index));
    let found = rows(
        READING,
        connection,
        "SELECT level, node_index, hash FROM evidence_node
         WHERE tenant_id = $1
           AND (level, node_index) IN (SELECT * FROM unnest($2::bigint[], $3::bigint[]))",
        params![
            tenant.as_str(),
            ids.iter().map(|id| i64::from(id.level)).collect::<Vec<_>>(),
            indexes.collect::<Result<Vec<_>, _>>()?,
        ],
        node,
    )
    .await?;
    Ok(found.into_iter().collect())
}

/// Returns the number of leaves, and their root hash.
pub(super) async fn head(
    connection: &impl GenericClient,
    tenant: &TenantId,
) -> Result<LogHead, StoreError> {
    let size = size(connection, tenant).await?;
    let head = tree::head(size);
    let nodes = nodes(connection, tenant, head.nodes()).await?;
    log_head(size, head.fold(&nodes))
}

fn node(row: &dyn Columns) -> Result<(NodeId, Hash), StoreError> {
    let level: i64 = field(row, 0)?;
    let level = u8::try_from(level).map_err(|error| StoreError::Corrupt {
        what: WHAT,
        id: format!("level {level}"),
        detail: error.to_string(),
    })?;
    let index = column::parse_integer(WHAT, field(row, 1)?)?;
    let hash = column::parse_hash(WHAT, field(row, 2)?)?;
    Ok((NodeId { level, index }, Hash(hash)))
}

/// Removes payloads captured before `before`; skips rows that another replica removes concurrently.
async fn remove(
    connection: &Transaction<'_>,
    before: i64,
    at: Timestamp,
    limit: usize,
) -> Result<usize, StoreError> {
    let due: Vec<(String, String)> = rows(
        READING,
        connection,
        "SELECT tenant_id, evidence_id FROM evidence
         WHERE payload IS NOT NULL AND captured_at < $1
         ORDER BY captured_at, tenant_id, evidence_id LIMIT $2 FOR UPDATE SKIP LOCKED",
        params![before, column::limit(limit)],
        |row| Ok((field(row, 0)?, field(row, 1)?)),
    )
    .await?;
    let mut logs: BTreeMap<&str, Log> = BTreeMap::new();
    for (tenant, _) in &due {
        if !logs.contains_key(tenant.as_str()) {
            let log = Log::hold(connection, &column::parse("tenant", tenant)?).await?;
            logs.insert(tenant, log);
        }
    }
    for (tenant, id) in &due {
        execute(
            "removing a payload",
            connection,
            "UPDATE evidence SET payload = NULL, payload_salt = NULL, payload_removed_at = $3
             WHERE tenant_id = $1 AND evidence_id = $2",
            params![tenant, id, column::micros(at)],
        )
        .await?;
        let entry = LogEntry::PayloadRemoved {
            evidence_id: column::parse("evidence id", id)?,
            at,
        };
        if let Some(log) = logs.get_mut(tenant.as_str()) {
            log.append(connection, &entry).await?;
        }
    }
    Ok(due.len())
}

async fn publish(
    connection: &Transaction<'_>,
    tenant: &TenantId,
    checkpoint: &PublishedCheckpoint,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO evidence_log (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING";
    execute(APPENDING, connection, sql, params![tenant.as_str()]).await?;
    execute(
        "keeping a checkpoint",
        connection,
        "INSERT INTO evidence_checkpoint (tenant_id, size, key_id, at, note)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
        params![
            tenant.as_str(),
            column::integer(WHAT, checkpoint.size)?,
            checkpoint.key_id,
            column::micros(checkpoint.at),
            checkpoint.note
        ],
    )
    .await
    .map(|_| ())
}

#[async_trait]
impl EvidenceLog for PostgresStore {
    async fn log_size(&self, tenant: &TenantId) -> Result<u64, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        size(&client, tenant).await
    }

    async fn log_nodes(
        &self,
        tenant: &TenantId,
        ids: &[NodeId],
    ) -> Result<BTreeMap<NodeId, Hash>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        let known = nodes(&client, tenant, ids).await?;
        ids.iter()
            .map(|id| Ok((*id, found(&known, *id)?)))
            .collect()
    }

    async fn log_leaves(
        &self,
        tenant: &TenantId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<StoredLeaf>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        rows(
            READING,
            &client,
            "SELECT leaf_index, leaf, body, payload, payload_salt
             FROM evidence_leaf JOIN evidence USING (tenant_id, evidence_id)
             WHERE tenant_id = $1 AND leaf_index >= $2 ORDER BY leaf_index LIMIT $3",
            params![
                tenant.as_str(),
                column::integer(WHAT, from)?,
                column::limit(limit)
            ],
            stored_leaf,
        )
        .await
    }

    async fn log_leaves_of(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
    ) -> Result<Vec<StoredLeaf>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        rows(
            READING,
            &client,
            "SELECT leaf_index, leaf, body, payload, payload_salt
             FROM evidence JOIN evidence_leaf USING (tenant_id, evidence_id)
             WHERE tenant_id = $1 AND evidence_id = $2 ORDER BY leaf_index",
            params![tenant.as_str(), evidence.as_str()],
            stored_leaf,
        )
        .await
    }

    async fn publish_checkpoint(
        &self,
        tenant: &TenantId,
        checkpoint: &PublishedCheckpoint,
    ) -> Result<(), StoreError> {
        in_transaction!(self, RowScope::Tenant(tenant), tx => publish(&tx, tenant, checkpoint))
    }

    async fn published_checkpoint(
        &self,
        tenant: &TenantId,
        size: u64,
    ) -> Result<Option<PublishedCheckpoint>, StoreError> {
        let client = self.client(RowScope::Tenant(tenant)).await?;
        row(
            READING,
            &client,
            "SELECT key_id, at, note FROM evidence_checkpoint
             WHERE tenant_id = $1 AND size = $2 ORDER BY at DESC, key_id LIMIT 1",
            params![tenant.as_str(), column::integer(WHAT, size)?],
            |row| {
                Ok(PublishedCheckpoint {
                    size,
                    key_id: field(row, 0)?,
                    at: column::parse_micros(field(row, 1)?)?,
                    note: field(row, 2)?,
                })
            },
        )
        .await
    }

    async fn remove_payloads(
        &self,
        before: Timestamp,
        at: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let before = column::micros(before);
        in_transaction!(self, RowScope::Everyone, tx => remove(&tx, before, at, limit))
    }
}
