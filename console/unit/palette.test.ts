/** Reducing screenshots to a palette. */

import { deflateSync, inflateSync } from "node:zlib";

import { expect, it } from "vitest";

import { withPalette } from "../screenshots/palette";

const part = (type: string, data: Buffer) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)]);
};

/** A PNG of two by two pixels, with a filter in its second row. */
function small(): Buffer {
  const head = Buffer.from([0, 0, 0, 2, 0, 0, 0, 2, 8, 2, 0, 0, 0]);
  // The second row is that above, by the filter `up`.
  const rows = Buffer.from([0, 255, 0, 0, 0, 0, 255, 2, 0, 0, 0, 0, 0, 0]);
  const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  return Buffer.concat([signature, part("IHDR", head), part("IDAT", deflateSync(rows)), part("IEND", Buffer.alloc(0))]);
}

it("a picture keeps its colours, by palette", () => {
  const reduced = withPalette(small());
  const found = (type: string) => {
    const at = reduced.indexOf(type);
    return reduced.subarray(at + 4, at + 4 + reduced.readUInt32BE(at - 4));
  };
  expect([...found("IHDR")]).toEqual([0, 0, 0, 2, 0, 0, 0, 2, 8, 3, 0, 0, 0]);
  expect([...found("PLTE")]).toEqual([255, 0, 0, 0, 0, 255]);
  expect([...inflateSync(found("IDAT"))]).toEqual([0, 0, 1, 0, 0, 1]);
});

it("what is no PNG is refused", () => {
  expect(() => withPalette(Buffer.from("GIF89a  "))).toThrow("this is no PNG");
});
