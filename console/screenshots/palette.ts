/** Reduces a PNG to a palette, which makes screenshots several times smaller. */

import { crc32, deflateSync, inflateSync } from "node:zlib";

/** Colours of a palette. */
const COLOURS = 64;

/** The least distance of two colours of the palette, squared. */
const APART = 3 * 6 ** 2;

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

/** Bytes of a pixel by the kind of a PNG: with and without transparency. */
const CHANNELS: ReadonlyMap<number, number> = new Map([
  [2, 3],
  [6, 4],
]);

/** A picture with 8 bits for each of red, green and blue. */
interface Picture {
  width: number;
  height: number;
  /** Three bytes for each pixel. */
  pixels: Buffer;
}

/** The picture with at most 64 colours: the most frequent ones that differ enough. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels } = decoded(png);
  const counts = new Map<number, number>();
  for (let at = 0; at < pixels.length; at += 3) {
    const colour = pixels.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = paletteOf(counts);
  const nearest = new Map([...counts.keys()].map((colour) => [colour, nearestTo(colour, palette)]));
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      rows[y * (width + 1) + 1 + x] = nearest.get(pixels.readUIntBE(3 * (y * width + x), 3)) ?? 0;
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // 8 bits for each pixel, by palette.
  head.set([8, 3, 0, 0, 0], 8);
  const table = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  const parts = [chunk("IHDR", head), chunk("PLTE", table), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([SIGNATURE, ...parts]);
}

function paletteOf(counts: ReadonlyMap<number, number>): number[] {
  const palette: number[] = [];
  for (const [colour] of [...counts].sort(([, one], [, other]) => other - one)) {
    if (palette.length === COLOURS) break;
    if (palette.every((chosen) => distance(chosen, colour) >= APART)) palette.push(colour);
  }
  return palette;
}

function nearestTo(colour: number, palette: readonly number[]): number {
  const distances = palette.map((chosen) => distance(chosen, colour));
  return distances.indexOf(Math.min(...distances));
}

function distance(one: number, other: number): number {
  return [16, 8, 0].reduce((sum, shift) => sum + (((one >> shift) & 255) - ((other >> shift) & 255)) ** 2, 0);
}

/** Decodes a PNG of 8 bits without interlacing, as browsers write them. */
function decoded(png: Buffer): Picture {
  if (!png.subarray(0, 8).equals(SIGNATURE)) throw new Error("this is no PNG");
  let head = Buffer.alloc(13);
  const packed: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const data = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
    const type = png.toString("latin1", at + 4, at + 8);
    if (type === "IHDR") head = Buffer.from(data);
    if (type === "IDAT") packed.push(data);
  }
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const channels = CHANNELS.get(head[9] ?? 0);
  if (head[8] !== 8 || channels === undefined || head[12] !== 0) throw new Error("the PNG has not 8 bits for each colour");
  const bytes = unfiltered(inflateSync(Buffer.concat(packed)), width * channels, height, channels);
  if (channels === 3) return { width, height, pixels: bytes };
  const pixels = Buffer.alloc(width * height * 3);
  for (let at = 0; at < width * height; at++) bytes.copy(pixels, 3 * at, 4 * at, 4 * at + 3);
  return { width, height, pixels };
}

/** Takes the filters of the rows back (PNG specification, section 9). */
function unfiltered(raw: Buffer, rowBytes: number, height: number, step: number): Buffer {
  const out = Buffer.alloc(rowBytes * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (rowBytes + 1)] ?? 0;
    for (let x = 0; x < rowBytes; x++) {
      const at = y * rowBytes + x;
      const left = x < step ? 0 : (out[at - step] ?? 0);
      const up = y === 0 ? 0 : (out[at - rowBytes] ?? 0);
      const corner = x < step || y === 0 ? 0 : (out[at - rowBytes - step] ?? 0);
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
      out[at] = ((raw[y * (rowBytes + 1) + 1 + x] ?? 0) + predicted) & 255;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const [byLeft, byUp, byCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([frame.subarray(0, 4), named, frame.subarray(4)]);
}
