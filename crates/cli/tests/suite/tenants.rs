//! Export and erasure of a tenant by an operator with access to the store.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use charter_testkit::postgres_server::PostgresServer;
use serde_json::{Value, json};

use crate::backup::{home, memory};
use crate::home::{Api, Home, Server, eventually, request_of};
use crate::packages::SKILL;
use crate::playbooks::{path_of, purge, waiting};
use crate::service::Service;

/// Creates a package, a memory, a session's turn and an answered request of the caller.
fn fill(api: &Api, service: &Service) -> String {
    api.register(&purge(service));
    api.post("/v1/memories", &memory("gold")).expect(201);
    let answer = api.ask(&request_of(SKILL, json!({}))).expect(200);
    let evidence = answer["metadata"]["evidence_ids"][0].as_str();
    evidence
        .unwrap_or_else(|| panic!("no evidence: {answer:#}"))
        .to_owned()
}

/// Ends the tenant's unfinished run.
fn leave(server: &Server, run: &str) {
    let reason = json!({"reason": "the tenant leaves"});
    let ann = server.key("ann");
    ann.post(&format!("{run}/abort"), &reason).expect(200);
}

/// All listings that a caller sees.
fn shown(api: &Api) -> Vec<Value> {
    let paths = [
        "/v1/packages",
        "/v1/runs",
        "/v1/evidence",
        "/v1/memories",
        "/v1/approvals",
    ];
    paths.map(|path| api.get(path).expect(200)).to_vec()
}

fn is_empty(listing: &Value) -> bool {
    let entries = listing.as_array().or(listing["entries"].as_array());
    entries.is_some_and(Vec::is_empty)
}

pub(crate) fn erase(home: &Home, arguments: &[&str]) -> crate::home::Ran {
    let mut all = vec!["tenant", "erase", "acme"];
    all.extend(arguments);
    all.extend(["--output", "json"]);
    home.run(&all)
}

/// The rows of an export, by table.
fn exported(home: &Home, tenant: &str, name: &str) -> BTreeMap<String, String> {
    let target = home.path(name);
    let path = target.to_str().unwrap();
    let arguments = ["tenant", "export", tenant, path, "--output", "json"];
    let report = home.run(&arguments).json(0);
    assert!(report["rows"].as_u64().unwrap() > 20, "{report:#}");
    home.run(&["backup", "verify", path, "--output", "json"])
        .json(0);
    let files = std::fs::read_dir(&target).unwrap().map(Result::unwrap);
    let tables = files.filter_map(|file| {
        let name = file.file_name().into_string().unwrap();
        let table = name.strip_suffix(".jsonl")?.to_owned();
        Some((table, std::fs::read_to_string(file.path()).unwrap()))
    });
    tables.collect()
}

/// A server of two tenants with the same data, one of which has a waiting run; also that run's path, and the proof of a
/// record.
fn two_tenants(home: &Home) -> (Server, Service, String, Value) {
    let server = home.serve();
    let service = Service::start();
    let (ann, eve) = (server.key("ann"), server.key("eve"));
    let evidence = fill(&ann, &service);
    fill(&eve, &service);
    let proof = ann
        .get(&format!("/v1/evidence/log/proof/{evidence}"))
        .expect(200);
    let run = path_of(&waiting(&server), "");
    (server, service, run, proof)
}

/// The proof verifies for a holder of the proof and the key.
fn verifies(home: &Home, proof: &Value) {
    let mut lines = vec![proof["header"].to_string()];
    let leaves = proof["leaves"].as_array().unwrap();
    lines.extend(leaves.iter().map(Value::to_string));
    let file = home.path("proof.jsonl");
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    let ran = home.run_in_home(&["evidence", "verify", file.to_str().unwrap(), "--selection"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// Refused while a run waits; previewed before it is done; then gone for every running process, while another tenant is
/// unaffected, and issued proofs stay valid.
#[test]
fn postgres_a_tenant_is_erased_while_servers_go_on() {
    let database = Arc::new(PostgresServer::shared().database());
    let home = self::home(Some(&database));
    let (server, _service, run, proof) = two_tenants(&home);
    let elsewhere = self::home(Some(&database));
    let second = elsewhere.serve();
    let found = second
        .key("ann")
        .post("/v1/memories/search", &json!({"text": "gold"}));
    assert!(!is_empty(&found.expect(200)));
    let eve = shown(&second.key("eve"));

    let export = exported(&home, "acme", "export");
    assert!(export["memory_version"].contains("gold"));
    assert!(!export.values().any(|rows| rows.contains("umbra")));

    let refused = erase(&home, &["--confirm", "acme"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.err.contains("1 of its runs have not ended"),
        "{refused:?}"
    );
    let wrong = erase(&home, &["--confirm", "umbra"]);
    assert!(wrong.err.contains("nothing was erased"), "{wrong:?}");
    leave(&server, &run);
    let would = erase(&home, &[]).json(1);
    assert_eq!(would["would_erase"]["memory"], 1, "{would:#}");
    let size = &server
        .key("ann")
        .get("/v1/evidence/log/checkpoint")
        .expect(200)["size"];

    let erased = erase(&home, &["--confirm", "acme"]).json(0);
    assert_eq!(erased["erased"]["memory"], 1, "{erased:#}");
    assert_eq!(&erased["log_size"], size);
    for server in [&server, &second] {
        let ann = server.key("ann");
        eventually("nothing of the tenant", || {
            shown(&ann).iter().all(is_empty).then_some(())
        });
        let found = ann.post("/v1/memories/search", &json!({"text": "gold"}));
        assert!(is_empty(&found.expect(200)));
        eventually("the tenant without its skill", || {
            let absent = ann.get(&format!("/v1/resolve/skill/{SKILL}"));
            (absent.status == 404).then_some(())
        });
        assert_eq!(shown(&server.key("eve")), eve);
    }
    verifies(&home, &proof);

    // The tenant returns: its log continues, and an old head is consistent with the new one.
    let ann = second.key("ann");
    let service = Service::start();
    fill(&ann, &service);
    let now = ann.get("/v1/evidence/log/checkpoint").expect(200);
    assert!(now["size"].as_u64() > size.as_u64(), "{now:#}");
    let path = format!(
        "/v1/evidence/log/consistency?from={size}&to={}",
        now["size"]
    );
    assert_eq!(
        ann.get(&path).expect(200)["from"]["root"],
        erased["log_root"]
    );
    let file = home.path("later.jsonl");
    std::fs::write(&file, ann.bytes("/v1/evidence/export")).unwrap();
    let ran = home.run_in_home(&["evidence", "verify", file.to_str().unwrap(), "--selection"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// Only one process at a time writes to a data directory: the server is stopped first. The database's file then
/// contains none of the tenant's texts.
#[test]
fn sqlite_a_tenant_is_erased_while_no_server_runs() {
    let home = self::home(None);
    let (server, _service, run, proof) = two_tenants(&home);
    leave(&server, &run);
    let eve = shown(&server.key("eve"));
    let before = exported(&home, "umbra", "before");
    let held = erase(&home, &["--confirm", "acme"]);
    assert_eq!(held.code, Some(2), "{held:?}");
    assert!(held.err.contains("used by another process"), "{held:?}");
    server.terminate();
    assert!(is_in_the_file(&home, "umbra"));
    assert!(is_in_the_file(&home, "the tenant leaves"));
    let erased = erase(&home, &["--confirm", "acme"]).json(0);
    assert_eq!(erased["erased"]["memory"], 1, "{erased:#}");
    assert!(!is_in_the_file(&home, "the tenant leaves"));
    assert_eq!(exported(&home, "umbra", "after"), before);
    let server = home.serve();
    assert!(shown(&server.key("ann")).iter().all(is_empty));
    assert_eq!(shown(&server.key("eve")), eve);
    verifies(&home, &proof);
}

fn is_in_the_file(home: &Home, text: &str) -> bool {
    let has = |file: &Path| {
        let bytes = std::fs::read(file).unwrap_or_default();
        bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    let data = home.data();
    has(&data.join("charter.db")) || has(&data.join("charter.db-wal"))
}

/// An export is not a backup.
#[test]
fn an_export_is_not_restored() {
    let home = self::home(None);
    let (server, _service, _run, _proof) = two_tenants(&home);
    exported(&home, "acme", "export");
    server.kill();
    let target = home.path("export");
    let ran = self::home(None).run(&["restore", target.to_str().unwrap()]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err.contains("an export of the tenant `acme`"),
        "{ran:?}"
    );
}
