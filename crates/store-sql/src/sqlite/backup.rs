//! A copy of the database of a data directory, taken while it may be in use, and put back.

use std::fs::{self, File};
use std::path::Path;

use charter_contract::time::Timestamp;
use charter_store::StoreError;
use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};

use super::failure::during;
use super::{DATABASE, connection, schema, statement};
use crate::backup::{self, BackupEngine, Manifest};
use crate::lock::DirectoryLock;
use crate::row::field;

const COPYING: &str = "copying the database";
const RESTORING: &str = "restoring the database";

/// What a restored database is called until it has been looked through.
const RESTORED: &str = "charter.db.restoring";

/// Copies the database of the data directory `data` into the new directory `target`, as one moment found it,
/// and looks through the copy. Who uses the database goes on; nobody waits. Blocks.
///
/// # Errors
/// [`StoreError::NotFound`] without a database; [`StoreError::AlreadyExists`] when `target` does;
/// [`StoreError::Corrupt`] when what was copied is not sound; [`StoreError::Full`].
pub fn back_up(data: &Path, target: &Path, at: Timestamp) -> Result<Manifest, StoreError> {
    let source = open_to_read(data)?;
    backup::create(target)?;
    let layout = copy(&source, &target.join(DATABASE))?;
    let files = vec![backup::described(target, DATABASE)?];
    let manifest = Manifest::new(BackupEngine::Sqlite, layout, at, files);
    manifest.write(target)?;
    Ok(manifest)
}

/// The database of the data directory `data`, beside whoever uses it.
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
    Ok(source)
}

/// Copies all pages in one step, so that writers do not make it begin anew; the layout's version.
fn copy(source: &Connection, path: &Path) -> Result<u32, StoreError> {
    let mut target = Connection::open(path).map_err(during(COPYING))?;
    Backup::new(source, &mut target)
        .and_then(|backup| backup.step(-1))
        .map_err(during(COPYING))?;
    // One file, without a log beside it.
    target
        .pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))
        .map_err(during(COPYING))?;
    look_through(&target, path)?;
    schema::version(&target)
}

/// Refuses a database with damage, or with a row that refers to none.
fn look_through(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let said = |sql| {
        statement::rows("checking the copy", connection, sql, [], |row| {
            field::<String>(row, 0)
        })
    };
    let mut wrong = said("PRAGMA integrity_check")?;
    wrong.retain(|line| line != "ok");
    wrong.extend(said("SELECT 'a row of ' || \"table\" || ' refers to none of ' || parent FROM pragma_foreign_key_check")?);
    match wrong.first() {
        None => Ok(()),
        Some(first) => Err(StoreError::Corrupt {
            what: "database",
            id: path.display().to_string(),
            detail: format!("{first} ({} faults)", wrong.len()),
        }),
    }
}

/// Puts the database of a backup into a data directory that has none. What is half done is not seen: the
/// database has its name when it has been looked through. Blocks.
///
/// # Errors
/// As [`Manifest::verified`]; [`StoreError::Refused`] for a backup of another engine;
/// [`StoreError::AlreadyExists`] where there is a database; [`StoreError::Locked`] while it is in use;
/// [`StoreError::NewerSchema`] when a newer Charter took it.
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
    look_through(&restored, &partial)?;
    if schema::version(&restored)? != manifest.layout {
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
