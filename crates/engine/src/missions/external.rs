//! A role of a mission that an outside agent carries out (`by: external`): its stage offers the role's input as an
//! assignment, waits for a result, and accepts it by the rules for a model's draft. A refused result may be corrected
//! until the lease ends. The step grows the graph as always, so a replay needs no agent.

mod accept;
mod brief;
mod review;

use std::collections::BTreeSet;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{AssignmentId, TaskId, UserId};
use charter_contract::mission::AssignmentState;
use charter_contract::mission::task_graph::Role;
use charter_domain::run::{ErrorKind, StepFailure};
use charter_store::assignment::{AssignmentOffer, AssignmentRecord};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::MissionStageService;
use super::assignments::{AssignmentBrief, Submitted, read, written};
use super::failures::stopped;
use super::stage::{StageExecution, StageInput};
use crate::EngineError;
use crate::execution::runs::{StageFailure, StageResult, failure};
use crate::ground::moments;

/// Why the result of an agent is not accepted.
enum NotAccepted {
    /// The agent may correct it.
    Refused(Vec<String>),
    /// The stage fails.
    Failed(StageFailure),
}

impl From<Vec<String>> for NotAccepted {
    fn from(reasons: Vec<String>) -> Self {
        Self::Refused(reasons)
    }
}

impl From<StageFailure> for NotAccepted {
    fn from(failed: StageFailure) -> Self {
        Self::Failed(failed)
    }
}

impl From<StepFailure> for NotAccepted {
    fn from(failed: StepFailure) -> Self {
        Self::Failed(failed.into())
    }
}

impl From<EngineError> for NotAccepted {
    fn from(error: EngineError) -> Self {
        Self::Failed(error.into())
    }
}

impl MissionStageService {
    /// Runs a stage by an outside agent.
    pub(super) async fn run_by_agent(
        &self,
        work: &StageExecution,
        role: Role,
        cancel: &CancellationToken,
    ) -> Result<StageResult, StageFailure> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(stopped()),
            done = self.by_agent(work, role) => done,
        }
    }

    async fn by_agent(
        &self,
        work: &StageExecution,
        role: Role,
    ) -> Result<StageResult, StageFailure> {
        let brief = self.brief(work).await?;
        let offer = self.offer_of(work, role, &brief)?;
        let offered = self.assignments.offer(&offer).await?;
        loop {
            let (record, submission) = match self.assignments.result_of(&offered).await? {
                Submitted::Result(record, submission) => (record, submission),
                Submitted::Ended(record) => return Err(no_result(&record).into()),
            };
            match self.accepted(work, submission).await {
                Ok(mut result) => {
                    self.assignments.accept(&record).await?;
                    result.contributors = contributors(&record)?;
                    return Ok(result);
                }
                Err(NotAccepted::Failed(failed)) => {
                    self.assignments.close(&record).await?;
                    return Err(failed);
                }
                Err(NotAccepted::Refused(reasons)) => {
                    if !self.assignments.refuse(&record, &reasons).await? {
                        return Err(refused_too_often(&record, &reasons).into());
                    }
                }
            }
        }
    }

    /// Builds the offer of a turn. The lease of a worker ends with its pass; that of another role lasts as long as a
    /// pass would.
    fn offer_of(
        &self,
        work: &StageExecution,
        role: Role,
        brief: &AssignmentBrief,
    ) -> Result<AssignmentOffer, StageFailure> {
        let desk = &work.desk;
        let (task, turn) = match &work.brief {
            StageInput::Prompt(task) | StageInput::Pass(task) => (Some(&task.task_id), 1),
            StageInput::Turn(turn) => (Some(&turn.task.task_id), u64::from(turn.number)),
            StageInput::Plan
            | StageInput::Aggregate { .. }
            | StageInput::Review { .. }
            | StageInput::Playbook(_)
            | StageInput::Webhook { .. } => (None, 1),
        };
        let now = self.clock.now();
        let expires_at = match &work.brief {
            StageInput::Turn(turn) if role == Role::Worker => self.live_pass(turn)?.expires_at,
            StageInput::Turn(_)
            | StageInput::Plan
            | StageInput::Prompt(_)
            | StageInput::Pass(_)
            | StageInput::Aggregate { .. }
            | StageInput::Review { .. }
            | StageInput::Playbook(_)
            | StageInput::Webhook { .. } => moments::after(now, self.pass_ttl),
        };
        Ok(AssignmentOffer {
            assignment_id: assignment_of(work, role, task),
            tenant_id: work.caller.tenant.clone(),
            mission_id: desk.envelope.mission_id.clone(),
            role,
            task_id: task.cloned(),
            turn,
            agents: written(&desk.kind.agents(role))?,
            brief: written(brief)?,
            offered_at: now,
            expires_at,
        })
    }
}

/// Derives the id of an assignment, so that an interrupted stage finds its assignment.
fn assignment_of(work: &StageExecution, role: Role, task: Option<&TaskId>) -> AssignmentId {
    let (tenant, mission) = (&work.caller.tenant, &work.desk.envelope.mission_id);
    let task = task.map_or("", TaskId::as_str);
    let name = format!("assignment/{tenant}/{mission}/{role}/{task}");
    AssignmentId::from_uuid(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()))
}

/// Returns the users that contributed a result: the agent's, and the makers of its credential.
fn contributors(record: &AssignmentRecord) -> Result<BTreeSet<UserId>, EngineError> {
    let Some(lease) = &record.lease else {
        return Ok(BTreeSet::new());
    };
    let mut users: BTreeSet<UserId> = read(&lease.makers)?;
    users.insert(lease.holder.clone());
    Ok(users)
}

/// The failure of a stage without a result.
fn no_result(record: &AssignmentRecord) -> StepFailure {
    let (id, role, end) = (
        &record.offer.assignment_id,
        record.offer.role,
        record.offer.expires_at,
    );
    if record.state == AssignmentState::Closed {
        let message =
            format!("the {role}'s assignment `{id}` was closed, because the mission was stopped");
        return failure(ErrorKind::SystemError, ErrorCode::Cancelled, message);
    }
    let message = match &record.lease {
        Some(lease) => format!(
            "the agent `{}` claimed the {role}'s assignment `{id}`, but submitted no valid result before {end}",
            lease.holder
        ),
        None => format!("no agent claimed the {role}'s assignment `{id}` before {end}"),
    };
    failure(ErrorKind::TimeoutError, ErrorCode::ToolTimeout, message)
}

/// The failure of a stage whose agent submitted no valid result.
fn refused_too_often(record: &AssignmentRecord, reasons: &[String]) -> StepFailure {
    let holder = record.lease.as_ref();
    let holder = holder.map_or("", |lease| lease.holder.as_str());
    let message = format!(
        "the agent `{holder}` submitted {} invalid results: {}",
        record.submissions,
        reasons.join("; ")
    );
    failure(
        ErrorKind::ExecutionError,
        ErrorCode::InvalidDocument,
        message,
    )
}
