//! What a caller sent to be run, where that is no document of the catalogue.

use charter_contract::catalogue::policy::RunKind;
use charter_contract::ids::{MissionId, PipelineId, PlanId, TreeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A plan that came with the order to run it. Nobody registered it, so nobody reviewed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SkipSource")]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Source {
    /// An `ExecutionPlan` (seed 003).
    ExecutionPlan(PlanId),
    /// A `PipelineDefinition` (named in seed 003).
    Pipeline(PipelineId),
    /// A `DecisionTree` (named in seed 003).
    DecisionTree(TreeId),
    /// A mission (seed 002). Its kind is registered, and it says itself what a person approves.
    Mission(MissionId),
}

impl Source {
    /// What policies call it.
    #[must_use]
    pub const fn kind(&self) -> RunKind {
        match self {
            Self::ExecutionPlan(_) => RunKind::ExecutionPlan,
            Self::Pipeline(_) => RunKind::Pipeline,
            Self::DecisionTree(_) => RunKind::DecisionTree,
            Self::Mission(_) => RunKind::Mission,
        }
    }

    /// Whether nobody registered what is executed.
    #[must_use]
    pub const fn is_unregistered(&self) -> bool {
        !matches!(self, Self::Mission(_))
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::ExecutionPlan(id) => id.as_ref(),
            Self::Pipeline(id) => id.as_ref(),
            Self::DecisionTree(id) => id.as_ref(),
            Self::Mission(id) => id.as_ref(),
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
        }
    }
}
