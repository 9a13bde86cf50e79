/** Statuses of runs and steps, and their tones. */

import type { RunStatus, StepStanding } from "@charter/client";

import type { Tone } from "~/parts/mark";

const RUNS: Record<RunStatus, Tone> = {
  awaiting_parameters: "warn",
  awaiting_confirmation: "warn",
  working: "info",
  awaiting_approval: "warn",
  paused: "calm",
  stopping: "warn",
  rolling_back: "warn",
  completed: "good",
  incomplete: "warn",
  failed: "bad",
  aborted: "bad",
  rejected: "bad",
  denied: "bad",
  budget_exceeded: "bad",
  rolled_back: "calm",
  rollback_failed: "bad",
};

const STEPS: Record<StepStanding["state"], Tone> = {
  pending: "calm",
  awaiting_approval: "warn",
  running: "info",
  retrying: "warn",
  succeeded: "good",
  failed: "bad",
  skipped: "calm",
  cancelled: "calm",
};

/** Status filters of a list of runs: all that have not ended, all that have, or one status. */
export const STATUS_FILTERS = ["open", "ended", ...(Object.keys(RUNS) as RunStatus[])] as const;

/** Origins of runs. */
export const ORIGINS = ["skill", "playbook", "plan", "mission", "rollback", "analysis"] as const;

const ENDED = new Set<string>(["completed", "incomplete", "failed", "rejected", "denied", "aborted", "budget_exceeded", "rolled_back", "rollback_failed"]);

export const runTone = (status: RunStatus): Tone => RUNS[status] ?? "calm";
export const stepTone = (state: StepStanding["state"]): Tone => STEPS[state] ?? "calm";

/** Whether a run has ended. */
export const isOver = (status: RunStatus): boolean => ENDED.has(status);

/** Statuses of a run that has ended without success. */
const WRONG = new Set<string>(["incomplete", "failed", "aborted", "budget_exceeded", "rolled_back", "rollback_failed", "rejected", "denied"]);

/** Whether a run has ended without success. */
export const isWrong = (status: RunStatus): boolean => WRONG.has(status);

/** An identifier as words: `awaiting approval`. */
export const inWords = (word: string): string => word.replaceAll("_", " ");
