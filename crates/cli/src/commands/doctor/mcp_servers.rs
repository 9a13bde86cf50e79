//! Asks each registered MCP server for its tools, at the time of the check. Must not know how a server is reached.

use std::sync::Arc;
use std::time::Duration;

use charter_effects::{McpServerState, ServerImports, SkippedTool};

use super::{Row, State};
use crate::boot::{self, LateCredentials, McpConsumer};
use crate::config::Config;

/// A start that took longer is slow: clients that wait for it time out after about this long.
const SLOW_START: Duration = Duration::from_secs(10);

/// An unreachable server is an error. A server without imports, and each skipped tool, is a warning.
pub(super) async fn rows(config: &Config) -> Vec<Row> {
    if config.mcp.servers.is_empty() {
        return Vec::new();
    }
    let connected = match boot::sandbox(config, "doctor").await {
        Ok(sandbox) => {
            let (sandbox, credentials) = (Arc::new(sandbox), LateCredentials::default());
            boot::connect_mcp(config, &sandbox, McpConsumer::Doctor, &credentials).await
        }
        Err(error) => Err(error),
    };
    let servers = match connected {
        Ok(Some(servers)) => servers,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![row(State::Wrong, format!("{error:#}"))],
    };
    let imports = servers.imports().borrow().clone();
    let mut rows = Vec::new();
    for (name, imported) in &imports.servers {
        let (state, found) = connection_state(imported);
        rows.push(row(state, format!("{name}: {found}")));
        rows.extend(imported.left_out.iter().map(|left| {
            let what = match left.part {
                None => "not imported",
                Some(_) => "imported partly",
            };
            row(State::Warning, format!("{name}: {what}: {left}"))
        }));
    }
    rows
}

fn row(state: State, found: String) -> Row {
    Row {
        state,
        check: "mcp server",
        found,
    }
}

/// The state of a server, and how many of its tools are imported.
fn connection_state(server: &ServerImports) -> (State, String) {
    let slow = server.started_in.filter(|took| *took > SLOW_START);
    let slow = slow.map(|took| format!("; a slow start: it took {} s", took.as_secs()));
    let slow = slow.unwrap_or_default();
    match &server.state {
        McpServerState::Connected => {
            let (state, counted) = tool_counts(server);
            (state, counted + &slow)
        }
        McpServerState::Failed { reason } => (State::Wrong, reason.clone()),
        McpServerState::Connecting => {
            let hint = "a server that takes longer to start needs a higher `start_timeout_ms`";
            (State::Warning, format!("still starting; {hint}"))
        }
    }
}

/// The number of imported tools out of all. Zero is a warning.
fn tool_counts(server: &ServerImports) -> (State, String) {
    let whole = |left: &&SkippedTool| left.part.is_none();
    let (imported, left_out) = (
        server.tools.len(),
        server.left_out.iter().filter(whole).count(),
    );
    match (imported, left_out) {
        (0, 0) => (State::Warning, "it has no tools".to_owned()),
        (0, all) => (
            State::Warning,
            format!("no tools imported: all {all} are skipped, for these reasons"),
        ),
        (1, 0) => (State::Ok, "1 tool imported".to_owned()),
        (imported, 0) => (State::Ok, format!("{imported} tools imported")),
        (imported, left) => {
            let all = imported + left;
            (State::Ok, format!("{imported} of {all} tools imported"))
        }
    }
}

#[cfg(test)]
mod tests {
    use charter_contract::catalogue::tool::Tool;
    use charter_effects::ImportedTool;
    use serde_json::json;

    use charter_effects::ServerOffers;

    use super::*;

    fn server(tools: usize, left_out: usize) -> ServerImports {
        let tool: Tool = serde_json::from_value(json!({
            "tool_id": "mcp.s.t", "name": "t", "provider": "mcp", "tool_class": "write", "domain": "platform",
            "description": "d", "language": "mcp", "requires_approval": true, "permission_level": "system",
            "implementation": {"type": "mcp", "server": "s", "tool": "t", "definition": "sha256:0"},
        }))
        .unwrap();
        let imported = ImportedTool {
            document: tool,
            content_hash: "sha256:0".to_owned(),
        };
        let left = SkippedTool {
            tool: "x".to_owned(),
            part: None,
            reason: "y".to_owned(),
        };
        ServerImports {
            state: McpServerState::Connected,
            tools: vec![imported; tools],
            left_out: vec![left; left_out],
            offers: ServerOffers::default(),
            started_in: Some(Duration::from_secs(1)),
        }
    }

    #[test]
    fn a_server_of_which_nothing_is_imported_is_never_ok() {
        let found = |tools, left_out| connection_state(&server(tools, left_out));
        assert_eq!(found(3, 0), (State::Ok, "3 tools imported".to_owned()));
        assert_eq!(found(3, 1), (State::Ok, "3 of 4 tools imported".to_owned()));
        let none = "no tools imported: all 2 are skipped, for these reasons";
        assert_eq!(found(0, 2), (State::Warning, none.to_owned()));
        assert_eq!(found(0, 0), (State::Warning, "it has no tools".to_owned()));
    }

    #[test]
    fn a_slow_start_is_reported_but_is_not_an_error() {
        let mut slow = server(1, 0);
        slow.started_in = Some(Duration::from_millis(11_400));
        let said = "1 tool imported; a slow start: it took 11 s";
        assert_eq!(connection_state(&slow), (State::Ok, said.to_owned()));
        slow.state = McpServerState::Connecting;
        assert_eq!(connection_state(&slow).0, State::Warning);
    }
}
