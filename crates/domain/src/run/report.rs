//! What people say about a step that waits for them: whether it does, and that it happened already.

use charter_contract::ids::{ApprovalId, StepId};

use super::{IllegalTransition, Report, ResultSource, Run, RunEvent, StepState};
use crate::approval::Digest;

impl Run {
    /// An interrupted call succeeds on a person's word. Where nothing was begun there is nothing to
    /// tell of.
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

    /// The place of a step that waits for this approval, of the call that was seen.
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
