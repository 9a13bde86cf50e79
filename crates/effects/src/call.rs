//! The port for running a tool, and the call it takes.
//!
//! Must not know how a call is run: no process, no socket.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::catalogue::tool::{HttpMethod, VariableName};
use charter_contract::ids::{Label, TenantId, ToolId};
use charter_contract::text::Text;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::builtin_grants::BuiltinTool;
use crate::egress::HostPattern;
use crate::outcome::ToolOutcome;
use crate::package::PackageFiles;
use crate::room::OutputBudget;

/// Runs one tool call to its end.
#[async_trait]
pub trait ToolRunner: Send + Sync {
    /// Runs `call` once; never retries, never fails other than in the outcome.
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
    /// What to run.
    pub implementation: ToolImplementation,
    /// Where it runs. The sandbox runs whatever it is given.
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
    /// Where memory is set aside for its output.
    pub room: Arc<dyn OutputBudget>,
}

/// Where a call runs (seed 000 §2.4, `execution_target`).
#[derive(Debug, Clone)]
pub enum Target {
    /// In the process that makes it.
    Here,
    /// Where the credentials are: also in that process, unless it leaves such calls to executors.
    Client(ClientCall),
}

/// What an executor elsewhere has to know beside the call itself, and may do with it.
#[derive(Debug, Clone)]
pub struct ClientCall {
    /// Whose executors may take it.
    pub tenant: TenantId,
    /// What it is granted there.
    pub grants: ClientGrants,
    /// Whether it may be begun again when it is not known how far it came.
    pub repeat: Repeat,
    /// How long it may wait before it begins, where an approval of it lapses then.
    pub begin_within: Option<Duration>,
}

/// Who decides what a call is granted that an executor runs.
#[derive(Debug, Clone)]
pub enum ClientGrants {
    /// The tool asks, and who runs it grants what it has of that.
    Asked {
        /// The variables.
        environment: Vec<VariableName>,
        /// The hosts that the tool itself lists, as its document writes them.
        egress: Vec<Text>,
    },
    /// Who runs it: the tool has no implementation, and so asks for nothing.
    Own,
}

/// Whether a call that was interrupted may be begun again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// It reads, or does nothing more the second time.
    Safe,
    /// It may do the same thing twice.
    Unsafe,
}

/// Whether a tool may act on the outside world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// Do it.
    No,
    /// Say what would be done. Scripts are told; an HTTP tool whose method is
    /// not safe (RFC 9110, section 9.2.1) is not sent.
    Yes,
}

/// What a call runs.
#[derive(Debug, Clone)]
pub enum ToolImplementation {
    /// A script of a package.
    Script(ScriptTool),
    /// One HTTP exchange.
    Http(HttpTool),
    /// A part of Charter.
    Builtin(BuiltinTool),
    /// A tool of a registered MCP server.
    Mcp(McpTool),
    /// What an executor brings for a tool that has no implementation of its own (seed 000 §2.4).
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
    /// Query names and value templates; an array value repeats the name.
    pub query: Vec<(String, Value)>,
    /// The JSON body.
    pub body: Option<Value>,
}

/// The part of a call that only its server understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpTool {
    /// The server's name here.
    pub server: Label,
    /// The tool, as the server names it.
    pub name: String,
    /// `sha256:…` of the definition that was imported: another one is not called.
    pub definition: String,
    /// The names that the server has for arguments, where they are others than the call's.
    pub wire_names: BTreeMap<String, String>,
    /// Whether a call that broke off may be begun again.
    pub repeat: Repeat,
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
