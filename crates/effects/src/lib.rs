//! Adapters to the outside world: runs one tool (a Python or bash script, an HTTP call, or a built-in tool) in a
//! sandbox and returns its outcome.
//!
//! # The port
//! [`ToolRunner`] takes a [`ToolCall`] that is fully resolved (parameters validated, defaults filled, variables
//! filtered by the tool's allow list) and returns a [`ToolOutcome`], which also represents every failure. [`Sandbox`]
//! is the implementation that runs calls here; a call's [`Target`] is for implementations that forward it. This crate
//! must not know skills, runs, policies or storage, nor decide by tenants, and it reads neither configuration nor
//! environment.
//!
//! # Secrets
//! The values of the variables that a call is granted are removed from its log and messages, and from its output unless
//! [`SandboxOptions::plain`] names the variable. That protects against accidents: a script can always encode a value in
//! a way that is not recognised.
//!
//! # The script protocol
//! `python3 <entry>` or `bash <entry>`, in the root of the materialised package:
//! * stdin: one JSON object `{"parameters": {…}, "dry_run": false, "idempotency_key": "…"}`;
//! * stdout: exactly one JSON value, the result; exit 0 is success;
//! * any other exit is a failure, described by one JSON object on the last line
//!   of stderr: `{"error_type": "input_error", "message": "…", "retryable": false}`;
//! * every other line of stderr is the log.
//!
//! Values reach a script as data on its standard input, never as source text.
//!
//! # Built-in tools
//! Files, environment, network, web search, commands and charts, in the files of `builtin`. A call may use only what
//! its [`BuiltinGrants`] name; by default they name nothing. [`builtin_documents`] returns their documents for the
//! catalogue.
//!
//! # MCP servers
//! [`McpServers`] keeps connections to the registered servers of the Model Context Protocol, publishes their tools as
//! catalogue documents ([`Imports`]) and runs calls of them.
//!
//! # Memory
//! Large output of scripts and hosts waits in a file until [`ToolCall::room`] has reserved memory for it.
//!
//! # Sources
//! [`Sources`] fetches the sources of a lens through the same wall, and extracts their text in a separate process
//! ([`extract()`] is what that process runs).
//!
//! # Models
//! [`Models`] requests drafts from language models, by the routes of [`ModelOptions`]; [`ModelProviders`] does so over
//! HTTP.
//!
//! # Credentials
//! [`StaticSecret`] reads an operator's secret; [`AuthorizationServers`] obtains tokens by OAuth 2.0, through the same
//! wall. The values reach tools as variables of a call, which count as secret.
//!
//! # Schemas of documents
//! [`check_against`] checks a value from a tool, a model or a person against the JSON Schema that a document declares
//! for it.
//!
//! # Webhooks
//! [`webhook`] sends changes to systems of record, signed, through the same wall.
//!
//! # Channels
//! [`channel`] sends messages to people: to Slack, by e-mail, and to webhooks.
//!
//! # What confines a script
//! [`Sandbox::capabilities`] lists what the running kernel enforces. The means are Landlock (files, TCP ports,
//! signals), seccomp (sockets, escapes from the process group, kernel surface), resource limits, namespaces (user,
//! network, IPC, mount), a watch on the number of processes, and one egress proxy that knows the call's allow list.
//! [`keep`] runs in a separate process, and kills the children of scripts if this process is killed.
//!
//! # Other systems
//! The crate also compiles on other systems, for commands that use a server elsewhere. There [`Sandbox::new`] fails, and
//! no value of [`Sandbox`] exists, so nothing runs unconfined.

// Only the command line writes to the terminal, through writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]
// Without the sandbox, the code that only it calls is unused.
#![cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "the sandbox calls it, which is Linux's")
)]

pub mod allocator;
mod builtin;
mod builtin_grants;
mod call;
mod call_link;
pub mod channel;
mod egress;
mod extract;
mod http;
mod http_tool;
mod kept;
mod mcp;
mod models;
mod oauth;
mod outcome;
mod package;
mod patience;
mod redact;
mod room;
#[cfg(target_os = "linux")]
mod rubbish;
// Other systems have a sandbox that does not start.
#[cfg_attr(not(target_os = "linux"), path = "sandbox/elsewhere.rs")]
mod sandbox;
mod schema_check;
mod secret;
mod sources;
mod static_secret;
mod telemetry;
mod tokens;
mod web_search;
pub mod webhook;

pub use builtin::documents as builtin_documents;
pub use builtin_grants::{BuiltinGrants, BuiltinTool, CommandGrant, Root, RootAccess};
pub use call::{
    ClientCall, ClientGrants, DryRun, HttpTool, Language, Limits, McpTool, Repeat, ScriptTool,
    Target, ToolCall, ToolImplementation, ToolRunner,
};
pub use call_link::{CallClient, CallEnd, CallEvent, CallLink, LinkMemory, Unanswered};
pub use egress::{HostPattern, HostPatternError};
pub use extract::{ExtractError, Extracted, MAX_TEXT_BYTES, Mark, MarkKind, MediaType, extract};
pub use http::{PlainHttp, base as operator_address};
pub use mcp::{
    ImportedTool, Imports, ListingSecret, McpServerOptions, McpServerState, McpServers,
    McpTransport, SecretHeader, ServerCredential, ServerImports, ServerOffers, SkippedTool,
    ToolSelection, import_tools, prompt_tool, resource_tool,
};
pub use models::{
    Delivery, ModelAnswer, ModelApi, ModelFailure, ModelFault, ModelListener, ModelOptions,
    ModelProviders, ModelRequest, ModelRoute, ModelSetupError, ModelStage, ModelTarget, Models,
    NamedSchema, NoModels, NullListener, ProviderOptions, RejectedAnswer, Repairs, SetBy,
    StructuredOutput, TargetError, Temperature, TenantModels, TokenLimit, Usage,
};
pub use oauth::{
    AuthorizationRequest, AuthorizationServers, BoundClient, ClientAuth, ClientRegistration,
    HttpAuthorizationServers, NoAuthorizationServers, OAuthClient, OAuthFailure, OAuthFault,
    RegisteredClient, ServerLocation, TokenGrant, TokenSet,
};
pub use outcome::ToolOutcome;
pub use package::{PackageError, PackageFiles};
pub use patience::{Jitter, RetryPolicy};
pub use room::{OutputBudget, OutputBudgetExhausted, OutputSize, UnlimitedOutput};
pub use sandbox::{
    Capability, CapabilityState, LandlockUse, NamespaceUse, NotificationUse, Sandbox, SandboxError,
    SandboxOptions, ServerHome, keep,
};
pub use schema_check::{check_against, compile_schema};
pub use secret::{Secret, SecretSource};
pub use sources::{
    Fetched, LinkFetcher, Media, NoSources, RawSource, SourceEncoding, SourceError, SourceFault,
    SourceRequest, Sources, Validators,
};
pub use static_secret::{StaticSecret, StaticSecretError};
pub use telemetry::{TELEMETRY, TraceContext};
pub use tokens::{
    ExpectedIdToken, IssuerError, IssuerOptions, Issuers, TokenAlgorithm, TokenRefused,
    VerifiedClaims,
};
pub use web_search::{SearchOptions, SearchProvider, SearchSetupError, WebSearch};
