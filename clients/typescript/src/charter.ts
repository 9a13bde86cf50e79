/** The client: where the server is, who is asking, and how an answer becomes a value or an error. */

import createClient, { type MaybeOptionalInit } from "openapi-fetch";
import type {
  HttpMethod,
  MediaType,
  PathsWithMethod,
  RequiredKeysOf,
  ResponseObjectMap,
  SuccessResponse,
} from "openapi-typescript-helpers";

import type { paths } from "./generated/openapi.js";
import { CharterError } from "./error.js";
import { follow, type Followed, type FollowOptions } from "./events.js";

/** The header with the token of a console session's page. */
const PAGE_TOKEN = "x-charter-session";

/** Where the server is and who is asking. */
export interface CharterOptions {
  /** The server's address, e.g. `https://charter.example.com`. */
  baseUrl: string;
  /** An API key, or a token of an identity provider; none where a server on loopback needs none. */
  key?: string | undefined;
  /** The `page_token` of a console session, whose cookie the browser sends; calls that may change something need it. */
  pageToken?: string | undefined;
  /** What sends requests; the platform's `fetch` when absent. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
}

/** What is sent with a call; may be left out where nothing of it is required. */
type Sent<Init> =
  RequiredKeysOf<Init> extends never ? [(Init & Record<string, unknown>)?] : [Init & Record<string, unknown>];

/** What an operation answers with. */
type Answer<Operation> =
  Operation extends Record<string | number, unknown>
    ? SuccessResponse<ResponseObjectMap<Operation>, MediaType>
    : never;

/** Calls of one method, by path. */
type Call<Method extends HttpMethod> = <
  Path extends PathsWithMethod<paths, Method>,
  Init extends MaybeOptionalInit<paths[Path], Method>,
>(
  path: Path,
  ...sent: Sent<Init>
) => Promise<Answer<paths[Path][Method & keyof paths[Path]]>>;

/** How a call looks once types are checked. */
type Plain = (path: string, sent?: object) => Promise<{ data?: unknown }>;

/** A client of one server. Every call fails with a `CharterError`, or with what aborted it. */
export class Charter {
  readonly #options: CharterOptions;
  /** Reads. */
  readonly get: Call<"get">;
  /** Begins, decides, searches. */
  readonly post: Call<"post">;
  /** Writes over. */
  readonly put: Call<"put">;
  /** Takes away. */
  readonly delete: Call<"delete">;

  constructor(options: CharterOptions) {
    this.#options = options;
    const send = (request: Request) => this.#send(request);
    const client = createClient<paths>({ baseUrl: options.baseUrl, fetch: send });
    this.get = called(client.GET as unknown as Plain) as Call<"get">;
    this.post = called(client.POST as unknown as Plain) as Call<"post">;
    this.put = called(client.PUT as unknown as Plain) as Call<"put">;
    this.delete = called(client.DELETE as unknown as Plain) as Call<"delete">;
  }

  /** The operation `list_events` as a stream: the tenant's events; `topic` selects some, e.g. `approval`. */
  streamEvents<Data = { at: string; data: Record<string, unknown> }>(
    options: FollowOptions & { topic?: string | undefined } = {},
  ): Followed<Data> {
    const query = options.topic === undefined ? "" : `?topic=${encodeURIComponent(options.topic)}`;
    return this.follow<Data>(`/v1/events${query}`, options);
  }

  /** Follows the stream at a path, e.g. `/v1/missions/ID/events`. */
  follow<Data>(path: string, options: FollowOptions = {}): Followed<Data> {
    return follow<Data>((after, signal) => this.#open(path, after, signal), options);
  }

  /**
   * The response to a GET at a path, for what is not JSON: exports, bundles, files.
   */
  async download(path: string, signal?: AbortSignal): Promise<Response> {
    const init = signal === undefined ? {} : { signal };
    return this.#send(new Request(this.#address(path), init));
  }

  #open(path: string, after: string | undefined, signal: AbortSignal | undefined): Promise<Response> {
    const headers = new Headers({ accept: "text/event-stream" });
    if (after !== undefined) headers.set("last-event-id", after);
    const init: RequestInit = signal === undefined ? { headers } : { headers, signal };
    return this.#send(new Request(this.#address(path), init));
  }

  async #send(request: Request): Promise<Response> {
    const { key, pageToken, fetch = globalThis.fetch } = this.#options;
    if (key !== undefined) request.headers.set("authorization", `Bearer ${key}`);
    else if (pageToken !== undefined && request.method !== "GET") request.headers.set(PAGE_TOKEN, pageToken);
    let response: Response;
    try {
      response = await fetch(request);
    } catch (error) {
      // Who aborted a call hears of it as the platform says it.
      if (request.signal.aborted) throw error;
      throw CharterError.unreachable(this.#options.baseUrl, error);
    }
    if (!response.ok) throw await CharterError.of(response);
    return response;
  }

  #address(path: string): string {
    return `${this.#options.baseUrl.replace(/\/+$/, "")}${path}`;
  }
}

/** A call that answers with its data: errors were thrown when the response came. */
function called(call: Plain): unknown {
  return async (path: string, sent?: object) => (await call(path, sent)).data;
}
