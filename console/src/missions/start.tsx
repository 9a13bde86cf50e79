/** Starts a mission: a goal, its type, and what answers its roles. */

import type { Listed } from "@charter/client";
import { Button, NativeSelect, NumberInput, Radio, Stack, Textarea } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { EmptyState } from "~/parts/empty-state";
import { Failure } from "~/parts/failure";
import { Loaded } from "~/parts/loaded";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

/** Mission types that can be chosen from. */
const MOST_TYPES = 1_000;

export function StartMission() {
  const charter = useCharter();
  const types = useQuery({
    queryKey: ["catalogue", "mission types"],
    queryFn: () =>
      charter.get("/v1/list/{kind}", { params: { path: { kind: "mission_type" }, query: { limit: MOST_TYPES, status: "active" } } }),
  });
  return (
    <>
      <PageHead
        title="Start a mission"
        crumbs={[<Link to="/missions">Missions</Link>, <span>New</span>]}
        lead="A mission plans tasks for a goal, does them, reviews the result once, and proposes changes. Nothing is changed before a person agreed."
      />
      <Loaded query={types}>
        {({ entries }) =>
          entries.length === 0 ? (
            <EmptyState title="No mission types yet" command="charter package register packages/aws-security">
              A mission type names the data that its missions may read. Types come with packages.
            </EmptyState>
          ) : (
            <Order types={entries} />
          )
        }
      </Loaded>
    </>
  );
}

/** The answerer of a mission's roles. */
type Answerer = "offline" | "routes";

function Order({ types }: { types: Listed[] }) {
  const charter = useCharter();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [goal, setGoal] = useState("");
  const [type, setType] = useState(types[0]?.id ?? "");
  const [model, setModel] = useState<Answerer>("offline");
  const [budget, setBudget] = useState<number | string>("");
  const start = useMutation({
    mutationFn: () =>
      charter.post("/v1/missions", {
        body: {
          goal: goal.trim(),
          mission_type: type,
          model,
          ...(typeof budget === "number" ? { token_budget: budget } : {}),
        },
      }),
    onSuccess: async ({ mission_id: mission }) => {
      void queries.invalidateQueries({ queryKey: ["missions"] });
      await navigate({ to: "/missions/$mission", params: { mission } });
    },
  });
  const what = types.find(({ id }) => id === type)?.summary ?? undefined;
  return (
    <Section title="The order">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!start.isPending) start.mutate();
        }}
      >
        <Stack gap="md" maw="46rem">
          <Textarea
            label="Goal"
            description="The question that the mission should answer, in your own words."
            value={goal}
            onChange={(event) => setGoal(event.currentTarget.value)}
            autosize
            minRows={2}
            data-search
          />
          <NativeSelect
            label="Mission type"
            description={what}
            value={type}
            data={types.map(({ id, title }) => ({ value: id, label: title === null || title === id ? id : `${title} (${id})` }))}
            onChange={(event) => setType(event.currentTarget.value)}
          />
          <Radio.Group label="Answered by" value={model} onChange={(value) => setModel(value === "routes" ? "routes" : "offline")}>
            <Stack gap={6} mt={6}>
              <Radio value="offline" label="The offline provider" description="Extractive; no model is asked, no key is needed." />
              <Radio value="routes" label="Models" description="Those that the configuration names for the roles of a mission." />
            </Stack>
          </Radio.Group>
          <NumberInput
            label="Token budget"
            description="At most so many tokens; that of the mission type when left empty."
            value={budget}
            onChange={setBudget}
            min={1}
            allowDecimal={false}
            thousandSeparator=","
          />
        </Stack>
        <Button type="submit" mt="md" disabled={goal.trim() === ""} loading={start.isPending}>
          Start the mission
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
