//! Restrictions of a request that no parameter consumes: "older than 100 days", "since March", "only the stopped ones".
//! They are reported, so that an answer about everything is not mistaken for one about a part.

use std::collections::HashSet;
use std::ops::Range;

use charter_contract::time::Timestamp;

use super::quantities::quantity;
use super::relations::opened_before;
use super::scope::Scope;
use super::text::Sentence;
use super::times::{TimeReading, Toward, time_at};
use super::words::is_function_word;

/// The maximum number of reported restrictions per sentence.
const REPORTED: usize = 5;

/// The maximum number of words between "only" and "ones".
const ONES: usize = 4;

/// Words that compare with a number with a unit.
const COMPARES: [&str; 12] = [
    "over",
    "under",
    "above",
    "below",
    "exceeding",
    "beyond",
    "within",
    "last",
    "past",
    "for",
    "maximum",
    "minimum",
];

/// Words before a time that limit the request.
const BOUNDS: [&str; 6] = ["since", "before", "after", "until", "till", "during"];

/// Returns the restrictions of a sentence outside the words in `taken`, in the order of the sentence.
pub(super) fn restrictions(
    sentence: &Sentence<'_>,
    scope: &Scope,
    taken: &HashSet<usize>,
    known: &HashSet<String>,
    now: Timestamp,
) -> Vec<String> {
    let is_free = |words: &Range<usize>| {
        words
            .clone()
            .all(|at| !taken.contains(&at) && !scope.is_excluded(at))
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < sentence.len() && found.len() < REPORTED {
        let words = compared(sentence, at)
            .or_else(|| dated(sentence, at, now))
            .or_else(|| only(sentence, at))
            .or_else(|| negated(sentence, at, known));
        match words {
            Some(words) => {
                at = words.end.max(at + 1);
                if is_free(&words) {
                    found.push(sentence.slice(words.start, words.len()).to_owned());
                }
            }
            None => at += 1,
        }
    }
    found
}

/// Returns the number at a position with the comparison before it: "older than 100 days", "over 5 GB".
fn compared(sentence: &Sentence<'_>, at: usize) -> Option<Range<usize>> {
    let found = quantity(sentence, at)?;
    let mut first = at;
    while sentence.joins(first)
        && matches!(
            sentence.lower(first - 1),
            "the" | "about" | "around" | "a" | "some" | "roughly" | "approximately"
        )
    {
        first -= 1;
    }
    if !sentence.joins(first) {
        return None;
    }
    let before = sentence.lower(first - 1);
    // "(Down for 45 seconds)" is a statement about a thing, not a request.
    if before == "for" && opened_before(sentence, at).is_some() {
        return None;
    }
    let second = match sentence.joins(first - 1) {
        true => sentence.lower(first - 2),
        false => "",
    };
    let start = match (second, before) {
        ("rather" | "other", "than") => None,
        (_, "than") if !second.is_empty() => Some(first - 2),
        ("at", "least" | "most") => Some(first - 2),
        ("up", "to") if found.unit.is_some() => Some(first - 2),
        (_, word) if COMPARES.contains(&word) && found.unit.is_some() => Some(first - 1),
        _ => None,
    };
    start.map(|start| start..at + found.words)
}

/// Returns the time at a position with the word before it that makes it a limit: "since March".
fn dated(sentence: &Sentence<'_>, at: usize, now: Timestamp) -> Option<Range<usize>> {
    let bound = sentence.joins(at) && BOUNDS.contains(&sentence.lower(at - 1));
    match bound
        .then(|| time_at(sentence, at, now, Toward::Past))
        .flatten()?
    {
        TimeReading::When(_, words)
        | TimeReading::TwoDates(words)
        | TimeReading::NoSuchDate(words) => Some(at - 1..at + words),
    }
}

/// "Only the stopped ones", "only those that are stopped", "the stopped ones only".
fn only(sentence: &Sentence<'_>, at: usize) -> Option<Range<usize>> {
    if matches!(sentence.lower(at), "one" | "ones")
        && sentence.has(at + 1, &["only"])
        && sentence.joins(at + 1)
    {
        let named = at.checked_sub(1).filter(|_| sentence.joins(at))?;
        return (!is_function_word(sentence.lower(named))).then_some(named..at + 2);
    }
    if !matches!(sentence.lower(at), "only" | "just") || !sentence.joins(at + 1) {
        return None;
    }
    let clause = |from: usize| {
        let mut end = from;
        while end < sentence.len() && (end == from || !sentence.breaks(end)) {
            end += 1;
        }
        end
    };
    let those = sentence.one_of(at + 1, &[&["those"], &["the", "ones"], &["ones"]]);
    if let Some(words) = those {
        let from = at + 1 + words;
        let end = clause(from).min(from + 2 * ONES);
        let content = (from..end).any(|at| !is_function_word(sentence.lower(at)));
        return (sentence.joins(from) && content).then_some(at..end);
    }
    let ones = (at + 2..=at + ONES).find(|end| matches!(sentence.lower(*end), "one" | "ones"))?;
    let joined = (at + 1..=ones).all(|at| sentence.joins(at));
    let content = (at + 1..ones).any(|at| !is_function_word(sentence.lower(at)));
    (joined && content).then_some(at..ones + 1)
}

/// "Non-production".
fn negated(sentence: &Sentence<'_>, at: usize, known: &HashSet<String>) -> Option<Range<usize>> {
    let rest = sentence.lower(at).strip_prefix("non-")?;
    known.contains(rest).then_some(at..at + 1)
}
