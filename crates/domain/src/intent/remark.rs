//! Texts that request nothing from the catalogue: greetings, jokes, talk about the system itself, attempts to instruct
//! it, pasted records.
//!
//! Expressives and phatic talk (Searle; Malinowski) use formulas, so a list of formulas finds them.

use super::token::{Token, TokenKind};
use super::topic::holds;
use super::words::{EMPTY_WORDS, OPENERS, QUESTION_WORDS, RUN_VERBS};

/// The reason why a text requests nothing that skills, playbooks or lenses cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remark {
    /// A greeting, thanks, laughter.
    Chat,
    /// A joke, or a request for one.
    Joke,
    /// A question about this system: its abilities, model, console or documents.
    AboutSystem,
    /// A mention of something that other systems may have too: guardrails, a console, an API key.
    NamesSystem,
    /// A question about requests, runs or approvals.
    AboutRuns,
    /// An attempt to instruct the system, or to change its role.
    Instruction,
    /// Only log records.
    Pasted,
    /// A reference to an earlier text that does not exist.
    FollowUp,
    /// A prohibition without a request.
    Forbids,
    /// A statement without a request.
    Statement,
    /// No content.
    Empty,
}

impl Remark {
    /// Returns the reason, for people.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Chat => "it is a greeting, thanks or small talk",
            Self::Joke => "it is a joke, or asks for one",
            Self::AboutSystem | Self::NamesSystem => "it is about this system itself",
            Self::AboutRuns => "it is about requests, runs or approvals",
            Self::Instruction => "it tries to instruct the system",
            Self::Pasted => "it is pasted output without a question",
            Self::FollowUp => "it refers to an earlier message",
            Self::Forbids => "it only forbids something",
            Self::Statement => "it makes a statement and asks for nothing",
            Self::Empty => "it is empty",
        }
    }
}

type Phrases = &'static [&'static [&'static str]];

#[rustfmt::skip]
const JOKES: Phrases = &[
    &["joke"], &["jokes"], &["knock", "knock"], &["cross", "the", "road"], &["walks", "into", "a", "bar"],
    &["walked", "into", "a", "bar"], &["funny", "story"], &["make", "me", "laugh"], &["riddle"], &["pun"],
    &["poem"], &["limerick"], &["haiku"], &["bedtime", "story"],
];

#[rustfmt::skip]
const INSTRUCTIONS: Phrases = &[
    &["system", "prompt"], &["your", "prompt"], &["your", "instructions"], &["your", "rules"],
    &["previous", "instructions"], &["prior", "instructions"], &["above", "instructions"],
    &["all", "instructions"], &["developer", "mode"], &["admin", "mode"], &["god", "mode"], &["jailbreak"],
    &["repeat", "after", "me"], &["you", "are", "now"], &["from", "now", "on", "you"],
    &["new", "instructions"], &["pretend", "to", "be"], &["pretend", "that"], &["pretend", "you"],
    &["act", "as", "if"], &["role", "play"], &["roleplay"], &["ignore", "the", "rules"], &["ignore", "all"],
    &["ignore", "everything"], &["ignore", "your"], &["forget", "everything"], &["forget", "your"],
    &["disregard", "your"], &["disregard", "all"], &["disregard", "the"], &["override", "your"],
    &["you", "must", "obey"], &["your", "guidelines"], &["hidden", "instructions"],
];

/// Nouns for parts of this system that have few other meanings.
#[rustfmt::skip]
const SYSTEM_NOUNS: Phrases = &[
    &["charter"], &["guardrail"], &["guardrails"], &["playbook"], &["playbooks"], &["api", "key"],
    &["api", "keys"], &["the", "console"], &["webhook"], &["webhooks"], &["mcp"], &["a2a"],
    &["routing", "test"], &["routing", "tests"], &["this", "tool"], &["this", "bot"], &["this", "assistant"],
    &["this", "system"], &["this", "chat"], &["your", "documentation"], &["expert", "graph"],
    &["my", "session"], &["this", "session"], &["my", "password"], &["log", "in", "to"], &["log", "into"],
    &["sign", "in", "to"], &["sign", "into"],
];

#[rustfmt::skip]
const RUN_NOUNS: Phrases = &[
    &["my", "approval"], &["my", "approvals"], &["my", "request"], &["my", "requests"], &["my", "run"],
    &["my", "runs"], &["pending", "approvals"], &["pending", "approval"], &["which", "approvals"],
    &["what", "approvals"], &["open", "approvals"], &["any", "approvals"], &["approvals", "are"],
    &["approval", "queue"], &["approved", "it", "yet"], &["approved", "my"], &["approved", "that"],
    &["the", "last", "run"], &["last", "run"], &["latest", "run"], &["previous", "run"], &["run", "finished"],
    &["run", "fail"], &["run", "failed"], &["run", "status"], &["the", "run"], &["this", "run"],
    &["that", "run"], &["runs", "are"], &["waiting", "for", "approval"], &["awaiting", "approval"],
    &["waits", "for", "approval"], &["go", "through"], &["gone", "through"], &["been", "approved"],
    &["been", "rejected"], &["been", "executed"], &["been", "carried", "out"], &["the", "last", "change"],
    &["waiting", "for", "me", "to", "approve"], &["audit", "log"], &["who", "approved"], &["who", "confirmed"],
];

/// Complete texts of small talk, without their opening words.
#[rustfmt::skip]
const CHAT: Phrases = &[
    &["good", "morning"], &["good", "afternoon"], &["good", "evening"], &["good", "night"],
    &["how", "are", "you"], &["how", "is", "it", "going"], &["how", "are", "things"], &["what", "is", "up"],
    &["nice", "to", "meet", "you"], &["thank", "you"], &["thanks"], &["cheers"], &["well", "done"],
    &["good", "job"], &["great", "job"], &["nice", "work"], &["nice", "one"], &["bye"], &["goodbye"],
    &["see", "you"], &["have", "a", "nice"], &["have", "a", "good"], &["lol"], &["haha"], &["hahaha"],
    &["rofl"], &["lmao"], &["i", "love", "you"], &["you", "are", "the", "best"], &["you", "are", "great"],
    &["you", "are", "awesome"], &["you", "are", "funny"], &["you", "are", "stupid"],
    &["you", "are", "useless"], &["you", "saved"], &["my", "day"], &["happy", "birthday"],
    &["merry", "christmas"], &["congratulations"], &["no", "worries"], &["never", "mind"], &["nevermind"],
    &["long", "time", "no"], &["are", "you", "there"], &["anybody", "there"], &["anyone", "there"], &["hello"],
    &["hi"], &["hey"], &["how", "was", "your"], &["much", "appreciated"], &["i", "am", "bored"],
    &["that", "was", "helpful"], &["that", "helps"], &["good", "bot"], &["cool"], &["awesome"], &["perfect"],
    &["great"], &["nice"], &["test"], &["testing"], &["ping"], &["ha"], &["yay"], &["wow"], &["oops"],
    &["ugh"],
];

/// Filler words that may remain after the formulas are removed.
#[rustfmt::skip]
const CHAT_FILLERS: &[&str] = &[
    "bunch", "lot", "lots", "million", "ton", "much", "very", "day", "weekend", "again", "mate", "bot", "man",
    "everyone", "everybody", "friend", "friends", "buddy", "dude", "doing", "today", "there", "fine", "am",
    "weather", "life", "lovely", "work", "tomorrow", "later", "soon", "monday",
];

/// Words of texts that only refer to an earlier text.
#[rustfmt::skip]
const FOLLOW_UPS: &[&str] = &[
    "yes", "no", "ok", "okay", "sure", "yep", "yeah", "nope", "do", "it", "that", "go", "ahead", "continue",
    "proceed", "confirm", "confirmed", "approve", "approved", "approves", "cancel", "stop", "undo", "again",
    "same", "the", "first", "second", "third", "last", "hold", "on", "wait", "forget", "one", "both", "all",
    "of", "them", "please", "now", "retry", "repeat", "more", "next", "previous", "other", "option", "number",
    "then", "just", "so", "not", "reject", "abort", "exactly", "correct", "right", "fine", "agreed",
    "definitely", "absolutely", "maybe", "later", "never", "mind", "what", "why", "how", "and", "i", "did",
    "say",
];

/// Returns the remark that the formulas of a text show; `None` if the text may be a request. `text` is the whole text;
/// `words` are its tokens without quotations and pasted parts.
pub(super) fn remark(text: &str, words: &[Token]) -> Option<Remark> {
    let has = |phrases: Phrases| phrases.iter().any(|phrase| holds(words, phrase));
    let laughs = text.chars().any(|c| matches!(c, '😂' | '🤣' | '😹' | '😆'));
    if has(INSTRUCTIONS) || closes_a_role(text) {
        return Some(Remark::Instruction);
    }
    if has(JOKES) || laughs && (words.iter().any(|token| token.is("why")) || words.len() <= 4) {
        return Some(Remark::Joke);
    }
    let said: Vec<&Token> = words
        .iter()
        .filter(|token| !matches!(token.kind, TokenKind::Mark(_)))
        .collect();
    if said.is_empty() {
        return Some(
            if text.trim().is_empty() || text.chars().all(|c| !c.is_alphanumeric()) {
                Remark::Empty
            } else {
                Remark::Pasted
            },
        );
    }
    if has(RUN_NOUNS) || said.iter().any(|token| is_id_of_a_run(token)) {
        return Some(Remark::AboutRuns);
    }
    if is_about_system(words) {
        return Some(Remark::AboutSystem);
    }
    if has(SYSTEM_NOUNS) && !runs_playbook(words) {
        return Some(Remark::NamesSystem);
    }
    let follows = said.iter().all(|token| token.is_any(FOLLOW_UPS));
    if follows && said.len() <= 6 {
        return Some(Remark::FollowUp);
    }
    is_chat(words).then_some(Remark::Chat)
}

/// Returns the number of tokens at the beginning that address the system by name: "hey charter, …", "charter: …".
pub(super) fn address(words: &[Token]) -> usize {
    const NAMES: [&str; 3] = ["assistant", "bot", "charter"];
    const GREETINGS: [&str; 8] = ["@", "dear", "hello", "hey", "hi", "ok", "okay", "yo"];
    let greeting = words
        .iter()
        .take_while(|token| token.is_any(&GREETINGS))
        .count();
    let after = greeting + 1;
    let named = words
        .get(greeting)
        .is_some_and(|token| token.is_any(&NAMES));
    let marked = words
        .get(after)
        .is_some_and(|token| token.is_any(&[",", ":", "!", "-", "–", "—"]));
    let more = words
        .iter()
        .skip(after)
        .any(|token| token.kind == TokenKind::Word);
    if named && more && (marked || greeting > 0) {
        after + usize::from(marked)
    } else {
        0
    }
}

/// Returns whether the text orders to run a playbook by its title: "run the playbook Restart a host on vm-31".
fn runs_playbook(words: &[Token]) -> bool {
    let orders = words.windows(2).enumerate().any(|(at, pair)| {
        pair[0].is_any(RUN_VERBS)
            && !pair[1].is_any(&["a", "any"])
            && words[at + 1..]
                .iter()
                .take(3)
                .any(|token| token.is("playbook"))
    });
    let last = words.last().is_some_and(|last| last.is("playbook"));
    let asks = words
        .iter()
        .any(|token| token.is_any(QUESTION_WORDS) || token.is_any(&["never", "not"]));
    orders && !last && !asks
}

/// Markup that separates the parts of a prompt: a text with it imitates another role.
fn closes_a_role(text: &str) -> bool {
    const MARKUP: [&str; 8] = [
        "<system",
        "</system",
        "</user",
        "</query",
        "<|im_",
        "[inst]",
        "### instruction",
        "<assistant",
    ];
    let lower = text.to_lowercase();
    MARKUP.iter().any(|markup| lower.contains(markup))
}

fn is_id_of_a_run(token: &Token) -> bool {
    token.kind == TokenKind::Identifier
        && ["run-", "apr-", "req-", "mission-"]
            .iter()
            .any(|prefix| token.word.starts_with(prefix))
        && token.word.len() > 12
}

/// Returns whether a text has formulas of small talk and no subject.
fn is_chat(words: &[Token]) -> bool {
    let mut left = vec![true; words.len()];
    let mut any = false;
    for phrase in CHAT {
        for at in 0..words.len().saturating_sub(phrase.len() - 1) {
            if words[at..]
                .iter()
                .zip(*phrase)
                .all(|(token, word)| token.is(word))
            {
                left[at..at + phrase.len()].fill(false);
                any = true;
            }
        }
    }
    let content = words.iter().zip(&left).filter(|(token, left)| {
        **left
            && !matches!(token.kind, TokenKind::Mark(_))
            && !token.is_any(EMPTY_WORDS)
            && !token.is_any(OPENERS)
            && !token.is_any(CHAT_FILLERS)
    });
    any && content.count() == 0
}

/// Returns whether the text asks the system about itself: "what can you do", "which languages do you speak".
fn is_about_system(words: &[Token]) -> bool {
    #[rustfmt::skip]
    const ABOUT: Phrases = &[
        &["who", "are", "you"], &["what", "are", "you"], &["are", "you", "able"], &["are", "you", "a"],
        &["are", "you", "an"], &["are", "you", "real"], &["are", "you", "human"], &["are", "you", "using"],
        &["can", "you", "only"], &["are", "you", "capable"], &["are", "you", "allowed"],
        &["what", "can", "you"], &["what", "else", "can", "you"], &["what", "do", "you", "do"],
        &["what", "do", "you", "know"], &["what", "you", "can", "do"], &["what", "can", "i", "ask"],
        &["what", "could", "i", "ask"], &["what", "may", "i", "ask"], &["how", "do", "you", "work"],
        &["how", "do", "i", "use", "you"], &["how", "were", "you"], &["who", "made", "you"],
        &["who", "built", "you"], &["who", "created", "you"], &["do", "you", "speak"],
        &["do", "you", "understand"], &["do", "you", "support"], &["do", "you", "know", "everything"],
        &["do", "you", "remember"], &["do", "you", "store"], &["do", "you", "learn"],
        &["you", "running", "on"], &["you", "run", "on"], &["you", "trained"], &["your", "name"],
        &["your", "model"], &["your", "version"], &["about", "yourself"], &["introduce", "yourself"],
        &["your", "capabilities"], &["your", "limits"], &["you", "based", "on"], &["which", "languages"],
        &["what", "languages"], &["can", "you", "speak"], &["your", "purpose"],
    ];
    ABOUT.iter().any(|phrase| holds(words, phrase))
}
