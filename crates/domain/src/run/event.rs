//! Events of a run, as the journal keeps them. A published form is never changed, only added to.

use charter_contract::catalogue::DocumentKind;
use charter_contract::ids::{RunId, StepId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::graph::StepGraph;
use crate::guardrail::Judgement;

/// A document version that a run executes: what it was when the run started, whatever is
/// registered later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
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

/// The six kinds of failure that a client may see (seed 003, AgentError).
pub use charter_contract::agentic::error::ErrorType as ErrorKind;

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultSource {
    /// The effect happened in this run.
    Fresh,
    /// An earlier result of the same call, still within `cache_ttl_seconds`.
    Cached,
}

/// An effect that is about to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    /// The step.
    pub step: StepId,
    /// From 1.
    pub attempt: u32,
    /// The same for every attempt.
    pub idempotency_key: String,
    /// The resolved parameters.
    pub parameters: Map<String, Value>,
    /// What the gate said.
    pub judgement: Judgement,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// The run exists. Always first.
    Started {
        /// The run.
        run_id: RunId,
        /// What it executes.
        graph: StepGraph,
        /// Values of the declared parameters.
        parameters: Map<String, Value>,
        /// The versions it executes.
        pins: Vec<Pin>,
    },
    /// An effect is about to start.
    StepBegun(Begun),
    /// It succeeded.
    StepSucceeded {
        /// The step.
        step: StepId,
        /// What it produced.
        output: Value,
        /// Where the result came from.
        source: ResultSource,
        /// In milliseconds.
        duration_ms: u64,
    },
    /// It failed.
    StepFailed {
        /// The step.
        step: StepId,
        /// Why.
        failure: StepFailure,
    },
    /// It will not start.
    StepSkipped {
        /// The step.
        step: StepId,
        /// The failed step that it waited for.
        because: StepId,
    },
    /// Everything that had to succeed did.
    Completed,
    /// A step failed that the run cannot do without.
    Failed {
        /// The step.
        step: StepId,
        /// Why.
        failure: StepFailure,
    },
    /// Somebody stopped it.
    Cancelled {
        /// Why.
        reason: String,
    },
}
