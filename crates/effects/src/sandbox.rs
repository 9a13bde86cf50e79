//! The sandbox: the one implementation of [`ToolRunner`](crate::ToolRunner).
//!
//! Holds the kernel's capabilities and the state that calls share. Files below and `http` run one script or one
//! exchange.

mod builtin;
mod capabilities;
mod capability;
mod child;
mod extract;
mod files;
mod filter;
mod group;
mod interpreter;
mod keeper;
mod launch;
mod metadata;
mod network;
mod options;
mod package_store;
mod protocol;
mod reap;
mod receive;
mod script;
mod server;
mod server_program;
mod starter;
mod supervise;
mod watch;

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use seccompiler::BpfProgram;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::call::{ToolCall, ToolImplementation, ToolRunner};
use crate::egress::proxy::SharedProxy;
use crate::http::HttpRunner;
use crate::outcome::{Failure, Success, ToolOutcome};
use crate::redact::Redactor;
use crate::rubbish::{self, TrashFolder};
use child::{MountPlan, Namespaces};
use files::Reach;
use filter::MetadataEnforcement;
use interpreter::{Interpreter, InterpreterError};
use package_store::PackageStore;
use starter::Starter;
use watch::ProcessWatch;

pub use capability::{Capability, CapabilityState};
pub use keeper::keep;
pub use options::{LandlockUse, NamespaceUse, NotificationUse, SandboxError, SandboxOptions};
pub(crate) use server::Alive;
pub use server_program::ServerHome;
pub(crate) use server_program::ServerProgram;

/// Private folders older than this belong to a dead process.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 3600);

/// Runs scripts confined, HTTP calls behind the egress wall, and built-in tools within their grants.
#[derive(Debug)]
pub struct Sandbox {
    options: SandboxOptions,
    packages: Arc<PackageStore>,
    /// The folder of the private folders of running calls.
    calls: PathBuf,
    /// Removes private folders when their calls end.
    rubbish: Arc<TrashFolder>,
    support: Support,
    /// The proxy for scripts that have no network namespace of their own.
    proxy: Option<SharedProxy>,
    starter: Starter,
    watch: ProcessWatch,
    python: OnceCell<Result<Interpreter, InterpreterError>>,
    bash: OnceLock<Result<Interpreter, InterpreterError>>,
    filter: OnceLock<Result<Interpreter, InterpreterError>>,
    renderer: OnceLock<Result<Interpreter, InterpreterError>>,
    http: HttpRunner,
}

/// Facilities of the running kernel that this process can use.
#[derive(Debug)]
struct Support {
    landlock_abi: u32,
    filters: Option<Filters>,
    namespaces: io::Result<()>,
    /// Whether scripts also get a mount namespace.
    mounts: io::Result<()>,
    /// Without a mount namespace: the filter whose calls the kernel passes on to the server.
    notification_filter: io::Result<BpfProgram>,
    metadata: MetadataEnforcement,
}

/// Compiled system call filters.
struct Filters {
    no_sockets: Vec<BpfProgram>,
    tcp_sockets: Vec<BpfProgram>,
}

impl std::fmt::Debug for Filters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Filters")
    }
}

impl Sandbox {
    /// Prepares the folder, detects the kernel's facilities, and starts the egress proxy if scripts have to share the
    /// network namespace.
    ///
    /// # Errors
    /// An unusable folder, a required facility that is missing, no port on
    /// loopback, or no TLS certificates.
    pub async fn new(mut options: SandboxOptions) -> Result<Self, SandboxError> {
        let given = options.directory.clone();
        let in_directory = |source| SandboxError::Directory {
            directory: given.clone(),
            source,
        };
        rubbish::create_private(&given).map_err(in_directory)?;
        // Absolute, because scripts start in their package's folder; without links, because they may be absent from the
        // file system that a script sees.
        options.directory = given.canonicalize().map_err(in_directory)?;
        options.hidden.push(options.directory.clone());
        let support = Support::detect(&options)?;
        let (calls, rubbish) = prepare(&options.directory).map_err(in_directory)?;
        let packages = PackageStore::open(options.directory.join("packages"), Arc::clone(&rubbish))
            .map_err(in_directory)?;
        let proxy = match support.namespaces {
            Ok(()) => None,
            Err(_) => Some(SharedProxy::start().await.map_err(SandboxError::Proxy)?),
        };
        Ok(Self {
            packages: Arc::new(packages),
            calls,
            rubbish,
            support,
            proxy,
            starter: Starter::new(options.keeper.clone()).map_err(SandboxError::Starter)?,
            watch: ProcessWatch::default(),
            python: OnceCell::new(),
            bash: OnceLock::new(),
            filter: OnceLock::new(),
            renderer: OnceLock::new(),
            http: HttpRunner::new()
                .map_err(SandboxError::Tls)?
                .telling(options.trace)
                .keeping_in(&options.directory),
            options,
        })
    }

    /// Returns a redactor of these values for outputs; values of plain variables stay.
    pub(crate) fn output_redactor(&self, secrets: &[(String, String)]) -> Redactor {
        Redactor::for_output(secrets, &self.options.plain)
    }

    /// Returns a result without the values that the call was granted.
    async fn redacted(&self, call: &ToolCall, success: Success) -> Result<Success, Failure> {
        let redactor = self.output_redactor(&call.environment);
        let output = redactor.apply_to_output(success.output).await?;
        Ok(Success { output, ..success })
    }

    /// Returns the client for exchanges over HTTP.
    pub(crate) fn http(&self) -> &HttpRunner {
        &self.http
    }

    async fn python(&self) -> &Result<Interpreter, InterpreterError> {
        self.python
            .get_or_init(|| interpreter::python(&self.options.python))
            .await
    }

    fn filter(&self) -> &Result<Interpreter, InterpreterError> {
        let executable = self.options.filter.as_ref().map(|(path, _)| path.as_path());
        self.filter.get_or_init(|| interpreter::filter(executable))
    }

    fn renderer(&self) -> &Result<Interpreter, InterpreterError> {
        let given = self.options.renderer.as_ref();
        let executable = given.map(|(path, _)| path.as_path());
        self.renderer
            .get_or_init(|| interpreter::filter(executable))
    }

    fn bash(&self) -> &Result<Interpreter, InterpreterError> {
        self.bash
            .get_or_init(|| interpreter::program(&self.options.bash))
    }
}

#[async_trait]
impl ToolRunner for Sandbox {
    async fn run(&self, call: ToolCall, cancel: CancellationToken) -> ToolOutcome {
        let started = Instant::now();
        if cancel.is_cancelled() {
            return ToolOutcome::since(started, Err(Failure::cancelled()));
        }
        // The texts of a call that people read name no path of this machine (B003-3).
        let redactor =
            Redactor::new(&call.environment).hiding(&self.options.directory, "[sandbox]/");
        let result = match &call.implementation {
            ToolImplementation::Script(script) => {
                self.run_script(&call, script, &redactor, &cancel).await
            }
            ToolImplementation::Http(tool) => self.http.run(&call, tool, &redactor, &cancel).await,
            ToolImplementation::Builtin(tool) => {
                self.run_builtin(&call, tool, &redactor, &cancel).await
            }
            ToolImplementation::Mcp(tool) => {
                let message = format!("no MCP server `{}` is configured", tool.server);
                Err(Failure::system(message))
            }
            ToolImplementation::Handler => {
                let message = format!("the tool `{}` is executed by executors", call.tool_id);
                Err(Failure::system(message))
            }
        };
        let result = match result {
            Ok(success) => self.redacted(&call, success).await,
            Err(failure) => Err(Failure {
                message: redactor.apply(&failure.message),
                ..failure
            }),
        };
        ToolOutcome::since(started, result)
    }
}

impl Support {
    fn detect(options: &SandboxOptions) -> Result<Self, SandboxError> {
        let landlock_abi = child::landlock_abi();
        if landlock_abi == 0 && options.landlock == LandlockUse::Required {
            return Err(SandboxError::LandlockUnavailable);
        }
        let namespaces = match options.namespaces {
            NamespaceUse::Never => Err(io::Error::other("switched off")),
            NamespaceUse::WhenAvailable => child::probe(Namespaces::new(None, None)),
            NamespaceUse::Required => match child::probe(Namespaces::new(None, None)) {
                Ok(()) => Ok(()),
                Err(error) => return Err(SandboxError::NamespacesUnavailable(error)),
            },
        };
        let mounts = match &namespaces {
            Ok(()) => probe_mounts(options),
            Err(error) => Err(io::Error::other(format!("no namespaces: {error}"))),
        };
        let notification_filter = match (&mounts, options.notifications) {
            (Ok(()), _) => Err(io::Error::other("replaced by a mount namespace")),
            (Err(_), NotificationUse::Never) => Err(io::Error::other("switched off")),
            (Err(_), NotificationUse::WhenAvailable) => notification_filter(),
        };
        let metadata = match (&mounts, &notification_filter) {
            (Ok(()), _) => MetadataEnforcement::Mounts,
            (Err(_), Ok(_)) => MetadataEnforcement::Server,
            (Err(_), Err(_)) => MetadataEnforcement::Refusal,
        };
        let filters = match launch::filters(metadata) {
            Some(Ok(filters)) => Some(filters),
            Some(Err(error)) => {
                tracing::error!(%error, "the system call filters do not compile");
                None
            }
            None => None,
        };
        Ok(Self {
            landlock_abi,
            filters,
            namespaces,
            mounts,
            notification_filter,
            metadata,
        })
    }
}

/// Compiles the filter whose calls the kernel passes on to the server, if the kernel supports that.
fn notification_filter() -> io::Result<BpfProgram> {
    match filter::notification_filter() {
        Some(Ok(program)) => {
            child::probe_notifications(program.clone())?;
            Ok(program)
        }
        Some(Err(error)) => Err(io::Error::other(error)),
        None => Err(io::Error::other(
            "no system call filters for this architecture",
        )),
    }
}

/// Tries the mounts of a call that writes to the sandbox's folder.
fn probe_mounts(options: &SandboxOptions) -> io::Result<()> {
    let reach = Reach {
        interpreter: &[],
        readable: &[],
        writable: &[&options.directory],
        connect: None,
    };
    let plan = MountPlan::new(&reach, &options.hidden, &options.directory)?;
    child::probe(Namespaces::new(None, Some(plan)))
}

/// Creates the folder of running calls and the bin, and discards the private folders of dead processes.
fn prepare(directory: &Path) -> io::Result<(PathBuf, Arc<TrashFolder>)> {
    let calls = directory.join("calls");
    rubbish::create_private(&calls)?;
    let rubbish = TrashFolder::new(directory.join("rubbish"))?;
    let now = SystemTime::now();
    for entry in fs::read_dir(&calls)? {
        let old = entry.and_then(|entry| Ok((unchanged_since(&entry)?, entry.path())));
        match old {
            Ok((since, folder)) => {
                if now.duration_since(since).unwrap_or_default() > ABANDONED_AFTER {
                    rubbish.discard(&folder);
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the folder of an earlier call cannot be read");
            }
        }
    }
    Ok((calls, Arc::new(rubbish)))
}

/// Returns the earlier of a folder's modification and change times: a script can set the first, even to a future time,
/// but not the second.
fn unchanged_since(folder: &fs::DirEntry) -> io::Result<SystemTime> {
    let metadata = folder.metadata()?;
    let changed = Duration::from_secs(u64::try_from(metadata.ctime()).unwrap_or(0));
    Ok(metadata.modified()?.min(SystemTime::UNIX_EPOCH + changed))
}
