//! The schema's versions: what a database has, what this build knows, and the step between.

use std::path::Path;

use charter_store::StoreError;
use refinery::Runner;
use rusqlite::{Connection, OptionalExtension};

use super::failure::during;

refinery::embed_migrations!("src/sqlite/migrations");

/// A migration that a database has not seen yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingMigration {
    /// Its number; migrations are applied in this order.
    pub version: u32,
    /// What it does, in a few words joined by `_`.
    pub name: String,
}

fn runner() -> Runner {
    migrations::runner()
        .set_abort_divergent(true)
        .set_abort_missing(true)
}

fn known() -> Vec<PendingMigration> {
    let mut known: Vec<_> = runner()
        .get_migrations()
        .iter()
        .map(|m| PendingMigration {
            version: u32::try_from(m.version()).unwrap_or(0),
            name: m.name().to_owned(),
        })
        .collect();
    known.sort_by_key(|m| m.version);
    known
}

/// The newest schema version that this build knows.
pub(super) fn newest() -> u32 {
    known().last().map_or(0, |m| m.version)
}

/// The version of a database, 0 for an empty one.
pub(super) fn version(connection: &Connection) -> Result<u32, StoreError> {
    let doing = "reading the schema version";
    let table: Option<i64> = connection
        .query_row(
            "SELECT 1 FROM sqlite_schema WHERE name = 'refinery_schema_history'",
            [],
            |row| row.get(0),
        )
        .optional()
        .map_err(during(doing))?;
    if table.is_none() {
        return Ok(0);
    }
    connection
        .query_row(
            "SELECT coalesce(max(version), 0) FROM refinery_schema_history",
            [],
            |row| row.get(0),
        )
        .map_err(during(doing))
}

/// What a database of `version` lacks.
pub(super) fn pending(version: u32) -> Vec<PendingMigration> {
    known()
        .into_iter()
        .filter(|migration| migration.version > version)
        .collect()
}

/// Brings a database to [`newest`] in one transaction: a crash leaves the version that it had.
///
/// # Errors
/// [`StoreError::NewerSchema`] when the database is ahead; [`StoreError::Engine`] when an applied
/// migration is not the one that this build knows under its number.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let found = version(connection)?;
    let supported = newest();
    if found > supported {
        return Err(StoreError::NewerSchema {
            path: path.display().to_string(),
            found,
            supported,
        });
    }
    runner()
        .set_grouped(true)
        .run(connection)
        .map(|_report| ())
        .map_err(|source| StoreError::Engine {
            doing: "migrating the database",
            source: Box::new(source),
        })
}
