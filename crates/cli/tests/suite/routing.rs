//! Routing: the candidates, their order, and misses.

use serde_json::{Value, json};

use crate::home::{ids, request};
use crate::packages::{Package, QUESTION, SKILL, backups, skill};
use crate::playbooks::{PLAYBOOK, shared};
use crate::shared::Tenants;

/// B000-2
#[test]
fn b000_2_an_empty_query_or_no_candidates_is_refused() {
    let server = Tenants::one();
    for path in [
        "/v1/route?query=",
        "/v1/route?query=+++",
        "/v1/route?query=backups&top_k=0",
        "/v1/route?query=backups&top_k=-1",
        "/v1/route",
    ] {
        server.api.get(path).fails(400, "invalid_request");
    }
}

/// B000-2: ids, short fields and scores, and never a whole document.
#[test]
fn b000_2_inactive_is_left_out_and_nothing_but_ids_and_scores_is_shown() {
    let server = Tenants::one();
    let off = skill("reliability.check_tapes", "find stale tape backups") + "status: inactive\n";
    server
        .api
        .register(&backups().with("skills/off.yaml", &off));
    let verdict = server
        .api
        .get("/v1/route?query=stale+tape+backups")
        .expect(200);
    assert_eq!(ids(&verdict["candidates"], "id"), [SKILL]);
    let candidate = verdict["candidates"][0].as_object().unwrap();
    let mut fields: Vec<&str> = candidate.keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            "cosine", "coverage", "fused", "id", "kind", "lexical", "scope", "score"
        ]
    );
    // It is registered nevertheless.
    let listed = server.api.get("/v1/list/skill").expect(200);
    assert_eq!(ids(&listed["entries"], "id").len(), 2);
}

/// B000-2
#[test]
fn b000_2_equal_scores_are_in_the_order_of_their_ids() {
    let server = Tenants::one();
    let mut package = backups();
    for name in ["zeta", "alpha", "mid"] {
        let text = skill(&format!("reliability.{name}"), "count the tape drives")
            .replace(&format!("display_name: {name}"), "display_name: tapes")
            .replace(&format!("name: {name}\n"), "name: tapes\n");
        package = package.with(&format!("skills/{name}.yaml"), &text);
    }
    server.api.register(&package);
    let verdict = server
        .api
        .get("/v1/route?query=count+the+tape+drives")
        .expect(200);
    let three: Vec<&Value> = verdict["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .take(3)
        .collect();
    assert_eq!(three[0]["score"], three[2]["score"]);
    let found: Vec<&str> = three.iter().map(|c| c["id"].as_str().unwrap()).collect();
    assert_eq!(
        found,
        ["reliability.alpha", "reliability.mid", "reliability.zeta"]
    );
    assert_eq!(verdict["kind"], "broad");
}

/// B000-3: the verdict contains its reasons, and is recorded with the request.
#[test]
fn b000_3_the_verdict_is_recorded_with_its_grounds() {
    let server = Tenants::one();
    server.api.register(&backups());
    let asked = request(QUESTION);
    let answer = server.api.ask(&asked).expect(200);
    let shown = server
        .api
        .get(&format!("/v1/requests/{}", asked["id"].as_str().unwrap()))
        .expect(200);
    let mut routed = server
        .api
        .get(&format!(
            "/v1/route?query={}",
            QUESTION.replace(' ', "+").replace('?', "%3F")
        ))
        .expect(200);
    assert_eq!(shown["verdict"]["verdict"], answer["metadata"]["verdict"]);
    assert_eq!(routed["kind"].take(), "narrow");
    assert!(routed["thresholds"]["floor"].as_f64().unwrap() > 0.0);
    assert!(routed["model"].as_str().unwrap().contains("MiniLM"));
    assert!(routed["reason"].as_str().unwrap().contains(SKILL));
}

/// B000-3: an operator can try other thresholds, and nothing of the trial is stored.
#[test]
fn b000_3_other_thresholds_are_tried_and_not_kept() {
    let server = Tenants::one();
    let tapes = skill("reliability.check_tapes", "count the tape drives");
    server
        .api
        .register(&backups().with("skills/tapes.yaml", &tapes));
    let path = "/v1/route?query=which+backups+have+grown+stale";
    let route = |tried: &str| server.api.get(&format!("{path}{tried}")).expect(200);
    let as_it_is = route("");
    let in_force = &as_it_is["in_force"];
    assert_eq!(&as_it_is["thresholds"], in_force);
    let all = |verdict: &Value| {
        let mut all = ids(&verdict["candidates"], "id");
        all.extend(ids(&verdict["dropped"], "id"));
        all
    };
    let found = [SKILL, "reliability.check_tapes"];
    assert_eq!(all(&as_it_is), found);
    let none = route("&floor=1");
    assert_eq!(none["kind"], "miss");
    assert_eq!(ids(&none["dropped"], "id"), found);
    assert_eq!(none["thresholds"]["floor"], 1.0);
    assert_eq!(none["thresholds"]["narrow"], in_force["narrow"]);
    assert_eq!(&none["in_force"], in_force);
    let broad = route("&floor=0&narrow=1&margin=0");
    assert_eq!(
        (&broad["kind"], &broad["dropped"]),
        (&json!("broad"), &json!([]))
    );
    let narrow = route("&floor=0&narrow=0&margin=0");
    assert_eq!(narrow["kind"], "narrow");
    for tried in ["floor=1.1", "narrow=-0.1", "margin=NaN", "floor=high"] {
        let refused = server.api.get(&format!("{path}&{tried}"));
        refused.fails(400, "invalid_request");
    }
    assert_eq!(route("")["kind"], as_it_is["kind"]);
}

/// B000-5: only on a miss, the near agents are named.
#[test]
fn b000_5_a_miss_searches_the_agents() {
    let server = Tenants::one();
    let off = "agent_id: domain.reliability.old\nname: old\ndisplay_name: Old\nagent_type: domain\ndomain: reliability\n\
               capabilities: [restore databases and files after a disaster]\nstatus: inactive\n";
    server.api.register(&backups().with("agents/old.yaml", off));
    let asked = request("restore our database after the disaster");
    let refused = server.api.ask(&asked).fails(404, "no_match");
    assert!(
        refused.contains("`domain.reliability.recovery`"),
        "{refused}"
    );
    assert!(!refused.contains("domain.reliability.old"), "{refused}");
    let shown = server
        .api
        .get(&format!("/v1/requests/{}", asked["id"].as_str().unwrap()))
        .expect(200);
    assert_eq!(shown["verdict"]["flow"], "code_gen_write");
    assert_eq!(
        shown["verdict"]["agents"],
        json!(["domain.reliability.recovery"])
    );
    let hit = request(QUESTION);
    server.api.ask(&hit).expect(200);
    let shown = server
        .api
        .get(&format!("/v1/requests/{}", hit["id"].as_str().unwrap()))
        .expect(200);
    assert_eq!(shown["verdict"]["agents"], json!([]));
}

/// B000-6
#[test]
fn b000_6_an_unknown_id_is_404() {
    let server = Tenants::one();
    server.api.register(&backups());
    for kind in ["skill", "tool", "agent", "playbook"] {
        server
            .api
            .get(&format!("/v1/resolve/{kind}/reliability.find_stale_backup"))
            .fails(404, "not_found");
    }
    for path in [
        "/v1/runs/run-01930000-0000-7000-8000-000000000001",
        "/v1/requests/req-01930000-0000-7000-8000-000000000001",
        "/v1/evidence/ev_nothing",
        "/v1/list/widget",
        "/v1/nowhere",
    ] {
        server.api.get(path).fails(404, "not_found");
    }
    server
        .api
        .get("/v1/list/intent")
        .fails(410, "deprecated_collection");
}

/// A package's failing routing tests prevent its registration.
#[test]
fn routing_tests_gate_a_registration() {
    let server = Tenants::one();
    let tests = "- query: which backups are stale\n  expect: reliability.find_stale_backups\n\
                 - query: which backups have become old\n  expect_miss: true\n";
    let package = backups().with("tests/routing.yaml", tests);
    let refused = server.api.post("/v1/packages", &package.bundle());
    refused.clone().fails(400, "routing_test_failed");
    let problems = &refused.body["technical_details"]["problems"];
    assert_eq!(ids(problems, "keyword"), ["routing_test"]);
    assert_eq!(
        (&problems[0]["file"], &problems[0]["line"]),
        (&json!("tests/routing.yaml"), &json!(3))
    );
    assert_eq!(server.api.get("/v1/packages").expect(200), json!([]));
    server.api.register(&package.edit(
        "tests/routing.yaml",
        "which backups have become old",
        "book a table for two",
    ));
    let other = Package::new("other", "1.0.0", "tenant").with(
        "tests/t.yaml",
        "- {query: stale backups, expect: reliability.find_stale_backups}\n",
    );
    server.api.register(&other);
}

/// An import makes tests from the words of others: a failing one is left out with a warning.
#[test]
fn a_failing_advisory_test_is_a_warning() {
    let server = Tenants::one();
    let tests = "- {query: which backups have become old, expect_miss: true, advisory: true}\n";
    let package = backups().with("tests/routing.yaml", tests);
    let registered = server.api.register(&package);
    let mut problems = registered["problems"].as_array().unwrap().iter();
    let problem = problems.find(|problem| problem["keyword"] == "routing_test");
    let problem = problem.unwrap();
    assert_eq!(problem["severity"], "warning");
    let message = problem["message"].as_str().unwrap();
    assert!(
        message.starts_with("the test is left out: expected no match"),
        "{message}"
    );
    assert_eq!(registered["tests"][0]["passed"], false);
}

/// A verdict lists corrections, set-aside pieces and clauses of its query.
#[test]
fn b000_3_a_verdict_tells_how_its_query_was_compared() {
    let server = Tenants::one();
    let tapes = skill("reliability.count_tapes", "count the tape drives");
    server
        .api
        .register(&backups().with("skills/tapes.yaml", &tapes));
    let routed = |text: &str| {
        let query = text
            .replace('?', "%3F")
            .replace('\n', "%0A")
            .replace(' ', "+");
        let path = format!("/v1/route?query={query}");
        server.api.get(&path).expect(200)
    };
    let log = "2026-05-04T10:00:03Z ERROR relay timed out";
    let pasted = routed(&format!("{log}\nwhich backups are stale?"));
    assert_eq!(pasted["candidates"][0]["id"], SKILL);
    assert_eq!(pasted["set_aside"], json!([log]));
    let mistyped = routed("which bakcups are stale?");
    assert_eq!(mistyped["candidates"][0]["id"], SKILL);
    assert_eq!(
        mistyped["corrections"],
        json!([{"typed": "bakcups", "corrected": "backups"}])
    );
    let two = routed("find stale backups and then count the tape drives");
    let clauses = two["clauses"].as_array().unwrap();
    let best: Vec<[&Value; 2]> = clauses
        .iter()
        .map(|clause| [&clause["text"], &clause["candidates"][0]["id"]])
        .collect();
    assert_eq!(
        json!(best),
        json!([
            ["find stale backups", SKILL],
            ["count the tape drives", "reliability.count_tapes"]
        ])
    );
    let answer = server.api.ask(&request(
        "find stale backups and then count the tape drives",
    ));
    let ran = answer.expect(200)["metadata"]["run_ids"].clone();
    assert_eq!(ran.as_array().unwrap().len(), 2, "{ran}");
    let plain = routed("which backups are stale?");
    for field in ["set_aside", "corrections", "clauses"] {
        assert_eq!(plain.get(field), None, "{plain:#}");
    }
}

/// The id of a skill in a sentence selects that skill; the id of a playbook shows the playbook and starts no run.
#[test]
fn b000_3_what_a_request_names_comes_first() {
    let (server, service) = shared();
    let uma = server.key("uma");
    let verdict = uma
        .get(&format!("/v1/route?query={}", SKILL.to_uppercase()))
        .expect(200);
    assert_eq!(verdict["candidates"][0]["id"], SKILL);
    assert_eq!(verdict["candidates"][0]["name_match"], "exact");
    assert_eq!(verdict["kind"], "narrow");
    let answer = uma.ask(&request(PLAYBOOK)).expect(200);
    assert_eq!(answer["metadata"]["offers"][0]["playbook_id"], PLAYBOOK);
    assert_eq!(answer["metadata"]["run_ids"], Value::Null);
    assert!(!service.was_called());
}

/// A name is found in quotation marks, with hyphens for other separators, and by the last part of an id. A text that is
/// only a playbook's name shows it, even if the name reads like an instruction.
#[test]
fn b000_3_names_are_found_however_they_are_written_and_a_playbook_is_shown() {
    let (server, service) = shared();
    let uma = server.key("uma");
    for text in [
        format!("\"{SKILL}\""),
        format!("`{SKILL}`"),
        "please run find-stale-backups now".to_owned(),
    ] {
        let answer = uma.ask(&request(&text)).expect(200);
        let best = &answer["metadata"]["verdict"]["candidates"][0];
        assert_eq!(
            (&best["id"], &best["name_match"]),
            (&json!(SKILL), &json!("exact")),
            "{text}"
        );
    }
    for text in [
        "purge_vault",
        "purge-vault",
        "Purge a vault",
        "\"Purge a vault\"",
    ] {
        let answer = uma.ask(&request(text)).expect(200);
        let metadata = &answer["metadata"];
        assert_eq!(metadata["offers"][0]["playbook_id"], PLAYBOOK, "{text}");
        assert_eq!(metadata["run_ids"], Value::Null, "{text}");
    }
    assert!(!service.was_called());
}

/// A tool or an agent that a request names is described, with the documents that use it.
#[test]
fn b000_3_a_document_of_any_kind_is_described_by_its_name() {
    let (server, service) = shared();
    let uma = server.key("uma");
    for (text, kind, id, used) in [
        ("vault.list_backups", "tool", "vault.list_backups", SKILL),
        (
            "what does `vault.purge` do?",
            "tool",
            "vault.purge",
            PLAYBOOK,
        ),
        (
            "Domain-Reliability-Recovery",
            "agent",
            "domain.reliability.recovery",
            SKILL,
        ),
    ] {
        let answer = uma.ask(&request(text)).expect(200);
        let metadata = &answer["metadata"];
        let shown = &metadata["documents"][0];
        assert_eq!(
            (&shown["kind"], &shown["id"]),
            (&json!(kind), &json!(id)),
            "{answer:#}"
        );
        assert_eq!(metadata["flow"], "knowledge");
        let content = answer["content"].as_str().unwrap();
        assert!(content.contains(used), "{content}");
    }
    assert!(!service.was_called());
}
