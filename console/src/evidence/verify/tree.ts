/** The Merkle tree of RFC 9162 §2.1 with SHA-256: the hash of a leaf, and inclusion under a head. */

import { type Bytes, bytesOf, isSame, sha256 } from "./bytes";

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

/** The hash of a leaf's data. */
export function leafHash(data: string): Promise<Bytes> {
  return sha256(LEAF, bytesOf(data));
}

function nodeHash(left: Bytes, right: Bytes): Promise<Bytes> {
  return sha256(NODE, left, right);
}

/**
 * Whether the leaf with this hash is the one numbered `index` of the `size` leaves under `root`
 * (RFC 9162 §2.1.3.2). `proof` has the nearest sibling first. Numbers are safe integers.
 */
export async function isIncluded(index: number, size: number, leaf: Bytes, proof: Bytes[], root: Bytes): Promise<boolean> {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return false;
  let at = index;
  let last = size - 1;
  let hash = leaf;
  for (const sibling of proof) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      hash = await nodeHash(sibling, hash);
      // An inner node without a right sibling is its own parent, at every level.
      while (at % 2 === 0 && at !== 0) {
        at /= 2;
        last = Math.floor(last / 2);
      }
    } else {
      hash = await nodeHash(hash, sibling);
    }
    at = Math.floor(at / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 && isSame(hash, root);
}
