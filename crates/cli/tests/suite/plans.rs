//! Plans that callers submit: run, waited for, or refused before a run exists.

use std::path::Path;

use serde_json::{Value, json};

use crate::home::{Answer, Api, Home, Server, ids, request_of};
use crate::packages::{Package, SCRIPT_FILE, SKILL, SKILL_FILE, TOOL_FILE, backups, guardrail};
use crate::playbooks::{KEYS, PLAYBOOK, decide, path_of, purge, purge_tool, settled};
use crate::service::Service;
use crate::shared::Tenants;

pub(crate) const PLAN: &str = "plan-01930000-0000-7000-8000-000000000001";
const OTHER_PLAN: &str = "plan-01930000-0000-7000-8000-000000000002";
const READ: &str = "vault.list_backups";

pub(crate) fn plan(id: &str, steps: Value, on_failure: Value) -> Value {
    json!({
        "id": id, "request_id": "req-01930000-0000-7000-8000-000000000001",
        "steps": steps, "error_handling": on_failure,
    })
}

pub(crate) fn abort() -> Value {
    json!({"on_step_failure": "abort_plan"})
}

/// A plan whose only step writes.
fn writing() -> Value {
    let steps = json!([{"id": "step-001", "tool": "vault.purge", "parameters": {"vault": "${user.vault}"}}]);
    json!({"execution_plan": plan(PLAN, steps, abort()), "parameters": {"vault": "main"}})
}

/// Tools that read from, and write to, the service, and more files.
fn package(service: &Service, more: &[(&str, String)]) -> Package {
    let package = service
        .package()
        .with("tools/purge.yaml", &purge_tool(service));
    more.iter()
        .fold(package, |package, (path, text)| package.with(path, text))
}

/// Acme's package on the shared server, where requesters may approve their own runs.
fn served(more: &[(&str, String)]) -> (Tenants, Service) {
    let server = Tenants::with_keys(&KEYS);
    let service = Service::start();
    server.key("ann").register(&package(&service, more));
    (server, service)
}

/// Acme's package on a separate server, where another person must approve.
fn served_alone() -> (Home, Server, Service) {
    let home = Home::with_keys(&KEYS);
    let server = home.serve();
    let service = Service::start();
    server.key("ann").register(&package(&service, &[]));
    (home, server, service)
}

fn states(run: &Value) -> Vec<String> {
    ids(&run["steps"], "state")
}

/// The journal replays to the run's status, and the run's state machine allows every event.
fn replays(api: &Api, run: &Value) {
    let replayed = api.get(&path_of(run, "/replay")).expect(200);
    assert_eq!(
        (&replayed["divergence"], &replayed["status"]),
        (&Value::Null, &run["status"])
    );
}

fn events<'r>(run: &'r Value, word: &str) -> Vec<&'r Value> {
    let events = run["events"].as_array().unwrap().iter();
    events.filter(|event| event["event"] == word).collect()
}

/// B003-5 to B003-7: parallel steps, a retry, an inserted output, a condition.
#[test]
fn b003_5_a_plan_runs_in_parallel_tries_again_and_joins() {
    let (server, service) = served(&[]);
    let ann = server.key("ann");
    let when = |expression: &str| json!({"type": "expression", "expression": expression});
    let main = json!({"vault": "main"});
    let steps = json!([
        {"id": "step-001", "tool": READ, "parameters": main, "retry": {"max_attempts": 1, "delay_ms": 50}},
        {"id": "step-002", "tool": "tool-vault-list-backups", "parameters": main, "retry": {"max_attempts": 1}},
        {"id": "step-003", "tool": READ, "dependencies": ["step-002"],
         "parameters": {"vault": "${step-001.backups.0.id}/${user.name}"},
         "condition": when(r#"steps["step-001"].output.backups.size() == 1 && parameters.name == "n""#)},
        {"id": "step-004", "tool": READ, "parameters": main,
         "condition": when(r#"steps["step-003"].state != "succeeded""#)}
    ]);
    let sent = json!({"execution_plan": plan(PLAN, steps, abort()), "parameters": {"name": "n"}});
    let run = ann.post("/v1/runs", &sent).expect(201);
    assert_eq!(run["title"], format!("execution plan {PLAN}"));
    // Both run before either is answered; one connection breaks off and is retried.
    let (broken, other) = (service.next(), service.next());
    drop(broken);
    let again = service.next();
    other.answer();
    again.answer();
    service.next().answer();
    let done = settled(&ann, &run, "completed");
    assert_eq!(
        states(&done),
        ["succeeded", "succeeded", "succeeded", "skipped"]
    );
    assert_eq!(events(&done, "retry_scheduled").len(), 1);
    let begun = events(&done, "step_begun");
    assert_eq!(
        begun.last().unwrap()["parameters"],
        json!({"vault": "b-1/n"})
    );
    replays(&ann, &done);
}

/// The tool gets `${x}` for `$${x}` in a plan.
#[test]
fn an_escaped_reference_of_a_plan_is_text_for_the_tool() {
    let server = Tenants::one();
    let api = &server.api;
    api.register(&backups());
    let step = json!({"id": "step-001", "tool": READ, "parameters": {"vault": "$${x}"}});
    let sent = json!({"execution_plan": plan(PLAN, json!([step]), abort())});
    let run = api.post("/v1/runs", &sent).expect(201);
    let done = settled(api, &run, "completed");
    let ended = events(&done, "step_succeeded");
    assert_eq!(ended[0]["output"]["vault"], "${x}", "{done:#}");
    replays(api, &done);
}

/// B003-7, B003-8: an attempt that times out, and the fallback plan.
#[test]
fn b003_8_after_a_timeout_the_fallback_runs_once() {
    let (home, server, service) = served_alone();
    let ann = server.key("ann");
    let slow = json!([{"id": "step-001", "tool": READ, "parameters": {"vault": "main"}, "timeout_ms": 300}]);
    let other = json!([{"id": "step-001", "tool": READ, "parameters": {"vault": "spare"}}]);
    let handling = json!({"on_step_failure": "execute_fallback", "fallback_plan_id": OTHER_PLAN});
    let sent = json!({
        "execution_plan": plan(PLAN, slow, handling),
        "fallbacks": [plan(OTHER_PLAN, other, abort())],
    });
    let run = ann.post("/v1/runs", &sent).expect(201);
    let held = service.next();
    let second = service.next();
    assert_eq!(
        second.idempotency_key,
        Some(format!(
            "{}/fallback-1/step-001",
            run["run_id"].as_str().unwrap()
        ))
    );
    second.answer();
    drop(held);
    let done = settled(&ann, &run, "completed");
    let failed = events(&done, "step_failed");
    assert_eq!(failed[0]["failure"]["kind"], "timeout_error", "{failed:?}");
    assert_eq!(events(&done, "fallback_started").len(), 1);
    replays(&ann, &done);
    check_orders_after_a_restart(&home, server, &service, (&sent, &run));
}

/// A plan of a request, and a command with a key, are recognized after a restart, and start no second run.
#[track_caller]
fn check_orders_after_a_restart(
    home: &Home,
    server: Server,
    service: &Service,
    (sent, run): (&Value, &Value),
) {
    let keyed = |api: &Api| {
        let pipeline = json!({
            "id": "pipe-01930000-0000-7000-8000-000000000001", "name": "Look",
            "inputs": [{"name": "vault", "type": "string", "required": true}],
            "stages": [{"id": "look", "tool": "tool-vault-list-backups", "parameters": {"vault": "${user.vault}"}}],
            "error_handling": abort(),
        });
        let order = json!({"pipeline": pipeline, "parameters": {"vault": "third"}});
        let headers = [
            ("content-type", "application/json"),
            ("idempotency-key", "order-1"),
        ];
        api.call_plainly("POST", "/v1/runs", &headers, order.to_string().into_bytes())
    };
    let begun = keyed(&server.key("ann")).expect(201);
    service.next().answer();
    settled(&server.key("ann"), &begun, "completed");
    server.kill();
    let server = home.serve();
    let ann = server.key("ann");
    let again = ann.post("/v1/runs", sent).expect(200);
    assert_eq!(again["run_id"], run["run_id"]);
    assert_eq!(keyed(&ann).expect(200)["run_id"], begun["run_id"]);
    assert!(!service.was_called());
}

/// B003-6, B003-8: a pipeline's inputs, its failure handler, and the parallel steps.
#[test]
fn b003_6_a_pipeline_takes_inputs_and_handles_failures() {
    let home = with_files();
    let server = home.serve();
    let pipeline = json!({
        "id": "pipe-01930000-0000-7000-8000-000000000001", "name": "Look at code",
        "inputs": [{"name": "file", "type": "string", "required": true}],
        "stages": [
            {"id": "read", "tool": "tool-charter-fs-read", "parameters": {"path": "${user.file}"}},
            {"id": "search", "tool": "tool-charter-fs-search",
             "parameters": {"path": "${read.path}", "pattern": "owner", "pattern_type": "literal"}},
            {"id": "list", "tool": "tool-charter-fs-list", "parameters": {"path": "."},
             "condition": {"type": "step_failure", "stage_id": "read"}}
        ],
        "error_handling": {"on_step_failure": "continue_plan"}
    });
    let api = &server.api;
    let start = |parameters: Value| {
        let sent = json!({"pipeline": pipeline, "parameters": parameters});
        api.post("/v1/runs", &sent)
    };
    let ended = |file: &str| {
        let run = start(json!({"file": file})).expect(201);
        let done = settled(api, &run, "completed");
        replays(api, &done);
        states(&done)
    };
    assert_eq!(ended("owned.tf"), ["succeeded", "succeeded", "skipped"]);
    assert_eq!(ended("gone.tf"), ["failed", "skipped", "succeeded"]);
    start(json!({})).fails(400, "missing_parameters");
    start(json!({"file": "owned.tf", "more": 1})).fails(400, "invalid_parameters");
}

fn with_files() -> Home {
    let home = Home::new();
    let code = home.path("code");
    std::fs::create_dir_all(&code).unwrap();
    std::fs::write(code.join("owned.tf"), "owner = \"ann\"\n").unwrap();
    std::fs::write(code.join("bare.tf"), "a = 1\n").unwrap();
    home.with(
        "CHARTER_TOOLS__BUILTIN__ROOTS__CODE__PATH",
        code.to_str().unwrap(),
    )
}

const TREE: &str = r#"id: tree-01930000-0000-7000-8000-000000000001
name: Who owns a file
root: wanted
inputs:
  - {name: file, type: string, required: true}
nodes:
  - type: decision
    id: wanted
    branches: [{when: "parameters.file.endsWith('.tf')", next: read}]
    otherwise: foreign
  - {type: action, id: read, tool: tool-charter-fs-read, parameters: {path: "${user.file}"}, next: owned, on_failure: gone}
  - type: decision
    id: owned
    branches: [{when: "steps.read.output.content.contains('owner')", next: fine}]
    otherwise: mark
  - type: action
    id: mark
    tool: tool-charter-fs-write
    parameters: {path: "${user.file}", content: "owner = \"nobody\"\n"}
    next: marked
  - {type: outcome, id: fine, result: owned, details: {size: "${read.size}"}}
  - {type: outcome, id: marked, result: marked}
  - {type: outcome, id: gone, result: gone}
  - {type: outcome, id: foreign, result: foreign}
"#;

/// B003-6: every path through a tree, from a YAML file on the command line. Only the path that writes
/// waits for an approval, which is also the confirmation.
#[test]
fn b003_6_a_tree_from_a_file_takes_each_of_its_ways() {
    let home = with_files();
    let file = home.path("tree.yaml");
    std::fs::write(&file, TREE).unwrap();
    let run = |of: &str| {
        let of = format!("file={of}");
        let done = charter(&home, &["runs", "start", path(&file), "--param", &of]);
        let id = done["run_id"].as_str().unwrap();
        let replay = ["run", "replay", id, "--output", "json"];
        let replayed = home.run(&replay).json(0);
        assert_eq!(
            (&replayed["divergence"], &replayed["status"]),
            (&Value::Null, &done["status"])
        );
        done
    };
    let said = |done: &Value| {
        assert_eq!(done["status"], "completed", "{done:#}");
        let ended = events(done, "step_succeeded");
        ended.last().unwrap()["output"].clone()
    };
    let outcome = |result: &str| json!({"result": result, "details": {}});
    assert_eq!(
        said(&run("owned.tf")),
        json!({"result": "owned", "details": {"size": 14}})
    );
    assert_eq!(said(&run("gone.tf")), outcome("gone"));
    assert_eq!(said(&run("notes.md")), outcome("foreign"));
    let waiting = run("bare.tf");
    assert_eq!(waiting["status"], "awaiting_approval");
    assert_eq!(waiting["approvals"][0]["call"]["tool"], "charter.fs.write");
    let kept = std::fs::read_to_string(home.path("code/bare.tf")).unwrap();
    assert_eq!(kept, "a = 1\n");
    let of = ["--param", "file=bare.tf", "--dry-run"];
    let dry = charter(
        &home,
        &[&["runs", "start", path(&file)][..], &of[..]].concat(),
    );
    // The write's result is unknown, so the tree ends before it.
    assert_eq!(said(&dry), json!({"chosen": "mark"}));
    let skipped = events(&dry, "step_skipped");
    let mut skipped = ids(&json!(skipped), "step");
    skipped.sort();
    assert_eq!(skipped, ["fine", "foreign", "gone", "mark", "marked"]);
    let kept = std::fs::read_to_string(home.path("code/bare.tf")).unwrap();
    assert_eq!(kept, "a = 1\n");
}

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

fn charter(home: &Home, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--output", "json"]].concat();
    home.run(&arguments).done_or_waiting()
}

/// A write in a plan is approved as in a supervised playbook, by another person. That is its only decision.
#[test]
fn b003_5_a_write_in_a_plan_waits_for_a_person() {
    let (_home, server, service) = served_alone();
    let [ann, bob] = ["ann", "bob"].map(|key| server.key(key));
    let run = ann.post("/v1/runs", &writing()).expect(201);
    assert_eq!(
        (&run["confirm"], &run["steps"][0]["writes"]),
        (&json!(false), &json!(true))
    );
    let waiting = settled(&ann, &run, "awaiting_approval");
    let approval = &waiting["approvals"][0];
    assert_eq!(
        approval["rules"],
        json!([{
            "kind": "safety", "id": PLAN,
            "message": "Each write of an unregistered plan needs an approval."
        }])
    );
    assert!(!service.was_called());
    decide(&ann, approval, "approve").fails(403, "permission_denied");
    decide(&bob, approval, "approve").expect(200);
    service.next().answer_with("{}");
    let done = settled(&ann, &run, "completed");
    replays(&ann, &done);
    assert!(!service.was_called(), "called twice");
}

/// A dry run of a plan changes nothing, and needs no approval.
#[test]
fn b003_5_a_dry_run_of_a_plan_changes_nothing() {
    let (server, service) = served(&[]);
    let ann = server.key("ann");
    let mut sent = writing();
    sent["dry_run"] = json!(true);
    let run = ann.post("/v1/runs", &sent).expect(201);
    let done = settled(&ann, &run, "completed");
    assert_eq!(done["steps"][0]["reason"], json!({"because": "dry_run"}));
    assert!(!service.was_called());
    replays(&ann, &done);
}

/// The same plan for the same request is one run, even if it arrives several times at once. Different content is
/// refused; a dry run, another request and another person have separate runs.
#[test]
fn the_same_plan_and_request_is_one_run() {
    let (server, service) = served(&[]);
    let ann = server.key("ann");
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let sent = [(); 4].map(|()| scope.spawn(|| ann.post("/v1/runs", &writing())));
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 201]);
    let run = &answers[0].body;
    let id = run["run_id"].clone();
    assert!(answers.iter().all(|answer| answer.body["run_id"] == id));
    // Regardless of its progress.
    settled(&ann, run, "awaiting_approval");
    let again = ann.post("/v1/runs", &writing()).expect(200);
    assert_eq!(
        (&again["run_id"], &again["status"]),
        (&id, &json!("awaiting_approval"))
    );
    let mut parameters = writing();
    parameters["parameters"]["vault"] = json!("spare");
    let mut steps = writing();
    steps["execution_plan"]["steps"][0]["timeout_ms"] = json!(5_000);
    for other in [parameters, steps] {
        let refused = ann.post("/v1/runs", &other);
        assert_eq!(refused.body["technical_details"]["run_id"], id);
        refused.fails(409, "already_exists");
    }
    let mut dry = writing();
    dry["dry_run"] = json!(true);
    let mut request = writing();
    request["execution_plan"]["request_id"] = json!("req-01930000-0000-7000-8000-000000000002");
    let bob = server.key("bob");
    for (api, other) in [(&ann, dry), (&ann, request), (&bob, writing())] {
        let other = api.post("/v1/runs", &other).expect(201);
        assert_ne!(other["run_id"], id);
    }
    let runs = ann.get("/v1/runs").expect(200);
    assert_eq!(runs["entries"].as_array().unwrap().len(), 4);
    assert!(!service.was_called());
}

/// An `Idempotency-Key` identifies one command of an operation.
#[test]
fn an_idempotency_key_names_one_order() {
    let server = Tenants::with_keys(&KEYS);
    let service = Service::start();
    let ann = server.key("ann");
    ann.register(&purge(&service));
    let pipeline = json!({
        "id": "pipe-01930000-0000-7000-8000-000000000001", "name": "Purge",
        "inputs": [{"name": "vault", "type": "string", "required": true}],
        "stages": [{"id": "purge", "tool": "tool-vault-purge", "parameters": {"vault": "${user.vault}"}}],
        "error_handling": abort(),
    });
    let playbook = format!("/v1/playbooks/{PLAYBOOK}/runs");
    for (path, mut order) in [
        ("/v1/runs", json!({"pipeline": pipeline})),
        (playbook.as_str(), json!({})),
    ] {
        order["parameters"] = json!({"vault": "main"});
        let send = |key: &str, order: &Value| {
            let headers = [
                ("content-type", "application/json"),
                ("idempotency-key", key),
            ];
            ann.call_plainly("POST", path, &headers, order.to_string().into_bytes())
        };
        let id = send("order-1", &order).expect(201)["run_id"].clone();
        assert_eq!(send("order-1", &order).expect(200)["run_id"], id);
        assert_ne!(send("order-2", &order).expect(201)["run_id"], id);
        for _ in 0..2 {
            assert_ne!(ann.post(path, &order).expect(201)["run_id"], id);
        }
        let mut other = order.clone();
        other["parameters"]["vault"] = json!("spare");
        let mut dry = order.clone();
        dry["dry_run"] = json!(true);
        for other in [other, dry] {
            send("order-1", &other).fails(409, "already_exists");
        }
        send("order 1", &order).fails(400, "invalid_request");
    }
    assert!(!service.was_called());
}

/// Guardrails of the domain of a plan's tools apply to it, including those for that domain's skills; so do policies,
/// which see the kind of run.
#[test]
fn b003_5_guardrails_and_policies_bear_on_plans() {
    let block = |scope: &str, glob: &str| {
        (
            "guardrails/g.yaml",
            guardrail("reliability.no", scope, glob, "hard_block", ""),
        )
    };
    for (scope, glob) in [
        ("domain", "reliability"),
        ("skill", "reliability.*"),
        ("global", "*"),
    ] {
        let (server, service) = served(&[block(scope, glob)]);
        let ann = server.key("ann");
        let run = ann.post("/v1/runs", &writing()).expect(201);
        let done = settled(&ann, &run, "denied");
        let code = &done["outcome"]["cause"]["failure"]["code"];
        assert_eq!(code, "guardrail_blocked", "{scope}: {done:#}");
        assert!(!service.was_called());
    }
    let policy = "policy_id: vault.purgers\ntitle: Who purges\ngoverns: [vault.purge]\ncedar: |\n  \
                  @id(\"playbooks\")\n  permit (principal, action, resource)\n  \
                  when { context.run.kind != RunKind::\"execution_plan\" };\n";
    let (server, service) = served(&[("policies/p.yaml", policy.to_owned())]);
    let ann = server.key("ann");
    let run = ann.post("/v1/runs", &writing()).expect(201);
    // A call that policy refuses needs no approval.
    let done = settled(&ann, &run, "denied");
    assert_eq!(done["approvals"], json!([]));
    assert_eq!(done["outcome"]["cause"]["failure"]["code"], "policy_denied");
    assert!(!service.was_called());
}

/// An invalid plan is refused with the position of the fault, without a run.
#[test]
fn b003_5_a_plan_that_cannot_run_is_refused_before_there_is_a_run() {
    let (server, _service) = served(&[]);
    let ann = server.key("ann");
    let step = |tool: &str, more: Value| {
        let mut step = json!({"id": "step-001", "tool": tool, "parameters": {"vault": "main"}});
        step.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"execution_plan": plan(PLAN, json!([step]), abort())})
    };
    let dangling = json!({"on_step_failure": "execute_fallback", "fallback_plan_id": OTHER_PLAN});
    let mut fallback = step(READ, json!({}));
    fallback["execution_plan"]["error_handling"] = dangling;
    let mut mistyped = step(READ, json!({}));
    mistyped["fallbacks"] = json!([{"id": "plan-x"}]);
    let cases = [
        (
            step("vault.gone", json!({})),
            "/execution_plan/steps/0/tool",
            "tool",
        ),
        (
            step(READ, json!({"dependencies": ["step-001"]})),
            "/execution_plan/steps/0/dependencies",
            "cycle",
        ),
        (
            step(READ, json!({"parameters": {"vault": "${step-007.x}"}})),
            "/execution_plan/steps/0/parameters/vault",
            "reference",
        ),
        (
            fallback,
            "/execution_plan/error_handling/fallback_plan_id",
            "dependency",
        ),
        (
            step(READ, json!({"timeout_ms": -1})),
            "/execution_plan/steps/0/timeout_ms",
            "minimum",
        ),
    ];
    for (sent, pointer, keyword) in cases {
        let refused = ann.post("/v1/runs", &sent);
        refused.clone().fails(400, "invalid_document");
        let violation = &refused.body["technical_details"]["violations"][0];
        assert_eq!(
            (violation["pointer"].as_str(), violation["keyword"].as_str()),
            (Some(pointer), Some(keyword)),
            "{violation:#}"
        );
    }
    let refused = ann.post("/v1/runs", &mistyped);
    let violations = &refused.body["technical_details"]["violations"];
    assert!(
        ids(violations, "pointer")
            .iter()
            .all(|pointer| pointer.starts_with("/fallbacks/0")),
        "{violations:#}"
    );
    let mut two = step(READ, json!({}));
    two["pipeline"] = json!({});
    for sent in [two, json!({}), json!({"skill": "x"})] {
        ann.post("/v1/runs", &sent).fails(400, "invalid_request");
    }
    assert_eq!(ann.get("/v1/runs").expect(200)["entries"], json!([]));
}

/// A tool, a skill and a playbook with an optional parameter `most`. The tool and the skill have a default for it.
fn counting() -> Package {
    const MOST: &str = "{name: most, type: integer, description: how many";
    let vault = "description: the vault}\n";
    let main = "default: main}\n";
    let playbook = format!(
        "playbook_id: reliability.look\nname: Look\ndomain: reliability\ntrigger_conditions: [look for good]\n\
         target_language: python\n\
         mandatory_parameters: [{{name: vault, type: string, description: the vault}}]\n\
         optional_parameters: [{MOST}}}]\n\
         steps:\n  - {{step_id: s1, name: Look, type: read, tool_id: {READ}, \
         parameters: {{vault: \"${{user.vault}}\", most: \"${{user.most}}\"}}}}\n\
         safety: {{safety_class: automated}}\n"
    );
    backups()
        .edit(
            TOOL_FILE,
            vault,
            &format!("{vault}  - {MOST}, default: 3}}\n"),
        )
        .edit(
            SKILL_FILE,
            main,
            &format!("{main}  - {MOST}, default: 3}}\n"),
        )
        .edit(
            SKILL_FILE,
            "\"${user.vault}\"}",
            "\"${user.vault}\", most: \"${user.most}\"}",
        )
        .edit(SCRIPT_FILE, "\"once\":", "\"nothing\": None, \"once\":")
        .with("playbooks/look.yaml", &playbook)
}

/// The arguments of a run's last call, after it has completed.
fn last_call(api: &Api, run: &Value) -> Value {
    let done = settled(api, run, "completed");
    let begun = events(&done, "step_begun");
    begun.last().unwrap()["parameters"].clone()
}

/// The answer to a message of A2A with a data part.
fn answer_to_task(api: &Api, data: &Value) -> Value {
    let parts = json!([{"text": "look"}, {"data": data}]);
    let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": parts});
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
    let sent = api.call_plainly("POST", "/a2a", &headers, call.to_string().into_bytes());
    let task = &sent.expect(200)["result"]["task"];
    let path = format!("/v1/requests/{}", task["id"].as_str().unwrap());
    api.get(&path).expect(200)["answer"].clone()
}

#[test]
fn null_for_a_parameter_counts_as_absent_everywhere() {
    let server = Tenants::one();
    let api = &server.api;
    api.register(&counting());
    let given = json!({"vault": "main", "most": null});
    let called = json!({"vault": "main", "most": 3});
    let named = json!({"vault": "${user.vault}", "most": "${user.most}"});
    let of_step = json!({"vault": "main", "most": "${step-001.nothing}"});
    let pipeline = json!({
        "id": "pipe-01930000-0000-7000-8000-000000000001", "name": "Look",
        "inputs": [{"name": "vault", "type": "string", "required": true}, {"name": "most", "type": "integer"}],
        "stages": [{"id": "look", "tool": "tool-vault-list-backups", "parameters": named}],
        "error_handling": abort(),
    });
    let tree = json!({
        "id": "tree-01930000-0000-7000-8000-000000000001", "name": "Look", "root": "look",
        "inputs": pipeline["inputs"],
        "nodes": [
            {"type": "action", "id": "look", "tool": "tool-vault-list-backups", "parameters": named, "next": "end"},
            {"type": "outcome", "id": "end", "result": "done"},
        ],
    });
    let first = json!({"id": "step-001", "tool": READ, "parameters": given});
    let reading = json!({"id": "step-001", "tool": READ, "parameters": named});
    let second = json!({"id": "step-002", "tool": READ, "parameters": of_step});
    let look = "/v1/playbooks/reliability.look/runs";
    let orders = [
        (
            "/v1/runs",
            json!({"execution_plan": plan(PLAN, json!([first, second]), abort())}),
        ),
        (
            "/v1/runs",
            json!({"execution_plan": plan(OTHER_PLAN, json!([reading]), abort()), "parameters": given}),
        ),
        (
            "/v1/runs",
            json!({"pipeline": pipeline, "parameters": given}),
        ),
        (
            "/v1/runs",
            json!({"decision_tree": tree, "parameters": given}),
        ),
        (look, json!({"parameters": given})),
    ];
    for (path, order) in orders {
        let run = api.post(path, &order).expect(201);
        assert_eq!(last_call(api, &run), called, "{order:#}");
    }
    let asked = api.post(look, &json!({"parameters": {"vault": null}}));
    let asked = asked.expect(201);
    assert_eq!(asked["status"], "awaiting_parameters", "{asked:#}");
    api.post(
        &path_of(&asked, "/parameters"),
        &json!({"parameters": given}),
    )
    .expect(200);
    assert_eq!(last_call(api, &asked), called, "given to a run");
    let of_answer = |answer: &Value| json!({"run_id": answer["metadata"]["run_ids"][0]});
    let answer = api.ask(&request_of(SKILL, given.clone())).expect(200);
    assert_eq!(last_call(api, &of_answer(&answer)), called, "a request");
    let question = json!({"tool": READ, "parameters": given});
    let explained = api.post("/v1/gate/explain", &question).expect(200);
    assert_eq!(explained["parameters"], called);
    let answer = answer_to_task(api, &json!({"skill_id": SKILL, "parameters": given}));
    assert_eq!(last_call(api, &of_answer(&answer)), called, "a task");
}
