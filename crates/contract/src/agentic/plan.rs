//! Execution plans (003 Execution Plan Schema). Which tools exist and what their
//! parameters are is checked where the catalogue is known.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::optional::present;
use crate::dependency::{Node, Wording, check_graph};
use crate::ids::{PlanId, PlanStepId, RequestId};
use crate::number::{Count, Positive};
use crate::schema::SchemaName;
use crate::time::Timestamp;
use crate::validate::Contract;
use crate::violation::Report;

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionPlan {
    /// Its id.
    pub id: PlanId,
    /// The request it is for.
    pub request_id: RequestId,
    /// When it was made.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<Timestamp>,
    /// Its steps, in listed order; at least one.
    pub steps: PlanSteps,
    /// What a failure does.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub error_handling: Option<ErrorHandling>,
    /// Anything else about it.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub metadata: Option<Map<String, Value>>,
    /// Fields that the seed does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// At least one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<PlanStep>", into = "Vec<PlanStep>")]
pub struct PlanSteps(Vec<PlanStep>);

/// A plan without a step.
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
    /// The steps.
    #[must_use]
    pub fn as_slice(&self) -> &[PlanStep] {
        &self.0
    }
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// Its id: `step-001`.
    pub id: PlanStepId,
    /// Its name for people.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    /// The tool it calls.
    pub tool: String,
    /// The tool's arguments.
    pub parameters: Map<String, Value>,
    /// Steps that must complete first.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub dependencies: Option<Vec<PlanStepId>>,
    /// What must hold for it to run; otherwise it is skipped (B003-6).
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub condition: Option<StepCondition>,
    /// How it is tried again (B003-7).
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
    /// Fields that the seed does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What must hold for a step to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct StepCondition {
    /// What is looked at.
    #[serde(
        rename = "type",
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub condition_type: Option<ConditionType>,
    /// The step whose outcome is looked at.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub step_id: Option<String>,
    /// The expression that is evaluated.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub expression: Option<String>,
    /// Fields that the seed does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

string_enum! {
    /// What a condition looks at (003 Execution Plan Schema).
    pub enum ConditionType {
        /// That a step succeeded.
        StepSuccess = "step_success",
        /// That a step failed.
        StepFailure = "step_failure",
        /// That an expression is true.
        Expression = "expression",
    }
}

/// How a step is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Retry {
    /// Retries after the first attempt.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_attempts: Option<Positive>,
    /// Time between attempts, in milliseconds.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub delay_ms: Option<Count>,
    /// Fields that the seed does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a failure does to the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ErrorHandling {
    /// What happens when a step fails.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub on_step_failure: Option<OnStepFailure>,
    /// The plan that is run instead.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub fallback_plan_id: Option<String>,
    /// Fields that the seed does not name.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

string_enum! {
    /// What happens when a step fails (B003-8).
    #[derive(Default)]
    pub enum OnStepFailure {
        /// What has not started is cancelled.
        #[default]
        AbortPlan = "abort_plan",
        /// Its dependants are skipped, the rest runs.
        ContinuePlan = "continue_plan",
        /// The fallback plan runs once.
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

    // The static part of B003-5, and what B003-8 refuses at load.
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
