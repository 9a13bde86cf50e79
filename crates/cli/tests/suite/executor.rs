//! Client tools run by executors: real servers and executors, killed at critical points.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use charter_contract::bounds::JSON_LEVELS;
use charter_contract::registry::validate;
use charter_contract::schema::SchemaName;
use serde_json::{Value, json};

use crate::home::{Answer, Api, Home, Server, eventually, ids, request_of};
use crate::packages::{Package, SCRIPT_FILE, SKILL, TOOL_FILE, backups};
use crate::playbooks::{KEYS, decide, purge, settled, waiting};
use crate::service::Service;
use crate::shared::Tenants;

/// Long enough for a busy machine to keep a lease, short enough to wait until one lapses.
const LEASE_MS: &str = "5000";

/// A home whose server gives client tools to executors.
fn server_home() -> Home {
    Home::with_keys(&KEYS)
        .with("CHARTER_TOOLS__CLIENT_TOOLS", "executor")
        .with("CHARTER_TOOLS__EXECUTOR_LEASE_MS", LEASE_MS)
}

/// The package with its tool for clients; `more` is further YAML of the tool.
fn client_package(package: Package, more: &str) -> Package {
    let target = "execution_target: server";
    package.edit(
        TOOL_FILE,
        target,
        &format!("execution_target: client\n{more}"),
    )
}

/// A running executor; killed when it goes out of scope.
pub(crate) struct Executor {
    child: Child,
    home: Home,
    log: Arc<Mutex<String>>,
}

impl Executor {
    /// Starts an executor with its own home, ready to take calls.
    fn start(server: &Server, key: &str, name: &str, granted: &[(&str, &str)]) -> Self {
        let names: Vec<&str> = granted.iter().map(|(name, _)| *name).collect();
        let mut home = Home::new()
            .with("CHARTER_SERVER", &server.api.base)
            .with("CHARTER_API_KEY", key)
            .with("CHARTER_LOG", "info")
            .with("CHARTER_TOOLS__ENVIRONMENT", &names.join(","));
        for (name, value) in granted {
            home.set(name, value);
        }
        Self::start_in(home, &["--name", name])
    }

    /// Starts an executor that its home configures, ready to take calls.
    pub(crate) fn start_in(home: Home, arguments: &[&str]) -> Self {
        let mut child = home.spawn(&[&["executor"][..], arguments].concat());
        let log = Arc::new(Mutex::new(String::new()));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut kept = kept.lock().unwrap();
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        let executor = Self { child, home, log };
        eventually("the executor's start", || {
            executor.log().contains("accepts calls from").then_some(())
        });
        executor
    }

    fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Sends SIGKILL.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // A process that was waited for has already ended.
        drop(self.child.kill());
        drop(self.child.wait());
        if std::thread::panicking() {
            eprintln!("the executor said:\n{}", self.log());
        }
    }
}

/// Sends a request for the backups skill on another thread.
fn asking(api: &Api) -> JoinHandle<Answer> {
    let api = api.clone();
    std::thread::spawn(move || api.ask(&request_of(SKILL, json!({}))))
}

/// Leases the next call without an executor.
fn leased(api: &Api) -> Value {
    let asked = json!({"executor": "by-hand", "wait_ms": 30_000});
    let call = eventually("a call", || {
        let answer = api.post("/v1/executor/leases", &asked);
        (answer.status != 204).then(|| answer.expect(200))
    });
    assert_eq!(validate(SchemaName::ExecutorCall, &call), []);
    call
}

fn path_of(call: &Value, what: &str) -> String {
    format!(
        "/v1/executor/leases/{}/{what}",
        call["lease_id"].as_str().unwrap()
    )
}

fn succeeded(output: Value) -> Value {
    json!({"result": {"status": "succeeded", "output": output}, "duration_ms": 7})
}

fn one_backup(id: &str) -> Value {
    json!({"backups": [{"id": id, "age_days": 40}]})
}

/// Seed 000 §2.4: the tool gets its executor's grants, and nothing of the server's.
#[test]
fn a_client_tool_runs_where_the_credentials_are() {
    let home = server_home()
        .with("CHARTER_TOOLS__ENVIRONMENT", "VAULT_PLACE,VAULT_TOKEN")
        .with("VAULT_PLACE", "server")
        .with("VAULT_TOKEN", "the-servers-own-token");
    let server = home.serve();
    let script = "import json, os\nback = {'id': os.environ['VAULT_PLACE'] + ' ' + str('VAULT_TOKEN' in os.environ), 'age_days': 40}\n\
                  print(json.dumps({'backups': [back]}))\n";
    let package = backups().with(SCRIPT_FILE, script);
    let package = client_package(package, "environment: [VAULT_PLACE, VAULT_TOKEN]");
    server.key("ann").register(&package);
    let stranger = Executor::start(&server, "eve", "stranger", &[("VAULT_PLACE", "umbra")]);
    let executor = Executor::start(&server, "ann", "office", &[("VAULT_PLACE", "office")]);
    let answer = server
        .key("uma")
        .ask(&request_of(SKILL, json!({})))
        .expect(200);
    let found = ids(&answer["metadata"]["findings"], "resource_id");
    assert_eq!(found, ["office False"]);
    assert!(executor.log().contains("reported"), "{}", executor.log());
    assert!(!stranger.log().contains("a call"), "{}", stranger.log());
}

/// By default one process does everything, and refuses requests for calls with that reason.
#[test]
fn client_tools_run_in_the_server_by_default() {
    let server = Tenants::with_keys(&KEYS);
    let ann = server.key("ann");
    ann.register(&client_package(backups(), ""));
    ann.ask(&request_of(SKILL, json!({}))).expect(200);
    let message = ann
        .post("/v1/executor/leases", &json!({"executor": "e"}))
        .fails(409, "illegal_transition");
    assert!(message.contains("tools.client_tools"), "{message}");
    let refused = Home::new().run(&["executor"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--server"), "{refused:?}");
}

/// A lease belongs to its tenant and role; an outcome is checked, limited in size, and accepted once.
#[test]
fn an_outcome_is_checked_and_taken_once() {
    let home = server_home()
        .with("CHARTER_TOOLS__ENVIRONMENT", "VAULT_TOKEN")
        .with("VAULT_TOKEN", "the-servers-own-token");
    let server = home.serve();
    let [uma, ann, eve] = ["uma", "ann", "eve"].map(|key| server.key(key));
    ann.register(&client_package(backups(), "environment: [VAULT_TOKEN]"));
    let asked = asking(&uma);
    let call = leased(&ann);
    assert!(!call.to_string().contains("the-servers-own-token"));
    assert_eq!(call["environment"], json!(["VAULT_TOKEN"]));
    let none = json!({"executor": "eve", "wait_ms": 0});
    assert_eq!(eve.post("/v1/executor/leases", &none).status, 204);
    uma.post("/v1/executor/leases", &none)
        .fails(403, "permission_denied");
    let files = ann.get(&path_of(&call, "files")).expect(200);
    assert!(files["files"][SCRIPT_FILE].is_string(), "{files}");
    ann.post(&path_of(&call, "renew"), &json!({})).expect(200);
    for what in ["renew", "outcome"] {
        eve.post(&path_of(&call, what), &succeeded(json!(1)))
            .fails(409, "illegal_transition");
    }
    eve.get(&path_of(&call, "files"))
        .fails(409, "illegal_transition");
    let report = path_of(&call, "outcome");
    ann.post(
        &report,
        &json!({"result": {"status": "gone"}, "duration_ms": 1}),
    )
    .fails(400, "invalid_document");
    let mut long = succeeded(json!(1));
    long["log"] = json!("x".repeat((64 << 10) + 1));
    ann.post(&report, &long).fails(400, "invalid_document");
    let huge = succeeded(json!("x".repeat(16 << 20)));
    ann.post(&report, &huge).fails(413, "too_large");
    ann.post(&path_of(&call, "renew"), &json!({})).expect(200);
    assert_eq!(ann.post(&report, &succeeded(one_backup("b-9"))).status, 204);
    ann.post(&report, &succeeded(one_backup("b-0")))
        .fails(409, "illegal_transition");
    let answer = asked.join().unwrap().expect(200);
    assert_eq!(ids(&answer["metadata"]["findings"], "resource_id"), ["b-9"]);
    let run = answer["metadata"]["run_ids"][0].as_str().unwrap();
    let run = uma.get(&format!("/v1/runs/{run}")).expect(200);
    let told = ids(&run["events"], "event");
    assert_eq!(
        told,
        ["started", "step_begun", "step_succeeded", "completed"]
    );
}

/// B003-4: an executor's output is checked against the tool's schema and limits like any other.
#[test]
fn b003_4_what_an_executor_answers_is_checked_against_the_tool() {
    let home = server_home();
    let server = home.serve();
    let ann = server.key("ann");
    let schema = "output_schema: {type: object, required: [backups]}";
    ann.register(&client_package(backups(), schema));
    let asked = asking(&ann);
    let call = leased(&ann);
    let report = path_of(&call, "outcome");
    assert_eq!(ann.post(&report, &succeeded(json!([1]))).status, 204);
    asked.join().unwrap().fails(502, "tool_result_invalid");

    let asked = asking(&ann);
    let call = leased(&ann);
    let report = path_of(&call, "outcome");
    let many = "[],".repeat(2_000_000);
    let heavy = format!(r#"{{"result": {{"status": "succeeded", "output": [{many}1]}}}}"#);
    ann.post_bytes(&report, heavy.into_bytes())
        .fails(400, "invalid_document");
    let rounded = succeeded(json!({"backups": "LONG"})).to_string();
    let rounded = rounded.replace(r#""LONG""#, "18446744073709551616");
    let refused = ann.post_bytes(&report, rounded.into_bytes());
    let violation = &refused.body["technical_details"]["violations"][0];
    assert_eq!(violation["pointer"], "/result/output/backups");
    let message = refused.fails(400, "invalid_document");
    assert!(
        message.contains("the number 18446744073709551616 at"),
        "{message}"
    );
    ann.post(&path_of(&call, "renew"), &json!({})).expect(200);
    let deep = (0..JSON_LEVELS).fold(json!(1), |inner, _| json!([inner]));
    let deep = succeeded(json!({"backups": deep}));
    assert_eq!(ann.post(&report, &deep).status, 204);
    let message = asked.join().unwrap().fails(502, "tool_result_invalid");
    assert!(message.contains("more than 64 levels"), "{message}");
}

/// A readonly call of a killed executor goes to another under the same key, and the first one's lease becomes invalid.
#[test]
fn a_read_of_a_killed_executor_is_done_by_another() {
    let home = server_home();
    let server = home.serve();
    let service = Service::start();
    let [uma, ann] = ["uma", "ann"].map(|key| server.key(key));
    ann.register(&client_package(service.package(), ""));
    let asked = asking(&uma);
    let first = Executor::start(&server, "ann", "first", &[]);
    let call = service.next();
    first.kill();
    let _second = Executor::start(&server, "bob", "second", &[]);
    let again = service.next();
    assert_eq!(call.idempotency_key, again.idempotency_key);
    assert!(call.idempotency_key.is_some());
    again.answer();
    let answer = asked.join().unwrap().expect(200);
    assert_eq!(ids(&answer["metadata"]["findings"], "resource_id"), ["b-1"]);
    assert!(!service.was_called());
}

#[test]
fn a_report_after_the_lease_is_refused_and_nothing_is_recorded() {
    let home = server_home();
    let server = home.serve();
    let ann = server.key("ann");
    ann.register(&client_package(backups(), ""));
    let asked = asking(&ann);
    let first = leased(&ann);
    ann.post(&path_of(&first, "renew"), &json!({})).expect(200);
    let second = leased(&ann);
    assert_ne!(first["lease_id"], second["lease_id"]);
    assert_eq!(first["idempotency_key"], second["idempotency_key"]);
    let late = ann.post(&path_of(&first, "outcome"), &succeeded(one_backup("late")));
    let message = late.fails(409, "illegal_transition");
    assert!(message.contains("nothing was recorded"), "{message}");
    let report = path_of(&second, "outcome");
    assert_eq!(
        ann.post(&report, &succeeded(one_backup("in time"))).status,
        204
    );
    let answer = asked.join().unwrap().expect(200);
    assert_eq!(
        ids(&answer["metadata"]["findings"], "resource_id"),
        ["in time"]
    );
}

/// A write that a killed executor had started may have happened: it is not repeated, and the run reports that.
#[test]
fn a_write_of_a_killed_executor_is_not_repeated() {
    let home = server_home();
    let server = home.serve();
    let service = Service::start();
    let target = "execution_target: server";
    let package = purge(&service).edit("tools/purge.yaml", target, "execution_target: client");
    server.key("ann").register(&package);
    let executor = Executor::start(&server, "ann", "first", &[]);
    let run = waiting(&server);
    let bob = server.key("bob");
    decide(&bob, &run["approvals"][0], "approve").expect(200);
    let call = service.next();
    assert!(call.idempotency_key.is_some());
    executor.kill();
    let _second = Executor::start(&server, "bob", "second", &[]);
    let done = settled(&bob, &run, "failed");
    let failure = &done["outcome"]["cause"]["failure"];
    assert_eq!(failure["code"], "tool_timeout", "{done:#}");
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains("`first` was lost"), "{message}");
    assert!(message.contains("its outcome is unknown"), "{message}");
    assert!(!service.was_called(), "written twice");
}

#[test]
fn without_an_executor_the_step_says_so_after_its_time() {
    let home = server_home();
    let server = home.serve();
    let ann = server.key("ann");
    ann.register(&client_package(backups(), "timeout_ms: 700"));
    let refused = ann.ask(&request_of(SKILL, json!({})));
    let message = refused.fails(504, "tool_timeout");
    assert!(
        message.contains("no executor took the call within 700 ms"),
        "{message}"
    );
}

/// A restarted server starts the effect again under its key; the previous call at the executor ends with its lease.
#[test]
fn a_killed_servers_call_is_begun_again_under_its_key() {
    let home = server_home();
    let server = home.serve();
    let ann = server.key("ann");
    let endless = backups().with(SCRIPT_FILE, "import time\ntime.sleep(600)\n");
    ann.register(&client_package(endless, ""));
    let executor = Executor::start(&server, "ann", "first", &[]);
    let request = request_of(SKILL, json!({}));
    let connection = ann.send_and_hold(&request);
    let scripts = || crate::crash::scripts_in(&executor.home);
    eventually("the script", || (scripts() > 0).then_some(()));
    server.kill();
    drop(connection);
    eventually("the script's end", || (scripts() == 0).then_some(()));
    let server = home.serve();
    let ann = server.key("ann");
    let call = leased(&ann);
    let report = path_of(&call, "outcome");
    assert_eq!(ann.post(&report, &succeeded(one_backup("b-1"))).status, 204);
    let key = call["idempotency_key"].as_str().unwrap();
    let run = key.strip_suffix("/step_1").unwrap();
    let done = settled(&ann, &json!({"run_id": run}), "completed");
    let begun = done["events"].as_array().unwrap().iter();
    let begun = begun.filter(|event| event["event"] == "step_begun");
    let keys: Vec<&Value> = begun.map(|event| &event["idempotency_key"]).collect();
    assert_eq!(keys, [key, key]);
}

/// A run that has timed out no longer waits for its call: the executor learns that at the next renewal, and ends the
/// script.
#[test]
fn b000_18_a_run_that_is_over_ends_the_script_at_its_executor() {
    let home = server_home();
    let server = home.serve();
    let service = Service::start();
    let tool = "tool_id: vault.purge\nname: purge\nprovider: aws\ntool_class: write\ndomain: reliability\n\
                description: Purges a vault.\nlanguage: python\nexecution_target: client\ntimeout_ms: 600000\n\
                parameters: [{name: vault, type: string, required: true, description: the vault}]\n\
                implementation: {type: script, body: \"import time; time.sleep(600)\"}\n";
    let package = purge(&service).with("tools/purge.yaml", tool).edit(
        "playbooks/purge.yaml",
        "safety:",
        "execution_timeout: 4\nsafety:",
    );
    server.key("ann").register(&package);
    let executor = Executor::start(&server, "ann", "first", &[]);
    let run = waiting(&server);
    let bob = server.key("bob");
    decide(&bob, &run["approvals"][0], "approve").expect(200);
    let scripts = || crate::crash::scripts_in(&executor.home);
    eventually("the script", || (scripts() > 0).then_some(()));
    settled(&bob, &run, "failed");
    eventually("the script's end", || (scripts() == 0).then_some(()));
    eventually("the executor's word", || {
        let log = executor.log();
        let ended = "the lease was lost; stopped the tool";
        (log.contains(ended) && log.contains("is not held")).then_some(())
    });
}
