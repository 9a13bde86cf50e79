use std::collections::BTreeSet;

use rmcp::transport::async_rw::AsyncRwTransport;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::*;

type ClientSide = AsyncRwTransport<RoleClient, OwnedReadHalf, OwnedWriteHalf>;
type ServerSide = AsyncRwTransport<RoleServer, OwnedReadHalf, OwnedWriteHalf>;

/// The two ends of a stream.
fn stream() -> (ClientSide, ServerSide) {
    let (one, other) = UnixStream::pair().unwrap();
    let (reading, writing) = one.into_split();
    let client = ClientSide::new(reading, writing);
    let (reading, writing) = other.into_split();
    (client, ServerSide::new(reading, writing))
}

/// A client, and its connection here.
fn client() -> (ClientSide, ClientConnection<ServerSide>) {
    let (client, here) = stream();
    (client, ClientConnection::new(here))
}

async fn send(client: &mut ClientSide, message: Value) {
    let message = serde_json::from_value(message).unwrap();
    client.send(message).await.unwrap();
}

async fn answer(process: &mut ServerSide, message: Value) {
    let message = serde_json::from_value(message).unwrap();
    process.send(message).await.unwrap();
}

fn written(message: Option<impl Serialize>) -> Value {
    serde_json::to_value(message.unwrap()).unwrap()
}

async fn received_by_client(client: &mut ClientSide) -> Value {
    written(client.receive().await)
}

async fn received_by_server(process: &mut ServerSide) -> Value {
    written(process.receive().await)
}

fn request(id: u32, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn initialize() -> Value {
    let client = json!({"name": "tests", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    request(1, "initialize", &params)
}

/// Answers the handshake of a client, and returns it.
async fn initialize_server(process: &mut ServerSide) -> Value {
    let opening = received_by_server(process).await;
    assert_eq!(opening["method"], "initialize");
    let server = json!({"name": "charter", "version": "1"});
    let result = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": server});
    let id = opening["id"].clone();
    answer(
        process,
        json!({"jsonrpc": "2.0", "id": id, "result": result}),
    )
    .await;
    opening
}

async fn shake_hands(client: &mut ClientSide, process: &mut ServerSide) {
    send(client, initialize()).await;
    initialize_server(process).await;
    assert_eq!(received_by_client(client).await["id"], 1);
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    send(client, initialized).await;
    assert_eq!(
        received_by_server(process).await["method"],
        "notifications/initialized"
    );
}

/// A call that may have been executed fails. Everything else continues, and the client notices nothing.
#[tokio::test]
async fn a_process_that_takes_over_gets_the_handshake_and_what_only_reads() {
    let (mut client, mut connection) = client();
    let stop = CancellationToken::new();
    let (mut first, mut process) = stream();
    let call = |id, tool| request(id, "tools/call", &json!({"name": tool, "arguments": {}}));
    let ending = async {
        shake_hands(&mut client, &mut process).await;
        send(&mut client, call(2, "run")).await;
        send(&mut client, call(3, "find")).await;
        send(&mut client, request(4, "tools/list", &json!({}))).await;
        for _ in 0..3 {
            received_by_server(&mut process).await;
        }
        drop(process);
        let refused = received_by_client(&mut client).await;
        assert_eq!(
            (&refused["id"], &refused["error"]["code"]),
            (&json!(2), &json!(-32603))
        );
    };
    let relaying = connection.relay(&mut first, SendFailure::EndsConnection, &stop);
    let (end, ()) = tokio::join!(relaying, ending);
    assert_eq!(end.unwrap(), RelayEnd::AnswererLost);

    let (mut second, mut process) = stream();
    let going_on = async {
        let opening = initialize_server(&mut process).await;
        assert_eq!(opening["id"], TAKEOVER);
        assert_eq!(opening["params"], initialize()["params"]);
        let mut heard_of = BTreeSet::new();
        for _ in 0..3 {
            let message = received_by_server(&mut process).await;
            heard_of.insert(format!("{} {}", message["method"], message["id"]));
        }
        let expected = [
            "\"notifications/initialized\" null",
            "\"tools/call\" 3",
            "\"tools/list\" 4",
        ];
        assert_eq!(heard_of, BTreeSet::from(expected.map(str::to_owned)));
        answer(
            &mut process,
            json!({"jsonrpc": "2.0", "id": 4, "result": {"tools": []}}),
        )
        .await;
        assert_eq!(received_by_client(&mut client).await["id"], 4);
        answer(
            &mut process,
            json!({"jsonrpc": "2.0", "id": 3, "result": {"content": []}}),
        )
        .await;
        assert_eq!(received_by_client(&mut client).await["id"], 3);
        drop(client);
    };
    let relaying = connection.relay(&mut second, SendFailure::EndsConnection, &stop);
    let (end, ()) = tokio::join!(relaying, going_on);
    assert_eq!(end.unwrap(), RelayEnd::ClientLeft);
}

/// Two processes may choose equal ids. A person's consent to one process is no consent to the other.
#[tokio::test]
async fn an_answer_to_a_process_that_ended_reaches_no_other() {
    let (mut client, mut connection) = client();
    let stop = CancellationToken::new();
    let (mut first, mut process) = stream();
    let question = json!({"jsonrpc": "2.0", "id": 0, "method": "roots/list"});
    let answered = |id: Value, uri: &str| {
        let result = json!({"roots": [{"uri": uri}]});
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    };
    let ending = async {
        shake_hands(&mut client, &mut process).await;
        answer(&mut process, question.clone()).await;
        assert_eq!(received_by_client(&mut client).await["id"], 0);
        drop(process);
        let withdrawn = received_by_client(&mut client).await;
        assert_eq!(withdrawn["method"], "notifications/cancelled");
        assert_eq!(withdrawn["params"]["requestId"], 0);
    };
    let relaying = connection.relay(&mut first, SendFailure::EndsConnection, &stop);
    let (end, ()) = tokio::join!(relaying, ending);
    assert_eq!(end.unwrap(), RelayEnd::AnswererLost);

    let (mut second, mut process) = stream();
    let going_on = async {
        initialize_server(&mut process).await;
        assert_eq!(
            received_by_server(&mut process).await["method"],
            "notifications/initialized"
        );
        answer(&mut process, question.clone()).await;
        let known = received_by_client(&mut client).await["id"].clone();
        assert_eq!(known, "1-0");
        send(&mut client, answered(json!(0), "file:///to-the-first")).await;
        send(&mut client, answered(known, "file:///to-the-second")).await;
        let message = received_by_server(&mut process).await;
        assert_eq!(message["id"], 0);
        assert_eq!(
            message["result"]["roots"][0]["uri"],
            "file:///to-the-second"
        );
        drop(client);
    };
    let relaying = connection.relay(&mut second, SendFailure::EndsConnection, &stop);
    let (end, ()) = tokio::join!(relaying, going_on);
    assert_eq!(end.unwrap(), RelayEnd::ClientLeft);
}

/// A client that gives up a probe cancels it before it begins a lifecycle.
#[tokio::test]
async fn a_notification_before_the_first_request_is_passed_over() {
    let (mut client, mut connection) = client();
    let stop = CancellationToken::new();
    let (mut answerer, mut process) = stream();
    let script = async {
        let params = json!({"requestId": 7});
        let early =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        send(&mut client, early).await;
        shake_hands(&mut client, &mut process).await;
        drop(client);
    };
    let relaying = connection.relay(&mut answerer, SendFailure::EndsConnection, &stop);
    let (end, ()) = tokio::join!(relaying, script);
    assert_eq!(end.unwrap(), RelayEnd::ClientLeft);
}

/// Shells write all requests at once and close their end.
#[tokio::test]
async fn a_client_that_closes_its_end_still_gets_its_answers() {
    let (mut client, mut connection) = client();
    let stop = CancellationToken::new();
    let (mut answerer, mut process) = stream();
    let script = async {
        send(&mut client, request(1, "tools/list", &json!({}))).await;
        client.close().await.unwrap();
        assert_eq!(received_by_server(&mut process).await["id"], 1);
        answer(
            &mut process,
            json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}),
        )
        .await;
        assert_eq!(received_by_client(&mut client).await["id"], 1);
    };
    let relaying = connection.relay(&mut answerer, SendFailure::EndsConnection, &stop);
    let (end, ()) = tokio::join!(relaying, script);
    assert_eq!(end.unwrap(), RelayEnd::ClientLeft);
    assert!(connection.is_done());
}

#[test]
fn only_what_changes_nothing_is_sent_twice() {
    let parsed = |method: &str, params: Value| -> ClientRequest {
        let message = serde_json::from_value(request(1, method, &params)).unwrap();
        let ClientJsonRpcMessage::Request(request) = message else {
            panic!("{method} is a request")
        };
        request.request
    };
    let call = |tool: &str| parsed("tools/call", json!({"name": tool}));
    for tool in ["find", "open", "status", "recall", "ask_lens"] {
        assert!(may_repeat(&call(tool)), "{tool}");
    }
    for tool in [
        "run",
        "call",
        "start_mission",
        "cancel",
        "remember",
        "unknown",
    ] {
        assert!(!may_repeat(&call(tool)), "{tool}");
    }
    assert!(may_repeat(&parsed("tools/list", json!({}))));
    let answers = json!({"taskId": "t", "inputResponses": {}});
    assert!(!may_repeat(&parsed("tasks/update", answers)));
    assert!(!may_repeat(&parsed("made/up", json!({}))));
}
