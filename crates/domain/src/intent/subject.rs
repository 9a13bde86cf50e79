//! Extracts the subject of a text: the words that a search compares, without those that only introduce the request.
//!
//! Greetings, politeness and preambles move a text's vector away from its subject. The removed words are not lost: the
//! speech act represents the form of the request.

use super::Intent;
use super::act::Act;
use super::order::OrderClause;
use super::reading::ParsedText;
use super::token::{Token, TokenKind};
use super::words::{EMPTY_WORDS, OPENERS, PRONOUNS, VerbClass};
use charter_contract::foreign_text::ForeignKind;

/// With fewer content words than this, a text has no subject, and its surrounding words are added.
const FEW: usize = 3;
/// With fewer content words than this and a pronoun among them, a text refers to an earlier one.
const POINTING: usize = 6;

/// Phrases that introduce a request, longest first.
#[rustfmt::skip]
const CARRIERS: [&[&str]; 34] = [
    &["i", "would", "like", "to", "know"], &["i", "would", "like", "you", "to"],
    &["i", "would", "like", "to", "see"], &["would", "you", "be", "able", "to"],
    &["would", "it", "be", "possible", "to"], &["could", "you", "please", "tell", "me"],
    &["could", "you", "maybe", "tell", "me"], &["i", "just", "want", "to", "know"],
    &["i", "want", "you", "to"], &["i", "need", "you", "to"], &["i", "want", "to", "know"],
    &["i", "need", "to", "know"], &["i", "would", "like", "to"], &["could", "you", "tell", "me"],
    &["can", "you", "tell", "me"], &["do", "you", "know"], &["could", "you", "please"],
    &["can", "you", "please"], &["would", "you", "please"], &["let", "me", "know"], &["i", "want", "to"],
    &["i", "need", "to"], &["tell", "me"], &["show", "me"], &["give", "me"], &["could", "you"],
    &["can", "you"], &["would", "you"], &["will", "you"], &["help", "me"], &["i", "wonder"],
    &["i", "am", "wondering"], &["go", "ahead", "and"], &["please"],
];

/// Returns the subject of a text with this intent.
pub(super) fn subject(said: &ParsedText<'_>, intent: Intent) -> String {
    let wanted = |act: &Act| match (intent, act) {
        (Intent::Change, Act::Order(order)) => !order.negated && order.class == VerbClass::Change,
        (_, Act::Order(OrderClause { negated, .. })) => !negated,
        (Intent::Read | Intent::Knowledge, Act::Question) => true,
        (Intent::Change, Act::Question) => false,
        (Intent::None, _) => true,
        (
            _,
            Act::Fragment
            | Act::Reported(_)
            | Act::Endorsement
            | Act::Statement
            | Act::Condition
            | Act::Supposition
            | Act::Pondered,
        ) => false,
    };
    let mut chosen: Vec<bool> = said.acts.iter().map(wanted).collect();
    // A fragment after an act in its sentence completes the act.
    for at in 0..chosen.len() {
        let same = at > 0 && said.clauses[at].sentence == said.clauses[at - 1].sentence;
        if same && chosen[at - 1] && matches!(said.acts[at], Act::Fragment) {
            chosen[at] = true;
        }
    }
    let mut subject = joined(said, &chosen);
    if content(said, &chosen) < FEW || leans(said, &chosen) {
        let around: Vec<bool> = said
            .acts
            .iter()
            .enumerate()
            .map(|(at, act)| {
                let forbidden = matches!(act, Act::Order(OrderClause { negated: true, .. }));
                !forbidden && (chosen[at] || said.words(at).iter().any(says_something))
            })
            .collect();
        subject = joined(said, &around);
        let foreign = said.foreign.iter().filter_map(|piece| {
            let text = &said.text[piece.place.clone()];
            match piece.kind {
                ForeignKind::Quotation => Some(
                    text.trim_matches(['"', '“', '”', '„', '«', '»', '‘', '’', '`', '\''])
                        .to_owned(),
                ),
                ForeignKind::Pasted => Some(unmarked(text)),
                ForeignKind::Mail => None,
            }
        });
        for text in foreign {
            add(&mut subject, " ", &text);
        }
    }
    if subject.trim().is_empty() {
        said.text.trim().to_owned()
    } else {
        subject
    }
}

/// Removes the punctuation of a pasted record.
fn unmarked(text: &str) -> String {
    let kept =
        |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '/' | ':' | '%' | '€' | '$');
    let words = text
        .split(|c: char| !kept(c))
        .map(|word| word.trim_matches([':', '.', '/', '-']));
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the original text of the chosen clauses, without their introductions. Before a further request, a
/// conjunction or a full stop is inserted, so that the search can separate the requests.
fn joined(said: &ParsedText<'_>, chosen: &[bool]) -> String {
    let mut joined = String::new();
    let mut asks: Option<usize> = None;
    for (at, _) in chosen.iter().enumerate().filter(|(_, chosen)| **chosen) {
        let words = said.words(at);
        let carried = carried(words);
        let (Some(first), Some(last)) = (words.get(carried), words.last()) else {
            continue;
        };
        let begins = matches!(
            said.acts[at],
            Act::Question | Act::Order(OrderClause { negated: false, .. })
        );
        let between = match asks.filter(|_| begins) {
            Some(before) if said.clauses[before].sentence == said.clauses[at].sentence => ", and ",
            Some(_) => ". ",
            None => " ",
        };
        if begins {
            asks = Some(at);
        }
        let written = &said.text[first.place.start..last.place.end];
        add(&mut joined, between, written);
    }
    joined
}

fn add(text: &mut String, between: &str, part: &str) {
    if !text.is_empty() {
        text.push_str(between);
    }
    text.push_str(part);
}

/// Returns the number of tokens that introduce a clause.
pub(super) fn carried(words: &[Token]) -> usize {
    let mut at = 0;
    loop {
        let rest = &words[at..];
        let carrier = CARRIERS
            .iter()
            .find(|phrase| super::phrases::begins(rest, phrase));
        at += match (carrier, rest.first()) {
            (Some(phrase), _) if rest.len() > phrase.len() => phrase.len(),
            (None, Some(first)) if first.is_any(OPENERS) && rest.len() > 1 => 1,
            (Some(_), _) | (None, _) => return at,
        };
    }
}

fn content(said: &ParsedText<'_>, chosen: &[bool]) -> usize {
    let clauses = chosen.iter().enumerate().filter(|(_, chosen)| **chosen);
    let words = clauses.flat_map(|(at, _)| said.words(at));
    words.filter(|token| says_something(token)).count()
}

/// Returns whether a token is a content word.
pub(super) fn says_something(token: &Token) -> bool {
    match token.kind {
        TokenKind::Identifier | TokenKind::Number => true,
        TokenKind::Word => !token.is_any(EMPTY_WORDS) && !token.is_any(OPENERS),
        TokenKind::Mark(_) => false,
    }
}

/// Returns whether the chosen clauses refer to an earlier text: "which ones", "these", "his order".
fn leans(said: &ParsedText<'_>, chosen: &[bool]) -> bool {
    let clauses = chosen.iter().enumerate().filter(|(_, chosen)| **chosen);
    let mut words = clauses.flat_map(|(at, _)| said.words(at));
    let points = words.any(|token| {
        token.is_any(PRONOUNS) && !token.is_any(&["me", "us", "so"])
            || token.is_any(&["ones", "one", "he", "she", "his", "others"])
    });
    points && content(said, chosen) < POINTING
}
