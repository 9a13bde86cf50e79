//! The head of a log that is read leaf by leaf: one hash for each level, whatever its length.

use super::super::hash::Hash;

/// The perfect subtrees of the leaves so far, the largest first.
#[derive(Debug, Default)]
pub(super) struct Frontier {
    size: u64,
    subtrees: Vec<Hash>,
}

impl Frontier {
    /// Leaves so far.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        // As many subtrees merge as the size has ones at its end.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.subtrees.pop() {
                hash = Hash::node(left, hash);
            }
        }
        self.subtrees.push(hash);
        self.size += 1;
    }

    pub(super) fn root(&self) -> Hash {
        let mut subtrees = self.subtrees.iter().rev().copied();
        let last = subtrees.next().unwrap_or_else(Hash::empty);
        subtrees.fold(last, |right, left| Hash::node(left, right))
    }
}
