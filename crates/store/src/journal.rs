//! Runs and their journals, the plan of record.
//!
//! A journal is append-only and gapless. Each event contains the hash of the one before it, so a reader of the chain
//! detects a changed, removed or reordered event.

use async_trait::async_trait;
use charter_contract::ids::{ApprovalId, RunId, TenantId, UserId};
use charter_contract::mission::MissionState;
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;

use crate::StoreError;
use crate::approval::ApprovalChange;
use crate::artifact::ArtifactRecord;
use crate::lease::{Fence, Lease};
use crate::outbox::NewMessage;
use crate::page::{Page, PageRequest};

pub use charter_domain::run::chain::{EventHash, GENESIS};

/// Scheduling phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPhase {
    /// Has work that a worker may claim.
    Runnable,
    /// Waits for an external event: an approval, a timer, an answer.
    Waiting,
    /// Reached a final state; no event is appended any more.
    Finished,
}

/// The phase of a run after an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextPhase {
    /// Runnable: a worker may claim it.
    Runs,
    /// Waiting for an external event.
    Waits(RunWait),
    /// Finished.
    Ends,
}

impl NextPhase {
    /// Returns the phase.
    #[must_use]
    pub fn phase(&self) -> RunPhase {
        match self {
            Self::Runs => RunPhase::Runnable,
            Self::Waits(_) => RunPhase::Waiting,
            Self::Ends => RunPhase::Finished,
        }
    }
}

/// The condition that a run waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunWait {
    /// When it becomes runnable even without another event.
    pub until: Option<Timestamp>,
    /// Its pending approvals, as far as the caller knows. If one has been decided, the run does not wait but is
    /// runnable: a decision may be concurrent with the beginning of its wait.
    pub approvals: Vec<ApprovalId>,
}

/// Verifies the chain of consecutive events from `previous`, the hash before the first of them, and returns the last
/// hash; `Err` is the position of the first invalid event.
///
/// # Errors
/// The sequence number at which an event was changed, removed or moved (B002-14).
pub fn verify_chain(
    previous: EventHash,
    first: u64,
    events: &[JournalEvent],
) -> Result<EventHash, u64> {
    let mut last = previous;
    for (sequence, event) in (first..).zip(events) {
        if event.sequence != sequence || event.hash != last.chain(sequence, &event.payload) {
            return Err(sequence);
        }
        last = event.hash;
    }
    Ok(last)
}

/// A run without its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// Its id.
    pub run_id: RunId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its owner within the tenant: the user that started it, or that started the run it rolls back. Absent if a
    /// process of an earlier version wrote it. It never changes.
    pub user_id: Option<UserId>,
    /// The skill or playbook that started it, e.g. `skill security.detect_public_ingress`; shown in listings.
    pub title: String,
    /// Scheduling phase.
    pub phase: RunPhase,
    /// The run's status, e.g. `awaiting_approval`; shown in listings.
    pub status: RunStatus,
    /// When a waiting run becomes runnable even without another event.
    pub wake_at: Option<Timestamp>,
    /// Number of events in the journal.
    pub version: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the last event was appended.
    pub updated_at: Timestamp,
}

/// An event to append. The caller computes its hash; storage verifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// JSON of a domain event.
    pub payload: String,
    /// Hash of this event, chained from the one before.
    pub hash: EventHash,
    /// Time of the event.
    pub at: Timestamp,
}

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEvent {
    /// Position, from 1, without gaps.
    pub sequence: u64,
    /// JSON of a domain event.
    pub payload: String,
    /// Hash of this event.
    pub hash: EventHash,
    /// Time of the event.
    pub at: Timestamp,
}

/// An append: events, their effects on the run, and the messages that announce them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The run's tenant.
    pub tenant_id: TenantId,
    /// The run.
    pub run_id: RunId,
    /// The version that the caller's decision was based on.
    pub expected: u64,
    /// The fence of the caller's lease on the run.
    pub fence: Fence,
    /// At least one event.
    pub events: Vec<NewEvent>,
    /// The run's next phase.
    pub then: NextPhase,
    /// The run's status after these events.
    pub status: RunStatus,
    /// Changes of the run's approvals, atomic with the events.
    pub approvals: Vec<ApprovalChange>,
    /// Artifacts that these events add to the run's mission, atomic with them.
    pub artifacts: Vec<ArtifactRecord>,
    /// The mission's new state, if it changes.
    pub mission_state: Option<MissionState>,
    /// Whether this also releases the caller's lease on the run.
    pub release: bool,
    /// Messages about the run's tenant, published atomically with the events.
    pub messages: Vec<NewMessage>,
}

/// A new run that is leased to a worker from the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLeasedRun {
    /// The run; its version is the number of events.
    pub run: RunRecord,
    /// Its first events.
    pub events: Vec<NewEvent>,
    /// Approvals that these events request.
    pub approvals: Vec<ApprovalChange>,
    /// The envelope of the run's mission, if it has one, and other artifacts of these events.
    pub artifacts: Vec<ArtifactRecord>,
    /// The mission's state; [`MissionState::Created`] when absent.
    pub mission_state: Option<MissionState>,
    /// The holder of the lease.
    pub holder: String,
    /// When others may take the run over.
    pub expires_at: Timestamp,
    /// Whether the lease is released at once, because the run has no work now.
    pub release: bool,
    /// Messages, published atomically with the run's creation.
    pub messages: Vec<NewMessage>,
}

/// Filter on the status of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatusFilter {
    /// Unfinished runs.
    Open,
    /// Finished runs.
    Ended,
    /// Runs with exactly this status.
    At(RunStatus),
}

/// Filter of a listing. Absent fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only this user's runs.
    pub user_id: Option<UserId>,
    /// Only runs with this status.
    pub standing: Option<RunStatusFilter>,
    /// Only runs whose titles begin with one of these, which identify the starter. Empty for all.
    pub begins: Vec<String>,
    /// Only runs whose titles contain this, ignoring case.
    pub title: Option<String>,
    /// Created at or after.
    pub created_from: Option<Timestamp>,
    /// Created before.
    pub created_until: Option<Timestamp>,
}

impl RunFilter {
    /// Whether the filter reads titles, which no index contains.
    #[must_use]
    pub fn reads_titles(&self) -> bool {
        !self.begins.is_empty() || self.title.is_some()
    }

    /// Whether a run's title matches.
    #[must_use]
    pub fn fits_title(&self, title: &str) -> bool {
        let begins = |with: &String| title.starts_with(with.as_str());
        let has = |text: &String| title.to_lowercase().contains(&text.to_lowercase());
        (self.begins.is_empty() || self.begins.iter().any(begins))
            && self.title.as_ref().is_none_or(has)
    }
}

/// A worker's claim of runs to drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The worker: one incarnation of a process.
    pub holder: String,
    /// The current time.
    pub now: Timestamp,
    /// When others may take over the claimed runs.
    pub until: Timestamp,
    /// Most runs that it can drive.
    pub limit: usize,
    /// Runs that it cannot drive, and leaves to other workers.
    pub except: Vec<RunId>,
}

/// A claimed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedRun {
    /// The run.
    pub run: RunRecord,
    /// The worker's lease on it.
    pub lease: Lease,
}

/// Runs and journals.
#[async_trait]
pub trait Journal {
    /// Creates a run with its first events, in one transaction. `run.version` is the number of events. A mission's
    /// envelope comes first among `artifacts`; a run without a mission has none.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`], also for a mission's id; [`StoreError::Refused`] when
    /// `run.version` is not the number of events, and as [`Journal::append`] for artifacts;
    /// [`StoreError::Corrupt`] when the events do not chain from [`GENESIS`].
    async fn create_run(
        &self,
        run: &RunRecord,
        events: Vec<NewEvent>,
        artifacts: Vec<ArtifactRecord>,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError>;

    /// Creates a run as [`Journal::create_run`] does and acquires its lease in the same transaction, so that a run
    /// which is driven at once needs no second commit.
    ///
    /// # Errors
    /// As for [`Journal::create_run`]; also [`StoreError::Refused`] while there is a lease on the run's id, or for an
    /// approval that is moved but not requested.
    async fn create_held_run(&self, new: NewLeasedRun) -> Result<Lease, StoreError>;

    /// Appends events with their messages, in one transaction; returns the new version. Appends of
    /// several runs may share one commit; each is durable when its call returns.
    ///
    /// # Errors
    /// Checked in this order: [`StoreError::NotFound`]; [`StoreError::FencedOff`] unless `append.fence` is the fence of
    /// the lease on the run's id ([`Fence`] 0 when it was never leased); [`StoreError::VersionConflict`];
    /// [`StoreError::Refused`] when the run is finished, there is no event, or an approval is not in the expected state
    /// or is another run's; [`StoreError::Corrupt`] when the events do not chain from the last stored one.
    ///
    /// For artifacts: [`StoreError::AlreadyExists`] when the mission has a different one of that kind and id (an
    /// identical one is a repeat, and writes nothing); [`StoreError::Refused`] when it is not of the run's mission or
    /// not of the current version, names a task that the mission does not have, is a second review, or violates the
    /// engine's own constraints.
    async fn append(&self, append: Append) -> Result<u64, StoreError>;

    /// Releases a run that has no work: it waits with this status, the lease is released, and the messages are
    /// written, in one transaction. A finished run is unchanged, and its messages are not written.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::FencedOff`] as for an append.
    async fn park(
        &self,
        tenant: &TenantId,
        run: &RunId,
        fence: Fence,
        status: RunStatus,
        wait: RunWait,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError>;

    /// Returns the run, unless it is absent or another tenant's.
    async fn run(&self, tenant: &TenantId, run: &RunId) -> Result<Option<RunRecord>, StoreError>;

    /// Returns the events of a tenant's run after `sequence`, oldest first, at most `limit`; none for a run that is
    /// absent or another tenant's. For large events there may be fewer, but at least one while there are any: no more
    /// than [`PAGE_BYTES`](charter_contract::bounds::PAGE_BYTES) follow the first.
    async fn events(
        &self,
        tenant: &TenantId,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<JournalEvent>, StoreError>;

    /// Returns the total size of the events of a tenant's run in bytes.
    async fn journal_bytes(&self, tenant: &TenantId, run: &RunId) -> Result<u64, StoreError>;

    /// Returns a tenant's matching runs, newest first. If the filter reads titles, a page reads a bounded number of
    /// runs: it may have fewer entries than its limit, or none, and a cursor for the next page.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for an invalid cursor.
    async fn runs(
        &self,
        tenant: &TenantId,
        filter: &RunFilter,
        page: &PageRequest,
    ) -> Result<Page<RunRecord>, StoreError>;

    /// Returns unfinished runs of every tenant after `after`, in the order of their ids.
    async fn unfinished_runs(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<RunRecord>, StoreError>;

    /// Returns the number of unfinished runs of a tenant, counted up to `most`.
    async fn count_unfinished_runs(&self, tenant: &TenantId, most: u64) -> Result<u64, StoreError>;

    /// Leases runs of every tenant to the claim's holder, in one transaction: runs that are runnable, or waiting with
    /// `wake_at` reached, not leased at `claim.now` and not in `claim.except`. Of concurrent claims only one gets a
    /// run, and none waits for another. Each tenant's oldest run comes first, then each one's second, and so on: a
    /// tenant with many runs does not delay one with few.
    async fn claim_runs(&self, claim: &Claim) -> Result<Vec<ClaimedRun>, StoreError>;

    /// Deletes runs that finished before `before`, with their journals, leases and missions, at most `limit`; oldest
    /// first, and by tenant and id for equal times. Returns their number. Events are never deleted otherwise: the
    /// engine itself prevents changes of an event, and its deletion while its run exists.
    async fn sweep_runs(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError>;
}
