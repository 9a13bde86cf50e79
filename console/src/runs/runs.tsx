/** Every run of the tenant, newest first. */

import type { RunSummary } from "@charter/client";
import { Link } from "@tanstack/react-router";

import { EmptyState } from "~/parts/empty-state";
import type { Column } from "~/parts/listing";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Paged, SoFar } from "~/parts/paged";
import { usePages } from "~/parts/pages";
import { inWords, runTone } from "~/runs/words";
import { useCharter } from "~/session/session";

/** Runs of one page. */
const PAGE = 200;

export function Runs() {
  const charter = useCharter();
  const pages = usePages<RunSummary>(["runs", "list"], (after) =>
    charter.get("/v1/runs", { params: { query: { limit: PAGE, ...(after === undefined ? {} : { after }) } } }),
  );
  return (
    <>
      <PageHead
        title="Runs"
        lead="Everything that agents do is a run of steps: a skill's plan, a playbook, a plan that was sent, a mission. Newest first."
      />
      <div className="toolbar">
        <SoFar pages={pages} one="run" many="runs" />
      </div>
      <Paged
        pages={pages}
        label="Runs"
        columns={COLUMNS}
        rowKey={({ run_id }) => run_id}
        empty={
          <EmptyState title="Nothing has run yet" command='charter ask "are any buckets public?" -p region=eu-west-1'>
            A request that a skill answers starts a run. It is shown here with its steps as they happen, and stays, so
            that everybody can see later what was called, with which arguments, and why it was allowed.
          </EmptyState>
        }
      />
    </>
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
    name: "Stands at",
    width: "11rem",
    cell: ({ status }) => <Mark tone={runTone(status)}>{inWords(status)}</Mark>,
  },
  { name: "Started", width: "8rem", cell: ({ created_at }) => <Moment at={created_at} /> },
  { name: "Changed", width: "8rem", cell: ({ updated_at }) => <Moment at={updated_at} /> },
  { name: "Events", width: "5rem", align: "end", cell: ({ version }) => version },
  { name: "Run", width: "minmax(10rem, 1.4fr)", cell: ({ run_id }) => <span className="mono quiet">{run_id}</span> },
];
