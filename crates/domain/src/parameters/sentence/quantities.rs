//! Numbers with their units and comparisons: "at least 5 GB", "older than 180 days", "the last 7 days".

use super::approximation::is_approximate;
use super::kinds;
use super::number_words::in_words;
use super::numbers::{self, Decimal};
use super::text::Sentence;
use super::units::Unit;
use super::words::{is_function_word, month};

/// A number in a sentence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quantity {
    /// The number.
    pub(super) number: Decimal,
    /// The unit, if there is one.
    pub(super) unit: Option<Unit>,
    /// The number of words of the number and its unit.
    pub(super) words: usize,
    /// Whether the number is ambiguous.
    pub(super) ambiguous: bool,
    /// Whether it is only an article: "a week".
    pub(super) article: bool,
    /// Whether it is approximate: "about 20 euros", "20 euros or so".
    pub(super) approximate: bool,
    /// The comparison in the preceding words.
    pub(super) limit: Option<Limit>,
}

/// The comparison of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// A minimum: "at least 5", "older than 30 days".
    Least,
    /// A maximum: "at most 5", "under 100 euros".
    Most,
    /// A period that ends now: "the last 7 days".
    Recent,
    /// A time that has passed: "30 days ago".
    Ago,
}

/// Words before a minimum.
const LEAST: [&[&str]; 16] = [
    &["at", "least"],
    &["more", "than"],
    &["older", "than"],
    &["longer", "than"],
    &["larger", "than"],
    &["bigger", "than"],
    &["greater", "than"],
    &["higher", "than"],
    &["over"],
    &["above"],
    &["exceeding"],
    &["beyond"],
    &["minimum"],
    &["minimum", "of"],
    &["from"],
    &["starting", "at"],
];

/// Words before a maximum.
const MOST: [&[&str]; 19] = [
    &["at", "most"],
    &["no", "more", "than"],
    &["not", "more", "than"],
    &["less", "than"],
    &["fewer", "than"],
    &["younger", "than"],
    &["newer", "than"],
    &["shorter", "than"],
    &["smaller", "than"],
    &["cheaper", "than"],
    &["lower", "than"],
    &["under"],
    &["below"],
    &["up", "to"],
    &["within"],
    &["maximum"],
    &["maximum", "of"],
    &["max"],
    &["max", "of"],
];

/// Words before a period that ends now.
const RECENT: [&[&str]; 4] = [&["last"], &["past"], &["previous"], &["recent"]];

/// Parses the number that begins at a position.
pub(super) fn quantity(sentence: &Sentence<'_>, at: usize) -> Option<Quantity> {
    if is_part_of_date(sentence, at) {
        return None;
    }
    let mut found = in_one_word(sentence.word(at)?.lower.as_str())
        .or_else(|| after_sign(sentence, at))
        .or_else(|| spelled(sentence, at))?;
    let mut apart = found;
    thousands(sentence, at + found.words, &mut apart);
    let unit = apart.unit.is_none() && apart.words > found.words;
    if unit && Unit::of_word(sentence.lower(at + apart.words)).is_some() {
        found = apart;
    }
    let next = at + found.words;
    if found.unit.is_none() && sentence.joins(next) {
        extend(sentence, next, &mut found);
    }
    if found.unit.is_none() {
        found.unit = unit_of_range(sentence, at + found.words);
    } else {
        compound(sentence, at + found.words, &mut found);
    }
    found.approximate |= is_approximate(sentence, at, at + found.words);
    let after = at + found.words;
    found.limit = if sentence.has(after, &["ago"]) || sentence.has(after, &["earlier"]) {
        Some(Limit::Ago)
    } else if is_high_end(sentence, at) {
        Some(Limit::Most)
    } else if sentence.preceded(at, &[&["between"]]) {
        Some(Limit::Least)
    } else {
        limit(sentence, at)
    };
    Some(found)
}

/// The maximum number of words between "between" and the second number of a range.
const RANGE: usize = 4;

/// Returns whether a number ends a range: "between 30 and 60".
fn is_high_end(sentence: &Sentence<'_>, at: usize) -> bool {
    let mut before = (at.saturating_sub(RANGE)..at).map(|at| sentence.lower(at));
    sentence.preceded(at, &[&["and"]]) && before.any(|word| word == "between")
}

/// Adds a smaller unit after a number: "20 euros 50 cents", "2 weeks and 3 days", "a year and a half".
fn compound(sentence: &Sentence<'_>, next: usize, found: &mut Quantity) {
    let Some(unit) = found.unit.filter(|_| sentence.joins(next)) else {
        return;
    };
    if found.article && sentence.has(next, &["and", "a", "half"]) {
        found.add_half(3);
        return;
    }
    let joint = usize::from(sentence.lower(next) == "and" && sentence.joins(next + 1));
    let at = next + joint;
    let Some(mut more) = sentence
        .word(at)
        .and_then(|word| in_one_word(&word.lower))
        .or_else(|| spelled(sentence, at))
    else {
        return;
    };
    let after = at + more.words;
    if more.unit.is_none()
        && sentence.joins(after)
        && let unit @ Some(_) = Unit::of_word(sentence.lower(after))
    {
        more.unit = unit;
        more.words += 1;
    }
    let end = at + more.words;
    // "A minute and 30 seconds of grace" are two values.
    let whole = sentence.breaks(end)
        || is_function_word(sentence.lower(end))
        || matches!(sentence.lower(end), "old" | "long" | "ago");
    // "20 euros 50"
    let two = sentence.written(at).len() == 2 && more.words == 1 && joint == 0 && whole;
    let small = more.unit.or(unit.hundredths().filter(|_| two));
    let sum = small.and_then(|small| unit.with_smaller(found.number, small, more.number));
    if let Some((number, unit)) = sum.filter(|_| joint == 0 || whole) {
        found.number = number;
        found.unit = Some(unit);
        found.words += joint + more.words;
    }
}

impl Quantity {
    /// Adds one half, and the number of words for it.
    fn add_half(&mut self, words: usize) {
        if let Some(number) = self.number.sum(Decimal::half()) {
            self.number = number;
            self.words += words;
        }
    }
}

/// Adds a multiplier and a unit after a number.
fn extend(sentence: &Sentence<'_>, next: usize, found: &mut Quantity) {
    let mut next = next;
    if sentence.has(next, &["and", "a", "half"]) {
        found.add_half(3);
        next += 3;
    }
    if let Some(times) = numbers::multiplier(sentence.lower(next))
        && let Some(number) = found.number.scaled(times, 1)
    {
        found.number = number;
        found.words += 1;
        next += 1;
    }
    if sentence.joins(next)
        && let Some(unit) = Unit::of_word(sentence.lower(next))
    {
        found.unit = Some(unit);
        found.words += 1;
    }
}

/// Returns the unit of a range's second number, which applies to the first: "between 30 and 60 days", "20 or 30 euros".
fn unit_of_range(sentence: &Sentence<'_>, next: usize) -> Option<Unit> {
    let joint = matches!(
        sentence.lower(next),
        "and" | "or" | "of" | "to" | "bis" | "oder"
    );
    if !joint || !sentence.joins(next) || !sentence.joins(next + 1) {
        return None;
    }
    let between = match sentence.lower(next) {
        // "20 of the 240 euros"
        "of" => usize::from(is_determiner(sentence.lower(next + 1))),
        _ => sentence
            .one_of(next + 1, &MOST)
            .or_else(|| sentence.one_of(next + 1, &LEAST))
            .unwrap_or(0),
    };
    let at = next + 1 + between;
    let second = in_one_word(&sentence.word(at)?.lower).or_else(|| spelled(sentence, at))?;
    second.unit.or_else(|| {
        let after = at + second.words;
        Unit::of_word(sentence.lower(after)).filter(|_| sentence.joins(after))
    })
}

pub(super) fn is_determiner(word: &str) -> bool {
    matches!(
        word,
        "the" | "a" | "her" | "his" | "their" | "its" | "your" | "our" | "those" | "these"
    )
}

/// Returns whether a word has numbers with signs between them: `20+5`, `10-15`, `3x4`.
pub(super) fn is_formula(lower: &str) -> bool {
    let bare = lower.trim_start_matches(['€', '$', '£', '¥', '₹', '~', '-', '+']);
    let digit = |c: char| c.is_ascii_digit();
    let sign = |c: char| matches!(c, '+' | '-' | '–' | '−' | '*' | '×' | 'x' | '/' | '~');
    let formed = bare
        .chars()
        .all(|c| digit(c) || sign(c) || matches!(c, '.' | ','));
    let ends = bare.starts_with(digit) && bare.ends_with(digit);
    formed && ends && bare.contains(sign) && kinds::kind(bare).is_none()
}

/// Parses a number in one word, with its sign, multiplier or unit: `€35`, `7d`, `10k`, `30-day`.
pub(super) fn in_one_word(lower: &str) -> Option<Quantity> {
    let near = lower.trim_start_matches(['~', '≈']);
    let approximate = near.len() < lower.len();
    let lower = near;
    let is_sign = |c: char| matches!(c, '€' | '$' | '£' | '¥' | '₹');
    let signed = lower.trim_start_matches(is_sign);
    let sign = lower
        .get(..lower.len() - signed.len())
        .filter(|sign| !sign.is_empty());
    let is_inner =
        |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '_' | '\'' | '’' | '-' | '+');
    let end = signed.find(|c: char| !is_inner(c)).unwrap_or(signed.len());
    let (core, suffix) = signed.split_at(end);
    let joined = core.strip_suffix('-').filter(|_| !suffix.is_empty());
    let numeral = numbers::written(joined.unwrap_or(core))?;
    let mut number = numeral.number;
    let mut unit = sign.and_then(Unit::of_word);
    match (suffix, unit) {
        ("", _) => {}
        (suffix, _) if joined.is_none() && numbers::multiplier(suffix).is_some() => {
            number = number.scaled(numbers::multiplier(suffix)?, 1)?;
        }
        ("ish", _) => {}
        (suffix, None) => unit = Some(Unit::of_suffix(suffix)?),
        (_, Some(_)) => return None,
    }
    Some(Quantity {
        number,
        unit,
        words: 1,
        ambiguous: numeral.ambiguous,
        article: false,
        approximate: approximate || suffix == "ish",
        limit: None,
    })
}

/// Parses a number after the sign or code of its currency: `€ 35`, `EUR 35`.
fn after_sign(sentence: &Sentence<'_>, at: usize) -> Option<Quantity> {
    let word = sentence.lower(at);
    let short = word.chars().count() == 1 || word.len() == 3;
    let unit @ Unit::Money(_) = Unit::of_word(word).filter(|_| short)? else {
        return None;
    };
    if !sentence.joins(at + 1) {
        return None;
    }
    let mut found = in_one_word(sentence.lower(at + 1)).filter(|found| found.unit.is_none())?;
    found.words += 1;
    thousands(sentence, at + 2, &mut found);
    Some(Quantity {
        unit: Some(unit),
        ..found
    })
}

/// Adds groups of thousands that are separated by spaces: `60 000`.
fn thousands(sentence: &Sentence<'_>, next: usize, found: &mut Quantity) {
    let mut next = next;
    let three = |at: usize| sentence.joins(at) && is_three_digits(sentence.lower(at));
    while three(next)
        && let Ok(more) = sentence.lower(next).parse::<i128>()
        && let Some(number) = found
            .number
            .scaled(1_000, 1)
            .and_then(|number| number.plus(more))
    {
        found.number = number;
        found.words += 1;
        next += 1;
    }
}

fn is_three_digits(word: &str) -> bool {
    word.len() == 3 && word.chars().all(|c| c.is_ascii_digit())
}

/// Parses a number in words. "One" and "a" count only before a unit.
pub(super) fn spelled(sentence: &Sentence<'_>, at: usize) -> Option<Quantity> {
    let plain = |number, words, article| Quantity {
        number,
        unit: None,
        words,
        ambiguous: false,
        article,
        approximate: false,
        limit: None,
    };
    // "Half a year", "half a million euros".
    if sentence.lower(at) == "half"
        && matches!(sentence.lower(at + 1), "a" | "an")
        && sentence.joins(at + 1)
        && sentence.joins(at + 2)
    {
        let counted = sentence.lower(at + 2);
        let known = Unit::of_word(counted).is_some() || numbers::multiplier(counted).is_some();
        return known.then(|| plain(Decimal::half(), 2, false));
    }
    if let Some((first, second)) = sentence.lower(at).split_once('-') {
        let number = numbers::below_hundred(first)?;
        let unit = Unit::of_word(second);
        if unit.is_some() {
            return Some(Quantity {
                unit,
                ..plain(Decimal::whole(number), 1, false)
            });
        }
    }
    if let Some((number, words)) = in_words(sentence, at) {
        return Some(plain(number, words, false));
    }
    let unit = |at| {
        let unit = Unit::of_word(sentence.lower(at));
        unit.filter(|unit| matches!(unit, Unit::Time(_) | Unit::Data(_)))
    };
    let half = sentence.preceded(at, &[&["half"], &["twice"], &["once"], &["times"]]);
    if matches!(sentence.lower(at), "a" | "an") && sentence.joins(at + 1) && !half {
        return unit(at + 1).map(|_| plain(Decimal::whole(1), 1, true));
    }
    // "The past week" has no number, but means one week.
    let past = sentence.preceded(at, &[&["past"]]);
    unit(at).filter(|_| past).map(|unit| Quantity {
        unit: Some(unit),
        ..plain(Decimal::whole(1), 1, false)
    })
}

/// Returns whether a number is the day or the year of a date.
fn is_part_of_date(sentence: &Sentence<'_>, at: usize) -> bool {
    let is_month =
        |word: usize| sentence.joins(word.max(at)) && month(sentence.lower(word)).is_some();
    let digits = sentence.lower(at).starts_with(|c: char| c.is_ascii_digit());
    digits && (is_month(at + 1) || (at > 0 && is_month(at - 1) && sentence.lower(at - 1) != "may"))
}

/// Returns the comparison in the words before a number.
fn limit(sentence: &Sentence<'_>, at: usize) -> Option<Limit> {
    let mut at = at;
    while sentence.joins(at)
        && matches!(
            sentence.lower(at - 1),
            "the" | "about" | "around" | "a" | "approximately"
        )
    {
        at -= 1;
    }
    if sentence.preceded(at, &RECENT) {
        Some(Limit::Recent)
    } else if sentence.preceded(at, &MOST) {
        Some(Limit::Most)
    } else if sentence.preceded(at, &LEAST) {
        Some(Limit::Least)
    } else {
        None
    }
}
