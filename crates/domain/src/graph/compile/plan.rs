//! Compiles an execution plan (seed 003, Execution Plan Schema) with its fallback plans.

use charter_contract::ids::StepId;
use charter_contract::plan::{ConditionType, ExecutionPlan, PlanStep, StepCondition};
use charter_contract::violation::Report;
use serde_json::{Map, Value};

use super::flow::{Claim, Flow, PlanStepSource, compile};
use super::tools::{CallableTools, Calls};
use crate::graph::{EdgeCondition, PlanSource, StepGraph};

/// Returns the graph of a plan. Plans declare no parameters: `${user.…}` may name the values in `given`, and a
/// parameter with the value `null` is absent.
///
/// # Errors
/// All problems; pointers are relative to an object with `execution_plan` and `fallbacks`.
pub fn from_plan(
    plan: &ExecutionPlan,
    fallbacks: &[ExecutionPlan],
    given: &Map<String, Value>,
    tools: &CallableTools<'_>,
) -> Result<StepGraph, Report> {
    let absent = given.iter().filter(|(_, value)| value.is_null());
    let calls = Calls {
        tools,
        parameters: given.keys().map(String::as_str).collect(),
        absent: absent.map(|(name, _)| name.as_str()).collect(),
    };
    let first = flow(plan, "/execution_plan".to_owned());
    let others = fallbacks.iter().enumerate();
    let others = others.map(|(at, plan)| flow(plan, format!("/fallbacks/{at}")));
    let flows: Vec<Flow<'_>> = [first].into_iter().chain(others).collect();
    compile(&flows, &[], &calls)
}

fn flow(plan: &ExecutionPlan, here: String) -> Flow<'_> {
    let handling = plan.error_handling.as_ref();
    let fallback = handling.and_then(|handling| handling.fallback_plan_id.as_deref());
    Flow {
        source: PlanSource::ExecutionPlan(plan.id.clone()),
        here,
        list: "/steps",
        steps: plan.steps.as_slice().iter().map(written).collect(),
        ids: plan
            .steps
            .as_slice()
            .iter()
            .map(|step| step.id.as_ref())
            .collect(),
        on_failure: handling
            .and_then(|handling| handling.on_step_failure)
            .unwrap_or_default(),
        fallback: (fallback, "fallback_plan_id"),
    }
}

fn written(step: &PlanStep) -> PlanStepSource<'_> {
    let retry = step.retry.as_ref();
    let retries = retry.and_then(|retry| retry.max_attempts);
    let delay = retry.and_then(|retry| retry.delay_ms);
    PlanStepSource {
        id: StepId::from(&step.id),
        tool: &step.tool,
        parameters: &step.parameters,
        // The contract ensures that the field can be read.
        for_each: step.for_each().ok().flatten(),
        dependencies: step
            .dependencies
            .iter()
            .flatten()
            .map(StepId::from)
            .collect(),
        condition: step.condition.as_ref().and_then(claim),
        retries: retries.map_or(0, |retries| retries.get()),
        delay_ms: delay.map_or(0, |delay| delay.get()),
        timeout_ms: step.timeout_ms.map_or(0, |limit| limit.get()),
    }
}

/// The contract ensures that the fields that the type requires are present.
fn claim(condition: &StepCondition) -> Option<Claim<'_>> {
    let target = || StepId::parse(condition.step_id.as_deref()?).ok();
    match condition.condition_type? {
        ConditionType::StepSuccess => Some(Claim::Of(target()?, EdgeCondition::Success)),
        ConditionType::StepFailure => Some(Claim::Of(target()?, EdgeCondition::Failure)),
        ConditionType::Expression => Some(Claim::Expression(condition.expression.as_deref()?)),
    }
}
