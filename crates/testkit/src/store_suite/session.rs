//! Cases of sessions (B003-11).

use charter_store::session::{SessionRecord, Turn};
use charter_store::{Store, StoreError};

use super::Outcome;
use super::sample::{Made, at, request, session, tenant, user};
use crate::assert_refused;

fn opened(tenant_id: &str, n: u128, until: i64) -> Made<SessionRecord> {
    Ok(SessionRecord {
        session_id: session(n),
        tenant_id: tenant(tenant_id)?,
        user_id: user()?,
        created_at: at(0)?,
        expires_at: at(until)?,
    })
}

fn turn(n: u8, seconds: i64) -> Made<Turn> {
    Ok(Turn {
        request_id: request(n.into()),
        input: format!("question {n}"),
        output: Some(format!("answer {n}")),
        at: at(seconds)?,
    })
}

/// All fields are kept.
///
/// # Errors
/// Any error of the store.
pub async fn every_field_of_a_session_is_stored(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let record = opened("acme", 1, 10)?;
    store.open_session(&record).await?;
    let read = store.session(&acme, &record.session_id, at(1)?).await?;
    assert_eq!(read, Some(record));
    assert_eq!(store.session(&acme, &session(2), at(1)?).await?, None);
    assert_eq!(store.turns(&acme, &session(1), 10).await?, Vec::new());
    Ok(())
}

/// The first session remains.
///
/// # Errors
/// Any error of the store.
pub async fn a_duplicate_session_is_refused(store: &dyn Store) -> Outcome {
    let first = opened("acme", 1, 10)?;
    store.open_session(&first).await?;
    let second = opened("acme", 1, 99)?;
    let refused = store.open_session(&second).await;
    assert_refused!(refused, StoreError::AlreadyExists { .. });
    let read = store.session(&first.tenant_id, &session(1), at(1)?).await?;
    assert_eq!(read, Some(first));
    Ok(())
}

/// Another tenant's session and its turns are absent.
///
/// # Errors
/// Any error of the store.
pub async fn tenants_are_isolated(store: &dyn Store) -> Outcome {
    let (acme, other) = (tenant("acme")?, tenant("other")?);
    let own = opened("acme", 1, 10)?;
    store.open_session(&own).await?;
    store
        .append_turn(&acme, &session(1), &turn(1, 1)?, at(10)?, 5)
        .await?;
    assert_eq!(store.session(&other, &session(1), at(1)?).await?, None);
    assert_eq!(store.turns(&other, &session(1), 10).await?, Vec::new());
    let intruder = store
        .append_turn(&other, &session(1), &turn(2, 2)?, at(10)?, 5)
        .await;
    assert_refused!(intruder, StoreError::NotFound { .. });
    let turns = store.turns(&acme, &session(1), 10).await?;
    assert_eq!(turns, vec![turn(1, 1)?]);
    Ok(())
}

/// A session is absent from its expiry time, before any sweep.
///
/// # Errors
/// Any error of the store.
pub async fn an_expired_session_is_absent(store: &dyn Store) -> Outcome {
    let record = opened("acme", 1, 10)?;
    store.open_session(&record).await?;
    let tenant = &record.tenant_id;
    assert_eq!(store.session(tenant, &session(1), at(10)?).await?, None);
    let live = store.session(tenant, &session(1), at(9)?).await?;
    assert_eq!(live, Some(record));
    Ok(())
}

/// The newest turns are returned, oldest first.
///
/// # Errors
/// Any error of the store.
pub async fn turns_are_bounded_and_in_order(store: &dyn Store) -> Outcome {
    let record = opened("acme", 1, 100)?;
    store.open_session(&record).await?;
    for n in 1..=5 {
        store
            .append_turn(
                &record.tenant_id,
                &session(1),
                &turn(n, n.into())?,
                at(100)?,
                3,
            )
            .await?;
    }
    let all = store.turns(&record.tenant_id, &session(1), 10).await?;
    assert_eq!(all, vec![turn(3, 3)?, turn(4, 4)?, turn(5, 5)?]);
    let two = store.turns(&record.tenant_id, &session(1), 2).await?;
    assert_eq!(two, vec![turn(4, 4)?, turn(5, 5)?]);
    Ok(())
}

/// A turn extends a session and never shortens it.
///
/// # Errors
/// Any error of the store.
pub async fn a_turn_extends_and_never_shortens(store: &dyn Store) -> Outcome {
    let mut record = opened("acme", 1, 10)?;
    store.open_session(&record).await?;
    for (n, until) in [(1, 20), (2, 15)] {
        store
            .append_turn(&record.tenant_id, &session(1), &turn(n, 5)?, at(until)?, 5)
            .await?;
    }
    record.expires_at = at(20)?;
    let read = store
        .session(&record.tenant_id, &session(1), at(19)?)
        .await?;
    assert_eq!(read, Some(record));
    Ok(())
}

/// A request is stored at once, and its answer when it is known.
///
/// # Errors
/// Any error of the store.
pub async fn an_answer_replaces_its_turn(store: &dyn Store) -> Outcome {
    let record = opened("acme", 1, 100)?;
    store.open_session(&record).await?;
    let unanswered = Turn {
        output: None,
        ..turn(1, 1)?
    };
    for turn in [&unanswered, &turn(2, 2)?, &turn(1, 3)?] {
        store
            .append_turn(&record.tenant_id, &session(1), turn, at(100)?, 5)
            .await?;
    }
    let turns = store.turns(&record.tenant_id, &session(1), 10).await?;
    assert_eq!(turns, vec![turn(1, 3)?, turn(2, 2)?]);
    Ok(())
}

/// A turn is refused if the session is unknown or expired at the time of the turn.
///
/// # Errors
/// Any error of the store.
pub async fn a_turn_without_a_live_session_is_refused(store: &dyn Store) -> Outcome {
    let record = opened("acme", 1, 10)?;
    store.open_session(&record).await?;
    let tenant = &record.tenant_id;
    let unknown = store
        .append_turn(tenant, &session(2), &turn(1, 1)?, at(20)?, 5)
        .await;
    assert_refused!(unknown, StoreError::NotFound { .. });
    let expired = store
        .append_turn(tenant, &session(1), &turn(1, 10)?, at(20)?, 5)
        .await;
    assert_refused!(expired, StoreError::NotFound { .. });
    assert_eq!(store.turns(tenant, &session(1), 10).await?, Vec::new());
    Ok(())
}

/// A sweep deletes only expired sessions, with all their turns.
///
/// # Errors
/// Any error of the store.
pub async fn sweep_deletes_expired_sessions_with_their_turns(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    for (n, until) in [(1, 10), (2, 11)] {
        store.open_session(&opened("acme", n, until)?).await?;
        store
            .append_turn(&acme, &session(n), &turn(1, 1)?, at(2)?, 5)
            .await?;
    }
    assert_eq!(store.sweep_sessions(at(10)?).await?, 1);
    assert_eq!(store.sweep_sessions(at(10)?).await?, 0);
    assert_eq!(store.session(&acme, &session(1), at(1)?).await?, None);
    assert_eq!(store.turns(&acme, &session(1), 10).await?, Vec::new());
    let left = store.turns(&acme, &session(2), 10).await?;
    assert_eq!(left, vec![turn(1, 1)?]);
    Ok(())
}
