//! The layout of a database: its number is that of its newest migration, and each migration records which builds may
//! open the layout that it makes.
//!
//! A build opens an equal layout, migrates an older one, and uses a newer one as it is if the layout permits that. It
//! refuses any other before it writes.

use charter_store::StoreError;
use refinery::{Migration, Runner};
use serde::{Deserialize, Serialize};

/// The number of the migration with the initial schema.
const FIRST: i32 = 1;

/// Reads the newest version, 0 for none, and the checksum of the first migration.
pub(crate) const HISTORY: &str =
    "SELECT CAST(coalesce(max(version), 0) AS bigint), max(checksum) FILTER (WHERE version = 1)
     FROM refinery_schema_history";

/// Reads the row that migrations update.
pub(crate) const READERS: &str = "SELECT CAST(oldest_reader AS bigint), charter FROM layout";

/// The layout of a database, or of a data directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreLayout {
    /// Its number, 0 if nothing is stored.
    pub version: u32,
    /// The oldest layout whose builds may open this one.
    pub oldest_reader: u32,
    /// The first version of Charter with this layout.
    pub charter: String,
}

impl StoreLayout {
    /// The layout of an empty database.
    pub(crate) fn empty() -> Self {
        Self {
            version: 0,
            oldest_reader: 0,
            charter: String::new(),
        }
    }

    /// Whether a build with the layout `supported` may open this one, after a migration if it is older.
    #[must_use]
    pub fn opens_in(&self, supported: u32) -> bool {
        self.oldest_reader <= supported
    }

    /// Refuses a layout that a build with the layout `supported` may not open.
    pub(crate) fn must_open_in(&self, supported: u32, path: &str) -> Result<(), StoreError> {
        if self.opens_in(supported) {
            return Ok(());
        }
        Err(StoreError::NewerSchema {
            path: path.to_owned(),
            found: self.version,
            charter: self.charter.clone(),
            supported,
        })
    }
}

/// Returns the version of a database from its history.
///
/// # Errors
/// [`StoreError::EarlierLayout`] for a database whose first migration is another than that of this build: no migration
/// leads from such a layout to this one. A newer database has the same first migration.
pub(crate) fn version(
    path: &str,
    newest: i64,
    first: Option<&str>,
    known: &[Migration],
) -> Result<u32, StoreError> {
    let found = number(newest, "refinery_schema_history")?;
    let mut known = known.iter();
    let initial = known.find(|migration| migration.version() == FIRST);
    let initial = initial.map(|migration| migration.checksum().to_string());
    if found > 0 && first != initial.as_deref() {
        return Err(StoreError::EarlierLayout {
            path: path.to_owned(),
            found,
        });
    }
    Ok(found)
}

/// Returns a number of a layout from the database's table `table`.
pub(crate) fn number(stored: i64, table: &str) -> Result<u32, StoreError> {
    u32::try_from(stored).map_err(|error| StoreError::Corrupt {
        what: "database",
        id: table.to_owned(),
        detail: error.to_string(),
    })
}

/// Returns the newest version of these migrations.
pub(crate) fn newest(known: &[Migration]) -> u32 {
    let versions = known.iter().map(Migration::version);
    let newest = versions.max().unwrap_or(0);
    u32::try_from(newest).unwrap_or(0)
}

/// Returns a runner that applies all pending migrations of an upgrade in one transaction.
pub(crate) fn runner(known: &[Migration]) -> Runner {
    Runner::new(known)
        .set_grouped(true)
        .set_abort_divergent(true)
        .set_abort_missing(true)
}

/// Logs that a database has a newer layout that this build may use.
pub(crate) fn note_newer(found: &StoreLayout, supported: u32) {
    tracing::warn!(
        layout = found.version,
        supported,
        "the data has the layout of Charter {}, which this version may use as it is",
        found.charter
    );
}

/// Returns migrations with further ones, numbered after them. Only rehearsals of an upgrade have any.
#[cfg(any(test, feature = "next-layout"))]
pub(crate) fn followed_by(known: Vec<Migration>, next: &[(&str, &str)]) -> Vec<Migration> {
    let mut all = known;
    for (name, sql) in next {
        let name = format!("V{}__{name}", newest(&all) + 1);
        // The rehearsal fails if a name is invalid, because its layout is missing.
        all.extend(Migration::unapplied(&name, sql).ok());
    }
    all
}

/// How many of the rehearsed layouts this build knows.
#[cfg(feature = "next-layout")]
pub(crate) const REHEARSED: usize = if cfg!(feature = "next-breaking-layout") {
    2
} else {
    1
};
