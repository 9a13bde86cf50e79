//! A request prepared for routing: checked, pasted parts set aside, spelling corrected, split into sentences and
//! clauses, with or without vectors.
//!
//! It determines *which* texts are embedded, never how.

mod pieces;

use charter_contract::foreign_text::{Foreign, ForeignKind, blanked, foreign};
use thiserror::Error;

use crate::dense::DenseQuery;
use crate::embed::{Embedder, EmbeddingModel, Vector};
use crate::layers::{Allowed, Layers};
use crate::lexical::{AnalysedQuery, analyse_query_beside, share_in};
use crate::names::names_in;
use crate::spelling::{Correction, Spelling, spelling};
pub use pieces::MAX_SENTENCES;

/// Longest request that is routed, in bytes.
pub const MAX_QUERY_BYTES: usize = 64 << 10;
/// A request with more characters is also compared sentence by sentence.
pub const WHOLE_QUERY_CHARS: usize = 120;

/// Why a request cannot be routed (B000-2).
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum QueryError {
    /// Nothing but white space.
    #[error("the query is empty")]
    Empty,
    /// Longer than [`MAX_QUERY_BYTES`].
    #[error("the query has {found} bytes; the limit is {MAX_QUERY_BYTES}")]
    TooLong {
        /// The number of bytes.
        found: usize,
    },
    /// The search requests no candidate.
    #[error("top_k must be at least 1")]
    NoCandidates,
    /// The number of vectors differs from that of [`RouteQuery::texts`].
    #[error("the query has {expected} texts to embed, but {found} vectors were given")]
    Vectors {
        /// Number of texts to embed.
        expected: usize,
        /// Number of vectors.
        found: usize,
    },
    /// A vector's dimensions differ from its model's.
    #[error("a vector of the query has {found} dimensions, but its model has {expected}")]
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
    /// The text without pasted parts, with corrected spelling.
    own: String,
    /// The uncorrected form of that text, if the spelling was corrected.
    typed: Option<String>,
    /// Pieces with a low weight.
    aside: Vec<String>,
    corrections: Vec<Correction>,
    strange: Vec<String>,
    sentences: Vec<String>,
    clauses: Vec<String>,
}

impl RouteQuery {
    /// Checks and splits a request.
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
        let (own, aside) = own_words(text);
        Ok(RouteQuery {
            text: text.to_owned(),
            typed: None,
            sentences: pieces::sentences(&own),
            clauses: Vec::new(),
            own,
            aside,
            corrections: Vec::new(),
            strange: Vec::new(),
        })
    }

    /// Splits the request into clauses, if it asks for several things.
    #[must_use]
    pub fn in_clauses(self) -> Self {
        RouteQuery {
            clauses: pieces::clauses(&self.own),
            ..self
        }
    }

    /// Corrects mistyped words, by the entries that the caller can see. Words that `embedder` or the catalogue knows,
    /// code, ids and addresses are unchanged. The typed text is compared too, so that a wrong correction costs little.
    #[must_use]
    pub fn corrected(self, layers: &Layers, allowed: Allowed<'_>, embedder: &dyn Embedder) -> Self {
        let Spelling {
            corrections: found,
            strange,
        } = spelling(&self.own, layers, allowed, embedder);
        if found.is_empty() {
            return RouteQuery { strange, ..self };
        }
        let mut own = String::with_capacity(self.own.len() + found.len());
        let mut corrected = Vec::with_capacity(found.len());
        let mut at = 0;
        for (place, word) in found {
            own.push_str(&self.own[at..place.start]);
            own.push_str(&word);
            at = place.end;
            corrected.push(Correction {
                typed: self.own[place].to_owned(),
                corrected: word,
            });
        }
        own.push_str(&self.own[at..]);
        RouteQuery {
            sentences: pieces::sentences(&own),
            clauses: match self.clauses.is_empty() {
                true => Vec::new(),
                false => pieces::clauses(&own),
            },
            typed: Some(self.own),
            own,
            corrections: corrected,
            strange,
            ..self
        }
    }

    /// The request itself.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the writer's own words: the request without pasted parts, or all of it if there are no others.
    pub fn own(&self) -> &str {
        &self.own
    }

    /// Returns the corrections.
    pub fn corrections(&self) -> &[Correction] {
        &self.corrections
    }

    /// Returns words that are neither known nor corrected, if the request begins with one or has many of them: it may
    /// be in a language that neither the model nor the catalogue knows.
    pub fn strange_words(&self) -> &[String] {
        &self.strange
    }

    /// Returns pieces with a low weight: pasted logs, code and records, the frame of a mail.
    pub fn set_aside(&self) -> &[String] {
        &self.aside
    }

    /// Returns the texts to embed, each once: the whole, its sentences if it is long, its clauses if there are several,
    /// and the typed text if its spelling was corrected.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let clauses = self
            .clauses
            .iter()
            .filter(|clause| !self.sentences.contains(clause));
        let parts = self.sentences.iter().chain(clauses).chain(&self.typed);
        std::iter::once(self.own.as_str()).chain(parts.map(String::as_str))
    }

    /// Returns the query with the vectors of [`texts`](Self::texts), in that order.
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
        let texts: Vec<&str> = self.texts().collect();
        let (Some(whole), true) = (vectors.first(), vectors.len() == texts.len()) else {
            return Err(QueryError::Vectors {
                expected: texts.len(),
                found: vectors.len(),
            });
        };
        let of_text = |text: &String| {
            let at = texts.iter().position(|known| known == text);
            at.and_then(|at| vectors.get(at))
        };
        let dense = EmbeddedTexts {
            model: model.clone(),
            vectors: vectors[..=self.sentences.len()].to_vec(),
            whole: DenseQuery::new(whole),
            typed: self.typed.iter().find_map(of_text).map(DenseQuery::new),
            sentences: self
                .sentences
                .iter()
                .filter_map(of_text)
                .map(DenseQuery::new)
                .collect(),
        };
        let clauses = self.clauses.iter().map(|clause| {
            let vector = of_text(clause)?;
            Some(EmbeddedQuery {
                dense: Some(EmbeddedTexts {
                    model: model.clone(),
                    vectors: vec![vector.clone()],
                    whole: DenseQuery::new(vector),
                    typed: None,
                    sentences: Vec::new(),
                }),
                ..words_of(clause)
            })
        });
        Ok(EmbeddedQuery {
            clauses: clauses.flatten().collect(),
            dense: Some(dense),
            ..self.words()
        })
    }

    /// Returns the query for lexical routing alone, without an embedder.
    pub fn lexical_only(self) -> EmbeddedQuery {
        EmbeddedQuery {
            clauses: self.clauses.iter().map(|clause| words_of(clause)).collect(),
            ..self.words()
        }
    }

    /// The query without vectors and clauses.
    fn words(&self) -> EmbeddedQuery {
        EmbeddedQuery {
            text: self.own.clone(),
            terms: analyse_query_beside(&self.own, &self.aside.join("\n")),
            names: names_in(&self.own),
            dense: None,
            everyday: None,
            strange: self.strange.clone(),
            clauses: Vec::new(),
        }
    }
}

/// A query of words alone.
fn words_of(text: &str) -> EmbeddedQuery {
    EmbeddedQuery {
        text: text.to_owned(),
        terms: analyse_query_beside(text, ""),
        names: names_in(text),
        dense: None,
        everyday: None,
        strange: Vec::new(),
        clauses: Vec::new(),
    }
}

/// Splits a text into the writer's own words and the pasted pieces; all of it counts as own if there are no others.
fn own_words(text: &str) -> (String, Vec<String>) {
    let mut aside: Vec<Foreign> = foreign(text);
    aside.retain(|piece| match piece.kind {
        ForeignKind::Pasted | ForeignKind::Mail => true,
        ForeignKind::Quotation => false,
    });
    let own = blanked(text, &aside);
    if aside.is_empty() || !own.contains(char::is_alphanumeric) {
        return (text.to_owned(), Vec::new());
    }
    let pieces = aside
        .iter()
        .map(|piece| text[piece.place.clone()].to_owned());
    (own.trim().to_owned(), pieces.collect())
}

/// A query ready for searches.
#[derive(Debug, Clone, Default)]
pub struct EmbeddedQuery {
    /// The compared text.
    pub(crate) text: String,
    pub(crate) terms: AnalysedQuery,
    /// Possible names of entries, in the forms of a [`NameIndex`](crate::NameIndex).
    pub(crate) names: Vec<String>,
    pub(crate) dense: Option<EmbeddedTexts>,
    /// The cosine with the nearest everyday topic, if it was compared with any.
    pub(crate) everyday: Option<f32>,
    /// Words by which it may be in an unknown language ([`RouteQuery::strange_words`]).
    pub(crate) strange: Vec<String>,
    /// Its clauses, if it asks for several things; a clause has none.
    pub(crate) clauses: Vec<EmbeddedQuery>,
}

impl EmbeddedQuery {
    /// Creates a query from a vector without words.
    ///
    /// # Errors
    /// [`QueryError::Dims`] if its dimensions are not the model's.
    pub fn of_vector(model: &EmbeddingModel, vector: &Vector) -> Result<Self, QueryError> {
        if vector.dims() != model.dims {
            return Err(QueryError::Dims {
                expected: model.dims,
                found: vector.dims(),
            });
        }
        Ok(EmbeddedQuery {
            dense: Some(EmbeddedTexts {
                model: model.clone(),
                vectors: vec![vector.clone()],
                whole: DenseQuery::new(vector),
                typed: None,
                sentences: Vec::new(),
            }),
            ..EmbeddedQuery::default()
        })
    }

    /// Compares the query with topics that are unrelated to any catalogue: if it is near one of them, it is less likely
    /// to be about an entry that is no nearer. Topics of another model, and queries without vectors, are not compared.
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

    /// Returns the cosine with the nearest everyday topic; 0 if it was not compared.
    #[must_use]
    pub fn everyday(&self) -> f32 {
        self.everyday.unwrap_or(0.0)
    }

    /// Sets the text in which possible names are looked up.
    #[must_use]
    pub fn naming(self, text: &str) -> Self {
        EmbeddedQuery {
            names: names_in(text),
            ..self
        }
    }

    /// Returns the model that embedded it; `None` for lexical routing.
    pub fn model(&self) -> Option<&EmbeddingModel> {
        self.dense.as_ref().map(|texts| &texts.model)
    }

    /// Checks that all indexes of a search have vectors of the query's model.
    ///
    /// # Errors
    /// [`QueryError::Model`] with the first other model.
    pub(crate) fn check_models<'m>(
        &self,
        mut models: impl Iterator<Item = &'m EmbeddingModel>,
    ) -> Result<(), QueryError> {
        let Some(asked) = self.model() else {
            return Ok(());
        };
        match models.find(|model| *model != asked) {
            Some(model) => Err(QueryError::Model {
                query: asked.to_string(),
                index: model.to_string(),
            }),
            None => Ok(()),
        }
    }

    /// Whether it has words; without any, only the vector counts.
    #[must_use]
    pub fn has_words(&self) -> bool {
        !self.terms.terms().is_empty()
    }

    /// Returns the share of its words that a text contains, 0 to 1; words of pasted pieces count little.
    #[must_use]
    pub fn share_of(&self, text: &str) -> f32 {
        share_in(text, &self.terms)
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
    /// The whole as typed, if its spelling was corrected.
    pub(crate) typed: Option<DenseQuery>,
    pub(crate) sentences: Vec<DenseQuery>,
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

    /// A log line, a mail's frame or code hides no question; a text that is only pasted is the question.
    #[test]
    fn pasted_text_counts_little_unless_it_is_all() {
        let log = "2026-05-04T10:00:03Z ERROR relay timed out";
        let query =
            RouteQuery::parse(&format!("{log}\nwhich hosts are down?\n-- \nAnn Other")).unwrap();
        assert_eq!(query.texts().collect::<Vec<_>>(), ["which hosts are down?"]);
        assert_eq!(query.set_aside(), [log, "-- \nAnn Other"]);
        let terms = query.lexical_only().terms;
        assert!(
            terms.terms().iter().any(|term| term == "relay"),
            "{terms:?}"
        );
        let alone = RouteQuery::parse(log).unwrap();
        assert_eq!(alone.texts().collect::<Vec<_>>(), [log]);
        assert_eq!(alone.set_aside(), [""; 0]);
    }

    #[test]
    fn a_long_text_of_conjunctions_has_no_clauses() {
        for part in [
            "list hosts and then ",
            "list hosts, and ",
            "and what and what ",
        ] {
            let text = part.repeat(MAX_QUERY_BYTES / part.len());
            let query = RouteQuery::parse(&text).unwrap().in_clauses();
            assert_eq!(query.clauses, [""; 0], "{part}");
        }
    }

    #[test]
    fn several_requests_in_one_text_are_split() {
        let clauses = |text: &str| RouteQuery::parse(text).unwrap().in_clauses().clauses;
        for (text, expected) in [
            (
                "list public buckets and also find idle disks",
                vec!["list public buckets", "find idle disks"],
            ),
            (
                "Which buckets are public? Then show me idle disks.",
                vec!["Which buckets are public?", "Then show me idle disks."],
            ),
            ("public buckets and idle disks", vec![]),
            ("list public buckets. Thanks!", vec![]),
            (
                "one two. three four. five six. seven eight. nine ten.",
                vec![],
            ),
        ] {
            assert_eq!(clauses(text), expected, "{text}");
        }
        assert_eq!(
            RouteQuery::parse("count hosts. list disks.")
                .unwrap()
                .texts()
                .count(),
            1
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
