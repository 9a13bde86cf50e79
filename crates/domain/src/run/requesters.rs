//! The users that requested the calls of a run, and so may not approve them (ruling 33).

use std::collections::{BTreeMap, BTreeSet};

use charter_contract::ids::{StepId, UserId};

use super::event::{ResultSource, RunEvent};
use crate::graph::{PlanSource, StepAction, StepGraph};
use crate::reference::{Reference, references};

/// The users that requested a run: they started it, supplied parameters, confirmed its plan, reported a step's result,
/// or their agents made one. The makers of their keys are included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requesters {
    /// The users that requested the whole run.
    of_run: BTreeSet<UserId>,
    /// The users that reported or contributed results, by step.
    by_report: BTreeMap<StepId, BTreeSet<UserId>>,
}

impl Requesters {
    /// Starts with the users that started the run.
    pub(super) fn new(of_run: BTreeSet<UserId>) -> Self {
        Self {
            of_run,
            by_report: BTreeMap::new(),
        }
    }

    /// Returns all of them.
    #[must_use]
    pub fn all(&self) -> BTreeSet<UserId> {
        let reported = self.by_report.values().flatten();
        self.of_run.iter().chain(reported).cloned().collect()
    }

    /// Returns the users that requested the call of a step of the run's graph. A user that reported a result has
    /// requested the calls whose arguments come from it; in a mission, all following calls.
    #[must_use]
    pub fn of_step(&self, step: &StepId, graph: &StepGraph) -> BTreeSet<UserId> {
        if let Some(PlanSource::Mission(_)) = graph.source() {
            return self.all();
        }
        let mut requesters = self.of_run.clone();
        let mut sources = BTreeSet::new();
        let mut open = vec![step.clone()];
        while let Some(step) = open.pop() {
            for source in referred(graph, &step) {
                requesters.extend(self.by_report.get(&source).into_iter().flatten().cloned());
                if sources.insert(source.clone()) {
                    open.push(source);
                }
            }
        }
        requesters
    }

    /// Adds the requesters of an event. A user that reports a step's result without knowing its output has chosen
    /// nothing.
    pub(super) fn note(&mut self, event: &RunEvent) {
        if let RunEvent::ParametersGiven { by, makers, .. } = event {
            self.of_run.extend(by.iter().chain(makers).cloned());
        }
        if let RunEvent::Confirmed { by, makers, .. } = event {
            let names = std::iter::once(by).chain(makers);
            self.of_run.extend(names.cloned());
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
            self.by_report
                .insert(step.clone(), names.cloned().collect());
        }
        if let RunEvent::StepSucceeded { step, brings, .. } = event
            && !brings.contributors.is_empty()
        {
            let contributors = self.by_report.entry(step.clone()).or_default();
            contributors.extend(brings.contributors.iter().cloned());
        }
    }

    /// Forgets the reports on the steps of a plan that a fallback replaced.
    pub(super) fn forget_reports(&mut self) {
        self.by_report.clear();
    }
}

/// Returns the steps whose results the arguments of a step refer to.
fn referred(graph: &StepGraph, step: &StepId) -> Vec<StepId> {
    let Some(step) = graph.step(step) else {
        return Vec::new();
    };
    let mut found = in_action(&step.action);
    // The list that an item is taken from.
    let item = step.item.as_deref();
    if let Some(repeated) = item.and_then(|item| graph.step(&item.of))
        && let StepAction::ForEach { items, .. } = &repeated.action
    {
        found.extend(references(items).unwrap_or_default());
    }
    let steps = found.into_iter().filter_map(|found| match found {
        Reference::Output { step, .. } => Some(step),
        Reference::Parameter(_) => None,
    });
    let items = graph.items_of(step).into_iter();
    steps.chain(items.map(|item| item.id.clone())).collect()
}

/// Returns the references of an action.
fn in_action(action: &StepAction) -> Vec<Reference> {
    match action {
        StepAction::Call { arguments, .. } => {
            let templates = arguments.templates();
            let found = templates.filter_map(|value| references(value).ok());
            found.flatten().collect()
        }
        StepAction::Conclude { output } => references(output).unwrap_or_default(),
        StepAction::ForEach { items, each, .. } => {
            let mut found = references(items).unwrap_or_default();
            found.extend(in_action(each));
            found
        }
        StepAction::Choose { .. } => Vec::new(),
    }
}
