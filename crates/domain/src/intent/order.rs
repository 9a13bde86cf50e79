//! Orders: the verb that a clause orders, the form of the order, and its certainty.
//!
//! Analyses the words of one clause. The module that combines clauses decides whether an order is valid (negation by
//! another clause, conditions, later times).

use super::action::{self, OrderedAction};
use super::phrases::{begins, has_bare_object, is_amount};
use super::token::{Token, TokenKind};
use super::words::{
    ADJECTIVES, AUXILIARIES, CHANGE_VERBS, COMPOUND_HEADS, DETERMINERS, HOMOGRAPHS, OPENERS,
    PARTICLES, PREPOSITIONS, PRONOUNS, QUESTION_WORDS, RUN_VERBS, SUBJECTS, VerbClass,
    inflected_change, misspelt_change, verb_class,
};

/// The form of an order.
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
    /// "run the playbook Delete a volume"
    Playbook,
}

/// An order in a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OrderClause {
    /// The verb in its base form.
    pub(super) verb: String,
    pub(super) class: VerbClass,
    pub(super) form: OrderForm,
    /// "do not delete it"
    pub(super) negated: bool,
    /// Whether the verb and the form make the order unambiguous.
    pub(super) certain: bool,
    /// Whether its object was mentioned earlier: "delete it".
    pub(super) bare: bool,
    /// The ordered action.
    pub(super) action: OrderedAction,
    /// The number of tokens from the verb to the end of the clause.
    pub(super) tail: usize,
}

impl OrderClause {
    pub(super) fn new(verb: &str, class: VerbClass, words: &[Token]) -> Self {
        OrderClause {
            verb: verb.to_owned(),
            class,
            form: OrderForm::Imperative,
            negated: false,
            certain: true,
            bare: has_bare_object(words),
            action: action::action(verb, words),
            tail: words.len(),
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

/// Returns the order of a clause that begins with its verb.
pub(super) fn imperative(words: &[Token], asks: bool) -> Option<OrderClause> {
    let first = words
        .first()
        .filter(|first| first.kind == TokenKind::Word)?;
    let next = words.get(1);
    if runs_playbook(words) {
        let order = OrderClause::new(&first.word, VerbClass::Change, words);
        return Some(order.doubtful(OrderForm::Playbook));
    }
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
                // "Starte" is German, and the typing error may hide another verb.
                let order = change(words, mended, asks)?;
                return Some(order.doubtful(OrderForm::Mistyped));
            }
            let definite = next.is_some_and(|next| {
                // Identifiers are excluded: "resource vm-31" is a noun with its name.
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

/// Returns whether an unlisted word may be a verb in its base form.
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

/// Returns an imperative with a verb of change; `None` if the word is more likely a noun or an adjective.
fn change(words: &[Token], verb: &str, asks: bool) -> Option<OrderClause> {
    let order = OrderClause::new(verb, VerbClass::Change, words);
    if !HOMOGRAPHS.contains(&verb) {
        return Some(order);
    }
    let Some(next) = words.get(1) else {
        return Some(order.doubtful(OrderForm::Imperative));
    };
    // "order 4411" is the name of a record.
    if RECORDS.contains(&verb) && (next.kind == TokenKind::Identifier || next.names_one()) {
        return None;
    }
    // "restart host vm-31"
    let named = next.kind == TokenKind::Word
        && !next.is_any(PREPOSITIONS)
        && !next.is_any(COMPOUND_HEADS)
        && !is_of_plural(verb, words)
        && words.get(2).is_some_and(Token::is_specific);
    let definite = named
        || next.is_any(DETERMINERS)
        || next.is_any(PRONOUNS)
        || next.is_any(PARTICLES)
        || next.is_specific()
        || is_before_name(words);
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

/// Homographs that name a record before an identifier.
const RECORDS: [&str; 5] = ["invoice", "issue", "message", "order", "permit"];

/// Returns whether a homograph begins a heading: "open tickets T-7", "Charge Codes 2025".
fn is_of_plural(verb: &str, words: &[Token]) -> bool {
    let [_, next, third, ..] = words else {
        return false;
    };
    let heading = ADJECTIVES.contains(&verb) || next.capital && third.kind == TokenKind::Number;
    next.word.ends_with('s') && heading
}

/// Returns whether the verb of a clause has a name as its object: "Refund Ada 20 euros". A capital does not mark a name
/// in a title, where every content word has one ("Open Security Groups"), or before a noun ("Lock Office keys").
fn is_before_name(words: &[Token]) -> bool {
    let function = |token: &Token| {
        token.is_any(PREPOSITIONS)
            || token.is_any(DETERMINERS)
            || token.is_any(AUXILIARIES)
            || token.is_any(COMPOUND_HEADS)
    };
    let rest = words.get(1..).unwrap_or_default();
    let is_name =
        |token: &&Token| token.kind == TokenKind::Word && token.capital && !function(token);
    let names = rest.iter().take_while(is_name).count();
    let ends = rest.get(names).is_none_or(|next| {
        next.kind != TokenKind::Word
            || next.is_any(PREPOSITIONS)
            || next.is_any(DETERMINERS)
            || next.is_any(PRONOUNS)
            || next.is_any(PARTICLES)
            || next.is_any(OPENERS)
    });
    let plain = |token: &Token| token.kind == TokenKind::Word && !token.capital && !function(token);
    let is_title = words[0].capital && !rest.iter().any(|token| plain(token) || is_amount(token));
    names > 0 && ends && !is_title
}

/// Returns whether a clause orders to run a playbook: "run the playbook Restart a host on vm-31".
fn runs_playbook(words: &[Token]) -> bool {
    let at = words.iter().position(|token| token.is("playbook"));
    let indefinite = words.get(1).is_some_and(|next| next.is_any(&["a", "any"]));
    words.first().is_some_and(|first| first.is_any(RUN_VERBS))
        && at.is_some_and(|at| at <= 3)
        && !indefinite
}

/// Nouns for reports.
#[rustfmt::skip]
pub(super) const REPORTS: [&str; 22] = [
    "list", "report", "summary", "overview", "table", "chart", "brief", "briefing", "ranking", "count",
    "names", "ids", "digest", "inventory", "breakdown", "number", "look", "peek", "scan", "check", "view",
    "update",
];

/// Returns the order of a light verb, whose meaning is in its object: "give me a list", "get rid of it".
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
        // "tell the guests that breakfast is late" sends a message.
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
        "make" | "ensure" if !next(&["me", "us"]) => Some(brought_about(verb, words)),
        "see" if begins(rest, &["to", "it"]) => Some(brought_about(verb, words)),
        "make" | "build" | "prepare" => new(VerbClass::Compose),
        "add" if next(&["up"]) => new(VerbClass::Read),
        _ => None,
    }
}

/// "make sure that it is deleted", "see to it that it is never deleted".
fn brought_about(verb: &str, words: &[Token]) -> OrderClause {
    let mut order = OrderClause::new(verb, VerbClass::Change, words);
    order.negated = words.windows(2).any(|pair| {
        pair[0].is_any(&["never", "not"])
            && (CHANGE_VERBS.contains(&pair[1].word.as_str())
                || inflected_change(&pair[1].word).is_some())
    });
    order.doubtful(OrderForm::Imperative)
}

/// Returns the verb of change that a noun is derived from: "a refund", "the lockdown", "the removal".
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

/// Returns the participle of a verb of change after an object: "(get) the rule removed".
pub(super) fn participle(words: &[Token]) -> Option<&'static str> {
    let mut later = words.iter().skip(1);
    later.find_map(|token| inflected_change(&token.word).filter(|_| !token.word.ends_with('s')))
}

/// Returns the action that a clause forbids: "do not delete", "never delete", "no need to delete", "stop deleting".
pub(super) fn forbidden(words: &[Token]) -> Option<OrderClause> {
    const FORBIDDING: [&[&str]; 13] = [
        &["do", "not", "you", "dare", "to"],
        &["do", "not", "you", "dare"],
        &["do", "not"],
        &["never"],
        &["no", "need", "to"],
        &["not"],
        &["under", "no", "circumstances"],
        &["please", "do", "not"],
        &["without"],
        &["avoid"],
        &["hold", "off", "on"],
        &["hold", "off"],
        &["refrain", "from"],
    ];
    let said = words.iter().filter(|token| {
        !matches!(token.kind, TokenKind::Mark(_)) && !token.is_any(&["kindly", "please"])
    });
    if said.count() <= 3
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
    let gerund = phrase
        .first()
        .is_some_and(|first| ["avoid", "hold", "refrain"].contains(first))
        && inflected_change(&verb.word).is_some();
    let known = verb_class(&verb.word).is_some() || phrase.first() == Some(&"do") || gerund;
    let mut order = OrderClause::new(&verb.word, class, &rest[skipped..]);
    order.negated = true;
    known.then_some(order)
}
