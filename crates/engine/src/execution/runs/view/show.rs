//! Shows a run: its state, its plan and its history; and its strict replay.

use std::collections::BTreeMap;

use charter_contract::hex;
use charter_contract::ids::{Label, RunId, StepId, ToolId};
use charter_contract::json::decode_stored;
use charter_contract::parameter::Parameter;
use charter_contract::run_status::RunStatus;
use charter_contract::text::Text;
use charter_contract::time::Timestamp;
use charter_domain::approval::{Approval, Digest};
use charter_domain::graph::{Entry, StepAction, StepItem};
use charter_domain::parameters::{ProposedValue, ValueSource};
use charter_domain::run::{
    FoldError, MissingAccount, Run, RunEvent, RunOutcome, StepState, StopCause, StrictReplay,
    TokenUsage,
};
use charter_store::journal::{GENESIS, RunRecord, verify_chain};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{RunSummary, RunViewService};
use crate::execution::runs::divergence::ReplayDivergence;
use crate::execution::runs::evidence::RunEvidence;
use crate::execution::runs::journal::HistoryEvent;
use crate::ground::questions::Effort;
use crate::identity::shares::Share;
use crate::{Caller, EngineError};

/// A run with its journal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub struct RunView {
    /// The run.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// The run's state.
    #[serde(flatten)]
    pub state: RunState,
    /// Approvals that it waits for.
    pub approvals: Vec<Approval>,
    /// Evidence of its actions, by capture time.
    pub evidence: Vec<RunEvidence>,
    /// Warnings about the run, e.g. that no user of the tenant could approve its calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Tools whose results left no evidence, because no page shows them (B000-19); known when the run has ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unproven: Vec<ToolId>,
    /// The playbook's advice for judging its plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approach_hints: Vec<Text>,
    /// Values that memories of the caller and the tenant hold for missing parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<ProposedValue>,
    /// Its events, oldest first.
    pub events: Vec<HistoryEvent>,
}

/// A run after a given event of its journal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunAt {
    /// The run.
    pub run_id: RunId,
    /// The event's position, from 1.
    pub sequence: u64,
    /// When it happened.
    pub at: Timestamp,
    /// The run's status then.
    pub status: RunStatus,
    /// The rest of its state.
    #[serde(flatten)]
    pub state: RunState,
}

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunState {
    /// Digest to which a confirmation of the plan is bound.
    pub plan_digest: Digest,
    /// Whether it is a dry run.
    pub dry_run: bool,
    /// Whether it waits for a confirmation of the plan.
    pub confirm: bool,
    /// The parameter whose value must be typed to confirm.
    pub typed: Option<Label>,
    /// Mandatory parameters without a value.
    pub missing: Vec<Label>,
    /// Values of its parameters.
    pub parameters: Map<String, Value>,
    /// The source of each value, by parameter; absent for a value from the caller.
    pub sources: BTreeMap<String, ValueSource>,
    /// Why the request's text gives no value for a missing parameter, by parameter.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unclear: BTreeMap<String, String>,
    /// The run that it waits for. Its status is then `paused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaited_run: Option<AwaitedRunView>,
    /// Its steps in listed order, reversals last.
    pub steps: Vec<StepView>,
    /// Steps whose writes may have happened, with unknown results.
    pub in_doubt: Vec<StepId>,
    /// How it ended.
    pub outcome: Option<RunOutcome>,
    /// Tokens that models used for it so far; absent if none were used.
    #[serde(skip_serializing_if = "TokenUsage::is_none")]
    pub tokens: TokenUsage,
}

/// Another run that a run waits for, because it requested approval of the same call first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AwaitedRun")]
pub struct AwaitedRunView {
    /// The other run.
    pub run_id: RunId,
    /// The reason, as a sentence.
    pub reason: String,
}

/// A step in the plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Step")]
pub struct StepView {
    /// Its id.
    pub step: StepId,
    /// The tool it calls.
    pub tool: Option<ToolId>,
    /// Whether it changes something.
    pub writes: bool,
    /// When it may start: its conditions on earlier steps.
    pub entry: Entry,
    /// The step that it reverses.
    pub reverses: Option<StepId>,
    /// The item that it is for, if it was added by a step that is repeated for each item of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<StepItem>,
    /// The step's state.
    #[serde(flatten)]
    pub state: StepState,
}

impl RunView {
    /// Returns the arguments of a step's call, or of each of its calls, as the plan has them.
    #[must_use]
    pub fn planned_arguments(&self, step: &StepId) -> Option<&Map<String, Value>> {
        let Some(RunEvent::Started(started)) = self.events.first().map(|first| &first.event) else {
            return None;
        };
        match started.graph.step(step)?.action.each() {
            StepAction::Call { arguments, .. } => Some(arguments.written()),
            StepAction::Choose { .. }
            | StepAction::Conclude { .. }
            | StepAction::ForEach { .. } => None,
        }
    }

    /// Returns the account that the run failed for want of, if the run changed nothing: the same may be ordered again
    /// once the account is connected.
    #[must_use]
    pub fn missing_account(&self) -> Option<&MissingAccount> {
        let cause = match self.state.outcome.as_ref()? {
            RunOutcome::Completed { .. } => return None,
            RunOutcome::Failed { cause }
            | RunOutcome::RolledBack { cause }
            | RunOutcome::RollbackFailed { cause, .. } => cause,
        };
        let failure = match cause {
            StopCause::Failure { failure, .. } => failure,
            StopCause::Aborted { .. } | StopCause::TimedOut | StopCause::TokenBudgetExhausted => {
                return None;
            }
        };
        let may_have_changed = |step: &StepView| match &step.state {
            StepState::Pending
            | StepState::AwaitingApproval { .. }
            | StepState::Skipped { .. }
            | StepState::Cancelled => false,
            StepState::Failed { failure } => step.writes && failure.account.is_none(),
            StepState::Running { .. } | StepState::Retrying { .. } | StepState::Succeeded => {
                step.writes
            }
        };
        let account = failure.account.as_deref();
        account.filter(|_| !self.state.steps.iter().any(may_have_changed))
    }
}

impl RunState {
    pub(crate) fn from_run(run: &Run) -> Self {
        let opening = run.opening();
        let steps = run.graph().steps().iter().zip(run.steps().states());
        Self {
            plan_digest: run.plan_digest(),
            dry_run: run.is_dry_run(),
            confirm: opening.confirm,
            typed: opening.typed.clone(),
            missing: opening.missing.clone(),
            parameters: run.parameters().clone(),
            sources: opening.sources.clone(),
            unclear: opening.unclear.clone(),
            awaited_run: run.awaited_run().map(|awaited| AwaitedRunView {
                run_id: awaited.run.clone(),
                reason: awaited.reason(),
            }),
            steps: steps
                .map(|(step, (id, state))| StepView {
                    step: id.clone(),
                    tool: step.tool().cloned(),
                    writes: step.writes(),
                    entry: step.entry.clone(),
                    reverses: step.reverses.clone(),
                    item: step.item.as_deref().cloned(),
                    state: state.clone(),
                })
                .collect(),
            in_doubt: run.steps().in_doubt().cloned().collect(),
            outcome: run.outcome().cloned(),
            tokens: run.tokens(),
        }
    }
}

/// The result of a strict replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RunReplay")]
pub struct Replayed {
    /// The run.
    pub run_id: RunId,
    /// Events of the journal.
    pub events: u64,
    /// Hash of the last event, to which all others are chained.
    pub head: String,
    /// The run's status after them, or before the first invalid event; absent if that is the first event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// Digest of the whole state: equal for equal journals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_digest: Option<Digest>,
    /// The first event that does not follow from those before it; absent if all do.
    pub divergence: Option<ReplayDivergence>,
}

impl RunViewService {
    /// Returns a run of the caller's tenant with its journal.
    ///
    /// # Errors
    /// `not_found`, also for another tenant's run.
    pub async fn show(&self, caller: &Caller, run: &RunId) -> Result<RunView, EngineError> {
        let (shown, _memory) = self.show_with_memory(caller, run).await?;
        Ok(shown)
    }

    /// Returns a run with the memory that a large one needs, for a caller that serialises it at once.
    ///
    /// # Errors
    /// As for [`RunViewService::show`].
    pub async fn show_with_memory(
        &self,
        caller: &Caller,
        run: &RunId,
    ) -> Result<(RunView, Option<Share>), EngineError> {
        let record = self.record(caller, run).await?;
        let (folded, history) = self.journals.history_with_run(&caller.tenant, run).await?;
        let (events, memory) = history.into_parts();
        let shown = RunView {
            summary: record.into(),
            state: RunState::from_run(&folded.run),
            approvals: self.approvals.open(&caller.tenant, run).await?,
            evidence: self.evidence.of_run(&caller.tenant, &folded.run).await?,
            notes: self.notes_on(&caller.tenant, &folded.run).await?,
            unproven: self.evidence.unproven(&folded.run).await?,
            approach_hints: self
                .pinned
                .playbook(&folded.run)
                .await
                .map_or_else(Vec::new, |playbook| playbook.approach_hints),
            proposals: self.proposed_for(caller, &folded.run).await?,
            events,
        };
        Ok((shown, memory))
    }

    /// Returns the values that memories hold for the parameters that a run waits for.
    async fn proposed_for(
        &self,
        caller: &Caller,
        run: &Run,
    ) -> Result<Vec<ProposedValue>, EngineError> {
        let missing = &run.opening().missing;
        if missing.is_empty() || run.outcome().is_some() {
            return Ok(Vec::new());
        }
        let declared = self.pinned.declared_parameters(run).await?;
        let open = declared
            .iter()
            .filter(|parameter| missing.contains(&parameter.name));
        let open: Vec<&Parameter> = open.collect();
        // A failure is logged; the run is shown without proposals.
        Ok(self
            .memories
            .propose_values(caller, &open, &mut Vec::new())
            .await)
    }

    /// Returns a run of the caller's tenant after a given event, by folding that many events.
    ///
    /// # Errors
    /// `not_found`, also for another tenant's run and for an event that has not happened.
    pub async fn show_at(
        &self,
        caller: &Caller,
        run: &RunId,
        sequence: u64,
    ) -> Result<RunAt, EngineError> {
        self.record(caller, run).await?;
        let folded = self
            .journals
            .fold_until(&caller.tenant, run, sequence)
            .await?;
        let (folded, at) = folded
            .and_then(|folded| folded.last.map(|at| (folded, at)))
            .ok_or_else(|| EngineError::not_found("event of the run", sequence))?;
        Ok(RunAt {
            run_id: run.clone(),
            sequence,
            at,
            status: folded.run.status(),
            state: RunState::from_run(&folded.run),
        })
    }

    /// Returns the record of a run that is visible to the caller, without its journal.
    ///
    /// # Errors
    /// `not_found`, also for a run that is not visible to the caller.
    pub(crate) async fn record(
        &self,
        caller: &Caller,
        run: &RunId,
    ) -> Result<RunRecord, EngineError> {
        let record = self.store.run(&caller.tenant, run).await?;
        let Some(record) = record else {
            return Err(self.no_run(caller, run).await?);
        };
        let sees = match &record.user_id {
            None if caller.only_own().is_some() => {
                let folded = self.journals.fold(&caller.tenant, run).await?;
                caller.sees(Some(folded.run.owner()))
            }
            owner => caller.sees(owner.as_ref()),
        };
        match sees {
            true => Ok(record),
            false => Err(self.no_run(caller, run).await?),
        }
    }

    /// Folds a run's journal again, without any effect. Checks the hash chain, that the state machine could have
    /// written every event in its state (B002-14), and that the run's evidence was made from this journal.
    ///
    /// # Errors
    /// `not_found`, also for another tenant's run.
    pub async fn replay(&self, caller: &Caller, run: &RunId) -> Result<Replayed, EngineError> {
        self.record(caller, run).await?;
        let (journal, _measured) = self.journals.stored(&caller.tenant, run).await?;
        let mut broken = verify_chain(GENESIS, 1, &journal)
            .err()
            .map(|at| ReplayDivergence {
                at,
                detail: "its hash does not chain to the previous event".to_owned(),
            });
        let mut replay: Option<StrictReplay> = None;
        let mut diverges = None;
        for stored in &journal {
            if broken
                .as_ref()
                .is_some_and(|broken| broken.at <= stored.sequence)
            {
                break;
            }
            let event: RunEvent = match decode_stored(&stored.payload) {
                Ok(event) => event,
                Err(error) => {
                    let detail = format!("it is not an event: {error}");
                    broken = Some(ReplayDivergence::new(stored.sequence, detail));
                    break;
                }
            };
            let Some(replay) = &mut replay else {
                match StrictReplay::begin(event, stored.at) {
                    Ok(begun) => replay = Some(begun),
                    Err(error) => {
                        let detail = error.to_string();
                        broken = Some(ReplayDivergence { at: 1, detail });
                        break;
                    }
                }
                continue;
            };
            let effort = Effort::long_if_any([replay.run().asks_expressions()]);
            let place = self.questions.slot_for(&caller.tenant, effort).await;
            if let Err(found) = place.ask(|| replay.take(event, stored.at)) {
                diverges = Some(found);
                break;
            }
        }
        if replay.is_none() && broken.is_none() {
            let detail = FoldError::Start.to_string();
            broken = Some(ReplayDivergence { at: 1, detail });
        }
        let folded = replay.as_ref().map(StrictReplay::run);
        let diverges = diverges.map(|found| ReplayDivergence::new(found.sequence, found.detail));
        let diverges = match diverges.or(broken) {
            None => {
                self.evidence
                    .contradiction(&caller.tenant, run, &journal)
                    .await?
            }
            found => found,
        };
        Ok(Replayed {
            run_id: run.clone(),
            events: journal.len() as u64,
            head: journal
                .last()
                .map_or_else(String::new, |event| hex::encode(&event.hash.0)),
            status: folded.map(Run::status),
            state_digest: folded.map(Run::state_digest),
            divergence: diverges,
        })
    }
}
