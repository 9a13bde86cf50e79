//! Scripts that are read from right to left, or without spaces.

use super::super::content::{Shown, Spelling};

/// Whether a letter is of a script that is read from right to left.
fn is_right_to_left(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}')
        && !letter.is_numeric()
}

/// Whether a letter is of a script that is written without spaces between words.
pub(super) fn is_without_spaces(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether the text of a code is read from right to left.
pub(super) fn is_leftwards(shown: &Shown) -> bool {
    match &shown.spelling {
        Spelling::Letters(text) => text.chars().any(is_right_to_left),
        Spelling::Unknown | Spelling::Replaced => false,
    }
}

/// Returns the text of a line in reading order; its letters came from left to right.
pub(super) fn as_read(text: String) -> String {
    let letters = || text.chars().filter(|letter| letter.is_alphabetic());
    let leftwards = letters().filter(|letter| is_right_to_left(*letter)).count();
    if leftwards == 0 {
        return text;
    }
    if letters().count() > 2 * leftwards {
        return turn(text.chars(), is_right_to_left);
    }
    turn(text.chars().rev(), |letter| {
        letter.is_alphanumeric() && !is_right_to_left(letter)
    })
}

/// Reverses each stretch that begins and ends with letters of `own` and has none of the others.
fn turn(text: impl Iterator<Item = char>, own: impl Fn(char) -> bool) -> String {
    let mut turned = String::new();
    let mut stretch: Vec<char> = Vec::new();
    let mut end = 0;
    for letter in text {
        let is_own = own(letter);
        if !is_own && (stretch.is_empty() || letter.is_alphanumeric()) {
            push_turned(&mut turned, &mut stretch, end);
            turned.push(letter);
            continue;
        }
        stretch.push(letter);
        if is_own {
            end = stretch.len();
        }
    }
    push_turned(&mut turned, &mut stretch, end);
    turned
}

fn push_turned(turned: &mut String, stretch: &mut Vec<char>, end: usize) {
    turned.extend(stretch.iter().take(end).rev());
    turned.extend(stretch.iter().skip(end));
    stretch.clear();
}
