//! Events about a tenant's runs, approvals, requests, route examples, keys and catalogue.
//!
//! An event is written in the transaction of the change that it announces, so none is missed and none
//! is made up; it names what changed, and whoever may see that looks it up. Readers take up where they
//! stopped by the event's id.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use charter_contract::ids::{
    ApprovalId, PackageName, RequestId, ResponseId, RunId, TenantId, UserId,
};
use charter_contract::json::decode_stored;
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_domain::run::Run;
use charter_store::approval::ApprovalChange;
use charter_store::journal::Append;
use charter_store::outbox::{Message, NewMessage};
use charter_store::request::RequestRecord;
use futures_util::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::identity::keys::KeyEventRef;
use crate::registry::route_examples::RouteExampleEventRef;
use crate::{AccessScope, Caller, Engine, EngineError, Role};

/// Events of a page, and those that a stream reads at once.
const BATCH: usize = 500;

/// Time after which a stream looks even if nobody in this process said that there is news.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct Event {
    /// Grows with every event; a reader goes on after it.
    pub id: u64,
    /// What happened, e.g. `approval.requested`.
    pub topic: String,
    /// When.
    pub at: Timestamp,
    /// What it happened to.
    pub data: Value,
}

/// What an event says of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OfApproval")]
pub struct ApprovalEventRef {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The run that waits for it.
    pub run_id: RunId,
}

/// What an event says of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OfRun")]
pub struct RunEventRef {
    /// The run.
    pub run_id: RunId,
    /// Where it stands now.
    pub status: RunStatus,
}

/// What an event says of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OfRequest")]
pub struct RequestEventRef {
    /// The request.
    pub request_id: RequestId,
    /// The run that changed something for it.
    pub run_id: RunId,
    /// The response that says what that run came to.
    pub response_id: ResponseId,
    /// How the run ended.
    pub status: RunStatus,
}

/// What an event says of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OfCatalogue")]
pub struct CatalogueEventRef {
    /// The catalogue's revision now.
    pub revision: u64,
    /// `global` for what every tenant builds on, `tenant` for the caller's own layer.
    #[schemars(extend("enum" = ["global", "tenant"]))]
    pub scope: String,
    /// The package.
    pub package: PackageName,
    /// Its version.
    pub version: String,
    /// What became of it.
    #[schemars(extend("enum" = ["registered", "rolled_back", "unregistered"]))]
    pub change: String,
}

/// An event by its topic, as those that are written now are. A newer replica may write others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "topic", content = "data")]
pub enum AnnouncedEvent {
    /// A person is asked.
    #[serde(rename = "approval.requested")]
    ApprovalRequested(ApprovalEventRef),
    /// A person agreed.
    #[serde(rename = "approval.approved")]
    ApprovalApproved(ApprovalEventRef),
    /// A person refused.
    #[serde(rename = "approval.rejected")]
    ApprovalRejected(ApprovalEventRef),
    /// A person said that the call happened.
    #[serde(rename = "approval.happened")]
    ApprovalHappened(ApprovalEventRef),
    /// The agreement was used.
    #[serde(rename = "approval.consumed")]
    ApprovalConsumed(ApprovalEventRef),
    /// Nobody decided in time, or the run ended first.
    #[serde(rename = "approval.lapsed")]
    ApprovalLapsed(ApprovalEventRef),
    /// A run stands elsewhere.
    #[serde(rename = "run.status")]
    RunStatus(RunEventRef),
    /// The change that a request asked for has ended, and its result is recorded.
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
    /// Another key takes a key's place.
    #[serde(rename = "key.rotated")]
    KeyRotated(KeyEventRef),
    /// A key was revoked.
    #[serde(rename = "key.revoked")]
    KeyRevoked(KeyEventRef),
}

/// One page of events.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "EventPage")]
pub struct EventPage {
    /// Oldest first.
    pub entries: Vec<Event>,
    /// The id to go on after; the one that was asked for when there is nothing new.
    pub next: u64,
}

/// What the topics of messages among processes begin with.
const REPLICA_TOPIC_PREFIX: &str = "replicas.";

/// What the topics of keys begin with.
const KEY_TOPIC_PREFIX: &str = "key.";

/// What the topics of runs, approvals and requests begin with: those of a user.
const USER_TOPIC_PREFIXES: [&str; 3] = ["run.", "approval.", "request."];

/// Whether a caller sees a message. Messages among processes name skills that the reader may not reach; keys
/// are for the admins who keep them; runs, approvals and requests are for their user and for operators.
fn is_for(caller: &Caller, message: &NewMessage) -> bool {
    let topic = &message.topic;
    let keeps_keys = || caller.role >= Role::Admin && caller.scopes.opens(AccessScope::AdminRead);
    let of_a_user = USER_TOPIC_PREFIXES.iter().any(|of| topic.starts_with(of));
    !topic.starts_with(REPLICA_TOPIC_PREFIX)
        && (!topic.starts_with(KEY_TOPIC_PREFIX) || keeps_keys())
        && (!of_a_user || caller.sees(message.user_id.as_ref()))
}

impl Engine {
    /// The events of the tenant that the caller sees, and those of the global catalogue, after an id, oldest
    /// first; of a topic, or of the topics below it, if asked. Events are kept as long as runs are.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn events(
        &self,
        caller: &Caller,
        after: u64,
        topic: Option<&str>,
    ) -> Result<EventPage, EngineError> {
        let messages = self
            .store()
            .messages_of(&caller.tenant, after, BATCH)
            .await?;
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

    /// The caller's tenant's events from an id on, or from now on, as they happen. Ends when the
    /// engine stops or storage fails; the reader takes up after the last event that it saw.
    pub fn follow_events(
        self: &Arc<Self>,
        caller: Caller,
        after: Option<u64>,
        topic: Option<String>,
    ) -> impl Stream<Item = Event> + Send + 'static {
        let reader = Reader {
            engine: Arc::clone(self),
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
                    tracing::warn!(error = %error, "a stream of events ends early");
                    None
                }
            }
        })
    }

    /// Appends to a journal and tells who watches.
    pub(crate) async fn append(&self, append: Append) -> Result<u64, EngineError> {
        let announces = !append.messages.is_empty();
        let version = self.store().append(append).await?;
        if announces {
            self.notify_watchers();
        }
        Ok(version)
    }
}

/// What is announced when an approval takes a step: ids only, for a call's arguments are not for every
/// reader.
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

/// What is announced with a write of a run: where it stands now if that is news, and what becomes of
/// its approvals.
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

/// What is announced with the result of a request.
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

/// A stream's place.
struct Reader {
    engine: Arc<Engine>,
    caller: Caller,
    after: Option<u64>,
    topic: Option<String>,
    read: VecDeque<Event>,
}

impl Reader {
    async fn next(&mut self) -> Result<Option<Event>, EngineError> {
        let mut after = match self.after {
            Some(after) => after,
            None => self.engine.store().last_message().await?,
        };
        loop {
            self.after = Some(after);
            if let Some(event) = self.read.pop_front() {
                return Ok(Some(event));
            }
            // Registered before looking, so that what comes meanwhile is not missed.
            let engine = Arc::clone(&self.engine);
            let news = engine.change_notify().notified();
            let mut news = std::pin::pin!(news);
            news.as_mut().enable();
            let topic = self.topic.as_deref();
            let found = self.engine.events(&self.caller, after, topic).await?;
            let moved = found.next != after;
            after = found.next;
            self.read.extend(found.entries);
            if moved {
                continue;
            }
            tokio::select! {
                () = self.engine.shutdown().cancelled() => return Ok(None),
                () = news => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    }
}
