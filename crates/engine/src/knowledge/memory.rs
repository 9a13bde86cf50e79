//! Memories (B003-10): written, proposed, decided on, superseded, removed, listed.
//!
//! `charter_domain::memory` decides their rules; [`find`] searches. A memory that is not visible to the caller looks
//! absent.

mod alike;
mod draft;
mod find;
mod index;
mod propose;
mod recall;
mod reindex;
mod shown;
mod similar;

use std::sync::Arc;

use charter_contract::agentic::memory::{MemoryEntry, MemoryState};
use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{AgentId, MemoryId, TenantId};
use charter_contract::time::Timestamp;
use charter_domain::clock::Clock;
use charter_domain::memory::{self, MemoryOwnership, MemoryReader};
use charter_store::memory::{
    MemoryDecision, MemoryRecord, MemoryVector, MemoryVerdict, NewMemory, NewVersion, Proposals,
};
use charter_store::page::PageRequest;
use charter_store::{SharedStore, StoreError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::catalogue::live::TextVectors;
use crate::ground::core_ports::CorePorts;
use crate::ground::error::newest_known;
use crate::ground::ids::IdSource;
use crate::ground::moments;
use crate::ground::settings::MemorySettings;
use crate::identity::keys::KeyService;
use crate::{Caller, EngineError};

use draft::entry;
pub use draft::{MemoryDraft, Remember, Supersede};
pub use find::{MemoryHit, MemoryQuery};
use index::MemoryIndexes;
pub(crate) use recall::{RecalledMemory, RecalledNote};
pub use shown::{MemoryView, RelatedMemory};

/// A person's decision on a proposed version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalAnswer {
    /// The version comes into force.
    Accept,
    /// The version is rejected.
    Reject,
}

/// Which memories are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedMemories {
    /// Those in force.
    InForce,
    /// Those with a proposal that is visible to the caller.
    Proposed,
}

/// A page of memories.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "MemoryPage")]
pub struct MemoryPage {
    /// The memories, newest first.
    pub entries: Vec<MemoryView>,
    /// Cursor to the next page; absent on the last one.
    pub next: Option<String>,
}

pub(crate) fn person(caller: &Caller) -> MemoryReader<'_> {
    MemoryReader {
        user: &caller.user,
        role: caller.role,
    }
}

pub(crate) fn holding(record: &MemoryRecord) -> MemoryOwnership<'_> {
    MemoryOwnership {
        owner: &record.user_id,
        visibility: record.visibility,
    }
}

fn absent(id: &MemoryId) -> EngineError {
    EngineError::not_found("memory", id)
}

/// The memories of all tenants.
pub struct MemoryService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    keys: Arc<KeyService>,
    vectors: Arc<TextVectors>,
    settings: MemorySettings,
    indexes: MemoryIndexes,
}

impl std::fmt::Debug for MemoryService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryService").finish_non_exhaustive()
    }
}

impl MemoryService {
    pub(crate) fn new(
        ports: CorePorts,
        keys: Arc<KeyService>,
        vectors: Arc<TextVectors>,
        settings: MemorySettings,
    ) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            ids: ports.ids,
            keys,
            vectors,
            settings,
            indexes: MemoryIndexes::default(),
        }
    }

    /// Drops this process's index of a tenant whose data was erased.
    pub(crate) fn forget(&self, tenant: &TenantId) {
        self.indexes.forget(tenant);
    }

    /// Writes a memory: in force at once, or as a proposal.
    ///
    /// # Errors
    /// `invalid_document` with every violation; `not_found` for a related memory that is not visible to the caller;
    /// `too_large` if the tenant has reached its limit of memories.
    pub async fn remember(
        &self,
        caller: &Caller,
        new: Remember,
    ) -> Result<MemoryView, EngineError> {
        let at = self.clock.now();
        let id = MemoryId::from_uuid(self.ids.uuid());
        let owned = MemoryOwnership {
            owner: &caller.user,
            visibility: new.visibility,
        };
        let state = owned.begins(person(caller), new.agent_id.is_some());
        let entry = entry(&id, at, None, new.memory)?;
        let first = self.version(caller, state, entry, new.agent_id).await?;
        let record = NewMemory {
            tenant_id: caller.tenant.clone(),
            user_id: caller.user.clone(),
            visibility: new.visibility,
            first,
        };
        let most = self.settings.most;
        match self.store.add_memory(&record, most).await {
            Ok(()) => {}
            Err(StoreError::Refused { .. }) => {
                let message = format!(
                    "memory limit reached: {most} memories (memory.most); delete some first"
                );
                return Err(EngineError::new(ErrorCode::TooLarge, message));
            }
            Err(error) => return Err(error.into()),
        }
        let in_force = (state == MemoryState::Accepted).then_some(1);
        let mut shown = self.show_written(caller, &id, in_force).await?;
        self.mark_written(caller, &mut shown, &record.first).await;
        Ok(shown)
    }

    /// Writes the next version of a memory: in force at once, or as a proposal. The version before it stays readable.
    ///
    /// # Errors
    /// As [`MemoryService::remember`]; `not_found` for a memory that is not visible to the caller; `version_conflict`
    /// if another version is in force than the caller saw; `illegal_transition` while a proposal waits.
    pub async fn supersede(
        &self,
        caller: &Caller,
        id: &MemoryId,
        new: Supersede,
    ) -> Result<MemoryView, EngineError> {
        let record = self.living(caller, id).await?;
        let state = holding(&record).begins(person(caller), new.agent_id.is_some());
        let at = self.clock.now();
        let entry = entry(id, record.created_at, Some(at), new.memory)?;
        let version = self.version(caller, state, entry, new.agent_id).await?;
        let added = self
            .store
            .add_memory_version(&caller.tenant, id, new.expected_version, &version)
            .await;
        let added = added.map_err(|error| standing(id, error))?;
        let in_force = (version.state == MemoryState::Accepted).then_some(added);
        let mut shown = self.show_written(caller, id, in_force).await?;
        self.mark_written(caller, &mut shown, &version).await;
        Ok(shown)
    }

    /// Decides on a proposed version.
    ///
    /// # Errors
    /// `not_found` for a memory that is not visible to the caller; `permission_denied` if the caller may not decide;
    /// `illegal_transition` if that version is not proposed.
    pub async fn decide(
        &self,
        caller: &Caller,
        id: &MemoryId,
        version: u64,
        word: ProposalAnswer,
    ) -> Result<MemoryView, EngineError> {
        let record = self.living(caller, id).await?;
        if !holding(&record).is_decided_by(person(caller)) {
            let rule =
                "only operators can decide on shared memories, and only the owner on private ones";
            return Err(EngineError::new(ErrorCode::PermissionDenied, rule));
        }
        let at = self.clock.now();
        let verdict = match word {
            ProposalAnswer::Reject => MemoryVerdict::Reject,
            ProposalAnswer::Accept => {
                let found = self.store.memory_version(&caller.tenant, id, version);
                let found = found.await?.and_then(|version| version.entry);
                let entry = found.ok_or_else(|| absent(id))?;
                let expires_at = self.kept_until(&entry, MemoryState::Accepted, at);
                MemoryVerdict::Accept { expires_at }
            }
        };
        let decision = MemoryDecision {
            version,
            verdict,
            by: caller.user.clone(),
            at,
        };
        let decided = self.store.decide_memory(&caller.tenant, id, &decision);
        decided.await.map_err(|error| standing(id, error))?;
        let in_force = matches!(word, ProposalAnswer::Accept).then_some(version);
        self.show_written(caller, id, in_force).await
    }

    /// Removes the content of a memory and of all its versions. The record of its existence stays.
    ///
    /// # Errors
    /// `not_found` for a memory that is not visible to the caller; `permission_denied` for another user's shared
    /// memory.
    pub async fn remove(&self, caller: &Caller, id: &MemoryId) -> Result<MemoryView, EngineError> {
        let record = self.seen(caller, id).await?;
        if !holding(&record).is_removed_by(person(caller)) {
            let rule = "only its owner or an operator can remove a shared memory";
            return Err(EngineError::new(ErrorCode::PermissionDenied, rule));
        }
        let removed = self
            .store
            .remove_memory(&caller.tenant, id, &caller.user, self.clock.now());
        removed.await?;
        self.show(caller, id).await
    }

    /// Lists the memories that are visible to the caller, newest first.
    ///
    /// # Errors
    /// `invalid_request` for an invalid cursor.
    pub async fn list(
        &self,
        caller: &Caller,
        listed: ListedMemories,
        page: &PageRequest,
    ) -> Result<MemoryPage, EngineError> {
        let which = match (listed, caller.role) {
            (ListedMemories::InForce, _) => Proposals::Without,
            (ListedMemories::Proposed, crate::Role::User) => Proposals::Own,
            (ListedMemories::Proposed, crate::Role::Operator | crate::Role::Admin) => {
                Proposals::Shared
            }
        };
        let found = self
            .store
            .memories(&caller.tenant, &caller.user, which, self.clock.now(), page)
            .await?;
        let mut entries = Vec::with_capacity(found.entries.len());
        for record in found.entries {
            let version = match listed {
                ListedMemories::InForce => record.current,
                ListedMemories::Proposed => record.proposed,
            };
            entries.extend(self.shown_at(caller, record, version).await?);
        }
        Ok(MemoryPage {
            entries,
            next: found.next,
        })
    }

    /// Returns a memory with a part that is visible to the caller, even if it was removed.
    async fn seen(&self, caller: &Caller, id: &MemoryId) -> Result<MemoryRecord, EngineError> {
        let found = self
            .store
            .memory(&caller.tenant, id, self.clock.now())
            .await?;
        let Some(record) = found else {
            return Err(self.no_memory(caller, id).await?);
        };
        let holding = holding(&record);
        let person = person(caller);
        if !holding.is_seen_by(person) {
            return Err(self.no_memory(caller, id).await?);
        }
        // Of a memory that was never in force, only a proposal can be visible.
        if record.current.is_none() && record.removed.is_none() {
            let newest = self.store.memory_version(&caller.tenant, id, record.latest);
            let newest = newest.await?.ok_or_else(|| absent(id))?;
            if !holding.shows_proposal_to(&newest.author, person) {
                return Err(self.no_memory(caller, id).await?);
            }
        }
        Ok(record)
    }

    /// Returns the memory, unless it was removed.
    async fn living(&self, caller: &Caller, id: &MemoryId) -> Result<MemoryRecord, EngineError> {
        let record = self.seen(caller, id).await?;
        match record.removed {
            None => Ok(record),
            Some(_) => Err(self.no_memory(caller, id).await?),
        }
    }

    /// Builds the version to write: checked, embedded, with its expiry.
    async fn version(
        &self,
        caller: &Caller,
        state: MemoryState,
        entry: MemoryEntry,
        agent: Option<AgentId>,
    ) -> Result<NewVersion, EngineError> {
        for related in entry.related_memories.iter().flatten() {
            self.living(caller, related).await?;
        }
        let at = entry.updated_at.unwrap_or(entry.created_at);
        Ok(NewVersion {
            state,
            at,
            author: caller.user.clone(),
            agent,
            vector: self.embedded_memory(&entry).await?,
            expires_at: self.kept_until(&entry, state, at),
            entry,
        })
    }

    /// Returns when a memory expires, if this version is the deciding one.
    fn kept_until(
        &self,
        entry: &MemoryEntry,
        state: MemoryState,
        at: Timestamp,
    ) -> Option<Timestamp> {
        let settings = &self.settings;
        let importance = entry.metadata.as_ref().and_then(|of| of.importance);
        let kept = match state {
            MemoryState::Accepted => memory::kept_for(importance, settings.retention),
            MemoryState::Proposed | MemoryState::Superseded | MemoryState::Rejected => {
                Some(settings.proposal_ttl)
            }
        };
        kept.map(|kept| moments::after(at, kept))
    }

    async fn embedded_memory(
        &self,
        entry: &MemoryEntry,
    ) -> Result<Option<MemoryVector>, EngineError> {
        let Some(embedder) = self.vectors.embedder() else {
            return Ok(None);
        };
        let embedded = embedder.embed(vec![index::embedded_text(entry)]).await;
        let vectors = embedded.map_err(|error| {
            EngineError::new(ErrorCode::Unavailable, "the memory could not be embedded")
                .caused_by(error)
        })?;
        let model = embedder.model().to_string();
        Ok(vectors.into_iter().next().map(|vector| MemoryVector {
            model,
            bytes: vector.to_bytes(),
        }))
    }
}

/// Converts storage's refusal because of the memory's state.
fn standing(id: &MemoryId, error: StoreError) -> EngineError {
    match error {
        StoreError::Refused { detail, .. } => {
            let message = format!("the memory `{id}`: {detail}");
            EngineError::new(ErrorCode::IllegalTransition, message)
        }
        other => other.into(),
    }
}

impl MemoryService {
    /// The error for a memory that the caller does not see, which lists the newest that it sees.
    pub(crate) async fn no_memory(
        &self,
        caller: &Caller,
        id: &MemoryId,
    ) -> Result<EngineError, EngineError> {
        let (page, now) = (newest_known(), self.clock.now());
        let seen = self
            .store
            .memories(&caller.tenant, &caller.user, Proposals::Without, now, &page)
            .await?;
        let ids = seen.entries.iter().map(|seen| seen.memory_id.as_str());
        Ok(EngineError::not_found("memory", id).knowing(ids))
    }
}

#[cfg(test)]
mod tests;
