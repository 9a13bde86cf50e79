//! One call of a server's tool: checks the connection and the definition, sends the request, reads the answer. Must not
//! know how a connection is kept, or the approver of the call.

use charter_contract::agentic::error::ErrorType;
use charter_contract::bounds::LINKED_RESULT_BYTES;
use charter_contract::cause::chain;
use charter_contract::input_schema::null_when_absent;
use charter_contract::json::{memory_of, text_length};
use charter_contract::visible::clean;
use rmcp::model::{CallToolRequestParams, ErrorCode};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::{Map, Value};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use super::exchange::{ServerAnswer, ServerExchange};
use super::keep::{self, Link, LiveConnection};
use super::order::ServerOrder;
use super::{Server, content, http, import, offers};
use crate::call::{McpTool, Repeat, ToolCall};
use crate::call_link::{CallEnd, CallLink};
use crate::kept::set_aside;
use crate::outcome::{Failure, Success};
use crate::room::OutputSize;

/// Most characters of a server's message.
const MAX_MESSAGE: usize = 2_000;

impl Server {
    /// Makes one call within its limits. If the future is dropped or cancelled, the server receives a cancellation.
    pub(super) async fn call(
        &self,
        call: &ToolCall,
        tool: &McpTool,
        cancel: &CancellationToken,
    ) -> Result<Success, Failure> {
        let result = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Failure::cancelled()),
            () = cancelled_by_client(tool) => Err(Failure::cancelled()),
            made = self.make_in_time(call, tool)=> made,
        };
        match result {
            Ok(output) => {
                // The SDK has already parsed the output: reserve memory before processing it.
                let size = OutputSize {
                    bytes: 0,
                    memory: memory_of(&output),
                };
                let set_aside = set_aside(call.room.as_ref(), size).await;
                set_aside.map_err(|unread| unread.into_failure(|fault, _| fault.to_string()))?;
                Ok(Success {
                    output: self.output_redactor.apply_to_output(output).await?,
                    log: String::new(),
                })
            }
            Err(failure) => Err(Failure {
                message: clean(&self.redactor.apply(&failure.message), MAX_MESSAGE),
                ..failure
            }),
        }
    }

    /// Makes one call. A call with a link has its timeout for each answer of the server.
    async fn make_in_time(&self, call: &ToolCall, tool: &McpTool) -> Result<Value, Failure> {
        let limit = call.limits.timeout;
        if tool.link.is_some() {
            return self.make(call, tool).await;
        }
        let made = tokio::time::timeout(limit, self.make(call, tool)).await;
        made.unwrap_or_else(|_| Err(self.timed_out(limit, tool)))
    }

    async fn make(&self, call: &ToolCall, tool: &McpTool) -> Result<Value, Failure> {
        let limit = call.limits.timeout;
        let preparing = async {
            let up = self.up().await?;
            let order = self.order(&up.peer, call, tool).await?;
            Ok::<_, Failure>((up, order))
        };
        let prepared = tokio::time::timeout(limit, preparing).await;
        let (up, order) = prepared.unwrap_or_else(|_| Err(self.timed_out(limit, tool)))?;
        let exchange = ServerExchange {
            server: self,
            up: &up,
            tool,
            timeout: limit,
        };
        let answer = exchange.carry_out(order).await?;
        let most = call.limits.output_bytes;
        if let Some(link) = &tool.link {
            self.end(link, &answer).await?;
        }
        match answer {
            ServerAnswer::Tool(result) => content::output(result, most, self.options.name.as_ref()),
            ServerAnswer::Document(document) => {
                let output = Value::Object(document);
                content::within(&output, most, self.options.name.as_ref())?;
                Ok(output)
            }
        }
    }

    /// Returns the request of a call, if the server still offers what was imported.
    async fn order(
        &self,
        peer: &Peer<RoleClient>,
        call: &ToolCall,
        tool: &McpTool,
    ) -> Result<ServerOrder, Failure> {
        if let Some(order) = offers::order(call, tool)? {
            return Ok(order);
        }
        self.must_offer(tool)?;
        let listed = self.as_imported(peer, tool).await?;
        let mut params = CallToolRequestParams::new(tool.name.clone());
        params.arguments = Some(arguments(call, tool, &listed));
        Ok(ServerOrder::Tool(params))
    }

    /// Passes the whole answer to the client of the call. For a larger one, the recorded output has to do.
    async fn end(&self, link: &CallLink, answer: &ServerAnswer) -> Result<(), Failure> {
        let whole = match answer {
            ServerAnswer::Tool(result) => serde_json::to_value(result),
            ServerAnswer::Document(document) => Ok(Value::Object(document.clone())),
        };
        let whole = whole.map_err(|error| self.unexpected(&error.to_string()))?;
        if text_length(&whole) > LINKED_RESULT_BYTES {
            return Ok(());
        }
        if let Value::Object(whole) = self.output_redactor.apply_to_output(whole).await? {
            link.finish(CallEnd::Result(whole));
        }
        Ok(())
    }

    /// The failure of a call that the server did not answer in time. The keeper detects a server that hangs, and
    /// restarts it.
    pub(super) fn timed_out(&self, limit: Duration, tool: &McpTool) -> Failure {
        self.look_again.notify_one();
        let name = &self.options.name;
        let limit = limit.as_millis();
        let message = format!("the MCP server `{name}` did not answer within {limit} ms");
        repeatable(Failure::new(ErrorType::TimeoutError, message), tool)
    }

    /// Waits for an open connection.
    async fn up(&self) -> Result<LiveConnection, Failure> {
        let mut link = self.link.subscribe();
        let settled = link
            .wait_for(|link| !matches!(link, Link::Connecting))
            .await;
        let settled = settled.map(|link| link.clone());
        let name = &self.options.name;
        let away = |reason: &str| {
            let message = format!("the MCP server `{name}` cannot be reached: {reason}");
            Failure::new(ErrorType::ExecutionError, message).retryable()
        };
        match settled {
            Ok(Link::Up(up)) => Ok(up),
            Ok(Link::Down { reason }) => Err(away(&reason)),
            Ok(Link::Connecting) | Err(_) => Err(away("the connection ended")),
        }
    }

    /// Refuses a tool that the configuration does not offer. A run may have pinned it before.
    fn must_offer(&self, tool: &McpTool) -> Result<(), Failure> {
        if self.options.selection.offers(&tool.name) {
            return Ok(());
        }
        let message = format!(
            "the configuration does not offer the tool `{}` of the MCP server `{}`: see `tools` and `deny` of the \
             server in `mcp.servers`",
            tool.name, self.options.name
        );
        Err(Failure::new(ErrorType::PermissionError, message))
    }

    /// Refuses a tool whose definition differs from the imported one: approvals and policies apply to the definition in
    /// the catalogue.
    async fn as_imported(
        &self,
        peer: &Peer<RoleClient>,
        tool: &McpTool,
    ) -> Result<rmcp::model::Tool, Failure> {
        let name = &self.options.name;
        let listed = keep::list(peer).await.map_err(|reason| {
            self.look_again.notify_one();
            let message = format!("the MCP server `{name}` cannot list its tools: {reason}");
            Failure::new(ErrorType::ExecutionError, message).retryable()
        })?;
        let mut listed = listed.tools.into_iter();
        let what = match listed.find(|listed| listed.name == tool.name) {
            Some(now) if import::digest(&now) == tool.definition => return Ok(now),
            Some(_) => "changed the definition of",
            None => "no longer offers",
        };
        self.look_again.notify_one();
        let message = format!(
            "the MCP server `{name}` {what} the tool `{}` since its import; it is not called until the catalogue has \
             the current definition",
            tool.name
        );
        Err(Failure::new(ErrorType::PermissionError, message))
    }

    pub(super) fn unexpected(&self, what: &str) -> Failure {
        let message = format!("the MCP server `{}` {what}", self.options.name);
        Failure::new(ErrorType::ExecutionError, message)
    }

    /// Converts a failed exchange to a failure of the call.
    pub(super) fn broken(
        &self,
        error: &ServiceError,
        up: &LiveConnection,
        tool: &McpTool,
    ) -> Failure {
        if let ServiceError::McpError(error) = error
            && error.code == http::UNUSABLE
        {
            let what = format!("gave an unusable answer: {}", error.message);
            return self.unexpected(&what).answered();
        }
        if let ServiceError::McpError(error) = error {
            let kind = match error.code {
                ErrorCode::INVALID_PARAMS => ErrorType::InputError,
                _ => ErrorType::ExecutionError,
            };
            let message = format!(
                "the MCP server `{}` answered: {}",
                self.options.name, error.message
            );
            return Failure::new(kind, message);
        }
        self.look_again.notify_one();
        let why = up.traces.reason().unwrap_or_else(|| chain(error));
        let failure = self.unexpected(&format!("gave an unusable answer: {why}"));
        if up.traces.is_at_fault() || matches!(error, ServiceError::UnexpectedResponse) {
            return failure.answered();
        }
        repeatable(failure, tool)
    }
}

/// Waits until the client that takes part in a call cancels it.
async fn cancelled_by_client(tool: &McpTool) {
    match &tool.link {
        Some(link) => link.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Returns the arguments by the server's names, and null for required arguments that may be null.
fn arguments(call: &ToolCall, tool: &McpTool, listed: &rmcp::model::Tool) -> Map<String, Value> {
    let given = call.parameters.iter().map(|(name, value)| {
        let wire_name = tool.wire_names.get(name).unwrap_or(name);
        (wire_name.clone(), value.clone())
    });
    let mut arguments: Map<String, Value> = given.collect();
    for name in null_when_absent(&listed.input_schema) {
        arguments.entry(name).or_insert(Value::Null);
    }
    arguments
}

/// Marks the failure as retryable if the call may be repeated: it may have been executed.
fn repeatable(failure: Failure, tool: &McpTool) -> Failure {
    match tool.repeat {
        Repeat::Safe => failure.retryable(),
        Repeat::Unsafe => failure,
    }
}
