/** Moves through a run's journal, event by event. */

import type { RunEventShown } from "@charter/client";
import { ActionIcon, Slider, Text, Tooltip } from "@mantine/core";
import { IconPlayerSkipBack, IconPlayerSkipForward, IconPlayerTrackNext, IconPlayerTrackPrev } from "@tabler/icons-react";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useState } from "react";

import { inWords } from "~/runs/words";

interface Props {
  events: RunEventShown[];
  /** The event that is shown. */
  at: number;
  onSeek: (sequence: number) => void;
}

/** How long the thumb rests before the page goes there, in milliseconds: a key that is held repeats faster. */
const RESTS_MS = 80;

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

export function Scrubber({ events, at, onSeek }: Props) {
  const last = events.at(-1)?.sequence ?? 1;
  // The thumb moves at once; the page follows when it rests.
  const [value, setValue] = useState(at);
  useEffect(() => setValue(at), [at]);
  const rested = useDebouncedCallback(onSeek, RESTS_MS);
  const event = events[value - 1];
  const seek = (to: number) => onSeek(Math.min(last, Math.max(1, to)));
  const button = (label: string, to: number, Icon: typeof IconPlayerSkipBack, disabled: boolean) => (
    <Tooltip label={label}>
      <ActionIcon variant="default" onClick={() => seek(to)} disabled={disabled} aria-label={label}>
        <Icon size={16} />
      </ActionIcon>
    </Tooltip>
  );
  return (
    <div className="panel scrubber" role="group" aria-label="Replay">
      <span className="scrubber-buttons">
        {button("First event", 1, IconPlayerSkipBack, at <= 1)}
        {button("Event before", at - 1, IconPlayerTrackPrev, at <= 1)}
        {button("Event after", at + 1, IconPlayerTrackNext, at >= last)}
        {button("Last event", last, IconPlayerSkipForward, at >= last)}
      </span>
      <Slider
        className="scrubber-slider"
        thumbLabel="Event"
        thumbProps={{ "aria-valuetext": spoken(event, value, last) }}
        min={1}
        max={Math.max(2, last)}
        step={1}
        value={value}
        onChange={(to) => {
          setValue(to);
          rested(to);
        }}
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
