//! Granted approvals and the calls that they cover: exactly the approved call, until the approval lapses. Knows neither
//! stored approvals nor the rules about approvers.

use charter_contract::ids::{StepId, UserId};
use charter_contract::time::Timestamp;

use super::standing::Grant;
use super::steps::RunSteps;
use crate::approval::ExactCall;
use crate::gate::{GateDecision, RuleKind};

impl RunSteps {
    /// Returns whether a person approved a call of the step.
    #[must_use]
    pub fn is_granted(&self, step: &StepId) -> bool {
        let at = self.graph.place(step);
        at.is_some_and(|at| self.slots[at].grant.is_some())
    }

    /// Returns whether a call may happen at `now`: the gate allows it, or the required approval exists.
    #[must_use]
    pub fn permits(&self, call: &ExactCall, decision: &GateDecision, now: Timestamp) -> bool {
        match decision {
            GateDecision::Allow { .. } => true,
            GateDecision::Deny { .. } => false,
            GateDecision::NeedsApproval { .. } => self.lifting(call, decision, now).is_some(),
        }
    }

    /// Returns the user that approved exactly this call, if the approval covers the gate's requirement at `now`.
    #[must_use]
    pub fn approver(
        &self,
        call: &ExactCall,
        decision: &GateDecision,
        now: Timestamp,
    ) -> Option<&UserId> {
        self.grant_for(call, decision, now).map(|grant| &grant.by)
    }

    /// Returns the time at which the approval lapses that a call would begin with at `now`; `None` if it needs none or
    /// has none.
    #[must_use]
    pub fn approval_end(
        &self,
        call: &ExactCall,
        decision: &GateDecision,
        now: Timestamp,
    ) -> Option<Timestamp> {
        match decision {
            GateDecision::Allow { .. } | GateDecision::Deny { .. } => None,
            GateDecision::NeedsApproval { .. } => {
                let grant = self.grant_for(call, decision, now)?;
                Some(grant.expires_at)
            }
        }
    }

    /// Returns the decision with which a step would begin at `now`: an approval, or being a reversal, lifts the
    /// requirement of approval.
    #[must_use]
    pub fn lifted(&self, call: &ExactCall, decision: GateDecision, now: Timestamp) -> GateDecision {
        match self.lifting(call, &decision, now) {
            Some(by) => decision.approved(&by),
            None => decision,
        }
    }

    /// Returns the reason that lifts the requirement of approval.
    fn lifting(&self, call: &ExactCall, decision: &GateDecision, now: Timestamp) -> Option<String> {
        if let Some(grant) = self.grant_for(call, decision, now) {
            return Some(grant.approval.to_string());
        }
        // The approval of a write covers its reversal, but not a repeat of the reversal.
        let reversed = self.graph.step(&call.step)?.reverses.as_ref()?;
        (!asks_to_repeat(decision)).then(|| format!("reversal of {reversed}"))
    }

    /// Returns the approval that covers a call: one for exactly this call that has not lapsed. If the question is
    /// whether to repeat an interrupted call, an approval with which an attempt began does not count.
    fn grant_for(
        &self,
        call: &ExactCall,
        decision: &GateDecision,
        now: Timestamp,
    ) -> Option<&Grant> {
        let at = self.graph.place(&call.step)?;
        let grant = self.slots[at].grant.as_ref()?;
        let spent = grant.used && asks_to_repeat(decision);
        let lapsed = now >= grant.expires_at;
        (!spent && !lapsed && grant.digest == call.digest()).then_some(grant)
    }
}

/// Returns whether the approval is about repeating a call that may have happened.
fn asks_to_repeat(decision: &GateDecision) -> bool {
    let mut rules = decision.rules().iter();
    rules.any(|rule| rule.kind == RuleKind::Interrupted)
}
