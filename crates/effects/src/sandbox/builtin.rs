//! Runs one built-in tool: gives each family the parts of the sandbox that it needs.
//!
//! Must not know the parameters or answers of a tool.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use charter_contract::agentic::error::ErrorType;
use charter_contract::catalogue::builtin::Builtin;
use tokio_util::sync::CancellationToken;

use super::Sandbox;
use super::launch::{Launch, cut_short};
use super::protocol::ProcessOutcome;
use super::supervise::Ending;
use crate::builtin::budget::Budget;
use crate::builtin::command::{Command, CommandResult};
use crate::builtin::{environment, files, network, visualise, web_search};
use crate::builtin_grants::{BuiltinTool, RootAccess};
use crate::call::{DryRun, ToolCall};
use crate::kept::{SpoolReadError, set_aside};
use crate::outcome::{Failure, Success};
use crate::redact::Redactor;
use crate::room::OutputSize;

impl Sandbox {
    pub(super) async fn run_builtin(
        &self,
        call: &ToolCall,
        tool: &BuiltinTool,
        redactor: &Redactor,
        cancel: &CancellationToken,
    ) -> Result<Success, Failure> {
        match tool.name {
            Builtin::FsRead
            | Builtin::FsWrite
            | Builtin::FsCreate
            | Builtin::FsEdit
            | Builtin::FsMove
            | Builtin::FsCopy
            | Builtin::FsDelete
            | Builtin::FsList
            | Builtin::FsSearch
            | Builtin::FsStat
            | Builtin::FsMakeDirectory => run_files(call, tool, cancel).await,
            Builtin::EnvGet => environment::get(&call.parameters, &tool.grants),
            Builtin::NetGet | Builtin::NetRequest => {
                network::request(&self.http, call, tool, redactor, cancel).await
            }
            Builtin::WebSearch => web_search::search(call, &tool.grants, cancel).await,
            Builtin::CommandRun => self.run_command(call, tool, redactor, cancel).await,
            Builtin::Visualise => visualise::build(&call.parameters),
        }
    }

    async fn run_command(
        &self,
        call: &ToolCall,
        tool: &BuiltinTool,
        redactor: &Redactor,
        cancel: &CancellationToken,
    ) -> Result<Success, Failure> {
        let command = Command::parse(call, &tool.grants)?;
        if call.dry_run == DryRun::Yes {
            return command.preview();
        }
        let folder = self.private_folder()?;
        let mut redactor = redactor.clone().hiding(folder.path(), "[private folder]/");
        let root = command.root.as_ref();
        if let Some((name, path, _)) = root {
            redactor = redactor.hiding(path, &format!("{name}:"));
        }
        let mut writable = vec![folder.path()];
        if let Some((_, path, RootAccess::Write)) = root {
            writable.push(path);
        }
        let launch = Launch {
            executable: &command.program,
            arguments: command.arguments.iter().map(OsString::from).collect(),
            variables: Vec::new(),
            directory: root.map_or(folder.path(), |(_, path, _)| path),
            folder: folder.path(),
            programs: std::slice::from_ref(&command.program),
            search_path: &[],
            readable: root
                .map(|(_, path, _)| Path::new(path))
                .into_iter()
                .collect(),
            writable,
            egress: &[],
            daemon: None,
            limits: &call.limits,
        };
        let run = self.start_and_supervise(&launch, command.input.as_bytes(), &redactor, cancel);
        let (ending, remains) = run.await?;
        let ended = read_result(ending, remains, call, &redactor).await?;
        command.answer(ended)
    }
}

/// File access blocks, so it runs on a thread that may block. It stops when the caller is gone.
async fn run_files(
    call: &ToolCall,
    tool: &BuiltinTool,
    cancel: &CancellationToken,
) -> Result<Success, Failure> {
    // Cancels also when this future is dropped.
    let abandoned = cancel.child_token();
    let _guard = abandoned.clone().drop_guard();
    let budget = Budget::new(call.limits.timeout, abandoned);
    let (name, grants) = (tool.name, Arc::clone(&tool.grants));
    let (parameters, dry_run) = (call.parameters.clone(), call.dry_run);
    let work = move || files::run(name, &parameters, &grants, budget, dry_run);
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(Failure::system(format!(
            "a file tool was interrupted: {error}"
        )))
    })
}

/// Reads the outcome of a program. One that ended by itself has an answer, with any exit code.
async fn read_result(
    ending: Ending,
    remains: ProcessOutcome,
    call: &ToolCall,
    redactor: &Redactor,
) -> Result<CommandResult, Failure> {
    let limits = &call.limits;
    let stderr = redactor.apply_tail(&remains.stderr, remains.stderr_cut, limits.log_bytes);
    if let Some(failure) = cut_short(ending, limits, "program") {
        return Err(failure.with_log(stderr));
    }
    match remains.status.code() {
        Some(exit_code) => {
            let size = OutputSize {
                bytes: remains.stdout.len(),
                memory: remains.stdout.len(),
            };
            let lost = |unread: SpoolReadError| unread.into_failure(|fault, _| fault.to_string());
            set_aside(call.room.as_ref(), size).await.map_err(lost)?;
            let stdout = remains.stdout.into_bytes();
            Ok(CommandResult {
                exit_code,
                stdout: stdout.map_err(|error| lost(error.into()))?,
                stderr,
            })
        }
        None => {
            let message = format!("the program was killed: {}", remains.status);
            Err(Failure::new(ErrorType::ExecutionError, message).with_log(stderr))
        }
    }
}
