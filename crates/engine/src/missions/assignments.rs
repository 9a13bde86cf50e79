//! Assignments: tasks of missions whose role an outside agent carries out (`by: external`).
//!
//! The stage of the role offers its input ([`super::external`]) and waits. An agent claims the task under a lease that
//! ends with the pass, and submits calls or artifacts. The contract is checked here; the stage checks the result
//! against its mission, as it checks the draft of a model, and accepts or refuses it. All of it is in storage, so an
//! agent may use any replica, and a restart of the server changes nothing. Must not know what a role produces.

mod conflict;
mod stage;
mod submission;
mod view;

use std::sync::Arc;
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{AssignmentId, LeaseId, MissionId, UserId};
use charter_contract::json::{decode_stored, to_stored};
use charter_contract::mission::AssignmentState;
use charter_contract::page::PageRequest;
use charter_domain::clock::Clock;
use charter_store::SharedStore;
use charter_store::assignment::{AssignmentFilter, AssignmentLease, AssignmentRecord};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::EngineError;
use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};
use crate::ground::core_ports::CorePorts;
use crate::ground::ids::IdSource;
use crate::identity::caller::{Caller, Role};

pub(super) use stage::Submitted;
pub(super) use submission::StoredSubmission;
pub use submission::{AssignmentCall, AssignmentSubmission};
pub use view::{AssignmentBrief, AssignmentPage, AssignmentView};

/// Longest wait for the decision about a submitted result.
const VERDICT_WAIT: Duration = Duration::from_secs(20);

/// The assignments of outside agents.
pub struct AssignmentService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    news: Arc<Notify>,
    shutdown: CancellationToken,
}

impl std::fmt::Debug for AssignmentService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AssignmentService").finish_non_exhaustive()
    }
}

impl AssignmentService {
    pub(crate) fn new(ports: CorePorts, news: Arc<Notify>, shutdown: CancellationToken) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            ids: ports.ids,
            news,
            shutdown,
        }
    }

    /// Lists the assignments that the caller may claim or holds, newest first: those of a mission, or all that are
    /// open. A page may have fewer entries than requested, and a cursor to the next one.
    ///
    /// # Errors
    /// `invalid_request` for an invalid cursor; errors of storage.
    pub async fn list(
        &self,
        caller: &Caller,
        mission: Option<&MissionId>,
        page: &PageRequest,
    ) -> Result<AssignmentPage, EngineError> {
        let filter = AssignmentFilter {
            mission,
            open_at: mission.is_none().then(|| self.clock.now()),
        };
        let found = self.store.assignments(&caller.tenant, filter, page).await?;
        let mut entries = Vec::with_capacity(found.entries.len());
        for record in found.entries {
            if is_seen(caller, &record)? {
                entries.push(AssignmentView::of(&record, None)?);
            }
        }
        Ok(AssignmentPage {
            entries,
            next: found.next,
        })
    }

    /// Returns an assignment; its holder also gets the lease and the input.
    ///
    /// # Errors
    /// `not_found`, also for one that the caller may not claim.
    pub async fn get(
        &self,
        caller: &Caller,
        id: &AssignmentId,
    ) -> Result<AssignmentView, EngineError> {
        let record = self.seen(caller, id).await?;
        AssignmentView::of(&record, Some(&caller.user))
    }

    /// Claims an assignment. The lease ends with the pass; until then a second claim is refused.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for a caller that the mission type does not name; `illegal_transition` for an
    /// assignment that is claimed, ended or expired.
    pub async fn claim(
        &self,
        caller: &Caller,
        id: &AssignmentId,
    ) -> Result<AssignmentView, EngineError> {
        let record = self.seen(caller, id).await?;
        if !may_claim(caller, &record)? {
            let message =
                "the mission type does not name this credential's user among the role's agents";
            return Err(EngineError::new(ErrorCode::PermissionDenied, message));
        }
        let lease = AssignmentLease {
            lease_id: LeaseId::from_uuid(self.ids.uuid()),
            holder: caller.user.clone(),
            makers: written(&caller.makers)?,
        };
        let now = self.clock.now();
        let claimed = self
            .store
            .claim_assignment(&caller.tenant, id, &lease, now)
            .await?;
        let record = self.seen(caller, id).await?;
        if !claimed {
            return Err(conflict::not_free(&record, now));
        }
        self.news.notify_waiters();
        AssignmentView::of(&record, Some(&caller.user))
    }

    /// Returns a claimed assignment to the other agents.
    ///
    /// # Errors
    /// `not_found`; `illegal_transition` for a lease that is not held.
    pub async fn release(
        &self,
        caller: &Caller,
        id: &AssignmentId,
        lease: &LeaseId,
    ) -> Result<AssignmentView, EngineError> {
        let record = self.seen(caller, id).await?;
        let held = conflict::holds(caller, &record, lease);
        let released = held
            && self
                .store
                .release_assignment(&caller.tenant, id, lease)
                .await?;
        if !released {
            return Err(conflict::not_held(&record, lease, self.clock.now()));
        }
        self.news.notify_waiters();
        let record = self.record(caller, id).await?;
        AssignmentView::of(&record, None)
    }

    /// Submits the result of a turn: calls that the agent needs first, or the artifacts of its role. Waits for the
    /// mission's decision, at most `longest`; without one, the state is `submitted`.
    ///
    /// # Errors
    /// `not_found`; `invalid_request` for an artifact that breaks its contract, or of the wrong kind;
    /// `illegal_transition` for a lease that is not held, or that has ended; `invalid_document` if the mission refuses
    /// the result, after which the lease is still held.
    pub async fn submit(
        &self,
        caller: &Caller,
        id: &AssignmentId,
        submission: &AssignmentSubmission,
        longest: Duration,
    ) -> Result<AssignmentView, EngineError> {
        let record = self.seen(caller, id).await?;
        let (lease, now) = (&submission.lease_id, self.clock.now());
        if !conflict::holds(caller, &record, lease) || record.state != AssignmentState::Claimed {
            return Err(conflict::not_held(&record, lease, now));
        }
        let stored = submission.checked(&record, &caller.user, now)?;
        let text = written(&stored)?;
        let submitted = self
            .store
            .submit_assignment(&caller.tenant, id, lease, &text, now);
        if !submitted.await? {
            let record = self.record(caller, id).await?;
            return Err(conflict::not_held(&record, lease, now));
        }
        self.news.notify_waiters();
        let judged = self.verdict(caller, &record, longest).await?;
        if judged.offer.turn == record.offer.turn {
            match judged.state {
                AssignmentState::Claimed => return Err(refused(&judged)?),
                AssignmentState::Closed => return Err(conflict::not_held(&judged, lease, now)),
                AssignmentState::Offered
                | AssignmentState::Submitted
                | AssignmentState::Accepted => {}
            }
        }
        AssignmentView::of(&judged, Some(&caller.user))
    }

    /// Waits until the submitted result of a turn is judged.
    async fn verdict(
        &self,
        caller: &Caller,
        submitted: &AssignmentRecord,
        longest: Duration,
    ) -> Result<AssignmentRecord, EngineError> {
        let until = Instant::now() + longest.min(VERDICT_WAIT);
        loop {
            // Registered before looking, so that no notification in between is missed.
            let change = ChangeWait::register(&self.news);
            let record = self.record(caller, &submitted.offer.assignment_id).await?;
            let is_open = record.state == AssignmentState::Submitted
                && record.offer.turn == submitted.offer.turn;
            let left = until.saturating_duration_since(Instant::now());
            if !is_open || left.is_zero() {
                return Ok(record);
            }
            match change.wait(POLL_INTERVAL.min(left), &self.shutdown).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return Ok(record),
            }
        }
    }

    /// Returns an assignment of the caller's tenant.
    async fn record(
        &self,
        caller: &Caller,
        id: &AssignmentId,
    ) -> Result<AssignmentRecord, EngineError> {
        let found = self.store.assignment(&caller.tenant, id).await?;
        found.ok_or_else(|| EngineError::not_found("assignment", id))
    }

    /// Returns an assignment that the caller may see.
    async fn seen(
        &self,
        caller: &Caller,
        id: &AssignmentId,
    ) -> Result<AssignmentRecord, EngineError> {
        let record = self.record(caller, id).await?;
        match is_seen(caller, &record)? {
            true => Ok(record),
            false => Err(EngineError::not_found("assignment", id)),
        }
    }
}

/// Returns whether the caller may claim an assignment: one of the role's agents, or an operator if there are none.
fn may_claim(caller: &Caller, record: &AssignmentRecord) -> Result<bool, EngineError> {
    let agents: Vec<UserId> = read(&record.offer.agents)?;
    Ok(match agents.is_empty() {
        true => caller.role >= Role::Operator,
        false => agents.contains(&caller.user),
    })
}

/// Returns whether the caller sees an assignment: operators see those of the tenant.
fn is_seen(caller: &Caller, record: &AssignmentRecord) -> Result<bool, EngineError> {
    let holder = record.lease.as_ref().map(|lease| &lease.holder);
    Ok(caller.sees(holder) || may_claim(caller, record)?)
}

/// The error of a refused result.
fn refused(record: &AssignmentRecord) -> Result<EngineError, EngineError> {
    let reasons: Vec<String> = match &record.refusal {
        Some(refusal) => read(refusal)?,
        None => Vec::new(),
    };
    let message = format!(
        "the mission refuses the result: {}; correct it and submit it again under the same lease",
        reasons.join("; ")
    );
    let error = EngineError::new(ErrorCode::InvalidDocument, message);
    Ok(error.with_details(json!({"reasons": reasons, "submissions": record.submissions})))
}

/// Writes a part of an assignment.
pub(super) fn written(part: &impl Serialize) -> Result<String, EngineError> {
    to_stored(part).map_err(|fault| EngineError::internal("writing an assignment", fault))
}

/// Reads a stored part of an assignment.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, EngineError> {
    decode_stored(text).map_err(|fault| EngineError::internal("reading an assignment", fault))
}
