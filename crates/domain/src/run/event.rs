//! Events of a run, as journaled. A published format is only extended, never changed.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::vocabulary::Role;
use charter_contract::ids::{ApprovalId, Label, RunId, StepId, UserId};
use charter_contract::json::{memory_of, memory_of_fields};
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::approval::{Digest, ExactCall};
use crate::gate::GateDecision;
use crate::graph::{GraphAdditions, Step, StepGraph};
use crate::guardrail::RequestTags;
use crate::parameters::ValueSource;

/// A version of a document that a run executes: the one in force when the run started, regardless of later
/// registrations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DocumentPin")]
pub struct DocumentPin {
    /// The kind of the document.
    pub kind: DocumentKind,
    /// The document.
    pub id: String,
    /// The tenant whose layer has it; absent for the global layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<charter_contract::ids::TenantId>,
    /// Its package.
    pub package: String,
    /// Its package's version.
    pub version: String,
    /// `sha256:…` of its content.
    pub content_hash: String,
}

/// The six kinds of failure in the API (seed 003, Error Schema).
pub use charter_contract::agentic::error::ErrorType as ErrorKind;

/// The failure of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepFailure {
    /// One of the six kinds.
    pub kind: ErrorKind,
    /// The stable code, e.g. `tool_failed`.
    pub code: String,
    /// The message for people; no secrets, no paths.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// The account of the user that the call lacked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Box<MissingAccount>>,
}

/// An account that a call lacked: the call succeeds after its user has connected it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingAccount {
    /// The credential that the tool names.
    pub credential: Label,
    /// The page on which the user connects the account; absent for a server without a public address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_url: Option<String>,
}

/// The source of a step's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultSource {
    /// The effect happened in this run.
    Fresh,
    /// An earlier result of the same call, still within `cache_ttl_seconds`.
    Cached,
    /// No effect: the machine derived it from the state.
    Decided,
    /// The effect was interrupted, and a person reported that it happened.
    Reported {
        /// The user.
        by: UserId,
        /// The makers of their key.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        makers: BTreeSet<UserId>,
        /// The approval that the report answers.
        approval: ApprovalId,
        /// The user's explanation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// Tokens that models used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TokenUsage")]
pub struct TokenUsage {
    /// Tokens of the models' inputs.
    pub input: u64,
    /// Tokens of the models' outputs.
    pub output: u64,
}

impl TokenUsage {
    /// Returns the number that counts against a budget.
    #[must_use]
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns whether no tokens were used.
    #[must_use]
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde asks for a reference"
    )]
    pub fn is_none(&self) -> bool {
        self.total() == 0
    }

    /// Subtracts other counts.
    #[must_use]
    pub fn without(self, those: Self) -> Self {
        Self {
            input: self.input.saturating_sub(those.input),
            output: self.output.saturating_sub(those.output),
        }
    }

    /// Adds other counts.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
        }
    }
}

/// The parts of a step's result besides its output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepYield")]
pub struct StepYield {
    /// Tokens that were used for it.
    #[serde(default, skip_serializing_if = "TokenUsage::is_none")]
    pub tokens: TokenUsage,
    /// The steps and edges that it adds to the graph.
    #[serde(default, skip_serializing_if = "GraphAdditions::is_empty")]
    pub growth: GraphAdditions,
    /// The versions that the new steps execute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<DocumentPin>,
    /// The users whose agents made the result, and the makers of their credentials. They count as requesters of the
    /// calls that follow.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub contributors: BTreeSet<UserId>,
}

/// The inputs that a run needs before its first step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunPrerequisites")]
pub struct RunPrerequisites {
    /// Whether a person must see the plan and confirm it.
    pub confirm: bool,
    /// The mandatory parameters that have no value yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Label>,
    /// The parameter whose value has to be typed to confirm (`destructive`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed: Option<Label>,
    /// The sources of its parameters' values, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, ValueSource>,
    /// The reasons why words of the request yield no value of a missing parameter, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unclear: BTreeMap<String, String>,
    /// Tokens that a model used to draft parameter values.
    #[serde(default, skip_serializing_if = "TokenUsage::is_none")]
    pub tokens: TokenUsage,
}

impl RunPrerequisites {
    /// Returns whether the first step may start: the plan is confirmed, and every mandatory parameter has a value.
    #[must_use]
    pub fn is_met(&self) -> bool {
        !self.confirm && self.missing.is_empty()
    }

    /// Records that values were supplied, with the sources of all values and the parameters that are still missing.
    pub(super) fn give(&mut self, missing: Vec<Label>, sources: BTreeMap<String, ValueSource>) {
        let is_missing = |name: &String| missing.iter().any(|one| one.as_str() == name);
        self.unclear.retain(|name, _| is_missing(name));
        self.missing = missing;
        if !sources.is_empty() {
            self.sources = sources;
        }
    }
}

/// A run's first event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunStarted")]
pub struct RunStart {
    /// The run.
    pub run_id: RunId,
    /// The user on whose behalf it acts.
    pub by: UserId,
    /// The owner, if it differs from the user that started the run: for a rollback, the owner of the original run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// Users that requested it besides `by`: the makers of the key that started it, and the requesters of the run that
    /// it rolls back.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub askers: BTreeSet<UserId>,
    /// The user's level: `user`, `operator` or `admin`.
    pub role: Role,
    /// The graph to execute.
    pub graph: StepGraph,
    /// Values of the declared parameters.
    pub parameters: Map<String, Value>,
    /// The versions it executes.
    pub pins: Vec<DocumentPin>,
    /// Whether this is a dry run (B000-18).
    #[serde(default)]
    pub dry_run: bool,
    /// The inputs that it needs before its first step.
    #[serde(default)]
    pub opening: RunPrerequisites,
    /// The request's properties for guardrails; absent in journals without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<RequestTags>,
}

/// An effect that is about to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepBegun")]
pub struct EffectStart {
    /// The step.
    pub step: StepId,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The idempotency key, equal for all attempts.
    pub idempotency_key: String,
    /// The resolved parameters.
    pub parameters: Map<String, Value>,
    /// The gate's decision.
    pub policy_decision: GateDecision,
    /// The time at which the approval for the attempt lapses; absent if none was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_expires_at: Option<Timestamp>,
}

/// A request to approve one exact call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalRequest")]
pub struct ApprovalRequest {
    /// The step.
    pub step: StepId,
    /// The approval's id.
    pub approval: ApprovalId,
    /// The digest that the decision is bound to.
    pub digest: Digest,
    /// The call.
    pub call: ExactCall,
    /// The gate's decision.
    pub policy_decision: GateDecision,
    /// The time at which it lapses.
    pub expires_at: Timestamp,
}

/// The reason why a step does not start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum SkipReason {
    /// A source did not have the required result.
    Source {
        /// The earlier step.
        step: StepId,
    },
    /// Its expression is false.
    Condition,
    /// It writes, its tool does not support dry runs, and the run is a dry run.
    DryRun,
    /// The approver of a list excluded its call.
    Excluded {
        /// The approval's id.
        approval: ApprovalId,
        /// The approver.
        by: UserId,
    },
}

/// The reason why a run stops early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum StopCause {
    /// A required step failed.
    Failure {
        /// The step.
        step: StepId,
        /// The failure.
        failure: StepFailure,
    },
    /// A user aborted it.
    Aborted {
        /// The user.
        by: UserId,
        /// The reason.
        reason: String,
    },
    /// It reached its time limit.
    TimedOut,
    /// It used up its token budget (B002-17).
    #[serde(alias = "tokens_used_up")]
    TokenBudgetExhausted,
}

impl StopCause {
    /// Returns the status of a run that ends for this cause without a write, if a person rejected a call or a rule
    /// refused it.
    #[must_use]
    pub fn refusal(&self) -> Option<RunStatus> {
        let Self::Failure { failure, .. } = self else {
            return None;
        };
        match failure.code.as_str() {
            "approval_rejected" => Some(RunStatus::Rejected),
            "policy_denied" | "guardrail_blocked" => Some(RunStatus::Denied),
            _ => None,
        }
    }
}

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// The run was created. Always the first event.
    Started(Box<RunStart>),
    /// Values were supplied for declared parameters.
    ParametersGiven {
        /// The user that supplied them; absent in journals without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<UserId>,
        /// The makers of their key.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        makers: BTreeSet<UserId>,
        /// All values known so far.
        parameters: Map<String, Value>,
        /// Mandatory parameters that are still missing.
        missing: Vec<Label>,
        /// The sources of all values; absent in journals of earlier versions.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        sources: BTreeMap<String, ValueSource>,
    },
    /// A person saw the plan and confirmed it.
    Confirmed {
        /// The user.
        by: UserId,
        /// The makers of their key.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        makers: BTreeSet<UserId>,
        /// The digest of the displayed plan.
        digest: Digest,
        /// Whether the user may decide on approvals. The confirmation then also approves the calls that the plan
        /// determines, where four eyes are off.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        approves: bool,
    },
    /// An effect is about to start.
    StepBegun(EffectStart),
    /// The gate denied an effect.
    StepRefused {
        /// The step.
        step: StepId,
        /// The arguments of the denied call.
        parameters: Map<String, Value>,
        /// The gate's decision.
        policy_decision: GateDecision,
        /// The step's failure.
        failure: StepFailure,
    },
    /// Approval was requested from a person.
    ApprovalRequested(Box<ApprovalRequest>),
    /// A person approved the call.
    ApprovalGranted {
        /// The step.
        step: StepId,
        /// The approval's id.
        approval: ApprovalId,
        /// The user.
        by: UserId,
    },
    /// A person rejected the call, or there was no decision in time.
    ApprovalDenied {
        /// The step.
        step: StepId,
        /// The approval's id.
        approval: ApprovalId,
        /// The user; absent if there was no decision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<UserId>,
        /// The step's failure.
        failure: StepFailure,
    },
    /// A step succeeded.
    StepSucceeded {
        /// The step.
        step: StepId,
        /// The output.
        output: Value,
        /// The source of the result.
        source: ResultSource,
        /// The duration, in milliseconds.
        duration_ms: u64,
        /// Further parts of the result.
        #[serde(flatten)]
        brings: Box<StepYield>,
    },
    /// An attempt failed and will be retried.
    RetryScheduled {
        /// The step.
        step: StepId,
        /// The failure.
        failure: StepFailure,
        /// The earliest time of the next attempt.
        due: Timestamp,
        /// Tokens that were used for it.
        #[serde(default, skip_serializing_if = "TokenUsage::is_none")]
        tokens: TokenUsage,
    },
    /// A step failed permanently.
    StepFailed {
        /// The step.
        step: StepId,
        /// The failure.
        failure: StepFailure,
        /// Tokens that were used for it.
        #[serde(default, skip_serializing_if = "TokenUsage::is_none")]
        tokens: TokenUsage,
    },
    /// The items of a repeated step were added as steps, and the step waits for them.
    StepExpanded {
        /// The repeated step.
        step: StepId,
        /// The steps of the items and their reversals.
        growth: Box<GraphAdditions>,
    },
    /// A step will not start.
    StepSkipped {
        /// The step.
        step: StepId,
        /// The reason.
        reason: SkipReason,
    },
    /// No new step starts until the run is resumed.
    Paused {
        /// The user.
        by: UserId,
    },
    /// The run was resumed.
    Resumed {
        /// The user.
        by: UserId,
    },
    /// The run waits for another run, which requested approval of the same calls first.
    WaitingForRun {
        /// The other run.
        run: RunId,
        /// The digests of the calls that both request, without run and step.
        calls: BTreeSet<Digest>,
    },
    /// The wait for another run ended: that run has ended, or its approval was refused.
    RunWaitEnded {
        /// The other run.
        run: RunId,
        /// The other run's status; absent if it was deleted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run_status: Option<RunStatus>,
        /// Whether all steps start again, because reads may have new results. A run that has requested approval before
        /// keeps its results, and computes only the calls that follow again.
        restarts: bool,
    },
    /// No further step starts in the forward direction.
    Stopping {
        /// The reason.
        cause: StopCause,
        /// Whether completed writes are reversed.
        roll_back: bool,
    },
    /// The fallback replaced the failed plan.
    #[serde(alias = "fell_back")]
    FallbackStarted {
        /// The step that failed.
        step: StepId,
    },
    /// Every required step succeeded.
    Completed {
        /// Required evidence that no step produced.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing_evidence: Vec<Label>,
    },
    /// The run ended early, and nothing was reversed.
    Failed {
        /// The reason.
        cause: StopCause,
    },
    /// The run ended early, and every completed write was reversed.
    RolledBack {
        /// The reason.
        cause: StopCause,
    },
    /// The run ended early, and some writes remain in effect.
    RollbackFailed {
        /// The reason for ending.
        cause: StopCause,
        /// Steps whose writes remain in effect, or may.
        left: Vec<StepId>,
    },
}

impl RunEvent {
    /// Estimates the memory of its values, in bytes.
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
            Self::StepExpanded { growth, .. } => memory_of_steps(growth.steps.iter()),
            Self::Confirmed { .. }
            | Self::ApprovalGranted { .. }
            | Self::ApprovalDenied { .. }
            | Self::RetryScheduled { .. }
            | Self::StepFailed { .. }
            | Self::StepSkipped { .. }
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::WaitingForRun { .. }
            | Self::RunWaitEnded { .. }
            | Self::Stopping { .. }
            | Self::FallbackStarted { .. }
            | Self::Completed { .. }
            | Self::Failed { .. }
            | Self::RolledBack { .. }
            | Self::RollbackFailed { .. } => 0,
        }
    }

    /// Returns the event without outputs and call arguments, which only later steps and readers need. A run that is
    /// replayed from such events has the same state, but no outputs.
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
            | Self::StepExpanded { .. }
            | Self::StepSkipped { .. }
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::WaitingForRun { .. }
            | Self::RunWaitEnded { .. }
            | Self::Stopping { .. }
            | Self::FallbackStarted { .. }
            | Self::Completed { .. }
            | Self::Failed { .. }
            | Self::RolledBack { .. }
            | Self::RollbackFailed { .. } => self.clone(),
        }
    }

    /// Returns whether it is the last event of a run.
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
    steps.fold(0, |all, step| all.saturating_add(step.memory()))
}
