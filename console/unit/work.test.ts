/** Functions behind the overview and a run's screen: days, durations, risks, causes, spans, empty lists. */

import type { Approval, RunEventShown, RunShown } from "@charter/client";
import { describe, expect, it } from "vitest";

import { byUrgency, riskOf } from "~/approvals/words";
import { pathWithin } from "~/packages/bundle";
import { countedByDay, lastDays, medianOf } from "~/parts/by-day";
import { durationOf } from "~/parts/duration";
import { causeOf } from "~/runs/cause-of";
import { emptyLists, meaningOf } from "~/runs/empty-lists";
import { spansOf } from "~/runs/spans";
import { lookThrough } from "~/search/look-through";
import { evidenceFilters, named, scopeOf } from "~/search/sources";

describe("the last days", () => {
  it("end today, also over the end of a month", () => {
    expect(lastDays(3, new Date(2026, 2, 1, 23, 59))).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"]);
  });

  it("count what began on them, and what of that went wrong", () => {
    const at = (day: number, hour: number) => ({ created_at: new Date(2026, 2, day, hour).toISOString(), wrong: hour > 12 });
    const counted = countedByDay([at(1, 0), at(1, 23), at(2, 5), at(4, 5)], ["2026-03-01", "2026-03-02"], ({ wrong }) => wrong);
    expect(counted).toEqual([
      { day: "2026-03-01", total: 2, bad: 1 },
      { day: "2026-03-02", total: 1, bad: 0 },
    ]);
  });

  it("have a median where there is something", () => {
    expect([[], [3], [1, 9], [9, 1, 5]].map(medianOf)).toEqual([undefined, 3, 5, 5]);
  });
});

it("a duration has at most two units", () => {
  const said = [0, 850, 12_400, 200_000, 7_500_000, 273_600_000].map(durationOf);
  expect(said).toEqual(["0 ms", "850 ms", "12.4 s", "3 min 20 s", "2 h 5 min", "3 d 4 h"]);
});

describe("approvals", () => {
  const asked = (kind: string, requested_at: string, more: object = {}) =>
    ({ rules: [{ kind, id: "x", message: "Not destructive." }], requested_at, ...more }) as unknown as Approval;
  const write = asked("safety", "2026-03-01T00:00:00Z");
  const older = asked("tool", "2026-02-01T00:00:00Z", { destructive: false });
  const destructive = asked("safety", "2026-03-02T00:00:00Z", { destructive: true });
  const doubtful = asked("interrupted", "2026-03-03T00:00:00Z", { destructive: true });

  it("have a risk by their rules and by `destructive`, independent of messages", () => {
    expect([write, destructive, doubtful].map((one) => riskOf(one).word)).toEqual(["write", "destructive", "in doubt"]);
  });

  it("are sorted by risk, then by age", () => {
    expect([write, doubtful, older, destructive].sort(byUrgency)).toEqual([doubtful, destructive, older, write]);
  });
});

describe("a run's cause", () => {
  const failure = { code: "tool_failed", message: "The bucket is locked.", kind: "execution_error", retryable: true };
  const run = (status: string, outcome: unknown, steps: unknown[] = []) => ({ status, outcome, steps }) as unknown as RunShown;

  it("is that of its outcome, with the step that failed", () => {
    const rolledBack = run("rolled_back", { outcome: "rolled_back", cause: { because: "failure", step: "step_2", failure } });
    expect(causeOf(rolledBack)).toEqual({ code: "tool_failed", message: failure.message, step: "step_2", retryable: true, left: [] });
  });

  it("names who aborted it, and what could not be taken back", () => {
    const cause = { because: "aborted", by: "ann", reason: "Wrong account." };
    const aborted = run("rollback_failed", { outcome: "rollback_failed", cause, left: ["step_1"] });
    expect(causeOf(aborted)).toEqual({ message: "Aborted by ann: Wrong account.", left: ["step_1"] });
  });

  it("is absent where nothing went wrong", () => {
    expect(causeOf(run("completed", { outcome: "completed", missing_evidence: [] }))).toBeUndefined();
    expect(causeOf(run("working", null))).toBeUndefined();
  });
});

it("spans have the time of a step without its wait for a person", () => {
  const at = (second: number) => new Date(Date.UTC(2026, 2, 1, 0, 0, second)).toISOString();
  const events = [
    { event: "started", at: at(0) },
    { event: "step_begun", step: "a", attempt: 1, at: at(1) },
    { event: "step_succeeded", step: "a", at: at(3) },
    { event: "approval_requested", step: "b", at: at(4) },
    { event: "approval_granted", step: "b", at: at(9) },
    { event: "step_begun", step: "b", attempt: 2, at: at(10) },
  ] as unknown as RunEventShown[];
  expect(spansOf(events)).toEqual([
    { step: "a", from: 1_000, until: 3_000, waited: 0, attempts: 1, end: "succeeded" },
    { step: "b", from: 4_000, until: undefined, waited: 5_000, attempts: 2, end: "open" },
  ]);
});

it("an empty list is explained by the description of its parameter", () => {
  expect(emptyLists({ a: [], b: [1], c: "", d: {} })).toEqual(["a"]);
  expect(meaningOf("empty means every group")).toContain("“empty means every group”");
  expect(meaningOf(undefined)).toContain("may mean all, or none");
});

it("a chosen directory gives paths within the package, without hidden files", () => {
  const paths = ["yard/package.yaml", "yard/tools/a.yaml", "yard/.git/HEAD", "yard/scripts/__pycache__/a.pyc"];
  const found = paths.map((webkitRelativePath) => pathWithin({ webkitRelativePath, name: "" }));
  expect(found).toEqual(["package.yaml", "tools/a.yaml", undefined, undefined]);
});

it("an id leads to what it names", () => {
  expect(named("run-1").map(({ to }) => to)).toEqual(["/runs/run-1"]);
  expect(named("ev_1").map(({ to }) => to)).toEqual(["/evidence/ev_1"]);
  expect(named("run the playbook")).toEqual([]);
  expect(named("run-1 and more")).toEqual([]);
});

describe("a search through a listing", () => {
  const pages = (sizes: number[]) => {
    const read: (string | undefined)[] = [];
    const page = async (after: string | undefined) => {
      read.push(after);
      const at = Number(after ?? 0);
      const next = at + 1 < sizes.length ? String(at + 1) : null;
      return { entries: Array.from({ length: sizes[at] ?? 0 }, (_, entry) => `${at}.${entry}`), next };
    };
    return { read, page };
  };

  it("reads on until the listing ends, also over empty pages", async () => {
    const { read, page } = pages([2, 0, 3]);
    expect(await lookThrough(page, (entry) => entry.endsWith("2"))).toEqual({ found: ["2.2"], read: 5, isWhole: true });
    expect(read).toEqual([undefined, "1", "2"]);
  });

  it("stops when there are enough hits", async () => {
    const { read, page } = pages([9, 9]);
    const { isWhole } = await lookThrough(page, () => true);
    expect([isWhole, read.length]).toEqual([false, 1]);
  });

  it("stops at its bound, and names what was read", async () => {
    const { page } = pages(Array.from({ length: 20 }, () => 200));
    const reading = await lookThrough(page, () => false);
    expect(reading).toEqual({ found: [], read: 1_000, isWhole: false });
    expect(scopeOf(reading, "requests")).toBe("the newest 1,000 requests");
    expect(scopeOf({ read: 12, isWhole: true }, "missions")).toBe("all 12 missions");
  });

  it("asks the server for evidence by run, report item, source and finding", () => {
    const run = "run-01930000-0000-4000-8000-000000000001";
    expect(evidenceFilters(run)).toEqual([{ run_id: run }]);
    expect(evidenceFilters("ri_1")).toEqual([{ report_item_id: "ri_1" }]);
    expect(evidenceFilters("aws.ec2")).toEqual([{ system: "aws.ec2" }, { finding_id: "aws.ec2" }]);
    expect(evidenceFilters("two words")).toEqual([]);
  });
});
