/** The client against a real server. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { Charter, CharterError, type LinkState, serve, type ToolCall, ToolFailed } from "../src/index.js";
import { Server } from "./server.js";

let server: Server;
let charter: Charter;

beforeAll(async () => {
  server = await Server.start();
  charter = new Charter({ baseUrl: server.url });
}, 90_000);

afterAll(async () => server?.stop());

describe("a call", () => {
  it("answers with data of the described type", async () => {
    const page = await charter.get("/v1/list/{kind}", {
      params: { path: { kind: "domain" }, query: { limit: 2 } },
    });
    expect(page.entries.map(({ kind, status }) => [kind, status])).toEqual([
      ["domain", "active"],
      ["domain", "active"],
    ]);
    expect(page.next).toBe(page.entries[1]?.id);
  });

  it("fails with the code, words and recommendations of Charter", async () => {
    const failure = await failed(charter.get("/v1/resolve/skill/{id}", { params: { path: { id: "no.such" } } }));
    expect([failure.code, failure.status, failure.isTransient]).toEqual(["not_found", 404, false]);
    expect(failure.message).toContain("no.such");
    expect(failure.hint).not.toBe("");
    expect(failure.requestId).toMatch(/^[0-9a-f-]{36}$|^req/);
  });

  it("fails as unreachable where nobody answers", async () => {
    const nobody = new Charter({ baseUrl: "http://127.0.0.1:9" });
    const failure = await failed(nobody.get("/v1/packages"));
    expect([failure.code, failure.status, failure.isTransient]).toEqual(["unreachable", 0, true]);
  });

  it("fails as not Charter's where something else answers", async () => {
    const proxy = new Charter({
      baseUrl: server.url,
      fetch: async () => new Response("<html>Bad gateway</html>", { status: 502 }),
    });
    const failure = await failed(proxy.get("/v1/packages"));
    expect([failure.code, failure.status]).toEqual(["not_charter", 502]);
  });

  it("is aborted by its signal", async () => {
    const abort = AbortSignal.abort();
    await expect(charter.get("/v1/packages", { signal: abort })).rejects.toMatchObject({ name: "AbortError" });
  });
});

describe("a stream of events", () => {
  it("tells what happens, and goes on after the event that was seen last", async () => {
    const ended = new AbortController();
    const states: LinkState[] = [];
    const first = charter.streamEvents({ signal: ended.signal, onState: (state) => states.push(state) });
    const coming = first.next();
    await until(() => states.includes("open"));
    await server.registerOwn("cost-hygiene");
    const seen = (await coming).value;
    expect(seen?.topic).toBe("catalogue.changed");
    await charter.delete("/v1/packages/{name}", {
      params: { path: { name: "cost-hygiene" } },
    });
    ended.abort();
    const again = charter.streamEvents({ after: seen?.id });
    const next = (await again.next()).value;
    await again.return();
    expect(Number(next?.id)).toBeGreaterThan(Number(seen?.id));
    expect(next?.topic).toBe("catalogue.changed");
  }, 60_000);

  it("is taken up again with the last id when the connection breaks", async () => {
    const asked: (string | null)[] = [];
    const breaking = new Charter({
      baseUrl: server.url,
      fetch: async (request) => {
        asked.push(request.headers.get("last-event-id"));
        const text = `id: ${asked.length}\r\nevent: run.status\r\ndata: {"n":\ndata: ${asked.length}}\r\n\r\n: alive\n\nid: 9\ndata: {"cut`;
        return new Response(text, { headers: { "content-type": "text/event-stream" } });
      },
    });
    const stream = breaking.streamEvents<{ n: number }>();
    const seen = [(await stream.next()).value, (await stream.next()).value];
    await stream.return();
    expect(seen).toEqual([
      { id: "1", topic: "run.status", data: { n: 1 } },
      { id: "2", topic: "run.status", data: { n: 2 } },
    ]);
    expect(asked).toEqual([null, "1"]);
  });

  it("fails when the key is not valid", async () => {
    const locked = await Server.start({}, async (call) => {
      await call("key", "--tenant", "acme", "create", "root", "--role", "admin", "--user", "ann");
    });
    try {
      const wrong = new Charter({ baseUrl: locked.url, key: "chk_no" });
      const failure = await failed(wrong.streamEvents().next());
      expect([failure.code, failure.status]).toEqual(["unauthenticated", 401]);
    } finally {
      await locked.stop();
    }
  }, 90_000);
});

/** A tool that an executor carries out. */
const PRINT = `
tool_id: press.print_notice
name: print_notice
provider: press
service: posters
tool_class: readonly
domain: reliability
description: Sets the text of a notice and says how many lines a poster of it has.
parameters:
  - { name: text, type: string, required: true, description: What the notice says }
output_schema: { type: object, required: [lines], properties: { lines: { type: integer } } }
execution_target: client
language: python
requires_approval: false
timeout_ms: 60000
examples: [what does a poster of the notice look like]
`;

const PRESS = `
name: press
version: 1.0.0
title: A press
description: One tool that a program of its own carries out.
scope: tenant
`;

describe("a tool without an implementation", () => {
  const calls: ToolCall[] = [];
  const failures: (string | undefined)[] = [];

  async function printed(text: string): Promise<unknown> {
    const id = crypto.randomUUID();
    const step = { id: "step-001", tool: "press.print_notice", parameters: { text } };
    const plan = { id: `plan-${id}`, request_id: `req-${id}`, steps: [step] } as never;
    const run = await charter.post("/v1/runs", { body: { execution_plan: plan } });
    const path = { id: run.run_id };
    await expect
      .poll(async () => (await charter.get("/v1/runs/{id}", { params: { path } })).status, { timeout: 30_000 })
      .toMatch(/completed|failed/);
    const { events } = await charter.get("/v1/runs/{id}", { params: { path } });
    return events.flatMap((event) => (event.event === "step_succeeded" ? [event.output] : []))[0];
  }

  it("is carried out by a function, and what that throws is its failure", async () => {
    await charter.post("/v1/packages", {
      body: { files: { "package.yaml": PRESS, "tools/press.print_notice.yaml": PRINT } },
    });
    const ended = new AbortController();
    const typeset = (call: ToolCall) => {
      calls.push(call);
      const lines = String(call.parameters["text"]).split("\n");
      if (lines.length > 2) throw new ToolFailed("the paper is too small");
      return { lines: lines.length };
    };
    const serving = serve(charter, { "press.print_notice": typeset }, {
      executor: "press",
      signal: ended.signal,
      waitMs: 1_000,
      onFailure: ({ code }) => failures.push(code),
    });
    expect(await printed("Closed\non Monday.")).toEqual({ lines: 2 });
    expect(await printed("Sale\nof\nold posters")).toBeUndefined();
    ended.abort();
    await serving;
    expect(calls.map(({ dry_run, idempotency_key }) => [dry_run, idempotency_key !== ""])).toEqual([
      [false, true],
      [false, true],
    ]);
    expect(failures).toEqual([]);
  }, 90_000);

  it("fails when the key is not valid", async () => {
    const refusing = new Charter({
      baseUrl: server.url,
      fetch: async () => Response.json({ error_code: "unauthenticated", user_message: "No." }, { status: 401 }),
    });
    const failure = await failed(serve(refusing, {}));
    expect([failure.code, failure.isTransient]).toEqual(["unauthenticated", false]);
  });
});

async function failed(call: Promise<unknown>): Promise<CharterError> {
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(CharterError);
  return failure as CharterError;
}

async function until(holds: () => boolean): Promise<void> {
  await expect.poll(holds, { timeout: 10_000 }).toBe(true);
}
