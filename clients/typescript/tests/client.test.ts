/** The client against a real server. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { Charter, CharterError, type LinkState } from "../src/index.js";
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
    const first = charter.events({ signal: ended.signal, onState: (state) => states.push(state) });
    const coming = first.next();
    await until(() => states.includes("open"));
    await server.registerOwn("cost-hygiene");
    const seen = (await coming).value;
    expect(seen?.topic).toBe("catalogue.changed");
    await charter.delete("/v1/packages/{name}", {
      params: { path: { name: "cost-hygiene" } },
    });
    ended.abort();
    const again = charter.events({ after: seen?.id });
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
    const stream = breaking.events<{ n: number }>();
    const seen = [(await stream.next()).value, (await stream.next()).value];
    await stream.return();
    expect(seen).toEqual([
      { id: "1", topic: "run.status", data: { n: 1 } },
      { id: "2", topic: "run.status", data: { n: 2 } },
    ]);
    expect(asked).toEqual([null, "1"]);
  });

  it("fails when the key lets nobody in", async () => {
    const locked = await Server.start({}, async (call) => {
      await call("key", "--tenant", "acme", "create", "root", "--role", "admin", "--user", "ann");
    });
    try {
      const wrong = new Charter({ baseUrl: locked.url, key: "chk_no" });
      const failure = await failed(wrong.events().next());
      expect([failure.code, failure.status]).toEqual(["unauthenticated", 401]);
    } finally {
      await locked.stop();
    }
  }, 90_000);
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
