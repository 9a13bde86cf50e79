//! Skills of the link graph (seed 001): discover, navigate, and fetch exactly one instruction.
//!
//! The caller's reach is computed before anything is ranked, listed or counted; skills outside it look absent (B001-6).
//! Discovery and navigation use the index in memory, which holds no instruction; only the targeted fetch reads one, by
//! its id, from storage (B001-3).

mod import;
mod index;
mod load;
mod manifest;
mod mirror;
mod nearby;
mod published;
mod write;

use charter_contract::error_code::ErrorCode;
use charter_contract::ids::SkillId;
use charter_contract::number;
use charter_contract::package::PackageScope;
use charter_contract::scope::Scope;
use charter_contract::validate::nearest;
use charter_contract::violation::{Report, Stage, Violation};
use charter_domain::clock::Clock;
use charter_domain::link_graph::{LayerOf, LinkFinding, SkillNode, SkillPosition};
use charter_search::embed::{Embedder, Vector};
use charter_search::{EmbeddedQuery, SlotLayer, discover};
use charter_store::SharedStore;
use charter_store::agent_skills::SkillFileEntry;
use charter_store::catalogue::ContentHash;
use charter_store::skill_index::SkillIndex;
use quick_cache::sync::Cache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::catalogue::documents::SkillReach;
use crate::catalogue::live::{CatalogueService, TextVectors};
use crate::ground::checks::CheckSlots;
use crate::ground::core_ports::{BackgroundTasks, CorePorts};
use crate::ground::ids::IdSource;
use crate::ground::settings::{ProcessRole, SkillVectors};
use crate::identity::keys::GrantableSkills;
use crate::{Caller, EngineError, Role, SkillGrants};

pub use import::{SentFile, SkillScript, SkillTool, SkillsImported, SkillsSent};
pub(crate) use index::SkillIndexes;
pub use manifest::{SkillManifest, SkillManifests};
use mirror::Mirror;
pub use mirror::SkillIndexState;
pub use published::{Artifact, PublishedSkill, PublishedSkillIndex};
pub use write::{BulkItem, BulkWritten, Force, MAX_BULK_ITEMS, SkillWritten};

use index::{Access, Indexes};

/// Maximum archives of skills whose digest is cached in memory.
const KEPT_ARCHIVE_DIGESTS: usize = 16_384;

/// Default number of hits of a search.
const TOP_K: usize = 10;

/// Maximum hits of a search.
const MAX_TOP_K: usize = 100;

/// Maximum unknown skills that an error names: each is compared with every known one.
const MOST_NAMED: usize = 20;

/// A skill as discovery and navigation show it: never its instruction or vector (B001-3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillSummary")]
pub struct AgentSkillSummary {
    /// Its id.
    pub skill_id: SkillId,
    /// Its summary.
    pub summary: String,
    /// Whether it points at other skills.
    pub is_folder: bool,
    /// The skills that it points at, including missing ones.
    pub sub_skills: Vec<SkillId>,
}

impl From<&SkillNode> for AgentSkillSummary {
    fn from(node: &SkillNode) -> Self {
        Self {
            skill_id: node.id.clone(),
            summary: node.summary.to_string(),
            is_folder: node.is_folder,
            sub_skills: node.children.to_vec(),
        }
    }
}

/// One skill, with its layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillInScope")]
pub struct SkillInScope {
    /// The skill.
    #[serde(flatten)]
    pub skill: AgentSkillSummary,
    /// `tenant` or `global`.
    pub scope: PackageScope,
}

/// A hit of a search.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillHit")]
pub struct AgentSkillHit {
    /// The skill.
    #[serde(flatten)]
    pub skill: AgentSkillSummary,
    /// Probability that it is right, 0 to 1.
    pub score: f32,
}

/// One page of skills.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillPage")]
pub struct AgentSkillPage {
    /// The skills.
    pub entries: Vec<AgentSkillSummary>,
    /// Cursor to the next page; absent on the last one.
    pub next: Option<SkillId>,
}

/// The instruction of one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillInstruction")]
pub struct SkillInstruction {
    /// The skill's id.
    pub skill_id: SkillId,
    /// The instruction.
    pub instruction: String,
}

/// A file of a skill, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AgentSkillFile")]
pub struct AgentSkillFile {
    /// Its path, relative to the skill.
    pub path: String,
    /// `sha256:…` of its content.
    pub digest: String,
    /// Its size, in bytes.
    pub bytes: u64,
    /// Whether it may be executed.
    pub executable: bool,
}

impl From<SkillFileEntry> for AgentSkillFile {
    fn from(entry: SkillFileEntry) -> Self {
        Self {
            path: entry.path,
            digest: entry.content.to_string(),
            bytes: entry.bytes,
            executable: entry.executable,
        }
    }
}

/// The kind of skills that a search finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillKind {
    /// Skills that point at others.
    Folders,
    /// Skills that point at none.
    Leaves,
}

/// A search: by words or by a vector of the index's model.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillSearch {
    /// The query as text.
    #[serde(default)]
    pub query: Option<String>,
    /// The query as a vector.
    #[serde(default)]
    pub vector: Option<number::Vector>,
    /// Maximum hits, 1 to 100; 10 when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_TOP_K))]
    pub top_k: Option<usize>,
    /// Only folders, or only leaves.
    #[serde(default)]
    pub only: Option<SkillKind>,
}

/// The query of a search.
enum SearchedBy<'s> {
    Text(&'s str),
    Vector(&'s number::Vector),
}

impl SkillSearch {
    /// Returns the query, or every violation.
    fn by(&self, top_k: usize) -> Result<SearchedBy<'_>, EngineError> {
        let mut report = Report::new();
        if !(1..=MAX_TOP_K).contains(&top_k) {
            let message = format!("{top_k} is not from 1 to {MAX_TOP_K}");
            report.meaning("/top_k", "range", message);
        }
        let by = match (&self.query, &self.vector) {
            (Some(words), None) => Some(SearchedBy::Text(words)),
            (None, Some(vector)) => Some(SearchedBy::Vector(vector)),
            (Some(_), Some(_)) | (None, None) => {
                let message = "search by `query` or by `vector`".to_owned();
                report.meaning("", "exactly_one", message);
                None
            }
        };
        match by {
            Some(by) if report.violations.is_empty() => Ok(by),
            Some(_) | None => Err(EngineError::unfit("the search", &report.violations)),
        }
    }
}

/// The sources of served skills, and the settings of their search.
pub(crate) struct SkillPorts {
    /// The skills that are served now.
    pub(crate) indexes: Arc<SkillIndexes>,
    /// The index of skills on a search node, if there is one.
    pub(crate) node: Option<Arc<dyn SkillIndex>>,
    /// Where vectors are searched.
    pub(crate) vectors: SkillVectors,
    /// The role of this process among the replicas: only workers update the index of a search node.
    pub(crate) duty: ProcessRole,
}

/// An index of skills, and the embedder of its queries.
type IndexAndModel<'s> = (&'s Arc<dyn SkillIndex>, &'s Arc<dyn Embedder>);

/// The skills of the link graph.
pub struct AgentSkillService {
    store: SharedStore,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    shutdown: CancellationToken,
    tasks: TaskTracker,
    catalogue: Arc<CatalogueService>,
    vectors: Arc<TextVectors>,
    checks: CheckSlots,
    skills: Arc<SkillIndexes>,
    /// The index of skills on a search node, if there is one.
    node: Option<Arc<dyn SkillIndex>>,
    kept: SkillVectors,
    duty: ProcessRole,
    /// The state of that index, as known to this process.
    mirror: Mirror,
    /// Digests of skills' archives, by their content.
    archive_digests: Cache<[u8; 32], ContentHash>,
}

impl std::fmt::Debug for AgentSkillService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentSkillService").finish_non_exhaustive()
    }
}

impl AgentSkillService {
    pub(crate) fn new(
        ports: CorePorts,
        background: BackgroundTasks,
        catalogue: Arc<CatalogueService>,
        vectors: Arc<TextVectors>,
        checks: CheckSlots,
        skills: SkillPorts,
    ) -> Self {
        Self {
            store: ports.store,
            clock: ports.clock,
            ids: ports.ids,
            shutdown: background.shutdown,
            tasks: background.tasks,
            catalogue,
            vectors,
            checks,
            skills: skills.indexes,
            node: skills.node,
            kept: skills.vectors,
            duty: skills.duty,
            mirror: Mirror::default(),
            archive_digests: Cache::new(KEPT_ARCHIVE_DIGESTS),
        }
    }

    /// Returns the index of skills on a search node, if there is one and a model for its queries.
    fn skill_index(&self) -> Option<IndexAndModel<'_>> {
        Some((self.node.as_ref()?, self.vectors.embedder()?))
    }

    /// Returns the skills that are served now.
    pub(crate) fn indexes(&self) -> &SkillIndexes {
        &self.skills
    }

    /// Returns the best matching skills within the caller's reach, best first.
    ///
    /// # Errors
    /// `invalid_request` for an empty search, one by both words and vector, a vector that is not the index's, or a
    /// number of hits outside 1 to 100. If vectors are on a search node only, also the error of a node that does not
    /// answer.
    pub async fn discover_skills(
        &self,
        caller: &Caller,
        search: &SkillSearch,
    ) -> Result<Vec<AgentSkillHit>, EngineError> {
        let top_k = search.top_k.unwrap_or(TOP_K);
        let query = match search.by(top_k)? {
            SearchedBy::Text(words) => self.vectors.embedded(words).await?,
            SearchedBy::Vector(vector) => self.vector_query(vector)?,
        };
        if let Some(found) = self.found_by_node(caller, search, &query, top_k).await? {
            return Ok(found);
        }
        let settings = self.catalogue.live().settings;
        self.skills.read(caller, |indexes, access| {
            let mut visible = [access.reach.own.clone(), access.reach.global.clone()];
            let scopes = [indexes.own(&caller.tenant), Some(indexes.global())];
            let mut layers = Vec::new();
            let mut places = Vec::new();
            for ((scope, visible), layer) in scopes
                .into_iter()
                .zip(&mut visible)
                .zip([LayerOf::Own, LayerOf::Global])
            {
                let Some(scope) = scope else { continue };
                match search.only {
                    Some(SkillKind::Folders) => visible.intersect_with(scope.graph.folders()),
                    Some(SkillKind::Leaves) => visible.difference_with(scope.graph.folders()),
                    None => {}
                }
                layers.push(SlotLayer {
                    index: &scope.slots,
                    visible,
                });
                places.push(layer);
            }
            let hits = discover(&layers, &query, &settings, top_k).map_err(EngineError::from)?;
            let view = indexes.view(&caller.tenant);
            let found = hits.into_iter().filter_map(|hit| {
                let layer = *places.get(hit.layer)?;
                let slot = hit.slot;
                Some(AgentSkillHit {
                    skill: view.node(SkillPosition { layer, slot })?.into(),
                    score: hit.score,
                })
            });
            Ok(found.collect())
        })
    }

    fn vector_query(&self, vector: &number::Vector) -> Result<EmbeddedQuery, EngineError> {
        let Some(embedder) = self.vectors.embedder() else {
            return Err(invalid(
                "no embedding model is configured, so vectors are not accepted".to_owned(),
            ));
        };
        let vector = Vector::with_dims(vector.as_slice().to_vec(), embedder.model().dims)
            .map_err(|error| invalid(error.to_string()).caused_by(error))?;
        EmbeddedQuery::of_vector(embedder.model(), &vector).map_err(EngineError::from)
    }

    /// Returns one skill, without its instruction.
    ///
    /// # Errors
    /// `not_found`, also for one outside the caller's reach.
    pub fn show_skill(&self, caller: &Caller, id: &SkillId) -> Result<SkillInScope, EngineError> {
        self.skills.read(caller, |indexes, access| {
            let (place, node) = visible(indexes, access, caller, id)?;
            Ok(SkillInScope {
                skill: node.into(),
                scope: match place.layer {
                    LayerOf::Own => PackageScope::Tenant,
                    LayerOf::Global => PackageScope::Global,
                },
            })
        })
    }

    /// Returns a page of a folder's sub-skills, in its order, without missing ones; none for a leaf.
    ///
    /// # Errors
    /// `not_found`, also for one outside the caller's reach.
    pub fn skill_children(
        &self,
        caller: &Caller,
        id: &SkillId,
        after: Option<&SkillId>,
        limit: usize,
    ) -> Result<AgentSkillPage, EngineError> {
        self.skills.read(caller, |indexes, access| {
            let (_, node) = visible(indexes, access, caller, id)?;
            let view = indexes.view(&caller.tenant);
            let children = node.children.iter();
            let there = children.filter_map(|child| view.find(child).map(|(_, node)| node));
            Ok(page(there, after, limit))
        })
    }

    /// Returns a page of the skills without a parent in the caller's reach, by id.
    ///
    /// # Errors
    /// Never in practice.
    pub fn skill_roots(
        &self,
        caller: &Caller,
        after: Option<&SkillId>,
        limit: usize,
    ) -> Result<AgentSkillPage, EngineError> {
        self.skills.read(caller, |indexes, access| {
            let view = indexes.view(&caller.tenant);
            let roots = access.roots(&view).iter();
            let nodes = roots.filter_map(|place| view.node(*place));
            Ok(page(nodes, after, limit))
        })
    }

    /// Returns the instruction of one skill, and of no other.
    ///
    /// # Errors
    /// `not_found`, also for one outside the caller's reach.
    pub async fn skill_instruction(
        &self,
        caller: &Caller,
        id: &SkillId,
    ) -> Result<SkillInstruction, EngineError> {
        let scope = self.scope_of_skill(caller, id)?;
        let instruction = self.store.skill_instruction(&scope, id).await?;
        Ok(SkillInstruction {
            skill_id: id.clone(),
            instruction: instruction.ok_or_else(|| EngineError::not_found("skill", id))?,
        })
    }

    /// Lints the skills within the caller's reach (B001-4).
    ///
    /// # Errors
    /// `permission_denied` below the level `operator`.
    pub fn lint_skills(&self, caller: &Caller) -> Result<Vec<LinkFinding>, EngineError> {
        caller.must_be(Role::Operator, "only operators can lint skills")?;
        self.skills.read(caller, |indexes, access| {
            Ok(indexes.view(&caller.tenant).lint(&access.reach))
        })
    }

    /// Returns the mapping of the index, in the form of seed 001, with the current dimensions of the vector.
    #[must_use]
    pub fn skills_mapping(&self) -> Value {
        let model = self
            .vectors
            .embedder()
            .map(|embedder| embedder.model().clone());
        let vector = match &model {
            Some(model) => json!({
                "type": "dense_vector", "dims": model.dims, "index": true, "similarity": "cosine",
            }),
            None => json!({"type": "dense_vector", "index": false}),
        };
        json!({
            "mappings": {
                "_meta": {"model": model.map(|model| model.to_string())},
                "properties": {
                    "skill_id": {"type": "keyword"},
                    "skill_desc_vector": vector,
                    "summary": {"type": "text", "index": false},
                    "is_folder": {"type": "boolean"},
                    "sub_skills": {"type": "keyword"},
                    "instruction": {"type": "text", "index": false},
                }
            }
        })
    }

    /// Returns the scope of a skill in the caller's reach.
    fn scope_of_skill(&self, caller: &Caller, id: &SkillId) -> Result<Scope, EngineError> {
        self.skills.read(caller, |indexes, access| {
            let (place, _) = visible(indexes, access, caller, id)?;
            Ok(match place.layer {
                LayerOf::Own => Scope::Tenant(caller.tenant.clone()),
                LayerOf::Global => Scope::Global,
            })
        })
    }
}

impl SkillReach for SkillIndexes {
    fn reaches(&self, caller: &Caller, skill: &SkillId) -> bool {
        self.read(caller, |indexes, access| {
            let found = indexes.view(&caller.tenant).find(skill);
            found.is_some_and(|(place, _)| access.reach.contains(place))
        })
    }
}

impl GrantableSkills for SkillIndexes {
    fn must_know(&self, caller: &Caller, grants: &SkillGrants) -> Result<(), EngineError> {
        let SkillGrants::Only(ids) = grants else {
            return Ok(());
        };
        let violations: Vec<Violation> = self.read(caller, |indexes, access| {
            let view = indexes.view(&caller.tenant);
            let is_there = |id: &SkillId| {
                let found = view.find(id);
                found.is_some_and(|(place, _)| access.reach.contains(place))
            };
            let unknown = ids.iter().filter(|id| !is_there(id)).take(MOST_NAMED);
            unknown
                .map(|id| {
                    let reached = access.reach.places().filter_map(|place| view.node(place));
                    Violation {
                        stage: Stage::Consistency,
                        pointer: "/agent_skills".to_owned(),
                        keyword: "reference".to_owned(),
                        message: format!("there is no agent skill `{id}`"),
                        suggestion: nearest(id.as_str(), reached.map(|node| node.id.as_str())),
                    }
                })
                .collect()
        });
        EngineError::must_be_none("the order of a key", &violations)
    }
}

/// Returns a skill in the caller's reach. The error is the same for absent skills and skills out of reach.
fn visible<'i>(
    indexes: &'i Indexes,
    access: &Access,
    caller: &Caller,
    id: &SkillId,
) -> Result<(SkillPosition, &'i SkillNode), EngineError> {
    let view = indexes.view(&caller.tenant);
    let found = view.find(id);
    found
        .filter(|(place, _)| access.reach.contains(*place))
        .ok_or_else(|| {
            let reached = access.reach.places().filter_map(|place| view.node(place));
            let reached = reached.map(|node| node.id.as_str());
            EngineError::not_found("skill", id).or_nearest(id.as_str(), reached)
        })
}

fn page<'n>(
    nodes: impl Iterator<Item = &'n SkillNode>,
    after: Option<&SkillId>,
    limit: usize,
) -> AgentSkillPage {
    let mut nodes = nodes.peekable();
    if let Some(after) = after {
        for node in nodes.by_ref() {
            if node.id == *after {
                break;
            }
        }
    }
    let entries: Vec<AgentSkillSummary> =
        nodes.by_ref().take(limit.max(1)).map(Into::into).collect();
    let next = match (nodes.peek(), entries.last()) {
        (Some(_), Some(last)) => Some(last.skill_id.clone()),
        (Some(_), None) | (None, _) => None,
    };
    AgentSkillPage { entries, next }
}

fn invalid(message: String) -> EngineError {
    EngineError::new(ErrorCode::InvalidRequest, message)
}

#[cfg(test)]
mod tests;
