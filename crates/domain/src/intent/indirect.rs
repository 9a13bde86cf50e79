//! Orders in forms other than the imperative: requests, wishes, suggestions, permissions, needs, reports.
//!
//! Analyses the words of one clause.

use super::action::action_noun;
use super::order::{OrderClause, OrderForm, REPORTS, imperative, participle};
use super::phrases::{begins, is_amount};
use super::token::{Token, TokenKind};
use super::words::{self, OPENERS, PREPOSITIONS, VerbClass, inflected_change};

/// Adverbs and helping words that may separate a modal verb from its main verb.
const BETWEEN: [&str; 15] = [
    "also", "better", "help", "just", "kindly", "maybe", "me", "now", "perhaps", "please",
    "possibly", "probably", "quickly", "really", "then",
];

/// Words that express pleasure about something.
#[rustfmt::skip]
const GLAD: [&str; 19] = [
    "appreciate", "appreciated", "awesome", "cool", "fantastic", "glad", "good", "grateful", "great", "happy",
    "helpful", "ideal", "kind", "love", "lovely", "nice", "perfect", "thankful", "wonderful",
];

/// Returns the verb and its complements, without leading adverbs that do not change the meaning.
fn after_adverbs(words: &[Token]) -> &[Token] {
    let skipped = words
        .iter()
        .take_while(|token| token.is_any(&BETWEEN))
        .count();
    &words[skipped..]
}

/// Returns whether a verb has a single thing as its object, by its name or with an article.
fn is_of_one_thing(verb: &[Token]) -> bool {
    verb.iter()
        .any(|token| token.names_one() || token.is_money())
        || verb.iter().skip(1).any(|token| {
            token.is_any(&[
                "all", "every", "it", "my", "our", "the", "them", "these", "this",
            ])
        })
}

/// Returns the order in a question that begins with an auxiliary: "could you delete it", "can we refund A-7".
pub(super) fn requested(words: &[Token]) -> Option<OrderClause> {
    let (modal, subject) = (words.first()?, words.get(1)?);
    if modal.is("would") && begins(&words[1..], &["you", "mind"]) {
        let gerund = words.get(3)?;
        let verb = inflected_change(&gerund.word)?;
        return Some(OrderClause::new(verb, VerbClass::Change, &words[3..]).by(OrderForm::Request));
    }
    if begins(words, &["do", "you", "mind"]) {
        let verb = inflected_change(&words.get(3)?.word)?;
        let order = OrderClause::new(verb, VerbClass::Change, &words[3..]);
        return Some(order.doubtful(OrderForm::Request));
    }
    if let Some(order) = asked_politely(words) {
        return Some(order);
    }
    let verb = after_adverbs(&words[2..]);
    let specific = verb
        .iter()
        .any(|token| token.names_one() || token.is_money());
    let definite = verb.iter().skip(1).any(|token| {
        token.is_any(&[
            "the", "this", "these", "my", "our", "it", "them", "all", "every",
        ])
    });
    if subject.is("you") && modal.is_any(&["can", "could", "would", "will"]) {
        let order = imperative(verb, false)?;
        let polite = words
            .iter()
            .any(|token| token.is_any(&["please", "kindly"]))
            || modal.is_any(&["could", "would", "will"]);
        let certain = order.certain && (specific || definite && polite);
        let order = OrderClause { certain, ..order };
        return Some(order.by(OrderForm::Request));
    }
    if subject.is_any(&["someone", "somebody", "anyone", "anybody"])
        && modal.is_any(&["can", "could"])
        && specific
    {
        let order = imperative(verb, false).filter(|order| order.class == VerbClass::Change)?;
        return words::CHANGE_VERBS
            .contains(&order.verb.as_str())
            .then(|| order.doubtful(OrderForm::Suggestion));
    }
    if subject.is_any(&["we", "i"]) && modal.is_any(&["can", "could", "may", "shall"]) {
        let order = imperative(verb, false)?;
        let meant = order.class != VerbClass::Change
            || specific
            || modal.is_any(&["could", "shall"])
                && (definite || words.iter().any(Token::is_specific));
        return (meant && order.class != VerbClass::Compose)
            .then(|| order.doubtful(OrderForm::Suggestion));
    }
    None
}

/// "would it be possible to delete vol-7", "may I ask you to delete it"; "could vol-7 be deleted, please".
fn asked_politely(words: &[Token]) -> Option<OrderClause> {
    #[rustfmt::skip]
    const ASKING: [&[&str]; 9] = [
        &["can", "i", "ask", "you", "to"], &["could", "i", "ask", "you", "to"], &["is", "it", "possible", "to"],
        &["may", "i", "ask", "you", "to"], &["would", "it", "be", "possible", "to"],
        &["would", "you", "be", "able", "to"], &["would", "you", "be", "so", "kind", "and"],
        &["would", "you", "be", "so", "kind", "as", "to"], &["would", "you", "be", "willing", "to"],
    ];
    let begun = ASKING.iter().find(|phrase| begins(words, phrase));
    if let Some(phrase) = begun {
        let verb = after_adverbs(&words[phrase.len()..]);
        let order = imperative(verb, false)
            .filter(|order| order.class == VerbClass::Change && is_of_one_thing(verb))?;
        return Some(order.doubtful(OrderForm::Request));
    }
    let asked = words[0].is_any(&["can", "could"]) && words.iter().any(|token| token.is("please"));
    let at = words
        .iter()
        .position(|token| token.is("be"))
        .filter(|_| asked)?;
    let verb = inflected_change(&words.get(at + 1)?.word)?;
    let order = OrderClause::new(verb, VerbClass::Change, words);
    Some(order.doubtful(OrderForm::Request))
}

/// Returns the order in a wish that another person acts: "it would be great if you could delete it", "if you could
/// delete it, please".
pub(super) fn wished_of_you(words: &[Token]) -> Option<OrderClause> {
    let at = words.windows(2).position(|pair| {
        pair[0].is("if") && pair[1].is_any(&["somebody", "someone", "we", "you"])
    })?;
    let (before, rest) = (&words[..at], &words[at + 2..]);
    let wonders = |token: &Token| token.is_any(&["wonder", "wondering"]);
    let asks_to_know = before
        .last()
        .is_some_and(|last| last.is_any(&["ask", "check", "know", "learn", "see", "tell"]));
    let modal = rest
        .first()
        .is_some_and(|first| first.is_any(&["can", "could", "might", "would"]));
    let verb = after_adverbs(&rest[usize::from(modal)..]);
    let first = verb.first()?;
    let wishes = before.iter().any(|token| token.is_any(&GLAD)) && !asks_to_know
        || before.iter().any(wonders) && is_of_one_thing(verb)
        || before.is_empty() && modal;
    if !wishes {
        return None;
    }
    let order = if modal {
        imperative(verb, false).filter(|order| order.class == VerbClass::Change)?
    } else {
        let past = first.word.ends_with("ed") && !words[at + 1].is("we");
        let verb_form = inflected_change(&first.word).filter(|_| past)?;
        OrderClause::new(verb_form, VerbClass::Change, verb)
    };
    Some(order.doubtful(OrderForm::Request))
}

/// Returns the order in a proposal without its subject: "(we) should delete it", "(someone) must delete it".
pub(super) fn proposed(rest: &[Token]) -> Option<OrderClause> {
    #[rustfmt::skip]
    const MODALS: [&[&str]; 9] = [
        &["could"], &["had", "better"], &["has", "to"], &["must"], &["need", "to"], &["needs", "to"], &["ought", "to"],
        &["should"], &["would", "better"],
    ];
    let modal = MODALS.iter().find(|modal| begins(rest, modal))?;
    let verb = &rest[modal.len()..];
    let negated = verb
        .first()
        .is_some_and(|first| first.is_any(&["never", "not"]));
    let verb = after_adverbs(&verb[usize::from(negated)..]);
    let mut order = imperative(verb, false).filter(|order| order.class == VerbClass::Change)?;
    order.negated |= negated;
    Some(order.doubtful(OrderForm::Suggestion))
}

/// Returns the order in a suggestion or request of the speaker, without "I": "suggest deleting it", "propose that you
/// delete it", "am asking you to delete it".
pub(super) fn put_forward(rest: &[Token]) -> Option<OrderClause> {
    let at = rest.iter().take(3).position(|token| {
        token.is_any(&[
            "ask",
            "asking",
            "beg",
            "order",
            "propose",
            "recommend",
            "request",
            "suggest",
            "urge",
        ])
    })?;
    if rest[..at]
        .iter()
        .any(|token| token.is_any(&["not", "never"]))
    {
        return None;
    }
    let after = &rest[at + 1..];
    let that = after.first().is_some_and(|first| first.is("that"));
    let after = &after[usize::from(that)..];
    let other = after
        .first()
        .is_some_and(|first| first.is_any(&["somebody", "someone", "we", "you"]));
    if !other {
        let verb =
            inflected_change(&after.first()?.word).filter(|_| after[0].word.ends_with("ing"))?;
        let order = OrderClause::new(verb, VerbClass::Change, after);
        return Some(order.doubtful(OrderForm::Suggestion));
    }
    let filler = after
        .get(1)
        .is_some_and(|next| next.is_any(&["should", "to"]));
    let verb = after_adverbs(after.get(1 + usize::from(filler)..)?);
    let order = imperative(verb, false).filter(|order| order.class == VerbClass::Change)?;
    Some(order.doubtful(OrderForm::Suggestion))
}

/// The order that a clause permits: "do not hesitate to delete it", "feel free to delete it".
pub(super) fn permitted(words: &[Token]) -> Option<OrderClause> {
    #[rustfmt::skip]
    const PERMITTING: [&[&str]; 9] = [
        &["do", "not", "be", "afraid", "to"], &["do", "not", "be", "shy", "to"], &["do", "not", "hesitate", "to"],
        &["feel", "free", "to"], &["never", "hesitate", "to"], &["no", "objection", "to"],
        &["you", "are", "allowed", "to"], &["you", "are", "free", "to"], &["you", "are", "welcome", "to"],
    ];
    let phrase = PERMITTING.iter().find(|phrase| begins(words, phrase))?;
    let order = imperative(&words[phrase.len()..], false)?;
    Some(match order.class {
        VerbClass::Change => order.doubtful(OrderForm::Suggestion),
        VerbClass::Read | VerbClass::Explain | VerbClass::Compose => order,
    })
}

/// The order in a question that begins with an interrogative: "why do not you delete it", "how about deleting it".
pub(super) fn suggested(words: &[Token]) -> Option<OrderClause> {
    for phrase in [&["why", "do", "not", "you"], &["why", "do", "not", "we"]] {
        if begins(words, phrase) {
            let verb = words
                .iter()
                .skip(phrase.len())
                .skip_while(|token| token.is_any(&["just", "simply", "please"]));
            let order = imperative(&words[words.len() - verb.count()..], false)?;
            return Some(order.doubtful(OrderForm::Suggestion));
        }
    }
    for phrase in [&["how", "about"], &["what", "about"]] {
        if begins(words, phrase) {
            if words
                .get(2)
                .is_some_and(|subject| subject.is_any(&["we", "you", "i"]))
            {
                return imperative(&words[3..], false)
                    .map(|order| order.doubtful(OrderForm::Suggestion));
            }
            let verb =
                inflected_change(&words.get(2)?.word).filter(|_| words[2].word.ends_with("ing"))?;
            return Some(
                OrderClause::new(verb, VerbClass::Change, &words[2..])
                    .doubtful(OrderForm::Suggestion),
            );
        }
    }
    None
}

/// The order in a statement of need: "the rule has to be removed", "db-7 should be locked".
pub(super) fn needed(words: &[Token]) -> Option<OrderClause> {
    const NEEDS: [&[&str]; 9] = [
        &["must", "be"],
        &["should", "be"],
        &["has", "to", "be"],
        &["have", "to", "be"],
        &["needs", "to", "be"],
        &["need", "to", "be"],
        &["ought", "to", "be"],
        &["to", "be"],
        &["needs"],
    ];
    if words
        .first()
        .is_some_and(|first| first.is_any(&["nothing", "nobody", "no", "none"]))
    {
        return None;
    }
    for at in 1..words.len() {
        let rest = &words[at..];
        if let Some(phrase) = NEEDS.iter().find(|phrase| begins(rest, phrase)) {
            // "the rules that must be removed" are things.
            if words[at - 1].is_any(&["that", "which", "who"]) {
                return None;
            }
            let after = &rest[phrase.len()..];
            let changed = after
                .first()
                .and_then(|token| inflected_change(&token.word));
            let verb = changed.or_else(|| an_action(after))?;
            return Some(
                OrderClause::new(verb, VerbClass::Change, words).doubtful(OrderForm::Need),
            );
        }
    }
    None
}

/// "(I need) the account unlocked", "(I need) a restart" ask for a change, "(I need) the list of accounts" for a report.
pub(super) fn wished(words: &[Token]) -> OrderClause {
    let reports = words.iter().any(|token| token.is_any(&REPORTS));
    match changed(words).filter(|_| !reports) {
        Some(verb) => OrderClause::new(verb, VerbClass::Change, words).doubtful(OrderForm::Need),
        None => OrderClause::new("need", VerbClass::Read, words).doubtful(OrderForm::Wish),
    }
}

/// Returns the change that a noun phrase requests: "the account unlocked", "a restart of vm-31".
fn changed(words: &[Token]) -> Option<&'static str> {
    let over = |next: Option<&Token>| {
        next.is_none_or(|next| {
            matches!(next.kind, TokenKind::Mark(_))
                || next.is_any(OPENERS)
                || next.is_any(&["later", "soon", "tomorrow", "tonight"])
        })
    };
    let participles = words.iter().enumerate().skip(1).find_map(|(at, token)| {
        let verb = inflected_change(&token.word).filter(|_| !token.word.ends_with('s'))?;
        over(words.get(at + 1)).then_some(verb)
    });
    participles.or_else(|| (0..words.len()).find_map(|at| an_action(&words[at..])))
}

/// "a restart (of vm-31)", "another restart".
fn an_action(words: &[Token]) -> Option<&'static str> {
    let article = words.first()?.is_any(&["a", "an", "another"]);
    let verb = action_noun(&words.get(1)?.word).filter(|_| article)?;
    ends_noun(words.get(2)).then_some(verb)
}

/// Returns whether the preceding noun is the head of its phrase: "a restart of vm-31", not "a restart button".
fn ends_noun(next: Option<&Token>) -> bool {
    next.is_none_or(|next| {
        matches!(next.kind, TokenKind::Mark(_)) || next.is_any(PREPOSITIONS) || next.is_any(OPENERS)
    })
}

/// The order of a phrase without a verb: an amount of money to return, "a restart of vm-31, please".
pub(super) fn verbless(words: &[Token]) -> Option<OrderClause> {
    let amount = words.iter().any(Token::is_money)
        || words
            .windows(2)
            .any(|pair| pair[0].kind == TokenKind::Number && is_amount(&pair[1]));
    let back = words.iter().any(|token| token.is("back"));
    if amount && back {
        let order = OrderClause::new("return", VerbClass::Change, words);
        return Some(order.doubtful(OrderForm::Verbless));
    }
    let article = words
        .first()
        .is_some_and(|first| first.is_any(&["a", "an", "one", "the"]));
    let noun = &words[usize::from(article)..];
    let asked = ends_noun(noun.get(1))
        && words
            .iter()
            .any(|token| token.is_any(&["kindly", "please"]));
    let verb = action_noun(&noun.first()?.word).filter(|_| asked)?;
    let order = OrderClause::new(verb, VerbClass::Change, words);
    Some(order.doubtful(OrderForm::Verbless))
}

/// An order that the sentence reports of another person: "(told me) to delete it", "(wants) it deleted".
pub(super) fn embedded(words: &[Token]) -> Option<OrderClause> {
    if words.first().is_some_and(|first| {
        first.is_any(&[
            "him",
            "her",
            "them",
            "you",
            "everyone",
            "everybody",
            "people",
        ])
    }) {
        return None;
    }
    let to = words
        .iter()
        .position(|token| token.is("to"))
        .map(|at| &words[at + 1..]);
    let infinitive = to
        .and_then(|verb| imperative(verb, false))
        .filter(|order| order.class == VerbClass::Change);
    let order = infinitive.or_else(|| {
        let verb = participle(words)?;
        Some(OrderClause::new(verb, VerbClass::Change, words))
    })?;
    Some(order.doubtful(OrderForm::Reported))
}
