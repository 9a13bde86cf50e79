//! Parts that a sentence retracts: exclusions ("all but A-1") and corrections ("sorry, I mean B-2").

use std::collections::HashSet;

use super::exclusions::{Cue, Values, longest};
use super::text::Sentence;
use super::words::may_be_value;

/// Words that introduce a correction of the preceding text.
const CORRECTIONS: [&[&str]; 22] = [
    &["i", "mean"],
    &["i", "meant"],
    &["i", "actually", "mean"],
    &["i", "actually", "meant"],
    &["make", "that"],
    &["make", "it"],
    &["scratch", "that"],
    &["strike", "that"],
    &["correction"],
    &["oops"],
    &["whoops"],
    &["or", "rather"],
    &["no", "wait"],
    &["wait", "no"],
    &["sorry"],
    &["my", "mistake"],
    &["typo"],
    &["actually"],
    &["wait"],
    &["better"],
    &["should", "be"],
    &["should", "have", "been"],
];

/// Words that end an exclusion after its value.
const ENDS: [&str; 14] = [
    "but", "in", "for", "with", "on", "at", "using", "from", "under", "via", "only", "then",
    "please", "to",
];

/// Words that always end an exclusion.
const STOPS: [&str; 4] = ["using", "via", "please", "then"];

/// The maximum length of an exclusion without a value, in words.
const REACH: usize = 8;

/// An exclusion in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exclusion {
    /// The first word of the cue, or of the values before it.
    pub(super) first: usize,
    /// The number of words, including the cue.
    pub(super) words: usize,
}

impl Exclusion {
    /// Returns whether a word is part of it.
    pub(super) fn has(self, at: usize) -> bool {
        (self.first..self.first + self.words).contains(&at)
    }
}

/// The effective parts of a sentence.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    excluded: Vec<bool>,
    exclusions: Vec<Exclusion>,
    corrected: Vec<usize>,
}

impl Scope {
    /// Analyses a sentence. `known` holds words of the values in declarations, in lower case.
    pub(super) fn from_sentence(sentence: &Sentence<'_>, known: &HashSet<String>) -> Self {
        let values = Values { sentence, known };
        let mut scope = Self {
            excluded: vec![false; sentence.len()],
            ..Self::default()
        };
        for at in 0..sentence.len() {
            if let Some(cue) = values.cue(at) {
                scope.exclude(values, cue);
            }
            if let Some(words) = longest(sentence, at, &CORRECTIONS) {
                scope.corrected.push(at + words);
            } else if sentence.lower(at) == "no" && sentence.breaks(at) && sentence.breaks(at + 1) {
                scope.corrected.push(at + 1);
            }
        }
        scope
    }

    fn exclude(&mut self, values: Values<'_, '_>, cue: Cue) {
        let sentence = values.sentence;
        let apart = cue.until.is_none()
            && sentence
                .gap(cue.from)
                .contains([',', ';', '.', '!', '?', '\n']);
        // An exclusion within another one ends with it.
        if self.is_excluded(cue.from) || cue.from >= sentence.len() || apart {
            return;
        }
        let end = cue.until.unwrap_or_else(|| end_of_clause(values, cue.from));
        for excluded in self.excluded.get_mut(cue.from..end).into_iter().flatten() {
            *excluded = true;
        }
        let mut named = (cue.from..end).any(|at| values.is_value(at));
        named |= cue.is_strict && (cue.from..end).any(|at| may_be_value(sentence.lower(at)));
        if named {
            let words = end.max(cue.end).saturating_sub(cue.first);
            self.exclusions.push(Exclusion {
                first: cue.first,
                words,
            });
        }
    }

    /// Returns whether a word is excluded.
    pub(super) fn is_excluded(&self, at: usize) -> bool {
        self.excluded.get(at).copied().unwrap_or_default()
    }

    /// Returns the exclusions with a named value.
    pub(super) fn exclusions(&self) -> &[Exclusion] {
        &self.exclusions
    }

    /// Returns the positions after the cues of corrections.
    pub(super) fn corrections(&self) -> impl Iterator<Item = usize> {
        self.corrected.iter().copied()
    }

    /// Returns the start of the last correction at or before a word.
    pub(super) fn correction_before(&self, at: usize) -> Option<usize> {
        let mut corrections = self.corrected.iter().copied();
        corrections.rfind(|from| *from <= at)
    }
}

/// Returns the end of an exclusion that extends to the end of its clause.
fn end_of_clause(values: Values<'_, '_>, from: usize) -> usize {
    let sentence = values.sentence;
    let mut named = false;
    let mut at = from;
    while at < sentence.len() {
        let word = sentence.lower(at);
        let joint = matches!(word, "and" | "or" | "nor");
        let goes_on = values.goes_on(at);
        let broken = at > from && sentence.breaks(at) && !goes_on;
        let ended = named && (ENDS.contains(&word) || (joint && !goes_on));
        let stopped = at > from && STOPS.contains(&word);
        if broken || ended || stopped || (!named && at - from > REACH) {
            break;
        }
        named = named || values.is_value(at);
        at += 1;
    }
    at
}
