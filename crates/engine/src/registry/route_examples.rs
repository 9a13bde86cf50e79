//! Route examples: a confirmed route suggests its sentence as an example of the document ([`suggest`]), an owner accepts or
//! rejects it, and the router then uses accepted examples for the tenant's requests.
//!
//! Owners are callers who may edit the tenant's catalogue. Registered documents are not changed.

mod suggest;

use std::sync::Arc;

use charter_contract::bounds::ROUTE_EXAMPLES_ACCEPTED;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{DocumentId, RequestId, RouteExampleId, TenantId, UserId};
use charter_contract::route_example::{ExampleSource, ExampleStatus, RoutedKind};
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_domain::clock::Clock;
use charter_domain::route_example::NotOpen;
use charter_store::outbox::NewMessage;
use charter_store::page::PageRequest;
use charter_store::route_example::{ExampleFilter, ExampleMove, OwnerDecision, RouteExampleRecord};
use charter_store::{SharedStore, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Notify;

pub use charter_domain::route_example::ExampleDecision;
pub(crate) use suggest::ConfirmedSentence;

use crate::catalogue::live::{CatalogueService, TextVectors};
use crate::ground::core_ports::CorePorts;
use crate::ground::error::newest_known;
use crate::ground::ids::IdSource;
use crate::{Caller, EngineError};

/// A route example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RouteExample")]
pub struct RouteExampleShown {
    /// Its id.
    pub example_id: RouteExampleId,
    /// The document's kind.
    pub kind: RoutedKind,
    /// The skill or playbook that the sentence was routed to.
    pub document: DocumentId,
    /// The redacted sentence.
    pub text: String,
    /// The event that confirmed it.
    pub source: ExampleSource,
    /// The request with the sentence, if there was one.
    pub request_id: Option<RequestId>,
    /// Its status.
    pub status: ExampleStatus,
    /// The time of the suggestion.
    pub suggested_at: Timestamp,
    /// The owner who took the latest decision.
    pub decided_by: Option<UserId>,
    /// The time of the latest decision.
    pub decided_at: Option<Timestamp>,
}

impl From<RouteExampleRecord> for RouteExampleShown {
    fn from(record: RouteExampleRecord) -> Self {
        let decided = record.decided.map(|decided| (decided.by, decided.at));
        let (decided_by, decided_at) = decided.unzip();
        Self {
            example_id: record.example_id,
            kind: record.kind,
            document: record.document,
            text: record.text,
            source: record.source,
            request_id: record.request_id,
            status: record.status,
            suggested_at: record.suggested_at,
            decided_by,
            decided_at,
        }
    }
}

/// One page of route examples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RouteExamplePage")]
pub struct RouteExampleListing {
    /// Newest first.
    pub entries: Vec<RouteExampleShown>,
    /// The cursor of the next page; absent on the last one.
    pub next: Option<String>,
}

/// The payload of an event about a route example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteExampleEventRef {
    /// The example's id.
    pub example_id: RouteExampleId,
    /// The document's kind.
    pub kind: RoutedKind,
    /// The skill or playbook that the sentence was routed to.
    pub document: DocumentId,
    /// The owner who decided.
    pub by: UserId,
}

/// Examples of requests that tenants accept for routing.
pub struct RouteExampleService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    catalogue: Arc<CatalogueService>,
    vectors: Arc<TextVectors>,
    news: Arc<Notify>,
}

impl std::fmt::Debug for RouteExampleService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RouteExampleService")
            .finish_non_exhaustive()
    }
}

impl RouteExampleService {
    pub(crate) fn new(
        ports: CorePorts,
        catalogue: Arc<CatalogueService>,
        vectors: Arc<TextVectors>,
        news: Arc<Notify>,
    ) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            ids: ports.ids,
            catalogue,
            vectors,
            news,
        }
    }

    /// Lists the tenant's route examples, newest first.
    ///
    /// # Errors
    /// `permission_denied` if the caller may not edit the tenant's catalogue; `invalid_request` for an invalid cursor.
    pub async fn list(
        &self,
        caller: &Caller,
        status: Option<ExampleStatus>,
        document: Option<&DocumentId>,
        page: &PageRequest,
    ) -> Result<RouteExampleListing, EngineError> {
        must_own(caller)?;
        let filter = ExampleFilter { status, document };
        let page = self
            .store
            .route_examples(&caller.tenant, filter, page)
            .await?;
        Ok(RouteExampleListing {
            entries: page.entries.into_iter().map(Into::into).collect(),
            next: page.next,
        })
    }

    /// Accepts, rejects or withdraws a route example. The routing of the tenant's requests changes at once.
    ///
    /// # Errors
    /// `permission_denied` if the caller may not edit the tenant's catalogue; `not_found`; `illegal_transition`, with the
    /// status in the details, if the status does not allow the decision, and if the document has reached its limit of
    /// accepted examples; `unavailable` if the sentence cannot be embedded.
    pub async fn decide(
        &self,
        caller: &Caller,
        id: &RouteExampleId,
        decision: ExampleDecision,
    ) -> Result<RouteExampleShown, EngineError> {
        must_own(caller)?;
        let _one_at_a_time = self.catalogue.registration_turn().await?;
        let found = self.route_example_of(&caller.tenant, id).await?;
        let to = decision.apply(found.status).map_err(not_open)?;
        if to == ExampleStatus::Accepted {
            self.must_have_room_for(&found).await?;
            self.vectors.vectors_of(vec![found.text.clone()]).await?;
        }
        let step = ExampleMove {
            example_id: id.clone(),
            from: found.status,
            to,
            decided: OwnerDecision {
                by: caller.user.clone(),
                at: self.clock.now(),
            },
        };
        let events = vec![event_of(&found, &step)];
        match self.store.move_example(&caller.tenant, step, events).await {
            Ok(()) => {}
            Err(StoreError::Refused { .. }) => {
                let status = self.route_example_of(&caller.tenant, id).await?.status;
                return Err(not_open(NotOpen { status, decision }));
            }
            Err(error) => return Err(error.into()),
        }
        tracing::info!(example.id = %id, tenant.id = %caller.tenant, user.id = %caller.user, "route example {to}");
        if decision.changes_routing() {
            self.catalogue.reload_catalogue().await?;
        }
        self.news.notify_waiters();
        Ok(self.route_example_of(&caller.tenant, id).await?.into())
    }

    async fn route_example_of(
        &self,
        tenant: &TenantId,
        id: &RouteExampleId,
    ) -> Result<RouteExampleRecord, EngineError> {
        match self.store.route_example(tenant, id).await? {
            Some(found) => Ok(found),
            None => Err(self.no_route_example(tenant, id).await?),
        }
    }

    async fn must_have_room_for(&self, example: &RouteExampleRecord) -> Result<(), EngineError> {
        let RouteExampleRecord {
            tenant_id,
            kind,
            document,
            ..
        } = example;
        let open = self.store.open_examples(tenant_id, *kind, document);
        let open = open.await?.into_iter();
        let accepted = open.filter(|one| one.status == ExampleStatus::Accepted);
        if accepted.count() < ROUTE_EXAMPLES_ACCEPTED {
            return Ok(());
        }
        let message = format!(
            "the {kind} `{document}` has {ROUTE_EXAMPLES_ACCEPTED} accepted route examples, the limit \
             ROUTE_EXAMPLES_ACCEPTED; withdraw one first"
        );
        Err(EngineError::new(ErrorCode::IllegalTransition, message))
    }
}

fn must_own(caller: &Caller) -> Result<(), EngineError> {
    caller.must_edit(&Scope::Tenant(caller.tenant.clone()), "route examples")
}

fn not_open(refused: NotOpen) -> EngineError {
    EngineError::new(ErrorCode::IllegalTransition, refused.to_string())
        .with_details(json!({"status": refused.status}))
}

/// The event about a decision. It has ids only, because the sentence is for owners.
fn event_of(example: &RouteExampleRecord, step: &ExampleMove) -> NewMessage {
    let payload = RouteExampleEventRef {
        example_id: example.example_id.clone(),
        kind: example.kind,
        document: example.document.clone(),
        by: step.decided.by.clone(),
    };
    NewMessage {
        topic: format!("route_example.{}", step.to),
        tenant: Some(example.tenant_id.to_string()),
        user_id: None,
        payload: json!(payload).to_string(),
        at: step.decided.at,
    }
}

impl RouteExampleService {
    /// The error for a route example that a tenant does not have, which lists its newest. For callers who may edit the tenant's catalogue and see all examples.
    pub(crate) async fn no_route_example(
        &self,
        tenant: &TenantId,
        example: &RouteExampleId,
    ) -> Result<EngineError, EngineError> {
        let (filter, page) = (ExampleFilter::default(), newest_known());
        let seen = self.store.route_examples(tenant, filter, &page).await?;
        let ids = seen.entries.iter().map(|seen| seen.example_id.as_str());
        Ok(EngineError::not_found("route example", example).knowing(ids))
    }
}

#[cfg(test)]
mod tests;
