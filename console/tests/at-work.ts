/**
 * A server on which an operator has work: the yard's package in two versions, an answer with a finding, a run that failed, one
 * that waits for its confirmation, and an approval that waits for a decision.
 */

import type { RequestShown, RunShown } from "@charter/client";

import { type Api, apiOf } from "./estate";
import { type Console, consoleOver, expect } from "./support";
import { QUESTION, yard } from "./yard";

/** A mission type of the yard. */
export const TANKS = "yard.tank_report";

/** The tank whose valve is stuck. */
const STUCK = "t-9";

/** A console with work, and the ids of what waits. */
export interface AtWork extends Console {
  api: Api;
  /** The request whose answer has a finding. */
  request: string;
  /** The run that failed. */
  failed: string;
  /** The run that waits for its confirmation. */
  unconfirmed: string;
  /** The approval that waits, and its run. */
  approval: string;
  asking: string;
}

const SETTLES_MS = 60_000;

/** Starts it; `stop` ends it. */
export async function atWork(): Promise<AtWork & { stop: () => Promise<void> }> {
  const { stop, ...console } = await consoleOver();
  try {
    const api = apiOf(console.server.url);
    for (const version of ["0.1.0", "0.2.0"]) await api.post("/v1/packages", { files: files(version) });
    const request = await asked(api);
    const failed = await started(api, "yard.drain", STUCK);
    await confirmed(api, failed);
    await until(api, failed.run_id, "failed");
    const asking = await started(api, "yard.flush", "t-1");
    await confirmed(api, asking);
    await until(api, asking.run_id, "awaiting_approval");
    const { approvals } = await api.get<RunShown>(`/v1/runs/${asking.run_id}`);
    const unconfirmed = await completed(api, "yard.flush", "t-2");
    return {
      ...console,
      api,
      request,
      failed: failed.run_id,
      unconfirmed: unconfirmed.run_id,
      asking: asking.run_id,
      approval: approvals[0]?.approval_id ?? "",
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The yard's package with a playbook that needs approvals, a preview, a mission type, and a tank that cannot be drained. */
export function files(version: string): Record<string, string> {
  const found = yard();
  const drain = JSON.parse(found["playbooks/drain.yaml"] ?? "") as Record<string, unknown>;
  const tool = JSON.parse(found["tools/drain.yaml"] ?? "") as Record<string, unknown>;
  const foresee = {
    ...tool,
    tool_id: "yard.foresee",
    name: "foresee",
    tool_class: "readonly",
    description: "Computes the level of a tank after it is drained.",
    implementation: { type: "script", path: "scripts/foresee.py" },
  };
  const flush = {
    ...drain,
    playbook_id: "yard.flush",
    name: "Flush a tank",
    trigger_conditions: ["flush_is_wanted"],
    examples: ["flush the tank t-1 with water"],
    safety: { safety_class: "supervised" },
    optional_parameters: [{ name: "only", type: "array", description: "Only these valves; empty means every valve", default: [] }],
  };
  const manifest = JSON.parse(found["package.yaml"] ?? "") as Record<string, unknown>;
  return {
    ...found,
    "package.yaml": JSON.stringify({ ...manifest, version, description: `Tanks of a yard, version ${version}.` }),
    "playbooks/flush.yaml": JSON.stringify(flush),
    "tools/drain.yaml": JSON.stringify({ ...tool, preview: { tool: "yard.foresee" } }),
    "tools/foresee.yaml": JSON.stringify(foresee),
    "scripts/foresee.py": [
      "import json, sys",
      'tank = json.load(sys.stdin)["parameters"]["tank"]',
      'print(json.dumps({"before": {tank: 97}, "after": {tank: 0}}))',
      "",
    ].join("\n"),
    "missions/tanks.yaml": JSON.stringify(MISSION),
    "scripts/drain.py": [
      "import json, sys",
      'tank = json.load(sys.stdin)["parameters"]["tank"]',
      `if tank == "${STUCK}":`,
      `    sys.exit('{"error_type": "permission_error", "message": "the valve is stuck"}')`,
      'print(json.dumps({"before": {tank: 97}, "after": {tank: 0}}))',
      "",
    ].join("\n"),
  };
}

const MISSION = {
  mission_type: TANKS,
  domain: "yard",
  title: "A report on tanks",
  description: "Which tanks are nearly full.",
  risk_level: "low",
  sensitivity_class: "internal_security",
  token_budget: 100_000,
  requested_outputs: ["reviewed_summary"],
  resource_families: { "yard.tanks": { description: "Tanks with their levels.", tools: ["yard.levels"] } },
  outline: [
    {
      task_id: "levels",
      role_type: "worker",
      objective: "Which tanks are nearly full?",
      required_capabilities: ["yard.levels"],
      allowed_tools: ["yard.levels"],
      required_data_scopes: ["yard.tanks"],
      success_criteria: ["every tank is named"],
    },
  ],
};

async function asked(api: Api): Promise<string> {
  const id = "req-01930000-0000-4000-8000-000000000001";
  await api.post("/v1/requests", { id, timestamp: new Date().toISOString(), input: QUESTION });
  await expect
    .poll(async () => (await api.get<RequestShown>(`/v1/requests/${id}`)).answer !== null, { timeout: SETTLES_MS })
    .toBe(true);
  return id;
}

function started(api: Api, playbook: string, tank: string): Promise<RunShown> {
  return api.post<RunShown>(`/v1/playbooks/${playbook}/runs`, { parameters: { tank, permit: "P-7" } });
}

/** Starts a run that lacks its values and gives them: then its plan waits for a confirmation. */
async function completed(api: Api, playbook: string, tank: string): Promise<RunShown> {
  const { run_id } = await api.post<RunShown>(`/v1/playbooks/${playbook}/runs`, { parameters: {} });
  return api.post<RunShown>(`/v1/runs/${run_id}/parameters`, { parameters: { tank, permit: "P-7" } });
}

async function confirmed(api: Api, { run_id, status, plan_digest: digest }: RunShown): Promise<void> {
  if (status === "awaiting_confirmation") await api.post(`/v1/runs/${run_id}/confirm`, { digest });
}

/** Waits until a run has a status. */
export async function until(api: Api, run: string, status: string): Promise<void> {
  const statusOf = async () => (await api.get<RunShown>(`/v1/runs/${run}`)).status;
  await expect.poll(statusOf, { message: `the status of ${run}`, timeout: SETTLES_MS, intervals: [100] }).toBe(status);
}
