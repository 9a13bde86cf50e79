/** The state of a version of a memory. */

import type { MemoryShown } from "@charter/client";

import { Mark, type Tone } from "~/parts/mark";

const SHOWN: Record<MemoryShown["state"], { tone: Tone; word: string }> = {
  accepted: { tone: "good", word: "in force" },
  proposed: { tone: "warn", word: "proposed" },
  superseded: { tone: "calm", word: "superseded" },
  rejected: { tone: "bad", word: "rejected" },
};

export function StateMark({ shown: { state, proposed, version, removed_at } }: { shown: MemoryShown }) {
  if (removed_at !== undefined) return <Mark>removed</Mark>;
  const { tone, word } = SHOWN[state];
  const waits = proposed !== undefined && proposed !== version;
  return (
    <>
      <Mark tone={tone}>{word}</Mark> {waits && <Mark tone="warn">version {proposed} waits</Mark>}
    </>
  );
}
