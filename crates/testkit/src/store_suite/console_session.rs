//! Cases of console sessions.

use charter_contract::ids::UserId;
use charter_store::connected_account::SealedSecret;
use charter_store::console_session::{ConsoleSession, ConsoleSessionHash};
use charter_store::{Store, StoreError};
use futures_util::future::join_all;

use super::sample::{Made, at, tenant};
use super::{Outcome, assert_one_winner};
use crate::assert_refused;

fn secret(byte: u8) -> SealedSecret {
    SealedSecret {
        key_id: "k1".to_owned(),
        sealed: vec![byte, 0, 255],
    }
}

/// Returns the session that a user opened at the `n`th second. It ends 60 seconds later, or at the latest 600.
///
/// # Errors
/// None in practice.
pub fn session(tenant_id: &str, user: &str, n: u8) -> Made<ConsoleSession> {
    let second = i64::from(n);
    Ok(ConsoleSession {
        hash: ConsoleSessionHash([n; 32]),
        tenant_id: tenant(tenant_id)?,
        user_id: UserId::parse(user)?,
        secret: secret(n),
        created_at: at(second)?,
        ends_at: at(second + 60)?,
        expires_at: at(second + 600)?,
        version: 1,
    })
}

/// All fields are kept, and a session is found without its tenant.
///
/// # Errors
/// Any error of the store.
pub async fn every_field_of_a_console_session_is_stored(store: &dyn Store) -> Outcome {
    let mia = session("acme", "mia", 1)?;
    assert_eq!(store.console_session(&mia.hash).await?, None);
    store.open_console_session(&mia, 5).await?;
    assert_eq!(store.console_session(&mia.hash).await?, Some(mia.clone()));
    let again = store.open_console_session(&mia, 5).await;
    assert_refused!(again, StoreError::AlreadyExists { .. });
    assert_eq!(store.console_session(&mia.hash).await?, Some(mia));
    Ok(())
}

/// The oldest session of the user makes room for a new one, and is returned. Sessions of other users and tenants stay.
///
/// # Errors
/// Any error of the store.
pub async fn a_user_has_a_bounded_number_of_console_sessions(store: &dyn Store) -> Outcome {
    let (ben, other) = (session("acme", "ben", 1)?, session("other", "mia", 2)?);
    for one in [&ben, &other] {
        store.open_console_session(one, 2).await?;
    }
    for (n, deleted) in [(3, vec![]), (4, vec![]), (5, vec![3])] {
        let mia = session("acme", "mia", n)?;
        let deleted = deleted.into_iter().map(|n| session("acme", "mia", n));
        let deleted = deleted.collect::<Result<Vec<_>, _>>()?;
        assert_eq!(store.open_console_session(&mia, 2).await?, deleted);
    }
    let mut kept = Vec::new();
    for n in 1..=5 {
        let found = store.console_session(&ConsoleSessionHash([n; 32])).await?;
        kept.extend(found.map(|_| n));
    }
    assert_eq!(kept, [1, 2, 4, 5]);
    Ok(())
}

/// Of renewals at the same time one succeeds; a renewal of an ended session writes nothing.
///
/// # Errors
/// Any error of the store.
pub async fn a_renewal_replaces_the_secret_that_it_read(store: &dyn Store) -> Outcome {
    let mia = session("acme", "mia", 1)?;
    store.open_console_session(&mia, 5).await?;
    let secrets = [7, 8, 9].map(secret);
    let calls = secrets
        .iter()
        .map(|secret| store.renew_console_session(&mia, secret));
    assert_one_winner(&join_all(calls).await);
    let found = store
        .console_session(&mia.hash)
        .await?
        .ok_or("no session")?;
    assert_eq!(found.version, 2);
    assert!(secrets.contains(&found.secret));
    store.end_console_session(&found).await?;
    let late = store.renew_console_session(&found, &secret(3)).await;
    assert_refused!(late, StoreError::VersionConflict { found: 0, .. });
    assert_eq!(store.console_session(&mia.hash).await?, None);
    Ok(())
}

/// A use moves the end, and never to an earlier time.
///
/// # Errors
/// Any error of the store.
pub async fn a_used_console_session_ends_later(store: &dyn Store) -> Outcome {
    let mia = session("acme", "mia", 1)?;
    store.open_console_session(&mia, 5).await?;
    for second in [100, 80] {
        store.extend_console_session(&mia, at(second)?).await?;
    }
    let found = store
        .console_session(&mia.hash)
        .await?
        .ok_or("no session")?;
    let expected = ConsoleSession {
        ends_at: at(100)?,
        ..mia
    };
    assert_eq!(found, expected);
    assert!(found.is_live(at(99)?) && !found.is_live(at(100)?));
    Ok(())
}

/// A session that a user ended is not found again.
///
/// # Errors
/// Any error of the store.
pub async fn an_ended_console_session_is_gone(store: &dyn Store) -> Outcome {
    let mia = session("acme", "mia", 1)?;
    store.open_console_session(&mia, 5).await?;
    assert!(store.end_console_session(&mia).await?);
    assert!(!store.end_console_session(&mia).await?);
    assert_eq!(store.console_session(&mia.hash).await?, None);
    Ok(())
}

/// Sessions that ended are deleted; the others stay.
///
/// # Errors
/// Any error of the store.
pub async fn ended_console_sessions_are_swept(store: &dyn Store) -> Outcome {
    let (early, late) = (session("acme", "mia", 1)?, session("other", "ben", 2)?);
    for one in [&early, &late] {
        store.open_console_session(one, 5).await?;
    }
    assert_eq!(store.sweep_console_sessions(early.ends_at).await?, 1);
    assert_eq!(store.console_session(&early.hash).await?, None);
    assert_eq!(store.console_session(&late.hash).await?, Some(late));
    Ok(())
}
