/**
 * The page's own verification, against proofs of a real server, what its command line exports, and both
 * changed on purpose. No browser: the module is the same.
 */

import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { EvidenceHeader, EvidenceLeaf, EvidenceLogKey, EvidenceProof } from "@charter/client";

import { toHex } from "../src/evidence/verify/bytes";
import { isIncluded, leafHash } from "../src/evidence/verify/tree";
import { isShown, type Verdict, verifyRecord } from "../src/evidence/verify/verify";
import { test } from "./estate";
import { expect } from "./support";

test.describe.configure({ mode: "serial" });

let proof: EvidenceProof;
let id: string;
let key: string;
let shown: Record<string, unknown>;
let exported: { header: EvidenceHeader; leaves: EvidenceLeaf[] };

test("a proof of the server is verified, and says what is not known", async ({ estate }) => {
  test.setTimeout(240_000);
  const { api } = estate;
  for (const region of ["us-east-1", "eu-west-1", "us-west-2"]) {
    await estate.server.charter("ask", "Which of my security groups are open to the internet?", "-p", `region=${region}`);
  }
  const page = await api.get<{ entries: { id: string }[] }>("/v1/evidence?limit=1");
  id = page.entries[0]?.id ?? "";
  shown = await api.get(`/v1/evidence/${id}`);
  proof = await api.get<EvidenceProof>(`/v1/evidence/log/proof/${id}`);
  key = (await api.get<EvidenceLogKey>("/v1/evidence/log/key")).key;
  const out = join(tmpdir(), `charter-export-${process.pid}.jsonl`);
  await estate.server.charter("evidence", "export", out);
  const [header = "", ...lines] = (await readFile(out, "utf8")).trim().split("\n");
  exported = { header: JSON.parse(header), leaves: lines.map((line) => JSON.parse(line)) };

  const { isGood, checks, checkpoint } = await verifyRecord(proof, id);
  expect(checks.filter(({ result }) => result === "bad")).toEqual([]);
  expect(isGood).toBe(true);
  expect(checks.find(({ name }) => name === "Key")?.result).toBe("open");
  expect(checkpoint?.size).toBeGreaterThanOrEqual(6);
  expect(isShown(proof, shown)).toBe(true);
});

test("the key that came another way is believed, and another one is not", async () => {
  const known = await verifyRecord(proof, id, key);
  expect(known.checks.find(({ name }) => name === "Key")?.result).toBe("good");
  const another = `${key.slice(0, -4)}AAAA`;
  expect(faults(await verifyRecord(proof, id, another))).toEqual(["Key"]);
});

test("every leaf of an export is included under its signed head, and in no other place", async () => {
  const { checkpoint } = await verifyRecord(proof, id);
  const head = await verifyRecord({ header: exported.header, leaves: [exported.leaves[0] as EvidenceLeaf] }, idOf(exported.leaves[0]));
  const { size, root } = head.checkpoint ?? { size: 0, root: new Uint8Array() };
  expect(size).toBe(exported.leaves.length);
  expect(checkpoint?.size).toBe(size);
  for (const { index, leaf, proof: path } of exported.leaves) {
    const hashes = path.map((hash) => Uint8Array.from(Buffer.from(hash, "hex")));
    const hash = await leafHash(leaf);
    expect(await isIncluded(index, size, hash, hashes, root)).toBe(true);
    for (let place = -1; place <= size; place++) {
      if (place !== index) expect(await isIncluded(place, size, hash, hashes, root), `${index} at ${place}`).toBe(false);
    }
    expect(await isIncluded(index, size, hash, hashes.slice(1), root)).toBe(false);
    expect(await isIncluded(index, size, hash, [...hashes, hash], root)).toBe(false);
  }
  expect(toHex(root)).toMatch(/^[0-9a-f]{64}$/);
});

const CHANGES: [what: string, fault: string, change: (proof: EvidenceProof, own: EvidenceLeaf) => void][] = [
  ["a word of the record", "Record", (_, own) => void (own.record = own.record?.replace("config_snapshot", "iam_policy"))],
  ["the record taken away", "Record", (_, own) => void delete own.record],
  ["a digit of the payload", "Payload", (_, own) => own.payload && (own.payload.text = own.payload.text.replace(/\d/, "x"))],
  ["the payload's salt", "Payload", (_, own) => own.payload && (own.payload.salt = own.payload.salt.replace(/^../, "zz"))],
  ["the payload withheld for a class that it has not", "Payload", (_, own) => void ((own.withheld = "secret"), delete own.payload)],
  ["a hash of the path", "Inclusion", (_, own) => void (own.proof[0] = "0".repeat(64))],
  ["a hash of the path left out", "Inclusion", (_, own) => void own.proof.shift()],
  ["the place", "Inclusion", (_, own) => void (own.index += 1)],
  ["the leaf, with a record to fit", "Inclusion", (_, own) => void (own.leaf = own.leaf.replace(/(?<="payload_sha256":")../, (byte) => (byte === "ff" ? "00" : "ff")))],
  ["the number of leaves", "Signature", (all) => void (all.header.checkpoint = all.header.checkpoint.replace(/\n\d+\n/, "\n99\n"))],
  ["the head", "Signature", (all) => void (all.header.checkpoint = all.header.checkpoint.replace(/\n[^\n]{43}=\n/, `\n${"A".repeat(43)}=\n`))],
  ["the signature", "Signature", (all) => void (all.header.checkpoint = all.header.checkpoint.replace(/.{8}\n$/, "AAAAAAA=\n"))],
  ["no signature", "Signature", (all) => void (all.header.checkpoint = all.header.checkpoint.split("\n\n")[0] ?? "")],
  ["another tenant", "Signature", (all) => void (all.header.tenant_id = "another")],
  ["the key's id", "Key", (all) => void (all.header.key = all.header.key.replace(/\+[0-9a-f]{8}\+/, "+00000000+"))],
  ["the form", "Form", (all) => void (all.header.format = "charter-evidence/9")],
];

for (const [what, fault, change] of CHANGES) {
  test(`a proof in which somebody changed ${what} is not good`, async () => {
    const changed = structuredClone(proof);
    change(changed, changed.leaves[0] as EvidenceLeaf);
    const verdict = await verifyRecord(changed, id, what.includes("key") ? undefined : key);
    expect(verdict.isGood).toBe(false);
    expect(faults(verdict).some((name) => name.startsWith(fault)), faults(verdict).join(", ")).toBe(true);
  });
}

test("the proof of another record proves nothing about this one", async ({ estate }) => {
  const page = await estate.api.get<{ entries: { id: string }[] }>("/v1/evidence?limit=2");
  const other = await estate.api.get<EvidenceProof>(`/v1/evidence/log/proof/${page.entries[1]?.id}`);
  expect((await verifyRecord(other, id, key)).isGood).toBe(false);
  expect(isShown(other, shown)).toBe(false);
  expect(isShown(proof, { ...shown, summary: "Nothing is open." })).toBe(false);
  expect(isShown(proof, { ...shown, payload: { output: [] } })).toBe(false);
});

function faults({ checks }: Verdict): string[] {
  return checks.filter(({ result }) => result === "bad").map(({ name }) => name);
}

function idOf(leaf: EvidenceLeaf | undefined): string {
  return (JSON.parse(leaf?.leaf ?? "{}") as { evidence_id: string }).evidence_id;
}
