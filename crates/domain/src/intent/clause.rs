//! Splits a text into sentences and clauses, by its punctuation and conjunctions.
//!
//! Knows where a clause ends, but not its act.

use std::ops::Range;

use super::token::{Token, TokenKind};
use super::words::{
    AUXILIARIES, DETERMINERS, PARTICLES, PRONOUNS, QUESTION_WORDS, SUBJECTS, VerbClass, verb_class,
};

/// A clause: a part of a sentence with at most one act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    /// The tokens of the clause, without the marks around them.
    pub(super) tokens: Range<usize>,
    /// The index of the sentence.
    pub(super) sentence: usize,
    /// Whether the sentence ends in a question mark.
    pub(super) asks: bool,
    /// The mark or conjunction that joins it to the preceding clause.
    pub(super) joined: Joint,
}

/// The mark or conjunction before a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// None: the clause begins its sentence.
    Start,
    /// A comma, dash or bracket.
    Comma,
    /// A colon.
    Colon,
    /// "and", "then", "so".
    And,
    /// "but".
    But,
}

/// Returns the clauses of a text in order.
pub(super) fn clauses(tokens: &[Token]) -> Vec<Clause> {
    let mut found: Vec<Clause> = Vec::new();
    let mut sentence = 0;
    let mut start = 0;
    let mut joint = Joint::Start;
    let close =
        |start: usize, end: usize, sentence: usize, joined: Joint, found: &mut Vec<Clause>| {
            let is_word = |at: &usize| !matches!(tokens[*at].kind, TokenKind::Mark(_));
            let first = (start..end).find(is_word);
            let last = (start..end).rev().find(is_word);
            if let (Some(first), Some(last)) = (first, last) {
                let asks = false;
                found.push(Clause {
                    tokens: first..last + 1,
                    sentence,
                    asks,
                    joined,
                });
            }
        };
    for (at, token) in tokens.iter().enumerate() {
        let next = match token.kind {
            TokenKind::Mark('.' | '!' | '?' | ';' | '\n' | '…') => Some(Joint::Start),
            TokenKind::Mark(':') => Some(Joint::Colon),
            TokenKind::Mark(',') if is_afterthought(&tokens[at + 1..]) => None,
            TokenKind::Mark(',' | '(' | ')' | '—' | '–' | '-' | '/') => Some(Joint::Comma),
            TokenKind::Word if joins(tokens, start, at) => {
                let joint = if token.is("but") {
                    Joint::But
                } else {
                    Joint::And
                };
                Some(joint)
            }
            TokenKind::Word | TokenKind::Number | TokenKind::Identifier | TokenKind::Mark(_) => {
                None
            }
        };
        let Some(next) = next else { continue };
        close(start, at, sentence, joint, &mut found);
        if token.is_mark('?') {
            let own = found
                .iter_mut()
                .rev()
                .take_while(|clause| clause.sentence == sentence);
            own.for_each(|clause| clause.asks = true);
        }
        if next == Joint::Start {
            sentence += 1;
        }
        start = at + usize::from(!matches!(token.kind, TokenKind::Word));
        // A conjunction belongs to the clause that it opens.
        joint = next;
    }
    close(start, tokens.len(), sentence, joint, &mut found);
    found
}

/// Returns whether the rest of a sentence is only "please".
fn is_afterthought(rest: &[Token]) -> bool {
    let asked = rest
        .first()
        .is_some_and(|first| first.is_any(&["kindly", "please"]));
    asked
        && rest
            .get(1)
            .is_none_or(|next| matches!(next.kind, TokenKind::Mark(mark) if mark != ','))
}

/// Returns whether a clause begins at `at`: with a conjunction before a base-form verb, an interrogative or a subject,
/// or with the subject of a main clause after a subordinate one.
fn joins(tokens: &[Token], start: usize, at: usize) -> bool {
    let after_subordinate = tokens[start].is_any(&[
        "before", "after", "if", "when", "once", "unless", "until", "while", "since",
    ]);
    let wishes = tokens
        .get(at + 1)
        .is_some_and(|next| next.is_any(&["need", "want", "would", "wish"]));
    if after_subordinate && at > start + 2 && tokens[at].is_any(&["i", "we"]) && wishes {
        return true;
    }
    const JOINING: [&str; 4] = ["and", "but", "then", "so"];
    const ADVERBS: [&str; 7] = [
        "then",
        "please",
        "also",
        "just",
        "now",
        "afterwards",
        "finally",
    ];
    if at == start || !tokens[at].is_any(&JOINING) || tokens[at - 1].is_any(&JOINING) {
        return false;
    }
    let rest = tokens.get(at + 1..).unwrap_or_default();
    let adverbs = rest
        .iter()
        .take_while(|token| token.is_any(&ADVERBS))
        .count();
    let mut rest = rest[adverbs..].iter();
    let Some(first) = rest.next() else {
        return false;
    };
    let before = &tokens[start..at];
    let is_command = adverbs > 0 || tokens[at].is("then");
    if !is_command && verb_class(&first.word).is_some() && asks_for_both(before) {
        return false;
    }
    if first.is_any(QUESTION_WORDS) || first.is_any(&["do", "never", "if", "let"]) {
        return true;
    }
    let second = rest.next();
    let follows = |classes: &[&[&str]]| {
        second.is_some_and(|second| {
            second.is_specific() || classes.iter().any(|class| second.is_any(class))
        })
    };
    if first.is_any(SUBJECTS) || first.is_any(AUXILIARIES) {
        return second.is_some_and(|second| matches!(second.kind, TokenKind::Word));
    }
    match verb_class(&first.word) {
        Some(VerbClass::Change | VerbClass::Read | VerbClass::Compose) => {
            let names = rest.as_slice().iter().take(2).any(Token::is_specific);
            follows(&[DETERMINERS, PRONOUNS, PARTICLES])
                || tokens[at].is("then")
                || adverbs > 0
                || names
                || second.is_some_and(|second| second.capital)
        }
        Some(VerbClass::Explain) => true,
        None => false,
    }
}

/// Returns whether a clause is a question that also covers a second verb: "how do I stop it and start it".
fn asks_for_both(clause: &[Token]) -> bool {
    let any = |words: &[&str]| clause.iter().any(|token| token.is_any(words));
    let modals = ["do", "should", "can", "could", "may", "must", "would"];
    let asked = any(QUESTION_WORDS) || any(&modals);
    let modal = any(&modals) || any(&["does", "to"]);
    let polite = clause
        .windows(2)
        .any(|pair| pair[0].is_any(&["can", "could", "would", "will"]) && pair[1].is("you"));
    asked && modal && !polite
}

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        let tokens = tokens(text);
        let words = |clause: Clause| {
            let words: Vec<&str> = tokens[clause.tokens]
                .iter()
                .map(|token| token.word.as_str())
                .collect();
            format!("{}{}", words.join(" "), if clause.asks { "?" } else { "" })
        };
        clauses(&tokens).into_iter().map(words).collect()
    }

    #[test]
    fn clauses_end_at_marks_and_before_conjunctions_that_open_a_clause() {
        assert_eq!(
            cut("Count the hosts and then delete the old ones. Is it safe, Ann?"),
            [
                "count the hosts",
                "and then delete the old ones",
                "is it safe?",
                "ann?"
            ]
        );
        assert_eq!(
            cut("hosts and disks, but not tapes"),
            ["hosts and disks", "but not tapes"]
        );
        assert_eq!(
            cut("it is late, so please stop it"),
            ["it is late", "so please stop it"]
        );
        assert_eq!(cut("(db-7: 0.5, v2.0)"), ["db-7", "0.5", "v2.0"]);
        assert_eq!(cut("?!"), Vec::<String>::new());
    }
}
