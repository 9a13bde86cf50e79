/** What a run waits for from people: values, the confirmation of its plan, approvals; and its warnings. */

import type { PlaybookInForce, ProposedValue, RunShown } from "@charter/client";
import { Alert, Anchor, Button, Group, List, Text, TextInput } from "@mantine/core";
import { type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { summaryOf, titleOf } from "~/approvals/words";
import { Failure } from "~/parts/failure";
import { Mark } from "~/parts/mark";
import { Section } from "~/parts/section";
import { emptyLists, meaningOf } from "~/runs/empty-lists";
import { type Typed, typedValues, ValueFields } from "~/runs/value-fields";
import { Values, valuesOf } from "~/runs/values";
import { useCharter } from "~/session/session";

export function Asked({ run }: { run: RunShown }) {
  const waiting = run.approvals.filter(({ state }) => state === "pending");
  return (
    <div className="asked">
      {(run.notes ?? []).map((note) => (
        <Alert key={note} variant="light" color="yellow" p="xs">
          {note}
        </Alert>
      ))}
      {run.awaited_run && (
        <Alert variant="light" color="yellow" p="xs">
          {run.awaited_run.reason}{" "}
          <Link to="/runs/$run" params={{ run: run.awaited_run.run_id }}>
            Show that run
          </Link>
        </Alert>
      )}
      {(run.unproven ?? []).length > 0 && (
        <Alert variant="light" color="yellow" p="xs">
          No page shows the results of {(run.unproven ?? []).join(", ")}, so they left no evidence.
        </Alert>
      )}
      {(run.approach_hints ?? []).length > 0 && (
        <Section title="Hints of the playbook">
          <List spacing="xs">
            {(run.approach_hints ?? []).map((hint) => (
              <List.Item key={hint}>{hint}</List.Item>
            ))}
          </List>
        </Section>
      )}
      {run.status === "awaiting_parameters" && <Give run={run} />}
      {run.status === "awaiting_confirmation" && <Confirm run={run} />}
      {waiting.length > 0 && (
        <Section title={waiting.length === 1 ? "It waits for an approval" : `It waits for ${waiting.length} approvals`}>
          <List listStyleType="none" spacing="xs">
            {waiting.map((approval) => (
              <List.Item key={approval.approval_id}>
                <Anchor
                  className="mono"
                  fw={600}
                  renderRoot={(props) => <Link to="/approvals/$approval" params={{ approval: approval.approval_id }} {...props} />}
                >
                  {titleOf(approval)}
                </Anchor>{" "}
                <Text span size="sm" c="dimmed">
                  {approval.call.step} · {summaryOf(approval)}
                </Text>
              </List.Item>
            ))}
          </List>
        </Section>
      )}
    </div>
  );
}

function Give({ run }: { run: RunShown }) {
  const charter = useCharter();
  const queries = useQueryClient();
  const [typed, setTyped] = useState<Typed>({});
  const give = useMutation({
    mutationFn: () =>
      charter.post("/v1/runs/{id}/parameters", {
        params: { path: { id: run.run_id } },
        body: { parameters: typedValues(typed) },
      }),
    onSuccess: (after) => show(queries, after),
  });
  const known = valuesOf(run.parameters, run.sources);
  return (
    <Section title="It needs values" lead="Nothing starts before they are given.">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          give.mutate();
        }}
      >
        <ValueFields names={run.missing} typed={typed} onChange={setTyped} unclear={run.unclear} />
        {(run.proposals ?? []).map((proposed) => (
          <Proposal
            key={`${proposed.parameter} ${proposed.memory_id}`}
            proposed={proposed}
            onUse={() => setTyped({ ...typed, [proposed.parameter]: JSON.stringify(proposed.value) })}
          />
        ))}
        <Button type="submit" loading={give.isPending}>
          Give the values
        </Button>
      </form>
      {known.length > 0 && (
        <div className="below">
          <Values values={known} label="Values that are known" />
        </div>
      )}
      {give.error !== null && (
        <div className="below">
          <Failure error={give.error} />
        </div>
      )}
    </Section>
  );
}

/** A value that a memory states: it is used where a person takes it. */
function Proposal({ proposed, onUse }: { proposed: ProposedValue; onUse: () => void }) {
  return (
    <Group gap="sm" mb="sm">
      <Text size="sm">
        The memory{" "}
        <Anchor underline="always" renderRoot={(props) => <Link to="/memory/$id" params={{ id: proposed.memory_id }} {...props} />}>
          {proposed.title}
        </Anchor>{" "}
        states <span className="mono">{JSON.stringify(proposed.value)}</span>: “{proposed.words}”
      </Text>
      <Button variant="default" size="compact-xs" onClick={onUse}>
        Use it as {proposed.parameter}
      </Button>
    </Group>
  );
}

/** Shows a run as it was answered, here and where else it is shown. */
function show(queries: QueryClient, run: RunShown): void {
  queries.setQueryData(["run", run.run_id], run);
  queries.setQueryData(["runs", "one", run.run_id], run);
}

const NO_PARAMETERS: Pick<PlaybookInForce["document"], "mandatory_parameters" | "optional_parameters"> = {};

/** The meaning of lists without entries, by the descriptions of the playbook's parameters. */
function EmptyLists({ run }: { run: RunShown }) {
  const charter = useCharter();
  const empty = emptyLists(run.parameters);
  const first = run.events[0];
  const playbook = first?.event === "started" ? first.pins.find(({ kind }) => kind === "playbook")?.id : undefined;
  const query = useQuery({
    queryKey: ["catalogue", "playbook", playbook],
    queryFn: () => charter.get("/v1/resolve/playbook/{id}", { params: { path: { id: playbook ?? "" } } }),
    enabled: playbook !== undefined && empty.length > 0,
  });
  if (empty.length === 0) return null;
  const { mandatory_parameters: needed, optional_parameters: optional } = query.data?.document ?? NO_PARAMETERS;
  const described = new Map([...(needed ?? []), ...(optional ?? [])].map(({ name, description }) => [name, description]));
  return (
    <Alert variant="light" color="yellow" p="xs" mt="sm" aria-label="Lists without entries" role="note">
      {empty.map((name) => (
        <Text key={name} size="sm">
          <span className="mono">{name}</span> has no entry. {meaningOf(described.get(name))}
        </Text>
      ))}
    </Alert>
  );
}

function Confirm({ run }: { run: RunShown }) {
  const charter = useCharter();
  const queries = useQueryClient();
  const [typed, setTyped] = useState("");
  const confirm = useMutation({
    mutationFn: () =>
      charter.post("/v1/runs/{id}/confirm", {
        params: { path: { id: run.run_id } },
        body: { digest: run.plan_digest, ...(run.typed === null ? {} : { typed }) },
      }),
    onSuccess: (after) => show(queries, after),
  });
  const forward = run.steps.filter(({ reverses }) => reverses === null);
  return (
    <Section title="Confirm the plan" lead="No step starts before the plan is confirmed. Writes may need an approval in addition.">
      <List type="ordered" size="sm" spacing={4}>
        {forward.map(({ step, tool, writes }) => (
          <List.Item key={step}>
            <span className="mono">{tool ?? step}</span> <Mark tone={writes ? "warn" : "calm"}>{writes ? "writes" : "reads"}</Mark>
          </List.Item>
        ))}
      </List>
      <div className="below">
        <Values values={valuesOf(run.parameters, run.sources)} label="With these values" />
      </div>
      <EmptyLists run={run} />
      <Text size="sm" c="dimmed" mt="xs">
        Plan <span className="mono">{run.plan_digest}</span>
      </Text>
      {run.typed !== null && (
        <TextInput
          mt="sm"
          maw="30rem"
          label={`Type the value of ${run.typed}`}
          description="This playbook destroys something. Typing it shows that you mean exactly this."
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      )}
      <Group mt="md">
        <Button loading={confirm.isPending} disabled={run.typed !== null && typed === ""} onClick={() => confirm.mutate()}>
          Confirm and run
        </Button>
      </Group>
      {confirm.error !== null && (
        <div className="below">
          <Failure error={confirm.error} />
        </div>
      )}
    </Section>
  );
}
