//! Embedding models behind the port [`Embedder`]: all-MiniLM-L6-v2 in this process ([`MiniLm`]), or a server that
//! speaks the OpenAI embeddings API ([`RemoteEmbedder`]). Knows nothing of indexes or documents, and reads no
//! environment: every path and key comes from the caller.
//!
//! [`Embedder`]: charter_search::embed::Embedder

// Only the command line writes to the terminal, through writers that end quietly when a reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

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
mod weights;
mod words;
mod workers;

pub use minilm::{DEFAULT_TOKEN_LIMIT, MAX_TOKEN_LIMIT, MiniLm, MiniLmOptions};
pub use remote::{
    ApiKey, DEFAULT_REQUEST_TIMEOUT, DEFAULT_TEXTS_PER_REQUEST, MAX_RETRIES, MAX_RETRY_PAUSE,
    Prefixes, RemoteEmbedder, RemoteError, RemoteOptions,
};
pub use tokens::MAX_TEXT_BYTES;
pub use weights::{WeightsError, WeightsMemory};
pub use workers::MAX_CALLS_AT_ONCE;

/// Why a model could not be loaded.
#[derive(Debug, Error)]
pub enum ModelLoadError {
    /// The model's weights or configuration could not be loaded.
    #[error("the embedding model could not be loaded")]
    Weights {
        /// The fault.
        source: WeightsError,
    },
    /// The tokenizer could not be loaded.
    #[error("the embedding model's tokenizer failed")]
    Tokenizer {
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The thread that loads the tokenizer panicked.
    #[error("the embedding model's tokenizer panicked")]
    TokenizerPanicked,
    /// The tokenizer belongs to another model.
    #[error("the tokenizer knows {tokenizer} tokens, the weights only {weights}")]
    Vocabulary {
        /// Tokens of the tokenizer.
        tokenizer: usize,
        /// Rows of the weights.
        weights: usize,
    },
    /// The requested token limit is out of range.
    #[error("a token limit of {asked} is outside 3 to {MAX_TOKEN_LIMIT}")]
    TokenLimit {
        /// The requested limit.
        asked: usize,
    },
    /// A worker thread could not be started.
    #[error("starting the embedder's threads failed")]
    Threads {
        /// The system's error.
        source: std::io::Error,
    },
}
