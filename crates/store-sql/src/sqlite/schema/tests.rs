//! Opens data directories of older, equal and newer layouts, and kills a process during a migration.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use charter_contract::ids::TenantId;
use charter_contract::time::Timestamp;
use rusqlite::ErrorCode;

use super::*;
use crate::failure::sqlite::DATABASE;
use crate::sqlite::{SqliteOptions, SqliteStore, back_up, export_tenant};

/// The directory of the process that migrates without end; absent in an ordinary run.
const DIRECTORY: &str = "CHARTER_MIGRATION_TEST_DIR";

/// A migration that never ends.
const ENDLESS: (&str, &str) = (
    "endless",
    "CREATE TABLE endless (steps INTEGER NOT NULL) STRICT;
     INSERT INTO endless (steps)
     WITH RECURSIVE step (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM step)
     SELECT count(*) FROM step",
);

/// Only the endless migration holds the write lock for so long.
const LONG: Duration = Duration::from_millis(500);

/// The longest wait for the other process.
const DEADLINE: Duration = Duration::from_secs(60);

/// Returns the migrations of a build that knows so many of the rehearsed layouts.
fn build(rehearsed: usize) -> Vec<Migration> {
    schema::followed_by(committed(), &NEXT[..rehearsed])
}

/// Returns the number of the newest layout that is not rehearsed.
fn present() -> u32 {
    schema::newest(&committed())
}

/// Opens a directory as such a build, and closes it.
fn open(dir: &Path, rehearsed: usize) -> Result<(), StoreError> {
    SqliteStore::open_among(dir, &SqliteOptions::default(), &build(rehearsed)).map(drop)
}

/// Returns the layout in a directory.
fn stored(dir: &Path) -> StoreLayout {
    let path = dir.join(DATABASE);
    let connection = Connection::open(&path).unwrap();
    layout_among(&connection, &path, &committed()).unwrap()
}

/// Returns the number of applied migrations.
fn applied(dir: &Path) -> u32 {
    let connection = Connection::open(dir.join(DATABASE)).unwrap();
    let sql = "SELECT count(*) FROM refinery_schema_history";
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn an_older_layout_is_migrated_and_an_equal_one_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), 0).unwrap();
    assert_eq!(stored(dir.path()).version, present());
    assert!(stored(dir.path()).opens_in(present()));
    let newest = StoreLayout {
        version: present() + 2,
        oldest_reader: present() + 2,
        charter: "rehearsed break".to_owned(),
    };
    for _ in 0..2 {
        open(dir.path(), 2).unwrap();
        assert_eq!(stored(dir.path()), newest);
        assert_eq!(applied(dir.path()), present() + 2);
    }
}

#[test]
fn a_newer_layout_that_only_adds_is_opened_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), 1).unwrap();
    let newer = stored(dir.path());
    assert_eq!(newer.version, present() + 1);
    assert!(newer.opens_in(present()));
    for rehearsed in [0, 1, 0] {
        open(dir.path(), rehearsed).unwrap();
        assert_eq!(stored(dir.path()), newer);
    }
    let backup = dir.path().join("backup");
    let at = Timestamp::from_micros(0).unwrap();
    let manifest = back_up(dir.path(), &backup, at).unwrap();
    assert_eq!(manifest.layout, present() + 1);
}

#[test]
fn a_newer_layout_that_names_a_newer_reader_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), 2).unwrap();
    let path = dir.path().join(DATABASE);
    let before = fs::read(&path).unwrap();
    for (rehearsed, build) in [(0, present()), (1, present() + 1)] {
        match open(dir.path(), rehearsed) {
            Err(StoreError::NewerSchema {
                path: named,
                found,
                charter,
                supported,
            }) => {
                assert_eq!(named, path.display().to_string());
                assert_eq!((found, supported), (present() + 2, build));
                assert_eq!(charter, "rehearsed break");
            }
            other => panic!("{other:?}"),
        }
    }
    let at = Timestamp::from_micros(0).unwrap();
    let (backup, export) = (dir.path().join("backup"), dir.path().join("export"));
    let tenant = TenantId::parse("acme").unwrap();
    for refused in [
        back_up(dir.path(), &backup, at),
        export_tenant(dir.path(), &tenant, &export, at),
    ] {
        assert!(
            matches!(refused, Err(StoreError::NewerSchema { .. })),
            "{refused:?}"
        );
    }
    assert!(!backup.exists() && !export.exists());
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_refusal_names_both_versions_and_the_commands_of_the_way_back() {
    let refused = StoreError::NewerSchema {
        path: "/data".to_owned(),
        found: 3,
        charter: "9.9.9".to_owned(),
        supported: 1,
    };
    let own = env!("CARGO_PKG_VERSION");
    let text = format!(
        "the data in /data has layout 3, of Charter 9.9.9; Charter {own} has layout 1 and cannot open it, and left it \
         unchanged: start Charter 9.9.9 or later. To return to Charter {own}, first export the data with Charter 9.9.9 \
         (`charter backup DIRECTORY`, and `charter tenant export TENANT DIRECTORY` for each tenant); then restore a \
         backup from before the upgrade into an empty data directory or database, by `charter restore BACKUP` of \
         Charter {own}"
    );
    assert_eq!(refused.to_string(), text);
}

/// All migrations of an upgrade are one transaction.
#[test]
fn a_failing_migration_leaves_the_layout_from_before_the_upgrade() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), 0).unwrap();
    let before = stored(dir.path());
    let fails = ("fails", "INSERT INTO missing (n) VALUES (1)");
    let known = schema::followed_by(build(1), &[fails]);
    match SqliteStore::open_among(dir.path(), &SqliteOptions::default(), &known) {
        Err(StoreError::Engine { doing, .. }) => assert_eq!(doing, "migrating the database"),
        other => panic!("{other:?}"),
    }
    assert_eq!(stored(dir.path()), before);
    open(dir.path(), 0).unwrap();
    open(dir.path(), 1).unwrap();
    assert_eq!(stored(dir.path()).version, present() + 1);
}

#[test]
fn four_that_open_at_once_migrate_once() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), 0).unwrap();
    let open_in_turn = || loop {
        match open(dir.path(), 1) {
            Err(StoreError::Locked { .. }) => std::thread::yield_now(),
            opened => return opened,
        }
    };
    std::thread::scope(|scope| {
        let openers: Vec<_> = (0..4).map(|_| scope.spawn(open_in_turn)).collect();
        for opener in openers {
            opener.join().unwrap().unwrap();
        }
    });
    assert_eq!(applied(dir.path()), present() + 1);
}

/// The process that migrates without end; without its variable it does nothing.
#[test]
#[ignore = "started by the test below"]
fn migrates_without_end() {
    let Some(dir) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let known = schema::followed_by(build(1), &[ENDLESS]);
    drop(SqliteStore::open_among(
        Path::new(&dir),
        &SqliteOptions::default(),
        &known,
    ));
}

/// Whether another process holds the write lock all the time that this call waits.
fn is_written(connection: &Connection) -> bool {
    match connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK") {
        Ok(()) => false,
        Err(error) => error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy),
    }
}

#[test]
fn a_process_that_is_killed_during_a_migration_leaves_the_layout_from_before() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), 0).unwrap();
    let before = stored(dir.path());
    let mut migrating = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "sqlite::schema::tests::migrates_without_end",
            "--ignored",
            "--nocapture",
        ])
        .env(DIRECTORY, dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let connection = Connection::open(dir.path().join(DATABASE)).unwrap();
    connection.busy_timeout(LONG).unwrap();
    let start = Instant::now();
    while !is_written(&connection) {
        assert_eq!(migrating.try_wait().unwrap(), None, "the migration ended");
        assert!(start.elapsed() < DEADLINE, "the migration did not begin");
        std::thread::yield_now();
    }
    drop(connection);
    migrating.kill().unwrap();
    migrating.wait().unwrap();
    assert_eq!(stored(dir.path()), before);
    open(dir.path(), 0).unwrap();
    open(dir.path(), 2).unwrap();
    assert_eq!(stored(dir.path()).version, present() + 2);
}
