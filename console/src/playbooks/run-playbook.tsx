/** Starts a run of one playbook with values for its parameters. */

import type { PlaybookInForce } from "@charter/client";
import { Anchor, Button, List, Switch, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { Failure } from "~/parts/failure";
import { Loaded } from "~/parts/loaded";
import { Mark, type Tone } from "~/parts/mark";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { type Typed, typedValues } from "~/runs/value-fields";
import { useCharter } from "~/session/session";

const route = getRouteApi("/playbooks/$playbook");

type Playbook = PlaybookInForce["document"];
type Parameter = NonNullable<Playbook["mandatory_parameters"]>[number];

const CLASSES: Record<Playbook["safety"]["safety_class"], Tone> = {
  automated: "info",
  supervised: "warn",
  destructive: "bad",
};

export function RunPlaybook() {
  const { playbook: id } = route.useParams();
  const charter = useCharter();
  const query = useQuery({
    queryKey: ["catalogue", "playbook", id],
    queryFn: () => charter.get("/v1/resolve/playbook/{id}", { params: { path: { id } } }),
  });
  return <Loaded query={query}>{({ document }) => <Order key={id} playbook={document} />}</Loaded>;
}

function Order({ playbook }: { playbook: Playbook }) {
  const { playbook_id: id, name, safety, steps, mandatory_parameters: needed = [], optional_parameters: optional = [] } = playbook;
  return (
    <>
      <PageHead
        title={name}
        crumbs={[<Link to="/playbooks">Playbooks</Link>, <span className="mono">{id}</span>]}
        marks={<Mark tone={CLASSES[safety.safety_class]}>{safety.safety_class}</Mark>}
        lead="Nothing changes before you confirm the plan on the next screen."
        actions={
          <Anchor size="sm" renderRoot={(props) => <Link to="/catalogue/$kind/$id" params={{ kind: "playbook", id }} {...props} />}>
            Its document
          </Anchor>
        }
      />
      <div className="sections">
        <Values id={id} needed={needed} optional={optional} />
        <Section title="What it does">
          <List type="ordered" size="sm" spacing={4}>
            {steps.map(({ step_id: step, name: title, tool_id: tool, type }) => (
              <List.Item key={step}>
                {title ?? step} <span className="mono quiet">{tool}</span>{" "}
                <Mark tone={type === "write" ? "warn" : "calm"}>{type === "write" ? "writes" : "reads"}</Mark>
              </List.Item>
            ))}
          </List>
          <Text size="sm" c="dimmed" mt="sm">
            {(playbook.rollback_steps ?? []).length === 0
              ? "It has no steps that take its writes back."
              : `${playbook.rollback_steps?.length ?? 0} of its writes can be taken back.`}
          </Text>
        </Section>
      </div>
    </>
  );
}

function Values({ id, needed, optional }: { id: string; needed: Parameter[]; optional: Parameter[] }) {
  const charter = useCharter();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [typed, setTyped] = useState<Typed>({});
  const [isDry, setIsDry] = useState(false);
  const start = useMutation({
    mutationFn: () =>
      charter.post("/v1/playbooks/{id}/runs", {
        params: { path: { id } },
        body: { parameters: typedValues(typed), dry_run: isDry },
      }),
    onSuccess: async ({ run_id: run }) => {
      void queries.invalidateQueries({ queryKey: ["runs"] });
      await navigate({ to: "/runs/$run", params: { run } });
    },
  });
  const field = (parameter: Parameter, isNeeded: boolean) => (
    <TextInput
      key={parameter.name}
      label={parameter.name}
      description={helpOf(parameter)}
      placeholder={placeholderOf(parameter)}
      withAsterisk={isNeeded}
      value={typed[parameter.name] ?? ""}
      onChange={(event) => setTyped({ ...typed, [parameter.name]: event.currentTarget.value })}
      maw="34rem"
      mb="sm"
    />
  );
  return (
    <Section title="Values" lead="A text, or JSON. What you leave empty is asked for on the run's screen, or has its default.">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!start.isPending) start.mutate();
        }}
      >
        {needed.map((parameter) => field(parameter, true))}
        {optional.map((parameter) => field(parameter, false))}
        <Switch
          mt="xs"
          label="Dry run"
          description="Reads are done, writes are announced and not made."
          checked={isDry}
          onChange={(event) => setIsDry(event.currentTarget.checked)}
        />
        <Button type="submit" mt="md" loading={start.isPending}>
          Show its plan
        </Button>
      </form>
      {start.error !== null && (
        <div className="below">
          <Failure error={start.error} />
        </div>
      )}
    </Section>
  );
}

function helpOf({ description = "", enum: words }: Parameter): string {
  const choice = Array.isArray(words) ? `One of ${words.map((word) => JSON.stringify(word)).join(", ")}` : "";
  return [description, choice].filter((part) => part !== "").join(". ");
}

function placeholderOf({ example, default: usual }: Parameter): string {
  if (usual !== undefined && usual !== null) return `default: ${JSON.stringify(usual)}`;
  return example === undefined ? "" : `for example ${typeof example === "string" ? example : JSON.stringify(example)}`;
}
