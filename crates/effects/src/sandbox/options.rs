//! How a sandbox is set up. Must not know how each setting is enforced.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use crate::telemetry::TraceContext;

/// What a [`crate::Sandbox`] needs to know; read from configuration by the caller.
#[derive(Debug, Clone)]
pub struct SandboxOptions {
    /// Folder for materialised packages and the private folders of running
    /// calls. Scripts see their own package and their own call only.
    pub directory: PathBuf,
    /// The Python interpreter: a path, or a name that is looked up on `PATH`.
    /// Point it at a virtual environment to give scripts its libraries.
    pub python: PathBuf,
    /// The bash interpreter.
    pub bash: PathBuf,
    /// What runs filter programs, and its arguments before the program's path; none by default.
    pub filter: Option<(PathBuf, Vec<String>)>,
    /// What fills in templates with expressions, and its arguments before the template's path; none by default.
    pub renderer: Option<(PathBuf, Vec<String>)>,
    /// What takes the text out of sources, and its arguments before the file's path; none by default.
    pub extractor: Option<(PathBuf, Vec<String>)>,
    /// The program that runs [`crate::keep`], and its arguments. Without it, children of scripts survive this process
    /// when it is killed.
    pub keeper: Option<(PathBuf, Vec<String>)>,
    /// Files and folders that scripts do not see where the kernel allows mount namespaces, except for grants in them.
    /// `directory` is hidden too.
    pub hidden: Vec<PathBuf>,
    /// Variables whose values are no secrets, such as a region: they stay in the outputs of tools.
    pub plain: BTreeSet<String>,
    /// Whether the servers of HTTP tools are told which trace a call belongs to.
    pub trace: TraceContext,
    /// Whether to run without Landlock.
    pub landlock: LandlockUse,
    /// Whether to use namespaces.
    pub namespaces: NamespaceUse,
    /// Whether this process makes changes of modes and times for scripts that get no mount namespace.
    pub notifications: NotificationUse,
}

impl SandboxOptions {
    /// `python3` and `/bin/bash`, Landlock required, namespaces and notifications when available.
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
    /// Refuse to start a sandbox without it.
    Required,
    /// Run without; [`crate::Sandbox::capabilities`] then says what is missing.
    WhenAvailable,
}

/// Whether scripts get namespaces of their own: user, network and IPC, and a mount namespace where the kernel allows one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespaceUse {
    /// Refuse to start a sandbox without them.
    Required,
    /// Use them if the kernel lets this process create them.
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

/// Why a sandbox does not start.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
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
    /// No thread that starts processes, or reaps them.
    #[error("starting the threads that start and reap processes")]
    Starter(#[source] io::Error),
    /// No TLS verifier for HTTP tools.
    #[error("reading the platform's TLS certificates for HTTP tools")]
    Tls(#[source] rustls::Error),
}
