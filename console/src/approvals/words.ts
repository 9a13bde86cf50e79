/** How approvals stand, and what asks for them, in words. */

import type { Approval, ApprovalState, RuleResult } from "@charter/client";

import type { Tone } from "~/parts/mark";

const STATES: Record<ApprovalState, { word: string; tone: Tone }> = {
  pending: { word: "waits", tone: "warn" },
  approved: { word: "approved", tone: "good" },
  rejected: { word: "rejected", tone: "bad" },
  consumed: { word: "approved and used", tone: "good" },
  lapsed: { word: "lapsed", tone: "calm" },
};

/** Who decided, when and why; nothing where nobody has. */
export function decisionOf(approval: Approval): { by: string; at: string; reason?: string } | undefined {
  return approval.state === "pending" || approval.state === "lapsed" ? undefined : approval;
}

/** Whether somebody reported that the call, which was interrupted, did happen. */
export function hasHappened(approval: Approval): boolean {
  return (approval.state === "approved" || approval.state === "consumed") && approval.reported_result !== undefined;
}

/** Where an approval stands, as people read it. */
export function standingOf(approval: Approval): { word: string; tone: Tone } {
  if (hasHappened(approval)) return { word: "happened, as reported", tone: "good" };
  if (approval.state === "pending" && isLate(approval)) return { word: "lapses", tone: "calm" };
  return STATES[approval.state];
}

/** Whether its time is over, though nobody has noted that yet. */
export function isLate({ expires_at }: Approval): boolean {
  return new Date(expires_at).getTime() <= Date.now();
}

/** Whether the question is about a call that was begun and may have happened. */
export function isInDoubt({ rules }: Pick<Approval, "rules">): boolean {
  return rules.some(({ kind }) => kind === "interrupted");
}

/** The risk of a call, by the rules that ask for the approval. A higher rank is a greater risk. */
export function riskOf(approval: Pick<Approval, "rules">): { word: string; tone: Tone; rank: number } {
  if (approval.rules.some(({ kind }) => kind === "interrupted")) return { word: "in doubt", tone: "bad", rank: 3 };
  const isDestructive = approval.rules.some(({ kind, message }) => kind === "safety" && /\bdestructive\b/.test(message));
  if (isDestructive) return { word: "destructive", tone: "bad", rank: 2 };
  if (approval.rules.some(({ kind }) => kind === "guardrail" || kind === "policy")) return { word: "restricted", tone: "warn", rank: 1 };
  return { word: "write", tone: "warn", rank: 0 };
}

/** Approvals in the order in which they are looked at: the riskier first, and of equal ones the oldest. */
export function byUrgency(one: Approval, other: Approval): number {
  return riskOf(other).rank - riskOf(one).rank || one.requested_at.localeCompare(other.requested_at);
}

/** What kind of rule asks. */
export const RULES: Record<RuleResult["kind"], string> = {
  permission: "Permission",
  policy: "Policy",
  guardrail: "Guardrail",
  rate_limit: "Rate limit",
  tool: "Tool",
  safety: "Safety class",
  interrupted: "Interrupted before",
  approval: "Approval",
};

/** Arguments on one line. */
export function inShort(parameters: Record<string, unknown>): string {
  const parts = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null);
  return parts.map(([name, value]) => `${name}: ${short(value)}`).join(" · ");
}

function short(value: unknown): string {
  if (Array.isArray(value)) return value.length === 1 ? short(value[0]) : `${value.length} entries`;
  if (typeof value === "object" && value !== null) return `{${Object.keys(value).join(", ")}}`;
  return String(value);
}
