//! Histories of route examples.

use charter_contract::ids::{DocumentId, UserId};
use charter_contract::route_example::{ExampleStatus, RoutedKind};
use charter_store::Store;
use charter_store::route_example::{ExampleFilter, ExampleMove, ExampleRoom, OwnerDecision};
use proptest::option::of;
use proptest::sample::select;
use proptest_derive::Arbitrary;

use super::{Done, Few, Second, Several, Tenant, hold, messages, page, told};
use crate::postgres::records;

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Call {
    Suggest(Tenant, Example, Several),
    Move {
        tenant: Tenant,
        example: Example,
        #[proptest(strategy = "select(ExampleStatus::ALL)")]
        from: ExampleStatus,
        #[proptest(strategy = "select(ExampleStatus::ALL)")]
        to: ExampleStatus,
        at: Second,
    },
    Read {
        tenant: Tenant,
        example: Example,
        #[proptest(strategy = "of(select(ExampleStatus::ALL))")]
        status: Option<ExampleStatus>,
        after: Option<Few>,
    },
}

/// More ids than for other records, because examples are never deleted.
#[derive(Debug, Clone, Copy, Arbitrary)]
struct Example(#[proptest(strategy = "0..12u8")] u8);

/// The document of an example, one of three.
fn document(n: u8) -> u8 {
    n % 3
}

impl super::Call for Call {
    async fn answer(self, store: &dyn Store) -> Done<String> {
        Ok(match self {
            Self::Suggest(tenant, Example(n), Several(most)) => {
                let example = records::route_example(tenant.name(), n, document(n))?;
                let room = ExampleRoom {
                    document: usize::from(most),
                    tenant: 2 * usize::from(most),
                };
                told(store.suggest_example(&example, room).await)
            }
            Self::Move {
                tenant,
                example: Example(n),
                from,
                to,
                at,
            } => {
                let step = ExampleMove {
                    example_id: records::example_id(n),
                    from,
                    to,
                    decided: OwnerDecision {
                        by: UserId::parse("boss")?,
                        at: at.at()?,
                    },
                };
                let (events, tenant) = (messages(tenant)?, tenant.id()?);
                let moved = store.move_example(&tenant, step, events);
                let mut answer = told(moved.await);
                answer += &told(store.revision().await);
                answer
            }
            Self::Read {
                tenant,
                example: Example(n),
                status,
                after,
            } => {
                let (tenant, id) = (tenant.id()?, format!("d{}", document(n)));
                let document = DocumentId::parse(&id)?;
                let filter = ExampleFilter {
                    status,
                    document: Some(&document).filter(|_| n.is_multiple_of(2)),
                };
                let mut read = told(store.route_examples(&tenant, filter, &page(after)?).await);
                read += &told(store.route_example(&tenant, &records::example_id(n)).await);
                read += &told(
                    store
                        .open_examples(&tenant, RoutedKind::Skill, &document)
                        .await,
                );
                read + &told(store.accepted_examples().await)
            }
        })
    }
}

#[test]
fn route_examples_have_the_same_history_on_both_engines() {
    hold::<Call>(16);
}
