/** One approval: the exact calls, the rules that require it, the plan, the preview, and the decision. */

import type { ApprovalEntry } from "@charter/client";
import { Anchor, List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { Calls } from "~/approvals/calls";
import { Change } from "~/approvals/change";
import { Decide } from "~/approvals/decide";
import { callsOf } from "~/approvals/listed";
import { Preview } from "~/approvals/preview";
import { excludedOf, hasDecidingScope, isOpen, isOperator, riskOf, RULES, statusOf, titleOf } from "~/approvals/words";
import { Copy } from "~/parts/command";
import { Facts } from "~/parts/facts";
import { Loaded } from "~/parts/loaded";
import { LongJson } from "~/parts/long-json";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { missionOf, MissionLink } from "~/runs/question";
import { useCaller, useCharter } from "~/session/session";

const route = getRouteApi("/approvals/$approval");

/** Whether a tool is a stage of missions, which has no document in the catalogue. */
const isStage = (tool: string) => tool.startsWith("charter.mission.");

export function OneApproval() {
  const { approval: id } = route.useParams();
  const charter = useCharter();
  const query = useQuery({
    queryKey: ["approvals", "one", id],
    queryFn: () => charter.get("/v1/approvals/{id}", { params: { path: { id } } }),
  });
  return <Loaded query={query}>{(approval) => <Shown key={id} approval={approval} />}</Loaded>;
}

/** The mission of a run, from its first event. */
function useMissionOf(run: string): string | undefined {
  const charter = useCharter();
  const { data } = useQuery({
    queryKey: ["runs", "one", run],
    queryFn: () => charter.get("/v1/runs/{id}", { params: { path: { id: run } } }),
  });
  return missionOf(data?.events[0]);
}

function Shown({ approval }: { approval: ApprovalEntry }) {
  const [excluded, setExcluded] = useState<ReadonlySet<string>>(new Set());
  const caller = useCaller();
  const { word, tone } = statusOf(approval);
  const risk = riskOf(approval);
  const canPreview = isOpen(approval) && isOperator(caller) && hasDecidingScope(caller);
  return (
    <>
      <PageHead
        title={titleOf(approval)}
        crumbs={[<Link to="/approvals">Approvals</Link>, <span>{approval.approval_id}</span>]}
        marks={
          <>
            <Mark tone={tone}>{word}</Mark>
            {approval.state === "pending" && <Mark tone={risk.tone}>{risk.word}</Mark>}
          </>
        }
        lead={
          <>
            Requested by {approval.requested_by} <Moment at={approval.requested_at} />
            {approval.state === "pending" && (
              <>
                ; expires <Moment at={approval.expires_at} />
              </>
            )}
            .
          </>
        }
      />
      <div className="approval-parts first-parts approval-call">
        <div className="approval-column">
          <ExactCalls approval={approval} excluded={excluded} onExclude={setExcluded} />
        </div>
        <div className="approval-column">
          <Section title="Why it needs an approval">
            <List listStyleType="none" spacing="sm">
              {approval.rules.map(({ kind, id, message, note }) => (
                <List.Item key={`${kind} ${id}`}>
                  <Mark tone={kind === "interrupted" ? "bad" : "info"}>{RULES[kind]}</Mark>{" "}
                  <span className="mono">{id}</span>
                  <Text size="sm" mt={2}>
                    {message}
                  </Text>
                  {note !== undefined && (
                    <Text size="sm" c="dimmed">
                      {note}
                    </Text>
                  )}
                </List.Item>
              ))}
            </List>
            {approval.four_eyes && (
              <Text size="sm" mt="sm">
                Four eyes: a person who did not request it has to approve it.
              </Text>
            )}
          </Section>
          {canPreview && <Preview approval={approval} />}
          <Change approval={approval} />
        </div>
      </div>
      <Decide approval={approval} excluded={excluded} />
    </>
  );
}

const ONE_CALL = "The approval is valid for this call only, with exactly these arguments, once.";

const SEVERAL_CALLS = "The approval is valid for these calls only, with exactly these arguments, once each.";

const EXCLUDE = "Clear the box of a call to exclude it.";

interface ExactCallsProps {
  approval: ApprovalEntry;
  excluded: ReadonlySet<string>;
  onExclude: (excluded: ReadonlySet<string>) => void;
}

function ExactCalls({ approval, excluded, onExclude }: ExactCallsProps) {
  const calls = callsOf(approval);
  const { call } = approval;
  const isList = calls.length > 1;
  const canExclude = isOpen(approval) && approval.can_approve;
  return (
    <Section
      title={isList ? `The ${calls.length} exact calls` : "The exact call"}
      lead={isList ? `${SEVERAL_CALLS}${canExclude ? ` ${EXCLUDE}` : ""}` : ONE_CALL}
    >
      <Identity approval={approval} />
      <div className="below">
        {isList ? (
          <Calls
            calls={calls}
            excluded={approval.state === "pending" ? excluded : new Set(excludedOf(approval))}
            onExclude={canExclude ? onExclude : undefined}
          />
        ) : (
          <LongJson value={call.parameters} label="Arguments" />
        )}
      </div>
    </Section>
  );
}

/** Tool, step, run and digest of an approval. */
function Identity({ approval }: { approval: ApprovalEntry }) {
  const { call } = approval;
  const calls = callsOf(approval);
  const tools = [...new Set(calls.map(({ tool }) => tool))];
  const mission = useMissionOf(call.run_id);
  return (
    <Facts
      rows={[
        ["Tool", tools.map((tool) => <ToolName key={tool} tool={tool} />)],
        [
          "Step",
          calls.length === 1 && (
            <Anchor
              renderRoot={(props) => <Link to="/runs/$run" params={{ run: call.run_id }} search={{ step: call.step }} {...props} />}
              className="mono"
            >
              {call.step}
            </Anchor>
          ),
        ],
        [
          "Run",
          <Anchor renderRoot={(props) => <Link to="/runs/$run" params={{ run: call.run_id }} {...props} />}>
            {approval.run_title}
          </Anchor>,
        ],
        ["Mission", mission !== undefined && <MissionLink mission={mission} />],
        ["Requested by", (approval.requesters ?? [approval.requested_by]).join(", ")],
        ["Waits for the group", approval.state === "pending" && approval.group],
        [
          "Digest",
          <span className="digest">
            <span className="mono">{approval.digest}</span>
            <Copy text={approval.digest} label="Copy the digest" />
          </span>,
        ],
      ]}
    />
  );
}

function ToolName({ tool }: { tool: string }) {
  if (isStage(tool)) return <div className="mono">{tool}</div>;
  return (
    <div>
      <Anchor
        className="mono"
        renderRoot={(props) => <Link to="/catalogue/$kind/$id" params={{ kind: "tool", id: tool }} {...props} />}
      >
        {tool}
      </Anchor>
    </div>
  );
}
