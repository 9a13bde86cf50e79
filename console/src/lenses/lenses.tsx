/** Lenses, and the passages that come closest to a question. */

import type { LensShown } from "@charter/client";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { IndexState } from "~/lenses/index-state";
import { Passages } from "~/lenses/passages";
import { EmptyState } from "~/parts/empty-state";
import { type Column, Listing } from "~/parts/listing";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { PageHead } from "~/parts/page-head";
import { SearchField } from "~/parts/search-field";
import { useCharter } from "~/session/session";

/** Passages of an answer. */
const PASSAGES = 10;

/** How often a lens that is being indexed is looked at, in milliseconds. */
export const WHILE_INDEXING_MS = 1_000;

const route = getRouteApi("/lenses");

export function Lenses() {
  const charter = useCharter();
  const { q, domain } = route.useSearch();
  const navigate = route.useNavigate();
  const lenses = useQuery({
    queryKey: ["lenses", "list"],
    queryFn: () => charter.get("/v1/lenses"),
    refetchInterval: (query) =>
      query.state.data?.some(({ indexing }) => indexing !== null) === true ? WHILE_INDEXING_MS : false,
  });
  const answer = useQuery({
    queryKey: ["lenses", "search", q, domain],
    queryFn: () =>
      charter.post("/v1/lenses/search", { body: { query: q ?? "", domain: domain ?? null, top_k: PASSAGES } }),
    enabled: q !== undefined,
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <PageHead
        title="Lenses"
        lead="Reference knowledge of a domain: frameworks, runbooks, manuals. What you ask is answered with passages, quoted with their place; nothing is made up."
      />
      <div className="toolbar">
        <SearchField
          label="Ask the reference library"
          placeholder="What may be reachable from the internet?"
          value={q ?? ""}
          onChange={(text) => void navigate({ search: (last) => ({ ...last, q: text || undefined }), replace: true })}
        />
        {domain !== undefined && (
          <Link to="/lenses" search={(last) => ({ ...last, domain: undefined })}>
            All domains
          </Link>
        )}
      </div>
      {q === undefined ? (
        <Loaded query={lenses}>{(found) => <Shelf lenses={found} />}</Loaded>
      ) : (
        <Loaded query={answer}>{(found) => <Passages answer={found} />}</Loaded>
      )}
    </>
  );
}

function Shelf({ lenses }: { lenses: LensShown[] }) {
  if (lenses.length === 0) {
    return (
      <EmptyState title="No lenses yet" command="charter package register packages/aws-security">
        A lens says where reference knowledge is: a link, or a file of its package. Registering the package fetches it,
        cuts it into passages and indexes them.
      </EmptyState>
    );
  }
  return <Listing label="Lenses" columns={COLUMNS} rows={lenses} rowKey={({ lens_id }) => lens_id} />;
}

const COLUMNS: Column<LensShown>[] = [
  {
    name: "Lens",
    width: "minmax(14rem, 2fr)",
    cell: ({ lens_id, title }) => (
      <Link to="/lenses/$id" params={{ id: lens_id }} className="row-link" title={lens_id}>
        {title}
      </Link>
    ),
  },
  {
    name: "Domain",
    width: "8rem",
    cell: ({ domain }) => domain,
  },
  { name: "Content", width: "8rem", cell: ({ content_type }) => String(content_type).replaceAll("_", " ") },
  {
    name: "Scope",
    width: "6rem",
    cell: ({ scope }) => <Mark tone={scope === "tenant" ? "info" : "calm"}>{scope}</Mark>,
  },
  { name: "Passages", width: "6rem", align: "end", cell: ({ index }) => index?.chunks ?? "–" },
  { name: "Index", width: "minmax(9rem, 1.2fr)", cell: (lens) => <IndexState lens={lens} /> },
];
