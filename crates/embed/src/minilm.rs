//! all-MiniLM-L6-v2 in this process: loads the model, limits the callers' requests, passes calls to the workers. Knows
//! no arithmetic and no file format.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use charter_search::embed::{
    EmbedError, Embedder, EmbeddingModel, MAX_TEXTS_PER_CALL, Quantisation, Vector,
};
use tokio::sync::Semaphore;

use super::bert::Scratch;
use super::engine::{Engine, ROWS_PER_PASS};
use super::shape::{HIDDEN, POSITIONS};
use super::workers::{MAX_CALLS_AT_ONCE, Workers};
use super::{ModelLoadError, WeightsMemory};

/// Tokens of a text that are embedded, including the two special ones; the rest is cut off. The model was trained on
/// 256 (its positions reach 512).
pub const DEFAULT_TOKEN_LIMIT: usize = 256;
/// The greatest limit that the weights allow.
pub const MAX_TOKEN_LIMIT: usize = POSITIONS;
/// A text has at least its two special tokens and one of its own.
const MIN_TOKEN_LIMIT: usize = 3;
/// Default limit of threads: more threads help a single query little.
const MAX_DEFAULT_THREADS: usize = 8;

/// How to run the model.
#[derive(Clone, Debug)]
pub struct MiniLmOptions {
    /// Worker threads; by default one for each core, at most 8.
    pub threads: NonZeroUsize,
    /// Tokens of a text that are embedded, 3 to [`MAX_TOKEN_LIMIT`].
    pub token_limit: usize,
    /// Location of the weights.
    pub weights: WeightsMemory,
}

impl Default for MiniLmOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let most = NonZeroUsize::new(MAX_DEFAULT_THREADS).unwrap_or(NonZeroUsize::MIN);
        MiniLmOptions {
            threads: cores.min(most),
            token_limit: DEFAULT_TOKEN_LIMIT,
            weights: WeightsMemory::Private,
        }
    }
}

/// The model, loaded, with its threads. Dropping it ends them.
pub struct MiniLm {
    model: EmbeddingModel,
    engine: Arc<Engine>,
    workers: Workers,
    places: Arc<Semaphore>,
}

impl MiniLm {
    /// Loads `config.json`, `tokenizer.json` and `model.safetensors` from
    /// `directory` and starts the threads. Blocks for some 100 ms, or 10 ms where prepacked weights are shared.
    ///
    /// # Errors
    /// [`ModelLoadError`].
    pub fn load(directory: &Path, options: &MiniLmOptions) -> Result<MiniLm, ModelLoadError> {
        let limit = options.token_limit;
        if !(MIN_TOKEN_LIMIT..=MAX_TOKEN_LIMIT).contains(&limit) {
            return Err(ModelLoadError::TokenLimit { asked: limit });
        }
        let engine = Arc::new(Engine::load(directory, limit, options.weights)?);
        Ok(MiniLm {
            model: EmbeddingModel {
                name: "all-MiniLM-L6-v2".to_owned(),
                dims: HIDDEN,
                quantisation: Quantisation::F32,
            },
            workers: Workers::start(Arc::clone(&engine), options.threads)?,
            engine,
            places: Arc::new(Semaphore::new(MAX_CALLS_AT_ONCE)),
        })
    }

    /// Embeds in the calling thread, without a queue or a team.
    ///
    /// # Errors
    /// As [`Embedder::embed`].
    pub fn embed_now(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        check_count(texts.len())?;
        let mut scratch = Scratch::new(ROWS_PER_PASS);
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in self.engine.tokenize(texts.iter().copied())? {
            vectors.extend(self.engine.encode_alone(&batch, &mut scratch)?);
        }
        Ok(vectors)
    }
}

#[async_trait]
impl Embedder for MiniLm {
    fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        check_count(texts.len())?;
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let place = Arc::clone(&self.places)
            .acquire_owned()
            .await
            .map_err(|_| EmbedError::Stopped)?;
        let answer = self.workers.submit(texts, place);
        answer.await.map_err(|_| EmbedError::Stopped)?
    }

    fn count_tokens(&self, text: &str) -> Option<usize> {
        self.engine.count_tokens(text).ok()
    }

    fn knows_word(&self, word: &str) -> Option<bool> {
        Some(self.engine.words().knows(word))
    }

    fn words_near(&self, word: &str) -> Vec<String> {
        self.engine.words().near(word)
    }

    fn token_spans(&self, text: &str) -> Option<Vec<Range<usize>>> {
        self.engine.token_spans(text).ok()
    }
}

fn check_count(found: usize) -> Result<(), EmbedError> {
    match found > MAX_TEXTS_PER_CALL {
        true => Err(EmbedError::TooManyTexts {
            found,
            limit: MAX_TEXTS_PER_CALL,
        }),
        false => Ok(()),
    }
}
