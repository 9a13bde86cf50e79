//! An upgrade and the way back between real builds, while runs wait for approval, on both engines.
//!
//! `make test-upgrade` builds two binaries with layouts that no release has. The first layout only adds to the present
//! one; the second removes a part of the first. Beside that the builds are equal.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use charter_testkit::postgres_server::{Database, PostgresServer};
use serde_json::{Value, json};

use crate::backup;
use crate::home::{CHARTER, Home, Server, eventually};
use crate::playbooks::{decide, path_of, purge, settled, waiting};
use crate::service::Service;

/// Runs a statement over a data directory, whose database must not be locked for half a second.
const STATEMENT: &str = r#"
import sqlite3, sys
database = sqlite3.connect(sys.argv[1] + "/charter.db", timeout=0.5, isolation_level=None)
database.execute(sys.argv[2])
"#;

/// Seconds that the removing migration works before it is killed. A killed process leaves PostgreSQL at work until the
/// statement ends; SQLite's work ends with the process.
const PAUSE_S: u32 = 10;
const LONG_PAUSE_S: u32 = 1_000;

/// A build of the rehearsal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Build {
    /// This one.
    Present,
    /// With a layout that only adds.
    Adding,
    /// With that layout, and one that removes.
    Removing,
}

impl Build {
    fn binary(self) -> String {
        let variable = match self {
            Self::Present => return CHARTER.to_owned(),
            Self::Adding => "CHARTER_TEST_NEXT_LAYOUT",
            Self::Removing => "CHARTER_TEST_NEXT_BREAKING_LAYOUT",
        };
        std::env::var(variable).unwrap_or_else(|_| panic!("{variable} names no binary"))
    }
}

/// An installation that changes between builds, with the service that its runs call.
struct Installation {
    home: Home,
    database: Option<Arc<Database>>,
    service: Service,
}

impl Installation {
    /// A new installation of this build.
    fn new(database: Option<Arc<Database>>) -> Self {
        Self {
            home: backup::home(database.as_ref()),
            database,
            service: Service::start(),
        }
    }

    fn use_build(&mut self, build: Build) {
        self.home.use_binary(&build.binary());
    }

    /// The report of `charter migrate --check`, which ends with `code`: layout, oldest reader, the build's own layout.
    #[track_caller]
    fn layout(&self, code: i32) -> [u64; 3] {
        let report = self.home.run(&["migrate", "--check", "--output", "json"]);
        let report = report.json(code);
        ["schema_version", "oldest_reader", "newest"].map(|name| report[name].as_u64().unwrap())
    }

    /// Runs a statement over the stored data, beside the builds.
    fn execute(&self, sql: &str) {
        match &self.database {
            Some(database) => drop(database.query(sql)),
            None => {
                let ran = statement(&self.home.data(), sql);
                assert!(ran.status.success(), "{ran:?}");
            }
        }
    }

    /// Whether a process is in the middle of the removing migration.
    fn is_migrating(&self) -> bool {
        let Some(database) = &self.database else {
            // Only the migration holds the write lock for so long.
            let ran = statement(&self.home.data(), "BEGIN IMMEDIATE");
            return String::from_utf8(ran.stderr).unwrap().contains("is locked");
        };
        let sleeping = "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND state = 'active' AND wait_event = 'PgSleep'";
        database.query(sleeping).trim() == "1"
    }

    /// The stored data: the files of the data directory, and the database. Left out are the lock, which names the
    /// process that tried, and SQLite's empty log.
    fn content(&self) -> (BTreeMap<PathBuf, Vec<u8>>, Option<String>) {
        let entries = fs::read_dir(self.home.data()).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        let files = files.filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            let passing = ["charter.lock", "charter.db-shm", "charter.db-wal"];
            path.is_file() && !passing.contains(&name)
        });
        let files = files.map(|path| {
            let bytes = fs::read(&path).unwrap();
            (path, bytes)
        });
        let database = self.database.as_ref().map(|database| database.dump());
        (files.collect(), database)
    }

    /// A command that needs the store fails with these texts, and changes nothing.
    #[track_caller]
    fn refuses(&self, arguments: &[&str], texts: [&str; 2]) {
        let before = self.content();
        let ran = self.home.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        let words: Vec<&str> = ran.err.split_whitespace().collect();
        let found = words.join(" ");
        for text in texts {
            assert!(found.contains(text), "{arguments:?}: {found}");
        }
        assert!(before == self.content(), "{arguments:?} changed the data");
    }
}

/// Approves a run that waits, answers its call, and waits for its end.
fn finish(service: &Service, server: &Server, run: &Value) {
    let bob = server.key("bob");
    let waits = settled(&bob, run, "awaiting_approval");
    // A shared database keeps a lease of the previous process until it expires.
    eventually("the approval", || {
        let answer = decide(&bob, &waits["approvals"][0], "approve");
        (answer.status != 503).then(|| answer.expect(200))
    });
    service.next().answer_with("{}");
    settled(&bob, run, "completed");
    assert!(!service.was_called());
}

fn statement(data: &Path, sql: &str) -> Output {
    let mut command = Command::new("python3");
    command.args(["-c", STATEMENT, data.to_str().unwrap(), sql]);
    command.output().unwrap()
}

fn stop(server: Server) {
    assert_eq!(server.terminate(), Some(0));
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Kills the removing build in the middle of its migration: the layout from before stays, and the present build starts.
fn kill_during_migration(installation: &mut Installation, waits: &Value) {
    let before = installation.layout(0);
    let seconds = match installation.database {
        Some(_) => PAUSE_S,
        None => LONG_PAUSE_S,
    };
    installation.execute(&format!("INSERT INTO rehearsal_pause VALUES ({seconds})"));
    installation.use_build(Build::Removing);
    let mut migrating = installation.home.spawn(&["migrate"]);
    eventually("the migration", || {
        assert_eq!(migrating.try_wait().unwrap(), None, "it ended");
        installation.is_migrating().then_some(())
    });
    migrating.kill().unwrap();
    migrating.wait().unwrap();
    installation.use_build(Build::Present);
    // On PostgreSQL the start waits until the server has undone the migration.
    let server = installation.home.serve();
    settled(&server.key("bob"), waits, "awaiting_approval");
    stop(server);
    assert_eq!(installation.layout(0), before);
    installation.execute("DELETE FROM rehearsal_pause");
}

/// The present and the adding build refuse the layout of the removing one, before they change anything.
fn refuse_the_removing_layout(installation: &mut Installation) {
    let [found, oldest_reader, own] = installation.layout(0);
    assert_eq!([found, oldest_reader], [own; 2]);
    for build in [Build::Present, Build::Adding] {
        installation.use_build(build);
        let [still_found, oldest_reader, own] = installation.layout(1);
        assert_eq!((still_found, oldest_reader), (found, found));
        assert!(own < found);
        let refusal = format!(
            "has layout {found}, of Charter rehearsed break; Charter {} has layout {own} and cannot open it, and left \
             it unchanged",
            env!("CARGO_PKG_VERSION")
        );
        let commands = "first export the data with Charter rehearsed break (`charter backup DIRECTORY`, and \
                        `charter tenant export TENANT DIRECTORY` for each tenant)";
        let (backup, export) = (
            installation.home.path("refused-backup"),
            installation.home.path("refused-export"),
        );
        for arguments in [
            &["migrate"][..],
            &["serve", "--listen", "127.0.0.1:0"],
            &["backup", text(&backup)],
            &["tenant", "export", "acme", text(&export)],
        ] {
            installation.refuses(arguments, [&refusal, commands]);
        }
        assert!(!backup.exists() && !export.exists());
    }
}

/// Restores a backup from before the upgrade with the present build, and completes a run that waited then.
fn restore_the_backup(backup: &Path, home: &Home, service: &Service, run: &Value) {
    let report = home.run(&["restore", text(backup), "--output", "json"]);
    let report = report.json(0);
    let paused = report["paused_runs"].as_array().map(Vec::len);
    assert_eq!(paused, Some(3), "{report}");
    let server = home.serve();
    let resume = path_of(run, "/resume");
    server.key("ann").post(&resume, &json!({})).expect(200);
    finish(service, &server, run);
    stop(server);
}

/// Runs wait for approval across an upgrade to a layout that only adds, and the way back over that layout. Returns a
/// run that the present build left waiting afterwards.
fn add_and_return(installation: &mut Installation, runs: [&Value; 2]) -> Value {
    let [present, oldest_reader, newest] = installation.layout(0);
    assert_eq!(present, newest);
    let added = present + 1;

    installation.use_build(Build::Adding);
    assert_eq!(installation.layout(1), [present, oldest_reader, added]);
    let server = installation.home.serve();
    finish(&installation.service, &server, runs[0]);
    let during = waiting(&server);
    stop(server);
    assert_eq!(installation.layout(0), [added, oldest_reader, added]);

    installation.use_build(Build::Present);
    assert_eq!(installation.layout(0), [added, oldest_reader, present]);
    let server = installation.home.serve();
    settled(&server.key("bob"), runs[0], "completed");
    finish(&installation.service, &server, runs[1]);
    finish(&installation.service, &server, &during);
    let after = waiting(&server);
    stop(server);
    assert_eq!(installation.layout(0), [added, oldest_reader, present]);
    after
}

/// Runs wait for approval across each change of the build: to a layout that only adds and back, through a migration
/// that is killed, and to a layout that removes, from which only a backup leads back.
fn upgrade_and_back(database: Option<Arc<Database>>, other: Option<&Arc<Database>>) {
    let mut installation = Installation::new(database);
    let server = installation.home.serve();
    let package = purge(&installation.service);
    server.key("ann").register(&package);
    let [first, second, third] = [(); 3].map(|()| waiting(&server));
    let backup = installation.home.path("before-the-upgrade");
    let taken = ["backup", text(&backup), "--output", "json"];
    installation.home.run(&taken).json(0);
    stop(server);

    let fourth = add_and_return(&mut installation, [&first, &second]);
    kill_during_migration(&mut installation, &fourth);

    installation.use_build(Build::Removing);
    let server = installation.home.serve();
    finish(&installation.service, &server, &third);
    finish(&installation.service, &server, &fourth);
    let fifth = waiting(&server);
    stop(server);

    refuse_the_removing_layout(&mut installation);
    export_the_removing_layout(&mut installation);
    let restored = backup::home(other);
    restore_the_backup(&backup, &restored, &installation.service, &second);
    let server = installation.home.serve();
    finish(&installation.service, &server, &fifth);
    stop(server);
}

/// The removing build exports the data, as the refusal of the others advises.
fn export_the_removing_layout(installation: &mut Installation) {
    installation.use_build(Build::Removing);
    let home = &installation.home;
    let (backup, export) = (home.path("newer-backup"), home.path("export"));
    let exporting = [
        "tenant",
        "export",
        "acme",
        text(&export),
        "--output",
        "json",
    ];
    let exported = home.run(&exporting).json(0);
    assert!(exported["rows"].as_u64().unwrap() > 0, "{exported}");
    let taken = ["backup", text(&backup), "--output", "json"];
    home.run(&taken).json(0);
}

fn empty_database() -> Arc<Database> {
    Arc::new(PostgresServer::shared().database())
}

#[test]
#[ignore = "started by `make test-upgrade`, which builds the other binaries"]
fn sqlite_runs_wait_through_an_upgrade_and_the_way_back() {
    upgrade_and_back(None, None);
}

#[test]
#[ignore = "started by `make test-upgrade`, which builds the other binaries"]
fn postgres_runs_wait_through_an_upgrade_and_the_way_back() {
    upgrade_and_back(Some(empty_database()), Some(&empty_database()));
}

/// A replica of the next version migrates while one of the present version serves, and both continue.
#[test]
#[ignore = "started by `make test-upgrade`, which builds the other binaries"]
fn postgres_replicas_of_both_versions_serve_over_a_layout_that_only_adds() {
    let database = empty_database();
    let earlier = Installation::new(Some(Arc::clone(&database)));
    let mut later = Installation::new(Some(database));
    let first_server = earlier.home.serve();
    let package = purge(&earlier.service);
    first_server.key("ann").register(&package);
    let runs = [(); 4].map(|()| waiting(&first_server));
    later.use_build(Build::Adding);
    let second_server = later.home.serve();
    let [found, _, newest] = later.layout(0);
    assert_eq!(found, newest);
    for (run, server) in
        runs.iter()
            .zip([&first_server, &second_server, &first_server, &second_server])
    {
        finish(&earlier.service, server, run);
    }
    stop(second_server);
    let run = waiting(&first_server);
    finish(&earlier.service, &first_server, &run);
    stop(first_server);
}
