//! `charter mcp snapshot`: writes the tools of the MCP servers to a file that is committed with a package, so that its
//! policies can be tested without the servers; and reads such a file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use charter_contract::bounds::PACKAGE_BYTES;
use charter_contract::catalogue::tool::{IMPORTED_PREFIX, Tool};
use charter_contract::error_code::ErrorCode;
use charter_contract::json::{Profile, decode_text};
use charter_contract::validate::read_value;
use charter_domain::package::MCP_SNAPSHOT;
use charter_effects::{Imports, McpServerState};
use clap::Args;
use serde_json::{Value, json};

use crate::boot::{self, LateCredentials, McpConsumer};
use crate::config::Config;
use crate::failure::{EXIT_OK, ReportedFailure};
use crate::output::{self, Format};

/// Write the tools of the MCP servers to a file, for tests of policies.
///
/// Starts the servers of the configuration and waits until each has answered. `charter policy test` reads the tools from
/// tests/mcp-tools.json of a package, so that policies over tools of MCP servers can be tested without the servers. Commit
/// the file, and write it again after a server's tools changed.
#[derive(Debug, Args)]
pub(super) struct Snapshot {
    /// The package's directory; standard output if absent.
    #[arg(long, value_name = "DIR")]
    package: Option<PathBuf>,
}

pub(super) async fn run(command: &Snapshot, config: &Config, format: Format) -> anyhow::Result<u8> {
    let sandbox = Arc::new(boot::sandbox(config, "snapshot").await?);
    let credentials = LateCredentials::default();
    let connecting = boot::connect_mcp(config, &sandbox, McpConsumer::Doctor, &credentials);
    let Some(servers) = connecting.await? else {
        let failure = ReportedFailure::new(
            ErrorCode::InvalidRequest,
            "the configuration has no MCP servers",
        );
        return Err(failure
            .with_hint("`charter mcp add -- PROGRAM` registers one.")
            .into());
    };
    let imports = servers.imports().borrow().clone();
    let snapshot = snapshot(&imports)?;
    let Some(folder) = &command.package else {
        output::print(format, &snapshot, |snapshot| {
            serde_json::to_string_pretty(snapshot).unwrap_or_default()
        })?;
        return Ok(EXIT_OK);
    };
    let file = folder.join(MCP_SNAPSHOT);
    let writing = || format!("writing {}", file.display());
    let text = serde_json::to_string_pretty(&snapshot).with_context(writing)? + "\n";
    ensure!(
        text.len() <= PACKAGE_BYTES,
        "the tools take {} bytes; a package holds {PACKAGE_BYTES}",
        text.len()
    );
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).with_context(writing)?;
    }
    std::fs::write(&file, text).with_context(writing)?;
    let tools = snapshot["tools"].as_array().map_or(0, Vec::len);
    let report = json!({"file": file, "tools": tools});
    output::print(format, &report, |_| {
        format!("{}: {tools} tools", file.display())
    })?;
    Ok(EXIT_OK)
}

/// The tools of all servers, by their ids.
///
/// # Errors
/// When a server has not answered: its tools would be missing without a sign.
fn snapshot(imports: &Imports) -> anyhow::Result<Value> {
    for (name, server) in &imports.servers {
        match &server.state {
            McpServerState::Connected => {}
            McpServerState::Failed { reason } => bail!("the MCP server `{name}` failed: {reason}"),
            McpServerState::Connecting => bail!("the MCP server `{name}` has not answered yet"),
        }
    }
    let tools = imports.tools().map(|tool| &tool.document);
    let tools: BTreeMap<&str, &Tool> = tools.map(|tool| (tool.tool_id.as_str(), tool)).collect();
    Ok(json!({"tools": tools.into_values().collect::<Vec<_>>()}))
}

/// Reads the tools of a snapshot.
///
/// # Errors
/// When the text is none, or contains a tool that is invalid or of no MCP server.
pub(in crate::commands) fn read(text: &str) -> anyhow::Result<Vec<Tool>> {
    let value: Value = decode_text(text, Profile::FILE).context("reading a snapshot of tools")?;
    let tools = value.get("tools").and_then(Value::as_array);
    let tools = tools.context("a snapshot of tools has the list `tools`")?;
    let mut read = Vec::new();
    for tool in tools {
        let (tool, _) = read_value::<Tool>(tool).map_err(|violations| {
            let violations: Vec<String> = violations.iter().map(ToString::to_string).collect();
            anyhow::anyhow!(
                "a tool of the snapshot is invalid: {}",
                violations.join("; ")
            )
        })?;
        ensure!(
            tool.tool_id.as_str().starts_with(IMPORTED_PREFIX),
            "the tool `{}` of the snapshot is of no MCP server",
            tool.tool_id
        );
        read.push(tool);
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::Label;
    use charter_effects::{ImportedTool, ServerImports, ServerOffers};

    use super::*;

    fn imports(state: McpServerState) -> Imports {
        let tool: Tool = serde_json::from_value(json!({
            "tool_id": "mcp.files.drop", "name": "drop", "provider": "mcp", "tool_class": "write",
            "domain": "platform", "description": "d", "language": "mcp", "requires_approval": true,
            "permission_level": "system", "execution_target": "server",
            "implementation": {
                "type": "mcp", "server": "files", "tool": "drop",
                "definition": format!("sha256:{}", "0".repeat(64)),
            },
            "input_schema": {"type": "object"},
        }))
        .unwrap();
        let imported = ImportedTool {
            document: tool,
            content_hash: "sha256:0".to_owned(),
        };
        let server = ServerImports {
            state,
            tools: vec![imported],
            left_out: Vec::new(),
            offers: ServerOffers::default(),
            started_in: None,
        };
        Imports {
            servers: [(Label::parse("files").unwrap(), server)].into(),
        }
    }

    #[test]
    fn a_snapshot_is_read_as_it_was_written() {
        let imports = imports(McpServerState::Connected);
        let written = snapshot(&imports).unwrap();
        let read = read(&written.to_string()).unwrap();
        let tools: Vec<&Tool> = imports.tools().map(|tool| &tool.document).collect();
        assert_eq!(read.iter().collect::<Vec<_>>(), tools);
    }

    #[test]
    fn a_server_without_an_answer_stops_a_snapshot() {
        let reason = "no handshake".to_owned();
        let refused = snapshot(&imports(McpServerState::Failed { reason })).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the MCP server `files` failed: no handshake"
        );
        assert!(snapshot(&imports(McpServerState::Connecting)).is_err());
    }

    #[test]
    fn a_tool_of_a_package_is_not_in_a_snapshot() {
        let imports = imports(McpServerState::Connected);
        let mut written = snapshot(&imports).unwrap();
        written["tools"][0]["tool_id"] = json!("files.drop");
        let refused = read(&written.to_string()).unwrap_err().to_string();
        assert_eq!(
            refused,
            "the tool `files.drop` of the snapshot is of no MCP server"
        );
        assert!(read("{}").is_err());
    }
}
