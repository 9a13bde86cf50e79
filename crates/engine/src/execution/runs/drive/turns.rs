//! Steps of a question, and items of a list, that wait for the rate limit of their tool. Within a maximum time, the
//! limit delays a step and does not fail it.
//!
//! The queue is in memory only: after a restart the driver asks about the step again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use charter_contract::bounds::RATE_LIMIT_WAIT_MS;
use charter_contract::catalogue::policy::RunKind;
use charter_contract::ids::StepId;
use charter_contract::time::Timestamp;
use charter_domain::gate;
use charter_domain::run::Run;

use super::RunDriver;
use crate::execution::runs::effect::Prepared;

/// A waiting step.
#[derive(Debug, Clone, Copy)]
struct QueuedStep {
    since: Timestamp,
    until: Timestamp,
}

/// The steps of a run that wait for a rate limit.
#[derive(Debug, Default)]
pub(super) struct RateLimitQueue(BTreeMap<StepId, QueuedStep>);

impl RateLimitQueue {
    /// Queues a step until its turn comes. Returns whether that is within the maximum wait.
    pub(super) fn wait(&mut self, step: &StepId, now: Timestamp, wait: Duration) -> bool {
        let since = self.0.get(step).map_or(now, |waiting| waiting.since);
        let micros = i64::try_from(wait.as_micros()).unwrap_or(i64::MAX);
        let until = now.as_micros().saturating_add(micros);
        let longest = i64::try_from(RATE_LIMIT_WAIT_MS).unwrap_or(i64::MAX);
        let is_soon = until.saturating_sub(since.as_micros()) <= longest.saturating_mul(1_000);
        match Timestamp::from_micros(until) {
            Ok(until) if is_soon => {
                self.0.insert(step.clone(), QueuedStep { since, until });
                true
            }
            Ok(_) | Err(_) => {
                self.0.remove(step);
                false
            }
        }
    }

    /// Removes a step that no longer waits.
    pub(super) fn take(&mut self, step: &StepId) {
        self.0.remove(step);
    }

    /// Returns the steps whose turn has not come.
    pub(super) fn waiting(&self, has_come: impl Fn(Timestamp) -> bool) -> BTreeSet<StepId> {
        let waiting = self
            .0
            .iter()
            .filter(|(_, waiting)| !has_come(waiting.until));
        waiting.map(|(step, _)| step.clone()).collect()
    }

    /// Returns the earlier of a time and the next turn of these steps.
    pub(super) fn sooner(
        &self,
        until: Option<Timestamp>,
        waiting: &BTreeSet<StepId>,
    ) -> Option<Timestamp> {
        let turns = waiting.iter().filter_map(|step| self.0.get(step));
        turns.map(|turn| turn.until).chain(until).min()
    }
}

impl RunDriver<'_> {
    /// Counts a call that is about to start against its tool's rate limit, or refuses it. Returns false if the call
    /// waits for its turn. A cached result does not count as a call.
    pub(super) fn reserve_rate_limit(&mut self, prepared: &mut Prepared, at: Timestamp) -> bool {
        let run = &self.folded.run;
        if prepared.is_recalled()
            || !run
                .steps()
                .permits(prepared.call(), prepared.decision(), at)
        {
            return true;
        }
        let tool = prepared.tool();
        let Some(limit) = &tool.rate_limit else {
            return true;
        };
        let key = (self.pinned.workspace.tenant.clone(), tool.tool_id.clone());
        let id = &prepared.call().step;
        let Err(too_soon) = self.runs.rate_limits.take(key, limit.into(), at) else {
            self.turns.take(id);
            return true;
        };
        // A question may wait, and so may an item of a list. Another confirmed change does not begin at another time.
        let wait = Duration::from_millis(too_soon.wait_ms);
        let may_wait = self.pinned.workspace.kind == RunKind::Skill || is_of_list(run, id);
        if may_wait && self.turns.wait(id, at, wait) {
            self.progress
                .step_waiting(id, &tool.tool_id, too_soon.wait_ms);
            return false;
        }
        let step = run.graph().step(id);
        let reverses = step.is_some_and(|step| step.reverses.is_some());
        let refusal = gate::rate_limit(tool, Some(Err(too_soon)), reverses).refusal();
        if let Some(refusal) = refusal {
            prepared.refuse(refusal);
        }
        true
    }
}

/// Returns whether a step is for an item of a list, or reverses one.
fn is_of_list(run: &Run, step: &StepId) -> bool {
    let Some(step) = run.graph().step(step) else {
        return false;
    };
    let reversed = step.reverses.as_ref().and_then(|id| run.graph().step(id));
    reversed.unwrap_or(step).item.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000).unwrap()
    }

    #[test]
    fn a_step_waits_for_its_turn_and_not_for_ever() {
        let step = StepId::parse("read").unwrap();
        let mut turns = RateLimitQueue::default();
        let second = Duration::from_secs(1);
        assert!(turns.wait(&step, at(0), 2 * second));
        let waiting = turns.waiting(|moment| moment <= at(1));
        assert_eq!(waiting, BTreeSet::from([step.clone()]));
        assert_eq!(turns.sooner(None, &waiting), Some(at(2)));
        assert_eq!(turns.sooner(Some(at(1)), &waiting), Some(at(1)));
        assert!(turns.waiting(|moment| moment <= at(2)).is_empty());
        // Another step used the turn: this one waits on, counted from its first wait.
        assert!(turns.wait(&step, at(2), 20 * second));
        assert!(!turns.wait(&step, at(22), 20 * second));
        assert!(turns.waiting(|_| false).is_empty());
        assert!(!turns.wait(&step, at(0), 60 * second));
    }
}
