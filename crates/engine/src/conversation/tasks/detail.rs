//! The details of a task besides its state: the input that it waits for, and its results, as text and machine-readable.

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RunId;
use charter_contract::parameter::Parameter;
use charter_contract::run_status::RunStatus;
use charter_domain::parameters::Collected;
use charter_domain::run::{MissingAccount, StepState};
use serde_json::{Value, json};

use super::standing::Outline;
use super::thread::{Attempt, Thread};
use super::thread::{RecordedAnswer, asked_back, missing_account};
use super::{Task, TaskContent, TaskKey, TaskService, TaskState};
use crate::conversation::requests::{CLARIFICATION, ParameterView};
use crate::execution::runs::RunView;
use crate::{Caller, EngineError};

/// Runs of a task whose content is collected.
const RUNS_WITH_CONTENT: usize = 4;

impl TaskService {
    /// Collects the details of a task.
    pub(super) async fn detail(
        &self,
        caller: &Caller,
        thread: Thread,
        outline: Outline,
    ) -> Result<Task, EngineError> {
        let account = missing_account(&thread.last);
        let account = account.filter(|_| outline.state == TaskState::AuthorizationRequired);
        let run = self.waiting_run(caller, &outline, account.as_ref()).await?;
        let (answer, failure) = match &thread.last.answered {
            Some(RecordedAnswer::Response(response)) if outline.state == TaskState::Completed => {
                (Some(response.clone()), None)
            }
            Some(RecordedAnswer::Failure(failure)) => (None, Some(failure.clone())),
            Some(RecordedAnswer::Response(_)) | None => (None, None),
        };
        let asks = match (&run, outline.state) {
            (Some(run), _) => self.asks_of_run(caller, run).await?,
            (None, TaskState::AuthorizationRequired) => {
                account.map(|account| json!({"account": account}))
            }
            (None, TaskState::InputRequired) => match self.asks_of_request(&thread.last) {
                Ok(asks) => Some(asks),
                // The document is no longer registered: a reply gets that error.
                Err(error) if error.code == ErrorCode::NotFound => None,
                Err(error) => return Err(error),
            },
            (None, _) => None,
        };
        let question =
            asked_back(&thread.last).filter(|_| outline.state == TaskState::InputRequired);
        let words = match (&failure, &run) {
            (Some(failure), _) => failure.user_message.clone(),
            (None, None) if question.is_some() => question
                .map(|question| question.content())
                .unwrap_or_default(),
            (None, Some(run)) if outline.state != TaskState::Completed => words_of_run(run),
            (None, _) => words_of_state(outline.state).to_owned(),
        };
        let contents = match outline.state {
            TaskState::Completed => self.contents_of(caller, &outline.runs).await?,
            TaskState::Submitted
            | TaskState::Working
            | TaskState::InputRequired
            | TaskState::AuthorizationRequired
            | TaskState::Failed
            | TaskState::Canceled
            | TaskState::Rejected => Vec::new(),
        };
        Ok(Task {
            id: TaskKey::Request(thread.id),
            context: thread.context,
            state: outline.state,
            since: outline.since,
            words,
            asks,
            said: thread.said,
            answer,
            result: thread.last.result.filter(|_| outline.state.is_final()),
            artifacts: Vec::new(),
            contents,
            failure,
            runs: outline.runs,
        })
    }

    /// Returns the changing run of a task, or the one that waits for an approval.
    async fn waiting_run(
        &self,
        caller: &Caller,
        outline: &Outline,
        account: Option<&MissingAccount>,
    ) -> Result<Option<RunView>, EngineError> {
        if let Some(run) = &outline.change {
            return self.run_views.show(caller, &run.run_id).await.map(Some);
        }
        if outline.state != TaskState::AuthorizationRequired || account.is_some() {
            return Ok(None);
        }
        let mut waiting = None;
        for run in &outline.runs {
            let shown = self.run_views.show(caller, run).await?;
            waiting = waiting.or((!shown.approvals.is_empty()).then_some(shown));
        }
        Ok(waiting)
    }

    /// Returns the content that outputs of runs refer to; a run past its retention has none.
    async fn contents_of(
        &self,
        caller: &Caller,
        runs: &[RunId],
    ) -> Result<Vec<TaskContent>, EngineError> {
        let mut contents = Vec::new();
        for run in runs.iter().take(RUNS_WITH_CONTENT) {
            let references = match self.run_views.contents(caller, run).await {
                Ok(references) => references,
                Err(error) if error.code == ErrorCode::NotFound => continue,
                Err(error) => return Err(error),
            };
            contents.extend(references.into_iter().map(|reference| TaskContent {
                run: run.clone(),
                reference,
            }));
        }
        Ok(contents)
    }

    /// Returns the input that a run waits for.
    async fn asks_of_run(
        &self,
        caller: &Caller,
        run: &RunView,
    ) -> Result<Option<Value>, EngineError> {
        let state = &run.state;
        Ok(match run.summary.status {
            RunStatus::AwaitingParameters => {
                let (declared, _) = self
                    .run_management
                    .parameters_of(&caller.tenant, &run.summary.run_id)
                    .await?;
                let is_missing = |parameter: &&Parameter| state.missing.contains(&parameter.name);
                let missing: Vec<_> = declared.iter().filter(is_missing).collect();
                Some(json!({
                    "run_id": run.summary.run_id,
                    "parameters": missing,
                    "unclear": state.unclear,
                    "proposals": run.proposals,
                }))
            }
            RunStatus::AwaitingConfirmation => Some(json!({
                "run_id": run.summary.run_id,
                "confirm": {"digest": state.plan_digest, "typed": state.typed},
                "plan": state.steps,
                "parameters": state.parameters,
                "sources": state.sources,
            })),
            RunStatus::AwaitingApproval => {
                let approvals = run.approvals.iter().map(
                    |approval| json!({"approval_id": approval.approval_id, "tool_id": approval.call.tool}),
                );
                let approvals: Vec<_> = approvals.collect();
                Some(json!({"run_id": run.summary.run_id, "approvals": approvals}))
            }
            RunStatus::Working
            | RunStatus::Paused
            | RunStatus::Stopping
            | RunStatus::RollingBack
            | RunStatus::Completed
            | RunStatus::Incomplete
            | RunStatus::Failed
            | RunStatus::Aborted
            | RunStatus::Rejected
            | RunStatus::Denied
            | RunStatus::BudgetExceeded
            | RunStatus::RolledBack
            | RunStatus::RollbackFailed => None,
        })
    }

    /// Returns the missing parameters of a failed request, or the question that it was answered with.
    fn asks_of_request(&self, attempt: &Attempt) -> Result<Value, EngineError> {
        if let Some(clarification) = asked_back(attempt) {
            return Ok(json!({CLARIFICATION: clarification}));
        }
        let request = &attempt.asked.request;
        let declared = self.declared_for(attempt)?;
        let details = match &attempt.answered {
            Some(RecordedAnswer::Failure(failure)) => failure.technical_details.as_ref(),
            Some(RecordedAnswer::Response(_)) | None => None,
        };
        let detail = |name: &str| details.and_then(|details| details.get(name));
        let missing: Vec<&Parameter> = match detail("missing").and_then(Value::as_array) {
            Some(names) => {
                let is_named = |name: &str| names.iter().any(|one| one.as_str() == Some(name));
                let is_missing = |parameter: &&Parameter| {
                    is_named(parameter.name.as_str()) || is_named(parameter.called())
                };
                declared.iter().filter(is_missing).collect()
            }
            None => {
                let given = request.parameters().cloned().unwrap_or_default();
                let known = Collected::given(&declared, &given);
                known.read(request.input.as_str(), request.timestamp).open()
            }
        };
        let mut asks = json!({"parameters": missing});
        for name in ["known", "proposals"] {
            if let Some(value) = detail(name) {
                asks[name] = value.clone();
            }
        }
        Ok(asks)
    }
}

fn words_of_state(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "The request is recorded.",
        TaskState::Working => "The request is being answered.",
        TaskState::InputRequired => "The request needs more input.",
        TaskState::AuthorizationRequired => {
            "The request waits for the approval of a call, or for an account."
        }
        TaskState::Completed => "",
        TaskState::Failed => "The request failed.",
        TaskState::Canceled => "The request was cancelled.",
        TaskState::Rejected => "The request was rejected.",
    }
}

/// Describes the input that a run waits for, or its outcome.
fn words_of_run(run: &RunView) -> String {
    let status = run.summary.status.in_words();
    let mut words = format!("{}: {status}.", run.summary.title);
    let missing: Vec<&str> = run.state.missing.iter().map(AsRef::as_ref).collect();
    if !missing.is_empty() {
        words += &format!(" It needs {}.", missing.join(", "));
        for why in run.state.unclear.values() {
            words += &format!(" Not used: {why}.");
        }
    } else if run.state.confirm && run.summary.status == RunStatus::AwaitingConfirmation {
        words += " Nothing has been changed. It continues when exactly this plan is confirmed by its digest.";
        let values = ParameterView::list(&run.state.parameters, &run.state.sources);
        let values: Vec<String> = values.iter().map(ParameterView::in_words).collect();
        if !values.is_empty() {
            words += &format!(" Parameters: {}.", values.join("; "));
        }
    }
    if let Some(typed) = run.state.typed.as_ref().filter(|_| run.state.confirm) {
        words += &format!(" The value of {typed} must be typed with the confirmation.");
    }
    for approval in &run.approvals {
        words += &format!(" An approver has to decide on {}.", approval.call.tool);
    }
    for step in &run.state.steps {
        if let StepState::Failed { failure } = &step.state {
            words += &format!(" {} failed: {}", step.step, failure.message);
        }
    }
    words
}
