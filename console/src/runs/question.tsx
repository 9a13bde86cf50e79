/** The request that a run belongs to, with its answer and findings, or its mission. */

import type { RequestShown, RequestSummary, ResponseMetadata, RunEventShown, RunShown } from "@charter/client";
import { Anchor, Spoiler, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { useRecentRequests } from "~/home/recent";
import { Facts } from "~/parts/facts";
import { Moment } from "~/parts/moment";
import { Section } from "~/parts/section";
import { Findings } from "~/requests/findings";
import { useRequest } from "~/requests/request-query";

/** How much of an answer is shown at first, in pixels. */
const ANSWER_HEIGHT = 140;

/** The mission that a run carries out; absent for other runs. */
export function missionOf(started: { event: string } | undefined): string | undefined {
  const source = sourceOf(started);
  return source?.kind === "mission" ? source.id : undefined;
}

function sourceOf(started: { event: string } | undefined): { kind: string; id: string } | undefined {
  if (started?.event !== "started") return undefined;
  return (started as { graph?: { source?: { kind: string; id: string } } }).graph?.source;
}

export function MissionLink({ mission }: { mission: string }) {
  return (
    <Anchor className="mono" renderRoot={(props) => <Link to="/missions/$mission" params={{ mission }} {...props} />}>
      {mission}
    </Anchor>
  );
}

export function Question({ run, started }: { run: RunShown; started: RunEventShown | undefined }) {
  const requests = useRecentRequests();
  const source = sourceOf(started);
  const analysed = source?.kind === "analysis" ? source.id : undefined;
  const found = requests.data?.entries.find(({ request_id: id, run_ids: runs }) => id === analysed || runs.includes(run.run_id));
  const mission = missionOf(started);
  if (found !== undefined) return <OfRequest summary={found} />;
  if (mission === undefined) return null;
  return (
    <Section title="For a mission">
      <Facts rows={[["Mission", <MissionLink mission={mission} />]]} />
    </Section>
  );
}

function OfRequest({ summary }: { summary: RequestSummary }) {
  const { request_id: id, input, user_id: user, created_at: at } = summary;
  const request = useRequest(id);
  return (
    <Section
      title={input}
      lead={
        <>
          {user} asked <Moment at={at} />.{" "}
          <Anchor underline="always" renderRoot={(props) => <Link to="/requests/$request" params={{ request: id }} {...props} />}>
            See the request
          </Anchor>
        </>
      }
    >
      {request.data === undefined ? <Text size="sm">{summary.outcome ?? "It is being answered."}</Text> : <Came request={request.data} />}
    </Section>
  );
}

/** The answer of a request, with its findings. */
function Came({ request: { answer } }: { request: RequestShown }) {
  if (answer === null) return <Text size="sm">It is being answered.</Text>;
  if (!("content" in answer)) return <Text size="sm">{answer.user_message}</Text>;
  const { findings = [] }: ResponseMetadata = answer.metadata ?? {};
  return (
    <>
      <Spoiler maxHeight={ANSWER_HEIGHT} showLabel="Show the whole answer" hideLabel="Show less">
        <div className="prose">{answer.content}</div>
      </Spoiler>
      {findings.length > 0 && (
        <div className="below">
          <Findings findings={findings} cited={NONE} />
        </div>
      )}
    </>
  );
}

const NONE: ReadonlySet<string> = new Set();
