//! One stage of a mission: its input, and its result. A stage is a step of the mission's run like any other: the gate
//! was asked, its beginning is journaled. Must not write anything: its artifacts become durable with the step's end.

use std::sync::Arc;
use std::time::Duration;

use charter_contract::catalogue::mission_type::RolePerformer;
use charter_contract::catalogue::stage::Stage;
use charter_contract::ids::TaskId;
use charter_contract::mission::Artifact;
use charter_contract::mission::aggregation_packet::AggregationPacket;
use charter_contract::mission::librarian_pass::LibrarianPass;
use charter_contract::mission::prompt_package::PromptPackage;
use charter_contract::mission::task_graph::{Role, Task};
use charter_contract::mission::writeback_proposal::WritebackProposal;
use charter_domain::mission::{MAX_TURNS, StageOutput, ends_of, pass_step, prompt_step, turn_step};
use charter_domain::run::{Run, StepFailure, StepState};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::MissionStageService;
use super::desk::{MissionContext, Plan};
use super::failures::{lost, unfit};
use crate::execution::runs::{StageFailure, StageResult};
use crate::{AccessScopes, Caller, CatalogueRole, CredentialId, SkillGrants};

/// Longest time of one stage, including all its model calls.
const STAGE_TIMEOUT: Duration = Duration::from_secs(300);

/// A stage that is about to start.
#[derive(Debug)]
pub(crate) struct StageExecution {
    pub(super) desk: Arc<MissionContext>,
    pub(super) caller: Caller,
    pub(super) brief: StageInput,
    /// Tokens that the mission has left; `None` without a budget.
    pub(super) tokens_left: Option<u64>,
    pub(super) timeout: Duration,
    /// Idempotency key, the same for every attempt.
    pub(super) key: String,
}

impl StageExecution {
    /// Returns whether a model carries out a role that Charter carries out by default.
    pub(super) fn asks_model(&self, role: Role) -> bool {
        let desk = &self.desk;
        desk.kind.performer(role) == RolePerformer::Model
            && RolePerformer::default_for(role) == RolePerformer::Charter
            && !desk.offline
            && self.tokens_left != Some(0)
    }

    /// Collects a stage's input at its start.
    pub(super) fn new(
        desk: &Arc<MissionContext>,
        run: &Run,
        stage: Stage,
        parameters: &Map<String, Value>,
        key: String,
    ) -> Result<Self, StepFailure> {
        let budget = run.graph().token_budget();
        let left = budget.saturating_sub(run.tokens().total());
        Ok(Self {
            brief: StageInput::of(desk, run, stage, parameters)?,
            desk: Arc::clone(desk),
            caller: Caller {
                tenant: desk.envelope.tenant_id.clone(),
                user: run.by().clone(),
                role: run.role(),
                tier: desk.tier,
                catalogue: CatalogueRole::default_for(run.role()),
                agent_skills: SkillGrants::default(),
                scopes: AccessScopes::All,
                profile: None,
                credential: CredentialId::Local,
                // The requesters of the mission count as requesters of every run that a stage starts.
                makers: run.requesters().all(),
            },
            tokens_left: (budget > 0).then_some(left),
            timeout: STAGE_TIMEOUT,
            key,
        })
    }
}

/// A stage's input from the run.
#[derive(Debug)]
pub(super) enum StageInput {
    Plan,
    Prompt(Task),
    Pass(Task),
    Turn(Box<WorkerTurn>),
    Aggregate {
        package: Box<PromptPackage>,
        results: Vec<FinishedTask>,
        /// Tasks without a result, each with the reason.
        missing: Vec<(TaskId, String)>,
    },
    Review {
        package: Box<PromptPackage>,
        packet: Box<AggregationPacket>,
        results: Vec<FinishedTask>,
    },
    Playbook(Map<String, Value>),
    Webhook {
        proposal: Box<WritebackProposal>,
        parameters: Map<String, Value>,
    },
}

/// A turn of a worker or researcher.
#[derive(Debug)]
pub(super) struct WorkerTurn {
    pub(super) task: Task,
    pub(super) number: u32,
    pub(super) package: PromptPackage,
    /// The pass of a worker.
    pub(super) pass: Option<LibrarianPass>,
    /// The calls made for it so far.
    pub(super) made: Vec<ToolCallResult>,
    /// The results of the tasks before it.
    pub(super) earlier: Vec<FinishedTask>,
}

impl WorkerTurn {
    /// Returns whether the turn may request tools: the last turn must answer.
    pub(super) fn may_call(&self) -> bool {
        self.number < MAX_TURNS && !self.package.tool_scope.is_empty()
    }
}

/// A call made for a task.
#[derive(Debug, Clone)]
pub(super) struct ToolCallResult {
    /// The step, as citations name it.
    pub(super) reference: String,
    pub(super) tool: charter_contract::ids::ToolId,
    pub(super) parameters: Map<String, Value>,
    /// The answer, or the reason for its failure.
    pub(super) came_to: Result<Value, String>,
}

/// A finished task.
#[derive(Debug, Clone)]
pub(super) struct FinishedTask {
    pub(super) task: TaskId,
    pub(super) output: StageOutput,
}

impl StageInput {
    /// Reads a stage's input from the run's state.
    pub(super) fn of(
        desk: &MissionContext,
        run: &Run,
        stage: Stage,
        parameters: &Map<String, Value>,
    ) -> Result<Self, StepFailure> {
        if stage == Stage::Plan {
            return Ok(Self::Plan);
        }
        let plan = plan_of(desk, run)?;
        Ok(match stage {
            Stage::Plan => Self::Plan,
            Stage::Prompt => Self::Prompt(task(&plan, parameters)?),
            Stage::Pass => Self::Pass(task(&plan, parameters)?),
            Stage::Research | Stage::Work => Self::Turn(Box::new(turn(
                run,
                &plan,
                task(&plan, parameters)?,
                parameters,
            )?)),
            Stage::Aggregate => Self::Aggregate {
                package: Box::new(package_of_role(run, &plan, Role::Aggregator)?),
                results: results(run, &plan)?,
                missing: missing(run, &plan)?,
            },
            Stage::Review => Self::Review {
                package: Box::new(package_of_role(run, &plan, Role::Reviewer)?),
                packet: Box::new(packet(run)?),
                results: results(run, &plan)?,
            },
            Stage::Playbook => Self::Playbook(parameters.clone()),
            Stage::Webhook => Self::Webhook {
                proposal: Box::new(proposal(run, parameters)?),
                parameters: parameters.clone(),
            },
        })
    }
}

/// Returns the task graph: the cached one, or the planner's output.
pub(super) fn plan_of(desk: &MissionContext, run: &Run) -> Result<Arc<Plan>, StepFailure> {
    if let Some(plan) = desk.plan() {
        return Ok(plan);
    }
    let outputs = run.outputs().values();
    let graph = outputs
        .filter_map(StageOutput::read)
        .find_map(|output| output.first());
    Ok(desk.keep_plan(graph.ok_or_else(|| lost("task graph"))?))
}

fn task(plan: &Plan, parameters: &Map<String, Value>) -> Result<Task, StepFailure> {
    let id = parameters.get("task").and_then(Value::as_str);
    let id = id.and_then(|id| TaskId::parse(id).ok());
    let task = id.as_ref().and_then(|id| plan.task(id));
    task.cloned().ok_or_else(|| lost("such task"))
}

fn named(
    step: Result<charter_contract::ids::StepId, charter_domain::graph::GraphError>,
) -> Result<charter_contract::ids::StepId, StepFailure> {
    step.map_err(|error| unfit(error.to_string()))
}

/// Returns the output of a stage's step, once it has one.
fn output_of(run: &Run, step: &charter_contract::ids::StepId) -> Option<StageOutput> {
    run.outputs().get(step).and_then(StageOutput::read)
}

fn turn(
    run: &Run,
    plan: &Plan,
    task: Task,
    parameters: &Map<String, Value>,
) -> Result<WorkerTurn, StepFailure> {
    let number = parameters.get("turn").and_then(Value::as_u64);
    let number = number.and_then(|number| u32::try_from(number).ok());
    let number = number.ok_or_else(|| lost("such turn"))?;
    let package = output_of(run, &named(prompt_step(&task.task_id))?);
    let package = package.and_then(|output| output.first());
    let pass = output_of(run, &named(pass_step(&task.task_id))?);
    let mut made = Vec::new();
    for before in 1..number {
        made.extend(calls_after(run, &task, before)?);
    }
    let mut earlier = Vec::with_capacity(task.depends_on.len());
    for id in &task.depends_on {
        if let Some(task) = plan.task(id) {
            earlier.extend(finished(run, task)?);
        }
    }
    Ok(WorkerTurn {
        number,
        package: package.ok_or_else(|| lost("prompt package for the task"))?,
        pass: pass.and_then(|output| output.first()),
        made,
        earlier,
        task,
    })
}

/// Returns the calls that a turn requested, with their results.
fn calls_after(run: &Run, task: &Task, turn: u32) -> Result<Vec<ToolCallResult>, StepFailure> {
    let step = named(turn_step(&task.task_id, turn))?;
    let Some(output) = output_of(run, &step) else {
        return Ok(Vec::new());
    };
    let mut made = Vec::with_capacity(output.wanted.len());
    for (at, wanted) in (1..).zip(output.wanted) {
        let id = named(charter_domain::mission::call_step(&task.task_id, turn, at))?;
        let came_to = match (run.outputs().get(&id), run.steps().state_of(&id)) {
            (Some(output), _) => Ok(output.clone()),
            (None, Some(StepState::Failed { failure })) => Err(failure.message.clone()),
            (None, _) => Err("it was not called".to_owned()),
        };
        made.push(ToolCallResult {
            reference: id.to_string(),
            tool: wanted.tool,
            parameters: wanted.parameters,
            came_to,
        });
    }
    Ok(made)
}

/// Returns the result of a finished task: the output of its last turn.
fn finished(run: &Run, task: &Task) -> Result<Option<FinishedTask>, StepFailure> {
    let mut last = None;
    for number in 1..=MAX_TURNS {
        let step = named(turn_step(&task.task_id, number))?;
        let Some(output) = output_of(run, &step) else {
            break;
        };
        last = Some(output);
    }
    let done = last.filter(|output| !output.artifacts.is_empty());
    Ok(done.map(|output| FinishedTask {
        task: task.task_id.clone(),
        output,
    }))
}

fn results(run: &Run, plan: &Plan) -> Result<Vec<FinishedTask>, StepFailure> {
    let mut results = Vec::new();
    for task in &plan.graph.tasks {
        results.extend(finished(run, task)?);
    }
    Ok(results)
}

/// Returns the tasks without results, in listed order.
fn missing(run: &Run, plan: &Plan) -> Result<Vec<(TaskId, String)>, StepFailure> {
    let ends = ends_of(&plan.graph).map_err(|error| unfit(error.to_string()))?;
    let mut missing = Vec::new();
    for task in &plan.graph.tasks {
        if !ends.contains_key(&task.task_id) || finished(run, task)?.is_some() {
            continue;
        }
        missing.push((task.task_id.clone(), why_not(run, task)?));
    }
    Ok(missing)
}

/// Returns why a task has no result: its own step failed, or an earlier task that it waits for.
fn why_not(run: &Run, task: &Task) -> Result<String, StepFailure> {
    let mut steps = vec![named(pass_step(&task.task_id))?];
    for number in 1..=MAX_TURNS {
        steps.push(named(turn_step(&task.task_id, number))?);
    }
    let failed = steps
        .iter()
        .find_map(|step| match run.steps().state_of(step) {
            Some(StepState::Failed { failure }) => Some(failure.message.clone()),
            _ => None,
        });
    Ok(failed.unwrap_or_else(|| "blocked: a task that it depends on has not succeeded".to_owned()))
}

fn package_of_role(run: &Run, plan: &Plan, role: Role) -> Result<PromptPackage, StepFailure> {
    let task = plan.graph.tasks.iter().find(|task| task.role_type == role);
    let step = named(prompt_step(
        &task.ok_or_else(|| lost("task of the role"))?.task_id,
    ))?;
    let package = output_of(run, &step).and_then(|output| output.first());
    package.ok_or_else(|| lost("prompt package of the role"))
}

fn packet(run: &Run) -> Result<AggregationPacket, StepFailure> {
    let outputs = run.outputs().values();
    let packet = outputs
        .filter_map(StageOutput::read)
        .find_map(|output| output.first());
    packet.ok_or_else(|| lost("aggregation packet"))
}

/// Returns the proposal to carry out.
fn proposal(run: &Run, parameters: &Map<String, Value>) -> Result<WritebackProposal, StepFailure> {
    let wanted = parameters.get("proposal").and_then(Value::as_str);
    let outputs = run.outputs().values().filter_map(StageOutput::read);
    let mut proposals = outputs.flat_map(|output| output.all::<WritebackProposal>());
    let found = proposals.find(|proposal| Some(proposal.proposal_id.as_str()) == wanted);
    found.ok_or_else(|| lost("such proposal"))
}

impl StageInput {
    /// Returns the role that makes the stage's artifacts; `None` for a stage that carries a proposal out.
    pub(super) fn role(&self) -> Option<Role> {
        match self {
            Self::Plan => Some(Role::Planner),
            Self::Prompt(_) => Some(Role::PromptMaster),
            Self::Pass(_) => Some(Role::Librarian),
            Self::Turn(turn) => Some(turn.task.role_type),
            Self::Aggregate { .. } => Some(Role::Aggregator),
            Self::Review { .. } => Some(Role::Reviewer),
            Self::Playbook(_) | Self::Webhook { .. } => None,
        }
    }
}

impl MissionStageService {
    /// Runs a stage: by an outside agent, if the mission type leaves its role to one.
    pub(super) async fn run_stage(
        &self,
        work: StageExecution,
        cancel: &CancellationToken,
    ) -> Result<StageResult, StageFailure> {
        let role = work.brief.role();
        let external =
            role.filter(|role| work.desk.kind.performer(*role) == RolePerformer::External);
        match external {
            Some(role) => self.run_by_agent(&work, role, cancel).await,
            None => self.run_here(&work, cancel).await,
        }
    }

    /// Runs a stage in this process, with a model where its role has one.
    async fn run_here(
        &self,
        work: &StageExecution,
        cancel: &CancellationToken,
    ) -> Result<StageResult, StageFailure> {
        match &work.brief {
            StageInput::Plan => self.plan_mission(work, cancel).await,
            StageInput::Prompt(task) if work.asks_model(Role::PromptMaster) => {
                self.package_by_model(work, task, cancel).await
            }
            StageInput::Prompt(task) => self.make_package(work, task),
            StageInput::Pass(task) if work.asks_model(Role::Librarian) => {
                self.pass_by_model(work, task, cancel).await
            }
            StageInput::Pass(task) => self.make_pass(work, task).await,
            StageInput::Turn(turn) if turn.task.role_type != Role::Researcher => {
                self.work(work, turn, cancel).await
            }
            StageInput::Turn(turn) if work.asks_model(Role::Researcher) => {
                self.research_by_model(work, turn, cancel).await
            }
            StageInput::Turn(turn) => self.research(work, turn).await,
            StageInput::Aggregate {
                package,
                results,
                missing,
            } => {
                self.aggregate(work, package, results, missing, cancel)
                    .await
            }
            StageInput::Review {
                package,
                packet,
                results,
            } => self.review(work, package, packet, results, cancel).await,
            StageInput::Playbook(parameters) => {
                self.write_backs
                    .run_playbook(work, parameters, cancel)
                    .await
            }
            StageInput::Webhook {
                proposal,
                parameters,
            } => {
                self.write_backs
                    .send_to_webhook(work, proposal, parameters, cancel)
                    .await
            }
        }
    }
}

/// Returns the result of a stage with one artifact.
pub(super) fn artifacts_of(artifact: Value) -> StageResult {
    StageResult {
        output: StageOutput {
            artifacts: vec![artifact],
            ..StageOutput::default()
        },
        ..StageResult::default()
    }
}

/// Converts an artifact to the form of a step's output.
pub(super) fn held(artifact: impl Into<Artifact>) -> Result<Value, StepFailure> {
    serde_json::to_value(artifact.into()).map_err(|error| unfit(error.to_string()))
}
