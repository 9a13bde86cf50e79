//! Compiles a pipeline (named in seed 003) with its fallback pipelines.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::agentic::pipeline_definition::{PipelineDefinition, Stage, StageCondition};
use charter_contract::parameter::{Parameter, ParameterType};
use charter_contract::plan::{ConditionType, OnStepFailure};
use charter_contract::violation::Report;

use super::flow::{Claim, Flow, PlanStepSource, compile};
use super::tools::{CallableTools, Calls};
use crate::graph::{EdgeCondition, PlanSource, StepGraph};

/// Returns the stages of a pipeline as steps, and the run's parameters: the inputs of the pipeline and of its
/// fallbacks, which run with the same values.
///
/// # Errors
/// All problems; pointers are relative to an object with `pipeline` and `fallbacks`.
pub fn from_pipeline(
    pipeline: &PipelineDefinition,
    fallbacks: &[PipelineDefinition],
    tools: &CallableTools<'_>,
) -> Result<(StepGraph, Vec<Parameter>), Report> {
    let mut report = Report::new();
    let mut inputs = pipeline.inputs.clone();
    let mut kinds: BTreeMap<&str, ParameterType> = BTreeMap::new();
    for input in &pipeline.inputs {
        kinds.entry(input.name.as_str()).or_insert(input.kind);
    }
    for (at, fallback) in fallbacks.iter().enumerate() {
        for (place, input) in fallback.inputs.iter().enumerate() {
            match kinds.get(input.name.as_str()).copied() {
                None => {
                    kinds.insert(input.name.as_str(), input.kind);
                    inputs.push(input.clone());
                }
                Some(known) if known == input.kind => {}
                Some(known) => {
                    let pointer = format!("/fallbacks/{at}/inputs/{place}/type");
                    let message = format!("`{}` already has the type {known}", input.name);
                    report.consistency(pointer, "type", message);
                }
            }
        }
    }
    let calls = Calls {
        tools,
        parameters: inputs.iter().map(|input| input.name.as_ref()).collect(),
        absent: BTreeSet::new(),
    };
    let first = flow(pipeline, "/pipeline".to_owned());
    let others = fallbacks.iter().enumerate();
    let others = others.map(|(at, pipeline)| flow(pipeline, format!("/fallbacks/{at}")));
    let flows: Vec<Flow<'_>> = [first].into_iter().chain(others).collect();
    match compile(&flows, &inputs, &calls) {
        Ok(graph) if report.violations.is_empty() => Ok((graph, inputs)),
        Ok(_) => Err(report),
        Err(more) => {
            more.violations.into_iter().for_each(|v| report.push(v));
            Err(report)
        }
    }
}

fn flow(pipeline: &PipelineDefinition, here: String) -> Flow<'_> {
    let handling = pipeline.error_handling.as_ref();
    let fallback = handling.and_then(|handling| handling.fallback_pipeline_id.as_ref());
    Flow {
        source: PlanSource::Pipeline(pipeline.id.clone()),
        here,
        list: "/stages",
        steps: pipeline.stages.iter().map(written).collect(),
        ids: pipeline
            .stages
            .iter()
            .map(|stage| stage.id.as_ref())
            .collect(),
        on_failure: handling.map_or(OnStepFailure::default(), |handling| {
            handling.on_step_failure
        }),
        fallback: (fallback.map(AsRef::as_ref), "fallback_pipeline_id"),
    }
}

fn written(stage: &Stage) -> PlanStepSource<'_> {
    let retry = stage.retry.as_ref();
    let delay = retry.and_then(|retry| retry.delay_ms);
    PlanStepSource {
        id: stage.id.clone(),
        tool: stage.tool.as_ref(),
        parameters: &stage.parameters,
        for_each: stage.for_each.clone(),
        dependencies: stage.dependencies.clone(),
        condition: stage.condition.as_ref().and_then(claim),
        retries: retry.map_or(0, |retry| retry.max_attempts.get()),
        delay_ms: delay.map_or(0, |delay| delay.get()),
        timeout_ms: stage.timeout_ms.map_or(0, |limit| limit.get()),
    }
}

/// The contract ensures that the fields that the type requires are present.
fn claim(condition: &StageCondition) -> Option<Claim<'_>> {
    let target = || condition.stage_id.clone();
    match condition.condition_type {
        ConditionType::StepSuccess => Some(Claim::Of(target()?, EdgeCondition::Success)),
        ConditionType::StepFailure => Some(Claim::Of(target()?, EdgeCondition::Failure)),
        ConditionType::Expression => {
            let expression = condition.expression.as_ref()?;
            Some(Claim::Expression(expression.as_str()))
        }
    }
}
