//! The shape of the Merkle tree: the hashes that an append creates, and those that a head or a proof consists of
//! (RFC 6962 §2.1, RFC 9162 §2.1).
//!
//! Storage keeps the hash of every *perfect* subtree: `2^level` leaves that begin at a multiple of `2^level`. Such a
//! hash never changes. An append writes one of them on average, and at most one per level. A head or a proof reads at
//! most a few per level, for any size of log. Reads are planned here as [`Cover`]s in advance, so this file knows
//! neither storage nor its errors.

use std::collections::BTreeMap;

use super::hash::Hash;

/// A perfect subtree: the one with this index among those of `2^level` leaves. At level 0 it is a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    /// The level, below 64.
    pub level: u8,
    /// The index within the level, from 0.
    pub index: u64,
}

/// The perfect subtrees, from left to right, that are folded into one hash of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cover(Vec<NodeId>);

/// The hash of a required node is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the hash of node {} of level {} is missing", .0.index, .0.level)]
pub struct MissingNode(pub NodeId);

impl Cover {
    /// Covers the leaves from `start` to before `end`. `start` is a multiple of the largest power of two that does not
    /// exceed the number of leaves, as at every split of RFC 6962.
    fn from_range(mut start: u64, end: u64) -> Self {
        let mut nodes = Vec::new();
        while start < end {
            let level = (end - start).ilog2().min(start.trailing_zeros());
            nodes.push(NodeId {
                level: u8::try_from(level).unwrap_or(u8::MAX),
                index: start >> level,
            });
            start += 1 << level;
        }
        Self(nodes)
    }

    /// Returns the nodes to read.
    #[must_use]
    pub fn nodes(&self) -> &[NodeId] {
        &self.0
    }

    /// Folds the hashes that were read into one hash.
    ///
    /// # Errors
    /// [`MissingNode`] for the first hash that is missing.
    pub fn fold(&self, read: &BTreeMap<NodeId, Hash>) -> Result<Hash, MissingNode> {
        let hash = |id: &NodeId| read.get(id).copied().ok_or(MissingNode(*id));
        let Some((last, rest)) = self.0.split_last() else {
            return Ok(Hash::empty());
        };
        rest.iter().rev().try_fold(hash(last)?, |right, left| {
            Ok(Hash::node(hash(left)?, right))
        })
    }
}

/// Returns the cover of the head of a log with `size` leaves.
#[must_use]
pub fn head(size: u64) -> Cover {
    Cover::from_range(0, size)
}

/// Returns the hashes that appending a leaf adds, lowest first. `index` is the leaf's index, which equals the previous
/// size of the log. `read` returns the hash of an existing perfect subtree.
///
/// # Errors
/// Errors of `read`.
pub fn append<E>(
    index: u64,
    leaf: Hash,
    mut read: impl FnMut(NodeId) -> Result<Hash, E>,
) -> Result<Vec<(NodeId, Hash)>, E> {
    let mut at = NodeId { level: 0, index };
    let mut hash = leaf;
    let mut made = vec![(at, hash)];
    while at.index % 2 == 1 {
        let left = NodeId {
            level: at.level,
            index: at.index - 1,
        };
        hash = Hash::node(read(left)?, hash);
        at = NodeId {
            level: at.level + 1,
            index: at.index / 2,
        };
        made.push((at, hash));
    }
    Ok(made)
}

/// Returns the proof that the leaf `index` is in the log of `size` leaves: PATH of RFC 6962 §2.1.1, nearest sibling
/// first. Returns `None` if there is no such leaf.
#[must_use]
pub fn inclusion(index: u64, size: u64) -> Option<Vec<Cover>> {
    if index >= size {
        return None;
    }
    let (mut start, mut end) = (0, size);
    let mut path = Vec::new();
    while end - start > 1 {
        let middle = start + split(end - start);
        if index < middle {
            path.push(Cover::from_range(middle, end));
            end = middle;
        } else {
            path.push(Cover::from_range(start, middle));
            start = middle;
        }
    }
    path.reverse();
    Some(path)
}

/// Returns the proof that the log of `old` leaves is a prefix of the log of `new` leaves: PROOF of RFC 6962 §2.1.2. It
/// is empty for a log without leaves, which is a prefix of every log. Returns `None` if `old` is larger.
#[must_use]
pub fn consistency(old: u64, new: u64) -> Option<Vec<Cover>> {
    if old > new {
        return None;
    }
    if old == 0 {
        return Some(Vec::new());
    }
    let (mut start, mut end) = (0, new);
    let mut proof = Vec::new();
    // Descends until the subtree from `start` to `end` lies wholly within the old log.
    while end > old {
        let middle = start + split(end - start);
        if old <= middle {
            proof.push(Cover::from_range(middle, end));
            end = middle;
        } else {
            proof.push(Cover::from_range(start, middle));
            start = middle;
        }
    }
    // If that subtree is the whole old log, the verifier knows its hash already.
    if start > 0 {
        proof.push(Cover::from_range(start, end));
    }
    proof.reverse();
    Some(proof)
}

/// Returns the largest power of two below `leaves`, which must be at least two.
fn split(leaves: u64) -> u64 {
    1 << (leaves - 1).ilog2()
}

#[cfg(test)]
mod tests;
