//! Which thread commits, and that no queued write is lost in any case.

use std::thread::{ThreadId, current};

use super::*;

fn writer(dir: &tempfile::TempDir) -> Writer {
    let connection = Connection::open(dir.path().join("w.db")).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER PRIMARY KEY) STRICT;")
        .unwrap();
    let lock = Arc::new(DirectoryLock::take(dir.path(), "test").unwrap());
    Writer::start(connection, lock).unwrap()
}

/// Writes one number after another; returns the threads that ran the writes.
async fn one_by_one(writer: &Writer, numbers: std::ops::Range<i64>) -> Vec<ThreadId> {
    let mut threads = Vec::new();
    for number in numbers {
        threads.push(writer.write(move |c| insert(c, number)).await.unwrap());
    }
    threads
}

fn insert(connection: &Connection, number: i64) -> Result<ThreadId, StoreError> {
    connection
        .execute("INSERT INTO t (n) VALUES (?1)", [number])
        .map_err(during("writing a number"))?;
    Ok(current().id())
}

fn count(dir: &tempfile::TempDir) -> i64 {
    let connection = Connection::open(dir.path().join("w.db")).unwrap();
    connection
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_writes_alone_commits_its_writes_itself() {
    let dir = tempfile::tempdir().unwrap();
    let writer = Arc::new(writer(&dir));
    let threads = tokio::spawn({
        let writer = Arc::clone(&writer);
        async move {
            let threads = one_by_one(&writer, 0..100).await;
            (threads, current().id())
        }
    });
    let (threads, own) = threads.await.unwrap();
    let alone = ALONE as usize;
    assert!(threads[..alone].iter().all(|thread| *thread != own));
    // Not all of them: the thread may be about to sleep and take one more.
    assert!(threads[alone..].contains(&own));
    writer.close().unwrap();
    assert_eq!(count(&dir), 100);
}

#[tokio::test(flavor = "current_thread")]
async fn a_runtime_of_one_thread_is_never_held_up() {
    let dir = tempfile::tempdir().unwrap();
    let writer = writer(&dir);
    let threads = one_by_one(&writer, 0..10).await;
    assert!(threads.iter().all(|thread| *thread != current().id()));
}

/// Committing callers, queueing callers and the thread alternate; each write runs once, and all writes that were
/// accepted before the end are in the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_accepted_write_is_committed_under_any_leader() {
    let dir = tempfile::tempdir().unwrap();
    let writer = Arc::new(writer(&dir));
    let alone = Arc::clone(&writer);
    let first = tokio::spawn(async move { one_by_one(&alone, 0..10).await.len() });
    let mut accepted = first.await.unwrap();
    let busy = Arc::new(tokio::sync::Notify::new());
    let callers: Vec<_> = (1..=8)
        .map(|caller| {
            let (writer, busy) = (Arc::clone(&writer), Arc::clone(&busy));
            tokio::spawn(async move { write_until_closed(&writer, &busy, caller).await })
        })
        .collect();
    busy.notified().await;
    let closing = Arc::clone(&writer);
    let closed = tokio::task::spawn_blocking(move || closing.close());
    closed.await.unwrap().unwrap();
    for caller in callers {
        accepted += caller.await.unwrap();
    }
    assert_eq!(count(&dir), i64::try_from(accepted).unwrap());
}

/// Returns how many writes were accepted before the writer was closed.
async fn write_until_closed(writer: &Writer, busy: &tokio::sync::Notify, caller: i64) -> usize {
    let mut accepted = 0;
    for number in caller * 1_000_000.. {
        match writer.write(move |c| insert(c, number)).await {
            Ok(_) => accepted += 1,
            Err(StoreError::Closed) => break,
            Err(other) => panic!("{other}"),
        }
        if accepted == 100 {
            busy.notify_one();
        }
    }
    accepted
}
