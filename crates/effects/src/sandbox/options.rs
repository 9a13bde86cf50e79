//! Options of a sandbox. Must not know how each setting is enforced.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use crate::telemetry::TraceContext;

/// Settings of a [`crate::Sandbox`]; the caller reads them from configuration.
#[derive(Debug, Clone)]
pub struct SandboxOptions {
    /// Folder for materialised packages and the private folders of running calls. A script sees only its own package
    /// and its own call.
    pub directory: PathBuf,
    /// The Python interpreter: a path, or a name that is looked up on `PATH`. A virtual environment here provides
    /// scripts with its libraries.
    pub python: PathBuf,
    /// The bash interpreter.
    pub bash: PathBuf,
    /// The program that runs filters, with its arguments before the filter's path; absent by default.
    pub filter: Option<(PathBuf, Vec<String>)>,
    /// The program that renders templates, with its arguments before the template's path; absent by default.
    pub renderer: Option<(PathBuf, Vec<String>)>,
    /// The program that extracts text from sources, with its arguments before the file's path; absent by default.
    pub extractor: Option<(PathBuf, Vec<String>)>,
    /// The program that runs [`crate::keep`], with its arguments. Without it, children of scripts survive this process
    /// when it is killed.
    pub keeper: Option<(PathBuf, Vec<String>)>,
    /// Files and folders that scripts cannot see if the kernel allows mount namespaces, except for grants in them.
    /// `directory` is hidden too.
    pub hidden: Vec<PathBuf>,
    /// Variables whose values are not secret, such as a region: they stay in the outputs of tools.
    pub plain: BTreeSet<String>,
    /// Trace context to send to the servers of HTTP tools.
    pub trace: TraceContext,
    /// Whether to run without Landlock.
    pub landlock: LandlockUse,
    /// Whether to use namespaces.
    pub namespaces: NamespaceUse,
    /// Whether this process makes changes of modes and times for scripts without a mount namespace.
    pub notifications: NotificationUse,
}

impl SandboxOptions {
    /// Uses `python3` and `/bin/bash`, requires Landlock, and uses namespaces and notifications when available.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            python: PathBuf::from("python3"),
            bash: PathBuf::from("/bin/bash"),
            filter: None,
            renderer: None,
            extractor: None,
            keeper: None,
            hidden: Vec::new(),
            plain: BTreeSet::new(),
            trace: TraceContext::default(),
            landlock: LandlockUse::Required,
            namespaces: NamespaceUse::WhenAvailable,
            notifications: NotificationUse::WhenAvailable,
        }
    }
}

/// Whether scripts may run on a kernel without Landlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LandlockUse {
    /// Landlock is required: the sandbox does not start without it.
    Required,
    /// Run without; [`crate::Sandbox::capabilities`] then lists the gaps.
    WhenAvailable,
}

/// Whether scripts get their own namespaces: user, network and IPC, and a mount namespace if the kernel allows one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespaceUse {
    /// Namespaces are required: the sandbox does not start without them.
    Required,
    /// Use them if the kernel permits this process to create them.
    WhenAvailable,
    /// Do not use them.
    Never,
}

/// Whether the kernel notifies this process of a script's changes of modes and times, so that this process can make
/// them. Containers that use such notifications themselves do not allow others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationUse {
    /// Use them if the kernel offers them.
    WhenAvailable,
    /// Do not use them: without a mount namespace all such changes fail.
    Never,
}

/// Why a sandbox cannot start.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This system is not Linux.
    #[error(
        "this system is not Linux: tools are confined by Landlock, seccomp and namespaces of the Linux kernel"
    )]
    NotLinux,
    /// The folder for packages and calls cannot be used.
    #[error("preparing the sandbox folder {}", directory.display())]
    Directory {
        /// The folder.
        directory: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Landlock is required and absent.
    #[error("Landlock is required to run scripts, but this kernel does not support it")]
    LandlockUnavailable,
    /// Namespaces are required and absent.
    #[error("namespaces are required to run scripts, but this process may not create them")]
    NamespacesUnavailable(#[source] io::Error),
    /// The egress proxy cannot listen on loopback.
    #[error("starting the egress proxy on loopback")]
    Proxy(#[source] io::Error),
    /// The thread that starts or reaps processes cannot be created.
    #[error("starting the threads that start and reap processes")]
    Starter(#[source] io::Error),
    /// The TLS verifier for HTTP tools cannot be created.
    #[error("reading the platform's TLS certificates for HTTP tools")]
    Tls(#[source] rustls::Error),
}
