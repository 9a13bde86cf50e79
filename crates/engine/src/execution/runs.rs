//! Runs: creating them, driving them to their end, recovering them after a crash.
//!
//! A worker drives a run under a lease. Every decision is appended to the journal before it takes effect. After a
//! crash, the next worker folds the journal and resumes from there.

mod approvals;
mod call;
mod control;
mod decisions;
mod divergence;
mod drive;
mod drivers;
mod effect;
mod evidence;
mod explain;
mod follow;
mod gate;
mod journal;
mod list;
mod manage;
mod once;
pub(crate) mod orders;
mod pinned;
mod progress;
mod resumable;
mod second_person;
mod show;
mod wait;
mod warnings;

use std::collections::BTreeSet;
use std::sync::Arc;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::skill::Skill;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RunId, SkillId, TenantId, UserId};
use charter_contract::parameter::Parameter;
use charter_domain::catalogue::{CatalogueEntry, Origin, ResolvedDocument, View};
use charter_domain::graph::{self, StepGraph};
use charter_domain::guardrail::RequestTags;
use charter_domain::run::{DocumentPin, Run, RunEvent, RunPrerequisites, RunStart};
use charter_domain::tier::skill_served;
use charter_store::journal::{GENESIS, RunPhase, RunRecord};
use charter_store::mission::ArtifactRecord;
use serde_json::{Map, Value};
use tokio::sync::SetOnce;

use self::journal::PendingEvent;
use crate::catalogue::documents::unseen;
use crate::execution::events;
use crate::{Caller, Engine, EngineError, Role};

pub use approvals::{ApprovalDecision, ApprovalEntry, ApprovalPage};
pub use decisions::{RunExplanation, StepExplanation};
pub use divergence::ReplayDivergence;
pub(crate) use drivers::{Decided, Driven, Drivers, held_elsewhere};
pub(crate) use effect::{
    AnalysisDone, AnalysisOrder, AnalysisWork, PinnedTool, StageFailure, StageResult, StageRunner,
    StageWork, Workspace, failure,
};
pub use evidence::RunEvidence;
pub(crate) use explain::check_depth;
pub use explain::{AssumedFacts, CallExplanation, CallOrigin, HypotheticalCall};
pub(crate) use follow::FollowedEvent;
pub use follow::{RunEventPage, RunEventView};
pub use journal::HistoryEvent;
pub use list::{RunPage, RunQuery, RunSummary};
pub use manage::{Confirmation, RollBack};
pub use once::{IdempotencyKey, RunStarted};
pub(crate) use once::{MAX_CLIENT_ID, derived};
pub(crate) use pinned::LoadedRun;
pub use progress::{Progress, ProgressEvent};
pub use show::{Replayed, RunAt, RunState, RunView, StepView};
pub(crate) use warnings::guardrail_warnings;

/// The input for creating a run.
#[derive(Debug, Clone)]
pub(crate) struct NewRun {
    pub(crate) run_id: RunId,
    pub(crate) tenant: TenantId,
    pub(crate) by: UserId,
    /// Users who requested the run besides `by`: the makers of the key in use, and the requesters of the run that this
    /// one rolls back.
    pub(crate) askers: BTreeSet<UserId>,
    /// The user who owns it: `by`, or the owner of the run that it rolls back.
    pub(crate) owner: UserId,
    pub(crate) role: Role,
    pub(crate) title: String,
    pub(crate) graph: StepGraph,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) pins: Vec<DocumentPin>,
    pub(crate) dry_run: bool,
    pub(crate) opening: RunPrerequisites,
    /// The tags of the run's request, as guardrails read them.
    pub(crate) tags: RequestTags,
    /// Mission artifacts stored with the run: the mission's envelope. Empty for other runs.
    pub(crate) artifacts: Vec<ArtifactRecord>,
}

/// A run that is not in storage yet.
#[derive(Debug)]
struct PendingRun {
    run: Run,
    record: RunRecord,
    started: PendingEvent,
    artifacts: Vec<ArtifactRecord>,
    /// Set once the run is in storage.
    stored: Arc<SetOnce<()>>,
}

impl Engine {
    /// Creates a run, or finds the run that an earlier attempt at the same request created. Then this process or a
    /// worker drives it in the background. Returns whether the run is new.
    pub(crate) async fn start_run(self: &Arc<Self>, new: NewRun) -> Result<bool, EngineError> {
        let new = self.unstored(new)?;
        let (tenant, run) = (new.record.tenant_id.clone(), new.record.run_id.clone());
        let place = self.drives_runs().then(|| self.drivers().acquire(&run));
        let (is_driven, stored) = match place {
            Some(Ok(place)) => (true, self.spawn_new_run(place, new).await),
            // Another task of this process is deciding on this run, or starts it too.
            None | Some(Err(_)) => (false, self.store_new(new).await),
        };
        let is_new = match stored {
            Ok(()) if is_driven => return Ok(true),
            Ok(()) => true,
            Err(error) if error.code == ErrorCode::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        self.spawn_driver(tenant, run);
        Ok(is_new)
    }

    /// Stores a new run, for any replica to claim.
    async fn store_new(&self, new: PendingRun) -> Result<(), EngineError> {
        let PendingRun {
            run,
            record,
            started,
            artifacts,
            stored: _,
        } = new;
        let told = events::about_run(&record.tenant_id, &run, None, &[], record.created_at);
        let events = journal::chain(GENESIS, 0, vec![started]);
        self.store()
            .create_run(&record, events, artifacts, told)
            .await?;
        self.notify_watchers();
        Ok(())
    }

    /// Builds a run that is not in storage yet, with its first event.
    fn unstored(&self, new: NewRun) -> Result<PendingRun, EngineError> {
        let at = self.now();
        let started = RunEvent::Started(Box::new(RunStart {
            run_id: new.run_id.clone(),
            owner: (new.owner != new.by).then_some(new.owner),
            by: new.by,
            askers: new.askers,
            role: new.role,
            graph: new.graph,
            parameters: new.parameters,
            pins: new.pins,
            dry_run: new.dry_run,
            opening: new.opening,
            tags: Some(new.tags),
        }));
        let unwritten = PendingEvent::new(&started, at)?;
        let run = Run::start(started, at)
            .map_err(|error| EngineError::internal("starting a run", error))?;
        let record = RunRecord {
            run_id: new.run_id,
            tenant_id: new.tenant,
            user_id: Some(run.owner().clone()),
            title: new.title,
            // A run that starts by waiting for a person is not runnable yet.
            phase: if run.opening().is_met() {
                RunPhase::Runnable
            } else {
                RunPhase::Waiting
            },
            status: run.status(),
            wake_at: None,
            version: 1,
            created_at: at,
            updated_at: at,
        };
        Ok(PendingRun {
            run,
            record,
            started: unwritten,
            artifacts: new.artifacts,
            stored: Arc::default(),
        })
    }
}

/// A skill's plan, with the versions that its run pins.
#[derive(Debug)]
pub(crate) struct PlannedSkill {
    pub(crate) found: ResolvedDocument<Skill>,
    /// The skill's own parameters, and those that its tools need in addition.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) graph: StepGraph,
    pub(crate) pins: Vec<DocumentPin>,
}

impl Engine {
    /// Returns the parameters of a skill, and those that its tools need in addition.
    ///
    /// # Errors
    /// `not_found`; `invalid_document` for a plan that cannot be compiled.
    pub fn skill_parameters(
        &self,
        caller: &Caller,
        skill: &SkillId,
    ) -> Result<Vec<Parameter>, EngineError> {
        self.planned_skill(caller, skill)
            .map(|planned| planned.parameters)
    }

    /// Compiles the plan of a skill that is visible to the caller and within the caller's tier.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for a skill above the tier; `invalid_document` for a plan that cannot be
    /// compiled.
    pub(crate) fn planned_skill(
        &self,
        caller: &Caller,
        skill: &SkillId,
    ) -> Result<PlannedSkill, EngineError> {
        let view = self.live().view(&caller.tenant);
        let found = view
            .skill(skill.as_ref())
            .ok_or_else(|| unseen(&view, DocumentKind::Skill, skill.as_ref()))?;
        let served = skill_served(&view, found.document());
        caller.must_reach(served, "skill", skill.as_ref())?;
        caller.must_be_usable(&view, "skill", skill.as_ref())?;
        let wired = graph::wired(found.document(), &view);
        let graph = graph::from_skill(&wired).map_err(|error| {
            let message = format!("the plan of `{skill}`: {error}");
            EngineError::new(ErrorCode::InvalidDocument, message)
        })?;
        let mut pins = vec![pin(DocumentKind::Skill, skill.as_ref(), &found.entry)];
        pins.extend(pins_of_graph(&view, &graph)?);
        let parameters = wired.parameters.clone();
        Ok(PlannedSkill {
            found,
            parameters,
            graph,
            pins,
        })
    }
}

/// Returns the pin of a document in force.
pub(crate) fn pin<T>(kind: DocumentKind, id: &str, entry: &CatalogueEntry<T>) -> DocumentPin {
    let origin: &Arc<Origin> = &entry.origin;
    DocumentPin {
        kind,
        id: id.to_owned(),
        tenant: origin.scope.tenant().cloned(),
        package: origin.package.to_string(),
        version: origin.version.clone(),
        content_hash: entry.content_hash.clone(),
    }
}

/// Returns pins for every tool that a graph calls, including the tools of its fallbacks.
///
/// # Errors
/// `not_found` for a tool that is no longer visible.
pub(crate) fn pins_of_graph(
    view: &View,
    graph: &StepGraph,
) -> Result<Vec<DocumentPin>, EngineError> {
    let mut pins: Vec<DocumentPin> = Vec::new();
    for tool in graph.all_steps().filter_map(|step| step.tool()) {
        let id = tool.as_ref();
        if pins.iter().any(|pin| pin.id == id) {
            continue;
        }
        let tool = view.tool(id).ok_or_else(|| {
            EngineError::new(ErrorCode::NotFound, format!("there is no tool `{id}`"))
        })?;
        pins.push(pin(DocumentKind::Tool, id, &tool.entry));
    }
    Ok(pins)
}

#[cfg(test)]
mod tests;
