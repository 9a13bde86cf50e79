/** Whether the server can answer, and by what it routes. */

import { useQuery } from "@tanstack/react-query";

import { useLink } from "~/live/live";
import { Facts } from "~/parts/facts";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";

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
                  ["Events", link.state === "open" ? "arrive live" : "do not arrive at present"],
                  ["Agent skills on a search node", skill_index?.state.replaceAll("_", " ")],
                ]}
              />
            </Section>
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
