//! Splits a text into tokens: words in lower case with expanded contractions, numbers, identifiers, marks.
//!
//! Knows spelling, not meaning. Every token keeps its position in the text.

use std::ops::Range;

/// The maximum number of tokens; the rest of the text is ignored.
pub(super) const MAX_TOKENS: usize = 600;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Letters, with hyphens and apostrophes within.
    Word,
    /// Digits, with a unit or currency sign.
    Number,
    /// Letters or digits joined by signs, as names of resources are: `sg-0a1b`, `0.0.0.0/0`.
    Identifier,
    /// One punctuation character.
    Mark(char),
}

/// A piece of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// The text in lower case; a contraction yields several tokens at one position.
    pub(super) word: String,
    pub(super) kind: TokenKind,
    /// The position in the text, in bytes.
    pub(super) place: Range<usize>,
    /// Whether the first letter is a capital.
    pub(super) capital: bool,
}

impl Token {
    pub(super) fn is(&self, word: &str) -> bool {
        self.word == word
    }

    pub(super) fn is_any(&self, words: &[&str]) -> bool {
        words.contains(&self.word.as_str())
    }

    pub(super) fn is_mark(&self, mark: char) -> bool {
        self.kind == TokenKind::Mark(mark)
    }

    /// Returns whether the token is an identifier or a number.
    pub(super) fn is_specific(&self) -> bool {
        matches!(self.kind, TokenKind::Identifier | TokenKind::Number)
    }

    /// Returns whether the token is an amount of money.
    pub(super) fn is_money(&self) -> bool {
        self.kind == TokenKind::Number && self.word.contains(['€', '$', '£'])
    }

    /// Returns whether the token names one thing, like `vm-31`, `eu-west-1` and `20417`. Names of kinds (`S3`, `IPv6`),
    /// of ranges (`10.0.0.0/8`), of tags (`owner=none`) and small numbers do not.
    pub(super) fn names_one(&self) -> bool {
        const LONG_NUMBER: usize = 4;
        let has = |is: fn(char) -> bool| self.word.chars().any(is);
        match self.kind {
            TokenKind::Number => self.word.len() >= LONG_NUMBER && !self.is_money(),
            TokenKind::Identifier => {
                has(|c| c.is_ascii_digit())
                    && has(char::is_alphabetic)
                    && has(|c| matches!(c, '-' | '_' | '.'))
                    && !self.word.contains('=')
            }
            TokenKind::Word | TokenKind::Mark(_) => false,
        }
    }
}

/// Contractions and chat spellings, with their expansions.
#[rustfmt::skip]
const SPELLINGS: &[(&str, &str)] = &[
    ("ain't", "is not"), ("arent", "are not"), ("can't", "can not"), ("cannot", "can not"),
    ("cant", "can not"), ("cld", "could"), ("couldnt", "could not"), ("coz", "because"), ("cud", "could"),
    ("cuz", "because"), ("didnt", "did not"), ("doesnt", "does not"), ("dont", "do not"),
    ("dunno", "do not know"), ("everyones", "everyone is"), ("gimme", "give me"), ("gonna", "going to"),
    ("gotta", "have to"), ("hasnt", "has not"), ("havent", "have not"), ("hows", "how is"), ("im", "i am"),
    ("isnt", "is not"), ("ive", "i have"), ("lemme", "let me"), ("let's", "let us"), ("lets", "let us"),
    ("plaese", "please"), ("plase", "please"), ("pleae", "please"), ("pleas", "please"), ("pleaze", "please"),
    ("pleese", "please"), ("plese", "please"), ("pls", "please"), ("plz", "please"), ("shan't", "shall not"),
    ("shouldnt", "should not"), ("teh", "the"), ("thats", "that is"), ("theres", "there is"),
    ("theyre", "they are"), ("thnx", "thanks"), ("thx", "thanks"), ("til", "until"), ("tks", "thanks"),
    ("tmrw", "tomorrow"), ("tnx", "thanks"), ("ty", "thanks"), ("u", "you"), ("ur", "your"), ("w/", "with"),
    ("wanna", "want to"), ("wasnt", "was not"), ("wat", "what"), ("wats", "what is"), ("werent", "were not"),
    ("whats", "what is"), ("wheres", "where is"), ("whos", "who is"), ("wich", "which"), ("won't", "will not"),
    ("wont", "will not"), ("wouldnt", "would not"), ("wut", "what"), ("youre", "you are"),
    ("youve", "you have"),
];

/// Endings after an apostrophe, with their expansions.
const ENDINGS: [(&str, &str); 5] = [
    ("'re", "are"),
    ("'ve", "have"),
    ("'ll", "will"),
    ("'d", "would"),
    ("'m", "am"),
];

/// Words after which `'s` means "is" rather than a genitive.
const IS_AFTER: [&str; 13] = [
    "what", "who", "where", "when", "how", "why", "that", "it", "there", "here", "he", "she",
    "which",
];

/// Returns the tokens of a text, including line ends.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
        if !character.is_whitespace() {
            start.get_or_insert(at);
            continue;
        }
        if let Some(from) = start.take() {
            chunk(text, from..at, &mut found);
        }
        if character == '\n' {
            found.push(mark('\n', at));
        }
        if found.len() >= MAX_TOKENS {
            found.truncate(MAX_TOKENS);
            break;
        }
    }
    found
}

/// Tokenises the text between two white spaces: surrounding marks, and the enclosed text.
fn chunk(text: &str, place: Range<usize>, found: &mut Vec<Token>) {
    let chunk = &text[place.clone()];
    if chunk.eq_ignore_ascii_case("w/") {
        return word(chunk, place, found);
    }
    let inside = |c: char| c.is_alphanumeric();
    let (Some(first), Some(last)) = (chunk.find(inside), chunk.rfind(inside)) else {
        // `::/0` has a digit and is an identifier; only signs and emoji remain here.
        found.extend(
            chunk
                .char_indices()
                .map(|(at, c)| mark(c, place.start + at)),
        );
        return;
    };
    let address = chunk[..first].find("::");
    let first = address.unwrap_or(first);
    let last = last + chunk[last..].chars().next().map_or(1, char::len_utf8);
    // A unit or an ending belongs to the preceding number.
    let unit = chunk[last..].chars().next().filter(|c| is_unit(*c));
    let last = last + unit.map_or(0, char::len_utf8);
    let before = chunk[..first].char_indices();
    found.extend(before.map(|(at, c)| mark(c, place.start + at)));
    let inner = place.start + first..place.start + last;
    body(&text[inner.clone()], inner, found);
    let after = chunk[last..].char_indices();
    found.extend(after.map(|(at, c)| mark(c, place.start + last + at)));
}

fn is_unit(c: char) -> bool {
    matches!(c, '€' | '$' | '£' | '%')
}

fn mark(c: char, at: usize) -> Token {
    Token {
        word: c.to_string(),
        kind: TokenKind::Mark(c),
        place: at..at + c.len_utf8(),
        capital: false,
    }
}

/// Tokenises a chunk without its surrounding marks.
fn body(chunk: &str, place: Range<usize>, found: &mut Vec<Token>) {
    let joins = |c: char| matches!(c, '\'' | '’' | '-');
    if chunk.chars().all(|c| c.is_alphabetic() || joins(c)) {
        return word(chunk, place, found);
    }
    // Two words with a sign between them and no digit: `and/or`, `yet.First`, `done,now`.
    let parts = |c: char| {
        matches!(
            c,
            '/' | ',' | '.' | '…' | '?' | '!' | '—' | '–' | '(' | ')' | ':'
        )
    };
    let worded = |c: char| c.is_alphabetic() || joins(c) || parts(c);
    let is_name = chunk.contains('.') && chunk == chunk.to_lowercase();
    if chunk.chars().all(worded) && !is_name {
        let mut from = 0;
        for (at, c) in chunk.char_indices().filter(|(_, c)| parts(*c)) {
            if at > from {
                word(
                    &chunk[from..at],
                    place.start + from..place.start + at,
                    found,
                );
            }
            found.push(mark(c, place.start + at));
            from = at + c.len_utf8();
        }
        return word(&chunk[from..], place.start + from..place.end, found);
    }
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',') || is_unit(c);
    let kind = if chunk.chars().all(is_number) {
        TokenKind::Number
    } else {
        TokenKind::Identifier
    };
    found.push(Token {
        word: chunk.to_lowercase(),
        kind,
        place,
        capital: chunk.starts_with(char::is_uppercase),
    });
}

/// Tokenises a word, or the expansion of a contraction.
fn word(written: &str, place: Range<usize>, found: &mut Vec<Token>) {
    let capital = written.starts_with(char::is_uppercase);
    let lower = written.to_lowercase().replace('’', "'");
    let mut push = |word: &str| {
        found.push(Token {
            word: word.to_owned(),
            kind: TokenKind::Word,
            place: place.clone(),
            capital,
        });
    };
    if let Ok(at) = SPELLINGS.binary_search_by(|(spelling, _)| (*spelling).cmp(lower.as_str())) {
        return SPELLINGS[at].1.split(' ').for_each(push);
    }
    if let Some(verb) = lower.strip_suffix("n't") {
        push(verb);
        return push("not");
    }
    for (ending, verb) in ENDINGS {
        if let Some(subject) = lower.strip_suffix(ending) {
            push(subject);
            return push(verb);
        }
    }
    if let Some(noun) = lower.strip_suffix("'s") {
        push(noun);
        if IS_AFTER.contains(&noun) {
            push("is");
        }
        return;
    }
    push(lower.trim_matches(['\'', '-']));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|token| token.word).collect()
    }

    #[test]
    fn the_spellings_are_sorted_so_that_every_one_is_found() {
        assert!(SPELLINGS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn contractions_are_expanded_and_identifiers_stay_whole() {
        assert_eq!(words("Don't, pls!"), ["do", "not", ",", "please", "!"]);
        assert_eq!(words("what’s Ann's role"), ["what", "is", "ann", "role"]);
        assert_eq!(
            words("db-77 at 10.0.0.0/8 costs 7.50€ (::/0)"),
            [
                "db-77",
                "at",
                "10.0.0.0/8",
                "costs",
                "7.50€",
                "(",
                "::/0",
                ")"
            ]
        );
        assert_eq!(
            words("yet.First and/or"),
            ["yet", ".", "first", "and", "/", "or"]
        );
    }

    #[test]
    fn every_token_keeps_its_place() {
        let text = "It’s «vol-9», ok?\n";
        for token in tokens(text) {
            assert!(text.is_char_boundary(token.place.start) && token.place.end <= text.len());
        }
        let last = tokens(text).pop();
        assert_eq!(last.map(|token| token.kind), Some(TokenKind::Mark('\n')));
    }

    #[test]
    fn a_long_text_is_read_up_to_its_bound() {
        assert_eq!(tokens(&"a ".repeat(MAX_TOKENS * 2)).len(), MAX_TOKENS);
    }
}
