//! Compiles a playbook (seed 000 §2.8): its steps run in sequence in listed order, and completed writes are reversed in
//! reverse order.

use charter_contract::catalogue::playbook::{Playbook, PlaybookScript, PlaybookStep, RollbackStep};
use charter_contract::catalogue::vocabulary::{OnFailure, StepType};
use charter_contract::ids::{Label, ScriptId, StepId};
use charter_contract::placeholder::ITEM;
use serde_json::{Map, Value};

use super::{referred, successes};
use crate::graph::size::Size;
use crate::graph::{
    AfterFailure, Arguments, Edge, EdgeCondition, Entry, GraphError, GraphParts, Step, StepAction,
    StepGraph,
};
use crate::script::{self, ScriptSource};

/// Milliseconds in the unit of `execution_timeout`.
const MS_PER_SECOND: u64 = 1_000;

/// Returns the graph of a playbook.
///
/// # Errors
/// Any [`GraphError`]; for example, for a rollback with a missing script, about which registration only warned
/// (ruling 12).
pub fn from_playbook(playbook: &Playbook) -> Result<StepGraph, GraphError> {
    let mut steps = Vec::with_capacity(playbook.steps.len());
    let mut size = Size::of_plan();
    let mut before: Option<&StepId> = None;
    for step in &playbook.steps {
        let made = forward(playbook, step, before)?;
        size.add(&made)?;
        steps.push(made);
        before = Some(&step.step_id);
    }
    if playbook.rollback_support {
        for rollback in &playbook.rollback_steps {
            size.add_steps(1)?;
            steps.push(reversal(playbook, rollback)?);
        }
    }
    let timeout = playbook.execution_timeout.map_or(0, |limit| limit.get());
    StepGraph::new(GraphParts {
        steps,
        evidence: playbook.evidence_requirements.clone(),
        timeout_ms: timeout.saturating_mul(MS_PER_SECOND),
        ..GraphParts::default()
    })
}

fn forward(
    playbook: &Playbook,
    step: &PlaybookStep,
    before: Option<&StepId>,
) -> Result<Step, GraphError> {
    let script = body_of(playbook, &step.step_id);
    let mut parameters = step.parameters.clone();
    if let Some(script) = script {
        add_used(&mut parameters, &script.params_used);
        add_reads(&mut parameters, &step.step_id, script)?;
    }
    let mut needed = referred(&step.step_id, &parameters)?;
    if let Some(for_each) = &step.for_each {
        needed.retain(|source| source.as_str() != ITEM);
        let items = Map::from_iter([("for_each".to_owned(), for_each.items.clone())]);
        needed.extend(referred(&step.step_id, &items)?);
    }
    let mut edges = successes(needed);
    if let Some(before) = before.filter(|before| edges.iter().all(|edge| edge.from != **before)) {
        edges.push(Edge {
            from: before.clone(),
            on: EdgeCondition::Settled,
        });
    }
    let call = StepAction::Call {
        tool: step.tool_id.clone(),
        arguments: Arguments::Template(parameters),
        script: script.map(name_of).transpose()?,
        writes: step.step_type == StepType::Write,
    };
    Ok(Step {
        entry: Entry {
            edges,
            ..Entry::default()
        },
        reviewed: playbook
            .safety
            .requires_human_review_for
            .contains(&step.step_id),
        timeout_ms: step.timeout_ms.map_or(0, |limit| limit.get()),
        ..Step::new(
            step.step_id.clone(),
            call.repeated(step.for_each.as_ref()),
            after_failure(step),
        )
    })
}

fn after_failure(step: &PlaybookStep) -> AfterFailure {
    match step.on_failure {
        OnFailure::Rollback => AfterFailure::RollBack,
        OnFailure::Stop if step.required => AfterFailure::Abort,
        OnFailure::Stop | OnFailure::Skip | OnFailure::Continue => AfterFailure::Continue,
    }
}

/// Returns the reversal of a rollback step. A rollback with a tool calls the tool; a rollback with a script runs the
/// script with the permissions of the reversed step's tool.
fn reversal(playbook: &Playbook, rollback: &RollbackStep) -> Result<Step, GraphError> {
    let incomplete = |detail: String| GraphError::Incomplete {
        step: rollback.step_id.clone(),
        detail,
    };
    let action = match (&rollback.tool_id, &rollback.script_id) {
        (Some(tool), _) => StepAction::Call {
            tool: tool.clone(),
            arguments: Arguments::Template(rollback.parameters.clone()),
            script: None,
            writes: true,
        },
        (None, Some(wanted)) => {
            let mut scripts = playbook.scripts.iter();
            let script = scripts
                .find(|script| script.name() == wanted.as_str())
                .ok_or_else(|| incomplete(format!("the script `{wanted}` is not defined")))?;
            let reversed = playbook
                .steps
                .iter()
                .find(|step| step.step_id == rollback.reverses)
                .ok_or_else(|| incomplete(format!("there is no step `{}`", rollback.reverses)))?;
            let mut parameters = rollback.parameters.clone();
            add_used(&mut parameters, &script.params_used);
            add_reads(&mut parameters, &rollback.step_id, script)?;
            let output = Value::String(format!("${{{}}}", reversed.step_id));
            parameters.entry("output").or_insert(output);
            StepAction::Call {
                tool: reversed.tool_id.clone(),
                arguments: Arguments::Template(parameters),
                script: Some(wanted.clone()),
                writes: true,
            }
        }
        (None, None) => {
            return Err(incomplete(
                "it names neither a tool nor a script".to_owned(),
            ));
        }
    };
    Ok(Step {
        reverses: Some(rollback.reverses.clone()),
        ..Step::new(rollback.step_id.clone(), action, AfterFailure::Abort)
    })
}

/// Returns the script that is the body of a step: a script that no rollback refers to.
fn body_of<'p>(playbook: &'p Playbook, step: &StepId) -> Option<&'p PlaybookScript> {
    let mut own = playbook.scripts.iter();
    own.find(|script| script.step_id == *step && !playbook.is_reversal(script))
}

fn name_of(script: &PlaybookScript) -> Result<ScriptId, GraphError> {
    ScriptId::parse(script.name()).map_err(|error| GraphError::Incomplete {
        step: script.step_id.clone(),
        detail: error.to_string(),
    })
}

/// Ruling 31: quoted placeholders in a script's source reach the script as data, under the placeholder's text.
fn add_reads(
    parameters: &mut Map<String, Value>,
    step: &StepId,
    script: &PlaybookScript,
) -> Result<(), GraphError> {
    let incomplete = |detail: String| GraphError::Incomplete {
        step: step.clone(),
        detail,
    };
    let source = script::read(script).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        incomplete(format!(
            "the script `{}`: {}",
            script.name(),
            faults.join("; ")
        ))
    })?;
    if let ScriptSource::Python(source) = source {
        let reads = source.reads.into_keys();
        parameters.extend(reads.map(|read| (read.clone(), Value::String(read))));
    }
    Ok(())
}

fn add_used(parameters: &mut Map<String, Value>, used: &[Label]) {
    for name in used {
        let reference = Value::String(format!("${{user.{name}}}"));
        parameters.entry(name.to_string()).or_insert(reference);
    }
}
