//! What a playbook refers to and does not have (ruling 12): registration warns about it, and no run of it starts.
//! Must not know runs.

use serde_json::{Map, Value};

use super::{Playbook, PlaybookNames};
use crate::catalogue::step_references::{Names, check_references, source_references};
use crate::ids::StepId;
use crate::violation::{Stage, Violation};

/// Something that a playbook refers to and does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undefined {
    /// What it is, and where in the document it is referred to.
    pub violation: Violation,
    /// The line within the script, from 1, of a reference in the body of one.
    pub script_line: Option<usize>,
}

impl Undefined {
    fn of_document(violation: Violation) -> Self {
        Self {
            violation,
            script_line: None,
        }
    }
}

impl Playbook {
    /// Everything that it refers to and does not have, in the order of its fields.
    #[must_use]
    pub fn undefined(&self) -> Vec<Undefined> {
        let known = PlaybookNames::of(self);
        let mut found = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let pointer = format!("/steps/{at}/parameters");
            let (id, before) = (&step.step_id, at);
            found.extend(dangling(&step.parameters, &known, id, before, &pointer));
        }
        self.undefined_in_scripts(&known, &mut found);
        for (at, rollback) in self.rollback_steps.iter().enumerate() {
            // A reversal may refer to everything that the run has read and written.
            let pointer = format!("/rollback_steps/{at}/parameters");
            let (id, before) = (&rollback.step_id, self.steps.len());
            found.extend(dangling(&rollback.parameters, &known, id, before, &pointer));
            let Some(wanted) = &rollback.script_id else {
                continue;
            };
            if !known.scripts.contains(wanted.as_str()) {
                found.push(Undefined::of_document(Violation {
                    stage: Stage::Meaning,
                    pointer: format!("/rollback_steps/{at}/script_id"),
                    keyword: "dangling".to_owned(),
                    message: format!(
                        "the script `{wanted}` is not defined; the rollback cannot run"
                    ),
                    suggestion: None,
                }));
            }
        }
        found
    }

    /// The body of a step may refer to steps before it, that of a reversal to all. Only Python has placeholders.
    fn undefined_in_scripts(&self, known: &PlaybookNames<'_>, found: &mut Vec<Undefined>) {
        for (at, script) in self.scripts.iter().enumerate() {
            let Some(body) = script.body.as_ref().filter(|_| script.has_placeholders()) else {
                continue;
            };
            let place = known.places.get(script.step_id.as_str()).copied();
            let place = place.filter(|_| !self.is_reversal(script));
            let before = place.unwrap_or(self.steps.len());
            let names = Names {
                parameters: &known.parameters,
                step: script.step_id.as_str(),
                is_earlier: &|id: &str| known.is_listed_before(id, before),
            };
            let dangling = source_references(body.as_str(), &names, &format!("/scripts/{at}/body"));
            found.extend(dangling.into_iter().map(|(violation, line)| Undefined {
                violation,
                script_line: Some(line),
            }));
        }
    }
}

/// The references of parameters to nothing, where a step may refer to those listed before a place.
fn dangling(
    parameters: &Map<String, Value>,
    known: &PlaybookNames<'_>,
    step: &StepId,
    before: usize,
    pointer: &str,
) -> Vec<Undefined> {
    let names = Names {
        parameters: &known.parameters,
        step: step.as_str(),
        is_earlier: &|id: &str| known.is_listed_before(id, before),
    };
    let found = check_references(parameters, &names, pointer).into_iter();
    found.map(Undefined::of_document).collect()
}
