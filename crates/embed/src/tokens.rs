//! Converts text to token ids: the model's own tokenizer, with the file's truncation and padding disabled, and a cut at
//! the model's limit. Must not know weights.

use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use tokenizers::Tokenizer;

use super::words::Words;

/// Text beyond this is not read: 256 tokens rarely reach 2 KiB, and the tokenizer would otherwise process a whole book
/// for its first page.
pub const MAX_TEXT_BYTES: usize = 64 << 10;

type TokenizerError = Box<dyn std::error::Error + Send + Sync>;

/// The model's tokenizer.
pub(super) struct Tokens {
    tokenizer: Tokenizer,
    limit: usize,
    /// Created at the first query for a word.
    words: OnceLock<Words>,
}

impl Tokens {
    /// Reads `tokenizer.json`; texts are cut at `limit` tokens, the two
    /// special ones included.
    pub(super) fn load(directory: &Path, limit: usize) -> Result<Tokens, TokenizerError> {
        let mut tokenizer = Tokenizer::from_file(directory.join("tokenizer.json"))?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None)?;
        Ok(Tokens {
            tokenizer,
            limit,
            words: OnceLock::new(),
        })
    }

    /// Ids that the tokenizer can name.
    pub(super) fn vocabulary(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }

    /// The whole words of the vocabulary.
    pub(super) fn words(&self) -> &Words {
        let whole = || Words::from_vocabulary(self.tokenizer.get_vocab(false));
        self.words.get_or_init(whole)
    }

    /// The ids of one text, special tokens included, at most the limit.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let mut ids = self.encode_whole(readable(text))?;
        if ids.len() > self.limit
            && let Some(last) = ids.last().copied()
        {
            ids.truncate(self.limit - 1);
            ids.push(last);
        }
        Ok(ids)
    }

    /// Returns the number of a text's tokens, including special tokens, before any cut.
    pub(super) fn count(&self, text: &str) -> Result<usize, TokenizerError> {
        Ok(self.encode_whole(text)?.len())
    }

    /// Returns the ranges of a text's tokens, without special ones and without any cut.
    pub(super) fn spans(&self, text: &str) -> Result<Vec<Range<usize>>, TokenizerError> {
        let encoding = self.tokenizer.encode(text, false)?;
        let offsets = encoding.get_offsets().iter();
        Ok(offsets.map(|(start, end)| *start..*end).collect())
    }

    fn encode_whole(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        Ok(self.tokenizer.encode_fast(text, true)?.get_ids().to_vec())
    }
}

/// Returns the part of a text that is read.
fn readable(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}

/// Several texts' ids laid end to end, so that no padding is computed.
#[derive(Debug, Default)]
pub(super) struct Batch {
    ids: Vec<u32>,
    spans: Vec<Range<usize>>,
}

impl Batch {
    /// Adds a text.
    pub(super) fn push(&mut self, ids: &[u32]) {
        let start = self.ids.len();
        self.ids.extend_from_slice(ids);
        self.spans.push(start..self.ids.len());
    }

    /// All ids.
    pub(super) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Each text's rows.
    pub(super) fn spans(&self) -> &[Range<usize>] {
        &self.spans
    }

    /// Tokens in all.
    pub(super) fn rows(&self) -> usize {
        self.ids.len()
    }
}
