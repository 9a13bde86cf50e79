/** The skill tree as rows: a folder's children are read when it is opened. */

import type { AgentSkillShown, Charter } from "@charter/client";
import { experimental_streamedQuery as streamedQuery, useQueries } from "@tanstack/react-query";
import { useMemo } from "react";

import { usePages } from "~/parts/pages";
import { useCharter } from "~/session/session";

/** Skills of one page. */
const PAGE = 1_000;

/** One row: a skill at one of the places where it hangs. */
export interface TreeRow {
  /** The path to it from its root. A skill with two parents has two. */
  path: string;
  skill: AgentSkillShown;
  level: number;
  isOpen: boolean;
}

/** Joins the ids of a way; no id holds it. */
const STEP = " › ";

/** The last skill of a way. */
function lastOf(path: string): string {
  return path.split(STEP).at(-1) ?? path;
}

/**
 * Reads what a folder points at, and hands on what came so far: the first rows of a large folder are there at
 * once.
 */
async function* growing(charter: Charter, id: string): AsyncGenerator<AgentSkillShown[]> {
  let found: AgentSkillShown[] = [];
  let after: string | undefined;
  do {
    const page = await charter.get("/v1/agent-skills/{id}/children", {
      params: { path: { id }, query: { limit: PAGE, ...(after === undefined ? {} : { after }) } },
    });
    found = [...found, ...page.entries];
    yield found;
    after = page.next ?? undefined;
  } while (after !== undefined);
}

/** The rows of the tree with these folders open. */
export function useTree(open: ReadonlySet<string>) {
  const charter = useCharter();
  const roots = usePages(["skills", "roots"], (after) =>
    charter.get("/v1/agent-skills", {
      params: { query: { limit: PAGE, ...(after === undefined ? {} : { after }) } },
    }),
  );
  const opened = useMemo(() => [...new Set([...open].map(lastOf))], [open]);
  const read = useQueries({
    queries: opened.map((id) => ({
      queryKey: ["skills", "children", id],
      queryFn: streamedQuery({
        streamFn: () => growing(charter, id),
        reducer: (_before: AgentSkillShown[], now: AgentSkillShown[]) => now,
        initialValue: [],
      }),
    })),
    combine: (results) => ({
      children: new Map(results.flatMap(({ data }, at) => (data ? [[opened[at], data] as const] : []))),
      isReading: results.some(({ isFetching }) => isFetching),
      error: results.find(({ error }) => error !== null)?.error ?? null,
    }),
  });
  const rows = useMemo(
    () => below(roots.entries, "", 1, open, read.children),
    [roots.entries, open, read.children],
  );
  return { roots, rows, isReading: read.isReading, error: read.error };
}

function below(
  skills: AgentSkillShown[],
  parent: string,
  level: number,
  open: ReadonlySet<string>,
  children: ReadonlyMap<string | undefined, AgentSkillShown[]>,
): TreeRow[] {
  return skills.flatMap((skill) => {
    const path = parent === "" ? skill.skill_id : `${parent}${STEP}${skill.skill_id}`;
    const isOpen = open.has(path);
    const row: TreeRow = { path, skill, level, isOpen };
    const inside = isOpen ? (children.get(skill.skill_id) ?? []) : [];
    return [row, ...below(inside, path, level + 1, open, children)];
  });
}
