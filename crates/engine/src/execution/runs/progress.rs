//! What a client is told while its request is answered.

use charter_contract::ids::{EvidenceId, FindingId, StepId, ToolId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

/// Progress events that wait for a slow reader; more are dropped, for the answer says everything.
const CAPACITY: usize = 256;

/// One thing that happened on the way to an answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum ProgressEvent {
    /// The request was routed.
    Routed {
        /// `narrow`, `broad` or `miss`.
        verdict: String,
        /// What will be run.
        skills: Vec<String>,
        /// Why.
        reason: String,
    },
    /// A skill's run started or was taken up again.
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
    StepWaits {
        /// The step.
        step: String,
        /// The tool.
        tool: String,
        /// For how long, in milliseconds.
        wait_ms: u64,
    },
    /// A tool's call ended.
    StepEnded {
        /// The step.
        step: String,
        /// `succeeded` or `failed`.
        outcome: String,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A skill's output was analysed.
    Analysed {
        /// The skill.
        skill: String,
        /// How many findings.
        findings: usize,
        /// How many evidence records.
        evidence: usize,
    },
    /// A model wrote a sentence of the answer, and its citations were checked. The answer repeats it, unless the
    /// attempt that it belongs to failed.
    Sentence {
        /// The sentence.
        text: String,
        /// The evidence that it rests on.
        evidence_ids: Vec<EvidenceId>,
        /// The findings that it rests on.
        finding_ids: Vec<FindingId>,
        /// The results without evidence that it rests on, each as `run/step`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        outputs: Vec<String>,
    },
}

impl ProgressEvent {
    /// The event as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Where progress goes. Cheap to copy; telling nobody is fine.
#[derive(Debug, Clone, Default)]
pub struct Progress(Option<mpsc::Sender<ProgressEvent>>);

impl Progress {
    /// Progress that somebody reads.
    #[must_use]
    pub fn channel() -> (Self, mpsc::Receiver<ProgressEvent>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        (Self(Some(sender)), receiver)
    }

    /// Progress that nobody reads.
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

    pub(crate) fn step_waits(&self, step: &StepId, tool: &ToolId, wait_ms: u64) {
        self.send(ProgressEvent::StepWaits {
            step: step.to_string(),
            tool: tool.to_string(),
            wait_ms,
        });
    }

    /// `failure` is the message of a step that failed.
    pub(crate) fn step_ended(&self, step: &StepId, failure: Option<&str>) {
        let outcome = match failure {
            None => "succeeded",
            Some(_) => "failed",
        };
        self.send(ProgressEvent::StepEnded {
            step: step.to_string(),
            outcome: outcome.to_owned(),
            message: failure.map(str::to_owned),
        });
    }
}
