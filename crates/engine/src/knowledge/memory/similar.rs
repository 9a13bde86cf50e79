//! The memories that are like one.

use charter_contract::ids::MemoryId;
use charter_search::Likeness;

/// Memories that are like one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SimilarMemories {
    pub(super) similar_to: Vec<MemoryId>,
    pub(super) conflicts_with: Vec<MemoryId>,
}

impl SimilarMemories {
    pub(super) fn add(&mut self, like: Likeness, other: &MemoryId) {
        let ids = match like {
            Likeness::Same | Likeness::Similar => &mut self.similar_to,
            Likeness::Conflicting => &mut self.conflicts_with,
        };
        // A version in force and a proposed one are one memory.
        if !ids.contains(other) {
            ids.push(other.clone());
        }
    }
}
