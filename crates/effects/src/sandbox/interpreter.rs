//! Finds an interpreter and the folders that it reads. Must not know scripts.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use charter_contract::json::{self, Profile};
use serde::Deserialize;

/// How long the interpreter may take to describe itself.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// Prints the location of Python: the executable, its prefixes, its search path.
const PYTHON_PROBE: &str = "import json, sys; print(json.dumps({
    'executable': sys.executable,
    'folders': [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sys.path]}))";

/// An interpreter that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interpreter {
    pub(super) executable: PathBuf,
    /// Folders from which its code is read and executed, except the system's.
    pub(super) folders: Vec<PathBuf>,
}

/// Why an interpreter cannot be run.
#[derive(Debug, thiserror::Error)]
pub(super) enum InterpreterError {
    #[error("interpreter {} cannot be started: {source}", path.display())]
    Start { path: PathBuf, source: io::Error },
    #[error("interpreter {} is not a working Python 3: {detail}", path.display())]
    Answer { path: PathBuf, detail: String },
}

#[derive(Deserialize)]
struct Description {
    executable: PathBuf,
    folders: Vec<PathBuf>,
}

/// Finds the program that runs filters.
pub(super) fn filter(path: Option<&Path>) -> Result<Interpreter, InterpreterError> {
    program(path.ok_or_else(|| InterpreterError::Start {
        path: PathBuf::from("filter"),
        source: io::Error::new(io::ErrorKind::NotFound, "no filter program is configured"),
    })?)
}

/// Finds a program that needs only itself and the libraries of the system, such as bash.
pub(super) fn program(path: &Path) -> Result<Interpreter, InterpreterError> {
    match path.canonicalize() {
        Ok(executable) => Ok(Interpreter {
            folders: vec![executable.clone()],
            executable,
        }),
        Err(source) => Err(InterpreterError::Start {
            path: path.to_path_buf(),
            source,
        }),
    }
}

/// Runs Python once, unconfined and without any script, to learn its folders.
/// A launcher (such as a version switcher) is replaced by the program that it launches. Ignores Python's variables
/// (`-E`): scripts do not get them, and must not read the folders that they name.
pub(super) async fn python(path: &Path) -> Result<Interpreter, InterpreterError> {
    let probe = tokio::process::Command::new(path)
        .args(["-E", "-s", "-B", "-c", PYTHON_PROBE])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let answered = match tokio::time::timeout(PROBE_TIMEOUT, probe).await {
        Ok(answered) => answered,
        Err(elapsed) => Err(io::Error::new(io::ErrorKind::TimedOut, elapsed)),
    };
    let output = answered.map_err(|source| InterpreterError::Start {
        path: path.to_path_buf(),
        source,
    })?;
    let description: Description =
        json::decode(&output.stdout, Profile::NOTICE).map_err(|error| {
            InterpreterError::Answer {
                path: path.to_path_buf(),
                detail: match String::from_utf8_lossy(&output.stderr).lines().last() {
                    Some(line) => line.to_owned(),
                    None => error.to_string(),
                },
            }
        })?;
    let mut folders: Vec<PathBuf> = description
        .folders
        .into_iter()
        .filter(|folder| folder.is_absolute() && folder.parent().is_some())
        .collect();
    folders.sort();
    folders.dedup();
    Ok(Interpreter {
        executable: description.executable,
        folders,
    })
}
