//! Discarded folders: moved aside in one step, and removed by a thread of their own.
//!
//! The trees that programs leave are hostile: deeper than a stack or a path can be, of a million entries, with modes
//! that forbid their removal. So the removal neither recurses nor builds paths, and its failures go to the log: they
//! stop neither a call nor a start. Must not know the content of the folders.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;
use uuid::Uuid;

/// Flags to open a directory without read permission.
const NAMED: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// Flags to open a directory for listing.
const LISTED: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// A folder, and the thread that removes its content until this value is dropped.
#[derive(Debug)]
pub(crate) struct TrashFolder {
    folder: PathBuf,
    /// Wakes the thread. One pending wake serves all discarded folders.
    wake: SyncSender<()>,
}

/// A new folder, discarded when dropped. If it was moved elsewhere, it stays there.
#[derive(Debug)]
pub(crate) struct TemporaryFolder<'a> {
    path: PathBuf,
    bin: &'a TrashFolder,
}

impl TrashFolder {
    /// Creates `folder`, and begins to remove what an earlier process left in it.
    ///
    /// # Errors
    /// When the folder cannot be created or opened, or no thread started.
    pub(crate) fn new(folder: PathBuf) -> io::Result<Self> {
        create_private(&folder)?;
        let opened = rustix::fs::open(&folder, LISTED, Mode::empty())?;
        let (wake, woken) = mpsc::sync_channel(1);
        let shown = folder.clone();
        let thread = thread::Builder::new().name("rubbish".to_owned());
        thread.spawn(move || empty_when_woken(&woken, &opened, &shown))?;
        let bin = Self { folder, wake };
        bin.wake();
        Ok(bin)
    }

    /// Moves a folder into the bin. If that fails, the folder stays, and the reason is logged.
    pub(crate) fn discard(&self, folder: &Path) {
        match self.move_aside(folder) {
            Ok(()) => self.wake(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let folder = folder.display();
                tracing::warn!(%error, %folder, "a discarded folder cannot be moved into the trash; keeping it");
            }
        }
    }

    /// Creates a new folder in `parent`.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(crate) fn folder_in(&self, parent: &Path, prefix: &str) -> io::Result<TemporaryFolder<'_>> {
        let created = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
        Ok(TemporaryFolder {
            path: created.keep(),
            bin: self,
        })
    }

    fn move_aside(&self, folder: &Path) -> io::Result<()> {
        let aside = self.folder.join(Uuid::new_v4().to_string());
        match fs::rename(folder, &aside) {
            // Moving a folder needs the right to write to it.
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied
                    && fs::symlink_metadata(folder)?.is_dir() =>
            {
                fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
                fs::rename(folder, &aside)
            }
            moved => moved,
        }
    }

    fn wake(&self) {
        match self.wake.try_send(()) {
            Ok(()) | Err(TrySendError::Full(())) => {}
            Err(TrySendError::Disconnected(())) => {
                tracing::warn!(
                    "the thread that removes discarded folders ended; keeping them until the next start"
                );
            }
        }
    }
}

impl TemporaryFolder<'_> {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder<'_> {
    fn drop(&mut self) {
        self.bin.discard(&self.path);
    }
}

/// Creates a folder, or changes an existing one, so that only this user can enter it.
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

fn empty_when_woken(woken: &Receiver<()>, bin: &OwnedFd, shown: &Path) {
    let mut logged = String::new();
    for () in woken {
        let failed = match empty_bin(bin.as_fd()) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        // An entry that stays fails again at the end of each call: one line is enough.
        if failed != logged && !failed.is_empty() {
            let folder = shown.display();
            tracing::warn!(
                error = %failed, %folder,
                "some discarded folders cannot be removed; retrying with the next call"
            );
        }
        logged = failed;
    }
}

/// Removes the content of the bin. Fails with the last error if an entry stays.
///
/// Before a directory is removed, its subdirectories move up into the bin, so that no tree there is deeper than one
/// level. Each directory moves once.
fn empty_bin(bin: BorrowedFd<'_>) -> io::Result<()> {
    loop {
        let mut changes = 0_u64;
        let mut outcome = Ok(());
        for entry in Dir::read_from(bin)? {
            let entry = entry?;
            if is_dots(entry.file_name()) {
                continue;
            }
            match remove(bin, entry.file_name(), &mut changes) {
                Ok(()) => changes += 1,
                Err(errno) => outcome = Err(errno.into()),
            }
        }
        if changes == 0 {
            return outcome;
        }
    }
}

/// Removes one entry of the bin.
fn remove(bin: BorrowedFd<'_>, name: &CStr, changes: &mut u64) -> Result<(), Errno> {
    if unlink(bin, name)? == EntryKind::File {
        return Ok(());
    }
    let directory = open_writable(bin, name)?;
    let listed = rustix::fs::openat(&directory, c".", LISTED, Mode::empty())?;
    let mut outcome = Ok(());
    for entry in Dir::new(listed)? {
        let entry = entry?;
        if is_dots(entry.file_name()) {
            continue;
        }
        match hoist(directory.as_fd(), entry.file_name(), bin) {
            Ok(()) => *changes += 1,
            Err(errno) => outcome = Err(errno),
        }
    }
    match rustix::fs::unlinkat(bin, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => outcome.and(Err(errno)),
    }
}

/// Removes a file; moves a directory up into the bin.
fn hoist(directory: BorrowedFd<'_>, name: &CStr, bin: BorrowedFd<'_>) -> Result<(), Errno> {
    if unlink(directory, name)? == EntryKind::File {
        return Ok(());
    }
    // Moving a directory needs the right to write to it.
    open_writable(directory, name)?;
    rustix::fs::renameat(directory, name, bin, Uuid::new_v4().to_string())
}

#[derive(PartialEq, Eq)]
enum EntryKind {
    /// Anything but a directory; it is gone.
    File,
    Directory,
}

fn unlink(parent: BorrowedFd<'_>, name: &CStr) -> Result<EntryKind, Errno> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(EntryKind::File),
        // The error for a directory: EISDIR on Linux, EPERM in POSIX.
        Err(Errno::ISDIR | Errno::PERM) => Ok(EntryKind::Directory),
        Err(errno) => Err(errno),
    }
}

/// Opens a directory, and gives its owner all rights to it if this process may.
fn open_writable(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let directory = rustix::fs::openat(parent, name, NAMED, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    match rustix::fs::chmod(path, Mode::RWXU) {
        // It may be removable as it is.
        Ok(()) | Err(Errno::PERM | Errno::ROFS | Errno::NOENT) => Ok(directory),
        Err(errno) => Err(errno),
    }
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

#[cfg(test)]
mod tests;
