//! The port for embedding models: [`Embedder`], the vectors that it returns, and the identity of its model. Must not
//! know any implementation; `charter-embed` has them.

use std::fmt;
use std::ops::Range;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use thiserror::Error;

mod vector;

pub use vector::{Vector, VectorError};

/// Texts in one call.
pub const MAX_TEXTS_PER_CALL: usize = 4096;

/// The number format of a model; part of its identity, because the vectors of two formats rank differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantisation {
    /// 32-bit floats throughout.
    F32,
    /// Unknown: the remote provider does not declare it.
    Provider,
}

impl fmt::Display for Quantisation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Quantisation::F32 => "f32",
            Quantisation::Provider => "provider",
        })
    }
}

/// The model of a vector: recorded with every index, never mixed (ruling 4, B001-2). Displayed as
/// `all-MiniLM-L6-v2/f32`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingModel {
    /// The model's public name.
    pub name: String,
    /// Components of each vector.
    pub dims: usize,
    /// Its number format.
    pub quantisation: Quantisation,
}

impl fmt::Display for EmbeddingModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.name, self.quantisation)
    }
}

/// Why texts could not be embedded.
#[derive(Debug, Error)]
pub enum EmbedError {
    /// The tokenizer refused a text.
    #[error("the embedding model's tokenizer failed")]
    Tokenizer {
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The call has too many texts.
    #[error("{found} texts in one call; the limit is {limit}")]
    TooManyTexts {
        /// Texts given.
        found: usize,
        /// Texts allowed.
        limit: usize,
    },
    /// A worker panicked on this call; the next call is served again.
    #[error("the embedder failed on this call")]
    WorkerPanicked,
    /// The embedder is shutting down.
    #[error("the embedder has stopped")]
    Stopped,
    /// The remote server returned no embeddings.
    #[error("the embedding server returned no embeddings")]
    Remote {
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The model returned an invalid vector.
    #[error("the embedding model returned an unusable vector")]
    Vector {
        /// The fault.
        source: VectorError,
    },
}

/// The port for embedding texts.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Returns the model of the vectors.
    fn model(&self) -> &EmbeddingModel;

    /// Returns one vector for each text, in order. An empty batch gives an empty answer. The same text gives the same
    /// vector in every batch, up to rounding (cosine above 0.99999).
    ///
    /// Dropping the future cancels the remaining computation.
    ///
    /// # Errors
    /// [`EmbedError`]; no part of a failed batch is returned.
    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError>;

    /// Embeds queries, for models that treat them differently from documents. By default the same as [`Embedder::embed`].
    ///
    /// # Errors
    /// As [`Embedder::embed`].
    async fn embed_queries(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        self.embed(texts).await
    }

    /// Returns the number of a text's tokens, including special tokens, before any cut at the model's limit; `None` if
    /// it is unknown.
    fn count_tokens(&self, text: &str) -> Option<usize>;

    /// Whether a lower-case word of four letters or more is in the model's vocabulary or English, or is a form or
    /// compound of such words; `None` if it is unknown.
    fn knows_word(&self, _word: &str) -> Option<bool> {
        None
    }

    /// Returns words of the model's vocabulary at edit distance 1 from a word, most frequent first.
    fn words_near(&self, _word: &str) -> Vec<String> {
        Vec::new()
    }

    /// Returns the ranges of a text's tokens, in bytes and in order, without special tokens; `None` if they are
    /// unknown.
    fn token_spans(&self, text: &str) -> Option<Vec<Range<usize>>>;
}

/// Whether a model is known to be trained on English. Only the built-in model reports the words it knows, and it knows
/// no words with fewer than four letters.
pub fn is_for_english(embedder: &dyn Embedder) -> bool {
    ["which", "where", "these"].map(|word| embedder.knows_word(word)) == [Some(true); 3]
}
