//! The occurrences of a schedule that are due, and whether one may start beside earlier work.

use std::collections::VecDeque;
use std::time::Duration;

use charter_contract::bounds::SCHEDULE_CATCH_UP;
use charter_contract::catalogue::schedule::{MissedPolicy, OverlapPolicy, ScheduleTiming};
use charter_contract::number::Positive;
use charter_contract::time::Timestamp;
use sha2::{Digest as _, Sha256};

use super::{CronError, CronSchedule};

/// An occurrence that is seen later than this after its time was missed, in microseconds.
const LATE: i64 = 60_000_000;

/// Missed occurrences that are counted one by one; of a longer absence, only the last day is looked at further.
const COUNTED: u64 = 1_000;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 24 * 3_600 * SECOND;

/// When a schedule fires.
#[derive(Debug, Clone)]
pub enum Timing {
    /// At the times of a cron expression.
    Cron(Box<CronSchedule>),
    /// At an interval, counted from a time.
    Every {
        /// The start of the first interval.
        anchor: Timestamp,
        /// Its length in seconds.
        every_s: Positive,
    },
    /// Once.
    Once(Timestamp),
    /// When an event arrives.
    Event,
}

/// Occurrences that were not started in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// The latest of them.
    pub latest: Timestamp,
    /// Their number; of a long absence, at least this number.
    pub count: u64,
}

/// The occurrences that are due at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DueOccurrences {
    /// Those to start, oldest first.
    pub start: Vec<Timestamp>,
    /// Those that passed and are not started.
    pub missed: Option<Missed>,
    /// The next occurrence; `None` if there is none.
    pub next: Option<Timestamp>,
}

/// Whether an occurrence may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartDecision {
    /// It starts.
    Start,
    /// It waits for the end of earlier work.
    Wait,
    /// It does not start.
    Skip,
}

impl Timing {
    /// Reads the timing of a schedule; intervals are counted from `anchor`.
    ///
    /// # Errors
    /// [`CronError`] for an invalid cron expression.
    pub fn new(when: &ScheduleTiming, anchor: Timestamp) -> Result<Self, CronError> {
        Ok(match when {
            ScheduleTiming::Cron(timing) => Self::Cron(Box::new(CronSchedule::parse(timing)?)),
            ScheduleTiming::EveryS(every_s) => Self::Every {
                anchor,
                every_s: *every_s,
            },
            ScheduleTiming::At(at) => Self::Once(*at),
            ScheduleTiming::Webhook(_) | ScheduleTiming::Finding(_) => Self::Event,
        })
    }

    /// Returns the first occurrence after a time.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Cron(cron) => cron.next_after(after),
            Self::Every { anchor, every_s } => {
                let every = i64::try_from(every_s.get()).ok()?.checked_mul(SECOND)?;
                let anchor = anchor.as_micros();
                let passed = (after.as_micros() - anchor).max(0) / every;
                let next = every.checked_mul(passed + 1)?.checked_add(anchor)?;
                Timestamp::from_micros(next).ok()
            }
            Self::Once(at) => Some(*at).filter(|at| *at > after),
            Self::Event => None,
        }
    }

    /// Returns the occurrences from `first` until now, by the policy for missed ones.
    #[must_use]
    pub fn due(&self, first: Timestamp, now: Timestamp, policy: MissedPolicy) -> DueOccurrences {
        let (mut latest, mut count) = (VecDeque::new(), 0_u64);
        let mut next = Some(first);
        while let Some(at) = next.filter(|at| *at <= now) {
            count += 1;
            latest.push_back(at);
            if latest.len() > SCHEDULE_CATCH_UP {
                latest.pop_front();
            }
            let day_before = Timestamp::from_micros(now.as_micros() - DAY);
            let from = match day_before {
                Ok(day_before) if count == COUNTED => at.max(day_before),
                Ok(_) | Err(_) => at,
            };
            next = self.next_after(from);
        }
        let is_late = |at: &Timestamp| now.as_micros() - at.as_micros() > LATE;
        let mut start: Vec<Timestamp> = latest.iter().copied().collect();
        match policy {
            MissedPolicy::RunAll => {}
            MissedPolicy::Skip => start.retain(|at| !is_late(at)),
            MissedPolicy::RunOnce => {
                start = start.last().copied().into_iter().collect();
            }
        }
        let left_out = latest.iter().rev().find(|at| !start.contains(at));
        let unlisted = count - latest.len() as u64;
        let missed = match (left_out, unlisted) {
            (Some(latest), _) => Some(*latest),
            (None, 0) => None,
            // Older than those that are started, and so before the first of them.
            (None, _) => Some(first),
        };
        let missed = missed.map(|latest| Missed {
            latest,
            count: count - start.len() as u64,
        });
        DueOccurrences {
            start,
            missed,
            next,
        }
    }
}

/// Decides whether an occurrence may start while `unfinished` earlier ones have unfinished work.
#[must_use]
pub const fn may_start(policy: OverlapPolicy, unfinished: usize) -> StartDecision {
    match (policy, unfinished) {
        (OverlapPolicy::Allow, _) | (_, 0) => StartDecision::Start,
        (OverlapPolicy::Queue, _) => StartDecision::Wait,
        (OverlapPolicy::Skip, _) => StartDecision::Skip,
    }
}

/// Returns the delay of an occurrence: below the jitter, and the same on each server. `name` is unique for a schedule.
#[must_use]
pub fn delay(name: &str, at: Timestamp, jitter_s: Option<Positive>) -> Duration {
    let Some(jitter) = jitter_s else {
        return Duration::ZERO;
    };
    let digest = Sha256::digest(format!("{name}/{}", at.as_micros()));
    let mut number = [0; 8];
    number.copy_from_slice(&digest[..8]);
    let millis = jitter.get().saturating_mul(1_000);
    Duration::from_millis(u64::from_be_bytes(number) % millis)
}
