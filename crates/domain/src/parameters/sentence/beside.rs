//! Words next to a parameter's name and value: further values, of which the parameter can have only one, and words that
//! are not allowed values.

use super::form::Form;
use super::names::Mention;
use super::phrases::{closes, next_of_list, start_of_phrase};
use super::reader::Reader;
use super::seen::{ParameterReading, PlaceContent, Strength};
use super::text::Sentence;
use super::words::{likeness, looks_like_code, may_be_value};

/// Records the text after a name: its value with alternatives in the sentence, or a word that is not an allowed value:
/// "stage qa".
pub(super) fn named(
    form: &Form,
    reader: Reader<'_, '_>,
    mention: Mention,
    place: (usize, Strength),
    seen: PlaceContent,
    found: &mut ParameterReading,
) {
    let (at, strength) = place;
    let sentence = reader.sentence;
    match seen {
        PlaceContent::Value(..) | PlaceContent::Converted(..) => {
            let end = at + seen.words();
            found.note(at, seen, strength);
            beside(form, reader, end, strength, found);
        }
        PlaceContent::Nothing if strength == Strength::Beside => {
            let direct = at == mention.first + mention.words && is_bare(sentence, mention.first);
            let ends = may_be_value(sentence.lower(at)) && sentence.breaks(at + 1);
            if let Some(why) = form.unknown().filter(|_| direct && ends) {
                found.note(at, PlaceContent::Doubt(why, 1), Strength::Likely);
            }
        }
        PlaceContent::Doubt(..) | PlaceContent::Other(_) | PlaceContent::Nothing => {
            found.note(at, seen, strength);
        }
    }
}

/// Returns whether a name is neither asked for nor a known thing: "stage qa", but not "which stage", "the stage".
fn is_bare(sentence: &Sentence<'_>, at: usize) -> bool {
    if !sentence.joins(at) {
        return true;
    }
    let led = at > 1 && matches!(sentence.lower(at - 2), "in" | "on" | "for" | "with" | "at");
    match sentence.lower(at - 1) {
        "the" => led,
        before => !matches!(
            before,
            "which"
                | "what"
                | "whose"
                | "a"
                | "an"
                | "this"
                | "that"
                | "my"
                | "our"
                | "your"
                | "their"
                | "any"
                | "every"
                | "each"
                | "some"
                | "per"
                | "no"
                | "all"
                | "how"
        ),
    }
}

/// Finds alternatives to the value after a name, which make a single value ambiguous: "profile a_b or c_d".
fn beside(
    form: &Form,
    reader: Reader<'_, '_>,
    end: usize,
    strength: Strength,
    found: &mut ParameterReading,
) {
    let sentence = reader.sentence;
    let look = likeness(sentence.written(end.saturating_sub(1)));
    let mut end = end;
    while let Some(at) = next_of_list(sentence, end) {
        let word = sentence.written(at);
        let either = sentence.lower(end) == "or" || sentence.gap(at).trim() == "/";
        let alike = looks_like_code(word) && likeness(word) == look;
        let meant = match form {
            Form::Choice(_) => either || !word.chars().all(|c| c.is_ascii_digit()),
            Form::Pattern(..) | Form::Shaped(_) | Form::Free(_) => {
                alike || (either && (looks_like_code(word) || closes(sentence, at)))
            }
            Form::Date(_) | Form::Period(_) | Form::Measure(_) => either,
            Form::Truth | Form::List(_) | Form::Map => false,
        };
        let surely = if either {
            strength.min(Strength::Linked)
        } else {
            Strength::Beside
        };
        let seen = match meant && at < sentence.len() && !reader.scope.is_excluded(at) {
            true => form.see(reader, at, surely),
            false => PlaceContent::Nothing,
        };
        if !matches!(seen, PlaceContent::Value(..) | PlaceContent::Converted(..)) {
            return;
        }
        end = at + seen.words();
        found.note(at, seen, strength);
    }
}

/// Finds the alternative of two values before a name: "the prod_infra or staging_infra profile".
pub(super) fn either_before(
    form: &Form,
    reader: Reader<'_, '_>,
    at: usize,
    found: &mut ParameterReading,
) {
    let sentence = reader.sentence;
    let joined = sentence.joins(at) && sentence.lower(at - 1) == "or" && sentence.joins(at - 1);
    let Some(other) = at.checked_sub(2).filter(|_| joined) else {
        return;
    };
    let seen = form.see(reader, other, Strength::Beside);
    let value = matches!(seen, PlaceContent::Value(..) | PlaceContent::Converted(..));
    if value && seen.words() == 1 && !reader.scope.is_excluded(other) {
        found.note(other, seen, Strength::Beside);
    }
}

/// Finds a word before a name that is not an allowed value: "in the qa environment".
pub(super) fn unknown_before(
    form: &Form,
    reader: Reader<'_, '_>,
    mention: Mention,
    found: &mut ParameterReading,
) {
    let sentence = reader.sentence;
    let at = mention.first - 1;
    let first = start_of_phrase(sentence, at);
    let led = sentence.joins(first) && matches!(sentence.lower(first - 1), "in" | "on");
    let whole = mention.words >= reader.names.parts.len() && sentence.joins(mention.first);
    if led
        && whole
        && may_be_value(sentence.lower(at))
        && !reader.scope.is_excluded(at)
        && let Some(why) = form.unknown()
    {
        found.note(at, PlaceContent::Doubt(why, 1), Strength::Likely);
    }
}
