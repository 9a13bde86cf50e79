//! The schema's versions: that of a database, that of this build, and the migrations in between.

use std::path::Path;

use charter_store::StoreError;
use refinery::Runner;
use rusqlite::{Connection, OptionalExtension};

use crate::failure::sqlite::during;
use crate::schema;

refinery::embed_migrations!("src/sqlite/migrations");

/// A pending migration of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingMigration {
    /// Its number; migrations are applied in this order.
    pub version: u32,
    /// Its description, a few words joined by `_`.
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

/// Returns the newest schema version that this build knows.
pub(super) fn newest() -> u32 {
    known().last().map_or(0, |m| m.version)
}

/// Returns the version of the database at `path`, 0 for an empty one.
///
/// # Errors
/// [`StoreError::EarlierLayout`] as for [`schema::version`].
pub(super) fn version(connection: &Connection, path: &Path) -> Result<u32, StoreError> {
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
    let (newest, first): (i64, Option<String>) = connection
        .query_row(schema::HISTORY, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(during(doing))?;
    let path = path.display().to_string();
    schema::version(&path, newest, first.as_deref(), &runner())
}

/// Returns the migrations after `version`.
pub(super) fn pending(version: u32) -> Vec<PendingMigration> {
    known()
        .into_iter()
        .filter(|migration| migration.version > version)
        .collect()
}

/// Migrates a database to [`newest`] in one transaction: a crash leaves its version unchanged.
///
/// # Errors
/// [`StoreError::NewerSchema`] when the database has a newer version, [`StoreError::EarlierLayout`] when it has another
/// initial schema; [`StoreError::Engine`] when a later migration differs from this build's migration with that number.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let found = version(connection, path)?;
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
