//! Runs as their readers see them: listing, state and history, the gate's decisions on them, their strict replay, and
//! the warnings about them.

mod content;
mod decisions;
mod events;
mod list;
mod second_person;
mod show;
mod wait;
mod warnings;

use std::sync::Arc;

use charter_domain::clock::Clock;
use charter_store::SharedStore;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::approvals::RunApprovals;
use super::evidence::RunEvidenceService;
use super::journal::JournalService;
use super::pinned::PinnedDocumentService;
use crate::ground::core_ports::CorePorts;
use crate::ground::questions::QuestionSlots;
use crate::ground::settings::Approvers;
use crate::identity::keys::KeyService;
use crate::knowledge::memory::MemoryService;

pub use decisions::{RunExplanation, StepExplanation};
pub use events::{RunEventPage, RunEventView};
pub use list::{RunPage, RunQuery, RunSummary};
pub use show::{AwaitedRunView, Replayed, RunAt, RunState, RunView, StepView};
pub(super) use warnings::ForeseenCall;

/// The parts that runs are shown with.
pub(crate) struct RunViewParts {
    pub(crate) shutdown: CancellationToken,
    /// Wakes the readers of events.
    pub(crate) news: Arc<Notify>,
    pub(crate) questions: QuestionSlots,
    /// Users who may approve with a credential outside the store.
    pub(crate) approvers: Approvers,
    pub(crate) keys: Arc<KeyService>,
    pub(crate) memories: Arc<MemoryService>,
    pub(crate) journals: Arc<JournalService>,
    pub(crate) pinned: Arc<PinnedDocumentService>,
    pub(crate) approvals: Arc<RunApprovals>,
    pub(crate) evidence: Arc<RunEvidenceService>,
}

/// Runs as their readers see them.
pub struct RunViewService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    shutdown: CancellationToken,
    news: Arc<Notify>,
    questions: QuestionSlots,
    approvers: Approvers,
    keys: Arc<KeyService>,
    memories: Arc<MemoryService>,
    journals: Arc<JournalService>,
    pinned: Arc<PinnedDocumentService>,
    approvals: Arc<RunApprovals>,
    evidence: Arc<RunEvidenceService>,
}

impl std::fmt::Debug for RunViewService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunViewService").finish_non_exhaustive()
    }
}

impl RunViewService {
    pub(crate) fn new(ports: CorePorts, parts: RunViewParts) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            shutdown: parts.shutdown,
            news: parts.news,
            questions: parts.questions,
            approvers: parts.approvers,
            keys: parts.keys,
            memories: parts.memories,
            journals: parts.journals,
            pinned: parts.pinned,
            approvals: parts.approvals,
            evidence: parts.evidence,
        }
    }
}
