//! How a driver waits for another run that requested approval of the same call. Storage decides which run waits.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use charter_contract::bounds::SAME_CALL_POLL_MS;
use charter_contract::ids::ApprovalId;
use charter_contract::time::Timestamp;
use charter_domain::approval::Digest;
use charter_domain::run::Command;
use charter_store::approval::CallRegistration;

use super::RunDriver;
use super::writing::RunOwnership;
use crate::EngineError;
use crate::execution::runs::effect::Prepared;
use crate::ground::moments;

impl RunDriver<'_> {
    /// Registers calls before their approval is requested. If another run requested approval of one of them first, this
    /// run begins to wait for that run instead; returns whether it does.
    pub(super) async fn awaits_another_run(
        &mut self,
        list: &[Prepared],
        approval: &ApprovalId,
    ) -> Result<bool, EngineError> {
        // Calls are registered for runs in storage only.
        if matches!(self.hold, RunOwnership::Unstored(..)) {
            self.create_unannounced().await?;
        }
        let run = &self.folded.run;
        let digests = list.iter().map(|prepared| run.call_digest(prepared.call()));
        let calls: BTreeMap<String, Digest> =
            digests.map(|digest| (digest.to_string(), digest)).collect();
        let registration = CallRegistration {
            run_id: run.id().clone(),
            approval_id: approval.clone(),
            calls: calls.keys().cloned().collect(),
            may_wait: run.may_await_run(),
        };
        self.folded.asked = true;
        let tenant = &self.pinned.workspace.tenant;
        let pending = self.runs.store.register_calls(tenant, registration).await?;
        let Some(pending) = pending else {
            return Ok(false);
        };
        let same = pending.calls.iter().filter_map(|call| calls.get(call));
        let same: BTreeSet<Digest> = same.cloned().collect();
        tracing::info!(run.id = %self.folded.run.id(), awaited = %pending.run_id,
            "the run waits for another run, which requested approval of the same call");
        self.apply_command(Command::AwaitRun {
            run: pending.run_id,
            calls: same,
        })?;
        Ok(true)
    }

    /// Ends the wait for another run, if that run has ended or its approval was refused.
    pub(super) async fn end_run_wait(&mut self) -> Result<(), EngineError> {
        let Some(awaited) = self.folded.run.awaited_run() else {
            return Ok(());
        };
        let (store, tenant) = (&self.runs.store, &self.pinned.workspace.tenant);
        let other = awaited.run.clone();
        if store
            .is_call_pending(tenant, self.folded.run.id(), &other)
            .await?
        {
            return Ok(());
        }
        let record = store.run(tenant, &other).await?;
        let status = record.map(|record| record.status);
        self.apply_command(Command::EndRunWait { status })?;
        self.postponed.clear();
        // Approvals that were granted during the wait.
        self.apply_approval_decisions().await
    }

    /// Returns when a parked run checks again whether it still waits for another run. It is woken when that run ends;
    /// the check covers a crash in between, and an approval that is refused.
    pub(super) fn run_wait_poll(&self) -> Option<Timestamp> {
        self.folded.run.awaited_run()?;
        let poll = Duration::from_millis(SAME_CALL_POLL_MS as u64);
        Some(moments::after(self.runs.clock.now(), poll))
    }

    /// Releases the calls of the ended run, and resumes the runs that wait for it. A failure is logged: these runs
    /// check again by themselves.
    pub(super) async fn release_calls(&self) {
        let (tenant, run) = (&self.pinned.workspace.tenant, self.folded.run.id());
        match self.runs.store.release_calls(tenant, run).await {
            Ok(woken) => {
                for waiting in woken {
                    self.runs.resume(tenant.clone(), waiting);
                }
            }
            Err(error) => {
                tracing::warn!(run.id = %run, error = %error, "runs that wait for an ended run were not resumed");
            }
        }
    }
}
