/**
 * What would change: the planned call beside the exact one, so that each value that an earlier step filled
 * in stands out; where it came from; and how it would be taken back.
 */

import type { Approval, PlannedStep, RunShown } from "@charter/client";
import { Anchor, List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { JsonDifference } from "~/parts/difference";
import { Loaded } from "~/parts/loaded";
import { Section } from "~/parts/section";
import { JsonSource } from "~/parts/source";
import { useCharter } from "~/session/session";

/** A reference to an earlier step's output, or to a parameter of the run. */
const REFERENCE = /\$\{([A-Za-z0-9_-]+)\.([^}]+)\}/g;

/** What stands for the run's parameters in references. */
const OF_USER = "user";

export function Change({ approval }: { approval: Approval }) {
  const { run_id: id } = approval.call;
  const charter = useCharter();
  const query = useQuery({
    queryKey: ["runs", "one", id],
    queryFn: () => charter.get("/v1/runs/{id}", { params: { path: { id } } }),
  });
  return (
    <Section title="What would change">
      <Loaded query={query}>{(run) => <OfRun approval={approval} run={run} />}</Loaded>
    </Section>
  );
}

function OfRun({ approval: { call }, run }: { approval: Approval; run: RunShown }) {
  const plan = plannedOf(run);
  const step = plan.find(({ id }) => id === call.step);
  const planned = step?.action.do === "call" ? step.action.parameters : undefined;
  const reversals = plan.filter(({ reverses }) => reverses === call.step);
  const earlier = [...new Set(referencesIn(planned).map(([from]) => from))].filter((from) => from !== OF_USER);
  const isFilledIn = JSON.stringify(planned) !== JSON.stringify(call.parameters);
  return (
    <>
      {planned !== undefined && isFilledIn ? (
        <>
          <Text size="sm" mb="xs">
            The call as the plan has it, and with the values that were filled in since.
          </Text>
          <JsonDifference before={sorted(planned)} after={sorted(call.parameters)} label="Planned call and exact call" />
        </>
      ) : (
        <Text size="sm">The plan has the call exactly as it stands here; nothing was filled in.</Text>
      )}
      {earlier.length > 0 && (
        <Text size="sm" mt="sm">
          Values come from{" "}
          {earlier.map((from, at) => (
            <span key={from}>
              {at > 0 && ", "}
              <Anchor
                renderRoot={(props) => <Link to="/runs/$run" params={{ run: run.run_id }} search={{ step: from }} {...props} />}
                className="mono"
              >
                {from}
              </Anchor>
            </span>
          ))}
          : what was read before this call.
        </Text>
      )}
      <Text size="sm" fw={600} mt="md">
        {reversals.length === 0 ? "There is no step that takes it back." : "It can be taken back by"}
      </Text>
      <List listStyleType="none" spacing="xs">
        {reversals.map(({ id, action }) => (
          <List.Item key={id}>
            {action.do === "call" && <JsonSource value={action.parameters} label={`${action.tool} (${id})`} />}
          </List.Item>
        ))}
      </List>
      <Text size="sm" c="dimmed" mt="sm">
        What the system looks like afterwards is known when the call was made; Charter does not guess it.
      </Text>
    </>
  );
}

/** The steps that the run has, those that it grew included. */
function plannedOf(run: RunShown): PlannedStep[] {
  return run.events.flatMap((event) => {
    if (event.event === "started") return event.graph.steps;
    return event.event === "step_succeeded" ? (event.growth?.steps ?? []) : [];
  });
}

function referencesIn(value: unknown): [from: string, what: string][] {
  const text = JSON.stringify(value ?? null);
  return [...text.matchAll(REFERENCE)].map(([, from = "", what = ""]) => [from, what]);
}

/** An object with its names in order, so that only values differ. */
function sorted(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => one.localeCompare(other)));
}
