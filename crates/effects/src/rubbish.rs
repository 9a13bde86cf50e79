//! Folders that are not needed any more: moved aside at once, removed by a thread of its own.
//!
//! The trees that programs leave are hostile: deeper than any stack or path, of a million entries, with modes that
//! forbid their removal. So the removal neither recurses nor builds paths, and its failures go to the log: they stop
//! neither a call nor a start. Must not know what the folders hold.

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

/// A descriptor of a directory that needs no right to read it.
const NAMED: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// A descriptor that lists a directory.
const LISTED: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// A folder whose content is removed, and the thread that does so until this is dropped.
#[derive(Debug)]
pub(crate) struct RubbishBin {
    folder: PathBuf,
    /// Wakes the thread. One wake that waits serves all who asked for it.
    wake: SyncSender<()>,
}

/// A new folder, which goes into the bin when dropped. Moved elsewhere, it stays there.
#[derive(Debug)]
pub(crate) struct TemporaryFolder<'a> {
    path: PathBuf,
    bin: &'a RubbishBin,
}

impl RubbishBin {
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

    /// Moves a folder away to be removed. One that cannot be moved stays, and the log says why.
    pub(crate) fn throw(&self, folder: &Path) {
        match self.take(folder) {
            Ok(()) => self.wake(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let folder = folder.display();
                tracing::warn!(%error, %folder, "a folder to be removed cannot be moved away and stays");
            }
        }
    }

    /// A new folder in `parent`.
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

    fn take(&self, folder: &Path) -> io::Result<()> {
        let aside = self.folder.join(Uuid::new_v4().to_string());
        match fs::rename(folder, &aside) {
            // To move a folder its owner needs the right to write to it.
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
                    "the thread that removes folders ended; they stay until the next start"
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
        self.bin.throw(&self.path);
    }
}

/// Creates a folder that this user alone enters, or makes an existing one so.
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

fn empty_when_woken(woken: &Receiver<()>, bin: &OwnedFd, shown: &Path) {
    let mut logged = String::new();
    for () in woken {
        let failed = match empty(bin.as_fd()) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        // What stays fails at each call's end in the same way.
        if failed != logged && !failed.is_empty() {
            let folder = shown.display();
            tracing::warn!(error = %failed, %folder, "some folders cannot be removed; it is tried again");
        }
        logged = failed;
    }
}

/// Removes all that can be removed from the bin, and fails with the last reason why something stays.
///
/// A directory's own directories move up into the bin before it is removed, so that a tree of any depth is only
/// ever one level deep. Each directory moves once.
fn empty(bin: BorrowedFd<'_>) -> io::Result<()> {
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
    if unlink(bin, name)? == Kind::File {
        return Ok(());
    }
    let directory = writable(bin, name)?;
    let listed = rustix::fs::openat(&directory, c".", LISTED, Mode::empty())?;
    let mut outcome = Ok(());
    for entry in Dir::new(listed)? {
        let entry = entry?;
        if is_dots(entry.file_name()) {
            continue;
        }
        match take_out(directory.as_fd(), entry.file_name(), bin) {
            Ok(()) => *changes += 1,
            Err(errno) => outcome = Err(errno),
        }
    }
    match rustix::fs::unlinkat(bin, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => outcome.and(Err(errno)),
    }
}

/// Removes a file, and moves a directory up into the bin.
fn take_out(directory: BorrowedFd<'_>, name: &CStr, bin: BorrowedFd<'_>) -> Result<(), Errno> {
    if unlink(directory, name)? == Kind::File {
        return Ok(());
    }
    // To move a directory its owner needs the right to write to it.
    writable(directory, name)?;
    rustix::fs::renameat(directory, name, bin, Uuid::new_v4().to_string())
}

#[derive(PartialEq, Eq)]
enum Kind {
    /// Anything but a directory; it is gone.
    File,
    Directory,
}

fn unlink(parent: BorrowedFd<'_>, name: &CStr) -> Result<Kind, Errno> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(Kind::File),
        // POSIX says EPERM of a directory, and Linux EISDIR.
        Err(Errno::ISDIR | Errno::PERM) => Ok(Kind::Directory),
        Err(errno) => Err(errno),
    }
}

/// Opens a directory, and gives its owner all rights to it, as far as they are this process's to give.
fn writable(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let directory = rustix::fs::openat(parent, name, NAMED, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    match rustix::fs::chmod(path, Mode::RWXU) {
        // Perhaps it can be removed as it is.
        Ok(()) | Err(Errno::PERM | Errno::ROFS | Errno::NOENT) => Ok(directory),
        Err(errno) => Err(errno),
    }
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

#[cfg(test)]
mod tests;
