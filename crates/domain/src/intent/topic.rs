//! Classifies the topic of a question: a rule, a meaning, a reason or a procedure, or a state.
//!
//! Each cue changes a sum, whose sign decides; near zero the form is ambiguous. Deontic modals (should, must, may),
//! generic subjects and metalinguistic verbs (mean, count as) indicate rules. Existentials, possessives, names of
//! resources and deictic times (now, today) indicate a state.

use super::token::{Token, TokenKind};
use super::words::{AUXILIARIES, QUESTION_WORDS, VerbClass, inflected_change, verb_class};

/// The topic of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    /// A rule, a meaning, a reason, a procedure.
    Rule,
    /// A state.
    State,
    /// The form is ambiguous.
    Open,
}

/// The absolute value of the sum from which the form decides.
const DECIDED: i32 = 4;

/// Words that select the first items of a ranking.
const SUPERLATIVES: &[&[&str]] = &[
    &["most"],
    &["worst"],
    &["biggest"],
    &["highest"],
    &["lowest"],
    &["oldest"],
    &["longest"],
    &["top"],
    &["largest"],
    &["riskiest"],
    &["urgent"],
    &["hottest"],
    &["cheapest"],
    &["latest"],
    &["newest"],
];

/// A cue: phrases with a weight. Each cue counts once.
struct Cue {
    weight: i32,
    phrases: &'static [&'static [&'static str]],
}

const fn cue(weight: i32, phrases: &'static [&'static [&'static str]]) -> Cue {
    Cue { weight, phrases }
}

/// Cues at any position in the question. Positive weights indicate a rule.
#[rustfmt::skip]
const ANYWHERE: &[Cue] = &[
    cue(8, &[
        &["explain"], &["define"], &["definition"], &["meaning"], &["mean"], &["means"], &["meant"],
        &["stand", "for"], &["stands", "for"], &["difference", "between"],
        &["what", "is", "the", "difference"], &["clarify"], &["counts", "as"], &["count", "as"],
        &["qualify", "as"], &["qualifies", "as"], &["considered"], &["regarded", "as"], &["supposed", "to"],
    ]),
    cue(6, &[
        &["policy"], &["policies"], &["guideline"], &["guidelines"], &["best", "practice"],
        &["best", "practices"], &["procedure"], &["runbook"], &["runbooks"], &["baseline"],
        &["standard"], &["norm"], &["recommended"],
        &["recommendation"], &["recommendations"], &["rule", "for"], &["rule", "about"], &["rules", "for"],
        &["rules", "about"], &["rules", "say"], &["rule", "of", "thumb"], &["criteria"], &["criterion"],
        &["requirement"], &["requirements"], &["compliance"], &["soc2"], &["soc"], &["iso"], &["pci"],
        &["hipaa"], &["gdpr"], &["nist"], &["cis"], &["auditor"], &["auditors"], &["controls"],
        &["iso", "27001"],
    ]),
    cue(6, &[
        &["allowed"], &["permitted"], &["forbidden"], &["acceptable"], &["tolerable"], &["mandatory"],
        &["required"], &["ok", "to"], &["okay", "to"], &["fine", "to"], &["safe", "to"], &["is", "it", "ok"],
        &["is", "it", "okay"], &["is", "that", "ok"], &["legitimate"], &["justified"], &["exempt"],
        &["exception"], &["exceptions"], &["who", "has", "to"], &["who", "must"], &["who", "may"],
        &["who", "can", "approve"], &["sign", "off"], &["sign", "it", "off"], &["sign", "that", "off"],
        &["approval", "needed"], &["need", "approval"], &["needs", "approval"], &["prove"], &["proves"],
        &["as", "proof"], &["as", "evidence"],
    ]),
    cue(5, &[
        &["vs"], &["versus"], &["compared", "to"], &["better", "than"], &["is", "it", "better"],
        &["instead", "of"], &["pros", "and", "cons"],
    ]),
    cue(4, &[
        &["what", "happens", "if"], &["what", "happens", "when"], &["what", "would", "happen"],
        &["how", "does"], &["how", "do", "you"], &["how", "is", "it", "decided"], &["what", "makes"],
        &["in", "general"], &["generally"], &["normally"], &["typically"], &["as", "a", "rule"],
        &["reason", "for"], &["reason", "behind"], &["rationale"], &["purpose", "of"], &["point", "of"],
        &["what", "kind", "of"], &["what", "exactly"], &["how", "come"], &["how", "long", "do", "we"],
        &["how", "long", "must"], &["how", "long", "should"], &["in", "plain", "words"], &["beginner"],
        &["advice"], &["tips"],
    ]),
    cue(1, &[&["how", "often"]]), cue(2, &[&["tell", "me", "about"], &["is", "needed"], &["are", "needed"]]),
    cue(6, &[
        &["read", "about"], &["documented"], &["written", "down"], &["which", "control"], &["what", "control"],
        &["under", "which", "conditions"],
    ]),
    cue(-6, &[
        &["find", "out", "which"], &["find", "out", "what"], &["find", "out", "who"],
        &["find", "out", "whether"], &["find", "out", "if"], &["see", "which"], &["see", "what"],
        &["check", "whether"], &["check", "if"], &["tell", "which"], &["know", "which"], &["know", "whether"],
    ]),
    cue(-5, &[
        &["do", "we", "have"], &["have", "we", "got"], &["are", "there"], &["is", "there"],
        &["is", "anything"], &["is", "anyone"], &["is", "any"], &["are", "any"], &["does", "any"],
        &["does", "anything"], &["do", "any"], &["has", "any"], &["have", "any"], &["is", "something"],
        &["can", "anyone"], &["can", "somebody"], &["can", "someone"], &["can", "anybody"],
        &["could", "anyone"], &["how", "many"], &["how", "much"], &["is", "everything"], &["are", "all"],
        &["how", "late"], &["how", "old"],
    ]),
    cue(-4, &[&["which"], &["whose"], &["who"], &["where"], &["any"]]),
    cue(-3, &[
        &["right", "now"], &["now"], &["today"], &["currently"], &["at", "the", "moment"], &["tonight"],
        &["still"], &["yet"], &["lately"], &["recently"], &["this", "week"], &["this", "month"],
        &["last", "week"], &["last", "month"], &["so", "far"], &["at", "present"], &["already"],
        &["yesterday"], &["overnight"],
    ]),
    cue(-3, &[&["our"], &["my"], &["we"], &["us"], &["in", "production"], &["in", "prod"]]),
    cue(-4, SUPERLATIVES),
];

/// Returns whether the clause asks for the first items of a ranking by number: "top 5 orders", "the ten oldest
/// volumes".
pub(super) fn ranks(words: &[Token]) -> bool {
    let counts = |token: &Token| {
        token.word.parse::<u32>().is_ok() || token.is_any(&["three", "five", "ten", "twenty"])
    };
    let orders = |token: &Token| SUPERLATIVES.iter().any(|phrase| token.is_any(phrase));
    words
        .windows(2)
        .any(|pair| orders(&pair[0]) && counts(&pair[1]) || counts(&pair[0]) && orders(&pair[1]))
}

/// Returns the topic of a question, with its score.
pub(super) fn topic(words: &[Token], asks: bool) -> (Topic, i32) {
    let mut sum = 0;
    for Cue { weight, phrases } in ANYWHERE {
        if phrases.iter().any(|phrase| holds(words, phrase)) {
            sum += weight;
        }
    }
    sum += deontic(words) + interrogative(words) + generic(words) + specific(words);
    if asks
        && holds(words, &["right"])
        && words.last().is_some_and(|last| last.is("right"))
        && deontic(words) > 0
    {
        sum += 2;
    }
    let topic = match sum {
        DECIDED.. => Topic::Rule,
        sum if sum <= -DECIDED => Topic::State,
        _ => Topic::Open,
    };
    (topic, sum)
}

/// Returns whether a clause asks if an earlier statement is true: "is he right?"
pub(super) fn verifies(words: &[Token]) -> bool {
    let told = words.get(1).is_some_and(|subject| {
        subject.is_any(&["he", "she", "that", "it", "this", "they", "there"])
    });
    let held = words.last().is_some_and(|last| {
        last.is_any(&[
            "right",
            "true",
            "correct",
            "so",
            "wrong",
            "case",
            "anything",
            "something",
        ])
    });
    words.first().is_some_and(|first| first.is_any(AUXILIARIES)) && told && held && words.len() <= 6
}

/// Returns whether a clause asks how something is done: "how do I revoke a key".
fn asks_how(words: &[Token]) -> bool {
    let at = words.iter().position(|token| token.is("how"));
    at.is_some_and(|at| {
        let rest = &words[at + 1..];
        let to = rest.first().is_some_and(|next| next.is("to"));
        let modal = rest
            .first()
            .is_some_and(|next| next.is_any(&["do", "can", "could", "should", "would"]));
        to || modal
            && rest
                .get(1)
                .is_some_and(|subject| subject.is_any(&["i", "we", "you", "one"]))
    })
}

/// Returns whether a clause asks if something can be changed: "can vm-31 be restarted". "Can any of them be restarted"
/// asks which.
pub(super) fn asks_whether_possible(words: &[Token]) -> bool {
    let opens = words
        .first()
        .is_some_and(|first| first.is_any(&["can", "could", "may"]));
    let some = words.iter().any(|token| {
        token.is_any(&[
            "any",
            "anything",
            "i",
            "something",
            "we",
            "what",
            "which",
            "you",
        ])
    });
    let passive = words.windows(2).any(|pair| {
        pair[0].is_any(&["be", "get"])
            && !pair[1].word.ends_with("ing")
            && inflected_change(&pair[1].word).is_some()
    });
    opens && passive && !some
}

/// Returns whether a clause asks how a change is made: "how do I restart vm-31".
pub(super) fn asks_how_to_change(words: &[Token]) -> bool {
    asks_how(words)
        && words
            .iter()
            .any(|token| verb_class(&token.word) == Some(VerbClass::Change))
}

/// Returns whether a clause contains a phrase.
pub(super) fn holds(words: &[Token], phrase: &[&str]) -> bool {
    words.windows(phrase.len()).any(|window| {
        window
            .iter()
            .zip(phrase)
            .all(|(token, word)| token.is(word))
    })
}

/// Scores "should I", "must we", "may they": a duty or permission, not a state. "Which hosts must be restarted" asks
/// for hosts.
fn deontic(words: &[Token]) -> i32 {
    let asks_for_things = words
        .first()
        .is_some_and(|first| first.is_any(&["which", "what", "who", "whose"]))
        || holds(words, &["how", "many"])
        || holds(words, &["how", "much"]);
    let passive = words.windows(2).any(|pair| {
        pair[0].is("be") && (pair[1].word.ends_with("ed") || pair[1].word.ends_with("en"))
    });
    if asks_for_things && passive {
        return 0;
    }
    let relative =
        |at: usize| at > 0 && words[at - 1].is_any(&["that", "which", "what", "who"]) && at > 1;
    let modals = words.iter().enumerate().filter(|(at, token)| {
        token.is_any(&["should", "must", "may", "shall", "ought"])
            && words.len() > at + 1
            && !relative(*at)
    });
    if modals.count() > 0 {
        return 6;
    }
    let obliged = words.windows(3).enumerate().any(|(at, three)| {
        three[0].is_any(&["have", "has", "need", "needs"]) && three[1].is("to") && !relative(at)
    });
    // "how often are ranges to be reviewed"
    let passive_duty = words.windows(2).enumerate().any(|(at, pair)| {
        let copula = words[at.saturating_sub(4)..at]
            .iter()
            .any(|token| token.is_any(&["is", "are"]));
        copula && pair[0].is("to") && pair[1].is("be")
    });
    if obliged || passive_duty { 5 } else { 0 }
}

/// Scores the interrogative and the word after it.
fn interrogative(words: &[Token]) -> i32 {
    let Some(at) = words.iter().position(|token| token.is_any(QUESTION_WORDS)) else {
        return 0;
    };
    let rest = &words[at + 1..];
    let next = |list: &[&str]| rest.first().is_some_and(|token| token.is_any(list));
    let after = |at: usize, list: &[&str]| rest.get(at).is_some_and(|token| token.is_any(list));
    let word = words[at].word.as_str();
    match word {
        "why" => 6,
        "how" if next(&["to"]) => 6,
        "how"
            if next(&["do", "can", "should", "could", "would", "shall"])
                && after(1, &["i", "we", "you", "one", "they", "people"]) =>
        {
            6
        }
        "how" if next(&["is", "are", "does"]) => 3,
        // "what is a partner range": a predicate noun without a possessive is defined.
        "what" if next(&["is", "are", "was"]) => match rest.get(1) {
            Some(token)
                if token.is_any(&[
                    "our", "my", "the", "this", "that", "in", "on", "wrong", "left", "still",
                    "new", "it", "there",
                ]) =>
            {
                0
            }
            Some(token) if is_adjective(&token.word) => -2,
            Some(token) if token.is_any(&["a", "an"]) => 7,
            Some(token) if matches!(token.kind, TokenKind::Word) && rest.len() <= 3 => 5,
            Some(_) | None => 0,
        },
        "what" if next(&["does", "do", "did"]) => 3,
        "when" if next(&["do", "does", "may", "can"]) => 8,
        "when" if next(&["is", "are"]) => 4,
        "who" if next(&["approves", "decides", "signs", "reviews"]) => 8,
        _ => 0,
    }
}

/// Returns whether a word looks like an adjective or a participle: "what is public" asks for things, "what is churn"
/// for a meaning.
fn is_adjective(word: &str) -> bool {
    const ENDINGS: [&str; 10] = [
        "ed", "ing", "ic", "al", "able", "ible", "ful", "less", "ous", "ive",
    ];
    word == "open" || word.len() > 4 && ENDINGS.iter().any(|ending| word.ends_with(ending))
}

/// Scores a question about any member of a kind: "can a disk be shrunk", "is 443 to the world ok".
fn generic(words: &[Token]) -> i32 {
    let first = words.first();
    let opens = first.is_some_and(|first| first.is_any(AUXILIARIES));
    let indefinite = opens
        && words
            .get(1)
            .is_some_and(|second| second.is_any(&["a", "an", "one"]));
    let judged = words.last().is_some_and(|last| {
        last.is_any(&[
            "ok",
            "okay",
            "fine",
            "safe",
            "bad",
            "acceptable",
            "allowed",
            "enough",
            "dangerous",
            "wrong",
            "necessary",
            "normal",
            "legal",
        ])
    });
    let permitted = first.is_some_and(|first| first.is_any(&["can", "may", "could"]))
        && words
            .get(1)
            .is_some_and(|second| second.is_any(&["i", "we", "one"]))
        && words
            .get(2)
            .is_some_and(|third| verb_class(&third.word) != Some(VerbClass::Read));
    let gerund = opens
        && words.get(1).is_some_and(|second| {
            second.word.ends_with("ing")
                && second.word.len() > 5
                && !second.is_any(&["anything", "everything", "something", "nothing"])
        });
    let supposed = holds(words, &["if", "i"])
        || holds(words, &["if", "we"])
        || holds(words, &["if", "someone"])
        || holds(words, &["if", "somebody"]);
    let mut sum = 0;
    if indefinite || permitted || gerund {
        sum += 5;
    }
    if opens && judged {
        sum += 5;
    }
    if asks_whether_possible(words) {
        sum += 5;
    }
    if supposed
        && words
            .iter()
            .any(|token| token.is_any(&["would", "will", "may", "must"]))
    {
        sum += 4;
    }
    if first.is_some_and(|first| first.is("would"))
        && !words.get(1).is_some_and(|second| second.is("you"))
    {
        sum += 3;
    }
    sum
}

/// Scores names of single things. They indicate a state, unless the question is how, or whether, they can be changed.
fn specific(words: &[Token]) -> i32 {
    let changes = asks_how_to_change(words) || asks_whether_possible(words);
    if !changes && words.iter().any(Token::names_one) {
        -4
    } else {
        0
    }
}
