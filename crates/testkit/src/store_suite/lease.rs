//! Cases of leases.

use charter_store::Store;
use charter_store::lease::{Fence, Lease};
use futures_util::future::join_all;

use super::Outcome;
use super::sample::at;

async fn acquire(
    store: &dyn Store,
    holder: &str,
    now: i64,
    until: i64,
) -> Result<Option<Lease>, Box<dyn std::error::Error + Send + Sync>> {
    Ok(store.acquire("run-1", holder, at(now)?, at(until)?).await?)
}

fn lease(
    holder: &str,
    fence: u64,
    until: i64,
) -> Result<Lease, Box<dyn std::error::Error + Send + Sync>> {
    Ok(Lease {
        resource: "run-1".to_owned(),
        holder: holder.to_owned(),
        fence: Fence(fence),
        expires_at: at(until)?,
    })
}

/// Returns the resources that `holder` has lost when it renews run-1 until `until`.
async fn renew(
    store: &dyn Store,
    holder: &str,
    until: i64,
) -> Result<Vec<String>, Box<dyn std::error::Error + Send + Sync>> {
    let runs = ["run-1".to_owned()];
    Ok(store.renew(holder, &runs, at(until)?).await?)
}

/// No lost resources.
const NOTHING: [String; 0] = [];

/// The first lease of a resource has a fencing token above 0, the token of no lease.
///
/// # Errors
/// Any error of the store.
pub async fn a_free_resource_is_taken(store: &dyn Store) -> Outcome {
    assert_eq!(acquire(store, "a", 0, 10).await?, Some(lease("a", 1, 10)?));
    let other = store.acquire("run-2", "b", at(0)?, at(10)?).await?;
    assert_eq!(other.map(|lease| lease.fence), Some(Fence(1)));
    Ok(())
}

/// A lease is exclusive until it expires.
///
/// # Errors
/// Any error of the store.
pub async fn a_live_lease_excludes_other_holders(store: &dyn Store) -> Outcome {
    acquire(store, "a", 0, 10).await?;
    assert_eq!(acquire(store, "b", 9, 20).await?, None);
    assert_eq!(acquire(store, "b", 10, 20).await?, Some(lease("b", 2, 20)?));
    Ok(())
}

/// A holder that acquires its own lease again renews it.
///
/// # Errors
/// Any error of the store.
pub async fn the_holder_extends_under_the_same_fence(store: &dyn Store) -> Outcome {
    acquire(store, "a", 0, 10).await?;
    assert_eq!(acquire(store, "a", 5, 15).await?, Some(lease("a", 1, 15)?));
    assert_eq!(acquire(store, "b", 12, 30).await?, None);
    Ok(())
}

/// An expired lease gets a new fencing token, even for the same holder: writes with the old token are refused.
///
/// # Errors
/// Any error of the store.
pub async fn an_expired_lease_can_be_taken_over_with_a_new_fence(store: &dyn Store) -> Outcome {
    acquire(store, "a", 0, 10).await?;
    assert_eq!(acquire(store, "a", 11, 20).await?, Some(lease("a", 2, 20)?));
    assert_eq!(acquire(store, "b", 21, 30).await?, Some(lease("b", 3, 30)?));
    Ok(())
}

/// An expired lease that no other worker took over still belongs to its holder.
///
/// # Errors
/// Any error of the store.
pub async fn renew_extends_also_after_expiry(store: &dyn Store) -> Outcome {
    acquire(store, "a", 0, 10).await?;
    assert_eq!(renew(store, "a", 40).await?, NOTHING);
    assert_eq!(acquire(store, "b", 39, 50).await?, None);
    Ok(())
}

/// A holder learns that its lease was taken over, and the new holder keeps it.
///
/// # Errors
/// Any error of the store.
pub async fn renew_after_a_takeover_is_refused(store: &dyn Store) -> Outcome {
    acquire(store, "a", 0, 10).await?;
    acquire(store, "b", 11, 20).await?;
    let run = lease("a", 1, 10)?.resource;
    assert_eq!(renew(store, "a", 40).await?, std::slice::from_ref(&run));
    assert_eq!(acquire(store, "c", 19, 50).await?, None);
    assert_eq!(acquire(store, "c", 20, 50).await?, Some(lease("c", 3, 50)?));
    let (own, other) = ("run-8".to_owned(), "run-9".to_owned());
    store.acquire(&own, "a", at(1)?, at(10)?).await?;
    let all = [run.clone(), own.clone(), other.clone()];
    assert_eq!(store.renew("a", &all, at(60)?).await?, [run, other]);
    assert!(store.acquire(&own, "b", at(59)?, at(70)?).await?.is_none());
    assert_eq!(renew(store, "c", 61).await?, NOTHING);
    Ok(())
}

/// A released resource is free at once, and its fencing token still increases.
///
/// # Errors
/// Any error of the store.
pub async fn release_frees_at_once_and_the_fence_grows(store: &dyn Store) -> Outcome {
    acquire(store, "a", 0, 10).await?;
    store.release(&lease("a", 1, 10)?).await?;
    assert_eq!(renew(store, "a", 40).await?, [lease("a", 1, 10)?.resource]);
    assert_eq!(acquire(store, "b", 1, 20).await?, Some(lease("b", 2, 20)?));
    Ok(())
}

/// Neither another holder's lease nor a newer lease of the same holder is released.
///
/// # Errors
/// Any error of the store.
pub async fn release_after_a_takeover_does_nothing(store: &dyn Store) -> Outcome {
    acquire(store, "a", 0, 10).await?;
    acquire(store, "b", 11, 20).await?;
    store.release(&lease("a", 1, 10)?).await?;
    store.release(&lease("a", 2, 20)?).await?;
    store.release(&lease("b", 1, 10)?).await?;
    assert_eq!(acquire(store, "c", 12, 30).await?, None);
    Ok(())
}

/// One of many concurrent callers acquires the lease.
///
/// # Errors
/// Any error of the store.
pub async fn acquiring_at_the_same_time_has_one_winner(store: &dyn Store) -> Outcome {
    let holders: Vec<String> = (0..8).map(|n| format!("worker-{n}")).collect();
    let calls = holders.iter().map(|holder| acquire(store, holder, 0, 10));
    let mut won = 0;
    for result in join_all(calls).await {
        won += usize::from(result?.is_some());
    }
    assert_eq!(won, 1);
    Ok(())
}
