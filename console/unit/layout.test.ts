/** Where the steps of a graph are drawn, and how high its frame is. */

import { describe, expect, it } from "vitest";

import { type Arrow, extentOf, frameHeight, HEIGHT, laidOut, type Places, WIDTH } from "~/runs/layout";

const ids = (count: number) => Array.from({ length: count }, (_, at) => `step_${at}`);

/** Each step waits for the one before it. */
const chain = (names: string[]): Arrow[] => names.slice(1).map((to, at) => ({ from: names[at] ?? "", to }));

function overlaps(places: Places): string[] {
  const all = [...places];
  return all.flatMap(([one, a], at) =>
    all
      .slice(at + 1)
      .filter(([, b]) => Math.abs(a.x - b.x) < WIDTH && Math.abs(a.y - b.y) < HEIGHT)
      .map(([other]) => `${one} and ${other}`),
  );
}

describe.each([
  ["by Dagre", 30],
  ["in rows", 150],
])("steps that are laid out %s", (_, count) => {
  it("are drawn below those that they wait for", () => {
    const names = ids(count);
    const places = laidOut(names, chain(names));
    const heights = names.map((name) => places.get(name)?.y ?? Number.NaN);
    expect(heights).toEqual([...heights].sort((one, other) => one - other));
    expect(new Set(heights).size).toBe(count);
  });

  it("do not overlap", () => {
    const names = ids(count);
    const arrows = names.slice(1).map((to, at) => ({ from: names[Math.floor(at / 3)] ?? "", to }));
    expect(overlaps(laidOut(names, arrows))).toEqual([]);
  });

  it("leave out arrows of steps that are not there", () => {
    const names = ids(count);
    expect([...laidOut(names, [{ from: "absent", to: "step_1" }]).keys()]).toEqual(names);
  });
});

describe("the frame of a graph", () => {
  it("is as high as its steps need, within bounds", () => {
    const heightOf = (count: number) => frameHeight(laidOut(ids(count), chain(ids(count))));
    const heights = [1, 2, 3, 4, 50].map(heightOf);
    expect(heights).toEqual([...heights].sort((one, other) => one - other));
    expect(heights[0]).toBeLessThan(200);
    expect(heights.at(-1)).toBe(480);
    expect(frameHeight(new Map())).toBe(heights[0]);
  });

  it("is measured over the outermost steps", () => {
    const places: Places = new Map([
      ["a", { x: 10, y: 0 }],
      ["b", { x: 310, y: 100 }],
    ]);
    expect(extentOf(places)).toEqual({ width: 300 + WIDTH, height: 100 + HEIGHT });
    expect(extentOf(new Map())).toEqual({ width: 0, height: 0 });
  });
});
