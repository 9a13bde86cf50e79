/** Functions behind the screens of schedules: definitions from fields, words, and approvals that go from group to group. */

import type { ApprovalEntry, ReportItem, RequestShown } from "@charter/client";
import { describe, expect, it } from "vitest";

import { isInTurn, nextGroupOf, obstacleOf } from "~/approvals/words";
import { tokensOf } from "~/home/tokens";
import { definitionOf, EMPTY, problemsOf, type ScheduleFields } from "~/schedules/definition";
import { countedBySeverity, isByTime, timingOf, workOf } from "~/schedules/words";

const filled = (more: Partial<ScheduleFields>): ScheduleFields => ({
  ...EMPTY,
  id: "yard.nightly",
  title: "Tanks",
  document: "yard.levels",
  ...more,
});

describe("the form of a schedule", () => {
  it("names the fields that are missing or invalid", () => {
    expect(problemsOf(EMPTY)).toEqual(["id", "title", "document"]);
    expect(problemsOf(filled({}))).toEqual([]);
    expect(problemsOf(filled({ id: "two words", expression: "0 2 * *", parameters: "[1]", jitter: "-1" }))).toEqual([
      "id",
      "expression",
      "parameters",
      "jitter",
    ]);
    expect(problemsOf(filled({ timing: "interval", minutes: "0" }))).toEqual(["minutes"]);
    expect(problemsOf(filled({ timing: "once", at: "" }))).toEqual(["at"]);
    expect(problemsOf(filled({ work: "mission", document: "", goal: " " }))).toEqual(["goal"]);
  });

  it("makes the definition of a schedule by time", () => {
    const fields = filled({ expression: " 0  2 * * MON-FRI ", zone: "Europe/Paris", parameters: '{"site": "north"}', jitter: "300" });
    expect(definitionOf(fields)).toEqual({
      schedule_id: "yard.nightly",
      title: "Tanks",
      when: { cron: { expression: "0 2 * * MON-FRI", time_zone: "Europe/Paris" } },
      run: { skill: "yard.levels" },
      parameters: { site: "north" },
      overlap: "skip",
      missed: "run_once",
      jitter_s: 300,
    });
    expect(definitionOf(filled({ timing: "interval", minutes: "60" }))).toMatchObject({ when: { every_s: 3_600 } });
  });

  it("makes the definition of a trigger, without fields of a time", () => {
    const fields = filled({ timing: "webhook", types: "a, b,", work: "playbook", taken: '{"tank": "/data/tank"}', jitter: "5" });
    expect(definitionOf(fields)).toEqual({
      schedule_id: "yard.nightly",
      title: "Tanks",
      when: { webhook: { types: ["a", "b"] } },
      run: { playbook: "yard.levels" },
      parameters_from: { tank: "/data/tank" },
      overlap: "skip",
    });
    const mission = filled({ timing: "finding", work: "mission", document: "", goal: " Which tanks? " });
    expect(definitionOf(mission)).toMatchObject({ when: { finding: { min_severity: "high" } }, run: { mission: { goal: "Which tanks?" } } });
  });
});

describe("a schedule in words", () => {
  it("has its times, or its event", () => {
    const shown = [
      { cron: { expression: "0 2 * * *", time_zone: "UTC" } },
      { every_s: 5_400 },
      { webhook: { types: ["a", "b"] } },
      { webhook: {} },
      { finding: { min_severity: "high" as const, domain: null } },
    ].map(timingOf);
    expect(shown).toEqual([
      "0 2 * * * (UTC)",
      "every 1 h 30 min",
      "on a signed webhook of the type a or b",
      "on a signed webhook",
      "on a new finding, severity high or more",
    ]);
    expect([isByTime({ when: { every_s: 60 } }), isByTime({ when: { webhook: {} } })]).toEqual([true, false]);
  });

  it("has its work", () => {
    expect(workOf({ skill: "a.b" })).toEqual({ what: "skill", kind: "skill", id: "a.b" });
    expect(workOf({ mission: { goal: "Why?" } })).toEqual({ what: "mission: Why?" });
  });

  it("has the items of a report by severity", () => {
    const items = ["low", "critical", "low"].map((severity) => ({ severity }) as ReportItem);
    expect(countedBySeverity(items)).toEqual([
      { severity: "critical", findings: 1 },
      { severity: "low", findings: 2 },
    ]);
  });
});

describe("an approval with groups", () => {
  const [past, future] = ["2026-01-01T00:00:00Z", "2999-01-01T00:00:00Z"];
  const approval = (more: object = {}) =>
    ({
      can_approve: false,
      requested_by: "ann",
      requesters: ["ann", "eve"],
      escalation: {
        announced: 1,
        steps: [
          { group: "on-call", users: ["bob"], from: past },
          { group: "leads", users: ["ruth"], from: future },
        ],
      },
      ...more,
    }) as unknown as ApprovalEntry;

  it("names why a caller cannot approve it", () => {
    expect(["ann", "eve", "ruth", "bob"].map((user) => obstacleOf(approval(), user))).toEqual(["requester", "requester", "turn", "requester"]);
    expect(obstacleOf(approval({ can_approve: true }), "bob")).toBeUndefined();
    expect(obstacleOf(approval({ escalation: undefined }), "bob")).toBe("requester");
  });

  it("is handed on to the next group by a member whose turn has begun", () => {
    expect(nextGroupOf(approval())).toBe("leads");
    expect(nextGroupOf(approval({ escalation: { announced: 0, steps: [] } }))).toBeUndefined();
    expect(["bob", "ruth"].map((user) => isInTurn(approval(), user))).toEqual([true, false]);
  });
});

it("a request has the tokens of its answer and of the run of its change", () => {
  const tokens = { input: 3, output: 4 };
  const answered = { answer: { content: "", metadata: { tokens } }, result: { content: "", metadata: { tokens } } } as unknown as RequestShown;
  expect(tokensOf(answered)).toEqual([tokens, tokens]);
  expect(tokensOf({ answer: null, result: null })).toEqual([]);
});
