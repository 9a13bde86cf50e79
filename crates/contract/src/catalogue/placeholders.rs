//! The placeholders allowed in texts that may use a few fixed names and no step of a plan: prompts, outlines of
//! missions, the parameters of write-backs. Values are filled in later, elsewhere.

use serde_json::{Map, Value};

use crate::placeholder::{Placeholder, PlaceholderError, Segment, each_string, segments};
use crate::violation::{Report, pointer_segment};

/// The names that the placeholders of a text may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlaceholderScope {
    /// Names of values: `${goal}`.
    pub(super) values: &'static [&'static str],
    /// Names of objects, from which a placeholder selects one part: `${payload.stage}`.
    pub(super) objects: &'static [&'static str],
}

impl PlaceholderScope {
    /// Reports placeholders of a text that use another name or are not closed.
    pub(super) fn check(self, text: &str, pointer: &str, report: &mut Report) {
        let parts = match segments(text) {
            Ok(parts) => parts,
            Err(error @ (PlaceholderError::NotClosed | PlaceholderError::TooMany)) => {
                return report.meaning(pointer, "placeholder", error.to_string());
            }
            Err(PlaceholderError::BadName(name)) => return self.unknown(&name, pointer, report),
        };
        for part in parts {
            match part {
                Segment::Text(_) => {}
                Segment::Placeholder(Placeholder::Step { step, path: "" })
                    if self.values.contains(&step) => {}
                Segment::Placeholder(Placeholder::Step { step, path })
                    if !path.is_empty() && self.objects.contains(&step) => {}
                Segment::Placeholder(Placeholder::Step { step, path: "" }) => {
                    self.unknown(step, pointer, report);
                }
                Segment::Placeholder(Placeholder::Step { step, path }) => {
                    self.unknown(&format!("{step}.{path}"), pointer, report);
                }
                Segment::Placeholder(Placeholder::User(name)) => {
                    self.unknown(&format!("user.{name}"), pointer, report);
                }
            }
        }
    }

    /// Checks every string inside `values`.
    pub(super) fn check_all(self, values: &Map<String, Value>, pointer: &str, report: &mut Report) {
        for (name, value) in values {
            let here = format!("{pointer}/{}", pointer_segment(name));
            each_string(value, &here, &mut |place, text| {
                self.check(text, place, report);
            });
        }
    }

    fn unknown(self, name: &str, pointer: &str, report: &mut Report) {
        let values = self.values.iter().map(|name| format!("`${{{name}}}`"));
        let objects = self.objects.iter();
        let objects = objects.map(|name| format!("`${{{name}.…}}`"));
        let known: Vec<String> = values.chain(objects).collect();
        let known = known.join(", ");
        let message = format!("`${{{name}}}` is not a placeholder here: use {known}");
        report.meaning(pointer, "placeholder", message);
    }
}
