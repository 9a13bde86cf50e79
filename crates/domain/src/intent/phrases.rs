//! Phrases at the begin of a clause, and the object of a verb.
//!
//! Looks at the words of one clause; knows neither acts nor orders.

use super::token::{Token, TokenKind};
use super::words::{OPENERS, PARTICLES, PRONOUNS};

/// Words of time that may stand before an imperative.
#[rustfmt::skip]
const TIMES: [&str; 15] = [
    "tomorrow", "tonight", "today", "later", "monday", "tuesday", "wednesday", "thursday", "friday",
    "saturday", "sunday", "week", "month", "morning", "afterwards",
];

/// Phrases before a verb that leave what it orders as it is.
#[rustfmt::skip]
const BEFORE_VERB: [&[&str]; 18] = [
    &["go", "ahead", "and"], &["go", "and"], &["please", "help", "me", "to"], &["help", "me", "to"],
    &["help", "us", "to"], &["help", "me"], &["help", "us"], &["help"], &["time", "to"],
    &["it", "is", "time", "to"], &["try", "to"], &["try", "and"], &["make", "sure", "to"],
    &["make", "sure", "you"], &["be", "sure", "to"], &["remember", "to"],
    &["do", "not", "forget", "to"], &["do", "please"],
];

/// How many tokens open a clause without changing what it does: interjections, times, "go ahead and".
pub(super) fn opened(words: &[Token]) -> usize {
    let mut at = 0;
    loop {
        let rest = &words[at..];
        let phrase = BEFORE_VERB.iter().find(|phrase| begins(rest, phrase));
        match (phrase, rest.first()) {
            (Some(phrase), _) if rest.len() > phrase.len() => at += phrase.len(),
            (None, Some(first)) if first.is_any(OPENERS) || first.is_any(&TIMES) => at += 1,
            (None, Some(first)) if first.is("in") && rest.len() > 3 && is_period(&rest[2]) => {
                at += 3;
            }
            (Some(_), _) | (None, _) => return at,
        }
    }
}

fn is_period(token: &Token) -> bool {
    const PERIODS: [&str; 10] = [
        "minute", "minutes", "hour", "hours", "day", "days", "week", "weeks", "month", "months",
    ];
    token.is_any(&PERIODS)
}

/// Whether a clause begins with a phrase.
pub(super) fn begins(words: &[Token], phrase: &[&str]) -> bool {
    words.len() >= phrase.len() && words.iter().zip(phrase).all(|(token, word)| token.is(word))
}

/// Whether an order's object is nothing but a pronoun: what is meant was said before.
pub(super) fn has_bare_object(words: &[Token]) -> bool {
    let content = words.iter().skip(1).filter(|token| {
        matches!(
            token.kind,
            TokenKind::Word | TokenKind::Identifier | TokenKind::Number
        )
    });
    let mut content = content
        .filter(|token| !token.is_any(OPENERS) && !token.is_any(PARTICLES))
        .peekable();
    content.peek().is_none()
        || content.all(|token| {
            token.is_any(PRONOUNS)
                || token.is_any(&["one", "ones", "all", "both", "for", "first", "second"])
        })
}

/// Whether a token is an amount of money or its currency.
pub(super) fn is_amount(token: &Token) -> bool {
    token.is_money() || token.is_any(&["dollars", "eur", "euro", "euros", "pounds", "usd"])
}
