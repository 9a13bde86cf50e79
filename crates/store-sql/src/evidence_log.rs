//! The evidence log. Leaves are appended in the transaction of their subject, by the holder of the tenant's row of
//! `evidence_log`, so two leaves never get the same position. This file knows how the tree is stored, not how it is
//! computed.

use std::collections::BTreeMap;

use async_trait::async_trait;
use charter_contract::ids::{EvidenceId, TenantId};
use charter_contract::time::Timestamp;
use charter_domain::evidence_log::{Hash, LogEntry, NodeId, tree};
use charter_store::StoreError;
use charter_store::evidence_log::{
    EvidenceLog, PublishedCheckpoint, StoredLeaf, StoredPayload, StoredRecord,
};
use charter_store::tenant::LogHead;

use crate::column;
use crate::row::{Columns, field};
use crate::store::{Access, RowScope, SqlEngine, SqlStore};
use crate::tx::{Dialect, SqlValue, Tx, execute, execute_many, params, row, rows};

const WHAT: &str = "evidence log";
const READING: &str = "reading the evidence log";
const APPENDING: &str = "appending to the evidence log";

/// Creates the log of a tenant that has none.
const CREATE_LOG: &str = "INSERT INTO evidence_log (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING";

/// A tenant's log, locked against other appends until the transaction ends.
pub(crate) struct Log<'t> {
    tenant: &'t str,
    size: u64,
    /// The perfect subtrees that an append builds on.
    nodes: BTreeMap<NodeId, Hash>,
}

impl<'t> Log<'t> {
    pub(crate) async fn hold(tx: &mut Tx<'_>, tenant: &'t TenantId) -> Result<Self, StoreError> {
        let values = params![tenant.as_str()];
        let lock = tx.dialect().for_update();
        let sql = format!("SELECT 1 FROM evidence_log WHERE tenant_id = $1{lock}");
        let exists = row(READING, tx, &sql, values, |_| Ok(())).await?;
        if exists.is_none() {
            execute(APPENDING, tx, CREATE_LOG, values).await?;
            row(READING, tx, &sql, values, |_| Ok(())).await?;
        }
        let size = size(tx, tenant).await?;
        let nodes = nodes(tx, tenant, tree::head(size).nodes()).await?;
        Ok(Self {
            tenant: tenant.as_str(),
            size,
            nodes,
        })
    }

    /// Appends the leaves of entries.
    pub(crate) async fn append(
        &mut self,
        tx: &mut Tx<'_>,
        entries: &[LogEntry],
    ) -> Result<(), StoreError> {
        let (mut leaves, mut made) = (Vec::with_capacity(entries.len()), Vec::new());
        for entry in entries {
            let id = entry.evidence_id().as_str();
            let leaf = entry.to_leaf().map_err(|error| StoreError::Refused {
                what: WHAT,
                id: id.to_owned(),
                detail: error.to_string(),
            })?;
            let hash = Hash::leaf(leaf.as_bytes());
            let nodes = tree::append(self.size, hash, |id| found(&self.nodes, id))?;
            let index = column::integer(WHAT, self.size)?;
            leaves.push(params![self.tenant, index, id, leaf].to_vec());
            self.size += 1;
            self.nodes.extend(nodes.iter().copied());
            made.extend(nodes);
        }
        execute_many(
            APPENDING,
            tx,
            "INSERT INTO evidence_leaf (tenant_id, leaf_index, evidence_id, leaf)
             VALUES ($1, $2, $3, $4)",
            &leaves,
        )
        .await?;
        let added = made.iter().map(|(id, hash)| {
            let index = column::integer(WHAT, id.index)?;
            Ok(params![self.tenant, i64::from(id.level), index, hash.0.as_slice()].to_vec())
        });
        execute_many(
            APPENDING,
            tx,
            "INSERT INTO evidence_node (tenant_id, level, node_index, hash)
             VALUES ($1, $2, $3, $4)",
            &added.collect::<Result<Vec<_>, StoreError>>()?,
        )
        .await
        .map(|_| ())
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
async fn size(tx: &mut Tx<'_>, tenant: &TenantId) -> Result<u64, StoreError> {
    let sql = "SELECT coalesce(max(node_index) + 1, 0) FROM evidence_node
               WHERE tenant_id = $1 AND level = 0";
    let values = params![tenant.as_str()];
    let size: Option<i64> = row(READING, tx, sql, values, |row| field(row, 0)).await?;
    column::parse_integer(WHAT, size.unwrap_or(0))
}

/// Returns those of these nodes that exist.
async fn nodes(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    ids: &[NodeId],
) -> Result<BTreeMap<NodeId, Hash>, StoreError> {
    let wanted = match tx.dialect() {
        Dialect::Sqlite => {
            "SELECT l.value, i.value FROM json_each($2) AS l JOIN json_each($3) AS i USING (key)"
        }
        Dialect::Postgres => "SELECT * FROM unnest(CAST($2 AS bigint[]), CAST($3 AS bigint[]))",
    };
    let sql = format!(
        "SELECT level, node_index, hash FROM evidence_node
         WHERE tenant_id = $1 AND (level, node_index) IN ({wanted})"
    );
    let levels: Vec<i64> = ids.iter().map(|id| i64::from(id.level)).collect();
    let indexes = ids.iter().map(|id| column::integer(WHAT, id.index));
    let indexes = indexes.collect::<Result<Vec<_>, _>>()?;
    let values = params![tenant.as_str(), levels, indexes];
    let found = rows(READING, tx, &sql, values, node).await?;
    Ok(found.into_iter().collect())
}

/// Reads `level, node_index, hash`.
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

/// Returns the number of leaves, and their root hash.
pub(crate) async fn head(tx: &mut Tx<'_>, tenant: &TenantId) -> Result<LogHead, StoreError> {
    let size = size(tx, tenant).await?;
    let head = tree::head(size);
    let nodes = nodes(tx, tenant, head.nodes()).await?;
    let root = head.fold(&nodes).map_err(|missing| StoreError::Corrupt {
        what: WHAT,
        id: format!("head of {size} leaves"),
        detail: missing.to_string(),
    })?;
    Ok(LogHead { size, root })
}

/// Returns the leaves of a tenant, `$1`, that meet the condition.
async fn leaves(
    tx: &mut Tx<'_>,
    condition: &'static str,
    values: &[SqlValue<'_>],
) -> Result<Vec<StoredLeaf>, StoreError> {
    let sql = format!(
        "SELECT leaf_index, leaf, body, payload, payload_salt
         FROM evidence_leaf JOIN evidence USING (tenant_id, evidence_id)
         WHERE tenant_id = $1 AND {condition}"
    );
    rows(READING, tx, &sql, values, leaf).await
}

/// Reads `leaf_index, leaf, body, payload, payload_salt`.
fn leaf(row: &dyn Columns) -> Result<StoredLeaf, StoreError> {
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

fn stored_record(row: &dyn Columns) -> Result<StoredRecord, StoreError> {
    let payload: Option<String> = field(row, 3)?;
    let salt: Option<&[u8]> = field(row, 4)?;
    let payload = payload.zip(salt).map(|(text, salt)| {
        let salt = column::parse_hash("salt of a payload", salt)?;
        Ok::<_, StoreError>(StoredPayload { salt, text })
    });
    Ok(StoredRecord {
        record: field(row, 2)?,
        payload: payload.transpose()?,
    })
}

async fn publish(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    checkpoint: &PublishedCheckpoint,
) -> Result<(), StoreError> {
    execute(APPENDING, tx, CREATE_LOG, params![tenant.as_str()]).await?;
    execute(
        "keeping a checkpoint",
        tx,
        "INSERT INTO evidence_checkpoint (tenant_id, size, key_id, at, note)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
        params![
            tenant.as_str(),
            column::integer(WHAT, checkpoint.size)?,
            &checkpoint.key_id,
            column::micros(checkpoint.at),
            &checkpoint.note
        ],
    )
    .await
    .map(|_| ())
}

/// Removes payloads captured before `before`; skips rows that another replica removes concurrently.
async fn remove(
    tx: &mut Tx<'_>,
    before: i64,
    at: Timestamp,
    limit: usize,
) -> Result<usize, StoreError> {
    let sql = format!(
        "SELECT tenant_id, evidence_id FROM evidence
         WHERE payload IS NOT NULL AND captured_at < $1
         ORDER BY captured_at, tenant_id, evidence_id LIMIT $2{}",
        tx.dialect().for_update_of_free_rows()
    );
    let values = params![before, column::limit(limit)];
    let due = rows(READING, tx, &sql, values, |row| {
        let tenant = column::parse::<TenantId>("tenant", field(row, 0)?)?;
        let id = column::parse::<EvidenceId>("evidence id", field(row, 1)?)?;
        Ok((tenant, id))
    })
    .await?;
    let mut logs: BTreeMap<&str, Log<'_>> = BTreeMap::new();
    for (tenant, id) in &due {
        let mut log = match logs.remove(tenant.as_str()) {
            Some(log) => log,
            None => Log::hold(tx, tenant).await?,
        };
        execute(
            "removing a payload",
            tx,
            "UPDATE evidence SET payload = NULL, payload_salt = NULL, payload_removed_at = $3
             WHERE tenant_id = $1 AND evidence_id = $2",
            params![tenant.as_str(), id.as_str(), column::micros(at)],
        )
        .await?;
        let entry = LogEntry::PayloadRemoved {
            evidence_id: id.clone(),
            at,
        };
        log.append(tx, &[entry]).await?;
        logs.insert(tenant.as_str(), log);
    }
    Ok(due.len())
}

#[async_trait]
impl<E: SqlEngine> EvidenceLog for SqlStore<E> {
    async fn log_size(&self, tenant: &TenantId) -> Result<u64, StoreError> {
        let scope = RowScope::Tenant(tenant);
        self.engine
            .run(Access::Read, scope, tenant.clone(), |tx, tenant| {
                Box::pin(size(tx, tenant))
            })
            .await
    }

    async fn log_nodes(
        &self,
        tenant: &TenantId,
        ids: &[NodeId],
    ) -> Result<BTreeMap<NodeId, Hash>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), ids.to_vec());
        self.engine
            .run(Access::Read, scope, values, |tx, (tenant, ids)| {
                Box::pin(async move {
                    let known = nodes(tx, tenant, ids).await?;
                    let hashes = ids.iter().map(|id| Ok((*id, found(&known, *id)?)));
                    hashes.collect::<Result<BTreeMap<_, _>, StoreError>>()
                })
            })
            .await
    }

    async fn log_leaves(
        &self,
        tenant: &TenantId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<StoredLeaf>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let (from, limit) = (column::integer(WHAT, from)?, column::limit(limit));
        self.engine
            .run(Access::Read, scope, tenant.clone(), move |tx, tenant| {
                Box::pin(async move {
                    let condition = "leaf_index >= $2 ORDER BY leaf_index LIMIT $3";
                    leaves(tx, condition, params![tenant.as_str(), from, limit]).await
                })
            })
            .await
    }

    async fn log_leaves_of(
        &self,
        tenant: &TenantId,
        evidence: &EvidenceId,
    ) -> Result<Vec<StoredLeaf>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), evidence.clone());
        self.engine
            .run(Access::Read, scope, values, |tx, (tenant, evidence)| {
                Box::pin(async move {
                    let condition = "evidence_id = $2 ORDER BY leaf_index";
                    leaves(tx, condition, params![tenant.as_str(), evidence.as_str()]).await
                })
            })
            .await
    }

    async fn publish_checkpoint(
        &self,
        tenant: &TenantId,
        checkpoint: &PublishedCheckpoint,
    ) -> Result<(), StoreError> {
        let scope = RowScope::Tenant(tenant);
        let values = (tenant.clone(), checkpoint.clone());
        self.engine
            .run(Access::Write, scope, values, |tx, (tenant, checkpoint)| {
                Box::pin(publish(tx, tenant, checkpoint))
            })
            .await
    }

    async fn published_checkpoint(
        &self,
        tenant: &TenantId,
        size: u64,
    ) -> Result<Option<PublishedCheckpoint>, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let stored_size = column::integer(WHAT, size)?;
        self.engine
            .run(Access::Read, scope, tenant.clone(), move |tx, tenant| {
                Box::pin(async move {
                    let sql = "SELECT key_id, at, note FROM evidence_checkpoint
                               WHERE tenant_id = $1 AND size = $2 ORDER BY at DESC, key_id LIMIT 1";
                    let values = params![tenant.as_str(), stored_size];
                    row(READING, tx, sql, values, |row| {
                        Ok(PublishedCheckpoint {
                            size,
                            key_id: field(row, 0)?,
                            at: column::parse_micros(field(row, 1)?)?,
                            note: field(row, 2)?,
                        })
                    })
                    .await
                })
            })
            .await
    }

    async fn remove_payloads(
        &self,
        before: Timestamp,
        at: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let before = column::micros(before);
        self.engine
            .run(Access::Removal, RowScope::Everyone, (), move |tx, ()| {
                Box::pin(remove(tx, before, at, limit))
            })
            .await
    }
}
