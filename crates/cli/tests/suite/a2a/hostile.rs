//! Requests that a well-behaved client never sends.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::client::{Client, message};
use crate::a2a::keyed_backups;
use crate::home::{Api, Home};
use crate::packages::QUESTION;

/// Makes a call without the SDK.
fn call(api: &Api, version: Option<&str>, method: &str, params: &Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let version = version.map(|version| ("a2a-version", version));
    let headers: Vec<_> = version.into_iter().collect();
    let answer = api.call("POST", "/a2a", &headers, body.to_string().into_bytes());
    let answer = answer.expect(200);
    assert_eq!(
        (&answer["jsonrpc"], &answer["id"]),
        (&json!("2.0"), &json!(7)),
        "{answer:#}"
    );
    answer
}

/// The code and reason of a failing call.
fn refused(api: &Api, version: Option<&str>, method: &str, params: &Value) -> (i64, String) {
    let answer = call(api, version, method, params);
    let error = &answer["error"];
    let reason = error["data"][0]["reason"].as_str();
    let reason = reason.unwrap_or_else(|| panic!("{answer:#}"));
    (error["code"].as_i64().unwrap(), reason.to_owned())
}

#[test]
fn another_version_or_none_is_refused_before_anything_is_done() {
    let server = keyed_backups();
    let uma = server.key("uma");
    for version in [
        None,
        Some(""),
        Some("0.3"),
        Some("1.1"),
        Some("2.0"),
        Some("x\u{20}y"),
    ] {
        let found = refused(&uma, version, "SendMessage", &message(QUESTION));
        assert_eq!(
            found,
            (-32_009, "VERSION_NOT_SUPPORTED".to_owned()),
            "{version:?}"
        );
    }
    let listed = call(&uma, Some("1.0"), "ListTasks", &json!({}));
    let expected = json!({"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0});
    assert_eq!(listed["result"], expected);
}

#[test]
fn unknown_methods_and_push_notifications_are_refused_by_name() {
    let server = keyed_backups();
    let uma = server.key("uma");
    for (method, code) in [
        ("message/send", -32_601),
        ("tasks/get", -32_601),
        ("sendMessage", -32_601),
        ("", -32_601),
        ("CreateTaskPushNotificationConfig", -32_003),
        ("GetTaskPushNotificationConfig", -32_003),
        ("ListTaskPushNotificationConfigs", -32_003),
        ("DeleteTaskPushNotificationConfig", -32_003),
    ] {
        let (found, _) = refused(
            &uma,
            Some("1.0"),
            method,
            &json!({"url": "http://127.0.0.1:1/"}),
        );
        assert_eq!(found, code, "{method}");
    }
    let mut sent = message(QUESTION);
    sent["configuration"] = json!({"taskPushNotificationConfig": {"url": "http://127.0.0.1:1/"}});
    let (found, _) = refused(&uma, Some("1.0"), "SendMessage", &sent);
    assert_eq!(found, -32_003);
    for binding in super::BINDINGS {
        let mut client = Client::start(&server.key("uma"), binding);
        let push = json!({"taskId": "t", "url": "http://127.0.0.1:1/"});
        assert_eq!(
            client.fails("push", &push),
            "PushNotificationNotSupportedError"
        );
    }
}

/// URLs in a message are never fetched.
#[test]
fn a_part_that_points_somewhere_is_refused_and_not_fetched() {
    let server = keyed_backups();
    let uma = server.key("uma");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/secret.txt", listener.local_addr().unwrap());
    let mut sent = message(QUESTION);
    sent["message"]["parts"] = json!([{"text": QUESTION}, {"url": url, "mediaType": "text/plain"}]);
    for method in ["SendMessage", "SendStreamingMessage"] {
        let found = refused(&uma, Some("1.0"), method, &sent);
        assert_eq!(found, (-32_005, "CONTENT_TYPE_NOT_SUPPORTED".to_owned()));
    }
    let looked = listener.accept().map(drop).unwrap_err();
    assert_eq!(looked.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn oversized_deep_or_invalid_messages_are_refused() {
    let home =
        Home::with_keys(&crate::playbooks::KEYS).with("CHARTER_LIMITS__BODY_BYTES", "1000000");
    let server = home.serve();
    let uma = server.key("uma");
    let mut huge = message(&"x".repeat(2_000_000));
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": huge});
    uma.post("/a2a", &body).fails(413, "too_large");
    huge["message"]["parts"] = json!([{"text": "x".repeat(300_000)}]);
    let deep = (0..60).fold(json!(1), |inner, _| json!([inner]));
    let with = |field: &str, value: Value| {
        let mut sent = message(QUESTION);
        sent["message"][field] = value;
        sent
    };
    let mut tenant = message(QUESTION);
    tenant["tenant"] = json!("umbra");
    for (sent, code) in [
        (huge, -32_602),
        (
            with(
                "parts",
                json!([{"data": {"parameters": {"vault": deep}}}, {"text": "x"}]),
            ),
            -32_602,
        ),
        (
            with(
                "parts",
                json!([{"data": {"tier": "platinum"}}, {"text": "x"}]),
            ),
            -32_602,
        ),
        (with("parts", json!([])), -32_602),
        (with("parts", json!("text")), -32_602),
        (with("role", json!("ROLE_AGENT")), -32_602),
        (with("role", json!(null)), -32_602),
        (with("messageId", json!("")), -32_602),
        (with("messageId", json!("m".repeat(1_000))), -32_602),
        (with("contextId", json!("c".repeat(1_000))), -32_602),
        (
            with(
                "contextId",
                json!("sess-01930000-0000-7000-8000-000000000001"),
            ),
            -32_602,
        ),
        (with("taskId", json!("../../etc/passwd")), -32_001),
        (
            with("taskId", json!("req-01930000-0000-7000-8000-000000000001")),
            -32_001,
        ),
        (tenant, -32_602),
        (json!({}), -32_602),
    ] {
        let (found, _) = refused(&uma, Some("1.0"), "SendMessage", &sent);
        assert_eq!(found, code, "{sent:.300}");
    }
    let listed = call(&uma, Some("1.0"), "ListTasks", &json!({}));
    assert_eq!(
        listed["result"]["totalSize"], 0,
        "something was begun: {listed:#}"
    );
}

#[test]
fn only_the_agent_card_is_public() {
    let mut keyless = keyed_backups().api.clone();
    keyless.key = None;
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "ListTasks"});
    keyless.post("/a2a", &body).fails(401, "unauthenticated");
    keyless
        .with_key("nobody")
        .post("/a2a", &body)
        .fails(401, "unauthenticated");
    keyless.get("/a2a/v1/tasks").fails(401, "unauthenticated");
    keyless.get("/.well-known/agent-card.json").expect(200);
    keyless.get("/.well-known/jwks.json").expect(200);
}
