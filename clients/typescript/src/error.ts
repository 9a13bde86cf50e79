/** The one error that calls fail with. */

/** What may be done about an error, as the server recommends it. */
export interface Recommendation {
  /** `user_action`, `system_retry`, `alternative_approach` or `contact_support`. */
  kind: string;
  /** For people. */
  text: string;
}

/** What an error is made of. */
interface Parts {
  code: string;
  status: number;
  message: string;
  recommendations: Recommendation[];
  details: Readonly<Record<string, unknown>>;
  requestId?: string | undefined;
  retryAfterS?: number | undefined;
}

/** The code of a call that no server answered. It is this client's, not one of Charter's. */
export const UNREACHABLE = "unreachable";

/** The code of an answer that is not Charter's, such as a proxy's. It is this client's too. */
export const NOT_CHARTER = "not_charter";

/** A call that failed: Charter's stable code, its words, and what it recommends. */
export class CharterError extends Error {
  override readonly name = "CharterError";
  /** One of Charter's error codes, `unreachable` or `not_charter`. */
  readonly code: string;
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  /** What may be done about it. */
  readonly recommendations: readonly Recommendation[];
  /** What else is known: problems of a document, the rule that refused, the page of documentation. */
  readonly details: Readonly<Record<string, unknown>>;
  /** What to name when asking for help. */
  readonly requestId: string | undefined;
  /** After how many seconds another try may succeed, where the server said so. */
  readonly retryAfterS: number | undefined;

  constructor(parts: Parts, options?: ErrorOptions) {
    super(parts.message, options);
    this.code = parts.code;
    this.status = parts.status;
    this.recommendations = parts.recommendations;
    this.details = parts.details;
    this.requestId = parts.requestId;
    this.retryAfterS = parts.retryAfterS;
  }

  /** The first thing to do, in words; absent where nothing is recommended. */
  get hint(): string | undefined {
    return this.recommendations[0]?.text;
  }

  /** Whether the same call may succeed later without anybody doing anything. */
  get isTransient(): boolean {
    return (
      this.code === UNREACHABLE ||
      this.retryAfterS !== undefined ||
      this.recommendations.some(({ kind }) => kind === "system_retry")
    );
  }

  /** The error that a failed response carries. */
  static async of(response: Response): Promise<CharterError> {
    const text = await response.text();
    const body = parsed(text);
    const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
    const retryAfterS = Number.isFinite(retryAfter) ? retryAfter : undefined;
    const code = body?.["error_code"];
    if (body === undefined || typeof code !== "string") {
      return new CharterError({
        code: NOT_CHARTER,
        status: response.status,
        message: `The answer ${response.status} is not Charter's: ${text.slice(0, 200) || "it is empty"}`,
        recommendations: [{ kind: "user_action", text: "Check the address, and proxies on the way." }],
        details: {},
        retryAfterS,
      });
    }
    return new CharterError({
      code,
      status: response.status,
      message: String(body["user_message"] ?? code),
      recommendations: recommended(body["recommended_actions"]),
      details: record(body["technical_details"]) ?? {},
      requestId: typeof body["request_id"] === "string" ? body["request_id"] : undefined,
      retryAfterS,
    });
  }

  /** The error of a call that nobody answered. */
  static unreachable(address: string, cause: unknown): CharterError {
    const parts: Parts = {
      code: UNREACHABLE,
      status: 0,
      message: `No Charter server answers at ${address}.`,
      recommendations: [{ kind: "user_action", text: "Start one with `charter serve`, or check the address." }],
      details: {},
    };
    return new CharterError(parts, { cause });
  }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return record(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function record(value: unknown): Record<string, unknown> | undefined {
  const isRecord = typeof value === "object" && value !== null && !Array.isArray(value);
  return isRecord ? (value as Record<string, unknown>) : undefined;
}

function recommended(value: unknown): Recommendation[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry) => {
    const action = record(entry);
    if (action === undefined) return [];
    return [{ kind: String(action["action_type"]), text: String(action["description"]) }];
  });
}
