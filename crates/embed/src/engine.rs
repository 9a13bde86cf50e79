//! Tokenizer and encoder as one thing that turns texts into vectors, alone or
//! with a team. Knows no queue and no caller.

use std::ops::Range;
use std::path::Path;

use charter_search::embed::{EmbedError, Vector};

use super::bert::{Bert, Scratch, TeamMember};
use super::kernel::Kernels;
use super::team::{Broken, Team};
use super::tokens::{Batch, Tokens};
use super::words::Words;
use super::{ModelLoadError, WeightsMemory, prepacked, weights};

/// Tokens computed in one pass: enough to use the registers fully, few enough
/// for the activations to stay in the second-level cache. A longer text is a
/// pass of its own.
pub(super) const ROWS_PER_PASS: usize = 160;

/// The loaded model.
pub(super) struct Engine {
    tokens: Tokens,
    bert: Bert,
    kernels: Kernels,
}

impl Engine {
    /// Loads tokenizer and weights side by side.
    pub(super) fn load(
        directory: &Path,
        token_limit: usize,
        memory: WeightsMemory,
    ) -> Result<Engine, ModelLoadError> {
        let (tokens, bert) = std::thread::scope(|scope| {
            let tokens = scope.spawn(|| Tokens::load(directory, token_limit));
            let bert = match memory {
                WeightsMemory::Private => weights::load(directory),
                WeightsMemory::Shared => prepacked::load(directory),
            };
            (tokens.join(), bert)
        });
        let tokens = tokens
            .map_err(|_| ModelLoadError::TokenizerPanicked)?
            .map_err(|source| ModelLoadError::Tokenizer { source })?;
        let bert = bert.map_err(|source| ModelLoadError::Weights { source })?;
        if tokens.vocabulary() > bert.vocabulary() {
            return Err(ModelLoadError::Vocabulary {
                tokenizer: tokens.vocabulary(),
                weights: bert.vocabulary(),
            });
        }
        let kernels = Kernels::detect();
        tracing::info!(instructions = ?kernels.set(), "embedding model loaded");
        Ok(Engine {
            tokens,
            bert,
            kernels,
        })
    }

    /// The words that the model knows.
    pub(super) fn words(&self) -> &Words {
        self.tokens.words()
    }

    /// How many tokens a text has before any cut.
    pub(super) fn count_tokens(&self, text: &str) -> Result<usize, EmbedError> {
        self.tokens
            .count(text)
            .map_err(|source| EmbedError::Tokenizer { source })
    }

    /// Returns the ranges of a text's tokens.
    pub(super) fn token_spans(&self, text: &str) -> Result<Vec<Range<usize>>, EmbedError> {
        self.tokens
            .spans(text)
            .map_err(|source| EmbedError::Tokenizer { source })
    }

    /// Tokenizes, in passes of about [`ROWS_PER_PASS`] tokens each.
    pub(super) fn tokenize<'a>(
        &self,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<Batch>, EmbedError> {
        let mut batches: Vec<Batch> = Vec::new();
        for text in texts {
            let ids = self
                .tokens
                .encode(text)
                .map_err(|source| EmbedError::Tokenizer { source })?;
            match batches.last_mut() {
                Some(batch) if batch.rows() + ids.len() <= ROWS_PER_PASS => batch.push(&ids),
                Some(_) | None => {
                    let mut batch = Batch::default();
                    batch.push(&ids);
                    batches.push(batch);
                }
            }
        }
        Ok(batches)
    }

    /// One member's share of one pass.
    pub(super) fn encode(
        &self,
        seat: &TeamMember,
        batch: &Batch,
        scratch: &mut Scratch,
    ) -> Result<(), Broken> {
        self.bert.encode(self.kernels, seat, batch, scratch)
    }

    /// A pass by one thread.
    pub(super) fn encode_alone(
        &self,
        batch: &Batch,
        scratch: &mut Scratch,
    ) -> Result<Vec<Vector>, EmbedError> {
        let team = Team::for_batch(1, batch);
        let seat = TeamMember {
            team: &team,
            rank: 0,
        };
        self.encode(&seat, batch, scratch)
            .map_err(|Broken| EmbedError::WorkerPanicked)?;
        self.vectors(batch, scratch)
    }

    /// The vectors of a finished pass.
    pub(super) fn vectors(
        &self,
        batch: &Batch,
        scratch: &Scratch,
    ) -> Result<Vec<Vector>, EmbedError> {
        Bert::pool(batch, scratch)
            .into_iter()
            .map(|mean| Vector::new(mean).map_err(|source| EmbedError::Vector { source }))
            .collect()
    }
}
