//! Progress events for a client while its request is answered.

use charter_contract::ids::{EvidenceId, FindingId, StepId, ToolId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

/// Progress events that wait for a slow reader; more are dropped, because the answer has everything.
const CAPACITY: usize = 256;

/// One event on the way to an answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum ProgressEvent {
    /// The request was routed.
    Routed {
        /// `narrow`, `broad` or `miss`.
        verdict: String,
        /// The skills that will run.
        skills: Vec<String>,
        /// The reason.
        reason: String,
    },
    /// A skill's run started or was resumed.
    SkillStarted {
        /// The skill.
        skill: String,
        /// Its run.
        run_id: String,
    },
    /// A tool is being called.
    StepStarted {
        /// The step.
        step: String,
        /// The tool.
        tool: String,
    },
    /// A tool's call waits for the tool's rate limit.
    StepWaiting {
        /// The step.
        step: String,
        /// The tool.
        tool: String,
        /// How long, in milliseconds.
        wait_ms: u64,
    },
    /// A tool's call ended.
    StepFinished {
        /// The step.
        step: String,
        /// `succeeded` or `failed`.
        outcome: String,
        /// The failure message.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A skill's output was analysed.
    Analysed {
        /// The skill.
        skill: String,
        /// Number of findings.
        findings: usize,
        /// Number of evidence records.
        evidence: usize,
    },
    /// A model wrote a sentence of the answer, and its citations were checked. The answer repeats it, unless the
    /// model's attempt fails.
    Sentence {
        /// The sentence.
        text: String,
        /// Evidence that it cites.
        evidence_ids: Vec<EvidenceId>,
        /// Findings that it cites.
        finding_ids: Vec<FindingId>,
        /// Results without evidence that it cites, each as `run/step`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        outputs: Vec<String>,
    },
}

impl ProgressEvent {
    /// Converts the event to JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// A sender of progress events. Cheap to copy; needs no receiver.
#[derive(Debug, Clone, Default)]
pub struct Progress(Option<mpsc::Sender<ProgressEvent>>);

impl Progress {
    /// Creates progress with a receiver.
    #[must_use]
    pub fn channel() -> (Self, mpsc::Receiver<ProgressEvent>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        (Self(Some(sender)), receiver)
    }

    /// Creates progress without a receiver.
    #[must_use]
    pub fn silent() -> Self {
        Self(None)
    }

    pub(crate) fn send(&self, event: ProgressEvent) {
        if let Some(sender) = &self.0
            && let Err(dropped) = sender.try_send(event)
        {
            tracing::debug!(error = %dropped, "a progress event was dropped");
        }
    }

    pub(crate) fn step_started(&self, step: &StepId, tool: &ToolId) {
        self.send(ProgressEvent::StepStarted {
            step: step.to_string(),
            tool: tool.to_string(),
        });
    }

    pub(crate) fn step_waiting(&self, step: &StepId, tool: &ToolId, wait_ms: u64) {
        self.send(ProgressEvent::StepWaiting {
            step: step.to_string(),
            tool: tool.to_string(),
            wait_ms,
        });
    }

    /// `failure` is the message of a step that failed.
    pub(crate) fn step_finished(&self, step: &StepId, failure: Option<&str>) {
        let outcome = match failure {
            None => "succeeded",
            Some(_) => "failed",
        };
        self.send(ProgressEvent::StepFinished {
            step: step.to_string(),
            outcome: outcome.to_owned(),
            message: failure.map(str::to_owned),
        });
    }
}
