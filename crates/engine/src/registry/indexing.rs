//! Indexes: embeds the catalogue again, and fits routing to labelled queries.

use std::sync::Arc;

use charter_contract::error_code::ErrorCode;
use charter_domain::clock::Clock;
use charter_search::Calibration;
use charter_search::eval::EvalEntry;
use charter_store::SharedStore;
use charter_store::calibration::CalibrationRecord;

use crate::catalogue::live::{
    CatalogueService, TextVectors, actions, parse_entry_id, text_hash, texts_of,
};
use crate::ground::peers::Peers;
use crate::knowledge::agent_skills::AgentSkillService;
use crate::knowledge::lenses::LensService;
use crate::knowledge::memory::MemoryService;
use crate::{Caller, EngineError};

/// The services whose texts are indexed.
pub(crate) struct IndexParts {
    pub(crate) peers: Arc<Peers>,
    pub(crate) vectors: Arc<TextVectors>,
    pub(crate) catalogue: Arc<CatalogueService>,
    pub(crate) lenses: Arc<LensService>,
    pub(crate) memories: Arc<MemoryService>,
    pub(crate) agent_skills: Arc<AgentSkillService>,
}

/// The indexes of all texts.
pub struct IndexService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    parts: IndexParts,
}

impl std::fmt::Debug for IndexService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexService").finish_non_exhaustive()
    }
}

impl IndexService {
    /// Builds the service.
    pub(crate) fn new(store: SharedStore, clock: Arc<dyn Clock>, parts: IndexParts) -> Self {
        Self {
            store,
            clock,
            parts,
        }
    }

    /// Embeds every text without a vector of the current model: of the catalogue, memories, summaries of agent skills
    /// and passages of lenses. Serves the result, and removes unused vectors. Rebuilds the index of skills on a search
    /// node. Returns how many texts were embedded.
    ///
    /// # Errors
    /// `unavailable` if the embedder or the search node fails; errors of storage.
    pub async fn reindex(&self) -> Result<usize, EngineError> {
        let texts = self.stored_texts().await?;
        let mut keep: Vec<_> = texts.iter().map(|text| text_hash(text)).collect();
        keep.sort_unstable();
        keep.dedup();
        let fresh = self.parts.vectors.embed_missing(texts).await?;
        let embedded = self.parts.vectors.store_vectors(fresh).await?
            + self.parts.lenses.embed_lenses_anew().await?;
        self.store
            .retain_vectors(&self.parts.vectors.model_name(), &keep)
            .await?;
        self.parts.catalogue.reload_catalogue().await?;
        let memories = self.parts.memories.reindex().await?;
        let skills = self.parts.agent_skills.reindex_skills().await?;
        self.parts.agent_skills.remake_skill_index().await?;
        Ok(embedded + memories + skills)
    }

    async fn stored_texts(&self) -> Result<Vec<String>, EngineError> {
        let layers = self.parts.catalogue.stored_layers().await?;
        let accepted = self.store.accepted_examples().await?.into_iter();
        let texts = layers.iter().flat_map(texts_of);
        Ok(texts.chain(accepted.map(|example| example.text)).collect())
    }

    /// Returns the entries that the caller's requests are routed over, for measuring and fitting.
    #[must_use]
    pub fn routed_entries(&self, caller: &Caller) -> Vec<EvalEntry> {
        let live = self.parts.catalogue.live();
        let view = live.view(&caller.tenant);
        let exemplified = live.exemplified(&caller.tenant);
        let layers = [
            exemplified.tenant,
            actions(&view.tenant),
            exemplified.global,
            actions(&view.global),
        ];
        let mut entries: Vec<EvalEntry> = Vec::new();
        for (id, text) in layers.into_iter().flatten() {
            let id = parse_entry_id(&id).map_or(id.clone(), |(_, id)| id.to_owned());
            if entries.iter().all(|entry| entry.id != id) {
                entries.push(EvalEntry { id, text });
            }
        }
        entries
    }

    /// Stores fitted weights and thresholds with their model, and uses them from now on.
    ///
    /// # Errors
    /// `model_mismatch` if they were fitted for another model.
    pub async fn adopt_calibration(&self, calibration: &Calibration) -> Result<(), EngineError> {
        let model = calibration
            .model
            .clone()
            .unwrap_or_else(|| "words".to_owned());
        if model != self.parts.vectors.model_name() {
            let message = format!(
                "fitted for {model}, but the model in use is {}",
                self.parts.vectors.model_name()
            );
            return Err(EngineError::new(ErrorCode::ModelMismatch, message));
        }
        let body = serde_json::to_string(&calibration.settings)
            .map_err(|error| EngineError::internal("writing a calibration", error))?;
        let record = CalibrationRecord {
            model,
            body,
            at: self.clock.now(),
        };
        self.store.put_calibration(&record).await?;
        self.parts.catalogue.reload_catalogue().await?;
        self.parts.peers.notify_routing_change().await;
        Ok(())
    }
}
