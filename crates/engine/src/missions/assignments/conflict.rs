//! The errors of claims, results and releases that an assignment's state does not allow.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::LeaseId;
use charter_contract::mission::AssignmentState;
use charter_contract::time::Timestamp;
use charter_store::assignment::AssignmentRecord;
use serde_json::json;

use crate::{Caller, EngineError};

/// Returns whether the caller holds this lease on an assignment.
pub(super) fn holds(caller: &Caller, record: &AssignmentRecord, lease: &LeaseId) -> bool {
    let held = record.lease.as_ref();
    held.is_some_and(|held| held.lease_id == *lease && held.holder == caller.user)
}

/// The error of a claim that came too late.
pub(super) fn not_free(record: &AssignmentRecord, now: Timestamp) -> EngineError {
    let (id, end) = (&record.offer.assignment_id, record.offer.expires_at);
    let message = match record.state {
        AssignmentState::Offered if now >= end => format!("`{id}` expired at {end}"),
        AssignmentState::Claimed | AssignmentState::Submitted => {
            format!("another agent has claimed `{id}`, until {end}; claim another assignment")
        }
        // Another agent was quicker, and has released it.
        AssignmentState::Offered => format!("`{id}` was claimed at the same time; claim it again"),
        AssignmentState::Accepted => format!("`{id}` already has its result"),
        AssignmentState::Closed => format!("`{id}` is closed: its pass or its mission has ended"),
    };
    conflict(record, message)
}

/// The error of a result or a release under a lease that is not held: expired, ended, another agent's, or unknown.
pub(super) fn not_held(record: &AssignmentRecord, lease: &LeaseId, now: Timestamp) -> EngineError {
    let (id, end) = (&record.offer.assignment_id, record.offer.expires_at);
    let held = record.lease.as_ref();
    let is_its = held.is_some_and(|held| held.lease_id == *lease);
    let message = match record.state {
        AssignmentState::Claimed if is_its && now >= end => {
            format!(
                "the lease `{lease}` on `{id}` ended with its pass at {end}; nothing was recorded"
            )
        }
        AssignmentState::Submitted if is_its => {
            format!("a result of `{id}` is being checked; get the assignment to see the decision")
        }
        AssignmentState::Accepted => format!("`{id}` already has its result; nothing was recorded"),
        AssignmentState::Closed => {
            format!("`{id}` is closed: its pass or its mission has ended; nothing was recorded")
        }
        AssignmentState::Offered | AssignmentState::Claimed | AssignmentState::Submitted => {
            format!("the lease `{lease}` on `{id}` is not held; nothing was recorded")
        }
    };
    conflict(record, message)
}

fn conflict(record: &AssignmentRecord, message: String) -> EngineError {
    let error = EngineError::new(ErrorCode::IllegalTransition, message);
    error.with_details(json!({"state": record.state, "expires_at": record.offer.expires_at}))
}
