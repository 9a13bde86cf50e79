//! Cases of API keys.

use std::collections::BTreeSet;

use charter_contract::identity::{AccessScope, AccessScopes, CatalogueRole, Rights};
use charter_contract::ids::{KeyId, Label, UserId};
use charter_contract::link_graph::SkillGrants;
use charter_contract::text::ShortText;
use charter_store::key::{KeyHash, KeyPresence, KeyRecord, Revocation};
use charter_store::outbox::NewMessage;
use charter_store::page::PageRequest;
use charter_store::{Store, StoreError};
use futures_util::future::join_all;
use uuid::Uuid;

use super::Outcome;
use super::sample::{Made, at, tenant, user};
use crate::assert_refused;

fn id(n: u8) -> KeyId {
    KeyId::from_uuid(Uuid::from_u128(n.into()))
}

/// Returns the `n`th key of a tenant, created at the `n`th second.
fn made(tenant_id: &str, n: u8, until: Option<i64>) -> Made<KeyRecord> {
    Ok(KeyRecord {
        key_id: id(n),
        tenant_id: tenant(tenant_id)?,
        name: ShortText::parse(&format!("key {n}"))?,
        hash: KeyHash([n; 32]),
        user_id: UserId::parse("robot")?,
        rights: Rights {
            role: "operator".parse()?,
            tier: "advanced".parse()?,
            catalogue: CatalogueRole::Viewer,
            agent_skills: SkillGrants::try_from(vec!["net".to_owned()])?,
            scopes: AccessScopes::Only([AccessScope::RunsRead, AccessScope::AdminWrite].into()),
            profile: Some(Label::parse("audit")?),
        },
        created_by: user()?,
        makers: [user()?, UserId::parse("root")?].into(),
        created_at: at(n.into())?,
        expires_at: until.map(at).transpose()?,
        last_used_at: None,
        revoked: None,
        rotated_from: None,
    })
}

fn key_message(word: &str, tenant_id: &str) -> Made<Vec<NewMessage>> {
    Ok(vec![NewMessage {
        topic: format!("key.{word}"),
        tenant: Some(tenant_id.to_owned()),
        user_id: None,
        payload: "{}".to_owned(),
        at: at(1)?,
    }])
}

async fn topics(store: &dyn Store) -> Result<Vec<String>, StoreError> {
    let messages = store.messages(0, 100).await?;
    Ok(messages.into_iter().map(|m| m.message.topic).collect())
}

fn revocation(seconds: i64, by: &str) -> Made<Revocation> {
    Ok(Revocation {
        at: at(seconds)?,
        by: UserId::parse(by)?,
    })
}

/// All fields are found, by id and by hash; the creation is published.
///
/// # Errors
/// Any error of the store.
pub async fn every_field_of_a_key_is_stored(store: &dyn Store) -> Outcome {
    assert_eq!(store.keys_kept(at(0)?).await?, KeyPresence::None);
    let key = made("acme", 1, Some(100))?;
    store
        .create_key(&key, key_message("created", "acme")?)
        .await?;
    assert_eq!(
        store.key(&key.tenant_id, &id(1)).await?.as_ref(),
        Some(&key)
    );
    assert_eq!(store.key_of_hash(&key.hash).await?, Some(key));
    assert_eq!(store.key_of_hash(&KeyHash([2; 32])).await?, None);
    assert_eq!(topics(store).await?, ["key.created"]);
    Ok(())
}

/// A key keeps its creators, also if it has none or replaces another key.
///
/// # Errors
/// Any error of the store.
pub async fn a_key_keeps_its_makers(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let makers = |names: &[&str]| -> Made<BTreeSet<UserId>> {
        let users = names.iter().map(|name| Ok(UserId::parse(name)?));
        users.collect()
    };
    for (n, made_by) in [(1, makers(&[])?), (2, makers(&["ann", "a.b-c_d"])?)] {
        let mut old = made("acme", n, None)?;
        old.makers.clone_from(&made_by);
        store.create_key(&old, vec![]).await?;
        let mut new = made("acme", n + 10, None)?;
        new.makers = &made_by | &makers(&["rotator"])?;
        new.rotated_from = Some(id(n));
        store.rotate_key(&new, at(30)?, vec![]).await?;
        let found = store.key(&acme, &id(n)).await?.ok_or("the old key")?;
        assert_eq!(found.makers, made_by);
        assert_eq!(store.key_of_hash(&new.hash).await?, Some(new));
    }
    Ok(())
}

/// A duplicate id or hash is refused and not published.
///
/// # Errors
/// Any error of the store.
pub async fn a_duplicate_key_is_refused(store: &dyn Store) -> Outcome {
    let key = made("acme", 1, None)?;
    store.create_key(&key, vec![]).await?;
    let refused = store
        .create_key(&key, key_message("created", "acme")?)
        .await;
    assert_refused!(refused, StoreError::AlreadyExists { .. });
    assert_eq!(topics(store).await?, Vec::<String>::new());
    Ok(())
}

/// Another tenant's key is absent, and cannot be revoked or rotated. A look-up by hash finds it, because that
/// determines the tenant.
///
/// # Errors
/// Any error of the store.
pub async fn tenants_are_isolated(store: &dyn Store) -> Outcome {
    let other = tenant("other")?;
    let key = made("acme", 1, None)?;
    store.create_key(&key, vec![]).await?;
    assert_eq!(store.key(&other, &id(1)).await?, None);
    let page = PageRequest::new(None, 10);
    assert_eq!(store.keys(&other, &page).await?.entries, Vec::new());
    store.create_key(&made("abc", 9, Some(1))?, vec![]).await?;
    let tenants = [tenant("abc")?, key.tenant_id.clone()];
    assert_eq!(store.key_tenants().await?, tenants);
    let word = revocation(5, "mallory")?;
    let revoked = store.revoke_key(&other, &id(1), &word, vec![]).await;
    assert_refused!(revoked, StoreError::NotFound { .. });
    let mut new = made("other", 2, None)?;
    new.rotated_from = Some(id(1));
    let rotated = store.rotate_key(&new, at(5)?, vec![]).await;
    assert_refused!(rotated, StoreError::NotFound { .. });
    store.note_key_use(&other, &id(1), at(9)?, at(9)?).await?;
    assert_eq!(store.key_of_hash(&key.hash).await?, Some(key));
    Ok(())
}

/// Keys are listed in pages, including ended keys.
///
/// # Errors
/// Any error of the store.
pub async fn keys_are_listed_newest_first(store: &dyn Store) -> Outcome {
    for n in 1..=5 {
        let key = made("acme", n, (n == 2).then_some(3))?;
        store.create_key(&key, vec![]).await?;
    }
    let mut seen = Vec::new();
    let mut page = PageRequest::new(None, 2);
    loop {
        let found = store.keys(&tenant("acme")?, &page).await?;
        seen.extend(found.entries.into_iter().map(|key| key.key_id));
        match found.next {
            Some(next) => page = PageRequest::new(Some(next), 2),
            None => break,
        }
    }
    assert_eq!(seen, [id(5), id(4), id(3), id(2), id(1)]);
    let made_up = PageRequest::new(Some("made up".to_owned()), 2);
    let refused = store.keys(&tenant("acme")?, &made_up).await;
    assert_refused!(refused, StoreError::Refused { .. });
    Ok(())
}

/// The first revocation counts and is published once.
///
/// # Errors
/// Any error of the store.
pub async fn a_key_is_revoked_once(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let key = made("acme", 1, None)?;
    store.create_key(&key, vec![]).await?;
    assert_eq!(store.keys_kept(at(5)?).await?, KeyPresence::Live);
    let first = revocation(5, "ann")?;
    for (revocation, did) in [(first.clone(), true), (revocation(6, "bob")?, false)] {
        let messages = key_message("revoked", "acme")?;
        let revoked = store
            .revoke_key(&acme, &id(1), &revocation, messages)
            .await?;
        assert_eq!(revoked, did);
    }
    let found = store.key_of_hash(&key.hash).await?;
    let revoked = Some(first);
    assert_eq!(found, Some(KeyRecord { revoked, ..key }));
    assert_eq!(topics(store).await?, ["key.revoked"]);
    assert_eq!(store.keys_kept(at(5)?).await?, KeyPresence::Ended);
    let word = revocation(7, "ann")?;
    let unknown = store.revoke_key(&acme, &id(2), &word, vec![]).await;
    assert_refused!(unknown, StoreError::NotFound { .. });
    Ok(())
}

/// A key expires at its expiry time.
///
/// # Errors
/// Any error of the store.
pub async fn a_key_expires(store: &dyn Store) -> Outcome {
    let key = made("acme", 1, Some(10))?;
    store.create_key(&key, vec![]).await?;
    assert_eq!(store.keys_kept(at(9)?).await?, KeyPresence::Live);
    assert_eq!(store.keys_kept(at(10)?).await?, KeyPresence::Ended);
    assert!(key.is_live(at(9)?) && !key.is_live(at(10)?));
    Ok(())
}

/// One transaction creates the new key and sets the old key's end; an earlier end remains.
///
/// # Errors
/// Any error of the store.
pub async fn a_rotated_key_expires(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    for (n, until, ends) in [(1, None, 30), (2, Some(25), 25), (3, Some(90), 30)] {
        let old = made("acme", n, until)?;
        store.create_key(&old, vec![]).await?;
        let mut new = made("acme", n + 10, None)?;
        new.rotated_from = Some(id(n));
        let messages = key_message("rotated", "acme")?;
        store.rotate_key(&new, at(30)?, messages).await?;
        let found = store.key(&acme, &id(n)).await?.ok_or("the old key")?;
        assert_eq!(found.expires_at, Some(at(ends)?));
        assert_eq!(store.key(&acme, &id(n + 10)).await?, Some(new));
    }
    assert_eq!(topics(store).await?, ["key.rotated"; 3]);
    Ok(())
}

/// A rotation of an ended or replaced key writes nothing.
///
/// # Errors
/// Any error of the store.
pub async fn an_expired_or_revoked_key_is_not_rotated(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    store
        .create_key(&made("acme", 1, Some(10))?, vec![])
        .await?;
    store.create_key(&made("acme", 2, None)?, vec![]).await?;
    let revocation = revocation(5, "ann")?;
    store.revoke_key(&acme, &id(2), &revocation, vec![]).await?;
    for old in [1, 2] {
        let mut new = made("acme", 20, None)?;
        new.rotated_from = Some(id(old));
        let refused = store.rotate_key(&new, at(90)?, key_message("rotated", "acme")?);
        assert_refused!(refused.await, StoreError::Refused { .. });
    }
    let unnamed = made("acme", 20, None)?;
    let refused = store.rotate_key(&unnamed, at(90)?, vec![]).await;
    assert_refused!(refused, StoreError::NotFound { .. });
    assert_eq!(store.key(&acme, &id(20)).await?, None);
    assert_eq!(topics(store).await?, Vec::<String>::new());
    Ok(())
}

/// One of several concurrent rotations succeeds.
///
/// # Errors
/// Any error of the store.
pub async fn rotations_at_the_same_time_have_one_winner(store: &dyn Store) -> Outcome {
    let old = made("acme", 1, None)?;
    store.create_key(&old, vec![]).await?;
    let new: Made<Vec<KeyRecord>> = (10..16)
        .map(|n| {
            let mut new = made("acme", n, None)?;
            new.rotated_from = Some(id(1));
            Ok(new)
        })
        .collect();
    let (new, end) = (new?, at(100)?);
    let rotated = new.iter().map(|new| store.rotate_key(new, end, vec![]));
    let rotated = join_all(rotated).await;
    let won = rotated.iter().filter(|rotated| rotated.is_ok()).count();
    let lost = rotated
        .iter()
        .filter(|rotated| matches!(rotated, Err(StoreError::Refused { .. })));
    assert_eq!((won, lost.count()), (1, 5));
    Ok(())
}

/// Only later uses are recorded, and only at intervals.
///
/// # Errors
/// Any error of the store.
pub async fn the_last_use_is_noted(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    store.create_key(&made("acme", 1, None)?, vec![]).await?;
    for (used, unless_after, noted) in [
        (100, 40, 100),
        (130, 70, 100),
        (160, 100, 160),
        (90, 200, 160),
    ] {
        let unless_after = at(unless_after)?;
        store
            .note_key_use(&acme, &id(1), at(used)?, unless_after)
            .await?;
        let found = store.key(&acme, &id(1)).await?.ok_or("the key")?;
        assert_eq!(found.last_used_at, Some(at(noted)?), "{used}");
    }
    Ok(())
}
