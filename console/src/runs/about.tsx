/** The tabs of a run: values, evidence, and the versions of its documents. */

import type { RunReplay, RunEventShown, RunShown } from "@charter/client";
import { Anchor, Button, List, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { Facts } from "~/parts/facts";
import { Failure } from "~/parts/failure";
import { type Column, Listing } from "~/parts/listing";
import { Mark } from "~/parts/mark";
import { Section } from "~/parts/section";
import type { RunThen } from "~/runs/run-at";
import { outputsOf } from "~/runs/step-history";
import { Values, valuesOf } from "~/runs/values";
import { useCharter } from "~/session/session";

/** The parameters, and what each step has given so far. */
export function RunValues({ run, events }: { run: RunThen; events: RunEventShown[] }) {
  const outputs = outputsOf(events, run.sequence);
  const given = run.steps.filter(({ step }) => outputs.has(step)).map(({ step }): Given => ({ step, output: outputs.get(step) }));
  return (
    <div className="sections">
      <Section title="Parameters" lead="Each value with where it comes from.">
        {Object.keys(run.parameters).length === 0 ? (
          <Text size="sm">It has none.</Text>
        ) : (
          <Values values={valuesOf(run.parameters, run.sources)} label="Values of the run's parameters" />
        )}
      </Section>
      <Section title="Outputs" lead="What each step has given, as of the event that is shown.">
        {given.length === 0 ? (
          <Text size="sm">No step has given anything yet.</Text>
        ) : (
          <Listing label="Outputs" columns={OUTPUTS} rows={given} rowKey={({ step }) => step} className="outputs" />
        )}
      </Section>
    </div>
  );
}

/** What a step gave. */
interface Given {
  step: string;
  output: unknown;
}

const OUTPUTS: Column<Given>[] = [
  { name: "Step", width: "minmax(8rem, 1fr)", cell: ({ step }) => <span className="mono">{step}</span> },
  {
    name: "Output",
    width: "minmax(14rem, 3fr)",
    cell: ({ output }) => {
      const text = JSON.stringify(output).slice(0, 400);
      return (
        <span className="mono" title={text}>
          {text}
        </span>
      );
    },
  },
];

/** The records that the run left. */
export function RunEvidence({ run }: { run: RunShown }) {
  if (run.evidence.length === 0) {
    return (
      <Text size="sm">
        This run left no evidence{" "}
        {run.status === "working" ? "yet: it is written when the run ends." : ": none of its tools declares any, or no call succeeded."}
      </Text>
    );
  }
  return (
    <List listStyleType="none" spacing="xs">
      {run.evidence.map(({ evidence_id: id, summary, warning }) => (
        <List.Item key={id}>
          <Anchor renderRoot={(props) => <Link to="/evidence/$id" params={{ id }} {...props} />}>{summary}</Anchor>{" "}
          <span className="mono quiet">{id}</span> {warning !== undefined && <Mark tone="warn">{warning}</Mark>}
        </List.Item>
      ))}
    </List>
  );
}

/** What the run executes, and whether its journal is whole. */
export function RunVersions({ run, started }: { run: RunShown; started: RunEventShown | undefined }) {
  const charter = useCharter();
  const replay = useMutation({
    mutationFn: () => charter.get("/v1/runs/{id}/replay", { params: { path: { id: run.run_id } } }),
  });
  const pins = started?.event === "started" ? started.pins : [];
  return (
    <div className="sections">
      <Section title="Versions" lead="The run executes these documents as they were when it started. Later registrations do not change it.">
        <List listStyleType="none" spacing={6}>
          {pins.map(({ kind, id, package: name, version, tenant }) => (
            <List.Item key={`${kind} ${id}`}>
              <span className="quiet">{kind}</span> <span className="mono">{id}</span>{" "}
              <Text span size="sm" c="dimmed">
                {name} {version}, {tenant === undefined ? "global" : "of the tenant"}
              </Text>
            </List.Item>
          ))}
        </List>
      </Section>
      <Section
        title="Is the journal whole?"
        lead="The server folds it again without any effect: each event has to follow from those before it, by its hash and by what the run machine could have written."
        actions={
          <Button size="compact-sm" variant="default" loading={replay.isPending} onClick={() => replay.mutate()}>
            Check it
          </Button>
        }
      >
        <Facts rows={[["Plan", <span className="mono">{run.plan_digest}</span>]]} />
        {replay.data !== undefined && <Verdict found={replay.data} />}
        {replay.error !== null && <Failure error={replay.error} />}
      </Section>
    </div>
  );
}

function Verdict({ found }: { found: RunReplay }) {
  return (
    <div className="below">
      {found.divergence === null ? (
        <Text>
          <Mark tone="good">whole</Mark> All {found.events} events follow from one another.
        </Text>
      ) : (
        <Text>
          <Mark tone="bad">not whole</Mark> Event {found.divergence.at}: {found.divergence.detail}
        </Text>
      )}
      <Facts
        rows={[
          ["Head", <span className="mono">{found.head}</span>],
          ["State", found.state_digest && <span className="mono">{found.state_digest}</span>],
        ]}
      />
    </div>
  );
}
