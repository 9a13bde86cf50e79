//! The gate's decisions on a run so far, from its journal, and what its pending steps wait for. Does not ask the gate.

use charter_contract::ids::{RunId, StepId, ToolId};
use charter_contract::run_status::RunStatus;
use charter_domain::approval::Approval;
use charter_domain::graph::{Step, StepGraph};
use charter_domain::run::{Run, RunEvent, StepState, StepWait};
use schemars::JsonSchema;
use serde::Serialize;

use super::RunViewService;
use crate::execution::runs::journal::HistoryEvent;
use crate::{Caller, EngineError};

/// The gate's decisions on a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunExplanation {
    /// The run.
    pub run_id: RunId,
    /// The run's status.
    pub status: RunStatus,
    /// Its steps, or only the requested one.
    pub steps: Vec<StepExplanation>,
}

/// The gate's decisions on one step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StepExplanation {
    /// The step.
    pub step: StepId,
    /// The tool it calls.
    pub tool: Option<ToolId>,
    /// Whether it changes something.
    pub writes: bool,
    /// The step's state; absent if a fallback replaced the step.
    #[serde(flatten)]
    pub state: Option<StepState>,
    /// Journal events that begin, refuse or skip the step, or that request or decide an approval. Each has the gate's
    /// decision and the rules behind it. Oldest first.
    pub decisions: Vec<HistoryEvent>,
    /// The approvals that were requested.
    pub approvals: Vec<Approval>,
    /// Conditions that the step waits for; empty if it is next, has begun or has ended.
    pub waits_for: Vec<StepWait>,
}

impl RunViewService {
    /// Returns the gate's decisions on a run of the caller's tenant, or on one of its steps.
    ///
    /// # Errors
    /// `not_found`, also for another tenant's run and for a step that the run does not have.
    pub async fn explain(
        &self,
        caller: &Caller,
        run_id: &RunId,
        step: Option<&StepId>,
    ) -> Result<RunExplanation, EngineError> {
        self.record(caller, run_id).await?;
        let journals = &self.journals;
        let (folded, history) = journals.history_with_run(&caller.tenant, run_id).await?;
        let run = folded.run;
        let approvals = self.approvals.of_run(caller, run_id).await?;
        let mut steps: Vec<StepExplanation> = Vec::new();
        for declared in declared(&run, &history) {
            let is_wanted = step.is_none_or(|step| declared.id == *step);
            let is_known = steps.iter().any(|known| known.step == declared.id);
            if is_wanted && !is_known {
                steps.extend(explained(&run, declared, &history, &approvals));
            }
        }
        if let Some(step) = step.filter(|_| steps.is_empty()) {
            return Err(EngineError::not_found("step of the run", step));
        }
        Ok(RunExplanation {
            run_id: run_id.clone(),
            status: run.status(),
            steps,
        })
    }
}

/// Returns the steps of the current plan, then the steps that a fallback replaced.
fn declared<'r>(run: &'r Run, history: &'r [HistoryEvent]) -> impl Iterator<Item = &'r Step> {
    let started = history.iter().filter_map(|entry| {
        let RunEvent::Started(started) = &entry.event else {
            return None;
        };
        Some(&started.graph)
    });
    let earlier = started.flat_map(StepGraph::all_steps);
    run.graph().steps().iter().chain(earlier)
}

/// Returns a step with its decisions; `None` for a step that never became due.
fn explained(
    run: &Run,
    declared: &Step,
    history: &[HistoryEvent],
    approvals: &[Approval],
) -> Option<StepExplanation> {
    let step = &declared.id;
    let told = history
        .iter()
        .filter(|entry| decided_on(&entry.event) == Some(step));
    let decisions: Vec<HistoryEvent> = told.cloned().collect();
    let state = run.steps().state_of(step).cloned();
    let asked = approvals
        .iter()
        .filter(|approval| approval.call_of(step).is_some());
    (state.is_some() || !decisions.is_empty()).then(|| StepExplanation {
        step: step.clone(),
        tool: declared.tool().cloned(),
        writes: declared.writes(),
        state,
        decisions,
        approvals: asked.cloned().collect(),
        waits_for: StepWait::list(run, step),
    })
}

/// Returns the step on which an event records a decision of the gate or of a person.
fn decided_on(event: &RunEvent) -> Option<&StepId> {
    match event {
        RunEvent::StepBegun(begun) => Some(&begun.step),
        RunEvent::ApprovalRequested(asked) => Some(&asked.step),
        RunEvent::StepRefused { step, .. }
        | RunEvent::ApprovalGranted { step, .. }
        | RunEvent::ApprovalDenied { step, .. }
        | RunEvent::StepSkipped { step, .. } => Some(step),
        RunEvent::Started(_)
        | RunEvent::ParametersGiven { .. }
        | RunEvent::Confirmed { .. }
        | RunEvent::StepSucceeded { .. }
        | RunEvent::RetryScheduled { .. }
        | RunEvent::StepFailed { .. }
        | RunEvent::StepExpanded { .. }
        | RunEvent::Paused { .. }
        | RunEvent::Resumed { .. }
        | RunEvent::WaitingForRun { .. }
        | RunEvent::RunWaitEnded { .. }
        | RunEvent::Stopping { .. }
        | RunEvent::FallbackStarted { .. }
        | RunEvent::Completed { .. }
        | RunEvent::Failed { .. }
        | RunEvent::RolledBack { .. }
        | RunEvent::RollbackFailed { .. } => None,
    }
}
