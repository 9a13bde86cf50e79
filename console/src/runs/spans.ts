/** When each step of a run was called, for how long, and how long it waited for a person. */

import type { RunEventShown } from "@charter/client";

/** A step in time, in milliseconds from the start of the run. */
export interface Span {
  step: string;
  from: number;
  /** Absent while the step goes on. */
  until: number | undefined;
  /** Of that, the time that it waited for a decision. */
  waited: number;
  attempts: number;
  end: "succeeded" | "failed" | "refused" | "open";
}

const ENDS: Partial<Record<RunEventShown["event"], Span["end"]>> = {
  step_succeeded: "succeeded",
  step_failed: "failed",
  step_refused: "refused",
  approval_denied: "failed",
};

/** The spans of all steps that were begun, in the order in which they were. */
export function spansOf(events: readonly RunEventShown[]): Span[] {
  const start = timeOf(events[0]);
  const spans = new Map<string, Span>();
  const asked = new Map<string, number>();
  for (const event of events) {
    if (!("step" in event)) continue;
    const at = timeOf(event) - start;
    const span = spans.get(event.step);
    if (event.event === "approval_requested" || event.event === "step_begun") {
      const begun: Span = span ?? { step: event.step, from: at, until: undefined, waited: 0, attempts: 0, end: "open" };
      if (event.event === "step_begun") begun.attempts = event.attempt;
      else asked.set(event.step, at);
      begun.until = undefined;
      begun.end = "open";
      spans.set(event.step, begun);
    }
    if (span === undefined) continue;
    const since = asked.get(event.step);
    if (since !== undefined && (event.event === "approval_granted" || event.event === "approval_denied")) {
      span.waited += at - since;
      asked.delete(event.step);
    }
    const end = ENDS[event.event];
    if (end !== undefined) Object.assign(span, { until: at, end });
  }
  return [...spans.values()];
}

function timeOf(event: RunEventShown | undefined): number {
  return event === undefined ? 0 : new Date(event.at).getTime();
}
