/**
 * The history of a run's steps in its journal, up to an event: the call, the decision of the gate, the result. The server
 * computes the states of the steps at that event (`run-at.ts`).
 */

import type { GateDecision, PlannedStep, ResultSource, RunEventShown } from "@charter/client";

/** The history of one step. */
export interface StepHistory {
  /** The step as it was planned; absent for a step that is not in the journal. */
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

/** The history of a step in the events up to the one numbered `until`. */
export function historyOf(events: RunEventShown[], step: string, until: number): StepHistory {
  const history: StepHistory = { plan: plansOf(events, until).get(step), attempts: 0 };
  for (const event of sinceFallback(events, until)) {
    if (!("step" in event) || event.step !== step) continue;
    switch (event.event) {
      case "step_begun":
        Object.assign(history, { attempts: event.attempt, parameters: event.parameters, gate: event.policy_decision });
        break;
      case "step_refused":
        Object.assign(history, { parameters: event.parameters, gate: event.policy_decision });
        break;
      case "approval_requested":
        Object.assign(history, { approval: event.approval, parameters: event.call.parameters, gate: event.policy_decision });
        break;
      case "step_succeeded":
        Object.assign(history, { output: event.output, source: event.source, duration_ms: event.duration_ms });
        break;
    }
  }
  return history;
}

/** The outputs of steps, by step. */
export function outputsOf(events: RunEventShown[], until: number): Map<string, unknown> {
  const succeeded = sinceFallback(events, until).filter((event) => event.event === "step_succeeded");
  return new Map(succeeded.map(({ step, output }) => [step, output]));
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

/**
 * Events up to one. If a fallback started, or the plan started again after a wait for another run, the events since then:
 * its steps start anew, also under earlier names.
 */
function sinceFallback(events: RunEventShown[], until: number): RunEventShown[] {
  const end = events.findIndex(({ sequence }) => sequence > until);
  const past = end === -1 ? events : events.slice(0, end);
  const startsAnew = (event: RunEventShown) =>
    event.event === "fallback_started" || (event.event === "run_wait_ended" && event.restarts);
  return past.slice(past.findLastIndex(startsAnew) + 1);
}
