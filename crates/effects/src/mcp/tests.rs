mod linked;

use std::collections::VecDeque;
use std::time::Duration;

use charter_contract::agentic::error::ErrorType;
use charter_contract::ids::ToolId;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connect::Connection;
use super::fake::{Fake, SECRET, options, page, sandbox};
use super::keep::{self, Keeper, Link};
use super::*;
use crate::call::{DryRun, Limits, Repeat, Target};
use crate::room::UnlimitedOutput;

/// Builds a server with one tool that answers calls with `answer`.
fn one_tool(answer: Value) -> impl FnMut(&Value) -> Option<Value> + Send + 'static {
    move |asked| {
        Some(match asked["method"].as_str() {
            Some("tools/list") => page(["read".to_owned()], None),
            _ => answer.clone(),
        })
    }
}

/// Builds a server that lists its tool and does not answer calls.
fn silent() -> impl FnMut(&Value) -> Option<Value> + Send + 'static {
    let mut offered = one_tool(Value::Null);
    move |asked| offered(asked).filter(|answer| !answer.is_null())
}

fn text(said: &str) -> Value {
    json!({"content": [{"type": "text", "text": said}]})
}

/// Returns the tool of [`one_tool`] as imported.
fn imported(repeat: Repeat) -> McpTool {
    let listed: rmcp::model::Tool =
        serde_json::from_value(json!({"name": "read", "inputSchema": {"type": "object"}})).unwrap();
    McpTool {
        server: Label::parse("files").unwrap(),
        name: "read".to_owned(),
        definition: import::digest(&listed),
        wire_names: BTreeMap::new(),
        repeat,
        link: None,
    }
}

fn call_of(tool: McpTool, limits: Limits) -> ToolCall {
    ToolCall {
        tool_id: ToolId::parse("mcp.files.read").unwrap(),
        implementation: ToolImplementation::Mcp(tool),
        target: Target::Here,
        parameters: Map::new(),
        dry_run: DryRun::No,
        limits,
        environment: Vec::new(),
        egress: Vec::new(),
        readable: Vec::new(),
        idempotency_key: "run-1/step-1".to_owned(),
        room: Arc::new(UnlimitedOutput),
    }
}

/// Returns the result of a call.
async fn called(fake: &Fake, tool: McpTool, limits: Limits) -> Result<Success, Failure> {
    let call = call_of(tool.clone(), limits);
    fake.server
        .call(&call, &tool, &CancellationToken::new())
        .await
}

/// Returns kind and message of the failure, and whether it is retryable.
fn failed(result: Result<Success, Failure>) -> (ErrorType, String, bool) {
    let failure = result.expect_err("the call must fail");
    (failure.kind, failure.message, failure.retryable)
}

/// Returns the failure of a call with this answer.
async fn failing(answer: Value) -> (ErrorType, String, bool) {
    let (fake, _connection) = Fake::new(one_tool(answer)).await;
    failed(called(&fake, imported(Repeat::Safe), Limits::default()).await)
}

/// Whether a refresh of the tools was requested.
fn looks_again(fake: &Fake) -> bool {
    use futures_util::FutureExt;
    fake.server.look_again.notified().now_or_never().is_some()
}

#[tokio::test]
async fn an_answer_within_the_bound_is_kept_and_a_larger_one_refused() {
    let output = json!({"text": "x".repeat(100)});
    let bytes = output.to_string().len();
    let (fake, _connection) = Fake::new(one_tool(text(&"x".repeat(100)))).await;
    let within = |output_bytes| Limits {
        output_bytes,
        ..Limits::default()
    };
    let kept = called(&fake, imported(Repeat::Safe), within(bytes)).await;
    assert_eq!(kept.unwrap().output, output);
    let cut = called(&fake, imported(Repeat::Safe), within(bytes - 1)).await;
    let said = format!(
        "the MCP server `files` answered with {bytes} bytes; the limit is {}",
        bytes - 1
    );
    assert_eq!(failed(cut), (ErrorType::ResourceError, said, false));
}

#[tokio::test]
async fn a_server_failure_is_redacted_and_bounded() {
    let bare = SECRET.strip_prefix("Bearer ").unwrap();
    let said = format!("no {bare} \u{1b}[2J{}", "x".repeat(5_000));
    let reported = failing(json!({"content": text(&said)["content"], "isError": true})).await;
    let begins = "the MCP server `files` reports a failure: no [redacted:FILES_TOKEN] [2Jxxx";
    assert_eq!((reported.0, reported.2), (ErrorType::ExecutionError, false));
    assert!(reported.1.starts_with(begins), "{}", reported.1);
    assert_eq!(reported.1.chars().count(), 2_001);

    let answer = |code: i64| json!({"error": {"code": code, "message": "no"}});
    let said = "the MCP server `files` answered: no".to_owned();
    let wrong = (ErrorType::InputError, said.clone(), false);
    assert_eq!(failing(answer(-32602)).await, wrong);
    let broken = (ErrorType::ExecutionError, said, false);
    assert_eq!(failing(answer(-32000)).await, broken);
}

#[tokio::test]
async fn a_secret_in_an_answer_of_a_server_is_redacted() {
    let (fake, _connection) = Fake::new(one_tool(text(&format!("given: {SECRET}")))).await;
    let said = called(&fake, imported(Repeat::Safe), Limits::default()).await;
    let output = json!({"text": "given: [redacted:FILES_TOKEN]"});
    assert_eq!(said.unwrap().output, output);
}

/// A server receives the trace of a call only if the operator configured that.
#[tokio::test]
async fn traces_are_propagated_when_configured() {
    const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (trace, told) in [
        (TraceContext::default(), Value::Null),
        (
            TraceContext::told_by(|| Some(TRACEPARENT.to_owned())),
            json!(TRACEPARENT),
        ),
    ] {
        let (fake, _connection) = Fake::with_trace(trace, one_tool(text("done"))).await;
        let made = called(&fake, imported(Repeat::Safe), Limits::default()).await;
        assert!(made.is_ok());
        let heard = fake.heard("tools/call");
        assert_eq!(heard[0]["params"]["_meta"]["traceparent"], told);
    }
}

/// Elicitation and tasks are not supported: such an answer ends the call.
#[tokio::test]
async fn a_call_that_needs_input_or_a_task_fails() {
    let questions = json!({"resultType": "input_required", "requestState": "s"});
    let task = json!({"resultType": "task", "taskId": "t", "status": "working",
        "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": 1});
    let said = "the MCP server `files` asked for input other than the tool's parameters".to_owned();
    let expected = (ErrorType::ExecutionError, said, false);
    assert_eq!(failing(questions).await, expected);
    assert_eq!(failing(task).await, expected);
}

/// The client offers nothing in its handshake, and refuses such requests.
#[tokio::test]
async fn requests_of_a_server_to_the_client_get_nothing() {
    let (fake, _connection) = Fake::new(|_| None).await;
    let hello = &fake.heard("initialize")[0]["params"];
    assert_eq!(hello["capabilities"], json!({}));
    let asked = [
        (
            "sampling/createMessage",
            json!({"messages": [], "maxTokens": 1}),
        ),
        ("roots/list", json!({})),
        (
            "elicitation/create",
            json!({"message": "Your password?", "requestedSchema": {"type": "object", "properties": {}}}),
        ),
    ];
    let mut answers = Vec::new();
    for (id, (method, params)) in (1..).zip(asked) {
        fake.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = fake.answered(id).await;
        answers.push((answer["error"]["code"].clone(), answer["result"].clone()));
    }
    let refused = (json!(-32601), Value::Null);
    let nothing = (Value::Null, json!({"roots": []}));
    assert_eq!(answers, [refused.clone(), nothing, refused]);
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_call_times_out_and_the_server_is_notified() {
    for repeat in [Repeat::Safe, Repeat::Unsafe] {
        let (fake, _connection) = Fake::new(silent()).await;
        let limits = Limits {
            timeout: Duration::from_secs(3),
            ..Limits::default()
        };
        let began = Instant::now();
        let ended = failed(called(&fake, imported(repeat), limits).await);
        assert_eq!(began.elapsed(), Duration::from_secs(3));
        let said = "the MCP server `files` did not answer within 3000 ms".to_owned();
        let again = repeat == Repeat::Safe;
        assert_eq!(ended, (ErrorType::TimeoutError, said, again));
        assert!(looks_again(&fake), "whether it still answers is looked at");
        told_of_the_end(&fake).await;
    }
}

/// Waits until the server has received the cancellation of its one call.
async fn told_of_the_end(fake: &Fake) {
    let told = loop {
        match fake.heard("notifications/cancelled").pop() {
            Some(told) => break told,
            None => tokio::task::yield_now().await,
        }
    };
    let call = &fake.heard("tools/call")[0];
    assert_eq!(told["params"]["requestId"], call["id"]);
}

#[tokio::test]
async fn a_cancelled_call_ends_and_the_server_is_notified() {
    let (fake, _connection) = Fake::new(silent()).await;
    let tool = imported(Repeat::Unsafe);
    let call = call_of(tool.clone(), Limits::default());
    let cancel = CancellationToken::new();
    let cancelling = async {
        while fake.heard("tools/call").is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(fake.server.call(&call, &tool, &cancel), cancelling);
    assert_eq!(failed(ended).1, "the call was cancelled");
    told_of_the_end(&fake).await;
}

#[tokio::test]
async fn a_removed_or_changed_tool_is_not_called() {
    let (fake, _connection) = Fake::new(one_tool(text("done"))).await;
    let gone = McpTool {
        name: "gone".to_owned(),
        ..imported(Repeat::Safe)
    };
    let another = McpTool {
        definition: "sha256:0".to_owned(),
        ..imported(Repeat::Safe)
    };
    for (tool, what) in [
        (gone, "no longer offers the tool `gone`"),
        (another, "changed the definition of the tool `read`"),
    ] {
        let said = format!(
            "the MCP server `files` {what} since its import; it is not called until the catalogue has the current \
             definition"
        );
        let ended = failed(called(&fake, tool, Limits::default()).await);
        assert_eq!(ended, (ErrorType::PermissionError, said, false));
        assert!(looks_again(&fake), "the catalogue gets what is offered now");
    }
    assert_eq!(fake.heard("tools/call").len(), 0);
    let done = called(&fake, imported(Repeat::Safe), Limits::default()).await;
    assert_eq!(done.unwrap().output, json!({"text": "done"}));
}

/// If a call may have been executed, its failure is retryable only if repeating it is safe.
#[tokio::test]
async fn after_a_lost_connection_only_safe_calls_are_retryable() {
    for repeat in [Repeat::Safe, Repeat::Unsafe] {
        let (fake, Connection { mut service, .. }) = Fake::new(|asked| {
            let list = asked["method"] == "tools/list";
            list.then(|| page(["read".to_owned()], None))
        })
        .await;
        let ending = async {
            while fake.heard("tools/call").is_empty() {
                tokio::task::yield_now().await;
            }
            service.close().await.unwrap();
        };
        let calling = called(&fake, imported(repeat), Limits::default());
        let (ended, ()) = tokio::join!(calling, ending);
        let (kind, message, again) = failed(ended);
        assert_eq!(
            (kind, again),
            (ErrorType::ExecutionError, repeat == Repeat::Safe)
        );
        let begins = "the MCP server `files` gave an unusable answer: ";
        assert!(message.starts_with(begins), "{message}");
        assert!(looks_again(&fake));
    }
}

#[tokio::test]
async fn an_unavailable_or_unknown_server_fails_the_call_immediately() {
    let (fake, _connection) = Fake::new(|_| None).await;
    let reason = "it burnt down".to_owned();
    fake.server.link.send_replace(Link::Down { reason });
    let ended = failed(called(&fake, imported(Repeat::Unsafe), Limits::default()).await);
    let said = "the MCP server `files` cannot be reached: it burnt down".to_owned();
    // The call was not sent, so it is always retryable.
    assert_eq!(ended, (ErrorType::ExecutionError, said, true));

    let (sandbox, _folder) = sandbox().await;
    let none = McpServers::start(sandbox, Vec::new());
    let tool = imported(Repeat::Safe);
    let call = call_of(tool.clone(), Limits::default());
    let ended = failed(none.call(&call, &tool, &CancellationToken::new()).await);
    let said = "no MCP server `files` is configured".to_owned();
    assert_eq!(ended, (ErrorType::SystemError, said, false));
}

/// Returns the size of a list of this many pages, tools per page and bytes per tool.
async fn listed(pages: usize, tools: usize, bytes: usize) -> Result<usize, String> {
    let mut left = pages;
    let (_fake, connection) = Fake::new(move |_| {
        left -= 1;
        let name = |at| format!("{left}-{at}-{}", "x".repeat(bytes));
        Some(page((0..tools).map(name), (left > 0).then_some("more")))
    })
    .await;
    let listed = keep::list(&connection.peer).await;
    listed.map(|listed| listed.tools.len())
}

/// An entry that is not a tool is reported, and does not affect the others.
#[tokio::test]
async fn invalid_entries_of_a_tool_list_are_skipped() {
    let (_fake, connection) = Fake::new(|_| {
        Some(json!({"tools": [
            {"name": "bare"},
            {"name": "read", "inputSchema": {"type": "object"}},
            "words",
            {"name": "list", "inputSchema": "text"},
        ], "nextCursor": null}))
    })
    .await;
    let listed = keep::list(&connection.peer).await.unwrap();
    let names: Vec<_> = listed.tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, ["read"]);
    let unreadable: Vec<_> = listed
        .unreadable
        .iter()
        .map(|left| left.tool.as_str())
        .collect();
    assert_eq!(unreadable, ["bare", "number 3 of its page", "list"]);
    let said = listed.unreadable[0].to_string();
    assert!(
        said.starts_with("bare: it is not a tool: missing field"),
        "{said}"
    );
    // Another answer is not a list.
    let (_fake, connection) = Fake::new(|_| Some(json!({"tool": []}))).await;
    let said = "it answered `tools/list` with something else".to_owned();
    assert_eq!(keep::list(&connection.peer).await.unwrap_err(), said);
}

/// A server gets arguments by its own names, and null for omitted arguments that it requires.
#[tokio::test]
async fn arguments_use_the_servers_names_and_null_for_required_ones() {
    let schema = json!({"type": "object", "required": ["$from", "until"], "properties": {
        "$from": {"type": "string"}, "until": {"type": ["string", "null"]}, "limit": {"type": ["integer", "null"]},
    }});
    let definition = json!({"name": "read", "inputSchema": schema});
    let offered = definition.clone();
    let (fake, _connection) = Fake::new(move |asked| {
        Some(match asked["method"].as_str() {
            Some("tools/list") => json!({"tools": [offered.clone()]}),
            _ => text("done"),
        })
    })
    .await;
    let listed: rmcp::model::Tool = serde_json::from_value(definition).unwrap();
    let tool = McpTool {
        definition: import::digest(&listed),
        wire_names: [("from".to_owned(), "$from".to_owned())].into(),
        ..imported(Repeat::Safe)
    };
    let mut call = call_of(tool.clone(), Limits::default());
    call.parameters = Map::from_iter([("from".to_owned(), json!("2026-01-01"))]);
    let cancel = CancellationToken::new();
    assert!(fake.server.call(&call, &tool, &cancel).await.is_ok());
    let heard = &fake.heard("tools/call")[0]["params"]["arguments"];
    assert_eq!(*heard, json!({"$from": "2026-01-01", "until": null}));
}

#[tokio::test]
async fn a_list_of_tools_is_bounded_in_pages_tools_and_bytes() {
    assert_eq!(listed(64, 1, 0).await, Ok(64));
    let pages = "it lists its tools on more than 64 pages";
    assert_eq!(listed(65, 1, 0).await, Err(pages.to_owned()));
    assert_eq!(listed(2, 500, 0).await, Ok(1_000));
    let tools = "it lists more than 1000 tools";
    assert_eq!(listed(3, 500, 0).await, Err(tools.to_owned()));
    assert_eq!(listed(7, 1, 1 << 20).await, Ok(7));
    let bytes = "the definitions of its tools are larger than 8388608 bytes";
    assert_eq!(listed(8, 1, 1 << 20).await, Err(bytes.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_list_of_tools_that_does_not_arrive_times_out() {
    let (_fake, connection) = Fake::new(|_| None).await;
    let began = Instant::now();
    let listed = keep::list(&connection.peer).await;
    let said = "it did not list its tools within 10 s".to_owned();
    assert_eq!(listed.unwrap_err(), said);
    assert_eq!(began.elapsed(), Duration::from_secs(10));
}

/// Creates a keeper of a server, and the channel that it publishes to.
async fn keeper(server: &Arc<Server>) -> (Keeper, watch::Receiver<Arc<Imports>>) {
    let unknown = ServerImports {
        state: McpServerState::Connecting,
        tools: Vec::new(),
        left_out: Vec::new(),
        offers: ServerOffers::default(),
        started_in: None,
    };
    let first = Imports {
        servers: [(server.options.name.clone(), unknown)].into(),
    };
    let (told, imports) = watch::channel(Arc::new(first));
    let (sandbox, _folder) = sandbox().await;
    let keeper = Keeper::new(Arc::clone(server), sandbox, Arc::new(told));
    (keeper, imports)
}

#[tokio::test(start_paused = true)]
async fn tools_are_listed_on_schedule_and_rate_limited_on_notification() {
    let (fake, connection) = Fake::new(one_tool(Value::Null)).await;
    let (keeper, _imports) = keeper(&fake.server).await;
    let serving = tokio::spawn(async move { keeper.serve(connection).await });
    let lists = || fake.heard("tools/list").len();
    // Without notifications it refreshes every five minutes, as configured.
    tokio::time::sleep(Duration::from_secs(3 * 301)).await;
    assert_eq!(lists(), 4);
    // With continuous notifications it lists the tools at most twice a second.
    let before = (lists(), Instant::now());
    while before.1.elapsed() < Duration::from_secs(10) {
        fake.send(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let asked = lists() - before.0;
    assert!((18..=21).contains(&asked), "{asked}");
    serving.abort();
}

#[tokio::test(start_paused = true)]
async fn a_lost_server_is_retried_with_backoff_and_keeps_its_tools() {
    let (sandbox, _folder) = sandbox().await;
    // The egress policy refuses it, so that each attempt fails at once.
    let server = Arc::new(Server::new(options("http://127.0.0.1:1/"), &sandbox));
    let (keeper, mut imports) = keeper(&server).await;
    let (tools, _) = {
        let page = page(["read".to_owned()], None);
        let listed: Vec<_> = serde_json::from_value(page["tools"].clone()).unwrap();
        import::import_tools(&server.options, &listed)
    };
    keeper.update_tools(tools.clone(), Vec::new());
    imports.mark_unchanged();
    let keeping = tokio::spawn(keeper.keep());
    let mut failures: VecDeque<Instant> = VecDeque::new();
    while failures.len() < 9 {
        imports.changed().await.unwrap();
        failures.push_back(Instant::now());
        let told = imports.borrow_and_update();
        let told = told.servers.values().next().unwrap();
        assert_eq!(told.tools, tools);
        let wall = "127.0.0.1 resolves to 127.0.0.1, a private or local address that the configuration \
                    does not grant";
        let reason = wall.to_owned();
        assert_eq!(told.state, McpServerState::Failed { reason });
    }
    let pairs = failures.iter().zip(failures.iter().skip(1));
    let pauses: Vec<u64> = pairs.map(|(a, b)| (*b - *a).as_secs()).collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    keeping.abort();
}
