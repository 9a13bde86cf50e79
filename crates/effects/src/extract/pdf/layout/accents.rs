//! Combines accents that are shown as separate letters with the letter below them.

use unicode_normalization::char;

/// Accents as letters, with their combining marks.
const ACCENTS: [(char, char); 16] = [
    ('`', '\u{300}'),
    ('\u{b4}', '\u{301}'),
    ('^', '\u{302}'),
    ('\u{2c6}', '\u{302}'),
    ('~', '\u{303}'),
    ('\u{2dc}', '\u{303}'),
    ('\u{af}', '\u{304}'),
    ('\u{2c9}', '\u{304}'),
    ('\u{2d8}', '\u{306}'),
    ('\u{2d9}', '\u{307}'),
    ('\u{a8}', '\u{308}'),
    ('\u{2da}', '\u{30a}'),
    ('\u{2dd}', '\u{30b}'),
    ('\u{2c7}', '\u{30c}'),
    ('\u{b8}', '\u{327}'),
    ('\u{2db}', '\u{328}'),
];

/// Returns the letter with the accent, if Unicode has one.
pub(super) fn compose(accent: char, letter: char) -> Option<char> {
    let known = ACCENTS.iter().find(|(alone, _)| *alone == accent);
    let mark = known.map_or(accent, |(_, mark)| *mark);
    let letter = match letter {
        '\u{131}' => 'i',
        '\u{237}' => 'j',
        letter => letter,
    };
    char::compose(letter, mark)
}
