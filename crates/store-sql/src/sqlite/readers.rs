//! Read connections: a few, opened once, each used by one blocking read at a time.
//!
//! In write-ahead mode readers neither wait for the write thread nor block it; each read sees one consistent state,
//! that of its first statement.

use std::path::Path;
use std::sync::{Arc, Mutex};

use charter_store::StoreError;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use super::{connection, locked};
use crate::failure::sqlite::during;

/// The pool. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct ReaderPool {
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
    count: usize,
}

/// A borrowed connection; it returns to the pool, and its transaction ends, even if the read panics.
struct PooledConnection {
    connection: Option<Connection>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            if !connection.is_autocommit() {
                // If this fails, the next BEGIN fails too, and its caller gets the error.
                drop(connection.execute_batch("ROLLBACK"));
            }
            locked(&self.idle).push(connection);
        }
    }
}

impl ReaderPool {
    /// Opens `count` connections to a database that the writer has opened already.
    pub(super) fn open(path: &Path, count: usize) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connections = (0..count)
            .map(|_| {
                let connection = Connection::open_with_flags(path, flags)?;
                connection::prepare_reader(&connection)?;
                Ok(connection)
            })
            .collect::<Result<Vec<_>, rusqlite::Error>>()
            .map_err(during("opening the database for reading"))?;
        Ok(Self {
            idle: Arc::new(Mutex::new(connections)),
            permits: Arc::new(Semaphore::new(count)),
            count,
        })
    }

    /// Runs `work` on a blocking thread inside one read transaction; waits while all connections are borrowed.
    pub(super) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .map_err(|_| StoreError::Closed)?;
        let readers = self.clone();
        let read = tokio::task::spawn_blocking(move || {
            let result = readers.lend().and_then(|lent| lent.run(work));
            drop(permit);
            result
        });
        read.await.map_err(|source| StoreError::Engine {
            doing: "running a read",
            source: Box::new(source),
        })?
    }

    /// Prevents further reads, waits for the running ones, and closes the connections.
    pub(super) async fn close(&self) {
        let count = u32::try_from(self.count).unwrap_or(u32::MAX);
        if let Ok(all) = self.permits.acquire_many(count).await {
            self.permits.close();
            drop(all);
        }
        locked(&self.idle).clear();
    }

    fn lend(&self) -> Result<PooledConnection, StoreError> {
        let connection = locked(&self.idle).pop().ok_or(StoreError::Closed)?;
        Ok(PooledConnection {
            connection: Some(connection),
            idle: Arc::clone(&self.idle),
        })
    }
}

impl PooledConnection {
    fn run<T, F>(mut self, work: F) -> Result<T, StoreError>
    where
        F: FnOnce(&mut Connection) -> Result<T, StoreError>,
    {
        let connection = self.connection.as_mut().ok_or(StoreError::Closed)?;
        let begun = connection.execute_batch("BEGIN");
        begun.map_err(during("opening a read transaction"))?;
        work(connection)
    }
}
