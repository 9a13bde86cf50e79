//! Renders a value in a few words. Texts are untrusted data: sequences that would be markup are broken up.

use serde_json::Value;

use super::{is_none, none_of, says};

/// The maximum depth to which values are rendered.
const LEVELS: usize = 4;

/// Renders a value on one line of at most `most` characters.
pub(super) fn brief(value: &Value, most: usize) -> String {
    Line::new(most, EmptyLists::LeftOut).with(value)
}

/// Renders a field of an output like `brief`, and also names its empty lists.
pub(super) fn brief_field(value: &Value, most: usize) -> String {
    Line::new(most, EmptyLists::Named).with(value)
}

/// Returns a text on one line, without active markup.
pub(super) fn plain(text: &str) -> String {
    let seen = text
        .chars()
        .filter(|c| c.is_whitespace() || !c.is_control());
    let seen: String = seen.collect();
    let words: Vec<&str> = seen.split_whitespace().collect();
    let shown = words.join(" ").replace("](", "] (");
    let mut plain = String::with_capacity(shown.len());
    let mut chars = shown.chars().peekable();
    let opens = |c: &char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?');
    while let Some(c) = chars.next() {
        plain.push(c);
        if c == '<' && chars.peek().is_some_and(opens) {
            plain.push(' ');
        }
    }
    plain
}

/// Whether fields that are empty lists are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmptyLists {
    LeftOut,
    Named,
}

struct Line {
    text: String,
    /// The number of characters that still fit.
    left: usize,
    empty_lists: EmptyLists,
}

impl Line {
    fn new(left: usize, empty_lists: EmptyLists) -> Self {
        Self {
            text: String::new(),
            left,
            empty_lists,
        }
    }

    fn with(mut self, value: &Value) -> String {
        self.take(value, 0);
        self.text
    }

    fn shows(&self, value: &Value) -> bool {
        says(value) || (self.empty_lists == EmptyLists::Named && is_none(value))
    }

    /// Unwraps objects that have exactly one field.
    fn unwrapped<'v>(&self, value: &'v Value) -> &'v Value {
        let mut inner = value;
        while let Value::Object(fields) = inner {
            let mut shown = fields.values().filter(|field| self.shows(field));
            match (shown.next(), shown.next()) {
                (Some(only), None) if only.is_object() => inner = only,
                (Some(_) | None, _) => break,
            }
        }
        inner
    }

    fn take(&mut self, value: &Value, level: usize) {
        let value = self.unwrapped(value);
        match value {
            Value::Null => self.write("–"),
            Value::Bool(_) | Value::Number(_) => self.write(&value.to_string()),
            Value::String(text) => self.write(&plain(text)),
            _ if level >= LEVELS => self.write("…"),
            Value::Array(items) => {
                let parts = items.iter().map(|item| (None, item));
                self.row(parts, "; ", level);
            }
            Value::Object(fields) => {
                let shown = fields.iter().filter(|(_, field)| self.shows(field));
                let shown: Vec<(&String, &Value)> = shown.collect();
                let named = shown.len() > 1;
                let parts = shown.into_iter().map(|(name, field)| {
                    let name = (named || is_none(field)).then_some(name.as_str());
                    (name, field)
                });
                self.row(parts, ", ", level);
            }
        }
    }

    /// Renders the parts of a list or an object while they fit, and counts the rest.
    fn row<'v>(
        &mut self,
        parts: impl ExactSizeIterator<Item = (Option<&'v str>, &'v Value)>,
        between: &str,
        level: usize,
    ) {
        let count = parts.len();
        if count == 0 {
            self.write("–");
        }
        for (at, (name, value)) in parts.enumerate() {
            // Reserves room for a separator and for the number of omitted parts.
            if at > 0 && self.left < 12 {
                self.force(&format!(" +{}", count - at));
                return;
            }
            if at > 0 {
                self.write(between);
            }
            match name {
                Some(name) if is_none(value) => {
                    self.write(&none_of(name));
                    continue;
                }
                Some(name) => {
                    self.write(&plain(name));
                    self.write(" ");
                }
                None => {}
            }
            self.take(value, level + 1);
        }
    }

    fn write(&mut self, text: &str) {
        let count = text.chars().count();
        if count <= self.left {
            self.text.push_str(text);
            self.left -= count;
            return;
        }
        if self.left > 0 {
            self.text.extend(text.chars().take(self.left - 1));
            self.text.push('…');
            self.left = 0;
        }
    }

    /// Writes a few characters even if they do not fit.
    fn force(&mut self, text: &str) {
        self.text.push_str(text);
        self.left = 0;
    }
}
