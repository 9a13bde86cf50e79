//! Lenses: reference knowledge that is fetched, cut into passages, indexed and searched (seed 000 §2.6, B000-16).
//!
//! A lens document names the source of its knowledge; its index holds the knowledge. The index comes into force with
//! the document, in one transaction, and is replaced whole when the source has changed. Everything here is for the
//! advanced tier.

mod cut;
mod embed;
mod fetch;
mod index;
mod refresh;
mod search;
mod sentences;
mod work;

use std::sync::Arc;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::lens::{DomainLens, LensSource};
use charter_contract::catalogue::vocabulary::Status;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{DomainId, Label, LensId};
use charter_contract::package::PackageScope;
use charter_contract::scope::Scope;
use charter_contract::text::ShortText;
use charter_contract::time::Timestamp;
use charter_domain::catalogue::{CatalogueEntry, ResolvedDocument, View};
use charter_domain::clock::Clock;
use charter_effects::Sources;
use charter_store::SharedStore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::catalogue::documents::unseen;
use crate::catalogue::lens_index::{LensKey, Position, SkippedFile};
use crate::catalogue::live::{CatalogueService, TextVectors};
use crate::ground::core_ports::{BackgroundTasks, CorePorts};
use crate::ground::peers::Peers;
use crate::ground::settings::LensSettings;
use crate::{Caller, EngineError, Tier};

pub(crate) use refresh::LensJob;
pub use search::MAX_PASSAGES;
use sentences::SentenceVectors;
use work::LensWork;
pub use work::{LastWork, LensIndexingOutcome, LensIndexingResult, Stage, WorkResult};

/// A lens with its document and the state of its source.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Lens")]
pub struct LensView {
    /// The document, with the hash of the indexed content.
    #[serde(flatten)]
    pub lens: DomainLens,
    /// The scope of its registration.
    pub scope: PackageScope,
    /// Its index; absent until there is one.
    pub index: Option<LensIndexView>,
    /// The progress of indexing, while it runs.
    pub indexing: Option<Stage>,
    /// The result of the last indexing in this process.
    pub last: Option<LastWork>,
}

/// Facts about an index.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "LensIndex")]
pub struct LensIndexView {
    /// Number of passages.
    pub chunks: usize,
    /// Bytes of the source.
    pub bytes: usize,
    /// The embedding model; absent if only words are compared.
    pub model: Option<String>,
    /// Whether the current model differs, so that only words are compared until it is indexed again.
    pub model_changed: bool,
    /// When the source was last checked.
    pub fetched_at: Timestamp,
    /// When the index was made.
    pub indexed_at: Timestamp,
    /// Why parts of the text may differ from their author's text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// Files of the folder that are left out, because they cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<SkippedFile>,
}

/// A query's filter for lenses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LensFilter {
    /// These lenses; all visible ones when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lens_ids: Vec<LensId>,
    /// Lenses of this domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<DomainId>,
    /// Lenses with all of these tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Label>,
    /// Maximum passages: 5 when absent, 50 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_PASSAGES))]
    pub top_k: Option<usize>,
}

impl LensFilter {
    /// Returns the filter as recorded in tags.
    pub(crate) fn recorded(&self) -> Result<Map<String, Value>, EngineError> {
        let recorded = serde_json::to_value(self)
            .map_err(|error| EngineError::internal("recording what to search", error))?;
        match recorded {
            Value::Object(recorded) => Ok(recorded),
            _ => Ok(Map::new()),
        }
    }
}

/// The passages nearest to a question.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LensSearchResult {
    /// The question.
    pub query: String,
    /// Always true: passages are quoted, and no text is generated.
    pub extractive: bool,
    /// The embedding model; absent if only words were compared.
    pub model: Option<String>,
    /// The lenses that were searched.
    pub lenses: Vec<LensId>,
    /// Best first.
    pub passages: Vec<PassageView>,
}

/// One passage, with its source.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Passage")]
pub struct PassageView {
    /// Its lens.
    pub lens_id: LensId,
    /// The lens's title.
    pub title: String,
    /// The lens's domain.
    pub domain: DomainId,
    /// The scope of the lens's registration.
    pub scope: PackageScope,
    /// The text, exactly as extracted from the source and indexed.
    pub text: String,
    /// Its position.
    pub position: Position,
    /// The source of the lens.
    pub source: LensSource,
    /// Hash of the fetched content.
    pub content_hash: String,
    /// Probability that it is relevant to the question, 0 to 1: comparable across questions.
    pub score: f32,
    /// The ranking score, 0 to 1 within this answer.
    pub fused: f32,
    /// Words in common, weighted.
    pub lexical: f32,
    /// Similarity of meaning; absent if only words were compared.
    pub cosine: Option<f32>,
}

/// Lenses with their indexes.
pub struct LensService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    catalogue: Arc<CatalogueService>,
    vectors: Arc<TextVectors>,
    peers: Arc<Peers>,
    sources: Arc<dyn Sources>,
    settings: LensSettings,
    shutdown: CancellationToken,
    tasks: TaskTracker,
    lens_work: Arc<LensWork>,
    sentences: SentenceVectors,
}

impl std::fmt::Debug for LensService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LensService").finish_non_exhaustive()
    }
}

impl LensService {
    pub(crate) fn new(
        ports: CorePorts,
        background: BackgroundTasks,
        catalogue: Arc<CatalogueService>,
        vectors: Arc<TextVectors>,
        peers: Arc<Peers>,
        sources: Arc<dyn Sources>,
        settings: LensSettings,
    ) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            catalogue,
            vectors,
            peers,
            sources,
            settings,
            shutdown: background.shutdown,
            tasks: background.tasks,
            lens_work: Arc::default(),
            sentences: SentenceVectors::default(),
        }
    }

    /// Lists the lenses that are visible to the caller, by id.
    ///
    /// # Errors
    /// `permission_denied` on the basic tier.
    pub fn list(
        &self,
        caller: &Caller,
        domain: Option<&DomainId>,
    ) -> Result<Vec<LensView>, EngineError> {
        may_read(caller)?;
        let live = self.catalogue.live();
        let view = live.view(&caller.tenant);
        let wanted = view
            .lenses()
            .filter(|found| domain.is_none_or(|domain| found.document().domain == *domain));
        Ok(wanted.map(|found| self.shown(&found)).collect())
    }

    /// Returns one lens.
    ///
    /// # Errors
    /// `not_found`; `unavailable` during its first registration, with the progress; `permission_denied` on the basic
    /// tier.
    pub fn get(&self, caller: &Caller, id: &LensId) -> Result<LensView, EngineError> {
        may_read(caller)?;
        let view = self.catalogue.live().view(&caller.tenant);
        match view.lens(id.as_ref()) {
            Some(found) => Ok(self.shown(&found)),
            None => Err(self.absent(caller, &view, id)),
        }
    }

    /// The error for an absent lens: there is none, or the caller's tenant is registering it.
    fn absent(&self, caller: &Caller, view: &View, id: &LensId) -> EngineError {
        let key = LensKey {
            scope: Scope::Tenant(caller.tenant.clone()),
            lens: id.clone(),
        };
        match self.lens_work.status(&key).0 {
            Some(stage) => {
                let message = format!("`{id}` is being registered: {stage}");
                EngineError::new(ErrorCode::Unavailable, message)
            }
            None => unseen(view, DocumentKind::DomainLens, id.as_ref()),
        }
    }

    fn shown(&self, found: &ResolvedDocument<DomainLens>) -> LensView {
        let key = key_of(&found.entry);
        let shelved = self.catalogue.live().lenses.of(&key);
        let (indexing, last) = self.lens_work.status(&key);
        let mut lens = found.document().clone();
        lens.content_hash = shelved
            .as_ref()
            .and_then(|shelved| ShortText::parse(&shelved.indexed.content_hash).ok());
        LensView {
            lens,
            scope: scope_shown(&key.scope),
            index: shelved.map(|shelved| LensIndexView {
                chunks: shelved.indexed.chunks,
                bytes: shelved.indexed.bytes,
                model_changed: shelved.indexed.model.as_deref() != self.vector_model().as_deref(),
                model: shelved.indexed.model.clone(),
                fetched_at: shelved.indexed.fetched_at,
                indexed_at: shelved.indexed.indexed_at,
                notices: shelved.indexed.notices.clone(),
                left_out: shelved.indexed.left_out.clone(),
            }),
            indexing,
            last,
        }
    }

    /// Returns the name of the embedding model, if there is one.
    pub(crate) fn vector_model(&self) -> Option<String> {
        self.vectors
            .embedder()
            .map(|embedder| embedder.model().to_string())
    }
}

/// Refuses the basic tier (B000-16).
fn may_read(caller: &Caller) -> Result<(), EngineError> {
    caller.must_have(Tier::Advanced, "lenses need the advanced tier")
}

fn is_active(found: &ResolvedDocument<DomainLens>) -> bool {
    found.document().status == Status::Active
}

/// Returns the key of a lens's index.
fn key_of(entry: &CatalogueEntry<DomainLens>) -> LensKey {
    LensKey {
        scope: entry.origin.scope.clone(),
        lens: entry.document.lens_id.clone(),
    }
}

fn scope_shown(scope: &Scope) -> PackageScope {
    match scope {
        Scope::Global => PackageScope::Global,
        Scope::Tenant(_) => PackageScope::Tenant,
    }
}
