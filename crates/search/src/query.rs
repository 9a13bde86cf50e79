//! A request as routing sees it: checked, cut into sentences, embedded or not.
//!
//! Must not know indexes. It decides *which* texts are embedded, never how.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::dense::DenseQuery;
use crate::embed::{EmbeddingModel, Vector};
use crate::lexical::{AnalysedQuery, analyse_query};

/// Longest request that is routed, in bytes.
pub const MAX_QUERY_BYTES: usize = 64 << 10;
/// A request of more characters is also looked at sentence by sentence.
pub const WHOLE_QUERY_CHARS: usize = 120;
/// Sentences of a request that are embedded; later ones count only within the whole.
pub const MAX_SENTENCES: usize = 16;
/// A sentence with fewer distinct terms ("Thanks!", "Do not run it.") names no task of its own.
const MIN_SENTENCE_TERMS: usize = 4;

/// Why a request cannot be routed (B000-2).
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum QueryError {
    /// Nothing but white space.
    #[error("the query is empty")]
    Empty,
    /// Longer than [`MAX_QUERY_BYTES`].
    #[error("the query has {found} bytes, {MAX_QUERY_BYTES} are allowed")]
    TooLong {
        /// Bytes given.
        found: usize,
    },
    /// No candidate was asked for.
    #[error("top_k must be at least 1")]
    NoCandidates,
    /// There is not one vector for each text of [`RouteQuery::texts`].
    #[error("the query has {expected} texts to embed, {found} vectors were given")]
    Vectors {
        /// Texts to embed.
        expected: usize,
        /// Vectors given.
        found: usize,
    },
    /// A vector has other dimensions than its model makes.
    #[error("a vector of the query has {found} dimensions, its model makes {expected}")]
    Dims {
        /// Dimensions of the model.
        expected: usize,
        /// Dimensions of the vector.
        found: usize,
    },
    /// The query was embedded by another model than an index.
    #[error("the query was embedded with {query}, the index with {index}")]
    Model {
        /// The query's model.
        query: String,
        /// The index's model.
        index: String,
    },
}

/// A request that can be routed: trimmed, not empty, bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteQuery {
    text: String,
    sentences: Vec<String>,
    terms: AnalysedQuery,
}

impl RouteQuery {
    /// Checks a request and cuts it up.
    ///
    /// # Errors
    /// [`QueryError::Empty`] or [`QueryError::TooLong`].
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(QueryError::Empty);
        }
        if text.len() > MAX_QUERY_BYTES {
            return Err(QueryError::TooLong { found: text.len() });
        }
        Ok(RouteQuery {
            text: text.to_owned(),
            sentences: sentences(text),
            terms: analyse_query(text),
        })
    }

    /// The request itself.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The texts to embed: the whole request, then its sentences, if it is long.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.text.as_str()).chain(self.sentences.iter().map(String::as_str))
    }

    /// The query with the vectors of [`texts`](Self::texts), in that order.
    ///
    /// # Errors
    /// [`QueryError::Vectors`] if there is not one vector for each text, [`QueryError::Dims`] if one
    /// is not the model's.
    pub fn embedded(
        self,
        model: &EmbeddingModel,
        vectors: &[Vector],
    ) -> Result<EmbeddedQuery, QueryError> {
        if let Some(other) = vectors.iter().find(|vector| vector.dims() != model.dims) {
            return Err(QueryError::Dims {
                expected: model.dims,
                found: other.dims(),
            });
        }
        let expected = 1 + self.sentences.len();
        match vectors {
            [whole, sentences @ ..] if vectors.len() == expected => Ok(EmbeddedQuery {
                terms: self.terms,
                everyday: None,
                dense: Some(EmbeddedTexts {
                    model: model.clone(),
                    vectors: vectors.to_vec(),
                    whole: DenseQuery::new(whole),
                    sentences: sentences.iter().map(DenseQuery::new).collect(),
                }),
            }),
            _ => Err(QueryError::Vectors {
                expected,
                found: vectors.len(),
            }),
        }
    }

    /// The query for lexical routing alone, where there is no embedder.
    pub fn lexical_only(self) -> EmbeddedQuery {
        EmbeddedQuery {
            terms: self.terms,
            dense: None,
            everyday: None,
        }
    }
}

/// A query ready to be searched.
#[derive(Debug, Clone)]
pub struct EmbeddedQuery {
    pub(crate) terms: AnalysedQuery,
    pub(crate) dense: Option<EmbeddedTexts>,
    /// The cosine with the nearest everyday topic, where it was compared with any.
    pub(crate) everyday: Option<f32>,
}

impl EmbeddedQuery {
    /// A query that is a vector and no words.
    ///
    /// # Errors
    /// [`QueryError::Dims`] if it is not the model's.
    pub fn of_vector(model: &EmbeddingModel, vector: &Vector) -> Result<Self, QueryError> {
        if vector.dims() != model.dims {
            return Err(QueryError::Dims {
                expected: model.dims,
                found: vector.dims(),
            });
        }
        Ok(EmbeddedQuery {
            terms: AnalysedQuery::default(),
            everyday: None,
            dense: Some(EmbeddedTexts {
                model: model.clone(),
                vectors: vec![vector.clone()],
                whole: DenseQuery::new(vector),
                sentences: Vec::new(),
            }),
        })
    }

    /// The query, compared with topics that have nothing to do with any catalogue: what is near one of them is less
    /// likely to be about an entry that is no nearer. Topics of another model, and a query without vectors, compare
    /// with nothing.
    #[must_use]
    pub fn against_topics(mut self, topics: &[Vector]) -> Self {
        let Some(whole) = self.vector() else {
            return self;
        };
        let same = topics.iter().filter(|topic| topic.dims() == whole.dims());
        let nearest = same.map(|topic| topic.dot(whole)).reduce(f32::max);
        self.everyday = nearest;
        self
    }

    /// The cosine with the nearest everyday topic; 0 where it was compared with none.
    #[must_use]
    pub fn everyday(&self) -> f32 {
        self.everyday.unwrap_or(0.0)
    }

    /// The model that embedded it; `None` for lexical routing.
    pub fn model(&self) -> Option<&EmbeddingModel> {
        self.dense.as_ref().map(|texts| &texts.model)
    }

    /// Whether words count; without any, only the vector does.
    #[must_use]
    pub fn has_words(&self) -> bool {
        !self.terms.terms().is_empty()
    }

    /// The vector of the whole; `None` for lexical routing.
    pub fn vector(&self) -> Option<&Vector> {
        self.vectors().first()
    }

    /// The vectors of the whole and of its sentences, in this order; none for lexical routing.
    pub fn vectors(&self) -> &[Vector] {
        self.dense.as_ref().map_or(&[], |texts| &texts.vectors)
    }
}

/// The vectors of a query's texts.
#[derive(Debug, Clone)]
pub(crate) struct EmbeddedTexts {
    pub(crate) model: EmbeddingModel,
    pub(crate) vectors: Vec<Vector>,
    pub(crate) whole: DenseQuery,
    pub(crate) sentences: Vec<DenseQuery>,
}

/// Sentences worth a vector; none if the text is short or is one sentence.
fn sentences(text: &str) -> Vec<String> {
    if text.chars().count() <= WHOLE_QUERY_CHARS {
        return Vec::new();
    }
    let pieces: Vec<&str> = cut(text);
    if pieces.len() < 2 {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    pieces
        .into_iter()
        .filter(|piece| {
            analyse_query(piece).terms().len() >= MIN_SENTENCE_TERMS && seen.insert(*piece)
        })
        .take(MAX_SENTENCES)
        .map(str::to_owned)
        .collect()
}

/// Cuts after `.`, `!`, `?` or `;` before white space, and at line ends.
fn cut(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        let ends = character == '\n'
            || (character.is_whitespace() && matches!(before, '.' | '!' | '?' | ';'));
        if ends {
            pieces.push(&text[start..at]);
            start = at;
        }
        before = character;
    }
    pieces.push(&text[start..]);
    pieces.retain_mut(|piece| {
        *piece = piece.trim();
        !piece.is_empty()
    });
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b000_2_an_empty_query_is_refused_and_a_huge_one_too() {
        assert_eq!(RouteQuery::parse(" \n\t"), Err(QueryError::Empty));
        let long = "a".repeat(MAX_QUERY_BYTES + 1);
        assert_eq!(
            RouteQuery::parse(&long),
            Err(QueryError::TooLong {
                found: MAX_QUERY_BYTES + 1
            })
        );
        assert!(RouteQuery::parse(&long[1..]).is_ok());
    }

    #[test]
    fn only_long_queries_are_cut_and_sentences_without_content_are_left_out() {
        let short = "Find my invoices. Then send them to the accountant by mail.";
        assert_eq!(RouteQuery::parse(short).unwrap().texts().count(), 1);
        let long = "Find all my unpaid invoices of version 2.5 in March. Thank you! \
                    Then send them to the external accountant by encrypted mail;\nnever print the list on paper here.";
        let query = RouteQuery::parse(long).unwrap();
        let texts: Vec<&str> = query.texts().collect();
        assert_eq!(
            texts,
            [
                long,
                "Find all my unpaid invoices of version 2.5 in March.",
                "Then send them to the external accountant by encrypted mail;",
                "never print the list on paper here.",
            ]
        );
    }

    #[test]
    fn every_text_needs_its_vector_of_the_models_dims() {
        let query = RouteQuery::parse("list buckets").unwrap();
        let model = EmbeddingModel {
            name: "m".to_owned(),
            dims: 2,
            quantisation: crate::embed::Quantisation::F32,
        };
        let other = Vector::new(vec![1.0]).unwrap();
        assert_eq!(
            query.clone().embedded(&model, &[other]).err(),
            Some(QueryError::Dims {
                expected: 2,
                found: 1
            })
        );
        assert_eq!(
            query.embedded(&model, &[]).err(),
            Some(QueryError::Vectors {
                expected: 1,
                found: 0
            })
        );
    }
}
