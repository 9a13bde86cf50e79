//! Converts text to terms: splits identifiers, drops stop words, stems the rest.
//!
//! Entries and queries share one analyser, so that their terms agree. Must not know the indexed data.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_segmentation::UnicodeSegmentation;

use super::stop_words::is_stop_word;

/// A longer run of letters and digits is a blob (a digest, an encoded file), not a word; it is skipped.
pub(super) const MAX_WORD_BYTES: usize = 64;
/// Words of a query that are looked up; the rest is ignored.
pub(super) const MAX_QUERY_WORDS: usize = 512;

/// The terms of one run of letters and digits.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct RunTerms {
    /// Its words in order, stemmed, without stop words.
    pub(super) words: Vec<String>,
    /// The whole run as one term if it was split at a change of case: `GitHub` is also `github`.
    pub(super) joined: Option<String>,
}

/// Turns runs into terms.
pub(crate) struct Analyser {
    stemmer: Stemmer,
}

impl Analyser {
    /// Creates an analyser for English text and identifiers of any language.
    pub(crate) fn new() -> Self {
        Analyser {
            stemmer: Stemmer::create(Algorithm::English),
        }
    }

    /// Returns the terms of one run of [`for_each_run`].
    pub(super) fn run_terms(&self, run: &str) -> RunTerms {
        let parts = identifier_parts(run);
        let joined = (parts.len() > 1).then(|| self.stem(&run.to_lowercase()));
        let words = parts
            .into_iter()
            .map(str::to_lowercase)
            .filter(|word| !is_stop_word(word))
            .map(|word| self.stem(&word))
            .collect();
        RunTerms { words, joined }
    }

    /// A lower-case word without its ending.
    pub(crate) fn stem(&self, word: &str) -> String {
        self.stemmer.stem(word).into_owned()
    }
}

/// Calls `visit` with every run of letters and digits of `text`, in order.
///
/// Scripts without spaces are cut at Unicode word boundaries.
pub(super) fn for_each_run(text: &str, mut visit: impl FnMut(&str)) {
    let mut visit_runs = |piece: &str| {
        piece
            .split(|character: char| !character.is_alphanumeric())
            .filter(|run| !run.is_empty() && run.len() <= MAX_WORD_BYTES)
            .for_each(&mut visit);
    };
    if text.is_ascii() {
        visit_runs(text);
    } else {
        composed(text).unicode_words().for_each(visit_runs);
    }
}

/// Normalises the text (NFKC): the ligature `ﬁ` becomes `fi`, a letter and its accent become one character.
fn composed(text: &str) -> Cow<'_, str> {
    match is_nfkc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        IsNormalized::No | IsNormalized::Maybe => Cow::Owned(text.nfkc().collect()),
    }
}

/// Cuts `camelCase`, `HTTPServer` and `cuDF` at their changes of case.
pub(super) fn identifier_parts(run: &str) -> Vec<&str> {
    let characters: Vec<(usize, char)> = run.char_indices().collect();
    let mut parts = Vec::with_capacity(1);
    let mut start = 0;
    for at in 1..characters.len() {
        let (offset, character) = characters[at];
        let before = characters[at - 1].1;
        let after_is_lower = characters
            .get(at + 1)
            .is_some_and(|(_, next)| next.is_lowercase());
        let boundary = character.is_uppercase()
            && (before.is_lowercase()
                || before.is_numeric()
                || (before.is_uppercase() && after_is_lower));
        if boundary {
            parts.push(&run[start..offset]);
            start = offset;
        }
    }
    parts.push(&run[start..]);
    parts
}

/// Splits an identifier into its words: `aws.listBuckets_v2` becomes `aws list Buckets v2`.
pub(crate) fn split_identifier(identifier: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for_each_run(identifier, |run| {
        words.extend(identifier_parts(run).into_iter().map(str::to_owned));
    });
    words.join(" ")
}

/// A query's terms, each once, and the pairs of terms that are close together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct AnalysedQuery {
    terms: Vec<String>,
    /// Number of terms with full weight; later ones have [`ASIDE_WEIGHT`].
    whole: usize,
    pairs: Vec<(u16, u16)>,
}

/// Weight of a word of a pasted piece, relative to 1 for the writer's own words.
const ASIDE_WEIGHT: f32 = 0.1;

impl AnalysedQuery {
    /// The distinct terms, in order of first appearance.
    pub(crate) fn terms(&self) -> &[String] {
        &self.terms
    }

    /// The weight of each term, in order.
    pub(super) fn weights(&self) -> impl Iterator<Item = f32> {
        (0..self.terms.len()).map(|at| if at < self.whole { 1.0 } else { ASIDE_WEIGHT })
    }

    /// Returns ordered pairs of distinct terms (positions in [`terms`](Self::terms)) that are at most [`PAIR_WINDOW`]
    /// words apart, sorted.
    pub(super) fn pairs(&self) -> &[(u16, u16)] {
        &self.pairs
    }
}

/// Words between which two terms count as close: the next and the one after it.
pub(super) const PAIR_WINDOW: usize = 2;

/// Returns the terms of a query. Repeated words count once, because repetition in a long request has little meaning.
pub(crate) fn analyse_query(text: &str) -> AnalysedQuery {
    let analyser = Analyser::new();
    let mut query = AnalysedQuery::default();
    let mut sequence: Vec<u16> = Vec::new();
    for_each_run(text, |run| {
        if sequence.len() >= MAX_QUERY_WORDS {
            return;
        }
        let terms = analyser.run_terms(run);
        sequence.extend(
            terms
                .words
                .into_iter()
                .map(|word| intern(&mut query.terms, word)),
        );
        if let Some(joined) = terms.joined {
            intern(&mut query.terms, joined);
        }
    });
    query.pairs = close_pairs(&sequence);
    query.whole = query.terms.len();
    query
}

/// Returns the terms of a query, with those of set-aside pieces at a low weight.
pub(crate) fn analyse_query_beside(text: &str, aside: &str) -> AnalysedQuery {
    let mut query = analyse_query(text);
    for term in analyse_query(aside).terms {
        if query.terms.len() < 2 * MAX_QUERY_WORDS {
            intern(&mut query.terms, term);
        }
    }
    query
}

fn intern(terms: &mut Vec<String>, term: String) -> u16 {
    let position = terms
        .iter()
        .position(|known| *known == term)
        .unwrap_or_else(|| {
            terms.push(term);
            terms.len() - 1
        });
    // At most MAX_QUERY_WORDS runs of at most MAX_WORD_BYTES parts each: far below the type's end.
    u16::try_from(position).unwrap_or(u16::MAX)
}

fn close_pairs(sequence: &[u16]) -> Vec<(u16, u16)> {
    let mut pairs: Vec<(u16, u16)> = (1..=PAIR_WINDOW)
        .flat_map(|gap| {
            let later = sequence.get(gap..).unwrap_or_default();
            sequence.iter().zip(later)
        })
        .filter(|(first, second)| first != second)
        .map(|(first, second)| (*first, *second))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_taken_apart_at_case_dots_and_underscores() {
        let cases = [
            ("aws.listBuckets_v2", "aws list Buckets v2"),
            ("HTTPServer", "HTTP Server"),
            ("cuDF", "cu DF"),
            ("TheClique||Songkick concert", "The Clique Songkick concert"),
            ("plain", "plain"),
            ("", ""),
        ];
        for (identifier, words) in cases {
            assert_eq!(split_identifier(identifier), words, "{identifier}");
        }
    }

    #[test]
    fn a_query_keeps_each_stemmed_word_once_and_the_joined_form_of_identifiers() {
        let query = analyse_query("Please list the GitHub issues, then listing issues again");
        assert_eq!(query.terms(), ["list", "git", "hub", "github", "issu"]);
        // list-git, git-hub, list-hub, git-issu, hub-issu, hub-list, issu-list
        assert_eq!(
            query.pairs(),
            [
                (0, 1),
                (0, 2),
                (0, 4),
                (1, 2),
                (1, 4),
                (2, 0),
                (2, 4),
                (4, 0)
            ]
        );
    }

    #[test]
    fn other_scripts_are_cut_into_words_and_blobs_are_skipped() {
        let blob = "a".repeat(MAX_WORD_BYTES + 1);
        let query = analyse_query(&format!("必应 Müller's {blob}"));
        assert_eq!(query.terms(), ["必", "应", "müller"]);
    }

    /// PDFs contain ligatures, and some keyboards produce separate accents.
    #[test]
    fn a_word_is_the_same_in_whatever_letters_it_is_written() {
        for (written, typed) in [
            ("the oﬀice ﬁle", "the office file"),
            ("ＡＰＩ ｋｅｙ", "API key"),
            ("cafe\u{301} Mu\u{308}ller", "café Müller"),
        ] {
            assert_eq!(analyse_query(written), analyse_query(typed), "{written}");
        }
    }
}
