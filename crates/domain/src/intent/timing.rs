//! Recognises sentences that postpone, repeat, hedge or condition an order.
//!
//! Looks at words, not at clauses. A time that only describes a thing ("the nightly job") is ignored if the next word
//! shows that. In doubt the order counts as postponed, so that it is only offered.

use super::token::{Token, TokenKind};
use super::topic::holds;
use super::words::{CONDITIONS, OPENERS, PREPOSITIONS};

/// Phrases that postpone an order.
#[rustfmt::skip]
const LATER: &[&[&str]] = &[
    &["after", "hours"], &["at", "lunch"], &["at", "night"], &["at", "some", "point"], &["at", "the", "end", "of"],
    &["at", "the", "weekend"], &["at", "your", "convenience"], &["at", "your", "leisure"], &["by", "the", "end", "of"],
    &["close", "of", "business"], &["cob"], &["eob"], &["eod"],
    &["eow"], &["eventually"], &["first", "thing"], &["from", "now", "on"], &["in", "due", "course"],
    &["in", "future"], &["in", "the", "future"], &["next", "month"], &["next", "quarter"], &["next", "time"],
    &["next", "week"], &["next", "weekend"], &["next", "year"], &["not", "now"], &["not", "yet"], &["off", "hours"],
    &["off-hours"], &["off-peak"], &["out", "of", "hours"], &["over", "night"], &["overnight"], &["shortly"],
    &["some", "day"], &["someday"], &["sometime"], &["the", "end", "of", "the", "day"],
    &["the", "end", "of", "the", "month"], &["the", "end", "of", "the", "week"], &["this", "afternoon"],
    &["this", "evening"], &["this", "weekend"], &["tomorrow"], &["tonight"], &["when", "possible"],
];

/// Phrases that make an order conditional.
#[rustfmt::skip]
const CONDITIONAL: &[&[&str]] = &[
    &["as", "appropriate"], &["as", "long", "as"], &["as", "necessary"], &["as", "needed"], &["as", "required"],
    &["as", "soon", "as"], &["depending", "on"], &["in", "case"], &["in", "the", "event"], &["on", "condition"],
    &["on", "demand"], &["only", "after"], &["only", "upon"], &["only", "with"],
    &["pending", "approval"], &["pending", "review"], &["so", "long", "as"], &["subject", "to"],
    &["under", "the", "condition"], &["upon", "approval"], &["where", "necessary"], &["where", "needed"],
];

/// Words that turn an order into a suggestion.
#[rustfmt::skip]
const HEDGES: &[&[&str]] = &[
    &["i", "guess"], &["i", "suppose"], &["maybe"], &["not", "sure"], &["perhaps"], &["probably"],
];

/// Words for the consent of another person.
const CONSENTS: [&str; 4] = ["approval", "blessing", "consent", "sign-off"];

/// Words that precede a time at, from or by which something is done.
#[rustfmt::skip]
const BEFORE_TIME: [&str; 18] = [
    "after", "around", "at", "before", "by", "coming", "each", "effective", "every", "following", "next", "on", "past",
    "starting", "this", "till", "toward", "until",
];

#[rustfmt::skip]
const WEEKDAYS: [&str; 17] = [
    "fri", "friday", "mon", "monday", "sat", "saturday", "sun", "sunday", "thu", "thursday", "tue", "tuesday", "wed",
    "wednesday", "weekday", "weekend", "weekends",
];

#[rustfmt::skip]
const MONTHS: [&str; 12] = [
    "april", "august", "december", "february", "january", "july", "june", "march", "may", "november", "october",
    "september",
];

/// Times of a day and of a week.
#[rustfmt::skip]
const DAYTIMES: [&str; 12] = [
    "afternoon", "dawn", "dusk", "evening", "lunch", "lunchtime", "maintenance", "midnight", "morning", "night",
    "noon", "weekend",
];

#[rustfmt::skip]
const PERIODS: [&str; 24] = [
    "bit", "day", "days", "hour", "hours", "hr", "hrs", "min", "mins", "minute", "minutes", "moment", "month",
    "months", "quarter", "sec", "second", "seconds", "secs", "week", "weeks", "while", "year", "years",
];

/// Adverbs and plurals of repetition. Before a noun they describe it: "the daily backup".
#[rustfmt::skip]
const REPEATEDLY: [&str; 13] = [
    "annually", "daily", "evenings", "hourly", "monthly", "mornings", "nightly", "periodically", "quarterly",
    "regularly", "weekends", "weekly", "yearly",
];

#[rustfmt::skip]
const AMOUNTS: [&str; 22] = [
    "a", "about", "an", "another", "couple", "eight", "few", "five", "four", "half", "next", "nine", "of", "one", "other",
    "seven", "six", "some", "ten", "the", "three", "two",
];

const HOURS: [&str; 12] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
];

/// Returns whether an order, from its verb on, continues with a condition: "delete it when …".
pub(super) fn is_conditional(order: &[Token]) -> bool {
    let mut later = order.iter().skip(1);
    later.any(|token| token.is_any(CONDITIONS) || token.is_any(&["when", "whenever"]))
}

/// Returns whether a sentence makes its order depend on something: "only with approval from Ann", "as needed".
pub(super) fn depends(sentence: &[Token]) -> bool {
    let consent = sentence.iter().enumerate().any(|(at, token)| {
        let mut rest = sentence.iter().skip(at + 1).take(4);
        token.is_any(&["given", "upon", "with"]) && rest.any(|noun| noun.is_any(&CONSENTS))
    });
    consent || CONDITIONAL.iter().any(|phrase| holds(sentence, phrase))
}

/// Returns whether a sentence only suggests its order: "maybe restart it".
pub(super) fn is_hedged(sentence: &[Token]) -> bool {
    HEDGES.iter().any(|phrase| holds(sentence, phrase))
        || sentence.last().is_some_and(|last| last.is("possibly"))
}

/// Returns whether a sentence postpones or repeats its order.
pub(super) fn is_later(sentence: &[Token]) -> bool {
    LATER.iter().any(|phrase| holds(sentence, phrase))
        || (0..sentence.len()).any(|at| {
            let before = at.checked_sub(1).map(|before| &sentence[before]);
            puts_off(before, &sentence[at..])
        })
}

/// Returns whether the words that begin here, after `before`, are a time at or after which the order is due.
fn puts_off(before: Option<&Token>, rest: &[Token]) -> bool {
    let (word, next) = (&rest[0], rest.get(1));
    let after = |words: &[&str]| before.is_some_and(|before| before.is_any(words));
    if word.is_any(&WEEKDAYS) {
        let named = after(&BEFORE_TIME) || before.is_none();
        let described = after(&["and", "from", "last", "of", "or", "past", "since", "the"]);
        return named || !described && ends(next);
    }
    if word.is_any(&REPEATEDLY) {
        return ends(next);
    }
    match word.word.as_str() {
        "later" => !next.is_some_and(|next| next.is("than")),
        "soon" => !before.is_some_and(|before| {
            before.word.ends_with("ing") || before.is_any(&["as", "due", "expire", "expires"])
        }),
        "every" | "each" => repeats(&rest[1..]),
        "in" | "during" | "over" | "within" | "throughout" => is_period(word, &rest[1..]),
        "at" => is_clock(&rest[1..]) || is_date(&rest[1..]),
        "on" | "by" | "till" | "until" | "starting" | "effective" => {
            is_date(&rest[1..]) || is_clock_time(&rest[1..])
        }
        "after" | "before" => follows(before, &rest[1..]),
        _ => is_timed(word) && !after(&["from", "of", "since", "the"]) && ends(next),
    }
}

/// Returns whether a phrase ends: the next word is not a noun that it describes.
fn ends(next: Option<&Token>) -> bool {
    next.is_none_or(|next| {
        matches!(next.kind, TokenKind::Mark(_))
            || next.is_any(OPENERS)
            || next.is_any(PREPOSITIONS)
            || next.is_any(&DAYTIMES)
            || next.is_any(CONDITIONS)
    })
}

/// "every night", "every two hours".
fn repeats(rest: &[Token]) -> bool {
    let amounts = amounts(rest);
    rest.get(amounts).is_some_and(|unit| {
        unit.is_any(&PERIODS) || unit.is_any(&DAYTIMES) || unit.is_any(&WEEKDAYS)
    })
}

/// Returns the number of words that express an amount.
fn amounts(rest: &[Token]) -> usize {
    let is_amount = |token: &&Token| token.kind == TokenKind::Number || token.is_any(&AMOUNTS);
    rest.iter().take(3).take_while(is_amount).count()
}

/// "in ten minutes", "in 30s", "in the maintenance window", "during the night".
fn is_period(preposition: &Token, rest: &[Token]) -> bool {
    let amounts = amounts(rest);
    let unit = rest.get(amounts);
    let compact = rest.first().is_some_and(|token| {
        let unit = token.word.trim_start_matches(|c: char| c.is_ascii_digit());
        unit.len() < token.word.len()
            && matches!(
                unit,
                "d" | "h" | "hr" | "hrs" | "m" | "min" | "mins" | "s" | "sec"
            )
    });
    let within = preposition.is_any(&["in", "within"]) && amounts > 0;
    let month = preposition.is("in") && rest.first().is_some_and(|first| first.is_any(&MONTHS));
    let named = rest.iter().take(3).any(|token| token.is_any(&DAYTIMES));
    within && unit.is_some_and(|unit| unit.is_any(&PERIODS))
        || preposition.is("in") && compact
        || month
        || named
}

/// "(at) 22:00", "(at) 10 pm", "(at) ten", "(at) noon", "(at) half past two".
fn is_clock(rest: &[Token]) -> bool {
    let Some(first) = rest.first() else {
        return false;
    };
    let hour = first.word.parse::<u8>().is_ok_and(|hour| hour <= 24) || first.is_any(&HOURS);
    let zoned = rest.get(1).is_some_and(|next| {
        next.is_any(&[
            "am", "cet", "gmt", "hours", "local", "o'clock", "pm", "sharp", "utc",
        ])
    });
    is_clock_time(rest)
        || hour && (zoned || ends(rest.get(1)))
        || first.is_any(&["half", "quarter"])
}

/// "22:00", "10pm", "noon", "Friday": a time that needs no preposition.
fn is_clock_time(rest: &[Token]) -> bool {
    let pm = || {
        let hour = rest
            .first()
            .is_some_and(|first| first.kind == TokenKind::Number);
        hour && rest.get(1).is_some_and(|next| next.is_any(&["am", "pm"]))
    };
    rest.first().is_some_and(|first| {
        is_timed(first) || first.is_any(&["lunch", "lunchtime", "midnight", "noon"])
    }) || pm()
}

/// `22:00`, `10pm`, `7:30am`.
fn is_timed(token: &Token) -> bool {
    let half = token
        .word
        .strip_suffix("am")
        .or(token.word.strip_suffix("pm"));
    let clock = half.unwrap_or(&token.word);
    let parts: Vec<&str> = clock.split(':').collect();
    let digits = |part: &&str| matches!(part.len(), 1 | 2) && part.parse::<u8>().is_ok();
    token.kind == TokenKind::Identifier
        && parts.iter().all(digits)
        && (half.is_some() || matches!(parts.len(), 2 | 3))
}

/// "2026-12-01", "1 December", "December 1st", "the 5th".
fn is_date(rest: &[Token]) -> bool {
    let rest = match rest.first() {
        Some(first) if first.is("the") => &rest[1..],
        Some(_) | None => rest,
    };
    let is_month = |token: Option<&Token>| token.is_some_and(|token| token.is_any(&MONTHS));
    let is_day = |token: Option<&Token>| {
        token.is_some_and(|token| token.word.parse::<u8>().is_ok() || is_ordinal(&token.word))
    };
    let (first, second) = (rest.first(), rest.get(1));
    let of = rest
        .get(2)
        .filter(|_| second.is_some_and(|second| second.is("of")));
    first.is_some_and(|first| is_calendar_date(&first.word) || is_ordinal(&first.word))
        || is_month(first) && (is_day(second) || ends(second))
        || is_day(first) && (is_month(second) || is_month(of))
}

/// `1st`, `22nd`.
fn is_ordinal(word: &str) -> bool {
    ["st", "nd", "rd", "th"].iter().any(|ending| {
        word.strip_suffix(ending)
            .is_some_and(|day| day.parse::<u8>().is_ok())
    })
}

/// `2026-12-01`, `01.12.2026`, `12/01/2026`: three numbers of a calendar.
fn is_calendar_date(word: &str) -> bool {
    ['-', '.', '/'].iter().any(|sign| {
        let parts: Vec<&str> = word.split(*sign).collect();
        let is_number =
            |part: &&str| matches!(part.len(), 1 | 2 | 4) && part.parse::<u16>().is_ok();
        parts.len() == 3 && parts.iter().all(is_number) && parts.iter().any(|part| part.len() == 4)
    })
}

/// "after the deployment", "before you leave"; not "created before 2024", "one after the other".
fn follows(before: Option<&Token>, rest: &[Token]) -> bool {
    let describes = before.is_some_and(|before| {
        before.word.ends_with("ed")
            || before.is_any(&[
                "as", "from", "look", "made", "older", "one", "since", "written",
            ])
    });
    !describes && !rest.is_empty() && !rest[0].is_any(&["all", "that"]) && !is_own_consent(rest)
}

/// "after I approve", "after my confirmation": every plan waits for the caller's approval anyway.
fn is_own_consent(rest: &[Token]) -> bool {
    const CONSENTING: [&str; 9] = [
        "agree",
        "agreed",
        "approval",
        "approve",
        "approved",
        "confirm",
        "confirmation",
        "confirmed",
        "consent",
    ];
    rest[0].is_any(&["i", "my"]) && rest.iter().take(4).any(|token| token.is_any(&CONSENTING))
}
