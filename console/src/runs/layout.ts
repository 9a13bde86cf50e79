/**
 * Where the steps of a graph are drawn. Dagre draws small graphs well and takes seconds for a thousand
 * steps, so that larger ones are put in rows by their distance from the start.
 */

import dagre from "@dagrejs/dagre";

/** Size of a step, in pixels. */
export const WIDTH = 200;
export const HEIGHT = 52;

/** Up to so many steps Dagre lays out. */
const MOST_FOR_DAGRE = 120;

const BETWEEN = 16;
const BETWEEN_ROWS = 44;

/** Rows of a large graph are broken after so many steps. */
const BROAD = 24;

/** An arrow from one step to another. */
export interface Arrow {
  from: string;
  to: string;
}

/** The upper left corner of each step. */
export type Places = Map<string, { x: number; y: number }>;

/** How much room the steps take, in pixels; none where there are no steps. */
export function extentOf(places: Places): { width: number; height: number } {
  const corners = [...places.values()];
  if (corners.length === 0) return { width: 0, height: 0 };
  const xs = corners.map(({ x }) => x);
  const ys = corners.map(({ y }) => y);
  return {
    width: Math.max(...xs) - Math.min(...xs) + WIDTH,
    height: Math.max(...ys) - Math.min(...ys) + HEIGHT,
  };
}

/** Space around the steps of a small graph, and the bounds of its frame's height, in pixels. */
const AROUND = 56;
const LOWEST = 170;
const HIGHEST = 480;

/** The height of the frame around a graph: as much as its steps need, within bounds. */
export function frameHeight(places: Places): number {
  return Math.min(HIGHEST, Math.max(LOWEST, extentOf(places).height + AROUND));
}

/** Lays steps out from top to bottom. Arrows from or to unknown steps are left out. */
export function laidOut(ids: string[], arrows: Arrow[]): Places {
  const known = new Set(ids);
  const inside = arrows.filter(({ from, to }) => known.has(from) && known.has(to));
  return ids.length <= MOST_FOR_DAGRE ? byDagre(ids, inside) : inRows(ids, inside);
}

function byDagre(ids: string[], arrows: Arrow[]): Places {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: BETWEEN, ranksep: BETWEEN_ROWS, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of ids) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  for (const { from, to } of arrows) graph.setEdge(from, to);
  dagre.layout(graph);
  return new Map(
    ids.map((id) => {
      const { x, y } = graph.node(id);
      return [id, { x: x - WIDTH / 2, y: y - HEIGHT / 2 }];
    }),
  );
}

/** Each step is a row below the lowest step that it waits for, near the middle of those. */
function inRows(ids: string[], arrows: Arrow[]): Places {
  const before = new Map<string, string[]>();
  const after = new Map<string, string[]>();
  for (const { from, to } of arrows) {
    before.set(to, [...(before.get(to) ?? []), from]);
    after.set(from, [...(after.get(from) ?? []), to]);
  }
  const places: Places = new Map();
  let y = 0;
  for (const row of rowsOf(ids, before, after)) {
    const wanted = (id: string) => {
      const sources = before.get(id) ?? [];
      return sources.reduce((sum, from) => sum + (places.get(from)?.x ?? 0), 0) / Math.max(1, sources.length);
    };
    const ordered = row.map((id) => ({ id, at: wanted(id) })).sort((one, other) => one.at - other.at);
    for (let first = 0; first < ordered.length; first += BROAD) {
      const part = ordered.slice(first, first + BROAD);
      const left = (-part.length * (WIDTH + BETWEEN)) / 2;
      part.forEach(({ id }, at) => places.set(id, { x: left + at * (WIDTH + BETWEEN), y }));
      y += HEIGHT + (first + BROAD < ordered.length ? BETWEEN : BETWEEN_ROWS);
    }
  }
  return places;
}

/** Steps by the length of the longest way to them. */
function rowsOf(ids: string[], before: Map<string, string[]>, after: Map<string, string[]>): string[][] {
  const open = new Map(ids.map((id) => [id, new Set(before.get(id)).size]));
  const rows: string[][] = [];
  let row = ids.filter((id) => open.get(id) === 0);
  while (row.length > 0) {
    rows.push(row);
    const next: string[] = [];
    for (const id of row) {
      for (const to of new Set(after.get(id))) {
        const left = (open.get(to) ?? 0) - 1;
        open.set(to, left);
        if (left === 0) next.push(to);
      }
    }
    row = next;
  }
  return rows;
}
