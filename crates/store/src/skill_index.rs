//! The index of skills on a search node (seed 001: `agent_skills`): a copy of what storage has, for
//! finding skills by a vector among those that somebody may reach.
//!
//! Storage stays the truth. The copy is brought up to date afterwards and says up to which revision it is;
//! what it answers is checked against storage's state by whoever asked. Entries carry the revision that they
//! were read at, so that whatever comes late, or twice, changes nothing.

use std::error::Error as StdError;
use std::fmt;

use async_trait::async_trait;
use charter_contract::ids::{SkillId, TenantId};
use charter_contract::scope::Scope;

use crate::agent_skills::{SkillsModel, SkillsRevision};

/// Most ids that a question names for each layer.
pub const MAX_NAMED: usize = 65_536;

/// Up to where the index has what storage has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexPosition {
    /// The last revision of the skills that is in it.
    pub revision: SkillsRevision,
    /// The last message of the outbox that was acted on.
    pub message: u64,
}

/// One index on the node. Another one takes its place when all of it is made anew; what is still written
/// to the one before is then refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexName(pub String);

/// The index that is searched now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentIndex {
    /// Which one.
    pub name: IndexName,
    /// Up to where it is.
    pub position: IndexPosition,
}

/// A skill as the index has it. Its instruction stays in storage (B001-3).
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedSkill {
    /// Whose it is.
    pub scope: Scope,
    /// Its id.
    pub id: SkillId,
    /// What it is for.
    pub summary: String,
    /// Whether it points at other skills.
    pub is_folder: bool,
    /// The skills it points at.
    pub sub_skills: Vec<SkillId>,
    /// Its vector, of the index's model and of length 1; without one no search finds it.
    pub vector: Option<Vec<f32>>,
}

/// What becomes of one entry.
#[derive(Debug, Clone, PartialEq)]
pub enum IndexChange {
    /// It is this from now on.
    Put(Box<IndexedSkill>),
    /// It goes.
    Remove(Scope, SkillId),
}

impl IndexChange {
    /// Whose entry, and which.
    #[must_use]
    pub fn key(&self) -> (&Scope, &SkillId) {
        match self {
            Self::Put(skill) => (&skill.scope, &skill.id),
            Self::Remove(scope, id) => (scope, id),
        }
    }
}

/// An entry that the node refused, for good or again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedEntry {
    /// Whose.
    pub scope: Scope,
    /// Which.
    pub id: SkillId,
    /// What the node said.
    pub reason: String,
}

/// Which skills of a layer may be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillVisibility {
    /// None.
    Nothing,
    /// All.
    All,
    /// These, at most [`MAX_NAMED`].
    Only(Vec<SkillId>),
    /// All but these, at most [`MAX_NAMED`].
    AllBut(Vec<SkillId>),
}

/// What is looked for, and among what: the filter is part of the search, so that a skill out of sight
/// takes no place from one in sight (B001-6).
#[derive(Debug, Clone, PartialEq)]
pub struct NearestSkills {
    /// Whose own layer.
    pub tenant: TenantId,
    /// Among the tenant's own skills.
    pub own: SkillVisibility,
    /// Among everybody's.
    pub global: SkillVisibility,
    /// Only folders, or only leaves.
    pub is_folder: Option<bool>,
    /// Of the index's model and of length 1.
    pub vector: Vec<f32>,
    /// How many, at least 1.
    pub most: usize,
}

/// A skill that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct NearSkill {
    /// Whose it is.
    pub scope: Scope,
    /// Its id.
    pub id: SkillId,
    /// The cosine with what was looked for, -1 to 1.
    pub cosine: f32,
}

/// Why the index did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum SkillIndexError {
    /// Nothing was heard from the node, or not all.
    #[error("the search node at {place} did not answer while {doing}")]
    Unreachable {
        /// Where it is.
        place: String,
        /// What was being done.
        doing: &'static str,
        /// What went wrong.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The node refuses.
    #[error("the search node at {place} rejected {doing} with status {status}: {reason}")]
    Refused {
        /// Where it is.
        place: String,
        /// What was being done.
        doing: &'static str,
        /// The HTTP status.
        status: u16,
        /// What it says, shortened.
        reason: String,
    },
    /// The node's answer is not what such a node answers.
    #[error("the search node at {place} gave an invalid answer while {doing}: {detail}")]
    Form {
        /// Where it is.
        place: String,
        /// What was being done.
        doing: &'static str,
        /// What does not fit.
        detail: String,
    },
    /// There is such an index, made for something else.
    #[error(
        "the index `{index}` at {place} does not match: {detail}; `charter reindex` rebuilds it"
    )]
    Mismatch {
        /// Where it is.
        place: String,
        /// Its name.
        index: String,
        /// What does not fit.
        detail: String,
    },
    /// There is no such index, or no longer.
    #[error("there is no index `{index}` at {place}")]
    Missing {
        /// Where it would be.
        place: String,
        /// Its name.
        index: String,
    },
}

/// The index of skills on a search node.
#[async_trait]
pub trait SkillIndex: Send + Sync + fmt::Debug {
    /// Where it is, for people: never with credentials.
    fn place(&self) -> String;

    /// Who answers there, e.g. `OpenSearch 3.6.0`.
    ///
    /// # Errors
    /// [`SkillIndexError::Unreachable`], [`SkillIndexError::Refused`], [`SkillIndexError::Form`].
    async fn server(&self) -> Result<String, SkillIndexError>;

    /// The index that is searched now; `None` when there is none yet.
    ///
    /// # Errors
    /// [`SkillIndexError::Mismatch`] when it was made for another model or with another mapping; else as for
    /// [`SkillIndex::server`].
    async fn current(&self, model: &SkillsModel) -> Result<Option<CurrentIndex>, SkillIndexError>;

    /// Changes entries as they were at `revision`, and after them the position. An entry that is there at
    /// a later revision stays; one that the node refuses is sent again by itself, and told of when it is
    /// refused for good. Searches see all of it when this returns.
    ///
    /// # Errors
    /// [`SkillIndexError::Missing`] when another index took this one's place; else as for
    /// [`SkillIndex::server`]. The position then has not moved.
    async fn write(
        &self,
        index: &IndexName,
        changes: &[IndexChange],
        revision: SkillsRevision,
        position: IndexPosition,
    ) -> Result<Vec<FailedEntry>, SkillIndexError>;

    /// Makes an empty index that is not searched yet; indexes that were begun and never taken go.
    ///
    /// # Errors
    /// As for [`SkillIndex::server`].
    async fn begin(&self, model: &SkillsModel, tag: &str) -> Result<IndexName, SkillIndexError>;

    /// Lets an index be searched in the place of the one before, in one step, and removes that one.
    ///
    /// # Errors
    /// As for [`SkillIndex::write`].
    async fn take(&self, index: &IndexName) -> Result<(), SkillIndexError>;

    /// The nearest skills in sight, nearest first; equal ones by scope and id. Approximate: an exact search
    /// may find another one in place of the last.
    ///
    /// # Errors
    /// As for [`SkillIndex::write`]; an answer that only a part of the index gave is
    /// [`SkillIndexError::Unreachable`].
    async fn nearest(&self, question: &NearestSkills) -> Result<Vec<NearSkill>, SkillIndexError>;
}
