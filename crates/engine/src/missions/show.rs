//! Views of missions: state, tasks, output and proposals.

use charter_contract::catalogue::stage::Stage;
use charter_contract::ids::{ApprovalId, Label, MissionId, RunId, TaskId, TenantId};
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::review_packet::ReviewPacket;
use charter_contract::mission::task_graph::{MissionTaskGraph, Role, Task};
use charter_contract::mission::writeback_proposal::WritebackProposal;
use charter_contract::mission::{MissionState, MissionTaskState};
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_contract::validate;
use charter_domain::graph::Step;
use charter_domain::mission::{
    ProposalState, StageOutput, change_step, ends_of, own_steps, pass_step, turn_step,
};
use charter_domain::run::{Run, RunOutcome, StepState, StopCause, TokenUsage};
use charter_store::mission::{MissionFilter, MissionRecord};
use charter_store::page::{MAX_PAGE, PageRequest};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::MissionViewService;
use super::begun::{MissionStart, begun_of};
use super::outputs::{CoverageGapView, coverage_gaps};
use super::write_back::playbook_run;
use crate::{Caller, EngineError};

/// A mission.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Mission")]
pub struct MissionView {
    /// Its id.
    pub mission_id: MissionId,
    /// The run that carries it out.
    pub run_id: RunId,
    /// Its type.
    pub mission_type: Label,
    /// The goal.
    pub goal: String,
    /// Its state (B002-12).
    pub state: MissionState,
    /// The run's status: `working`, `awaiting_approval` and so on.
    pub status: RunStatus,
    /// Why it did not complete, if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Tokens used so far.
    pub tokens: TokenUsage,
    /// The token budget, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<u64>,
    /// Whether the offline provider answers, without a model.
    pub offline: bool,
    /// Its tasks, in listed order.
    pub tasks: Vec<MissionTaskView>,
    /// The reviewed output, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Map<String, Value>>,
    /// Its proposed write-backs.
    pub proposals: Vec<ProposalView>,
    /// Its coverage gaps, with the requested outputs that it did not produce.
    pub coverage_gaps: Vec<CoverageGapView>,
    /// Number of artifacts.
    pub artifacts: u64,
    /// Number of events in its journal.
    pub events: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was imported, if it was; an imported mission is read-only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported_at: Option<Timestamp>,
}

/// A task of a mission.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "MissionTask")]
pub struct MissionTaskView {
    /// Its id.
    pub task_id: TaskId,
    /// The mission role that executes it.
    pub role_type: Role,
    /// Its objective.
    pub objective: String,
    /// Tasks that must succeed first.
    pub depends_on: Vec<TaskId>,
    /// `pending`, `running`, `succeeded`, `failed`, `blocked` or `cancelled`.
    pub state: MissionTaskState,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A proposal of a mission.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "MissionProposal")]
pub struct ProposalView {
    /// The proposal.
    pub proposal: WritebackProposal,
    /// Its state (B002-13).
    pub state: ProposalState,
    /// The playbook's run that carries it out, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The approval that it waits for: its own, or one of the playbook's run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    /// Why it was not carried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A mission in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MissionSummary {
    /// Its id.
    pub mission_id: MissionId,
    /// Its run.
    pub run_id: RunId,
    /// The title of its run.
    pub title: String,
    /// Its state.
    pub state: MissionState,
    /// Number of artifacts.
    pub artifacts: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// One page of missions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "MissionPage")]
pub struct MissionPage {
    /// Newest first.
    pub entries: Vec<MissionSummary>,
    /// Cursor to the next page.
    pub next: Option<String>,
}

impl MissionViewService {
    /// Lists the missions of the tenant that are visible to the caller, newest first.
    ///
    /// # Errors
    /// If storage fails, or for an invalid cursor.
    pub async fn list(
        &self,
        caller: &Caller,
        state: Option<MissionState>,
        page: &PageRequest,
    ) -> Result<MissionPage, EngineError> {
        let filter = MissionFilter {
            state,
            user_id: caller.only_own(),
        };
        let page = self.store.missions(&caller.tenant, filter, page).await?;
        let entries = page.entries.into_iter().map(|record| MissionSummary {
            mission_id: record.mission_id,
            run_id: record.run_id,
            title: record.title,
            state: record.state,
            artifacts: record.artifacts,
            created_at: record.created_at,
            updated_at: record.updated_at,
        });
        Ok(MissionPage {
            entries: entries.collect(),
            next: page.next,
        })
    }

    /// Returns a mission of the caller's tenant.
    ///
    /// # Errors
    /// `not_found`; `internal` for a journal or envelope that cannot be read.
    pub async fn show(
        &self,
        caller: &Caller,
        mission: &MissionId,
    ) -> Result<MissionView, EngineError> {
        let record = self.record(caller, mission).await?;
        self.show_with_start(record).await.map(|(shown, _)| shown)
    }

    /// Returns a mission, and its start.
    pub(crate) async fn show_with_start(
        &self,
        record: MissionRecord,
    ) -> Result<(MissionView, MissionStart), EngineError> {
        let folded = self
            .journals
            .fold(&record.tenant_id, &record.run_id)
            .await?;
        // The journal may have grown since the record was read.
        let updated_at = folded.last.max(Some(record.updated_at));
        let run = folded.run;
        let envelope: MissionEnvelope = validate::parse_stored(&record.envelope)
            .map_err(|found| EngineError::violations("stored mission_envelope", &found))?;
        let outputs = || run.outputs().values().filter_map(StageOutput::read);
        let plan: Option<MissionTaskGraph> = outputs().find_map(|output| output.first());
        let review: Option<ReviewPacket> = outputs().find_map(|output| output.first());
        let proposals = outputs().flat_map(|output| output.all::<WritebackProposal>());
        let proposals = proposals.filter_map(|proposal| proposed(&run, proposal));
        let proposals = self
            .with_runs(&record.tenant_id, &run, proposals.collect())
            .await?;
        let begun = begun_of(&run)?;
        let coverage_gaps = coverage_gaps(&run, &envelope);
        let shown = MissionView {
            mission_id: record.mission_id,
            run_id: record.run_id,
            mission_type: envelope.mission_type,
            goal: envelope.user_goal.to_string(),
            state: charter_domain::mission::state(&run),
            status: run.status(),
            reason: run.outcome().and_then(reason),
            tokens: run.tokens(),
            token_budget: envelope
                .token_budget
                .map(charter_contract::number::Positive::get),
            offline: begun.offline,
            tasks: plan.map_or_else(Vec::new, |plan| tasks(&run, &plan)),
            output: review.and_then(|review| review.approved_output),
            proposals,
            coverage_gaps,
            artifacts: record.artifacts,
            events: folded.version,
            created_at: record.created_at,
            updated_at: updated_at.unwrap_or(record.updated_at),
            imported_at: record.imported_at,
        };
        Ok((shown, begun))
    }

    /// Adds the playbooks' runs that carry proposals out, and the approvals that those wait for.
    async fn with_runs(
        &self,
        tenant: &TenantId,
        run: &Run,
        mut proposals: Vec<ProposalView>,
    ) -> Result<Vec<ProposalView>, EngineError> {
        for shown in &mut proposals {
            let Ok(step) = change_step(shown.proposal.proposal_id.as_str()) else {
                continue;
            };
            let tool = run.graph().step(&step).and_then(Step::tool);
            if tool != Some(&Stage::Playbook.tool_id()) {
                continue;
            }
            let id = playbook_run(&run.idempotency_key(&step));
            if self.store.run(tenant, &id).await?.is_none() {
                continue;
            }
            let playbook = self.journals.fold(tenant, &id).await?.run;
            let waits = playbook
                .steps()
                .states()
                .find_map(|(_, state)| match state {
                    StepState::AwaitingApproval { approval, .. } => Some(approval.clone()),
                    _ => None,
                });
            shown.approval_id = shown.approval_id.take().or(waits);
            shown.run_id = Some(id);
        }
        Ok(proposals)
    }

    /// Returns the stored record of a mission that is visible to the caller.
    pub(super) async fn record(
        &self,
        caller: &Caller,
        mission: &MissionId,
    ) -> Result<MissionRecord, EngineError> {
        let found = self.store.mission(&caller.tenant, mission).await?;
        if let Some(record) = found.filter(|record| sees(caller, record)) {
            return Ok(record);
        }
        let newest = PageRequest::new(None, MAX_PAGE);
        let filter = MissionFilter {
            state: None,
            user_id: caller.only_own(),
        };
        let newest = self.store.missions(&caller.tenant, filter, &newest);
        let newest = newest.await?;
        let ids = newest.entries.iter().map(|known| known.mission_id.as_str());
        Err(EngineError::not_found("mission", mission).or_nearest(mission.as_str(), ids))
    }
}

/// Returns whether a mission is visible to the caller: to its user, and to operators.
fn sees(caller: &Caller, record: &MissionRecord) -> bool {
    caller.only_own().is_none_or(|user| {
        let root = record.root();
        root.is_ok_and(|root| root.actor_id.as_str() == user.as_str())
    })
}

fn reason(outcome: &RunOutcome) -> Option<String> {
    match outcome {
        RunOutcome::Completed { .. } => None,
        RunOutcome::Failed { cause }
        | RunOutcome::RolledBack { cause }
        | RunOutcome::RollbackFailed { cause, .. } => Some(match cause {
            StopCause::Failure { failure, .. } => failure.message.clone(),
            StopCause::Aborted { by, reason } => format!("stopped by {by}: {reason}"),
            StopCause::TimedOut => "it timed out".to_owned(),
            StopCause::TokenBudgetExhausted => "it used up its token budget".to_owned(),
        }),
    }
}

fn tasks(run: &Run, plan: &MissionTaskGraph) -> Vec<MissionTaskView> {
    let ends = ends_of(plan).unwrap_or_default();
    let shown = plan.tasks.iter().map(|task| {
        let (state, reason) = match ends.get(&task.task_id) {
            Some(end) => by_turns(run, task, run.steps().state_of(end)),
            None => own(run, plan, task.role_type),
        };
        MissionTaskView {
            task_id: task.task_id.clone(),
            role_type: task.role_type,
            objective: task.objective.to_string(),
            depends_on: task.depends_on.clone(),
            state,
            reason,
        }
    });
    shown.collect()
}

/// Returns the state of a worker's or researcher's task.
fn by_turns(run: &Run, task: &Task, end: Option<&StepState>) -> (MissionTaskState, Option<String>) {
    match end {
        Some(StepState::Succeeded) => return (MissionTaskState::Succeeded, None),
        Some(StepState::Cancelled) => return (MissionTaskState::Cancelled, None),
        _ => {}
    }
    let turns =
        (1..=charter_domain::mission::MAX_TURNS).map(|number| turn_step(&task.task_id, number));
    let steps = std::iter::once(pass_step(&task.task_id)).chain(turns);
    let states: Vec<&StepState> = steps
        .filter_map(|step| run.steps().state_of(&step.ok()?))
        .collect();
    let failed = states.iter().find_map(|state| match state {
        StepState::Failed { failure } => Some(failure.message.clone()),
        _ => None,
    });
    if let Some(reason) = failed {
        return (MissionTaskState::Failed, Some(reason));
    }
    match end {
        Some(StepState::Skipped { .. }) => (MissionTaskState::Blocked, None),
        _ if states.iter().any(|state| begun(state)) => (MissionTaskState::Running, None),
        _ => (MissionTaskState::Pending, None),
    }
}

/// Returns the state of a task that the mission adds itself.
fn own(run: &Run, plan: &MissionTaskGraph, role: Role) -> (MissionTaskState, Option<String>) {
    let steps = own_steps(plan, role).unwrap_or_default();
    let states: Vec<&StepState> = steps
        .iter()
        .filter_map(|step| run.steps().state_of(step))
        .collect();
    let any = |is: fn(&StepState) -> bool| states.iter().any(|state| is(state));
    let failed = states.iter().find_map(|state| match state {
        StepState::Failed { failure } => Some(failure.message.clone()),
        _ => None,
    });
    let done = |state: &&StepState| matches!(state, StepState::Succeeded);
    match failed {
        Some(reason) => (MissionTaskState::Failed, Some(reason)),
        None if !states.is_empty() && states.iter().all(done) => {
            (MissionTaskState::Succeeded, None)
        }
        None if any(|state| matches!(state, StepState::Skipped { .. })) => {
            (MissionTaskState::Blocked, None)
        }
        None if run.outcome().is_some() => (MissionTaskState::Cancelled, None),
        None if any(begun) => (MissionTaskState::Running, None),
        None => (MissionTaskState::Pending, None),
    }
}

/// Returns whether a step has begun.
fn begun(state: &StepState) -> bool {
    matches!(
        state,
        StepState::Running { .. }
            | StepState::Retrying { .. }
            | StepState::AwaitingApproval { .. }
            | StepState::Succeeded
    )
}

fn proposed(run: &Run, proposal: WritebackProposal) -> Option<ProposalView> {
    let state = ProposalState::in_run(run, &proposal.proposal_id)?;
    let step = change_step(proposal.proposal_id.as_str()).ok()?;
    let (approval_id, reason) = match run.steps().state_of(&step) {
        Some(StepState::AwaitingApproval { approval, .. }) => (Some(approval.clone()), None),
        Some(StepState::Failed { failure }) => (None, Some(failure.message.clone())),
        Some(StepState::Skipped { .. }) => (None, Some("its target could not be read".to_owned())),
        _ => (None, None),
    };
    Some(ProposalView {
        proposal,
        state,
        run_id: None,
        approval_id,
        reason,
    })
}
