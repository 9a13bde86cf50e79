//! `charter import mcp`: registers the MCP servers of another client in the configuration file. Starts no program, and
//! copies no secret.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use charter_contract::bounds::IMPORT_BYTES;
use charter_contract::error_code::ErrorCode;
use charter_import::mcp::variables::{Placeholders, Setting};
use charter_import::mcp::{ClientServer, ClientTransport, read};
use clap::Args;

use crate::commands::mcp::recipe::{self, DOCKER_SOCKET};
use crate::commands::mcp::registration::{LeftOut, Registration, is_secret_name, register};
use crate::config::{Flags, McpServerConfig};
use crate::failure::{EXIT_OK, ReportedFailure};
use crate::output::Format;
use crate::{platform, text_file};

/// Folders in which clients keep the file of a project.
const CLIENT_FOLDERS: [&str; 4] = [".claude", ".cursor", ".vscode", ".mcp"];

/// Register the MCP servers of another client: Claude, Cursor or VS Code.
///
/// Reads their mcp.json, and appends the servers to the configuration file. Programs run in the sandbox: they may read the
/// paths that their arguments name, and reach no host until `egress` has it. npx and uvx may download from the registries
/// that the settings of npm and pip name. Values of variables that look like secrets are not copied: set them in the
/// environment. A server whose name is there already stays as it is.
#[derive(Debug, Args)]
pub(crate) struct McpImport {
    /// The file, such as .mcp.json, .cursor/mcp.json or .vscode/mcp.json.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only this server; repeatable.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Grant the Docker daemon to programs that run containers: it runs containers outside of the sandbox.
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, default_missing_value = DOCKER_SOCKET)]
    docker: Option<PathBuf>,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

pub(in crate::commands) fn run(
    import: &McpImport,
    flags: &Flags,
    format: Format,
) -> anyhow::Result<u8> {
    let reading = || format!("reading {}", import.file.display());
    let file = import.file.canonicalize().with_context(reading)?;
    let text = text_file::read(&file, IMPORT_BYTES as u64).with_context(reading)?;
    let folder = project_of(&file);
    let home = std::env::var(platform::HOME).ok();
    let placeholders = Placeholders {
        workspace: folder.to_str().map(str::to_owned),
        home,
    };
    let config = read(&text, &placeholders).map_err(|error| {
        let message = format!("{}: {error}", import.file.display());
        ReportedFailure::new(ErrorCode::InvalidDocument, message)
    })?;
    let mut left_out: LeftOut = config.left_out;
    let is_named = |name: &String| import.only.is_empty() || import.only.contains(name);
    left_out.retain(|(name, _)| is_named(name));
    let mut names = BTreeSet::new();
    let mut registrations = Vec::new();
    let servers = config.servers.into_iter();
    for server in servers.filter(|server| is_named(&server.name)) {
        let (name, notes) = (server.name.clone(), server.notes.clone());
        let mut converted = Conversion::new(server, &mut names);
        let command = converted.server.command.as_deref();
        if command.is_some_and(recipe::is_container) {
            converted.server.docker = import.docker.clone();
        }
        let notes = [notes, converted.notes].concat();
        match Registration::new(converted.server, folder) {
            Ok(mut registration) => {
                registration.notes = [notes, registration.notes].concat();
                registrations.push(registration);
            }
            Err(reason) => left_out.push((name, reason)),
        }
    }
    register(
        registrations,
        left_out,
        flags,
        import.dry_run.into(),
        format,
    )?;
    Ok(EXIT_OK)
}

/// The folder of the project that a file belongs to.
fn project_of(file: &Path) -> &Path {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let name = folder.file_name().and_then(|name| name.to_str());
    let is_clients = name.is_some_and(|name| CLIENT_FOLDERS.contains(&name));
    match folder.parent() {
        Some(project) if is_clients => project,
        Some(_) | None => folder,
    }
}

/// A client's server as one of the configuration.
struct Conversion {
    server: McpServerConfig,
    notes: Vec<String>,
}

impl Conversion {
    fn new(server: ClientServer, names: &mut BTreeSet<String>) -> Self {
        let name = unique(&recipe::label(&server.name), names);
        let mut converted = Self {
            server: McpServerConfig::new(name),
            notes: Vec::new(),
        };
        match server.transport {
            ClientTransport::Program {
                command,
                arguments,
                environment,
            } => {
                converted.server.command = Some(PathBuf::from(command));
                converted.server.args = arguments;
                for (name, setting) in environment {
                    converted.add_variable(name, setting);
                }
            }
            ClientTransport::Link { url, headers } => {
                converted.server.url = Some(url);
                for (name, setting) in headers {
                    converted.add_header(&name, setting);
                }
            }
        }
        converted
    }

    /// Adds a variable. A value that is probably a secret is not copied: the program gets it from the environment.
    fn add_variable(&mut self, name: String, setting: Setting) {
        let entry = match setting {
            Setting::Literal(value) if !is_secret_name(&name) => format!("{name}={value}"),
            Setting::Literal(_) => {
                self.notes.push(format!(
                    "the value of {name} is not copied, because it may be a secret"
                ));
                name
            }
            Setting::Variable(variable) if variable == name => name,
            Setting::Variable(variable) => {
                self.notes
                    .push(format!("{name} has the value of {variable}"));
                name
            }
            Setting::Input(id) => {
                self.notes.push(format!(
                    "{name} has the value that the client asks for as `{id}`"
                ));
                name
            }
            Setting::Mixed(text) => {
                self.notes.push(format!("{name} has the value `{text}`"));
                name
            }
        };
        self.server.environment.push(entry);
    }

    /// Adds a header. Its value comes from a variable, because most headers of MCP servers are credentials.
    fn add_header(&mut self, name: &str, setting: Setting) {
        let own = format!("{}_{name}", self.server.name).to_uppercase();
        let own: String = own
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let variable = match setting {
            Setting::Variable(variable) => variable,
            Setting::Literal(_) => {
                self.notes.push(format!(
                    "{own} has the value of the header `{name}`, which is not copied"
                ));
                own
            }
            Setting::Input(id) => {
                self.notes.push(format!(
                    "{own} has the value that the client asks for as `{id}`"
                ));
                own
            }
            Setting::Mixed(text) => {
                self.notes.push(format!("{own} has the value `{text}`"));
                own
            }
        };
        self.server.headers.insert(name.to_lowercase(), variable);
    }
}

/// A name that no other server of the file has.
fn unique(name: &str, names: &mut BTreeSet<String>) -> String {
    let mut unique = name.to_owned();
    let mut number = 2;
    while !names.insert(unique.clone()) {
        let suffix = format!("-{number}");
        let kept: String = name.chars().take(32 - suffix.len()).collect();
        unique = kept + &suffix;
        number += 1;
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(folder: &Path, text: &str) -> String {
        let project = folder.join("project/.cursor");
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(folder.join("project/docs")).unwrap();
        let file = project.join("mcp.json");
        std::fs::write(&file, text).unwrap();
        let config = folder.join("config.toml");
        let flags = Flags {
            file: Some(config.clone()),
            ..Flags::default()
        };
        let import = McpImport {
            file,
            only: Vec::new(),
            docker: None,
            dry_run: false,
        };
        run(&import, &flags, Format::Json).unwrap();
        std::fs::read_to_string(config).unwrap()
    }

    #[test]
    fn servers_of_a_client_are_registered_without_their_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let text = r#"{"mcpServers": {
            "My Files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "./docs"],
                "env": {"MODE": "fast", "API_TOKEN": "s3cr3t"}},
            "my-files": {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer s3cr3t"}},
            "box": {"command": "docker", "args": ["run", "-i", "image"]}
        }}"#;
        let written = imported(&folder, text);
        let docs = folder.join("project/docs");
        let docs = docs.to_str().unwrap();
        assert_eq!(
            written,
            format!(
                "[[mcp.servers]]\nname = \"my-files\"\ncommand = \"npx\"\n\
                 args = [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"{docs}\"]\n\
                 environment = [\"API_TOKEN\", \"MODE=fast\"]\nregistry = \"npm\"\nreadable = [\"{docs}\"]\n\
                 start_timeout_ms = 180000\n\n[[mcp.servers]]\nname = \"my-files-2\"\n\
                 url = \"https://mcp.example.com/mcp\"\n\
                 headers = {{ \"authorization\" = \"MY_FILES_2_AUTHORIZATION\" }}\n"
            )
        );
    }

    #[test]
    fn an_import_again_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let one = r#"{"mcpServers": {"one": {"command": "one-program"}}}"#;
        let before = imported(&folder, one);
        let both =
            r#"{"mcpServers": {"one": {"command": "other"}, "two": {"command": "two-program"}}}"#;
        let after = imported(&folder, both);
        let two = "\n[[mcp.servers]]\nname = \"two\"\ncommand = \"two-program\"\n";
        assert_eq!(after, format!("{before}{two}"));
    }
}
