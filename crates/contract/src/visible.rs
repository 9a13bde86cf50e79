//! Makes texts of strangers harmless to show: bounds them, and removes the characters that terminals and readers
//! interpret. Must not know a text's purpose.

/// Returns the text without control and invisible formatting characters, at most `most` characters.
#[must_use]
pub fn clean(text: &str, most: usize) -> String {
    let mut kept: String = text
        .chars()
        .filter(|c| !is_hidden(*c))
        .take(most + 1)
        .collect();
    if let Some((cut, _)) = kept.char_indices().nth(most) {
        kept.truncate(cut);
        kept.push('…');
    }
    kept.trim().to_owned()
}

/// Whether a character is hidden: control characters but line breaks and tabs; joiners, direction marks and tags, which
/// can make a text read differently from its display (Unicode TR 36, section 2).
#[must_use]
pub fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn a_text_is_bounded_and_has_no_hidden_characters() {
        assert_eq!(clean(" a\u{1b}[31mb\u{202e}c\u{200b}\n", 99), "a[31mbc");
        assert_eq!(clean("äöü", 2), "äö…");
        assert_eq!(clean("äö", 2), "äö");
    }
}
