//! Limits on the memory of one run's values, and the reservation of that memory.

use charter_contract::bounds::{LARGE_OUTPUT, RUN_MEMORY};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::StepId;
use charter_contract::json::memory_of;
use charter_domain::graph::{GraphAdditions, Step};
use charter_domain::run::{ErrorKind, StepFailure};
use charter_store::journal::NextPhase;
use serde_json::Value;

use super::RunDriver;
use crate::EngineError;
use crate::execution::outputs::VALUES_TIMEOUT;
use crate::execution::runs::effect::{StepEnd, failure};

impl RunDriver<'_> {
    /// Memory of the run's values that is not reserved.
    fn unhoused(&self) -> usize {
        let memory = self.folded.run.memory().min(RUN_MEMORY);
        memory.saturating_sub(self.room.set_aside())
    }

    /// Returns whether small values have accumulated beyond the limit for unreserved memory.
    pub(super) fn lacks_room(&self) -> bool {
        self.unhoused() > LARGE_OUTPUT
    }

    /// Waits for that memory while no effect of the run is running.
    pub(super) async fn make_room(&mut self) -> Result<(), EngineError> {
        self.write(NextPhase::Runs).await?;
        let taken = self.room.take(self.unhoused(), VALUES_TIMEOUT);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {}
            Some(order) = self.orders.recv() => self.handle_message(order).await?,
            part = taken => self.kept.extend(part?),
        }
        Ok(())
    }

    /// Returns the end of a step whose result the run may not keep.
    pub(super) fn refused(&self, step: &StepId, refusal: StepFailure, end: &StepEnd) -> StepEnd {
        let writes = self.folded.run.graph().step(step).is_some_and(Step::writes);
        let step = step.clone();
        // The write has happened, even if its answer is refused.
        if writes && !self.folded.run.is_dry_run() && self.pinned.workspace.desk.is_none() {
            return StepEnd::InDoubt { step, refusal };
        }
        StepEnd::Failed {
            step,
            failure: refusal,
            tokens: end.tokens(),
        }
    }

    /// Returns whether the run may keep a step's result and the steps that the result adds to the plan.
    pub(super) fn has_room_for(
        &self,
        output: &Value,
        growth: &GraphAdditions,
    ) -> Result<(), StepFailure> {
        let memory = self.folded.run.memory().saturating_add(memory_of(output));
        if memory > RUN_MEMORY {
            let message = format!(
                "with its output the values of the run take an estimated {memory} bytes of memory, more than \
                 RUN_MEMORY = {RUN_MEMORY}: let tools return less, or split the run"
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
            let message = format!("the step adds invalid steps to the plan: {error}");
            failure(
                ErrorKind::ExecutionError,
                ErrorCode::InvalidDocument,
                message,
            )
        })
    }
}
