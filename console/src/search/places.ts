/** Where a search looks, and where a hit leads. Each place is asked on its own, so that one that fails hides no other. */

import { type Charter, CharterError } from "@charter/client";

import { callsOf } from "~/approvals/listed";
import { summaryOf, titleOf } from "~/approvals/words";
import { KINDS } from "~/catalogue/kinds";
import { GROUPS } from "~/shell/screens";

/** Something that was found. */
export interface Hit {
  /** Its address below `/console`. */
  to: string;
  /** The query of the address. */
  search?: Record<string, string>;
  title: string;
  note?: string | undefined;
}

/** A place that is searched. */
export interface Place {
  name: string;
  find: (charter: Charter, text: string) => Promise<Hit[]>;
}

/** Hits of one place. */
const MOST = 8;

/** Entries of a listing without a search of its own that are looked through, the newest first. */
const LOOKED_THROUGH = 200;

const path = (...parts: string[]) => parts.map((part) => `/${encodeURIComponent(part)}`).join("");

const fits = (text: string, ...words: (string | null | undefined)[]) =>
  words.some((word) => word?.toLowerCase().includes(text.toLowerCase()) === true);

/** An id leads to what it names, without a search. */
const IDS: [start: string, what: string, folder: string][] = [
  ["run-", "Run", "runs"],
  ["req-", "Request", "requests"],
  ["apr-", "Approval", "approvals"],
  ["ev_", "Evidence", "evidence"],
  ["mem-", "Memory", "memory"],
];

/** The thing that an id names, by its prefix. */
export function named(text: string): Hit[] {
  return IDS.filter(([start]) => text.startsWith(start) && !/\s/.test(text)).map(([, what, folder]) => ({
    to: path(folder, text),
    title: `${what} ${text}`,
    note: "by its id",
  }));
}

/** The screens whose names have the text. */
export function screensWith(text: string): Hit[] {
  const screens = GROUPS.flatMap((group) => group.screens);
  return screens.filter(({ label }) => fits(text, label)).map(({ to, label }) => ({ to, title: label, note: "screen" }));
}

async function documents(charter: Charter, text: string): Promise<Hit[]> {
  const read = KINDS.map(async ({ kind, one }) => {
    const query = { query: text, limit: MOST };
    const { entries } = await charter.get("/v1/list/{kind}", { params: { path: { kind }, query } });
    return entries.map(({ id, title }): Hit => ({ to: path("catalogue", kind, id), title: title ?? id, note: `${one.toLowerCase()} ${id}` }));
  });
  return (await Promise.all(read)).flatMap((hits) => hits);
}

async function runs(charter: Charter, text: string): Promise<Hit[]> {
  const { entries } = await charter.get("/v1/runs", { params: { query: { title: text, limit: MOST } } });
  return entries.map(({ run_id, title, status }) => ({ to: path("runs", run_id), title, note: status.replaceAll("_", " ") }));
}

async function requests(charter: Charter, text: string): Promise<Hit[]> {
  const { entries } = await charter.get("/v1/requests", { params: { query: { limit: LOOKED_THROUGH } } });
  const found = entries.filter(({ input, outcome, user_id }) => fits(text, input, outcome, user_id));
  return found.map(({ request_id, input, user_id }) => ({ to: path("requests", request_id), title: input, note: `asked by ${user_id}` }));
}

async function approvals(charter: Charter, text: string): Promise<Hit[]> {
  const { entries } = await charter.get("/v1/approvals", { params: { query: { limit: LOOKED_THROUGH } } });
  const found = entries.filter((approval) =>
    fits(text, approval.run_title, approval.requested_by, ...callsOf(approval).map(({ tool, parameters }) => `${tool} ${JSON.stringify(parameters)}`)),
  );
  return found.map((approval) => ({
    to: path("approvals", approval.approval_id),
    title: titleOf(approval),
    note: `${approval.state} · ${summaryOf(approval)}`,
  }));
}

async function missions(charter: Charter, text: string): Promise<Hit[]> {
  const { entries } = await charter.get("/v1/missions", { params: { query: { limit: LOOKED_THROUGH } } });
  const found = entries.filter(({ mission_id, title }) => fits(text, mission_id, title));
  return found.map(({ mission_id, title, state }) => ({
    to: path("missions", mission_id),
    title: title.replace(/^mission /, ""),
    note: state.replaceAll("_", " "),
  }));
}

async function packages(charter: Charter, text: string): Promise<Hit[]> {
  const found = (await charter.get("/v1/packages")).filter((shown) => fits(text, shown.package));
  return found.map((shown) => ({ to: path("packages", shown.scope, shown.package), title: shown.package, note: shown.version }));
}

async function evidence(charter: Charter, text: string): Promise<Hit[]> {
  const { entries } = await charter.get("/v1/evidence", { params: { query: { limit: LOOKED_THROUGH } } });
  const found = entries.filter(({ id, summary, source }) => fits(text, id, summary, source.system));
  return found.map(({ id, summary, type }) => ({ to: path("evidence", id), title: summary, note: type.replaceAll("_", " ") }));
}

async function memories(charter: Charter, text: string): Promise<Hit[]> {
  const found = await charter.post("/v1/memories/search", { body: { text, limit: MOST } });
  return found.map(({ memory_id, memory }) => ({ to: path("memory", memory_id), title: memory?.title ?? memory_id }));
}

async function skills(charter: Charter, text: string): Promise<Hit[]> {
  const { hits } = await charter.post("/v1/agent-skills/search", { body: { query: text, top_k: MOST, only: null } });
  return hits.map(({ skill_id, summary }) => ({ to: "/skills", search: { skill: skill_id }, title: skill_id, note: summary }));
}

async function passages(charter: Charter, text: string): Promise<Hit[]> {
  const found = await charter.post("/v1/lenses/search", { body: { query: text, top_k: MOST } });
  return found.passages.map(({ lens_id, title, text: words }) => ({ to: path("lenses", lens_id), title, note: words.slice(0, 160) }));
}

/** Everything that is searched, in the order in which it is shown. */
export const PLACES: Place[] = [
  { name: "Screens and ids", find: async (_, text) => [...named(text), ...screensWith(text)] },
  { name: "Approvals", find: approvals },
  { name: "Requests", find: requests },
  { name: "Runs", find: runs },
  { name: "Missions", find: missions },
  { name: "Documents", find: documents },
  { name: "Packages", find: packages },
  { name: "Evidence", find: evidence },
  { name: "Memories", find: memories },
  { name: "Agent skills", find: skills },
  { name: "Lenses", find: passages },
];

/** Finds in one place. A place that the caller may not read, or that is empty, has no hits. */
export async function foundIn(place: Place, charter: Charter, text: string): Promise<Hit[]> {
  try {
    return (await place.find(charter, text)).slice(0, MOST);
  } catch (error) {
    if (error instanceof CharterError && error.status === 403) return [];
    throw error;
  }
}
