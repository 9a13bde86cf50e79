//! Derives steps from the contracts of tools: an output that a tool promises feeds a parameter of exactly the same name
//! and type. The user is asked for every other required parameter.

use charter_contract::catalogue::tool::Tool;
use charter_contract::foreign_schema::ForeignSchema;
use charter_contract::ids::{Label, StepId, ToolId};
use charter_contract::parameter::Parameter;
use serde_json::{Map, Value};

use super::NoFit;
use super::boundary::Reversal;
use crate::parameters::means_the_same;
use crate::reference::{Reference, references};

/// Steps in order, with the parameters of the whole plan.
#[derive(Debug, Default)]
pub(super) struct Plan<'b> {
    pub(super) steps: Vec<PlannedStep<'b>>,
    /// Required parameters, and parameters with a default.
    pub(super) parameters: Vec<Parameter>,
}

/// One step.
#[derive(Debug)]
pub(super) struct PlannedStep<'b> {
    pub(super) id: StepId,
    pub(super) tool: &'b Tool,
    pub(super) arguments: Map<String, Value>,
}

impl<'b> Plan<'b> {
    /// Builds the plan that calls every goal, each after the feeders whose outputs it uses.
    pub(super) fn reaching(goals: &[&'b Tool], feeders: &[&'b Tool]) -> Result<Self, NoFit> {
        let mut plan = Self::default();
        for goal in goals {
            plan.add(goal, feeders, &mut Vec::new())?;
        }
        Ok(plan)
    }

    /// Adds the step that calls a tool. `waiting` holds the tools whose inputs are being resolved.
    fn add(
        &mut self,
        tool: &'b Tool,
        feeders: &[&'b Tool],
        waiting: &mut Vec<&'b ToolId>,
    ) -> Result<StepId, NoFit> {
        let known = self
            .steps
            .iter()
            .find(|step| step.tool.tool_id == tool.tool_id);
        if let Some(known) = known {
            return Ok(known.id.clone());
        }
        waiting.push(&tool.tool_id);
        let mut fed: Vec<(&Label, StepId)> = Vec::new();
        for parameter in tool.parameters().iter().filter(|p| is_needed(p)) {
            let mut free = feeders
                .iter()
                .filter(|feeder| !waiting.contains(&&feeder.tool_id));
            if let Some(feeder) = free.find(|feeder| supplies(feeder, parameter)) {
                fed.push((&parameter.name, self.add(feeder, feeders, waiting)?));
            }
        }
        waiting.pop();
        let id = StepId::parse(&format!("step_{}", self.steps.len() + 1))?;
        let mut arguments = Map::new();
        for parameter in tool.parameters() {
            let source = fed.iter().find(|(name, _)| **name == parameter.name);
            let reference = match source {
                Some((name, step)) => format!("${{{step}.{name}}}"),
                None if !is_declared(parameter) => continue,
                None if !is_referable(&parameter.name) => {
                    return Err(NoFit::Unreferable {
                        tool: tool.tool_id.clone(),
                        parameter: parameter.name.to_string(),
                    });
                }
                None => format!("${{user.{}}}", self.declare(&id, parameter)?),
            };
            arguments.insert(parameter.name.to_string(), Value::String(reference));
        }
        self.steps.push(PlannedStep {
            id: id.clone(),
            tool,
            arguments,
        });
        Ok(id)
    }

    /// Declares a tool's parameter and returns its name in the plan: its own name, unless another tool has a different
    /// parameter with that name.
    fn declare(&mut self, step: &StepId, parameter: &Parameter) -> Result<Label, NoFit> {
        let mut declared = Parameter {
            required: is_needed(parameter),
            ..parameter.clone()
        };
        loop {
            let known = self.parameters.iter().find(|p| p.name == declared.name);
            match known {
                Some(known) if means_the_same(known, &declared) => return Ok(declared.name),
                Some(_) => {
                    let own = format!("{step}_{}", declared.name);
                    declared.name = Label::parse(&own)?;
                }
                None => break,
            }
        }
        let name = declared.name.clone();
        self.parameters.push(declared);
        Ok(name)
    }

    /// Rewrites a reversal's arguments for this plan; `None` if they need a value that the plan does not have.
    pub(super) fn translated(
        &self,
        of: &StepId,
        reversal: &Reversal,
    ) -> Option<Map<String, Value>> {
        let step = self.steps.iter().find(|step| step.id == *of)?;
        let translate = |value: &Value| {
            let found = references(value).ok()?;
            let Some(reference) = found.first() else {
                return Some(value.clone());
            };
            // A reference inside a longer text, or beside other references, is not supported.
            (value.as_str() == Some(reference.to_string().as_str())).then_some(())?;
            match reference {
                Reference::Output { step: from, path } if *from == reversal.step => {
                    let here = Reference::Output {
                        step: of.clone(),
                        path: path.clone(),
                    };
                    Some(Value::String(here.to_string()))
                }
                Reference::Output { .. } => None,
                // The argument that the registered step received under this name exists here as well.
                Reference::Parameter(_) => {
                    let mut forward = reversal.forward.iter();
                    let (argument, _) = forward.find(|(_, given)| *given == value)?;
                    step.arguments.get(argument).cloned()
                }
            }
        };
        let arguments = reversal.arguments.iter();
        arguments
            .map(|(name, value)| Some((name.clone(), translate(value)?)))
            .collect()
    }
}

/// Returns whether a call requires a value for the parameter.
pub(super) fn is_needed(parameter: &Parameter) -> bool {
    parameter.required && parameter.default.is_none()
}

/// Returns whether the parameter becomes one of the candidate's. An optional parameter without a default is left out,
/// because a reference to it would have no value.
fn is_declared(parameter: &Parameter) -> bool {
    parameter.required || parameter.default.is_some()
}

/// Returns whether `${user.name}` is valid for this name: a dot would begin a path.
fn is_referable(name: &Label) -> bool {
    !name.as_ref().contains('.')
}

/// Returns whether a tool's contract promises a value of exactly this name and type. A tool that takes a parameter of
/// that name only repeats it. A restriction beyond the type cannot be guaranteed.
fn supplies(feeder: &Tool, parameter: &Parameter) -> bool {
    let restricted = parameter.allowed.is_some() || parameter.pattern.is_some();
    let repeats = feeder
        .parameters()
        .iter()
        .any(|own| own.name == parameter.name);
    let Some(schema) = feeder.output_schema.as_ref().map(ForeignSchema::json) else {
        return false;
    };
    let name = parameter.name.as_ref();
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let property = schema.get("properties").and_then(|fields| fields.get(name));
    let promised = schema.get("required").and_then(Value::as_array);
    let promised = promised.is_some_and(|names| names.iter().any(|known| known == name));
    let fits = text(property.and_then(|property| property.get("type")))
        .is_some_and(|kind| kind == parameter.kind.as_str());
    let is_object = text(schema.get("type")).is_some_and(|kind| kind == "object");
    is_object && promised && fits && !restricted && !repeats && is_referable(&parameter.name)
}
