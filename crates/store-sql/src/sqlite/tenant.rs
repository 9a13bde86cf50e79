//! Counts, exports and erases all data of one tenant in SQLite.
//!
//! A row belongs to a tenant if its table has an owner column, or if it refers to such a row.

use std::collections::BTreeMap;
use std::path::Path;

use async_trait::async_trait;
use charter_contract::hex;
use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use charter_store::agent_skills::SkillsRevision;
use charter_store::journal::Journal;
use charter_store::tenant::{Erased, RowCounts, Tenants};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value};

use super::backup::open_to_read;
use super::failure::during;
use super::statement::{execute, row, rows};
use super::{DATABASE, SqliteStore, connection, outbox, schema};
use crate::backup::{self, BackupEngine, Manifest, Writing};
use crate::column;
use crate::evidence_log;
use crate::
agent_skills::everything_changed;
use crate::row::field;
use crate::tenant::{self, Reference, deletions, is_kept};
use crate::
tx::{Tx, now};

const READING: &str = "reading the list of tables";
const COUNTING: &str = "counting a tenant's rows";
const EXPORTING: &str = "exporting a table";
const ERASING: &str = "erasing a tenant";

/// File content is stored once for all scopes: content that only a tenant's files refer to belongs to the tenant.
const CONTENT: &str = "agent_skill_content";

/// Writes the rows of a tenant into the new directory `target`, from one snapshot. The database stays in use. Blocks.
///
/// # Errors
/// As [`super::back_up`].
pub fn export_tenant(
    data: &Path,
    tenant: &TenantId,
    target: &Path,
    at: Timestamp,
) -> Result<Manifest, StoreError> {
    let mut source = open_to_read(data)?;
    backup::create(target)?;
    let snapshot = source.transaction().map_err(during(EXPORTING))?;
    let layout = schema::version(&snapshot, &data.join(DATABASE))?;
    let mut files = Vec::new();
    for (table, of_tenant) in Layout::read(&snapshot)?.owned() {
        let mut file = Writing::create(target, format!("{table}.jsonl"))?;
        let sql = format!("SELECT * FROM {table} WHERE {of_tenant}");
        let rows = export(&snapshot, &sql, tenant, &mut file)?;
        files.push(file.end(rows)?);
    }
    let manifest = Manifest::new(BackupEngine::Sqlite, layout, at, files).of(tenant);
    manifest.write(target)?;
    Ok(manifest)
}

/// Writes each row as a line; returns the number of rows.
fn export(
    connection: &Connection,
    sql: &str,
    tenant: &TenantId,
    file: &mut Writing,
) -> Result<u64, StoreError> {
    let exporting = during(EXPORTING);
    let mut statement = connection.prepare(sql).map_err(&exporting)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([tenant.as_str()]).map_err(&exporting)?;
    let mut count = 0;
    while let Some(row) = rows.next().map_err(&exporting)? {
        let mut line = Map::new();
        for (at, name) in names.iter().enumerate() {
            line.insert(name.clone(), shown(row.get_ref(at).map_err(&exporting)?));
        }
        file.write(Value::Object(line).to_string().as_bytes())?;
        file.write(b"\n")?;
        count += 1;
    }
    Ok(count)
}

fn shown(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => format!("\\x{}", hex::encode(bytes)).into(),
    }
}

/// The tables of a database, and the references between them.
struct Layout {
    /// Each with its owner column, if it has one.
    tables: BTreeMap<String, Option<String>>,
    references: Vec<Reference>,
    /// The columns on both sides of each reference.
    columns: Vec<(String, String)>,
}

impl Layout {
    fn read(connection: &Connection) -> Result<Self, StoreError> {
        let sql = "SELECT name, (SELECT min(column.name) FROM pragma_table_info(t.name) AS column
                                 WHERE column.name IN ('tenant_id', 'scope'))
                   FROM sqlite_schema AS t WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let tables = rows(READING, connection, sql, [], |row| {
            Ok((field(row, 0)?, field(row, 1)?))
        })?;
        let sql = "SELECT t.name, k.\"table\", k.on_delete = 'CASCADE',
                          group_concat(k.\"from\", ', '), group_concat(k.\"to\", ', ')
                   FROM sqlite_schema AS t JOIN pragma_foreign_key_list(t.name) AS k
                   WHERE t.type = 'table' GROUP BY t.name, k.id";
        let known = rows(READING, connection, sql, [], |row| {
            let reference = Reference {
                from: field(row, 0)?,
                to: field(row, 1)?,
                goes_along: field(row, 2)?,
            };
            let to: Option<String> = field(row, 4)?;
            Ok((reference, (field(row, 3)?, to.unwrap_or_default())))
        })?;
        let (references, columns) = known.into_iter().unzip();
        Ok(Self {
            tables: tables.into_iter().collect(),
            references,
            columns,
        })
    }

    /// Returns each table that may have rows of a tenant, with the condition that selects them; `?1` is the tenant.
    fn owned(&self) -> BTreeMap<&str, String> {
        let tables = self.tables.keys();
        let owned = tables.filter_map(|table| Some((table.as_str(), self.of_tenant(table)?)));
        owned.collect()
    }

    fn of_tenant(&self, table: &str) -> Option<String> {
        if let Some(Some(column)) = self.tables.get(table) {
            return Some(format!("{column} = ?1"));
        }
        if table == CONTENT {
            let of_tenant = self.of_tenant("agent_skill_file")?;
            return Some(format!(
                "sha256 IN (SELECT sha256 FROM agent_skill_file WHERE {of_tenant})
                 AND sha256 NOT IN (SELECT sha256 FROM agent_skill_file WHERE NOT ({of_tenant}))"
            ));
        }
        let mut known = self.references.iter().zip(&self.columns);
        known.find_map(|(known, (from, to))| {
            let follows = known.from == table && known.to != table && known.to != CONTENT;
            let of_tenant = follows.then(|| self.of_tenant(&known.to))??;
            let other = &known.to;
            Some(format!(
                "({from}) IN (SELECT {to} FROM {other} WHERE {of_tenant})"
            ))
        })
    }

    fn count(&self, connection: &Connection, tenant: &TenantId) -> Result<RowCounts, StoreError> {
        let mut counts = RowCounts::new();
        for (table, of_tenant) in self.owned() {
            let sql = format!("SELECT count(*) FROM {table} WHERE {of_tenant}");
            let read = row(COUNTING, connection, &sql, [tenant.as_str()], |row| {
                field(row, 0)
            });
            match column::parse_integer(COUNTING, read?.unwrap_or(0))? {
                0 => {}
                rows => drop(counts.insert(table.to_owned(), rows)),
            }
        }
        Ok(counts)
    }
}

fn erase(connection: &mut Connection, tenant: &TenantId, at: Timestamp,
) -> Result<Erased, StoreError> {
    let of_tenant = |sql: &str| execute(ERASING, connection, sql, [tenant.as_str()]).map(|_| ());
    let layout = Layout::read(connection)?;
    let owned = layout.owned();
    let (erased, kept) = tenant::parted(layout.count(connection, tenant)?);
    of_tenant("INSERT INTO erasing (tenant) VALUES (?1)")?;
    of_tenant("DELETE FROM lease WHERE resource IN (SELECT run_id FROM run WHERE tenant_id = ?1)")?;
    let names = owned.keys().map(|name| (*name).to_owned());
    for name in deletions(names, &layout.references)? {
        match owned.get(name.as_str()) {
            Some(_) if name == CONTENT => {
                let sql = "DELETE FROM agent_skill_content
                           WHERE sha256 NOT IN (SELECT sha256 FROM agent_skill_file)";
                execute(ERASING, connection, sql, [])?;
            }
            Some(condition) if !is_kept(&name) => {
                of_tenant(&format!("DELETE FROM {name} WHERE {condition}"))?;
            }
            Some(_) | None => {}
        }
    }
    of_tenant("DELETE FROM erasing WHERE tenant = ?1")?;
    execute(
        ERASING,
        connection,
        "UPDATE catalogue SET revision = revision + 1",
        [],
    )?;
    let sql = "UPDATE agent_skill_index SET revision = revision + 1 RETURNING revision";
    let raised = row(ERASING, connection, sql, [], |row| field(row, 0))?;
    let skills = column::parse_integer("skills revision", raised.unwrap_or(0))?;
    let skills = everything_changed(SkillsRevision(skills), at);
    outbox::insert(connection, &[skills, tenant::erased(tenant, at)])?;
    let log = now(Box::pin(evidence_log::head(
        &mut Tx::Sqlite(connection),
        tenant,
    )))?;
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
impl Tenants for SqliteStore {
    async fn rows_of_tenant(&self, tenant: &TenantId) -> Result<RowCounts, StoreError> {
        let tenant = tenant.clone();
        self.read(move |connection| {
            let (rows, _kept) =
                tenant::parted(Layout::read(connection)?.count(connection, &tenant)?);
            Ok(rows)
        })
        .await
    }

    async fn erase_tenant(&self, tenant: &TenantId, at: Timestamp) -> Result<Erased, StoreError> {
        tenant::must_rest(
            tenant,
            self.count_unfinished_runs(tenant, tenant::MOST_RUNS)
                .await?,
        )?;
        let of = tenant.clone();
        let writer = &self.engine.writer;
        let erased = writer
            .write(move |connection| {
                connection::overwriting(connection, |connection| erase(connection, &of, at))
            })
            .await?;
        let came_meanwhile = self
            .rows_of_tenant(tenant)
            .await?;
        Ok(Erased {
            came_meanwhile ,
            ..erased
        })
    }
}
