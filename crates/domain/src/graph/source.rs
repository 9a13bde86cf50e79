//! The source of a graph that is not a document of the catalogue.

use charter_contract::catalogue::policy::RunKind;
use charter_contract::ids::{MissionId, PipelineId, PlanId, RequestId, TreeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A plan that was sent with the request to run it, so it is neither registered nor reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PlanSource")]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum PlanSource {
    /// An `ExecutionPlan` (seed 003).
    ExecutionPlan(PlanId),
    /// A `PipelineDefinition` (named in seed 003).
    Pipeline(PipelineId),
    /// A `DecisionTree` (named in seed 003).
    DecisionTree(TreeId),
    /// A mission (seed 002). Its type is registered and defines what needs approval.
    Mission(MissionId),
    /// An analysis, in which a model summarises the results of a request's runs.
    Analysis(RequestId),
}

impl PlanSource {
    /// Returns the kind that policies use.
    #[must_use]
    pub const fn kind(&self) -> RunKind {
        match self {
            Self::ExecutionPlan(_) => RunKind::ExecutionPlan,
            Self::Pipeline(_) => RunKind::Pipeline,
            Self::DecisionTree(_) => RunKind::DecisionTree,
            Self::Mission(_) => RunKind::Mission,
            Self::Analysis(_) => RunKind::Analysis,
        }
    }

    /// Returns whether the executed document is unregistered.
    #[must_use]
    pub const fn is_unregistered(&self) -> bool {
        match self {
            Self::ExecutionPlan(_) | Self::Pipeline(_) | Self::DecisionTree(_) => true,
            Self::Mission(_) | Self::Analysis(_) => false,
        }
    }

    /// Returns the id.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::ExecutionPlan(id) => id.as_ref(),
            Self::Pipeline(id) => id.as_ref(),
            Self::DecisionTree(id) => id.as_ref(),
            Self::Mission(id) => id.as_ref(),
            Self::Analysis(id) => id.as_ref(),
        }
    }

    /// Returns the noun for people.
    #[must_use]
    pub const fn noun(&self) -> &'static str {
        match self {
            Self::ExecutionPlan(_) => "execution plan",
            Self::Pipeline(_) => "pipeline",
            Self::DecisionTree(_) => "decision tree",
            Self::Mission(_) => "mission",
            Self::Analysis(_) => "analysis",
        }
    }
}
