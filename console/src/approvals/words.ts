/** Status, risk and summary of approvals, in words and tones. */

import type { Approval, ApprovalEntry, ApprovalState, CallerShown, RuleResult } from "@charter/client";

import { callsOf } from "~/approvals/listed";
import type { Tone } from "~/parts/mark";

const STATES: Record<ApprovalState, { word: string; tone: Tone }> = {
  pending: { word: "pending", tone: "warn" },
  approved: { word: "approved", tone: "good" },
  rejected: { word: "rejected", tone: "bad" },
  consumed: { word: "approved and used", tone: "good" },
  lapsed: { word: "lapsed", tone: "calm" },
};

/** The decision's author, time and reason; absent without a decision. */
export function decisionOf(approval: Approval): { by: string; at: string; reason?: string } | undefined {
  return approval.state === "pending" || approval.state === "lapsed" ? undefined : approval;
}

/** The steps that the approver excluded from a list. */
export function excludedOf(approval: Approval): string[] {
  return approval.state === "approved" || approval.state === "consumed" ? (approval.remainder?.excluded ?? []) : [];
}

/** Whether an operator reported that an interrupted call happened. */
export function hasHappened(approval: Approval): boolean {
  return (approval.state === "approved" || approval.state === "consumed") && approval.reported_result !== undefined;
}

/** The status of an approval. */
export function statusOf(approval: Approval): { word: string; tone: Tone } {
  if (hasHappened(approval)) return { word: "reported as done", tone: "good" };
  if (approval.state === "pending" && isExpired(approval)) return { word: "expired", tone: "calm" };
  return STATES[approval.state];
}

/** Whether the approval has expired, also if the server has not recorded that yet. */
export function isExpired({ expires_at }: Pick<Approval, "expires_at">): boolean {
  return new Date(expires_at).getTime() <= Date.now();
}

/** Whether a decision is possible: the approval is pending and has not expired. */
export function isOpen(approval: Approval): boolean {
  return approval.state === "pending" && !isExpired(approval);
}

/** Whether the approval is about repeating an interrupted call that may have happened. */
export function isInDoubt({ rules }: Pick<Approval, "rules">): boolean {
  return rules.some(({ kind }) => kind === "interrupted");
}

/** The risk of the calls. A higher rank is a greater risk. */
export function riskOf(approval: Pick<Approval, "rules" | "destructive">): { word: string; tone: Tone; rank: number } {
  if (isInDoubt(approval)) return { word: "in doubt", tone: "bad", rank: 3 };
  if (approval.destructive === true) return { word: "destructive", tone: "bad", rank: 2 };
  if (approval.rules.some(({ kind }) => kind === "guardrail" || kind === "policy")) return { word: "restricted", tone: "warn", rank: 1 };
  return { word: "write", tone: "warn", rank: 0 };
}

/** Sorts approvals by risk, the highest first, then by age, the oldest first. */
export function byUrgency(one: Approval, other: Approval): number {
  return riskOf(other).rank - riskOf(one).rank || one.requested_at.localeCompare(other.requested_at);
}

/** Scopes that allow decisions. */
const DECIDING_SCOPES = ["*", "approvals:write"];

/** Whether the caller's level allows decisions on approvals. */
export const isOperator = ({ role }: Pick<CallerShown, "role">): boolean => role !== "user";

/** Whether the caller's credential has a scope for decisions on approvals. */
export const hasDecidingScope = ({ scopes }: Pick<CallerShown, "scopes">): boolean =>
  scopes.some((scope) => DECIDING_SCOPES.includes(scope));

/** Why the caller cannot approve: as a requester where four eyes are required, or because it is another group's turn. */
export function obstacleOf(approval: ApprovalEntry, user: string): "requester" | "turn" | undefined {
  if (approval.can_approve) return undefined;
  const { requesters = [], requested_by: by } = approval;
  if (by === user || requesters.includes(user)) return "requester";
  return isInTurn(approval, user) ? "requester" : "turn";
}

/** Whether the turn of a group with this user has begun. Without groups, it is every approver's turn. */
export function isInTurn({ escalation }: Pick<Approval, "escalation">, user: string): boolean {
  const steps = escalation?.steps ?? [];
  return steps.length === 0 || steps.some((step) => hasBegun(step) && step.users.includes(user));
}

/** The group whose turn comes next; absent without groups, and during the turn of the last one. */
export function nextGroupOf({ escalation }: Pick<Approval, "escalation">): string | undefined {
  return escalation?.steps.find((step) => !hasBegun(step))?.group;
}

const hasBegun = ({ from }: { from: string }): boolean => new Date(from).getTime() <= Date.now();

/** Kinds of rules that require an approval. */
export const RULES: Record<RuleResult["kind"], string> = {
  permission: "Permission",
  policy: "Policy",
  guardrail: "Guardrail",
  rate_limit: "Rate limit",
  tool: "Tool",
  safety: "Safety class",
  interrupted: "Interrupted call",
  same_call: "Earlier run",
  approval: "Approval",
};

/** The tool of an approval; for a list with the number of calls. */
export function titleOf(approval: Pick<Approval, "call" | "list">): string {
  const calls = callsOf(approval);
  if (calls.length === 1) return approval.call.tool;
  const others = new Set(calls.map(({ tool }) => tool)).size - 1;
  const tools = others === 0 ? approval.call.tool : `${approval.call.tool} and ${others} more ${others === 1 ? "tool" : "tools"}`;
  return `${tools} (${calls.length} calls)`;
}

/** The arguments of an approval on one line; for a list those of its first call. */
export function summaryOf(approval: Pick<Approval, "call" | "list">): string {
  const shown = inShort(approval.call.parameters) || "no arguments";
  return callsOf(approval).length === 1 ? shown : `first call: ${shown}`;
}

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
