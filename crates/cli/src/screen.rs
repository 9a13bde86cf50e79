//! The terminal on standard output: its width, its colours, and foreign text made harmless for it.

use std::io::IsTerminal;

/// The variable that turns colours off (https://no-color.org).
const NO_COLOR: &str = "NO_COLOR";

/// Whether standard output is a terminal: tables then have short ids, local times and colours.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether standard output shows colours: it is a terminal, and NO_COLOR is not set.
pub(crate) fn has_colours() -> bool {
    is_terminal() && std::env::var_os(NO_COLOR).is_none_or(|value| value.is_empty())
}

/// The width of the terminal on standard output, in columns.
pub(crate) fn columns() -> Option<u16> {
    let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(width.0)
}

/// Replaces characters that control a terminal or reorder a line: arguments and reasons are foreign text.
pub(crate) fn plain(text: &str) -> String {
    let shown = text.chars().map(|character| match character {
        '\n' => character,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        character if character.is_control() => char::REPLACEMENT_CHARACTER,
        character => character,
    });
    shown.collect()
}

/// How a line is emphasised where there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emphasis {
    Plain,
    Strong,
    Faint,
    Removed,
    Added,
}

impl Emphasis {
    /// The terminal's code that begins the emphasis.
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Strong => Some("\u{1b}[1m"),
            Self::Faint => Some("\u{1b}[2m"),
            Self::Removed => Some("\u{1b}[31m"),
            Self::Added => Some("\u{1b}[32m"),
        }
    }
}

/// Lines of foreign text for standard output, emphasised where it shows colours.
pub(crate) fn plain_lines(lines: &[(Emphasis, String)]) -> String {
    let coloured = has_colours();
    let shown = lines.iter().map(|(emphasis, line)| {
        let line = plain(line).replace('\n', " ");
        match emphasis.code().filter(|_| coloured) {
            Some(code) => format!("{code}{line}\u{1b}[0m"),
            None => line,
        }
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_neither_controls_nor_reorders_a_terminal() {
        let text = "a\u{1b}[2J\rb\u{9b}c\u{202e}d\ne";
        assert_eq!(plain(text), "a\u{fffd}[2J\u{fffd}b\u{fffd}c\u{fffd}d\ne");
    }
}
