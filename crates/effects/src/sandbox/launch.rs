//! Launches one confined process: command line, variables, rules, start, supervision.
//!
//! Must not know scripts, commands or the meaning of their output.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use charter_contract::agentic::error::ErrorType;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Resource, Rlimit};
use tokio::process::Command;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::child::{self, Confinement, MountPlan, Namespaces, NotificationFilter};
use super::files::{self, Reach};
use super::filter::{self, MetadataEnforcement, Sockets};
use super::group::Group;
use super::network::{Network, PreparedNetwork, Serving};
use super::protocol::ProcessOutcome;
use super::supervise::{Allowance, Ending, supervise};
use super::{Sandbox, metadata, receive};
use crate::HostPattern;
use crate::call::Limits;
use crate::egress::LastRefusal;
use crate::outcome::Failure;
use crate::redact::Redactor;
use crate::rubbish::TemporaryFolder;

/// The `PATH` of scripts.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// A locale with UTF-8 that needs no locale data.
const LOCALE: &str = "C.UTF-8";
/// Seconds between the signal for exhausted CPU time and the kill.
const CPU_GRACE_SECONDS: u64 = 1;
/// Threads that the processes of a call may have beyond one each, if the kernel can count them per call.
const SPARE_THREADS: u64 = 256;
/// Variables from which HTTP libraries read the proxy.
const PROXY_VARIABLES: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];
/// Without this variable Node.js does not read the others.
const NODE_USES_PROXY: &str = "NODE_USE_ENV_PROXY";
/// The variable from which clients of Docker read the address of its daemon.
const DOCKER_HOST: &str = "DOCKER_HOST";
/// Variables, or their prefixes, that determine how the sandbox itself works.
pub(super) const RESERVED: &[&str] = &[
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

/// Variables that keep programs from requests that the sandbox refuses: git fails if it cannot read the
/// configuration of the system, and tar, as root, if it cannot restore owners.
const SETTINGS: [(&str, &str); 3] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("TAR_OPTIONS", "--no-same-owner"),
];

/// A process before it starts.
pub(super) struct Launch<'a> {
    pub(super) executable: &'a Path,
    pub(super) arguments: Vec<OsString>,
    /// Its variables beside those of the sandbox.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub(super) directory: &'a Path,
    /// Its private folder, for `HOME` and temporary files.
    pub(super) folder: &'a Path,
    /// Programs that it may execute beside the system's.
    pub(super) programs: &'a [std::path::PathBuf],
    /// Folders in which it finds programs, before those of the system.
    pub(super) search_path: &'a [std::path::PathBuf],
    pub(super) readable: Vec<&'a Path>,
    pub(super) writable: Vec<&'a Path>,
    pub(super) egress: &'a [HostPattern],
    /// The Unix socket of a daemon that it may reach, as the host of Docker.
    pub(super) daemon: Option<&'a Path>,
    pub(super) limits: &'a Limits,
}

/// A running process. Dropping it kills its group, and ends its network and the handling of its notifications.
pub(super) struct Started {
    pub(super) group: Group,
    pub(super) last_refusal: LastRefusal,
    _network: Serving,
    _metadata: Option<DropGuard>,
}

impl Sandbox {
    pub(super) async fn start_and_supervise(
        &self,
        launch: &Launch<'_>,
        input: &[u8],
        redactor: &Redactor,
        cancel: &CancellationToken,
    ) -> Result<(Ending, ProcessOutcome), Failure> {
        let Started {
            group,
            last_refusal,
            _network,
            _metadata,
        } = self.start(launch).await?;
        let allowance = Allowance {
            input,
            limits: launch.limits,
            directory: &self.options.directory,
            log_bytes: launch.limits.log_bytes + redactor.longest(),
            watch: &self.watch,
            cancel,
        };
        let (ending, mut outcome) = supervise(group, &allowance)
            .await
            .map_err(|error| Failure::system(format!("supervising the process: {error}")))?;
        outcome.last_refusal = last_refusal.get();
        Ok((ending, outcome))
    }

    /// Starts a confined process with piped streams, and its network.
    pub(super) async fn start(&self, launch: &Launch<'_>) -> Result<Started, Failure> {
        let PreparedNetwork {
            network,
            listener_to,
            last_refusal,
        } = self.network(launch.egress, launch.daemon)?;
        let (listener_from, notifications) = self.notifications()?.unzip();
        let mut command = launch.command(&network);
        let mut confinement = self.confinement(launch, &network, listener_to)?;
        confinement.notifications = notifications;
        child::confine(&mut command, confinement);
        let started = Instant::now();
        let group = self.starter.start(command).await.map_err(|error| {
            let executable = launch.executable.display();
            Failure::system(format!("starting {executable} in the sandbox: {error}"))
        })?;
        let _network = network.serve()?;
        let _metadata = match listener_from {
            Some(channel) => Some(launch.handle_notifications(&channel).map_err(|error| {
                Failure::system(format!(
                    "handling the notifications of the process: {error}"
                ))
            })?),
            None => None,
        };
        tracing::debug!(elapsed = ?started.elapsed(), "process started");
        Ok(Started {
            group,
            last_refusal,
            _network,
            _metadata,
        })
    }

    /// Returns the filter whose calls the server handles, if needed, and the channel for its listener.
    fn notifications(&self) -> Result<Option<(OwnedFd, NotificationFilter)>, Failure> {
        let Ok(program) = &self.support.notification_filter else {
            return Ok(None);
        };
        let kind = SocketType::STREAM;
        let pair = rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
        let (receive_from, send_to) = pair.map_err(|error| {
            Failure::system(format!(
                "preparing the notifications of the process: {error}"
            ))
        })?;
        let filter = NotificationFilter::new(program.clone(), send_to);
        Ok(Some((receive_from, filter)))
    }

    fn confinement(
        &self,
        launch: &Launch<'_>,
        network: &Network,
        listener_to: Option<OwnedFd>,
    ) -> Result<Confinement, Failure> {
        let reach = launch.reach(network);
        let landlock = match self.support.landlock_abi {
            0 => None,
            _ => Some(files::ruleset(&reach).map_err(|error| {
                Failure::system(format!("preparing the process's Landlock rules: {error}"))
            })?),
        };
        let filters = match (network, &self.support.filters) {
            (_, None) => Vec::new(),
            (Network::None, Some(filters)) => filters.no_sockets.clone(),
            (Network::Shared { .. } | Network::Own { .. }, Some(filters)) => {
                filters.tcp_sockets.clone()
            }
        };
        let mounts = match self.support.mounts {
            Ok(()) => {
                let plan = MountPlan::new(&reach, &self.options.hidden, launch.directory);
                Some(plan.map_err(|error| {
                    Failure::system(format!(
                        "preparing the process's view of the files: {error}"
                    ))
                })?)
            }
            Err(_) => None,
        };
        let namespaces = self
            .support
            .namespaces
            .is_ok()
            .then(|| Namespaces::new(listener_to, mounts));
        let limits = resource_limits(launch.limits, namespaces.as_ref());
        Ok(Confinement {
            limits,
            namespaces,
            landlock,
            filters,
            notifications: None,
        })
    }

    /// Creates a folder for one call alone, deleted when dropped.
    pub(super) fn private_folder(&self) -> Result<TemporaryFolder<'_>, Failure> {
        let created = self.rubbish.folder_in(&self.calls, "call-");
        created.map_err(|error| {
            Failure::system(format!("creating the call's private folder: {error}"))
        })
    }
}

impl Launch<'_> {
    fn command(&self, network: &Network) -> Command {
        let mut command = Command::new(self.executable);
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command
            .args(&self.arguments)
            .current_dir(self.directory)
            .env_clear()
            .envs(SETTINGS)
            .envs(variables)
            .env("PATH", self.search_path())
            .env("LANG", LOCALE)
            .env("HOME", self.folder)
            .env("TMPDIR", self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(url) = network.proxy_url() {
            command.env("NO_PROXY", "").env("no_proxy", "");
            command.env(NODE_USES_PROXY, "1");
            for variable in PROXY_VARIABLES {
                command.env(variable, &url);
            }
        }
        if let (Some(_), Some(port)) = (self.daemon, network.port()) {
            command.env(DOCKER_HOST, format!("tcp://127.0.0.1:{port}"));
        }
        command
    }

    /// Returns the `PATH` of the process. A folder whose name has the separator cannot be part of it.
    fn search_path(&self) -> OsString {
        let own = self.search_path.iter().map(|folder| folder.as_os_str());
        let own = own.filter(|folder| !folder.as_encoded_bytes().contains(&b':'));
        let mut path = OsString::new();
        for folder in own {
            path.push(folder);
            path.push(":");
        }
        path.push(SEARCH_PATH);
        path
    }

    /// Starts the thread that changes modes and times for the process.
    fn handle_notifications(&self, channel: &OwnedFd) -> io::Result<DropGuard> {
        let writable = self.writable.iter();
        let folders = writable.filter_map(|folder| folder.canonicalize().ok());
        metadata::handle_notifications(receive::descriptor(channel)?, folders.collect())
    }

    fn reach(&self, network: &Network) -> Reach<'_> {
        Reach {
            interpreter: self.programs,
            readable: &self.readable,
            writable: &self.writable,
            connect: network.port(),
        }
    }
}

fn resource_limits(limits: &Limits, namespaces: Option<&Namespaces>) -> Vec<(Resource, Rlimit)> {
    let hard = |value| Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    let cpu = Rlimit {
        current: Some(limits.cpu_seconds),
        maximum: Some(limits.cpu_seconds.saturating_add(CPU_GRACE_SECONDS)),
    };
    let mut list = vec![
        (Resource::Cpu, cpu),
        (Resource::As, hard(limits.memory_bytes)),
        (Resource::Fsize, hard(limits.file_bytes)),
        (Resource::Nofile, hard(limits.open_files)),
        (Resource::Core, hard(0)),
    ];
    // A limit without a bound keeps the value of this process, which may not be permitted to raise it.
    list.retain(|(_, limit)| limit.current != Some(Limits::UNBOUNDED));
    if namespaces.is_some() {
        // Without a user namespace the kernel would count every process of the user.
        list.push((
            Resource::Nproc,
            hard(u64::from(limits.processes) + SPARE_THREADS),
        ));
    }
    list
}

/// Returns the failure of a process that did not end by itself.
pub(super) fn cut_short(ending: Ending, limits: &Limits, noun: &str) -> Option<Failure> {
    Some(match ending {
        Ending::Exited => return None,
        Ending::TimedOut => {
            let message = format!(
                "the {noun} did not end within {} ms",
                limits.timeout.as_millis()
            );
            Failure::new(ErrorType::TimeoutError, message).retryable()
        }
        Ending::Cancelled => Failure::cancelled(),
        Ending::OutputTooLarge => {
            let message = format!("the {noun} printed more than {} bytes", limits.output_bytes);
            Failure::new(ErrorType::ResourceError, message).answered()
        }
        Ending::TooManyProcesses => {
            let message = format!(
                "the {noun} started more than {} processes",
                limits.processes
            );
            Failure::new(ErrorType::ResourceError, message)
        }
    })
}

/// Compiles the filters of both kinds of call.
pub(super) fn filters(
    metadata: MetadataEnforcement,
) -> Option<Result<super::Filters, seccompiler::Error>> {
    let no_sockets = filter::compile(Sockets::None, metadata)?;
    let tcp_sockets = filter::compile(Sockets::Tcp, metadata)?;
    Some(no_sockets.and_then(|no_sockets| {
        tcp_sockets.map(|tcp_sockets| super::Filters {
            no_sockets,
            tcp_sockets,
        })
    }))
}
