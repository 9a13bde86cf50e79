//! Cases of connected accounts.

use charter_contract::ids::{Label, UserId};
use charter_store::connected_account::{
    AccountKey, AccountRenewal, ConnectedAccount, SealedSecret,
};
use charter_store::outbox::NewMessage;
use charter_store::page::PageRequest;
use charter_store::{Store, StoreError};
use futures_util::future::join_all;

use super::sample::{Made, at, tenant};
use super::{Outcome, assert_one_winner};
use crate::assert_refused;

fn key(tenant_id: &str, user: &str) -> Made<AccountKey> {
    Ok(AccountKey {
        tenant_id: tenant(tenant_id)?,
        credential: Label::parse("github")?,
        user_id: UserId::parse(user)?,
    })
}

fn secret(key_id: &str, byte: u8) -> SealedSecret {
    SealedSecret {
        key_id: key_id.to_owned(),
        sealed: vec![byte, 0, 255],
    }
}

/// Returns the account of a user, connected at the `n`th second.
///
/// # Errors
/// None in practice.
pub fn account(tenant_id: &str, user: &str, n: u8) -> Made<ConnectedAccount> {
    Ok(ConnectedAccount {
        key: key(tenant_id, user)?,
        secret: secret("k1", n),
        connected_at: at(n.into())?,
        changed_at: at(n.into())?,
        expires_at: Some(at(i64::from(n) + 100)?),
        version: 1,
    })
}

fn message(word: &str) -> Made<Vec<NewMessage>> {
    Ok(vec![NewMessage {
        topic: format!("account.{word}"),
        tenant: Some("acme".to_owned()),
        user_id: Some(UserId::parse("mia")?),
        payload: "{}".to_owned(),
        at: at(1)?,
    }])
}

async fn topics(store: &dyn Store) -> Result<Vec<String>, StoreError> {
    let messages = store.messages(0, 100).await?;
    Ok(messages.into_iter().map(|m| m.message.topic).collect())
}

fn renewal(expected: u64, byte: u8) -> Made<AccountRenewal> {
    Ok(AccountRenewal {
        expected,
        secret: secret("k2", byte),
        expires_at: None,
        at: at(50)?,
    })
}

/// All fields are kept; the connection is published.
///
/// # Errors
/// Any error of the store.
pub async fn every_field_of_an_account_is_stored(store: &dyn Store) -> Outcome {
    let mia = account("acme", "mia", 1)?;
    assert_eq!(store.account(&mia.key).await?, None);
    let version = store.connect_account(&mia, message("connected")?).await?;
    assert_eq!(version, 1);
    assert_eq!(store.account(&mia.key).await?, Some(mia.clone()));
    let own = store.accounts_of_user(&mia.key.tenant_id, &mia.key.user_id);
    assert_eq!(own.await?, [mia]);
    assert_eq!(topics(store).await?, ["account.connected"]);
    Ok(())
}

/// A second connection replaces the first under the next version.
///
/// # Errors
/// Any error of the store.
pub async fn an_account_is_connected_again_in_place(store: &dyn Store) -> Outcome {
    let first = account("acme", "mia", 1)?;
    store.connect_account(&first, Vec::new()).await?;
    let again = account("acme", "mia", 2)?;
    assert_eq!(store.connect_account(&again, Vec::new()).await?, 2);
    let expected = ConnectedAccount {
        version: 2,
        ..again
    };
    assert_eq!(store.account(&first.key).await?, Some(expected));
    Ok(())
}

/// No other user, and no user of that name in another tenant, has the account.
///
/// # Errors
/// Any error of the store.
pub async fn an_account_belongs_to_one_user_of_one_tenant(store: &dyn Store) -> Outcome {
    let mia = account("acme", "mia", 1)?;
    store.connect_account(&mia, Vec::new()).await?;
    for other in [key("acme", "ben")?, key("other", "mia")?] {
        assert_eq!(store.account(&other).await?, None);
        let own = store.accounts_of_user(&other.tenant_id, &other.user_id);
        assert_eq!(own.await?, []);
        let refused = store.renew_account(&other, &renewal(1, 9)?).await;
        assert_refused!(refused, StoreError::VersionConflict { .. });
        assert!(!store.disconnect_account(&other, Vec::new()).await?);
    }
    assert_eq!(store.account(&mia.key).await?, Some(mia));
    Ok(())
}

/// Of renewals at the same time one succeeds; a renewal of a replaced version writes nothing.
///
/// # Errors
/// Any error of the store.
pub async fn a_renewal_replaces_the_version_that_it_read(store: &dyn Store) -> Outcome {
    let mia = account("acme", "mia", 1)?;
    store.connect_account(&mia, Vec::new()).await?;
    let renewals = [7, 8, 9].map(|byte| renewal(1, byte));
    let renewals = renewals.into_iter().collect::<Made<Vec<_>>>()?;
    let calls = renewals
        .iter()
        .map(|renewal| store.renew_account(&mia.key, renewal));
    assert_one_winner(&join_all(calls).await);
    let found = store.account(&mia.key).await?.ok_or("no account")?;
    assert_eq!((found.version, found.expires_at), (2, None));
    assert_eq!((found.connected_at, found.changed_at), (at(1)?, at(50)?));
    assert_eq!(found.secret.key_id, "k2");
    let stale = store.renew_account(&mia.key, &renewal(1, 3)?).await;
    assert_refused!(stale, StoreError::VersionConflict { found: 2, .. });
    Ok(())
}

/// A deletion is published once.
///
/// # Errors
/// Any error of the store.
pub async fn a_disconnected_account_is_gone(store: &dyn Store) -> Outcome {
    let mia = account("acme", "mia", 1)?;
    store.connect_account(&mia, Vec::new()).await?;
    let first = store.disconnect_account(&mia.key, message("disconnected")?);
    assert!(first.await?);
    assert_eq!(store.account(&mia.key).await?, None);
    let again = store.disconnect_account(&mia.key, message("disconnected")?);
    assert!(!again.await?);
    assert_eq!(topics(store).await?, ["account.disconnected"]);
    Ok(())
}

/// Pages give every account of a credential once.
///
/// # Errors
/// Any error of the store.
pub async fn accounts_are_listed_newest_first(store: &dyn Store) -> Outcome {
    for (n, user) in [(1, "mia"), (2, "ben"), (3, "uma")] {
        store
            .connect_account(&account("acme", user, n)?, Vec::new())
            .await?;
    }
    store
        .connect_account(&account("other", "mia", 4)?, Vec::new())
        .await?;
    let (acme, github) = (tenant("acme")?, Label::parse("github")?);
    let mut users = Vec::new();
    let mut next = None;
    loop {
        let page = PageRequest::new(next.take(), 2);
        let page = store.accounts_of_credential(&acme, &github, &page).await?;
        let entries = page.entries.into_iter();
        users.extend(entries.map(|account| account.key.user_id.to_string()));
        match page.next {
            Some(cursor) => next = Some(cursor),
            None => break,
        }
    }
    assert_eq!(users, ["uma", "ben", "mia"]);
    Ok(())
}

/// After a change of the key, all accounts under earlier keys are found, whatever their tenant.
///
/// # Errors
/// Any error of the store.
pub async fn accounts_under_other_keys_are_found(store: &dyn Store) -> Outcome {
    let (mia, ben) = (account("acme", "mia", 1)?, account("other", "ben", 2)?);
    for account in [&mia, &ben] {
        store.connect_account(account, Vec::new()).await?;
    }
    assert_eq!(store.accounts_sealed_otherwise("k1", 10).await?, []);
    let found = store.accounts_sealed_otherwise("k2", 10).await?;
    assert_eq!(found.len(), 2);
    store.renew_account(&mia.key, &renewal(1, 7)?).await?;
    assert_eq!(store.accounts_sealed_otherwise("k2", 10).await?, [ben]);
    Ok(())
}
