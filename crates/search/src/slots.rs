//! An index whose entries are changed individually in place: words and vectors of short texts by slot.
//!
//! For collections that grow to a hundred thousand entries and are searched through a narrow filter (the skills of the
//! link graph, a tenant's memories): a write changes one slot, and a search reads exactly the visible slots, so
//! invisible entries are neither scored nor counted. Ranks as [`search`](crate::search) does. Must not know ids, grants
//! or the owner of a layer.

use fixedbitset::FixedBitSet;

use crate::dense::DenseRows;
use crate::embed::{EmbeddingModel, Vector, VectorError};
use crate::lexical::{Analyser, ForwardIndex, ForwardQuery, ForwardScores};
use crate::query::{EmbeddedQuery, QueryError};
use crate::rank::{MAX_TOP_K, Range};
use crate::relevance::relevance;
use crate::select::best_of;
use crate::settings::{RouteSettings, ScoreFeatures};

/// The cosine of unrelated texts.
const UNRELATED: f32 = 0.0;

/// The words and vectors of one layer.
pub struct SlotIndex {
    model: Option<EmbeddingModel>,
    rows: DenseRows,
    words: ForwardIndex,
    analyser: Analyser,
}

impl std::fmt::Debug for SlotIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SlotIndex")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl SlotIndex {
    /// Creates an empty index of vectors of one model; `None` for words alone.
    #[must_use]
    pub fn new(model: Option<EmbeddingModel>) -> Self {
        SlotIndex {
            rows: DenseRows::new(model.as_ref().map_or(0, |model| model.dims), 0),
            model,
            words: ForwardIndex::default(),
            analyser: Analyser::new(),
        }
    }

    /// Writes a slot. Without a vector it is found by its words.
    ///
    /// # Errors
    /// [`VectorError::Dims`] if the vector's dimensions are not the model's; nothing is written.
    pub fn upsert(
        &mut self,
        slot: usize,
        text: &str,
        vector: Option<&Vector>,
    ) -> Result<(), VectorError> {
        self.rows.set(slot, vector)?;
        self.words.set(slot, text, &self.analyser);
        Ok(())
    }

    /// Empties a slot.
    pub fn clear(&mut self, slot: usize) {
        self.words.set(slot, "", &self.analyser);
    }

    /// Returns the cosine of two slots; `None` if one has no vector.
    #[must_use]
    pub fn cosine(&self, one: usize, other: usize) -> Option<f32> {
        self.rows.cosine(one, other)
    }

    /// Bytes held on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.rows.heap_bytes() + self.words.heap_bytes()
    }
}

/// A layer of one search.
#[derive(Debug, Clone, Copy)]
pub struct SlotLayer<'a> {
    /// Words and vectors.
    pub index: &'a SlotIndex,
    /// The slots that may be scored and counted.
    pub visible: &'a FixedBitSet,
}

/// One hit, with the values that explain its rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlotHit {
    /// The number of the layer.
    pub layer: usize,
    /// The slot within it.
    pub slot: usize,
    /// Probability that it is right, 0 to 1.
    pub score: f32,
    /// Probability that it is related to the query, 0 to 1; depends only on the two.
    pub relevance: f32,
    /// Ranking value, 0 to 1 within this query.
    pub fused: f32,
    /// Words in common, weighted.
    pub lexical: f32,
    /// Cosine with the query; `None` if only words were compared.
    pub cosine: Option<f32>,
}

/// Returns the best `top_k` visible slots, best first; equal ones in order of layer and slot. Without vectors on either
/// side only words count, and slots without a common word are not hits.
///
/// # Errors
/// [`QueryError::NoCandidates`] if `top_k` is 0, [`QueryError::Model`] if the query and an index
/// have vectors of different models.
pub fn discover(
    layers: &[SlotLayer<'_>],
    query: &EmbeddedQuery,
    settings: &RouteSettings,
    top_k: usize,
) -> Result<Vec<SlotHit>, QueryError> {
    if top_k == 0 {
        return Err(QueryError::NoCandidates);
    }
    let models = layers.iter().filter_map(|layer| layer.index.model.as_ref());
    query.check_models(models)?;
    let visible: Vec<Vec<u32>> = layers
        .iter()
        .map(|layer| {
            layer
                .visible
                .ones()
                .filter_map(|slot| u32::try_from(slot).ok())
        })
        .map(Iterator::collect)
        .collect();
    let indexes: Vec<(&ForwardIndex, &[u32])> = layers
        .iter()
        .zip(&visible)
        .map(|(layer, visible)| (&layer.index.words, visible.as_slice()))
        .collect();
    let terms = ForwardQuery::new(&query.terms);
    let words = ForwardScores::compute(&indexes, &terms);
    let cosines = cosines(layers, &visible, query, settings.fusion.sentence_weight);
    let meaning = cosines.as_deref();
    let meaning = meaning.map(|cosines| (cosines, Range::of_all(cosines)));
    let fused = fuse(&words, meaning, query, settings);
    let scored = Scored {
        indexes: &indexes,
        terms: &terms,
        words: &words,
        cosines: cosines.as_deref(),
        fused: &fused,
    };
    Ok(scored.best(settings, top_k.min(MAX_TOP_K)))
}

/// Ranks the slots that an external index found nearest, with its cosines, as [`discover`] does: words count over these
/// slots alone. The other slots are assumed to have cosines down to 0, so that a score does not depend on the number of
/// requested slots.
#[must_use]
pub fn rank_nearest(
    layers: &[(&SlotIndex, Vec<(usize, f32)>)],
    query: &EmbeddedQuery,
    settings: &RouteSettings,
    top_k: usize,
) -> Vec<SlotHit> {
    let mut visible: Vec<Vec<u32>> = Vec::with_capacity(layers.len());
    let mut cosines = Vec::new();
    for (_, near) in layers {
        let slots = near.iter();
        let mut near: Vec<(u32, f32)> = slots
            .filter_map(|(slot, cosine)| Some((u32::try_from(*slot).ok()?, *cosine)))
            .collect();
        near.sort_unstable_by_key(|(slot, _)| *slot);
        visible.push(near.iter().map(|(slot, _)| *slot).collect());
        cosines.extend(near.into_iter().map(|(_, cosine)| cosine));
    }
    let indexes: Vec<(&ForwardIndex, &[u32])> = layers
        .iter()
        .zip(&visible)
        .map(|((index, _), visible)| (&index.words, visible.as_slice()))
        .collect();
    let terms = ForwardQuery::new(&query.terms);
    let words = ForwardScores::compute(&indexes, &terms);
    let range = Range::of_all(&cosines).down_to(UNRELATED);
    let fused = fuse(&words, Some((&cosines, range)), query, settings);
    let scored = Scored {
        indexes: &indexes,
        terms: &terms,
        words: &words,
        cosines: Some(&cosines),
        fused: &fused,
    };
    scored.best(settings, top_k.min(MAX_TOP_K))
}

/// Returns cosines of the visible slots of all layers, in sequence; `None` without vectors.
fn cosines(
    layers: &[SlotLayer<'_>],
    visible: &[Vec<u32>],
    query: &EmbeddedQuery,
    sentence_weight: f32,
) -> Option<Vec<f32>> {
    let texts = query.dense.as_ref()?;
    if layers.iter().all(|layer| layer.index.model.is_none()) {
        return None;
    }
    let scan = |(layer, visible): (&SlotLayer<'_>, &Vec<u32>)| {
        let rows = &layer.index.rows;
        rows.scan_chosen(visible, &texts.whole, &texts.sentences, sentence_weight)
    };
    Some(layers.iter().zip(visible).flat_map(scan).collect())
}

/// Returns the convex sum of both sides, each normalised to 0..1 over the visible slots; without words in the query
/// only the cosine's position, without vectors only that of the words.
fn fuse(
    words: &ForwardScores,
    meaning: Option<(&[f32], Range)>,
    query: &EmbeddedQuery,
    settings: &RouteSettings,
) -> Vec<f32> {
    let by_words = Range::of_all(&words.scores);
    let Some((cosines, by_meaning)) = meaning else {
        return words
            .scores
            .iter()
            .map(|score| by_words.place(*score))
            .collect();
    };
    let share = match query.terms.terms() {
        [] => 0.0,
        [_, ..] => settings.fusion.lexical_share(by_words.most(), 0.0),
    };
    let pairs = words.scores.iter().zip(cosines);
    let fused = pairs.map(|(score, cosine)| {
        share * by_words.place(*score) + (1.0 - share) * by_meaning.place(*cosine)
    });
    fused.collect()
}

/// All parts of the score of every visible slot, with all layers in sequence.
struct Scored<'s> {
    /// The words of each layer, and its visible slots.
    indexes: &'s [(&'s ForwardIndex, &'s [u32])],
    terms: &'s ForwardQuery,
    words: &'s ForwardScores,
    cosines: Option<&'s [f32]>,
    fused: &'s [f32],
}

impl Scored<'_> {
    fn best(&self, settings: &RouteSettings, top_k: usize) -> Vec<SlotHit> {
        let is_hit = |at: &usize| self.cosines.is_some() || self.words.scores[*at] > 0.0;
        let hits = || (0..self.fused.len()).filter(is_hit);
        let found = best_of(hits, |at| self.fused[at], top_k);
        let Some(first) = found.first().copied() else {
            return Vec::new();
        };
        let features = ScoreFeatures {
            cosine: self.cosines.map_or(0.0, |cosines| cosines[first]),
            coverage: self.words.scores[first] * self.words.share,
        };
        let model = match self.cosines {
            Some(_) => &settings.score,
            None => &settings.words_only_score,
        };
        let hit = |at: usize| {
            let (layer, slot) = self.place(at)?;
            let (index, _) = self.indexes.get(layer)?;
            let cosine = self.cosines.map(|cosines| cosines[at]);
            Some(SlotHit {
                layer,
                slot: slot as usize,
                score: model.score(&features, self.fused[first] - self.fused[at]),
                relevance: relevance(cosine, index.share(slot, self.terms)),
                fused: self.fused[at],
                lexical: self.words.scores[at],
                cosine,
            })
        };
        found.into_iter().filter_map(hit).collect()
    }

    /// Returns layer and slot of a position.
    fn place(&self, mut at: usize) -> Option<(usize, u32)> {
        for (layer, (_, visible)) in self.indexes.iter().enumerate() {
            match visible.get(at) {
                Some(slot) => return Some((layer, *slot)),
                None => at -= visible.len(),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::Quantisation;
    use crate::query::RouteQuery;

    fn model() -> EmbeddingModel {
        EmbeddingModel {
            name: "m".to_owned(),
            dims: 4,
            quantisation: Quantisation::F32,
        }
    }

    fn vector(components: [f32; 4]) -> Vector {
        Vector::new(components.to_vec()).unwrap()
    }

    fn bits(slots: &[usize]) -> FixedBitSet {
        slots.iter().copied().collect()
    }

    fn slots(hits: &[SlotHit]) -> Vec<(usize, usize)> {
        hits.iter().map(|hit| (hit.layer, hit.slot)).collect()
    }

    fn words(text: &str) -> EmbeddedQuery {
        RouteQuery::parse(text).unwrap().lexical_only()
    }

    #[test]
    fn b001_6_what_is_invisible_changes_nothing() {
        let settings = RouteSettings::default();
        let (mut wide, mut narrow) = (SlotIndex::new(None), SlotIndex::new(None));
        wide.upsert(0, "rotate keys of buckets", None).unwrap();
        wide.upsert(1, "list buckets", None).unwrap();
        wide.upsert(2, "delete old keys", None).unwrap();
        narrow.upsert(0, "list buckets", None).unwrap();
        narrow.upsert(1, "delete old keys", None).unwrap();
        let query = words("list the keys of buckets");
        let found = |index: &SlotIndex, visible: &[usize]| {
            let visible = bits(visible);
            let layer = SlotLayer {
                index,
                visible: &visible,
            };
            let hits = discover(&[layer], &query, &settings, 9).unwrap();
            hits.iter()
                .map(|hit| (hit.score, hit.fused))
                .collect::<Vec<_>>()
        };
        assert_eq!(found(&wide, &[1, 2]), found(&narrow, &[0, 1]));
        assert_ne!(found(&wide, &[0, 1, 2]).len(), 2);
        assert_eq!(found(&wide, &[]), []);
    }

    #[test]
    fn a_slot_is_what_was_last_written() {
        let settings = RouteSettings::default();
        let mut index = SlotIndex::new(Some(model()));
        index
            .upsert(5, "first", Some(&vector([1.0, 0.0, 0.0, 0.0])))
            .unwrap();
        index
            .upsert(2, "second", Some(&vector([0.0, 1.0, 0.0, 0.0])))
            .unwrap();
        index
            .upsert(5, "third", Some(&vector([0.0, 0.0, 1.0, 0.0])))
            .unwrap();
        let visible = bits(&[2, 5]);
        let layer = SlotLayer {
            index: &index,
            visible: &visible,
        };
        let query = vector([0.0, 0.3, 1.0, 0.0]);
        let query = EmbeddedQuery::of_vector(&model(), &query).unwrap();
        let hits = discover(&[layer], &query, &settings, 9).unwrap();
        assert_eq!(slots(&hits), [(0, 5), (0, 2)]);
        assert!(hits[0].cosine > Some(0.9) && hits[0].score > hits[1].score);
        for (text, expected) in [("first", vec![]), ("third", vec![(0, 5)])] {
            let hits = discover(&[layer], &words(text), &settings, 9).unwrap();
            assert_eq!(slots(&hits), expected, "{text}");
        }
        assert_eq!(
            index.upsert(2, "x", Some(&Vector::new(vec![1.0]).unwrap())),
            Err(VectorError::Dims {
                expected: 4,
                found: 1
            })
        );
    }

    /// Results of an external index are ranked like those of this one.
    #[test]
    fn slots_found_elsewhere_rank_as_those_found_here() {
        let settings = RouteSettings::default();
        let (mut here, mut elsewhere) = (SlotIndex::new(Some(model())), SlotIndex::new(None));
        let texts = ["rotate keys of buckets", "list buckets", "delete old keys"];
        let vectors = [
            [1.0, 0.1, 0.0, 0.0],
            [0.6, 0.8, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
        ];
        for (slot, (text, components)) in texts.into_iter().zip(vectors).enumerate() {
            here.upsert(slot, text, Some(&vector(components))).unwrap();
            elsewhere.upsert(slot, text, None).unwrap();
        }
        let visible = bits(&[0, 1, 2]);
        let layer = SlotLayer {
            index: &here,
            visible: &visible,
        };
        let asked = vector([0.7, 0.7, 0.0, 0.0]);
        let query = RouteQuery::parse("list the keys").unwrap();
        let query = query
            .embedded(&model(), std::slice::from_ref(&asked))
            .unwrap();
        let exact = discover(&[layer], &query, &settings, 9).unwrap();
        let near: Vec<(usize, f32)> = exact
            .iter()
            .rev()
            .map(|hit| (hit.slot, hit.cosine.unwrap()))
            .collect();
        let ranked = rank_nearest(&[(&elsewhere, near)], &query, &settings, 9);
        assert_eq!(ranked, exact);
        assert_eq!(query.vector(), Some(&asked));
        assert_eq!(rank_nearest(&[], &query, &settings, 9), []);
    }

    /// The score also does not depend on the number of requested slots.
    #[test]
    fn a_score_is_the_same_whatever_else_was_found_elsewhere() {
        let settings = RouteSettings::default();
        let mut index = SlotIndex::new(None);
        for (slot, text) in ["rotate keys", "rotate buckets", "list keys", "list buckets"]
            .into_iter()
            .enumerate()
        {
            index.upsert(slot, text, None).unwrap();
        }
        let query = EmbeddedQuery::of_vector(&model(), &vector([1.0, 0.0, 0.0, 0.0])).unwrap();
        assert!(!query.has_words());
        let near = [(0, 0.9), (1, 0.8), (2, 0.7), (3, 0.1)];
        let ranked = |most: usize| {
            let near = near[..most].to_vec();
            rank_nearest(&[(&index, near)], &query, &settings, 9)
        };
        let all = ranked(4);
        assert_eq!(slots(&all), [(0, 0), (0, 1), (0, 2), (0, 3)]);
        for most in 1..4 {
            assert_eq!(ranked(most), all[..most], "of {most}");
        }
    }

    /// The relevance of a memory that is the only result, or the best of poor ones, equals its relevance among many
    /// better ones.
    #[test]
    fn relevance_is_of_a_slot_and_its_query_alone() {
        let settings = RouteSettings::default();
        let mut index = SlotIndex::new(Some(model()));
        let texts = [
            ("the pager is with ann", [0.8, 0.6, 0.0, 0.0]),
            ("rotate the pager weekly", [0.6, 0.8, 0.0, 0.0]),
            ("bread and butter", [0.05, 0.1, 1.0, 0.0]),
        ];
        for (slot, (text, components)) in texts.into_iter().enumerate() {
            index.upsert(slot, text, Some(&vector(components))).unwrap();
        }
        let asked = vector([1.0, 0.0, 0.0, 0.0]);
        let query = RouteQuery::parse("who has the pager of ann").unwrap();
        let query = query.embedded(&model(), &[asked]).unwrap();
        let found = |visible: &[usize]| {
            let visible = bits(visible);
            let layer = SlotLayer {
                index: &index,
                visible: &visible,
            };
            discover(&[layer], &query, &settings, 9).unwrap()
        };
        let all = found(&[0, 1, 2]);
        assert_eq!(slots(&all), [(0, 0), (0, 1), (0, 2)]);
        let relevance: Vec<f32> = all.iter().map(|hit| hit.relevance).collect();
        assert!(relevance[0] > 0.8, "{relevance:?}");
        assert!(relevance[2] < 0.05, "{relevance:?}");
        for (slot, relevance) in relevance.into_iter().enumerate() {
            let alone = found(&[slot]);
            assert_eq!(alone[0].relevance.to_bits(), relevance.to_bits());
        }
    }

    #[test]
    fn layers_are_ranked_together() {
        let settings = RouteSettings::default();
        let (mut own, mut global) = (SlotIndex::new(None), SlotIndex::new(None));
        own.upsert(3, "stale backups", None).unwrap();
        global
            .upsert(1, "list stale backups of a vault", None)
            .unwrap();
        global.upsert(7, "nothing of the kind", None).unwrap();
        let (a, b) = (bits(&[3]), bits(&[1, 7]));
        let layers = [(&own, &a), (&global, &b)];
        let layers = layers.map(|(index, visible)| SlotLayer { index, visible });
        let hits = discover(&layers, &words("stale backups"), &settings, 9).unwrap();
        assert_eq!(slots(&hits), [(0, 3), (1, 1)]);
        let hits = discover(&layers, &words("stale backups"), &settings, 1).unwrap();
        assert_eq!(slots(&hits), [(0, 3)]);
        let refused = discover(&layers, &words("x"), &settings, 0);
        assert_eq!(refused, Err(QueryError::NoCandidates));
    }
}
