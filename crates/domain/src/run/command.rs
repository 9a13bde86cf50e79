//! What may be asked of a run, and why it may be refused.

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::ids::{ApprovalId, Label, StepId, UserId};
use charter_contract::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::{ResultSource, StepFailure, StepYield, TokenUsage};
use crate::approval::{Digest, ExactCall};
use crate::gate::GateDecision;
use crate::parameters::ValueSource;

/// What people order a run to do. Storage has it as JSON, where one process leaves it for another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum RunOrder {
    /// Values for declared parameters, bound: all that are known, and what is still missing.
    Give {
        /// Who; absent in an order of an earlier version.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<UserId>,
        /// Who made the key by which they do.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        makers: BTreeSet<UserId>,
        /// The values that these were added to.
        to: Map<String, Value>,
        /// All values.
        parameters: Map<String, Value>,
        /// Mandatory parameters without one.
        missing: Vec<Label>,
        /// Where all values come from; absent in an order of an earlier version.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        sources: BTreeMap<String, ValueSource>,
    },
    /// A person agrees to the plan.
    Confirm {
        /// Who.
        by: UserId,
        /// Who made the key by which they do.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        makers: BTreeSet<UserId>,
        /// The digest of the plan that they saw.
        digest: Digest,
        /// What they typed, where something has to be typed.
        typed: Option<String>,
    },
    /// Nothing new starts until it is resumed.
    Pause {
        /// Who.
        by: UserId,
    },
    /// It goes on.
    Resume {
        /// Who.
        by: UserId,
    },
    /// It ends early.
    Abort {
        /// Who.
        by: UserId,
        /// Why.
        reason: String,
        /// Whether completed writes are reversed.
        roll_back: bool,
    },
}

/// What somebody wants to happen to a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// A person orders something.
    Order(RunOrder),
    /// A step's effect is about to start, or a person is asked first.
    Begin(Box<StepStart>),
    /// A person agreed to a step's call.
    Grant {
        /// The step.
        step: StepId,
        /// The approval's record.
        approval: ApprovalId,
        /// What it was bound to.
        digest: Digest,
        /// Who.
        by: UserId,
    },
    /// A person was asked about repeating a step's call, and says that it happened.
    Report(Box<Report>),
    /// A person refused a step's call, or nobody decided in time.
    Refuse {
        /// The step.
        step: StepId,
        /// The approval's record.
        approval: ApprovalId,
        /// Who; absent when nobody did.
        by: Option<UserId>,
        /// What the step fails with.
        failure: StepFailure,
    },
    /// The effect succeeded.
    Succeed {
        /// The step.
        step: StepId,
        /// What it produced.
        output: Value,
        /// Where the result came from.
        source: ResultSource,
        /// How long the effect took, in milliseconds.
        duration_ms: u64,
        /// What else it brings.
        brings: Box<StepYield>,
    },
    /// The effect failed, or could not be prepared.
    Fail {
        /// The step.
        step: StepId,
        /// Why.
        failure: StepFailure,
        /// When: retries count from here.
        at: Timestamp,
        /// Tokens that were used for it.
        tokens: TokenUsage,
    },
    /// A step writes, and the run changes nothing.
    SkipForDryRun {
        /// The step.
        step: StepId,
    },
    /// Its time limit is over; completed writes are reversed where something reverses them.
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
    /// What the gate says.
    pub decision: GateDecision,
    /// When: an approval that has lapsed by then permits nothing.
    pub now: Timestamp,
    /// The record to make if a person has to be asked.
    pub approval: ApprovalId,
    /// When that record lapses.
    pub expires_at: Timestamp,
}

/// A person's word that an interrupted call happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The step.
    pub step: StepId,
    /// The approval's record.
    pub approval: ApprovalId,
    /// What it was bound to.
    pub digest: Digest,
    /// Who.
    pub by: UserId,
    /// Who made the key by which they say it.
    pub makers: BTreeSet<UserId>,
    /// How they know.
    pub reason: Option<String>,
    /// What it came to; `null` when nobody knows.
    pub output: Value,
}

/// A command that the run's state does not allow. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IllegalTransition {
    /// The run is over.
    #[error("the run has ended")]
    Ended,
    /// The run has begun.
    #[error("the run has begun; its parameters and plan stand")]
    Begun,
    /// The run needs something before its first step.
    #[error("the run waits for {0}")]
    NotOpen(String),
    /// Other values were given meanwhile: these were made without them.
    #[error("other values were given at the same time; look at the run again")]
    Crossed,
    /// What was agreed to is not what would run.
    #[error("the plan is {expected}, not {given}: look at it again")]
    Changed {
        /// The plan's digest.
        expected: Digest,
        /// The digest that was given.
        given: Digest,
    },
    /// The value to be typed was not.
    #[error("type the value of `{0}` to confirm")]
    Typed(Label),
    /// It is paused already, or not.
    #[error("the run is {0} already")]
    Already(&'static str),
    /// What a step's result would add does not fit the graph.
    #[error("what the result adds does not fit: {0}")]
    GraphAdditions(crate::graph::GraphError),
    /// A result would make a step wait that does not wait any more.
    #[error("the step `{0}` does not wait any more")]
    TooLate(StepId),
    /// There is no such step.
    #[error("the run has no step `{0}`")]
    UnknownStep(StepId),
    /// The step is not in a state for this.
    #[error("the step `{step}` is {state}, so it cannot be {wanted}")]
    Step {
        /// The step.
        step: StepId,
        /// Its state.
        state: &'static str,
        /// What was asked.
        wanted: &'static str,
    },
}
