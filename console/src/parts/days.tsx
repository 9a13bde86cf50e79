/** A filter of time: from one day until another, both of them included, as they are where the reader is. */

import { Button, Group, Text, TextInput } from "@mantine/core";

import { textOf } from "~/parts/search-params";

/** Days in the query of an address: `2026-03-01`. */
export interface Days {
  from?: string | undefined;
  until?: string | undefined;
}

/** Reads days from an address. */
export function daysOf(raw: Record<string, unknown>) {
  return { from: dayOf(raw, "from"), until: dayOf(raw, "until") };
}

function dayOf(raw: Record<string, unknown>, name: string): string | undefined {
  const text = textOf(raw, name);
  return text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(new Date(text).getTime()) ? text : undefined;
}

/** When the first day begins, and when the last one is over, as the server takes them. */
export function momentsOf({ from, until }: Days): { from?: string; until?: string } {
  return {
    ...(from === undefined ? {} : { from: midnight(from, 0) }),
    ...(until === undefined ? {} : { until: midnight(until, 1) }),
  };
}

function midnight(day: string, later: number): string {
  const time = new Date(`${day}T00:00:00`);
  time.setDate(time.getDate() + later);
  return time.toISOString();
}

interface Props {
  /** What happened on those days: `Captured`. */
  what: string;
  days: Days;
  onChange: (to: Days) => void;
}

export function DayFields({ what, days, onChange }: Props) {
  const field = (bound: "from" | "until") => (
    <TextInput
      type="date"
      aria-label={`${what} ${bound}`}
      leftSection={
        <Text size="xs" c="dimmed" aria-hidden>
          {bound === "from" ? "From" : "Until"}
        </Text>
      }
      leftSectionWidth={44}
      value={days[bound] ?? ""}
      w={180}
      onChange={(event) => onChange({ [bound]: event.currentTarget.value || undefined })}
    />
  );
  return (
    <>
      {field("from")}
      {field("until")}
    </>
  );
}

const spelled = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });

/** Where no entry fits: which days were looked at, and how more are. */
export function WiderDays({ what, days, onChange }: Props) {
  const { from, until } = days;
  if (from === undefined && until === undefined) return null;
  const said = (bound: string, day: string | undefined) =>
    day === undefined ? "" : ` ${bound} ${spelled.format(new Date(`${day}T00:00:00`))}`;
  return (
    <>
      <Text mt={6}>
        Only what was {what.toLowerCase()}
        {said("from", from)}
        {said("until", until)} was looked at.
      </Text>
      <Group mt="sm" gap="sm">
        {from !== undefined && (
          <Button variant="default" size="compact-sm" onClick={() => onChange({ from: undefined })}>
            Any earlier day too
          </Button>
        )}
        {until !== undefined && (
          <Button variant="default" size="compact-sm" onClick={() => onChange({ until: undefined })}>
            Any later day too
          </Button>
        )}
      </Group>
    </>
  );
}
