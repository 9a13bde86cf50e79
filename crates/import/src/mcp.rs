//! Configurations of MCP clients: the servers in `mcp.json` as Claude, Cursor and VS Code write it.
//!
//! Reads the servers as they are written; [`variables`] fills in placeholders. What Charter cannot do for a server is a
//! reason to leave the server out, or a note about it. Must not know Charter's configuration, files, or programs.

mod comments;
pub mod variables;

use std::collections::BTreeMap;

use charter_contract::bounds::{IMPORT_BYTES, MCP_CLIENT_SERVERS};
use charter_contract::json::{Profile, decode_text};
use serde_json::{Map, Value};

use comments::without_comments;
use variables::{Placeholders, Setting};

/// Where clients keep their servers: Claude and Cursor, VS Code, and the settings of VS Code.
const PLACES: [&str; 4] = ["/mcpServers", "/servers", "/mcp/servers", "/mcp/mcpServers"];
/// Fields of a server that only its client needs.
const IGNORED: [&str; 8] = [
    "alwaysAllow",
    "autoApprove",
    "description",
    "dev",
    "gallery",
    "name",
    "type",
    "version",
];

/// Why a file is not the configuration of a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientConfigError {
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    Json(String),
    /// It has no servers.
    #[error("it has no servers: neither `mcpServers` nor `servers` is an object")]
    NoServers,
    /// It has too many.
    #[error("it has {0} servers; the limit is {MCP_CLIENT_SERVERS}")]
    TooMany(usize),
}

/// The servers of a client.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClientConfig {
    /// The servers that can be registered, by their names there.
    pub servers: Vec<ClientServer>,
    /// The others, each with its reason.
    pub left_out: Vec<(String, String)>,
}

/// A server of a client.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientServer {
    /// Its name there.
    pub name: String,
    /// How the client reaches it.
    pub transport: ClientTransport,
    /// Settings of the client that are not kept.
    pub notes: Vec<String>,
}

/// How a client reaches a server.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientTransport {
    /// A program, over its standard input and output.
    Program {
        /// The program: a path or a name.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Its variables.
        environment: BTreeMap<String, Setting>,
    },
    /// A URL.
    Link {
        /// The URL.
        url: String,
        /// Headers to send.
        headers: BTreeMap<String, Setting>,
    },
}

/// Reads the servers of a client's configuration, in the order of their names.
///
/// # Errors
/// When the file as a whole cannot be read; a single server that cannot be registered is left out.
pub fn read(text: &str, placeholders: &Placeholders) -> Result<ClientConfig, ClientConfigError> {
    let text = without_comments(text);
    let whole: Value = decode_text(&text, Profile::FILE.of_bytes(IMPORT_BYTES))
        .map_err(|error| ClientConfigError::Json(error.to_string()))?;
    let mut places = PLACES.iter().filter_map(|place| whole.pointer(place));
    let servers = places.find_map(Value::as_object);
    let servers = servers.ok_or(ClientConfigError::NoServers)?;
    if servers.len() > MCP_CLIENT_SERVERS {
        return Err(ClientConfigError::TooMany(servers.len()));
    }
    let mut config = ClientConfig::default();
    for (name, server) in servers {
        match read_server(name, server, placeholders) {
            Ok(server) => config.servers.push(server),
            Err(reason) => config.left_out.push((name.clone(), reason)),
        }
    }
    Ok(config)
}

fn read_server(
    name: &str,
    server: &Value,
    placeholders: &Placeholders,
) -> Result<ClientServer, String> {
    let server = server.as_object().ok_or("it is not an object")?;
    if server.get("disabled") == Some(&Value::Bool(true)) {
        return Err("the client has it disabled".to_owned());
    }
    let kind = server.get("type").and_then(Value::as_str);
    let url = ["url", "serverUrl", "httpUrl"]
        .iter()
        .find_map(|field| server.get(*field));
    let transport = match (server.get("command"), url) {
        (Some(command), None) => program(command, server, placeholders)?,
        (None, Some(url)) => link(url, kind, server, placeholders)?,
        (Some(_), Some(_)) => return Err("it has both a `command` and a `url`".to_owned()),
        (None, None) => return Err("it has neither a `command` nor a `url`".to_owned()),
    };
    Ok(ClientServer {
        name: name.to_owned(),
        transport,
        notes: notes(server),
    })
}

fn program(
    command: &Value,
    server: &Map<String, Value>,
    placeholders: &Placeholders,
) -> Result<ClientTransport, String> {
    let command = command.as_str().ok_or("its `command` is not a text")?;
    let mut arguments = Vec::new();
    for argument in list(server, "args")? {
        let argument = argument
            .as_str()
            .map(str::to_owned)
            .or_else(|| scalar(argument))
            .ok_or("one of its `args` is not a text")?;
        arguments.push(placeholders.plain(&argument, "args")?);
    }
    Ok(ClientTransport::Program {
        command: placeholders.plain(command, "command")?,
        arguments,
        environment: settings(server, "env", placeholders)?,
    })
}

fn link(
    url: &Value,
    kind: Option<&str>,
    server: &Map<String, Value>,
    placeholders: &Placeholders,
) -> Result<ClientTransport, String> {
    if kind == Some("sse") {
        let reason = "its transport `sse` was replaced by streamable HTTP, which Charter speaks: ask for the server's \
                      URL of that transport";
        return Err(reason.to_owned());
    }
    let url = url.as_str().ok_or("its `url` is not a text")?;
    Ok(ClientTransport::Link {
        url: placeholders.plain(url, "url")?,
        headers: settings(server, "headers", placeholders)?,
    })
}

fn list<'s>(server: &'s Map<String, Value>, field: &str) -> Result<&'s [Value], String> {
    match server.get(field) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(values)) => Ok(values),
        Some(_) => Err(format!("its `{field}` is not a list")),
    }
}

/// Returns a number or truth value as text: some clients accept them for texts.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn settings(
    server: &Map<String, Value>,
    field: &str,
    placeholders: &Placeholders,
) -> Result<BTreeMap<String, Setting>, String> {
    let given = match server.get(field) {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(given)) => given,
        Some(_) => return Err(format!("its `{field}` is not an object")),
    };
    let mut settings = BTreeMap::new();
    for (name, value) in given {
        // Null removes a variable; a program gets none that it is not given.
        if value.is_null() {
            continue;
        }
        let text = value.as_str().map(str::to_owned).or_else(|| scalar(value));
        let text = text.ok_or_else(|| format!("the value of {name} in `{field}` is not a text"))?;
        settings.insert(name.clone(), placeholders.setting(&text));
    }
    Ok(settings)
}

/// Notes on the fields whose meaning is lost.
fn notes(server: &Map<String, Value>) -> Vec<String> {
    let known = [
        "command",
        "args",
        "env",
        "url",
        "serverUrl",
        "httpUrl",
        "headers",
        "disabled",
    ];
    let lost = server
        .keys()
        .filter(|field| !known.contains(&field.as_str()) && !IGNORED.contains(&field.as_str()));
    lost.map(|field| match field.as_str() {
        "cwd" => "`cwd` is not kept: the program starts in a folder of its own".to_owned(),
        "envFile" => "`envFile` is not read: name its variables in `environment`".to_owned(),
        "oauth" | "auth" => format!("`{field}` is not kept: name a header with the credential"),
        other => format!("`{other}` is not kept"),
    })
    .collect()
}

#[cfg(test)]
mod tests;
