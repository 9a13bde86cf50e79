//! Backs up the rows of every table from one snapshot, and restores them into an empty database.
//!
//! The layout is not part of a backup. A restore runs the migrations up to the backup's version, copies the rows, and
//! runs later migrations. PostgreSQL's own tools (`pg_dump`, base backups with archived logs) work too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use bytes::Bytes;
use charter_contract::time::Timestamp;
use charter_store::StoreError;
use futures_util::{SinkExt, StreamExt, pin_mut};
use tokio_postgres::{Client, IsolationLevel, Transaction};

use super::address::DatabaseAddress;
use super::layout::{self, Table};
use super::options::PostgresOptions;
use super::{schema, tls};
use crate::backup::{self, BackupEngine, BackupFile, Manifest, Writing};
use crate::failure::postgres::during;
use crate::tenant::referring_first;

const COPYING: &str = "copying a table";
const RESTORING: &str = "restoring a table";

/// Size of the pieces in which a file is sent.
const PIECE_BYTES: usize = 64 * 1024;

/// Tables that the store rebuilds from other rows when it is opened, if possible.
const DERIVED: [&str; 2] = ["lens_near", "memory_near"];

/// Copies the rows of all tables into the new directory `target`, from one snapshot. The database stays in use.
///
/// # Errors
/// [`StoreError::AlreadyExists`] when `target` exists; [`StoreError::NotFound`] for a database without Charter's
/// tables; [`StoreError::NewerSchema`] when only a newer Charter may open it; [`StoreError::Engine`] when the server
/// does not answer; [`StoreError::Full`].
pub async fn back_up(
    options: &PostgresOptions,
    target: &Path,
    at: Timestamp,
) -> Result<Manifest, StoreError> {
    let (mut client, place) = connect(options).await?;
    let (snapshot, layout) = snapshot(&mut client, &place).await?;
    backup::create(target)?;
    let mut files = Vec::new();
    for table in tables(&snapshot).await? {
        files.push(copy_out(&snapshot, &table, target).await?);
    }
    let manifest = Manifest::new(BackupEngine::Postgres, layout, at, files);
    manifest.write(target)?;
    Ok(manifest)
}

/// Restores the rows of a backup into a database without tables, and brings its layout up to date, atomically.
///
/// # Errors
/// As [`Manifest::verified`]; [`StoreError::Refused`] for a backup of another engine or a newer layout, and a database
/// that is not empty.
pub async fn restore(backup: &Path, options: &PostgresOptions) -> Result<Manifest, StoreError> {
    let manifest = Manifest::verified(backup)?;
    manifest.must_be_for(backup, BackupEngine::Postgres, schema::newest())?;
    let (mut client, place) = connect(options).await?;
    // A server that starts meanwhile opens the database after the rows are there.
    schema::lock(&client).await?;
    if schema::layout(&client, &place).await?.version != 0 {
        return Err(StoreError::AlreadyExists {
            what: "database with Charter's tables",
            id: place.to_string(),
        });
    }
    let known = schema::known();
    schema::migrate_to(&mut client, &place, &known, manifest.layout).await?;
    let loading = client.transaction().await.map_err(during(RESTORING))?;
    load(&loading, backup, &manifest).await?;
    loading.commit().await.map_err(during(RESTORING))?;
    schema::migrate_to(&mut client, &place, &known, schema::newest()).await?;
    client
        .batch_execute("ANALYZE")
        .await
        .map_err(during("analysing the database"))?;
    Ok(manifest)
}

pub(super) async fn connect(
    options: &PostgresOptions,
) -> Result<(Client, DatabaseAddress), StoreError> {
    let config = options.parse()?;
    let place = DatabaseAddress::of(&config);
    let connected = options
        .unbounded(&config)
        .connect(tls::connector(options)?)
        .await;
    let (client, connection) = connected.map_err(|error| place.not_reached(error))?;
    tokio::spawn(async move {
        // The failed statement reports the connection's error.
        drop(connection.await);
    });
    Ok((client, place))
}

/// Opens a snapshot, and returns it with the version of the layout. Refuses a layout that this build may not open.
pub(super) async fn snapshot<'c>(
    client: &'c mut Client,
    place: &DatabaseAddress,
) -> Result<(Transaction<'c>, u32), StoreError> {
    let snapshot = client.build_transaction();
    let snapshot = snapshot.isolation_level(IsolationLevel::RepeatableRead);
    let snapshot = snapshot.read_only(true).start().await;
    let snapshot = snapshot.map_err(during("beginning to read the database"))?;
    match schema::readable(&snapshot, place).await?.version {
        0 => Err(StoreError::NotFound {
            what: "Charter's tables",
            id: place.to_string(),
        }),
        layout => Ok((snapshot, layout)),
    }
}

/// Returns the tables that a backup contains.
async fn tables(transaction: &Transaction<'_>) -> Result<Vec<Table>, StoreError> {
    let mut tables = layout::tables(transaction).await?;
    tables.retain(|table| !DERIVED.contains(&table.name.as_str()));
    Ok(tables)
}

async fn copy_out(
    transaction: &Transaction<'_>,
    table: &Table,
    target: &Path,
) -> Result<BackupFile, StoreError> {
    let mut file = Writing::create(target, file_of(&table.name))?;
    // The first line names the columns, so that a later layout may have others.
    file.write(format!("{}\n", table.columns.join(", ")).as_bytes())?;
    let columns = table.quoted_columns();
    let sql = format!("COPY {} ({columns}) TO STDOUT", table.name);
    let rows = transaction.copy_out(&sql).await.map_err(during(COPYING))?;
    pin_mut!(rows);
    let mut count = 0;
    while let Some(piece) = rows.next().await {
        let piece = piece.map_err(during(COPYING))?;
        // A line break within a value is written as `\n`.
        count += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
        file.write(&piece)?;
    }
    file.end(count)
}

fn file_of(table: &str) -> String {
    format!("{table}.copy")
}

async fn load(
    transaction: &Transaction<'_>,
    backup: &Path,
    manifest: &Manifest,
) -> Result<(), StoreError> {
    let known: BTreeSet<String> = tables(transaction)
        .await?
        .into_iter()
        .map(|table| table.name)
        .collect();
    let mut files: BTreeMap<&str, &BackupFile> = BTreeMap::new();
    for file in &manifest.files {
        let table = file
            .name
            .strip_suffix(".copy")
            .filter(|name| known.contains(*name));
        let table = table.ok_or_else(|| {
            backup::corrupt(
                backup,
                &file.name,
                "its layout has no such table".to_owned(),
            )
        })?;
        files.insert(table, file);
    }
    if let Some(missing) = known
        .iter()
        .find(|table| !files.contains_key(table.as_str()))
    {
        let detail = format!("the table {missing} is missing");
        return Err(backup::refused(backup, detail));
    }
    let mut ordered = referring_first(known, &layout::references(transaction).await?)?;
    ordered.reverse();
    for table in ordered {
        if let Some(file) = files.get(table.as_str()) {
            replace_rows(transaction, &table, backup, file).await?;
        }
    }
    count_on(transaction).await
}

/// Replaces the rows that migrations left in a table by those of a file.
async fn replace_rows(
    transaction: &Transaction<'_>,
    table: &str,
    backup: &Path,
    file: &BackupFile,
) -> Result<(), StoreError> {
    // COPY cannot write through row-level security. Where it is forced, it also applies to the owner; no other session
    // sees the table before this transaction ends.
    let sql = "SELECT relforcerowsecurity FROM pg_class WHERE oid = $1::text::regclass";
    let walled = transaction.query_one(sql, &[&table]).await;
    let walled: bool = walled.map_err(during(RESTORING))?.get(0);
    let (before, after) = match walled {
        true => (
            format!("ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY;"),
            format!("ALTER TABLE {table} FORCE ROW LEVEL SECURITY;"),
        ),
        false => (String::new(), String::new()),
    };
    let execute = async |sql: String| {
        transaction
            .batch_execute(&sql)
            .await
            .map_err(during(RESTORING))
    };
    execute(format!("{before} DELETE FROM {table}")).await?;
    let rows = copy_in(transaction, table, &backup.join(&file.name)).await?;
    if Some(rows) != file.rows {
        let detail = format!("{rows} rows were read; the manifest has {:?}", file.rows);
        return Err(backup::corrupt(backup, &file.name, detail));
    }
    execute(after).await
}

async fn copy_in(
    transaction: &Transaction<'_>,
    table: &str,
    path: &Path,
) -> Result<u64, StoreError> {
    let reading = backup::during("reading the backup");
    let mut file = BufReader::new(File::open(path).map_err(&reading)?);
    let columns = columns(&mut file, path)?;
    let quoted: Vec<_> = columns.iter().map(|name| format!("\"{name}\"")).collect();
    let sql = format!("COPY {table} ({}) FROM STDIN", quoted.join(", "));
    let sink = transaction
        .copy_in::<_, Bytes>(&sql)
        .await
        .map_err(during(RESTORING))?;
    pin_mut!(sink);
    loop {
        let mut piece = vec![0; PIECE_BYTES];
        let read = file.read(&mut piece).map_err(&reading)?;
        if read == 0 {
            return sink.finish().await.map_err(during(RESTORING));
        }
        piece.truncate(read);
        sink.send(Bytes::from(piece))
            .await
            .map_err(during(RESTORING))?;
    }
}

/// Reads the names in the first line. They become part of a statement, so they are validated as names.
fn columns(file: &mut impl BufRead, path: &Path) -> Result<Vec<String>, StoreError> {
    const LONGEST: u64 = 64 * 1024;
    let mut line = String::new();
    let read = file.take(LONGEST).read_line(&mut line);
    read.map_err(backup::during("reading the backup"))?;
    let line = line.trim_end_matches('\n');
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    if line.split(", ").all(is_name) {
        return Ok(line.split(", ").map(str::to_owned).collect());
    }
    Err(StoreError::Corrupt {
        what: "file of the backup",
        id: path.display().to_string(),
        detail: "its first line does not name columns".to_owned(),
    })
}

/// Advances sequences past the restored numbers.
async fn count_on(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let sql = "SELECT quote_ident(c.relname), quote_ident(a.attname),
                      pg_get_serial_sequence(quote_ident(c.relname), a.attname)
               FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
               WHERE c.relnamespace = current_schema()::regnamespace AND a.attidentity <> ''";
    let doing = "setting a sequence";
    for row in transaction.query(sql, &[]).await.map_err(during(doing))? {
        let (table, column, sequence): (String, String, String) =
            (row.get(0), row.get(1), row.get(2));
        let sql = format!(
            "SELECT setval($1::text::regclass, coalesce(max({column}), 0) + 1, false) FROM {table}"
        );
        transaction
            .query(&sql, &[&sequence])
            .await
            .map_err(during(doing))?;
    }
    Ok(())
}
