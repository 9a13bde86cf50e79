//! Undefined references of a playbook (ruling 12): registration warns about them, and a run of the playbook does not
//! start. Must not know runs.

use serde_json::{Map, Value};

use super::{Playbook, PlaybookNames, PlaybookStep};
use crate::catalogue::step_references::{Names, check_references, source_references};
use crate::ids::StepId;
use crate::placeholder::ITEM;
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
            let place = StepScope::of_step(step, at);
            found.extend(undefined_in(&step.parameters, &known, place, &pointer));
            if let Some(for_each) = &step.for_each {
                let items = Map::from_iter([("items".to_owned(), for_each.items.clone())]);
                let place = StepScope {
                    has_item: false,
                    ..place
                };
                let pointer = format!("/steps/{at}/for_each");
                found.extend(undefined_in(&items, &known, place, &pointer));
            }
        }
        self.undefined_in_scripts(&known, &mut found);
        for (at, rollback) in self.rollback_steps.iter().enumerate() {
            // A rollback may refer to the parameters and to all steps of the run.
            let pointer = format!("/rollback_steps/{at}/parameters");
            let place = StepScope {
                step: &rollback.step_id,
                before: self.steps.len(),
                has_item: self.repeats(&rollback.reverses),
            };
            found.extend(undefined_in(&rollback.parameters, &known, place, &pointer));
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

    /// Returns whether a step is repeated for each item of a list.
    fn repeats(&self, step: &StepId) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|known| known.step_id == *step && known.for_each.is_some())
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
            let has_item = self.repeats(&script.step_id);
            let names = Names {
                parameters: &known.parameters,
                step: script.step_id.as_str(),
                is_earlier: &|id: &str| {
                    known.is_listed_before(id, before) || (has_item && id == ITEM)
                },
            };
            let dangling = source_references(body.as_str(), &names, &format!("/scripts/{at}/body"));
            found.extend(dangling.into_iter().map(|(violation, line)| Undefined {
                violation,
                script_line: Some(line),
            }));
        }
    }
}

/// The step that has parameters, and what they may refer to besides the declared parameters.
#[derive(Clone, Copy)]
struct StepScope<'p> {
    step: &'p StepId,
    /// The steps listed before this index.
    before: usize,
    /// Whether `${item}` is an item of a list.
    has_item: bool,
}

impl<'p> StepScope<'p> {
    fn of_step(step: &'p PlaybookStep, at: usize) -> Self {
        Self {
            step: &step.step_id,
            before: at,
            has_item: step.for_each.is_some(),
        }
    }
}

/// Returns the undefined references of parameters.
fn undefined_in(
    parameters: &Map<String, Value>,
    known: &PlaybookNames<'_>,
    place: StepScope<'_>,
    pointer: &str,
) -> Vec<Undefined> {
    let StepScope {
        step,
        before,
        has_item,
    } = place;
    let names = Names {
        parameters: &known.parameters,
        step: step.as_str(),
        is_earlier: &|id: &str| known.is_listed_before(id, before) || (has_item && id == ITEM),
    };
    let found = check_references(parameters, &names, pointer).into_iter();
    found.map(Undefined::of_document).collect()
}
