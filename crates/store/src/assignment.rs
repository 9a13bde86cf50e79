//! Assignments: tasks of missions that are offered to outside agents. An agent claims one under a lease that ends with
//! the task's pass, and submits its result; the run of the mission accepts or refuses the result.
//!
//! An assignment belongs to its mission: the append that ends the mission closes its open assignments, and they are
//! deleted with it. A mission has one assignment for each task of a role; the turns of a task follow each other in it.

use async_trait::async_trait;
use charter_contract::ids::{AssignmentId, LeaseId, MissionId, TaskId, TenantId, UserId};
use charter_contract::mission::AssignmentState;
use charter_contract::mission::task_graph::Role;
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::page::{Page, PageRequest};

/// A task that a mission offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignmentOffer {
    /// Its id, which is the same for all turns of the task.
    pub assignment_id: AssignmentId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its mission.
    pub mission_id: MissionId,
    /// The role of the task.
    pub role: Role,
    /// The task; absent for the planner, which makes the tasks.
    pub task_id: Option<TaskId>,
    /// The turn of the task, from 1.
    pub turn: u64,
    /// The users whose credentials may claim it, as JSON.
    pub agents: String,
    /// The input of the turn, as JSON.
    pub brief: String,
    /// When it was offered.
    pub offered_at: Timestamp,
    /// When its lease ends.
    pub expires_at: Timestamp,
}

/// The lease of an agent on an assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignmentLease {
    /// Its id.
    pub lease_id: LeaseId,
    /// The user of the agent's credential.
    pub holder: UserId,
    /// The users who made the credential, as JSON.
    pub makers: String,
}

/// A stored assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignmentRecord {
    /// What was offered for the present turn.
    pub offer: AssignmentOffer,
    /// Its state.
    pub state: AssignmentState,
    /// The lease, once an agent has claimed it.
    pub lease: Option<AssignmentLease>,
    /// The latest result of the present turn, as JSON.
    pub submission: Option<String>,
    /// Why the latest result was refused, as JSON.
    pub refusal: Option<String>,
    /// Number of results that were submitted for the present turn.
    pub submissions: u64,
}

/// Filter of a listing. Absent fields match all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AssignmentFilter<'a> {
    /// Only assignments of this mission.
    pub mission: Option<&'a MissionId>,
    /// Only assignments that an agent may claim at this time.
    pub open_at: Option<Timestamp>,
}

/// The decision about a submitted result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssignmentVerdict {
    /// The mission takes the result.
    Accepted,
    /// The agent may submit another result; the reasons are JSON.
    Refused(String),
    /// No further result is accepted.
    Closed,
}

/// Assignments. Each write is one statement or one transaction; a write that the state does not allow changes nothing
/// and returns `false`.
#[async_trait]
pub trait Assignments {
    /// Stores an offer and returns the assignment. The offer of a later turn replaces that of the turn before, and its
    /// lease continues; a repeated offer changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when the tenant has no such mission.
    async fn offer_assignment(
        &self,
        offer: &AssignmentOffer,
    ) -> Result<AssignmentRecord, StoreError>;

    /// Returns the assignment, unless it is absent or another tenant's.
    async fn assignment(
        &self,
        tenant: &TenantId,
        assignment: &AssignmentId,
    ) -> Result<Option<AssignmentRecord>, StoreError>;

    /// Returns a tenant's matching assignments, newest first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    async fn assignments(
        &self,
        tenant: &TenantId,
        filter: AssignmentFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<AssignmentRecord>, StoreError>;

    /// Claims an assignment that is offered and has not expired at `now`. Of concurrent claims, one succeeds.
    async fn claim_assignment(
        &self,
        tenant: &TenantId,
        assignment: &AssignmentId,
        lease: &AssignmentLease,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Returns an assignment to the offered ones, under its lease.
    async fn release_assignment(
        &self,
        tenant: &TenantId,
        assignment: &AssignmentId,
        lease: &LeaseId,
    ) -> Result<bool, StoreError>;

    /// Stores the result of a claimed assignment, under its lease, which has not expired at `now`.
    async fn submit_assignment(
        &self,
        tenant: &TenantId,
        assignment: &AssignmentId,
        lease: &LeaseId,
        submission: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Stores the decision about the submitted result of a turn. Any open assignment can be closed.
    async fn judge_assignment(
        &self,
        tenant: &TenantId,
        assignment: &AssignmentId,
        turn: u64,
        verdict: &AssignmentVerdict,
    ) -> Result<bool, StoreError>;
}
