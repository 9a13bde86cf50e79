//! Which steps a mission consists of. The run opens with the planner's; what each stage's result adds
//! is said here, as a function of that result alone.
//!
//! ```text
//! plan ─► prompt.T… ─► prompted ─► pass.T ─► work.T.1 ─► call.T.1.1… ─► work.T.2 ─► … done.T
//!                         └──────► work.T.1 of a researcher                            │
//!                                       aggregate ◄──────── every task, however it ended ◄┘
//!                                           └─► review ─► target.P ─► writeback.P
//! ```

use std::collections::BTreeMap;

use charter_contract::catalogue::stage::Stage;
use charter_contract::ids::{ProposalId, StepId, TaskId, ToolId};
use charter_contract::mission::envelope::MissionEnvelope;
use charter_contract::mission::task_graph::{MissionTaskGraph, Role, Task};
use serde_json::{Map, Value, json};

use super::output::RequestedCall;
use crate::graph::{
    AddedEdge, AfterFailure, Arguments, Edge, EdgeCondition, GraphAdditions, GraphError,
    GraphParts, PlanSource, Step, StepAction, StepGraph,
};

/// Turns that a worker or researcher may take, the last without tools.
pub const MAX_TURNS: u32 = 8;

/// Ids of the steps that a mission has once.
const PLAN: &str = "plan";
const PROMPTED: &str = "prompted";
const AGGREGATE: &str = "aggregate";
const REVIEW: &str = "review";

/// What the ids of steps begin with that carry a proposal out.
pub(super) const WRITE_BACK: &str = "writeback.";

/// Ids of the steps, by what they are of.
#[derive(Debug, Clone, Copy)]
enum MissionStepId<'a> {
    Once(&'static str),
    Prompt(&'a TaskId),
    Pass(&'a TaskId),
    Turn(&'a TaskId, u32),
    Call(&'a TaskId, u32, usize),
    Done(&'a TaskId),
    Target(&'a str),
    WriteBack(&'a str),
}

impl MissionStepId<'_> {
    fn id(self) -> Result<StepId, GraphError> {
        let text = match self {
            Self::Once(name) => name.to_owned(),
            Self::Prompt(task) => format!("prompt.{task}"),
            Self::Pass(task) => format!("pass.{task}"),
            Self::Turn(task, turn) => format!("work.{task}.{turn}"),
            Self::Call(task, turn, number) => format!("call.{task}.{turn}.{number}"),
            Self::Done(task) => format!("done.{task}"),
            Self::Target(proposal) => format!("target.{proposal}"),
            Self::WriteBack(proposal) => format!("{WRITE_BACK}{proposal}"),
        };
        StepId::parse(&text).map_err(|_| GraphError::Name(text))
    }
}

/// The step that makes a task's prompt package.
///
/// # Errors
/// [`GraphError::Name`] for a task whose id is too long to make a step's.
pub fn prompt_step(task: &TaskId) -> Result<StepId, GraphError> {
    MissionStepId::Prompt(task).id()
}

/// The step that makes a worker's pass.
///
/// # Errors
/// As for [`prompt_step`].
pub fn pass_step(task: &TaskId) -> Result<StepId, GraphError> {
    MissionStepId::Pass(task).id()
}

/// A turn of a worker or researcher.
///
/// # Errors
/// As for [`prompt_step`].
pub fn turn_step(task: &TaskId, turn: u32) -> Result<StepId, GraphError> {
    MissionStepId::Turn(task, turn).id()
}

/// The step that carries a proposal out.
///
/// # Errors
/// As for [`prompt_step`].
pub fn change_step(proposal: &str) -> Result<StepId, GraphError> {
    MissionStepId::WriteBack(proposal).id()
}

/// A call that a turn asked for.
///
/// # Errors
/// As for [`prompt_step`].
pub fn call_step(task: &TaskId, turn: u32, number: usize) -> Result<StepId, GraphError> {
    MissionStepId::Call(task, turn, number).id()
}

/// The graph that a mission begins with: its planner.
///
/// # Errors
/// None that a mission's envelope can cause.
pub fn opening(envelope: &MissionEnvelope) -> Result<StepGraph, GraphError> {
    let budget = |budget: Option<charter_contract::number::Positive>| {
        budget.map_or(0, charter_contract::number::Positive::get)
    };
    let plan = stage(
        MissionStepId::Once(PLAN),
        Stage::Plan,
        json!({}),
        AfterFailure::Abort,
    )?;
    StepGraph::new(GraphParts {
        steps: vec![plan],
        timeout_ms: budget(envelope.time_budget_ms),
        token_budget: budget(envelope.token_budget),
        source: Some(PlanSource::Mission(envelope.mission_id.clone())),
        ..GraphParts::default()
    })
}

/// What the plan adds: for each task its prompt package, its pass and its first turn; then the
/// aggregation and the review.
///
/// # Errors
/// [`GraphError::Name`] for a task whose id is too long.
pub fn after_plan(plan: &MissionTaskGraph) -> Result<GraphAdditions, GraphError> {
    let tasks: Vec<&Task> = plan
        .tasks
        .iter()
        .filter(|task| is_done_by_turns(task))
        .collect();
    let ends: BTreeMap<&TaskId, StepId> = tasks
        .iter()
        .map(|task| Ok((&task.task_id, end_of(task)?)))
        .collect::<Result<_, GraphError>>()?;
    let instructed: Vec<&Task> = plan
        .tasks
        .iter()
        .filter(|task| is_instructed(task))
        .collect();
    let mut steps = Vec::with_capacity(tasks.len() * 4 + 3);
    for task in &instructed {
        let parameters = json!({"task": task.task_id});
        let named = MissionStepId::Prompt(&task.task_id);
        steps.push(stage(
            named,
            Stage::Prompt,
            parameters,
            AfterFailure::Abort,
        )?);
    }
    let mut prompted = Step::new(
        MissionStepId::Once(PROMPTED).id()?,
        StepAction::Conclude {
            output: json!({"packages": instructed.len()}),
        },
        AfterFailure::Abort,
    );
    for task in &instructed {
        prompted
            .entry
            .edges
            .push(edge(prompt_step(&task.task_id)?, EdgeCondition::Success));
    }
    steps.push(prompted);
    for task in &tasks {
        steps.extend(steps_of(task, &ends)?);
    }
    let mut aggregate = stage(
        MissionStepId::Once(AGGREGATE),
        Stage::Aggregate,
        json!({}),
        AfterFailure::Abort,
    )?;
    let settled = ends
        .values()
        .map(|end| edge(end.clone(), EdgeCondition::Settled));
    aggregate.entry.edges = settled.collect();
    let mut review = stage(
        MissionStepId::Once(REVIEW),
        Stage::Review,
        json!({}),
        AfterFailure::Abort,
    )?;
    review.entry.edges = vec![edge(aggregate.id.clone(), EdgeCondition::Success)];
    steps.extend([aggregate, review]);
    Ok(GraphAdditions {
        steps,
        claims: Vec::new(),
    })
}

/// Whether a task is a researcher's or worker's: the other roles' stages are the mission's own.
fn is_done_by_turns(task: &Task) -> bool {
    match task.role_type {
        Role::Researcher | Role::Worker => true,
        Role::Planner
        | Role::PromptMaster
        | Role::Librarian
        | Role::Aggregator
        | Role::Reviewer => false,
    }
}

/// Whether a task has a prompt package: the planner's is made before there are tasks, and the prompt
/// master and the librarian need none.
fn is_instructed(task: &Task) -> bool {
    match task.role_type {
        Role::Researcher | Role::Worker | Role::Aggregator | Role::Reviewer => true,
        Role::Planner | Role::PromptMaster | Role::Librarian => false,
    }
}

/// Whether a task may take more than one turn.
fn may_call(task: &Task) -> bool {
    !task.allowed_tools.is_empty()
}

/// The step whose success is the task's.
fn end_of(task: &Task) -> Result<StepId, GraphError> {
    if may_call(task) {
        MissionStepId::Done(&task.task_id).id()
    } else {
        turn_step(&task.task_id, 1)
    }
}

/// The steps whose end is the end of a task, for every task that is done by turns.
///
/// # Errors
/// [`GraphError::Name`] for a task whose id is too long.
pub fn ends_of(plan: &MissionTaskGraph) -> Result<BTreeMap<TaskId, StepId>, GraphError> {
    let tasks = plan.tasks.iter().filter(|task| is_done_by_turns(task));
    tasks
        .map(|task| Ok((task.task_id.clone(), end_of(task)?)))
        .collect()
}

/// The steps of one task, after its prompt package (B002-9: the dependencies have succeeded, and the
/// package and a live pass are there).
fn steps_of(task: &Task, ends: &BTreeMap<&TaskId, StepId>) -> Result<Vec<Step>, GraphError> {
    let id = &task.task_id;
    let mut before = vec![edge(
        MissionStepId::Once(PROMPTED).id()?,
        EdgeCondition::Success,
    )];
    for earlier in &task.depends_on {
        if let Some(end) = ends.get(earlier) {
            before.push(edge(end.clone(), EdgeCondition::Success));
        }
    }
    let mut steps = Vec::with_capacity(3);
    let mut first = turn(task, 1)?;
    if task.role_type == Role::Worker {
        let parameters = json!({"task": id});
        let mut pass = stage(
            MissionStepId::Pass(id),
            Stage::Pass,
            parameters,
            AfterFailure::Continue,
        )?;
        pass.entry.edges = before;
        first.entry.edges = vec![edge(pass.id.clone(), EdgeCondition::Success)];
        steps.push(pass);
    } else {
        first.entry.edges = before;
    }
    let first_id = first.id.clone();
    steps.push(first);
    if may_call(task) {
        let output = json!({"task": id});
        let mut done = Step::new(
            MissionStepId::Done(id).id()?,
            StepAction::Conclude { output },
            AfterFailure::Continue,
        );
        done.entry.edges = vec![edge(first_id, EdgeCondition::Success)];
        steps.push(done);
    }
    Ok(steps)
}

fn turn(task: &Task, number: u32) -> Result<Step, GraphError> {
    let id = &task.task_id;
    let does = if task.role_type == Role::Researcher {
        Stage::Research
    } else {
        Stage::Work
    };
    let parameters = json!({"task": id, "turn": number});
    stage(
        MissionStepId::Turn(id, number),
        does,
        parameters,
        AfterFailure::Continue,
    )
}

/// What a turn adds that asks for tools: the calls, and the turn that goes on with their results,
/// however they ended. Whoever waits for the task waits for that.
///
/// # Errors
/// [`GraphError::Name`] for a task whose id is too long.
pub fn after_turn(
    task: &Task,
    number: u32,
    wanted: &[RequestedCall],
) -> Result<GraphAdditions, GraphError> {
    if wanted.is_empty() {
        return Ok(GraphAdditions::default());
    }
    let id = &task.task_id;
    let before = turn_step(id, number)?;
    let mut next = turn(task, number + 1)?;
    next.entry.edges = vec![edge(before.clone(), EdgeCondition::Success)];
    let mut steps = Vec::with_capacity(wanted.len() + 1);
    for (at, call) in (1..).zip(wanted) {
        let action = calling(call.tool.clone(), call.parameters.clone(), false);
        let mut step = Step::new(
            MissionStepId::Call(id, number, at).id()?,
            action,
            AfterFailure::Continue,
        );
        step.entry.edges = vec![edge(before.clone(), EdgeCondition::Success)];
        step.mandate = Some(id.clone());
        next.entry
            .edges
            .push(edge(step.id.clone(), EdgeCondition::Settled));
        steps.push(step);
    }
    let claims = vec![AddedEdge {
        step: MissionStepId::Done(id).id()?,
        edge: edge(next.id.clone(), EdgeCondition::Success),
    }];
    steps.push(next);
    Ok(GraphAdditions { steps, claims })
}

/// A proposal, with the calls that carry it out.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedWriteBack {
    /// The proposal.
    pub proposal: ProposalId,
    /// What is called to carry it out: a tool, or a stage's.
    pub tool: ToolId,
    /// With what.
    pub parameters: Map<String, Value>,
    /// How the target is read.
    pub target: Option<RequestedCall>,
    /// Whether a person must approve it.
    pub approved_by_person: bool,
}

/// What the review adds: for each proposal a look at its target, and the change. The one does not
/// stop the other proposals.
///
/// # Errors
/// [`GraphError::Name`] for a proposal whose id is too long.
pub fn after_review(proposals: &[ProposedWriteBack]) -> Result<GraphAdditions, GraphError> {
    let mut steps = Vec::with_capacity(proposals.len() * 2);
    let review = MissionStepId::Once(REVIEW).id()?;
    for proposed in proposals {
        let id = proposed.proposal.as_str();
        let action = calling(proposed.tool.clone(), proposed.parameters.clone(), true);
        let mut change = Step::new(
            MissionStepId::WriteBack(id).id()?,
            action,
            AfterFailure::Continue,
        );
        change.reviewed = proposed.approved_by_person;
        let mut before = review.clone();
        if let Some(reading) = &proposed.target {
            let action = calling(reading.tool.clone(), reading.parameters.clone(), false);
            let mut look = Step::new(
                MissionStepId::Target(id).id()?,
                action,
                AfterFailure::Continue,
            );
            look.entry.edges = vec![edge(review.clone(), EdgeCondition::Success)];
            change.unless_changed = Some(look.id.clone());
            before = look.id.clone();
            steps.push(look);
        }
        change.entry.edges = vec![edge(before, EdgeCondition::Success)];
        steps.push(change);
    }
    Ok(GraphAdditions {
        steps,
        claims: Vec::new(),
    })
}

fn edge(from: StepId, on: EdgeCondition) -> Edge {
    Edge { from, on }
}

/// A call with exact arguments: values of a model or a proposal never contain references.
fn calling(tool: ToolId, parameters: Map<String, Value>, writes: bool) -> StepAction {
    StepAction::Call {
        tool,
        arguments: Arguments::exact(parameters),
        script: None,
        writes,
    }
}

/// A step that carries a stage out.
fn stage(
    named: MissionStepId<'_>,
    stage: Stage,
    parameters: Value,
    after_failure: AfterFailure,
) -> Result<Step, GraphError> {
    let parameters = match parameters {
        Value::Object(parameters) => parameters,
        _ => Map::new(),
    };
    let action = calling(stage.tool_id(), parameters, false);
    let mut step = Step::new(named.id()?, action, after_failure);
    step.spends = stage.asks_models();
    Ok(step)
}

/// The steps by which a role's work is done that is the mission's own, as far as the mission has them;
/// none for roles whose tasks are done by turns.
///
/// # Errors
/// As for [`prompt_step`].
pub fn own_steps(plan: &MissionTaskGraph, role: Role) -> Result<Vec<StepId>, GraphError> {
    let of = |is: fn(&Task) -> bool, step: fn(&TaskId) -> Result<StepId, GraphError>| {
        let tasks = plan.tasks.iter().filter(move |task| is(task));
        tasks.map(|task| step(&task.task_id)).collect()
    };
    match role {
        Role::Planner => Ok(vec![MissionStepId::Once(PLAN).id()?]),
        Role::PromptMaster => of(is_instructed, prompt_step),
        Role::Librarian => of(|task| task.role_type == Role::Worker, pass_step),
        Role::Researcher | Role::Worker => Ok(Vec::new()),
        Role::Aggregator => Ok(vec![MissionStepId::Once(AGGREGATE).id()?]),
        Role::Reviewer => Ok(vec![MissionStepId::Once(REVIEW).id()?]),
    }
}

/// The steps that a mission has once, for whoever reads where it stands.
pub(super) fn once(name: Once) -> Result<StepId, GraphError> {
    MissionStepId::Once(match name {
        Once::Plan => PLAN,
        Once::Prompted => PROMPTED,
        Once::Aggregate => AGGREGATE,
        Once::Review => REVIEW,
    })
    .id()
}

/// A step that a mission has once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Once {
    Plan,
    Prompted,
    Aggregate,
    Review,
}

#[cfg(test)]
mod tests;
