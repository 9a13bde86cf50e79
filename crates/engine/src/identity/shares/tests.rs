use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

use super::*;

fn caller(tenant: &str, credential: CredentialId) -> Caller {
    let mut caller = Caller::local().unwrap();
    caller.tenant = TenantId::parse(tenant).unwrap();
    caller.with_credential(credential)
}

fn key(tenant: &str, number: u8) -> Caller {
    caller(tenant, CredentialId::Configured([number; 32]))
}

fn places(total: usize) -> Shares {
    Shares::new("requests", "limits.concurrency", total, || {})
}

fn bytes(total: usize) -> Shares {
    Shares::new("bytes in bodies", "BODIES_BYTES", total, || {})
}

/// As many slots as a caller gets.
fn all_of(shares: &Shares, caller: &Caller) -> Vec<Share> {
    std::iter::from_fn(|| shares.take(caller).ok()).collect()
}

/// Bytes that a caller gets at once, or not.
async fn at_once(shares: &Shares, caller: &Caller, bytes: usize) -> Option<Share> {
    let taken = shares.wait_for(caller, bytes, Duration::ZERO).await;
    taken.ok()
}

fn waits(future: Pin<&mut impl Future>) -> bool {
    let polled = future.poll(&mut Context::from_waker(Waker::noop()));
    polled.is_pending()
}

#[test]
fn a_credential_holds_half_of_what_is_left_to_its_tenant() {
    let shares = places(256);
    let held: Vec<Vec<Share>> = (0..4).map(|n| all_of(&shares, &key("acme", n))).collect();
    let counts: Vec<usize> = held.iter().map(Vec::len).collect();
    assert_eq!(counts, [64, 32, 16, 8]);
}

#[test]
fn a_tenant_of_many_credentials_holds_half_of_what_is_left() {
    let shares = places(256);
    let held = |tenant: &str| -> Vec<Share> {
        (0..100)
            .flat_map(|n| all_of(&shares, &key(tenant, n)))
            .collect()
    };
    let acme = held("acme");
    assert_eq!(acme.len(), 128);
    assert_eq!(held("umbra").len(), 64);
    drop(acme);
    assert_eq!(held("umbra").len(), 128);
}

#[test]
fn a_late_tenant_finds_a_place_and_no_more_are_given_than_there_are() {
    let shares = places(16);
    let tenants = ["a", "b", "c", "d", "e", "f"];
    let held: Vec<Vec<Share>> = tenants
        .iter()
        .map(|tenant| {
            (0..9)
                .flat_map(|n| all_of(&shares, &key(tenant, n)))
                .collect()
        })
        .collect();
    let counts: Vec<usize> = held.iter().map(Vec::len).collect();
    assert_eq!(counts, [8, 4, 2, 1, 1, 0]);
}

#[test]
fn the_local_user_holds_all_that_is_left() {
    let shares = places(8);
    let other = all_of(&shares, &key("acme", 1));
    assert_eq!(other.len(), 2);
    let local = all_of(&shares, &caller("local", CredentialId::Local));
    assert_eq!(local.len(), 6);
}

#[test]
fn a_place_is_given_back_and_a_refusal_names_the_limit() {
    let refused = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&refused);
    let shares = Shares::new("requests", "limits.concurrency", 4, move || {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let ann = key("acme", 1);
    let first = shares.take(&ann).ok();
    let refusal = shares.take(&ann).err().unwrap();
    assert_eq!(refusal.code, ErrorCode::Overloaded);
    assert_eq!(
        refusal.to_string(),
        "too many requests: this credential has its share, 1 of limits.concurrency = 4; wait for one of them to end"
    );
    assert_eq!(refused.load(Ordering::SeqCst), 1);
    drop(first);
    assert!(shares.take(&ann).is_ok());
}

/// Sixteen of 64 are a credential's share: a larger amount is its only one.
#[tokio::test]
async fn a_holder_of_nothing_gets_more_than_its_share_where_there_is_room() {
    let shares = bytes(64);
    let (ann, bob, eve) = (key("acme", 1), key("acme", 2), key("umbra", 1));
    let large = at_once(&shares, &ann, 30).await;
    assert!(large.is_some());
    assert!(at_once(&shares, &ann, 1).await.is_none());
    // The tenant's share is 32.
    assert!(at_once(&shares, &bob, 3).await.is_none());
    let small = at_once(&shares, &bob, 2).await;
    assert!(small.is_some());
    let other = at_once(&shares, &eve, 32).await;
    assert!(other.is_some());
    assert!(at_once(&shares, &key("third", 1), 1).await.is_none());
    drop((large, small, other));
    // A request for more than the total gets the total.
    let all = at_once(&shares, &ann, 1_000).await;
    assert_eq!(all.map(|share| share.amount), Some(64));
    assert_eq!(shares.0.held().all, 0);
}

#[tokio::test]
async fn a_tenants_own_work_takes_half_of_what_is_left() {
    let shares = bytes(64);
    let acme = TenantId::parse("acme").unwrap();
    let first = shares.wait_for_tenant(&acme, 20, Duration::ZERO).await;
    let first = first.unwrap();
    let refusal = shares.wait_for_tenant(&acme, 13, Duration::ZERO).await;
    assert_eq!(
        refusal.unwrap_err().to_string(),
        "too many bytes in bodies: this tenant has its share, 20 of BODIES_BYTES = 64; wait for one of them to end"
    );
    let second = shares.wait_for_tenant(&acme, 12, Duration::ZERO).await;
    assert!(second.is_ok());
    drop((first, second));
    assert!(shares.0.held().tenants.is_empty());
}

#[tokio::test]
async fn a_released_share_goes_to_the_next_waiter() {
    let shares = bytes(64);
    let ann = key("acme", 1);
    let first = at_once(&shares, &ann, 60).await.unwrap();
    let mut second = Box::pin(shares.wait_for(&ann, 60, Duration::from_secs(60)));
    assert!(waits(second.as_mut()));
    assert_eq!(shares.0.held().waiting, 60);
    drop(first);
    let second = second.await.unwrap();
    assert_eq!(second.amount, 60);
    assert_eq!(shares.0.held().waiting, 0);
}

#[tokio::test]
async fn no_more_waits_than_may_where_what_waits_takes_memory() {
    let shares = bytes(64).with_bounded_waiting();
    let patience = Duration::from_secs(60);
    let _all = at_once(&shares, &key("acme", 1), 64).await.unwrap();
    let (second, third) = (key("acme", 2), key("acme", 3));
    let mut one = Box::pin(shares.wait_for(&second, 40, patience));
    assert!(waits(one.as_mut()));
    let refused = shares.wait_for(&key("acme", 3), 40, patience).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Overloaded);
    // A waiter that gives up makes room for another.
    drop(one);
    let mut next = Box::pin(shares.wait_for(&third, 40, patience));
    assert!(waits(next.as_mut()));
}
