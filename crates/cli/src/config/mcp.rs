//! The MCP servers whose tools are imported, as an operator writes them. What a name or path must be
//! is checked where the servers are set up.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paths::{FilePath, ProgramPath};

/// The MCP servers whose tools are imported.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpConfig {
    /// Each server; its tools are called `mcp.<name>.<tool>`.
    pub(crate) servers: Vec<McpServerConfig>,
}

/// One MCP server: a program (`command`) or a link (`url`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpServerConfig {
    /// A short id: 1 to 32 lower-case letters, digits, `-` or `_`.
    pub(crate) name: String,
    /// The program, as a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ProgramPath>")]
    pub(crate) command: Option<PathBuf>,
    /// Its arguments.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Names of environment variables that the program gets.
    #[serde(default)]
    pub(crate) environment: Vec<String>,
    /// What the program may read beside the system's programs and libraries.
    #[serde(default)]
    #[schemars(with = "Vec<FilePath>")]
    pub(crate) readable: Vec<PathBuf>,
    /// What the program may read and write beside its own folder.
    #[serde(default)]
    #[schemars(with = "Vec<FilePath>")]
    pub(crate) writable: Vec<PathBuf>,
    /// The link, for a server that is reached by streamable HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// Headers for it: the name of each, and of the environment variable that holds its value.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Hosts: all that the program may reach; for a link, private addresses and other ports than 80
    /// and 443 that it may lead to.
    #[serde(default)]
    pub(crate) egress: Vec<String>,
    /// The tools that only read, by the server's names. All others are taken to write, whatever the
    /// server says of them.
    #[serde(default)]
    pub(crate) readonly: Vec<String>,
    /// How long the server may take to start, in milliseconds: to answer the first message, and to list its tools then. A
    /// program that installs itself at its first start (npx, uvx) takes long.
    #[serde(default = "start_timeout_ms")]
    pub(crate) start_timeout_ms: u64,
    /// Time limit of one call, in milliseconds.
    #[serde(default = "timeout_ms")]
    pub(crate) timeout_ms: u64,
    /// How often the tools are listed again, in seconds, also when the server tells of no change.
    #[serde(default = "refresh_s")]
    pub(crate) refresh_s: u64,
}

fn start_timeout_ms() -> u64 {
    60_000
}

fn timeout_ms() -> u64 {
    60_000
}

fn refresh_s() -> u64 {
    300
}
