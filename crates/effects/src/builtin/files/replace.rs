//! Writes a file's content atomically: to a temporary file beside it, synced to disk, then renamed. Readers see the old
//! file or the new one, also after a crash.
//!
//! Must not know the operations that use it.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use charter_contract::agentic::error::ErrorType;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;
use uuid::Uuid;

use super::beneath::{EntryLocation, io_fault};
use crate::outcome::Failure;

/// Held between the last check of a file and its replacement, so that two calls of this process cannot both replace the
/// version that they read.
static REPLACING: Mutex<()> = Mutex::new(());

/// The entry that the new file may replace.
pub(super) enum ReplaceCondition<'a> {
    /// No entry may exist.
    Nothing,
    /// The file that was checked, unchanged since.
    Same(&'a Stat),
}

/// A temporary file beside its destination, deleted unless it is moved there.
pub(super) struct Staged<'p> {
    place: &'p EntryLocation,
    name: String,
    file: File,
}

impl<'p> Staged<'p> {
    /// Creates the file, with the mode and owner of the file that it will replace.
    pub(super) fn new(place: &'p EntryLocation, like: Option<&Stat>) -> Result<Self, Failure> {
        let name = format!(".charter-{}.tmp", Uuid::new_v4().simple());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(if like.is_some() { 0o600 } else { 0o666 });
        let opened = rustix::fs::openat(&place.directory, &name, flags, mode);
        let opened = opened.map_err(|errno| place.fault(errno))?;
        let staged = Self {
            place,
            name,
            file: File::from(opened),
        };
        if let Some(like) = like {
            staged.resemble(like)?;
        }
        Ok(staged)
    }

    fn resemble(&self, like: &Stat) -> Result<(), Failure> {
        let own = rustix::fs::fstat(&self.file).map_err(|errno| self.place.fault(errno))?;
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid) {
            let (owner, group) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
            rustix::fs::fchown(&self.file, Some(owner), Some(group))
                .map_err(|errno| self.place.fault(errno))?;
        }
        let mode = Mode::from_raw_mode(like.st_mode & 0o777);
        rustix::fs::fchmod(&self.file, mode).map_err(|errno| self.place.fault(errno))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| io_fault(&self.place.shown, &error))
    }

    /// Moves the file to its destination; it is on disk when this returns.
    pub(super) fn settle(self, over: &ReplaceCondition<'_>) -> Result<(), Failure> {
        let synced = self.file.sync_all();
        synced.map_err(|error| io_fault(&self.place.shown, &error))?;
        let place = self.place;
        match over {
            ReplaceCondition::Nothing => move_to_nothing(&place.directory, &self.name, place)?,
            ReplaceCondition::Same(before) => {
                let _held = REPLACING.lock().unwrap_or_else(PoisonError::into_inner);
                require_unchanged(place, before)?;
                rustix::fs::renameat(&place.directory, &self.name, &place.directory, &place.name)
                    .map_err(|errno| place.fault(errno))?;
            }
        }
        sync(place)
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        // After a successful move the temporary name no longer exists.
        match rustix::fs::unlinkat(&self.place.directory, &self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => tracing::warn!(%error, "a temporary file was not removed"),
        }
    }
}

/// Fails if the file is not the one that was checked, or was written to since.
pub(super) fn require_unchanged(place: &EntryLocation, before: &Stat) -> Result<(), Failure> {
    let identity = |stat: &Stat| {
        let changed = (
            stat.st_mtime,
            stat.st_mtime_nsec,
            stat.st_ctime,
            stat.st_ctime_nsec,
        );
        (stat.st_dev, stat.st_ino, stat.st_size, changed)
    };
    match place.stat()? {
        Some(now) if identity(&now) == identity(before) => Ok(()),
        Some(_) | None => {
            let message = format!(
                "`{}` changed concurrently; nothing was written",
                place.shown
            );
            Err(Failure::new(ErrorType::ExecutionError, message).retryable())
        }
    }
}

/// Moves a name to a destination that must not exist.
pub(super) fn move_to_nothing(
    from: &OwnedFd,
    name: &str,
    to: &EntryLocation,
) -> Result<(), Failure> {
    let moved =
        rustix::fs::renameat_with(from, name, &to.directory, &to.name, RenameFlags::NOREPLACE);
    moved.map_err(|errno| to.fault(errno))
}

/// Syncs a directory's entries to disk.
pub(super) fn sync(place: &EntryLocation) -> Result<(), Failure> {
    rustix::fs::fsync(&place.directory).map_err(|errno| place.fault(errno))
}
