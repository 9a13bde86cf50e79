/** Calls of an approval: groups by tool with the arguments that differ, and the choice that a decision on a list needs. */

import type { Approval, ExactCall } from "@charter/client";

/** Calls of one tool. */
export interface CallGroup {
  tool: string;
  /** In the order of the plan. */
  calls: ExactCall[];
  /** Arguments that are equal in all calls. Empty for a single call. */
  common: Record<string, unknown>;
  /** Names of all other arguments. */
  differing: string[];
}

/** All calls of an approval, in the order of the plan. */
export function callsOf({ call, list = [] }: Pick<Approval, "call" | "list">): ExactCall[] {
  return list.length === 0 ? [call] : list;
}

/** Calls by tool, in the order of each tool's first call. */
export function groupsOf(calls: readonly ExactCall[]): CallGroup[] {
  const byTool = new Map<string, ExactCall[]>();
  for (const call of calls) {
    const group = byTool.get(call.tool);
    if (group === undefined) byTool.set(call.tool, [call]);
    else group.push(call);
  }
  return [...byTool].map(([tool, group]) => {
    const names = [...new Set(group.flatMap(({ parameters }) => Object.keys(parameters)))];
    const isCommon = (name: string) => group.length > 1 && new Set(group.map((call) => textOf(call, name))).size === 1;
    return {
      tool,
      calls: group,
      common: argumentsOf(group[0], names.filter(isCommon)),
      differing: names.filter((name) => !isCommon(name)),
    };
  });
}

/** The arguments of a call with these names. */
export function argumentsOf(call: ExactCall | undefined, names: readonly string[]): Record<string, unknown> {
  const given = call?.parameters ?? {};
  return Object.fromEntries(names.filter((name) => name in given).map((name) => [name, given[name]]));
}

/** Calls in the order of an argument's values, with numbers by size; in the order of the plan without a name. */
export function sortedBy(calls: readonly ExactCall[], name: string): ExactCall[] {
  if (name === "") return [...calls];
  return [...calls].sort((one, other) => textOf(one, name).localeCompare(textOf(other, name), "en", { numeric: true }));
}

function textOf({ parameters }: ExactCall, name: string): string {
  return JSON.stringify(parameters[name]) ?? "";
}

/** Whether approving needs the number of calls: for a list of a destructive playbook, which cannot be undone. */
export function needsCount({ list = [], destructive }: Pick<Approval, "list" | "destructive">): boolean {
  return destructive === true && list.length > 1;
}

/** The number of calls that are not excluded. */
export function remainingOf(approval: Pick<Approval, "call" | "list">, excluded: ReadonlySet<string>): number {
  return callsOf(approval).filter(({ step }) => !excluded.has(step)).length;
}

/** Whether the typed text is the number of remaining calls. */
export function isCount(typed: string, remaining: number): boolean {
  return /^\d+$/.test(typed.trim()) && Number(typed) === remaining;
}

/** The part of a decision that only a list has: excluded steps and the typed number of calls. Empty for a single call. */
export function choiceOf(
  approval: Pick<Approval, "list" | "destructive">,
  excluded: ReadonlySet<string>,
  typed: string,
): { exclude?: string[]; count?: number } {
  const listed = (approval.list ?? []).map(({ step }) => step);
  const exclude = listed.filter((step) => excluded.has(step));
  return {
    ...(exclude.length === 0 ? {} : { exclude }),
    ...(needsCount(approval) ? { count: Number(typed) } : {}),
  };
}
