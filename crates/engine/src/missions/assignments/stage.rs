//! The side of the stage: it offers an assignment, waits for results, and judges them.

use std::time::Duration;

use charter_contract::bounds::ASSIGNMENT_SUBMISSIONS;
use charter_contract::ids::{MissionId, TenantId};
use charter_contract::mission::AssignmentState;
use charter_contract::page::PageRequest;
use charter_store::assignment::{
    AssignmentFilter, AssignmentOffer, AssignmentRecord, AssignmentVerdict,
};

use super::{AssignmentService, StoredSubmission, read, written};
use crate::EngineError;
use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};
use crate::ground::moments;

/// Assignments that are read at once to close them.
const CLOSED_AT_ONCE: usize = 100;

/// The end of a wait for a result.
#[derive(Debug)]
pub(in crate::missions) enum Submitted {
    /// An agent submitted a result.
    Result(Box<AssignmentRecord>, StoredSubmission),
    /// The lease ended without one, or the assignment was closed.
    Ended(Box<AssignmentRecord>),
}

impl AssignmentService {
    /// Offers an assignment, or the next turn of one. A repeated offer finds the existing one.
    pub(in crate::missions) async fn offer(
        &self,
        offer: &AssignmentOffer,
    ) -> Result<AssignmentRecord, EngineError> {
        let record = self.store.offer_assignment(offer).await?;
        self.news.notify_waiters();
        Ok(record)
    }

    /// Waits for the result of the present turn.
    pub(in crate::missions) async fn result_of(
        &self,
        offered: &AssignmentRecord,
    ) -> Result<Submitted, EngineError> {
        let id = &offered.offer.assignment_id;
        loop {
            // Registered before looking, so that no notification in between is missed.
            let change = ChangeWait::register(&self.news);
            let record = match self.stored(offered).await {
                Err(error) if error.code.retryable() => {
                    tracing::warn!(assignment.id = %id, error = %error, "reading an assignment failed; retrying");
                    self.rest(change, POLL_INTERVAL).await?;
                    continue;
                }
                read => read?,
            };
            let now = self.clock.now();
            match (record.state, &record.submission) {
                // One that was accepted before a crash is accepted again.
                (AssignmentState::Submitted | AssignmentState::Accepted, Some(submission)) => {
                    let submission = read(submission)?;
                    return Ok(Submitted::Result(Box::new(record), submission));
                }
                (AssignmentState::Offered | AssignmentState::Claimed, _)
                    if now < record.offer.expires_at => {}
                _ => return self.end(record).await,
            }
            let left = moments::span(now, record.offer.expires_at);
            self.rest(change, POLL_INTERVAL.min(left)).await?;
        }
    }

    async fn stored(&self, offered: &AssignmentRecord) -> Result<AssignmentRecord, EngineError> {
        let (tenant, id) = (&offered.offer.tenant_id, &offered.offer.assignment_id);
        let found = self.store.assignment(tenant, id).await?;
        found.ok_or_else(|| EngineError::not_found("assignment", id))
    }

    /// Waits for a change, or until the server stops.
    async fn rest(&self, change: ChangeWait<'_>, longest: Duration) -> Result<(), EngineError> {
        match change.wait(longest, &self.shutdown).await {
            WaitEnd::LookAgain => Ok(()),
            WaitEnd::Stopped => Err(EngineError::interrupted()),
        }
    }

    /// Closes an assignment whose lease ended. A result that came at the same moment is late.
    async fn end(&self, record: AssignmentRecord) -> Result<Submitted, EngineError> {
        self.judge(&record, &AssignmentVerdict::Closed).await?;
        Ok(Submitted::Ended(Box::new(record)))
    }

    /// Closes an assignment whose stage failed.
    pub(in crate::missions) async fn close(
        &self,
        record: &AssignmentRecord,
    ) -> Result<(), EngineError> {
        self.judge(record, &AssignmentVerdict::Closed).await
    }

    /// Closes the assignments of a mission that was stopped, so that no stage waits for an agent any longer.
    pub(in crate::missions) async fn close_all(
        &self,
        tenant: &TenantId,
        mission: &MissionId,
    ) -> Result<(), EngineError> {
        let filter = AssignmentFilter {
            mission: Some(mission),
            open_at: None,
        };
        let mut page = PageRequest::new(None, CLOSED_AT_ONCE);
        loop {
            let found = self.store.assignments(tenant, filter, &page).await?;
            for record in &found.entries {
                if matches!(
                    record.state,
                    AssignmentState::Offered | AssignmentState::Claimed
                ) {
                    self.close(record).await?;
                }
            }
            let Some(next) = found.next else {
                return Ok(());
            };
            page = PageRequest::new(Some(next), CLOSED_AT_ONCE);
        }
    }

    /// Accepts the submitted result.
    pub(in crate::missions) async fn accept(
        &self,
        record: &AssignmentRecord,
    ) -> Result<(), EngineError> {
        self.judge(record, &AssignmentVerdict::Accepted).await
    }

    /// Refuses the submitted result. Returns whether the agent may submit another one.
    pub(in crate::missions) async fn refuse(
        &self,
        record: &AssignmentRecord,
        reasons: &[String],
    ) -> Result<bool, EngineError> {
        let limit = u64::try_from(ASSIGNMENT_SUBMISSIONS).unwrap_or(u64::MAX);
        let may_repeat = record.state == AssignmentState::Submitted && record.submissions < limit;
        let verdict = match may_repeat {
            true => AssignmentVerdict::Refused(written(&reasons)?),
            false => AssignmentVerdict::Closed,
        };
        self.judge(record, &verdict).await?;
        Ok(may_repeat)
    }

    async fn judge(
        &self,
        record: &AssignmentRecord,
        verdict: &AssignmentVerdict,
    ) -> Result<(), EngineError> {
        let offer = &record.offer;
        self.store
            .judge_assignment(&offer.tenant_id, &offer.assignment_id, offer.turn, verdict)
            .await?;
        self.news.notify_waiters();
        Ok(())
    }
}
