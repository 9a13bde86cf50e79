//! The words around a number that make it something else than the value that they give: a part of another, one to compute
//! with, or how long a state lasts already.

use super::quantities::{in_one_word, is_determiner, spelled};
use super::text::Sentence;
use super::units::Unit;

/// The relation of a number to other numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// It has none.
    Alone,
    /// The sentence names a part of it: "20 of 240 euros".
    Whole,
    /// It is an operand: "10% of 240 euros", "20 + 5 euros".
    Operand,
}

/// Returns the relation of the number at a position, with this number of words, to other numbers.
pub(super) fn relation(sentence: &Sentence<'_>, at: usize, words: usize) -> Relation {
    if is_operand(sentence, at, at + words) {
        return Relation::Operand;
    }
    let mut first = at;
    while sentence.joins(first)
        && (is_determiner(sentence.lower(first - 1)) || sentence.lower(first - 1) == "total")
    {
        first -= 1;
    }
    if !sentence.joins(first) || sentence.lower(first - 1) != "of" {
        return Relation::Alone;
    }
    let mut of = first - 1;
    of -= usize::from(sentence.joins(of) && sentence.lower(of - 1) == "out");
    let before = match sentence.joins(of) {
        true => sentence.lower(of - 1),
        false => return Relation::Alone,
    };
    let fraction = matches!(
        before,
        "half" | "third" | "thirds" | "quarter" | "quarters" | "fifth" | "tenth" | "percent" | "%"
    );
    if fraction || before.ends_with('%') {
        return Relation::Operand;
    }
    let ends_number = |start: usize| {
        let part = in_one_word(sentence.lower(start)).or_else(|| spelled(sentence, start));
        part.is_some_and(|part| {
            let end = start + part.words;
            let unit = end + 1 == of && Unit::of_word(sentence.lower(end)).is_some();
            !part.article && (end == of || unit)
        })
    };
    match (of.saturating_sub(PART)..of).any(ends_number) {
        true => Relation::Whole,
        false => Relation::Alone,
    }
}

/// The maximum number of words of a part: "twenty five euros".
const PART: usize = 3;

/// Returns whether a number is an operand of an adjacent sign or word.
fn is_operand(sentence: &Sentence<'_>, at: usize, end: usize) -> bool {
    let is_sign = |at: usize| {
        // A line may begin with a sign.
        !sentence.gap(at).contains('\n')
            && matches!(
                sentence.gap(at).trim(),
                "+" | "-" | "–" | "−" | "*" | "×" | "/" | "÷"
            )
    };
    let is_number = |at: usize| {
        let word = sentence.lower(at);
        let bare = word.trim_start_matches(['€', '$', '£', '¥', '₹']);
        bare.starts_with(|c: char| c.is_ascii_digit())
    };
    let numeric = |at: usize| is_number(at) || Unit::of_word(sentence.lower(at)).is_some();
    let computes =
        |at: usize| sentence.joins(at) && matches!(sentence.lower(at), "plus" | "minus" | "times");
    let extra = matches!(
        sentence.lower(end + 1),
        "shipping" | "vat" | "tax" | "taxes" | "fees" | "postage" | "interest" | "tip"
    );
    let before = at.checked_sub(1).is_some_and(|last| {
        let by_word = computes(last) && last > 0 && numeric(last - 1);
        (is_sign(at) && numeric(last)) || (by_word && sentence.joins(at))
    });
    let after = end < sentence.len()
        && ((is_sign(end) && is_number(end)) || (computes(end) && (is_number(end + 1) || extra)));
    before || after
}

/// Words for states, before "for" and a duration.
const STATES: [&str; 28] = [
    "down",
    "up",
    "offline",
    "online",
    "unreachable",
    "unavailable",
    "dead",
    "slow",
    "stuck",
    "idle",
    "silent",
    "broken",
    "late",
    "gone",
    "out",
    "frozen",
    "open",
    "overdue",
    "unused",
    "unpaid",
    "quiet",
    "hung",
    "sick",
    "away",
    "busy",
    "red",
    "unhealthy",
    "there",
];

/// Words after a time that make it the duration of an existing state.
const ALREADY: [&[&str]; 8] = [
    &["already"],
    &["so", "far"],
    &["ago"],
    &["late"],
    &["overdue"],
    &["straight"],
    &["behind"],
    &["and", "counting"],
];

/// Returns whether a duration at a position describes an existing state instead of a value: "down for 45 seconds now".
pub(super) fn tells_of_state(sentence: &Sentence<'_>, at: usize, words: usize) -> bool {
    let end = at + words;
    if sentence.joins(end) && sentence.one_of(end, &ALREADY).is_some() {
        return true;
    }
    let remark = opened_before(sentence, at).is_some_and(|first| first < at);
    if !sentence.preceded(at, &[&["for"]]) {
        return remark;
    }
    let before = at.saturating_sub(2);
    let word = match at > 1 && sentence.joins(at - 1) {
        true => sentence.lower(before),
        false => "",
    };
    let lasts = STATES.contains(&word) || word.ends_with("ing");
    let clause = (at.saturating_sub(CLAUSE)..at).rev();
    let clause = clause.take_while(|at| *at == 0 || !sentence.breaks(*at + 1));
    let told = clause
        .map(|at| sentence.lower(at))
        .any(|word| matches!(word, "been" | "has" | "have" | "was" | "were"));
    remark || lasts || told
}

/// The number of preceding words that are searched for the verb of a state.
const CLAUSE: usize = 8;

/// Returns the first word within the brackets that are open at a position.
pub(super) fn opened_before(sentence: &Sentence<'_>, at: usize) -> Option<usize> {
    for place in (0..=at).rev() {
        let gap = sentence.gap(place);
        if let Some(open) = gap.rfind('(') {
            let closed = gap.rfind(')').is_some_and(|close| close > open);
            return (!closed).then_some(place);
        }
        if gap.contains([')', '\n']) {
            return None;
        }
    }
    None
}
