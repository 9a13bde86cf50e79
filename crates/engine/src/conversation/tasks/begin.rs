//! Starts a task: a message becomes a request whose id follows from the message's.

use charter_contract::agentic::request::{AgentRequest, RequestMetadata};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{MissionId, RequestId, SessionId};
use charter_contract::json::{Profile, extent_of};
use charter_contract::text::Text;
use serde_json::Map;
use uuid::Uuid;

use super::thread::Origin;
use super::{MISSION, TaskKey, TaskMessage, TaskService};
use crate::conversation::requests::ActiveRequest;
use crate::execution::starts::{MAX_CLIENT_ID, derived};
use crate::{Caller, EngineError, Progress};

/// Refuses a message whose ids or values are out of bounds.
pub(super) fn checked(message: &TaskMessage) -> Result<(), EngineError> {
    let ids = [
        ("message id", Some(&message.message_id)),
        ("context id", message.context.as_ref()),
    ];
    for (what, id) in ids {
        if let Some(id) = id
            && (id.is_empty() || id.len() > MAX_CLIENT_ID)
        {
            let message = format!("a {what} has 1 to {MAX_CLIENT_ID} bytes, not {}", id.len());
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        }
    }
    for (name, value) in &message.wishes {
        extent_of(value, Profile::PARAMETER).map_err(|much| {
            let message = format!("the value `{name}` {much}");
            EngineError::new(ErrorCode::InvalidRequest, message)
        })?;
    }
    Ok(())
}

impl TaskService {
    /// Starts the task of a message and returns its id as soon as it is recorded. A repeat of the message finds the
    /// same task, without further effects.
    ///
    /// # Errors
    /// `invalid_request`; `session_not_found` for a context that is an unknown session; `already_exists` if the
    /// message's id was used for another message.
    pub async fn begin_task(
        &self,
        caller: &Caller,
        message: &TaskMessage,
        progress: Progress,
    ) -> Result<TaskKey, EngineError> {
        checked(message)?;
        if message.confirmation.is_some() {
            let message = "a plan is confirmed in a reply to the task that shows it";
            return Err(EngineError::new(ErrorCode::InvalidRequest, message));
        }
        let uuid = derived(caller, "message", &message.message_id);
        let id = RequestId::from_uuid(uuid);
        let repeat = self.is_repeat(caller, &id, message).await?;
        if !repeat && message.wishes.contains_key(MISSION) {
            return self.begin_mission_task(caller, uuid, message).await;
        }
        let id_of_a_mission = MissionId::from_uuid(uuid);
        let mission = self.store.mission(&caller.tenant, &id_of_a_mission).await?;
        if mission.is_some() {
            return Err(used(message));
        }
        let key = TaskKey::Request(id.clone());
        if repeat {
            return Ok(key);
        }
        let asked = self.first_request(caller, &id, message).await?;
        match self.requests.submit(asked, progress).await {
            // A concurrent repeat of the message was faster.
            Err(error) if error.code == ErrorCode::AlreadyExists => {
                self.is_repeat(caller, &id, message).await?;
                Ok(key)
            }
            other => other.map(|()| key),
        }
    }

    /// Returns whether the message started its task before.
    async fn is_repeat(
        &self,
        caller: &Caller,
        id: &RequestId,
        message: &TaskMessage,
    ) -> Result<bool, EngineError> {
        let Some(known) = self.store.request(&caller.tenant, id).await? else {
            return Ok(false);
        };
        let thread = self.thread_of(&caller.tenant, known).await?;
        let same = thread.is_some_and(|thread| {
            let first = thread.said.first();
            let context = message.context.as_ref();
            context.is_none_or(|context| *context == thread.context)
                && first.is_some_and(|said| {
                    said.wishes == message.wishes
                        && (said.text == message.text || message.text.is_empty())
                })
        });
        if same {
            return Ok(true);
        }
        Err(used(message))
    }

    async fn first_request(
        &self,
        caller: &Caller,
        id: &RequestId,
        message: &TaskMessage,
    ) -> Result<ActiveRequest, EngineError> {
        let input = input(message)?;
        let (context, session) = self
            .conversation(caller, id, message.context.as_deref())
            .await?;
        let mut extra = message.wishes.clone();
        let origin = Origin {
            message_id: message.message_id.clone(),
            context,
            of: None,
            reply: None,
        };
        origin.write(&mut extra)?;
        let request = AgentRequest {
            id: id.clone(),
            timestamp: self.clock.now(),
            input,
            session_id: Some(session),
            user_id: None,
            metadata: Some(RequestMetadata {
                extra,
                ..RequestMetadata::default()
            }),
            extra: Map::new(),
        };
        ActiveRequest::new(caller, request)
    }

    /// Returns the session of a conversation. A conversation with a client's name has a session derived from the name;
    /// one without gets a new one.
    pub(super) async fn conversation(
        &self,
        caller: &Caller,
        id: &RequestId,
        named: Option<&str>,
    ) -> Result<(String, SessionId), EngineError> {
        let (context, session) = match named {
            None => {
                let session = Uuid::new_v5(&id.uuid(), b"context");
                let session = SessionId::from_uuid(session);
                (session.to_string(), session)
            }
            Some(name) => match SessionId::parse(name) {
                Ok(session) => {
                    self.sessions.session(caller, &session).await?;
                    return Ok((name.to_owned(), session));
                }
                Err(_) => {
                    let session = derived(caller, "context", name);
                    (name.to_owned(), SessionId::from_uuid(session))
                }
            },
        };
        self.sessions.open_or_find(caller, &session).await?;
        Ok((context, session))
    }
}

/// The error for a message whose id another one had.
pub(super) fn used(message: &TaskMessage) -> EngineError {
    let message = format!(
        "the message id `{}` was used for another message",
        message.message_id
    );
    EngineError::new(ErrorCode::AlreadyExists, message)
}

/// Returns the text of the request; without one, the named skill or playbook.
fn input(message: &TaskMessage) -> Result<Text, EngineError> {
    let named = ["skill_id", "playbook_id"].into_iter().find_map(|field| {
        let named = message.wishes.get(field)?;
        named.as_str()
    });
    let text = match (message.text.trim(), named) {
        ("", Some(named)) => named,
        ("", None) => "",
        (_, _) => message.text.as_str(),
    };
    Text::parse(text).map_err(|error| {
        let message = "a task needs a text, or a skill_id or playbook_id";
        EngineError::new(ErrorCode::InvalidRequest, message).caused_by(error)
    })
}
