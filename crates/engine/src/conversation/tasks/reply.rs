//! Replies to a task: the input that it asked for.

use charter_contract::agentic::request::AgentRequest;
use charter_contract::catalogue::DocumentKind;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::RequestId;
use charter_contract::parameter::Parameter;
use charter_contract::text::Text;
use charter_domain::parameters::{self, Collected, Reply};
use serde_json::{Map, Value, json};

use super::begin::checked;
use super::standing::{RoutedDocument, routed};
use super::thread::{Origin, Thread, wishes};
use super::thread::{asked_back, missing_account};
use super::{TaskKey, TaskMessage, TaskService, TaskState};
use crate::conversation::requests::{ActiveRequest, Clarification};
use crate::execution::runs::RunView;
use crate::{Caller, EngineError, Progress};

/// The message field with values.
const PARAMETERS: &str = "parameters";
/// The field that makes a change wait for confirmation.
const CONFIRM: &str = "confirm";

impl TaskService {
    /// Gives a task the input that it waits for. A repeated message has no further effect.
    ///
    /// # Errors
    /// `not_found`; `permission_denied` for a message that only the task's user may send; `invalid_request` for another
    /// conversation, or a message without the requested input; `invalid_parameters`; `illegal_transition` if the task
    /// accepts no message in its state.
    pub async fn reply_to_task(
        &self,
        caller: &Caller,
        id: &TaskKey,
        message: &TaskMessage,
        progress: Progress,
    ) -> Result<(), EngineError> {
        checked(message)?;
        match id {
            TaskKey::Request(id) => self.reply_to_asked(caller, id, message, progress).await,
            TaskKey::Mission(mission) => {
                let record = self.seen_mission(caller, mission).await?;
                let task = self.mission_task(caller, record).await?;
                let mut said = task.said.iter();
                if said.any(|said| said.message_id == message.message_id) {
                    return Ok(());
                }
                Err(takes_nothing(id, task.state))
            }
        }
    }

    async fn reply_to_asked(
        &self,
        caller: &Caller,
        id: &RequestId,
        message: &TaskMessage,
        progress: Progress,
    ) -> Result<(), EngineError> {
        let thread = self.thread(caller, id).await?;
        if message
            .context
            .as_ref()
            .is_some_and(|context| *context != thread.context)
        {
            return Err(invalid(format!(
                "the task `{id}` belongs to another context"
            )));
        }
        if thread
            .said
            .iter()
            .any(|said| said.message_id == message.message_id)
        {
            return Ok(());
        }
        let outline = self.outline(&thread).await?;
        if let Some(run) = &outline.change {
            let run = self.run_views.show(caller, &run.run_id).await?;
            if is_taken(&run, message) {
                return Ok(());
            }
            if outline.state == TaskState::InputRequired {
                return self.reply_to_run(caller, &run, message).await;
            }
        } else if outline.state == TaskState::InputRequired {
            must_have_begun(caller, &thread)?;
            return self.ask_again(caller, &thread, message, progress).await;
        } else if outline.state == TaskState::AuthorizationRequired
            && missing_account(&thread.last).is_some()
        {
            must_have_begun(caller, &thread)?;
            return self
                .reply_after_connecting(caller, &thread, message, progress)
                .await;
        }
        Err(takes_nothing(&TaskKey::Request(id.clone()), outline.state))
    }

    async fn reply_to_run(
        &self,
        caller: &Caller,
        run: &RunView,
        message: &TaskMessage,
    ) -> Result<(), EngineError> {
        let id = &run.summary.run_id;
        only_values(message)?;
        if let Some(confirmation) = &message.confirmation {
            return self
                .run_management
                .confirm_alone(caller, id, confirmation.clone())
                .await
                .map(drop);
        }
        let (declared, known) = self
            .run_management
            .parameters_of(&caller.tenant, id)
            .await?;
        let given = given(message)?;
        let reply = if run.state.missing.is_empty() {
            Reply {
                values: given,
                ..Reply::default()
            }
        } else {
            let (text, now) = (&message.text, self.clock.now());
            let mut reply = parameters::from_reply(&declared, &known, &given, text, now);
            reply.values.extend(declined(&declared, &given));
            reply
        };
        if reply.values.is_empty() {
            let missing: Vec<&str> = run.state.missing.iter().map(AsRef::as_ref).collect();
            return Err(invalid(match missing.as_slice() {
                [] => "the task waits for its plan to be confirmed by its digest".to_owned(),
                missing => gives_none_of(&missing.join(", "), &reply),
            }));
        }
        let Reply {
            values, sources, ..
        } = &reply;
        self.run_management
            .give_from(caller, id, values, sources)
            .await
            .map(drop)
    }

    /// Sends a new request with the reply's values, for the same skill or playbook.
    async fn ask_again(
        &self,
        caller: &Caller,
        thread: &Thread,
        message: &TaskMessage,
        progress: Progress,
    ) -> Result<(), EngineError> {
        only_values(message)?;
        if message.confirmation.is_some() {
            return Err(invalid("the task shows no plan to confirm".to_owned()));
        }
        let last = &thread.last;
        if let Some(clarification) = asked_back(last) {
            let chosen = self.chosen_by(caller, thread, message, &clarification)?;
            return self.requests.submit(chosen, progress).await;
        }
        let before = &last.asked.request;
        let known = before.parameters().cloned().unwrap_or_default();
        let declared = self.declared_for(last)?;
        // Values in the first text are known as well; the user is asked again for an invalid one.
        let stated =
            Collected::given(&declared, &known).read(before.input.as_str(), before.timestamp);
        let known: Map<String, Value> = stated
            .values()
            .iter()
            .filter(|(name, value)| {
                let one = Map::from_iter([((*name).clone(), (*value).clone())]);
                parameters::bind_so_far(&declared, &one).is_ok()
            })
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let given = given(message)?;
        let now = self.clock.now();
        let mut reply = parameters::from_reply(&declared, &known, &given, &message.text, now);
        reply.values.extend(declined(&declared, &given));
        if reply.values.is_empty() {
            return Err(invalid(gives_none_of("the missing input", &reply)));
        }
        let mut all = known;
        all.extend(reply.values);
        let mut extra = wishes_for_same_document(thread)?;
        extra.insert(PARAMETERS.to_owned(), Value::Object(all));
        let asked = self.next_request(caller, thread, message, extra, &message.text)?;
        self.requests.submit(asked, progress).await
    }

    /// Builds the request of a reply that answers a question.
    fn chosen_by(
        &self,
        caller: &Caller,
        thread: &Thread,
        message: &TaskMessage,
        clarification: &Clarification,
    ) -> Result<ActiveRequest, EngineError> {
        let Some(option) = clarification.chosen(&message.text) else {
            let ids = clarification.options.iter();
            let ids: Vec<&str> = ids.map(|option| option.id.as_str()).collect();
            let message = format!(
                "the message names none of the options, or more than one: answer with a number from 1 to {}, or one \
                 of {}",
                ids.len(),
                ids.join(", ")
            );
            return Err(invalid(message));
        };
        let mut extra = wishes(&thread.last.asked.request);
        let field = match option.kind == DocumentKind::Playbook {
            true => {
                // It is chosen from words: it is shown before it changes anything.
                extra.insert(CONFIRM.to_owned(), Value::Bool(true));
                "playbook_id"
            }
            false => "skill_id",
        };
        extra.insert(field.to_owned(), json!(option.id));
        self.next_request(caller, thread, message, extra, "")
    }

    /// Builds the request of a reply to a task; `said` is appended to its text.
    pub(super) fn next_request(
        &self,
        caller: &Caller,
        thread: &Thread,
        message: &TaskMessage,
        mut extra: Map<String, Value>,
        said: &str,
    ) -> Result<ActiveRequest, EngineError> {
        let before = &thread.last.asked.request;
        let origin = Origin {
            message_id: message.message_id.clone(),
            context: thread.context.clone(),
            of: Some(thread.id.clone()),
            reply: Some(message.text.clone()),
        };
        origin.write(&mut extra)?;
        let input = format!("{}\n{said}", before.input);
        let input = Text::parse(input.trim_end())
            .map_err(|error| EngineError::internal("joining the messages", error))?;
        let mut metadata = before.metadata.clone().unwrap_or_default();
        metadata.extra = extra;
        let request = AgentRequest {
            id: thread.next_id(),
            timestamp: self.clock.now(),
            input,
            metadata: Some(metadata),
            ..before.clone()
        };
        ActiveRequest::new(caller, request)
    }
}

/// Returns the options of a task's newest request, for the same skill or playbook.
pub(super) fn wishes_for_same_document(thread: &Thread) -> Result<Map<String, Value>, EngineError> {
    let last = &thread.last;
    let mut extra = wishes(&last.asked.request);
    match routed(last)? {
        Some(RoutedDocument::Skill(skill)) => extra.insert("skill_id".to_owned(), json!(skill)),
        Some(RoutedDocument::Playbook(playbook)) => {
            // It was chosen from words: it is shown before it changes anything.
            extra.entry(CONFIRM).or_insert(Value::Bool(true));
            extra.insert("playbook_id".to_owned(), json!(playbook))
        }
        None => None,
    };
    Ok(extra)
}

/// Refuses a reply that becomes a request, unless it is from the task's user: it belongs to that user's session. An
/// operator manages the runs of a task, and cancels it.
fn must_have_begun(caller: &Caller, thread: &Thread) -> Result<(), EngineError> {
    if thread.user == caller.user {
        return Ok(());
    }
    let message = format!(
        "the task `{}` waits for a message of the user `{}`, who began it",
        thread.id, thread.user
    );
    Err(EngineError::new(ErrorCode::PermissionDenied, message))
}

/// Returns the optional parameters that a message declines to give, as `null`.
fn declined(declared: &[Parameter], given: &Map<String, Value>) -> Map<String, Value> {
    let optional = declared.iter().filter(|parameter| {
        let is_null = parameter.given_in(given).is_some_and(Value::is_null);
        is_null && !(parameter.required && parameter.default.is_none())
    });
    optional
        .map(|parameter| (parameter.name.to_string(), Value::Null))
        .collect()
}

/// The error for a message without a value, with the words that name one and do not give it.
fn gives_none_of(wanted: &str, reply: &Reply) -> String {
    let mut message = format!("the message gives none of {wanted}");
    for unclear in &reply.unclear {
        message += &format!("; {unclear}");
    }
    message
}

pub(super) fn invalid(message: String) -> EngineError {
    EngineError::new(ErrorCode::InvalidRequest, message)
}

/// Checks that a reply only gives values: the document was chosen when the task started.
pub(super) fn only_values(message: &TaskMessage) -> Result<(), EngineError> {
    match message.wishes.keys().find(|field| *field != PARAMETERS) {
        None => Ok(()),
        Some(field) => Err(invalid(format!("`{field}` cannot be changed by a reply"))),
    }
}

fn given(message: &TaskMessage) -> Result<Map<String, Value>, EngineError> {
    match message.wishes.get(PARAMETERS) {
        None => Ok(Map::new()),
        Some(Value::Object(given)) => Ok(given.clone()),
        Some(_) => Err(invalid("`parameters` must be an object".to_owned())),
    }
}

/// Returns whether a run already has a message's values: the message was sent twice.
fn is_taken(run: &RunView, message: &TaskMessage) -> bool {
    if let Some(confirmation) = &message.confirmation {
        return !run.state.confirm && run.state.plan_digest.as_str() == confirmation.digest;
    }
    let Some(Value::Object(given)) = message.wishes.get(PARAMETERS) else {
        return false;
    };
    !given.is_empty()
        && given
            .iter()
            .all(|(name, value)| run.state.parameters.get(name) == Some(value))
}

fn takes_nothing(id: &TaskKey, state: TaskState) -> EngineError {
    let why = match state {
        TaskState::Completed | TaskState::Failed | TaskState::Canceled | TaskState::Rejected => {
            "has ended; send a new message in the same context"
        }
        TaskState::AuthorizationRequired => "waits for an approver, not for a message",
        TaskState::Submitted | TaskState::Working | TaskState::InputRequired => {
            "is running and accepts no message"
        }
    };
    EngineError::new(
        ErrorCode::IllegalTransition,
        format!("the task `{id}` {why}"),
    )
}
