//! Finds one parameter's values in a sentence: next to its name, and by their form.

use std::collections::HashSet;

use serde_json::Value;

use super::beside::{either_before, named, unknown_before};
use super::flags;
use super::form::Form;
use super::names::Mention;
use super::phrases::{closes, next_of_list, start_of_phrase};
use super::reader::Reader;
use super::seen::{ParameterReading, PlaceContent, Strength};
use super::text::Sentence;
use super::words::is_verb;

/// The maximum number of words of a value before the name: "a 30 day retention".
const BEFORE: usize = 4;

/// Words that mark the following thing as the one to use.
const USES: [&str; 22] = [
    "with", "using", "use", "uses", "via", "under", "by", "as", "for", "in", "on", "from", "set",
    "choose", "pick", "select", "take", "assume", "at", "to", "and", "or",
];

/// Words before "to" that make the next word a verb: "I want to order".
const WISHES: [&str; 16] = [
    "want", "wants", "wanted", "need", "needs", "like", "love", "going", "have", "has", "try",
    "trying", "plan", "how", "able", "in",
];

/// Verbs that change a thing to the value after "to".
const SETS: [&str; 8] = [
    "set", "change", "switch", "update", "move", "put", "raise", "lower",
];

/// Kinds of names between a thing and its name: "order number A-1002".
const KINDS_OF_NAME: [&str; 6] = ["number", "no", "id", "name", "code", "nr"];

/// The values of a form that is neither a list, a map nor yes and no.
pub(super) fn single(form: &Form, reader: Reader<'_, '_>) -> ParameterReading {
    let mut found = ParameterReading::default();
    let (sentence, scope) = (reader.sentence, reader.scope);
    // A parameter for exclusions has its values where other parameters have none.
    let takes = form.is_text() && reader.names.takes_exclusions();
    if let Some(strength) = form.unnamed() {
        let mut at = 0;
        while at < sentence.len() {
            let excluded = scope.is_excluded(at);
            if excluded != takes {
                if excluded {
                    let strength = form.when_left_out(strength);
                    found.note_left_out(at, form.see(reader, at, strength));
                }
                at += 1;
                continue;
            }
            let seen = form.see(reader, at, strength);
            let words = seen.words();
            found.note(at, seen, directed(reader, at, strength));
            at += words;
        }
    }
    for mention in reader.mentions {
        if let Some((at, strength)) = after(sentence, *mention) {
            let seen = form.see(reader, at, strength);
            match scope.is_excluded(at) && !takes {
                true => found.note_left_out(at, seen),
                false => named(form, reader, *mention, (at, strength), seen, &mut found),
            }
        }
        before(form, reader, *mention, &mut found);
    }
    corrections(form, reader, &mut found);
    found
}

/// Reads the words right after a correction as the new value: "12 euros, sorry, make that 14".
fn corrections(form: &Form, reader: Reader<'_, '_>, found: &mut ParameterReading) {
    let known: HashSet<usize> = found.candidates.iter().map(|one| one.first).collect();
    let Some(first) = known.iter().min().copied() else {
        return;
    };
    let corrections = reader.scope.corrections();
    let meant = |at: &usize| first < *at && !known.contains(at) && !reader.scope.is_excluded(*at);
    for at in corrections.filter(meant) {
        let seen = form.see(reader, at, Strength::Beside);
        if closes(reader.sentence, at + seen.words() - 1) {
            found.note(at, seen, Strength::Beside);
        }
    }
}

/// Assigns the words after a preposition to one of two parameters that are the ends of a direction.
fn directed(reader: Reader<'_, '_>, at: usize, strength: Strength) -> Strength {
    let from = reader.names.has_part(&["source", "from", "origin", "old"]);
    let to = reader
        .names
        .has_part(&["target", "to", "destination", "dest", "new"]);
    let led = |word: &str| reader.sentence.preceded(at, &[&[word]]);
    match (from && led("from")) || (to && (led("to") || led("into"))) {
        true => Strength::Beside,
        false => strength,
    }
}

/// Returns the position of the value after a name, with its strength.
pub(super) fn after(sentence: &Sentence<'_>, mention: Mention) -> Option<(usize, Strength)> {
    let mut at = mention.first + mention.words;
    if sentence.joins(at) && KINDS_OF_NAME.contains(&sentence.lower(at)) {
        at += 1;
    }
    if at >= sentence.len() {
        return None;
    }
    let gap = sentence.gap(at).trim();
    let quoted = sentence.quotation(at).is_some();
    if gap.contains(['=', '→'])
        || gap.starts_with(':')
        || (quoted && !gap.contains(['.', ',', ';']))
    {
        return Some((at, Strength::Written));
    }
    if !gap.is_empty() {
        return None;
    }
    let links: [(&[&str], Strength); 13] = [
        (&["set", "to"], Strength::Linked),
        (&["equal", "to"], Strength::Linked),
        (&["equals"], Strength::Linked),
        (&["called"], Strength::Linked),
        (&["named"], Strength::Linked),
        (&["should", "be"], Strength::Linked),
        (&["must", "be"], Strength::Linked),
        (&["will", "be"], Strength::Beside),
        (&["is"], Strength::Beside),
        (&["are"], Strength::Beside),
        (&["of"], Strength::Beside),
        (&["as"], Strength::Beside),
        (&["to"], to_strength(sentence, mention)),
    ];
    if let Some((link, strength)) = links.iter().find(|(link, _)| sentence.has(at, link)) {
        return Some((skip_article(sentence, at + link.len()), *strength));
    }
    match is_used(sentence, mention.first) && closes(sentence, at) {
        true => Some((at, Strength::Linked)),
        false => Some((at, Strength::Beside)),
    }
}

/// "Set the profile to prod" supplies the profile; "compared the profile to prod" does not.
fn to_strength(sentence: &Sentence<'_>, mention: Mention) -> Strength {
    let first = start_of_phrase(sentence, mention.first);
    match sentence.joins(first) && SETS.contains(&sentence.lower(first - 1)) {
        true => Strength::Linked,
        false => Strength::Beside,
    }
}

fn skip_article(sentence: &Sentence<'_>, at: usize) -> usize {
    at + usize::from(matches!(sentence.lower(at), "the" | "a" | "an") && sentence.joins(at + 1))
}

/// Returns whether the words before a name mark it as the thing to use: "with the profile", "restart service",
/// "--profile".
fn is_used(sentence: &Sentence<'_>, at: usize) -> bool {
    if sentence.gap(at).ends_with("--") {
        return true;
    }
    let first = start_of_phrase(sentence, at);
    if !sentence.joins(first) {
        return false;
    }
    let word = sentence.lower(first - 1);
    let wished = word == "to" && first > 1 && WISHES.contains(&sentence.lower(first - 2));
    (USES.contains(&word) && !wished) || is_verb(word)
}

/// Finds a value right before the parameter's name.
fn before(form: &Form, reader: Reader<'_, '_>, mention: Mention, found: &mut ParameterReading) {
    let sentence = reader.sentence;
    let ends = |at: usize| {
        let gap = sentence.gap(at);
        sentence.joins(at)
            || gap == "-"
            || gap.trim() == "\""
            || gap.trim() == "'"
            || gap.trim() == "`"
    };
    if mention.first == 0
        || !ends(mention.first)
        || !closes(sentence, mention.first + mention.words - 1)
    {
        return;
    }
    for start in mention.first.saturating_sub(BEFORE)..mention.first {
        let led = sentence.joins(start)
            && matches!(
                sentence.lower(start - 1),
                "the" | "our" | "my" | "your" | "their"
            );
        let quoted = sentence
            .quotation(start)
            .is_some_and(|(_, words)| start + words == mention.first);
        let led = led && form.may_follow_its_value();
        let strength = match (quoted, led) {
            (true, _) => Strength::Written,
            (false, true) => Strength::Linked,
            (false, false) => Strength::Beside,
        };
        let seen = form.see(reader, start, strength);
        let value = matches!(seen, PlaceContent::Value(..) | PlaceContent::Converted(..));
        if !value || start + seen.words() != mention.first {
            continue;
        }
        if reader.scope.is_excluded(start) {
            found.note_left_out(start, seen);
            continue;
        }
        found.note(start, seen, Strength::Beside);
        either_before(form, reader, start, found);
        return;
    }
    unknown_before(form, reader, mention, found);
}

/// Reads the whole sentence as a value.
pub(super) fn whole(form: &Form, reader: Reader<'_, '_>) -> Option<Value> {
    let sentence = reader.sentence;
    let value = |form: &Form, at: usize, strength| match form.see(reader, at, strength) {
        PlaceContent::Value(value, words) | PlaceContent::Converted(value, words) => {
            Some((value, at + words))
        }
        PlaceContent::Doubt(..) | PlaceContent::Other(_) | PlaceContent::Nothing => None,
    };
    match form {
        Form::Truth => flags::answer(sentence).map(Value::Bool),
        Form::Map => None,
        Form::List(element) => {
            let mut values = Vec::new();
            let mut at = Some(0);
            let mut end = 0;
            while let Some(next) = at {
                let (one, after) = value(element, next, Strength::Linked)?;
                values.push(one);
                end = after;
                at = next_of_list(sentence, after);
            }
            (end == sentence.len()).then(|| Value::Array(distinct(values.into_iter())))
        }
        Form::Choice(_)
        | Form::Pattern(..)
        | Form::Date(_)
        | Form::Period(_)
        | Form::Shaped(_)
        | Form::Free(_)
        | Form::Measure(_) => {
            let (value, end) = value(form, 0, Strength::Written)?;
            (end == sentence.len()).then_some(value)
        }
    }
}

/// Returns the values of a list in the order of the sentence, without duplicates.
pub(super) fn distinct(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut distinct: Vec<Value> = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}
