/** A word that says how something stands. The colour never says it alone. */

import type { ReactNode } from "react";

/** How something stands. */
export type Tone = "good" | "warn" | "bad" | "info" | "calm";

export function Mark({ tone = "calm", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className="mark" data-tone={tone}>
      {children}
    </span>
  );
}
