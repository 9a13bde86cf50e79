//! The schema's versions and migrations, under an advisory lock of the database.

use std::error::Error as StdError;

use charter_store::StoreError;
use refinery::{Runner, Target};
use tokio_postgres::{Client, Config, GenericClient};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::DatabaseAddress;
use crate::failure::postgres::during;
use crate::schema;

refinery::embed_migrations!("src/postgres/migrations");

/// The advisory lock under which migrations run: `charter` in ASCII.
const LOCK: i64 = 0x0063_6861_7274_6572;

const DOING: &str = "migrating the database";

/// Whether the extension pgvector searches vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pgvector {
    Used,
    Absent,
}

fn runner() -> Runner {
    migrations::runner()
        .set_abort_divergent(true)
        .set_abort_missing(true)
}

/// Returns the newest schema version that this build knows.
pub(super) fn newest() -> u32 {
    let versions = runner();
    let versions = versions.get_migrations().iter().map(|m| m.version());
    versions
        .max()
        .and_then(|v| u32::try_from(v).ok())
        .unwrap_or(0)
}

/// Migrates a database to [`newest`], each migration in its own transaction, and installs pgvector if possible.
/// Replicas that start at the same time wait for each other.
///
/// # Errors
/// [`StoreError::NewerSchema`] when the database has a newer version, [`StoreError::EarlierLayout`] when it has another
/// initial schema; [`StoreError::Engine`] when the server does not answer, or a later migration differs from this
/// build's migration with that number.
pub(super) async fn migrate(
    config: &Config,
    tls: &MakeRustlsConnect,
    place: &DatabaseAddress,
) -> Result<Pgvector, StoreError> {
    let connected = config.connect(tls.clone()).await;
    let (mut client, connection) = connected.map_err(|error| place.not_reached(error))?;
    let driven = tokio::spawn(connection);
    let migrated = migrate_locked(&mut client, place).await;
    // Closing the connection releases the lock, after success and failure.
    drop(client);
    match driven.await {
        Ok(Ok(())) => migrated,
        Ok(Err(source)) => migrated.and(Err(place.failed(DOING, source))),
        Err(source) => migrated.and(Err(place.failed(DOING, source))),
    }
}

async fn migrate_locked(
    client: &mut Client,
    place: &DatabaseAddress,
) -> Result<Pgvector, StoreError> {
    let locked = client
        .execute("SELECT pg_advisory_lock($1)", &[&LOCK])
        .await;
    locked.map_err(during("waiting for the migrations of another process"))?;
    migrate_to(client, place, newest()).await?;
    let pgvector = client.query_one("SELECT charter_pgvector()", &[]).await;
    Ok(match pgvector.map_err(during(DOING))?.get(0) {
        true => Pgvector::Used,
        false => Pgvector::Absent,
    })
}

/// Migrates a database to a version; the caller holds the lock.
pub(super) async fn migrate_to(
    client: &mut Client,
    place: &DatabaseAddress,
    version: u32,
) -> Result<(), StoreError> {
    let found = self::version(client, place).await?;
    if found > version {
        return Err(StoreError::NewerSchema {
            path: place.to_string(),
            found,
            supported: version,
        });
    }
    if found == version {
        return Ok(());
    }
    let target = i32::try_from(version).map(Target::Version);
    let runner = runner().set_target(target.unwrap_or(Target::Latest));
    let migrated = runner.run_async(client).await;
    migrated
        .map(|_report| ())
        .map_err(|source| place.failed(DOING, Box::<dyn StdError + Send + Sync>::from(source)))
}

/// Returns the version of the database at `place`, 0 for an empty one.
///
/// # Errors
/// [`StoreError::EarlierLayout`] as for [`schema::version`].
pub(super) async fn version(
    client: &impl GenericClient,
    place: &DatabaseAddress,
) -> Result<u32, StoreError> {
    let doing = "reading the schema version";
    let sql = "SELECT to_regclass('refinery_schema_history') IS NOT NULL";
    let known = client.query_one(sql, &[]).await.map_err(during(doing))?;
    if !known.get::<_, bool>(0) {
        return Ok(0);
    }
    let history = client.query_one(schema::HISTORY, &[]).await;
    let history = history.map_err(during(doing))?;
    schema::version(
        &place.to_string(),
        history.get(0),
        history.get(1),
        &runner(),
    )
}
