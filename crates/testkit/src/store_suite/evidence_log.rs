//! Cases of the evidence log (B000-19): its leaves, tree and checkpoints, and the effects of removing a payload.

use std::collections::BTreeMap;

use charter_contract::catalogue::evidence::{AbsenceReason, EvidenceRecord};
use charter_contract::ids::{EvidenceId, TenantId};
use charter_domain::evidence_log::entry::{payload_digest, record_digest};
use charter_domain::evidence_log::proof::{TreeHead, extends, includes};
use charter_domain::evidence_log::{Cover, Hash, LogEntry, NodeId, tree};
use charter_store::evidence_log::{PublishedCheckpoint, StoredLeaf};
use charter_store::{Store, StoreError};
use futures_util::future::join_all;

use super::Outcome;
use super::sample::{Made, at, bundle, evidence, finding, tenant};
use crate::assert_refused;

async fn put_evidence(
    store: &dyn Store,
    tenant: &TenantId,
    numbers: std::ops::Range<u32>,
) -> Made<Vec<EvidenceRecord>> {
    let mut records = Vec::new();
    for n in numbers {
        records.push(evidence(tenant.as_str(), n, at(i64::from(n))?)?);
    }
    store.put_evidence(tenant, &records).await?;
    Ok(records)
}

async fn leaves(store: &dyn Store, tenant: &TenantId) -> Made<Vec<StoredLeaf>> {
    let leaves = store.log_leaves(tenant, 0, 1_000).await?;
    let size = store.log_size(tenant).await?;
    let places: Vec<u64> = leaves.iter().map(|leaf| leaf.index).collect();
    assert_eq!(places, (0..size).collect::<Vec<_>>());
    Ok(leaves)
}

fn entries(leaves: &[StoredLeaf]) -> Made<Vec<LogEntry>> {
    let entries = leaves.iter().map(|leaf| LogEntry::from_leaf(&leaf.leaf));
    Ok(entries.collect::<Result<_, _>>()?)
}

async fn folded(store: &dyn Store, tenant: &TenantId, plan: &[Cover]) -> Made<Vec<Hash>> {
    let nodes: Vec<NodeId> = plan.iter().flat_map(Cover::nodes).copied().collect();
    let read: BTreeMap<NodeId, Hash> = store.log_nodes(tenant, &nodes).await?;
    let folded = plan.iter().map(|cover| cover.fold(&read));
    Ok(folded.collect::<Result<_, _>>()?)
}

async fn head(store: &dyn Store, tenant: &TenantId, size: u64) -> Made<TreeHead> {
    let root = folded(store, tenant, &[tree::head(size)]).await?[0];
    Ok(TreeHead { size, root })
}

/// Checks that every leaf is included in the head of the whole log.
async fn proved(store: &dyn Store, tenant: &TenantId) -> Made<Vec<StoredLeaf>> {
    let leaves = leaves(store, tenant).await?;
    let now = head(store, tenant, leaves.len() as u64).await?;
    for leaf in &leaves {
        let plan = tree::inclusion(leaf.index, now.size).unwrap_or_default();
        let proof = folded(store, tenant, &plan).await?;
        let hash = Hash::leaf(leaf.leaf.as_bytes());
        assert!(
            includes(leaf.index, now.size, hash, &proof, now.root),
            "{leaf:?}"
        );
    }
    Ok(leaves)
}

/// Leaves are in order, with the digests of the stored texts; a repeated attachment adds none.
///
/// # Errors
/// Any error of the store.
pub async fn b000_19_every_record_and_later_attachment_is_a_leaf(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    assert_eq!(leaves(store, &acme).await?, vec![]);
    let records = put_evidence(store, &acme, 1..3).await?;
    for attachment in [bundle("b")?, bundle("b")?, finding("fnd_1")?] {
        store
            .attach_evidence(&acme, &records[0].id, &attachment, at(9)?)
            .await?;
    }
    let leaves = proved(store, &acme).await?;
    let attached = LogEntry::Attachment {
        evidence_id: records[0].id.clone(),
        attached_to: bundle("b")?,
        at: at(9)?,
    };
    let mut expected = Vec::new();
    for (leaf, record) in leaves.iter().zip(&records) {
        let stored = leaf
            .record
            .as_ref()
            .ok_or("a record's leaf has its record")?;
        let payload = stored.payload.as_ref().ok_or("the payload is there")?;
        assert_eq!(payload.text, serde_json::to_string(&record.payload)?);
        let mut bare = record.clone();
        bare.payload.clear();
        assert_eq!(
            serde_json::from_str::<EvidenceRecord>(&stored.record)?,
            bare
        );
        expected.push(LogEntry::Record {
            evidence_id: record.id.clone(),
            record_sha256: record_digest(&stored.record),
            payload_sha256: payload_digest(&payload.salt, &payload.text),
            receipt: None,
        });
    }
    expected.push(attached);
    assert_eq!(entries(&leaves)?, expected);
    let salts: Vec<_> = leaves
        .iter()
        .filter_map(|leaf| Some(leaf.record.as_ref()?.payload.as_ref()?.salt))
        .collect();
    assert_ne!(salts[0], salts[1], "each payload has a salt of its own");
    let of_first = store.log_leaves_of(&acme, &records[0].id).await?;
    assert_eq!(of_first, vec![leaves[0].clone(), leaves[2].clone()]);
    Ok(())
}

/// Record and leaf are written together or not at all.
///
/// # Errors
/// Any error of the store.
pub async fn b000_19_a_failed_batch_leaves_no_leaf(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let first = put_evidence(store, &acme, 1..2).await?;
    let batch = [evidence("acme", 2, at(1)?)?, first[0].clone()];
    assert_refused!(
        store.put_evidence(&acme, &batch).await,
        StoreError::AlreadyExists { .. }
    );
    let unknown = EvidenceId::parse("ev_unknown")?;
    let attached = store
        .attach_evidence(&acme, &unknown, &bundle("b")?, at(1)?)
        .await;
    assert_refused!(attached, StoreError::NotFound { .. });
    assert_eq!(proved(store, &acme).await?.len(), 1);
    Ok(())
}

/// Heads and proofs are correct at every size, including incomplete trees; positions beyond the log are absent.
///
/// # Errors
/// Any error of the store.
pub async fn b000_19_heads_and_proofs_come_from_stored_nodes(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let mut heads = vec![head(store, &acme, 0).await?];
    for n in 1..=19 {
        put_evidence(store, &acme, n..n + 1).await?;
        heads.push(head(store, &acme, u64::from(n)).await?);
    }
    proved(store, &acme).await?;
    for old in &heads {
        for new in &heads[usize::try_from(old.size)?..] {
            let plan = tree::consistency(old.size, new.size).unwrap_or_default();
            let proof = folded(store, &acme, &plan).await?;
            assert!(extends(*old, *new, &proof), "{old:?} {new:?}");
            assert_eq!(head(store, &acme, old.size).await?, *old, "heads stay");
        }
    }
    let beyond = [NodeId {
        level: 0,
        index: 19,
    }];
    assert_refused!(
        store.log_nodes(&acme, &beyond).await,
        StoreError::NotFound { .. }
    );
    Ok(())
}

/// A tenant sees no leaves, hashes or checkpoints of another.
///
/// # Errors
/// Any error of the store.
pub async fn b000_19_logs_of_tenants_are_separate(store: &dyn Store) -> Outcome {
    let (acme, other) = (tenant("acme")?, tenant("other")?);
    let own = put_evidence(store, &acme, 1..4).await?;
    store
        .publish_checkpoint(&acme, &checkpoint(3, "a", "note")?)
        .await?;
    assert_eq!(leaves(store, &other).await?, vec![]);
    assert_eq!(store.log_leaves_of(&other, &own[0].id).await?, vec![]);
    assert_eq!(store.published_checkpoint(&other, 3).await?, None);
    let first = [NodeId { level: 0, index: 0 }];
    assert_refused!(
        store.log_nodes(&other, &first).await,
        StoreError::NotFound { .. }
    );
    put_evidence(store, &other, 1..2).await?;
    assert_eq!(
        (
            proved(store, &acme).await?.len(),
            proved(store, &other).await?.len()
        ),
        (3, 1)
    );
    Ok(())
}

/// Each index is assigned once, without gaps.
///
/// # Errors
/// Any error of the store.
pub async fn b000_19_writers_at_the_same_time_get_places_of_their_own(
    store: &dyn Store,
) -> Outcome {
    let acme = tenant("acme")?;
    let acme = &acme;
    let writes =
        (0..24).map(|n| async move { put_evidence(store, acme, n..n + 1).await.map(|_| ()) });
    for written in join_all(writes).await {
        written?;
    }
    assert_eq!(proved(store, acme).await?.len(), 24);
    Ok(())
}

fn checkpoint(size: u64, key: &str, note: &str) -> Made<PublishedCheckpoint> {
    Ok(PublishedCheckpoint {
        size,
        key_id: key.to_owned(),
        at: at(i64::try_from(size)? + i64::from(key == "b"))?,
        note: note.to_owned(),
    })
}

/// A repeat changes nothing; a checkpoint by another key is stored in addition and is the one returned.
///
/// # Errors
/// Any error of the store.
pub async fn b000_19_a_published_checkpoint_is_stored_unchanged(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    for (key, note) in [("a", "first"), ("a", "again")] {
        store
            .publish_checkpoint(&acme, &checkpoint(0, key, note)?)
            .await?;
    }
    let kept = store.published_checkpoint(&acme, 0).await?;
    assert_eq!(kept, Some(checkpoint(0, "a", "first")?));
    let rotated = checkpoint(0, "b", "by the new key")?;
    store.publish_checkpoint(&acme, &rotated).await?;
    assert_eq!(store.published_checkpoint(&acme, 0).await?, Some(rotated));
    assert_eq!(store.published_checkpoint(&acme, 1).await?, None);
    Ok(())
}

/// The oldest payloads are removed first, up to the requested number, each once; record, leaf and proof remain, and
/// the record has the time of removal.
///
/// # Errors
/// Any error of the store.
pub async fn b000_19_a_removed_payload_still_proves(store: &dyn Store) -> Outcome {
    let (acme, other) = (tenant("acme")?, tenant("other")?);
    put_evidence(store, &other, 2..3).await?;
    let records = put_evidence(store, &acme, 1..4).await?;
    let before = leaves(store, &acme).await?;
    // At equal times, tenants are processed in order of name.
    let counts = [
        store.remove_payloads(at(1)?, at(50)?, 10).await?,
        store.remove_payloads(at(3)?, at(50)?, 1).await?,
        store.remove_payloads(at(3)?, at(51)?, 1).await?,
        store.remove_payloads(at(3)?, at(52)?, 10).await?,
        store.remove_payloads(at(3)?, at(53)?, 10).await?,
    ];
    assert_eq!(counts, [0, 1, 1, 1, 0]);
    let after = proved(store, &acme).await?;
    let removed = |n: usize, seconds: i64| -> Made<LogEntry> {
        Ok(LogEntry::PayloadRemoved {
            evidence_id: records[n].id.clone(),
            at: at(seconds)?,
        })
    };
    assert_eq!(entries(&after)?[3..], [removed(0, 50)?, removed(1, 51)?]);
    for (now, then) in after.iter().zip(&before) {
        assert_eq!((now.index, &now.leaf), (then.index, &then.leaf));
        let text = |leaf: &StoredLeaf| leaf.record.as_ref().map(|record| record.record.clone());
        assert_eq!(text(now), text(then), "the record's own text stays");
    }
    let has = |leaf: &StoredLeaf| leaf.record.as_ref().is_some_and(|r| r.payload.is_some());
    assert_eq!(
        after.iter().map(has).collect::<Vec<_>>(),
        [false, false, true, false, false]
    );
    let read = store
        .evidence(&acme, &records[0].id)
        .await?
        .ok_or("the record stays")?;
    let absent = read.payload_absent.clone().ok_or("it says so")?;
    assert_eq!(absent.reason, AbsenceReason::Removed);
    assert_eq!(
        absent.note.as_str(),
        format!("payload removed on {}", at(50)?)
    );
    let expected = EvidenceRecord {
        payload_absent: Some(absent),
        payload: serde_json::Map::new(),
        ..records[0].clone()
    };
    assert_eq!(read, expected);
    assert_refused!(
        store
            .put_evidence(
                &acme,
                std::slice::from_ref(&EvidenceRecord {
                    id: EvidenceId::parse("ev_new")?,
                    ..read
                })
            )
            .await,
        StoreError::Refused { .. }
    );
    Ok(())
}
