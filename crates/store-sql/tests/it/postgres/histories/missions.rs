//! Calls of missions and their artifacts. Their histories are combined with those of approvals, which stop and start
//! the same runs.

use charter_contract::ids::MissionId;
use charter_contract::mission::{ArtifactKind, MissionState};
use charter_store::Store;
use charter_store::journal::{Append, NextPhase};
use charter_store::mission::{ArtifactFilter, MissionFilter};
use charter_store::page::PageRequest;
use charter_testkit::store_suite::mission::writer::Writer;
use charter_testkit::store_suite::sample;
use proptest::option::of;
use proptest::sample::select;
use proptest::strategy::Strategy;
use proptest_derive::Arbitrary;

use super::runs::last_event;
use super::{Done, Few, Several, Tenant, told};

#[derive(Debug, Clone, Copy, Arbitrary)]
pub(super) enum Call {
    #[proptest(weight = 2)]
    Begin(Tenant, Few),
    Add {
        tenant: Tenant,
        run: Few,
        #[proptest(strategy = "0..13usize")]
        place: usize,
        #[proptest(strategy = "of(state())")]
        then: Option<MissionState>,
    },
    End(Tenant, Few),
    Missions {
        tenant: Tenant,
        #[proptest(strategy = "of(state())")]
        state: Option<MissionState>,
        after: Option<Few>,
    },
    Artifacts(Tenant, Few, bool, Several),
}

fn state() -> impl Strategy<Value = MissionState> {
    select(vec![
        MissionState::Created,
        MissionState::Planned,
        MissionState::Running,
        MissionState::Completed,
        MissionState::Failed,
    ])
}

/// Returns the number of a mission and its run, separate for each tenant.
pub(super) fn number(tenant: Tenant, Few(n): Few) -> u128 {
    u128::from(n)
        + match tenant {
            Tenant::Acme => 0,
            Tenant::Rival => 10,
        }
}

/// Returns the next append to a mission's run, according to its journal.
pub(super) async fn append(store: &dyn Store, tenant: Tenant, run: Few) -> Done<Append> {
    writer(store, tenant, run).await?.append(vec![])
}

async fn writer(store: &dyn Store, tenant: Tenant, run: Few) -> Done<Writer> {
    let mut writer = Writer::new(tenant.name(), number(tenant, run))?;
    (writer.version, writer.head) =
        last_event(store, &tenant.id()?, &sample::run(writer.run)).await?;
    Ok(writer)
}

impl super::Call for Call {
    async fn answer(self, store: &dyn Store) -> Done<String> {
        Ok(match self {
            Self::Begin(tenant, run) => {
                let writer = Writer::new(tenant.name(), number(tenant, run))?;
                told(store.create_held_run(writer.first(run.0.into())?).await)
            }
            Self::Add {
                tenant,
                run,
                place,
                then,
            } => {
                let writer = writer(store, tenant, run).await?;
                let record = writer.record(place % writer.texts.len())?;
                let append = Append {
                    mission_state: then,
                    ..writer.append(vec![record])?
                };
                told(store.append(append).await)
            }
            Self::End(tenant, run) => {
                let append = Append {
                    then: NextPhase::Ends,
                    mission_state: Some(MissionState::Completed),
                    ..append(store, tenant, run).await?
                };
                told(store.append(append).await)
            }
            Self::Missions {
                tenant,
                state,
                after,
            } => {
                // Missions have the creation time of their example, and are distinguished by their ids.
                let after = after.map(|Few(n)| format!("{}.m{n}", i64::MAX));
                let page = PageRequest::new(after, 2);
                let filter = MissionFilter {
                    state,
                    ..MissionFilter::default()
                };
                told(store.missions(&tenant.id()?, filter, &page).await)
            }
            Self::Artifacts(tenant, run, of_kind, Several(after)) => {
                let mission = MissionId::parse(&format!("m{}", number(tenant, run)))?;
                let tenant = tenant.id()?;
                let kind = ArtifactKind::WorkerResult;
                let filter = ArtifactFilter {
                    kind: of_kind.then_some(kind),
                    task_id: None,
                };
                let read = store.artifacts(&tenant, &mission, filter, after.into(), 3);
                let read = told(read.await);
                let one = told(store.artifact(&tenant, &mission, kind, "wrk_001").await);
                read + &one + &told(store.mission(&tenant, &mission).await)
            }
        })
    }
}
