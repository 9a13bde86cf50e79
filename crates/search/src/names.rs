//! Names of documents and what in a text may be one: the whole text, and words that are written as identifiers are.
//!
//! Case and separators do not count, and a long name may have one typing error. Must not know scores.

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::near_words::Spellings;

/// Longest text that may be a name, in bytes.
const MAX_NAME_BYTES: usize = 128;
/// Names that are looked for in one text.
const MAX_NAMES: usize = 16;
/// Letters and digits of the shortest name that is found with a typing error.
const LEAST_NEAR_NAME: usize = 8;
/// Hyphens that a word needs at least to name what is written with other separators.
const LEAST_HYPHENS: usize = 2;
/// Letters and digits that such a word needs at least: "t-test" and "up-to-date" are English.
const LEAST_HYPHENATED: usize = 12;

/// How a query names an entry.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "NameMatch")]
pub enum NameMatch {
    /// By its id or name; case and separators are ignored.
    Exact,
    /// With one typing error.
    Fuzzy,
}

/// Names, each with the numbers of the things that have it.
#[derive(Debug, Default)]
pub struct NameIndex {
    /// Names without case and separators, and those with hyphens as they are.
    names: FxHashMap<String, Vec<u32>>,
    near: Spellings,
}

impl NameIndex {
    /// The index of these names as they are written, each with the number of its thing, in ascending order.
    pub fn from_names<'n>(written: impl IntoIterator<Item = (u32, &'n str)>) -> Self {
        let mut names: FxHashMap<String, Vec<u32>> = FxHashMap::default();
        for (thing, written) in written {
            let bare = Some(bare_name(written)).filter(|name| !name.is_empty());
            for name in bare.into_iter().chain(hyphenated_name(written)) {
                let things = names.entry(name).or_default();
                if things.last() != Some(&thing) {
                    things.push(thing);
                }
            }
        }
        NameIndex {
            near: Spellings::from_words(names.keys().cloned()),
            names,
        }
    }

    /// The things that have a name, and those of the names that one edit makes of it, where it is long enough to tell.
    /// `name` is in one of the forms of the index.
    pub(crate) fn named(&self, name: &str) -> Vec<(usize, NameMatch)> {
        let of = |name: &str, named: NameMatch| {
            let things = self.names.get(name).into_iter().flatten();
            things
                .map(move |thing| (*thing as usize, named))
                .collect::<Vec<_>>()
        };
        let exact = of(name, NameMatch::Exact);
        if !exact.is_empty() || name.chars().count() < LEAST_NEAR_NAME {
            return exact;
        }
        let near = self.near.near(name).into_iter();
        near.flat_map(|name| of(name, NameMatch::Fuzzy)).collect()
    }

    /// The things that a whole text names without a typing error.
    pub(crate) fn named_by_all_of(&self, text: &str) -> impl Iterator<Item = usize> {
        let name = if text.len() <= MAX_NAME_BYTES {
            bare_name(text)
        } else {
            String::new()
        };
        let things = self.names.get(&name).into_iter().flatten();
        things.map(|thing| *thing as usize)
    }

    /// The first thing that a word of a text names; one without a typing error comes before others. The words of a text
    /// together name nothing here: "list orders" is a request, `list_orders` is a name.
    pub fn named_by_a_word(&self, text: &str) -> Option<(usize, NameMatch)> {
        let names: Vec<String> = words_that_may_name(text).take(MAX_NAMES).collect();
        let found: Vec<(usize, NameMatch)> =
            names.iter().flat_map(|name| self.named(name)).collect();
        let exact = found.iter().find(|(_, named)| *named == NameMatch::Exact);
        exact.or(found.first()).copied()
    }

    /// Bytes held on the heap, about.
    pub(crate) fn heap_bytes(&self) -> usize {
        let names = self.names.iter();
        let names: usize = names
            .map(|(name, things)| name.capacity() + 60 + 4 * things.capacity())
            .sum();
        names + self.near.heap_bytes()
    }
}

/// What may be a name in a text: all of it, and its words that are written as identifiers are.
pub(crate) fn names_in(text: &str) -> Vec<String> {
    let whole = (text.len() <= MAX_NAME_BYTES).then(|| bare_name(text));
    let mut found: Vec<String> = Vec::new();
    for name in whole.into_iter().chain(words_that_may_name(text)) {
        if !name.is_empty() && found.len() < MAX_NAMES && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The words of a text with a `.` or `_` inside, without case and separators, and its hyphenated words. English joins words
/// by hyphens too ("a t-test", "to-do"), so a hyphenated word names what is written with hyphens, and what is written
/// otherwise only if it is long and has several.
fn words_that_may_name(text: &str) -> impl Iterator<Item = String> {
    let words = text
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| word.len() <= MAX_NAME_BYTES);
    words
        .flat_map(|word| match word.contains(['.', '_']) {
            true => [Some(bare_name(word)), None],
            false => [hyphenated_name(word), separated_by_hyphens(word)],
        })
        .flatten()
}

/// A name with hyphens and no other separator, without case.
fn hyphenated_name(name: &str) -> Option<String> {
    let is_hyphenated = name.contains('-') && name.chars().all(|c| c == '-' || c.is_alphanumeric());
    is_hyphenated.then(|| name.to_lowercase())
}

/// The name that a long word with several hyphens is in other separators: `detect-public-ingress`.
fn separated_by_hyphens(word: &str) -> Option<String> {
    let hyphenated = hyphenated_name(word)?;
    let bare = bare_name(&hyphenated);
    let is_long = hyphenated.matches('-').count() >= LEAST_HYPHENS
        && bare.chars().count() >= LEAST_HYPHENATED;
    is_long.then_some(bare)
}

/// A name without case and separators: `aws.listBuckets` as `awslistbuckets`.
fn bare_name(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> NameIndex {
        NameIndex::from_names([
            (0, "tank.read_levels"),
            (0, "read_levels"),
            (1, "domain.tanks.keeper"),
            (2, "tank-report"),
        ])
    }

    #[test]
    fn a_word_that_is_written_as_a_name_finds_it_and_prose_does_not() {
        let found = |text: &str| index().named_by_a_word(text);
        let exactly = |thing: usize| Some((thing, NameMatch::Exact));
        assert_eq!(found("what does `tank.read_levels` do?"), exactly(0));
        assert_eq!(found("TANK_READ_LEVELS"), exactly(0));
        assert_eq!(found("run tank-read-levels now"), exactly(0));
        assert_eq!(found("show me \"domain.tanks.keeper\""), exactly(1));
        assert_eq!(found("the tank-report, please"), exactly(2));
        assert_eq!(found("run tank.read_levles"), Some((0, NameMatch::Fuzzy)));
        for prose in ["read levels", "tank read levels", "a read-only tank"] {
            assert_eq!(found(prose), None, "{prose}");
        }
    }

    #[test]
    fn a_whole_text_names_what_is_written_so_without_an_error() {
        let found = |text: &str| index().named_by_all_of(text).collect::<Vec<_>>();
        assert_eq!(found("Tank read levels"), [0]);
        assert_eq!(found("\"read_levels\""), [0]);
        assert_eq!(found("tank read level"), [0; 0]);
        assert_eq!(found(&"x".repeat(MAX_NAME_BYTES + 1)), [0; 0]);
        assert_eq!(found("?!"), [0; 0]);
    }
}
