//! The skills of the link graph (seed 001), by scope: the fields for discovery and navigation, and separately the
//! instruction and files that only a targeted fetch reads.
//!
//! Storage does not decide: a write names the revision of the index that it was decided at, and is refused when that is
//! no longer current.

use async_trait::async_trait;
use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_domain::skill_folder::SkillFile;

use crate::StoreError;
use crate::catalogue::ContentHash;
use crate::vector::TextHash;

/// The topic of the outbox's messages about changed skills. Each change of the revision has one, in its transaction,
/// with the payload `{"revision": 7, "scope": "acme" or "" for the global scope, "skills": ["a"]}`, or `{"revision": 8,
/// "everything": true}`.
pub const CHANGED_TOPIC: &str = "replicas.skills";

/// Most ids that a message names; a larger change sets `everything`.
pub const MAX_CHANGED_NAMED: usize = 10_000;

/// A revision of the index of skills, over all scopes; each write increments it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SkillsRevision(pub u64);

/// The model that the index's vectors belong to (B001-2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillsModel {
    /// Name and form, e.g. `all-MiniLM-L6-v2/f32`.
    pub name: String,
    /// Components of each vector.
    pub dims: usize,
}

/// The origin of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorOrigin {
    /// The summary was embedded.
    Embedded,
    /// The author of the skill supplied it.
    Supplied,
}

/// A skill's vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillVector {
    /// Its origin.
    pub origin: VectorOrigin,
    /// Hash of the embedded text: the summary, and its quoted phrases if they were embedded too.
    pub summary: TextHash,
    /// Little-endian `f32` components.
    pub bytes: Vec<u8>,
}

/// A skill with the fields for discovery and navigation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRecord {
    /// Its scope.
    pub scope: Scope,
    /// Its id.
    pub id: SkillId,
    /// Its purpose.
    pub summary: String,
    /// Whether it refers to other skills.
    pub is_folder: bool,
    /// The skills that it refers to, in order.
    pub sub_skills: Vec<SkillId>,
    /// Whether it has files.
    pub has_files: bool,
    /// Its vector, if it has one.
    pub vector: Option<SkillVector>,
}

/// All skills that a process loads at its start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillsLoaded {
    /// The revision of this state.
    pub revision: SkillsRevision,
    /// The model of the vectors; absent before the first indexing with a model.
    pub model: Option<SkillsModel>,
    /// Every skill, by scope and id.
    pub skills: Vec<SkillRecord>,
}

/// How a write treats one part of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<T> {
    /// Keep the stored value; a new skill has none.
    Keep,
    /// Replace it.
    Replace(T),
}

/// A skill to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSkill {
    /// Its id.
    pub id: SkillId,
    /// Its purpose.
    pub summary: String,
    /// Whether it refers to other skills.
    pub is_folder: bool,
    /// The skills that it refers to, in order.
    pub sub_skills: Vec<SkillId>,
    /// The instruction, which only a targeted fetch reads.
    pub instruction: String,
    /// Its vector.
    pub vector: Part<Option<SkillVector>>,
    /// Its files, their paths relative to the skill.
    pub files: Part<Vec<SkillFile>>,
}

/// One change of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillChange {
    /// Insert or overwrite it.
    Put(Box<NewSkill>),
    /// Delete it with everything that belongs to it; ignored if it does not exist.
    Delete(SkillId),
}

/// Changes of one scope, applied atomically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillsWrite {
    /// Their scope.
    pub scope: Scope,
    /// The revision that the changes were decided at.
    pub expected: SkillsRevision,
    /// The changes, in order.
    pub changes: Vec<SkillChange>,
    /// Time of the write.
    pub at: Timestamp,
}

/// A file without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFileEntry {
    /// Its path, relative to the skill.
    pub path: String,
    /// Hash of its content.
    pub content: ContentHash,
    /// Its size, in bytes.
    pub bytes: u64,
    /// Whether it may be executed.
    pub executable: bool,
}

/// Skills of the link graph.
#[async_trait]
pub trait AgentSkills {
    /// Loads every skill of every scope with its vector: one consistent read, by scope and id.
    async fn load_skills(&self) -> Result<SkillsLoaded, StoreError>;

    /// Loads those of these skills that exist, with their vectors, by scope and id, and the revision and model of that
    /// state: one consistent read.
    async fn skills_of(&self, skills: &[(Scope, SkillId)]) -> Result<SkillsLoaded, StoreError>;

    /// Returns the index's revision.
    async fn skills_revision(&self) -> Result<SkillsRevision, StoreError>;

    /// Applies changes in one transaction, increments and returns the revision, and publishes the changes under
    /// [`CHANGED_TOPIC`]. Deletes file content that no skill refers to any more.
    ///
    /// # Errors
    /// [`StoreError::VersionConflict`] when the index is no longer at `expected`; nothing is written.
    async fn change_skills(&self, write: SkillsWrite) -> Result<SkillsRevision, StoreError>;

    /// Sets the index's model and the vectors of skills, in one transaction; deletes all other vectors unless the model
    /// is unchanged. Ignores skills that do not exist. Increments the revision and publishes that everything changed.
    ///
    /// # Errors
    /// [`StoreError::VersionConflict`] as for [`AgentSkills::change_skills`].
    async fn index_skills(
        &self,
        model: &SkillsModel,
        expected: SkillsRevision,
        vectors: Vec<(Scope, SkillId, SkillVector)>,
        at: Timestamp,
    ) -> Result<SkillsRevision, StoreError>;

    /// Returns the instruction of this skill of exactly this scope; absent when there is no such skill.
    async fn skill_instruction(
        &self,
        scope: &Scope,
        skill: &SkillId,
    ) -> Result<Option<String>, StoreError>;

    /// Returns the instructions of those of these skills that exist, in any order. The caller bounds their number.
    async fn skill_instructions(
        &self,
        skills: &[(Scope, SkillId)],
    ) -> Result<Vec<(Scope, SkillId, String)>, StoreError>;

    /// Returns the files of a skill, by path; none when there is no such skill.
    async fn skill_files(
        &self,
        scope: &Scope,
        skill: &SkillId,
    ) -> Result<Vec<SkillFileEntry>, StoreError>;

    /// Returns the files of every skill of a scope that has any, by skill and path.
    async fn all_skill_files(
        &self,
        scope: &Scope,
    ) -> Result<Vec<(SkillId, Vec<SkillFileEntry>)>, StoreError>;

    /// Returns the content of a skill's file.
    async fn skill_file(
        &self,
        scope: &Scope,
        skill: &SkillId,
        path: &str,
    ) -> Result<Option<SkillFile>, StoreError>;
}
