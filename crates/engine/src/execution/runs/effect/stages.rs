//! The interface between a run and its mission. Missions implement it, so that runs do not know them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::catalogue::policy::MissionFacts;
use charter_contract::catalogue::stage::Stage;
use charter_contract::catalogue::tool::Tool;
use charter_contract::ids::{StepId, TaskId, TenantId, UserId};
use charter_contract::time::Timestamp;
use charter_domain::graph::GraphAdditions;
use charter_domain::mission::StageOutput;
use charter_domain::run::{DocumentPin, ErrorKind, Run, StepFailure, TokenUsage};
use charter_store::mission::ArtifactRecord;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{PinnedTool, failure};
use crate::EngineError;

/// Executes the stages of one mission, and decides which calls its tasks may make.
#[async_trait]
pub(crate) trait StageRunner: fmt::Debug + Send + Sync {
    /// The id of the mission's type.
    fn kind_id(&self) -> &str;

    /// The facts that policies may read.
    fn facts(&self) -> MissionFacts;

    /// A stage with its input, at the moment at which it begins. `key` is the same for every attempt.
    ///
    /// # Errors
    /// When the run lacks what the stage needs.
    fn prepare(
        self: Arc<Self>,
        run: &Run,
        stage: Stage,
        parameters: &Map<String, Value>,
        key: String,
    ) -> Result<Box<dyn StageWork>, StepFailure>;

    /// Why a call for a task is refused, with the id of what refuses it: its package does not name the tool
    /// (B002-5), or its pass has expired or does not cover what the tool reads (B002-8).
    ///
    /// # Errors
    /// When the run lacks the task's package.
    fn refusal(
        &self,
        run: &Run,
        task: &TaskId,
        tool: &Tool,
        now: Timestamp,
    ) -> Result<Option<(String, String)>, StepFailure>;

    /// Takes what a step made into the mission: a stage's artifacts, which are written with its end, or
    /// the call of a tool, which results may name from now on.
    ///
    /// # Errors
    /// When the mission does not admit an artifact.
    fn admit(
        &self,
        run: &Run,
        step: &StepId,
        output: &Value,
    ) -> Result<Vec<ArtifactRecord>, StepFailure>;

    /// Ends the waits of stages for outside agents, because the run was called off. A repeat has no further effect.
    ///
    /// # Errors
    /// Errors of storage.
    async fn stop_waiting(&self, tenant: &TenantId) -> Result<(), EngineError>;
}

/// A stage that is about to be carried out.
#[async_trait]
pub(crate) trait StageWork: fmt::Debug + Send + Sync {
    /// Carries the stage out.
    async fn run(self: Box<Self>, cancel: &CancellationToken) -> Result<StageResult, StageFailure>;
}

/// The result of a stage.
#[derive(Debug, Default)]
pub(crate) struct StageResult {
    pub(crate) output: StageOutput,
    pub(crate) growth: GraphAdditions,
    /// The documents that the new steps call, in the version that is pinned for them.
    pub(crate) tools: Vec<(DocumentPin, PinnedTool)>,
    pub(crate) tokens: TokenUsage,
    /// The users whose agents made the result, and the makers of their credentials.
    pub(crate) contributors: BTreeSet<UserId>,
}

/// A stage that came to nothing.
#[derive(Debug)]
pub(crate) struct StageFailure {
    pub(crate) failure: StepFailure,
    pub(crate) tokens: TokenUsage,
}

impl From<StepFailure> for StageFailure {
    fn from(failure: StepFailure) -> Self {
        Self {
            failure,
            tokens: TokenUsage::default(),
        }
    }
}

impl From<EngineError> for StageFailure {
    fn from(error: EngineError) -> Self {
        let retryable = error.code.retryable();
        let kind = ErrorKind::SystemError;
        StepFailure {
            retryable,
            ..failure(kind, error.code, error.to_string())
        }
        .into()
    }
}
