//! Suggesting a confirmed sentence as a route example: redaction, near-duplicate check, limits.
//!
//! A failure here is logged and never fails the confirming request.

use charter_contract::bounds::{ROUTE_EXAMPLES_SUGGESTED, ROUTE_EXAMPLES_WAITING};
use charter_contract::ids::{DocumentId, RequestId, RouteExampleId, TenantId};
use charter_contract::parameter::Parameter;
use charter_contract::route_example::{ExampleSource, ExampleStatus, NotSuggested, RoutedKind};
use charter_contract::time::Timestamp;
use charter_domain::catalogue::View;
use charter_domain::graph;
use charter_domain::route_example::{NEAR_DUPLICATE_COSINE, SentenceRedaction, normalised};
use charter_search::RouteText;
use charter_store::route_example::{ExampleRoom, RouteExampleRecord, Suggested};
use serde_json::{Map, Value};

use super::RouteExampleService;
use crate::EngineError;
use crate::catalogue::live::{offered, text_hash};

/// The limits on suggested examples.
const ROOM: ExampleRoom = ExampleRoom {
    document: ROUTE_EXAMPLES_SUGGESTED,
    tenant: ROUTE_EXAMPLES_WAITING,
};

/// A sentence whose route to a document was confirmed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfirmedSentence<'c> {
    pub(crate) tenant: &'c TenantId,
    pub(crate) kind: RoutedKind,
    pub(crate) document: &'c DocumentId,
    pub(crate) text: &'c str,
    /// Parameter values that the caller sent with it.
    pub(crate) given: &'c Map<String, Value>,
    /// The time of the request, for relative dates.
    pub(crate) asked_at: Timestamp,
    pub(crate) source: ExampleSource,
    pub(crate) request: Option<&'c RequestId>,
}

/// The routing texts and parameters of the document.
struct ExampleTarget {
    text: RouteText,
    parameters: Vec<Parameter>,
}

impl ExampleTarget {
    /// Reads the document, if it is active.
    fn of(view: &View, kind: RoutedKind, id: &str) -> Option<Self> {
        let (_, text) = offered(view, kind, id)?;
        let parameters = match kind {
            RoutedKind::Skill => {
                let found = view.skill(id)?;
                graph::wired(found.document(), view).parameters.clone()
            }
            RoutedKind::Playbook => view.playbook(id)?.document().declared_parameters(),
        };
        Some(Self { text, parameters })
    }

    /// Its routing texts as one.
    fn vocabulary(&self) -> String {
        let RouteText {
            name,
            group,
            description,
            parameters,
            examples,
            ..
        } = &self.text;
        let own = [name, group, description].into_iter();
        let all: Vec<&str> = own
            .chain(parameters)
            .chain(examples)
            .map(String::as_str)
            .collect();
        all.join(" ")
    }
}

impl RouteExampleService {
    /// Suggests a confirmed sentence as an example of its document. Logs failures.
    pub(crate) async fn suggest_example(
        &self,
        confirmed: ConfirmedSentence<'_>,
    ) -> Result<RouteExampleId, NotSuggested> {
        match self.suggested(confirmed).await {
            Ok(outcome) => outcome,
            Err(error) => {
                tracing::warn!(
                    error = %error, tenant.id = %confirmed.tenant, document.id = %confirmed.document,
                    "suggesting a route example failed"
                );
                Err(NotSuggested::NotRecorded)
            }
        }
    }

    async fn suggested(
        &self,
        confirmed: ConfirmedSentence<'_>,
    ) -> Result<Result<RouteExampleId, NotSuggested>, EngineError> {
        let ConfirmedSentence {
            tenant,
            kind,
            document,
            ..
        } = confirmed;
        let live = self.catalogue.live();
        let Some(target) = ExampleTarget::of(&live.view(tenant), kind, document.as_str()) else {
            return Ok(Err(NotSuggested::NotOffered));
        };
        let example = SentenceRedaction {
            text: confirmed.text,
            given: confirmed.given,
            parameters: &target.parameters,
            vocabulary: &target.vocabulary(),
            identifiers: &live.identifiers(tenant),
            now: confirmed.asked_at,
        }
        .redact();
        let text = match example {
            Ok(text) => text,
            Err(why) => return Ok(Err(why)),
        };
        let open = self.store.open_examples(tenant, kind, document).await?;
        let mut known = target.text.examples;
        known.extend(open.into_iter().map(|example| example.text));
        if self.is_near_duplicate(&text, known).await? {
            return Ok(Err(NotSuggested::NearDuplicate));
        }
        let record = RouteExampleRecord {
            example_id: RouteExampleId::from_uuid(self.ids.uuid()),
            tenant_id: tenant.clone(),
            kind,
            document: document.clone(),
            words: normalised(&text),
            text,
            source: confirmed.source,
            request_id: confirmed.request.cloned(),
            status: ExampleStatus::Suggested,
            suggested_at: self.clock.now(),
            decided: None,
        };
        Ok(match self.store.suggest_example(&record, ROOM).await? {
            Suggested::Kept => Ok(record.example_id),
            Suggested::Known => Err(NotSuggested::NearDuplicate),
            Suggested::DocumentFull => Err(NotSuggested::DocumentFull),
            Suggested::TenantFull => Err(NotSuggested::TenantFull),
        })
    }

    /// Whether a text is a near-duplicate of one of the known examples, by its words or by its vector.
    async fn is_near_duplicate(&self, text: &str, known: Vec<String>) -> Result<bool, EngineError> {
        let words = normalised(text);
        if known.iter().any(|known| normalised(known) == words) {
            return Ok(true);
        }
        let hashes: Vec<_> = known.iter().map(|known| text_hash(known)).collect();
        let mut texts = known;
        texts.push(text.to_owned());
        let vectors = self.vectors.vectors_of(texts).await?;
        let Some(vector) = vectors.get(&text_hash(text)) else {
            return Ok(false);
        };
        let mut known = hashes.iter().filter_map(|hash| vectors.get(hash));
        Ok(known.any(|known| vector.dot(known) >= NEAR_DUPLICATE_COSINE))
    }
}
