//! The immutable index of one text's passages, and the search over several indexes: words and vectors, fused as in
//! routing.
//!
//! A passage has several vectors, one for each part that the model could read at once; the best of them counts. They
//! are compared here ([`search_passages`]), or elsewhere by the store that keeps them: then [`WordScores`] returns the
//! passages that the words find, and ranks those that were compared. Must not know the content of the texts, or their
//! access rules: a search receives only the indexes that the caller may see, so that no other passage is scored,
//! counted or part of any normalisation.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dense;
use crate::embed::{EmbeddingModel, Vector, VectorError};
use crate::lexical::{self, AnalysedQuery, LexicalBuilder, SearchedLayer};
use crate::query::{EmbeddedQuery, QueryError};
use crate::rank::{Range, fuse};
use crate::relevance::relevance;
use crate::select::best_of;
use crate::settings::Fusion;
use crate::text_index::{TextIndex, TextIndexBuilder};

/// Weight of the words of a passage's headings.
const HEADING_WEIGHT: f32 = 1.5;
/// Least cosine of a hit without a word of the query.
const MIN_COSINE: f32 = 0.25;

/// A passage to index.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Its headings.
    pub headings: String,
    /// Its text.
    pub text: String,
    /// Vectors of its parts; none without an embedder.
    pub vectors: Vec<Vector>,
}

/// The passages of one text, numbered from 0.
#[derive(Debug)]
pub struct PassageIndex {
    texts: TextIndex,
}

/// The position of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PassagePosition {
    /// The index, among those searched.
    pub index: usize,
    /// The passage within it.
    pub passage: usize,
}

/// A search result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PassageHit {
    /// Its position.
    pub place: PassagePosition,
    /// Probability that it is related to the query, 0 to 1; depends only on the two.
    pub score: f32,
    /// Ranking value, 0 to 1 within this search.
    pub fused: f32,
    /// BM25 with the proximity bonus.
    pub lexical: f32,
    /// Cosine of its best part; `None` if only words were compared.
    pub cosine: Option<f32>,
}

impl PassageIndex {
    /// Builds the index. `model` is the model of the vectors.
    ///
    /// # Errors
    /// [`VectorError`] for a vector of other dims than the model's.
    pub fn build<'p>(
        passages: impl IntoIterator<Item = &'p Passage>,
        model: Option<EmbeddingModel>,
    ) -> Result<Self, VectorError> {
        let words = LexicalBuilder::new(vec![HEADING_WEIGHT, 1.0]);
        let mut texts = TextIndexBuilder::new(words, model, 0);
        for passage in passages {
            let fields = [(0, passage.headings.as_str()), (1, passage.text.as_str())];
            texts.add(fields, passage.vectors.iter().map(Some))?;
        }
        Ok(Self {
            texts: texts.finish(),
        })
    }

    /// Returns the number of passages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether it has no passages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the approximate number of bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.texts.heap_bytes()
    }

    /// Returns the best cosine of each passage; 0 without a vector.
    fn cosines(&self, query: &EmbeddedQuery, fusion: &Fusion) -> Vec<f32> {
        let Some(texts) = &query.dense else {
            return vec![0.0; self.len()];
        };
        if self.texts.model() != Some(&texts.model) {
            return vec![0.0; self.len()];
        }
        self.texts.vectors().cosines(
            &vec![true; self.len()],
            &texts.whole,
            &texts.sentences,
            fusion.sentence_weight,
        )
    }
}

/// Returns the best `top_k` passages of all indexes together, best first; equal ones in order of index and position.
///
/// Vectors count if the query and at least one index have vectors of the same model; an index without them is found by
/// its words.
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
    let words = WordScores::score(indexes, query, fusion);
    let alike = |index: &Arc<PassageIndex>| {
        let model = index.texts.model();
        model.is_some() && model == query.model()
    };
    let cosines: Option<Vec<Vec<f32>>> = indexes.iter().any(alike).then(|| {
        indexes
            .iter()
            .map(|index| index.cosines(query, fusion))
            .collect()
    });
    let share = match cosines {
        Some(_) => fusion.lexical_share(words.range.most, 0.0),
        None => 1.0,
    };
    let cosines = cosines.as_deref();
    let fused = fuse(&words.scores, &words.range, cosines, &words.visible, share);
    let ranked = words.places().map(|place| Ranked {
        place,
        fused: fused[place.index][place.passage],
        lexical: words.at(place),
        cosine: cosines.map(|cosines| cosines[place.index][place.passage]),
    });
    Ok(words.hits(ranked, top_k))
}

/// A passage with its ranking values.
#[derive(Clone, Copy)]
struct Ranked {
    place: PassagePosition,
    fused: f32,
    lexical: f32,
    cosine: Option<f32>,
}

impl Ranked {
    fn is_hit(&self) -> bool {
        self.lexical > 0.0 || self.cosine.is_some_and(|cosine| cosine >= MIN_COSINE)
    }
}

/// How well the words of every passage of several indexes match a query: the half of a search that needs no vectors.
#[derive(Debug)]
pub struct WordScores {
    indexes: Vec<Arc<PassageIndex>>,
    terms: AnalysedQuery,
    scores: Vec<Vec<f32>>,
    visible: Vec<Vec<bool>>,
    range: Range,
}

impl WordScores {
    /// Scores the words.
    #[must_use]
    pub fn score(indexes: &[Arc<PassageIndex>], query: &EmbeddedQuery, fusion: &Fusion) -> Self {
        let visible: Vec<Vec<bool>> = indexes
            .iter()
            .map(|index| vec![true; index.len()])
            .collect();
        let searched: Vec<SearchedLayer<'_>> = indexes
            .iter()
            .zip(&visible)
            .map(|(index, visible)| SearchedLayer {
                index: index.texts.words(),
                visible,
            })
            .collect();
        let scores = lexical::score(&searched, &query.terms, fusion.proximity_weight).scores;
        let range = Range::of_lists(&scores);
        Self {
            indexes: indexes.to_vec(),
            terms: query.terms.clone(),
            scores,
            visible,
            range,
        }
    }

    /// Returns the `most` best passages by words, best first; equal ones in order of index and position.
    #[must_use]
    pub fn best(&self, most: usize) -> Vec<PassagePosition> {
        if self.range.most <= 0.0 {
            return Vec::new();
        }
        let with_words = || {
            let indexes = self.scores.iter().enumerate();
            indexes.flat_map(|(index, scores)| {
                let scored = scores.iter().enumerate();
                let scored = scored.filter(|(_, score)| **score > 0.0);
                scored.map(move |(passage, score)| (PassagePosition { index, passage }, *score))
            })
        };
        let best = best_of(with_words, |(_, score)| score, most).into_iter();
        best.map(|(place, _)| place).collect()
    }

    /// Ranks passages by words, and by cosines that were computed elsewhere: like [`search_passages`], but normalises
    /// cosines over these passages alone. Without cosines only words count.
    ///
    /// # Errors
    /// [`QueryError::NoCandidates`] if `top_k` is 0.
    pub fn rank(
        &self,
        compared: &BTreeMap<PassagePosition, Option<f32>>,
        fusion: &Fusion,
        top_k: usize,
    ) -> Result<Vec<PassageHit>, QueryError> {
        if top_k == 0 {
            return Err(QueryError::NoCandidates);
        }
        let range = Range::from_values(compared.values().flatten().copied());
        let share = match compared.values().any(Option::is_some) {
            true => fusion.lexical_share(self.range.most, 0.0),
            false => 1.0,
        };
        let ranked = compared.iter().map(|(place, cosine)| {
            let lexical = self.at(*place);
            let near = cosine.map_or(0.0, |cosine| range.place(cosine));
            Ranked {
                place: *place,
                fused: share * self.range.place(lexical) + (1.0 - share) * near,
                lexical,
                cosine: *cosine,
            }
        });
        Ok(self.hits(ranked, top_k))
    }

    /// Returns the hits, best first, with their scores.
    fn hits(&self, ranked: impl Iterator<Item = Ranked>, top_k: usize) -> Vec<PassageHit> {
        let ranked: Vec<Ranked> = ranked.filter(Ranked::is_hit).collect();
        let best = best_of(|| ranked.iter().copied(), |ranked| ranked.fused, top_k);
        let hit = |ranked: Ranked| PassageHit {
            place: ranked.place,
            score: relevance(ranked.cosine, self.share(ranked.place)),
            fused: ranked.fused,
            lexical: ranked.lexical,
            cosine: ranked.cosine,
        };
        best.into_iter().map(hit).collect()
    }

    /// Returns the share of the query's words that a passage contains.
    fn share(&self, place: PassagePosition) -> f32 {
        let index = self.indexes.get(place.index);
        index.map_or(0.0, |index| {
            lexical::share(index.texts.words(), place.passage, &self.terms)
        })
    }

    fn places(&self) -> impl Iterator<Item = PassagePosition> {
        let indexes = self.scores.iter().enumerate();
        indexes.flat_map(|(index, scores)| {
            (0..scores.len()).map(move |passage| PassagePosition { index, passage })
        })
    }

    fn at(&self, place: PassagePosition) -> f32 {
        let of_index = self.scores.get(place.index);
        let score = of_index.and_then(|scores| scores.get(place.passage));
        score.copied().unwrap_or(0.0)
    }
}

/// Returns the cosine of a part with a query, from those with each of its [`vectors`](EmbeddedQuery::vectors), as the
/// indexes here compute it.
#[must_use]
pub fn mixed_cosine(cosines: &[f32], fusion: &Fusion) -> f32 {
    match cosines {
        [] => 0.0,
        [whole] => *whole,
        [whole, sentences @ ..] => {
            let best = sentences.iter().copied().reduce(f32::max);
            dense::mix(*whole, best.unwrap_or(*whole), fusion.sentence_weight)
        }
    }
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
        let places = hits.iter().map(|hit| (hit.place.index, hit.place.passage));
        places.collect()
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

    /// Two passages with no other difference.
    #[test]
    fn the_words_of_the_headings_that_a_passage_stands_under_count() {
        let plain = passage("turn the valve slowly", &[[0.6, 0.8, 0.0]]);
        let under = Passage {
            headings: "Pumps Restart after a failure".to_owned(),
            ..plain.clone()
        };
        let indexes = [index(&[plain, under], "a")];
        let query = asked("restart of pumps", [1.0, 0.0, 0.0]);
        let hits = search_passages(&indexes, &query, &Fusion::default(), 5).unwrap();
        assert_eq!(places(&hits), [(0, 1), (0, 0)]);
        assert!(hits[0].lexical > 0.0);
        assert_eq!(hits[1].lexical, 0.0);
        assert!(hits[0].score > hits[1].score);
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

    /// The score of a single passage equals its score among others: 1 is not the best of an answer, nor 0 the worst.
    #[test]
    fn b000_16_a_score_is_of_a_passage_and_its_question_alone() {
        let passages = [
            passage("keys of the house", &[[0.9, 0.4, 0.0]]),
            passage("rotate the keys each year", &[[0.6, 0.8, 0.0]]),
            passage("bread and butter", &[[0.3, 0.0, 1.0]]),
        ];
        let query = asked("keys of a house", [1.0, 0.0, 0.0]);
        let found = |passages: &[Passage]| {
            let indexes = [index(passages, "a")];
            search_passages(&indexes, &query, &Fusion::default(), 5).unwrap()
        };
        let all = found(&passages);
        assert_eq!(places(&all), [(0, 0), (0, 1), (0, 2)]);
        assert!(all[0].score > 0.9 && all[2].score < 0.2, "{all:?}");
        for hit in &all {
            let alone = found(&passages[hit.place.passage..=hit.place.passage]);
            assert_eq!(alone[0].score.to_bits(), hit.score.to_bits());
        }
    }

    /// With equal cosines for equal passages, the ranking does not depend on where they were computed.
    #[test]
    fn b000_16_passages_compared_elsewhere_rank_as_those_compared_here() {
        let fusion = Fusion::default();
        let first = [
            passage(
                "rotate the access keys",
                &[[0.0, 1.0, 0.0], [0.6, 0.8, 0.0]],
            ),
            passage("bread", &[[0.0, 0.0, 1.0]]),
        ];
        let second = [passage("keys of the house", &[[1.0, 0.0, 0.0]])];
        let indexes = [index(&first, "a"), index(&second, "a")];
        let query = asked("keys", [0.8, 0.6, 0.0]);
        let exact = search_passages(&indexes, &query, &fusion, 5).unwrap();
        let words = WordScores::score(&indexes, &query, &fusion);
        let of = |index, passage| PassagePosition { index, passage };
        let compared = [(of(0, 0), 0.96), (of(0, 1), 0.0), (of(1, 0), 0.8)];
        let compared: BTreeMap<_, _> = compared
            .into_iter()
            .map(|(place, cosine)| (place, Some(cosine)))
            .collect();
        let ranked = words.rank(&compared, &fusion, 5).unwrap();
        assert_eq!(places(&ranked), places(&exact));
        for (a, b) in ranked.iter().zip(&exact) {
            assert!((a.fused - b.fused).abs() < 1e-3, "{a:?} {b:?}");
            assert!((a.score - b.score).abs() < 1e-3, "{a:?} {b:?}");
            assert_eq!(a.lexical.to_bits(), b.lexical.to_bits());
        }
        let by_words = words.best(1);
        assert_eq!(by_words.len(), 1);
        assert_eq!(words.best(9), [by_words[0], of(1 - by_words[0].index, 0)]);
        assert_eq!(words.best(0), []);
        let without: BTreeMap<_, _> = words
            .best(9)
            .into_iter()
            .map(|place| (place, None))
            .collect();
        let ranked = words.rank(&without, &fusion, 1).unwrap();
        assert_eq!((ranked[0].place, ranked[0].cosine), (by_words[0], None));
        assert_eq!(
            words.rank(&without, &fusion, 0),
            Err(QueryError::NoCandidates)
        );
    }

    #[test]
    fn the_sentences_of_a_query_are_mixed_as_in_an_index() {
        let fusion = Fusion::default();
        let whole = Vector::new(vec![1.0, 0.0, 0.0]).unwrap();
        let sentences = [[0.0, 1.0, 0.0], [0.6, 0.8, 0.0]];
        let text = "The first sentence asks about one thing at some length, as people do. \
                    The second sentence asks about another thing at the same length.";
        let query = RouteQuery::parse(text).unwrap();
        let mut vectors = vec![whole];
        vectors.extend(sentences.map(|s| Vector::new(s.to_vec()).unwrap()));
        let query = query.embedded(&model("a"), &vectors).unwrap();
        assert_eq!(query.vectors(), vectors);
        let stored = Vector::new(vec![0.8, 0.6, 0.0]).unwrap();
        let here = index(&[passage("x", &[[0.8, 0.6, 0.0]])], "a");
        let cosines: Vec<f32> = vectors.iter().map(|vector| vector.dot(&stored)).collect();
        let mixed = mixed_cosine(&cosines, &fusion);
        assert!((mixed - here.cosines(&query, &fusion)[0]).abs() < 1e-4);
        assert!((mixed_cosine(&cosines[..1], &fusion) - 0.8).abs() < 1e-6);
        assert_eq!(mixed_cosine(&[], &fusion), 0.0);
    }
}
