//! Exports all data of one tenant on both engines, and erases it with no trace but the evidence log's tree.
//!
//! The tables to check are read from each database, so new tables are included automatically.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use charter_contract::scope::Scope;
use charter_domain::evidence_log::tree;
use charter_store::tenant::ERASED_TOPIC;
use charter_store::{Store, StoreError};
use charter_store_sql::backup::Manifest;
use charter_store_sql::postgres;
use charter_store_sql::sqlite::{self, SqliteOptions, SqliteStore};
use charter_testkit::store_suite::{Outcome, sample};
use serde_json::Value;
use tempfile::TempDir;
use tokio_postgres::NoTls;

use crate::postgres::database::{options, store};
use crate::postgres::filled::{ACME, first_rows};
use crate::postgres::near::with_pgvector;

const OTHER: &str = "umbra";

/// Tables without owner, each with the reason.
const OF_NO_TENANT: [&str; 11] = [
    // One row each: revisions, counters and the layout.
    "agent_skill_index",
    "catalogue",
    "notification_position",
    "layout",
    "outbox_numbers",
    // A function of model and text, without an owner; `charter reindex` deletes unused ones.
    "embedding",
    "calibration",
    // For runs: an erasure deletes those of the tenant.
    "lease",
    // Empty except during an erasure.
    "erasing",
    // For the migrations.
    "refinery_schema_history",
    // SQLite's own.
    "sqlite_sequence",
];

/// Tables that no sample fills.
const WITHOUT_ROWS: [&str; 2] = ["lens_near", "memory_near"];

/// Returns the rows of an export, by table.
fn exported(directory: &Path) -> BTreeMap<String, Vec<Value>> {
    let manifest = Manifest::verified(directory).unwrap();
    let files = manifest.files.iter().map(|file| {
        let text = std::fs::read_to_string(directory.join(&file.name)).unwrap();
        let rows: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(file.rows, Some(rows.len() as u64));
        (file.name.replace(".jsonl", ""), rows)
    });
    files.collect()
}

/// Operations on an engine without its store.
trait Engine {
    async fn export(&self, tenant: &str, target: &Path) -> Result<Manifest, StoreError>;
    async fn tables(&self) -> BTreeSet<String>;
    /// Runs a statement as the role of the store; returns the refusal.
    async fn refused(&self, sql: &str) -> String;
}

struct Postgres(charter_testkit::postgres_server::Database);

impl Engine for Postgres {
    async fn export(&self, tenant: &str, target: &Path) -> Result<Manifest, StoreError> {
        let tenant = sample::tenant(tenant).unwrap();
        let at = sample::at(100).unwrap();
        postgres::export_tenant(&options(&self.0), &tenant, target, at).await
    }

    async fn tables(&self) -> BTreeSet<String> {
        let client = crate::postgres::database::raw(&self.0).await;
        let sql = "SELECT relname::text FROM pg_class WHERE relkind = 'r'
                   AND relnamespace = 'public'::regnamespace";
        let rows = client.query(sql, &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    async fn refused(&self, sql: &str) -> String {
        let (client, connection) = tokio_postgres::connect(&self.0.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
            .batch_execute("SET charter.tenant = '*'")
            .await
            .unwrap();
        let refused = client.batch_execute(sql).await.unwrap_err();
        refused.as_db_error().unwrap().message().to_owned()
    }
}

struct Sqlite(TempDir);

impl Sqlite {
    fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.0.path().join("charter.db")).unwrap()
    }
}

impl Engine for Sqlite {
    async fn export(&self, tenant: &str, target: &Path) -> Result<Manifest, StoreError> {
        let tenant = sample::tenant(tenant).unwrap();
        sqlite::export_tenant(self.0.path(), &tenant, target, sample::at(100).unwrap())
    }

    async fn tables(&self) -> BTreeSet<String> {
        let connection = self.raw();
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table'";
        let mut statement = connection.prepare(sql).unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    }

    async fn refused(&self, sql: &str) -> String {
        self.raw().execute_batch(sql).unwrap_err().to_string()
    }
}

async fn on_postgres() -> (postgres::PostgresStore, Postgres) {
    let database = with_pgvector().await;
    (store(&database).await, Postgres(database))
}

fn on_sqlite() -> (SqliteStore, Sqlite) {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path(), &SqliteOptions::default()).unwrap();
    (store, Sqlite(directory))
}

/// Every row of a table with an owner is in its tenant's export and in no other. After the erasure none of them exists,
/// and the other tenant's rows are unchanged.
async fn nothing_is_left_and_nothing_else_is_touched(
    store: &dyn Store,
    engine: &impl Engine,
) -> Outcome {
    first_rows(store, ACME, 1).await?;
    first_rows(store, OTHER, 4).await?;
    let folder = tempfile::tempdir()?;
    let export = async |name: &str, tenant: &str| {
        let target = folder.path().join(name);
        engine.export(tenant, &target).await.unwrap();
        exported(&target)
    };
    let before = export("acme", ACME).await;
    let others = export("umbra", OTHER).await;

    let known: BTreeSet<String> = before
        .keys()
        .cloned()
        .chain(OF_NO_TENANT.map(str::to_owned))
        .collect();
    let tables = engine.tables().await;
    let unknown: Vec<_> = tables.difference(&known).collect();
    assert!(unknown.is_empty(), "whose are the rows of {unknown:?}?");
    for (table, rows) in &before {
        let without = WITHOUT_ROWS.contains(&table.as_str());
        assert!(without || !rows.is_empty(), "no sample is in {table}");
        let shared = rows.iter().filter(|row| others[table].contains(row));
        assert_eq!(shared.count(), 0, "{table}");
    }

    let acme = sample::tenant(ACME)?;
    let heads = store.log_size(&acme).await?;
    let would = store.rows_of_tenant(&acme).await?;
    let erased = store.erase_tenant(&acme, sample::at(200)?).await?;
    assert_eq!(erased.erased, would);
    assert!(erased.came_meanwhile.is_empty(), "{erased:?}");
    let counted = |rows: &BTreeMap<String, Vec<Value>>| -> BTreeMap<String, u64> {
        let counted = rows
            .iter()
            .map(|(table, rows)| (table.clone(), rows.len() as u64));
        counted.filter(|(_, rows)| *rows > 0).collect()
    };
    let mut went = erased.erased.clone();
    went.extend(erased.kept.clone());
    assert_eq!(went, counted(&before));
    let after = counted(&export("after", ACME).await);
    assert_eq!(after, erased.kept);
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        ["evidence_checkpoint", "evidence_log", "evidence_node"]
    );
    assert_eq!(erased.log.size, heads);
    assert_eq!(export("umbra-after", OTHER).await, others);
    assert!(store.rows_of_tenant(&acme).await?.is_empty());
    let told = store.messages(0, 1_000).await?;
    let told = told
        .iter()
        .filter(|told| told.message.topic == ERASED_TOPIC);
    assert_eq!(told.count(), 1);
    Ok(())
}

/// The log continues after an erasure: an old checkpoint and a new one are consistent.
async fn the_log_goes_on(store: &dyn Store) -> Outcome {
    first_rows(store, ACME, 1).await?;
    let acme = sample::tenant(ACME)?;
    let before = store.log_size(&acme).await?;
    let erased = store.erase_tenant(&acme, sample::at(200)?).await?;
    let record = sample::evidence(ACME, 7, sample::at(300)?)?;
    store
        .put_evidence(&acme, std::slice::from_ref(&record))
        .await?;
    assert_eq!(store.log_size(&acme).await?, before + 1);
    let leaves = store.log_leaves(&acme, 0, 10).await?;
    let places: Vec<u64> = leaves.iter().map(|leaf| leaf.index).collect();
    assert_eq!(places, [before]);
    let old = tree::head(before);
    let nodes = store.log_nodes(&acme, old.nodes()).await?;
    assert_eq!(old.fold(&nodes)?, erased.log.root);
    let again = store.published_checkpoint(&acme, 2).await?;
    assert_eq!(again.map(|kept| kept.note).as_deref(), Some("signed"));
    Ok(())
}

/// A tenant with an unfinished run is not erased, and append-only rows stay protected for other tenants.
async fn a_tenant_at_work_is_refused(store: &dyn Store, engine: &impl Engine) -> Outcome {
    first_rows(store, ACME, 1).await?;
    let (run, events) = sample::new_run(ACME, 9, 0)?;
    store.create_run(&run, events, vec![], vec![]).await?;
    let acme = sample::tenant(ACME)?;
    let before = store.rows_of_tenant(&acme).await?;
    let refused = store
        .erase_tenant(&acme, sample::at(200)?)
        .await
        .unwrap_err();
    let said = "tenant `acme` is rejected: 1 of its runs have not ended: abort them, or wait until they end";
    assert_eq!(refused.to_string(), said);
    assert_eq!(store.rows_of_tenant(&acme).await?, before);
    for (table, said) in [
        ("evidence_attachment", "evidence is append-only"),
        ("evidence_leaf", "the evidence log is append-only"),
        ("evidence_node", "the evidence log is append-only"),
        ("memory_version", "that a version existed is kept"),
    ] {
        let heard = engine.refused(&format!("DELETE FROM {table}")).await;
        assert!(heard.contains(said), "{table}: {heard}");
    }
    Ok(())
}

/// The catalogue and the skills of others are unchanged, and their revisions are raised.
async fn revisions_are_raised(store: &dyn Store) -> Outcome {
    first_rows(store, ACME, 1).await?;
    first_rows(store, OTHER, 4).await?;
    let (catalogue, skills) = (store.revision().await?, store.skills_revision().await?);
    let acme = sample::tenant(ACME)?;
    store.erase_tenant(&acme, sample::at(200)?).await?;
    assert_eq!(store.revision().await?.0, catalogue.0 + 1);
    let loaded = store.load_skills().await?;
    assert_eq!(loaded.revision.0, skills.0 + 1);
    let scopes: Vec<Scope> = loaded.skills.into_iter().map(|skill| skill.scope).collect();
    assert_eq!(scopes, [Scope::Tenant(sample::tenant(OTHER)?)]);
    Ok(())
}

macro_rules! on_each_engine {
    ($($case:ident $(with $engine:ident)?),* $(,)?) => {
        mod sqlite_engine {
            $(#[tokio::test]
            async fn $case() -> super::Outcome {
                let (store, _engine) = super::on_sqlite();
                super::$case(&store $(, { let $engine = &_engine; $engine })?).await
            })*
        }
        mod postgres_engine {
            $(#[tokio::test]
            async fn $case() -> super::Outcome {
                let (store, _engine) = super::on_postgres().await;
                super::$case(&store $(, { let $engine = &_engine; $engine })?).await
            })*
        }
    };
}

on_each_engine! {
    nothing_is_left_and_nothing_else_is_touched with engine,
    the_log_goes_on,
    a_tenant_at_work_is_refused with engine,
    revisions_are_raised,
}
