/** The enabled schedules and triggers, latest first. */

import type { EnabledSchedule } from "@charter/client";
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { EmptyState } from "~/parts/empty-state";
import type { Column } from "~/parts/listing";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Paged, SoFar } from "~/parts/paged";
import { usePages } from "~/parts/pages";
import { SCHEDULE_TONES, timingOf } from "~/schedules/words";
import { Work } from "~/schedules/work";
import { useCharter } from "~/session/session";

/** Schedules of one page. */
const PAGE = 200;

export function Schedules() {
  const charter = useCharter();
  const pages = usePages<EnabledSchedule>(["schedules", "list"], (after) =>
    charter.get("/v1/schedules", { params: { query: { limit: PAGE, ...(after === undefined ? {} : { after }) } } }),
  );
  return (
    <>
      <PageHead
        title="Schedules"
        lead="Skills, playbooks, plans and missions that start at a time, on a signed webhook, or on a new finding. Each runs with the rights of the user who enabled it."
        actions={
          <Button size="compact-md" renderRoot={(props) => <Link to="/schedules/enable" {...props} />}>
            Enable a schedule
          </Button>
        }
      />
      <div className="toolbar">
        <SoFar pages={pages} one="schedule" many="schedules" />
      </div>
      <Paged
        pages={pages}
        label="Schedules"
        columns={COLUMNS}
        rowKey={({ schedule_id }) => schedule_id}
        rowHeight={54}
        empty={
          <EmptyState title="No schedule is enabled" command="charter schedule enable security.nightly_exposure">
            Packages bring schedules. None runs until a user enables it. The findings of each occurrence are compared with
            those of the previous one, and only changes are announced.
          </EmptyState>
        }
      />
    </>
  );
}

const COLUMNS: Column<EnabledSchedule>[] = [
  {
    name: "Schedule",
    width: "minmax(16rem, 2fr)",
    cell: ({ schedule_id: schedule, title }) => (
      <>
        <Link to="/schedules/$schedule" params={{ schedule }} className="row-link">
          {title}
        </Link>
        <div className="quiet mono clipped" title={schedule}>
          {schedule}
        </div>
      </>
    ),
  },
  {
    name: "State",
    width: "10rem",
    cell: ({ state, is_outdated: isOutdated }) => (
      <>
        <Mark tone={SCHEDULE_TONES[state]}>{state}</Mark> {isOutdated && <Mark tone="warn">outdated</Mark>}
      </>
    ),
  },
  {
    name: "When",
    width: "minmax(12rem, 1.4fr)",
    cell: ({ definition }) => <span title={timingOf(definition.when)}>{timingOf(definition.when)}</span>,
  },
  { name: "Starts", width: "minmax(14rem, 1.6fr)", cell: ({ definition }) => <Work run={definition.run} /> },
  {
    name: "Next",
    width: "8rem",
    cell: ({ state, next_at: next }) => (state === "paused" || next === null ? <span className="quiet">none</span> : <Moment at={next} />),
  },
  { name: "Enabled by", width: "minmax(6rem, 1fr)", cell: ({ user }) => user },
];
