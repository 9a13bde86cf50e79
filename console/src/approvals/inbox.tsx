/** What waits for a person, first; then what people decided. */

import type { ApprovalEntry } from "@charter/client";
import { NativeSelect, Text } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";

import { inShort, isInDoubt, RULES, standingOf } from "~/approvals/words";
import { EmptyState } from "~/parts/empty-state";
import type { Column } from "~/parts/listing";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Paged } from "~/parts/paged";
import { type Pages, usePages } from "~/parts/pages";
import { useCharter } from "~/session/session";

/** Approvals of one page. */
const PAGE = 200;

const route = getRouteApi("/approvals");

export function Inbox() {
  const { state } = route.useSearch();
  const navigate = route.useNavigate();
  const pages = usePendingFirst(state);
  const waiting = pages.entries.filter((approval) => approval.state === "pending").length;
  return (
    <>
      <PageHead
        title="Approvals"
        lead="Calls that a rule does not let happen before a person agreed to exactly them. What waits stands first."
      />
      <div className="toolbar">
        <NativeSelect
          aria-label="State"
          value={state ?? ""}
          data={[
            { value: "", label: "All, what waits first" },
            { value: "pending", label: "Waits" },
            { value: "approved", label: "Approved, not used yet" },
            { value: "consumed", label: "Approved and used" },
            { value: "rejected", label: "Rejected" },
            { value: "lapsed", label: "Lapsed" },
          ]}
          onChange={(event) => {
            const chosen = (event.currentTarget.value || undefined) as typeof state;
            void navigate({ search: { state: chosen }, replace: true });
          }}
        />
        <Text size="sm" c="dimmed" role="status">
          {waiting === 0 ? "Nothing waits for you" : `${waiting} ${waiting === 1 ? "waits" : "wait"} for a decision`}
        </Text>
      </div>
      <Paged
        pages={pages}
        label="Approvals"
        columns={COLUMNS}
        rowKey={({ approval_id }) => approval_id}
        rowHeight={54}
        empty={<NothingAsked filtered={state !== undefined} />}
      />
    </>
  );
}

/** Approvals of a state; of every state with those that wait before the others, each newest first. */
function usePendingFirst(state: ApprovalEntry["state"] | undefined): Pages<ApprovalEntry> {
  const charter = useCharter();
  const read = (of: string | undefined) => (after: string | undefined) =>
    charter.get("/v1/approvals", {
      params: {
        query: {
          limit: PAGE,
          ...(of === undefined ? {} : { state: of }),
          ...(after === undefined ? {} : { after }),
        },
      },
    });
  const first = usePages<ApprovalEntry>(["approvals", "list", state ?? "pending"], read(state ?? "pending"));
  const others = usePages<ApprovalEntry>(["approvals", "list", "all"], read(undefined));
  if (state !== undefined) return first;
  const decided = others.entries.filter((approval) => approval.state !== "pending");
  return {
    // Until what waits is read to its end, nothing is put behind it.
    entries: first.onMore === undefined ? [...first.entries, ...decided] : first.entries,
    isPending: first.isPending || others.isPending,
    isReading: first.isReading || others.isReading,
    error: first.error ?? others.error,
    onMore: first.onMore ?? others.onMore,
    refetch: () => {
      first.refetch();
      others.refetch();
    },
  };
}

function NothingAsked({ filtered }: { filtered: boolean }) {
  if (filtered) {
    return <EmptyState title="No approval stands there">Choose another state above.</EmptyState>;
  }
  return (
    <EmptyState
      title="Nobody has been asked yet"
      command='charter ask "remediate the public exposure findings" -p region=eu-west-1'
    >
      A person is asked where a tool wants it, a playbook is supervised, a guardrail requires it, a mission proposes a
      change, or a call was interrupted and nobody knows whether it happened. The question shows the exact call; the
      answer is good for that call alone, and once.
    </EmptyState>
  );
}

const COLUMNS: Column<ApprovalEntry>[] = [
  {
    name: "Call",
    width: "minmax(20rem, 3fr)",
    cell: ({ approval_id, call }) => (
      <>
        <Link to="/approvals/$approval" params={{ approval: approval_id }} className="row-link mono">
          {call.tool}
        </Link>
        <br />
        <span className="quiet" title={inShort(call.parameters)}>
          {inShort(call.parameters) || "no arguments"}
        </span>
      </>
    ),
  },
  {
    name: "State",
    width: "11rem",
    cell: (approval) => {
      const { word, tone } = standingOf(approval);
      return (
        <>
          <Mark tone={tone}>{word}</Mark> {isInDoubt(approval) && <Mark tone="bad">in doubt</Mark>}
        </>
      );
    },
  },
  {
    name: "Run",
    width: "minmax(10rem, 1.4fr)",
    cell: ({ call, run_title }) => (
      <Link to="/runs/$run" params={{ run: call.run_id }} title={run_title}>
        {run_title}
      </Link>
    ),
  },
  { name: "Asked by", width: "minmax(6rem, 1fr)", cell: ({ requested_by }) => requested_by },
  {
    name: "Because of",
    width: "minmax(12rem, 1.6fr)",
    cell: ({ rules }) => {
      const said = rules.map(({ kind, id }) => `${RULES[kind].toLowerCase()} ${id}`).join(", ");
      return <span title={said}>{said}</span>;
    },
  },
  { name: "Asked", width: "8rem", cell: ({ requested_at }) => <Moment at={requested_at} /> },
  {
    name: "Lapses",
    width: "7rem",
    cell: (approval) => approval.state === "pending" && <Moment at={approval.expires_at} />,
  },
];
