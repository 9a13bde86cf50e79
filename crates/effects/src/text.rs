//! Texts of servers, made harmless to show: bounded, and without what terminals and readers obey.
//! Must not know what a text is for.

/// The text without control and invisible formatting characters, at most so many characters of it.
pub(crate) fn clean(text: &str, most: usize) -> String {
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

/// Control characters but line breaks and tabs; joiners, direction marks and tags, by which a text
/// can read otherwise than it looks (Unicode TR 36, section 2).
fn is_hidden(c: char) -> bool {
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
    fn a_servers_text_is_bounded_and_holds_nothing_hidden() {
        assert_eq!(clean(" a\u{1b}[31mb\u{202e}c\u{200b}\n", 99), "a[31mbc");
        assert_eq!(clean("äöü", 2), "äö…");
        assert_eq!(clean("äö", 2), "äö");
    }
}
