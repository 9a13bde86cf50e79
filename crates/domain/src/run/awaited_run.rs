//! Another run that a run waits for, or has waited for.

use std::collections::BTreeSet;

use charter_contract::ids::RunId;
use charter_contract::run_status::RunStatus;
use serde::Serialize;

use crate::approval::Digest;

/// Another run that a run waits for, because both request approval of the same calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AwaitedRun {
    /// The other run.
    pub run: RunId,
    /// The calls that both request, as [`Run::call_digest`].
    pub calls: BTreeSet<Digest>,
}

impl AwaitedRun {
    /// Returns the reason for the wait as a sentence.
    #[must_use]
    pub fn reason(&self) -> String {
        let (run, count) = (&self.run, self.calls.len());
        let calls = match count {
            1 => "the same call".to_owned(),
            count => format!("{count} of the same calls"),
        };
        format!(
            "Run `{run}` requested approval of {calls} first. This run waits until that run has ended, computes its \
             calls again, and then requests approval."
        )
    }
}

/// A run that was waited for, and its status after the wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EarlierRun {
    pub(super) awaited: AwaitedRun,
    /// Absent if the run was deleted.
    pub(super) status: Option<RunStatus>,
}

impl EarlierRun {
    /// Returns the message of the rule about it.
    pub(super) fn message(&self) -> String {
        let run = &self.awaited.run;
        let end = match self.status {
            None => "is no longer stored".to_owned(),
            Some(status) if status.is_final() => format!("ended as {}", status.in_words()),
            Some(status) => format!("was not approved, and is {}", status.in_words()),
        };
        format!(
            "Run `{run}` requested the same call and {end}. This call was computed again after that: decide whether it \
             is still wanted."
        )
    }
}
