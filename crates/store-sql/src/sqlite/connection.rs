//! Configures connections: durability, integrity and memory.

use std::path::Path;
use std::time::Duration;

use charter_store::StoreError;
use rusqlite::{Connection, Error};

use crate::failure::sqlite::during;

/// How long to wait for another connection; only a checkpoint or a recovery ever blocks one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Compiled statements that a connection caches: more than all the statements of this crate.
const STATEMENT_CACHE: usize = 256;

/// Page cache of the write connection, in KiB.
const WRITER_CACHE_KIB: i64 = 16 * 1024;

/// Page cache of each read connection, in KiB; most reads use the mapped file.
const READER_CACHE_KIB: i64 = 4 * 1024;

/// Bytes of the file that a read connection maps. This is address space, not memory.
const READER_MMAP_BYTES: i64 = 256 * 1024 * 1024;

/// Size to which the log is truncated after a checkpoint, in bytes.
const LOG_LIMIT_BYTES: i64 = 64 * 1024 * 1024;

/// The pragma that controls overwriting of deleted content.
const SECURE_DELETE: &str = "secure_delete";

/// Opens the write connection and creates the database if necessary.
///
/// # Errors
/// [`StoreError::Corrupt`] when the file is not a database or is damaged.
pub(super) fn open_writer(path: &Path, max_bytes: Option<u64>) -> Result<Connection, StoreError> {
    let opened = Connection::open(path).and_then(|connection| {
        prepare_writer(&connection)?;
        set_max_bytes(&connection, max_bytes)?;
        Ok(connection)
    });
    opened.map_err(during("opening the database"))
}

fn prepare_writer(connection: &Connection) -> Result<(), Error> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // With this, delete triggers also fire for rows that REPLACE would remove.
    connection.pragma_update(None, "recursive_triggers", true)?;
    // Deleted content is overwritten in its page; `overwriting` also does so in freed pages.
    connection.pragma_update_and_check(None, SECURE_DELETE, "FAST", |_| Ok(()))?;
    connection.pragma_update(None, "journal_size_limit", LOG_LIMIT_BYTES)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    Ok(())
}

/// Configures a connection that was opened read-only.
pub(super) fn prepare_reader(connection: &Connection) -> Result<(), Error> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    connection.pragma_update(None, "mmap_size", READER_MMAP_BYTES)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    Ok(())
}

/// Runs `work`, which deletes content permanently: freed pages are overwritten with zeros.
pub(super) fn overwriting<T>(
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let set = |connection: &Connection, how: &str| {
        let set = connection.pragma_update_and_check(None, SECURE_DELETE, how, |_| Ok(()));
        set.map_err(during("setting up secure deletion"))
    };
    set(connection, "ON")?;
    let done = work(connection);
    set(connection, "FAST")?;
    done
}

/// Limits the size of the database file, without the log; `None` removes the limit. A file that is already larger keeps
/// its size and does not grow.
pub(super) fn set_max_bytes(connection: &Connection, max_bytes: Option<u64>) -> Result<(), Error> {
    /// SQLite's own limit, in pages.
    const MOST_PAGES: i64 = 4_294_967_294;
    let page_size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let pages = max_bytes.map_or(MOST_PAGES, |bytes| {
        (i64::try_from(bytes).unwrap_or(i64::MAX) / page_size).clamp(1, MOST_PAGES)
    });
    connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
}
