/** Whether the server can answer, and by what it routes. */

import { Progress, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { useLink } from "~/live/live";
import { Facts } from "~/parts/facts";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

/** How often the server is asked whether it is ready, in milliseconds. */
const EVERY_MS = 10_000;

/** What `/readyz` says. */
interface Readiness {
  status: string;
  routing: { compares: string; model: string | null };
  skill_index?: { state: string; indexed: number | null; served: number; refused: number };
}

/** Asks the server's probe, which needs no credential and answers 503 where the server is not ready. */
async function readiness(): Promise<Readiness> {
  const response = await fetch("/readyz");
  return (await response.json()) as Readiness;
}

export function Health() {
  const ready = useQuery({ queryKey: ["health"], queryFn: readiness, refetchInterval: EVERY_MS });
  const link = useLink();
  return (
    <>
      <PageHead title="Health and quotas" lead="Whether this server can answer, and what your tenant may ask of it." />
      <Loaded query={ready}>
        {({ status, routing, skill_index }) => (
          <div className="sections">
            <Section title="Server">
              <Facts
                rows={[
                  ["State", <Mark tone={status === "ready" ? "good" : "bad"}>{status}</Mark>],
                  ["Version", <Version />],
                  ["Events", link.state === "open" ? "arrive live" : "do not arrive at present"],
                  ["Agent skills on a search node", skill_index?.state.replaceAll("_", " ")],
                ]}
              />
            </Section>
            <Quotas />
            <Section title="Routing">
              <Facts
                rows={[
                  ["Compares", routing.compares],
                  ["Embedding model", routing.model ?? "none: questions are matched by their words only"],
                ]}
              />
            </Section>
          </div>
        )}
      </Loaded>
    </>
  );
}

/** The version, as the description of the API has it. */
function Version() {
  const charter = useCharter();
  const version = useQuery({
    queryKey: ["health", "version"],
    queryFn: async () => {
      const response = await charter.download("/v1/openapi.json");
      const { info } = (await response.json()) as { info: { version: string } };
      return info.version;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return version.data ?? "…";
}

/** What the tenant may ask, and how much of it is used. */
function Quotas() {
  const charter = useCharter();
  const caller = useQuery({
    queryKey: ["health", "caller"],
    queryFn: () => charter.get("/v1/caller"),
    refetchInterval: EVERY_MS,
  });
  return (
    <Section title="Quotas" lead="What your tenant may ask of this installation, so that others have their share.">
      <Loaded query={caller}>
        {({ tenant, quota: { calls, runs } }) => (
          <>
            <Facts
              rows={[
                ["Tenant", tenant],
                [
                  "Calls",
                  calls === null ? "not bounded" : `${calls.per_minute} a minute, at most ${calls.burst} at once`,
                ],
                ["Runs", runs === null ? "not bounded" : `${runs.unfinished} of ${runs.limit} under way or waiting`],
              ]}
            />
            {runs !== null && (
              <Progress
                mt="sm"
                value={(100 * runs.unfinished) / Math.max(runs.limit, 1)}
                aria-label="Runs under way or waiting, of those allowed"
              />
            )}
            {calls === null && runs === null && (
              <Text size="sm" c="dimmed" mt="sm">
                The operator bounds tenants in the configuration, under <span className="mono">[quotas.each]</span>.
              </Text>
            )}
          </>
        )}
      </Loaded>
    </Section>
  );
}
