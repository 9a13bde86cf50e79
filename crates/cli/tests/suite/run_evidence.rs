//! B000-19: evidence of actions. A run without a skill leaves a record for each call, and each record contains the hash
//! of the run's journal.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::home::{Api, Home, Server, ids};
use crate::packages::Package;
use crate::playbooks::{
    KEYS, PLAYBOOK, confirm, decide, path_of, purge, settled, waiting, waiting_run_of,
    waiting_run_on,
};
use crate::service::Service;
use crate::shared::Tenants;

const TOOL: &str = "tools/purge.yaml";
const DECLARED: &str = "evidence:\n  type: api_call\n  system: vaults.purge\n  native_id: .parameters.vault\n  \
                        console: {label: View vault, href: 'https://vaults.example/${native_id}'}\n  \
                        region: .output.region\n  summary: \"Purged {{parameters.vault}}: {{output.purged}}.\"\n";
const ANSWER: &str = r#"{"purged": 3, "region": "eu-west-1"}"#;

/// The package whose write declares evidence.
fn proving(service: &Service) -> Package {
    purge(service).edit(
        TOOL,
        "description: Purges a vault.\n",
        &format!("description: Purges a vault.\n{DECLARED}"),
    )
}

/// The tenants of [`KEYS`] with the package, on the shared server.
fn served(package: impl Fn(&Service) -> Package) -> (Tenants, Service) {
    let server = Tenants::with_keys(&KEYS);
    let service = Service::start();
    server.key("ann").register(&package(&service));
    (server, service)
}

/// The tenants of [`KEYS`] with the package, on a separate server, which commands in its home reach.
fn served_alone(home: Home, package: impl Fn(&Service) -> Package) -> (Home, Server, Service) {
    let home = home.with("CHARTER_API_KEY", "ann");
    let server = home.serve();
    let service = Service::start();
    server.key("ann").register(&package(&service));
    (home, server, service)
}

/// Approves the pending call of the run as this caller, and answers the call.
fn approved(bob: &Api, service: &Service, run: &Value) {
    decide(bob, &run["approvals"][0], "approve").expect(200);
    service.next().answer_with(ANSWER);
}

fn records(api: &Api, run: &Value) -> Vec<Value> {
    let of_run = format!("/v1/evidence?run_id={}", run["run_id"].as_str().unwrap());
    let found = ids(&api.get(&of_run).expect(200)["entries"], "id");
    let record = |id| api.get(&format!("/v1/evidence/{id}")).expect(200);
    found.into_iter().map(record).collect()
}

fn replayed(api: &Api, run: &Value) -> Value {
    api.get(&path_of(run, "/replay")).expect(200)
}

/// End to end: the approval, the call and the answer are in one record, which the commands find and a third party can
/// verify; the record matches the run's journal.
#[test]
fn b000_19_a_run_leaves_a_record_of_each_call_that_anchors_its_journal() {
    let (home, server, service) = served_alone(Home::with_keys(&KEYS), proving);
    let ann = server.key("ann");
    let run = waiting_run_on(&ann, "main");
    assert_eq!(
        records(&ann, &run),
        [] as [Value; 0],
        "nothing was done yet"
    );
    approved(&server.key("bob"), &service, &run);
    let done = settled(&ann, &run, "completed");
    let [record] = &records(&ann, &run)[..] else {
        panic!("{done:#}");
    };
    assert_eq!(record["attached_to"], json!([{"run_id": run["run_id"]}]));
    assert_eq!(record["summary"], "Purged main: 3.");
    assert_eq!(
        record["console_links"],
        json!([{"label": "View vault", "href": "https://vaults.example/main"}])
    );
    assert_eq!(
        record["source"],
        json!({"system": "vaults.purge", "region": "eu-west-1", "native_id": "main", "api_call": "purge"})
    );
    let payload = &record["payload"];
    assert_eq!(
        payload["output"],
        serde_json::from_str::<Value>(ANSWER).unwrap()
    );
    let anchor = &payload["run"];
    let approval = &run["approvals"][0];
    assert_eq!(
        anchor["approval"],
        json!({"approval_id": approval["approval_id"], "digest": approval["digest"], "by": "bob"})
    );
    assert_eq!(anchor["plan_digest"], done["plan_digest"]);
    // All but the last event, which follows from them.
    assert_eq!(
        anchor["journal_version"].as_u64().unwrap() + 1,
        done["version"].as_u64().unwrap()
    );
    assert_eq!(
        done["evidence"],
        json!([{"evidence_id": record["id"], "step": anchor["step"], "summary": record["summary"]}])
    );
    assert_eq!(replayed(&ann, &run)["divergence"], Value::Null);
    verifies_elsewhere(&home, server, &run, record);
}

/// The commands find the record and export it; the file verifies without a server, but not after a change.
fn verifies_elsewhere(home: &Home, server: Server, run: &Value, record: &Value) {
    let id = run["run_id"].as_str().unwrap();
    let listed = home
        .run(&["evidence", "list", "--run", id, "--output", "json"])
        .json(0);
    assert_eq!(
        ids(&listed["entries"], "id"),
        [record["id"].as_str().unwrap()]
    );
    let file = home.path("export.jsonl");
    let file = file.to_str().unwrap();
    let key = server.key("ann").get("/v1/evidence/log/key").expect(200);
    let exported = home.run(&["evidence", "export", file, "--run", id]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    assert_eq!(server.terminate(), Some(0));
    let verify = [
        "evidence",
        "verify",
        file,
        "--key",
        key["key"].as_str().unwrap(),
        "--selection",
        "--output",
        "json",
    ];
    let verdict = Home::new().run_in_home(&verify).json(0);
    assert_eq!(
        (&verdict["good"], &verdict["records"]),
        (&json!(true), &json!(1))
    );
    let lines = std::fs::read_to_string(file).unwrap();
    std::fs::write(file, lines.replace(r#"\"purged\":3"#, r#"\"purged\":2"#)).unwrap();
    assert_eq!(
        Home::new().run_in_home(&verify).json(1)["good"],
        json!(false)
    );
}

/// A person with write access to the database can write a journal with a valid chain. The evidence shows the
/// difference.
#[test]
fn b000_19_a_journal_that_was_written_anew_is_found_by_the_evidence() {
    let home = Home::with_keys(&KEYS).embedded();
    let (home, server, service) = served_alone(home, proving);
    let run = waiting(&server);
    approved(&server.key("bob"), &service, &run);
    settled(&server.key("ann"), &run, "completed");
    assert_eq!(server.terminate(), Some(0));
    rewrite(
        &home.data(),
        run["run_id"].as_str().unwrap(),
        r#""purged":3"#,
        r#""purged":2"#,
    );
    let server = home.serve();
    let ann = server.key("ann");
    let [record] = &records(&ann, &run)[..] else {
        panic!("no record");
    };
    let replayed = replayed(&ann, &run);
    let found = &replayed["divergence"];
    assert_eq!(found["at"], record["payload"]["run"]["journal_version"]);
    let detail = found["detail"].as_str().unwrap();
    assert!(detail.contains(record["id"].as_str().unwrap()), "{detail}");
}

/// Replaces a passage of a run's journal and recomputes its hash chain.
fn rewrite(data: &Path, run: &str, from: &str, to: &str) {
    let script = r#"
import hashlib, sqlite3, sys
data, run, before, after = sys.argv[1:]
database = sqlite3.connect(data + "/charter.db")
database.execute("DROP TRIGGER journal_event_is_immutable")
query = "SELECT rowid, sequence, payload FROM journal_event WHERE run_id = ? ORDER BY sequence"
head, changed = bytes(32), 0
for row, sequence, payload in database.execute(query, [run]).fetchall():
    changed += payload.count(before)
    payload = payload.replace(before, after)
    head = hashlib.sha256(head + sequence.to_bytes(8, "big") + payload.encode()).digest()
    update = "UPDATE journal_event SET payload = ?, hash = ? WHERE rowid = ?"
    database.execute(update, [payload, head, row])
assert changed == 1, changed
database.commit()
"#;
    let ran = Command::new("python3")
        .args(["-c", script, data.to_str().unwrap(), run, from, to])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

/// A failing filter does not affect the run, and its record lists the gap.
#[test]
fn b000_19_a_tool_whose_filters_fail_still_leaves_a_record() {
    let broken = |service: &Service| {
        proving(service).edit(
            TOOL,
            "native_id: .parameters.vault",
            "native_id: 'error(\"no\")'",
        )
    };
    let (server, service) = served(broken);
    let run = waiting_run_of(&server.key("ann"));
    approved(&server.key("bob"), &service, &run);
    let ann = server.key("ann");
    let done = settled(&ann, &run, "completed");
    let [record] = &records(&ann, &run)[..] else {
        panic!("{done:#}");
    };
    assert_eq!(record["source"]["native_id"], "vault.purge");
    assert_eq!(record["summary"], "`vault.purge` answered.");
    assert_eq!(record["payload"]["output"]["purged"], 3);
    let fault = record["payload"]["fault"].as_str().unwrap();
    assert!(
        fault.contains("the evidence of the tool `vault.purge`"),
        "{fault}"
    );
    assert!(done["evidence"][0]["warning"].is_string(), "{done:#}");
}

/// A run that is aborted by hand has evidence of its calls, even if none was running.
#[test]
fn b000_19_an_aborted_run_proves_what_it_did() {
    let twice = |service: &Service| {
        let step = "\n  - {step_id: s2, name: Purge, type: write, tool_id: vault.purge, on_failure: stop, parameters: {vault: \"${s1.region}\"}}\nsafety:";
        proving(service).edit("playbooks/purge.yaml", "\nsafety:", step)
    };
    let (server, service) = served(twice);
    let (ann, uma) = (server.key("ann"), server.key("uma"));
    let path = format!("/v1/playbooks/{PLAYBOOK}/runs");
    let vault = json!({"parameters": {"vault": "main"}});
    let run = uma.post(&path, &vault).expect(201);
    // A user confirms, who does not decide on approvals.
    confirm(&uma, &run).expect(200);
    let run = settled(&ann, &run, "awaiting_approval");
    approved(&server.key("bob"), &service, &run);
    crate::home::eventually("the second question", || {
        let shown = ann.get(&path_of(&run, "")).expect(200);
        (shown["approvals"][0]["call"]["step"] == "s2").then_some(())
    });
    let why = json!({"reason": "enough"});
    ann.post(&path_of(&run, "/abort"), &why).expect(200);
    let done = settled(&ann, &run, "aborted");
    let found = records(&ann, &run);
    assert_eq!(found.len(), 1, "{done:#}");
    assert_eq!(found[0]["payload"]["run"]["step"], "s1");
    assert_eq!(replayed(&ann, &run)["divergence"], Value::Null);
}

/// A dry run has evidence of its reads, but not of the writes that it simulates.
#[test]
fn b000_19_a_dry_run_proves_only_what_was_read() {
    let knows = |service: &Service| {
        let parameter = "parameters: [{name: dry_run, type: boolean, required: false, description: only say, default: false}, ";
        let read = "steps:\n  - {step_id: s0, name: Look, type: read, tool_id: vault.list_backups, parameters: {vault: main}}\n";
        proving(service)
            .edit(TOOL, "parameters: [", parameter)
            .edit("playbooks/purge.yaml", "steps:\n", read)
    };
    let (server, service) = served(knows);
    let ann = server.key("ann");
    let wanted = json!({"parameters": {"vault": "main"}, "dry_run": true});
    let path = format!("/v1/playbooks/{PLAYBOOK}/runs");
    let run = ann.post(&path, &wanted).expect(201);
    let done = settled(&ann, &run, "completed");
    assert!(!service.was_called());
    assert_eq!(
        crate::home::ids(&done["steps"], "state"),
        ["succeeded", "succeeded"]
    );
    let [record] = &records(&ann, &run)[..] else {
        panic!("{done:#}");
    };
    let about = &record["payload"]["run"];
    assert_eq!(
        (&about["step"], &about["dry_run"]),
        (&json!("s0"), &json!(true))
    );
}
