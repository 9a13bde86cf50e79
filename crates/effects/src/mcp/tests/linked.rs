//! Calls with a link: what passes between their server and their client.

use super::*;
use crate::call_link::{CallClient, CallEnd, CallEvent, CallLink, LinkMemory};

fn link() -> CallLink {
    let capabilities = json!({"elicitation": {}}).as_object().cloned().unwrap();
    let client = CallClient {
        capabilities,
        log_level: None,
    };
    CallLink::new(client, LinkMemory::default())
}

fn linked(link: &CallLink) -> McpTool {
    McpTool {
        link: Some(link.clone()),
        ..imported(Repeat::Safe)
    }
}

/// Waits for the call's request, and returns it.
async fn request(fake: &Fake) -> Value {
    loop {
        match fake.heard("tools/call").pop() {
            Some(request) => return request,
            None => tokio::task::yield_now().await,
        }
    }
}

fn answer(fake: &Fake, request: &Value, result: &Value) {
    fake.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
}

#[tokio::test]
async fn progress_and_the_whole_result_reach_the_client() {
    let (fake, _connection) = Fake::new(silent()).await;
    let link = link();
    let image = json!({"content": [{"type": "image", "data": "aW1n", "mimeType": "image/png"}]});
    let serving = async {
        let request = request(&fake).await;
        let token = &request["params"]["_meta"]["progressToken"];
        fake.send(
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": token, "progress": 50, "total": 100,
            }}),
        );
        answer(&fake, &request, &image);
    };
    let calling = called(&fake, linked(&link), Limits::default());
    let (ended, ()) = tokio::join!(calling, serving);
    assert!(ended.is_ok());
    let progress = CallEvent::Progress {
        progress: 50.0,
        total: Some(100.0),
        message: None,
    };
    assert_eq!(link.take_events(), vec![progress]);
    let Some(CallEnd::Result(result)) = link.end() else {
        panic!("no result");
    };
    assert_eq!(result["content"], image["content"]);
}

#[tokio::test]
async fn a_question_reaches_the_client_and_its_answer_the_server() {
    let (fake, _connection) = Fake::new(silent()).await;
    let link = link();
    let serving =
        async {
            let request = request(&fake).await;
            fake.send(json!({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": {
            "message": "Your name?", "requestedSchema": {"type": "object", "properties": {}},
        }}));
            while link.questions().is_empty() {
                tokio::task::yield_now().await;
            }
            let questions = link.questions();
            let (key, question) = questions.iter().next().unwrap();
            let message = "The MCP server `files` asks: Your name?";
            assert_eq!(question["params"]["message"], message);
            let accepted = json!({"action": "accept", "content": {"name": "Alice"}});
            link.answer(&Map::from_iter([(key.clone(), accepted.clone())]));
            assert_eq!(fake.answered(7).await["result"], accepted);
            answer(&fake, &request, &text("Hello, Alice!"));
        };
    let calling = called(&fake, linked(&link), Limits::default());
    let (ended, ()) = tokio::join!(calling, serving);
    assert_eq!(ended.unwrap().output, json!({"text": "Hello, Alice!"}));
}

/// The server could ask about a call of another client.
#[tokio::test]
async fn a_question_during_a_call_without_a_client_is_refused() {
    let (fake, _connection) = Fake::new(silent()).await;
    let serving =
        async {
            let request = request(&fake).await;
            fake.send(json!({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": {
            "message": "Your name?", "requestedSchema": {"type": "object", "properties": {}},
        }}));
            assert_eq!(fake.answered(7).await["error"]["code"], -32601);
            answer(&fake, &request, &text("done"));
        };
    let calling = called(&fake, imported(Repeat::Safe), Limits::default());
    let (ended, ()) = tokio::join!(calling, serving);
    assert!(ended.is_ok());
}

#[tokio::test]
async fn a_call_that_its_client_cancels_is_cancelled_on_the_server() {
    let (fake, _connection) = Fake::new(silent()).await;
    let link = link();
    let cancelling = async {
        request(&fake).await;
        link.cancel();
    };
    let calling = called(&fake, linked(&link), Limits::default());
    let (ended, ()) = tokio::join!(calling, cancelling);
    assert_eq!(failed(ended).1, "the call was cancelled");
    told_of_the_end(&fake).await;
}

/// The time in which a person answers is not the server's.
#[tokio::test(start_paused = true)]
async fn an_open_question_stops_the_timeout_of_the_server() {
    let (fake, _connection) = Fake::new(silent()).await;
    let link = link();
    let limits = Limits {
        timeout: Duration::from_secs(10),
        ..Limits::default()
    };
    let serving = async {
        let request = request(&fake).await;
        link.ask(Map::from_iter([("name".to_owned(), json!({}))]));
        tokio::time::sleep(Duration::from_secs(60)).await;
        link.ask(Map::new());
        answer(&fake, &request, &text("done"));
    };
    let calling = called(&fake, linked(&link), limits.clone());
    let (ended, ()) = tokio::join!(calling, serving);
    assert!(ended.is_ok());

    let late = failed(called(&fake, linked(&self::link()), limits).await);
    let message = "the MCP server `files` did not answer within 10000 ms";
    assert_eq!(late, (ErrorType::TimeoutError, message.to_owned(), true));
}
