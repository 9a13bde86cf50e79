//! Compilers of documents to step graphs, one file per kind of document. A step requires the success of every step
//! whose output its parameters refer to. The document defines its other conditions.

mod analysis;
mod call;
mod flow;
mod pipeline;
mod plan;
mod playbook;
mod skill;
mod tools;
mod tree;
mod wiring;

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::ids::{Label, StepId};
use charter_contract::parameter::{Parameter, ParameterType};
use serde_json::{Map, Value};

use super::{Edge, EdgeCondition, GraphError};
use crate::reference::{Reference, references};

pub use analysis::{analysis_step, from_analysis, with_analysis};
pub use call::{from_call, single_call};
pub use pipeline::from_pipeline;
pub use plan::from_plan;
pub use playbook::from_playbook;
pub use skill::from_skill;
pub use tools::CallableTools;
pub use tree::from_tree;
pub(crate) use wiring::contradicted;
pub use wiring::wired;

/// Returns the steps whose output the parameters refer to.
fn referred(
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

/// The declared types of numeric parameters, for [`GraphParts::numbers`].
fn numbers(declared: &[Parameter]) -> BTreeMap<Label, ParameterType> {
    let is_number =
        |one: &&Parameter| matches!(one.kind, ParameterType::Number | ParameterType::Integer);
    let numbers = declared.iter().filter(is_number);
    numbers.map(|one| (one.name.clone(), one.kind)).collect()
}

/// Returns an edge on the success of each step, without duplicates.
pub(crate) fn successes(steps: impl IntoIterator<Item = StepId>) -> Vec<Edge> {
    let steps: BTreeSet<StepId> = steps.into_iter().collect();
    let edge = |from| Edge {
        from,
        on: EdgeCondition::Success,
    };
    steps.into_iter().map(edge).collect()
}

#[cfg(test)]
mod tests;
