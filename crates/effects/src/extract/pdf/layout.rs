//! Converts positioned letters to text: words of letters that touch, lines along the pen's movement, columns in
//! sequence.
//!
//! The order is that of the content, which mostly is the reading order; columns that were written side by side, line by
//! line, are separated ([`columns`]). Must not know fonts or files.

mod accents;
mod columns;
mod direction;
mod pieces;

use pieces::Piece;

use super::content::Shown;

/// The distance along a line, in ems, above which letters belong to two words.
const WORD_GAP: f64 = 0.12;
/// The distance across a line, in ems, above which two letters are on different lines. An exponent rises less.
const LINE_SHIFT: f64 = 0.6;
/// How far back, in ems, the next letter of a line may begin.
const OVERLAP: f64 = 0.8;
/// The distance between two lines, in ems, over which a paragraph ends.
const PARAGRAPH_GAP: f64 = 1.9;
/// The distance between two lines, in ems, within which a word can be hyphenated.
const HYPHEN_GAP: f64 = 3.0;

/// Returns the text of a page.
pub(super) fn text(shown: &[Shown]) -> String {
    let pieces = columns::in_reading_order(pieces::cut(shown));
    let mut text = String::new();
    let mut before: Option<&Piece> = None;
    for piece in &pieces {
        if let Some(before) = before {
            join(&mut text, before, piece);
        }
        text.push_str(&piece.text);
        before = Some(piece);
    }
    text
}

/// Writes the separator between two pieces.
fn join(text: &mut String, before: &Piece, after: &Piece) {
    let em = before.em.max(after.em);
    let apart = after.from - before.to;
    let (gap, shift) = (apart.dot(before.along), before.along.cross(apart));
    let same_direction = before.along.dot(after.along) > 0.9;
    if same_direction && shift.abs() <= LINE_SHIFT * em && gap > -OVERLAP * em {
        if gap > WORD_GAP * em && !text.ends_with(char::is_whitespace) {
            text.push(' ');
        }
        return;
    }
    let trimmed = text.trim_end_matches(' ').len();
    text.truncate(trimmed);
    // The distance across the line, downwards.
    let down = -before.along.cross(after.from - before.from) / em;
    if same_direction && (0.0..HYPHEN_GAP).contains(&down) && is_hyphenated(text, &after.text) {
        text.pop();
        return;
    }
    text.push('\n');
    if !same_direction || !(-PARAGRAPH_GAP..=PARAGRAPH_GAP).contains(&down) {
        text.push('\n');
    }
}

/// Whether a line ends in the middle of a word that continues on the next line.
fn is_hyphenated(line: &str, next: &str) -> bool {
    let mut last = line.chars().rev();
    let hyphen = last.next();
    let (Some('-' | '\u{ad}' | '\u{2010}'), Some(before)) = (hyphen, last.next()) else {
        return false;
    };
    before.is_alphabetic() && next.chars().next().is_some_and(char::is_lowercase)
}
