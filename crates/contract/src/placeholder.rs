//! `${…}` in the parameters of steps (ruling 12): `${user.x}` is a declared
//! parameter, `${step.path}` an earlier step's output. This file reads them; the
//! values are put in later, as data, and never read again.
//!
//! Directly before a `{`, `$$` is an escaped dollar sign: `$${` is the text `${`, and `$$${user.x}` is a dollar sign
//! followed by a parameter. Elsewhere, dollar signs need no escape.

use serde_json::Value;

use crate::bounds::PLACEHOLDERS;

/// How a placeholder begins.
const OPENING: &str = "${";

/// One placeholder, without its `${` and `}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholder<'a> {
    /// `${user.name}`: a declared parameter.
    User(&'a str),
    /// `${step}` or `${step.a.b}`: an earlier step's output, or a part of it.
    Step {
        /// The name before the first dot.
        step: &'a str,
        /// What follows the first dot; empty for the whole output.
        path: &'a str,
    },
}

/// A part of a text with placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Plain text.
    Text(&'a str),
    /// A placeholder.
    Placeholder(Placeholder<'a>),
}

/// A `${` that does not open a placeholder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderError {
    /// No `}` follows.
    #[error("`${{` is not closed: write `$${{` for these two characters")]
    NotClosed,
    /// The name between the braces is not one.
    #[error(
        "`${{{0}}}` is not a placeholder: write `${{user.name}}` or `${{step.path}}`, or `$${{` for the text `${{`"
    )]
    BadName(String),
    /// More of them than [`PLACEHOLDERS`].
    #[error("there are more than {PLACEHOLDERS} placeholders (PLACEHOLDERS)")]
    TooMany,
}

/// Whether a text has no placeholder and no escape.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    !text.contains(OPENING)
}

/// Splits a text at its placeholders, and resolves escapes.
///
/// # Errors
/// The first `${` that is not closed, or holds something other than a dotted name; more than
/// [`PLACEHOLDERS`], including escapes.
pub fn segments(text: &str) -> Result<Vec<Segment<'_>>, PlaceholderError> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut left = PLACEHOLDERS;
    while let Some(open) = rest.find(OPENING) {
        left = left.checked_sub(1).ok_or(PlaceholderError::TooMany)?;
        let before = rest[..=open].trim_end_matches('$').len();
        let dollars = open + 1 - before;
        let plain = &rest[..before + dollars / 2];
        if !plain.is_empty() {
            found.push(Segment::Text(plain));
        }
        if dollars.is_multiple_of(2) {
            rest = &rest[open + 1..];
            continue;
        }
        let inner = &rest[open + 2..];
        let close = inner.find('}').ok_or(PlaceholderError::NotClosed)?;
        found.push(Segment::Placeholder(read(&inner[..close])?));
        rest = &inner[close + 1..];
    }
    if !rest.is_empty() {
        found.push(Segment::Text(rest));
    }
    Ok(found)
}

/// Reads what stands between the braces.
fn read(inner: &str) -> Result<Placeholder<'_>, PlaceholderError> {
    let is_name = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    };
    if !inner.split('.').all(is_name) {
        return Err(PlaceholderError::BadName(inner.to_owned()));
    }
    match inner.split_once('.') {
        Some(("user", name)) if !name.contains('.') => Ok(Placeholder::User(name)),
        Some(("user", _)) => Err(PlaceholderError::BadName(inner.to_owned())),
        Some((step, path)) => Ok(Placeholder::Step { step, path }),
        None => Ok(Placeholder::Step {
            step: inner,
            path: "",
        }),
    }
}

/// Calls `visit` with every string inside a value and the pointer to it.
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
    fn a_text_has_so_many_placeholders_and_no_more() {
        let most = "${a}".repeat(PLACEHOLDERS);
        assert_eq!(segments(&most).map(|found| found.len()), Ok(PLACEHOLDERS));
        assert_eq!(segments(&(most + "$${a}")), Err(PlaceholderError::TooMany));
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
