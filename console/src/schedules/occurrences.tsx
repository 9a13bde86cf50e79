/** The occurrences of a schedule, latest first, with the numbers of their reports. */

import type { ScheduleOccurrence } from "@charter/client";
import { Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import type { Column } from "~/parts/listing";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { Paged } from "~/parts/paged";
import { usePages } from "~/parts/pages";
import { Section } from "~/parts/section";
import { isUnfinished, numbersOf, OCCURRENCE_TONES } from "~/schedules/words";
import { Started } from "~/schedules/work";
import { useCharter } from "~/session/session";

/** Occurrences of one page. */
const PAGE = 50;

export function Occurrences({ schedule }: { schedule: string }) {
  const charter = useCharter();
  const pages = usePages<ScheduleOccurrence>(
    ["schedules", "occurrences", schedule],
    (after) =>
      charter.get("/v1/schedules/{id}/occurrences", {
        params: { path: { id: schedule }, query: { limit: PAGE, ...(after === undefined ? {} : { after }) } },
      }),
    isUnfinished,
  );
  return (
    <Section title="Occurrences" lead="Latest first. Findings are compared with those of the previous occurrence.">
      <Paged
        pages={pages}
        label="Occurrences"
        columns={COLUMNS}
        rowKey={({ occurrence }) => occurrence}
        className="outputs"
        empty={<Text size="sm">No occurrence yet.</Text>}
      />
    </Section>
  );
}

const COLUMNS: Column<ScheduleOccurrence>[] = [
  { name: "Time", width: "9rem", cell: ({ due_at: at }) => <Moment at={at} /> },
  { name: "State", width: "7rem", cell: ({ state }) => <Mark tone={OCCURRENCE_TONES[state]}>{state}</Mark> },
  {
    name: "Report",
    width: "minmax(14rem, 1.4fr)",
    cell: ({ schedule_id: schedule, occurrence, report }) =>
      report !== undefined && (
        <Link to="/schedules/$schedule/report" params={{ schedule }} search={{ occurrence }}>
          {numbersOf(report)}
        </Link>
      ),
  },
  { name: "Work", width: "6rem", cell: ({ work }) => work !== undefined && <Started work={work} /> },
  { name: "Note", width: "minmax(12rem, 2fr)", cell: ({ note }) => note !== undefined && <span title={note}>{note}</span> },
];
