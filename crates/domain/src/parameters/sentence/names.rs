//! The words for a parameter in a sentence, and the implications of its name for its values.

use std::collections::{HashMap, HashSet};

use charter_contract::parameter::Parameter;

use super::text::Sentence;
use super::units::Unit;
use super::words::singular;

/// Last parts of names that describe the kind of name or number: `order_id`, `customer_name`.
const KINDS_OF_NAME: [&str; 12] = [
    "id", "ids", "name", "names", "code", "codes", "key", "no", "number", "ref", "value", "list",
];

/// First parts of names that select one of several things, or that describe a bound.
const QUALIFIERS: [&str; 4] = ["the", "target", "new", "aws"];

/// First parts of names of bounds. The noun alone does not mention a bound: "a size of 5" is not its `max_size`.
const BOUNDS: [&str; 4] = ["min", "max", "minimum", "maximum"];

/// Parts of names of exclusions: `exclude_hosts`.
const LEAVING_OUT: [&str; 9] = [
    "exclude",
    "excluded",
    "excludes",
    "excluding",
    "except",
    "exceptions",
    "ignore",
    "ignored",
    "omit",
];

/// Words that are not ended by a following colon: "arn:aws:s3".
const SCHEMES: [&str; 6] = ["arn", "urn", "http", "https", "mailto", "ftp"];

/// The names of a parameter.
#[derive(Debug, Clone)]
pub(super) struct Names {
    /// The parts of its name in lower case: `min_age_days` has three.
    pub(super) parts: Vec<String>,
    /// Phrases for the parameter, longest first.
    phrases: Vec<Vec<String>>,
    /// The phrases as single words.
    joined: HashSet<String>,
    /// The unit of its numbers.
    pub(super) unit: Option<Unit>,
}

/// A mention of a parameter's name in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mention {
    /// The first word.
    pub(super) first: usize,
    /// The number of words.
    pub(super) words: usize,
}

impl Names {
    /// Returns the names of all parameters. A short form that two of them share belongs to neither.
    pub(super) fn of_all(declared: &[Parameter]) -> Vec<Self> {
        let mut all: Vec<Self> = declared.iter().map(Self::for_parameter).collect();
        let mut counts: HashMap<Vec<String>, usize> = HashMap::new();
        for phrase in all.iter().flat_map(|names| &names.phrases) {
            *counts.entry(phrase.clone()).or_default() += 1;
        }
        for names in &mut all {
            let whole = names.parts.clone();
            names
                .phrases
                .retain(|phrase| *phrase == whole || counts.get(phrase) == Some(&1));
        }
        all
    }

    fn for_parameter(parameter: &Parameter) -> Self {
        let parts = parts_of(parameter.name.as_str());
        let unit = unit_of(&parts, &parameter.description);
        let mut phrases = vec![parts.clone()];
        phrases.push(parts_of(parameter.called()));
        let core = core_of(&parts);
        phrases.push(core.clone());
        let bound = parts
            .first()
            .is_some_and(|first| BOUNDS.contains(&first.as_str()));
        phrases.extend(
            core.last()
                .filter(|_| !bound)
                .map(|head| vec![head.clone()]),
        );
        phrases.retain(|phrase| !phrase.is_empty());
        phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
        phrases.dedup();
        let whole = [parameter.name.as_str(), parameter.called()];
        let mut joined: HashSet<String> = whole.iter().map(|name| name.to_lowercase()).collect();
        for phrase in phrases.iter().filter(|phrase| phrase.len() > 1) {
            joined.extend(["_", "-", ""].iter().map(|sign| phrase.join(sign)));
        }
        Self {
            parts,
            phrases,
            joined,
            unit,
        }
    }

    /// Returns the names that a colon or an equals sign may end.
    pub(super) fn single_words(&self) -> impl Iterator<Item = &String> {
        let short = self.phrases.iter().filter(|phrase| phrase.len() == 1);
        let words = self.joined.iter().chain(short.flatten());
        words.filter(|word| !SCHEMES.contains(&word.as_str()))
    }

    /// Returns the number of words at a position that mention the parameter.
    fn at(&self, sentence: &Sentence<'_>, at: usize) -> Option<usize> {
        let word = sentence.lower(at);
        if self.joined.contains(word) {
            return Some(1);
        }
        let called = |phrase: &&Vec<String>| {
            let mut parts = phrase.iter().enumerate();
            parts.all(|(nth, part)| {
                let word = sentence.lower(at + nth);
                singular(word) == singular(part) && (nth == 0 || sentence.joins(at + nth))
            })
        };
        self.phrases.iter().find(called).map(Vec::len)
    }

    /// Returns every mention of the parameter in a sentence.
    pub(super) fn mentions(&self, sentence: &Sentence<'_>) -> Vec<Mention> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < sentence.len() {
            let words = self.at(sentence, at);
            found.extend(words.map(|words| Mention { first: at, words }));
            at += words.unwrap_or(1);
        }
        found
    }

    /// Returns whether the parameter holds exclusions.
    pub(super) fn takes_exclusions(&self) -> bool {
        self.has_part(&LEAVING_OUT)
    }

    /// Returns whether a part of its name is one of these.
    pub(super) fn has_part(&self, wanted: &[&str]) -> bool {
        self.parts
            .iter()
            .any(|part| wanted.contains(&part.as_str()))
    }
}

/// Removes mentions that are part of a longer mention of another parameter: a "due date" is not a "date".
pub(super) fn leave_longest(mentions: &mut [Vec<Mention>], words: usize) {
    let mut longest = vec![0_usize; words];
    for mention in mentions.iter().flatten() {
        let range = mention.first..(mention.first + mention.words).min(words);
        for length in longest.get_mut(range).into_iter().flatten() {
            *length = (*length).max(mention.words);
        }
    }
    for mentions in mentions {
        mentions.retain(|mention| {
            longest
                .get(mention.first)
                .is_none_or(|length| *length == mention.words)
        });
    }
}

/// Returns the parts of a name, split at signs and before inner capitals.
fn parts_of(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (small && c.is_uppercase()) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| c.is_alphanumeric()) {
            part.extend(c.to_lowercase());
        }
        small = c.is_lowercase();
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns a name without its unit, its kind and its qualifier, as long as a part remains.
fn core_of(parts: &[String]) -> Vec<String> {
    let mut core = parts;
    while let [rest @ .., last] = core
        && !rest.is_empty()
        && (KINDS_OF_NAME.contains(&last.as_str()) || unit_word(last).is_some())
    {
        core = rest;
    }
    while let [first, rest @ ..] = core
        && !rest.is_empty()
        && QUALIFIERS.contains(&first.as_str())
    {
        core = rest;
    }
    core.to_vec()
}

fn unit_word(part: &str) -> Option<Unit> {
    match part {
        "s" => Unit::of_suffix(part),
        _ => Unit::of_word(part),
    }
}

/// Returns the unit in the last part of a name or in the description: "How many euros", "Age in days".
fn unit_of(parts: &[String], description: &str) -> Option<Unit> {
    let per = parts.iter().position(|part| part == "per");
    let counted = per.map_or(parts, |per| parts.get(..per).unwrap_or_default());
    let own = counted.last().and_then(|last| unit_word(last));
    own.or_else(|| {
        let lower = description.to_lowercase();
        let words: Vec<&str> = lower
            .split(|c: char| !c.is_alphanumeric() && c != '%')
            .filter(|word| !word.is_empty())
            .collect();
        let mut pairs = words.windows(2);
        pairs.find_map(|pair| match pair {
            ["in" | "many" | "of", unit] => Unit::of_word(unit),
            _ => None,
        })
    })
}
