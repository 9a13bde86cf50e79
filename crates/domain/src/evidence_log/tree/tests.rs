//! Compares with the recursive definition. The shared vectors contain published values of other implementations.

use std::convert::Infallible;

use proptest::prelude::*;

use super::super::proof::{TreeHead, extends, includes};
use super::*;

/// MTH of RFC 6962 §2.1, verbatim.
fn naive_head(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Hash::empty(),
        [leaf] => *leaf,
        _ => {
            let k = naive_split(leaves.len());
            Hash::node(naive_head(&leaves[..k]), naive_head(&leaves[k..]))
        }
    }
}

/// PATH of RFC 6962 §2.1.1, verbatim.
fn naive_path(m: usize, leaves: &[Hash]) -> Vec<Hash> {
    if leaves.len() == 1 {
        return Vec::new();
    }
    let k = naive_split(leaves.len());
    let (mut path, sibling) = if m < k {
        (naive_path(m, &leaves[..k]), naive_head(&leaves[k..]))
    } else {
        (naive_path(m - k, &leaves[k..]), naive_head(&leaves[..k]))
    };
    path.push(sibling);
    path
}

/// SUBPROOF of RFC 6962 §2.1.2, verbatim.
fn naive_subproof(m: usize, leaves: &[Hash], whole: bool) -> Vec<Hash> {
    if m == leaves.len() {
        return if whole {
            vec![]
        } else {
            vec![naive_head(leaves)]
        };
    }
    let k = naive_split(leaves.len());
    let (mut proof, sibling) = if m <= k {
        (
            naive_subproof(m, &leaves[..k], whole),
            naive_head(&leaves[k..]),
        )
    } else {
        (
            naive_subproof(m - k, &leaves[k..], false),
            naive_head(&leaves[..k]),
        )
    };
    proof.push(sibling);
    proof
}

fn naive_split(n: usize) -> usize {
    let mut k = 1;
    while k * 2 < n {
        k *= 2;
    }
    k
}

fn leaves(count: usize) -> Vec<Hash> {
    (0..count).map(|n| Hash::leaf(&n.to_be_bytes())).collect()
}

fn grown(leaves: &[Hash]) -> BTreeMap<NodeId, Hash> {
    let mut nodes = BTreeMap::new();
    for (index, leaf) in leaves.iter().enumerate() {
        let made = append(index as u64, *leaf, |id| Ok::<_, Infallible>(nodes[&id])).unwrap();
        for (id, hash) in made {
            assert_eq!(nodes.insert(id, hash), None, "{id:?} is written once");
        }
    }
    nodes
}

fn folded(plan: &[Cover], nodes: &BTreeMap<NodeId, Hash>) -> Vec<Hash> {
    plan.iter()
        .map(|cover| cover.fold(nodes).unwrap())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// B000-19: heads and proofs equal those of the definition at every size, and verify.
    #[test]
    fn b000_19_heads_and_proofs_are_those_of_the_definition(size in 1_usize..130, a in 0_usize..130, b in 0_usize..130) {
        let leaves = leaves(size);
        let nodes = grown(&leaves);
        let root = head(size as u64).fold(&nodes).unwrap();
        prop_assert_eq!(root, naive_head(&leaves));
        let index = a % size;
        let path = folded(&inclusion(index as u64, size as u64).unwrap(), &nodes);
        prop_assert_eq!(&path, &naive_path(index, &leaves));
        prop_assert!(includes(index as u64, size as u64, leaves[index], &path, root));
        let old = b % size + 1;
        let proof = folded(&consistency(old as u64, size as u64).unwrap(), &nodes);
        prop_assert_eq!(&proof, &naive_subproof(old, &leaves, true));
        let before = TreeHead { size: old as u64, root: naive_head(&leaves[..old]) };
        let now = TreeHead { size: size as u64, root };
        prop_assert!(extends(before, now, &proof));
    }

    /// B000-19: a proof does not verify after any change of its hashes, size, index or leaf.
    #[test]
    fn b000_19_a_changed_proof_does_not_verify(size in 2_usize..100, a in 0_usize..100, at in 0_usize..8, by in 1_u8..) {
        let leaves = leaves(size);
        let nodes = grown(&leaves);
        let root = naive_head(&leaves);
        let index = a % size;
        let path = naive_path(index, &leaves);
        let shows = |index: usize, size: usize, leaf: Hash, path: &[Hash]| {
            includes(index as u64, size as u64, leaf, path, root)
        };
        let mut bent = path.clone();
        let place = at % path.len();
        bent[place].0[usize::from(by) % 32] ^= by;
        prop_assert!(!shows(index, size, leaves[index], &bent));
        prop_assert!(!shows(index, size, leaves[(index + 1) % size], &path));
        prop_assert!(!shows((index + 1) % size, size, leaves[index], &path));
        prop_assert!(!shows(index, size, leaves[index], &path[1..]));
        prop_assert!(!shows(size, size, leaves[index], &path));
        let longer: Vec<Hash> = path.iter().copied().chain([root]).collect();
        prop_assert!(!shows(index, size, leaves[index], &longer));
        let old = index.max(1);
        let before = TreeHead { size: old as u64, root: naive_head(&leaves[..old]) };
        let now = TreeHead { size: size as u64, root };
        let proof = folded(&consistency(old as u64, size as u64).unwrap(), &nodes);
        let mut bent = proof.clone();
        let place = at % proof.len();
        bent[place].0[usize::from(by) % 32] ^= by;
        prop_assert!(!extends(before, now, &bent));
        prop_assert!(!extends(before, now, &proof[1..]));
        let other = TreeHead { root, ..before };
        prop_assert!(!extends(other, now, &proof));
        prop_assert!(!extends(now, before, &proof));
    }
}

/// A proof in a log of a million leaves reads a few dozen hashes.
#[test]
fn b000_19_proofs_of_large_logs_read_few_nodes() {
    let read = |plan: Option<Vec<Cover>>| -> usize {
        plan.unwrap().iter().map(|cover| cover.nodes().len()).sum()
    };
    for size in [1_000_000, 1 << 20, (1 << 20) - 1, u64::MAX] {
        let levels = size.ilog2() as usize + 1;
        for place in [0, 1, size / 3, size / 2, size - 2, size - 1] {
            assert!(read(inclusion(place, size)) <= 2 * levels);
            assert!(read(consistency(place + 1, size)) <= 2 * levels);
        }
        assert!(head(size).nodes().len() <= levels);
    }
    assert_eq!((inclusion(5, 5), consistency(6, 5)), (None, None));
}
