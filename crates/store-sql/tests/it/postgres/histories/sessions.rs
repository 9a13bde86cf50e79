//! Histories of sessions and their turns.

use charter_contract::ids::SessionId;
use charter_store::Store;
use charter_testkit::store_suite::sample;
use proptest_derive::Arbitrary;

use super::{Done, Few, Second, Several, Tenant, at, hold, told};
use crate::postgres::records;

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Call {
    Open(Tenant, Few, Second),
    Append {
        tenant: Tenant,
        session: Few,
        turn: Several,
        when: Second,
        #[proptest(strategy = "1..3usize")]
        keep: usize,
    },
    Turns(Tenant, Few, Second, Few),
    Sweep(Second),
}

fn session(Few(n): Few) -> SessionId {
    sample::session(n.into())
}

impl super::Call for Call {
    async fn answer(self, store: &dyn Store) -> Done<String> {
        Ok(match self {
            Self::Open(tenant, Few(n), Second(until)) => {
                let session = records::session(tenant.name(), n, until)?;
                told(store.open_session(&session).await)
            }
            Self::Append {
                tenant,
                session: n,
                turn,
                when: Second(when),
                keep,
            } => {
                let turn = records::turn(turn.0, when)?;
                let (tenant, id, until) = (tenant.id()?, session(n), at(when + 2)?);
                told(store.append_turn(&tenant, &id, &turn, until, keep).await)
            }
            Self::Turns(tenant, n, now, Few(limit)) => {
                let (tenant, id, limit) = (tenant.id()?, session(n), usize::from(limit) + 1);
                let found = told(store.session(&tenant, &id, now.at()?).await);
                found + &told(store.turns(&tenant, &id, limit).await)
            }
            Self::Sweep(now) => told(store.sweep_sessions(now.at()?).await),
        })
    }
}

#[test]
fn sessions_have_the_same_history_on_both_engines() {
    hold::<Call>(8);
}
