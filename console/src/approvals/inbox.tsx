/** The queue of decisions: plans to confirm and pending approvals first, then decided approvals. */

import type { ApprovalEntry, PendingConfirmation } from "@charter/client";
import { Anchor, List, NativeSelect, Text } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";

import { Confirmation } from "~/approvals/confirmation";
import { isInDoubt, isOpen, RULES, statusOf, summaryOf, titleOf } from "~/approvals/words";
import { EmptyState } from "~/parts/empty-state";
import type { Column } from "~/parts/listing";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Paged } from "~/parts/paged";
import { type Pages, usePages } from "~/parts/pages";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";
import { usePendingDecisions } from "~/shell/waiting";

/** Approvals of one page. */
const PAGE = 200;

/** Plans to confirm that are listed; a link leads to the others. */
const FIRST_PLANS = 8;

const route = getRouteApi("/approvals");

export function Inbox() {
  const { state } = route.useSearch();
  const navigate = route.useNavigate();
  const pages = usePendingFirst(state);
  const plans = usePendingDecisions().data?.confirmations ?? [];
  const confirmations = state === undefined || state === "pending" ? plans : [];
  const waiting = pages.entries.filter(isOpen).length + confirmations.length;
  return (
    <>
      <PageHead
        title="Approvals"
        lead="Calls that need a person's approval, and plans that wait for a confirmation. Pending ones are listed first."
      />
      <div className="toolbar">
        <NativeSelect
          aria-label="State"
          value={state ?? ""}
          data={[
            { value: "", label: "All, pending first" },
            { value: "pending", label: "Pending" },
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
          {waiting === 0 ? "No decision waits" : `${waiting} ${waiting === 1 ? "waits" : "wait"} for a decision`}
        </Text>
      </div>
      {confirmations.length > 0 && <Plans confirmations={confirmations} />}
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

function Plans({ confirmations }: { confirmations: PendingConfirmation[] }) {
  return (
    <Section title={`Plans to confirm (${confirmations.length})`}>
      <List listStyleType="none" className="queue" aria-label="Plans to confirm">
        {confirmations.slice(0, FIRST_PLANS).map((confirmation) => (
          <List.Item key={confirmation.run_id}>
            <Confirmation confirmation={confirmation} />
          </List.Item>
        ))}
      </List>
      {confirmations.length > FIRST_PLANS && (
        <Anchor size="sm" renderRoot={(props) => <Link to="/runs" search={{ status: "awaiting_confirmation" }} {...props} />}>
          All plans to confirm
        </Anchor>
      )}
    </Section>
  );
}

/** Approvals of a state; without a state, pending approvals before the others, each newest first. */
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
    // Decided approvals follow once all pending ones are read.
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
    return <EmptyState title="No approval has this state">Choose another state above.</EmptyState>;
  }
  return (
    <EmptyState
      title="No approval yet"
      command='charter ask "remediate the public exposure findings" -p region=eu-west-1'
    >
      An approval is requested if a tool, a guardrail or a policy requires it, a playbook is supervised or destructive, a
      mission proposes a change, or the outcome of an interrupted call is unknown. It shows the exact calls. A decision
      is valid for these calls only, once.
    </EmptyState>
  );
}

const COLUMNS: Column<ApprovalEntry>[] = [
  {
    name: "Call",
    width: "minmax(20rem, 3fr)",
    cell: (approval) => (
      <>
        <Link to="/approvals/$approval" params={{ approval: approval.approval_id }} className="row-link mono">
          {titleOf(approval)}
        </Link>
        <br />
        <span className="quiet" title={summaryOf(approval)}>
          {summaryOf(approval)}
        </span>
      </>
    ),
  },
  {
    name: "State",
    width: "11rem",
    cell: (approval) => {
      const { word, tone } = statusOf(approval);
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
  { name: "Requested by", width: "minmax(6rem, 1fr)", cell: ({ requested_by }) => requested_by },
  {
    name: "Rules",
    width: "minmax(12rem, 1.6fr)",
    cell: ({ rules }) => {
      const names = rules.map(({ kind, id }) => `${RULES[kind].toLowerCase()} ${id}`).join(", ");
      return <span title={names}>{names}</span>;
    },
  },
  { name: "Requested", width: "8rem", cell: ({ requested_at }) => <Moment at={requested_at} /> },
  {
    name: "Expires",
    width: "7rem",
    cell: (approval) => approval.state === "pending" && <Moment at={approval.expires_at} />,
  },
];
