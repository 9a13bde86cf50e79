/** Decisions that wait for a person: approvals by risk and age, plans to confirm, and runs that wait for values. */

import type { ApprovalEntry, RunSummary } from "@charter/client";
import { Anchor, List, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { Confirmation } from "~/approvals/confirmation";
import { byUrgency, isExpired, riskOf, summaryOf, titleOf } from "~/approvals/words";
import { Failure } from "~/parts/failure";
import { Waiting } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { Section } from "~/parts/section";
import { inWords, runTone } from "~/runs/words";
import { badgeOf, usePendingDecisions, useRunsAwaitingParameters } from "~/shell/waiting";

/** Decisions of each kind that are listed; a link leads to the others. */
const FIRST = 8;

export function Decisions() {
  const decisions = usePendingDecisions();
  const runs = useRunsAwaitingParameters();
  const approvals = (decisions.data?.entries ?? []).filter((approval) => !isExpired(approval)).sort(byUrgency);
  const confirmations = decisions.data?.confirmations ?? [];
  const asking = runs.data?.entries ?? [];
  const count = approvals.length + confirmations.length + asking.length;
  const isPending = decisions.isPending || runs.isPending;
  const failed = decisions.error ?? runs.error;
  return (
    <Section
      title="Waiting for a decision"
      lead="By risk, the highest first, then by age, the oldest first."
      actions={count > 0 && <Mark tone="warn">{count}</Mark>}
    >
      {failed !== null && <Failure error={failed} />}
      {count === 0 && failed === null && (isPending ? <Waiting /> : <Text size="sm">No decision waits for you.</Text>)}
      <List listStyleType="none" className="queue" aria-label="Decisions">
        {approvals.slice(0, FIRST).map((approval) => (
          <List.Item key={approval.approval_id}>
            <PendingApproval approval={approval} />
          </List.Item>
        ))}
        {confirmations.slice(0, FIRST).map((confirmation) => (
          <List.Item key={confirmation.run_id}>
            <Confirmation confirmation={confirmation} />
          </List.Item>
        ))}
        {asking.slice(0, FIRST).map((run) => (
          <List.Item key={run.run_id}>
            <RunWithoutValues run={run} />
          </List.Item>
        ))}
      </List>
      {(approvals.length > FIRST || confirmations.length > FIRST) && (
        <Anchor size="sm" renderRoot={(props) => <Link to="/approvals" search={{ state: "pending" }} {...props} />}>
          All {badgeOf(approvals.length + confirmations.length, decisions.data?.next)} approvals and plans
        </Anchor>
      )}
    </Section>
  );
}

function PendingApproval({ approval }: { approval: ApprovalEntry }) {
  const { approval_id: id, requested_by: by, requested_at: at, expires_at: until, can_approve: mayApprove, group } = approval;
  const { word, tone } = riskOf(approval);
  return (
    <>
      <div className="queue-head">
        <Mark tone={tone}>{word}</Mark>
        <Anchor className="mono" fw={600} renderRoot={(props) => <Link to="/approvals/$approval" params={{ approval: id }} {...props} />}>
          {titleOf(approval)}
        </Anchor>
        {!mayApprove && <Mark>{group === undefined ? "needs another person" : `waits for ${group}`}</Mark>}
      </div>
      <Text size="sm" className="queue-what">
        {summaryOf(approval)}
      </Text>
      <Text size="sm" c="dimmed">
        Requested by {by} <Moment at={at} />, for {approval.run_title}; expires <Moment at={until} />
      </Text>
    </>
  );
}

function RunWithoutValues({ run: { run_id: run, title, status, created_at: at } }: { run: RunSummary }) {
  return (
    <>
      <div className="queue-head">
        <Mark tone={runTone(status)}>{inWords(status)}</Mark>
        <Anchor fw={600} renderRoot={(props) => <Link to="/runs/$run" params={{ run }} {...props} />}>
          {title}
        </Anchor>
      </div>
      <Text size="sm" c="dimmed">
        Created <Moment at={at} />
      </Text>
    </>
  );
}
