//! The schema version of a database, from the history of its migrations.

use charter_store::StoreError;
use refinery::Runner;

/// The number of the migration with the initial schema.
const FIRST: i32 = 1;

/// Reads the newest version, 0 for none, and the checksum of the first migration.
pub(crate) const HISTORY: &str =
    "SELECT CAST(coalesce(max(version), 0) AS bigint), max(checksum) FILTER (WHERE version = 1)
     FROM refinery_schema_history";

/// Returns the version of a database from its history.
///
/// # Errors
/// [`StoreError::EarlierLayout`] for a database whose first migration is another than that of this build: no migration
/// leads from such a layout to this one. A newer database has the same first migration.
pub(crate) fn version(
    path: &str,
    newest: i64,
    first: Option<&str>,
    known: &Runner,
) -> Result<u32, StoreError> {
    let found = u32::try_from(newest).map_err(|error| StoreError::Corrupt {
        what: "database",
        id: "refinery_schema_history".to_owned(),
        detail: error.to_string(),
    })?;
    let mut known = known.get_migrations().iter();
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
