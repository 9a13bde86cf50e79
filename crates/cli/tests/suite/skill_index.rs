//! Skills on a search node: synchronized with storage, across failures of the node and of servers.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use charter_testkit::postgres_server::PostgresServer;
use charter_testkit::search_server::{Gate, SearchServer};
use serde_json::{Value, json};

use crate::home::{Api, Home, Server, eventually, ids, project, target};
use crate::skills::{delete, home_with, put};
use crate::tenants::erase;

/// A node that can be disconnected, and an index on it.
struct Node {
    gate: Gate,
    index: String,
}

impl Node {
    fn new() -> Self {
        let server = SearchServer::shared();
        Self {
            gate: Gate::to(server.address()),
            index: server.index(),
        }
    }

    /// The alias of a tenant's own skills.
    fn alias_of(&self, tenant: &str) -> String {
        format!("{}.tenant-{tenant}", self.index)
    }

    /// The answers of a client that is written from seed 001, on the official client of the node.
    fn seen_by_a_client(&self, index: &str, asked: &Value) -> Value {
        let python = target().join("search-clients/bin/python");
        let script = project().join("crates/cli/tests/search/seed_client.py");
        let product = SearchServer::shared().product();
        let mut child = Command::new(python)
            .arg(script)
            .args([product, &self.gate.url(), index])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(asked.to_string().as_bytes()).unwrap();
        drop(input);
        let ended = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{errors}");
        serde_json::from_slice(&ended.stdout).unwrap()
    }

    /// A home whose skills are found by the node only.
    fn of(&self, home: Home) -> Home {
        home.with("CHARTER_MODEL__SOURCE", "local")
            .with("CHARTER_SKILL_INDEX__URL", &self.gate.url())
            .with("CHARTER_SKILL_INDEX__INDEX", &self.index)
            .with("CHARTER_SKILL_INDEX__TIMEOUT_MS", "20000")
            .with("CHARTER_SKILL_INDEX__VECTORS_IN_MEMORY", "false")
    }
}

/// The number of entries of a tenant on the node; `None` while it prepares its index. A tenant without skills may have no
/// index.
fn entries_of(node: &Node, tenant: &str) -> Option<u64> {
    let url = format!("{}/{}/_count", node.gate.url(), node.alias_of(tenant));
    let mut answer = match ureq::get(&url).call() {
        Err(ureq::Error::StatusCode(404)) => return Some(0),
        answer => answer.ok()?,
    };
    let counted = answer.body_mut().read_to_string().ok()?;
    serde_json::from_str::<Value>(&counted).ok()?["count"].as_u64()
}

fn leaf(id: &str, summary: &str) -> Value {
    json!({"skill_id": id, "summary": summary, "is_folder": false, "instruction": "i"})
}

fn index_state(server: &Server) -> Value {
    server.api.get("/readyz").expect(200)["skill_index"].clone()
}

fn in_step(server: &Server) -> Value {
    eventually("the index in step", || {
        let state = index_state(server);
        let same = state["state"] == "in_step" && state["indexed"] == state["served"];
        same.then_some(state)
    })
}

fn found(api: &Api, query: &str) -> Vec<String> {
    let asked = json!({"query": query, "top_k": 20});
    let hits = api.post("/v1/agent-skills/search", &asked).expect(200);
    ids(&hits["hits"], "skill_id")
}

/// Created, replaced and deleted skills are found by the node, including those that were written while it was
/// unreachable or before it was configured; the state is reported meanwhile.
#[test]
fn skills_are_found_by_a_node_that_follows_storage() {
    let node = Node::new();
    let before = Home::new();
    let plain = before.serve();
    put(
        &plain.api,
        &leaf("early", "rotate the keys of an object store"),
    )
    .expect(201);
    drop(plain);
    let home = node.of(before);
    let server = home.serve();
    let api = &server.api;
    in_step(&server);
    assert_eq!(found(api, "rotate keys"), ["early"]);
    put(api, &leaf("backups", "list stale backups of a vault")).expect(201);
    put(api, &leaf("tables", "move tables between databases")).expect(201);
    in_step(&server);
    assert_eq!(found(api, "old backups")[0], "backups");
    assert_eq!(found(api, "old backups").len(), 3);
    put(api, &leaf("backups", "bake a cake with apples")).expect(200);
    delete(api, "early").expect(204);
    in_step(&server);
    assert_eq!(found(api, "apple cake")[0], "backups");
    assert_eq!(found(api, "apple cake").len(), 2);
    // A deleted skill disappears at once, even before synchronization: hits are checked against storage.
    node.gate.close();
    api.post("/v1/agent-skills/search", &json!({"query": "apple cake"}))
        .fails(503, "unavailable");
    let state = index_state(&server);
    assert_eq!(state["state"], "failing", "{state}");
    put(api, &leaf("late", "water the flowers")).expect(201);
    delete(api, "tables").expect(204);
    node.gate.open();
    in_step(&server);
    let late = eventually("an answer of the node", || {
        let asked = json!({"query": "flowers"});
        let answer = api.post("/v1/agent-skills/search", &asked);
        (answer.status == 200).then(|| ids(&answer.expect(200)["hits"], "skill_id"))
    });
    assert_eq!(late[0], "late");
    assert_eq!(late.len(), 2);
    drop(server);
    // The index is rebuilt from storage, regardless of the node's content.
    home.run(&["reindex", "--output", "json"]).json(0);
    let doctor = home.run(&["doctor", "--output", "json"]).json(0);
    let mut checks = doctor.as_array().unwrap().iter();
    let check = checks
        .find(|check| check["check"] == "skill index")
        .unwrap();
    let said = check["found"].as_str().unwrap();
    let product = SearchServer::shared().product();
    assert!(
        said.starts_with(&format!("{product} ")) && said.contains("up to revision"),
        "{said}"
    );
    let server = home.serve();
    in_step(&server);
    assert_eq!(found(&server.api, "flowers")[0], "late");
    a_client_reads_as_the_seed_describes(&node, &server, &["backups", "late"]);
}

/// A vector search returns the requested number of hits, and a hit's score does not depend on that number.
#[test]
fn a_vector_finds_as_many_skills_of_a_node_as_are_wanted() {
    let node = Node::new();
    let home = node.of(Home::new());
    let server = home.serve();
    // Each is slightly further away from the first component.
    let vector = |number: u8| -> Vec<f32> {
        let angle = f32::from(number) * 0.02;
        let mut vector = vec![0.0; 384];
        (vector[0], vector[1]) = (angle.cos(), angle.sin());
        vector
    };
    let skills: Vec<Value> = (0..40)
        .map(|number| {
            let mut skill = leaf(&format!("s{number:02}"), "list backups");
            skill["skill_desc_vector"] = json!(vector(number));
            skill
        })
        .collect();
    let sent = json!({"skills": skills});
    server.api.post("/v1/agent-skills/bulk", &sent).expect(200);
    in_step(&server);
    let nearest = |most: usize| -> Vec<Value> {
        let asked = json!({"vector": vector(0), "top_k": most});
        let hits = server
            .api
            .post("/v1/agent-skills/search", &asked)
            .expect(200);
        hits["hits"].as_array().unwrap().clone()
    };
    let found = nearest(30);
    let expected: Vec<String> = (0..30).map(|number| format!("s{number:02}")).collect();
    assert_eq!(ids(&json!(found), "skill_id"), expected);
    assert_eq!(nearest(3), found[..3]);
    // Hits that storage does not know are omitted and take no place: the node is asked for more.
    for number in 0..25 {
        let url = format!("{}/{}/_doc?refresh=true", node.gate.url(), node.index);
        let stray = json!({"skill_id": format!("stray{number}"), "summary": "s", "is_folder": false,
            "sub_skills": [], "instruction": "i", "skill_desc_vector": vector(0)});
        let sent = ureq::post(&url).header("content-type", "application/json");
        sent.send(&stray.to_string()).unwrap();
    }
    assert_eq!(nearest(3), found[..3]);
}

/// Seed 001: a client that knows the mapping discovers by a vector, navigates to children and fetches by id. An entry's
/// id is that of its skill, the instruction is stored and not searched, and nothing else lies among the skills.
fn a_client_reads_as_the_seed_describes(node: &Node, server: &Server, others: &[&str]) {
    let vector = |angle: f32| -> Vec<f32> {
        let mut vector = vec![0.0; 384];
        (vector[0], vector[1]) = (angle.cos(), angle.sin());
        vector
    };
    let mut migration = leaf("SQL_SKILL_MIGRATION", "Database migration.");
    migration["instruction"] = json!("# SQL Migration Guide");
    migration["skill_desc_vector"] = json!(vector(0.1));
    let mut folder = json!({
        "skill_id": "SQL_SKILL", "summary": "SQL database management.", "is_folder": true,
        "sub_skills": ["SQL_SKILL_MIGRATION"], "instruction": "Navigate to sub-skills.",
    });
    folder["skill_desc_vector"] = json!(vector(0.2));
    for skill in [&migration, &folder] {
        put(&server.api, skill).expect(201);
    }
    in_step(server);
    let asked = json!({
        "vector": vector(0.0), "folder": "SQL_SKILL", "leaf": "SQL_SKILL_MIGRATION",
    });
    let seen = node.seen_by_a_client(&node.index, &asked);
    let discovered = seen["discovered"].as_array().unwrap();
    assert_eq!(discovered[..2], ["SQL_SKILL_MIGRATION", "SQL_SKILL"]);
    let fields = json!(["is_folder", "skill_id", "sub_skills", "summary"]);
    assert_eq!(seen["discovered_fields"], fields);
    assert_eq!(ids(&seen["children"], "skill_id"), ["SQL_SKILL_MIGRATION"]);
    assert_eq!(seen["leaf"]["instruction"], "# SQL Migration Guide");
    assert_eq!(seen["by_id_field"], json!(["SQL_SKILL_MIGRATION"]));
    assert_eq!(seen["searchable"], json!([]));
    let mut everything = vec!["SQL_SKILL", "SQL_SKILL_MIGRATION"];
    everything.extend(others);
    assert_eq!(seen["everything"], json!(everything));
    let scoped = node.seen_by_a_client(&node.alias_of("local"), &asked);
    assert_eq!(scoped, seen);
}

/// B001-6 with a node: skills beyond a key's reach are neither found nor take a place; another tenant's skills are
/// never found.
#[test]
fn b001_6_a_node_finds_what_the_key_may_reach() {
    let node = Node::new();
    let home = node.of(home_with(&[
        ("root", "acme", "admin", None),
        ("some", "acme", "user", Some(&["granted"])),
        ("none", "acme", "user", None),
        ("else", "other", "admin", None),
    ]));
    let server = home.serve();
    let (root, some) = (server.key("root"), server.key("some"));
    for number in 0..30 {
        let summary = format!("rotate the keys of bucket {number}");
        put(&root, &leaf(&format!("denied{number}"), &summary)).expect(201);
    }
    put(&root, &leaf("child", "water the flowers")).expect(201);
    let folder = json!({
        "skill_id": "granted", "summary": "gardening", "is_folder": true,
        "sub_skills": ["child"], "instruction": "i",
    });
    put(&root, &folder).expect(201);
    put(
        &server.key("else"),
        &leaf("theirs", "rotate the keys of bucket 1"),
    )
    .expect(201);
    in_step(&server);
    assert_eq!(found(&root, "rotate keys").len(), 20);
    let mut reached = found(&some, "rotate keys");
    reached.sort();
    assert_eq!(reached, ["child", "granted"]);
    assert_eq!(found(&server.key("none"), "rotate keys"), [""; 0]);
    assert_eq!(found(&server.key("else"), "rotate keys"), ["theirs"]);
    let asked = json!({"query": "rotate keys", "only": "folders"});
    let folders = some.post("/v1/agent-skills/search", &asked).expect(200);
    assert_eq!(ids(&folders["hits"], "skill_id"), ["granted"]);
    // Notifications between processes about skills are not events of the tenant.
    let events = root.get("/v1/events?after=0").expect(200);
    assert!(!events.to_string().contains("denied1"), "{events}");
}

/// The skills of an erased tenant are removed from the node while servers run; another tenant's remain.
#[test]
fn postgres_a_node_has_nothing_of_an_erased_tenant() {
    let database = Arc::new(PostgresServer::shared().database());
    let node = Node::new();
    let keys = [
        ("ann", "acme", "admin", None),
        ("eve", "umbra", "admin", None),
    ];
    let home = node.of(home_with(&keys).on(&database));
    let server = home.serve();
    let (ann, eve) = (server.key("ann"), server.key("eve"));
    put(&ann, &leaf("backups", "list stale backups of a vault")).expect(201);
    put(&eve, &leaf("flowers", "water the flowers")).expect(201);
    in_step(&server);
    assert_eq!(entries_of(&node, "acme"), Some(1));
    assert_eq!(entries_of(&node, "umbra"), Some(1));
    let erased = erase(&home, &["--confirm", "acme"]).json(0);
    assert_eq!(erased["erased"]["agent_skill"], 1, "{erased:#}");
    eventually("nothing of the tenant on the node", || {
        (entries_of(&node, "acme") == Some(0)).then_some(())
    });
    in_step(&server);
    assert_eq!(entries_of(&node, "umbra"), Some(1));
    assert_eq!(found(&ann, "old backups"), [""; 0]);
    assert_eq!(found(&eve, "flowers"), ["flowers"]);
}

/// With the vectors also in memory, an unreachable node is replaced.
#[test]
fn without_the_node_skills_are_found_in_memory() {
    let node = Node::new();
    let home = node
        .of(Home::new())
        .with("CHARTER_SKILL_INDEX__VECTORS_IN_MEMORY", "true");
    node.gate.close();
    let server = home.serve();
    put(
        &server.api,
        &leaf("backups", "list stale backups of a vault"),
    )
    .expect(201);
    assert_eq!(found(&server.api, "old backups"), ["backups"]);
    let state = index_state(&server);
    assert_eq!(
        (&state["state"], &state["indexed"]),
        (&json!("failing"), &Value::Null)
    );
    node.gate.open();
    in_step(&server);
    assert_eq!(found(&server.api, "old backups"), ["backups"]);
}
