/**
 * Server-sent events over `fetch`. A browser's EventSource cannot send an API key, and says nothing of
 * why a stream ended.
 */

import { CharterError } from "./error.js";

/** One event of a stream. */
export interface ServerEvent<Data = unknown> {
  /** What a stream is taken up after; absent where the server gives none. */
  id: string | undefined;
  /** What happened, e.g. `approval.requested`. */
  topic: string;
  /** What the server says about it. */
  data: Data;
}

/** Where a stream stands. */
export type LinkState = "connecting" | "open" | "broken";

/** How a stream is followed. */
export interface FollowOptions {
  /** Only what comes after the event of this id. */
  after?: string | undefined;
  /** Ends the stream. */
  signal?: AbortSignal | undefined;
  /** Told whenever the state changes; `broken` comes with the error that broke the stream. */
  onState?: ((state: LinkState, error?: CharterError) => void) | undefined;
  /**
   * Whether a stream that the server ended is taken up again. A stream of the tenant's events has no
   * end; that of a mission ends with the mission. `true` when absent.
   */
  endless?: boolean | undefined;
}

/** Events as they happen. */
export type Followed<Data> = AsyncGenerator<ServerEvent<Data>, void, void>;

/** The first pause before a broken stream is taken up again, in milliseconds; it doubles. */
const FIRST_PAUSE_MS = 500;

/** The longest pause, in milliseconds. */
const LONGEST_PAUSE_MS = 15_000;

/** The longest event that is taken, in characters: a stream without line ends must not fill the memory. */
const LONGEST_EVENT = 16 << 20;

/** Opens a stream after the event of an id; fails with a `CharterError`. */
export type Open = (after: string | undefined, signal: AbortSignal | undefined) => Promise<Response>;

/**
 * Follows a stream over broken connections: each is taken up after the last event that was seen.
 *
 * Ends when `signal` does, or when the server ends a stream that is not endless. Fails with what will
 * not go away by waiting, such as a key that lets nobody in any more.
 */
export async function* follow<Data>(open: Open, options: FollowOptions = {}): Followed<Data> {
  const { signal, onState, endless = true } = options;
  let after = options.after;
  let pause = FIRST_PAUSE_MS;
  const isOver = () => signal?.aborted === true;
  while (!isOver()) {
    onState?.("connecting");
    try {
      const response = await open(after, signal);
      onState?.("open");
      for await (const event of events<Data>(response)) {
        after = event.id ?? after;
        pause = FIRST_PAUSE_MS;
        yield event;
      }
      if (!endless) return;
      onState?.("broken");
    } catch (error) {
      if (isOver()) return;
      const broken = error instanceof CharterError ? error : CharterError.unreachable("the stream", error);
      onState?.("broken", broken);
      if (!broken.isTransient) throw broken;
      pause = Math.max(pause, (broken.retryAfterS ?? 0) * 1_000);
    }
    await elapsed(pause, signal);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

/** The events of one response, until it ends. */
async function* events<Data>(response: Response): AsyncGenerator<ServerEvent<Data>, void, void> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const draft = new Draft();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value;
      if (rest.length > LONGEST_EVENT) {
        throw new RangeError(`an event has more than ${LONGEST_EVENT} characters`);
      }
      // A carriage return at the end may be the first half of a line end.
      const whole = rest.endsWith("\r") ? rest.slice(0, -1) : rest;
      const lines = whole.split(/\r\n|\r|\n/);
      rest = (lines.pop() ?? "") + rest.slice(whole.length);
      for (const line of lines) {
        const event = draft.take(line);
        if (event !== undefined) yield { ...event, data: JSON.parse(event.data) as Data };
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** An event whose lines are still coming. */
class Draft {
  #topic = "message";
  #data: string[] = [];
  #id: string | undefined;

  /** Takes a line; an empty one ends the event. */
  take(line: string): ServerEvent<string> | undefined {
    if (line === "") return this.#end();
    const at = line.indexOf(":");
    // A line that begins with a colon is a comment, which keeps the connection alive.
    if (at === 0) return undefined;
    const field = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (field === "event") this.#topic = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id") this.#id = value;
    return undefined;
  }

  #end(): ServerEvent<string> | undefined {
    const [topic, data] = [this.#topic, this.#data];
    this.#topic = "message";
    this.#data = [];
    if (data.length === 0) return undefined;
    return { id: this.#id, topic, data: data.join("\n") };
  }
}

export function elapsed(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
    signal?.addEventListener("abort", done);
  });
}
