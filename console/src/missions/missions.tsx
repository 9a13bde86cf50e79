/** The missions of the tenant, newest first. */

import type { MissionSummary } from "@charter/client";
import { Button, NativeSelect } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";

import { missionTone, STATES } from "~/missions/words";
import { EmptyState } from "~/parts/empty-state";
import type { Column } from "~/parts/listing";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Paged, SoFar } from "~/parts/paged";
import { usePages } from "~/parts/pages";
import { inWords } from "~/runs/words";
import { useCharter } from "~/session/session";

/** Missions of one page. */
const PAGE = 200;

const route = getRouteApi("/missions");

export function Missions() {
  const charter = useCharter();
  const { state } = route.useSearch();
  const navigate = route.useNavigate();
  const pages = usePages<MissionSummary>(["missions", "list", state], (after) =>
    charter.get("/v1/missions", {
      params: {
        query: { limit: PAGE, ...(state === undefined ? {} : { state }), ...(after === undefined ? {} : { after }) },
      },
    }),
  );
  return (
    <>
      <PageHead
        title="Missions"
        lead="Goals that take several hands: tasks are planned, done and reviewed once, every claim cites its sources, and changes are proposed."
        actions={
          <Button size="compact-md" renderRoot={(props) => <Link to="/missions/start" {...props} />}>
            Start a mission
          </Button>
        }
      />
      <div className="toolbar">
        <NativeSelect
          aria-label="State"
          value={state ?? ""}
          data={[{ value: "", label: "Any state" }, ...STATES.map((value) => ({ value, label: inWords(value) }))]}
          onChange={(event) => {
            const chosen = (event.currentTarget.value || undefined) as typeof state;
            void navigate({ search: { state: chosen }, replace: true });
          }}
        />
        <SoFar pages={pages} one="mission" many="missions" />
      </div>
      <Paged
        pages={pages}
        label="Missions"
        columns={COLUMNS}
        rowKey={({ mission_id }) => mission_id}
        empty={<NoMissions filtered={state !== undefined} />}
      />
    </>
  );
}

function NoMissions({ filtered }: { filtered: boolean }) {
  if (filtered) return <EmptyState title="No mission has this state">Choose another state above.</EmptyState>;
  return (
    <EmptyState
      title="No missions yet"
      command='charter mission start "What does the internet reach?" --type security.account_brief --model offline'
    >
      A mission turns a goal into a reviewed result. Its tasks, artifacts and what it proposes are shown here as they
      come, and nothing is changed before a person agreed. The model offline needs no key.
    </EmptyState>
  );
}

const COLUMNS: Column<MissionSummary>[] = [
  {
    name: "Mission",
    width: "minmax(16rem, 2fr)",
    cell: ({ mission_id: mission, title }) => (
      <Link to="/missions/$mission" params={{ mission }} className="row-link">
        {title.replace(/^mission /, "")}
      </Link>
    ),
  },
  { name: "State", width: "11rem", cell: ({ state }) => <Mark tone={missionTone(state)}>{inWords(state)}</Mark> },
  { name: "Started", width: "8rem", cell: ({ created_at }) => <Moment at={created_at} /> },
  { name: "Changed", width: "8rem", cell: ({ updated_at }) => <Moment at={updated_at} /> },
  { name: "Artifacts", width: "6rem", align: "end", cell: ({ artifacts }) => artifacts },
  {
    name: "Id",
    width: "minmax(10rem, 1fr)",
    cell: ({ mission_id }) => <span className="mono quiet">{mission_id}</span>,
  },
];
