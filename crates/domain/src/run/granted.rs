//! What people agreed to, and which calls their agreement covers: exactly the call that they saw, until
//! the approval lapses. Knows neither approvals' records nor who may decide.

use charter_contract::ids::UserId;
use charter_contract::time::Timestamp;

use super::Run;
use super::standing::Grant;
use crate::approval::ExactCall;
use crate::gate::{GateDecision, RuleKind};

impl Run {
    /// Whether a call may happen at `now`: the gate allows it, or what it asks for is there.
    #[must_use]
    pub fn permits(&self, call: &ExactCall, decision: &GateDecision, now: Timestamp) -> bool {
        match decision {
            GateDecision::Allow { .. } => true,
            GateDecision::Deny { .. } => false,
            GateDecision::NeedsApproval { .. } => self.lifting(call, decision, now).is_some(),
        }
    }

    /// Who agreed to exactly this call, as far as their approval covers what the gate asks for at `now`.
    #[must_use]
    pub fn approver(
        &self,
        call: &ExactCall,
        decision: &GateDecision,
        now: Timestamp,
    ) -> Option<&UserId> {
        let at = self.graph.place(&call.step)?;
        self.grant(at, call, decision, now).map(|grant| &grant.by)
    }

    /// When the approval lapses that a call would begin under at `now`; `None` where it needs none or
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
                let at = self.graph.place(&call.step)?;
                let grant = self.grant(at, call, decision, now)?;
                Some(grant.expires_at)
            }
        }
    }

    /// The decision that a step would begin under at `now`: what was approved, or is a reversal, is
    /// lifted.
    #[must_use]
    pub fn lifted(&self, call: &ExactCall, decision: GateDecision, now: Timestamp) -> GateDecision {
        match self.lifting(call, &decision, now) {
            Some(by) => decision.approved(&by),
            None => decision,
        }
    }

    /// What stands in for the person that the gate asks for.
    fn lifting(&self, call: &ExactCall, decision: &GateDecision, now: Timestamp) -> Option<String> {
        let at = self.graph.place(&call.step)?;
        if let Some(grant) = self.grant(at, call, decision, now) {
            return Some(grant.approval.to_string());
        }
        // What permitted a write permits its reversal, but not to reverse it twice.
        let reversed = self.graph.steps()[at].reverses.as_ref()?;
        (!asks_to_repeat(decision)).then(|| format!("reversal of {reversed}"))
    }

    /// The approval that covers a call: one given for exactly it that has not lapsed. Where repeating an
    /// interrupted call is what is asked about, one that an attempt began under does not count.
    fn grant(
        &self,
        at: usize,
        call: &ExactCall,
        decision: &GateDecision,
        now: Timestamp,
    ) -> Option<&Grant> {
        let grant = self.slots[at].grant.as_ref()?;
        let spent = grant.used && asks_to_repeat(decision);
        let lapsed = now >= grant.expires_at;
        (!spent && !lapsed && grant.digest == call.digest()).then_some(grant)
    }
}

/// Whether a person is asked about repeating what may have happened.
fn asks_to_repeat(decision: &GateDecision) -> bool {
    let mut rules = decision.rules().iter();
    rules.any(|rule| rule.kind == RuleKind::Interrupted)
}
