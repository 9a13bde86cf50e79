//! Cases of evidence (seed 000 §2.14, B000-19).

use charter_contract::catalogue::evidence::{
    Attachment, EvidenceReceipt, EvidenceRecord, EvidenceType,
};
use charter_contract::ids::{EvidenceId, EvidenceRunId, UserId};
use charter_store::evidence::{EvidenceFilter, EvidenceHead};
use charter_store::page::PageRequest;
use charter_store::{Store, StoreError};
use serde_json::json;

use super::Outcome;
use super::sample::{at, bundle, evidence, finding, new_run, tenant};
use crate::assert_refused;

async fn find_matching(
    store: &dyn Store,
    filter: &EvidenceFilter,
) -> Result<Vec<EvidenceRecord>, Box<dyn std::error::Error + Send + Sync>> {
    let page = PageRequest::new(None, 100);
    let acme = tenant("acme")?;
    let found = store.find_evidence(&acme, filter, &page).await?;
    assert_eq!(found.next, None);
    // For every filter, the heads are those of the same records.
    let listed = store.list_evidence(&acme, filter, &page).await?;
    let heads = found.entries.iter().cloned().map(EvidenceHead::from);
    assert_eq!((listed.entries, listed.next), (heads.collect(), None));
    Ok(found.entries)
}

/// All fields are kept, alone and in a batch, including integers that a double would round.
///
/// # Errors
/// Any error of the store.
pub async fn every_field_of_a_record_is_stored(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let mut records = [evidence("acme", 1, at(0)?)?, evidence("acme", 2, at(1)?)?];
    let digits = json!([9_007_199_254_740_993_i64, u64::MAX, i64::MIN]);
    records[1].payload.insert("digits".to_owned(), digits);
    store.put_evidence(&acme, &records).await?;
    for record in &records {
        let read = store.evidence(&acme, &record.id).await?;
        assert_eq!(read.as_ref(), Some(record));
    }
    let unknown = EvidenceId::parse("ev_unknown")?;
    assert_eq!(store.evidence(&acme, &unknown).await?, None);
    Ok(())
}

/// A submitted record belongs to the user of the run that it is attached to, else to its submitter.
///
/// # Errors
/// Any error of the store.
pub async fn a_submitted_record_belongs_to_its_submitter(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let (ann, mia) = (UserId::parse("ann")?, UserId::parse("mia")?);
    let (mut run, first) = new_run("acme", 1, 0)?;
    run.user_id = Some(ann.clone());
    store.create_run(&run, first, vec![], vec![]).await?;
    let mut records = [evidence("acme", 1, at(0)?)?, evidence("acme", 2, at(1)?)?];
    for record in &mut records {
        record.receipt = Some(EvidenceReceipt {
            received_at: at(2)?,
            submitted_by: mia.clone(),
        });
    }
    records[1].attached_to = vec![Attachment {
        run_id: Some(EvidenceRunId::parse(run.run_id.as_str())?),
        ..Attachment::default()
    }];
    store.put_evidence(&acme, &records).await?;
    for (record, owner) in records.iter().zip([&mia, &ann]) {
        let found = store.evidence_user(&acme, &record.id).await?;
        assert_eq!(found.as_ref(), Some(owner));
        let filter = EvidenceFilter {
            user_id: Some(owner.clone()),
            ..EvidenceFilter::default()
        };
        assert_eq!(
            find_matching(store, &filter).await?,
            std::slice::from_ref(record)
        );
        let leaves = store.log_leaves_of(&acme, &record.id).await?;
        let received = leaves[0].leaf.contains("\"submitted_by\":\"mia\"");
        assert!(received, "{}", leaves[0].leaf);
    }
    Ok(())
}

/// B000-19: the store is append-only, and a batch is written completely or not at all.
///
/// # Errors
/// Any error of the store.
pub async fn a_duplicate_writes_nothing_of_its_batch(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let first = evidence("acme", 1, at(0)?)?;
    store
        .put_evidence(&acme, std::slice::from_ref(&first))
        .await?;
    let mut changed = evidence("acme", 1, at(5)?)?;
    changed.attached_to.push(bundle("b")?);
    let batch = [evidence("acme", 2, at(1)?)?, changed];
    assert_refused!(
        store.put_evidence(&acme, &batch).await,
        StoreError::AlreadyExists { id, .. } if id == first.id.as_str()
    );
    assert_eq!(
        find_matching(store, &EvidenceFilter::default()).await?,
        vec![first]
    );
    Ok(())
}

/// Equal ids in two tenants are two records, and neither tenant sees the other's.
///
/// # Errors
/// Any error of the store.
pub async fn tenants_are_isolated(store: &dyn Store) -> Outcome {
    let (acme, other) = (tenant("acme")?, tenant("other")?);
    let own = evidence("acme", 1, at(0)?)?;
    store
        .put_evidence(&acme, std::slice::from_ref(&own))
        .await?;
    assert_eq!(store.evidence(&other, &own.id).await?, None);
    let by_finding = EvidenceFilter {
        attached_to: Some(finding("fnd_1")?),
        ..EvidenceFilter::default()
    };
    let page = PageRequest::new(None, 10);
    for filter in [EvidenceFilter::default(), by_finding] {
        let seen = store.find_evidence(&other, &filter, &page).await?;
        assert_eq!(seen.entries, Vec::new());
    }
    let attached = store
        .attach_evidence(&other, &own.id, &bundle("b")?, at(1)?)
        .await;
    assert_refused!(attached, StoreError::NotFound { .. });
    let theirs = evidence("other", 1, at(7)?)?;
    store
        .put_evidence(&other, std::slice::from_ref(&theirs))
        .await?;
    assert_eq!(store.evidence(&acme, &own.id).await?, Some(own));
    assert_eq!(store.evidence(&other, &theirs.id).await?, Some(theirs));
    Ok(())
}

/// The tenant of the call must be the tenant of the record.
///
/// # Errors
/// Any error of the store.
pub async fn a_record_of_another_tenant_is_refused(store: &dyn Store) -> Outcome {
    let record = evidence("other", 1, at(0)?)?;
    let put = store
        .put_evidence(&tenant("acme")?, std::slice::from_ref(&record))
        .await;
    assert_refused!(put, StoreError::Refused { .. });
    assert_eq!(store.evidence(&tenant("other")?, &record.id).await?, None);
    Ok(())
}

/// B000-19: an attachment has exactly one known key.
///
/// # Errors
/// Any error of the store.
pub async fn an_unclear_attachment_is_refused(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let both = Attachment {
        finding_id: finding("fnd_1")?.finding_id,
        ..bundle("b")?
    };
    let mut record = evidence("acme", 1, at(0)?)?;
    store
        .put_evidence(&acme, std::slice::from_ref(&record))
        .await?;
    for unclear in [Attachment::default(), both] {
        let attached = store
            .attach_evidence(&acme, &record.id, &unclear, at(1)?)
            .await;
        assert_refused!(attached, StoreError::Refused { .. });
        let filter = EvidenceFilter {
            attached_to: Some(unclear.clone()),
            ..EvidenceFilter::default()
        };
        let page = PageRequest::new(None, 10);
        let looked_up = store.find_evidence(&acme, &filter, &page).await;
        assert_refused!(looked_up, StoreError::Refused { .. });
        record.id = EvidenceId::parse("ev_unclear")?;
        record.attached_to = vec![unclear];
        let put = store
            .put_evidence(&acme, std::slice::from_ref(&record))
            .await;
        assert_refused!(put, StoreError::Refused { .. });
        assert_eq!(store.evidence(&acme, &record.id).await?, None);
        record = evidence("acme", 1, at(0)?)?;
    }
    Ok(())
}

/// Ruling 17: later attachments are added in order, and a repeat changes nothing.
///
/// # Errors
/// Any error of the store.
pub async fn attachments_are_added_once(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let mut record = evidence("acme", 1, at(0)?)?;
    store
        .put_evidence(&acme, std::slice::from_ref(&record))
        .await?;
    for attachment in [bundle("b")?, finding("fnd_1")?, bundle("b")?, finding("b")?] {
        store
            .attach_evidence(&acme, &record.id, &attachment, at(1)?)
            .await?;
    }
    record.attached_to = vec![finding("fnd_1")?, bundle("b")?, finding("b")?];
    assert_eq!(store.evidence(&acme, &record.id).await?, Some(record));
    Ok(())
}

/// Attaching to an unknown record is refused.
///
/// # Errors
/// Any error of the store.
pub async fn attaching_unknown_evidence_is_refused(store: &dyn Store) -> Outcome {
    let unknown = EvidenceId::parse("ev_unknown")?;
    let attached = store
        .attach_evidence(&tenant("acme")?, &unknown, &bundle("b")?, at(1)?)
        .await;
    assert_refused!(attached, StoreError::NotFound { .. });
    Ok(())
}

/// Records are found by attachments made at capture and later; kind and id must match.
///
/// # Errors
/// Any error of the store.
pub async fn lookup_by_attachment(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let mut first = evidence("acme", 1, at(0)?)?;
    let mut second = evidence("acme", 2, at(1)?)?;
    second.attached_to = vec![finding("fnd_2")?];
    let batch = [first.clone(), second.clone()];
    store.put_evidence(&acme, &batch).await?;
    for record in [&first, &second] {
        store
            .attach_evidence(&acme, &record.id, &bundle("b")?, at(2)?)
            .await?;
    }
    first.attached_to.push(bundle("b")?);
    second.attached_to.push(bundle("b")?);
    let expected = [
        (finding("fnd_1")?, vec![first.clone()]),
        (finding("fnd_2")?, vec![second.clone()]),
        (bundle("b")?, vec![first, second]),
        (finding("b")?, vec![]),
    ];
    for (attachment, records) in expected {
        let filter = EvidenceFilter {
            attached_to: Some(attachment),
            ..EvidenceFilter::default()
        };
        assert_eq!(find_matching(store, &filter).await?, records, "{filter:?}");
    }
    Ok(())
}

/// Filters work alone and combined; a time range includes its start and excludes its end.
///
/// # Errors
/// Any error of the store.
pub async fn lookup_by_type_system_and_time(store: &dyn Store) -> Outcome {
    let mut records = Vec::new();
    for n in 0..4 {
        records.push(evidence("acme", n, at(i64::from(n))?)?);
    }
    records[1].evidence_type = EvidenceType::ConfigSnapshot;
    records[2].source.system = "aws.config".parse()?;
    store.put_evidence(&tenant("acme")?, &records).await?;
    let any = EvidenceFilter::default;
    let cases = [
        (any(), vec![0, 1, 2, 3]),
        (
            EvidenceFilter {
                evidence_type: Some(EvidenceType::ConfigSnapshot),
                ..any()
            },
            vec![1],
        ),
        (
            EvidenceFilter {
                system: Some("aws.config".to_owned()),
                ..any()
            },
            vec![2],
        ),
        (
            EvidenceFilter {
                captured_from: Some(at(1)?),
                captured_until: Some(at(3)?),
                ..any()
            },
            vec![1, 2],
        ),
        (
            EvidenceFilter {
                user_id: None,
                attached_to: Some(finding("fnd_1")?),
                evidence_type: Some(EvidenceType::CloudtrailEvent),
                system: Some("aws.cloudtrail".to_owned()),
                captured_from: Some(at(1)?),
                captured_until: Some(at(9)?),
            },
            vec![3],
        ),
    ];
    for (filter, expected) in cases {
        let expected: Vec<_> = expected
            .iter()
            .map(|n: &usize| records[*n].clone())
            .collect();
        assert_eq!(find_matching(store, &filter).await?, expected, "{filter:?}");
    }
    Ok(())
}

/// Records are ordered by capture time and id; records with equal times are not lost between pages.
///
/// # Errors
/// Any error of the store.
pub async fn pages_give_every_record_once(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let mut records = Vec::new();
    for n in 0..7 {
        records.push(evidence("acme", n, at(i64::from(n / 3))?)?);
    }
    for record in records.iter().rev() {
        store
            .put_evidence(&acme, std::slice::from_ref(record))
            .await?;
    }
    let (mut seen, mut after, mut sizes) = (Vec::new(), None, Vec::new());
    loop {
        let page = PageRequest::new(after, 2);
        let page = store
            .find_evidence(&acme, &EvidenceFilter::default(), &page)
            .await?;
        sizes.push(page.entries.len());
        seen.extend(page.entries);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, records);
    assert_eq!(sizes, vec![2, 2, 2, 1]);
    Ok(())
}

/// A cursor must come from a page.
///
/// # Errors
/// Any error of the store.
pub async fn an_invalid_cursor_is_refused(store: &dyn Store) -> Outcome {
    for made_up in ["", "x", "12", "x.ev_1"] {
        let page = PageRequest::new(Some(made_up.to_owned()), 2);
        let found = store
            .find_evidence(&tenant("acme")?, &EvidenceFilter::default(), &page)
            .await;
        assert_refused!(found, StoreError::Refused { .. });
    }
    Ok(())
}
