/** The steps of a run in time: when each began, how long it took, and how long it waited for a person. */

import type { RunEventShown } from "@charter/client";
import { Text, UnstyledButton } from "@mantine/core";
import { memo, useMemo } from "react";

import { durationOf } from "~/parts/duration";
import type { Tone } from "~/parts/mark";
import { type Span, spansOf } from "~/runs/spans";

/** Steps that are drawn; the journal has all of them. */
const MOST = 200;

const TONES: Record<Span["end"], Tone> = { succeeded: "good", failed: "bad", refused: "bad", open: "info" };

interface Props {
  events: RunEventShown[];
  onStep: (step: string) => void;
}

export const Timeline = memo(function Timeline({ events, onStep }: Props) {
  const spans = useMemo(() => spansOf(events), [events]);
  const first = new Date(events[0]?.at ?? 0).getTime();
  const whole = Math.max(1, new Date(events.at(-1)?.at ?? 0).getTime() - first);
  if (spans.length === 0) return <Text size="sm">No step has begun yet.</Text>;
  return (
    <>
      <Text size="sm" c="dimmed">
        The run took {durationOf(whole)} so far.
        {spans.length > MOST && ` The first ${MOST} of ${spans.length} steps are shown.`}
      </Text>
      <ol className="timeline panel" aria-label="Timeline">
        {spans.slice(0, MOST).map((span) => (
          <li key={span.step}>
            <UnstyledButton className="timeline-step mono" onClick={() => onStep(span.step)} title={span.step}>
              {span.step}
            </UnstyledButton>
            <span className="timeline-line" aria-hidden>
              <span className="timeline-span" data-tone={TONES[span.end]} style={placeOf(span, whole)} />
            </span>
            <span className="timeline-took">{inWordsOf(span, whole)}</span>
          </li>
        ))}
      </ol>
    </>
  );
});

function placeOf({ from, until }: Span, whole: number) {
  const left = (100 * from) / whole;
  const width = (100 * ((until ?? whole) - from)) / whole;
  return { left: `min(${left}%, calc(100% - 3px))`, width: `${width}%` };
}

function inWordsOf({ from, until, waited, attempts, end }: Span, whole: number): string {
  const took = durationOf((until ?? whole) - from - waited);
  const parts = [
    end === "open" ? `${took}, not over` : took,
    ...(waited > 0 ? [`waited ${durationOf(waited)}`] : []),
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
    ...(end === "failed" || end === "refused" ? [end] : []),
  ];
  return parts.join(" · ");
}
