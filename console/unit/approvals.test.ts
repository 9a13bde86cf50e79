/** Calls of list approvals: groups, order, and the choice that a decision sends; their form in the plan. */

import type { Approval, ExactCall, RunShown } from "@charter/client";
import { describe, expect, it } from "vitest";

import { callsOf, choiceOf, groupsOf, isCount, needsCount, remainingOf, sortedBy } from "~/approvals/listed";
import { reversalsOf, sourcesOf, stepsOf } from "~/approvals/planned";
import { excludedOf, summaryOf, titleOf } from "~/approvals/words";

const call = (step: string, tool: string, parameters: Record<string, unknown>): ExactCall => ({
  run_id: "run-1",
  step,
  tool,
  tool_hash: "sha256:00",
  parameters,
});

const calls = [
  call("a.1", "yard.drain", { tank: "t-10", site: "north" }),
  call("a.2", "yard.drain", { tank: "t-9", site: "north" }),
  call("b", "yard.close", { gate: "east" }),
];

const of = (list: ExactCall[], more: object = {}) => ({ call: list[0], list, ...more }) as unknown as Approval;

describe("calls of a list", () => {
  it("are grouped by tool, with equal arguments once", () => {
    const [drain, close] = groupsOf(calls);
    expect(drain).toMatchObject({ tool: "yard.drain", common: { site: "north" }, differing: ["tank"] });
    expect(drain?.calls.map(({ step }) => step)).toEqual(["a.1", "a.2"]);
    expect(close).toMatchObject({ tool: "yard.close", common: {}, differing: ["gate"] });
  });

  it("differ in an argument that only some of them have", () => {
    const [group] = groupsOf([call("a", "x", { one: 1 }), call("b", "x", { one: 1, two: null })]);
    expect(group).toMatchObject({ common: { one: 1 }, differing: ["two"] });
  });

  it("are sorted by an argument, with numbers by size", () => {
    expect(sortedBy(calls.slice(0, 2), "tank").map(({ step }) => step)).toEqual(["a.2", "a.1"]);
    expect(sortedBy(calls, "").map(({ step }) => step)).toEqual(["a.1", "a.2", "b"]);
  });

  it("are one call if there is no list", () => {
    expect(callsOf({ call: calls[0] } as unknown as Approval)).toEqual([calls[0]]);
  });
});

describe("a list", () => {
  it("has its tools and the number of its calls as the title", () => {
    expect([of(calls), of(calls.slice(0, 2)), of(calls.slice(0, 1))].map(titleOf)).toEqual([
      "yard.drain and 1 more tool (3 calls)",
      "yard.drain (2 calls)",
      "yard.drain",
    ]);
    expect(summaryOf(of(calls))).toBe("first call: tank: t-10 · site: north");
  });

  it("has the excluded steps of its decision", () => {
    const remainder = { excluded: ["a.2"], digest: "sha256:11" };
    expect(excludedOf(of(calls, { state: "approved", remainder }))).toEqual(["a.2"]);
    expect(excludedOf(of(calls, { state: "pending" }))).toEqual([]);
  });
});

describe("a decision", () => {
  const excluded = new Set(["a.2", "elsewhere"]);

  it("sends excluded steps of the list only", () => {
    expect(choiceOf(of(calls), excluded, "")).toEqual({ exclude: ["a.2"] });
    expect(choiceOf(of(calls), new Set(), "")).toEqual({});
    expect(choiceOf({ call: calls[0] } as unknown as Approval, excluded, "1")).toEqual({});
    expect(remainingOf(of(calls), excluded)).toBe(2);
  });

  it("sends the typed number of calls for a destructive list", () => {
    const destructive = of(calls, { destructive: true });
    expect(needsCount(destructive)).toBe(true);
    expect(choiceOf(destructive, excluded, " 2 ")).toEqual({ exclude: ["a.2"], count: 2 });
    expect(needsCount(of(calls))).toBe(false);
    expect(needsCount({ call: calls[0], destructive: true } as unknown as Approval)).toBe(false);
  });

  it("accepts only the exact number", () => {
    expect(["2", " 2 ", "02"].map((typed) => isCount(typed, 2))).toEqual([true, true, true]);
    expect(["", "3", "2.0", "2e0", "two", "-2"].map((typed) => isCount(typed, 2))).toEqual(Array(6).fill(false));
  });
});

describe("calls in a plan", () => {
  const lock = { do: "call", tool: "lock", parameters: { rules: "${item.rules}", zone: "${user.zone} $${plain.text}" }, writes: true };
  const run = {
    events: [
      {
        event: "started",
        graph: {
          steps: [
            { id: "look", action: { do: "call", tool: "look", parameters: {}, writes: false } },
            { id: "lock", action: { do: "for_each", items: "${look.open}", each: lock } },
          ],
        },
      },
      {
        event: "step_expanded",
        step: "lock",
        growth: {
          steps: [
            { id: "lock.1", action: lock, item: { of: "lock", number: 1, value: {} } },
            { id: "undo.1", reverses: "lock.1", action: { do: "call", tool: "undo", parameters: {}, writes: true } },
          ],
        },
      },
    ],
  } as unknown as RunShown;
  const steps = stepsOf(run);

  it("are the items of repeated steps too, with their reversals", () => {
    expect([...steps.keys()]).toEqual(["look", "lock", "lock.1", "undo.1"]);
    expect(reversalsOf("lock.1", steps).map(({ id }) => id)).toEqual(["undo.1"]);
    expect(reversalsOf("look", steps)).toEqual([]);
  });

  it("have the steps that their values, or the list of their item, come from", () => {
    expect(sourcesOf(steps.get("lock.1"), steps)).toEqual(["look"]);
    expect(sourcesOf(undefined, steps)).toEqual([]);
  });
});
