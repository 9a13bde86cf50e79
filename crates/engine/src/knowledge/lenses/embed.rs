//! Vectors of passages: reused for equal texts, made for new ones.

use std::collections::{BTreeMap, HashMap};

use charter_contract::error_code::ErrorCode;
use charter_contract::json::decode_stored;
use charter_contract::scope::Scope;
use charter_store::lens::LensChunk;
use charter_store::vector::TextHash;

use super::LensService;
use super::cut::CutPassage;
use super::work::{IndexingPermit, Stage};
use crate::EngineError;
use crate::catalogue::lens_index::{CachedLensIndex, IndexMetadata, LensKey, PassageMetadata};
use crate::catalogue::live::text_hash;

/// Texts embedded by one call, after which progress is reported.
const EMBED_BATCH: usize = 64;

impl LensService {
    /// Returns vectors for every part: those of the previous index for equal texts, else new ones.
    pub(super) async fn embed_cuts(
        &self,
        cuts: Vec<CutPassage>,
        before: Option<&CachedLensIndex>,
        turn: &IndexingPermit,
    ) -> Result<(Vec<LensChunk>, usize), EngineError> {
        let mut known = match (self.vectors.embedder(), before) {
            (Some(_), Some(before)) => self.known_vectors(&turn.key().scope, before).await?,
            (Some(_) | None, None) | (None, Some(_)) => HashMap::new(),
        };
        let mut embedded = 0;
        if let Some(embedder) = self.vectors.embedder() {
            let mut missing: BTreeMap<TextHash, &str> = BTreeMap::new();
            let mut all = 0;
            for text in cuts.iter().flat_map(CutPassage::parts) {
                let hash = text_hash(text);
                all += 1;
                if !known.contains_key(&hash) {
                    missing.insert(hash, text);
                }
            }
            let missing: Vec<(TextHash, &str)> = missing.into_iter().collect();
            for batch in missing.chunks(EMBED_BATCH) {
                turn.reached(Stage::Embedding {
                    done: all - missing.len() + embedded,
                    of: all,
                });
                if self.shutdown.is_cancelled() {
                    let message = "indexing was interrupted";
                    return Err(EngineError::new(ErrorCode::Unavailable, message));
                }
                let texts = batch.iter().map(|(_, text)| (*text).to_owned()).collect();
                let vectors = embedder.embed(texts).await.map_err(|error| {
                    let message = "the lens's passages could not be embedded";
                    EngineError::new(ErrorCode::Unavailable, message).caused_by(error)
                })?;
                let made = batch.iter().zip(vectors);
                known.extend(made.map(|((hash, _), vector)| (*hash, vector.to_bytes())));
                embedded += batch.len();
            }
        }
        let chunks = cuts.into_iter().map(|cut| {
            let vectors = cut.parts().filter_map(|text| known.get(&text_hash(text)));
            let vectors = vectors.cloned().collect();
            let place = serde_json::to_string(&cut.place)
                .map_err(|error| EngineError::internal("writing a passage's place", error))?;
            Ok(LensChunk {
                text: cut.text,
                place,
                vectors,
            })
        });
        Ok((chunks.collect::<Result<_, EngineError>>()?, embedded))
    }

    /// Embeds the passages of every index that another model made, without fetching or cutting. Returns how many texts
    /// were embedded.
    pub(crate) async fn embed_lenses_anew(&self) -> Result<usize, EngineError> {
        let mut all = 0;
        for record in self.store.lens_indexes().await? {
            let read = |error| EngineError::internal("reading the index of a lens", error);
            let indexed: IndexMetadata = decode_stored(&record.body).map_err(read)?;
            let key = LensKey {
                scope: record.scope.clone(),
                lens: record.lens_id.clone(),
            };
            let model = self.vector_model();
            if indexed.model == model {
                continue;
            }
            let Some(turn) = self.lens_work.take(&key) else {
                continue;
            };
            let stored = self.store.lens_texts(&record.scope, record.generation);
            let cuts = stored.await?.into_iter().map(|stored| {
                let place = decode_stored(&stored.place).map_err(read)?;
                let text = stored.text;
                Ok(CutPassage { text, place })
            });
            let cuts = cuts.collect::<Result<Vec<_>, EngineError>>()?;
            let (chunks, embedded) = self.embed_cuts(cuts, None, &turn).await?;
            let index = IndexMetadata { model, ..indexed }.stored(record.lens_id, chunks)?;
            self.store
                .replace_lens_index(&record.scope, index, Some(record.generation))
                .await?;
            all += embedded;
        }
        Ok(all)
    }

    /// Returns the vectors of an index by their text.
    async fn known_vectors(
        &self,
        scope: &Scope,
        before: &CachedLensIndex,
    ) -> Result<HashMap<TextHash, Vec<u8>>, EngineError> {
        let mut known = HashMap::new();
        let chunks = self.store.lens_chunks(scope, before.generation);
        for chunk in chunks.await? {
            let place: PassageMetadata = decode_stored(&chunk.place)
                .map_err(|error| EngineError::internal("reading a passage's place", error))?;
            for ((start, end), vector) in place.parts.iter().zip(chunk.vectors) {
                if let Some(text) = chunk.text.get(*start..*end) {
                    known.insert(text_hash(text), vector);
                }
            }
        }
        Ok(known)
    }
}
