//! JSON with comments, as VS Code and Cursor write it: comments and commas before a closing bracket become spaces. Line
//! numbers stay. Must not know what the file means.

/// Returns the text as plain JSON; text that is not JSON stays wrong.
pub(super) fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    // The place of a comma after which only spaces and comments came.
    let mut comma = None;
    while let Some(letter) = rest.next() {
        match (letter, rest.peek()) {
            ('"', _) => {
                comma = None;
                plain.push('"');
                copy_text(&mut rest, &mut plain);
            }
            ('/', Some('/')) => {
                while rest.peek().is_some_and(|letter| *letter != '\n') {
                    rest.next();
                }
            }
            ('/', Some('*')) => {
                rest.next();
                skip_block(&mut rest, &mut plain);
            }
            (',', _) => {
                comma = Some(plain.len());
                plain.push(',');
            }
            (']' | '}', _) => {
                if let Some(at) = comma.take() {
                    plain.replace_range(at..=at, " ");
                }
                plain.push(letter);
            }
            (letter, _) => {
                if !letter.is_whitespace() {
                    comma = None;
                }
                plain.push(letter);
            }
        }
    }
    plain
}

type Letters<'t> = std::iter::Peekable<std::str::Chars<'t>>;

/// Copies a text up to its closing quote.
fn copy_text(rest: &mut Letters<'_>, plain: &mut String) {
    while let Some(letter) = rest.next() {
        plain.push(letter);
        match letter {
            '\\' => plain.extend(rest.next()),
            '"' => return,
            _ => {}
        }
    }
}

/// Skips a comment up to its end, and keeps its line ends.
fn skip_block(rest: &mut Letters<'_>, plain: &mut String) {
    plain.push(' ');
    while let Some(letter) = rest.next() {
        match letter {
            '\n' => plain.push('\n'),
            '*' if rest.peek() == Some(&'/') => {
                rest.next();
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_become_spaces_outside_of_texts() {
        for (text, plain) in [
            ("{\"a\": [1, 2, ], // end\n}", "{\"a\": [1, 2  ]  \n}"),
            ("{\"a\": 1, /* b,\n */ }", "{\"a\": 1   \n }"),
            (
                r#"{"url": "https://a.example//x", "b": "\"// no, ]"}"#,
                r#"{"url": "https://a.example//x", "b": "\"// no, ]"}"#,
            ),
            ("[1,,2]", "[1,,2]"),
            ("/* never ends", " "),
        ] {
            assert_eq!(without_comments(text), plain);
        }
    }
}
