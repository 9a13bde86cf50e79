//! The speech act of a clause: an interrogative asks, an imperative or a request orders, a declarative asserts
//! (Searle's directives and assertives, by the mood of the clause).
//!
//! Analyses one clause at a time. Other modules combine the acts of a text.

use super::action::action_noun;
use super::clause::Clause;
use super::indirect;
use super::order::{self, OrderClause, OrderForm};
use super::phrases::{begins, opened};
use super::token::{Token, TokenKind};
use super::words::{
    AUXILIARIES, CONDITIONS, DETERMINERS, PREPOSITIONS, QUESTION_WORDS, REPORTING_VERBS, SUBJECTS,
    inflected_change, verb_class,
};

/// The act of a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// A question.
    Question,
    /// An order or a prohibition.
    Order(OrderClause),
    /// A report of another person's order.
    Reported(Option<OrderClause>),
    /// An endorsement of an order that was reported or quoted: "please do".
    Endorsement,
    /// A statement.
    Statement,
    /// A condition, or the time at which something holds.
    Condition,
    /// A supposition: the following clauses are neither facts nor requests.
    Supposition,
    /// A consideration: the writer thinks about doing something.
    Pondered,
    /// A noun phrase, or a continuation of the preceding clause.
    Fragment,
}

/// Phrases that endorse an order.
const ENDORSEMENTS: [&[&str]; 11] = [
    &["do"],
    &["please", "do"],
    &["please", "do", "so"],
    &["please", "do", "that"],
    &["please", "do", "it"],
    &["do", "it"],
    &["do", "so"],
    &["do", "that"],
    &["go", "ahead"],
    &["make", "it", "so"],
    &["please", "proceed"],
];

/// Phrases that introduce a supposition.
#[rustfmt::skip]
const SUPPOSITIONS: [&[&str]; 12] = [
    &["suppose"], &["supposing"], &["assume"], &["assuming"], &["imagine"], &["pretend"], &["what", "if"],
    &["hypothetically"], &["in", "theory"], &["say", "i"], &["say", "we"], &["let", "us", "say"],
];

/// Returns the acts of all clauses. A question mark turns another act into a question only if no other clause of the
/// sentence has an interrogative form.
pub(super) fn acts(tokens: &[Token], clauses: &[Clause]) -> Vec<Act> {
    let plain = |clause: &Clause| {
        act(
            tokens,
            &Clause {
                asks: false,
                ..clause.clone()
            },
        )
    };
    let by_form: Vec<Act> = clauses.iter().map(plain).collect();
    let asks_by_form = |sentence: usize| {
        let own = clauses
            .iter()
            .zip(&by_form)
            .filter(|(clause, _)| clause.sentence == sentence);
        own.filter(|(_, act)| matches!(act, Act::Question)).count() > 0
    };
    let one = |(clause, act): (&Clause, &Act)| match clause.asks && !asks_by_form(clause.sentence) {
        true => self::act(tokens, clause),
        false => act.clone(),
    };
    clauses.iter().zip(&by_form).map(one).collect()
}

/// Returns the act of a clause.
fn act(tokens: &[Token], clause: &Clause) -> Act {
    let all = &tokens[clause.tokens.clone()];
    let opened = opened(all);
    let words = &all[opened..];
    if ENDORSEMENTS
        .iter()
        .any(|phrase| is_just(all, phrase) || is_just(words, phrase))
    {
        return Act::Endorsement;
    }
    let Some(first) = words.first() else {
        return Act::Fragment;
    };
    if SUPPOSITIONS.iter().any(|phrase| begins(words, phrase)) {
        return Act::Supposition;
    }
    if let Some(order) = indirect::wished_of_you(words) {
        return Act::Order(order);
    }
    if is_condition(words, clause.asks) || waits(words) {
        return Act::Condition;
    }
    // "please" before a verb marks an imperative at any position.
    if let Some(order) = after_please(all) {
        return Act::Order(order);
    }
    let after_preposition = first.is_any(PREPOSITIONS)
        && words
            .get(1)
            .is_some_and(|second| second.is_any(QUESTION_WORDS));
    if first.is_any(QUESTION_WORDS) || after_preposition {
        return indirect::suggested(words).map_or(Act::Question, Act::Order);
    }
    if let Some(order) = indirect::permitted(words).or_else(|| order::forbidden(words)) {
        return Act::Order(order);
    }
    if first.is_any(AUXILIARIES) && !is_light_do(words) {
        return indirect::requested(words).map_or(Act::Question, Act::Order);
    }
    if let Some(act) = stated(words, clause.asks) {
        return act;
    }
    if let Some(order) = order::imperative(words, clause.asks) {
        return Act::Order(order);
    }
    if let Some(order) = indirect::needed(words).or_else(|| indirect::verbless(words)) {
        return Act::Order(order);
    }
    if clause.asks {
        return Act::Question;
    }
    if has_finite_verb(words) {
        Act::Statement
    } else {
        Act::Fragment
    }
}

fn is_just(words: &[Token], phrase: &[&str]) -> bool {
    words.len() == phrase.len() && begins(words, phrase)
}

/// "do a check", "have a look": a light verb, not an auxiliary.
fn is_light_do(words: &[Token]) -> bool {
    let second = words.get(1);
    words
        .first()
        .is_some_and(|first| first.is_any(&["do", "have"]))
        && second
            .is_some_and(|second| second.is_any(&["a", "an", "the", "another", "that", "it", "so"]))
        && !words.get(2).is_some_and(|third| third.is_any(SUBJECTS))
        && !words.iter().skip(2).any(|token| {
            verb_class(&token.word).is_some()
                && action_noun(&token.word).is_none()
                && !token.is_any(&[
                    "run", "look", "check", "scan", "review", "audit", "test", "count", "search",
                    "refund", "lock",
                ])
        })
}

/// Returns whether a clause is a subordinate clause of condition or time. A question that begins with "when" and an
/// auxiliary is not.
fn is_condition(words: &[Token], asks: bool) -> bool {
    let Some(first) = words.first() else {
        return false;
    };
    let second_is_auxiliary = words
        .get(1)
        .is_some_and(|second| second.is_any(AUXILIARIES));
    let only = words.get(1).is_some_and(|second| {
        second.is_any(CONDITIONS) || second.is_any(&["after", "when", "with"])
    });
    if first.is_any(CONDITIONS)
        || first.is("only") && only
        || begins(words, &["as", "soon", "as"])
        || begins(words, &["in", "case"])
    {
        return true;
    }
    let in_time = first.is_any(&["when", "after", "before", "while", "since"]);
    in_time && !second_is_auxiliary && (!asks || !first.is("when"))
}

/// Returns whether a clause requires another action first: "wait for Ann", "ask Ann", "get approval".
fn waits(words: &[Token]) -> bool {
    #[rustfmt::skip]
    const WAITING: [&[&str]; 14] = [
        &["await"], &["check", "with"], &["clear", "it", "with"], &["consult"], &["coordinate", "with"],
        &["get", "an", "ok"], &["get", "approval"], &["get", "consent"], &["get", "permission"], &["get", "sign-off"],
        &["get", "the", "ok"], &["obtain"], &["talk", "to"], &["wait"],
    ];
    let asks_others = begins(words, &["ask"])
        && words
            .get(1)
            .is_some_and(|next| !next.is_any(&["me", "us", "yourself"]));
    asks_others || WAITING.iter().any(|phrase| begins(words, phrase))
}

fn after_please(words: &[Token]) -> Option<OrderClause> {
    let mut places = words
        .iter()
        .enumerate()
        .filter(|(_, token)| token.is_any(&["please", "kindly"]));
    places.find_map(|(at, _)| {
        let rest = &words[at + 1..];
        let rest = &rest[opened(rest)..];
        let first = rest.first()?;
        if let Some(order) = indirect::permitted(rest).or_else(|| order::forbidden(rest)) {
            return Some(order);
        }
        let light = first.is_any(&["do", "have", "let", "make", "go", "ensure", "be"]);
        let is_verb = light
            || verb_class(&first.word).is_some()
            || super::words::misspelt_change(&first.word).is_some();
        // "could you please list": the words before "please" form a request already.
        let requested = words[..at]
            .iter()
            .any(|token| token.is_any(AUXILIARIES) || token.is_any(QUESTION_WORDS));
        (is_verb && !requested)
            .then(|| order::imperative(rest, false))
            .flatten()
    })
}

/// Returns the act of a clause with a personal subject.
fn stated(words: &[Token], asks: bool) -> Option<Act> {
    let first = words.first()?;
    let rest = &words[1..];
    if asks && rest.iter().any(|token| token.is_any(QUESTION_WORDS)) {
        return Some(Act::Question);
    }
    let group = first.is_any(&["somebody", "someone", "we"]);
    if !asks && let Some(order) = indirect::proposed(rest).filter(|_| group) {
        return Some(Act::Order(order));
    }
    let thinks = rest
        .first()
        .is_some_and(|verb| verb.is_any(&["believe", "feel", "think"]));
    if first.is("i") && thinks && !asks {
        let that = rest.get(1).is_some_and(|next| next.is("that"));
        let thought = &rest[1 + usize::from(that)..];
        if let Some(act @ Act::Order(_)) = stated(thought, asks) {
            return Some(act);
        }
    }
    if first.is_any(&["i", "we"]) {
        return Some(of_the_speaker(rest, asks));
    }
    if first.is("you")
        && rest.first().is_some_and(|verb| {
            verb.is_any(&["should", "must", "can", "could", "may", "need", "have"])
        })
    {
        let verbs = rest.iter().skip(1).skip_while(|token| token.is("to"));
        let at = words.len() - verbs.count();
        let order = order::imperative(&words[at..], false);
        return Some(order.map_or(Act::Statement, |order| {
            Act::Order(order.doubtful(OrderForm::Suggestion))
        }));
    }
    if begins(words, &["let", "us"]) {
        let order = order::imperative(&words[2..], false);
        return order.map(|order| Act::Order(order.doubtful(OrderForm::Suggestion)));
    }
    if words
        .iter()
        .take(8)
        .any(|token| token.is_any(&["great", "good", "nice", "helpful", "useful", "interesting"]))
        && asks_indirectly(words)
    {
        return Some(Act::Question);
    }
    let reports = (1..words.len().min(8)).find(|at| reports(words, *at));
    if let Some(at) = reports.filter(|_| verb_class(&first.word).is_none()) {
        return Some(Act::Reported(indirect::embedded(&words[at + 1..])));
    }
    first
        .is_any(&["wondering", "curious", "unsure"])
        .then_some(Act::Question)
}

/// "to know which …", "to see whether …": a question within a clause.
fn asks_indirectly(words: &[Token]) -> bool {
    let verbs = words.windows(2).filter(|pair| {
        pair[0].is("to") && pair[1].is_any(&["know", "see", "learn", "understand", "hear"])
    });
    verbs.count() > 0
        && words
            .iter()
            .any(|token| token.is_any(QUESTION_WORDS) || token.is("if"))
}

/// Returns whether the word at this position is a verb of reporting. Those that are also plural nouns need a
/// complement.
fn reports(words: &[Token], at: usize) -> bool {
    const NOUNS: [&str; 7] = [
        "claims", "keeps", "mentions", "reads", "reports", "states", "requests",
    ];
    let verb = &words[at];
    let complement = words.get(at + 1);
    let relative = words[..at].iter().any(|token| token.is_any(QUESTION_WORDS));
    !relative
        && verb.is_any(REPORTING_VERBS)
        && (!verb.is_any(&NOUNS)
            || complement.is_some_and(|next| {
                next.is_any(&["that", "to", "it", "he", "she", "we", "me", "us", "you"])
            }))
}

/// "I want to know …", "we need to close …", "I am thinking about …".
fn of_the_speaker(rest: &[Token], asks: bool) -> Act {
    const WISHES: [&str; 9] = [
        "want", "need", "like", "love", "wish", "would", "have", "got", "must",
    ];
    const WONDERS: [&str; 8] = [
        "wonder",
        "wondering",
        "know",
        "understand",
        "see",
        "find",
        "learn",
        "ask",
    ];
    const PONDERS: [&str; 9] = [
        "thinking",
        "considering",
        "planning",
        "tempted",
        "might",
        "may",
        "consider",
        "hesitate",
        "about",
    ];
    let near = |words: &[&str]| rest.iter().take(5).position(|token| token.is_any(words));
    if !asks && let Some(order) = indirect::put_forward(rest) {
        return Act::Order(order);
    }
    if near(&PONDERS).is_some() {
        return Act::Pondered;
    }
    let wishes = near(&WISHES);
    let negated = rest
        .iter()
        .take(3)
        .any(|token| token.is_any(&["not", "never"]));
    let verb = rest
        .iter()
        .position(|token| token.is("to"))
        .map(|at| &rest[at + 1..]);
    if let (Some(_), Some(verb)) = (wishes, verb) {
        if verb.first().is_some_and(|verb| verb.is_any(&WONDERS)) && !negated {
            return Act::Question;
        }
        if let Some(mut order) = order::imperative(verb, false) {
            order.negated = negated;
            let own = !rest.iter().any(|token| token.is("you"));
            return Act::Order(if own {
                order.doubtful(OrderForm::Wish)
            } else {
                order.by(OrderForm::Wish)
            });
        }
    }
    let has = near(&["got", "have"]).is_some();
    let one =
        |token: &Token| token.is_any(DETERMINERS) || token.kind == TokenKind::Identifier && !has;
    if wishes.is_some() && rest.iter().take(4).any(one) && !negated {
        return Act::Order(indirect::needed(rest).unwrap_or_else(|| indirect::wished(rest)));
    }
    let indirect = rest
        .iter()
        .any(|token| token.is_any(QUESTION_WORDS) || token.is("if"));
    if near(&WONDERS).is_some() && indirect || asks {
        return Act::Question;
    }
    Act::Statement
}

/// Returns whether a declarative clause has a finite verb: an auxiliary, or any word after a personal pronoun.
/// Participles and plurals are ambiguous, so a clause with another verb counts as a noun phrase.
fn has_finite_verb(words: &[Token]) -> bool {
    const PERSONS: [&str; 8] = ["i", "you", "he", "she", "it", "we", "they", "there"];
    let relative = |at: usize| {
        at > 0
            && words[at - 1].is_any(&[
                "that", "which", "who", "whose", "what", "where", "they", "we", "i",
            ])
    };
    let mut auxiliaries = words
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, token)| token.is_any(AUXILIARIES));
    // "removed the rule" is a verb with its object, "removed rules" are things.
    let acted = words.windows(2).skip(1).any(|pair| {
        inflected_change(&pair[0].word).is_some()
            && (pair[1].is_any(DETERMINERS)
                || pair[1].names_one()
                || pair[1].is_any(&["it", "them"]))
    });
    auxiliaries.any(|(at, _)| !relative(at))
        || words.len() > 1 && words[0].is_any(&PERSONS)
        || acted
}
