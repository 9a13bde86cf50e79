//! The skills of the link graph (seed 001), by scope: what discovery and navigation show, and apart
//! from it what only a targeted fetch reads: the instruction and the files.
//!
//! Nothing here decides: a write says at which revision of the index it was decided, and is refused
//! when that is no longer the one in force.

use async_trait::async_trait;
use charter_contract::ids::SkillId;
use charter_contract::scope::Scope;
use charter_contract::time::Timestamp;
use charter_domain::skill_folder::SkillFile;

use crate::StoreError;
use crate::catalogue::ContentHash;
use crate::vector::TextHash;

/// The topic of the outbox's messages about changed skills. Each change of the revision has one, in its
/// transaction, with the payload `{"revision": 7, "scope": "acme" or "" for everybody's, "skills": ["a"]}`,
/// or `{"revision": 8, "everything": true}`.
pub const CHANGED_TOPIC: &str = "replicas.skills";

/// Ids that a message names; a change of more says `everything`.
pub const MAX_CHANGED_NAMED: usize = 10_000;

/// A state of the index of skills, over all scopes; each write raises it.
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

/// Where a vector is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorOrigin {
    /// The summary was embedded.
    Embedded,
    /// Whoever wrote the skill gave it.
    Supplied,
}

/// A skill's vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillVector {
    /// Where it is from.
    pub origin: VectorOrigin,
    /// Hash of what it stands for: the summary, and the phrases that it quotes if they were embedded too.
    pub summary: TextHash,
    /// Little-endian `f32` components.
    pub bytes: Vec<u8>,
}

/// A skill as discovery and navigation know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRecord {
    /// Whose it is.
    pub scope: Scope,
    /// Its id.
    pub id: SkillId,
    /// What it is for.
    pub summary: String,
    /// Whether it points at other skills.
    pub is_folder: bool,
    /// The skills it points at, in order.
    pub sub_skills: Vec<SkillId>,
    /// Whether it has files.
    pub has_files: bool,
    /// Its vector, where it has one.
    pub vector: Option<SkillVector>,
}

/// Everything that a process reads when it starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillsLoaded {
    /// The state that this is.
    pub revision: SkillsRevision,
    /// The model of the vectors; absent while no index was made with one.
    pub model: Option<SkillsModel>,
    /// Every skill, by scope and id.
    pub skills: Vec<SkillRecord>,
}

/// What becomes of one part of a skill that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<T> {
    /// It stays; a new skill has none.
    Keep,
    /// It is this from now on.
    Replace(T),
}

/// A skill to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSkill {
    /// Its id.
    pub id: SkillId,
    /// What it is for.
    pub summary: String,
    /// Whether it points at other skills.
    pub is_folder: bool,
    /// The skills it points at, in order.
    pub sub_skills: Vec<SkillId>,
    /// What only a targeted fetch reads.
    pub instruction: String,
    /// Its vector.
    pub vector: Part<Option<SkillVector>>,
    /// Its files, their paths relative to the skill.
    pub files: Part<Vec<SkillFile>>,
}

/// One change of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillChange {
    /// Write it, or write it over.
    Put(Box<NewSkill>),
    /// Delete it with everything that belongs to it; one that is not there is passed over.
    Delete(SkillId),
}

/// Changes of one scope that happen together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillsWrite {
    /// Whose skills.
    pub scope: Scope,
    /// The state that the changes were decided on.
    pub expected: SkillsRevision,
    /// What to do, in order.
    pub changes: Vec<SkillChange>,
    /// When.
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
    /// Every skill of every scope with its vector: one consistent read, by scope and id.
    async fn load_skills(&self) -> Result<SkillsLoaded, StoreError>;

    /// These skills with their vectors, those that there are, by scope and id, and the revision and model
    /// of that state: one consistent read.
    async fn skills_of(&self, skills: &[(Scope, SkillId)]) -> Result<SkillsLoaded, StoreError>;

    /// The index's revision.
    async fn skills_revision(&self) -> Result<SkillsRevision, StoreError>;

    /// Carries changes out in one transaction and raises the revision, which it returns, and publishes
    /// what changed under [`CHANGED_TOPIC`]. Content of files that no skill has any more goes with them.
    ///
    /// # Errors
    /// [`StoreError::VersionConflict`] when the index is no longer at `expected`; nothing is written.
    async fn change_skills(&self, write: SkillsWrite) -> Result<SkillsRevision, StoreError>;

    /// Makes `model` the index's and gives skills vectors of it, in one transaction; all other
    /// vectors go unless the model is the same. Skills that are not there are passed over. Raises
    /// the revision and publishes that everything changed.
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

    /// The instruction of exactly this skill of this scope; absent when there is no such skill.
    async fn skill_instruction(
        &self,
        scope: &Scope,
        skill: &SkillId,
    ) -> Result<Option<String>, StoreError>;

    /// The files of a skill, by path; none when there is no such skill.
    async fn skill_files(
        &self,
        scope: &Scope,
        skill: &SkillId,
    ) -> Result<Vec<SkillFileEntry>, StoreError>;

    /// The files of every skill of a scope that has any, by skill and path.
    async fn all_skill_files(
        &self,
        scope: &Scope,
    ) -> Result<Vec<(SkillId, Vec<SkillFileEntry>)>, StoreError>;

    /// What a file of a skill holds.
    async fn skill_file(
        &self,
        scope: &Scope,
        skill: &SkillId,
        path: &str,
    ) -> Result<Option<SkillFile>, StoreError>;
}
