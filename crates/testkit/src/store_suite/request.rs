//! Cases of requests (B000-3).

use charter_contract::ids::UserId;
use charter_store::page::PageRequest;
use charter_store::request::{RequestLease, RequestRecord};
use charter_store::{Store, StoreError};

use super::Outcome;
use super::journal::{create_for, finish};
use super::sample::{Made, at, message, request, run, tenant};
use crate::assert_refused;

fn opened(tenant_id: &str, n: u128, seconds: i64) -> Made<RequestRecord> {
    request_of("ann", tenant_id, n, seconds)
}

fn hold(holder: &str, until: i64) -> Made<RequestLease> {
    Ok(RequestLease {
        holder: holder.to_owned(),
        until: at(until)?,
    })
}

fn request_of(user: &str, tenant_id: &str, n: u128, seconds: i64) -> Made<RequestRecord> {
    Ok(RequestRecord {
        request_id: request(n),
        tenant_id: tenant(tenant_id)?,
        user_id: UserId::parse(user)?,
        asked: format!(r#"{{"input":"question {n}"}}"#),
        verdict: None,
        answer: None,
        run_id: None,
        result: None,
        created_at: at(seconds)?,
        updated_at: at(seconds)?,
    })
}

/// A request is opened, routed and answered, each once; all fields are kept.
///
/// # Errors
/// Any error of the store.
pub async fn b000_3_every_field_of_a_request_is_stored(store: &dyn Store) -> Outcome {
    let record = opened("acme", 1, 0)?;
    let acme = tenant("acme")?;
    store.open_request(&record, &hold("a", 0)?).await?;
    assert_eq!(
        store.request(&acme, &request(1)).await?,
        Some(record.clone())
    );
    store
        .record_verdict(&acme, &request(1), "{\"verdict\":\"narrow\"}", at(1)?)
        .await?;
    store
        .close_request(&acme, &request(1), "{\"content\":\"done\"}", None, at(2)?)
        .await?;
    let whole = RequestRecord {
        verdict: Some("{\"verdict\":\"narrow\"}".into()),
        answer: Some("{\"content\":\"done\"}".into()),
        updated_at: at(2)?,
        ..record
    };
    assert_eq!(store.request(&acme, &request(1)).await?, Some(whole));
    assert_eq!(store.request(&acme, &request(2)).await?, None);
    Ok(())
}

/// Request, verdict and answer cannot be overwritten.
///
/// # Errors
/// Any error of the store.
pub async fn nothing_is_recorded_twice(store: &dyn Store) -> Outcome {
    let first = opened("acme", 1, 0)?;
    let acme = tenant("acme")?;
    store.open_request(&first, &hold("a", 0)?).await?;
    let again = store
        .open_request(&opened("acme", 1, 5)?, &hold("a", 0)?)
        .await;
    assert_refused!(again, StoreError::AlreadyExists { .. });
    store
        .record_verdict(&acme, &request(1), "1", at(1)?)
        .await?;
    let again = store.record_verdict(&acme, &request(1), "2", at(2)?).await;
    assert_refused!(
        again,
        StoreError::AlreadyExists {
            what: "verdict",
            ..
        }
    );
    store
        .close_request(&acme, &request(1), "1", None, at(3)?)
        .await?;
    let again = store
        .close_request(&acme, &request(1), "2", None, at(4)?)
        .await;
    assert_refused!(again, StoreError::AlreadyExists { what: "answer", .. });
    let kept = RequestRecord {
        verdict: Some("1".into()),
        answer: Some("1".into()),
        updated_at: at(3)?,
        ..first
    };
    assert_eq!(store.request(&acme, &request(1)).await?, Some(kept));
    Ok(())
}

/// A verdict or an answer needs an existing request.
///
/// # Errors
/// Any error of the store.
pub async fn recording_for_an_unknown_request_is_refused(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let verdict = store.record_verdict(&acme, &request(1), "1", at(1)?).await;
    assert_refused!(verdict, StoreError::NotFound { .. });
    let answer = store
        .close_request(&acme, &request(1), "1", None, at(1)?)
        .await;
    assert_refused!(answer, StoreError::NotFound { .. });
    Ok(())
}

/// Each tenant has its own requests.
///
/// # Errors
/// Any error of the store.
pub async fn tenants_are_isolated(store: &dyn Store) -> Outcome {
    let own = opened("acme", 1, 0)?;
    store.open_request(&own, &hold("a", 0)?).await?;
    let other = tenant("other")?;
    assert_eq!(store.request(&other, &request(1)).await?, None);
    let theft = store
        .close_request(&other, &request(1), "x", None, at(1)?)
        .await;
    assert_refused!(theft, StoreError::NotFound { .. });
    store
        .open_request(&opened("other", 1, 5)?, &hold("a", 0)?)
        .await?;
    assert_eq!(store.request(&own.tenant_id, &request(1)).await?, Some(own));
    Ok(())
}

/// Requests of one user or of the whole tenant are listed newest first, page by page.
///
/// # Errors
/// Any error of the store.
pub async fn requests_of_a_user_or_a_tenant_are_listed_newest_first(store: &dyn Store) -> Outcome {
    let (acme, ann) = (tenant("acme")?, UserId::parse("ann")?);
    let own = [
        opened("acme", 1, 0)?,
        opened("acme", 3, 5)?,
        opened("acme", 2, 5)?,
    ];
    for record in &own {
        store.open_request(record, &hold("a", 0)?).await?;
    }
    let of_bob = request_of("bob", "acme", 4, 6)?;
    store.open_request(&of_bob, &hold("a", 0)?).await?;
    store
        .open_request(&opened("other", 5, 7)?, &hold("a", 0)?)
        .await?;
    let [oldest, newest, middle] = own;
    let first = store
        .requests_of(&acme, Some(&ann), &PageRequest::new(None, 2))
        .await?;
    assert_eq!(first.entries, [newest.clone(), middle.clone()]);
    let rest = PageRequest::new(first.next, 2);
    let rest = store.requests_of(&acme, Some(&ann), &rest).await?;
    assert_eq!((rest.entries, rest.next), (vec![oldest.clone()], None));
    let first = store
        .requests_of(&acme, None, &PageRequest::new(None, 2))
        .await?;
    assert_eq!(first.entries, [of_bob, newest]);
    let rest = PageRequest::new(first.next, 2);
    let rest = store.requests_of(&acme, None, &rest).await?;
    assert_eq!((rest.entries, rest.next), (vec![middle, oldest], None));
    let made_up = PageRequest::new(Some("made up".into()), 2);
    for user in [Some(&ann), None] {
        let refused = store.requests_of(&acme, user, &made_up).await;
        assert_refused!(refused, StoreError::Refused { .. });
    }
    Ok(())
}

/// Unanswered requests are found after a crash, oldest first, and no others.
///
/// # Errors
/// Any error of the store.
pub async fn open_requests_are_those_without_an_answer(store: &dyn Store) -> Outcome {
    let (late, early, answered) = (
        opened("acme", 1, 5)?,
        opened("other", 2, 1)?,
        opened("acme", 3, 0)?,
    );
    for record in [&late, &early, &answered] {
        store.open_request(record, &hold("a", 0)?).await?;
    }
    store
        .close_request(&answered.tenant_id, &request(3), "x", None, at(9)?)
        .await?;
    let taken = store.take_requests(at(9)?, &hold("b", 19)?, 1).await?;
    assert_eq!(taken, [early]);
    let taken = store.take_requests(at(9)?, &hold("b", 19)?, 10).await?;
    assert_eq!(taken, [late]);
    Ok(())
}

/// A held request stays with its holder until the lease expires, and other workers cannot take it.
///
/// # Errors
/// Any error of the store.
pub async fn a_leased_request_is_skipped_by_others(store: &dyn Store) -> Outcome {
    let (acme, one) = (tenant("acme")?, request(1));
    let record = opened("acme", 1, 0)?;
    store.open_request(&record, &hold("a", 10)?).await?;
    let late = hold("b", 30)?;
    assert_eq!(store.take_requests(at(9)?, &late, 5).await?, []);
    assert!(!store.hold_request(&acme, &one, at(9)?, &late).await?);
    assert!(
        store
            .hold_request(&acme, &one, at(9)?, &hold("a", 12)?)
            .await?
    );
    assert_eq!(store.take_requests(at(11)?, &late, 5).await?, []);
    assert_eq!(store.renew_requests(&hold("a", 20)?).await?, 1);
    assert_eq!(store.renew_requests(&hold("b", 99)?).await?, 0);
    assert_eq!(store.take_requests(at(19)?, &late, 5).await?, []);
    assert_eq!(
        store.take_requests(at(20)?, &late, 5).await?,
        std::slice::from_ref(&record)
    );
    store.release_request(&acme, &one, "a", at(0)?).await?;
    assert!(
        !store
            .hold_request(&acme, &one, at(21)?, &hold("a", 40)?)
            .await?
    );
    store.release_request(&acme, &one, "b", at(25)?).await?;
    assert_eq!(store.take_requests(at(24)?, &late, 5).await?, []);
    assert_eq!(store.take_requests(at(25)?, &late, 5).await?.len(), 1);
    store.release_request(&acme, &one, "b", at(25)?).await?;
    assert!(
        store
            .hold_request(&acme, &one, at(21)?, &hold("a", 40)?)
            .await?
    );
    store.close_request(&acme, &one, "x", None, at(22)?).await?;
    assert_eq!(store.renew_requests(&hold("a", 50)?).await?, 0);
    assert!(!store.hold_request(&acme, &one, at(60)?, &late).await?);
    assert_eq!(store.take_requests(at(60)?, &late, 5).await?, []);
    Ok(())
}

/// A sweep deletes answered requests last changed strictly before the given time.
///
/// # Errors
/// Any error of the store.
pub async fn sweep_deletes_older_answered_requests(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    for n in 1..=3 {
        store
            .open_request(&opened("acme", n, 0)?, &hold("a", 0)?)
            .await?;
    }
    store
        .close_request(&acme, &request(1), "x", None, at(1)?)
        .await?;
    store
        .close_request(&acme, &request(2), "x", None, at(2)?)
        .await?;
    assert_eq!(store.sweep_requests(at(2)?).await?, 1);
    assert_eq!(store.request(&acme, &request(1)).await?, None);
    assert!(store.request(&acme, &request(2)).await?.is_some());
    assert!(store.request(&acme, &request(3)).await?.is_some());
    Ok(())
}

/// Creates an answered request of `acme` whose result depends on the end of run `n`.
async fn awaiting(store: &dyn Store, n: u128) -> Made<RequestRecord> {
    let record = opened("acme", n, 0)?;
    let acme = tenant("acme")?;
    store.open_request(&record, &hold("a", 0)?).await?;
    store
        .close_request(&acme, &request(n), "1", Some(&run(n)), at(1)?)
        .await?;
    Ok(RequestRecord {
        answer: Some("1".into()),
        run_id: Some(run(n)),
        updated_at: at(1)?,
        ..record
    })
}

/// The result of a change is recorded once, with its message, and the answer remains.
///
/// # Errors
/// Any error of the store.
pub async fn a_result_is_recorded_once(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let record = awaiting(store, 1).await?;
    let found = store.request_of_run(&acme, &run(1)).await?;
    assert_eq!(found, Some(record.clone()));
    assert_eq!(
        store.request_of_run(&tenant("other")?, &run(1)).await?,
        None
    );
    let told = vec![message("request.result", 2)?];
    store
        .record_result(&acme, &request(1), "2", told.clone(), at(2)?)
        .await?;
    let again = store
        .record_result(&acme, &request(1), "3", told.clone(), at(3)?)
        .await;
    assert_refused!(again, StoreError::AlreadyExists { what: "result", .. });
    let whole = RequestRecord {
        result: Some("2".into()),
        updated_at: at(2)?,
        ..record
    };
    assert_eq!(store.request(&acme, &request(1)).await?, Some(whole));
    assert_eq!(store.request_of_run(&acme, &run(1)).await?, None);
    let messages = store.messages(0, 10).await?.into_iter();
    let messages: Vec<_> = messages.map(|message| message.message).collect();
    assert_eq!(messages, told);
    Ok(())
}

/// Only a request whose answer names a run can have a result.
///
/// # Errors
/// Any error of the store.
pub async fn a_request_without_a_run_accepts_no_result(store: &dyn Store) -> Outcome {
    let (acme, other) = (tenant("acme")?, tenant("other")?);
    store
        .open_request(&opened("acme", 1, 0)?, &hold("a", 0)?)
        .await?;
    store
        .close_request(&acme, &request(1), "1", None, at(1)?)
        .await?;
    awaiting(store, 2).await?;
    for (of, n) in [(&acme, 1), (&acme, 3), (&other, 2)] {
        let told = vec![message("request.result", 2)?];
        let refused = store
            .record_result(of, &request(n), "2", told, at(2)?)
            .await;
        assert_refused!(refused, StoreError::NotFound { .. });
    }
    assert_eq!(store.messages(0, 10).await?, []);
    Ok(())
}

/// Requests without a result whose runs have ended are found after a crash.
///
/// # Errors
/// Any error of the store.
pub async fn requests_of_ended_runs_are_found_until_they_have_results(
    store: &dyn Store,
) -> Outcome {
    let acme = tenant("acme")?;
    for n in 1..=3 {
        create_for(store, "acme", n, 0).await?;
    }
    let (first, second) = (awaiting(store, 1).await?, awaiting(store, 2).await?);
    awaiting(store, 3).await?;
    awaiting(store, 4).await?;
    assert_eq!(store.requests_of_ended_runs(5).await?, []);
    finish(store, 1).await?;
    finish(store, 2).await?;
    assert_eq!(
        store.requests_of_ended_runs(5).await?,
        [first, second.clone()]
    );
    assert_eq!(store.requests_of_ended_runs(1).await?.len(), 1);
    store
        .record_result(&acme, &request(1), "2", Vec::new(), at(2)?)
        .await?;
    assert_eq!(store.requests_of_ended_runs(5).await?, [second]);
    Ok(())
}

/// A change may take longer than the retention of requests.
///
/// # Errors
/// Any error of the store.
pub async fn sweep_keeps_requests_with_unfinished_runs(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    for n in 1..=2 {
        create_for(store, "acme", n, 0).await?;
        awaiting(store, n).await?;
    }
    finish(store, 2).await?;
    assert_eq!(store.sweep_requests(at(9)?).await?, 1);
    assert!(store.request(&acme, &request(1)).await?.is_some());
    assert_eq!(store.request(&acme, &request(2)).await?, None);
    Ok(())
}
