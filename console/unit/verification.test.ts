/** The verification of evidence: bytes, inclusion in trees of every small size, and signed notes. */

import { generateKeyPairSync, sign } from "node:crypto";

import { describe, expect, it } from "vitest";

import { type Bytes, bytesOf, fromBase64, fromHex, isSame, sha256, toHex } from "~/evidence/verify/bytes";
import { NoteError, openCheckpoint, readKey } from "~/evidence/verify/note";
import { isIncluded, leafHash } from "~/evidence/verify/tree";

describe("bytes", () => {
  it("are read from hexadecimal digits in lower case alone", () => {
    expect(fromHex("00ff")).toEqual(Uint8Array.of(0, 255));
    expect(fromHex("")).toEqual(Uint8Array.of());
    for (const wrong of ["0", "0F", "0g", " 00"]) expect(fromHex(wrong), wrong).toBeUndefined();
  });

  it("are read from base64 of which there is one text for each value", () => {
    expect(fromBase64("AAE=")).toEqual(Uint8Array.of(0, 1));
    for (const wrong of ["AAE", "AAF=", "A===", "AA-_", "AAE=\n"]) expect(fromBase64(wrong), wrong).toBeUndefined();
  });

  it("are written as they are read, and compared whole", async () => {
    const digest = await sha256(bytesOf("a"), bytesOf("bc"));
    expect(toHex(digest)).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(isSame(digest, digest.slice())).toBe(true);
    expect(isSame(digest, digest.slice(1))).toBe(false);
  });
});

/** The hash over leaves from `from` until `until`, as RFC 9162 §2.1.1 defines it. */
async function rootOf(hashes: Bytes[]): Promise<Bytes> {
  const [only] = hashes;
  if (hashes.length === 1 && only !== undefined) return only;
  const half = halfOf(hashes.length);
  return sha256(Uint8Array.of(1), await rootOf(hashes.slice(0, half)), await rootOf(hashes.slice(half)));
}

/** The inclusion proof of a leaf, as RFC 9162 §2.1.3.1 defines it. */
async function proofOf(index: number, hashes: Bytes[]): Promise<Bytes[]> {
  if (hashes.length <= 1) return [];
  const half = halfOf(hashes.length);
  if (index < half) return [...(await proofOf(index, hashes.slice(0, half))), await rootOf(hashes.slice(half))];
  return [...(await proofOf(index - half, hashes.slice(half))), await rootOf(hashes.slice(0, half))];
}

/** The largest power of two below a number. */
function halfOf(size: number): number {
  let half = 1;
  while (half * 2 < size) half *= 2;
  return half;
}

describe("inclusion", () => {
  it("holds for each leaf of each tree at its own place alone", async () => {
    const all = await Promise.all(Array.from({ length: 17 }, (_, at) => leafHash(`leaf ${at}`)));
    for (let size = 1; size <= all.length; size++) {
      const hashes = all.slice(0, size);
      const root = await rootOf(hashes);
      for (const [index, leaf] of hashes.entries()) {
        const proof = await proofOf(index, hashes);
        for (let place = -1; place <= size; place++) {
          expect(await isIncluded(place, size, leaf, proof, root), `leaf ${index} of ${size} at ${place}`).toBe(place === index);
        }
      }
    }
  });

  it("does not hold with a proof that is shorter, longer or changed", async () => {
    const hashes = await Promise.all(["a", "b", "c", "d", "e"].map(leafHash));
    const [leaf] = hashes as [Bytes, ...Bytes[]];
    const root = await rootOf(hashes);
    const proof = await proofOf(0, hashes);
    expect(await isIncluded(0, 5, leaf, proof, root)).toBe(true);
    expect(await isIncluded(0, 5, leaf, proof.slice(1), root)).toBe(false);
    expect(await isIncluded(0, 5, leaf, [...proof, leaf], root)).toBe(false);
    expect(await isIncluded(0, 5, leaf, proof.toReversed(), root)).toBe(false);
    expect(await isIncluded(0, Number.NaN, leaf, proof, root)).toBe(false);
  });
});

/** A key of a log, and what it signs. */
async function signer(name: string) {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const blob = Uint8Array.of(1, ...raw);
  const id = (await sha256(bytesOf(`${name}\n`), blob)).slice(0, 4);
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
  return {
    key: `${name}+${toHex(id)}+${base64(blob)}`,
    note: (text: string) => `${text}\n\u2014 ${name} ${base64(Uint8Array.of(...id, ...sign(null, Buffer.from(text), privateKey)))}\n`,
  };
}

describe("a checkpoint", () => {
  const root = Buffer.alloc(32, 7).toString("base64");

  it("is read where its key has signed it", async () => {
    const { key, note } = await signer("log/acme");
    const head = await openCheckpoint(note(`log/acme\n12\n${root}\n`), await readKey(key));
    expect(head).toEqual({ origin: "log/acme", size: 12, root: new Uint8Array(32).fill(7) });
  });

  it("is refused where the text, the key, the origin or its form is another", async () => {
    const { key, note } = await signer("log/acme");
    const other = await signer("log/acme");
    const known = await readKey(key);
    const good = note(`log/acme\n12\n${root}\n`);
    const refused = [
      good.replace("\n12\n", "\n13\n"),
      other.note(`log/acme\n12\n${root}\n`),
      note(`log/other\n12\n${root}\n`),
      note(`log/acme\n012\n${root}\n`),
      note(`log/acme\n12\n${root}\nmore\n`),
      good.trimEnd(),
      good.split("\n\n")[0] ?? "",
    ];
    for (const text of refused) await expect(openCheckpoint(text, known), text).rejects.toThrow(NoteError);
  });

  it("has a key whose id is that of its name", async () => {
    const { key } = await signer("log/acme");
    await expect(readKey(key.replace("log/acme", "log/other"))).rejects.toThrow("the key's id");
    await expect(readKey("no key")).rejects.toThrow("not a verifier key");
  });
});
