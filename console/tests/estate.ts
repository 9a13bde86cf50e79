/**
 * A server over a simulated AWS account with good and bad resources, as `make quickstart` has it: what
 * stories about runs, approvals, evidence and missions use.
 */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { ROOT } from "../../clients/typescript/tests/server";
import { type Console, consoleOver, expect, freePort, test as base } from "./support";

const run = promisify(execFile);

/** A Python with what the simulated account needs. */
export const PYTHON = process.env["CHARTER_QUICKSTART_PYTHON"] ?? join(ROOT, "target", "quickstart-venv", "bin", "python");

const SIMULATED = {
  AWS_ACCESS_KEY_ID: "simulated",
  AWS_SECRET_ACCESS_KEY: "simulated",
  AWS_DEFAULT_REGION: "us-east-1",
};

/** What a story asks a server for over REST. */
export interface Api {
  get<Answer>(path: string): Promise<Answer>;
  post<Answer>(path: string, body?: unknown): Promise<Answer>;
}

/** A console over the simulated account. */
export interface Estate extends Console {
  api: Api;
  /** Starts the playbook that locks what is open, and waits until it asks a person. */
  remediation(parameters?: Record<string, unknown>): Promise<{ run: string; approval: string }>;
  /** Approves what a run waits for. */
  approve(run: string): Promise<void>;
  /** Waits until a run has a status. */
  settled(run: string, status: string): Promise<void>;
}

/** Calls a server over REST, with a key if it needs one. A failed call fails the story. */
export function apiOf(url: string, key?: string): Api {
  const credential: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const ask = async (path: string, init: RequestInit = {}, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}${path}`, { ...init, headers: { ...credential, ...headers } });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  };
  return {
    get: (path) => ask(path),
    post: (path, body = {}) =>
      ask(path, { method: "POST", body: JSON.stringify(body) }, { "content-type": "application/json" }),
  };
}

async function begun(): Promise<{ estate: Estate; stop: () => Promise<void> }> {
  const ends: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const end of ends.reverse()) await end();
  };
  try {
    return { estate: await built(ends), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts what an estate is made of; `ends` gets what ends each part. */
async function built(ends: (() => Promise<unknown>)[]): Promise<Estate> {
  const state = await mkdtemp(join(tmpdir(), "charter-estate-"));
  ends.push(() => rm(state, { recursive: true, force: true }));
  const port = await freePort();
  const simulator = (word: string) =>
    run(PYTHON, [join(ROOT, "quickstart", "simulator.py"), word, "--port", String(port), "--state", state]);
  ends.push(() => simulator("stop"));
  await simulator("start");
  const aws = { ...SIMULATED, AWS_ENDPOINT_URL: `http://127.0.0.1:${port}` };
  await run(PYTHON, [join(ROOT, "quickstart", "estate.py")], { env: { ...process.env, ...aws } });
  const web = spawn(PYTHON, [join(ROOT, "quickstart", "web.py"), "--port", "0"], { stdio: ["ignore", "pipe", "ignore"] });
  ends.push(async () => web.kill());
  const config = [
    "[tools]",
    `python = ${JSON.stringify(PYTHON)}`,
    `environment = ${JSON.stringify(Object.keys(aws))}`,
    `egress = ["127.0.0.1:${port}"]`,
    "[search]",
    'provider = "searxng"',
    `url = ${JSON.stringify(`${await saidBy(web)}/`)}`,
    'plain_http = "loopback"',
  ];
  const { stop, ...console } = await consoleOver({ config: config.join("\n"), environment: aws, withModel: true });
  ends.push(stop);
  await console.server.register("aws-security", "cost-hygiene");
  const api = apiOf(console.server.url);
  const settled = (id: string, status: string) => until(api, id, status);
  return {
    ...console,
    api,
    settled,
    approve: (id) => approve(api, settled, id),
    remediation: (parameters) => remediation(api, settled, parameters),
  };
}

interface Shown {
  run_id: string;
  status: string;
  plan_digest: string;
  approvals: { approval_id: string; digest: string }[];
}

async function approve(api: Api, settled: Estate["settled"], id: string): Promise<void> {
  await settled(id, "awaiting_approval");
  const { approvals } = await api.get<Shown>(`/v1/runs/${id}`);
  for (const { approval_id: approval, digest } of approvals) await api.post(`/v1/approvals/${approval}/approve`, { digest });
}

async function remediation(api: Api, settled: Estate["settled"], parameters: Record<string, unknown> = {}) {
  // Runs of the same calls wait for one another, so those that earlier stories left behind end first.
  const { entries } = await api.get<{ entries: Shown[] }>("/v1/runs?status=open&origin=playbook");
  for (const { run_id: earlier } of entries) {
    await api.post(`/v1/runs/${earlier}/abort`, { reason: "the story is over", roll_back: false });
    await settled(earlier, "aborted");
  }
  const { run_id: id } = await api.post<Shown>("/v1/playbooks/security.remediate_public_exposure/runs", {
    parameters: { region: "us-east-1", profile: "", ...parameters },
  });
  await settled(id, "awaiting_approval");
  const { approvals } = await api.get<Shown>(`/v1/runs/${id}`);
  return { run: id, approval: approvals[0]?.approval_id ?? "" };
}

/** How long a run may take, in milliseconds. */
const SETTLES_MS = 90_000;

async function until(api: Api, id: string, status: string): Promise<void> {
  const statusOf = async () => (await api.get<Shown>(`/v1/runs/${id}`)).status;
  await expect.poll(statusOf, { message: `the status of ${id}`, timeout: SETTLES_MS, intervals: [100] }).toBe(status);
}

function saidBy(child: ChildProcess): Promise<string> {
  return new Promise((found) => {
    child.stdout?.once("data", (text: Buffer) => found(text.toString().trim().split(/\s+/).at(-1) ?? ""));
  });
}

export const test = base.extend<object, { estate: Estate }>({
  estate: [
    async ({}, use) => {
      const { estate, stop } = await begun();
      await use(estate);
      await stop();
    },
    { scope: "worker", timeout: 240_000 },
  ],
});
