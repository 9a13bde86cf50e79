/**
 * Tools without an implementation of their own, carried out by functions of this program.
 *
 * A call that was taken is leased for `lease_ms`. The first renewal starts it, and each further renewal extends the
 * lease. `docs/reference/executor.md` has the whole protocol.
 */

import type { Charter } from "./charter.js";
import type { components } from "./generated/openapi.js";
import { CharterError } from "./error.js";
import { elapsed } from "./events.js";

/** A call of a tool: its parameters, its idempotency key, whether only to say what would be done. */
export type ToolCall = components["schemas"]["executor_call"];
/** What came of one. */
export type ToolOutcome = components["schemas"]["executor_outcome"];

/** Carries out a call and returns the result, which is sent as JSON. `signal` is aborted when no result is needed. */
export type Handler = (call: ToolCall, signal: AbortSignal) => unknown;

/** How calls are served. */
export interface ServeOptions {
  /** What the server's messages call this program. */
  executor?: string | undefined;
  /** Ends serving, after the call that is under way. */
  signal?: AbortSignal | undefined;
  /** How long the server keeps a question open when it has no call, in milliseconds; at most 30,000. */
  waitMs?: number | undefined;
  /** Told of what is tried again, and with `call` of a call that was given up. */
  onFailure?: ((error: CharterError, call?: ToolCall) => void) | undefined;
}

type Failure = Extract<ToolOutcome["result"], { status: "failed" }>;

/** How long the server keeps a question open, in milliseconds. */
const WAIT_MS = 20_000;

/** The first pause after a server that gave no call, in milliseconds; it doubles. */
const FIRST_PAUSE_MS = 500;

/** The longest pause, in milliseconds. */
const LONGEST_PAUSE_MS = 15_000;

/** The longest message of a failure that the server takes, in bytes. */
const MESSAGE_BYTES = 8 << 10;

/** Renewals in one term of a lease. */
const RENEWALS = 3;

/** Thrown by a handler whose tool failed. Anything else that is thrown says the same, with nothing known about it. */
export class ToolFailed extends Error {
  override readonly name = "ToolFailed";
  /** The kind of failure. */
  readonly errorType: Failure["error_type"];
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** Whether the tool did what it was asked, or may have, though there is no result. */
  readonly answered: boolean;

  constructor(
    message: string,
    known: { errorType?: Failure["error_type"]; retryable?: boolean; answered?: boolean } = {},
  ) {
    super(message);
    this.errorType = known.errorType ?? "execution_error";
    this.retryable = known.retryable ?? false;
    this.answered = known.answered ?? false;
  }
}

/**
 * Carries out calls of tools without an implementation, one after the other, until `signal` is aborted. It takes an
 * operator's key. Throws on errors that waiting does not remove, such as a revoked key.
 */
export async function serve(
  charter: Charter,
  handlers: Readonly<Record<string, Handler>>,
  options: ServeOptions = {},
): Promise<void> {
  const { executor = "typescript", signal, waitMs = WAIT_MS, onFailure } = options;
  const body = { executor, wait_ms: waitMs, handlers: Object.keys(handlers), only_handlers: true };
  const init = signal === undefined ? { body } : { body, signal };
  const isOver = () => signal?.aborted === true;
  let pause = FIRST_PAUSE_MS;
  while (!isOver()) {
    try {
      const call = (await charter.post("/v1/executor/leases", init)) as ToolCall | undefined;
      pause = FIRST_PAUSE_MS;
      const handler = call === undefined ? undefined : handlers[call.tool_id];
      if (call !== undefined && handler !== undefined) await carryOut(charter, call, handler, onFailure);
    } catch (error) {
      if (isOver()) return;
      if (!(error instanceof CharterError) || !error.isTransient) throw error;
      onFailure?.(error);
      await elapsed(Math.max(pause, (error.retryAfterS ?? 0) * 1_000), signal);
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    }
  }
}

/** Begins a call that was taken, holds it while the handler works, and reports what came of it. */
async function carryOut(
  charter: Charter,
  call: ToolCall,
  handler: Handler,
  onFailure: ServeOptions["onFailure"],
): Promise<void> {
  const params = { path: { id: call.lease_id } };
  const renew = () => charter.post("/v1/executor/leases/{id}/renew", { params });
  const lost = new AbortController();
  const hold = async () => {
    try {
      await renew();
    } catch (error) {
      if (!(error instanceof CharterError)) throw error;
      if (error.code === "illegal_transition") lost.abort(error);
      else onFailure?.(error, call);
    }
  };
  try {
    await renew();
    const holding = setInterval(() => void hold(), call.lease_ms / RENEWALS);
    const outcome = await outcomeOf(call, () => handler(call, lost.signal));
    clearInterval(holding);
    lost.signal.throwIfAborted();
    await report(charter, call, outcome);
  } catch (error) {
    if (!(error instanceof CharterError)) throw error;
    // The server knows that nothing was reported, and who is to hear of it.
    onFailure?.(error, call);
  }
}

/** Reports. A result that is not taken is reported as one: the tool has done what it was asked. */
async function report(charter: Charter, call: ToolCall, outcome: ToolOutcome): Promise<void> {
  const params = { path: { id: call.lease_id } };
  const send = (body: ToolOutcome) => charter.post("/v1/executor/leases/{id}/outcome", { params, body });
  try {
    await send(outcome);
  } catch (error) {
    const tooMuch = error instanceof CharterError && ["too_large", "invalid_document"].includes(error.code);
    if (!tooMuch) throw error;
    const message = `the server rejected the result: ${error.message}`;
    await send(failed(new ToolFailed(message, { errorType: "resource_error", answered: true }), outcome.duration_ms));
  }
}

/** What the server is told of a handler's work. */
export async function outcomeOf(call: ToolCall, work: () => unknown): Promise<ToolOutcome> {
  const began = performance.now();
  const took = () => Math.round(performance.now() - began);
  let output: unknown;
  try {
    output = (await work()) ?? null;
  } catch (error) {
    return failed(error, took());
  }
  try {
    const bytes = new TextEncoder().encode(JSON.stringify(output) ?? "null").length;
    if (bytes <= call.output_bytes) return { result: { status: "succeeded", output }, log: "", duration_ms: took() };
    const message = `the result has ${bytes} bytes; the limit is ${call.output_bytes}`;
    return failed(new ToolFailed(message, { errorType: "resource_error", answered: true }), took());
  } catch (error) {
    return failed(new ToolFailed(`the result is not JSON: ${worded(error)}`, { answered: true }), took());
  }
}

function failed(error: unknown, durationMs: number): ToolOutcome {
  const known = error instanceof ToolFailed ? error : new ToolFailed(worded(error));
  const bytes = new TextEncoder().encode(known.message.trim() || "it failed").subarray(0, MESSAGE_BYTES);
  const result: Failure = {
    status: "failed",
    error_type: known.errorType,
    // A character that was cut through is left out.
    message: new TextDecoder().decode(bytes, { stream: true }),
    retryable: known.retryable,
    answered: known.answered,
  };
  return { result, log: "", duration_ms: durationMs };
}

function worded(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
