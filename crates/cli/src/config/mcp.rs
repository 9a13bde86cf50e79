//! The MCP servers whose tools are imported, in the configuration. Startup checks names and paths.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use charter_contract::catalogue::pin::Pin;
use charter_contract::ids::{Label, TenantId, UserId};
use charter_engine::{Pins, TenantPins};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paths::{FilePath, ProgramPath};

/// The MCP servers whose tools are imported.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpConfig {
    /// The servers; their tools are named `mcp.<name>.<tool>`.
    pub(crate) servers: Vec<McpServerConfig>,
    /// The pins and offers for every tenant without an entry in `tenants`, beside Charter's own tools.
    pub(crate) offer: McpOfferConfig,
    /// The pins and offers for single tenants, in place of those for every tenant.
    pub(crate) tenants: BTreeMap<TenantId, McpOfferConfig>,
}

/// The documents that clients are offered beside Charter's own tools. Nothing by default.
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
    /// The program: a path, or a name that is looked up on `PATH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ProgramPath>")]
    pub(crate) command: Option<PathBuf>,
    /// Its arguments.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Environment variables that the program gets: names, whose values are those of this process and count as secret,
    /// or `NAME=VALUE`, whose values do not count as secret.
    #[serde(default)]
    pub(crate) environment: Vec<String>,
    /// The package registry that the program may download from. Its address is the one in the settings of npm or pip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) registry: Option<RegistryConfig>,
    /// The Unix socket of the Docker daemon, if the program may reach it. The daemon runs containers outside of the
    /// sandbox, with every right on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<FilePath>")]
    pub(crate) docker: Option<PathBuf>,
    /// Files and folders that the program may read, in addition to the system's programs and libraries.
    #[serde(default)]
    #[schemars(with = "Vec<FilePath>")]
    pub(crate) readable: Vec<PathBuf>,
    /// Folders that the program may read and write, in addition to its own folder.
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
    /// The credential that each call uses, over a connection of its own for each user's secret. The tools are listed
    /// without it, with `environment` or `headers` alone, unless it has `list_as`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) credential: Option<McpCredentialConfig>,

    /// The only tools that are offered, by the server's names; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<String>>,
    /// Tools that are not offered, by the server's names.
    #[serde(default)]
    pub(crate) deny: Vec<String>,

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

/// The credential of a server's calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpCredentialConfig {
    /// Its name in `credentials`.
    pub(crate) name: Label,
    /// For a program: the environment variable that has the secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) variable: Option<String>,
    /// For a link: the header that has the secret; `authorization`, as a bearer token, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) header: Option<String>,
    /// The user whose secret lists the tools, for a server that lists them for nobody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) list_as: Option<McpListingConfig>,
}

/// A user whose secret lists the tools of a server for everybody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpListingConfig {
    /// The tenant.
    pub(crate) tenant: TenantId,
    /// The user, who has connected an account if the credential is one of users.
    pub(crate) user: UserId,
}

impl McpServerConfig {
    /// A server with the default limits, without a program or link.
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            command: None,
            args: Vec::new(),
            environment: Vec::new(),
            registry: None,
            docker: None,
            readable: Vec::new(),
            writable: Vec::new(),
            url: None,
            headers: BTreeMap::new(),
            egress: Vec::new(),
            credential: None,
            tools: None,
            deny: Vec::new(),
            readonly: Vec::new(),
            start_timeout_ms: start_timeout_ms(),
            timeout_ms: timeout_ms(),
            refresh_s: refresh_s(),
        }
    }
}

/// A package registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RegistryConfig {
    /// The registry of npm, for `npx`.
    Npm,
    /// The index of pip, for `uvx`, `uv` and `pipx`.
    Pypi,
}

impl RegistryConfig {
    /// The name in the configuration.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
        }
    }
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
