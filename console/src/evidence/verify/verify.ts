/**
 * Checks one record of evidence with its proof, in this page: nothing is asked of a server and nothing is
 * believed but the hashes, the signature and, if one is given, a key that came another way.
 *
 * `docs/reference/evidence.md` says what is checked; `crates/domain/src/evidence_log/verify.rs` does the same.
 */

import type { EvidenceLeaf, EvidenceProof } from "@charter/client";

import { bytesOf, fromHex, sha256, toHex } from "./bytes";
import { type Checkpoint, openCheckpoint, readKey, type VerifierKey } from "./note";
import { isIncluded, leafHash } from "./tree";

const FORMAT = "charter-evidence/1";

const HASH_BYTES = 32;

/** What came of one check. `open` means that it could not be made, which is no fault. */
export interface Check {
  name: string;
  result: "good" | "bad" | "open";
  /** What was compared, or what is wrong, in a sentence. */
  detail: string;
}

/** What is known after all checks. */
export interface Verdict {
  /** Whether no check is bad. */
  isGood: boolean;
  checks: Check[];
  checkpoint: Checkpoint | undefined;
}

/** What a leaf says. */
interface Entry {
  kind?: string;
  evidence_id?: string;
  record_sha256?: string;
  payload_sha256?: string;
  receipt?: unknown;
}

/** Verifies the proof of the record `id`. `pinned` is a key that came another way: only it is believed then. */
export async function verifyRecord(proof: EvidenceProof, id: string, pinned?: string): Promise<Verdict> {
  const checks: Check[] = [];
  const checkpoint = await checkHeader(proof, pinned, checks);
  if (checkpoint === undefined) return { isGood: false, checks, checkpoint };
  const own = proof.leaves.find(({ leaf }) => entryOf(leaf).kind === "record");
  if (own === undefined) checks.push({ name: "Leaf", result: "bad", detail: "No leaf of this proof is a record's." });
  else await checkRecord(own, id, proof, checks);
  await checkInclusion(proof.leaves, id, checkpoint, checks);
  return { isGood: checks.every(({ result }) => result !== "bad"), checks, checkpoint };
}

async function checkHeader(
  { header }: EvidenceProof,
  pinned: string | undefined,
  checks: Check[],
): Promise<Checkpoint | undefined> {
  const bad = (name: string, detail: string) => void checks.push({ name, result: "bad", detail });
  if (header.format !== FORMAT) {
    return bad("Form", `The form is ${header.format}; this page reads ${FORMAT}.`) as undefined;
  }
  const text = pinned?.trim() || undefined;
  let key: VerifierKey;
  try {
    key = await readKey(header.key);
    if (text !== undefined && text !== header.key) {
      return bad("Key", `It is signed by ${header.key}, not by the key that you trust.`) as undefined;
    }
  } catch (error) {
    return bad("Key", sentence(error)) as undefined;
  }
  checks.push(
    text === undefined
      ? { name: "Key", result: "open", detail: "The server's own key is believed. Paste a key that came another way to know by whom it was signed." }
      : { name: "Key", result: "good", detail: `It is the key that you trust: ${key.name}.` },
  );
  try {
    const checkpoint = await openCheckpoint(header.checkpoint, key);
    if (!checkpoint.origin.endsWith(`/evidence/${header.tenant_id}`)) {
      return bad("Signature", `The log ${checkpoint.origin} is not that of the tenant ${header.tenant_id}.`) as undefined;
    }
    const detail = `Ed25519, over ${checkpoint.size} ${checkpoint.size === 1 ? "leaf" : "leaves"} of ${checkpoint.origin}.`;
    checks.push({ name: "Signature of the checkpoint", result: "good", detail });
    return checkpoint;
  } catch (error) {
    return bad("Signature of the checkpoint", sentence(error)) as undefined;
  }
}

async function checkRecord(line: EvidenceLeaf, id: string, { header }: EvidenceProof, checks: Check[]): Promise<void> {
  const entry = entryOf(line.leaf);
  const add = (name: string, isGood: boolean, good: string, bad: string) =>
    void checks.push({ name, result: isGood ? "good" : "bad", detail: isGood ? good : bad });
  add("Leaf", entry.evidence_id === id, `Leaf ${line.index} is that of ${id}.`, `Leaf ${line.index} is that of ${entry.evidence_id}.`);
  const record = line.record;
  if (record === undefined) {
    checks.push({ name: "Record", result: "bad", detail: "The record was removed; its leaf is still there." });
    return;
  }
  const digest = toHex(await sha256(bytesOf(record)));
  add(
    "Record",
    digest === entry.record_sha256,
    `SHA-256 of the record is the one in its leaf: ${digest}.`,
    `The record was changed: its SHA-256 is ${digest}, its leaf says ${entry.record_sha256}.`,
  );
  const said = objectOf(record);
  if (said?.["id"] !== id || said["tenant_id"] !== header.tenant_id) {
    checks.push({ name: "Record", result: "bad", detail: "The record is another's." });
  }
  if (canonical(said?.["receipt"] ?? null) !== canonical(entry.receipt ?? null)) {
    checks.push({ name: "Record", result: "bad", detail: "The record has another receipt than its leaf." });
  }
  await checkPayload(line, entry, said?.["redaction_class"], checks);
}

async function checkPayload(line: EvidenceLeaf, entry: Entry, ownClass: unknown, checks: Check[]): Promise<void> {
  const name = "Payload";
  if (line.payload === undefined) {
    const isOwn = line.withheld === undefined || line.withheld === ownClass;
    const why = line.withheld === undefined ? "It was removed at the end of its retention" : `It is withheld from you as ${line.withheld}`;
    checks.push(
      isOwn
        ? { name, result: "open", detail: `${why}. Its digest stays in the leaf, so that the record is proved all the same.` }
        : { name, result: "bad", detail: `It is withheld as ${line.withheld}, which the record is not.` },
    );
    return;
  }
  const salt = fromHex(line.payload.salt);
  const digest = salt?.length === HASH_BYTES ? toHex(await sha256(salt, bytesOf(line.payload.text))) : undefined;
  const isGood = digest !== undefined && digest === entry.payload_sha256 && objectOf(line.payload.text) !== undefined;
  const detail = isGood
    ? `SHA-256 of salt and payload is the one in its leaf: ${digest}.`
    : `The payload was changed: its SHA-256 is ${digest ?? "not to be had"}, its leaf says ${entry.payload_sha256}.`;
  checks.push({ name, result: isGood ? "good" : "bad", detail });
}

async function checkInclusion(leaves: EvidenceLeaf[], id: string, checkpoint: Checkpoint, checks: Check[]): Promise<void> {
  for (const { index, leaf, proof } of leaves) {
    const entry = entryOf(leaf);
    const hashes = proof.map(fromHex);
    const path = hashes.flatMap((hash) => (hash?.length === HASH_BYTES ? [hash] : []));
    const isWhole = path.length === hashes.length && entry.evidence_id === id;
    const isGood = isWhole && (await isIncluded(index, checkpoint.size, await leafHash(leaf), path, checkpoint.root));
    const what = entry.kind === "record" ? "" : ` (${(entry.kind ?? "unknown").replaceAll("_", " ")})`;
    checks.push({
      name: `Inclusion of leaf ${index}${what}`,
      result: isGood ? "good" : "bad",
      detail: isGood
        ? `${path.length} ${path.length === 1 ? "hash leads" : "hashes lead"} from the leaf to the signed head.`
        : "The leaf is not in the log: its proof does not lead to the signed head.",
    });
  }
}

/**
 * Whether what a screen shows of a record is what the proof is about. Attachments may have been added
 * since, and who may not see the payload is shown none: both are left out.
 */
export function isShown(proof: EvidenceProof, shown: Record<string, unknown>): boolean {
  const line = proof.leaves.find(({ leaf }) => entryOf(leaf).kind === "record");
  const record = objectOf(line?.record ?? "");
  if (record === undefined) return false;
  const later = new Set(["attached_to", "payload", "payload_absent"]);
  const names = Object.keys({ ...record, ...shown }).filter((name) => !later.has(name));
  const isSameRecord = names.every((name) => canonical(record[name] ?? null) === canonical(shown[name] ?? null));
  const payload = line?.payload === undefined ? undefined : objectOf(line.payload.text);
  return isSameRecord && (payload === undefined || canonical(payload) === canonical(shown["payload"]));
}

/** JSON with names in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}

function entryOf(leaf: string): Entry {
  return (objectOf(leaf) ?? {}) as Entry;
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function sentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === "NotSupportedError" ? "This browser cannot check Ed25519 signatures." : error.message;
}
