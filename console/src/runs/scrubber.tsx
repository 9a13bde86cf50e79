/** Moves through a run's journal, event by event. */

import type { RunEventShown } from "@charter/client";
import { ActionIcon, Slider, Text, Tooltip } from "@mantine/core";
import { IconPlayerSkipBack, IconPlayerSkipForward, IconPlayerTrackNext, IconPlayerTrackPrev } from "@tabler/icons-react";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";

import { inWords } from "~/runs/words";

interface Props {
  events: RunEventShown[];
  /** The event that is shown. */
  at: number;
  /** Goes to an event; to the last one, whichever it is by then, for what is beyond all. */
  onSeek: (sequence: number) => void;
}

/** Where the thumb is while the page is not there yet. */
interface Place {
  to: number;
  /** Of a run that goes on, the last event is soon another one. */
  isLast: boolean;
}

/** How long the thumb rests before the page goes there, in milliseconds: a key that is held repeats faster. */
const RESTS_MS = 80;

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

export function Scrubber({ events, at, onSeek }: Props) {
  const last = events.at(-1)?.sequence ?? 1;
  // The thumb moves at once. The page follows the first move at once, and further ones when the thumb rests; until it
  // is there, what it comes by on its way does not move the thumb back.
  const [ahead, setAhead] = useState<Place>();
  const value = ahead?.to ?? at;
  const isThere = ahead !== undefined && (ahead.isLast ? at >= ahead.to : at === ahead.to);
  useEffect(() => {
    if (isThere) setAhead(undefined);
  }, [isThere]);
  const rested = useDebouncedCallback(onSeek, RESTS_MS);
  const moved = useRef(Number.NEGATIVE_INFINITY);
  const move = (wanted: number) => {
    const to = Math.min(last, Math.max(1, wanted));
    const isLast = to === last;
    setAhead({ to, isLast });
    const now = performance.now();
    // A page that is busy may be late with what rested.
    rested.cancel();
    const seek = now - moved.current > RESTS_MS ? onSeek : rested;
    seek(isLast ? Number.POSITIVE_INFINITY : to);
    moved.current = now;
  };
  const event = events[value - 1];
  const button = (label: string, to: number, Icon: typeof IconPlayerSkipBack, disabled: boolean) => (
    <Tooltip label={label} withinPortal={false}>
      <ActionIcon variant="default" onClick={() => move(to)} disabled={disabled} aria-label={label}>
        <Icon size={16} />
      </ActionIcon>
    </Tooltip>
  );
  return (
    <div className="panel scrubber" role="group" aria-label="Replay">
      <span className="scrubber-buttons">
        {button("First event", 1, IconPlayerSkipBack, value <= 1)}
        {button("Event before", value - 1, IconPlayerTrackPrev, value <= 1)}
        {button("Event after", value + 1, IconPlayerTrackNext, value >= last)}
        {button("Last event", last, IconPlayerSkipForward, value >= last)}
      </span>
      <Slider
        className="scrubber-slider"
        thumbLabel="Event"
        thumbProps={{ "aria-valuetext": spoken(event, value, last) }}
        min={1}
        max={Math.max(2, last)}
        step={1}
        value={value}
        onChange={move}
        label={null}
        size="sm"
        disabled={last < 2}
      />
      <Text size="sm" className="scrubber-word" component="span">
        {spoken(event, value, last)}
      </Text>
    </div>
  );
}

function spoken(event: RunEventShown | undefined, at: number, last: number): string {
  if (event === undefined) return `${at} of ${last}`;
  const step = "step" in event ? ` ${event.step}` : "";
  return `${at} of ${last} · ${clock.format(new Date(event.at))} · ${inWords(event.event)}${step}`;
}
