//! Events of a run, as the journal keeps them. A published form is never changed, only added to.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{ApprovalId, Label, RunId, StepId, UserId};
use charter_contract::json::{memory_of, memory_of_fields};
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::approval::{Digest, ExactCall};
use crate::gate::GateDecision;
use crate::graph::{GraphAdditions, Step, StepGraph};
use crate::guardrail::RequestTags;
use crate::parameters::ValueSource;

/// A document version that a run executes: what it was when the run started, whatever is
/// registered later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DocumentPin")]
pub struct DocumentPin {
    /// Which collection.
    pub kind: DocumentKind,
    /// The document.
    pub id: String,
    /// The tenant whose layer it was found in; absent for the global one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<charter_contract::ids::TenantId>,
    /// Its package.
    pub package: String,
    /// Its package's version.
    pub version: String,
    /// `sha256:…` of its content.
    pub content_hash: String,
}

/// The six kinds of failure that a client may see (seed 003, Error Schema).
pub use charter_contract::agentic::error::ErrorType as ErrorKind;

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepFailure {
    /// Which of the six kinds.
    pub kind: ErrorKind,
    /// Stable code, e.g. `tool_failed`.
    pub code: String,
    /// What a person is told; no secrets, no paths.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

/// Where a step's result came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultSource {
    /// The effect happened in this run.
    Fresh,
    /// An earlier result of the same call, still within `cache_ttl_seconds`.
    Cached,
    /// There was no effect: the machine worked it out from what it knew.
    Decided,
    /// The effect was interrupted, and a person says that it happened.
    Reported {
        /// Who.
        by: UserId,
        /// The makers of their key.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        makers: BTreeSet<UserId>,
        /// The question that this answers.
        approval: ApprovalId,
        /// How they know, in their words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// Tokens that models used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TokenUsage")]
pub struct TokenUsage {
    /// That they were sent.
    pub input: u64,
    /// That they answered.
    pub output: u64,
}

impl TokenUsage {
    /// What counts against a budget.
    #[must_use]
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Whether none were used.
    #[must_use]
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde asks for a reference"
    )]
    pub fn is_none(&self) -> bool {
        self.total() == 0
    }

    /// These without those.
    #[must_use]
    pub fn without(self, those: Self) -> Self {
        Self {
            input: self.input.saturating_sub(those.input),
            output: self.output.saturating_sub(those.output),
        }
    }

    /// These and those.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
        }
    }
}

/// What a step's result brings besides its output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepYield")]
pub struct StepYield {
    /// Tokens that were used for it.
    #[serde(default, skip_serializing_if = "TokenUsage::is_none")]
    pub tokens: TokenUsage,
    /// What it adds to the graph.
    #[serde(default, skip_serializing_if = "GraphAdditions::is_empty")]
    pub growth: GraphAdditions,
    /// The versions that the new steps execute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<DocumentPin>,
}

/// What a run needs before its first step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunPrerequisites")]
pub struct RunPrerequisites {
    /// Whether a person has to see the plan and agree to it.
    pub confirm: bool,
    /// The mandatory parameters that have no value yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Label>,
    /// The parameter whose value has to be typed to confirm (`destructive`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed: Option<Label>,
    /// Where the values of its parameters come from, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, ValueSource>,
    /// Why words of the request give no value of a missing parameter, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unclear: BTreeMap<String, String>,
    /// Tokens that a model used to draft values of its parameters.
    #[serde(default, skip_serializing_if = "TokenUsage::is_none")]
    pub tokens: TokenUsage,
}

/// A run's first event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunStarted")]
pub struct RunStart {
    /// The run.
    pub run_id: RunId,
    /// On whose behalf it acts.
    pub by: UserId,
    /// Whose it is, where that is not who started it: whose the run is that it rolls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// Users who asked for it besides `by`: the makers of the key that started it, and the askers of the run
    /// that it rolls back.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub askers: BTreeSet<UserId>,
    /// What they may do.
    pub role: Role,
    /// What it executes.
    pub graph: StepGraph,
    /// Values of the declared parameters.
    pub parameters: Map<String, Value>,
    /// The versions it executes.
    pub pins: Vec<DocumentPin>,
    /// Whether nothing is to be changed (B000-18).
    #[serde(default)]
    pub dry_run: bool,
    /// What it needs before its first step.
    #[serde(default)]
    pub opening: RunPrerequisites,
    /// The request that it is for, as guardrails read it; absent in journals that do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<RequestTags>,
}

/// An effect that is about to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepBegun")]
pub struct EffectStart {
    /// The step.
    pub step: StepId,
    /// From 1.
    pub attempt: u32,
    /// The same for every attempt.
    pub idempotency_key: String,
    /// The resolved parameters.
    pub parameters: Map<String, Value>,
    /// What the gate said.
    pub policy_decision: GateDecision,
    /// When the approval lapses that it began under; absent where none was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_expires_at: Option<Timestamp>,
}

/// A person is asked about one exact call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalRequest")]
pub struct ApprovalRequest {
    /// The step.
    pub step: StepId,
    /// The approval's record.
    pub approval: ApprovalId,
    /// What the decision is bound to.
    pub digest: Digest,
    /// The call.
    pub call: ExactCall,
    /// What the gate said.
    pub policy_decision: GateDecision,
    /// When it lapses.
    pub expires_at: Timestamp,
}

/// Why a step does not start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum SkipReason {
    /// What it waited for did not come about.
    Source {
        /// The earlier step.
        step: StepId,
    },
    /// Its expression is false.
    Condition,
    /// It writes, its tool knows no dry run, and the run is one.
    DryRun,
}

/// Why a run stops before its way is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum StopCause {
    /// A step failed that the run cannot do without.
    Failure {
        /// The step.
        step: StepId,
        /// Why.
        failure: StepFailure,
    },
    /// Somebody stopped it.
    Aborted {
        /// Who.
        by: UserId,
        /// Why.
        reason: String,
    },
    /// Its time limit was over.
    TimedOut,
    /// Its token budget was used up (B002-17).
    #[serde(alias = "tokens_used_up")]
    TokenBudgetExhausted,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// The run exists. Always first.
    Started(Box<RunStart>),
    /// Values were given for declared parameters.
    ParametersGiven {
        /// Who gave them; absent in journals that do not name them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<UserId>,
        /// The makers of their key.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        makers: BTreeSet<UserId>,
        /// All values known now.
        parameters: Map<String, Value>,
        /// Mandatory ones that are still missing.
        missing: Vec<Label>,
        /// Where all values come from; absent in journals of earlier versions.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        sources: BTreeMap<String, ValueSource>,
    },
    /// A person saw the plan and agreed to run it.
    Confirmed {
        /// Who.
        by: UserId,
        /// The makers of their key.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        makers: BTreeSet<UserId>,
        /// What they saw.
        digest: Digest,
    },
    /// An effect is about to start.
    StepBegun(EffectStart),
    /// The gate does not allow an effect.
    StepRefused {
        /// The step.
        step: StepId,
        /// The call that was refused.
        parameters: Map<String, Value>,
        /// What the gate said.
        policy_decision: GateDecision,
        /// What the step fails with.
        failure: StepFailure,
    },
    /// A person is asked.
    ApprovalRequested(Box<ApprovalRequest>),
    /// A person agreed.
    ApprovalGranted {
        /// The step.
        step: StepId,
        /// The approval's record.
        approval: ApprovalId,
        /// Who.
        by: UserId,
    },
    /// A person refused, or nobody decided in time.
    ApprovalDenied {
        /// The step.
        step: StepId,
        /// The approval's record.
        approval: ApprovalId,
        /// Who; absent when nobody did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<UserId>,
        /// What the step fails with.
        failure: StepFailure,
    },
    /// A step succeeded.
    StepSucceeded {
        /// The step.
        step: StepId,
        /// What it produced.
        output: Value,
        /// Where the result came from.
        source: ResultSource,
        /// In milliseconds.
        duration_ms: u64,
        /// What else it brings.
        #[serde(flatten)]
        brings: Box<StepYield>,
    },
    /// An attempt failed; there will be another.
    RetryScheduled {
        /// The step.
        step: StepId,
        /// Why.
        failure: StepFailure,
        /// Not before this.
        due: Timestamp,
        /// Tokens that were used for it.
        #[serde(default, skip_serializing_if = "TokenUsage::is_none")]
        tokens: TokenUsage,
    },
    /// A step failed for good.
    StepFailed {
        /// The step.
        step: StepId,
        /// Why.
        failure: StepFailure,
        /// Tokens that were used for it.
        #[serde(default, skip_serializing_if = "TokenUsage::is_none")]
        tokens: TokenUsage,
    },
    /// A step will not start.
    StepSkipped {
        /// The step.
        step: StepId,
        /// Why.
        reason: SkipReason,
    },
    /// Nothing new starts until somebody resumes the run.
    Paused {
        /// Who.
        by: UserId,
    },
    /// It goes on.
    Resumed {
        /// Who.
        by: UserId,
    },
    /// Nothing new starts any more on the way forward.
    Stopping {
        /// Why.
        cause: StopCause,
        /// Whether completed writes are reversed.
        roll_back: bool,
    },
    /// The fallback takes the place of what failed.
    #[serde(alias = "fell_back")]
    FallbackStarted {
        /// The step that failed.
        step: StepId,
    },
    /// Everything that had to succeed did.
    Completed {
        /// Evidence that was required and that no step produced.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing_evidence: Vec<Label>,
    },
    /// It ended early, and nothing was reversed.
    Failed {
        /// Why.
        cause: StopCause,
    },
    /// It ended early, and every completed write was reversed.
    RolledBack {
        /// Why.
        cause: StopCause,
    },
    /// It ended early, and some writes stand.
    RollbackFailed {
        /// Why it ended.
        cause: StopCause,
        /// Steps whose writes stand, or may.
        left: Vec<StepId>,
    },
}

impl RunEvent {
    /// Bytes of memory that its values take, by estimate.
    #[must_use]
    pub fn memory(&self) -> usize {
        match self {
            Self::Started(started) => {
                let parameters = memory_of_fields(&started.parameters);
                parameters.saturating_add(memory_of_steps(started.graph.all_steps()))
            }
            Self::ParametersGiven { parameters, .. } | Self::StepRefused { parameters, .. } => {
                memory_of_fields(parameters)
            }
            Self::StepBegun(begun) => memory_of_fields(&begun.parameters),
            Self::ApprovalRequested(asked) => memory_of_fields(&asked.call.parameters),
            Self::StepSucceeded { output, brings, .. } => {
                let added = memory_of_steps(brings.growth.steps.iter());
                memory_of(output).saturating_add(added)
            }
            Self::Confirmed { .. }
            | Self::ApprovalGranted { .. }
            | Self::ApprovalDenied { .. }
            | Self::RetryScheduled { .. }
            | Self::StepFailed { .. }
            | Self::StepSkipped { .. }
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::Stopping { .. }
            | Self::FallbackStarted { .. }
            | Self::Completed { .. }
            | Self::Failed { .. }
            | Self::RolledBack { .. }
            | Self::RollbackFailed { .. } => 0,
        }
    }

    /// The same without what only later steps and readers need of it: outputs, and arguments of calls. A run that is
    /// folded from such events stands where it stands, and has no outputs.
    #[must_use]
    pub fn outline(&self) -> Self {
        match self {
            Self::StepBegun(begun) => Self::StepBegun(EffectStart {
                step: begun.step.clone(),
                attempt: begun.attempt,
                idempotency_key: begun.idempotency_key.clone(),
                parameters: Map::new(),
                policy_decision: begun.policy_decision.clone(),
                approval_expires_at: begun.approval_expires_at,
            }),
            Self::StepRefused {
                step,
                parameters: _,
                policy_decision,
                failure,
            } => Self::StepRefused {
                step: step.clone(),
                parameters: Map::new(),
                policy_decision: policy_decision.clone(),
                failure: failure.clone(),
            },
            Self::ApprovalRequested(asked) => Self::ApprovalRequested(Box::new(ApprovalRequest {
                step: asked.step.clone(),
                approval: asked.approval.clone(),
                digest: asked.digest.clone(),
                call: ExactCall {
                    run_id: asked.call.run_id.clone(),
                    step: asked.call.step.clone(),
                    tool: asked.call.tool.clone(),
                    tool_hash: asked.call.tool_hash.clone(),
                    parameters: Map::new(),
                },
                policy_decision: asked.policy_decision.clone(),
                expires_at: asked.expires_at,
            })),
            Self::StepSucceeded {
                step,
                output: _,
                source,
                duration_ms,
                brings,
            } => Self::StepSucceeded {
                step: step.clone(),
                output: Value::Null,
                source: source.clone(),
                duration_ms: *duration_ms,
                brings: brings.clone(),
            },
            Self::Started(_)
            | Self::ParametersGiven { .. }
            | Self::Confirmed { .. }
            | Self::ApprovalGranted { .. }
            | Self::ApprovalDenied { .. }
            | Self::RetryScheduled { .. }
            | Self::StepFailed { .. }
            | Self::StepSkipped { .. }
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::Stopping { .. }
            | Self::FallbackStarted { .. }
            | Self::Completed { .. }
            | Self::Failed { .. }
            | Self::RolledBack { .. }
            | Self::RollbackFailed { .. } => self.clone(),
        }
    }

    /// Whether nothing can follow it.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Completed { .. }
                | Self::Failed { .. }
                | Self::RolledBack { .. }
                | Self::RollbackFailed { .. }
        )
    }
}

fn memory_of_steps<'s>(steps: impl Iterator<Item = &'s Step>) -> usize {
    steps.fold(0, |all, step| all.saturating_add(step.action.memory()))
}
