//! Runs one script: materialises it, launches it, reads its output.
//!
//! Must not know HTTP tools, or how a process is confined. Each failed step returns a `Failure`.

use charter_contract::agentic::error::ErrorType;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Sandbox;
use super::interpreter::Interpreter;
use super::launch::{Launch, RESERVED, cut_short};
use super::protocol::{self, ProcessOutcome};
use super::supervise::Ending;
use crate::call::{Language, ScriptTool, ToolCall};
use crate::outcome::{Failure, Success};
use crate::redact::Redactor;

impl Sandbox {
    pub(super) async fn run_script(
        &self,
        call: &ToolCall,
        script: &ScriptTool,
        redactor: &Redactor,
        cancel: &CancellationToken,
    ) -> Result<Success, Failure> {
        check(call, script)?;
        let input = protocol::request(call)?;
        let interpreter = self.interpreter(script.language).await?;
        let package = self.materialise(script).await?;
        let folder = self.private_folder()?;
        let redactor = &redactor
            .clone()
            .hiding(&package, "")
            .hiding(folder.path(), "[private folder]/");
        let mut readable: Vec<&Path> = call.readable.iter().map(PathBuf::as_path).collect();
        readable.push(&package);
        let launch = Launch {
            executable: &interpreter.executable,
            arguments: self.arguments(script),
            variables: variables(call, &package),
            directory: &package,
            folder: folder.path(),
            programs: &interpreter.folders,
            search_path: &[],
            readable,
            writable: vec![folder.path()],
            egress: &call.egress,
            daemon: None,
            limits: &call.limits,
        };
        let (ending, remains) = self
            .start_and_supervise(&launch, &input, redactor, cancel)
            .await?;
        // Reading the output may wait for memory.
        drop(input);
        conclude(ending, remains, call, redactor).await
    }

    /// Returns the arguments of the interpreter.
    fn arguments(&self, script: &ScriptTool) -> Vec<OsString> {
        // Disables the user site and bytecode, and sets the standard streams to UTF-8.
        let python = ["-s", "-B", "-X", "utf8"].map(OsString::from);
        let bash = ["--noprofile", "--norc"].map(OsString::from);
        let own = |program: Option<&(PathBuf, Vec<String>)>| -> Vec<OsString> {
            let given = program.into_iter().flat_map(|(_, given)| given);
            given.map(OsString::from).collect()
        };
        let mut arguments = match script.language {
            Language::Python => python.to_vec(),
            Language::Bash => bash.to_vec(),
            Language::Filter => own(self.options.filter.as_ref()),
            Language::Template => own(self.options.renderer.as_ref()),
        };
        arguments.push(OsString::from(&script.entry));
        arguments
    }

    async fn interpreter(&self, language: Language) -> Result<&Interpreter, Failure> {
        let found = match language {
            Language::Python => self.python().await,
            Language::Bash => self.bash(),
            Language::Filter => self.filter(),
            Language::Template => self.renderer(),
        };
        found
            .as_ref()
            .map_err(|error| Failure::system(error.to_string()))
    }

    async fn materialise(&self, script: &ScriptTool) -> Result<PathBuf, Failure> {
        let (store, files) = (Arc::clone(&self.packages), Arc::clone(&script.files));
        let written = tokio::task::spawn_blocking(move || store.materialise(&files)).await;
        written
            .unwrap_or_else(|error| Err(io::Error::other(error)))
            .map_err(|error| Failure::system(format!("writing the package's files: {error}")))
    }
}

/// Returns the granted variables, and the search path for the package's Python modules.
fn variables(call: &ToolCall, package: &Path) -> Vec<(OsString, OsString)> {
    let granted = call.environment.iter();
    let mut variables: Vec<(OsString, OsString)> = granted
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    variables.push(("PYTHONPATH".into(), package.join("scripts").into()));
    variables.push(("PYTHONDONTWRITEBYTECODE".into(), "1".into()));
    variables
}

fn check(call: &ToolCall, script: &ScriptTool) -> Result<(), Failure> {
    if script.files.get(&script.entry).is_none() {
        let message = format!(
            "the tool's entry {:?} is not a file in its package",
            script.entry
        );
        return Err(Failure::system(message));
    }
    check_variables(&call.environment)
}

/// Refuses granted variables that determine how the sandbox itself works.
pub(super) fn check_variables(granted: &[(String, String)]) -> Result<(), Failure> {
    for (name, value) in granted {
        let well_formed = !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
        let upper = name.to_ascii_uppercase();
        let reserved = RESERVED.iter().any(|known| {
            let is_prefix = matches!(*known, "BASH_FUNC_" | "LD_" | "PYTHON");
            upper == *known || (is_prefix && upper.starts_with(known))
        });
        if !well_formed || reserved {
            let message =
                format!("the variable {name:?} belongs to the sandbox and cannot be granted");
            return Err(Failure::new(ErrorType::PermissionError, message));
        }
    }
    Ok(())
}

async fn conclude(
    ending: Ending,
    remains: ProcessOutcome,
    call: &ToolCall,
    redactor: &Redactor,
) -> Result<Success, Failure> {
    let limits = &call.limits;
    let last_refusal = remains.last_refusal.clone();
    let concluded = match cut_short(ending, limits, "script") {
        None => {
            let room = call.room.as_ref();
            let read = protocol::read(remains, limits, redactor, room).await;
            read.map(|(output, log)| Success { output, log })
        }
        Some(failure) => {
            let log = redactor.apply_tail(&remains.stderr, remains.stderr_cut, limits.log_bytes);
            Err(failure.with_log(log))
        }
    };
    concluded.map_err(|mut failure| {
        if let Some(refusal) = last_refusal {
            failure.message = format!("{}; egress refused: {refusal}", failure.message);
        }
        failure
    })
}
