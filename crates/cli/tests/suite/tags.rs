//! B000-15: the tag store.

use serde_json::{Value, json};

use crate::expert_graph::graph;
use crate::home::{Api, request, request_of};
use crate::lenses::lens;
use crate::packages::{SKILL, TOOL_FILE, backups};
use crate::playbooks::{PLAYBOOK, purge};
use crate::service::Service;
use crate::shared::Tenants;

fn record() -> Value {
    json!({
        "request_id": "req_abc123", "tenant_id": "local", "flow": "skill", "domain": "reliability",
        "persona": "operator", "tier": "basic", "skill_id": SKILL, "output_type": "finding",
        "execution_location": "server",
    })
}

fn without(field: &str) -> Value {
    let mut record = record();
    record.as_object_mut().unwrap().remove(field).unwrap();
    record
}

/// B000-15
#[test]
fn b000_15_tags_are_written_once() {
    let server = Tenants::one();
    server.api.post("/v1/tags", &record()).expect(201);
    server
        .api
        .post("/v1/tags", &record())
        .fails(409, "already_exists");
    let mut other = record();
    other["persona"] = json!("auditor");
    server
        .api
        .post("/v1/tags", &other)
        .fails(409, "already_exists");
    let mut read = server.api.get("/v1/tags/req_abc123").expect(200);
    assert!(read["expires_at"].take().is_string());
    let mut expected = record();
    expected["tenant_id"] = json!(server.id("own"));
    expected["expires_at"] = Value::Null;
    assert_eq!(read, expected);
}

/// B000-15
#[test]
fn b000_15_a_flow_is_known_and_has_its_fields() {
    let server = Tenants::one();
    let mut unknown = record();
    unknown["flow"] = json!("guess");
    server
        .api
        .post("/v1/tags", &unknown)
        .fails(400, "invalid_document");
    for field in [
        "domain",
        "persona",
        "skill_id",
        "tier",
        "output_type",
        "execution_location",
    ] {
        let refused = server
            .api
            .post("/v1/tags", &without(field))
            .fails(400, "invalid_document");
        assert!(refused.contains(field), "{refused}");
    }
    for (flow, needed) in [
        ("read_broad", "skill_ids"),
        ("write", "playbook_id"),
        ("rag_search", "rag_params"),
    ] {
        let mut record = without("skill_id");
        record["flow"] = json!(flow);
        let refused = server.api.post("/v1/tags", &record);
        refused.clone().fails(400, "invalid_document");
        assert!(
            refused.body["technical_details"]
                .to_string()
                .contains(needed),
            "{:#}",
            refused.body
        );
    }
    server
        .api
        .get("/v1/tags/req_abc123")
        .fails(404, "not_found");
}

/// B000-15: expired tags look absent.
#[test]
fn b000_15_expired_tags_are_absent() {
    let server = Tenants::one();
    let mut record = record();
    record["expires_at"] = json!("2020-01-01T00:00:00Z");
    server.api.post("/v1/tags", &record).expect(201);
    server
        .api
        .get("/v1/tags/req_abc123")
        .fails(404, "not_found");
}

/// B000-15: never visible to clients; written before a request is answered.
#[test]
fn b000_15_a_user_neither_reads_nor_writes_tags() {
    let server = Tenants::with_keys(&[
        ("op", "acme", "ann", "operator"),
        ("user", "acme", "bob", "user"),
    ]);
    let (operator, user) = (server.key("op"), server.key("user"));
    operator.register(&backups());
    let asked = request_of(SKILL, json!({}));
    user.ask(&asked).expect(200);
    let id = format!(
        "req_{}",
        asked["id"]
            .as_str()
            .unwrap()
            .trim_start_matches("req-")
            .replace('-', "")
    );
    let tags = operator.get(&format!("/v1/tags/{id}")).expect(200);
    let found = [
        "tenant_id",
        "user_id",
        "flow",
        "domain",
        "persona",
        "skill_id",
        "owner_agent_id",
    ]
    .map(|field| tags[field].clone());
    assert_eq!(
        found,
        [
            server.id("acme"),
            "bob",
            "skill",
            "reliability",
            "operator",
            SKILL,
            "domain.reliability.recovery"
        ]
    );
    user.get(&format!("/v1/tags/{id}"))
        .fails(403, "permission_denied");
    user.post("/v1/tags", &record())
        .fails(403, "permission_denied");
}

/// B000-15: tags contain the execution location of the chosen tools, and for a change the values from its sentence;
/// later values belong to the run.
#[test]
fn b000_15_tags_have_where_tools_run_and_what_the_sentence_bound() {
    let server = Tenants::one();
    let service = Service::start();
    let package = purge(&service)
        .edit(
            TOOL_FILE,
            "execution_target: server",
            "execution_target: client",
        )
        .edit(
            "playbooks/purge.yaml",
            "description: the vault}",
            "description: the vault, enum: [main, north]}",
        );
    server.api.register(&package);
    let tags = |asked: &Value| {
        server.api.ask(asked).expect(200);
        let id = asked["id"].as_str().unwrap().replacen("req-", "req_", 1);
        // The tag's form of an id has no dashes.
        let path = format!("/v1/tags/{}", id.replace('-', ""));
        server.api.get(&path).expect(200)
    };
    let read = tags(&request_of(SKILL, json!({})));
    assert_eq!(read["execution_location"], "client", "{read:#}");
    let mut asked = request("purge north for good");
    asked["metadata"] = json!({"playbook_id": PLAYBOOK});
    let write = tags(&asked);
    assert_eq!(
        (
            &write["execution_location"],
            &write["tool_ids"],
            &write["param_set"]
        ),
        (
            &json!("server"),
            &json!(["vault.purge"]),
            &json!({"vault": "north"})
        ),
        "{write:#}"
    );
}

/// The tags of a request.
fn tags_of(api: &Api, asked: &Value) -> Value {
    let id = asked["id"].as_str().unwrap();
    let id = id.trim_start_matches("req-").replace('-', "");
    api.get(&format!("/v1/tags/req_{id}")).expect(200)
}

/// B000-15, B000-20: a rule that a lens answers is tagged with the filters of the search and the lens; one that a node
/// of the expert graph answers, with the node's domain.
#[test]
fn b000_15_a_rule_is_tagged_with_its_filters_and_who_answered() {
    let server = Tenants::one();
    let library = graph(backups())
        .with(
            "lenses/handbook.yaml",
            &lens("security.handbook", "file", "sources/handbook.md"),
        )
        .with(
            "sources/handbook.md",
            "# Locks\n\nEvery lock of the north gate is changed in spring.\n",
        );
    server.api.register(&library);
    let mut asked = request("What is the rule for the locks of the north gate?");
    asked["metadata"] = json!({"rag_params": {"domain": "security"}});
    server.api.ask(&asked).expect(200);
    let fields = ["flow", "domain", "provider", "rag_params"];
    let tags = tags_of(&server.api, &asked);
    assert_eq!(
        fields.map(|field| tags[field].clone()),
        [
            json!("rag_search"),
            json!("security"),
            json!("domain_lens"),
            json!({"domain": "security", "top_k": 4}),
        ]
    );

    let asked = request("what does ISO A8.13 require?");
    let answer = server.api.ask(&asked).expect(200);
    let node = &answer["metadata"]["nodes"][0];
    assert_eq!(
        (&node["node_id"], &node["named"]),
        (&json!("iso.a8.13"), &json!(true)),
        "{answer:#}"
    );
    let near = node["near"].as_array().unwrap().iter();
    let near: Vec<&Value> = near.map(|near| &near["node_id"]).collect();
    assert_eq!(near, ["fresh_copies"]);
    let tags = tags_of(&server.api, &asked);
    assert_eq!(
        fields.map(|field| tags[field].clone()),
        [
            json!("knowledge"),
            json!("reliability"),
            json!("expert_graph"),
            Value::Null,
        ]
    );
}
