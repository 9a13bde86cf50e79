//! The beginning of a long text, with an ellipsis: for quotes in messages. It knows no text's meaning.

use std::borrow::Cow;

/// At most so many characters of a text, and an ellipsis if there were more.
#[must_use]
pub fn to_chars(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// At most so many bytes of a text, cut between characters, and an ellipsis if there were more.
#[must_use]
pub fn to_bytes(text: &str, most: usize) -> Cow<'_, str> {
    let end = text.floor_char_boundary(most);
    if end < text.len() {
        format!("{}…", &text[..end]).into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::{to_bytes, to_chars};

    #[test]
    fn a_long_text_ends_with_an_ellipsis_after_a_whole_character() {
        for (text, most, characters, bytes) in [
            ("", 0, "", ""),
            ("äöü", 6, "äöü", "äöü"),
            ("äöü", 3, "äöü", "ä…"),
            ("äöü", 2, "äö…", "ä…"),
            ("abc", 0, "…", "…"),
        ] {
            assert_eq!(to_chars(text, most), characters, "{text} {most}");
            assert_eq!(to_bytes(text, most), bytes, "{text} {most}");
        }
    }
}
