//! The catalogue: lists, counts, single documents and their dependents, versions of packages.

use serde_json::{Value, json};

use crate::home::{Api, Home, ids};
use crate::packages::{Package, SKILL, SKILL_FILE, backups, global_backups, guardrail, skill};
use crate::shared::Tenants;

pub(crate) const KEYS: [(&str, &str, &str, &str); 3] = [
    ("root", "root", "root", "admin"),
    ("ann", "acme", "ann", "admin"),
    ("uma", "umbra", "uma", "admin"),
];

fn listed(api: &Api, kind: &str, query: &str) -> Vec<String> {
    let path = format!("/v1/list/{kind}?{query}");
    ids(&api.get(&path).expect(200)["entries"], "id")
}

/// Lists contain titles and summaries, not only ids, and can be searched by them.
#[test]
fn a_list_has_words_and_is_asked_by_them() {
    let server = Tenants::one();
    let off = skill("reliability.check_tapes", &"count the tapes ".repeat(20))
        .replace("display_name: check_tapes", "display_name: Check TAPES")
        + "status: inactive\n";
    let other = skill("cost.count_disks", "count the disks");
    let more = Package::new("more", "2.0.0", "tenant")
        .with("skills/off.yaml", &off)
        .with("skills/other.yaml", &other);
    server.api.register(&backups());
    server.api.register(&more);
    let list = |query| listed(&server.api, "skill", query);
    assert_eq!(
        list(""),
        ["cost.count_disks", "reliability.check_tapes", SKILL]
    );
    assert_eq!(list("query=tapes"), ["reliability.check_tapes"]);
    assert_eq!(list("query=STALE_B"), [SKILL]);
    assert_eq!(list("query=nothing"), [""; 0]);
    assert_eq!(list("domain=cost"), ["cost.count_disks"]);
    assert_eq!(list("status=inactive"), ["reliability.check_tapes"]);
    assert_eq!(list("package=backups"), [SKILL]);
    assert_eq!(
        list("status=active&package=more&limit=1"),
        ["cost.count_disks"]
    );
    let refused = server.api.get("/v1/list/skill?status=old");
    refused.fails(400, "invalid_request");
    let shown = server.api.get("/v1/list/skill?query=tapes").expect(200);
    let summary = "count the tapes ".repeat(13)[..199].to_owned() + "…";
    assert_eq!(
        shown,
        json!({"entries": [{
            "id": "reliability.check_tapes", "kind": "skill", "title": "Check TAPES", "summary": summary,
            "domain": "reliability", "status": "inactive", "is_candidate": false, "tenant": true,
            "package": "more", "package_version": "2.0.0",
        }], "next": null})
    );
    let template = server.api.get("/v1/list/template").expect(200)["entries"][0].clone();
    assert_eq!(
        (&template["title"], &template["summary"]),
        (&Value::Null, &Value::Null)
    );
}

/// The counts equal those of the lists, and distinguish a tenant's own documents.
#[test]
fn the_catalogue_counts_what_a_tenant_sees() {
    let home = Home::with_keys(&KEYS);
    let server = home.serve();
    let [root, ann, uma] = KEYS.map(|(key, ..)| server.key(key));
    root.register(&global_backups());
    let own = Package::new("own", "1.0.0", "tenant")
        .with("skills/own.yaml", &skill(SKILL, "look after backups"))
        .with(
            "guardrails/own.yaml",
            &guardrail("acme.rail", "skill", "*", "soft_warn", ""),
        );
    ann.register(&own);
    let count = |api: &Api, kind: &str| {
        let shown = api.get("/v1/catalogue").expect(200);
        let mut kinds = shown["kinds"].as_array().unwrap().iter();
        let found = kinds.find(|one| one["kind"] == kind).unwrap();
        let listed = listed(api, kind, "limit=1000").len();
        assert_eq!(found["documents"], listed, "{kind}");
        (listed, found["tenant_documents"].as_u64().unwrap())
    };
    assert_eq!(count(&ann, "skill"), (1, 1));
    assert_eq!(count(&uma, "skill"), (1, 0));
    assert_eq!(count(&ann, "guardrail"), (1, 1));
    assert_eq!(count(&uma, "guardrail"), (0, 0));
    assert_eq!(count(&ann, "domain"), (6, 0));
    // The tools of missions' stages are internal: not in lists or counts.
    let (tools, _) = count(&ann, "tool");
    assert!(tools > 1, "{tools}");
}

/// B000-1: a document shows both layers, the effective one, their differences, and the original text.
#[test]
fn b000_1_a_document_is_shown_with_both_layers_and_its_source() {
    let home = Home::with_keys(&KEYS);
    let server = home.serve();
    let [root, ann, uma] = KEYS.map(|(key, ..)| server.key(key));
    let rail = |scope: &str| guardrail("shared.rail", "skill", "*", scope, "");
    root.register(&global_backups().with("guardrails/rail.yaml", &rail("soft_warn")));
    let own = backups()
        .edit(
            SKILL_FILE,
            "display_name: Find stale backups",
            "display_name: Acme's own",
        )
        .with("guardrails/rail.yaml", &rail("hard_block"));
    ann.register(&own);
    let path = format!("/v1/documents/skill/{SKILL}");
    let layers = |api: &Api, path: &str| {
        let shown = api.get(path).expect(200);
        let layers = shown["layers"].as_array().unwrap().iter();
        let brief = |layer: &Value| {
            json!([
                layer["scope"],
                layer["in_force"],
                layer["package"],
                layer["package_version"]
            ])
        };
        layers.map(brief).collect::<Vec<_>>()
    };
    let shared = json!(["global", true, "backups", "1.0.0"]);
    let above = json!(["tenant", true, "backups", "1.0.0"]);
    let below = json!(["global", false, "backups", "1.0.0"]);
    assert_eq!(layers(&ann, &path), [above.clone(), below]);
    assert_eq!(layers(&uma, &path), std::slice::from_ref(&shared));
    // A tenant's guardrail adds to the global one and does not replace it.
    let rails = layers(&ann, "/v1/documents/guardrail/shared.rail");
    assert_eq!(rails, [above, shared]);
    let shown = ann.get(&path).expect(200);
    assert_eq!(
        (&shown["kind"], &shown["id"]),
        (&json!("skill"), &json!(SKILL))
    );
    assert_eq!(shown["differs"], json!(["/display_name"]));
    let own_source = json!({"file": SKILL_FILE, "line": 1, "text": own.text(SKILL_FILE)});
    assert_eq!(shown["layers"][0]["source"], own_source);
    assert_eq!(shown["layers"][0]["document"]["display_name"], "Acme's own");
    assert_eq!(
        shown["layers"][1]["document"]["display_name"],
        "Find stale backups"
    );
    let domain = ann.get("/v1/documents/domain/security").expect(200);
    let built_in = &domain["layers"][0];
    assert_eq!(
        (&built_in["package"], &built_in["source"]),
        (&json!("charter"), &Value::Null)
    );
    uma.get("/v1/documents/skill/reliability.nothing")
        .fails(404, "not_found");
    uma.get("/v1/documents/widget/x").fails(404, "not_found");
    for deprecated in [
        "/v1/documents/intent/x",
        "/v1/resolve/intent/x",
        "/v1/resolve/context/x",
        "/v1/resolve/cloud_knowledge",
    ] {
        uma.get(deprecated).fails(410, "deprecated_collection");
    }
}

/// B000-10: a document that is not listed cannot be found by its id.
#[test]
fn b000_10_an_internal_tool_is_not_shown() {
    let server = Tenants::one();
    for id in ["charter.mission.plan", "charter.mission.work"] {
        let path = format!("/v1/documents/tool/{id}");
        server.api.get(&path).fails(404, "not_found");
    }
}

/// The dependents of a tool: every document that registration would refuse without it, and their dependents.
#[test]
fn what_a_document_needs_and_what_needs_it_is_shown() {
    let server = Tenants::one();
    server.api.register(&backups());
    let path = "/v1/documents/tool/vault.list_backups/dependencies";
    let shown = server.api.get(path).expect(200);
    assert_eq!(
        (&shown["root"]["id"], &shown["root"]["package"]),
        (&json!("vault.list_backups"), &json!("backups"))
    );
    let nodes = shown["nodes"].as_array().unwrap().iter();
    let brief = |node: &Value| {
        json!([
            node["side"],
            node["distance"],
            node["kind"],
            node["id"],
            node["document"]["title"]
        ])
    };
    let agent = "domain.reliability.recovery";
    assert_eq!(
        nodes.map(brief).collect::<Vec<_>>(),
        [
            json!(["needs", 1, "domain", "reliability", "Reliability"]),
            json!(["needed_by", 1, "skill", SKILL, "Find stale backups"]),
            json!(["needed_by", 2, "template", "reliability.stale_backup", null]),
            json!(["needed_by", 2, "agent", agent, "Recovery"]),
        ]
    );
    let needing = json!({"kind": "skill", "id": SKILL});
    let tool = json!({"kind": "tool", "id": "vault.list_backups"});
    let needs = json!({"from": needing, "to": tool, "pointer": "/execution_plan/steps/0/tool_id"});
    let edges = shown["edges"].as_array().unwrap();
    assert!(edges.len() == 4 && edges.contains(&needs), "{edges:#?}");
    assert_eq!(shown["truncated"], false);
    let near = server
        .api
        .get(&format!("{path}?direction=needed_by&depth=1"))
        .expect(200);
    assert_eq!(ids(&near["nodes"], "id"), [SKILL]);
    for query in ["depth=0", "depth=11", "direction=up"] {
        let refused = server.api.get(&format!("{path}?{query}"));
        refused.fails(400, "invalid_request");
    }
    let unknown = "/v1/documents/tool/vault.nothing/dependencies";
    server.api.get(unknown).fails(404, "not_found");
    // Later registrations count at once.
    let more = Package::new("more", "1.0.0", "tenant").with(
        "skills/more.yaml",
        &skill("reliability.more", "count backups"),
    );
    server.api.register(&more);
    let near = server
        .api
        .get(&format!("{path}?direction=needed_by&depth=1"))
        .expect(200);
    assert_eq!(ids(&near["nodes"], "id"), [SKILL, "reliability.more"]);
}

const VERSIONS: &str = "/v1/packages/backups/diff";

/// Ann's package in two versions: a skill changed, one added, a guardrail removed.
fn two_versions(ann: &Api) {
    let rail = guardrail("old", "skill", "*", "soft_warn", "");
    ann.register(&backups().with("guardrails/old.yaml", &rail));
    let second = backups()
        .edit("package.yaml", "version: 1.0.0", "version: 1.1.0")
        .edit(
            SKILL_FILE,
            "display_name: Find stale backups",
            "display_name: Stale ones",
        )
        .with(
            "skills/more.yaml",
            &skill("reliability.more", "count backups"),
        );
    ann.register(&second);
}

/// The kind of change of each document.
fn changes(diff: &Value) -> Vec<Value> {
    let changes = diff["changes"].as_array().unwrap().iter();
    let brief = |change: &Value| {
        json!([
            change["difference"],
            change["kind"],
            change["id"],
            change["fields"]
        ])
    };
    changes.map(brief).collect()
}

/// B000-7: the changes of a new version remain visible afterwards, document by document.
#[test]
fn b000_7_two_stored_versions_of_a_package_are_compared() {
    let server = Tenants::with_keys(&KEYS);
    let [_, ann, uma] = KEYS.map(|(key, ..)| server.key(key));
    two_versions(&ann);
    let diff = ann.get(VERSIONS).expect(200);
    assert_eq!(
        changes(&diff),
        [
            json!(["changed", "skill", SKILL, ["/display_name"]]),
            json!(["added", "skill", "reliability.more", []]),
            json!(["removed", "guardrail", "old", []]),
        ]
    );
    assert_eq!(
        (&diff["from"], &diff["to"]),
        (&json!("1.0.0"), &json!("1.1.0"))
    );
    let names = |side: &str| {
        let changes = diff["changes"].as_array().unwrap().iter();
        let names = changes.map(|change| change[side]["display_name"].clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(
        names("before"),
        [json!("Find stale backups"), Value::Null, Value::Null]
    );
    assert_eq!(
        names("after"),
        [json!("Stale ones"), json!("more"), Value::Null]
    );
    assert_eq!(diff["changes"][2]["before"]["guardrail_id"], "old");
    uma.get(VERSIONS).fails(404, "not_found");
}

/// Compares any two versions, by pages; the first version has no predecessor.
#[test]
fn versions_of_a_package_are_named_and_their_changes_paged() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    two_versions(&ann);
    let get = |query: &str| ann.get(&format!("{VERSIONS}?{query}"));
    let mut paged = Vec::new();
    let mut next = String::new();
    loop {
        let page = get(&format!("limit=1{next}")).expect(200);
        paged.extend(changes(&page));
        match page["next"].as_str() {
            Some(after) => next = format!("&after={}", after.replace(' ', "+")),
            None => break,
        }
    }
    assert_eq!(paged, changes(&get("").expect(200)));
    let back = get("from=1.1.0&to=1.0.0").expect(200);
    let gone = json!(["removed", "skill", "reliability.more", []]);
    assert_eq!(changes(&back)[1], gone);
    let born = get("to=1.0.0").expect(200);
    assert_eq!((&born["from"], changes(&born).len()), (&Value::Null, 5));
    for (query, status, code) in [
        ("to=9.9.9", 404, "not_found"),
        ("from=9.9.9", 404, "not_found"),
        ("scope=global", 404, "not_found"),
        ("after=nowhere", 400, "invalid_request"),
    ] {
        get(query).fails(status, code);
    }
}
