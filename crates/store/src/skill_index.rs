//! The index of skills on a search node (seed 001: `agent_skills`): a copy of storage, for vector searches among the
//! skills that a caller can reach, and for clients that read the node as the seed describes it. Each scope has an index
//! of its own, so an entry's id is the skill's.
//!
//! Storage is authoritative. The copy is updated afterwards and records the revision that it reflects; callers check
//! its results against storage. Entries carry the revision that they were read at, so that late or duplicate writes
//! change nothing.

use std::error::Error as StdError;
use std::fmt;

use async_trait::async_trait;
use charter_contract::ids::{SkillId, TenantId};
use charter_contract::scope::Scope;

use crate::agent_skills::{SkillsModel, SkillsRevision};

/// Most ids that a query names for each layer.
pub const MAX_NAMED: usize = 65_536;

/// The state of storage that the index reflects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexPosition {
    /// The last revision of the skills that it contains.
    pub revision: SkillsRevision,
    /// The last processed message of the outbox.
    pub message: u64,
}

/// One generation of the index, over all scopes. A complete rebuild replaces it by another one; later writes to the
/// old one are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexName(pub String);

/// The index that searches use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentIndex {
    /// Its name.
    pub name: IndexName,
    /// Its position.
    pub position: IndexPosition,
}

/// A skill as the index stores it.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedSkill {
    /// Its scope.
    pub scope: Scope,
    /// Its id.
    pub id: SkillId,
    /// Its purpose.
    pub summary: String,
    /// Whether it refers to other skills.
    pub is_folder: bool,
    /// The skills that it refers to.
    pub sub_skills: Vec<SkillId>,
    /// Its instruction, which is stored and not searched (ruling 20).
    pub instruction: String,
    /// Its vector, of the index's model and of length 1; without one searches do not find it.
    pub vector: Option<Vec<f32>>,
}

/// A change of one entry.
#[derive(Debug, Clone, PartialEq)]
pub enum IndexChange {
    /// Insert or replace it.
    Put(Box<IndexedSkill>),
    /// Remove it.
    Remove(Scope, SkillId),
}

impl IndexChange {
    /// Returns the entry's scope and id.
    #[must_use]
    pub fn key(&self) -> (&Scope, &SkillId) {
        match self {
            Self::Put(skill) => (&skill.scope, &skill.id),
            Self::Remove(scope, id) => (scope, id),
        }
    }
}

/// An entry that the node refused, permanently or repeatedly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedEntry {
    /// Its scope.
    pub scope: Scope,
    /// Its id.
    pub id: SkillId,
    /// The node's reason.
    pub reason: String,
}

/// The visible skills of a layer.
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

/// A vector search. The filter is part of the search, so that hidden skills do not use up its limit (B001-6).
#[derive(Debug, Clone, PartialEq)]
pub struct NearestSkills {
    /// The tenant of the `own` layer.
    pub tenant: TenantId,
    /// Visible skills among the tenant's own.
    pub own: SkillVisibility,
    /// Visible skills among the global ones.
    pub global: SkillVisibility,
    /// Only folders, or only leaves.
    pub is_folder: Option<bool>,
    /// The query's vector, of the index's model and of length 1.
    pub vector: Vec<f32>,
    /// Maximum number of results, at least 1.
    pub most: usize,
}

/// A search result.
#[derive(Debug, Clone, PartialEq)]
pub struct NearSkill {
    /// Its scope.
    pub scope: Scope,
    /// Its id.
    pub id: SkillId,
    /// The cosine with the query's vector, -1 to 1.
    pub cosine: f32,
}

/// A failure of the index.
#[derive(Debug, thiserror::Error)]
pub enum SkillIndexError {
    /// The node did not answer, or not completely.
    #[error("the search node at {place} did not answer while {doing}")]
    Unreachable {
        /// The node's address.
        place: String,
        /// The operation.
        doing: &'static str,
        /// The cause.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The node refused the request.
    #[error("the search node at {place} rejected {doing} with status {status}: {reason}")]
    Refused {
        /// The node's address.
        place: String,
        /// The operation.
        doing: &'static str,
        /// The HTTP status.
        status: u16,
        /// The node's reason, shortened.
        reason: String,
    },
    /// The node's answer is not in the expected form.
    #[error("the search node at {place} gave an invalid answer while {doing}: {detail}")]
    Form {
        /// The node's address.
        place: String,
        /// The operation.
        doing: &'static str,
        /// The fault.
        detail: String,
    },
    /// The index exists, but for another model or mapping.
    #[error(
        "the index `{index}` at {place} does not match: {detail}; `charter reindex` rebuilds it"
    )]
    Mismatch {
        /// The node's address.
        place: String,
        /// Its name.
        index: String,
        /// The difference.
        detail: String,
    },
    /// The index does not exist, or no longer.
    #[error("there is no index `{index}` at {place}")]
    Missing {
        /// The node's address.
        place: String,
        /// Its name.
        index: String,
    },
}

/// The index of skills on a search node.
#[async_trait]
pub trait SkillIndex: Send + Sync + fmt::Debug {
    /// Returns the node's address for display, without credentials.
    fn place(&self) -> String;

    /// Returns the product and version of the node, e.g. `OpenSearch 3.6.0`.
    ///
    /// # Errors
    /// [`SkillIndexError::Unreachable`], [`SkillIndexError::Refused`], [`SkillIndexError::Form`].
    async fn server(&self) -> Result<String, SkillIndexError>;

    /// Returns the index that searches use; `None` when there is none yet.
    ///
    /// # Errors
    /// [`SkillIndexError::Mismatch`] when it was built for another model or with another mapping; else as for
    /// [`SkillIndex::server`].
    async fn current(&self, model: &SkillsModel) -> Result<Option<CurrentIndex>, SkillIndexError>;

    /// Writes entries as read at `revision`, and then the position. An entry with a later revision stays. An entry that
    /// the node refuses is retried separately, and reported when it is refused permanently. Searches see all changes
    /// when this returns.
    ///
    /// # Errors
    /// [`SkillIndexError::Missing`] when another index has replaced this one; else as for [`SkillIndex::server`]. The
    /// position is then unchanged.
    async fn write(
        &self,
        index: &IndexName,
        changes: &[IndexChange],
        revision: SkillsRevision,
        position: IndexPosition,
    ) -> Result<Vec<FailedEntry>, SkillIndexError>;

    /// Creates an empty index that searches do not use yet; deletes abandoned ones.
    ///
    /// # Errors
    /// As for [`SkillIndex::server`].
    async fn begin(&self, model: &SkillsModel, tag: &str) -> Result<IndexName, SkillIndexError>;

    /// Switches searches to an index atomically, and deletes the previous one.
    ///
    /// # Errors
    /// As for [`SkillIndex::write`].
    async fn take(&self, index: &IndexName) -> Result<(), SkillIndexError>;

    /// Returns the nearest visible skills, nearest first; equal ones by scope and id. Approximate: an exact search may
    /// find another last result.
    ///
    /// # Errors
    /// As for [`SkillIndex::write`]; an answer from only a part of the index is [`SkillIndexError::Unreachable`].
    async fn nearest(&self, question: &NearestSkills) -> Result<Vec<NearSkill>, SkillIndexError>;
}
