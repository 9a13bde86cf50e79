//! Approvals: a person's decision on one exact call (rulings 10 and 28).
//!
//! An approval is bound to the digest of the approved call, is decided once, expires, and is used once: the append that
//! resumes the run consumes it. Under the four-eyes principle, the approver must differ from the requesters of the call
//! (ruling 33). An approval may be for a list of calls, of which the approver may exclude some: the decision is then
//! bound to the digest of what remains. If the question is whether to repeat an interrupted call, the answer may be
//! that the call happened. Must not know storage or runs' journals.

mod decide;
mod escalation;

use std::collections::BTreeSet;

use charter_contract::canonical;
use charter_contract::ids::{ApprovalId, RunId, StepId, TenantId, ToolId, UserId};
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::gate::{RuleKind, RuleResult};
use crate::person::CredentialUser;

pub use decide::{ApprovalAnswer, ApprovalVerdict, DecisionRefusal, ListChoice};
pub use escalation::{Escalation, EscalationStep};

/// SHA-256 of the approved call, as `sha256:` and 64 hex digits.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// Computes the digest of a value's JSON with sorted keys.
    #[must_use]
    pub fn from_json(value: &Value) -> Self {
        let mut hash = Sha256::new();
        canonical::pieces(value, |piece| hash.update(piece));
        let hex = hash
            .finalize()
            .iter()
            .fold(String::from("sha256:"), |mut hex, byte| {
                for digit in [byte >> 4, byte & 15] {
                    hex.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
                }
                hex
            });
        Self(hex)
    }

    /// Returns the digest as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Wraps the digest that a caller claims to approve. Accepts any text, because it is only compared.
    #[must_use]
    pub fn claimed(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// One exact call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExactCall {
    /// The run.
    pub run_id: RunId,
    /// The step.
    pub step: StepId,
    /// The tool.
    pub tool: ToolId,
    /// The content of the tool's pinned version.
    pub tool_hash: String,
    /// The arguments, resolved.
    pub parameters: Map<String, Value>,
}

impl ExactCall {
    /// Returns the digest that an approval of this call is bound to.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::from_json(&serde_json::json!(self))
    }

    /// Returns the digest that an approval of these calls is bound to.
    #[must_use]
    pub fn digest_of_list(calls: &[&Self]) -> Digest {
        match calls {
            [one] => one.digest(),
            several => Digest::from_json(&serde_json::json!(several)),
        }
    }
}

/// The decision's author, time and reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalDecisionRecord")]
pub struct DecisionRecord {
    /// The user that decided.
    pub by: UserId,
    /// The makers of the API key that was used to decide.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub makers: BTreeSet<UserId>,
    /// The time of the decision.
    pub at: Timestamp,
    /// The reason, in the user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A person's report that an interrupted call happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ReportedResult")]
pub struct ReportedResult {
    /// The output of the call; `null` if it is unknown.
    pub output: Value,
}

/// An approval of the call, or a report that it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalAgreement")]
pub struct ApprovalAgreement {
    /// The decision's author, time and reason.
    #[serde(flatten)]
    pub decided: DecisionRecord,
    /// The report that the call happened already. Absent if the call itself was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_result: Option<ReportedResult>,
    /// The part of a list that was approved. Absent if all of it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remainder: Option<ListRemainder>,
}

/// The part of a list that an approver did not exclude.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalListRemainder")]
pub struct ListRemainder {
    /// The steps whose calls do not happen.
    pub excluded: BTreeSet<StepId>,
    /// The digest of the calls that remain.
    pub digest: Digest,
}

/// The status of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalState")]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// No decision yet.
    Pending,
    /// Approved, and not used yet.
    Approved(ApprovalAgreement),
    /// Rejected.
    Rejected(DecisionRecord),
    /// Approved and used.
    Consumed(ApprovalAgreement),
    /// Expired without a decision, or the run ended first.
    Lapsed,
}

impl ApprovalStatus {
    /// Returns the status as a word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved(_) => "approved",
            Self::Rejected(_) => "rejected",
            Self::Consumed(_) => "consumed",
            Self::Lapsed => "lapsed",
        }
    }
}

/// An approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Its id.
    pub approval_id: ApprovalId,
    /// The owning tenant.
    pub tenant_id: TenantId,
    /// The call to approve, or the first of several.
    pub call: ExactCall,
    /// All calls to approve, in the order of the plan, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<ExactCall>,
    /// Whether the calls belong to a destructive playbook: to approve a list, a person types the number of its calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub destructive: bool,
    /// The digest that the decision is bound to: of the call, or of the whole list.
    pub digest: Digest,
    /// The digest of the run's plan, if the approval has all its writes and is also its confirmation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<Digest>,
    /// The rules that require approval.
    pub rules: Vec<RuleResult>,
    /// The user on whose behalf the run acts.
    pub requested_by: UserId,
    /// The users that started the run, chose its arguments or confirmed it, and the makers of their keys.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub requesters: BTreeSet<UserId>,
    /// The time of the request.
    pub requested_at: Timestamp,
    /// The time at which the approval lapses, decided or not.
    pub expires_at: Timestamp,
    /// Whether the approver must differ from the requesters.
    pub four_eyes: bool,
    /// The groups that may approve, one after the other.
    #[serde(default, skip_serializing_if = "Escalation::is_none")]
    pub escalation: Escalation,
    /// The status.
    #[serde(flatten)]
    pub state: ApprovalStatus,
}

impl Approval {
    /// Returns the calls that the approval is for, in the order of the plan.
    #[must_use]
    pub fn calls(&self) -> &[ExactCall] {
        if self.list.is_empty() {
            std::slice::from_ref(&self.call)
        } else {
            &self.list
        }
    }

    /// Returns the call of a step, if the approval is for it.
    #[must_use]
    pub fn call_of(&self, step: &StepId) -> Option<&ExactCall> {
        self.calls().iter().find(|call| call.step == *step)
    }

    /// Returns whether a person may approve. Under the four-eyes principle, only a person other than the requesters may
    /// (ruling 33).
    #[must_use]
    pub fn can_approve(&self, person: &CredentialUser) -> bool {
        let is_requester = person.names().any(|name| *name == self.requested_by);
        !self.four_eyes || !(is_requester || person.may_be_among(&self.requesters))
    }

    /// Returns whether the approval is about repeating a call that began and may have happened.
    #[must_use]
    pub fn is_about_a_repeat(&self) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.kind == RuleKind::Interrupted)
    }

    /// Returns the status after the approval was used for the call with this digest.
    ///
    /// # Errors
    /// A [`DecisionRefusal`] unless the call is approved, the approval has not expired, and the digest matches.
    pub fn consume(
        &self,
        digest: &Digest,
        now: Timestamp,
    ) -> Result<ApprovalStatus, DecisionRefusal> {
        let ApprovalStatus::Approved(agreed) = &self.state else {
            return Err(DecisionRefusal::Decided(self.state.word()));
        };
        if now >= self.expires_at {
            return Err(DecisionRefusal::Expired(self.expires_at));
        }
        if *digest != self.digest {
            return Err(DecisionRefusal::Changed {
                expected: self.digest.clone(),
                given: digest.clone(),
            });
        }
        Ok(ApprovalStatus::Consumed(agreed.clone()))
    }
}

#[cfg(test)]
mod tests;
