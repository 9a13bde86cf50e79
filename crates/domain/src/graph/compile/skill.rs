//! A skill's plan (seed 000 §2.2). Its steps run at the same time unless they name or need each other.

use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::vocabulary::OnFailure;

use super::{referred, successes};
use crate::graph::size::Size;
use crate::graph::{
    AfterFailure, Arguments, Entry, GraphError, GraphParts, Step, StepAction, StepGraph,
};

/// The plan of a skill.
///
/// # Errors
/// Any [`GraphError`].
pub fn from_skill(skill: &Skill) -> Result<StepGraph, GraphError> {
    let mut size = Size::of_plan();
    let steps = skill
        .execution_plan
        .steps
        .iter()
        .map(|step| {
            let named = step.depends_on.iter().cloned();
            let needed = referred(&step.step_id, &step.parameters)?;
            let step = Step {
                entry: Entry {
                    edges: successes(named.chain(needed)),
                    ..Entry::default()
                },
                timeout_ms: step.timeout_ms.map_or(0, |limit| limit.get()),
                cache_ttl_seconds: step.cache_ttl_seconds.map_or(0, |ttl| ttl.get()),
                ..Step::new(
                    step.step_id.clone(),
                    StepAction::Call {
                        tool: step.tool_id.clone(),
                        arguments: Arguments::Template(step.parameters.clone()),
                        script: None,
                        writes: false,
                    },
                    after_failure(step.on_failure),
                )
            };
            size.add(&step)?;
            Ok(step)
        })
        .collect::<Result<Vec<_>, GraphError>>()?;
    StepGraph::new(GraphParts {
        steps,
        ..GraphParts::default()
    })
}

/// A skill's steps only read, so `skip` and `continue` come to the same: what needs the output is
/// left out, the rest goes on. There is nothing to roll back; the contract refuses it.
fn after_failure(on_failure: Option<OnFailure>) -> AfterFailure {
    match on_failure.unwrap_or_default() {
        OnFailure::Stop | OnFailure::Rollback => AfterFailure::Abort,
        OnFailure::Skip | OnFailure::Continue => AfterFailure::Continue,
    }
}
