//! Approvals: a person's decision on exactly one thing (rulings 10 and 28).
//!
//! An approval is bound to the digest of what is approved, decided once, good until it expires, and
//! used once: the append that resumes the run consumes it. With four eyes an approver must be a different
//! person from those who asked for the call (ruling 33). Where the question is whether to repeat what may have
//! happened, the answer may be that it did. Must not know storage or runs' journals.

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

/// SHA-256 of what is approved, as `sha256:` and 64 hex digits.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// The digest of a value's JSON with its keys in order.
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

    /// As written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What somebody says that they approve. Any text; it is only compared.
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
    /// What an approval of this call is bound to.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::from_json(&serde_json::json!(self))
    }
}

/// Who decided, when, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalDecisionRecord")]
pub struct DecisionRecord {
    /// Who.
    pub by: UserId,
    /// Who made the key by which they decided.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub makers: BTreeSet<UserId>,
    /// When.
    pub at: Timestamp,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// That an interrupted call did happen, on somebody's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ReportedResult")]
pub struct ReportedResult {
    /// What it came to; `null` when nobody knows.
    pub output: Value,
}

/// An agreement, and what was agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalAgreement")]
pub struct ApprovalAgreement {
    /// Who, when, and why.
    #[serde(flatten)]
    pub decided: DecisionRecord,
    /// Instead of calling: it happened before. Absent for an agreement to the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_result: Option<ReportedResult>,
}

/// Where an approval stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalState")]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// Nobody has decided.
    Pending,
    /// Agreed to, and not used yet.
    Approved(ApprovalAgreement),
    /// Refused.
    Rejected(DecisionRecord),
    /// Agreed to and used.
    Consumed(ApprovalAgreement),
    /// Nobody decided in time, or the run ended first.
    Lapsed,
}

impl ApprovalStatus {
    /// The state's name.
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
    /// Whose it is.
    pub tenant_id: TenantId,
    /// What is approved.
    pub call: ExactCall,
    /// What the decision is bound to.
    pub digest: Digest,
    /// What asks for it.
    pub rules: Vec<RuleResult>,
    /// On whose behalf the run acts.
    pub requested_by: UserId,
    /// The users who started the run, chose its arguments or confirmed it, and the makers of their keys.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub requesters: BTreeSet<UserId>,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When it lapses, decided or not.
    pub expires_at: Timestamp,
    /// Whether it takes a person who did not ask.
    pub four_eyes: bool,
    /// Where it stands.
    #[serde(flatten)]
    pub state: ApprovalStatus,
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// The call may happen.
    Approve,
    /// It may not.
    Reject,
    /// It happened already, before the run could hear of it.
    Happened(ReportedResult),
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalVerdict {
    /// What they answer.
    pub answer: ApprovalAnswer,
    /// Who.
    pub by: CredentialUser,
    /// What they saw.
    pub digest: Digest,
    /// Why.
    pub reason: Option<String>,
}

/// Why a decision is refused. The approval is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecisionRefusal {
    /// It was decided, used, or lapsed before.
    #[error("the approval is {0} already")]
    Decided(&'static str),
    /// Its time is over.
    #[error("the approval expired at {0}")]
    Expired(Timestamp),
    /// What was seen is not what would happen.
    #[error("the approval is for {expected}, not for {given}: look at it again")]
    Changed {
        /// What it is bound to.
        expected: Digest,
        /// What was seen.
        given: Digest,
    },
    /// Nothing was begun before.
    #[error("nothing of this was begun before, so it cannot have happened: approve or reject it")]
    NotBegun,
    /// An asker does not approve their own call.
    #[error(
        "`{0}` asked for this call, or shares a key maker with a user who did: a different person has to \
         approve it"
    )]
    OwnRequest(UserId),
}

impl Approval {
    /// The state that a decision leads to.
    ///
    /// # Errors
    /// A [`DecisionRefusal`], in the order decided, expired, changed, not begun, own request. Rejecting one's
    /// own request is allowed: it only withdraws it.
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
        if verdict.digest != self.digest {
            return Err(DecisionRefusal::Changed {
                expected: self.digest.clone(),
                given: verdict.digest,
            });
        }
        let agrees = match &verdict.answer {
            ApprovalAnswer::Approve => true,
            ApprovalAnswer::Reject => false,
            ApprovalAnswer::Happened(_) if !self.is_about_a_repeat() => {
                return Err(DecisionRefusal::NotBegun);
            }
            ApprovalAnswer::Happened(_) => true,
        };
        if agrees && !self.can_approve(&verdict.by) {
            return Err(DecisionRefusal::OwnRequest(verdict.by.user));
        }
        let decided = DecisionRecord {
            by: verdict.by.user,
            makers: verdict.by.makers,
            at: now,
            reason: verdict.reason,
        };
        let agreed = |reported_result| {
            ApprovalStatus::Approved(ApprovalAgreement {
                decided: decided.clone(),
                reported_result,
            })
        };
        Ok(match verdict.answer {
            ApprovalAnswer::Approve => agreed(None),
            ApprovalAnswer::Happened(happened) => agreed(Some(happened)),
            ApprovalAnswer::Reject => ApprovalStatus::Rejected(decided),
        })
    }

    /// Whether a person's agreement counts: where four eyes are wanted, only that of a person who is none
    /// of those who asked (ruling 33).
    #[must_use]
    pub fn can_approve(&self, person: &CredentialUser) -> bool {
        let is_requester = person.names().any(|name| *name == self.requested_by);
        !self.four_eyes || !(is_requester || person.may_be_among(&self.requesters))
    }

    /// Whether the question is about repeating what was begun and may have happened.
    #[must_use]
    pub fn is_about_a_repeat(&self) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.kind == RuleKind::Interrupted)
    }

    /// The state after its use for the call with this digest.
    ///
    /// # Errors
    /// A [`DecisionRefusal`] unless it is approved, alive and for that call.
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
