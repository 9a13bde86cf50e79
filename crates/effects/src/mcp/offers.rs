//! Resources and prompts of a server: lists them for clients, and makes reading them a readonly tool of the catalogue,
//! so that the gate decides on it and the journal records it. Must not know which clients see them.

use std::sync::LazyLock;
use std::time::Duration;

use charter_contract::agentic::error::ErrorType;
use charter_contract::bounds::OFFERED_ENTRIES;
use charter_contract::canonical;
use charter_contract::catalogue::tool::{IMPORTED_PREFIX, Tool, ToolClass};
use charter_contract::catalogue::vocabulary::PermissionLevel;
use charter_contract::cause::chain;
use charter_contract::hex;
use charter_contract::ids::Label;
use charter_contract::json::text_length;
use charter_contract::validate;
use rmcp::model::{
    ClientRequest, GetPromptRequestParams, ListPromptsRequest, ListResourceTemplatesRequest,
    ListResourcesRequest, PaginatedRequestParams, ReadResourceRequestParams, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::order::ServerOrder;
use super::{ImportedTool, McpServerOptions, Server};
use crate::call::{McpTool, ToolCall};
use crate::outcome::Failure;

/// The parts after the server's name in the ids of the tools that read a resource, and a prompt.
const READ_RESOURCE: &str = "resources.read";
const GET_PROMPT: &str = "prompts.get";
/// Timeout of all lists.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// Most pages of a list.
const MAX_PAGES: usize = 64;
/// Largest list, in bytes of JSON.
const MAX_LISTED_BYTES: usize = 4 << 20;

/// Their definitions. A server's tool has the digest of JSON, so none can have these.
static RESOURCE_DEFINITION: LazyLock<String> =
    LazyLock::new(|| content_hash("charter resources/read"));
static PROMPT_DEFINITION: LazyLock<String> = LazyLock::new(|| content_hash("charter prompts/get"));

/// The resources and prompts of a server, as JSON of the protocol.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerOffers {
    /// Resources.
    pub resources: Vec<Value>,
    /// Templates of further resources.
    pub templates: Vec<Value>,
    /// Prompts.
    pub prompts: Vec<Value>,
}

/// Returns the id of the tool that reads a resource of a server.
#[must_use]
pub fn resource_tool(server: &Label) -> String {
    format!("{IMPORTED_PREFIX}{server}.{READ_RESOURCE}")
}

/// Returns the id of the tool that gets a prompt of a server.
#[must_use]
pub fn prompt_tool(server: &Label) -> String {
    format!("{IMPORTED_PREFIX}{server}.{GET_PROMPT}")
}

/// The tools that read resources and prompts, for a server that offers them to clients.
pub(super) fn tools(options: &McpServerOptions) -> Vec<ImportedTool> {
    if !options.offers {
        return Vec::new();
    }
    let server = &options.name;
    let resource = document(
        options,
        READ_RESOURCE,
        &RESOURCE_DEFINITION,
        &format!("Reads a resource of the MCP server `{server}`."),
        &json!({"type": "object", "required": ["uri"], "additionalProperties": false, "properties": {
            "uri": {"type": "string", "description": "The address of the resource."},
        }}),
    );
    let prompt = document(
        options,
        GET_PROMPT,
        &PROMPT_DEFINITION,
        &format!("Gets a prompt of the MCP server `{server}`."),
        &json!({"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
            "name": {"type": "string", "description": "The name of the prompt."},
            "arguments": {"type": "object", "description": "Its arguments."},
        }}),
    );
    [resource, prompt].into_iter().flatten().collect()
}

fn document(
    options: &McpServerOptions,
    name: &str,
    definition: &str,
    description: &str,
    input: &Value,
) -> Option<ImportedTool> {
    let server = options.name.as_ref();
    let mut document = json!({
        "tool_id": format!("{IMPORTED_PREFIX}{server}.{name}"),
        "name": name,
        "provider": "mcp",
        "service": server,
        "tool_class": ToolClass::Readonly,
        "domain": "platform",
        "description": description,
        "execution_target": "server",
        "language": "mcp",
        "requires_approval": false,
        "permission_level": PermissionLevel::User,
        "timeout_ms": u64::try_from(options.timeout.as_millis()).unwrap_or(u64::MAX),
        "implementation": {
            "type": "mcp", "server": server, "tool": name, "definition": definition,
        },
        "input_schema": input,
    });
    options.add_credential(&mut document);
    match validate::read_value::<Tool>(&document) {
        Ok((document, _)) => Some(ImportedTool {
            content_hash: content_hash(&canonical::text(json!(document))),
            document,
        }),
        Err(violations) => {
            let first = violations.first().map(ToString::to_string);
            tracing::error!(
                mcp.server = server,
                ?first,
                "a tool for resources is not valid"
            );
            None
        }
    }
}

/// Returns the request of a call that reads a resource or a prompt; `None` for a call of a server's tool.
pub(super) fn order(call: &ToolCall, tool: &McpTool) -> Result<Option<ServerOrder>, Failure> {
    let text = |name: &str| {
        let value = call.parameters.get(name).and_then(Value::as_str);
        value.map(str::to_owned).ok_or_else(|| {
            let message = format!("the parameter `{name}` must be a text");
            Failure::new(ErrorType::InputError, message)
        })
    };
    if tool.definition == *RESOURCE_DEFINITION {
        let params = ReadResourceRequestParams::new(text("uri")?);
        return Ok(Some(ServerOrder::Resource(params)));
    }
    if tool.definition == *PROMPT_DEFINITION {
        let mut params = GetPromptRequestParams::new(text("name")?);
        let arguments = call.parameters.get("arguments").and_then(Value::as_object);
        params.arguments = arguments.cloned();
        return Ok(Some(ServerOrder::Prompt(params)));
    }
    Ok(None)
}

/// One of the lists.
#[derive(Debug, Clone, Copy)]
enum OfferKind {
    Resources,
    Templates,
    Prompts,
}

/// Lists the resources and prompts of a server. A list that cannot be read is empty, and does not affect the others.
pub(super) async fn list(peer: &Peer<RoleClient>, server: &Server) -> ServerOffers {
    if !server.options.offers {
        return ServerOffers::default();
    }
    let info = peer.peer_info();
    let capabilities = info.map(|info| info.capabilities.clone());
    let capabilities = capabilities.unwrap_or_default();
    let has_resources = capabilities.resources.is_some();
    let has_prompts = capabilities.prompts.is_some();
    ServerOffers {
        resources: listed(peer, server, OfferKind::Resources, has_resources).await,
        templates: listed(peer, server, OfferKind::Templates, has_resources).await,
        prompts: listed(peer, server, OfferKind::Prompts, has_prompts).await,
    }
}

/// Returns one list without secrets.
async fn listed(
    peer: &Peer<RoleClient>,
    server: &Server,
    kind: OfferKind,
    is_offered: bool,
) -> Vec<Value> {
    if !is_offered {
        return Vec::new();
    }
    let pages = tokio::time::timeout(LIST_TIMEOUT, pages(peer, kind)).await;
    match pages.unwrap_or_else(|_| Err("it did not answer in time".to_owned())) {
        Ok(entries) => {
            let entries = entries.into_iter();
            entries
                .map(|entry| server.redactor.apply_to(entry))
                .collect()
        }
        Err(reason) => {
            let reason = server.redactor.apply(&reason);
            tracing::warn!(
                mcp.server = %server.options.name, list = ?kind, %reason,
                "an MCP server's list cannot be offered to clients"
            );
            Vec::new()
        }
    }
}

/// Returns all entries of a list, within bounds. Bypasses the SDK's cache.
async fn pages(peer: &Peer<RoleClient>, kind: OfferKind) -> Result<Vec<Value>, String> {
    let (mut entries, mut bytes) = (Vec::new(), 0);
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let mut params = PaginatedRequestParams::default();
        params.cursor = cursor.take();
        let (page, next) = page(peer, kind, params).await?;
        bytes += page.iter().map(text_length).sum::<usize>();
        entries.extend(page);
        if entries.len() > OFFERED_ENTRIES {
            return Err(format!("it has more than {OFFERED_ENTRIES} entries"));
        }
        if bytes > MAX_LISTED_BYTES {
            return Err(format!("it is larger than {MAX_LISTED_BYTES} bytes"));
        }
        match next {
            Some(next) => cursor = Some(next),
            None => return Ok(entries),
        }
    }
    Err(format!("it has more than {MAX_PAGES} pages"))
}

async fn page(
    peer: &Peer<RoleClient>,
    kind: OfferKind,
    params: PaginatedRequestParams,
) -> Result<(Vec<Value>, Option<String>), String> {
    let request = match kind {
        OfferKind::Resources => {
            ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(params))
        }
        OfferKind::Templates => ClientRequest::ListResourceTemplatesRequest(
            ListResourceTemplatesRequest::with_param(params),
        ),
        OfferKind::Prompts => {
            ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(params))
        }
    };
    let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options());
    let answer = sent.await.map_err(|error| chain(&error))?;
    match answer
        .await_response()
        .await
        .map_err(|error| chain(&error))?
    {
        ServerResult::ListResourcesResult(page) => Ok((values(&page.resources), page.next_cursor)),
        ServerResult::ListResourceTemplatesResult(page) => {
            Ok((values(&page.resource_templates), page.next_cursor))
        }
        ServerResult::ListPromptsResult(page) => Ok((values(&page.prompts), page.next_cursor)),
        _ => Err("it is not a list".to_owned()),
    }
}

fn values(entries: &[impl Serialize]) -> Vec<Value> {
    entries.iter().map(|entry| json!(entry)).collect()
}

/// Returns the hash of a text, as documents have it.
pub(super) fn content_hash(text: &str) -> String {
    format!("sha256:{}", hex::encode(&Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::super::ServerCredential;
    use super::super::fake::options;
    use super::*;

    #[test]
    fn only_a_server_that_offers_them_has_tools_for_resources_and_prompts() {
        let mut options = options("https://mcp.example.com/");
        assert_eq!(tools(&options), Vec::new());
        options.offers = true;
        let made = tools(&options);
        let ids: Vec<String> = made
            .iter()
            .map(|tool| tool.document.tool_id.to_string())
            .collect();
        let server = &options.name;
        assert_eq!(ids, [resource_tool(server), prompt_tool(server)]);
    }

    #[test]
    fn a_resource_is_read_with_the_credential_of_its_reader() {
        let mut options = options("https://mcp.example.com/");
        options.offers = true;
        options.credential = Some(ServerCredential {
            name: Label::parse("issues").unwrap(),
            variable: "ISSUES".to_owned(),
            header: "authorization".to_owned(),
        });
        for tool in tools(&options) {
            let named: Vec<&str> = tool
                .document
                .credentials
                .iter()
                .map(|named| named.name.as_str())
                .collect();
            assert_eq!(named, ["issues"], "{}", tool.document.tool_id);
        }
    }
}
