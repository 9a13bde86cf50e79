//! The commands of a run, and the reasons for refusing them.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::ids::{ApprovalId, Label, RunId, StepId, UserId};
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::{ResultSource, StepFailure, StepYield, TokenUsage};
use crate::approval::{Digest, ExactCall};
use crate::gate::GateDecision;
use crate::parameters::ValueSource;

/// Orders of people. Storage keeps them as JSON to pass them between processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum RunOrder {
    /// Supply values for declared parameters: all known values, validated, and the parameters that are still missing.
    Give {
        /// The user; absent in an order of an earlier version.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<UserId>,
        /// The makers of the key that the user used.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        makers: BTreeSet<UserId>,
        /// The values that these were added to.
        to: Map<String, Value>,
        /// All values.
        parameters: Map<String, Value>,
        /// Mandatory parameters without one.
        missing: Vec<Label>,
        /// The sources of all values; absent in an order of an earlier version.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        sources: BTreeMap<String, ValueSource>,
    },
    /// Confirm the plan.
    Confirm {
        /// The user.
        by: UserId,
        /// The makers of the key that the user used.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        makers: BTreeSet<UserId>,
        /// The digest of the displayed plan.
        digest: Digest,
        /// The typed text, if the plan requires one.
        typed: Option<String>,
        /// Whether the user may decide on approvals; absent in an order of an earlier version.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        approves: bool,
    },
    /// Start no new steps until the run is resumed.
    Pause {
        /// The user.
        by: UserId,
    },
    /// Resume the run.
    Resume {
        /// The user.
        by: UserId,
    },
    /// Abort the run.
    Abort {
        /// The user.
        by: UserId,
        /// The reason.
        reason: String,
        /// Whether completed writes are reversed.
        roll_back: bool,
    },
}

/// A command to a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// An order of a person.
    Order(RunOrder),
    /// A step's effect is about to start, or needs an approval first.
    Begin(Box<StepStart>),
    /// A person approved a step's call.
    Grant {
        /// The step.
        step: StepId,
        /// The approval's id.
        approval: ApprovalId,
        /// The digest that it was bound to.
        digest: Digest,
        /// The user.
        by: UserId,
    },
    /// A person reports that a call happened, in reply to the question about repeating it.
    Report(Box<Report>),
    /// A person rejected a step's call, or there was no decision in time.
    Refuse {
        /// The step.
        step: StepId,
        /// The approval's id.
        approval: ApprovalId,
        /// The user; absent if there was no decision.
        by: Option<UserId>,
        /// The step's failure.
        failure: StepFailure,
    },
    /// A person excluded a step's call from the list that they approved.
    Exclude {
        /// The step.
        step: StepId,
        /// The approval's id.
        approval: ApprovalId,
        /// The user.
        by: UserId,
    },
    /// The effect succeeded.
    Succeed {
        /// The step.
        step: StepId,
        /// The output.
        output: Value,
        /// The source of the result.
        source: ResultSource,
        /// The duration of the effect, in milliseconds.
        duration_ms: u64,
        /// Further parts of the result.
        brings: Box<StepYield>,
    },
    /// The effect failed, or could not be prepared.
    Fail {
        /// The step.
        step: StepId,
        /// The failure.
        failure: StepFailure,
        /// The time, from which retries are scheduled.
        at: Timestamp,
        /// Tokens that the attempt used.
        tokens: TokenUsage,
    },
    /// A step would write, and the run is a dry run.
    SkipForDryRun {
        /// The step.
        step: StepId,
    },
    /// Another run requested approval of the same calls first: wait for it.
    AwaitRun {
        /// The other run.
        run: RunId,
        /// The digests of the calls that both request.
        calls: BTreeSet<Digest>,
    },
    /// The other run has ended, or its approval was refused.
    EndRunWait {
        /// The status of the other run; absent if it was deleted.
        status: Option<RunStatus>,
    },
    /// The time limit was reached; completed writes are reversed if they have reversals.
    TimeUp,
}

impl From<RunOrder> for Command {
    fn from(order: RunOrder) -> Self {
        Self::Order(order)
    }
}

/// A step that is about to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct StepStart {
    /// The exact call.
    pub call: ExactCall,
    /// The gate's decision.
    pub decision: GateDecision,
    /// The time: an approval that has lapsed by then permits nothing.
    pub now: Timestamp,
    /// The id of the approval to create if one is needed.
    pub approval: ApprovalId,
    /// The time at which that approval lapses.
    pub expires_at: Timestamp,
}

/// A person's report that an interrupted call happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The step.
    pub step: StepId,
    /// The approval's id.
    pub approval: ApprovalId,
    /// The digest that it was bound to.
    pub digest: Digest,
    /// The user.
    pub by: UserId,
    /// The makers of the key that the user used.
    pub makers: BTreeSet<UserId>,
    /// The explanation.
    pub reason: Option<String>,
    /// The output of the call; `null` if it is unknown.
    pub output: Value,
}

/// A command that the run's state does not allow. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IllegalTransition {
    /// The run has ended.
    #[error("the run has ended")]
    Ended,
    /// The run has begun.
    #[error("the run has started; its parameters and plan can no longer change")]
    Begun,
    /// The run waits for parameters or a confirmation before its first step.
    #[error("the run waits for {0}")]
    NotOpen(String),
    /// Other values were supplied in the meantime, which these do not include.
    #[error("conflict: other values were given concurrently; read the run again")]
    Crossed,
    /// The confirmed plan differs from the one that would run.
    #[error("the plan's digest is {expected}, not {given}: read the plan again")]
    Changed {
        /// The plan's digest.
        expected: Digest,
        /// The confirmed digest.
        given: Digest,
    },
    /// The required value was not typed.
    #[error("type the value of `{0}` to confirm")]
    Typed(Label),
    /// The run is already paused, or not paused.
    #[error("the run is already {0}")]
    Already(&'static str),
    /// The steps that a result would add do not fit the graph.
    #[error("the result adds invalid steps: {0}")]
    GraphAdditions(crate::graph::GraphError),
    /// A result would make a step wait that no longer waits.
    #[error("the step `{0}` is no longer waiting")]
    TooLate(StepId),
    /// There is no such step.
    #[error("the run has no step `{0}`")]
    UnknownStep(StepId),
    /// The run cannot wait for this run.
    #[error("the run cannot wait for the run {0}")]
    NoRunWait(RunId),
    /// The run waits for no other run.
    #[error("the run does not wait for another run")]
    NoAwaitedRun,
    /// The run waits for another run, and cannot be resumed before that.
    #[error("the run waits for the end of the run {0}")]
    AwaitsRun(RunId),
    /// The state of the step does not allow the command.
    #[error("the step `{step}` is {state}, so it cannot be {wanted}")]
    Step {
        /// The step.
        step: StepId,
        /// Its state.
        state: &'static str,
        /// The command.
        wanted: &'static str,
    },
}
