//! Parses JSON: the JSON parser reads the value, and then a walk over the valid text determines the positions.

use std::borrow::Cow;
use std::collections::HashSet;

use charter_contract::bounds::{YAML_KEY_BYTES, YAML_LEVELS};
use charter_contract::json::{JsonFault, JsonLimitExceeded, Profile, decode_text, extent};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::allowance::Meter;
use super::places::{Parts, name_of};
use super::refusal::{limit, refusal};
use super::{Located, Places, Position, START, SourceError, escape, position_of};

/// Returns whether a text may be JSON: a list, an object or a quoted text.
pub(super) fn is_likely(text: &str) -> bool {
    text.trim_ascii_start().starts_with(['{', '[', '"'])
}

/// Returns whether a text is valid JSON, of any size. Keeps no value.
pub(super) fn is_valid(text: &str) -> bool {
    decode_text::<IgnoredAny>(text, Profile::OPERATOR).is_ok()
}

/// Parses a text that is valid JSON.
pub(super) fn read(text: &str, meter: &Meter<'_>) -> Result<Located, SourceError> {
    let extent = extent(text.as_bytes(), Profile::FILE).map_err(|much| too_much(text, &much))?;
    meter.fit(extent.values);
    if let Some(over) = meter.over() {
        return Err(over.refusal(START));
    }
    let value: Value = decode_text(text, Profile::FILE).map_err(|fault| unread(text, &fault))?;
    let (at, parts) = Walk::over(text).value()?;
    meter.values(extent.values);
    Ok(Located {
        value,
        places: Places::new(at, parts),
    })
}

fn unread(text: &str, fault: &JsonFault) -> SourceError {
    let error = match fault {
        JsonFault::TooMuch(much) => return too_much(text, much),
        JsonFault::Form(error) => error,
    };
    let lines = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1));
    let line: usize = lines.map(str::len).sum();
    let at = line + error.column().saturating_sub(1);
    if let Some(lone) =
        escape::lone(text).filter(|lone| (*lone..=lone + escape::PAIR).contains(&at))
    {
        return half(text, lone);
    }
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    let message = format!("not valid JSON: {said}");
    refusal(position_of(text, at), &message, None)
}

/// Rejects half of a character, at a byte of a text.
pub(super) fn half(text: &str, at: usize) -> SourceError {
    let escape: String = text[at..].chars().take(escape::PAIR / 2).collect();
    let message = format!("`{escape}` is an unpaired surrogate");
    let advice = r"write both halves, as in `\ud83d\ude00`, or the character itself";
    refusal(position_of(text, at), &message, Some(advice))
}

fn too_much(text: &str, much: &JsonLimitExceeded) -> SourceError {
    match much {
        JsonLimitExceeded::Levels { .. } => {
            let message = format!("nesting is deeper than {YAML_LEVELS} levels (YAML_LEVELS)");
            limit(position_of(text, too_deep(text)), &message)
        }
        JsonLimitExceeded::Bytes { .. } | JsonLimitExceeded::Memory { .. } => {
            limit(START, &format!("the text {much}"))
        }
        JsonLimitExceeded::Number { number, .. } => {
            let at = text.find(number.trim_end_matches('…')).unwrap_or_default();
            refusal(position_of(text, at), &format!("the text {much}"), None)
        }
    }
}

/// Returns the byte that opens one level too many.
fn too_deep(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at += string_length(&bytes[at..]) - 1,
            b'[' | b'{' if depth == YAML_LEVELS => return at,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    0
}

/// Returns the length in bytes of the quoted text that begins here, including its quotes.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Walks over valid JSON, token by token.
struct Walk<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    column: usize,
}

impl<'t> Walk<'t> {
    fn over(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
            column: 1,
        }
    }

    fn value(&mut self) -> Result<(Position, Parts), SourceError> {
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.list(),
            Some(b'"') => Ok((self.string().1, Parts::None)),
            Some(_) | None => {
                let rest = self.rest();
                let end = rest.find([',', ']', '}', ' ', '\t', '\n', '\r']);
                let length = end.unwrap_or(rest.len()).max(1);
                Ok((self.token(length).1, Parts::None))
            }
        }
    }

    fn list(&mut self) -> Result<(Position, Parts), SourceError> {
        let (_, at) = self.token(1);
        let mut items = Vec::new();
        while !matches!(self.peek(), Some(b']') | None) {
            let (place, parts) = self.value()?;
            items.push(Places::new(place, parts));
            self.comma();
        }
        self.token(1);
        Ok((at, Parts::Items(items.into())))
    }

    fn object(&mut self) -> Result<(Position, Parts), SourceError> {
        let (_, at) = self.token(1);
        let mut fields = Vec::new();
        let mut names: HashSet<Cow<'t, str>> = HashSet::new();
        while !matches!(self.peek(), Some(b'}') | None) {
            let (token, place) = self.string();
            let name = name(token, place)?;
            if name.len() > YAML_KEY_BYTES {
                let message =
                    format!("a key is longer than {YAML_KEY_BYTES} bytes (YAML_KEY_BYTES)");
                return Err(limit(place, &message));
            }
            if names.contains(&name) {
                let message = format!("the key `{name}` is duplicated");
                return Err(refusal(place, &message, None));
            }
            self.peek();
            // The colon.
            self.token(1);
            let (_, parts) = self.value()?;
            fields.push((name_of(&name), Places::new(place, parts)));
            names.insert(name);
            self.comma();
        }
        self.token(1);
        Ok((at, Parts::fields(fields)))
    }

    fn comma(&mut self) {
        if self.peek() == Some(b',') {
            self.token(1);
        }
    }

    fn string(&mut self) -> (&'t str, Position) {
        let length = string_length(self.rest().as_bytes());
        self.token(length)
    }

    /// Returns the first byte of the next token.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            let byte = *bytes.get(self.at)?;
            match byte {
                b' ' | b'\t' => self.column += 1,
                b'\r' if bytes.get(self.at + 1) == Some(&b'\n') => {}
                b'\n' | b'\r' => {
                    self.line += 1;
                    self.column = 1;
                }
                _ => return Some(byte),
            }
            self.at += 1;
        }
    }

    /// Consumes this many bytes, and returns them with their position.
    fn token(&mut self, bytes: usize) -> (&'t str, Position) {
        let token = self.rest().get(..bytes).unwrap_or_default();
        let width = token.chars().count();
        let position = Position {
            line: self.line,
            column: self.column,
            width: width.max(1),
        };
        self.at += token.len();
        self.column += width;
        (token, position)
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }
}

/// Returns the name in a quoted text.
fn name(token: &str, place: Position) -> Result<Cow<'_, str>, SourceError> {
    if token.contains('\\') {
        let name: Result<String, _> = decode_text(token, Profile::FILE);
        return name
            .map(Cow::Owned)
            .map_err(|_| refusal(place, "a key must be text", None));
    }
    Ok(Cow::Borrowed(token.trim_matches('"')))
}
