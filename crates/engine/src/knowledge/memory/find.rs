//! Searches memories: by meaning and words, among those that match a filter.

use charter_contract::agentic::memory::{Importance, MemoryState};
use charter_contract::time::Timestamp;
use charter_contract::violation::Report;
use charter_domain::memory::MemoryOwnership;
use charter_search::EmbeddedQuery;
use charter_store::memory::{NearMemory, NearestMemories};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MemoryService;
use super::index::{COMPARED, Hit, Indexed, mark, rank};
use super::{MemoryView, person};
use crate::{Caller, EngineError};

/// Default number of memories.
const FOUND: usize = 10;
/// How many of the nearest that storage finds are also ranked by words.
const RANKED: usize = 200;
/// The cosine below which a memory without a word of the question counts as unrelated.
const UNRELATED: f32 = 0.15;
/// Maximum memories that one question returns.
const MAX_FOUND: usize = 50;

/// A query for memories. Absent fields do not restrict.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryQuery {
    /// The text; without it the most recently changed memories come first.
    pub text: Option<String>,
    /// With every one of these tags.
    pub tags_all: Vec<String>,
    /// With at least one of these tags.
    pub tags_any: Vec<String>,
    /// Written or changed at this time or later.
    pub from: Option<Timestamp>,
    /// Written or changed before this time.
    pub until: Option<Timestamp>,
    /// Minimum importance; an absent importance counts as 5.
    pub min_importance: Option<Importance>,
    /// Whether to include proposals that are visible to the caller.
    pub proposed: bool,
    /// Maximum memories, at most 50.
    #[schemars(range(min = 1, max = MAX_FOUND))]
    pub limit: Option<usize>,
}

/// A memory that was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "MemoryHit")]
pub struct MemoryHit {
    /// Probability that it is relevant to the question, 0 to 1: comparable across questions. Absent without a text.
    pub score: Option<f32>,
    /// The ranking score within this question, 0 to 1.
    pub fused: f32,
    /// Words in common, weighted.
    pub lexical: f32,
    /// Similarity of meaning; absent if only words were compared.
    pub cosine: Option<f32>,
    /// The memory.
    #[serde(flatten)]
    pub shown: MemoryView,
}

impl MemoryQuery {
    /// Refuses an invalid question, with every violation.
    fn must_make_sense(&self) -> Result<(), EngineError> {
        let mut report = Report::new();
        if let Some(limit) = self.limit
            && !(1..=MAX_FOUND).contains(&limit)
        {
            let message = format!("{limit} is not from 1 to {MAX_FOUND}");
            report.meaning("/limit", "range", message);
        }
        if self
            .text
            .as_deref()
            .is_some_and(|text| text.trim().is_empty())
        {
            let message = "it is empty; omit it to list the latest changes";
            report.meaning("/text", "empty", message.to_owned());
        }
        if let (Some(from), Some(until)) = (self.from, self.until)
            && until <= from
        {
            let message = format!("{until} is not after `from`, {from}");
            report.consistency("/until", "range", message);
        }
        EngineError::must_be_none("the search", &report.violations)
    }
}

impl MemoryHit {
    /// Returns whether it relates to the question: a common word, or a cosine that unrelated texts do not have by
    /// chance.
    #[must_use]
    pub fn is_related(&self) -> bool {
        self.lexical > 0.0 || self.cosine.is_none_or(|cosine| cosine >= UNRELATED)
    }
}

impl MemoryService {
    /// Returns the matching memories, best first. Memories that are not visible, have expired or do not match the
    /// filters are neither scored nor counted.
    ///
    /// # Errors
    /// `invalid_request` for an empty text, an inverted range, or a limit of zero.
    pub async fn find(
        &self,
        caller: &Caller,
        query: &MemoryQuery,
    ) -> Result<Vec<MemoryHit>, EngineError> {
        query.must_make_sense()?;
        let limit = query.limit.unwrap_or(FOUND);
        let embedded = match &query.text {
            Some(text) => Some(self.vectors.embedded(text).await?),
            None => None,
        };
        let now = self.clock.now();
        let lets = |indexed: &Indexed| fits(indexed, caller, query, now);
        let near = match &embedded {
            Some(embedded) => self.near(caller, query, embedded, now).await?,
            None => None,
        };
        let most = limit.max(COMPARED);
        let hits = match (near, &embedded) {
            // Storage keeps the vectors, so only words are compared.
            (Some(near), Some(embedded)) => {
                mark(rank(near, embedded, &lets, most)?, limit, |_, _| None)
            }
            (None, Some(embedded)) => {
                let index = self.memory_index(&caller.tenant).await?;
                let index = index.read().await;
                index.mark(index.search(embedded, &lets, most)?, limit)
            }
            (_, None) => {
                let index = self.memory_index(&caller.tenant).await?;
                let index = index.read().await;
                index.mark(index.newest(&lets, most), limit)
            }
        };
        let mut found = Vec::with_capacity(hits.len());
        for hit in hits {
            found.extend(self.found(caller, hit).await?);
        }
        Ok(found)
    }

    /// Returns the memories that storage finds by vectors. `None` if storage does not search vectors, the query has
    /// none, or it includes proposals, which are few.
    pub(super) async fn near(
        &self,
        caller: &Caller,
        query: &MemoryQuery,
        embedded: &EmbeddedQuery,
        now: Timestamp,
    ) -> Result<Option<Vec<NearMemory>>, EngineError> {
        let (Some(model), Some(vector), false) =
            (embedded.model(), embedded.vector(), query.proposed)
        else {
            return Ok(None);
        };
        let asked = NearestMemories {
            reader: &caller.user,
            now,
            tags_all: &query.tags_all,
            tags_any: &query.tags_any,
            from: query.from,
            until: query.until,
            min_importance: query.min_importance.map_or(0, Importance::get),
            unsaid_importance: charter_domain::memory::weight(None),
            model: &model.to_string(),
            vector: vector.as_slice(),
            most: RANKED,
        };
        Ok(self.store.nearest_memories(&caller.tenant, &asked).await?)
    }

    /// Converts a hit for the caller, unless it was removed since.
    async fn found(&self, caller: &Caller, hit: Hit) -> Result<Option<MemoryHit>, EngineError> {
        let tenant = &caller.tenant;
        let record = self
            .store
            .memory(tenant, &hit.indexed.memory, self.clock.now());
        let Some(record) = record.await?.filter(|record| record.removed.is_none()) else {
            return Ok(None);
        };
        let shown = self.shown_at(caller, record, Some(hit.indexed.version));
        Ok(shown.await?.map(|shown| MemoryHit {
            score: hit.score,
            fused: hit.fused,
            lexical: hit.lexical,
            cosine: hit.cosine,
            shown: MemoryView {
                similar_to: hit.alike.similar_to,
                conflicts_with: hit.alike.conflicts_with,
                ..shown
            },
        }))
    }
}

pub(super) fn fits(
    indexed: &Indexed,
    caller: &Caller,
    query: &MemoryQuery,
    now: Timestamp,
) -> bool {
    let holding = MemoryOwnership {
        owner: &indexed.owner,
        visibility: indexed.visibility,
    };
    let seen = match indexed.state {
        MemoryState::Accepted | MemoryState::Superseded => holding.is_seen_by(person(caller)),
        MemoryState::Proposed | MemoryState::Rejected => {
            query.proposed && holding.shows_proposal_to(&indexed.author, person(caller))
        }
    };
    let has = |tag: &String| indexed.tags.contains(tag);
    let least = query.min_importance.map_or(0, Importance::get);
    seen && indexed.expires_at.is_none_or(|at| at > now)
        && query.tags_all.iter().all(has)
        && (query.tags_any.is_empty() || query.tags_any.iter().any(has))
        && query.from.is_none_or(|from| indexed.changed_at >= from)
        && query.until.is_none_or(|until| indexed.changed_at < until)
        && charter_domain::memory::weight(indexed.importance) >= least
}
