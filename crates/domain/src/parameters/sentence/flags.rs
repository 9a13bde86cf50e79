//! Boolean parameters: "as a dry run", "without a backup", "notify=no".

use serde_json::Value;

use super::reader::Reader;
use super::seen::{ParameterReading, PlaceContent, Strength};
use super::text::Sentence;
use super::words::{is_attribute, singular};

/// First parts of names, before the thing: `include_archived`.
const AFFIRMING: [&str; 12] = [
    "is",
    "has",
    "with",
    "include",
    "including",
    "enable",
    "use",
    "do",
    "allow",
    "should",
    "make",
    "add",
];

/// First parts of names for which true means that the thing is omitted: `skip_backup`.
const DENYING: [&str; 8] = [
    "no", "skip", "without", "exclude", "disable", "ignore", "omit", "not",
];

/// Words before a thing that is wanted, and before one that is unwanted.
const WITH: [&str; 13] = [
    "with",
    "include",
    "including",
    "plus",
    "add",
    "make",
    "do",
    "enable",
    "also",
    "use",
    "keep",
    "take",
    "and",
];
const WITHOUT: [&str; 16] = [
    "without",
    "no",
    "not",
    "never",
    "skip",
    "skipping",
    "exclude",
    "excluding",
    "disable",
    "omit",
    "ignore",
    "don't",
    "dont",
    "w/o",
    "except",
    "avoid",
];

/// Other words for a dry run, which every change may have.
const DRY_RUN: [&[&str]; 6] = [
    &["dryrun"],
    &["dry-running"],
    &["simulate"],
    &["simulation"],
    &["trial", "run"],
    &["simulated"],
];

/// Finds the values of a boolean parameter in a sentence. `declared` holds the words that the document declares for
/// each value.
pub(super) fn find(reader: Reader<'_, '_>, declared: &[(String, bool)]) -> ParameterReading {
    let mut found = ParameterReading::default();
    let sentence = reader.sentence;
    let flag = Flag::from_reader(reader);
    for at in 0..sentence.len() {
        for (words, value) in declared {
            let words: Vec<&str> = words.split(' ').collect();
            if sentence.has(at, &words) {
                found.note(
                    at,
                    PlaceContent::Value(Value::Bool(*value), words.len()),
                    Strength::Fitting,
                );
            }
        }
        if let Some((words, value, strength)) = flag.at(sentence, at) {
            found.note(at, PlaceContent::Value(Value::Bool(value), words), strength);
        }
    }
    found
}

/// Returns a plain yes or no.
pub(super) fn answer(sentence: &Sentence<'_>) -> Option<bool> {
    let polite = sentence.len() == 1
        || (sentence.len() == 2 && matches!(sentence.lower(1), "please" | "thanks"));
    match sentence.lower(0) {
        "yes" | "y" | "true" | "on" | "yeah" | "yep" | "sure" if polite => Some(true),
        "no" | "n" | "false" | "off" | "nope" if polite => Some(false),
        _ => None,
    }
}

/// The name of a boolean parameter.
struct Flag {
    /// The parts of the name.
    whole: Vec<String>,
    /// The thing that the name refers to.
    thing: Vec<String>,
    /// The value if the thing is wanted.
    wanted: bool,
    /// Whether the thing's name alone means that it is wanted.
    alone: bool,
}

impl Flag {
    fn from_reader(reader: Reader<'_, '_>) -> Self {
        let parts = &reader.names.parts;
        let first = parts.first().map_or("", String::as_str);
        let affirms = AFFIRMING.contains(&first) && parts.len() > 1;
        let denies = DENYING.contains(&first) && parts.len() > 1;
        let thing: Vec<String> = parts
            .iter()
            .skip(usize::from(affirms || denies))
            .cloned()
            .collect();
        let single = thing.first().filter(|_| thing.len() == 1);
        let plain = single.is_none_or(|word| is_manner(word) && !is_attribute(word));
        Self {
            whole: parts.clone(),
            alone: !affirms && !denies && plain,
            thing,
            wanted: !denies,
        }
    }

    /// Returns the value at a position, with the number of words and the strength.
    fn at(&self, sentence: &Sentence<'_>, at: usize) -> Option<(usize, bool, Strength)> {
        if let Some(words) = is_at(sentence, at, &self.whole)
            && let Some((more, value)) = written(sentence, at + words)
        {
            return Some((words + more, value, Strength::Written));
        }
        let manner = self.manner(sentence, at);
        let words = is_at(sentence, at, &self.thing)
            .or(manner)
            .or_else(|| self.dry(sentence, at))?;
        if let Some((more, value)) = written(sentence, at + words) {
            return Some((words + more, value == self.wanted, Strength::Linked));
        }
        let mut first = at;
        while sentence.joins(first)
            && first + 3 > at
            && matches!(
                sentence.lower(first - 1),
                "a" | "an" | "the" | "any" | "to" | "be" | "as" | "my" | "our"
            )
        {
            first -= 1;
        }
        let led = if sentence.joins(first) {
            sentence.lower(first - 1)
        } else {
            ""
        };
        if WITHOUT.contains(&led)
            || sentence.preceded(
                first,
                &[&["do", "not"], &["leave", "out"], &["turn", "off"]],
            )
        {
            return Some((words, !self.wanted, Strength::Beside));
        }
        if self.wanted && (self.alone || (manner.is_some() && is_manner(&self.thing.concat()))) {
            return Some((words, true, Strength::Fitting));
        }
        WITH.contains(&led)
            .then_some((words, self.wanted, Strength::Beside))
    }

    /// Matches the thing as a manner: "recursively", "forced", "notifying".
    fn manner(&self, sentence: &Sentence<'_>, at: usize) -> Option<usize> {
        let [thing] = self.thing.as_slice() else {
            return None;
        };
        let stem = sentence
            .lower(at)
            .strip_prefix(thing.trim_end_matches(['e', 'y']))?;
        let same = matches!(
            stem,
            "ly" | "ed" | "ing" | "d" | "ied" | "ying" | "ely" | "fully" | "efully"
        );
        (thing.len() > 3 && same).then_some(1)
    }

    fn dry(&self, sentence: &Sentence<'_>, at: usize) -> Option<usize> {
        let is_dry_run =
            matches!(self.thing.as_slice(), [dry, run] if dry == "dry" && run == "run");
        sentence.one_of(at, &DRY_RUN).filter(|_| is_dry_run)
    }
}

/// Words of manner. They are never the subject of a sentence.
fn is_manner(word: &str) -> bool {
    const MANNERS: [&str; 18] = [
        "force",
        "recursive",
        "verbose",
        "notify",
        "overwrite",
        "anonymous",
        "express",
        "urgent",
        "quiet",
        "interactive",
        "dryrun",
        "silent",
        "strict",
        "permanent",
        "encrypted",
        "incremental",
        "gift",
        "remote",
    ];
    MANNERS.contains(&word)
}

/// Matches parts of a name at a position: separate, joined by signs, or as one word.
fn is_at(sentence: &Sentence<'_>, at: usize, parts: &[String]) -> Option<usize> {
    let word = sentence.lower(at);
    if word.is_empty() || parts.is_empty() {
        return None;
    }
    let bare = |word: &str| word.replace(['_', '-'], "");
    let joined = parts.concat();
    if bare(word) == joined || (parts.len() == 1 && singular(word) == singular(&joined)) {
        return Some(1);
    }
    let mut next = at;
    for (nth, part) in parts.iter().enumerate() {
        // The name may contain an article: "notify the customer".
        let article = nth > 0 && matches!(sentence.lower(next), "the" | "a" | "an" | "my" | "our");
        next += usize::from(article && sentence.joins(next));
        let word = sentence.lower(next);
        let last = nth + 1 == parts.len();
        let same = word == part || (last && singular(word) == part);
        if !same || (nth > 0 && !sentence.joins(next)) {
            return None;
        }
        next += 1;
    }
    Some(next - at)
}

/// Matches an explicit value after the name: `=true`, `: no`, "is on", "off".
fn written(sentence: &Sentence<'_>, at: usize) -> Option<(usize, bool)> {
    let gap = sentence.gap(at).trim();
    let signed = gap.contains('=') || gap.starts_with(':') || gap.starts_with("\":");
    let link = sentence.one_of(
        at,
        &[
            &["set", "to"],
            &["should", "be"],
            &["is"],
            &["to"],
            &["turned"],
        ],
    );
    let link = link.filter(|_| sentence.joins(at)).unwrap_or(0);
    let value = match sentence.lower(at + link) {
        "true" | "yes" | "on" | "enabled" | "1" => true,
        "false" | "no" | "off" | "disabled" | "0" => false,
        _ => return None,
    };
    let plain = matches!(
        sentence.lower(at),
        "true" | "false" | "off" | "enabled" | "disabled"
    ) && sentence.joins(at);
    (signed || link > 0 || plain).then_some((link + 1, value))
}
