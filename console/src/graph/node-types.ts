/** Colours of the types of nodes. */

import type { Tone } from "~/parts/mark";

const TONES: Record<string, Tone> = {
  Control: "info",
  Requirement: "calm",
  EvidenceType: "good",
  ResourceType: "calm",
  Risk: "bad",
  Remediation: "good",
};

export function toneOf(type: string): Tone {
  return TONES[type] ?? "calm";
}
