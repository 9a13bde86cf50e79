//! Values and their placeholders, and work that may not run over SQLite.

use super::*;
use crate::row::field;
use crate::sqlite::{SqliteOptions, SqliteStore};
use crate::store::{Access, RowScope, SqlEngine};

const DOING: &str = "testing";

#[tokio::test]
async fn a_value_reaches_every_placeholder_of_its_number() {
    let mut connection = Connection::open_in_memory().unwrap();
    let mut tx = Tx::Sqlite(&mut connection);
    let values = params!["one", None::<&str>, 3_i64, true];
    let found = rows(DOING, &mut tx, "SELECT $3, $1, $2, $1, $4", values, |row| {
        let texts: (String, Option<String>, String) =
            (field(row, 1)?, field(row, 2)?, field(row, 3)?);
        Ok((field::<i64>(row, 0)?, texts, field::<bool>(row, 4)?))
    });
    let texts = ("one".to_owned(), None, "one".to_owned());
    assert_eq!(found.await.unwrap(), [(3, texts, true)]);
}

#[tokio::test]
async fn a_statement_has_exactly_the_values_of_its_placeholders() {
    let mut connection = Connection::open_in_memory().unwrap();
    let mut tx = Tx::Sqlite(&mut connection);
    for sql in [
        "SELECT $1",
        "SELECT $1, $2, $3",
        "SELECT $1, $3",
        "SELECT $1, ?2",
    ] {
        let values = params![1_i64, 2_i64];
        let refused = row(DOING, &mut tx, sql, values, |_| Ok(())).await;
        assert!(matches!(refused, Err(StoreError::Engine { .. })), "{sql}");
    }
}

#[tokio::test]
async fn rows_are_inserted_by_one_statement_and_found_by_a_list() {
    let mut connection = Connection::open_in_memory().unwrap();
    let create = "CREATE TABLE t (n INTEGER PRIMARY KEY, word TEXT NOT NULL) STRICT";
    connection.execute_batch(create).unwrap();
    let mut tx = Tx::Sqlite(&mut connection);
    let insert = "INSERT INTO t (word, n) VALUES ($2, $1) ON CONFLICT DO NOTHING";
    let words = [(1_i64, "a"), (2, "b"), (3, "\"c\""), (2, "d")];
    let new = words.map(|(n, word)| params![n, word].to_vec());
    let added = execute_many(DOING, &mut tx, insert, &new).await;
    assert_eq!(added.unwrap(), 3);
    for (column, list, expected) in [
        ("word", SqlValue::from(vec!["\"c\"", "a", "z"]), vec![1, 3]),
        ("n", SqlValue::from(vec![2, 3, 4]), vec![2, 3]),
        ("n", SqlValue::from(Vec::<i64>::new()), vec![]),
    ] {
        let condition = tx.dialect().one_of("$1");
        let sql = format!("SELECT n FROM t WHERE {column} {condition} ORDER BY n");
        let found = rows_within(DOING, &mut tx, &sql, &[list], |row| field::<i64>(row, 0)).await;
        assert_eq!(found.unwrap().rows, expected, "{column}");
    }
}

#[tokio::test]
async fn a_query_returns_the_first_row_of_each_key() {
    let mut connection = Connection::open_in_memory().unwrap();
    let mut tx = Tx::Sqlite(&mut connection);
    let sql = "SELECT $1 + column1 FROM (VALUES (0), (10)) WHERE column1 >= $2 ORDER BY column1";
    let keys = [(1_i64, 0_i64), (2, 20), (3, 5)].map(|(n, from)| params![n, from].to_vec());
    let found = row_each(DOING, &mut tx, sql, &keys, |row| field::<i64>(row, 0)).await;
    assert_eq!(found.unwrap(), [Some(1), None, Some(13)]);
}

#[tokio::test]
async fn work_that_waits_for_something_else_fails_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), &SqliteOptions::default()).unwrap();
    let waited = store
        .engine
        .run(Access::Write, RowScope::Everyone, (), |tx, ()| {
            Box::pin(async move {
                let sql = "INSERT INTO calibration (model, at, body) VALUES ('m', 0, '{}')";
                execute(DOING, tx, sql, params![]).await?;
                std::future::pending::<()>().await;
                Ok::<(), StoreError>(())
            })
        })
        .await;
    assert!(matches!(waited, Err(StoreError::Engine { .. })));
    let count = store
        .engine
        .run(Access::Read, RowScope::Everyone, (), |tx, ()| {
            Box::pin(async move {
                let sql = "SELECT count(*) FROM calibration";
                row(DOING, tx, sql, params![], |row| field::<i64>(row, 0)).await
            })
        })
        .await;
    assert_eq!(count.unwrap(), Some(0));
}
