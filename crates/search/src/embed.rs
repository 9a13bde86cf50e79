//! Text to vectors: all-MiniLM-L6-v2 in this process ([`MiniLm`]), or a server
//! that speaks the OpenAI embeddings API ([`RemoteEmbedder`]). Knows nothing of
//! indexes or documents, and reads no environment: every path and key comes
//! from the caller.

use std::fmt;
use std::ops::Range;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use thiserror::Error;

mod bert;
mod engine;
pub mod fetch;
mod kernel;
mod minilm;
mod prepacked;
mod remote;
mod shape;
mod team;
mod tokens;
mod vector;
mod weights;
mod words;
mod workers;

pub use minilm::{DEFAULT_TOKEN_LIMIT, MAX_TOKEN_LIMIT, MiniLm, MiniLmOptions};
pub use remote::{
    ApiKey, DEFAULT_REQUEST_TIMEOUT, DEFAULT_TEXTS_PER_REQUEST, MAX_RETRIES, MAX_RETRY_PAUSE,
    Prefixes, RemoteEmbedder, RemoteError, RemoteOptions,
};
pub use tokens::MAX_TEXT_BYTES;
pub use vector::{Vector, VectorError};
pub use weights::{WeightsError, WeightsMemory};
pub use workers::{MAX_CALLS_AT_ONCE, MAX_TEXTS_PER_CALL};

/// How a model's numbers are held; part of its identity, because the vectors
/// of two forms do not rank alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantisation {
    /// 32-bit floats throughout.
    F32,
    /// Whatever a remote provider does; it does not say.
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

/// Which model made a vector: recorded with every index, never mixed (ruling 4,
/// B001-2). Shown as `all-MiniLM-L6-v2/f32`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingModel {
    /// The model's public name.
    pub name: String,
    /// Components of each vector.
    pub dims: usize,
    /// How its numbers are held.
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
    /// The model's weights or configuration could not be loaded.
    #[error("the embedding model could not be loaded")]
    Weights {
        /// What is wrong with them.
        source: WeightsError,
    },
    /// The tokenizer could not be loaded, or refused a text.
    #[error("the embedding model's tokenizer failed")]
    Tokenizer {
        /// What it said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The tokenizer belongs to another model.
    #[error("the tokenizer knows {tokenizer} tokens, the weights only {weights}")]
    Vocabulary {
        /// Tokens of the tokenizer.
        tokenizer: usize,
        /// Rows of the weights.
        weights: usize,
    },
    /// The token limit asked for cannot be met.
    #[error("a token limit of {asked} is outside 3 to {MAX_TOKEN_LIMIT}")]
    TokenLimit {
        /// What was asked for.
        asked: usize,
    },
    /// More texts than one call may bring.
    #[error("{found} texts in one call; the limit is {limit}")]
    TooManyTexts {
        /// Texts given.
        found: usize,
        /// Texts allowed.
        limit: usize,
    },
    /// A worker thread could not be started.
    #[error("starting the embedder's threads failed")]
    Threads {
        /// What the system said.
        source: std::io::Error,
    },
    /// A worker panicked on this call; the next call is served again.
    #[error("the embedder failed on this call")]
    WorkerPanicked,
    /// The embedder is shutting down.
    #[error("the embedder has stopped")]
    Stopped,
    /// The remote server gave no embeddings.
    #[error("the embedding server returned no embeddings")]
    Remote {
        /// Why.
        source: RemoteError,
    },
    /// The model answered with something that is no vector.
    #[error("the embedding model returned an unusable vector")]
    Vector {
        /// Why it is none.
        source: VectorError,
    },
}

/// The port to whatever turns texts into vectors.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Which model makes the vectors.
    fn model(&self) -> &EmbeddingModel;

    /// One vector for each text, in order. An empty batch gives an empty
    /// answer. The same text gives the same vector whatever stands beside it
    /// in the batch, up to rounding (cosine above 0.99999).
    ///
    /// Dropping the future cancels what has not been computed yet.
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

    /// Tokens of a text, special tokens included, before any cut at the
    /// model's limit; `None` where the model does not say.
    fn count_tokens(&self, text: &str) -> Option<usize>;

    /// Whether a lower-case word of four letters or more is in the model's vocabulary or English, or is a form or compound
    /// of such words; `None` if the model does not say.
    fn knows_word(&self, _word: &str) -> Option<bool> {
        None
    }

    /// Words of the model's vocabulary at edit distance 1 from a word, most frequent first.
    fn words_near(&self, _word: &str) -> Vec<String> {
        Vec::new()
    }

    /// Where the tokens of a text stand, in bytes and in order, special tokens left out; `None`
    /// where the model does not say.
    fn token_spans(&self, text: &str) -> Option<Vec<Range<usize>>>;
}

/// Whether a model is known to be trained on English: only the built-in model says which words it knows, and of words
/// with fewer than four letters it knows none.
pub fn is_for_english(embedder: &dyn Embedder) -> bool {
    ["which", "where", "these"].map(|word| embedder.knows_word(word)) == [Some(true); 3]
}
