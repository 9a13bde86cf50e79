//! Removes layout characters from a text, so that a search finds words as they are read: soft hyphens and invisible
//! spaces are removed, other spaces become plain ones, lines end with `\n`. The same text is indexed and quoted. Must
//! not know formats.

use std::borrow::Cow;

use super::{Extracted, MAX_HEADING_BYTES};

/// A possible word break; displayed only at a line break.
const SOFT_HYPHEN: char = '\u{ad}';

/// The marks that documentation generators put behind a heading as a link to it; the last is of an icon font.
const ANCHOR_MARKS: [char; 3] = ['¶', '🔗', '\u{f0c1}'];

/// Returns the text without layout characters.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let is_layout = |c: char| meaning(c) != Meaning::Letter;
    let Some(first) = text.find(is_layout) else {
        return Cow::Borrowed(text);
    };
    let mut written = String::with_capacity(text.len());
    written.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match meaning(c) {
            Meaning::Letter => written.push(c),
            Meaning::Nothing => {}
            Meaning::Space => written.push(' '),
            Meaning::Line => {
                rest = rest
                    .strip_prefix('\n')
                    .filter(|_| c == '\r')
                    .unwrap_or(rest);
                written.push('\n');
            }
            Meaning::Paragraph => written.push_str("\n\n"),
            Meaning::Hyphen => rest = behind_break(rest).unwrap_or(rest),
        }
    }
    Cow::Owned(written)
}

/// Does the same for a text with marks, and moves their offsets.
pub(super) fn plain_parts(extracted: Extracted) -> Extracted {
    let Extracted {
        text: whole,
        mut marks,
        notices,
    } = extracted;
    let (mut text, mut from) = (String::with_capacity(whole.len()), 0);
    for mark in &mut marks {
        let part = whole.get(from..mark.at).unwrap_or_default();
        text.push_str(&plain(part));
        from = from.max(mark.at);
        mark.at = text.len();
    }
    text.push_str(&plain(whole.get(from..).unwrap_or_default()));
    Extracted {
        text,
        marks,
        notices,
    }
}

/// Removes the link mark from a heading.
pub(super) fn without_anchor_mark(heading: &str) -> &str {
    let bare = heading.trim_end_matches(|c: char| c.is_whitespace() || ANCHOR_MARKS.contains(&c));
    let has_mark = heading[bare.len()..].contains(ANCHOR_MARKS);
    if has_mark && !bare.is_empty() {
        bare
    } else {
        heading
    }
}

/// Removes the link mark from a line, if it follows a word directly and the line is no longer than a heading.
pub(super) fn without_mark_of_word(line: &str) -> &str {
    let bare = line.trim_end_matches(ANCHOR_MARKS);
    let ends_in_word = bare.ends_with(|c: char| !c.is_whitespace());
    if ends_in_word && bare.len() <= MAX_HEADING_BYTES {
        bare
    } else {
        line
    }
}

/// Removes the link marks from the lines of a text.
pub(super) fn without_marks_of_words(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let content = line.trim_end_matches('\n');
        [without_mark_of_word(content), &line[content.len()..]]
    });
    lines.flatten().collect()
}

/// The effect of a character on a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// It is part of the text.
    Letter,
    /// It is invisible.
    Nothing,
    /// It is a space of any width.
    Space,
    /// It ends a line.
    Line,
    /// It ends a paragraph.
    Paragraph,
    /// It is a soft hyphen.
    Hyphen,
}

fn meaning(c: char) -> Meaning {
    match c {
        SOFT_HYPHEN => Meaning::Hyphen,
        '\u{200b}' | '\u{2060}' | '\u{feff}' => Meaning::Nothing,
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' => Meaning::Space,
        '\r' | '\u{b}' | '\u{85}' | '\u{2028}' => Meaning::Line,
        '\u{2029}' => Meaning::Paragraph,
        _ => Meaning::Letter,
    }
}

/// Returns the rest of a word that a soft hyphen breaks at the end of a line.
fn behind_break(rest: &str) -> Option<&str> {
    let blank = |c: char| matches!(c, ' ' | '\t');
    let rest = rest.trim_start_matches(blank);
    let rest = rest
        .strip_prefix("\r\n")
        .or(rest.strip_prefix(['\n', '\r']))?;
    let rest = rest.trim_start_matches(blank);
    rest.starts_with(char::is_alphabetic).then_some(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::extract::{Mark, MarkKind};

    #[test]
    fn a_plain_text_keeps_its_letters_and_loses_its_layout() {
        for (text, wanted) in [
            ("plain\n\ttext\n", "plain\n\ttext\n"),
            ("trans\u{ad}port\u{ad}able", "transportable"),
            ("trans\u{ad}\nport", "transport"),
            ("trans\u{ad} \r\n  port", "transport"),
            ("trans\u{ad}\r\tport", "transport"),
            // There is no broken word here.
            ("end\u{ad}\n- item", "end\n- item"),
            ("end\u{ad}\n\npart", "end\n\npart"),
            ("\u{ad}", ""),
            ("long\u{200b}name\u{2060}s\u{feff}!", "longnames!"),
            ("10\u{a0}000\u{202f}€ a\u{2009}b", "10 000 € a b"),
            ("a\r\nb\rc\n\rd\u{b}e", "a\nb\nc\n\nd\ne"),
            ("a\u{2028}b\u{85}c\u{2029}d", "a\nb\nc\n\nd"),
            // Joiners of scripts and emoji are kept, and so are ligatures: the index splits them.
            (
                "می\u{200c}خواهم \u{1f468}\u{200d}\u{1f469}",
                "می\u{200c}خواهم \u{1f468}\u{200d}\u{1f469}",
            ),
            ("ﬁne ½ \u{3000}x", "ﬁne ½ \u{3000}x"),
        ] {
            assert_eq!(plain(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn anchor_marks_are_removed_from_headings() {
        for (heading, wanted) in [
            ("Keys¶", "Keys"),
            ("Keys ¶ ", "Keys"),
            ("Keys 🔗", "Keys"),
            ("Keys\u{f0c1}", "Keys"),
            ("Keys ", "Keys "),
            ("¶", "¶"),
            ("¶ 12 of the act", "¶ 12 of the act"),
        ] {
            assert_eq!(without_anchor_mark(heading), wanted, "{heading}");
        }
        let text = "Keys¶\n====\nsee ¶\n¶\nDoors?¶";
        let wanted = "Keys\n====\nsee ¶\n¶\nDoors?";
        assert_eq!(without_marks_of_words(text), wanted);
        let long = format!("{}¶\n", "x".repeat(MAX_HEADING_BYTES + 1));
        assert_eq!(without_marks_of_words(&long), long);
    }

    #[test]
    fn places_move_with_their_parts() {
        let page = |at, number| Mark {
            at,
            kind: MarkKind::Page(number),
        };
        let text = "a\u{ad}b\u{a0}c\n\nd\u{200b}e\n\n";
        let at = text.find('d').unwrap();
        let found = plain_parts(Extracted {
            text: text.to_owned(),
            marks: vec![page(0, 1), page(at, 2), page(text.len(), 3)],
            notices: Vec::new(),
        });
        assert_eq!(found.text, "ab c\n\nde\n\n");
        assert_eq!(found.marks, [page(0, 1), page(6, 2), page(10, 3)]);
    }

    proptest! {
        #[test]
        fn plain_text_is_unchanged(text in "[a-c\n\r\u{ad}\u{a0}\u{200b}\u{2028}\u{2029}¶ \u{e9}]{0,40}") {
            let once = plain(&text).into_owned();
            prop_assert_eq!(plain(&once), once.as_str());
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
            prop_assert_eq!(letters(&once), letters(&text));
        }
    }
}
