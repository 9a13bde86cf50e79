//! Opens databases of older, equal and newer layouts.

use charter_testkit::postgres_server::{Database, PostgresServer};
use tokio_postgres::NoTls;

use super::*;
use crate::postgres::options::PostgresOptions;
use crate::postgres::tls;

/// The newest transaction that changed the definition of a table, the history, or the layout.
const STATE: &str = "SELECT max(xmin::text::bigint) FROM
    (SELECT xmin FROM pg_class UNION ALL SELECT xmin FROM refinery_schema_history
     UNION ALL SELECT xmin FROM layout) AS changed";

/// Returns the migrations of a build that knows so many of the rehearsed layouts.
fn build(rehearsed: usize) -> Vec<Migration> {
    schema::followed_by(committed(), &NEXT[..rehearsed])
}

/// Returns the number of the newest layout that is not rehearsed.
fn present() -> u32 {
    schema::newest(&committed())
}

/// Opens a database as a build with these migrations.
async fn open_among(database: &Database, known: &[Migration]) -> Result<(), StoreError> {
    let options = PostgresOptions::new(database.url());
    let config = options.parse()?;
    let place = DatabaseAddress::of(&config);
    let tls = tls::connector(&options)?;
    let opened = migrate(&options.unbounded(&config), &tls, &place, known).await;
    opened.map(|_pgvector| ())
}

async fn open(database: &Database, rehearsed: usize) -> Result<(), StoreError> {
    open_among(database, &build(rehearsed)).await
}

async fn connected(database: &Database) -> Client {
    let connected = tokio_postgres::connect(&database.superusers_url(), NoTls).await;
    let (client, connection) = connected.unwrap();
    tokio::spawn(connection);
    client
}

/// Returns the layout of a database.
async fn stored(client: &Client, database: &Database) -> StoreLayout {
    let config = PostgresOptions::new(database.url()).parse().unwrap();
    let place = DatabaseAddress::of(&config);
    layout_among(client, &place, &committed()).await.unwrap()
}

async fn number_of(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// All migrations of an upgrade are one transaction.
#[tokio::test]
async fn an_older_layout_is_migrated_in_one_transaction_and_an_equal_one_is_opened() {
    let database = PostgresServer::shared().database();
    open(&database, 0).await.unwrap();
    let client = connected(&database).await;
    let first = stored(&client, &database).await;
    assert_eq!(first.version, present());
    assert!(first.opens_in(present()));
    open(&database, 2).await.unwrap();
    let newest = StoreLayout {
        version: present() + 2,
        oldest_reader: present() + 2,
        charter: "rehearsed break".to_owned(),
    };
    assert_eq!(stored(&client, &database).await, newest);
    let transactions = format!(
        "SELECT count(DISTINCT xmin::text) FROM refinery_schema_history WHERE version > {}",
        present()
    );
    assert_eq!(number_of(&client, &transactions).await, 1);
    let before = number_of(&client, STATE).await;
    open(&database, 2).await.unwrap();
    assert_eq!(stored(&client, &database).await, newest);
    assert_eq!(number_of(&client, STATE).await, before);
}

#[tokio::test]
async fn a_newer_layout_that_only_adds_is_opened_as_it_is() {
    let database = PostgresServer::shared().database();
    open(&database, 1).await.unwrap();
    let client = connected(&database).await;
    let newer = stored(&client, &database).await;
    assert_eq!(newer.version, present() + 1);
    assert!(newer.opens_in(present()));
    for rehearsed in [0, 1, 0] {
        open(&database, rehearsed).await.unwrap();
        assert_eq!(stored(&client, &database).await, newer);
    }
}

#[tokio::test]
async fn a_newer_layout_that_names_a_newer_reader_is_refused_and_left_alone() {
    let database = PostgresServer::shared().database();
    open(&database, 2).await.unwrap();
    let client = connected(&database).await;
    let before = number_of(&client, STATE).await;
    for (rehearsed, build) in [(0, present()), (1, present() + 1)] {
        match open(&database, rehearsed).await {
            Err(StoreError::NewerSchema {
                path,
                found,
                charter,
                supported,
            }) => {
                assert!(path.ends_with(&format!("/{}", database.name())), "{path}");
                assert_eq!((found, supported), (present() + 2, build));
                assert_eq!(charter, "rehearsed break");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(number_of(&client, STATE).await, before);
}

#[tokio::test]
async fn a_failing_migration_leaves_the_layout_from_before_the_upgrade() {
    let database = PostgresServer::shared().database();
    open(&database, 0).await.unwrap();
    let client = connected(&database).await;
    let before = stored(&client, &database).await;
    let fails = ("fails", "INSERT INTO missing (n) VALUES (1)");
    let known = schema::followed_by(build(1), &[fails]);
    match open_among(&database, &known).await {
        Err(StoreError::Engine { doing, .. }) => assert_eq!(doing, DOING),
        other => panic!("{other:?}"),
    }
    assert_eq!(stored(&client, &database).await, before);
    open(&database, 0).await.unwrap();
    open(&database, 1).await.unwrap();
    assert_eq!(stored(&client, &database).await.version, present() + 1);
}

/// Replicas of both versions that start at once: one of the newer version migrates, and all can use the result.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn builds_that_open_at_once_migrate_once() {
    let database = PostgresServer::shared().database();
    open(&database, 0).await.unwrap();
    let opened = tokio::join!(
        open(&database, 1),
        open(&database, 0),
        open(&database, 1),
        open(&database, 0),
    );
    for opened in [opened.0, opened.1, opened.2, opened.3] {
        opened.unwrap();
    }
    let client = connected(&database).await;
    let applied = "SELECT count(*) FROM refinery_schema_history";
    assert_eq!(number_of(&client, applied).await, i64::from(present()) + 1);
}
