//! Growth of a graph by a step's result: a mission's plan adds its tasks, and a worker that requests tools continues
//! after their calls. A graph grows only at its open end: no settled step changes, and new steps depend on existing
//! ones, not the other way round. The exception is edges that make an existing step wait longer.

use std::collections::{HashMap, HashSet};

use charter_contract::ids::StepId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::size::Size;
use super::{Edge, GraphError, Step, StepGraph, check_expressions, named_by, sources};

/// Steps to add, and edges that make existing steps wait for them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphAdditions {
    /// New steps, listed after the existing ones. A reversal among them reverses another one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// New edges to steps that have not started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<AddedEdge>,
}

/// An edge that is added to an existing step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AddedEdge")]
pub struct AddedEdge {
    /// The step that waits.
    pub step: StepId,
    /// The edge, from a new step.
    pub edge: Edge,
}

impl GraphAdditions {
    /// Returns whether there is nothing to add.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.claims.is_empty()
    }
}

impl StepGraph {
    /// Checks that the graph with this growth is valid, and within the size limits of a run.
    ///
    /// # Errors
    /// The first [`GraphError`] in the order size, duplicate, unknown, reversal, cycle, expression.
    pub fn admits(&self, growth: &GraphAdditions) -> Result<(), GraphError> {
        let mut size = Size::of_run(self);
        growth.steps.iter().try_for_each(|step| size.add(step))?;
        size.add_edges(growth.claims.len())?;
        self.stays_sound(growth)
    }

    fn stays_sound(&self, growth: &GraphAdditions) -> Result<(), GraphError> {
        let mut added = HashSet::with_capacity(growth.steps.len());
        for step in &growth.steps {
            if self.places.contains_key(&step.id) || !added.insert(&step.id) {
                return Err(GraphError::Duplicate(step.id.clone()));
            }
        }
        let unknown = |step: &StepId, missing: &StepId| GraphError::Unknown {
            step: step.clone(),
            missing: missing.clone(),
        };
        let known = |id: &StepId| self.places.contains_key(id) || added.contains(id);
        for step in &growth.steps {
            if let Some(missing) = named_by(step).find(|id| !known(id)) {
                return Err(unknown(&step.id, missing));
            }
        }
        check_reversals(&growth.steps)?;
        for claim in &growth.claims {
            if !self.places.contains_key(&claim.step) || !added.contains(&claim.edge.from) {
                return Err(unknown(&claim.step, &claim.edge.from));
            }
            if self.reverses(&claim.step) {
                return Err(GraphError::Reversal(claim.step.clone()));
            }
        }
        self.stays_acyclic(growth)?;
        growth.steps.iter().try_for_each(check_expressions)
    }

    fn reverses(&self, id: &StepId) -> bool {
        self.step(id).is_some_and(|step| step.reverses.is_some())
    }

    /// A cycle would contain a new step, so the search starts at the steps that depend on new ones.
    fn stays_acyclic(&self, growth: &GraphAdditions) -> Result<(), GraphError> {
        let mut followers: HashMap<&StepId, Vec<&StepId>> = HashMap::new();
        for step in &growth.steps {
            for source in sources(step) {
                followers.entry(source).or_default().push(&step.id);
            }
        }
        for claim in &growth.claims {
            followers
                .entry(&claim.edge.from)
                .or_default()
                .push(&claim.step);
        }
        let steps = self.steps();
        let next = |id: &'_ StepId| -> Vec<StepId> {
            let settled = self.place(id).map_or(&[][..], |at| self.followers(at));
            let there = settled.iter().map(|at| steps[*at].id.clone());
            let late = followers.get(id).into_iter().flatten();
            there.chain(late.map(|id| (*id).clone())).collect()
        };
        let mut done: HashSet<StepId> = HashSet::new();
        for step in &growth.steps {
            walk(&step.id, &next, &mut done)?;
        }
        Ok(())
    }

    /// Adds growth that [`StepGraph::admits`], and returns the index of the first new step. Growth in a journal was
    /// admitted under the limits of its time.
    ///
    /// # Errors
    /// As for [`StepGraph::admits`], except for the size; the graph remains unchanged.
    pub(crate) fn grow(&mut self, growth: &GraphAdditions) -> Result<usize, GraphError> {
        self.stays_sound(growth)?;
        let first = self.parts.steps.len();
        for (at, step) in (first..).zip(&growth.steps) {
            self.places.insert(step.id.clone(), at);
            self.followers.push(Vec::new());
            self.reversals.push(None);
            self.parts.steps.push(step.clone());
        }
        for (at, step) in (first..).zip(&growth.steps) {
            if let Some(reversed) = &step.reverses {
                self.reversals[self.places[reversed]] = Some(at);
            }
        }
        for (at, step) in (first..).zip(&growth.steps) {
            for source in sources(step) {
                self.followers[self.places[source]].push(at);
            }
        }
        for claim in &growth.claims {
            let (at, from) = (self.places[&claim.step], self.places[&claim.edge.from]);
            if !self.followers[from].contains(&at) {
                self.followers[from].push(at);
            }
            self.parts.steps[at].entry.edges.push(claim.edge.clone());
        }
        Ok(first)
    }
}

/// Checks that each reversal reverses another one of the steps, and is the only one to do so.
fn check_reversals(steps: &[Step]) -> Result<(), GraphError> {
    let forward = steps.iter().filter(|step| step.reverses.is_none());
    let mut open: HashSet<&StepId> = forward.map(|step| &step.id).collect();
    for step in steps {
        let Some(reversed) = &step.reverses else {
            continue;
        };
        let waits = !step.entry.edges.is_empty() || step.entry.when.is_some();
        if waits || !open.remove(reversed) {
            return Err(GraphError::Reversal(step.id.clone()));
        }
    }
    Ok(())
}

/// Visits all successors of `from`, depth first without recursion. `done` holds nodes that are known not to lead into a
/// cycle.
fn walk(
    from: &StepId,
    next: &impl Fn(&StepId) -> Vec<StepId>,
    done: &mut HashSet<StepId>,
) -> Result<(), GraphError> {
    if done.contains(from) {
        return Ok(());
    }
    let mut path: Vec<(StepId, Vec<StepId>)> = vec![(from.clone(), next(from))];
    let mut on_path: HashSet<StepId> = HashSet::from([from.clone()]);
    while let Some((_, left)) = path.last_mut() {
        let Some(follower) = left.pop() else {
            if let Some((id, _)) = path.pop() {
                on_path.remove(&id);
                done.insert(id);
            }
            continue;
        };
        if on_path.contains(&follower) {
            let ids = path.iter().map(|(id, _)| id);
            let mut cycle: Vec<StepId> = ids.skip_while(|id| **id != follower).cloned().collect();
            cycle.push(follower);
            return Err(GraphError::Cycle(cycle));
        }
        if !done.contains(&follower) {
            let after = next(&follower);
            on_path.insert(follower.clone());
            path.push((follower, after));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
