//! Opening a database from before the evidence log creates a complete log.

use std::path::Path;

use charter_domain::evidence_log::proof::includes;
use charter_domain::evidence_log::{Hash, LogEntry, tree};
use charter_store::evidence::Evidence;
use charter_store::evidence_log::EvidenceLog;
use charter_store_sql::sqlite::{SqliteOptions, SqliteStore};
use charter_testkit::store_suite::{Outcome, sample};
use refinery::Target;
use rusqlite::{Connection, params};

pub(crate) mod migrations {
    refinery::embed_migrations!("src/sqlite/migrations");
}

/// Creates a database with the first version of the schema.
fn of_version_1(path: &Path) -> Result<Connection, Box<dyn std::error::Error + Send + Sync>> {
    let mut connection = Connection::open(path)?;
    let runner = migrations::migrations::runner();
    runner.set_target(Target::Version(1)).run(&mut connection)?;
    Ok(connection)
}

#[tokio::test]
async fn b000_19_evidence_from_before_the_log_is_logged() -> Outcome {
    let dir = tempfile::tempdir()?;
    let open = || SqliteStore::open(dir.path(), &SqliteOptions::default());
    let acme = sample::tenant("acme")?;
    let mut records = Vec::new();
    let connection = of_version_1(&dir.path().join("charter.db"))?;
    std::fs::write(dir.path().join("charter.lock"), "")?;
    for n in 1..=3 {
        let mut record = sample::evidence("acme", n, sample::at(i64::from(n))?)?;
        connection.execute(
            "INSERT INTO evidence VALUES (?1, 'acme', ?2, 'cloudtrail_event', ?3, 's', 'n', ?4)",
            params![
                n,
                record.id.as_str(),
                record.captured_at.as_micros(),
                serde_json::to_string(&record)?
            ],
        )?;
        for (kind, id) in [("finding_id", "fnd_1"), ("bundle_id", "b")] {
            connection.execute(
                "INSERT INTO evidence_attachment (evidence_key, tenant_id, target_kind, target_id, at)
                 VALUES (?1, 'acme', ?2, ?3, 0)",
                params![n, kind, id],
            )?;
        }
        record.attached_to.push(sample::bundle("b")?);
        records.push(record);
    }
    drop(connection);
    for _ in 0..2 {
        let store = open()?;
        let leaves = store.log_leaves(&acme, 0, 100).await?;
        let mut told = Vec::new();
        for leaf in &leaves {
            let size = leaves.len() as u64;
            let plan = tree::inclusion(leaf.index, size).ok_or("it is in the log")?;
            let mut nodes = tree::head(size).nodes().to_vec();
            nodes.extend(plan.iter().flat_map(|cover| cover.nodes()));
            let read = store.log_nodes(&acme, &nodes).await?;
            let proof: Result<Vec<Hash>, _> = plan.iter().map(|cover| cover.fold(&read)).collect();
            let hash = Hash::leaf(leaf.leaf.as_bytes());
            assert!(includes(
                leaf.index,
                size,
                hash,
                &proof?,
                tree::head(size).fold(&read)?
            ));
            told.push(match LogEntry::from_leaf(&leaf.leaf)? {
                LogEntry::Record { evidence_id, .. } => (evidence_id, "record"),
                LogEntry::Attachment { evidence_id, .. } => (evidence_id, "attachment"),
                LogEntry::PayloadRemoved { evidence_id, .. } => (evidence_id, "removal"),
            });
        }
        let expected: Vec<_> = records
            .iter()
            .flat_map(|record| ["record", "attachment"].map(|kind| (record.id.clone(), kind)))
            .collect();
        assert_eq!(told, expected);
        for record in &records {
            assert_eq!(
                store.evidence(&acme, &record.id).await?.as_ref(),
                Some(record)
            );
        }
        store.close().await?;
    }
    Ok(())
}
