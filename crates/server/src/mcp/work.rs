//! What was started, and where it stands: the answer of the tools that act, and of tasks.

mod mission;

use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{MissionId, RequestId, RunId};
use charter_engine::{Caller, Engine, EngineError, RunEvent, RunOutcome, RunView, StopCause};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::question::WaitHint;
use mission::MissionWork;

/// What the addresses of evidence begin with.
pub(super) const EVIDENCE: &str = "evidence://";

/// What the addresses of missions begin with.
pub(super) const MISSION: &str = "mission://";

/// What a client may look after: a request, a mission, or a run of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WorkSubject {
    /// A question or task that was answered, or is being answered.
    Request(RequestId),
    /// A run that no request led to.
    Run(RunId),
    /// A mission.
    Mission(MissionId),
}

/// Where something stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(super) struct WorkReport {
    /// `working`, `completed`, `failed`, `awaiting_parameters`, `awaiting_confirmation`,
    /// `awaiting_approval`, `paused`, `aborted`, `incomplete`, `rolled_back`, `rollback_failed`, …
    pub(super) status: String,
    /// What `status` and `cancel` take.
    pub(super) id: String,
    /// The runs that it led to.
    pub(super) run_ids: Vec<String>,
    /// The answer, or the state, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<String>,
    /// The recorded answer to a request: an AgentResponse, or an AgentError. Of a change that has ended, its result; of
    /// one that goes on, the answer only while it waits for the same as then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response: Option<Map<String, Value>>,
    /// What the tool of a single call gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<Value>,
    /// Of a mission: where it stands, and what it came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mission: Option<MissionWork>,
    /// Evidence, as resources that can be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) evidence: Vec<String>,
    /// What somebody has to say before it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) waits_for: Option<WaitHint>,
    /// Why it did not succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<String>,
}

/// The resource of an evidence record.
pub(super) fn evidence_uri(id: &str) -> String {
    format!("{EVIDENCE}{id}")
}

impl WorkSubject {
    /// Reads what a client names. A mission is called as whoever began it likes.
    pub(super) fn parse(text: &str) -> Result<Self, EngineError> {
        let invalid = || {
            let message = format!("`{text}` is the id of no request, mission or run");
            EngineError::new(ErrorCode::InvalidRequest, message)
        };
        if let Ok(request) = RequestId::parse(text) {
            return Ok(Self::Request(request));
        }
        if let Ok(run) = RunId::parse(text) {
            return Ok(Self::Run(run));
        }
        if [RequestId::PREFIX, RunId::PREFIX]
            .iter()
            .any(|prefix| text.starts_with(prefix))
        {
            return Err(invalid());
        }
        let mission = MissionId::parse(text);
        mission.map(Self::Mission).map_err(|_| invalid())
    }

    /// Its id.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Request(id) => id.as_ref(),
            Self::Run(id) => id.as_ref(),
            Self::Mission(id) => id.as_ref(),
        }
    }

    /// Stops it; what has ended stays as it is.
    pub(super) async fn cancel(
        &self,
        engine: &Arc<Engine>,
        caller: &Caller,
        reason: &str,
    ) -> Result<(), EngineError> {
        let stopped = match self {
            Self::Request(id) => return engine.cancel_request(caller, id, reason).await,
            Self::Run(id) => {
                let aborted = engine.abort_run(caller, id, reason.to_owned(), false);
                aborted.await.map(drop)
            }
            Self::Mission(id) => {
                let stopped = engine.cancel_mission(caller, id, reason.to_owned());
                stopped.await.map(drop)
            }
        };
        match stopped {
            Err(error) if error.code == ErrorCode::IllegalTransition => Ok(()),
            stopped => stopped,
        }
    }
}

impl WorkReport {
    /// Something that goes on.
    pub(super) fn working(subject: &WorkSubject, runs: &[RunId]) -> Self {
        Self {
            status: "working".to_owned(),
            id: subject.id().to_owned(),
            run_ids: runs.iter().map(ToString::to_string).collect(),
            content: Some(format!("It goes on; ask `status` about {}.", subject.id())),
            ..Self::default()
        }
    }

    /// A run, as somebody sees it who looks after `subject`.
    pub(super) fn of_run(subject: &WorkSubject, run: &RunView) -> Self {
        let evidence = run.evidence.iter();
        Self {
            status: run.summary.status.clone(),
            id: subject.id().to_owned(),
            run_ids: vec![run.summary.run_id.to_string()],
            content: Some(format!(
                "{}: {}.",
                run.summary.title,
                run.summary.status.replace('_', " ")
            )),
            output: output_of(run),
            evidence: evidence
                .map(|record| evidence_uri(record.evidence_id.as_ref()))
                .collect(),
            failure: run.state.outcome.as_ref().and_then(failure_of),
            ..Self::default()
        }
    }

    /// A request's recorded answer.
    pub(super) fn of_answer(subject: &WorkSubject, answer: Map<String, Value>) -> Self {
        let text = |field: &str| answer.get(field).and_then(Value::as_str).map(str::to_owned);
        let metadata = answer.get("metadata");
        let list = |field: &str| -> Vec<String> {
            let found = metadata.and_then(|metadata| metadata.get(field)?.as_array());
            let texts = found.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        let code = answer.get("error_code").map(Value::as_str);
        let failure = code.map(|_| text("user_message"));
        Self {
            status: match code {
                None => "completed",
                Some(code) if code == Some(ErrorCode::Cancelled.as_str()) => "aborted",
                Some(_) => "failed",
            }
            .to_owned(),
            id: subject.id().to_owned(),
            run_ids: list("run_ids"),
            content: text("content"),
            evidence: list("evidence_ids")
                .iter()
                .map(|id| evidence_uri(id))
                .collect(),
            failure: failure.flatten(),
            response: Some(answer),
            ..Self::default()
        }
    }

    /// Whether it ended without having done what was wanted.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}

/// What the one step of a single call gave.
fn output_of(run: &RunView) -> Option<Value> {
    if run.state.steps.len() != 1 {
        return None;
    }
    let mut events = run.events.iter().rev();
    events.find_map(|entry| match &entry.event {
        RunEvent::StepSucceeded { output, .. } => Some(output.clone()),
        _ => None,
    })
}

fn failure_of(outcome: &RunOutcome) -> Option<String> {
    match outcome {
        RunOutcome::Completed { missing_evidence } if missing_evidence.is_empty() => None,
        RunOutcome::Completed { missing_evidence } => {
            let missing: Vec<&str> = missing_evidence.iter().map(AsRef::as_ref).collect();
            Some(format!("evidence is missing: {}", missing.join(", ")))
        }
        RunOutcome::Failed { cause }
        | RunOutcome::RolledBack { cause }
        | RunOutcome::RollbackFailed { cause, .. } => Some(match cause {
            StopCause::Failure { failure, .. } => failure.message.clone(),
            StopCause::Aborted { reason, .. } => format!("it was cancelled: {reason}"),
            StopCause::TimedOut => "its time limit was over".to_owned(),
            StopCause::TokenBudgetExhausted => "its token budget was used up".to_owned(),
        }),
    }
}
