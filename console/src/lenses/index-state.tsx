/** The state of the index of a lens. */

import type { LensShown } from "@charter/client";

import { Mark } from "~/parts/mark";

export function IndexState({ lens: { index, indexing, last } }: { lens: LensShown }) {
  if (indexing !== null) {
    const far = indexing.stage === "embedding" ? `embedded ${indexing.done} of ${indexing.of}` : indexing.stage;
    return <Mark tone="info">{far}</Mark>;
  }
  if (last !== null && "failed" in last) return <Mark tone="bad">the last try failed</Mark>;
  if (index === null) return <Mark tone="warn">not indexed</Mark>;
  if (index.model_changed) return <Mark tone="warn">of another model</Mark>;
  return <Mark tone="good">{index.model === null ? "words only" : "words and meaning"}</Mark>;
}
