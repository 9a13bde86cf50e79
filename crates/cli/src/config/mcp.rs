//! The MCP servers whose tools are imported, in the configuration. Startup checks names and paths.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use charter_contract::catalogue::pin::Pin;
use charter_contract::ids::{Label, TenantId};
use charter_engine::{Pins, TenantPins};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paths::{FilePath, ProgramPath};

/// The MCP servers whose tools are imported.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpConfig {
    /// The servers; their tools are named `mcp.<name>.<tool>`.
    pub(crate) servers: Vec<McpServerConfig>,
    /// What the clients of each tenant that is not named below are offered beside Charter's own tools.
    pub(crate) offer: McpOfferConfig,
    /// What the clients of these tenants are offered, in place of the above.
    pub(crate) tenants: BTreeMap<TenantId, McpOfferConfig>,
}

/// What clients are offered beside Charter's own tools. Nothing by default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpOfferConfig {
    /// Tools, skills and playbooks that are tools of their own: `{ tool = "mcp.files.*" }`, `{ skill = "…" }` or
    /// `{ playbook = "…" }`, with an optional `name`.
    pub(crate) pinned: Vec<Pin>,
    /// Names of MCP servers whose resources and prompts are offered.
    pub(crate) resources_of: BTreeSet<Label>,
    /// Whether the pins in registered agents apply.
    pub(crate) pins_of_agents: bool,
}

impl McpConfig {
    /// The pins as the engine takes them.
    pub(crate) fn pins(&self) -> Pins {
        let tenants = self.tenants.iter();
        Pins {
            each: self.offer.pins(),
            tenants: tenants
                .map(|(tenant, offer)| (tenant.clone(), offer.pins()))
                .collect(),
        }
    }
}

impl McpOfferConfig {
    fn pins(&self) -> TenantPins {
        TenantPins {
            pinned: self.pinned.clone(),
            offered: self.resources_of.clone(),
            of_agents: self.pins_of_agents,
        }
    }
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
    /// Paths that the program may read, in addition to the system's programs and libraries.
    #[serde(default)]
    #[schemars(with = "Vec<FilePath>")]
    pub(crate) readable: Vec<PathBuf>,
    /// Paths that the program may read and write, in addition to its own folder.
    #[serde(default)]
    #[schemars(with = "Vec<FilePath>")]
    pub(crate) writable: Vec<PathBuf>,
    /// The URL of a server that is reached by streamable HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// HTTP headers: the name of each, and of the environment variable that holds its value.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// For a program, all hosts that it may reach. For a link, the private addresses and ports other than 80 and 443
    /// that it may use.
    #[serde(default)]
    pub(crate) egress: Vec<String>,
    /// The tools that only read, by the server's names. All others count as writing, regardless of the server's
    /// annotations.
    #[serde(default)]
    pub(crate) readonly: Vec<String>,
    /// Timeout of the start, in milliseconds: of the first answer, and then of the list of tools. A program that
    /// installs itself at its first start (npx, uvx) takes long.
    #[serde(default = "start_timeout_ms")]
    pub(crate) start_timeout_ms: u64,
    /// Timeout of one call, in milliseconds.
    #[serde(default = "timeout_ms")]
    pub(crate) timeout_ms: u64,
    /// How often the tools are listed again without a change notification from the server, in seconds.
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
