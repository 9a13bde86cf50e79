//! Events about a tenant's runs, approvals, requests, route examples, keys, connected accounts and catalogue.
//!
//! An event is written in the transaction of its change, so no event is lost or invented. It names the changed object;
//! readers with access look that up. Readers resume by the event's id.

mod announced;

use std::collections::VecDeque;
use std::sync::Arc;

use charter_contract::ids::{ResponseId, RunId, TenantId, UserId};
use charter_contract::json::decode_stored;
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_domain::run::Run;
use charter_store::SharedStore;
use charter_store::approval::ApprovalChange;
use charter_store::outbox::{Message, NewMessage};
use charter_store::request::RequestRecord;
use futures_util::Stream;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};
use crate::{AccessScope, Caller, EngineError, Role};

pub use announced::{
    AnnouncedEvent, ApprovalEventRef, CatalogueEventRef, FindingEventRef, OccurrenceEventRef,
    RequestEventRef, RunEventRef, ScheduleEventRef,
};

/// Maximum events of a page, and of one read of a stream.
const BATCH: usize = 500;

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct Event {
    /// Increases with every event; the reader's cursor.
    pub id: u64,
    /// The kind of event, e.g. `approval.requested`.
    pub topic: String,
    /// When it happened.
    pub at: Timestamp,
    /// The object of the event.
    pub data: Value,
}

/// One page of events.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "EventPage")]
pub struct EventPage {
    /// Oldest first.
    pub entries: Vec<Event>,
    /// Cursor: the last event's id, or the requested one if there is nothing new.
    pub next: u64,
}

/// Prefix of the topics of messages between processes.
const REPLICA_TOPIC_PREFIX: &str = "replicas.";

/// Prefix of the topics of keys.
const KEY_TOPIC_PREFIX: &str = "key.";

/// Prefixes of the topics of runs, approvals, requests, connected accounts, schedules and their findings, which belong to
/// a user.
const USER_TOPIC_PREFIXES: [&str; 6] = [
    "run.",
    "approval.",
    "request.",
    "account.",
    "schedule.",
    "finding.",
];

/// Returns whether a message is visible to a caller. Messages between processes name skills that may be outside the
/// reader's reach. Keys are for admins with the scope; runs, approvals, requests and connected accounts are for their
/// user and for operators.
fn is_for(caller: &Caller, message: &NewMessage) -> bool {
    let topic = &message.topic;
    let keeps_keys = || caller.role >= Role::Admin && caller.scopes.opens(AccessScope::AdminRead);
    let of_a_user = USER_TOPIC_PREFIXES.iter().any(|of| topic.starts_with(of));
    !topic.starts_with(REPLICA_TOPIC_PREFIX)
        && (!topic.starts_with(KEY_TOPIC_PREFIX) || keeps_keys())
        && (!of_a_user || caller.sees(message.user_id.as_ref()))
}

/// The events of all tenants.
pub struct EventService {
    store: SharedStore,
    news: Arc<Notify>,
    shutdown: CancellationToken,
}

impl std::fmt::Debug for EventService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventService").finish_non_exhaustive()
    }
}

impl EventService {
    pub(crate) fn new(store: SharedStore, news: Arc<Notify>, shutdown: CancellationToken) -> Self {
        Self {
            store,
            news,
            shutdown,
        }
    }

    /// Returns the tenant's events that are visible to the caller, and those of the global catalogue, after an id,
    /// oldest first. Optionally restricted to a topic and those below it. Events are kept as long as runs.
    ///
    /// # Errors
    /// If storage fails.
    pub async fn list(
        &self,
        caller: &Caller,
        after: u64,
        topic: Option<&str>,
    ) -> Result<EventPage, EngineError> {
        let messages = self.store.messages_of(&caller.tenant, after, BATCH).await?;
        let next = messages.last().map_or(after, |message| message.id);
        let wanted = messages.into_iter().filter(|message| {
            let found = &message.message.topic;
            is_for(caller, &message.message)
                && topic.is_none_or(|topic| {
                    let rest = found.strip_prefix(topic);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                })
        });
        Ok(EventPage {
            entries: wanted.map(read).collect::<Result<_, _>>()?,
            next,
        })
    }

    /// Streams the events of the caller's tenant after an id, or from now on. Ends when the engine stops or storage
    /// fails; the reader resumes after the last event that it received.
    pub fn follow(
        self: &Arc<Self>,
        caller: Caller,
        after: Option<u64>,
        topic: Option<String>,
    ) -> impl Stream<Item = Event> + Send + 'static {
        let reader = Reader {
            events: Arc::clone(self),
            caller,
            after,
            topic,
            read: VecDeque::new(),
        };
        futures_util::stream::unfold(reader, |mut reader| async move {
            let event = reader.next().await;
            match event {
                Ok(event) => event.map(|event| (event, reader)),
                Err(error) => {
                    tracing::warn!(error = %error, "ending an event stream early");
                    None
                }
            }
        })
    }
}

/// Builds the message about an approval's transition: ids only, because not every reader may see a call's arguments.
pub(crate) fn about_approval(
    tenant: &TenantId,
    owner: Option<&UserId>,
    said: &ApprovalEventRef,
    word: &str,
    at: Timestamp,
) -> NewMessage {
    NewMessage {
        topic: format!("approval.{word}"),
        tenant: Some(tenant.to_string()),
        user_id: owner.cloned(),
        payload: json!(said).to_string(),
        at,
    }
}

/// Builds the messages about a write of a run: its new status, and the changes of its approvals.
pub(crate) fn about_run(
    tenant: &TenantId,
    run: &Run,
    (before, status): (Option<RunStatus>, RunStatus),
    approvals: &[ApprovalChange],
    at: Timestamp,
) -> Vec<NewMessage> {
    let status = (Some(status) != before).then(|| {
        let said = RunEventRef {
            run_id: run.id().clone(),
            status,
        };
        NewMessage {
            topic: "run.status".to_owned(),
            tenant: Some(tenant.to_string()),
            user_id: Some(run.owner().clone()),
            payload: json!(said).to_string(),
            at,
        }
    });
    let steps = approvals.iter().map(|change| {
        let (approval, word) = match change {
            ApprovalChange::Ask(record) => (&record.approval_id, "requested"),
            ApprovalChange::Move(step) => (&step.approval_id, step.to.as_str()),
        };
        let said = ApprovalEventRef {
            approval_id: approval.clone(),
            run_id: run.id().clone(),
        };
        about_approval(tenant, Some(run.owner()), &said, word, at)
    });
    steps.chain(status).collect()
}

/// Builds the message about the result of a request.
pub(crate) fn about_result(
    record: &RequestRecord,
    run: &RunId,
    response: &ResponseId,
    status: RunStatus,
    at: Timestamp,
) -> NewMessage {
    let said = RequestEventRef {
        request_id: record.request_id.clone(),
        run_id: run.clone(),
        response_id: response.clone(),
        status,
    };
    NewMessage {
        topic: "request.result".to_owned(),
        tenant: Some(record.tenant_id.to_string()),
        user_id: Some(record.user_id.clone()),
        payload: json!(said).to_string(),
        at,
    }
}

fn read(message: Message) -> Result<Event, EngineError> {
    let Message { id, message } = message;
    let data = decode_stored(&message.payload)
        .map_err(|error| EngineError::internal("reading an event", error))?;
    Ok(Event {
        id,
        topic: message.topic,
        at: message.at,
        data,
    })
}

/// The position of a stream.
struct Reader {
    events: Arc<EventService>,
    caller: Caller,
    after: Option<u64>,
    topic: Option<String>,
    read: VecDeque<Event>,
}

impl Reader {
    async fn next(&mut self) -> Result<Option<Event>, EngineError> {
        let mut after = match self.after {
            Some(after) => after,
            None => self.events.store.last_message().await?,
        };
        loop {
            self.after = Some(after);
            if let Some(event) = self.read.pop_front() {
                return Ok(Some(event));
            }
            // Registered before looking, so that no notification in between is missed.
            let events = Arc::clone(&self.events);
            let change = ChangeWait::register(&events.news);
            let topic = self.topic.as_deref();
            let found = events.list(&self.caller, after, topic).await?;
            let moved = found.next != after;
            after = found.next;
            self.read.extend(found.entries);
            if moved {
                continue;
            }
            match change.wait(POLL_INTERVAL, &events.shutdown).await {
                WaitEnd::LookAgain => {}
                WaitEnd::Stopped => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests;
