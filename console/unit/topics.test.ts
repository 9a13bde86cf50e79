/** Which answers an event makes stale, and reading them again one at a time. */

import { describe, expect, it } from "vitest";

import { oneAtATime } from "~/live/one-at-a-time";
import { touchedBy } from "~/live/topics";

describe("an event", () => {
  it.each([
    ["run.status", ["runs", "approvals", "missions", "evidence", "requests", "notifications"]],
    ["request.result", ["requests"]],
    ["approval.requested", ["approvals", "runs", "missions", "notifications"]],
    ["approval.escalated", ["approvals", "runs", "missions", "notifications"]],
    ["catalogue.changed", ["catalogue", "packages", "routing", "lenses", "graph", "skills"]],
    ["route_example.accepted", ["routing"]],
    ["key.revoked", ["keys"]],
    ["schedule.ended", ["schedules", "requests", "runs", "missions"]],
    ["finding.new", ["schedules", "notifications"]],
  ])("of the topic %s makes what it touches stale", (topic, features) => {
    expect(touchedBy(topic)).toEqual(features);
  });

  it("of an unknown topic touches nothing", () => {
    for (const topic of ["", "run", "runs.status", "account.connected"]) expect(touchedBy(topic), topic).toEqual([]);
  });
});

describe("reading again", () => {
  it("reads once more, and not once for each event, when events came meanwhile", async () => {
    const ends: (() => void)[] = [];
    const again = oneAtATime(() => new Promise<void>((done) => ends.push(done)));
    again();
    for (let event = 0; event < 5; event++) again();
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await expect.poll(() => ends.length).toBe(2);
    ends[1]?.();
    await Promise.resolve();
    expect(ends).toHaveLength(2);
    await expect
      .poll(() => {
        again();
        return ends.length;
      })
      .toBe(3);
  });
});
