//! Isolation of tenants from each other, and of everything from callers without a key: every operation of the OpenAPI
//! document, every tool, resource, prompt and task of the Model Context Protocol, every method of A2A. The calls are
//! made from the document and the server's lists, so additions are tested automatically.

pub(crate) mod a2a;
pub(crate) mod document;
pub(crate) mod estate;
mod examples;
pub(crate) mod mcp;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::home::{Answer, Api, Home, Key, ids, request_of};
use crate::packages::{Package, SKILL};
use crate::playbooks::{decide, path_of, purge, purge_tool, settled, waiting_run_of};
use crate::service::Service;
use crate::shared::Tenants;
use document::{Call, Document, Operation};
use estate::{Estate, KnownIds, MARK, is_of_a_user, is_shared};

/// Operations that need no key, by their names in the document.
const PUBLIC: [&str; 6] = [
    "get_agent_card",
    "get_agent_card_keys",
    "get_openapi",
    "get_schema",
    "get_sign_in_options",
    "list_schemas",
];

/// Operations that sign a user in. They need no key, and refuse a request that no page of the console sent.
const SIGN_IN: [&str; 2] = ["complete_sign_in", "start_sign_in"];

/// Operations that need no key but a signature, without which they are refused like a missing key.
const SIGNED: [&str; 2] = ["decide_in_slack", "receive_webhook"];

/// Operations whose answer contains the time, is about the server and not a tenant, or has scores whose last digits
/// depend on concurrent embeddings.
const VOLATILE: [&str; 4] = [
    "get_evidence_checkpoint",
    "get_openapi",
    "get_agent_card",
    "route_query",
];

/// Operations that the owner of this estate has nothing to read by, with the test that tries them.
const READ_ELSEWHERE: [(&str, &str); 4] = [
    (
        "get_run_content",
        "content comes from MCP servers: mcp_servers::a_server_that_answers_garbage_leaves_its_call_in_doubt_and_nothing_else",
    ),
    (
        "get_console_session",
        "a session comes from an identity provider: the tests of sign-in try it",
    ),
    (
        "get_schedule_occurrence",
        "a schedule of this estate has not fired: the tests of schedules try it",
    ),
    (
        "get_schedule_report",
        "a schedule of this estate has not fired: the tests of schedules try it",
    ),
];

/// Writes that are refused to the owner too, with the reason.
const NOT_SERVED: [(&str, &str); 5] = [
    (
        "import_mission",
        "its body is a bundle and no JSON; the exchange of missions tries them",
    ),
    (
        "complete_credential",
        "its code comes from an authorization server; the tests of credentials try it",
    ),
    (
        "start_sign_in",
        "only a page of the console sends it; the tests of sign-in try it",
    ),
    (
        "receive_webhook",
        "its address and signature come from a trigger; the tests of schedules try it",
    ),
    (
        "complete_sign_in",
        "only a page of the console sends it; the tests of sign-in try it",
    ),
];

/// An unused id of the same form.
fn absent(id: &str) -> String {
    let is_uuid = id.len() >= 32
        && id[id.len() - 12..]
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit());
    if is_uuid {
        let (kept, last) = id.split_at(id.len() - 12);
        let other = if last == "0123456789ab" {
            "ba9876543210"
        } else {
            "0123456789ab"
        };
        return format!("{kept}{other}");
    }
    match id.rsplit_once('.') {
        Some((stem, "md" | "sh")) => format!("{stem}_x.{}", &id[id.len() - 2..]),
        Some(_) | None => format!("{id}x"),
    }
}

/// The same table with unused ids.
fn nobodys(known: &KnownIds) -> KnownIds {
    absent_in(known, |place| !is_shared(place))
}

/// The same table, with unused ids in some fields.
fn absent_in(known: &KnownIds, is_absent: impl Fn(&str) -> bool) -> KnownIds {
    let places = known.iter().map(|(place, ids)| {
        let other = |id: &String| match is_absent(place) {
            true => absent(id),
            false => id.clone(),
        };
        (*place, ids.iter().map(other).collect())
    });
    places.collect()
}

/// The visible part of an answer, without the ids of a table.
fn told(answer: &Answer, ids: &KnownIds) -> (u16, String) {
    let message = answer.body["user_message"].as_str().unwrap_or_default();
    let mut ids: Vec<&String> = ids.values().flatten().collect();
    ids.sort_by_key(|id| std::cmp::Reverse(id.len()));
    let told = ids.iter().fold(message.to_owned(), |told, id| {
        told.replace(&format!("`{id}"), "`…")
    });
    let code = answer.body["error_code"].as_str().unwrap_or_default();
    (answer.status, format!("{code}: {told}"))
}

/// A stranger, and what it has created under the tenant's ids.
struct Stranger<'e> {
    api: Api,
    ids: [&'e KnownIds; 2],
    secrets: Vec<&'e str>,
    written: String,
}

impl Stranger<'_> {
    /// The faults of its answers for real ids, compared with its answers for unused ids.
    fn tries(&mut self, operation: &Operation, call: &Call, nobodys: &Call) -> Vec<String> {
        let expected = self.send(nobodys);
        let found = self.send(call);
        let mut faults = Vec::new();
        let mut fault = |what: String| {
            faults.push(format!(
                "{} {} {:?}: {what}",
                call.method, call.path, call.body
            ));
        };
        if found.status >= 500 {
            fault(format!("{} {:#}", found.status, found.body));
        }
        let leaked = self.leaked(&found, call);
        if !leaked.is_empty() {
            fault(format!("tells {leaked:?}: {}", found.body));
        }
        let (real, none) = (told(&found, self.ids[0]), told(&expected, self.ids[1]));
        if real != none && !operation.public {
            fault(format!(
                "{real:?}, where an id that nobody has gets {none:?}"
            ));
        }
        faults
    }

    fn send(&mut self, call: &Call) -> Answer {
        let answer = call.send(&self.api);
        // A request is recorded even if its answer is an error.
        let is_kept = answer.status < 300 || call.path == "/v1/requests";
        if call.method != "GET" && is_kept {
            self.written += &call.text();
        }
        answer
    }

    /// The tenant's texts that an answer leaks; the stranger's own texts are not secret.
    fn leaked(&self, answer: &Answer, call: &Call) -> Vec<&str> {
        let (text, said) = (answer.body.to_string(), call.text());
        let new = |secret: &&&str| {
            text.contains(**secret) && !said.contains(**secret) && !self.written.contains(**secret)
        };
        self.secrets.iter().filter(new).copied().collect()
    }
}

/// An answer without the number of the catalogue's state, which counts the changes of all tenants.
fn without_revision(mut body: Value) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.remove("revision");
        if fields.contains_key("supportedInterfaces") {
            fields.remove("version");
            fields.remove("signatures");
        }
    }
    body
}

/// Everything that the tenant can read, by path.
fn listing(document: &Document, estate: &Estate) -> BTreeMap<String, Value> {
    let owner = estate.owner();
    let mut all = BTreeMap::new();
    for operation in document.operations() {
        let is_elsewhere = READ_ELSEWHERE.iter().any(|(id, _)| *id == operation.id);
        if operation.method != "get" || is_elsewhere || VOLATILE.contains(&operation.id.as_str()) {
            continue;
        }
        let mut served = false;
        for call in document.calls(&operation, &estate.known) {
            let answer = call.send(&owner);
            served |= answer.status == 200;
            if answer.status == 200 {
                all.insert(call.path, without_revision(answer.body));
            }
        }
        assert!(
            served,
            "the owner reads nothing by {}: the estate lacks something",
            operation.id
        );
    }
    all
}

/// A caller without a valid key gets only descriptions of the server.
#[test]
fn every_operation_needs_a_key_unless_it_is_named_here() {
    let home = Home::with_keys(&estate::KEYS);
    let server = home.serve();
    let document = Document::read();
    let nobody = server.api.clone();
    let wrong = server.key("mallory");
    let mut open = Vec::new();
    for operation in document.operations() {
        let path = document::places(&operation.path);
        let path = path
            .iter()
            .fold(operation.path.clone(), |path, (parameter, _)| {
                path.replace(parameter, "skill")
            });
        let method = operation.method.to_uppercase();
        let answers =
            [&nobody, &wrong].map(|api| api.call_plainly(&method, &path, &[], Vec::new()));
        if SIGN_IN.contains(&operation.id.as_str()) {
            let statuses = answers.each_ref().map(|answer| answer.status);
            let refused = statuses.iter().all(|status| [400, 403].contains(status));
            assert!(refused, "{}: {answers:#?}", operation.id);
            assert!(operation.public, "{}", operation.id);
            continue;
        }
        let refused = |answer: &Answer| {
            answer.body["error_code"] == "unauthenticated" && answer.status == 401
        };
        if answers.iter().all(refused) {
            assert!(
                !operation.public || SIGNED.contains(&operation.id.as_str()),
                "the document says that {} is public",
                operation.id
            );
            continue;
        }
        assert!(
            answers.iter().all(|answer| answer.status == 200),
            "{method} {path}: {answers:#?}"
        );
        assert!(
            operation.public,
            "the document does not say that {} is public",
            operation.id
        );
        open.push(operation.id);
    }
    open.sort();
    assert_eq!(open, PUBLIC);
}

/// Another tenant's ids behave like unused ones: the answers are equal and contain nothing of the tenant, and nothing
/// of it is changed.
#[test]
fn no_operation_reads_or_changes_another_tenants_data() {
    let estate = Estate::new();
    let document = Document::read();
    let before = listing(&document, &estate);
    let text = serde_json::to_string(&before).unwrap();
    assert!(
        text.matches(MARK).count() > 50,
        "the mark is hardly anywhere"
    );
    let nobodys = nobodys(&estate.known);
    let mut stranger = Stranger {
        api: estate.stranger(),
        ids: [&estate.known, &nobodys],
        secrets: estate.secrets(),
        written: String::new(),
    };
    let mut faults = Vec::new();
    for operation in document.operations() {
        let real = document.calls(&operation, &estate.known);
        let none = document.calls(&operation, &nobodys);
        assert_eq!(real.len(), none.len(), "{}", operation.id);
        for (call, other) in real.iter().zip(&none) {
            faults.extend(stranger.tries(&operation, call, other));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let after = listing(&document, &estate);
    for (path, was) in &before {
        assert_eq!(after.get(path), Some(was), "{path} changed");
    }
    assert_eq!(after.len(), before.len());
    owner_is_served(&document, &estate);
}

/// The prefixes of the paths that list a user's own entries.
const LISTINGS: [&str; 7] = [
    "/v1/runs",
    "/v1/approvals",
    "/v1/evidence",
    "/v1/missions",
    "/v1/requests",
    "/v1/schedules",
    "/v1/events",
];

/// Whether an operation concerns a user's data: its path contains such an id, or it lists such entries.
fn is_about_a_user(operation: &Operation) -> bool {
    let names = document::places(&operation.path);
    let mut listings = LISTINGS.iter();
    names.iter().any(|(_, place)| is_of_a_user(place))
        || operation.method == "get" && listings.any(|start| operation.path.starts_with(start))
}

/// Level `user`: data that another user of the tenant started looks absent, in every operation that names or lists it.
/// Operators see all of it, and users see their own.
#[test]
fn no_user_sees_what_another_started() {
    let estate = Estate::new();
    let document = Document::read();
    let nobodys = absent_in(&estate.known, is_of_a_user);
    let mut user = Stranger {
        api: estate.server.key("ulf"),
        ids: [&estate.known, &nobodys],
        secrets: estate.started(),
        written: String::new(),
    };
    let (mut faults, mut tried) = (Vec::new(), 0);
    for operation in document
        .operations()
        .iter()
        .filter(|one| is_about_a_user(one))
    {
        let real = document.calls(operation, &estate.known);
        let none = document.calls(operation, &nobodys);
        for (call, other) in real.iter().zip(&none) {
            faults.extend(user.tries(operation, call, other));
            tried += 1;
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(tried > 50, "only {tried} calls");

    let bob = estate.server.key("bob");
    for place in ["runs", "approvals", "evidence", "missions", "requests"] {
        for id in &estate.known[place] {
            bob.get(&format!("/v1/{place}/{id}")).expect(200);
        }
    }

    let ulf = estate.server.key("ulf");
    let answer = ulf.ask(&request_of(SKILL, json!({}))).expect(200);
    let run = answer["metadata"]["run_ids"][0].as_str().unwrap();
    let entries = |path: &str| ulf.get(path).expect(200)["entries"].clone();
    assert_eq!(ids(&entries("/v1/runs"), "run_id"), [run]);
    let asked = answer["request_id"].as_str().unwrap();
    assert_eq!(ids(&entries("/v1/requests"), "request_id"), [asked]);
    let evidence = ids(&entries("/v1/evidence"), "id");
    assert!(!evidence.is_empty());
    for id in &evidence {
        ulf.get(&format!("/v1/evidence/{id}")).expect(200);
        ulf.get(&format!("/v1/evidence/log/proof/{id}")).expect(200);
    }
    let mut told = ids(&entries("/v1/events?topic=run"), "data.run_id");
    told.dedup();
    assert_eq!(told, [run]);
    assert_eq!(entries("/v1/missions"), json!([]));
}

/// Two users and two operators of a tenant.
const USERS: [Key; 4] = [
    ("ann", "acme", "ann", "operator"),
    ("bob", "acme", "bob", "operator"),
    ("ulf", "acme", "ulf", "user"),
    ("uma", "acme", "uma", "user"),
];

/// Adds a reversal to the playbook's write.
fn reversible(service: &Service) -> Package {
    let refill = purge_tool(service).replace("vault.purge", "vault.refill");
    purge(service).with("tools/refill.yaml", &refill).edit(
        "playbooks/purge.yaml",
        "safety:",
        "rollback_support: true\nrollback_steps: [{step_id: undo, reverses: s1, tool_id: vault.refill, parameters: {vault: \"${user.vault}\"}}]\nsafety:",
    )
}

/// The ids in a listing.
fn listed(api: &Api, path: &str, field: &str) -> Vec<String> {
    ids(&api.get(path).expect(200)["entries"], field)
}

/// The topics of a run's events that are visible to a caller.
fn topics(api: &Api, run: &Value) -> Vec<String> {
    let events = api.get("/v1/events").expect(200);
    let events = events["entries"].as_array().unwrap().iter();
    let of_run = events.filter(|event| event["data"]["run_id"] == run["run_id"]);
    let mut topics = ids(&of_run.cloned().collect(), "topic");
    topics.sort();
    topics.dedup();
    topics
}

/// Level `user`: a rollback is addressed to the user of the run that it rolls back.
#[test]
fn a_rollback_that_an_operator_starts_belongs_to_the_user_of_its_run() {
    let server = Tenants::with_keys(&USERS);
    let service = Service::start();
    let [ann, bob, ulf, uma] = ["ann", "bob", "ulf", "uma"].map(|key| server.key(key));
    ann.register(&reversible(&service));
    let approve = |by: &Api, run: &Value| {
        decide(by, &run["approvals"][0], "approve").expect(200);
        service.next().answer_with("{}");
        settled(&uma, run, "completed")
    };
    let run = approve(&ann, &waiting_run_of(&uma));
    let rollback = ann.post(&path_of(&run, "/rollback"), &json!({}));
    let waits = settled(&uma, &rollback.expect(201), "awaiting_approval");
    let approval = waits["approvals"][0]["approval_id"].as_str().unwrap();
    let place = format!("/v1/approvals/{approval}");
    assert_eq!(
        listed(&uma, "/v1/approvals?state=pending", "approval_id"),
        [approval]
    );
    uma.get(&place).expect(200);
    let done = approve(&bob, &waits);

    let id = done["run_id"].as_str().unwrap();
    let runs = [id, run["run_id"].as_str().unwrap()];
    assert_eq!(listed(&uma, "/v1/runs", "run_id"), runs);
    let evidence = listed(&uma, &format!("/v1/evidence?run_id={id}"), "id");
    assert_eq!(evidence.len(), 1, "{done:#}");
    uma.get(&format!("/v1/evidence/{}", evidence[0]))
        .expect(200);
    let expected = [
        "approval.approved",
        "approval.consumed",
        "approval.requested",
        "run.status",
    ];
    assert_eq!(topics(&uma, &done), expected);

    // The other user sees nothing of it.
    for path in ["/v1/runs", "/v1/approvals", "/v1/evidence"] {
        assert_eq!(ulf.get(path).expect(200)["entries"], json!([]), "{path}");
    }
    for path in [
        path_of(&done, ""),
        place,
        format!("/v1/evidence/{}", evidence[0]),
    ] {
        ulf.get(&path).fails(404, "not_found");
    }
    assert_eq!(topics(&ulf, &done), [""; 0]);
}

/// The calls were valid: at least one of each operation's passes reading and lookup for the owner.
fn owner_is_served(document: &Document, estate: &Estate) {
    let owner: Api = estate.owner();
    let mut writes: Vec<Operation> = document.operations();
    writes.retain(|operation| operation.method != "get");
    // Deletions come last.
    writes.sort_by_key(|operation| operation.method == "delete");
    let mut refused = Vec::new();
    for operation in writes {
        let calls = document.calls(&operation, &estate.known);
        let answers: Vec<Answer> = calls.iter().map(|call| call.send(&owner)).collect();
        let unserved = |answer: &Answer| [400, 404, 405].contains(&answer.status);
        if answers.iter().all(unserved) && !NOT_SERVED.iter().any(|(id, _)| *id == operation.id) {
            let (call, answer) = calls.iter().zip(&answers).next().unwrap();
            refused.push(format!("{}: {call:?}: {}", operation.id, answer.body));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
