//! Writes documents as YAML: one value on each line, in the order of the fields, and every text quoted that could be
//! read as anything else.

use serde_json::{Map, Value};

/// Longest text that is written without quotes, in bytes.
const MAX_PLAIN: usize = 200;
/// Words that YAML readers of some version take for other values.
const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// Returns the text of a document.
pub(super) fn document(fields: &Value) -> String {
    let mut text = String::new();
    write_block(fields, 0, &mut text);
    text
}

/// Writes a value that begins on a line of its own, with the end of its last line.
fn write_block(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => write_fields(fields, indent, text),
        Value::Array(items) if !items.is_empty() => write_items(items, indent, text),
        single => {
            push_indent(indent, text);
            text.push_str(&single_line(single));
            text.push('\n');
        }
    }
}

fn write_fields(fields: &Map<String, Value>, indent: usize, text: &mut String) {
    for (name, value) in fields {
        push_indent(indent, text);
        text.push_str(&scalar(name));
        text.push(':');
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                text.push('\n');
                write_fields(inner, indent + 2, text);
            }
            Value::Array(inner) if !inner.is_empty() => {
                text.push('\n');
                write_items(inner, indent + 2, text);
            }
            single => {
                text.push(' ');
                text.push_str(&single_line(single));
                text.push('\n');
            }
        }
    }
}

/// Writes the items of a list: the dash of an item is in the indentation of its first line.
fn write_items(items: &[Value], indent: usize, text: &mut String) {
    for item in items {
        let start = text.len();
        write_block(item, indent + 2, text);
        text.replace_range(start + indent..=start + indent, "-");
    }
}

fn push_indent(indent: usize, text: &mut String) {
    text.extend(std::iter::repeat_n(' ', indent));
}

/// Writes a value that has no parts.
fn single_line(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(_) => "[]".to_owned(),
        Value::Object(_) => "{}".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// Writes a text, plain where it can only be read as that text.
fn scalar(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut quoted = String::new();
    for letter in Value::from(text.replace('\0', "")).to_string().chars() {
        if is_printable(letter) {
            quoted.push(letter);
        } else {
            quoted.push_str(&format!("\\u{:04x}", u32::from(letter)));
        }
    }
    quoted
}

fn is_plain(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b" _-./".contains(&byte);
    text.len() <= MAX_PLAIN
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.bytes().all(is_word)
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// Whether YAML allows a character inside quotes, and no reader takes it for the end of a line.
fn is_printable(letter: char) -> bool {
    !matches!(
        letter,
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    )
}

#[cfg(test)]
mod tests {
    use charter_domain::source;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_written_line_by_line() {
        let value = json!({
            "tool_id": "pets.api.list", "empty": {}, "none": [], "count": 3, "on": true,
            "steps": [{"id": "a", "needs": ["x", "y"]}, "1", ["deep", {"k": null}]],
            "text": "a: b # c",
        });
        let text = "tool_id: pets.api.list\nempty: {}\nnone: []\ncount: 3\n\"on\": true\nsteps:\n  - id: a\n    \
                    needs:\n      - x\n      - \"y\"\n  - \"1\"\n  - - deep\n    - k: null\ntext: \"a: b # c\"\n";
        assert_eq!(document(&value), text);
        assert_eq!(source::read(text).unwrap().value, value);
    }

    #[test]
    fn every_text_is_read_as_it_was() {
        for text in [
            "",
            " a",
            "a ",
            "-",
            "- a",
            "yes",
            "No",
            "~",
            "null",
            "1",
            "1e3",
            "0x1",
            "a:",
            "a: b",
            "#a",
            "a #b",
            "{a}",
            "[a]",
            "&a",
            "*a",
            "!a",
            "%a",
            "@a",
            "`a",
            "'a'",
            "\"a\"",
            "a\nb",
            "a\\b",
            "\t",
            "é",
            "\u{2028}",
            "\u{85}",
            "\u{feff}a",
            "😀",
            "${user.x}",
            "$${x}",
            "? a",
            "| a",
            "> a",
            ",",
            "a, b",
            "..",
            "---",
        ] {
            let value = json!({ "k": text, text: ["x"] });
            let written = document(&value);
            let read = source::read(&written);
            assert_eq!(read.map(|read| read.value), Ok(value), "{written}");
        }
    }
}
