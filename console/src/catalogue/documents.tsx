/** The documents of one kind that the caller sees. */

import type { Listed } from "@charter/client";
import { NativeSelect, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { type Kind, kindOf, KINDS } from "~/catalogue/kinds";
import { EmptyState } from "~/parts/empty-state";
import type { Column } from "~/parts/listing";
import { Mark } from "~/parts/mark";
import { PageHead } from "~/parts/page-head";
import { Paged } from "~/parts/paged";
import { usePages } from "~/parts/pages";
import { SearchField } from "~/parts/search-field";
import { useCharter } from "~/session/session";

/** Documents of one page. */
const PAGE = 1_000;

const route = getRouteApi("/catalogue/$kind");

export function Documents() {
  const { kind: name } = route.useParams();
  const kind = kindOf(name);
  if (kind === undefined) {
    return (
      <>
        <PageHead title="There is no such kind" />
        <EmptyState title={`“${name}” is no kind of document`}>
          The kinds are {KINDS.map(({ kind }) => kind).join(", ")}.
        </EmptyState>
      </>
    );
  }
  return <OfKind key={name} kind={kind} />;
}

function OfKind({ kind: { kind, label, what } }: { kind: Kind }) {
  const charter = useCharter();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { q: query, domain, status, package: brought } = search;
  const pages = usePages<Listed>(["catalogue", "list", kind, search], (after) =>
    charter.get("/v1/list/{kind}", {
      params: { path: { kind }, query: { limit: PAGE, ...givenOf({ query, domain, status, package: brought, after }) } },
    }),
  );
  const domains = useQuery({
    queryKey: ["catalogue", "domains"],
    queryFn: () => charter.get("/v1/list/{kind}", { params: { path: { kind: "domain" }, query: { limit: PAGE } } }),
  });
  const counts = useQuery({ queryKey: ["catalogue", "counts"], queryFn: () => charter.get("/v1/catalogue") });
  const all = counts.data?.kinds.find((counted) => counted.kind === kind)?.documents;
  const isFiltered = [query, domain, status, brought].some((chosen) => chosen !== undefined);
  return (
    <>
      <PageHead title={label} lead={what} />
      <nav className="kinds" aria-label="Kinds of documents">
        {KINDS.map((other) => (
          <Link
            key={other.kind}
            to="/catalogue/$kind"
            params={{ kind: other.kind }}
            search={brought === undefined ? {} : { package: brought }}
            className="kind"
            aria-current={other.kind === kind ? "page" : undefined}
          >
            {other.label}
          </Link>
        ))}
      </nav>
      <div className="toolbar">
        <SearchField
          label="Find by id or title"
          value={search.q ?? ""}
          onChange={(q) => void navigate({ search: (last) => ({ ...last, q: q || undefined }), replace: true })}
        />
        <NativeSelect
          aria-label="Domain"
          value={search.domain ?? ""}
          data={[{ value: "", label: "All domains" }, ...(domains.data?.entries.map(({ id }) => id) ?? [])]}
          onChange={(event) => {
            const domain = event.currentTarget.value || undefined;
            void navigate({ search: (last) => ({ ...last, domain }), replace: true });
          }}
        />
        <NativeSelect
          aria-label="Status"
          value={search.status ?? ""}
          data={[
            { value: "", label: "Any status" },
            { value: "active", label: "Active" },
            { value: "inactive", label: "Inactive" },
          ]}
          onChange={(event) => {
            const status = (event.currentTarget.value || undefined) as typeof search.status;
            void navigate({ search: (last) => ({ ...last, status }), replace: true });
          }}
        />
        {brought !== undefined && (
          <Link to="/catalogue/$kind" params={{ kind }} search={{ ...search, package: undefined }}>
            Package {brought} ✕
          </Link>
        )}
        <Text size="sm" c="dimmed" role="status">
          {isFiltered && pages.onMore === undefined ? `${pages.entries.length} of ${all ?? "…"}` : (all ?? "…")}
        </Text>
      </div>
      <Paged
        pages={pages}
        label={label}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        rowHeight={50}
        empty={
          isFiltered ? (
            <EmptyState title={`No ${label.toLowerCase()} are like that`}>
              <Link to="/catalogue/$kind" params={{ kind }}>
                Show all of them
              </Link>
            </EmptyState>
          ) : (
            <EmptyState title={`No ${label.toLowerCase()} yet`} command="charter package register DIR">
              {what} They come with packages; registering one checks every file and puts all of it in force at once.
            </EmptyState>
          )
        }
      />
    </>
  );
}

/** What was chosen, without what was not. */
function givenOf<Chosen extends object>(chosen: Chosen): Partial<Chosen> {
  return Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined)) as Partial<Chosen>;
}

const COLUMNS: Column<Listed>[] = [
  {
    name: "Document",
    width: "minmax(18rem, 3fr)",
    cell: ({ kind, id, title, summary }) => (
      <>
        <Link to="/catalogue/$kind/$id" params={{ kind, id }} className="row-link">
          {title ?? id}
        </Link>{" "}
        {title !== null && title !== id && <span className="quiet mono">{id}</span>}
        <div className="quiet clipped" title={summary ?? undefined}>
          {summary}
        </div>
      </>
    ),
  },
  { name: "Domain", width: "minmax(6rem, 1fr)", cell: ({ domain }) => domain ?? "" },
  {
    name: "Status",
    width: "9rem",
    cell: ({ status, is_candidate }) => (
      <>
        <Mark tone={status === "active" ? "good" : "calm"}>{status}</Mark>{" "}
        {is_candidate && <Mark tone="warn">candidate</Mark>}
      </>
    ),
  },
  {
    name: "Layer",
    width: "6rem",
    cell: ({ tenant }) => (tenant ? <Mark tone="info">tenant</Mark> : <Mark>global</Mark>),
  },
  {
    name: "Package",
    width: "minmax(10rem, 1.2fr)",
    cell: (entry) => (
      <>
        <span className="mono">{entry.package}</span> <span className="quiet">{entry.package_version}</span>
      </>
    ),
  },
];
