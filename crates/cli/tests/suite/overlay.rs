//! B000-1: the tenant's layer over the global one, and nothing of other tenants.

use serde_json::{Value, json};

use crate::home::{Api, Home, Server, request, request_of};
use crate::packages::{
    Package, QUESTION, SKILL, SKILL_FILE, TOOL_FILE, backups, global_backups, guardrail, skill,
    template,
};
use crate::shared::Tenants;

const KEYS: [(&str, &str, &str, &str); 3] = [
    ("root-key", "root", "root", "admin"),
    ("acme-key", "acme", "ann", "operator"),
    ("umbra-key", "umbra", "uma", "operator"),
];

fn serve() -> (Home, Server) {
    let home = Home::with_keys(&KEYS);
    let server = home.serve();
    (home, server)
}

fn display_name(api: &Api) -> Value {
    let resolved = api.get(&format!("/v1/resolve/skill/{SKILL}")).expect(200);
    resolved["document"]["display_name"].clone()
}

/// B000-1
#[test]
fn b000_1_a_tenants_document_shadows_the_global_one() {
    let (_home, server) = serve();
    let [root, acme, umbra] = KEYS.map(|(key, ..)| server.key(key));
    root.register(&global_backups());
    let own = backups()
        .edit(
            SKILL_FILE,
            "display_name: Find stale backups",
            "display_name: Acme's own",
        )
        .edit(
            SKILL_FILE,
            "{{ count }} stale",
            "Acme counts {{ count }} stale",
        );
    acme.register(&own);
    assert_eq!(display_name(&acme), "Acme's own");
    assert_eq!(display_name(&umbra), "Find stale backups");
    let candidate = |api: &Api| {
        let verdict = api.get("/v1/route?query=stale+backups").expect(200);
        verdict["candidates"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| json!([c["id"], c["scope"]]))
            .collect::<Vec<_>>()
    };
    assert_eq!(candidate(&acme), [json!([SKILL, "tenant"])]);
    assert_eq!(candidate(&umbra), [json!([SKILL, "global"])]);
    let content = |api: &Api| {
        api.ask(&request(QUESTION)).expect(200)["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(content(&acme).starts_with("Acme counts 1 stale"));
    assert!(content(&umbra).starts_with("1 stale"));
}

/// B000-1: an inactive document of the tenant shadows too, so the tenant can switch a skill off.
#[test]
fn b000_1_an_inactive_document_of_the_tenant_hides_the_global_one() {
    let (_home, server) = serve();
    let [root, acme, umbra] = KEYS.map(|(key, ..)| server.key(key));
    root.register(&global_backups());
    let off = skill(SKILL, "find stale backups") + "status: inactive\n";
    acme.register(&Package::new("switched-off", "1.0.0", "tenant").with("skills/off.yaml", &off));
    assert_eq!(umbra.routed("stale backups"), [SKILL]);
    assert_eq!(acme.routed("stale backups"), [""; 0]);
    acme.ask(&request_of(SKILL, json!({})))
        .fails(404, "not_found");
}

/// B000-1
#[test]
fn b000_1_another_tenants_documents_never_appear() {
    let server = Tenants::with_keys(&KEYS);
    let [_, acme, umbra] = KEYS.map(|(key, ..)| server.key(key));
    let rail = guardrail("acme.rail", "skill", "*", "soft_warn", "when: \"true\"");
    let package = backups()
        .with("guardrails/rail.yaml", &rail)
        .with("templates/default.yaml", &template("acme.default", ""));
    acme.register(&package);
    let own = ["skill", "tool", "agent", "template", "guardrail"];
    for kind in own {
        assert!(!acme.brought(kind).is_empty(), "{kind}");
        assert_eq!(umbra.brought(kind), [""; 0], "{kind}");
    }
    let agent = "domain.reliability.recovery";
    for path in [
        format!("/v1/resolve/skill/{SKILL}"),
        format!("/v1/resolve/agent/{agent}"),
        "/v1/resolve/tool/vault.list_backups".to_owned(),
        "/v1/packages/backups/history".to_owned(),
    ] {
        acme.get(&path).expect(200);
        umbra.get(&path).fails(404, "not_found");
    }
    let guardrails = format!("/v1/resolve/guardrails?skill_id={SKILL}");
    let of_template = format!("/v1/resolve/template?output_type=finding&skill_id={SKILL}");
    umbra.get(&guardrails).fails(404, "not_found");
    umbra.get(&of_template).fails(404, "not_found");
    let empty = json!([]);
    assert_ne!(acme.get(&guardrails).expect(200), empty);
    for path in [
        "/v1/resolve/tools?domain=reliability".to_owned(),
        "/v1/packages".to_owned(),
    ] {
        assert_ne!(acme.get(&path).expect(200), empty, "{path}");
        assert_eq!(umbra.get(&path).expect(200), empty, "{path}");
    }
    assert_eq!(acme.routed("stale backups"), [SKILL]);
    assert_eq!(umbra.routed("stale backups"), [""; 0]);
    let agents = umbra
        .get("/v1/route?purpose=agents&query=restore+databases")
        .expect(200);
    assert_eq!(agents["candidates"], empty);
    umbra
        .ask(&request_of(SKILL, json!({})))
        .fails(404, "not_found");
    let miss = umbra
        .ask(&request("restore the database after a disaster"))
        .fails(404, "no_match");
    assert!(!miss.contains("recovery"), "{miss}");
}

/// B000-1: one id may mean different things in two tenants.
#[test]
fn b000_1_two_tenants_may_use_the_same_ids() {
    let server = Tenants::with_keys(&KEYS);
    let [_, acme, umbra] = KEYS.map(|(key, ..)| server.key(key));
    acme.register(&backups());
    umbra.register(&backups().edit(TOOL_FILE, "description: Lists", "description: Umbra lists"));
    let description = |api: &Api| {
        api.get("/v1/resolve/tool/vault.list_backups").expect(200)["document"]["description"]
            .clone()
    };
    assert_eq!(description(&acme), "Lists the backups of a vault.");
    assert_eq!(description(&umbra), "Umbra lists the backups of a vault.");
}

/// B000-1: requests and their results are separate too.
#[test]
fn b000_1_requests_runs_evidence_sessions_and_tags_stay_with_their_tenant() {
    let (_home, server) = serve();
    let [root, acme, umbra] = KEYS.map(|(key, ..)| server.key(key));
    root.register(&global_backups());
    let session = acme.post("/v1/sessions", &json!({})).expect(201);
    let mut asked = request_of(SKILL, json!({"vault": "acme"}));
    asked["session_id"] = session["session_id"].clone();
    let answer = acme.ask(&asked).expect(200);
    let id = asked["id"].as_str().unwrap();
    let run = answer["metadata"]["run_ids"][0].as_str().unwrap();
    let finding = answer["metadata"]["findings"][0]["finding_id"]
        .as_str()
        .unwrap();
    let tags = format!("req_{}", id.trim_start_matches("req-").replace('-', ""));
    for (path, code) in [
        (format!("/v1/requests/{id}"), "not_found"),
        (format!("/v1/runs/{run}"), "not_found"),
        (
            format!(
                "/v1/evidence/{}",
                answer["metadata"]["evidence_ids"][0].as_str().unwrap()
            ),
            "not_found",
        ),
        (
            format!("/v1/sessions/{}", session["session_id"].as_str().unwrap()),
            "session_not_found",
        ),
        (format!("/v1/tags/{tags}"), "not_found"),
    ] {
        acme.get(&path).expect(200);
        umbra.get(&path).fails(404, code);
    }
    for path in [
        "/v1/runs".to_owned(),
        "/v1/evidence".to_owned(),
        format!("/v1/evidence?finding_id={finding}"),
        format!("/v1/evidence?run_id={run}"),
    ] {
        assert_ne!(acme.get(&path).expect(200)["entries"], json!([]), "{path}");
        assert_eq!(umbra.get(&path).expect(200)["entries"], json!([]), "{path}");
    }
}

/// A change of a global document is announced to every tenant; a change of a tenant's own layer only to that tenant.
#[test]
fn catalogue_events_reach_the_tenants_they_concern() {
    let (_home, server) = serve();
    let [root, acme, umbra] = KEYS.map(|(key, ..)| server.key(key));
    root.register(&global_backups());
    acme.register(&backups());
    let told = |api: &Api| {
        let page = api.get("/v1/events?topic=catalogue.changed").expect(200);
        let entries = page["entries"].as_array().unwrap().iter();
        let scopes = entries.map(|event| event["data"]["scope"].clone());
        Value::from_iter(scopes)
    };
    assert_eq!(told(&acme), json!(["global", "tenant"]));
    assert_eq!(told(&umbra), json!(["global"]));
}

/// B000-1: a caller that learns another tenant's request id gets nothing of its answer by using the id too.
#[test]
fn b000_1_a_request_id_of_another_tenant_leads_nowhere() {
    let (_home, server) = serve();
    let [root, acme, umbra] = KEYS.map(|(key, ..)| server.key(key));
    root.register(&global_backups());
    let asked = request_of(SKILL, json!({"vault": "acme"}));
    let first = acme.ask(&asked).expect(200);
    let mut same_id = asked;
    same_id["metadata"]["parameters"]["vault"] = json!("umbra");
    let second = umbra.ask(&same_id).expect(200);
    let captured = |api: &Api, answer: &Value| {
        let id = answer["metadata"]["evidence_ids"][0].as_str().unwrap();
        api.get(&format!("/v1/evidence/{id}")).expect(200)["payload"]["output"]["vault"].clone()
    };
    assert_eq!(captured(&acme, &first), "acme");
    assert_eq!(captured(&umbra, &second), "umbra");
    assert_ne!(first["metadata"]["run_ids"], second["metadata"]["run_ids"]);
}

/// The tenant and the rights come only from the key.
#[test]
fn a_key_is_needed_and_its_role_counts() {
    let (_home, server) = serve();
    server.api.get("/v1/packages").fails(401, "unauthenticated");
    server
        .key("guessed")
        .get("/v1/packages")
        .fails(401, "unauthenticated");
    server
        .key("acme-key")
        .post("/v1/packages", &global_backups().bundle())
        .fails(403, "permission_denied");
    let alien = backups().edit(
        SKILL_FILE,
        "domain: reliability",
        "domain: reliability\ntenant_id: umbra",
    );
    let refused = server.key("acme-key").post("/v1/packages", &alien.bundle());
    assert!(
        refused
            .clone()
            .fails(400, "invalid_document")
            .contains("1 error"),
        "{:#}",
        refused.body
    );
    assert_eq!(
        refused.body["technical_details"]["problems"][0]["keyword"],
        "tenant"
    );
}
