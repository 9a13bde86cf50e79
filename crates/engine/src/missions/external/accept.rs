//! Accepts the result of an outside agent: the rules for a model's draft of the role, and the mission's admission. The
//! agent's ids stay; Charter adds what it adds to every draft.

use std::collections::BTreeSet;

use charter_contract::ids::{Label, TaskId};
use charter_contract::mission::Artifact;
use charter_contract::mission::aggregation_packet::AggregationPacket;
use charter_contract::mission::librarian_pass::LibrarianPass;
use charter_contract::mission::prompt_package::{Constraints, PromptPackage};
use charter_contract::mission::task_graph::{MAX_PLANNED, MissionTaskGraph, Role, Task};
use charter_contract::mission::worker_result::WorkerResult;
use charter_effects::check_against;
use serde_json::Value;

use super::super::MissionStageService;
use super::super::aggregate::gaps_of;
use super::super::assignments::StoredSubmission;
use super::super::by_model::within_scope;
use super::super::draft::{PlanDraft, TaskDraft};
use super::super::stage::{StageExecution, StageInput, WorkerTurn, artifacts_of, held};
use super::super::work::admissible;
use super::NotAccepted;
use crate::execution::runs::StageResult;
use crate::ground::moments;

impl MissionStageService {
    /// Accepts a result, or returns why not.
    pub(super) async fn accepted(
        &self,
        work: &StageExecution,
        submission: StoredSubmission,
    ) -> Result<StageResult, NotAccepted> {
        let StoredSubmission { artifacts, calls } = submission;
        if let (StageInput::Turn(turn), false) = (&work.brief, calls.is_empty()) {
            let calls = self.bound_calls(work, turn, calls)?;
            return Ok(self.calls_of(work, turn, calls).await?);
        }
        let artifacts = artifacts.iter().map(read);
        let artifacts: Vec<Artifact> = artifacts.collect::<Result<_, Vec<String>>>()?;
        if let StageInput::Review { .. } = &work.brief {
            return self.accepted_review(work, artifacts).await;
        }
        let [artifact] = <[Artifact; 1]>::try_from(artifacts).map_err(|artifacts| {
            let found = artifacts.len();
            vec![format!(
                "the role makes one artifact, but there are {found}"
            )]
        })?;
        match (&work.brief, artifact) {
            (StageInput::Plan, Artifact::MissionTaskGraph(graph)) => {
                self.accepted_plan(work, graph).await
            }
            (StageInput::Prompt(task), Artifact::PromptPackage(package)) => {
                accepted_package(work, task, package)
            }
            (StageInput::Pass(task), Artifact::LibrarianPass(pass)) => {
                self.accepted_pass(work, task, pass)
            }
            (StageInput::Turn(turn), Artifact::WorkerResult(result))
                if turn.task.role_type == Role::Worker =>
            {
                accepted_result(work, turn, result).await
            }
            (StageInput::Turn(turn), Artifact::ResearchArtifact(research))
                if turn.task.role_type == Role::Researcher =>
            {
                admitted(work, research)
            }
            (StageInput::Aggregate { missing, .. }, Artifact::AggregationPacket(packet)) => {
                accepted_packet(work, missing, packet)
            }
            (_, artifact) => {
                let kind = artifact.kind();
                Err(vec![format!("the role does not make a `{kind}`")].into())
            }
        }
    }

    /// The tasks of workers and researchers are the plan; Charter adds the tasks that every mission has.
    async fn accepted_plan(
        &self,
        work: &StageExecution,
        graph: MissionTaskGraph,
    ) -> Result<StageResult, NotAccepted> {
        let planned = graph.tasks.iter().filter(|task| is_planned(task));
        let planned: BTreeSet<TaskId> = planned.map(|task| task.task_id.clone()).collect();
        if planned.is_empty() || planned.len() > MAX_PLANNED {
            let found = planned.len();
            let message = format!(
                "a plan has 1 to {MAX_PLANNED} tasks of workers and researchers, not {found}"
            );
            return Err(vec![message].into());
        }
        let tasks = graph.tasks.into_iter().filter(is_planned);
        let tasks = tasks.map(|task| TaskDraft {
            depends_on: task
                .depends_on
                .into_iter()
                .filter(|before| planned.contains(before))
                .collect(),
            task_id: task.task_id,
            role_type: task.role_type,
            objective: task.objective,
            required_capabilities: task.required_capabilities,
            allowed_tools: task.allowed_tools,
            required_data_scopes: task.required_data_scopes,
            success_criteria: task.success_criteria,
        });
        let draft = PlanDraft {
            tasks: tasks.collect(),
        };
        let offered = self.offered(work).await?;
        let mut planned = self.task_graph(&work.desk, &offered, draft)?;
        planned.producer = graph.producer;
        admissible(work, planned.clone().into())?;
        Ok(self.planned(work, &offered, planned).await?)
    }

    /// A pass grants no more than its task may have, and no longer than a pass of Charter's.
    fn accepted_pass(
        &self,
        work: &StageExecution,
        task: &Task,
        pass: LibrarianPass,
    ) -> Result<StageResult, NotAccepted> {
        within_scope(work, task, &pass)?;
        let latest = moments::after(self.clock.now(), self.pass_ttl);
        if pass.expires_at > latest {
            let message = format!(
                "the pass expires at {}; the latest time is {latest}",
                pass.expires_at
            );
            return Err(vec![message].into());
        }
        admitted(work, pass)
    }
}

/// Returns whether a task is one that a planner makes.
fn is_planned(task: &Task) -> bool {
    matches!(task.role_type, Role::Worker | Role::Researcher)
}

/// A package names the model's route of its role, and its constraints are at least those of the role's template.
fn accepted_package(
    work: &StageExecution,
    task: &Task,
    package: PromptPackage,
) -> Result<StageResult, NotAccepted> {
    let desk = &work.desk;
    let route = desk.route(task.role_type);
    let mut wrong = Vec::new();
    if package.model_route != *route {
        let given = &package.model_route;
        wrong.push(format!(
            "`model_route` is `{given}`; the role's route is `{route}`"
        ));
    }
    let Constraints {
        must_cite_sources,
        must_not_writeback_directly,
    } = &desk.prompt(task.role_type).constraints;
    if *must_cite_sources && !package.constraints.must_cite_sources {
        wrong.push("the template requires `must_cite_sources`".to_owned());
    }
    if *must_not_writeback_directly && !package.constraints.must_not_writeback_directly {
        wrong.push("the template requires `must_not_writeback_directly`".to_owned());
    }
    if !wrong.is_empty() {
        return Err(wrong.into());
    }
    admitted(work, package)
}

/// A result has the structure that its prompt template declares. Without references to calls, it refers to all calls
/// that succeeded.
async fn accepted_result(
    work: &StageExecution,
    turn: &WorkerTurn,
    mut result: WorkerResult,
) -> Result<StageResult, NotAccepted> {
    if result.tool_trace_refs.is_empty() {
        let made = turn.made.iter().filter(|made| made.came_to.is_ok());
        let refs = made.filter_map(|made| Label::parse(&made.reference).ok());
        result.tool_trace_refs = refs.collect();
    }
    let prompt = work.desk.prompt(turn.task.role_type);
    if let Some(schema) = &prompt.output_schema {
        let value = result.structured_output.clone();
        let value = value.map_or(Value::Null, Value::Object);
        let (_, violations) = check_against(schema, value).await;
        if !violations.is_empty() {
            let wrong = violations.iter();
            let wrong = wrong.map(|violation| format!("structured_output{violation}"));
            return Err(wrong.collect::<Vec<_>>().into());
        }
    }
    admitted(work, result)
}

/// A packet has the gaps that every aggregation has.
fn accepted_packet(
    work: &StageExecution,
    missing: &[(TaskId, String)],
    mut packet: AggregationPacket,
) -> Result<StageResult, NotAccepted> {
    for gap in gaps_of(work, missing)? {
        if !packet.coverage_gaps.contains(&gap) {
            packet.coverage_gaps.push(gap);
        }
    }
    admitted(work, packet)
}

/// Returns the result of a stage with one artifact, if the mission admits it.
fn admitted(
    work: &StageExecution,
    artifact: impl Into<Artifact>,
) -> Result<StageResult, NotAccepted> {
    let artifact = artifact.into();
    admissible(work, artifact.clone())?;
    Ok(artifacts_of(held(artifact)?))
}

/// Reads an artifact of a stored result.
fn read(artifact: &Value) -> Result<Artifact, Vec<String>> {
    Artifact::from_value(artifact).map_err(|violations| {
        let wrong = violations.iter().map(ToString::to_string);
        wrong.collect()
    })
}
