//! B000-17: the expert graph, from registration to a finding.

use serde_json::{Value, json};

use crate::home::{Home, ids, request_of};
use crate::packages::{Package, SKILL, backups, global_backups};
use crate::shared::Tenants;

const GRAPH_FILE: &str = "expert_graph/recovery.yaml";

const GRAPH: &str = r#"- {id: iso.a8.13, type: Control, domain: reliability, framework: ISO27001, title: Information backup}
- {id: iso.a8.14, type: Control, domain: reliability, framework: ISO27001, title: Redundancy}
- {id: fresh_copies, type: Requirement, domain: reliability, description: Copies are made often enough}
- {id: second_site, type: Requirement, domain: reliability, description: There is a second site}
- {id: backup_list, type: EvidenceType, domain: reliability, collection_method: config_snapshot}
- {id: aws.backup, type: ResourceType, provider: aws, service: backup}
- {id: stale_backup, type: Risk, domain: reliability, severity: high}
- {id: data_loss, type: Risk, domain: reliability, severity: critical}
- {id: no_second_site, type: Risk, domain: reliability, severity: medium}
- {id: schedule_backups, type: Remediation, domain: reliability, approach: Back up each night}
- {from: iso.a8.13, type: requires, to: fresh_copies}
- {from: iso.a8.14, type: requires, to: second_site}
- {from: fresh_copies, type: evidenced_by, to: backup_list}
- {from: backup_list, type: collected_via, to: aws.backup}
- {from: stale_backup, type: is_a, to: data_loss}
- {from: stale_backup, type: remediated_by, to: schedule_backups}
"#;

pub(crate) fn graph(package: Package) -> Package {
    package.with(GRAPH_FILE, GRAPH)
}

/// A server that knows `ann` of acme and `uma` of umbra on the advanced tier, `bob` on the basic one.
fn tiers() -> Home {
    let home = Home::with_keys(&[
        ("ann", "acme", "ann", "admin"),
        ("bob", "acme", "bob", "admin"),
        ("uma", "umbra", "uma", "admin"),
    ]);
    let file = home.path("config.toml");
    let mut text = std::fs::read_to_string(&file).unwrap();
    for user in ["ann", "uma"] {
        let user = format!("user = \"{user}\"\n");
        text = text.replace(&user, &format!("{user}tier = \"advanced\"\n"));
    }
    std::fs::write(&file, text).unwrap();
    home
}

#[test]
fn b000_17_dangling_duplicate_and_wrongly_typed_edges_are_refused_with_their_place() {
    let server = Tenants::one();
    let cases = [
        ("to: aws.backup", "to: aws.nothing", "reference"),
        ("to: aws.backup", "to: fresh_copies", "endpoint"),
        (
            "from: backup_list, type: collected_via, to: aws.backup",
            "from: stale_backup, type: is_a, to: data_loss",
            "unique",
        ),
        ("to: data_loss", "to: stale_backup", "self"),
    ];
    for (from, to, keyword) in cases {
        let broken = graph(backups()).edit(GRAPH_FILE, from, to);
        let refused = server.api.post("/v1/packages", &broken.bundle());
        refused.clone().fails(400, "invalid_document");
        let problem = &refused.body["technical_details"]["problems"][0];
        assert_eq!(problem["file"], GRAPH_FILE, "{problem}");
        assert_eq!(problem["keyword"], keyword, "{problem}");
    }
    assert_eq!(server.api.brought("graph_edge"), Vec::<String>::new());
}

#[test]
fn b000_17_the_graph_answers_on_the_advanced_tier_and_to_its_tenant_only() {
    let home = tiers();
    let server = home.serve();
    let (ann, bob, uma) = (server.key("ann"), server.key("bob"), server.key("uma"));
    ann.register(&graph(backups()));
    let ask = |query: Value| ann.post("/v1/graph/query", &query);
    let paths = json!({"query": "paths", "from": "iso.a8.13"});
    let found = ask(paths.clone()).expect(200);
    let expected = json!({"query": "paths", "truncated": false, "found": [{
        "nodes": ["iso.a8.13", "fresh_copies", "backup_list", "aws.backup"],
        "edges": ["requires", "evidenced_by", "collected_via"],
    }]});
    assert_eq!(found, expected);
    bob.post("/v1/graph/query", &paths)
        .fails(403, "permission_denied");
    uma.post("/v1/graph/query", &paths).fails(404, "not_found");
    let near = ask(json!({"query": "neighbours", "node": "fresh_copies", "direction": "in"}));
    let near = near.expect(200);
    assert_eq!(ids(&near["found"], "node.id"), ["iso.a8.13"]);
    let open = ask(json!({"query": "unremediated"})).expect(200);
    assert_eq!(ids(&open["found"], "id"), ["no_second_site"]);
    let covered = ask(json!({"query": "coverage", "framework": "iso27001"})).expect(200);
    assert_eq!(ids(&covered["controls"], "status"), ["covered", "none"]);
    let action = &covered["controls"][0]["resource_types"][0]["covered_by"][0];
    assert_eq!(action["id"], SKILL);
    assert_eq!(
        covered["controls"][1]["without_evidence"],
        json!(["second_site"])
    );
    for (query, status, code) in [
        (
            json!({"query": "paths", "from": "iso.a8.13", "depth": 11}),
            400,
            "invalid_request",
        ),
        (
            json!({"query": "paths", "from": "nowhere"}),
            404,
            "not_found",
        ),
        (
            json!({"query": "coverage", "framework": "HIPAA"}),
            404,
            "not_found",
        ),
        (json!({"query": "gossip"}), 400, "invalid_request"),
    ] {
        ask(query).fails(status, code);
    }
    let unknown = ask(json!({"query": "coverage", "framework": "HIPAA"})).fails(404, "not_found");
    assert_eq!(
        unknown,
        "there is no framework `HIPAA`; controls name ISO27001"
    );
}

#[test]
fn b000_17_findings_name_what_the_graph_says_on_the_advanced_tier() {
    let home = tiers();
    let server = home.serve();
    let (ann, bob) = (server.key("ann"), server.key("bob"));
    ann.register(&graph(global_backups()));
    let expert = |answer: Value| answer["metadata"]["findings"][0]["expert"].clone();
    let said = expert(ann.ask(&request_of(SKILL, json!({}))).expect(200));
    let expected = json!({"controls": ["iso.a8.13"], "risks": ["stale_backup", "data_loss"],
        "remediations": ["schedule_backups"]});
    assert_eq!(said, expected);
    assert_eq!(
        expert(bob.ask(&request_of(SKILL, json!({}))).expect(200)),
        Value::Null
    );
    let mut basic = request_of(SKILL, json!({}));
    basic["metadata"]["tier"] = json!("basic");
    assert_eq!(expert(ann.ask(&basic).expect(200)), Value::Null);
}

#[test]
fn b000_17_the_command_shows_paths_and_coverage() {
    let home = Home::new();
    let folder = graph(backups()).write(&home.path("package"));
    assert_eq!(home.run(&["package", "register", &folder]).code, Some(0));
    let paths = home.run(&["graph", "query", "paths", "iso.a8.13"]);
    assert_eq!(
        paths.out,
        "iso.a8.13 -requires-> fresh_copies -evidenced_by-> backup_list -collected_via-> aws.backup\n",
        "{paths:?}"
    );
    let covered = home.run(&["--output", "json", "graph", "query", "coverage", "ISO27001"]);
    assert_eq!(covered.json(0)["controls"][0]["status"], "covered");
    let near = home.run(&[
        "graph",
        "query",
        "neighbours",
        "stale_backup",
        "--edge",
        "is_a",
    ]);
    assert!(near.out.contains("data_loss"), "{near:?}");
    let open = home.run(&["graph", "query", "unremediated", "--domain", "reliability"]);
    assert!(open.out.contains("no_second_site"), "{open:?}");
}
