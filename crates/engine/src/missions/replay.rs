//! Replaying a mission: its journal is folded again, event by event, and what it added to the graph and
//! which artifacts it made is worked out anew from the recorded results. No model and no tool is called
//! (B002-14).

use std::collections::BTreeMap;

use charter_contract::ids::{MissionId, RunId};
use charter_contract::mission::Artifact;
use charter_domain::mission::admit::{Admission, Inventory};
use charter_domain::mission::{StageOutput, after_plan, after_turn};
use charter_domain::run::{Run, RunEvent};
use charter_store::mission::ArtifactFilter;
use serde::Serialize;

use crate::runs::{Diverges, HistoryEvent};
use crate::{Caller, Engine, EngineError};

/// Artifacts compared at once.
const PAGE: usize = 500;

/// What replaying a mission came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissionReplayed {
    /// The mission.
    pub mission_id: MissionId,
    /// Its run.
    pub run_id: RunId,
    /// Whether everything came out as it is stored.
    pub identical: bool,
    /// Events that were replayed.
    pub events: u64,
    /// Artifacts that came out.
    pub artifacts: u64,
    /// Where it came out otherwise, first of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divergence: Option<String>,
}

impl Engine {
    /// Replays a mission from what is stored.
    ///
    /// # Errors
    /// `not_found`; what storage says.
    pub async fn replay_mission(
        &self,
        caller: &Caller,
        mission: &MissionId,
    ) -> Result<MissionReplayed, EngineError> {
        let record = self.mission_record(caller, mission).await?;
        let replayed = self.replay_run(caller, &record.run_id).await?;
        let mut found = MissionReplayed {
            mission_id: mission.clone(),
            run_id: record.run_id.clone(),
            identical: false,
            events: replayed.events,
            artifacts: 0,
            divergence: replayed
                .diverges
                .map(|Diverges { at, detail }| format!("event {at}: {detail}")),
        };
        if found.divergence.is_some() {
            return Ok(found);
        }
        let history = self.history(&record.run_id).await?;
        let made = match made_again(&record.envelope, &history) {
            Ok(made) => made,
            Err(divergence) => {
                found.divergence = Some(divergence);
                return Ok(found);
            }
        };
        found.artifacts = made.len() as u64;
        found.divergence = self.other_than(caller, mission, made).await?;
        found.identical = found.divergence.is_none();
        Ok(found)
    }

    /// The first stored artifact that is not one of these, or the first of these that is not stored.
    async fn other_than(
        &self,
        caller: &Caller,
        mission: &MissionId,
        mut made: BTreeMap<(String, String), String>,
    ) -> Result<Option<String>, EngineError> {
        let mut after = 0;
        loop {
            let filter = ArtifactFilter::default();
            let page = self
                .store()
                .artifacts(&caller.tenant, mission, filter, after, PAGE)
                .await?;
            for stored in &page {
                let (kind, id) = (
                    stored.record.kind.to_string(),
                    stored.record.artifact_id.clone(),
                );
                let what = format!("artifact {} ({kind} `{id}`)", stored.place);
                match made.remove(&(kind, id)) {
                    Some(payload) if payload == stored.record.payload => {}
                    Some(_) => return Ok(Some(format!("{what} is not what the mission made"))),
                    None => return Ok(Some(format!("{what} was made by no step of the mission"))),
                }
                after = stored.place;
            }
            if page.len() < PAGE {
                let lost = made.into_keys().next();
                return Ok(lost.map(|(kind, id)| format!("the {kind} `{id}` is not stored")));
            }
        }
    }
}

/// The artifacts that the recorded results come to, by kind and id, with the growth of the graph
/// checked on the way.
///
/// # Errors
/// The first event that comes out otherwise.
fn made_again(
    envelope: &str,
    history: &[HistoryEvent],
) -> Result<BTreeMap<(String, String), String>, String> {
    let mut inventory = Inventory::restore([envelope]).map_err(|error| error.to_string())?;
    let mut made = BTreeMap::new();
    let opening = Artifact::parse(envelope.as_bytes());
    let opening = opening.map_err(|_| "the envelope cannot be read".to_owned())?;
    let key = (opening.kind().to_string(), opening.id().to_owned());
    made.insert(key, envelope.to_owned());
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
            let of = run.graph().step(step);
            if of.is_some_and(|of| of.mandate.is_some()) {
                inventory.know_call(step.as_str());
            } else if let Some(output) = of
                .filter(|of| {
                    of.tool().is_some_and(|tool| {
                        charter_contract::catalogue::stage::Stage::of(tool).is_some()
                    })
                })
                .and_then(|_| StageOutput::read(output))
            {
                let grown = grown(run, step, &output).map_err(|error| at(&error))?;
                if grown.is_some_and(|grown| grown != brings.growth) {
                    return Err(at("it adds other steps than its result lays out"));
                }
                for value in &output.artifacts {
                    let artifact = Artifact::from_value(value);
                    let artifact =
                        artifact.map_err(|_| at("it holds an artifact that cannot be read"))?;
                    let admitted = inventory
                        .admit(artifact)
                        .map_err(|refusal| at(&refusal.to_string()))?;
                    if let Admission::New(admitted) = admitted {
                        let artifact = admitted.artifact();
                        let key = (artifact.kind().to_string(), artifact.id().to_owned());
                        made.insert(key, admitted.payload().to_owned());
                        inventory.hold(artifact, admitted.payload());
                    }
                }
            }
        }
        let folded = match &mut run {
            None => Run::start(entry.event.clone(), entry.at).map(|started| run = Some(started)),
            Some(run) => run.apply(entry.event.clone(), entry.at),
        };
        folded.map_err(|error| at(&error.to_string()))?;
    }
    Ok(made)
}

/// The steps that a planner's or worker's result lays out; `None` for stages whose steps need more than
/// their result.
fn grown(
    run: &Run,
    step: &charter_contract::ids::StepId,
    output: &StageOutput,
) -> Result<Option<charter_domain::graph::Growth>, String> {
    if let Some(plan) = output.first() {
        return after_plan(&plan)
            .map(Some)
            .map_err(|error| error.to_string());
    }
    if output.wanted.is_empty() {
        return Ok(None);
    }
    let plans = run.outputs().values().filter_map(StageOutput::read);
    let plan: Option<charter_contract::mission::task_graph::MissionTaskGraph> =
        plans.into_iter().find_map(|output| output.first());
    let plan = plan.ok_or("there is no task graph")?;
    let number = step
        .as_str()
        .rsplit_once('.')
        .and_then(|(_, number)| number.parse().ok());
    let number: u32 = number.ok_or("its step is no turn")?;
    let task = plan.tasks.iter().find(|task| {
        charter_domain::mission::turn_step(&task.task_id, number).is_ok_and(|turn| turn == *step)
    });
    let task = task.ok_or("its step is no task's")?;
    let grown = after_turn(task, number, &output.wanted);
    grown.map(Some).map_err(|error| error.to_string())
}
