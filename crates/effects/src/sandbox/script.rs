//! Runs one script: materialise, confine, start, supervise, read.
//!
//! Must not know HTTP tools. Each step fails into a `Failure`.

use charter_contract::agentic::error::ErrorType;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Instant;

use rustix::process::{Resource, Rlimit};
use tempfile::TempDir;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::Sandbox;
use super::child;
use super::child::{Confinement, Namespaces};
use super::files::{self, Reach};
use super::filter::{self, Sockets};
use super::interpreter::Interpreter;
use super::network::Network;
use super::protocol::{self, Remains};
use super::supervise::{Allowance, Ending, supervise};
use crate::call::{Language, Limits, ScriptTool, ToolCall};
use crate::outcome::{Failure, Success};
use crate::redact::Redactor;

/// Where commands are looked up by scripts.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// A locale with UTF-8 that needs no locale data.
const LOCALE: &str = "C.UTF-8";
/// Seconds between the signal that says CPU time is over and the kill.
const CPU_GRACE_SECONDS: u64 = 1;
/// Threads that the processes of a call may have beyond one each, where the
/// kernel can count them per call.
const SPARE_THREADS: u64 = 256;
/// Variables that HTTP libraries read the proxy from.
const PROXY_VARIABLES: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];
/// Variables, or their beginnings, that decide how the sandbox itself works.
const RESERVED: &[&str] = &[
    "ALL_PROXY",
    "BASHOPTS",
    "BASH_ENV",
    "BASH_FUNC_",
    "ENV",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IFS",
    "LANG",
    "LD_",
    "NO_PROXY",
    "PATH",
    "PYTHON",
    "SHELLOPTS",
    "TMPDIR",
];

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
        let arguments = self
            .options
            .filter
            .as_ref()
            .map(|(_, arguments)| arguments.as_slice());
        let redactor = &redactor
            .clone()
            .hiding(&package, "")
            .hiding(folder.path(), "[private folder]/");
        let run = Run {
            call,
            filter_arguments: arguments.unwrap_or_default(),
            script,
            interpreter,
            package,
            folder: folder.path(),
        };
        let (ending, remains) = self
            .start_and_supervise(&run, &input, redactor, cancel)
            .await?;
        remove(folder).await;
        conclude(ending, &remains, &call.limits, redactor)
    }

    async fn start_and_supervise(
        &self,
        run: &Run<'_>,
        input: &[u8],
        redactor: &Redactor,
        cancel: &CancellationToken,
    ) -> Result<(Ending, Remains), Failure> {
        let (network, listener_to) = self.network(&run.call.egress)?;
        let mut command = run.command(&network);
        let confinement = self.confinement(run, &network, listener_to)?;
        child::confine(&mut command, confinement);
        let started = Instant::now();
        let child = command.spawn().map_err(|error| {
            let interpreter = run.interpreter.executable.display();
            Failure::system(format!("starting {interpreter} in the sandbox: {error}"))
        })?;
        // Closes the child's ends of pipes and sockets in this process.
        drop(command);
        let _serving = network.serve()?;
        tracing::debug!(elapsed = ?started.elapsed(), "script started");
        let allowance = Allowance {
            input,
            limits: &run.call.limits,
            log_bytes: run.call.limits.log_bytes + redactor.longest(),
            watch: &self.watch,
            cancel,
        };
        supervise(child, &allowance)
            .await
            .map_err(|error| Failure::system(format!("supervising the script: {error}")))
    }

    fn confinement(
        &self,
        run: &Run<'_>,
        network: &Network,
        listener_to: Option<OwnedFd>,
    ) -> Result<Confinement, Failure> {
        let landlock = match self.support.landlock_abi {
            0 => None,
            _ => Some(files::ruleset(&run.reach(network)).map_err(|error| {
                Failure::system(format!("preparing the script's Landlock rules: {error}"))
            })?),
        };
        let filters = match (network, &self.support.filters) {
            (_, None) => Vec::new(),
            (Network::None, Some(filters)) => filters.no_sockets.clone(),
            (Network::Shared { .. } | Network::Own { .. }, Some(filters)) => {
                filters.tcp_sockets.clone()
            }
        };
        let namespaces = self
            .support
            .namespaces
            .is_ok()
            .then(|| Namespaces::new(listener_to));
        let limits = resource_limits(&run.call.limits, namespaces.as_ref());
        Ok(Confinement {
            limits,
            namespaces,
            landlock,
            filters,
        })
    }

    async fn interpreter(&self, language: Language) -> Result<&Interpreter, Failure> {
        let found = match language {
            Language::Python => self.python().await,
            Language::Bash => self.bash(),
            Language::Filter => self.filter(),
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

    fn private_folder(&self) -> Result<TempDir, Failure> {
        tempfile::Builder::new()
            .prefix("call-")
            .tempdir_in(&self.calls)
            .map_err(|error| {
                Failure::system(format!("creating the call's private folder: {error}"))
            })
    }
}

/// Everything about one script that is known before it starts.
struct Run<'a> {
    call: &'a ToolCall,
    filter_arguments: &'a [String],
    script: &'a ScriptTool,
    interpreter: &'a Interpreter,
    package: PathBuf,
    folder: &'a Path,
}

impl Run<'_> {
    fn command(&self, network: &Network) -> Command {
        let mut command = Command::new(&self.interpreter.executable);
        match self.script.language {
            // No user site, no bytecode, and standard streams in UTF-8.
            Language::Python => command.args(["-s", "-B", "-X", "utf8"]),
            Language::Bash => command.args(["--noprofile", "--norc"]),
            Language::Filter => command.args(self.filter_arguments),
        };
        command
            .arg(&self.script.entry)
            .current_dir(&self.package)
            .env_clear()
            .envs(
                self.call
                    .environment
                    .iter()
                    .map(|(name, value)| (name, value)),
            )
            .env("PATH", SEARCH_PATH)
            .env("LANG", LOCALE)
            .env("HOME", self.folder)
            .env("TMPDIR", self.folder)
            .env("PYTHONPATH", self.python_path())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(url) = network.proxy_url() {
            command.env("NO_PROXY", "").env("no_proxy", "");
            for variable in PROXY_VARIABLES {
                command.env(variable, &url);
            }
        }
        command
    }

    fn python_path(&self) -> OsString {
        self.package.join("scripts").into_os_string()
    }

    fn reach(&self, network: &Network) -> Reach<'_> {
        let mut readable: Vec<&Path> = self.call.readable.iter().map(PathBuf::as_path).collect();
        readable.push(&self.package);
        Reach {
            interpreter: &self.interpreter.folders,
            readable,
            writable: self.folder,
            connect: network.port(),
        }
    }
}

fn check(call: &ToolCall, script: &ScriptTool) -> Result<(), Failure> {
    if script.files.get(&script.entry).is_none() {
        let message = format!(
            "the tool's entry {:?} is not a file of its package",
            script.entry
        );
        return Err(Failure::system(message));
    }
    for (name, value) in &call.environment {
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

fn resource_limits(limits: &Limits, namespaces: Option<&Namespaces>) -> Vec<(Resource, Rlimit)> {
    let hard = |value| Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    let cpu = Rlimit {
        current: Some(limits.cpu_seconds),
        maximum: Some(limits.cpu_seconds + CPU_GRACE_SECONDS),
    };
    let mut list = vec![
        (Resource::Cpu, cpu),
        (Resource::As, hard(limits.memory_bytes)),
        (Resource::Fsize, hard(limits.file_bytes)),
        (Resource::Nofile, hard(limits.open_files)),
        (Resource::Core, hard(0)),
    ];
    if namespaces.is_some() {
        // Without a user namespace the kernel would count every process of the user.
        list.push((
            Resource::Nproc,
            hard(u64::from(limits.processes) + SPARE_THREADS),
        ));
    }
    list
}

fn conclude(
    ending: Ending,
    remains: &Remains,
    limits: &Limits,
    redactor: &Redactor,
) -> Result<Success, Failure> {
    let failure = match ending {
        Ending::Exited => {
            let (output, log) = protocol::read(remains, limits, redactor)?;
            return Ok(Success { output, log });
        }
        Ending::TimedOut => {
            let message = format!(
                "the script did not end within {} ms",
                limits.timeout.as_millis()
            );
            Failure::new(ErrorType::TimeoutError, message).retryable()
        }
        Ending::Cancelled => cancelled(),
        Ending::OutputTooLarge => {
            let message = format!("the script printed more than {} bytes", limits.output_bytes);
            Failure::new(ErrorType::ResourceError, message)
        }
        Ending::TooManyProcesses => {
            let message = format!(
                "the script started more than {} processes",
                limits.processes
            );
            Failure::new(ErrorType::ResourceError, message)
        }
    };
    let log = redactor.apply_tail(&remains.stderr, remains.stderr_cut, limits.log_bytes);
    Err(failure.with_log(log))
}

pub(super) fn cancelled() -> Failure {
    Failure::new(ErrorType::ExecutionError, "the call was cancelled").retryable()
}

async fn remove(folder: TempDir) {
    let path = folder.path().to_path_buf();
    let removed = tokio::task::spawn_blocking(move || folder.close()).await;
    if let Err(error) = removed.unwrap_or_else(|error| Err(io::Error::other(error))) {
        tracing::warn!(%error, folder = %path.display(), "a call's private folder was not removed");
    }
}

/// Compiles the filters of both kinds of call.
pub(super) fn filters() -> Option<Result<super::Filters, seccompiler::Error>> {
    let no_sockets = filter::compile(Sockets::None)?;
    let tcp_sockets = filter::compile(Sockets::Tcp)?;
    Some(no_sockets.and_then(|no_sockets| {
        tcp_sockets.map(|tcp_sockets| super::Filters {
            no_sockets,
            tcp_sockets,
        })
    }))
}
