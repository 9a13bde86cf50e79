//! The lock file of a data directory: one process at a time, and a word on who it is.
//!
//! The operating system holds the lock, so a killed process leaves none behind. The text in the
//! file is for people only; nothing decides by it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use charter_store::StoreError;

pub(crate) const FILE: &str = "charter.lock";

/// No holder text is longer; more is cut off when read.
const MAX_HOLDER_BYTES: u64 = 1024;

/// Keeps other processes out of a directory until it is released or dropped.
#[derive(Debug)]
pub struct DirectoryLock {
    /// Absent once released.
    file: Mutex<Option<File>>,
}

impl DirectoryLock {
    /// Refuses a directory with a database and without the lock file: the process that made the file may still hold
    /// it, and a new file would let a second one in.
    ///
    /// # Errors
    /// [`StoreError::Refused`].
    pub(crate) fn must_be_beside(dir: &Path, database: &str) -> Result<(), StoreError> {
        // In this order: a process makes the lock file before the database.
        if !dir.join(database).exists() || dir.join(FILE).exists() {
            return Ok(());
        }
        Err(StoreError::Refused {
            what: "data directory",
            id: dir.display().to_string(),
            detail: format!(
                "`{FILE}` is missing beside `{database}`, and another process may use the database: stop that \
                 process, then create an empty file `{FILE}` there"
            ),
        })
    }

    /// Creates the directory if need be and takes its lock without waiting.
    ///
    /// # Errors
    /// [`StoreError::Locked`] with the present holder's text; [`StoreError::Full`] or [`StoreError::Engine`]
    /// when the directory or the file cannot be made.
    pub fn take(dir: &Path, holder: &str) -> Result<Self, StoreError> {
        fs::create_dir_all(dir).map_err(|e| io_error("creating the data directory", e))?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(dir.join(FILE))
            .map_err(|e| io_error("opening the lock file", e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked {
                    path: dir.display().to_string(),
                    holder: read_holder(&file),
                });
            }
            Err(TryLockError::Error(e)) => return Err(io_error("locking the data directory", e)),
        }
        let lock = Self {
            file: Mutex::new(Some(file)),
        };
        lock.describe(holder)?;
        Ok(lock)
    }

    /// Lets others open the directory. Unlocks, and does not only close: a child process that is
    /// just being started holds a copy of every open file for a moment, and with it the lock.
    pub fn release(&self) {
        if let Some(file) = locked(&self.file).take() {
            // If this fails, closing the file unlocks it.
            drop(file.unlock());
        }
    }

    /// Writes who holds the lock, in place of what was there, e.g. `pid 4711, 127.0.0.1:8080`.
    ///
    /// # Errors
    /// [`StoreError::Closed`] once the lock is released; [`StoreError::Full`] or [`StoreError::Engine`] when
    /// the file cannot be written.
    pub fn describe(&self, holder: &str) -> Result<(), StoreError> {
        let guard = locked(&self.file);
        let mut file = guard.as_ref().ok_or(StoreError::Closed)?;
        file.set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(holder.as_bytes()))
            .map_err(|e| io_error("writing the lock file", e))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        self.release();
    }
}

/// `None` when the holder has not written its text yet or it cannot be read.
fn read_holder(file: &File) -> Option<String> {
    let mut text = Vec::new();
    file.take(MAX_HOLDER_BYTES).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn io_error(doing: &'static str, source: io::Error) -> StoreError {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full {
            doing,
            source: Box::new(source),
        },
        _ => StoreError::Engine {
            doing,
            source: Box::new(source),
        },
    }
}
