//! The embedded engine: SQLite in one data directory.
//!
//! A directory contains `charter.db` with its log, and `charter.lock`, which prevents a second process from opening it.
//! All writes go through one connection (`writer`), reads through a few connections (`readers`). Nouns have
//! their statements beside it, for both engines; here is what only SQLite has.

mod backup;
mod connection;
mod export;
mod notices;
mod readers;
mod schema;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charter_store::StoreError;
use futures_util::future::BoxFuture;
use refinery::Migration;
use rusqlite::{Connection, OpenFlags};

pub use backup::{back_up, restore};
pub use export::export_tenant;
pub use schema::PendingMigration;

use crate::evidence::EvidenceWriter;
use crate::failure::sqlite::{DATABASE, during};
use crate::journal::JournalWriter;
use crate::lease;
use crate::lock::DirectoryLock;
use crate::schema::StoreLayout;
use crate::store::{Access, RowScope, SqlEngine, SqlStore};
use crate::tx::{Tx, now};
use crate::vector::VectorSearch;
use readers::ReaderPool;
use writer::Writer;

/// Options of a store.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// Description of the holder for processes that find the directory locked: process id and address.
    pub holder: String,
    /// Size limit of the database file in bytes, without the log; absent for none. Beyond it writes fail with
    /// [`StoreError::Full`].
    pub max_bytes: Option<u64>,
    /// Concurrent reads, at least one; further reads wait.
    pub readers: usize,
}

impl Default for SqliteOptions {
    /// No holder text, no size limit, four readers.
    fn default() -> Self {
        Self {
            holder: String::new(),
            max_bytes: None,
            readers: 4,
        }
    }
}

/// An open data directory. Implements every trait of `charter-store`.
pub type SqliteStore = SqlStore<SqliteEngine>;

/// The connections to an open data directory.
#[derive(Debug)]
pub struct SqliteEngine {
    // Drop order: the write thread closes the database last and then releases the lock.
    readers: ReaderPool,
    writer: Arc<Writer>,
    lock: Arc<DirectoryLock>,
}

impl SqliteStore {
    /// Opens a data directory, creates what is missing and brings the schema up to date. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another process has it open; [`StoreError::NewerSchema`] when only a newer Charter
    /// may open it, [`StoreError::EarlierLayout`] when it has an unreleased layout; [`StoreError::Corrupt`] when the
    /// file is not a valid database.
    pub fn open(dir: &Path, options: &SqliteOptions) -> Result<Self, StoreError> {
        Self::open_among(dir, options, &schema::known())
    }

    /// Opens a data directory as a build with these migrations.
    fn open_among(
        dir: &Path,
        options: &SqliteOptions,
        known: &[Migration],
    ) -> Result<Self, StoreError> {
        DirectoryLock::must_be_beside(dir, DATABASE)?;
        let lock = Arc::new(DirectoryLock::take(dir, &options.holder)?);
        let path = dir.join(DATABASE);
        // Refuses another layout before the write connection changes the file.
        must_open_among(&path, known)?;
        let mut connection = connection::open_writer(&path, options.max_bytes)?;
        schema::migrate(&mut connection, &path, known)?;
        lock.record_layout()?;
        // This process has the directory's lock, so the holders of all leases are gone.
        now(Box::pin(lease::release_all(&mut Tx::Sqlite(
            &mut connection,
        ))))?;
        let readers = ReaderPool::open(&path, options.readers.max(1))?;
        let writer = Arc::new(Writer::start(connection, Arc::clone(&lock))?);
        let engine = SqliteEngine {
            readers,
            writer,
            lock,
        };
        Ok(Self { engine })
    }

    /// Describes the holder for processes that find the directory locked, e.g. `pid 4711, 127.0.0.1:8080`.
    ///
    /// # Errors
    /// [`StoreError::Full`] or [`StoreError::Engine`] when the lock file cannot be written.
    pub fn describe_holder(&self, holder: &str) -> Result<(), StoreError> {
        self.engine.lock.describe(holder)
    }

    /// Changes the limit of [`SqliteOptions::max_bytes`] for later writes.
    ///
    /// # Errors
    /// [`StoreError::Closed`] after [`SqliteStore::close`].
    pub async fn set_max_bytes(&self, max_bytes: Option<u64>) -> Result<(), StoreError> {
        self.write(move |connection| {
            connection::set_max_bytes(connection, max_bytes)
                .map_err(during("limiting the size of the database"))
        })
        .await
    }

    /// Finishes the queued writes, moves the log into the database and releases the directory. Dropping the store does
    /// that too, and blocks.
    ///
    /// # Errors
    /// When the log cannot be moved; no data is lost, and the next open moves it.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.engine.readers.close().await;
        let writer = Arc::clone(&self.engine.writer);
        tokio::task::spawn_blocking(move || writer.close())
            .await
            .map_err(|source| StoreError::Engine {
                doing: "closing the store",
                source: Box::new(source),
            })?
    }

    /// Checks the whole database for damage; returns the faults found. Reads every page: seconds per gigabyte.
    ///
    /// # Errors
    /// As for a read.
    pub async fn check_integrity(&self) -> Result<Vec<String>, StoreError> {
        self.read(backup::faults).await
    }

    async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let writer = &self.engine.writer;
        writer.write(move |connection| work(connection)).await
    }

    async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let readers = &self.engine.readers;
        readers.read(move |connection| work(connection)).await
    }
}

impl EvidenceWriter for SqliteEngine {}

impl JournalWriter for SqliteEngine {}

impl VectorSearch for SqliteEngine {}

impl SqlEngine for SqliteEngine {
    async fn run<V, T, F>(
        &self,
        access: Access,
        _scope: RowScope<'_>,
        values: V,
        work: F,
    ) -> Result<T, StoreError>
    where
        V: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx<'_>, &'t V) -> BoxFuture<'t, Result<T, StoreError>>
            + Send
            + Sync
            + 'static,
    {
        let work = move |connection: &mut Connection| {
            let mut tx = Tx::Sqlite(connection);
            now(work(&mut tx, &values))
        };
        match access {
            Access::Read | Access::Snapshot | Access::Listing => self.readers.read(work).await,
            Access::Statement | Access::InTime | Access::Write => self.writer.write(work).await,
            Access::Removal => {
                let writer = &self.writer;
                writer
                    .write(move |connection| connection::overwriting(connection, work))
                    .await
            }
        }
    }
}

/// Locks a mutex, also after a panic of its holder: every change under these mutexes is one step.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses a database that a build with these migrations may not open; does not create or change it.
fn must_open_among(path: &Path, known: &[Migration]) -> Result<(), StoreError> {
    match open_to_look(path)? {
        Some(connection) => schema::readable_among(&connection, path, known).map(drop),
        None => Ok(()),
    }
}

/// Opens a database to be read only; `None` if it does not exist.
fn open_to_look(path: &Path) -> Result<Option<Connection>, StoreError> {
    if !path.exists() {
        return Ok(None);
    }
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    connection.map(Some).map_err(during("opening the database"))
}

/// Returns the migrations that opening this data directory would apply; does not create or change it.
///
/// # Errors
/// As [`layout`].
pub fn migrations_pending(dir: &Path) -> Result<Vec<PendingMigration>, StoreError> {
    schema_version(dir).map(schema::pending)
}

/// Returns the schema version of a data directory, 0 when it has no database; does not create or change it.
///
/// # Errors
/// As [`layout`].
pub fn schema_version(dir: &Path) -> Result<u32, StoreError> {
    layout(dir).map(|layout| layout.version)
}

/// Returns the layout of a data directory's database, with the version 0 when it has none; does not create or change
/// it.
///
/// # Errors
/// [`StoreError::EarlierLayout`] when it has an unreleased layout; [`StoreError::Corrupt`] when the file is not a
/// database; [`StoreError::Engine`] when unreadable.
pub fn layout(dir: &Path) -> Result<StoreLayout, StoreError> {
    let path = dir.join(DATABASE);
    match open_to_look(&path)? {
        Some(connection) => schema::layout(&connection, &path),
        None => Ok(StoreLayout::empty()),
    }
}

/// Returns the newest schema version that this build knows.
#[must_use]
pub fn newest_schema_version() -> u32 {
    schema::newest()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tx::params;

    /// A panicking write neither stops the write thread nor fails the rest of its batch.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_panicking_write_fails_alone() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), &SqliteOptions::default()).unwrap();
        let insert = |connection: &Connection, model: &str| {
            let sql = "INSERT INTO embedding (model, text_hash, bytes) VALUES ($1, x'00', x'00')";
            crate::tx::sqlite::execute("testing", connection, sql, params![model])
        };
        let (before, broken, after) = tokio::join!(
            store.write(move |connection| insert(connection, "before")),
            store.write::<(), _>(move |connection| {
                insert(connection, "broken")?;
                panic!("on purpose");
            }),
            store.write(move |connection| insert(connection, "after")),
        );
        assert_eq!((before.unwrap(), after.unwrap()), (1, 1));
        assert!(matches!(broken, Err(StoreError::Engine { .. })));
        let sql = "SELECT model FROM embedding ORDER BY model";
        let models: Vec<String> = store
            .read(|c| {
                crate::tx::sqlite::rows("testing", c, sql, params![], |row| {
                    crate::row::field(row, 0)
                })
            })
            .await
            .unwrap();
        assert_eq!(models, ["after", "before"]);
    }
}
