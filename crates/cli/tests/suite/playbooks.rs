//! Playbooks from a request to a change: requested, confirmed, approved, executed once.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::a2a::client::Client;
use crate::home::{Answer, Api, Home, Server, eventually, request};
use crate::mcp::tasks;
use crate::packages::{Package, SKILL_FILE, backups};
use crate::service::Service;
use crate::shared::Tenants;

pub(crate) const PLAYBOOK: &str = "reliability.purge_vault";
pub(crate) const PLAYBOOK_FILE: &str = "playbooks/purge.yaml";

pub(crate) const KEYS: [(&str, &str, &str, &str); 4] = [
    ("uma", "acme", "uma", "user"),
    ("ann", "acme", "ann", "operator"),
    ("bob", "acme", "bob", "operator"),
    ("eve", "umbra", "eve", "operator"),
];

/// A tool that writes by calling the service.
pub(crate) fn purge_tool(service: &Service) -> String {
    let address = service.address();
    format!(
        "tool_id: vault.purge\nname: purge\nprovider: aws\ntool_class: write\ndomain: reliability\n\
         description: Purges a vault.\nlanguage: http\nexecution_target: server\n\
         parameters: [{{name: vault, type: string, required: true, description: the vault}}]\n\
         implementation: {{type: http, method: POST, url: \"http://{address}/purge\", body: {{vault: \"${{vault}}\"}}}}\n\
         egress: [\"{address}\"]\n"
    )
}

/// The backups package with a supervised playbook whose one write calls the service.
pub(crate) fn purge(service: &Service) -> Package {
    purge_of_class(service, "supervised")
}

/// The same package with a playbook of another safety class.
pub(crate) fn purge_of_class(service: &Service, class: &str) -> Package {
    let playbook = format!(
        "playbook_id: {PLAYBOOK}\nname: Purge a vault\ndomain: reliability\n\
         trigger_conditions: [purge the vault for good]\nexamples: [purge the vault for good]\ntarget_language: python\n\
         mandatory_parameters: [{{name: vault, type: string, description: the vault}}]\n\
         steps:\n  - {{step_id: s1, name: Purge, type: write, tool_id: vault.purge, on_failure: stop, parameters: {{vault: \"${{user.vault}}\"}}}}\n\
         safety: {{safety_class: {class}}}\n"
    );
    backups()
        .with("tools/purge.yaml", &purge_tool(service))
        .with("playbooks/purge.yaml", &playbook)
}

/// The same package with stale backups as a trigger of its playbook, which takes the vault from the findings.
pub(crate) fn triggered_by_findings(package: Package) -> Package {
    package
        .edit(
            SKILL_FILE,
            "      from: step_1\n",
            "      from: step_1\n      triggers: [backups_are_stale]\n",
        )
        .edit(
            PLAYBOOK_FILE,
            "trigger_conditions: [purge the vault for good]\n",
            "trigger_conditions: [purge the vault for good, backups_are_stale]\n\
             parameters_from_findings: '{vault: .[0].resource_id}'\n",
        )
}

/// A run of the playbook on a vault of its own that Ann started, waiting for an approval, its one decision.
pub(crate) fn waiting(server: &Server) -> Value {
    waiting_run_of(&server.key("ann"))
}

/// A run of the playbook on a vault of its own that this caller started, waiting for an approval, its one decision.
pub(crate) fn waiting_run_of(ann: &Api) -> Value {
    static VAULTS: AtomicUsize = AtomicUsize::new(1);
    let vault = VAULTS.fetch_add(1, Ordering::Relaxed);
    waiting_run_on(ann, &format!("vault-{vault}"))
}

/// Such a run on this vault. Runs on the same vault wait for one another.
pub(crate) fn waiting_run_on(ann: &Api, vault: &str) -> Value {
    let run = start_on(ann, vault);
    assert_eq!(run["confirm"], false);
    settled(ann, &run, "awaiting_approval")
}

/// Starts a run of the playbook on a vault.
pub(crate) fn start_on(ann: &Api, vault: &str) -> Value {
    let path = format!("/v1/playbooks/{PLAYBOOK}/runs");
    let started = ann.post(&path, &json!({"parameters": {"vault": vault}}));
    started.expect(201)
}

pub(crate) fn confirm(api: &Api, run: &Value) -> Answer {
    let typed = run["typed"].as_str().map(|name| &run["parameters"][name]);
    let confirmation = json!({"digest": run["plan_digest"], "typed": typed});
    api.post(&path_of(run, "/confirm"), &confirmation)
}

pub(crate) fn path_of(run: &Value, what: &str) -> String {
    format!("/v1/runs/{}{what}", run["run_id"].as_str().unwrap())
}

pub(crate) fn settled(api: &Api, run: &Value, status: &str) -> Value {
    eventually(status, || {
        let shown = api.get(&path_of(run, "")).expect(200);
        (shown["status"] == status).then_some(shown)
    })
}

pub(crate) fn decide(api: &Api, approval: &Value, word: &str) -> Answer {
    let path = format!(
        "/v1/approvals/{}/{word}",
        approval["approval_id"].as_str().unwrap()
    );
    api.post(
        &path,
        &json!({"digest": approval["digest"], "reason": "seen"}),
    )
}

/// The tenants of [`KEYS`] on the shared server, where requesters may approve their own runs.
pub(crate) fn shared() -> (Tenants, Service) {
    let server = Tenants::with_keys(&KEYS);
    let service = Service::start();
    server.key("ann").register(&purge(&service));
    (server, service)
}

/// The tenants of [`KEYS`] on a separate server, where another person must approve.
pub(crate) fn keyed() -> (Home, Server, Service) {
    let home = Home::with_keys(&KEYS);
    let server = home.serve();
    let service = Service::start();
    server.key("ann").register(&purge(&service));
    (home, server, service)
}

/// Parameters are requested, the plan is shown and confirmed, and nothing is called before that.
#[test]
fn b000_18_a_request_to_change_asks_and_waits() {
    let (server, service) = shared();
    let uma = server.key("uma");
    let answer = uma.ask(&request("purge the vault for good")).expect(200);
    let metadata = &answer["metadata"];
    assert_eq!(
        (&metadata["flow"], &metadata["status"]),
        (&json!("write"), &json!("awaiting_parameters")),
        "{answer:#}"
    );
    assert_eq!(metadata["missing_parameters"], json!(["vault"]));
    let run = json!({"run_id": metadata["run_ids"][0], "plan_digest": metadata["plan_digest"]});
    confirm(&uma, &run).fails(409, "illegal_transition");
    let wrong = json!({"parameters": {"vault": 7}});
    uma.post(&path_of(&run, "/parameters"), &wrong)
        .fails(400, "invalid_parameters");
    let given = json!({"parameters": {"vault": "main"}});
    let shown = uma.post(&path_of(&run, "/parameters"), &given).expect(200);
    assert_eq!(shown["status"], "awaiting_confirmation");
    confirm(&uma, &run).fails(409, "illegal_transition");
    confirm(&uma, &shown).expect(200);
    let shown = settled(&uma, &shown, "awaiting_approval");
    let call = &shown["approvals"][0]["call"];
    assert_eq!(
        (&call["tool"], &call["parameters"]),
        (&json!("vault.purge"), &json!({"vault": "main"}))
    );
    assert!(!service.was_called());
}

/// Ruling 28: bound to the digest, decided once, never by a requester, never by another tenant.
#[test]
fn ruling_28_an_approval_lets_exactly_one_call_through() {
    let (_home, server, service) = keyed();
    let run = waiting(&server);
    let approval = &run["approvals"][0];
    let [uma, ann, bob, eve] = ["uma", "ann", "bob", "eve"].map(|key| server.key(key));
    decide(&uma, approval, "approve").fails(403, "permission_denied");
    decide(&ann, approval, "approve").fails(403, "permission_denied");
    decide(&eve, approval, "approve").fails(404, "not_found");
    let mut other = approval.clone();
    other["digest"] = json!("sha256:other");
    decide(&bob, &other, "approve").fails(409, "version_conflict");
    decide(&bob, approval, "approve").expect(200);
    let call = service.next();
    let key = format!("{}/s1", run["run_id"].as_str().unwrap());
    assert_eq!(call.idempotency_key, Some(key));
    decide(&bob, approval, "approve").fails(409, "illegal_transition");
    call.answer_with("{}");
    let done = settled(&bob, &run, "completed");
    assert_eq!(done["approvals"], json!([]));
    assert!(!service.was_called(), "called twice");
    let replayed = bob.get(&path_of(&run, "/replay")).expect(200);
    assert_eq!(
        (&replayed["divergence"], &replayed["status"]),
        (&json!(null), &json!("completed"))
    );
    confirm(&bob, &run).fails(409, "illegal_transition");
}

/// Of two operators at the same instant exactly one decides.
#[test]
fn ruling_28_two_operators_at_the_same_instant_decide_once() {
    let (server, service) = shared();
    for _ in 0..5 {
        let run = waiting_run_of(&server.key("ann"));
        let approval = &run["approvals"][0];
        let codes: Vec<u16> = std::thread::scope(|scope| {
            let say = |key: &'static str, word: &'static str| {
                let api = server.key(key);
                scope.spawn(move || decide(&api, approval, word).status)
            };
            let both = [say("ann", "reject"), say("bob", "reject")];
            both.map(|said| said.join().unwrap()).to_vec()
        });
        let mut sorted = codes.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [200, 409]);
        settled(&server.key("ann"), &run, "rejected");
    }
    assert!(!service.was_called());
}

/// Commands that arrive while a driver starts or ends are not lost: every run continues at once.
#[test]
fn b000_18_runs_that_are_confirmed_and_decided_at_once_all_go_on() {
    let (server, service) = shared();
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let server = &server;
            scope.spawn(move || {
                for _ in 0..6 {
                    let run = waiting_run_on(&server.key("ann"), &format!("vault-{thread}"));
                    let bob = server.key("bob");
                    decide(&bob, &run["approvals"][0], "reject").expect(200);
                    settled(&bob, &run, "rejected");
                }
            });
        }
    });
    assert!(!service.was_called());
}

/// An approval without a timely decision lapses, and so does the step.
#[test]
fn ruling_28_an_approval_lapses() {
    let home = Home::with_keys(&KEYS).with("CHARTER_APPROVALS__TTL_S", "4");
    let server = home.serve();
    let service = Service::start();
    server.key("ann").register(&purge(&service));
    let run = waiting(&server);
    let bob = server.key("bob");
    let done = settled(&bob, &run, "failed");
    assert_eq!(
        done["outcome"]["cause"]["failure"]["code"],
        "approval_expired"
    );
    decide(&bob, &run["approvals"][0], "approve").fails(409, "illegal_transition");
    assert!(!service.was_called());
}

/// A write that was running when the server was killed may have happened: a person must decide before it is repeated
/// under the same key. The original request then has its result.
#[test]
fn b000_18_a_killed_write_is_not_repeated_without_asking() {
    let home = Home::with_keys(&KEYS);
    let server = home.serve();
    let service = Service::start();
    let leaves_evidence = "evidence: {type: api_call, system: aws.ec2}\nlanguage: http";
    let package = purge(&service).edit("tools/purge.yaml", "language: http", leaves_evidence);
    let ann = server.key("ann");
    ann.register(&package);
    let asked = request("purge the vault for good");
    let answer = ann.ask(&asked).expect(200);
    let run = json!({"run_id": answer["metadata"]["run_ids"][0]});
    let given = json!({"parameters": {"vault": "main"}});
    ann.post(&path_of(&run, "/parameters"), &given).expect(200);
    let run = settled(&ann, &run, "awaiting_confirmation");
    confirm(&ann, &run).expect(200);
    let run = settled(&ann, &run, "awaiting_approval");
    decide(&server.key("bob"), &run["approvals"][0], "approve").expect(200);
    let first = service.next();
    server.kill();
    let server = home.serve();
    let bob = server.key("bob");
    let again = settled(&bob, &run, "awaiting_approval");
    assert_eq!(again["approvals"][0]["rules"][1]["kind"], "interrupted");
    assert!(!service.was_called());
    decide(&bob, &again["approvals"][0], "approve").expect(200);
    let second = service.next();
    assert_eq!(first.idempotency_key, second.idempotency_key);
    second.answer_with(r#"{"before": {"objects": 3}, "after": {"objects": 0}}"#);
    settled(&bob, &run, "completed");
    check_result(&server.key("ann"), &asked, &answer);
}

/// A request whose change has ended has its result, over REST, the Model Context Protocol and A2A; its first answer
/// remains.
#[track_caller]
fn check_result(ann: &Api, asked: &Value, answer: &Value) {
    let id = asked["id"].as_str().unwrap();
    let path = format!("/v1/requests/{id}");
    let shown = ann.get(&path).expect(200);
    assert_eq!(shown["answer"]["id"], answer["id"]);
    assert_eq!(shown["answer"]["content"], answer["content"]);
    let result = &shown["result"];
    assert_ne!(result["id"], answer["id"]);
    let metadata = &result["metadata"];
    let evidence = metadata["evidence_ids"].clone();
    assert_eq!(evidence.as_array().map(Vec::len), Some(1), "{result:#}");
    let change = json!({
        "step_id": "s1", "tool_id": "vault.purge", "before": {"objects": 3}, "after": {"objects": 0},
        "reversed": false, "evidence_ids": evidence,
    });
    assert_eq!(
        (
            &metadata["status"],
            &metadata["changes"],
            &metadata["undone"]
        ),
        (&json!("completed"), &json!([change]), &json!([])),
        "{result:#}"
    );
    let streamed = ann.follow(&path);
    let streamed: Vec<String> = streamed
        .filter_map(|line| Some(line.strip_prefix("event: ")?.to_owned()))
        .collect();
    assert_eq!(streamed, ["response", "result"]);
    // The repeated request gets the newest.
    assert_eq!(ann.ask(asked).expect(200)["id"], result["id"]);
    let task = tasks::when(ann, id, "completed");
    assert_eq!(
        task["result"]["structuredContent"]["response"], *result,
        "{task:#}"
    );
    let task = Client::start(ann, "JSONRPC").ok("get", &json!({"id": id}));
    let artifacts = task["artifacts"].as_array().unwrap().iter();
    let artifacts: Vec<(&Value, &Value)> = artifacts
        .map(|artifact| (&artifact["name"], &artifact["artifactId"]))
        .collect();
    assert_eq!(
        artifacts,
        [
            (&json!("result"), &result["id"]),
            (&json!("answer"), &answer["id"])
        ],
        "{task:#}"
    );
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], result["content"]);
}

/// A run that waits for a person survives a restart, and can be aborted.
#[test]
fn b000_18_a_waiting_run_survives_a_restart_and_can_be_aborted() {
    let (home, server, service) = keyed();
    let run = waiting(&server);
    server.kill();
    let server = home.serve();
    let (ann, uma, eve) = (server.key("ann"), server.key("uma"), server.key("eve"));
    assert_eq!(
        ann.get(&path_of(&run, "")).expect(200)["status"],
        "awaiting_approval"
    );
    let ending = json!({"reason": "not today"});
    uma.post(&path_of(&run, "/abort"), &ending)
        .fails(404, "not_found");
    eve.post(&path_of(&run, "/abort"), &ending)
        .fails(404, "not_found");
    // A shared database keeps the killed server's lease on the run until it expires.
    eventually("the end of the run", || {
        let answer = ann.post(&path_of(&run, "/abort"), &ending);
        (answer.status != 503).then(|| answer.expect(200))
    });
    settled(&ann, &run, "aborted");
    decide(&server.key("bob"), &run["approvals"][0], "approve").fails(409, "illegal_transition");
    assert!(!service.was_called());
}

/// Ruling 33: if four eyes are required and the tenant has no second person who could approve, a run warns from its
/// start. A key that the requester created is no second person.
#[test]
fn a_tenant_without_a_second_approver_is_warned() {
    let server = Tenants::one();
    let service = Service::start();
    let root = &server.api;
    root.register(&purge_of_class(&service, "destructive"));
    let key = json!({"name": "second", "user": "zoe", "role": "operator"});
    root.post("/v1/keys", &key).expect(201);

    let path = format!("/v1/playbooks/{PLAYBOOK}/runs");
    let given = json!({"parameters": {"vault": "main"}});
    let run = root.post(&path, &given).expect(201);
    let note = run["notes"][0].as_str().unwrap().to_owned();
    assert!(
        note.contains("give another person of the tenant a key"),
        "{note}"
    );
    confirm(root, &run).expect(200);
    let waits = settled(root, &run, "awaiting_approval");
    assert_eq!(waits["notes"], json!([note]));
    root.post(&path_of(&run, "/abort"), &json!({"reason": "no"}))
        .expect(200);
    assert_eq!(settled(root, &run, "aborted").get("notes"), None);

    let answer = root.ask(&request("purge the vault for good")).expect(200);
    assert_eq!(answer["metadata"]["warnings"], json!([note]), "{answer:#}");
    let home = Home::new().with("CHARTER_API_KEY", root.key.as_deref().unwrap());
    let ran = home.run(&[
        "playbook",
        "run",
        PLAYBOOK,
        "-p",
        "vault=main",
        "--server",
        &root.base,
    ]);
    assert!(ran.err.contains(&format!("note: {note}\n")), "{ran:?}");

    // A dry run needs no approval.
    let dry = json!({"parameters": {"vault": "main"}, "dry_run": true});
    let dry = root.post(&path, &dry).expect(201);
    assert_eq!(settled(root, &dry, "completed").get("notes"), None);
    assert!(!service.was_called());
}

/// A dry run calls only tools that support dry runs.
#[test]
fn b000_18_a_dry_run_changes_nothing() {
    let (server, service) = shared();
    let ann = server.key("ann");
    let wanted = json!({"parameters": {"vault": "main"}, "dry_run": true});
    let path = format!("/v1/playbooks/{PLAYBOOK}/runs");
    let run = ann.post(&path, &wanted).expect(201);
    let done = settled(&ann, &run, "completed");
    assert_eq!(done["steps"][0]["reason"], json!({"because": "dry_run"}));
    assert!(!service.was_called());
}
