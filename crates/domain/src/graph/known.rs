//! Whether the writes of a plan are known before its first step: then an approval of them is a decision on the whole
//! plan.

use super::{EdgeCondition, Step, StepAction, StepGraph};
use crate::reference::{Reference, references};

impl StepGraph {
    /// Returns whether every step is a write whose arguments depend on parameters alone, and that nothing but the other
    /// steps hold back.
    #[must_use]
    pub fn has_only_known_writes(&self) -> bool {
        let mut forward = self.steps().iter().filter(|step| step.reverses.is_none());
        self.fallback().is_none() && forward.all(is_known_write)
    }
}

fn is_known_write(step: &Step) -> bool {
    let StepAction::Call {
        arguments,
        writes: true,
        ..
    } = &step.action
    else {
        return false;
    };
    let is_certain = |on: EdgeCondition| match on {
        EdgeCondition::Success | EdgeCondition::Settled => true,
        EdgeCondition::Failure | EdgeCondition::Chosen => false,
    };
    let mut templates = arguments.templates();
    step.entry.when.is_none()
        && step.entry.edges.iter().all(|edge| is_certain(edge.on))
        && templates.all(|value| {
            let is_parameter = |found: &Reference| matches!(found, Reference::Parameter(_));
            references(value).is_ok_and(|found| found.iter().all(is_parameter))
        })
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::{StepId, ToolId};
    use serde_json::json;

    use super::*;
    use crate::graph::{AfterFailure, Arguments, GraphParts, successes};

    fn step(id: &str, writes: bool, value: &str) -> Step {
        let parameters = json!({"of": value}).as_object().unwrap().clone();
        let action = StepAction::Call {
            tool: ToolId::parse("t.x").unwrap(),
            arguments: Arguments::Template(parameters),
            script: None,
            writes,
        };
        Step::new(StepId::parse(id).unwrap(), action, AfterFailure::Abort)
    }

    fn after(mut step: Step, source: &str) -> Step {
        step.entry.edges = successes([StepId::parse(source).unwrap()]);
        step
    }

    #[test]
    fn only_plans_of_writes_with_given_arguments_are_known_at_the_start() {
        let conditional = |mut step: Step| {
            step.entry.when = Some("parameters.go".to_owned());
            step
        };
        for (steps, is_known) in [
            (vec![step("a", true, "x")], true),
            (
                vec![
                    step("a", true, "${user.x}"),
                    after(step("b", true, "x"), "a"),
                ],
                true,
            ),
            (vec![step("a", false, "x"), step("b", true, "x")], false),
            (
                vec![step("a", true, "x"), after(step("b", true, "${a.id}"), "a")],
                false,
            ),
            (vec![conditional(step("a", true, "x"))], false),
        ] {
            let graph = StepGraph::new(GraphParts {
                steps: steps.clone(),
                ..GraphParts::default()
            });
            assert_eq!(
                graph.unwrap().has_only_known_writes(),
                is_known,
                "{steps:?}"
            );
        }
    }
}
