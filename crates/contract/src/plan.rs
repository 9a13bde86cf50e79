//! Execution plans (003 Execution Plan Schema). Tools and their parameters are checked where the catalogue is known.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::dependency::{Node, Wording, check_graph};
use crate::for_each::ForEach;
use crate::ids::{PlanId, PlanStepId, RequestId};
use crate::number::{Count, Positive};
use crate::optional::present;
use crate::schema::SchemaName;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

/// An execution plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionPlan {
    /// Id of the plan.
    pub id: PlanId,
    /// Request that the plan serves.
    pub request_id: RequestId,
    /// Creation time.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<Timestamp>,
    /// Steps, in listed order; at least one.
    pub steps: PlanSteps,
    /// Handling of failures.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub error_handling: Option<ErrorHandling>,
    /// Additional free-form data.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<Map<String, Value>>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A list of at least one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<PlanStep>", into = "Vec<PlanStep>")]
pub struct PlanSteps(Vec<PlanStep>);

/// Error: a plan without a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a plan needs at least one step")]
pub struct NoSteps;

impl TryFrom<Vec<PlanStep>> for PlanSteps {
    type Error = NoSteps;

    fn try_from(steps: Vec<PlanStep>) -> Result<Self, NoSteps> {
        if steps.is_empty() {
            Err(NoSteps)
        } else {
            Ok(Self(steps))
        }
    }
}

impl From<PlanSteps> for Vec<PlanStep> {
    fn from(steps: PlanSteps) -> Self {
        steps.0
    }
}

impl PlanSteps {
    /// Returns the steps as a slice.
    #[must_use]
    pub fn as_slice(&self) -> &[PlanStep] {
        &self.0
    }
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// Id of the step: `step-001`.
    pub id: PlanStepId,
    /// Display name.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    /// Tool to call.
    pub tool: String,
    /// Arguments of the tool.
    pub parameters: Map<String, Value>,
    /// Ids of the steps that must complete first.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub dependencies: Option<Vec<PlanStepId>>,
    /// Condition for the step to run; if it is false, the step is skipped (B003-6).
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub condition: Option<StepCondition>,
    /// Retry policy (B003-7).
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub retry: Option<Retry>,
    /// Time limit of one attempt, in milliseconds; 0 sets none (B003-7).
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub timeout_ms: Option<Count>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The field of a step that repeats it for each item of a list (this project).
const FOR_EACH: &str = "for_each";

impl PlanStep {
    /// Returns the repetition of the step (this project), a field outside the seed's schema.
    ///
    /// # Errors
    /// The reason why the field cannot be read.
    pub fn for_each(&self) -> Result<Option<ForEach>, serde_json::Error> {
        let given = self.extra.get(FOR_EACH);
        given.map(<ForEach as Deserialize>::deserialize).transpose()
    }
}

/// Condition for a step to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct StepCondition {
    /// Type of the condition.
    #[serde(
        rename = "type",
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub condition_type: Option<ConditionType>,
    /// Id of the step whose outcome decides.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub step_id: Option<String>,
    /// CEL expression that decides.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub expression: Option<String>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

string_enum! {
    /// Type of a condition (003 Execution Plan Schema).
    pub enum ConditionType {
        /// Another step succeeded.
        StepSuccess = "step_success",
        /// Another step failed.
        StepFailure = "step_failure",
        /// An expression is true.
        Expression = "expression",
    }
}

/// Retry policy of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Retry {
    /// Maximum number of retries after the first attempt.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_attempts: Option<Positive>,
    /// Delay between attempts, in milliseconds.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub delay_ms: Option<Count>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Handling of failures in a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ErrorHandling {
    /// Effect of a failed step.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub on_step_failure: Option<OnStepFailure>,
    /// Id of the plan to run instead.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub fallback_plan_id: Option<String>,
    /// Fields outside the seed's schema.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

string_enum! {
    /// Effect of a failed step (B003-8).
    #[derive(Default)]
    pub enum OnStepFailure {
        /// Cancels the steps that have not started.
        #[default]
        AbortPlan = "abort_plan",
        /// Skips the steps that depend on it and runs the rest.
        ContinuePlan = "continue_plan",
        /// Runs the fallback plan once.
        ExecuteFallback = "execute_fallback",
    }
}

impl ExecutionPlan {
    fn check_condition(
        step: &PlanStep,
        here: &str,
        condition: &StepCondition,
        steps: &BTreeSet<&str>,
        report: &mut Report,
    ) {
        let here = format!("{here}/condition");
        let missing = |field: &str| format!("a condition of this type needs `{field}`");
        match condition.condition_type {
            None => report.meaning(&*here, "required", "a condition needs a `type`".to_owned()),
            Some(ConditionType::Expression) => {
                if condition.expression.as_deref().is_none_or(str::is_empty) {
                    report.meaning(
                        format!("{here}/expression"),
                        "required",
                        missing("expression"),
                    );
                }
            }
            Some(ConditionType::StepSuccess | ConditionType::StepFailure) => {
                match condition.step_id.as_deref() {
                    None => {
                        report.meaning(format!("{here}/step_id"), "required", missing("step_id"));
                    }
                    Some(target) if target == step.id.as_str() => {
                        let message = format!("`{target}` depends on its own outcome");
                        report.meaning(format!("{here}/step_id"), "cycle", message);
                    }
                    Some(target) if !steps.contains(target) => {
                        let message = format!("`{target}` is not a step here");
                        report.meaning(format!("{here}/step_id"), "dependency", message);
                    }
                    Some(_) => {}
                }
            }
        }
    }
}

impl Contract for ExecutionPlan {
    const NAME: SchemaName = SchemaName::ExecutionPlan;

    // The static part of B003-5, and the plans that B003-8 rejects at load.
    fn check(&self, report: &mut Report) {
        const WORDING: Wording = Wording {
            noun: "step",
            list: "/steps",
            name_field: "id",
            needs_field: "dependencies",
        };
        let steps = self.steps.as_slice();
        let nodes: Vec<Node<'_>> = steps
            .iter()
            .map(|step| Node {
                name: step.id.as_str(),
                needs: step
                    .dependencies
                    .iter()
                    .flatten()
                    .map(PlanStepId::as_str)
                    .collect(),
            })
            .collect();
        check_graph(&nodes, &WORDING, report);
        let ids: BTreeSet<&str> = steps.iter().map(|step| step.id.as_str()).collect();
        for (at, step) in steps.iter().enumerate() {
            let here = format!("/steps/{at}");
            match step.for_each() {
                Ok(Some(for_each)) => for_each.check(&here, report),
                Ok(None) => {}
                Err(error) => {
                    report.meaning(format!("{here}/{FOR_EACH}"), "type", error.to_string());
                }
            }
            if let Some(condition) = &step.condition {
                Self::check_condition(step, &format!("/steps/{at}"), condition, &ids, report);
            }
        }
        let Some(handling) = &self.error_handling else {
            return;
        };
        let fallback = handling
            .fallback_plan_id
            .as_deref()
            .filter(|id| !id.is_empty());
        match handling.on_step_failure {
            Some(OnStepFailure::ExecuteFallback) if fallback.is_none() => {
                let message = "`execute_fallback` needs a `fallback_plan_id`".to_owned();
                report.meaning("/error_handling/fallback_plan_id", "required", message);
            }
            None
            | Some(
                OnStepFailure::ExecuteFallback
                | OnStepFailure::AbortPlan
                | OnStepFailure::ContinuePlan,
            ) => {}
        }
        if fallback == Some(self.id.as_str()) {
            let message = "a plan cannot be its own fallback".to_owned();
            report.meaning("/error_handling/fallback_plan_id", "cycle", message);
        }
    }
}
