//! A2A 1.0 by the client of its official Python SDK, over both bindings, and by hostile hands.

pub(crate) mod client;
mod hostile;
mod missions;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::a2a::client::{Client, message, reply};
use crate::home::{Home, eventually, ids};
use crate::intent::{DIFFERENT, different_things};
use crate::packages::{QUESTION, SCRIPT_FILE, SKILL, SKILL_FILE, backups, global_backups};
use crate::playbooks::{KEYS, decide, purge};
use crate::service::Service;
use crate::shared::Tenants;

pub(crate) const BINDINGS: [&str; 2] = ["JSONRPC", "HTTP+JSON"];

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap()
}

/// The only task of a `SendMessage`.
fn task(events: &Value) -> Value {
    let [event] = events.as_array().unwrap().as_slice() else {
        panic!("{events:#}");
    };
    event["task"].clone()
}

/// The states that a stream went through, without repeats, and what it sent beside states.
fn told(events: &Value) -> (Vec<&str>, Vec<&str>) {
    let events = events.as_array().unwrap();
    let mut states: Vec<&str> = Vec::new();
    for event in events {
        let status = [&event["task"], &event["statusUpdate"]];
        let found = status
            .into_iter()
            .find_map(|holder| holder["status"]["state"].as_str());
        states.extend(found);
    }
    states.dedup();
    let kinds = events
        .iter()
        .flat_map(|event| event.as_object().unwrap().keys());
    (states, kinds.map(String::as_str).collect())
}

/// The data part of an artifact or a status message.
fn data(parts: &Value) -> &Value {
    let mut parts = parts.as_array().unwrap().iter();
    parts.find_map(|part| part.get("data")).unwrap()
}

/// A value as ProtoJSON keeps it, where every number is a double.
fn in_doubles(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64().unwrap()),
        Value::Array(items) => items.iter().map(in_doubles).collect(),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), in_doubles(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

fn asks(task: &Value) -> &Value {
    data(&task["status"]["message"]["parts"])
}

fn keyed_backups() -> Tenants {
    let server = Tenants::with_keys(&KEYS);
    server.key("ann").register(&backups());
    server
}

#[test]
fn the_official_client_completes_a_task() {
    let server = keyed_backups();
    for binding in BINDINGS {
        let mut uma = Client::start(&server.key("uma"), binding);
        let sent = message(QUESTION);
        let done = task(&uma.ok("send", &sent));
        assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{done:#}");
        let parts = &done["artifacts"][0]["parts"];
        let answer = data(parts);
        assert_eq!(answer["content"], parts[0]["text"]);
        assert_eq!(
            answer["metadata"]["findings"][0]["resource_id"], "b-1",
            "{answer:#}"
        );
        let shown = server
            .key("uma")
            .get(&format!("/v1/requests/{}", done["id"].as_str().unwrap()));
        assert_eq!(in_doubles(&shown.expect(200)["answer"]), *answer);
        // What was said, and no more of it than is wanted.
        assert_eq!(done["history"][0]["parts"][0]["text"], QUESTION);
        assert_eq!(
            done["history"][0]["messageId"],
            sent["message"]["messageId"]
        );
        let bare = uma.ok("get", &json!({"id": done["id"], "historyLength": 0}));
        assert_eq!(
            (bare.get("history"), &bare["artifacts"]),
            (None, &done["artifacts"])
        );
        // The same message again is the same task, and is not worked on again.
        assert_eq!(task(&uma.ok("send", &sent)), done);
        let mut other = sent.clone();
        other["message"]["parts"][0]["text"] = json!("Which vaults are empty?");
        assert_eq!(uma.fails("send", &other), "InvalidParamsError");
    }
}

/// The SDK reads data parts up to a depth: an answer that nests deeper, because a tool's output does, is its JSON text.
#[test]
fn the_official_client_reads_the_deepest_answer() {
    let deep = (0..58).fold(json!("innermost"), |inner, _| json!({"in": inner}));
    let output = json!({"backups": [{"id": "b-1", "age_days": 40, "deep": deep}]});
    let package = backups()
        .with(SCRIPT_FILE, &format!("print('''{output}''')\n"))
        .edit(
            SKILL_FILE,
            "age_days: .age_days}",
            "age_days: .age_days, deep: .deep}",
        );
    let server = Tenants::with_keys(&KEYS);
    server.key("ann").register(&package);
    for binding in BINDINGS {
        let mut uma = Client::start(&server.key("uma"), binding);
        let done = task(&uma.ok("send", &message(QUESTION)));
        assert_eq!(state(&done), "TASK_STATE_COMPLETED", "{done:#}");
        let part = &done["artifacts"][0]["parts"][1];
        assert_eq!(part["mediaType"], "application/json", "{part:#}");
        let answer: Value = serde_json::from_str(part["text"].as_str().unwrap()).unwrap();
        assert_eq!(answer["metadata"]["findings"][0]["fields"]["deep"], deep);
        let listed = uma.ok("list", &json!({"includeArtifacts": true, "pageSize": 1}));
        assert_eq!(listed["tasks"][0]["artifacts"], done["artifacts"]);
    }
}

#[test]
fn the_official_client_follows_a_stream_to_its_end() {
    let server = Tenants::one();
    let service = Service::start();
    server.api.register(&service.package());
    for binding in BINDINGS {
        let mut client = Client::start(&server.api, binding);
        client.order("stream", &message(QUESTION));
        service
            .next()
            .answer_with(r#"{"backups": [{"id": "b-9", "age_days": 99}]}"#);
        let events = client.answered();
        let (states, kinds) = told(&events);
        assert_eq!(states.last(), Some(&"TASK_STATE_COMPLETED"), "{events:#}");
        assert_eq!(kinds.first(), Some(&"task"));
        assert_eq!(kinds[kinds.len() - 2..], ["artifactUpdate", "statusUpdate"]);
        let said: Vec<&Value> = events
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|event| event.pointer("/statusUpdate/status/message/parts/1/data/stage"))
            .collect();
        assert_eq!(
            said,
            [
                "routed",
                "skill_started",
                "step_started",
                "step_finished",
                "analysed"
            ],
            "{events:#}"
        );
        let artifact = &events[kinds.len() - 2]["artifactUpdate"]["artifact"];
        assert_eq!(
            data(&artifact["parts"])["metadata"]["findings"][0]["resource_id"],
            "b-9"
        );
        // Only what the client takes.
        let mut text = message(QUESTION);
        text["configuration"] = json!({"acceptedOutputModes": ["text/*"]});
        client.order("send", &text);
        service.next().answer_with(r#"{"backups": []}"#);
        let done = task(&client.answered());
        let parts = done["artifacts"][0]["parts"].as_array().unwrap();
        assert!(
            parts.iter().all(|part| part.get("data").is_none()),
            "{done:#}"
        );
        text["message"]["messageId"] = json!(Uuid::now_v7());
        text["configuration"] = json!({"acceptedOutputModes": ["image/png"]});
        assert_eq!(client.fails("send", &text), "ContentTypeNotSupportedError");
    }
}

#[test]
fn the_official_client_cancels_a_task() {
    let server = Tenants::one();
    let service = Service::start();
    server.api.register(&service.package());
    for binding in BINDINGS {
        let mut client = Client::start(&server.api, binding);
        let mut sent = message(QUESTION);
        sent["configuration"] = json!({"returnImmediately": true});
        let begun = task(&client.ok("send", &sent));
        assert!(
            ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"].contains(&state(&begun)),
            "{begun:#}"
        );
        let call = service.next();
        let mut watcher = Client::start(&server.api, binding);
        watcher.order("subscribe", &json!({"id": begun["id"]}));
        assert_eq!(watcher.told()["task"]["id"], begun["id"]);
        client.order("cancel", &json!({"id": begun["id"]}));
        let run = eventually("the run's stop", || {
            let runs = server.api.get("/v1/runs").expect(200);
            let newest = runs["entries"][0].clone();
            (newest["status"] == "stopping").then_some(newest)
        });
        call.answer_with(r#"{"backups": []}"#);
        let canceled = client.answered();
        assert_eq!(state(&canceled), "TASK_STATE_CANCELED", "{canceled:#}");
        let (states, _) = told_of(&mut watcher);
        assert_eq!(
            states.last().map(String::as_str),
            Some("TASK_STATE_CANCELED")
        );
        let run = server
            .api
            .get(&format!("/v1/runs/{}", run["run_id"].as_str().unwrap()));
        assert_eq!(run.expect(200)["status"], "aborted");
        let id = json!({"id": begun["id"]});
        assert_eq!(client.fails("cancel", &id), "TaskNotCancelableError");
        assert_eq!(client.fails("subscribe", &id), "UnsupportedOperationError");
        assert_eq!(
            client.fails("send", &reply(&begun, "go on")),
            "UnsupportedOperationError"
        );
    }
}

fn told_of(client: &mut Client) -> (Vec<String>, Vec<String>) {
    let events = client.answered();
    let (states, kinds) = told(&events);
    let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect();
    (owned(states), owned(kinds))
}

/// B000-18 over A2A: asked for parameters, asked to confirm, approved by somebody else, done.
#[test]
fn b000_18_a_change_asks_over_a2a_and_is_done_once() {
    let server = Tenants::with_keys(&KEYS);
    let service = Service::start();
    server.key("ann").register(&purge(&service));
    for binding in BINDINGS {
        let mut uma = Client::start(&server.key("uma"), binding);
        let asked = task(&uma.ok("send", &message("purge the vault for good")));
        assert_eq!(state(&asked), "TASK_STATE_INPUT_REQUIRED", "{asked:#}");
        assert_eq!(asks(&asked)["parameters"][0]["name"], "vault");
        assert_eq!(
            uma.fails(
                "send",
                &with_data(&asked, json!({"confirm": {"digest": "x"}}))
            ),
            "UnsupportedOperationError"
        );
        // A stream is over where a message is answered.
        let events = uma.ok("stream", &message("purge the vault for good"));
        assert_eq!(told(&events).0.last(), Some(&"TASK_STATE_INPUT_REQUIRED"));
        let wrong = with_data(&asked, json!({"parameters": {"vault": 7}}));
        assert_eq!(uma.fails("send", &wrong), "InvalidParamsError");
        let other = with_data(
            &asked,
            json!({"playbook_id": "a.b", "parameters": {"vault": "main"}}),
        );
        assert_eq!(uma.fails("send", &other), "InvalidParamsError");

        let given = reply(&asked, "main");
        let plan = task(&uma.ok("send", &given));
        assert_eq!(
            (&plan["id"], state(&plan)),
            (&asked["id"], "TASK_STATE_INPUT_REQUIRED")
        );
        assert_eq!(
            asks(&plan)["parameters"],
            json!({"vault": "main"}),
            "{plan:#}"
        );
        assert_eq!(
            uma.fails("send", &reply(&asked, "yes")),
            "InvalidParamsError"
        );
        let digest = &asks(&plan)["confirm"]["digest"];
        let confirm = with_data(&asked, json!({"confirm": {"digest": digest}}));
        let waits = task(&uma.ok("send", &confirm));
        assert_eq!(state(&waits), "TASK_STATE_AUTH_REQUIRED", "{waits:#}");
        assert_eq!(asks(&waits)["approvals"][0]["tool_id"], "vault.purge");
        // Sent again, it changes nothing.
        assert_eq!(task(&uma.ok("send", &confirm)), waits);
        assert!(!service.was_called());

        uma.order("subscribe", &json!({"id": asked["id"]}));
        assert_eq!(state(&uma.told()["task"]), "TASK_STATE_AUTH_REQUIRED");
        let bob = server.key("bob");
        let approvals = bob.get("/v1/approvals?state=pending").expect(200);
        decide(&bob, &approvals["entries"][0], "approve").expect(200);
        service.next().answer_with("{}");
        let (states, kinds) = told_of(&mut uma);
        assert_eq!(
            states.first().map(String::as_str),
            Some("TASK_STATE_AUTH_REQUIRED")
        );
        assert_eq!(
            states.last().map(String::as_str),
            Some("TASK_STATE_COMPLETED")
        );
        assert!(kinds.contains(&"artifactUpdate".to_owned()), "{kinds:?}");
        let done = uma.ok("get", &json!({"id": asked["id"]}));
        let answer = data(&done["artifacts"][0]["parts"]);
        assert_eq!(answer["metadata"]["status"], "completed", "{answer:#}");
        assert!(!service.was_called(), "called twice");
    }
}

fn with_data(task: &Value, data: Value) -> Value {
    let mut sent = reply(task, "");
    sent["message"]["parts"] = json!([{"data": data}]);
    sent
}

/// Where different things fit, a task asks which is meant, and a reply names it.
#[test]
fn b000_20_a_task_asks_which_of_several_things_is_meant() {
    let server = Tenants::one();
    server.api.register(&different_things());
    let mut client = Client::start(&server.api, "JSONRPC");
    let asked = task(&client.ok("send", &message("count the tape drives")));
    assert_eq!(state(&asked), "TASK_STATE_INPUT_REQUIRED", "{asked:#}");
    let options = ids(&asks(&asked)["clarification"]["options"], "id");
    let mut sorted = options.clone();
    sorted.sort();
    assert_eq!(sorted, DIFFERENT);
    let neither = reply(&asked, "neither of them");
    assert_eq!(client.fails("send", &neither), "InvalidParamsError");
    let done = task(&client.ok("send", &reply(&asked, "2")));
    assert_eq!(
        (&done["id"], state(&done)),
        (&asked["id"], "TASK_STATE_COMPLETED"),
        "{done:#}"
    );
    let answer = data(&done["artifacts"][0]["parts"]);
    assert_eq!(
        answer["metadata"]["verdict"]["reason"],
        format!("the request names `{}`", options[1])
    );
}

/// A skill that lacks a parameter asks for it; the reply goes on with the same task, which is found again
/// after the server was killed.
#[test]
fn a_reply_gives_a_skill_what_it_lacked_and_the_task_survives_a_kill() {
    let home = Home::new();
    let server = home.serve();
    let asking = backups().edit(SKILL_FILE, ", default: main", "");
    server.api.register(&asking);
    let mut client = Client::start(&server.api, "JSONRPC");
    let mut sent = message(QUESTION);
    sent["message"]["contextId"] = json!("a conversation");
    let asked = task(&client.ok("send", &sent));
    assert_eq!(state(&asked), "TASK_STATE_INPUT_REQUIRED", "{asked:#}");
    assert_eq!(asks(&asked)["parameters"][0]["name"], "vault");
    let mut elsewhere = reply(&asked, "main");
    elsewhere["message"]["contextId"] = json!("another one");
    assert_eq!(client.fails("send", &elsewhere), "InvalidParamsError");
    let given = reply(&asked, "north");
    let done = task(&client.ok("send", &given));
    assert_eq!(
        (&done["id"], state(&done)),
        (&asked["id"], "TASK_STATE_COMPLETED"),
        "{done:#}"
    );
    assert_eq!(done["contextId"], "a conversation");
    let texts: Vec<&Value> = done["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|said| &said["parts"][0]["text"])
        .collect();
    assert_eq!(texts, [QUESTION, "north"]);
    assert_eq!(task(&client.ok("send", &given)), done);

    // Another one is given up while it asks.
    let open = task(&client.ok("send", &message(QUESTION)));
    let gone = client.ok("cancel", &json!({"id": open["id"]}));
    assert_eq!(state(&gone), "TASK_STATE_CANCELED", "{gone:#}");
    assert_eq!(
        client.fails("send", &reply(&open, "main")),
        "UnsupportedOperationError"
    );

    drop(client);
    server.kill();
    let server = home.serve();
    let mut client = Client::start(&server.api, "JSONRPC");
    assert_eq!(client.ok("get", &json!({"id": done["id"]})), done);
    let listed = client.ok("list", &json!({"contextId": "a conversation"}));
    assert_eq!(
        (&listed["totalSize"], &listed["tasks"][0]["id"]),
        (&json!(1), &done["id"])
    );
}

#[test]
fn tasks_are_listed_by_page_and_filter_the_newest_first() {
    let server = keyed_backups();
    for (binding, context) in BINDINGS.into_iter().zip(["one", "two"]) {
        let mut ann = Client::start(&server.key("ann"), binding);
        let mut ids = Vec::new();
        for _ in 0..3 {
            let mut sent = message(QUESTION);
            sent["message"]["contextId"] = json!(context);
            ids.insert(0, task(&ann.ok("send", &sent))["id"].clone());
        }
        let of = |listed: &Value| -> Vec<Value> {
            listed["tasks"]
                .as_array()
                .unwrap()
                .iter()
                .map(|task| task["id"].clone())
                .collect()
        };
        let first = ann.ok("list", &json!({"contextId": context, "pageSize": 2}));
        assert_eq!(
            (of(&first), &first["totalSize"], &first["pageSize"]),
            (ids[..2].to_vec(), &json!(3), &json!(2))
        );
        assert!(first["tasks"][0].get("artifacts").is_none(), "{first:#}");
        let token = &first["nextPageToken"];
        let rest = json!({"contextId": context, "pageSize": 2, "pageToken": token, "includeArtifacts": true});
        let rest = ann.ok("list", &rest);
        assert_eq!(of(&rest), ids[2..]);
        assert_eq!(rest.get("nextPageToken").unwrap_or(&json!("")), "");
        assert!(
            rest["tasks"][0]["artifacts"][0]["parts"].is_array(),
            "{rest:#}"
        );
        let since = &first["tasks"][0]["status"]["timestamp"];
        let filters = [
            (
                json!({"status": "TASK_STATE_COMPLETED", "contextId": context}),
                3,
            ),
            (json!({"status": "TASK_STATE_WORKING"}), 0),
            (
                json!({"statusTimestampAfter": since, "contextId": context}),
                1,
            ),
            (json!({"contextId": "three"}), 0),
        ];
        for (filter, count) in filters {
            let found = ann.ok("list", &filter);
            assert_eq!(
                found.get("totalSize").unwrap_or(&json!(0)),
                &json!(count),
                "{filter}"
            );
        }
        for wrong in [
            json!({"pageSize": 101}),
            json!({"pageToken": "made up"}),
            json!({"historyLength": -1}),
        ] {
            assert_eq!(ann.fails("list", &wrong), "InvalidParamsError", "{wrong}");
        }
    }
}

/// A task is there for its user and for operators of the tenant; for other callers it is absent.
#[test]
fn a_task_is_seen_by_its_user_and_by_operators_of_the_tenant() {
    let home = Home::with_keys(&[
        ("root", "acme", "root", "admin"),
        ("uma", "acme", "uma", "user"),
        ("ulf", "acme", "ulf", "user"),
        ("ann", "acme", "ann", "operator"),
        ("eve", "umbra", "eve", "operator"),
    ]);
    let server = home.serve();
    server.key("root").register(&global_backups());
    for binding in BINDINGS {
        let mut uma = Client::start(&server.key("uma"), binding);
        let sent = message(QUESTION);
        let done = task(&uma.ok("send", &sent));
        let id = json!({"id": done["id"]});
        let context = json!({"contextId": done["contextId"]});
        let mut ann = Client::start(&server.key("ann"), binding);
        assert_eq!(ann.ok("get", &id), done);
        assert_eq!(ann.fails("cancel", &id), "TaskNotCancelableError");
        assert_eq!(ann.fails("subscribe", &id), "UnsupportedOperationError");
        assert_eq!(ann.ok("list", &context)["tasks"][0]["id"], done["id"]);
        for stranger in ["ulf", "eve"] {
            let mut stranger = Client::start(&server.key(stranger), binding);
            for what in ["get", "cancel", "subscribe"] {
                assert_eq!(stranger.fails(what, &id), "TaskNotFoundError", "{what}");
            }
            let answered = reply(&done, "more");
            assert_eq!(stranger.fails("send", &answered), "TaskNotFoundError");
            assert_eq!(stranger.ok("list", &context).get("tasks"), None);
        }
        // Neither its message id nor its conversation is another caller's.
        for other in ["ann", "ulf", "eve"] {
            let mut other = Client::start(&server.key(other), binding);
            let own = task(&other.ok("send", &sent));
            assert_ne!(own["id"], done["id"]);
            let mut joined = message(QUESTION);
            joined["message"]["contextId"] = done["contextId"].clone();
            assert_eq!(other.fails("send", &joined), "InvalidParamsError");
        }
    }
}

/// An operator sees what a user's task waits for and may cancel it; the message that it waits for is the user's.
#[test]
fn an_operator_cancels_a_users_task_and_does_not_answer_for_the_user() {
    let server = Tenants::with_keys(&KEYS);
    let asking = backups().edit(SKILL_FILE, ", default: main", "");
    server.key("ann").register(&asking);
    for binding in BINDINGS {
        let mut uma = Client::start(&server.key("uma"), binding);
        let mut ann = Client::start(&server.key("ann"), binding);
        let asked = task(&uma.ok("send", &message(QUESTION)));
        assert_eq!(state(&asked), "TASK_STATE_INPUT_REQUIRED", "{asked:#}");
        let id = json!({"id": asked["id"]});
        assert_eq!(ann.ok("get", &id), asked);
        let refused = ann.tries("send", &reply(&asked, "main"));
        assert_eq!(refused.get("ok"), None, "{refused:#}");
        assert_eq!(uma.ok("get", &id), asked);
        let canceled = ann.ok("cancel", &id);
        assert_eq!(state(&canceled), "TASK_STATE_CANCELED", "{canceled:#}");
        assert_eq!(state(&uma.ok("get", &id)), "TASK_STATE_CANCELED");
    }
}

#[test]
fn cards_are_signed_and_the_public_one_names_nothing_of_a_tenant() {
    let server = keyed_backups();
    // Starting the client verifies the signature of the public card.
    let mut uma = Client::start(&server.key("uma"), "JSONRPC");
    let public = uma.ok("public_card", &json!({}));
    assert_eq!(public["skills"].as_array().unwrap().len(), 1);
    assert_eq!(public["skills"][0]["id"], "ask");
    let scheme = &public["securitySchemes"]["apiKey"]["httpAuthSecurityScheme"];
    assert_eq!(scheme["scheme"], "Bearer");
    assert_eq!(uma.ok("verify_card", &json!({})), "verified");
    let moved = json!({"supportedInterfaces": [{
        "url": "https://elsewhere.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
    }]});
    assert_eq!(uma.fails("verify_card", &moved), "InvalidSignaturesError");

    let extended = uma.ok("extended_card", &json!({}));
    let mine = extended["skills"]
        .as_array()
        .unwrap()
        .iter()
        .find(|skill| skill["id"] == SKILL);
    let mine = mine.unwrap_or_else(|| panic!("{extended:#}"));
    assert_eq!(
        mine["tags"],
        json!(["skill", "reliability", "domain.reliability.recovery"])
    );
    assert!(
        extended["description"]
            .as_str()
            .unwrap()
            .contains("Recovery"),
        "{extended:#}"
    );
    let mut eve = Client::start(&server.key("eve"), "HTTP+JSON");
    let other = eve.ok("extended_card", &json!({}));
    assert!(!other.to_string().contains(SKILL), "{other:#}");
}

/// A signed card must not lead where whoever asks for it says.
#[test]
fn a_card_names_the_configured_address_whatever_the_request_says() {
    let home =
        Home::with_keys(&KEYS).with("CHARTER_A2A__PUBLIC_URL", "https://charter.example/base/");
    let server = home.serve();
    let card = server.api.call(
        "GET",
        "/.well-known/agent-card.json",
        &[
            ("host", "elsewhere.example"),
            ("x-forwarded-host", "elsewhere.example"),
        ],
        Vec::new(),
    );
    let card = card.expect(200);
    assert_eq!(
        card["supportedInterfaces"][0]["url"],
        "https://charter.example/base/a2a"
    );
    assert!(!card.to_string().contains("elsewhere"), "{card:#}");
}
