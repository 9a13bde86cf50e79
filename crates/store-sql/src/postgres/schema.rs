//! The layouts of this build, the layout of a database, and the migrations in between, under an advisory lock of the
//! database.

use std::error::Error as StdError;

use charter_store::StoreError;
use refinery::{Migration, Target};
use tokio_postgres::{Client, Config, Error, GenericClient};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::DatabaseAddress;
use crate::failure::postgres::during;
use crate::schema::{self, StoreLayout};

#[cfg(test)]
mod tests;

refinery::embed_migrations!("src/postgres/migrations");

/// Layouts after those of this version, by which upgrades are rehearsed (`make test-upgrade`).
#[cfg(any(test, feature = "next-layout"))]
const NEXT: [(&str, &str); 2] = [
    ("rehearsed_addition", include_str!("rehearsal/addition.sql")),
    ("rehearsed_break", include_str!("rehearsal/break.sql")),
];

/// The advisory lock under which migrations run: `charter` in ASCII. Every version takes the same lock.
const LOCK: i64 = 0x0063_6861_7274_6572;

const DOING: &str = "migrating the database";

/// Whether the extension pgvector searches vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pgvector {
    Used,
    Absent,
}

/// Returns the migrations of this build.
#[cfg(not(feature = "next-layout"))]
pub(super) fn known() -> Vec<Migration> {
    committed()
}

/// Returns the migrations of this build, with those of a rehearsal.
#[cfg(feature = "next-layout")]
pub(super) fn known() -> Vec<Migration> {
    schema::followed_by(committed(), &NEXT[..schema::REHEARSED])
}

/// Returns the migrations in the folder `migrations`.
fn committed() -> Vec<Migration> {
    migrations::runner().get_migrations().clone()
}

/// Returns the newest version that this build knows.
pub(super) fn newest() -> u32 {
    schema::newest(&known())
}

/// Migrates a database to the newest of the `known` migrations, all in one transaction, and installs pgvector if
/// possible. A newer layout that this build may open stays as it is. Replicas that start at the same time wait for each
/// other.
///
/// # Errors
/// [`StoreError::NewerSchema`] when only newer builds may open the database, [`StoreError::EarlierLayout`] when it has
/// another initial schema; [`StoreError::Engine`] when the server does not answer, or a later migration differs from
/// this build's migration with that number.
pub(super) async fn migrate(
    config: &Config,
    tls: &MakeRustlsConnect,
    place: &DatabaseAddress,
    known: &[Migration],
) -> Result<Pgvector, StoreError> {
    let connected = config.connect(tls.clone()).await;
    let (mut client, connection) = connected.map_err(|error| place.not_reached(error))?;
    let driven = tokio::spawn(connection);
    let migrated = migrate_locked(&mut client, place, known).await;
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
    known: &[Migration],
) -> Result<Pgvector, StoreError> {
    lock(client).await?;
    let supported = schema::newest(known);
    let found = migrate_to(client, place, known, supported).await?;
    if found.version > supported {
        schema::note_newer(&found, supported);
    }
    let pgvector = client.query_one("SELECT charter_pgvector()", &[]).await;
    Ok(match pgvector.map_err(during(DOING))?.get(0) {
        true => Pgvector::Used,
        false => Pgvector::Absent,
    })
}

/// Waits for the migrations of other processes, and excludes further ones until the connection is closed.
pub(super) async fn lock(client: &Client) -> Result<(), StoreError> {
    let locked = client
        .execute("SELECT pg_advisory_lock($1)", &[&LOCK])
        .await;
    let waiting = during("waiting for the migrations of another process");
    locked.map(|_| ()).map_err(waiting)
}

/// Migrates a database to a version; the caller holds the lock. Returns the layout that was found.
pub(super) async fn migrate_to(
    client: &mut Client,
    place: &DatabaseAddress,
    known: &[Migration],
    version: u32,
) -> Result<StoreLayout, StoreError> {
    let found = layout_among(client, place, known).await?;
    found.must_open_in(version, &place.to_string())?;
    if found.version >= version {
        return Ok(found);
    }
    let target = i32::try_from(version).map(Target::Version);
    let runner = schema::runner(known).set_target(target.unwrap_or(Target::Latest));
    let migrated = runner.run_async(client).await;
    migrated
        .map(|_report| found)
        .map_err(|source| place.failed(DOING, Box::<dyn StdError + Send + Sync>::from(source)))
}

/// Returns the layout of the database at `place`.
///
/// # Errors
/// [`StoreError::EarlierLayout`] as for [`schema::version`].
pub(super) async fn layout(
    client: &impl GenericClient,
    place: &DatabaseAddress,
) -> Result<StoreLayout, StoreError> {
    layout_among(client, place, &known()).await
}

async fn layout_among(
    client: &impl GenericClient,
    place: &DatabaseAddress,
    known: &[Migration],
) -> Result<StoreLayout, StoreError> {
    // Its user may lack the right to read the tables.
    let failed = |error: Error| place.failed("reading the layout of the database", error);
    let sql = "SELECT to_regclass('refinery_schema_history') IS NOT NULL";
    let table = client.query_one(sql, &[]).await.map_err(failed)?;
    if !table.get::<_, bool>(0) {
        return Ok(StoreLayout::empty());
    }
    let history = client.query_one(schema::HISTORY, &[]).await;
    let history = history.map_err(failed)?;
    let version = schema::version(&place.to_string(), history.get(0), history.get(1), known)?;
    if version == 0 {
        return Ok(StoreLayout::empty());
    }
    let readers = client.query_one(schema::READERS, &[]).await;
    let readers = readers.map_err(failed)?;
    Ok(StoreLayout {
        version,
        oldest_reader: schema::number(readers.get(0), "layout")?,
        charter: readers.get(1),
    })
}

/// Returns the layout of the database at `place`. Refuses one that this build may not open.
///
/// # Errors
/// As [`layout`]; [`StoreError::NewerSchema`] for a layout that only newer builds may open.
pub(super) async fn readable(
    client: &impl GenericClient,
    place: &DatabaseAddress,
) -> Result<StoreLayout, StoreError> {
    let found = layout(client, place).await?;
    found.must_open_in(newest(), &place.to_string())?;
    Ok(found)
}
