//! Finds the values of a list: those with a recognisable form, and those listed after its name.

use std::collections::HashSet;

use super::form::Form;
use super::kinds;
use super::phrases::next_of_list;
use super::reader::Reader;
use super::search::{after, single};
use super::seen::{Misread, ParameterReading, PlaceContent, Strength, text};
use super::text::Sentence;
use super::words::{likeness, looks_like_code};

/// Finds the values of a list: those with a recognisable form, and those listed after its name.
pub(super) fn list(element: &Form, reader: Reader<'_, '_>) -> ParameterReading {
    let mut found = single(element, reader);
    let (sentence, scope) = (reader.sentence, reader.scope);
    for mention in reader.mentions {
        let Some((first, mut strength)) = after(sentence, *mention) else {
            continue;
        };
        let mut others = Vec::new();
        let mut at = first;
        while at < sentence.len() && !scope.is_excluded(at) {
            let end = match element.see(reader, at, strength) {
                PlaceContent::Value(value, words) => {
                    found.note(at, PlaceContent::Value(value, words), strength);
                    at + words
                }
                PlaceContent::Converted(..)
                | PlaceContent::Doubt(..)
                | PlaceContent::Other(_)
                | PlaceContent::Nothing
                    if is_unlike_code(sentence, at) =>
                {
                    others.push(at);
                    at + 1
                }
                PlaceContent::Converted(..)
                | PlaceContent::Doubt(..)
                | PlaceContent::Other(_)
                | PlaceContent::Nothing => break,
            };
            strength = strength.min(Strength::Linked);
            match next_of_list(sentence, end) {
                Some(next) => at = next,
                None => break,
            }
        }
        let known = !found.candidates.is_empty();
        for at in others {
            note_listed(element, sentence, at, known, &mut found);
        }
    }
    neighbours(element, reader, &mut found);
    found
        .candidates
        .sort_by_key(|candidate| (candidate.first, std::cmp::Reverse(candidate.strength)));
    found.candidates.dedup_by_key(|candidate| candidate.first);
    ranges(sentence, &mut found);
    found
}

/// Returns whether a word is a code of unknown kind.
fn is_unlike_code(sentence: &Sentence<'_>, at: usize) -> bool {
    let word = sentence.written(at);
    looks_like_code(word) && kinds::kind(word).is_none()
}

/// Records a code in a list that differs from the example. It is a value next to values that differ from the example
/// only in their letters; otherwise it is a doubt.
fn note_listed(
    element: &Form,
    sentence: &Sentence<'_>,
    at: usize,
    known: bool,
    found: &mut ParameterReading,
) {
    let word = sentence.written(at);
    let seen = match known && element.fits_alike(word) {
        true => text(word, 1),
        false => PlaceContent::Doubt(Misread::NotUnderstood, 1),
    };
    found.note(at, seen, Strength::Likely);
}

/// Records doubts about codes next to the values of a list that resemble them but are invalid: "restart web-01, db-01".
fn neighbours(element: &Form, reader: Reader<'_, '_>, found: &mut ParameterReading) {
    let sentence = reader.sentence;
    if !matches!(element, Form::Shaped(_)) {
        return;
    }
    let known: HashSet<usize> = found.candidates.iter().map(|one| one.first).collect();
    let asked: HashSet<usize> = found.doubts.iter().map(|one| one.first).collect();
    let mut beside = Vec::new();
    for one in &found.candidates {
        let look = likeness(sentence.written(one.first));
        let is_other = |at: usize| {
            is_unlike_code(sentence, at)
                && likeness(sentence.written(at)) == look
                && !known.contains(&at)
                && !asked.contains(&at)
                && !reader.scope.is_excluded(at)
        };
        let mut end = one.first + one.words;
        while let Some(next) = next_of_list(sentence, end).filter(|at| is_other(*at)) {
            beside.push(next);
            end = next + 1;
        }
        let listed = |at: &usize| next_of_list(sentence, at + 1) == Some(one.first);
        let before = one.first.checked_sub(1).filter(listed);
        let before = before.or_else(|| one.first.checked_sub(2).filter(listed));
        beside.extend(before.filter(|at| is_other(*at)));
    }
    for at in distinct_places(beside) {
        let seen = PlaceContent::Doubt(Misread::NotUnderstood, 1);
        found.note(at, seen, Strength::Likely);
    }
}

fn distinct_places(mut places: Vec<usize>) -> Vec<usize> {
    places.sort_unstable();
    places.dedup();
    places
}

/// Marks values that are the ends of a range: "A-1001 through A-1005" means more than two.
fn ranges(sentence: &Sentence<'_>, found: &mut ParameterReading) {
    let ends: Vec<(usize, usize)> = found
        .candidates
        .windows(2)
        .filter_map(|pair| match pair {
            [low, high] => {
                let between = low.first + low.words;
                let dash = high.first == between
                    && matches!(sentence.gap(between).trim(), "–" | "—" | "..");
                let word = high.first == between + 1
                    && matches!(
                        sentence.lower(between),
                        "through" | "thru" | "until" | "to" | "till"
                    );
                (dash || word).then_some((low.first, high.first + high.words - low.first))
            }
            _ => None,
        })
        .collect();
    for (first, words) in ends {
        found.note(
            first,
            PlaceContent::Doubt(Misread::Range, words),
            Strength::Linked,
        );
    }
}
