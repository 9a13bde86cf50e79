//! The messages that the SDK receives for an answer over HTTP, and their replacements.

use charter_testkit::http_stub::{HttpStub, Reply};
use rmcp::model::PingRequest;

use super::*;
use crate::http::{HttpRunner, Redirects};

/// Returns the response to a ping for a server that replies with `reply`.
async fn pinged(reply: Reply) -> Result<StreamableHttpPostResponse, Refused> {
    let stub = HttpStub::answering(vec![reply]).unwrap();
    let runner = HttpRunner::new().unwrap();
    let client = runner.client_to("server.example", &[stub.address()], Redirects::None);
    let ping = ClientRequest::PingRequest(PingRequest::default());
    let message = ClientJsonRpcMessage::request(ping, RequestId::Number(7));
    MeasuredHttp::new(client.unwrap())
        .post_message(stub.url("/mcp").into(), message, None, None, HashMap::new())
        .await
}

/// Builds a result with this structured content; the message has two levels more.
fn result(content: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[],"structuredContent":{content}}}}}"#)
}

fn lists(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

fn failure(answer: Result<StreamableHttpPostResponse, Refused>) -> (ErrorCode, String) {
    match answer.unwrap() {
        StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), _) => {
            assert_eq!(error.id, Some(RequestId::Number(7)));
            (error.error.code, error.error.message.into_owned())
        }
        other => panic!("{other:?}"),
    }
}

const TOO_DEEP: &str = "its answer nests more than 80 levels deep; flatten it";

#[tokio::test]
async fn an_oversized_answer_fails_its_request() {
    let fits = pinged(Reply::json(200, result(&lists(78)))).await.unwrap();
    assert!(
        matches!(
            &fits,
            StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Response(_), None)
        ),
        "{fits:?}"
    );
    let heavy = format!("[{}0]", "{\"\":0},".repeat(200_000));
    for (content, said) in [
        (lists(79), TOO_DEEP),
        (
            heavy,
            "its answer has so many values that it takes more than 19922944 bytes of memory; send fewer",
        ),
    ] {
        let refused = failure(pinged(Reply::json(200, result(&content))).await);
        assert_eq!(refused, (UNUSABLE, said.to_owned()));
    }
    let (code, said) = failure(pinged(Reply::json(200, "{\"jsonrpc\": ")).await);
    assert_eq!(code, UNUSABLE);
    assert!(said.starts_with("its answer is not a message: "), "{said}");
}

#[tokio::test]
async fn an_answer_may_begin_with_a_byte_order_mark() {
    let marked = format!("\u{feff}{}", result("[]"));
    let wide = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for body in [marked.into_bytes(), wide] {
        let answer = pinged(Reply::json(200, body)).await.unwrap();
        let is_response = matches!(
            &answer,
            StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Response(_), None)
        );
        assert!(is_response, "{answer:?}");
    }
}

#[tokio::test]
async fn an_oversized_event_fails_the_request_of_its_stream() {
    let fine = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";
    let body = format!("data: {fine}\n\ndata: {}\n\n", result(&lists(79)));
    let answer = pinged(Reply::events(body)).await.unwrap();
    let StreamableHttpPostResponse::Sse(mut events, None) = answer else {
        panic!("{answer:?}");
    };
    let first = events.next().await.unwrap().unwrap();
    assert_eq!(first.data.as_deref(), Some(fine));
    let second = events.next().await.unwrap().unwrap().data.unwrap();
    let expected = failure_of(RequestId::Number(7), TOO_DEEP);
    assert_eq!(second, serde_json::to_string(&expected).unwrap());
}

#[tokio::test]
async fn each_failure_status_has_its_error() {
    let told = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no"}}"#;
    let error = failure(pinged(Reply::json(400, told)).await);
    assert_eq!(error, (ErrorCode::INVALID_PARAMS, "no".to_owned()));
    let busy = pinged(Reply::text(503, "later").with_header("retry-after", "3")).await;
    let Err(StreamableHttpError::HttpStatus(busy)) = busy else {
        panic!("{busy:?}");
    };
    assert_eq!((busy.status, busy.retry_after.as_deref()), (503, Some("3")));
    for (reply, said) in [
        (Reply::text(404, "nothing"), "HTTP 404 Not Found: nothing"),
        // It is unknown whether the server or a proxy refused the credential.
        (
            Reply::json(401, told),
            "HTTP 401 Unauthorized: {\"jsonrpc\"",
        ),
    ] {
        let Err(StreamableHttpError::UnexpectedServerResponse(error)) = pinged(reply).await else {
            panic!("{said}");
        };
        assert!(error.starts_with(said), "{error}");
    }
    let accepted = pinged(Reply::empty(202)).await.unwrap();
    assert!(matches!(accepted, StreamableHttpPostResponse::Accepted));
}

#[test]
fn the_bound_applies_to_each_event_separately() {
    let line = "x".repeat(JSON_BYTES / 2);
    for (event, fits) in [
        (format!("data: {line}\n\n"), true),
        (format!("data: {line}\r\n\r\n"), true),
        (format!("data: {line}\ndata: {line}\n\n"), false),
        (format!("data: {line}\r\ndata: {line}\r\n\r\n"), false),
    ] {
        let mut bytes = EventBytes::default();
        let counted = (0..2).try_for_each(|_| bytes.count(event.as_bytes()));
        assert_eq!(counted.is_ok(), fits);
    }
}
