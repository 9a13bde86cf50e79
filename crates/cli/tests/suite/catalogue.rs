//! Looking at what is registered: lists, counts.

use serde_json::{Value, json};

use crate::home::{Api, Home, ids};
use crate::packages::{Package, SKILL, backups, global_backups, guardrail, skill};

const KEYS: [(&str, &str, &str, &str); 3] = [
    ("root", "root", "root", "admin"),
    ("ann", "acme", "ann", "admin"),
    ("uma", "umbra", "uma", "admin"),
];

fn listed(api: &Api, kind: &str, query: &str) -> Vec<String> {
    let path = format!("/v1/list/{kind}?{query}");
    ids(&api.get(&path).expect(200)["entries"], "id")
}

/// Whoever looks through many sees words, not only ids, and asks for what the words say.
#[test]
fn a_list_has_words_and_is_asked_by_them() {
    let home = Home::new();
    let server = home.serve();
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

/// The numbers are those of the lists, and a tenant's own are told apart.
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
        (listed, found["of_tenant"].as_u64().unwrap())
    };
    assert_eq!(count(&ann, "skill"), (1, 1));
    assert_eq!(count(&uma, "skill"), (1, 0));
    assert_eq!(count(&ann, "guardrail"), (1, 1));
    assert_eq!(count(&uma, "guardrail"), (0, 0));
    assert_eq!(count(&ann, "domain"), (6, 0));
    // The tools of missions' stages are internal: in no list, and in no number.
    let (tools, _) = count(&ann, "tool");
    assert!(tools > 1, "{tools}");
}
