//! Removes comments and the contents of literals from Rust code, and splits it into tokens. Knows no grammar.

/// A word, or a single character that is neither part of a word nor white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'c> {
    /// Offset in bytes.
    pub(crate) at: usize,
    pub(crate) text: &'c str,
}

/// Replaces comments and the contents of string and character literals with spaces. Every remaining byte keeps its
/// offset and its line.
pub(crate) fn blanked(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let [open, content, close] = opaque(rest).unwrap_or([first.len_utf8(), 0, 0]);
        let (opening, after) = rest.split_at(open);
        let (content, after) = after.split_at(content);
        let (closing, after) = after.split_at(close);
        code.push_str(opening);
        for c in content.chars() {
            let blank = if c == '\n' { "\n" } else { " " };
            code.push_str(&blank.repeat(c.len_utf8()));
        }
        code.push_str(closing);
        rest = after;
    }
    code
}

/// Returns the contents of the string and character literals, as they are written.
pub(crate) fn literals(text: &str) -> Vec<&str> {
    let mut literals = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let [open, content, close] = opaque(rest).unwrap_or([first.len_utf8(), 0, 0]);
        if close > 0 {
            literals.push(&rest[open..open + content]);
        }
        rest = &rest[open + content + close..];
    }
    literals
}

/// Returns the lengths of the opening, content and end of the comment or literal at the start of a text.
fn opaque(text: &str) -> Option<[usize; 3]> {
    if text.starts_with("//") {
        Some([0, text.find('\n').unwrap_or(text.len()), 0])
    } else if text.starts_with("/*") {
        Some([0, block_comment(text), 0])
    } else {
        raw_string(text).or_else(|| quoted_literal(text))
    }
}

/// Returns the length of a block comment, including nested ones.
fn block_comment(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

fn raw_string(text: &str) -> Option<[usize; 3]> {
    let prefixes = ["r", "br", "cr"];
    let after = prefixes.iter().find_map(|way| text.strip_prefix(way))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let content = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some([text.len() - content.len(), content.find(&end)?, end.len()])
}

/// Measures a string or character literal; a lifetime is neither.
fn quoted_literal(text: &str) -> Option<[usize; 3]> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let content = &text[1..];
    if quote == '\'' && !content.starts_with('\\') && content.chars().nth(1) != Some('\'') {
        return None;
    }
    let mut characters = content.char_indices();
    while let Some((at, c)) = characters.next() {
        if c == '\\' {
            characters.next();
        } else if c == quote {
            return Some([1, at, 1]);
        }
    }
    None
}

/// Splits blanked code into tokens.
pub(crate) fn tokens(code: &str) -> Vec<Token<'_>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = code[at..].chars().next() {
        let rest = &code[at..];
        let length = match rest.find(|c| !is_word(c)) {
            Some(0) => first.len_utf8(),
            Some(length) => length,
            None => rest.len(),
        };
        if !first.is_whitespace() {
            let text = &rest[..length];
            tokens.push(Token { at, text });
        }
        at += length;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_the_contents_of_literals_are_blanked() {
        let cases = [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            ("a /* b", "a     "),
            ("f(\"a // b\") // c", "f(\"      \")     "),
            ("\"a\\\"b\" c", "\"    \" c"),
            ("\"\\\\\" c", "\"  \" c"),
            ("r\"\\\" c", "r\" \" c"),
            ("br#\"a\" \"#; b", "br#\"   \"#; b"),
            ("r#fn(a)", "r#fn(a)"),
            (
                "'\"' a '\\'' b'x' '\\u{1F600}'",
                "' ' a '  ' b' ' '         '",
            ),
            ("&'a str, 'b: loop", "&'a str, 'b: loop"),
            ("\"é\n\" a", "\"  \n\" a"),
        ];
        for (text, code) in cases {
            assert_eq!(blanked(text), code, "{text}");
        }
    }

    #[test]
    fn code_is_cut_into_words_and_signs() {
        let texts: Vec<(usize, &str)> = tokens("let a_1 = x::y(é);")
            .iter()
            .map(|token| (token.at, token.text))
            .collect();
        let expected = [
            (0, "let"),
            (4, "a_1"),
            (8, "="),
            (10, "x"),
            (11, ":"),
            (12, ":"),
            (13, "y"),
            (14, "("),
            (15, "é"),
            (17, ")"),
            (18, ";"),
        ];
        assert_eq!(texts, expected);
    }
}
