//! Tasks (the protocol's extension of 2026): a request or run that a client polls. They are durable; a task's id is the
//! request's or the run's.

use std::time::Duration;

use charter_contract::run_status::RunStatus;
use charter_engine::{CallEnd, CallLink, EngineError};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, DetailedTask, GetTaskResult, InputRequests, InputResponses, JsonObject,
    TaskPayload,
};
use serde_json::Value;

use super::call::{Call, ElicitationMode};
use super::failure::{error_result, invalid_params};
use super::linked::{accepted, fitting, input_requests};
use super::settle::{WorkStatus, parse_elicit_result, task};
use super::work::{WorkReport, WorkSubject};

/// The status of a task.
pub(super) async fn get(call: &Call, id: &str) -> Result<GetTaskResult, ErrorData> {
    let detailed = detailed(call, id).await;
    detailed
        .map(GetTaskResult::new)
        .map_err(|error| invalid_params(&error))
}

/// Applies a person's answers to the questions of a task.
pub(super) async fn update(
    call: &Call,
    id: &str,
    answers: &InputResponses,
) -> Result<(), ErrorData> {
    let updated = async {
        let subject = WorkSubject::parse(id)?;
        if let Some(link) = link(call, &subject) {
            link.answer(&fitting(&link.questions(), answers));
        }
        let standing = subject.status(call, Duration::ZERO).await?;
        let Some(question) = standing.question else {
            return Ok(());
        };
        let pending = question.pending();
        // The extension requires ignoring answers to questions that are no longer pending.
        if let Some(answer) = answers.get(&pending.key()) {
            let answer = parse_elicit_result(answer)?;
            pending.apply(call.engine(), &call.caller, answer).await?;
        }
        Ok(())
    };
    updated.await.map_err(|error| invalid_params(&error))
}

/// Cancels a task.
pub(super) async fn cancel(call: &Call, id: &str) -> Result<(), ErrorData> {
    let cancelled = async {
        let subject = WorkSubject::parse(id)?;
        let reason = "the client cancelled the task";
        subject.cancel(call.engine(), &call.caller, reason).await
    };
    cancelled.await.map_err(|error| invalid_params(&error))
}

async fn detailed(call: &Call, id: &str) -> Result<DetailedTask, EngineError> {
    let subject = WorkSubject::parse(id)?;
    let standing = subject.status(call, Duration::ZERO).await?;
    let task = task(&subject, &standing);
    let payload = match link(call, &subject) {
        Some(link) => linked_payload(call, &link, &standing)?,
        None => None,
    };
    let payload = match payload {
        Some(payload) => payload,
        None => payload_of(call, &standing)?,
    };
    Ok(DetailedTask::new(task, payload))
}

/// The link of a call whose client takes part in it.
fn link(call: &Call, subject: &WorkSubject) -> Option<CallLink> {
    match subject {
        WorkSubject::Run(run) => call.engine().linked_calls().link(&call.caller, run),
        WorkSubject::Request(_) | WorkSubject::Mission(_) => None,
    }
}

/// The questions of an MCP server, or its answer after the run has ended; `None` if there is neither.
fn linked_payload(
    call: &Call,
    link: &CallLink,
    standing: &WorkStatus,
) -> Result<Option<TaskPayload>, EngineError> {
    let work = &standing.work;
    if work.status == RunStatus::Working {
        let questions = link.questions();
        let can_answer = questions.values().all(|question| call.can_answer(question));
        if questions.is_empty() || !can_answer {
            return Ok(None);
        }
        let input_requests = input_requests(questions)?;
        return Ok(Some(TaskPayload::InputRequired { input_requests }));
    }
    let has_ended = !matches!(
        work.status,
        RunStatus::Aborted | RunStatus::Stopping | RunStatus::Paused
    ) && standing.question.is_none();
    let end = link.end().filter(|_| has_ended);
    let end = end.and_then(|end| accepted(end, work.has_failed()));
    Ok(end.map(|end| match end {
        CallEnd::Result(result) => TaskPayload::Completed { result },
        CallEnd::Error(error) => TaskPayload::Failed { error },
    }))
}

fn payload_of(call: &Call, standing: &WorkStatus) -> Result<TaskPayload, EngineError> {
    if let (Some(question), true) = (
        standing.question_for(call),
        call.elicitation_mode() != ElicitationMode::No,
    ) {
        let key = question.pending().key();
        let input_requests = InputRequests::from([(key, question.request()?)]);
        return Ok(TaskPayload::InputRequired { input_requests });
    }
    match standing.work.status {
        // Work that waits for another person continues without this client.
        RunStatus::Working
        | RunStatus::Stopping
        | RunStatus::RollingBack
        | RunStatus::Paused
        | RunStatus::AwaitingApproval
        | RunStatus::AwaitingConfirmation
        | RunStatus::AwaitingParameters => Ok(TaskPayload::Working),
        RunStatus::Aborted => Ok(TaskPayload::Cancelled),
        RunStatus::Completed
        | RunStatus::Incomplete
        | RunStatus::Failed
        | RunStatus::Rejected
        | RunStatus::Denied
        | RunStatus::BudgetExceeded
        | RunStatus::RolledBack
        | RunStatus::RollbackFailed => Ok(TaskPayload::Completed {
            result: result(&standing.work)?,
        }),
    }
}

fn result(work: &WorkReport) -> Result<JsonObject, EngineError> {
    let internal = |error| EngineError::internal("writing a task's result", error);
    let written = serde_json::to_value(work).map_err(internal)?;
    let result = if work.has_failed() {
        error_result(&written)
    } else {
        CallToolResult::structured(written)
    };
    match serde_json::to_value(result).map_err(internal)? {
        Value::Object(result) => Ok(result),
        _ => Err(EngineError::internal(
            "writing a task's result",
            "it is not an object",
        )),
    }
}
