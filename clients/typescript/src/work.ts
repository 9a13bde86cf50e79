/**
 * What the server answers about what agents do: approvals, runs, evidence, missions. As in `answers.ts`,
 * written by hand after the types that the server serialises.
 */

import type { Page } from "./answers.js";
import type { components } from "./generated/openapi.js";

type Schemas = components["schemas"];

/** One rule's word on a call. */
export interface RuleSaid {
  kind: "permission" | "policy" | "guardrail" | "rate_limit" | "tool" | "safety" | "interrupted" | "approval";
  /** A guardrail's, policy's, tool's, playbook's, mission type's or approval's. */
  id: string;
  message: string;
  note?: string;
}

/** What the gate said to a call. */
export type GateSaid =
  | { verdict: "allow"; permitted_by: RuleSaid[]; warnings: RuleSaid[] }
  | { verdict: "needs_approval"; rules: RuleSaid[]; permitted_by?: RuleSaid[]; warnings?: RuleSaid[] }
  | { verdict: "deny"; rules: RuleSaid[] };

/** One exact call of a tool. */
export interface ExactCall {
  run_id: string;
  step: string;
  tool: string;
  tool_hash: string;
  parameters: Record<string, unknown>;
}

/** Where an approval stands. */
export type ApprovalState = "pending" | "approved" | "rejected" | "consumed" | "lapsed";

/** A person's decision on one exact call, or the question for it. */
export interface Approval {
  approval_id: string;
  tenant_id: string;
  call: ExactCall;
  digest: string;
  /** What asks for it. */
  rules: RuleSaid[];
  requested_by: string;
  requested_at: string;
  expires_at: string;
  /** Whether somebody else than the requester has to agree. */
  four_eyes: boolean;
  state: ApprovalState;
  /** Who decided, when and why; absent while nobody has. */
  by?: string;
  at?: string;
  reason?: string;
  /** That an interrupted call did happen, and what it gave. */
  happened?: { output: unknown };
}

/** Where a run stands. */
export type RunStatus =
  | "awaiting_parameters"
  | "awaiting_confirmation"
  | "working"
  | "awaiting_approval"
  | "paused"
  | "stopping"
  | "rolling_back"
  | "completed"
  | "incomplete"
  | "failed"
  | "aborted"
  | "rolled_back"
  | "rollback_failed";

/** A run in a listing. */
export interface RunSummary {
  run_id: string;
  title: string;
  status: RunStatus;
  /** Events of its journal. */
  version: number;
  created_at: string;
  updated_at: string;
}

/** Why a step failed. */
export interface StepFailure {
  kind: string;
  code: string;
  message: string;
  retryable: boolean;
}

/** Where a step stands. */
export type StepStanding =
  | { state: "pending" | "succeeded" | "cancelled" }
  | { state: "awaiting_approval"; approval: string; digest: string; expires_at: string }
  | { state: "running"; attempt: number }
  | { state: "retrying"; due: string }
  | { state: "failed"; failure: StepFailure }
  | { state: "skipped"; reason: SkipReason };

/** Why a step does not start. */
export type SkipReason = { because: "source"; step: string } | { because: "condition" | "dry_run" };

/** When a step may start: its claims on earlier steps. */
export interface StepEntry {
  edges: { from: string; on: "success" | "failure" | "settled" | "chosen" }[];
  join: "all" | "any";
  /** A condition that must hold as well. */
  when?: string;
}

/** What a step does. */
export type StepAction =
  | { do: "call"; tool: string; parameters: Record<string, unknown>; script?: string; writes: boolean }
  | { do: "choose"; branches: Record<string, unknown>[]; otherwise: string }
  | { do: "conclude"; output: unknown };

/** A step of a plan. */
export interface PlannedStep {
  id: string;
  action: StepAction;
  entry: StepEntry;
  after_failure: "abort" | "roll_back" | "go_on";
  reviewed: boolean;
  timeout_ms: number;
  /** The step that it reverses. */
  reverses?: string;
  retry: { retries: number; delay_ms: number };
}

/** What a run executes. */
export interface StepGraph {
  steps: PlannedStep[];
  /** What takes its place when it fails. */
  fallback?: StepGraph;
}

/** Why a run stops before its way is over. */
export type StopCause =
  | { because: "failure"; step: string; failure: StepFailure }
  | { because: "aborted"; by: string; reason: string }
  | { because: "timed_out" | "tokens_used_up" };

/** Where a step's result came from. */
export type ResultSource =
  | "fresh"
  | "cached"
  | "decided"
  | { reported: { by: string; approval: string; reason?: string } };

/** One thing that happened in a run. */
export type RunHappening =
  | {
      event: "started";
      run_id: string;
      by: string;
      role: string;
      graph: StepGraph;
      parameters: Record<string, unknown>;
      pins: { kind: string; id: string; package: string; version: string; content_hash: string; tenant?: string }[];
      dry_run: boolean;
    }
  | { event: "parameters_given"; parameters: Record<string, unknown>; missing: string[] }
  | { event: "confirmed"; by: string; digest: string }
  | {
      event: "step_begun";
      step: string;
      attempt: number;
      idempotency_key: string;
      parameters: Record<string, unknown>;
      policy_decision: GateSaid;
    }
  | {
      event: "step_refused";
      step: string;
      parameters: Record<string, unknown>;
      policy_decision: GateSaid;
      failure: StepFailure;
    }
  | {
      event: "approval_requested";
      step: string;
      approval: string;
      digest: string;
      call: ExactCall;
      policy_decision: GateSaid;
      expires_at: string;
    }
  | { event: "approval_granted"; step: string; approval: string; by: string }
  | { event: "approval_denied"; step: string; approval: string; by?: string; failure: StepFailure }
  | {
      event: "step_succeeded";
      step: string;
      output: unknown;
      source: ResultSource;
      duration_ms: number;
      /** Steps that it adds, and claims of steps that are there on new ones. */
      growth?: { steps?: PlannedStep[]; claims?: { step: string; edge: StepEntry["edges"][number] }[] };
    }
  | { event: "retry_scheduled"; step: string; failure: StepFailure; due: string }
  | { event: "step_failed"; step: string; failure: StepFailure }
  | { event: "step_skipped"; step: string; reason: SkipReason }
  | { event: "paused" | "resumed"; by: string }
  | { event: "stopping"; cause: StopCause; roll_back: boolean }
  | { event: "fell_back"; step: string }
  | { event: "completed"; missing_evidence?: string[] }
  | { event: "failed" | "rolled_back"; cause: StopCause }
  | { event: "rollback_failed"; cause: StopCause; left: string[] };

/** An event of a run's journal, with its place. */
export type RunEvent = { sequence: number; at: string } & RunHappening;

/** An event with where the run stands after it. */
export type RunEventShown = RunEvent & { status: RunStatus };

/** A step of a run. */
export type StepShown = {
  step: string;
  tool: string | null;
  writes: boolean;
  reverses: string | null;
} & StepStanding;

/** A run with its journal. */
export interface RunShown extends RunSummary {
  plan_digest: string;
  dry_run: boolean;
  confirm: boolean;
  /** The parameter whose value has to be typed to confirm. */
  typed: string | null;
  /** Mandatory parameters without a value. */
  missing: string[];
  parameters: Record<string, unknown>;
  steps: StepShown[];
  /** Steps whose writes may have happened, and nobody knows. */
  in_doubt: string[];
  approvals: Approval[];
  evidence: { evidence_id: string; summary: string; warning?: string }[];
  events: RunEvent[];
}

/** What a strict replay of a run's journal found. */
export interface Replayed {
  run_id: string;
  events: number;
  /** Hash of the last event, which all others are chained to. */
  head: string;
  status?: RunStatus;
  state_digest?: string;
  /** The first event that does not follow from those before it. */
  diverges: { at: number; detail: string } | null;
}

/** What evidence supports: one of these. */
export interface EvidenceAttachment {
  run_id?: string | null;
  finding_id?: string | null;
  report_item_id?: string | null;
  plan_id?: string | null;
  bundle_id?: string | null;
}

/** A record of evidence, as the server answers it. */
export interface EvidenceShown {
  id: string;
  tenant_id: string;
  schema_version: number;
  created_at?: string | null;
  type: string;
  captured_at: string;
  source: { system: string; native_id: string; region?: string | null; account_id?: string | null; api_call?: string | null };
  console_links: { label: string; href: string }[];
  summary: string;
  /** Empty where it is absent. */
  payload: Record<string, unknown>;
  payload_absent?: { reason: "removed" | "withheld"; note: string } | null;
  redaction_class?: string | null;
  attached_to: EvidenceAttachment[];
}

/** The public key of an evidence log. */
export interface EvidenceLogKey {
  /** `name+id+key`, as C2SP writes it. */
  key: string;
  name: string;
  id: string;
  algorithm: "ed25519";
}

/** The header of an export of evidence. */
export interface EvidenceHeader {
  format: string;
  tenant_id: string;
  coverage: "complete" | "selection";
  key: string;
  checkpoint: string;
}

/** A leaf of an evidence log with its proof. */
export interface EvidenceLeaf {
  index: number;
  /** Hashed as it stands. */
  leaf: string;
  /** Hexadecimal hashes, nearest sibling first. */
  proof: string[];
  /** The record without its payload, as text. */
  record?: string;
  payload?: { salt: string; text: string };
  withheld?: string;
}

/** One record's leaves with proofs. */
export interface EvidenceProof {
  header: EvidenceHeader;
  leaves: EvidenceLeaf[];
}

/** Where a mission stands. */
export type MissionState =
  | "created"
  | "planned"
  | "prompted"
  | "running"
  | "aggregating"
  | "reviewing"
  | "awaiting_approval"
  | "completed"
  | "rejected"
  | "failed"
  | "cancelled"
  | "budget_exceeded";

/** A mission in a listing. */
export interface MissionSummary {
  mission_id: string;
  run_id: string;
  title: string;
  state: MissionState;
  artifacts: number;
  created_at: string;
  updated_at: string;
}

/** A task of a mission. */
export interface MissionTask {
  task_id: string;
  role_type: string;
  objective: string;
  depends_on: string[];
  state: "pending" | "running" | "succeeded" | "failed" | "blocked" | "cancelled";
  reason?: string;
}

/** A change that a mission proposes. */
export interface MissionProposal {
  proposal: Schemas["writeback_proposal"];
  state: "proposed" | "approved" | "executed" | "execution_failed" | "rejected" | "expired" | "conflict";
  run_id?: string;
  approval_id?: string;
  reason?: string;
}

/** A claim and what supports it. */
export interface SupportedClaim {
  claim: string;
  support_refs: string[];
}

/** A remark, in either of the two forms in which it may be written. */
export type Remark = string | { description: string; refs?: string[] };

/** A mission. */
export interface MissionShown {
  mission_id: string;
  run_id: string;
  mission_type: string;
  goal: string;
  state: MissionState;
  status: RunStatus;
  /** Why it did not come to its end. */
  reason?: string;
  tokens: { input: number; output: number };
  token_budget?: number;
  /** Whether the offline provider answers: no model is asked. */
  offline: boolean;
  tasks: MissionTask[];
  output?: { summary?: string; claims?: SupportedClaim[]; contradictions?: Remark[]; gaps?: Remark[] } & Record<
    string,
    unknown
  >;
  proposals: MissionProposal[];
  artifacts: number;
  events: number;
  created_at: string;
  updated_at: string;
  imported_at?: string;
}

/** An artifact of a mission, with its place among them. */
export interface ArtifactShown {
  place: number;
  /** The event of the journal that it came with. */
  event: number;
  kind: string;
  artifact_id: string;
  task_id?: string;
  artifact: Record<string, unknown>;
}

/** An event of a mission's journal. */
export type MissionEvent = RunEventShown & { mission_state: MissionState };

declare module "./answers.js" {
  interface Answers {
    "/v1/approvals": { get: Page<Approval> };
    "/v1/approvals/{id}": { get: Approval };
    "/v1/approvals/{id}/approve": { post: Approval };
    "/v1/approvals/{id}/happened": { post: Approval };
    "/v1/approvals/{id}/reject": { post: Approval };
    "/v1/runs": { get: Page<RunSummary>; post: RunShown };
    "/v1/runs/{id}": { get: RunShown };
    "/v1/runs/{id}/replay": { get: Replayed };
    "/v1/runs/{id}/parameters": { post: RunShown };
    "/v1/runs/{id}/confirm": { post: RunShown };
    "/v1/runs/{id}/pause": { post: RunShown };
    "/v1/runs/{id}/resume": { post: RunShown };
    "/v1/runs/{id}/abort": { post: RunShown };
    "/v1/runs/{id}/rollback": { post: RunShown };
    "/v1/playbooks/{id}/runs": { post: RunShown };
    "/v1/evidence": { get: Page<EvidenceShown> };
    "/v1/evidence/{id}": { get: EvidenceShown };
    "/v1/evidence/log/key": { get: EvidenceLogKey };
    "/v1/evidence/log/proof/{id}": { get: EvidenceProof };
    "/v1/missions": { get: Page<MissionSummary>; post: MissionShown };
    "/v1/missions/{id}": { get: MissionShown };
    "/v1/missions/{id}/cancel": { post: MissionShown };
    "/v1/missions/{id}/artifacts": { get: Page<ArtifactShown> };
    "/v1/missions/{id}/artifacts/{kind}/{artifact}": { get: ArtifactShown };
  }
}
