/** The planned form of the calls, beside the values that were filled in; the sources of these values; and the reversals. */

import type { ApprovalEntry, ExactCall, PlannedStep, RunShown } from "@charter/client";
import { Anchor, List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { callsOf } from "~/approvals/listed";
import { plannedArguments, reversalsOf, sourcesOf, stepsOf } from "~/approvals/planned";
import { JsonDifference } from "~/parts/difference";
import { Loaded } from "~/parts/loaded";
import { Section } from "~/parts/section";
import { JsonSource } from "~/parts/source";
import { useCharter } from "~/session/session";

type Steps = ReadonlyMap<string, PlannedStep>;

export function Change({ approval }: { approval: ApprovalEntry }) {
  const { run_id: id } = approval.call;
  const charter = useCharter();
  const query = useQuery({
    queryKey: ["runs", "one", id],
    queryFn: () => charter.get("/v1/runs/{id}", { params: { path: { id } } }),
  });
  const calls = callsOf(approval);
  return (
    <Section title="Plan and reversal">
      <Loaded query={query}>{(run) => <OfRun calls={calls} run={run} />}</Loaded>
    </Section>
  );
}

function OfRun({ calls, run }: { calls: ExactCall[]; run: RunShown }) {
  const steps = stepsOf(run);
  const sources = [...new Set(calls.flatMap(({ step }) => sourcesOf(steps.get(step), steps)))];
  const [only] = calls;
  return (
    <>
      {calls.length === 1 && only !== undefined ? <PlannedCall call={only} steps={steps} /> : <PlannedCalls calls={calls} steps={steps} />}
      {sources.length > 0 && <Sources run={run.run_id} steps={sources} />}
      {calls.length === 1 && only !== undefined ? <Reversal call={only} steps={steps} /> : <Reversals calls={calls} steps={steps} />}
    </>
  );
}

function PlannedCall({ call, steps }: { call: ExactCall; steps: Steps }) {
  const planned = plannedArguments(steps.get(call.step));
  if (planned === undefined || JSON.stringify(planned) === JSON.stringify(call.parameters)) {
    return <Text size="sm">The plan has exactly these arguments. No value was filled in.</Text>;
  }
  return (
    <>
      <Text size="sm" mb="xs">
        The call in the plan, and the exact call with the values that were filled in.
      </Text>
      <JsonDifference before={sorted(planned)} after={sorted(call.parameters)} label="Planned call and exact call" />
    </>
  );
}

/** The planned arguments of several calls, each form once: the items of a repeated step have one form. */
function PlannedCalls({ calls, steps }: { calls: ExactCall[]; steps: Steps }) {
  const forms = new Map<string, { tool: string; planned: Record<string, unknown>; count: number }>();
  for (const { tool, step } of calls) {
    const planned = plannedArguments(steps.get(step));
    if (planned === undefined) continue;
    const key = `${tool} ${JSON.stringify(planned)}`;
    forms.set(key, { tool, planned, count: (forms.get(key)?.count ?? 0) + 1 });
  }
  return (
    <>
      <Text size="sm" mb="xs">
        The arguments in the plan. References are replaced by values in the exact calls.
      </Text>
      {[...forms].map(([key, { tool, planned, count }]) => (
        <JsonSource key={key} value={planned} label={`${tool} in the plan (${count === 1 ? "1 call" : `${count} calls`})`} />
      ))}
    </>
  );
}

function Sources({ run, steps }: { run: string; steps: string[] }) {
  return (
    <Text size="sm" mt="sm">
      Values come from the outputs of{" "}
      {steps.map((step, at) => (
        <span key={step}>
          {at > 0 && ", "}
          <Anchor className="mono" renderRoot={(props) => <Link to="/runs/$run" params={{ run }} search={{ step }} {...props} />}>
            {step}
          </Anchor>
        </span>
      ))}
      .
    </Text>
  );
}

function Reversal({ call, steps }: { call: ExactCall; steps: Steps }) {
  const reversals = reversalsOf(call.step, steps);
  return (
    <>
      <Text size="sm" fw={600} mt="md">
        {reversals.length === 0 ? "The plan has no step that reverses it." : "It can be reversed by"}
      </Text>
      <List listStyleType="none" spacing="xs">
        {reversals.map(({ id, action }) => (
          <List.Item key={id}>
            {action.do === "call" && <JsonSource value={action.parameters} label={`${action.tool} (${id})`} />}
          </List.Item>
        ))}
      </List>
    </>
  );
}

/** The reversals of several calls, and the calls that have none. */
function Reversals({ calls, steps }: { calls: ExactCall[]; steps: Steps }) {
  const lasting = calls.filter(({ step }) => reversalsOf(step, steps).length === 0);
  const reversible = calls.filter((call) => !lasting.includes(call));
  return (
    <>
      {lasting.length > 0 && (
        <Text size="sm" fw={600} mt="md">
          {lasting.length === calls.length
            ? "The plan has no steps that reverse these calls."
            : `The plan has no step that reverses ${lasting.map(({ step }) => step).join(", ")}.`}
        </Text>
      )}
      {reversible.length > 0 && (
        <>
          <Text size="sm" fw={600} mt="md">
            Can be reversed
          </Text>
          <List listStyleType="none" size="sm" className="reversals" aria-label="Reversals" tabIndex={0}>
            {reversible.map(({ step }) => (
              <List.Item key={step}>
                <span className="mono">{step}</span> by{" "}
                {reversalsOf(step, steps).map(({ id, action }) => (
                  <span key={id} className="mono">
                    {action.do === "call" ? `${action.tool} (${id})` : id}
                  </span>
                ))}
              </List.Item>
            ))}
          </List>
        </>
      )}
    </>
  );
}

/** An object with its names in order, so that only values differ. */
function sorted(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => one.localeCompare(other)));
}
