/** Every run of the tenant, newest first. */

import type { RunSummary } from "@charter/client";
import { Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { EmptyState } from "~/parts/empty-state";
import { Failure } from "~/parts/failure";
import { type Column, Listing } from "~/parts/listing";
import { Waiting } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
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
      {pages.error !== null ? (
        <Failure error={pages.error} onRetry={pages.refetch} />
      ) : pages.isPending ? (
        <Waiting />
      ) : pages.entries.length === 0 ? (
        <EmptyState title="Nothing has run yet" command='charter ask "are any buckets public?" -p region=eu-west-1'>
          A request that a skill answers starts a run. It is shown here with its steps as they happen, and stays, so
          that everybody can see later what was called, with which arguments, and why it was allowed.
        </EmptyState>
      ) : (
        <>
          <Text size="sm" c="dimmed" role="status" pb="xs">
            {pages.entries.length} {pages.entries.length === 1 ? "run" : "runs"}
            {pages.onMore === undefined ? "" : " so far; scroll for older ones"}
          </Text>
          <Listing
            label="Runs"
            columns={COLUMNS}
            rows={pages.entries}
            rowKey={({ run_id }) => run_id}
            onMore={pages.onMore}
            isReading={pages.isReading}
          />
        </>
      )}
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
