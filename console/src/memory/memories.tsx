/** What agents and people wanted remembered: found by meaning, words and tags; and what waits for a word. */

import type { MemoryHit, MemoryShown } from "@charter/client";
import { SegmentedControl } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { StateMark } from "~/memory/state-mark";
import { EmptyState } from "~/parts/empty-state";
import { type Column, Listing } from "~/parts/listing";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Paged } from "~/parts/paged";
import { usePages } from "~/parts/pages";
import { SearchField } from "~/parts/search-field";
import { useCharter } from "~/session/session";

const PAGE = 200;

/** Memories that a search returns; the server's bound. */
const FOUND = 50;

const route = getRouteApi("/memory");

export function Memories() {
  const { q, tag, show } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHead
        title="Memory"
        lead="What is remembered beyond a session, in versions of which one is in force. What an agent writes waits for a person's word."
      />
      <div className="toolbar">
        <SearchField
          label="Find a memory"
          placeholder="Where do we deploy?"
          value={q ?? ""}
          onChange={(text) => void navigate({ search: (last) => ({ ...last, q: text || undefined }), replace: true })}
        />
        <SegmentedControl
          aria-label="What is shown"
          size="xs"
          value={show ?? "accepted"}
          data={[
            { value: "accepted", label: "In force" },
            { value: "proposed", label: "Waiting for a word" },
          ]}
          onChange={(value) =>
            void navigate({ search: (last) => ({ ...last, show: value === "proposed" ? "proposed" : undefined }) })
          }
        />
        {tag !== undefined && (
          <Link to="/memory" search={(last) => ({ ...last, tag: undefined })} aria-label={`Any tag instead of ${tag}`}>
            Tag {tag} ✕
          </Link>
        )}
      </div>
      {q === undefined && tag === undefined ? <Newest proposed={show === "proposed"} /> : <Found />}
    </>
  );
}

function Newest({ proposed }: { proposed: boolean }) {
  const charter = useCharter();
  const pages = usePages<MemoryShown>(["memory", "list", proposed], (after) =>
    charter.get("/v1/memories", {
      params: { query: { proposed, limit: PAGE, ...(after === undefined ? {} : { after }) } },
    }),
  );
  return <Paged {...TABLE} pages={pages} empty={<NothingRemembered proposed={proposed} />} />;
}

function NothingRemembered({ proposed }: { proposed: boolean }) {
  if (proposed) {
    return (
      <EmptyState title="No memory waits for a decision">
        Memories that an agent proposes, and that a user shares with the tenant, are listed here until a person accepts or
        rejects them.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title="Nothing is remembered yet"
      command='charter memory add --title Region --tag aws --importance 7 "We deploy to eu-west-1."'
    >
      Agents and people write down what is to be known beyond a session. Private memories are seen by their owner alone,
      shared ones by everybody of the tenant.
    </EmptyState>
  );
}

function Found() {
  const charter = useCharter();
  const { q, tag, show } = route.useSearch();
  const found = useQuery({
    queryKey: ["memory", "search", q, tag, show],
    queryFn: () =>
      charter.post("/v1/memories/search", {
        body: {
          text: q ?? null,
          tags_all: tag === undefined ? [] : [tag],
          proposed: show === "proposed",
          limit: FOUND,
        },
      }),
    placeholderData: keepPreviousData,
  });
  return (
    <Loaded query={found}>
      {(rows) =>
        rows.length === 0 ? (
          <EmptyState title="No memory is like that">
            Memories are compared by meaning and words. Those of others that are private are not searched.
          </EmptyState>
        ) : (
          <Listing {...TABLE} columns={FOUND_COLUMNS} rows={rows} />
        )
      }
    </Loaded>
  );
}

/** The memories that say the same as one, or otherwise. */
function Others({ what, ids }: { what: string; ids: string[] | undefined }) {
  if (ids === undefined) return null;
  return (
    <span title={ids.join(", ")}>
      <Mark tone="warn">{what}</Mark>
    </span>
  );
}

const COLUMNS: Column<MemoryShown>[] = [
  {
    name: "Memory",
    width: "minmax(18rem, 3fr)",
    cell: ({ memory_id, memory, similar_to, conflicts_with }) => (
      <>
        <Link to="/memory/$id" params={{ id: memory_id }} className="row-link">
          {memory?.title ?? "Removed"}
        </Link>{" "}
        <Others what="Repeats" ids={similar_to} />
        <Others what="May contradict" ids={conflicts_with} />
        <div className="quiet clipped">{memory?.content}</div>
      </>
    ),
  },
  {
    name: "Tags",
    width: "minmax(8rem, 1.2fr)",
    cell: ({ memory }) => (
      <span className="marks">
        {(memory?.tags ?? []).map((tag) => (
          <Mark key={tag}>{tag}</Mark>
        ))}
      </span>
    ),
  },
  { name: "State", width: "11rem", cell: (shown) => <StateMark shown={shown} /> },
  { name: "Importance", width: "5.5rem", align: "end", cell: ({ memory }) => memory?.metadata?.importance ?? "–" },
  { name: "Owner", width: "minmax(6rem, 0.8fr)", cell: ({ owner, visibility }) => `${owner}, ${visibility}` },
  { name: "Written", width: "8rem", cell: ({ at }) => <Moment at={at} /> },
];

const FOUND_COLUMNS: Column<MemoryHit>[] = [
  {
    name: "Score",
    width: "5rem",
    align: "end",
    cell: ({ score }) => (
      <span title="The chance that it has to do with the question; comparable over questions.">
        {score === null ? "–" : score.toFixed(2)}
      </span>
    ),
  },
  ...COLUMNS,
];

const TABLE = {
  label: "Memories",
  columns: COLUMNS,
  rowKey: ({ memory_id }: MemoryShown) => memory_id,
  rowHeight: 52,
};
