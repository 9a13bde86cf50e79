//! Reports of people on a waiting step: whether the step waits for them, and that its call happened.

use charter_contract::ids::{ApprovalId, StepId};

use super::{IllegalTransition, Report, ResultSource, Run, RunEvent, StepState};
use crate::approval::Digest;

impl Run {
    /// Lets an interrupted call succeed by a person's report. A call that never began cannot be reported.
    pub(super) fn report(&self, report: Report) -> Result<RunEvent, IllegalTransition> {
        let Report {
            step,
            approval,
            digest,
            by,
            makers,
            reason,
            output,
        } = report;
        let at = self.awaits(&step, &approval, Some(&digest))?;
        if !self.slots[at].unheard {
            return Err(self.refused(at, "reported as done"));
        }
        Ok(RunEvent::StepSucceeded {
            step,
            output,
            source: ResultSource::Reported {
                by,
                makers,
                approval,
                reason,
            },
            duration_ms: 0,
            brings: Box::default(),
        })
    }

    /// Returns the index of a step that waits for this approval of the displayed call.
    pub(super) fn awaits(
        &self,
        step: &StepId,
        wanted: &ApprovalId,
        seen: Option<&Digest>,
    ) -> Result<usize, IllegalTransition> {
        let at = self.known(step)?;
        match &self.slots[at].state {
            StepState::AwaitingApproval {
                approval, digest, ..
            } if approval == wanted && seen.is_none_or(|seen| seen == digest) => Ok(at),
            _ => Err(self.refused(at, "decided on")),
        }
    }
}
