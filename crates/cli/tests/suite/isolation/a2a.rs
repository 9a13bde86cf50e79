//! A2A as a stranger: every method over both bindings with the official client; those for push notifications without
//! it, because that client supports only one of the four.

use serde_json::{Value, json};

use super::document::Document;
use super::estate::{Estate, MARK};
use super::{absent, listing};
use crate::a2a::BINDINGS;
use crate::a2a::client::{Client, message, reply};
use crate::shared::Tenants;

/// Every method of the protocol's version.
pub(crate) const METHODS: [&str; 11] = [
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "GetExtendedAgentCard",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
];

const VERSION: [(&str, &str); 2] = [("a2a-version", "1.0"), ("content-type", "application/json")];

/// Commands about a task, and about its context.
fn orders(task: &str, context: &str) -> Vec<(&'static str, Value)> {
    let id = json!({"id": task});
    let mut within = message("which backups have grown stale");
    within["message"]["contextId"] = json!(context);
    vec![
        ("get", id.clone()),
        ("subscribe", id.clone()),
        ("cancel", id.clone()),
        ("send", reply(&id, "main")),
        ("stream", reply(&id, "main")),
        ("send", within),
        (
            "list",
            json!({"contextId": context, "includeArtifacts": true}),
        ),
        ("list", json!({"includeArtifacts": true})),
        (
            "push",
            json!({"taskId": task, "url": "http://127.0.0.1:1/"}),
        ),
        ("extended_card", json!({})),
    ]
}

/// Whether the command succeeded; otherwise the client's class of the failure.
fn told(answer: &Value) -> String {
    match answer["error"]["type"].as_str() {
        Some(class) => class.to_owned(),
        None => "ok".to_owned(),
    }
}

#[test]
fn no_a2a_method_reads_or_changes_another_tenants_data() {
    let estate = Estate::new();
    let document = Document::read();
    let before = listing(&document, &estate);
    let context = &estate.known["sessions"][0];
    for binding in BINDINGS {
        let mut owner = Client::start(&estate.server.key("ann"), binding);
        let mut stranger = Client::start(&estate.server.key("eve"), binding);
        for task in &estate.known["tasks"] {
            owner.ok("get", &json!({"id": task}));
            let real = orders(task, context);
            let none = orders(&absent(task), &absent(context));
            for ((what, real), (_, none)) in real.iter().zip(&none) {
                let expected = stranger.tries(what, none);
                let found = stranger.tries(what, real);
                assert_eq!(
                    told(&found),
                    told(&expected),
                    "{binding} {what} {real}: {found:#}"
                );
                let (text, said) = (found.to_string(), real.to_string());
                for secret in estate.secrets() {
                    let known = !text.contains(secret) || said.contains(secret);
                    assert!(known, "{binding} {what} {real} tells {secret}: {text}");
                }
            }
        }
        let card = owner.ok("extended_card", &json!({})).to_string();
        assert!(
            card.contains(MARK),
            "the owner's card names nothing of its own"
        );
    }
    push_notifications_are_refused_to_all(&estate);
    let after = listing(&document, &estate);
    for (path, was) in &before {
        assert_eq!(after.get(path), Some(was), "{path} changed");
    }
}

/// Push notifications are refused alike for a task of another tenant and for an unused id.
fn push_notifications_are_refused_to_all(estate: &Estate) {
    let eve = estate.stranger();
    let task = &estate.known["tasks"][0];
    for id in [task.clone(), absent(task)] {
        for (method, path) in [
            ("GET", ""),
            ("POST", ""),
            ("GET", "/c-1"),
            ("DELETE", "/c-1"),
        ] {
            let path = format!("/a2a/v1/tasks/{id}/pushNotificationConfigs{path}");
            let answer = eve.call_plainly(method, &path, &VERSION, b"{}".to_vec());
            assert_eq!(answer.status, 400, "{method} {path}: {:#}", answer.body);
        }
        for method in &METHODS[7..] {
            let params = json!({"taskId": id, "id": "c-1", "url": "http://127.0.0.1:1/"});
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let answer = eve.call_plainly("POST", "/a2a", &VERSION, body.to_string().into_bytes());
            assert_eq!(
                answer.body["error"]["code"], -32_003,
                "{method}: {:#}",
                answer.body
            );
        }
    }
}

#[test]
fn no_method_of_a2a_is_answered_without_a_key() {
    let mut keyless = Tenants::one().api.clone();
    keyless.key = None;
    for api in [keyless.clone(), keyless.with_key("mallory")] {
        for method in METHODS {
            let body =
                json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).to_string();
            api.call("POST", "/a2a", &VERSION, body.into_bytes())
                .fails(401, "unauthenticated");
        }
        for (method, path) in [
            ("GET", "/c-1"),
            ("DELETE", "/c-1"),
            ("GET", ""),
            ("POST", ""),
        ] {
            let path = format!("/a2a/v1/tasks/t-1/pushNotificationConfigs{path}");
            api.call(method, &path, &VERSION, Vec::new())
                .fails(401, "unauthenticated");
        }
    }
}
