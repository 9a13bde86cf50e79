//! Tasks as the protocol writes them (section 4.1), in ProtoJSON.

use charter_contract::agentic::response::AgentResponse;
use charter_contract::json::{Profile, extent_of};
use charter_engine::{ArtifactView, ProgressEvent, Task, TaskInput, TaskState};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::error::{A2aError, Kind};
use super::params::state_name;

const TEXT: &str = "text/plain";
const DATA: &str = "application/json";

/// Which parts a client takes: all that it does not rule out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepts {
    text: bool,
    data: bool,
}

impl Accepts {
    pub(super) const ALL: Self = Self {
        text: true,
        data: true,
    };

    /// What `acceptedOutputModes` lets through.
    pub(super) fn from_modes(modes: Option<&[String]>) -> Result<Self, A2aError> {
        let Some(modes) = modes.filter(|modes| !modes.is_empty()) else {
            return Ok(Self::ALL);
        };
        let takes = |wanted: &str| {
            let range = wanted.split_once('/').map(|(kind, _)| format!("{kind}/*"));
            modes.iter().any(|mode| {
                let mode = mode.split(';').next().unwrap_or_default().trim();
                mode == wanted || mode == "*/*" || mode == "*" || Some(mode) == range.as_deref()
            })
        };
        let accepts = Self {
            text: takes(TEXT) || takes("text"),
            data: takes(DATA) || takes("json"),
        };
        if accepts
            == (Self {
                text: false,
                data: false,
            })
        {
            let message = format!("answers are {TEXT} and {DATA}, and the client takes neither");
            return Err(A2aError::new(Kind::ContentTypeNotSupported, message));
        }
        Ok(accepts)
    }
}

/// What of a task is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    /// How many of the newest messages.
    pub(super) history: usize,
    /// Whether with what it came to.
    pub(super) artifacts: bool,
    pub(super) accepts: Accepts,
}

/// Puts a value into an object, which `json!` would do with a copy of it: an answer has up to 16 MiB.
pub(super) fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

/// A part for people.
fn text(text: impl Into<String>) -> Value {
    with(
        json!({"mediaType": TEXT}),
        "text",
        Value::String(text.into()),
    )
}

/// A part for programs. Clients read a data part as Protocol Buffers, which nest up to a limit: a value that nests deeper is
/// sent as its JSON text, under the same media type.
fn data(shown: &impl Serialize) -> Value {
    let part = json!({"mediaType": DATA});
    let value = json!(shown);
    match extent_of(&value, Profile::A2A_DATA) {
        Ok(_) => with(part, "data", value),
        Err(_) => with(part, "text", Value::String(value.to_string())),
    }
}

/// A `Task`.
pub(super) fn task(task: &Task, view: View) -> Value {
    let mut shown = json!({
        "id": task.id, "contextId": task.context, "status": status(task),
    });
    let left_out = task.said.len().saturating_sub(view.history);
    let history: Vec<Value> = task
        .said
        .iter()
        .skip(left_out)
        .map(|said| user(task, said))
        .collect();
    if !history.is_empty() {
        shown["history"] = Value::Array(history);
    }
    if view.artifacts {
        shown["artifacts"] = Value::Array(artifacts(task, 0, view.accepts));
    }
    if !task.runs.is_empty() {
        shown["metadata"] = json!({"run_ids": task.runs});
    }
    shown
}

/// A `TaskStatusUpdateEvent`, in a `StreamResponse`.
pub(super) fn status_update(task: &Task) -> Value {
    json!({"statusUpdate": {
        "taskId": task.id, "contextId": task.context, "status": status(task),
    }})
}

/// What a task came to since it was told of last, each as a `TaskArtifactUpdateEvent` in a
/// `StreamResponse`.
pub(super) fn artifact_updates(told: Option<&Task>, task: &Task, accepts: Accepts) -> Vec<Value> {
    let last = told.and_then(|told| told.artifacts.last());
    let after = last.map_or(0, |shown| shown.place);
    let updates = artifacts(task, after, accepts).into_iter().map(|artifact| {
        let update = json!({"taskId": task.id, "contextId": task.context, "lastChunk": true});
        with(
            json!({}),
            "artifactUpdate",
            with(update, "artifact", artifact),
        )
    });
    updates.collect()
}

/// Progress on a task as a `TaskStatusUpdateEvent`, in a `StreamResponse`.
pub(super) fn progress(task: &Task, at: usize, event: &ProgressEvent) -> Value {
    let parts = vec![text(words(event)), data(&event.to_value())];
    let id = format!("{}/progress/{at}", task.id);
    let message = agent(task, &id, Value::Array(parts));
    let status = json!({"state": state_name(TaskState::Working), "message": message});
    json!({"statusUpdate": {
        "taskId": task.id, "contextId": task.context, "status": status,
    }})
}

fn status(task: &Task) -> Value {
    let mut status = json!({"state": state_name(task.state), "timestamp": task.since});
    let mut parts = Vec::new();
    if !task.words.is_empty() {
        parts.push(text(task.words.as_str()));
    }
    if let Some(asks) = &task.asks {
        parts.push(data(asks));
    }
    if let Some(failure) = &task.failure {
        parts.push(data(failure));
    }
    if !parts.is_empty() {
        let id = format!("{}/{}", task.id, task.since.as_micros());
        status["message"] = agent(task, &id, Value::Array(parts));
    }
    status
}

fn agent(task: &Task, id: &str, parts: Value) -> Value {
    let message = json!({
        "messageId": id, "role": "ROLE_AGENT", "taskId": task.id, "contextId": task.context,
    });
    with(message, "parts", parts)
}

fn user(task: &Task, said: &TaskInput) -> Value {
    let mut parts = Vec::new();
    if !said.text.is_empty() {
        parts.push(json!({"text": said.text}));
    }
    if !said.wishes.is_empty() || parts.is_empty() {
        parts.push(data(&said.wishes));
    }
    let message = json!({
        "messageId": said.message_id, "role": "ROLE_USER", "taskId": task.id,
        "contextId": task.context,
    });
    with(message, "parts", Value::Array(parts))
}

/// What a task came to: a request's result and answer, or what a mission has written after a place.
fn artifacts(task: &Task, after: u64, accepts: Accepts) -> Vec<Value> {
    let written = task.artifacts.iter().filter(|shown| shown.place > after);
    let written = written.map(|shown| of_mission(shown, accepts));
    let answers = [
        (task.result.as_ref(), "result", RESULT),
        (task.answer.as_ref(), "answer", ANSWER),
    ];
    let answers = answers
        .into_iter()
        .filter_map(|(found, name, about)| Some(answer(found?, name, about, accepts)));
    written.chain(answers).collect()
}

/// An artifact of a mission. People get the summary of what was reviewed; of the others, what programs
/// get, where they take nothing else.
fn of_mission(shown: &ArtifactView, accepts: Accepts) -> Value {
    let (kind, id) = (shown.kind, &shown.artifact_id);
    let mut parts = Vec::new();
    let summary = shown.artifact.pointer("/approved_output/summary");
    match (accepts.text, summary.and_then(Value::as_str), accepts.data) {
        (true, Some(summary), _) => parts.push(text(summary)),
        (true, None, false) => parts.push(text(shown.artifact.to_string())),
        (true, None, true) | (false, ..) => {}
    }
    if accepts.data {
        parts.push(data(&shown.artifact));
    }
    let artifact = json!({"artifactId": format!("{kind}/{id}"), "name": kind});
    let mut artifact = with(artifact, "parts", Value::Array(parts));
    if let Some(task) = &shown.task_id {
        artifact["metadata"] = json!({"task_id": task});
    }
    artifact
}

/// What the answer to a request is.
const ANSWER: &str =
    "The answer as text, and as an AgentResponse with findings, evidence and runs.";

/// What the result of a change is.
const RESULT: &str = "What the change came to, as text and as an AgentResponse: what was changed, from what to what, by which evidence, and \
     what was left undone.";

/// A response to a request, for people and for programs. The newest comes first.
fn answer(answer: &AgentResponse, name: &str, about: &str, accepts: Accepts) -> Value {
    let mut parts = Vec::new();
    if accepts.text {
        parts.push(text(answer.content.as_str()));
    }
    if accepts.data {
        parts.push(data(answer));
    }
    let artifact = json!({"artifactId": answer.id, "name": name, "description": about});
    with(artifact, "parts", Value::Array(parts))
}

fn words(event: &ProgressEvent) -> String {
    match event {
        ProgressEvent::Routed {
            verdict, skills, ..
        } => match skills.as_slice() {
            [] => format!("The verdict is {verdict}."),
            skills => format!("The verdict is {verdict}: {}.", skills.join(", ")),
        },
        ProgressEvent::SkillStarted { skill, .. } => format!("{skill} has started."),
        ProgressEvent::StepStarted { step, tool } => format!("{step}: calling {tool}."),
        ProgressEvent::StepWaiting {
            step,
            tool,
            wait_ms,
        } => format!("{step}: waiting {wait_ms} ms for the rate limit of {tool}."),
        ProgressEvent::StepFinished {
            step,
            outcome,
            message,
        } => match message {
            None => format!("{step} {outcome}."),
            Some(message) => format!("{step} {outcome}: {message}"),
        },
        ProgressEvent::Analysed {
            skill, findings, ..
        } => format!("{skill}: {findings} finding(s)."),
        ProgressEvent::Sentence { text, .. } => text.clone(),
    }
}

/// Several tasks (`ListTasksResponse`).
pub(super) fn listing(
    tasks: &[Task],
    next: Option<String>,
    size: usize,
    total: usize,
    view: View,
) -> Value {
    let tasks: Vec<Value> = tasks.iter().map(|one| task(one, view)).collect();
    let mut listing = Map::new();
    listing.insert("tasks".to_owned(), Value::Array(tasks));
    listing.insert(
        "nextPageToken".to_owned(),
        Value::from(next.unwrap_or_default()),
    );
    listing.insert("pageSize".to_owned(), Value::from(size));
    listing.insert("totalSize".to_owned(), Value::from(total));
    Value::Object(listing)
}

#[cfg(test)]
mod tests {
    use charter_contract::bounds::A2A_DATA_LEVELS;

    use super::*;

    fn lists(levels: usize) -> Value {
        (0..levels).fold(Value::Null, |inner, _| json!([inner]))
    }

    fn objects(levels: usize) -> Value {
        (0..levels).fold(Value::Null, |inner, _| json!({"in": inner}))
    }

    #[test]
    fn a_value_that_clients_can_read_is_a_data_part() {
        for deepest in [lists(A2A_DATA_LEVELS), objects(A2A_DATA_LEVELS)] {
            let expected = json!({"data": deepest, "mediaType": "application/json"});
            assert_eq!(data(&deepest), expected);
        }
    }

    /// The whole value is kept, and its part nests no deeper than the envelope.
    #[test]
    fn a_value_that_clients_cannot_read_as_data_is_its_json_text() {
        for deep in [lists(A2A_DATA_LEVELS + 1), objects(80)] {
            let part = data(&deep);
            assert_eq!(part["text"], deep.to_string());
            assert_eq!(
                (part.get("data"), &part["mediaType"]),
                (None, &json!("application/json"))
            );
            assert_eq!(
                extent_of(&part, Profile::STORED).map(|extent| extent.levels),
                Ok(1)
            );
        }
    }
}
