//! B003-10: memories for their owners, other users and operators.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_testkit::postgres_server::PostgresServer;
use serde_json::{Value, json};

use crate::home::{Api, Home, ids, request};
use crate::missions::{OTHER_RUNS, POLICY_FILE, look_only, order, path_of, shared, standing};
use crate::service::Service;
use crate::shared::Tenants;

const PEOPLE: [(&str, &str, &str, &str); 4] = [
    ("ann", "acme", "ann", "user"),
    ("bob", "acme", "bob", "user"),
    ("olga", "acme", "olga", "operator"),
    ("uma", "umbra", "uma", "admin"),
];

fn draft(title: &str, content: &str, tags: &[&str], importance: u8) -> Value {
    json!({"title": title, "content": content, "tags": tags,
        "metadata": {"source": "user_statement", "importance": importance}})
}

fn id(shown: &Value) -> String {
    shown["memory_id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn add(api: &Api, memory: Value, visibility: &str) -> Value {
    let body = json!({"memory": memory, "visibility": visibility});
    api.post("/v1/memories", &body).expect(201)
}

#[track_caller]
fn found(api: &Api, query: Value) -> Vec<String> {
    ids(
        &api.post("/v1/memories/search", &query).expect(200),
        "memory.title",
    )
}

/// The answer of a tool of the Model Context Protocol.
fn by_tool(api: &Api, name: &str, arguments: &Value) -> Value {
    let call = json!({"name": name, "arguments": arguments});
    let answer = api.mcp(&json!({}), "tools/call", Some(name), call);
    answer["result"]["structuredContent"].clone()
}

#[test]
fn b003_10_a_private_memory_is_its_owners_alone() {
    let server = Tenants::with_keys(&PEOPLE);
    let (ann, bob, olga, uma) = (
        server.key("ann"),
        server.key("bob"),
        server.key("olga"),
        server.key("uma"),
    );
    let own = add(
        &ann,
        draft("Region", "We deploy to eu-west-1.", &["aws"], 5),
        "private",
    );
    assert_eq!(
        (&own["state"], &own["owner"]),
        (&json!("accepted"), &json!("ann"))
    );
    let path = format!("/v1/memories/{}", id(&own));
    for other in [&bob, &olga, &uma] {
        other.get(&path).fails(404, "not_found");
        other
            .get(&format!("{path}/history"))
            .fails(404, "not_found");
        other
            .call("DELETE", &path, &[], vec![])
            .fails(404, "not_found");
        let next = json!({"memory": draft("x", "y", &["z"], 1), "expected_version": 1});
        other
            .post(&format!("{path}/versions"), &next)
            .fails(404, "not_found");
        assert_eq!(
            found(other, json!({"text": "where do we deploy"})),
            Vec::<String>::new()
        );
        assert_eq!(other.get("/v1/memories").expect(200)["entries"], json!([]));
    }
    assert_eq!(
        found(&ann, json!({"text": "where do we deploy"})),
        ["Region"]
    );
}

/// On PostgreSQL with pgvector, the database finds memories: the same ones, for the same callers, with the same
/// filters.
#[test]
fn b003_10_memories_are_found_by_pgvector() {
    let database = Arc::new(PostgresServer::shared().database());
    database.install_pgvector();
    let home = Home::with_keys(&PEOPLE).on(&database);
    let server = home.serve();
    let (ann, bob) = (server.key("ann"), server.key("bob"));
    let (olga, uma) = (server.key("olga"), server.key("uma"));
    add(
        &ann,
        draft("Region", "We deploy to eu-west-1.", &["aws"], 5),
        "private",
    );
    add(
        &olga,
        draft("Oncall", "Bob answers pages at night.", &["people"], 8),
        "shared",
    );
    let next = add(
        &olga,
        draft("Food", "Lunch is at noon.", &["people"], 2),
        "shared",
    );
    let path = format!("/v1/memories/{}/versions", id(&next));
    let version = json!({"memory": draft("Food", "The kitchen bakes bread.", &["people"], 2), "expected_version": 1});
    olga.post(&path, &version).expect(201);
    add(
        &uma,
        draft("Theirs", "We deploy to us-east-1.", &["aws"], 5),
        "shared",
    );
    let deploy = || json!({"text": "in which region do we deploy"});
    assert_eq!(found(&ann, deploy())[0], "Region");
    assert_eq!(found(&ann, deploy()).len(), 3);
    assert!(!found(&bob, deploy()).contains(&"Region".to_owned()));
    assert_eq!(found(&uma, deploy()), ["Theirs"]);
    let filtered = json!({"text": "in which region do we deploy", "tags_any": ["people"], "min_importance": 5});
    assert_eq!(found(&ann, filtered), ["Oncall"]);
    assert_eq!(
        found(&bob, json!({"text": "bread from the kitchen"}))[0],
        "Food"
    );
    drop(server);
    let doctor = home.run(&["doctor", "--output", "json"]).json(0);
    let mut checks = doctor.as_array().unwrap().iter();
    let check = checks.find(|check| check["check"] == "database").unwrap();
    let said = check["found"].as_str().unwrap();
    assert!(said.contains("finds memories"), "{said}");
}

#[test]
fn b003_10_a_memory_has_a_source_tags_and_bounds() {
    let server = Tenants::with_keys(&PEOPLE);
    let ann = server.key("ann");
    let body = |memory: Value| json!({ "memory": memory });
    let mut sourceless = draft("t", "c", &["a"], 5);
    sourceless["metadata"] = json!({"importance": 5});
    let refused = ann.post("/v1/memories", &body(sourceless));
    refused.clone().fails(400, "invalid_document");
    let pointer = &refused.body["technical_details"]["violations"][0]["pointer"];
    assert_eq!(pointer, "/memory/metadata/source");
    for (memory, code) in [
        (draft("t", "c", &[], 5), "invalid_request"),
        (draft("t", "c", &["a"], 11), "invalid_request"),
        (
            draft("t", &"c".repeat(40_000), &["a"], 5),
            "invalid_document",
        ),
        (draft("", "c", &["a"], 5), "invalid_document"),
    ] {
        ann.post("/v1/memories", &body(memory)).fails(400, code);
    }
    let mut dangling = draft("t", "c", &["a"], 5);
    dangling["related_memories"] = json!(["mem-01930000-0000-7000-8000-000000000001"]);
    ann.post("/v1/memories", &body(dangling))
        .fails(404, "not_found");
    assert_eq!(ann.get("/v1/memories").expect(200)["entries"], json!([]));
}

#[test]
fn b003_10_a_version_supersedes_and_the_history_stays() {
    let server = Tenants::with_keys(&PEOPLE);
    let ann = server.key("ann");
    let first = add(
        &ann,
        draft("Region", "We deploy to eu-west-1.", &["aws"], 5),
        "private",
    );
    let path = format!("/v1/memories/{}", id(&first));
    let next = |content: &str, expected: u64| {
        let memory = draft("Region", content, &["aws"], 5);
        json!({"memory": memory, "expected_version": expected})
    };
    let versions = format!("{path}/versions");
    let second = ann
        .post(&versions, &next("We deploy to eu-north-1.", 1))
        .expect(201);
    assert_eq!(
        (&second["version"], &second["supersedes"]),
        (&json!(2), &json!(1))
    );
    let (before, after) = (&first["memory"], &second["memory"]);
    assert_eq!(before["created_at"], after["created_at"]);
    assert!(after["updated_at"].as_str() >= after["created_at"].as_str());
    ann.post(&versions, &next("We deploy nowhere.", 1))
        .fails(409, "version_conflict");
    let history = ann.get(&format!("{path}/history")).expect(200);
    assert_eq!(ids(&history, "state"), ["accepted", "superseded"]);
    assert_eq!(history[1]["memory"]["content"], "We deploy to eu-west-1.");
    let all = ann
        .post("/v1/memories/search", &json!({"text": "deploy"}))
        .expect(200);
    assert_eq!(ids(&all, "memory.content"), ["We deploy to eu-north-1."]);
}

#[test]
fn b003_10_what_an_agent_writes_waits_for_a_persons_word() {
    let server = Tenants::with_keys(&PEOPLE);
    let (ann, bob, olga) = (server.key("ann"), server.key("bob"), server.key("olga"));
    let proposed = json!({"memory": draft("Oncall", "The pager is Ann's.", &["team"], 5),
        "agent_id": "domain.notes"});
    let shown = ann.post("/v1/memories", &proposed).expect(201);
    assert_eq!(
        (&shown["state"], &shown["agent_id"]),
        (&json!("proposed"), &json!("domain.notes"))
    );
    let query = json!({"text": "who has the pager"});
    assert_eq!(found(&ann, query.clone()), Vec::<String>::new());
    let with = json!({"text": "who has the pager", "proposed": true});
    assert_eq!(found(&ann, with), ["Oncall"]);
    let accept = format!("/v1/memories/{}/versions/1/accept", id(&shown));
    olga.post(&accept, &json!({})).fails(404, "not_found");
    let accepted = ann.post(&accept, &json!({})).expect(200);
    assert_eq!(
        (&accepted["state"], &accepted["decided_by"]),
        (&json!("accepted"), &json!("ann"))
    );
    ann.post(&accept, &json!({}))
        .fails(409, "illegal_transition");
    assert_eq!(found(&ann, query), ["Oncall"]);
    // A user's memory is shared with the tenant only after an operator accepts it.
    let shared = add(
        &ann,
        draft("Style", "We write British English.", &["docs"], 5),
        "shared",
    );
    assert_eq!(shared["state"], "proposed");
    let path = format!("/v1/memories/{}", id(&shared));
    bob.get(&path).fails(404, "not_found");
    let accept = format!("{path}/versions/1/accept");
    ann.post(&accept, &json!({}))
        .fails(403, "permission_denied");
    let waiting = olga.get("/v1/memories?proposed=true").expect(200);
    assert_eq!(ids(&waiting["entries"], "memory_id"), [id(&shared)]);
    olga.post(&accept, &json!({})).expect(200);
    assert_eq!(
        found(&bob, json!({"text": "spelling of English"})),
        ["Style"]
    );
    // Another user's change of it is a proposal too, and can be rejected.
    let change = json!({"memory": draft("Style", "We write as we like.", &["docs"], 5), "expected_version": 1});
    let change = bob.post(&format!("{path}/versions"), &change).expect(201);
    assert_eq!(
        (&change["version"], &change["proposed"]),
        (&json!(1), &json!(2))
    );
    bob.call("DELETE", &path, &[], vec![])
        .fails(403, "permission_denied");
    olga.post(&format!("{path}/versions/2/reject"), &json!({}))
        .expect(200);
    assert_eq!(
        ids(&ann.get(&format!("{path}/history")).expect(200), "state"),
        ["accepted"]
    );
    assert_eq!(
        ids(&bob.get(&format!("{path}/history")).expect(200), "state"),
        ["rejected", "accepted"]
    );
}

#[test]
fn b003_10_search_combines_meaning_words_tags_time_and_importance() {
    let server = Tenants::with_keys(&PEOPLE);
    let ann = server.key("ann");
    for (title, content, tags, importance) in [
        (
            "Backups",
            "Database snapshots are taken each night at two.",
            &["ops", "db"][..],
            8,
        ),
        (
            "Region",
            "Everything runs in eu-west-1.",
            &["ops", "aws"],
            5,
        ),
        (
            "Lunch",
            "The canteen closes at half past one.",
            &["people"],
            2,
        ),
        (
            "Restore",
            "Restoring the database takes forty minutes.",
            &["db"],
            9,
        ),
    ] {
        add(&ann, draft(title, content, tags, importance), "private");
    }
    let best = |text: &str| found(&ann, json!({"text": text, "limit": 1}));
    assert_eq!(best("when can I eat"), ["Lunch"], "by meaning");
    assert_eq!(best("eu-west-1"), ["Region"], "by words");
    check_scores(&ann);
    let one = |query: Value| {
        let mut titles = found(&ann, query);
        titles.sort();
        titles
    };
    assert_eq!(
        one(json!({"text": "database", "tags_all": ["ops", "db"]})),
        ["Backups"]
    );
    assert_eq!(
        one(json!({"text": "database", "tags_any": ["aws", "people"]})),
        ["Lunch", "Region"]
    );
    assert_eq!(one(json!({"min_importance": 8})), ["Backups", "Restore"]);
    assert_eq!(
        one(json!({"text": "database", "until": "2020-01-01T00:00:00Z"})),
        Vec::<String>::new()
    );
    let newest = found(&ann, json!({"limit": 2, "from": "2020-01-01T00:00:00Z"}));
    assert_eq!(
        newest,
        ["Restore", "Lunch"],
        "without a text, what changed last"
    );
    for query in [
        json!({"text": " "}),
        json!({"limit": 0}),
        json!({"from": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}),
        json!({"gossip": true}),
    ] {
        ann.post("/v1/memories/search", &query)
            .fails(400, "invalid_request");
    }
}

/// A score is low for a memory that is irrelevant to the question, and high for its answer.
#[track_caller]
fn check_scores(api: &Api) {
    let scores = |text: &str| -> Vec<f64> {
        let found = api.post("/v1/memories/search", &json!({"text": text}));
        let found = found.expect(200);
        let found = found.as_array().unwrap().iter();
        found
            .map(|found| found["score"].as_f64().unwrap())
            .collect()
    };
    let recalled = |text: &str| by_tool(api, "recall", &json!({"query": text}))["memories"].clone();
    let unrelated = "unrelated quantum physics lecture";
    let low = scores(unrelated);
    assert!(
        low.len() == 4 && low.iter().all(|score| *score < 0.1),
        "{low:?}"
    );
    assert_eq!(recalled(unrelated), json!([]));
    let answered = "how long does a restore take";
    let high = scores(answered);
    assert!(
        high[0] > 0.5 && high[1..].iter().all(|score| *score < 0.5),
        "{high:?}"
    );
    let best = &recalled(answered)[0];
    assert_eq!(best["title"], "Restore");
    let score = best["score"].as_f64().unwrap();
    // Scores fall with age, even slightly between two searches.
    assert!((score - high[0]).abs() < 1e-3, "{score} {high:?}");
}

/// B003-10: answers to writes and searches mark memories that repeat or contradict others.
#[test]
fn b003_10_a_contradiction_is_marked_where_memories_are_written_and_found() {
    let server = Tenants::with_keys(&PEOPLE);
    let ann = server.key("ann");
    let mail = |relay: &str| draft("Mail", &format!("The relay is {relay}."), &["ops"], 5);
    let first = id(&add(&ann, mail("Postfix"), "private"));
    let second = add(&ann, mail("Exim"), "private");
    assert_eq!(
        (&second["conflicts_with"], &second["notice"]),
        (
            &json!([first]),
            &json!(format!("may contradict {first} (\"Mail\")"))
        )
    );
    let second = id(&second);
    let marked = |found: &Value| -> BTreeMap<String, Value> {
        let found = found.as_array().unwrap().iter();
        found
            .map(|found| (id(found), found["conflicts_with"].clone()))
            .collect()
    };
    let each_other = BTreeMap::from([
        (first.clone(), json!([second])),
        (second.clone(), json!([first])),
    ]);
    let about = json!({"text": "which relay"});
    let found = ann.post("/v1/memories/search", &about).expect(200);
    assert_eq!(marked(&found), each_other);
    let recalled = by_tool(&ann, "recall", &json!({"query": "which relay"}));
    assert_eq!(marked(&recalled["memories"]), each_other);
    let again = json!({"title": "Mail", "content": "The relay is Postfix.", "tags": ["ops"]});
    let proposed = by_tool(&ann, "remember", &again);
    let notice = format!("duplicates {first} (\"Mail\"); may contradict {second} (\"Mail\")");
    assert_eq!(
        [
            &proposed["similar_to"],
            &proposed["conflicts_with"],
            &proposed["notice"]
        ],
        [&json!([first]), &json!([second]), &json!(notice)]
    );
}

#[test]
fn b003_10_related_memories_are_followed_round_a_cycle() {
    let server = Tenants::with_keys(&PEOPLE);
    let ann = server.key("ann");
    let a = id(&add(&ann, draft("A", "first", &["t"], 5), "private"));
    let with = |title: &str, related: &str| {
        let mut memory = draft(title, "next", &["t"], 5);
        memory["related_memories"] = json!([related]);
        memory
    };
    let b = id(&add(&ann, with("B", &a), "private"));
    let c = id(&add(&ann, with("C", &b), "private"));
    let close = json!({"memory": with("A", &c), "expected_version": 1});
    ann.post(&format!("/v1/memories/{a}/versions"), &close)
        .expect(201);
    for (depth, titles) in [(1, vec!["C"]), (2, vec!["C", "B"]), (5, vec!["C", "B"])] {
        let path = format!("/v1/memories/{a}/related?depth={depth}");
        assert_eq!(ids(&ann.get(&path).expect(200), "memory.title"), titles);
    }
    ann.get(&format!("/v1/memories/{a}/related?depth=6"))
        .fails(400, "invalid_request");
    let itself = json!({"memory": with("A", &a), "expected_version": 2});
    ann.post(&format!("/v1/memories/{a}/versions"), &itself)
        .fails(400, "invalid_document");
}

/// Deleted content is in no answer and no file.
#[test]
fn b003_10_removal_takes_the_content_and_leaves_that_it_existed() {
    let home = Home::with_keys(&PEOPLE);
    let server = home.serve();
    let ann = server.key("ann");
    let secret = "the vault's door code is 918273";
    let shown = add(&ann, draft("Door", secret, &["office"], 10), "private");
    assert_eq!(
        shown["expires_at"],
        Value::Null,
        "importance 10 is kept for good"
    );
    assert_eq!(found(&ann, json!({"text": "door code"})), ["Door"]);
    let path = format!("/v1/memories/{}", id(&shown));
    let left = ann.call("DELETE", &path, &[], vec![]).expect(200);
    assert_eq!(
        (&left["removed_by"], &left["memory"]),
        (&json!("ann"), &Value::Null)
    );
    assert_eq!(
        found(&ann, json!({"text": "door code"})),
        Vec::<String>::new()
    );
    let history = ann.get(&format!("{path}/history")).expect(200);
    assert_eq!(history[0]["version"], 1);
    assert_eq!(history[0]["memory"], Value::Null);
    let again = json!({"memory": draft("Door", "x", &["office"], 5), "expected_version": 1});
    ann.post(&format!("{path}/versions"), &again)
        .fails(404, "not_found");
    assert_eq!(server.terminate(), Some(0));
    for file in std::fs::read_dir(home.data()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
        let found = bytes.windows(6).any(|window| window == b"918273");
        assert!(!found, "the content is still in the files");
    }
}

#[test]
fn b003_10_the_commands_work_without_a_server() {
    let home = Home::new();
    let json = |arguments: &[&str]| {
        home.run(&[&["--output", "json"], arguments].concat())
            .json(0)
    };
    let added = json(&[
        "memory",
        "add",
        "--title",
        "Region",
        "--tag",
        "aws",
        "--importance",
        "7",
        "We deploy to eu-west-1.",
    ]);
    let id = added["memory_id"].as_str().unwrap();
    assert_eq!(
        added["memory"]["metadata"],
        json!({"source": "user_statement", "importance": 7})
    );
    let next = json(&[
        "memory",
        "supersede",
        id,
        "--expected",
        "1",
        "--title",
        "Region",
        "--tag",
        "aws",
        "We deploy to eu-north-1.",
    ]);
    assert_eq!(next["version"], 2);
    let found = json(&["memory", "find", "where do we deploy", "--tag", "aws"]);
    assert_eq!(ids(&found, "memory.content"), ["We deploy to eu-north-1."]);
    let other = "We deploy to us-east-1.";
    let told = home.run(&["memory", "add", "--title", "Region", "--tag", "aws", other]);
    let notice = format!("may contradict {id} (\"Region\")");
    assert!(told.out.contains(&notice), "{told:?}");
    assert_eq!(json(&["memory", "show", id, "--related", "1"]), json!([]));
    assert_eq!(json(&["memory", "delete", id])["removed_by"], "local");
    let listed = home.run(&["memory", "list"]);
    assert!(!listed.out.contains(id), "{listed:?}");
}

#[test]
fn b003_10_proposals_are_decided_on_by_command() {
    let home = Home::new();
    let json = |line: &str| {
        let words = ["--output", "json", "memory"].into_iter();
        let arguments: Vec<&str> = words.chain(line.split(' ')).collect();
        home.run(&arguments).json(0)
    };
    let added = json("add --title Region --tag aws eu-west-1");
    let id = added["memory_id"].as_str().unwrap();
    let changed = format!("supersede {id} --expected 1 --title R --tag aws --agent a.b eu-north-1");
    assert_eq!(json(&changed)["proposed"], 2);
    let waiting = json("list --proposed");
    assert_eq!(ids(&waiting["entries"], "memory_id"), [id]);
    json(&format!("reject {id} 2"));
    let history = json(&format!("show {id} --history"));
    assert_eq!(ids(&history, "state"), ["rejected", "accepted"]);
    let shared = json("add --shared --agent a.b --title T --tag t C");
    let shared = shared["memory_id"].as_str().unwrap();
    let accepted = json(&format!("accept {shared} 1"));
    assert_eq!(accepted["state"], "accepted");
    let listed = home.run(&["memory", "list"]);
    assert!(listed.out.contains(shared), "{listed:?}");
}

/// Missions and requests recall shared memories; of private ones they name only the id.
#[test]
fn b003_10_missions_and_requests_recall_memories() {
    let package =
        |service: &Service| look_only(service).edit(POLICY_FILE, "cedar: |\n", OTHER_RUNS);
    let (server, _service) = shared(package);
    let (ann, uma) = (server.key("ann"), server.key("uma"));
    let shared = draft(
        "Stale backups",
        "Backups are stale after 30 days.",
        &["b"],
        5,
    );
    let shared = id(&add(&ann, shared, "shared"));
    let private = draft("Backups", "My backups grow stale first.", &["b"], 5);
    let private = id(&add(&uma, private, "private"));
    uma.post("/v1/missions", &order("m-1")).expect(201);
    standing(&uma, "m-1", "completed");
    let pass = path_of("m-1", "/artifacts?kind=librarian_pass");
    let pass = uma.get(&pass).expect(200)["entries"][0]["artifact"].clone();
    let previews = pass["cached_previews"].as_array().unwrap();
    let of = |memory: &str| {
        let found = previews.iter().find(|one| one["entity_id"] == memory);
        found.unwrap_or_else(|| panic!("no preview of {memory}: {pass:#}"))
    };
    assert_eq!(of(&shared)["entity_type"], "memory");
    assert_eq!(of(&shared)["preview"], "Backups are stale after 30 days.");
    assert_eq!(of(&private)["label"], "Private memory");
    let answer = uma.ask(&request("which backups are stale")).expect(200);
    let recalled = answer["metadata"]["memories"].as_array().unwrap();
    let by_id = |memory: &str| recalled.iter().find(|one| one["memory_id"] == memory);
    assert_eq!(by_id(&shared).unwrap()["title"], "Stale backups");
    assert_eq!(by_id(&private).unwrap()["content"], Value::Null);
}
