//! The answer to a request that changes something: the state of its run, and the conditions that it waits for.

use std::time::Duration;

use charter_contract::agentic::response::{ActionType, AgentResponse, AgentResponseBuilder};
use charter_contract::ids::ResponseId;
use charter_contract::run_status::RunStatus;
use charter_domain::run::{RunEvent, StepState};
use serde_json::{Map, Value, json};

use super::ActiveRequest;
use super::classification::Classification;
use super::guard::warn;
use super::offer::Offers;
use super::parameters::ParameterView;
use super::respond::{ResponseService, verdict};
use crate::EngineError;
use crate::execution::runs::RunView;

/// A change that was started.
#[derive(Debug)]
pub(super) struct StartedChange {
    /// Its run, in its current state.
    pub(super) run: RunView,
    /// Warnings about its remaining steps.
    pub(super) foreseen: Vec<String>,
}

impl StartedChange {
    /// Returns the warnings about past and future steps, each once.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.run.warnings();
        for warning in &self.foreseen {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        warnings
    }
}

/// Builds the response to a request to write.
pub(super) fn response(
    responses: &ResponseService,
    asked: &ActiveRequest,
    classified: &Classification,
    change: &StartedChange,
    elapsed: Duration,
) -> Result<AgentResponse, EngineError> {
    let run = &change.run;
    let builder = AgentResponse::builder(
        ResponseId::from_uuid(responses.ids.uuid()),
        asked.id().clone(),
        responses.clock.now(),
        content(run),
    )
    .execution_time_ms(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX));
    let mut builder = described(builder, classified, run)?;
    if !run.notes.is_empty() {
        builder = builder.metadata("warnings", json!(run.notes));
    }
    let mut response = builder.build();
    warn(&mut response, &change.warnings());
    let beside = classified.asked_beside();
    if !beside.is_empty() {
        response
            .content
            .push_str("\n\nThe question has more parts:");
        Offers::new(beside.to_vec()).add_to(&mut response);
    }
    Ok(response)
}

/// Adds the common part of every response about a run that changes something: its state, its plan, its actions.
pub(super) fn described(
    builder: AgentResponseBuilder,
    classified: &Classification,
    run: &RunView,
) -> Result<AgentResponseBuilder, EngineError> {
    let mut builder = builder
        .metadata("flow", json!(classified.flow))
        .metadata("verdict", verdict(&classified.verdict)?)
        .metadata("run_ids", json!([run.summary.run_id]))
        .metadata("status", json!(run.summary.status))
        .metadata("plan_digest", json!(run.state.plan_digest))
        .metadata("missing_parameters", json!(run.state.missing))
        .metadata("parameters", json!(parameters_of(run)))
        .metadata("plan", json!(run.state.steps))
        .metadata("approach_hints", json!(run.approach_hints))
        .metadata("approvals", json!(run.approvals));
    if !run.state.unclear.is_empty() {
        builder = builder.metadata("unclear", json!(run.state.unclear));
    }
    if !run.state.tokens.is_none() {
        builder = builder.metadata("tokens", json!(run.state.tokens));
    }
    if !run.proposals.is_empty() {
        builder = builder.metadata("proposals", json!(run.proposals));
    }
    for entry in &run.events {
        if let RunEvent::StepSucceeded {
            step, duration_ms, ..
        } = &entry.event
        {
            let shown = run.state.steps.iter().find(|shown| shown.step == *step);
            let Some(tool) = shown.and_then(|shown| shown.tool.as_ref()) else {
                continue;
            };
            let details = json!({"tool_id": tool, "step_id": step, "duration_ms": duration_ms});
            builder = builder.tool_used(tool.to_string()).action(
                ActionType::CommandExecution,
                entry.at,
                object(details),
            );
        }
    }
    Ok(builder)
}

/// Returns the known values, each with its source.
fn parameters_of(run: &RunView) -> Vec<ParameterView> {
    ParameterView::list(&run.state.parameters, &run.state.sources)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Formats the answer as text: the state, the plan, and the next action.
fn content(run: &RunView) -> String {
    let state = &run.state;
    let mut lines = vec![format!(
        "{}: {}.",
        run.summary.title,
        run.summary.status.in_words()
    )];
    for step in state.steps.iter().filter(|step| step.reverses.is_none()) {
        let tool = step.tool.as_ref().map_or("", AsRef::as_ref);
        let kind = if step.writes { "write" } else { "read" };
        let said = match &step.state {
            StepState::Failed { failure } => format!("failed: {}", failure.message),
            other => other.word().replace('_', " "),
        };
        lines.push(format!("- {} ({kind}, {tool}): {said}", step.step));
    }
    lines.extend(
        run.approach_hints
            .iter()
            .map(|hint| format!("Hint: {hint}")),
    );
    let is_asked = !state.missing.is_empty() || state.confirm;
    if is_asked && run.state.outcome.is_none() {
        let known = parameters_of(run);
        lines.extend(known.iter().map(|shown| format!("- {}", shown.in_words())));
    }
    lines.extend(next_actions(run));
    lines.extend(run.notes.iter().map(|note| format!("Note: {note}.")));
    lines.join("\n")
}

/// Returns the next action of the caller, after the facts that it depends on.
fn next_actions(run: &RunView) -> Vec<String> {
    let id = &run.summary.run_id;
    let state = &run.state;
    let mut lines = Vec::new();
    let awaited = state.awaited_run.iter();
    lines.extend(awaited.map(|awaited| awaited.reason.clone()));
    match run.summary.status {
        RunStatus::AwaitingParameters => {
            lines.extend(
                state
                    .unclear
                    .values()
                    .map(|why| format!("Not used: {why}.")),
            );
            lines.extend(run.proposals.iter().map(ToString::to_string));
            let names: Vec<&str> = state.missing.iter().map(AsRef::as_ref).collect();
            lines.push(format!(
                "It needs {}. Provide them: charter runs set {id} {}",
                names.join(", "),
                names
                    .iter()
                    .map(|name| format!("{name}=…"))
                    .collect::<Vec<_>>()
                    .join(" ")
            ));
        }
        RunStatus::AwaitingConfirmation => {
            let typed = state.typed.as_ref();
            let typed = typed.map_or(String::new(), |name| {
                format!(" --typed <the value of {name}>")
            });
            lines.push(format!(
                "Nothing has been changed. Confirm exactly this plan: charter runs confirm {id} --digest {}{typed}",
                state.plan_digest
            ));
        }
        RunStatus::AwaitingApproval => {
            for approval in &run.approvals {
                lines.push(format!(
                    "Waiting for an approval of {}: charter approvals show {}",
                    approval.call.tool, approval.approval_id
                ));
            }
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
        | RunStatus::RollbackFailed => lines.push(format!("Its history: charter runs show {id}")),
    }
    lines
}
