//! Words that look like values but belong to no parameter, and the exclusions of a sentence.

use std::collections::HashSet;

use charter_contract::ids::Label;
use charter_contract::parameter::{Parameter, ParameterType};
use serde_json::Value;

use super::form::Form;
use super::names::Mention;
use super::scope::{Exclusion, Scope};
use super::seen::{Candidate, ParameterReading};
use super::text::Sentence;
use super::words::{is_capitalised, is_function_word, likeness, looks_like_code, may_be_value};
use super::{Excluded, Unread};

/// Words before the subject of a question.
const PREPOSITIONS: [&str; 8] = ["in", "for", "of", "with", "from", "at", "on", "to"];

/// The number of opening words of a short question: "and", "what about".
const FIRST_WORDS: usize = 2;

/// Returns the words of the values in declarations, in lower case: allowed values, their synonyms, examples and
/// defaults.
pub(super) fn known_words(declared: &[Parameter]) -> HashSet<String> {
    let mut known = HashSet::new();
    let texts = declared
        .iter()
        .filter(|parameter| parameter.kind != ParameterType::Boolean);
    for parameter in texts {
        let allowed = parameter.allowed.iter().flatten();
        let allowed = allowed.filter_map(Value::as_str);
        let synonyms = parameter.synonyms.values().flatten();
        let named = allowed.chain(synonyms.map(|word| word.as_str()));
        let parts = named.flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
        let shown = [&parameter.example, &parameter.default];
        let shown = shown.into_iter().flatten().filter_map(Value::as_str);
        let shown = shown.filter(|text| !text.contains(char::is_whitespace));
        let words = parts.chain(shown).map(str::to_lowercase);
        known.extend(words.filter(|word| word.len() > 1 && !is_function_word(word)));
    }
    known
}

/// Returns the words of values and doubts.
pub(super) fn taken_words(found: &[ParameterReading]) -> HashSet<usize> {
    let candidates = found.iter().flat_map(|found| &found.candidates);
    let candidates = candidates.flat_map(|one| one.first..one.first + one.words);
    let doubts = found.iter().flat_map(|found| &found.doubts);
    let doubts = doubts.flat_map(|one| one.first..one.first + one.words);
    candidates.chain(doubts).collect()
}

/// Returns the exclusions of a sentence, except those that a parameter consumes, and those that only contrast with a
/// preceding value: "with profile ops_ro, not ops_rw".
pub(super) fn excluded(
    declared: &[Parameter],
    sentence: &Sentence<'_>,
    scope: &Scope,
    found: &[ParameterReading],
) -> Vec<Excluded> {
    let mut excluded = Vec::new();
    for exclusion in scope.exclusions() {
        let mut candidates = found.iter().flat_map(|found| &found.candidates);
        if candidates.any(|one| exclusion.has(one.first)) {
            continue;
        }
        let mut values: Vec<(Label, Value)> = Vec::new();
        for (parameter, found) in declared.iter().zip(found) {
            let own = found.left_out.iter();
            let own = own.filter(|left| exclusion.has(left.first));
            values.extend(own.map(|left| (parameter.name.clone(), left.value.clone())));
        }
        let mut candidates = found.iter().flat_map(|found| &found.candidates);
        if values.is_empty() && candidates.any(|one| is_contrast(sentence, *exclusion, one)) {
            continue;
        }
        excluded.push(Excluded {
            words: sentence.slice(exclusion.first, exclusion.words).to_owned(),
            values,
        });
    }
    excluded
}

/// Returns whether the excluded value resembles the value right before it.
fn is_contrast(sentence: &Sentence<'_>, exclusion: Exclusion, value: &Candidate) -> bool {
    let end = value.first + value.words;
    let near = (end..=end + 1).contains(&exclusion.first);
    let last = (exclusion.first + exclusion.words).saturating_sub(1);
    let before = sentence.written(end.saturating_sub(1));
    near && looks_like_code(before) && likeness(before) == likeness(sentence.written(last))
}

/// Returns the words that look like values but belong to no parameter.
pub(super) fn unread(
    declared: &[Parameter],
    forms: &[Form],
    sentence: &Sentence<'_>,
    found: &[ParameterReading],
    mentions: &[Vec<Mention>],
) -> Vec<Unread> {
    let mentioned = mentions.iter().flatten();
    let mut taken: HashSet<usize> = mentioned
        .flat_map(|mention| mention.first..mention.first + mention.words)
        .collect();
    for one in found.iter().flat_map(|found| &found.candidates) {
        taken.extend(one.first..one.first + one.words);
    }
    // Excluded words are understood.
    let left_out = found.iter().flat_map(|found| &found.left_out);
    taken.extend(left_out.map(|one| one.first));
    let mut unread = Vec::new();
    for at in (0..sentence.len()).filter(|at| !taken.contains(at)) {
        let (word, lower) = (sentence.written(at), sentence.lower(at));
        let before = if sentence.joins(at) {
            sentence.lower(at - 1)
        } else {
            ""
        };
        let closes = sentence.breaks(at + 1) || is_function_word(sentence.lower(at + 1));
        let code = looks_like_code(word);
        // "And Frankfurt?", "what about eu-1?"
        let follows = at <= FIRST_WORDS && matches!(before, "and" | "about");
        let named = follows && (code || is_capitalised(word));
        let led = closes && ((PREPOSITIONS.contains(&before) && may_be_value(lower)) || named);
        if !led && !code {
            continue;
        }
        let place = matches!(before, "in" | "at" | "from");
        let meant = |place: bool| {
            let forms = declared.iter().zip(forms);
            let could_be = move |form: &Form| match led {
                true => form.may_be_meant(word) && (!place || form.is_place()),
                false => form.resembles(word) && (!place || form.is_place()),
            };
            let meant = forms.filter(move |(_, form)| could_be(form));
            meant
                .map(|(parameter, _)| parameter.name.clone())
                .collect::<Vec<Label>>()
        };
        let of_place = meant(place);
        let parameters = if of_place.is_empty() {
            meant(false)
        } else {
            of_place
        };
        unread.push(Unread {
            word: word.to_owned(),
            parameters,
        });
    }
    unread
}
