//! The Model Context Protocol, from both sides: messages as the SDK parses them after measurement, and the tools that
//! a server lists.

use std::sync::LazyLock;
use std::time::Duration;

use charter_contract::ids::Label;
use charter_contract::json::{Profile, decode};
use charter_effects::{McpServerOptions, McpTransport, ToolSelection, TraceContext, import_tools};
use rmcp::model::{ClientJsonRpcMessage, ListToolsResult, ServerJsonRpcMessage};

use super::Verdict;

pub(super) const WORDS: &[&str] = &[
    "\"jsonrpc\":\"2.0\"",
    "\"id\":1",
    "\"method\"",
    "\"tools/call\"",
    "\"initialize\"",
    "\"params\"",
    "\"result\"",
    "\"error\"",
    "\"_meta\"",
    "\"arguments\"",
    "\"content\"",
    "\"structuredContent\"",
    "\"name\"",
    "\"code\":-32603",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "\"text\"",
];

pub(super) const TOOL_WORDS: &[&str] = &[
    "\"tools\"",
    "\"name\"",
    "\"description\"",
    "\"inputSchema\"",
    "\"outputSchema\"",
    "\"annotations\"",
    "\"type\"",
    "\"object\"",
    "\"properties\"",
    "\"required\"",
    "\"anyOf\"",
    "\"$ref\"",
    "\"$defs\"",
    "\"default\"",
    "\"enum\"",
    "\"pattern\"",
    "\"nextCursor\"",
    "\"title\"",
    "\"read\"",
    "null",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
];

/// Measures and parses a message, as from a client and as from a server.
pub(super) fn message(input: &[u8]) -> Verdict {
    let from_client = decode::<ClientJsonRpcMessage>(input, Profile::MCP_MESSAGE).map(drop);
    let from_server = decode::<ServerJsonRpcMessage>(input, Profile::MCP_MESSAGE).map(drop);
    Verdict::from_result(&from_client.or(from_server))
}

/// Converts the tools that a server lists to documents; some are omitted.
pub(super) fn tools(input: &[u8]) -> Verdict {
    static OPTIONS: LazyLock<McpServerOptions> = LazyLock::new(|| McpServerOptions {
        name: Label::parse("files").expect("a name"),
        transport: McpTransport::Http {
            url: "https://mcp.example.com/".to_owned(),
            headers: Vec::new(),
            egress: Vec::new(),
        },
        selection: ToolSelection::default(),
        readonly: ["read".to_owned()].into(),
        timeout: Duration::from_secs(9),
        start_timeout: Duration::from_secs(60),
        refresh: Duration::from_secs(60),
        trace: TraceContext::default(),
        credential: None,
        listing: None,
        asks: false,
        offers: false,
    });
    let Ok(listed) = decode::<ListToolsResult>(input, Profile::MCP_MESSAGE) else {
        return Verdict::Refused;
    };
    let (tools, left_out) = import_tools(&OPTIONS, &listed.tools);
    assert!(
        tools.len() + left_out.len() <= listed.tools.len() + 1,
        "more tools than were listed"
    );
    match tools.is_empty() {
        true => Verdict::Refused,
        false => Verdict::Accepted,
    }
}
