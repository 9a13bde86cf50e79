/** Approved calls in the plan of their run: the planned arguments, the steps that values come from, and reversals. */

import type { PlannedStep, RunShown } from "@charter/client";

/** A reference to a step's output, a parameter of the run, or an item of a list. */
const REFERENCE = /(?<!\$)\$\{([A-Za-z0-9_-]+)[.}]/g;

/** First words of references that name no step: parameters of the run, and the item of a repeated step. */
const NO_STEPS: readonly string[] = ["user", "item"];

/** All steps of a run by id, with those that were added while it ran. */
export function stepsOf(run: Pick<RunShown, "events">): Map<string, PlannedStep> {
  const steps = run.events.flatMap((event): PlannedStep[] => {
    if (event.event === "started") return event.graph.steps;
    return event.event === "step_succeeded" || event.event === "step_expanded" ? (event.growth?.steps ?? []) : [];
  });
  return new Map(steps.map((step) => [step.id, step]));
}

/** The arguments of a step's call, with references; absent for a step that calls no tool. */
export function plannedArguments(step: PlannedStep | undefined): Record<string, unknown> | undefined {
  return step?.action.do === "call" ? step.action.parameters : undefined;
}

/** The steps whose outputs a call uses, directly or as the list whose item it is for. */
export function sourcesOf(step: PlannedStep | undefined, steps: ReadonlyMap<string, PlannedStep>): string[] {
  const repeated = steps.get(step?.item?.of ?? "")?.action;
  const list = repeated?.do === "for_each" ? repeated.items : undefined;
  const names = [...referencesIn(plannedArguments(step)), ...referencesIn(list)];
  return [...new Set(names)].filter((name) => !NO_STEPS.includes(name));
}

/** The steps that reverse a step. */
export function reversalsOf(step: string, steps: ReadonlyMap<string, PlannedStep>): PlannedStep[] {
  return [...steps.values()].filter(({ reverses }) => reverses === step);
}

function referencesIn(value: unknown): string[] {
  return [...JSON.stringify(value ?? null).matchAll(REFERENCE)].map(([, name = ""]) => name);
}
