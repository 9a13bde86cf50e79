//! Splits a text into overlapping windows of tokens (seed 000 §2.6: windows of 512 tokens).
//!
//! Once it is half full, a window ends at the end of a section, else of a paragraph, a line or a sentence, so that a
//! change in one section does not move the windows of others. Must not know models: the caller supplies the ranges of
//! tokens.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::embed::Embedder;

/// Longest line that is passed to a tokenizer at once, in bytes.
const MAX_LINE_BYTES: usize = 8 << 10;
/// Letters of a word that count as one token without a tokenizer.
const ESTIMATED_TOKEN_CHARS: usize = 5;

/// Options for splitting texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowSettings {
    /// Tokens of one vector, without the model's special ones.
    pub vector_tokens: usize,
    /// Vectors of one window.
    pub vectors: usize,
    /// Tokens that a window repeats of the one before, unless a section begins with it.
    pub overlap_tokens: usize,
}

impl Default for WindowSettings {
    /// 512 tokens: all-MiniLM-L6-v2 was trained on 256, two of which are special, so a window has two vectors of 254
    /// tokens of its own.
    fn default() -> Self {
        Self {
            vector_tokens: 254,
            vectors: 2,
            overlap_tokens: 64,
        }
    }
}

impl WindowSettings {
    /// Most tokens of a window.
    fn tokens(&self) -> usize {
        self.vector_tokens.max(1) * self.vectors.max(1)
    }
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Its range, in bytes.
    pub span: Range<usize>,
    /// The parts with a vector each, in bytes of the whole text, in order.
    pub parts: Vec<Range<usize>>,
}

/// Returns the ranges of a text's tokens, in bytes: by the embedder's own tokenizer, or by an estimate without one.
#[must_use]
pub fn token_spans(text: &str, embedder: Option<&dyn Embedder>) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(piece_end(rest));
            let known = embedder.and_then(|embedder| embedder.token_spans(piece));
            let known = known.unwrap_or_else(|| estimated(piece));
            spans.extend(known.into_iter().map(|span| at + span.start..at + span.end));
            at += piece.len();
            rest = after;
        }
    }
    spans
}

/// Returns the end of a piece of a line that is too long: after white space, if there is any.
fn piece_end(line: &str) -> usize {
    if line.len() <= MAX_LINE_BYTES {
        return line.len();
    }
    let most = line.floor_char_boundary(MAX_LINE_BYTES);
    let space = line[..most].rfind(char::is_whitespace);
    match space {
        Some(at) if at > 0 => line.ceil_char_boundary(at + 1),
        Some(_) | None => most,
    }
}

fn estimated(text: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut letters = 0;
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        if character.is_whitespace() {
            letters = 0;
            continue;
        }
        let goes_on = character.is_alphanumeric() && (1..ESTIMATED_TOKEN_CHARS).contains(&letters);
        match spans.last_mut() {
            Some(last) if goes_on => last.end = end,
            Some(_) | None => {
                spans.push(at..end);
                letters = 0;
            }
        }
        letters = if character.is_alphanumeric() {
            letters + 1
        } else {
            0
        };
    }
    spans
}

/// Splits a text. `tokens` are its tokens in order, `sections` the offsets at which sections begin, ascending. Every
/// token is in at least one window.
#[must_use]
pub fn windows(
    text: &str,
    tokens: &[Range<usize>],
    sections: &[usize],
    settings: &WindowSettings,
) -> Vec<Window> {
    let cutter = Cutter {
        text,
        tokens,
        settings,
        sections: sections
            .iter()
            .map(|at| tokens.partition_point(|token| token.start < *at))
            .collect(),
    };
    let mut windows = Vec::new();
    let mut from = 0;
    while from < tokens.len() {
        let cut = cutter.cut(from);
        windows.push(cutter.window(from..cut.end));
        from = cut.next;
    }
    windows
}

/// The end of a window and the beginning of the next one, in tokens.
struct Cut {
    end: usize,
    next: usize,
}

struct Cutter<'a> {
    text: &'a str,
    tokens: &'a [Range<usize>],
    settings: &'a WindowSettings,
    /// Tokens that sections begin with.
    sections: Vec<usize>,
}

impl Cutter<'_> {
    fn cut(&self, from: usize) -> Cut {
        let most = self.settings.tokens();
        let full = (from + most).min(self.tokens.len());
        let half = from + most / 2;
        let section = self.sections.partition_point(|at| *at < half.max(from + 1));
        if let Some(at) = self.sections.get(section).filter(|at| **at < full) {
            return Cut {
                end: *at,
                next: *at,
            };
        }
        if full == self.tokens.len() {
            return Cut {
                end: full,
                next: full,
            };
        }
        // A section that begins right after a full window needs no overlap.
        if self.sections.get(section) == Some(&full) {
            return Cut {
                end: full,
                next: full,
            };
        }
        let least = from + (most - most / 4).max(1);
        let end = self.boundary(least, full);
        let back = self.settings.overlap_tokens.min(most / 2);
        let next = self.word_start(end.saturating_sub(back).max(from + 1), end);
        Cut { end, next }
    }

    /// Returns the last end of a paragraph among `least..=most` tokens, else of a line, a sentence, a word.
    fn boundary(&self, least: usize, most: usize) -> usize {
        let ends = |rank: Rank| (least..=most).rev().find(|end| self.rank(*end) >= rank);
        let ranks = [Rank::Paragraph, Rank::Line, Rank::Sentence, Rank::Word];
        ranks.into_iter().find_map(ends).unwrap_or(most)
    }

    fn rank(&self, end: usize) -> Rank {
        let (Some(last), Some(next)) = (self.tokens.get(end - 1), self.tokens.get(end)) else {
            return Rank::Paragraph;
        };
        // Tokens of one word may overlap in odd scripts.
        let between = self.text.get(last.end..next.start).unwrap_or_default();
        let lines = between.bytes().filter(|byte| *byte == b'\n').count();
        let sentence = self.text[..last.end].ends_with(['.', '!', '?', ':', ';']);
        match (lines, between.is_empty()) {
            (2.., _) => Rank::Paragraph,
            (1, _) => Rank::Line,
            (0, true) => Rank::Inside,
            (0, false) if sentence => Rank::Sentence,
            (0, false) => Rank::Word,
        }
    }

    /// Returns the first token at or after `at` that begins a word, before `end`.
    fn word_start(&self, at: usize, end: usize) -> usize {
        (at..end)
            .find(|token| self.rank(*token) > Rank::Inside)
            .unwrap_or(end)
    }

    fn window(&self, tokens: Range<usize>) -> Window {
        let most = self.settings.vector_tokens.max(1);
        let parts = tokens.len().div_ceil(most).max(1);
        let mut spans = Vec::with_capacity(parts);
        let mut from = tokens.start;
        for part in (1..=parts).rev() {
            let to = match part {
                1 => tokens.end,
                left => {
                    let even = from + (tokens.end - from).div_ceil(left);
                    // Not so early that the rest no longer fits.
                    let least = tokens.end.saturating_sub((left - 1) * most).max(from + 1);
                    self.boundary(least.max(even.saturating_sub(most / 8)), even)
                }
            };
            spans.push(self.bytes(from..to));
            from = to;
        }
        Window {
            span: self.bytes(tokens),
            parts: spans,
        }
    }

    /// Returns the range from the first token's beginning to the next token's, without white space at the end. Text
    /// between tokens belongs to the token before it, or to the first.
    fn bytes(&self, tokens: Range<usize>) -> Range<usize> {
        let start = match tokens.start {
            0 => self.text.len() - self.text.trim_start().len(),
            first => self.tokens[first].start,
        };
        let end = self
            .tokens
            .get(tokens.end)
            .map_or(self.text.len(), |next| next.start);
        let end = end.max(start);
        let content = self.text.get(start..end).unwrap_or_default();
        start..start + content.trim_end().len()
    }
}

/// The quality of a position for a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Inside,
    Word,
    Sentence,
    Line,
    Paragraph,
}

#[cfg(test)]
mod tests;
