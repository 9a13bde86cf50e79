//! A person's decision on an approval, and the reasons for refusing it.

use std::collections::BTreeSet;

use charter_contract::ids::{Label, StepId, UserId};
use charter_contract::time::Timestamp;

use super::{
    Approval, ApprovalAgreement, ApprovalStatus, DecisionRecord, Digest, ExactCall, ListRemainder,
    ReportedResult,
};
use crate::person::CredentialUser;

/// A person's answer to an approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Approve the call, or all calls.
    Approve,
    /// Approve the calls of a list, without some of them.
    ApproveListed(ListChoice),
    /// Reject the call, or all calls.
    Reject,
    /// Report that the call happened before the run received its result.
    Happened(ReportedResult),
}

impl ApprovalAnswer {
    fn choice(&self) -> ListChoice {
        match self {
            Self::ApproveListed(choice) => choice.clone(),
            Self::Approve | Self::Reject | Self::Happened(_) => ListChoice::default(),
        }
    }
}

/// The calls of a list that a person approves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListChoice {
    /// The steps whose calls are excluded.
    pub excluded: BTreeSet<StepId>,
    /// The number of approved calls, as the person typed it.
    pub typed_count: Option<u64>,
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalVerdict {
    /// The answer.
    pub answer: ApprovalAnswer,
    /// The user that decides.
    pub by: CredentialUser,
    /// The digest of the call that the user saw.
    pub digest: Digest,
    /// The reason.
    pub reason: Option<String>,
}

/// The reason for refusing a decision. The approval remains unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecisionRefusal {
    /// The approval was decided, used or lapsed before.
    #[error("the approval is already {0}")]
    Decided(&'static str),
    /// The approval expired at this time.
    #[error("the approval expired at {0}")]
    Expired(Timestamp),
    /// The call that the user saw differs from the call that would be made.
    #[error("the approval is for {expected}, not for {given}: read it again")]
    Changed {
        /// The digest that the approval is bound to.
        expected: Digest,
        /// The digest that the user saw.
        given: Digest,
    },
    /// An excluded step is not on the list.
    #[error("the approval is not for a call of the step `{0}`")]
    NotListed(StepId),
    /// All calls are excluded.
    #[error("no call is left: reject the approval instead")]
    NothingLeft,
    /// The number of the approved calls was not typed, or is another one.
    #[error("these changes cannot be undone: type the number of calls that you approve, {0}")]
    Count(usize),
    /// The call had not begun before.
    #[error("this was never started, so it cannot have happened: approve or reject it")]
    NotBegun,
    /// The user is a requester of the call, and may not approve it.
    #[error(
        "`{0}` requested this call, or shares a key creator with a user who did: a different person has to approve it"
    )]
    OwnRequest(UserId),
    /// The user is in none of the groups whose turn has come.
    #[error("`{user}` may not approve it now: it waits for the group `{group}`")]
    NotInTurn {
        /// The user.
        user: UserId,
        /// The group whose turn it is.
        group: Label,
    },
}

impl Approval {
    /// Returns the status that a decision leads to.
    ///
    /// # Errors
    /// A [`DecisionRefusal`], in the order decided, expired, not listed, nothing left, changed, not begun, own request,
    /// not in turn, count. Rejecting one's own request is allowed: it only withdraws the request. Rejecting needs no
    /// turn.
    pub fn decide(
        &self,
        verdict: ApprovalVerdict,
        now: Timestamp,
    ) -> Result<ApprovalStatus, DecisionRefusal> {
        if self.state != ApprovalStatus::Pending {
            return Err(DecisionRefusal::Decided(self.state.word()));
        }
        if now >= self.expires_at {
            return Err(DecisionRefusal::Expired(self.expires_at));
        }
        let choice = verdict.answer.choice();
        let left = self.without(&choice.excluded)?;
        let remaining = ExactCall::digest_of_list(&left);
        // The person saw the whole list, or the list without the excluded calls.
        if verdict.digest != self.digest && verdict.digest != remaining {
            return Err(DecisionRefusal::Changed {
                expected: self.digest.clone(),
                given: verdict.digest,
            });
        }
        let reports = matches!(verdict.answer, ApprovalAnswer::Happened(_));
        if reports && !self.is_about_a_repeat() {
            return Err(DecisionRefusal::NotBegun);
        }
        let agrees = verdict.answer != ApprovalAnswer::Reject;
        if agrees && !self.can_approve(&verdict.by) {
            return Err(DecisionRefusal::OwnRequest(verdict.by.user));
        }
        let group = self.escalation.group(now);
        if let Some(group) = group
            && agrees
            && !self.escalation.admits(&verdict.by.user, now)
        {
            return Err(DecisionRefusal::NotInTurn {
                user: verdict.by.user,
                group: group.clone(),
            });
        }
        let asks_for_count = agrees && self.destructive && self.list.len() > 1;
        if asks_for_count && choice.typed_count != Some(left.len() as u64) {
            return Err(DecisionRefusal::Count(left.len()));
        }
        let decided = DecisionRecord {
            by: verdict.by.user,
            makers: verdict.by.makers,
            at: now,
            reason: verdict.reason,
        };
        let remainder = (!choice.excluded.is_empty()).then_some(ListRemainder {
            excluded: choice.excluded,
            digest: remaining,
        });
        let agreed = |reported_result| {
            ApprovalStatus::Approved(ApprovalAgreement {
                decided: decided.clone(),
                reported_result,
                remainder: remainder.clone(),
            })
        };
        Ok(match verdict.answer {
            ApprovalAnswer::Approve | ApprovalAnswer::ApproveListed(_) => agreed(None),
            ApprovalAnswer::Happened(happened) => agreed(Some(happened)),
            ApprovalAnswer::Reject => ApprovalStatus::Rejected(decided),
        })
    }

    /// Returns the calls that remain without those of these steps.
    fn without(&self, excluded: &BTreeSet<StepId>) -> Result<Vec<&ExactCall>, DecisionRefusal> {
        if let Some(unknown) = excluded.iter().find(|step| self.call_of(step).is_none()) {
            return Err(DecisionRefusal::NotListed(unknown.clone()));
        }
        let calls = self.calls().iter();
        let left: Vec<&ExactCall> = calls
            .filter(|call| !excluded.contains(&call.step))
            .collect();
        if left.is_empty() {
            return Err(DecisionRefusal::NothingLeft);
        }
        Ok(left)
    }
}
