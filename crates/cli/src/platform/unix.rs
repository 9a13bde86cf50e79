//! Files, signals and limits of Unix.

use std::fs::{Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

/// The variable with the user's home directory.
pub(crate) const HOME: &str = "HOME";

/// The mode of a file, with its permissions.
pub(crate) fn file_mode(metadata: &Metadata) -> Option<u32> {
    Some(metadata.permissions().mode())
}

/// Sets the permissions of a file that is created.
pub(crate) fn set_mode(options: &mut OpenOptions, mode: u32) {
    options.mode(mode);
}

/// Whether a file is a Unix socket.
pub(crate) fn is_socket(metadata: &Metadata) -> bool {
    metadata.file_type().is_socket()
}

/// Waits until the process receives SIGTERM.
///
/// # Errors
/// When the signal cannot be caught.
pub(crate) async fn terminated() -> io::Result<()> {
    let mut received = signal(SignalKind::terminate())?;
    received.recv().await;
    Ok(())
}

/// Raises the limit of open files to its maximum. Returns the limit; `None` if there is none.
pub(crate) fn raise_open_files() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(error = %error, "the limit of open files could not be raised");
    }
    getrlimit(Resource::Nofile).current
}
