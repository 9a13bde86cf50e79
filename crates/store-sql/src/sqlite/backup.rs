//! Copies the database of a data directory, even while it is in use, and restores it.

use std::fs::{self, File};
use std::path::Path;

use charter_contract::time::Timestamp;
use charter_store::StoreError;
use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};

use super::{DATABASE, connection, schema};
use crate::backup::{self, BackupEngine, Manifest};
use crate::failure::sqlite::during;
use crate::lock::DirectoryLock;
use crate::row::field;

const COPYING: &str = "copying the database";
const RESTORING: &str = "restoring the database";

/// The file name of a restored database until it has been checked.
const RESTORED: &str = "charter.db.restoring";

/// Copies the database of the data directory `data` into the new directory `target`, from one snapshot, and checks the
/// copy. The database stays in use, and no other call waits. Blocks.
///
/// # Errors
/// [`StoreError::NotFound`] without a database; [`StoreError::NewerSchema`] when only a newer Charter may open it;
/// [`StoreError::AlreadyExists`] when `target` exists; [`StoreError::Corrupt`] when the copy is damaged;
/// [`StoreError::Full`].
pub fn back_up(data: &Path, target: &Path, at: Timestamp) -> Result<Manifest, StoreError> {
    let source = open_to_read(data)?;
    backup::create(target)?;
    let layout = copy(&source, &target.join(DATABASE))?;
    let files = vec![backup::described(target, DATABASE)?];
    let manifest = Manifest::new(BackupEngine::Sqlite, layout, at, files);
    manifest.write(target)?;
    Ok(manifest)
}

/// Opens the database of the data directory `data`, even while it is in use. Refuses a layout that this build may not
/// open.
pub(super) fn open_to_read(data: &Path) -> Result<Connection, StoreError> {
    let path = data.join(DATABASE);
    if !path.exists() {
        return Err(StoreError::NotFound {
            what: "database",
            id: path.display().to_string(),
        });
    }
    let opening = during("opening the database");
    let source =
        Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(&opening)?;
    connection::prepare_reader(&source).map_err(&opening)?;
    schema::readable(&source, &path)?;
    Ok(source)
}

/// Copies all pages in one step, so that writers do not restart the copy; returns the layout's version.
fn copy(source: &Connection, path: &Path) -> Result<u32, StoreError> {
    let mut target = Connection::open(path).map_err(during(COPYING))?;
    Backup::new(source, &mut target)
        .and_then(|backup| backup.step(-1))
        .map_err(during(COPYING))?;
    // One file, without a log.
    target
        .pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))
        .map_err(during(COPYING))?;
    must_be_intact(&target, path)?;
    Ok(schema::layout(&target, path)?.version)
}

/// Refuses a damaged database, or one with a dangling reference.
fn must_be_intact(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let dangling = "SELECT 'a row of ' || \"table\" || ' refers to none of ' || parent
                    FROM pragma_foreign_key_check";
    let mut faults = faults(connection)?;
    faults.extend(findings(connection, dangling)?);
    match faults.first() {
        None => Ok(()),
        Some(first) => Err(StoreError::Corrupt {
            what: "database",
            id: path.display().to_string(),
            detail: format!("{first} ({} faults)", faults.len()),
        }),
    }
}

/// Returns the damage that SQLite finds in the whole database.
pub(super) fn faults(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut faults = findings(connection, "PRAGMA integrity_check")?;
    faults.retain(|line| line != "ok");
    Ok(faults)
}

fn findings(connection: &Connection, sql: &str) -> Result<Vec<String>, StoreError> {
    let doing = "checking the database";
    crate::tx::sqlite::rows(doing, connection, sql, &[], |row| field(row, 0))
}

/// Restores the database of a backup into a data directory without one. A partial restore is not visible: the database
/// gets its name after it has been checked. Blocks.
///
/// # Errors
/// As [`Manifest::verified`]; [`StoreError::Refused`] for a backup of another engine or a newer layout;
/// [`StoreError::AlreadyExists`] when there is a database; [`StoreError::Locked`] while it is in use.
pub fn restore(backup: &Path, data: &Path, holder: &str) -> Result<Manifest, StoreError> {
    let manifest = Manifest::verified(backup)?;
    manifest.must_be_for(backup, BackupEngine::Sqlite, schema::newest())?;
    let lock = DirectoryLock::take(data, holder)?;
    let (path, partial) = (data.join(DATABASE), data.join(RESTORED));
    if path.exists() {
        return Err(StoreError::AlreadyExists {
            what: "database",
            id: path.display().to_string(),
        });
    }
    fs::copy(backup.join(DATABASE), &partial).map_err(backup::during(RESTORING))?;
    let restored = Connection::open(&partial).map_err(during(RESTORING))?;
    must_be_intact(&restored, &partial)?;
    let layout = schema::layout(&restored, &backup.join(DATABASE))?;
    if layout.version != manifest.layout {
        let detail = "its layout differs from the manifest".to_owned();
        return Err(backup::corrupt(backup, DATABASE, detail));
    }
    drop(restored);
    let put = File::open(&partial)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&partial, &path))
        .and_then(|()| File::open(data)?.sync_all());
    put.map_err(backup::during(RESTORING))?;
    lock.release();
    Ok(manifest)
}
