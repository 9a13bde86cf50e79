//! Confirmed routes: a caller confirms an answer, chooses an option of a clarification, or starts the requested change.
//! Each suggests the sentence as a route example. An uncorrected answer confirms nothing.

use std::sync::Arc;

use charter_contract::catalogue::DocumentKind;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{DocumentId, PlaybookId, RequestId, RouteExampleId, RunId, TenantId};
use charter_contract::intent::Intent;
use charter_contract::json::decode_stored;
use charter_contract::route_example::{ExampleSource, NotSuggested, RoutedKind};
use charter_store::SharedStore;
use charter_store::request::RequestRecord;
use schemars::JsonSchema;
use serde::Serialize;

use super::classification::Classification;
use super::course::Course;
use super::view::RequestViewService;
use super::{ActiveRequest, respond};
use crate::registry::route_examples::{ConfirmedSentence, RouteExampleService};
use crate::{Caller, EngineError};

/// The outcome of a confirmation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "RequestConfirmationResult")]
pub struct RequestConfirmationResult {
    /// The request.
    pub request_id: RequestId,
    /// The document's kind.
    pub kind: RoutedKind,
    /// The skill or playbook that answered the request.
    pub document: DocumentId,
    /// The suggested route example; absent if there is none.
    pub example_id: Option<RouteExampleId>,
    /// The reason why there is none.
    pub not_suggested_reason: Option<NotSuggested>,
}

/// A skill or playbook that a request was routed to.
type RoutedTo = (RoutedKind, DocumentId);

impl Classification {
    /// The skills or playbooks that answered the request or were offered for it.
    fn answered_by(&self) -> Vec<RoutedTo> {
        let playbook = |id: &PlaybookId| -> RoutedTo { (RoutedKind::Playbook, id.into()) };
        match self.course() {
            Course::Run => {
                let skills = self.skills.iter();
                skills.map(|id| (RoutedKind::Skill, id.into())).collect()
            }
            Course::Open => self.playbook.iter().map(playbook).collect(),
            Course::Offer => {
                let candidates = self.verdict.candidates.iter();
                let playbooks = candidates.filter(|one| one.kind == DocumentKind::Playbook);
                let ids = playbooks.filter_map(|one| PlaybookId::parse(&one.id).ok());
                ids.map(|id| playbook(&id)).collect()
            }
            Course::Resume
            | Course::Quote
            | Course::Explain
            | Course::AskBack
            | Course::Decline
            | Course::Generate => Vec::new(),
        }
    }

    /// Whether the sentence itself was routed to this playbook as a change. A playbook that the request names was not
    /// routed.
    fn asks_for(&self, playbook: &PlaybookId) -> bool {
        let mut found = self.verdict.candidates.iter();
        matches!(self.course(), Course::Open | Course::Offer)
            && self.verdict.intent == Some(Intent::Change)
            && self.follow_up.is_none()
            && !self.dry_run
            && found.any(|one| one.kind == DocumentKind::Playbook && one.id == playbook.as_str())
    }

    /// The earlier request with its sentence, if this request chose an option of its clarification.
    fn answers_question(&self) -> Option<(&RequestId, &str)> {
        let follows = self.verdict.follow_up.as_ref()?;
        // Every other follow-up is ranked, and so has candidates.
        let chosen = self.verdict.candidates.is_empty();
        let follow_up = self.follow_up.as_ref().filter(|_| chosen)?;
        Some((&follows.request_id, follow_up.question.as_str()))
    }
}

/// Suggests route examples where callers confirm a route.
pub struct RouteConfirmationService {
    store: SharedStore,
    request_views: Arc<RequestViewService>,
    route_examples: Arc<RouteExampleService>,
}

impl std::fmt::Debug for RouteConfirmationService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RouteConfirmationService")
            .finish_non_exhaustive()
    }
}

impl RouteConfirmationService {
    pub(crate) fn new(
        store: SharedStore,
        request_views: Arc<RequestViewService>,
        route_examples: Arc<RouteExampleService>,
    ) -> Self {
        Self {
            store,
            request_views,
            route_examples,
        }
    }

    /// Confirms the answer to a request and suggests its sentence as an example of the document that answered:
    /// `document`, if several did.
    ///
    /// # Errors
    /// `not_found` if the request is not visible to the caller; `illegal_transition` if no skill or playbook answered
    /// it; `invalid_request` if several answered and `document` names none of them.
    pub async fn confirm_request(
        &self,
        caller: &Caller,
        id: &RequestId,
        document: Option<&DocumentId>,
    ) -> Result<RequestConfirmationResult, EngineError> {
        let record = self.request_views.request_of(caller, id).await?;
        let (asked, classified) = answered(&record)?;
        let (kind, document) = one_of(id, classified.answered_by(), document)?;
        let suggested = match classified.follow_up {
            Some(_) => Err(NotSuggested::FollowUp),
            None => {
                let source = ExampleSource::Thumb;
                let sentence = sentence(&asked, &classified, (kind, &document), source);
                self.route_examples.suggest_example(sentence).await
            }
        };
        Ok(RequestConfirmationResult {
            request_id: id.clone(),
            kind,
            document,
            not_suggested_reason: suggested.as_ref().err().copied(),
            example_id: suggested.ok(),
        })
    }

    /// If the request chose an option of a clarification, suggests the clarified sentence as an example of that option.
    pub(super) async fn suggest_chosen(&self, asked: &ActiveRequest, classified: &Classification) {
        let Some((request, question)) = classified.answers_question() else {
            return;
        };
        for (kind, document) in classified.answered_by() {
            let chosen = (kind, &document);
            let sentence = ConfirmedSentence {
                text: question,
                request: Some(request),
                ..sentence(asked, classified, chosen, ExampleSource::ChosenOption)
            };
            note(self.route_examples.suggest_example(sentence).await);
        }
    }

    /// Gets the request that planned a run, with its playbook, until the request has a result.
    pub(crate) async fn request_that_planned(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Option<(RequestRecord, PlaybookId)> {
        let found = match self.store.request_of_run(tenant, run).await {
            Ok(found) => found?,
            Err(error) => {
                tracing::warn!(error = %error, run.id = %run, "reading the request of a run failed");
                return None;
            }
        };
        let classified = logged(&found, classified(&found))?;
        Some((found, classified.playbook?))
    }

    /// Suggests the sentence of a request as an example of the playbook that was started for it, if it asked for that
    /// change.
    pub(crate) async fn suggest_example_of(&self, record: &RequestRecord, playbook: &PlaybookId) {
        let Some((asked, classified)) = logged(record, answered(record)) else {
            return;
        };
        if !classified.asks_for(playbook) {
            return;
        }
        let started: DocumentId = playbook.into();
        let (to, source) = (
            (RoutedKind::Playbook, &started),
            ExampleSource::ExecutedOffer,
        );
        let sentence = sentence(&asked, &classified, to, source);
        note(self.route_examples.suggest_example(sentence).await);
    }

    /// Records that the caller started a playbook that the answer to a request had offered.
    pub async fn confirm_offer(&self, caller: &Caller, request: &RequestId, playbook: &PlaybookId) {
        match self.request_views.request_of(caller, request).await {
            Ok(record) => self.suggest_example_of(&record, playbook).await,
            Err(error) => {
                tracing::warn!(error = %error, request.id = %request, "reading the request of an offer failed");
            }
        }
    }
}

/// The sentence of a request with the document that it was routed to.
fn sentence<'r>(
    asked: &'r ActiveRequest,
    classified: &'r Classification,
    (kind, document): (RoutedKind, &'r DocumentId),
    source: ExampleSource,
) -> ConfirmedSentence<'r> {
    ConfirmedSentence {
        tenant: &asked.caller.tenant,
        kind,
        document,
        text: classified.text(asked),
        given: &asked.wishes.parameters,
        asked_at: asked.request.timestamp,
        source,
        request: Some(asked.id()),
    }
}

/// Reads an answered request with its classification.
///
/// # Errors
/// `illegal_transition` if the request is open or failed.
fn answered(record: &RequestRecord) -> Result<(ActiveRequest, Classification), EngineError> {
    let id = &record.request_id;
    let answer = record.answer.as_deref();
    let answer = answer.ok_or_else(|| not_confirmed(format!("`{id}` has no answer yet")))?;
    if let Err(failure) = respond::recorded(answer) {
        return Err(not_confirmed(format!("`{id}` failed")).caused_by(failure));
    }
    let asked = ActiveRequest::from_json(&record.asked, record.tenant_id.clone())?;
    Ok((asked, classified(record)?))
}

fn classified(record: &RequestRecord) -> Result<Classification, EngineError> {
    let verdict = record.verdict.as_deref();
    let id = &record.request_id;
    let verdict = verdict.ok_or_else(|| not_confirmed(format!("`{id}` was not routed")))?;
    decode_stored(verdict)
        .map_err(|error| EngineError::internal("reading a recorded verdict", error))
}

/// The confirmed document among those that answered.
fn one_of(
    id: &RequestId,
    answered_by: Vec<RoutedTo>,
    named: Option<&DocumentId>,
) -> Result<RoutedTo, EngineError> {
    let ids: Vec<String> = answered_by.iter().map(|(_, id)| id.to_string()).collect();
    if ids.is_empty() {
        return Err(not_confirmed(format!(
            "no skill or playbook answered `{id}`"
        )));
    }
    let mut meant = answered_by
        .into_iter()
        .filter(|(_, id)| named.is_none_or(|named| named == id));
    let message = match (meant.next(), meant.next(), named) {
        (Some(only), None, _) => return Ok(only),
        (None, _, Some(named)) => format!("`{named}` did not answer `{id}`"),
        (_, _, _) => format!("several documents answered `{id}`: name one as `document`"),
    };
    let error = EngineError::new(ErrorCode::InvalidRequest, message);
    Err(error.knowing(ids.iter().map(String::as_str)))
}

fn not_confirmed(message: String) -> EngineError {
    EngineError::new(ErrorCode::IllegalTransition, message)
}

/// Logs a failed read, because it must not fail the confirming request.
fn logged<T>(record: &RequestRecord, read: Result<T, EngineError>) -> Option<T> {
    read.inspect_err(|error| {
        tracing::warn!(error = %error, request.id = %record.request_id, "reading a confirmed request failed");
    })
    .ok()
}

/// Logs the outcome of a suggestion that has no caller.
fn note(suggested: Result<RouteExampleId, NotSuggested>) {
    match suggested {
        Ok(example) => {
            tracing::debug!(example.id = %example, "a route example is suggested");
        }
        Err(why) => {
            tracing::debug!(why = %why, "no route example is suggested");
        }
    }
}
