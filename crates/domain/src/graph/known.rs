//! Whether the writes of a plan are known before its first step, or before its first write: then an approval of them is
//! a decision on the whole plan.

use std::collections::BTreeSet;

use charter_contract::ids::StepId;
use charter_contract::placeholder::ITEM;

use super::{EdgeCondition, Join, Step, StepAction, StepGraph};
use crate::reference::{Reference, references};

impl StepGraph {
    /// Returns whether every step is a write whose arguments depend on parameters alone, and that nothing but the other
    /// steps hold back.
    #[must_use]
    pub fn has_only_known_writes(&self) -> bool {
        let mut forward = self.steps().iter().filter(|step| step.reverses.is_none());
        self.fallback().is_none() && forward.all(is_known_write)
    }

    /// Returns whether the plan writes, and all its writes are known before the first one: they depend on parameters
    /// and on reads that do not follow a write. A write that follows another one depends on its end and success alone.
    #[must_use]
    pub fn lists_writes_first(&self) -> bool {
        let after_a_write = self.after_a_write();
        let forward = || self.steps().iter().filter(|step| step.reverses.is_none());
        // A person decides on a reviewed read, and other writes may begin before that.
        let is_listed = |step: &Step| match step.writes() {
            true => self.is_listed_first(step, &after_a_write),
            false => !step.reviewed,
        };
        self.fallback().is_none() && forward().any(Step::writes) && forward().all(is_listed)
    }

    /// Returns whether the arguments of a step's call depend on parameters alone, so that the plan and its parameters
    /// determine the exact call.
    #[must_use]
    pub fn determines_call_of(&self, step: &StepId) -> bool {
        let Some(step) = self.step(step) else {
            return false;
        };
        let item = step.item.as_deref();
        let is_given = |found: &Reference| match found {
            Reference::Parameter(_) => true,
            Reference::Output { step: source, .. } => item.is_some() && source.as_str() == ITEM,
        };
        let found = references_of(&step.action);
        step.reverses.is_none()
            && matches!(step.action, StepAction::Call { .. })
            && item.is_none_or(|item| self.determines_items_of(&item.of))
            && found.is_some_and(|found| found.iter().all(is_given))
    }

    fn determines_items_of(&self, repeated: &StepId) -> bool {
        let repeated = self.step(repeated).map(|step| &step.action);
        let Some(StepAction::ForEach { items, .. }) = repeated else {
            return false;
        };
        references(items).is_ok_and(|found| found.iter().all(is_parameter))
    }

    /// Returns the indexes of the steps that begin after the end of a write.
    fn after_a_write(&self) -> BTreeSet<usize> {
        let steps = self.steps();
        let is_write = |at: &usize| steps[*at].writes() && steps[*at].reverses.is_none();
        let mut open: Vec<usize> = (0..steps.len()).filter(is_write).collect();
        let mut found = BTreeSet::new();
        while let Some(at) = open.pop() {
            for follower in self.followers(at) {
                if found.insert(*follower) {
                    open.push(*follower);
                }
            }
        }
        found
    }

    fn is_listed_first(&self, step: &Step, after_a_write: &BTreeSet<usize>) -> bool {
        let follows = |step: &StepId| {
            let place = self.place(step);
            place.is_none_or(|at| after_a_write.contains(&at))
        };
        let is_read = |source: &StepId| {
            let source = self.step(source);
            source.is_some_and(|source| !source.writes())
        };
        let is_known = |found: &Reference| match found {
            Reference::Parameter(_) => true,
            Reference::Output { step: source, .. } if source.as_str() == ITEM => step.repeats(),
            Reference::Output { step: source, .. } => is_read(source) && !follows(source),
        };
        let is_certain_to_begin = !step.repeats()
            && step.entry.when.is_none()
            && step.entry.join == Join::All
            && step.unless_changed.is_none()
            && step.entry.edges.iter().all(|edge| is_certain(edge.on));
        let found = references_of(&step.action);
        (is_certain_to_begin || !follows(&step.id))
            && found.is_some_and(|found| found.iter().all(is_known))
    }
}

fn is_parameter(found: &Reference) -> bool {
    matches!(found, Reference::Parameter(_))
}

/// Returns whether nothing but the end and the success of its source decides whether an edge holds.
fn is_certain(on: EdgeCondition) -> bool {
    match on {
        EdgeCondition::Success | EdgeCondition::Settled => true,
        EdgeCondition::Failure | EdgeCondition::Chosen => false,
    }
}

/// Returns the references of a call, or of the calls for each item of a list; `None` for an unreadable reference.
fn references_of(action: &StepAction) -> Option<Vec<Reference>> {
    let mut found = Vec::new();
    if let StepAction::ForEach { items, .. } = action {
        found.extend(references(items).ok()?);
    }
    if let StepAction::Call { arguments, .. } = action.each() {
        for value in arguments.templates() {
            found.extend(references(value).ok()?);
        }
    }
    Some(found)
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
    let mut templates = arguments.templates();
    step.entry.when.is_none()
        && step.entry.edges.iter().all(|edge| is_certain(edge.on))
        && templates
            .all(|value| references(value).is_ok_and(|found| found.iter().all(is_parameter)))
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::ToolId;
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

    fn each(id: &str, items: &str, value: &str) -> Step {
        let mut repeated = step(id, true, value);
        repeated.action = StepAction::ForEach {
            items: json!(items),
            max_items: 9,
            concurrency: 1,
            each: Box::new(repeated.action),
        };
        repeated
    }

    fn graph(steps: &[Step]) -> StepGraph {
        let parts = GraphParts {
            steps: steps.to_vec(),
            ..GraphParts::default()
        };
        StepGraph::new(parts).unwrap()
    }

    #[test]
    fn writes_that_depend_on_reads_and_on_their_order_are_listed_before_the_first() {
        let read = || step("look", false, "x");
        let reviewed = Step {
            reviewed: true,
            ..read()
        };
        let conditional = |mut step: Step| {
            step.entry.when = Some("parameters.go".to_owned());
            step
        };
        let of_read = |id: &str| after(step(id, true, "${look.id}"), "look");
        let last = || after(step("b", true, "x"), "a");
        for (steps, is_listed) in [
            (vec![step("a", true, "x")], true),
            (vec![read()], false),
            (vec![read(), of_read("a")], true),
            (vec![reviewed, of_read("a")], false),
            (vec![read(), conditional(of_read("a"))], true),
            (vec![read(), of_read("a"), last()], true),
            (vec![read(), of_read("a"), conditional(last())], false),
            (
                vec![step("a", true, "x"), after(step("b", true, "${a.id}"), "a")],
                false,
            ),
            (
                vec![step("a", true, "x"), after(read(), "a"), of_read("b")],
                false,
            ),
            (
                vec![read(), after(each("a", "${look.all}", "${item}"), "look")],
                true,
            ),
            (
                vec![
                    step("a", true, "x"),
                    after(each("b", "${user.all}", "${item}"), "a"),
                ],
                false,
            ),
        ] {
            assert_eq!(graph(&steps).lists_writes_first(), is_listed, "{steps:?}");
        }
    }

    #[test]
    fn a_plan_determines_the_calls_whose_arguments_are_parameters() {
        let read = || step("look", false, "x");
        let of_read = after(step("a", true, "${look.id}"), "look");
        let plan = graph(&[read(), of_read, step("b", true, "${user.x}")]);
        let is_determined = |id: &str| plan.determines_call_of(&StepId::parse(id).unwrap());
        let determined = ["a", "b", "absent"].map(is_determined);
        assert_eq!(determined, [false, true, false]);
        for (items, is_determined) in [("${user.all}", true), ("${look.all}", false)] {
            let repeated = after(each("a", items, "${item.id}"), "look");
            let mut plan = graph(&[read(), repeated.clone()]);
            let growth = plan.with_items(&repeated, vec![json!({"id": 1})]).unwrap();
            plan.grow(&growth).unwrap();
            let item = StepId::parse("a.1").unwrap();
            assert_eq!(plan.determines_call_of(&item), is_determined, "{items}");
        }
    }
}
