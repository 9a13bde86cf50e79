//! Runs and their journals: the plan of record.
//!
//! A journal is append-only and gapless. Each event carries the hash of the one before it, so a
//! changed, removed or reordered event is found by whoever reads the chain.

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

/// Where a run stands, as far as storage needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPhase {
    /// Has work that a worker may claim.
    Runnable,
    /// Waits for something outside: an approval, a timer, an answer.
    Waiting,
    /// Reached a final state; nothing is appended any more.
    Finished,
}

/// What becomes of a run after an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextPhase {
    /// It goes on: a worker may claim it.
    Runs,
    /// It waits for something outside.
    Waits(RunWait),
    /// It has ended.
    Ends,
}

impl NextPhase {
    /// The phase that this is.
    #[must_use]
    pub fn phase(&self) -> RunPhase {
        match self {
            Self::Runs => RunPhase::Runnable,
            Self::Waits(_) => RunPhase::Waiting,
            Self::Ends => RunPhase::Finished,
        }
    }
}

/// What a run waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunWait {
    /// When it has something to do even if nothing happens before.
    pub until: Option<Timestamp>,
    /// Its approvals that nobody has decided on, as far as the caller knows. If somebody has, the run
    /// does not wait but is runnable: a decision and the beginning of the wait for it may cross.
    pub approvals: Vec<ApprovalId>,
}

/// Follows the chain of consecutive events from `previous`, the hash before the first of them, and
/// returns the last hash; `Err` is the position of the first event that does not fit.
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
    /// Whose it is.
    pub tenant_id: TenantId,
    /// Whose it is within the tenant: who started it, or who started the run that it rolls back. Absent
    /// where a process of an earlier version wrote it. It never changes.
    pub user_id: Option<UserId>,
    /// What started it, e.g. `skill security.detect_public_ingress`; shown in listings.
    pub title: String,
    /// Where it stands.
    pub phase: RunPhase,
    /// The run's status, e.g. `awaiting_approval`; shown in listings.
    pub status: RunStatus,
    /// When a waiting run has something to do even if nothing happens before.
    pub wake_at: Option<Timestamp>,
    /// Number of events in the journal.
    pub version: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the last event was appended.
    pub updated_at: Timestamp,
}

/// An event to append. The caller chains it; storage checks the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// JSON of a domain event.
    pub payload: String,
    /// Hash of this event, chained from the one before.
    pub hash: EventHash,
    /// When.
    pub at: Timestamp,
}

/// An event as read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEvent {
    /// Position, from 1, without gaps.
    pub sequence: u64,
    /// JSON of a domain event.
    pub payload: String,
    /// Hash of this event.
    pub hash: EventHash,
    /// When.
    pub at: Timestamp,
}

/// An append: events, what they lead to, and the messages that announce them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// Whose run.
    pub tenant_id: TenantId,
    /// The run.
    pub run_id: RunId,
    /// The version that the caller decided on.
    pub expected: u64,
    /// The caller's hold on the run.
    pub fence: Fence,
    /// At least one event.
    pub events: Vec<NewEvent>,
    /// What becomes of the run after these events.
    pub then: NextPhase,
    /// The run's status after these events.
    pub status: RunStatus,
    /// What becomes of the run's approvals, all or none with the events.
    pub approvals: Vec<ApprovalChange>,
    /// What these events add to the run's mission, all or none with them.
    pub artifacts: Vec<ArtifactRecord>,
    /// Where the run's mission then stands, if that is somewhere else than before.
    pub mission_state: Option<MissionState>,
    /// Whether the caller's lease on the run is given back with this.
    pub release: bool,
    /// Published exactly when the events are. They are about the run's tenant.
    pub messages: Vec<NewMessage>,
}

/// A run to create with a worker that holds it from the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLeasedRun {
    /// The run; its version is the number of events.
    pub run: RunRecord,
    /// Its first events.
    pub events: Vec<NewEvent>,
    /// What people are asked by these events.
    pub approvals: Vec<ApprovalChange>,
    /// The envelope of the run's mission, if it is one's, and what else these events add to it.
    pub artifacts: Vec<ArtifactRecord>,
    /// Where the mission then stands; [`MissionState::Created`] when absent.
    pub mission_state: Option<MissionState>,
    /// Who holds the run.
    pub holder: String,
    /// When others may take it.
    pub expires_at: Timestamp,
    /// Whether the lease is given back at once: nothing of the run is left to do now.
    pub release: bool,
    /// Published exactly when the run is created.
    pub messages: Vec<NewMessage>,
}

/// Where runs stand that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatusFilter {
    /// They have not ended.
    Open,
    /// They have.
    Ended,
    /// Exactly there.
    At(RunStatus),
}

/// Which runs to list. Absent fields do not restrict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// This user's.
    pub user_id: Option<UserId>,
    /// That stand there.
    pub standing: Option<RunStatusFilter>,
    /// Whose titles begin with one of these: what started them. None for all.
    pub begins: Vec<String>,
    /// Whose titles have this in them, in whatever case.
    pub title: Option<String>,
    /// Created at or after.
    pub created_from: Option<Timestamp>,
    /// Created before.
    pub created_until: Option<Timestamp>,
}

impl RunFilter {
    /// Whether titles are looked at, which no index has.
    #[must_use]
    pub fn reads_titles(&self) -> bool {
        !self.begins.is_empty() || self.title.is_some()
    }

    /// Whether a run's title fits.
    #[must_use]
    pub fn fits_title(&self, title: &str) -> bool {
        let begins = |with: &String| title.starts_with(with.as_str());
        let has = |text: &String| title.to_lowercase().contains(&text.to_lowercase());
        (self.begins.is_empty() || self.begins.iter().any(begins))
            && self.title.as_ref().is_none_or(has)
    }
}

/// A worker that looks for runs to drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Who: one process, one incarnation.
    pub holder: String,
    /// The moment.
    pub now: Timestamp,
    /// When others may take what this worker got.
    pub until: Timestamp,
    /// How many runs it can take at most.
    pub limit: usize,
    /// Runs that it cannot drive, and leaves to others.
    pub except: Vec<RunId>,
}

/// A run that a worker got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedRun {
    /// The run.
    pub run: RunRecord,
    /// The worker's hold on it.
    pub lease: Lease,
}

/// Runs and journals.
#[async_trait]
pub trait Journal {
    /// Creates a run with its first events, in one transaction. `run.version` is the number of events.
    /// A mission's envelope comes first among `artifacts`; a run of none has none.
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

    /// Creates a run as [`Journal::create_run`] does and takes the lease on it in the same
    /// transaction, so that a run which is driven at once costs no commit of its own.
    ///
    /// # Errors
    /// As for [`Journal::create_run`]; also [`StoreError::Refused`] while somebody holds a lease on
    /// the run's id, or for an approval that is moved and not asked for.
    async fn create_held_run(&self, new: NewLeasedRun) -> Result<Lease, StoreError>;

    /// Appends events with their messages, in one transaction; returns the new version. Appends of
    /// several runs may share one commit; each is durable when its call returns.
    ///
    /// # Errors
    /// Checked in this order: [`StoreError::NotFound`]; [`StoreError::FencedOff`] unless
    /// `append.fence` is the fence of the lease on the run's id ([`Fence`] 0 when it was never
    /// leased); [`StoreError::VersionConflict`]; [`StoreError::Refused`] when the run is finished,
    /// there is no event, or an approval does not stand where the change says or is another run's;
    /// [`StoreError::Corrupt`] when the events do not chain from the last stored one.
    ///
    /// For artifacts: [`StoreError::AlreadyExists`] when the mission has another one of the kind and
    /// id (the same to the byte is a repeat, and writes nothing); [`StoreError::Refused`] when it is
    /// not of the run's mission, not of the version that is written, names a task that the mission
    /// does not have, is a second review, or is refused by the engine's own constraints.
    async fn append(&self, append: Append) -> Result<u64, StoreError>;

    /// Gives back a run that has nothing to do: it waits, and the lease is released. A finished run
    /// is left as it is.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::FencedOff`] as for an append.
    async fn park(
        &self,
        tenant: &TenantId,
        run: &RunId,
        fence: Fence,
        wait: RunWait,
    ) -> Result<(), StoreError>;

    /// The run, unless it is absent or another tenant's.
    async fn run(&self, tenant: &TenantId, run: &RunId) -> Result<Option<RunRecord>, StoreError>;

    /// The events of a tenant's run after `sequence`, oldest first, at most `limit`; none of a run that is
    /// absent or another tenant's. Where they are large there may be fewer, but one at least while there are any:
    /// no more than [`PAGE_BYTES`](charter_contract::bounds::PAGE_BYTES) follow the first.
    async fn events(
        &self,
        tenant: &TenantId,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<JournalEvent>, StoreError>;

    /// The bytes of all events of a tenant's run.
    async fn journal_bytes(&self, tenant: &TenantId, run: &RunId) -> Result<u64, StoreError>;

    /// A tenant's runs that fit, newest first. Where titles are looked at, a page looks at a bounded number
    /// of runs: it may hold fewer than it has room for, or none, and say where the next one starts.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a cursor that no page gave out.
    async fn runs(
        &self,
        tenant: &TenantId,
        filter: &RunFilter,
        page: &PageRequest,
    ) -> Result<Page<RunRecord>, StoreError>;

    /// Runs of every tenant that have not finished, in the order of their ids, those after `after`.
    async fn unfinished_runs(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<RunRecord>, StoreError>;

    /// How many runs of a tenant have not finished, counted up to `most`.
    async fn count_unfinished_runs(&self, tenant: &TenantId, most: u64) -> Result<u64, StoreError>;

    /// Takes up runs of every tenant that are runnable, or waiting with their moment come, not leased at
    /// `claim.now` and none of `claim.except`, and leases them to the claim's holder, in one transaction. A run is claimed by one
    /// of those who claim at the same time, and nobody waits for another. Each tenant's oldest first, then
    /// each one's second, and so on: a tenant with many runs does not hold up one with few.
    async fn claim_runs(&self, claim: &Claim) -> Result<Vec<ClaimedRun>, StoreError>;

    /// Deletes runs that finished before `before`, with their journals, leases and missions, at most
    /// `limit`, the oldest first, by tenant and id those of the same moment; returns how many. Nothing else
    /// ever deletes an event: the engine itself refuses to change one, and to delete one while its run exists.
    async fn sweep_runs(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError>;
}
