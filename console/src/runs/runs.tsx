/** The runs of the tenant, newest first, and filters over them. */

import type { RunSummary } from "@charter/client";
import { Button, NativeSelect } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";

import { DayFields, type Days, momentsOf, WiderDays } from "~/parts/days";
import { EmptyState } from "~/parts/empty-state";
import type { Column } from "~/parts/listing";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Paged, SoFar } from "~/parts/paged";
import { usePages } from "~/parts/pages";
import { SearchField } from "~/parts/search-field";
import { inWords, ORIGINS, runTone, STATUS_FILTERS } from "~/runs/words";
import { useCharter } from "~/session/session";

/** Runs of one page. */
const PAGE = 200;

const route = getRouteApi("/runs");

type Filters = ReturnType<typeof route.useSearch>;

export function Runs() {
  const charter = useCharter();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const pages = usePages<RunSummary>(["runs", "list", search], (after) =>
    charter.get("/v1/runs", { params: { query: { ...asked(search), limit: PAGE, ...(after === undefined ? {} : { after }) } } }),
  );
  const change = (to: Partial<Filters>) => void navigate({ search: (now) => ({ ...now, ...to }), replace: true });
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  return (
    <>
      <PageHead
        title="Runs"
        lead="Everything that agents do is a run of steps: a skill's plan, a playbook, a plan that was sent, a mission. Newest first."
      />
      <div className="toolbar">
        <SearchField
          label="Subject"
          placeholder="Subject: a word of it"
          value={search.title ?? ""}
          onChange={(title) => change({ title: title.trim() || undefined })}
        />
        <NativeSelect
          aria-label="Status"
          value={search.status ?? ""}
          data={[{ value: "", label: "Any status" }, ...STATUS_FILTERS.map(choice)]}
          onChange={(event) => change({ status: (event.currentTarget.value || undefined) as Filters["status"] })}
        />
        <NativeSelect
          aria-label="Origin"
          value={search.origin ?? ""}
          data={[{ value: "", label: "Any origin" }, ...ORIGINS.map(choice)]}
          onChange={(event) => change({ origin: (event.currentTarget.value || undefined) as Filters["origin"] })}
        />
        <DayFields what="Started" days={search} onChange={change} />
        {isFiltered && (
          <Button
            variant="default"
            size="compact-md"
            onClick={() => change({ title: undefined, status: undefined, origin: undefined, from: undefined, until: undefined })}
          >
            Clear
          </Button>
        )}
        <SoFar pages={pages} one="run" many="runs" />
      </div>
      <Paged
        pages={pages}
        label="Runs"
        columns={COLUMNS}
        rowKey={({ run_id }) => run_id}
        empty={<NoRuns isFiltered={isFiltered} days={search} onChange={change} />}
      />
    </>
  );
}

/** What the server is asked for. */
function asked({ status, origin, title, ...days }: Filters) {
  const { from, until } = momentsOf(days);
  return {
    ...(status === undefined ? {} : { status }),
    ...(origin === undefined ? {} : { origin }),
    ...(title === undefined ? {} : { title }),
    ...(from === undefined ? {} : { created_from: from }),
    ...(until === undefined ? {} : { created_until: until }),
  };
}

const choice = (word: string) => ({ value: word, label: inWords(word) });

function NoRuns({ isFiltered, days, onChange }: { isFiltered: boolean; days: Days; onChange: (to: Days) => void }) {
  if (isFiltered) {
    return (
      <EmptyState title="No run fits">
        Take a filter away, or choose another one.
        <WiderDays what="Started" days={days} onChange={onChange} />
      </EmptyState>
    );
  }
  return (
    <EmptyState title="Nothing has run yet" command='charter ask "are any buckets public?" -p region=eu-west-1'>
      A request that a skill answers starts a run. It is listed here with its steps as they happen, and is kept: it
      shows what was called, with which arguments, and why it was allowed.
    </EmptyState>
  );
}

const COLUMNS: Column<RunSummary>[] = [
  {
    name: "Subject",
    width: "minmax(18rem, 3fr)",
    cell: ({ run_id, title }) => (
      <Link to="/runs/$run" params={{ run: run_id }} className="row-link" title={title}>
        {title}
      </Link>
    ),
  },
  {
    name: "Status",
    width: "11rem",
    cell: ({ status }) => <Mark tone={runTone(status)}>{inWords(status)}</Mark>,
  },
  { name: "Started", width: "8rem", cell: ({ created_at }) => <Moment at={created_at} /> },
  { name: "Changed", width: "8rem", cell: ({ updated_at }) => <Moment at={updated_at} /> },
  { name: "Events", width: "5rem", align: "end", cell: ({ version }) => version },
  { name: "Run", width: "minmax(10rem, 1.4fr)", cell: ({ run_id }) => <span className="mono quiet">{run_id}</span> },
];
