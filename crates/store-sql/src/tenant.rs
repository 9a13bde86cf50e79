//! Counts, exports and erases all data of one tenant.
//!
//! The schema determines a tenant's rows: those of tables with a column `tenant_id` or `scope`. So a new table is
//! exported and erased automatically.
//!
//! An export is a directory like that of a backup (`backup`), with the manifest written last:
//!
//! ```text
//! manifest.json   as a backup's, with the tenant
//! TABLE.jsonl     a JSON object for each row, by column; bytes as "\x" and hexadecimal digits
//! ```
//!
//! `charter_store::tenant` documents the effects of an erasure.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::agent_skills::SkillsRevision;
use charter_store::journal::Journal;
use charter_store::outbox::NewMessage;
use charter_store::tenant::{ERASED_TOPIC, Erased, RowCounts, Tenants};
use serde_json::json;

use crate::agent_skills::everything_changed;
use crate::column;
use crate::journal::JournalWriter;
use crate::row::field;
use crate::store::{Access, RowScope, SqlStore};
use crate::tx::{Dialect, Tx, execute, params, row, rows};
use crate::{evidence_log, outbox};

/// PostgreSQL: reads the name of every table except that of the migrations, its owner column and its written columns.
pub(crate) const TABLES: &str = "SELECT quote_ident(c.relname),
            min(a.attname::text) FILTER (WHERE a.attname IN ('tenant_id', 'scope')),
            array_agg(a.attname::text ORDER BY a.attnum)
     FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
     WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace
       AND c.relname <> 'refinery_schema_history'
       AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
     GROUP BY c.relname ORDER BY c.relname";

/// PostgreSQL: reads the references between tables: from, to, and whether deletes cascade.
pub(crate) const REFERENCES: &str =
    "SELECT quote_ident(c.relname), quote_ident(other.relname), k.confdeltype = 'c'
     FROM pg_constraint AS k
     JOIN pg_class AS c ON c.oid = k.conrelid
     JOIN pg_class AS other ON other.oid = k.confrelid
     WHERE k.contype = 'f' AND c.relnamespace = current_schema()::regnamespace
     ORDER BY 1, 2, 3";

const READING: &str = "reading the list of tables";
const COUNTING: &str = "counting a tenant's rows";
const ERASING: &str = "erasing a tenant";

/// Most unfinished runs that are counted.
const MOST_RUNS: u64 = 1_000_000;

/// Tables whose rows stay after a tenant's erasure.
const KEPT: [&str; 3] = ["evidence_log", "evidence_node", "evidence_checkpoint"];

/// Returns the tables with rows of tenants, each with its owner column.
pub(crate) async fn owned(tx: &mut Tx<'_>) -> Result<BTreeMap<String, String>, StoreError> {
    let sql = match tx.dialect() {
        Dialect::Sqlite => {
            "SELECT t.name, min(c.name) FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c
             WHERE t.type = 'table' AND c.name IN ('tenant_id', 'scope') GROUP BY t.name"
        }
        Dialect::Postgres => TABLES,
    };
    let tables = rows(READING, tx, sql, params![], |row| {
        Ok((field::<String>(row, 0)?, field::<Option<String>>(row, 1)?))
    })
    .await?;
    let owned = tables
        .into_iter()
        .filter_map(|(table, owner)| Some((table, owner?)));
    Ok(owned.collect())
}

async fn references(tx: &mut Tx<'_>) -> Result<Vec<Reference>, StoreError> {
    let sql = match tx.dialect() {
        Dialect::Sqlite => {
            "SELECT DISTINCT t.name, k.\"table\", k.on_delete = 'CASCADE'
             FROM sqlite_schema AS t JOIN pragma_foreign_key_list(t.name) AS k
             WHERE t.type = 'table' ORDER BY 1, 2, 3"
        }
        Dialect::Postgres => REFERENCES,
    };
    rows(READING, tx, sql, params![], |row| {
        Ok(Reference {
            from: field(row, 0)?,
            to: field(row, 1)?,
            goes_along: field(row, 2)?,
        })
    })
    .await
}

/// Counts the deletable rows of a tenant, and those that an erasure keeps, by one statement and so in one state.
async fn count(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    tables: &BTreeMap<String, String>,
) -> Result<(RowCounts, RowCounts), StoreError> {
    let counts = tables.iter().map(|(table, owner)| {
        format!("SELECT '{table}', count(*) FROM {table} WHERE {owner} = $1")
    });
    let sql = counts.collect::<Vec<_>>().join(" UNION ALL ");
    let counts = rows(COUNTING, tx, &sql, params![tenant.as_str()], |row| {
        Ok((
            field::<String>(row, 0)?,
            column::parse_integer(COUNTING, field(row, 1)?)?,
        ))
    })
    .await?;
    let counts = counts.into_iter().filter(|(_, rows)| *rows > 0);
    Ok(counts.partition(|(table, _)| !KEPT.contains(&table.as_str())))
}

async fn erase(tx: &mut Tx<'_>, tenant: &TenantId, at: Timestamp) -> Result<Erased, StoreError> {
    let id = params![tenant.as_str()];
    let (begin, end) = match tx.dialect() {
        Dialect::Sqlite => (
            "INSERT INTO erasing (tenant) VALUES ($1)",
            "DELETE FROM erasing",
        ),
        // An erasure may take longer than a request. Its messages are about the whole server.
        Dialect::Postgres => (
            "SELECT set_config('charter.erasing', $1, true),
                    set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)",
            "SELECT set_config('charter.tenant', '*', true)",
        ),
    };
    execute(ERASING, tx, begin, id).await?;
    // In the lock order of registrations, skill writes and evidence writes, which wait until this ends.
    let raise = "UPDATE catalogue SET revision = revision + 1";
    execute(ERASING, tx, raise, params![]).await?;
    let raise = "UPDATE agent_skill_index SET revision = revision + 1 RETURNING revision";
    let skills: Option<i64> = row(ERASING, tx, raise, params![], |row| field(row, 0)).await?;
    let skills = column::parse_integer("skills revision", skills.unwrap_or(0))?;
    let lock = tx.dialect().for_update();
    let log = format!("SELECT 1 FROM evidence_log WHERE tenant_id = $1{lock}");
    row(ERASING, tx, &log, id, |_| Ok(())).await?;
    let leases =
        "DELETE FROM lease WHERE resource IN (SELECT run_id FROM run WHERE tenant_id = $1)";
    execute(ERASING, tx, leases, id).await?;
    let tables = owned(tx).await?;
    let (erased, kept) = count(tx, tenant, &tables).await?;
    let references = references(tx).await?;
    for table in deletions(tables.keys().cloned(), &references)? {
        let owner = tables.get(&table).filter(|_| !KEPT.contains(&&*table));
        if let Some(owner) = owner {
            let sql = format!("DELETE FROM {table} WHERE {owner} = $1");
            execute(ERASING, tx, &sql, id).await?;
        }
    }
    let log = evidence_log::head(tx, tenant).await?;
    execute(ERASING, tx, end, params![]).await?;
    // Every process drops its data of the tenant in memory.
    let message = NewMessage {
        topic: ERASED_TOPIC.to_owned(),
        tenant: None,
        user_id: None,
        payload: json!({"tenant_id": tenant}).to_string(),
        at,
    };
    let messages = [everything_changed(SkillsRevision(skills), at), message];
    outbox::insert(tx, &messages).await?;
    Ok(Erased {
        tenant_id: tenant.clone(),
        at,
        erased,
        kept,
        log,
        came_meanwhile: RowCounts::new(),
    })
}

#[async_trait]
impl<E: JournalWriter> Tenants for SqlStore<E> {
    async fn rows_of_tenant(&self, tenant: &TenantId) -> Result<RowCounts, StoreError> {
        let scope = RowScope::Tenant(tenant);
        let (rows, _kept) = self
            .engine
            .run(Access::Read, scope, tenant.clone(), |tx, tenant| {
                Box::pin(async move {
                    let tables = owned(tx).await?;
                    count(tx, tenant, &tables).await
                })
            })
            .await?;
        Ok(rows)
    }

    async fn erase_tenant(&self, tenant: &TenantId, at: Timestamp) -> Result<Erased, StoreError> {
        let unfinished = self.count_unfinished_runs(tenant, MOST_RUNS).await?;
        if unfinished > 0 {
            return Err(StoreError::Refused {
                what: "tenant",
                id: tenant.to_string(),
                detail: format!(
                    "{unfinished} of its runs have not ended: abort them, or wait until they end"
                ),
            });
        }
        let scope = RowScope::Tenant(tenant);
        let erased = self
            .engine
            .run(Access::Removal, scope, tenant.clone(), move |tx, tenant| {
                Box::pin(erase(tx, tenant, at))
            })
            .await?;
        self.engine.announce(2);
        let came_meanwhile = self.rows_of_tenant(tenant).await?;
        Ok(Erased {
            came_meanwhile,
            ..erased
        })
    }
}

/// A reference from rows of one table to rows of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) from: String,
    pub(crate) to: String,
    /// Whether deletes cascade.
    pub(crate) goes_along: bool,
}

/// Returns tables, each before those that it refers to.
pub(crate) fn referring_first(
    tables: impl IntoIterator<Item = String>,
    references: &[Reference],
) -> Result<Vec<String>, StoreError> {
    let mut waiting: BTreeSet<String> = tables.into_iter().collect();
    let mut ordered = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let free = waiting.iter().find(|table| {
            let mut to_it = references.iter().filter(|known| known.to == **table);
            !to_it.any(|known| known.from != **table && waiting.contains(&known.from))
        });
        let Some(free) = free.cloned() else {
            return Err(StoreError::Corrupt {
                what: "layout of the database",
                id: waiting.into_iter().collect::<Vec<_>>().join(", "),
                detail: "these tables have circular references".to_owned(),
            });
        };
        waiting.remove(&free);
        ordered.push(free);
    }
    Ok(ordered)
}

/// Returns the tables whose rows have to be deleted, in a valid order. Tables whose rows are deleted by a cascade are
/// left out.
fn deletions(
    tables: impl IntoIterator<Item = String>,
    references: &[Reference],
) -> Result<Vec<String>, StoreError> {
    let goes_with: BTreeMap<&str, &str> = references
        .iter()
        .filter(|known| known.goes_along)
        .map(|known| (&*known.from, &*known.to))
        .collect();
    let first = |table: &str| {
        let mut first = table;
        while let Some(next) = goes_with.get(first) {
            first = next;
        }
        first.to_owned()
    };
    let among: Vec<Reference> = references
        .iter()
        .map(|known| Reference {
            from: first(&known.from),
            to: first(&known.to),
            goes_along: false,
        })
        .collect();
    let alone = tables.into_iter().filter(|table| first(table) == *table);
    referring_first(alone, &among)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(of: &[(&str, &str, bool)]) -> Vec<Reference> {
        let reference = |(from, to, goes_along): &(&str, &str, bool)| Reference {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            goes_along: *goes_along,
        };
        of.iter().map(reference).collect()
    }

    /// A file is deleted by a cascade from its skill and refers to its content, so the content is deleted after the
    /// skill.
    #[test]
    fn what_others_refer_to_is_deleted_after_them() {
        let tables = ["content", "file", "skill"].map(str::to_owned);
        let known = references(&[("file", "skill", true), ("file", "content", false)]);
        assert_eq!(deletions(tables, &known).unwrap(), ["skill", "content"]);
    }

    #[test]
    fn a_circle_has_no_order() {
        let tables = ["a", "b"].map(str::to_owned);
        let known = references(&[("a", "b", false), ("b", "a", false)]);
        assert!(referring_first(tables, &known).is_err());
    }
}
