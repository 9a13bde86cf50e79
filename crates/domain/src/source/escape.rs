//! `\uXXXX` escapes in double quotes. A character above U+FFFF needs two of them, one for each half
//! (surrogates: RFC 8259, section 7). JSON, YAML and jq share the form; the YAML and jq parsers read halves separately.

use std::borrow::Cow;

/// The number of bytes of one escape, and of two.
const ONE: usize = 6;
pub(super) const PAIR: usize = 2 * ONE;

/// Returns the character of the two escapes at the beginning of a text.
pub(super) fn pair(text: &str) -> Option<char> {
    let high = unit(text)?
        .checked_sub(0xd800)
        .filter(|half| *half < 0x400)?;
    let low = unit(text.get(ONE..)?)?;
    let low = low.checked_sub(0xdc00).filter(|half| *half < 0x400)?;
    char::from_u32(0x1_0000 + (high << 10) + low)
}

/// Returns the index of the first escape that is half of a character without its other half.
pub(super) fn lone(text: &str) -> Option<usize> {
    let mut escapes = Escapes { text, at: 0 };
    escapes.find_map(|(at, escape)| match escape {
        Escape::Half => Some(at),
        Escape::Pair(_) | Escape::Other => None,
    })
}

/// Replaces each pair of escapes in a text by its character.
pub(crate) fn joined(text: &str) -> Cow<'_, str> {
    let (mut written, mut from) = (String::new(), 0);
    for (at, escape) in (Escapes { text, at: 0 }) {
        if let Escape::Pair(character) = escape {
            written.push_str(&text[from..at]);
            written.push(character);
            from = at + PAIR;
        }
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    written.push_str(&text[from..]);
    Cow::Owned(written)
}

/// The kind of an escape.
enum Escape {
    /// Two escapes of one character.
    Pair(char),
    /// One half of a character.
    Half,
    /// Any other escape.
    Other,
}

/// The escapes of a text, each with its index in bytes.
struct Escapes<'t> {
    text: &'t str,
    at: usize,
}

impl Iterator for Escapes<'_> {
    type Item = (usize, Escape);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at + self.text.get(self.at..)?.find('\\')?;
        let rest = &self.text[at..];
        let (length, escape) = match (pair(rest), unit(rest)) {
            (Some(character), _) => (PAIR, Escape::Pair(character)),
            (None, Some(0xd800..=0xdfff)) => (ONE, Escape::Half),
            (None, Some(_)) => (ONE, Escape::Other),
            (None, None) => {
                let escaped = rest[1..].chars().next();
                (1 + escaped.map_or(0, char::len_utf8), Escape::Other)
            }
        };
        self.at = at + length;
        Some((at, escape))
    }
}

/// Returns the number of the `\uXXXX` at the beginning of a text.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..ONE - 2)?;
    let all_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u32::from_str_radix(digits, 16).ok();
    number.filter(|_| all_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_halves_are_one_character_and_everything_else_stays() {
        for (text, whole) in [
            (r#""\ud83e\udd80""#, "\"\u{1f980}\""),
            (
                r"a\uD83E\uDD80b\ud800\udc00\udbff\udfff",
                "a\u{1f980}b\u{10000}\u{10ffff}",
            ),
            // An escaped backslash does not begin an escape.
            (r"\\ud83e\\udd80", r"\\ud83e\\udd80"),
            (r"\\\ud83e\udd80", "\\\\\u{1f980}"),
            (r"\u0041\n\é\", r"\u0041\n\é\"),
            (r"\ud83e\udd8", r"\ud83e\udd8"),
            (r"\u+83e\udd80", r"\u+83e\udd80"),
            ("", ""),
        ] {
            assert_eq!(joined(text), whole, "{text}");
        }
    }

    #[test]
    fn half_a_character_is_found_where_it_stands() {
        for (text, at) in [
            (r"\ud83e\udd80", None),
            (r"\u0041", None),
            (r"\\ud83e", None),
            (r"a\ud83e", Some(1)),
            (r"\udd80", Some(0)),
            (r"\ud83e\ud83e\udd80", Some(0)),
            (r"\ud83e\udd80\udd80", Some(12)),
            (r"\ud83e\n\udd80", Some(0)),
            (r"\ud83ex", Some(0)),
        ] {
            assert_eq!(lone(text), at, "{text}");
        }
    }
}
