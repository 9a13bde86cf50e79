//! Exports all data of one tenant.

use std::path::Path;

use charter_contract::hex;
use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value};

use super::backup::open_to_read;
use super::{DATABASE, schema};
use crate::backup::{self, BackupEngine, Manifest, Writing};
use crate::failure::sqlite::during;
use crate::tenant::owned;
use crate::tx::{Tx, now};

const EXPORTING: &str = "exporting a table";

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
    let begun = source.execute_batch("BEGIN");
    begun.map_err(during(EXPORTING))?;
    let layout = schema::layout(&source, &data.join(DATABASE))?.version;
    let mut files = Vec::new();
    let tables = now(Box::pin(owned(&mut Tx::Sqlite(&mut source))))?;
    for (table, owner) in tables {
        let mut file = Writing::create(target, format!("{table}.jsonl"))?;
        let sql = format!("SELECT * FROM {table} WHERE {owner} = ?1");
        let rows = export(&source, &sql, tenant, &mut file)?;
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
