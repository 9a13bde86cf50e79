//! The requests of a task: the first one, and those that gave it missing input.

use charter_contract::agentic::error::AgentError;
use charter_contract::agentic::request::AgentRequest;
use charter_contract::agentic::response::AgentResponse;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{RequestId, TenantId, UserId};
use charter_contract::json::{JsonFault, decode_stored};
use charter_contract::time::Timestamp;
use charter_domain::run::MissingAccount;
use charter_store::request::RequestRecord;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{TaskInput, TaskService, TaskState};
use crate::conversation::requests::{ActiveRequest, CLARIFICATION, Clarification};
use crate::{Caller, EngineError};

/// The metadata field of a request that names its message.
const FIELD: &str = "task";

/// Maximum replies of one task; each is read whenever the task is read.
pub(super) const MAX_REPLIES: u32 = 16;

/// The message of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    pub(super) message_id: String,
    pub(super) context: String,
    /// The task's first request, if this one is a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) of: Option<RequestId>,
    /// The reply's own text; the request's input also has the earlier texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reply: Option<String>,
}

impl Origin {
    pub(super) fn write(&self, metadata: &mut Map<String, Value>) -> Result<(), EngineError> {
        let value = serde_json::to_value(self)
            .map_err(|error| EngineError::internal("recording a message", error))?;
        metadata.insert(FIELD.to_owned(), value);
        Ok(())
    }

    /// Returns the origin of a request; `None` without a message, or with a handwritten field.
    pub(super) fn from_request(request: &AgentRequest) -> Option<Self> {
        let value = request.metadata.as_ref()?.extra.get(FIELD)?;
        serde_json::from_value(value.clone()).ok()
    }
}

/// Returns whether a request started a task. A reply's request did not.
pub(super) fn begins_task(request: &AgentRequest) -> bool {
    Origin::from_request(request).is_none_or(|origin| origin.of.is_none())
}

/// Returns the options of a request's metadata, without its origin.
pub(super) fn wishes(request: &AgentRequest) -> Map<String, Value> {
    let mut wishes = request
        .metadata
        .as_ref()
        .map_or_else(Map::new, |metadata| metadata.extra.clone());
    wishes.remove(FIELD);
    wishes
}

/// A recorded answer.
#[derive(Debug, Clone)]
pub(super) enum RecordedAnswer {
    Response(AgentResponse),
    Failure(AgentError),
}

impl RecordedAnswer {
    pub(super) fn read(text: &str) -> Result<Self, EngineError> {
        let read = |error: JsonFault| EngineError::internal("reading a recorded answer", error);
        let value: Value = decode_stored(text).map_err(read)?;
        let answered = match value.get("error_id") {
            None => serde_json::from_value(value).map(Self::Response),
            Some(_) => serde_json::from_value(value).map(Self::Failure),
        };
        answered.map_err(|error| read(error.into()))
    }
}

/// One request of a task.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) asked: ActiveRequest,
    pub(super) verdict: Option<String>,
    pub(super) answered: Option<RecordedAnswer>,
    /// The result of the change that it requested.
    pub(super) result: Option<AgentResponse>,
    /// Whether its run's end will be its result.
    pub(super) awaits_result: bool,
    pub(super) updated_at: Timestamp,
}

impl Attempt {
    pub(super) fn read(record: RequestRecord, tenant: &TenantId) -> Result<Self, EngineError> {
        Ok(Self {
            asked: ActiveRequest::from_json(&record.asked, tenant.clone())?,
            verdict: record.verdict,
            answered: record
                .answer
                .as_deref()
                .map(RecordedAnswer::read)
                .transpose()?,
            awaits_result: record.run_id.is_some() && record.result.is_none(),
            result: match record
                .result
                .as_deref()
                .map(RecordedAnswer::read)
                .transpose()?
            {
                Some(RecordedAnswer::Response(result)) => Some(result),
                Some(RecordedAnswer::Failure(_)) | None => None,
            },
            updated_at: record.updated_at,
        })
    }

    fn task_input(&self) -> TaskInput {
        let request = &self.asked.request;
        let origin = Origin::from_request(request);
        let text = origin.as_ref().and_then(|origin| origin.reply.clone());
        TaskInput {
            message_id: origin.map_or_else(|| request.id.to_string(), |from| from.message_id),
            text: text.unwrap_or_else(|| request.input.to_string()),
            wishes: wishes(request),
        }
    }
}

/// Whether a request failed for want of parameters, before anything was run: a reply may give them.
pub(super) fn asks_for_parameters(attempt: &Attempt) -> bool {
    match &attempt.answered {
        Some(RecordedAnswer::Failure(failure)) => {
            state_of_failure(failure) == TaskState::InputRequired && attempt.verdict.is_some()
        }
        Some(RecordedAnswer::Response(_)) | None => false,
    }
}

/// The account that a request failed for want of: it is answered once its user has connected the account.
pub(super) fn missing_account(attempt: &Attempt) -> Option<MissingAccount> {
    match &attempt.answered {
        Some(RecordedAnswer::Failure(failure)) => {
            let details = failure.technical_details.as_ref();
            let details = details
                .filter(|_| state_of_failure(failure) == TaskState::AuthorizationRequired)?;
            MissingAccount::deserialize(Value::Object(details.clone())).ok()
        }
        Some(RecordedAnswer::Response(_)) | None => None,
    }
}

/// The question that a request was answered with, where it was asked back: a reply may answer it.
pub(super) fn asked_back(attempt: &Attempt) -> Option<Clarification> {
    match &attempt.answered {
        Some(RecordedAnswer::Response(response)) => {
            let asked = response.metadata.as_ref()?.extra.get(CLARIFICATION)?;
            serde_json::from_value(asked.clone()).ok()
        }
        Some(RecordedAnswer::Failure(_)) | None => None,
    }
}

/// Whether a reply gives a request what it lacks.
fn takes_reply(attempt: &Attempt) -> bool {
    asks_for_parameters(attempt)
        || missing_account(attempt).is_some()
        || asked_back(attempt).is_some()
}

/// The state of a task whose newest request failed.
pub(super) fn state_of_failure(failure: &AgentError) -> TaskState {
    let code = failure.error_code.as_deref();
    let code = code.and_then(|code| code.parse::<ErrorCode>().ok());
    let ran = failure.technical_details.as_ref();
    let ran = ran.is_some_and(|details| details.contains_key("run_id"));
    match code.unwrap_or(ErrorCode::Internal) {
        ErrorCode::MissingParameters | ErrorCode::InvalidParameters if !ran => {
            TaskState::InputRequired
        }
        ErrorCode::CredentialRequired => TaskState::AuthorizationRequired,
        ErrorCode::Cancelled => TaskState::Canceled,
        ErrorCode::InvalidRequest
        | ErrorCode::UnsupportedFlow
        | ErrorCode::UnknownDomain
        | ErrorCode::NotFound
        | ErrorCode::NoMatch
        | ErrorCode::Unauthenticated
        | ErrorCode::PermissionDenied
        | ErrorCode::GuardrailBlocked
        | ErrorCode::PolicyDenied
        | ErrorCode::ApprovalRequired
        | ErrorCode::ApprovalRejected
        | ErrorCode::ApprovalExpired
        | ErrorCode::EgressDenied => TaskState::Rejected,
        ErrorCode::MissingParameters
        | ErrorCode::InvalidParameters
        | ErrorCode::InvalidDocument
        | ErrorCode::InvalidUtf8
        | ErrorCode::TooLarge
        | ErrorCode::UnsupportedVersion
        | ErrorCode::DeprecatedCollection
        | ErrorCode::AlreadyExists
        | ErrorCode::VersionConflict
        | ErrorCode::IllegalTransition
        | ErrorCode::MethodNotAllowed
        | ErrorCode::Immutable
        | ErrorCode::StillReferenced
        | ErrorCode::RoutingTestFailed
        | ErrorCode::SessionNotFound
        | ErrorCode::ToolFailed
        | ErrorCode::ToolResultInvalid
        | ErrorCode::TemplateMissing
        | ErrorCode::PlaceholderMissing
        | ErrorCode::ExpressionFailed
        | ErrorCode::ToolTimeout
        | ErrorCode::RequestTimeout
        | ErrorCode::ModelRouteUnknown
        | ErrorCode::ModelAccessDenied
        | ErrorCode::ModelRefused
        | ErrorCode::ModelAnswerInvalid
        | ErrorCode::ModelFailed
        | ErrorCode::ModelMissing
        | ErrorCode::ModelMismatch
        | ErrorCode::StorageFull
        | ErrorCode::DataDirectoryLocked
        | ErrorCode::RateLimited
        | ErrorCode::Overloaded
        | ErrorCode::Unavailable
        | ErrorCode::Internal => TaskState::Failed,
    }
}

/// A task's requests.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) id: RequestId,
    /// The user who started the task.
    pub(super) user: UserId,
    pub(super) context: String,
    /// The inputs of these requests.
    pub(super) said: Vec<TaskInput>,
    /// Number of replies that became requests.
    pub(super) replies: u32,
    /// The newest request.
    pub(super) last: Attempt,
}

impl Thread {
    /// Returns the id of a possible next request.
    pub(super) fn next_id(&self) -> RequestId {
        reply_id(&self.id, self.replies + 1)
    }
}

/// Derives the request of the `n`th reply to a task.
fn reply_id(first: &RequestId, n: u32) -> RequestId {
    RequestId::from_uuid(Uuid::new_v5(&first.uuid(), format!("reply/{n}").as_bytes()))
}

/// Returns the conversation of a request: the one that its message named or received, else its session, else its own
/// id.
fn context(request: &AgentRequest) -> String {
    Origin::from_request(request).map_or_else(
        || {
            let session = request.session_id.as_ref();
            session.map_or_else(|| request.id.to_string(), ToString::to_string)
        },
        |origin| origin.context,
    )
}

impl TaskService {
    /// Returns the requests of a task that is visible to the caller.
    pub(super) async fn thread(
        &self,
        caller: &Caller,
        id: &RequestId,
    ) -> Result<Thread, EngineError> {
        let found = self.store.request(&caller.tenant, id).await?;
        let seen = found.filter(|record| caller.sees(Some(&record.user_id)));
        let begun = match seen {
            Some(record) => self.thread_of(&caller.tenant, record).await?,
            None => None,
        };
        match begun {
            Some(thread) => Ok(thread),
            None => Err(self.no_task(caller, id.as_str()).await?),
        }
    }

    /// Returns the requests of the task that a request started; `None` for a reply's request.
    pub(super) async fn thread_of(
        &self,
        tenant: &TenantId,
        record: RequestRecord,
    ) -> Result<Option<Thread>, EngineError> {
        let user = record.user_id.clone();
        let first = Attempt::read(self.request_results.with_result(record).await, tenant)?;
        let request = &first.asked.request;
        if !begins_task(request) {
            return Ok(None);
        }
        let mut thread = Thread {
            id: request.id.clone(),
            user,
            context: context(request),
            said: vec![first.task_input()],
            replies: 0,
            last: first,
        };
        while thread.replies < MAX_REPLIES && takes_reply(&thread.last) {
            let next = self.store.request(tenant, &thread.next_id()).await?;
            let Some(next) = next else { break };
            thread.last = Attempt::read(self.request_results.with_result(next).await, tenant)?;
            thread.said.push(thread.last.task_input());
            thread.replies += 1;
        }
        Ok(Some(thread))
    }
}
