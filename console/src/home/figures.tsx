/** Figures of the last days: runs and requests of each day, durations of runs, and tokens of requests and missions. */

import type { TokenUsage } from "@charter/client";
import { Progress, Text } from "@mantine/core";

import { days, DAYS, MOST_RUNS, useRecentMissions, useRecentRequests, useRecentRuns, useRequestTokens } from "~/home/recent";
import { Bars } from "~/parts/bars";
import { countedByDay, medianOf } from "~/parts/by-day";
import { between, durationOf } from "~/parts/duration";
import { Facts } from "~/parts/facts";
import { Failure } from "~/parts/failure";
import { Section } from "~/parts/section";
import { isOver, isWrong } from "~/runs/words";
import { useCaller } from "~/session/session";

export function Figures() {
  const runs = useRecentRuns();
  const requests = useRecentRequests();
  const { missions, shown } = useRecentMissions();
  const { quota } = useCaller();
  const names = days();
  const entries = runs.data?.entries ?? [];
  const took = entries.filter(({ status }) => isOver(status)).map(({ created_at, updated_at }) => between(created_at, updated_at));
  const median = medianOf(took);
  const requestTokens = useRequestTokens();
  const failed = runs.error ?? requests.error ?? missions.error;
  return (
    <Section title={`The last ${DAYS} days`}>
      {failed !== null && <Failure error={failed} />}
      <div className="figures">
        {runs.data !== undefined && (
          <Bars label="Runs" days={countedByDay(entries, names, ({ status }) => isWrong(status))} bad="went wrong" />
        )}
        {requests.data !== undefined && (
          <Bars label="Requests" days={countedByDay(requests.data.entries, names, ({ state }) => state === "failed")} bad="failed" />
        )}
        <Facts
          rows={[
            ["Time of a run", median !== undefined && `${durationOf(median)} at the median, waiting for people included`],
            ["Longest", took.length > 0 && durationOf(Math.max(...took))],
            ["Tokens of requests", `${sumOf(requestTokens.tokens)} by the ${requestTokens.count} newest`],
            ["Tokens of missions", `${sumOf(shown.map(({ tokens }) => tokens))} by the ${shown.length} newest`],
            ["Unfinished runs", quota.runs !== null && <RunQuota quota={quota.runs} />],
          ]}
        />
      </div>
      <Text size="xs" c="dimmed" mt="xs">
        {isCut(runs.data) && `Of runs the newest ${MOST_RUNS} are counted. `}
        {isCut(requests.data) && `Of requests the newest ${requests.data?.entries.length ?? 0} are counted.`}
      </Text>
    </Section>
  );
}

function sumOf(tokens: readonly TokenUsage[]): string {
  return tokens.reduce((sum, { input, output }) => sum + input + output, 0).toLocaleString("en");
}

function isCut(page: { next?: string | null } | undefined): boolean {
  return (page?.next ?? null) !== null;
}

function RunQuota({ quota: { unfinished, limit } }: { quota: { unfinished: number; limit: number } }) {
  return (
    <>
      {unfinished} of {limit}
      <Progress value={(100 * unfinished) / Math.max(1, limit)} mt={4} maw={260} aria-label="Unfinished runs, of those allowed" />
    </>
  );
}
