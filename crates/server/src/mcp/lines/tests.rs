//! Refused messages between valid ones.

use std::io::Cursor;

use serde_json::{Value, json};
use tokio::io::duplex;

use super::*;

/// An integer with more than 64 bits.
const LONG: &str = "98765432109876543210";

/// The parsed messages of a client that sends these lines, and the error responses.
async fn exchanged(sent: &[String]) -> (Vec<Value>, Vec<Value>) {
    let (ours, mut theirs) = duplex(1 << 16);
    let sent = sent.concat().into_bytes();
    let mut client = LineTransport::new(Cursor::new(sent), ours);
    let mut messages = Vec::new();
    while let Some(message) = client.receive().await {
        messages.push(serde_json::to_value(&message).unwrap());
    }
    client.close().await.unwrap();
    let mut written = String::new();
    theirs.read_to_string(&mut written).await.unwrap();
    let answers = written.lines().map(serde_json::from_str);
    (messages, answers.collect::<Result<_, _>>().unwrap())
}

fn ping(id: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n")
}

fn ids(messages: &[Value]) -> Vec<&Value> {
    messages.iter().map(|message| &message["id"]).collect()
}

#[tokio::test]
async fn a_request_with_a_rounded_number_is_refused_and_the_connection_stays_open() {
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{{"name":"call","arguments":{{"n":{LONG}}}}}}}"#
    );
    let progress = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":1,"progress":{LONG}}}}}"#
    );
    let answer =
        r#"{"jsonrpc":"2.0","id":7,"result":{"action":"accept","content":{"n":1e999}}}"#.to_owned();
    let line = |text: String| text + "\r\n";
    let sent = [
        ping("1"),
        line(call),
        line(progress),
        line(answer),
        ping("3"),
    ];
    let (messages, answers) = exchanged(&sent).await;
    assert_eq!(ids(&messages), [&json!(1), &json!(7), &json!(3)]);
    let failure = messages[1]["error"]["message"].as_str().unwrap();
    assert!(
        failure.contains("1e999 at `/result/content/n`"),
        "{failure}"
    );
    assert_eq!(ids(&answers), [&json!("two")]);
    let error = &answers[0]["error"];
    assert_eq!(error["code"], -32_602);
    let place = format!("the message has the number {LONG} at `/params/arguments/n`");
    let told = error["message"].as_str().unwrap();
    assert!(told.starts_with(&place), "{told}");
}

#[tokio::test]
async fn an_invalid_line_does_not_close_the_connection() {
    let sent = [
        "\u{feff}".to_owned() + &ping("1"),
        "not JSON\n\n".to_owned(),
        "[".repeat(90) + &"]".repeat(90) + "\n",
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"params\":[]}\n".to_owned(),
        "{\"method\":\"of/another/protocol\",\"params\":{}}\n".to_owned(),
        ping("2"),
        "{\"cut".to_owned(),
    ];
    let (messages, answers) = exchanged(&sent).await;
    assert_eq!(ids(&messages), [&json!(1), &json!(2)]);
    assert_eq!(ids(&answers), [&Value::Null, &Value::Null]);
    let told = |at: usize| answers[at]["error"]["message"].as_str().unwrap();
    assert!(
        told(0).contains("nests more than 80 levels deep"),
        "{}",
        told(0)
    );
    assert!(
        told(1).contains("not a message of the protocol"),
        "{}",
        told(1)
    );
}
