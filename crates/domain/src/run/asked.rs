//! The users who asked for the calls of a run, and so do not approve them (ruling 33).

use std::collections::BTreeSet;

use charter_contract::ids::{StepId, UserId};

use super::Run;
use super::event::{ResultSource, RunEvent};
use crate::graph::{PlanSource, StepAction};
use crate::reference::{Reference, references};

impl Run {
    /// The users who asked for the run: they started it, gave parameters, confirmed its plan or reported a
    /// step's result. The makers of their keys are included.
    #[must_use]
    pub fn askers(&self) -> BTreeSet<UserId> {
        let reported = self.reported.values().flatten();
        self.requesters.iter().chain(reported).cloned().collect()
    }

    /// The users who asked for a step's call. A person who reported a result has asked for the calls whose
    /// arguments come from it; in a mission, for all that follow.
    #[must_use]
    pub fn askers_of(&self, step: &StepId) -> BTreeSet<UserId> {
        if let Some(PlanSource::Mission(_)) = self.graph.source() {
            return self.askers();
        }
        let mut askers = self.requesters.clone();
        let mut sources = BTreeSet::new();
        let mut open = vec![step.clone()];
        while let Some(step) = open.pop() {
            for source in self.referred(&step) {
                askers.extend(self.reported.get(&source).into_iter().flatten().cloned());
                if sources.insert(source.clone()) {
                    open.push(source);
                }
            }
        }
        askers
    }

    /// The steps whose results the arguments of a step refer to.
    fn referred(&self, step: &StepId) -> Vec<StepId> {
        let Some(step) = self.graph.step(step) else {
            return Vec::new();
        };
        let found: Vec<Reference> = match &step.action {
            StepAction::Call { arguments, .. } => {
                let templates = arguments.templates();
                let found = templates.filter_map(|value| references(value).ok());
                found.flatten().collect()
            }
            StepAction::Conclude { output } => references(output).unwrap_or_default(),
            StepAction::Choose { .. } => Vec::new(),
        };
        let steps = found.into_iter().filter_map(|found| match found {
            Reference::Output { step, .. } => Some(step),
            Reference::Parameter(_) => None,
        });
        steps.collect()
    }

    /// Notes who asks by an event. A person who reports a step's result without knowing what it came to has
    /// chosen nothing.
    pub(super) fn note_askers(&mut self, event: &RunEvent) {
        if let RunEvent::ParametersGiven { by, makers, .. } = event {
            self.requesters.extend(by.iter().chain(makers).cloned());
        }
        if let RunEvent::Confirmed { by, makers, .. } = event {
            let names = std::iter::once(by).chain(makers);
            self.requesters.extend(names.cloned());
        }
        if let RunEvent::StepSucceeded {
            step,
            output,
            source: ResultSource::Reported { by, makers, .. },
            ..
        } = event
            && !output.is_null()
        {
            let names = std::iter::once(by).chain(makers);
            self.reported.insert(step.clone(), names.cloned().collect());
        }
    }
}
