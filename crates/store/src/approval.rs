//! Approvals: who was asked about what, and what they said.
//!
//! A record moves from one state to the next and never back, each time only if it stands where the
//! caller believes it to. It is made, and used up, in the transaction that appends to its run's
//! journal ([`crate::journal::Append::approvals`]); people decide on it on their own.

use async_trait::async_trait;
use charter_contract::ids::{ApprovalId, RunId, TenantId, UserId};
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::outbox::NewMessage;
use crate::page::{Page, PageRequest};

/// Where an approval stands, as far as storage needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalState {
    /// Nobody has decided.
    Pending,
    /// Agreed to, and not used yet.
    Approved,
    /// Refused.
    Rejected,
    /// Agreed to and used.
    Consumed,
    /// Nobody decided in time, or the run ended first.
    Lapsed,
}

impl ApprovalState {
    /// Every state with its word, as stored.
    pub const WORDS: [(Self, &'static str); 5] = [
        (Self::Pending, "pending"),
        (Self::Approved, "approved"),
        (Self::Rejected, "rejected"),
        (Self::Consumed, "consumed"),
        (Self::Lapsed, "lapsed"),
    ];

    /// The state's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(state, _)| *state == self);
        found.map_or("", |(_, word)| word)
    }

    /// The state of a word.
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
    /// Whose it is.
    pub tenant_id: TenantId,
    /// The run that waits for it.
    pub run_id: RunId,
    /// Where it stands.
    pub state: ApprovalState,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When it lapses.
    pub expires_at: Timestamp,
    /// JSON of the whole.
    pub body: String,
}

/// An approval as it is read: with what its run is called and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedApproval {
    /// The approval.
    pub record: ApprovalRecord,
    /// The title of the run that waits for it.
    pub run_title: String,
    /// Whose that run is, where that is known.
    pub user_id: Option<UserId>,
}

/// A step from one state to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalTransition {
    /// Which approval.
    pub approval_id: ApprovalId,
    /// Where the caller believes it to stand.
    pub from: ApprovalState,
    /// Where it goes.
    pub to: ApprovalState,
    /// JSON of the whole, as it then is.
    pub body: String,
}

/// What an append to a journal does to the run's approvals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalChange {
    /// Somebody is asked.
    Ask(ApprovalRecord),
    /// One of the run's approvals is used, or lapses.
    Move(ApprovalTransition),
}

/// Which approvals to list. Absent fields do not restrict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ApprovalFilter<'a> {
    /// In this state.
    pub state: Option<ApprovalState>,
    /// Of this run.
    pub run_id: Option<&'a RunId>,
    /// Of this user's runs.
    pub user_id: Option<&'a UserId>,
}

/// Approvals.
#[async_trait]
pub trait Approvals {
    /// The approval, unless it is absent or another tenant's.
    async fn approval(
        &self,
        tenant: &TenantId,
        approval: &ApprovalId,
    ) -> Result<Option<ListedApproval>, StoreError>;

    /// A tenant's approvals that fit, newest first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a cursor that no page gave out.
    async fn approvals(
        &self,
        tenant: &TenantId,
        filter: ApprovalFilter<'_>,
        page: &PageRequest,
    ) -> Result<Page<ListedApproval>, StoreError>;

    /// Records a person's decision with its messages, and makes the waiting run runnable, in one
    /// transaction. Of
    /// several decisions at the same time exactly one is recorded.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the tenant has no such approval; [`StoreError::Refused`] when it
    /// does not stand where `decision.from` says.
    async fn decide_approval(
        &self,
        tenant: &TenantId,
        decision: ApprovalTransition,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError>;
}
