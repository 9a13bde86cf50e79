/** One approval: the exact call, why a person is asked, what would change; below them the decision. */

import type { ApprovalEntry } from "@charter/client";
import { Anchor, List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { Change } from "~/approvals/change";
import { Decide } from "~/approvals/decide";
import { riskOf, RULES, standingOf } from "~/approvals/words";
import { Copy } from "~/parts/command";
import { Facts } from "~/parts/facts";
import { Loaded } from "~/parts/loaded";
import { LongJson } from "~/parts/long-json";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { missionOf, MissionLink } from "~/runs/question";
import { useCharter } from "~/session/session";

const route = getRouteApi("/approvals/$approval");

/** Whether a tool's name is a stage of missions, which is no document of the catalogue. */
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

/** The mission of a run, which its first event names. */
function useMissionOf(run: string): string | undefined {
  const charter = useCharter();
  const { data } = useQuery({
    queryKey: ["runs", "one", run],
    queryFn: () => charter.get("/v1/runs/{id}", { params: { path: { id: run } } }),
  });
  return missionOf(data?.events[0]);
}

function Shown({ approval }: { approval: ApprovalEntry }) {
  const { call, list = [] } = approval;
  const { word, tone } = standingOf(approval);
  const risk = riskOf(approval);
  const mission = useMissionOf(call.run_id);
  return (
    <>
      <PageHead
        title={call.tool}
        crumbs={[<Link to="/approvals">Approvals</Link>, <span>{approval.approval_id}</span>]}
        marks={
          <>
            <Mark tone={tone}>{word}</Mark>
            {approval.state === "pending" && <Mark tone={risk.tone}>{risk.word}</Mark>}
          </>
        }
        lead={
          <>
            {approval.requested_by} asked <Moment at={approval.requested_at} />
            {approval.state === "pending" && (
              <>
                ; it lapses <Moment at={approval.expires_at} />
              </>
            )}
            .
          </>
        }
      />
      <div className="approval-parts first-parts approval-call">
        <div className="approval-column">
          <Section
            title={list.length > 0 ? `The ${list.length} exact calls` : "The exact call"}
            lead={
              list.length > 0
                ? "One answer is good for these calls alone: for no other arguments, and once each."
                : "An answer is good for this call alone: for no other arguments, and once."
            }
          >
            <Facts
              rows={[
                [
                  "Tool",
                  isStage(call.tool) ? (
                    <span className="mono">{call.tool}</span>
                  ) : (
                    <Anchor
                      className="mono"
                      renderRoot={(props) => (
                        <Link to="/catalogue/$kind/$id" params={{ kind: "tool", id: call.tool }} {...props} />
                      )}
                    >
                      {call.tool}
                    </Anchor>
                  ),
                ],
                [
                  "Step",
                  <Anchor
                    renderRoot={(props) => (
                      <Link to="/runs/$run" params={{ run: call.run_id }} search={{ step: call.step }} {...props} />
                    )}
                    className="mono"
                  >
                    {call.step}
                  </Anchor>,
                ],
                [
                  "Run",
                  <Anchor renderRoot={(props) => <Link to="/runs/$run" params={{ run: call.run_id }} {...props} />}>
                    {approval.run_title}
                  </Anchor>,
                ],
                ["Mission", mission !== undefined && <MissionLink mission={mission} />],
                ["Asked by", (approval.requesters ?? [approval.requested_by]).join(", ")],
                [
                  "Digest",
                  <span className="digest">
                    <span className="mono">{approval.digest}</span>
                    <Copy text={approval.digest} label="Copy the digest" />
                  </span>,
                ],
              ]}
            />
            <div className="below">
              {list.length === 0 && <LongJson value={call.parameters} label="Arguments" />}
              {list.map((listed) => (
                <LongJson
                  key={listed.step}
                  value={listed.parameters}
                  label={`Arguments of ${listed.tool} in ${listed.step}`}
                />
              ))}
            </div>
          </Section>
        </div>
        <div className="approval-column">
          <Section title="Why you are asked">
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
                Four eyes: a person who did not ask has to agree.
              </Text>
            )}
          </Section>
          <Change approval={approval} />
        </div>
      </div>
      <Decide approval={approval} />
    </>
  );
}
