/** The playbooks that can be run. */

import type { Listed } from "@charter/client";
import { getRouteApi, Link } from "@tanstack/react-router";

import { EmptyState } from "~/parts/empty-state";
import type { Column } from "~/parts/listing";
import { PageHead } from "~/parts/page-head";
import { Paged, SoFar } from "~/parts/paged";
import { usePages } from "~/parts/pages";
import { SearchField } from "~/parts/search-field";
import { useCharter } from "~/session/session";

/** Playbooks of one page. */
const PAGE = 200;

const route = getRouteApi("/playbooks");

export function Playbooks() {
  const charter = useCharter();
  const { q } = route.useSearch();
  const navigate = route.useNavigate();
  const pages = usePages<Listed>(["catalogue", "playbooks", q], (after) =>
    charter.get("/v1/list/{kind}", {
      params: {
        path: { kind: "playbook" },
        query: {
          limit: PAGE,
          status: "active",
          ...(q === undefined ? {} : { query: q }),
          ...(after === undefined ? {} : { after }),
        },
      },
    }),
  );
  return (
    <>
      <PageHead
        title="Run a playbook"
        lead="Playbooks change something. A run shows its plan first, and waits until a person confirms it."
      />
      <div className="toolbar">
        <SearchField
          label="Find a playbook by id or title"
          value={q ?? ""}
          onChange={(text) => void navigate({ search: { q: text || undefined }, replace: true })}
        />
        <SoFar pages={pages} one="playbook" many="playbooks" />
      </div>
      <Paged
        pages={pages}
        label="Playbooks"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        rowHeight={50}
        empty={
          q === undefined ? (
            <EmptyState title="No playbooks yet" command="charter package register packages/aws-security">
              Playbooks come with packages. Each has its parameters, its writes, and the steps that roll them back.
            </EmptyState>
          ) : (
            <EmptyState title="No playbook is like that">
              <Link to="/playbooks">Show all of them</Link>
            </EmptyState>
          )
        }
      />
    </>
  );
}

const COLUMNS: Column<Listed>[] = [
  {
    name: "Playbook",
    width: "minmax(18rem, 3fr)",
    cell: ({ id: playbook, title, summary }) => (
      <>
        <Link to="/playbooks/$playbook" params={{ playbook }} className="row-link">
          {title ?? playbook}
        </Link>{" "}
        {title !== null && title !== playbook && <span className="quiet mono">{playbook}</span>}
        <div className="quiet clipped" title={summary ?? undefined}>
          {summary}
        </div>
      </>
    ),
  },
  { name: "Domain", width: "minmax(6rem, 1fr)", cell: ({ domain }) => domain ?? "" },
  { name: "Package", width: "minmax(8rem, 1fr)", cell: (entry) => <span className="mono">{entry.package}</span> },
];
