/**
 * What a run was after any event of its journal: the server's run machine in as far as people see it.
 * Pure; it knows nothing of the screen. `crates/domain/src/run/state.rs` is what it has to agree with.
 */

import type {
  GateSaid,
  PlannedStep,
  ResultSource,
  RunEventShown,
  RunStatus,
  StepFailure,
  StepGraph,
  StepStanding,
} from "@charter/client";

/** A step with everything that the journal says of it so far. */
export interface FoldedStep {
  plan: PlannedStep;
  standing: StepStanding;
  /** How often its call was begun. */
  attempts: number;
  /** The arguments of its last call. */
  parameters?: Record<string, unknown>;
  gate?: GateSaid;
  approval?: string;
  output?: unknown;
  source?: ResultSource;
  duration_ms?: number;
  /** Failures of attempts, the last one last. */
  failures: StepFailure[];
  /** The event that moved it last. */
  moved: number;
}

/** A run after an event. */
export interface FoldedRun {
  status: RunStatus;
  steps: Map<string, FoldedStep>;
  parameters: Record<string, unknown>;
  /** The event that it is folded up to, and when that was. */
  sequence: number;
  at: string;
}

const SETTLED = new Set(["succeeded", "failed", "skipped", "cancelled"]);

/** Whether nothing more happens to a step. */
export function isSettled({ state }: StepStanding): boolean {
  return SETTLED.has(state);
}

/** Folds the events up to the one numbered `until`; `undefined` for a journal without a beginning. */
export function folded(events: RunEventShown[], until = Number.POSITIVE_INFINITY): FoldedRun | undefined {
  const first = events[0];
  if (first?.event !== "started") return undefined;
  const folding = new Folding(first.graph, first.parameters);
  let last = first;
  for (const event of events) {
    if (event.sequence > until) break;
    folding.take(event);
    last = event as typeof first;
  }
  const { steps, parameters } = folding;
  return { status: last.status, steps, parameters, sequence: last.sequence, at: last.at };
}

class Folding {
  steps = new Map<string, FoldedStep>();
  #graph: StepGraph;
  #stoppedByFailure: boolean | undefined;

  constructor(
    graph: StepGraph,
    public parameters: Record<string, unknown>,
  ) {
    this.#graph = graph;
    this.#layOut(graph.steps);
  }

  take(event: RunEventShown): void {
    if (event.event === "parameters_given") this.parameters = event.parameters;
    else if (event.event === "stopping") this.#stop(event.cause.because === "failure", event.sequence);
    else if (event.event === "fell_back") this.#fallBack();
    else if ("step" in event) this.#move(event);
  }

  #move(event: Extract<RunEventShown, { step: string }>): void {
    const step = this.steps.get(event.step);
    if (step === undefined) return;
    step.moved = event.sequence;
    switch (event.event) {
      case "step_begun":
        step.standing = { state: "running", attempt: event.attempt };
        Object.assign(step, { attempts: event.attempt, parameters: event.parameters, gate: event.policy_decision });
        return;
      case "step_refused":
        Object.assign(step, { parameters: event.parameters, gate: event.policy_decision });
        return this.#fail(step, event.failure, event.sequence);
      case "approval_requested": {
        const { approval, digest, expires_at } = event;
        step.standing = { state: "awaiting_approval", approval, digest, expires_at };
        Object.assign(step, { approval, parameters: event.call.parameters, gate: event.policy_decision });
        return;
      }
      case "approval_granted":
        step.standing = { state: "pending" };
        return;
      case "approval_denied":
      case "step_failed":
        return this.#fail(step, event.failure, event.sequence);
      case "step_succeeded":
        this.#layOut(event.growth?.steps ?? [], event.sequence);
        for (const { step: id, edge } of event.growth?.claims ?? []) this.#claim(id, edge);
        step.standing = { state: "succeeded" };
        Object.assign(step, { output: event.output, source: event.source, duration_ms: event.duration_ms });
        return;
      case "retry_scheduled":
        step.failures.push(event.failure);
        step.standing = { state: "retrying", due: event.due };
        return;
      case "step_skipped":
        step.standing = { state: "skipped", reason: event.reason };
        return;
    }
  }

  #layOut(steps: PlannedStep[], moved = 1): void {
    for (const plan of steps) {
      this.steps.set(plan.id, { plan, standing: { state: "pending" }, attempts: 0, failures: [], moved });
    }
  }

  #claim(id: string, edge: PlannedStep["entry"]["edges"][number]): void {
    const step = this.steps.get(id);
    if (step === undefined) return;
    const { plan } = step;
    step.plan = { ...plan, entry: { ...plan.entry, edges: [...plan.entry.edges, edge] } };
  }

  #fail(step: FoldedStep, failure: StepFailure, sequence: number): void {
    step.failures.push(failure);
    if (!isSettled(step.standing)) step.standing = { state: "failed", failure };
    if (step.plan.reverses === undefined && step.plan.after_failure !== "go_on") this.#stop(true, sequence);
  }

  /** Cancels what has not started, but for steps that a failure calls for. The first cause stays. */
  #stop(byFailure: boolean, sequence: number): void {
    this.#stoppedByFailure ??= byFailure;
    const failureOnly = this.#stoppedByFailure;
    for (const step of this.steps.values()) {
      const { state } = step.standing;
      const waits = state === "pending" || state === "awaiting_approval" || (state === "retrying" && !failureOnly);
      const handles = failureOnly && step.plan.entry.edges.some(({ on }) => on === "failure");
      if (!waits || handles || step.plan.reverses !== undefined) continue;
      step.standing = { state: "cancelled" };
      step.moved = sequence;
    }
  }

  #fallBack(): void {
    this.#graph = this.#graph.fallback ?? this.#graph;
    this.#stoppedByFailure = undefined;
    this.steps = new Map();
    this.#layOut(this.#graph.steps);
  }
}
