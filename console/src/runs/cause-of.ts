/** The cause of a run's end, read from its outcome and its steps. */

import type { RunShown } from "@charter/client";

import { inWords, isWrong } from "~/runs/words";

/** Why a run ended as it did. */
export interface RunCause {
  /** The code of the failure. */
  code?: string | undefined;
  message: string;
  step?: string | undefined;
  /** Whether the same call may succeed later. */
  retryable?: boolean | undefined;
  /** Steps whose writes could not be taken back. */
  left: string[];
}

/** The cause; absent for a run that continues or has succeeded. */
export function causeOf(run: Pick<RunShown, "status" | "outcome" | "steps">): RunCause | undefined {
  if (!isWrong(run.status)) return undefined;
  const { outcome } = run;
  const left = outcome !== null && "left" in outcome ? outcome.left : [];
  const cause = outcome !== null && "cause" in outcome ? outcome.cause : undefined;
  if (cause?.because === "failure") {
    const { failure, step } = cause;
    return { code: failure.code, message: failure.message, step, retryable: failure.retryable, left };
  }
  if (cause?.because === "aborted") return { message: `Aborted by ${cause.by}${cause.reason === "" ? "." : `: ${cause.reason}`}`, left };
  const failed = run.steps.find(({ state }) => state === "failed");
  if (failed?.state === "failed") {
    const { failure, step } = failed;
    return { code: failure.code, message: failure.message, step, retryable: failure.retryable, left };
  }
  if (cause !== undefined) return { message: sentenceOf(cause.because), left };
  if (run.status === "incomplete") return { message: "It ended without all of the evidence that it has to leave.", left };
  return { message: `It ended ${inWords(run.status)}.`, left };
}

const SENTENCES: Record<string, string> = {
  timed_out: "Its time was over.",
  token_budget_exhausted: "Its token budget was used up.",
};

function sentenceOf(because: string): string {
  return SENTENCES[because] ?? `It ended because of this: ${inWords(because)}.`;
}
