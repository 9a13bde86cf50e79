/**
 * The vectors that the verifiers in Rust, TypeScript and Python share: testdata/evidence-log. No server and no browser is
 * needed: the module is the page's own.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { EvidenceHeader, EvidenceLeaf } from "@charter/client";
import { expect, test } from "@playwright/test";

import { bytesOf, fromHex, sha256, toHex } from "../src/evidence/verify/bytes";
import { openCheckpoint, readKey } from "../src/evidence/verify/note";
import { isIncluded, leafHash } from "../src/evidence/verify/tree";
import { verifyRecord } from "../src/evidence/verify/verify";

interface Tree {
  logs: { hundred: { leaves: { data: string; hash: string }[] } };
  inclusion: { name: string; index: number; size: number; leaf: string; proof: string[]; root: string; valid: boolean }[];
}

interface Notes {
  keys: { key: string; name: string; id: string }[];
  refused_keys: { key: string; name: string }[];
  checkpoints: { key: string; note: string; origin: string; size: number; root: string }[];
  refused_checkpoints: { key: string; note: string; name: string }[];
}

interface Leaf {
  leaf: string;
  leaf_hash: string;
}

interface Leaves {
  records: (Leaf & { salt: string; record: string; record_sha256: string; payload: string; payload_sha256: string })[];
  others: Leaf[];
}

interface Exports {
  bases: Record<string, string[]>;
  cases: { name: string; base: string; lines: (number | string)[]; faults: unknown[]; record?: string; pinned?: string }[];
}

const tree = vectors<Tree>("tree");
const notes = vectors<Notes>("notes");
const leaves = vectors<Leaves>("leaves");
const exports = vectors<Exports>("exports");

function vectors<Vectors>(name: string): Vectors {
  const file = join(import.meta.dirname, "../../testdata/evidence-log", `${name}.json`);
  return JSON.parse(readFileSync(file, "utf8")) as Vectors;
}

function bytes(hex: string): Uint8Array<ArrayBuffer> {
  return fromHex(hex) ?? new Uint8Array();
}

test("leaves, records and payloads have the hashes of the vectors", async () => {
  for (const { data, hash } of tree.logs.hundred.leaves) {
    expect(toHex(await leafHash(new TextDecoder().decode(bytes(data))))).toBe(hash);
  }
  for (const { leaf, leaf_hash } of [...leaves.records, ...leaves.others]) expect(toHex(await leafHash(leaf))).toBe(leaf_hash);
  for (const { salt, record, record_sha256, payload, payload_sha256 } of leaves.records) {
    expect(toHex(await sha256(bytesOf(record)))).toBe(record_sha256);
    expect(toHex(await sha256(bytes(salt), bytesOf(payload)))).toBe(payload_sha256);
  }
});

test("inclusion proofs of the vectors are accepted and refused", async () => {
  expect(tree.inclusion.length).toBeGreaterThan(80);
  for (const { name, index, size, leaf, proof, root, valid } of tree.inclusion) {
    expect(await isIncluded(index, size, bytes(leaf), proof.map(bytes), bytes(root)), name).toBe(valid);
  }
});

test("keys of the vectors are read and refused", async () => {
  for (const { key, name, id } of notes.keys) {
    const read = await readKey(key);
    expect([read.name, toHex(read.id)]).toEqual([name, id]);
  }
  for (const { key, name } of notes.refused_keys) await expect(readKey(key), name).rejects.toThrow();
});

test("checkpoints of the vectors are opened and refused", async () => {
  for (const { key, note, origin, size, root } of notes.checkpoints) {
    expect(await openCheckpoint(note, await readKey(key))).toEqual({ origin, size, root: bytes(root) });
  }
  for (const { key, note, name } of notes.refused_checkpoints) {
    await expect(openCheckpoint(note, await readKey(key)), name).rejects.toThrow();
  }
});

test("proofs of records in the vectors are good or not", async () => {
  const proofs = exports.cases.filter(({ record }) => record !== undefined);
  expect(proofs.length).toBeGreaterThan(20);
  for (const { name, base, lines, faults, record = "", pinned } of proofs) {
    const texts = lines.map((line) => (typeof line === "number" ? (exports.bases[base]?.[line - 1] ?? "") : line));
    const [header, ...rest] = texts.map((text) => JSON.parse(text) as unknown);
    const proof = { header: header as EvidenceHeader, leaves: rest as EvidenceLeaf[] };
    const { isGood } = await verifyRecord(proof, record, pinned);
    expect(isGood, name).toBe(faults.length === 0);
  }
});
