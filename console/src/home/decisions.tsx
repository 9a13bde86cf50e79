/** The decisions that wait for a person: approvals by risk and age, then runs that wait for values or a confirmation. */

import type { ApprovalEntry, RunSummary } from "@charter/client";
import { Anchor, List, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { byUrgency, inShort, isLate, riskOf } from "~/approvals/words";
import { Failure } from "~/parts/failure";
import { Waiting } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { Section } from "~/parts/section";
import { inWords, runTone } from "~/runs/words";
import { countOf, useWaitingApprovals, useWaitingRuns } from "~/shell/waiting";

/** Decisions of each kind that are listed; a link leads to the others. */
const FIRST = 8;

export function Decisions() {
  const approvals = useWaitingApprovals();
  const runs = useWaitingRuns();
  const asked = (approvals.data?.entries ?? []).filter((approval) => !isLate(approval)).sort(byUrgency);
  const asking = runs.data?.entries ?? [];
  const isEmpty = asked.length + asking.length === 0;
  const failed = approvals.error ?? runs.error;
  return (
    <Section
      title="Waiting for a decision"
      lead="The riskiest first, and among equals the oldest."
      actions={!isEmpty && <Mark tone="warn">{asked.length + asking.length}</Mark>}
    >
      {failed !== null && <Failure error={failed} />}
      {isEmpty && failed === null && (approvals.isPending || runs.isPending ? <Waiting /> : <Text size="sm">Nothing waits for you.</Text>)}
      <List listStyleType="none" className="queue" aria-label="Decisions">
        {asked.slice(0, FIRST).map((approval) => (
          <List.Item key={approval.approval_id}>
            <Asked approval={approval} />
          </List.Item>
        ))}
        {asking.slice(0, FIRST).map((run) => (
          <List.Item key={run.run_id}>
            <Asking run={run} />
          </List.Item>
        ))}
      </List>
      {asked.length > FIRST && (
        <Anchor size="sm" renderRoot={(props) => <Link to="/approvals" search={{ state: "pending" }} {...props} />}>
          All {countOf(approvals.data)} approvals that wait
        </Anchor>
      )}
    </Section>
  );
}

function Asked({ approval }: { approval: ApprovalEntry }) {
  const { approval_id: id, call, requested_by: by, requested_at: at, expires_at: until, can_approve: mayApprove } = approval;
  const { word, tone } = riskOf(approval);
  return (
    <>
      <div className="queue-head">
        <Mark tone={tone}>{word}</Mark>
        <Anchor className="mono" fw={600} renderRoot={(props) => <Link to="/approvals/$approval" params={{ approval: id }} {...props} />}>
          {call.tool}
        </Anchor>
        {!mayApprove && <Mark>needs another person</Mark>}
      </div>
      <Text size="sm" className="queue-what">
        {inShort(call.parameters) || "no arguments"}
      </Text>
      <Text size="sm" c="dimmed">
        {by} asked <Moment at={at} />, for {approval.run_title}; it lapses <Moment at={until} />
      </Text>
    </>
  );
}

function Asking({ run: { run_id: run, title, status, created_at: at } }: { run: RunSummary }) {
  return (
    <>
      <div className="queue-head">
        <Mark tone={runTone(status)}>{inWords(status)}</Mark>
        <Anchor fw={600} renderRoot={(props) => <Link to="/runs/$run" params={{ run }} {...props} />}>
          {title}
        </Anchor>
      </div>
      <Text size="sm" c="dimmed">
        Started <Moment at={at} />
      </Text>
    </>
  );
}
