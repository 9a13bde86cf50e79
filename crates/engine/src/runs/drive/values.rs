//! What the values of one run may take together, and the memory of what is being written.

use charter_contract::bounds::RUN_MEMORY;
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::StepId;
use charter_contract::json::memory_of;
use charter_domain::graph::{Growth, Step};
use charter_domain::run::{ErrorKind, StepFailure};
use serde_json::Value;

use super::Drive;
use crate::runs::effect::{StepEnd, failure};

impl Drive<'_> {
    /// The end of a step whose result the run may not have.
    pub(super) fn refused(&self, step: &StepId, refusal: StepFailure, end: &StepEnd) -> StepEnd {
        let writes = self.folded.run.graph().step(step).is_some_and(Step::writes);
        let step = step.clone();
        // A write has happened, whatever becomes of its answer.
        if writes && !self.folded.run.is_dry_run() && self.workspace.desk.is_none() {
            return StepEnd::InDoubt { step, refusal };
        }
        StepEnd::Failed {
            step,
            failure: refusal,
            tokens: end.tokens(),
        }
    }

    /// Whether the run may have a step's result, and what the result adds to its plan.
    pub(super) fn has_room_for(&self, output: &Value, growth: &Growth) -> Result<(), StepFailure> {
        let memory = self.folded.run.memory().saturating_add(memory_of(output));
        if memory > RUN_MEMORY {
            let message = format!(
                "with its output the values of the run take {memory} bytes of memory by estimate, more than \
                 RUN_MEMORY = {RUN_MEMORY}: let tools answer less, or make several runs of it"
            );
            return Err(failure(
                ErrorKind::ResourceError,
                ErrorCode::TooLarge,
                message,
            ));
        }
        if growth.is_empty() {
            return Ok(());
        }
        self.folded.run.graph().admits(growth).map_err(|error| {
            let message = format!("what the step adds to the plan does not fit: {error}");
            failure(
                ErrorKind::ExecutionError,
                ErrorCode::InvalidDocument,
                message,
            )
        })
    }
}
