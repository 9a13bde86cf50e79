/** States of missions, tasks and proposals, and their tones. */

import type { MissionProposal, MissionState, MissionTask } from "@charter/client";

import type { Tone } from "~/parts/mark";

/** The states of a mission without failure, in order. */
export const PHASES = [
  "created",
  "planned",
  "prompted",
  "running",
  "aggregating",
  "reviewing",
  "awaiting_approval",
  "completed",
] as const satisfies MissionState[];

export const STATES = [...PHASES, "rejected", "failed", "cancelled", "budget_exceeded"] as const satisfies MissionState[];

export function missionTone(state: MissionState): Tone {
  if (state === "completed") return "good";
  if (state === "awaiting_approval") return "warn";
  if (state === "failed" || state === "rejected" || state === "budget_exceeded") return "bad";
  return state === "cancelled" ? "calm" : "info";
}

/** Whether a mission has ended. */
export function isOver(state: MissionState): boolean {
  return ["completed", "rejected", "failed", "cancelled", "budget_exceeded"].includes(state);
}

export const TASKS: Record<MissionTask["state"], Tone> = {
  pending: "calm",
  running: "info",
  succeeded: "good",
  failed: "bad",
  blocked: "warn",
  cancelled: "calm",
};

export const PROPOSALS: Record<MissionProposal["state"], Tone> = {
  proposed: "warn",
  approved: "info",
  executed: "good",
  execution_failed: "bad",
  rejected: "bad",
  expired: "calm",
  conflict: "bad",
};
