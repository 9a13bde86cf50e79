//! Cases of notifications.

use charter_contract::ids::{Label, NotificationId};
use charter_contract::notification::NotificationTopic;
use charter_store::notification::{
    BusyChannel, ChannelTenants, ClaimedMessage, MessageOutcome, NewNotification,
    NotificationClaim, NotificationFilter, NotificationState,
};
use charter_store::page::PageRequest;
use charter_store::{Store, StoreError};
use futures_util::future::join_all;
use uuid::Uuid;

use super::Outcome;
use super::sample::{Made, at, tenant};
use crate::assert_refused;

fn id(n: u128) -> NotificationId {
    NotificationId::from_uuid(Uuid::from_u128(n))
}

/// Returns the `n`th notification of a tenant, which is due at the `n`th second.
///
/// # Errors
/// None in practice.
pub fn notification(tenant_id: &str, n: u8) -> Made<NewNotification> {
    Ok(NewNotification {
        notification_id: id(n.into()),
        tenant_id: tenant(tenant_id)?,
        channel: Label::parse("ops")?,
        topic: NotificationTopic::RunFailed,
        digest: None,
        created_at: at(n.into())?,
        due_at: at(n.into())?,
        body: format!("{{\"n\":{n}}}"),
    })
}

fn finding(n: u8) -> Made<NewNotification> {
    Ok(NewNotification {
        topic: NotificationTopic::FindingNew,
        digest: Some("3600".to_owned()),
        due_at: at(60)?,
        ..notification("acme", n)?
    })
}

fn claim(holder: &str, now: i64) -> Made<NotificationClaim> {
    Ok(NotificationClaim {
        holder: holder.to_owned(),
        now: at(now)?,
        until: at(now + 30)?,
        message_id: format!("msg of {holder}"),
        most: 2,
        busy: vec![],
    })
}

async fn claimed(store: &dyn Store, holder: &str, now: i64) -> Made<ClaimedMessage> {
    let found = store.claim_message(&claim(holder, now)?).await?;
    Ok(found.ok_or("nothing is due")?)
}

fn ids(message: &ClaimedMessage) -> Vec<NotificationId> {
    let all = message.notifications.iter();
    all.map(|one| one.notification.notification_id.clone())
        .collect()
}

/// All fields are kept, and those of the attempts are added.
///
/// # Errors
/// Any error of the store.
pub async fn every_field_of_a_notification_is_stored(store: &dyn Store) -> Outcome {
    let new = finding(1)?;
    store.put_notifications(None, 7, vec![new.clone()]).await?;
    assert_eq!(store.notification_position().await?, Some(7));
    let message = claimed(store, "a", 60).await?;
    let again = MessageOutcome::Retry(at(90)?, "it is closed".to_owned());
    assert!(store.settle_message(&message, "a", &again, at(61)?).await?);
    let page = PageRequest::new(None, 10);
    let listed = store.notifications(&new.tenant_id, NotificationFilter::default(), &page);
    let listed = listed.await?.entries;
    assert_eq!(listed.len(), 1);
    let stored = &listed[0];
    let expected = NewNotification {
        due_at: at(90)?,
        ..new
    };
    assert_eq!(stored.notification, expected);
    assert_eq!(stored.state, NotificationState::Pending);
    assert_eq!(stored.attempts, 1);
    assert_eq!(stored.message_id.as_deref(), Some("msg of a"));
    assert_eq!(stored.settled_at, None);
    assert_eq!(stored.detail.as_deref(), Some("it is closed"));
    Ok(())
}

/// The notifications of messages are written once, also by concurrent processes, and the position with them.
///
/// # Errors
/// Any error of the store.
pub async fn notifications_of_a_message_are_written_once(store: &dyn Store) -> Outcome {
    assert_eq!(store.notification_position().await?, None);
    store.put_notifications(None, 3, vec![]).await?;
    let first = store.put_notifications(None, 9, vec![notification("acme", 1)?]);
    assert_refused!(first.await, StoreError::Refused { .. });
    let new = (1..=3).map(|n| notification("acme", n));
    let new = new.collect::<Result<Vec<_>, _>>()?;
    let writers = new
        .iter()
        .map(|one| store.put_notifications(Some(3), 5, vec![one.clone()]));
    let written = join_all(writers).await;
    assert_eq!(written.iter().filter(|one| one.is_ok()).count(), 1);
    assert_eq!(store.notification_position().await?, Some(5));
    // The same event, read again after a restore of the outbox.
    store.put_notifications(Some(5), 6, new).await?;
    let page = PageRequest::new(None, 10);
    let acme = tenant("acme")?;
    let all = store.notifications(&acme, NotificationFilter::default(), &page);
    assert_eq!(all.await?.entries.len(), 3);
    Ok(())
}

/// A claimed message is not claimed again before the claim ends; after that, its first holder cannot settle it.
///
/// # Errors
/// Any error of the store.
pub async fn a_message_is_claimed_by_one_holder(store: &dyn Store) -> Outcome {
    let new = vec![notification("acme", 2)?, notification("umbra", 1)?];
    store.put_notifications(None, 1, new).await?;
    assert_eq!(store.claim_message(&claim("early", 0)?).await?, None);
    let first = claimed(store, "a", 5).await?;
    assert_eq!(
        (first.tenant_id.as_str(), ids(&first)),
        ("umbra", vec![id(1)])
    );
    let second = claimed(store, "b", 6).await?;
    assert_eq!(
        (second.tenant_id.as_str(), ids(&second)),
        ("acme", vec![id(2)])
    );
    assert_eq!(store.claim_message(&claim("c", 34)?).await?, None);
    let again = claimed(store, "c", 35).await?;
    // A repeat has the id of the first attempt.
    assert_eq!(
        (&again.message_id, ids(&again)),
        (&"msg of a".to_owned(), ids(&first))
    );
    let done = MessageOutcome::Delivered;
    assert!(!store.settle_message(&first, "a", &done, at(36)?).await?);
    assert!(store.settle_message(&again, "c", &done, at(36)?).await?);
    assert!(!store.settle_message(&again, "c", &done, at(37)?).await?);
    assert!(store.settle_message(&second, "b", &done, at(37)?).await?);
    assert_eq!(store.claim_message(&claim("d", 9_999)?).await?, None);
    Ok(())
}

/// Of concurrent claims, each gets another message.
///
/// # Errors
/// Any error of the store.
pub async fn claims_at_the_same_time_get_different_messages(store: &dyn Store) -> Outcome {
    let new = (1..=4).map(|n| notification("acme", n));
    let new = new.collect::<Result<Vec<_>, _>>()?;
    store.put_notifications(None, 1, new).await?;
    let claims = ["a", "b", "c", "d"].map(|holder| claim(holder, 9));
    let claims = claims.into_iter().collect::<Result<Vec<_>, _>>()?;
    let found = join_all(claims.iter().map(|claim| store.claim_message(claim))).await;
    let mut found = found.into_iter().collect::<Result<Vec<_>, _>>()?;
    // A claim that lost to another one finds nothing, and looks again.
    for late in ["e", "f", "g", "h"] {
        found.push(store.claim_message(&claim(late, 9)?).await?);
    }
    let mut seen: Vec<_> = found.iter().flatten().flat_map(ids).collect();
    seen.sort();
    assert_eq!(seen, [id(1), id(2), id(3), id(4)]);
    Ok(())
}

/// A claim leaves out the messages of busy channels. A shared channel is not that of a tenant with its own one.
///
/// # Errors
/// Any error of the store.
pub async fn a_claim_leaves_out_busy_channels(store: &dyn Store) -> Outcome {
    let new = [("acme", 1), ("umbra", 2)].map(|(tenant, n)| notification(tenant, n));
    let new = new.into_iter().collect::<Result<Vec<_>, _>>()?;
    store.put_notifications(None, 1, new).await?;
    let busy = |tenants| -> Made<NotificationClaim> {
        Ok(NotificationClaim {
            busy: vec![BusyChannel {
                channel: Label::parse("ops")?,
                tenants,
            }],
            ..claim("a", 9)?
        })
    };
    let nothing = busy(ChannelTenants::AllExcept(vec![]))?;
    assert_eq!(store.claim_message(&nothing).await?, None);
    let umbra = busy(ChannelTenants::AllExcept(vec![tenant("umbra")?]))?;
    let found = store.claim_message(&umbra).await?.ok_or("nothing is due")?;
    assert_eq!(ids(&found), [id(2)]);
    let nothing = busy(ChannelTenants::Only(tenant("acme")?))?;
    assert_eq!(store.claim_message(&nothing).await?, None);
    let acme = busy(ChannelTenants::Only(tenant("umbra")?))?;
    let found = store.claim_message(&acme).await?.ok_or("nothing is due")?;
    assert_eq!(ids(&found), [id(1)]);
    Ok(())
}

/// The notifications of a digest are one message, up to the most; the message keeps them for every attempt.
///
/// # Errors
/// Any error of the store.
pub async fn a_digest_is_one_message(store: &dyn Store) -> Outcome {
    let mut other = finding(4)?;
    other.channel = Label::parse("security")?;
    let new = vec![finding(1)?, finding(2)?, finding(3)?, other];
    store.put_notifications(None, 1, new).await?;
    let first = claimed(store, "a", 60).await?;
    assert_eq!(ids(&first), [id(1), id(2)]);
    let rest = claimed(store, "b", 60).await?;
    assert_eq!(ids(&rest), [id(3)]);
    assert_eq!(ids(&claimed(store, "c", 60).await?), [id(4)]);
    store
        .put_notifications(Some(1), 2, vec![finding(5)?])
        .await?;
    let postponed = MessageOutcome::Postponed(at(61)?);
    assert!(
        store
            .settle_message(&first, "a", &postponed, at(60)?)
            .await?
    );
    let fifth = claimed(store, "d", 61).await?;
    assert_eq!(ids(&fifth), [id(5)]);
    let again = claimed(store, "e", 61).await?;
    assert_eq!(
        (&again.message_id, ids(&again)),
        (&first.message_id, ids(&first))
    );
    assert!(again.notifications.iter().all(|one| one.attempts == 0));
    Ok(())
}

/// A listing has the notifications of the tenant, newest first, of a state or a channel.
///
/// # Errors
/// Any error of the store.
pub async fn notifications_are_listed_newest_first(store: &dyn Store) -> Outcome {
    let mut other = notification("acme", 3)?;
    other.channel = Label::parse("mail")?;
    let new = vec![
        notification("acme", 1)?,
        notification("acme", 2)?,
        other,
        notification("umbra", 4)?,
    ];
    store.put_notifications(None, 1, new).await?;
    let first = claimed(store, "a", 1).await?;
    let refused = MessageOutcome::Failed("no such channel".to_owned());
    store.settle_message(&first, "a", &refused, at(2)?).await?;
    let acme = tenant("acme")?;
    let listed = async |filter: NotificationFilter<'_>, page: &PageRequest| {
        let page = store.notifications(&acme, filter, page).await?;
        let ids = page.entries.into_iter();
        let ids: Vec<_> = ids.map(|one| one.notification.notification_id).collect();
        Ok::<_, StoreError>((ids, page.next))
    };
    let all = NotificationFilter::default();
    let (ids, next) = listed(all, &PageRequest::new(None, 2)).await?;
    assert_eq!(ids, [id(3), id(2)]);
    let (ids, next) = listed(all, &PageRequest::new(next, 2)).await?;
    assert_eq!((ids, next), (vec![id(1)], None));
    let page = PageRequest::new(None, 9);
    let failed = NotificationFilter {
        state: Some(NotificationState::Failed),
        channel: None,
    };
    assert_eq!(listed(failed, &page).await?.0, [id(1)]);
    let mail = Label::parse("mail")?;
    let of_mail = NotificationFilter {
        state: None,
        channel: Some(&mail),
    };
    assert_eq!(listed(of_mail, &page).await?.0, [id(3)]);
    Ok(())
}

/// A sweep deletes settled notifications only.
///
/// # Errors
/// Any error of the store.
pub async fn sweep_deletes_settled_notifications(store: &dyn Store) -> Outcome {
    let new = vec![notification("acme", 1)?, notification("acme", 2)?];
    store.put_notifications(None, 1, new).await?;
    let first = claimed(store, "a", 1).await?;
    let skipped = MessageOutcome::Skipped("decided".to_owned());
    store.settle_message(&first, "a", &skipped, at(3)?).await?;
    assert_eq!(store.sweep_notifications(at(3)?).await?, 0);
    assert_eq!(store.sweep_notifications(at(99)?).await?, 1);
    assert_eq!(ids(&claimed(store, "b", 9).await?), [id(2)]);
    Ok(())
}

/// A signature counts once for each tenant, until it has expired.
///
/// # Errors
/// Any error of the store.
pub async fn a_signature_is_used_once(store: &dyn Store) -> Outcome {
    let (acme, umbra) = (tenant("acme")?, tenant("umbra")?);
    assert!(store.use_signature(&acme, "v0=1", at(10)?).await?);
    assert!(!store.use_signature(&acme, "v0=1", at(99)?).await?);
    assert!(store.use_signature(&acme, "v0=2", at(20)?).await?);
    assert!(store.use_signature(&umbra, "v0=1", at(20)?).await?);
    assert_eq!(store.sweep_signatures(at(10)?).await?, 1);
    assert!(!store.use_signature(&acme, "v0=2", at(20)?).await?);
    assert!(store.use_signature(&acme, "v0=1", at(20)?).await?);
    Ok(())
}
