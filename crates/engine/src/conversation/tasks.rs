//! Tasks: requests and missions as another agent sees them. The agent follows them, replies to them and cancels them.
//!
//! A task is not stored: it is a request with its outcome, or a mission. Its id is the id of its first request, or the
//! mission's, so it is found again after a restart. It is visible to the user who started it and to the tenant's
//! operators. Its state is read from the request's answer and from its runs. A reply to a request that lacked
//! parameters or an account is a separate request, whose id follows from the first one's; a mission accepts no
//! replies. Must not know the protocol.

mod accounts;
mod begin;
mod cancel;
mod detail;
mod follow;
mod list;
mod mission;
mod reply;
mod standing;
mod thread;

use std::fmt;
use std::sync::Arc;

use charter_contract::agentic::error::AgentError;
use charter_contract::agentic::response::AgentResponse;
use charter_contract::content::ContentReference;
use charter_contract::ids::{MissionId, RequestId, RunId};
use charter_contract::time::Timestamp;
use charter_domain::clock::Clock;
use charter_store::SharedStore;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::conversation::requests::{
    RequestManagementService, RequestResultService, RequestService,
};
use crate::conversation::sessions::SessionService;
use crate::execution::runs::{RunManagementService, RunViewService};
use crate::execution::starts::RunStartService;
use crate::identity::credentials::CredentialService;
use crate::missions::{MissionService, MissionViewService};
use crate::{ArtifactView, Caller, Confirmation, EngineError};

pub use list::{TaskFilter, TaskPage};

/// The field of a message that orders a mission.
const MISSION: &str = "mission";

/// Maximum characters of an invalid task id that an error repeats.
const MAX_SHOWN_ID: usize = 80;

/// The kind of a task, with its id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskKey {
    /// The request that started it.
    Request(RequestId),
    /// A mission.
    Mission(MissionId),
}

impl TaskKey {
    /// Parses a task's id; `None` for a text that cannot be one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let request = RequestId::parse(text).ok().map(Self::Request);
        request.or_else(|| MissionId::parse(text).ok().map(Self::Mission))
    }
}

impl fmt::Display for TaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(id) => id.fmt(f),
            Self::Mission(id) => id.fmt(f),
        }
    }
}

impl Serialize for TaskKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A message that starts a task or replies to one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskMessage {
    /// The client's id for it: a repeat of the message has no further effect.
    pub message_id: String,
    /// The conversation that it belongs to, by the client's name.
    pub context: Option<String>,
    /// Its text; may be empty.
    pub text: String,
    /// Its machine-readable options: the fields that a request may have in its `metadata`; or `mission`, a request for
    /// one.
    pub wishes: Map<String, Value>,
    /// A confirmation of the plan that was shown.
    pub confirmation: Option<Confirmation>,
}

/// An input of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskInput {
    /// The client's id for it; the request's for one that was no message.
    pub message_id: String,
    /// Its text.
    pub text: String,
    /// Its machine-readable options.
    pub wishes: Map<String, Value>,
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// It is recorded.
    Submitted,
    /// Work is in progress.
    Working,
    /// It waits for its user: for parameters, or for a confirmation of its plan.
    InputRequired,
    /// It waits for an approver, or for its user to connect an account.
    AuthorizationRequired,
    /// It is done.
    Completed,
    /// It failed.
    Failed,
    /// It was ended early.
    Canceled,
    /// It is refused, because it is not allowed or not supported.
    Rejected,
}

impl TaskState {
    /// Returns whether the state is final.
    #[must_use]
    pub fn is_final(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected => true,
            Self::Submitted | Self::Working | Self::InputRequired | Self::AuthorizationRequired => {
                false
            }
        }
    }

    /// Returns whether it needs an action to continue, or is final.
    #[must_use]
    pub fn is_settled(self) -> bool {
        match self {
            Self::Submitted | Self::Working => false,
            Self::InputRequired
            | Self::AuthorizationRequired
            | Self::Completed
            | Self::Failed
            | Self::Canceled
            | Self::Rejected => true,
        }
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Its kind and id.
    pub id: TaskKey,
    /// The conversation that it belongs to.
    pub context: String,
    /// Its state.
    pub state: TaskState,
    /// When that state began.
    pub since: Timestamp,
    /// A description of the state; empty for a task that is done.
    pub words: String,
    /// The input that it waits for, machine-readable.
    pub asks: Option<Value>,
    /// Its inputs, oldest first.
    pub said: Vec<TaskInput>,
    /// The answer of a request, once it is done.
    pub answer: Option<AgentResponse>,
    /// The result of a requested change, once it has ended.
    pub result: Option<AgentResponse>,
    /// The artifacts of a mission so far, in the order of writing.
    pub artifacts: Vec<ArtifactView>,
    /// Content that outputs of its runs refer to, such as images.
    pub contents: Vec<TaskContent>,
    /// Why it is not done.
    pub failure: Option<AgentError>,
    /// Its runs.
    pub runs: Vec<RunId>,
}

/// Content of a task's run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskContent {
    /// The run.
    pub run: RunId,
    /// The reference in an output of the run.
    pub reference: ContentReference,
}

/// The services that tasks are read from and carried out with.
pub(crate) struct TaskParts {
    pub(crate) credentials: Arc<CredentialService>,
    pub(crate) sessions: Arc<SessionService>,
    pub(crate) requests: Arc<RequestService>,
    pub(crate) request_results: Arc<RequestResultService>,
    pub(crate) request_management: Arc<RequestManagementService>,
    pub(crate) run_starts: Arc<RunStartService>,
    pub(crate) run_views: Arc<RunViewService>,
    pub(crate) run_management: Arc<RunManagementService>,
    pub(crate) missions: Arc<MissionService>,
    pub(crate) mission_views: Arc<MissionViewService>,
}

/// The tasks of other agents.
pub struct TaskService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    news: Arc<Notify>,
    shutdown: CancellationToken,
    credentials: Arc<CredentialService>,
    sessions: Arc<SessionService>,
    requests: Arc<RequestService>,
    request_results: Arc<RequestResultService>,
    request_management: Arc<RequestManagementService>,
    run_starts: Arc<RunStartService>,
    run_views: Arc<RunViewService>,
    run_management: Arc<RunManagementService>,
    missions: Arc<MissionService>,
    mission_views: Arc<MissionViewService>,
}

impl std::fmt::Debug for TaskService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskService").finish_non_exhaustive()
    }
}

impl TaskService {
    /// Builds the service, whose followers look again when `news` is notified and end with `shutdown`.
    pub(crate) fn new(
        store: SharedStore,
        clock: Arc<dyn Clock>,
        news: Arc<Notify>,
        shutdown: CancellationToken,
        parts: TaskParts,
    ) -> Self {
        Self {
            store,
            clock,
            news,
            shutdown,
            credentials: parts.credentials,
            sessions: parts.sessions,
            requests: parts.requests,
            request_results: parts.request_results,
            request_management: parts.request_management,
            run_starts: parts.run_starts,
            run_views: parts.run_views,
            run_management: parts.run_management,
            missions: parts.missions,
            mission_views: parts.mission_views,
        }
    }

    /// Parses a task's id.
    ///
    /// # Errors
    /// `not_found` for a text that is no task id, as for a task that is not visible to the caller.
    pub async fn task_key(&self, caller: &Caller, text: &str) -> Result<TaskKey, EngineError> {
        match TaskKey::parse(text) {
            Some(key) => Ok(key),
            None => {
                let shown: String = text.chars().take(MAX_SHOWN_ID).collect();
                Err(self.no_task(caller, &shown).await?)
            }
        }
    }

    /// Returns a task that is visible to the caller: its own, for an operator any of the tenant.
    ///
    /// # Errors
    /// `not_found`, also for a task that is not visible to the caller.
    pub async fn task(&self, caller: &Caller, id: &TaskKey) -> Result<Task, EngineError> {
        match id {
            TaskKey::Request(id) => {
                let (thread, outline) = self.continued(caller, id).await?;
                self.detail(caller, thread, outline).await
            }
            TaskKey::Mission(id) => {
                let record = self.seen_mission(caller, id).await?;
                self.mission_task(caller, record).await
            }
        }
    }
}
