//! Follows work until it has ended, waits for a person who cannot be asked here, or takes too long for one call.

use std::time::Duration;

use charter_contract::agentic::request::AgentRequest;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{MissionId, RequestId};
use charter_contract::mission::MissionState;
use charter_contract::run_status::RunStatus;
use charter_engine::{EngineError, Progress, RequestView, RunView};
use rmcp::model::{
    CreateTaskResult, ElicitResult, InputRequests, InputRequiredResult, Task, TaskStatus,
};
use serde::Deserialize;
use serde_json::Value;

use super::call::{Call, ElicitationMode};
use super::question::{AnswerOutcome, PendingQuestion, Question, wait_hint_of};
use super::tool::ToolReply;
use super::work::{WorkReport, WorkSubject};

/// How long a call waits before its client must poll for the work itself.
const CALL_TIMEOUT: Duration = Duration::from_secs(45);

/// The same wait for a client that accepts tasks, which loses nothing by a short one.
const TASK_CALL_TIMEOUT: Duration = Duration::from_secs(2);

/// How often a client had better look.
const POLL_MS: u64 = 1_000;

/// The most questions in one call.
pub(super) const MAX_QUESTIONS: usize = 16;

/// The status of work, and the question for a person.
pub(super) struct WorkStatus {
    pub(super) work: WorkReport,
    /// The question that it waits for, even if the caller may not answer it.
    pub(super) question: Option<Question>,
    /// The times of its creation and last change.
    pub(super) since: WorkTimestamps,
}

impl WorkStatus {
    /// The question that it waits for, if the caller may answer it.
    pub(super) fn question_for(&self, call: &Call) -> Option<&Question> {
        let question = self.question.as_ref();
        question.filter(|question| question.is_for(&call.caller))
    }
}

/// The times of creation and of the last change.
#[derive(Debug, Clone)]
pub(super) struct WorkTimestamps {
    pub(super) created_at: String,
    pub(super) updated_at: String,
}

/// The outcome of asking a question.
pub(super) enum QuestionOutcome {
    /// A valid answer was applied.
    Applied(AnswerOutcome),
    /// The client asks, and calls again.
    Later(InputRequiredResult),
    /// The client cannot ask its user.
    Nobody,
}

impl Call {
    /// How long to wait for an answer to this client.
    pub(super) fn answer_timeout(&self) -> Duration {
        if self.takes_tasks() {
            TASK_CALL_TIMEOUT
        } else {
            CALL_TIMEOUT
        }
    }

    /// Asks the client's user a question.
    pub(super) async fn ask(&self, question: &Question) -> Result<QuestionOutcome, EngineError> {
        let pending = question.pending();
        match self.elicitation_mode() {
            ElicitationMode::No => Ok(QuestionOutcome::Nobody),
            ElicitationMode::Inline => {
                let answer = self.elicit(question.form()?).await?;
                let applied = pending.apply(self.engine(), &self.caller, answer).await?;
                Ok(QuestionOutcome::Applied(applied))
            }
            ElicitationMode::Rounds => {
                let requests = InputRequests::from([(pending.key(), question.request()?)]);
                let state = self.seal(&pending)?;
                Ok(QuestionOutcome::Later(InputRequiredResult::new(
                    Some(requests),
                    Some(state),
                )))
            }
        }
    }

    /// The client's answer to the question of the previous round; `None` without one.
    pub(super) async fn answered(
        &self,
    ) -> Result<Option<(PendingQuestion, AnswerOutcome)>, EngineError> {
        let Some(pending) = &self.pending else {
            return Ok(None);
        };
        let Some(answer) = self.answers.get(&pending.key()) else {
            return Ok(Some((pending.clone(), AnswerOutcome::Declined)));
        };
        let answer = parse_elicit_result(answer)?;
        let applied = pending.apply(self.engine(), &self.caller, answer).await?;
        Ok(Some((pending.clone(), applied)))
    }
}

/// Parses a client's answer to a form.
pub(super) fn parse_elicit_result(answer: &Value) -> Result<ElicitResult, EngineError> {
    serde_json::from_value(answer.clone()).map_err(|error| {
        let message = format!("an answer of the client's user cannot be read: {error}");
        EngineError::new(ErrorCode::InvalidRequest, message)
    })
}

impl WorkSubject {
    /// Continues the work that this call, or a previous round, started, after a person's answer. After a no, the person
    /// is not asked again.
    pub(super) async fn resume(
        self,
        call: &Call,
        answer: &AnswerOutcome,
    ) -> Result<ToolReply<WorkReport>, EngineError> {
        call.started(self.clone());
        match answer {
            AnswerOutcome::Acted | AnswerOutcome::Values(_) => self.run_until_settled(call).await,
            AnswerOutcome::Declined => Ok(reply(self.status(call, Duration::ZERO).await?.work)),
        }
    }

    /// Continues the work as far as this call can.
    pub(super) async fn run_until_settled(
        &self,
        call: &Call,
    ) -> Result<ToolReply<WorkReport>, EngineError> {
        let until = tokio::time::Instant::now() + call.answer_timeout();
        for _ in 0..MAX_QUESTIONS {
            let patience = until.saturating_duration_since(tokio::time::Instant::now());
            let standing = self.status(call, patience).await?;
            if standing.work.status == RunStatus::Working && call.takes_tasks() {
                let task = task(self, &standing);
                return Ok(ToolReply::Task(CreateTaskResult::new(task)));
            }
            let Some(question) = standing.question_for(call) else {
                return match call.lacks_account(&standing.work) {
                    Some(error) => Err(error),
                    None => Ok(reply(standing.work)),
                };
            };
            match call.ask(question).await? {
                QuestionOutcome::Applied(AnswerOutcome::Acted | AnswerOutcome::Values(_)) => {}
                QuestionOutcome::Applied(AnswerOutcome::Declined) | QuestionOutcome::Nobody => {
                    return Ok(reply(standing.work));
                }
                QuestionOutcome::Later(asks) => return Ok(ToolReply::Asks(asks)),
            }
        }
        Ok(reply(self.status(call, Duration::ZERO).await?.work))
    }

    /// Returns the status once the work has ended or waits for a person, or after `patience`.
    pub(super) async fn status(
        &self,
        call: &Call,
        patience: Duration,
    ) -> Result<WorkStatus, EngineError> {
        match self {
            Self::Request(id) => self.request_status(call, id, patience).await,
            Self::Run(id) => {
                let run = call
                    .engine()
                    .run_views()
                    .wait(&call.caller, id, patience)
                    .await?;
                self.run_status(call, &run, WorkReport::of_run(self, &run))
                    .await
            }
            Self::Mission(id) => self.mission_status(call, id, patience).await,
        }
    }

    async fn mission_status(
        &self,
        call: &Call,
        id: &MissionId,
        patience: Duration,
    ) -> Result<WorkStatus, EngineError> {
        let (engine, caller) = (call.engine(), &call.caller);
        let mission = engine.mission_views().wait(caller, id, patience).await?;
        let work = WorkReport::of_mission(self, &mission);
        if mission.state == MissionState::AwaitingApproval {
            let run = engine.run_views().show(caller, &mission.run_id).await?;
            return self.run_status(call, &run, work).await;
        }
        Ok(WorkStatus {
            work,
            question: None,
            since: WorkTimestamps {
                created_at: mission.created_at.to_string(),
                updated_at: mission.updated_at.to_string(),
            },
        })
    }

    async fn request_status(
        &self,
        call: &Call,
        id: &RequestId,
        patience: Duration,
    ) -> Result<WorkStatus, EngineError> {
        let (engine, caller) = (call.engine(), &call.caller);
        let runs = engine.request_views().request_runs(caller, id).await?;
        let mut shown = None;
        for run in &runs {
            // The request may not have created the run yet.
            match engine.run_views().wait(caller, run, patience).await {
                Ok(run) if run.state.outcome.is_none() => shown = Some(run),
                Ok(_) => {}
                Err(error) if error.code == ErrorCode::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let recorded = engine.request_views().request(caller, id).await?;
        if let Some(run) = &recorded.run_id {
            // A change is answered when it first waits for a person; its further status is that of its run.
            match engine.run_views().wait(caller, run, patience).await {
                Ok(run) => return self.change_status(call, recorded, &run).await,
                // The run is past its retention.
                Err(error) if error.code == ErrorCode::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let since = timestamps_of(&recorded);
        let newest = recorded.result.as_ref().or(recorded.answer.as_ref());
        if let Some(Value::Object(newest)) = newest {
            return Ok(WorkStatus {
                work: WorkReport::of_answer(self, newest.clone()),
                question: None,
                since,
            });
        }
        match shown {
            Some(run) if !run.goes_on() => {
                let work = WorkReport::of_run(self, &run);
                self.run_status(call, &run, work).await
            }
            _ if runs.is_empty() || patience.is_zero() => Ok(WorkStatus {
                work: WorkReport::working(self, &runs),
                question: None,
                since,
            }),
            _ => self.retry_request(call, &recorded, patience).await,
        }
    }

    /// The status of a change from its run, with its newest response: the result, after it has ended.
    async fn change_status(
        &self,
        call: &Call,
        recorded: RequestView,
        run: &RunView,
    ) -> Result<WorkStatus, EngineError> {
        let recorded = match (&run.state.outcome, &recorded.result) {
            // The run has ended since the request was read.
            (Some(_), None) => {
                let id = &recorded.request_id;
                let views = call.engine().request_views();
                views.request(&call.caller, id).await?
            }
            _ => recorded,
        };
        let has_result = recorded.result.is_some();
        let mut work = WorkReport::of_run(self, run);
        if let Some(Value::Object(newest)) = recorded.result.or(recorded.answer) {
            let status = newest.get("metadata").and_then(|told| told.get("status"));
            // An answer from before a person's decision describes what the change waited for at that time.
            let holds = status.and_then(Value::as_str) == Some(run.summary.status.as_str());
            let newest = WorkReport::of_answer(self, newest);
            if has_result {
                work.content = newest.content;
            }
            if has_result || holds {
                work.response = newest.response;
            }
        }
        self.run_status(call, run, work).await
    }

    /// Waits for the answer of a request whose runs have ended or continue.
    async fn retry_request(
        &self,
        call: &Call,
        recorded: &RequestView,
        patience: Duration,
    ) -> Result<WorkStatus, EngineError> {
        let request: AgentRequest =
            AgentRequest::deserialize(recorded.received.get("request").unwrap_or(&Value::Null))
                .map_err(|error| EngineError::internal("reading a recorded request", error))?;
        let answering =
            call.engine()
                .requests()
                .try_answer_request(&call.caller, request, Progress::silent());
        let work = match tokio::time::timeout(patience, answering).await {
            Ok(Ok(Some(response))) => {
                let answer = serde_json::to_value(response)
                    .map_err(|error| EngineError::internal("writing an answer", error))?;
                let answer = answer.as_object().cloned().unwrap_or_default();
                WorkReport::of_answer(self, answer)
            }
            // Another task answers it, or this one still does.
            Ok(Ok(None)) | Err(_) => WorkReport::working(self, &[]),
            Ok(Err(error)) => return Err(error),
        };
        Ok(WorkStatus {
            work,
            question: None,
            since: timestamps_of(recorded),
        })
    }

    async fn run_status(
        &self,
        call: &Call,
        run: &RunView,
        mut work: WorkReport,
    ) -> Result<WorkStatus, EngineError> {
        let question = Question::of_run(call.engine(), &call.caller, run).await?;
        work.waits_for = wait_hint_of(question.as_ref(), run);
        Ok(WorkStatus {
            question,
            work,
            since: WorkTimestamps {
                created_at: run.summary.created_at.to_string(),
                updated_at: run.summary.updated_at.to_string(),
            },
        })
    }
}

fn timestamps_of(recorded: &RequestView) -> WorkTimestamps {
    WorkTimestamps {
        created_at: recorded.created_at.to_string(),
        updated_at: recorded.updated_at.to_string(),
    }
}

/// The task of something that goes on.
pub(super) fn task(subject: &WorkSubject, standing: &WorkStatus) -> Task {
    let since = &standing.since;
    let task = Task::new(
        subject.id(),
        TaskStatus::Working,
        since.created_at.clone(),
        since.updated_at.clone(),
    );
    let task = task.with_poll_interval_ms(POLL_MS);
    match standing.work.content.clone() {
        Some(content) => task.with_status_message(content),
        None => task,
    }
}

pub(super) fn reply(work: WorkReport) -> ToolReply<WorkReport> {
    if work.has_failed() {
        ToolReply::Failed(work)
    } else {
        ToolReply::Done(work)
    }
}
