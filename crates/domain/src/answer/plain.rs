//! Converts a model's texts to the form in which they are shown: plain, on one line. Must not know citations.

use charter_contract::bounds::ANALYSIS_SENTENCE;

use super::claims::spaced;
use super::unfit::Unfit;

/// Returns a text in the form in which it is shown, on one line.
///
/// # Errors
/// For a text with active markup or invisible characters, which a reader would not see as written.
pub(super) fn readable(text: &str) -> Result<String, Unfit> {
    let text = spaced(text);
    if text.is_empty() {
        return Err(Unfit::Unreadable("it is empty"));
    }
    if text.len() > ANALYSIS_SENTENCE {
        return Err(Unfit::Unreadable("it is too long for a sentence"));
    }
    if text.contains(is_unseen) {
        return Err(Unfit::Unreadable("it has invisible characters"));
    }
    let mut tags = text.match_indices('<');
    let is_tag = tags.any(|(at, _)| {
        let next = text[at + 1..].chars().next();
        next.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
    });
    if is_tag || text.contains("](") {
        return Err(Unfit::Unreadable("it has markup"));
    }
    Ok(without_mark_before(&text).to_owned())
}

/// Removes the mark of a heading or a list item from the beginning of a text.
fn without_mark_before(text: &str) -> &str {
    let bare = text.trim_start_matches('#');
    if bare.len() < text.len() && bare.starts_with(' ') {
        return bare.trim_start();
    }
    let mut marks = ["- ", "* "].iter();
    let bare = marks.find_map(|mark| text.strip_prefix(mark));
    bare.unwrap_or(text)
}

/// Removes the emphasis and code marks that models write, and keeps the marked text.
///
/// # Errors
/// For a text that consists only of marks.
pub(super) fn unmarked(text: &str) -> Result<String, Unfit> {
    let mut plain = text.to_owned();
    // A mark without its counterpart is ordinary text.
    for mark in ["**", "`"] {
        if plain.matches(mark).count() % 2 == 0 {
            plain = plain.replace(mark, "");
        }
    }
    match plain.trim() {
        "" => Err(Unfit::Unreadable("it is empty")),
        plain => Ok(plain.to_owned()),
    }
}

/// Returns whether a character is a control character, or an invisible one that changes how others are displayed.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
