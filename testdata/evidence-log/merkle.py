"""The Merkle tree of RFC 6962 section 2.1, by its recursive definitions. Proofs are checked by recursion too."""

from __future__ import annotations

import hashlib


def sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


EMPTY = sha256()


def leaf_hash(data: bytes) -> bytes:
    return sha256(b"\x00", data)


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01", left, right)


def split(size: int) -> int:
    """The largest power of two below a size of at least two."""
    return 1 << ((size - 1).bit_length() - 1)


def root_of(leaves: list[bytes]) -> bytes:
    """MTH, of the hashes of leaves."""
    if len(leaves) < 2:
        return leaves[0] if leaves else EMPTY
    k = split(len(leaves))
    return node_hash(root_of(leaves[:k]), root_of(leaves[k:]))


def path_of(index: int, leaves: list[bytes]) -> list[bytes]:
    """PATH: the inclusion proof of a leaf, nearest sibling first."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if index < k:
        return [*path_of(index, leaves[:k]), root_of(leaves[k:])]
    return [*path_of(index - k, leaves[k:]), root_of(leaves[:k])]


def proof_of(old: int, leaves: list[bytes]) -> list[bytes]:
    """PROOF: the consistency proof from the first `old` leaves; empty for none."""
    return subproof_of(old, leaves, True) if old else []


def subproof_of(old: int, leaves: list[bytes], whole: bool) -> list[bytes]:
    if old == len(leaves):
        return [] if whole else [root_of(leaves)]
    k = split(len(leaves))
    if old <= k:
        return [*subproof_of(old, leaves[:k], whole), root_of(leaves[k:])]
    return [*subproof_of(old - k, leaves[k:], False), root_of(leaves[:k])]


class Refused(Exception):
    """A proof that has another length than its sizes ask for."""


def implied_root(index: int, size: int, leaf: bytes, proof: list[bytes]) -> bytes:
    """The root that an inclusion proof leads to."""
    if size == 1:
        if proof:
            raise Refused
        return leaf
    if not proof:
        raise Refused
    k, rest, sibling = split(size), proof[:-1], proof[-1]
    if index < k:
        return node_hash(implied_root(index, k, leaf, rest), sibling)
    return node_hash(sibling, implied_root(index - k, size - k, leaf, rest))


def is_included(index: int, size: int, leaf: bytes, proof: list[bytes], root: bytes) -> bool:
    if not 0 <= index < size:
        return False
    try:
        return implied_root(index, size, leaf, proof) == root
    except Refused:
        return False


def implied_roots(old: int, new: int, proof: list[bytes], whole: bytes | None) -> tuple[bytes, bytes]:
    """The roots that a consistency proof leads to. `whole` is the old root, if the subtree begins with the old log."""
    if old == new:
        if whole is not None:
            if proof:
                raise Refused
            return whole, whole
        if len(proof) != 1:
            raise Refused
        return proof[0], proof[0]
    if not proof:
        raise Refused
    k, rest, sibling = split(new), proof[:-1], proof[-1]
    if old <= k:
        old_root, new_root = implied_roots(old, k, rest, whole)
        return old_root, node_hash(new_root, sibling)
    old_root, new_root = implied_roots(old - k, new - k, rest, None)
    return node_hash(sibling, old_root), node_hash(sibling, new_root)


def is_consistent(old: int, old_root: bytes, new: int, new_root: bytes, proof: list[bytes]) -> bool:
    if old == 0:
        return not proof and old_root == EMPTY
    if old >= new:
        return not proof and old == new and old_root == new_root
    try:
        return implied_roots(old, new, proof, old_root) == (old_root, new_root)
    except Refused:
        return False
