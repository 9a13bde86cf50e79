//! Opening a database: migrations, and error messages.

use std::error::Error;

use charter_store::StoreError;
use charter_store::calibration::Calibrations;
use charter_store_sql::postgres::{PostgresOptions, PostgresStore, examine, newest_schema_version};
use charter_testkit::postgres_server::PostgresServer;
use charter_testkit::store_suite::Outcome;
use futures_util::FutureExt;
use futures_util::future::join_all;

use crate::postgres::database::{migrated, options, raw};

/// Four replicas start at the same time on an empty database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_that_open_at_once_migrate_once() -> Outcome {
    let database = PostgresServer::shared().database();
    let options = options(&database);
    let opened = tokio::join!(
        PostgresStore::connect(&options),
        PostgresStore::connect(&options),
        PostgresStore::connect(&options),
        PostgresStore::connect(&options),
    );
    for store in [opened.0, opened.1, opened.2, opened.3] {
        assert_eq!(store?.calibration("none").await?, None);
    }
    let sql = "SELECT count(*) - count(DISTINCT version), max(version)::bigint
               FROM refinery_schema_history";
    let row = raw(&database).await.query_one(sql, &[]).await?;
    let newest = i64::from(newest_schema_version());
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (0, newest));
    Ok(())
}

#[tokio::test]
async fn a_database_of_a_newer_charter_is_opened_unless_it_names_a_newer_reader() -> Outcome {
    let database = migrated().await;
    let client = raw(&database).await;
    let sql = "INSERT INTO refinery_schema_history VALUES (99, 'later', 'now', '0');
               UPDATE layout SET charter = '9.9.9'";
    client.batch_execute(sql).await?;
    // It names no newer reader.
    let store = PostgresStore::connect(&options(&database)).await?;
    assert_eq!(store.calibration("none").await?, None);
    store.close();
    let sql = "UPDATE layout SET oldest_reader = 99";
    client.execute(sql, &[]).await?;
    let examined = examine(&options(&database)).await?;
    assert_eq!(examined.layout.version, 99);
    assert!(matches!(
        examined.must_be_openable(),
        Err(StoreError::NewerSchema { found: 99, .. })
    ));
    match PostgresStore::connect(&options(&database)).await {
        Err(StoreError::NewerSchema {
            path,
            found,
            charter,
            supported,
        }) => {
            assert_eq!((found, supported), (99, newest_schema_version()));
            assert_eq!(charter, "9.9.9");
            assert!(
                path.ends_with(&format!(":5432/{}", database.name())),
                "{path}"
            );
        }
        other => panic!("{other:?}"),
    }
    Ok(())
}

/// An earlier layout has another initial schema, and migrations after it whose numbers mean others now.
#[tokio::test]
async fn a_database_of_an_earlier_layout_is_refused_and_left_alone() -> Outcome {
    let database = migrated().await;
    let client = raw(&database).await;
    let sql = "UPDATE refinery_schema_history SET checksum = '1' WHERE version = 1;
               INSERT INTO refinery_schema_history VALUES (16, 'route_examples', 'now', '2')";
    client.batch_execute(sql).await?;
    // The newest transaction that changed a table's definition or the history.
    let state = "SELECT max(xmin::text::bigint) FROM
                 (SELECT xmin FROM pg_class UNION ALL SELECT xmin FROM refinery_schema_history) AS changed";
    let before: i64 = client.query_one(state, &[]).await?.get(0);
    let options = options(&database);
    let opened = PostgresStore::connect(&options).await.map(|_| ());
    let examined = examine(&options).await.map(|_| ());
    for refused in [opened, examined] {
        match refused {
            Err(StoreError::EarlierLayout { path, found }) => {
                assert_eq!(found, 16);
                assert!(path.ends_with(&format!("/{}", database.name())), "{path}");
            }
            other => panic!("{other:?}"),
        }
    }
    let after: i64 = client.query_one(state, &[]).await?.get(0);
    assert_eq!(after, before);
    Ok(())
}

/// Returns the whole chain of an error, and its debug output.
pub(crate) fn all_that_is_said(error: &StoreError) -> String {
    let mut said = format!("{error:?} {error}");
    let mut cause = error.source();
    while let Some(next) = cause {
        said += &format!(" {next}");
        cause = next.source();
    }
    said
}

#[tokio::test]
async fn an_error_names_host_and_database_and_never_the_password() -> Outcome {
    let unreachable = "postgres://charter:s3cret@127.0.0.1:1/ledger";
    for (url, named) in [
        (unreachable, "127.0.0.1:1/ledger"),
        (
            "postgres://charter:s3cret@127.0.0.1:1/ledger?sslmode=maybe",
            "sslmode",
        ),
        ("postgres://charter:s3cret@127.0.0.1:no/ledger", "port"),
        ("postgres://charter:s3cret@127.0.0.1:1", "names no database"),
        ("postgres:///ledger?password=s3cret", "names no host"),
    ] {
        let options = PostgresOptions::new(url);
        assert!(!format!("{options:?}").contains("s3cret"));
        let error = PostgresStore::connect(&options).await.err().ok_or(url)?;
        let said = all_that_is_said(&error);
        assert!(said.contains(named), "{url}: {said}");
        assert!(!said.contains("s3cret"), "{url}: {said}");
        assert_eq!(error.is_transient(), url == unreachable, "{url}");
    }
    Ok(())
}

#[tokio::test]
async fn a_file_without_certificates_is_refused() -> Outcome {
    use charter_store_sql::postgres::TrustedRoots;
    let file = tempfile::NamedTempFile::new()?;
    let mut options = PostgresOptions::new("postgres://127.0.0.1:1/ledger?sslmode=require");
    options.roots = TrustedRoots::File(file.path().to_owned());
    match PostgresStore::connect(&options).await {
        Err(StoreError::Refused { detail, .. }) => assert_eq!(detail, "it contains no certificate"),
        other => panic!("{other:?}"),
    }
    Ok(())
}

/// Calls that wait for a connection are bounded: further ones fail at once.
#[tokio::test]
async fn an_exhausted_pool_is_overloaded_at_once() -> Outcome {
    let database = migrated().await;
    let mut options = options(&database);
    options.connections = 1;
    let store = PostgresStore::connect(&options).await?;
    let calls: Vec<_> = (0..40).map(|_| store.calibration("m")).collect();
    let mut waiting = Vec::new();
    for mut call in calls {
        match (&mut call).now_or_never() {
            None => waiting.push(call),
            Some(Err(StoreError::Overloaded { .. })) => {}
            Some(other) => panic!("{other:?}"),
        }
    }
    // One of them may have the connection.
    assert!((16..=17).contains(&waiting.len()), "{}", waiting.len());
    for answer in join_all(waiting).await {
        assert_eq!(answer?, None);
    }
    Ok(())
}
