//! Embeds the catalogue again, and fits routing to labelled queries.

use charter_contract::error_code::ErrorCode;
use charter_search::Calibration;
use charter_search::eval::EvalEntry;
use charter_store::calibration::CalibrationRecord;

use crate::catalogue::live::{actions, parse_entry_id, texts_of};
use crate::{Caller, Engine, EngineError};

impl Engine {
    /// Embeds every text without a vector of the current model: of the catalogue, memories, summaries of agent skills
    /// and passages of lenses. Serves the result, and removes unused vectors. Rebuilds the index of skills on a search
    /// node. Returns how many texts were embedded.
    ///
    /// # Errors
    /// `unavailable` if the embedder or the search node fails; errors of storage.
    pub async fn reindex(&self) -> Result<usize, EngineError> {
        let texts = self.stored_texts().await?;
        let mut keep: Vec<_> = texts
            .iter()
            .map(|text| crate::catalogue::live::text_hash(text))
            .collect();
        keep.sort_unstable();
        keep.dedup();
        let fresh = self.vectors().embed_missing(texts).await?;
        let embedded =
            self.vectors().store_vectors(fresh).await? + self.lenses().embed_lenses_anew().await?;
        self.store()
            .retain_vectors(&self.vectors().model_name(), &keep)
            .await?;
        self.catalogue().reload_catalogue().await?;
        let memories = self.memories().reindex().await?;
        let skills = self.agent_skills().reindex_skills().await?;
        self.agent_skills().remake_skill_index().await?;
        Ok(embedded + memories + skills)
    }

    async fn stored_texts(&self) -> Result<Vec<String>, EngineError> {
        let layers = self.catalogue().stored_layers().await?;
        let accepted = self.store().accepted_examples().await?.into_iter();
        let texts = layers.iter().flat_map(texts_of);
        Ok(texts.chain(accepted.map(|example| example.text)).collect())
    }

    /// Returns the entries that the caller's requests are routed over, for measuring and fitting.
    #[must_use]
    pub fn routed_entries(&self, caller: &Caller) -> Vec<EvalEntry> {
        let live = self.live();
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
        if model != self.vectors().model_name() {
            let message = format!(
                "fitted for {model}, but the model in use is {}",
                self.vectors().model_name()
            );
            return Err(EngineError::new(ErrorCode::ModelMismatch, message));
        }
        let body = serde_json::to_string(&calibration.settings)
            .map_err(|error| EngineError::internal("writing a calibration", error))?;
        let record = CalibrationRecord {
            model,
            body,
            at: self.now(),
        };
        self.store().put_calibration(&record).await?;
        self.catalogue().reload_catalogue().await?;
        self.peers().notify_routing_change().await;
        Ok(())
    }
}
