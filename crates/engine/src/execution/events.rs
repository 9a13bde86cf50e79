//! Events about a tenant's runs, approvals, requests, route examples, keys, connected accounts and catalogue.
//!
//! An event is written in the transaction of its change, so no event is lost or invented. It names the changed object;
//! readers with access look that up. Readers resume by the event's id.

use std::collections::VecDeque;
use std::sync::Arc;

use charter_contract::catalogue::schedule::OccurrenceState;
use charter_contract::ids::{
    ApprovalId, DomainId, PackageName, RequestId, ResponseId, RunId, ScheduleId, TenantId, UserId,
};
use charter_contract::json::decode_stored;
use charter_contract::run_status::RunStatus;
use charter_contract::severity::Severity;
use charter_contract::time::Timestamp;
use charter_domain::run::Run;
use charter_store::SharedStore;
use charter_store::approval::ApprovalChange;
use charter_store::outbox::{Message, NewMessage};
use charter_store::request::RequestRecord;
use futures_util::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::ground::change_wait::{ChangeWait, POLL_INTERVAL, WaitEnd};
use crate::identity::credentials::AccountEventRef;
use crate::identity::keys::KeyEventRef;
use crate::registry::route_examples::RouteExampleEventRef;
use crate::{AccessScope, Caller, EngineError, Role};

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

/// The data of an event about an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalEventRef")]
pub struct ApprovalEventRef {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The run that waits for it.
    pub run_id: RunId,
}

/// The data of an event about a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunEventRef")]
pub struct RunEventRef {
    /// The run.
    pub run_id: RunId,
    /// Its status now.
    pub status: RunStatus,
}

/// The data of an event about a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RequestEventRef")]
pub struct RequestEventRef {
    /// The request.
    pub request_id: RequestId,
    /// The run that made the request's change.
    pub run_id: RunId,
    /// The response with the run's result.
    pub response_id: ResponseId,
    /// How the run ended.
    pub status: RunStatus,
}

/// The data of an event about the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CatalogueEventRef")]
pub struct CatalogueEventRef {
    /// The catalogue's revision now.
    pub revision: u64,
    /// `global` for the layer under every tenant, `tenant` for the caller's own layer.
    #[schemars(extend("enum" = ["global", "tenant"]))]
    pub scope: String,
    /// The package.
    pub package: PackageName,
    /// Its version.
    pub version: String,
    /// The change.
    #[schemars(extend("enum" = ["registered", "rolled_back", "unregistered"]))]
    pub change: String,
}

/// The data of an event about a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ScheduleEventRef")]
pub struct ScheduleEventRef {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// The user who changed it.
    pub by: UserId,
}

/// The data of an event about an occurrence of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OccurrenceEventRef")]
pub struct OccurrenceEventRef {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// The occurrence.
    pub occurrence: String,
    /// Its state.
    pub state: OccurrenceState,
}

/// The data of an event about findings of a schedule that changed since the previous occurrence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FindingEventRef")]
pub struct FindingEventRef {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// The occurrence, whose report has the findings.
    pub occurrence: String,
    /// The domain of the schedule.
    pub domain: Option<DomainId>,
    /// The highest severity among them.
    pub severity: Severity,
    /// Their number.
    pub count: u64,
}

/// An event by its topic, in the forms that this version writes. A newer replica may write others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "topic", content = "data")]
pub enum AnnouncedEvent {
    /// An approval is requested.
    #[serde(rename = "approval.requested")]
    ApprovalRequested(ApprovalEventRef),
    /// Its turn went to the next group of approvers.
    #[serde(rename = "approval.escalated")]
    ApprovalEscalated(ApprovalEventRef),
    /// A person approved.
    #[serde(rename = "approval.approved")]
    ApprovalApproved(ApprovalEventRef),
    /// A person rejected.
    #[serde(rename = "approval.rejected")]
    ApprovalRejected(ApprovalEventRef),
    /// A person reported that the call happened.
    #[serde(rename = "approval.reported")]
    ApprovalReported(ApprovalEventRef),
    /// The approval was used.
    #[serde(rename = "approval.consumed")]
    ApprovalConsumed(ApprovalEventRef),
    /// No decision in time, or the run ended first.
    #[serde(rename = "approval.lapsed")]
    ApprovalLapsed(ApprovalEventRef),
    /// A run's status changed.
    #[serde(rename = "run.status")]
    RunStatus(RunEventRef),
    /// A request's change has ended, and its result is recorded.
    #[serde(rename = "request.result")]
    RequestResult(RequestEventRef),
    /// A package was registered, rolled back or taken out of force.
    #[serde(rename = "catalogue.changed")]
    CatalogueChanged(CatalogueEventRef),
    /// An owner accepted a route example.
    #[serde(rename = "route_example.accepted")]
    RouteExampleAccepted(RouteExampleEventRef),
    /// An owner rejected a route example.
    #[serde(rename = "route_example.rejected")]
    RouteExampleRejected(RouteExampleEventRef),
    /// An owner withdrew a route example.
    #[serde(rename = "route_example.withdrawn")]
    RouteExampleWithdrawn(RouteExampleEventRef),
    /// A key was made.
    #[serde(rename = "key.created")]
    KeyCreated(KeyEventRef),
    /// Another key replaces a key.
    #[serde(rename = "key.rotated")]
    KeyRotated(KeyEventRef),
    /// A key was revoked.
    #[serde(rename = "key.revoked")]
    KeyRevoked(KeyEventRef),
    /// A user enabled a schedule.
    #[serde(rename = "schedule.enabled")]
    ScheduleEnabled(ScheduleEventRef),
    /// A user paused a schedule.
    #[serde(rename = "schedule.paused")]
    SchedulePaused(ScheduleEventRef),
    /// A user resumed a schedule.
    #[serde(rename = "schedule.resumed")]
    ScheduleResumed(ScheduleEventRef),
    /// A user deleted a schedule.
    #[serde(rename = "schedule.deleted")]
    ScheduleDeleted(ScheduleEventRef),
    /// The work of an occurrence has ended.
    #[serde(rename = "schedule.ended")]
    ScheduleEnded(OccurrenceEventRef),
    /// An occurrence could not start, or its work failed.
    #[serde(rename = "schedule.failed")]
    ScheduleFailed(OccurrenceEventRef),
    /// An occurrence found what the previous one did not.
    #[serde(rename = "finding.new")]
    FindingNew(FindingEventRef),
    /// An occurrence no longer found what the previous one did.
    #[serde(rename = "finding.resolved")]
    FindingResolved(FindingEventRef),
    /// A user connected an account.
    #[serde(rename = "account.connected")]
    AccountConnected(AccountEventRef),
    /// An account was disconnected.
    #[serde(rename = "account.disconnected")]
    AccountDisconnected(AccountEventRef),
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
    before: Option<RunStatus>,
    approvals: &[ApprovalChange],
    at: Timestamp,
) -> Vec<NewMessage> {
    let status = (Some(run.status()) != before).then(|| {
        let said = RunEventRef {
            run_id: run.id().clone(),
            status: run.status(),
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
