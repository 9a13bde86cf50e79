//! Cases of the tag store (B000-15).

use charter_store::{Store, StoreError};

use super::Outcome;
use super::sample::{at, tags, tenant};
use crate::assert_refused;

/// All fields are kept.
///
/// # Errors
/// Any error of the store.
pub async fn b000_15_every_field_of_tags_is_stored(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let record = tags("acme", 1, at(10)?)?;
    store.put_tags(&record).await?;
    let read = store.tags(&acme, &record.request_id, at(1)?).await?;
    assert_eq!(read, Some(record));
    let unknown = tags("acme", 2, at(10)?)?.request_id;
    assert_eq!(store.tags(&acme, &unknown, at(1)?).await?, None);
    Ok(())
}

/// A second write is refused, with any content, even after the first record has expired.
///
/// # Errors
/// Any error of the store.
pub async fn b000_15_a_second_write_is_refused(store: &dyn Store) -> Outcome {
    let first = tags("acme", 1, at(10)?)?;
    store.put_tags(&first).await?;
    for again in [first.clone(), tags("acme", 1, at(99)?)?] {
        let refused = store.put_tags(&again).await;
        assert_refused!(refused, StoreError::AlreadyExists { .. });
    }
    let read = store
        .tags(&tenant("acme")?, &first.request_id, at(1)?)
        .await;
    assert_eq!(read?, Some(first));
    Ok(())
}

/// A record is absent from its expiry time, before any sweep.
///
/// # Errors
/// Any error of the store.
pub async fn b000_15_an_expired_record_reads_as_absent(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let record = tags("acme", 1, at(10)?)?;
    store.put_tags(&record).await?;
    let expired = store.tags(&acme, &record.request_id, at(10)?).await?;
    assert_eq!(expired, None);
    let live = store.tags(&acme, &record.request_id, at(9)?).await?;
    assert_eq!(live, Some(record));
    Ok(())
}

/// Tags must expire.
///
/// # Errors
/// Any error of the store.
pub async fn tags_without_expiry_are_refused(store: &dyn Store) -> Outcome {
    let mut record = tags("acme", 1, at(10)?)?;
    record.expires_at = None;
    let refused = store.put_tags(&record).await;
    assert_refused!(refused, StoreError::Refused { .. });
    Ok(())
}

/// Each tenant has its own requests.
///
/// # Errors
/// Any error of the store.
pub async fn tenants_are_isolated(store: &dyn Store) -> Outcome {
    let own = tags("acme", 1, at(10)?)?;
    store.put_tags(&own).await?;
    let other = tenant("other")?;
    let seen = store.tags(&other, &own.request_id, at(1)?).await?;
    assert_eq!(seen, None);
    let theirs = tags("other", 1, at(20)?)?;
    store.put_tags(&theirs).await?;
    let read = store.tags(&tenant("acme")?, &own.request_id, at(1)?).await;
    assert_eq!(read?, Some(own));
    Ok(())
}

/// A sweep deletes only expired tags; then the request may be written again.
///
/// # Errors
/// Any error of the store.
pub async fn sweep_deletes_expired_records(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    for (n, until) in [(1, 10), (2, 11)] {
        store.put_tags(&tags("acme", n, at(until)?)?).await?;
    }
    assert_eq!(store.sweep_tags(at(10)?).await?, 1);
    assert_eq!(store.sweep_tags(at(10)?).await?, 0);
    let live = tags("acme", 2, at(11)?)?;
    let read = store.tags(&acme, &live.request_id, at(1)?).await?;
    assert_eq!(read, Some(live));
    store.put_tags(&tags("acme", 1, at(99)?)?).await?;
    Ok(())
}
