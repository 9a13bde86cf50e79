//! Pipelines: named graphs of stages that can run again with other inputs. Seed 003 names this contract without
//! specifying it: the form is this project's, modelled on the execution plan.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::dependency::{Node, Wording, check_graph};
use crate::for_each::ForEach;
use crate::ids::{PipelineId, StepId, ToolDefinitionId};
use crate::list::MAX_LIST;
use crate::number::{Count, Positive};
use crate::parameter::{Parameter, check_parameters};
use crate::plan::{ConditionType, OnStepFailure};
use crate::schema::SchemaName;
use crate::text::{Text, Version};
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

object_only!(
    PipelineDefinition,
    Stage,
    StageCondition,
    StageRetry,
    PipelineErrorHandling
);

/// A pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PipelineDefinition {
    /// Id of the pipeline.
    pub id: PipelineId,
    /// Name of the pipeline.
    pub name: Text,
    /// Description of the pipeline.
    #[serde(default)]
    pub description: String,
    /// Version of the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Creation time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Input parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Parameter>,
    /// Stages, in listed order; at least one.
    #[schemars(length(min = 1, max = MAX_LIST))]
    #[serde(deserialize_with = "crate::list::one_or_more")]
    pub stages: Vec<Stage>,
    /// Handling of failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_handling: Option<PipelineErrorHandling>,
    /// Additional free-form data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// One stage of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Stage {
    /// Id of the stage, unique within the pipeline.
    pub id: StepId,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// Tool to call.
    pub tool: ToolDefinitionId,
    /// Arguments of the tool.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// Repeats the stage for each item of a list. Its output is the list of the items' outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_each: Option<ForEach>,
    /// Ids of the stages that must complete first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<StepId>,
    /// Condition for the stage to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<StageCondition>,
    /// Retry policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<StageRetry>,
    /// Time limit of one attempt, in milliseconds; 0 sets none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<Count>,
}

/// Condition for a stage to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct StageCondition {
    /// Type of the condition.
    #[serde(rename = "type")]
    pub condition_type: ConditionType,
    /// Id of the stage whose outcome decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage_id: Option<StepId>,
    /// CEL expression that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expression: Option<Text>,
}

/// Retry policy of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct StageRetry {
    /// Maximum number of retries after the first attempt.
    pub max_attempts: Positive,
    /// Delay between attempts, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<Count>,
}

/// Handling of failures in a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct PipelineErrorHandling {
    /// Effect of a failed stage.
    pub on_step_failure: OnStepFailure,
    /// Id of the pipeline to run instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_pipeline_id: Option<PipelineId>,
}

impl PipelineDefinition {
    fn check_condition(
        stage: &Stage,
        here: &str,
        condition: &StageCondition,
        stages: &BTreeSet<&StepId>,
        report: &mut Report,
    ) {
        let here = format!("{here}/condition");
        match (
            condition.condition_type,
            &condition.stage_id,
            &condition.expression,
        ) {
            (ConditionType::Expression, _, None) => {
                let message = "a condition of this type needs `expression`".to_owned();
                report.meaning(format!("{here}/expression"), "required", message);
            }
            (ConditionType::StepSuccess | ConditionType::StepFailure, None, _) => {
                let message = "a condition of this type needs `stage_id`".to_owned();
                report.meaning(format!("{here}/stage_id"), "required", message);
            }
            (ConditionType::StepSuccess | ConditionType::StepFailure, Some(target), _) => {
                if *target == stage.id || !stages.contains(target) {
                    let message = format!("`{target}` is not another stage of this pipeline");
                    report.meaning(format!("{here}/stage_id"), "dependency", message);
                }
            }
            (ConditionType::Expression, _, Some(_)) => {}
        }
    }
}

impl Contract for PipelineDefinition {
    const NAME: SchemaName = SchemaName::PipelineDefinition;

    fn check(&self, report: &mut Report) {
        const WORDING: Wording = Wording {
            noun: "stage",
            list: "/stages",
            name_field: "id",
            needs_field: "dependencies",
        };
        check_parameters(&self.inputs, "/inputs", report);
        let nodes: Vec<Node<'_>> = self
            .stages
            .iter()
            .map(|stage| Node {
                name: stage.id.as_str(),
                needs: stage.dependencies.iter().map(StepId::as_str).collect(),
            })
            .collect();
        check_graph(&nodes, &WORDING, report);
        let stages: BTreeSet<&StepId> = self.stages.iter().map(|stage| &stage.id).collect();
        for (at, stage) in self.stages.iter().enumerate() {
            if let Some(for_each) = &stage.for_each {
                for_each.check(&format!("/stages/{at}"), report);
            }
            if let Some(condition) = &stage.condition {
                Self::check_condition(stage, &format!("/stages/{at}"), condition, &stages, report);
            }
        }
        let Some(handling) = &self.error_handling else {
            return;
        };
        let pointer = "/error_handling/fallback_pipeline_id";
        match &handling.fallback_pipeline_id {
            None if handling.on_step_failure == OnStepFailure::ExecuteFallback => {
                let message = "`execute_fallback` needs a `fallback_pipeline_id`".to_owned();
                report.meaning(pointer, "required", message);
            }
            Some(fallback) if *fallback == self.id => {
                let message = "a pipeline cannot be its own fallback".to_owned();
                report.meaning(pointer, "cycle", message);
            }
            None | Some(_) => {}
        }
    }
}
