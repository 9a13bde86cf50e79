//! Verifies proofs by RFC 9162 §2.1.3.2 and §2.1.4.2, from hashes and sizes alone.

use super::hash::Hash;

/// Returns whether `proof` shows that the leaf `index`, with the hash `leaf`, is in the log of `size` leaves with the
/// head `root`.
#[must_use]
pub fn includes(index: u64, size: u64, leaf: Hash, proof: &[Hash], root: Hash) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last, mut hash) = (index, size - 1, leaf);
    for sibling in proof {
        if last == 0 {
            return false;
        }
        if at % 2 == 1 || at == last {
            hash = Hash::node(*sibling, hash);
            skip_to_right_child(&mut at, &mut last);
        } else {
            hash = Hash::node(hash, *sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && hash == root
}

/// A log's size and head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeHead {
    /// The number of leaves.
    pub size: u64,
    /// The root hash of the tree.
    pub root: Hash,
}

/// Returns whether `proof` shows that the log `old` is a prefix of the log `new`. A log without leaves is a prefix of
/// every log and needs no proof.
#[must_use]
pub fn extends(old: TreeHead, new: TreeHead, proof: &[Hash]) -> bool {
    if old.size == 0 {
        return proof.is_empty() && old.root == Hash::empty();
    }
    if old.size >= new.size {
        return proof.is_empty() && old == new;
    }
    // If the old log is one perfect subtree, its head is the first hash of the path.
    let whole = old.size.is_power_of_two().then_some(old.root);
    let mut path = whole.into_iter().chain(proof.iter().copied());
    let (mut at, mut last) = (old.size - 1, new.size - 1);
    while at % 2 == 1 {
        at >>= 1;
        last >>= 1;
    }
    let Some(first) = path.next() else {
        return false;
    };
    let (mut old_root, mut new_root) = (first, first);
    for hash in path {
        if last == 0 {
            return false;
        }
        if at % 2 == 1 || at == last {
            old_root = Hash::node(hash, old_root);
            new_root = Hash::node(hash, new_root);
            skip_to_right_child(&mut at, &mut last);
        } else {
            new_root = Hash::node(new_root, hash);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && old_root == old.root && new_root == new.root
}

/// Moves up until the node is a right child. Levels without a sibling contribute no hash.
fn skip_to_right_child(at: &mut u64, last: &mut u64) {
    while at.is_multiple_of(2) && *at != 0 {
        *at >>= 1;
        *last >>= 1;
    }
}
