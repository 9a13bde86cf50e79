//! HTTP tools against a real server.

use charter_contract::agentic::error::ErrorType;
use std::net::SocketAddr;
use std::time::Duration;

use charter_contract::catalogue::tool::{BodyFormat, HttpMethod};
use charter_effects::{DryRun, HttpTool, ToolCall, ToolImplementation, ToolOutcome, ToolRunner};
use charter_testkit::http_stub::{HttpStub, Reply, Request};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{call, failure, http_call, output, sandbox};

/// Notified when the server receives a request for `/hang`.
static ASKED: tokio::sync::Notify = tokio::sync::Notify::const_new();

/// Integers at the ends of their range, and one that a double would round.
const DIGITS: &str = r#"{"ids":[9007199254740993,18446744073709551615,-9223372036854775808]}"#;

/// Replies with the request.
fn echo(request: &Request) -> Reply {
    let named = |name: &str| request.headers.get(name);
    let shown = json!({
        "method": request.method, "uri": request.path, "token": named("x-token"),
        "key": named("idempotency-key"), "type": named("content-type"), "body": request.body,
    });
    Reply::json(200, shown.to_string())
}

fn answer(request: &Request) -> Reply {
    match request.path.as_str() {
        "/text" => Reply::text(200, "plain"),
        "/broken" => Reply::json(200, "{"),
        "/deepest" => Reply::json(200, "[".repeat(64) + &"]".repeat(64)),
        "/deeper" => Reply::json(200, "[".repeat(65) + &"]".repeat(65)),
        "/digits" => Reply::json(200, DIGITS),
        "/long" => Reply::json(200, r#"{"id": [1, -9223372036854775809]}"#),
        "/refused" => Reply::json(409, "[".repeat(65) + &"]".repeat(65)),
        "/big" => Reply::text(200, "x".repeat(2 << 20)),
        "/hang" => {
            ASKED.notify_one();
            Reply::never()
        }
        "/slow" => Reply::never(),
        "/here" => Reply::redirect("/echo"),
        "/loop" => Reply::redirect("/loop"),
        "/away" => {
            // The same server by another name.
            let host = request.headers["host"].replace("127.0.0.1", "localhost");
            Reply::redirect(&format!("http://{host}/echo"))
        }
        path => match path.strip_prefix("/status/") {
            Some(code) => Reply::text(code.parse().unwrap(), "why: s3cr3t-value"),
            None if path == "/echo" || path.starts_with("/echo/") => echo(request),
            None => Reply::empty(404),
        },
    }
}

fn serve() -> HttpStub {
    HttpStub::start(|request, _| answer(request)).unwrap()
}

fn listed(mut call: ToolCall, server: SocketAddr) -> ToolCall {
    call.egress = vec![server.to_string().parse().unwrap()];
    call
}

fn get_call(server: SocketAddr, path: &str) -> ToolCall {
    listed(
        http_call(HttpMethod::Get, format!("http://{server}{path}")),
        server,
    )
}

fn post_call(server: SocketAddr) -> ToolCall {
    let tool = HttpTool {
        method: HttpMethod::Post,
        url: format!("http://{server}/echo/${{user.name}}"),
        headers: vec![
            ("X-Token".into(), "Bearer ${env.TOKEN}".into()),
            ("X-Absent".into(), "${user.absent}".into()),
        ],
        query: vec![
            ("q".into(), json!("${user.name}")),
            ("many".into(), json!("${user.list}")),
            ("joined".into(), json!("${user.list}")),
        ],
        list_separators: [("joined".to_owned(), ",".to_owned())].into(),
        body: Some(
            json!({ "n": "${user.n}", "name": "<${user.name}>", "absent": "${user.absent}" }),
        ),
        body_format: BodyFormat::Json,
    };
    let mut call = listed(call(ToolImplementation::Http(tool)), server);
    let parameters = json!({ "name": "a/../b\"?&é", "n": 7, "list": ["x", 2] });
    call.parameters = parameters.as_object().unwrap().clone();
    call.environment = vec![("TOKEN".into(), "s3cr3t-value".into())];
    call
}

#[tokio::test]
async fn ruling_13_values_reach_the_host_as_data() {
    let stub = serve();
    let server = stub.address();
    assert_eq!(
        output(sandbox().await.run(post_call(server)).await),
        json!({
            "method": "POST", "uri": "/echo/a%2F..%2Fb%22%3F%26%C3%A9?q=a%2F..%2Fb%22%3F%26%C3%A9&many=x&many=2&joined=x%2C2",
            "token": "Bearer [redacted:TOKEN]", "key": "run-1/step-1", "type": "application/json",
            "body": { "n": 7, "name": "<a/../b\"?&é>" },
        })
    );
}

#[tokio::test]
async fn a_dry_run_of_a_write_is_not_sent() {
    let stub = serve();
    let server = stub.address();
    let mut call = post_call(server);
    call.dry_run = DryRun::Yes;
    call.parameters.insert("name".into(), json!("s3cr3t-value"));
    assert_eq!(
        output(sandbox().await.run(call).await),
        json!({ "dry_run": true, "request": {
            "method": "POST", "url": format!("http://{server}/echo/[redacted:TOKEN]?q=[redacted:TOKEN]&many=x&many=2&joined=x%2C2"),
            "body": { "n": 7, "name": "<[redacted:TOKEN]>" },
        }})
    );
}

#[tokio::test]
async fn a_variable_that_is_not_granted_is_refused() {
    let stub = serve();
    let mut call = post_call(stub.address());
    call.environment.clear();
    assert_eq!(
        failure(sandbox().await.run(call).await),
        (
            ErrorType::PermissionError,
            "the variable \"TOKEN\" is not granted to the tool".into(),
            false,
            String::new()
        )
    );
}

#[tokio::test]
async fn a_header_value_cannot_add_headers() {
    let stub = serve();
    let server = stub.address();
    let mut call = post_call(server);
    call.environment[0].1 = "x\r\nX-Admin: 1".into();
    assert_eq!(
        failure(sandbox().await.run(call).await).0,
        ErrorType::InputError
    );
}

/// B002-13: only the response that reports a changed target is a conflict.
#[tokio::test]
async fn b002_13_a_conflict_differs_from_other_failures() {
    let (stub, fixture) = (serve(), sandbox().await);
    let server = stub.address();
    for (code, wanted) in [
        (400, false),
        (409, true),
        (412, true),
        (422, false),
        (500, false),
    ] {
        let call = get_call(server, &format!("/status/{code}"));
        match fixture.run(call).await {
            ToolOutcome::Failed { stale, .. } => assert_eq!(stale, wanted, "{code}"),
            succeeded @ ToolOutcome::Succeeded { .. } => panic!("{succeeded:?}"),
        }
    }
}

#[tokio::test]
async fn each_status_has_its_failure() {
    let (stub, fixture) = (serve(), sandbox().await);
    let server = stub.address();
    for (code, kind, retryable) in [
        (400, ErrorType::ExecutionError, false),
        (401, ErrorType::PermissionError, false),
        (403, ErrorType::PermissionError, false),
        (404, ErrorType::ExecutionError, false),
        (408, ErrorType::TimeoutError, true),
        (429, ErrorType::ResourceError, true),
        (500, ErrorType::ExecutionError, true),
        (503, ErrorType::ResourceError, true),
        (504, ErrorType::TimeoutError, true),
    ] {
        let mut call = get_call(server, &format!("/status/{code}"));
        call.environment = vec![("TOKEN".into(), "s3cr3t-value".into())];
        let (said, message, again, _) = failure(fixture.run(call).await);
        assert_eq!((said, again), (kind, retryable), "{code}");
        assert!(
            message.contains(&code.to_string()) && message.ends_with("\"why: [redacted:TOKEN]\""),
            "{message}"
        );
    }
}

#[tokio::test]
async fn text_is_wrapped_and_false_json_is_a_failure() {
    let (stub, fixture) = (serve(), sandbox().await);
    let server = stub.address();
    assert_eq!(
        output(fixture.run(get_call(server, "/text")).await),
        json!({ "status": 200, "body": "plain" })
    );
    assert_eq!(
        failure(fixture.run(get_call(server, "/broken")).await).0,
        ErrorType::ExecutionError
    );
}

/// A host that answers has executed the request; one that refuses has not.
#[tokio::test]
async fn a_response_is_measured_before_it_is_read() {
    let (stub, fixture) = (serve(), sandbox().await);
    let server = stub.address();
    let deepest = output(fixture.run(get_call(server, "/deepest")).await);
    assert_eq!(deepest.to_string(), "[".repeat(64) + &"]".repeat(64));
    let deeper =
        "the host answered 200 OK with a body that nests more than 64 levels deep; flatten it";
    let refused = format!(
        "the host answered 409 Conflict: {:?}",
        "[".repeat(65) + &"]".repeat(65)
    );
    let digits = output(fixture.run(get_call(server, "/digits")).await);
    assert_eq!(digits.to_string(), DIGITS);
    let long = "the host answered 200 OK with a body that has the number -9223372036854775809 at `/id/1`, which \
                would be rounded: an integer has at most 64 bits, any other number is at most 1.8e308; send it as text";
    for (path, words, has_answered) in [
        ("/deeper", deeper, true),
        ("/long", long, true),
        ("/refused", refused.as_str(), false),
    ] {
        let ToolOutcome::Failed {
            message, answered, ..
        } = fixture.run(get_call(server, path)).await
        else {
            panic!("{path}");
        };
        assert_eq!((message.as_str(), answered), (words, has_answered));
    }
}

#[tokio::test]
async fn a_response_is_bounded() {
    let stub = serve();
    let mut call = get_call(stub.address(), "/big");
    call.limits.output_bytes = 1 << 20;
    assert_eq!(
        failure(sandbox().await.run(call).await),
        (
            ErrorType::ResourceError,
            "the response is larger than 1048576 bytes".into(),
            false,
            String::new()
        )
    );
}

#[tokio::test]
async fn redirects_stay_on_the_host() {
    let (stub, fixture) = (serve(), sandbox().await);
    let server = stub.address();
    assert_eq!(
        output(fixture.run(get_call(server, "/here")).await)["uri"],
        json!("/echo")
    );
    for path in ["/away", "/loop"] {
        let mut call = get_call(server, path);
        // A redirect to another host is refused even if that host is listed.
        call.egress
            .push(format!("localhost:{}", server.port()).parse().unwrap());
        let (kind, message, ..) = failure(fixture.run(call).await);
        assert_eq!(kind, ErrorType::ExecutionError);
        assert!(message.contains("is not followed"), "{message}");
    }
}

#[tokio::test]
async fn hosts_outside_the_list_and_private_addresses_are_refused() {
    let (stub, fixture) = (serve(), sandbox().await);
    let server = stub.address();
    let mut unlisted = get_call(server, "/text");
    unlisted.egress = vec!["*.example.com".parse().unwrap()];
    let (kind, message, ..) = failure(fixture.run(unlisted).await);
    assert_eq!(
        (kind, message),
        (
            ErrorType::PermissionError,
            format!("{server} is not in the tool's egress list")
        )
    );

    // The URL parser reads this spelling as 127.0.0.1, and so does the egress policy.
    let port = server.port();
    let mut spelled = http_call(HttpMethod::Get, format!("http://2130706433:{port}/text"));
    spelled.egress = vec![format!("2130706433:{port}").parse().unwrap()];
    assert_eq!(
        failure(fixture.run(spelled).await).0,
        ErrorType::PermissionError
    );

    let mut metadata = http_call(
        HttpMethod::Get,
        "http://169.254.169.254/latest/meta-data".into(),
    );
    metadata.egress = vec!["*.amazonaws.com".parse().unwrap()];
    assert_eq!(
        failure(fixture.run(metadata).await).0,
        ErrorType::PermissionError
    );
}

#[tokio::test]
async fn localhost_names_loopback() {
    let stub = serve();
    let server = stub.address();
    let mut call = http_call(
        HttpMethod::Get,
        format!("http://localhost:{}/text", server.port()),
    );
    call.egress = vec![format!("localhost:{}", server.port()).parse().unwrap()];
    assert_eq!(
        output(sandbox().await.run(call).await),
        json!({ "status": 200, "body": "plain" })
    );
}

#[tokio::test]
async fn a_silent_host_times_out_and_a_call_can_be_cancelled() {
    let (stub, fixture) = (serve(), sandbox().await);
    let server = stub.address();
    let mut slow = get_call(server, "/slow");
    slow.limits.timeout = Duration::from_millis(200);
    assert_eq!(
        failure(fixture.run(slow).await),
        (
            ErrorType::TimeoutError,
            "no response within 200 ms".into(),
            true,
            String::new()
        )
    );
    let cancel = CancellationToken::new();
    let cancelling = async {
        ASKED.notified().await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(
        fixture
            .sandbox
            .run(get_call(server, "/hang"), cancel.clone()),
        cancelling
    );
    assert_eq!(failure(outcome).1, "the call was cancelled");
}

#[tokio::test]
async fn a_refused_connection_is_retryable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (kind, _, retryable, _) = failure(sandbox().await.run(get_call(address, "/")).await);
    assert_eq!((kind, retryable), (ErrorType::ExecutionError, true));
}
