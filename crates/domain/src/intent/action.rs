//! The action that an order asks for, by its verb and object.
//!
//! Looks at the words of one clause.

use super::token::{Token, TokenKind};
use super::words::{OPENERS, PREPOSITIONS, inflected_change};

/// The action that an order asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedAction {
    /// Its verb in the base form: `restart` of "do a restart", `refund` of "give the money back".
    pub verb: String,
    /// The action that it is done to: `restart` of "cancel the restart".
    pub of: Option<&'static str>,
}

impl OrderedAction {
    pub(super) fn plain(verb: &str) -> Self {
        OrderedAction {
            verb: verb.to_owned(),
            of: None,
        }
    }
}

/// Verbs that add nothing to the action of their object: "trigger a restart".
#[rustfmt::skip]
const CARRIERS: &[&str] = &[
    "apply", "do", "give", "issue", "launch", "make", "need", "order", "place", "put", "run", "start", "submit", "trigger",
];

/// Verbs that return money.
const GIVERS: &[&str] = &["give", "hand", "pay", "put", "return", "send", "transfer"];

/// Nouns of actions, with their verbs. Nouns that mean a thing as often (a copy, an order) are left out.
#[rustfmt::skip]
const ACTION_NOUNS: &[(&str, &str)] = &[
    ("activation", "activate"), ("cancellation", "cancel"), ("closure", "close"), ("compensation", "compensate"),
    ("deactivation", "deactivate"), ("decommissioning", "decommission"), ("deletion", "delete"),
    ("deployment", "deploy"), ("discount", "discount"), ("encryption", "encrypt"), ("installation", "install"),
    ("isolation", "isolate"), ("lock", "lock"), ("lockdown", "lock"), ("migration", "migrate"),
    ("mitigation", "mitigate"), ("purge", "purge"), ("quarantine", "quarantine"), ("reboot", "reboot"),
    ("refund", "refund"), ("refunds", "refund"), ("reimbursement", "reimburse"), ("release", "release"),
    ("remediation", "remediate"), ("removal", "remove"), ("renewal", "renew"), ("replacement", "replace"),
    ("reset", "reset"), ("restart", "restart"), ("restarts", "restart"), ("restoration", "restore"),
    ("restore", "restore"), ("revocation", "revoke"), ("rollback", "revert"), ("rotation", "rotate"),
    ("shutdown", "stop"), ("suspension", "suspend"), ("termination", "terminate"), ("transfer", "transfer"),
    ("upgrade", "upgrade"), ("withdrawal", "withdraw"),
];

/// Phrasal verbs, and the verb that means the same.
#[rustfmt::skip]
const PHRASAL: &[(&str, &str, &str)] = &[
    ("back", "out", "undo"), ("cut", "off", "block"), ("give", "back", "return"), ("kick", "off", "start"),
    ("kick", "out", "remove"), ("lock", "out", "lock"), ("put", "back", "restore"), ("roll", "back", "revert"),
    ("roll", "out", "deploy"), ("send", "back", "return"), ("shut", "down", "stop"), ("shut", "off", "stop"),
    ("spin", "down", "stop"), ("spin", "up", "create"), ("switch", "off", "disable"), ("switch", "on", "enable"),
    ("take", "away", "revoke"), ("take", "back", "undo"), ("take", "down", "remove"), ("take", "off", "remove"),
    ("take", "out", "remove"), ("tear", "down", "delete"), ("throw", "away", "delete"), ("throw", "out", "delete"),
    ("turn", "off", "stop"), ("turn", "on", "start"),
];

/// The verb of the action that a noun names.
pub(super) fn action_noun(word: &str) -> Option<&'static str> {
    let found = ACTION_NOUNS.iter().find(|(noun, _)| *noun == word);
    found.map(|(_, verb)| *verb)
}

/// The action of an order with this verb; `words` are those of its clause, from the verb on where it comes first.
pub(super) fn action(verb: &str, words: &[Token]) -> OrderedAction {
    let rest = words.get(1..).unwrap_or_default();
    if GIVERS.contains(&verb) && gives_money_back(verb, rest) {
        return OrderedAction::plain("refund");
    }
    let of = object_action(words, verb);
    let carried = of.filter(|_| CARRIERS.contains(&verb));
    let verb = carried
        .or_else(|| phrasal(verb, rest))
        .unwrap_or(verb)
        .to_owned();
    let of = of.filter(|_| carried.is_none());
    OrderedAction { verb, of }
}

/// Whether money goes back: "his money back", "(return) 20 euros to the customer". "A voucher over 20 euros" is a thing.
fn gives_money_back(verb: &str, rest: &[Token]) -> bool {
    let is_money = |token: &Token| {
        token.is_money()
            || token.is_any(&[
                "$", "cash", "dollars", "eur", "euro", "euros", "money", "pounds", "usd", "£", "€",
            ])
    };
    let Some(at) = rest.iter().position(is_money) else {
        return false;
    };
    let thing = rest[..at]
        .iter()
        .any(|token| token.is_any(&["a", "an", "the"]));
    let only_back = matches!(verb, "pay" | "put" | "transfer");
    rest.iter().any(|token| token.is("back")) || !thing && !only_back
}

/// The action that is the object of an order: "cancel the restart of web-1", "stop restarting web-1".
fn object_action(words: &[Token], verb: &str) -> Option<&'static str> {
    let first = usize::from(words.first().is_some_and(|first| first.is(verb)));
    let ends = |token: &&Token| !(token.is_any(PREPOSITIONS) || token.is_any(&["after", "before"]));
    let mut object = words.iter().skip(first).take_while(ends).peekable();
    while let Some(token) = object.next() {
        if token.word.ends_with("ing")
            && let Some(gerund) = inflected_change(&token.word)
            && (gerund != verb || first == 1)
        {
            return Some(gerund);
        }
        // "the restart button" is a thing.
        let heads = object.peek().is_none_or(|next| {
            next.is_specific() || next.is_any(OPENERS) || matches!(next.kind, TokenKind::Mark(_))
        });
        if heads
            && let Some(noun) = action_noun(&token.word)
            && (noun != verb || first == 1)
        {
            return Some(noun);
        }
    }
    None
}

/// The one verb for a verb with its particle: "shut the host down".
fn phrasal(verb: &str, rest: &[Token]) -> Option<&'static str> {
    let said = || {
        let ends = rest.iter().rposition(|token| !token.is_any(OPENERS));
        ends.map_or(rest, |last| &rest[..=last])
    };
    let has = |particle: &str| {
        let adjacent = rest.first().is_some_and(|next| next.is(particle));
        let last = said().last().is_some_and(|last| last.is(particle));
        let anywhere = matches!(particle, "away" | "back" | "down")
            && rest.iter().take(8).any(|token| token.is(particle));
        adjacent || last || anywhere
    };
    let of_verb = PHRASAL.iter().filter(|(first, ..)| *first == verb);
    let mut found = of_verb.filter(|(_, particle, _)| has(particle));
    found.next().map(|(.., meant)| *meant)
}
