//! Keeps the index on a search node in step with storage. Changes are read from the outbox, in order, from the index's
//! position. If the outbox has a gap, the index is missing, or it is ahead of storage, it is rebuilt and replaced once
//! complete.
//!
//! Entries carry the revision at which they were read, so the later state wins if two processes write, or one resumes
//! after a stop.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::{SkillId, TenantId};
use charter_contract::json::decode_stored;
use charter_contract::scope::Scope;
use charter_search::embed::Vector;
use charter_store::agent_skills::{
    CHANGED_TOPIC, SkillRecord, SkillsLoaded, SkillsModel, SkillsRevision,
};
use charter_store::lease::Lease;
use charter_store::outbox::Message;
use charter_store::skill_index::{
    CurrentIndex, FailedEntry, IndexChange, IndexPosition, IndexedSkill, SkillIndex,
    SkillIndexError,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::AgentSkillService;
use super::load::stored_form;
use crate::EngineError;
use crate::ground::moments;
use crate::ground::settings::ProcessRole;

/// Interval at which the index is checked without a change.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// The interval while another process updates it.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The first and the longest pause after a failure.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// How long searches avoid a node that did not answer.
const REST: Duration = Duration::from_secs(2);

/// The lease under which a process updates the index.
const TURN: &str = "index of skills";

/// How long a process may update it without renewing the lease.
const SYNC_LEASE: Duration = Duration::from_secs(60);

/// Maximum messages that are read at once, and skills that are looked up at once.
const MESSAGES: usize = 500;
const SKILLS: usize = 2_000;

/// Maximum skills whose instructions are in memory at once, each of at most 4 MiB.
const INSTRUCTIONS: usize = 25;

/// Maximum refused entries that are named.
const NAMED: usize = 20;

/// This process's view of the index on the node.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    changed: Notify,
    /// All outbox messages up to this one are in the index.
    read: AtomicU64,
    known: Mutex<MirroredIndex>,
}

#[derive(Debug, Default)]
struct MirroredIndex {
    indexed: Option<SkillsRevision>,
    refused: Vec<FailedEntry>,
    failing: bool,
    rests_until: Option<Instant>,
}

/// The state of the index on the search node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillIndexState {
    /// `in_step`, `behind`, `unknown`, or `failing` if the last attempt to reach it failed.
    pub state: &'static str,
    /// The revision of the skills in it, as far as this process knows.
    pub indexed: Option<u64>,
    /// The revision that this process serves.
    pub served: u64,
    /// Entries that the node refused permanently; the log names them.
    pub refused: usize,
}

/// The result of a check of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MirrorState {
    /// The index matches storage.
    InStep,
    /// The index is behind, and another process is to update it.
    Behind,
}

/// The content of a message.
#[derive(Debug, Deserialize)]
struct Changed {
    revision: u64,
    #[serde(default)]
    everything: bool,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    skills: Vec<SkillId>,
}

/// Skills to look up again, and the index's position afterwards.
struct PendingLookup {
    skills: BTreeSet<(Scope, SkillId)>,
    position: IndexPosition,
}

impl Mirror {
    /// Signals a change.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    fn known<T>(&self, with: impl FnOnce(&mut MirroredIndex) -> T) -> T {
        with(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records that the node failed.
    pub(super) fn failed(&self) {
        self.known(|known| {
            known.failing = true;
            known.rests_until = Some(Instant::now() + REST);
        });
    }

    /// Records that the node answers.
    pub(super) fn answered(&self) {
        self.known(|known| {
            known.failing = false;
            known.rests_until = None;
        });
    }

    /// Returns whether searches avoid the node at present.
    pub(super) fn rests(&self) -> bool {
        self.known(|known| {
            known
                .rests_until
                .is_some_and(|until| Instant::now() < until)
        })
    }

    fn is_at(&self, revision: SkillsRevision) {
        self.known(|known| known.indexed = Some(revision));
        self.answered();
    }
}

impl AgentSkillService {
    /// Returns the state of the index on the search node; `None` without one.
    #[must_use]
    pub fn skill_index_state(&self) -> Option<SkillIndexState> {
        self.skill_index()?;
        let served = self.skills.revision();
        Some(self.mirror.known(|known| SkillIndexState {
            state: match (known.failing, known.indexed) {
                (true, _) => "failing",
                (false, None) => "unknown",
                (false, Some(indexed)) if indexed < served => "behind",
                (false, Some(_)) => "in_step",
            },
            indexed: known.indexed.map(|revision| revision.0),
            served: served.0,
            refused: known.refused.len(),
        }))
    }

    /// Keeps the index in step, until the engine shuts down. Returns at once without an index.
    pub(crate) async fn mirror_skills_forever(self: Arc<Self>) {
        if self.skill_index().is_none() {
            return;
        }
        let mut pause = RETRY.0;
        loop {
            let done = self.mirror_skills().await;
            // After a failure, a change does not shorten the pause.
            let hurries = done.is_ok();
            let wait = match done {
                Ok(standing) => {
                    pause = RETRY.0;
                    match standing {
                        MirrorState::InStep => POLL_INTERVAL,
                        MirrorState::Behind => RETRY_INTERVAL,
                    }
                }
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::warn!(
                        error = %error, cause,
                        "the index of skills on the search node is out of sync; retrying"
                    );
                    let wait = pause;
                    pause = (pause * 2).min(RETRY.1);
                    wait
                }
            };
            tokio::select! {
                () = self.shutdown.cancelled() => return,
                () = self.mirror.changed.notified(), if hurries => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Updates the index to the state of storage, unless another process is doing so.
    ///
    /// # Errors
    /// `unavailable` if the node fails, `model_mismatch` if the index does not fit.
    pub(crate) async fn mirror_skills(&self) -> Result<MirrorState, EngineError> {
        let Some((index, embedder)) = self.skill_index() else {
            return Ok(MirrorState::InStep);
        };
        let model = stored_form(embedder.model());
        // First the message, then the revision: the revision includes everything published before.
        let read = self.store.last_message().await?;
        let stored = self.store.skills_revision().await?;
        let current = self.asked(index.current(&model).await)?;
        if let Some(CurrentIndex { position, .. }) = &current {
            self.mirror.is_at(position.revision);
            if position.revision == stored {
                self.mirror.read.store(read, Ordering::Relaxed);
                return Ok(MirrorState::InStep);
            }
        }
        if self.duty == ProcessRole::Api {
            return Ok(MirrorState::Behind);
        }
        let Some(turn) = self.mirror_turn().await? else {
            return Ok(MirrorState::Behind);
        };
        let done = self.bring_up(index, &model, &turn).await;
        self.store.release(&turn).await?;
        done.map(|()| MirrorState::InStep)
    }

    /// Rebuilds the index from storage, for `charter reindex`.
    ///
    /// # Errors
    /// As for [`AgentSkillService::mirror_skills`]; `overloaded` while another process updates it.
    pub(crate) async fn remake_skill_index(&self) -> Result<(), EngineError> {
        let Some((index, embedder)) = self.skill_index() else {
            return Ok(());
        };
        let model = stored_form(embedder.model());
        let Some(turn) = self.mirror_turn().await? else {
            let message =
                "another process is writing the index of skills on the search node; retry";
            return Err(EngineError::new(ErrorCode::Overloaded, message));
        };
        let done = self.remake(index, &model, &turn).await;
        self.store.release(&turn).await?;
        done
    }

    async fn mirror_turn(&self) -> Result<Option<Lease>, EngineError> {
        let now = self.clock.now();
        let until = moments::after(now, SYNC_LEASE);
        // A separate holder name, because another turn in this process may still hold the lease.
        let holder = self.ids.uuid().to_string();
        Ok(self.store.acquire(TURN, &holder, now, until).await?)
    }

    async fn still_on(&self, turn: &Lease) -> Result<(), EngineError> {
        let until = moments::after(self.clock.now(), SYNC_LEASE);
        let turns = std::slice::from_ref(&turn.resource);
        let lost = self.store.renew(&turn.holder, turns, until).await?;
        if lost.is_empty() {
            return Ok(());
        }
        let message = "another process took over writing the index of skills on the search node";
        Err(EngineError::new(ErrorCode::Overloaded, message))
    }

    async fn bring_up(
        &self,
        index: &Arc<dyn SkillIndex>,
        model: &SkillsModel,
        turn: &Lease,
    ) -> Result<(), EngineError> {
        loop {
            let stored = self.store.skills_revision().await?;
            let current = self.asked(index.current(model).await)?;
            let due = match &current {
                None => None,
                Some(current) if current.position.revision == stored => {
                    self.mirror.is_at(stored);
                    return Ok(());
                }
                // Storage was restored to an earlier state.
                Some(current) if current.position.revision > stored => None,
                Some(current) => self.due_after(current.position).await?,
            };
            match (current, due) {
                (Some(current), Some(due)) => {
                    self.send_due(index, model, &current, due).await?;
                    self.still_on(turn).await?;
                }
                (Some(_) | None, Some(_) | None) => return self.remake(index, model, turn).await,
            }
        }
    }

    /// Returns the skills that messages mark as changed; `None` if the messages are incomplete.
    async fn due_after(
        &self,
        position: IndexPosition,
    ) -> Result<Option<PendingLookup>, EngineError> {
        let mut due = PendingLookup {
            skills: BTreeSet::new(),
            position,
        };
        let mut after = position
            .message
            .max(self.mirror.read.load(Ordering::Relaxed));
        while due.skills.len() < SKILLS {
            let messages = self.store.messages(after, MESSAGES).await?;
            let Some(last) = messages.last() else { break };
            after = last.id;
            for message in messages.iter().filter(|m| m.message.topic == CHANGED_TOPIC) {
                if !due.take(message)? {
                    return Ok(None);
                }
            }
        }
        Ok((due.position != position).then_some(due))
    }

    async fn send_due(
        &self,
        index: &Arc<dyn SkillIndex>,
        model: &SkillsModel,
        current: &CurrentIndex,
        due: PendingLookup,
    ) -> Result<(), EngineError> {
        let keys: Vec<(Scope, SkillId)> = due.skills.into_iter().collect();
        let loaded = self.store.skills_of(&keys).await?;
        check_model(&loaded, model)?;
        let mut gone: BTreeSet<(Scope, SkillId)> = keys.into_iter().collect();
        for skill in &loaded.skills {
            gone.remove(&(skill.scope.clone(), skill.id.clone()));
        }
        let gone = gone.into_iter();
        let mut removals: Vec<IndexChange> = gone
            .map(|(scope, id)| IndexChange::Remove(scope, id))
            .collect();
        let mut rest = loaded.skills.into_iter();
        loop {
            let some = rest.by_ref().take(INSTRUCTIONS).collect();
            let mut changes = self.put_changes(some).await?;
            let is_last = rest.as_slice().is_empty();
            // The position moves when all entries are written.
            let position = match is_last {
                true => due.position,
                false => current.position,
            };
            if is_last {
                changes.append(&mut removals);
            }
            let write = index.write(&current.name, &changes, loaded.revision, position);
            let refused = self.asked(write.await)?;
            self.note_refused(&changes, refused);
            if is_last {
                break;
            }
        }
        self.mirror.is_at(due.position.revision);
        Ok(())
    }

    /// Returns the changes that write these skills, with their instructions.
    async fn put_changes(&self, skills: Vec<SkillRecord>) -> Result<Vec<IndexChange>, EngineError> {
        let keys = skills.iter();
        let keys: Vec<(Scope, SkillId)> = keys
            .map(|skill| (skill.scope.clone(), skill.id.clone()))
            .collect();
        let found = self.store.skill_instructions(&keys).await?.into_iter();
        let mut instructions: BTreeMap<(Scope, SkillId), String> = found
            .map(|(scope, id, instruction)| ((scope, id), instruction))
            .collect();
        let with_instruction = |(skill, key): (SkillRecord, (Scope, SkillId))| {
            // A skill that was deleted since has none; a later message removes it.
            put_change(skill, instructions.remove(&key).unwrap_or_default())
        };
        skills.into_iter().zip(keys).map(with_instruction).collect()
    }

    async fn remake(
        &self,
        index: &Arc<dyn SkillIndex>,
        model: &SkillsModel,
        turn: &Lease,
    ) -> Result<(), EngineError> {
        let message = self.store.last_message().await?;
        let loaded = self.store.load_skills().await?;
        check_model(&loaded, model)?;
        let position = IndexPosition {
            revision: loaded.revision,
            message,
        };
        let tag = self.ids.uuid().simple().to_string();
        let name = self.asked(index.begin(model, &tag).await)?;
        self.mirror.known(|known| known.refused.clear());
        let skills = loaded.skills.len();
        let mut rest = loaded.skills.into_iter();
        loop {
            let some = rest.by_ref().take(INSTRUCTIONS).collect();
            let changes = self.put_changes(some).await?;
            let write = index.write(&name, &changes, position.revision, position);
            let refused = self.asked(write.await)?;
            self.note_refused(&changes, refused);
            self.still_on(turn).await?;
            if rest.as_slice().is_empty() {
                break;
            }
        }
        self.asked(index.take(&name).await)?;
        self.mirror.is_at(position.revision);
        tracing::info!(
            skills,
            revision = position.revision.0,
            place = index.place(),
            "rebuilt the index of skills"
        );
        Ok(())
    }

    /// Records a node's result in its state.
    fn asked<T>(&self, said: Result<T, SkillIndexError>) -> Result<T, EngineError> {
        said.map_err(|error| {
            self.mirror.failed();
            of_node(error)
        })
    }

    /// Records refused entries until they are written.
    fn note_refused(&self, sent: &[IndexChange], refused: Vec<FailedEntry>) {
        for entry in refused.iter().take(NAMED) {
            let FailedEntry { scope, id, reason } = entry;
            tracing::error!(
                %scope, skill = %id, reason,
                "the search node rejected a skill; searches on it do not find it"
            );
        }
        let sent: BTreeSet<_> = sent.iter().map(IndexChange::key).collect();
        self.mirror.known(|known| {
            known
                .refused
                .retain(|entry| !sent.contains(&(&entry.scope, &entry.id)));
            known.refused.extend(refused);
        });
    }
}

impl PendingLookup {
    /// Applies a message; `false` if it does not follow the known position, or names no skills.
    fn take(&mut self, message: &Message) -> Result<bool, EngineError> {
        let changed: Changed = decode_stored(&message.message.payload)
            .map_err(|error| EngineError::internal("reading what changed among skills", error))?;
        let known = self.position.revision.0;
        if changed.revision <= known {
            return Ok(true);
        }
        if changed.everything || changed.revision != known + 1 {
            return Ok(false);
        }
        let scope = match changed.scope.as_str() {
            "" => Scope::Global,
            tenant => Scope::Tenant(TenantId::parse(tenant).map_err(|error| {
                EngineError::internal("reading what changed among skills", error)
            })?),
        };
        let skills = changed.skills.into_iter();
        self.skills.extend(skills.map(|id| (scope.clone(), id)));
        self.position = IndexPosition {
            revision: SkillsRevision(changed.revision),
            message: message.id,
        };
        Ok(true)
    }
}

fn put_change(skill: SkillRecord, instruction: String) -> Result<IndexChange, EngineError> {
    let vector = skill.vector.as_ref();
    let vector = vector.map(|stored| Vector::from_bytes(&stored.bytes));
    let vector = vector
        .transpose()
        .map_err(|error| EngineError::internal("reading a stored vector", error))?;
    Ok(IndexChange::Put(Box::new(IndexedSkill {
        scope: skill.scope,
        id: skill.id,
        summary: skill.summary,
        is_folder: skill.is_folder,
        sub_skills: skill.sub_skills,
        instruction,
        vector: vector.map(|vector| vector.as_slice().to_vec()),
    })))
}

fn check_model(loaded: &SkillsLoaded, model: &SkillsModel) -> Result<(), EngineError> {
    match &loaded.model {
        Some(stored) if stored != model => {
            let message = format!(
                "the skills' vectors are of the model {}, but {} is in use; run `charter reindex`",
                stored.name, model.name
            );
            Err(EngineError::new(ErrorCode::ModelMismatch, message))
        }
        Some(_) | None => Ok(()),
    }
}

/// Converts a failure of the node for callers.
pub(super) fn of_node(error: SkillIndexError) -> EngineError {
    let (code, message) = match &error {
        SkillIndexError::Mismatch { .. } => (
            ErrorCode::ModelMismatch,
            "the index of skills on the search node does not match; run `charter reindex`",
        ),
        SkillIndexError::Unreachable { .. }
        | SkillIndexError::Refused { .. }
        | SkillIndexError::Form { .. }
        | SkillIndexError::Missing { .. } => (
            ErrorCode::Unavailable,
            "the search node that finds skills does not answer",
        ),
    };
    EngineError::new(code, message).caused_by(error)
}
