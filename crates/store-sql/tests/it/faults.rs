//! Faults of SQLite and its directory: a full device, a second process, damaged or newer files, and attempts to change
//! immutable rows.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use charter_store::StoreError;
use charter_store::evidence::Evidence;
use charter_store::evidence_log::{EvidenceLog, PublishedCheckpoint};
use charter_store::journal::{GENESIS, Journal, NextPhase, verify_chain};
use charter_store::lease::{Fence, Leases};
use charter_store::outbox::{NewMessage, Outbox};
use charter_store::tag::Tags;
use charter_store_sql::StoreLayout;
use charter_store_sql::sqlite::{
    SqliteOptions, SqliteStore, back_up, layout, migrations_pending, newest_schema_version,
    schema_version,
};
use charter_testkit::assert_refused;
use charter_testkit::store_suite::Outcome;
use charter_testkit::store_suite::sample;
use rusqlite::Connection;

const DATABASE: &str = "charter.db";

fn open(dir: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(dir, &SqliteOptions::default())
}

/// Returns messages of 64 KiB each.
fn bulk(count: usize) -> Result<Vec<NewMessage>, Box<dyn std::error::Error + Send + Sync>> {
    let message = NewMessage {
        payload: "x".repeat(64 * 1024),
        ..sample::message("bulk", 0)?
    };
    Ok(vec![message; count])
}

/// Writes until the store is full. Then every earlier write is present, no part of the refused write is, and reads
/// work. Returns the number of messages.
async fn fill(store: &SqliteStore) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
    let record = sample::tags("acme", 1, sample::at(9)?)?;
    store.put_tags(&record).await?;
    let mut written = 0;
    loop {
        assert!(written < 1_000, "it never fills");
        match store.publish(bulk(5)?).await {
            Ok(()) => written += 5,
            Err(StoreError::Full { .. }) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let messages = store.messages(0, 10_000).await?;
    assert_eq!(messages.len(), written);
    let tenant = sample::tenant("acme")?;
    let read = store
        .tags(&tenant, &record.request_id, sample::at(0)?)
        .await?;
    assert_eq!(read, Some(record));
    Ok(written)
}

/// Asserts that the store accepts writes again, and that all of them are present.
async fn assert_recovered(store: &SqliteStore, written: usize) -> Outcome {
    store.publish(bulk(5)?).await?;
    let messages = store.messages(0, 10_000).await?;
    assert_eq!(messages.len(), written + 5);
    assert_eq!(store.check_integrity().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn a_full_quota_refuses_writes_until_it_is_raised() -> Outcome {
    let dir = tempfile::tempdir()?;
    let options = SqliteOptions {
        max_bytes: Some(4 * 1024 * 1024),
        ..SqliteOptions::default()
    };
    let store = SqliteStore::open(dir.path(), &options)?;
    let written = fill(&store).await?;
    assert!(written > 0);
    store.set_max_bytes(Some(8 * 1024 * 1024)).await?;
    assert_recovered(&store, written).await?;
    store.close().await?;
    let store = open(dir.path())?;
    let messages = store.messages(0, 10_000).await?;
    assert_eq!(messages.len(), written + 5);
    Ok(())
}

/// Concurrent writes in the commit that fills the store are refused or kept, each as a whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_quota_leaves_every_concurrent_write_whole_or_absent() -> Outcome {
    let dir = tempfile::tempdir()?;
    let options = SqliteOptions {
        max_bytes: Some(4 * 1024 * 1024),
        ..SqliteOptions::default()
    };
    let store = Arc::new(SqliteStore::open(dir.path(), &options)?);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let (store, messages) = (Arc::clone(&store), bulk(3)?);
        calls.spawn(async move { store.publish(messages).await });
    }
    let (mut kept, mut refused) = (0, 0);
    for result in calls.join_all().await {
        match result {
            Ok(()) => kept += 1,
            Err(StoreError::Full { .. }) => refused += 1,
            Err(error) => return Err(error.into()),
        }
    }
    assert!(refused > 0);
    let messages = store.messages(0, 10_000).await?;
    assert_eq!(messages.len(), kept * 3);
    store.set_max_bytes(None).await?;
    assert_recovered(&store, kept * 3).await
}

/// A small file system, unmounted when dropped; requires permission to mount.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().ok()?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(dir.path())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then(|| Self(dir))
    }

    fn grow(&self, size: &str) {
        let grown = Command::new("mount")
            .args(["-o", &format!("remount,size={size}")])
            .arg(self.0.path())
            .status();
        assert!(grown.is_ok_and(|status| status.success()));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(self.0.path()).status();
        assert!(status.is_ok_and(|status| status.success()));
    }
}

/// Without permission to mount, only the quota tests above run.
#[tokio::test]
async fn a_full_disk_refuses_writes_until_there_is_space() -> Outcome {
    let Some(disk) = SmallDisk::mount("4m") else {
        eprintln!("not run: no right to mount a small file system");
        return Ok(());
    };
    let store = open(disk.0.path())?;
    let written = fill(&store).await?;
    assert!(written > 0);
    disk.grow("16m");
    assert_recovered(&store, written).await?;
    store.close().await?;
    let store = open(disk.0.path())?;
    let messages = store.messages(0, 10_000).await?;
    assert_eq!(messages.len(), written + 5);
    store.close().await?;
    Ok(())
}

#[tokio::test]
async fn a_second_open_is_refused_and_names_the_holder() -> Outcome {
    let dir = tempfile::tempdir()?;
    let options = SqliteOptions {
        holder: "pid 4711".to_owned(),
        ..SqliteOptions::default()
    };
    let store = SqliteStore::open(dir.path(), &options)?;
    let path = dir.path().display().to_string();
    for holder in ["pid 4711", "pid 4711, 127.0.0.1:8080", "short"] {
        store.describe_holder(holder)?;
        let refused = open(dir.path());
        assert_refused!(
            &refused,
            StoreError::Locked { path: locked, holder: Some(told) }
                if *locked == path && told == holder
        );
    }
    store.close().await?;
    open(dir.path())?;
    Ok(())
}

/// The next process does not wait for the lease of a killed one; its fence is new.
#[tokio::test]
async fn an_opened_directory_has_no_lease_of_the_last_process() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (now, until) = (sample::at(0)?, sample::at(60)?);
    let store = open(dir.path())?;
    let first = store.acquire("run-1", "killed", now, until).await?;
    assert_eq!(store.acquire("run-1", "next", now, until).await?, None);
    drop(store);
    let next = open(dir.path())?
        .acquire("run-1", "next", now, until)
        .await?;
    let fences = [first, next].map(|lease| lease.map(|lease| lease.fence));
    assert_eq!(fences, [Some(Fence(1)), Some(Fence(2))]);
    Ok(())
}

#[tokio::test]
async fn a_dropped_store_gives_its_directory_up() -> Outcome {
    let dir = tempfile::tempdir()?;
    for _ in 0..5 {
        let store = open(dir.path())?;
        store.publish(vec![sample::message("a", 0)?]).await?;
        drop(store);
    }
    let store = open(dir.path())?;
    assert_eq!(store.messages(0, 10).await?.len(), 5);
    Ok(())
}

#[tokio::test]
async fn a_closed_store_says_so() -> Outcome {
    let dir = tempfile::tempdir()?;
    let store = open(dir.path())?;
    store.close().await?;
    let write = store.publish(vec![sample::message("a", 0)?]).await;
    assert_refused!(write, StoreError::Closed);
    assert_refused!(store.messages(0, 1).await, StoreError::Closed);
    store.close().await?;
    Ok(())
}

#[tokio::test]
async fn a_file_that_is_no_database_is_named() -> Outcome {
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("charter.lock"), "")?;
    std::fs::write(
        dir.path().join(DATABASE),
        "no database at all\n".repeat(500),
    )?;
    let refused = open(dir.path()).err().map(|error| error.to_string());
    let text = "database `charter.db` is damaged: file is not a database";
    assert_eq!(refused.as_deref(), Some(text));
    assert_refused!(schema_version(dir.path()), StoreError::Corrupt { .. });
    Ok(())
}

/// Another process may still hold the removed lock file.
#[tokio::test]
async fn a_database_without_its_lock_file_is_not_opened() -> Outcome {
    let dir = tempfile::tempdir()?;
    let store = open(dir.path())?;
    std::fs::remove_file(dir.path().join("charter.lock"))?;
    for _ in 0..2 {
        let refused = open(dir.path()).err().map(|error| error.to_string());
        let text = "`charter.lock` is missing beside `charter.db`";
        assert!(refused.is_some_and(|refused| refused.contains(text)));
    }
    store.close().await?;
    std::fs::write(dir.path().join("charter.lock"), "")?;
    open(dir.path())?.close().await?;
    Ok(())
}

#[tokio::test]
async fn a_damaged_page_is_found() -> Outcome {
    let dir = tempfile::tempdir()?;
    let store = open(dir.path())?;
    store.publish(bulk(10)?).await?;
    store.close().await?;
    let path = dir.path().join(DATABASE);
    let mut bytes = std::fs::read(&path)?;
    // All pages but the first: the schema is readable, but no table is.
    bytes[4096..].fill(0xA5);
    std::fs::write(&path, bytes)?;
    let damage = match open(dir.path()) {
        Ok(store) => store.messages(0, 100).await.err(),
        Err(error) => Some(error),
    };
    assert!(
        matches!(damage, Some(StoreError::Corrupt { .. })),
        "{damage:?}"
    );
    Ok(())
}

#[tokio::test]
async fn a_newer_layout_is_opened_unless_it_names_a_newer_reader() -> Outcome {
    let dir = tempfile::tempdir()?;
    assert_eq!(schema_version(dir.path())?, 0);
    let pending = migrations_pending(dir.path())?;
    let last = pending.last().map(|migration| migration.version);
    assert_eq!(last, Some(newest_schema_version()));
    drop(open(dir.path())?);
    assert_eq!(schema_version(dir.path())?, newest_schema_version());
    assert_eq!(migrations_pending(dir.path())?, vec![]);
    let newer = newest_schema_version() + 1;
    let path = dir.path().join(DATABASE);
    let connection = Connection::open(&path)?;
    connection.execute(
        "INSERT INTO refinery_schema_history (version, name, applied_on, checksum)
         VALUES (?1, 'from_the_future', '2030-01-01T00:00:00Z', '1')",
        [newer],
    )?;
    connection.execute("UPDATE layout SET charter = '9.9.9'", [])?;
    drop(connection);
    // It names no newer reader.
    open(dir.path())?.close().await?;
    assert_eq!(schema_version(dir.path())?, newer);
    Connection::open(&path)?.execute("UPDATE layout SET oldest_reader = ?1", [newer])?;
    let before = std::fs::read(&path)?;
    assert_refused!(
        open(dir.path()),
        StoreError::NewerSchema { found, supported, charter, .. }
            if *found == newer && *supported == newest_schema_version() && charter == "9.9.9"
    );
    assert_eq!(std::fs::read(&path)?, before);
    let newest = StoreLayout {
        version: newer,
        oldest_reader: newer,
        charter: "9.9.9".to_owned(),
    };
    assert_eq!(layout(dir.path())?, newest);
    Ok(())
}

/// An earlier layout has another initial schema, and migrations after it whose numbers mean others now.
#[tokio::test]
async fn an_earlier_layout_is_refused_and_left_alone() -> Outcome {
    let dir = tempfile::tempdir()?;
    open(dir.path())?.close().await?;
    let path = dir.path().join(DATABASE);
    Connection::open(&path)?.execute_batch(
        "UPDATE refinery_schema_history SET checksum = '1' WHERE version = 1;
         INSERT INTO refinery_schema_history (version, name, applied_on, checksum)
         VALUES (19, 'route_examples', '2026-01-01T00:00:00Z', '2')",
    )?;
    let before = std::fs::read(&path)?;
    let text = format!(
        "the data in {} has schema version 19 of an earlier layout",
        path.display()
    );
    let refused = open(dir.path()).err().map(|error| error.to_string());
    assert!(refused.is_some_and(|refused| refused.starts_with(&text)));
    let earlier = |result: Result<u32, StoreError>| {
        matches!(result, Err(StoreError::EarlierLayout { found: 19, .. }))
    };
    assert!(earlier(schema_version(dir.path())));
    assert!(earlier(migrations_pending(dir.path()).map(|_| 0)));
    let backup = dir.path().join("backup");
    assert!(earlier(
        back_up(dir.path(), &backup, sample::at(0)?).map(|manifest| manifest.layout)
    ));
    assert!(!backup.exists());
    assert_eq!(std::fs::read(&path)?, before);
    Ok(())
}

/// B000-19 and B002-14: direct access to the database cannot change the past by accident.
#[tokio::test]
async fn b000_19_the_engine_refuses_to_change_evidence_and_journals() -> Outcome {
    let dir = tempfile::tempdir()?;
    let store = open(dir.path())?;
    let acme = sample::tenant("acme")?;
    let record = sample::evidence("acme", 1, sample::at(0)?)?;
    store
        .put_evidence(&acme, std::slice::from_ref(&record))
        .await?;
    let checkpoint = PublishedCheckpoint {
        size: 1,
        key_id: "00000000".to_owned(),
        at: sample::at(0)?,
        note: "a note".to_owned(),
    };
    store.publish_checkpoint(&acme, &checkpoint).await?;
    for n in 1..=2 {
        let (run, first) = sample::new_run("acme", n, 0)?;
        store.create_run(&run, first, vec![], vec![]).await?;
    }
    let finished = sample::second_append(2, NextPhase::Ends, &["{}"])?;
    store.append(finished).await?;
    store.close().await?;
    let connection = Connection::open(dir.path().join(DATABASE))?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "recursive_triggers", true)?;
    for change in [
        "UPDATE evidence SET body = '{}'",
        "DELETE FROM evidence",
        "REPLACE INTO evidence SELECT * FROM evidence",
        "UPDATE evidence_attachment SET target_id = 'x'",
        "DELETE FROM evidence_attachment",
        "UPDATE evidence SET payload = '{}'",
        "UPDATE evidence SET payload_salt = zeroblob(32)",
        "UPDATE evidence SET payload = NULL, payload_salt = NULL, payload_removed_at = 1, body = '{}'",
        "UPDATE evidence SET payload = NULL, payload_salt = NULL, payload_removed_at = 1, captured_at = 1",
        "UPDATE evidence SET payload_removed_at = 1",
        "UPDATE evidence_log SET tenant_id = 'x'",
        "DELETE FROM evidence_log",
        "UPDATE evidence_leaf SET leaf = '{}'",
        "DELETE FROM evidence_leaf",
        "REPLACE INTO evidence_leaf SELECT * FROM evidence_leaf",
        "UPDATE evidence_node SET hash = zeroblob(32)",
        "DELETE FROM evidence_node",
        "UPDATE evidence_checkpoint SET note = 'x'",
        "DELETE FROM evidence_checkpoint",
        "UPDATE journal_event SET payload = '[]'",
        "DELETE FROM journal_event",
        "DELETE FROM journal_event WHERE run_id = (SELECT run_id FROM run WHERE phase = 'finished')",
        "DELETE FROM run WHERE phase = 'runnable'",
        "UPDATE run SET phase = 'runnable' WHERE phase = 'finished'",
    ] {
        let refused = connection.execute(change, []).err().map(|e| e.to_string());
        let refused = refused.ok_or(format!("done: {change}"))?;
        assert!(
            [
                "append-only",
                "never changed",
                "deleted only",
                "takes no more"
            ]
            .iter()
            .any(|reason| refused.contains(reason)),
            "{change}: {refused}"
        );
    }
    drop(connection);
    let store = open(dir.path())?;
    assert_eq!(store.evidence(&acme, &record.id).await?, Some(record));
    let journal = store.events(&acme, &sample::run(2), 0, 10).await?;
    assert_eq!(verify_chain(GENESIS, 1, &journal), Ok(journal[1].hash));
    Ok(())
}
