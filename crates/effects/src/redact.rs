//! Removes granted values from text that people and logs will see.
//!
//! Must not know where a value came from or where the text goes.

mod forms;
mod matcher;
mod view;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::path::Path;

use serde_json::{Map, Value};

use crate::outcome::Failure;
use matcher::Matcher;

/// Shorter values are not replaced: that would only damage the text.
const SHORTEST_SECRET: usize = 4;

/// The same limit for outputs, which programs process: a short value is more likely a word than a leak.
const SHORTEST_SECRET_IN_OUTPUT: usize = 8;

/// Most bytes that an encoding uses for one byte of a value: `\\u0041` for `A`, in JSON within JSON.
const WIDEST_CODING: usize = 7;

/// Bytes of a text that are scanned together.
const WINDOW_BYTES: usize = 256 << 10;

/// Replaces each granted value, in every known encoding, by `[redacted:NAME]`, and paths of this machine by
/// placeholders.
#[derive(Clone)]
pub(crate) struct Redactor {
    secrets: Matcher,
    /// Folders with their placeholders.
    folders: Vec<(String, String)>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

/// A range of a text with its replacement.
#[derive(Debug)]
struct RedactionMatch<'r> {
    range: Range<usize>,
    mark: &'r str,
    /// Length of the recognised value: of two overlapping values the longer one determines the mark.
    weight: usize,
}

impl Redactor {
    pub(crate) fn new(environment: &[(String, String)]) -> Self {
        Self::from_environment(environment, SHORTEST_SECRET)
    }

    /// Creates a redactor for the outputs of tools, which may hold the values of `plain` variables.
    pub(crate) fn for_output(environment: &[(String, String)], plain: &BTreeSet<String>) -> Self {
        let mut secret = environment.to_vec();
        secret.retain(|(name, _)| !plain.contains(name));
        Self::from_environment(&secret, SHORTEST_SECRET_IN_OUTPUT)
    }

    fn from_environment(environment: &[(String, String)], shortest: usize) -> Self {
        Self {
            secrets: Matcher::new(environment, shortest),
            folders: Vec::new(),
        }
    }

    /// Also replaces a folder and the slash after it, so that paths in it become relative.
    pub(crate) fn hiding(mut self, folder: &Path, mark: &str) -> Self {
        let folder = folder.display().to_string();
        self.folders.push((format!("{folder}/"), mark.to_owned()));
        self.folders.push((folder, mark.to_owned()));
        self
    }

    /// Whether there is nothing to replace.
    fn is_idle(&self) -> bool {
        self.secrets.is_empty() && self.folders.is_empty()
    }

    /// Returns the length in bytes of the longest text that is replaced.
    pub(crate) fn longest(&self) -> usize {
        let folders = self.folders.iter().map(|(folder, _)| folder.len());
        let folder = folders.max().unwrap_or_default();
        folder.max(self.secrets.longest() * WIDEST_CODING)
    }

    pub(crate) fn apply(&self, text: &str) -> String {
        let mut found = Vec::new();
        for window in windows(text, self.longest().saturating_mul(2)) {
            let within = merged(self.find(&text[window.clone()]));
            found.extend(within.into_iter().map(|one| RedactionMatch {
                range: one.range.start + window.start..one.range.end + window.start,
                ..one
            }));
        }
        replaced(text, merged(found))
    }

    fn find(&self, text: &str) -> Vec<RedactionMatch<'_>> {
        let mut found = self.secrets.find(text);
        for (folder, mark) in &self.folders {
            let places = text.match_indices(folder.as_str());
            found.extend(places.map(move |(at, _)| RedactionMatch {
                range: at..at + folder.len(),
                mark,
                weight: folder.len(),
            }));
        }
        found
    }

    /// Redacts every text and number in a JSON value, including field names.
    pub(crate) fn apply_to(&self, value: Value) -> Value {
        if self.is_idle() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.apply(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.apply_to(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                let fields: Map<String, Value> = fields
                    .map(|(name, value)| (self.apply(&name), self.apply_to(value)))
                    .collect();
                Value::Object(fields)
            }
            Value::Number(number) => {
                let written = number.to_string();
                let kept = self.apply(&written);
                if kept == written {
                    Value::Number(number)
                } else {
                    Value::String(kept)
                }
            }
            Value::Null | Value::Bool(_) => value,
        }
    }

    /// Redacts an output on a thread that may block: an output has up to 16 MiB.
    ///
    /// # Errors
    /// If the thread panics; the value is lost then.
    pub(crate) async fn apply_to_output(&self, output: Value) -> Result<Value, Failure> {
        if self.is_idle() {
            return Ok(output);
        }
        let own = self.clone();
        let redacted = tokio::task::spawn_blocking(move || own.apply_to(output)).await;
        redacted.map_err(|error| Failure::system(format!("redacting an output: {error}")))
    }

    /// Returns how many bytes of a text [`Redactor::apply_head`] reads.
    pub(crate) fn beyond(&self, limit: usize) -> usize {
        limit.saturating_add(self.longest().saturating_mul(2))
    }

    /// Redacts about the first `limit` bytes of a text, without reading all the rest.
    pub(crate) fn apply_head(&self, text: &[u8], limit: usize) -> String {
        let longest = self.longest();
        let Some(head) = text.get(..self.beyond(limit)) else {
            return self.apply(&String::from_utf8_lossy(text));
        };
        // A value that the cut divides is within the last `longest` bytes.
        let mut head = self.apply(&String::from_utf8_lossy(head));
        head.truncate(head.floor_char_boundary(head.len().saturating_sub(longest)));
        head
    }

    /// Redacts the captured end of a longer text and cuts it to `limit` bytes,
    /// so that no part of a value that straddles the cut survives.
    ///
    /// `captured` must hold `limit + longest()` bytes when `is_cut`.
    pub(crate) fn apply_tail(&self, captured: &[u8], cut: Cut, limit: usize) -> String {
        let text = self.apply(&String::from_utf8_lossy(captured));
        let skip = match cut {
            Cut::Whole => 0,
            Cut::Beginning => self.longest(),
        };
        let from = skip.max(text.len().saturating_sub(limit)).min(text.len());
        text[text.ceil_char_boundary(from)..].to_owned()
    }
}

/// Divides a text into the windows that are scanned: scanning a window in every encoding takes up to forty times its
/// memory. Each window extends by `overlap` bytes into the next, so that a value at a boundary is whole in one.
fn windows(text: &str, overlap: usize) -> impl Iterator<Item = Range<usize>> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let after = text.ceil_char_boundary((start + WINDOW_BYTES).min(text.len()));
        next = (after < text.len()).then_some(after);
        let end = after.saturating_add(overlap).min(text.len());
        Some(start..text.ceil_char_boundary(end))
    })
}

/// Merges overlapping matches, so that no part of a value is left.
fn merged(mut found: Vec<RedactionMatch<'_>>) -> Vec<RedactionMatch<'_>> {
    found.sort_by_key(|one| (one.range.start, std::cmp::Reverse(one.weight)));
    let mut merged: Vec<RedactionMatch<'_>> = Vec::with_capacity(found.len());
    for next in found {
        match merged.last_mut() {
            Some(last) if next.range.start < last.range.end => {
                last.range.end = last.range.end.max(next.range.end);
                if next.weight > last.weight {
                    (last.mark, last.weight) = (next.mark, next.weight);
                }
            }
            Some(_) | None => merged.push(next),
        }
    }
    merged
}

fn replaced(text: &str, found: Vec<RedactionMatch<'_>>) -> String {
    let (mut kept, mut at) = (String::with_capacity(text.len()), 0);
    for one in found {
        let from = text.floor_char_boundary(one.range.start).max(at);
        kept.push_str(&text[at..from]);
        kept.push_str(one.mark);
        at = text.ceil_char_boundary(one.range.end);
    }
    kept.push_str(&text[at..]);
    kept
}

/// Whether a captured text is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nothing is missing.
    Whole,
    /// The beginning was dropped.
    Beginning,
}

#[cfg(test)]
mod tests;
