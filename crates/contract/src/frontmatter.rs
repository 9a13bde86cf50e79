//! Splits the front matter off a Markdown file: the fields between two `---` lines. Must not know the fields.

use crate::lines;

/// The line before and after the front matter.
pub const FENCE: &str = "---";

/// Returns the front matter and the text after its closing line; `None` if the text has no front matter. Blanks after
/// a fence are ignored.
#[must_use]
pub fn split(text: &str) -> Option<(&str, &str)> {
    let (opening, rest) = lines::first(text).filter(|(line, _)| is_fence(line))?;
    let mut at = opening.len();
    let start = at;
    for line in lines::with_ends(rest) {
        let behind = at + line.len();
        if is_fence(line) {
            return Some((&text[start..at], &text[behind..]));
        }
        at = behind;
    }
    None
}

fn is_fence(line: &str) -> bool {
    line.trim_end_matches([' ', '\t', '\n', '\r']) == FENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_between_two_fences_with_any_line_ending() {
        for (text, found) in [
            ("---\na: 1\n---\nbody\n", Some(("a: 1\n", "body\n"))),
            ("---\r\na: 1\r\n---\r\nbody", Some(("a: 1\r\n", "body"))),
            ("---\ra: 1\r---\rbody\rmore", Some(("a: 1\r", "body\rmore"))),
            ("---  \na: 1\n---\t \nbody", Some(("a: 1\n", "body"))),
            ("---\n---", Some(("", ""))),
            (
                "---\na: '---'\n ---\n----\n---\n",
                Some(("a: '---'\n ---\n----\n", "")),
            ),
            (
                "---\na: 1\n---\u{2028}\nb: 2\n---\n",
                Some(("a: 1\n---\u{2028}\nb: 2\n", "")),
            ),
            ("---", None),
            ("", None),
            ("\n---\na: 1\n---\n", None),
            ("--- a\n---\n", None),
            ("---\na: 1\n", None),
            ("\u{feff}---\na: 1\n---\n", None),
        ] {
            assert_eq!(split(text), found, "{text:?}");
        }
    }
}
