//! What a caller sent to be run, where that is no document of the catalogue.

use charter_contract::catalogue::policy::RunKind;
use charter_contract::ids::{MissionId, PipelineId, PlanId, RequestId, TreeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A plan that came with the order to run it. Nobody registered it, so nobody reviewed it.
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
    /// A mission (seed 002). Its kind is registered, and it says itself what a person approves.
    Mission(MissionId),
    /// The results of a request's runs, which a model puts into words.
    Analysis(RequestId),
}

impl PlanSource {
    /// What policies call it.
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

    /// Whether nobody registered what is executed.
    #[must_use]
    pub const fn is_unregistered(&self) -> bool {
        match self {
            Self::ExecutionPlan(_) | Self::Pipeline(_) | Self::DecisionTree(_) => true,
            Self::Mission(_) | Self::Analysis(_) => false,
        }
    }

    /// Its id.
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

    /// What people call it.
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
