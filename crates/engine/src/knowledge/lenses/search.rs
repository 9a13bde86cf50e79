//! Searches lenses: words and vectors of passages, over all visible lenses together.
//!
//! If storage compares vectors, it holds them and the texts, and this process only the words. It asks storage for the
//! nearest passages, and for the similarity of those that words find, and ranks both.

use std::collections::BTreeMap;
use std::sync::Arc;

use charter_contract::catalogue::DocumentKind;
use charter_contract::catalogue::lens::DomainLens;
use charter_contract::error_code::ErrorCode;
use charter_contract::violation::Report;
use charter_domain::catalogue::ResolvedDocument;
use charter_search::{
    EmbeddedQuery, Fusion, PassageHit, PassageIndex, PassagePosition, RouteSettings, WordScores,
    mixed_cosine, search_passages,
};
use charter_store::StoreError;
use charter_store::lens::{LensGeneration, NearestPassages, PassageKey};

use super::LensService;
use super::{LensFilter, LensSearchResult, PassageView, is_active, key_of, may_read, scope_shown};
use crate::catalogue::documents::unseen_active;
use crate::catalogue::lens_index::{CachedLensIndex, Chunk, PassageStorage};
use crate::{Caller, EngineError};

/// Default number of passages of an answer.
const PASSAGES: usize = 5;
/// Maximum passages of an answer.
pub const MAX_PASSAGES: usize = 50;
/// How many parts of passages storage finds, and how many passages found by words it compares.
const COMPARED: usize = 200;

/// The lenses of one question, with their indexes.
type Searched = Vec<(ResolvedDocument<DomainLens>, Arc<CachedLensIndex>)>;

/// A hit with its text.
type Hit = (PassageHit, Chunk);

impl LensService {
    /// Returns the passages nearest to a question, over every active visible lens that matches the filter.
    ///
    /// # Errors
    /// `permission_denied` on the basic tier; `invalid_request` for an empty question or for none or too many passages;
    /// `not_found` for a named lens that does not exist; `unavailable` for one that has no index yet.
    pub async fn ask_lenses(
        &self,
        caller: &Caller,
        question: &str,
        filter: &LensFilter,
    ) -> Result<LensSearchResult, EngineError> {
        may_read(caller)?;
        let top_k = filter.top_k.unwrap_or(PASSAGES);
        must_make_sense(question, top_k)?;
        let query = Arc::new(self.vectors.embedded(question).await?);
        let mut searched = self.searched(caller, filter)?;
        let mut found = self.find_passages(caller, &searched, &query, top_k).await?;
        if found.is_none() {
            // Another process has replaced an index, and this one has not received the notification yet.
            self.catalogue.reload_catalogue().await?;
            searched = self.searched(caller, filter)?;
            found = self.find_passages(caller, &searched, &query, top_k).await?;
        }
        let hits = found.ok_or_else(|| {
            let message = "the indexes of lenses are being replaced";
            EngineError::new(ErrorCode::Unavailable, message)
        })?;
        let passages = hits.into_iter().filter_map(|hit| shown(hit, &searched));
        Ok(LensSearchResult {
            query: question.to_owned(),
            extractive: true,
            model: query.model().map(ToString::to_string),
            lenses: searched
                .iter()
                .map(|(found, _)| found.document().lens_id.clone())
                .collect(),
            passages: passages.collect(),
        })
    }

    /// Returns active lenses with an index that match the filter, by id.
    fn searched(&self, caller: &Caller, filter: &LensFilter) -> Result<Searched, EngineError> {
        let live = self.catalogue.live();
        let view = live.view(&caller.tenant);
        let on_shelf = |found: &ResolvedDocument<DomainLens>| live.lenses.of(&key_of(&found.entry));
        for id in &filter.lens_ids {
            let found = view.lens(id.as_ref()).filter(is_active);
            let found =
                found.ok_or_else(|| unseen_active(&view, DocumentKind::DomainLens, id.as_ref()))?;
            if on_shelf(&found).is_none() {
                let message = format!("`{id}` has no index yet: run `charter lens reindex {id}`");
                return Err(EngineError::new(ErrorCode::Unavailable, message));
            }
        }
        let wanted = view.lenses().filter(is_active).filter(|found| {
            let lens = found.document();
            (filter.lens_ids.is_empty() || filter.lens_ids.contains(&lens.lens_id))
                && filter
                    .domain
                    .as_ref()
                    .is_none_or(|domain| lens.domain == *domain)
                && filter.tags.iter().all(|tag| lens.tags.contains(tag))
        });
        Ok(wanted
            .filter_map(|found| {
                let shelved = on_shelf(&found)?;
                Some((found, shelved))
            })
            .collect())
    }

    /// Returns the best passages with their texts; `None` if storage has another index than this process.
    async fn find_passages(
        &self,
        caller: &Caller,
        searched: &Searched,
        query: &Arc<EmbeddedQuery>,
        top_k: usize,
    ) -> Result<Option<Vec<Hit>>, EngineError> {
        let stored = searched
            .iter()
            .any(|(_, shelved)| matches!(shelved.passages.held, PassageStorage::InStorage));
        if !stored {
            return find_here(searched, query, top_k).await.map(Some);
        }
        match self.find_in_storage(caller, searched, query, top_k).await {
            Ok(found) => Ok(Some(found)),
            Err(SearchMiss::Replaced) => Ok(None),
            Err(SearchMiss::Failed(error)) => Err(error),
        }
    }

    async fn find_in_storage(
        &self,
        caller: &Caller,
        searched: &Searched,
        query: &Arc<EmbeddedQuery>,
        top_k: usize,
    ) -> Result<Vec<Hit>, SearchMiss> {
        let fusion = RouteSettings::default().fusion;
        let (words, by_words) = {
            let (indexes, query) = (indexes(searched), Arc::clone(query));
            let scoring = move || {
                let words = WordScores::score(&indexes, &query, &fusion);
                let best = words.best(COMPARED);
                (words, best)
            };
            let scored = tokio::task::spawn_blocking(scoring).await;
            scored.map_err(|error| EngineError::internal("searching lenses", error))?
        };
        let compared = self
            .compare_passages(caller, searched, query, &by_words, &fusion)
            .await?;
        let hits = words.rank(&compared, &fusion, top_k);
        let hits = hits.map_err(|error| SearchMiss::Failed(error.into()))?;
        let keys: Vec<PassageKey> = hits
            .iter()
            .filter_map(|hit| key(searched, hit.place))
            .collect();
        let texts = self.store.passages(&caller.tenant, &keys).await?;
        let chunks = texts
            .into_iter()
            .map(|text| Chunk::from_stored(text.text, &text.place));
        let chunks = chunks.collect::<Result<Vec<_>, EngineError>>()?;
        Ok(hits.into_iter().zip(chunks).collect())
    }

    /// Returns the similarity of the nearest passages, and of those found by words; `None` if there is nothing to
    /// compare.
    async fn compare_passages(
        &self,
        caller: &Caller,
        searched: &Searched,
        query: &EmbeddedQuery,
        by_words: &[PassagePosition],
        fusion: &Fusion,
    ) -> Result<BTreeMap<PassagePosition, Option<f32>>, SearchMiss> {
        let comparable = searched
            .iter()
            .enumerate()
            .filter(|(_, (_, shelved))| shelved.passages.is_comparable_with(query.model()));
        let numbers: BTreeMap<LensGeneration, usize> = comparable
            .map(|(number, (_, shelved))| (shelved.generation, number))
            .collect();
        if numbers.is_empty() {
            return Ok(by_words.iter().map(|place| (*place, None)).collect());
        }
        let indexes: Vec<LensGeneration> = numbers.keys().copied().collect();
        let vectors: Vec<&[f32]> = query.vectors().iter().map(|v| v.as_slice()).collect();
        let also: Vec<PassageKey> = by_words
            .iter()
            .filter_map(|place| key(searched, *place))
            .collect();
        let asked = NearestPassages {
            indexes: &indexes,
            vectors: &vectors,
            most: COMPARED,
            also: &also,
        };
        let parts = self.store.nearest_passages(&caller.tenant, &asked).await?;
        // A passage of another model's index, or without a vector, has the lowest similarity.
        let mut compared: BTreeMap<PassagePosition, Option<f32>> =
            by_words.iter().map(|place| (*place, Some(0.0))).collect();
        for part in parts {
            let Some(index) = numbers.get(&part.passage.generation).copied() else {
                continue;
            };
            let place = PassagePosition {
                index,
                passage: part.passage.ordinal,
            };
            let cosine = mixed_cosine(&part.cosines, fusion);
            let best = compared.entry(place).or_insert(Some(cosine));
            *best = best.map(|best| best.max(cosine));
        }
        Ok(compared)
    }
}

/// Why storage did not find passages.
enum SearchMiss {
    /// An index no longer exists.
    Replaced,
    Failed(EngineError),
}

impl From<StoreError> for SearchMiss {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { .. } => Self::Replaced,
            other => Self::Failed(other.into()),
        }
    }
}

impl From<EngineError> for SearchMiss {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

fn indexes(searched: &Searched) -> Vec<Arc<PassageIndex>> {
    let indexes = searched.iter();
    indexes
        .map(|(_, shelved)| Arc::clone(&shelved.passages.index))
        .collect()
}

fn key(searched: &Searched, place: PassagePosition) -> Option<PassageKey> {
    let (_, shelved) = searched.get(place.index)?;
    Some(PassageKey {
        generation: shelved.generation,
        ordinal: place.passage,
    })
}

/// Refuses an invalid question, with every violation.
fn must_make_sense(question: &str, top_k: usize) -> Result<(), EngineError> {
    let mut report = Report::new();
    if question.trim().is_empty() {
        report.meaning("/query", "empty", "it is empty".to_owned());
    }
    if !(1..=MAX_PASSAGES).contains(&top_k) {
        let message = format!("{top_k} is not from 1 to {MAX_PASSAGES}");
        report.meaning("/top_k", "range", message);
    }
    EngineError::must_be_none("the question", &report.violations)
}

/// Returns the best passages, if this process has vectors and texts.
async fn find_here(
    searched: &Searched,
    query: &Arc<EmbeddedQuery>,
    top_k: usize,
) -> Result<Vec<Hit>, EngineError> {
    let (indexes, query) = (indexes(searched), Arc::clone(query));
    let fusion = RouteSettings::default().fusion;
    let finding =
        tokio::task::spawn_blocking(move || search_passages(&indexes, &query, &fusion, top_k));
    let hits = finding
        .await
        .map_err(|error| EngineError::internal("searching lenses", error))?
        .map_err(EngineError::from)?;
    let with_text = |hit: PassageHit| match &searched.get(hit.place.index)?.1.passages.held {
        PassageStorage::Here(chunks) => Some((hit, chunks.get(hit.place.passage)?.clone())),
        PassageStorage::InStorage => None,
    };
    Ok(hits.into_iter().filter_map(with_text).collect())
}

fn shown((hit, chunk): Hit, searched: &Searched) -> Option<PassageView> {
    let (found, shelved) = searched.get(hit.place.index)?;
    let lens = found.document();
    Some(PassageView {
        lens_id: lens.lens_id.clone(),
        title: lens.title.to_string(),
        domain: lens.domain.clone(),
        scope: scope_shown(&found.entry.origin.scope),
        text: chunk.text,
        position: chunk.position,
        source: shelved.indexed.source.clone(),
        content_hash: shelved.indexed.content_hash.clone(),
        score: hit.score,
        fused: hit.fused,
        lexical: hit.lexical,
        cosine: hit.cosine,
    })
}
