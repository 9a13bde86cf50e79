/** The requests of the tenant, newest first: who asked what, and the outcome. */

import type { RequestSummary } from "@charter/client";
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { EmptyState } from "~/parts/empty-state";
import type { Column } from "~/parts/listing";
import { Mark, type Tone } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Paged, SoFar } from "~/parts/paged";
import { usePages } from "~/parts/pages";
import { FindingCounts } from "~/requests/finding-counts";
import { inWords, runTone } from "~/runs/words";
import { useCharter } from "~/session/session";

/** Requests of one page. */
const PAGE = 100;

const STATES: Record<RequestSummary["state"], Tone> = { open: "info", answered: "good", failed: "bad" };

export function Requests() {
  const charter = useCharter();
  const pages = usePages<RequestSummary>(["requests", "list"], (after) =>
    charter.get("/v1/requests", { params: { query: { limit: PAGE, ...(after === undefined ? {} : { after }) } } }),
  );
  return (
    <>
      <PageHead
        title="Requests"
        lead="Who asked what, and the outcome. Newest first."
        actions={
          <Button size="compact-md" renderRoot={(props) => <Link to="/ask" {...props} />}>
            Ask
          </Button>
        }
      />
      <div className="toolbar">
        <SoFar pages={pages} one="request" many="requests" />
      </div>
      <Paged
        pages={pages}
        label="Requests"
        columns={COLUMNS}
        rowKey={({ request_id }) => request_id}
        rowHeight={54}
        empty={
          <EmptyState title="No requests yet" command='charter ask "are any buckets public?" -p region=eu-west-1'>
            Questions and changes that people and agents ask for are listed here with their answers. Operators see all of
            the tenant, users see their own.
          </EmptyState>
        }
      />
    </>
  );
}

const COLUMNS: Column<RequestSummary>[] = [
  {
    name: "Request",
    width: "minmax(18rem, 3fr)",
    cell: ({ request_id: request, input, outcome }) => (
      <>
        <Link to="/requests/$request" params={{ request }} className="row-link" title={input}>
          {input}
        </Link>
        <div className="quiet clipped" title={outcome ?? undefined}>
          {outcome ?? "no answer yet"}
        </div>
      </>
    ),
  },
  {
    name: "State",
    width: "13rem",
    cell: ({ state, error_code: code, result_status: ended }) => (
      <>
        <Mark tone={STATES[state]}>{state}</Mark> {code !== null && <span className="mono quiet">{code}</span>}
        {ended !== null && <Mark tone={runTone(ended as Parameters<typeof runTone>[0])}>change {inWords(ended)}</Mark>}
      </>
    ),
  },
  { name: "Findings", width: "12rem", cell: ({ findings }) => <FindingCounts findings={findings} /> },
  { name: "Asked by", width: "minmax(6rem, 1fr)", cell: ({ user_id }) => user_id },
  { name: "Asked", width: "8rem", cell: ({ created_at }) => <Moment at={created_at} /> },
];
