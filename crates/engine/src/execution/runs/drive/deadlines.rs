//! Deadlines of a run: the lapse of its approvals, and its time limit.

use std::collections::BTreeSet;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::StepId;
use charter_contract::time::Timestamp;
use charter_domain::run::{Command, ErrorKind, TokenUsage};

use super::{InFlight, RunDriver};
use crate::EngineError;
use crate::execution::runs::effect::{StepEnd, failure};

impl RunDriver<'_> {
    /// Returns whether a time is near enough to keep the run until then.
    pub(super) fn is_soon(&self, until: Option<Timestamp>) -> bool {
        until.is_some_and(|until| self.runs.deadlines.time_until(until) < self.runs.settings.lease)
    }

    /// Returns whether the run's time limit has passed; nothing may begin after that.
    pub(super) fn is_past_deadline(&self) -> bool {
        let end = self.folded.run.deadline();
        end.is_some_and(|end| self.runs.deadlines.is_due(end))
    }

    /// Handles expired deadlines: approvals that lapse, and the run's time limit.
    pub(super) async fn handle_deadlines(
        &mut self,
        in_flight: &mut InFlight,
        in_hand: &mut BTreeSet<StepId>,
    ) -> Result<(), EngineError> {
        if self.is_past_deadline() {
            self.apply_command(Command::TimeUp)?;
            self.abandon_effects(in_flight, in_hand).await?;
        }
        self.apply_approval_decisions().await
    }

    /// Ends the running effects. Their results are unknown, and their steps record that.
    async fn abandon_effects(
        &mut self,
        in_flight: &mut InFlight,
        in_hand: &mut BTreeSet<StepId>,
    ) -> Result<(), EngineError> {
        self.cancel.cancel();
        self.cancel = self.runs.background.shutdown.child_token();
        in_flight.clear();
        for step in std::mem::take(in_hand) {
            let message = format!("the run timed out while the step `{step}` was running");
            let failure = failure(ErrorKind::TimeoutError, ErrorCode::ToolTimeout, message);
            let tokens = TokenUsage::default();
            let failed = StepEnd::Failed {
                step,
                failure,
                tokens,
            };
            self.finish_step(failed).await?;
        }
        Ok(())
    }
}
