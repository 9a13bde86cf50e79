//! The Model Context Protocol over the engine: revision 2026-07-28, which has no sessions, and those with a handshake
//! before it (2025-11-25, 2025-06-18), by the official SDK.
//!
//! There are few tools, and each returns only what the next one needs. `find` lists entries, `open` shows one, `run`,
//! `call` and `start_mission` use it, `status` and `cancel` follow up on started work. No tool confirms or approves,
//! because a person must decide: the person is asked by elicitation, or the answer explains how to decide. Must not
//! know how decisions are made: every action is a use case of the engine on behalf of the authenticated caller.

mod accounts;
mod areas;
mod call;
mod content;
mod failure;
mod lines;
mod linked;
mod loading;
mod local;
mod log_level;
mod message;
mod mission;
mod mount;
mod offered;
mod passing;
mod pinned;
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
mod tool;
mod tools;
mod work;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use charter_contract::bounds::MCP_CALLS;
use charter_contract::error_code::ErrorCode;
use charter_engine::{Caller, EngineError, Shares};
use prometheus_client::metrics::counter::Counter;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, GetPromptRequestParams, GetPromptResponse,
    GetSkillRequestParams, GetSkillResult, GetTaskParams, GetTaskResult, Implementation,
    JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListSkillsResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, RequestStateCodec, ServerCapabilities,
    ServerConfig, Tool, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::Semaphore;
use tracing::{Instrument, Span};
use uuid::Uuid;

use crate::operations;
use crate::shares::Use;

pub use lines::LineTransport;
pub use loading::EngineLoader;
pub use local::{LocalMcp, McpError};
pub(crate) use mount::mounted;
#[cfg(test)]
pub(crate) use table::TOOLS;
pub use table::only_reads;

use call::Call;
use failure::{invalid_cursor, protocol_error, unsupported_method};
use loading::LoadingEngine;

use log_level::SessionLogLevel;

/// The supported revisions, oldest first.
const VERSIONS: [ProtocolVersion; 3] = [
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// The instructions about the tools for a client's model.
const INSTRUCTIONS: &str = "Charter has an organisation's skills (questions it can answer), playbooks (procedures \
    that change something) and tools. Pass a question to `run` and it is routed to the right skill; or `find` \
    skills, playbooks and tools, `open` one, then `run` it by id, or `call` a single tool. Answers have findings \
    with evidence; read evidence://ID for the proof. A goal that needs planning and several workers is a mission: \
    `start_mission`, and read mission://ID. Agent skills are instructions for you: find them, open one, follow it. \
    Ask the reference library with `ask_lens`. Use `remember` for facts worth keeping, and `recall` before you ask a \
    person again. Changes wait for a person, who is asked through you if your client supports it; `status` shows the \
    state of anything you started.";

/// How long the list of tools waits for an engine that loads; without it, descriptions are those of any catalogue.
const LIST_PATIENCE: Duration = Duration::from_secs(2);

/// The tool whose description names the areas of work behind it.
const DESCRIBED: &str = "find";

tokio::task_local! {
    /// The caller of the HTTP request that this task serves: the SDK looks up a tool without its request.
    static ADMITTED: Caller;
}

/// The source of the caller of a connection's requests.
#[derive(Debug, Clone)]
enum ConnectionIdentity {
    /// Each request has its own caller, whom the HTTP layer authenticated.
    EachRequests,
    /// One process with one caller.
    Always(Caller),
}

/// The state that all connections share.
struct Shared {
    engine: LoadingEngine,
    /// Seals the state that a client keeps for the server between two rounds of a call.
    seal: RequestStateCodec,
    /// Running tool calls.
    calls: Shares,
    /// Whether a list of tools waits for the engine.
    list: ListMode,
    /// The waits for accounts that clients are told of.
    account_waits: Arc<Semaphore>,
}

/// When the list of tools is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListMode {
    /// At once, even while the engine loads.
    AtOnce,
    /// When the engine is loaded: the configuration pins documents, which are tools of their own.
    Loaded,
}

/// The server's side of one connection.
#[derive(Clone)]
pub(crate) struct Mcp {
    shared: Arc<Shared>,
    identity: ConnectionIdentity,
    log_level: SessionLogLevel,
}

impl Shared {
    /// `refused` counts the calls without a free slot.
    fn new(engine: LoadingEngine, list: ListMode, refused: Counter) -> Self {
        // Two random 128-bit numbers: a key that no other process and no client knows.
        let key = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes);
        Self {
            engine,
            seal: RequestStateCodec::new_unchecked(key.concat()),
            calls: Use::Calls.shared(MCP_CALLS, refused),
            list,
            account_waits: Arc::new(Semaphore::new(accounts::WAITS)),
        }
    }
}

/// The span of the HTTP request of a message; the SDK works in its own tasks.
fn span_of(context: &RequestContext<RoleServer>) -> Span {
    let parts = context.extensions.get::<Parts>();
    let span = parts.and_then(|parts| parts.extensions.get::<Span>());
    span.cloned().unwrap_or_else(Span::none)
}

impl Mcp {
    /// The caller of a request.
    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        match &self.identity {
            ConnectionIdentity::Always(caller) => Ok(caller.clone()),
            ConnectionIdentity::EachRequests => {
                let parts = context.extensions.get::<Parts>();
                let caller = parts.and_then(|parts| parts.extensions.get::<Caller>());
                caller.cloned().ok_or_else(|| {
                    let error =
                        EngineError::new(ErrorCode::Unauthenticated, "the request has no caller");
                    protocol_error(&error)
                })
            }
        }
    }

    /// Admits the call of a method if the caller may use it.
    async fn admitted(
        &self,
        method: &str,
        context: RequestContext<RoleServer>,
    ) -> Result<Call, ErrorData> {
        let call = self.call(context).await?;
        let admitted = operations::admit(&format!("mcp:{method}"), &call.caller);
        admitted
            .map(|()| call)
            .map_err(|error| protocol_error(&error))
    }

    /// Names the areas of work of a caller in the description of the tool that leads to them.
    async fn describe_areas(&self, tools: &mut [Tool], caller: &Caller) {
        let described = tools.iter_mut().find(|tool| tool.name == DESCRIBED);
        let Some(tool) = described else {
            return;
        };
        if let Some(engine) = self.shared.engine.within(LIST_PATIENCE).await {
            let areas = areas::describe(&engine.tool_search().work_areas(caller));
            let own = tool.description.as_deref().unwrap_or_default();
            tool.description = Some(format!("{own} {areas}").into());
        }
    }

    async fn call(&self, context: RequestContext<RoleServer>) -> Result<Call, ErrorData> {
        let caller = self.caller(&context)?;
        let log_level = self.log_level.of(&context);
        let begun = Call::begin(Arc::clone(&self.shared), caller, context, log_level).await;
        begun.map_err(|error| protocol_error(&error))
    }
}

impl ServerHandler for Mcp {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_prompts()
            .enable_resources()
            .enable_tools()
            .enable_tasks()
            .enable_skills()
            .build();
        // The SDK's method is deprecated, as logging is in revision 2026-07-28.
        capabilities.logging = Some(JsonObject::new());
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
        if let Some(entry) = table::find(name) {
            return Some((entry.tool)());
        }
        let caller = ADMITTED.try_with(Clone::clone).ok()?;
        let entry = self.shared.engine.now()?.pins().entry(&caller, name)?;
        Some(pinned::listed(&entry))
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
        let mut tools: Vec<Tool> = serving.map(|entry| (entry.tool)()).collect();
        let pinned = self.pinned(&caller, &context).await?;
        let admitted = pinned
            .iter()
            .filter(|entry| pinned::admit(entry, &caller).is_ok());
        tools.extend(admitted.map(pinned::listed));
        self.describe_areas(&mut tools, &caller).await;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(entry) = table::find(&request.name) else {
            let called = self.call_pinned(&request, context).await?;
            return called.ok_or_else(|| {
                let message = format!("there is no tool `{}`", request.name);
                ErrorData::invalid_params(message, None)
            });
        };
        let span = span_of(&context);
        let (answers, state) = (&request.input_responses, &request.request_state);
        let call = self.call(context).await?;
        let call = call.with_round_state(answers.as_ref(), state.as_ref())?;
        if let Err(error) = entry.admit(&call.caller) {
            return Ok(call.failed(&error).into());
        }
        let _share = match self.shared.calls.take(&call.caller) {
            Ok(share) => share,
            Err(error) => return Ok(call.failed(&error).into()),
        };
        entry
            .run(call, request.arguments.unwrap_or_default())
            .instrument(span)
            .await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let call = self.admitted("resources/list", context).await?;
        resources::list(&call, cursor(request)).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        one_page(request)?;
        let caller = self.caller(&context)?;
        let mut listed = resources::templates();
        if let Some(engine) = self.shared.engine.now() {
            listed
                .resource_templates
                .extend(offered::templates(&engine, &caller));
        }
        Ok(listed)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let call = self.call(context).await?;
        let (answers, state) = (&request.input_responses, &request.request_state);
        let call = call.with_round_state(answers.as_ref(), state.as_ref())?;
        resources::read(&call, &request.uri).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let call = self.admitted("prompts/list", context).await?;
        prompts::list(&call, cursor(request))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let call = self.admitted("prompts/get", context).await?;
        let (answers, state) = (&request.input_responses, &request.request_state);
        let call = call.with_round_state(answers.as_ref(), state.as_ref())?;
        let arguments = request.arguments.unwrap_or_default();
        prompts::get(&call, &request.name, arguments).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let call = self.admitted("completion/complete", context).await?;
        prompts::complete(&call, &request)
    }

    /// Sets the least severe log messages for a session. In revision 2026-07-28 each request names its own.
    #[expect(
        deprecated,
        reason = "the SDK deprecates logging, which older clients use"
    )]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let version = context.protocol_version();
        if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
            return Err(unsupported_method("logging/setLevel of this revision"));
        }
        let caller = self.caller(&context)?;
        operations::admit("mcp:logging/setLevel", &caller)
            .map_err(|error| protocol_error(&error))?;
        if let Ok(Value::String(level)) = serde_json::to_value(request.level) {
            self.log_level.set(level);
        }
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let call = self.admitted("tasks/get", context).await?;
        tasks::get(&call, &request.task_id).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let call = self.admitted("tasks/update", context).await?;
        tasks::update(&call, &request.task_id, &request.input_responses).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let call = self.admitted("tasks/cancel", context).await?;
        tasks::cancel(&call, &request.task_id).await
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        let call = self.admitted("skills/list", context).await?;
        skills::list(&call, cursor(request)).await
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        let call = self.admitted("skills/get", context).await?;
        skills::get(&call, &request.uri).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.caller(&context)?;
        Err(unsupported_method(&request.method))
    }
}

fn cursor(request: Option<PaginatedRequestParams>) -> Option<String> {
    request.and_then(|request| request.cursor)
}

/// Refuses a cursor for a list that has only one page.
fn one_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    cursor(request).map_or(Ok(()), |_| Err(invalid_cursor()))
}
