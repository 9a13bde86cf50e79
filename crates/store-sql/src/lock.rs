//! The lock file of a data directory: allows one process at a time, and describes the holder.
//!
//! The operating system holds the lock, so a killed process leaves none behind. The text in the file is only for
//! people; no decision depends on it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use charter_store::StoreError;

use crate::directory_layout;
use crate::failure::with_path;

pub(crate) const FILE: &str = "charter.lock";

/// Size limit of a holder text; longer text is cut off when read.
const MAX_HOLDER_BYTES: u64 = 1024;

/// Keeps other processes out of a directory until it is released or dropped.
#[derive(Debug)]
pub struct DirectoryLock {
    dir: PathBuf,
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
        // The order matters: a process creates the lock file before the database.
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
    /// [`StoreError::Locked`] with the current holder's text; [`StoreError::NewerSchema`] when only a newer Charter may
    /// use the directory; [`StoreError::Full`] or [`StoreError::Engine`] when the directory or the file cannot be
    /// created.
    pub fn take(dir: &Path, holder: &str) -> Result<Self, StoreError> {
        fs::create_dir_all(dir)
            .map_err(with_path(dir))
            .map_err(|e| io_error("creating the data directory", e))?;
        let path = dir.join(FILE);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(with_path(&path))
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
            dir: dir.to_owned(),
            file: Mutex::new(Some(file)),
        };
        directory_layout::check(dir)?;
        lock.describe(holder)?;
        Ok(lock)
    }

    /// Records the layout of this build in a new or older directory, once its store has been opened.
    ///
    /// # Errors
    /// [`StoreError::Full`] or [`StoreError::Engine`] when the file cannot be written.
    pub fn record_layout(&self) -> Result<(), StoreError> {
        directory_layout::record(&self.dir)
    }

    /// Releases the lock, so that others can open the directory. Unlocks explicitly instead of only closing: a child
    /// process that is being started briefly holds a copy of every open file, and with it the lock.
    pub fn release(&self) {
        if let Some(file) = locked(&self.file).take() {
            // If this fails, closing the file unlocks it.
            drop(file.unlock());
        }
    }

    /// Writes the description of the holder, e.g. `pid 4711, 127.0.0.1:8080`.
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

/// Reads the holder text. Returns `None` when it is absent or cannot be read.
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
