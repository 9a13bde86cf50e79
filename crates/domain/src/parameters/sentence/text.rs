//! A text as words, with the gaps between them.
//!
//! Knows of parameters only the words of their names, so that `profile:prod` is two words and `10:30` is one.

use std::collections::HashSet;
use std::ops::Range;

use charter_contract::bounds::SENTENCE_BYTES;

use super::numbers;

/// The maximum length of a word whose form is examined, in bytes.
const LONGEST_WORD: usize = 512;

/// The maximum length of a quotation that is a single value, in bytes.
const LONGEST_QUOTE: usize = 400;

/// One word.
#[derive(Debug, Clone)]
pub(super) struct Word<'t> {
    /// The word as written, without the surrounding punctuation.
    pub(super) text: &'t str,
    /// The word in lower case.
    pub(super) lower: String,
    /// The text between the preceding word and this one.
    pub(super) before: &'t str,
    /// The position of its start, in bytes.
    pub(super) start: usize,
    /// The quotation that contains it.
    pub(super) quote: Option<usize>,
}

/// A text as words.
#[derive(Debug)]
pub(super) struct Sentence<'t> {
    text: &'t str,
    words: Vec<Word<'t>>,
    quotes: Vec<Range<usize>>,
    after: &'t str,
    /// Whether it is written only in capitals.
    capitals: bool,
}

impl<'t> Sentence<'t> {
    /// Splits the part of a text that is searched. `names` are lower-case words that a colon ends.
    pub(super) fn new(text: &'t str, names: &HashSet<String>) -> Self {
        let text = prefix(text, SENTENCE_BYTES);
        let quotes = quotations(text);
        let mut sentence = Self {
            text,
            words: Vec::new(),
            quotes,
            after: text,
            capitals: false,
        };
        for range in chunks(text, names) {
            sentence.push(range);
        }
        let mut words = sentence.words.iter();
        sentence.capitals = !text.contains(char::is_lowercase)
            && words.any(|word| word.text.chars().all(char::is_uppercase));
        sentence
    }

    fn push(&mut self, range: Range<usize>) {
        let Some(range) = trimmed(self.text, range) else {
            return;
        };
        let end = self
            .words
            .last()
            .map_or(0, |word| word.start + word.text.len());
        let text = self.text.get(range.clone()).unwrap_or_default();
        let begun = self
            .quotes
            .partition_point(|quote| quote.start <= range.start);
        let last = begun.checked_sub(1);
        let quote = last.filter(|at| {
            self.quotes
                .get(*at)
                .is_some_and(|quote| quote.contains(&range.start))
        });
        self.words.push(Word {
            text,
            lower: text.to_lowercase(),
            before: self.text.get(end..range.start).unwrap_or_default(),
            start: range.start,
            quote,
        });
        self.after = self.text.get(range.end..).unwrap_or_default();
    }

    /// Returns the number of words.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns a word by its index.
    pub(super) fn word(&self, at: usize) -> Option<&Word<'t>> {
        self.words.get(at)
    }

    /// Returns a word in lower case, or an empty text beyond the end.
    pub(super) fn lower(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| word.lower.as_str())
    }

    /// Returns a word as written, or an empty text beyond the end.
    pub(super) fn written(&self, at: usize) -> &'t str {
        self.words.get(at).map_or("", |word| word.text)
    }

    /// Returns a word in lower case, if the whole text is written in capitals.
    pub(super) fn in_small_letters(&self, at: usize) -> Option<&str> {
        let word = self.words.get(at).filter(|_| self.capitals)?;
        Some(word.lower.as_str())
    }

    /// Returns the text before a word, or after the last one.
    pub(super) fn gap(&self, at: usize) -> &'t str {
        self.words.get(at).map_or(self.after, |word| word.before)
    }

    /// Returns whether at most white space separates a word from the preceding one.
    pub(super) fn joins(&self, at: usize) -> bool {
        at > 0 && at < self.len() && self.gap(at).chars().all(|c| c == ' ' || c == '\t')
    }

    /// Returns whether a sentence or clause ends before a word: at the end, or by punctuation other than quotes.
    pub(super) fn breaks(&self, at: usize) -> bool {
        at >= self.len()
            || self.gap(at).contains([
                ',', ';', '.', '!', '?', ':', '(', ')', '\n', '–', '—', '。', '，', '！', '？',
            ])
    }

    /// Returns whether a sentence begins with a word.
    pub(super) fn begins(&self, at: usize) -> bool {
        at == 0
            || self
                .gap(at)
                .contains(['.', '!', '?', '\n', ':', ';', '。', '！', '？'])
    }

    /// Returns whether this phrase begins at a position, with only white space between its words.
    pub(super) fn has(&self, at: usize, phrase: &[&str]) -> bool {
        let mut words = phrase.iter().enumerate();
        words.all(|(nth, word)| self.lower(at + nth) == *word && (nth == 0 || self.joins(at + nth)))
    }

    /// Returns the number of words of the first of these phrases that begins at a position.
    pub(super) fn one_of(&self, at: usize, phrases: &[&[&str]]) -> Option<usize> {
        let found = phrases.iter().find(|phrase| self.has(at, phrase));
        found.map(|phrase| phrase.len())
    }

    /// Returns whether one of these phrases ends right before a position.
    pub(super) fn preceded(&self, at: usize, phrases: &[&[&str]]) -> bool {
        self.joins(at)
            && phrases.iter().any(|phrase| {
                let start = at.checked_sub(phrase.len());
                start.is_some_and(|start| self.has(start, phrase))
            })
    }

    /// Returns the quotation that begins with a word, with its number of words.
    pub(super) fn quotation(&self, at: usize) -> Option<(&'t str, usize)> {
        let quote = self.word(at)?.quote?;
        let begins = at == 0
            || self
                .word(at - 1)
                .is_none_or(|before| before.quote != Some(quote));
        let inside = self.words.iter().skip(at);
        let words = inside.take_while(|word| word.quote == Some(quote)).count();
        let text = self.text.get(self.quotes.get(quote)?.clone())?.trim();
        (begins && !text.is_empty()).then_some((text, words))
    }

    /// Returns the words of a range as written, with the gaps between them.
    pub(super) fn slice(&self, first: usize, count: usize) -> &'t str {
        let last = self.word((first + count).saturating_sub(1));
        let end = last.map(|word| word.start + word.text.len());
        let start = self.word(first).map(|word| word.start);
        let (Some(start), Some(end)) = (start, end) else {
            return "";
        };
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns the text after a word.
    pub(super) fn tail(&self, at: usize) -> &'t str {
        let end = self.word(at).map(|word| word.start + word.text.len());
        end.and_then(|end| self.text.get(end..)).unwrap_or_default()
    }

    /// Returns the number of words from a position that begin within this many bytes of the end of the preceding word.
    pub(super) fn words_within(&self, from: usize, bytes: usize) -> usize {
        let before = from.checked_sub(1).and_then(|at| self.word(at));
        let end = before.map_or(0, |word| word.start + word.text.len());
        let words = self.words.iter().skip(from);
        words.take_while(|word| word.start < end + bytes).count()
    }

    /// Returns the text from a word to the end of its sentence or line, with its number of words.
    pub(super) fn rest(&self, at: usize) -> (&'t str, usize) {
        let mut end = at + 1;
        while end < self.len() && !self.gap(end).contains(['.', ';', '\n', '!', '?']) {
            end += 1;
        }
        (self.slice(at, end - at), end - at)
    }
}

pub(super) fn prefix(text: &str, limit: usize) -> &str {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Returns whether a character belongs to a script without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

/// Returns the ranges of characters that may be words.
fn chunks(text: &str, names: &HashSet<String>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start: Option<usize> = None;
    let mut before: Option<char> = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let so_far = start
            .and_then(|start| text.get(start..at))
            .unwrap_or_default();
        let inside = belongs(so_far, before, c, next, names);
        let changes = before.is_some_and(|before| is_unspaced(before) != is_unspaced(c));
        if let Some(from) = start
            && (!inside || changes)
        {
            found.extend(parts(text, from..at));
            start = None;
        }
        if inside && start.is_none() {
            start = Some(at);
        }
        before = Some(c);
    }
    found.extend(
        start
            .into_iter()
            .flat_map(|from| parts(text, from..text.len())),
    );
    found
}

/// Returns whether a character continues a word, or may begin one.
fn belongs(
    so_far: &str,
    before: Option<char>,
    c: char,
    next: Option<char>,
    names: &HashSet<String>,
) -> bool {
    let in_link = so_far.contains("://");
    let inner = |kind: fn(&char) -> bool| {
        !so_far.is_empty() && before.as_ref().is_some_and(kind) && next.as_ref().is_some_and(kind)
    };
    let is_letter = |c: &char| c.is_alphanumeric();
    match c {
        _ if c.is_alphanumeric() => true,
        '_' | '-' | '/' | '\\' | '@' | '#' | '+' | '%' | '~' | '.' | '*' | '&' => true,
        '€' | '$' | '£' | '¥' | '₹' => true,
        ',' => inner(char::is_ascii_digit),
        '\'' | '’' => inner(is_letter),
        ':' => {
            let closed = next.is_none_or(|next| {
                next.is_whitespace() || matches!(next, '"' | '\'' | '“' | '[' | '{' | '`')
            });
            let name = so_far.trim_start_matches('-').to_lowercase();
            !so_far.is_empty() && so_far.len() < LONGEST_WORD && !closed && !names.contains(&name)
        }
        '=' | '?' => in_link && next.is_some_and(char::is_alphanumeric),
        _ => false,
    }
}

/// Splits a chunk at its commas, if they separate list entries.
fn parts(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let chunk = text.get(range.clone()).unwrap_or_default();
    if !chunk.contains(',') || numbers::is_written_number(chunk) {
        return vec![range];
    }
    let mut parts = Vec::new();
    let mut start = range.start;
    for part in chunk.split(',') {
        parts.push(start..start + part.len());
        start += part.len() + 1;
    }
    parts
}

/// Returns a chunk without the surrounding punctuation; `None` if it is only punctuation.
fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let chunk = text.get(range.clone())?;
    if !chunk
        .contains(|c: char| c.is_alphanumeric() || matches!(c, '€' | '$' | '£' | '¥' | '₹' | '%'))
    {
        return None;
    }
    let after = chunk.trim_start_matches(['*', '\'', '’', '&', '+', ',']);
    let after = match after.trim_start_matches(['-', '.']) {
        bare if bare.len() == after.len() => after,
        // A sign of a number, or a relative path.
        bare if bare.starts_with(|c: char| c.is_ascii_digit()) && after.len() == bare.len() + 1 => {
            after
        }
        bare if bare.starts_with('/') && after.starts_with('.') => after,
        bare => bare,
    };
    let start = range.start + (chunk.len() - after.len());
    let word = after.trim_end_matches(['.', ':', ',', '-', '\'', '’', '*', '&']);
    let word = ["'s", "’s"]
        .iter()
        .find_map(|own| word.strip_suffix(own))
        .unwrap_or(word);
    (!word.is_empty()).then(|| start..start + word.len())
}

/// Returns the ranges between quotation marks, in bytes.
fn quotations(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let opens = match c {
            '"' | '`' | '“' | '„' | '«' => true,
            '\'' | '‘' => !before.is_alphanumeric(),
            _ => false,
        };
        let begins = at + c.len_utf8();
        if opens
            && at >= from
            && let Some(length) = closed_after(c, text.get(begins..).unwrap_or_default())
        {
            found.push(begins..begins + length);
            from = begins + length + 1;
        }
        before = c;
    }
    found
}

/// Returns the length of a quotation after its opening mark.
fn closed_after(opening: char, text: &str) -> Option<usize> {
    let closes = |c: char| match opening {
        '“' | '„' => matches!(c, '”' | '“'),
        '«' => c == '»',
        '‘' => c == '’',
        other => c == other,
    };
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let within = chars.peek().is_some_and(|(_, next)| next.is_alphanumeric());
        let apostrophe = matches!(opening, '\'' | '‘') && within;
        if at > LONGEST_QUOTE || c == '\n' {
            return None;
        }
        if closes(c) && !apostrophe {
            return (at > 0).then_some(at);
        }
    }
    None
}
