/** A word for a status. The colour is never the only sign of it. */

import type { ReactNode } from "react";

/** The tone of a status. */
export type Tone = "good" | "warn" | "bad" | "info" | "calm";

export function Mark({ tone = "calm", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className="mark" data-tone={tone}>
      {children}
    </span>
  );
}
