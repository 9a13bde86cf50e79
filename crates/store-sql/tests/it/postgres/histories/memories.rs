//! Histories of memories.

use charter_contract::agentic::memory::{MemoryState, Visibility};
use charter_contract::ids::{MemoryId, TenantId, UserId};
use charter_store::Store;
use charter_store::memory::{MemoryDecision, MemoryVector, MemoryVerdict, Proposals};
use charter_testkit::store_suite::sample;
use proptest::sample::select;
use proptest_derive::Arbitrary;

use super::{Done, Few, Second, Several, Tenant, at, hold, page, told};
use crate::postgres::records;

/// A limit that only long histories reach.
const MOST_MEMORIES: u64 = 4;

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Call {
    Add {
        tenant: Tenant,
        memory: Several,
        #[proptest(strategy = "select(STATES)")]
        state: MemoryState,
        #[proptest(strategy = "select(VISIBILITIES)")]
        visibility: Visibility,
    },
    AddVersion {
        tenant: Tenant,
        memory: Several,
        expected: Option<Several>,
        at: Second,
        #[proptest(strategy = "select(STATES)")]
        state: MemoryState,
    },
    Decide {
        tenant: Tenant,
        memory: Several,
        version: Few,
        accept: bool,
        lasts: Option<Second>,
    },
    Remove(Tenant, Several),
    Sweep(Second),
    List(
        Tenant,
        bool,
        #[proptest(strategy = "select(PROPOSALS)")] Proposals,
        Second,
        Option<Few>,
    ),
    Versions(Tenant, Several, Second),
    Changes(Tenant, Several),
    Vectors(Tenant, Several, Few, bool),
}

const STATES: &[MemoryState] = &[MemoryState::Proposed, MemoryState::Accepted];
const VISIBILITIES: &[Visibility] = &[Visibility::Private, Visibility::Shared];
const PROPOSALS: &[Proposals] = &[Proposals::Without, Proposals::Own, Proposals::Shared];

fn of(tenant: Tenant, Several(n): Several) -> Done<(TenantId, MemoryId)> {
    Ok((tenant.id()?, records::memory_id(n)))
}

fn decision(before: u8, accept: bool, lasts: Option<Second>) -> Done<MemoryDecision> {
    let expires_at = lasts.map(Second::at).transpose()?;
    Ok(MemoryDecision {
        version: u64::from(before) + 1,
        verdict: match accept {
            true => MemoryVerdict::Accept { expires_at },
            false => MemoryVerdict::Reject,
        },
        by: UserId::parse("owner")?,
        at: at(5)?,
    })
}

/// Returns the memories without a vector, sorted, because the engines' orders differ.
async fn without_vector(store: &dyn Store, model: &str) -> Done<String> {
    let found = store.memories_without_vector(model, 50).await?;
    let mut found: Vec<String> = found.iter().map(|found| format!("{found:?}")).collect();
    found.sort();
    Ok(format!("{found:?}"))
}

impl super::Call for Call {
    async fn answer(self, store: &dyn Store) -> Done<String> {
        Ok(match self {
            Self::Add {
                tenant,
                memory,
                state,
                visibility,
            } => {
                let mut new = records::memory(tenant.name(), memory.0, state)?;
                new.visibility = visibility;
                told(store.add_memory(&new, MOST_MEMORIES).await)
            }
            Self::AddVersion {
                tenant,
                memory,
                expected,
                at,
                state,
            } => {
                let new = records::version(memory.0, at.0, state)?;
                let (tenant, id) = of(tenant, memory)?;
                let expected = expected.map(|Several(n)| n.into());
                told(store.add_memory_version(&tenant, &id, expected, &new).await)
            }
            Self::Decide {
                tenant,
                memory,
                version: Few(before),
                accept,
                lasts,
            } => {
                let decision = decision(before, accept, lasts)?;
                let (tenant, id) = of(tenant, memory)?;
                told(store.decide_memory(&tenant, &id, &decision).await)
            }
            Self::Remove(tenant, memory) => {
                let ((tenant, id), by) = (of(tenant, memory)?, sample::user()?);
                told(store.remove_memory(&tenant, &id, &by, at(6)?).await)
            }
            Self::Sweep(now) => told(store.sweep_memories(now.at()?).await),
            Self::List(tenant, owner, which, now, after) => {
                let reader = match owner {
                    true => sample::user()?,
                    false => UserId::parse("somebody")?,
                };
                let (tenant, now, page) = (tenant.id()?, now.at()?, page(after)?);
                told(store.memories(&tenant, &reader, which, now, &page).await)
            }
            Self::Versions(tenant, memory, now) => {
                let (tenant, id) = of(tenant, memory)?;
                let one = told(store.memory(&tenant, &id, now.at()?).await);
                let second = told(store.memory_version(&tenant, &id, 2).await);
                one + &second + &told(store.memory_versions(&tenant, &id, 3).await)
            }
            Self::Changes(tenant, Several(after)) => {
                told(store.memory_changes(&tenant.id()?, after.into(), 3).await)
            }
            Self::Vectors(tenant, memory, Few(before), first) => {
                let model = if first { "test/f32" } else { "other/f32" };
                let without = without_vector(store, model).await?;
                let vector = MemoryVector {
                    model: model.to_owned(),
                    bytes: vec![0; 4],
                };
                let (tenant, id) = of(tenant, memory)?;
                let vectors = [(tenant, id, u64::from(before) + 1, vector)];
                without + &told(store.put_memory_vectors(&vectors).await)
            }
        })
    }
}

#[test]
fn memories_have_the_same_history_on_both_engines() {
    hold::<Call>(16);
}
