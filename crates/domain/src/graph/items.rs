//! The steps that a repeated step adds to its graph, one for each item of its list, with their reversals. An item waits
//! for the end of the item before it, by the number of items that may run at the same time.

use charter_contract::ids::StepId;
use serde_json::Value;

use super::{
    AddedEdge, Edge, EdgeCondition, Entry, GraphAdditions, GraphError, Step, StepAction, StepGraph,
    StepItem,
};

impl StepGraph {
    /// Returns the items that a repeated step waits for, in the order of its list; empty before they are added.
    pub(crate) fn items_of(&self, step: &Step) -> Vec<&Step> {
        let sources = step.entry.edges.iter();
        let sources = sources.filter_map(|edge| self.step(&edge.from));
        sources
            .filter(|source| {
                source
                    .item
                    .as_deref()
                    .is_some_and(|item| item.of == step.id)
            })
            .collect()
    }

    /// Returns the steps for the items of a repeated step, and the edges that make it wait for them.
    ///
    /// # Errors
    /// An id that is too long or in use; more steps or dependencies than a run may have.
    pub(crate) fn with_items(
        &self,
        step: &Step,
        items: Vec<Value>,
    ) -> Result<GraphAdditions, GraphError> {
        let mut growth = GraphAdditions::default();
        let StepAction::ForEach {
            each, concurrency, ..
        } = &step.action
        else {
            return Ok(growth);
        };
        let reversal = self.place(&step.id).and_then(|at| self.reversal_of(at));
        let reversal = reversal.map(|at| &self.steps()[at]);
        let needed = step.entry.edges.iter();
        let needed: Vec<Edge> = needed
            .filter(|edge| edge.on == EdgeCondition::Success)
            .cloned()
            .collect();
        let mut reversals = Vec::new();
        for (at, value) in items.into_iter().enumerate() {
            let id = numbered(&step.id, at + 1)?;
            let mut edges = needed.clone();
            if let Some(before) = (at + 1)
                .checked_sub((*concurrency).max(1))
                .filter(|n| *n > 0)
            {
                edges.push(settled(numbered(&step.id, before)?));
            }
            if let Some(reversal) = reversal {
                reversals.push(Step {
                    id: numbered(&reversal.id, at + 1)?,
                    reverses: Some(id.clone()),
                    ..reversal.clone()
                });
            }
            growth.claims.push(AddedEdge {
                step: step.id.clone(),
                edge: settled(id.clone()),
            });
            growth.steps.push(Step {
                id,
                action: StepAction::clone(each),
                entry: Entry {
                    edges,
                    ..Entry::default()
                },
                item: Some(Box::new(StepItem {
                    of: step.id.clone(),
                    number: at + 1,
                    value,
                })),
                ..step.clone()
            });
        }
        growth.steps.extend(reversals);
        self.admits(&growth)?;
        Ok(growth)
    }
}

fn settled(from: StepId) -> Edge {
    Edge {
        from,
        on: EdgeCondition::Settled,
    }
}

/// Returns the id of an item's step. Its dot keeps it out of references, in which a dot begins a path.
fn numbered(id: &StepId, number: usize) -> Result<StepId, GraphError> {
    let numbered = format!("{id}.{number}");
    StepId::parse(&numbered).map_err(|_| GraphError::Name(numbered))
}
