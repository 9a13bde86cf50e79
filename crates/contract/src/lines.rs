//! Splits a text into lines that end in `\n`, `\r\n` or a lone `\r` (YAML 1.2, section 5.4). Unicode's other
//! separators (U+0085, U+2028, U+2029) end no line. Must not know formats.

use memchr::memchr2;

/// Iterates over the lines of a text, each with its line end.
pub fn with_ends(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (line, behind) = first(rest)?;
        rest = behind;
        Some(line)
    })
}

/// Returns the first line with its line end, and the rest; `None` for an empty text.
#[must_use]
pub fn first(text: &str) -> Option<(&str, &str)> {
    if text.is_empty() {
        return None;
    }
    let end = match memchr2(b'\n', b'\r', text.as_bytes()) {
        None => text.len(),
        Some(at) if text[at..].starts_with("\r\n") => at + 2,
        Some(at) => at + 1,
    };
    Some(text.split_at(end))
}

/// Removes the line end from a line.
#[must_use]
pub fn without_end(line: &str) -> &str {
    line.trim_end_matches(['\n', '\r'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_line_ending_ends_one_line() {
        for (text, lines) in [
            ("", &[][..]),
            ("a", &["a"]),
            ("a\nb\r\nc\rd", &["a\n", "b\r\n", "c\r", "d"]),
            ("\n\r\r\n\n", &["\n", "\r", "\r\n", "\n"]),
            ("é\u{2028}f\u{85}g\n", &["é\u{2028}f\u{85}g\n"]),
        ] {
            assert_eq!(with_ends(text).collect::<Vec<_>>(), lines, "{text:?}");
        }
        assert_eq!(without_end("a b \r\n"), "a b ");
    }

    proptest! {
        #[test]
        fn the_lines_together_are_the_text(text in "[a-b\r\n\u{2028}]{0,40}") {
            prop_assert_eq!(with_ends(&text).collect::<String>(), text);
        }
    }
}
