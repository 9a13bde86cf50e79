//! Errors of the engines as [`StoreError`](charter_store::StoreError).

pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::io;
use std::path::Path;

/// Adds its path to the error of a file or directory.
pub(crate) fn with_path(path: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
