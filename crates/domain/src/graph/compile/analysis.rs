//! The step in which a model puts results into words: the last one of a skill's run, or the only one of a run over
//! the results of several runs. Its failure fails nothing: the answer is made without it.

use charter_contract::catalogue::tool::{ANALYSIS_TOOL, analysis_tool_id};
use charter_contract::ids::{RequestId, StepId};
use serde_json::{Map, Value};

use crate::graph::{
    AfterFailure, Arguments, Edge, EdgeCondition, Entry, GraphError, GraphParts, PlanSource, Step,
    StepAction, StepGraph,
};

/// What the step is called. A plan that has a step of this name gets another: `charter_analysis_2` and so on.
const NAME: &str = "charter_analysis";

/// The plan with a step behind all others that puts their results into words.
///
/// # Errors
/// None that the plan of a skill can cause.
pub fn with_analysis(
    plan: StepGraph,
    arguments: Map<String, Value>,
) -> Result<StepGraph, GraphError> {
    let name = free_name(&plan)?;
    let mut parts = GraphParts::from(plan);
    let settled = |step: &Step| Edge {
        from: step.id.clone(),
        on: EdgeCondition::Settled,
    };
    let edges = parts.steps.iter().map(settled).collect();
    parts.steps.push(step(name, arguments, edges));
    StepGraph::new(parts)
}

/// The plan of an analysis over the results of a request's runs, which its arguments name.
///
/// # Errors
/// None.
pub fn from_analysis(
    request: &RequestId,
    arguments: Map<String, Value>,
) -> Result<StepGraph, GraphError> {
    StepGraph::new(GraphParts {
        steps: vec![step(named(NAME)?, arguments, Vec::new())],
        source: Some(PlanSource::Analysis(request.clone())),
        ..GraphParts::default()
    })
}

/// The step that puts results into words, if a plan has one.
#[must_use]
pub fn analysis_step(plan: &StepGraph) -> Option<&Step> {
    let mut steps = plan.steps().iter();
    steps.find(|step| {
        step.tool()
            .is_some_and(|tool| tool.as_str() == ANALYSIS_TOOL)
    })
}

fn step(id: StepId, arguments: Map<String, Value>, edges: Vec<Edge>) -> Step {
    let action = StepAction::Call {
        tool: analysis_tool_id(),
        arguments: Arguments::exact(arguments),
        script: None,
        writes: false,
    };
    Step {
        entry: Entry {
            edges,
            ..Entry::default()
        },
        spends: true,
        ..Step::new(id, action, AfterFailure::Continue)
    }
}

fn named(name: &str) -> Result<StepId, GraphError> {
    StepId::parse(name).map_err(|_| GraphError::Name(name.to_owned()))
}

fn free_name(plan: &StepGraph) -> Result<StepId, GraphError> {
    let mut name = named(NAME)?;
    let mut number = 2_u32;
    while plan.step(&name).is_some() {
        name = named(&format!("{NAME}_{number}"))?;
        number = number.saturating_add(1);
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use charter_contract::ids::ToolId;
    use serde_json::json;

    use super::*;

    fn plan(names: &[&str]) -> StepGraph {
        let steps = names.iter().map(|name| {
            let action = StepAction::Call {
                tool: ToolId::parse("x.read").unwrap(),
                arguments: Arguments::Template(Map::new()),
                script: None,
                writes: false,
            };
            Step::new(StepId::parse(name).unwrap(), action, AfterFailure::Abort)
        });
        StepGraph::new(GraphParts {
            steps: steps.collect(),
            ..GraphParts::default()
        })
        .unwrap()
    }

    fn question() -> Map<String, Value> {
        Map::from_iter([("question".to_owned(), json!("what is ${user.x}?"))])
    }

    #[test]
    fn it_waits_for_every_step_and_its_failure_fails_nothing() {
        let graph = with_analysis(plan(&["one", "two"]), question()).unwrap();
        let step = analysis_step(&graph).unwrap();
        assert_eq!(step.id.as_str(), "charter_analysis");
        let sources: Vec<(&str, EdgeCondition)> = step
            .entry
            .edges
            .iter()
            .map(|edge| (edge.from.as_str(), edge.on))
            .collect();
        assert_eq!(
            sources,
            [
                ("one", EdgeCondition::Settled),
                ("two", EdgeCondition::Settled)
            ]
        );
        assert_eq!(step.after_failure, AfterFailure::Continue);
        assert!(!step.writes());
    }

    /// A question is a value: what looks like a reference in it is none.
    #[test]
    fn a_question_is_not_a_template() {
        let graph = with_analysis(plan(&["one"]), question()).unwrap();
        let StepAction::Call { arguments, .. } = &analysis_step(&graph).unwrap().action else {
            panic!("it calls nothing");
        };
        assert_eq!(*arguments, Arguments::Exact(question()));
    }

    #[test]
    fn a_plan_may_have_a_step_of_its_name() {
        let taken = ["charter_analysis", "charter_analysis_2"];
        let graph = with_analysis(plan(&taken), question()).unwrap();
        let step = analysis_step(&graph).unwrap();
        assert_eq!(step.id.as_str(), "charter_analysis_3");
    }

    #[test]
    fn several_runs_are_analysed_in_a_run_of_its_own() {
        let request = RequestId::from_uuid(uuid::Uuid::nil());
        let graph = from_analysis(&request, Map::new()).unwrap();
        assert_eq!(graph.source(), Some(&PlanSource::Analysis(request)));
        assert_eq!(graph.steps().len(), 1);
        assert!(analysis_step(&plan(&["one"])).is_none());
    }
}
