//! Texts and parts of the context that the offline roles read, and the texts that they write.

use std::collections::BTreeSet;

use serde_json::Value;

/// Longest text of an answer, in characters.
const LONGEST: usize = 6_000;
/// Shortest sentence that is meaningful by itself, in characters.
const SHORTEST: usize = 20;

/// Returns a text of an object; empty if absent.
pub(super) fn text(of: &Value, name: &str) -> String {
    of[name].as_str().unwrap_or_default().to_owned()
}

/// Returns a list of an object; empty if absent.
pub(super) fn list<'v>(of: &'v Value, name: &str) -> &'v [Value] {
    of.get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns the texts of a list.
pub(super) fn texts(of: &Value, name: &str) -> Vec<String> {
    let texts = list(of, name).iter().filter_map(Value::as_str);
    texts.map(ToOwned::to_owned).collect()
}

/// Returns the words of a text that count when texts are compared.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.chars().count() > 2)
        .map(str::to_lowercase)
        .collect()
}

/// Returns the sentences of a text. Very short ones are left out unless there are no others.
pub(super) fn sentences(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut begun = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        begun.push(letter);
        // A period inside a word, an address or a number ends no sentence.
        let ends = match letter {
            '\n' => true,
            '.' | '!' | '?' => letters.peek().is_none_or(|next| next.is_whitespace()),
            _ => false,
        };
        if ends {
            all.push(in_one_line(&std::mem::take(&mut begun)));
        }
    }
    all.push(in_one_line(&begun));
    all.retain(|sentence| !sentence.is_empty());
    let (long, short): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|sentence| sentence.chars().count() > SHORTEST);
    if long.is_empty() { short } else { long }
}

/// Normalises the white space of a text.
pub(super) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text with the punctuation of a sentence.
pub(super) fn sentence(text: &str) -> String {
    let text = in_one_line(text);
    if text.is_empty() || text.ends_with(['.', '!', '?', '…', ':']) {
        text
    } else {
        format!("{text}.")
    }
}

/// `2 findings`, `1 finding`.
pub(super) fn counted(number: usize, of: &str) -> String {
    match number {
        1 => format!("1 {of}"),
        number if of.ends_with('s') => format!("{number} {of}"),
        number => format!("{number} {of}s"),
    }
}

/// Bounds a whole answer.
pub(super) fn bounded(text: &str) -> String {
    cut(text, LONGEST)
}

/// Returns at most this many characters, with an ellipsis if there were more.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
