//! Checks that the placeholders of a step refer to something defined (ruling 12). A skill rejects undefined
//! references; a playbook warns. The caller makes that choice.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::placeholder::{Placeholder, Segment, each_string, segments, segments_of_source};
use crate::violation::{MAX_VIOLATIONS, Stage, Violation, pointer_segment};

/// The names that a step may refer to.
pub(super) struct Names<'a> {
    /// Declared parameters.
    pub(super) parameters: &'a BTreeSet<&'a str>,
    /// Id of the step itself.
    pub(super) step: &'a str,
    /// Whether a step's output exists when this step starts.
    pub(super) is_earlier: &'a dyn Fn(&str) -> bool,
}

/// Reports the malformed and undefined placeholders of `parameters`, up to the size of a report.
pub(super) fn check_references(
    parameters: &Map<String, Value>,
    names: &Names<'_>,
    pointer: &str,
) -> Vec<Violation> {
    let mut found = Vec::new();
    for (name, value) in parameters {
        let here = format!("{pointer}/{}", pointer_segment(name));
        each_string(value, &here, &mut |place, text| {
            if found.len() < MAX_VIOLATIONS {
                found.extend(text_references(text, names, place));
            }
        });
    }
    found
}

/// Returns the undefined placeholders in a script's source, each with its line, from 1. Malformed placeholders are
/// syntax of the script's language.
pub(super) fn source_references(
    source: &str,
    names: &Names<'_>,
    pointer: &str,
) -> Vec<(Violation, usize)> {
    let parts = match segments_of_source(source) {
        Ok(parts) => parts,
        Err(error) => return vec![(violation(pointer, error.to_string()), 1)],
    };
    let (mut line, mut counted) = (1, 0);
    let mut found = Vec::new();
    for (at, part) in &parts {
        line += source[counted..at.start].matches('\n').count();
        counted = at.start;
        found.extend(dangling_reference(part, names, pointer).map(|violation| (violation, line)));
    }
    found.truncate(MAX_VIOLATIONS);
    found
}

/// Returns the malformed and undefined placeholders of one text.
fn text_references(text: &str, names: &Names<'_>, pointer: &str) -> Vec<Violation> {
    match segments(text) {
        Ok(parts) => parts
            .iter()
            .filter_map(|part| dangling_reference(part, names, pointer))
            .take(MAX_VIOLATIONS)
            .collect(),
        Err(error) => vec![violation(pointer, error.to_string())],
    }
}

fn dangling_reference(part: &Segment<'_>, names: &Names<'_>, pointer: &str) -> Option<Violation> {
    let message = match part {
        Segment::Text(_) => return None,
        Segment::Placeholder(Placeholder::User(name)) if names.parameters.contains(name) => {
            return None;
        }
        Segment::Placeholder(Placeholder::User(name)) => {
            format!("`${{user.{name}}}`: no parameter `{name}` is declared")
        }
        Segment::Placeholder(Placeholder::Step { step, .. }) if (names.is_earlier)(step) => {
            return None;
        }
        Segment::Placeholder(Placeholder::Step { step, .. }) => {
            format!(
                "`${{{step}}}`: no step `{step}` runs before `{}`",
                names.step
            )
        }
    };
    Some(violation(pointer, message))
}

fn violation(pointer: &str, message: String) -> Violation {
    Violation {
        stage: Stage::Meaning,
        pointer: pointer.to_owned(),
        keyword: "placeholder".to_owned(),
        message,
        suggestion: None,
    }
}
