//! Orders: which verb a clause orders, in which form, and how sure that is.
//!
//! Looks at the words of one clause. Whether an order holds (negation of another clause, conditions, later times) is
//! decided where the clauses are put together.

use super::act::{begins, has_bare_object};
use super::token::{Token, TokenKind};
use super::words::{
    self, ADJECTIVES, AUXILIARIES, CHANGE_VERBS, COMPOUND_HEADS, DETERMINERS, HOMOGRAPHS,
    PARTICLES, PREPOSITIONS, PRONOUNS, QUESTION_WORDS, SUBJECTS, VerbClass, inflected_change,
    misspelt_change, verb_class,
};

/// By which form something is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrderForm {
    /// "delete it"
    Imperative,
    /// "delte it"
    Mistyped,
    /// "could you delete it"
    Request,
    /// "I want you to delete it"
    Wish,
    /// "could we delete it", "you should delete it"
    Suggestion,
    /// "it has to be deleted"
    Need,
    /// "30 euros back to Ann"
    Verbless,
    /// "Ann told me to delete it"
    Reported,
}

/// An order as its clause has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OrderClause {
    /// The verb in its base form.
    pub(super) verb: String,
    pub(super) class: VerbClass,
    pub(super) form: OrderForm,
    /// "do not delete it"
    pub(super) negated: bool,
    /// Whether verb and form leave no doubt that this is ordered.
    pub(super) certain: bool,
    /// Whether what it is about was said before: "delete it".
    pub(super) bare: bool,
}

impl OrderClause {
    fn new(verb: &str, class: VerbClass, words: &[Token]) -> Self {
        OrderClause {
            verb: verb.to_owned(),
            class,
            form: OrderForm::Imperative,
            negated: false,
            certain: true,
            bare: has_bare_object(words),
        }
    }

    pub(super) fn by(mut self, form: OrderForm) -> Self {
        self.form = form;
        self
    }

    pub(super) fn doubtful(mut self, form: OrderForm) -> Self {
        self.certain = false;
        self.by(form)
    }
}

/// The order of a clause that begins with its verb.
pub(super) fn imperative(words: &[Token], asks: bool) -> Option<OrderClause> {
    let first = words
        .first()
        .filter(|first| first.kind == TokenKind::Word)?;
    let next = words.get(1);
    if let Some(order) = light(words) {
        return Some(order);
    }
    let verb = first.word.as_str();
    match verb_class(verb) {
        Some(VerbClass::Change) => change(words, verb, asks),
        // "quote of the day": a noun.
        Some(VerbClass::Explain) if next.is_some_and(|next| next.is_any(&["of", "for", "by"])) => {
            None
        }
        Some(class) => Some(OrderClause::new(verb, class, words)),
        None => {
            if let Some(mended) = misspelt_change(verb) {
                // "Starte" is German, and a slip may have been another verb.
                let order = change(words, mended, asks)?;
                return Some(order.doubtful(OrderForm::Mistyped));
            }
            let definite = next.is_some_and(|next| {
                // Not an identifier: "resource vm-31" is a noun and its name.
                next.is_any(&[
                    "the", "this", "these", "those", "my", "our", "your", "all", "every", "each",
                    "any", "it", "them",
                ])
            });
            (definite && is_verb_like(first)).then(|| {
                let order = OrderClause::new(verb, VerbClass::Change, words);
                order.doubtful(OrderForm::Imperative)
            })
        }
    }
}

/// Whether a word that is in no list may be a verb in its base form.
fn is_verb_like(word: &Token) -> bool {
    let ending = |endings: &[&str]| endings.iter().any(|ending| word.word.ends_with(ending));
    !(word.is_any(SUBJECTS)
        || word.is_any(DETERMINERS)
        || word.is_any(PREPOSITIONS)
        || word.is_any(AUXILIARIES)
        || word.is_any(QUESTION_WORDS)
        || word.is_any(PRONOUNS)
        || word.is_any(&[
            "not",
            "is",
            "than",
            "as",
            "on",
            "off",
            "because",
            "although",
            "though",
            "only",
            "even",
            "there",
            "be",
            "never",
            "always",
            "besides",
            "except",
            "regarding",
            "concerning",
            "despite",
            "given",
            "via",
            "without",
            "behind",
            "across",
            "after",
            "before",
        ])
        || ending(&["ing", "ed", "ly", "tion", "ness", "ment", "ity"])
        || ending(&["s"]) && !ending(&["ss"]))
}

/// An imperative with a verb of change; `None` where its word is rather a noun or an adjective.
fn change(words: &[Token], verb: &str, asks: bool) -> Option<OrderClause> {
    let order = OrderClause::new(verb, VerbClass::Change, words);
    if !HOMOGRAPHS.contains(&verb) {
        return Some(order);
    }
    let Some(next) = words.get(1) else {
        return Some(order.doubtful(OrderForm::Imperative));
    };
    // "restart host vm-31"
    let named = next.kind == TokenKind::Word
        && !next.is_any(PREPOSITIONS)
        && !next.is_any(COMPOUND_HEADS)
        && words.get(2).is_some_and(Token::is_specific);
    let definite = named
        || next.is_any(DETERMINERS)
        || next.is_any(PRONOUNS)
        || next.is_any(PARTICLES)
        || next.is_specific()
        || next.capital && !words[0].is("i") && words[0].word != words[0].word.to_uppercase();
    if definite {
        return Some(if asks {
            order.doubtful(OrderForm::Imperative)
        } else {
            order
        });
    }
    let noun = next.is_any(PREPOSITIONS) && !next.is("to")
        || next.is_any(AUXILIARIES)
        || next.is_any(COMPOUND_HEADS)
        || ADJECTIVES.contains(&verb)
        || asks;
    (!noun).then(|| order.doubtful(OrderForm::Imperative))
}

/// What reports are called.
#[rustfmt::skip]
const REPORTS: [&str; 22] = [
    "list", "report", "summary", "overview", "table", "chart", "brief", "briefing", "ranking", "count",
    "names", "ids", "digest", "inventory", "breakdown", "number", "look", "peek", "scan", "check", "view",
    "update",
];

/// Verbs whose meaning is that of their object: "give me a list", "take a look", "get rid of it".
fn light(words: &[Token]) -> Option<OrderClause> {
    let verb = words.first()?.word.as_str();
    let rest = &words[1..];
    let near = |list: &[&str]| rest.iter().take(5).any(|token| token.is_any(list));
    let next = |list: &[&str]| rest.first().is_some_and(|token| token.is_any(list));
    let paid = rest.iter().any(|token| {
        token.is_money() || token.is_any(&["euro", "euros", "dollars", "money", "refund", "cash"])
    });
    let granted = near(&["access", "permission", "permissions", "rights", "admin"]);
    let new = |class| Some(OrderClause::new(verb, class, words));
    match verb {
        "give" | "send" | "hand" | "bring" | "get" | "fetch" | "pass" | "forward" | "email"
        | "message" | "tell" | "show" | "let"
            if next(&["me", "us"]) =>
        {
            let class = if (paid || granted) && verb != "tell" && verb != "show" {
                VerbClass::Change
            } else {
                VerbClass::Read
            };
            new(class)
        }
        // "tell the guests that breakfast is late" sends something to somebody.
        "tell"
            if rest.len() > 2 && near(&["that"]) && !next(&["which", "whether", "if", "how"]) =>
        {
            let order = OrderClause::new(verb, VerbClass::Change, words);
            Some(order.doubtful(OrderForm::Imperative))
        }
        "tell" => new(VerbClass::Read),
        "get" if begins(rest, &["rid", "of"]) => new(VerbClass::Change),
        "get" | "have" => match participle(rest) {
            Some(changed) => Some(
                OrderClause::new(changed, VerbClass::Change, words).doubtful(OrderForm::Imperative),
            ),
            None => new(VerbClass::Read),
        },
        "take" | "run" | "do" | "make" | "create" | "generate" | "prepare" | "draft" | "write"
        | "build" | "compile" | "produce" | "return" | "put" | "open"
            if near(&REPORTS) && !near(&["dry"]) && !paid =>
        {
            new(VerbClass::Read)
        }
        "order" | "put" | "group" | "arrange"
            if rest.iter().any(|token| token.is("by")) || begins(rest, &["in", "order"]) =>
        {
            new(VerbClass::Read)
        }
        "go" | "walk" | "take"
            if next(&["through", "over"]) || begins(rest, &["me", "through"]) =>
        {
            new(VerbClass::Read)
        }
        "do" => {
            let object = rest
                .iter()
                .take(5)
                .find_map(|token| changing_noun(&token.word));
            let class = if near(&["dry", "simulation", "trial"]) || object.is_some() {
                VerbClass::Change
            } else {
                VerbClass::Read
            };
            Some(OrderClause::new(object.unwrap_or("do"), class, words))
        }
        "make" | "ensure" if !next(&["me", "us"]) => {
            Some(OrderClause::new(verb, VerbClass::Change, words).doubtful(OrderForm::Imperative))
        }
        "make" | "build" | "prepare" => new(VerbClass::Compose),
        "add" if next(&["up"]) => new(VerbClass::Read),
        _ => None,
    }
}

/// The verb of change that a noun is made of: "a refund", "the lockdown", "the removal".
fn changing_noun(word: &str) -> Option<&'static str> {
    let plain = word
        .strip_suffix("down")
        .or_else(|| word.strip_suffix("off"))
        .unwrap_or(word);
    CHANGE_VERBS
        .iter()
        .copied()
        .find(|verb| *verb == plain && HOMOGRAPHS.contains(verb))
}

/// The participle of a verb of change after an object: "(get) the rule removed".
fn participle(words: &[Token]) -> Option<&'static str> {
    let mut later = words.iter().skip(1);
    later.find_map(|token| inflected_change(&token.word).filter(|_| !token.word.ends_with('s')))
}

/// What a clause forbids: "do not delete", "never delete", "no need to delete", "stop deleting".
pub(super) fn forbidden(words: &[Token]) -> Option<OrderClause> {
    const FORBIDDING: [&[&str]; 9] = [
        &["do", "not", "you", "dare", "to"],
        &["do", "not", "you", "dare"],
        &["do", "not"],
        &["never"],
        &["no", "need", "to"],
        &["not"],
        &["under", "no", "circumstances"],
        &["please", "do", "not"],
        &["without"],
    ];
    if words.len() <= 3
        && words[0].is("no")
        && words
            .get(1)
            .is_some_and(|noun| changing_noun(&noun.word).is_some())
    {
        let mut order = OrderClause::new(&words[1].word, VerbClass::Change, words);
        order.negated = true;
        return Some(order);
    }
    let phrase = FORBIDDING.iter().find(|phrase| begins(words, phrase))?;
    let rest = &words[phrase.len()..];
    let skipped = rest
        .iter()
        .take_while(|token| {
            token.is_any(&[
                "ever", "yet", "actually", "really", "just", "even", "please", "try", "to",
            ])
        })
        .count();
    let verb = rest.get(skipped)?;
    let class = verb_class(&verb.word);
    let class = class
        .or_else(|| inflected_change(&verb.word).map(|_| VerbClass::Change))
        .unwrap_or(VerbClass::Change);
    let known = verb_class(&verb.word).is_some() || phrase.first() == Some(&"do");
    let mut order = OrderClause::new(&verb.word, class, &rest[skipped..]);
    order.negated = true;
    known.then_some(order)
}

/// The order in a question that begins with an auxiliary: "could you delete it", "can we refund A-7".
pub(super) fn requested(words: &[Token]) -> Option<OrderClause> {
    const ADVERBS: [&str; 12] = [
        "please", "kindly", "maybe", "perhaps", "just", "quickly", "possibly", "now", "also",
        "then", "help", "me",
    ];
    let (modal, subject) = (words.first()?, words.get(1)?);
    if modal.is("would") && begins(&words[1..], &["you", "mind"]) {
        let gerund = words.get(3)?;
        let verb = inflected_change(&gerund.word)?;
        return Some(OrderClause::new(verb, VerbClass::Change, &words[3..]).by(OrderForm::Request));
    }
    let rest = &words[2..];
    let skipped = rest
        .iter()
        .take_while(|token| token.is_any(&ADVERBS))
        .count();
    let verb = &rest[skipped..];
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
            let verb = rest
                .get(phrase.len())
                .and_then(|token| inflected_change(&token.word))?;
            return Some(
                OrderClause::new(verb, VerbClass::Change, words).doubtful(OrderForm::Need),
            );
        }
    }
    None
}

/// "(I need) the account unlocked" asks for a change, "(I need) the list of accounts" for a report.
pub(super) fn wished(words: &[Token]) -> OrderClause {
    match participle(words) {
        Some(verb)
            if words
                .last()
                .is_some_and(|last| inflected_change(&last.word).is_some()) =>
        {
            OrderClause::new(verb, VerbClass::Change, words).doubtful(OrderForm::Need)
        }
        Some(_) | None => {
            OrderClause::new("need", VerbClass::Read, words).doubtful(OrderForm::Wish)
        }
    }
}

/// The order of a phrase without a verb: an amount of money that is to go back to somebody.
pub(super) fn verbless(words: &[Token]) -> Option<OrderClause> {
    let amount = words.iter().any(Token::is_money)
        || words.windows(2).any(|pair| {
            pair[0].kind == TokenKind::Number
                && pair[1].is_any(&["euro", "euros", "eur", "dollars", "usd", "pounds"])
        });
    let goes = words
        .iter()
        .any(|token| token.is_any(&["back", "to", "for"]));
    let back = words.iter().any(|token| token.is("back"));
    (amount && goes && back)
        .then(|| OrderClause::new("return", VerbClass::Change, words).doubtful(OrderForm::Verbless))
}

/// The order that somebody else is told to have given: "(told me) to delete it", "(wants) it deleted".
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
