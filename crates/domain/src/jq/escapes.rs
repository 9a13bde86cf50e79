//! Characters that a filter writes as the two escapes of a surrogate pair, as programs that write JSON do.

use std::borrow::Cow;

/// Bytes of an escape such as `\ud83d`.
const ESCAPE: usize = 6;

/// The filter with each pair replaced by its character.
pub(super) fn paired(source: &str) -> Cow<'_, str> {
    if !source.contains("\\u") {
        return Cow::Borrowed(source);
    }
    let mut paired = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        paired.push_str(before);
        let (written, after) = match pair(escape) {
            Some(character) => {
                paired.push(character);
                ("", escape.get(2 * ESCAPE..).unwrap_or_default())
            }
            // The escaped character belongs to its backslash, which may be one itself.
            None => {
                let end = escape
                    .char_indices()
                    .nth(2)
                    .map_or(escape.len(), |(at, _)| at);
                escape.split_at(end)
            }
        };
        paired.push_str(written);
        rest = after;
    }
    paired.push_str(rest);
    Cow::Owned(paired)
}

fn pair(escapes: &str) -> Option<char> {
    let units = [unit(escapes)?, unit(escapes.get(ESCAPE..)?)?];
    let character = char::decode_utf16(units).next()?.ok()?;
    (character.len_utf16() == units.len()).then_some(character)
}

fn unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    let all = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    all.then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::paired;

    #[test]
    fn pairs_become_characters_and_everything_else_stays() {
        let cases = [
            (r#""\ud83c\udf0d\u0041""#, "\"\u{1f30d}\\u0041\""),
            (r#""\\ud83c\\udf0d""#, r#""\\ud83c\\udf0d""#),
            (r#""\\\ud83c\udf0d""#, "\"\\\\\u{1f30d}\""),
            (r#""\ud83c""#, r#""\ud83c""#),
            (r#""\udf0d\ud83c""#, r#""\udf0d\ud83c""#),
            (r#""\u00e9\ud83c\u0041""#, r#""\u00e9\ud83c\u0041""#),
            ("\"é\\u", "\"é\\u"),
            ("\\", "\\"),
        ];
        for (written, read) in cases {
            assert_eq!(paired(written), read, "{written}");
        }
    }
}
