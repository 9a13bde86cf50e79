//! A store that notifies a watcher before and after each of its writes: a test counts the writes, or ends its process
//! at one of them. A watcher may also let reads fail. It knows no engine, and changes no write.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use charter_contract::catalogue::evidence::{Attachment, EvidenceRecord};
use charter_contract::catalogue::tags::TagRecord;
use charter_contract::content::{ContentDigest, ToolContent};
use charter_contract::ids::{
    ApprovalId, AssignmentId, DocumentId, EvidenceId, HookId, KeyId, Label, LeaseId, MemoryId,
    MissionId, PackageName, RequestId, RouteExampleId, RunId, ScheduleId, SessionId, SkillId,
    TagRequestId, TenantId, UserId,
};
use charter_contract::mission::ArtifactKind;
use charter_contract::route_example::RoutedKind;
use charter_contract::run_status::RunStatus;
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_domain::evidence_log::{Hash, NodeId};
use charter_domain::skill_folder::SkillFile;
use charter_store::agent_skills::{
    AgentSkills, SkillFileEntry, SkillVector, SkillsLoaded, SkillsModel, SkillsRevision,
    SkillsWrite,
};
use charter_store::approval::{
    ApprovalFilter, ApprovalTransition, Approvals, CallRegistration, ListedApproval, PendingCalls,
};
use charter_store::assignment::{
    AssignmentFilter, AssignmentLease, AssignmentOffer, AssignmentRecord, AssignmentVerdict,
    Assignments,
};
use charter_store::calibration::{CalibrationRecord, Calibrations};
use charter_store::catalogue::{
    Catalogue, CatalogueRevision, DocumentKey, DocumentVersion, PackageVersion, Registration,
    StoredDocument,
};
use charter_store::connected_account::{
    AccountKey, AccountRenewal, ConnectedAccount, ConnectedAccounts, SealedSecret,
};
use charter_store::console_session::{ConsoleSession, ConsoleSessionHash, ConsoleSessions};
use charter_store::evidence::{Evidence, EvidenceFilter, EvidenceHead};
use charter_store::evidence_log::{EvidenceLog, PublishedCheckpoint, StoredLeaf};
use charter_store::journal::{
    Append, Claim, ClaimedRun, Journal, JournalEvent, NewEvent, NewLeasedRun, RunFilter, RunRecord,
    RunWait,
};
use charter_store::key::{KeyHash, KeyPresence, KeyRecord, Keys, Revocation};
use charter_store::lease::{Fence, Lease, Leases};
use charter_store::lens::{
    LensChunk, LensGeneration, LensRecord, LensText, Lenses, NearPart, NearestPassages,
    NewLensIndex, PassageKey,
};
use charter_store::memory::{
    Memories, MemoryChange, MemoryDecision, MemoryRecord, MemoryVector, MemoryVersion, NearMemory,
    NearestMemories, NewMemory, NewVersion, Proposals,
};
use charter_store::mission::{
    ArtifactFilter, ArtifactRecord, Imported, MissionFilter, MissionImport, MissionRecord,
    Missions, StoredArtifact,
};
use charter_store::notices::Notices;
use charter_store::notification::{
    ClaimedMessage, MessageOutcome, NewNotification, NotificationClaim, NotificationFilter,
    NotificationRecord, Notifications,
};
use charter_store::outbox::{Message, NewMessage, Outbox};
use charter_store::page::{Page, PageRequest};
use charter_store::request::{RequestLease, RequestRecord, Requests};
use charter_store::route_example::{
    ExampleFilter, ExampleMove, ExampleRoom, RouteExampleRecord, RouteExamples, Suggested,
};
use charter_store::schedule::{
    OccurrenceAdded, OccurrenceChange, OccurrenceRecord, ScheduleChange, ScheduleRecord,
    ScheduleStored, Schedules,
};
use charter_store::session::{SessionRecord, Sessions, Turn};
use charter_store::tag::Tags;
use charter_store::tenant::{Erased, RowCounts, Tenants};
use charter_store::tool_content::ToolContents;
use charter_store::vector::{StoredVector, TextHash, Vectors};
use charter_store::{SharedStore, StoreError};

/// One write.
#[derive(Debug, Clone, Copy)]
pub enum Write<'a> {
    /// Events of a run, from its creation or an append.
    Events {
        /// Name of the method.
        method: &'static str,
        /// Appended events.
        events: &'a [NewEvent],
    },
    /// Any other writing method.
    Other(&'static str),
}

/// Time of a notification, relative to the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The write has not started.
    Before,
    /// The write is durable or refused, but its caller does not know yet.
    After,
}

/// Is notified of each write, on the task that writes.
pub trait Watcher: Send + Sync {
    /// Handles a notification before or after a write.
    fn at(&self, side: Side, write: Write<'_>);

    /// Returns the failure of a reading method; `None` if the store answers.
    fn fault(&self, read: &'static str) -> Option<StoreError> {
        let _ = read;
        None
    }
}

/// A store with a watcher.
pub struct WatchedStore {
    inner: SharedStore,
    watcher: Arc<dyn Watcher>,
}

impl WatchedStore {
    /// Wraps a store.
    #[must_use]
    pub fn new(inner: SharedStore, watcher: Arc<dyn Watcher>) -> Self {
        Self { inner, watcher }
    }

    fn must_answer(&self, read: &'static str) -> Result<(), StoreError> {
        self.watcher.fault(read).map_or(Ok(()), Err)
    }
}

/// Forwards the methods to the inner store, and notifies the watcher of the writing ones.
macro_rules! watched {
    ($of:ident reads { $(fn $read:ident($($known:ident: $knows:ty),*) -> $found:ty;)* }
     writes { $(fn $write:ident($($given:ident: $gives:ty),*) -> $done:ty;)* }) => {
        #[async_trait]
        impl $of for WatchedStore {
            $(async fn $read(&self, $($known: $knows),*) -> Result<$found, StoreError> {
                self.must_answer(stringify!($read))?;
                self.inner.$read($($known),*).await
            })*
            $(async fn $write(&self, $($given: $gives),*) -> Result<$done, StoreError> {
                let write = Write::Other(stringify!($write));
                self.watcher.at(Side::Before, write);
                let done = self.inner.$write($($given),*).await;
                self.watcher.at(Side::After, write);
                done
            })*
        }
    };
}

#[async_trait]
impl Notices for WatchedStore {
    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    async fn notice(&self) {
        self.inner.notice().await;
    }
}

#[async_trait]
impl Journal for WatchedStore {
    async fn create_run(
        &self,
        run: &RunRecord,
        events: Vec<NewEvent>,
        artifacts: Vec<ArtifactRecord>,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let told = events.clone();
        let write = Write::Events {
            method: "create_run",
            events: &told,
        };
        self.watcher.at(Side::Before, write);
        let done = self.inner.create_run(run, events, artifacts, messages);
        let done = done.await;
        self.watcher.at(Side::After, write);
        done
    }

    async fn create_held_run(&self, new: NewLeasedRun) -> Result<Lease, StoreError> {
        let told = new.events.clone();
        let write = Write::Events {
            method: "create_held_run",
            events: &told,
        };
        self.watcher.at(Side::Before, write);
        let done = self.inner.create_held_run(new).await;
        self.watcher.at(Side::After, write);
        done
    }

    async fn append(&self, append: Append) -> Result<u64, StoreError> {
        let told = append.events.clone();
        let write = Write::Events {
            method: "append",
            events: &told,
        };
        self.watcher.at(Side::Before, write);
        let done = self.inner.append(append).await;
        self.watcher.at(Side::After, write);
        done
    }

    async fn park(
        &self,
        tenant: &TenantId,
        run: &RunId,
        fence: Fence,
        status: RunStatus,
        wait: RunWait,
        messages: Vec<NewMessage>,
    ) -> Result<(), StoreError> {
        let write = Write::Other("park");
        self.watcher.at(Side::Before, write);
        let parked = self.inner.park(tenant, run, fence, status, wait, messages);
        let done = parked.await;
        self.watcher.at(Side::After, write);
        done
    }

    async fn run(&self, tenant: &TenantId, run: &RunId) -> Result<Option<RunRecord>, StoreError> {
        self.must_answer("run")?;
        self.inner.run(tenant, run).await
    }

    async fn events(
        &self,
        tenant: &TenantId,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<JournalEvent>, StoreError> {
        self.must_answer("events")?;
        self.inner.events(tenant, run, after, limit).await
    }

    async fn journal_bytes(&self, tenant: &TenantId, run: &RunId) -> Result<u64, StoreError> {
        self.inner.journal_bytes(tenant, run).await
    }

    async fn runs(
        &self,
        tenant: &TenantId,
        filter: &RunFilter,
        page: &PageRequest,
    ) -> Result<Page<RunRecord>, StoreError> {
        self.inner.runs(tenant, filter, page).await
    }

    async fn unfinished_runs(
        &self,
        after: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<RunRecord>, StoreError> {
        self.inner.unfinished_runs(after, limit).await
    }

    async fn count_unfinished_runs(&self, tenant: &TenantId, most: u64) -> Result<u64, StoreError> {
        self.inner.count_unfinished_runs(tenant, most).await
    }

    async fn claim_runs(&self, claim: &Claim) -> Result<Vec<ClaimedRun>, StoreError> {
        // Not watched: claims run concurrently with all other writes, and expire by themselves.
        self.inner.claim_runs(claim).await
    }

    async fn sweep_runs(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError> {
        let write = Write::Other("sweep_runs");
        self.watcher.at(Side::Before, write);
        let done = self.inner.sweep_runs(before, limit).await;
        self.watcher.at(Side::After, write);
        done
    }
}

watched! { Keys
reads {
    fn key(tenant: &TenantId, key: &KeyId) -> Option<KeyRecord>;
    fn key_of_hash(hash: &KeyHash) -> Option<KeyRecord>;
    fn keys(tenant: &TenantId, page: &PageRequest) -> Page<KeyRecord>;
    fn key_tenants() -> Vec<TenantId>;
    fn keys_kept(now: Timestamp) -> KeyPresence;
}
writes {
    fn create_key(key: &KeyRecord, messages: Vec<NewMessage>) -> ();
    fn rotate_key(new: &KeyRecord, end: Timestamp, messages: Vec<NewMessage>) -> ();
    fn revoke_key(tenant: &TenantId, key: &KeyId, revocation: &Revocation, messages: Vec<NewMessage>)
        -> bool;
    fn note_key_use(tenant: &TenantId, key: &KeyId, at: Timestamp, unless_after: Timestamp) -> ();
} }

// Renewals run concurrently with all other writes, and an unrenewed lease expires.
watched! { Leases
reads {
    fn renew(holder: &str, resources: &[String], expires_at: Timestamp) -> Vec<String>;
}
writes {
    fn acquire(resource: &str, holder: &str, now: Timestamp, until: Timestamp) -> Option<Lease>;
    fn release(lease: &Lease) -> ();
} }

watched! { AgentSkills
reads {
    fn load_skills() -> SkillsLoaded;
    fn skills_of(skills: &[(Scope, SkillId)]) -> SkillsLoaded;
    fn skills_revision() -> SkillsRevision;
    fn skill_instruction(scope: &Scope, skill: &SkillId) -> Option<String>;
    fn skill_instructions(skills: &[(Scope, SkillId)]) -> Vec<(Scope, SkillId, String)>;
    fn skill_files(scope: &Scope, skill: &SkillId) -> Vec<SkillFileEntry>;
    fn all_skill_files(scope: &Scope) -> Vec<(SkillId, Vec<SkillFileEntry>)>;
    fn skill_file(scope: &Scope, skill: &SkillId, path: &str) -> Option<SkillFile>;
}
writes {
    fn change_skills(write: SkillsWrite) -> SkillsRevision;
    fn index_skills(model: &SkillsModel, expected: SkillsRevision,
        vectors: Vec<(Scope, SkillId, SkillVector)>, at: Timestamp) -> SkillsRevision;
} }

watched! { Approvals
reads {
    fn approval(tenant: &TenantId, approval: &ApprovalId) -> Option<ListedApproval>;
    fn approvals(tenant: &TenantId, filter: ApprovalFilter<'_>, page: &PageRequest)
        -> Page<ListedApproval>;
    fn is_call_pending(tenant: &TenantId, run: &RunId, other: &RunId) -> bool;
}
writes {
    fn decide_approval(tenant: &TenantId, decision: ApprovalTransition, evidence: Vec<EvidenceRecord>, messages: Vec<NewMessage>) -> ();
    fn register_calls(tenant: &TenantId, registration: CallRegistration) -> Option<PendingCalls>;
    fn release_calls(tenant: &TenantId, run: &RunId) -> Vec<RunId>;
} }

watched! { Catalogue
reads {
    fn revision() -> CatalogueRevision;
    fn load() -> (CatalogueRevision, Vec<StoredDocument>);
    fn packages(scope: &Scope) -> Vec<PackageVersion>;
    fn package_history(scope: &Scope, package: &PackageName) -> Vec<PackageVersion>;
    fn package_files(scope: &Scope, package: &PackageName, version: &str)
        -> Option<BTreeMap<String, String>>;
    fn document_history(key: &DocumentKey) -> Vec<DocumentVersion>;
}
writes {
    fn register(registration: Registration) -> CatalogueRevision;
    fn unregister(scope: &Scope, package: &PackageName, expected: CatalogueRevision,
        actor: &UserId, at: Timestamp) -> CatalogueRevision;
} }

watched! { Calibrations
reads { fn calibration(model: &str) -> Option<CalibrationRecord>; }
writes { fn put_calibration(calibration: &CalibrationRecord) -> (); } }

watched! { Evidence
reads {
    fn evidence(tenant: &TenantId, evidence: &EvidenceId) -> Option<EvidenceRecord>;
    fn evidence_user(tenant: &TenantId, evidence: &EvidenceId) -> Option<UserId>;
    fn find_evidence(tenant: &TenantId, filter: &EvidenceFilter, page: &PageRequest)
        -> Page<EvidenceRecord>;
    fn list_evidence(tenant: &TenantId, filter: &EvidenceFilter, page: &PageRequest)
        -> Page<EvidenceHead>;
}
writes {
    fn put_evidence(tenant: &TenantId, records: &[EvidenceRecord]) -> ();
    fn attach_evidence(tenant: &TenantId, evidence: &EvidenceId, attachment: &Attachment,
        at: Timestamp) -> ();
} }

watched! { EvidenceLog
reads {
    fn log_size(tenant: &TenantId) -> u64;
    fn log_nodes(tenant: &TenantId, nodes: &[NodeId]) -> BTreeMap<NodeId, Hash>;
    fn log_leaves(tenant: &TenantId, from: u64, limit: usize) -> Vec<StoredLeaf>;
    fn log_leaves_of(tenant: &TenantId, evidence: &EvidenceId) -> Vec<StoredLeaf>;
    fn published_checkpoint(tenant: &TenantId, size: u64) -> Option<PublishedCheckpoint>;
}
writes {
    fn publish_checkpoint(tenant: &TenantId, checkpoint: &PublishedCheckpoint) -> ();
    fn remove_payloads(before: Timestamp, at: Timestamp, limit: usize) -> usize;
} }

watched! { Tenants
reads { fn rows_of_tenant(tenant: &TenantId) -> RowCounts; }
writes { fn erase_tenant(tenant: &TenantId, at: Timestamp) -> Erased; } }

watched! { Lenses
reads {
    fn lens_indexes() -> Vec<LensRecord>;
    fn lens_chunks(scope: &Scope, generation: LensGeneration) -> Vec<LensChunk>;
    fn lens_texts(scope: &Scope, generation: LensGeneration) -> Vec<LensText>;
    fn searches_passages() -> bool;
    fn nearest_passages(tenant: &TenantId, asked: &NearestPassages<'_>) -> Vec<NearPart>;
    fn passages(tenant: &TenantId, passages: &[PassageKey]) -> Vec<LensText>;
}
writes {
    fn replace_lens_index(scope: &Scope, index: NewLensIndex, expected: Option<LensGeneration>)
        -> LensGeneration;
    fn note_lens_source(scope: &Scope, generation: LensGeneration, body: &str) -> ();
} }

watched! { Memories
reads {
    fn memory(tenant: &TenantId, memory: &MemoryId, now: Timestamp) -> Option<MemoryRecord>;
    fn memory_version(tenant: &TenantId, memory: &MemoryId, version: u64) -> Option<MemoryVersion>;
    fn memory_versions(tenant: &TenantId, memory: &MemoryId, limit: usize) -> Vec<MemoryVersion>;
    fn memories(tenant: &TenantId, reader: &UserId, proposals: Proposals, now: Timestamp,
        page: &PageRequest) -> Page<MemoryRecord>;
    fn memory_changes(tenant: &TenantId, after: u64, limit: usize) -> Vec<MemoryChange>;
    fn nearest_memories(tenant: &TenantId, asked: &NearestMemories<'_>) -> Option<Vec<NearMemory>>;
    fn memories_without_vector(model: &str, limit: usize) -> Vec<(TenantId, MemoryVersion)>;
}
writes {
    fn add_memory(new: &NewMemory, most: u64) -> ();
    fn add_memory_version(tenant: &TenantId, memory: &MemoryId, expected: Option<u64>,
        new: &NewVersion)
        -> u64;
    fn decide_memory(tenant: &TenantId, memory: &MemoryId, decision: &MemoryDecision) -> ();
    fn remove_memory(tenant: &TenantId, memory: &MemoryId, by: &UserId, at: Timestamp) -> ();
    fn put_memory_vectors(vectors: &[(TenantId, MemoryId, u64, MemoryVector)]) -> ();
    fn sweep_memories(now: Timestamp) -> u64;
} }

watched! { Assignments
reads {
    fn assignment(tenant: &TenantId, assignment: &AssignmentId) -> Option<AssignmentRecord>;
    fn assignments(tenant: &TenantId, filter: AssignmentFilter<'_>, page: &PageRequest)
        -> Page<AssignmentRecord>;
}
writes {
    fn offer_assignment(offer: &AssignmentOffer) -> AssignmentRecord;
    fn claim_assignment(tenant: &TenantId, assignment: &AssignmentId, lease: &AssignmentLease,
        now: Timestamp) -> bool;
    fn release_assignment(tenant: &TenantId, assignment: &AssignmentId, lease: &LeaseId) -> bool;
    fn submit_assignment(tenant: &TenantId, assignment: &AssignmentId, lease: &LeaseId,
        submission: &str, now: Timestamp) -> bool;
    fn judge_assignment(tenant: &TenantId, assignment: &AssignmentId, turn: u64,
        verdict: &AssignmentVerdict) -> bool;
} }

watched! { Missions
reads {
    fn mission(tenant: &TenantId, mission: &MissionId) -> Option<MissionRecord>;
    fn missions(tenant: &TenantId, filter: MissionFilter<'_>, page: &PageRequest)
        -> Page<MissionRecord>;
    fn artifacts(tenant: &TenantId, mission: &MissionId, filter: ArtifactFilter<'_>, after: u64,
        limit: usize) -> Vec<StoredArtifact>;
    fn artifact(tenant: &TenantId, mission: &MissionId, kind: ArtifactKind, artifact: &str)
        -> Option<StoredArtifact>;
}
writes { fn import_mission(import: MissionImport) -> Imported; } }

watched! { Outbox
reads {
    fn messages(after: u64, limit: usize) -> Vec<Message>;
    fn messages_of(tenant: &TenantId, after: u64, limit: usize) -> Vec<Message>;
    fn last_message() -> u64;
}
writes {
    fn publish(messages: Vec<NewMessage>) -> ();
    fn sweep_messages(before: Timestamp) -> u64;
} }

watched! { Requests
reads {
    fn take_requests(now: Timestamp, hold: &RequestLease, limit: usize) -> Vec<RequestRecord>;
    fn renew_requests(hold: &RequestLease) -> u64;
    fn request(tenant: &TenantId, request: &RequestId) -> Option<RequestRecord>;
    fn requests_of(tenant: &TenantId, user: Option<&UserId>, page: &PageRequest) -> Page<RequestRecord>;
    fn request_of_run(tenant: &TenantId, run: &RunId) -> Option<RequestRecord>;
    fn requests_of_ended_runs(limit: usize) -> Vec<RequestRecord>;
}
writes {
    fn open_request(request: &RequestRecord, hold: &RequestLease) -> ();
    fn hold_request(tenant: &TenantId, request: &RequestId, now: Timestamp, hold: &RequestLease) -> bool;
    fn release_request(tenant: &TenantId, request: &RequestId, holder: &str, again_at: Timestamp) -> ();
    fn record_verdict(tenant: &TenantId, request: &RequestId, verdict: &str, at: Timestamp) -> ();
    fn close_request(tenant: &TenantId, request: &RequestId, answer: &str, run: Option<&RunId>,
        at: Timestamp) -> ();
    fn record_result(tenant: &TenantId, request: &RequestId, result: &str, messages: Vec<NewMessage>,
        at: Timestamp) -> ();
    fn sweep_requests(before: Timestamp) -> u64;
} }

watched! { RouteExamples
reads {
    fn route_example(tenant: &TenantId, example: &RouteExampleId) -> Option<RouteExampleRecord>;
    fn route_examples(tenant: &TenantId, filter: ExampleFilter<'_>, page: &PageRequest)
        -> Page<RouteExampleRecord>;
    fn open_examples(tenant: &TenantId, kind: RoutedKind, document: &DocumentId)
        -> Vec<RouteExampleRecord>;
    fn accepted_examples() -> Vec<RouteExampleRecord>;
}
writes {
    fn suggest_example(example: &RouteExampleRecord, room: ExampleRoom) -> Suggested;
    fn move_example(tenant: &TenantId, step: ExampleMove, messages: Vec<NewMessage>) -> ();
} }

watched! { Schedules
reads {
    fn schedule(tenant: &TenantId, schedule: &ScheduleId) -> Option<ScheduleRecord>;
    fn schedule_of_hook(hook: &HookId) -> Option<ScheduleRecord>;
    fn schedules(tenant: &TenantId, user: Option<&UserId>, page: &PageRequest) -> Page<ScheduleRecord>;
    fn finding_triggers(tenant: &TenantId) -> Vec<ScheduleId>;
    fn schedules_due(now: Timestamp, after: Option<(&TenantId, &ScheduleId)>, limit: usize)
        -> Vec<(TenantId, ScheduleId)>;
    fn occurrence(tenant: &TenantId, schedule: &ScheduleId, occurrence: &str) -> Option<OccurrenceRecord>;
    fn occurrences(tenant: &TenantId, schedule: &ScheduleId, page: &PageRequest) -> Page<OccurrenceRecord>;
    fn waiting_occurrences(tenant: &TenantId, schedule: &ScheduleId, limit: usize) -> Vec<OccurrenceRecord>;
    fn started_occurrences(tenant: &TenantId, schedule: &ScheduleId, limit: usize) -> Vec<OccurrenceRecord>;
    fn last_reported(tenant: &TenantId, schedule: &ScheduleId) -> Option<OccurrenceRecord>;
}
writes {
    fn put_schedule(schedule: &ScheduleRecord, expected: Option<u64>, room: usize, messages: Vec<NewMessage>)
        -> ScheduleStored;
    fn change_schedule(tenant: &TenantId, schedule: &ScheduleId, change: &ScheduleChange,
        messages: Vec<NewMessage>) -> bool;
    fn advance_schedule(tenant: &TenantId, schedule: &ScheduleId, expected: u64, next_at: Option<Timestamp>,
        occurrences: &[OccurrenceRecord], room: usize) -> bool;
    fn delete_schedule(tenant: &TenantId, schedule: &ScheduleId, messages: Vec<NewMessage>) -> bool;
    fn add_occurrence(occurrence: &OccurrenceRecord, room: usize, messages: Vec<NewMessage>) -> OccurrenceAdded;
    fn change_occurrence(tenant: &TenantId, schedule: &ScheduleId, occurrence: &str, change: &OccurrenceChange,
        messages: Vec<NewMessage>) -> bool;
    fn sweep_occurrences(before: Timestamp) -> u64;
} }

watched! { Sessions
reads {
    fn session(tenant: &TenantId, session: &SessionId, now: Timestamp) -> Option<SessionRecord>;
    fn turns(tenant: &TenantId, session: &SessionId, limit: usize) -> Vec<Turn>;
}
writes {
    fn open_session(session: &SessionRecord) -> ();
    fn append_turn(tenant: &TenantId, session: &SessionId, turn: &Turn, expires_at: Timestamp,
        keep: usize) -> ();
    fn sweep_sessions(now: Timestamp) -> u64;
} }

watched! { ConnectedAccounts
reads {
    fn account(key: &AccountKey) -> Option<ConnectedAccount>;
    fn accounts_of_user(tenant: &TenantId, user: &UserId) -> Vec<ConnectedAccount>;
    fn accounts_of_credential(tenant: &TenantId, credential: &Label, page: &PageRequest)
        -> Page<ConnectedAccount>;
    fn accounts_sealed_otherwise(key_id: &str, limit: usize) -> Vec<ConnectedAccount>;
}
writes {
    fn connect_account(account: &ConnectedAccount, messages: Vec<NewMessage>) -> u64;
    fn renew_account(key: &AccountKey, renewal: &AccountRenewal) -> ();
    fn disconnect_account(key: &AccountKey, messages: Vec<NewMessage>) -> bool;
} }

watched! { ConsoleSessions
reads { fn console_session(hash: &ConsoleSessionHash) -> Option<ConsoleSession>; }
writes {
    fn open_console_session(session: &ConsoleSession, most: usize) -> Vec<ConsoleSession>;
    fn renew_console_session(session: &ConsoleSession, secret: &SealedSecret) -> ();
    fn extend_console_session(session: &ConsoleSession, ends_at: Timestamp) -> ();
    fn end_console_session(session: &ConsoleSession) -> bool;
    fn sweep_console_sessions(now: Timestamp) -> u64;
} }

watched! { Tags
reads { fn tags(tenant: &TenantId, request: &TagRequestId, now: Timestamp) -> Option<TagRecord>; }
writes {
    fn put_tags(tags: &TagRecord) -> ();
    fn sweep_tags(now: Timestamp) -> u64;
} }

watched! { Notifications
reads {
    fn notification_position() -> Option<u64>;
    fn notifications(tenant: &TenantId, filter: NotificationFilter<'_>, page: &PageRequest) -> Page<NotificationRecord>;
}
writes {
    fn put_notifications(from: Option<u64>, to: u64, new: Vec<NewNotification>) -> ();
    fn claim_message(claim: &NotificationClaim) -> Option<ClaimedMessage>;
    fn settle_message(claimed: &ClaimedMessage, holder: &str, outcome: &MessageOutcome, at: Timestamp) -> bool;
    fn sweep_notifications(before: Timestamp) -> u64;
    fn use_signature(tenant: &TenantId, signature: &str, expires_at: Timestamp) -> bool;
    fn sweep_signatures(now: Timestamp) -> u64;
} }

watched! { ToolContents
reads { fn tool_content(tenant: &TenantId, digest: &ContentDigest) -> Option<ToolContent>; }
writes {
    fn put_tool_contents(tenant: &TenantId, contents: &[ToolContent], at: Timestamp) -> ();
    fn sweep_tool_contents(before: Timestamp) -> u64;
} }

watched! { Vectors
reads {
    fn vectors(model: &str, texts: &[TextHash]) -> Vec<StoredVector>;
    fn all_vectors(model: &str) -> Vec<StoredVector>;
}
writes {
    fn put_vectors(model: &str, vectors: Vec<StoredVector>) -> ();
    fn retain_vectors(model: &str, keep: &[TextHash]) -> u64;
} }
