//! Histories of approvals, and of the missions that wait for them.

use charter_contract::ids::ApprovalId;
use charter_store::Store;
use charter_store::approval::{
    ApprovalChange, ApprovalFilter, ApprovalRecord, ApprovalState, ApprovalTransition,
};
use charter_store::journal::{Append, NextPhase, RunFilter, RunWait};
use charter_store::page::PageRequest;
use charter_testkit::store_suite::sample;
use proptest::option::of;
use proptest::sample::select;
use proptest::strategy::Strategy;
use proptest_derive::Arbitrary;

use super::{Done, Few, Several, Tenant, hold, messages, missions, page, told};
use crate::postgres::records;

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Call {
    #[proptest(weight = 6)]
    Mission(missions::Call),
    Ask(Tenant, Few, Several),
    Move {
        tenant: Tenant,
        run: Few,
        approval: Several,
        #[proptest(strategy = "state()")]
        from: ApprovalState,
        #[proptest(strategy = "state()")]
        to: ApprovalState,
    },
    Decide {
        tenant: Tenant,
        approval: Several,
        #[proptest(strategy = "state()")]
        to: ApprovalState,
    },
    Approvals {
        tenant: Tenant,
        #[proptest(strategy = "of(state())")]
        state: Option<ApprovalState>,
        run: Option<Few>,
        after: Option<Few>,
    },
}

fn state() -> impl Strategy<Value = ApprovalState> {
    select(&ApprovalState::WORDS).prop_map(|(state, _)| state)
}

/// Returns an approval's id, separate for each tenant: on SQLite an id is unique across tenants.
fn approval_id(tenant: Tenant, Several(n): Several) -> ApprovalId {
    records::approval_id(missions::number(tenant, Few(n)))
}

fn step(approval_id: ApprovalId, from: ApprovalState, to: ApprovalState) -> ApprovalTransition {
    ApprovalTransition {
        approval_id,
        from,
        to,
        expected_body: None,
        body: format!("{{\"state\":\"{}\"}}", to.as_str()),
    }
}

impl super::Call for Call {
    async fn answer(self, store: &dyn Store) -> Done<String> {
        Ok(match self {
            Self::Mission(call) => call.answer(store).await?,
            Self::Ask(tenant, run, approval) => {
                let record = ApprovalRecord {
                    approval_id: approval_id(tenant, approval),
                    run_id: sample::run(missions::number(tenant, run)),
                    ..records::pending(tenant.name(), approval.0, run.0)?
                };
                let wait = RunWait {
                    until: None,
                    approvals: vec![record.approval_id.clone()],
                };
                let append = Append {
                    then: NextPhase::Waits(wait),
                    approvals: vec![ApprovalChange::Ask(record)],
                    ..missions::append(store, tenant, run).await?
                };
                told(store.append(append).await)
            }
            Self::Move {
                tenant,
                run,
                approval,
                from,
                to,
            } => {
                let step = step(approval_id(tenant, approval), from, to);
                let append = Append {
                    approvals: vec![ApprovalChange::Move(step)],
                    ..missions::append(store, tenant, run).await?
                };
                told(store.append(append).await)
            }
            Self::Decide {
                tenant,
                approval,
                to,
            } => {
                let (id, messages) = (approval_id(tenant, approval), messages(tenant)?);
                let tenant = tenant.id()?;
                let step = step(id.clone(), ApprovalState::Pending, to);
                let decided = told(store.decide_approval(&tenant, step, vec![], messages).await);
                decided + &told(store.approval(&tenant, &id).await)
            }
            Self::Approvals {
                tenant,
                state,
                run,
                after,
            } => {
                let run = run.map(|run| sample::run(missions::number(tenant, run)));
                let filter = ApprovalFilter {
                    state,
                    run_id: run.as_ref(),
                    user_id: None,
                };
                let tenant = tenant.id()?;
                let runs = told(
                    store
                        .runs(&tenant, &RunFilter::default(), &PageRequest::new(None, 9))
                        .await,
                );
                runs + &told(store.approvals(&tenant, filter, &page(after)?).await)
            }
        })
    }
}

#[test]
fn missions_and_approvals_have_the_same_history_on_both_engines() {
    hold::<Call>(16);
}
