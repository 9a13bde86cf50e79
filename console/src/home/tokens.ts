/** The tokens that models used for a request. */

import type { RequestShown, TokenUsage } from "@charter/client";

/** The tokens of an answer, and of the run of a change. */
export function tokensOf({ answer, result }: Pick<RequestShown, "answer" | "result">): TokenUsage[] {
  const answered = answer !== null && "content" in answer ? answer.metadata?.tokens : undefined;
  return [answered, result?.metadata?.tokens].flatMap((tokens) => tokens ?? []);
}
