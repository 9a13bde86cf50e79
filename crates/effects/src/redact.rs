//! Takes granted values out of text that people and logs will see.
//!
//! Must not know where a value came from or where the text goes.

use std::collections::BTreeSet;
use std::path::Path;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// Shorter values are left alone: replacing them would only shred the text.
const SHORTEST_SECRET: usize = 4;

/// In outputs, which programs go on with, a short value is more likely a word than a leak.
const SHORTEST_SECRET_IN_OUTPUT: usize = 8;

/// Replaces each granted value, and its common encodings, by `[redacted:NAME]`; and paths of this
/// machine by what they are.
#[derive(Debug, Clone)]
pub(crate) struct Redactor {
    /// Text to find and what to put there, longest first.
    replacements: Vec<(String, String)>,
}

impl Redactor {
    pub(crate) fn new(environment: &[(String, String)]) -> Self {
        Self::of(environment, SHORTEST_SECRET)
    }

    /// For the outputs of tools, which may hold the values of `plain` variables.
    pub(crate) fn for_output(environment: &[(String, String)], plain: &BTreeSet<String>) -> Self {
        let mut secret = environment.to_vec();
        secret.retain(|(name, _)| !plain.contains(name));
        Self::of(&secret, SHORTEST_SECRET_IN_OUTPUT)
    }

    fn of(environment: &[(String, String)], shortest: usize) -> Self {
        let mut replacements = Vec::new();
        for (name, value) in environment {
            if value.len() < shortest {
                continue;
            }
            let mark = format!("[redacted:{name}]");
            for form in forms(value, shortest) {
                replacements.push((form, mark.clone()));
            }
        }
        Self::sorted(replacements)
    }

    fn sorted(mut replacements: Vec<(String, String)>) -> Self {
        replacements.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        Self { replacements }
    }

    /// Also replaces a folder and the slash after it, so that paths in it become relative.
    pub(crate) fn hiding(mut self, folder: &Path, mark: &str) -> Self {
        let folder = folder.display().to_string();
        self.replacements
            .push((format!("{folder}/"), mark.to_owned()));
        self.replacements.push((folder, mark.to_owned()));
        Self::sorted(self.replacements)
    }

    /// The length in bytes of the longest text that is replaced.
    pub(crate) fn longest(&self) -> usize {
        self.replacements.first().map_or(0, |(text, _)| text.len())
    }

    pub(crate) fn apply(&self, text: &str) -> String {
        self.redacted(text).unwrap_or_else(|| text.to_owned())
    }

    /// The text without what is replaced; `None` where nothing is.
    fn redacted(&self, text: &str) -> Option<String> {
        let mut redacted: Option<String> = None;
        for (secret, mark) in &self.replacements {
            let now = redacted.as_deref().unwrap_or(text);
            if now.contains(secret.as_str()) {
                redacted = Some(now.replace(secret.as_str(), mark));
            }
        }
        redacted
    }

    /// Redacts every text in a JSON value where it is, the names of fields included: an output is not copied for it.
    pub(crate) fn apply_to(&self, value: &mut Value) {
        if self.replacements.is_empty() {
            return;
        }
        match value {
            Value::String(text) => {
                if let Some(redacted) = self.redacted(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.apply_to(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.apply_to(field));
                if fields.keys().any(|name| self.redacted(name).is_some()) {
                    let fields_as_they_came = std::mem::take(fields).into_iter();
                    *fields = fields_as_they_came
                        .map(|(name, field)| (self.apply(&name), field))
                        .collect();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
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

/// Whether a captured text is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nothing is missing.
    Whole,
    /// The beginning was dropped.
    Beginning,
}

fn forms(value: &str, shortest: usize) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let json = serde_json::Value::from(value).to_string();
    let json = json.trim_matches('"').to_owned();
    let percent = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
    for form in [json, percent] {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    // Each line of a value such as a private key, since logs go line by line.
    for line in value.lines() {
        if line.len() >= shortest && !forms.iter().any(|form| form == line) {
            forms.push(line.to_owned());
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        Redactor::new(&[
            ("TOKEN".into(), "abcd\"efgh".into()),
            ("LONGER".into(), "abcd\"efgh-and-more".into()),
            ("SHORT".into(), "x".into()),
        ])
    }

    #[test]
    fn every_form_of_a_value_is_replaced_longest_first() {
        assert_eq!(
            redactor().apply("x abcd\"efgh-and-more abcd\\\"efgh abcd%22efgh"),
            "x [redacted:LONGER] [redacted:TOKEN] [redacted:TOKEN]"
        );
    }

    #[test]
    fn an_output_loses_secrets_everywhere_and_keeps_plain_and_short_values() {
        let granted = [
            ("TOKEN", "s3cr3t-value"),
            ("REGION", "eu-central-1"),
            ("WORD", "latest"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let plain = BTreeSet::from(["REGION".to_owned()]);
        let mut output = serde_json::json!({
            "region": "eu-central-1", "tag": "latest", "count": 7, "none": null,
            "items": [{"s3cr3t-value": ["a s3cr3t-value", "b"]}],
        });
        let expected = serde_json::json!({
            "region": "eu-central-1", "tag": "latest", "count": 7, "none": null,
            "items": [{"[redacted:TOKEN]": ["a [redacted:TOKEN]", "b"]}],
        });
        let redactor = Redactor::for_output(&granted, &plain);
        redactor.apply_to(&mut output);
        assert_eq!(output, expected);
    }

    /// B003-3
    #[test]
    fn b003_3_paths_become_relative_to_their_folder() {
        let redactor = redactor()
            .hiding(Path::new("/srv/data/sandbox"), "[sandbox]/")
            .hiding(Path::new("/srv/data/sandbox/packages/1f"), "");
        assert_eq!(
            redactor.apply("/srv/data/sandbox/packages/1f/scripts/a.py and /srv/data/sandbox/x"),
            "scripts/a.py and [sandbox]/x"
        );
    }

    #[test]
    fn a_value_cut_in_two_by_the_bound_leaves_no_rest() {
        let redactor = Redactor::new(&[("TOKEN".into(), "secretvalue".into())]);
        // The capture starts inside an occurrence.
        let captured = b"retvalue and then secretvalue end";
        assert_eq!(
            redactor.apply_tail(captured, Cut::Beginning, 100),
            "d then [redacted:TOKEN] end"
        );
    }
}
