//! The program of a process that serves many calls. Must not know how it is confined.

use std::path::{Path, PathBuf};

use crate::HostPattern;

/// The home of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerHome {
    /// The folder of its name, which persists for the next start.
    Kept,
    /// A new folder, which is discarded with the process, so that no other process reads what it wrote.
    OfProcess,
}

/// The program to start, with its access.
pub(crate) struct ServerProgram<'a> {
    /// Its name, with only characters that file names allow.
    pub(crate) name: &'a str,
    pub(crate) home: ServerHome,
    pub(crate) command: &'a Path,
    pub(crate) arguments: &'a [String],
    pub(crate) environment: &'a [(String, String)],
    /// Variables whose values are not secret.
    pub(crate) settings: &'a [(String, String)],
    /// Files and folders of its interpreter.
    pub(crate) runtime: &'a [PathBuf],
    /// Folders in which it finds programs, before those of the system.
    pub(crate) search_path: &'a [PathBuf],
    pub(crate) readable: &'a [PathBuf],
    pub(crate) writable: &'a [PathBuf],
    pub(crate) egress: &'a [HostPattern],
    /// The Unix socket of the Docker daemon, if the program may reach it.
    pub(crate) daemon: Option<&'a Path>,
}
