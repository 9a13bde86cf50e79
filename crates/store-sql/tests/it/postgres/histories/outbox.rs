//! Histories of messages.

use charter_store::Store;
use charter_store::catalogue::CATALOGUE_CHANGED;
use charter_testkit::store_suite::sample;
use proptest_derive::Arbitrary;

use super::{Done, Few, Second, Several, Tenant, hold, told};

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Call {
    Publish(Few, Second),
    Read(Several, #[proptest(strategy = "1..9u8")] u8),
    ReadOf(Tenant, Several, #[proptest(strategy = "1..9u8")] u8),
    ChangeCatalogue(Option<Tenant>),
    Sweep(Second),
}

impl super::Call for Call {
    async fn answer(self, store: &dyn Store) -> Done<String> {
        Ok(match self {
            Self::Publish(Few(topics), Second(when)) => {
                let topics = (0..topics).map(|n| sample::message(&n.to_string(), when.into()));
                told(store.publish(topics.collect::<Result<_, _>>()?).await)
            }
            Self::Read(Several(after), limit) => {
                let read = told(store.messages(after.into(), limit.into()).await);
                read + &told(store.last_message().await)
            }
            Self::ReadOf(tenant, Several(after), limit) => {
                let tenant = tenant.id()?;
                told(store.messages_of(&tenant, after.into(), limit.into()).await)
            }
            Self::ChangeCatalogue(of) => {
                let mut message = sample::message(CATALOGUE_CHANGED, 3)?;
                message.tenant = of.map(|tenant| tenant.name().to_owned());
                told(store.publish(vec![message]).await)
            }
            Self::Sweep(before) => told(store.sweep_messages(before.at()?).await),
        })
    }
}

#[test]
fn messages_have_the_same_history_on_both_engines() {
    hold::<Call>(8);
}
