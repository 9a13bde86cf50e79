//! Whether two short statements agree, or give different values for one property of a subject.
//!
//! The method is heuristics over English words, names, numbers and negations, and the cosine of both if there is one.
//! It has no understanding: two compatible facts ("Bob speaks French", "Bob speaks German") can look like a
//! contradiction, and a contradiction in other words is missed. Its marks are for a reader to judge. Must not know the
//! sources of statements.

use std::collections::{BTreeMap, BTreeSet};

use crate::lexical::{Analyser, is_stop_word};

/// Words of a statement that are compared, from its beginning.
const MOST_WORDS: usize = 60;
/// Number of words from which on a statement must share most of them with another to be nearly the same.
const LONG: usize = 12;
/// The cosine from which on two statements are nearly the same.
const NEARLY_THE_SAME: f32 = 0.85;
/// The cosine from which on two statements are about one subject.
const ABOUT_ONE_THING: f32 = 0.72;
/// Most words of a statement that are replaced in another.
const EXCHANGED: usize = 2;
/// The share of words that two statements must have in common, by kind of evidence.
const SHARED: f32 = 0.5;
const SHARED_BY_WORDS_ALONE: f32 = 0.8;
const SHARED_BUT_FOR_NEGATION: f32 = 0.75;

/// Words between a subject and its value.
const LINKS: [&str; 28] = [
    "am", "are", "be", "became", "become", "becomes", "belongs", "cost", "costs", "ends", "equals",
    "had", "has", "have", "is", "lives", "needs", "owns", "run", "runs", "starts", "takes", "use",
    "used", "uses", "was", "were", "works",
];
const NEGATIONS: [&str; 9] = [
    "cannot", "neither", "never", "no", "nobody", "none", "nor", "not", "without",
];

/// The relation of two statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// The same words, except case and punctuation.
    Same,
    /// Nearly the same, by meaning and words.
    Similar,
    /// The same subject, with another name, number or word, or negated.
    Conflicting,
}

/// An analysed statement.
#[derive(Debug, Clone)]
pub struct Statement {
    title: Vec<String>,
    words: Vec<Word>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    /// In lower case.
    text: String,
    stem: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A word without meaning of its own.
    Filler,
    /// Between subject and value.
    Link,
    Negation,
    Plain,
    /// A name or number.
    Value,
}

impl Word {
    fn informs(&self) -> bool {
        matches!(self.kind, Kind::Plain | Kind::Value)
    }
}

impl Statement {
    /// Analyses a text under a title.
    #[must_use]
    pub fn new(title: &str, text: &str) -> Self {
        let analyser = Analyser::new();
        let title = words(title, &analyser).into_iter();
        Self {
            title: title.map(|word| word.text).collect(),
            words: words(text, &analyser),
        }
    }

    fn informing(&self) -> impl Iterator<Item = &Word> {
        self.words.iter().filter(|word| word.informs())
    }

    fn is_negated(&self) -> bool {
        let negations = self.words.iter().filter(|w| w.kind == Kind::Negation);
        negations.count() % 2 == 1
    }

    /// Returns the words before the first link; `None` without a link, or without words before it.
    fn subject(&self) -> Option<BTreeSet<&str>> {
        let link = self.words.iter().position(|w| w.kind == Kind::Link)?;
        let before = self.words.iter().take(link).filter(|word| word.informs());
        let subject: BTreeSet<&str> = before.map(|word| word.stem.as_str()).collect();
        (!subject.is_empty()).then_some(subject)
    }

    /// Returns the number of names and numbers that another statement does not contain.
    fn values_beside(&self, other: &Self) -> usize {
        let own = self.informing().filter(|word| word.kind == Kind::Value);
        own.filter(|own| other.informing().all(|word| word.stem != own.stem))
            .count()
    }

    fn says_as(&self, other: &Self) -> bool {
        let (own, other) = (self.words.iter(), other.words.iter());
        own.map(|word| &word.text).eq(other.map(|word| &word.text))
    }
}

/// Returns the relation of two statements, if there is one. `cosine` is that of both, if both have a vector.
#[must_use]
pub fn likeness(a: &Statement, b: &Statement, cosine: Option<f32>) -> Option<Likeness> {
    if a.words.is_empty() || b.words.is_empty() {
        return None;
    }
    if a.says_as(b) {
        return Some(Likeness::Same);
    }
    let shared = shared(a, b);
    let other_values = a.values_beside(b) > 0 && b.values_beside(a) > 0;
    let negated = a.is_negated() != b.is_negated();
    if are_of_one_subject(a, b) {
        let near = cosine.is_some_and(|cosine| cosine >= ABOUT_ONE_THING);
        let conflicts = (negated && shared >= SHARED_BUT_FOR_NEGATION)
            || (other_values && (near || is_short_under_one_title(a, b)))
            || (!negated && differ_in_one_place(a, b));
        if conflicts {
            return Some(Likeness::Conflicting);
        }
    }
    let least = match (cosine, a.words.len().min(b.words.len())) {
        (Some(cosine), 0..=LONG) if cosine >= NEARLY_THE_SAME => SHARED,
        (Some(cosine), _) if cosine < NEARLY_THE_SAME => return None,
        (Some(_) | None, _) => SHARED_BY_WORDS_ALONE,
    };
    (!other_values && !negated && shared >= least).then_some(Likeness::Similar)
}

/// Returns the share of meaningful words that both statements contain (Dice).
fn shared(a: &Statement, b: &Statement) -> f32 {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for word in b.informing() {
        *left.entry(&word.stem).or_default() += 1;
    }
    let all = a.informing().count() + b.informing().count();
    let mut both = 0_usize;
    for word in a.informing() {
        if let Some(count) = left.get_mut(word.stem.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            both += 1;
        }
    }
    2.0 * both as f32 / all.max(1) as f32
}

fn are_of_one_subject(a: &Statement, b: &Statement) -> bool {
    match (a.subject(), b.subject()) {
        (Some(a), Some(b)) => a == b,
        (Some(_) | None, Some(_) | None) => {
            let first = |of: &Statement| of.informing().next().map(|word| word.stem.clone());
            is_short_under_one_title(a, b) || (first(a).is_some() && first(a) == first(b))
        }
    }
}

/// A title with a value below it, such as `Region` and `eu-west-1`.
fn is_short_under_one_title(a: &Statement, b: &Statement) -> bool {
    let short = |of: &Statement| of.words.len() <= EXCHANGED;
    !a.title.is_empty() && a.title == b.title && short(a) && short(b)
}

/// Whether only one or two words are replaced by others. Without a link that marks the end of the subject, they must be
/// at the end.
fn differ_in_one_place(a: &Statement, b: &Statement) -> bool {
    let same = |pair: &(&Word, &Word)| pair.0.stem == pair.1.stem;
    let before = a.words.iter().zip(&b.words).take_while(same).count();
    let (rest_a, rest_b) = (a.words.split_at(before).1, b.words.split_at(before).1);
    let backwards = rest_a.iter().rev().zip(rest_b.iter().rev());
    let after = backwards.take_while(same).count();
    let exchanged = |rest: &[Word]| {
        let words = rest.split_at(rest.len() - after).0;
        (1..=EXCHANGED).contains(&words.len()) && words.iter().any(Word::informs)
    };
    let ends = |rest: &[Word]| {
        let words = rest.split_at(rest.len() - after).1;
        !words.iter().any(Word::informs)
    };
    // Words with one stem can be of two kinds, so either may have the kind.
    let begins = |of: fn(&Word) -> bool| {
        let words = |whole: &Statement| whole.words.iter().take(before).any(of);
        words(a) || words(b)
    };
    let placed = begins(|word| word.kind == Kind::Link) || (ends(rest_a) && ends(rest_b));
    begins(Word::informs) && placed && exchanged(rest_a) && exchanged(rest_b)
}

fn words(text: &str, analyser: &Analyser) -> Vec<Word> {
    let mut words = Vec::new();
    let mut begins = true;
    for piece in text.split_whitespace() {
        let bare = bare(piece);
        if !bare.is_empty() {
            words.push(word(bare, begins, analyser));
            begins = false;
        }
        begins |= piece.ends_with(['.', '!', '?', ':', ';']);
        if words.len() == MOST_WORDS {
            break;
        }
    }
    words
}

/// A word without the punctuation around it and the `'s` after it; a sign stays with its number.
fn bare(piece: &str) -> &str {
    let Some(first) = piece.find(char::is_alphanumeric) else {
        return "";
    };
    let (before, rest) = piece.split_at(first);
    let rest = rest.trim_end_matches(|c: char| !c.is_alphanumeric());
    let rest = rest
        .strip_suffix("'s")
        .or_else(|| rest.strip_suffix("\u{2019}s"))
        .unwrap_or(rest);
    if before.ends_with('-') && rest.starts_with(|c: char| c.is_ascii_digit()) {
        return piece.split_at(first - 1).1.split_at(rest.len() + 1).0;
    }
    rest
}

fn word(bare: &str, begins: bool, analyser: &Analyser) -> Word {
    let text = bare.to_lowercase();
    let mut letters = bare.chars();
    let capital = letters.next().is_some_and(char::is_uppercase);
    let named = (capital && !begins && bare != "I")
        || letters.any(char::is_uppercase)
        || bare.contains(|c: char| c.is_ascii_digit());
    let kind = if NEGATIONS.contains(&text.as_str()) || text.ends_with("n't") {
        Kind::Negation
    } else if LINKS.contains(&text.as_str()) {
        Kind::Link
    } else if named {
        Kind::Value
    } else if is_stop_word(&text) {
        Kind::Filler
    } else {
        Kind::Plain
    };
    Word {
        stem: analyser.stem(&text),
        text,
        kind,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(a: &str, b: &str, cosine: Option<f32>) -> Option<Likeness> {
        likeness(&Statement::new("a", a), &Statement::new("b", b), cosine)
    }

    #[test]
    fn the_same_words_are_the_same_whatever_their_case_and_punctuation() {
        for (a, b) in [
            ("The gate opens at 07:30.", "the gate opens at 07:30"),
            ("We bill monthly!", "We  bill monthly"),
            ("eu-west-1", "eu-west-1."),
        ] {
            assert_eq!(of(a, b, None), Some(Likeness::Same), "{a}");
        }
        assert_eq!(of("", "", Some(1.0)), None);
        assert_eq!(of("-", "...", Some(1.0)), None);
    }

    /// Cosines of all-MiniLM-L6-v2, and none.
    #[test]
    fn another_value_of_one_thing_conflicts() {
        for (a, b, cosine) in [
            ("The mail relay is Postfix.", "The mail relay is Exim.", 0.8),
            ("The lease ends in 2027.", "The lease ends in 2029.", 0.95),
            ("Router R2 runs JunOS.", "Router R2 runs OpenWrt.", 0.8),
            ("Kim prefers tea.", "Kim prefers coffee.", 0.8),
            ("We ship from Bremen.", "We ship from Kiel.", 0.8),
            (
                "The outlet is at -5 degrees.",
                "The outlet is at 5 degrees.",
                0.97,
            ),
            (
                "Backups leave the country.",
                "Backups never leave the country.",
                0.8,
            ),
            ("The door has a lock.", "The door has no lock.", 0.9),
        ] {
            for cosine in [Some(cosine), None] {
                assert_eq!(of(a, b, cosine), Some(Likeness::Conflicting), "{a} {b}");
                assert_eq!(of(b, a, cosine), Some(Likeness::Conflicting), "{b} {a}");
            }
        }
        // Other words with similar meaning.
        let (a, b) = (
            "The archive lies in Oslo.",
            "The archive is kept in Bergen now.",
        );
        assert_eq!(of(a, b, Some(0.8)), Some(Likeness::Conflicting));
        assert_eq!(of(a, b, Some(0.5)), None);
    }

    #[test]
    fn the_same_of_another_thing_does_not() {
        for (a, b, cosine) in [
            ("Pump A is a Grundfos.", "Pump B is a Grundfos.", 0.87),
            ("Kim prefers tea.", "Lee prefers tea.", 0.6),
            (
                "The desk of Kim is in Oslo.",
                "The desk of Lee is in Bergen.",
                0.7,
            ),
            ("Send parcels to Kim.", "Send letters to Kim.", 0.8),
            (
                "Kim lives in Oslo.",
                "Kim works for Statoil as a diver.",
                0.5,
            ),
            (
                "The hall has a stage.",
                "The hall is booked on Fridays.",
                0.66,
            ),
            ("Owls hunt at night.", "The invoice is paid.", 0.02),
        ] {
            for cosine in [Some(cosine), None] {
                assert_eq!(of(a, b, cosine), None, "{a} {b} {cosine:?}");
            }
        }
    }

    #[test]
    fn nearly_the_same_by_meaning_and_words_is_similar() {
        let (a, b) = (
            "Every night at 01:15 the mirror syncs.",
            "The mirror syncs nightly at 01:15.",
        );
        assert_eq!(of(a, b, Some(0.9)), Some(Likeness::Similar));
        assert_eq!(of(a, b, Some(0.7)), None);
        let (a, b) = (
            "The team uses tabs over spaces in Go.",
            "In Go the team uses tabs over spaces.",
        );
        assert_eq!(of(a, b, None), Some(Likeness::Similar));
    }

    #[test]
    fn two_values_under_one_title_conflict() {
        let under = |title: &str, text: &str| Statement::new(title, text);
        let found = likeness(&under("Port", "8443"), &under("port", "9443"), Some(0.4));
        assert_eq!(found, Some(Likeness::Conflicting));
        let found = likeness(&under("Port", "8443"), &under("Year", "2031"), Some(0.4));
        assert_eq!(found, None);
    }

    proptest! {
        /// The result does not depend on the order of the two.
        #[test]
        fn it_is_the_same_both_ways(
            a in "([A-Z]?[a-c]{1,2}|is|not|[0-9]|the|-?)( ([A-Z]?[a-c]{1,2}|is|not|[0-9]|a)){0,5}[.]?",
            b in "([A-Z]?[a-c]{1,2}|is|not|[0-9]|the|-?)( ([A-Z]?[a-c]{1,2}|is|not|[0-9]|a)){0,5}[.]?",
            cosine in prop::option::of(0.0f32..1.0),
        ) {
            prop_assert_eq!(of(&a, &b, cosine), of(&b, &a, cosine));
        }

        #[test]
        fn any_text_can_be_compared(a in ".{0,60}", b in ".{0,60}") {
            of(&a, &b, Some(0.9));
        }
    }
}
