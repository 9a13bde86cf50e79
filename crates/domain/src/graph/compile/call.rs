//! Compiles a single call of a tool to a plan of one step, with exact arguments.

use charter_contract::catalogue::tool::{Tool, ToolClass};
use charter_contract::ids::{PlanId, StepId, ToolId};
use charter_contract::json::{Profile, extent_of};
use charter_contract::violation::{Report, pointer_segment};
use serde_json::{Map, Value};

use super::flow::refuse;
use super::tools::CallableTools;
use crate::graph::{
    AfterFailure, Arguments, GraphError, GraphParts, PlanSource, Step, StepAction, StepGraph,
};
use crate::parameters::exact_argument_faults;

/// The id of the step.
const ALONE: &str = "step-001";

/// Returns the plan of a call that a caller sends. `timeout_ms` limits each attempt; 0 leaves it to the tool.
///
/// # Errors
/// All violations, with pointers into an object with `tool` and `parameters`.
pub fn from_call(
    plan: &PlanId,
    tool: &ToolId,
    values: &Map<String, Value>,
    timeout_ms: u64,
    tools: &CallableTools<'_>,
) -> Result<StepGraph, Report> {
    let mut report = Report::new();
    let found = match tools.named(tool.as_str()) {
        Ok(found) => found,
        Err(message) => {
            report.meaning("/tool", "tool", message);
            return Err(report);
        }
    };
    for (name, value) in values {
        if let Err(much) = extent_of(value, Profile::PARAMETER) {
            let pointer = format!("/parameters/{}", pointer_segment(name));
            report.meaning(pointer, "depth", format!("this {much}"));
        }
    }
    for (pointer, keyword, message) in exact_argument_faults(&found.document, values, "") {
        report.meaning(pointer, keyword, message);
    }
    if !report.violations.is_empty() {
        return Err(report);
    }
    single_call(plan, &found.document, values.clone(), timeout_ms).map_err(|error| {
        refuse("/tool", &error, &mut report);
        report
    })
}

/// Returns a plan of one step that calls a tool with these values. The values are not checked.
///
/// # Errors
/// Never because of a tool or its values.
pub fn single_call(
    plan: &PlanId,
    tool: &Tool,
    values: Map<String, Value>,
    timeout_ms: u64,
) -> Result<StepGraph, GraphError> {
    let id = StepId::parse(ALONE).map_err(|_| GraphError::Name(ALONE.to_owned()))?;
    let action = StepAction::Call {
        tool: tool.tool_id.clone(),
        arguments: Arguments::exact(values),
        script: None,
        writes: tool.tool_class == ToolClass::Write,
    };
    let step = Step {
        timeout_ms,
        ..Step::new(id, action, AfterFailure::Abort)
    };
    StepGraph::new(GraphParts {
        steps: vec![step],
        source: Some(PlanSource::ExecutionPlan(plan.clone())),
        ..GraphParts::default()
    })
}

#[cfg(test)]
mod tests {
    use charter_contract::filling::FillBudget;
    use serde_json::json;

    use super::super::tests::view;
    use super::*;
    use crate::reference::Bindings;

    fn graph(tool: &str, values: &Value) -> Result<StepGraph, Vec<String>> {
        let view = view();
        let tool = ToolId::parse(tool).unwrap();
        let plan = PlanId::from_uuid(uuid::Uuid::nil());
        let values = values.as_object().unwrap();
        let made = from_call(&plan, &tool, values, 0, &CallableTools::new(&view));
        made.map_err(|report| report.violations.iter().map(ToString::to_string).collect())
    }

    /// The resolved arguments of the step, after a round trip through the journal.
    fn arguments(graph: &StepGraph) -> Value {
        let again: StepGraph = serde_json::from_value(json!(graph)).unwrap();
        assert_eq!(again, *graph);
        let StepAction::Call { arguments, .. } = &again.steps()[0].action else {
            panic!("{again:?}");
        };
        let bindings = Bindings {
            parameters: &Map::new(),
            outputs: &std::collections::BTreeMap::new(),
            item: None,
        };
        let values = arguments.resolve(bindings, &mut FillBudget::with_limit(10_000));
        Value::Object(values.unwrap())
    }

    /// Arguments with shell, CI or template syntax are passed unchanged.
    #[test]
    fn exact_arguments_are_passed_as_they_are_also_through_the_journal() {
        for text in [
            "#!/bin/sh\ncp ${SRC:-.} $HOME/${1}",
            "${user.n}",
            "${step-001.of}",
            "$${escaped} $$",
            "on: ${{ secrets.TOKEN }}",
            "${",
            "plain",
        ] {
            let values = json!({"of": text, "n": 2});
            let graph = graph("x.read", &values).unwrap();
            assert_eq!(arguments(&graph), values, "{text}");
            assert_eq!(graph.steps()[0].entry.edges, []);
        }
    }

    /// `exact` is written only if an argument has `${`, so that other journals keep their format.
    #[test]
    fn the_journal_of_a_plain_call_is_what_it_was() {
        let written = |values: Value| {
            let graph = graph("x.read", &values).unwrap();
            json!(graph)["steps"][0]["action"].clone()
        };
        assert_eq!(
            written(json!({"of": "a $b {c}"})),
            json!({"do": "call", "tool": "x.read", "parameters": {"of": "a $b {c}"}, "writes": false})
        );
        assert_eq!(
            written(json!({"of": "${a}"})),
            json!({"do": "call", "tool": "x.read", "parameters": {"of": "${a}"}, "exact": true, "writes": false})
        );
    }

    #[test]
    fn a_call_is_checked_before_anything_is_started() {
        let refused = graph("x.read", &json!({"m": 1, "n": "${user.n}", "of": null}));
        assert_eq!(
            refused.unwrap_err(),
            [
                "/parameters/m: the tool `x.read` has no parameter `m`",
                "/parameters/n: `n` must be of the type integer"
            ]
        );
        let missing = graph("x.needs", &json!({"n": null})).unwrap_err();
        assert_eq!(
            missing,
            ["/parameters: the tool `x.needs` needs the parameter `n`"]
        );
        assert_eq!(
            graph("x.gone", &json!({})).unwrap_err(),
            ["/tool: there is no tool `x.gone`"]
        );
    }
}
