//! Approvals: requests for a person's decision, and the decisions.
//!
//! A record moves from one state to the next and never back, and only from the state that the caller expects. A pending
//! record may also change its body, when its approval goes to the next group of approvers; then the caller expects the
//! body that it read, because the state is the same before and after. It is
//! created and consumed in the transaction that appends to its run's journal ([`crate::journal::Append::approvals`]);
//! people decide on it separately.
//!
//! A run registers its calls before it requests their approval, so that of several runs with the same call one requests
//! approval and the others wait. Registrations of a tenant follow one another. A registration counts until its run ends
//! or its approval is refused.

use async_trait::async_trait;
use charter_contract::catalogue::evidence::EvidenceRecord;
use charter_contract::ids::{ApprovalId, RunId, TenantId, UserId};
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::outbox::NewMessage;
use crate::page::{Page, PageRequest};

/// State of an approval, as far as storage needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalState {
    /// Undecided.
    Pending,
    /// Approved, and not used yet.
    Approved,
    /// Rejected.
    Rejected,
    /// Approved and used.
    Consumed,
    /// Expired without a decision, or its run ended first.
    Lapsed,
}

impl ApprovalState {
    /// Every state with its stored word.
    pub const WORDS: [(Self, &'static str); 5] = [
        (Self::Pending, "pending"),
        (Self::Approved, "approved"),
        (Self::Rejected, "rejected"),
        (Self::Consumed, "consumed"),
        (Self::Lapsed, "lapsed"),
    ];

    /// Returns the state's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(state, _)| *state == self);
        found.map_or("", |(_, word)| word)
    }

    /// Parses a state's word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let found = Self::WORDS.iter().find(|(_, known)| *known == word);
        found.map(|(state, _)| *state)
    }
}

/// A stored approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRecord {
    /// Its id.
    pub approval_id: ApprovalId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// The run that waits for it.
    pub run_id: RunId,
    /// Its state.
    pub state: ApprovalState,
    /// When it was requested.
    pub requested_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// JSON of the whole approval.
    pub body: String,
}

/// An approval in a listing, with the title and owner of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedApproval {
    /// The approval.
    pub record: ApprovalRecord,
    /// The title of the run that waits for it.
    pub run_title: String,
    /// The owner of that run, if known.
    pub user_id: Option<UserId>,
}

/// A transition to the next state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalTransition {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The expected state.
    pub from: ApprovalState,
    /// The new state.
    pub to: ApprovalState,
    /// The expected body; absent if any body of the expected state is replaced.
    pub expected_body: Option<String>,
    /// JSON of the whole approval after the transition.
    pub body: String,
}

/// A change of a run's approvals by an append to its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalChange {
    /// Requests an approval.
    Ask(ApprovalRecord),
    /// Marks one of the run's approvals as used or expired.
    Move(ApprovalTransition),
}

/// Calls for which a run is about to request an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRegistration {
    /// The run.
    pub run_id: RunId,
    /// The approval that the run requests if it does not wait.
    pub approval_id: ApprovalId,
    /// The digests of the calls, without run and step.
    pub calls: Vec<String>,
    /// Whether the run may wait for another one.
    pub may_wait: bool,
}

/// Another run that registered some of the same calls earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCalls {
    /// The other run.
    pub run_id: RunId,
    /// The digests of the calls that both registered.
    pub calls: Vec<String>,
}

/// Filter of a listing. Absent fields match all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ApprovalFilter<'a> {
    /// Only approvals in this state.
    pub state: Option<ApprovalState>,
    /// Only approvals of this run.
    pub run_id: Option<&'a RunId>,
    /// Only approvals of this user's runs.
    pub user_id: Option<&'a UserId>,
}

/// Approvals.
#[async_trait]
pub trait Approvals {
    /// Returns the approval, unless it is absent or another tenant's.
    async fn approval(
        &self,
        tenant: &TenantId,
        approval: &ApprovalId,
    ) -> Result<Option<ListedApproval>, StoreError>;

    /// Returns a tenant's matching approvals, newest first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    async fn approvals(
        &self,
        tenant: &TenantId,
        filter: ApprovalFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<ListedApproval>, StoreError>;

    /// Records a person's decision with its evidence and its messages, and makes the waiting run runnable, in one
    /// transaction. Of several concurrent decisions exactly one is recorded. A transition from pending to pending is an
    /// escalation: it changes the body, and the run waits on.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the tenant has no such approval; [`StoreError::Refused`] when its state is not
    /// `decision.from`, or its body is not `decision.expected_body`; those of
    /// [`crate::evidence::Evidence::put_evidence`].
    async fn decide_approval(
        &self,
        tenant: &TenantId,
        decision: ApprovalTransition,
        evidence: Vec<EvidenceRecord>,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError>;

    /// Registers the calls of a run, in one transaction, after earlier registrations of the tenant. Returns the
    /// unfinished run to wait for: the first that registered one of the calls earlier, and whose approval was not
    /// refused. A registration keeps its place when it is repeated; calls that were registered without an approval and
    /// are not repeated are removed.
    ///
    /// No runs wait for one another in a circle. A run that holds other approvals waits only for runs that were created
    /// earlier. A run does not wait if more than
    /// [`SAME_CALL_CHAIN`](charter_contract::bounds::SAME_CALL_CHAIN) runs wait behind the other one.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the tenant has no such run.
    async fn register_calls(
        &self,
        tenant: &TenantId,
        registration: CallRegistration,
    ) -> Result<Option<PendingCalls>, StoreError>;

    /// Returns whether the run `other` is unfinished, and registered a call of the run earlier with an approval that
    /// was not refused.
    async fn is_call_pending(
        &self,
        tenant: &TenantId,
        run: &RunId,
        other: &RunId,
    ) -> Result<bool, StoreError>;

    /// Removes the registrations of a finished run, and makes the parked runs runnable that wait for it. Returns these;
    /// changes nothing for an unfinished run.
    async fn release_calls(&self, tenant: &TenantId, run: &RunId)
    -> Result<Vec<RunId>, StoreError>;
}
