//! Extracts the values of declared parameters from a sentence.
//!
//! Every type has its form: texts by pattern, example, allowed values and the words around the parameter's name;
//! numbers with units; booleans; days and durations relative to the time of the request; lists. Invalid values are not
//! used. Words that refer to a value that cannot be determined are reported, so that the caller can ask.
//!
//! One pass over the words per parameter, within [`SENTENCE_BYTES`] and [`SENTENCE_WORK`]. Deterministic: equal texts
//! at equal times have equal results. Must not know the answer to the question, or the interface that received it.

mod approximation;
mod beside;
mod choices;
mod dates;
mod exclusions;
mod find;
mod flags;
mod form;
mod free;
mod kinds;
mod lists;
mod maps;
mod measures;
mod names;
mod number_words;
mod numbers;
mod patterns;
mod phrases;
mod quantities;
mod reader;
mod relations;
mod restrictions;
mod scope;
mod search;
mod seen;
mod settle;
mod shapes;
#[cfg(test)]
mod tests;
mod text;
mod times;
mod units;
mod unread;
mod words;

use std::collections::{BTreeMap, HashSet};

use charter_contract::bounds::{SENTENCE_BYTES, SENTENCE_WORK};
use charter_contract::ids::Label;
use charter_contract::parameter::Parameter;
use charter_contract::time::Timestamp;
use serde_json::Value;

use self::form::Form;
use self::names::{Mention, Names, leave_longest};
use self::reader::Reader;
use self::restrictions::restrictions;
use self::scope::Scope;
use self::seen::ParameterReading;
use self::settle::{list_of, one_of, share};
use self::text::{Sentence, prefix};
use self::unread::{excluded, known_words, taken_words, unread};
use super::check;

pub use self::seen::Misread;

/// A value in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// The value, which is valid for the declaration.
    pub value: Value,
    /// The words with the value.
    pub words: String,
    /// Whether the sentence mentions the parameter's name.
    pub named: bool,
}

/// Words that refer to a parameter's value that cannot be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{words}` is not a value for `{parameter}`: {why}")]
pub struct Unclear {
    /// The parameter.
    pub parameter: Label,
    /// The words.
    pub words: String,
    /// The reason.
    pub why: Misread,
}

/// A word that looks like a value but belongs to no parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The word.
    pub word: String,
    /// The parameters that it could belong to.
    pub parameters: Vec<Label>,
}

/// Words that exclude something, and that no parameter consumes: "all but A-1".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excluded {
    /// The words, including those that express the exclusion.
    pub words: String,
    /// The values among them, each with a possible parameter.
    pub values: Vec<(Label, Value)>,
}

/// The values of declared parameters in a sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SentenceReading {
    /// The values, by parameter.
    pub stated: BTreeMap<Label, Stated>,
    /// Words that refer to values that cannot be determined.
    pub unclear: Vec<Unclear>,
    /// Words that may be values of unknown parameters.
    pub unread: Vec<Unread>,
    /// The exclusions. No parameter has an excluded value.
    pub excluded: Vec<Excluded>,
    /// Words that restrict the request and belong to no parameter: "older than 100 days".
    pub restrictions: Vec<String>,
}

/// Reads the values in a sentence. `now` is the time of the request, at which "the last 7 days" end.
#[must_use]
pub fn read(declared: &[Parameter], text: &str, now: Timestamp) -> SentenceReading {
    let names = Names::of_all(declared);
    let single: HashSet<String> = names
        .iter()
        .flat_map(Names::single_words)
        .cloned()
        .collect();
    let searched = SENTENCE_BYTES.min(SENTENCE_WORK / declared.len().max(1));
    let sentence = Sentence::new(prefix(text, searched), &single);
    let known = known_words(declared);
    let scope = Scope::from_sentence(&sentence, &known);
    let mut found: Vec<ParameterReading> = Vec::with_capacity(declared.len());
    let mut forms: Vec<Form> = Vec::with_capacity(declared.len());
    let mut mentions: Vec<Vec<Mention>> = names
        .iter()
        .map(|names| names.mentions(&sentence))
        .collect();
    leave_longest(&mut mentions, sentence.len());
    for ((parameter, names), mentions) in declared.iter().zip(&names).zip(&mentions) {
        let reader = Reader {
            sentence: &sentence,
            names,
            mentions,
            scope: &scope,
            now,
        };
        let form = Form::for_parameter(parameter, names, &sentence);
        let mut own = find::find(&form, reader, &truths(parameter));
        own.drop_left_out(&scope);
        found.push(own);
        forms.push(form);
    }
    share(&mut found, &names, &forms, sentence.len());
    let taken = taken_words(&found);
    let mut reading = SentenceReading {
        unread: unread(declared, &forms, &sentence, &found, &mentions),
        excluded: excluded(declared, &sentence, &scope, &found),
        restrictions: restrictions(&sentence, &scope, &taken, &known, now),
        ..SentenceReading::default()
    };
    for (((parameter, found), form), mentions) in
        declared.iter().zip(found).zip(&forms).zip(&mentions)
    {
        let settled = match form.is_list() {
            true => list_of(parameter, found, &scope),
            false => one_of(parameter, found, &scope),
        };
        match settled {
            Ok(Some((value, first, words))) => {
                let words = sentence.slice(first, words).to_owned();
                let named = !mentions.is_empty();
                reading.stated.insert(
                    parameter.name.clone(),
                    Stated {
                        value,
                        words,
                        named,
                    },
                );
            }
            Ok(None) => {}
            Err(doubt) => reading.unclear.push(Unclear {
                parameter: parameter.name.clone(),
                words: sentence.slice(doubt.first, doubt.words).to_owned(),
                why: doubt.why,
            }),
        }
    }
    reading
}

/// Reads a whole text as the value of this parameter, if only this one was asked for.
pub(super) fn read_whole(parameter: &Parameter, text: &str, now: Timestamp) -> Option<Value> {
    let sentence = Sentence::new(text, &HashSet::new());
    let names = Names::of_all(std::slice::from_ref(parameter));
    let scope = Scope::default();
    let reader = Reader {
        sentence: &sentence,
        names: names.first()?,
        mentions: &[],
        scope: &scope,
        now,
    };
    let value = search::whole(
        &Form::for_parameter(parameter, names.first()?, &sentence),
        reader,
    )?;
    check(parameter, &value).is_ok().then_some(value)
}

/// Returns the words that a document declares for true and false.
fn truths(parameter: &Parameter) -> Vec<(String, bool)> {
    let of = |value: bool| {
        let words = parameter
            .synonyms
            .get(&value.to_string())
            .into_iter()
            .flatten();
        words.map(move |word| (word.as_str().to_lowercase(), value))
    };
    of(true).chain(of(false)).collect()
}
