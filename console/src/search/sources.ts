/** The sources of a search, and the addresses of hits. Each source is read on its own, so that a failure hides no other. */

import { type Charter, CharterError, type EvidenceEntry } from "@charter/client";

import { callsOf } from "~/approvals/listed";
import { summaryOf, titleOf } from "~/approvals/words";
import { KINDS } from "~/catalogue/kinds";
import { startOf } from "~/parts/by-day";
import { lookThrough, MOST_HITS, type Reading } from "~/search/look-through";
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

/** Hits, and what was searched for them: `all runs, by title`. */
export interface Found {
  hits: Hit[];
  searched: string;
}

/** A source that is searched. */
export interface SearchSource {
  name: string;
  find: (charter: Charter, text: string) => Promise<Found>;
}

/** Entries of a page of a listing; requests and approvals are large. */
const PAGE = 1_000;
const PAGE_OF_LARGE = 200;

/** Days of evidence that are looked through: its listing begins with the oldest record. */
const EVIDENCE_DAYS = 30;

const path = (...parts: string[]) => parts.map((part) => `/${encodeURIComponent(part)}`).join("");

const fits = (text: string, ...words: (string | null | undefined)[]) =>
  words.some((word) => word?.toLowerCase().includes(text.toLowerCase()) === true);

const from = (after: string | undefined) => (after === undefined ? {} : { after });

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

/** The words for what was read of a listing: `all 12 missions`, `the newest 1,000 requests`. */
export function scopeOf({ read, isWhole }: Pick<Reading<unknown>, "read" | "isWhole">, many: string): string {
  return `${isWhole ? "all" : "the newest"} ${read.toLocaleString("en")} ${many}`;
}

async function documents(charter: Charter, text: string): Promise<Found> {
  const read = KINDS.map(async ({ kind, one }) => {
    const query = { query: text, limit: MOST_HITS };
    const { entries } = await charter.get("/v1/list/{kind}", { params: { path: { kind }, query } });
    return entries.map(({ id, title }): Hit => ({ to: path("catalogue", kind, id), title: title ?? id, note: `${one.toLowerCase()} ${id}` }));
  });
  return { hits: (await Promise.all(read)).flatMap((hits) => hits), searched: "all documents, by id and title" };
}

async function runs(charter: Charter, text: string): Promise<Found> {
  // A page of a filter by title may be empty and have a next one.
  const { found, isWhole } = await lookThrough(
    (after) => charter.get("/v1/runs", { params: { query: { title: text, limit: MOST_HITS, ...from(after) } } }),
    () => true,
  );
  const hits = found.map(({ run_id, title, status }) => ({ to: path("runs", run_id), title, note: status.replaceAll("_", " ") }));
  const isAll = isWhole || found.length >= MOST_HITS;
  return { hits, searched: isAll ? "all runs, by title" : "the newest runs, by title" };
}

async function requests(charter: Charter, text: string): Promise<Found> {
  const reading = await lookThrough(
    (after) => charter.get("/v1/requests", { params: { query: { limit: PAGE_OF_LARGE, ...from(after) } } }),
    ({ input, outcome, user_id }) => fits(text, input, outcome, user_id),
  );
  const hits = reading.found.map(({ request_id, input, user_id }) => ({ to: path("requests", request_id), title: input, note: `asked by ${user_id}` }));
  return { hits, searched: scopeOf(reading, "requests") };
}

async function approvals(charter: Charter, text: string): Promise<Found> {
  const ofRun = RUN_ID.test(text) ? { run_id: text } : {};
  const reading = await lookThrough(
    (after) => charter.get("/v1/approvals", { params: { query: { limit: PAGE_OF_LARGE, ...ofRun, ...from(after) } } }),
    (approval) =>
      "run_id" in ofRun ||
      fits(text, approval.run_title, approval.requested_by, ...callsOf(approval).map(({ tool, parameters }) => `${tool} ${JSON.stringify(parameters)}`)),
  );
  const hits = reading.found.map((approval) => ({
    to: path("approvals", approval.approval_id),
    title: titleOf(approval),
    note: `${approval.state} · ${summaryOf(approval)}`,
  }));
  return { hits, searched: scopeOf(reading, "run_id" in ofRun ? "approvals of this run" : "approvals") };
}

async function missions(charter: Charter, text: string): Promise<Found> {
  const reading = await lookThrough(
    (after) => charter.get("/v1/missions", { params: { query: { limit: PAGE, ...from(after) } } }),
    ({ mission_id, title }) => fits(text, mission_id, title),
  );
  const hits = reading.found.map(({ mission_id, title, state }) => ({
    to: path("missions", mission_id),
    title: title.replace(/^mission /, ""),
    note: state.replaceAll("_", " "),
  }));
  return { hits, searched: scopeOf(reading, "missions") };
}

async function schedules(charter: Charter, text: string): Promise<Found> {
  const reading = await lookThrough(
    (after) => charter.get("/v1/schedules", { params: { query: { limit: PAGE, ...from(after) } } }),
    ({ schedule_id, title }) => fits(text, schedule_id, title),
  );
  const hits = reading.found.map(({ schedule_id, title, state }) => ({ to: path("schedules", schedule_id), title, note: `${state} · ${schedule_id}` }));
  return { hits, searched: scopeOf(reading, "schedules") };
}

async function packages(charter: Charter, text: string): Promise<Found> {
  const found = (await charter.get("/v1/packages")).filter((shown) => fits(text, shown.package));
  const hits = found.map((shown) => ({ to: path("packages", shown.scope, shown.package), title: shown.package, note: shown.version }));
  return { hits, searched: "all packages, by name" };
}

const RUN_ID = /^run-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const LABEL = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

/** The filters of the server that a text may be a value of. */
export function evidenceFilters(text: string): { run_id?: string; report_item_id?: string; finding_id?: string; system?: string }[] {
  if (RUN_ID.test(text)) return [{ run_id: text }];
  if (!LABEL.test(text)) return [];
  return text.startsWith("ri_") ? [{ report_item_id: text }] : [{ system: text }, { finding_id: text }];
}

async function evidence(charter: Charter, text: string): Promise<Found> {
  const filters = evidenceFilters(text);
  const filtered = filters.map(async (filter) => {
    const { entries } = await charter.get("/v1/evidence", { params: { query: { ...filter, limit: MOST_HITS } } });
    return entries;
  });
  const since = startOf(EVIDENCE_DAYS, new Date());
  const recent = lookThrough<EvidenceEntry>(
    (after) => charter.get("/v1/evidence", { params: { query: { captured_from: since, limit: PAGE, ...from(after) } } }),
    ({ id, summary, source }) => fits(text, id, summary, source.system),
  );
  const [exact, { found, read, isWhole }] = await Promise.all([Promise.all(filtered), recent]);
  const records = new Map([...exact.flat(), ...found].map((entry) => [entry.id, entry]));
  const hits = [...records.values()].map(({ id, summary, type }) => ({ to: path("evidence", id), title: summary, note: type.replaceAll("_", " ") }));
  const looked = `${isWhole ? "all" : "the first"} ${read.toLocaleString("en")} records of the last ${EVIDENCE_DAYS} days`;
  return { hits, searched: filters.length === 0 ? looked : `${looked}, and all records of this run, report item, source or finding` };
}

async function memories(charter: Charter, text: string): Promise<Found> {
  const found = await charter.post("/v1/memories/search", { body: { text, limit: MOST_HITS } });
  return {
    hits: found.map(({ memory_id, memory }) => ({ to: path("memory", memory_id), title: memory?.title ?? memory_id })),
    searched: "all memories in force",
  };
}

async function skills(charter: Charter, text: string): Promise<Found> {
  const { hits } = await charter.post("/v1/agent-skills/search", { body: { query: text, top_k: MOST_HITS, only: null } });
  return {
    hits: hits.map(({ skill_id, summary }) => ({ to: "/skills", search: { skill: skill_id }, title: skill_id, note: summary })),
    searched: "all agent skills within your reach",
  };
}

async function passages(charter: Charter, text: string): Promise<Found> {
  const found = await charter.post("/v1/lenses/search", { body: { query: text, top_k: MOST_HITS } });
  return {
    hits: found.passages.map(({ lens_id, title, text: words }) => ({ to: path("lenses", lens_id), title, note: words.slice(0, 160) })),
    searched: "all lenses",
  };
}

/** All sources, in the order in which their hits are shown. */
export const SOURCES: SearchSource[] = [
  { name: "Screens and ids", find: async (_, text) => ({ hits: [...named(text), ...screensWith(text)], searched: "the names of screens" }) },
  { name: "Approvals", find: approvals },
  { name: "Requests", find: requests },
  { name: "Runs", find: runs },
  { name: "Missions", find: missions },
  { name: "Schedules", find: schedules },
  { name: "Documents", find: documents },
  { name: "Packages", find: packages },
  { name: "Evidence", find: evidence },
  { name: "Memories", find: memories },
  { name: "Agent skills", find: skills },
  { name: "Lenses", find: passages },
];

/** Searches one source. A source that the caller may not read has no hits. */
export async function foundIn(source: SearchSource, charter: Charter, text: string): Promise<Found> {
  try {
    const { hits, searched } = await source.find(charter, text);
    return { hits: hits.slice(0, MOST_HITS), searched };
  } catch (error) {
    if (error instanceof CharterError && error.status === 403) return { hits: [], searched: "not searched: your credential may not read it" };
    throw error;
  }
}
