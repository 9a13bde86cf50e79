//! Histories of runs, their events, and their leases.

use charter_contract::ids::{RunId, TenantId};
use charter_contract::run_status::RunStatus;
use charter_store::Store;
use charter_store::journal::{
    Append, Claim, EventHash, GENESIS, NextPhase, RunFilter, RunStatusFilter, RunWait,
};
use charter_store::lease::{Fence, Lease};
use charter_testkit::store_suite::sample;
use proptest_derive::Arbitrary;

use super::{Done, Few, Second, Tenant, at, hold, page, told};

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Call {
    Create(Few, Tenant),
    Append(Following),
    Park(Tenant, Few, Few, Option<Second>),
    Runs(Tenant, Option<Stands>, Option<Few>),
    Claim(Few, Second),
    Events(Tenant, Few, Few),
    Sweep(Second),
    Acquire(Few, Holder, Second, Few),
    Renew(Few, Holder, Second),
    Release(Few, Holder, Few),
}

#[derive(Debug, Clone, Copy, Arbitrary)]
struct Following {
    tenant: Tenant,
    run: Few,
    #[proptest(strategy = "1..4u8")]
    expected: u8,
    fence: Few,
    then: Then,
    release: bool,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Then {
    #[proptest(weight = 2)]
    Runs,
    Waits,
    Ends,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Stands {
    Open,
    Ended,
    Working,
    Completed,
}

impl Stands {
    fn standing(self) -> RunStatusFilter {
        match self {
            Self::Open => RunStatusFilter::Open,
            Self::Ended => RunStatusFilter::Ended,
            Self::Working => RunStatusFilter::At(RunStatus::Working),
            Self::Completed => RunStatusFilter::At(RunStatus::Completed),
        }
    }
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Holder {
    One,
    Other,
}

impl Holder {
    fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Other => "other",
        }
    }
}

fn run(Few(n): Few) -> RunId {
    sample::run(n.into())
}

fn fence(Few(n): Few) -> Fence {
    Fence(n.into())
}

/// Returns the position and the hash of a run's last event, as known to a caller.
pub(super) async fn last_event(
    store: &dyn Store,
    tenant: &TenantId,
    run: &RunId,
) -> Done<(u64, EventHash)> {
    let events = store.events(tenant, run, 0, 100).await?;
    let last = events.last();
    Ok(last.map_or((0, GENESIS), |event| (event.sequence, event.hash)))
}

async fn append(store: &dyn Store, following: Following) -> Done<Append> {
    let expected = following.expected.into();
    let then = match following.then {
        Then::Runs => NextPhase::Runs,
        Then::Waits => NextPhase::Waits(RunWait {
            until: Some(at(4)?),
            approvals: vec![],
        }),
        Then::Ends => NextPhase::Ends,
    };
    let tenant_id = following.tenant.id()?;
    let (_, previous) = last_event(store, &tenant_id, &run(following.run)).await?;
    let mut message = sample::message("appended", 3)?;
    message.tenant = Some(tenant_id.to_string());
    Ok(Append {
        tenant_id,
        expected,
        fence: fence(following.fence),
        events: sample::events(previous, expected, &["{\"n\": 1.0}", "{}"])?,
        release: following.release,
        status: match following.then {
            Then::Runs | Then::Waits => RunStatus::Working,
            Then::Ends => RunStatus::Completed,
        },
        messages: vec![message],
        ..sample::second_append(following.run.0.into(), then, &["{}"])?
    })
}

impl super::Call for Call {
    async fn answer(self, store: &dyn Store) -> Done<String> {
        Ok(match self {
            Self::Create(Few(n), tenant) => {
                let (run, events) = sample::new_run(tenant.name(), n.into(), n.into())?;
                let mut message = sample::message("created", 2)?;
                message.tenant = Some(run.tenant_id.to_string());
                told(store.create_run(&run, events, vec![], vec![message]).await)
            }
            Self::Append(following) => told(store.append(append(store, following).await?).await),
            Self::Park(tenant, n, fenced, until) => {
                let wait = RunWait {
                    until: until.map(Second::at).transpose()?,
                    approvals: vec![],
                };
                let (tenant, run) = (tenant.id()?, run(n));
                let status = RunStatus::AwaitingApproval;
                let parked = store.park(&tenant, &run, fence(fenced), status, wait, vec![]);
                told(parked.await)
            }
            Self::Runs(tenant, stands, after) => {
                let filter = RunFilter {
                    standing: stands.map(Stands::standing),
                    ..RunFilter::default()
                };
                told(store.runs(&tenant.id()?, &filter, &page(after)?).await)
            }
            Self::Claim(Few(worker), now) => {
                let claim = Claim {
                    holder: format!("w{worker}"),
                    now: now.at()?,
                    until: at(now.0 + 3)?,
                    limit: 2,
                    except: Vec::new(),
                };
                told(store.claim_runs(&claim).await)
            }
            Self::Events(tenant, n, Few(after)) => {
                let (tenant, run) = (tenant.id()?, run(n));
                let events = told(store.events(&tenant, &run, after.into(), 2).await);
                let bytes = told(store.journal_bytes(&tenant, &run).await);
                format!("{events}, {bytes}")
            }
            Self::Sweep(before) => told(store.sweep_runs(before.at()?, 1).await),
            Self::Acquire(n, holder, now, Few(lasts)) => {
                let (run, until) = (run(n), at(now.0 + lasts)?);
                let acquired = store.acquire(run.as_str(), holder.name(), now.at()?, until);
                told(acquired.await)
            }
            Self::Renew(n, holder, until) => {
                let runs = [Few(0), Few(1), n].map(|n| run(n).to_string());
                told(store.renew(holder.name(), &runs, until.at()?).await)
            }
            Self::Release(n, holder, fenced) => {
                let lease = Lease {
                    resource: run(n).to_string(),
                    holder: holder.name().to_owned(),
                    fence: fence(fenced),
                    expires_at: at(0)?,
                };
                told(store.release(&lease).await)
            }
        })
    }
}

#[test]
fn runs_have_the_same_history_on_both_engines() {
    hold::<Call>(8);
}
