//! Size limits of a graph: its steps and their dependencies, including its fallbacks. Must not know documents.

use charter_contract::bounds::{PLAN_EDGES, PLAN_STEPS, RUN_EDGES, RUN_STEPS};

use super::{GraphError, Step, StepGraph};

/// The number of steps and dependencies, with their limits.
#[derive(Debug)]
pub(super) struct Size {
    steps: Count,
    edges: Count,
}

#[derive(Debug)]
struct Count {
    what: &'static str,
    found: usize,
    most: usize,
    limit: &'static str,
}

impl Size {
    /// Creates the counters for a plan that is to be compiled.
    pub(super) fn of_plan() -> Self {
        Self {
            steps: Count::up_to(PLAN_STEPS, "steps", "PLAN_STEPS"),
            edges: Count::up_to(PLAN_EDGES, "dependencies between its steps", "PLAN_EDGES"),
        }
    }

    /// Creates the counters for a graph that may grow.
    pub(super) fn of_run(graph: &StepGraph) -> Self {
        let mut size = Self {
            steps: Count::up_to(RUN_STEPS, "steps", "RUN_STEPS"),
            edges: Count::up_to(RUN_EDGES, "dependencies between its steps", "RUN_EDGES"),
        };
        for step in graph.all_steps() {
            size.steps.found += 1;
            size.edges.found += step.entry.edges.len();
        }
        size
    }

    /// Counts a step and its dependencies.
    pub(super) fn add(&mut self, step: &Step) -> Result<(), GraphError> {
        self.add_steps(1)?;
        self.add_edges(step.entry.edges.len())
    }

    pub(super) fn add_steps(&mut self, steps: usize) -> Result<(), GraphError> {
        self.steps.add(steps)
    }

    pub(super) fn add_edges(&mut self, edges: usize) -> Result<(), GraphError> {
        self.edges.add(edges)
    }
}

impl Count {
    fn up_to(most: usize, what: &'static str, limit: &'static str) -> Self {
        Self {
            what,
            found: 0,
            most,
            limit,
        }
    }

    fn add(&mut self, more: usize) -> Result<(), GraphError> {
        self.found = self.found.saturating_add(more);
        if self.found <= self.most {
            return Ok(());
        }
        Err(GraphError::TooLarge {
            what: self.what,
            most: self.most,
            limit: self.limit,
        })
    }
}
