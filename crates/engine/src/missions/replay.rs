//! Replays a mission: folds its journal again, event by event, and recomputes its graph growth and artifacts from the
//! recorded results. Calls no model and no tool (B002-14).

use std::collections::BTreeMap;

use charter_contract::catalogue::stage::Stage;
use charter_contract::ids::{MissionId, RunId, StepId};
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::task_graph::MissionTaskGraph;
use charter_contract::mission::upcast::{read_stored, upcast};
use charter_contract::mission::{Artifact, ArtifactKind, MissionRoot, Stored};
use charter_contract::validate;
use charter_domain::graph::GraphAdditions;
use charter_domain::mission::admit::{Admission, Inventory};
use charter_domain::mission::{StageOutput, after_plan, after_turn};
use charter_domain::run::{Run, RunEvent};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::MissionViewService;
use crate::execution::runs::{HistoryEvent, ReplayDivergence};
use crate::{Caller, EngineError};

/// The result of replaying a mission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MissionReplay {
    /// The mission.
    pub mission_id: MissionId,
    /// Its run.
    pub run_id: RunId,
    /// Whether everything recomputed is as stored.
    pub identical: bool,
    /// Events that were replayed.
    pub events: u64,
    /// Artifacts that were recomputed.
    pub artifacts: u64,
    /// The first divergence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divergence: Option<String>,
}

impl MissionViewService {
    /// Replays a mission from storage.
    ///
    /// # Errors
    /// `not_found`; errors of storage.
    pub async fn replay(
        &self,
        caller: &Caller,
        mission: &MissionId,
    ) -> Result<MissionReplay, EngineError> {
        let record = self.record(caller, mission).await?;
        let replayed = self.run_views.replay(caller, &record.run_id).await?;
        let mut found = MissionReplay {
            mission_id: mission.clone(),
            run_id: record.run_id.clone(),
            identical: false,
            events: replayed.events,
            artifacts: 0,
            divergence: replayed
                .divergence
                .map(|ReplayDivergence { at, detail }| format!("event {at}: {detail}")),
        };
        if found.divergence.is_some() {
            return Ok(found);
        }
        let history = self
            .journals
            .history(&record.tenant_id, &record.run_id)
            .await?;
        let made = match RecomputedArtifacts::of(&history) {
            Ok(made) => made,
            Err(divergence) => {
                found.divergence = Some(divergence);
                return Ok(found);
            }
        };
        found.artifacts = made.len();
        let stored = self.stored_artifacts(&caller.tenant, mission).await?;
        let stored = stored.iter().map(|stored| stored.record.payload.as_str());
        found.divergence = made.other_than(stored);
        found.identical = found.divergence.is_none();
        Ok(found)
    }
}

/// The artifacts that follow from the recorded results of a mission, in the current form.
#[derive(Debug)]
pub(super) struct RecomputedArtifacts {
    root: MissionRoot,
    made: BTreeMap<(ArtifactKind, String), String>,
}

impl RecomputedArtifacts {
    /// Recomputes the artifacts, and checks the growth of the graph. The envelope is the one that the run began with.
    ///
    /// # Errors
    /// The first event that diverges.
    pub(super) fn of(history: &[HistoryEvent]) -> Result<Self, String> {
        let opening = opening(history)?;
        let root = opening.mission_root();
        let opening = Stored::stamp(Artifact::from(opening), &root)
            .map_err(|_| "event 1: the envelope contradicts itself".to_owned())?;
        let envelope = opening.canonical().map_err(|error| error.to_string())?;
        let mut inventory =
            Inventory::restore([envelope.as_str()]).map_err(|error| error.to_string())?;
        let mut remade = Self {
            root,
            made: BTreeMap::from([(key(opening.as_ref()), envelope)]),
        };
        let mut run: Option<Run> = None;
        for entry in history {
            let at = |what: &str| format!("event {}: {what}", entry.sequence);
            if let (
                Some(run),
                RunEvent::StepSucceeded {
                    step,
                    output,
                    brings,
                    ..
                },
            ) = (&run, &entry.event)
            {
                let taken = remade.take(&mut inventory, run, step, output, &brings.growth);
                taken.map_err(|what| at(&what))?;
            }
            let folded = match &mut run {
                None => {
                    Run::start(entry.event.clone(), entry.at).map(|started| run = Some(started))
                }
                Some(run) => run.apply(entry.event.clone(), entry.at),
            };
            folded.map_err(|error| at(&error.to_string()))?;
        }
        Ok(remade)
    }

    /// Adds a step's output.
    fn take(
        &mut self,
        inventory: &mut Inventory,
        run: &Run,
        step: &StepId,
        output: &Value,
        growth: &GraphAdditions,
    ) -> Result<(), String> {
        let Some(of) = run.graph().step(step) else {
            return Ok(());
        };
        if of.mandate.is_some() {
            inventory.know_call(step.as_str());
            return Ok(());
        }
        let is_stage = of
            .tool()
            .is_some_and(|tool| Stage::from_tool_id(tool).is_some());
        let Some(output) = StageOutput::read(output).filter(|_| is_stage) else {
            return Ok(());
        };
        if grown(run, step, &output)?.is_some_and(|grown| grown != *growth) {
            return Err("it adds steps other than those of its result".to_owned());
        }
        for value in &output.artifacts {
            let present = upcast(value.clone(), &self.root);
            let artifact = present.and_then(|present| Artifact::from_value(&present));
            let artifact =
                artifact.map_err(|_| "it contains an artifact that cannot be read".to_owned())?;
            let admitted = inventory.admit(artifact).map_err(|no| no.to_string())?;
            if let Admission::New(admitted) = admitted {
                let artifact = admitted.artifact();
                self.made
                    .insert(key(artifact), admitted.payload().to_owned());
                inventory.hold(artifact, admitted.payload());
            }
        }
        Ok(())
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> u64 {
        self.made.len() as u64
    }

    /// Returns the first stored text that is not one of these, or the first of these that is not stored.
    pub(super) fn other_than<'s>(self, stored: impl Iterator<Item = &'s str>) -> Option<String> {
        let mut made = self.made;
        for (place, payload) in (1..).zip(stored) {
            let Ok(artifact) = read_stored(payload, &self.root) else {
                return Some(format!("artifact {place} cannot be read"));
            };
            let (kind, id) = key(artifact.as_ref());
            let what = format!("artifact {place} ({kind} `{id}`)");
            let same = |made: &String| {
                made == payload || artifact.canonical().is_ok_and(|present| present == *made)
            };
            match made.remove(&(kind, id)) {
                Some(made) if same(&made) => {}
                Some(_) => return Some(format!("{what} differs from the mission's output")),
                None => return Some(format!("{what} was not created by any step of the mission")),
            }
        }
        let lost = made.into_keys().next();
        lost.map(|(kind, id)| format!("the {kind} `{id}` is not stored"))
    }
}

/// Returns the envelope that the run was started with.
fn opening(history: &[HistoryEvent]) -> Result<MissionEnvelope, String> {
    let started = history.first().and_then(|first| match &first.event {
        RunEvent::Started(started) => started.parameters.get("envelope"),
        _ => None,
    });
    let envelope = started.ok_or("event 1: it does not start a mission")?;
    validate::parse_stored(&envelope.to_string())
        .map_err(|_| "event 1: the mission's envelope cannot be read".to_owned())
}

fn key(artifact: &Artifact) -> (ArtifactKind, String) {
    (artifact.kind(), artifact.id().to_owned())
}

/// Returns the steps that a planner's or worker's result adds; `None` for stages whose steps need more than their
/// result.
fn grown(run: &Run, step: &StepId, output: &StageOutput) -> Result<Option<GraphAdditions>, String> {
    if let Some(plan) = output.first() {
        return after_plan(&plan)
            .map(Some)
            .map_err(|error| error.to_string());
    }
    if output.wanted.is_empty() {
        return Ok(None);
    }
    let mut plans = run.outputs().values().filter_map(StageOutput::read);
    let plan: Option<MissionTaskGraph> = plans.find_map(|output| output.first());
    let plan = plan.ok_or("there is no task graph")?;
    let number = step
        .as_str()
        .rsplit_once('.')
        .and_then(|(_, number)| number.parse().ok());
    let number: u32 = number.ok_or("its step is not a turn")?;
    let task = plan.tasks.iter().find(|task| {
        charter_domain::mission::turn_step(&task.task_id, number).is_ok_and(|turn| turn == *step)
    });
    let task = task.ok_or("its step belongs to no task")?;
    let grown = after_turn(task, number, &output.wanted);
    grown.map(Some).map_err(|error| error.to_string())
}
