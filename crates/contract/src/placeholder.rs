//! Parses `${…}` in the parameters of steps (ruling 12): `${user.x}` is a declared parameter, `${step.path}` an
//! earlier step's output. Values are filled in later, as data, and never parsed again.
//!
//! Directly before a `{`, `$$` is an escaped dollar sign: `$${` is the text `${`, and `$$${user.x}` is a dollar sign
//! followed by a parameter. Elsewhere, dollar signs need no escape.

use std::fmt;
use std::ops::Range;

use serde_json::Value;

use crate::bounds::PLACEHOLDERS;

/// The name of the item in the parameters of a step that is repeated for each item of a list.
pub const ITEM: &str = "item";

/// The start of a placeholder.
const OPENING: &str = "${";

/// One placeholder, without its `${` and `}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder<'a> {
    /// `${user.name}`: a declared parameter.
    User(&'a str),
    /// `${step}` or `${step.a.b}`: an earlier step's output, or a part of it.
    Step {
        /// Name before the first dot.
        step: &'a str,
        /// Path after the first dot; empty for the whole output.
        path: &'a str,
    },
}

impl fmt::Display for Placeholder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(name) => write!(f, "${{user.{name}}}"),
            Self::Step { step, path: "" } => write!(f, "${{{step}}}"),
            Self::Step { step, path } => write!(f, "${{{step}.{path}}}"),
        }
    }
}

/// A part of a text with placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Plain text.
    Text(&'a str),
    /// A placeholder.
    Placeholder(Placeholder<'a>),
}

/// Error: a `${` that does not open a placeholder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderError {
    /// No `}` follows.
    #[error("`${{` is not closed: write `$${{` for these two characters")]
    NotClosed,
    /// The text between the braces is not a name.
    #[error(
        "`${{{0}}}` is not a placeholder: write `${{user.name}}` or `${{step.path}}`, or `$${{` for the text `${{`"
    )]
    BadName(String),
    /// The text has more than [`PLACEHOLDERS`] placeholders.
    #[error("there are more than {PLACEHOLDERS} placeholders (PLACEHOLDERS)")]
    TooMany,
}

/// Whether a text has no placeholder and no escape.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    !text.contains(OPENING)
}

/// Treatment of a `${` that opens no placeholder.
#[derive(Debug, Clone, Copy)]
enum Malformed {
    /// An error: `${` has no other meaning here.
    Refused,
    /// Text: the source of another language may contain these two characters.
    IsText,
}

/// Splits a text at its placeholders, and resolves escapes.
///
/// # Errors
/// The first `${` that is not closed, or contains anything but a dotted name; more than [`PLACEHOLDERS`], including
/// escapes.
pub fn segments(text: &str) -> Result<Vec<Segment<'_>>, PlaceholderError> {
    let found = split(text, Malformed::Refused)?.into_iter();
    Ok(found.map(|(_, segment)| segment).collect())
}

/// Splits source code at its placeholders; a `${` that opens none is text, such as `${HOME:-/root}`. Each segment has
/// its byte range in the source; the text of an escape has the range of its characters after the escape.
///
/// # Errors
/// [`PlaceholderError::TooMany`].
pub fn segments_of_source(
    source: &str,
) -> Result<Vec<(Range<usize>, Segment<'_>)>, PlaceholderError> {
    split(source, Malformed::IsText)
}

fn split(
    text: &str,
    malformed: Malformed,
) -> Result<Vec<(Range<usize>, Segment<'_>)>, PlaceholderError> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut left = PLACEHOLDERS;
    while let Some(found_at) = text[at..].find(OPENING) {
        left = left.checked_sub(1).ok_or(PlaceholderError::TooMany)?;
        let open = at + found_at;
        let before = at + text[at..=open].trim_end_matches('$').len();
        let dollars = open + 1 - before;
        let is_escaped = dollars.is_multiple_of(2);
        let after = if is_escaped { open + 1 } else { open };
        let plain = &text[at..before + dollars / 2];
        if !plain.is_empty() {
            found.push((at..after, Segment::Text(plain)));
        }
        if is_escaped {
            at = after;
            continue;
        }
        let inner = open + OPENING.len();
        at = match (read_closed(&text[inner..]), malformed) {
            (Some((placeholder, length)), _) => {
                let end = inner + length;
                found.push((open..end, Segment::Placeholder(placeholder)));
                end
            }
            (None, Malformed::Refused) => return Err(malformed_reason(&text[inner..])),
            (None, Malformed::IsText) => {
                found.push((open..inner, Segment::Text(OPENING)));
                inner
            }
        };
    }
    if at < text.len() {
        found.push((at..text.len(), Segment::Text(&text[at..])));
    }
    Ok(found)
}

/// Returns the placeholder at the start of `inner`, after its `${`, and its length with its `}`. Reads only characters
/// of names.
fn read_closed(inner: &str) -> Option<(Placeholder<'_>, usize)> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let length = inner.bytes().take_while(is_part).count();
    if inner.as_bytes().get(length) != Some(&b'}') {
        return None;
    }
    Some((read(&inner[..length])?, length + 1))
}

/// Returns the reason why a `${` before `inner` opens no placeholder.
fn malformed_reason(inner: &str) -> PlaceholderError {
    match inner.find('}') {
        Some(close) => PlaceholderError::BadName(inner[..close].to_owned()),
        None => PlaceholderError::NotClosed,
    }
}

/// Parses the text between the braces: names separated by dots.
fn read(inner: &str) -> Option<Placeholder<'_>> {
    if inner.split('.').any(str::is_empty) {
        return None;
    }
    match inner.split_once('.') {
        Some(("user", name)) if !name.contains('.') => Some(Placeholder::User(name)),
        Some(("user", _)) => None,
        Some((step, path)) => Some(Placeholder::Step { step, path }),
        None => Some(Placeholder::Step {
            step: inner,
            path: "",
        }),
    }
}

/// Calls `visit` with every string inside a value and the JSON pointer to it.
pub(crate) fn each_string(value: &Value, pointer: &str, visit: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => visit(pointer, text),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                each_string(item, &format!("{pointer}/{at}"), visit);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = crate::violation::pointer_segment(name);
                each_string(field, &format!("{pointer}/{name}"), visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_read() {
        assert_eq!(
            segments("sg ${user.region}/${step_1.items.0.id} ${sg_id}"),
            Ok(vec![
                Segment::Text("sg "),
                Segment::Placeholder(Placeholder::User("region")),
                Segment::Text("/"),
                Segment::Placeholder(Placeholder::Step {
                    step: "step_1",
                    path: "items.0.id"
                }),
                Segment::Text(" "),
                Segment::Placeholder(Placeholder::Step {
                    step: "sg_id",
                    path: ""
                }),
            ])
        );
        assert_eq!(segments("$5 {x} $"), Ok(vec![Segment::Text("$5 {x} $")]));
    }

    /// Each `$$` before a brace is one dollar sign; a remaining `$` opens a placeholder.
    #[test]
    fn two_dollar_signs_before_a_brace_are_one_that_opens_nothing() {
        let text = |texts: &[&'static str]| -> Result<Vec<Segment<'static>>, PlaceholderError> {
            Ok(texts.iter().copied().map(Segment::Text).collect())
        };
        for (written, parts) in [
            ("$${A:-b}", text(&["$", "{A:-b}"])),
            ("x$${A}$${B", text(&["x$", "{A}$", "{B"])),
            ("$$$${A}", text(&["$$", "{A}"])),
            ("$$", text(&["$$"])),
            ("$$ {A}", text(&["$$ {A}"])),
            ("$$A$", text(&["$$A$"])),
        ] {
            assert_eq!(segments(written), parts, "{written}");
        }
        let priced = [
            Segment::Text("costs $"),
            Segment::Placeholder(Placeholder::User("n")),
        ];
        assert_eq!(segments("costs $$${user.n}"), Ok(priced.to_vec()));
        assert_eq!(segments("$$${x"), Err(PlaceholderError::NotClosed));
        assert!(is_plain("$5 {x} $$") && !is_plain("$${x}"));
    }

    #[test]
    fn the_number_of_placeholders_in_a_text_is_bounded() {
        let most = "${a}".repeat(PLACEHOLDERS);
        assert_eq!(segments(&most).map(|found| found.len()), Ok(PLACEHOLDERS));
        assert_eq!(segments(&(most + "$${a}")), Err(PlaceholderError::TooMany));
    }

    /// In source code, braces of another language remain unchanged, and placeholders next to them are found.
    #[test]
    fn in_source_a_malformed_placeholder_is_text() {
        let source = "${HOME:-/root} ${user.name} $${x} ${";
        let found = segments_of_source(source).unwrap();
        let written: Vec<&str> = found.iter().map(|(at, _)| &source[at.clone()]).collect();
        assert_eq!(
            written,
            ["${", "HOME:-/root} ", "${user.name}", " $$", "{x} ", "${"]
        );
        let found: Vec<String> = found
            .iter()
            .map(|(_, part)| match part {
                Segment::Text(text) => (*text).to_owned(),
                Segment::Placeholder(placeholder) => format!("<{placeholder}>"),
            })
            .collect();
        assert_eq!(
            found,
            ["${", "HOME:-/root} ", "<${user.name}>", " $", "{x} ", "${"]
        );
    }

    #[test]
    fn a_placeholder_is_displayed_in_its_source_form() {
        for written in ["${user.region}", "${look}", "${look.items.0.id}"] {
            let found = segments(written).unwrap();
            let [Segment::Placeholder(placeholder)] = found.as_slice() else {
                panic!("{found:?}");
            };
            assert_eq!(placeholder.to_string(), written);
        }
    }

    #[test]
    fn malformed_placeholders_are_refused() {
        assert_eq!(segments("${user.x"), Err(PlaceholderError::NotClosed));
        for bad in ["", "a b", "user.a.b", ".a", "a..b", "${x"] {
            assert_eq!(
                segments(&format!("${{{bad}}}")),
                Err(PlaceholderError::BadName(bad.to_owned()))
            );
        }
    }
}
