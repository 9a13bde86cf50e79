//! Finds exclusions: "all hosts but web-02", "leave web-02 alone", "web-02 must stay up".
//!
//! A cue precedes or follows the excluded values. Words with other uses ("but", "keep", "not") count as cues only near
//! a value: a code, a capitalised name, or a word that a declaration shows as a value.

mod cues;

use std::collections::HashSet;

use self::cues::{
    AFTER, ALL, AS_IT_IS, BETWEEN, BUT, CLAUSE, DETERMINERS, HARMLESS, LOOSE, PLACES, SPARE, STAYS,
    STRICT,
};
use super::text::Sentence;
use super::words::{is_capitalised, is_function_word, is_verb, looks_like_code};

/// The maximum number of words between a cue and the excluded value.
const NEAR: usize = 3;

/// The maximum number of words between "all" and "but".
const FAR: usize = 10;

/// The maximum number of words of a noun phrase that "but" excludes.
const PHRASE: usize = 6;

/// An exclusion in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cue {
    /// The first word of the cue, or of the values before it.
    pub(super) first: usize,
    /// The first excluded word.
    pub(super) from: usize,
    /// The end of the excluded words; `None` if that is the end of the clause.
    pub(super) until: Option<usize>,
    /// The end of the cue.
    pub(super) end: usize,
    /// Whether it is an exclusion even without a value nearby.
    pub(super) is_strict: bool,
}

/// Recognises words that may be values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values<'a, 't> {
    pub(super) sentence: &'a Sentence<'t>,
    /// Words of the values in declarations, in lower case.
    pub(super) known: &'a HashSet<String>,
}

impl Values<'_, '_> {
    /// Returns whether a word may be a value.
    pub(super) fn is_value(self, at: usize) -> bool {
        let word = self.sentence.written(at);
        looks_like_code(word)
            || self.known.contains(self.sentence.lower(at))
            || (is_capitalised(word) && !self.sentence.begins(at))
    }

    /// Returns the first value after a cue; articles, nouns and prepositions may precede it.
    fn near(self, from: usize) -> Option<usize> {
        let determined = DETERMINERS.contains(&self.sentence.lower(from));
        self.value_after(from, |at, word| {
            // "The ones on web-01" is a thing; "focus on web-01" is an order.
            let links = BETWEEN.contains(&word) && (determined || PLACES.contains(&word));
            (at > from && links) || DETERMINERS.contains(&word) || is_noun(word)
        })
    }

    /// Returns whether a word continues a list of values, after a comma or as "and".
    pub(super) fn goes_on(self, at: usize) -> bool {
        match matches!(self.sentence.lower(at), "and" | "or" | "nor") {
            true => self.listed(at + 1).is_some(),
            false => self.sentence.gap(at).trim() == "," && self.is_value(at),
        }
    }

    /// As `near`, within a list: a noun needs its article, so that verbs are not treated as nouns.
    fn listed(self, from: usize) -> Option<usize> {
        let determined = DETERMINERS.contains(&self.sentence.lower(from));
        self.value_after(from, |at, word| {
            DETERMINERS.contains(&word) || (at > from && determined && is_noun(word))
        })
    }

    fn value_after(self, from: usize, passes: impl Fn(usize, &str) -> bool) -> Option<usize> {
        for at in from..=from + NEAR {
            let apart = match at == from {
                true => self
                    .sentence
                    .gap(at)
                    .contains([',', ';', '.', '!', '?', '\n']),
                false => !self.sentence.joins(at),
            };
            if at >= self.sentence.len() || apart {
                return None;
            }
            if self.is_value(at) {
                return Some(at);
            }
            if !passes(at, self.sentence.lower(at)) {
                return None;
            }
        }
        None
    }

    /// Returns the end of the list of values that begins at a position.
    fn list_end(self, at: usize) -> usize {
        let sentence = self.sentence;
        let mut end = at + 1;
        while end < sentence.len() {
            let comma = sentence.gap(end).trim() == ",";
            let joint = matches!(sentence.lower(end), "and" | "or" | "nor");
            let next = match (sentence.joins(end), comma, joint) {
                (true, _, true) | (_, true, true) => self.listed(end + 1),
                (_, true, false) => Some(end).filter(|at| self.is_value(*at)),
                (true, false, false) => {
                    Some(end).filter(|_| self.known.contains(sentence.lower(end)))
                }
                (false, false, _) => None,
            };
            match next {
                Some(next) => end = next + 1,
                None => break,
            }
        }
        end
    }

    /// Creates the exclusion of the list of values near a cue.
    fn list(self, first: usize, from: usize, value: usize) -> Cue {
        let until = self.list_end(value);
        Cue {
            first,
            from,
            until: Some(until),
            end: until,
            is_strict: false,
        }
    }

    /// Returns the exclusion at a position, if there is one.
    pub(super) fn cue(self, at: usize) -> Option<Cue> {
        self.denied(at)
            .or_else(|| self.phrase(at))
            .or_else(|| self.taken_from_all(at))
            .or_else(|| self.spared(at))
            .or_else(|| self.forbidden(at))
            .or_else(|| self.after(at))
    }

    fn phrase(self, at: usize) -> Option<Cue> {
        let strict = longest(self.sentence, at, &STRICT);
        let loose = longest(self.sentence, at, &LOOSE);
        let words = strict.max(loose)?;
        Some(Cue {
            first: at,
            from: at + words,
            until: None,
            end: at + words,
            is_strict: strict == Some(words),
        })
    }

    /// "All hosts but web-02", "the hosts but web-02".
    fn taken_from_all(self, at: usize) -> Option<Cue> {
        let sentence = self.sentence;
        let word = sentence.lower(at);
        let from = at + 1;
        if !BUT.contains(&word) || is_verb(sentence.lower(from)) {
            return None;
        }
        let value = self.near(from);
        if word == "without"
            && let Some(value) = value
        {
            return Some(self.list(at, from, value));
        }
        if is_quantified(sentence, at) {
            let whole = matches!(word, "but" | "bar" | "besides" | "barring");
            return match value {
                Some(value) => Some(self.list(at, from, value)),
                None if whole && self.is_noun_phrase(from) => Some(Cue {
                    first: at,
                    from,
                    until: None,
                    end: from,
                    is_strict: true,
                }),
                None => None,
            };
        }
        let value = value.filter(|value| *value <= from + 1 && word == "but")?;
        let cue = self.list(at, from, value);
        let closed = sentence.breaks(cue.end) || is_function_word(sentence.lower(cue.end));
        let verb = matches!(
            sentence.lower(cue.end),
            "is" | "are" | "was" | "were" | "has" | "have" | "does" | "will" | "can"
        );
        (closed && !verb && at > 0 && !is_denied_before(sentence, at)).then_some(cue)
    }

    /// Returns whether the rest of the clause is a noun with its article: "but the old ones".
    fn is_noun_phrase(self, from: usize) -> bool {
        let sentence = self.sentence;
        let led = matches!(
            sentence.lower(from),
            "the" | "those" | "these" | "our" | "my" | "their"
        );
        let mut end = from + 1;
        while end < sentence.len() && !sentence.breaks(end) {
            end += 1;
        }
        let rest = from + 1..end;
        led && sentence.joins(from)
            && (1..=PHRASE).contains(&rest.len())
            && rest.into_iter().all(|at| {
                let word = sentence.lower(at);
                is_noun(word) || BETWEEN.contains(&word) || DETERMINERS.contains(&word)
            })
    }

    /// "Leave web-01 alone", "keep web-01 running", "spare web-01".
    fn spared(self, at: usize) -> Option<Cue> {
        let sentence = self.sentence;
        let word = sentence.lower(at);
        if !SPARE.contains(&word) || !begins_clause(sentence, at) {
            return None;
        }
        let cue = self.list(at, at + 1, self.near(at + 1)?);
        let kept = sentence.one_of(cue.end, &AS_IT_IS);
        let kept = kept.filter(|_| sentence.joins(cue.end));
        let turned = at > 0 && sentence.joins(at) && sentence.lower(at - 1) == "but";
        let meant = match word {
            "leave" | "keep" | "retain" => kept.is_some() || (turned && sentence.breaks(cue.end)),
            _ => true,
        };
        meant.then_some(Cue {
            end: cue.end + kept.unwrap_or(0),
            ..cue
        })
    }

    /// "Do not touch web-01", "never restart or stop web-01".
    fn forbidden(self, at: usize) -> Option<Cue> {
        let sentence = self.sentence;
        let denial: [&[&str]; 10] = [
            &["do", "not"],
            &["don't"],
            &["don’t"],
            &["dont"],
            &["never"],
            &["must", "not"],
            &["mustn't"],
            &["should", "not"],
            &["shouldn't"],
            &["shall", "not"],
        ];
        let words = sentence.one_of(at, &denial)?;
        let modal = matches!(
            sentence.lower(at),
            "must" | "mustn't" | "should" | "shouldn't" | "shall"
        );
        let verb = at + words;
        let harmless =
            is_function_word(sentence.lower(verb)) || HARMLESS.contains(&sentence.lower(verb));
        if harmless || !sentence.joins(verb) || !(modal || begins_clause(sentence, at)) {
            return None;
        }
        let mut from = verb + 1;
        let second = !is_function_word(sentence.lower(from + 1)) && !self.is_value(from + 1);
        if matches!(sentence.lower(from), "or" | "and") && second {
            from += 2;
        }
        let led = BETWEEN.contains(&sentence.lower(from)) && sentence.joins(from);
        let value = self.near(from + usize::from(led))?;
        Some(self.list(at, from, value))
    }

    /// "Not production", "isn't in production", "no staging hosts".
    fn denied(self, at: usize) -> Option<Cue> {
        let sentence = self.sentence;
        let word = sentence.lower(at).replace('’', "'");
        let before = match sentence.joins(at) {
            true => sentence.lower(at - 1),
            false => "",
        };
        let is_denial = match word.as_str() {
            // "Why not web-01?", "whether or not web-01 is up".
            "not" => !matches!(before, "why" | "or"),
            "outside" | "non" => true,
            "no" => !looks_like_code(sentence.written(at + 1)),
            "isn't" | "aren't" | "wasn't" | "weren't" => !matches!(
                before,
                "" | "why" | "how" | "what" | "when" | "where" | "who"
            ),
            _ => false,
        };
        if !is_denial {
            return None;
        }
        let mut from = at + 1;
        let led = |at: usize| {
            let word = sentence.lower(at);
            BETWEEN.contains(&word) || matches!(word, "for" | "the" | "a" | "an")
        };
        while from <= at + 2 && sentence.joins(from) && led(from) {
            from += 1;
        }
        if !sentence.joins(from) {
            return None;
        }
        // "Not the pump p-7" begins with "not"; "does not answer p-7" does not.
        let value = match begins_clause(sentence, at) {
            true => self.near(from)?,
            false => Some(from).filter(|from| self.is_value(*from))?,
        };
        Some(self.list(at, from, value))
    }

    /// "Web-01 must stay up", "with web-01 and web-02 excluded".
    fn after(self, at: usize) -> Option<Cue> {
        let sentence = self.sentence;
        let words = longest(sentence, at, &AFTER)?;
        // "Web-01 stays offline" is a statement.
        let tells = words == 1
            && matches!(sentence.lower(at), "stay" | "stays" | "remain" | "remains")
            && !STAYS.contains(&sentence.lower(at + 1));
        let last = at.checked_sub(1).filter(|_| sentence.joins(at))?;
        if tells || !self.is_value(last) || matches!(sentence.lower(at + words), "from" | "by") {
            return None;
        }
        let first = self.start_of_list(last);
        let from = [first, last]
            .into_iter()
            .find_map(|place| start_of_clause(sentence, place))?;
        Some(Cue {
            first: from,
            from,
            until: Some(at),
            end: at + words,
            is_strict: false,
        })
    }

    /// Returns the start of the list of values that ends with a word.
    fn start_of_list(self, last: usize) -> usize {
        let sentence = self.sentence;
        let mut first = last;
        while first > 0 {
            let comma = sentence.gap(first).trim() == ",";
            let joint = sentence.joins(first) && matches!(sentence.lower(first - 1), "and" | "or");
            let before = match (comma, joint) {
                (true, _) => first - 1,
                (false, true) if first > 1 => first - 2,
                (false, _) => break,
            };
            if !self.is_value(before) {
                break;
            }
            first = before;
        }
        first
    }
}

/// Returns whether a word may be a noun.
fn is_noun(word: &str) -> bool {
    !word.is_empty() && !is_function_word(word) && !is_verb(word)
}

/// Returns the number of words of the longest of these phrases at a position.
pub(super) fn longest(sentence: &Sentence<'_>, at: usize, phrases: &[&[&str]]) -> Option<usize> {
    let found = phrases.iter().filter(|phrase| sentence.has(at, phrase));
    found.map(|phrase| phrase.len()).max()
}

/// Returns whether a word like "all" precedes a position in its sentence.
fn is_quantified(sentence: &Sentence<'_>, at: usize) -> bool {
    for place in (at.saturating_sub(FAR)..at).rev() {
        if ALL.contains(&sentence.lower(place)) {
            return true;
        }
        if sentence.begins(place) {
            return false;
        }
    }
    false
}

/// Returns whether a negation precedes a position, so that "but" introduces the intended value: "not A but B".
fn is_denied_before(sentence: &Sentence<'_>, at: usize) -> bool {
    for place in (at.saturating_sub(FAR)..at).rev() {
        let word = sentence.lower(place);
        let denied = matches!(word, "not" | "no" | "never" | "neither" | "nor" | "nothing");
        if denied || word.ends_with("n't") || word.ends_with("n’t") {
            return true;
        }
        if sentence.begins(place) {
            return false;
        }
    }
    false
}

/// Returns whether a clause begins with a word, by punctuation and the preceding word.
fn begins_clause(sentence: &Sentence<'_>, at: usize) -> bool {
    at == 0
        || sentence.breaks(at)
        || (sentence.joins(at) && CLAUSE.contains(&sentence.lower(at - 1)))
}

/// Returns the start of the clause whose subject is a value: the value itself, or its noun with the article.
fn start_of_clause(sentence: &Sentence<'_>, at: usize) -> Option<usize> {
    let mut first = at;
    while !begins_clause(sentence, first) {
        let before = first.checked_sub(1).filter(|_| sentence.joins(first))?;
        let word = sentence.lower(before);
        let passes = DETERMINERS.contains(&word) || is_noun(word);
        if at - before >= NEAR || !passes {
            return None;
        }
        first = before;
    }
    Some(first)
}
