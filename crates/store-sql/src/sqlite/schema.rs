//! The layouts of this build, the layout of a database, and the migrations in between.

use std::path::Path;

use charter_store::StoreError;
use refinery::Migration;
use rusqlite::{Connection, OptionalExtension};

use crate::failure::sqlite::during;
use crate::schema::{self, StoreLayout};

#[cfg(test)]
mod tests;

refinery::embed_migrations!("src/sqlite/migrations");

/// Layouts after those of this version, by which upgrades are rehearsed (`make test-upgrade`).
#[cfg(any(test, feature = "next-layout"))]
const NEXT: [(&str, &str); 2] = [
    ("rehearsed_addition", include_str!("rehearsal/addition.sql")),
    ("rehearsed_break", include_str!("rehearsal/break.sql")),
];

/// A pending migration of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingMigration {
    /// Its number; migrations are applied in this order.
    pub version: u32,
    /// Its description, a few words joined by `_`.
    pub name: String,
}

/// Returns the migrations of this build.
#[cfg(not(feature = "next-layout"))]
pub(super) fn known() -> Vec<Migration> {
    committed()
}

/// Returns the migrations of this build, with those of a rehearsal.
#[cfg(feature = "next-layout")]
pub(super) fn known() -> Vec<Migration> {
    schema::followed_by(committed(), &NEXT[..schema::REHEARSED])
}

/// Returns the migrations in the folder `migrations`.
fn committed() -> Vec<Migration> {
    migrations::runner().get_migrations().clone()
}

/// Returns the newest version that this build knows.
pub(super) fn newest() -> u32 {
    schema::newest(&known())
}

/// Returns the layout of the database at `path`.
///
/// # Errors
/// [`StoreError::EarlierLayout`] as for [`schema::version`].
pub(super) fn layout(connection: &Connection, path: &Path) -> Result<StoreLayout, StoreError> {
    layout_among(connection, path, &known())
}

fn layout_among(
    connection: &Connection,
    path: &Path,
    known: &[Migration],
) -> Result<StoreLayout, StoreError> {
    let reading = during("reading the layout of the database");
    let table: Option<i64> = connection
        .query_row(
            "SELECT 1 FROM sqlite_schema WHERE name = 'refinery_schema_history'",
            [],
            |row| row.get(0),
        )
        .optional()
        .map_err(&reading)?;
    if table.is_none() {
        return Ok(StoreLayout::empty());
    }
    let (newest, first): (i64, Option<String>) = connection
        .query_row(schema::HISTORY, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(&reading)?;
    let path = path.display().to_string();
    let version = schema::version(&path, newest, first.as_deref(), known)?;
    if version == 0 {
        return Ok(StoreLayout::empty());
    }
    let (oldest_reader, charter): (i64, String) = connection
        .query_row(schema::READERS, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(&reading)?;
    Ok(StoreLayout {
        version,
        oldest_reader: schema::number(oldest_reader, "layout")?,
        charter,
    })
}

/// Returns the layout of the database at `path`. Refuses one that this build may not open.
///
/// # Errors
/// As [`layout`]; [`StoreError::NewerSchema`] for a layout that only newer builds may open.
pub(super) fn readable(connection: &Connection, path: &Path) -> Result<StoreLayout, StoreError> {
    readable_among(connection, path, &known())
}

/// As [`readable`], for a build with these migrations.
pub(super) fn readable_among(
    connection: &Connection,
    path: &Path,
    known: &[Migration],
) -> Result<StoreLayout, StoreError> {
    let found = layout_among(connection, path, known)?;
    found.must_open_in(schema::newest(known), &path.display().to_string())?;
    Ok(found)
}

/// Returns the migrations after `version`.
pub(super) fn pending(version: u32) -> Vec<PendingMigration> {
    let known = known().into_iter().map(|migration| PendingMigration {
        version: u32::try_from(migration.version()).unwrap_or(0),
        name: migration.name().to_owned(),
    });
    let mut pending: Vec<_> = known
        .filter(|migration| migration.version > version)
        .collect();
    pending.sort_by_key(|migration| migration.version);
    pending
}

/// Migrates a database to the newest of the `known` migrations in one transaction: a crash leaves its layout unchanged.
/// A newer layout that this build may open stays as it is.
///
/// # Errors
/// [`StoreError::NewerSchema`] when only newer builds may open the database, [`StoreError::EarlierLayout`] when it has
/// another initial schema; [`StoreError::Engine`] when a later migration differs from this build's migration with that
/// number.
pub(super) fn migrate(
    connection: &mut Connection,
    path: &Path,
    known: &[Migration],
) -> Result<(), StoreError> {
    let found = readable_among(connection, path, known)?;
    let supported = schema::newest(known);
    if found.version > supported {
        schema::note_newer(&found, supported);
        return Ok(());
    }
    schema::runner(known)
        .run(connection)
        .map(|_report| ())
        .map_err(|source| StoreError::Engine {
            doing: "migrating the database",
            source: Box::new(source),
        })
}
