//! Registration of packages: refusals, written data, derived data.

use serde_json::{Value, json};

use crate::home::{Api, Home, ids};
use crate::packages::{
    AGENT_FILE, Package, SKILL, SKILL_FILE, TEMPLATE_FILE, TOOL_FILE, backups, skill,
};
use crate::shared::Tenants;

fn problems(package: &Package, api: &Api) -> Value {
    let refused = api.post("/v1/packages", &package.bundle());
    assert_eq!(refused.status, 400, "{:#}", refused.body);
    refused.body["technical_details"]["problems"].clone()
}

/// B000-7
#[test]
fn b000_7_six_domains_are_there_from_the_start() {
    let server = Tenants::one();
    let listed = server.api.get("/v1/list/domain").expect(200);
    let expected = [
        "compliance",
        "cost",
        "performance",
        "platform",
        "reliability",
        "security",
    ];
    assert_eq!(ids(&listed["entries"], "id"), expected);
}

/// B000-7
#[test]
fn b000_7_an_unknown_or_inactive_domain_is_refused() {
    let server = Tenants::one();
    let unknown = backups().edit(TOOL_FILE, "domain: reliability", "domain: relyability");
    let found = problems(&unknown, &server.api);
    assert_eq!(
        (&found[0]["file"], &found[0]["line"], &found[0]["excerpt"]),
        (&json!(TOOL_FILE), &json!(6), &json!("domain: relyability"))
    );
    assert!(
        found[0]["suggestion"]
            .as_str()
            .unwrap()
            .contains("reliability"),
        "{found:#}"
    );
    let domain =
        "domain_id: orchard\ndisplay_name: Orchard\ndomain_type: domain\nstatus: inactive\n";
    let inactive = backups()
        .edit(TOOL_FILE, "domain: reliability", "domain: orchard")
        .with("domains/orchard.yaml", domain);
    let found = problems(&inactive, &server.api);
    assert!(
        found[0]["message"].as_str().unwrap().contains("inactive"),
        "{found:#}"
    );
    let active = inactive.edit("domains/orchard.yaml", "status: inactive", "status: active");
    server.api.register(&active);
}

/// B000-7: after any error nothing is written; all are reported, with file and line.
#[test]
fn b000_7_all_errors_are_reported_and_nothing_is_written() {
    let server = Tenants::one();
    let broken = backups()
        .edit(
            SKILL_FILE,
            "tool_id: vault.list_backups",
            "tool_id: vault.list_backup",
        )
        .edit(SKILL_FILE, ".backups[] | select(", ".backups[ | select(")
        .edit(AGENT_FILE, "domain: reliability", "domain: nowhere")
        .edit(
            TEMPLATE_FILE,
            "skill_id: reliability.find_stale_backups",
            "skill_id: reliability.gone",
        )
        .with(
            "guardrails/rail.yaml",
            &crate::packages::guardrail(
                "r",
                "skill",
                "*",
                "soft_warn",
                "when: \"tool.tool_class ==\"",
            ),
        );
    let found = problems(&broken, &server.api);
    let places: Vec<(&str, u64)> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (p["file"].as_str().unwrap(), p["line"].as_u64().unwrap()))
        .collect();
    let expected = [
        (AGENT_FILE, 5),
        ("guardrails/rail.yaml", 8),
        (SKILL_FILE, 18),
        (SKILL_FILE, 25),
        (TEMPLATE_FILE, 3),
    ];
    assert_eq!(places, expected, "{found:#}");
    assert_eq!(server.api.get("/v1/packages").expect(200), json!([]));
    assert_eq!(server.api.brought("tool"), [""; 0]);
}

/// Unusable tools are refused at registration, not at the first call. Unusual but valid hosts are accepted.
#[test]
fn what_calls_cannot_use_is_not_registered() {
    let server = Tenants::one();
    let text = backups().text(TOOL_FILE).to_owned();
    let reaching = |hosts: &str| backups().with(TOOL_FILE, &format!("{text}egress: [{hosts}]\n"));
    let line = text.lines().count() + 1;
    let bad = reaching("api.example.com, 'http://api.example.com'");
    let deep = backups().with(&vec!["d"; 65].join("/"), "x");
    let under_a_file = backups().with("scripts/list_backups.py/more", "x");
    for (package, file, place, message) in [
        (
            &bad,
            TOOL_FILE,
            line,
            "egress entry \"http://api.example.com\" is not a host name, *.domain, address or network with an \
             optional port",
        ),
        (
            &deep,
            "",
            1,
            "the path has more than 64 names (PACKAGE_PATH_PARTS)",
        ),
        (
            &under_a_file,
            "scripts/list_backups.py/more",
            1,
            "`scripts/list_backups.py` is a file and cannot contain others",
        ),
    ] {
        let found = problems(package, &server.api);
        assert_eq!(
            (&found[0]["line"], &found[0]["message"], found[1].is_null()),
            (&json!(place), &json!(message), true),
            "{found:#}"
        );
        if !file.is_empty() {
            assert_eq!(found[0]["file"], file);
        }
        let validated = server.api.post("/v1/packages/validate", &package.bundle());
        assert_eq!(validated.expect(200)["problems"], found);
        let compared = server.api.post("/v1/packages/diff", &package.bundle());
        assert_eq!(compared.status, 400, "{:#}", compared.body);
    }
    assert_eq!(problems(&bad, &server.api)[0]["pointer"], "/egress/1");
    let odd = reaching("'2130706433:*', '[::/0]:*', '*.nip.io:*', '10.0.0.0/8', localhost");
    server.api.register(&odd);
}

/// 15 MiB, including one file of 8 MiB.
#[test]
fn a_package_of_the_largest_size_is_registered() {
    let server = Tenants::one();
    let large = backups()
        .with("docs/long.md", &"x".repeat(8 << 20))
        .with("sources/long.txt", &"y".repeat((7 << 20) - (16 << 10)));
    server.api.register(&large);
}

#[test]
fn megabytes_of_yaml_indicators_are_a_problem_of_their_file() {
    let server = Tenants::one();
    let commas = format!("[{}", "?,".repeat(7 << 20));
    let package = backups().with("tools/commas.yaml", &commas);
    let found = problems(&package, &server.api);
    let shown = ["file", "line", "keyword", "message"].map(|field| found[0][field].clone());
    let message = "the text has more than 130000 tokens (YAML_TOKENS)";
    assert_eq!(
        shown.to_vec(),
        [
            json!("tools/commas.yaml"),
            json!(1),
            json!("limit"),
            json!(message)
        ]
    );
}

/// B000-7
#[test]
fn b000_7_a_dry_run_writes_nothing_and_shows_the_difference() {
    let server = Tenants::one();
    let first = server
        .api
        .post("/v1/packages?dry_run=true", &backups().bundle())
        .expect(200);
    assert_eq!(ids(&first["diff"]["changes"], "difference"), ["added"; 4]);
    assert_eq!(server.api.get("/v1/packages").expect(200), json!([]));
    server.api.register(&backups());
    let next = backups().version("1.0.0", "1.1.0").edit(
        TOOL_FILE,
        "Lists the backups",
        "Names the backups",
    );
    let second = server
        .api
        .post("/v1/packages?dry_run=true", &next.bundle())
        .expect(200);
    let changes = second["diff"]["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{second:#}");
    let change = ["difference", "kind", "id"].map(|field| changes[0][field].clone());
    assert_eq!(change, ["changed", "tool", "vault.list_backups"]);
    assert!(changes[0]["fields"].to_string().contains("description"));
    assert_eq!(
        server.api.get("/v1/packages").expect(200)[0]["version"],
        "1.0.0"
    );
}

/// B000-7: the same version with the same content is a no-op, with other content a conflict.
#[test]
fn b000_7_a_version_stands_for_one_content() {
    let server = Tenants::one();
    server.api.register(&backups());
    let again = server
        .api
        .post("/v1/packages", &backups().bundle())
        .expect(200);
    assert_eq!(
        (&again["unchanged"], &again["embedded"]),
        (&json!(true), &json!(0))
    );
    let history = || {
        server
            .api
            .get("/v1/packages/backups/history")
            .expect(200)
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(history(), 1);
    let other = backups().edit(TOOL_FILE, "Lists the backups", "Names the backups");
    server
        .api
        .post("/v1/packages", &other.bundle())
        .fails(409, "version_conflict");
    assert_eq!(history(), 1);
    server.api.register(&other.version("1.0.0", "1.0.1"));
    let back = server
        .api
        .post("/v1/packages/backups/rollback?version=1.0.0", &Value::Null)
        .expect(200);
    assert_eq!(back["version"], "1.0.0");
    let changes = server.api.get("/v1/packages/backups/history").expect(200);
    assert_eq!(
        ids(&changes, "change"),
        ["registered", "registered", "rolled_back"]
    );
    let tool = server
        .api
        .get("/v1/resolve/tool/vault.list_backups")
        .expect(200);
    assert_eq!(
        tool["document"]["description"],
        "Lists the backups of a vault."
    );
}

/// A package that others need cannot be removed.
#[test]
fn a_package_that_others_need_stays() {
    let server = Tenants::one();
    server.api.register(&backups());
    let leaning = Package::new("tapes", "1.0.0", "tenant").with(
        "skills/tapes.yaml",
        &skill("reliability.tapes", "count the tapes"),
    );
    server.api.register(&leaning);
    let refused = server
        .api
        .call("DELETE", "/v1/packages/backups", &[], Vec::new());
    assert!(
        refused
            .fails(409, "still_referenced")
            .contains("vault.list_backups")
    );
    for package in ["tapes", "backups"] {
        server
            .api
            .call(
                "DELETE",
                &format!("/v1/packages/{package}"),
                &[],
                Vec::new(),
            )
            .expect(204);
    }
    server
        .api
        .get(&format!("/v1/resolve/skill/{SKILL}"))
        .fails(404, "not_found");
    server.api.register(&backups().version("1.0.0", "1.0.1"));
}

/// B000-8
#[test]
fn b000_8_context_types_are_the_union_over_the_skills() {
    let server = Tenants::one();
    let tapes = skill("reliability.tapes", "count the tapes")
        + "context: {supported_context_types: [tape_inventory, backup_inventory]}\n";
    let package = backups().with("skills/tapes.yaml", &tapes).edit(
        AGENT_FILE,
        "skill_refs: [reliability.find_stale_backups]",
        "supported_context_types: [something_authored]\nskill_refs: [reliability.find_stale_backups, reliability.tapes]",
    );
    server.api.register(&package);
    let agent = server
        .api
        .get("/v1/resolve/agent/domain.reliability.recovery")
        .expect(200);
    assert_eq!(
        agent["document"]["supported_context_types"],
        json!(["backup_inventory", "tape_inventory"])
    );
}

/// B000-9
#[test]
fn b000_9_only_a_change_of_embedded_fields_embeds_again() {
    let home = Home::new();
    let server = home.serve();
    let first = server.api.register(&backups());
    assert!(first["embedded"].as_u64().unwrap() > 0, "{first:#}");
    let plan = backups().version("1.0.0", "1.0.1").edit(
        SKILL_FILE,
        "cache_ttl_seconds: 0",
        "cache_ttl_seconds: 60",
    );
    assert_eq!(server.api.register(&plan)["embedded"], 0);
    let words = plan.version("1.0.1", "1.0.2").edit(
        SKILL_FILE,
        "purpose: find backups",
        "purpose: discover backups",
    );
    assert!(server.api.register(&words)["embedded"].as_u64().unwrap() > 0);
    // A restart embeds nothing either: it has no model.
    drop(server);
    let server = home.serve();
    assert_eq!(server.api.routed("stale backups"), [SKILL]);
}

/// B000-10
#[test]
fn b000_10_internal_tools_are_never_shown() {
    let server = Tenants::one();
    let internal = "tool_id: vault.rotate_keys\nname: rotate_keys\nprovider: charter\ntool_class: internal\ndomain: reliability\n\
                    description: Rotates keys.\nlanguage: bash\nimplementation: {type: script, body: \"echo {}\"}\n";
    let package = backups().with("tools/internal.yaml", internal);
    server.api.register(&package);
    assert_eq!(server.api.brought("tool"), ["vault.list_backups"]);
    assert_eq!(
        ids(
            &server
                .api
                .get("/v1/resolve/tools?domain=reliability")
                .expect(200),
            "document.tool_id"
        ),
        ["vault.list_backups"]
    );
    let internal = server.api.get("/v1/resolve/tools?tool_class=internal");
    assert_eq!(internal.expect(200), json!([]));
    server
        .api
        .get("/v1/resolve/tool/vault.rotate_keys")
        .fails(404, "not_found");
    let used = package.version("1.0.0", "1.0.1").edit(
        SKILL_FILE,
        "tool_id: vault.list_backups",
        "tool_id: vault.rotate_keys",
    );
    let found = problems(&used, &server.api);
    assert!(
        ids(&found, "keyword").contains(&"readonly".to_owned()),
        "{found:#}"
    );
}

/// B000-10
#[test]
fn b000_10_contradictory_tools_are_refused() {
    let server = Tenants::one();
    for (from, to) in [
        (
            "language: python",
            "language: python\nrequires_approval: true",
        ),
        ("tool_class: readonly", "tool_class: readwrite"),
        (
            "description: the vault}",
            "description: the vault}\n  - {name: vault, type: string}",
        ),
    ] {
        let found = problems(&backups().edit(TOOL_FILE, from, to), &server.api);
        assert_eq!(found[0]["file"], TOOL_FILE, "{found:#}");
    }
}

/// B000-11
#[test]
fn b000_11_a_skill_uses_readonly_tools_only() {
    let server = Tenants::one();
    let writing = backups().edit(TOOL_FILE, "tool_class: readonly", "tool_class: write");
    let found = problems(&writing, &server.api);
    let tool = found
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["keyword"] == "readonly")
        .unwrap();
    assert_eq!(
        (&tool["file"], &tool["line"]),
        (&json!(SKILL_FILE), &json!(18))
    );
    let step = backups().edit(SKILL_FILE, "type: read", "type: write");
    assert_eq!(problems(&step, &server.api)[0]["keyword"], "readonly");
    // A later version of the tool's own package cannot turn it into a writing one either.
    server.api.register(&backups());
    let next = writing.version("1.0.0", "1.0.1");
    assert!(ids(&problems(&next, &server.api), "keyword").contains(&"readonly".to_owned()));
}
