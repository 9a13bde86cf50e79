/**
 * What a run's journal tells of its steps up to an event: the call, what the gate said, what came of it. Where the
 * steps stood then is the server's to say (`run-at.ts`); nothing here works that out.
 */

import type { GateDecision, PlannedStep, ResultSource, RunEventShown } from "@charter/client";

/** What is told of one step. */
export interface Told {
  /** The step as it was planned; absent for one that the journal knows nothing of. */
  plan: PlannedStep | undefined;
  /** The number of its last attempt; 0 before the first. */
  attempts: number;
  /** The arguments of its last call. */
  parameters?: Record<string, unknown>;
  gate?: GateDecision;
  approval?: string;
  output?: unknown;
  source?: ResultSource;
  duration_ms?: number;
}

/** What is told of a step by the events up to the one numbered `until`. */
export function toldOf(events: RunEventShown[], step: string, until: number): Told {
  const told: Told = { plan: plansOf(events, until).get(step), attempts: 0 };
  for (const event of sinceFallback(events, until)) {
    if (!("step" in event) || event.step !== step) continue;
    switch (event.event) {
      case "step_begun":
        Object.assign(told, { attempts: event.attempt, parameters: event.parameters, gate: event.policy_decision });
        break;
      case "step_refused":
        Object.assign(told, { parameters: event.parameters, gate: event.policy_decision });
        break;
      case "approval_requested":
        Object.assign(told, { approval: event.approval, parameters: event.call.parameters, gate: event.policy_decision });
        break;
      case "step_succeeded":
        Object.assign(told, { output: event.output, source: event.source, duration_ms: event.duration_ms });
        break;
    }
  }
  return told;
}

/** What steps have given, by step. */
export function outputsOf(events: RunEventShown[], until: number): Map<string, unknown> {
  const given = sinceFallback(events, until).filter((event) => event.event === "step_succeeded");
  return new Map(given.map(({ step, output }) => [step, output]));
}

/** The plans of all steps at that point: of the start or the fallback, of results that add steps, and of items of repeated steps. */
export function plansOf(events: RunEventShown[], until: number): Map<string, PlannedStep> {
  const first = events[0];
  if (first?.event !== "started") return new Map();
  let graph = first.graph;
  for (const event of events) {
    if (event.sequence > until) break;
    if (event.event === "fallback_started") graph = graph.fallback ?? graph;
  }
  const added = sinceFallback(events, until).flatMap((event) =>
    event.event === "step_succeeded" || event.event === "step_expanded" ? (event.growth?.steps ?? []) : [],
  );
  return new Map([...graph.steps, ...added].map((plan) => [plan.id, plan]));
}

/** Events up to one; where a fallback was taken up, those after that: its steps begin anew, also under earlier names. */
function sinceFallback(events: RunEventShown[], until: number): RunEventShown[] {
  const end = events.findIndex(({ sequence }) => sequence > until);
  const so = end === -1 ? events : events.slice(0, end);
  return so.slice(so.findLastIndex(({ event }) => event === "fallback_started") + 1);
}
