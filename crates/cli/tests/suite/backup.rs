//! Backups, as an operator takes and restores them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use charter_testkit::postgres_server::{Database, PostgresServer};
use serde_json::{Value, json};

use crate::home::{Api, Home, Server, ids, request_of};
use crate::packages::SKILL;
use crate::playbooks::{KEYS, path_of, purge, waiting};
use crate::service::Service;

/// Listings that must be equal before and after, while memories are written.
const SHOWN: [&str; 3] = ["/v1/packages", "/v1/runs", "/v1/evidence"];

pub(crate) fn home(database: Option<&Arc<Database>>) -> Home {
    let home = Home::with_keys(&KEYS);
    match database {
        Some(database) => home.on(database),
        None => home.embedded(),
    }
}

pub(crate) fn memory(content: &str) -> Value {
    json!({"memory": {"title": "kept", "content": content, "tags": ["kept"],
        "metadata": {"source": "user_statement", "importance": 5}}, "visibility": "private"})
}

/// A server with a package, a memory, an answered request, and a run that waits for an approval; also the paths of the
/// memory and of the run.
fn filled(home: &Home) -> (Server, Service, [String; 2]) {
    let server = home.serve();
    let ann = server.key("ann");
    let service = Service::start();
    ann.register(&purge(&service));
    let kept = ann.post("/v1/memories", &memory("first")).expect(201);
    ann.ask(&request_of(SKILL, json!({}))).expect(200);
    let run = waiting(&server);
    let kept = format!("/v1/memories/{}", kept["memory_id"].as_str().unwrap());
    (server, service, [kept, path_of(&run, "")])
}

fn shown(api: &Api) -> Vec<Value> {
    SHOWN.iter().map(|path| api.get(path).expect(200)).collect()
}

fn empty_database() -> Arc<Database> {
    Arc::new(PostgresServer::shared().database())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn fails(home: &Home, arguments: &[&str], because: &str) {
    let ran = home.run(arguments);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains(because), "{ran:?}");
}

/// A server holds the same data after its backup, which was taken during writes, is restored into an empty store; its
/// unfinished runs wait for a person there.
fn everything_comes_back(database: Option<&Arc<Database>>, other: Option<&Arc<Database>>) {
    let home = home(database);
    let (server, _service, [kept, run]) = filled(&home);
    let ann = server.key("ann");
    let before = (shown(&ann), ann.get(&kept).expect(200));
    let over = Arc::new(AtomicBool::new(false));
    let writing = std::thread::spawn({
        let over = Arc::clone(&over);
        move || {
            let mut written = 0;
            while !over.load(Ordering::Relaxed) {
                ann.post("/v1/memories", &memory(&format!("number {written}")))
                    .expect(201);
                written += 1;
            }
            written
        }
    });
    let target = home.path("backup");
    let taken = home
        .run(&["backup", text(&target), "--output", "json"])
        .json(0);
    over.store(true, Ordering::Relaxed);
    assert!(writing.join().unwrap() > 0);
    assert_eq!(taken["not_in_it"].as_array().unwrap().len(), 2, "{taken}");
    let verified = home
        .run(&["backup", "verify", text(&target), "--output", "json"])
        .json(0);
    assert_eq!(verified["taken_at"], taken["taken_at"]);
    fails(&home, &["backup", text(&target)], "already exists");
    server.kill();
    fails(&home, &["restore", text(&target)], "already exists");

    let elsewhere = self::home(other);
    let restored = elsewhere
        .run(&["restore", text(&target), "--output", "json"])
        .json(0);
    assert_eq!(
        restored["paused_runs"].as_array().unwrap().len(),
        1,
        "{restored}"
    );
    let server = elsewhere.serve();
    let ann = server.key("ann");
    assert_eq!(ann.get(&run).expect(200)["status"], "paused");
    let after = (shown(&ann), ann.get(&kept).expect(200));
    assert_eq!(after.1, before.1);
    assert_eq!((&after.0[0], &after.0[2]), (&before.0[0], &before.0[2]));
    assert_eq!(
        ids(&after.0[1]["entries"], "run_id"),
        ids(&before.0[1]["entries"], "run_id")
    );
    // New writes do not collide with restored data.
    ann.post("/v1/memories", &memory("afterwards")).expect(201);
    ann.post(&format!("{run}/resume"), &json!({})).expect(200);
}

#[test]
fn sqlite_everything_comes_back() {
    everything_comes_back(None, None);
}

#[test]
fn postgres_everything_comes_back() {
    everything_comes_back(Some(&empty_database()), Some(&empty_database()));
}

/// A damaged backup leaves nothing behind, and one of another engine is detected.
#[test]
fn a_damaged_or_foreign_backup_is_refused() {
    let home = self::home(None);
    home.run(&["migrate"]);
    let target = home.path("backup");
    home.run(&["backup", text(&target), "--output", "json"])
        .json(0);
    let foreign = self::home(Some(&empty_database()));
    fails(
        &foreign,
        &["restore", text(&target)],
        "is a backup of SQLite",
    );

    let file = target.join("charter.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let empty = self::home(None);
    fails(&empty, &["restore", text(&target)], "SHA-256");
    fails(&empty, &["backup", "verify", text(&target)], "SHA-256");
    assert!(!empty.data().join("charter.db").exists());
    std::fs::remove_file(target.join("manifest.json")).unwrap();
    fails(
        &empty,
        &["backup", "verify", text(&target)],
        "does not exist",
    );
}
