//! Undefined references of a playbook (ruling 12): registration warns about them, and a run of the playbook does not
//! start. Must not know runs.

use serde_json::{Map, Value};

use super::{Playbook, PlaybookNames};
use crate::catalogue::step_references::{Names, check_references, source_references};
use crate::ids::StepId;
use crate::violation::{Stage, Violation};

/// An undefined reference in a playbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undefined {
    /// The reference and its location in the document.
    pub violation: Violation,
    /// Line within the script, from 1, for a reference in a script body.
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
    /// Returns all undefined references, in field order.
    #[must_use]
    pub fn undefined(&self) -> Vec<Undefined> {
        let known = PlaybookNames::new(self);
        let mut found = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let pointer = format!("/steps/{at}/parameters");
            let (id, before) = (&step.step_id, at);
            found.extend(undefined_in(&step.parameters, &known, id, before, &pointer));
        }
        self.undefined_in_scripts(&known, &mut found);
        for (at, rollback) in self.rollback_steps.iter().enumerate() {
            // A rollback may refer to the parameters and to all steps of the run.
            let pointer = format!("/rollback_steps/{at}/parameters");
            let (id, before) = (&rollback.step_id, self.steps.len());
            found.extend(undefined_in(
                &rollback.parameters,
                &known,
                id,
                before,
                &pointer,
            ));
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

    /// A step's script may refer to earlier steps, a rollback's to all steps. Only Python scripts have placeholders.
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

/// Returns the undefined references of parameters; a step may refer to the steps listed before index `before`.
fn undefined_in(
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
