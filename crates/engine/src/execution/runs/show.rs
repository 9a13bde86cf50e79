//! A run as people see it: where it stands, its plan and its history; and its strict replay.

use std::collections::BTreeMap;

use charter_contract::hex;
use charter_contract::ids::{Label, RunId, StepId, ToolId};
use charter_contract::json::decode_stored;
use charter_contract::parameter::Parameter;
use charter_contract::run_status::RunStatus;
use charter_contract::text::Text;
use charter_contract::time::Timestamp;
use charter_domain::approval::{Approval, Digest};
use charter_domain::graph::Entry;
use charter_domain::parameters::{ProposedValue, ValueSource};
use charter_domain::run::{
    FoldError, Run, RunEvent, RunOutcome, StepState, StrictReplay, TokensUsed,
};
use charter_store::journal::{GENESIS, RunRecord, verify_chain};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::divergence::ReplayDivergence;
use super::{HistoryEvent, RunEvidence, RunSummary};
use crate::ground::questions::Effort;
use crate::identity::shares::Share;
use crate::{Caller, Engine, EngineError};

/// A run with its journal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub struct RunView {
    /// The run.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// Where it stands.
    #[serde(flatten)]
    pub state: RunState,
    /// Approvals that it waits for.
    pub approvals: Vec<Approval>,
    /// Evidence of what it did, by capture time.
    pub evidence: Vec<RunEvidence>,
    /// Warnings about the run, e.g. that no user of the tenant could approve its calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Tools whose results left no evidence, because no page shows them (B000-19); known when the run has ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unproven: Vec<ToolId>,
    /// Advice of the playbook that it executes for who judges its plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approach_hints: Vec<Text>,
    /// Values that memories of the caller and the tenant state for missing parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<ProposedValue>,
    /// What happened, oldest first.
    pub events: Vec<HistoryEvent>,
}

/// A run as it stood after an event of its journal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunAt {
    /// The run.
    pub run_id: RunId,
    /// The event's position, from 1.
    pub sequence: u64,
    /// When it happened.
    pub at: Timestamp,
    /// Where the run stood then.
    pub status: RunStatus,
    /// The rest of its state.
    #[serde(flatten)]
    pub state: RunState,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunState {
    /// What an agreement to run it is bound to.
    pub plan_digest: Digest,
    /// Whether it changes nothing.
    pub dry_run: bool,
    /// Whether it waits for somebody to confirm the plan.
    pub confirm: bool,
    /// The parameter whose value has to be typed to confirm.
    pub typed: Option<Label>,
    /// Mandatory parameters without a value.
    pub missing: Vec<Label>,
    /// Values of its parameters.
    pub parameters: Map<String, Value>,
    /// Where each value comes from, by parameter; absent for a value that the caller gave.
    pub sources: BTreeMap<String, ValueSource>,
    /// Why words of the request give no value of a missing parameter, by parameter.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unclear: BTreeMap<String, String>,
    /// Its steps in listed order, reversals last.
    pub steps: Vec<StepView>,
    /// Steps whose writes may have happened, and nobody knows.
    pub in_doubt: Vec<StepId>,
    /// How it ended.
    pub outcome: Option<RunOutcome>,
    /// Tokens that models used for it so far; absent where none were used.
    #[serde(skip_serializing_if = "TokensUsed::is_none")]
    pub tokens: TokensUsed,
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
    /// When it may start: its claims on earlier steps.
    pub entry: Entry,
    /// The step that it reverses.
    pub reverses: Option<StepId>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: StepState,
}

impl RunState {
    pub(crate) fn from_run(run: &Run) -> Self {
        let opening = run.opening();
        let steps = run.graph().steps().iter().zip(run.steps());
        Self {
            plan_digest: run.plan_digest(),
            dry_run: run.is_dry_run(),
            confirm: opening.confirm,
            typed: opening.typed.clone(),
            missing: opening.missing.clone(),
            parameters: run.parameters().clone(),
            sources: opening.sources.clone(),
            unclear: opening.unclear.clone(),
            steps: steps
                .map(|(step, (id, state))| StepView {
                    step: id.clone(),
                    tool: step.tool().cloned(),
                    writes: step.writes(),
                    entry: step.entry.clone(),
                    reverses: step.reverses.clone(),
                    state: state.clone(),
                })
                .collect(),
            in_doubt: run.in_doubt().cloned().collect(),
            outcome: run.outcome().cloned(),
            tokens: run.tokens(),
        }
    }
}

/// What a strict replay found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RunReplayed")]
pub struct Replayed {
    /// The run.
    pub run_id: RunId,
    /// Events of the journal.
    pub events: u64,
    /// Hash of the last event, which all others are chained to.
    pub head: String,
    /// Where the run stands after them, or before the first that does not fit; absent when that is the
    /// first of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// Digest of the whole state: equal for equal journals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_digest: Option<Digest>,
    /// The first event that does not follow from those before it; absent when all do.
    pub diverges: Option<ReplayDivergence>,
}

impl Engine {
    /// A run of the caller's tenant with its journal.
    ///
    /// # Errors
    /// `not_found`, also for another tenant's run.
    pub async fn show_run(&self, caller: &Caller, run: &RunId) -> Result<RunView, EngineError> {
        let (shown, _memory) = self.show_run_with_memory(caller, run).await?;
        Ok(shown)
    }

    /// The same with the memory that a large one takes, for who writes it out at once.
    ///
    /// # Errors
    /// As for [`Engine::show_run`].
    pub async fn show_run_with_memory(
        &self,
        caller: &Caller,
        run: &RunId,
    ) -> Result<(RunView, Option<Share>), EngineError> {
        let record = self.record_of(caller, run).await?;
        let (folded, history) = self.history_with_run(&caller.tenant, run).await?;
        let (events, memory) = history.into_parts();
        let shown = RunView {
            summary: record.into(),
            state: RunState::from_run(&folded.run),
            approvals: self.open_approvals(&caller.tenant, run).await?,
            evidence: self.evidence_of_run(&caller.tenant, &folded.run).await?,
            notes: self.notes_on(&caller.tenant, &folded.run).await?,
            unproven: self.unproven(&folded.run).await?,
            approach_hints: self
                .pinned_playbook(&folded.run)
                .await
                .map_or_else(Vec::new, |playbook| playbook.approach_hints),
            proposals: self.proposed_for(caller, &folded.run).await?,
            events,
        };
        Ok((shown, memory))
    }

    /// The values that memories state for the parameters that a run waits for.
    async fn proposed_for(
        &self,
        caller: &Caller,
        run: &Run,
    ) -> Result<Vec<ProposedValue>, EngineError> {
        let missing = &run.opening().missing;
        if missing.is_empty() || run.outcome().is_some() {
            return Ok(Vec::new());
        }
        let declared = self.declared_by(run).await?;
        let open = declared
            .iter()
            .filter(|parameter| missing.contains(&parameter.name));
        let open: Vec<&Parameter> = open.collect();
        // A failure is logged; the run is shown without proposals.
        Ok(self.proposed(caller, &open, &mut Vec::new()).await)
    }

    /// A run of the caller's tenant as it stood after an event of its journal: the same fold, of so many
    /// events.
    ///
    /// # Errors
    /// `not_found`, also for another tenant's run and for an event that has not happened.
    pub async fn show_run_at(
        &self,
        caller: &Caller,
        run: &RunId,
        sequence: u64,
    ) -> Result<RunAt, EngineError> {
        self.record_of(caller, run).await?;
        let folded = self.fold_until(&caller.tenant, run, sequence).await?;
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

    /// The record of a run that the caller sees, without its journal.
    ///
    /// # Errors
    /// `not_found`, also for a run that the caller does not see.
    pub(crate) async fn record_of(
        &self,
        caller: &Caller,
        run: &RunId,
    ) -> Result<RunRecord, EngineError> {
        let record = self.store().run(&caller.tenant, run).await?;
        let Some(record) = record else {
            return Err(self.no_run(caller, run).await?);
        };
        let sees = match &record.user_id {
            None if caller.only_own().is_some() => {
                let folded = self.fold(&caller.tenant, run).await?;
                caller.sees(Some(folded.run.owner()))
            }
            owner => caller.sees(owner.as_ref()),
        };
        match sees {
            true => Ok(record),
            false => Err(self.no_run(caller, run).await?),
        }
    }

    /// Folds a run's journal again, without any effect: checks the hash chain, that every event is one
    /// that the run machine could have written where it stands (B002-14), and that the journal is the
    /// one that the run's evidence was made from.
    ///
    /// # Errors
    /// `not_found`, also for another tenant's run.
    pub async fn replay_run(&self, caller: &Caller, run: &RunId) -> Result<Replayed, EngineError> {
        self.record_of(caller, run).await?;
        let (journal, _measured) = self.journal(&caller.tenant, run).await?;
        let mut broken = verify_chain(GENESIS, 1, &journal)
            .err()
            .map(|at| ReplayDivergence {
                at,
                detail: "its hash does not follow from the event before it".to_owned(),
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
                    let detail = format!("it is no event: {error}");
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
            let place = self.evaluation_slot_for(&caller.tenant, effort).await;
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
            None => self.contradicted(&caller.tenant, run, &journal).await?,
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
            diverges,
        })
    }
}
