//! Memories that repeat or contradict another one: among the hits of a search, and when writing. The marks are for a
//! reader to judge; [`charter_search::likeness()`] documents the heuristics.

use charter_contract::ids::MemoryId;
use charter_search::embed::Vector;
use charter_search::{EmbeddedQuery, Likeness, RouteQuery, Statement, likeness};
use charter_store::memory::NewVersion;

use super::MemoryService;
use super::index::{self, COMPARED, Indexed, rank};
use super::similar::SimilarMemories;
use super::{MemoryQuery, MemoryView, find};
use crate::{Caller, EngineError};

/// Characters of a new memory whose words search for others.
const MAX_QUERY_CHARS: usize = 2_000;
/// Maximum memories that a notice names.
const NAMED: usize = 3;

impl MemoryService {
    /// Marks a written memory with the visible memories that resemble it. The write is complete, so a failed comparison
    /// is only logged.
    pub(super) async fn mark_written(
        &self,
        caller: &Caller,
        shown: &mut MemoryView,
        written: &NewVersion,
    ) {
        let id = &shown.memory_id;
        match self.like_written(caller, id, written).await {
            Ok((alike, notice)) => {
                shown.similar_to = alike.similar_to;
                shown.conflicts_with = alike.conflicts_with;
                shown.notice = notice;
            }
            Err(error) => {
                tracing::warn!(memory.id = %id, %error, "a memory was written but not compared with others");
            }
        }
    }

    async fn like_written(
        &self,
        caller: &Caller,
        id: &MemoryId,
        written: &NewVersion,
    ) -> Result<(SimilarMemories, Option<String>), EngineError> {
        let query = self.query_like(written)?;
        let now = self.clock.now();
        // Proposals count: an agent that repeats a proposal must see the notice.
        let wanted = MemoryQuery {
            proposed: true,
            ..MemoryQuery::default()
        };
        let lets = |other: &Indexed| other.memory != *id && find::fits(other, caller, &wanted, now);
        let near = self
            .near(caller, &MemoryQuery::default(), &query, now)
            .await?;
        let hits = match near {
            Some(near) => rank(near, &query, &lets, COMPARED)?,
            None => {
                let index = self.memory_index(&caller.tenant).await?;
                index.read().await.search(&query, &lets, COMPARED)?
            }
        };
        let entry = &written.entry;
        let said = Statement::new(&entry.title, &entry.content);
        let mut alike = SimilarMemories::default();
        let mut told = Vec::new();
        for hit in &hits {
            let of_other = hit.indexed.statement();
            // The query is the memory itself. One without a vector has a cosine of exactly 0.
            let cosine = hit.cosine.filter(|cosine| *cosine != 0.0);
            if let Some(like) = likeness(&said, &of_other, cosine) {
                alike.add(like, &hit.indexed.memory);
                told.push(notice(like, &hit.indexed));
            }
        }
        told.truncate(NAMED);
        Ok((alike, (!told.is_empty()).then(|| told.join("; "))))
    }

    /// Returns the query for memories that resemble a new one: its vector, or its words.
    fn query_like(&self, written: &NewVersion) -> Result<EmbeddedQuery, EngineError> {
        if let (Some(embedder), Some(vector)) = (self.vectors.embedder(), &written.vector) {
            let vector = Vector::from_bytes(&vector.bytes)
                .map_err(|error| EngineError::internal("reading a vector", error))?;
            let query = EmbeddedQuery::of_vector(embedder.model(), &vector);
            return query.map_err(EngineError::from);
        }
        let text = index::embedded_text(&written.entry);
        let text: String = text.chars().take(MAX_QUERY_CHARS).collect();
        let query = RouteQuery::parse(&text).map_err(EngineError::from)?;
        Ok(query.lexical_only())
    }
}

fn notice(like: Likeness, other: &Indexed) -> String {
    let (id, title) = (&other.memory, &other.title);
    match like {
        Likeness::Same => format!("duplicates {id} ({title:?})"),
        Likeness::Similar => format!("nearly duplicates {id} ({title:?})"),
        Likeness::Conflicting => format!("may contradict {id} ({title:?})"),
    }
}
