//! A miss: a candidate is generated, shown, started by a person, and accepted on a run that succeeded.

mod code_agent;

use serde_json::{Value, json};

use crate::home::{Api, Home, Server, eventually, request, request_of};
use crate::packages::{Package, backups, global_backups};
use crate::service::Service;

pub(crate) const READ: &str = "Measure the boiler pressure of the coffee machine";
const CHANGE: &str = "Flush the boiler of the coffee machine";

const KEYS: [(&str, &str, &str, &str); 5] = [
    ("root", "acme", "root", "admin"),
    ("uma", "acme", "uma", "user"),
    ("ann", "acme", "ann", "operator"),
    ("bob", "acme", "bob", "operator"),
    ("eve", "umbra", "eve", "operator"),
];

/// Adds an agent for coffee machines and its tools, which no skill uses. Also adds tools with the same words that are
/// not the agent's: one of another domain, and an internal one.
pub(crate) fn with_kitchen(package: Package, service: &Service) -> Package {
    let address = service.address();
    let tool = |id: &str, class: &str, domain: &str, does: &str, how: &str| {
        let name = id.split_once('.').unwrap().1;
        format!(
            "tool_id: {id}\nname: {name}\nprovider: kitchen\ntool_class: {class}\ndomain: {domain}\n\
             description: {does}\nparameters: [{{name: machine, type: string, required: true, description: which machine}}]\n\
             execution_target: server\n{how}\n"
        )
    };
    let script = "language: bash\nimplementation: {type: script, body: \"echo 9\"}";
    let call = format!(
        "language: http\nimplementation: {{type: http, method: POST, url: \"http://{address}/flush\", body: {{machine: \"${{machine}}\"}}}}\n\
         egress: [\"{address}\"]"
    );
    let agent = "agent_id: domain.reliability.kitchen\nname: kitchen\ndisplay_name: Coffee machines\nagent_type: domain\n\
                 domain: reliability\ncapabilities:\n  - measure the boiler pressure of coffee machines\n  - flush the boiler of a coffee machine\n";
    let measures = "Measures the boiler pressure of a coffee machine.";
    let flushes = "Flushes the boiler of a coffee machine.";
    package
        .with("agents/kitchen.yaml", agent)
        .with(
            "tools/a.yaml",
            &tool(
                "kitchen.measure_pressure",
                "readonly",
                "reliability",
                measures,
                script,
            ),
        )
        .with(
            "tools/b.yaml",
            &tool(
                "kitchen.flush_boiler",
                "write",
                "reliability",
                flushes,
                &call,
            ),
        )
        .with(
            "tools/c.yaml",
            &tool(
                "a.measure_boiler_pressure",
                "readonly",
                "platform",
                READ,
                script,
            ),
        )
        .with(
            "tools/d.yaml",
            &tool("a.flush_boiler", "write", "platform", CHANGE, &call),
        )
        .with(
            "tools/e.yaml",
            &tool("kitchen.a_boiler", "internal", "reliability", READ, script),
        )
}

fn kitchen() -> (Home, Server, Service) {
    let home = Home::with_keys(&KEYS);
    let server = home.serve();
    let service = Service::start();
    let package = with_kitchen(global_backups(), &service);
    server.key("root").register(&package);
    (home, server, service)
}

fn proposed(api: &Api, text: &str) -> Value {
    let answer = api.ask(&request(text)).expect(200);
    assert_eq!(answer["metadata"]["verdict"]["kind"], "miss", "{answer:#}");
    answer["metadata"]["candidate"].clone()
}

fn id_of(candidate: &Value) -> &str {
    candidate["id"].as_str().unwrap()
}

fn promote(api: &Api, candidate: &Value, run: &Value) -> crate::home::Answer {
    let path = format!("/v1/candidates/{}/promote", id_of(candidate));
    api.post(&path, &json!({"run_id": run}))
}

/// Whether a listed document is a candidate; `None` if it is not visible.
fn flagged(api: &Api, kind: &str, id: &str) -> Option<bool> {
    let listed = api.get(&format!("/v1/list/{kind}")).expect(200);
    let mut entries = listed["entries"].as_array().unwrap().iter();
    let entry = entries.find(|entry| entry["id"] == id)?;
    entry["is_candidate"].as_bool()
}

/// B000-4, B000-5: a candidate is made within the agent's boundary, once for equal requests. Only its tenant sees it,
/// and it is not routed to before an operator accepts it.
#[test]
fn b000_5_a_miss_proposes_a_skill_that_runs_only_when_it_is_named() {
    let (_home, server, _service) = kitchen();
    let [uma, ann, eve] = ["uma", "ann", "eve"].map(|key| server.key(key));
    let candidate = proposed(&uma, READ);
    let id = id_of(&candidate);
    assert_eq!(
        (
            &candidate["kind"],
            &candidate["is_candidate"],
            &candidate["grounding_agent"]
        ),
        (
            &json!("skill"),
            &json!(true),
            &json!("domain.reliability.kitchen")
        )
    );
    assert_eq!(
        candidate["steps"],
        json!([{"step": "step_1", "tool": "kitchen.measure_pressure", "writes": false}])
    );
    let disguised = "  measure the BOILER {pressure} of the ${coffee} machine ";
    assert_eq!(proposed(&ann, disguised), candidate);
    assert_eq!(uma.routed(READ), [""; 0]);
    assert_eq!(flagged(&ann, "skill", id), Some(true));
    let path = format!("/v1/resolve/skill/{id}");
    let shown = uma.get(&path).expect(200);
    assert_eq!(shown["document"]["is_candidate"], true);

    eve.get(&path).fails(404, "not_found");
    assert_eq!(flagged(&eve, "skill", id), None);
    eve.ask(&request_of(id, json!({"machine": "m"})))
        .fails(404, "not_found");

    let unknown = json!("run-00000000-0000-7000-8000-000000000000");
    promote(&ann, &candidate, &unknown).fails(404, "not_found");
    let other = ann
        .ask(&request_of("reliability.find_stale_backups", json!({})))
        .expect(200);
    let other = &other["metadata"]["run_ids"][0];
    let refused = promote(&ann, &candidate, other).fails(409, "illegal_transition");
    assert!(
        refused.contains("did not execute this version"),
        "{refused}"
    );

    let answer = uma
        .ask(&request_of(id, json!({"machine": "m"})))
        .expect(200);
    let run = &answer["metadata"]["run_ids"][0];
    promote(&uma, &candidate, run).fails(403, "permission_denied");
    promote(&eve, &candidate, run).fails(404, "not_found");
    promote(&ann, &candidate, run).expect(200);
    promote(&ann, &candidate, run).fails(409, "illegal_transition");
    assert_eq!(flagged(&ann, "skill", id), Some(false));
    assert_eq!(uma.routed(READ)[0], id);
    assert_eq!(eve.routed(READ), [""; 0]);
}

/// B000-18: a candidate playbook is confirmed and each write approved; a dry run proves nothing.
#[test]
fn b000_18_a_candidate_playbook_is_accepted_after_a_run_that_succeeded() {
    let (_home, server, service) = kitchen();
    let [uma, ann, bob] = ["uma", "ann", "bob"].map(|key| server.key(key));
    let candidate = proposed(&uma, CHANGE);
    let id = id_of(&candidate);
    assert_eq!(
        (&candidate["kind"], &candidate["steps"]),
        (
            &json!("playbook"),
            &json!([{"step": "step_1", "tool": "kitchen.flush_boiler", "writes": true}])
        )
    );
    assert_eq!(uma.routed(CHANGE), [""; 0]);
    let start = |dry_run: bool| {
        let wanted = json!({"parameters": {"machine": "m"}, "dry_run": dry_run});
        uma.post(&format!("/v1/playbooks/{id}/runs"), &wanted)
            .expect(201)
    };
    let settled = |run: &Value, status: &str| {
        let path = format!("/v1/runs/{}", run["run_id"].as_str().unwrap());
        eventually(status, || {
            let shown = ann.get(&path).expect(200);
            (shown["status"] == status).then_some(shown)
        })
    };
    let dry = start(true);
    settled(&dry, "completed");
    let refused = promote(&ann, &candidate, &dry["run_id"]).fails(409, "illegal_transition");
    assert!(refused.contains("dry run"), "{refused}");

    let run = start(false);
    assert_eq!(run["confirm"], false, "its approval is its one decision");
    let waiting = settled(&run, "awaiting_approval");
    assert!(!service.was_called());
    let refused = promote(&ann, &candidate, &run["run_id"]).fails(409, "illegal_transition");
    assert!(refused.contains("has not succeeded"), "{refused}");
    let approval = &waiting["approvals"][0];
    let path = format!(
        "/v1/approvals/{}/approve",
        approval["approval_id"].as_str().unwrap()
    );
    bob.post(&path, &json!({"digest": approval["digest"]}))
        .expect(200);
    service.next().answer_with("{}");
    settled(&run, "completed");
    promote(&ann, &candidate, &run["run_id"]).expect(200);
    assert_eq!(flagged(&ann, "playbook", id), Some(false));
    let answer = uma.ask(&request(CHANGE)).expect(200);
    assert_eq!(
        (
            &answer["metadata"]["flow"],
            &answer["metadata"]["missing_parameters"]
        ),
        (&json!("write"), &json!(["machine"]))
    );
}

/// A request that no available tool can fulfil gets the reasons and near alternatives.
#[test]
fn b000_5_without_a_candidate_the_answer_says_why_and_what_is_near() {
    let (_home, server, _service) = kitchen();
    let asked = request("restore our database after the disaster");
    let answer = server.key("uma").ask(&asked);
    let details = answer.body["technical_details"].clone();
    let message = answer.fails(404, "no_match");
    assert!(message.contains("no tool within its boundary"), "{message}");
    assert_eq!(
        details["approaches"][0],
        json!({"kind": "skill", "id": "reliability.find_stale_backups", "name": "Find stale backups"})
    );
    let listed = server.key("uma").get("/v1/packages").expect(200);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed:#}");
}

/// A candidate belongs to one tenant, and does not prevent the removal of its dependencies.
#[test]
fn b000_4_a_candidate_belongs_to_one_tenant_and_blocks_no_other() {
    let (_home, server, _service) = kitchen();
    let root = server.key("root");
    let playbook = "playbook_id: reliability.x\nname: X\ndomain: reliability\nis_candidate: true\ntrigger_conditions: [x]\n\
                    steps: [{step_id: s, type: readonly, tool_id: vault.list_backups, parameters: {vault: main}}]\n\
                    safety: {safety_class: automated}\n";
    let package = Package::new("hasty", "1.0.0", "global").with("playbooks/x.yaml", playbook);
    let refused = root.post("/v1/packages", &package.bundle());
    let said = refused.body["technical_details"].to_string();
    refused.fails(400, "invalid_document");
    assert!(
        said.contains("a global package cannot contain one"),
        "{said}"
    );
    assert!(said.contains("cannot be approved in advance"), "{said}");
    let candidate = proposed(&server.key("uma"), READ);
    let gone = root.call(
        "DELETE",
        "/v1/packages/backups?scope=global",
        &[],
        Vec::new(),
    );
    assert!(gone.status < 300, "{:#}", gone.body);
    let missing = request_of(id_of(&candidate), json!({"machine": "m"}));
    server.key("uma").ask(&missing).fails(404, "not_found");
}

/// Uses only commands.
#[test]
fn a_candidate_is_shown_run_and_accepted_by_commands() {
    let home = Home::new();
    let service = Service::start();
    let folder = with_kitchen(backups(), &service).write(&home.path("package"));
    home.run(&["--output", "json", "package", "register", &folder])
        .json(0);
    let said = home.run(&["ask", READ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.out.contains("charter candidate promote"),
        "{}",
        said.out
    );
    let answer = home.run(&["--output", "json", "ask", READ]).json(0);
    let id = id_of(&answer["metadata"]["candidate"]).to_owned();
    let ran = home
        .run(&[
            "--output",
            "json",
            "ask",
            "measure it",
            "--skill",
            &id,
            "-p",
            "machine=m",
        ])
        .json(0);
    let run = ran["metadata"]["run_ids"][0].as_str().unwrap();
    let promoted = home
        .run(&[
            "--output",
            "json",
            "candidate",
            "promote",
            &id,
            "--run",
            run,
        ])
        .json(0);
    assert_eq!(promoted["version"], "0.2.0");
}
