//! Tasks in the protocol's form (section 4.1), as ProtoJSON.

use charter_contract::agentic::response::AgentResponse;
use charter_contract::json::{Profile, extent_of};
use charter_engine::{ArtifactView, ProgressEvent, Task, TaskContent, TaskInput, TaskState};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::error::{A2aError, Kind};
use super::params::state_name;

const TEXT: &str = "text/plain";
const DATA: &str = "application/json";

/// The kinds of parts that a client accepts; all by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepts {
    text: bool,
    data: bool,
    files: bool,
}

impl Accepts {
    pub(super) const ALL: Self = Self {
        text: true,
        data: true,
        files: true,
    };

    /// Reads the kinds that `acceptedOutputModes` allows.
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
            files: takes("application/octet-stream")
                || modes.iter().any(|mode| {
                    let kinds = ["image/", "audio/"];
                    kinds.iter().any(|kind| mode.starts_with(kind))
                }),
        };
        if !accepts.text && !accepts.data {
            let message = format!("answers are {TEXT} and {DATA}; the client accepts neither");
            return Err(A2aError::new(Kind::ContentTypeNotSupported, message));
        }
        Ok(accepts)
    }
}

/// The parts of a task to show.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    /// The number of newest messages to include.
    pub(super) history: usize,
    /// Whether to include artifacts.
    pub(super) artifacts: bool,
    pub(super) accepts: Accepts,
}

/// Sets a field of an object without the copy that `json!` would make: an answer has up to 16 MiB.
pub(super) fn with_field(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

/// A text part, for people.
fn text(text: impl Into<String>) -> Value {
    with_field(
        json!({"mediaType": TEXT}),
        "text",
        Value::String(text.into()),
    )
}

/// A data part, for programs. Clients read it as Protocol Buffers, which limit nesting. A value that nests deeper is
/// sent as its JSON text, with the same media type.
pub(super) fn data(shown: &impl Serialize) -> Value {
    let part = json!({"mediaType": DATA});
    let value = json!(shown);
    match extent_of(&value, Profile::A2A_DATA) {
        Ok(_) => with_field(part, "data", value),
        Err(_) => with_field(part, "text", Value::String(value.to_string())),
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

/// The artifacts of a task that are newer than the last reported state, each as a `TaskArtifactUpdateEvent` in a
/// `StreamResponse`.
pub(super) fn artifact_updates(told: Option<&Task>, task: &Task, accepts: Accepts) -> Vec<Value> {
    let last = told.and_then(|told| told.artifacts.last());
    let after = last.map_or(0, |shown| shown.place);
    let updates = artifacts(task, after, accepts).into_iter().map(|artifact| {
        let update = json!({"taskId": task.id, "contextId": task.context, "lastChunk": true});
        with_field(
            json!({}),
            "artifactUpdate",
            with_field(update, "artifact", artifact),
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
    with_field(message, "parts", parts)
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
    with_field(message, "parts", Value::Array(parts))
}

/// The artifacts of a task: a request's result and answer, or those that a mission wrote after a position.
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
    let files = task.contents.iter().filter(|_| accepts.files).map(file);
    written.chain(answers).chain(files).collect()
}

/// Content of a run, as a file that the client fetches with its credential.
fn file(content: &TaskContent) -> Value {
    let TaskContent { run, reference } = content;
    let digest = &reference.digest;
    let mut part = json!({"url": format!("/v1/runs/{run}/contents/{digest}"), "filename": digest});
    if let Some(media_type) = &reference.media_type {
        part["mediaType"] = json!(media_type);
    }
    json!({
        "artifactId": format!("{run}/{digest}"), "name": "content", "parts": [part],
        "metadata": {"run_id": run, "digest": digest},
    })
}

/// An artifact of a mission. The text is the summary of a review; for other kinds, it is the JSON that programs get, if
/// the client accepts only text.
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
    let mut artifact = with_field(artifact, "parts", Value::Array(parts));
    if let Some(task) = &shown.task_id {
        artifact["metadata"] = json!({"task_id": task});
    }
    artifact
}

/// The description of the answer to a request.
const ANSWER: &str =
    "The answer as text, and as an AgentResponse with findings, evidence and runs.";

/// The description of the result of a change.
const RESULT: &str = "The outcome of the change, as text and as an AgentResponse: the changes with their state \
                      before and after, their evidence, and the parts left undone.";

/// A response to a request, as text and as data. The newest comes first.
fn answer(answer: &AgentResponse, name: &str, about: &str, accepts: Accepts) -> Value {
    let mut parts = Vec::new();
    if accepts.text {
        parts.push(text(answer.content.as_str()));
    }
    if accepts.data {
        parts.push(data(answer));
    }
    let artifact = json!({"artifactId": answer.id, "name": name, "description": about});
    with_field(artifact, "parts", Value::Array(parts))
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
