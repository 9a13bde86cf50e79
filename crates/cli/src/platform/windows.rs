//! Files, signals and limits of Windows. They have no modes; Ctrl-C alone stops a command.

use std::fs::{Metadata, OpenOptions};
use std::io;

/// The variable with the user's home directory.
pub(crate) const HOME: &str = "USERPROFILE";

/// No mode: access to a file is that of its folder.
pub(crate) fn file_mode(_metadata: &Metadata) -> Option<u32> {
    None
}

/// Leaves the permissions of a file that is created to its folder.
pub(crate) fn set_mode(_options: &mut OpenOptions, _mode: u32) {}

/// No file is a Unix socket.
pub(crate) fn is_socket(_metadata: &Metadata) -> bool {
    false
}

/// Waits forever: there is no SIGTERM.
///
/// # Errors
/// None.
pub(crate) async fn terminated() -> io::Result<()> {
    std::future::pending().await
}

/// No limit.
pub(crate) fn raise_open_files() -> Option<u64> {
    None
}
