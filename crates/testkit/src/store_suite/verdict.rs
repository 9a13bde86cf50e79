//! Cases of routing verdicts (B000-3).

use charter_store::verdict::VerdictRecord;
use charter_store::{Store, StoreError};

use super::Outcome;
use super::sample::{Made, at, request, tenant};
use crate::assert_refused;

fn verdict(tenant_id: &str, n: u128, seconds: i64) -> Made<VerdictRecord> {
    Ok(VerdictRecord {
        request_id: request(n),
        tenant_id: tenant(tenant_id)?,
        body: format!(r#"{{"verdict":"narrow","n":{n}}}"#),
        at: at(seconds)?,
    })
}

/// All fields.
///
/// # Errors
/// As the store's.
pub async fn b000_3_a_verdict_reads_back_whole(store: &dyn Store) -> Outcome {
    let record = verdict("acme", 1, 0)?;
    store.put_verdict(&record).await?;
    let read = store.verdict(&record.tenant_id, &request(1)).await?;
    assert_eq!(read, Some(record));
    assert_eq!(store.verdict(&tenant("acme")?, &request(2)).await?, None);
    Ok(())
}

/// A verdict is what was said then.
///
/// # Errors
/// As the store's.
pub async fn a_second_verdict_is_refused(store: &dyn Store) -> Outcome {
    let first = verdict("acme", 1, 0)?;
    store.put_verdict(&first).await?;
    let refused = store.put_verdict(&verdict("acme", 1, 5)?).await;
    assert_refused!(refused, StoreError::AlreadyExists { .. });
    let read = store.verdict(&first.tenant_id, &request(1)).await?;
    assert_eq!(read, Some(first));
    Ok(())
}

/// Each tenant has its own requests.
///
/// # Errors
/// As the store's.
pub async fn tenants_are_apart(store: &dyn Store) -> Outcome {
    let own = verdict("acme", 1, 0)?;
    store.put_verdict(&own).await?;
    assert_eq!(store.verdict(&tenant("other")?, &request(1)).await?, None);
    store.put_verdict(&verdict("other", 1, 5)?).await?;
    let read = store.verdict(&own.tenant_id, &request(1)).await?;
    assert_eq!(read, Some(own));
    Ok(())
}

/// Strictly older than the given time.
///
/// # Errors
/// As the store's.
pub async fn sweep_takes_older_verdicts(store: &dyn Store) -> Outcome {
    let newer = verdict("acme", 2, 1)?;
    store.put_verdict(&verdict("acme", 1, 0)?).await?;
    store.put_verdict(&newer).await?;
    assert_eq!(store.sweep_verdicts(at(1)?).await?, 1);
    assert_eq!(store.verdict(&newer.tenant_id, &request(1)).await?, None);
    let left = store.verdict(&newer.tenant_id, &request(2)).await?;
    assert_eq!(left, Some(newer));
    Ok(())
}
