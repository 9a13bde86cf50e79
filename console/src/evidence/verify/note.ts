/**
 * Checkpoints (C2SP tlog-checkpoint): signed notes with Ed25519 that say how many leaves a log has and
 * what their head is. Parsing is strict: one malformed line spoils the note.
 */

import { type Bytes, bytesOf, fromBase64, fromHex, isSame, sha256 } from "./bytes";

/** Ed25519 among the signature types of C2SP. */
const ED25519 = 1;

const ID_BYTES = 4;
const KEY_BYTES = 32;
const HASH_BYTES = 32;

/** Signatures of a note that are looked at; a note with more is refused. */
const MOST_SIGNATURES = 16;

/** A public key with its name. */
export interface VerifierKey {
  name: string;
  id: Bytes;
  key: Bytes;
}

/** A signed head. */
export interface Checkpoint {
  origin: string;
  size: number;
  root: Bytes;
}

/** What is wrong, in a sentence. */
export class NoteError extends Error {
  override readonly name = "NoteError";
}

function isName(text: string): boolean {
  return text !== "" && !/[\s+\p{Cc}]/u.test(text);
}

/** Reads a key as C2SP writes it: `name+id+key`. */
export async function readKey(text: string): Promise<VerifierKey> {
  const [, name = "", hex = "", base64 = ""] = /^([^+]*)\+([0-9a-f]{8})\+(.*)$/.exec(text) ?? [];
  const id = fromHex(hex);
  const blob = fromBase64(base64);
  if (!isName(name) || id === undefined || blob === undefined) {
    throw new NoteError("not a verifier key: it is written name+id+key");
  }
  if (blob[0] !== ED25519 || blob.length !== 1 + KEY_BYTES) throw new NoteError("the key is not one of Ed25519");
  const digest = await sha256(bytesOf(`${name}\n`), blob);
  if (!isSame(digest.slice(0, ID_BYTES), id)) throw new NoteError("the key's id is not that of its name and key");
  return { name, id, key: blob.slice(1) };
}

/** Reads a checkpoint; fails unless the key has signed it. */
export async function openCheckpoint(note: string, key: VerifierKey): Promise<Checkpoint> {
  const { text, lines } = parts(note);
  const mine = lines.filter(({ name, id }) => name === key.name && isSame(id, key.id));
  if (mine.length === 0) throw new NoteError(`the checkpoint is not signed by the key ${key.name}`);
  const signer = await crypto.subtle.importKey("raw", key.key, "Ed25519", false, ["verify"]);
  for (const { signature } of mine) {
    if (!(await crypto.subtle.verify("Ed25519", signer, signature, bytesOf(text)))) {
      throw new NoteError(`the signature by the key ${key.name} is wrong`);
    }
  }
  return head(text, key);
}

interface SignatureLine {
  name: string;
  id: Bytes;
  signature: Bytes;
}

/** The signed text with its last line end, and the signatures. */
function parts(note: string): { text: string; lines: SignatureLine[] } {
  const at = note.lastIndexOf("\n\n");
  if (at < 0) throw new NoteError("not a signed note: there is no empty line before the signatures");
  if (!note.endsWith("\n")) throw new NoteError("not a signed note: the last line does not end");
  const lines = note.slice(at + 2, -1).split("\n");
  if (lines.length > MOST_SIGNATURES) throw new NoteError("not a signed note: it has too many signatures");
  return { text: note.slice(0, at + 1), lines: lines.map(signatureLine) };
}

function signatureLine(line: string): SignatureLine {
  const [, name = "", base64 = ""] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? [];
  const blob = fromBase64(base64);
  if (!isName(name) || blob === undefined || blob.length <= ID_BYTES) {
    throw new NoteError("not a signed note: a signature line is not `\u2014 name base64`");
  }
  return { name, id: blob.slice(0, ID_BYTES), signature: blob.slice(ID_BYTES) };
}

function head(text: string, key: VerifierKey): Checkpoint {
  // Three lines, and nothing after the last line feed: an extension line would be one more.
  const [origin = "", decimal = "", base64 = "", ...rest] = text.split("\n");
  if (rest.length !== 1) throw new NoteError("the checkpoint does not have exactly three lines");
  const size = Number(decimal);
  const root = fromBase64(base64);
  if (!/^(0|[1-9][0-9]*)$/.test(decimal) || !Number.isSafeInteger(size) || root?.length !== HASH_BYTES) {
    throw new NoteError("the checkpoint does not say a size and a head");
  }
  if (origin !== key.name) throw new NoteError(`the checkpoint is of the log ${origin}, its key is of ${key.name}`);
  return { origin, size, root };
}
