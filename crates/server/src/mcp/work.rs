//! Started work and its status: the result of the tools that act, and of tasks.

mod mission;

use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{MissionId, RequestId, RunId};
use charter_contract::run_status::RunStatus;
use charter_engine::{
    Caller, Engine, EngineError, MissingAccount, RollBack, RunEvent, RunOutcome, RunView, StopCause,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::question::WaitHint;
use mission::MissionWork;

/// The prefix of the addresses of evidence.
pub(super) const EVIDENCE: &str = "evidence://";

/// The prefix of the addresses of missions.
pub(super) const MISSION: &str = "mission://";

/// The work that a client may follow: a request, a mission, or a run without a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WorkSubject {
    /// A question or task, answered or not.
    Request(RequestId),
    /// A run without a request.
    Run(RunId),
    /// A mission.
    Mission(MissionId),
}

/// The status of work.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct WorkReport {
    /// The status: that of the run; of a request without a run, `working`, `completed`, `failed` or `aborted`.
    pub(super) status: RunStatus,
    /// The id for `status` and `cancel`.
    pub(super) id: String,
    /// The runs of the work.
    pub(super) run_ids: Vec<String>,
    /// The answer, or the status, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<String>,
    /// The recorded answer to a request: an AgentResponse, or an AgentError. For a change that has ended, its result;
    /// for an unfinished one, the answer only while it still waits for the same input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response: Option<Map<String, Value>>,
    /// The output of the tool of a single call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<Value>,
    /// For a mission: its state and results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mission: Option<MissionWork>,
    /// Evidence, as resources that can be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) evidence: Vec<String>,
    /// The input from a person that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) waits_for: Option<WaitHint>,
    /// The reason of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<String>,
    /// The account that was lacking: the same call succeeds once its user has connected it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) account: Option<MissingAccount>,
}

/// The resource of an evidence record.
pub(super) fn evidence_uri(id: &str) -> String {
    format!("{EVIDENCE}{id}")
}

impl WorkSubject {
    /// Parses an id. Clients choose the ids of missions, so any other text is tried as one.
    pub(super) fn parse(text: &str) -> Result<Self, EngineError> {
        let invalid = || {
            let message = format!("no request, mission or run has the id `{text}`");
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

    /// The id.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Request(id) => id.as_ref(),
            Self::Run(id) => id.as_ref(),
            Self::Mission(id) => id.as_ref(),
        }
    }

    /// Cancels the work; work that has ended is unchanged.
    pub(super) async fn cancel(
        &self,
        engine: &Arc<Engine>,
        caller: &Caller,
        reason: &str,
    ) -> Result<(), EngineError> {
        let stopped = match self {
            Self::Request(id) => {
                return engine
                    .request_management()
                    .cancel_request(caller, id, reason)
                    .await;
            }
            Self::Run(id) => {
                let aborted =
                    engine
                        .run_management()
                        .abort(caller, id, reason.to_owned(), RollBack::No);
                let aborted = aborted.await.map(drop);
                engine.linked_calls().cancel(caller, id);
                aborted
            }
            Self::Mission(id) => {
                let stopped = engine.missions().cancel(caller, id, reason.to_owned());
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
    /// A report with a status and an id, and nothing else.
    pub(super) fn new(status: RunStatus, id: &str) -> Self {
        Self {
            status,
            id: id.to_owned(),
            run_ids: Vec::new(),
            content: None,
            response: None,
            output: None,
            mission: None,
            evidence: Vec::new(),
            waits_for: None,
            failure: None,
            account: None,
        }
    }

    /// The report of running work.
    pub(super) fn working(subject: &WorkSubject, runs: &[RunId]) -> Self {
        Self {
            run_ids: runs.iter().map(ToString::to_string).collect(),
            content: Some(format!(
                "It is still running; call `status` with {}.",
                subject.id()
            )),
            ..Self::new(RunStatus::Working, subject.id())
        }
    }

    /// The report of a run to the client that follows `subject`.
    pub(super) fn of_run(subject: &WorkSubject, run: &RunView) -> Self {
        let evidence = run.evidence.iter();
        Self {
            run_ids: vec![run.summary.run_id.to_string()],
            content: Some(format!(
                "{}: {}.",
                run.summary.title,
                run.summary.status.in_words()
            )),
            output: output_of(run),
            evidence: evidence
                .map(|record| evidence_uri(record.evidence_id.as_ref()))
                .collect(),
            failure: run.state.outcome.as_ref().and_then(failure_of),
            account: run.missing_account().cloned(),
            ..Self::new(run.summary.status, subject.id())
        }
    }

    /// The report of a request's recorded answer.
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
        let status = match code {
            None => RunStatus::Completed,
            Some(code) if code == Some(ErrorCode::Cancelled.as_str()) => RunStatus::Aborted,
            Some(_) => RunStatus::Failed,
        };
        Self {
            run_ids: list("run_ids"),
            content: text("content"),
            evidence: list("evidence_ids")
                .iter()
                .map(|id| evidence_uri(id))
                .collect(),
            failure: failure.flatten(),
            account: account_of(&answer),
            response: Some(answer),
            ..Self::new(status, subject.id())
        }
    }

    /// Whether the work failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }
}

/// The output of the only step of a single call.
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

/// The account that a failed request lacked.
fn account_of(answer: &Map<String, Value>) -> Option<MissingAccount> {
    let code = answer.get("error_code")?.as_str()?;
    let details = answer.get("technical_details")?;
    let details = Some(details).filter(|_| code == ErrorCode::CredentialRequired.as_str());
    MissingAccount::deserialize(details?).ok()
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
            StopCause::TimedOut => "it timed out".to_owned(),
            StopCause::TokenBudgetExhausted => "it used up its token budget".to_owned(),
        }),
    }
}
