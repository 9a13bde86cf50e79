//! The state of an occurrence's work. Unfinished work costs one read of its record; a journal is folded only once its
//! run has ended.

use std::collections::BTreeMap;

use charter_contract::catalogue::schedule::OccurrenceState;
use charter_contract::finding::Finding;
use charter_contract::ids::{MissionId, RequestId, RunId};
use charter_contract::json::decode_stored;
use charter_contract::mission::MissionState;
use charter_contract::run_status::RunStatus;
use charter_store::schedule::OccurrenceRecord;
use serde::Deserialize as _;
use serde_json::Value;

use super::ScheduleService;
use super::form::{StartedWork, work_of};
use crate::{Caller, EngineError};

/// How the work of an occurrence ended.
pub(super) struct WorkEnd {
    pub(super) state: OccurrenceState,
    pub(super) note: Option<String>,
    pub(super) findings: Vec<Finding>,
}

impl WorkEnd {
    pub(super) fn failed(note: impl Into<String>) -> Self {
        Self {
            state: OccurrenceState::Failed,
            note: Some(note.into()),
            findings: Vec::new(),
        }
    }

    fn ended(note: impl Into<String>) -> Self {
        Self {
            state: OccurrenceState::Ended,
            ..Self::failed(note)
        }
    }
}

impl ScheduleService {
    /// Returns how the work of a started occurrence has ended; `None` while it is unfinished.
    ///
    /// # Errors
    /// `not_found` for work that no longer exists, and failures to read it.
    pub(super) async fn end_of(
        &self,
        caller: &Caller,
        one: &OccurrenceRecord,
    ) -> Result<Option<WorkEnd>, EngineError> {
        match work_of(one)? {
            None => Ok(None),
            Some(StartedWork::Request(request)) => self.end_of_request(caller, &request).await,
            Some(StartedWork::Run(run)) => {
                let status = self.status_of(caller, &run).await?;
                Ok(end_of_run(status))
            }
            Some(StartedWork::Runs(runs)) => {
                let mut statuses = Vec::with_capacity(runs.len());
                for run in runs {
                    let record = self.store.run(&caller.tenant, &run).await?;
                    statuses.push(record.map(|record| record.status));
                }
                Ok(end_of_runs(&statuses))
            }
            Some(StartedWork::Mission(mission)) => self.end_of_mission(caller, &mission).await,
        }
    }

    async fn end_of_request(
        &self,
        caller: &Caller,
        request: &RequestId,
    ) -> Result<Option<WorkEnd>, EngineError> {
        let found = self.store.request(&caller.tenant, request).await?;
        let found = found.filter(|found| caller.sees(Some(&found.user_id)));
        let found = found.ok_or_else(|| EngineError::not_found("request", request))?;
        let Some(answer) = found.answer else {
            return Ok(None);
        };
        let answer: Value = decode_stored(&answer)
            .map_err(|error| EngineError::internal("reading a recorded request", error))?;
        end_of_answer(&answer).map(Some)
    }

    async fn end_of_mission(
        &self,
        caller: &Caller,
        mission: &MissionId,
    ) -> Result<Option<WorkEnd>, EngineError> {
        let found = self.store.mission(&caller.tenant, mission).await?;
        let found = found.ok_or_else(|| EngineError::not_found("mission", mission))?;
        let run = self.store.run(&caller.tenant, &found.run_id).await?;
        if run.is_some_and(|run| !run.status.is_final()) {
            return Ok(None);
        }
        let view = self.parts.mission_views.show(caller, mission).await?;
        Ok(end_of_mission(view.state, view.reason))
    }

    /// Returns the status of a run from its record.
    async fn status_of(&self, caller: &Caller, run: &RunId) -> Result<RunStatus, EngineError> {
        let found = self.store.run(&caller.tenant, run).await?;
        let found = found.filter(|found| caller.sees(found.user_id.as_ref()));
        let found = found.ok_or_else(|| EngineError::not_found("run", run))?;
        Ok(found.status)
    }
}

fn end_of_answer(answer: &Value) -> Result<WorkEnd, EngineError> {
    if answer.get("error_id").is_some() {
        let message = answer.get("user_message").and_then(Value::as_str);
        return Ok(WorkEnd::failed(message.unwrap_or("the request failed")));
    }
    let findings = match answer.pointer("/metadata/findings") {
        Some(found) => Vec::<Finding>::deserialize(found)
            .map_err(|error| EngineError::internal("reading the findings of an answer", error))?,
        None => Vec::new(),
    };
    Ok(WorkEnd {
        state: OccurrenceState::Ended,
        note: None,
        findings,
    })
}

fn end_of_run(status: RunStatus) -> Option<WorkEnd> {
    let is_done = matches!(status, RunStatus::Completed | RunStatus::Incomplete);
    status.is_final().then(|| {
        if is_done {
            WorkEnd::ended(status.as_str())
        } else {
            WorkEnd::failed(status.as_str())
        }
    })
}

/// Returns how several runs ended, once all of them have. A run that no longer exists has ended, and failed.
fn end_of_runs(statuses: &[Option<RunStatus>]) -> Option<WorkEnd> {
    let mut known = statuses.iter().flatten();
    if known.any(|status| !status.is_final()) {
        return None;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for status in statuses {
        *counts
            .entry(status.map_or("deleted", RunStatus::as_str))
            .or_default() += 1;
    }
    let counts = counts.iter().map(|(word, count)| format!("{count} {word}"));
    let note = counts.collect::<Vec<_>>().join(", ");
    let are_done = statuses
        .iter()
        .all(|status| matches!(status, Some(RunStatus::Completed | RunStatus::Incomplete)));
    Some(if are_done {
        WorkEnd::ended(note)
    } else {
        WorkEnd::failed(note)
    })
}

fn end_of_mission(state: MissionState, reason: Option<String>) -> Option<WorkEnd> {
    state.is_final().then(|| {
        if state == MissionState::Completed {
            WorkEnd::ended(state.as_str())
        } else {
            WorkEnd::failed(reason.unwrap_or_else(|| state.to_string()))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_proposals_have_ended_once_each_run_has() {
        use RunStatus::{Aborted, AwaitingConfirmation, Completed};
        assert!(end_of_runs(&[Some(Completed), Some(AwaitingConfirmation), None]).is_none());
        let end = end_of_runs(&[Some(Completed), Some(Completed)]).unwrap();
        assert_eq!(end.state, OccurrenceState::Ended);
        assert_eq!(end.note.as_deref(), Some("2 completed"));
        let end = end_of_runs(&[Some(Completed), Some(Aborted), None]).unwrap();
        assert_eq!(end.state, OccurrenceState::Failed);
        assert_eq!(
            end.note.as_deref(),
            Some("1 aborted, 1 completed, 1 deleted")
        );
    }
}
