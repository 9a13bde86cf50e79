//! The runs that are explored. Each has as few steps as are needed to show the machine's behaviour, because the number
//! of states multiplies with the number of steps.

use std::collections::BTreeSet;
use std::error::Error;

use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{Label, RunId, StepId, ToolId, UserId};
use charter_domain::graph::{
    AfterFailure, Arguments, Edge, EdgeCondition, GraphParts, Retry, Step, StepAction, StepGraph,
};
use charter_domain::run::{RunEvent, RunPrerequisites, RunStart};
use serde_json::{Map, Value, json};
use uuid::Uuid;

type Made<T> = Result<T, Box<dyn Error>>;

/// The mandatory parameter of the run that waits for a parameter.
pub(crate) const PARAMETER: &str = "x";

/// The tool that every step calls.
pub(crate) const TOOL: &str = "a.tool";

/// Time limit of every run, in milliseconds.
const LIMIT_MS: u64 = 1_000;

/// The start events of all runs that are explored.
pub(crate) fn all() -> Made<Vec<RunEvent>> {
    let graphs = [
        // A playbook with one write, which is retried once and can be reversed.
        (
            asking(true, true)?,
            false,
            with_reversal(retried(write("write")?))?,
        ),
        // A run that waits only for confirmation, and a run that waits only for a parameter.
        (asking(true, false)?, false, parts(vec![read("read")?])),
        (asking(false, true)?, false, parts(vec![read("read")?])),
        // Two writes. The first write is kept when it cannot be reversed.
        (RunPrerequisites::default(), false, two_writes()?),
        // Parallel steps with different failure policies.
        (
            RunPrerequisites::default(),
            false,
            parts(vec![write("reversed")?, read("needed")?]),
        ),
        (
            RunPrerequisites::default(),
            false,
            parts(vec![read("needed")?, useful(read("useful")?)]),
        ),
        // A step that requires a success, and a step that runs after a failure.
        (
            RunPrerequisites::default(),
            false,
            parts(vec![
                useful(read("read")?),
                after("then", "read", EdgeCondition::Success)?,
                after("handler", "read", EdgeCondition::Failure)?,
            ]),
        ),
        // Steps that the machine decides without an effect: a condition that cannot be evaluated, and a conclusion.
        (
            RunPrerequisites::default(),
            false,
            parts(vec![
                only_if(useful(read("unknown")?), "parameters.absent == 1"),
                step(
                    "conclusion",
                    StepAction::Conclude {
                        output: Value::Bool(true),
                    },
                )?,
            ]),
        ),
        (RunPrerequisites::default(), false, with_evidence()?),
        (RunPrerequisites::default(), false, with_fallback()?),
        // A write for each item of a list.
        (
            RunPrerequisites::default(),
            false,
            parts(vec![for_each(write("write")?)]),
        ),
        // A dry run whose write cannot be previewed.
        (
            RunPrerequisites::default(),
            true,
            parts(vec![write("write")?]),
        ),
    ];
    let started = graphs.into_iter().map(|(opening, dry_run, parts)| {
        Ok(RunEvent::Started(Box::new(RunStart {
            run_id: RunId::from_uuid(Uuid::from_u128(1)),
            by: UserId::parse("somebody")?,
            owner: None,
            askers: BTreeSet::new(),
            role: Role::Operator,
            graph: StepGraph::new(parts)?,
            parameters: Map::new(),
            pins: Vec::new(),
            dry_run,
            opening,
            tags: None,
        })))
    });
    started.collect()
}

/// The parameters and the confirmation that the run waits for before it starts.
fn asking(confirm: bool, parameter: bool) -> Made<RunPrerequisites> {
    let missing = parameter.then(|| Label::parse(PARAMETER));
    Ok(RunPrerequisites {
        confirm,
        missing: missing.into_iter().collect::<Result<_, _>>()?,
        ..RunPrerequisites::default()
    })
}

fn parts(steps: Vec<Step>) -> GraphParts {
    GraphParts {
        steps,
        timeout_ms: LIMIT_MS,
        ..GraphParts::default()
    }
}

fn with_reversal(write: Step) -> Made<GraphParts> {
    let undo = reversal("undo", &write)?;
    Ok(parts(vec![write, undo]))
}

fn two_writes() -> Made<GraphParts> {
    let first = write("write")?;
    let undo = reversal("undo", &first)?;
    let next = after("next", "write", EdgeCondition::Success)?;
    Ok(parts(vec![first, undo, next]))
}

fn with_evidence() -> Made<GraphParts> {
    Ok(GraphParts {
        evidence: vec![Label::parse("evidence")?],
        ..parts(vec![read("read")?])
    })
}

fn with_fallback() -> Made<GraphParts> {
    let instead = StepGraph::new(parts(vec![read("instead")?]))?;
    Ok(GraphParts {
        fallback: Some(Box::new(instead)),
        ..parts(vec![read("read")?])
    })
}

/// A step whose failure ends the run.
fn step(name: &str, action: StepAction) -> Made<Step> {
    Ok(Step::new(StepId::parse(name)?, action, AfterFailure::Abort))
}

fn calling(name: &str, writes: bool) -> Made<Step> {
    let call = StepAction::Call {
        tool: ToolId::parse(TOOL)?,
        arguments: Arguments::exact(Map::new()),
        script: None,
        writes,
    };
    step(name, call)
}

fn read(name: &str) -> Made<Step> {
    calling(name, false)
}

/// A write whose failure rolls the run back.
fn write(name: &str) -> Made<Step> {
    Ok(Step {
        after_failure: AfterFailure::RollBack,
        ..calling(name, true)?
    })
}

fn reversal(name: &str, of: &Step) -> Made<Step> {
    Ok(Step {
        reverses: Some(of.id.clone()),
        ..calling(name, true)?
    })
}

/// A write that waits for an earlier step under a condition.
fn after(name: &str, from: &str, on: EdgeCondition) -> Made<Step> {
    let from = StepId::parse(from)?;
    let mut step = write(name)?;
    step.entry.edges.push(Edge { from, on });
    Ok(step)
}

fn retried(step: Step) -> Step {
    let retry = Retry {
        retries: 1,
        delay_ms: 0,
    };
    Step { retry, ..step }
}

/// A step whose failure does not end the run.
fn useful(step: Step) -> Step {
    Step {
        after_failure: AfterFailure::Continue,
        ..step
    }
}

/// The step for each item of a list of one.
fn for_each(step: Step) -> Step {
    let action = StepAction::ForEach {
        items: json!([0]),
        max_items: 1,
        concurrency: 1,
        each: Box::new(step.action),
    };
    Step { action, ..step }
}

fn only_if(mut step: Step, when: &str) -> Step {
    step.entry.when = Some(when.to_owned());
    step
}
