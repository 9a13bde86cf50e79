//! `charter mcp add`: registers one MCP server in the configuration file. Starts no program.

use std::path::PathBuf;

use anyhow::Context;
use charter_contract::error_code::ErrorCode;
use clap::Args;

use super::recipe::{self, DOCKER_SOCKET};
use super::registration::{Registration, register};
use crate::config::{Flags, McpServerConfig, RegistryConfig};
use crate::failure::{EXIT_OK, ReportedFailure};
use crate::output::Format;

/// Register an MCP server in the configuration file.
///
/// Write the program and its arguments after `--`, e.g. `charter mcp add -- npx -y @modelcontextprotocol/server-memory`.
/// The program runs in the sandbox: it may read the paths that its arguments name, and what options grant. npx and uvx
/// may download from the registries that the settings of npm and pip name. `charter doctor` starts it.
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The server's name; that of its package if absent.
    #[arg(long)]
    name: Option<String>,
    /// An environment variable for the program: NAME takes the value that Charter has; repeatable.
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    environment: Vec<String>,
    /// A file or folder that the program may read; repeatable.
    #[arg(long, value_name = "PATH")]
    readable: Vec<PathBuf>,
    /// A folder that the program may read and write; repeatable.
    #[arg(long, value_name = "DIR")]
    writable: Vec<PathBuf>,
    /// A host that the program may reach, e.g. api.example.com; repeatable.
    #[arg(long, value_name = "HOST")]
    egress: Vec<String>,
    /// The package registry that the program may download from.
    #[arg(long)]
    registry: Option<RegistryConfig>,
    /// Grant the Docker daemon to the program: it runs containers outside of the sandbox.
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, default_missing_value = DOCKER_SOCKET)]
    docker: Option<PathBuf>,
    /// Offer only this tool; repeatable.
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// Do not offer this tool; repeatable.
    #[arg(long, value_name = "TOOL")]
    deny: Vec<String>,
    /// A tool that only reads; repeatable.
    #[arg(long, value_name = "TOOL")]
    readonly: Vec<String>,
    /// The URL of a server, in place of a program.
    #[arg(long, conflicts_with_all = ["program", "environment", "readable", "writable", "registry", "docker"])]
    url: Option<String>,
    /// A header to send to the URL, with the variable that holds its value; repeatable.
    #[arg(long = "header", value_name = "NAME=VARIABLE", requires = "url", value_parser = header)]
    headers: Vec<(String, String)>,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// The program and its arguments.
    #[arg(last = true, value_name = "PROGRAM", required_unless_present = "url")]
    program: Vec<String>,
}

/// Parses `NAME=VARIABLE`.
fn header(text: &str) -> Result<(String, String), String> {
    let (name, variable) = text.split_once('=').ok_or("write NAME=VARIABLE")?;
    Ok((name.to_owned(), variable.to_owned()))
}

pub(super) fn run(add: &Add, flags: &Flags, format: Format) -> anyhow::Result<u8> {
    let folder = std::env::current_dir().context("finding the working directory")?;
    let absolute = |paths: &[PathBuf]| -> Vec<PathBuf> {
        paths.iter().map(|path| folder.join(path)).collect()
    };
    let name = add.name.clone().unwrap_or_else(|| name_of(add));
    let mut server = McpServerConfig {
        environment: add.environment.clone(),
        readable: absolute(&add.readable),
        writable: absolute(&add.writable),
        egress: add.egress.clone(),
        registry: add.registry,
        docker: add.docker.clone(),
        tools: (!add.tools.is_empty()).then(|| add.tools.clone()),
        deny: add.deny.clone(),
        readonly: add.readonly.clone(),
        url: add.url.clone(),
        headers: add.headers.iter().cloned().collect(),
        ..McpServerConfig::new(name)
    };
    if let Some((command, arguments)) = add.program.split_first() {
        server.command = Some(PathBuf::from(command));
        server.args = arguments.to_vec();
    }
    let registration = Registration::new(server, &folder)
        .map_err(|reason| ReportedFailure::new(ErrorCode::InvalidRequest, reason))?;
    let mode = add.dry_run.into();
    register(vec![registration], Vec::new(), flags, mode, format)?;
    Ok(EXIT_OK)
}

/// The name of a server without one: that of its package, or of the host of its URL.
fn name_of(add: &Add) -> String {
    match (add.program.split_first(), &add.url) {
        (Some((command, arguments)), _) => recipe::name_of(command, arguments),
        (None, url) => {
            let url = url.as_deref().unwrap_or_default();
            let parsed = reqwest::Url::parse(url).ok();
            let host = parsed.as_ref().and_then(reqwest::Url::host_str);
            let host = host.map(|host| host.trim_start_matches("mcp.").trim_start_matches("api."));
            recipe::label(host.unwrap_or(url))
        }
    }
}
