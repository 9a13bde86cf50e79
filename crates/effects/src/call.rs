//! The port for running a tool, and the call it takes.
//!
//! Must not know how a call is run: no process, no socket.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::catalogue::tool::{BodyFormat, HttpMethod, VariableName};
use charter_contract::ids::{Label, TenantId, ToolId};
use charter_contract::text::Text;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::builtin_grants::BuiltinTool;
use crate::call_link::CallLink;
use crate::egress::HostPattern;
use crate::outcome::ToolOutcome;
use crate::package::PackageFiles;
use crate::room::OutputBudget;

/// Runs one tool call to its end.
#[async_trait]
pub trait ToolRunner: Send + Sync {
    /// Runs `call` once. Never retries; every failure is part of the outcome.
    ///
    /// Not idempotent: the tool receives `idempotency_key` and decides. When
    /// `cancel` fires, or the returned future is dropped, everything the call
    /// started is killed. Calls are independent of each other and may run at
    /// the same time; the caller bounds how many.
    async fn run(&self, call: ToolCall, cancel: CancellationToken) -> ToolOutcome;
}

/// One call of one tool, fully resolved: parameters validated, defaults filled.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The tool's id, for logs and messages only.
    pub tool_id: ToolId,
    /// The implementation to run.
    pub implementation: ToolImplementation,
    /// Where the call runs. The sandbox ignores it and runs every call it receives.
    pub target: Target,
    /// The arguments, passed to the tool as data.
    pub parameters: Map<String, Value>,
    /// Whether the tool may act.
    pub dry_run: DryRun,
    /// Bounds of this call.
    pub limits: Limits,
    /// Granted variables, already filtered by the tool's allow list. Their
    /// values count as secret: they are redacted from logs and messages.
    pub environment: Vec<(String, String)>,
    /// Hosts the call may reach; empty means no network at all.
    pub egress: Vec<HostPattern>,
    /// Files and folders a script may read besides the system, its interpreter
    /// and its package, such as `~/.aws` for a tool that is granted
    /// `AWS_PROFILE`. A script's `HOME` is a fresh folder, so pass the place in
    /// a variable as well (`AWS_CONFIG_FILE`).
    pub readable: Vec<PathBuf>,
    /// The same for every attempt of one effect.
    pub idempotency_key: String,
    /// Memory budget for its output.
    pub room: Arc<dyn OutputBudget>,
}

/// Where a call runs (seed 000 §2.4, `execution_target`).
#[derive(Debug, Clone)]
pub enum Target {
    /// In the process that makes it.
    Here,
    /// Where the credentials are: also in that process, unless the server leaves such calls to executors.
    Client(ClientCall),
}

/// Data beside the call itself that a remote executor needs, and its permissions.
#[derive(Debug, Clone)]
pub struct ClientCall {
    /// The tenant whose executors may run it.
    pub tenant: TenantId,
    /// The grants that apply on the executor.
    pub grants: ClientGrants,
    /// Whether the call may be retried when its progress is unknown.
    pub repeat: Repeat,
    /// How long the call may wait before it begins, if its approval expires then.
    pub begin_within: Option<Duration>,
}

/// Decides which grants a call has on an executor.
#[derive(Debug, Clone)]
pub enum ClientGrants {
    /// The tool requests grants, and the executor provides those that it has.
    Asked {
        /// The requested variables.
        environment: Vec<VariableName>,
        /// The hosts that the tool itself lists, as its document writes them.
        egress: Vec<Text>,
    },
    /// The executor decides: the tool has no implementation and requests no grants.
    Own,
}

/// Whether an interrupted call may be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// The call only reads, or a second execution changes nothing more.
    Safe,
    /// A second execution may repeat the effect.
    Unsafe,
}

/// Whether a tool may act on the outside world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// Execute the call.
    No,
    /// Describe what the call would do. Scripts receive the flag; an HTTP tool whose method is not safe (RFC 9110,
    /// section 9.2.1) is not sent.
    Yes,
}

impl From<bool> for DryRun {
    fn from(is_dry: bool) -> Self {
        if is_dry { Self::Yes } else { Self::No }
    }
}

/// The implementation of a tool.
#[derive(Debug, Clone)]
pub enum ToolImplementation {
    /// A script of a package.
    Script(ScriptTool),
    /// One HTTP exchange.
    Http(HttpTool),
    /// A built-in tool.
    Builtin(BuiltinTool),
    /// A tool of a registered MCP server.
    Mcp(McpTool),
    /// The executor's own implementation, for a tool without one (seed 000 §2.4).
    Handler,
}

/// A script and the package it belongs to.
#[derive(Debug, Clone)]
pub struct ScriptTool {
    /// The interpreter.
    pub language: Language,
    /// The script's path in `files`, such as `scripts/list_groups.py`.
    pub entry: String,
    /// Every text file the script may open or import; its `scripts` folder is
    /// on `PYTHONPATH`.
    pub files: Arc<PackageFiles>,
}

/// The interpreters that scripts are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// `python3 <entry>`
    Python,
    /// `bash <entry>`
    Bash,
    /// A filter program, run by [`crate::SandboxOptions::filter`] with the entry as last argument.
    Filter,
    /// A template with expressions, filled in by [`crate::SandboxOptions::renderer`] with the entry as last argument.
    Template,
}

/// An HTTP exchange with placeholders.
///
/// `${NAME}` or `${user.NAME}` is a parameter, `${env.NAME}` a granted variable. In a path a
/// value is one percent-encoded run of characters, in the host one DNS label; a
/// string of `query`, `headers` or `body` that is nothing but one placeholder
/// takes the value with its JSON type, and is left out when an optional
/// parameter is absent.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpTool {
    /// The method.
    pub method: HttpMethod,
    /// An absolute `http` or `https` URL.
    pub url: String,
    /// Header names and value templates.
    pub headers: Vec<(String, String)>,
    /// Query names and value templates; an array value repeats the name, unless it has a separator.
    pub query: Vec<(String, Value)>,
    /// Separators of array values, by query name.
    pub list_separators: BTreeMap<String, String>,
    /// The body, before it is formatted.
    pub body: Option<Value>,
    /// The format of the body.
    pub body_format: BodyFormat,
}

/// The part of a call that is specific to its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpTool {
    /// The server's name here.
    pub server: Label,
    /// The tool's name on the server.
    pub name: String,
    /// `sha256:…` of the imported definition: a tool with another definition is not called.
    pub definition: String,
    /// The server's names of arguments that differ from the call's names.
    pub wire_names: BTreeMap<String, String>,
    /// Whether an interrupted call may be retried.
    pub repeat: Repeat,
    /// The link to the client that waits for the call and takes part in it; absent for most calls.
    pub link: Option<CallLink>,
}

/// Bounds of one call. The default suits a tool that reads a cloud API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time, after which the whole process group is killed.
    pub timeout: Duration,
    /// CPU time of each process, in seconds.
    pub cpu_seconds: u64,
    /// Address space of each process, in bytes.
    pub memory_bytes: u64,
    /// Largest file a process may write, in bytes.
    pub file_bytes: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// Processes alive at the same time, the interpreter included.
    pub processes: u32,
    /// Standard output of a script, or the body of a response, in bytes.
    pub output_bytes: usize,
    /// How much of the end of standard error is kept, in bytes.
    pub log_bytes: usize,
}

impl Limits {
    /// Default wall-clock time.
    pub const TIMEOUT: Duration = Duration::from_secs(60);
    /// A CPU time or address space without a bound of its own.
    pub(crate) const UNBOUNDED: u64 = u64::MAX;
    /// Default CPU time.
    pub const CPU_SECONDS: u64 = 60;
    /// Default address space: 2 GiB.
    pub const MEMORY_BYTES: u64 = 2 << 30;
    /// Default file size: 256 MiB.
    pub const FILE_BYTES: u64 = 256 << 20;
    /// Default open files.
    pub const OPEN_FILES: u64 = 256;
    /// Default processes.
    pub const PROCESSES: u32 = 64;
    /// Default output: 16 MiB.
    pub const OUTPUT_BYTES: usize = 16 << 20;
    /// Default log: 64 KiB, kept from the end.
    pub const LOG_BYTES: usize = 64 << 10;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Self::TIMEOUT,
            cpu_seconds: Self::CPU_SECONDS,
            memory_bytes: Self::MEMORY_BYTES,
            file_bytes: Self::FILE_BYTES,
            open_files: Self::OPEN_FILES,
            processes: Self::PROCESSES,
            output_bytes: Self::OUTPUT_BYTES,
            log_bytes: Self::LOG_BYTES,
        }
    }
}
