//! Route examples: confirmed sentences with an owner's decision, by tenant.

use async_trait::async_trait;
use charter_contract::ids::{DocumentId, RequestId, RouteExampleId, TenantId, UserId};
use charter_contract::route_example::{ExampleSource, ExampleStatus, RoutedKind};
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::outbox::NewMessage;
use crate::page::{Page, PageRequest};

/// A route example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteExampleRecord {
    /// Its id.
    pub example_id: RouteExampleId,
    /// The tenant whose requests it applies to.
    pub tenant_id: TenantId,
    /// The document's kind.
    pub kind: RoutedKind,
    /// The document that the sentence was routed to.
    pub document: DocumentId,
    /// The redacted sentence.
    pub text: String,
    /// The sentence's words in lower case without punctuation, unique for a document.
    pub words: String,
    /// The event that confirmed it.
    pub source: ExampleSource,
    /// The request with the sentence, if there was one.
    pub request_id: Option<RequestId>,
    /// Its status.
    pub status: ExampleStatus,
    /// When it was suggested.
    pub suggested_at: Timestamp,
    /// The latest decision; absent while the status is `suggested`.
    pub decided: Option<OwnerDecision>,
}

/// An owner's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerDecision {
    /// The owner who decided.
    pub by: UserId,
    /// The time of the decision.
    pub at: Timestamp,
}

/// The limits on suggested examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExampleRoom {
    /// For one document in one tenant.
    pub document: usize,
    /// For one tenant.
    pub tenant: usize,
}

/// The outcome of a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suggested {
    /// The example was inserted.
    Kept,
    /// The document has an example with the same words, in any status.
    Known,
    /// The document's limit is reached.
    DocumentFull,
    /// The tenant's limit is reached.
    TenantFull,
}

/// The filter of a listing; an absent field matches all.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExampleFilter<'a> {
    /// Only examples with this status.
    pub status: Option<ExampleStatus>,
    /// Only examples of documents with this id.
    pub document: Option<&'a DocumentId>,
}

/// A status transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleMove {
    /// The example.
    pub example_id: RouteExampleId,
    /// The expected status.
    pub from: ExampleStatus,
    /// The new status.
    pub to: ExampleStatus,
    /// The decision.
    pub decided: OwnerDecision,
}

/// Route examples.
#[async_trait]
pub trait RouteExamples {
    /// Inserts a suggested example unless a limit is reached. The limits also hold for concurrent suggestions.
    async fn suggest_example(
        &self,
        example: &RouteExampleRecord,
        room: ExampleRoom,
    ) -> Result<Suggested, StoreError>;

    /// Gets an example of the tenant.
    async fn route_example(
        &self,
        tenant: &TenantId,
        example: &RouteExampleId,
    ) -> Result<Option<RouteExampleRecord>, StoreError>;

    /// Lists a tenant's examples, newest first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    async fn route_examples(
        &self,
        tenant: &TenantId,
        filter: ExampleFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<RouteExampleRecord>, StoreError>;

    /// Lists the suggested and accepted examples of a document, oldest first.
    async fn open_examples(
        &self,
        tenant: &TenantId,
        kind: RoutedKind,
        document: &DocumentId,
    ) -> Result<Vec<RouteExampleRecord>, StoreError>;

    /// Changes an example's status and writes the messages, in one transaction. A transition to or from
    /// [`ExampleStatus::Accepted`] also increments the catalogue's revision, because it changes routing.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if the tenant has no such example; [`StoreError::Refused`] if its status is another one.
    async fn move_example(
        &self,
        tenant: &TenantId,
        step: ExampleMove,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError>;

    /// Lists the accepted examples of all tenants by tenant, kind and document, oldest first.
    async fn accepted_examples(&self) -> Result<Vec<RouteExampleRecord>, StoreError>;
}
