//! Histories of API keys.

use charter_contract::ids::UserId;
use charter_store::Store;
use charter_store::key::Revocation;
use proptest_derive::Arbitrary;

use super::{Done, Few, Second, Tenant, at, hold, messages, page, told};
use crate::postgres::records;

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Call {
    Create(Tenant, Key, Option<Second>),
    Rotate {
        tenant: Tenant,
        old: Key,
        new: Key,
        end: Second,
    },
    Revoke(Tenant, Key, Second),
    Use(Tenant, Key, Second),
    Read(Tenant, Key, Option<Few>, Second),
}

/// A larger set than for other records, because no key is ever removed.
#[derive(Debug, Clone, Copy, Arbitrary)]
struct Key(#[proptest(strategy = "0..10u8")] u8);

impl super::Call for Call {
    async fn answer(self, store: &dyn Store) -> Done<String> {
        Ok(match self {
            Self::Create(tenant, Key(n), until) => {
                let key = records::key(tenant.name(), n, until.map(|until| until.0))?;
                told(store.create_key(&key, messages(tenant)?).await)
            }
            Self::Rotate {
                tenant,
                old,
                new,
                end,
            } => {
                let mut key = records::key(tenant.name(), new.0, None)?;
                key.rotated_from = Some(records::key_id(old.0));
                told(store.rotate_key(&key, end.at()?, messages(tenant)?).await)
            }
            Self::Revoke(tenant, Key(n), when) => {
                let revocation = Revocation {
                    at: when.at()?,
                    by: UserId::parse("boss")?,
                };
                let (messages, tenant, id) = (messages(tenant)?, tenant.id()?, records::key_id(n));
                let revoked = store.revoke_key(&tenant, &id, &revocation, messages);
                told(revoked.await)
            }
            Self::Use(tenant, Key(n), when) => {
                let (tenant, id, noted) = (tenant.id()?, records::key_id(n), at(when.0 / 2)?);
                told(store.note_key_use(&tenant, &id, when.at()?, noted).await)
            }
            Self::Read(tenant, Key(n), after, now) => {
                let hash = records::key_hash(tenant.name(), n);
                let tenant = tenant.id()?;
                let mut read = told(store.keys(&tenant, &page(after)?).await);
                read += &told(store.key(&tenant, &records::key_id(n)).await);
                read += &told(store.key_of_hash(&hash).await);
                read += &told(store.last_message().await);
                read + &told(store.keys_kept(now.at()?).await)
            }
        })
    }
}

#[test]
fn keys_have_the_same_history_on_both_engines() {
    hold::<Call>(16);
}
