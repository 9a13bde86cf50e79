//! Tasks: requests and missions as another agent sees them, which follows them, replies to them and
//! cancels them.
//!
//! A task is nothing that is stored: it is a request with what became of it, or a mission. Its id is the
//! id of the request that began it, or the mission's, so it is found again after a restart. The user who
//! began it sees it, and so do the operators of the tenant. Where it stands is read from the request's answer and from the
//! runs that it led to. A reply to a request that lacked parameters is a request of its own, whose id
//! follows from the first one's; a mission takes none. Must not know by which protocol it is asked.

mod begin;
mod cancel;
mod detail;
mod follow;
mod list;
mod mission;
mod reply;
mod standing;
mod thread;

use charter_contract::agentic::error::AgentError;
use charter_contract::agentic::response::AgentResponse;
use std::fmt;

use charter_contract::ids::{MissionId, RequestId, RunId};
use charter_contract::time::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{ArtifactView, Caller, Confirmation, Engine, EngineError};

pub use list::{TaskFilter, TaskPage};

/// The field of a message that orders a mission.
const MISSION: &str = "mission";

/// Characters of a text that is no id of a task that an error repeats.
const MAX_SHOWN_ID: usize = 80;

/// What a task is, and so what it is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskKey {
    /// The request that began it.
    Request(RequestId),
    /// A mission.
    Mission(MissionId),
}

impl TaskKey {
    /// Reads a task's id; nothing for a text that no task can be called.
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

/// A message that begins a task or replies to one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskMessage {
    /// The client's id for it: the same message sent again does nothing again.
    pub message_id: String,
    /// The conversation that it belongs to, as the client names it.
    pub context: Option<String>,
    /// What it says; may be empty.
    pub text: String,
    /// What it gives for a program: the fields that a request may have in its `metadata`; or `mission`,
    /// an order of one.
    pub wishes: Map<String, Value>,
    /// An agreement to the plan that was shown.
    pub confirmation: Option<Confirmation>,
}

/// What was said to a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskInput {
    /// The client's id for it; the request's for one that was no message.
    pub message_id: String,
    /// What it said.
    pub text: String,
    /// What it gave for a program.
    pub wishes: Map<String, Value>,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// It is recorded.
    Submitted,
    /// Something is being done for it.
    Working,
    /// It waits for whoever asked: for parameters, or for an agreement to its plan.
    InputRequired,
    /// It waits for somebody who may approve a call.
    ApprovalRequired,
    /// It is done.
    Completed,
    /// It came to nothing.
    Failed,
    /// It was ended early.
    Canceled,
    /// It is not done, because it is not allowed or nothing here can do it.
    Rejected,
}

impl TaskState {
    /// Whether nothing more becomes of it.
    #[must_use]
    pub fn is_final(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected => true,
            Self::Submitted | Self::Working | Self::InputRequired | Self::ApprovalRequired => false,
        }
    }

    /// Whether it goes on only when somebody does something, or not at all.
    #[must_use]
    pub fn is_settled(self) -> bool {
        match self {
            Self::Submitted | Self::Working => false,
            Self::InputRequired
            | Self::ApprovalRequired
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
    /// What it is.
    pub id: TaskKey,
    /// The conversation that it belongs to.
    pub context: String,
    /// Where it stands.
    pub state: TaskState,
    /// Since when.
    pub since: Timestamp,
    /// What a person is told about that; empty for a task that is done.
    pub words: String,
    /// What it waits for, for a program.
    pub asks: Option<Value>,
    /// What was said to it, oldest first.
    pub said: Vec<TaskInput>,
    /// What a request was answered with, once it is done.
    pub answer: Option<AgentResponse>,
    /// What the change came to that a request asked for, once it has ended.
    pub result: Option<AgentResponse>,
    /// What a mission has brought so far, in the order of writing.
    pub artifacts: Vec<ArtifactView>,
    /// Why it is not done.
    pub failure: Option<AgentError>,
    /// The runs that it led to.
    pub runs: Vec<RunId>,
}

impl Engine {
    /// Reads a task's id.
    ///
    /// # Errors
    /// `not_found` for a text that is no id of a task, as for a task that the caller does not see.
    pub async fn task_key(&self, caller: &Caller, text: &str) -> Result<TaskKey, EngineError> {
        match TaskKey::parse(text) {
            Some(key) => Ok(key),
            None => {
                let shown: String = text.chars().take(MAX_SHOWN_ID).collect();
                Err(self.no_task(caller, &shown).await?)
            }
        }
    }

    /// A task that the caller sees: its own, for an operator any of the tenant.
    ///
    /// # Errors
    /// `not_found`, also for a task that the caller does not see.
    pub async fn task(&self, caller: &Caller, id: &TaskKey) -> Result<Task, EngineError> {
        match id {
            TaskKey::Request(id) => {
                let thread = self.thread(caller, id).await?;
                let outline = self.outline(&thread).await?;
                self.detail(caller, thread, outline).await
            }
            TaskKey::Mission(id) => {
                let record = self.seen_mission(caller, id).await?;
                self.mission_task(caller, record).await
            }
        }
    }
}
