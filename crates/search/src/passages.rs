//! The immutable index of one text's passages, and the search over several: words and vectors,
//! fused as routing fuses them.
//!
//! A passage has several vectors, one for each part that the model could read at once; the best of
//! them counts. Must not know what the texts are, or who may see them: who may not is not given
//! their index, so that nothing of it is scored, counted or part of any normalisation.

use std::sync::Arc;

use crate::dense::DenseRows;
use crate::embed::{EmbeddingModel, Vector, VectorError};
use crate::lexical::{self, LexicalBuilder, LexicalIndex, SearchedLayer};
use crate::query::{EmbeddedQuery, QueryError};
use crate::rank::{Range, fuse};
use crate::settings::Fusion;

/// Weight of the words of the headings that a passage stands under.
const HEADING_WEIGHT: f32 = 1.5;
/// A passage without a word of the query needs at least this cosine to be a hit.
const MIN_COSINE: f32 = 0.25;

/// A passage to index.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// What it stands under.
    pub headings: String,
    /// Its text.
    pub text: String,
    /// Vectors of its parts; none where there is no embedder.
    pub vectors: Vec<Vector>,
}

/// The passages of one text, numbered from 0.
#[derive(Debug)]
pub struct PassageIndex {
    lexical: LexicalIndex,
    /// A row for each vector.
    dense: DenseRows,
    /// Rows of passage `n` are `rows[n]..rows[n + 1]`.
    rows: Vec<usize>,
    model: Option<EmbeddingModel>,
}

/// A passage that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassageHit {
    /// Which of the indexes searched.
    pub index: usize,
    /// Which passage of it.
    pub passage: usize,
    /// What it is ranked by, 0 to 1 within this search.
    pub score: f32,
    /// BM25 with the proximity bonus.
    pub lexical: f32,
    /// Cosine of its best part; `None` where only words were compared.
    pub cosine: Option<f32>,
}

impl PassageIndex {
    /// Builds the index. `model` is what made the vectors.
    ///
    /// # Errors
    /// [`VectorError`] for a vector of other dims than the model's.
    pub fn build<'p>(
        passages: impl IntoIterator<Item = &'p Passage>,
        model: Option<EmbeddingModel>,
    ) -> Result<Self, VectorError> {
        let mut words = LexicalBuilder::new(vec![HEADING_WEIGHT, 1.0]);
        let mut dense = DenseRows::new(model.as_ref().map_or(0, |model| model.dims), 0);
        let mut rows = vec![0];
        let mut count = 0;
        for passage in passages {
            words.add([(0, passage.headings.as_str()), (1, passage.text.as_str())]);
            if model.is_some() {
                for vector in &passage.vectors {
                    dense.push(Some(vector))?;
                    count += 1;
                }
            }
            rows.push(count);
        }
        Ok(Self {
            lexical: words.finish(),
            dense,
            rows,
            model,
        })
    }

    /// How many passages it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len() - 1
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held on the heap, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.lexical.heap_bytes() + self.dense.heap_bytes() + self.rows.len() * size_of::<usize>()
    }

    /// The best cosine of each passage; 0 where it has no vector.
    fn cosines(&self, query: &EmbeddedQuery, fusion: &Fusion) -> Vec<f32> {
        let Some(texts) = &query.dense else {
            return vec![0.0; self.len()];
        };
        if self.model.as_ref() != Some(&texts.model) {
            return vec![0.0; self.len()];
        }
        let visible = vec![true; self.rows.last().copied().unwrap_or(0)];
        let cosines = self.dense.scan(
            &visible,
            &texts.whole,
            &texts.sentences,
            fusion.sentence_weight,
        );
        let best = |pair: &[usize]| cosines[pair[0]..pair[1]].iter().copied().reduce(f32::max);
        self.rows
            .windows(2)
            .map(|pair| best(pair).unwrap_or(0.0))
            .collect()
    }
}

/// The best `top_k` passages of all indexes together, best first; equal ones in order of index and
/// place.
///
/// Vectors count where the query and at least one index have some of the same model; an index
/// without is then found by its words.
///
/// # Errors
/// [`QueryError::NoCandidates`] if `top_k` is 0.
pub fn search_passages(
    indexes: &[Arc<PassageIndex>],
    query: &EmbeddedQuery,
    fusion: &Fusion,
    top_k: usize,
) -> Result<Vec<PassageHit>, QueryError> {
    if top_k == 0 {
        return Err(QueryError::NoCandidates);
    }
    let visible: Vec<Vec<bool>> = indexes
        .iter()
        .map(|index| vec![true; index.len()])
        .collect();
    let searched: Vec<SearchedLayer<'_>> = indexes
        .iter()
        .zip(&visible)
        .map(|(index, visible)| SearchedLayer {
            index: &index.lexical,
            visible,
        })
        .collect();
    let words = lexical::score(&searched, &query.terms, fusion.proximity_weight);
    let alike =
        |index: &Arc<PassageIndex>| index.model.is_some() && index.model.as_ref() == query.model();
    let cosines: Option<Vec<Vec<f32>>> = indexes.iter().any(alike).then(|| {
        indexes
            .iter()
            .map(|index| index.cosines(query, fusion))
            .collect()
    });
    let range = Range::over(&words.scores, &visible);
    let share = match cosines {
        Some(_) => fusion.lexical_share(range.most, 0.0),
        None => 1.0,
    };
    let fused = fuse(&words.scores, &range, cosines.as_deref(), &visible, share);
    let mut hits: Vec<PassageHit> = Vec::new();
    for (index, scores) in fused.iter().enumerate() {
        for (passage, score) in scores.iter().enumerate() {
            let lexical = words.scores[index][passage];
            let cosine = cosines.as_ref().map(|cosines| cosines[index][passage]);
            if lexical > 0.0 || cosine.is_some_and(|cosine| cosine >= MIN_COSINE) {
                hits.push(PassageHit {
                    index,
                    passage,
                    score: *score,
                    lexical,
                    cosine,
                });
            }
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits.truncate(top_k);
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::Quantisation;
    use crate::query::RouteQuery;

    fn model(name: &str) -> EmbeddingModel {
        EmbeddingModel {
            name: name.to_owned(),
            dims: 3,
            quantisation: Quantisation::F32,
        }
    }

    fn passage(text: &str, vectors: &[[f32; 3]]) -> Passage {
        Passage {
            headings: String::new(),
            text: text.to_owned(),
            vectors: vectors
                .iter()
                .map(|v| Vector::new(v.to_vec()).unwrap())
                .collect(),
        }
    }

    fn index(passages: &[Passage], name: &str) -> Arc<PassageIndex> {
        Arc::new(PassageIndex::build(passages, Some(model(name))).unwrap())
    }

    fn asked(text: &str, vector: [f32; 3]) -> EmbeddedQuery {
        let vector = Vector::new(vector.to_vec()).unwrap();
        RouteQuery::parse(text)
            .unwrap()
            .embedded(&model("a"), &[vector])
            .unwrap()
    }

    fn places(hits: &[PassageHit]) -> Vec<(usize, usize)> {
        hits.iter().map(|hit| (hit.index, hit.passage)).collect()
    }

    #[test]
    fn b000_16_the_best_part_of_a_passage_counts() {
        let two = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]];
        let passages = [passage("one", &[[0.7, 0.7, 0.0]]), passage("two", &two)];
        let indexes = [index(&passages, "a")];
        let hits = search_passages(
            &indexes,
            &asked("x", [1.0, 0.0, 0.0]),
            &Fusion::default(),
            5,
        );
        let hits = hits.unwrap();
        assert_eq!(places(&hits), [(0, 1), (0, 0)]);
        assert!(hits[0].cosine.unwrap() > 0.999);
    }

    #[test]
    fn b000_16_words_and_vectors_of_several_texts_are_ranked_together() {
        let first = [passage("rotate the access keys", &[[0.0, 1.0, 0.0]])];
        let second = [
            passage("bread and butter", &[[0.0, 0.0, 1.0]]),
            passage("keys", &[[1.0, 0.0, 0.0]]),
        ];
        let indexes = [index(&first, "a"), index(&second, "a")];
        let hits = search_passages(
            &indexes,
            &asked("keys", [1.0, 0.2, 0.0]),
            &Fusion::default(),
            5,
        );
        assert_eq!(places(&hits.unwrap()), [(1, 1), (0, 0)]);
    }

    #[test]
    fn ruling_4_vectors_of_another_model_are_not_compared() {
        let passages = [
            passage("keys", &[[1.0, 0.0, 0.0]]),
            passage("bread", &[[0.0, 1.0, 0.0]]),
        ];
        let indexes = [index(&passages, "b")];
        let hits = search_passages(
            &indexes,
            &asked("bread", [1.0, 0.0, 0.0]),
            &Fusion::default(),
            5,
        );
        let hits = hits.unwrap();
        assert_eq!((places(&hits), hits[0].cosine), (vec![(0, 1)], None));
    }

    #[test]
    fn b000_2_none_asked_for_is_refused() {
        let query = asked("keys", [1.0, 0.0, 0.0]);
        let refused = search_passages(&[], &query, &Fusion::default(), 0);
        assert_eq!(refused, Err(QueryError::NoCandidates));
        assert_eq!(
            search_passages(&[], &query, &Fusion::default(), 3),
            Ok(Vec::new())
        );
    }
}
