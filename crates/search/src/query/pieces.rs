//! Splits a text into sentences and clauses, by punctuation and conjunctions only.

use std::collections::BTreeSet;

use super::WHOLE_QUERY_CHARS;
use crate::lexical::analyse_query;

/// Sentences of a request that are embedded; later ones count only as part of the whole.
pub const MAX_SENTENCES: usize = 16;
/// A sentence with fewer distinct terms ("Thanks!") names no task of its own.
const MIN_SENTENCE_TERMS: usize = 2;
/// Most clauses of a request; a text with more is prose, not a list of requests.
const MAX_CLAUSES: usize = 4;
/// [`MIN_SENTENCE_TERMS`] for a clause.
const MIN_CLAUSE_TERMS: usize = 2;

/// Conjunctions between two requests in one sentence, longest first.
#[rustfmt::skip]
const JOINTS: [&str; 22] = [
    ", and after that ", " and after that ", ", and then also ", ", and also ", " and then also ", ", and then ", " and also ",
    " and then ", " and, while you are at it, ", ", also ", ", then ", ", plus ", " as well as ", " additionally ",
    ", additionally, ", " besides, ", ", after that ", " afterwards ", ", next ", "; and ", "; then ", ", and ",
];

/// Words that begin a request after "and".
#[rustfmt::skip]
const OPENERS: [&str; 43] = [
    "what", "what's", "which", "who", "whose", "where", "when", "why", "how", "is", "are", "do", "does", "did", "can", "could",
    "will", "would", "should", "please", "tell", "show", "list", "find", "get", "give", "check", "create", "make", "send", "set",
    "add", "remove", "delete", "update", "search", "look", "i", "i'd", "let", "help", "explain", "compare",
];

/// Returns sentences to embed; none if the text is short or is one sentence.
pub(super) fn sentences(text: &str) -> Vec<String> {
    if text.chars().count() <= WHOLE_QUERY_CHARS {
        return Vec::new();
    }
    let pieces: Vec<&str> = cut(text);
    if pieces.len() < 2 {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    let said = pieces.into_iter().filter(|piece| {
        analyse_query(piece).terms().len() >= MIN_SENTENCE_TERMS && seen.insert(*piece)
    });
    said.take(MAX_SENTENCES).map(str::to_owned).collect()
}

/// Splits after `.`, `!`, `?`, `;` or `:` before white space, and at line ends.
fn cut(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        let ends = character == '\n'
            || (character.is_whitespace() && matches!(before, '.' | '!' | '?' | ';' | ':'));
        if ends {
            pieces.push(&text[start..at]);
            start = at;
        }
        before = character;
    }
    pieces.push(&text[start..]);
    pieces.retain_mut(|piece| {
        *piece = piece.trim();
        !piece.is_empty()
    });
    pieces
}

/// The clauses of a text, if there are 2 to [`MAX_CLAUSES`]; otherwise none.
pub(super) fn clauses(text: &str) -> Vec<String> {
    let mut found: Vec<&str> = Vec::new();
    for sentence in cut(text) {
        let mut rest = sentence;
        while let Some((before, after)) = joined(rest) {
            found.push(before);
            rest = after;
            if found.len() > 2 * MAX_CLAUSES {
                return Vec::new();
            }
        }
        found.push(rest);
        if found.len() > 2 * MAX_CLAUSES {
            return Vec::new();
        }
    }
    found.retain(|clause| analyse_query(clause).terms().len() >= MIN_CLAUSE_TERMS);
    if !(2..=MAX_CLAUSES).contains(&found.len()) {
        return Vec::new();
    }
    found.into_iter().map(str::to_owned).collect()
}

/// The text before and after the first conjunction.
fn joined(text: &str) -> Option<(&str, &str)> {
    let places = JOINTS.iter().filter_map(|joint| {
        let at = find_ignoring_case(text, joint)?;
        Some((at, joint.len()))
    });
    let places = places.chain(and_before_opener(text));
    let (at, length) = places.min_by_key(|(at, length)| (*at, usize::MAX - length))?;
    let (before, after) = (text[..at].trim(), text[at + length..].trim());
    (!before.is_empty() && !after.is_empty()).then_some((before, after))
}

/// Returns the first "and" before a word that begins a request.
fn and_before_opener(text: &str) -> Option<(usize, usize)> {
    const AND: &str = " and ";
    let mut from = 0;
    while let Some(at) = find_ignoring_case(&text[from..], AND) {
        let after = from + at + AND.len();
        let next = text[after..].split(|c: char| !c.is_alphanumeric()).next();
        if next.is_some_and(|next| OPENERS.contains(&next.to_lowercase().as_str())) {
            return Some((from + at, AND.len()));
        }
        from = after;
    }
    None
}

/// Returns the position of an ASCII text in another; ignores case.
fn find_ignoring_case(text: &str, wanted: &str) -> Option<usize> {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    let mut windows = text.windows(wanted.len());
    windows.position(|window| window.eq_ignore_ascii_case(wanted))
}
