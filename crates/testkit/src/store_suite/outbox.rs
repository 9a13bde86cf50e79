//! Cases of the outbox.

use charter_store::Store;
use charter_store::catalogue::CATALOGUE_CHANGED;

use super::Outcome;
use super::sample::{at, message, tenant, user};

/// Messages are delivered in the order of their ids, on every read.
///
/// # Errors
/// Any error of the store.
pub async fn messages_are_read_in_order_and_kept(store: &dyn Store) -> Outcome {
    assert_eq!(store.last_message().await?, 0);
    let mut sent = vec![message("a", 0)?, message("b", 0)?, message("c", 0)?];
    sent[2].tenant = None;
    store.publish(sent[..2].to_vec()).await?;
    store.publish(sent[2..].to_vec()).await?;
    let all = store.messages(0, 10).await?;
    let read: Vec<_> = all.iter().map(|m| m.message.clone()).collect();
    assert_eq!(read, sent);
    assert!(all.is_sorted_by(|a, b| a.id < b.id));
    assert_eq!(store.messages(0, 2).await?, all[..2].to_vec());
    assert_eq!(store.messages(all[1].id, 10).await?, all[2..].to_vec());
    assert_eq!(store.messages(all[2].id, 10).await?, Vec::new());
    assert_eq!(store.last_message().await?, all[2].id);
    Ok(())
}

/// A message keeps its user, or none, in both ways of reading.
///
/// # Errors
/// Any error of the store.
pub async fn a_message_keeps_its_user(store: &dyn Store) -> Outcome {
    let mut sent = vec![message("a", 0)?, message("b", 0)?];
    sent[1].user_id = Some(user()?);
    store.publish(sent.clone()).await?;
    for read in [
        store.messages(0, 10).await?,
        store.messages_of(&tenant("acme")?, 0, 10).await?,
    ] {
        let read: Vec<_> = read.into_iter().map(|m| m.message).collect();
        assert_eq!(read, sent);
    }
    Ok(())
}

/// A reader at the newest id misses no message that is published after a sweep.
///
/// # Errors
/// Any error of the store.
pub async fn the_last_message_survives_a_sweep(store: &dyn Store) -> Outcome {
    store
        .publish(vec![message("a", 0)?, message("b", 1)?])
        .await?;
    let last = store.last_message().await?;
    assert_eq!(store.sweep_messages(at(9)?).await?, 2);
    assert_eq!(store.last_message().await?, last);
    store.publish(vec![message("c", 2)?]).await?;
    let new = store.messages(last, 10).await?;
    assert_eq!(
        new.iter().map(|m| &*m.message.topic).collect::<Vec<_>>(),
        ["c"]
    );
    Ok(())
}

/// A sweep deletes messages strictly older than the given time.
///
/// # Errors
/// Any error of the store.
pub async fn sweep_deletes_only_older_messages(store: &dyn Store) -> Outcome {
    let sent = vec![message("a", 0)?, message("b", 1)?, message("c", 2)?];
    store.publish(sent).await?;
    assert_eq!(store.sweep_messages(at(1)?).await?, 1);
    assert_eq!(store.sweep_messages(at(1)?).await?, 0);
    let left = store.messages(0, 10).await?;
    let left: Vec<_> = left.iter().map(|m| &*m.message.topic).collect();
    assert_eq!(left, ["b", "c"]);
    Ok(())
}

/// A tenant reads its own messages and those about the global catalogue, but none about other tenants or the rest of
/// the server.
///
/// # Errors
/// Any error of the store.
pub async fn messages_are_listed_by_tenant(store: &dyn Store) -> Outcome {
    let mut sent = vec![message("a", 0)?, message("b", 0)?, message("c", 0)?];
    sent[0].tenant = Some("acme".to_owned());
    sent[1].tenant = Some("umbra".to_owned());
    sent[2].tenant = None;
    let mut changes = vec![
        message(CATALOGUE_CHANGED, 1)?,
        message(CATALOGUE_CHANGED, 1)?,
    ];
    changes[0].tenant = None;
    changes[1].tenant = Some("umbra".to_owned());
    store.publish(sent.clone()).await?;
    store.publish(changes).await?;
    store.publish(sent).await?;
    let acme = super::sample::tenant("acme")?;
    let own = store.messages_of(&acme, 0, 10).await?;
    let topics: Vec<_> = own.iter().map(|m| &*m.message.topic).collect();
    assert_eq!(topics, ["a", CATALOGUE_CHANGED, "a"]);
    assert!(own.is_sorted_by(|a, b| a.id < b.id));
    assert_eq!(store.messages_of(&acme, 0, 1).await?, own[..1].to_vec());
    let later = store.messages_of(&acme, own[0].id, 10).await?;
    assert_eq!(later, own[1..].to_vec());
    Ok(())
}
