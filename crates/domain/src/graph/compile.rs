//! What compiles to a step graph. A step waits for the steps that it names and for those whose
//! output its parameters refer to; everything else may run at the same time.

use std::collections::BTreeSet;

use charter_contract::catalogue::skill::Skill;
use charter_contract::catalogue::vocabulary::OnFailure;
use charter_contract::ids::StepId;
use serde_json::{Map, Value};

use super::{AfterFailure, GraphError, Step, StepGraph};
use crate::reference::{Reference, references};

/// The plan of a skill (seed 000 §2.2).
///
/// # Errors
/// Any [`GraphError`].
pub fn from_skill(skill: &Skill) -> Result<StepGraph, GraphError> {
    let steps = skill
        .execution_plan
        .steps
        .iter()
        .map(|step| {
            let named = step.depends_on.iter().cloned();
            let referred = referred_steps(&step.step_id, &step.parameters)?;
            Ok(Step {
                id: step.step_id.clone(),
                tool: step.tool_id.clone(),
                parameters: step.parameters.clone(),
                depends_on: named.chain(referred).collect(),
                after_failure: after_failure(step.on_failure),
                timeout_ms: step.timeout_ms.map_or(0, |limit| limit.get()),
                cache_ttl_seconds: step.cache_ttl_seconds.map_or(0, |ttl| ttl.get()),
            })
        })
        .collect::<Result<Vec<_>, GraphError>>()?;
    StepGraph::new(steps)
}

/// A skill's steps only read, so `skip` and `continue` come to the same: what needs the output is
/// left out, the rest goes on. There is nothing to roll back; the contract refuses it.
fn after_failure(on_failure: Option<OnFailure>) -> AfterFailure {
    match on_failure.unwrap_or_default() {
        OnFailure::Stop | OnFailure::Rollback => AfterFailure::Abort,
        OnFailure::Skip | OnFailure::Continue => AfterFailure::SkipDependants,
    }
}

fn referred_steps(
    step: &StepId,
    parameters: &Map<String, Value>,
) -> Result<BTreeSet<StepId>, GraphError> {
    let mut steps = BTreeSet::new();
    for (name, value) in parameters {
        let found = references(value).map_err(|cause| GraphError::Reference {
            step: step.clone(),
            parameter: name.clone(),
            cause,
        })?;
        steps.extend(found.into_iter().filter_map(|reference| match reference {
            Reference::Output { step, .. } => Some(step),
            Reference::Parameter(_) => None,
        }));
    }
    Ok(steps)
}
