//! Computes the head of a log leaf by leaf. Keeps one hash per level, for any size of log.

use super::super::hash::Hash;

/// The perfect subtrees of the leaves so far, in descending order of size.
#[derive(Debug, Default)]
pub(super) struct Frontier {
    size: u64,
    subtrees: Vec<Hash>,
}

impl Frontier {
    /// Returns the number of leaves so far.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        // The number of merged subtrees equals the number of trailing ones in the size.
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
