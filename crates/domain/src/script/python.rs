//! Python sources with the placeholders `${user.x}` and `${step.path}` (rulings 13 and 31).
//!
//! A placeholder in a quoted string literal becomes a read of data: the literal becomes a formatted one with a variable
//! in place of the placeholder. The executor of the source assigns the variables' values; values never become source. A
//! placeholder at any other position is an error. Must not know playbooks, runs or values.

mod tokens;

use std::collections::BTreeMap;
use std::ops::Range;

use charter_contract::bounds::PLACEHOLDERS;
use charter_contract::placeholder::{PlaceholderError, Segment, segments_of_source};

use self::tokens::{Aside, Literal, Tokens, scan};
use super::ScriptFault;

/// A source with variables in place of placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonSource {
    /// The source; unchanged if it has no placeholders.
    pub text: String,
    /// The placeholders as written, such as `${user.region}`, each with its variable.
    pub reads: BTreeMap<String, String>,
    /// Whether it has a `return` statement outside of functions.
    pub returns: bool,
}

/// Parses a source and converts its placeholders to variables.
///
/// # Errors
/// Every placeholder outside of a quoted string literal; a literal that does not end, where there are placeholders;
/// more than [`PLACEHOLDERS`].
pub(super) fn read(source: &str) -> Result<PythonSource, Vec<ScriptFault>> {
    let tokens = match scan(source) {
        Ok(tokens) => tokens,
        Err(unclosed) if has_placeholders(source) => {
            let message = "the string literal is not closed".to_owned();
            return Err(vec![ScriptFault::at(source, unclosed.at, message)]);
        }
        // The source fails when it is executed, as it does without Charter.
        Err(_) => Tokens::default(),
    };
    let faults = misplaced(source, &tokens);
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut made = RewrittenSource::new(source);
    for literal in &tokens.literals {
        made.literal(literal).map_err(|error| {
            vec![ScriptFault::at(
                source,
                literal.content.start,
                error.to_string(),
            )]
        })?;
    }
    Ok(made.into_source(tokens.returns))
}

/// Returns whether a source has a `return` statement outside of functions.
pub(super) fn returns(source: &str) -> bool {
    scan(source).is_ok_and(|tokens| tokens.returns)
}

fn has_placeholders(source: &str) -> bool {
    let is_one = |(_, part): &(Range<usize>, Segment<'_>)| matches!(part, Segment::Placeholder(_));
    segments_of_source(source).is_ok_and(|parts| parts.iter().any(is_one))
}

/// Returns the placeholders outside of string literals.
fn misplaced(source: &str, tokens: &Tokens) -> Vec<ScriptFault> {
    let mut faults = Vec::new();
    let mut start = 0;
    let ends = tokens.literals.iter().map(|literal| &literal.content);
    let end = source.len()..source.len();
    for content in ends.chain([&end]) {
        let found = match segments_of_source(&source[start..content.start]) {
            Ok(found) => found,
            Err(error) => {
                faults.push(ScriptFault::at(source, start, error.to_string()));
                break;
            }
        };
        for (at, part) in found {
            if let Segment::Placeholder(placeholder) = part {
                let at = start + at.start;
                let message = format!("`{placeholder}` {}", tokens.advice(at));
                faults.push(ScriptFault::at(source, at, message));
            }
        }
        start = content.end;
    }
    faults
}

impl Tokens {
    /// Returns a correction for a placeholder outside of string literals.
    fn advice(&self, at: usize) -> &'static str {
        let mut asides = self.asides.iter();
        let aside = asides.find(|(range, _)| range.contains(&at));
        match aside.map(|(_, aside)| *aside) {
            Some(Aside::Comment) => {
                "is in a comment: a placeholder must be in a quoted string literal; remove it"
            }
            Some(Aside::Bytes) => {
                "is in a bytes literal: write a string literal, and `.encode()` after it"
            }
            Some(Aside::Formatted) => {
                "is in a formatted literal, where Python itself reads the braces: write a string literal without \
                 `f`, or remove the dollar sign"
            }
            None => {
                "is outside a string literal: quote it; its value becomes a string, encoded as JSON if it is not a \
                 string"
            }
        }
    }
}

/// A partially rewritten source.
struct RewrittenSource<'s> {
    source: &'s str,
    /// The prefix of the variables' names, which does not occur in the source.
    stem: String,
    text: String,
    /// The end of the copied part of the source.
    copied: usize,
    reads: BTreeMap<String, String>,
}

impl<'s> RewrittenSource<'s> {
    fn new(source: &'s str) -> Self {
        let mut stem = "_charter_".to_owned();
        while source.contains(&stem) {
            stem.insert(0, '_');
        }
        Self {
            source,
            stem,
            text: String::with_capacity(source.len()),
            copied: 0,
            reads: BTreeMap::new(),
        }
    }

    /// Rewrites a literal with a placeholder or `$${`.
    fn literal(&mut self, literal: &Literal) -> Result<(), PlaceholderError> {
        let source = self.source;
        let parts = segments_of_source(&source[literal.content.clone()])?;
        let formatted = parts
            .iter()
            .any(|(_, part)| matches!(part, Segment::Placeholder(_)));
        let is_escaped = |(at, part): &(Range<usize>, Segment<'_>)| match part {
            Segment::Text(text) => text.len() != at.len(),
            Segment::Placeholder(_) => false,
        };
        if !formatted && !parts.iter().any(is_escaped) {
            return Ok(());
        }
        let Literal { prefix, is_raw, .. } = literal;
        self.text.push_str(&source[self.copied..prefix.start]);
        let letters = source[prefix.clone()].chars();
        if formatted {
            // A keyword may precede a quote directly: `return'…'`.
            if source[..prefix.start].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                self.text.push(' ');
            }
            self.text
                .extend(letters.filter(|letter| !matches!(letter, 'u' | 'U')));
            self.text.push('f');
        } else {
            self.text.extend(letters);
        }
        self.text
            .push_str(&source[prefix.end..literal.content.start]);
        for (_, part) in &parts {
            match part {
                Segment::Text(text) if formatted => braced(text, *is_raw, &mut self.text),
                Segment::Text(text) => self.text.push_str(text),
                Segment::Placeholder(placeholder) => {
                    let variable = self.variable(placeholder.to_string())?;
                    self.text.push_str(&format!("{{{variable}}}"));
                }
            }
        }
        self.copied = literal.content.end;
        Ok(())
    }

    /// Returns the variable of a placeholder.
    fn variable(&mut self, placeholder: String) -> Result<String, PlaceholderError> {
        if let Some(known) = self.reads.get(&placeholder) {
            return Ok(known.clone());
        }
        if self.reads.len() >= PLACEHOLDERS {
            return Err(PlaceholderError::TooMany);
        }
        let variable = format!("{}{}", self.stem, self.reads.len());
        self.reads.insert(placeholder, variable.clone());
        Ok(variable)
    }

    fn into_source(mut self, returns: bool) -> PythonSource {
        self.text.push_str(&self.source[self.copied..]);
        PythonSource {
            text: self.text,
            reads: self.reads,
            returns,
        }
    }
}

/// Converts a part of a literal so that it has the same meaning in a formatted literal.
fn braced(text: &str, is_raw: bool, written: &mut String) {
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '{' | '}' => {
                written.push(character);
                written.push(character);
            }
            '\\' if !is_raw => {
                written.push('\\');
                match rest.peek() {
                    // The name of a character keeps its braces.
                    Some('N') => {
                        written.push('N');
                        rest.next();
                        if rest.peek() == Some(&'{') {
                            for of_name in rest.by_ref() {
                                written.push(of_name);
                                if of_name == '}' {
                                    break;
                                }
                            }
                        }
                    }
                    // A backslash that escapes nothing is written once, and so is an escaped backslash.
                    Some('{' | '}') | None => written.push('\\'),
                    Some(escaped) => {
                        written.push(*escaped);
                        rest.next();
                    }
                }
            }
            other => written.push(other),
        }
    }
}

#[cfg(test)]
mod tests;
