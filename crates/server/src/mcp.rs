//! The Model Context Protocol over the engine: revision 2026-07-28, which has no sessions, and those with
//! a handshake before it (2025-11-25, 2025-06-18), by the official SDK.
//!
//! Few tools, and each tells only as much as the next needs: `find` names things, `open` shows one,
//! `run`, `call` and `start_mission` use it, `status` and `cancel` look after what was started. There is no tool that
//! confirms or approves: that is a person's word, so a person is asked (elicitation), or told where to
//! say it. Must not know how anything is decided; whatever it does is a use case of the engine in the
//! name of the caller that the credential stands for.

mod call;
mod failure;
mod message;
mod mission;
mod mount;
mod progress;
mod prompts;
mod question;
mod resources;
mod schemas;
mod sessions;
mod settle;
mod skills;
mod table;
mod tasks;
mod tools;
mod work;

use std::borrow::Cow;
use std::sync::Arc;

use axum::http::request::Parts;
use charter_contract::bounds::MCP_CALLS;
use charter_contract::error_code::ErrorCode;
use charter_engine::{Caller, Engine, EngineError, Shares};
use prometheus_client::metrics::counter::Counter;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, GetPromptRequestParams, GetPromptResponse,
    GetSkillRequestParams, GetSkillResult, GetTaskParams, GetTaskResult, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, RequestStateCodec, ServerCapabilities, ServerConfig, Tool,
    UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use tracing::{Instrument, Span};
use uuid::Uuid;

use crate::operations;
use crate::shares::Use;

pub(crate) use mount::{PATH, mounted};
#[cfg(test)]
pub(crate) use table::TOOLS;

use call::Call;
use failure::{invalid_cursor, protocol_error, unserved};

/// The revisions that are spoken, oldest first.
const VERSIONS: [ProtocolVersion; 3] = [
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// What a client's model is told about the tools.
const INSTRUCTIONS: &str = "Charter knows an organisation's skills (questions it can answer), playbooks \
(procedures that change something) and tools. Say what you want to `run` and it is routed to the right \
skill; or `find` what there is, `open` one thing, then `run` it by id, or `call` a single tool. Answers \
carry findings with evidence; read evidence://ID for the proof. A goal that takes planning and several \
workers is a mission: `start_mission`, and read mission://ID. Agent skills are instructions for you: find \
them, open one, follow it. Ask the reference library with `ask_lens`; what is worth keeping for later \
`remember`, and `recall` it before you ask a person again. Changes wait for a person, who is asked \
through you where your client can ask; `status` says where something stands.";

/// Whose requests a connection carries.
#[derive(Debug, Clone)]
enum Who {
    /// Each has its caller, whom the HTTP layer found by the credential.
    EachRequests,
    /// One process, one caller.
    Always(Caller),
}

/// What all connections share.
struct Shared {
    engine: Arc<Engine>,
    /// Seals what a client keeps for the server between two rounds of a call.
    seal: RequestStateCodec,
    /// Tool calls under way.
    calls: Shares,
}

/// The server's side of one connection.
#[derive(Clone)]
pub(crate) struct Mcp {
    shared: Arc<Shared>,
    who: Who,
}

/// Why a connection over standard input and output ended early.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The client did not shake hands.
    #[error("starting the protocol")]
    Start(#[source] Box<rmcp::service::ServerInitializeError>),
    /// The connection's task broke.
    #[error("serving the protocol")]
    Serve(#[source] tokio::task::JoinError),
}

/// Serves one caller over standard input and output, until the client closes them or `stop` resolves.
///
/// # Errors
/// [`McpError`].
pub async fn serve_stdio(
    engine: Arc<Engine>,
    caller: Caller,
    stop: impl Future<Output = ()>,
) -> Result<(), McpError> {
    let mcp = Mcp {
        shared: Arc::new(Shared::new(engine, Counter::default())),
        who: Who::Always(caller),
    };
    let serving = mcp.serve(rmcp::transport::io::stdio_pipes());
    tokio::pin!(stop);
    let running = tokio::select! {
        started = serving => match started {
            Ok(running) => running,
            // A client that leaves before it says anything wanted nothing.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(McpError::Start(Box::new(error))),
        },
        () = &mut stop => return Ok(()),
    };
    let ended = running.cancellation_token();
    let waiting = running.waiting();
    tokio::pin!(waiting);
    tokio::select! {
        quit = &mut waiting => quit.map(drop).map_err(McpError::Serve),
        () = stop => {
            ended.cancel();
            waiting.await.map(drop).map_err(McpError::Serve)
        }
    }
}

impl Shared {
    /// `refused` counts the calls that found no place.
    fn new(engine: Arc<Engine>, refused: Counter) -> Self {
        // Two random 128-bit numbers: a key that no other process and no client knows.
        let key = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes);
        Self {
            engine,
            seal: RequestStateCodec::new_unchecked(key.concat()),
            calls: Use::Calls.shared(MCP_CALLS, refused),
        }
    }
}

/// The span of the HTTP request that a message came with; the SDK works in tasks of its own.
fn span_of(context: &RequestContext<RoleServer>) -> Span {
    let parts = context.extensions.get::<Parts>();
    let span = parts.and_then(|parts| parts.extensions.get::<Span>());
    span.cloned().unwrap_or_else(Span::none)
}

impl Mcp {
    /// The caller of a request.
    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        match &self.who {
            Who::Always(caller) => Ok(caller.clone()),
            Who::EachRequests => {
                let parts = context.extensions.get::<Parts>();
                let caller = parts.and_then(|parts| parts.extensions.get::<Caller>());
                caller.cloned().ok_or_else(|| {
                    let error = EngineError::new(ErrorCode::Unauthenticated, "nobody is calling");
                    protocol_error(&error)
                })
            }
        }
    }

    /// The call of a method that the caller may use.
    fn admitted(
        &self,
        method: &str,
        context: RequestContext<RoleServer>,
    ) -> Result<Call, ErrorData> {
        let call = self.call(context)?;
        let admitted = operations::admit(&format!("mcp:{method}"), &call.caller);
        admitted
            .map(|()| call)
            .map_err(|error| protocol_error(&error))
    }

    fn call(&self, context: RequestContext<RoleServer>) -> Result<Call, ErrorData> {
        let caller = self.caller(&context)?;
        Ok(Call::new(Arc::clone(&self.shared), caller, context))
    }
}

impl ServerHandler for Mcp {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_prompts()
            .enable_resources()
            .enable_tools()
            .enable_tasks()
            .enable_skills()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("charter", env!("CARGO_PKG_VERSION")).with_title("Charter"),
            )
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&VERSIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        table::find(name).map(|entry| (entry.tool)())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        one_page(request)?;
        let caller = self.caller(&context)?;
        let serving = table::TOOLS
            .iter()
            .filter(|entry| (entry.serves)(&caller) && entry.admit(&caller).is_ok());
        let tools = serving.map(|entry| (entry.tool)()).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(entry) = table::find(&request.name) else {
            let message = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let span = span_of(&context);
        let call = self.call(context)?.given(&request)?;
        if let Err(error) = entry.admit(&call.caller) {
            return Ok(call.failed(&error).into());
        }
        let _share = match self.shared.calls.take(&call.caller) {
            Ok(share) => share,
            Err(error) => return Ok(call.failed(&error).into()),
        };
        call.carry_out(entry, request.arguments.unwrap_or_default())
            .instrument(span)
            .await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::list(&self.admitted("resources/list", context)?, cursor(request)).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        one_page(request)?;
        self.caller(&context)?;
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = resources::read(&self.call(context)?, &request.uri).await;
        read.map(ReadResourceResponse::from)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let call = self.admitted("prompts/list", context)?;
        prompts::list(&call, cursor(request))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let prompt = prompts::get(
            &self.admitted("prompts/get", context)?,
            &request.name,
            &arguments,
        );
        prompt.map(GetPromptResponse::from)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        prompts::complete(&self.admitted("completion/complete", context)?, &request)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        tasks::get(&self.admitted("tasks/get", context)?, &request.task_id).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let call = self.admitted("tasks/update", context)?;
        tasks::update(&call, &request.task_id, &request.input_responses).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        tasks::cancel(&self.admitted("tasks/cancel", context)?, &request.task_id).await
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        skills::list(&self.admitted("skills/list", context)?, cursor(request)).await
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        skills::get(&self.admitted("skills/get", context)?, &request.uri).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.caller(&context)?;
        Err(unserved(&request.method))
    }
}

fn cursor(request: Option<PaginatedRequestParams>) -> Option<String> {
    request.and_then(|request| request.cursor)
}

/// Refuses a cursor of a list that has no second page.
fn one_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    cursor(request).map_or(Ok(()), |_| Err(invalid_cursor()))
}
