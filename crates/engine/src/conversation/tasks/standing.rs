//! Reads the state of a task from its newest request's answer and from its runs.

use charter_contract::ids::{RunId, SkillId};
use charter_contract::json::decode_stored;
use charter_contract::parameter::Parameter;
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_store::journal::{RunPhase, RunRecord};
use serde_json::{Map, Value};

use super::thread::{
    Attempt, MAX_REPLIES, RecordedAnswer, Thread, asked_back, asks_for_parameters, missing_account,
    state_of_failure,
};
use super::{TaskService, TaskState};
use crate::EngineError;
use crate::conversation::requests::{Classification, analysis_run_id, runs_of};

/// The state of a task, without its details.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) state: TaskState,
    pub(super) since: Timestamp,
    /// Its runs.
    pub(super) runs: Vec<RunId>,
    /// The changing run, which continues after the request was answered.
    pub(super) change: Option<RunRecord>,
    /// Whether its runs are over and its request is not answered.
    pub(super) is_stalled: bool,
}

impl Outline {
    fn new(state: TaskState, since: Timestamp) -> Self {
        Self {
            state,
            since,
            runs: Vec::new(),
            change: None,
            is_stalled: false,
        }
    }
}

impl TaskService {
    pub(super) async fn outline(&self, thread: &Thread) -> Result<Outline, EngineError> {
        let last = &thread.last;
        match &last.answered {
            None => self.unanswered(last).await,
            Some(RecordedAnswer::Failure(failure)) => {
                let mut outline = Outline::new(state_of_failure(failure), last.updated_at);
                if outline.state == TaskState::InputRequired
                    && (!asks_for_parameters(last) || thread.replies >= MAX_REPLIES)
                {
                    outline.state = TaskState::Failed;
                }
                if outline.state == TaskState::AuthorizationRequired
                    && (missing_account(last).is_none() || thread.replies >= MAX_REPLIES)
                {
                    outline.state = TaskState::Rejected;
                }
                outline.runs = run_ids(failure.technical_details.as_ref(), "run_id");
                Ok(outline)
            }
            Some(RecordedAnswer::Response(response)) => {
                let extra = response.metadata.as_ref().map(|metadata| &metadata.extra);
                let state = match asked_back(last) {
                    Some(_) if thread.replies < MAX_REPLIES => TaskState::InputRequired,
                    Some(_) | None => TaskState::Completed,
                };
                let mut outline = Outline::new(state, last.updated_at);
                outline.runs = run_ids(extra, "run_ids");
                let status = extra.and_then(|extra| extra.get("status")?.as_str());
                if let (Some(status), Some(run)) = (status, outline.runs.first()) {
                    let record = self.store.run(&last.asked.caller.tenant, run).await?;
                    outline.state = match &record {
                        Some(record) => state_of_run(record.status),
                        None => gone(status.parse().ok()),
                    };
                    if let Some(record) = record {
                        // It has ended since the request was read: its result follows soon.
                        if last.awaits_result && record.phase == RunPhase::Finished {
                            outline.state = TaskState::Working;
                        }
                        outline.since = record.updated_at;
                        outline.change = Some(record);
                    }
                }
                Ok(outline)
            }
        }
    }

    /// Returns the state of a request that is in progress, or waits for an approval of a call of its runs.
    async fn unanswered(&self, attempt: &Attempt) -> Result<Outline, EngineError> {
        let Some(verdict) = &attempt.verdict else {
            return Ok(Outline::new(TaskState::Submitted, attempt.updated_at));
        };
        let classified: Classification = decode_stored(verdict)
            .map_err(|error| EngineError::internal("reading a recorded verdict", error))?;
        let mut outline = Outline::new(TaskState::Working, attempt.updated_at);
        let mut found = Vec::new();
        let mut runs = runs_of(&attempt.asked, &classified);
        runs.push(analysis_run_id(&attempt.asked));
        for id in runs {
            if let Some(run) = self.store.run(&attempt.asked.caller.tenant, &id).await? {
                outline.since = outline.since.max(run.updated_at);
                outline.runs.push(id);
                found.push(run);
            }
        }
        let all = |is: fn(&RunRecord) -> bool| !found.is_empty() && found.iter().all(is);
        outline.is_stalled = all(|run| run.phase == RunPhase::Finished);
        if all(|run| state_of_run(run.status) == TaskState::Canceled) {
            outline.state = TaskState::Canceled;
        } else if all(|run| state_of_run(run.status) != TaskState::Working)
            && let Some(waits) = found
                .iter()
                .map(|run| state_of_run(run.status))
                .find(|state| !state.is_final())
        {
            outline.state = waits;
        }
        if classified.playbook.is_some()
            && let Some(run) = found.pop()
        {
            // It continues whether or not the request has its answer yet.
            outline.since = run.updated_at;
            outline.change = Some(run);
        }
        Ok(outline)
    }

    /// Returns the parameters of the request's target, if that is one skill or playbook.
    pub(super) fn declared_for(&self, attempt: &Attempt) -> Result<Vec<Parameter>, EngineError> {
        let caller = &attempt.asked.caller;
        Ok(match routed(attempt)? {
            Some(RoutedDocument::Playbook(playbook)) => {
                let found = self.run_starts.runnable_playbook(caller, &playbook)?;
                found.document().declared_parameters()
            }
            Some(RoutedDocument::Skill(skill)) => {
                self.run_starts.skill_parameters(caller, &skill)?
            }
            None => Vec::new(),
        })
    }
}

/// The single target of a request.
pub(super) enum RoutedDocument {
    Skill(SkillId),
    Playbook(charter_contract::ids::PlaybookId),
}

pub(super) fn routed(attempt: &Attempt) -> Result<Option<RoutedDocument>, EngineError> {
    let Some(verdict) = &attempt.verdict else {
        return Ok(None);
    };
    let classified: Classification = decode_stored(verdict)
        .map_err(|error| EngineError::internal("reading a recorded verdict", error))?;
    Ok(match (classified.playbook, classified.skills.as_slice()) {
        (Some(playbook), _) => Some(RoutedDocument::Playbook(playbook)),
        (None, [skill]) => Some(RoutedDocument::Skill(skill.clone())),
        (None, _) => None,
    })
}

/// Returns ids of runs in a field that has one or several.
fn run_ids(fields: Option<&Map<String, Value>>, name: &str) -> Vec<RunId> {
    let value = fields.and_then(|fields| fields.get(name));
    let values = match value {
        Some(Value::Array(values)) => values.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[],
    };
    let ids = values.iter().filter_map(Value::as_str);
    ids.filter_map(|id| RunId::parse(id).ok()).collect()
}

/// Converts a run's status into a task's state.
fn state_of_run(status: RunStatus) -> TaskState {
    match status {
        RunStatus::AwaitingParameters | RunStatus::AwaitingConfirmation => TaskState::InputRequired,
        RunStatus::AwaitingApproval => TaskState::AuthorizationRequired,
        RunStatus::Working | RunStatus::Paused | RunStatus::Stopping | RunStatus::RollingBack => {
            TaskState::Working
        }
        // The work is done; the answer mentions missing evidence.
        RunStatus::Completed | RunStatus::Incomplete => TaskState::Completed,
        RunStatus::Aborted => TaskState::Canceled,
        RunStatus::Failed
        | RunStatus::Rejected
        | RunStatus::Denied
        | RunStatus::BudgetExceeded
        | RunStatus::RolledBack
        | RunStatus::RollbackFailed => TaskState::Failed,
    }
}

/// Returns the state of a task whose run is no longer stored: its end, if the last known status is one, otherwise
/// failed, because the end is unknown.
fn gone(last_known: Option<RunStatus>) -> TaskState {
    match last_known {
        Some(status) if status.is_final() => state_of_run(status),
        Some(_) | None => TaskState::Failed,
    }
}

#[cfg(test)]
mod tests {
    use charter_contract::agentic::error::AgentError;
    use serde_json::json;

    use super::*;

    /// Every status of a run, and the state of its task.
    #[test]
    fn each_status_of_a_run_is_one_state_of_a_task() {
        for (status, state) in [
            (RunStatus::Working, TaskState::Working),
            (RunStatus::Paused, TaskState::Working),
            (RunStatus::Stopping, TaskState::Working),
            (RunStatus::RollingBack, TaskState::Working),
            (RunStatus::AwaitingParameters, TaskState::InputRequired),
            (RunStatus::AwaitingConfirmation, TaskState::InputRequired),
            (
                RunStatus::AwaitingApproval,
                TaskState::AuthorizationRequired,
            ),
            (RunStatus::Completed, TaskState::Completed),
            (RunStatus::Incomplete, TaskState::Completed),
            (RunStatus::Aborted, TaskState::Canceled),
            (RunStatus::Failed, TaskState::Failed),
            (RunStatus::Rejected, TaskState::Failed),
            (RunStatus::Denied, TaskState::Failed),
            (RunStatus::BudgetExceeded, TaskState::Failed),
            (RunStatus::RolledBack, TaskState::Failed),
            (RunStatus::RollbackFailed, TaskState::Failed),
        ] {
            assert_eq!(state_of_run(status), state, "{status}");
        }
    }

    /// A run that is no longer stored gives its last known end; without one, the task failed.
    #[test]
    fn a_run_that_is_no_longer_stored_has_ended() {
        for (status, state) in [
            (Some(RunStatus::Completed), TaskState::Completed),
            (Some(RunStatus::Aborted), TaskState::Canceled),
            (Some(RunStatus::AwaitingApproval), TaskState::Failed),
            (Some(RunStatus::Working), TaskState::Failed),
            (None, TaskState::Failed),
        ] {
            assert_eq!(gone(status), state, "{status:?}");
        }
    }

    /// A reply can give a missing value; it cannot repair a failure of a run's step.
    #[test]
    fn a_failure_is_asked_about_only_before_anything_ran() {
        let failure = |code: &str, details: Value| {
            serde_json::from_value::<AgentError>(json!({
                "error_id": "err-01930000-0000-7000-8000-000000000001",
                "request_id": "req-01930000-0000-7000-8000-000000000001",
                "timestamp": "2026-04-14T12:00:00Z", "error_type": "input_error",
                "error_code": code, "user_message": "no", "technical_details": details,
            }))
            .unwrap()
        };
        let run = json!({"run_id": "run-01930000-0000-7000-8000-000000000001"});
        for (code, details, state) in [
            ("missing_parameters", json!({}), TaskState::InputRequired),
            ("invalid_parameters", json!({}), TaskState::InputRequired),
            ("invalid_parameters", run.clone(), TaskState::Failed),
            ("cancelled", run, TaskState::Canceled),
            (
                "credential_required",
                json!({"credential": "github"}),
                TaskState::AuthorizationRequired,
            ),
            ("policy_denied", json!({}), TaskState::Rejected),
            ("no_match", json!({}), TaskState::Rejected),
            ("tool_failed", json!({}), TaskState::Failed),
            ("a code of a newer version", json!({}), TaskState::Failed),
        ] {
            assert_eq!(state_of_failure(&failure(code, details)), state, "{code}");
        }
    }
}
