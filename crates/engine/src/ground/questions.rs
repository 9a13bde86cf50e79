//! Long questions to the gate: expressions of guardrails and plans, and policies. Such a question is answered in a slot
//! that tenants get in turn, while the thread's other tasks continue on another thread. An answer is bounded
//! (`CEL_STEPS`, `CEDAR_STEPS`) and cannot be interrupted. A question whose caller leaves while waiting for a slot is
//! dropped. Must not know the question.

use charter_contract::ids::TenantId;

use crate::ground::apart::apart;
use crate::ground::fair_slots::{FairSlots, Slot};

/// Maximum long questions that this process answers at once.
pub(crate) const MAX_CONCURRENT: usize = 2;

/// How long an answer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// No expression and no policy is evaluated.
    Moment,
    /// Expressions or policies are evaluated.
    Long,
}

impl Effort {
    /// Returns the effort of a question that is long if any of these holds.
    pub(crate) fn long_if_any(reasons: impl IntoIterator<Item = bool>) -> Self {
        match reasons.into_iter().any(|reason| reason) {
            true => Self::Long,
            false => Self::Moment,
        }
    }
}

/// Where a question is answered.
#[derive(Debug)]
pub(crate) enum EvaluationSlot {
    /// In the thread, among its other tasks.
    Here,
    /// Apart from them, while holding this slot.
    Apart(Slot),
}

impl EvaluationSlot {
    /// Answers a question, and releases the slot.
    pub(crate) fn ask<T>(self, question: impl FnOnce() -> T) -> T {
        match self {
            Self::Here => question(),
            Self::Apart(place) => {
                let answer = apart(question);
                drop(place);
                answer
            }
        }
    }
}

/// The slots for long questions to the gate, shared fairly between tenants. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct QuestionSlots(FairSlots);

impl Default for QuestionSlots {
    fn default() -> Self {
        Self(FairSlots::new(MAX_CONCURRENT))
    }
}

impl QuestionSlots {
    /// Waits for a slot for a question of this tenant, if answering it takes long.
    pub(crate) async fn slot_for(&self, tenant: &TenantId, effort: Effort) -> EvaluationSlot {
        match effort {
            Effort::Moment => EvaluationSlot::Here,
            Effort::Long => EvaluationSlot::Apart(self.0.take(tenant).await),
        }
    }

    /// The slots themselves, for tests that hold them.
    #[cfg(test)]
    pub(crate) fn slots(&self) -> &FairSlots {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    /// The only worker thread is busy with the question, and a task that was spawned on it runs nevertheless.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn tasks_continue_while_a_long_question_is_answered() {
        let slots = FairSlots::new(1);
        let tenant = TenantId::parse("a").unwrap();
        let held = slots.clone();
        let asking = tokio::spawn(async move {
            let place = EvaluationSlot::Apart(held.take(&tenant).await);
            let (other, has_run) = mpsc::channel();
            tokio::spawn(async move { other.send(()).unwrap() });
            place.ask(move || has_run.recv_timeout(Duration::from_secs(30)))
        });
        assert_eq!(asking.await.unwrap(), Ok(()));
        assert_eq!(slots.free(), 1);
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_answers_too_and_the_place_comes_back() {
        let slots = FairSlots::new(1);
        let tenant = TenantId::parse("a").unwrap();
        let place = EvaluationSlot::Apart(slots.take(&tenant).await);
        assert_eq!(slots.free(), 0);
        assert_eq!(place.ask(|| 7), 7);
        assert_eq!(slots.free(), 1);
        assert_eq!(EvaluationSlot::Here.ask(|| 8), 8);
    }

    #[test]
    fn one_reason_makes_a_question_long() {
        assert_eq!(Effort::long_if_any([false, true]), Effort::Long);
        assert_eq!(Effort::long_if_any([false, false]), Effort::Moment);
    }
}
